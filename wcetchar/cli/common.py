"""What several verbs share: the options of results, and getting them where they belong.

Imported before the program can answer an interrupt, so what takes long to import is imported where
it is used.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, BinaryIO, Final, TypeVar, cast

import click

from wcetchar.cli import completing
from wcetchar.errors import InputError, Location, UsageError, did_you_mean, one_line
from wcetchar.pipeline.assignments import whole_number

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

TABLE_WIDTH: Final = 120
"""Columns of tables that no terminal shows, so that files are the same on every machine."""

_F = TypeVar("_F", bound=Callable[..., Any])


class OnDemand(click.Group):
    """A group of verbs, each a module of ``package`` with a click command named ``command``, of
    which only the one that is called is imported. ``verbs``: their names, and what a list of them
    says of each; so that a list is there at once, whatever the verbs need."""

    def __init__(self, *args: Any, package: str, verbs: Mapping[str, str], **extra: Any) -> None:
        super().__init__(*args, **extra)
        self._package, self._verbs = package, verbs

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self._verbs)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:  # of a name that is none, as click knows no names here
            near = did_you_mean(args[0], self._verbs)
            if near is None:
                raise
            raise click.UsageError(f"{error.message} {near.capitalize()}", ctx) from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in self._verbs:
            return None
        command = importlib.import_module(f"{self._package}.{cmd_name}").command
        assert isinstance(command, click.Command)
        command.short_help = self._verbs[cmd_name]
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self._verbs.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        verbs = self._verbs.items()
        found = [CompletionItem(n, help=what) for n, what in verbs if n.startswith(incomplete)]
        return found + click.Command.shell_complete(self, ctx, incomplete)


def json_option(function: _F) -> _F:
    """``--json``: the result as one JSON document on standard output."""
    return click.option(
        "--json", "as_json", is_flag=True, help="Print the result as one JSON document."
    )(function)


def format_option(formats: Sequence[str]) -> Callable[[_F], _F]:
    """``--format``: one of these, for ``chosen_format``."""
    return click.option(
        "form",
        "--format",
        type=click.Choice(formats),
        help="How to print the result. Default: table.",
    )


def output_option(function: _F) -> _F:
    """``-o FILE``: the result into a file, whole or not at all."""
    return click.option(
        "-o",
        "--output",
        help="Write to FILE, whole or not at all, instead of standard output.",
        metavar="FILE",
        shell_complete=completing.files,
    )(function)


def assignments(
    ctx: click.Context, param: click.Parameter, assignments: tuple[str, ...]
) -> dict[str, int]:
    """``NAME=INTEGER`` each; decimal, where a leading zero means nothing, or 0x hexadecimal."""
    values: dict[str, int] = {}
    for assignment in assignments:
        name, _, digits = (part.strip() for part in assignment.partition("="))
        value = whole_number(digits)
        if not name or value is None:
            raise click.BadParameter(f"{assignment!r} is not NAME=VALUE with a whole number")
        if values.setdefault(name, value) != value:
            raise click.BadParameter(f"{name} has two values: {values[name]} and {value}")
    return values


map_option = click.option(
    "section_map",
    "--map",
    metavar="NAME|FILE",
    help="Section map. Default: the profile's own.",
    shell_complete=completing.maps,
)
"""``--map``: one section map."""
maps_option = click.option(
    "maps",
    "--map",
    multiple=True,
    metavar="NAME|FILE",
    help="Section map: one for all profiles or one for each. Default: the profile's own.",
    shell_complete=completing.maps,
)
"""``--map``: of several profiles."""
services_option = click.option(
    "services",
    "--service",
    multiple=True,
    metavar="NAME",
    help="Only this service, with all parts of one that another thread cuts; repeatable.",
    shell_complete=completing.services,
)
"""``--service``: those of a characterization that are priced."""
only_services_option = click.option(
    "services",
    "--service",
    multiple=True,
    metavar="NAME",
    help="Only this service; repeatable.",
    shell_complete=completing.services,
)
"""``--service``: by the names of the characterization, each part by itself."""
values_option = click.option(
    "values",
    "--set",
    multiple=True,
    metavar="NAME=VALUE",
    callback=assignments,
    help="Value of a parameter, before that of the map; repeatable.",
    shell_complete=completing.parameters,
)
"""``--set``: values of their parameters."""
maximum_option = click.option(
    "--maximum",
    is_flag=True,
    help="Search parameters that nothing sets for the values with the largest total.",
)
"""``--maximum``: instead of values that nothing sets."""


def chosen_format(form: str | None, as_json: bool) -> str:
    """How to print a result: what `--format` says, `--json`, or a table.

    Raises:
        UsageError: the two contradict each other.
    """
    if as_json and form not in (None, "json"):
        raise UsageError(f"--json and --format {form} contradict each other")
    return "json" if as_json else form or "table"


def say(text: str) -> None:
    """Print lines on standard error, with nothing in them that a terminal would act on.

    Where even that cannot be written, the exit code has to do.
    """
    with contextlib.suppress(OSError, ValueError):
        for line in text.splitlines():
            click.echo(one_line(line.expandtabs()), err=True)


def check_output(output: str | None, inputs: Iterable[str]) -> None:
    """Refuse an output that cannot be written, before any work is done for it.

    Raises:
        UsageError: it is one of the inputs, which it would replace.
        InputError: it is a folder, or its folder is missing or cannot be written.
    """
    if output is None or output == "-":
        return
    for path in inputs:
        with contextlib.suppress(OSError, ValueError):
            if os.path.isfile(output) and os.path.samefile(output, path):
                raise UsageError(
                    f"the output {output} is also an input, which it would replace",
                    expected="a file of its own for the output",
                )
    where = Location(output)
    if os.path.isdir(output) or not output:
        raise InputError(
            "is a folder, not a file" if output else "the output has an empty name",
            where=where if output else None,
            expected="a file",
            hint="name a file in that folder" if output else "name a file",
        )
    folder = os.path.dirname(os.path.realpath(output))
    if not os.path.isdir(folder):
        raise InputError(
            "cannot be written: its folder does not exist",
            where=where,
            expected="a file in a folder that exists and is writable",
            hint="create the folder or choose another path",
        )
    if not os.path.exists(output) and not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(
            "cannot be written: permission to its folder is denied",
            where=where,
            expected="a file in a folder that exists and is writable",
            hint="choose another path",
        )


def check_files(
    output: str | None, others: Mapping[str, str | None], inputs: Sequence[str]
) -> None:
    """As :func:`check_output`, of an output and further files, by their options.

    Raises:
        UsageError, InputError: as there; a further file is standard output, or one of the others.
    """
    check_output(output, inputs)
    places = [] if output in (None, "-") else [output]
    for option, place in others.items():
        check_output(place, inputs)
        if place == "-" or place in places:
            raise UsageError(f"{option} needs a file of its own")
        places += [] if place is None else [place]


def emit(text: str | bytes | Iterable[str], output: str | None) -> None:
    """Write a result, or its parts, to ``output``, or to standard output for ``None`` and ``-``;
    bytes to a file alone.

    Raises:
        InputError: it cannot be written.
    """
    if output is not None and output != "-":
        from wcetchar import store

        store.write_atomically(output, text)
        return
    if isinstance(text, bytes):
        raise TypeError("bytes are for files")
    if sys.stdout is None:
        raise InputError("standard output cannot be written: it is closed")
    try:
        for part in [text] if isinstance(text, str) else text:
            if isinstance(sys.stdout, io.TextIOWrapper):
                _write(sys.stdout, part)
            else:
                click.echo(part, nl=False)
    except BrokenPipeError:
        raise
    except OSError as error:
        discard_output()
        raise InputError(f"standard output cannot be written: {error.strerror or error}") from error


def _write(stream: io.TextIOWrapper, text: str) -> None:
    """All of it, or an error. An unbuffered stream (PYTHONUNBUFFERED) may take a part, when the
    disk fills up or the reader goes, and Python then drops the rest without a word."""
    if stream.isatty():
        stream.reconfigure(errors="backslashreplace")
    else:  # The same bytes whatever the locale.
        stream.reconfigure(encoding="utf-8")
    stream.flush()
    rest = memoryview(text.encode(stream.encoding, stream.errors or "strict"))
    binary = cast(BinaryIO, stream.buffer)
    while rest:
        rest = rest[binary.write(rest) :]
    stream.flush()


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
    shown = output is None or output == "-"
    return shown and sys.stdout is not None and sys.stdout.isatty()


def drawn_over_axes(draw: Callable[[], str]) -> str:
    """For ``--plot``.

    Raises:
        UsageError: there is nothing to draw, or too much.
    """
    try:
        return draw()
    except ValueError as error:
        raise UsageError(f"--plot: {error}", hint="fewer values, or another first axis") from None


@contextlib.contextmanager
def progress_bar(title: str, unit: str, total: int | None = None) -> Iterator[Callable[..., None]]:
    """A progress bar on standard error, shown only on a terminal; yields ``advance_to(done)``,
    which may be told the total as well. ``unit``: "" where nothing can be counted."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total=None: None
        return
    # Only here: drawing takes as long to import as a small estimate takes.
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    with Progress(
        TextColumn(title),
        BarColumn(),
        *([TextColumn("{task.completed:,} " + unit)] if unit else []),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as progress:
        task = progress.add_task(title, total=total)

        def advance_to(done: int, total: int | None = None) -> None:
            progress.update(task, completed=done, total=total)

        yield advance_to
