"""``wcetchar estimate``: what services cost on given hardware."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_files,
    chosen_format,
    emit,
    format_option,
    json_option,
    maps_option,
    maximum_option,
    output_option,
    progress_bar,
    services_option,
    table_color,
    table_width,
    values_option,
)
from wcetchar.errors import UsageError

if TYPE_CHECKING:
    from wcetchar.report.view import EstimateView

FORMATS = ("table", "summary", "csv", "markdown", "json")


@click.command("estimate")
@click.argument("characterization", shell_complete=completing.characterizations)
@click.option(
    "profiles",
    "--profile",
    multiple=True,
    required=True,
    metavar="NAME|FILE",
    help="Hardware profile; more than one prices each.",
    shell_complete=completing.profiles,
)
@maps_option
@services_option
@values_option
@maximum_option
@click.option(
    "--uncertainty",
    is_flag=True,
    help="Say how far each figure hangs on each number of profile and map that may be off.",
)
@click.option(
    "--plot",
    metavar="FILE",
    help="Also draw what each number raises and lowers, SVG; of one estimate, with --uncertainty.",
    shell_complete=completing.files,
)
@format_option(FORMATS)
@json_option
@output_option
def command(
    characterization: str,
    profiles: tuple[str, ...],
    maps: tuple[str, ...],
    services: tuple[str, ...],
    values: dict[str, int],
    maximum: bool,
    uncertainty: bool,
    plot: str | None,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Price the services of CHARACTERIZATION (a name or a file) on hardware profiles: execution
    time in ns and core cycles, and how long interrupts and preemption are held off.

    Times are exact and rounded up where they are printed. Every figure is a bound, a high-water
    mark or an estimate, and says so. Profiles and maps are files, or names of shipped ones, such as
    cortex-m3/flash-3ws and cortex-m3/map-flash-3ws.

    With --uncertainty each total has a range beside it: what it is where every number is nominal,
    what systematic and stochastic errors make of it, and which number raises it most. So have
    blocking times, and the bound of all paths. The figure itself stays the safe end of all of them.

    \b
    Examples:
      wcetchar estimate kernel.json --profile cortex-m3/flash-3ws \\
          --map cortex-m3/map-flash-3ws --service xTaskCreate --set N=13
      wcetchar estimate renaux2010 --profile renaux2010/platform1 \\
          --map renaux2010/map1 --set N=13 --json
      wcetchar estimate muller2007 --profile muller2007/expected \\
          --map muller2007/map --service context_switch --uncertainty
    """
    from wcetchar.pipeline import estimate as pipeline
    from wcetchar.report.view import views_of

    check_files(output, {"--plot": plot}, (characterization, *profiles, *maps))
    if plot is not None and not uncertainty:
        raise UsageError("--plot draws uncertainties", expected="--uncertainty")
    chosen = chosen_format(form, as_json)
    asked = pipeline.Request(
        characterization, profiles, maps, services, values, maximum, uncertainty
    )
    with progress_bar("pricing", "estimates") as advance:
        views = views_of(pipeline.run(asked, advance))
    drawn = None if plot is None else _drawn(views)
    emit(_text(views, chosen, output), output)
    if plot is not None and drawn is not None:
        emit(drawn, plot)


def _text(views: tuple[EstimateView, ...], chosen: str, output: str | None) -> str:
    """Of the one format that is asked for, whose module alone is imported."""
    if chosen == "json":
        from wcetchar.report import jsondoc

        return jsondoc.render(views)
    if chosen == "csv":
        from wcetchar.report import csv

        return csv.render(views)
    if chosen == "markdown":
        from wcetchar.report import markdown

        return markdown.render(views)
    from wcetchar.report import terminal

    draw = terminal.summary if chosen == "summary" else terminal.render
    return draw(views, table_width(output), table_color(output))


def _drawn(views: tuple[EstimateView, ...]) -> str:
    from wcetchar.report import tornado

    if len(views) != 1:
        raise UsageError(
            f"--plot draws one estimate, and these are {len(views)}",
            expected="one --service, or one part of it, on one --profile",
        )
    try:
        return tornado.svg(views[0])
    except ValueError as error:
        raise UsageError(f"--plot: {error}", expected="a number with an error") from None
