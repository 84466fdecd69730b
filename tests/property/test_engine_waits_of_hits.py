"""Waits of loads that a data cache may hold the line of, against a core and a bus that are stepped.

As in ``test_engine_waits``; but loads of one section go through a cache. One that hits takes its
own cycle and asks nobody, whatever is under way; one that misses waits for all of it, and for its
line. Which of them miss is chosen at random, and counted. No run may take longer than its estimate;
and where all hit, none is charged for writes that are over by the time anything waits. What blocks
something begins with an empty cache, so that all wait there. With lines of instructions that are
loaded meanwhile, as in ``test_engine_refills_and_waits``, from a memory that nobody writes to.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_engine_refills_and_waits import (
    ASKED,
    NEEDED,
    Caches,
    Line,
    Platform,
    far_runs,
    in_order,
    stepped,
    told_meanwhile,
)
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
from wcetchar.engine.sensitivity import Sensitivity
from wcetchar.model.access import (
    LINE_LOADS,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Succession,
)
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import (
    BlockingStretch,
    Characterization,
    DataFootprint,
    SectionInfo,
    StretchKind,
    UsedLine,
    UsedLines,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import AccessTime, DataCache, HardwareProfile, Quantity, Unit
from wcetchar.model.section_map import Assumption, CacheState, SectionMap
from wcetchar.model.service import SectionKind
from wcetchar.model.uncertainty import Uncertainty

Run = list[tuple[Step, bool]]
"""Each step, and whether its load misses, if a cache is asked."""


@dataclass(frozen=True)
class Data:
    """A cache of what is loaded from a section: cycles of the bus that a line takes."""

    miss: int
    section: int = 0

    @property
    def name(self) -> str:
        return f"s{self.section}"

    def holds(self, step: Step) -> bool:
        return not step.write and step.section == self.section

    def misses(self, run: Run) -> int:
        return sum(misses for step, misses in run if self.holds(step))

    def takes(self, run: Run) -> dict[int, int]:
        """Of each load that asks the cache, cycles of the bus; 0: it hits."""
        return {n: self.miss * misses for n, (step, misses) in enumerate(run) if self.holds(step)}

    def told(self, run: Run, begins: Succession | None = None) -> list[Key]:
        """What is counted, and of loads what the core does behind them. ``begins``: has what is
        known of what ran before."""
        alone = [step for step, _ in run]
        found: list[Key] = []
        accesses = iter(enumerate(alone))
        for key in keys_of(alone, counted=True, begins=begins):
            if isinstance(key, Succession) and key.access is not None:
                number, step = next(accesses)
                if not step.write and (number == 0 or alone[number - 1].write):
                    then, late = behind_load(alone[number + 1 :])
                    key = replace(key, then=then, late_then=late)
            found.append(key)
        return found + [CoreEvent(self.name, LINE_LOADS[32, 1][0])] * self.misses(run)

    def beside(
        self, run: Run, kernel: Characterization, profile: HardwareProfile, placed: SectionMap
    ) -> Platform:
        """With the cache, and with lines that tell nothing of these misses."""
        used = UsedLines((UsedLine(32, self.name, 0, 1, 1),), ((self.name, self.misses(run)),))
        service = replace(kernel.services[0], data=(DataFootprint((), used),))
        sections = (*kernel.sections, SectionInfo(self.name, SectionKind.DATA, address=0))
        kernel = replace(kernel, sections=sections, services=(service,), data_lines=(32,))
        hit = Quantity.exactly(1, Unit.CYCLES)
        region = profile.regions[self.name]
        memory = replace(
            region,
            times={**region.times, Operation.READ: AccessTime(hit, hit)},
            load_miss_penalty=Quantity.exactly(self.miss, Unit.CYCLES),
        )
        core = replace(profile.core, data_cache=DataCache(CacheGeometry(32, 4)))
        profile = replace(profile, core=core, regions={**profile.regions, self.name: memory})
        warm = replace(
            placed,
            addresses={**placed.addresses, self.name: 0},
            assumptions=frozenset({Assumption.DATA_ALIGNMENT}),
            data_cache=CacheState.WARM,
        )
        return kernel, profile, warm


def behind_load(following: Iterable[Step]) -> tuple[tuple[tuple[CoreEvent, int], ...], int]:
    """What the core does until something else than a load accesses, and late transfers in it."""
    counts: dict[CoreEvent, int] = {}
    late = 0
    for step in following:
        late += len(step.late)
        for event, count in between_of(step, first=False):
            counts[event] = counts.get(event, 0) + count
        if step.write:
            break
        one = replace(ISSUE[Operation.READ], section=f"s{step.section}")
        counts[one] = counts.get(one, 0) + 1
    return tuple(counts.items()), late


def platform(bus: Bus, data: Data, run: Run, outside: Outside | None) -> Platform:
    kernel = kernel_of(data.told(run), counted=True)
    return data.beside(run, kernel, board_of(bus, outside), PLACED)


def estimated(bus: Bus, data: Data, run: Run, outside: Outside | None) -> Estimate:
    kernel, profile, placed = platform(bus, data, run, outside)
    return estimate(kernel, "run", profile, placed, {})


def worst(bus: Bus, data: Data, run: Run, outside: Outside | None) -> int:
    alone, cached = [step for step, _ in run], data.takes(run)
    return max(
        simulated(bus, alone, pending, phase, outside, offset, cached=cached)
        for pending, phase, offset in beginnings(bus, outside)
    )


datas = st.builds(Data, st.integers(1, 9), st.integers(0, 1))
slow_buses = buses.flatmap(
    lambda bus: st.builds(
        lambda first: replace(bus, first=(first, bus.first[1])), st.integers(1, 14)
    )
)
some_miss = st.sampled_from((False, False, True))
HIT, MISSES, STORED = (load(), False), (load(), True), (store(), False)
LATE = Step(9, 0, (0, 1, 2, 3), 0, True)
FAR = (replace(load(), section=1), False)
SLOW = Bus((9, 9), (1, 1), 0, 1)
QUEUE = Bus((9, 9), (1, 1), 0, 2)


@settings(max_examples=300, deadline=None)
@given(slow_buses, datas, st.lists(st.tuples(steps, some_miss), min_size=1, max_size=8), outsides)
@example(SLOW, Data(3), [STORED, HIT, HIT, HIT, STORED], None)
@example(SLOW, Data(3), [STORED, HIT, MISSES, HIT, STORED], None)
@example(SLOW, Data(3), [STORED, HIT, FAR], None)
@example(SLOW, Data(3), [STORED, FAR, HIT], None)
@example(SLOW, Data(3), [STORED, MISSES, HIT, (store(2), False), MISSES], None)
@example(QUEUE, Data(3), [STORED, STORED, HIT, STORED, STORED, STORED, MISSES], None)
@example(QUEUE, Data(3), [HIT, HIT, MISSES], None)
@example(QUEUE, Data(3), [STORED, HIT, STORED, HIT, FAR], Outside(12, 4))
@example(QUEUE, Data(3), [STORED, HIT, (load(9), True), STORED], Outside(0, 9))
@example(Bus((3, 3), (3, 3), 2, 2), Data(2), [STORED, HIT, FAR, STORED], None)
@example(SLOW, Data(3), [STORED, HIT, (LATE, False)], None)
@example(SLOW, Data(3), [STORED, HIT, (replace(LATE, write=False), False), (store(2), False)], None)
@example(
    Bus((3, 3), (1, 1), 0, 2, 1),
    Data(14),
    [HIT, HIT, (Step(9, 0, (1, 5, 7), 0, True), False)],
    None,
)
def test_no_run_takes_longer_than_its_estimate(
    bus: Bus, data: Data, run: Run, outside: Outside | None
) -> None:
    assert worst(bus, data, run, outside) <= estimated(bus, data, run, outside).total.high


@settings(max_examples=150, deadline=None)
@given(
    slow_buses,
    datas,
    st.lists(st.tuples(steps, some_miss), min_size=1, max_size=4),
    outsides,
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(1, 16)),
    st.booleans(),
)
@example(
    Bus((8, 2), (1, 2), 4, 2, 1), Data(4, 1), [(load(2), False)], Outside(15, 3), (0, 2, 9), False
)
@example(
    Bus((3, 3), (1, 1), 1, 2, 1), Data(4, 1), [(load(), False)], Outside(11, 3), (1, 2, 1), True
)
def test_what_ran_before_may_have_left_writes_behind_reads_that_hit(
    bus: Bus,
    data: Data,
    run: Run,
    outside: Outside | None,
    before: tuple[int, int, int],
    called: bool,
) -> None:
    """A call and its refill, or the last reads of a handler and the refill of its return."""
    call, refill, reads = before
    begins = Succession(None, (), 0, False, None, settled=0 if called else reads, called=called)
    kernel = kernel_of(data.told(run, begins), counted=True)
    board = board_of(bus, outside, transfers(call, refill))
    kernel, profile, placed = data.beside(run, kernel, board, PLACED)
    high = estimate(kernel, "run", profile, placed, {}).total.high
    alone, cached = [step for step, _ in run], data.takes(run)
    reached = call + refill if called else reads + refill
    for pending, phase, offset in beginnings(bus, outside):
        took = simulated(bus, alone, pending, phase, outside, offset, reached, cached=cached)
        assert took <= high


@settings(max_examples=100, deadline=None)
@given(
    slow_buses,
    datas,
    st.lists(
        st.tuples(
            st.lists(st.tuples(steps, some_miss), min_size=1, max_size=3), st.integers(1, 16)
        ),
        min_size=2,
        max_size=3,
    ),
    outsides,
    st.integers(0, 3),
)
@example(
    Bus((25, 1), (1, 1), 0, 1),
    Data(1),
    [([(store(0), False), (load(w), True)], 16) for w in (19, 20)],
    Outside(50, 6),
    3,
)
def test_a_service_that_is_switched_away_begins_again_each_time(
    bus: Bus, data: Data, parts: list[tuple[Run, int]], outside: Outside | None, refill: int
) -> None:
    """Each part may meet the worst, and all that is charged is the sum of their counts."""
    times = transfers(0, refill)
    board, keys, longest = board_of(bus, outside, times), list[Key](), 0
    steps_of_all: Run = []
    for run, reads in parts:
        begins = Succession(None, (), 0, False, None, settled=reads)
        keys += data.told(run, begins)
        steps_of_all += run
        alone, cached = [step for step, _ in run], data.takes(run)
        longest += max(
            simulated(bus, alone, pending, phase, outside, offset, reads + refill, cached=cached)
            for pending, phase, offset in beginnings(bus, outside)
        )
    kernel = kernel_of(keys, counted=True)
    kernel, profile, placed = data.beside(steps_of_all, kernel, board, PLACED)
    assert longest <= estimate(kernel, "run", profile, placed, {}).total.high


def transfers(call: int, refill: int) -> dict[EventKind, Quantity]:
    kinds = EventKind.CALL, EventKind.PIPELINE_REFILL
    return {
        kind: Quantity.exactly(one, Unit.CYCLES)
        for kind, one in zip(kinds, (call, refill), strict=True)
    }


def test_a_load_that_hits_does_not_wait_for_the_write_before_it() -> None:
    """A store, eleven loads that hit, another store, each a cycle; and the first waits for a write
    of nine cycles that whoever ran before left behind, one of which is over."""
    run = [STORED, *[HIT] * 11, STORED]
    assert estimated(SLOW, Data(3), run, None).total.high == 1 + 11 + 1 + 8
    assert worst(SLOW, Data(3), run, None) == 1 + 11 + 1 + 8


def test_one_that_misses_waits_as_if_all_did() -> None:
    """Nine cycles of the write but the one that it hides, and the line."""
    hits = [STORED, *[HIT] * 11, STORED]
    misses = [STORED, MISSES, *[HIT] * 10, STORED]
    more = worst(SLOW, Data(3), misses, None) - worst(SLOW, Data(3), hits, None)
    both = [estimated(SLOW, Data(3), run, None).total.high for run in (misses, hits)]
    assert more <= both[0] - both[1] <= 3 + 9 - 1 + 1


def test_where_a_load_behind_it_goes_past_the_cache_nothing_is_taken_off() -> None:
    """That one waits, however many have hit before."""
    for hits in (1, 5):
        run = [STORED, *[HIT] * hits, FAR]
        figure = estimated(SLOW, Data(3), run, None).total.high
        assert figure == worst(SLOW, Data(3), run, None) + hits


def test_what_is_blocked_is_priced_as_if_all_missed() -> None:
    kernel, profile, placed = platform(SLOW, Data(3), [STORED, HIT, HIT, STORED], None)
    prices = price_vector(kernel, profile, placed)
    (key,) = (
        key
        for key in prices
        if isinstance(key, Succession) and key.access is not None and key.access.is_single_read
        if key.before is not None and key.before.may_be_posted
    )
    assert prices[key].time.high == 9 - 1 - 2
    assert prices.in_stretches[key].time.high == 9 - 1


def test_how_long_something_is_blocked_is_least_where_it_is() -> None:
    """A longer refill leaves less of a caller's write to wait for, in what is blocked as well."""
    begins = Succession(None, (), 0, False, None, called=True)
    data, run = Data(3), [HIT, STORED]
    found = []
    for low, high in ((0, 3), (0, 0), (1, 1), (2, 2), (3, 3)):
        refill = Quantity(Fraction(low), Fraction(low), Fraction(high), Unit.CYCLES)
        board = board_of(SLOW, None, {**transfers(0, 0), EventKind.PIPELINE_REFILL: refill})
        kernel = kernel_of(data.told(run, begins), counted=True)
        service = kernel.services[0]
        held = BlockingStretch(StretchKind.INTERRUPTS, "x", "y", service.counts)
        kernel = replace(kernel, services=(replace(service, stretches=(held,)),))
        kernel, profile, placed = data.beside(run, kernel, board, PLACED)
        whole = estimate(kernel, "run", profile, placed, {})
        if low != high:
            sensitivity = Sensitivity(kernel, ["run"], profile, placed)
            kind = StretchKind.INTERRUPTS
            ranged = sensitivity.of_blocking(kernel.services[0], whole, {}, kind)
            assert isinstance(ranged, Uncertainty)
            found.append(ranged.lowest)
        else:
            found.append(whole.blocking_interrupts.high)
    least, *exact = found
    assert exact == sorted(exact, reverse=True)
    assert exact[0] > exact[-1]
    assert least <= min(exact)


def test_where_lines_come_from_what_is_written_each_load_waits() -> None:
    """They wait for writes as well, and how long is told by what loads wait."""
    kernel, profile, placed = platform(SLOW, Data(3), [STORED, HIT, HIT, STORED], None)
    lines = replace(profile.regions["s1"], line_refill=Quantity.exactly(1, Unit.CYCLES))
    profile = replace(profile, regions={**profile.regions, "s1": lines})
    prices = price_vector(kernel, profile, placed)
    assert prices.blocked == {}


@settings(max_examples=200, deadline=None)
@given(
    buses,
    st.builds(Caches, st.integers(1, 30), st.none()),
    st.integers(1, 9),
    far_runs(1),
    st.lists(some_miss, min_size=20, max_size=20),
    outsides,
)
@example(
    Bus((1, 9), (1, 1), 0, 2),
    Caches(20, None),
    3,
    [(store(0, 1), None), *[(FAR[0], None)] * 3, (FAR[0], ASKED), (store(0, 1), None)],
    [False] * 20,
    None,
)
@example(
    Bus((1, 9), (1, 1), 0, 1),
    Caches(5, None),
    3,
    [(store(0, 1), None), (FAR[0], None), (FAR[0], NEEDED), (store(0, 1), NEEDED)],
    [False, False, True, *[False] * 17],
    None,
)
def test_no_run_takes_longer_while_lines_are_loaded(
    bus: Bus,
    caches: Caches,
    miss: int,
    run: list[tuple[Step, Line | None]],
    missing: list[bool],
    outside: Outside | None,
) -> None:
    """Lines come from the other memory, which is read past the cache."""
    run = [
        (replace(step, write=step.write and step.section != 0), line)
        for step, line in in_order(run)
    ]
    data = Data(miss, section=1)
    loads: Run = [(step, missed) for (step, _), missed in zip(run, missing, strict=False)]
    found = max(
        stepped(bus, caches, run, pending, phase, outside, offset, cached=data.takes(loads))
        for pending, phase, offset in beginnings(bus, outside)
        if 0 not in pending
    )

    def also(kernel: Characterization, profile: HardwareProfile, placed: SectionMap) -> Platform:
        return data.beside(loads, kernel, profile, placed)

    assert found <= told_meanwhile(
        bus, caches, run, outside, 3, read_only=True, keys=data.told(loads), also=also
    )
