"""Times of a region: its own cycles, and the edges of its clock.

A fetch or a load that hits in a cache of the core asks no bus (``Core.caches``): it takes cycles of
the core and waits for nobody. What misses is a transaction of its own, which waits for the edge of
the region's clock, and for interference where each transaction does. A load that misses waits for
writes as other accesses of the core do; a line of instructions is asked for while the core goes on,
so for writes that were begun before (``waits.wait_of_refill``).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from wcetchar.engine.errors import not_a_time
from wcetchar.engine.time import Span, periods, span_of
from wcetchar.model.hardware import HardwareProfile, Quantity, Region, Unit
from wcetchar.model.interval import Interval

_OF_A_CYCLE: Final = Fraction(1, 100)


def region_span(profile: HardwareProfile, region: Region, quantity: Quantity, *keys: str) -> Span:
    """A time of a region; its cycles are the region's. ``keys``: where it stands there.

    Raises:
        PricingError: it is no time, or the region's clock divider is below 1.
    """
    wrong = not_a_time(profile.name, "regions", region.name, *keys)
    if region.clock_divider < 1:
        raise wrong
    span = span_of(quantity, region.clock, wrong)
    return Span(span.cycles.scaled(region.clock_divider), span.nanoseconds)


def in_whole_cycles(
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


def edge_wait(region: Region) -> Fraction:
    """Cycles of the core that an access waits for the edge of the bus's clock at most."""
    return Fraction(region.clock_divider - 1)


def edge_span(region: Region) -> Span:
    """The same, where nothing is known of when it is asked for."""
    edge = edge_wait(region)
    return Span(Interval(Fraction(0), edge / 2, edge), Interval())
