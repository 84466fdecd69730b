"""Numbers of caches that can be meant but seldom are.

Beats of a line of L bytes over a bus of W bits::

    beats = ceil(8 * L / W), each of a cycle of the bus at least

Ranges: caches that a core asks first hold 64 lines or fewer (accelerators of flash) up to 192 KiB,
with 1 to 8 lines in a set as a rule, and answer in 1 to 4 cycles; a word from serial flash, the
slowest memory that lines are loaded from, takes less than 100 cycles of its bus.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.engine.plausible_times import both, bus_cycle, lines_of, nanoseconds, wide
from wcetchar.engine.time import periods
from wcetchar.model.access import Operation
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.fitting import Place
from wcetchar.model.hardware import Core, HardwareProfile, Quantity, Region, RegionKind
from wcetchar.model.plausibility import Finding, Severity

_LARGEST: Final = 256 << 10
_FEWEST_LINES: Final = 4
_LINES_IN_ANY_PLACE: Final = 64
"""Of accelerators of flash, in which any line may lie anywhere (RM0090, 3.5.2)."""
_WAYS_OF_LRU: Final = 8
_HIT: Final = 4
_AGAIN: Final = 40
_SLOW_BEAT: Final = 100
_FAR_AHEAD: Final = 64
"""Bytes; a Cortex-M3 fetches 22 ahead (:data:`wcetchar.model.fetch_buffer.M_PROFILE_BUFFER`)."""


def of_core(profile: HardwareProfile) -> Iterator[Finding]:
    """The caches themselves."""
    core = profile.core
    if core.instruction_cache is not None:
        where: Place = ("core", "instruction cache")
        yield from _geometry(core.instruction_cache, where)
        yield from _in_vain(profile, (*where, "in vain saves"))
        yield from _ahead(core, (*where, "fetches ahead"))
    if core.data_cache is not None:
        where = ("core", "data cache")
        yield from _geometry(core.data_cache.geometry, where)
        again = core.data_cache.load_behind_store
        if again is not None:
            yield from _load_behind_store(core, again, (*where, "load behind store"))


def of_region(profile: HardwareProfile, region: Region) -> Iterator[Finding]:
    """What loading a line from it takes, and what hits take."""
    where = ("regions", region.name)
    for name, time, beats in lines_of(profile, region):
        place = (*where, name)
        yield from _line(profile, region, time, beats, place)
        hits = Operation.FETCH if name == "line refill" else Operation.READ
        yield from _hit(profile, region, hits, where)
        if hits is Operation.READ and region.kind is RegionKind.PERIPHERAL:
            yield Finding(
                place,
                Severity.TOO_LOW,
                "a cache holds what is read from a peripheral",
                "registers change by themselves, so they are read past a cache; leave it out",
            )


def _geometry(cache: CacheGeometry, where: Place) -> Iterator[Finding]:
    if cache.size > _LARGEST:
        yield Finding(
            (*where, "size"),
            Severity.TOO_LOW,
            f"a cache of {cache.size >> 10} KiB",
            "one that a core asks first holds 256 KiB at most, as a rule: is the unit right, or is "
            "it a second level, which answers later?",
        )
    # One line alone is what flash read last, held beside it.
    if cache.line < cache.size < _FEWEST_LINES * cache.line:
        yield Finding(
            (*where, "size"),
            Severity.DEAR,
            f"a cache of {cache.size} bytes",
            f"it holds fewer than {_FEWEST_LINES} lines: is the unit right?",
        )
    if cache.ways > _WAYS_OF_LRU and (cache.sets > 1 or cache.ways > _LINES_IN_ANY_PLACE):
        yield Finding(
            (*where, "ways"),
            Severity.TOO_LOW,
            f"sets of {cache.ways} lines of which the one used longest ago goes",
            "few caches keep that order of so many; is it an approximation, which may drop others?",
        )


def _ahead(core: Core, where: Place) -> Iterator[Finding]:
    ahead = core.fetches_ahead
    if ahead is None:
        return
    for key, far in (("behind", ahead.behind), ("speculative", ahead.speculative)):
        if far > _FAR_AHEAD:
            yield Finding(
                (*where, key),
                Severity.DEAR,
                f"fetches {far} bytes ahead",
                "a prefetch buffer holds some words: is it a number of bits?",
            )


def _in_vain(profile: HardwareProfile, place: Place) -> Iterator[Finding]:
    saves = profile.core.in_vain_saves
    cycle = periods(profile.core.clock).nominal
    refills = [
        nanoseconds(one.line_refill.high, one.line_refill.unit, bus_cycle(profile, one))
        for one in profile.regions.values()
        if one.line_refill is not None
    ]
    if saves is not None and refills:
        saved = nanoseconds(saves.high, saves.unit, cycle)
        if saved and saved >= min(refills):
            yield Finding(
                place,
                Severity.TOO_LOW,
                f"a line that is loaded in vain costs {float(saved):g} ns less, all of a "
                f"`line refill` ({float(min(refills)):g} ns)",
                "it keeps the memory for as long as another line: what is saved is a part",
            )


def _load_behind_store(core: Core, again: Quantity, place: Place) -> Iterator[Finding]:
    yield from wide(again, place)
    cycle = periods(core.clock).nominal
    taken = nanoseconds(again.high, again.unit, cycle)
    if not taken:
        yield Finding(
            place,
            Severity.TOO_LOW,
            "a load is carried out again in no time",
            "leave it out if none is",
        )
    elif taken < cycle / 2:
        yield Finding(
            place,
            Severity.TOO_LOW,
            f"{float(taken):g} ns are less than half a cycle of the core ({float(cycle):g} ns)",
            "what is carried out again takes cycles: is the unit right?",
        )
    elif taken > cycle * _AGAIN:
        yield Finding(
            place,
            Severity.DEAR,
            f"a load behind a store takes {float(taken / cycle):g} cycles longer",
            "what is carried out again takes what the core's stages take, a few cycles",
        )


def _line(
    profile: HardwareProfile, region: Region, time: Quantity, beats: int, place: Place
) -> Iterator[Finding]:
    yield from wide(time, place)
    cycle = bus_cycle(profile, region)
    taken = nanoseconds(time.high, time.unit, cycle)
    hit = _one_read(profile, region) if place[-1] == "load miss penalty" else None
    if not taken:
        yield Finding(
            place,
            Severity.TOO_LOW,
            "a line is loaded in no time",
            "what misses waits for the memory; leave it out if the cache holds nothing from here",
        )
    elif hit is not None and taken < hit:
        yield Finding(
            place,
            Severity.TOO_LOW,
            f"{float(taken):g} ns are less than one read of the region ({float(hit):g} ns)",
            "a load that misses waits for a whole line: are the two exchanged?",
        )
    elif taken < cycle * beats:
        yield Finding(
            place,
            Severity.TOO_LOW,
            f"{float(taken):g} ns are less than a line's {beats} beats over {region.bus_width} "
            f"bits take ({float(cycle * beats):g} ns)",
            "a beat takes a cycle of the bus at least: is this the time of one access, or in "
            "cycles of another clock?",
        )
    elif taken > cycle * beats * _SLOW_BEAT:
        yield Finding(
            place,
            Severity.DEAR,
            f"{float(taken):g} ns are more than {_SLOW_BEAT} cycles of the bus for each of a "
            f"line's {beats} beats",
            "is the unit right?",
        )


def _one_read(profile: HardwareProfile, region: Region) -> Fraction | None:
    time = region.times.get(Operation.READ)
    if time is None:
        return None
    return nanoseconds(time.first.high, time.first.unit, periods(profile.core.clock).nominal)


def _hit(
    profile: HardwareProfile, region: Region, operation: Operation, where: Place
) -> Iterator[Finding]:
    time = region.times.get(operation)
    if time is None:
        return
    cycle = periods(profile.core.clock).nominal
    for quantity, which in both(time):
        taken = nanoseconds(quantity.high, quantity.unit, cycle)
        if taken > cycle * _HIT:
            yield Finding(
                (*where, operation.value, which),
                Severity.DEAR,
                f"a {operation.value} that hits takes {float(taken / cycle):g} cycles of the core",
                "where a cache holds what lies here, the time is that of a hit: is it the "
                "memory's?",
            )
