"""``wcetchar system check``: whether the tasks of a system meet their deadlines."""

from __future__ import annotations

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_files,
    chosen_format,
    emit,
    format_option,
    json_option,
    output_option,
    progress_bar,
    table_color,
    table_width,
)
from wcetchar.cli.system.options import hardware_options
from wcetchar.errors import CheckFailed, UsageError
from wcetchar.pipeline import system_check as pipeline
from wcetchar.pipeline.options import read_option
from wcetchar.report import system_check as report
from wcetchar.report import timeline as picture
from wcetchar.report.sheet import FORMATS, render
from wcetchar.store import parse_time


@click.command("check")
@click.argument("system", shell_complete=completing.files)
@hardware_options
@click.option("--parts", is_flag=True, help="Also show what each response time is made of.")
@click.option(
    "--timeline",
    metavar="FILE",
    help="Also draw the simulated run, SVG.",
    shell_complete=completing.files,
)
@click.option(
    "--until",
    metavar="TIME",
    help="End of the drawn run. Default: the longest period behind the last offset.",
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    system: str,
    profile: str | None,
    section_map: str | None,
    parts: bool,
    timeline: str | None,
    until: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Response times of the tasks and interrupts of SYSTEM (a YAML file), by response-time
    analysis: own code, the kernel services that they call, context switches, the tick, locks with
    priority inheritance, and what kernel and tasks hold off. Beside them, what a simulated run over
    a hyperperiod shows. Exit code 1 where a deadline can be missed.

    \b
    Examples:
      wcetchar system check system.yaml --parts --timeline run.svg
      wcetchar system check system.yaml --profile cortex-m3/external-16bit \\
          --map cortex-m3/map-external-16bit
    """
    inputs = [name for name in (system, profile, section_map) if name]
    check_files(output, {"--timeline": timeline}, inputs)
    if until is not None and timeline is None:
        raise UsageError(
            "--until says where a picture ends, and there is none", expected="--timeline"
        )
    chosen = chosen_format(form, as_json)
    end = None if until is None else read_option("--until", parse_time, until)
    if end == 0:
        raise UsageError("--until 0 leaves nothing to draw", expected="a time above 0")
    with progress_bar("analysing", ""):
        found = pipeline.run(pipeline.Request(system, profile, section_map, end))
    word = "" if found.word is None else found.word.value
    view = report.View(found.system, found.analysis, found.timeline, word, found.notes)
    sheets = report.sheets(view, parts)
    emit(render(sheets, chosen, table_width(output), table_color(output)), output)
    if timeline is not None:
        emit(picture.svg(found.system, found.timeline, found.drawn), timeline)
    missed = [response.name for _, response in view.all if not response.met]
    if missed:
        raise CheckFailed(f"deadlines can be missed: {', '.join(missed)}")
