"""Waits of loads that a data cache may hold the line of, against a core and a bus that are stepped.

As in ``test_engine_waits``; but loads of section 0 go through a cache. One that hits takes its own
cycle and asks nobody, whatever is under way; one that misses waits for all of it, and for its line.
Which of them miss is chosen at random, and counted. No run may take longer than its estimate; and
where all hit, none is charged for writes that are over by the time anything waits. What blocks
something begins with an empty cache, so that all wait there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_engine_waits import (
    ISSUE,
    PLACED,
    Bus,
    Outside,
    Step,
    beginnings,
    between_of,
    board_of,
    buses,
    kernel_of,
    keys_of,
    load,
    outsides,
    simulated,
    steps,
    store,
)

from wcetchar.engine import estimate, price_vector
from wcetchar.model.access import LINE_LOADS, CoreEvent, Key, Operation, Succession
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import (
    Characterization,
    DataFootprint,
    SectionInfo,
    UsedLine,
    UsedLines,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import AccessTime, DataCache, HardwareProfile, Quantity, Unit
from wcetchar.model.section_map import Assumption, CacheState
from wcetchar.model.service import SectionKind

Run = list[tuple[Step, bool]]
"""Each step, and whether its load misses, if a cache is asked."""
MISS = CoreEvent("s0", LINE_LOADS[32, 1][0])
MAP = replace(
    PLACED,
    addresses={"s0": 0},
    assumptions=frozenset({Assumption.DATA_ALIGNMENT}),
    data_cache=CacheState.WARM,
)


def is_cached(step: Step) -> bool:
    return not step.write and not step.section


def told(run: Run) -> list[Key]:
    """What is counted, and of loads what the core does behind them."""
    alone = [step for step, _ in run]
    found: list[Key] = []
    accesses = iter(enumerate(alone))
    for key in keys_of(alone, counted=True):
        if isinstance(key, Succession) and key.access is not None:
            number, step = next(accesses)
            behind = number == 0 or alone[number - 1].write
            if is_cached(step) and behind:
                then = dict(behind_load(alone[number + 1 :]))
                key = replace(key, then=tuple(then.items()))
        found.append(key)
    return found + [MISS] * sum(misses for step, misses in run if is_cached(step))


def behind_load(following: list[Step]) -> Iterator[tuple[CoreEvent, int]]:
    counts: dict[CoreEvent, int] = {}
    for step in following:
        for event, count in between_of(step, first=False):
            counts[event] = counts.get(event, 0) + count
        if not is_cached(step):
            break
        counts[ISSUE[Operation.READ]] = counts.get(ISSUE[Operation.READ], 0) + 1
    yield from counts.items()


def described(run: Run) -> Characterization:
    misses = sum(misses for step, misses in run if is_cached(step))
    kernel = kernel_of(told(run), counted=True)
    # Where its lines lie tells nothing of these misses.
    line = UsedLine(32, "s0", 0, 1, 1)
    used = UsedLines((line,), (("s0", misses),))
    service = replace(kernel.services[0], data=(DataFootprint((), used),))
    data = SectionInfo("s0", SectionKind.DATA, address=0)
    return replace(kernel, sections=(data,), services=(service,), data_lines=(32,))


def cached_board(bus: Bus, outside: Outside | None, miss: int) -> HardwareProfile:
    board = board_of(bus, outside)
    hit = Quantity.exactly(1, Unit.CYCLES)
    memory = replace(
        board.regions["s0"],
        times={**board.regions["s0"].times, Operation.READ: AccessTime(hit, hit)},
        load_miss_penalty=Quantity.exactly(miss, Unit.CYCLES),
    )
    core = replace(board.core, data_cache=DataCache(CacheGeometry(32, 4)))
    return replace(board, core=core, regions={**board.regions, "s0": memory})


def estimated(bus: Bus, run: Run, outside: Outside | None, miss: int) -> Estimate:
    return estimate(described(run), "run", cached_board(bus, outside, miss), MAP, {})


def worst(bus: Bus, run: Run, outside: Outside | None, miss: int) -> int:
    cached = {n: miss * misses for n, (step, misses) in enumerate(run) if is_cached(step)}
    alone = [step for step, _ in run]
    return max(
        simulated(bus, alone, pending, phase, outside, offset, cached=cached)
        for pending, phase, offset in beginnings(bus, outside)
    )


runs = st.lists(st.tuples(steps, st.sampled_from((False, False, True))), min_size=1, max_size=8)
HIT, MISSES = (load(), False), (load(), True)
FAR = (replace(load(), section=1), False)
SLOW = Bus((9, 9), (1, 1), 0, 1)
SLOW_QUEUE = Bus((9, 9), (1, 1), 0, 2)


@settings(max_examples=300, deadline=None)
@given(buses, runs, outsides, st.integers(1, 9))
@example(SLOW, [(store(), False), HIT, HIT, HIT, (store(), False)], None, 3)
@example(SLOW, [(store(), False), HIT, MISSES, HIT, (store(), False)], None, 3)
@example(SLOW, [(store(), False), HIT, FAR], None, 3)
@example(SLOW, [(store(), False), MISSES, HIT, (store(2), False), MISSES], None, 3)
@example(SLOW_QUEUE, [*[(store(), False)] * 2, HIT, *[(store(), False)] * 3, MISSES], None, 3)
@example(SLOW_QUEUE, [HIT, HIT, MISSES], None, 3)
@example(SLOW_QUEUE, [(store(), False), HIT, (store(), False), HIT, FAR], Outside(12, 4), 3)
@example(SLOW_QUEUE, [(store(), False), HIT, (load(9), True), (store(), False)], Outside(0, 9), 3)
@example(Bus((3, 3), (3, 3), 2, 2), [(store(), False), HIT, FAR, (store(), False)], None, 2)
def test_no_run_takes_longer_than_its_estimate(
    bus: Bus, run: Run, outside: Outside | None, miss: int
) -> None:
    assert worst(bus, run, outside, miss) <= estimated(bus, run, outside, miss).total.high


def test_a_load_that_hits_does_not_wait_for_the_write_before_it() -> None:
    """A store, eleven loads that hit, another store, each a cycle; and the first waits for a write
    of nine cycles that whoever ran before left behind, one of which is over."""
    run = [(store(), False), *[HIT] * 11, (store(), False)]
    assert estimated(SLOW, run, None, 3).total.high == 1 + 11 + 1 + 8
    assert worst(SLOW, run, None, 3) == 1 + 11 + 1 + 8


def test_one_that_misses_waits_as_if_all_did() -> None:
    """Nine cycles of the write but the one that it hides, and the line."""
    hits = [(store(), False), *[HIT] * 11, (store(), False)]
    misses = [(store(), False), MISSES, *[HIT] * 10, (store(), False)]
    more = worst(SLOW, misses, None, 3) - worst(SLOW, hits, None, 3)
    both = [estimated(SLOW, run, None, 3).total.high for run in (misses, hits)]
    assert more <= both[0] - both[1] <= 3 + 9 - 1 + 1


def test_what_follows_a_load_of_another_section_is_no_part_of_it() -> None:
    """Three cycles of the write are left when that is asked for."""
    run = [(store(), False), *[HIT] * 5, FAR]
    figure: Fraction = estimated(SLOW, run, None, 3).total.high
    assert figure == worst(SLOW, run, None, 3)


def test_what_is_blocked_is_priced_as_if_all_missed() -> None:
    run = [(store(), False), HIT, HIT, (store(), False)]
    board = cached_board(SLOW, None, 3)
    prices = price_vector(described(run), board, MAP)
    (key,) = (
        key
        for key in prices
        if isinstance(key, Succession) and key.access is not None and key.access.is_single_read
        if key.before is not None and key.before.may_be_posted
    )
    assert prices[key].time.high == 9 - 1 - 2
    assert prices.in_stretches[key].time.high == 9 - 1
