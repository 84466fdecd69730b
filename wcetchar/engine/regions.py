"""Times of a region: its own cycles, and the edges of its clock.

A fetch or a load that hits in a cache of the core asks no bus (``Core.caches``): it takes cycles of
the core and waits for nobody. What misses is a transaction of its own, which waits for the edge of
the region's clock, and for interference where each transaction does. A load that misses waits for
writes as other accesses of the core do; a line of instructions is asked for while the core goes on,
so for writes that were begun before (``waits.wait_of_refill``).
"""

from __future__ import annotations

from fractions import Fraction

from wcetchar.engine.errors import not_a_time
from wcetchar.engine.time import Span, span_of
from wcetchar.model.hardware import HardwareProfile, Quantity, Region
from wcetchar.model.interval import Interval


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


def edge_wait(region: Region) -> Fraction:
    """Cycles of the core that an access waits for the edge of the bus's clock at most."""
    return Fraction(region.clock_divider - 1)


def edge_span(region: Region) -> Span:
    """The same, where nothing is known of when it is asked for."""
    edge = edge_wait(region)
    return Span(Interval(Fraction(0), edge / 2, edge), Interval())
