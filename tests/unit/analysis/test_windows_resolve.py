"""Names of a services file, looked up in an image: sections, marks, entries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from listing import MARK, SCRIPT, SERVICES, SOURCE, STACK, TABLE, load

from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.stops import Stop, stops_of, vector_targets
from wcetchar.errors import InputError
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import (
    AddressRange,
    LogicalSection,
    Parameter,
    ParameterKind,
    SectionKind,
    Service,
    ServiceKind,
    ServicesFile,
)

Loaded = tuple[Image, InstructionTable]


@pytest.fixture
def loaded(assemble: Callable[..., Path]) -> Loaded:
    alias = ".global alias\n.type alias,%function\n.set alias, service\n"
    return load(assemble(SOURCE + alias, SCRIPT))


def resolved(loaded: Loaded, services: ServicesFile) -> Resolved:
    return resolve(services, *loaded)


def section(name: str, **rules: object) -> LogicalSection:
    return LogicalSection(name, SectionKind.DATA, **rules)  # type: ignore[arg-type]


def with_sections(*sections: LogicalSection) -> ServicesFile:
    return replace(SERVICES, sections=(*SERVICES.sections, *sections))


def owners(found: Resolved, *addresses: int) -> list[str | None]:
    numbers = found.sections_of(np.array(addresses, dtype=np.uint64)).tolist()
    return [None if n < 0 else found.section_names[n] for n in numbers]


def test_the_most_specific_rule_claims_an_address(loaded: Loaded) -> None:
    """Symbols before ranges before linker sections, cut at every edge."""
    found = resolved(
        loaded,
        with_sections(
            section("range", ranges=(AddressRange(TABLE - 8, TABLE + 16),)),
            section("fast", symbols=("tick",)),
        ),
    )
    assert owners(found, TABLE - 9, TABLE - 8, TABLE, TABLE + 15, TABLE + 16, TABLE + 63) == [
        None, "range", "range", "range", "data", "data",
    ]  # fmt: skip
    assert owners(found, TABLE + 64, 0x132, 0x134, 0x141, 0x142) == [
        None, ".text", "fast", "fast", ".text",
    ]  # fmt: skip
    tick = next(k for k, i in enumerate(found.table.instructions) if i.address == 0x134)
    assert found.section_names[found.code_section[tick]] == "fast"
    symbols = with_sections(
        section("range", ranges=(AddressRange(TABLE, TABLE + 16),)),
        section("object", symbols=("table",)),
    )
    assert owners(resolved(loaded, symbols), TABLE, TABLE + 63) == ["object", "object"]


def test_nothing_is_claimed_by_an_empty_rule(loaded: Loaded) -> None:
    empty = section("empty", ranges=(AddressRange(TABLE + 4, TABLE + 4),))
    assert owners(resolved(loaded, with_sections(empty)), TABLE + 4) == ["data"]


def test_an_optional_linker_section_may_be_missing(loaded: Loaded) -> None:
    others = tuple(s for s in SERVICES.sections if s.name not in ("data", ".vectors"))
    data = section("data", optional=(".data", ".missing"))
    vectors = section(".vectors", optional=(".other", ".vectors"))
    found = resolved(loaded, replace(SERVICES, sections=(*others, data, vectors)))
    assert owners(found, TABLE, TABLE + 63, TABLE + 64, 0) == ["data", "data", None, ".vectors"]
    assert vector_targets(found) == {0x100, 0x144, 0x134}
    with pytest.raises(InputError, match="does not have"):
        resolved(loaded, with_sections(section("more", linker_sections=(".missing",))))


def test_what_the_hardware_touches_is_never_missing(loaded: Loaded) -> None:
    others = tuple(s for s in SERVICES.sections if s.name != ".vectors")
    vectors = section(".vectors", optional=(".vectrs",))
    with pytest.raises(InputError, match="has nothing of the logical section"):
        resolved(loaded, replace(SERVICES, sections=(*others, vectors)))


def test_optional_rules_overlap_like_others(loaded: Loaded) -> None:
    with pytest.raises(InputError, match="both claim"):
        resolved(loaded, with_sections(section("more", optional=(".text",))))


@pytest.mark.parametrize(
    "others",
    [
        (AddressRange(0x100, 0x200), AddressRange(0x1FF, 0x201)),
        # the second one lies between, so that the third follows another neighbour
        (AddressRange(0x100, 0x200), AddressRange(0x110, 0x120), AddressRange(0x180, 0x190)),
        (AddressRange(0x100, 0x200), AddressRange(0x100, 0x200)),
    ],
)
def test_rules_of_one_rank_must_not_overlap(
    loaded: Loaded, others: tuple[AddressRange, ...]
) -> None:
    base = 0x40000000
    sections = [
        section(f"s{k}", ranges=(AddressRange(base + r.start, base + r.end),))
        for k, r in enumerate(others)
    ]
    with pytest.raises(InputError, match="both claim"):
        resolved(loaded, with_sections(*sections))


def test_an_entry_may_be_an_alias_of_another_services(loaded: Loaded) -> None:
    twin = Service("twin", 9, ServiceKind.CALL, ("alias",))
    found = resolved(loaded, replace(SERVICES, services=(*SERVICES.services, twin)))
    entry = next(k for k, i in enumerate(found.table.instructions) if i.address == 0x10C)
    assert [s.name for s in found.entries[entry]] == ["service", "twin"]


@pytest.mark.parametrize("entry", ["table", "again_not_there"])
def test_an_entry_must_be_code(loaded: Loaded, entry: str) -> None:
    odd = Service("odd", 9, ServiceKind.CALL, (entry,))
    with pytest.raises(InputError):
        resolved(loaded, replace(SERVICES, services=(odd,)))


def test_marks_must_fit_their_array(loaded: Loaded) -> None:
    """1024 bytes are four channels of 256 values: begin, end and two parameters."""
    three = tuple(Parameter(n, ParameterKind.STATE, 1, 2, "") for n in "ABC")
    for count in (2, 3):
        service = replace(SERVICES.services[0], parameters=three[:count])
        services = replace(SERVICES, services=(service,))
        if count == 2:
            assert resolved(loaded, services).mark_end == MARK + 1024
            continue
        with pytest.raises(InputError, match="has 4 channels"):
            resolved(loaded, services)
    for values in (3, 1000):
        with pytest.raises(InputError, match="has 1024 bytes"):
            resolved(loaded, replace(SERVICES, marks=replace(SERVICES.marks, values=values)))


@pytest.mark.parametrize(
    "rules",
    [{"linker_sections": (".vectors",)}, {"ranges": (AddressRange(0, 0x40),)}],
)
def test_handlers_are_found_however_the_vectors_are_named(
    loaded: Loaded, rules: dict[str, object]
) -> None:
    others = tuple(s for s in SERVICES.sections if s.name != ".vectors")
    found = resolved(loaded, replace(SERVICES, sections=(*others, section(".vectors", **rules))))
    assert vector_targets(found) == {0x100, 0x144, 0x134}
    flags = dict(
        zip((i.address for i in found.table.instructions), stops_of(found).tolist(), strict=True)
    )
    assert flags[0x144] == Stop.HANDLER | Stop.SAVE
    assert flags[0x148] == Stop.RESTORE
    assert owners(found, STACK) == ["stack"]
