"""Times that are found from piece to piece: hand-made machines with a write buffer and with what
lines hide, whose truth is known; and what is done where prices do not rise with times."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from wcetchar.engine.sloped import Sloped, slopes_of
from wcetchar.errors import NoSoundBound
from wcetchar.model.fitting import Fit, LinearPrice, LinearPrices, Place
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.validation.fitting import Row
from wcetchar.validation.piecewise import Times, fit_by

F = Fraction
ALU, WRITE, REFILL = PLACES = [
    ("core", "events", "alu"),
    ("regions", "ram", "write"),
    ("regions", "ram", "line refill"),
]
Price = Callable[[Times], Fraction]


class Judged:
    """A machine by what each row costs: written with nothing but `+`, `*` and `max`."""

    def __init__(self, *prices: Price) -> None:
        self.prices = prices

    def at(self, times: Times) -> list[Fraction]:
        return [F(price(times)) for price in self.prices]

    def sloped(self, times: Times) -> tuple[list[Fraction], list[Mapping[Place, Fraction]]]:
        known = {place: Sloped(value, {place: F(1)}) for place, value in times.items()}
        found = [price(known) for price in self.prices]
        return [F(one) for one in found], [slopes_of(one) for one in found]


def _free(high: int = 9) -> LinearPrices:
    free = {place: Quantity(F(0), F(0), F(high), Unit.CYCLES) for place in PLACES}
    return LinearPrices({}, free, {}, frozenset())


def _fit(
    judge: Judged, measured: Sequence[int | Fraction], prices: LinearPrices | None = None, **how: F
) -> Fit:
    rows = [Row(f"row {n}", {}, F(most)) for n, most in enumerate(measured)]
    units = dict.fromkeys(PLACES, F(1))
    return fit_by(judge, rows, prices or _free(), units, **{"step": F(1), **how})  # type: ignore[arg-type]


def _found(fit: Fit) -> dict[Place, Fraction]:
    return {time.place: time.value for time in fit.times}


def buffered(alu: int, writes: int, between: int) -> Price:
    """Writes, each with so many instructions behind it, and then a read: what is left of the write
    is waited for."""
    return lambda t: (
        (alu + writes * between) * t[ALU] + writes * max(F(0), t[WRITE] - between * t[ALU])
    )


def loaded(alu: int, lines: int, hidden: int) -> Price:
    """Lines, behind each of which so many instructions go on."""
    return lambda t: (
        (alu + lines * hidden) * t[ALU] + lines * max(F(0), t[REFILL] - hidden * t[ALU])
    )


TELLING = [buffered(5, 0, 0), buffered(1, 3, 0), loaded(2, 2, 0)]
"""Of which all times follow."""
truths = st.tuples(*[st.integers(0, 6)] * 3).map(
    lambda t: dict(zip(PLACES, map(F, t), strict=True))
)
numbers = st.integers(0, 4)
machines = st.lists(
    st.builds(buffered, numbers, numbers, numbers) | st.builds(loaded, numbers, numbers, numbers),
    max_size=4,
)


@given(truths, machines)
@settings(max_examples=40, deadline=None)
def test_what_rows_tell_is_found(truth: dict[Place, Fraction], more: list[Price]) -> None:
    judge = Judged(*TELLING, *more)
    found = _fit(judge, judge.at(truth))
    assert _found(found) == truth
    assert found.excess == 0
    assert found.judged


@given(truths, machines, st.lists(st.integers(0, 9), min_size=7, max_size=7))
@settings(max_examples=40, deadline=None)
@example(dict(zip(PLACES, map(F, (2, 9, 0)), strict=True)), [buffered(0, 4, 3)], [0] * 7)
def test_never_below_a_row_and_no_more_than_upper_ends(
    truth: dict[Place, Fraction], more: list[Price], less: list[int]
) -> None:
    judge = Judged(*TELLING, *more)
    measured = [max(F(0), cost - n) for cost, n in zip(judge.at(truth), less, strict=False)]
    fit = _fit(judge, measured)
    found = _found(fit)
    costs = judge.at(found)
    assert all(cost >= most for cost, most in zip(costs, measured, strict=True))
    assert fit.excess == sum(costs) - sum(measured)
    assert sum(costs) <= sum(judge.at(dict.fromkeys(PLACES, F(9))))


@given(truths, machines)
@settings(max_examples=12, deadline=None)
def test_with_rows_that_tell_nothing_is_less_in_total(
    truth: dict[Place, Fraction], more: list[Price]
) -> None:
    """Every combination of whole cycles is tried."""
    judge = Judged(*TELLING, *more)
    measured = judge.at(truth)
    best = min(
        sum(costs)
        for times in itertools.product(range(10), repeat=3)
        for costs in [judge.at(dict(zip(PLACES, map(F, times), strict=True)))]
        if all(c >= m for c, m in zip(costs, measured, strict=True))
    )
    assert _fit(judge, measured).excess + sum(measured) == best


def test_a_write_that_is_hidden_in_all_rows_is_not_lowered_further() -> None:
    """What goes on behind it hides up to six cycles: that it takes less nobody has seen."""
    judge = Judged(buffered(5, 0, 0), buffered(0, 4, 3))
    found = _fit(judge, [10, 24])
    assert _found(found) == {ALU: 2, WRITE: 6, REFILL: 9}
    assert {t.place for t in found.times if not t.counted} == {REFILL}


def test_what_is_told_in_a_sum_alone_is_named() -> None:
    both: Price = lambda t: 3 * (t[WRITE] + t[REFILL])  # noqa: E731
    found = _fit(Judged(buffered(5, 0, 0), both), [10, 21])
    assert sum(_found(found)[p] for p in (WRITE, REFILL)) == 7
    assert found.together == ((WRITE, REFILL),)


def test_what_must_not_fall_below_zero_does_not() -> None:
    prices = _free()
    overlap = {"write less overlap": LinearPrice(F(-2), {WRITE: F(1)})}
    prices = LinearPrices({}, prices.free, overlap, frozenset())
    row: Price = lambda t: t[ALU] + max(F(0), t[WRITE] - 2)  # noqa: E731
    assert _found(_fit(Judged(row), [3], prices))[WRITE] >= 2


def test_ranges_that_allow_too_little_name_the_rows() -> None:
    with pytest.raises(NoSoundBound, match="above 1 of 2 measurements") as raised:
        _fit(Judged(buffered(1, 0, 0), buffered(2, 0, 0)), [9, 19])
    assert raised.value.details == ("row 1: measured 19.0 ns, at most 18.0 ns",)


def test_no_time_is_raised_because_it_makes_rows_cheaper() -> None:
    """Nor is a row short that gets cheaper by a time that others need."""
    hides: Price = lambda t: 30 + t[WRITE] - 2 * t[ALU]  # noqa: E731
    found = _fit(Judged(buffered(2, 0, 0), hides), [9, 21])
    assert _found(found) == {ALU: 5, WRITE: 1, REFILL: 9}


def test_a_row_that_is_cheaper_than_its_piece_says_is_asked_for_again() -> None:
    """The piece at the upper end says that no time would be enough."""
    bent: Price = lambda t: min(10 * t[ALU], t[ALU] + 36)  # noqa: E731
    assert _found(_fit(Judged(bent), [21]))[ALU] == 3


def test_the_step_is_kept() -> None:
    judge = Judged(*TELLING)
    truth = {ALU: F(1, 3), WRITE: F(5, 2), REFILL: F(7)}
    found = _found(_fit(judge, judge.at(truth), step=F(1, 10)))
    assert found == {ALU: F(4, 10), WRITE: F(5, 2), REFILL: F(7)}
