"""Waits of accesses against a core and a bus that are stepped cycle by cycle.

The simulated core executes accesses with work between them. A read holds it until it is answered,
a write only where the write buffer has no place for it; the bus serves one access at a time, begins
at edges of its own clock, and is taken by refresh now and then. What the core does in between may
take less than it is charged, and while a write is under way a late transfer may take more. No run
may take longer than the estimate, however it begins; and where nothing is uncertain, and one write
at most is under way, one that begins behind the slowest write takes just as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from wcetchar.engine import estimate
from wcetchar.engine.sensitivity import Sensitivity
from wcetchar.model.access import (
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Succession,
)
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    Characterization,
    Counts,
    Provenance,
    ServiceCharacterization,
    TraceSection,
    Word,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import (
    AccessTime,
    Core,
    HardwareProfile,
    Interference,
    Quantity,
    Region,
    RegionKind,
    Unit,
)
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import Kernel, ServiceKind

ALU = CoreEvent("code", EventKind.ALU)
CONSECUTIVE = CoreEvent("code", EventKind.CONSECUTIVE_ACCESS)
REFILL = CoreEvent("code", EventKind.PIPELINE_REFILL)
ISSUE = {
    Operation.READ: CoreEvent("code", EventKind.LOAD),
    Operation.WRITE: CoreEvent("code", EventKind.STORE),
}


@dataclass(frozen=True)
class Bus:
    """``first``: cycles of the bus for an access of section i; ``divider`` likewise. ``buffered``:
    so many writes may be under way. ``later``: cycles from the end of the one that has to be over
    until a further one is taken; of buffers with several places."""

    first: tuple[int, int]
    divider: tuple[int, int]
    turnaround: int
    buffered: int
    later: int = 0


@dataclass(frozen=True)
class Step:
    """Work, then an access. ``less``: cycles that the work takes less than it is charged; ``late``:
    cycles of work up to late transfers, each of which takes one more where the bus is busy."""

    work: int
    less: int
    late: tuple[int, ...]
    section: int
    write: bool


@dataclass(frozen=True)
class Outside:
    """What else uses the memory of section 0: every so many cycles of its clock, for how many. 0:
    whenever the core asks for it, right before it has its turn."""

    every: int
    takes: int


def load(work: int = 0, *late: int) -> Step:
    return Step(work, 0, late, 0, False)


def store(work: int = 0, section: int = 0) -> Step:
    return Step(work, 0, (), section, True)


buses = st.builds(
    Bus,
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.tuples(st.sampled_from((1, 1, 2, 3)), st.sampled_from((1, 2))),
    st.integers(0, 4),
    st.integers(0, 3),
    st.integers(0, 1),
)


def _possible(step: Step) -> Step:
    late = tuple(sorted({one for one in step.late if one < step.work}))
    return replace(step, less=min(step.less, step.work), late=late)


steps = st.builds(
    Step,
    st.integers(0, 9) | st.integers(10, 30),
    st.integers(0, 9),
    st.just(()) | st.lists(st.integers(0, 9), max_size=4).map(tuple),
    st.integers(0, 1),
    st.booleans(),
).map(_possible)
outsides = (
    st.none()
    | st.builds(
        lambda takes, gap: Outside(takes + gap, takes),
        st.integers(1, 4),
        st.integers(4, 12),
    )
    | st.builds(Outside, st.just(0), st.integers(1, 9))
)


def simulated(
    bus: Bus,
    run: list[Step],
    pending: tuple[int, ...],
    phase: int,
    outside: Outside | None,
    offset: int,
    reached: int = 0,
    read: bool = False,
    cached: Mapping[int, int] | None = None,
) -> int:
    """Cycles from the first instruction until the core goes on behind the last one. ``pending``:
    the sections of writes that were given to the bus right before, but for ``reached`` cycles in
    which control was transferred. ``read``: in their place one read was waited for. ``cached``: of
    steps that load from a cache, cycles of the bus that the line takes, 0 where it is there."""
    cycle = phase
    ends: list[int] = []  # the bus ends each access right before this cycle

    def free(accesses: int) -> int:
        """When the bus has been free for the turnaround, but for so many accesses."""
        return ends[-1 - accesses] - 1 + bus.turnaround if len(ends) > accesses else phase

    def taken(section: int, own: int) -> bool:
        if outside is None or section or not outside.every:
            return False
        return (own + offset) % outside.every < outside.takes

    def serve(asked: int, section: int, takes: int) -> int:
        """The end of an access that is asked for in a cycle."""
        divider = bus.divider[section]
        at = asked
        while at % divider or taken(section, at // divider):
            at += 1
        if outside is not None and not section and not outside.every:
            at += outside.takes * divider
        return at + takes * divider

    for section in pending:  # the first one was issued a cycle ago
        asked = max(cycle, free(0) + 1) if ends else cycle
        ends.append(serve(asked, section, bus.first[section]))
    if read:
        ends.append(cycle + 1)
    cycle += reached
    start = cycle
    for number, step in enumerate(run):
        took = step.work - step.less
        for done in range(took):
            cycle += 1
            if done in step.late and ends and cycle < ends[-1]:
                cycle += 1
        line = (cached or {}).get(number)
        if line == 0:
            cycle += 1
            continue
        # The access is taken when there is a place for it; the last of those under way may be over
        # later, and what is no posted write waits for its own end.
        later = bus.later if len(ends) >= bus.buffered > 1 else 0
        cycle = max(cycle, free(max(bus.buffered, 1) - 1) + later)
        takes = bus.first[step.section] if line is None else line
        ends.append(serve(max(cycle, free(0)) + 1, step.section, takes))
        waited = ends[-1] - (line is None)
        cycle = cycle + 1 if step.write and bus.buffered else waited
    return cycle - start


def keys_of(run: list[Step], counted: bool, begins: Succession | None = None) -> list[Key]:
    """What is counted of a run, each key as often as it is. ``begins``: has what is known of what
    ran before."""
    keys: list[Key] = []
    before: AccessClass | None = None
    for number, step in enumerate(run):
        operation = Operation.WRITE if step.write else Operation.READ
        access = AccessClass(f"s{step.section}", operation, 32)
        between = between_of(step, before is None)
        keys += [event for event, count in between for _ in range(count)]
        keys += [ISSUE[operation], access]
        if counted:
            writes = step.write and before is not None and before.operation is Operation.WRITE
            then = between_of(run[number + 1], False) if writes and number + 1 < len(run) else []
            late = len(step.late)
            one = Succession(before, tuple(between), late, False, access, tuple(then))
            if begins is not None and not number:
                one = replace(one, settled=begins.settled, called=begins.called)
            keys.append(one)
        before = access
    if counted:
        keys.append(Succession(before, (), 0, False, None))
    return keys


def between_of(step: Step, first: bool) -> list[tuple[CoreEvent, int]]:
    """What the core does before an access."""
    if step.work:
        return [(ALU, step.work)]
    return [] if first else [(CONSECUTIVE, 1)]


def kernel_of(keys: list[Key], counted: bool) -> Characterization:
    vector = AccessVector([(key, 1) for key in keys])
    service = ServiceCharacterization(
        "run", ServiceKind.CALL, Word.BOUND, (), Counts((TraceSection(Blocking(), vector),))
    )
    return Characterization(
        Kernel("k", "1"),
        "x",
        32,
        (),
        (service,),
        Provenance("test"),
        stalls=STALL_EDITION,
        successions=counted,
    )


def board_of(
    bus: Bus, outside: Outside | None, transfers: Mapping[EventKind, Quantity] | None = None
) -> HardwareProfile:
    one = Quantity.exactly(1, Unit.CYCLES)
    none = Quantity.exactly(0, Unit.CYCLES)
    core = Core(
        "core",
        Quantity.exactly(10**9, Unit.HERTZ),
        {
            EventKind.ALU: one,
            EventKind.LOAD: one,
            EventKind.STORE: one,
            EventKind.CONSECUTIVE_ACCESS: Quantity.exactly(bus.turnaround, Unit.CYCLES),
            EventKind.FETCH_HELD_LATE: one,
            EventKind.PIPELINE_REFILL: none,
            **(transfers or {}),
        },
        overlap={Operation.READ: one, Operation.WRITE: one},
        write_buffer=bus.buffered,
        data_width=32,
    )
    regions = {}
    for number in (0, 1):
        first = Quantity.exactly(bus.first[number], Unit.CYCLES)
        regions[f"s{number}"] = Region(
            f"s{number}",
            RegionKind.MEMORY,
            32,
            {o: AccessTime(first, first) for o in (Operation.READ, Operation.WRITE)},
            clock_divider=bus.divider[number],
            refresh=None
            if outside is None or number
            else Interference(
                Quantity.exactly(outside.takes, Unit.CYCLES),
                Quantity.exactly(outside.every, Unit.CYCLES) if outside.every else None,
            ),
        )
    return HardwareProfile("board", "", core, regions)


PLACED = SectionMap("map", {"s0": "s0", "s1": "s1", "code": "s0"})


def estimated(bus: Bus, run: list[Step], outside: Outside | None, counted: bool) -> Fraction:
    kernel = kernel_of(keys_of(run, counted), counted)
    return estimate(kernel, "run", board_of(bus, outside), PLACED, {}).total.high


def beginnings(bus: Bus, outside: Outside | None) -> Iterator[tuple[tuple[int, ...], int, int]]:
    """Writes under way, phase of the clocks and of what is outside."""
    numbers = range(bus.buffered + 1)
    pending = [each for number in numbers for each in product((0, 1), repeat=number)]
    phases = range(bus.divider[0] * bus.divider[1])
    return product(pending, phases, range(outside.every if outside and outside.every else 1))


def worst(bus: Bus, run: list[Step], outside: Outside | None) -> int:
    """Over how it may begin."""
    return max(
        simulated(bus, run, pending, phase, outside, offset)
        for pending, phase, offset in beginnings(bus, outside)
    )


@settings(max_examples=150, deadline=None)
@given(buses, st.lists(steps, min_size=1, max_size=8), outsides)
@example(Bus((6, 1), (1, 1), 1, 1), [store(), load(8, 2)], None)
@example(Bus((1, 1), (3, 3), 0, 1), [load(), *[store(3), load(6)] * 3], None)
@example(Bus((1, 1), (3, 3), 4, 0), [load(), load(2)], None)
@example(Bus((3, 3), (4, 4), 0, 1), [load(), *[store(4), load(11, 1)] * 3], None)
@example(Bus((6, 1), (1, 1), 1, 2), [load()], None)
@example(Bus((6, 1), (1, 1), 0, 2), [store(), store(1), load(8, 2)], None)
@example(Bus((6, 1), (1, 1), 1, 2), [store(), store(), load(9), store(), store(2), load(7)], None)
@example(Bus((12, 1), (1, 1), 0, 2), [load(), store(), store(0, 1), load(16, 1, 4, 7)], None)
@example(Bus((1, 1), (1, 1), 8, 2), [store(), store(1), load(30, 0, 1, 2, 3, 4)], None)
@example(Bus((6, 6), (1, 1), 1, 2, 1), [store(), store(), store(), load(9), load(2)], None)
@example(Bus((5, 5), (1, 1), 1, 3), [*[store()] * 5, load(9), store(1), store(), store(8)], None)
@example(Bus((1, 1), (1, 1), 1, 0), [load()], Outside(12, 4))
@example(Bus((1, 1), (1, 1), 1, 1), [load()] * 8, Outside(6, 3))
@example(Bus((3, 1), (1, 1), 1, 1), [load()], Outside(0, 9))
@example(Bus((3, 1), (2, 1), 1, 3), [load(2)], Outside(0, 9))
def test_no_run_takes_longer_than_its_estimate(
    bus: Bus, run: list[Step], outside: Outside | None
) -> None:
    found = worst(bus, run, outside)
    assert found <= estimated(bus, run, outside, True)
    if not bus.buffered and bus.turnaround <= 1:  # a consecutive access is the very next one
        assert found <= estimated(bus, run, outside, False)


@settings(max_examples=200, deadline=None)
@given(
    st.tuples(st.integers(1, 9), st.sampled_from((1, 2, 3))),
    st.integers(0, 1),
    st.lists(steps, min_size=1, max_size=8),
)
def test_where_nothing_is_uncertain_the_estimate_is_reached(
    timing: tuple[int, int], buffered: int, run: list[Step]
) -> None:
    """One memory, work that takes what it is charged, and no write that ends unseen: neither one
    that is over before the next access, nor the last."""
    first, divider = timing
    bus = Bus((first, first), (divider, divider), 1, buffered)
    run = [replace(s, less=0, late=(), section=0) for s in run]
    slow = first * divider
    run = [
        replace(s, work=min(s.work, slow)) if buffered and i and run[i - 1].write else s
        for i, s in enumerate(run)
    ]
    run[0] = replace(run[0], work=0)
    run[-1] = replace(run[-1], write=False)
    assert worst(bus, run, None) == estimated(bus, run, None, True)


@settings(max_examples=60, deadline=None)
@given(
    buses,
    st.lists(steps, min_size=1, max_size=2),
    st.tuples(*[st.tuples(st.integers(0, 4), st.integers(0, 3))] * 2),
    st.booleans(),
)
@example(Bus((9, 9), (1, 1), 0, 1), [store()], ((1, 2), (1, 0)), True)
@example(Bus((1, 1), (1, 1), 3, 1), [load()], ((1, 0), (1, 2)), False)
def test_no_price_of_a_call_is_below_the_least(
    bus: Bus, run: list[Step], transfer: tuple[tuple[int, int], ...], called: bool
) -> None:
    """A longer call leaves less to wait for: the least figure is not at its lower end."""
    kinds = EventKind.CALL, EventKind.PIPELINE_REFILL
    ends = {kind: (low, low + more) for kind, (low, more) in zip(kinds, transfer, strict=True)}
    begins = Succession(None, (), 0, False, None, settled=int(not called), called=called)
    kernel = kernel_of(keys_of(run, True, begins), True)

    def at(times: Mapping[EventKind, tuple[int, int]]) -> tuple[HardwareProfile, Estimate]:
        board = board_of(bus, None, {kind: cycles(*both) for kind, both in times.items()})
        # Otherwise a load, of one cycle, might be the call.
        board = replace(board, core=replace(board.core, events=without_loads(board, run)))
        return board, estimate(kernel, "run", board, PLACED, {})

    board, whole = at(ends)
    least = Sensitivity(kernel, ["run"], board, PLACED).of(kernel.services[0], whole, {}).lowest
    for corner in product(*ends.values()):
        times = {kind: (one, one) for kind, one in zip(kinds, corner, strict=True)}
        assert least <= at(times)[1].total.high <= whole.total.high


def without_loads(board: HardwareProfile, run: list[Step]) -> dict[EventKind, Quantity]:
    read = any(not step.write for step in run)
    return {k: q for k, q in board.core.events.items() if read or k is not EventKind.LOAD}


def cycles(low: int, high: int) -> Quantity:
    return Quantity(Fraction(low), Fraction(low), Fraction(high), Unit.CYCLES)


@settings(max_examples=150, deadline=None)
@given(
    buses,
    st.lists(steps, min_size=1, max_size=4),
    outsides,
    st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 2)),
    st.booleans(),
)
@example(Bus((3, 3), (1, 1), 1, 2), [load()], None, (1, 1, 2), True)
@example(Bus((3, 3), (1, 1), 1, 2), [store(), load()], Outside(0, 5), (1, 1, 0), True)
@example(Bus((1, 1), (1, 1), 4, 1), [load()], None, (3, 1, 2), False)
@example(Bus((6, 1), (3, 2), 2, 3), [load(1)], Outside(8, 4), (2, 2, 1), True)
@example(Bus((3, 3), (1, 1), 1, 2, 1), [load()], Outside(11, 3), (1, 2, 0), True)
def test_what_lies_between_is_a_transfer_of_control(
    bus: Bus,
    run: list[Step],
    outside: Outside | None,
    transfer: tuple[int, int, int],
    called: bool,
) -> None:
    """Behind a call, that and the refill; behind the return of a handler that read last, a refill.
    Both may take longer than their least."""
    call, refill, more = transfer
    times = {
        EventKind.CALL: cycles(call, call + more),
        EventKind.CALL_INDIRECT: cycles(call + more, call + more),
        EventKind.BRANCH_TAKEN: cycles(call, call),
        EventKind.PIPELINE_REFILL: cycles(refill, refill + more),
    }
    begins = Succession(None, (), 0, False, None, settled=int(not called), called=called)
    kernel = kernel_of(keys_of(run, True, begins), True)
    high = estimate(kernel, "run", board_of(bus, outside, times), PLACED, {}).total.high
    reached = call + refill if called else refill
    # Where no write goes on, a turnaround shows at the very next instruction alone.
    assume(bus.buffered or called or reached >= bus.turnaround)
    for pending, phase, offset in beginnings(bus, outside):
        if called or not pending:
            took = simulated(bus, run, pending, phase, outside, offset, reached, not called)
            assert took <= high
        if called and not pending and (bus.buffered or refill >= bus.turnaround):
            # The call itself reads.
            assert simulated(bus, run, (), phase, outside, offset, refill, True) <= high
