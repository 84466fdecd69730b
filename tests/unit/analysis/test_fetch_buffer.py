"""What a core with a prefetch buffer fetches in vain: by hand, and against a fetch unit that is
stepped word by word and decides by chance."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from wcetchar.analysis.line_entries import Entered, Hidden, LineEntries
from wcetchar.counting.columns import Columns, key_of
from wcetchar.counting.fetch_buffer import FetchesAhead
from wcetchar.counting.stalls import Stalls
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.access import CoreEvent, EventKind
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.fetch_buffer import ARMV4T_BUFFER, M_PROFILE_BUFFER
from wcetchar.model.instruction import Flow, Instruction, InstructionTable

BASE = 0x1000
HEAD = ".syntax unified\n.thumb\n.text\n.p2align 1\n.global code\n.type code,%function\ncode:\n"
TAIL = "\n.size code, .-code\n"
Assemble = Callable[..., Path]
Ranges = tuple[tuple[int, int], ...]

Case = tuple[list[str], int, bool, bool, Ranges, bool]
"""(instructions, which of them, taken, what lies behind is in vain; targets; wild)."""
CASES: dict[str, Case] = {
    "no transfer": (["nop", "b i0"], 0, False, False, (), False),
    "a return: what lies behind it": (["bx lr", "nop"], 0, True, True, (), False),
    "a branch lies behind a return: its target": (
        ["nop", "bx lr", "beq i0"],
        1,
        True,
        True,
        ((0, 12),),
        False,
    ),
    "a jump knows where it goes, and may be decoded with what is behind it": (
        ["b i2", "b i3", "nop", "nop"],
        0,
        True,
        True,
        ((6, 18),),
        False,
    ),
    "a conditional branch that is not taken: its target, and all else is fetched on": (
        ["beq i3", "nop", "nop", "nop"],
        0,
        False,
        False,
        ((6, 18),),
        False,
    ),
    "a conditional branch that is taken: its target on trial, before that of what is behind it": (
        ["cbz r0, i3", "b i4", "nop", "nop", "nop"],
        0,
        True,
        True,
        ((6, 18), (8, 20)),
        False,
    ),
    "a predicated return that has no effect": (
        ["it eq", "bxeq lr", "nop"],
        1,
        False,
        False,
        (),
        False,
    ),
    "behind a barrier all is fetched again": (["isb", "nop"], 0, False, True, (), False),
    "a supervisor call": (["svc 0", "nop"], 0, True, True, (), False),
    "behind a return lies no code, and may be any branch": (
        ["nop", "bx lr"],
        1,
        True,
        True,
        (),
        True,
    ),
}


def table_of(assemble: Assemble, rows: list[str], moved: int = 0) -> InstructionTable:
    labelled = "\n".join(f"i{n}: {row}" for n, row in enumerate(rows))
    script = f"SECTIONS {{ .text {BASE + moved:#x} : {{ *(.text*) }} }}"
    return decode_image(load_image(str(assemble(HEAD + labelled + TAIL, script))))


@pytest.mark.parametrize("name", CASES)
def test_in_vain(name: str, assemble: Assemble) -> None:
    rows, number, taken, in_vain, targets, wild = CASES[name]
    table = table_of(assemble, rows)
    assert table.buffer == M_PROFILE_BUFFER
    found = FetchesAhead(table, M_PROFILE_BUFFER).of(number, taken)
    end = table.instructions[number].end
    assert (found.behind, found.in_vain, found.wild) == ((end, end + 22), in_vain, wild)
    assert tuple((a - BASE, b - BASE) for a, b in found.targets) == targets
    plain = FetchesAhead(table, ARMV4T_BUFFER).of(number, taken)
    assert (plain.behind, plain.in_vain) == ((end, end + 12), in_vain)
    assert (plain.targets, plain.wild) == ((), False)  # nothing on trial


def entered(table: InstructionTable, executed: list[int], apart: int | None = None) -> Entered:
    found = [table.instructions[n] for n in executed]
    taken = [was_taken(one, after) for one, after in pairwise(found)]
    taken.append(found[-1].flow not in (Flow.NEXT, Flow.STOP))
    index, address, end = (
        np.array(column, dtype=np.int64)
        for column in (executed, [i.address for i in found], [i.end for i in found])
    )
    columns = Columns(table)
    lines = LineEntries(columns, np.zeros(len(table), dtype=np.int64))
    stalls = [*Stalls(columns).of(index, address, end, np.array(taken))]
    cuts = np.array([] if apart is None else [apart], dtype=np.int64)
    return lines.count(index, address, end, np.array(taken), stalls, cuts)


def was_taken(one: Instruction, after: Instruction) -> bool:
    if one.flow in (Flow.NEXT, Flow.STOP):
        return False
    return not one.conditional or after.address != one.end


def events(found: Entered) -> dict[str, int]:
    counts = {}
    for code, count in found.codes.items():
        key = key_of(code, (".text",))
        assert isinstance(key, CoreEvent)
        counts[key.kind.value] = count
    return counts


def test_entries_of_a_branch_that_is_not_taken_by_hand(assemble: Assemble) -> None:
    """``beq`` at 0 falls through to 2, its target lies at 64. Lines of 16: that of 0; 4 alone of
    the target (64..75); that of 2 again, which is 0; and of the return at 2, bytes 4..25: line 1.
    The pad behind it (4) is no branch."""
    table = table_of(assemble, ["beq i32", "bx lr", *30 * ["nop"], "nop", "bx lr"])
    found = entered(table, [0, 1])
    assert events(found)["line entry 16"] == 1 + 1 + 1 + 1
    assert events(found)["line entry 64"] == 1 + 1 + 1
    # How often single lines are: the target's once; behind 2 (2..23) either may be the one again.
    assert dict(found.lines[16]) == {BASE // 16: 3, BASE // 16 + 1: 2, BASE // 16 + 4: 1}
    # Nothing is hidden.
    assert found.first[16] == dict.fromkeys((BASE // 16, BASE // 16 + 1, BASE // 16 + 4), Hidden())
    assert found.wild == 0


def test_a_wild_target_may_lie_across_two_lines(assemble: Assemble) -> None:
    found = entered(table_of(assemble, ["nop", "bx lr"]), [0, 1])
    # 0; behind 4..25 line 1; two anywhere, and one of these two again.
    assert events(found)["line entry 16"] == 1 + 1 + 2 + 1
    assert found.wild == 2


def test_what_runs_inside_a_window_may_replace_anything(assemble: Assemble) -> None:
    """Before the second instruction: then what lies behind the first (2..23) is in vain, line 1 of
    16 and 0 again, and that is all from anywhere once more."""
    table = table_of(assemble, [*4 * ["nop"], "bx lr", *20 * ["nop"]])
    whole, parted = (entered(table, sequence, at) for sequence, at in ((PATH, None), (PATH, 1)))
    assert (events(whole)["line entry 16"], whole.wild) == (1 + 1, 0)
    assert (events(parted)["line entry 16"], parted.wild) == (1 + 1 + 1 + 1, 4)
    # Where the window ends is no place inside it.
    assert entered(table, PATH, len(PATH)).wild == 0


PATH = [0, 1, 2, 3, 4]


class Unit:
    """Fetches words, in the order that chance has it: ahead as far as a buffer of three words and
    one on the bus hold, from targets of what is decoded or not, before or after."""

    def __init__(self, table: InstructionTable, chance: random.Random) -> None:
        self._at = {i.address: i for i in table.instructions}
        self._chance = chance
        self.words: list[int] = []
        self._next = 0
        """First byte that was not asked for yet."""

    def run(self, executed: list[Instruction]) -> list[int]:
        self._next = executed[0].address & -4
        self._up_to(executed[0].end)
        for one, after in pairwise([*executed, None]):
            assert one is not None
            self._execute(one, after)
        return self.words

    def _execute(self, one: Instruction, after: Instruction | None) -> None:
        decoded = self._at.get(one.end)
        if one.conditional and one.target is not None:
            self._sequence(one)
            self._try(one.target)
        if decoded is not None and decoded.target is not None and self._chance.random() < 0.5:
            leaves = after is None or was_taken(one, after)
            if leaves:  # else it is tried when it executes
                self._sequence(one)
                self._try(decoded.target)
        self._sequence(one)
        if after is None:
            return
        if was_taken(one, after) or one.issue is EventKind.BARRIER:
            self._next = after.address & -4
        self._up_to(after.end)

    def _try(self, target: int) -> None:
        if self._chance.random() < 0.7:
            words = range(target & -4, target + 4 * self._chance.randint(1, 2), 4)
            self.words += words

    def _sequence(self, one: Instruction) -> None:
        """In decode one of two or four bytes; behind that the buffer, and one on the bus."""
        behind = self._at.get(one.end)
        decoded = one.end + (behind.length if behind is not None else 4)
        last = (decoded + 3 & -4) + 12 if self._chance.random() < 0.5 else decoded + 12
        self._up_to(self._chance.randint(one.end, max(one.end, last)))

    def _up_to(self, end: int) -> None:
        while self._next < end:
            self.words.append(self._next)
            self._next += 4


def program(chance: random.Random) -> list[str]:
    rows = []
    for _ in range(60):
        rows.append(
            chance.choice(
                [
                    "nop",
                    "nop",
                    "adds r0, #1",
                    "movw r0, #1",
                    "isb",
                    f"b.w i{chance.randrange(60)}",
                    f"beq.w i{chance.randrange(60)}",
                    f"beq.w i{chance.randrange(60)}",
                    f"bl i{chance.randrange(60)}",
                    "bx lr",
                ]
            )
        )
    return [*rows, *20 * ["nop"]]


def walk(table: InstructionTable, chance: random.Random) -> list[int]:
    number_at = {i.address: n for n, i in enumerate(table.instructions)}
    at, path = 0, [0]
    for _ in range(80):
        one = table.instructions[at]
        if one.target is not None and not (one.conditional and chance.random() < 0.5):
            at = number_at[one.target]
        elif one.flow is Flow.RETURN:
            at = chance.randrange(60)
        else:
            at += 1
        if at >= len(table) - 12:
            break
        path.append(at)
    return path


@pytest.mark.parametrize("seed", range(12))
def test_no_fetch_unit_enters_more_lines_nor_others(seed: int, assemble: Assemble) -> None:
    """Nor where the code lies elsewhere."""
    chance = random.Random(seed)
    rows = program(chance)
    table = table_of(assemble, rows)
    path = walk(table, chance)
    found = entered(table, path)
    counts = events(found)
    executed = [table.instructions[n] for n in path]
    for moved in (0, 0, 0, 2, 6, 10, 14, 30, 62):
        there = [replace(i, address=i.address + moved) for i in table.instructions]
        there = [i if i.target is None else replace(i, target=i.target + moved) for i in there]
        elsewhere = replace(table, instructions=tuple(there))
        run = [replace_at(there, table, i) for i in executed]
        words = np.array(Unit(elsewhere, chance).run(run))
        for size in LINE_BYTES:
            lines = words // size
            entries = 1 + int(np.count_nonzero(np.diff(lines)))
            event = f"line entry {size}"
            if moved == 0:
                assert entries <= counts[event]
                changes = lines[np.diff(lines, prepend=-1) != 0]
                each = Counter(changes.tolist())
                assert all(n <= found.lines[size][line] for line, n in each.items())
            assert entries <= counts[event] + counts.get(f"{event} realigned", 0)


def replace_at(there: list[Instruction], table: InstructionTable, one: Instruction) -> Instruction:
    return there[table.instructions.index(one)]
