"""Refresh and other masters come whole times: windows by hand, and all beginnings tried."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st
from test_pricing import cycles, kernel
from test_wait_prices import ALU, LOADED, PLACED, behind, board, ram

from wcetchar import formula
from wcetchar.engine import estimate, price_vector
from wcetchar.engine.interference import NO_INTERFERENCE, Rate
from wcetchar.engine.totals import Totals
from wcetchar.model.access import AccessVector, Key
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    BlockingStretch,
    Counts,
    ServiceCharacterization,
    StretchKind,
    TraceSection,
    Word,
)
from wcetchar.model.hardware import Interference
from wcetchar.model.interval import Interval
from wcetchar.model.service import Parameter, ParameterKind, ServiceKind


def linear(rate: Rate, own: Fraction) -> Fraction:
    """What prices add up to where a window's own time is ``own``."""
    return (own + rate.once) * rate.factor


def test_by_hand() -> None:
    """6 of 60: at 0, 60, 120 ..."""
    rate = Rate(((Fraction(6), Fraction(60)),))
    for own, time in ((1, 7), (53, 59), (54, 66), (107, 119), (108, 126), (Fraction(1, 2), 6.5)):
        assert rate.settled(linear(rate, Fraction(own))) == time
        assert rate.of_path(own * rate.factor) == time
    assert rate.settled(Fraction(0)) == 0
    both = Rate(((Fraction(6), Fraction(60)), (Fraction(10), Fraction(40))))
    # 5 + 6 + 10 = 21; and 24 + 6 + 10 reaches 40, so the second comes again, and 80 is not reached.
    assert both.settled(linear(both, Fraction(5))) == 21
    assert both.settled(linear(both, Fraction(24))) == 50
    assert NO_INTERFERENCE.settled(Fraction(7, 3)) == Fraction(7, 3)


def test_what_comes_before_a_window_counts_by_hand() -> None:
    """6 of 60, at -4, 56, 116: a window of 49 ends at 55, right before the second comes, and one of
    50 does not."""
    rate = Rate(((Fraction(6), Fraction(60)),), before=Fraction(4))
    for own, time in ((1, 7), (49, 55), (50, 62), (103, 115), (104, 122)):
        assert rate.settled(linear(rate, Fraction(own))) == time
    assert rate.settled(Fraction(0)) == 0


def test_the_low_end_does_without() -> None:
    rate = Rate(((Fraction(6), Fraction(60)),))
    time = Interval(Fraction(40), Fraction(59), linear(rate, Fraction(53)))
    assert rate.of_window(time) == Interval(Fraction(40), Fraction(59), Fraction(59))


@given(
    own=st.integers(1, 300),
    takes=st.integers(1, 20),
    gap=st.integers(1, 60),
)
def test_no_beginning_takes_longer(own: int, takes: int, gap: int) -> None:
    """The core waits whenever the other one is busy, which is as often as it can be."""
    every = takes + gap
    rate = Rate(((Fraction(takes), Fraction(every)),))
    longest = 0
    for first in range(every):
        time, done = 0, 0
        while done < own:
            done += (time - first) % every >= takes
            time += 1
        longest = max(longest, time)
    found = rate.settled(linear(rate, Fraction(own)))
    assert longest <= found <= longest + takes
    assert found <= linear(rate, Fraction(own))


@given(
    own=st.fractions(0, 500),
    others=st.lists(
        st.tuples(st.fractions(Fraction(1, 9), 9), st.fractions(40, 90)), min_size=1, max_size=3
    ),
)
def test_it_is_the_first_time_that_holds_them_all(
    own: Fraction, others: list[tuple[Fraction, Fraction]]
) -> None:
    rate = Rate(tuple(others))
    found = rate.settled(linear(rate, own))

    def needed(within: Fraction) -> Fraction:
        return own + sum(((within // every + 1) * takes for takes, every in others), Fraction(0))

    assert needed(found) == found
    # What is needed grows only where one more begins: before these there is no other such time.
    edges = {n * every for _, every in others for n in range(1, int(found // every) + 1)}
    assert all(needed(edge - Fraction(1, 10**9)) > edge - Fraction(1, 10**9) for edge in edges)


def section(repetition: str, *keys: Key, masked: bool = False) -> TraceSection:
    vector = AccessVector(dict.fromkeys(keys, 1))
    return TraceSection(Blocking(interrupts=masked), vector, formula.parse(repetition))


SERVICE = ServiceCharacterization(
    "run",
    ServiceKind.CALL,
    Word.BOUND,
    (Parameter("N", ParameterKind.ARGUMENT, 0, 60, "instructions"),),
    Counts((section("1", behind(None, LOADED), LOADED), section("N", ALU, masked=True))),
    stretches=(
        BlockingStretch(
            StretchKind.INTERRUPTS,
            "here",
            "there",
            Counts((section("1", behind(None, None)), section("N", ALU, masked=True))),
            goes_on_from=frozenset(),
            goes_on_in=frozenset(),
        ),
    ),
)
"""A load of 3 cycles, and N instructions that mask interrupts."""


def test_rows_columns_and_totals_agree() -> None:
    on = board(ram(4, refresh=Interference(cycles(6), cycles(60))), buffer=0)
    published = replace(kernel(ALU), services=(SERVICE,), stalls=STALL_EDITION, successions=True)
    prices = price_vector(published, on, PLACED)
    totals = Totals(SERVICE.counts, ("N",), prices, "run")
    assert totals.line is None  # it is none
    for n in range(61):
        found = estimate(published, "run", on, PLACED, {"N": n}, prices)
        own = 3 + n
        assert found.total.high == own + (6 if own < 54 else 12)
        assert found.total.low == own
        assert found.blocking_interrupts.high == n + (6 if n < 54 else 12)
        assert sum(row.time.high for row in found.rows) == found.total.high
        assert sum(column.time.high for column in found.columns) == found.total.high
        assert sum(c.price.high * c.count for c in found.columns) == found.total.high
        assert totals((n,)) == found.total.high
