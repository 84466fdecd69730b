"""``wcetchar sweep``: what parameters and numbers of a profile make of services."""

from __future__ import annotations

from fractions import Fraction

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_files,
    chosen_format,
    drawn_over_axes,
    emit,
    format_option,
    json_option,
    map_option,
    output_option,
    progress_bar,
    services_option,
    table_color,
    table_width,
    values_option,
)
from wcetchar.errors import CheckFailed, UsageError
from wcetchar.pipeline import each_number
from wcetchar.pipeline import solve as solving
from wcetchar.pipeline import sweep as pipeline
from wcetchar.pipeline.options import read_option
from wcetchar.report import each_number as each_report
from wcetchar.report import solve as solved_report
from wcetchar.report import sweep as report
from wcetchar.report.sheet import FORMATS, render
from wcetchar.store import parse_time

MOST_ROWS = {"table": 10_000, "markdown": 10_000, "json": 100_000}


@click.command("sweep")
@click.argument("characterization", shell_complete=completing.characterizations)
@click.option(
    "--profile",
    required=True,
    metavar="NAME|FILE",
    help="Hardware profile.",
    shell_complete=completing.profiles,
)
@map_option
@services_option
@values_option
@click.option(
    "vary",
    "--vary",
    multiple=True,
    metavar="NAME=VALUES",
    help="An axis: a parameter, or a number of the profile by its way in the YAML; repeatable, "
    "for all combinations.",
)
@click.option(
    "--solve",
    metavar="NAME=VALUES",
    help="Look for the slowest memory, the lowest clock, the smallest cache, the largest parameter "
    "with which the total stays within the budget, over all paths where there are path models; "
    "exit 1 where there is none.",
)
@click.option(
    "--each",
    metavar="SHARE",
    help="Make each number of the profile so much dearer, such as 10%, one at a time: what hangs "
    "on which price. Goes with neither --vary nor --solve.",
)
@click.option("--budget", metavar="TIME", help="Of the total, such as 50us; drawn by --plot.")
@click.option(
    "--plot",
    metavar="FILE",
    help="Also draw the times, or what was solved, over the first axis; with --each, bars. SVG.",
    shell_complete=completing.files,
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    characterization: str,
    profile: str,
    section_map: str | None,
    services: tuple[str, ...],
    values: dict[str, int],
    vary: tuple[str, ...],
    solve: str | None,
    each: str | None,
    budget: str | None,
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Execution time and blocking in ns of the services of CHARACTERIZATION (a name or a file) over
    axes: parameters, and numbers of the hardware profile. Each figure is what `wcetchar estimate`
    says at that point.

    Values are 1,2,5 or 1..16, 8MHz..168MHz/16 (sixteen of them) or 1KiB..64KiB*2 (each twice the
    one before). Numbers of the profile are named by their keys: core.clock, regions.flash.fetch,
    "core.instruction cache.size".

    \b
    Examples:
      wcetchar sweep kernel.json --profile cortex-m3/flash-3ws \\
          --map cortex-m3/map-flash-3ws --service xTaskCreate \\
          --vary core.clock=8MHz..72MHz/9 --vary N=1,8,16 --plot clock.svg
      wcetchar sweep renaux2010 --profile renaux2010/platform3 --map renaux2010/map3 \\
          --set N=13 --solve "regions.external sram.fetch=10..200ns" --budget 60us
      wcetchar sweep renaux2010 --profile renaux2010/platform3 --map renaux2010/map3 \\
          --set N=13 --each 10%

    How errors of a profile's numbers show in results: `wcetchar estimate --uncertainty`. The slack
    of a system's tasks over the same axes: `wcetchar system sweep`.
    """
    inputs = [name for name in (characterization, profile, section_map) if name]
    check_files(output, {"--plot": plot}, inputs)
    chosen = chosen_format(form, as_json)
    if each is not None:
        if vary or solve is not None or budget is not None:
            other = "--vary" if vary else "--solve" if solve is not None else "--budget"
            raise UsageError(
                f"--each and {other} are two questions",
                expected="--each alone: it changes each number of the profile, one at a time",
            )
        of_each = each_number.Request(characterization, profile, section_map, services, values)
        _each(of_each, each, chosen, plot, output)
        return
    if not vary and solve is None:
        raise UsageError(
            "nothing is varied",
            expected="--vary NAME=VALUES, or --each SHARE",
            hint="--vary N=1..16",
        )
    if (solve is not None and budget is None) or (budget is not None and not (solve or plot)):
        raise UsageError(
            "--budget and --solve belong together", expected="both; or --budget with --plot"
        )
    if plot is not None and not vary:
        raise UsageError("--plot needs an axis", expected="--vary NAME=VALUES")
    limit = None if budget is None else read_option("--budget", parse_time, budget)
    asked = pipeline.Request(characterization, profile, section_map, vary, services, values)
    if solve is not None and limit is not None:
        _solve(asked, solve, limit, chosen, plot, output)
        return
    with progress_bar("pricing", "combinations") as advance:
        found = pipeline.run(asked, advance)
    rows = sum(one.total.ticks.size for one in found.surfaces)
    if rows > MOST_ROWS.get(chosen, rows):
        raise UsageError(
            f"{rows:,} points are too many for {chosen}",
            expected=f"{MOST_ROWS[chosen]:,} at most",
            hint="--format csv",
        )
    drawn = None
    if plot is not None:
        drawn = drawn_over_axes(lambda: report.chart(found.axes, found.surfaces, limit))
    if chosen == "csv":
        emit(report.csv_parts(found.axes, found.surfaces), output)
    else:
        sheets = report.sheets(found.axes, found.surfaces, found.changes, found.notes)
        emit(render(sheets, chosen, table_width(output), table_color(output)), output)
    if plot is not None and drawn is not None:
        emit(drawn, plot)


def _each(
    asked: each_number.Request, text: str, form: str, plot: str | None, output: str | None
) -> None:
    share = each_number.parse_share(text)
    with progress_bar("pricing", "numbers") as advance:
        found = each_number.run(asked, share, advance)
    drawn = None if plot is None else drawn_over_axes(lambda: each_report.picture(found))
    people = form in ("table", "markdown")
    sheets = each_report.shown(found) if people else each_report.sheets(found)
    emit(render(sheets, form, table_width(output), table_color(output)), output)
    if plot is not None and drawn is not None:
        emit(drawn, plot)


def _solve(
    asked: pipeline.Request,
    solve: str,
    budget: Fraction,
    form: str,
    plot: str | None,
    output: str | None,
) -> None:
    with progress_bar("pricing", "combinations") as advance:
        found = solving.run(asked, solve, budget, advance)
    sheet = solved_report.sheet(found)
    emit(render([sheet], form, table_width(output), table_color(output)), output)
    if plot is not None:
        emit(drawn_over_axes(lambda: solved_report.chart(found)), plot)
    failed = [one.service for one in found.solved if one.number is None]
    if failed:
        raise CheckFailed(
            f"no value of {found.axis.name} keeps the budget: {', '.join(dict.fromkeys(failed))}"
        )
