"""Comparison, overhead and explanation, against figures worked out by hand and by brute force."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.model.access import CoreEvent, EventKind
from wcetchar.model.characterization import Word
from wcetchar.model.estimate import Estimate, EstimateColumn
from wcetchar.model.interval import Interval
from wcetchar.model.validation import Compared
from wcetchar.validation import compare, explain, overhead_of

ALU = CoreEvent(".text", EventKind.ALU)
LOAD = CoreEvent(".text", EventKind.LOAD)
STORE = CoreEvent(".text", EventKind.STORE)


def _row(counts: dict[CoreEvent, int], prices: dict[CoreEvent, int], measured: int) -> Compared:
    columns = tuple(
        EstimateColumn(
            key=key,
            region="core",
            count=count,
            price=Interval(Fraction(0), Fraction(prices[key]), Fraction(prices[key])),
            time=Interval(
                Fraction(0), Fraction(prices[key] * count), Fraction(prices[key] * count)
            ),
        )
        for key, count in counts.items()
    )
    total = sum((c.time.high for c in columns), start=Fraction(0))
    estimate = Estimate(
        service="f",
        profile="p",
        parameters={},
        word=Word.ESTIMATE,
        total=Interval(Fraction(0), total, total),
        core_clock_hz=Fraction(1),
        rows=(),
        columns=columns,
        blocking_interrupts=Interval(),
        blocking_preemption=Interval(),
    )
    return Compared(estimate, "", 1, Fraction(measured), Fraction(measured), 2)


PRICES = {ALU: 1, LOAD: 4, STORE: 2}


def test_counts_of_the_unsafe_and_the_spread() -> None:
    rows = [
        _row({ALU: 110}, PRICES, 100),  # 10 % over
        _row({ALU: 99}, PRICES, 100),  # 1 % under
        _row({ALU: 102}, PRICES, 100),  # 2 % over
        _row({ALU: 100}, PRICES, 100),  # exact is safe
    ]
    found = compare(rows)
    assert [row.estimated for row in found.unsafe] == [99]
    assert found.spread is not None
    assert found.spread.minimum == Fraction(-1, 100)
    assert found.spread.median == Fraction(1, 100)  # of -1, 0, 2, 10 percent: (0 + 2) / 2
    assert found.spread.maximum == Fraction(10, 100)
    assert found.worst is rows[1]
    assert compare(rows[2:]).worst is rows[2]


def test_nothing_left_of_the_measurement_has_no_percentage() -> None:
    found = compare([_row({ALU: 3}, PRICES, 0)])
    assert found.spread is None
    assert not found.unsafe


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=9))
def test_unsafe_rows_are_those_below(pairs: list[tuple[int, int]]) -> None:
    found = compare([_row({ALU: estimated}, PRICES, measured) for estimated, measured in pairs])
    assert len(found.unsafe) == sum(estimated < measured for estimated, measured in pairs)
    ratios = sorted(Fraction(e - m, m) for e, m in pairs if m)
    if ratios:
        import statistics

        assert found.spread is not None
        assert found.spread.median == statistics.median(ratios)
        assert (found.spread.minimum, found.spread.maximum) == (ratios[0], ratios[-1])


def test_the_least_overhead_is_taken_and_the_functions_own_time_left_out() -> None:
    found = overhead_of("empty", [Fraction(t) for t in (30, 27, 41)], Fraction(5))
    assert (found.time, found.least, found.most, found.count) == (22, 27, 41, 3)
    assert overhead_of("empty", [Fraction(3)], Fraction(5)).time == 0
    with pytest.raises(InputError, match="no measurement of empty"):
        overhead_of("empty", [], Fraction(0))


TRUTH = {ALU: 1, LOAD: 3, STORE: 2}


def _true(counts: dict[CoreEvent, int]) -> int:
    return sum(TRUTH[key] * count for key, count in counts.items())


def test_the_price_that_is_wrong_everywhere_is_named() -> None:
    """LOAD is priced at 4 and costs 3; ALU has the larger share of the worst row."""
    counts = [{ALU: 50, LOAD: 10}, {ALU: 5, LOAD: 7, STORE: 3}, {ALU: 80, STORE: 1}]
    rows = [_row(one, PRICES, _true(one)) for one in counts]
    found = explain(rows[0], rows)
    assert found is not None
    assert (found.key, found.would_be, found.count_would_be) == (LOAD, 3, Fraction(15, 2))
    assert (found.before, found.after, found.unsafe_after) == (17, 0, 0)


def test_a_price_that_is_too_low_is_named() -> None:
    counts = [{ALU: 50, LOAD: 10}, {ALU: 5, LOAD: 7, STORE: 3}, {ALU: 80, STORE: 1}]
    rows = [_row(one, {**TRUTH, STORE: 1}, _true(one)) for one in counts]
    worst = compare(rows).worst
    assert worst is rows[1]
    found = explain(worst, rows)
    assert found is not None
    assert (found.key, found.would_be) == (STORE, 2)


def test_no_price_can_be_below_zero() -> None:
    """The row is over by more than either class costs in it."""
    row = _row({ALU: 2, STORE: 1}, PRICES, 0)
    assert explain(row, [row]) is None


@given(
    st.lists(
        st.fixed_dictionaries({k: st.integers(0, 6) for k in (ALU, LOAD, STORE)}),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.integers(0, 60), min_size=4, max_size=4),
)
def test_no_other_class_would_do_better(
    counts: list[dict[CoreEvent, int]], measured: list[int]
) -> None:
    rows = [_row(one, PRICES, m) for one, m in zip(counts, measured, strict=False)]
    worst = compare(rows).worst
    found = explain(worst, rows)
    possible = {}
    for key, price in PRICES.items():
        own = counts[rows.index(worst)][key]
        if own and Fraction(price) - worst.excess / own >= 0:
            change = worst.excess / own
            possible[key] = sum(
                abs(row.excess - of[key] * change) for row, of in zip(rows, counts, strict=False)
            )
    assert (found is None) == (not possible)
    if found is not None:
        assert found.after == min(possible.values()) == possible[found.key]
        assert found.price - found.would_be == worst.excess / found.count
