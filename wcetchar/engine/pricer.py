"""The price of one access class, event or succession.

Price of one access of class (section, operation, width, pattern), in exact nanoseconds::

    region = map(section)                      beats = max(1, ceil(width / bus width))
    full   = first + (beats - 1) * next        pattern single or first
           = beats * next                      pattern next (and realigned)
    price  = max(0, full - overlap(operation)) + edge

``width`` is at least the core's least width for the operation. ``edge``: with a clock divider, an
access begins with a cycle of the region's clock, divider - 1 cycles of the core later at most. One
access has one overlap, however many beats it takes. Price of one core event::

    price  = event + discarded fetches * full first fetch in the region of the event's section

A stall that the profile does not price costs nothing: the times of instructions hold it. A profile
that prices stalls needs a characterization that counts them.

Where successions are counted, a single access of known direction is priced without its edge, and
where the core has a write buffer a single write costs nothing: what they make the next access wait
is the price of the succession (``waits``). A write buffer needs them, for what is under way when a
service begins waits for nobody else.

A region that refreshes itself or is taken by another master makes an access wait. Where such an
interference comes at least T_i apart, all prices hold a share of it (``interference``). Without T_i
or without successions, each access to the region waits once: its price has t_i added. So does each
write that is under way when a window begins, and what waits for it is charged that as well. Nor is
it known without successions how far behind another one an access is: each may find what is left of
a ``consecutive access`` of more than a cycle.

Inputs are intervals; a price is the interval of everything that they allow, so its upper end is
safe. Cycles of the core's clock are subtracted as cycles before they become time: an access and
the event that hides it run on the same edges of the same clock. Cycles of a region's own clock
are independent of them.

What cannot be known is priced at the dearest: an unknown width at the dearest width, an unknown
direction at the dearer of read and write (unless the region states a price for it), an unknown
section at the dearest region that permits the operation. The low end then is the cheapest choice.

Lines that an instruction cache loads come on top, service by service (``refills``). Loads that miss
in a data cache are core events, of the section of the data (``data_cache``).

Caveat: prices add up. That is safe as long as no access is made dearer by the ones before it
beyond what ``first`` and the above state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache, cached_property
from typing import NoReturn

from wcetchar.engine.data_cache import DataCachePrices
from wcetchar.engine.errors import PricingError, not_a_time
from wcetchar.engine.interference import Rate, rate_of
from wcetchar.engine.placement import Placement, operations
from wcetchar.engine.prices import Price
from wcetchar.engine.refills import RefillWaits
from wcetchar.engine.regions import edge_span, region_span
from wcetchar.engine.time import ZERO_SPAN, Span, in_nanoseconds, less, plus, span_of, times
from wcetchar.engine.waits import (
    CALLS,
    ISSUES,
    READS,
    Bus,
    leaves,
    longest_under_way,
    longest_wait_of_refill,
    passed,
    wait_of,
    wait_of_refill,
)
from wcetchar.errors import did_you_mean
from wcetchar.model.access import (
    FIRST_STALLS,
    SECOND_STALLS,
    UNKNOWN_SECTION,
    WIDTHS,
    AccessClass,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.characterization import Characterization
from wcetchar.model.hardware import HardwareProfile, Quantity, Region, Unit
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import Assumption, SectionMap
from wcetchar.model.symbolic import in_order, is_nothing, least, most

CORE = "core"
"""What stands in the place of a region for core events."""


class Pricer:
    """Prices single keys and collects the sections that the map leaves out."""

    def __init__(
        self,
        profile: HardwareProfile,
        section_map: SectionMap,
        characterization: Characterization,
        keys: Iterable[Key],
    ) -> None:
        self.profile = profile
        self.clock = profile.core.clock
        self.map = section_map
        self.fetch_width = characterization.fetch_width
        self.successions = characterization.successions
        self.placement = Placement(profile, section_map, characterization.joint)
        self.unmapped: dict[str, None] = {}
        if self.clock.unit is not Unit.HERTZ or self.clock.low <= 0:
            raise not_a_time(self.profile.name, "core", "clock")
        for kind, count in profile.core.discarded_fetches.items():
            if count < 0:
                raise PricingError(
                    f"profile {profile.name}: a number of discarded fetches cannot be negative: "
                    f"{kind.value} {count}",
                    file="profile",
                    keys=("core", "discarded_fetches"),
                )
        self._refuse_second_stalls()
        for region in profile.regions.values():
            for one in region.interferences:
                if one.every is not None and one.every.low <= 0:
                    raise not_a_time(self.profile.name, "regions", region.name)
        self._rate, self._each = rate_of(profile, self.successions, self._region_span)
        self.data_cache = DataCachePrices(profile, section_map, characterization, self.line_waits)
        self._keys = tuple(keys)

    def _refuse_second_stalls(self) -> None:
        core = self.profile.core
        for second, of in SECOND_STALLS.items():
            for first in FIRST_STALLS:
                priced = core.prices(first) or first is of
                longest = core.cycles(core.priced_as(first))
                if second in core.events and priced and not in_order(core.cycles(second), longest):
                    raise PricingError(
                        f"profile {self.profile.name}: {second.value} takes longer than "
                        f"{first.value}, which alone is counted where an instruction has both",
                        expected=f"a time of no more than that of {first.value}",
                        hint=f"raise {first.value}: what waits for the instruction before the last "
                        "waits no longer than for the last",
                        file="profile",
                        keys=("core", "events", second.value),
                    )

    def _region_span(self, region: Region, quantity: Quantity) -> Span:
        return region_span(self.profile, region, quantity)

    def line_waits(self, region: Region) -> Interval:
        """What a line that is loaded may wait for, beside writes, in nanoseconds."""
        return in_nanoseconds(plus(self._each[region.name], edge_span(region)), self.clock)

    def longest_under_way(self) -> Fraction:
        """How long writes that are begun together are under way at most, in nanoseconds. Where
        none go on behind the core, what is left of a bus's cycle behind the last access."""
        if self.profile.core.write_buffer:
            return longest_under_way(self._bus, self._rate)
        edges = [
            in_nanoseconds(edge_span(region), self.clock).high
            for operation in (Operation.READ, Operation.WRITE)
            for region in self.placement.permitting(operation)
        ]
        return most(Fraction(0), *edges)

    def left_of_turnaround(self) -> Fraction:
        """What an access waits for the turnaround of one that was not right before it, at most, in
        nanoseconds: an instruction lies between, which takes a cycle."""
        cycle = Span(Interval(Fraction(1), Fraction(1), Fraction(1)), Interval())
        return less(self._own(EventKind.CONSECUTIVE_ACCESS), cycle, self.clock).high

    def waits_of_refills(self) -> RefillWaits:
        """What lines of instructions may wait for before they are loaded."""

        def reached(access: AccessClass) -> list[Region]:
            """Of a service that may follow another, of which not all has a place."""
            return self.placement.reached(access.section, access.operation)

        known: dict[tuple[Succession, str], Fraction] = {}

        def behind(succession: Succession, region: Region) -> Fraction:
            key = succession, region.name
            if key not in known:
                known[key] = wait_of_refill(succession, replace(self._bus, reached=reached), region)
                if succession.before is None and not succession.settled:
                    known[key] += self._writes_wait(region)
            return known[key]

        @cache
        def waited(succession: Succession, name: str) -> tuple[Interval, Interval] | None:
            """For what is before the access, and for the access."""
            access = succession.access
            assert access is not None
            around = [access] if succession.before is None else [succession.before, access]
            regions = [reached(one) for one in around]
            if any(not each or name in {one.name for one in each} for each in regions):
                return None
            if self.profile.core.write_buffer > 1 and (
                Operation.WRITE in self.profile.regions[name].times
            ):
                return None  # a write of long ago may be in the queue
            if any(len(each) > 1 for each in regions):
                return Interval(), Interval()  # what is charged is of the dearest of these
            own = self._access(access).time
            if succession.before is not None and any(map(_may_be_fetched_from, regions[0])):
                # What is fetched there may have waited for the first access before this line.
                return Interval(), own
            bus = replace(self._bus, reached=reached)
            wait = wait_of(succession, bus)
            # What late transfers find held is no wait of the access, and may be before the line.
            held = in_nanoseconds(times(bus.held, succession.late), self.clock).high
            low = most(Fraction(0), wait.low - held)
            # The edge is waited for behind the line.
            if any(one.clock_divider > 1 for each in regions for one in each):
                return Interval(low, low, low), Interval(own.low, own.low, own.low)
            nominal = most(low, wait.nominal - held)
            return Interval(low, nominal, most(nominal, wait.high - held)), own

        def queued(succession: Succession, region: Region) -> Interval:
            before, access = succession.before, succession.access
            if before is None or access is None or self.profile.core.write_buffer < 2:
                return Interval()
            # A line from a memory that is written waits for all of a queue; and where a read was
            # before, for the bus, it may be the core that waits.
            fetched = any(Operation.FETCH in there.times for there in reached(access))
            if fetched or not before.may_be_posted:
                return Interval()
            meanwhile = waited(succession, region.name)
            return Interval() if meanwhile is None else meanwhile[0]

        @cache
        def longest(name: str) -> Fraction:
            region = self.profile.regions[name]
            return longest_wait_of_refill(self._bus, region) + self._writes_wait(region)

        return RefillWaits(
            line=self.line_waits,
            counted=self.successions,
            longest=lambda region: longest(region.name),
            behind=behind,
            meanwhile=lambda succession, region: waited(succession, region.name),
            queued=queued,
        )

    def notes(self) -> Iterator[str]:
        """What the prices assume."""
        core, regions = self.profile.core, self.profile.regions.values()
        used = {key.section for key in self._keys}
        for name, parts in self.placement.joint.items():
            if name in used and len({self.placement.placed.get(part) for part in parts}) > 1:
                yield (
                    f"an access to {name} goes to one of {listed(parts)}: it is priced at the "
                    "dearest"
                )
        if core.write_buffer:
            yield (
                "a write goes on behind the core, and its next access waits for it; when a service "
                "begins, one to the slowest region is under way"
            )
        if any(region.clock_divider > 1 for region in regions):
            yield (
                "an access waits for the edge of its bus's clock, the longest where that is not "
                "known"
            )
        if self.rate.recurring:
            yield (
                "refresh and other masters come as often as they can, and once right at the "
                "beginning: prices hold their share"
            )
        elif any(region.interferences for region in regions):
            yield (
                "each access waits for refresh and for other masters of its region, once, however "
                "many beats it takes"
            )
        in_ns = {
            region.name
            for region in regions
            if region.clock is None
            for time in region.times.values()
            if Unit.NANOSECONDS in (time.first.unit, time.next.unit)
        }
        if in_ns:
            yield (
                f"times of {listed(in_ns)} in ns are taken as they are: a core that is stopped for "
                "whole cycles may wait for a part of one more"
            )
        apart = [region.name for region in regions if region.clock is not None]
        if apart:
            yield (
                f"{listed(apart)}: a clock of its own; what a request waits for it is in `first`"
            )
        yield from self.data_cache.notes()
        if core.instruction_cache is not None:
            past = {
                region.name
                for name in dict.fromkeys(key.section for key in self._keys)
                for region in self.placement.reached(name, Operation.FETCH)
                if region.line_refill is None and name != UNKNOWN_SECTION
            }
            if past:
                yield f"instructions from {listed(past)} go past the instruction cache"

    def unknown_regions(self) -> list[PricingError]:
        """Regions that the profile does not have, and sections are placed in, used or not; each at
        the first such section, and those of the map before those of the profile."""
        into: dict[tuple[bool, str], list[str]] = {}
        for section, region in self.placement.placed.items():
            if region not in self.profile.regions:
                elsewhere = section not in self.map.sections
                into.setdefault((elsewhere, region), []).append(section)
        return [
            PricingError(
                f"{_named_sections(sections)} placed in region {region}, which profile "
                f"{self.profile.name} does not have",
                expected=f"one of {listed(self.profile.regions)}",
                hint=did_you_mean(region, self.profile.regions),
                file="profile" if elsewhere else "map",
                keys=("default_map" if elsewhere else "sections", sections[0]),
            )
            for (elsewhere, region), sections in sorted(into.items())
        ]

    def unmapped_error(self) -> PricingError:
        names = listed(self.unmapped)
        return PricingError(
            f"no region holds {'section' if len(self.unmapped) == 1 else 'sections'} {names}",
            expected=f"under sections: a region of {listed(self.profile.regions)} for each",
            hint=f"add them to the section map {self.map.name}",
            file="map",
            keys=("sections",),
        )

    def price(self, key: Key) -> Price:
        if isinstance(key, Succession):
            return self._succession(key)
        return self._access(key) if isinstance(key, AccessClass) else self._event(key)

    def _access(self, access: AccessClass) -> Price:
        if access.pattern is Pattern.REALIGNED and access.operation is not Operation.FETCH:
            raise PricingError(
                f"only fetches can be {Pattern.REALIGNED.value}: {access}", file="map", keys=()
            )
        regions = self._regions(access.section, access.operation)
        if regions is None:
            return Price("", Interval())
        if access.pattern is Pattern.REALIGNED and (
            Assumption.CODE_ALIGNMENT in self.map.assumptions
        ):
            return Price(_places(regions), Interval())
        if self._waits_later(access):
            waits = [in_nanoseconds(self._each[region.name], self.clock) for region in regions]
            return Price(_places(regions), _dearest(waits))
        turned = self._turned(access)
        choices = [
            less(full, hidden, self.clock)
            + in_nanoseconds(self._beside(access, region), self.clock)
            + turned
            + (self.data_cache.of_read(region) if operation is Operation.READ else Interval())
            for region in regions
            for operation in operations(region, access.operation)
            for full in self._full_times(region, operation, access.width, access.pattern)
            for hidden in self._overlaps(operation)
        ]
        return Price(_places(regions), _dearest(choices))

    def _turned(self, access: AccessClass) -> Interval:
        """How far behind another access it is asked for is not known without successions: it may
        find what is left of a turnaround."""
        again = access.pattern in (Pattern.NEXT, Pattern.REALIGNED)
        if self.successions or again or access.operation is Operation.FETCH:
            return Interval()
        return Interval().up_to(self.left_of_turnaround())

    def _waits_later(self, access: AccessClass) -> bool:
        """The next access waits for it, not the core."""
        return bool(self.profile.core.write_buffer) and self.successions and access.may_be_posted

    def _beside(self, access: AccessClass, region: Region) -> Span:
        """What an access may wait for beside its full time."""
        waits = self._each[region.name]
        if self.profile.core.caches(region, access.operation):
            return ZERO_SPAN
        single = access.pattern is Pattern.SINGLE and access.operation is not Operation.FETCH
        if self.successions and single:
            return waits  # which edge it finds is the succession's
        return plus(waits, edge_span(region))

    def _succession(self, succession: Succession) -> Price:
        access = succession.access
        regions = [] if access is None else self._regions(access.section, access.operation)
        if succession.before is not None:
            self._regions(succession.before.section, succession.before.operation)
        if regions is None or self.unmapped:
            return Price("", Interval())  # reported elsewhere
        where = _places(regions) if regions else CORE
        wait = wait_of(succession, self._bus)
        unknown = succession.before is None and not succession.settled
        if unknown and (access is not None or leaves(succession)):
            writable = self._bus.writable()
            others = most(Fraction(0), *(self._writes_wait(region) for region in writable))
            wait = wait.up_to(wait.high + others)
        return Price(where, wait)

    def _writes_wait(self, region: Region) -> Fraction:
        """What writes to a region that are under way when a window begins have to wait for others,
        in nanoseconds. Where each access waits, no price of the window holds it: they are the
        caller's."""
        if Operation.WRITE not in region.times:
            return Fraction(0)
        each = in_nanoseconds(self._each[region.name], self.clock).high
        return each * self.profile.core.write_buffer

    @cached_property
    def _bus(self) -> Bus:
        core = self.profile.core
        bus = Bus(
            clock=self.clock,
            posted=core.write_buffer,
            apart=not any(
                Operation.WRITE in region.times and _may_be_fetched_from(region)
                for region in self.profile.regions.values()
            ),
            edges_known=core.write_buffer <= 1 and self._edges_known(),
            widest=core.data_width,
            overlap=self._overlaps(Operation.WRITE)[0],
            overlaps=tuple(
                one
                for operation in (Operation.READ, Operation.WRITE, Operation.ACCESS)
                for one in self._overlaps(operation)
            ),
            turnaround=self._own(EventKind.CONSECUTIVE_ACCESS),
            held=self._own(EventKind.FETCH_HELD_LATE) if core.accesses_in_vain else ZERO_SPAN,
            event=lambda event: self._own(event.kind),
            called=self._least_of(CALLS),
            refilled=self._least(EventKind.PIPELINE_REFILL),
            read=self._least_of(READS),
            before=self._least_of(CALLS, "high") + self._least(EventKind.PIPELINE_REFILL, "high"),
            reached=lambda access: self._regions(access.section, access.operation) or [],
            writable=lambda: self.placement.permitting(Operation.WRITE),
            cached=core.caches,
            hits=self._hits,
            some_hit=core.data_cache is not None
            and any(one.load_miss_penalty is not None for one in self.profile.regions.values()),
            others=most(Fraction(0), *map(self._writes_wait, self.profile.regions.values())),
            sooner=Fraction(0),
            full=lambda region, operation, width: self._full_times(
                region, operation, width, Pattern.SINGLE
            ),
        )
        if not (bus.posted and bus.some_hit):
            return bus
        return replace(bus, sooner=self._rate.within(longest_under_way(bus, self._rate)))

    def _hits(self, section: str) -> bool:
        """A read of it asks no bus, but where it is counted as a miss; in a cache that is not warm
        most would be charged that all the same."""
        parts = self.placement.joint.get(section, (section,))
        placed = [self.placement.region(part) for part in parts if part != UNKNOWN_SECTION]
        return (
            self.data_cache.warm
            and len(placed) == len(parts)
            and all(one is not None and one.load_miss_penalty is not None for one in placed)
        )

    def passed(self, keys: Iterable[Key]) -> dict[Key, Interval]:
        """What the prices of successions lack whose loads miss, in nanoseconds, without a share of
        interference; of those that lack something."""
        found = {key: passed(key, self._bus) for key in keys if isinstance(key, Succession)}
        return {key: lacks for key, lacks in found.items() if not is_nothing(lacks.high)}

    @cached_property
    def rate(self) -> Rate:
        """What applies to all prices for interference that comes again and again."""
        if not (self._rate.recurring and self.profile.core.write_buffer):
            return self._rate
        return replace(self._rate, before=self._bus.before)

    def _least(self, kind: EventKind, end: str = "low") -> Fraction:
        """The least time of an event in nanoseconds; or what its numbers make of it at most."""
        found: Fraction = getattr(in_nanoseconds(self._own(kind), self.clock), end)
        return found

    def _least_of(self, kinds: frozenset[EventKind], end: str = "low") -> Fraction:
        """Of that of these which the core has it is least for, in nanoseconds."""
        each = [self._least(kind, end) for kind in sorted(kinds & self.profile.core.events.keys())]
        return least(*each) if each else Fraction(0)

    def _edges_known(self) -> bool:
        """Nothing but prices in cycles lies between two accesses."""
        core = self.profile.core
        fetches = [
            k for k in self._keys if isinstance(k, AccessClass) and k.operation is Operation.FETCH
        ]
        issues = {k.kind for k in self._keys if isinstance(k, CoreEvent) and k.kind in ISSUES}
        return (
            core.instruction_cache is None
            and core.data_cache is None
            and not any(self._access(key).time.high for key in fetches)
            and not any(core.discarded_fetches.values())
            and all(_same(self._own(kind), self._overlaps(ISSUES[kind])[0]) for kind in issues)
        )

    def _own(self, kind: EventKind) -> Span:
        """The time of an event beside what it fetches in vain; zero if it has none."""
        if kind.is_realigned and Assumption.CODE_ALIGNMENT in self.map.assumptions:
            return ZERO_SPAN
        quantity = self.profile.core.events.get(self.profile.core.priced_as(kind))
        if quantity is None:
            return ZERO_SPAN
        return span_of(quantity, None, not_a_time(self.profile.name, "core", "events", kind.value))

    def _overlaps(self, operation: Operation) -> list[Span]:
        """How much of an access may be hidden behind the event that makes it."""
        overlap = self.profile.core.overlap
        if operation is Operation.ACCESS and operation not in overlap:
            return [*self._overlaps(Operation.READ), *self._overlaps(Operation.WRITE)]
        if operation not in overlap:
            return [ZERO_SPAN]
        wrong = not_a_time(self.profile.name, "core", "overlap", operation.value)
        return [span_of(overlap[operation], None, wrong)]

    def _full_times(
        self, region: Region, operation: Operation, width: int, pattern: Pattern
    ) -> list[Span]:
        """Full time of an access, for each width that it may have."""
        if region.bus_width < 1:
            raise PricingError(
                f"region {region.name} has a bus of {region.bus_width} bits",
                expected="at least 1",
                file="profile",
                keys=("regions", region.name),
            )
        time = region.times[operation]
        again = pattern in (Pattern.NEXT, Pattern.REALIGNED)
        if self.profile.core.caches(region, operation):
            hit = replace(region, clock=None, clock_divider=1)
            return [self._region_span(hit, time.next if again else time.first)]
        first = self._region_span(region, time.first)
        following = self._region_span(region, time.next)
        least = self.profile.core.moves_at_least(operation)
        found = []
        for one in [width] if width else [w for w in WIDTHS if w]:
            beats = max(1, -(-max(one, least) // region.bus_width))
            if again:
                found.append(times(following, beats))
            else:
                found.append(plus(first, times(following, beats - 1)))
        return found

    def in_stretch(self, key: Key) -> Price | None:
        """The price of a key where what is blocked is priced; ``None``: as elsewhere."""
        if isinstance(key, CoreEvent) and key.kind.is_of_data_cache:
            return self._load(key, blocked=True)
        if not isinstance(key, Succession):
            return None
        lacks = passed(key, self._bus)
        if is_nothing(lacks.high):
            return None
        price = self._succession(key)  # a stretch begins with an empty cache
        return replace(price, time=price.time + lacks)

    def _load(self, event: CoreEvent, blocked: bool) -> Price:
        regions = self._regions(event.section, Operation.READ) or []
        times = [self.data_cache.of_event(event.kind, region, blocked) for region in regions]
        return Price(_places(regions) if regions else "", _dearest(times) if times else Interval())

    def _event(self, event: CoreEvent) -> Price:
        if event.kind.is_of_data_cache:
            return self._load(event, blocked=False)
        core = self.profile.core
        kind = core.priced_as(event.kind)
        if event.kind.is_realigned and Assumption.CODE_ALIGNMENT in self.map.assumptions:
            return Price(CORE, Interval())
        quantity = core.events.get(kind)
        discarded = core.discarded_fetches.get(kind, 0)
        if quantity is None and kind.is_stall and not discarded:
            return Price(CORE, Interval())  # the times of instructions hold it
        if quantity is None and not kind.is_stall:
            raise PricingError(
                f"profile {self.profile.name} has no time for core event "
                f"{event.kind.value!r} of core {core.name}",
                expected="a time for every core event that is counted",
                hint="add it to core.events; 0 if the core takes no time for it",
                file="profile",
                keys=("core", "events"),
            )
        own = self._own(kind)
        if not discarded:
            return Price(CORE, in_nanoseconds(own, self.clock))
        regions = self._fetched_from(event.section)
        if regions is None:
            return Price(CORE, Interval())
        fetch = AccessClass(event.section, Operation.FETCH, self.fetch_width, Pattern.FIRST)
        choices = [
            in_nanoseconds(
                plus(own, times(plus(full, self._beside(fetch, region)), discarded)), self.clock
            )
            for region in regions
            for full in self._full_times(region, Operation.FETCH, self.fetch_width, Pattern.FIRST)
        ]
        return Price(f"{CORE}, {_places(regions)}", _dearest(choices))

    def _fetched_from(self, section: str) -> list[Region] | None:
        """Where a discarded fetch of an event may go; ``None``: reported elsewhere already."""
        if section and section != UNKNOWN_SECTION and self._region(section) is None:
            return None
        return self.placement.fetched_from(section) or self._no_region(Operation.FETCH)

    def _regions(self, section: str, operation: Operation) -> list[Region] | None:
        """Regions that an access may reach; ``None``: reported elsewhere already."""
        if section in self.placement.joint:
            each = [self._regions(part, operation) for part in self.placement.joint[section]]
            return None if None in each else self.placement.reached(section, operation)
        region = None if section == UNKNOWN_SECTION else self._region(section)
        if section != UNKNOWN_SECTION and region is None:
            return None
        regions = self.placement.reached(section, operation)
        if region is None:
            return regions or self._no_region(operation)
        if not regions:
            own = section in self.map.sections
            raise PricingError(
                f"section {section} needs {operation.value}, which region {region.name} of profile "
                f"{self.profile.name} does not permit",
                expected=f"a region with a time for {operation.value}",
                hint=f"place {section} elsewhere, or give {region.name} such a time in the profile",
                file="map" if own else "profile",
                keys=("sections" if own else "default_map", section),
            )
        return regions

    def _region(self, section: str) -> Region | None:
        """Of a known section; ``None``: noted as unmapped, or reported by ``unknown_regions``."""
        if section not in self.placement.placed:
            self.unmapped[section] = None
        return self.placement.region(section)

    def _no_region(self, operation: Operation) -> NoReturn:
        raise PricingError(
            f"profile {self.profile.name} has no region that permits {operation.value}",
            file="profile",
            keys=("regions",),
        )


def _may_be_fetched_from(region: Region) -> bool:
    """Instructions, or lines of them."""
    return Operation.FETCH in region.times or region.line_refill is not None


def _same(one: Span, other: Span) -> bool:
    """Always, and not in their ends alone."""
    exact = one.cycles.low == one.cycles.high and one.nanoseconds.low == one.nanoseconds.high
    return exact and one == other


def _dearest(choices: list[Interval]) -> Interval:
    """One of these, it is not known which: safe upwards, and the low end stays a low end."""
    return Interval(
        least(*(choice.low for choice in choices)),
        most(*(choice.nominal for choice in choices)),
        most(*(choice.high for choice in choices)),
    )


def _places(regions: list[Region]) -> str:
    return regions[0].name if len(regions) == 1 else f"dearest of {listed(r.name for r in regions)}"


def _named_sections(sections: list[str]) -> str:
    one = len(sections) == 1
    return f"section {sections[0]} is" if one else f"sections {listed(sections)} are"


def listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"
