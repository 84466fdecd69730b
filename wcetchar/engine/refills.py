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

    max(4 cycles of the core, line refill - what is waited for meanwhile)

which is in the counts already (the stages behind the line are empty when it is there, and stay so
while what is before is held up); and where it says that refills hide accesses, less what data
accesses are waited for meanwhile::

    sum over those of the N instructions before it    price of the access + of its succession
    of the one before it, if that enters a line too   price of the access
    of the first access from there on                 price of its succession
    with a queue, of the last write before it         the same

as far as they come when the line has been asked for (``Hidden``), without what late transfers find
held, in other memories than the line's. From the first one on that goes to that memory, or behind a
write to it, none is: it waits for the line. A line that is loaded in vain takes less by what the
profile says, and by the cycles that it began before control was transferred; what was waited for
before that comes off as well. If such a line is there already, nothing is hidden, and nothing
loaded either, so both ways hold.

A handler that the service calls itself, and that comes back, may replace any line: so often more
each line that is entered again is loaded. (What a part of a service ends with leads to another
part.)

A *stretch* that blocks something is priced as if it began with an empty cache: with ``cold``, each
line that is fetched while it lasts is loaded once, where its set has room for all of these, and no
handler comes back to it; else, and in the other states, it has all refills of its service.

Where a core also carries loads out again that hit in a data cache behind a store, it fetches them
again, and what it had fetched behind them: ``REFETCHED`` entries more each, which may miss but in
sets that have room, and not of those loads with which all that is fetched again lies near
(``counting.fetched_again``) where ways have ``APART`` bytes.

A line takes its region's ``line refill``, and waits before for the edge of the region's clock, for
interference, and for accesses to that memory which go on behind the core. Each access holds up one
line at most, so of m lines the m longest of these waits are charged (``waits.wait_of_refill``), of
a stretch those of its own accesses where it is a window of its own; of lines from anywhere, and
where successions are not counted, each the longest that there can be.
Regions without a ``line refill`` are not cached; what is fetched from there may be in no line.

Soundness: nothing else uses the cache while the service runs. What an interrupt or another thread
makes it load again is not in the figures.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, partial, reduce
from typing import Final

from wcetchar.engine.caches import cold_misses, fits, warm_misses
from wcetchar.engine.counts import Counted, calls_inside, count, supervisor_calls, used_parameters
from wcetchar.engine.errors import PricingError, not_a_time
from wcetchar.engine.fetched_ahead import check_fetched_ahead
from wcetchar.engine.placement import Placement, operations
from wcetchar.engine.places import fetched_ranges
from wcetchar.engine.regions import region_span
from wcetchar.engine.time import (
    ZERO_SPAN,
    Span,
    in_nanoseconds,
    less,
    periods,
    plus,
    span_of,
)
from wcetchar.model.access import (
    ALONE,
    CARRIED_OUT_AGAIN,
    LAST_BEFORE,
    LINE_ENTRIES,
    LOADS_BEHIND_STORES,
    AccessClass,
    CoreEvent,
    EventKind,
    Operation,
    Succession,
)
from wcetchar.model.cache import APART, CacheGeometry
from wcetchar.model.characterization import (
    BlockingStretch,
    Characterization,
    CodeRange,
    Footprint,
    HiddenStalls,
    ServiceCharacterization,
    StretchCode,
)
from wcetchar.model.hardware import HardwareProfile, Quantity, Region
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import CacheState, SectionMap
from wcetchar.model.service import ParameterKind, Part, SectionKind
from wcetchar.model.symbolic import is_nothing, least, longest, most

_NOTES: Final = {
    CacheState.ALWAYS_MISS: "instruction cache: each line that is entered counts as a miss",
    CacheState.COLD: "assumed: nothing but the service uses the instruction cache meanwhile; "
    "before, it may hold anything",
    CacheState.WARM: "assumed, as the section map says: the instruction cache holds what the "
    "service fetches from, where it fits, and nothing else uses it meanwhile",
}

REFETCHED: Final = 5
"""Lines that are entered once more where a load is carried out again: one or two of its own, and of
the three instructions that may have been fetched behind it."""
_FAR: Final = frozenset(LOADS_BEHIND_STORES)


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
CountedService = Callable[[], Counted]
"""The counts of a service at values of its parameters, counted where they are asked for."""
HiddenLines = tuple[str, int, Span, Interval, bool]
"""Section, how many lines of it, and what each takes less: as a span, and in nanoseconds; they are
loaded in vain."""
EMPTY_STAGES: Final = 4
"""Cycles of the core from when a line is there until its first instruction retires, in a pipeline
of five stages. What holds up the instruction before it holds up these stages as well, so that they
stay empty."""


@dataclass(frozen=True)
class Hides:
    """What goes on while a line is loaded: ``stalls`` with their prices, ``in_vain`` what one that
    is loaded in vain takes less at once. ``None``: the core waits for it all the same.
    ``accesses``: of how many instructions before it."""

    stalls: Mapping[EventKind, Span] | None = None
    in_vain: Span | None = None
    accesses: int = 0


@dataclass(frozen=True)
class RefillWaits:
    """What a line may wait for before it is loaded from a region, in nanoseconds: ``line``: edges
    and interference; ``longest``: accesses that go on behind the core, at most; ``behind``: the one
    before another, beyond what that one is charged, where successions are ``counted``;
    ``meanwhile``: what the core waits for before the second access, and for that one, while a line
    from the region is loaded; ``None``: for the line itself; ``queued``: of a write, what it waits
    for a place in a queue that the writes before it have left by then."""

    line: Callable[[Region], Interval]
    counted: bool
    longest: Callable[[Region], Fraction]
    behind: Callable[[Succession, Region], Fraction]
    meanwhile: Callable[[Succession, Region], tuple[Interval, Interval] | None]
    queued: Callable[[Succession, Region], Interval]


@dataclass(frozen=True)
class RefillPrices:
    """Prices of lines for one profile and map.

    Attributes:
        price: logical section that is cached -> region, and what one line of it takes.
        span: of that, the time of the refill itself.
        region: of each such section.
        waits: what they may wait for before.
        clock: the core's.
        refetches: loads are carried out again, which fetches lines again.
        hides: what a line may take less.
        address: of those, where they begin, as far as the map says.
        characterized: where they began when they were characterized.
        reached: where an access to a section may go to.
        queues: several writes may be under way behind the core.
        least: a lower end is asked for, whichever way lines are counted at other numbers.
    """

    geometry: CacheGeometry
    state: CacheState
    price: Mapping[str, tuple[str, Interval]]
    span: Mapping[str, Span]
    region: Mapping[str, Region]
    waits: RefillWaits
    clock: Quantity
    refetches: bool
    hides: Hides
    address: Mapping[str, int]
    characterized: Mapping[str, int]
    reached: Callable[[str, Operation], Iterable[Region]]
    queues: bool
    least: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        hides = self.hides != Hides()
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
        always, *others = self.ways(service, values)
        if not others:
            return always
        (other,) = others
        fewer = always if other.unhidden.high > always.unhidden.high else other
        if not self.least:
            return fewer
        # What is hidden takes no part in that choice: the one that was not taken can be shorter.
        time = min(always, other, key=lambda one: one.total.high).time
        return replace(fewer, time=time)

    def ways(
        self, service: ServiceCharacterization, values: tuple[int, ...]
    ) -> tuple[Refills, ...]:
        """All that hold; the last one of those counts whose ``unhidden`` is the shortest.

        Raises:
            InputError: the counts do not hold there.
        """
        names = tuple(parameter.name for parameter in service.parameters)
        counted = cache(partial(count, service.counts, names, values, service.name))
        always = self._always(service, values, counted)
        if self.state is CacheState.ALWAYS_MISS:
            return (always,)
        other = self._by_lines(service, values, counted)
        return (always,) if other is None else (always, other)

    @property
    def without_waits(self) -> RefillPrices:
        """A lower end where accesses may take other times than these: lines wait for none."""
        none = Fraction(0)
        waits = replace(
            self.waits,
            longest=lambda _: none,
            behind=lambda _, __: none,
            meanwhile=lambda *_: (self._dearest_line, self._dearest_line),
            queued=lambda *_: self._dearest_line,
        )
        return replace(self, waits=waits, least=True)

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
        names = tuple(parameter.name for parameter in service.parameters)
        what = f"{service.name}, blocking from {stretch.begin}"

        def time(values: tuple[int, ...], whole: Interval) -> Interval:
            counted = cache(partial(count, stretch.counts, names, values, what))
            found = self._at(stretch, values, counted)
            found = own if found is None else found
            return whole if found is None else found.shorter(whole)

        return time

    def of_follower(
        self, service: ServiceCharacterization, stretch: BlockingStretch | None
    ) -> Loaded:
        """The same of what goes on with another activity, or all of a service."""
        own = None if stretch is None else self._own(stretch)
        if own is not None:
            return Loaded(lambda _: own, frozenset())
        assert service.lines is not None
        names = tuple(parameter.name for parameter in service.parameters)
        if self.state is CacheState.ALWAYS_MISS:
            used = used_parameters(service.lines.entries, names)
            if self.refetches or self._longest:
                used |= used_parameters(service.counts, names)
        else:  # footprints differ by any
            used = frozenset(names)
        return Loaded(cache(lambda values: self.of(service, values).unhidden), used)

    def _own_code(self, stretch: BlockingStretch) -> StretchCode | None:
        """What a stretch is priced by; ``None``: by the refills of its service."""
        alone = self.state is CacheState.COLD and not calls_inside(stretch)
        return stretch.code if alone else None

    def _own(self, stretch: BlockingStretch) -> Interval | None:
        """All that a stretch loads, whatever the cache holds when it begins, at any values of the
        parameters; ``None``: as much as its service."""
        code = self._own_code(stretch)
        if code is None:
            return None
        lines = self._dearest_section(self._lines(code.ranges))
        if not fits(self.geometry, lines):
            return None
        there = self._masked_by(code)
        misses = Counter(section for line, section in lines.items() if line != there)
        return self._of_stretch(misses, self._anywhere(lines, code.wild))

    def _at(
        self, stretch: BlockingStretch, values: tuple[int, ...], counted: CountedService
    ) -> Interval | None:
        """The same at values that were observed, where the code lies as it was characterized: of
        the lines that it loads there, less what goes on while they are loaded."""
        code = self._own_code(stretch)
        if code is None:
            return None
        footprint = next((f for f in code.footprints if values in f.points), None)
        if footprint is None:
            return None
        sections = {r.section for r in footprint.ranges if r.section in self.price}
        if not self._known([footprint], sections):
            return None
        lines = self._dearest_section(self._lines(footprint.ranges))
        entries = self._entries([footprint], lines)
        misses = cold_misses(self.geometry, entries, behind=self._behind([footprint]))
        room = fits(self.geometry, lines)
        there = self._masked_by(code)
        # Where another line of its set may take it before the stretch enters it, it is loaded.
        if there in misses and (room or there == self._masked_by(code, behind=1)):
            misses[there] -= 1
        for line in self._after(footprint):
            if line in misses and not self._waits_for_after(stretch, counted(), lines[line]):
                del misses[line]
        anywhere = self._anywhere(lines, footprint.wild)
        if not room:
            anywhere += self._refetched_of(counted)
        loaded: Counter[str] = Counter()
        for line, number in misses.items():
            loaded[lines[line]] += number
        hidden = [*self._hidden([footprint])] if self._together(sections) else []
        known = any(isinstance(key, Succession) for row in counted().rows for key in row.vector)
        return self._of_stretch(loaded, anywhere, hidden, counted if known else None)

    def _after(self, footprint: Footprint) -> Iterator[int]:
        """Numbers of lines that are fetched for what comes after a stretch."""
        for line in footprint.after:
            if line.size == self.geometry.line and line.section in self.price:
                yield self.address[line.section] // line.size + line.number

    def _waits_for_after(self, stretch: BlockingStretch, counted: Counted, section: str) -> bool:
        """A line of a section that is fetched for what comes after a stretch may hold up the
        stretch, or what goes on with it: the core waits for lines all the same; a load that is
        carried out again is fetched behind it; or an access goes to its memory, or may have gone
        there before, where several can be under way."""
        region = self.region[section]
        accesses = [
            key
            for row in counted.rows
            for key, number in row.vector.items()
            if number and isinstance(key, AccessClass) and key.operation is not Operation.FETCH
        ]
        return (
            stretch.goes_on_in != frozenset()
            or self.hides.stalls is None
            or bool(accesses and not self.hides.accesses)
            or bool(self._refetched(lambda: counted, CARRIED_OUT_AGAIN))
            or bool(self.queues and operations(region, Operation.WRITE))
            or any(
                region.name == one.name
                for key in accesses
                for one in self.reached(key.section, key.operation)
            )
        )

    def _masked_by(self, code: StretchCode, behind: int = 0) -> int | None:
        """The line that is there when a stretch begins; that of so many bytes behind."""
        if code.masked_by is None or code.masked_by[0] not in self.address:
            return None
        section, byte = code.masked_by
        return (self.address[section] + byte + behind) // self.geometry.line

    def _of_stretch(
        self,
        misses: Counter[str],
        anywhere: int,
        hidden: Iterable[HiddenLines] = (),
        counted: CountedService | None = None,
    ) -> Interval:
        """What the lines of a stretch take; where not ``counted``, each with the longest wait that
        there can be. What was accessed before the stretch is not known, as before a service."""
        waits = sum((wait for _, wait in self._behind_accesses(counted, misses)), Fraction(0))
        if anywhere:
            misses[self._dearest] += anywhere
            waits += anywhere * self._longest
        time = sum(self._hiding(misses, hidden).values(), start=Interval())
        return time.up_to(time.high + waits)

    @cached_property
    def _empty(self) -> dict[str, Fraction]:
        """What a line takes for which the core waits, whatever goes on meanwhile."""
        empty = Fraction(EMPTY_STAGES) * periods(self.clock).high
        lines = {s: in_nanoseconds(span, self.clock).high for s, span in self.span.items()}
        return {section: least(empty, line) for section, line in lines.items()}

    @cached_property
    def _longest(self) -> Fraction:
        """What a line from anywhere waits for accesses at most."""
        return most(*(self.waits.longest(region) for region in self.region.values()))

    def _behind_accesses(
        self, counted: CountedService | None, misses: Mapping[str, int]
    ) -> Iterator[tuple[str, Fraction]]:
        """Of each region, a section that lines are loaded from, and what all of these wait for
        accesses at most; those that are ``counted``, or any."""
        lines: Counter[str] = Counter()
        sections: dict[str, str] = {}
        for section, number in sorted(misses.items()):
            if number:
                lines[self.region[section].name] += number
                sections[self.region[section].name] = section
        for name, number in lines.items():
            region = self.region[sections[name]]
            all_of_them = self.waits.longest(region) * number
            if counted is not None and self.waits.counted and not is_nothing(all_of_them):
                all_of_them = least(all_of_them, self._longest_waits(counted, region, number))
            if not is_nothing(all_of_them):
                yield sections[name], all_of_them

    def _longest_waits(self, counted: CountedService, region: Region, lines: int) -> Fraction:
        """Of so many lines, each behind another access."""
        waits: Counter[Fraction] = Counter()
        for row in counted().rows:
            for key, number in row.vector.items():
                if isinstance(key, Succession):
                    waits[self.waits.behind(key, region)] += number * row.repetitions
        return longest(waits, lines)

    def _anywhere(self, lines: Iterable[int], wild: int) -> int:
        """Misses of ``wild`` lines from anywhere: what each loads, and each line of a full set,
        which one more pushes out in turn; not where all of them have room beside ``lines``."""
        if not wild or fits(self.geometry, lines, beside=wild):
            return wild
        return wild * (1 + self.geometry.ways)

    @property
    def _dearest_line(self) -> Interval:
        longest = most(*(time.high for _, time in self.price.values()))
        return Interval(longest, longest, longest)

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

    def _always(
        self, service: ServiceCharacterization, values: tuple[int, ...], counted: CountedService
    ) -> Refills:
        assert service.lines is not None
        names = tuple(parameter.name for parameter in service.parameters)
        entries = count(service.lines.entries, names, values, service.name)
        here, elsewhere = LINE_ENTRIES[self.geometry.line]
        misses: dict[str, int] = defaultdict(int)
        for row in entries.rows:
            for key, number in row.vector.items():
                if not isinstance(key, CoreEvent) or key.section not in self.price:
                    continue
                if key.kind is here or (key.kind is elsewhere and not self.in_place(key.section)):
                    misses[key.section] += number * row.repetitions
        again = self._refetched(counted, CARRIED_OUT_AGAIN)
        return self._priced(counted, misses, entries.exact, again)

    def _refetched_of(self, counted: CountedService) -> int:
        """Where not all lines have room."""
        small = self.geometry.line * self.geometry.sets < APART
        return self._refetched(counted, CARRIED_OUT_AGAIN if small else _FAR)

    def _refetched(self, counted: CountedService, kinds: Collection[EventKind]) -> int:
        """Entries of lines by loads of such kinds, which are carried out again."""
        if not self.refetches:
            return 0
        loads = sum(
            number * row.repetitions
            for row in counted().rows
            for key, number in row.vector.items()
            if isinstance(key, CoreEvent) and key.kind in kinds
        )
        return loads * REFETCHED

    def in_place(self, section: str) -> bool:
        """Its lines are those that were characterized."""
        address = self.address.get(section)
        if address is None:
            return False
        return (address - self.characterized[section]) % self.geometry.line == 0

    def _by_lines(
        self, service: ServiceCharacterization, values: tuple[int, ...], counted: CountedService
    ) -> Refills | None:
        """``None``: not known."""
        assert service.lines is not None
        found = [f for f in service.lines.footprints if values in f.points]
        exact = bool(found)
        if not found:
            found = self._others(service, values)
        lines = self._dearest_section(self._lines(r for f in found for r in f.ranges))
        sections = {r.section for f in found for r in f.ranges if r.section in self.price}
        known = exact and self._known(found, sections)
        handlers = self._handlers(service, counted)
        entries = dict.fromkeys(lines, 1 + handlers)
        if known:
            entries = self._entries(found, lines)
        elif not fits(self.geometry, lines):
            return None
        behind = self._behind(found) if known else {}
        model = warm_misses if self.state is CacheState.WARM else cold_misses
        misses: dict[str, int] = defaultdict(int)
        for line, number in model(self.geometry, entries, handlers, behind).items():
            misses[lines[line]] += number
        anywhere = self._anywhere(lines, max((f.wild for f in found), default=0))
        if not fits(self.geometry, lines):
            anywhere += self._refetched_of(counted)
        hidden: list[HiddenLines] = []
        if known and self.state is CacheState.COLD and self._together(sections):
            hidden = [*self._hidden(found)]
        return self._priced(counted, misses, exact, anywhere, hidden)

    def _known(self, footprints: Collection[Footprint], sections: Collection[str]) -> bool:
        """How often each line is entered is known: the code lies as it was characterized, and of a
        line in which two sections meet only now, the entries of both would add up."""
        return all(map(self.in_place, sections)) and (
            self._together(sections) or self._apart(footprints)
        )

    def _entries(self, footprints: Iterable[Footprint], lines: Iterable[int]) -> dict[int, int]:
        entries = dict.fromkeys(lines, 1)
        for line, number in self._repeated(footprints):
            if line in entries:  # else of a section that shares it, and is elsewhere now
                entries[line] = max(entries[line], number)
        return entries

    @staticmethod
    def _handlers(service: ServiceCharacterization, counted: CountedService) -> int:
        """How often a handler that is called comes back."""
        calls = supervisor_calls(counted())
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

    def _behind(self, footprints: Iterable[Footprint]) -> dict[tuple[int, int], int]:
        """Lines that take turns, of sections that lie to each other as where they were
        characterized. What one of several footprints tells need not hold in the others."""
        footprint, *others = footprints
        found: dict[tuple[int, int], int] = {}
        for one in () if others else footprint.behind:
            sections = {one.again[0], one.other[0]}
            if one.size != self.geometry.line or not sections <= self.price.keys():
                continue
            if self._together(sections):
                again, other = (
                    self.address[section] // one.size + number
                    for section, number in (one.again, one.other)
                )
                found[again, other] = one.times
        return found

    def _together(self, sections: Collection[str]) -> bool:
        """They lie to each other as where they were characterized, so that lines are entered in
        the same order."""
        return len({self.address[s] - self.characterized[s] for s in sections}) <= 1

    def _hidden(self, footprints: Iterable[Footprint]) -> Iterator[HiddenLines]:
        """Of points with several footprints, only what is the same in all would hold."""
        footprint, *others = footprints
        if others or self.hides == Hides():
            return
        size, known = self.geometry.line, self.hides.stalls or {}
        for group in footprint.hidden:
            saved = self._saved(group.in_vain)
            if group.size == size and group.section in self.price and saved is not None:
                waits = (known.get(kind, ZERO_SPAN) for kind in group.stalls)
                stalls, vain = reduce(plus, waits, saved), group.in_vain is not None
                yield group.section, group.lines, stalls, self._meanwhile(group), vain
        for lost in footprint.in_vain:
            saved = self._saved(lost.before)
            if lost.size == size and lost.section in self.price and saved is not None:
                yield lost.section, lost.lines, saved, Interval(), True

    def _saved(self, before: int | None) -> Span | None:
        """What a line takes less that is loaded in vain so many cycles before control is
        transferred; nothing if it is not in vain. ``None``: the profile does not say so."""
        if before is None:
            return ZERO_SPAN
        # With several ways, one that hits in vain may not count as used, and be gone when executed.
        if self.hides.in_vain is None or self.geometry.ways > 1:
            return None
        cycles = Fraction(before)
        return plus(self.hides.in_vain, Span(Interval(cycles, cycles, cycles), Interval()))

    def _meanwhile(self, group: HiddenStalls) -> Interval:
        """What data accesses are waited for while a line is loaded, in nanoseconds."""
        found, region = Interval(), self.region[group.section]
        for before, succession in group.accesses if self.hides.accesses else ():
            meanwhile = self.waits.meanwhile(succession, region)
            # Of the caller it is not known when and where it has written.
            early = before == LAST_BEFORE and succession.before is None
            if meanwhile is None or (early and Operation.WRITE in region.times):
                break
            wait, own = meanwhile
            if before == LAST_BEFORE:
                found += self.waits.queued(succession, region)
            elif before == ALONE:
                found += own
            elif before <= self.hides.accesses:
                found += wait + own if before else wait
        return found

    def _hiding(
        self, misses: Mapping[str, int], hidden: Iterable[HiddenLines]
    ) -> dict[str, Interval]:
        """What lines take by section, less what goes on while they are loaded, in nanoseconds."""
        left, time = dict(misses), {section: Interval() for section in misses}
        for section, lines, span, accesses, vain in hidden:
            left[section] = left.get(section, 0) - lines
            before = self.waits.line(self.region[section])
            shorter = _shorter(less(self.span[section], span, self.clock), accesses)
            if not vain:
                shorter = shorter.up_to(most(shorter.high, self._empty[section]))
            time[section] = time.get(section, Interval()) + (shorter + before).scaled(lines)
        for section, number in left.items():
            whole = self.price[section][1]
            if number < 0:  # a line of it counts to a section that it shares it with
                time[section] = whole.scaled(misses.get(section, 0))
            else:
                time[section] += whole.scaled(number)
        return time

    def _priced(
        self,
        counted: CountedService,
        misses: Mapping[str, int],
        exact: bool,
        anywhere: int,
        hidden: Iterable[HiddenLines] = (),
    ) -> Refills:
        """``anywhere``: lines beside the misses, of which it is not known from where they come."""
        waits = dict(self._behind_accesses(counted, misses))
        if anywhere:
            misses = Counter(misses)
            misses[self._dearest] += anywhere
            more = anywhere * self._longest
            waits[self._dearest] = waits.get(self._dearest, Fraction(0)) + more
        whole = {section: self.price[section][1].scaled(n) for section, n in misses.items()}
        time = self._hiding(misses, hidden)
        unhidden = sum(whole.values(), start=Interval())
        for section, wait in waits.items():
            time[section] = time[section].up_to(time[section].high + wait)
            unhidden = unhidden.up_to(unhidden.high + wait)
        return Refills(dict(misses), time, exact, unhidden)


def refill_prices(
    characterization: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    services: Iterable[ServiceCharacterization],
    waits: RefillWaits,
) -> RefillPrices | None:
    """``None``: the core has no instruction cache, or nothing of these services is in it.

    Raises:
        InputError: the characterization does not count lines, or an address that is needed is
            missing.
    """
    geometry = profile.core.instruction_cache
    if geometry is None:
        return None
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
    placement = Placement(profile, section_map, characterization.joint)
    price: dict[str, tuple[str, Interval]] = {}
    spans: dict[str, Span] = {}
    regions: dict[str, Region] = {}
    for section in begins:
        region = placement.region(section)
        if region is None or region.line_refill is None:
            continue
        span = region_span(profile, region, region.line_refill, "line refill")
        time = in_nanoseconds(span, profile.core.clock) + waits.line(region)
        price[section], spans[section], regions[section] = (region.name, time), span, region
    if not price:
        return None
    check_fetched_ahead(characterization, profile)
    address = {s: a for s, a in section_map.addresses.items() if s in price}
    if section_map.instruction_cache is not CacheState.ALWAYS_MISS:
        used = {r.section for s in chosen for r in fetched_ranges(s)}
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
    refetches = core.data_cache is not None and core.data_cache.load_behind_store is not None
    if refetches and not characterization.data_lines:
        raise PricingError(
            f"the characterization of {characterization.kernel.name} does not count loads behind "
            "stores, which are carried out again and fetch lines again",
            expected="a characterization made with --data-lines",
            hint="characterize the kernel anew",
            file="profile",
            keys=("core", "data cache", "load behind store"),
        )
    return RefillPrices(
        geometry,
        state,
        price,
        spans,
        regions,
        waits,
        core.clock,
        refetches,
        _hides(profile),
        address,
        begins,
        placement.reached,
        core.write_buffer > 1,
    )


def _shorter(time: Interval, by: Interval) -> Interval:
    """By what is waited for meanwhile, which is charged: of both together the figure is the larger
    one, ``by.high + max(0, time.high - by.high)``, whatever less than that is waited for."""
    none = Fraction(0)
    high = most(none, time.high - by.high)
    return Interval(
        most(none, time.low - by.high), least(most(none, time.nominal - by.nominal), high), high
    )


def _hides(profile: HardwareProfile) -> Hides:
    core = profile.core

    def span(quantity: Quantity, *keys: str) -> Span:
        return span_of(quantity, None, not_a_time(profile.name, "core", *keys))

    saves = core.in_vain_saves
    return Hides(
        {k: span(core.events[k], "events", k.value) for k in core.events if k.is_stall}
        if core.refills_hide_stalls
        else None,
        None if saves is None else span(saves, "instruction cache", "in vain saves"),
        core.refills_hide_accesses,
    )
