"""Refills beside waits of data, against a core, two memories and a bus that are stepped in time.

As in ``test_engine_waits``, with an instruction cache: some steps of the core wait for a line of
code, which the fetch unit asks for then or up to three steps sooner; or a line is asked for in
vain, and the core goes on behind it. Lines come from the memory of section 0, which serves one
transaction at a time, data first. What is accessed behind that is told, so that refills of the
other memory's accesses are hidden. Reads of section 0 may be loads of a data cache, all of which
hit or miss. No run may take longer than its estimate.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_engine_waits import (
    PLACED,
    Bus,
    Outside,
    Step,
    beginnings,
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

from wcetchar.engine import estimate
from wcetchar.engine.refills import EMPTY_STAGES
from wcetchar.model.access import (
    AHEAD,
    ALONE,
    LAST_BEFORE,
    NOT_MEANWHILE,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Succession,
)
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import (
    Blocking,
    Characterization,
    CodeRange,
    Counts,
    FetchedLines,
    Footprint,
    HiddenStalls,
    SectionInfo,
    TraceSection,
)
from wcetchar.model.hardware import AccessTime, DataCache, HardwareProfile, Quantity, Unit
from wcetchar.model.section_map import CacheState, SectionMap
from wcetchar.model.service import SectionKind

ENTRY = CoreEvent("code", EventKind.LINE_ENTRY_32)
Platform = tuple[Characterization, HardwareProfile, SectionMap]
Also = Callable[[Characterization, HardwareProfile, SectionMap], Platform]


@dataclass(frozen=True)
class Line:
    """``sooner``: asked for when the step so many before began, and had its own line; ``vain``:
    nobody executes it, and what comes behind the step waits for it; ``at``: cycles of the step's
    work until it is asked for, or waited for if it was asked for sooner."""

    sooner: int
    vain: bool
    at: int = 0


@dataclass(frozen=True)
class Caches:
    """Cycles of the bus that a line takes: of code, and of data where these are cached."""

    refill: int
    miss: int | None
    hits: bool = False

    def hold(self, section: int, write: bool) -> bool:
        return self.miss is not None and not section and not write


@dataclass
class _Access:
    section: int
    asked: int
    length: int
    end: int | None = None

    def is_under_way(self, now: int) -> bool:
        return self.end is None or now < self.end


class _Board:
    """Memories and the order in which they serve; time is that of ``test_engine_waits``."""

    def __init__(
        self, bus: Bus, caches: Caches, phase: int, outside: Outside | None, offset: int
    ) -> None:
        self.bus, self.caches = bus, caches
        self.phase, self.outside, self.offset = phase, outside, offset
        self.data: list[_Access] = []
        self.waiting: deque[_Access] = deque()
        self.lines: deque[_Access] = deque()
        self.busy = [phase, phase]

    def access(self, section: int, now: int, write: bool, takes: int | None = None) -> _Access:
        miss = self.caches.miss if self.caches.hold(section, write) else takes
        length = self.bus.first[section] if miss is None else miss
        one = _Access(section, now + 1, length * self.bus.divider[section])
        self.data.append(one)
        self.waiting.append(one)
        return one

    def line(self, now: int) -> _Access:
        one = _Access(0, now, self.caches.refill * self.bus.divider[0])
        self.lines.append(one)
        return one

    def step(self, now: int) -> None:
        """What begins at this time."""
        for memory in (0, 1):
            divider = self.bus.divider[memory]
            if now < self.busy[memory] or now % divider or self._taken(memory, now // divider):
                continue
            queue = self.lines if memory == 0 and self.lines else None
            if self.waiting and self.waiting[0].section == memory and self._asks(now):
                queue = self.waiting
            if queue and queue[0].asked <= now:
                one = queue.popleft()
                self.busy[memory] = one.end = now + self._others(memory) + one.length

    def _asks(self, now: int) -> bool:
        """The first that waits, behind the one before."""
        if now < self.waiting[0].asked or len(self.data) == len(self.waiting):
            return now >= self.waiting[0].asked
        end = self.data[-1 - len(self.waiting)].end
        return end is not None and now >= end + self.bus.turnaround

    def _taken(self, memory: int, own: int) -> bool:
        outside = self.outside
        return (
            outside is not None
            and not memory
            and outside.every > 0
            and (own + self.offset) % outside.every < outside.takes
        )

    def _others(self, memory: int) -> int:
        """Whoever comes right before each access."""
        if self.outside is None or memory or self.outside.every:
            return 0
        return self.outside.takes * self.bus.divider[memory]

    def free(self, accesses: int, now: int) -> bool:
        """The bus has been free for the turnaround, but for so many accesses."""
        if len(self.data) <= accesses:
            return True
        end = self.data[-1 - accesses].end
        return end is not None and now >= end - 1 + self.bus.turnaround


class _Clock:
    """Cycles of the core, in each of which the board does its part."""

    def __init__(self, board: _Board) -> None:
        self.board, self.now = board, board.phase
        board.step(self.now)

    def tick(self) -> None:
        self.now += 1
        self.board.step(self.now)

    def until_over(self, one: _Access, sooner: int = 0) -> None:
        while one.end is None or self.now < one.end - sooner:
            self.tick()

    def until_free(self, accesses: int) -> None:
        while not self.board.free(accesses, self.now):
            self.tick()


def stepped(
    bus: Bus,
    caches: Caches,
    run: list[tuple[Step, Line | None]],
    pending: tuple[int, ...],
    phase: int,
    outside: Outside | None,
    offset: int,
    until: int | None = None,
    cached: Mapping[int, int] | None = None,
) -> int:
    """Cycles from the first instruction until the core goes on behind the last one, or behind so
    many; what comes after these may ask for lines sooner. ``cached``: of steps that load from a
    cache of data, cycles of the bus that the line takes, 0 where it is there."""
    board = _Board(bus, caches, phase, outside, offset)
    for section in pending:
        board.access(section, phase - 1, write=True)
    clock = _Clock(board)
    asked: dict[int, _Access] = {}

    def ask_ahead(number: int) -> None:
        for ahead, (_, following) in enumerate(run[number + 1 : number + 4], start=1):
            if following is not None and following.sooner == ahead:
                asked[number + ahead] = board.line(clock.now)
                board.step(clock.now)

    for number, (step, line) in enumerate(run[:until]):
        if line is None or line.vain:
            ask_ahead(number)
        took = step.work - step.less
        for done in range(took + 1):
            if line is not None and done == min(line.at, took):
                if number not in asked:
                    asked[number] = board.line(clock.now)
                    board.step(clock.now)
                if not line.vain:
                    clock.until_over(asked[number])
                    ask_ahead(number)
                    for _ in range(EMPTY_STAGES):  # which what was before has held up as well
                        clock.tick()
            if done == took:
                break
            clock.tick()
            last = board.data[-1] if board.data else None
            if done in step.late and last is not None and last.is_under_way(clock.now):
                clock.tick()
        takes = (cached or {}).get(number)
        if takes != 0:
            clock.until_free(max(bus.buffered, 1) - 1)
        held = caches.hold(step.section, step.write) or takes is not None
        if takes == 0 or (held and caches.hits):
            clock.tick()
        else:
            access = board.access(step.section, clock.now, step.write, takes)
            if step.write and bus.buffered:
                clock.tick()
            else:
                clock.until_over(access, 0 if held else 1)
        if line is not None and line.vain:
            clock.until_over(asked[number])
    return clock.now - phase


def described(
    bus: Bus,
    caches: Caches,
    run: list[tuple[Step, Line | None]],
    outside: Outside | None,
    keys: list[Key] | None = None,
) -> tuple[Characterization, HardwareProfile]:
    """``keys``: what is counted, but for lines."""
    found = keys_of([step for step, _ in run], counted=True) if keys is None else keys
    kernel = kernel_of(found, counted=True)
    lines = sum(line is not None for _, line in run)
    entries = Counts((TraceSection(Blocking(), AccessVector({ENTRY: lines})),))
    service = replace(kernel.services[0], lines=FetchedLines(entries, ()))
    code = SectionInfo("code", SectionKind.CODE, address=0)
    kernel = replace(kernel, sections=(code,), services=(service,))
    return kernel, _with(caches, bus, outside, lines)


def estimated(
    bus: Bus, caches: Caches, run: list[tuple[Step, Line | None]], outside: Outside | None
) -> Fraction:
    kernel, profile = described(bus, caches, run, outside)
    return estimate(kernel, "run", profile, PLACED, {}).total.high


def _with(caches: Caches, bus: Bus, outside: Outside | None, lines: int) -> HardwareProfile:
    """The board, with caches of what lies in the memory of section 0."""
    board = board_of(bus, outside)
    geometry = CacheGeometry(32, 4)
    core = replace(
        board.core,
        instruction_cache=geometry if lines else None,
        data_cache=None if caches.miss is None else DataCache(geometry),
    )
    refill = caches.refill + Fraction(EMPTY_STAGES, bus.divider[0])
    memory = replace(board.regions["s0"], line_refill=Quantity.exactly(refill, Unit.CYCLES))
    if caches.miss is not None:
        hit = Quantity.exactly(1, Unit.CYCLES)
        memory = replace(
            memory,
            times={**memory.times, Operation.READ: AccessTime(hit, hit)},
            load_miss_penalty=Quantity.exactly(caches.miss, Unit.CYCLES),
        )
    return replace(board, core=core, regions={**board.regions, "s0": memory})


lines = st.none() | st.builds(Line, st.integers(0, 1), st.booleans(), st.integers(0, 9))
far_lines = st.none() | st.builds(Line, st.integers(0, 3), st.booleans(), st.integers(0, 9))


@st.composite
def far_runs(draw: st.DrawFn, least: int) -> list[tuple[Step, Line | None]]:
    """Where nothing is accessed in the memory of the lines, more often than by chance."""
    run = draw(st.lists(st.tuples(steps, far_lines), min_size=least, max_size=AHEAD + 6))
    if draw(st.booleans()):
        run = [(replace(step, section=1), line) for step, line in run]
    return run


caches_ = st.builds(Caches, st.integers(1, 12), st.none() | st.integers(1, 9))


NEEDED = Line(sooner=0, vain=False)
A_WRITE_EACH = [(store(), None), (load(9), NEEDED)] * 4
MANY = [(load(3), NEEDED)] * 20
BETWEEN = replace(NEEDED, at=2)
TWO_WRITES = [(store(), None), (store(), None), (load(9), NEEDED)]


@settings(max_examples=100, deadline=None)
@given(
    buses.map(lambda bus: replace(bus, later=0)), st.lists(steps, min_size=1, max_size=6), outsides
)
def test_without_lines_it_is_the_other_simulation(
    bus: Bus, run: list[Step], outside: Outside | None
) -> None:
    nothing = Caches(1, None)
    for pending, phase, offset in beginnings(bus, outside):
        own = stepped(bus, nothing, [(s, None) for s in run], pending, phase, outside, offset)
        assert own == simulated(bus, run, pending, phase, outside, offset)


@settings(max_examples=150, deadline=None)
@given(buses, caches_, st.lists(st.tuples(steps, lines), min_size=1, max_size=7), outsides)
@example(Bus((6, 1), (1, 1), 1, 1), Caches(5, None), [(store(), None), (load(9), NEEDED)], None)
@example(Bus((6, 1), (1, 1), 1, 1), Caches(5, None), A_WRITE_EACH, None)
@example(Bus((6, 1), (1, 1), 0, 2), Caches(5, None), TWO_WRITES, None)
@example(Bus((6, 1), (1, 1), 0, 2), Caches(5, None), [(load(20), NEEDED)], None)
@example(Bus((6, 1), (1, 1), 0, 0), Caches(5, None), [(load(), None), (load(3), NEEDED)], None)
@example(Bus((6, 1), (1, 1), 1, 1), Caches(5, None), [(load(), None), *MANY], None)
@example(Bus((6, 1), (1, 1), 0, 0), Caches(5, None), [(store(3), NEEDED)] * 20, None)
@example(Bus((1, 1), (3, 1), 1, 0), Caches(1, None), [(load(5), None), (load(), NEEDED)], None)
@example(Bus((1, 1), (2, 1), 0, 0), Caches(4, None), [(load(6), None), (load(6), BETWEEN)], None)
@example(Bus((1, 1), (3, 1), 1, 0), Caches(1, 1), [(load(3), None), (store(6), None)], None)
@example(Bus((1, 1), (1, 1), 1, 1), Caches(12, None), [(load(), NEEDED)] * 4, Outside(12, 4))
@example(Bus((1, 1), (1, 1), 0, 0), Caches(3, None), [(load(3), NEEDED)], Outside(9, 4))
@example(Bus((3, 1), (1, 1), 1, 1), Caches(5, 2), [(load(9), NEEDED)], Outside(0, 9))
@example(Bus((3, 1), (1, 1), 1, 3), Caches(5, 2), [(load(9), NEEDED)] * 2, Outside(0, 9))
def test_no_run_takes_longer_than_its_estimate(
    bus: Bus, caches: Caches, run: list[tuple[Step, Line | None]], outside: Outside | None
) -> None:
    found = max(
        stepped(bus, replace(caches, hits=hits), run, pending, phase, outside, offset)
        for pending, phase, offset in beginnings(bus, outside)
        for hits in (False, True)[: 1 + (caches.miss is not None)]
    )
    assert found <= estimated(bus, caches, run, outside)


def meanwhile(
    run: list[tuple[Step, Line | None]], seen: int, keys: list[Key] | None = None
) -> Iterator[tuple[tuple[int, Succession], ...]]:
    """Of each line, so many accesses before it (others may lie further back than is told), and
    which of them come when it has been asked for: with no line between, and each for one line.
    Then those on both sides of it. A line in vain is that of the step behind it, which waits."""
    counted = keys_of([step for step, _ in run], counted=True) if keys is None else keys
    successions = [k for k in counted if isinstance(k, Succession) and k.access is not None]
    claimed: set[int] = set()
    for number, (_, line) in enumerate(run):
        if line is None:
            continue
        waits, sooner = number + line.vain, line.sooner + line.vain
        found = [(LAST_BEFORE, successions[0])] if waits < seen else []
        last = run[number - 1][1] if number > 0 and not line.vain else None
        for at in range(max(0, waits - seen), min(waits + 1, len(run))):
            before = waits - at
            alone = last is None and all(other is None for _, other in run[at + 1 : number])
            behind = alone and before <= sooner and at not in claimed
            found.append((before if behind else NOT_MEANWHILE, successions[at]))
            claimed |= {at} if behind else set()
            if last is not None and not last.vain and before == 1 <= sooner:
                found[-1] = ALONE, successions[at]
        if waits > 0 and waits - 1 not in claimed and run[waits - 1][0].write:
            found.append((LAST_BEFORE, successions[waits - 1]))
            claimed.add(waits - 1)
        if waits < len(run) and waits not in claimed:
            found.append((0, successions[waits]))
            claimed.add(waits)
        yield tuple(found)


def in_order(run: list[tuple[Step, Line | None]]) -> list[tuple[Step, Line | None]]:
    """A line is asked for behind the one before it, at once if that is executed."""
    found: list[tuple[Step, Line | None]] = []
    since = 0
    for step, line in run:
        ordered = None if line is None else replace(line, sooner=min(line.sooner, since))
        found.append((step, ordered))
        since = since + 1 if line is None else not line.vain
    return found


def told_meanwhile(
    bus: Bus,
    caches: Caches,
    run: list[tuple[Step, Line | None]],
    outside: Outside | None,
    told: int,
    seen: int = AHEAD,
    *,
    read_only: bool = False,
    both: bool = False,
    keys: list[Key] | None = None,
    also: Also | None = None,
) -> Fraction:
    """The estimate with lines that are loaded once each, of a core of which so much is told;
    ``read_only``: from a memory that nobody writes to; ``both``: the other could have lines;
    ``keys``: as of :func:`described`; ``also``: what is changed in the end."""
    kernel, profile = described(bus, caches, run, outside, keys)
    in_vain = [0 if line.vain else None for _, line in run if line is not None]
    hidden = [
        HiddenStalls(32, "code", (), 1, accesses, vain)
        for accesses, vain in zip(meanwhile(run, seen, keys), in_vain, strict=True)
    ]
    if hidden:
        entries = kernel.services[0].lines
        assert entries is not None
        ranges = (CodeRange("code", 0, 32 * len(hidden)),)
        footprint = Footprint(((),), ranges, hidden=tuple(hidden))
        service = replace(kernel.services[0], lines=replace(entries, footprints=(footprint,)))
        kernel = replace(kernel, services=(service,))
    none = Quantity.exactly(0, Unit.CYCLES)
    core = replace(profile.core, refills_hide_accesses=told, in_vain_saves=none)
    if core.instruction_cache is not None:
        core = replace(core, instruction_cache=CacheGeometry(32, 16))
    placed = SectionMap(
        "map", PLACED.sections, addresses={"code": 0}, instruction_cache=CacheState.COLD
    )
    regions = dict(profile.regions)
    if read_only:
        times = {Operation.READ: regions["s0"].times[Operation.READ]}
        regions["s0"] = replace(regions["s0"], times=times)
    if both:
        regions["s1"] = replace(regions["s1"], line_refill=Quantity.exactly(1, Unit.CYCLES))
    profile = replace(profile, core=core, regions=regions)
    if also is not None:
        kernel, profile, placed = also(kernel, profile, placed)
    return estimate(kernel, "run", profile, placed, {}).total.high


AWAY = replace(store(), section=1)
READ_AWAY = replace(load(2), section=1)
ASKED = Line(sooner=3, vain=False)
QUIET: list[tuple[Step, Line | None]] = [(READ_AWAY, None)] * AHEAD
AT_ONCE = replace(load(), section=1)
BESIDE: list[tuple[Step, Line | None]] = [*QUIET, (AWAY, None), (AT_ONCE, NEEDED)]
NEXT = Line(sooner=1, vain=False)
IN_VAIN = Line(sooner=2, vain=True)
AT_THE_END = (AT_ONCE, replace(IN_VAIN, sooner=0))
THREE = [*QUIET[3:], (AWAY, None), (store(), None), (READ_AWAY, None), *QUIET[:2], (AWAY, ASKED)]


@settings(max_examples=150, deadline=None)
@given(
    buses,
    st.builds(Caches, st.integers(1, 30), st.none()),
    far_runs(AHEAD + 1),
    outsides,
    st.integers(3, AHEAD),
)
@example(Bus((1, 6), (1, 1), 0, 0), Caches(20, None), [*QUIET, (load(), ASKED)], None, 6)
@example(Bus((1, 6), (1, 1), 1, 2), Caches(20, None), [*QUIET, (AWAY, ASKED)] * 2, None, 6)
@example(Bus((1, 6), (1, 1), 1, 2), Caches(3, None), [*QUIET, *[(AWAY, ASKED)] * 3], None, 6)
@example(Bus((6, 6), (1, 1), 1, 1), Caches(20, None), [*QUIET, (store(), ASKED)], None, 6)
@example(Bus((1, 8), (1, 1), 0, 2), Caches(40, None), THREE, None, 3)
@example(Bus((1, 6), (1, 1), 0, 0), Caches(3, None), [*QUIET, (AT_ONCE, ASKED)], None, 6)
@example(Bus((1, 6), (1, 1), 0, 1), Caches(20, None), [*BESIDE, (AT_ONCE, NEXT)], None, 6)
@example(Bus((1, 6), (1, 1), 0, 1), Caches(20, None), [*BESIDE, (AT_ONCE, NEEDED)], None, 6)
@example(Bus((1, 6), (1, 1), 0, 0), Caches(20, None), [*QUIET, (READ_AWAY, IN_VAIN)] * 2, None, 6)
@example(Bus((1, 6), (1, 1), 0, 0), Caches(20, None), [*[(AT_ONCE, None)] * 6, AT_THE_END], None, 6)
def test_no_run_takes_longer_where_accesses_are_waited_for_meanwhile(
    bus: Bus,
    caches: Caches,
    run: list[tuple[Step, Line | None]],
    outside: Outside | None,
    seen: int,
) -> None:
    run = in_order(run)
    found = max(
        stepped(bus, caches, run, pending, phase, outside, offset)
        for pending, phase, offset in beginnings(bus, outside)
    )
    assert found <= told_meanwhile(bus, caches, run, outside, 3, seen)


@settings(max_examples=150, deadline=None)
@given(buses, st.builds(Caches, st.integers(1, 30), st.none()), far_runs(1), outsides)
@example(Bus((1, 6), (1, 1), 0, 2), Caches(20, None), [(AWAY, NEEDED)], None)
@example(Bus((1, 6), (1, 1), 0, 2), Caches(3, None), [*[(AWAY, None)] * 4, (AWAY, NEEDED)], None)
@example(Bus((1, 6), (1, 1), 0, 1), Caches(20, None), [*[(AWAY, None)] * 4, (AWAY, NEEDED)], None)
@example(Bus((1, 6), (1, 1), 1, 3), Caches(20, None), [*[(AWAY, None)] * 4, (AWAY, ASKED)], None)
@example(Bus((1, 6), (1, 1), 0, 2), Caches(9, None), [(AWAY, NEEDED)] * 6, None)
def test_no_run_takes_longer_where_lines_come_from_what_is_only_read(
    bus: Bus, caches: Caches, run: list[tuple[Step, Line | None]], outside: Outside | None
) -> None:
    """With queues, too; and whatever the caller writes, it does so elsewhere."""
    run = [
        (replace(step, write=step.write and step.section != 0), line)
        for step, line in in_order(run)
    ]
    found = max(
        stepped(bus, caches, run, pending, phase, outside, offset)
        for pending, phase, offset in beginnings(bus, outside)
        if 0 not in pending
    )
    assert found <= told_meanwhile(bus, caches, run, outside, 3, read_only=True)


@settings(max_examples=150, deadline=None)
@given(
    buses,
    st.builds(Caches, st.integers(1, 30), st.none()),
    far_runs(1),
    st.lists(st.tuples(steps, far_lines), min_size=1, max_size=3),
    outsides,
)
@example(Bus((1, 6), (1, 1), 1, 1), Caches(20, None), [*QUIET], [(AWAY, ASKED)], None)
@example(Bus((6, 6), (1, 1), 1, 2), Caches(20, None), [(AWAY, None)] * 4, [(AWAY, ASKED)], None)
def test_what_comes_after_a_run_holds_up_nothing_but_the_memory_of_its_line(
    bus: Bus,
    caches: Caches,
    run: list[tuple[Step, Line | None]],
    after: list[tuple[Step, Line | None]],
    outside: Outside | None,
) -> None:
    """A run of at least four steps none of which accesses that. What was written there before has
    been over since, but with a queue of several places."""
    run = [(replace(step, section=1), line) for step, line in run]
    run = [*run, *[(AT_ONCE, None)] * max(0, 4 - len(run))]
    whole = in_order([*run, *after])
    found = max(
        stepped(bus, caches, whole, pending, phase, outside, offset, until=len(run))
        for pending, phase, offset in beginnings(bus, outside)
        if bus.buffered < 2 or 0 not in pending
    )
    assert found <= told_meanwhile(bus, caches, whole[: len(run)], outside, 3)


def test_writes_go_on_while_a_line_is_loaded() -> None:
    """Two writes of six cycles, a line of 20, and one more write: with two places in a queue
    neither waits, and what the caller left is over as well."""
    run: list[tuple[Step, Line | None]] = [(AWAY, None), (AWAY, None), (AWAY, NEEDED)]
    caches = Caches(20, None)
    for places, hidden in ((1, 6 - 1), (2, 2 * (6 - 1))):
        bus = Bus((1, 6), (1, 1), 0, places)
        dearest = told_meanwhile(bus, caches, run, None, 0, read_only=True)
        assert dearest - told_meanwhile(bus, caches, run, None, 3, read_only=True) == hidden
    first: list[tuple[Step, Line | None]] = [(AWAY, NEEDED)]
    bus = Bus((1, 6), (1, 1), 0, 1)
    dearest = told_meanwhile(bus, caches, first, None, 0, read_only=True)
    assert dearest - told_meanwhile(bus, caches, first, None, 3, read_only=True) == 6 - 1
    # What is fetched from the memory of the writes may have waited for them already.
    bus = Bus((1, 6), (1, 1), 0, 2)
    fetched = {"read_only": True, "both": True}
    assert told_meanwhile(bus, caches, run, None, 3, **fetched) == told_meanwhile(
        bus, caches, run, None, 0, **fetched
    )
    behind: list[tuple[Step, Line | None]] = [(AWAY, None), (AT_ONCE, NEEDED)]
    assert told_meanwhile(bus, caches, behind, None, 3, **fetched) == told_meanwhile(
        bus, caches, behind, None, 0, **fetched
    )
    # Of a memory that is written, the caller's write may be in the way of the line.
    assert told_meanwhile(bus, caches, first, None, 3) == told_meanwhile(
        bus, caches, first, None, 0
    )


@pytest.mark.parametrize("told", [0, 1, 2, 3])
def test_what_is_told_of_a_line_in_vain_makes_it_shorter(told: int) -> None:
    """The step that it is asked for in reads as well; what comes behind it waits for the line."""
    run = [*QUIET, (READ_AWAY, IN_VAIN), (load(1), None)]
    bus, caches = Bus((1, 6), (1, 1), 0, 0), Caches(20, None)
    dearest = told_meanwhile(bus, caches, run, None, 0)
    assert told_meanwhile(bus, caches, run, None, told) == dearest - 5 * told
    assert stepped(bus, caches, run, (), 0, None, 0) <= dearest - 5 * 3


def test_what_enters_a_line_itself_is_accessed_while_the_next_one_is_loaded() -> None:
    """A write, and a read with a line of its own, which the write is over with: five cycles. The
    read takes five as well, while the line behind it is loaded; not if that is asked for later."""
    bus, caches = Bus((1, 6), (1, 1), 0, 1), Caches(20, None)
    for line, hidden in ((NEXT, 2 * 5), (NEEDED, 5)):
        run = [*BESIDE, (AT_ONCE, line)]
        dearest = told_meanwhile(bus, caches, run, None, 0)
        assert dearest - told_meanwhile(bus, caches, run, None, 3) == hidden


@pytest.mark.parametrize("told", [0, 1, 2, 3])
def test_what_is_told_makes_it_shorter(told: int) -> None:
    """Three reads of six cycles each, asked for behind the line: five of these are waited for."""
    run = [*QUIET, (load(1), ASKED)]
    bus, caches = Bus((1, 6), (1, 1), 0, 0), Caches(20, None)
    dearest = told_meanwhile(bus, caches, run, None, 0)
    assert told_meanwhile(bus, caches, run, None, told) == dearest - 5 * told
    assert stepped(bus, caches, run, (), 0, None, 0) <= dearest - 5 * 3


@pytest.mark.parametrize(("at", "hidden"), [(1, 10), (2, 5), (3, 0), (6, 0)])
def test_what_waits_for_the_line_itself_is_not_waited_for_meanwhile(at: int, hidden: int) -> None:
    """An access to the memory of the line, so many steps before it: neither it nor what is behind
    it, the one that the line's own step makes among that."""
    run = [*QUIET, (AWAY, ASKED)]
    run[AHEAD - at] = (load(2), None)
    bus, caches = Bus((1, 6), (1, 1), 0, 0), Caches(20, None)
    dearest = told_meanwhile(bus, caches, run, None, 0)
    assert dearest - told_meanwhile(bus, caches, run, None, 3) == hidden


def test_a_queue_may_hold_writes_to_the_memory_of_lines() -> None:
    """So nothing is hidden with several places, but where lines come from what is only read."""
    run = [*QUIET, (AWAY, ASKED)]
    caches = Caches(20, None)
    for places, hides in ((1, True), (2, False)):
        bus = Bus((1, 6), (1, 1), 0, places)
        dearest = told_meanwhile(bus, caches, run, None, 0)
        assert (told_meanwhile(bus, caches, run, None, 3) < dearest) == hides


@pytest.mark.parametrize("takes", range(2, 12))
def test_what_late_transfers_find_held_is_not_hidden(takes: int) -> None:
    """Else a slower write would make a run shorter: as long as three cycles that are held are more
    than the write is waited for, these are charged. Two reads are hidden, of the refill's 20."""
    late = replace(READ_AWAY, work=3, late=(0, 1, 2))
    run = [*QUIET[1:], (AWAY, None), (late, None), (AWAY, ASKED)]
    bus, caches = Bus((1, takes), (1, 1), 0, 1), Caches(20, None)
    dearest = told_meanwhile(bus, caches, run, None, 0)
    waited = max(takes - 1 - 3, 3) - 3
    expected = min(20, 2 * (takes - 1) + waited)
    assert dearest - told_meanwhile(bus, caches, run, None, 3) == expected
