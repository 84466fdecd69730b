"""Sections that are either of others, which lie where these do: each price by hand."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction

import pytest
from test_pricing import READ, WRITE, at, exactly, kernel, ns, profile, region
from test_wait_prices import behind, board, ram

from wcetchar.engine import PricingError, price_vector
from wcetchar.engine.linear import linear_prices
from wcetchar.engine.prices import PriceVector
from wcetchar.errors import InputError, InputErrors
from wcetchar.model.access import AccessClass, CoreEvent, EventKind, Key
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import STALL_EDITION, Characterization, SectionInfo
from wcetchar.model.fitting import LinearPrice
from wcetchar.model.hardware import DataCache, HardwareProfile
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import Assumption, CacheState, SectionMap
from wcetchar.model.service import SectionKind

BOARD = profile(
    region("slow", {READ: at(ns(60, 70, 90)), WRITE: at(ns(20))}),
    region("fast", {READ: at(ns(10, 11, 12)), WRITE: at(ns(30))}),
    region("rom", {READ: at(ns(200))}),
)
HEAP, LISTS = (AccessClass(section, READ, 32) for section in ("heap", "lists"))
STORED = AccessClass("lists", WRITE, 32)
DEAREST = "an access to lists goes to one of data, heap: it is priced at the dearest"
AS_THEY_ARE = (
    "times of fast, rom, slow in ns are taken as they are: a core that is stopped for whole cycles "
    "may wait for a part of one more"
)
APART = {"data": "slow", "heap": "fast"}


def counted(*keys: Key) -> Characterization:
    """``lists`` is either of ``data`` and ``heap``."""
    infos = (
        SectionInfo("lists", SectionKind.DATA, either_of=("heap", "data")),
        SectionInfo("heap", SectionKind.DATA),
        SectionInfo("data", SectionKind.DATA),
    )
    return replace(kernel(*keys), sections=infos, stalls=STALL_EDITION)


def priced(
    places: Mapping[str, str], *keys: Key, on: HardwareProfile = BOARD, **beside: object
) -> PriceVector:
    return price_vector(replace(counted(*keys), **beside), on, SectionMap("map", places))


def test_the_dearest_of_the_places_of_its_parts() -> None:
    for places in (APART, {"data": "fast", "heap": "slow"}):
        prices = priced(places, LISTS, STORED)
        assert prices[LISTS].time == Interval(Fraction(10), Fraction(70), Fraction(90))
        assert prices[STORED].time == Interval(Fraction(20), Fraction(30), Fraction(30))
        assert prices.notes == (DEAREST, AS_THEY_ARE)


def test_parts_in_one_region() -> None:
    prices = priced({"data": "fast", "heap": "fast"}, LISTS, STORED)
    assert prices[LISTS].time == Interval(Fraction(10), Fraction(11), Fraction(12))
    assert prices[STORED].time == exactly(30)
    assert prices[LISTS].region == "fast"
    assert prices.notes == (AS_THEY_ARE,)


def test_where_nothing_is_either_there_is_no_note() -> None:
    assert priced(APART, HEAP).notes == (AS_THEY_ARE,)


def test_parts_may_be_placed_by_the_profile() -> None:
    on = replace(BOARD, default_map={"data": "slow", "heap": "slow"})
    assert priced({}, LISTS, on=on).notes == (AS_THEY_ARE,)
    assert priced({"heap": "fast"}, LISTS, on=on)[LISTS].time.low == 10
    assert priced({"heap": "fast"}, LISTS, on=on).notes == (DEAREST, AS_THEY_ARE)


def refused(places: Mapping[str, str], *keys: Key) -> PricingError:
    with pytest.raises(PricingError) as caught:
        priced(places, *keys)
    return caught.value


def test_a_map_that_places_it_itself() -> None:
    """Whether or not it is accessed."""
    for key in (LISTS, HEAP):
        error = refused({**APART, "lists": "slow"}, key)
        said = "section lists is not placed itself: an access to it goes to one of data, heap"
        assert error.message == said
        assert error.expected == "places for data, heap alone"
        assert error.hint == "leave lists out of the section map map"
        assert (error.file, error.keys) == ("map", ("sections", "lists"))


def test_a_part_that_is_not_placed_is_named() -> None:
    for places, names in (
        ({"data": "slow"}, "section heap"),
        ({"heap": "slow"}, "section data"),
        ({}, "sections data, heap"),
    ):
        error = refused(places, LISTS)
        assert error.message == f"no region holds {names}"
        assert (error.file, error.keys) == ("map", ("sections",))
    # It need not be where nothing reaches it.
    assert priced({"heap": "fast"}, HEAP)[HEAP].time.high == 12


@pytest.mark.parametrize("part", ["data", "heap"])
def test_a_part_in_a_region_that_does_not_permit_the_operation(part: str) -> None:
    places = {**APART, part: "rom"}
    assert priced(places, LISTS)[LISTS].time.high == 200
    error = refused(places, STORED)
    assert error.message.startswith(f"section {part} needs write, which region rom")
    assert error.keys == ("sections", part)


def test_a_part_in_a_region_that_there_is_not() -> None:
    error = refused({**APART, "heap": "fats"}, LISTS)
    assert "section heap is placed in region fats" in error.message


def test_a_misspelt_name_is_not_taken_for_it() -> None:
    prices = priced({**APART, "list": "slow"}, LISTS)
    (unknown,) = set(prices.notes) - {DEAREST, AS_THEY_ARE}
    assert "places list, which this characterization does not have" in unknown
    with pytest.raises(InputErrors) as caught:
        priced({"data": "slow", "heaps": "fast"}, LISTS)
    hints = [error.hint for error in caught.value.errors]
    assert "did you mean `heap`?" in hints
    assert "did you mean `lists`?" not in hints
    assert "one of data, heap" in [error.expected for error in caught.value.errors]


def test_a_write_that_goes_on_behind_the_core_may_be_to_either() -> None:
    """In 6 cycles of 1 ns or in 9; one is hidden, and the next access waits one more."""
    ways = {name: replace(ram(cycles), name=name) for name, cycles in (("ram", 6), ("slow", 9))}
    waits = behind(STORED, HEAP)
    for places, high in (
        ({"data": "ram", "heap": "ram"}, 6),
        ({"data": "slow", "heap": "ram"}, 9),
        ({"data": "ram", "heap": "slow"}, 9),
    ):
        found = priced(places, STORED, HEAP, waits, on=board(*ways.values()), successions=True)
        assert found[waits].time.high == high + 1 - 1
        assert found[STORED].time == exactly(0)


def test_a_load_that_misses_may_be_of_either() -> None:
    """A miss takes 140 ns more in the one, 230 in the other."""
    miss = CoreEvent("lists", EventKind("line load 32 x1"))
    one, two = (
        replace(region(name, {READ: at(ns(10))}), load_miss_penalty=ns(penalty))
        for name, penalty in (("one", 140), ("two", 230))
    )
    on = profile(one, two)
    on = replace(on, core=replace(on.core, data_cache=DataCache(CacheGeometry(32, 8, 1))))
    for places, high in (
        ({"data": "one", "heap": "one"}, 140),
        ({"data": "one", "heap": "two"}, 230),
    ):
        found = price_vector(
            replace(counted(miss), data_lines=(32,)),
            on,
            SectionMap(
                "map",
                places,
                assumptions=frozenset({Assumption.DATA_ALIGNMENT}),
                data_cache=CacheState.COLD,
            ),
        )
        assert found[miss].time.high == high


def test_linear_prices() -> None:
    """The place that is the dearest at the upper ends."""
    joint = counted().joint
    assert joint == {"lists": ("heap", "data")}
    for place, name in (({"data": "slow", "heap": "fast"}, "slow"), ({"data": "fast"}, "fast")):
        placed = SectionMap("map", {"heap": "fast", **place})
        found = linear_prices(BOARD, placed, 32, [LISTS, STORED], joint)
        time = ("regions", name, "read", "first")
        assert found.prices[LISTS] == LinearPrice(Fraction(0), {time: Fraction(1)})
        assert found.prices[STORED] == LinearPrice(Fraction(30), {})
        assert found.simplified == (frozenset({LISTS, STORED}) if name == "slow" else frozenset())


def test_all_mistakes_come_at_once() -> None:
    with pytest.raises(InputError) as caught:
        priced({"data": "rom", "lists": "slow"}, LISTS, STORED)
    assert isinstance(caught.value, InputErrors)
    assert len(caught.value.errors) == 3
