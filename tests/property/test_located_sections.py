"""Where logical sections lie, against a look at every single byte."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.analysis.located import locate
from wcetchar.errors import InputError, Location
from wcetchar.model.access import Operation
from wcetchar.model.characterization import Contents, SectionInfo
from wcetchar.model.hardware import AccessTime, Quantity, Region, RegionKind, Unit
from wcetchar.model.image import Image, Section, Symbol
from wcetchar.model.service import AddressRange, LogicalSection, SectionKind, SectionRules

SPACE = 48
"""Addresses in all."""

_ONE = Quantity.exactly(Fraction(1), Unit.CYCLES)


def _region(name: str, span: tuple[int, int] | None) -> Region:
    times = {Operation.READ: AccessTime(_ONE, _ONE)}
    base, size = (None, None) if span is None else (span[0], span[1] - span[0])
    return Region(name, RegionKind.MEMORY, 32, times, base=base, size=size)


@st.composite
def _spans(draw: st.DrawFn, most: int) -> list[tuple[int, int]]:
    """Up to ``most`` ranges that do not overlap."""
    points = draw(st.lists(st.integers(0, SPACE), max_size=2 * most, unique=True).map(sorted))
    return [(a, b) for a, b in zip(points[::2], points[1::2], strict=False)]


@given(
    linked=_spans(5),
    objects=st.lists(st.tuples(st.integers(0, SPACE - 4), st.integers(1, 4)), max_size=5),
    regions=_spans(4),
    ranges=_spans(1),
    data=st.data(),
)
def test_a_region_is_named_where_it_has_each_byte(
    linked: list[tuple[int, int]],
    objects: list[tuple[int, int]],
    regions: list[tuple[int, int]],
    ranges: list[tuple[int, int]],
    data: st.DataObject,
) -> None:
    owners = st.sampled_from(["a", "b"])
    of_linked = [data.draw(owners) for _ in linked]
    of_objects = [data.draw(owners) for _ in objects]
    published = data.draw(st.booleans())
    image = Image(
        path="app.elf",
        machine="arm",
        architecture="armv7-m",
        bits=32,
        entry=0,
        sections=tuple(
            Section(f".s{n}", start, end - start, True, False, b"")
            for n, (start, end) in enumerate(linked)
        ),
        symbols=tuple(
            Symbol(f"o{n}", start, size, "object", ".s", local=True)
            for n, (start, size) in enumerate(objects)
        ),
        code=(),
        lines=(),
        sha256="",
    )
    rules = SectionRules(
        "rules.yaml",
        tuple(
            LogicalSection(
                name,
                SectionKind.DATA,
                optional=tuple(f".s{n}" for n, o in enumerate(of_linked) if o == name),
                ranges=tuple(AddressRange(*span) for span in ranges if name == "a"),
            )
            for name in ("a", "b")
        ),
    )
    infos = [
        SectionInfo(
            name,
            SectionKind.DATA,
            contents=Contents(symbols=tuple(f"o{n}" for n, o in enumerate(of_objects) if o == name))
            if published
            else None,
        )
        for name in ("a", "b")
    ]
    places = {f"r{n}": _region(f"r{n}", span) for n, span in enumerate(regions)}
    places["anywhere"] = _region("anywhere", None)
    for found in locate(infos, rules, image, places, {}):
        name = found.section.name
        # The range of `a` goes before linker sections; objects belong to their section anyway.
        mine = {
            address
            for (start, end), owner in zip(linked, of_linked, strict=True)
            if owner == name
            for address in range(start, end)
            if name == "a" or not any(low <= address < high for low, high in ranges)
        }
        if name == "a":
            mine |= {address for low, high in ranges for address in range(low, high)}
        if published:
            mine |= {
                address
                for (start, size), owner in zip(objects, of_objects, strict=True)
                if owner == name
                for address in range(start, start + size)
            }
        holding = [
            f"r{n}"
            for n, (low, high) in enumerate(regions)
            if mine and all(low <= address < high for address in mine)
        ]
        # What spans two regions that touch is in neither; so is what is in none.
        assert ([found.region] if found.region else []) == holding
        assert bool(found.problems) is not bool(holding)
        for problem in found.problems:
            assert problem.hint is not None
            assert f"--place '{name}=REGION'" in problem.hint


def test_two_rules_for_one_address() -> None:
    image = Image("app.elf", "arm", "armv7-m", 32, 0, (), (), (), (), "")
    span = (AddressRange(0, 4),)
    rules = SectionRules(
        "rules.yaml",
        tuple(LogicalSection(name, SectionKind.DATA, ranges=span) for name in ("a", "b")),
        {("sections", "b", "address ranges", 0): Location("rules.yaml", 7)},
    )
    infos = [SectionInfo(name, SectionKind.DATA) for name in ("a", "b")]
    with pytest.raises(InputError, match="both claim 0x00000000") as caught:
        locate(infos, rules, image, {}, {})
    assert caught.value.where == Location("rules.yaml", 7)
