"""``wcetchar doctor``: what is installed, and what is missing for which verb."""

from __future__ import annotations

import click

from wcetchar.cli.common import (
    emit,
    json_option,
    output_option,
    table_color,
    table_width,
)
from wcetchar.errors import CheckFailed


@click.command("doctor")
@click.option(
    "asked",
    "--for",
    multiple=True,
    metavar="VERB",
    help="Only what this verb needs, or this target, such as `make test`; repeatable. Ends with "
    "exit code 1 if something is missing.",
)
@json_option
@output_option
def command(asked: tuple[str, ...], as_json: bool, output: str | None) -> None:
    """Say which programs and packages are there, in which versions, what is missing for which verb
    and how to get it. Versions that are not known to work are said to be unfit.

    Most verbs need no program at all. An estimate needs neither compiler nor emulator.

    \b
    Examples:
      wcetchar doctor
      wcetchar doctor --for capture --for "make demo"
    """
    from wcetchar.cli import verb_names
    from wcetchar.pipeline import doctor as pipeline
    from wcetchar.report import doctor as report

    found = pipeline.run(asked, verb_names())
    uses = [(use, found.lacks(use)) for use in found.uses]
    if as_json:
        text = report.document(found.version, found.tools, uses)
    else:
        text = report.table(found.tools, uses, table_width(output), table_color(output))
    emit(text, output)
    if asked and not found.ready:
        lacking = [use.name for use, lacks in uses if lacks]
        raise CheckFailed(
            f"something is missing for {', '.join(lacking)}",
            hint="get what the table names, then run this again",
        )
