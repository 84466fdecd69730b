"""Rows priced with other times, as a fit asks for them: what an estimate says with these in the
profile; slopes that differences confirm; and no price that falls where a time is raised."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from test_engine_waits import (
    PLACED,
    Bus,
    Step,
    board_of,
    buses,
    kernel_of,
    keys_of,
    load,
    steps,
    store,
)

from wcetchar.engine import PricingError, estimate
from wcetchar.engine.linear import linear_prices
from wcetchar.engine.row_prices import CountedOnce, RowPrices, ranges_of, with_times
from wcetchar.model.access import (
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Operation,
    Pattern,
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
    LinesInVain,
    SectionInfo,
    TraceSection,
)
from wcetchar.model.fitting import Place
from wcetchar.model.hardware import AccessTime, HardwareProfile, Quantity, Unit
from wcetchar.model.section_map import CacheState
from wcetchar.model.service import SectionKind

F = Fraction
ENTRY = CoreEvent("code", EventKind.LINE_ENTRY_32)
STALL = CoreEvent("code", EventKind.LOAD_USE_STALL)
FETCH = AccessClass("code", Operation.FETCH, 32, Pattern.NEXT)


def _open(high: int = 12) -> Quantity:
    return Quantity(F(1), F(1), F(high), Unit.CYCLES)


def skeleton(bus: Bus) -> HardwareProfile:
    """The board with ranges in the place of its times; fetches take longer than they hide."""
    board = board_of(bus, None)
    kinds = (EventKind.ALU, EventKind.LOAD, EventKind.STORE, EventKind.CONSECUTIVE_ACCESS)
    events = {**board.core.events, **dict.fromkeys(kinds, _open())}
    regions = {
        name: replace(
            region,
            times={
                Operation.FETCH: AccessTime(_open(), _open()),
                **dict.fromkeys((Operation.READ, Operation.WRITE), AccessTime(_open(), _open())),
            },
        )
        for name, region in board.regions.items()
    }
    return replace(board, core=replace(board.core, events=events), regions=regions)


def kernel(run: list[Step], fetches: int) -> Characterization:
    return kernel_of([*keys_of(run, True), *[FETCH] * fetches], True)


def priced(profile: HardwareProfile, run: list[Step], fetches: int = 1) -> RowPrices:
    found = kernel(run, fetches)
    row = CountedOnce(found.services[0], (), 0)
    return RowPrices(found, ["run"], [(profile, PLACED)], [row], {})


def times_of(profile: HardwareProfile, draw: st.DataObject, parts: int = 1) -> dict[Place, F]:
    return {
        place: draw.draw(st.integers(int(q.low) * parts, int(q.high) * parts)) / F(parts)
        for place, q in ranges_of(profile).items()
    }


runs = st.lists(steps, min_size=1, max_size=6)
trying = settings(max_examples=20, deadline=None)


@trying
@given(buses, runs, st.data())
def test_a_row_costs_what_the_estimate_says(bus: Bus, run: list[Step], draw: st.DataObject) -> None:
    profile = skeleton(bus)
    times = times_of(profile, draw)
    fixed = with_times(profile, times, {})
    assert not ranges_of(fixed)
    total = estimate(kernel(run, 1), "run", fixed, PLACED, {}).total.high
    assert priced(profile, run).at(times) == [total]


@trying
@given(buses, runs, st.data())
@example(Bus((2, 2), (2, 2), 1, 1), [store(), load(1), store(2)], None)
def test_raising_a_time_never_lowers_a_price(
    bus: Bus, run: list[Step], draw: st.DataObject | None
) -> None:
    """At times that are no whole cycles as well."""
    profile = skeleton(bus)
    known = ranges_of(profile)
    times = dict.fromkeys(known, F(2)) if draw is None else times_of(profile, draw, 2)
    judge = priced(profile, run)
    (before,) = judge.at(times)
    for place, quantity in known.items():
        for more in (F(1, 2), F(1), F(5)):
            raised = min(times[place] + more, quantity.high)
            assert judge.at({**times, place: raised})[0] >= before, (place, more)


@trying
@given(buses, runs, st.data())
def test_slopes_are_what_differences_say(bus: Bus, run: list[Step], draw: st.DataObject) -> None:
    profile = skeleton(bus)
    # So far from one another that no two pieces meet there.
    times = {
        place: value + F(n * 37 % 101 + 1, 2**14)
        for n, (place, value) in enumerate(times_of(profile, draw).items())
    }
    judge = priced(profile, run)
    (total,), (slopes,) = judge.sloped(times)
    assert judge.at(times) == [total]
    tiny = F(1, 2**30)
    for place in times:
        (after,) = judge.at({**times, place: times[place] + tiny})
        assert after - total == tiny * slopes.get(place, 0), place


def test_where_the_edge_is_known_a_fit_is_refused() -> None:
    """A fetch that never waits: raised to a whole cycle, work makes an access find an edge
    that is known, and not the one that is farthest."""
    bus = Bus((2, 2), (3, 3), 0, 1)
    profile = skeleton(bus)
    run = [load(), load(2)]
    core = replace(
        profile.core,
        events={
            **profile.core.events,
            **dict.fromkeys((EventKind.LOAD, EventKind.STORE), Quantity.exactly(1, Unit.CYCLES)),
        },
    )
    profile = replace(profile, core=core)
    judge = priced(profile, run, fetches=0)
    times = {place: F(2) for place in ranges_of(profile)}
    alu = ("core", "events", "alu")
    costs = [judge.at({**times, alu: F(part, 4)})[0] for part in range(4, 40)]
    assert sorted(costs) != costs
    (service,) = kernel(run, 0).services
    keys = [key for key in service.counts.rows[0].vector if not isinstance(key, AccessClass)]
    with pytest.raises(PricingError, match="fetches that may never wait"):
        linear_prices(profile, PLACED, 32, keys, successions=True)


LINES = "code"


def _with_lines(
    found: Characterization, groups: list[tuple[int, int]], vain: int
) -> Characterization:
    """Lines of code, in groups: how many of them, and how many stalls go on while each is loaded;
    the stalls are counted. ``vain``: lines that are loaded in vain."""
    service = found.services[0]
    lines = sum(number for number, _ in groups) + vain
    stalls = sum(number * stalls for number, stalls in groups)
    (row,) = service.counts.rows
    vector = AccessVector([*row.vector.items(), (STALL, stalls)]) if stalls else row.vector
    footprint = Footprint(
        ((),),
        (CodeRange(LINES, 0, 32 * lines),),
        hidden=tuple(
            HiddenStalls(32, LINES, (EventKind.LOAD_USE_STALL,) * stalls, number)
            for number, stalls in groups
        ),
        in_vain=(LinesInVain(32, LINES, 2, vain),) if vain else (),
    )
    entries = Counts((TraceSection(Blocking(), AccessVector([(ENTRY, lines)])),))
    changed = replace(
        service,
        counts=Counts((replace(row, vector=vector),)),
        lines=FetchedLines(entries, (footprint,)),
    )
    code = SectionInfo(LINES, SectionKind.CODE, address=0)
    return replace(found, sections=(code,), services=(changed,))


@trying
@given(
    buses,
    runs,
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 3)), min_size=1, max_size=3),
    st.integers(0, 2),
    st.data(),
)
def test_lines_too_are_never_cheaper(
    bus: Bus, run: list[Step], groups: list[tuple[int, int]], vain: int, draw: st.DataObject
) -> None:
    profile = skeleton(bus)
    core = replace(
        profile.core,
        instruction_cache=CacheGeometry(32, 4096, 1),
        refills_hide_stalls=True,
        in_vain_saves=Quantity.exactly(1, Unit.CYCLES),
        events={**profile.core.events, EventKind.LOAD_USE_STALL: _open()},
    )
    cached = {**profile.regions, "s0": replace(profile.regions["s0"], line_refill=_open(40))}
    profile = replace(profile, core=core, regions=cached)
    found = _with_lines(kernel(run, 1), groups, vain)
    section_map = replace(
        PLACED, instruction_cache=CacheState.COLD, addresses={LINES: 0}, assumptions=frozenset()
    )
    row = CountedOnce(found.services[0], (), 0)
    judge = RowPrices(found, ["run"], [(profile, section_map)], [row], {})
    times = times_of(profile, draw, 2)
    (before,) = judge.at(times)
    fixed = with_times(profile, times, {})
    assert before == estimate(found, "run", fixed, section_map, {}).total.high
    for place, quantity in ranges_of(profile).items():
        for more in (F(1, 2), F(9)):
            raised = min(times[place] + more, quantity.high)
            assert judge.at({**times, place: raised})[0] >= before, place
