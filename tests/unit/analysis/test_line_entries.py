"""Line entries and footprints of tiny programs: by hand, and linked at every other address."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from wcetchar.analysis.line_entries import Entered, Hidden, LineEntries, merged
from wcetchar.counting.columns import Columns, key_of
from wcetchar.counting.stalls import Stalls
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.access import CoreEvent, EventKind
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.instruction import Flow

BASE = 0x80000000
HEAD = ".text\n.p2align 1\n.global code\n.type code,%function\ncode:\n"
TAIL = "\n.size code, .-code\n"
STILL = (Flow.NEXT, Flow.SUPERVISOR_CALL, Flow.STOP)
Assemble = Callable[[str, str], Path]
NOPS = "\n".join(["c.nop"] * 8)
"""16 bytes."""


def entered(
    assemble: Assemble,
    source: str,
    executed: list[int],
    moved: int = 0,
    apart: int | None = None,
    sections: int | None = None,
) -> Entered:
    """``sections``: instruction that another section begins with."""
    rows = [row.strip() for row in source.strip().splitlines()]
    labelled = "\n".join(f"i{n}: {row}" for n, row in enumerate(rows))
    script = f"SECTIONS {{ .text {BASE + moved:#x} : {{ *(.text*) }} }}"
    table = decode_image(load_image(str(assemble(HEAD + labelled + TAIL, script))))
    found = [table.instructions[n] for n in executed]
    taken = [
        one.flow not in STILL and (not one.conditional or after.address != one.end)
        for one, after in pairwise(found)
    ]
    taken.append(found[-1].flow not in STILL)
    index, address, end = (
        np.array(column, dtype=np.int64)
        for column in (executed, [i.address for i in found], [i.end for i in found])
    )
    columns = Columns(table)
    section = np.arange(len(table)) >= (len(table) if sections is None else sections)
    lines = LineEntries(columns, section.astype(np.int64))
    stalls = [*Stalls(columns).of(index, address, end, np.array(taken))]
    cuts = np.array([] if apart is None else [apart], dtype=np.int64)
    return lines.count(index, address, end, np.array(taken), stalls, cuts)


def events(found: Entered) -> dict[str, int]:
    counts = {}
    for code, count in found.codes.items():
        key = key_of(code, (".text",))
        assert isinstance(key, CoreEvent)
        counts[key.kind.value] = count
    return counts


def plain(found: Entered) -> set[tuple[int, int]]:
    return {(start, end) for _, start, end in found.ranges}


def sequence(first: int, last: int) -> list[int]:
    return list(range(first, last + 1))


def test_straight_code_enters_each_line_once(assemble_riscv: Assemble) -> None:
    found = entered(assemble_riscv, f"{NOPS}\n{NOPS}\n{NOPS}", sequence(0, 23))
    counts = events(found)
    assert [counts[f"line entry {size}"] for size in LINE_BYTES] == [3, 2, 1, 1]
    # 48 bytes cover four lines of 16, at most, three of 32, two of 64 and two of 128.
    more = [counts[f"line entry {size} realigned"] for size in LINE_BYTES]
    assert more == [1, 1, 1, 1]
    assert merged(plain(found)) == [(BASE, BASE + 48)]


def test_a_loop_within_a_line_enters_it_once(assemble_riscv: Assemble) -> None:
    source = f"c.nop\n c.nop\n c.bnez a0, i0\n{NOPS}"
    found = entered(assemble_riscv, source, [0, 1, 2, 0, 1, 2, 0, 1, 2, 3, 4])
    assert events(found)["line entry 16"] == 1
    assert merged(plain(found)) == [(BASE, BASE + 10)]


def test_a_loop_over_two_lines_enters_both_each_time(assemble_riscv: Assemble) -> None:
    source = f"{NOPS}\n c.bnez a0, i0\n{NOPS}"
    again = sequence(0, 8)
    found = entered(assemble_riscv, source, [*again, *again, *again, 9])
    # i8 lies in the second line. What is fetched in vain: behind it, when it is taken, in its own
    # line; when it falls through, its target and what is behind that, so that both are entered.
    assert events(found)["line entry 16"] == 3 * 2 + 2
    assert dict(found.lines[16]) == {BASE // 16: 4, BASE // 16 + 1: 4}


def test_what_is_fetched_in_vain_counts(assemble_riscv: Assemble) -> None:
    source = f"c.nop\n c.nop\n c.nop\n c.nop\n c.nop\n c.jr ra\n{NOPS}"
    found = entered(assemble_riscv, source, sequence(0, 5))
    # Behind the return at 10 lie 12, 14 and 16: the last is in another line.
    assert events(found)["line entry 16"] == 2
    assert merged(plain(found)) == [(BASE, BASE + 18)]


def test_no_code_behind_a_return_may_lead_anywhere(assemble_riscv: Assemble) -> None:
    found = entered(assemble_riscv, "c.nop\n c.jr ra", [0, 1])
    assert found.wild == 1
    assert events(found)["line entry 16"] == 1 + 2


PROGRAMS = {
    "loop": (
        f"{NOPS}\n c.bnez a0, i0\n{NOPS}",
        [*sequence(0, 8), *sequence(0, 8), *sequence(9, 15)],
    ),
    "calls": (
        f"jal i12\n jal i12\n c.jr ra\n addi a0, a1, 1\n{NOPS}\n addi a0, a1, 1\n c.jr ra\n{NOPS}",
        [0, 12, 13, 1, 12, 13, 2],
    ),
    "branches": (
        f"beq a0, a1, i3\n addi a0, a1, 1\n c.nop\n{NOPS}\n bne a0, a1, i1\n{NOPS}",
        [0, *sequence(3, 11), *sequence(1, 11), 12, 13],
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_address_has_more_entries_than_are_counted_for_any(
    name: str, assemble_riscv: Assemble
) -> None:
    source, executed = PROGRAMS[name]
    counts = events(entered(assemble_riscv, source, executed))
    for moved in (2, 4, 6, 8, 10, 14, 18, 24, 30, 46, 62, 96, 126):
        elsewhere = events(entered(assemble_riscv, source, executed, moved))
        for size in LINE_BYTES:
            event = f"line entry {size}"
            assert elsewhere[event] <= counts[event] + counts.get(f"{event} realigned", 0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_entries_by_line_add_up(name: str, assemble_riscv: Assemble) -> None:
    found = entered(assemble_riscv, *PROGRAMS[name])
    for size in LINE_BYTES:
        wild = 2 * found.wild
        assert sum(found.lines[size].values()) + wild == events(found)[f"line entry {size}"]


def test_lines_take_turns_that_may_share_a_set(assemble_riscv: Assemble) -> None:
    """Two calls of what lies 1024 bytes behind: 0, 10, 1, 10, 2 by lines; all else is near."""
    nops = "\n".join(507 * ["c.nop"])
    source = f"jal i510\n jal i510\n c.jr ra\n{nops}\n c.jr ra\n{NOPS}"
    found = entered(assemble_riscv, source, [0, 510, 1, 510, 2])
    once = entered(assemble_riscv, source, [0, 510, 1])
    for size in LINE_BYTES:
        here, there = BASE // size, (BASE + 1024) // size
        assert found.behind[size] == {(here, there): 2, (there, here): 1}
        assert once.behind[size] == {(here, there): 1}
    once.include(found)
    assert once.behind == found.behind


def test_a_line_that_is_fetched_in_vain_may_have_been_or_not(assemble_riscv: Assemble) -> None:
    """A branch backwards that falls through; its target, 1024 bytes before, is fetched in vain."""
    nops = "\n".join(509 * ["c.nop"])
    source = f"addi a0, a1, 1\n c.nop\n{nops}\n beq a0, a1, i0\n{NOPS}"
    found = entered(assemble_riscv, source, [0, *sequence(511, 513), *sequence(511, 513)])
    here, there = BASE // 16, (BASE + 1024) // 16
    # The first line counts both times, for nothing that is executed enters it in between.
    assert found.behind[16] == {(here, there): 2, (there, here): 2}


def test_the_largest_of_two_windows(assemble_riscv: Assemble) -> None:
    one = entered(assemble_riscv, NOPS, [0])
    two = entered(assemble_riscv, f"{NOPS}\n{NOPS}", sequence(6, 9))
    one.include(two)
    assert events(one)["line entry 16"] == 2
    assert merged(plain(one)) == [(BASE, BASE + 2), (BASE + 12, BASE + 20)]


FIRST, SECOND = BASE // 16, BASE // 16 + 1
NOPS_OF_12 = "\n".join(["c.nop"] * 6)
USE, TWICE = EventKind.LOAD_USE_STALL, EventKind.CONSECUTIVE_ACCESS


def test_what_a_line_and_the_instruction_before_it_wait_for_is_hidden(
    assemble_riscv: Assemble,
) -> None:
    # i6 waits for nothing, i7 for the bus behind i6; i8 in the next line uses what i7 loaded.
    source = f"{NOPS_OF_12}\n c.lw a0, 0(a1)\n c.lw a2, 4(a1)\n c.addi a2, 1\n{NOPS}"
    found = entered(assemble_riscv, source, sequence(0, 12))
    assert found.first[16] == {FIRST: Hidden(), SECOND: Hidden((TWICE, USE))}
    # One line: its first instruction is that of the service.
    assert found.first[128] == {BASE // 128: Hidden()}


def test_nothing_is_hidden_behind_a_transfer_of_control(assemble_riscv: Assemble) -> None:
    source = f"{NOPS_OF_12}\n c.lw a0, 0(a1)\n c.j i8\n c.addi a0, 1\n{NOPS}"
    found = entered(assemble_riscv, source, sequence(0, 12))
    assert found.first[16] == {FIRST: Hidden(), SECOND: Hidden()}


def test_nothing_is_hidden_where_a_line_may_be_there_since_it_was_fetched_in_vain(
    assemble_riscv: Assemble,
) -> None:
    # The return is late: what is fetched behind what lies behind it may be, and is executed later.
    source = f"{NOPS_OF_12}\n c.jr ra\n c.nop\n c.addi a0, 1\n{NOPS}"
    found = entered(assemble_riscv, source, [*sequence(0, 6), *sequence(7, 9)])
    assert found.first[16] == {FIRST: Hidden(), SECOND: Hidden()}


def test_what_lies_behind_a_transfer_is_loaded_when_that_is_decoded(
    assemble_riscv: Assemble,
) -> None:
    # The branch backwards waits for what was loaded; i8 behind it is executed later, or never.
    source = f"{NOPS_OF_12}\n c.lw a0, 0(a1)\n c.bnez a0, i0\n c.addi a0, 1\n{NOPS}"
    for later in ([], [*sequence(0, 7), *sequence(8, 10)]):
        found = entered(assemble_riscv, source, [*sequence(0, 7), 0, *later])
        assert found.first[16] == {FIRST: Hidden(), SECOND: Hidden((USE,), in_vain=0)}
    # It goes on in that line, be it at once, which the branch had not foretold, or by a jump.
    through = entered(assemble_riscv, source, sequence(0, 10))
    assert through.first[16][SECOND] == Hidden((USE,))
    onto = source.replace("c.bnez a0, i0", "c.jr a0")
    assert entered(assemble_riscv, onto, [*sequence(0, 7), 9]).first[16][SECOND] == Hidden((USE,))
    # The branch enters its line first: it has waited already; and a return is two cycles late.
    alone = entered(assemble_riscv, source, [7, 0])
    assert alone.first[16][SECOND] == Hidden(in_vain=0)
    returns = source.replace("c.bnez a0, i0", "c.jr ra")
    assert entered(assemble_riscv, returns, sequence(0, 7)).first[16][SECOND] == Hidden(in_vain=2)


def test_what_was_executed_before_is_loaded_there(assemble_riscv: Assemble) -> None:
    source = f"{NOPS_OF_12}\n c.lw a0, 0(a1)\n c.bnez a0, i0\n c.j i0\n{NOPS}"
    found = entered(assemble_riscv, source, [8, *sequence(0, 7), 0])
    assert found.first[16][SECOND] == Hidden()
    assert found.asked[16].loaded[SECOND] == 0


def test_what_is_no_code_or_of_another_section_is_not_known_to_be_asked_for(
    assemble_riscv: Assemble,
) -> None:
    """Two bytes that lie before the line are what the core waits for, and no more."""
    fetched = f"{NOPS_OF_12}\n c.j i0\n .2byte 0"
    assert entered(assemble_riscv, fetched, [*sequence(0, 6), 0]).asked[16].lines == {}
    source = f"{NOPS_OF_12}\n c.nop\n c.j i0\n{NOPS}"
    known = entered(assemble_riscv, source, [*sequence(0, 7), 0])
    assert known.asked[16].lines == {SECOND: 8}
    other = entered(assemble_riscv, source, [*sequence(0, 7), 0], sections=8)
    assert other.asked[16].lines == {}


def test_what_a_handler_waits_for_is_not_asked_for_by_a_transfer(
    assemble_riscv: Assemble,
) -> None:
    for leaves in ("ecall", "mret"):
        found = entered(assemble_riscv, f"{NOPS_OF_12}\n {leaves}\n{NOPS}", sequence(0, 6))
        assert found.first[16][SECOND] == Hidden(in_vain=0)
        assert found.asked[16].lines == {}


def test_of_entries_in_vain_the_latest_is_what_a_line_is_sure_to_take_less(
    assemble_riscv: Assemble,
) -> None:
    """Fetched in vain a cycle before, and then at once; in two windows, in either order."""
    source = "\n".join([*["c.nop"] * 5, "c.jr ra", "c.jr t0", *["c.nop"] * 8])
    found = entered(assemble_riscv, source, [*sequence(0, 4), 6, *sequence(0, 5)])
    assert found.first[16][SECOND] == Hidden(in_vain=0)
    assert SECOND not in found.asked[16].loaded  # it may be loaded at either
    for order in ((5, 6), (6, 5)):
        one, two = (entered(assemble_riscv, source, [*sequence(0, 4), leaves]) for leaves in order)
        assert SECOND in one.asked[16].loaded
        one.include(two)
        assert one.first[16][SECOND] == Hidden(in_vain=0)


def test_the_first_entry_in_vain_is_what_counts(assemble_riscv: Assemble) -> None:
    """Two returns, the first of which need not reach the line, and the other way round."""
    source = f"{NOPS_OF_12}\n c.jr ra\n c.jr t0\n{NOPS}"
    uncertain = entered(assemble_riscv, source, [*sequence(0, 6), 7, 0])
    assert uncertain.first[16][SECOND] == Hidden(in_vain=1)
    certain = entered(assemble_riscv, source, [*sequence(0, 5), 7, *sequence(0, 6)])
    assert certain.first[16][SECOND] == Hidden(in_vain=2)


def test_what_ran_behind_the_transfer_may_have_waited_for_the_line(
    assemble_riscv: Assemble,
) -> None:
    source = f"{NOPS_OF_12}\n c.lw a0, 0(a1)\n c.bnez a0, i0\n c.addi a0, 1\n{NOPS}"
    found = entered(assemble_riscv, source, [*sequence(0, 7), 0], apart=8)
    assert found.first[16] == {FIRST: Hidden(), SECOND: Hidden(in_vain=0)}


def test_a_line_in_vain_alone_has_begun_before_control_is_transferred(
    assemble_riscv: Assemble,
) -> None:
    # Behind the return at 10 are fetched 12, 14 and, as it takes effect, 16; behind that at 12, 16
    # is fetched a cycle before; a direct jump takes effect when it is decoded.
    for nops, leaves, before in ((5, "c.jr ra", 0), (6, "c.jr ra", 1), (7, "c.j i0", 0)):
        source = "\n".join([*["c.nop"] * nops, leaves, *["c.nop"] * 8])
        assert entered(assemble_riscv, source, sequence(0, nops)).first[16] == {
            FIRST: Hidden(),
            SECOND: Hidden(in_vain=before),
        }


def test_of_two_windows_is_hidden_what_is_in_both(assemble_riscv: Assemble) -> None:
    loads = "c.lw a0, 0(a1)\n c.lw a2, 4(a1)\n c.addi a2, 1"
    one = entered(assemble_riscv, f"{NOPS_OF_12}\n{loads}\n{NOPS}", sequence(0, 12))
    loads = "c.nop\n c.lw a2, 4(a1)\n c.addi a2, 1"
    two = entered(assemble_riscv, f"{NOPS_OF_12}\n{loads}\n{NOPS}", sequence(0, 12))
    in_vain = entered(assemble_riscv, f"{NOPS_OF_12}\n c.jr ra\n{NOPS}", sequence(0, 6))
    without = entered(assemble_riscv, NOPS, [0])
    without.include(one)
    assert without.first[16] == one.first[16]
    one.include(two)
    assert one.first[16][SECOND] == Hidden((USE,))
    one.include(in_vain)
    assert one.first[16][SECOND] == Hidden()


def test_nothing_is_hidden_where_something_else_ran_in_between(assemble_riscv: Assemble) -> None:
    source = f"{NOPS_OF_12}\n c.lw a0, 0(a1)\n c.lw a2, 4(a1)\n c.addi a2, 1\n{NOPS}"
    found = entered(assemble_riscv, source, sequence(0, 12), apart=8)
    assert found.first[16] == {FIRST: Hidden(), SECOND: Hidden()}


def test_what_enters_a_line_itself_has_waited_already(assemble_riscv: Assemble) -> None:
    """The first instruction, alone in its line, waits for a system register, and the one behind it
    for nothing."""
    source = f"{NOPS_OF_12}\n csrc mstatus, 8\n{NOPS}"
    alone = entered(assemble_riscv, source, sequence(6, 10))
    assert alone.first[16] == {FIRST: Hidden(), SECOND: Hidden()}
    not_alone = entered(assemble_riscv, source, sequence(5, 10))
    assert not_alone.first[16] == {FIRST: Hidden(), SECOND: Hidden((EventKind.SYSTEM_WAIT,))}
