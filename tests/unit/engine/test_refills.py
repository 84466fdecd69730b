"""Instruction caches in estimates: each figure by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest
from test_pricing import FETCH, at, cycles, exactly, kernel, profile, region

from wcetchar.engine import (
    PricingError,
    estimate,
    estimate_at,
    price_vector,
    worst_parameters,
)
from wcetchar.engine.blocking import blocking_totals
from wcetchar.engine.refills import RefillPrices
from wcetchar.engine.versus import Side, common_ranges, versus
from wcetchar.model.access import (
    ALONE,
    UNKNOWN_SECTION,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    BlockingStretch,
    Characterization,
    CodeRange,
    Counts,
    EnteredLine,
    Evidence,
    FetchedLines,
    Footprint,
    HiddenStalls,
    Joint,
    LineAfter,
    LineBehind,
    LinesInVain,
    SectionInfo,
    StretchCode,
    StretchKind,
    TablePoint,
    TraceSection,
    Word,
)
from wcetchar.model.expression import Name
from wcetchar.model.fetch_buffer import M_PROFILE_BUFFER, FetchBuffer
from wcetchar.model.hardware import DataCache, HardwareProfile, Interference
from wcetchar.model.section_map import CacheState, SectionMap
from wcetchar.model.service import Parameter, ParameterKind, Part, SectionKind
from wcetchar.model.versus import Verdict

HERE, ELSEWHERE = EventKind.LINE_ENTRY_32, EventKind.LINE_ENTRY_32_REALIGNED
ALU = CoreEvent(".text", EventKind.ALU)
CALLS = CoreEvent(".text", EventKind.SUPERVISOR_CALL)
CALLS_ONE = Counts((TraceSection(Blocking(), AccessVector({ALU: 1, CALLS: 1})),))
BASE = 0x1000
REFILL = 110
"""ns: 11 cycles at 100 MHz."""


def board(sets: int = 4, ways: int = 1, **cached: int) -> HardwareProfile:
    """One cycle for the service itself. ``cached``: region to cycles of a refill."""
    regions = [
        replace(region(name, {FETCH: at(cycles(1))}), line_refill=cycles(price))
        for name, price in (cached or {"flash": 11}).items()
    ]
    rom = region("rom", {FETCH: at(cycles(1))})
    events = {EventKind.ALU: cycles(1), EventKind.SUPERVISOR_CALL: cycles(1)}
    found = profile(*regions, rom, events=events)
    geometry = CacheGeometry(32, sets, ways)
    core = replace(found.core, instruction_cache=geometry, fetches_ahead=M_PROFILE_BUFFER)
    return replace(found, core=core)


def entered(here: int, elsewhere: int, section: str = ".text") -> AccessVector:
    return AccessVector({CoreEvent(section, HERE): here, CoreEvent(section, ELSEWHERE): elsewhere})


def footprint(*lines: int, section: str = ".text", **more: object) -> Footprint:
    """Lines of 32 bytes behind the start of the section, at one point without parameters."""
    ranges = tuple(CodeRange(section, n * 32, n * 32 + 32) for n in lines)
    return Footprint(((),), ranges, **more)  # type: ignore[arg-type]


def code(*lines: int, section: str = ".text", wild: int = 0) -> StretchCode:
    """Of a stretch, the same."""
    return StretchCode(footprint(*lines, section=section).ranges, wild)


def at_point(*lines: int, **more: object) -> StretchCode:
    """Of a stretch that loads these at the only point, and may load lines 0 to 3 and 5 at any."""
    masked_by = more.pop("masked_by", None)
    found = replace(code(0, 1, 2, 3, 5), footprints=(footprint(*lines, **more),))
    return replace(found, masked_by=masked_by)  # type: ignore[arg-type]


def characterized(
    lines: FetchedLines | None,
    *sections: str,
    stretch: bool = False,
    while_blocked: StretchCode | None = None,
) -> Characterization:
    plain = kernel(ALU)
    row = TraceSection(Blocking(), AccessVector({ALU: 1}))
    service = replace(plain.services[0], lines=lines, word=Word.HIGH_WATER_MARK)
    if stretch:
        blocks = BlockingStretch(
            StretchKind.INTERRUPTS,
            "a",
            "b",
            Counts((row,)),
            goes_on_from=frozenset(),
            goes_on_in=frozenset(),
            code=while_blocked,
        )
        service = replace(service, stretches=(blocks,))
    infos = tuple(
        SectionInfo(name, SectionKind.CODE, address=BASE) for name in (".text", *sections)
    )
    return replace(
        plain,
        sections=infos,
        services=(service,),
        stalls=STALL_EDITION,
        fetch_buffer=M_PROFILE_BUFFER,
    )


def where_it_was(state: CacheState = CacheState.COLD) -> SectionMap:
    """The code lies where it was characterized."""
    return SectionMap("map", {".text": "flash"}, addresses={".text": BASE}, instruction_cache=state)


def priced(
    lines: FetchedLines,
    state: CacheState = CacheState.ALWAYS_MISS,
    at: int | None = None,
    hardware: HardwareProfile | None = None,
) -> Fraction:
    """ns of all refills."""
    address = {} if at is None else {".text": at}
    placed = SectionMap("map", {".text": "flash"}, addresses=address, instruction_cache=state)
    found = estimate(characterized(lines), "svc", hardware or board(), placed, {})
    assert found.total.high == sum(row.time.high for row in found.rows)
    assert found.total.high == sum(column.time.high for column in found.columns)
    return found.total.high - 10


def formula(here: int, elsewhere: int) -> Counts:
    return Counts((TraceSection(Blocking(), entered(here, elsewhere)),))


def test_always_miss_counts_every_entry_of_the_worst_address() -> None:
    lines = FetchedLines(formula(5, 2), (footprint(0, 1),))
    assert priced(lines) == 7 * REFILL
    assert priced(lines, at=BASE + 16) == 7 * REFILL
    assert priced(lines, at=BASE + 32 * 5) == 5 * REFILL


def test_cold_counts_each_line_once_where_they_fit() -> None:
    lines = FetchedLines(formula(50, 9), (footprint(0, 1, 2),))
    assert priced(lines, CacheState.COLD, BASE) == 3 * REFILL
    # Moved by half a line the same bytes lie in one line more.
    assert priced(lines, CacheState.COLD, BASE + 16) == 4 * REFILL


def test_lines_of_one_set_miss_as_often_as_they_are_entered_or_the_others_come_in_between() -> None:
    often = (
        EnteredLine(32, ".text", 0, 6),
        EnteredLine(32, ".text", 4, 2),
        EnteredLine(16, ".text", 0, 9),
    )
    lines = FetchedLines(formula(50, 9), (footprint(0, 1, 4, repeated=often),))
    # Lines 0 and 4 share a set: min(6, 1 + 2) and min(2, 1 + 6); line 1 is alone.
    assert priced(lines, CacheState.COLD, BASE) == (3 + 2 + 1) * REFILL
    assert priced(lines, CacheState.WARM, BASE) == (3 + 2) * REFILL
    two_ways = board(ways=2)
    assert priced(lines, CacheState.COLD, BASE, two_ways) == 3 * REFILL
    assert priced(lines, CacheState.WARM, BASE, two_ways) == 0
    # How often each line is entered is known only where lines are those that were characterized.
    assert priced(lines, CacheState.COLD, BASE + 2) == 59 * REFILL
    few = replace(lines, entries=formula(4, 0))
    assert priced(few, CacheState.COLD, BASE) == 4 * REFILL


OFTEN = (EnteredLine(32, ".text", 0, 6), EnteredLine(32, ".text", 4, 5))


def turns(*rows: tuple[str, int, str, int, int]) -> tuple[LineBehind, ...]:
    return tuple(LineBehind(32, row[0:2], row[2:4], row[4]) for row in rows)


def test_lines_of_one_set_miss_as_often_as_they_take_turns() -> None:
    once = turns((".text", 0, ".text", 4, 1), (".text", 4, ".text", 0, 0))
    other_size = (LineBehind(64, (".text", 0), (".text", 4), 0),)
    lines = FetchedLines(
        formula(50, 9), (footprint(0, 1, 4, repeated=OFTEN, behind=once + other_size),)
    )
    # Line 0 twice, once behind line 4; line 4 once, and line 1.
    assert priced(lines, CacheState.COLD, BASE) == (2 + 1 + 1) * REFILL
    assert priced(lines, CacheState.WARM, BASE) == (2 + 1) * REFILL
    # By whole lines elsewhere it is the same set; by less, how often which is entered is not known.
    assert priced(lines, CacheState.COLD, BASE + 32 * 7) == 4 * REFILL
    assert priced(lines, CacheState.COLD, BASE + 2) == 59 * REFILL
    # Of what is not told each entry counts, and of what is told never more than these.
    half = footprint(0, 1, 4, repeated=OFTEN, behind=turns((".text", 0, ".text", 4, 9)))
    assert priced(FetchedLines(formula(50, 9), (half,)), CacheState.COLD, BASE) == 12 * REFILL


@pytest.mark.parametrize(("moved", "misses"), [(0, 1 + 2), (32, 6 + 5)])
def test_lines_of_sections_that_lie_apart_may_take_other_turns(moved: int, misses: int) -> None:
    """Of 4 sets. What is told of two sections holds while they lie to each other as they did."""
    often = (EnteredLine(32, ".text", 0, 6), EnteredLine(32, "b", 4, 5))
    told = turns((".text", 0, "b", 4, 0), ("b", 4, ".text", 0, 1))
    both = Footprint(
        ((),), (CodeRange(".text", 0, 32), CodeRange("b", 128, 160)), often, behind=told
    )
    lines = FetchedLines(
        Counts(
            (TraceSection(Blocking(), entered(40, 0)), TraceSection(Blocking(), entered(9, 0, "b")))
        ),
        (both,),
    )
    placed = SectionMap(
        "map",
        {".text": "flash", "b": "flash"},
        addresses={".text": BASE, "b": BASE + 128 * moved},
        instruction_cache=CacheState.COLD,
    )
    found = estimate(characterized(lines, "b"), "svc", board(), placed, {})
    assert found.total.high - 10 == misses * REFILL


def test_a_wild_transfer_may_load_a_line_and_replace_another() -> None:
    lines = FetchedLines(formula(50, 0), (footprint(0, wild=2),))
    assert priced(lines, CacheState.COLD, BASE) == (1 + 4) * REFILL
    assert priced(lines, CacheState.WARM, BASE) == 4 * REFILL


def test_what_is_not_cached_costs_nothing_more() -> None:
    lines = FetchedLines(formula(5, 2), (footprint(0, 1),))
    known = characterized(lines)
    placed = SectionMap("map", {".text": "rom"}, instruction_cache=CacheState.COLD)
    assert estimate(known, "svc", board(), placed, {}).total == exactly(10)


def test_each_section_has_the_price_of_its_region() -> None:
    counts = Counts((TraceSection(Blocking(), entered(3, 0) + entered(2, 0, ".fast")),))
    fast = CodeRange(".fast", 0, 4)
    both = replace(footprint(0), ranges=(*footprint(0).ranges, fast))
    known = characterized(FetchedLines(counts, (both,)), ".fast")
    hardware = board(flash=11, sram=7)
    address = {".text": BASE, ".fast": BASE + 32}
    for state, expected in ((CacheState.ALWAYS_MISS, 3 * 110 + 2 * 70), (CacheState.COLD, 180)):
        placed = SectionMap(
            "map", {".text": "flash", ".fast": "sram"}, addresses=address, instruction_cache=state
        )
        found = estimate(known, "svc", hardware, placed, {})
        assert found.total == exactly(10 + expected)
        assert {c.region for c in found.columns} == {"core", "flash", "sram"}


def test_blocking_is_priced_with_all_refills() -> None:
    known = characterized(FetchedLines(formula(5, 0), (footprint(0),)), stretch=True)
    placed = SectionMap("map", {".text": "flash"}, addresses={".text": BASE})
    found = estimate(known, "svc", board(), placed, {})
    assert found.blocking_interrupts == exactly(10 + 5 * REFILL)
    assert found.blocking_preemption == found.blocking_interrupts
    open_to_all = characterized(FetchedLines(formula(5, 0), (footprint(0),)))
    found = estimate(open_to_all, "svc", board(), placed, {})
    assert found.blocking_interrupts == exactly(0)


@pytest.mark.parametrize(
    ("while_blocked", "state", "sets", "refills"),
    [
        (code(1, 2), CacheState.COLD, 4, 2),
        (code(1, 2, wild=1), CacheState.COLD, 4, 4),
        # As much as the service, where that is less or the stretch's own do not fit.
        (code(1, 2, wild=9), CacheState.COLD, 4, 5),
        (code(1, 5), CacheState.COLD, 4, 5),
        (code(1, 5), CacheState.COLD, 8, 2),
        (None, CacheState.COLD, 8, 5),
        # The cache counts as one that is not there, or holds all of the service.
        (code(1, 2), CacheState.ALWAYS_MISS, 8, 50),
        (code(1, 2), CacheState.WARM, 8, 0),
    ],
)
def test_a_stretch_loads_the_lines_of_its_own_code(
    while_blocked: StretchCode | None, state: CacheState, sets: int, refills: int
) -> None:
    lines = FetchedLines(formula(50, 0), (footprint(0, 1, 2, 3, 5),))
    known = characterized(lines, stretch=True, while_blocked=while_blocked)
    placed = where_it_was(state)
    found = estimate(known, "svc", board(sets=sets), placed, {})
    assert found.blocking_interrupts == exactly(10 + refills * REFILL)
    service = known.services[0]
    prices = price_vector(known, board(sets=sets), placed)
    assert worst_parameters(service, prices, {}).interrupts == {}


TWICE = (EnteredLine(32, ".text", 1, 3), EnteredLine(32, ".text", 5, 2))


@pytest.mark.parametrize(
    ("while_blocked", "refills"),
    [
        (at_point(1, 2), 2),
        (at_point(1, 2, wild=1), 4),
        # Lines 1 and 5 share a set: each is loaded as often as the other one may be in between.
        (at_point(1, 5, repeated=TWICE), 3 + 2),
        (at_point(1, 5, repeated=TWICE, behind=turns((".text", 1, ".text", 5, 1))), 2 + 2),
        # The line of the instruction that masks is there: by its last byte.
        (at_point(1, 2, masked_by=(".text", 63)), 1),
        (at_point(1, 2, masked_by=(".text", 31)), 2),
        (at_point(1, 2, masked_by=("elsewhere", 63)), 2),
        (at_point(1, 5, repeated=TWICE, masked_by=(".text", 32)), 3 + 2 - 1),
        # It begins with the next line, and another one may be in its place when it comes back.
        (at_point(1, 5, repeated=TWICE, masked_by=(".text", 63)), 3 + 2),
        (at_point(1, 2, masked_by=(".text", 63), repeated=TWICE), 1),
    ],
)
def test_a_stretch_loads_what_it_loaded_at_an_observed_point(
    while_blocked: StretchCode, refills: int
) -> None:
    lines = FetchedLines(formula(50, 0), (footprint(0, 1, 2, 3, 5),))
    known = characterized(lines, stretch=True, while_blocked=while_blocked)
    found = estimate(known, "svc", board(), where_it_was(), {})
    assert found.blocking_interrupts == exactly(10 + refills * REFILL)


AFTER = (LineAfter(32, ".text", 2),)
RAM = AccessClass("data", Operation.READ, 32)


def goes_on(hardware: HardwareProfile, accesses: int = 3) -> HardwareProfile:
    """While a line is loaded; data lie in a memory of their own."""
    core = replace(hardware.core, refills_hide_stalls=True, refills_hide_accesses=accesses)
    times = {FETCH: at(cycles(1)), Operation.READ: at(cycles(1))}
    regions = {
        **hardware.regions,
        "flash": replace(hardware.regions["flash"], times=times),
        "ram": region("ram", times),
    }
    return replace(hardware, core=core, regions=regions)


def loaded_behind(
    after: tuple[LineAfter, ...] = AFTER,
    hardware: HardwareProfile | None = None,
    *keys: Key,
    place: str = "ram",
    **more: object,
) -> Fraction:
    """How many lines a stretch of lines 1 and 2 takes that makes these accesses as well."""
    known = characterized(
        FetchedLines(formula(50, 0), (footprint(0, 1, 2),)),
        "data",
        stretch=True,
        while_blocked=at_point(1, 2, after=after),
    )
    (service,) = known.services
    counts = Counts((TraceSection(Blocking(), AccessVector({ALU: 1, **dict.fromkeys(keys, 1)})),))
    stretch = replace(service.stretches[0], counts=counts, **more)  # type: ignore[arg-type]
    known = replace(
        known,
        services=(replace(service, stretches=(stretch,)),),
        successions=True,
        data_lines=(32,),
    )
    placed = replace(where_it_was(), sections={".text": "flash", "data": place})
    found = estimate(known, "svc", hardware or goes_on(board()), placed, {})
    return found.blocking_interrupts.high


@pytest.mark.parametrize(
    ("after", "lines"),
    [
        ((), 2),
        (AFTER, 1),
        ((LineAfter(64, ".text", 2),), 2),
        ((LineAfter(32, ".text", 3),), 2),
        ((LineAfter(32, "elsewhere", 2),), 2),
    ],
)
def test_a_line_for_what_comes_after_a_stretch_holds_up_nothing(
    after: tuple[LineAfter, ...], lines: int
) -> None:
    assert loaded_behind(after) == 10 + lines * REFILL


def test_a_line_for_what_comes_after_a_stretch_holds_up_accesses_to_its_memory() -> None:
    assert loaded_behind(AFTER, None, RAM) == 20 + REFILL
    assert loaded_behind(AFTER, None, RAM, place="flash") == 20 + 2 * REFILL
    for section in (".text", UNKNOWN_SECTION):
        assert loaded_behind(AFTER, None, replace(RAM, section=section)) == 20 + 2 * REFILL


def test_a_line_for_what_comes_after_a_stretch_may_hold_up_the_core() -> None:
    """Where the profile does not say that it goes on, and that data are accessed meanwhile."""
    assert loaded_behind(AFTER, goes_on(board(), 0)) == 10 + REFILL
    assert loaded_behind(AFTER, goes_on(board(), 0), RAM) == 20 + 2 * REFILL
    waits = goes_on(board())
    waits = replace(waits, core=replace(waits.core, refills_hide_stalls=False))
    assert loaded_behind(AFTER, waits) == 10 + 2 * REFILL


@pytest.mark.parametrize("goes_on_in", [None, frozenset({Joint.THREAD}), frozenset({Joint.CALLER})])
def test_a_line_for_what_goes_on_with_a_stretch_is_waited_for(
    goes_on_in: frozenset[Joint] | None,
) -> None:
    assert loaded_behind(goes_on_in=goes_on_in) == 10 + 2 * REFILL


def test_a_load_that_is_carried_out_again_is_fetched_behind_what_comes_after() -> None:
    again = CoreEvent(".text", EventKind.LOAD_BEHIND_STORE_NEAR)
    hardware = goes_on(board())
    cache = DataCache(CacheGeometry(32, 4), load_behind_store=cycles(3))
    hardware = replace(hardware, core=replace(hardware.core, data_cache=cache))
    assert loaded_behind(AFTER, hardware) == 10 + REFILL
    assert loaded_behind(AFTER, hardware, again) == 10 + 2 * REFILL


def test_a_load_that_is_carried_out_again_may_take_lines_of_a_full_set() -> None:
    """Five entries more, of a stretch whose lines 1 and 5 share a set."""
    again = CoreEvent(".text", EventKind.LOAD_BEHIND_STORE)
    hardware = goes_on(board())
    cache = DataCache(CacheGeometry(32, 4), load_behind_store=cycles(3))
    hardware = replace(hardware, core=replace(hardware.core, data_cache=cache))
    for lines, more in (((1, 5), 5), ((1, 2), 0)):
        known = characterized(
            FetchedLines(formula(50, 0), (footprint(*range(12)),)),
            stretch=True,
            while_blocked=at_point(*lines, repeated=TWICE),
        )
        (service,) = known.services
        counts = Counts((TraceSection(Blocking(), AccessVector({ALU: 1, again: 1})),))
        stretch = replace(service.stretches[0], counts=counts)
        known = replace(known, services=(replace(service, stretches=(stretch,)),), data_lines=(32,))
        found = estimate(known, "svc", hardware, where_it_was(), {})
        loaded = (3 + 2 if lines[1] == 5 else 2) + more
        assert found.blocking_interrupts.high == 10 + loaded * REFILL


@pytest.mark.parametrize("places", [0, 1, 2])
@pytest.mark.parametrize("written", [False, True])
def test_what_was_written_before_a_stretch_may_be_held_up_in_a_queue(
    written: bool, places: int
) -> None:
    """By a line that is fetched for what comes after it; if the memory of lines is written to."""
    hardware = goes_on(board())
    hardware = replace(hardware, core=replace(hardware.core, write_buffer=places))
    if written:
        flash = hardware.regions["flash"]
        flash = replace(flash, times={**flash.times, Operation.WRITE: at(cycles(1))})
        hardware = replace(hardware, regions={**hardware.regions, "flash": flash})
    fewer = loaded_behind(AFTER, hardware) < loaded_behind((), hardware)
    assert fewer is (not written or places < 2)


def test_a_stretch_that_lies_elsewhere_may_load_all_that_it_ever_does() -> None:
    """Moved by less than a line, and at values that were not observed."""
    blocked = at_point(1, 2, masked_by=(".text", 31))
    known = characterized(
        FetchedLines(formula(50, 0), (footprint(0, 1, 2, 3, 5),)),
        stretch=True,
        while_blocked=blocked,
    )
    hardware = board(sets=8)
    for moved, lines in ((0, 2), (32, 2), (2, 6)):
        placed = replace(where_it_was(), addresses={".text": BASE + moved})
        found = estimate(known, "svc", hardware, placed, {})
        # Moved, lines 0 to 3 are five, one of which is there, and line 5 is two.
        assert found.blocking_interrupts == exactly(10 + lines * REFILL)
    elsewhere = replace(blocked, footprints=(replace(footprint(1), points=((7,),)),))
    known = characterized(
        FetchedLines(formula(50, 0), (footprint(0, 1, 2, 3, 5),)),
        stretch=True,
        while_blocked=elsewhere,
    )
    found = estimate(known, "svc", hardware, where_it_was(), {})
    assert found.blocking_interrupts == exactly(10 + 4 * REFILL)


@pytest.mark.parametrize(
    ("followed_by", "refills"), [(code(6), 1), (code(6, 7), 2), (code(2, 6), 3), (None, 3)]
)
def test_what_goes_on_with_a_stretch_loads_its_own_lines(
    followed_by: StretchCode | None, refills: int
) -> None:
    """A handler of 20 instructions, whose footprint are the lines 5 to 7; lines 2 and 6 share a
    set."""
    lines = FetchedLines(formula(50, 0), (footprint(0, 1, 2),))
    known = characterized(lines, stretch=True, while_blocked=code(1, 2))
    call = known.services[0]
    leads = replace(call.stretches[0], counts=CALLS_ONE, goes_on_in=frozenset({Joint.HANDLER}))
    call = replace(call, stretches=(leads,))
    held = Counts((TraceSection(Blocking(), AccessVector({ALU: 20})),))
    handler = replace(
        call,
        name="handler",
        lines=FetchedLines(formula(9, 0), (footprint(5, 6, 7),)),
        stretches=(
            replace(
                call.stretches[0],
                counts=held,
                goes_on_from=frozenset({Joint.HANDLER}),
                goes_on_in=frozenset(),
                code=followed_by,
            ),
        ),
    )
    known = replace(known, services=(call, handler))
    placed = where_it_was()
    found = estimate(known, "svc", board(), placed, {})
    assert found.blocking_interrupts == exactly(20 + 2 * REFILL)
    chain = found.interrupts_chain
    assert chain is not None
    assert [link.time for link in chain.links] == [
        exactly(20 + 2 * REFILL),
        exactly(200 + refills * REFILL),
    ]
    assert chain.time == exactly(220 + (2 + refills) * REFILL)
    assert chain.gaps == ()


@pytest.mark.parametrize(
    ("part", "state", "moved", "refills"),
    [
        # Lines 0 (entered six times) and 1: each may have to be loaded behind the handler.
        (Part.WHOLE, CacheState.COLD, 0, 2 + 1),
        (Part.WHOLE, CacheState.WARM, 0, 1 + 1),
        # How often they are entered is not known.
        (Part.WHOLE, CacheState.COLD, 32 * 2 + 4, 2 * 3),
        # The part ends with the call.
        (Part.UNTIL_SWITCH, CacheState.COLD, 0, 2),
    ],
)
def test_a_handler_that_comes_back_replaces_lines(
    part: Part, state: CacheState, moved: int, refills: int
) -> None:
    often = (EnteredLine(32, ".text", 0, 6),)
    lines = FetchedLines(formula(50, 0), (footprint(0, 1, repeated=often),))
    known = characterized(lines, stretch=True, while_blocked=code(0))
    service = replace(known.services[0], part=part, counts=CALLS_ONE)
    blocks = replace(service.stretches[0], counts=CALLS_ONE)
    service = replace(service, stretches=(blocks,))
    placed = SectionMap(
        "map", {".text": "flash"}, addresses={".text": BASE + moved}, instruction_cache=state
    )
    prices = price_vector(replace(known, services=(service,)), board(), placed)
    found = estimate_at(service, prices, ())
    assert found.total.high == 20 + refills * REFILL
    # The stretch has to load its line anew, too: it has what the service has.
    assert found.blocking_interrupts == exactly(20 + refills * REFILL)


def swept(lines: FetchedLines) -> Characterization:
    known = characterized(lines)
    n = Parameter("N", ParameterKind.STATE, 1, 4, "things")
    service = replace(
        known.services[0],
        parameters=(n,),
        evidence=Evidence(3, ((1,), (4,)), ((2,),)),
    )
    return replace(known, services=(service,))


def test_values_that_were_not_observed_take_the_footprints_of_all() -> None:
    points = tuple(TablePoint((n,), formula(9, 0).rows) for n in (1, 2, 4))
    prints = (
        replace(footprint(0), points=((1,), (2,))),
        replace(footprint(0, 1, 2), points=((4,),)),
    )
    known = swept(FetchedLines(Counts(points=points), prints))
    placed = where_it_was()

    def at_value(n: int) -> tuple[Fraction, Word]:
        found = estimate(known, "svc", board(), placed, {"N": n})
        return found.total.high, found.word

    assert at_value(2) == (10 + REFILL, Word.HIGH_WATER_MARK)
    assert at_value(4) == (10 + 3 * REFILL, Word.HIGH_WATER_MARK)
    assert at_value(3) == (10 + 3 * REFILL, Word.ESTIMATE)
    prices = price_vector(known, board(), placed)
    assert worst_parameters(known.services[0], prices, {}).total == {"N": 3}
    # With lines that share a set, only the entries are left.
    crowded = board(sets=2)
    found = estimate(known, "svc", crowded, placed, {"N": 3})
    assert found.total == exactly(10 + 9 * REFILL)


def refusal(known: Characterization, hardware: HardwareProfile, **given: object) -> PricingError:
    placed = SectionMap("map", {".text": "flash"}, **given)  # type: ignore[arg-type]
    with pytest.raises(PricingError) as caught:
        price_vector(known, hardware, placed)
    return caught.value


def test_what_is_not_known_is_refused() -> None:
    assert "which lines" in refusal(characterized(None), board()).message
    lines = FetchedLines(formula(5, 2), (footprint(0, 1),))
    for state in (CacheState.COLD, CacheState.WARM):
        error = refusal(characterized(lines), board(), instruction_cache=state)
        assert "begins is not said" in error.message
        assert error.keys == ("instruction cache",)
    slow = board()
    flash = replace(slow.regions["flash"], line_refill=cycles(-1))
    assert (
        "line refill"
        in refusal(characterized(lines), replace(slow, regions={"flash": flash})).message
    )


def beside(
    lines: FetchedLines,
    hardware: HardwareProfile,
    counts: dict[Key, int],
    *,
    counted: bool = True,
) -> Fraction:
    """ns of a service with cold caches whose counts these are."""
    row = TraceSection(Blocking(), AccessVector(counts))
    known = characterized(lines)
    service = replace(known.services[0], counts=Counts((row,)))
    known = replace(known, services=(service,), successions=counted, data_lines=(32,))
    sections = {".text": "flash", "heap": "flash"}
    if "ram" in hardware.regions:
        sections["ram"] = "ram"
    state = CacheState.COLD
    placed = SectionMap("map", sections, addresses={".text": BASE}, instruction_cache=state)
    found = estimate(known, "svc", hardware, placed, {})
    assert found.total.high == sum(row.time.high for row in found.rows)
    assert found.total.high == sum(column.time.high for column in found.columns)
    return found.total.high


def with_ram(hardware: HardwareProfile, buffer: int = 1) -> HardwareProfile:
    """Data beside the code, and elsewhere; writes of five cycles, one of them hidden."""
    times = {Operation.READ: at(cycles(2)), Operation.WRITE: at(cycles(5))}
    flash = hardware.regions["flash"]
    flash = replace(flash, times={**flash.times, **times})
    regions = {**hardware.regions, "flash": flash, "ram": region("ram", times)}
    core = replace(
        hardware.core,
        events={**hardware.core.events, EventKind.STORE: cycles(1)},
        overlap={**hardware.core.overlap, Operation.WRITE: cycles(1)},
        write_buffer=buffer,
        data_width=32,
    )
    return replace(hardware, core=core, regions=regions)


def test_a_line_may_wait_for_a_write_to_the_same_memory() -> None:
    two = FetchedLines(formula(9, 2), (footprint(0, 1),))
    stored = AccessClass("heap", Operation.WRITE, 32)
    first = Succession(None, ((ALU, 20),), 0, False, stored)
    last = Succession(stored, (), 0, False, None)
    hardware = with_ram(board())
    once = {ALU: 20, stored: 1, first: 1, last: 1}
    # The two lines wait for what was under way when the service began, and for its own write.
    assert beside(two, hardware, once) == 200 + 2 * REFILL + 50 + 50
    one = FetchedLines(formula(9, 2), (footprint(0),))
    assert beside(one, hardware, once) == 200 + REFILL + 50
    # Right behind it comes another one, which waits for 3 cycles of it anyway.
    between = Succession(stored, ((ALU, 1),), 0, False, stored)
    twice = {ALU: 21, stored: 2, first: 1, between: 1, last: 1}
    assert beside(two, hardware, twice) == 210 + 30 + 2 * REFILL + 50 + 50
    three = FetchedLines(formula(9, 2), (footprint(0, 1, 2),))
    assert beside(three, hardware, twice) == 210 + 30 + 3 * REFILL + 50 + 50 + 20
    four = FetchedLines(formula(9, 2), (footprint(0, 1, 2, 3),))
    assert beside(four, hardware, twice) == 210 + 30 + 4 * REFILL + 50 + 50 + 20
    # Of two that may be under way, both when the service begins, and each by itself later.
    assert beside(one, with_ram(board(), 2), once) == 200 + REFILL + 2 * 50
    # Without a buffer the core waits itself; and elsewhere no line is in the way.
    # The memory has the write a cycle longer than the core waits for it.
    assert beside(one, with_ram(board(), 0), once) == 200 + 40 + REFILL + 10
    elsewhere = AccessClass("ram", Operation.WRITE, 32)
    other = {ALU: 20, elsewhere: 1, replace(first, access=elsewhere): 1}
    assert beside(two, hardware, other) == 200 + 2 * REFILL + 50
    flash = replace(hardware.regions["flash"], times={FETCH: at(cycles(1))})
    apart = replace(hardware, regions={**hardware.regions, "flash": flash})
    assert beside(two, apart, other) == 200 + 2 * REFILL


def test_a_write_to_where_nothing_is_placed_may_be_in_the_way() -> None:
    """Of a service that may follow, not all has to have a place: only what may go on is priced."""
    hardware = with_ram(board())
    known = replace(characterized(FetchedLines(formula(9, 2), (footprint(0),))), successions=True)
    placed = SectionMap("map", {".text": "flash", "odd": "rom"}, addresses={".text": BASE})
    (lines,) = price_vector(known, hardware, placed).caches.of_core
    assert isinstance(lines, RefillPrices)
    for section in ("ghost", "odd"):  # rom permits no write
        stored = AccessClass(section, Operation.WRITE, 32)
        behind = Succession(stored, ((ALU, 20),), 0, False, stored)
        assert lines.waits.behind(behind, hardware.regions["flash"]) == 50


def test_a_stretch_waits_for_writes_at_each_of_its_lines() -> None:
    two = FetchedLines(formula(9, 2), (footprint(0, 1),))
    known = replace(characterized(two, stretch=True, while_blocked=code(1)), successions=True)
    placed = where_it_was()
    found = estimate(known, "svc", with_ram(board()), placed, {})
    # No access is counted, so nothing is known of any before.
    assert found.total.high == 10 + 2 * REFILL
    assert found.blocking_interrupts.high == 10 + REFILL + 50


def test_a_stretch_of_its_own_waits_for_its_own_writes() -> None:
    """As a service does: at observed values each access holds up one line. (What no values are
    known of waits at each of its lines, above.)"""
    stored = AccessClass("heap", Operation.WRITE, 32)
    first = Succession(None, ((ALU, 20),), 0, False, stored)
    last = Succession(stored, (), 0, False, None)
    keys: dict[Key, int] = {ALU: 20, stored: 1, first: 1, last: 1}
    counts = Counts((TraceSection(Blocking(), AccessVector(keys)),))
    for lines, waits in (((0,), 50), ((0, 1), 100), ((0, 1, 2), 100)):
        fetched = FetchedLines(formula(50, 0), (footprint(0, 1, 2, 3),))
        known = characterized(fetched, stretch=True, while_blocked=at_point(*lines))
        (service,) = known.services
        stretch = replace(service.stretches[0], counts=counts)
        services = (replace(service, counts=counts, stretches=(stretch,)),)
        known = replace(known, services=services, successions=True)
        placed = replace(where_it_was(), sections={".text": "flash", "heap": "flash"})
        found = estimate(known, "svc", with_ram(board()), placed, {})
        assert found.blocking_interrupts.high == 200 + len(lines) * REFILL + waits


def test_hits_ask_no_bus_and_lines_wait_for_edges_and_refresh() -> None:
    two = FetchedLines(formula(9, 2), (footprint(0, 1),))
    fetch = AccessClass(".text", FETCH, 32)
    plain = board()
    flash = replace(plain.regions["flash"], bus_width=16, clock_divider=2)
    divided = replace(plain, regions={**plain.regions, "flash": flash})
    # A fetch that hits is a cycle of the core; a refill is in cycles of the bus, at its edge.
    assert beside(two, divided, {fetch: 3}, counted=False) == 3 * 10 + 2 * (2 * REFILL + 10)
    assert beside(two, plain, {fetch: 3}, counted=False) == 3 * 10 + 2 * REFILL
    uncached = replace(divided, core=replace(plain.core, instruction_cache=None))
    assert beside(two, uncached, {fetch: 3}, counted=False) == 3 * (2 * 20 + 10)
    # Without successions each transaction waits for refresh.
    refreshed = replace(plain.regions["flash"], refresh=Interference(cycles(3), cycles(100)))
    busy = replace(plain, regions={**plain.regions, "flash": refreshed})
    assert beside(two, busy, {ALU: 1}, counted=False) == 10 + 2 * (REFILL + 30)
    # With them, it comes in 10 + 2 * 110 ns once, and a second time beyond 1 us.
    begins = Succession(None, (), 0, False, None)
    assert beside(two, busy, {ALU: 1, begins: 1}) == 10 + 2 * REFILL + 30
    nine = FetchedLines(formula(9, 2), (footprint(*range(9)),))
    assert beside(nine, busy, {ALU: 1, begins: 1}) == 10 + 9 * REFILL + 2 * 30


def test_loads_that_are_carried_out_again_enter_lines_again() -> None:
    crowded = FetchedLines(
        formula(50, 0), (footprint(0, 4, repeated=(EnteredLine(32, ".text", 0, 2),)),)
    )
    again = CoreEvent("heap", EventKind.LOAD_BEHIND_STORE)
    second = CoreEvent("heap", EventKind.SECOND_LOAD_BEHIND_STORE)
    data = DataCache(CacheGeometry(32, 4), cycles(7))
    hardware = with_ram(board())
    both = replace(hardware, core=replace(hardware.core, data_cache=data, write_buffer=0))
    counts: dict[Key, int] = {ALU: 1, again: 2, second: 1}
    # Two lines of one set: min(2, 1 + 1) and 1; and five for each load, each of which may wait for
    # the last cycle of a write.
    assert beside(crowded, both, counts) == 10 + (2 + 1 + 3 * 5) * REFILL + 15 * 10
    # Where there is room, they are still there.
    roomy = replace(both, core=replace(both.core, instruction_cache=CacheGeometry(32, 8)))
    assert beside(crowded, roomy, counts) == 10 + 2 * REFILL
    # Without such loads, or without the price of one, none is.
    assert beside(crowded, both, {ALU: 1}) == 10 + 3 * REFILL
    never = replace(both.core, data_cache=replace(data, load_behind_store=None))
    assert beside(crowded, replace(both, core=never), counts) == 10 + 3 * REFILL


def test_loads_whose_code_lies_near_fetch_nothing_again_from_long_ways() -> None:
    """Two lines of one set, 1 KiB from each other in the cache that has just such ways."""
    again = CoreEvent("heap", EventKind.LOAD_BEHIND_STORE)
    near = CoreEvent("heap", EventKind.LOAD_BEHIND_STORE_NEAR)
    second = CoreEvent("heap", EventKind.SECOND_LOAD_BEHIND_STORE_NEAR)
    data = DataCache(CacheGeometry(32, 4), cycles(7))
    hardware = with_ram(board())
    lines = FetchedLines(
        formula(50, 0), (footprint(0, 32, repeated=(EnteredLine(32, ".text", 0, 2),)),)
    )

    def taken(sets: int, counts: dict[Key, int]) -> Fraction:
        core = replace(hardware.core, data_cache=data, instruction_cache=CacheGeometry(32, sets))
        return beside(lines, replace(hardware, core=replace(core, write_buffer=0)), counts)

    counts: dict[Key, int] = {ALU: 1, near: 2, second: 1, again: 1}
    missed = 10 + (2 + 1) * REFILL
    assert taken(32, counts) == missed + 5 * REFILL + 5 * 10
    # Ways of half that size may hold only one of two lines that are near.
    assert taken(16, counts) == missed + 4 * (5 * REFILL + 5 * 10)


def test_what_goes_on_is_looked_for_among_all_that_its_lines_depend_on() -> None:
    """Accesses and loads that are carried out again tell how long lines take, entries alone do
    not: each value of N counts, or the longest would not be found."""
    stored = AccessClass("heap", Operation.WRITE, 32)
    again = CoreEvent("heap", EventKind.LOAD_BEHIND_STORE)
    behind = Succession(stored, ((ALU, 20),), 0, False, stored)
    plain = board()
    data = DataCache(CacheGeometry(32, 4), cycles(7))
    buffered = with_ram(plain)
    refetches = replace(buffered, core=replace(buffered.core, data_cache=data))
    placed = SectionMap("map", {".text": "flash", "heap": "flash"})
    for key, hardware in ((behind, buffered), (again, refetches), (ALU, plain)):
        row = TraceSection(Blocking(), AccessVector({key: 1}), Name("N"))
        known = swept(FetchedLines(formula(5, 2), (footprint(0),)))
        service = replace(known.services[0], counts=Counts((row,)))
        known = replace(known, services=(service,), successions=True, data_lines=(32,))
        (lines,) = price_vector(known, hardware, placed).caches.of_core
        found = lines.of_follower(service, None)
        times = {found.at((n,)).high for n in range(1, 5)}
        assert ("N" in found.used) == (len(times) > 1) == (key != ALU)


def test_loads_that_are_carried_out_again_have_to_be_counted() -> None:
    known = characterized(FetchedLines(formula(5, 2), (footprint(0, 1),)))
    plain = board()
    data = DataCache(CacheGeometry(32, 4), cycles(7))
    both = replace(plain, core=replace(plain.core, data_cache=data))
    assert "does not count loads behind stores" in refusal(known, both).message
    never = replace(both, core=replace(both.core, data_cache=replace(data, load_behind_store=None)))
    price_vector(known, never, SectionMap("map", {".text": "flash"}))


def test_a_line_from_anywhere_may_come_from_where_writes_go() -> None:
    """From the RAM, behind a write of 20 cycles there; the line that it replaces from the flash."""
    plain = board(flash=11, sram=10)
    times = {FETCH: at(cycles(1)), Operation.WRITE: at(cycles(20))}
    sram = replace(plain.regions["sram"], times=times)
    core = replace(plain.core, write_buffer=1, data_width=32)
    hardware = replace(plain, core=core, regions={**plain.regions, "sram": sram})
    lines = FetchedLines(formula(50, 0), (footprint(0, wild=1),))
    known = characterized(lines, ".fast", stretch=True, while_blocked=code(0, wild=1))
    known = replace(known, successions=True)
    sections = {".text": "flash", ".fast": "sram"}
    placed = SectionMap(
        "map", sections, addresses={".text": BASE}, instruction_cache=CacheState.COLD
    )
    found = estimate(known, "svc", hardware, placed, {})
    assert found.total.high == 10 + REFILL + 2 * (REFILL + 200)
    assert found.blocking_interrupts.high == 10 + REFILL + 2 * (REFILL + 200)


def test_what_comes_once_in_a_window_comes_in_rows_that_block_too() -> None:
    """Where stretches are not known."""
    plain = board()
    refreshed = replace(plain.regions["flash"], refresh=Interference(cycles(3), cycles(100)))
    busy = replace(plain, regions={**plain.regions, "flash": refreshed})
    known = characterized(FetchedLines(formula(9, 2), (footprint(0),)))
    row = TraceSection(Blocking(interrupts=True), AccessVector({ALU: 1}))
    service = replace(known.services[0], counts=Counts((row,)), stretches_known=False)
    known = replace(known, services=(service,), successions=True)
    placed = where_it_was()
    prices = price_vector(known, busy, placed)
    found = estimate_at(service, prices, ())
    assert found.blocking_interrupts.high == 10 + REFILL + 30
    lines = prices.caches.at(service)
    (total,) = blocking_totals(service, StretchKind.INTERRUPTS, prices, None, lines)
    assert total(()) == 10 + REFILL + 30


def test_sides_are_compared_by_the_lines_that_they_load() -> None:
    """Where these differ by a parameter that nothing else depends on."""
    few, many = (
        Footprint(((n,),), footprint(*range(lines)).ranges) for n, lines in ((2, 1), (3, 3))
    )
    kept = Footprint(((2,), (3,)), footprint(0, 1).ranges)
    parameter = Parameter("N", ParameterKind.STATE, 2, 3, "n")
    placed = where_it_was()
    sides = []
    for footprints in ((kept,), (few, many)):
        known = characterized(FetchedLines(formula(9, 2), footprints))
        service = replace(known.services[0], parameters=(parameter,))
        known = replace(known, services=(service,))
        sides.append(Side(service, price_vector(known, board(), placed)))
    total, *_ = versus(sides, common_ranges([side.service for side in sides], {}), 0)
    (against,) = total.against
    assert against.verdict is Verdict.DEPENDS
    assert (against.checked, against.slower, against.faster) == (2, 1, 1)
    assert [corner.times for corner in total.corners] == [
        (10 + 2 * REFILL, 10 + REFILL),
        (10 + 2 * REFILL, 10 + 3 * REFILL),
    ]


def test_a_line_entry_among_other_counts_has_no_price() -> None:
    """It would be lost without a word."""
    placed: Mapping[str, str] = {".text": "flash"}
    with pytest.raises(PricingError, match="no time for core event 'line entry 32'"):
        price_vector(
            kernel(CoreEvent(".text", HERE)),
            profile(*board().regions.values()),
            SectionMap("map", placed),
        )


def test_a_line_that_two_sections_shared_counts_where_it_is_fetched() -> None:
    """The end of .text and the beginning of .fast were one line; here they lie apart."""
    often = tuple(EnteredLine(32, section, 0, 5) for section in (".fast", ".text"))
    known = characterized(FetchedLines(formula(50, 0), (footprint(0, 4, repeated=often),)), ".fast")
    placed = SectionMap(
        "map",
        {".text": "flash", ".fast": "flash"},
        addresses={".text": BASE, ".fast": BASE + 32 * 9},
        instruction_cache=CacheState.COLD,
    )
    found = estimate(known, "svc", board(), placed, {})
    # Lines 0 and 4 share a set: min(5, 1 + 1) and min(1, 1 + 5).
    assert found.total == exactly(10 + 3 * REFILL)


LOAD_USE, SHIFT_USE = EventKind.LOAD_USE_STALL, EventKind.SHIFT_USE_STALL


def hiding(saves: int | None = None, stalls: bool = True, refill: int = 11) -> HardwareProfile:
    """A load-use stall takes 2 cycles, one of a shift 3 to 4."""
    found = board(sets=8, flash=refill)
    events = {**found.core.events, LOAD_USE: cycles(2), SHIFT_USE: cycles(3, 4)}
    saved = None if saves is None else cycles(saves)
    core = replace(found.core, events=events, refills_hide_stalls=stalls, in_vain_saves=saved)
    return replace(found, core=core)


def hidden(*groups: tuple[int, tuple[EventKind, ...]], vain: tuple[int, int] = (0, 0)) -> Footprint:
    """Six lines, and behind them those in vain: how many, and how many cycles before."""
    return footprint(
        *range(6 + vain[0]),
        hidden=tuple(HiddenStalls(32, ".text", kinds, lines) for lines, kinds in groups),
        in_vain=(LinesInVain(32, ".text", vain[1], vain[0]),) if vain[0] else (),
    )


def test_what_is_waited_for_while_lines_are_loaded_is_in_the_counts_already() -> None:
    lines = FetchedLines(formula(6, 0), (hidden((2, (LOAD_USE,)), (1, (LOAD_USE, SHIFT_USE))),))
    large = hiding()
    # The least that a stall takes counts: 2, and 2 + 3.
    expected = 6 * REFILL - 2 * 20 - 50
    assert priced(lines, CacheState.COLD, BASE, large) == expected
    assert priced(lines, CacheState.COLD, BASE + 96, large) == expected
    # Not so elsewhere within a line, warm, with every entry a miss, or where the core does not.
    assert priced(lines, CacheState.COLD, BASE + 2, large) == 6 * REFILL
    assert priced(lines, CacheState.WARM, BASE, large) == 0
    assert priced(lines, CacheState.ALWAYS_MISS, BASE, large) == 6 * REFILL
    plain = hiding(stalls=False)
    assert priced(lines, CacheState.COLD, BASE, plain) == 6 * REFILL


def test_what_is_waited_for_in_a_stretch_is_in_its_counts_already() -> None:
    """At the observed point alone, and in the service's place only if that is less."""
    group = HiddenStalls(32, ".text", (LOAD_USE,), 2)
    lost = LinesInVain(32, ".text", 1, 1)
    blocked = at_point(0, 1, 2, hidden=(group,), in_vain=(lost,))
    known = characterized(
        FetchedLines(formula(50, 0), (footprint(*range(6)),)), stretch=True, while_blocked=blocked
    )
    found = estimate(known, "svc", hiding(1), where_it_was(), {})
    assert found.blocking_interrupts.high == 10 + 3 * REFILL - 2 * 20 - (10 + 10)
    known = characterized(
        FetchedLines(formula(2, 0), (footprint(*range(6)),)), stretch=True, while_blocked=blocked
    )
    found = estimate(known, "svc", hiding(1), where_it_was(), {})
    assert found.blocking_interrupts.high == 10 + 2 * REFILL


def test_a_line_takes_no_less_than_until_it_has_gone_through_the_stages() -> None:
    """Four cycles, or all of a shorter one; what transfers control pays for that itself."""
    groups = hidden((2, (LOAD_USE,)), (1, (SHIFT_USE, SHIFT_USE)))
    lines = FetchedLines(formula(6, 0), (groups,))
    assert priced(lines, CacheState.COLD, BASE, hiding(refill=6)) == 3 * 60 + 2 * 40 + 40
    assert priced(lines, CacheState.COLD, BASE, hiding(refill=3)) == 6 * 30
    in_vain = tuple(replace(one, in_vain=0) for one in groups.hidden)
    lines = FetchedLines(formula(6, 0), (replace(groups, hidden=in_vain),))
    assert priced(lines, CacheState.COLD, BASE, hiding(0, refill=6)) == 3 * 60 + 2 * 40 + 0


def test_with_several_ways_lines_in_vain_hide_nothing() -> None:
    """One that hits in vain need not count as used, and may be gone when it is executed."""
    group = HiddenStalls(32, ".text", (LOAD_USE,), 2, in_vain=2)
    vain = replace(hidden(vain=(2, 1)), hidden=(group,))
    lines = FetchedLines(formula(8, 0), (vain,))
    found = hiding(1)
    assert priced(lines, CacheState.COLD, BASE, found) == 8 * REFILL - 2 * 50 - 2 * 20
    two = replace(found, core=replace(found.core, instruction_cache=CacheGeometry(32, 8, 2)))
    assert priced(lines, CacheState.COLD, BASE, two) == 8 * REFILL


def test_a_line_in_vain_takes_less_by_what_it_began_before() -> None:
    lines = FetchedLines(formula(8, 0), (hidden(vain=(2, 1)),))
    for saves, expected in ((None, 8 * REFILL), (1, 6 * REFILL + 2 * 90), (0, 6 * REFILL + 200)):
        found = hiding(saves)
        assert priced(lines, CacheState.COLD, BASE, found) == expected


def test_what_is_waited_for_while_a_line_in_vain_is_loaded_comes_off_as_well() -> None:
    """Two cycles before, and two for the load; nothing where the profile does not tell in vain."""
    group = HiddenStalls(32, ".text", (LOAD_USE,), 2, in_vain=2)
    lines = FetchedLines(formula(8, 0), (replace(footprint(*range(8)), hidden=(group,)),))
    for saves, stalls, less in ((None, True, 0), (1, True, 50), (0, True, 40), (1, False, 30)):
        found = hiding(saves, stalls)
        assert priced(lines, CacheState.COLD, BASE, found) == 8 * REFILL - 2 * less
    assert priced(lines, CacheState.COLD, BASE, hiding(1, refill=4)) == 6 * 40


def test_a_lower_end_is_that_of_the_less_of_both_ways_to_count() -> None:
    """One entry is less than six lines of which nothing is hidden, so it is what counts; at other
    numbers it may be the six, of which all but four cycles is hidden here."""
    lines = FetchedLines(formula(1, 0), (hidden((6, (SHIFT_USE,) * 7)),))
    small = hiding(refill=25)
    assert priced(lines, CacheState.COLD, BASE, small) == 250
    known = characterized(lines)
    caches = price_vector(known, small, where_it_was()).caches
    (service,) = known.services
    assert caches.of(service, ()).total.high == 250
    assert caches.without_waits.of(service, ()).total.high == 6 * 40
    assert caches.without_waits.of(service, ()).unhidden.high == 250


def test_a_lower_end_hides_a_line_behind_any_access() -> None:
    """Other times of the memory may be longer than the line."""
    word = AccessClass("data", Operation.READ, 32, Pattern.SINGLE)
    read = Succession(None, (), 0, False, word)
    found = hiding(stalls=False)
    found = replace(found, core=replace(found.core, refills_hide_accesses=1))
    for before in (0, 1, ALONE):
        group = HiddenStalls(32, ".text", (), 6, ((before, read),))
        lines = FetchedLines(formula(6, 0), (footprint(*range(6), hidden=(group,)),))
        known = characterized(lines)
        caches = price_vector(known, found, where_it_was()).caches.without_waits
        assert caches.of(known.services[0], ()).total.high == 6 * 40


def test_sections_that_lie_otherwise_to_each_other_hide_nothing() -> None:
    groups = hidden((1, (LOAD_USE,)))
    both = replace(groups, ranges=(*groups.ranges, CodeRange(".fast", 256, 260)))
    known = characterized(FetchedLines(formula(7, 0), (both,)), ".fast")
    many = hiding()
    many = replace(many, core=replace(many.core, instruction_cache=CacheGeometry(32, 64)))
    for moved, expected in ((0, 7 * REFILL - 20), (32, 7 * REFILL)):
        placed = SectionMap(
            "map",
            {".text": "flash", ".fast": "flash"},
            addresses={".text": BASE, ".fast": BASE + moved},
            instruction_cache=CacheState.COLD,
        )
        assert estimate(known, "svc", many, placed, {}).total.high == 10 + expected


def test_blocking_hides_nothing_because_the_stalls_may_lie_outside() -> None:
    known = characterized(FetchedLines(formula(6, 0), (hidden((2, (LOAD_USE,))),)), stretch=True)
    many = hiding()
    placed = where_it_was()
    found = estimate(known, "svc", many, placed, {})
    assert found.total.high == 10 + 6 * REFILL - 40
    assert found.blocking_interrupts == exactly(10 + 6 * REFILL)


def test_a_line_of_two_sections_has_the_dearer_price() -> None:
    """Whichever name comes first."""
    for fast in (".fast", ".zfast"):
        both = replace(footprint(0), ranges=(*footprint(0).ranges, CodeRange(fast, 16, 32)))
        known = characterized(FetchedLines(formula(9, 0), (both,)), fast)
        placed = SectionMap(
            "map",
            {".text": "flash", fast: "sram"},
            addresses={".text": BASE, fast: BASE},
            instruction_cache=CacheState.COLD,
        )
        found = estimate(known, "svc", board(flash=11, sram=7), placed, {})
        assert found.total == exactly(10 + 110)


@pytest.mark.parametrize("ways", [1, 2, 4])
def test_a_wild_fetch_pushes_out_a_whole_set(ways: int) -> None:
    """What it loads, and each line of the set, one after the other; none where all have room."""
    full = footprint(*range(0, 4 * ways, 4), wild=1)
    misses = ways + 1 + ways
    hardware = board(ways=ways)
    assert priced(FetchedLines(formula(50, 0), (full,)), CacheState.COLD, BASE, hardware) == (
        misses * REFILL
    )
    room = footprint(*range(0, 4 * (ways - 1), 4), wild=1)
    found = priced(FetchedLines(formula(50, 0), (room,)), CacheState.COLD, BASE, hardware)
    assert found == (ways - 1 + 1) * REFILL


def test_an_arm_characterization_that_does_not_say_how_far_the_core_fetches_is_refused() -> None:
    """Before that was counted, its lines were those of another pipeline."""
    known = characterized(FetchedLines(formula(5, 2), (footprint(0, 1),)))
    old = replace(known, fetch_buffer=None)
    assert old.architecture == "armv7-m"
    error = refusal(old, board())
    assert "how far an armv7-m core fetches ahead" in error.message
    assert error.keys == ("core", "instruction cache")
    other = replace(old, architecture="riscv32")
    placed = SectionMap("map", {".text": "flash"})
    assert estimate(other, "svc", reaching(None), placed, {}) is not None
    error = refusal(other, board())
    assert "predicts branches" in error.message
    assert error.keys == ("core", "instruction cache", "fetches ahead")


def reaching(ahead: FetchBuffer | None) -> HardwareProfile:
    known = board()
    return replace(known, core=replace(known.core, fetches_ahead=ahead))


@pytest.mark.parametrize("ahead", [FetchBuffer(23, 12), FetchBuffer(22, 13), FetchBuffer(64, 64)])
def test_a_core_that_fetches_further_than_was_counted_is_refused(ahead: FetchBuffer) -> None:
    known = characterized(FetchedLines(formula(5, 2), (footprint(0, 1),)))
    assert known.fetch_buffer == FetchBuffer(22, 12)
    error = refusal(known, reaching(ahead))
    assert "fetches further ahead" in error.message
    assert error.keys == ("core", "instruction cache", "fetches ahead")
    assert "is not said" in refusal(known, reaching(None)).message
    placed = SectionMap("map", {".text": "flash"})
    for enough in (FetchBuffer(22, 12), FetchBuffer(8, 0)):
        assert estimate(known, "svc", reaching(enough), placed, {}) is not None


@pytest.mark.parametrize(("address", "refills"), [(BASE + 8, 20), (BASE + 8 + 32 * 2, 5 + 6 + 1)])
def test_entries_of_sections_that_meet_in_a_line_only_now_add_up(
    address: int, refills: int
) -> None:
    """.text enters its lines 0 and 4, which share a set, five and ten times; .fast enters one line
    five times, which was apart when it was characterized."""
    often = (
        EnteredLine(32, ".fast", 0, 5),
        EnteredLine(32, ".text", 0, 5),
        EnteredLine(32, ".text", 4, 10),
    )
    ranges = (CodeRange(".fast", 0, 8), CodeRange(".text", 0, 4), CodeRange(".text", 128, 160))
    one = Footprint(((),), ranges, often)
    known = characterized(FetchedLines(formula(20, 0), (one,)), ".fast")
    sections = tuple(
        replace(info, address=BASE + 264) if info.name == ".fast" else info
        for info in known.sections
    )
    placed = SectionMap(
        "map",
        {".text": "flash", ".fast": "flash"},
        addresses={".text": BASE, ".fast": address},
        instruction_cache=CacheState.COLD,
    )
    found = estimate(replace(known, sections=sections), "svc", board(), placed, {})
    assert found.total.high == 10 + refills * REFILL


def test_what_goes_on_with_a_warm_service_is_cold() -> None:
    lines = FetchedLines(formula(50, 0), (footprint(0, 1),))
    known = characterized(lines, stretch=True, while_blocked=code(1))
    call = known.services[0]
    leads = replace(call.stretches[0], counts=CALLS_ONE, goes_on_in=frozenset({Joint.HANDLER}))
    follows = replace(
        call.stretches[0], goes_on_from=frozenset({Joint.HANDLER}), code=code(5, 6, 7)
    )
    handler = replace(
        call,
        name="handler",
        lines=FetchedLines(formula(9, 0), (footprint(5, 6, 7),)),
        stretches=(follows,),
    )
    known = replace(known, services=(replace(call, stretches=(leads,)), handler))
    placed = where_it_was(CacheState.WARM)
    chain = estimate(known, "svc", board(), placed, {}).interrupts_chain
    assert chain is not None
    assert [link.time for link in chain.links] == [exactly(20), exactly(10 + 3 * REFILL)]


def test_the_worst_values_of_blocking_are_those_with_most_refills() -> None:
    """Counts are the same at all values, the lines that are loaded are not."""
    points = tuple(TablePoint((n,), formula(9, 0).rows) for n in (1, 2, 4))
    prints = (
        replace(footprint(0), points=((1,),)),
        replace(footprint(0, 1, 2), points=((2,),)),
        replace(footprint(0, 1), points=((4,),)),
    )
    known = swept(FetchedLines(Counts(points=points), prints))
    stretch = characterized(None, stretch=True).services[0].stretches[0]
    unknown = replace(known.services[0], stretches_known=False)
    masked = TraceSection(Blocking(interrupts=True), AccessVector({ALU: 1}))
    unknown = replace(unknown, counts=Counts((masked,)))
    placed = where_it_was()
    for service in (replace(known.services[0], stretches=(stretch,)), unknown):
        whole = replace(known, services=(service,))
        prices = price_vector(whole, board(), placed)
        worst = worst_parameters(service, prices, {})
        longest = {n: estimate_at(service, prices, (n,)).blocking_interrupts for n in range(1, 5)}
        # At 3, which was not observed, all footprints count.
        assert longest == {n: exactly(10 + m * REFILL) for n, m in ((1, 1), (2, 3), (3, 3), (4, 2))}
        assert worst.interrupts == {"N": 2}


def test_a_handler_inside_of_a_stretch_loads_its_lines() -> None:
    """The stretch has line 1 to load once more behind it: 20 ns and three refills, of lines 0 and 1
    and of 1 again; and the handler 10 ns and its own three."""
    often = (EnteredLine(32, ".text", 1, 2),)
    lines = FetchedLines(formula(50, 0), (footprint(0, 1, repeated=often),))
    known = characterized(lines, stretch=True, while_blocked=code(0, 1))
    call = replace(known.services[0], counts=CALLS_ONE)
    call = replace(call, stretches=(replace(call.stretches[0], counts=CALLS_ONE),))
    handler = replace(
        known.services[0],
        name="handler",
        lines=FetchedLines(formula(9, 0), (footprint(5, 6, 7),)),
        stretches=(
            replace(known.services[0].stretches[0], goes_on_from=frozenset({Joint.HANDLER})),
        ),
    )
    placed = where_it_was()
    found = estimate(replace(known, services=(call, handler)), "svc", board(), placed, {})
    assert found.total.high == 20 + 3 * REFILL
    chain = found.interrupts_chain
    assert chain is not None
    assert [link.time for link in chain.links] == [
        exactly(20 + 3 * REFILL),
        exactly(10 + 3 * REFILL),
    ]
