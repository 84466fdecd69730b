"""Numbers of a region, and places of sections, that can be meant but seldom are."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.engine.plausible_times import bus_cycle, is_a_table, wide
from wcetchar.engine.time import periods
from wcetchar.model.access import Operation
from wcetchar.model.fitting import Place
from wcetchar.model.hardware import AccessTime, HardwareProfile, Quantity, Region, RegionKind, Unit
from wcetchar.model.plausibility import Finding, Severity

_SLOWEST: Final = 10_000
_FASTEST: Final = 5_000_000_000


def clock_of(clock: Quantity, place: Place) -> Iterator[Finding]:
    """Of the core or of a region."""
    if clock.high < _SLOWEST or clock.low > _FASTEST:
        yield Finding(
            place,
            Severity.TOO_LOW if clock.low > _FASTEST else Severity.DEAR,
            f"a clock of {float(clock.nominal) / 1e6:g} MHz",
            "is the unit right?",
        )


def of_region(profile: HardwareProfile, region: Region) -> Iterator[Finding]:
    """Its clock, and the times of its accesses."""
    where: Place = ("regions", region.name)
    if region.clock is not None:
        yield from clock_of(region.clock, (*where, "clock"))
        if region.clock.low > profile.core.clock.high:
            yield Finding(
                (*where, "clock"),
                Severity.TOO_LOW,
                "the bus is faster than the core",
                "cycles of this region are cycles of its own clock: are they the core's?",
            )
    of_bus = bus_cycle(profile, region)
    for operation, time in region.times.items():
        hits = profile.core.caches(region, operation)
        period = periods(profile.core.clock).nominal if hits else of_bus
        yield from _access(time, (*where, operation.value), period)
    if region.kind is RegionKind.PERIPHERAL and Operation.FETCH in region.times:
        yield Finding(
            (*where, Operation.FETCH.value),
            Severity.DEAR,
            "code can be fetched from a peripheral",
            "it then counts where the origin of a fetch is not known; leave `fetch` out",
        )
    read = {Operation.READ, Operation.ACCESS} & set(region.times)
    if region.kind is RegionKind.MEMORY and not read and not is_a_table(profile):
        yield Finding(
            where,
            Severity.DEAR,
            "a memory that cannot be read",
            "constants and literal pools lie beside code: give it `read`",
        )


def _access(time: AccessTime, place: Place, period: Fraction) -> Iterator[Finding]:
    for quantity, which in ((time.first, "first"), (time.next, "next")):
        if which == "next" and quantity == time.first:
            return  # said of the first already; in the file it may be one value for both
        yield from wide(quantity, (*place, which))
        if not quantity.high:
            yield Finding(
                (*place, which),
                Severity.TOO_LOW,
                "an access takes no time",
                "what is hidden behind the instruction is said under `overlap`",
            )
        elif quantity.unit is Unit.NANOSECONDS and quantity.high * 2 < period:
            yield Finding(
                (*place, which),
                Severity.TOO_LOW,
                f"{float(quantity.high):g} ns is less than half a cycle ({float(period):g} ns)",
                "an access takes at least a cycle of its bus: is the unit right?",
            )
    if time.next.unit is time.first.unit and time.next.high > time.first.high:
        yield Finding(
            (*place, "next"),
            Severity.DEAR,
            "a further access of a burst takes longer than the first",
            "are the two exchanged?",
        )


def of_default_map(profile: HardwareProfile) -> Iterator[Finding]:
    """Code in a place that it cannot be fetched from."""
    for section, name in profile.default_map.items():
        region = profile.regions.get(name)
        if region is not None and "text" in section and Operation.FETCH not in region.times:
            yield Finding(
                ("default map", section),
                Severity.DEAR,
                f"{section} lies in {name}, from which nothing can be fetched",
                "give the region `fetch`, or place the section elsewhere",
            )
