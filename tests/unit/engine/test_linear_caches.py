"""Linear prices of lines and of waits, and what no linear price can be said of."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from test_pricing import FETCH, READ, WRITE, at, cycles, hertz, profile, region

from wcetchar.engine import PricingError
from wcetchar.engine.linear import is_linear, linear_prices, together, unit_of
from wcetchar.model.access import (
    AccessClass,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.fitting import LinearPrice
from wcetchar.model.hardware import DataCache, HardwareProfile, Interference, Region
from wcetchar.model.section_map import Assumption, CacheState, SectionMap

F = Fraction
LINE = CoreEvent(".text", EventKind.LINE_ENTRY_32)
MISS = CoreEvent("heap", EventKind("line load 32 x1"))
AGAIN = CoreEvent("heap", EventKind.LOAD_BEHIND_STORE)
LOADED = AccessClass("heap", Operation.READ, 32)
WIDE = AccessClass("heap", Operation.READ, 64)
STORED = AccessClass("heap", Operation.WRITE, 32)
FETCHED = AccessClass(".text", Operation.FETCH, 32, Pattern.NEXT)
BEGINS = Succession(None, (), 0, False, LOADED)
REFILL = ("regions", "flash", "line refill")
PENALTY = ("regions", "ram", "load miss penalty")
TAKES = ("regions", "ram", "arbitration", "takes")


def board(*, again: bool = False, ways: int = 1, **ram: object) -> HardwareProfile:
    """100 MHz; the buses have 50 MHz."""
    slow = hertz(50_000_000)
    flash = replace(
        region("flash", {FETCH: at(cycles(1), cycles(2))}, clock=slow), line_refill=cycles(1, 40)
    )
    data = replace(
        region("ram", {READ: at(cycles(1, 9), cycles(3)), WRITE: at(cycles(4))}, clock=slow),
        load_miss_penalty=cycles(1, 30),
        **ram,  # type: ignore[arg-type]
    )
    found = profile(flash, data)
    cache = DataCache(CacheGeometry(32, 8, ways), cycles(0, 7) if again else None)
    core = replace(found.core, instruction_cache=CacheGeometry(32, 8), data_cache=cache)
    return replace(found, core=core)


def placed(state: CacheState = CacheState.COLD, *, promised: bool = True) -> SectionMap:
    assumptions = frozenset({Assumption.DATA_ALIGNMENT} if promised else ())
    sections = {".text": "flash", "heap": "ram"}
    return SectionMap("map", sections, assumptions=assumptions, data_cache=state)


def price(key: Key, hardware: HardwareProfile, section_map: SectionMap) -> LinearPrice:
    return linear_prices(hardware, section_map, 32, [key], successions=True).prices[key]


def test_a_line_takes_its_regions_refill_in_cycles_of_its_bus() -> None:
    assert price(LINE, board(), placed()) == LinearPrice(F(0), {REFILL: F(20)})
    uncached = replace(board().regions["flash"], line_refill=None)
    hardware = replace(board(), regions={**board().regions, "flash": uncached})
    assert price(LINE, hardware, placed()) == LinearPrice(F(0), {})


def test_a_hit_takes_cycles_of_the_core_however_wide_it_is() -> None:
    assert price(FETCHED, board(), placed()) == LinearPrice(F(20), {})
    read = ("regions", "ram", "read", "first")
    for key in LOADED, WIDE:
        assert price(key, board(), placed()) == LinearPrice(F(0), {read: F(10)})
    assert price(STORED, board(), placed()) == LinearPrice(F(80), {})


def test_a_load_misses_where_it_is_counted_or_each_does() -> None:
    read = ("regions", "ram", "read", "first")
    assert price(MISS, board(), placed()) == LinearPrice(F(0), {PENALTY: F(20)})
    every = placed(CacheState.ALWAYS_MISS), placed(promised=False)
    for section_map in every:
        assert price(MISS, board(), section_map) == LinearPrice(F(0), {})
        found = price(LOADED, board(), section_map)
        assert found == LinearPrice(F(0), {read: F(10), PENALTY: F(20)})
    others = CoreEvent("heap", EventKind("line load 32 x2"))
    assert price(others, board(), placed()) == LinearPrice(F(0), {})
    assert price(others, board(ways=2), placed()) == LinearPrice(F(0), {PENALTY: F(20)})


def test_a_load_that_is_carried_out_again() -> None:
    place = ("core", "data cache", "load behind store")
    assert price(AGAIN, board(again=True), placed()) == LinearPrice(F(0), {place: F(10)})
    assert price(AGAIN, board(), placed()) == LinearPrice(F(0), {})
    each = placed(CacheState.ALWAYS_MISS)
    assert price(AGAIN, board(again=True), each) == LinearPrice(F(0), {})


def test_without_a_period_each_access_and_each_line_waits() -> None:
    hardware = board(arbitration=Interference(cycles(0, 8)))
    assert price(STORED, hardware, placed()) == LinearPrice(F(80), {TAKES: F(20)})
    assert price(MISS, hardware, placed()).coefficients == {PENALTY: F(20), TAKES: F(20)}
    assert TAKES not in price(LOADED, hardware, placed()).coefficients  # a hit asks nobody
    assert price(LINE, hardware, placed()).coefficients == {REFILL: F(20)}
    found = linear_prices(hardware, placed(), 32, [STORED])  # whatever is counted
    assert not found.recurring


def test_with_a_period_it_comes_by_the_time() -> None:
    hardware = board(arbitration=Interference(cycles(0, 8), cycles(100)))
    found = linear_prices(hardware, placed(), 32, [STORED, BEGINS], successions=True)
    assert found.prices[STORED] == LinearPrice(F(80), {})
    (one,) = found.recurring
    assert (one.takes, one.every) == (LinearPrice(F(0), {TAKES: F(20)}), 2000)
    assert set(together([found, found]).free) == {TAKES}
    with pytest.raises(PricingError, match="where windows begin is not counted"):
        linear_prices(hardware, placed(), 32, [STORED])


def without(text: str, **core: object) -> tuple[HardwareProfile, str]:
    return replace(board(), core=replace(board().core, **core)), text  # type: ignore[arg-type]


def of_ram(text: str, **ram: object) -> tuple[HardwareProfile, str]:
    changed: Region = replace(board().regions["ram"], **ram)  # type: ignore[arg-type]
    return replace(board(), regions={**board().regions, "ram": changed}), text


@pytest.mark.parametrize(
    ("hardware", "text"),
    [
        without("in vain save is a range", in_vain_saves=cycles(1, 2)),
        of_ram("every is a range", refresh=Interference(cycles(1, 2), cycles(90, 100))),
        of_ram("clock is a range", clock=hertz(40_000_000, 50_000_000, 60_000_000)),
        of_ram(
            "all of the time",
            refresh=Interference(cycles(1, 60), cycles(100)),
            arbitration=Interference(cycles(1, 50), cycles(100)),
        ),
    ],
)
def test_what_no_time_is_found_beside_is_refused(hardware: HardwareProfile, text: str) -> None:
    with pytest.raises(PricingError, match=text):
        linear_prices(hardware, placed(), 32, [LOADED, MISS], successions=True)


NO_SUMS = [
    without("write buffer", write_buffer=1),
    without("hides stalls", refills_hide_stalls=True),
    without("in vain saves", in_vain_saves=cycles(1)),
    of_ram("divided clock", clock=None, clock_divider=2),
]


@pytest.mark.parametrize("hardware", [one for one, _ in NO_SUMS])
@pytest.mark.parametrize("one", [Interference(cycles(1, 2)), Interference(cycles(1), cycles(90))])
def test_what_is_no_sum_of_times_has_no_interference_beside(
    hardware: HardwareProfile, one: Interference
) -> None:
    assert not is_linear(hardware)
    linear_prices(hardware, placed(), 32, [LOADED, MISS], successions=True)
    flash = replace(hardware.regions["flash"], refresh=one)
    disturbed = replace(hardware, regions={**hardware.regions, "flash": flash})
    with pytest.raises(PricingError, match="what refresh takes is looked for, or it comes now"):
        linear_prices(disturbed, placed(), 32, [LOADED, MISS], successions=True)


def test_cycles_of_a_divided_clock_are_so_many_of_the_core() -> None:
    ((hardware, _),) = NO_SUMS[3:]
    assert is_linear(board())
    assert price(MISS, hardware, placed()) == LinearPrice(F(0), {PENALTY: F(20)})
    assert price(LOADED, hardware, placed()) == price(LOADED, board(), placed())  # a hit's
    assert unit_of(hardware, PENALTY, cycles(1)) == 20
    assert unit_of(hardware, ("regions", "ram", "read", "first"), cycles(1)) == 10
    assert unit_of(hardware, ("core", "events", "alu"), cycles(1)) == 10
