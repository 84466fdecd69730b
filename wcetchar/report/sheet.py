"""One table in all forms: terminal, Markdown, CSV and JSON are made from the same rows.

People read a time in the unit that suits the table, machines always in nanoseconds; so a column
has a heading and a factor for people, and a key for machines. All that is rounded is rounded up.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.report.csv import spreadsheet_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import for_json, grouped, low_for_json, plain, rounded_down
from wcetchar.report.terminal import table_of, text_of

FORMATS: Final = ("table", "csv", "markdown", "json")

Value = str | Fraction | int | bool | None
"""``None``: there is none, an empty cell."""


@dataclass(frozen=True)
class Column:
    """``heading``: for people, "" where they are not shown it; ``key``: for machines, "" where
    that is said by others. ``factor``: from a value to what people read; of text unused. ``down``:
    it is rounded down, of what shall not look larger than it is, such as slack."""

    heading: str
    key: str
    factor: Fraction = Fraction(1)
    number: bool = True
    down: bool = False


@dataclass(frozen=True)
class Sheet:
    """``rows``: as many values as columns, each. ``lines``: what people read below; ``document``:
    what the JSON document says beside the rows. ``title``: above the table."""

    schema: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Value, ...], ...]
    lines: tuple[str, ...] = ()
    document: Mapping[str, object] | None = None
    title: str = ""


def text_column(heading: str, key: str) -> Column:
    return Column(heading, key, number=False)


def render(sheets: Sequence[Sheet], form: str, width: int, color: bool) -> str:
    """The first sheet, and for people those behind it; ``form``: of ``FORMATS``. CSV and JSON have
    the first alone, whose ``document`` says the rest."""
    if form == "json":
        return as_json(sheets[0])
    if form == "csv":
        return as_csv(sheets[0])
    if form == "markdown":
        return "\n".join(markdown(sheet) for sheet in sheets)
    return terminal(sheets, width, color)


def terminal(sheets: Sequence[Sheet], width: int, color: bool) -> str:
    parts: list[RenderableType] = []
    for number, sheet in enumerate(sheets):
        parts += [""] * bool(number)
        parts += [Text(one_line(sheet.title)), ""] if sheet.title else []
        columns = [(column.heading, column.number) for column in _shown(sheet)]
        if sheet.rows:
            parts.append(table_of(columns, _cells(sheet)))
        parts += [Text(one_line(line)) for line in sheet.lines]
    return text_of(parts, width, color)


def markdown(sheet: Sheet) -> str:
    columns = [(column.heading, column.number) for column in _shown(sheet)]
    lines = [f"## {escaped(one_line(sheet.title))}", ""] if sheet.title else []
    if sheet.rows:
        lines += table_lines(columns, _cells(sheet))
    lines += ["", *(f"* {escaped(one_line(line))}" for line in sheet.lines)]
    return "\n".join(lines).rstrip() + "\n"


def as_csv(sheet: Sheet) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    keyed = [number for number, column in enumerate(sheet.columns) if column.key]
    writer.writerow([sheet.columns[number].key for number in keyed])
    for row in sheet.rows:
        writer.writerow([_csv_cell(sheet.columns[number], row[number]) for number in keyed])
    return stream.getvalue()


def as_json(sheet: Sheet) -> str:
    """One document, with stable keys."""
    rows = [
        {
            column.key: _json_value(column, value)
            for column, value in zip(sheet.columns, row, strict=True)
            if column.key
        }
        for row in sheet.rows
    ]
    document = {"schema": sheet.schema, **(sheet.document or {}), "rows": rows}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _shown(sheet: Sheet) -> list[Column]:
    return [column for column in sheet.columns if column.heading]


def _cells(sheet: Sheet) -> list[list[str]]:
    return [
        [
            _text(column, value)
            for column, value in zip(sheet.columns, row, strict=True)
            if column.heading
        ]
        for row in sheet.rows
    ]


def _text(column: Column, value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return one_line(value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    scaled = value * column.factor
    return grouped(rounded_down(scaled) if column.down else scaled)


def _csv_cell(column: Column, value: Value) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return spreadsheet_text(value)
    if isinstance(value, bool):
        return str(value).lower()
    return plain(rounded_down(value) if column.down else value)


def _json_value(column: Column, value: Value) -> object:
    if value is None or isinstance(value, str | bool):
        return value
    return low_for_json(value) if column.down else for_json(value)
