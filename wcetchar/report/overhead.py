"""What switching takes of a processor, as plain rows: terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.model.switching import Load
from wcetchar.report.csv import spreadsheet_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import for_json, grouped, plain
from wcetchar.report.terminal import table_of, text_of

SCHEMA: Final = "wcetchar/overhead/1"
_US, _MS = 1000, 1_000_000


@dataclass(frozen=True)
class Row:
    """``word``: "" where the time of a switch was given."""

    switch: str
    word: str
    load: Load


@dataclass(frozen=True)
class View:
    """``behind``: of which working set, by which model; ``None``: of none."""

    rows: tuple[Row, ...]
    behind: str | None
    notes: tuple[str, ...]


def terminal(view: View, width: int, color: bool) -> str:
    parts: list[RenderableType] = [table_of(_columns(view), _cells(view))]
    parts += [Text(line) for line in _lines(view)]
    return text_of(parts, width, color)


def markdown(view: View) -> str:
    lines = table_lines(_columns(view), [[escaped(c) for c in row] for row in _cells(view)])
    return "\n".join([*lines, "", *(f"* {escaped(line)}" for line in _lines(view))]).rstrip() + "\n"


def as_csv(view: View) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    fields = ("switch", "word", "switches_per_s", "switch_ns", "switching_ns_per_s")
    writer.writerow([*fields, "loss_ns_per_s", "load_percent"])
    for row in view.rows:
        load = row.load
        loss = "" if view.behind is None else plain(load.loss)
        times = (plain(load.rate), plain(load.switch), plain(load.switching), loss)
        writer.writerow(
            [spreadsheet_text(row.switch), row.word or "given", *times, plain(100 * load.share)]
        )
    return stream.getvalue()


def as_json(view: View) -> str:
    """One document, with stable keys; times and shares are rounded up."""
    rows: list[dict[str, Any]] = [
        {
            "switch": row.switch,
            "word": row.word or "given",
            "switches_per_s": for_json(row.load.rate),
            "switch_ns": for_json(row.load.switch),
            "switching_ns_per_s": for_json(row.load.switching),
            "loss_ns_per_s": None if view.behind is None else for_json(row.load.loss),
            "load_percent": for_json(100 * row.load.share),
        }
        for row in view.rows
    ]
    document = {"schema": SCHEMA, "behind": view.behind, "rows": rows, "notes": list(view.notes)}
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _columns(view: View) -> list[tuple[str, bool]]:
    columns = [("switch", False), ("switches/s", True), ("takes us", True)]
    columns += [("lost ms in 1 s", True)]
    if view.behind is not None:
        columns += [("lost behind, ms in 1 s", True)]
    return [*columns, ("CPU load %", True), ("word", False)]


def _cells(view: View) -> Sequence[Sequence[str]]:
    return [
        [
            one_line(row.switch),
            grouped(row.load.rate),
            grouped(row.load.switch / _US),
            grouped(row.load.switching / _MS),
            *([] if view.behind is None else [grouped(row.load.loss / _MS)]),
            grouped(100 * row.load.share),
            row.word or "given",
        ]
        for row in view.rows
    ]


def _lines(view: View) -> list[str]:
    lines = [] if view.behind is None else [f"behind each switch: {one_line(view.behind)}"]
    if any(row.load.share >= 1 for row in view.rows):
        lines.append("100 % and more: nothing is left for what is switched to")
    return lines + [f"note: {one_line(note)}" for note in view.notes]
