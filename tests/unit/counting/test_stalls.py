"""Stalls of tiny programs, each counted by hand from the definitions (docs, "Stalls").

A program is one function; every instruction has a label. What was executed is written out as the
labels in order, so that no machine runs here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from wcetchar.counting.columns import Columns
from wcetchar.counting.stalls import Stalls
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.access import STALLS
from wcetchar.model.instruction import Flow

SCRIPT = "SECTIONS { .text 0x80000000 : { *(.text*) } }"
HEAD = ".text\n.p2align 2\n.global code\n.type code,%function\ncode:\n"
TAIL = "\n.size code, .-code\n"

Counted = dict[str, int]
STILL = (Flow.NEXT, Flow.SUPERVISOR_CALL, Flow.STOP)


def stalls(elf: Path, executed: str, granule: int = 2) -> Counted:
    """Counts of a window of these instructions. The first line of the program is ``i0``."""
    image = load_image(str(elf))
    table = decode_image(image)
    assert table.granule == granule
    at = {s.name: s.address & ~1 for s in image.symbols}
    found = [table.at(at[name]) for name in executed.split()]
    rows = [one for one in found if one is not None]
    assert len(rows) == len(found)
    index = np.array([table.instructions.index(one) for one in rows])
    address = np.array([one.address for one in rows])
    end = np.array([one.end for one in rows])
    taken = [
        one.flow not in STILL and (not one.conditional or after.address != one.end)
        for one, after in pairwise(rows)
    ]
    taken.append(rows[-1].flow not in STILL)
    events = Stalls(Columns(table)).of(index, address, end, np.array(taken))
    counts = Counter({kind.value: len(where) for kind, where in events if len(where)})
    assert all(kind in {one.value for one in STALLS} for kind in counts)
    return dict(counts)


def labelled(lines: str) -> str:
    """Each instruction with its label."""
    rows = [row.strip() for row in lines.strip().splitlines()]
    return HEAD + "\n".join(f"i{n}: {row}" for n, row in enumerate(rows)) + TAIL


def straight(*numbers: int) -> str:
    return " ".join(f"i{n}" for n in numbers)


ENTERED = {"second use stall behind a transfer": 1}
"""Where the first instruction uses a register that the caller may have loaded."""
Case = tuple[str, str, Counted]
"""(instructions, one in a line; labels of those that were executed; what is counted)."""
RESULTS: dict[str, Case] = {
    "a load's value is used at once": (
        "c.nop\n lw a0, 0(a1)\n addi a2, a0, 1",
        straight(0, 1, 2),
        {"load-use stall": 1},
    ),
    "another register is used": ("c.nop\n lw a0, 0(a1)\n addi a2, a3, 1", straight(0, 1, 2), {}),
    "what it loads is replaced": ("c.nop\n lw a0, 0(a1)\n addi a0, a3, 1", straight(0, 1, 2), {}),
    "a load into x0": ("c.nop\n lw x0, 0(a1)\n addi a2, x0, 1", straight(0, 1, 2), {}),
    "by an access, as its address": (
        "c.nop\n lw a0, 0(a1)\n lw a2, 0(a0)",
        straight(0, 1, 2),
        {"load-use stall of an access": 1},
    ),
    "by an access, as its value": (
        "c.nop\n lw a0, 0(a1)\n sw a0, 0(a2)",
        straight(0, 1, 2),
        {"load-use stall of an access": 1},
    ),
    "an address is computed right before": (
        "c.nop\n addi a0, a1, 4\n lw a2, 0(a0)",
        straight(0, 1, 2),
        {"address-use stall": 1},
    ),
    "an address is computed before another instruction": (
        "c.nop\n addi a0, a1, 4\n addi a3, a3, 1\n lw a2, 0(a0)",
        straight(0, 1, 2, 3),
        {},
    ),
    "what is stored is computed right before": (
        "c.nop\n addi a0, a1, 4\n sw a0, 0(a2)",
        straight(0, 1, 2),
        {},
    ),
    "by a system register": (
        "c.nop\n lw a0, 0(a1)\n csrw mscratch, a0",
        straight(0, 1, 2),
        {"load-use stall of a system register": 1, "system register wait": 1},
    ),
    "as the second behind": (
        "c.nop\n lw a0, 0(a1)\n c.nop\n addi a2, a0, 1",
        straight(0, 1, 2, 3),
        {"second load-use stall": 1},
    ),
    "as the third behind": (
        "c.nop\n lw a0, 0(a1)\n c.nop\n c.nop\n addi a2, a0, 1",
        straight(0, 1, 2, 3, 4),
        {},
    ),
    "as the second behind, where the one between has waited": (
        "c.nop\n lw a0, 0(a1)\n addi a3, a0, 1\n addi a2, a0, 1",
        straight(0, 1, 2, 3),
        {"load-use stall": 1},
    ),
    "as the second behind, where the one between replaces it": (
        "c.nop\n lw a0, 0(a1)\n li a0, 1\n addi a2, a0, 1",
        straight(0, 1, 2, 3),
        {"second load-use stall": 1},
    ),
    "as the second behind, where the one between replaces it with what it makes of it": (
        "c.nop\n lw a0, 0(a1)\n addi a0, a0, 1\n addi a2, a0, 1",
        straight(0, 1, 2, 3),
        {"load-use stall": 1},
    ),
    "as the second behind, where the one between loads it anew": (
        "c.nop\n lw a0, 0(a1)\n lw a0, 4(a1)\n addi a2, a0, 1",
        straight(0, 1, 2, 3),
        {"load-use stall": 1, "consecutive access": 1},
    ),
    "as the second behind, where a multiplication between makes it anew": (
        "c.nop\n mul a0, a1, a1\n mul a0, a3, a3\n addi a2, a0, 1",
        straight(0, 1, 2, 3),
        {"multiply-use stall": 1},
    ),
    "as the second behind a call, which replaces it": (
        "c.nop\n c.nop\n lw ra, 0(a1)\n jal ra, i5\n lui a4, 0x12345\n c.mv a2, ra",
        straight(0, 1, 2, 3, 5),
        {"fetch held early realigned": 1},  # lui and c.mv would share a word
    ),
    "as the second behind an access": (
        "c.nop\n lw a0, 0(a1)\n sw a3, 0(a1)\n addi a2, a0, 1",
        straight(0, 1, 2, 3),
        {"second load-use stall behind an access": 1, "consecutive access": 1},
    ),
    "as the second, behind a jump": (
        # lui lies at 6, across two words, and ends in that of addi, which is too long for it
        "c.nop\n c.lw a0, 0(a1)\n c.j i4\n lui a4, 0x12345\n addi a2, a0, 1",
        straight(0, 1, 2, 4),
        {"second use stall behind a transfer": 1, "crossing target": 1},
    ),
    "of a multiplication": (
        "c.nop\n mul a0, a1, a2\n addi a2, a0, 1",
        straight(0, 1, 2),
        {"multiply-use stall": 1},
    ),
    "of a multiplication, as the second": (
        "c.nop\n mulhu a0, a1, a2\n c.nop\n addi a2, a0, 1",
        straight(0, 1, 2, 3),
        {"second multiply-use stall": 1},
    ),
    "of a multiplication, by another register": (
        "c.nop\n mul a0, a1, a2\n c.nop\n addi a2, a1, 1",
        straight(0, 1, 2, 3),
        {},
    ),
    "of a division": (
        "c.nop\n div a0, a1, a2\n addi a2, a0, 1",
        straight(0, 1, 2),
        {"divide-use stall": 1},
    ),
    "of a division, as the second behind": (
        "c.nop\n div a0, a1, a2\n c.nop\n addi a2, a0, 1",
        straight(0, 1, 2, 3),
        {},
    ),
    "of a shift": (
        "c.nop\n sll a0, a1, a2\n addi a2, a0, 1",
        straight(0, 1, 2),
        {"shift-use stall": 1},
    ),
    "of a compressed shift": (
        "c.nop\n c.srai a0, 3\n c.addi a0, 1",
        straight(0, 1, 2),
        {"shift-use stall": 1},
    ),
    "of a shift, as the second": (
        "c.nop\n slli a0, a1, 2\n c.nop\n addi a2, a0, 1",
        straight(0, 1, 2, 3),
        {},
    ),
    "of an addition": ("c.nop\n add a0, a1, a2\n addi a2, a0, 1", straight(0, 1, 2), {}),
    "of a system register": (
        "c.nop\n csrr a0, mscratch\n addi a2, a0, 1",
        straight(0, 1, 2),
        {"system register-use stall": 1, "system register wait": 1},
    ),
    "accesses that follow each other": (
        "c.nop\n sw a0, 0(a1)\n lw a2, 4(a1)\n lw a3, 8(a1)",
        straight(0, 1, 2, 3),
        {"consecutive access": 2},
    ),
    "accesses with one between": (
        "c.nop\n sw a0, 0(a1)\n c.nop\n lw a2, 4(a1)",
        straight(0, 1, 2, 3),
        {},
    ),
    "the first uses what may have been loaded": ("c.addi a0, 1\n c.nop", straight(0, 1), ENTERED),
    "the first needs nothing": ("c.li a0, 1\n c.nop", straight(0, 1), {}),
}


LUI = "lui a4, 0x12345"
"""Four bytes, no operand."""


def lines(*rows: str) -> str:
    return "\n".join(rows)


# Addresses stand in comments; words are of four bytes.
TRANSFERS: dict[str, Case] = {
    "a branch forward, taken": (
        # 0, 2 | 4, 8, c | 10, 12: the third behind it ends with the word c. Two bytes further it
        # would end in the middle of the next one, and share it with i5
        lines("c.nop", "c.beqz a0, i5", LUI, LUI, LUI, "c.nop", "c.nop"),
        straight(0, 1, 5),
        {"forward branch taken": 1, "fetch held late realigned": 1},
    ),
    "a branch forward, not taken": (
        lines("c.nop", "c.beqz a0, i5", LUI, LUI, LUI, "c.nop", "c.nop"),
        straight(0, 1, 2),
        {},
    ),
    "the third behind it shares its word": (
        # 0, 2 | 4, 8 | c, e
        lines("c.nop", "c.beqz a0, i5", LUI, LUI, "c.nop", "c.nop"),
        straight(0, 1, 5),
        {"forward branch taken": 1, "fetch held late": 1},
    ),
    "what is behind it may wait": (
        lines("c.nop", "c.beqz a0, i5", "csrr a1, mscratch", LUI, LUI, LUI),
        straight(0, 1, 5),
        {"forward branch taken": 1, "fetch held late": 1, "crossing target realigned": 1},
    ),
    "what is behind it uses a result of the one before": (
        # 0, 2 | 4, 8, c | 10; s uses the product
        lines("c.nop", "c.beqz a0, i5", "mul a1, a2, a3", "addi a2, a1, 1", LUI, LUI),
        straight(0, 1, 5),
        {"forward branch taken": 1, "fetch held late": 1, "crossing target realigned": 1},
    ),
    "a predicted jump behind it, whose target shares its word": (
        # 0, 2 | 4, 6 a e | 10, 12
        lines("c.nop", "c.beqz a0, i6", "c.j i0", LUI, LUI, "c.nop", "c.nop", "c.nop"),
        straight(0, 1, 6),
        {"forward branch taken": 1, "fetch held late": 1},
    ),
    "a predicted jump behind it, whose target lies across words": (
        lines("c.nop", "c.beqz a0, i6", "c.j i4", LUI, LUI, "c.nop", "c.nop", "c.nop"),
        straight(0, 1, 6),
        {"forward branch taken": 1},
    ),
    "a branch backwards, taken and not": (
        # 0, 4 | 8, a | c, e. Taken: i3 ends the word 8; elsewhere it would share one with i4. Not
        # taken: behind i1 there are i2 and i3 in one word
        lines(LUI, LUI, "c.bnez a0, i1", "c.nop", "c.nop", "c.nop"),
        straight(0, 1, 2, 1, 2, 3),
        {
            "fetch held early realigned": 1,
            "crossing target realigned": 1 + 1,  # i1; i0, where the window begins
            "backward branch untaken": 1,
            "fetch held late": 1,
        },
    ),
    "a branch backwards, across words behind it": (
        # 0, 4, 8 | a, e. Here i3 and i4 share the word c, and i1 ends with its own; two bytes
        # further i1 lies across words, and shares the second one with i2
        lines(LUI, LUI, "c.bnez a0, i1", LUI, "c.nop"),
        straight(0, 1, 2, 3),
        {
            "backward branch untaken": 1,
            "crossing fall-through": 1,
            "fetch held late realigned": 1,
            "crossing target realigned": 1,  # i0
        },
    ),
    "a branch backwards, four bytes behind it": (
        # 0 | 4, 6 | 8 | c: i1 and i2 share a word
        lines(LUI, "c.nop", "c.bnez a0, i0", LUI, LUI),
        straight(0, 1, 2, 3),
        {
            "backward branch untaken": 1,
            "crossing fall-through realigned": 1,
            "fetch held late": 1,
            "crossing target realigned": 1,  # i0
        },
    ),
    "a branch backwards that has waited": (
        # 0, 2 | 4, 6 | 8, a: i4 and i5 share a word, and i1 ends its own; but i2 and i3 share one
        lines("c.nop", "c.nop", "c.lw a0, 0(a1)", "c.bnez a0, i1", "c.nop", "c.nop"),
        straight(0, 1, 2, 3, 4),
        {"load-use stall": 1, "backward branch untaken": 1, "fetch held late": 1},
    ),
    "a branch backwards that may have waited for something else": (
        lines("c.nop", "c.nop", "c.lw a3, 0(a1)", "c.bnez a0, i1", "c.nop", "c.nop"),
        straight(0, 1, 2, 3, 4),
        {"backward branch untaken": 1, "fetch held late": 1},
    ),
    "a jump before two in one word": (
        # 0, 2 | 4, 6 | 8
        lines("c.nop", "c.j i4", "c.nop", "c.nop", "c.nop"),
        straight(0, 1, 4),
        {"fetch held early": 1},
    ),
    "a jump through a register, and the one behind it would wait for a load": (
        # 0, 2 | 4, 6 | 8, a | c
        lines("c.nop", "c.lw a1, 0(a2)", "c.jr a5", "c.addi a1, 1", *["c.nop"] * 3),
        straight(0, 1, 2, 6),
        {"indirect jump": 1, "fetch held late": 1},
    ),
    "a jump through a register, and the one behind it would not": (
        lines("c.nop", "c.lw a1, 0(a2)", "c.jr a5", "c.addi a3, 1", *["c.nop"] * 3),
        straight(0, 1, 2, 6),
        {"indirect jump": 1, "fetch held late realigned": 1},
    ),
    "a system register behind a late transfer": (
        # 0, 2 | 4, 8, c, 10
        lines("c.nop", "c.jr a5", LUI, LUI, LUI, "csrw mscratch, x0"),
        straight(0, 1, 5),
        {"indirect jump": 1, "crossing target realigned": 1},
    ),
    "a system register behind a return": (
        lines("c.nop", "ret", LUI, LUI, LUI, "csrw mscratch, x0"),
        straight(0, 1, 5),
        {"crossing target realigned": 1},
    ),
    "a system register behind an early transfer": (
        lines("c.nop", "c.j i5", LUI, LUI, LUI, "csrw mscratch, x0"),
        straight(0, 1, 5),
        {"system register wait behind a transfer": 1, "crossing target realigned": 1},
    ),
    "a system register behind an early transfer, across words": (
        # 0, 4 | 6, a, e, 12
        lines(LUI, "c.j i5", LUI, LUI, LUI, "csrw mscratch, x0"),
        straight(0, 1, 5),
        {
            "crossing target": 1,
            "system register wait across words": 1,
            "system register wait behind a transfer realigned": 1,
            "crossing target realigned": 1,  # of the first one
        },
    ),
    "a system register behind an early transfer and another instruction": (
        lines("c.nop", "c.j i4", LUI, LUI, "c.nop", "csrw mscratch, x0"),
        straight(0, 1, 4, 5),
        {"system register wait": 1},
    ),
    "behind a barrier, across words": (
        # 0, 2, 6
        lines("c.nop", "fence", LUI),
        straight(0, 1, 2),
        {"crossing target": 1},
    ),
    "across words without a transfer": (lines("c.nop", LUI, LUI), straight(0, 1, 2), {}),
}
THUMB: dict[str, Case] = {
    "the updated base of a multiple load": (
        lines("nop", "ldmia r1!, {r2, r3}", "adds r1, #4"),
        straight(0, 1, 2),
        {"load-use stall": 1},
    ),
    "a predicated move between": (
        # without effect it leaves what was loaded, and has not waited for it
        lines("nop", "itt eq", "ldreq r0, [r1]", "moveq r0, #1", "adds r2, r0, #1"),
        straight(0, 1, 2, 3, 4),
        {"load-use stall": 1, "second load-use stall": 1},
    ),
    "a move between": (
        lines("nop", "ldr r0, [r1]", "movs r0, #1", "adds r2, r0, #1"),
        straight(0, 1, 2, 3),
        {"second load-use stall": 1},
    ),
    "an exclusive store says whether it stored": (
        lines("nop", "strex r0, r1, [r2]", "cmp r0, #0"),
        straight(0, 1, 2),
        {"load-use stall": 1},
    ),
    "another store": (lines("nop", "str r0, [r2]", "cmp r0, #0"), straight(0, 1, 2), {}),
    "a return that loads": (
        # 0, 2 | 4, 8, c, 10
        lines("push {r4, lr}", "pop {r4, pc}", *["movw r0, #1"] * 4),
        straight(0, 1),
        {**ENTERED, "consecutive access": 1, "address-use stall": 1},  # of sp
    ),
    "an address is computed before a hint": (
        lines("nop", "adds r0, r1, #4", "nop", "nop", "ldr r2, [r3, r0]"),
        straight(0, 1, 2, 3, 4),
        {"address-use stall": 1},
    ),
    "an address is computed before what may have no effect": (
        lines("nop", "adds r0, r1, #4", "ite eq", "ldreq r2, [r0]", "ldrne r3, [r0]"),
        straight(0, 1, 2, 3, 4),
        {"address-use stall": 1, "consecutive access": 1},
    ),
    "an address was loaded": (
        lines("nop", "ldr r0, [r1], #4", "ldr r2, [r0]", "ldr r3, [r1], #4", "str r3, [r1]"),
        straight(0, 1, 2, 3, 4),
        {
            "load-use stall of an access": 2,
            "second load-use stall behind an access": 1,
            "consecutive access": 1,
            "address-use stall": 1,
        },
    ),
    "a moved and shifted register": (
        lines("nop", "mov.w r0, r1, lsl #3", "adds r2, r0, #1"),
        straight(0, 1, 2),
        {"shift-use stall": 1},
    ),
    "a rotation by the carry": (
        lines("nop", "rrx r0, r1", "adds r2, r0, #1"),
        straight(0, 1, 2),
        {"shift-use stall": 1},
    ),
    "an addition of a shifted register": (
        lines("nop", "add.w r0, r1, r2, lsl #3", "adds r2, r0, #1"),
        straight(0, 1, 2),
        {},
    ),
    "a mask register": (
        lines("nop", "mrs r0, primask", "cmp r0, #0"),
        straight(0, 1, 2),
        {"system register wait": 1, "system register-use stall": 1},
    ),
    "cps": (lines("nop", "cpsid i"), straight(0, 1), {"system register wait": 1}),
    "behind isb, across words": (
        lines("nop", "isb", "movw r0, #1"),
        straight(0, 1, 2),
        {"crossing target": 1},
    ),
    "a branch forward, taken": (
        lines("nop", "beq i5", *["movw r0, #1"] * 3, "nop", "nop"),
        straight(0, 1, 5),
        {"forward branch taken": 1, "fetch held late realigned": 1},
    ),
    "a predicated call forward, taken": (
        # 0, 2, 6, a, e | 10: the third behind it ends the word c
        lines("it ne", "blne i4", "movw r0, #1", "movw r0, #1", "nop", "nop"),
        straight(0, 1, 4),
        {"forward branch taken": 1, "fetch held late realigned": 1},
    ),
    "a predicated call forward, not taken": (
        lines("it ne", "blne i4", "movw r0, #1", "movw r0, #1", "nop", "nop"),
        straight(0, 1, 2),
        {},
    ),
    "a table jump": (
        lines("nop", "tbb [pc, r0]", ".hword 0x0101", "nop"),
        straight(0, 1, 3),
        {"indirect jump": 1, "fetch held late": 1},
    ),
    "a load into pc": (
        lines("nop", "ldr.w pc, [r0]", *["movw r0, #1"] * 4),
        straight(0, 1),
        {"indirect jump": 1},
    ),
}


@pytest.mark.parametrize("name", RESULTS)
def test_results_that_are_used(name: str, assemble_riscv: Callable[[str, str], Path]) -> None:
    source, executed, expected = RESULTS[name]
    assert stalls(assemble_riscv(labelled(source), SCRIPT), executed) == expected


@pytest.mark.parametrize("name", TRANSFERS)
def test_transfers_of_control(name: str, assemble_riscv: Callable[[str, str], Path]) -> None:
    source, executed, expected = TRANSFERS[name]
    assert stalls(assemble_riscv(labelled(source), SCRIPT), executed) == expected


@pytest.mark.parametrize("name", THUMB)
def test_thumb(name: str, assemble: Callable[..., Path]) -> None:
    source, executed, expected = THUMB[name]
    assert stalls(assemble(labelled(source), SCRIPT), executed) == expected


def test_each_kind_is_seen_once_at_least() -> None:
    cases = [*RESULTS.values(), *TRANSFERS.values(), *THUMB.values()]
    assert {kind for *_, expected in cases for kind in expected} == {k.value for k in STALLS}
