"""What loads add that miss in a data cache, where the map says where data lie: line by line.

    time = sum over lines l of  misses(l) * load miss penalty of the region that l lies in

Of each line that a service uses the characterization tells (``analysis.used_lines``) how often it
may have to be loaded where a set holds one line, loads(l), and how often where all lines have room,
fresh(l). Lines of sections whose address the map says are *placed*: their sets are known. Of the
others it is only known that they lie somewhere. With U the loads of those::

    set holds one line    a placed line alone in its set    misses(l) = fresh(l)
                          with others                       min(loads(l), fresh(l) + sum of behind)
                          a line that is not placed         loads(l)
                          and of placed lines               U more in all, each loads(l) at most

    set holds W lines     room for what is used of the set
                          and all lines not placed          fresh(l)
                          else                              min(loads(l), fresh(l) + sum of behind
                                                            + U)

    behind(l, k)          of each other line k of the set: loads of l where k was loaded since the
                          last load of l, as told; else, or where several lines came together in
                          one place, loads(k)

for one load takes one line away, so a load that misses and is no fresh one was preceded, since the
last load of its line, by a load of another line of its set; and where a set has room for all that
is used of it, LRU takes none of these. Words that hardware reads by itself miss, one by one.

A load that hits does not wait for writes; what its price lacks where it misses (``waits.passed``)
comes on top, of a service with m misses that of the m loads that lack most.

``cold``: the cache may hold anything before. ``warm``: all that the service loads was loaded right
before, and nothing since; a placed line that has room is there, unless another thread or a handler
runs in between. Of lines that are not placed, some may have its place when the service begins: one
more each, beside U. What goes on behind a switch is never warm.

Never more than by the counts of line loads (``data_cache``); those alone count at parameter values
that were not observed, and where an instruction that accesses one of several sections may go to one
that is not placed, or not cached. A *stretch* that blocks something begins with an empty cache,
whatever the map says, for an interrupt may have run right before. What a cold service loads in a
stretch, it loads in all no less often: lines that are there when the stretch begins it has loaded
before.

Soundness: as ``data_cache`` says; and that services use the objects and lists that they used where
they were characterized, for others lie in other sets. Counts alone take that for granted nowhere.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Final

from wcetchar.engine.counts import Counted, count
from wcetchar.engine.data_cache import DataCachePrices
from wcetchar.engine.errors import PricingError
from wcetchar.engine.placement import Placement
from wcetchar.engine.refills import Loaded, Refills
from wcetchar.errors import InputError
from wcetchar.model.access import (
    LINE_LOADS,
    UNKNOWN_SECTION,
    CoreEvent,
    EventKind,
    Key,
    Operation,
)
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.characterization import (
    BlockingStretch,
    Characterization,
    ServiceCharacterization,
    UsedLine,
    UsedLines,
)
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import CacheState, SectionMap
from wcetchar.model.service import Part
from wcetchar.model.symbolic import longest

_BEHIND_A_SWITCH: Final = frozenset({Part.BETWEEN_SWITCHES, Part.UNTIL_RETURN})
Misses = Mapping[str, int]
"""Section -> loads that miss."""


@dataclass
class _Line:
    """A line where it lies now. ``before``: of each line that it was when it was characterized, its
    section, loads and fresh loads; two only where sections came together."""

    before: dict[int, tuple[str, int, int]]

    @property
    def loads(self) -> int:
        return sum(loads for _, loads, _ in self.before.values())

    @property
    def fresh(self) -> int:
        return sum(fresh for _, _, fresh in self.before.values())

    def behind(self, other: _Line, told: Mapping[tuple[int, int], int]) -> int:
        """How often it is loaded where the other one was loaded since its last load, at most.
        ``told``: of lines as they were characterized."""
        if len(self.before) > 1 or len(other.before) > 1:
            return other.loads
        (mine,), (its,) = self.before, other.before
        return min(other.loads, told.get((mine, its), other.loads))


@dataclass(frozen=True)
class DataLinePrices:
    """Prices of lines of data for one profile and map.

    Attributes:
        price: logical section that is cached, or may be -> region, and what a load takes more that
            misses; of one that is either of several, the dearest.
        characterized: number of the line that a section began in then.
        placed: of sections whose address the map says, that of the line that they begin in.
        elsewhere: those that are used, and of which it does not.
        joint: sections that are not placed themselves -> those that each is either of.
        counted: the events that line loads are counted as: in services, and in what is blocked
            beside.
        passed: what a succession lacks whose load misses, in nanoseconds.
    """

    geometry: CacheGeometry
    state: CacheState
    price: Mapping[str, tuple[str, Interval]]
    characterized: Mapping[str, int]
    placed: Mapping[str, int]
    elsewhere: tuple[str, ...]
    joint: Mapping[str, tuple[str, ...]]
    counted: tuple[EventKind, EventKind]
    passed: Mapping[Key, Interval] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[str, ...]:
        found = [
            "loads that miss in the data cache are told by the lines that are used, and by where "
            "the map says that these lie"
        ]
        if self.state is CacheState.WARM:
            found.append(
                "assumed, as the section map says: the data cache holds what the service loads, "
                "where it fits"
            )
        if self.elsewhere:
            found.append(f"{', '.join(self.elsewhere)} may lie in any set of the data cache")
        found.append(
            "assumed: services use the objects and lists that they used where they were "
            "characterized"
        )
        return tuple(found)

    @property
    def of_followers(self) -> DataLinePrices:
        """Of what goes on with a service, which has used the cache meanwhile."""
        return replace(self, state=CacheState.COLD)

    @property
    def without_waits(self) -> DataLinePrices:
        """Loads that miss wait for no access before them."""
        return replace(self, passed={})

    def key(self, section: str) -> CoreEvent:
        """What a miss stands as in an estimate."""
        return CoreEvent(section, self.counted[0])

    def of(self, service: ServiceCharacterization, values: tuple[int, ...]) -> Refills:
        """All loads of a service that miss, at ``values`` of its parameters.

        Raises:
            InputError: the counts do not hold there.
        """
        names = tuple(parameter.name for parameter in service.parameters)
        counted = count(service.counts, names, values, service.name)
        misses = cold = self._by_counts(counted, self.counted[:1])
        found = next((f.used for f in service.data or () if values in f.points), None)
        if found is not None and self._is_known(found, counted, service.name):
            cold = misses = self._least(cold, self._by_lines(found, CacheState.COLD))
            if self.state is CacheState.WARM and service.part not in _BEHIND_A_SWITCH:
                misses = self._least(misses, self._by_lines(found, CacheState.WARM))
        time = {section: self.price[section][1].scaled(n) for section, n in misses.items()}
        if misses:
            most_of = max(misses, key=lambda section: misses[section])
            time[most_of] += self._waited_for(counted, sum(misses.values()))
        return Refills(misses, time, counted.exact, self._time(cold))

    def ways(
        self, service: ServiceCharacterization, values: tuple[int, ...]
    ) -> tuple[Refills, ...]:
        """As of lines of instructions; there is one."""
        return (self.of(service, values),)

    def of_stretch(
        self, service: ServiceCharacterization, stretch: BlockingStretch
    ) -> Callable[[tuple[int, ...], Interval], Interval]:
        """What loads of a stretch take that miss, at values of the parameters and with what those
        of its service take there in a cold cache."""
        names = tuple(parameter.name for parameter in service.parameters)
        what = f"{service.name}, blocking from {stretch.begin}"
        data = stretch.data
        lines = {} if data is None else self._by_lines(data, CacheState.COLD)
        # At other values it may use more.
        points = {point for footprint in service.data or () for point in footprint.points}

        def blocked(values: tuple[int, ...], whole: Interval) -> Interval:
            counted = count(stretch.counts, names, values, what)
            own = self._by_counts(counted, self.counted)
            if data is not None and values in points and self._is_known(data, counted, what):
                own = self._least(own, lines)
            time = self._time(own)
            return time.shorter(whole)

        return blocked

    def of_follower(
        self, service: ServiceCharacterization, stretch: BlockingStretch | None
    ) -> Loaded:
        """The same of what goes on with another activity, or all of a service. At which values a
        stretch is longest is looked for among all, so it is counted."""
        names = tuple(parameter.name for parameter in service.parameters)
        if stretch is None:
            return Loaded(lambda values: self.of(service, values).unhidden, frozenset(names))
        what = f"{service.name}, blocking from {stretch.begin}"

        def loaded(values: tuple[int, ...]) -> Interval:
            counted = count(stretch.counts, names, values, what)
            return self._time(self._by_counts(counted, self.counted))

        return Loaded(loaded, frozenset())  # what the counts depend on is known

    def _waited_for(self, counted: Counted, misses: int) -> Interval:
        """What so many loads wait for that miss, and were priced as if they hit, at most."""
        nominal: Counter[Fraction] = Counter()
        high: Counter[Fraction] = Counter()
        for row in counted.rows:
            for key, number in row.vector.items():
                if (lacks := self.passed.get(key)) is not None:
                    nominal[lacks.nominal] += number * row.repetitions
                    high[lacks.high] += number * row.repetitions
        return Interval(Fraction(0), longest(nominal, misses), longest(high, misses))

    def _is_known(self, used: UsedLines, counted: Counted, what: str) -> bool:
        """Whatever is loaded lies where the lines are told.

        Raises:
            InputError: none are told of a section that loads may miss in: the figure would be too
                low.
        """
        size = self.geometry.line
        told = {line.section for line in used.lines if line.size == size and line.loads}
        told |= {section for section, _ in used.words}
        sections = {
            key.section
            for row in counted.rows
            for key, number in row.vector.items()
            if isinstance(key, CoreEvent)
            and key.kind is LINE_LOADS[size, 1][0]
            and number * row.repetitions
        }
        for section in sorted(sections - {UNKNOWN_SECTION}):
            if told.isdisjoint(self.joint.get(section, (section,))):
                raise InputError(
                    f"{what}: loads of {section} may miss in lines of {size} bytes, and no such "
                    "line is told",
                    expected="lines for all loads that may miss",
                    hint="the characterization does not hold; report it to its vendor",
                )
        parts = (part for section in sections for part in self.joint.get(section, ()))
        return UNKNOWN_SECTION not in sections and all(part in self.placed for part in parts)

    def _time(self, misses: Misses) -> Interval:
        time = (self.price[section][1].scaled(number) for section, number in misses.items())
        return sum(time, start=Interval())

    def _least(self, one: Misses, other: Misses) -> Misses:
        return one if self._time(one).high <= self._time(other).high else other

    def _by_counts(self, counted: Counted, kinds: Iterable[EventKind]) -> Misses:
        wanted = frozenset(kinds)
        misses: Counter[str] = Counter()
        for row in counted.rows:
            for key, number in row.vector.items():
                if isinstance(key, CoreEvent) and key.kind in wanted and key.section in self.price:
                    misses[key.section] += number * row.repetitions
        return misses

    def _by_lines(self, used: UsedLines, state: CacheState) -> Misses:
        placed, elsewhere = self._placed(used)
        misses: Counter[str] = Counter()
        for section, words in used.words:
            if section in self.price:
                misses[section] += words
        warm = state is CacheState.WARM
        taken = misses.total() if warm else 0
        for lost in elsewhere:
            misses[lost.section] += lost.loads
            taken += lost.loads + (warm and lost.loads > 0)
        sets: dict[int, list[_Line]] = defaultdict(list)
        for number, one in placed.items():
            if one.loads or self.geometry.ways > 1:  # a store takes no line away
                sets[self.geometry.set_of(number)].append(one)
        everywhere = 0
        if self.geometry.ways > 1:
            everywhere = len(elsewhere) + sum(words for _, words in used.words)
        more: Counter[str] = Counter()
        told = self._behind(used)
        for lines in sets.values():
            fits = len(lines) + everywhere <= self.geometry.ways
            for line in lines:
                number = line.fresh
                if fits and warm and not used.apart:
                    number = 0
                if not fits:
                    number += sum(line.behind(one, told) for one in lines if one is not line)
                    if self.geometry.ways > 1:
                        number += taken
                number = min(line.loads, number)
                section = self._dearest(section for section, _, _ in line.before.values())
                misses[section] += number
                more[section] += line.loads - number
        if self.geometry.ways == 1:
            for section in sorted(more, key=lambda s: -self.price[s][1].high):
                number = min(taken, more[section])
                misses[section] += number
                taken -= number
        return {section: number for section, number in misses.items() if number}

    def _behind(self, used: UsedLines) -> dict[tuple[int, int], int]:
        """By the lines that two were when they were characterized."""
        return {
            (self._then(*found.again), self._then(*found.other)): found.times
            for found in used.behind
            if found.size == self.geometry.line
        }

    def _then(self, section: str, number: int) -> int:
        """Number of a section's line, as it lay when it was characterized."""
        return self.characterized[section] + number

    def _placed(self, used: UsedLines) -> tuple[dict[int, _Line], list[UsedLine]]:
        """Lines of cached sections by where they lie now, and those of which that is not said."""
        placed: dict[int, _Line] = {}
        elsewhere = []
        for line in used.lines:
            if line.size != self.geometry.line or line.section not in self.price:
                continue
            if line.section not in self.placed:
                elsewhere.append(line)
                continue
            before = self._then(line.section, line.number)
            one = placed.setdefault(self.placed[line.section] + line.number, _Line({}))
            section, loads, fresh = one.before.get(before, (line.section, 0, 0))
            # Of a line in which two sections meet, each tells of all of it.
            section = self._dearest((section, line.section))
            one.before[before] = section, max(loads, line.loads), max(fresh, line.fresh)
        return placed, elsewhere

    def _dearest(self, sections: Iterable[str]) -> str:
        return max(sections, key=lambda section: self.price[section][1].high)


def data_line_prices(
    prices: DataCachePrices,
    characterization: Characterization,
    placement: Placement,
    section_map: SectionMap,
    passed: Mapping[Key, Interval] | None = None,
) -> DataLinePrices | None:
    """``passed``: as of :class:`DataLinePrices`. ``None``: loads are priced one by one.

    Raises:
        InputError: the cache is said to be warm, and what it needs is not known; data are said to
            lie otherwise than `data alignment` promises.
    """
    if not prices.by_lines:
        return None
    geometry = prices.geometry
    size = geometry.line
    begins = {s.name: s.address for s in characterization.sections if s.address is not None}
    used = {
        line.section
        for service in characterization.services
        for found in _used(service)
        for line in found.lines
        if line.size == size
    }
    names = (section.name for section in characterization.sections)
    price = load_prices(prices, placement, (*names, UNKNOWN_SECTION))
    said = {s: a for s, a in section_map.addresses.items() if s in used and s in price}
    for section, address in sorted(said.items()):
        if (address - begins[section]) % size:
            raise PricingError(
                f"{section} lies otherwise in lines of {size} bytes than where it was "
                f"characterized: there it began at 0x{begins[section]:x}",
                expected=f"an address that is a multiple of {size} from there, as `data alignment` "
                "promises",
                hint="or leave `data alignment` out: then each load counts as a miss",
                file="map",
                keys=("addresses", section),
            )
    cached_data = sorted(used & price.keys())
    if cached_data and not said and section_map.data_cache is CacheState.WARM:
        raise PricingError(
            "where data lie is not said, and the data cache is warm",
            expected=f"addresses of sections whose data are cached: {', '.join(cached_data)}",
            hint="or `data cache: cold`",
            file="map",
            keys=("addresses",) if section_map.addresses else ("data cache",),
        )
    _check_together(characterization.services, size, begins, said)
    return DataLinePrices(
        geometry,
        section_map.data_cache,
        price,
        {section: address // size for section, address in begins.items()},
        {section: address // size for section, address in said.items()},
        tuple(section for section in cached_data if section not in said),
        characterization.joint,
        prices.counted,
        passed or {},
    )


def load_prices(
    prices: DataCachePrices, placement: Placement, sections: Iterable[str]
) -> dict[str, tuple[str, Interval]]:
    """Of these logical sections, that are cached or may be -> region, and what a load takes more
    that misses; of several regions the dearest."""
    price: dict[str, tuple[str, Interval]] = {}
    for section in sections:
        cached = {
            region.name: penalty
            for region in placement.reached(section, Operation.READ)
            if (penalty := prices.penalty(region)) is not None
        }
        if cached:
            dearest = max(cached, key=lambda name: cached[name].high)
            price[section] = dearest, cached[dearest]
    return price


def _used(service: ServiceCharacterization) -> Iterator[UsedLines]:
    yield from (footprint.used for footprint in service.data or ())
    yield from (stretch.data for stretch in service.stretches if stretch.data is not None)


def _check_together(
    services: Iterable[ServiceCharacterization],
    size: int,
    begins: Mapping[str, int],
    said: Mapping[str, int],
) -> None:
    """Sections that share a line have to go on doing so."""
    shared: dict[int, str] = {}
    for service in services:
        for found in _used(service):
            for line in found.lines:
                if line.size != size or line.section not in said:
                    continue
                other = shared.setdefault(begins[line.section] // size + line.number, line.section)
                if said[other] - begins[other] != said[line.section] - begins[line.section]:
                    both = sorted((other, line.section))
                    raise PricingError(
                        f"{' and '.join(both)} shared a line of {size} bytes where they were "
                        "characterized, and now do not",
                        expected="addresses that are as far apart as there, as `data alignment` "
                        f"promises: {abs(begins[both[0]] - begins[both[1]])} bytes",
                        hint="or leave `data alignment` out: then each load counts as a miss",
                        file="map",
                        keys=("addresses", both[1]),
                    )
