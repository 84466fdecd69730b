"""A worst path on a terminal: the three figures, the dearest blocks, what no trace took, and what
is missing. The page of ``paths_html`` has the graph."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Final

from rich.console import RenderableType
from rich.padding import Padding
from rich.text import Text

from wcetchar.model.characterization import Word
from wcetchar.report.numbers import grouped, percent
from wcetchar.report.paths_boxes import shortened
from wcetchar.report.paths_formula import FormulaRows
from wcetchar.report.paths_stretches import StretchRow
from wcetchar.report.paths_view import DifferenceRow, PathRows
from wcetchar.report.terminal import notes_part, table_of, text_of

SHOWN: Final = 10
"""Blocks, and edges that no trace took, of which each is shown."""
SOURCE: Final = 30
"""Letters of a source line."""


def terminal(rows: PathRows, width: int = 120, color: bool = False, shown: int = SHOWN) -> str:
    """Without ``color`` plain text, the same on every machine."""
    parts: list[RenderableType] = [*_head(rows), ""]
    if rows.formula is not None:
        parts += [*_formula(rows.formula), ""]
    if rows.stretches:
        parts += [*_stretches(rows.stretches), ""]
    if rows.gaps:
        parts += [*_gaps(rows), ""]
    if rows.has_flow:
        parts += [*_blocks(rows, shown), ""]
        parts += [*_coverage(rows, shown), ""]
    parts += _facts(rows)
    parts += notes_part(rows.notes)
    return text_of(parts, width, color)


def _head(rows: PathRows) -> Iterator[RenderableType]:
    at = f", {rows.at}" if rows.at else ""
    heading = f"worst path of {rows.service} on {rows.profile} (map {rows.section_map}){at}"
    yield Text(heading, style="bold")
    columns = [("high-water mark ns", True), ("traced path ns", True), (f"{rows.title} ns", True)]
    cells = [_ns(rows.high_water_mark_ns), _ns(rows.traced_path_ns), _ns(rows.bound_ns)]
    if rows.ratio is not None:
        columns.append((f"{'bound' if rows.word is Word.BOUND else 'path'} / mark", True))
        cells.append(grouped(Fraction(math.ceil(rows.ratio * 1000), 1000)))
    yield table_of(columns, [cells])
    if rows.below:
        yield Text("UNSAFE: the high-water mark is above the worst path", style="bold red")


def _formula(rows: FormulaRows) -> Iterator[RenderableType]:
    heading = f"as a formula ({rows.word}), in multiples of {rows.unit}"
    yield Text(heading, style="bold")
    for piece in rows.pieces:
        where = f"   for {piece.where}" if piece.where else ""
        yield Padding(Text(f"{piece.text}{where}"), (0, 0, 0, 2))
    values = "at the one value" if rows.points == 1 else f"at each of {grouped(rows.points)} values"
    yield Text(f"solved {values}")


def _stretches(stretches: Iterable[StretchRow]) -> Iterator[RenderableType]:
    yield Text("longest stretches", style="bold")
    columns = [("over all paths", False), ("traced ns", True), ("ns", True), ("word", False)]
    columns += [("from", False), ("to", False)]
    cells = []
    for row in stretches:
        figures = [_ns(row.traced_ns), grouped(row.bound_ns), row.word.value]
        cells.append([row.held_off, *figures, row.begin or "nowhere", row.end])
    yield table_of(columns, cells)
    for row in stretches:
        for note in row.notes:
            yield Text(f"{row.held_off}: {note}")


def _gaps(rows: PathRows) -> Iterator[RenderableType]:
    many = len(rows.gaps)
    path = "" if rows.has_flow else " and no worst path"
    yield Text(f"no bound{path}: {many} fact{'s are' if many > 1 else ' is'} missing", style="bold")
    for gap in rows.gaps:
        yield Text(f"{gap.what}: {gap.where}")
        if gap.fact:
            yield Padding(Text(gap.fact), (0, 0, 0, 4))


def _blocks(rows: PathRows, shown: int) -> Iterator[RenderableType]:
    dearest = rows.dearest
    yield Text(f"dearest blocks{_first(len(dearest), shown)}", style="bold")
    texts = any(row.source for row in dearest[:shown])
    columns = [("block", False), ("in", False)]
    columns += [("source", False)] if texts else []
    columns += [("count", True), ("ns each", True), ("ns", True), ("share", True), ("seen", False)]
    cells = []
    for row in dearest[:shown]:
        cells.append(
            [
                row.place,
                row.function,
                *([shortened(row.source, SOURCE)] if texts else []),
                grouped(row.count or 0),
                grouped(row.each_ns),
                grouped(row.total_ns or 0),
                percent(row.share or 0, 1),
                "" if row.seen else "never",
            ]
        )
    if len(dearest) > shown:
        rest = sum((row.total_ns or Fraction(0) for row in dearest[shown:]), start=Fraction(0))
        cells.append(_sum(f"{grouped(len(dearest) - shown)} other blocks", rest, rows, texts))
    if rows.beside_ns:
        cells.append(_sum("beside the blocks", rows.beside_ns, rows, texts))
    yield table_of(columns, cells)


def _sum(name: str, ns: Fraction, rows: PathRows, texts: bool) -> list[str]:
    return [name, *([""] * (4 if texts else 3)), grouped(ns), percent(ns, rows.whole_ns), ""]


def _coverage(rows: PathRows, shown: int) -> Iterator[RenderableType]:
    covered = rows.coverage
    if covered is None:
        return
    yield Text(
        f"traces exercised {grouped(covered.blocks_seen)} of {grouped(covered.blocks)} blocks and "
        f"{grouped(covered.edges_seen)} of {grouped(covered.edges)} edges of the worst path"
    )
    first = [row for row in rows.differs if row.first]
    if first:
        many = _first(len(first), shown)
        yield Text(f"where it turns off from every trace{many}: tests to write", style="bold")
        yield table_of(
            [("from", False), ("to", False), ("in", False), ("source", False), ("count", True)],
            [_difference(row) for row in first[:shown]],
        )
    behind = len(rows.differs) - len(first)
    if behind:
        yield Text(f"and {grouped(behind)} edge{'s' if behind > 1 else ''} behind these")


def _difference(row: DifferenceRow) -> list[str]:
    function = row.function or row.to_function
    if row.function and row.to_function and row.to_function != row.function:
        function += f" → {row.to_function}"
    text = shortened(row.end.text, SOURCE)
    return [row.begin.place, row.end.place, function, text, grouped(row.count)]


def _facts(rows: PathRows) -> Iterator[RenderableType]:
    numbers = (f"{grouped(number)} {origin.value}" for origin, number in rows.facts.items())
    yield Text(f"constraints: {', '.join(numbers)}")
    if rows.binding:
        yield Text("what holds it down:", style="bold")
    for row in rows.binding:
        origin = ", ".join(part for part in (row.origin, row.place) if part)
        text = row.label + (f" ({origin})" if origin else "")
        yield Padding(Text(text + (f": {row.because}" if row.because else "")), (0, 0, 0, 2))


def _first(many: int, shown: int) -> str:
    return f", the first {shown} of {grouped(many)}" if many > shown else ""


def _ns(value: Fraction | None) -> str:
    return "-" if value is None else grouped(value)


def summary(all_rows: Iterable[PathRows], width: int = 120, color: bool = False) -> str:
    """One line for each service."""
    cells = []
    for rows in all_rows:
        covered = rows.coverage
        cells.append(
            [
                rows.service,
                rows.at,
                _ns(rows.high_water_mark_ns),
                _ns(rows.traced_path_ns),
                _ns(rows.bound_ns),
                rows.word.value if rows.bound_ns is not None else "none",
                "-" if rows.ratio is None else grouped(rows.ratio),
                "-" if covered is None else f"{covered.edges_seen}/{covered.edges}",
                " / ".join(str(number) for number in rows.facts.values()),
                str(len(rows.gaps) or ""),
            ]
        )
    columns = [("service", False), ("at", False), ("mark ns", True), ("traced ns", True)]
    columns += [("worst ns", True), ("word", False), ("worst / mark", True), ("edges seen", True)]
    columns += [("automatic / written / observed", True), ("missing", True)]
    return text_of([table_of(columns, cells)], width, color)
