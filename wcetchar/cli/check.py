"""``wcetchar check``: every traced invocation against the path models."""

from __future__ import annotations

import click

from wcetchar.cli.common import emit, json_option, progress_bar, table_color, table_width
from wcetchar.pipeline import characterize as characterization
from wcetchar.pipeline import check as pipeline
from wcetchar.pipeline.flow_facts import PathsRequest
from wcetchar.report import checked


@click.command("check", short_help="Hold every traced path against path models and bounds.")
@click.argument("firmware")
@click.argument("runs", nargs=-1, metavar="RUN...")
@click.option(
    "--services",
    required=True,
    multiple=True,
    metavar="NAME|FILE",
    help="The vendor's services file; files that are given several times are read as one.",
)
@click.option(
    "values",
    "--set",
    multiple=True,
    metavar=characterization.ASSIGNMENT,
    help="Value of a parameter that the firmware does not mark, in one run or all; repeatable.",
)
@click.option("runs_file", "--runs", metavar="FILE", help="Runs file, as of characterize.")
@click.option("--partial", is_flag=True, help="Leave out services that no trace shows.")
@click.option("facts", "--facts", multiple=True, metavar="FILE", help="Flow facts; repeatable.")
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
    help="Tell contexts apart by their last N calls only. Default: by all.",
)
@click.option(
    "--profile", metavar="NAME|FILE", help="Price each traced path, and its bound, on this profile."
)
@click.option(
    "section_map", "--map", metavar="NAME|FILE", help="Section map. Default: the profile's own."
)
@json_option
def command(
    firmware: str,
    runs: tuple[str, ...],
    services: tuple[str, ...],
    values: tuple[str, ...],
    runs_file: str | None,
    partial: bool,
    facts: tuple[str, ...],
    sources: tuple[str, ...],
    depth: int | None,
    profile: str | None,
    section_map: str | None,
    as_json: bool,
) -> None:
    """Replay every invocation that the RUNs (traces of FIRMWARE) show against the path models: each
    must be a path of its model that flow facts permit, count what the model says, and, with a
    profile, cost no more than the bound. Anything else is an error with exit code 1.

    \b
    Example:
      wcetchar check firmware.elf firmware.trace --services services.yaml \\
          --facts kernel.ff --sources src --profile cortex-m3/flash-3ws \\
          --map cortex-m3/map-flash-3ws
    """
    if not runs and runs_file is None:
        raise click.UsageError("Missing argument 'RUN...'.")
    request = characterization.Request(
        firmware,
        runs,
        services,
        partial=partial,
        values=values,
        runs=runs_file,
        paths=PathsRequest(facts, sources, depth),
    )
    with progress_bar("replaying", "instructions") as advance:
        found = pipeline.run(request, profile, section_map, advance)
    rows = [
        checked.Row(one.service, one.windows, one.points, one.closest, one.at, one.gaps)
        for one in found
    ]
    text = (
        checked.as_json(rows)
        if as_json
        else checked.render(rows, table_width(None), table_color(None))
    )
    emit(text, None)
