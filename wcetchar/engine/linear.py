"""Prices as linear functions of those times of a profile that are ranges.

The price of an access or an event is a sum of times of the profile (see ``pricing``)::

    access   first + (beats - 1) * next - overlap,   or   beats * next - overlap
    event    event + discarded fetches * (first + (beats - 1) * next)

so where a time of the profile is a range, its value can be looked for: every price is a linear
function of it. Clocks and overlaps must be exact for that. Where a price is the dearest of several
(an unknown section, width or direction), one of them is taken, the dearest at the upper ends: the
true price is never below it, so what is fitted with it is still never too low.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from wcetchar.engine.errors import PricingError
from wcetchar.engine.placement import Placement, operations
from wcetchar.model.access import (
    WIDTHS,
    AccessClass,
    CoreEvent,
    Key,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.fitting import LinearPrice, LinearPrices, Place
from wcetchar.model.hardware import HardwareProfile, Quantity, Region, Unit
from wcetchar.model.section_map import Assumption, SectionMap

_NANOSECONDS = Fraction(10**9)


def linear_prices(
    profile: HardwareProfile,
    section_map: SectionMap,
    fetch_width: int,
    keys: Iterable[Key],
    joint: Mapping[str, Sequence[str]] | None = None,
) -> LinearPrices:
    """Linear prices of ``keys``, all of which :func:`price_vector` can price.

    Args:
        joint: ``Characterization.joint``.

    Raises:
        InputError: a clock or an overlap is a range, accesses wait for more than their own time, or
            there is a cache.
    """
    if profile.core.instruction_cache is not None:
        raise PricingError(
            f"profile {profile.name} has an instruction cache, and what its refills take cannot be "
            "told from other times",
            expected="a profile without one, and measurements with all code in the cache",
            file="profile",
            keys=("core", "instruction cache"),
        )
    if profile.core.data_cache is not None:
        raise PricingError(
            f"profile {profile.name} has a data cache, and which loads missed cannot be told from "
            "measured times",
            expected="a profile without one, and measurements in which every load hits or none",
            file="profile",
            keys=("core", "data cache"),
        )
    waits = profile.core.write_buffer or any(
        region.clock_divider > 1 or region.interferences for region in profile.regions.values()
    )
    if waits:
        raise PricingError(
            f"profile {profile.name} has a write buffer, a divided clock, refresh or arbitration",
            expected="a profile whose prices are sums of its times",
            hint="fit it where nothing of this is, and add it",
            file="profile",
            keys=("core",),
        )
    return _Linear(profile, section_map, fetch_width, joint).all(keys)


class _Linear:
    def __init__(
        self,
        profile: HardwareProfile,
        section_map: SectionMap,
        width: int,
        joint: Mapping[str, Sequence[str]] | None,
    ) -> None:
        self._profile = profile
        self._map = section_map
        self._placement = Placement(profile, section_map, joint)
        self._width = width
        self._period = _NANOSECONDS / self._exact(profile.core.clock, ("core", "clock"))
        self._free: dict[Place, Quantity] = {}
        self._at_least: dict[str, LinearPrice] = {}
        self._simplified: set[Key] = set()

    def all(self, keys: Iterable[Key]) -> LinearPrices:
        prices = {key: self._price(key) for key in keys}
        return LinearPrices(prices, self._free, self._at_least, frozenset(self._simplified))

    def _price(self, key: Key) -> LinearPrice:
        if isinstance(key, Succession):
            return LinearPrice(Fraction(0), {})  # nothing waits for another access
        if isinstance(key, CoreEvent):
            return self._event(key)
        if key.pattern is Pattern.REALIGNED and Assumption.CODE_ALIGNMENT in self._map.assumptions:
            return LinearPrice(Fraction(0), {})
        choices = [
            self._access(key, region, operation, width)
            for region in self._placement.reached(key.section, key.operation)
            for operation in operations(region, key.operation)
            for width in ([key.width] if key.width else [w for w in WIDTHS if w])
        ]
        return self._dearest(key, choices)

    def _event(self, event: CoreEvent) -> LinearPrice:
        core = self._profile.core
        kind = event.kind.priced_as
        promised = Assumption.CODE_ALIGNMENT in self._map.assumptions
        own = LinearPrice(Fraction(0), {})
        if event.kind.is_realigned and promised:
            return own
        if kind in core.events or not kind.is_stall:
            own = self._time(("core", "events", kind.value), core.events[kind], None)
        discarded = core.discarded_fetches.get(kind, 0)
        if not discarded:
            return own
        choices = [
            _sum(own, (self._full(region, Operation.FETCH, self._width, first=True), discarded))
            for region in self._placement.fetched_from(event.section)
        ]
        return self._dearest(event, choices)

    def _access(
        self, key: AccessClass, region: Region, operation: Operation, width: int
    ) -> LinearPrice:
        first = key.pattern not in (Pattern.NEXT, Pattern.REALIGNED)
        full = self._full(region, operation, width, first=first)
        hidden = min(self._overlaps(operation))
        if not hidden:
            return full
        price = _sum(full, (LinearPrice(Fraction(1), {}), -hidden))
        if not price.coefficients or self._at_upper_ends(price) <= 0:
            return LinearPrice(max(Fraction(0), self._at_upper_ends(price)), {})
        what = "first" if first else "next"
        label = f"{operation.value} {width} {what} in {region.name} is not less than its overlap"
        self._at_least[label] = price
        return price

    def _overlaps(self, operation: Operation) -> list[Fraction]:
        overlap = self._profile.core.overlap
        if operation is Operation.ACCESS and operation not in overlap:
            return [*self._overlaps(Operation.READ), *self._overlaps(Operation.WRITE)]
        if operation not in overlap:
            return [Fraction(0)]
        one = overlap[operation]
        hidden = self._exact(one, ("core", "overlap", operation.value))
        return [hidden * (self._period if one.unit is Unit.CYCLES else 1)]

    def _full(
        self, region: Region, operation: Operation, width: int, *, first: bool
    ) -> LinearPrice:
        width = max(width, self._profile.core.least_width.get(operation, 0))
        beats = max(1, -(-width // region.bus_width))
        where = ("regions", region.name, operation.value)
        following = self._time((*where, "next"), region.times[operation].next, region.clock)
        if not first:
            return _sum((following, beats))
        start = self._time((*where, "first"), region.times[operation].first, region.clock)
        return _sum(start, (following, beats - 1))

    def _time(self, place: Place, quantity: Quantity, clock: Quantity | None) -> LinearPrice:
        unit = Fraction(1)
        if quantity.unit is Unit.CYCLES:
            unit = (
                self._period
                if clock is None
                else _NANOSECONDS / self._exact(clock, ("regions", place[1], "clock"))
            )
        if quantity.low == quantity.high:
            return LinearPrice(quantity.high * unit, {})
        self._free[place] = quantity
        return LinearPrice(Fraction(0), {place: unit})

    def _dearest(self, key: Key, choices: list[LinearPrice]) -> LinearPrice:
        if len(choices) > 1:
            self._simplified.add(key)
        return max(choices, key=self._at_upper_ends)

    def _at_upper_ends(self, price: LinearPrice) -> Fraction:
        return price.constant + sum(
            (c * self._free[place].high for place, c in price.coefficients.items()),
            start=Fraction(0),
        )

    def _exact(self, quantity: Quantity, keys: Place) -> Fraction:
        if quantity.low != quantity.high:
            raise PricingError(
                f"profile {self._profile.name}: {'.'.join(keys)} is a range",
                expected="one value; times are looked for, clocks and overlaps are not",
                hint="measure with one clock, and write it down",
                file="profile",
                keys=keys,
            )
        return quantity.high


def _sum(*parts: LinearPrice | tuple[LinearPrice, Fraction | int]) -> LinearPrice:
    """Sum of prices, each times its factor."""
    constant = Fraction(0)
    coefficients: dict[Place, Fraction] = {}
    for part in parts:
        price, factor = part if isinstance(part, tuple) else (part, 1)
        constant += price.constant * factor
        for place, coefficient in price.coefficients.items():
            coefficients[place] = coefficients.get(place, Fraction(0)) + coefficient * factor
    return LinearPrice(constant, {p: c for p, c in coefficients.items() if c})


def tied(prices: LinearPrices, same: Mapping[Place, Place]) -> LinearPrices:
    """The same prices where several places are one time of the file; ``same``: place -> it."""

    def renamed(price: LinearPrice) -> LinearPrice:
        coefficients: dict[Place, Fraction] = {}
        for place, coefficient in price.coefficients.items():
            one = same.get(place, place)
            coefficients[one] = coefficients.get(one, Fraction(0)) + coefficient
        return LinearPrice(price.constant, coefficients)

    return LinearPrices(
        {key: renamed(price) for key, price in prices.prices.items()},
        {same.get(place, place): quantity for place, quantity in prices.free.items()},
        {label: renamed(price) for label, price in prices.at_least.items()},
        prices.simplified,
    )
