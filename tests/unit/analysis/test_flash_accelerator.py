"""A small service on the shipped flash accelerators, each figure by hand: its line entries from the
program, its counts and prices from the manuals' figures."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest
from test_fetch_buffer import entered, events, table_of

from wcetchar import store
from wcetchar.engine import estimate
from wcetchar.model.access import (
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Operation,
    Pattern,
)
from wcetchar.model.characterization import (
    Blocking,
    Characterization,
    CodeRange,
    Counts,
    FetchedLines,
    Footprint,
    Kernel,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    TraceSection,
    Word,
)
from wcetchar.model.fetch_buffer import M_PROFILE_BUFFER
from wcetchar.model.section_map import CacheState, SectionMap
from wcetchar.model.service import SectionKind, ServiceKind

BASE = 0x08000000
LOCK = ["ldr r3, [pc, #8]", "ldr r2, [r3]", "adds r2, #1", "str r2, [r3]", "bx lr", *15 * ["nop"]]
"""As vTaskSuspendAll; behind it code that does not branch."""
READ, WRITE, FETCH = Operation.READ, Operation.WRITE, Operation.FETCH
COUNTS = AccessVector(
    {
        AccessClass(".text", FETCH, 32, Pattern.FIRST): 1,
        AccessClass(".text", FETCH, 32, Pattern.NEXT): 2,
        AccessClass(".text", READ, 32): 1,
        AccessClass("data", READ, 32): 1,
        AccessClass("data", WRITE, 32): 1,
        CoreEvent(".text", EventKind.LOAD): 2,
        CoreEvent(".text", EventKind.ALU): 1,
        CoreEvent(".text", EventKind.STORE): 1,
        CoreEvent(".text", EventKind.RETURN): 1,
        CoreEvent(".text", EventKind.PIPELINE_REFILL): 1,
    }
)
ZERO_WAIT = 2 + 2 + 1 + 2 + 4
"""Cycles as in table 3-1 of the Cortex-M4's manual: ldr, ldr, adds, str, bx with P = 3."""
LITERAL = 11
"""It comes from flash: 6 after 6, instead of 1."""
DISCARDED = 1
"""The refill may wait for a fetch that nobody wants, which hits."""
CORE = ZERO_WAIT + LITERAL + DISCARDED
HERE, ELSEWHERE = EventKind.LINE_ENTRY_16, EventKind.LINE_ENTRY_16_REALIGNED


def characterization() -> Characterization:
    """Entered are the line that it lies in and, in vain, the one behind it (bytes 10..31); one more
    if it lies across two lines."""
    lines = AccessVector({CoreEvent(".text", HERE): 2, CoreEvent(".text", ELSEWHERE): 1})
    service = ServiceCharacterization(
        name="lock",
        kind=ServiceKind.CALL,
        word=Word.HIGH_WATER_MARK,
        parameters=(),
        counts=Counts((TraceSection(Blocking(), COUNTS),)),
        lines=FetchedLines(
            Counts((TraceSection(Blocking(), lines),)),
            (Footprint(((),), (CodeRange(".text", 0, 32),)),),
        ),
    )
    sections = (
        SectionInfo(".text", SectionKind.CODE, address=0x1000),
        SectionInfo("data", SectionKind.DATA),
    )
    return Characterization(
        Kernel("by hand", "1"),
        "armv7e-m",
        32,
        sections,
        (service,),
        Provenance("by hand", "0" * 64),
        stalls=2,
        fetch_buffer=M_PROFILE_BUFFER,
    )


def test_the_entries_are_those_of_the_program(assemble: Callable[..., Path]) -> None:
    table = table_of(assemble, LOCK)
    counts = events(entered(table, [0, 1, 2, 3, 4]))
    assert (counts["line entry 16"], counts["line entry 16 realigned"]) == (2, 1)


@pytest.mark.parametrize(
    ("profile", "state", "at", "cycles"),
    [
        ("cortex-m4/art-168mhz", CacheState.ALWAYS_MISS, None, CORE + 3 * 6),
        ("cortex-m4/art-168mhz", CacheState.ALWAYS_MISS, BASE, CORE + 2 * 6),
        ("cortex-m4/art-168mhz", CacheState.COLD, BASE, CORE + 2 * 6),
        ("cortex-m4/art-168mhz", CacheState.COLD, BASE + 8, CORE + 3 * 6),
        ("cortex-m4/art-168mhz", CacheState.WARM, BASE, CORE),
        # Only the line in use is held, and each may wait for one that is read ahead.
        ("cortex-m4/art-168mhz-prefetch", CacheState.ALWAYS_MISS, None, CORE + 3 * 12),
        ("cortex-m4/art-168mhz-prefetch", CacheState.COLD, BASE, CORE + 2 * 12),
        ("cortex-m4/art-168mhz-prefetch", CacheState.WARM, BASE, CORE + 2 * 12),
        # Three words, each 6 of which one is hidden, and the fetch that nobody wants takes 6.
        ("cortex-m4/art-168mhz-each-fetch", CacheState.ALWAYS_MISS, None, CORE + 3 * 5 + 5),
    ],
)
def test_a_small_service(profile: str, state: CacheState, at: int | None, cycles: int) -> None:
    hardware = store.load_profile(profile)
    places = {".text": "flash", "data": "sram"}
    addresses = {} if at is None else {".text": at}
    placed = SectionMap("map", places, addresses=addresses, instruction_cache=state)
    found = estimate(characterization(), "lock", hardware, placed, {})
    assert found.total.high == cycles * Fraction(1000, 168)
