"""How far the slacks of a system hang on each number, its hardware's as well: sheets and bars."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final

from wcetchar.model.each_number import SystemEach, SystemEffect
from wcetchar.model.system_sweep import SweptPoint, SweptResponse
from wcetchar.report.bars import Bar, bars
from wcetchar.report.each_number import (
    NUMBER_COLUMNS,
    OUTCOME_COLUMNS,
    PRICED,
    bar_name,
    not_priced_cells,
    not_priced_lines,
    outcome,
)
from wcetchar.report.numbers import for_json, grouped, low_for_json, rounded_down
from wcetchar.report.sheet import Column, Sheet, Value, text_column
from wcetchar.report.system_sweep import NO_BOUND, TIGHTEST, point_document, tightest_cells

SCHEMA: Final = "wcetchar/system-sweep-each/1"
_US: Final = Fraction(1, 1000)


def sheets(found: SystemEach) -> list[Sheet]:
    """A row for each task and interrupt and number, what loses most first."""
    columns = (
        text_column("slack of", "name"),
        *NUMBER_COLUMNS,
        Column("slack us", "slack_ns", _US, down=True),
        Column("by us", "slack_change_ns", _US, down=True),
        Column("met", "met"),
        *OUTCOME_COLUMNS,
    )
    places = range(len(found.before.responses))
    rows = [cells for place in places for _, cells in _rows_of(found, place)]
    nothing: tuple[Value, ...] = (None,) * 3
    rows += [
        (one.of or None, *not_priced_cells(one), *nothing, outcome(one), one.why)
        for one in found.not_priced
    ]
    document = {
        "name": found.name,
        "profile": found.profile or None,
        "map": found.section_map or None,
        "share_percent": for_json(100 * found.share),
        "before": {
            **point_document(found.before),
            "slacks_ns": {
                one.name: None if one.slack is None else low_for_json(one.slack)
                for one in found.before.responses
            },
        },
        "points": [
            {"number": one.number.name, "to": one.number.after, **point_document(one.point)}
            for one in found.effects
        ],
        "notes": list(found.notes),
    }
    return [Sheet(SCHEMA, columns, tuple(rows), document=document)]


def shown(found: SystemEach) -> list[Sheet]:
    """For people: what is tightest with each number, and a table for each task and interrupt of
    what changes something of it."""
    columns = tuple(
        replace(column, heading="") if column.key == "name" else column
        for column in sheets(found)[0].columns
    )
    parts = [_tightest(found)]
    for place, before in enumerate(found.before.responses):
        every = list(_rows_of(found, place))
        idle = sum(not changes for changes, _ in every)
        lines = [] if not idle else [f"{_so_many(idle)} nothing of {before.name}; {_LISTED}"]
        rows = tuple(cells for changes, cells in every if changes)
        parts.append(Sheet(SCHEMA, columns, rows, tuple(lines), title=_title(before)))
    last = parts[-1]
    lines = [*last.lines, *not_priced_lines(found.not_priced), *found.notes]
    parts[-1] = replace(last, lines=tuple(lines))
    return parts


def picture(found: SystemEach) -> str:
    """Bars of what the tightest slack loses. Numbers with which something has no bound come first,
    as long as the longest.

    Raises:
        ValueError: nothing changes the tightest slack, or that has no bound as it is.
    """
    before = found.before.tightest.slack
    if before is None:
        raise ValueError(f"{found.before.tightest.name} has no bound as it is")
    lost = [(one, _lost(before, one.point)) for one in found.effects]
    longest = max((abs(by) for _, by in lost if by is not None), default=Fraction(0)) or Fraction(1)
    drawn = [(one, by) for one, by in lost if by is None or by]
    drawn.sort(
        key=lambda item: (item[1] is not None, -abs(item[1] or Fraction(0)), item[0].number.name)
    )
    return bars(
        f"What each number makes of the deadlines of {found.name}",
        "us that the tightest slack loses",
        [
            Bar(
                bar_name(one.number) + (f" ({NO_BOUND})" if by is None else ""),
                float((longest if by is None else by) * _US),
                f"{one.number.before} to {one.number.after}: "
                + (NO_BOUND if by is None else f"{grouped(by * _US)} us")
                + f", {one.point.tightest.name}",
            )
            for one, by in drawn
        ],
    )


def _lost(before: Fraction, point: SweptPoint) -> Fraction | None:
    slack = point.tightest.slack
    return None if slack is None else before - slack


def _rows_of(found: SystemEach, place: int) -> Iterator[tuple[bool, tuple[Value, ...]]]:
    """Of the task or interrupt there: whether a number changes something, and the cells."""
    before = found.before.responses[place]
    every = [(one, one.point.responses[place]) for one in found.effects]
    every.sort(key=lambda item: _most_lost_first(before, *item))
    for one, after in every:
        change = _change(before, after)
        number = one.number
        yield (
            change != 0,
            (
                before.name,
                number.name,
                number.before,
                number.change,
                number.after,
                after.slack,
                change,
                after.met,
                PRICED,
                None if after.slack is not None else NO_BOUND,
            ),
        )


def _change(before: SweptResponse, after: SweptResponse) -> Fraction | None:
    """0: neither has a bound; ``None``: one of the two has none."""
    if before.slack is None or after.slack is None:
        return Fraction(0) if before.slack is after.slack else None
    return after.slack - before.slack


def _most_lost_first(
    before: SweptResponse, one: SystemEffect, after: SweptResponse
) -> tuple[bool, Fraction, str]:
    change = _change(before, after)
    return change is not None, -abs(change or Fraction(0)), one.number.name


def _tightest(found: SystemEach) -> Sheet:
    columns = (
        *(replace(column, key="") for column in NUMBER_COLUMNS),
        *TIGHTEST,
    )
    rows: list[tuple[Value, ...]] = []
    idle = 0
    for one in found.effects:
        if _same(found.before.tightest, one.point.tightest):
            idle += 1
            continue
        number = one.number
        cells = number.name, number.before, number.change, number.after
        rows.append((*cells, *tightest_cells(one.point)))
    lines = [f"{_so_many(idle)} nothing of what is tightest; {_LISTED}"] if idle else []
    load, met, name, slack, word = tightest_cells(found.before)
    rows.append(("as the files say it", None, None, None, load, met, name, slack, word))
    return Sheet(SCHEMA, columns, tuple(rows), tuple(lines), title="The tightest with each number")


def _title(before: SweptResponse) -> str:
    if before.slack is None or before.time is None:
        return f"Slack of {before.name}, which has no bound as the files say it"
    slack = grouped(rounded_down(before.slack * _US))
    return f"Slack of {before.name}, {slack} us of {grouped(before.deadline * _US)} us"


def _so_many(count: int) -> str:
    return f"{count} more number changes" if count == 1 else f"{count} more numbers change"


_LISTED: Final = "CSV and JSON list them"


def _same(before: SweptResponse, after: SweptResponse) -> bool:
    return before.name == after.name and before.slack == after.slack
