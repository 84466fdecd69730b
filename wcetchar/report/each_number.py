"""How far services hang on each number of a profile: sheets and a picture with bars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from wcetchar.errors import few
from wcetchar.model.each_number import Changed, NotPriced, ServiceEffect, ServicesEach, ServiceTimes
from wcetchar.report.bars import Bar, bars
from wcetchar.report.numbers import for_json, grouped
from wcetchar.report.sheet import Column, Sheet, Value, text_column

SCHEMA: Final = "wcetchar/sweep-each/1"


def sheets(found: ServicesEach) -> list[Sheet]:
    """A row for each service and number, the largest effect first."""
    columns = (
        text_column("service", "service"),
        *NUMBER_COLUMNS,
        Column("total by ns", "total_change_ns"),
        Column("by %", "total_change_percent"),
        Column("interrupts by ns", "interrupts_change_ns"),
        Column("preemption by ns", "preemption_change_ns"),
        text_column("", "word"),
        *OUTCOME_COLUMNS,
    )
    document = {
        "profile": found.profile,
        "map": found.section_map,
        "share_percent": for_json(100 * found.share),
        "services": [
            {
                "service": one.service,
                "total_ns": for_json(one.total),
                "interrupts_ns": for_json(one.interrupts),
                "preemption_ns": for_json(one.preemption),
                "word": one.word.value,
            }
            for one in found.before
        ],
        "notes": list(found.notes),
    }
    nothing: tuple[Value, ...] = (None,) * 5
    rows = [_row(one) for one in found.effects]
    rows += [
        (one.of or None, *not_priced_cells(one), *nothing, outcome(one), one.why)
        for one in found.not_priced
    ]
    return [Sheet(SCHEMA, columns, tuple(rows), document=document)]


def shown(found: ServicesEach) -> list[Sheet]:
    """For people: a table for each service, without the rows that say nothing but that, and what
    holds for all below the last one."""
    columns = tuple(
        replace(column, heading="") if column.key == "service" else column
        for column in sheets(found)[0].columns
    )
    parts = []
    for before in found.before:
        own = [one for one in found.effects if one.before.service == before.service]
        rows = tuple(_row(one) for one in own if one.any)
        parts.append(Sheet(SCHEMA, columns, rows, tuple(_lines(before, own)), title=_title(before)))
    last = parts[-1]
    lines = (*last.lines, *not_priced_lines(found.not_priced), *found.notes)
    parts[-1] = replace(last, lines=lines)
    return parts


def picture(found: ServicesEach) -> str:
    """Bars of the changes of totals, in % of them.

    Raises:
        ValueError: nothing changes a total.
    """
    several = len(found.before) > 1
    drawn = [(one, one.percent) for one in found.effects if one.percent]
    drawn.sort(key=lambda item: (-abs(item[1]), item[0].number.name))
    return bars(
        f"What each number of {found.profile} makes of the execution time",
        "change of the total in %",
        [
            Bar(
                (f"{one.before.service}: " if several else "") + bar_name(one.number),
                float(percent),
                f"{one.number.before} to {one.number.after}: {grouped(percent)} %, "
                f"{grouped(one.total)} ns",
            )
            for one, percent in drawn
        ],
    )


NUMBER_COLUMNS: Final = (
    text_column("number", "number"),
    text_column("from", "from"),
    text_column("change", "change"),
    text_column("to", "to"),
)
OUTCOME_COLUMNS: Final = (text_column("", "outcome"), text_column("", "why"))
PRICED: Final = "priced"


def bar_name(number: Changed) -> str:
    """With the change where that is not the share: such bars are not to be compared with others."""
    return number.name + ("" if number.change.endswith("%") else f" ({number.change})")


def outcome(one: NotPriced) -> str:
    return "left out" if one.after is None else "refused"


def not_priced_cells(one: NotPriced) -> tuple[Value, ...]:
    """Of ``NUMBER_COLUMNS``."""
    return one.name, one.before, one.change or None, one.after


def not_priced_lines(numbers: Sequence[NotPriced]) -> Iterator[str]:
    """Refused values one by one, numbers that are left out by their reasons."""
    said: dict[tuple[str, str | None, str, str], list[str]] = {}
    for one in numbers:
        if one.after is not None:
            said.setdefault((one.name, one.after, one.before, one.why), []).append(one.of)
    for (name, after, before, why), of in said.items():
        whose = "" if of == [""] else f" with {few(of)}"
        yield f"refused{whose}: {name} from {before} to {after}: {why}"
    reasons: dict[str, list[str]] = {}
    for one in numbers:
        if one.after is None:
            reasons.setdefault(one.why, []).append(one.name)
    for why, names in reasons.items():
        yield f"left out: {', '.join(names)}: {why}"


def _row(one: ServiceEffect) -> tuple[Value, ...]:
    number = one.number
    return (
        one.before.service,
        number.name,
        number.before,
        number.change,
        number.after,
        one.total,
        one.percent,
        one.interrupts,
        one.preemption,
        one.after.word.value,
        PRICED,
        None,
    )


def _title(before: ServiceTimes) -> str:
    return (
        f"{before.service}: {grouped(before.total)} ns, interrupts off "
        f"{grouped(before.interrupts)} ns, preemption off {grouped(before.preemption)} ns "
        f"({before.word.value})"
    )


def _lines(before: ServiceTimes, own: Sequence[ServiceEffect]) -> Iterator[str]:
    idle = sum(not one.any for one in own)
    if idle:
        more = "" if idle == len(own) else " more"
        noun = "number changes" if idle == 1 else "numbers change"
        yield f"{idle}{more} {noun} nothing of {before.service}; CSV and JSON list them"
    words = [one.number.name for one in own if one.after.word is not before.word]
    if words:
        yield f"{before.service} is no {before.word.value} any more with {few(words)}"
