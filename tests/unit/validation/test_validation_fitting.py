"""Fitted times: never below a measurement, no worse than the truth, recovered where rows tell."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar.errors import NoSoundBound
from wcetchar.model.access import CoreEvent, EventKind, Succession
from wcetchar.model.fitting import LinearPrice, LinearPrices, Recurring
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.validation.fitting import Row, fit, fit_in_turn, price_of

F = Fraction
PLACES = [("core", "events", name) for name in ("alu", "load", "store")]
KEYS = [CoreEvent("", kind) for kind in (EventKind.ALU, EventKind.LOAD, EventKind.STORE)]
PERIOD = F(20)  # ns


def _prices(low: int = 0, high: int = 9) -> LinearPrices:
    return LinearPrices(
        {key: LinearPrice(F(0), {place: PERIOD}) for key, place in zip(KEYS, PLACES, strict=True)},
        {place: Quantity(F(low), F(low), F(high), Unit.CYCLES) for place in PLACES},
        {},
        frozenset(),
    )


def _row(counts: tuple[int, ...], measured: Fraction | int) -> Row:
    return Row(str(counts), dict(zip(KEYS, counts, strict=True)), F(measured))


COUNTS = st.tuples(*[st.integers(0, 9)] * 3)


@given(st.lists(st.tuples(COUNTS, st.integers(0, 4000)), min_size=1, max_size=12))
@settings(max_examples=60)
def test_never_below_any_row_or_an_error(pairs: list[tuple[tuple[int, ...], int]]) -> None:
    rows = [_row(counts, measured) for counts, measured in pairs]
    possible = all(sum(counts) * 9 * PERIOD >= measured for counts, measured in pairs)
    if not possible:
        with pytest.raises(NoSoundBound, match="allow nothing"):
            fit(rows, _prices(), ranges=False)
        return
    found = fit(rows, _prices(), ranges=False)
    prices = _prices()
    assert all(price_of(row, prices, found) >= row.measured for row in rows)
    for time in found.times:
        assert 0 <= time.value <= 9
        assert (time.value * 1000).denominator == 1
        if not time.counted:
            assert time.value == 9  # nothing says that it may be less


@given(
    st.lists(st.tuples(COUNTS, st.integers(0, 60)), min_size=1, max_size=6),
    st.tuples(*[st.integers(0, 9)] * 3),
)
@settings(max_examples=60)
def test_no_whole_times_would_be_less_in_total(
    pairs: list[tuple[tuple[int, ...], int]], truth: tuple[int, ...]
) -> None:
    """Every combination of whole cycles is tried; the fit may use thousandths, and round up by
    one."""
    rows = [
        _row(counts, max(0, sum(c * t for c, t in zip(counts, truth, strict=True)) * 20 - less))
        for counts, less in pairs
    ]
    found = fit(rows, _prices(), ranges=False)
    best = min(
        sum(
            sum(c * t for c, t in zip(row.counts.values(), times, strict=True)) * PERIOD
            - row.measured
            for row in rows
        )
        for times in itertools.product(range(10), repeat=3)
        if all(
            sum(c * t for c, t in zip(row.counts.values(), times, strict=True)) * PERIOD
            >= row.measured
            for row in rows
        )
    )
    rounding = sum(sum(row.counts.values()) for row in rows) * PERIOD * F(1, 1000)
    paid = [t for t in found.times if t.counted]
    assert found.excess <= best + rounding * len(paid)


@given(st.tuples(*[st.fractions(0, 9, max_denominator=10)] * 3))
@settings(max_examples=40)
def test_exact_times_are_recovered(truth: tuple[Fraction, ...]) -> None:
    counts = [(5, 0, 0), (3, 2, 0), (1, 1, 4), (2, 2, 2)]
    rows = [
        _row(c, sum((n * t for n, t in zip(c, truth, strict=True)), start=F(0)) * PERIOD)
        for c in counts
    ]
    found = fit(rows, _prices())
    for time, true in zip(found.times, truth, strict=True):
        assert true <= time.value + F(1, 10**6)
        assert time.value <= true + F(2, 1000)
        assert time.least is not None
        assert time.most is not None
        assert time.most - time.least < F(1, 100)
    assert len(found.tight) + sum(not row.measured for row in rows) >= 2


def test_times_that_only_come_together_are_said_to_be_loose() -> None:
    """Load and store always come in pairs: 60 ns for both, no matter how it is shared."""
    rows = [_row((0, 1, 1), 60), _row((0, 2, 2), 120), _row((4, 0, 0), 80)]
    found = fit(rows, _prices())
    spans = {time.place[-1]: (time.least, time.most) for time in found.times}
    assert spans["load"][0] == pytest.approx(0, abs=1e-6)
    assert spans["load"][1] == pytest.approx(3, abs=1e-2)
    assert spans["alu"] == (pytest.approx(1, abs=1e-2), pytest.approx(1, abs=1e-2))


def test_the_least_relative_total_is_another_one() -> None:
    """A long row that is cheap to miss, and a short one that shares its class."""
    rows = [_row((100, 1, 0), 2020), _row((0, 1, 0), 100), _row((1, 0, 0), 1)]
    absolute = fit(rows, _prices(), ranges=False)
    relative = fit(rows, _prices(), ranges=False, relative=True)
    for found in (absolute, relative):
        assert all(price_of(r, _prices(), found) >= r.measured for r in rows)


def test_a_price_keeps_its_overlap() -> None:
    """A fetch of t cycles costs t - 1; measurements of nothing cannot push it below zero."""
    place = ("regions", "code", "fetch")
    price = LinearPrice(-PERIOD, {place: PERIOD})
    prices = LinearPrices(
        {KEYS[0]: price},
        {place: Quantity(F(0), F(0), F(9), Unit.CYCLES)},
        {"fetch": price},
        frozenset(),
    )
    found = fit([Row("a", {KEYS[0]: 3}, F(0))], prices, ranges=False)
    assert found.times[0].value == 1
    found = fit([Row("a", {KEYS[0]: 3}, F(120))], prices, ranges=False)
    assert found.times[0].value == 3


def test_rows_that_cannot_be_reached_are_named() -> None:
    with pytest.raises(NoSoundBound) as caught:
        fit([_row((1, 0, 0), 20), _row((2, 0, 0), 400)], _prices(high=5), ranges=False)
    assert "(2, 0, 0): measured 400.0 ns, at most 200.0 ns" in str(caught.value)
    assert "1 of 2 measurements" in str(caught.value)


def test_times_that_are_paid_together_are_not_each_rounded_up() -> None:
    """0.4 + 1.6 cycles are as good as any other two, but neither one and two nor two and one is."""
    prices = _prices()
    free = {place: Quantity(F(2, 5), F(2, 5), F(9), Unit.CYCLES) for place in PLACES}
    pairs = LinearPrices(prices.prices, free, {}, frozenset())
    found = fit([_row((1, 1, 0), 40)], pairs, step=F(1), ranges=False)
    assert [t.value for t in found.times if t.counted] == [1, 1]
    assert found.excess == 0


def test_a_time_that_rows_tell_is_not_lowered_to_pay_for_another() -> None:
    """1.5 and 0.5 cycles, and nothing else: one and one would fit the rows less well than the
    truth fits others, such as one of the first alone."""
    rows = [_row((1, 1, 0), 40), _row((3, 4, 0), 130)]
    found = fit(rows, _prices(), step=F(1), ranges=False)
    assert [t.value for t in found.times if t.counted] == [2, 1]


BEGINS = Succession(None, (), 0, False, None)
WAITS = [("regions", "ram", name, "takes") for name in ("refresh", "arbitration")]


def _disturbed(periods: tuple[int, ...], high: int = 4) -> LinearPrices:
    """One event of 1 ns, and interferences with these periods in ns."""
    places = WAITS[: len(periods)]
    nanosecond = [LinearPrice(F(0), {place: F(1)}) for place in places]
    return LinearPrices(
        {KEYS[0]: LinearPrice(F(1), {}), BEGINS: LinearPrice(F(0), {})},
        {place: Quantity(F(0), F(0), F(high), Unit.NANOSECONDS) for place in places},
        {},
        frozenset(),
        tuple(Recurring(price, F(t)) for price, t in zip(nanosecond, periods, strict=True)),
    )


def _ends(own: int, begins: int, periods: tuple[int, ...], takes: tuple[int, ...]) -> int:
    """Nanosecond by nanosecond: the first time at which all is done, what came at it included."""
    now = 0
    while True:
        came = sum(t * (begins + now // every) for t, every in zip(takes, periods, strict=True))
        if own + came <= now:
            return now
        now += 1


@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 2)), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(9, 30), st.integers(0, 4)), min_size=1, max_size=2),
    st.lists(st.integers(0, 9), min_size=4, max_size=4),
)
@settings(max_examples=100, deadline=None)
def test_what_recurs_is_long_enough_for_each_row(
    rows: list[tuple[int, int]], interferences: list[tuple[int, int]], less: list[int]
) -> None:
    periods, truth = (tuple(values) for values in zip(*interferences, strict=True))
    prices = _disturbed(periods)
    measured = [
        Row(
            f"{own} ns, {begins} windows",
            {KEYS[0]: own, BEGINS: begins},
            F(max(0, _ends(own, begins, periods, truth) - shorter)),
        )
        for (own, begins), shorter in zip(rows, less, strict=False)
    ]
    found = fit(measured, prices, step=F(1), ranges=False)
    takes = tuple(int(time.value) for time in found.times)
    for row, (own, begins) in zip(measured, rows, strict=True):
        assert _ends(own, begins, periods, takes) >= row.measured
        assert price_of(row, prices, found) == _ends(own, begins, periods, takes)
    if len(periods) == 1:
        enough = [
            t
            for t in range(5)
            if all(
                _ends(own, begins, periods, (t,)) >= row.measured
                for row, (own, begins) in zip(measured, rows, strict=True)
            )
        ]
        assert takes[0] == (min(enough) if found.times[0].counted else 4)


def test_in_turn_a_wait_is_not_hidden_in_prices() -> None:
    """Ten events of 3 ns; disturbed, each of ten waits twice as long."""
    place, wait = PLACES[0], WAITS[0]
    own = LinearPrice(F(0), {place: F(1)})
    free = {p: Quantity(F(0), F(0), F(9), Unit.NANOSECONDS) for p in (place, wait)}
    quiet = LinearPrices({KEYS[0]: own}, {place: free[place]}, {}, frozenset())
    both = LinearPrice(F(0), {place: F(1), wait: F(1)})
    busy = LinearPrices({KEYS[0]: both}, free, {}, frozenset())
    rows = [
        Row("quiet", {KEYS[0]: 10}, F(30), quiet),
        Row("busy", {KEYS[0]: 10}, F(60), busy),
        Row("busy once", {KEYS[0]: 1}, F(6), busy),
    ]
    found = fit_in_turn(rows, [True, False, False], busy)
    assert {t.place: t.value for t in found.times} == {place: 3, wait: 3}
    assert (found.rows, found.excess) == (3, 0)
    assert found.tight == ("quiet", "busy", "busy once")
    with pytest.raises(NoSoundBound, match="busy: measured 900"):
        fit_in_turn([*rows[:1], Row("busy", {KEYS[0]: 10}, F(900), busy)], [True, False], busy)


def test_sums_are_told_exactly() -> None:
    """Load and store come in pairs; with a row in which they do not, all are told."""
    rows = [_row((0, 1, 1), 60), _row((0, 2, 2), 120), _row((4, 0, 0), 80)]
    assert fit(rows, _prices(), ranges=False).together == (tuple(PLACES[1:]),)
    # Three unknowns, two rows: one thing is known of each pair, and so of all.
    assert fit([_row((1, 1, 0), 20), _row((0, 1, 1), 20)], _prices(), ranges=False).together == (
        tuple(PLACES),
    )
    more = [*rows, _row((1, 2, 1), 80)]
    assert fit(more, _prices(), ranges=False).together == ()
    # Times that no row pays are said to be so elsewhere.
    assert fit([_row((1, 0, 0), 20)], _prices(), ranges=False).together == ()


@given(st.lists(COUNTS, min_size=1, max_size=5))
@settings(max_examples=60, deadline=None)
def test_what_is_told_is_what_determinants_tell(counts: list[tuple[int, ...]]) -> None:
    """A time is told if no other choice of times gives the same rows: if leaving its column out
    makes the rank smaller by one. Ranks are those of the largest determinants that are not 0."""

    def rank(columns: tuple[int, ...]) -> int:
        for size in range(min(len(columns), len(counts)), 0, -1):
            for rows in itertools.combinations(counts, size):
                for some in itertools.combinations(columns, size):
                    if _determinant([[row[c] for c in some] for row in rows]):
                        return size
        return 0

    rows = [_row(c, sum(c) * 20) for c in counts]
    found = fit(rows, _prices(), ranges=False)
    named = {place for group in found.together for place in group}
    paid = [n for n in range(3) if any(c[n] for c in counts)]
    whole = rank((0, 1, 2))
    for n in paid:
        others = tuple(m for m in range(3) if m != n)
        assert (PLACES[n] in named) == (rank(others) == whole)


def _determinant(rows: list[list[int]]) -> int:
    if not rows:
        return 1
    minors = ([row[:n] + row[n + 1 :] for row in rows[1:]] for n in range(len(rows)))
    return sum((-1) ** n * rows[0][n] * _determinant(minor) for n, minor in enumerate(minors))
