"""What switching costs: published figures, and the equations against sums over small steps."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.engine.round_robin import cycle_of, least_slice, order_of
from wcetchar.engine.switching import load, lost, progress, relative_loss
from wcetchar.model.switching import LossModel, Partition, WorkingSet

US, MS = Fraction(1000), Fraction(1_000_000)
CELERON = WorkingSet("64k", "Celeron 2.5 GHz", 64 << 10, "dirty", Fraction(9, 100), 85 * US)
"""Kaiser 2008, results: f_0 and t_sust of 64 KiB behind a cache full of others' data."""

times = st.fractions(min_value=0, max_value=10**6, max_denominator=8)
working_sets = st.builds(
    WorkingSet,
    st.just("x"),
    st.just("y"),
    st.just(0),
    st.just("dirty"),
    st.fractions(min_value=Fraction(1, 100), max_value=1, max_denominator=100),
    st.fractions(min_value=1, max_value=10**5, max_denominator=4),
    st.none() | st.fractions(min_value=1, max_value=10**5, max_denominator=8),
)


@pytest.mark.parametrize(
    ("rate", "switch_us", "lost_ms", "percent"),
    [
        # Muller, Measuring, the table of overhead by rate and time of a switch.
        (500, 10, 5, "0.5"),
        (500, 2, 1, "0.1"),
        (5000, 10, 50, "5"),
        (5000, 2, 10, "1"),
        (50000, 10, 500, "50"),
        (50000, 2, 100, "10"),
    ],
)
def test_published_overhead(rate: int, switch_us: int, lost_ms: int, percent: str) -> None:
    found = load(Fraction(rate), switch_us * US)
    assert found.lost == lost_ms * MS
    assert found.share == Fraction(percent) / 100


def test_behind_each_switch_a_working_set_comes_back() -> None:
    # 1,000 times a second, 10 us and 0.91 of 85 us each.
    found = load(Fraction(1000), 10 * US, CELERON)
    assert found.switching == 1000 * 10 * US
    assert found.loss == 1000 * Fraction(91, 100) * 85 * US
    # So often that it never comes back: 20 us each, of which 10 switch.
    assert load(Fraction(50_000), 10 * US, CELERON).loss == 50_000 * Fraction(91, 100) * 10 * US
    # More switches than there is time.
    assert load(Fraction(200_000), 10 * US, CELERON).loss == 0
    assert load(Fraction(200_000), 10 * US, CELERON).share == 2


@given(working_sets, times)
def test_flood_is_never_below_what_steps_of_it_sum_up_to(one: WorkingSet, time: Fraction) -> None:
    steps = 500
    width = time / steps
    begins = sum(progress(one, LossModel.FLOOD, n * width) for n in range(steps)) * width
    ends = sum(progress(one, LossModel.FLOOD, n * width) for n in range(1, steps + 1)) * width
    found = lost(one, LossModel.FLOOD, time)
    assert time - ends <= found <= time - begins  # progress only grows
    assert found <= time


@given(working_sets, times)
def test_exponential_against_its_integral(one: WorkingSet, time: Fraction) -> None:
    rate = float(1 / (one.settles if one.constant is None else one.constant))
    # Gauss-Legendre over pieces is exact to many places.
    pieces, nodes = 64, ((-math.sqrt(3 / 5), 5 / 9), (0.0, 8 / 9), (math.sqrt(3 / 5), 5 / 9))
    end = min(float(time), 60 / rate)
    half = end / pieces / 2
    missing = sum(
        weight * (1 - float(one.least)) * math.exp(-rate * (half * (2 * piece + 1) + half * at))
        for piece in range(pieces)
        for at, weight in nodes
    )
    found = lost(one, LossModel.EXPONENTIAL, time)
    assert math.isclose(float(found), missing * half, rel_tol=1e-6, abs_tol=1e-9)
    assert found <= (1 - one.least) * time


@given(working_sets, times, times)
def test_what_is_lost_grows_and_its_share_shrinks(
    one: WorkingSet, first: Fraction, more: Fraction
) -> None:
    for model in LossModel:
        slack = 1 + Fraction(1, 10**9)
        assert lost(one, model, first) <= lost(one, model, first + more) * slack
        if first:
            assert (
                relative_loss(one, model, first + more) <= relative_loss(one, model, first) * slack
            )


rates = st.fractions(min_value=Fraction(1, 10), max_value=10**6, max_denominator=10)
switches = st.fractions(min_value=0, max_value=10**5, max_denominator=4)


@given(working_sets, rates, rates, switches, switches)
def test_a_load_rises_with_the_switch_and_with_the_rate(
    one: WorkingSet, rate: Fraction, more: Fraction, switch: Fraction, longer: Fraction
) -> None:
    """A longer switch leaves less time to lose any in, and never as much less as it takes itself;
    more of them come back to the slow beginning more often."""
    for model in LossModel:
        slack = 1 + Fraction(1, 10**9)  # of floating point
        least = load(rate, switch, one, model)
        assert least.share <= load(rate, switch + longer, one, model).share * slack
        assert least.share <= load(rate + more, switch, one, model).share * slack
        assert least.switching <= load(rate, switch + longer).switching
        assert least.lost == least.switching + least.loss


def test_both_models_lose_the_same_in_the_end() -> None:
    ever = 1000 * CELERON.settles
    whole = Fraction(91, 100) * CELERON.settles
    assert lost(CELERON, LossModel.FLOOD, ever) == whole
    assert lost(CELERON, LossModel.EXPONENTIAL, ever) == whole
    assert lost(CELERON, LossModel.EXPONENTIAL, CELERON.settles) < whole
    with pytest.raises(ValueError, match="behind a switch"):
        lost(CELERON, LossModel.FLOOD, Fraction(-1))


def test_order_of_virtual_time_round_robin() -> None:
    # Nieh, Vaill, Zhong 2001, 3.3: shares 3, 2, 1.
    assert order_of([3, 2, 1]) == (0, 1, 2, 0, 1, 0)
    assert order_of([1, 2, 3]) == (2, 1, 0, 2, 1, 2)
    assert order_of([1]) == (0,)
    for shares in ([], [1, 0]):
        with pytest.raises(ValueError, match="from 1 on"):
            order_of(shares)


@given(st.lists(st.integers(1, 12), min_size=1, max_size=6))
def test_each_has_its_share_of_a_cycle(shares: list[int]) -> None:
    order = order_of(shares)
    assert [order.count(place) for place in range(len(shares))] == shares


def followed(
    partitions: list[Partition], slice_: int, scheduler: int, cycles: int
) -> list[tuple[Fraction, int]]:
    """Lost ns, and the longest time at once without the processor, of each, ns by ns of the last of
    so many cycles; ``flood`` alone."""
    order = order_of([one.share for one in partitions])
    since, last, now = 0, None, 0
    losses = [Fraction(0) for _ in partitions]
    runs: list[list[int]] = [[] for _ in partitions]
    """When each has the processor to itself."""
    for cycle in range(cycles):
        for place in order:
            one = partitions[place].working_set
            if place != last:
                since, last = 0, place
            for tick in range(slice_):
                rate = Fraction(0)
                if tick >= scheduler:
                    slow = one is not None and since < one.settles
                    rate = one.least if one is not None and slow else Fraction(1)
                    runs[place].append(now)
                    since += 1
                losses[place] += (1 - rate) if cycle == cycles - 1 else 0
                now += 1
    waits = [max(b - a - 1 for a, b in pairwise(each)) for each in runs]
    return list(zip(losses, waits, strict=True))


@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 30), st.integers(0, 10)),
        min_size=1,
        max_size=4,
    ),
    st.integers(5, 20),
    st.integers(0, 4),
)
def test_a_cycle_against_one_that_is_followed(
    of: list[tuple[int, int, int]], slice_: int, scheduler: int
) -> None:
    partitions = [
        Partition(
            str(number),
            share,
            WorkingSet(
                "", "", 0, "dirty", Fraction(tenths, 11) + Fraction(1, 11), Fraction(settles)
            ),
        )
        for number, (share, settles, tenths) in enumerate(of)
    ]
    cycle = cycle_of(partitions, Fraction(slice_), Fraction(scheduler))
    expected = followed(partitions, slice_, scheduler, 3)
    if len(partitions) == 1:  # its working set is back since long
        expected = [(of[0][0] * Fraction(scheduler), expected[0][1])]
    assert [(one.loss, one.delay) for one in cycle.shared] == expected


def test_alone_nothing_is_lost_but_what_the_scheduler_takes() -> None:
    cycle = cycle_of([Partition("only", 3, CELERON)], MS, 10 * US)
    assert (cycle.loss, cycle.delay) == (Fraction(1, 100), 10 * US)  # in each slice
    with pytest.raises(ValueError, match="takes"):
        cycle_of([Partition("only", 3, CELERON)], MS, MS)


def three() -> list[Partition]:
    return [Partition(name, 1, CELERON) for name in "abc"]


def test_three_virtual_machines_on_a_celeron() -> None:
    """Kaiser 2008: below about 1 ms the losses are no longer negligible, and the bound of delay is
    proportional to the slice."""
    loss = {
        slice_: float(cycle_of(three(), slice_, Fraction(0)).loss)
        for slice_ in (100 * US, MS, 10 * MS)
    }
    assert loss == {
        100 * US: pytest.approx(0.7735),
        MS: pytest.approx(0.07735),
        10 * MS: pytest.approx(0.007735),
    }
    assert [cycle_of(three(), n * MS, Fraction(0)).delay for n in (1, 2, 3)] == [
        2 * MS,
        4 * MS,
        6 * MS,
    ]


@given(st.integers(1, 90), st.integers(0, 20))
def test_the_shortest_slice_keeps_the_limit_and_a_shorter_one_does_not(
    percent: int, scheduler_us: int
) -> None:
    scheduler, limit, step = scheduler_us * US, Fraction(percent, 100), US
    found = least_slice(three(), scheduler, limit, 100 * MS, step)
    assert found is not None
    assert cycle_of(three(), found, scheduler).loss <= limit
    if found - step > scheduler:
        assert cycle_of(three(), found - step, scheduler).loss > limit


@given(st.integers(5, 90), st.integers(0, 20))
def test_the_shortest_slice_at_which_each_keeps_the_limit(percent: int, scheduler_us: int) -> None:
    unlike = [Partition("a", 3, CELERON), Partition("b", 1, CELERON), Partition("c", 1)]
    scheduler, limit = scheduler_us * US, Fraction(percent, 100)
    found = least_slice(unlike, scheduler, limit, 100 * MS, US, each=True)
    whole = least_slice(unlike, scheduler, limit, 100 * MS, US)
    assert found is not None
    assert whole is not None
    assert found >= whole
    assert all(one.loss <= limit * one.time for one in cycle_of(unlike, found, scheduler).shared)
    if found - US > scheduler:
        shorter = cycle_of(unlike, found - US, scheduler).shared
        assert any(one.loss > limit * one.time for one in shorter)


def test_no_slice_is_long_enough() -> None:
    assert least_slice(three(), Fraction(0), Fraction(1, 1000), MS, US) is None
