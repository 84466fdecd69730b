"""Where the logical sections of a characterization lie in an application.

Inputs: the logical sections, with their contents where these are published; rules that say what
of a program belongs to each; the application as an :class:`Image`; regions that have addresses.
Output: a :class:`Located` for each section that an integrator has to place: the region that holds
all that belongs to it, or why there is none.
Soundness: addresses are those that the program runs at. A region is named only where every byte
that belongs to the section lies in it; what belongs to a section is never guessed. Functions and
objects that a section had, and that the application has by the same name, belong to it there as
well, whatever linker section they are in. That they are what they were is for whoever links them to
see to, as with all that is counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from wcetchar.analysis.claims import RANGE, Claim, Claims, flatten
from wcetchar.errors import InputError, InputErrors, Location, few
from wcetchar.model.characterization import SectionInfo
from wcetchar.model.hardware import Region
from wcetchar.model.image import Image, Symbol
from wcetchar.model.service import SectionRules


@dataclass(frozen=True)
class Extent:
    """start <= address < end of the application. ``rule``: why it belongs to a section; empty where
    the addresses themselves say so."""

    start: int
    end: int
    rule: str

    def __str__(self) -> str:
        addresses = f"0x{self.start:08x}..0x{self.end - 1:08x}"
        return f"{self.rule} {addresses}" if self.rule else addresses


@dataclass(frozen=True)
class Located:
    """A logical section of an application.

    Attributes:
        region: that holds all of it; ``None``: see ``problems``.
        extents: what belongs to it, in order of addresses; none where somebody said the region.
        problems: why it cannot be placed.
    """

    section: SectionInfo
    region: str | None
    extents: tuple[Extent, ...] = ()
    problems: tuple[InputError, ...] = ()


def locate(
    sections: Sequence[SectionInfo],
    rules: SectionRules | None,
    image: Image,
    regions: Mapping[str, Region],
    said: Mapping[str, str],
) -> tuple[Located, ...]:
    """Places logical sections, in their order; those that are ``either_of`` others are left out.

    Args:
        rules: of the sections, by name, that go before what a linker section is called in
            published contents; ``None``: there are none.
        regions: by name; one without ``base`` and ``size`` holds no address.
        said: section to region, of those that somebody has placed.

    Raises:
        InputError: two rules claim the same address; ``InputErrors`` where several do.
    """
    by_rule = _Ruled(rules, image)
    found = []
    for section in sections:
        if section.either_of:
            continue
        if section.name in said:
            found.append(Located(section, said[section.name]))
            continue
        extents, problems = by_rule.extents(section)
        region = None
        if extents and not problems:
            region, problem = _region_of(section, extents, image, regions)
            problems = () if problem is None else (problem,)
        found.append(Located(section, region, extents, tuple(_helped(problems, section, regions))))
    return tuple(found)


class _Ruled:
    """What rules claim of an image."""

    def __init__(self, rules: SectionRules | None, image: Image) -> None:
        self._image = image
        self._rules = rules
        self._problems: dict[str, list[InputError]] = {}
        claims: list[Claim] = []
        if rules is None:
            return
        for number, section in enumerate(rules.sections):
            problems = self._problems.setdefault(section.name, [])
            claims += Claims(image, rules.where, problems).of(section, number)
        mistakes: list[InputError] = []
        Claims(image, rules.where, mistakes).check_overlaps(rules.sections, claims)
        if mistakes:
            raise mistakes[0] if len(mistakes) == 1 else InputErrors(mistakes)
        self._extents: dict[str, list[Extent]] = {}
        for start, end, claim in flatten(claims, rules_apart=True):
            name = rules.sections[claim.section].name
            rule = "" if claim.rank == RANGE else claim.rule
            self._extents.setdefault(name, []).append(Extent(start, end, rule))

    def extents(self, section: SectionInfo) -> tuple[tuple[Extent, ...], tuple[InputError, ...]]:
        """All that belongs to a section, and what stands in the way of saying so."""
        named = tuple(self._named(section))
        if self._rules is None or section.name not in self._problems:
            return self._published(section, named)
        if self._problems[section.name]:
            return (), tuple(self._problems[section.name])
        ruled = self._extents.get(section.name, [])
        extents = (*ruled, *(e for e in named if not any(_within(e, r) for r in ruled)))
        if extents:
            return extents, ()
        problem = InputError(
            f"the application {self._image.path} has nothing of the logical section "
            f"{section.name!r}",
            where=self._rules.where("sections", section.name),
        )
        return (), (problem,)

    def _published(
        self, section: SectionInfo, named: tuple[Extent, ...]
    ) -> tuple[tuple[Extent, ...], tuple[InputError, ...]]:
        """By what the characterization says alone. Where it names functions or objects, one of them
        has to be there: a linker section that is called alike may be for something else."""
        what, image = f"the logical section {section.name!r}", self._image
        contents = section.contents
        if contents is None:
            problem = f"nothing says what belongs to {what}"
            hint = "give the services files that the kernel was characterized with (--services)"
            return (), (InputError(problem, where=Location(image.path), hint=hint),)
        fixed = tuple(Extent(r.start, r.end, "") for r in contents.ranges)
        if contents.symbols:
            there = sum(_plain(name) in self._by_name for name in contents.symbols)
            gone = len(contents.symbols) - there
            if named and (not gone or self._has_statics):
                return (*named, *fixed), ()
            problem = f"{gone} of {len(contents.symbols)} functions and objects of {what} are not"
            problem += " there"
            hint = "write a services file with its `sections` alone (--services)"
            if not self._has_statics:
                problem += ", and the application names no static ones: it is stripped"
                hint = "give its linker map (--linker-map), or the file before it was stripped"
            return (), (InputError(problem, where=Location(image.path), hint=hint),)
        present = [s for s in image.sections if s.name in contents.linker_sections]
        lacking = set(contents.linker_sections) - {s.name for s in present}
        if lacking or not (present or fixed):
            problem = f"{what} was linker section {', '.join(sorted(lacking))}, which is not there"
            if not lacking:
                problem = f"nothing belonged to {what} where the kernel was characterized"
            hint = "write a services file with its `sections` alone (--services)"
            return (), (InputError(problem, where=Location(image.path), hint=hint),)
        return (
            *(Extent(s.address, s.end, f"linker section {s.name}") for s in present),
            *fixed,
        ), ()

    def _named(self, section: SectionInfo) -> Iterator[Extent]:
        """The functions and objects that were in the section, by the linker sections that they are
        in; a name that several have stands for all of them."""
        if section.contents is None:
            return
        there: dict[str | None, list[Symbol]] = {}
        for name in sorted({_plain(name) for name in section.contents.symbols}):
            for symbol in self._by_name.get(name, ()):
                there.setdefault(symbol.section, []).append(symbol)
        for linker, symbols in there.items():
            first = min(s.address for s in symbols)
            end = max(s.address + max(1, s.size) for s in symbols)
            names = sorted({s.name for s in symbols})
            rule = f"{few(names, 1)} (linker section {linker})"
            yield Extent(first, end, rule)

    @cached_property
    def _by_name(self) -> dict[str, list[Symbol]]:
        found: dict[str, list[Symbol]] = {}
        for symbol in self._image.symbols:
            if symbol.section is not None and symbol.kind in ("function", "object"):
                found.setdefault(_plain(symbol.name), []).append(symbol)
        return found

    @cached_property
    def _has_statics(self) -> bool:
        return any(symbol.local for of in self._by_name.values() for symbol in of)


def _plain(name: str) -> str:
    """Without the numbers by which a compiler tells clones and static variables apart."""
    return re.sub(r"(?:\.\d+)+$", "", name)


def _within(extent: Extent, other: Extent) -> bool:
    return other.start <= extent.start and extent.end <= other.end


def _region_of(
    section: SectionInfo,
    extents: Sequence[Extent],
    image: Image,
    regions: Mapping[str, Region],
) -> tuple[str | None, InputError | None]:
    """The one region that holds all extents, or why there is none."""
    held: dict[str, list[Extent]] = {}
    outside: list[Extent] = []
    for extent in extents:
        name = next((n for n, region in regions.items() if _holds(region, extent)), None)
        if name is None:
            outside.append(extent)
        else:
            held.setdefault(name, []).append(extent)
    if len(held) == 1 and not outside:
        return next(iter(held)), None
    where = Location(image.path)
    what = f"the logical section {section.name!r}"
    if outside:
        without = [n for n, r in regions.items() if r.base is None]
        return None, InputError(
            f"{what} is in no region as a whole: {few([str(e) for e in outside])}",
            where=where,
            expected="addresses in one region of the profile"
            + (f" (these have no base and size: {', '.join(without)})" if without else ""),
        )
    parts = "; ".join(f"in {n}: {few([str(e) for e in of])}" for n, of in sorted(held.items()))
    return None, InputError(
        f"{what} is in {len(held)} regions, {parts}",
        where=where,
        expected="all of a section in one region",
    )


def _holds(region: Region, extent: Extent) -> bool:
    return (
        region.base is not None
        and region.size is not None
        and region.base <= extent.start
        and extent.end <= region.base + region.size
    )


def _helped(
    problems: Sequence[InputError], section: SectionInfo, regions: Mapping[str, Region]
) -> list[InputError]:
    """With what the section is, and what to do."""
    meaning = f": {section.meaning}" if section.meaning else ""
    place = f"say it with --place '{section.name}=REGION', one of {', '.join(sorted(regions))}"
    return [
        InputError(
            problem.message,
            where=problem.where,
            expected=problem.expected or f"{section.kind.value} of the application{meaning}",
            hint=f"{problem.hint}; or {place}" if problem.hint else place,
        )
        for problem in problems
    ]
