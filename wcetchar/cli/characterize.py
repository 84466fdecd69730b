"""``wcetchar characterize``: from traces to the published table."""

from __future__ import annotations

import click

from wcetchar import store
from wcetchar.cli.common import json_option, progress_bar, table_color, table_width
from wcetchar.errors import CheckFailed
from wcetchar.pipeline import characterize as pipeline
from wcetchar.report import summary


@click.command("characterize")
@click.argument("firmware", type=click.Path(dir_okay=False))
@click.argument("runs", nargs=-1, required=True, type=click.Path(dir_okay=False), metavar="RUN...")
@click.option(
    "--services",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The vendor's services file.",
)
@click.option(
    "-o",
    "--output",
    required=True,
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The characterization, written whole or not at all.",
)
@click.option("--format", "form", metavar="NAME", help="Trace format, where content is ambiguous.")
@click.option("--machine", metavar="NAME", help="Emulated machine, where the trace does not say.")
@click.option("--partial", is_flag=True, help="Leave out services that no trace shows.")
@json_option
def command(
    firmware: str,
    runs: tuple[str, ...],
    services: str,
    output: str,
    form: str | None,
    machine: str | None,
    partial: bool,
    as_json: bool,
) -> None:
    """Turn traces of FIRMWARE into the characterization of its kernel.

    Each RUN is a trace of any known format; formats are told apart by content.
    """
    request = pipeline.Request(firmware, runs, services, form, machine, partial)
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
        click.echo(summary.json_of(found), nl=False)
    else:
        click.echo(summary.render(found, table_width(None), table_color(None)), nl=False)
