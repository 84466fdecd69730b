"""A validation as terminal tables, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from wcetchar.report.csv import spreadsheet_text
from wcetchar.report.jsondoc import text_of as json_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import for_json, grouped, plain
from wcetchar.report.terminal import notes_part, table_of, text_of
from wcetchar.report.validation import (
    RowView,
    ValidationView,
    percent_number,
    percent_text,
    spread_text,
)

SHOWN: Final = 20
"""Unsafe rows of which a table shows each; the other formats have all."""

FIELDS: Final = (
    "service",
    "parameters",
    "label",
    "measurements",
    "least_ns",
    "measured_ns",
    "estimated_ns",
    "overestimation_percent",
    "unsafe",
    "word",
    "line",
)

_ROW: Final = (
    ("service", False),
    ("at", False),
    ("label", False),
    ("measured ns", True),
    ("estimated ns", True),
    ("over", True),
    ("line", True),
)
_GROUP: Final = (
    ("service", False),
    ("label", False),
    ("values", True),
    ("calls", True),
    ("unsafe", True),
    ("least over", True),
    ("median", True),
    ("most", True),
)
_Block = tuple[str, tuple[tuple[str, bool], ...], list[list[str]]]


def terminal(
    view: ValidationView, each_row: bool = False, width: int = 120, color: bool = False
) -> str:
    """``each_row``: not of services alone, but of each at its values, too."""
    parts: list[RenderableType] = [Text(_headline(view), style="bold"), Text(_spread(view)), ""]
    for title, columns, rows in _blocks(view, each_row):
        parts.append(Text(title, style="bold"))
        parts += [table_of(columns, rows), ""]
    parts += [Text(line) for line in view.explanation]
    parts += [Text(line) for line in view.overheads]
    parts.extend(notes_part(view.notes))
    return text_of(parts, width, color)


def markdown(view: ValidationView, each_row: bool = False) -> str:
    """``each_row``: as of :func:`terminal`."""
    lines = [f"## {escaped(_headline(view))}", "", _spread(view), ""]
    for title, columns, rows in _blocks(view, each_row):
        lines += [f"### {escaped(title)}", "", *table_lines(columns, rows), ""]
    lines += [f"* {escaped(line)}" for line in (*view.explanation, *view.overheads, *view.notes)]
    return "\n".join(lines).rstrip("\n") + "\n"


def csv_text(view: ValidationView) -> str:
    """Every row, in the order of the tables. Times are rounded up, percentages as in the tables."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(FIELDS)
    for row in view.rows:
        writer.writerow(
            [
                spreadsheet_text(row.service),
                spreadsheet_text(row.at),
                spreadsheet_text(row.label),
                row.count,
                plain(row.least_ns),
                plain(row.measured_ns),
                plain(row.estimated_ns),
                percent_text(row.percent).removesuffix(" %"),
                "yes" if row.unsafe else "no",
                row.word,
                row.line,
            ]
        )
    return stream.getvalue()


def document(view: ValidationView) -> str:
    """The JSON document of ``--json``."""
    return json_text(
        {
            "kind": "wcetchar validation",
            "profile": view.profile,
            "map": view.section_map,
            "measurements": view.measurements,
            "unsafe": view.unsafe,
            "overestimation_percent": None
            if view.spread is None
            else dict(
                zip(("minimum", "median", "maximum"), map(percent_number, view.spread), strict=True)
            ),
            "rows": [_row_document(row) for row in view.rows],
            "worst": _row_document(view.worst),
            "explanation": list(view.explanation),
            "overheads": list(view.overheads),
            "notes": list(view.notes),
        }
    )


def _row_document(row: RowView) -> dict[str, object]:
    return {
        "service": row.service,
        "parameters": dict(row.parameters),
        "label": row.label,
        "measurements": row.count,
        "least_ns": for_json(row.least_ns),
        "measured_ns": for_json(row.measured_ns),
        "estimated_ns": for_json(row.estimated_ns),
        "overestimation_percent": None if row.percent is None else percent_number(row.percent),
        "unsafe": row.unsafe,
        "word": row.word,
        "line": row.line,
    }


def _headline(view: ValidationView) -> str:
    safe = "none unsafe" if not view.unsafe else f"{view.unsafe} UNSAFE"
    return (
        f"{safe} of {grouped(len(view.rows))} rows ({grouped(view.measurements)} measurements) "
        f"on {view.profile} (map {view.section_map})"
    )


def _spread(view: ValidationView) -> str:
    if view.spread is None:
        return "overestimation is not known: nothing is left of the measured times"
    return spread_text(*view.spread)


def _blocks(view: ValidationView, each_row: bool) -> Iterator[_Block]:
    unsafe = [row for row in view.rows if row.unsafe]
    if unsafe:
        more = f", the first {SHOWN}" if len(unsafe) > SHOWN else ""
        yield f"unsafe: measured above the estimate{more}", _ROW, [_row(r) for r in unsafe[:SHOWN]]
    yield (
        "services",
        _GROUP,
        [
            [
                group.service,
                group.label,
                grouped(group.rows),
                grouped(group.measurements),
                str(group.unsafe),
                percent_text(group.minimum),
                percent_text(group.median),
                percent_text(group.maximum),
            ]
            for group in view.groups
        ],
    )
    if each_row:
        in_file = sorted(view.rows, key=lambda row: row.line)
        places = {one: n for n, one in enumerate(dict.fromkeys(row.service for row in in_file))}
        in_file.sort(key=lambda row: places[row.service])
        yield "rows", _ROW, [_row(row) for row in in_file]
    yield "the worst row", _ROW, [_row(view.worst)]
    if not view.contributors:
        return
    yield (
        "what costs most in it",
        (("class", False), ("region", False), ("count", True), ("ns each", True), ("ns", True)),
        [
            [name, region, grouped(count), grouped(price), grouped(time)]
            for name, region, count, price, time in view.contributors
        ],
    )


def _row(row: RowView) -> list[str]:
    return [
        row.service,
        row.at,
        row.label,
        grouped(row.measured_ns),
        grouped(row.estimated_ns),
        percent_text(row.percent),
        str(row.line),
    ]
