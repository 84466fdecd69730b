"""Line entries and footprints of a service, as they are published.

Entries go the way of all other counts: exact formulas over the parameters, or the observed values.
Footprints are published for the observed points; those that are equal, once. Addresses become bytes
behind the address that a logical section begins at: what lies in none (fetched in vain behind its
end, say) is counted from the section before it.
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache

from wcetchar.analysis.cases import Point
from wcetchar.analysis.joint import JointSections
from wcetchar.analysis.line_entries import NO_SECTION, Entered, Hidden, Ranges, merged
from wcetchar.analysis.repetition import publish
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.successions import Successions
from wcetchar.counting.columns import INSTRUCTION_BITS, SUCCESSION, unpack
from wcetchar.model.access import EventKind, Succession
from wcetchar.model.cache import APART
from wcetchar.model.characterization import (
    Blocking,
    CodeRange,
    EnteredLine,
    FetchedLines,
    Footprint,
    HiddenStalls,
    LineAfter,
    LineBehind,
    LinesInVain,
    SectionInfo,
)
from wcetchar.model.service import LogicalSection, Parameter, SectionKind

_Accesses = tuple[tuple[int, Succession], ...]
_Group = tuple[int, str, tuple[EventKind, ...], _Accesses, int | None]
"""As of :class:`HiddenStalls`, but how many."""


class Places:
    """Where the logical sections lie in an image."""

    def __init__(self, resolved: Resolved) -> None:
        self.names = resolved.section_names
        is_code = [s.kind is SectionKind.CODE for s in resolved.services.sections]
        claims = sorted(zip(resolved.starts.tolist(), resolved.owners.tolist(), strict=True))
        code = [(start, owner) for start, owner in claims if is_code[owner]]
        self._starts = [start for start, _ in code]
        self._owners = [owner for _, owner in code]
        self.address: dict[str, int] = {}
        """Of sections of code."""
        for start, owner in code:
            self.address.setdefault(self.names[owner], start)
        self.begins: dict[str, int] = {}
        """Of all sections."""
        for start, owner in claims:
            self.begins.setdefault(self.names[owner], start)
        self._text: Callable[[tuple[int, Succession]], str] = cache(str)
        # At most points of a service's parameters the same is fetched.
        self._meeting: dict[tuple[Ranges, int, int], set[str]] = {}
        self._fetched: dict[tuple[Ranges, int, int], set[str]] = {}
        self._merged: dict[Ranges, tuple[CodeRange, ...]] = {}

    def info(self, section: LogicalSection, data: bool) -> SectionInfo:
        """``data``: with the address also where that is no section of code."""
        address = (self.begins if data else self.address).get(section.name)
        return SectionInfo(section.name, section.kind, section.meaning, address, section.either_of)

    def section_at(self, address: int) -> str:
        """The section of code that begins last at or below an address; else the first."""
        owner: int = self._owners[max(0, bisect_right(self._starts, address) - 1)]
        return self.names[owner]

    def byte_at(self, address: int) -> tuple[str, int]:
        """Section, and bytes behind its address."""
        section = self.section_at(address)
        return section, address - self.address[section]

    def _sections_in(self, start: int, end: int) -> set[str]:
        """All that have a part between these addresses."""
        first, last = bisect_right(self._starts, start), bisect_left(self._starts, end)
        inside = {self.names[self._owners[n]] for n in range(first, last)}
        return {self.section_at(start), *inside}

    def ranges(self, found: Ranges) -> tuple[CodeRange, ...]:
        """As bytes behind their section's address, in order."""
        if found not in self._merged:
            self._merged[found] = self._ranges(found)
        return self._merged[found]

    def _ranges(self, found: Ranges) -> tuple[CodeRange, ...]:
        apart: dict[str, set[tuple[int, int]]] = defaultdict(set)
        for stays, start, end in found:
            for section in {self.section_at(start), *self._stays(stays)}:
                base = self.address[section]
                apart[section].add((start - base, end - base))
        return tuple(
            CodeRange(section, start, end)
            for section in sorted(apart)
            for start, end in merged(apart[section])
        )

    def _stays(self, section: int) -> tuple[str, ...]:
        return () if section == NO_SECTION else (self.names[section],)

    def repeated(self, entered: Entered) -> tuple[EnteredLine, ...]:
        """Lines that are entered more than once. A line in which two sections meet is one of
        each."""
        found = []
        for size, lines in entered.lines.items():
            for line, entries in lines.items():
                if entries < 2:
                    continue
                for section, number in self._numbers(entered, line, size):
                    found.append(EnteredLine(size, section, number, entries))
        return tuple(sorted(found))

    def after(self, entered: Entered) -> tuple[LineAfter, ...]:
        """Lines of a stretch that are fetched for what comes after it, of one section each."""
        found = []
        for size, lines in entered.after.items():
            for line in lines:
                (one, *more) = self._numbers(entered, line, size)
                if not more:
                    found.append(LineAfter(size, *one))
        return tuple(sorted(found))

    def behind(self, entered: Entered) -> tuple[LineBehind, ...]:
        """How lines take turns that may share a set, where that says more than how often they are
        entered. Lines in which two sections meet are left out: where these lie apart, what enters
        the one no longer enters the other."""
        found = []
        for size, turn in entered.behind.items():
            lines = entered.lines[size]
            sets: dict[int, list[int]] = defaultdict(list)
            for line in lines:
                sets[line % (APART // size)].append(line)
            for together in sets.values():
                for again, other in itertools.permutations(together, 2):
                    times = turn[again, other]
                    if lines[again] > 1 and times < lines[other]:
                        (one, *more), (two, *others) = (
                            self._numbers(entered, line, size) for line in (again, other)
                        )
                        if not more and not others:
                            found.append(LineBehind(size, one, two, times))
        return tuple(sorted(found))

    def _numbers(self, entered: Entered, line: int, size: int) -> list[tuple[str, int]]:
        """Each section that has a part of a line, and how many lines behind its first that is."""
        return [
            (section, line - self.address[section] // size)
            for section in self._meeting_in(entered.ranges, line * size, line * size + size)
        ]

    def _meeting_in(self, ranges: Ranges, first: int, last: int) -> set[str]:
        """Sections that have a part between two addresses, or code that stays with them there."""
        key = (ranges, first, last)
        if key not in self._meeting:
            touching = {number for number, start, end in ranges if start < last and end > first}
            behind = {name for number in touching for name in self._stays(number)}
            self._meeting[key] = self._sections_in(first, last) | behind
        return self._meeting[key]

    def _fetched_in(self, ranges: Ranges, first: int, last: int) -> set[str]:
        """Sections of what is fetched between two addresses, each wherever it lies (as ``ranges``
        has it): another one may have the rest of a line."""
        key = (ranges, first, last)
        if key not in self._fetched:
            self._fetched[key] = {
                section
                for number, start, end in ranges
                if start < last and end > first
                for section in (self.section_at(start), *self._stays(number))
            }
        return self._fetched[key]

    def hidden(
        self, entered: Entered, fetched: Collection[str], key: Callable[[int], Succession]
    ) -> tuple[tuple[HiddenStalls, ...], tuple[LinesInVain, ...]]:
        """What goes on while lines are loaded, of those of which a single section is fetched, which
        has a part of the line, and is one of those that code is fetched from. ``key``: the
        succession of a packed class."""
        hidden: Counter[_Group] = Counter()
        in_vain: Counter[tuple[int, str, int]] = Counter()
        for size, lines in entered.first.items():
            for line, first in lines.items():
                ends = line * size, line * size + size
                sections = self._fetched_in(entered.ranges, *ends)
                if len(sections) != 1 or not sections <= self._sections_in(*ends) & {*fetched}:
                    continue
                (section,) = sections
                if first == Hidden(in_vain=first.in_vain):
                    if first.in_vain is not None:
                        in_vain[size, section, first.in_vain] += 1
                    continue
                accesses = tuple((before, key(code)) for before, code in first.accesses)
                hidden[size, section, first.stalls, accesses, first.in_vain] += 1
        groups = (
            HiddenStalls(size, section, stalls, lines, accesses, in_vain)
            for (size, section, stalls, accesses, in_vain), lines in hidden.items()
        )
        return (
            # Accesses have no order but that of their text.
            tuple(sorted(groups, key=lambda one: (one.order, [*map(self._text, one.accesses)]))),
            tuple(sorted(LinesInVain(*key, lines) for key, lines in in_vain.items())),
        )


def succession_of(
    joint: JointSections, successions: Successions | None
) -> Callable[[int], Succession]:
    """The succession of a packed class, of those that are counted; ``joint``: what their accesses
    are told apart by, over all traces."""

    @cache
    def key(code: int) -> Succession:
        assert successions is not None
        settled = joint.settled_one(code << INSTRUCTION_BITS, successions)
        return successions.keys[unpack(settled)[1] & ~SUCCESSION]

    return key


def published_lines(
    observed: Mapping[Point, Entered],
    parameters: Sequence[Parameter],
    places: Places,
    joint: JointSections,
    successions: Successions | None = None,
) -> FetchedLines:
    """What was observed at each point of a service's parameters. ``successions``: those that are
    counted; ``joint``: what their accesses are told apart by, over all traces."""
    counts = {
        point: {code << INSTRUCTION_BITS: count for code, count in entered.codes.items()}
        for point, entered in observed.items()
    }
    entries = publish(counts, parameters, [Blocking()], places.names)

    return FetchedLines(
        entries, published_footprints(observed, places, succession_of(joint, successions))
    )


def published_footprints(
    observed: Mapping[Point, Entered], places: Places, key: Callable[[int], Succession]
) -> tuple[Footprint, ...]:
    """Of each point; those that are equal, once. ``key``: the succession of a packed class."""
    together: dict[Footprint, list[Point]] = defaultdict(list)
    for point, entered in sorted(observed.items()):
        ranges, repeated = places.ranges(entered.ranges), places.repeated(entered)
        hidden, in_vain = places.hidden(entered, {one.section for one in ranges}, key)
        behind, after = places.behind(entered), places.after(entered)
        footprint = Footprint((), ranges, repeated, entered.wild, hidden, in_vain, behind, after)
        together[footprint].append(point)
    return tuple(replace(footprint, points=tuple(points)) for footprint, points in together.items())
