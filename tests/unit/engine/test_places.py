"""Addresses of a section map that cannot be: each is an error at its place in the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from test_pricing import FETCH, READ, at, cycles, kernel, profile, region

from wcetchar.engine.places import misplaced
from wcetchar.model.access import AccessClass
from wcetchar.model.characterization import (
    Characterization,
    CodeRange,
    Counts,
    FetchedLines,
    Footprint,
    SectionInfo,
)
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.section_map import Assumption, SectionMap
from wcetchar.model.service import SectionKind

SIZE = 0x400
TEXT, FAST = 0x1000, 0x2000


def characterized() -> Characterization:
    """Two sections of code, of each of which all bytes are fetched."""
    known = kernel(AccessClass(".text", FETCH, 32), AccessClass("heap", READ, 32))
    ranges = tuple(CodeRange(name, 0, SIZE) for name in (".text", ".fast"))
    lines = FetchedLines(Counts(()), (Footprint(((),), ranges),))
    sections = (
        SectionInfo(".text", SectionKind.CODE, address=TEXT),
        SectionInfo(".fast", SectionKind.CODE, address=FAST),
        SectionInfo("heap", SectionKind.DATA),
    )
    services = tuple(replace(one, lines=lines) for one in known.services)
    return replace(known, sections=sections, services=services)


def board() -> HardwareProfile:
    flash = replace(region("flash", {FETCH: at(cycles(1))}), base=0, size=0x10000)
    return profile(flash, replace(region("ram", {READ: at(cycles(1))}), base=0x20000000, size=4096))


def wrong(addresses: Mapping[str, int], *assumptions: Assumption) -> list[str]:
    placed = {".text": "flash", ".fast": "flash", "heap": "ram"}
    section_map = SectionMap("map", placed, assumptions=frozenset(assumptions), addresses=addresses)
    found = list(misplaced(characterized(), board(), section_map))
    assert all(one.file == "map" and one.keys[0] == "addresses" for one in found)
    assert all(one.expected for one in found)
    return [one.message for one in found]


@pytest.mark.parametrize(
    "addresses",
    [
        {},
        {".text": TEXT, ".fast": FAST},
        {".text": 0, ".fast": SIZE},
        {".text": 0x10000 - SIZE, "heap": 0x20000FFF},
        # What is fetched in vain behind the end of one may lie in the other.
        {".text": 0, ".fast": SIZE - 128},
        {"of somebody else": 1},
    ],
)
def test_places_that_can_be(addresses: Mapping[str, int]) -> None:
    assert wrong(addresses) == []


@pytest.mark.parametrize(
    ("addresses", "message"),
    [
        ({".text": 0x1001}, ".text begins at 0x1001, and no instruction has an odd address"),
        ({".text": 0x10000}, ".text begins at 0x10000, and region flash of profile board is 0x0.."),
        ({"heap": 0x1000}, "heap begins at 0x1000, and region ram of profile board is 0x20000000"),
        ({".text": 0, ".fast": 0}, ".text at 0x0 and .fast at 0x0 overlap"),
        ({".text": 0x100, ".fast": 0}, ".text at 0x100 and .fast at 0x0 overlap"),
        ({".text": 0, ".fast": SIZE - 130}, "overlap"),
    ],
)
def test_places_that_cannot(addresses: Mapping[str, int], message: str) -> None:
    (found,) = wrong(addresses)
    assert message in found


def test_a_promise_that_the_addresses_break() -> None:
    promise = Assumption.CODE_ALIGNMENT
    assert wrong({".text": TEXT + 2}) == []
    assert wrong({".text": TEXT + 4}, promise) == []
    (found,) = wrong({".text": TEXT + 2}, promise)
    assert "not where it was characterized (0x1000) modulo 4, as the map promises" in found
