"""A hardware profile under other masters: which make it slower, and by how much.

Each function gives the same hardware in another situation, which is then priced as any other
(``pricing``), so overlaps, bursts, edges and caches count as they do alone::

    alone          nobody but the core uses the memories; they still refresh themselves
    waiting        each access waits for the other master once, however seldom that one comes
    stretched      what the bus is asked for takes 1 / (1 - u) as long (``slowdown``)
    in_bursts      that, and each access waits for a burst as well, at its longest

An access that is hidden behind its instruction can stay so while it is stretched: only what sticks
out delays the core. A hit in a cache asks no bus and is not stretched; what a miss takes more is.

``in_bursts`` is never less than what happens if others have the bus for sigma + u * x at most in
any time x: an access that needs the bus for f has had it after y with y <= f + sigma + u * y, so
(f + sigma) / (1 - u) suffices. A memory that refreshes itself meanwhile is not in this.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction

from wcetchar.engine.slowdown import stretch
from wcetchar.model.access import Operation
from wcetchar.model.hardware import (
    AccessTime,
    Core,
    HardwareProfile,
    Interference,
    Quantity,
    Region,
    Unit,
)


def shared_regions(profile: HardwareProfile) -> tuple[str, ...]:
    """What another master uses as well, by the profile's own word."""
    return tuple(name for name, one in profile.regions.items() if one.arbitration is not None)


def alone(profile: HardwareProfile) -> HardwareProfile:
    return _each(profile, profile.regions, lambda region: replace(region, arbitration=None))


def waiting(profile: HardwareProfile) -> HardwareProfile:
    """Without any word of how often the other master comes."""

    def once(region: Region) -> Region:
        if region.arbitration is None:
            return region
        return replace(region, arbitration=Interference(region.arbitration.takes))

    return _each(profile, profile.regions, once)


def stretched(profile: HardwareProfile, bus: Collection[str], taken: Fraction) -> HardwareProfile:
    """Others take a share ``taken`` of the time of a bus with these regions behind it.

    Raises:
        ValueError: nothing is left.
    """
    by = stretch(taken)
    return _each(profile, bus, lambda region: _slower(profile.core, region, by))


def in_bursts(
    profile: HardwareProfile, bus: Collection[str], taken: Fraction, burst: Fraction
) -> HardwareProfile:
    """The same, of others who take ``burst`` nanoseconds at once beyond their share.

    Raises:
        ValueError: nothing is left.
    """
    longest = Interference(Quantity.exactly(burst * stretch(taken), Unit.NANOSECONDS))
    slower = stretched(profile, bus, taken)
    return _each(slower, bus, lambda region: replace(region, arbitration=longest))


def _each(
    profile: HardwareProfile, names: Collection[str], change: Callable[[Region], Region]
) -> HardwareProfile:
    regions = {
        name: change(region) if name in names else region
        for name, region in profile.regions.items()
    }
    return replace(profile, regions=regions)


def _slower(core: Core, region: Region, by: Fraction) -> Region:
    def asked(operation: Operation, time: AccessTime) -> AccessTime:
        if core.caches(region, operation):
            return time
        return AccessTime(_times(time.first, by), _times(time.next, by))

    return replace(
        region,
        times={operation: asked(operation, time) for operation, time in region.times.items()},
        line_refill=None if region.line_refill is None else _times(region.line_refill, by),
        load_miss_penalty=(
            None if region.load_miss_penalty is None else _times(region.load_miss_penalty, by)
        ),
    )


def _times(quantity: Quantity, by: Fraction) -> Quantity:
    return Quantity(quantity.low * by, quantity.nominal * by, quantity.high * by, quantity.unit)
