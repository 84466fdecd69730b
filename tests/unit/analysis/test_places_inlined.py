"""What a place says of code that was inlined there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from listing import SCRIPT, SERVICES, SOURCE, load

from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.model.characterization import Place
from wcetchar.model.image import InlinedCall, SourceLine


@pytest.fixture
def resolved(assemble: Callable[..., Path]) -> Resolved:
    """``service`` (0x10c) calls a function in line 20 that calls one of a header in line 5; the
    latter is inlined in two places."""
    image, table = load(assemble(SOURCE, SCRIPT))
    lines = ((0x10C, "k.c", 19), (0x10E, "port.h", 7), (0x112, "k.c", 5), (0x114, "k.c", 21))
    calls = (
        InlinedCall(0x10E, 0x114, 1, "k.c", 20),
        InlinedCall(0x10E, 0x112, 2, "k.c", 5),
        InlinedCall(0x116, 0x118, 2, "k.c", 5),
        InlinedCall(0x116, 0x11A, 1, "", 0),
        InlinedCall(0x11A, 0x11C, 1, "k.c", 21),
    )
    image = replace(image, lines=tuple(SourceLine(*line) for line in lines), inlined=calls)
    return resolve(SERVICES, image, table)


@pytest.mark.parametrize(
    ("address", "text"),
    [
        (0x10C, "service (k.c:19)"),
        (0x10E, "service+2 (k.c:20, inlined port.h:7)"),
        (0x110, "service+4 (k.c:20, inlined port.h:7)"),
        (0x112, "service+6 (k.c:20, inlined k.c:5)"),
        (0x114, "service+8 (k.c:21)"),
        # Where the outermost call's line is not known, the next one inside.
        (0x116, "service+10 (k.c:5, inlined k.c:21)"),
        (0x118, "service+12 (k.c:21)"),
        # Nothing else than the line that calls.
        (0x11A, "service+14 (k.c:21)"),
    ],
)
def test_the_calling_line_comes_first(resolved: Resolved, address: int, text: str) -> None:
    assert resolved.place(address) == text


def test_the_same_for_programs(resolved: Resolved) -> None:
    assert resolved.place_of(0x10E) == Place("service", 2, "k.c", 20, "port.h", 7)
    assert resolved.place_of(0x114) == Place("service", 8, "k.c", 21)


def test_of_a_service_the_line_of_its_function(resolved: Resolved) -> None:
    service = next(one for one in SERVICES.services if "service" in one.entries)
    assert resolved.place_of_service(service) == Place("service", 0, "k.c", 19)


def test_of_a_service_without_debug_information(assemble: Callable[..., Path]) -> None:
    image, table = load(assemble(SOURCE, SCRIPT))
    resolved = resolve(SERVICES, replace(image, lines=()), table)
    assert resolved.place_of_service(SERVICES.services[0]) is None
