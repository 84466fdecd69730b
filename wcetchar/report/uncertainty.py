"""How far an estimate hangs on each number, as rows: terminal, Markdown, CSV and JSON.

All figures are of the safe figure, the total of the estimate. Upper ends and errors are rounded up,
lower ends down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.model.uncertainty import Contribution, Uncertainty
from wcetchar.report.numbers import (
    for_json,
    grouped,
    low_for_json,
    percent,
    plain,
    rounded_down,
)

NUMBERS: Final = 20
"""As many are listed for people; the other formats have all."""
_BAR: Final = 20
"""Columns of the longest bar."""
COLUMNS: Final = (
    ("which number to measure better", False),
    ("can be", False),
    ("lowers ns", True),
    ("raises ns", True),
    ("systematic", True),
    ("stochastic", True),
    ("share", True),
)
SUMMARY: Final = (
    ("nominal ns", True),
    ("systematic ns", True),
    ("stochastic ns", True),
    ("expected ns", True),
    ("safe ns", True),
)


def shown(uncertainty: Uncertainty) -> Uncertainty:
    """With names that a terminal does not act on."""
    return replace(
        uncertainty,
        contributions=tuple(
            replace(one, name=one_line(one.name)) for one in uncertainty.contributions
        ),
    )


def parts(found: Uncertainty) -> Iterator[RenderableType]:
    """Of a terminal: the range, and which numbers it hangs on."""
    yield from map(Text, lines(found))
    if not found.contributions:
        return
    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading, number in COLUMNS:
        table.add_column(Text(heading), justify="right" if number else "left", overflow="fold")
    table.add_column("")
    longest = max(one.raises for one in found.contributions)
    for one, cells in zip(found.contributions, rows(found), strict=False):
        bar = -int(-_BAR * one.raises // longest) if longest else 0
        table.add_row(*map(Text, cells), Text("#" * bar))
    yield table
    yield from map(Text, _beside(found))


def markdown(found: Uncertainty) -> tuple[list[str], list[list[str]], list[str]]:
    """Lines before the table, its rows, and lines behind it."""
    return list(lines(found)), rows(found), list(_beside(found))


def lines(found: Uncertainty) -> Iterator[str]:
    """The range, for people."""
    if found.lowest == found.safe and not found.contributions:
        yield "uncertainty: no number that this hangs on may be off"
        return
    yield (
        f"uncertainty: nominally {grouped(found.nominal)} ns, {_systematic(found)} ns systematic, "
        f"+-{grouped(found.stochastic)} ns stochastic"
    )
    yield f"  to be expected: {_expected(found)} ns"
    yield (
        f"  whatever the errors are: {_down(found.lowest)} to {grouped(found.safe)} ns, which is "
        "the total"
    )


def rows(found: Uncertainty) -> list[list[str]]:
    return [
        [
            one.name,
            _can_be(one),
            grouped(one.lowers),
            grouped(one.raises),
            grouped(one.systematic),
            grouped(one.stochastic),
            percent(one.raises, found.safe - found.nominal),
        ]
        for one in found.contributions[:NUMBERS]
    ]


def summary_cells(found: Uncertainty) -> Sequence[str]:
    return (
        grouped(found.nominal),
        _systematic(found),
        f"+-{grouped(found.stochastic)}",
        _expected(found),
        grouped(found.safe),
    )


def csv_lines(found: Uncertainty) -> Iterator[tuple[str, str, str]]:
    """What ``line``, ``class`` and ``ns`` of a table hold."""
    yield "lowest", "", plain(rounded_down(found.lowest))
    yield "nominal", "", plain(found.nominal)
    yield "systematic low", "", plain(rounded_down(found.systematic_low))
    yield "systematic high", "", plain(found.systematic_high)
    yield "stochastic", "", plain(found.stochastic)
    yield "expected low", "", plain(rounded_down(found.expected_low))
    yield "expected high", "", plain(found.expected_high)
    yield "together", "", plain(found.together)
    for one in found.contributions:
        yield "raises", one.name, plain(one.raises)
        yield "raises systematic", one.name, plain(one.systematic)
        yield "raises stochastic", one.name, plain(one.stochastic)
        yield "lowers", one.name, plain(one.lowers)


def as_json(found: Uncertainty) -> dict[str, object]:
    return {
        "lowest_ns": low_for_json(found.lowest),
        "nominal_ns": for_json(found.nominal),
        "systematic_ns": {
            "low": low_for_json(found.systematic_low),
            "high": for_json(found.systematic_high),
        },
        "stochastic_ns": for_json(found.stochastic),
        "expected_ns": {
            "low": low_for_json(found.expected_low),
            "high": for_json(found.expected_high),
        },
        "safe_ns": for_json(found.safe),
        "together_ns": for_json(found.together),
        "numbers": [
            {
                "name": one.name,
                "unit": one.unit,
                "low": low_for_json(one.low),
                "nominal": for_json(one.nominal),
                "high": for_json(one.high),
                "lowers_ns": for_json(one.lowers),
                "raises_ns": for_json(one.raises),
                "systematic_ns": for_json(one.systematic),
                "stochastic_ns": for_json(one.stochastic),
            }
            for one in found.contributions
        ],
        "idle": found.idle,
    }


def _beside(found: Uncertainty) -> Iterator[str]:
    """What no single number contributes, and what is left out."""
    if found.together:
        sign = "more" if found.together > 0 else "less"
        yield (
            f"all of them together raise it by {grouped(abs(found.together))} ns {sign} than one "
            "by one"
        )
    more = len(found.contributions) - NUMBERS
    if more > 0:
        yield f"and {more} numbers that raise it less; the other formats have all"
    if found.idle:
        yield f"{found.idle} more may be off, and do not matter here"


def _systematic(found: Uncertainty) -> str:
    up = found.systematic_high - found.nominal
    down = found.nominal - found.systematic_low
    return f"+-{grouped(up)}" if up == down else f"+{grouped(up)} -{grouped(down)}"


def _expected(found: Uncertainty) -> str:
    return f"{_down(found.expected_low)} to {grouped(found.expected_high)}"


def _can_be(one: Contribution) -> str:
    unit = f" {one.unit}" if one.unit else ""
    return f"{_down(one.low)}..{grouped(one.high)}{unit}"


def _down(value: Fraction) -> str:
    return grouped(rounded_down(value))
