"""Slowdowns that were measured as plain rows, beside what the model of a load says of them."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.model.slowdown import Application
from wcetchar.report.csv import spreadsheet_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import for_json, grouped, nearest_tenth, plain
from wcetchar.report.slowdown import MB
from wcetchar.report.terminal import table_of, text_of

SCHEMA: Final = "wcetchar/measured-slowdown/1"
_APPLICATIONS: Final = (
    ("application", False),
    ("F_sd", True),
    ("also said", False),
    ("bus share %", True),
    ("about", False),
)
_PREDICTED: Final = (
    ("if the capacity were that of", False),
    ("MB/s", True),
    ("others take %", True),
    ("F_sd of bus time", True),
    ("measured", True),
    ("apart", True),
)


@dataclass(frozen=True)
class Predicted:
    """``factor``: ``None``: others would take all of the bus."""

    name: str
    capacity: Fraction
    factor: Fraction | None


@dataclass(frozen=True)
class View:
    """``rows``: each with its bus share, if that is known. ``taken``, ``by``: what others take of
    the bus, and by what it is known; ``of_bus_time``: an application that is nothing else."""

    source: str
    rows: tuple[tuple[Application, Fraction | None], ...]
    load: Fraction | None
    taken: Fraction | None
    by: str
    capacity: Fraction | None
    of_bus_time: Application | None
    predicted: tuple[Predicted, ...]


def terminal(view: View, width: int, color: bool) -> str:
    parts: list[RenderableType] = [table_of(list(_APPLICATIONS), _cells(view))]
    if view.predicted:
        parts += [Text(""), table_of(list(_PREDICTED), _predicted(view))]
    return text_of([*parts, *(Text(line) for line in _lines(view))], width, color)


def markdown(view: View) -> str:
    lines = [*table_lines(_APPLICATIONS, _cells(view)), ""]
    if view.predicted:
        lines += [*table_lines(_PREDICTED, _predicted(view)), ""]
    return "\n".join([*lines, *(f"* {escaped(line)}" for line in _lines(view))]) + "\n"


def as_csv(view: View) -> str:
    """The applications."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(["application", "alone_ns", "loaded_ns", "slowdown", "bus_share_percent"])
    for one, share in view.rows:
        times = ["" if time is None else plain(time) for time in (one.alone, one.loaded)]
        shown = "" if share is None else plain(100 * share)
        writer.writerow([spreadsheet_text(one.name), *times, plain(one.factor), shown])
    return stream.getvalue()


def as_json(view: View) -> str:
    """One document, with stable keys; figures are rounded up, but for the exact factor."""

    def number(value: Fraction | None) -> int | float | None:
        return None if value is None else for_json(value)

    def percent(value: Fraction | None) -> int | float | None:
        return None if value is None else for_json(100 * value)

    rows: list[dict[str, Any]] = [
        {
            "application": one.name,
            "alone_ns": number(one.alone),
            "loaded_ns": number(one.loaded),
            "slowdown": for_json(one.factor),
            "slowdown_exact": str(one.factor),
            "also_said": [for_json(factor) for factor in one.also],
            "bus_share_percent": percent(share),
        }
        for one, share in view.rows
    ]
    document = {
        "schema": SCHEMA,
        "source": view.source,
        "load_bytes_per_s": number(view.load),
        "taken_percent": percent(view.taken),
        "taken_by": view.by or None,
        "capacity_bytes_per_s": number(view.capacity),
        "rows": rows,
        "predicted": [
            {
                "capacity_of": one.name,
                "capacity_bytes_per_s": for_json(one.capacity),
                "slowdown_of_bus_time": number(one.factor),
            }
            for one in view.predicted
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def _cells(view: View) -> Sequence[Sequence[str]]:
    return [
        [
            one_line(one.name),
            grouped(one.factor),
            ", ".join(grouped(factor) for factor in one.also),
            "" if share is None else grouped(100 * share),
            one_line(one.about),
        ]
        for one, share in view.rows
    ]


def _predicted(view: View) -> Sequence[Sequence[str]]:
    rows = []
    for one in view.predicted:
        assert view.load is not None
        taken = grouped(100 * view.load / one.capacity)
        row = [one_line(one.name), grouped(one.capacity / MB), taken]
        row.append("without end" if one.factor is None else grouped(one.factor))
        measured = None if view.of_bus_time is None else view.of_bus_time.factor
        row.append("" if measured is None else grouped(measured))
        if measured is None or one.factor is None:
            row.append("")
        else:
            row.append(f"{float(nearest_tenth(100 * (one.factor / measured - 1))):+.1f} %")
        rows.append(row)
    return rows


def _lines(view: View) -> list[str]:
    lines = []
    if view.taken is not None:
        behind = ""
        if view.capacity is not None and view.load is not None:
            behind = (
                f"; with a load of {plain(view.load / MB)} MB/s that is a capacity of "
                f"{plain(view.capacity / MB)} MB/s for their transfers"
            )
        lines.append(f"others take {plain(100 * view.taken)} % of the bus, by {view.by}{behind}")
        lines.append("bus shares are estimates: (F_sd - 1) * (1 - u) / u, u what others take")
    for one, share in view.rows:
        if share is not None and share > 1:
            lines.append(
                f"{one_line(one.name)} is slowed down by more than bus time alone would be: the "
                "model does not explain it with this capacity"
            )
    return [*lines, f"source: {one_line(view.source)}"]
