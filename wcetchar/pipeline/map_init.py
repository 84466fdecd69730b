"""Derive a section map from an application: characterization + profile + ELF file -> map."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from wcetchar import store
from wcetchar.analysis.located import Located, locate
from wcetchar.errors import InputError, UsageError, few, several
from wcetchar.image import load_image, with_linker_map
from wcetchar.model.characterization import Characterization, Counts
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.image import Image
from wcetchar.model.section_map import Assumption, SectionMap


@dataclass(frozen=True)
class Request:
    """What ``wcetchar map init`` is asked for.

    Attributes:
        services: services files, or parts of some, whose rules say what belongs to each section.
        said: section to region, where somebody says it.
        partial: leave out what cannot be placed, with a comment.
        name: of the map; ``None``: the application's.
        linker_map: of the application, for names that it lacks.
    """

    application: str
    characterization: str
    profile: str
    services: tuple[str, ...] = ()
    said: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    name: str | None = None
    linker_map: str | None = None


def run(request: Request) -> str:
    """The text of the section map.

    Raises:
        InputError: a file cannot be read; a section that services touch cannot be placed, unless
            ``partial``. ``InputErrors`` where several cannot.
        UsageError: ``said`` names a section or a region that is not there.
    """
    found = store.load_characterization(request.characterization)
    profile = store.load_profile(request.profile)
    rules = store.load_section_rules(*request.services) if request.services else None
    _check_names(request, found, profile)
    sections = [s for s in found.sections if not s.either_of]
    if rules is not None:
        known = {s.name for s in found.sections}
        unknown = [s.name for s in rules.sections if s.name not in known]
        if unknown:
            raise InputError(
                f"the characterization has no logical section {few(unknown)}",
                where=rules.where("sections", unknown[0]),
                expected=f"sections of {request.characterization}: {', '.join(sorted(known))}",
                hint="give the services files that it was made with",
            )
    image = load_image(request.application)
    if request.linker_map is not None:
        image = with_linker_map(image, request.linker_map)
    located = locate(sections, rules, image, profile.regions, request.said)
    needed = _touched(found)
    problems = [p for one in located if one.section.name in needed for p in one.problems]
    if problems and not request.partial:
        raise several(problems)
    return _text(request, found, profile, image, located)


def _check_names(request: Request, found: Characterization, profile: HardwareProfile) -> None:
    sections = {s.name: s for s in found.sections}
    for section, region in request.said.items():
        if section not in sections:
            raise UsageError(
                f"--place: the characterization has no logical section {section!r}",
                expected=f"one of {', '.join(sections)}",
            )
        if sections[section].either_of:
            raise UsageError(
                f"--place: {section!r} lies where these do: "
                f"{', '.join(sections[section].either_of)}",
                hint="place these",
            )
        if region not in profile.regions:
            raise UsageError(
                f"--place: the profile {profile.name} has no region {region!r}",
                expected=f"one of {', '.join(sorted(profile.regions))}",
            )


def _touched(found: Characterization) -> frozenset[str]:
    """Logical sections that something counts."""
    touched: set[str] = set()
    for service in found.services:
        for counts in (service.counts, *(stretch.counts for stretch in service.stretches)):
            touched |= set(_sections(counts))
    for model in found.paths:
        for vector in model.vectors:
            touched |= vector.sections
    for section in found.sections:
        if section.name in touched:
            touched |= set(section.either_of)
    return frozenset(touched)


def _sections(counts: Counts) -> Iterator[str]:
    for row in (*counts.rows, *(row for point in counts.points for row in point.rows)):
        yield from row.vector.sections


def _text(
    request: Request,
    found: Characterization,
    profile: HardwareProfile,
    image: Image,
    located: tuple[Located, ...],
) -> str:
    application = os.path.basename(request.application)
    # Where somebody says a place, it is not that of this image, and nothing can be promised of it.
    same = image.sha256 == found.provenance.image_sha256 and not request.said
    head = [
        f"Derived by `wcetchar map init` from {application} (SHA-256 of what is loaded: "
        f"{image.sha256[:16]}),",
        f"for the profile {profile.name}. Addresses are those that the program runs at.",
    ]
    if same:
        head.append("This is the very image that was characterized: its code is aligned as there.")
    cached = same and profile.core.instruction_cache is not None
    placed = {one.section.name: one.region for one in located if one.region is not None}
    section_map = SectionMap(
        name=request.name or os.path.splitext(application)[0],
        sections=placed,
        assumptions=frozenset({Assumption.CODE_ALIGNMENT}) if same else frozenset(),
        addresses={
            one.section.name: one.section.address
            for one in located
            if cached and one.region is not None and one.section.address is not None
            if one.section.kind.value == "code"
        },
    )
    left_out = [
        store.LeftOut(
            one.section.name,
            "; ".join(p.message for p in one.problems)
            + (
                f" (the profile's default map: {profile.default_map[one.section.name]})"
                if one.section.name in profile.default_map
                else ""
            ),
        )
        for one in located
        if one.region is None
    ]
    return store.section_map_text(
        section_map,
        head,
        {one.section.name: _why(one) for one in located},
        left_out,
    )


def _why(one: Located) -> str:
    return few([str(e) for e in one.extents], 2) if one.extents else "as --place says"
