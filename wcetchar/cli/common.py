"""What several verbs share: the options of results, and getting them where they belong."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from wcetchar import store
from wcetchar.errors import InputError

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
    """Write a result to ``output``, or to standard output for ``None`` and ``-``.

    Raises:
        InputError: it cannot be written.
    """
    if output is not None and output != "-":
        store.write_atomically(output, text)
        return
    if isinstance(sys.stdout, io.TextIOWrapper):
        if sys.stdout.isatty():
            sys.stdout.reconfigure(errors="backslashreplace")
        else:  # The same bytes whatever the locale.
            sys.stdout.reconfigure(encoding="utf-8")
    try:
        click.echo(text, nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise InputError(f"standard output cannot be written: {error.strerror or error}") from error


def discard_output() -> None:
    """Let the interpreter's own flush at exit go nowhere instead of failing once more."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


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


@contextlib.contextmanager
def progress_bar(
    title: str, unit: str, total: int | None = None
) -> Iterator[Callable[[int], None]]:
    """A progress bar on standard error, shown only on a terminal; yields ``advance_to(done)``."""
    console = Console(stderr=True)
    with Progress(
        TextColumn(title),
        BarColumn(),
        TextColumn("{task.completed:,} " + unit),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(title, total=total)
        yield lambda done: progress.update(task, completed=done)
