"""``wcetchar paths``: the worst path of a service, and what no trace has shown of it."""

from __future__ import annotations

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_output,
    chosen_format,
    emit,
    json_option,
    map_option,
    output_option,
    progress_bar,
    services_option,
    table_color,
    table_width,
    values_option,
)
from wcetchar.errors import UsageError
from wcetchar.pipeline import worst_paths as pipeline
from wcetchar.report import paths_dot, paths_html, paths_json, paths_text
from wcetchar.report.paths_view import rows_of

FORMATS = ("table", "summary", "dot", "html", "lp", "json")


@click.command("paths")
@click.argument("characterization", shell_complete=completing.characterizations)
@click.option(
    "--profile",
    metavar="NAME|FILE",
    help="Hardware profile that paths are priced by; needed for all but --template.",
    shell_complete=completing.profiles,
)
@map_option
@services_option
@values_option
@click.option(
    "--maximum",
    is_flag=True,
    help="Parameters that nothing sets have the values at which the published counts cost most.",
)
@click.option(
    "sources",
    "--sources",
    multiple=True,
    metavar="FOLDER",
    help="Where the source files are, to show their lines; repeatable.",
)
@click.option(
    "formula",
    "--formula",
    is_flag=True,
    help="The bound as a formula of the parameters, too: solved at every value of their ranges.",
)
@click.option(
    "template",
    "--template",
    is_flag=True,
    help="Write the flow facts that are missing instead, to be filled in.",
)
@click.option(
    "form",
    "--format",
    type=click.Choice(FORMATS),
    help="How to print the result. Default: summary, for one service table; dot, html and lp (the "
    "integer program, for other solvers) show one service.",
)
@json_option
@output_option
def command(
    characterization: str,
    profile: str | None,
    section_map: str | None,
    services: tuple[str, ...],
    values: dict[str, int],
    maximum: bool,
    sources: tuple[str, ...],
    formula: bool,
    template: bool,
    form: str | None,
    as_json: bool,
    output: str | None,
) -> None:
    """Show the worst path of services of CHARACTERIZATION, which has path models: what it takes on
    a hardware profile beside the high-water mark and the dearest path that traces took, its dearest
    blocks, and which branches of it no trace took.

    \b
    Examples:
      wcetchar paths kernel.json --profile cortex-m3/flash-3ws \\
          --map cortex-m3/map-flash-3ws --maximum
      wcetchar paths kernel.json --profile cortex-m3/flash-3ws \\
          --map cortex-m3/map-flash-3ws --service pvPortMalloc --set N=13 \\
          --sources build/firmware/freertos --format html -o pvPortMalloc.html
    """
    check_output(output, [f for f in (characterization, profile, section_map) if f is not None])
    if profile is None and not template:
        raise UsageError("no hardware profile", hint="--profile NAME or --profile FILE")
    request = pipeline.Request(
        characterization, profile or "", section_map, services, values, maximum, sources, formula
    )
    if template:
        emit(pipeline.template(request), output)
        return
    if form == "lp" and not as_json:
        emit(pipeline.program(request), output)
        return
    rows = []
    with progress_bar("solving", "services") as advance:
        for view in pipeline.run(request):
            rows.append(rows_of(view))
            advance(len(rows))
    chosen = chosen_format(
        "json" if as_json else form or ("table" if len(rows) == 1 else "summary"), as_json
    )
    if chosen in ("dot", "html") and len(rows) != 1:
        raise UsageError(
            f"{chosen} shows one service, and {len(rows)} are asked for",
            hint="name it by --service; of one that another thread cuts, a part such as NAME/call",
        )
    if chosen == "json":
        text = paths_json.document(rows)
    elif chosen == "dot":
        text = paths_dot.dot(rows[0])
    elif chosen == "html":
        text = paths_html.render(rows[0])
    elif chosen == "table":
        text = "\n".join(
            paths_text.terminal(one, table_width(output), table_color(output)) for one in rows
        )
    else:
        text = paths_text.summary(rows, table_width(output), table_color(output))
    emit(text, output)
