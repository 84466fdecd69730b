"""What switching takes of a processor, as a sheet."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.model.switching import Load
from wcetchar.report.sheet import Column, Sheet, text_column

SCHEMA: Final = "wcetchar/overhead/1"
_US, _MS = Fraction(1, 1000), Fraction(1, 1_000_000)


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


def sheet(view: View) -> Sheet:
    with_loss = view.behind is not None
    columns = (
        text_column("switch", "switch"),
        Column("switches/s", "switches_per_s"),
        Column("takes us", "switch_ns", _US),
        Column("lost ms in 1 s", "switching_ns_per_s", _MS),
        Column("lost behind, ms in 1 s" if with_loss else "", "loss_ns_per_s", _MS),
        Column("CPU load %", "load_percent"),
        text_column("word", "word"),
    )
    rows = tuple(
        (
            row.switch,
            row.load.rate,
            row.load.switch,
            row.load.switching,
            row.load.loss if with_loss else None,
            100 * row.load.share,
            row.word or "given",
        )
        for row in view.rows
    )
    document = {"behind": view.behind, "notes": list(view.notes)}
    return Sheet(SCHEMA, columns, rows, tuple(_lines(view)), document)


def _lines(view: View) -> list[str]:
    lines = [] if view.behind is None else [f"behind each switch: {view.behind}"]
    if any(row.load.share >= 1 for row in view.rows):
        lines.append("100 % and more: nothing is left for what is switched to")
    return lines + [f"note: {note}" for note in view.notes]
