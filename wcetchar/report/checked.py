"""What ``wcetchar check`` found, as plain rows."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.report.numbers import for_json, grouped
from wcetchar.report.terminal import table_of, text_of


@dataclass(frozen=True)
class Row:
    """One service: windows that were replayed, values of the parameters at which they were priced,
    the price of a traced path by the bound where that is closest, and facts that are missing."""

    service: str
    windows: int
    points: int
    closest: Fraction | None
    at: Mapping[str, int]
    gaps: int


def render(rows: Sequence[Row], width: int, color: bool) -> str:
    """One line for each service, and the sum."""
    cells = [
        [
            one_line(row.service),
            grouped(row.windows),
            grouped(row.points) if row.points else "-",
            "-" if row.closest is None else grouped(row.closest),
            ", ".join(f"{one_line(name)}={value}" for name, value in row.at.items()),
            str(row.gaps or ""),
        ]
        for row in rows
    ]
    columns = [("service", False), ("windows", True), ("priced at", True)]
    columns += [("traced / bound", True), ("there", False), ("missing facts", True)]
    windows = sum(row.windows for row in rows)
    priced = sum(row.points > 0 for row in rows)
    last = (
        f"{grouped(windows)} windows of {len(rows)} services are paths of their models and count "
        f"the same; of {priced} services none is above its bound"
    )
    return text_of([table_of(columns, cells), "", Text(last)], width, color)


def as_json(rows: Sequence[Row]) -> str:
    """One document, with stable keys."""
    return (
        json.dumps(
            {
                "schema": "wcetchar/check/1",
                "services": [
                    {
                        "service": row.service,
                        "windows": row.windows,
                        "priced_at": row.points,
                        "traced_over_bound": None if row.closest is None else for_json(row.closest),
                        "at": dict(row.at),
                        "missing_facts": row.gaps,
                    }
                    for row in rows
                ],
            },
            indent=1,
        )
        + "\n"
    )
