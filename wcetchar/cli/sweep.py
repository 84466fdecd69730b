"""``wcetchar sweep``: what parameters and numbers of a profile make of services."""

from __future__ import annotations

import click

from wcetchar.cli.common import (
    assignments,
    check_output,
    chosen_format,
    emit,
    format_option,
    json_option,
    output_option,
    progress_bar,
    table_color,
    table_width,
)
from wcetchar.errors import UsageError
from wcetchar.pipeline import sweep as pipeline
from wcetchar.report import sweep as report
from wcetchar.report.sheet import FORMATS, render

MOST_ROWS = {"table": 10_000, "markdown": 10_000, "json": 100_000}


@click.command("sweep", short_help="Services over clock, memories, bus width, caches, parameters.")
@click.argument("characterization")
@click.option("--profile", required=True, metavar="NAME|FILE", help="Hardware profile.")
@click.option(
    "section_map",
    "--map",
    metavar="NAME|FILE",
    help="Section map. Default: the profile's own.",
)
@click.option(
    "services",
    "--service",
    multiple=True,
    metavar="NAME",
    help="Only this service, with all parts of one that another thread cuts; repeatable.",
)
@click.option(
    "values",
    "--set",
    multiple=True,
    metavar="NAME=VALUE",
    callback=assignments,
    help="Value of a parameter, before that of the map; repeatable.",
)
@click.option(
    "vary",
    "--vary",
    multiple=True,
    metavar="NAME=VALUES",
    help="An axis: a parameter, or a number of the profile by its way in the YAML; repeatable, "
    "for all combinations.",
)
@click.option("--plot", metavar="FILE", help="Also draw the times over the first axis, SVG.")
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
    """
    inputs = [name for name in (characterization, profile, section_map) if name]
    check_output(output, inputs)
    check_output(plot, inputs)
    if plot is not None and plot in (output, "-"):
        raise UsageError("--plot needs a file of its own")
    if not vary:
        raise UsageError("nothing is varied", expected="--vary NAME=VALUES", hint="--vary N=1..16")
    chosen = chosen_format(form, as_json)
    asked = pipeline.Request(characterization, profile, section_map, vary, services, values)
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
        try:
            drawn = report.chart(found.axes, found.surfaces)
        except ValueError as error:
            raise UsageError(
                f"--plot: {error}", hint="fewer values, or another first axis"
            ) from None
    if chosen == "csv":
        emit(report.csv_parts(found.axes, found.surfaces), output)
    else:
        sheets = report.sheets(found.axes, found.surfaces, found.changes, found.notes)
        emit(render(sheets, chosen, table_width(output), table_color(output)), output)
    if plot is not None and drawn is not None:
        emit(drawn, plot)
