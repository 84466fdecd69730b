"""What stands in the boxes of a flow graph, and how large that makes them.

Blocks that can only be passed one after the other, in one activation and under one mask, share a
box. Text is measured as a monospaced font's that is not narrower than those that browsers have.
"""

from __future__ import annotations

import math
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

from wcetchar.model.path_model import OUTSIDE
from wcetchar.report.numbers import grouped, percent
from wcetchar.report.paths_view import ActivationRow, BlockRow, Line, PathRows

CHARACTER: Final = 7.3
"""Width of a letter of 12 pixels: 0.602 em in DejaVu Sans Mono, less in others."""
LINE: Final = 17
PAD: Final = 10
TEXT: Final = 54
"""Letters of a source line that are shown."""
LINES: Final = 7
"""Source lines of a box that are shown."""
HEATS: Final = (
    Fraction(1, 100),
    Fraction(3, 100),
    Fraction(8, 100),
    Fraction(1, 5),
    Fraction(2, 5),
)
"""Shares of the whole from which on a box is hotter."""


@dataclass(frozen=True)
class Group:
    """Blocks of one box, in the order in which they are passed."""

    blocks: tuple[int, ...]
    activation: int


@dataclass(frozen=True)
class Content:
    """Texts of a box.

    Attributes:
        heading, figures: left and right in its first line.
        lines: (number of the line, text); the number may be empty.
        tag: what is held off in it.
        title: everything, for pointing at it.
    """

    heading: str
    figures: str
    lines: tuple[tuple[str, str], ...]
    tag: str
    title: str
    heat: int
    on_path: bool
    seen: bool

    @property
    def width(self) -> int:
        wide = letters(self.heading) + (letters(self.figures) + 3 if self.figures else 0)
        gutter = self.gutter
        wide = max([wide, letters(self.tag), *(gutter + letters(text) for _, text in self.lines)])
        return math.ceil(wide * CHARACTER) + 2 * PAD

    @property
    def height(self) -> int:
        return LINE * (1 + len(self.lines) + bool(self.tag)) + PAD

    @property
    def gutter(self) -> int:
        """Letters that numbers of lines take, with a space behind."""
        numbers = max((letters(number) for number, _ in self.lines), default=0)
        return numbers + 2 if numbers else 0


def letters(text: str) -> int:
    """Columns that the text takes: letters of East Asian scripts take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shortened(text: str, most: int) -> str:
    if letters(text) <= most:
        return text
    kept, used = [], 1
    for letter in text:
        used += letters(letter)
        if used > most:
            break
        kept.append(letter)
    return "".join(kept).rstrip() + "…"


def short_ns(value: Fraction) -> str:
    """Rounded up; whole from 100 ns on."""
    return grouped(math.ceil(value) if value >= 100 else value)


def heat_of(share: Fraction | None) -> int:
    """0, coldest, to 5."""
    return 0 if share is None else sum(share >= least for least in HEATS)


def groups_of(rows: PathRows) -> tuple[tuple[Group, ...], frozenset[int]]:
    """Groups in the order of their first blocks, and numbers of the edges within them."""
    leaving = Counter(edge.source for edge in rows.edges)
    entering = Counter(edge.target for edge in rows.edges)
    following: dict[int, tuple[int, int]] = {}
    led_to = set()
    for edge in rows.edges:
        if OUTSIDE in (edge.source, edge.target) or edge.source == edge.target:
            continue
        a, b = rows.blocks[edge.source], rows.blocks[edge.target]
        alike = (a.activation, a.blocking, a.seen) == (b.activation, b.blocking, edge.seen)
        if alike and edge.seen == b.seen and leaving[a.number] == 1 == entering[b.number]:
            following[a.number] = (b.number, edge.number)
            led_to.add(b.number)
    groups, inner = [], set()
    done: set[int] = set()
    heads = [n for n in range(len(rows.blocks)) if n not in led_to]
    for head in [*heads, *range(len(rows.blocks))]:  # a cycle that nothing enters has no head
        if head in done:
            continue
        blocks = [head]
        done.add(head)
        while blocks[-1] in following and following[blocks[-1]][0] not in done:
            block, edge_number = following[blocks[-1]]
            inner.add(edge_number)
            blocks.append(block)
            done.add(block)
        groups.append(Group(tuple(blocks), rows.blocks[head].activation))
    return tuple(groups), frozenset(inner)


def content_of(rows: PathRows, group: Group) -> Content:
    blocks = [rows.blocks[n] for n in group.blocks]
    share = sum((b.share or Fraction(0) for b in blocks), start=Fraction(0))
    first = blocks[0]
    figures = f"{short_ns(sum((b.each_ns for b in blocks), start=Fraction(0)))} ns"
    if first.on_path:
        total = sum((b.total_ns or Fraction(0) for b in blocks), start=Fraction(0))
        figures = f"×{grouped(first.count or 0)}  {short_ns(total)} ns  {percent(share, 1)}"
    return Content(
        heading=_heading(blocks),
        figures=figures,
        lines=_lines(blocks),
        tag="" if first.blocking == "none" else f"holds off {first.blocking}",
        title="\n".join(_title(block) for block in blocks),
        heat=heat_of(share),
        on_path=first.on_path,
        seen=first.seen,
    )


def call_content(rows: PathRows, row: ActivationRow, number_of_blocks: int, seen: bool) -> Content:
    """Of a function that is drawn by itself."""
    figures = f"{number_of_blocks} block{'s' if number_of_blocks != 1 else ''}"
    if row.entered:
        figures = f"×{grouped(row.entered)}  {short_ns(row.total_ns or Fraction(0))} ns  "
        figures += percent(row.share or 0, 1)
    return Content(
        heading=f"▸ {shortened(row.function, TEXT)}",
        figures=figures,
        lines=(),
        tag="",
        title=f"{' > '.join(row.calls)}: {number_of_blocks} blocks, drawn by itself",
        heat=heat_of(row.share),
        on_path=bool(row.entered),
        seen=seen,
    )


def _heading(blocks: Sequence[BlockRow]) -> str:
    first, last = blocks[0].lines[0], blocks[-1].lines[-1]
    if not first.number or first.place.count(":") != 1 or first.place == last.place:
        return shortened(first.place, TEXT)
    file = first.place.rpartition(":")[0]
    numbers = sorted({line.number for b in blocks for line in b.lines if line.number})
    alike = all(line.place == f"{file}:{line.number}" for b in blocks for line in b.lines)
    if not alike or len(numbers) < 2:
        return shortened(first.place, TEXT)
    return f"{shortened(file, TEXT)}:{numbers[0]}–{numbers[-1]}"


def _lines(blocks: Sequence[BlockRow]) -> tuple[tuple[str, str], ...]:
    found: list[Line] = []
    for block in blocks:
        found += [line for line in block.lines if line.text and line not in found]
    runs = [found[0]] if found else []
    runs += [b for a, b in pairwise(found) if (a.number, a.text) != (b.number, b.text)]
    shown = [(str(line.number), shortened(line.text, TEXT)) for line in runs]
    if len(shown) > LINES:
        more = len(shown) - LINES + 1
        shown = [*shown[: LINES - 2], ("", f"… {more} more lines"), shown[-1]]
    return tuple(shown)


def _title(block: BlockRow) -> str:
    where = " to ".join(line.place for line in block.lines)
    text = f"{where} in {block.function}: "
    if block.on_path:
        text += f"{grouped(block.count or 0)} times {grouped(block.each_ns)} ns = "
        text += f"{grouped(block.total_ns or 0)} ns, {percent(block.share or 0, 1)}"
    else:
        text += f"{grouped(block.each_ns)} ns, not on the worst path"
    text += "" if block.seen else ", never passed by traces"
    return text + (f"\n    {block.source}" if block.source else "")
