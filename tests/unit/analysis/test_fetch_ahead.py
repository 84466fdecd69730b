"""Fetches in vain of tiny programs, written down by hand, cycle by cycle of the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from wcetchar.counting.fetch_ahead import FetchAhead
from wcetchar.image import load_image
from wcetchar.isa import decode_image

SCRIPT = "SECTIONS { .text 0x80000000 : { *(.text*) } }"
HEAD = ".text\n.p2align 2\n.global code\n.type code,%function\ncode:\n"
TAIL = "\n.size code, .-code\n"
BASE = 0x80000000
WORDS = "c.nop\n addi a0, a1, 1\n addi a0, a1, 1\n addi a0, a1, 1"
"""At 2 behind an instruction of two bytes at 0: 2..4, 4..8, 8..12, 12..16."""

Case = tuple[str, int, bool, bool, list[tuple[int, int, int]], bool]
"""(instructions, which of them, taken, trapped; (start, end, cycles before) in vain; wild)."""
CASES: dict[str, Case] = {
    "no transfer": (WORDS, 1, False, False, [], False),
    "a jump: what lies behind it when it is decoded": (
        f"c.j i0\n {WORDS}",
        0,
        True,
        False,
        [(2, 4, 0)],
        False,
    ),
    "a return: three behind it": (
        f"c.jr ra\n {WORDS}",
        0,
        True,
        False,
        [(2, 4, 2), (4, 8, 1), (8, 12, 0)],
        False,
    ),
    "a return from a handler: four": (
        f"mret\n {WORDS}",
        0,
        True,
        False,
        [(4, 6, 3), (6, 10, 2), (10, 14, 1), (14, 18, 0)],
        False,
    ),
    "a forward branch that is taken": (
        f"beq a0, a1, i4\n {WORDS}",
        0,
        True,
        False,
        [(4, 6, 2), (6, 10, 1), (10, 14, 0)],
        False,
    ),
    "a forward branch that is not": (f"beq a0, a1, i4\n {WORDS}", 0, False, False, [], False),
    "a backward branch that is taken": (
        f"c.nop\n c.nop\n beq a0, a1, i0\n {WORDS}",
        2,
        True,
        False,
        [(8, 10, 0)],
        False,
    ),
    "a backward branch that is not: its target, and behind that": (
        f"c.nop\n addi a0, a1, 1\n beq a0, a1, i0\n {WORDS}",
        2,
        False,
        False,
        [(10, 12, 2), (0, 2, 1), (2, 6, 0)],
        False,
    ),
    "behind a return lies a jump: its target": (
        "c.jr ra\n c.j i3\n c.nop\n addi a0, a1, 1\n c.nop",
        0,
        True,
        False,
        [(2, 4, 2), (4, 6, 1), (6, 10, 0)],
        False,
    ),
    "a trap behind it: two": (WORDS, 0, False, True, [(2, 6, 1), (6, 10, 0)], False),
    "a supervisor call": (f"ecall\n {WORDS}", 0, True, False, [(4, 6, 1), (6, 10, 0)], False),
    "no code behind a return: it may send the fetch unit anywhere": (
        "c.nop\n c.jr ra",
        1,
        True,
        False,
        [(4, 8, 2)],
        True,
    ),
    "no code behind a jump: nothing of it is decoded": (
        "c.nop\n c.j i0",
        1,
        True,
        False,
        [(4, 8, 0)],
        False,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_in_vain(name: str, assemble_riscv: Callable[[str, str], Path]) -> None:
    source, number, taken, trapped, expected, wild = CASES[name]
    rows = [row.strip() for row in source.splitlines()]
    labelled = "\n".join(f"i{n}: {row}" for n, row in enumerate(rows))
    table = decode_image(load_image(str(assemble_riscv(HEAD + labelled + TAIL, SCRIPT))))
    found = FetchAhead(table).of(number, taken, trapped)
    assert [(t.start - BASE, t.end - BASE, t.before) for t in found.touches] == expected
    assert found.wild is wild
