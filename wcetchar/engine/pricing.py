"""The price vector: what a hardware profile and a section map make of access classes and events.

Price of one access of class (section, operation, width, pattern), in exact nanoseconds::

    region = map(section)                      beats = max(1, ceil(width / bus width))
    full   = first + (beats - 1) * next        pattern single or first
           = beats * next                      pattern next (and realigned)
    price  = max(0, full - overlap(operation))

One access has one overlap, however many beats it takes. Price of one core event::

    price  = event + discarded fetches * full first fetch in the region of the event's section

A stall that the profile does not price costs nothing: the times of instructions hold it. A profile
that prices stalls needs a characterization that counts them.

Inputs are intervals; a price is the interval of everything that they allow, so its upper end is
safe. Cycles of the core's clock are subtracted as cycles before they become time: an access and
the event that hides it run on the same edges of the same clock. Cycles of a region's own clock
are independent of them.

What cannot be known is priced at the dearest: an unknown width at the dearest width, an unknown
direction at the dearer of read and write (unless the region states a price for it), an unknown
section at the dearest region that permits the operation. The low end then is the cheapest choice.

Caveat: prices add up. That is safe as long as no access is made dearer by the ones before it
beyond what ``first`` states (no caches, no arbitration, no refresh).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from wcetchar.engine.errors import PricingError
from wcetchar.engine.placement import Placement, operations
from wcetchar.engine.time import ZERO_SPAN, Span, in_nanoseconds, less, plus, span_of, times
from wcetchar.errors import several
from wcetchar.model.access import (
    STALLS,
    UNKNOWN_SECTION,
    WIDTHS,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
)
from wcetchar.model.chain import FOLLOWED
from wcetchar.model.characterization import (
    BlockingStretch,
    Characterization,
    Counts,
    Joint,
    ServiceCharacterization,
)
from wcetchar.model.hardware import HardwareProfile, Region, Unit
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import Assumption, SectionMap

CORE = "core"
"""What stands in the place of a region for core events."""
TIME_ASLEEP = (
    "the time asleep in an instruction that waits is no execution time: it is in no figure"
)


@dataclass(frozen=True)
class Price:
    """What one access or event costs, in nanoseconds, and where."""

    region: str
    time: Interval


@dataclass(frozen=True)
class PriceVector(Mapping[Key, Price]):
    """Prices of every class that the priced services touch, and what was assumed for them."""

    profile: HardwareProfile
    section_map: SectionMap
    prices: Mapping[Key, Price]
    notes: tuple[str, ...] = ()

    def __getitem__(self, key: Key) -> Price:
        return self.prices[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self.prices)

    def __len__(self) -> int:
        return len(self.prices)

    def priced(self, vector: AccessVector) -> AccessVector:
        """Without stalls that the profile does not price: its times of instructions hold them."""
        events = self.profile.core.events
        return AccessVector(
            (key, count)
            for key, count in vector.items()
            if not (
                isinstance(key, CoreEvent)
                and key.kind.is_stall
                and key.kind.priced_as not in events
                and key.kind.priced_as not in self.profile.core.discarded_fetches
            )
        )

    def time_of(self, vector: AccessVector) -> Interval:
        """Counts times prices, summed, in nanoseconds."""
        low = nominal = high = Fraction(0)
        for key, count in vector.items():
            price = self.prices[key].time
            if count < 0:
                raise ValueError(f"a count cannot be negative: {key}: {count}")
            low += price.low * count
            nominal += price.nominal * count
            high += price.high * count
        return Interval(low, nominal, high)


def price_vector(
    characterization: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    services: Iterable[str] | None = None,
) -> PriceVector:
    """Price everything that ``services`` (all, if ``None``) touch, and what may go on with what
    they block. All problems come at once.

    Raises:
        InputError: the map or its default names a region that the profile does not have; a section
            that is used has no region; an operation is not possible in the region of its section;
            the profile has no time for a core event that is counted.
    """
    wanted = None if services is None else set(services)
    chosen = [s for s in characterization.services if wanted is None or s.name in wanted]
    users: dict[Key, list[str]] = {}
    for service in chosen:
        for key in keys_of(service):
            users.setdefault(key, []).append(service.name)
    if any(leads_on(stretch) for service in chosen for stretch in service.stretches):
        for service in characterization.services:
            for key in _following_keys(service):
                users.setdefault(key, []).append(service.name)
    pricer = _Pricer(profile, section_map, characterization.fetch_width)
    problems: list[PricingError] = pricer.unknown_regions()
    problems.extend(_uncounted_stalls(characterization, profile))
    prices: dict[Key, Price] = {}
    failed: dict[str, tuple[PricingError, dict[str, None]]] = {}
    for key, names in users.items():
        try:
            prices[key] = pricer.price(key)
        except PricingError as error:
            _, needed_by = failed.setdefault(error.message, (error, {}))
            needed_by.update(dict.fromkeys(names))
    for problem, needed_by in failed.values():
        problem.message += f" (needed by {_some(list(needed_by))})"
        problems.append(problem)
    if pricer.unmapped:
        problems.append(pricer.unmapped_error())
    problems.extend(_misspelt(characterization, section_map))
    if problems:
        raise several(problems)
    return PriceVector(profile, section_map, prices, _notes(characterization, section_map, users))


def keys_of(service: ServiceCharacterization) -> tuple[Key, ...]:
    """Every class that the rows, the table and the stretches of a service count, each once."""
    seen: dict[Key, None] = {}
    for counts in (service.counts, *(stretch.counts for stretch in service.stretches)):
        seen.update(dict.fromkeys(_keys(counts)))
    return tuple(seen)


def _keys(counts: Counts) -> Iterator[Key]:
    for row in (*counts.rows, *(row for point in counts.points for row in point.rows)):
        yield from row.vector


def leads_on(stretch: BlockingStretch) -> bool:
    """Another activity goes on with it, or runs inside of it."""
    joints = stretch.goes_on_in or frozenset()
    calls = any(key.kind is EventKind.SUPERVISOR_CALL for key in _events(stretch.counts))
    return bool(joints & FOLLOWED) or calls


def _events(counts: Counts) -> Iterator[CoreEvent]:
    return (key for key in _keys(counts) if isinstance(key, CoreEvent))


def _following_keys(service: ServiceCharacterization) -> Iterator[Key]:
    """What the stretches count that can follow others, and handlers as a whole."""
    for stretch in filter(can_follow, service.stretches):
        yield from _keys(stretch.counts)
        if Joint.HANDLER in (stretch.goes_on_from or ()):
            yield from _keys(service.counts)


def can_follow(stretch: BlockingStretch) -> bool:
    """The stretch of another activity may lead to it."""
    return bool((stretch.goes_on_from or frozenset()) & FOLLOWED)


class _Pricer:
    """Prices single keys and collects the sections that the map leaves out."""

    def __init__(self, profile: HardwareProfile, section_map: SectionMap, fetch_width: int) -> None:
        self.profile = profile
        self.clock = profile.core.clock
        self.map = section_map
        self.fetch_width = fetch_width
        self.placement = Placement(profile, section_map)
        self.unmapped: dict[str, None] = {}
        if self.clock.unit is not Unit.HERTZ or self.clock.low <= 0:
            raise self._profile_error("core", "clock")
        for kind, count in profile.core.discarded_fetches.items():
            if count < 0:
                raise PricingError(
                    f"profile {profile.name}: a number of discarded fetches cannot be negative: "
                    f"{kind.value} {count}",
                    file="profile",
                    keys=("core", "discarded_fetches"),
                )

    def unknown_regions(self) -> list[PricingError]:
        """Placements into regions that the profile does not have, used or not."""
        problems = []
        for section, region in sorted(self.placement.placed.items()):
            if region not in self.profile.regions:
                own = section in self.map.sections
                problems.append(
                    PricingError(
                        f"section {section} is placed in region {region}, which profile "
                        f"{self.profile.name} does not have",
                        expected=f"one of {_listed(self.profile.regions)}",
                        file="map" if own else "profile",
                        keys=("sections" if own else "default_map", section),
                    )
                )
        return problems

    def unmapped_error(self) -> PricingError:
        names = _listed(self.unmapped)
        return PricingError(
            f"no region holds {'section' if len(self.unmapped) == 1 else 'sections'} {names}",
            expected=f"under sections: a region of {_listed(self.profile.regions)} for each",
            hint=f"add them to the section map {self.map.name}",
            file="map",
            keys=("sections",),
        )

    def price(self, key: Key) -> Price:
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
        choices = [
            less(full, hidden, self.clock)
            for region in regions
            for operation in operations(region, access.operation)
            for full in self._full_times(region, operation, access.width, access.pattern)
            for hidden in self._overlaps(operation)
        ]
        return Price(_places(regions), _dearest(choices))

    def _overlaps(self, operation: Operation) -> list[Span]:
        """How much of an access may be hidden behind the event that makes it."""
        overlap = self.profile.core.overlap
        if operation is Operation.ACCESS and operation not in overlap:
            return [*self._overlaps(Operation.READ), *self._overlaps(Operation.WRITE)]
        if operation not in overlap:
            return [ZERO_SPAN]
        wrong = self._profile_error("core", "overlap", operation.value)
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
        wrong = self._profile_error("regions", region.name)
        time = region.times[operation]
        first = span_of(time.first, region.clock, wrong)
        following = span_of(time.next, region.clock, wrong)
        found = []
        for one in [width] if width else [w for w in WIDTHS if w]:
            beats = max(1, -(-one // region.bus_width))
            if pattern in (Pattern.NEXT, Pattern.REALIGNED):
                found.append(times(following, beats))
            else:
                found.append(plus(first, times(following, beats - 1)))
        return found

    def _event(self, event: CoreEvent) -> Price:
        core = self.profile.core
        kind = event.kind.priced_as
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
        own = ZERO_SPAN
        if quantity is not None:
            own = span_of(quantity, None, self._profile_error("core", "events", kind.value))
        if not discarded:
            return Price(CORE, in_nanoseconds(own, self.clock))
        regions = self._fetched_from(event.section)
        if regions is None:
            return Price(CORE, Interval())
        choices = [
            in_nanoseconds(plus(own, times(full, discarded)), self.clock)
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

    def _profile_error(self, *keys: str) -> PricingError:
        """The error to raise if the quantity at ``keys`` turns out to be no time."""
        return PricingError(
            f"profile {self.profile.name}: {'.'.join(keys)} is not a time of zero or more",
            expected="ns or cycles, zero or more, and a clock above 0 Hz",
            file="profile",
            keys=keys,
        )


def _dearest(choices: list[Interval]) -> Interval:
    """One of these, it is not known which: safe upwards, and the low end stays a low end."""
    return Interval(
        min(choice.low for choice in choices),
        max(choice.nominal for choice in choices),
        max(choice.high for choice in choices),
    )


def _notes(
    characterization: Characterization, section_map: SectionMap, users: Mapping[Key, list[str]]
) -> tuple[str, ...]:
    notes = [f"assumed: {assumption}" for assumption in characterization.assumptions]
    unknown = [k for k in users if k.section == UNKNOWN_SECTION and isinstance(k, AccessClass)]
    if unknown:
        notes.append(
            "accesses to unknown addresses are priced at the dearest region that permits them"
        )
    if any(isinstance(k, AccessClass) and k.width == 0 for k in users):
        notes.append("accesses of unknown width are priced at the dearest width")
    if any(_realigned(k) for k in users):
        if Assumption.CODE_ALIGNMENT in section_map.assumptions:
            notes.append(f"assumed, as the section map promises: {Assumption.CODE_ALIGNMENT.value}")
        else:
            notes.append("code may be linked at any address: fetches that this can add are counted")
    if any(isinstance(k, CoreEvent) and k.kind is EventKind.WAIT for k in users):
        notes.append(TIME_ASLEEP)
    known = {section.name for section in characterization.sections} | {k.section for k in users}
    strangers = [name for name in section_map.sections if name not in known]
    if strangers:
        notes.append(
            f"section map {section_map.name} places {_listed(strangers)}, which this "
            "characterization does not have"
        )
    return tuple(notes)


def _realigned(key: Key) -> bool:
    if isinstance(key, CoreEvent):
        return key.kind.is_realigned
    return key.pattern is Pattern.REALIGNED


def _uncounted_stalls(
    characterization: Characterization, profile: HardwareProfile
) -> Iterator[PricingError]:
    """A price of something that is not counted would be lost without a word."""
    core = profile.core
    priced = [k for k in STALLS & core.events.keys() if core.events[k].high]
    priced += [k for k in STALLS if core.discarded_fetches.get(k) and k not in priced]
    if priced and not characterization.stalls:
        yield PricingError(
            f"the characterization of {characterization.kernel.name} does not count stalls, which "
            f"profile {profile.name} prices ({_some(sorted(k.value for k in priced))})",
            expected="a characterization that counts them, or instructions whose times hold them",
            hint="characterize the kernel anew; or leave out stalls, and raise `load` and others",
            file="profile",
            keys=("core", "events"),
        )


def _misspelt(
    characterization: Characterization, section_map: SectionMap
) -> Iterator[PricingError]:
    """Sections of the map that are none here, but nearly one that the map does not place. Its
    default region, or that of the profile, would stand in for it without a word."""
    free = [s.name for s in characterization.sections if s.name not in section_map.sections]
    known = {section.name for section in characterization.sections}
    for name in section_map.sections:
        close = [] if name in known else difflib.get_close_matches(name, free, 1, cutoff=0.8)
        if close:
            yield PricingError(
                f"the characterization of {characterization.kernel.name} has no section {name}",
                expected=f"one of {_listed(sorted(known))}",
                hint=f"did you mean {close[0]!r}?",
                file="map",
                keys=("sections", name),
            )


def _places(regions: list[Region]) -> str:
    return (
        regions[0].name if len(regions) == 1 else f"dearest of {_listed(r.name for r in regions)}"
    )


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _some(names: list[str], limit: int = 3) -> str:
    rest = len(names) - limit
    return ", ".join(names[:limit]) + (f" and {rest} more" if rest > 0 else "")
