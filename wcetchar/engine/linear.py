"""Prices as linear functions of those times of a profile that are ranges.

The price of an access or an event is a sum of times of the profile (see ``pricing``)::

    access   first + (beats - 1) * next - overlap,   or   beats * next - overlap
    event    event + discarded fetches * (first + (beats - 1) * next)
    line     line refill, or load miss penalty, of the region that it is loaded from
    load     read + load miss penalty - overlap,     where each load misses
             load behind store                       beside, of one that is carried out again

so where a time of the profile is a range, its value can be looked for: every price is a linear
function of it. Clocks and overlaps must be exact for that. Where a price is the dearest of several
(an unknown section, width or direction), one of them is taken, the dearest at the upper ends: the
true price is never below it, so what is fitted with it is still never too low.

Refresh and other masters without a period add ``takes`` to each access of their region, and to each
line. With a period they come by the time that a service takes, so they are told apart
(``Recurring``); the period must be exact, and successions counted: else each access would be
charged, far too much for how often they came, and so too little each time.

What an access or a line waits for accesses before it is left out, for the same reason: how much of
it is charged hangs on what a characterization counts, and what is not taken off here is in the
times that are found.

With a write buffer, a divided clock, or where refills hide or save something, prices are no sums of
times. Then what counts here is which times there are (``validation.piecewise`` finds them), not
what they come to: each write is waited for, edges are not, and each line takes all of its time.

Prices are those of one state of the caches, which the section map says. How many lines are loaded
in it is counted by what prices them (``refills``, ``data_lines``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from wcetchar.engine.errors import PricingError
from wcetchar.engine.placement import Placement, operations
from wcetchar.model.access import (
    CARRIED_OUT_AGAIN,
    LINE_LOADS,
    WAYS_OF_LINE_LOADS,
    WIDTHS,
    AccessClass,
    CoreEvent,
    Key,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.fitting import LinearPrice, LinearPrices, Place, Recurring
from wcetchar.model.hardware import HardwareProfile, Interference, Quantity, Region, Unit
from wcetchar.model.section_map import Assumption, CacheState, SectionMap

_NANOSECONDS = Fraction(10**9)
_NOTHING = LinearPrice(Fraction(0), {})
_EXACT_TIMES = "one value; times are looked for, clocks and overlaps are not"
_EXACT_PERIODS = "one value; what an interference takes is looked for, how often it comes is not"


def linear_prices(
    profile: HardwareProfile,
    section_map: SectionMap,
    fetch_width: int,
    keys: Iterable[Key],
    joint: Mapping[str, Sequence[str]] | None = None,
    *,
    successions: bool = False,
) -> LinearPrices:
    """Linear prices of ``keys``, all of which :func:`price_vector` can price, or which stand for
    lines that are loaded.

    Args:
        joint: ``Characterization.joint``.
        successions: are counted, ``Characterization.successions``.

    Raises:
        InputError: a clock, an overlap or a period is a range, or the core or a region has what no
            linear price can be said of.
    """
    if not is_linear(profile):
        _refuse_what_no_judge_prices(profile)
    if not successions and any(
        one.every is not None for r in profile.regions.values() for one in r.interferences
    ):
        raise PricingError(
            f"profile {profile.name} says how often refresh or another master comes, and where "
            "windows begin is not counted",
            expected="a characterization made with --successions",
            hint="or leave `every` out: each access waits then",
            file="profile",
            keys=("regions",),
        )
    return _Linear(profile, section_map, fetch_width, joint).all(keys)


def is_linear(profile: HardwareProfile) -> bool:
    """Its prices are sums of its times."""
    core = profile.core
    return not (
        core.write_buffer
        or any(region.clock_divider > 1 for region in profile.regions.values())
        or core.refills_hide_stalls
        or core.refills_hide_accesses
        or core.in_vain_saves is not None
    )


def _refuse_what_no_judge_prices(profile: HardwareProfile) -> None:
    """Of a profile whose prices are no sums, what would make one of them lower where a time is
    raised, or jump.

    Raises:
        PricingError: naming it.
    """
    saves = profile.core.in_vain_saves
    if saves is not None and saves.low != saves.high:
        raise PricingError(
            f"profile {profile.name}: what lines in vain save is a range",
            expected="one value: the more it is, the less a line takes, so it is not looked for",
            hint="from the core's manual; or leave it out, which is safe, and dear",
            file="profile",
            keys=("core", "instruction cache", "in vain saves"),
        )
    for region in profile.regions.values():
        for name, one in _interferences(region):
            if one.every is not None or one.takes.low != one.takes.high:
                raise PricingError(
                    f"what {name} takes is looked for, or it comes now and then, and profile "
                    f"{profile.name} has a write buffer, a divided clock, `hides stalls`, `hides "
                    "accesses` or `in vain saves`",
                    expected="measurements without it",
                    hint="say which these are, --undisturbed LABEL, and leave the others out; what "
                    "it takes is written in from the memory's own data",
                    file="profile",
                    keys=("regions", region.name, name),
                )


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
        state = section_map.data_cache
        self._each_misses = profile.core.data_cache is not None and (
            state is CacheState.ALWAYS_MISS
            or Assumption.DATA_ALIGNMENT not in section_map.assumptions
        )

    def all(self, keys: Iterable[Key]) -> LinearPrices:
        prices = {key: self._price(key) for key in keys}
        self._refuse_known_edges(prices)
        return LinearPrices(
            prices, self._free, self._at_least, frozenset(self._simplified), self._recurring()
        )

    def _refuse_known_edges(self, prices: Mapping[Key, LinearPrice]) -> None:
        """Where fetches never wait, the edge that an access finds is known at whole cycles alone
        (``waits``): a time that is raised to one of them would make it sooner.

        Raises:
            PricingError: they might never wait.
        """
        core = self._profile.core
        if all(region.clock_divider == 1 for region in self._profile.regions.values()):
            return
        if core.instruction_cache or core.data_cache or core.write_buffer > 1:
            return
        fetches = [
            price
            for key, price in prices.items()
            if isinstance(key, AccessClass) and key.operation is Operation.FETCH
        ]
        least = {place: quantity.low for place, quantity in self._free.items()}
        if not any(price.at(least) > 0 for price in fetches):
            raise PricingError(
                f"profile {self._profile.name} has a divided clock, and fetches that may never "
                "wait: what accesses wait for edges then jumps with the times",
                expected="a fetch that takes longer than its overlap, or a cache",
                hint="give the times of the divided region from its own data, without `clock "
                "divider`, as many cycles of the core; and its edge in `first`",
                file="profile",
                keys=("regions",),
            )

    def _recurring(self) -> tuple[Recurring, ...]:
        """All of the profile: another region's are as long in the memory's way as its own."""
        found = [
            Recurring(
                self._time(("regions", region.name, name, "takes"), one.takes, region.clock),
                self._period_of(region, name, one),
            )
            for region in self._profile.regions.values()
            for name, one in _interferences(region)
            if one.every is not None
        ]
        shares = (self._at_upper_ends(one.takes) / one.every for one in found)
        if sum(shares, start=Fraction(0)) >= 1:
            raise PricingError(
                f"profile {self._profile.name}: at the upper ends of their ranges, refresh and "
                "other masters take all of the time",
                expected="`takes` whose upper ends come to less than `every`, all together",
                file="profile",
                keys=("regions",),
            )
        return tuple(found)

    def _period_of(self, region: Region, name: str, interference: Interference) -> Fraction:
        assert interference.every is not None
        place = ("regions", region.name, name, "every")
        period = self._exact(interference.every, place, _EXACT_PERIODS)
        return period * self._unit_of(interference.every, region.clock, place)

    def _each(self, region: Region) -> LinearPrice:
        """What each access of a region waits for refresh and other masters."""
        return _sum(
            *(
                self._time(("regions", region.name, name, "takes"), one.takes, region.clock)
                for name, one in _interferences(region)
                if one.every is None
            )
        )

    def _price(self, key: Key) -> LinearPrice:
        if isinstance(key, Succession):
            return _NOTHING  # nothing waits for another access
        if isinstance(key, CoreEvent):
            return self._event(key)
        if key.pattern is Pattern.REALIGNED and Assumption.CODE_ALIGNMENT in self._map.assumptions:
            return _NOTHING
        choices = [
            self._access(key, region, operation, width)
            for region in self._placement.reached(key.section, key.operation)
            for operation in operations(region, key.operation)
            for width in ([key.width] if key.width else [w for w in WIDTHS if w])
        ]
        return self._dearest(key, choices)

    def _line(self, event: CoreEvent) -> LinearPrice:
        """Of a line of instructions that is loaded."""
        region = self._placement.region(event.section)
        if region is None or region.line_refill is None:
            return _NOTHING
        place = ("regions", region.name, "line refill")
        return _sum(self._time(place, region.line_refill, region.clock), self._each(region))

    def _load(self, event: CoreEvent) -> LinearPrice:
        """Of a load that misses, or is carried out again."""
        cache = self._profile.core.data_cache
        if cache is None or self._each_misses:
            return _NOTHING
        cached = [
            region
            for region in self._placement.reached(event.section, Operation.READ)
            if region.load_miss_penalty is not None
        ]
        if not cached:
            return _NOTHING
        if event.kind in CARRIED_OUT_AGAIN:
            if cache.load_behind_store is None:
                return _NOTHING
            place = ("core", "data cache", "load behind store")
            return self._time(place, cache.load_behind_store, None)
        ways = max(w for w in WAYS_OF_LINE_LOADS if w <= cache.geometry.ways)
        if event.kind is not LINE_LOADS[cache.geometry.line, ways][0]:
            return _NOTHING
        return self._dearest(event, [self._penalty(region) for region in cached])

    def _penalty(self, region: Region) -> LinearPrice:
        assert region.load_miss_penalty is not None
        place = ("regions", region.name, "load miss penalty")
        return _sum(self._time(place, region.load_miss_penalty, region.clock), self._each(region))

    def _event(self, event: CoreEvent) -> LinearPrice:
        if event.kind.is_line_entry:
            return self._line(event)
        if event.kind.is_of_data_cache:
            return self._load(event)
        core = self._profile.core
        kind = core.priced_as(event.kind)
        promised = Assumption.CODE_ALIGNMENT in self._map.assumptions
        own = _NOTHING
        if event.kind.is_realigned and promised:
            return own
        if kind in core.events or not kind.is_stall:
            own = self._time(("core", "events", kind.value), core.events[kind], None)
        discarded = core.discarded_fetches.get(kind, 0)
        if not discarded:
            return own
        choices = [
            _sum(
                own,
                (self._full(region, Operation.FETCH, self._width, first=True), discarded),
                (self._beside(region, Operation.FETCH), discarded),
            )
            for region in self._placement.fetched_from(event.section)
        ]
        return self._dearest(event, choices)

    def _access(
        self, key: AccessClass, region: Region, operation: Operation, width: int
    ) -> LinearPrice:
        first = key.pattern not in (Pattern.NEXT, Pattern.REALIGNED)
        full = self._full(region, operation, width, first=first)
        beside = self._beside(region, operation)
        if (
            operation is Operation.READ
            and self._each_misses
            and region.load_miss_penalty is not None
        ):
            beside = self._penalty(region)
        hidden = min(self._overlaps(operation))
        if not hidden:
            return _sum(full, beside)
        price = _sum(full, (LinearPrice(Fraction(1), {}), -hidden))
        if not price.coefficients or self._at_upper_ends(price) <= 0:
            least = LinearPrice(max(Fraction(0), self._at_upper_ends(price)), {})
            return _sum(least, beside)
        what = "first" if first else "next"
        label = f"{operation.value} {width} {what} in {region.name} is not less than its overlap"
        self._at_least[label] = price
        return _sum(price, beside)

    def _beside(self, region: Region, operation: Operation) -> LinearPrice:
        """What an access waits beside its own time; one that hits in a cache asks nobody."""
        if self._profile.core.caches(region, operation):
            return _NOTHING
        return self._each(region)

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
        width = max(width, self._profile.core.moves_at_least(operation))
        beats = max(1, -(-width // region.bus_width))
        where = ("regions", region.name, operation.value)
        if self._profile.core.caches(region, operation):
            # A hit takes cycles of the core, however wide it is.
            end, time = (
                ("first", region.times[operation].first)
                if first
                else ("next", region.times[operation].next)
            )
            return self._time((*where, end), time, None)
        following = self._time((*where, "next"), region.times[operation].next, region.clock)
        if not first:
            return _sum((following, beats))
        start = self._time((*where, "first"), region.times[operation].first, region.clock)
        return _sum(start, (following, beats - 1))

    def _time(self, place: Place, quantity: Quantity, clock: Quantity | None) -> LinearPrice:
        unit = self._unit_of(quantity, clock, place)
        if quantity.low == quantity.high:
            return LinearPrice(quantity.high * unit, {})
        self._free[place] = quantity
        return LinearPrice(Fraction(0), {place: unit})

    def _unit_of(self, quantity: Quantity, clock: Quantity | None, place: Place) -> Fraction:
        """Nanoseconds."""
        if quantity.unit is not Unit.CYCLES:
            return Fraction(1)
        if clock is not None:
            return _NANOSECONDS / self._exact(clock, (*place[:2], "clock"))
        return self._period * _divider(self._profile, place)

    def _dearest(self, key: Key, choices: list[LinearPrice]) -> LinearPrice:
        if len(choices) > 1:
            self._simplified.add(key)
        return max(choices, key=self._at_upper_ends)

    def _at_upper_ends(self, price: LinearPrice) -> Fraction:
        return price.at({place: quantity.high for place, quantity in self._free.items()})

    def _exact(self, quantity: Quantity, keys: Place, expected: str = _EXACT_TIMES) -> Fraction:
        if quantity.low != quantity.high:
            raise PricingError(
                f"profile {self._profile.name}: {'.'.join(keys)} is a range",
                expected=expected,
                hint="measure with one, and write it down",
                file="profile",
                keys=keys,
            )
        return quantity.high


def unit_of(profile: HardwareProfile, place: Place, quantity: Quantity) -> Fraction:
    """One unit of a time at its place, in nanoseconds, where its clock is slowest."""
    if quantity.unit is not Unit.CYCLES:
        return Fraction(1)
    own = profile.regions[place[1]].clock if place[0] == "regions" else None
    if own is not None and not _is_of_core(profile, place):
        return _NANOSECONDS / own.low
    return _NANOSECONDS / profile.core.clock.low * _divider(profile, place)


def _divider(profile: HardwareProfile, place: Place) -> int:
    """Cycles of the core in one of the place's."""
    if place[0] != "regions" or _is_of_core(profile, place):
        return 1
    return profile.regions[place[1]].clock_divider


def _is_of_core(profile: HardwareProfile, place: Place) -> bool:
    """A hit in a cache takes cycles of the core."""
    operation = next((o for o in Operation if o.value == place[2]), None)
    return operation is not None and profile.core.caches(profile.regions[place[1]], operation)


def _interferences(region: Region) -> list[tuple[str, Interference]]:
    """With their keys."""
    both = (("refresh", region.refresh), ("arbitration", region.arbitration))
    return [(name, one) for name, one in both if one is not None]


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


def together(prices: Iterable[LinearPrices]) -> LinearPrices:
    """What is to be found in several situations; prices are those of each."""
    free: dict[Place, Quantity] = {}
    at_least: dict[str, LinearPrice] = {}
    simplified: frozenset[Key] = frozenset()
    for one in prices:
        free |= one.free
        at_least |= one.at_least
        simplified |= one.simplified
    return LinearPrices({}, free, at_least, simplified)


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
        tuple(Recurring(renamed(one.takes), one.every) for one in prices.recurring),
    )
