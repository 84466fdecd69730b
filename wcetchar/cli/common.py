"""What several verbs share: formats, output, progress of results to where they belong."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable
from typing import Any, Final, TypeVar

import click

from wcetchar import store

TABLE_WIDTH: Final = 120
"""Columns of tables that no terminal shows, so that files are the same on every machine."""

_F = TypeVar("_F", bound=Callable[..., Any])


def json_option(function: _F) -> _F:
    """``--json``: the result as one JSON document on standard output."""
    return click.option("--json", "as_json", is_flag=True, help="One JSON document.")(function)


def output_option(function: _F) -> _F:
    """``-o FILE``: the result into a file, whole or not at all."""
    return click.option(
        "-o",
        "--output",
        type=click.Path(dir_okay=False),
        help="Write to FILE, whole or not at all, instead of standard output.",
        metavar="FILE",
    )(function)


def emit(text: str, output: str | None) -> None:
    """Write a result to ``output``, or to standard output for ``None`` and ``-``."""
    if output is None or output == "-":
        click.echo(text, nl=False)
    else:
        store.write_atomically(output, text)


def table_width(output: str | None) -> int:
    """Columns for a table: the terminal's if one shows it."""
    if on_terminal(output):
        return max(60, shutil.get_terminal_size((TABLE_WIDTH, 24)).columns)
    return TABLE_WIDTH


def table_color(output: str | None) -> bool:
    """Whether a table may use bold type: on a terminal that was not asked to stay plain."""
    return on_terminal(output) and not os.environ.get("NO_COLOR")


def on_terminal(output: str | None) -> bool:
    return (output is None or output == "-") and sys.stdout.isatty()
