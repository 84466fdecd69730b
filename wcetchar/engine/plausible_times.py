"""What the rules for implausible numbers share: times that can be compared, and wide ranges.

Times that can be compared are nanoseconds. Nothing here raises an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.engine.time import periods
from wcetchar.model.access import EventKind, Operation
from wcetchar.model.fitting import Place
from wcetchar.model.hardware import AccessTime, HardwareProfile, Quantity, Region, Unit
from wcetchar.model.plausibility import Finding, Severity

_WIDE: Final = 10
"""A range whose upper end is more than so many times its lower one says little."""
_UNITS: Final = ((10**9, "s"), (10**6, "ms"), (10**3, "us"))

ALWAYS_THERE: Final = (
    EventKind.ALU,
    EventKind.LOAD,
    EventKind.STORE,
    EventKind.BRANCH_TAKEN,
    EventKind.BRANCH_UNTAKEN,
    EventKind.CALL,
    EventKind.RETURN,
    EventKind.PIPELINE_REFILL,
)
"""Kinds that every kernel on every core shows."""


def pays_fetches(profile: HardwareProfile) -> bool:
    """Nothing of a fetch is hidden, so that the time of an instruction may be that of its fetch."""
    overlap = profile.core.overlap.get(Operation.FETCH)
    return overlap is None or not overlap.high


def is_a_table(profile: HardwareProfile) -> bool:
    """Access times of sections, and hardly anything of a core, as the founding paper has them: what
    is missing was not forgotten. A service with it is refused where it is priced."""
    there = sum(kind in profile.core.events for kind in ALWAYS_THERE)
    return pays_fetches(profile) and 0 < there <= len(ALWAYS_THERE) // 4


def is_a_mean(profile: HardwareProfile) -> bool:
    """All instructions take the same: what one of many takes, with the transfers of control among
    them, rather than what each of them does."""
    issue = {time for kind, time in profile.core.events.items() if kind.is_issue}
    return len(issue) == 1 and EventKind.ALU in profile.core.events


def bus_cycle(profile: HardwareProfile, region: Region) -> Fraction:
    """Of the region's own clock, in nanoseconds."""
    return periods(region.clock or profile.core.clock).nominal * region.clock_divider


def nanoseconds(value: Fraction, unit: Unit, cycle: Fraction) -> Fraction:
    return value * cycle if unit is Unit.CYCLES else value


def spelled(time: Fraction) -> str:
    """Nanoseconds as people would write them."""
    size, unit = next(((size, unit) for size, unit in _UNITS if time >= size), (1, "ns"))
    return f"{float(time / size):.4g} {unit}"


def both(time: AccessTime) -> Iterator[tuple[Quantity, str]]:
    """First and next; in the file they may be one value, of which all is said once."""
    yield time.first, "first"
    if time.next != time.first:
        yield time.next, "next"


def uncached(profile: HardwareProfile, region: Region) -> Iterator[tuple[Operation, AccessTime]]:
    """Times of accesses that ask the region's bus, and no cache."""
    for operation, time in region.times.items():
        if not profile.core.caches(region, operation):
            yield operation, time


def lines_of(profile: HardwareProfile, region: Region) -> Iterator[tuple[str, Quantity, int]]:
    """What lines take that caches load from the region: (key in the profile, time, beats over the
    region's bus)."""
    core = profile.core
    if region.line_refill is not None and core.instruction_cache is not None:
        yield "line refill", region.line_refill, _beats(region, core.instruction_cache.line)
    if region.load_miss_penalty is not None and core.data_cache is not None:
        line = core.data_cache.geometry.line
        yield "load miss penalty", region.load_miss_penalty, _beats(region, line)


def _beats(region: Region, line: int) -> int:
    return -(-line * 8 // region.bus_width)


def slowest(profile: HardwareProfile) -> Fraction:
    """Nanoseconds of the longest access or line of any region; 0 where there is none."""
    return max(
        (
            nanoseconds(time.high, time.unit, bus_cycle(profile, region))
            for region in profile.regions.values()
            for time in (
                *(access.first for _, access in uncached(profile, region)),
                *(line for _, line, _ in lines_of(profile, region)),
            )
        ),
        default=Fraction(0),
    )


def wide(quantity: Quantity, place: Place, priced: str = "upper") -> Iterator[Finding]:
    """``priced``: the end that prices are made of."""
    if quantity.low and quantity.high > quantity.low * _WIDE:
        yield Finding(
            place,
            Severity.DEAR,
            f"a range from {float(quantity.low):g} to {float(quantity.high):g}",
            f"the {priced} end is what is priced; measure it, or find it with "
            "`wcetchar profile fit`",
        )
