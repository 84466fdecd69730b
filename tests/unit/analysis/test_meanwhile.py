"""Data accesses that are waited for while a line is loaded: read off a listing by hand.

Eight instructions of four bytes are a line of 32. The ninth enters the second one; what is before
it is numbered from there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from listing import FUNCTION, HandTrace, Row, batches, i, load, mark, r, sections, w
from riscv_listing import SCRIPT, SERVICES

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.line_entries import Asked, Entered, Hidden
from wcetchar.analysis.meanwhile import Meanwhile
from wcetchar.analysis.resolve import resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.counting.columns import SUCCESSION
from wcetchar.model.access import (
    ALONE,
    LAST_BEFORE,
    NOT_MEANWHILE,
    AccessClass,
    EventKind,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import Service, ServiceKind

DATA = 0x80400000
HEAD = (
    sections(4096, 4096)
    + FUNCTION
    + """
.option norvc
.option arch, +a
.p2align 5
function driver
  sb x0, 0(s0)
driver_call: jal service
driver_3: sb x0, 0(s1)
  j driver
.size driver, .-driver
.p2align 5
function service
"""
)
PLAIN = (
    "addi t0, t0, 1", "addi t0, t0, 1", "lw a0, 0(s0)", "sw a0, 4(s0)", "nop", "lw a1, 8(s0)",
    "addi a2, a2, 1", "lw a3, 12(s0)", "sw a4, 16(s0)", "nop", "ret",
)  # fmt: skip
Assemble = Callable[[str, str], Path]
Loaded = tuple[Image, InstructionTable]
Found = list[tuple[int, str]]
"""How far before, or `NOT_MEANWHILE`, and the access with the one before it."""


def shown(one: Succession) -> str:
    kind = {"read": "r", "write": "w"}
    access, before = one.access, one.before
    assert access is not None
    return kind[access.operation.value] + (
        "" if before is None else " behind " + kind[before.operation.value]
    )


def made(
    assemble: Assemble, rows: tuple[str, ...], executed: Sequence[int] | None = None
) -> tuple[Loaded, list[Row]]:
    """A program with these instructions, and a trace of one call of them, or of some."""
    text = HEAD + "\n".join(rows) + "\n.size service, .-service\n"
    image, table = load(assemble(text, SCRIPT))
    at = {s.name: s.address for s in image.symbols}
    trace: list[Row] = [i(at["driver"]), mark(0, 7), i(at["driver_call"])]
    for number in range(len(rows)) if executed is None else executed:
        row = rows[number]
        trace.append(i(at["service"] + 4 * number))
        if row.startswith("lw"):
            trace.append(r(DATA + 4 * number))
        if row.startswith("sw"):
            trace.append(w(DATA + 4 * number))
        if row.startswith("amo"):
            trace += [r(DATA + 4 * number), w(DATA + 4 * number)]
        if row == "ret":
            break
    return (image, table), [*trace, i(at["driver_3"]), mark(1, 7)]


ONE = replace(SERVICES, services=(Service("service", 7, ServiceKind.CALL, ("service",)),))


def told(
    assemble: Assemble,
    rows: tuple[str, ...],
    *,
    size: int = 32,
    executed: Sequence[int] | None = None,
) -> list[tuple[int, Found]]:
    """Of each line that something is told of: its number from the first one, and what."""
    program, trace = made(assemble, rows, executed)
    resolved = resolve(ONE, *program)
    (window,) = find_windows(batches(trace, 64), WindowFinder(resolved, "hand"))
    labeller = Labeller(resolved, "hand", successions=True)
    entered = labeller.label(window).entered
    assert labeller.successions is not None
    keys = labeller.successions.keys
    (service,) = (s.address for s in program[0].symbols if s.name == "service")
    return [
        (
            line - service // size,
            [(before, shown(keys[code & ~SUCCESSION])) for before, code in one.accesses],
        )
        for line, one in sorted(entered.first[size].items())
        if isinstance(one, Hidden) and one.accesses
    ]


def test_accesses_come_when_the_line_was_asked_for(assemble_riscv: Assemble) -> None:
    """The store five before waits for what was loaded, so that the load may have come sooner. The
    first line is entered where the caller may have written (8), and its first access behind it."""
    assert told(assemble_riscv, PLAIN) == [
        (0, [(LAST_BEFORE, "r"), (0, "r")]),
        (
            1,
            [
                (NOT_MEANWHILE, "r"), (5, "w behind r"), (3, "r behind w"), (1, "r behind r"),
                (0, "w behind r"),
            ],
        )
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("at", "row", "expected"),
    [
        # The one between waits for the load before it; those further off are held as well.
        (6, "addi a1, a1, 1", [NOT_MEANWHILE, NOT_MEANWHILE, NOT_MEANWHILE, 1, 0]),
        # The one right before the line may wait: it has been decoded then.
        (7, "add a3, a1, a1", [NOT_MEANWHILE, 5, 3, 0]),
        # What is fetched behind a branch that falls through backwards was fetched anew.
        (6, "bnez a5, service", [NOT_MEANWHILE, NOT_MEANWHILE, NOT_MEANWHILE, 1, 0]),
        # What falls through forwards was not.
        (6, "beqz a5, service + 64", [NOT_MEANWHILE, 5, 3, 1, 0]),
    ],
)
def test_what_is_between_may_hold_them(
    assemble_riscv: Assemble, at: int, row: str, expected: list[int]
) -> None:
    rows = (*PLAIN[:at], row, *PLAIN[at + 1 :], *["nop"] * 8)
    first, (line, found) = told(assemble_riscv, rows)
    assert first == (0, [(LAST_BEFORE, "r"), (0, "r")])
    assert line == 1
    assert [before for before, _ in found] == expected


def test_of_what_enters_the_line_only_the_first_access_finds_it_there(
    assemble_riscv: Assemble,
) -> None:
    """Its second one waits for the first."""
    rows = (*["nop"] * 8, "amoadd.w a0, a1, (s0)", "ret")
    assert told(assemble_riscv, rows) == [(1, [(0, "r"), (NOT_MEANWHILE, "w behind r")])]
    rows = (*["nop"] * 7, "amoadd.w a0, a1, (s0)", "nop", "ret")
    assert told(assemble_riscv, rows) == [(1, [(1, "r"), (1, "w behind r")])]


def test_what_ran_before_the_window_is_told_by_its_first_access(assemble_riscv: Assemble) -> None:
    """Of lines of 16 bytes the second one has four instructions before it, and takes both accesses
    of the first one, which come when it has been asked for. What comes behind it is the third
    one's."""
    (first, found), (second, _) = told(assemble_riscv, PLAIN, size=16)
    assert (first, second) == (1, 2)
    assert found == [(LAST_BEFORE, "r"), (2, "r"), (1, "w behind r")]


BURST = ("nop",) * 4 + ("sw a0, 0(s0)", "sw a1, 4(s0)", "nop")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ((*BURST[:6], "nop", "nop"), [4, 3, 0]),
        # It has waited for both writes, or for the first one.
        ((*BURST[:6], "fence", "nop"), None),
        ((*BURST[1:5], "fence", "sw a1, 4(s0)", "nop", "nop"), [NOT_MEANWHILE, NOT_MEANWHILE, 0]),
        # The second one goes on behind it; what waits for that does so behind the line.
        ((*BURST[:6], "nop", "nop", "fence"), [4, 3]),
    ],
)
def test_a_barrier_waits_for_writes(
    assemble_riscv: Assemble, rows: tuple[str, ...], expected: list[int] | None
) -> None:
    found = dict(told(assemble_riscv, (*rows, "nop", "lw a2, 8(s0)", "ret")))
    assert {*found} == ({0} if expected is None else {0, 1})
    assert expected is None or [before for before, _ in found[1]] == expected


def test_writes_around_a_line_go_on_however_it_is_entered(assemble_riscv: Assemble) -> None:
    """The last one before a jump to the line, and the first access behind it."""
    rows = (*BURST[:6], "j 1f", *["nop"] * 9, "1: nop", "lw a2, 8(s0)", "ret")
    executed = [*range(7), *range(16, 19)]
    assert told(assemble_riscv, rows, executed=executed) == [
        (0, [(LAST_BEFORE, "w"), (0, "w")]),
        (
            2,
            [
                (NOT_MEANWHILE, "w"), (NOT_MEANWHILE, "w behind w"), (LAST_BEFORE, "w behind w"),
                (0, "r behind w"),
            ],
        ),
    ]  # fmt: skip


def test_accesses_before_a_transfer_come_while_what_lies_behind_it_is_loaded(
    assemble_riscv: Assemble,
) -> None:
    """The jump is the last instruction of its line, and goes to one that is loaded as well."""
    rows = (*BURST, "j 1f", *["nop"] * 8, "1: nop", "lw a2, 8(s0)", "ret")
    executed = [*range(8), *range(16, 19)]
    assert told(assemble_riscv, rows, executed=executed) == [
        (0, [(LAST_BEFORE, "w"), (0, "w")]),
        (1, [(4, "w"), (3, "w behind w")]),
        (2, [(NOT_MEANWHILE, "w"), (NOT_MEANWHILE, "w behind w"), (0, "r behind w")]),
    ]
    # A return, and nothing that the window has behind it.
    rows = (*["nop"] * 4, "lw a0, 0(s0)", "lw a1, 4(s0)", "nop", "ret", "nop")
    assert told(assemble_riscv, rows)[1:] == [(1, [(4, "r"), (3, "r behind r")])]
    # What is between waits for what was loaded; what is before that may have come sooner.
    rows = (*["nop"] * 4, "lw a0, 0(s0)", "lw a1, 4(s0)", "addi a1, a1, 1", "ret", "nop")
    assert told(assemble_riscv, rows)[1:] == []


def test_what_enters_a_line_itself_is_accessed_while_the_next_one_is_loaded(
    assemble_riscv: Assemble,
) -> None:
    """The load is jumped to, alone in its line: what it waits for is that line's."""
    rows = (*BURST[:6], "j . + 36", *["nop"] * 8, "lw a2, 8(s0)", "lw a3, 12(s0)", "ret")
    found = told(assemble_riscv, rows, executed=[*range(7), *range(15, 18)])
    assert found[1:] == [
        (
            1,
            [
                (NOT_MEANWHILE, "w"), (NOT_MEANWHILE, "w behind w"), (LAST_BEFORE, "w behind w"),
                (0, "r behind w"),
            ],
        ),
        (
            2,
            [
                (NOT_MEANWHILE, "w"), (NOT_MEANWHILE, "w behind w"), (ALONE, "r behind w"),
                (0, "r behind r"),
            ],
        ),
    ]  # fmt: skip


def test_nothing_goes_on_around_a_line_before_which_something_else_ran() -> None:
    word = AccessClass("data", Operation.WRITE, 32, Pattern.SINGLE)
    write = Succession(word, (), 0, False, word)
    keys, accesses = [write], {0: [SUCCESSION], 1: [SUCCESSION]}
    onwards = np.array([False, False])
    for cuts, expected in (((0,), [(LAST_BEFORE, SUCCESSION), (0, SUCCESSION)]), ((0, 1), [])):
        asked = Asked({}, {7: 1}, onwards, (), ())
        entered = Entered(Counter(), frozenset(), {}, 0, {32: {7: Hidden()}}, asked={32: asked})
        Meanwhile(accesses, cuts, (), keys).add_to(entered)
        assert [*entered.first[32][7].accesses][-2:] == expected


def test_each_access_belongs_to_one_line(assemble_riscv: Assemble) -> None:
    """Of lines of 16 bytes: what the third one has is only in the way of the fourth."""
    rows = (*["nop"] * 7, "lw a0, 0(s0)", *["nop"] * 3, "lw a1, 4(s0)", "nop", "ret")
    assert told(assemble_riscv, rows, size=16) == [
        (2, [(1, "r")]),
        (3, [(NOT_MEANWHILE, "r"), (1, "r behind r")]),
    ]


@pytest.mark.parametrize("successions", [True, False])
def test_they_are_published_with_their_successions(
    assemble_riscv: Assemble, successions: bool
) -> None:
    program, trace = made(assemble_riscv, PLAIN)
    found = characterize(
        [HandTrace(trace)], *program, ONE, tool="test", successions=successions
    ).services[0]
    assert found.lines is not None
    (footprint,) = found.lines.footprints
    groups = [one for one in footprint.hidden if one.size == 32]
    if not successions:
        assert [one.accesses for one in groups] == [()]
        return
    group, first = sorted(groups, key=lambda one: -len(one.accesses))
    assert (first.lines, [before for before, _ in first.accesses]) == (1, [LAST_BEFORE, 0])
    # The store waits for the bus behind the load before it.
    assert (group.lines, group.stalls) == (1, (EventKind.CONSECUTIVE_ACCESS,))
    assert [before for before, _ in group.accesses] == [NOT_MEANWHILE, 5, 3, 1, 0]
    counted = {key for row in found.counts.rows for key in row.vector}
    assert {key for _, key in group.accesses} <= counted
