"""Data caches in estimates: each figure by hand."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from test_pricing import READ, WRITE, at, cycles, exactly, kernel, profile, region

from wcetchar.engine import PricingError, estimate, price_vector, worst_parameters
from wcetchar.engine.chains import Following
from wcetchar.engine.versus import Side, versus
from wcetchar.errors import InputError
from wcetchar.model.access import AccessClass, AccessVector, CoreEvent, EventKind, Operation
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import (
    STALL_EDITION,
    Blocking,
    BlockingStretch,
    Characterization,
    Counts,
    Joint,
    StretchKind,
    TraceSection,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import DataCache, HardwareProfile, Interference
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import Assumption, CacheState, SectionMap

LOAD = CoreEvent(".text", EventKind.LOAD)
READS = AccessClass("heap", Operation.READ, 32)
WRITES = AccessClass("heap", Operation.WRITE, 32)
PROMISED = frozenset({Assumption.DATA_ALIGNMENT})
BEHIND = CoreEvent("heap", EventKind.LOAD_BEHIND_STORE)
SECOND = CoreEvent("heap", EventKind.SECOND_LOAD_BEHIND_STORE)


def lines(ways: int, emptied: bool = False, section: str = "heap") -> CoreEvent:
    name = f"line load 32 x{ways}{' emptied' if emptied else ''}"
    return CoreEvent(section, EventKind(name))


def board(ways: int = 1, again: int | None = None) -> HardwareProfile:
    """A load is one cycle of 10 ns, its access one more; a miss takes 14 or, in `flash`, 23."""
    ram = replace(
        region("ram", {READ: at(cycles(1)), WRITE: at(cycles(2))}), load_miss_penalty=cycles(14)
    )
    flash = replace(region("flash", {READ: at(cycles(1))}), load_miss_penalty=cycles(23))
    tcm = region("tcm", {READ: at(cycles(1)), WRITE: at(cycles(1))})
    found = profile(ram, flash, tcm, events={EventKind.LOAD: cycles(1)})
    behind = None if again is None else cycles(again)
    cache = DataCache(CacheGeometry(32, 8, ways), behind)
    return replace(found, core=replace(found.core, data_cache=cache))


COUNTED = AccessVector(
    {
        LOAD: 10,
        READS: 10,
        WRITES: 3,
        lines(1): 6,
        lines(2): 4,
        lines(4): 3,
        lines(1, emptied=True): 2,
        lines(2, emptied=True): 1,
    }
)
OWN = 10 * 20 + 3 * 20
"""ns without misses."""


def characterized(
    vector: AccessVector = COUNTED, data_lines: tuple[int, ...] = (32,)
) -> Characterization:
    plain = kernel(*vector)
    counts = Counts((TraceSection(Blocking(), vector),))
    blocks = BlockingStretch(
        StretchKind.INTERRUPTS,
        "a",
        "b",
        counts,
        goes_on_from=frozenset[Joint](),
        goes_on_in=frozenset[Joint](),
    )
    service = replace(plain.services[0], counts=counts, stretches=(blocks,))
    return replace(plain, services=(service,), stalls=STALL_EDITION, data_lines=data_lines)


def placed(
    state: CacheState = CacheState.COLD,
    promised: frozenset[Assumption] = PROMISED,
    place: str = "ram",
) -> SectionMap:
    sections = {"heap": place, ".text": "tcm"}
    return SectionMap("map", sections, assumptions=promised, data_cache=state)


def estimated(
    state: CacheState,
    promised: frozenset[Assumption] = PROMISED,
    hardware: HardwareProfile | None = None,
    vector: AccessVector = COUNTED,
    place: str = "ram",
) -> Estimate:
    section_map = placed(state, promised, place)
    found = estimate(characterized(vector), "svc", hardware or board(), section_map, {})
    assert found.total.high == sum(row.time.high for row in found.rows)
    assert found.total.high == sum(column.time.high for column in found.columns)
    return found


def test_always_miss_prices_each_read_as_a_miss() -> None:
    found = estimated(CacheState.ALWAYS_MISS)
    assert found.total.high == (OWN + 10 * 140)
    assert found.blocking_interrupts == found.total
    assert any("counts as a miss" in note for note in found.notes)


@pytest.mark.parametrize(
    ("ways", "misses", "blocked"), [(1, 6, 8), (2, 4, 5), (3, 4, 5), (4, 3, 3), (8, 3, 3)]
)
def test_cold_prices_the_loads_that_may_miss(ways: int, misses: int, blocked: int) -> None:
    found = estimated(CacheState.COLD, hardware=board(ways))
    assert found.total.high == (OWN + misses * 140)
    # What is blocked begins with an empty cache.
    assert found.blocking_interrupts.high == (OWN + blocked * 140)
    assert {c.key for c in found.columns if isinstance(c.key, CoreEvent)} == {
        LOAD,
        lines(min(ways, 4) if ways != 3 else 2),
    }


def test_without_the_promise_each_read_is_a_miss() -> None:
    found = estimated(CacheState.COLD, frozenset())
    assert found.total.high == (OWN + 10 * 140)
    assert any("`data alignment` promised" in note for note in found.notes)


def test_the_region_of_the_data_decides_what_a_miss_takes() -> None:
    vector = AccessVector({LOAD: 2, READS: 2, lines(1): 1})
    assert estimated(CacheState.COLD, vector=vector, place="flash").total.high == (40 + 230)
    assert estimated(CacheState.COLD, vector=vector, place="tcm").total.high == (40)
    assert estimated(CacheState.ALWAYS_MISS, vector=vector, place="tcm").total.high == (40)


def test_a_load_behind_a_store_is_carried_out_again() -> None:
    vector = AccessVector({LOAD: 4, READS: 4, lines(1): 1, BEHIND: 2, SECOND: 1})
    own = 4 * 20
    assert estimated(CacheState.COLD, vector=vector).total.high == (own + 140)
    found = estimated(CacheState.COLD, vector=vector, hardware=board(again=7))
    assert found.total.high == (own + 140 + 3 * 70)
    # A load misses, or hits and is carried out again.
    for again, longer in ((7, 14), (20, 20)):
        found = estimated(CacheState.ALWAYS_MISS, vector=vector, hardware=board(again=again))
        assert found.total.high == (own + 4 * longer * 10)


@pytest.mark.parametrize("load", [BEHIND, SECOND])
def test_what_a_load_behind_a_store_takes_is_a_time(load: CoreEvent) -> None:
    with pytest.raises(PricingError, match="is not a time") as error:
        estimated(CacheState.COLD, vector=AccessVector({load: 1}), hardware=board(again=-1))
    assert error.value.keys == ("core", "data cache", "load behind store")


def test_an_unknown_address_may_be_that_of_the_dearest_region() -> None:
    vector = AccessVector(
        {LOAD: 1, AccessClass("?", Operation.READ, 32): 1, lines(1, section="?"): 1}
    )
    assert estimated(CacheState.COLD, vector=vector).total.high == 20 + 230


def test_a_core_without_a_data_cache_pays_nothing_for_lines() -> None:
    hardware = replace(board(), core=replace(board().core, data_cache=None))
    found = estimated(CacheState.COLD, hardware=hardware)
    assert found.total.high == (OWN)
    assert not any("data cache" in note for note in found.notes)


def test_lines_that_are_not_counted_are_refused() -> None:
    always = placed(CacheState.ALWAYS_MISS)
    for counted in ((), (16, 64)):
        known = characterized(data_lines=counted)
        with pytest.raises(InputError, match="lines of 32 bytes") as error:
            estimate(known, "svc", board(), placed(), {})
        assert "--data-lines 32" in str(error.value)
        assert estimate(known, "svc", board(), always, {}).total.high == (OWN + 10 * 140)


def test_a_line_that_is_there_need_not_be_loaded() -> None:
    found = estimated(CacheState.COLD, hardware=board(again=7))
    assert (found.total.low, found.total.nominal) == (OWN, OWN + 6 * 140)


def test_loads_past_the_cache_are_told() -> None:
    assert any("loads from tcm go past" in note for note in estimated(CacheState.COLD).notes)


def test_blocking_without_stretches_and_of_what_follows_begins_with_an_empty_cache() -> None:
    blocked = Blocking(interrupts=True)
    counts = Counts((TraceSection(blocked, COUNTED),))
    known = characterized()
    service = replace(known.services[0], counts=counts, stretches=(), stretches_known=False)
    old = replace(known, services=(service,))
    assert estimate(old, "svc", board(), placed(), {}).blocking_interrupts.high == OWN + 8 * 140
    # A handler goes on with the call's stretch.
    call = known.services[0]
    ends = AccessVector({LOAD: 1, CoreEvent(".text", EventKind.SUPERVISOR_CALL): 1})
    leads = replace(
        call.stretches[0],
        counts=Counts((TraceSection(Blocking(), ends),)),
        goes_on_in=frozenset({Joint.HANDLER}),
    )
    follows = replace(call.stretches[0], goes_on_from=frozenset({Joint.HANDLER}))
    calls = replace(call, stretches=(leads,), counts=Counts((TraceSection(blocked, ends),)))
    handler = replace(call, name="handler", stretches=(follows,))
    hardware = replace(
        board(),
        core=replace(
            board().core,
            events={**board().core.events, EventKind.SUPERVISOR_CALL: cycles(1)},
        ),
    )
    chain = estimate(
        replace(known, services=(calls, handler)), "svc", hardware, placed(), {}
    ).interrupts_chain
    assert chain is not None
    assert chain.time.high == 20 + OWN + 8 * 140


def test_the_prices_of_two_sides_are_those_of_estimates() -> None:
    known = characterized()
    prices = price_vector(known, board(), placed())
    side = Side(known.services[0], prices, Following(known, prices, {}))
    total, interrupts, _ = versus([side, side], [], 1)
    assert total.corners[0].times == (OWN + 6 * 140,) * 2
    assert interrupts.corners[0].times == (OWN + 8 * 140,) * 2


def test_the_largest_is_looked_for_with_misses() -> None:
    known = characterized()
    prices = price_vector(known, board(), placed())
    assert worst_parameters(known.services[0], prices, {}).total == {}
    assert prices.in_stretches[lines(1, emptied=True)].time == Interval(
        Fraction(0), Fraction(140), Fraction(140)
    )
    assert prices[lines(1, emptied=True)].time == exactly(0)


def test_a_line_waits_for_refresh_and_for_edges() -> None:
    """Of refresh, each transaction: no successions are counted."""
    busy = replace(board().regions["ram"], refresh=Interference(cycles(3), cycles(100)))
    hardware = replace(board(), regions={**board().regions, "ram": busy})
    found = estimated(CacheState.COLD, hardware=hardware)
    assert found.total.high == OWN + 6 * (140 + 30) + 3 * 30  # stores are transactions, hits none
    # A load that hits takes cycles of the core; what a line takes is in cycles of the bus, twice as
    # long, and begins with one, and so do stores.
    divided = replace(board().regions["ram"], clock_divider=2)
    hardware = replace(board(), regions={**board().regions, "ram": divided})
    found = estimated(CacheState.ALWAYS_MISS, hardware=hardware)
    assert found.total.high == 10 * 20 + 10 * (280 + 10) + 3 * (40 + 10)
    # What is not cached may wait.
    tcm = replace(board().regions["tcm"], clock_divider=2)
    hardware = replace(board(), regions={**board().regions, "tcm": tcm})
    assert estimated(CacheState.COLD, hardware=hardware).total.high >= Fraction(OWN + 6 * 140)
