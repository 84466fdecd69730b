"""Looks for numbers of a profile that can be meant but seldom are.

Nothing here is an error: a profile that can be read can be priced. What is looked for are slips
that make estimates too low (a unit, a zero that was forgotten, cycles of the wrong clock), and
those that make them needlessly dear. Each rule says which it is."""

from __future__ import annotations

from collections.abc import Iterator

from wcetchar.engine import plausible_caches, plausible_events, plausible_waits
from wcetchar.engine.plausible_regions import (
    clock_of,
    of_default_map,
    of_region,
    of_slow_clock,
)
from wcetchar.model.hardware import HardwareProfile, Region
from wcetchar.model.plausibility import Finding


def implausible(profile: HardwareProfile) -> tuple[Finding, ...]:
    """Everything that looks like a slip, in the order of the file."""
    return (
        *clock_of(profile.core.clock, ("core", "clock")),
        *of_slow_clock(profile),
        *plausible_events.of_core(profile),
        *plausible_waits.of_core(profile),
        *plausible_caches.of_core(profile),
        *(finding for region in profile.regions.values() for finding in _region(profile, region)),
        *plausible_waits.together(profile),
        *of_default_map(profile),
    )


def _region(profile: HardwareProfile, region: Region) -> Iterator[Finding]:
    yield from of_region(profile, region)
    yield from plausible_caches.of_region(profile, region)
    yield from plausible_waits.of_region(profile, region)
