"""Writes docs/reference/command-line.md from the help that the command line prints itself.

python docs/generate_cli.py
"""

from __future__ import annotations

from pathlib import Path

import click

from wcetchar.cli import main

PAGE = Path(__file__).parent / "reference" / "command-line.md"
WIDTH = 96

INTRODUCTION = """\
# Command line

<!-- Written by docs/generate_cli.py from the programs' own help; do not edit. -->

Results go to standard output, progress and errors to standard error. With `--json` a verb prints
one JSON document. `-o FILE` is written to a temporary file first and then renamed, so that a run
that fails or is killed leaves the old file. The same inputs give the same bytes.

What the exit codes mean: [exit-codes.md](exit-codes.md). Verbs one after another, with real files:
[the tutorial](../tutorials/xTaskCreate.md).
"""


def page() -> str:
    """The whole page."""
    root = _context(main, "wcetchar", None)
    parts = [INTRODUCTION, _section("wcetchar", main, root)]
    for name in main.list_commands(root):
        command = main.get_command(root, name)
        assert command is not None
        context = _context(command, name, root)
        parts.append(_section(f"wcetchar {name}", command, context))
        if isinstance(command, click.Group):
            for part in command.list_commands(context):
                inner = command.get_command(context, part)
                assert inner is not None
                title = f"wcetchar {name} {part}"
                parts.append(_section(title, inner, _context(inner, part, context)))
    return "\n".join(parts)


def _context(command: click.Command, name: str, parent: click.Context | None) -> click.Context:
    return click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )


def _section(title: str, command: click.Command, context: click.Context) -> str:
    return f"## {title}\n\n```text\n{command.get_help(context).rstrip()}\n```\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
