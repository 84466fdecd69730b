"""``wcetchar schema``: JSON Schemas of the files, for editors and checkers."""

from __future__ import annotations

import click

from wcetchar.cli import completing
from wcetchar.cli.common import (
    check_output,
    emit,
    json_option,
    output_option,
    table_color,
    table_width,
)
from wcetchar.errors import UsageError


@click.command("schema")
@click.argument("name", required=False, shell_complete=completing.schemas)
@click.option("listing", "--list", is_flag=True, help="List all schemas instead.")
@click.option(
    "where", "--path", is_flag=True, help="Print where the schema lies, rather than its text."
)
@json_option
@output_option
def command(
    name: str | None, listing: bool, where: bool, as_json: bool, output: str | None
) -> None:
    """Print the JSON Schema (draft-07) of a kind of file by NAME, such as `section-map`, or by what
    the file says it is, such as `wcetchar/section-map/1`. With it an editor completes keys,
    explains them and underlines mistakes.

    \b
    Examples:
      wcetchar schema --list
      wcetchar schema section-map -o section-map.json
      wcetchar schema hardware-profile --path
    """
    from wcetchar.pipeline import schema as pipeline

    if (name is None) != listing:
        raise UsageError(
            "give a schema's name or --list" if name is None else "--list takes no name",
            hint="wcetchar schema --list",
        )
    check_output(output, ())
    if name is not None:
        if as_json:
            raise UsageError("--json is for --list: a schema is JSON as it is")
        emit(pipeline.one(name, where=where), output)
        return
    if where:
        raise UsageError("--path is of one schema", hint="--list --json has all paths")
    form = "json" if as_json else "table"
    emit(pipeline.listed(form, table_width(output), table_color(output)), output)
