"""``wcetchar characterize``: from traces to the published table."""

from __future__ import annotations

import click

from wcetchar import store
from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_output,
    emit,
    json_option,
    progress_bar,
    table_color,
    table_width,
)
from wcetchar.errors import CheckFailed
from wcetchar.model.cache import LINE_BYTES
from wcetchar.pipeline import characterize as pipeline
from wcetchar.pipeline.flow_facts import PathsRequest
from wcetchar.report import summary


@click.command("characterize")
@click.argument("firmware", shell_complete=completing.files)
@click.argument("runs", nargs=-1, metavar="RUN...", shell_complete=completing.files)
@click.option(
    "--services",
    required=True,
    multiple=True,
    metavar="NAME|FILE",
    help="The vendor's services file. Given several times, the files are read as one. Shipped "
    f"parts, for linker sections of a kernel: {', '.join(store.section_rule_names())}.",
    shell_complete=completing.section_rules,
)
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE",
    help="The characterization, written whole or not at all.",
    shell_complete=completing.files,
)
@click.option(
    "--format",
    "--trace-format",
    "form",
    type=click.Choice(pipeline.FORMATS),
    metavar="NAME",
    help=f"Trace format, where content is ambiguous: {', '.join(pipeline.FORMATS)}.",
)
@click.option(
    "--machine",
    metavar="NAME",
    help="Emulated machine, where the trace does not say; QEMU's name of it, such as mps2-an385.",
)
@click.option(
    "values",
    "--set",
    multiple=True,
    metavar=pipeline.ASSIGNMENT,
    help="Value of a parameter that the firmware does not mark, in one run or all; repeatable.",
    shell_complete=completing.parameters,
)
@click.option(
    "runs_file",
    "--runs",
    metavar="FILE",
    help="Which services without marks each run shows, and their values; without RUN... it also "
    "says which runs there are.",
    shell_complete=completing.files,
)
@click.option("--partial", is_flag=True, help="Leave out services that no trace shows.")
@click.option(
    "--successions",
    is_flag=True,
    help="Count which data access follows which, and what lies between: for hardware whose writes "
    "go on behind the core, or whose buses have a divided clock.",
)
@click.option(
    "--data-lines",
    multiple=True,
    type=click.Choice([str(size) for size in LINE_BYTES]),
    metavar="BYTES",
    help="Count which loads may miss in a data cache with lines of so many bytes (16, 32, 64 or "
    "128), and tell which lines are used; repeatable.",
)
@click.option(
    "--contents",
    is_flag=True,
    help="Publish what belongs to each logical section: names of linker sections, functions and "
    "objects, by which `wcetchar map init` finds it in an application.",
)
@click.option(
    "paths",
    "--paths",
    is_flag=True,
    help="Publish the path model of each service, too: all paths that it can take. Traces must be "
    "paths of it.",
)
@click.option(
    "facts",
    "--facts",
    multiple=True,
    metavar="FILE",
    help="Flow facts for path models (implies --paths); repeatable.",
    shell_complete=completing.files,
)
@click.option(
    "sources",
    "--sources",
    multiple=True,
    metavar="FOLDER",
    help="Where the source files are that flow facts name by text; repeatable.",
)
@click.option(
    "depth",
    "--call-depth",
    type=click.IntRange(0),
    metavar="N",
    help="Tell contexts of path models apart by their last N calls only. Default: by all.",
)
@click.option(
    "observed",
    "--observed-bounds",
    is_flag=True,
    help="Where nothing is known of a loop, take the bound that traces showed (implies --paths): "
    "what is made of it is an estimate.",
)
@json_option
def command(
    firmware: str,
    runs: tuple[str, ...],
    services: tuple[str, ...],
    output: str,
    form: str | None,
    machine: str | None,
    values: tuple[str, ...],
    runs_file: str | None,
    partial: bool,
    successions: bool,
    data_lines: tuple[str, ...],
    contents: bool,
    paths: bool,
    facts: tuple[str, ...],
    sources: tuple[str, ...],
    depth: int | None,
    observed: bool,
    as_json: bool,
) -> None:
    """Turn traces of FIRMWARE (the ELF file that ran, with its symbols) into the characterization
    of its kernel: for each service how often it touches which section, under which blocking, as
    formulas of its parameters.

    Each RUN is a trace of any known format; formats are told apart by content. The summary counts
    instructions; nothing here is time.

    \b
    Examples:
      wcetchar characterize firmware.elf firmware.trace \\
          --services services.yaml -o kernel.json
      wcetchar characterize firmware.elf n1.trace n2.trace --services unmarked.yaml \\
          --set n1.trace:N=1 --set n2.trace:N=2 -o kernel.json
    """
    if not runs and runs_file is None:
        raise click.UsageError("Missing argument 'RUN...'.")
    given = (firmware, *runs, *services, *facts, *([runs_file] if runs_file else []))
    check_output(output, given)
    request = pipeline.Request(
        firmware,
        runs,
        services,
        form,
        machine,
        partial,
        values,
        runs_file,
        successions,
        tuple(map(int, data_lines)),
        PathsRequest(facts, sources, depth, observed) if paths or facts or observed else None,
        contents,
    )
    with progress_bar("characterizing", "instructions") as advance:
        characterization = pipeline.run(request, advance)
    found = summary.summary_of(characterization)
    if not found.conserved:
        raise CheckFailed(
            "the instructions in windows and outside do not add up to the trace's length",
            hint="this is a defect of wcetchar; nothing was written",
        )
    store.write_atomically(output, store.characterization_json(characterization))
    if as_json:
        emit(summary.json_of(found), None)
    else:
        emit(summary.render(found, table_width(None), table_color(None)), None)
