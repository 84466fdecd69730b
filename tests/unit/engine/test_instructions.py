"""Prices of single instructions: they add up to the estimate, and are rounded up as they add up."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.engine.instructions import dearest, priced_invocation
from wcetchar.errors import CheckFailed, InputError
from wcetchar.model.access import (
    LINE_LOADS,
    AccessClass,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
)
from wcetchar.model.characterization import Counts, ServiceCharacterization, Word
from wcetchar.model.estimate import Estimate, EstimateColumn
from wcetchar.model.interval import Interval
from wcetchar.model.invocation import CallFrame, Function, Invocation, PricedInvocation, Segment
from wcetchar.model.service import ServiceKind

FREE = CoreEvent("code", EventKind.SKIPPED)
"""Counted, and not priced."""
KEYS: tuple[Key, ...] = (
    CoreEvent("code", EventKind.ALU),
    AccessClass("code", Operation.FETCH, 32, Pattern.FIRST),
    AccessClass("data", Operation.READ, 32, Pattern.SINGLE),
    FREE,
)
PLACES = ("core", "flash", "sram")
LOADED = CoreEvent("code", EventKind.LOAD)
"""What stands for lines here: no instruction counts it."""


def exactly(time: Fraction) -> Interval:
    return Interval(time, time, time)


def invocation(rows: list[tuple[int, int]], number: int, service: str = "s") -> Invocation:
    """``rows``: position and number of a key."""
    counted = ServiceCharacterization(service, ServiceKind.CALL, Word.ESTIMATE, (), Counts())
    return Invocation(
        service,
        (),
        counted,
        np.arange(number, dtype=np.int64),
        KEYS,
        np.array([key for _, key in rows], dtype=np.int64),
        np.array([position for position, _ in rows], dtype=np.int64),
        (CallFrame(Function(0, "f"), 0, number - 1),),
        (),
        (Segment(0, 0),),
    )


def estimate(
    rows: list[tuple[int, int]], prices: list[Fraction], loaded: Fraction = Fraction(0)
) -> Estimate:
    counts = [sum(key == number for _, key in rows) for number in range(len(KEYS))]
    columns = [
        EstimateColumn(key, place, count, exactly(price), exactly(price * count))
        for key, place, count, price in zip(KEYS, PLACES, counts, prices, strict=False)
    ]
    if loaded:
        one = exactly(loaded)
        columns.append(EstimateColumn(LOADED, "flash", 1, one, one))
    total = sum((column.time.high for column in columns), start=Fraction(0))
    return Estimate(
        service="s",
        profile="p",
        parameters={},
        word=Word.ESTIMATE,
        total=exactly(total),
        core_clock_hz=Fraction(10**6),
        rows=(),
        columns=tuple(columns),
        blocking_interrupts=Interval(),
        blocking_preemption=Interval(),
    )


def check(rows: list[tuple[int, int]], prices: list[Fraction], loaded: Fraction) -> None:
    number = 8
    made = priced_invocation(invocation(rows, number), estimate(rows, prices, loaded))
    every = [*prices, Fraction(0)]
    for until in range(number + 1):
        exact = sum((every[key] for at, key in rows if at < until), start=Fraction(0))
        assert int(made.until[until]) == math.ceil(exact * 1000)
        for place, times in zip(made.columns, made.column_ps, strict=True):
            own = sum(
                (
                    every[key]
                    for at, key in rows
                    if at < until and PLACES[key : key + 1] == (place,)
                ),
                start=Fraction(0),
            )
            assert int(times[:until].sum()) == math.ceil(own * 1000)
    assert int(made.until[-1]) == math.ceil(made.total * 1000)
    together = sum(int(times.sum()) for times in made.column_ps)
    assert 0 <= together - int(made.total_ps.sum()) < max(1, len(made.columns))
    assert (made.total_ps >= 0).all()


ROWS = st.lists(st.tuples(st.integers(0, 7), st.integers(0, 3)), max_size=40)
TIMES = st.fractions(min_value=0, max_value=10**6, max_denominator=10**4)


@given(rows=ROWS, prices=st.lists(TIMES, min_size=3, max_size=3), loaded=TIMES)
def test_rounded_up_where_it_adds_up(
    rows: list[tuple[int, int]], prices: list[Fraction], loaded: Fraction
) -> None:
    check(rows, prices, loaded)


@given(
    rows=ROWS,
    prices=st.lists(
        st.fractions(min_value=0, max_value=10**9, max_denominator=10**15), min_size=3, max_size=3
    ),
)
def test_denominators_beyond_64_bits(rows: list[tuple[int, int]], prices: list[Fraction]) -> None:
    check(rows, prices, Fraction(1, 3))


def test_what_a_cache_loads_is_no_single_instructions() -> None:
    """Two loads that may miss, of which one does, and waits beside."""
    miss = CoreEvent("data", LINE_LOADS[32, 1][0])
    rows = [(0, 0), (1, 3), (2, 3)]
    traced = replace(invocation(rows, 3), keys=(*KEYS[:3], miss))
    whole = estimate(rows, [Fraction(1), Fraction(5), Fraction(2)])
    lines = EstimateColumn(miss, "sram", 1, exactly(Fraction(7)), exactly(Fraction(9)))
    made = priced_invocation(
        traced,
        replace(
            whole, columns=(*whole.columns, lines), total=exactly(whole.total.high + Fraction(9))
        ),
    )
    assert made.total == 1 + 9
    assert made.total_ps.tolist() == [1000, 0, 0, 9000]


def test_what_does_not_add_up_is_a_defect() -> None:
    rows, prices = [(0, 0), (1, 1)], [Fraction(1), Fraction(5), Fraction(2)]
    whole = estimate(rows, prices)
    more = replace(whole, total=exactly(whole.total.high + Fraction(1, 7)))
    with pytest.raises(CheckFailed, match="together"):
        priced_invocation(invocation(rows, 2), more)
    with pytest.raises(CheckFailed, match="together"):
        priced_invocation(invocation([*rows, (1, 1)], 2), whole)


def test_longer_than_can_be_told() -> None:
    rows = [(0, 0)]
    with pytest.raises(InputError, match="64 bits"):
        priced_invocation(invocation(rows, 1), estimate(rows, [Fraction(1 << 60)]))


def test_the_dearest_of_each_service() -> None:
    def made(service: str, price: int) -> PricedInvocation:
        rows = [(0, 0)]
        return priced_invocation(invocation(rows, 1, service), estimate(rows, [Fraction(price)]))

    every = [made("a", 3), made("b", 1), made("a", 5), made("b", 1), made("a", 5)]
    assert [id(one) for one in dearest(every)] == [id(every[2]), id(every[1])]
