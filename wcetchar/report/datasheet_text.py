"""A datasheet on a terminal and as Markdown, from the same blocks as the page."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from wcetchar.report.datasheet import Datasheet
from wcetchar.report.datasheet_blocks import Block, Heading, Line, Lines, Table, blocks_of
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.terminal import table_of, text_of


def terminal(sheet: Datasheet, width: int = 120, color: bool = False) -> str:
    parts = [part for block in blocks_of(sheet) for part in _printed(block)]
    return text_of(parts, width, color)


def markdown(sheet: Datasheet) -> str:
    lines = [line for block in blocks_of(sheet) for line in _marked(block)]
    return "\n".join(lines).strip("\n") + "\n"


def _printed(block: Block) -> Iterator[RenderableType]:
    if isinstance(block, Heading):
        yield ""
        yield Text(block.text, style="bold")
        if block.level < 3:
            yield Text(("=" if block.level == 1 else "-") * len(block.text))
        yield ""
    elif isinstance(block, Line):
        yield Text(f"{block.label}: {block.text}" if block.label else block.text)
    elif isinstance(block, Lines):
        if block.label:
            yield Text(f"{block.label}:")
        yield from (Text(f"  {item}" if block.label else item) for item in block.items)
    elif block.rows:
        if block.label:
            yield ""
            yield Text(f"{block.label}:")
        yield _table(block)
        yield ""


def _table(block: Table) -> RenderableType:
    if any(heading for heading, _ in block.columns):
        return table_of(block.columns, block.rows)
    grid = Grid.grid(padding=(0, 2, 0, 0))
    for row in block.rows:
        grid.add_row(*map(Text, row))
    return grid


def _marked(block: Block) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f"\n{'#' * block.level} {escaped(block.text)}\n"
    elif isinstance(block, Line):
        yield f"* {escaped(f'{block.label}: {block.text}' if block.label else block.text)}"
    elif isinstance(block, Lines):
        if block.label:
            yield f"* {escaped(block.label)}:"
        indent = "  " if block.label else ""
        yield from (f"{indent}* {escaped(item)}" for item in block.items)
    elif block.rows:
        yield f"\n{escaped(block.label)}:\n" if block.label else ""
        yield from table_lines(block.columns, block.rows)
        yield ""
