"""``wcetchar validate``: estimates held against measurements, models of caches against replay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_files,
    check_output,
    chosen_format,
    emit,
    format_option,
    json_option,
    only_services_option,
    output_option,
    progress_bar,
    table_color,
    table_width,
)
from wcetchar.cli.situations import overhead_options, situation_options, situations_of
from wcetchar.errors import CheckFailed, UsageError
from wcetchar.model.versus import Metric
from wcetchar.pipeline import validate as pipeline
from wcetchar.pipeline.runs import FORM as ASSIGNMENT
from wcetchar.report import replayed, validation, validation_plot, validation_text

if TYPE_CHECKING:
    from wcetchar.pipeline.replay import Request

FORMATS = ("table", "csv", "markdown", "json")


@click.command("validate")
@click.argument("characterization", shell_complete=completing.characterizations)
@click.option(
    "--profile",
    required=True,
    metavar="NAME|FILE",
    help="Hardware profile of what was measured.",
    shell_complete=completing.profiles,
)
@click.option(
    "section_map",
    "--map",
    metavar="NAME|FILE",
    help="Section map of what was measured. Default: the profile's own.",
    shell_complete=completing.maps,
)
@click.option(
    "--measured",
    metavar="FILE",
    help="Measured times as CSV: service, parameters, and cycles, ns, us, ms or s.",
    shell_complete=completing.files,
)
@click.option(
    "traces",
    "--replay",
    multiple=True,
    metavar="TRACE",
    help="Instead of measured times: replay the addresses of this trace through the caches of the "
    "profile, line by line; repeatable. With --elf and --services.",
)
@click.option(
    "--elf",
    metavar="FILE",
    help="With --replay: the firmware that was traced.",
    shell_complete=completing.files,
)
@click.option(
    "services_files",
    "--services",
    multiple=True,
    metavar="NAME|FILE",
    help="With --replay: the services files that the kernel was characterized with; repeatable.",
    shell_complete=completing.section_rules,
)
@click.option(
    "values",
    "--set",
    multiple=True,
    metavar=ASSIGNMENT,
    help="With --replay, as of `characterize`: value of a parameter that the firmware does not "
    "mark; repeatable.",
    shell_complete=completing.parameters,
)
@click.option(
    "runs_file",
    "--runs",
    metavar="FILE",
    help="With --replay, as of `characterize`: which services without marks each trace shows.",
    shell_complete=completing.files,
)
@click.option(
    "trace_format",
    "--trace-format",
    metavar="NAME",
    help="With --replay: format of the traces, where content is ambiguous.",
)
@click.option(
    "--machine", metavar="NAME", help="With --replay: emulated machine, where no trace says it."
)
@overhead_options
@situation_options
@only_services_option
@click.option(
    "--metric",
    type=click.Choice([metric.value for metric in Metric]),
    default=Metric.TOTAL.value,
    show_default=True,
    help="What was measured: execution times, or the longest time that a call holds off "
    "interrupts, or preemption.",
)
@click.option(
    "paths",
    "--over-all-paths",
    is_flag=True,
    help="Hold the bounds of path models against what was measured, in the place of the published "
    "figures.",
)
@click.option(
    "--each-row",
    is_flag=True,
    help="Also show each row, a service at its values: measured, estimated, and how far over; CSV, "
    "JSON and the picture always have them.",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Also write the rows as a picture, SVG.",
    shell_complete=completing.files,
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    characterization: str,
    profile: str,
    section_map: str | None,
    measured: str | None,
    traces: tuple[str, ...],
    elf: str | None,
    services_files: tuple[str, ...],
    values: tuple[str, ...],
    runs_file: str | None,
    trace_format: str | None,
    machine: str | None,
    overhead: str | None,
    marks_alone: bool,
    instruction_cache: tuple[str, ...],
    data_cache: tuple[str, ...],
    undisturbed: tuple[str, ...],
    services: tuple[str, ...],
    metric: str,
    paths: bool,
    each_row: bool,
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Hold the estimates of CHARACTERIZATION against measured times, from any source: RTL, a cycle
    counter, an oscilloscope. Counts the unsafe rows first (measured above the estimate), then how
    far the others are over, and says which price or count explains the worst one. Times are in ns;
    measured cycles are of the core's clock, the slowest that the profile allows.

    With --replay instead: what the models of caches say (always miss, cold, warm) beside the lines
    that exact replay of a trace loads, from an empty cache and from a warm one.

    Ends with exit code 1 if a measurement is above its estimate, or a replay above a model.

    \b
    Examples:
      wcetchar validate kernel.json --profile board.yaml --map map.yaml \\
          --measured board.csv --overhead empty_call --plot board.svg
      wcetchar validate kernel.json --profile board.yaml --measured board.csv --json
      wcetchar validate kernel.json --profile cached.yaml --map map.yaml \\
          --replay firmware.trace --elf firmware.elf --services services.yaml
    """
    if (measured is None) == (not traces):
        raise UsageError(
            "validate needs measured times or traces to replay",
            expected="either --measured FILE or --replay TRACE",
        )
    chosen = chosen_format(form, as_json)
    of_measured = {
        "--overhead": overhead is not None,
        "--marks-alone": marks_alone,
        "--each-row": each_row,
        "--metric": metric != Metric.TOTAL.value,
        "--over-all-paths": paths,
        "--plot": plot is not None,
        "--instruction-cache": bool(instruction_cache),
        "--data-cache": bool(data_cache),
        "--undisturbed": bool(undisturbed),
    }
    of_replay = {
        "--elf": elf is not None,
        "--services": bool(services_files),
        "--set": bool(values),
        "--runs": runs_file is not None,
        "--trace-format": trace_format is not None,
        "--machine": machine is not None,
    }
    _refuse(of_replay if measured is not None else of_measured, measured is not None)
    given = (characterization, profile, *((section_map,) if section_map else ()))
    if measured is None:
        if elf is None or not services_files:
            raise UsageError(
                "--replay needs the firmware that was traced, and what its services are",
                expected="--elf FILE and --services FILE",
            )
        runs = (runs_file,) if runs_file else ()
        check_output(output, (*given, *traces, elf, *services_files, *runs))
        # Here, so that an estimate is held against measurements without a decoder.
        from wcetchar.pipeline import replay

        request = replay.Request(
            characterization,
            profile,
            section_map,
            traces,
            elf,
            services_files,
            services,
            values,
            runs_file,
            trace_format,
            machine,
        )
        _replay(request, chosen, output)
        return
    check_files(output, {"--plot": plot}, (*given, measured))
    with progress_bar("comparing", ""):
        result = pipeline.run(
            pipeline.Request(
                characterization,
                profile,
                section_map,
                measured,
                overhead,
                marks_alone,
                services,
                Metric(metric),
                paths,
                situations_of(instruction_cache, data_cache, undisturbed),
            )
        )
    notes = list(result.notes)
    if result.clock_hz is not None:
        notes.append(
            f"measured cycles are taken as cycles of {float(result.clock_hz) / 1e6:g} MHz, the "
            "slowest clock of the profile"
        )
    if result.left_out:
        notes.append(f"{result.left_out} measurements of other services were left out")
    view = validation.view_of(
        result.comparison,
        result.explanation,
        result.overheads,
        result.profile,
        result.section_map,
        notes,
    )
    if chosen == "json":
        text = validation_text.document(view)
    elif chosen == "csv":
        text = validation_text.csv_text(view)
    elif chosen == "markdown":
        text = validation_text.markdown(view, each_row)
    else:
        text = validation_text.terminal(view, each_row, table_width(output), table_color(output))
    if plot is not None:
        emit(validation_plot.svg(view), plot)
    emit(text, output)
    if view.unsafe:
        raise CheckFailed(
            f"{view.unsafe} of {len(view.rows)} rows were measured above their estimate",
            details=tuple(
                f"{row.service}{f' at {row.at}' if row.at else ''}: "
                f"{validation.percent_text(row.percent)}"
                for row in view.rows[:20]
                if row.unsafe
            ),
        )


def _refuse(options: Mapping[str, bool], measured: bool) -> None:
    """Options that mean nothing here; ``measured``: beside --measured."""
    here, there = ("--measured", "--replay") if measured else ("--replay", "--measured")
    for name, is_given in options.items():
        if is_given:
            raise UsageError(f"{name} means nothing with {here}", expected=f"it with {there}")


def _replay(request: Request, chosen: str, output: str | None) -> None:
    from wcetchar.pipeline import replay

    with progress_bar("replaying", "instructions") as advance:
        view = replayed.view_of(replay.run(request, advance))
    if chosen == "json":
        text = replayed.document(view)
    elif chosen == "csv":
        text = replayed.csv_text(view)
    elif chosen == "markdown":
        text = replayed.markdown(view)
    else:
        text = replayed.terminal(view, table_width(output), table_color(output))
    emit(text, output)
    if view.unsafe:
        raise CheckFailed(
            f"{len(view.unsafe)} of {len(view.rows)} rows load more lines by exact replay than a "
            "model of the cache says",
            details=tuple(map(replayed.unsafe_text, view.unsafe[:20])),
            hint="the model is unsafe there, or the characterization is not of these files",
        )
