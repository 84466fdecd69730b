"""What an instruction cache adds to a service: lines that are loaded, times the price of a line.

    time = sum over lines l of  misses(l) * line refill of the region that l lies in

The map says what the cache holds when the service begins:

* ``always miss``: every line entry is a miss. Entries where the code was characterized, and those
  that can be added elsewhere, unless the map's address of the section differs from that of the
  characterization by whole lines.
* ``cold``: anything. A line misses once if its set has room for all lines that the service fetches
  from, else as often as ``caches.cold_misses`` says. Needs the addresses of the sections.
* ``warm``: what the service fetches from, where it fits; so only lines of sets without room miss.

Never more than with ``always miss``. Where the lines lie otherwise than where they were
characterized, or parameter values were not observed, how often single lines are entered is not
known: then a service of which some set has no room is priced as ``always miss``.

With ``cold``, where the profile says that refills hide stalls, and the code lies as it was
characterized but for whole lines, a line that is loaded at its first entry takes::

    max(0, line refill - what is waited for meanwhile)

which is in the counts already; a line that is fetched from in vain alone takes less by what the
profile says, and by the cycles that it began before control was transferred. If such a line is
there already, nothing is hidden, and nothing loaded either, so both ways hold.

A handler that the service calls itself, and that comes back, may replace any line: so often more
each line that is entered again is loaded. (What a part of a service ends with leads to another
part.)

A *stretch* that blocks something is priced as if it began with an empty cache: with ``cold``, each
line that is fetched while it lasts is loaded once, where its set has room for all of these, and no
handler comes back to it; else, and in the other states, it has all refills of its service.

Regions without a ``line refill`` are not cached; what is fetched from there may be in no line.

Soundness: nothing else uses the cache while the service runs. What an interrupt or another thread
makes it load again is not in the figures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, reduce
from typing import Final

from wcetchar.engine.caches import cold_misses, fits, warm_misses
from wcetchar.engine.counts import calls_inside, count, supervisor_calls, used_parameters
from wcetchar.engine.errors import PricingError
from wcetchar.engine.placement import Placement
from wcetchar.engine.time import ZERO_SPAN, Span, in_nanoseconds, less, plus, span_of
from wcetchar.model.access import LINE_ENTRIES, CoreEvent, EventKind
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import (
    BlockingStretch,
    Characterization,
    CodeRange,
    Footprint,
    ServiceCharacterization,
)
from wcetchar.model.hardware import Core, HardwareProfile, Quantity
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import CacheState, SectionMap
from wcetchar.model.service import ParameterKind, Part, SectionKind

_NOTES: Final = {
    CacheState.ALWAYS_MISS: "instruction cache: each line that is entered counts as a miss",
    CacheState.COLD: "assumed: nothing but the service uses the instruction cache meanwhile; "
    "before, it may hold anything",
    CacheState.WARM: "assumed, as the section map says: the instruction cache holds what the "
    "service fetches from, where it fits, and nothing else uses it meanwhile",
}


@dataclass(frozen=True)
class Loaded:
    """What lines take that are loaded, at values of a service's parameters; ``used``: those that it
    depends on, beside those that the counts do."""

    at: Callable[[tuple[int, ...]], Interval]
    used: frozenset[str]


@dataclass(frozen=True)
class Refills:
    """``misses``, ``time``: by section, in nanoseconds; ``exact``: as observed at these parameter
    values; ``unhidden``: with nothing hidden and, of data, nothing there before, which is what a
    part of the service may wait."""

    misses: Mapping[str, int]
    time: Mapping[str, Interval]
    exact: bool
    unhidden: Interval

    @property
    def total(self) -> Interval:
        return sum(self.time.values(), start=Interval())


_HIDDEN: Final = (
    "counted off from refills: what is waited for while a line is loaded, and what one that is "
    "loaded in vain takes less"
)
_BLOCKED: Final = {
    CacheState.ALWAYS_MISS: "blocking times hold all refills of the service",
    CacheState.COLD: "blocking times hold the lines that are fetched while something is blocked, "
    "each as a miss; where these do not fit into the cache, all refills of the service",
    CacheState.WARM: "blocking times hold all refills of the service; what goes on with them "
    "begins with a cold cache",
}
HiddenLines = tuple[str, int, Span]
"""Section, how many lines of it, and what each takes less."""


@dataclass(frozen=True)
class Hides:
    """What goes on while a line is loaded: ``stalls`` with their prices, ``in_vain`` what one that
    is loaded in vain takes less at once. ``None``: the core waits for it all the same."""

    stalls: Mapping[EventKind, Span] | None = None
    in_vain: Span | None = None


@dataclass(frozen=True)
class RefillPrices:
    """Prices of lines for one profile and map.

    Attributes:
        price: logical section that is cached -> region, and what one line of it takes.
        span: the same, as the profile says it.
        clock: the core's.
        hides: what a line may take less.
        address: of those, where they begin, as far as the map says.
        characterized: where they began when they were characterized.
    """

    geometry: CacheGeometry
    state: CacheState
    price: Mapping[str, tuple[str, Interval]]
    span: Mapping[str, Span]
    clock: Quantity
    hides: Hides
    address: Mapping[str, int]
    characterized: Mapping[str, int]

    @property
    def notes(self) -> tuple[str, ...]:
        hides = self.hides.stalls is not None or self.hides.in_vain is not None
        return (
            _NOTES[self.state],
            *((_HIDDEN,) if hides and self.state is CacheState.COLD else ()),
            "lines that an interrupt or another thread replaces meanwhile are loaded again, and "
            "that is not in the figures",
            _BLOCKED[self.state],
        )

    def key(self, section: str) -> CoreEvent:
        """What a miss stands as in an estimate."""
        return CoreEvent(section, LINE_ENTRIES[self.geometry.line][0])

    def of(self, service: ServiceCharacterization, values: tuple[int, ...]) -> Refills:
        """All refills of a service at ``values`` of its parameters.

        Raises:
            InputError: the counts do not hold there.
        """
        always = self._always(service, values)
        if self.state is CacheState.ALWAYS_MISS:
            return always
        other = self._by_lines(service, values)
        if other is None or other.unhidden.high > always.unhidden.high:
            return always
        return other

    @property
    def of_followers(self) -> RefillPrices:
        """Of what goes on with a service, which has used the cache meanwhile."""
        if self.state is not CacheState.WARM:
            return self
        return replace(self, state=CacheState.COLD)

    def of_stretch(
        self, service: ServiceCharacterization, stretch: BlockingStretch
    ) -> Callable[[tuple[int, ...], Interval], Interval]:
        """What lines of a stretch take, at values of the parameters and with what those of its
        service take there."""
        own = self._own(stretch)
        return lambda values, whole: whole if own is None or own.high > whole.high else own

    def of_follower(
        self, service: ServiceCharacterization, stretch: BlockingStretch | None
    ) -> Loaded:
        """The same of what goes on with another activity, or all of a service."""
        own = None if stretch is None else self._own(stretch)
        if own is not None:
            return Loaded(lambda values: own, frozenset())
        assert service.lines is not None
        names = tuple(parameter.name for parameter in service.parameters)
        if self.state is CacheState.ALWAYS_MISS:
            used = used_parameters(service.lines.entries, names)
        else:  # footprints differ by any
            used = frozenset(names)
        return Loaded(cache(lambda values: self.of(service, values).unhidden), used)

    def _own(self, stretch: BlockingStretch) -> Interval | None:
        """All that a stretch loads, whatever the cache holds when it begins, at any values of the
        parameters; ``None``: as much as its service."""
        code = stretch.code
        if code is None or self.state is not CacheState.COLD or calls_inside(stretch):
            return None
        lines = self._dearest_section(self._lines(code.ranges))
        if not fits(self.geometry, lines):
            return None
        misses = Counter(lines.values())
        if code.wild:
            misses[self._dearest] += self._wild_misses * code.wild
        time = (self.price[section][1].scaled(number) for section, number in misses.items())
        return sum(time, start=Interval())

    @property
    def _wild_misses(self) -> int:
        """Of a fetch from anywhere: what it loads, and each line of a full set, which one more
        pushes out in turn."""
        return 1 + self.geometry.ways

    @property
    def _dearest(self) -> str:
        return max(self.price, key=lambda section: self.price[section][1].high)

    def _dearest_section(self, found: Iterable[tuple[int, str]]) -> dict[int, str]:
        """By line, of the sections that have a part of it the one with the dearer refills."""
        lines: dict[int, str] = {}
        for line, section in found:
            if line not in lines or self._dearer(section, lines[line]):
                lines[line] = section
        return lines

    def _always(self, service: ServiceCharacterization, values: tuple[int, ...]) -> Refills:
        assert service.lines is not None
        names = tuple(parameter.name for parameter in service.parameters)
        counted = count(service.lines.entries, names, values, service.name)
        here, elsewhere = LINE_ENTRIES[self.geometry.line]
        misses: dict[str, int] = defaultdict(int)
        for row in counted.rows:
            for key, number in row.vector.items():
                if not isinstance(key, CoreEvent) or key.section not in self.price:
                    continue
                if key.kind is here or (key.kind is elsewhere and not self._in_place(key.section)):
                    misses[key.section] += number * row.repetitions
        return self._priced(misses, counted.exact)

    def _in_place(self, section: str) -> bool:
        """Its lines are those that were characterized."""
        address = self.address.get(section)
        if address is None:
            return False
        return (address - self.characterized[section]) % self.geometry.line == 0

    def _by_lines(
        self, service: ServiceCharacterization, values: tuple[int, ...]
    ) -> Refills | None:
        """``None``: not known."""
        assert service.lines is not None
        found = [f for f in service.lines.footprints if values in f.points]
        exact = bool(found)
        if not found:
            found = self._others(service, values)
        lines = self._dearest_section(self._lines(r for f in found for r in f.ranges))
        sections = {r.section for f in found for r in f.ranges if r.section in self.price}
        known = exact and all(map(self._in_place, sections))
        # Of a line in which two sections meet only now, the entries of both add up.
        known = known and (self._together(sections) or self._apart(found))
        handlers = self._handlers(service, values)
        entries = dict.fromkeys(lines, 1 if known else 1 + handlers)
        if known:
            for line, number in self._repeated(found):
                if line in entries:  # else of a section that shares it, and is elsewhere now
                    entries[line] = max(entries[line], number)
        elif not fits(self.geometry, lines):
            return None
        model = warm_misses if self.state is CacheState.WARM else cold_misses
        misses: dict[str, int] = defaultdict(int)
        for line, number in model(self.geometry, entries, handlers).items():
            misses[lines[line]] += number
        wild = self._wild_misses * max((f.wild for f in found), default=0)
        if wild:
            misses[self._dearest] += wild
        hidden: list[HiddenLines] = []
        if known and self.state is CacheState.COLD and self._together(sections):
            hidden = [*self._hidden(found)]
        return self._priced(misses, exact, hidden)

    @staticmethod
    def _handlers(service: ServiceCharacterization, values: tuple[int, ...]) -> int:
        """How often a handler that is called comes back."""
        names = tuple(parameter.name for parameter in service.parameters)
        calls = supervisor_calls(count(service.counts, names, values, service.name))
        leaves = service.part in (Part.UNTIL_SWITCH, Part.BETWEEN_SWITCHES)
        return max(0, calls - leaves)

    @staticmethod
    def _others(service: ServiceCharacterization, values: tuple[int, ...]) -> list[Footprint]:
        """Those of all points of the same case."""
        assert service.lines is not None
        cases = [n for n, p in enumerate(service.parameters) if p.kind is ParameterKind.CASE]
        return [
            f
            for f in service.lines.footprints
            if any(all(point[n] == values[n] for n in cases) for point in f.points)
        ]

    def _dearer(self, one: str, other: str) -> bool:
        return self.price[one][1].high > self.price[other][1].high

    def _lines(self, ranges: Iterable[CodeRange]) -> Iterator[tuple[int, str]]:
        """Numbers of lines, each with every section that has a part of it."""
        size = self.geometry.line
        for one in ranges:
            if one.section not in self.price:
                continue
            base = self.address[one.section]
            first, last = (base + one.start) // size, (base + one.end - 1) // size
            yield from ((line, one.section) for line in range(first, last + 1))

    def _apart(self, footprints: Iterable[Footprint]) -> bool:
        """No line belongs to two sections."""
        pairs = {*self._lines(r for f in footprints for r in f.ranges)}
        return len(pairs) == len({line for line, _ in pairs})

    def _repeated(self, footprints: Iterable[Footprint]) -> Iterable[tuple[int, int]]:
        for footprint in footprints:
            for line in footprint.repeated:
                if line.size == self.geometry.line and line.section in self.price:
                    first = self.address[line.section] // line.size
                    yield first + line.number, line.entries

    def _together(self, sections: Collection[str]) -> bool:
        """They lie to each other as where they were characterized, so that lines are entered in
        the same order."""
        return len({self.address[s] - self.characterized[s] for s in sections}) <= 1

    def _hidden(self, footprints: Iterable[Footprint]) -> Iterator[HiddenLines]:
        """Of points with several footprints, only what is the same in all would hold."""
        footprint, *others = footprints
        if others:
            return
        size = self.geometry.line
        for group in footprint.hidden:
            if group.size == size and group.section in self.price and self.hides.stalls is not None:
                waits = (self.hides.stalls.get(kind, ZERO_SPAN) for kind in group.stalls)
                yield group.section, group.lines, reduce(plus, waits)
        for vain in footprint.in_vain:
            if vain.size == size and vain.section in self.price and self.hides.in_vain is not None:
                before = Fraction(vain.before)
                sooner = Span(Interval(before, before, before), Interval())
                yield vain.section, vain.lines, plus(self.hides.in_vain, sooner)

    def _priced(
        self, misses: Mapping[str, int], exact: bool, hidden: Iterable[HiddenLines] = ()
    ) -> Refills:
        whole = {section: self.price[section][1].scaled(n) for section, n in misses.items()}
        left, time = dict(misses), {section: Interval() for section in misses}
        for section, lines, span in hidden:
            left[section] = left.get(section, 0) - lines
            shorter = less(self.span[section], span, self.clock).scaled(lines)
            time[section] = time.get(section, Interval()) + shorter
        for section, number in left.items():
            if number < 0:  # a line of it counts to a section that it shares it with
                time[section] = whole.get(section, Interval())
            else:
                time[section] += self.price[section][1].scaled(number)
        return Refills(dict(misses), time, exact, sum(whole.values(), start=Interval()))


def refill_prices(
    characterization: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    services: Iterable[ServiceCharacterization],
) -> RefillPrices | None:
    """``None``: the core has no instruction cache, or nothing of these services is in it.

    Raises:
        InputError: the characterization does not count lines, or an address that is needed is
            missing.
    """
    geometry = profile.core.instruction_cache
    if geometry is None:
        return None
    _alone(profile)
    chosen = list(services)
    unknown = [service.name for service in chosen if service.lines is None]
    if unknown:
        raise PricingError(
            f"the characterization of {characterization.kernel.name} does not say which lines of "
            f"an instruction cache {unknown[0]} fetches from",
            expected="a characterization that counts lines, or a profile without a cache",
            hint="characterize the kernel anew; or leave out `instruction cache`, and price each "
            "fetch as one that misses",
            file="profile",
            keys=("core", "instruction cache"),
        )
    begins = {
        s.name: s.address
        for s in characterization.sections
        if s.address is not None and s.kind is SectionKind.CODE
    }
    placement = Placement(profile, section_map)
    price: dict[str, tuple[str, Interval]] = {}
    spans: dict[str, Span] = {}
    for section in begins:
        region = placement.region(section)
        if region is None or region.line_refill is None:
            continue
        keys = ("regions", region.name, "line refill")
        wrong = PricingError(
            f"profile {profile.name}: the line refill of {region.name} is not a time of zero or "
            "more",
            expected="ns or cycles, zero or more, and a clock above 0 Hz",
            file="profile",
            keys=keys,
        )
        span = span_of(region.line_refill, region.clock, wrong)
        price[section] = region.name, in_nanoseconds(span, profile.core.clock)
        spans[section] = span
    if not price:
        return None
    address = {s: a for s, a in section_map.addresses.items() if s in price}
    if section_map.instruction_cache is not CacheState.ALWAYS_MISS:
        used = {r.section for s in chosen for r in _ranges(s)}
        missing = sorted(section for section in used if section in price and section not in address)
        if missing:
            raise PricingError(
                f"where {', '.join(missing)} begins is not said, and the instruction cache is "
                f"{section_map.instruction_cache.value}",
                expected="the address of every section of code that is cached",
                hint=f"addresses: {{{missing[0]}: 0x...}} in the section map, or "
                "`instruction cache: always miss`",
                file="map",
                keys=("addresses",) if section_map.addresses else ("instruction cache",),
            )
    core = profile.core
    state = section_map.instruction_cache
    return RefillPrices(geometry, state, price, spans, core.clock, _hides(core), address, begins)


def _hides(core: Core) -> Hides:
    def span(name: str, quantity: Quantity) -> Span:
        wrong = PricingError(
            f"`{name}` is not a time of zero or more",
            expected="ns or cycles, zero or more",
            file="profile",
            keys=("core",),
        )
        return span_of(quantity, None, wrong)

    saves = core.in_vain_saves
    return Hides(
        {kind: span(kind.value, core.events[kind]) for kind in core.events if kind.is_stall}
        if core.refills_hide_stalls
        else None,
        None if saves is None else span("in vain saves", saves),
    )


def _alone(profile: HardwareProfile) -> None:
    """Waits that depend on what was before are priced as if no fetch waited, and refills as if the
    bus were free."""
    busy = [r.name for r in profile.regions.values() if r.clock_divider > 1 or r.interferences]
    data = profile.core.data_cache is not None
    if profile.core.write_buffer or data or busy:
        beside = "a data cache" if data else "a write buffer"
        raise PricingError(
            f"profile {profile.name} has an instruction cache and "
            + (f"waits of {busy[0]}" if busy else beside),
            expected="one of the two",
            hint="price a cached region's line refill and accesses with their longest waits, and "
            "leave write buffer, data cache, clock divider, refresh and arbitration out",
            file="profile",
            keys=("core", "instruction cache"),
        )


def _ranges(service: ServiceCharacterization) -> Iterator[CodeRange]:
    for footprint in service.lines.footprints if service.lines else ():
        yield from footprint.ranges
    for stretch in service.stretches:
        yield from stretch.code.ranges if stretch.code else ()
