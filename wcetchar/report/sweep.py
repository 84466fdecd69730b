"""What services take over axes: a sheet, a table of a million lines in parts, and a picture."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wcetchar.model.sweep import WORDS, Axis, Change, Figures, Surface
from wcetchar.report import picture
from wcetchar.report.chart import Line, Panel
from wcetchar.report.csv import spreadsheet_text
from wcetchar.report.numbers import (
    DIGITS,
    for_json,
    low_for_json,
    plain,
    plain_parts,
    rounded_down,
)
from wcetchar.report.over_axes import MOST_LINES, line_name, over_axis, refuse_many
from wcetchar.report.sheet import Column, Sheet, Value, text_column

SCHEMA: Final = "wcetchar/sweep/1"
_BLOCK: Final = 1 << 15
"""Lines that are made at a time."""
_UNCHANGED: Final = "between neighbouring values, over all others; of the total, per unit"


def sheets(
    axes: Sequence[Axis],
    surfaces: Sequence[Surface],
    changes: Sequence[Change],
    notes: Sequence[str],
) -> list[Sheet]:
    """A row for each service and point; then how totals change per unit of each axis."""
    columns = (
        text_column("service", "service"),
        *(Column(axis.heading, axis.key) for axis in axes),
        Column("total ns", "total_ns"),
        Column("interrupts off ns", "interrupts_ns"),
        Column("preemption off ns", "preemption_ns"),
        text_column("word", "word"),
    )
    rows = tuple(row for surface in surfaces for row in _rows(axes, surface))
    document = {
        "axes": [
            {"name": axis.name, "unit": axis.unit, "values": [for_json(x) for x in axis.numbers]}
            for axis in axes
        ],
        "changes": [
            {
                "service": change.service,
                "axis": change.axis.name,
                "unit": change.axis.unit,
                "least_ns_per_unit": low_for_json(change.least),
                "most_ns_per_unit": for_json(change.most),
            }
            for change in changes
        ],
        "notes": list(notes),
    }
    of_changes = (
        text_column("service", "service"),
        text_column("changes with", "axis"),
        text_column("per", "unit"),
        Column("at least ns", "least_ns_per_unit"),
        Column("at most ns", "most_ns_per_unit"),
    )
    slopes: tuple[tuple[Value, ...], ...] = tuple(
        (one.service, one.axis.name, one.axis.unit or "1", rounded_down(one.least), one.most)
        for one in changes
    )
    found = [Sheet(SCHEMA, columns, rows, document=document)]
    if slopes:
        found.append(Sheet(SCHEMA, of_changes, slopes, (_UNCHANGED, *notes)))
        return found
    return [Sheet(SCHEMA, columns, rows, tuple(notes), document)]


def csv_parts(axes: Sequence[Axis], surfaces: Sequence[Surface]) -> Iterator[str]:
    """The rows of the sheet as comma-separated values, some at a time."""
    keys = (spreadsheet_text(axis.key) for axis in axes)
    yield ",".join(map(_cell, ("service", *keys, *_TIMES, "word"))) + "\n"
    for surface in surfaces:
        columns = [
            [plain(x) for x in axis.numbers] if has else [""]
            for axis, has in zip(axes, surface.has, strict=True)
        ]
        heads = itertools.product([_cell(spreadsheet_text(surface.service))], *columns)
        figures = [_parts(one).ravel() for one in _figures(surface)]
        words = np.broadcast_to(surface.words, surface.shape).ravel()
        for first in range(0, words.size, _BLOCK):
            chosen = slice(first, first + _BLOCK)
            cells = [_texts(one[chosen]) for one in figures]
            said = [_WORDS[word] for word in words[chosen].tolist()]
            block = zip(itertools.islice(heads, len(said)), *cells, said, strict=True)
            yield "".join([f"{','.join(h)},{t},{i},{p},{w}\n" for h, t, i, p, w in block])


def chart(axes: Sequence[Axis], surfaces: Sequence[Surface], budget: Fraction | None = None) -> str:
    """Over the first axis; a line for each service and value of the other axes.

    Raises:
        ValueError: there are more lines or points than a picture can show.
    """
    first = axes[0]
    drawn = [surface for surface in surfaces if surface.has[0]]
    panels: list[Panel] = []
    for title, of in (
        ("execution time, at most", lambda s: s.total),
        ("interrupts are held off, at most", lambda s: s.interrupts),
    ):
        lines = [line for surface in drawn for line in _lines(axes, surface, of)]
        refuse_many(len(lines), len(first.numbers))
        level = None
        if budget is not None and not panels:
            level = (float(budget), f"budget {picture.nanoseconds(float(budget))}")
        if not panels or any(y for line in lines for _, y in line.points):
            panels.append(Panel(title, lines, picture.nanoseconds, level=level))
    return over_axis(f"What {first.name} makes of the time", first, panels)


_TIMES: Final = ("total_ns", "interrupts_ns", "preemption_ns")
_WORDS: Final = [word.value for word in WORDS]


def _figures(surface: Surface) -> tuple[Figures, Figures, Figures]:
    return surface.total, surface.interrupts, surface.preemption


def _parts(figures: Figures) -> NDArray[Any]:
    return figures.rounded_up(10**DIGITS)


def _rows(axes: Sequence[Axis], surface: Surface) -> Iterator[tuple[Value, ...]]:
    times = [_parts(one) for one in _figures(surface)]
    for place in np.ndindex(*surface.shape):
        numbers = [
            axis.numbers[k] if has else None
            for axis, has, k in zip(axes, surface.has, place, strict=True)
        ]
        shown = [Fraction(int(one[place]), 10**DIGITS) for one in times]
        yield (surface.service, *numbers, *shown, _WORDS[surface.words[place]])


def _texts(parts: NDArray[Any]) -> list[str]:
    """Of many the same, each is made once."""
    known: dict[int, str] = {}
    found = []
    for one in parts.tolist():
        text = known.get(one)
        if text is None:
            text = known[one] = plain_parts(one)
        found.append(text)
    return found


def _cell(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\r\n') else text


def _lines(
    axes: Sequence[Axis], surface: Surface, of: Callable[[Surface], Figures]
) -> Iterator[Line]:
    times = np.moveaxis(_parts(of(surface)), 0, -1)
    for count, place in enumerate(np.ndindex(*times.shape[:-1])):
        if count > MOST_LINES:
            yield Line("", [])  # too many already
            return
        at = [
            axis.numbers[k] if has else None
            for axis, has, k in zip(axes[1:], surface.has[1:], place, strict=True)
        ]
        points = [
            (float(x), int(y) / 10**DIGITS)
            for x, y in zip(axes[0].numbers, times[place], strict=True)
        ]
        yield Line(line_name(surface.service, axes[1:], at), points)
