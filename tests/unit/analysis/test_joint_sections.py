"""Sections that are either of others: whatever instruction reached several of them, in any window.

Two services share a function with two instructions that access data. What each accesses in each
window is written by hand, and so is what then counts for which section.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from listing import BEGIN, END, SCRIPT, TABLE, HandTrace, Row, i, load, mark, r, sections, w

from wcetchar.analysis.characterize import characterize
from wcetchar.model.access import (
    LINE_LOADS,
    WAYS_OF_LINE_LOADS,
    AccessClass,
    CoreEvent,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.characterization import Characterization, Counts
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import (
    AddressRange,
    Kernel,
    LogicalSection,
    Marks,
    SectionKind,
    Service,
    ServiceKind,
    ServicesFile,
)
from wcetchar.model.trace import Event

SOURCE = f"""
.section .vectors,"a"
  .word 0x20021000, driver+1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, tick+1
{sections()}
.global driver, one, two, shared, tick
.type driver,%function
driver:
  strb r0, [r5]      @ 0x100  begin
  bl one             @ 0x102
  strb r0, [r6]      @ 0x106  end
  b.n driver         @ 0x108
.size driver, .-driver
.type one,%function
one:
  b.n shared         @ 0x10a
.size one, .-one
.type two,%function
two:
  b.n shared         @ 0x10c
.size two, .-two
.type shared,%function
shared:
  cpsid i            @ 0x10e
  ldmia r1!, {{r2, r3}} @ 0x110
  str r2, [r4]       @ 0x112
  cpsie i            @ 0x114
  bx lr              @ 0x116
.size shared, .-shared
.type tick,%function
tick:
  ldr r2, [r1]       @ 0x118
  bx lr              @ 0x11a
.size tick, .-tick
"""

A, B = TABLE, TABLE + 32
"""Where the sections ``a`` and ``b`` begin, each of one line of 32 bytes."""
NAME = {A: "a", B: "b"}


def section(name: str, kind: SectionKind, *linker: str) -> LogicalSection:
    return LogicalSection(name, kind, linker_sections=linker)


PLAIN = ServicesFile(
    path="services.yaml",
    kernel=Kernel("tiny", "1"),
    marks=Marks("wcet_mark", 256),
    sections=(
        section(".text", SectionKind.CODE, ".text"),
        section(".vectors", SectionKind.DATA, ".vectors"),
        LogicalSection("a", SectionKind.DATA, ranges=(AddressRange(A, A + 32),)),
        section("stack", SectionKind.STACK, ".stack"),
        LogicalSection("b", SectionKind.DATA, ranges=(AddressRange(B, B + 32),)),
    ),
    services=(
        Service("one", 7, ServiceKind.CALL, ("one",)),
        Service("two", 8, ServiceKind.CALL, ("two",)),
        Service("tick", 9, ServiceKind.HANDLER, ("tick",)),
    ),
    scheduler_lock=None,
    vector_section=".vectors",
    main_stack="stack",
    task_stack="stack",
)
EITHER = LogicalSection("either", SectionKind.DATA, either_of=("a", "b"))
JOINT = replace(PLAIN, sections=(*PLAIN.sections[:1], EITHER, *PLAIN.sections[1:]))


@pytest.fixture
def loaded(assemble: Callable[..., Path]) -> tuple[Image, InstructionTable]:
    return load(assemble(SOURCE, SCRIPT))


def call(name: str, read: int, written: int) -> list[Row]:
    """A marked call; ``read``, ``written``: what its two instructions access."""
    value, entry = {"one": (7, 0x10A), "two": (8, 0x10C)}[name]
    inside = [i(entry), i(0x10E), i(0x110), r(read), r(read + 4), i(0x112), w(written)]
    back = [i(0x114), i(0x116), i(0x106), mark(END, value)]
    return [i(0x100), mark(BEGIN, value), i(0x102), *inside, *back]


def ticked(read: int) -> list[Row]:
    begin, end = (Event.EXCEPTION, 15, 0), (Event.EXCEPTION_EXIT, 15, 0)
    inside = [i(0x118), r(read), i(0x11A)]
    return [i(0x100), mark(BEGIN, 9), i(0x102), begin, *inside, end, i(0x106), mark(END, 9)]


def characterized(
    loaded: tuple[Image, InstructionTable],
    *traces: list[Row],
    services: ServicesFile = JOINT,
    detailed: bool = False,
) -> Characterization:
    return characterize(
        [HandTrace(rows) for rows in traces],
        *loaded,
        services,
        tool="test",
        partial=True,
        successions=detailed,
        data_lines=(32,) if detailed else (),
    )


def data(counts: Counts) -> Counter[tuple[str, Operation]]:
    """Data accesses, by section."""
    found: Counter[tuple[str, Operation]] = Counter()
    for row in counts.rows:
        for key, count in row.vector.items():
            if isinstance(key, AccessClass) and key.operation is not Operation.FETCH:
                found[key.section, key.operation] += count
    return found


def accessed(read: str, written: str) -> Counter[tuple[str, Operation]]:
    return Counter({(read, Operation.READ): 2, (written, Operation.WRITE): 1})


def tables(result: Characterization, name: str) -> list[Counts]:
    """Of the service, and of where it masks interrupts and so holds preemption off; all its data
    accesses lie there."""
    (service,) = [s for s in result.services if s.name == name]
    masked, held = service.stretches
    return [service.counts, masked.counts, held.counts]


def crossed(places: tuple[int, ...]) -> str:
    """What the accesses of one instruction count for that were made to ``places``."""
    return NAME[places[0]] if len(set(places)) == 1 else "either"


WAYS = [*itertools.product((A, B), repeat=4)]
"""Where the instructions of the one service access, and where those of the other do."""
LOADS = [LINE_LOADS[32, ways][0] for ways in WAYS_OF_LINE_LOADS]
"""The first load of a line misses, however many lines a set holds."""


def test_of_both_services_counts_what_either_shows(loaded) -> None:
    """In one trace or several, in whatever order they come."""
    for ways in WAYS:
        one, two = call("one", *ways[:2]), call("two", *ways[2:])
        expected = accessed(crossed(ways[::2]), crossed(ways[1::2]))
        for traces in ([[*one, *two]], [[*two, *one]], [one, two], [two, one]):
            result = characterized(loaded, *traces)
            for name in ("one", "two"):
                assert [data(counts) for counts in tables(result, name)] == [expected] * 3, ways


def test_what_crosses_nothing_is_counted_as_without(loaded) -> None:
    for ways in WAYS:
        rows = [*call("one", *ways[:2]), *call("two", *ways[2:])]
        without = characterized(loaded, rows, services=PLAIN, detailed=True)
        joint = characterized(loaded, rows, detailed=True)
        crosses = ways[0] != ways[2] or ways[1] != ways[3]
        assert (joint.services == without.services) is not crosses, ways
        assert [s for s in joint.sections if s.name != "either"] == list(without.sections)
        assert joint.joint == {"either": ("a", "b")}


def test_successions_and_line_loads_are_of_the_sections_of_their_accesses(loaded) -> None:
    for ways in WAYS:
        traces = call("one", *ways[:2]), call("two", *ways[2:])
        read, written = crossed(ways[::2]), crossed(ways[1::2])
        first, second = (
            AccessClass(read, Operation.READ, 32, p) for p in (Pattern.FIRST, Pattern.NEXT)
        )
        stored = AccessClass(written, Operation.WRITE, 32)
        follow = Counter([(None, first), (first, second), (second, stored), (stored, None)])
        result = characterized(loaded, *traces, detailed=True)
        for counts in (*tables(result, "one"), *tables(result, "two")):
            keys = [item for row in counts.rows for item in row.vector.items()]
            found = [(k, n) for k, n in keys if isinstance(k, Succession)]
            assert Counter({(k.before, k.access): n for k, n in found}) == follow, ways
            lines = {k: n for k, n in keys if isinstance(k, CoreEvent) and k.kind in LOADS}
            assert lines == {CoreEvent(read, kind): 1 for kind in LOADS}, ways


def test_windows_that_differ_in_which_of_them_is_accessed_do_not_differ(loaded) -> None:
    rows = [*call("one", A, A), *call("one", B, A), *call("one", A, A)]
    for detailed in (False, True):
        (joint,) = characterized(loaded, rows, detailed=detailed).services
        assert data(joint.counts) == accessed("either", "a")
        assert (joint.evidence.windows, joint.notes) == (3, ())
        (plain,) = characterized(loaded, rows, services=PLAIN, detailed=detailed).services
        assert "differed" in plain.notes[0]


def test_an_instruction_that_reaches_both_at_once(loaded) -> None:
    """The last word of the one and the first of the other."""
    result = characterized(loaded, call("one", B - 4, A))
    assert [data(counts) for counts in tables(result, "one")] == [accessed("either", "a")] * 3


def test_what_the_hardware_touches_is_of_its_own_section(loaded) -> None:
    """The handler's first instruction, which the exception frame is counted with, reaches both."""
    services = replace(JOINT, task_stack="a")
    (tick,) = characterized(loaded, ticked(A), ticked(B), services=services).services
    frame = {("a", Operation.WRITE): 8, ("a", Operation.READ): 8}
    vector = {(".vectors", Operation.READ): 1}
    assert data(tick.counts) == Counter(frame | vector | {("either", Operation.READ): 1})
