"""How far an estimate hangs on each number, as rows: terminal, Markdown, CSV and JSON.

The total with every number it hangs on; of blocking and of all paths people read a line each. Upper
ends and errors are rounded up, lower ends down.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from wcetchar.errors import one_line
from wcetchar.model.uncertainty import Contribution, NoRange, Uncertainties, Uncertainty
from wcetchar.report.numbers import (
    for_json,
    grouped,
    low_for_json,
    percent,
    plain,
    rounded_down,
)

if TYPE_CHECKING:  # of the terminal alone
    from rich.console import RenderableType
    from rich.table import Table

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


def shown(found: Uncertainties) -> Uncertainties:
    """With names that a terminal does not act on."""
    paths = None if found.paths is None else _shown(found.paths)
    total = _shown_range(found.total)
    return Uncertainties(total, _shown(found.interrupts), _shown(found.preemption), paths)


def _shown(found: Uncertainty | NoRange) -> Uncertainty | NoRange:
    return NoRange(one_line(found.why)) if isinstance(found, NoRange) else _shown_range(found)


def _shown_range(found: Uncertainty) -> Uncertainty:
    return replace(
        found,
        contributions=tuple(replace(one, name=one_line(one.name)) for one in found.contributions),
    )


def figures(found: Uncertainties) -> Iterator[tuple[str, Uncertainty | NoRange]]:
    """Those beside the total, with their names."""
    yield "blocking of interrupts", found.interrupts
    yield "blocking of preemption", found.preemption
    if found.paths is not None:
        yield "over all paths", found.paths


def parts(all_figures: Uncertainties) -> Iterator[RenderableType]:
    """Of a terminal: the range, and which numbers it hangs on."""
    from rich.text import Text

    found = all_figures.total
    yield from map(Text, lines(found))
    if found.contributions:
        table = _table(COLUMNS)
        table.add_column("")
        longest = max(one.raises for one in found.contributions)
        for one, cells in zip(found.contributions, rows(found), strict=False):
            bar = -int(-_BAR * one.raises // longest) if longest else 0
            table.add_row(*map(Text, cells), Text("#" * bar))
        yield table
        yield from map(Text, _beside(found))
    for first, *rest in others(all_figures):
        yield Text(first)
        yield from (Text(f"  {line}") for line in rest)


def _table(columns: Sequence[tuple[str, bool]]) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading, number in columns:
        table.add_column(Text(heading), justify="right" if number else "left", overflow="fold")
    return table


def markdown(found: Uncertainties) -> tuple[list[str], list[list[str]], list[str]]:
    """Of the total: lines before the table, its rows, and lines behind it."""
    total = found.total
    return list(lines(total)), rows(total), list(_beside(total))


def others(found: Uncertainties) -> Iterator[list[str]]:
    """Lines of each figure beside the total: its range, and the number that raises it most; nothing
    of one that is always zero."""
    for name, one in figures(found):
        if isinstance(one, NoRange):
            yield [f"{name}: no range: {one.why}"]
        elif one.safe:
            expected = f"to be expected: {_expected(one)} ns"
            limits = f"whatever the errors are: {_limits(one)} ns"
            lines = [f"{name}: {_nominally(one)}", f"{expected}; {limits}"]
            most = one.contributions[0] if one.contributions else None
            if most is not None and most.raises:
                share = percent(most.raises, one.safe - one.nominal)
                lines.append(
                    f"most by {most.name}, which raises it {grouped(most.raises)} ns, {share}"
                )
            yield lines


def lines(found: Uncertainty) -> Iterator[str]:
    """The range, for people."""
    if found.lowest == found.safe and not found.contributions:
        yield "uncertainty: no number that this hangs on may be off"
        return
    yield f"uncertainty: {_nominally(found)}"
    yield f"  to be expected: {_expected(found)} ns"
    yield f"  whatever the errors are: {_limits(found)} ns, which is the total"


def rows(found: Uncertainty) -> list[list[str]]:
    return [
        [
            one.name,
            can_be(one),
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


def csv_lines(found: Uncertainties) -> Iterator[dict[str, str]]:
    """What ``line``, ``blocking``, ``class`` and ``ns`` of a table hold."""
    for line, name, ns in _csv_lines(found.total):
        yield {"line": line, "class": name, "ns": ns}
    for prefix, kind, one in (
        ("blocking", "interrupts", found.interrupts),
        ("blocking", "preemption", found.preemption),
        ("paths", "", found.paths),
    ):
        if isinstance(one, NoRange):
            yield {"line": f"{prefix} no range", "blocking": kind}
        elif one is not None:
            for line, name, ns in _csv_lines(one):
                yield {"line": f"{prefix} {line}", "blocking": kind, "class": name, "ns": ns}


def _csv_lines(found: Uncertainty) -> Iterator[tuple[str, str, str]]:
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


def as_json(found: Uncertainties) -> dict[str, object]:
    """The keys of the total's range, and beside them those of the other figures."""
    blocking = {"interrupts": found.interrupts, "preemption": found.preemption}
    return {
        **_range_as_json(found.total),
        "blocking": {kind: _as_json(one) for kind, one in blocking.items()},
        "over_all_paths": None if found.paths is None else _as_json(found.paths),
    }


def _as_json(found: Uncertainty | NoRange) -> dict[str, object]:
    return {"no_range": found.why} if isinstance(found, NoRange) else _range_as_json(found)


def _range_as_json(found: Uncertainty) -> dict[str, object]:
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


def _nominally(found: Uncertainty) -> str:
    return (
        f"nominally {grouped(found.nominal)} ns, {_systematic(found)} ns systematic, "
        f"+-{grouped(found.stochastic)} ns stochastic"
    )


def _limits(found: Uncertainty) -> str:
    return f"{down(found.lowest)} to {grouped(found.safe)}"


def _expected(found: Uncertainty) -> str:
    return f"{down(found.expected_low)} to {grouped(found.expected_high)}"


def can_be(one: Contribution) -> str:
    """``1..3 cycles``."""
    unit = f" {one.unit}" if one.unit else ""
    return f"{down(one.low)}..{grouped(one.high)}{unit}"


def down(value: Fraction) -> str:
    """A lower end, for people."""
    return grouped(rounded_down(value))
