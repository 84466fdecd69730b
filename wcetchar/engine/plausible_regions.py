"""Numbers of a region, and places of sections, that can be meant but seldom are.

Ranges: memories of code and data answer in 1 to 500 ns; but 32 bits from serial flash over one wire
take 64 cycles (command, address, data) of a bus of 10 to 50 MHz, 1.3 to 6.4 us. Flash on the chip
answers in 20 to 50 ns (33: RM0090, table 11, 30 MHz for each wait state), the fastest in 8.
Registers on slow buses take up to some us.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.engine.plausible_times import (
    both,
    bus_cycle,
    is_a_table,
    lines_of,
    nanoseconds,
    spelled,
    uncached,
    wide,
)
from wcetchar.engine.time import periods
from wcetchar.model.access import Operation
from wcetchar.model.fitting import Place
from wcetchar.model.hardware import AccessTime, HardwareProfile, Quantity, Region, RegionKind, Unit
from wcetchar.model.plausibility import Finding, Severity

_SLOWEST: Final = 10_000
_FASTEST: Final = 5_000_000_000
_LOW_POWER: Final = 1_000_000
"""Hertz. Cores have less in modes of low power alone: 32.768 kHz, 65 to 800 kHz."""
_WITHOUT_WAITS: Final = 2
"""Cycles of an access without wait states: its own, and one that it waits for a fetch."""
_MOST_CYCLES: Final = 100
"""Of the bus, for one access: 64 over one wire, and some around them."""
_LONGEST: Final = {RegionKind.MEMORY: 2_000, RegionKind.PERIPHERAL: 5_000}
"""Nanoseconds of an access, where that is more than ``_MOST_CYCLES``."""
_FASTEST_FLASH: Final = 8
_OF_A_CYCLE: Final = Fraction(1, 100)
_WORD: Final = 32
"""Bits of a fetch, and of what a burst is made of."""


def clock_of(clock: Quantity, place: Place) -> Iterator[Finding]:
    """Of the core or of a region."""
    if clock.high < _SLOWEST or clock.low > _FASTEST:
        yield Finding(
            place,
            Severity.TOO_LOW if clock.low > _FASTEST else Severity.DEAR,
            f"a clock of {float(clock.nominal) / 1e6:g} MHz",
            "is the unit right?",
        )


def of_slow_clock(profile: HardwareProfile) -> Iterator[Finding]:
    """A core with a clock below ``_LOW_POWER``, and memory that has wait states with it.

    Hardly any memory is slower than a microsecond, so that it needs no wait states then: a clock
    that is a slip is found by them, and a mode of low power is left in peace."""
    clock = profile.core.clock
    if not _SLOWEST <= clock.high < _LOW_POWER:
        return
    for region in profile.regions.values():
        cycle = bus_cycle(profile, region)
        if region.kind is not RegionKind.MEMORY or cycle <= Fraction(10**9, _LOW_POWER):
            continue
        times = [
            *((what.value, time.first, 1) for what, time in uncached(profile, region)),
            *lines_of(profile, region),
        ]
        for what, time, beats in times:
            taken = nanoseconds(time.high, time.unit, cycle)
            if taken > cycle * beats * _WITHOUT_WAITS:
                yield Finding(
                    ("core", "clock"),
                    Severity.DEAR,
                    f"a clock of {float(clock.nominal) / 1e6:g} MHz, with which `{what}` of "
                    f"{region.name} takes {spelled(taken)}",
                    "memory needs no wait states where a cycle takes more than a microsecond: is "
                    "the unit right? In a mode of low power it has none",
                )
                return


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
        # Lower ones `clock_of` asks about.
        low = _SLOWEST <= region.clock.high < _LOW_POWER <= profile.core.clock.high
        if low and region.kind is RegionKind.MEMORY:
            yield Finding(
                (*where, "clock"),
                Severity.DEAR,
                f"a bus of {float(region.clock.nominal) / 1e6:g} MHz to a memory",
                "those to memories have some MHz and more: is the unit right?",
            )
    of_bus = bus_cycle(profile, region)
    for operation, time in uncached(profile, region):
        yield from _long(region, time, (*where, operation.value), of_bus)
        if operation in (Operation.FETCH, Operation.READ) and "flash" in region.name.lower():
            yield from _of_flash(time, (*where, operation.value), of_bus)
    for operation, time in region.times.items():
        hits = profile.core.caches(region, operation)
        period = periods(profile.core.clock).nominal if hits else of_bus
        yield from _access(time, (*where, operation.value), period)
        if not is_a_table(profile):
            yield from _cycles(profile, region, time, (*where, operation.value), operation)
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


def _long(region: Region, time: AccessTime, place: Place, cycle: Fraction) -> Iterator[Finding]:
    most = max(cycle * _MOST_CYCLES, Fraction(_LONGEST[region.kind]))
    for quantity, which in both(time):
        taken = nanoseconds(quantity.high, quantity.unit, cycle)
        if taken > most and not any(wide(quantity, place)):
            yield Finding(
                (*place, which),
                Severity.DEAR,
                f"an access takes {spelled(taken)}, {round(taken / cycle):,} cycles of its bus",
                f"a {region.kind.value} answers within {spelled(most)}: is the unit right? Of a "
                "bus that is so slow, give the `clock`",
            )


def _of_flash(time: AccessTime, place: Place, cycle: Fraction) -> Iterator[Finding]:
    """Of a region that is known to be flash by its name."""
    taken = nanoseconds(time.first.high, time.first.unit, cycle)
    if 0 < taken < _FASTEST_FLASH:
        yield Finding(
            (*place, "first"),
            Severity.TOO_LOW,
            f"flash that answers in {spelled(taken)}",
            "with such a clock it has wait states; where a cache or a buffer hides some, say so "
            "with `instruction cache` and `line refill`",
        )


def _access(time: AccessTime, place: Place, period: Fraction) -> Iterator[Finding]:
    for quantity, which in both(time):
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


def _cycles(
    profile: HardwareProfile, region: Region, time: AccessTime, place: Place, operation: Operation
) -> Iterator[Finding]:
    """What a memory takes is not what the core waits for it. Fetches, and what follows in a burst,
    are whole words: of their beats a part of a cycle each may come to whole ones."""
    beats = max(1, -(-_WORD // region.bus_width))
    for quantity, which in both(time):
        if which == "next":
            waited = _sum([quantity] * beats)
        elif operation is Operation.FETCH:
            waited = _sum([time.first, *[time.next] * (beats - 1)])
        else:
            waited = quantity
        cycles = _in_whole_cycles(profile, region, waited)
        if cycles is None or cycles < 2:  # less than a cycle is asked about above
            continue
        yield Finding(
            (*place, which),
            Severity.TOO_LOW,
            f"{float(waited.high):g} ns are no whole number of cycles of the bus",
            f"a core that is stopped for whole ones waits for {cycles}, "
            f"{spelled(cycles * bus_cycle(profile, region))}. A bus with a clock of its own has a "
            "`clock`",
        )


def _in_whole_cycles(
    profile: HardwareProfile, region: Region, quantity: Quantity
) -> Fraction | None:
    """Cycles that a core waits which is stopped for whole ones of a region's bus, where a time is
    given in nanoseconds that are some and a part; ``None``: it is no such time, or the region's
    clock is not the core's. Of a hundredth more than whole ones nothing is said."""
    if region.clock is not None or quantity.unit is not Unit.NANOSECONDS:
        return None
    cycle = periods(profile.core.clock).low * region.clock_divider
    cycles = Fraction(quantity.high) / cycle
    over = cycles - cycles.__floor__()
    return Fraction(cycles.__ceil__()) if over > _OF_A_CYCLE else None


def _sum(times: list[Quantity]) -> Quantity:
    """Of beats; the first of them where not all are in ns."""
    if any(one.unit is not Unit.NANOSECONDS for one in times):
        return times[0]
    return Quantity.exactly(sum((one.high for one in times), start=Fraction(0)), Unit.NANOSECONDS)


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
