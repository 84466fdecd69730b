"""``wcetchar system sweep``: slacks over numbers of the hardware, the kernel and the system."""

from __future__ import annotations

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_files,
    chosen_format,
    drawn_over_axes,
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
from wcetchar.pipeline import each_number, system_each
from wcetchar.pipeline import system_sweep as pipeline
from wcetchar.report import system_each as each_report
from wcetchar.report import system_sweep as report
from wcetchar.report.sheet import FORMATS, render


@click.command("sweep")
@click.argument("system", shell_complete=completing.files)
@hardware_options
@click.option(
    "vary",
    "--vary",
    multiple=True,
    metavar="NAME=VALUES",
    help="An axis: a number of the profile or of SYSTEM by its way in the YAML, or a parameter "
    "that calls leave to the kernel's `set`; repeatable, for all combinations.",
)
@click.option(
    "--solve",
    metavar="NAME=VALUES",
    help="Look for the slowest memory, the lowest clock, the shortest period, the longest wcet, "
    "the largest parameter with which all deadlines are met; exit 1 where there is none.",
)
@click.option(
    "--each",
    metavar="SHARE",
    help="Make each number of the profile and of SYSTEM so much dearer, such as 10%, one at a "
    "time: which slack hangs on what. Goes with neither --vary nor --solve.",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Also draw responses as shares of deadlines, or what was solved, over the first axis; "
    "with --each, bars. SVG.",
    shell_complete=completing.files,
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    system: str,
    profile: str | None,
    section_map: str | None,
    vary: tuple[str, ...],
    solve: str | None,
    each: str | None,
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Response time and slack of each task and interrupt of SYSTEM (a YAML file) over axes: numbers
    of the hardware profile, of the system, and parameters of the kernel's services. Each figure is
    what `wcetchar system check` says at that point.

    Values are 1,2,5 or 1..16, 8MHz..168MHz/16 (sixteen of them) or 1KiB..64KiB*2 (each twice the
    one before). Numbers are named by their keys: core.clock, regions.flash.fetch,
    tasks.control.period, interrupts.uart.rate.

    \b
    Examples:
      wcetchar system sweep system.yaml --vary core.clock=24MHz..168MHz/7 --plot slack.svg
      wcetchar system sweep system.yaml --solve "regions.flash.fetch=1..20cycles"
      wcetchar system sweep system.yaml --vary N=1,4,16 --solve tasks.control.period=1..5ms/41
      wcetchar system sweep system.yaml --each 10% --plot bars.svg
    """
    inputs = [name for name in (system, profile, section_map) if name]
    check_files(output, {"--plot": plot}, inputs)
    chosen = chosen_format(form, as_json)
    asked = pipeline.Request(system, profile, section_map, vary)
    if each is not None:
        if vary or solve is not None:
            raise UsageError(
                f"--each and {'--vary' if vary else '--solve'} are two questions",
                expected="--each alone: it changes each number, one at a time",
            )
        _each(asked, each, chosen, plot, output)
        return
    if not vary and solve is None:
        raise UsageError(
            "nothing is varied",
            expected="--vary NAME=VALUES, or --each SHARE",
            hint="--vary core.clock=8..80MHz/9",
        )
    if plot is not None and not vary:
        raise UsageError("--plot needs an axis", expected="--vary NAME=VALUES")
    with progress_bar("analysing", "points") as advance:
        if solve is not None:
            solved = pipeline.solve(asked, solve, advance)
            sheets = [report.solved_sheet(solved)]
            drawn = None if plot is None else drawn_over_axes(lambda: report.solved_chart(solved))
            failed = any(one.number is None for one in solved.solved)
        else:
            found = pipeline.run(asked, advance)
            sheets = report.sheets(found)
            drawn = None if plot is None else drawn_over_axes(lambda: report.chart(found))
            failed = False
    emit(render(sheets, chosen, table_width(output), table_color(output)), output)
    if plot is not None and drawn is not None:
        emit(drawn, plot)
    if failed:
        raise CheckFailed(f"with no value of {solved.axis.name} all deadlines are met")


def _each(
    asked: pipeline.Request, text: str, form: str, plot: str | None, output: str | None
) -> None:
    share = each_number.parse_share(text)
    with progress_bar("analysing", "numbers") as advance:
        found = system_each.run(asked, share, advance)
    drawn = None if plot is None else drawn_over_axes(lambda: each_report.picture(found))
    people = form in ("table", "markdown")
    sheets = each_report.shown(found) if people else each_report.sheets(found)
    emit(render(sheets, form, table_width(output), table_color(output)), output)
    if plot is not None and drawn is not None:
        emit(drawn, plot)
