"""Responses of a system over axes, and what was solved for: sheets and pictures."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from wcetchar.model.sweep import Axis
from wcetchar.model.system_sweep import SweptPoint, SystemSolution, SystemSweep
from wcetchar.report.chart import Line, Panel
from wcetchar.report.numbers import for_json, low_for_json, plain
from wcetchar.report.over_axes import line_name, over_axis, refuse_many
from wcetchar.report.sheet import Column, Sheet, Value, text_column

SWEEP: Final = "wcetchar/system-sweep/1"
SOLVE: Final = "wcetchar/system-solve/1"
NO_BOUND: Final = "no bound"
_US: Final = Fraction(1, 1000)
_UNCHANGED: Final = "between neighbouring values, over all others; of the slack, per unit"
_NAMED: Final = 3


def sheets(found: SystemSweep) -> list[Sheet]:
    """A row for each task and interrupt at each point; for people also what is tightest at each
    point, and how slacks change per unit of each axis."""
    axes = tuple(Column(axis.heading, axis.key) for axis in found.axes)
    columns = (
        text_column("name", "name"),
        *axes,
        Column("response us", "response_ns", _US),
        Column("deadline us", "deadline_ns", _US, down=True),
        Column("slack us", "slack_ns", _US, down=True),
        Column("met", "met"),
        text_column("largest part", "largest_part"),
    )
    rows: list[tuple[Value, ...]] = []
    for number, first in enumerate(found.points[0].responses):
        for point in found.points:
            one = point.responses[number]
            largest = None if one.largest is None else str(one.largest)
            time = "none" if one.time is None else one.time
            rows.append(
                (first.name, *point.numbers, time, one.deadline, one.slack, one.met, largest)
            )
    document = {
        "name": found.name,
        "profile": found.profile or None,
        "map": found.section_map or None,
        "axes": [_axis(axis) for axis in found.axes],
        "points": [
            {"at": [for_json(x) for x in point.numbers], **point_document(point)}
            for point in found.points
        ],
        "changes": [
            {
                "name": one.name,
                "axis": one.axis.name,
                "unit": one.axis.unit,
                "least_ns_per_unit": low_for_json(one.least),
                "most_ns_per_unit": for_json(one.most),
            }
            for one in found.changes
        ],
        "notes": list(found.notes),
    }
    sheets = [Sheet(SWEEP, columns, tuple(rows), document=document)]
    sheets.append(_tightest(found, axes))
    if found.changes:
        sheets.append(_changes(found))
    lines = (*sheets[-1].lines, *found.notes)
    last = sheets[-1]
    sheets[-1] = Sheet(last.schema, last.columns, last.rows, lines, title=last.title)
    return sheets


def chart(found: SystemSweep) -> str:
    """Responses as shares of their deadlines, which are of all sizes, over the first axis; a line
    for each task, interrupt and value of the other axes.

    Raises:
        ValueError: no response has a bound, or there are more lines or points than a picture can
            show.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    for point in found.points:
        first, *rest = point.numbers
        for one in point.responses:
            if one.time is not None:
                name = line_name(one.name, found.axes[1:], rest)
                share = float(100 * one.time / one.deadline)
                lines.setdefault(name, []).append((float(first), share))
    first_axis = found.axes[0]
    refuse_many(len(lines), len(first_axis.numbers))
    if not lines:
        raise ValueError("no response has a bound")
    panel = Panel(
        "response time, at most, of the deadline",
        [Line(name, sorted(points)) for name, points in lines.items()],
        lambda y: f"{y:g} %" if y == int(y) else f"{y:.1f} %",
        level=(100.0, "deadline"),
    )
    return over_axis(f"What {first_axis.name} makes of the deadlines", first_axis, [panel])


def solved_sheet(found: SystemSolution) -> Sheet:
    """A row for each combination of the other axes."""
    axis = found.axis
    word = _word(found)
    columns = (
        *(Column(one.heading, one.key) for one in found.axes),
        Column(f"{word} {axis.heading}", axis.key),
        text_column("tightest", "tightest"),
        Column("slack us", "slack_ns", _US, down=True),
        Column("fails at", f"beyond_{axis.unit}" if axis.unit else "beyond"),
        text_column("misses", "misses"),
        Column("by us", "missed_by_ns", _US),
    )
    rows: list[tuple[Value, ...]] = []
    for one in found.solved:
        tightest = None if one.point is None else one.point.tightest
        missed = None if one.point_beyond is None else one.point_beyond.tightest
        late: Value = None
        if missed is not None:
            late = NO_BOUND if missed.slack is None else -missed.slack
        rows.append(
            (
                *one.numbers,
                one.number,
                None if tightest is None else tightest.name,
                None if tightest is None else tightest.slack,
                one.beyond,
                None if missed is None else missed.name,
                late,
            )
        )
    document = {
        "name": found.name,
        "profile": found.profile or None,
        "map": found.section_map or None,
        "axis": axis.name,
        "unit": axis.unit,
        "sense": word,
        "method": "halving" if found.halved else "all values",
        "step": None if found.step is None else for_json(found.step),
        "tried": found.tried,
        "failing": [
            {
                "at": [for_json(x) for x in one.numbers],
                "values": [for_json(x) for x in one.failing],
            }
            for one in found.solved
            if one.failing
        ],
        "notes": list(found.notes),
    }
    return Sheet(SOLVE, columns, tuple(rows), (*_solved_lines(found), *found.notes), document)


def solved_chart(found: SystemSolution) -> str:
    """What was solved over the first of the other axes; a line for each value of the rest.

    Raises:
        ValueError: nothing was solved, or there are more lines than a picture can show.
    """
    lines: dict[str, list[tuple[float, float]]] = {}
    for one in found.solved:
        first, *rest = one.numbers
        if one.number is not None:
            name = line_name("all deadlines met", found.axes[1:], rest)
            lines.setdefault(name, []).append((float(first), float(one.number)))
    if not lines:
        raise ValueError("with no value all deadlines are met")
    refuse_many(len(lines), max(map(len, lines.values())))
    unit = found.axis.unit
    panel = Panel(
        f"{_word(found)} {found.axis.heading}",
        [Line(name, sorted(points)) for name, points in lines.items()],
        lambda y: f"{y:g} {unit}".rstrip(),
    )
    return over_axis("All deadlines met", found.axes[0], [panel])


def _tightest(found: SystemSweep, axes: Sequence[Column]) -> Sheet:
    rows = tuple((*point.numbers, *tightest_cells(point)) for point in found.points)
    return Sheet(SWEEP, (*axes, *TIGHTEST), rows, title="The tightest at each point")


def _changes(found: SystemSweep) -> Sheet:
    columns = (
        text_column("slack of", ""),
        text_column("changes with", ""),
        text_column("per", ""),
        Column("at least us", "", _US, down=True),
        Column("at most us", "", _US),
    )
    rows: tuple[tuple[Value, ...], ...] = tuple(
        (one.name, one.axis.name, one.axis.unit or "1", one.least, one.most)
        for one in found.changes
    )
    return Sheet(SWEEP, columns, rows, (_UNCHANGED,), title="What each unit does")


def _axis(axis: Axis) -> dict[str, object]:
    numbers = [for_json(x) for x in axis.numbers]
    return {"name": axis.name, "unit": axis.unit, "values": numbers}


TIGHTEST: Final = (
    Column("load %", ""),
    Column("all met", ""),
    text_column("tightest", ""),
    Column("slack us", "", _US, down=True),
    text_column("word", ""),
)
"""What people read of a point, whose cells are those of ``tightest_cells``."""


def tightest_cells(point: SweptPoint) -> tuple[Value, ...]:
    one = point.tightest
    slack: Value = NO_BOUND if one.slack is None else one.slack
    word = None if point.word is None else point.word.value
    return 100 * point.load, point.met, one.name, slack, word


def point_document(point: SweptPoint) -> dict[str, object]:
    """What machines read of it."""
    one = point.tightest
    return {
        "load_percent": for_json(100 * point.load),
        "met": point.met,
        "tightest": one.name,
        "slack_ns": None if one.slack is None else low_for_json(one.slack),
        "word": None if point.word is None else point.word.value,
    }


def _solved_lines(found: SystemSolution) -> list[str]:
    unit = f" {found.axis.unit}" if found.axis.unit else ""
    steps = "the values given" if found.step is None else f"steps of {plain(found.step)}{unit}"
    lines = [
        f"the {_word(found)} {found.axis.name} with which all deadlines are met, in {steps}",
        f"found by halving, {found.tried:,} values analysed: no slack rises on the way"
        if found.halved
        else f"all {found.tried:,} values were analysed: slacks may rise and fall on the way",
    ]
    for one in found.solved:
        if one.failing:
            listed = ", ".join(plain(x) for x in one.failing[:_NAMED])
            more = len(one.failing) - _NAMED
            rest = f" and {more:,} more" if more > 0 else ""
            at = ", ".join(plain(x) for x in one.numbers)
            where = f"at {at} " if at else ""
            lines.append(f"{where}a deadline is missed with {listed}{rest}{unit} nevertheless")
    return lines


def _word(found: SystemSolution) -> str:
    return "least" if found.smallest else "largest"
