"""``wcetchar report``: a kernel's datasheet."""

from __future__ import annotations

import os
from typing import Final

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_output,
    chosen_format,
    emit,
    json_option,
    maps_option,
    output_option,
    progress_bar,
    services_option,
    table_color,
    table_width,
    values_option,
)
from wcetchar.errors import UsageError
from wcetchar.pipeline import report as pipeline
from wcetchar.report import datasheet_data, datasheet_html, datasheet_text

FORMATS: Final = ("html", "json", "csv", "markdown", "text")
_ENDINGS: Final = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".csv": "csv",
    ".md": "markdown",
    ".txt": "text",
}


@click.command("report")
@click.argument("characterization", shell_complete=completing.characterizations)
@click.option(
    "profiles",
    "--profile",
    multiple=True,
    metavar="NAME|FILE",
    help="Hardware profile; more than one prices each. Without any, only counts are shown.",
    shell_complete=completing.profiles,
)
@maps_option
@click.option(
    "--against",
    metavar="NAME|FILE",
    help="Another characterization, to show beside: another version or configuration.",
    shell_complete=completing.characterizations,
)
@services_option
@values_option
@click.option(
    "--graphs/--no-graphs",
    default=True,
    help="Draw flow graphs on each profile, where there are path models. Default: yes.",
)
@click.option(
    "form",
    "--format",
    type=click.Choice(FORMATS),
    help="Default: what the ending of the output says; text where there is none.",
)
@json_option
@output_option
def command(
    characterization: str,
    profiles: tuple[str, ...],
    maps: tuple[str, ...],
    against: str | None,
    services: tuple[str, ...],
    values: dict[str, int],
    graphs: bool,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Make the datasheet of CHARACTERIZATION (a name or a file): the kernel with its configuration
    and where its counts come from, and each service with its trace sections, formula, worst state,
    times and blocking on hardware.

    As HTML that is one page without anything from outside, which works from disk: with search,
    sorting, and two profiles or two characterizations side by side.

    Parameters that nothing sets have the values with the largest total, as with `wcetchar estimate
    --maximum`; each figure says at which values it holds.

    \b
    Examples:
      wcetchar report kernel.json --profile cortex-m3/flash-3ws \\
          --map cortex-m3/map-flash-3ws -o datasheet.html
      wcetchar report new.json --against old.json --profile board.yaml --map map.yaml \\
          --format markdown -o changes.md
    """
    inputs = [characterization, *profiles, *maps, *([] if against is None else [against])]
    check_output(output, inputs)
    chosen = _format(form, as_json, output)
    page = chosen == "html"
    request = pipeline.Request(
        characterization, profiles, maps, against, services, values, graphs and page, page
    )
    with progress_bar("flow graphs", "services") as advance:
        result = pipeline.run(request, advance)
    sheet = result.sheet
    if page:
        text = datasheet_html.render(sheet, result.evaluators)
    elif chosen == "json":
        text = datasheet_data.json_text(sheet)
    elif chosen == "csv":
        text = datasheet_data.csv_text(sheet)
    elif chosen == "markdown":
        text = datasheet_text.markdown(sheet)
    else:
        text = datasheet_text.terminal(sheet, table_width(output), table_color(output))
    emit(text, output)


def _format(form: str | None, as_json: bool, output: str | None) -> str:
    """
    Raises:
        UsageError: options contradict each other, or the output's ending says nothing.
    """
    if as_json or form is not None:
        return chosen_format(form, as_json)
    if output is None or output == "-":
        return "text"
    ending = os.path.splitext(output)[1].lower()
    if ending not in _ENDINGS:
        raise UsageError(
            f"the ending of {output} does not say which format is wanted",
            expected=f"one of {', '.join(_ENDINGS)}, or --format",
        )
    return _ENDINGS[ending]
