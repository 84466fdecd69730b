"""Addresses that a section map says, and that cannot be: too few lines would be counted with them.

Nothing says how long a section is; what is fetched of it says how long it is at least.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from wcetchar.engine.errors import PricingError
from wcetchar.engine.placement import Placement
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.characterization import (
    Characterization,
    CodeRange,
    ServiceCharacterization,
)
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.section_map import Assumption, SectionMap
from wcetchar.model.service import SectionKind

_GRANULE: Final = 2
"""Bytes that addresses of instructions are multiples of, at least."""
_BEHIND_THE_END: Final = max(LINE_BYTES)
"""Bytes that may count as fetched of a section that ends before them: in vain, or of its last
line."""


def misplaced(
    characterization: Characterization, profile: HardwareProfile, section_map: SectionMap
) -> Iterator[PricingError]:
    """What is wrong with the addresses of a section map; nothing is raised."""
    code = {s.name: s.address for s in characterization.sections if s.kind is SectionKind.CODE}
    placement = Placement(profile, section_map, characterization.joint)
    for name, address in section_map.addresses.items():
        if name in code and address % _GRANULE:
            yield _wrong(
                name,
                f"{name} begins at {address:#x}, and no instruction has an odd address",
                "the address of the section in the linker's map file",
            )
        region = placement.region(name)
        if region is not None and region.base is not None and region.size is not None:
            end = region.base + region.size
            if not region.base <= address < end:
                yield _wrong(
                    name,
                    f"{name} begins at {address:#x}, and region {region.name} of profile "
                    f"{profile.name} is {region.base:#x}..{end - 1:#x}",
                    "an address in the region that the section is placed in",
                )
    yield from _realigned(characterization, section_map, code)
    yield from _overlapping(characterization, section_map, code)


def _realigned(
    characterization: Characterization, section_map: SectionMap, code: dict[str, int | None]
) -> Iterator[PricingError]:
    """Promised not to be, and said to be."""
    if Assumption.CODE_ALIGNMENT not in section_map.assumptions:
        return
    word = characterization.fetch_width // 8
    for name, address in section_map.addresses.items():
        before = code.get(name)
        if before is not None and (address - before) % word:
            yield _wrong(
                name,
                f"{name} begins at {address:#x}, which is not where it was characterized "
                f"({before:#x}) modulo {word}, as the map promises",
                "an address that keeps it, or no such promise",
                f"leave `{Assumption.CODE_ALIGNMENT.value}` out of the assumptions",
            )


def _overlapping(
    characterization: Characterization, section_map: SectionMap, code: dict[str, int | None]
) -> Iterator[PricingError]:
    said = section_map.addresses
    known = [name for name in said if code.get(name) is not None]
    shifted = [
        (first, second, moved)
        for first, second in combinations(known, 2)
        if (moved := said[first] - said[second]) != (code[first] or 0) - (code[second] or 0)
    ]
    if not shifted:
        return  # as they lay where they were characterized
    fetched: dict[str, set[int]] = {name: set() for name in known}
    for one in {r for service in characterization.services for r in fetched_ranges(service)}:
        if one.section in fetched:
            fetched[one.section].update(range(one.start, one.end, _GRANULE))
    for first, second, moved in shifted:
        both = {at + moved for at in fetched[first]} & fetched[second]
        if len(both) * _GRANULE > _BEHIND_THE_END:
            yield _wrong(
                first,
                f"{first} at {said[first]:#x} and {second} at {said[second]:#x} overlap",
                "sections that do not overlap",
                "take both from the linker's map file",
            )


def fetched_ranges(service: ServiceCharacterization) -> Iterator[CodeRange]:
    """Code that is fetched for a service, and for its stretches."""
    for footprint in service.lines.footprints if service.lines else ():
        yield from footprint.ranges
    for stretch in service.stretches:
        yield from stretch.code.ranges if stretch.code else ()


def _wrong(section: str, message: str, expected: str, hint: str | None = None) -> PricingError:
    return PricingError(
        message, expected=expected, hint=hint, file="map", keys=("addresses", section)
    )
