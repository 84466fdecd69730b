"""What the rules for implausible numbers share: times that can be compared, and wide ranges."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.engine.time import periods
from wcetchar.model.access import EventKind, Operation
from wcetchar.model.fitting import Place
from wcetchar.model.hardware import HardwareProfile, Quantity, Region, Unit
from wcetchar.model.plausibility import Finding, Severity

_WIDE: Final = 10
"""A range whose upper end is more than so many times its lower one says little."""

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


def bus_cycle(profile: HardwareProfile, region: Region) -> Fraction:
    """Of the region's own clock, in nanoseconds."""
    return periods(region.clock or profile.core.clock).nominal * region.clock_divider


def nanoseconds(value: Fraction, unit: Unit, cycle: Fraction) -> Fraction:
    return value * cycle if unit is Unit.CYCLES else value


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
