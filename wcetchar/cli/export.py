"""``wcetchar export``: traced invocations, priced, for viewers that people already use."""

from __future__ import annotations

import click

from wcetchar import __version__
from wcetchar.cli import completing
from wcetchar.cli.common import check_output, emit, map_option, progress_bar, services_option
from wcetchar.errors import UsageError
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.invocation import Exported
from wcetchar.pipeline import characterize as characterization
from wcetchar.pipeline import export as pipeline

FORMATS = ("callgrind", "perfetto", "speedscope")


@click.command("export")
@click.argument("firmware", shell_complete=completing.files)
@click.argument("runs", nargs=-1, metavar="RUN...", shell_complete=completing.files)
@click.option(
    "--services",
    "services_files",
    required=True,
    multiple=True,
    metavar="NAME|FILE",
    help="The vendor's services file; files that are given several times are read as one.",
    shell_complete=completing.section_rules,
)
@click.option(
    "--profile",
    required=True,
    metavar="NAME|FILE",
    help="Hardware profile to price by.",
    shell_complete=completing.profiles,
)
@map_option
@services_option
@click.option(
    "values",
    "--set",
    multiple=True,
    metavar=characterization.ASSIGNMENT,
    help="Only invocations with this value of a parameter. Of one that the firmware does not mark, "
    "its value, in one run or all. Repeatable.",
    shell_complete=completing.parameters,
)
@click.option(
    "runs_file",
    "--runs",
    metavar="FILE",
    help="Runs file, as of characterize.",
    shell_complete=completing.files,
)
@click.option(
    "each",
    "--all",
    is_flag=True,
    help="All invocations, in the order of the traces, instead of the dearest of each service.",
)
@click.option(
    "form",
    "--format",
    type=click.Choice(FORMATS),
    required=True,
    help="callgrind, for KCachegrind: cost by source line, instruction and memory region; "
    "perfetto: a timeline with what is held off; speedscope: calls over time.",
)
@click.option(
    "trace_format",
    "--trace-format",
    type=click.Choice(characterization.FORMATS),
    metavar="NAME",
    help="Trace format, where content is ambiguous, as --format of characterize.",
)
@click.option("--machine", metavar="NAME", help="Emulated machine, where the trace does not say.")
@click.option(
    "--successions",
    is_flag=True,
    help="Count which data access follows which, as characterize does.",
)
@click.option(
    "--data-lines",
    multiple=True,
    type=click.Choice([str(size) for size in LINE_BYTES]),
    metavar="BYTES",
    help="Count loads that may miss in a data cache with such lines, as characterize does.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="The file for the viewer, written whole or not at all.",
    shell_complete=completing.files,
)
def command(
    firmware: str,
    runs: tuple[str, ...],
    services_files: tuple[str, ...],
    profile: str,
    section_map: str | None,
    services: tuple[str, ...],
    values: tuple[str, ...],
    runs_file: str | None,
    each: bool,
    form: str,
    trace_format: str | None,
    machine: str | None,
    successions: bool,
    data_lines: tuple[str, ...],
    output: str,
) -> None:
    """Price every instruction of service invocations that the RUNs (traces of FIRMWARE) show, and
    write them for a viewer: of each service the dearest that was traced. What the instructions of
    an invocation cost adds up to the estimate of what it counted.

    Times are upper ends, in picoseconds (callgrind) or nanoseconds. What cannot be shown whole is
    an error: 2 million instructions, 500,000 function calls and other slices, or 500 of them inside
    of one another.

    \b
    Examples:
      wcetchar export firmware.elf firmware.trace --services services.yaml \\
          --profile cortex-m3/flash-3ws --map cortex-m3/map-flash-3ws \\
          --service xTaskCreate --set N=13 --format callgrind -o callgrind.out
      wcetchar export firmware.elf firmware.trace --services services.yaml \\
          --profile cortex-m3/flash-3ws --map cortex-m3/map-flash-3ws \\
          --service vTaskDelay --service context_switch --all \\
          --format perfetto -o delays.perfetto-trace
    """
    if not runs and runs_file is None:
        raise click.UsageError("Missing argument 'RUN...'.")
    given = [firmware, *runs, *services_files, profile, section_map, runs_file]
    check_output(output, [name for name in given if name is not None])
    if form == "perfetto" and output == "-":
        raise UsageError("perfetto needs a file: it is no text", hint="-o FILE")
    request = pipeline.Request(
        firmware,
        runs,
        services_files,
        profile,
        section_map,
        services,
        values,
        runs_file,
        trace_format,
        machine,
        successions,
        tuple(map(int, data_lines)),
        each,
    )
    with progress_bar("replaying", "instructions") as advance:
        exported = pipeline.run(request, advance)
    try:
        rendered = _rendered(exported, form)
    except ValueError as error:
        raise UsageError(
            f"--format {form}: {error}",
            hint="ask for fewer services (--service), or one value (--set)"
            + (", or the dearest invocations alone (without --all)" if each else "")
            + "; callgrind shows sums, however many there are",
        ) from None
    emit(rendered, output)


def _rendered(exported: Exported, form: str) -> str | bytes:
    from wcetchar.report import callgrind, perfetto, speedscope

    creator = f"wcetchar {__version__}"
    if form == "perfetto":
        return perfetto.perfetto(exported, creator)
    if form == "speedscope":
        return speedscope.speedscope(exported, creator)
    return "".join(callgrind.callgrind(exported, creator))
