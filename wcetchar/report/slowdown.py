"""Slowdowns of services as plain rows: terminal, Markdown, CSV and JSON, and a picture."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.model.slowdown import BusLoad, Slowdown
from wcetchar.report.chart import Chart, Line, Panel
from wcetchar.report.chart import svg as drawn
from wcetchar.report.csv import spreadsheet_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import for_json, grouped, plain
from wcetchar.report.picture import with_prefix
from wcetchar.report.terminal import table_of, text_of

SCHEMA: Final = "wcetchar/slowdown/1"
MB: Final = 10**6
_COLUMNS: Final = (
    ("service", False),
    ("at", False),
    ("under", False),
    ("alone ns", True),
    ("loaded ns", True),
    ("F_sd", True),
    ("bus share %", True),
    ("word", False),
)
OF_UPPER_ENDS: Final = (
    "F_sd is of upper ends, and scales them: a run that takes less alone may wait as long, and be "
    "slowed down by more"
)
_AVERAGE: Final = (
    "an estimate by an average: others' traffic is spread evenly, does not give way, and core and "
    "bus do not work at the same time"
)

Points = Sequence[tuple[Fraction, Fraction]]
"""(bytes in a second that others take, F_sd)."""


@dataclass(frozen=True)
class Row:
    """``parameters``: of the service; ``bus_share``: of a load's model, else ``None``."""

    service: str
    parameters: Mapping[str, int]
    under: str
    slowdown: Slowdown
    word: str
    bus_share: Fraction | None = None

    @property
    def at(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.parameters.items())


@dataclass(frozen=True)
class View:
    profile: str
    section_map: str
    rows: tuple[Row, ...]
    load: BusLoad | None
    notes: tuple[str, ...]


def terminal(view: View, width: int, color: bool) -> str:
    parts: list[RenderableType] = [table_of(list(_COLUMNS), _cells(view))]
    parts += [Text(line) for line in _lines(view)]
    return text_of(parts, width, color)


def markdown(view: View) -> str:
    lines = table_lines(_COLUMNS, _cells(view))
    return "\n".join([*lines, "", *(f"* {escaped(line)}" for line in _lines(view))]) + "\n"


def as_csv(view: View) -> str:
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    fields = ("service", "parameters", "under", "alone_ns", "loaded_ns", "slowdown")
    writer.writerow([*fields, "bus_share_percent", "word"])
    for row in view.rows:
        times = (row.slowdown.alone, row.slowdown.loaded, row.slowdown.factor)
        share = "" if row.bus_share is None else plain(100 * row.bus_share)
        names = map(spreadsheet_text, (row.service, row.at, row.under))
        writer.writerow([*names, *map(plain, times), share, row.word])
    return stream.getvalue()


def as_json(view: View) -> str:
    """One document, with stable keys; figures are rounded up, but for the exact factor."""
    rows: list[dict[str, Any]] = [
        {
            "service": row.service,
            "parameters": dict(row.parameters),
            "under": row.under,
            "alone_ns": for_json(row.slowdown.alone),
            "loaded_ns": for_json(row.slowdown.loaded),
            "slowdown": for_json(row.slowdown.factor),
            "slowdown_exact": str(row.slowdown.factor),
            "bus_share_percent": None if row.bus_share is None else for_json(100 * row.bus_share),
            "word": row.word,
        }
        for row in view.rows
    ]
    document = {
        "schema": SCHEMA,
        "profile": view.profile,
        "section_map": view.section_map,
        "load": None if view.load is None else _load(view.load),
        "rows": rows,
        "notes": list(view.notes),
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def svg(
    title: str, lines: Mapping[str, Points], load: Fraction, measured: Mapping[str, Fraction]
) -> str:
    """F_sd over what others take of a bus: by the model as lines, ``measured`` at ``load`` as dots.

    Raises:
        ValueError: there is nothing to draw.
    """
    drawn_lines = [
        Line(name, [(float(at), float(factor)) for at, factor in points])
        for name, points in lines.items()
    ]
    drawn_lines += [
        Line(name, [(float(load), float(factor))], "dots") for name, factor in measured.items()
    ]
    panel = Panel("F_sd: time under load, of the time alone", drawn_lines, lambda y: f"{y:.4g}")
    return drawn(
        Chart(
            title,
            "what other masters take of the bus",
            lambda x: with_prefix(x, "B/s"),
            [panel],
            None,
            [(float(load), f"{plain(load / MB)} MB/s")],
        )
    )


def _load(load: BusLoad) -> dict[str, Any]:
    return {
        "bytes_per_s": for_json(load.load),
        "capacity_bytes_per_s": for_json(load.capacity),
        "burst_ns": None if load.burst is None else for_json(load.burst),
        "taken_percent": for_json(100 * load.taken),
    }


def _cells(view: View) -> Sequence[Sequence[str]]:
    return [
        [
            one_line(row.service),
            one_line(row.at),
            one_line(row.under),
            grouped(row.slowdown.alone),
            grouped(row.slowdown.loaded),
            grouped(row.slowdown.factor),
            "" if row.bus_share is None else grouped(100 * row.bus_share),
            row.word,
        ]
        for row in view.rows
    ]


def _lines(view: View) -> list[str]:
    lines = []
    if view.load is not None:
        load = view.load
        lines.append(
            f"load: {plain(load.load / MB)} of {plain(load.capacity / MB)} MB/s, "
            f"{plain(100 * load.taken)} % of the bus's time: {_AVERAGE}"
        )
    if view.load is not None and view.load.burst is not None:
        lines.append(
            f"at most: if others have the bus for no more than {plain(view.load.burst)} ns and "
            "that share of any time"
        )
    return [*lines, OF_UPPER_ENDS, *(f"note: {one_line(note)}" for note in view.notes)]
