"""The independent count itself: what follows what, and locks inside locks, on made-up steps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from chain_listing import Line, Listing
from chain_oracle import Machine, target_of
from chain_published import Published
from chain_stream import Data, Run, numbers


class Log:
    """The stack pointer is always the same; ``link`` at each step."""

    def __init__(self, link: list[int]) -> None:
        self._link = link

    def starts_block(self, step: int) -> bool:
        return True

    def register(self, step: int, number: int) -> int:
        return 0x20000100 if number == 13 else self._link[step]


def machine(lines: list[Line], pcs: list[int], link: list[int] | None = None) -> Machine:
    objects = [("stack", 0x20000000, 0x200), ("idle_stack", 0x20000200, 0x200)]
    objects += [("lock", 0x10, 4), ("unlock", 0x20, 4)]
    listing = Listing({line.address: line for line in lines}, {}, objects)
    services: dict[str, Any] = {
        "services": {},
        "marks": {},
        "sections": {},
        "scheduler lock": {"lock": ["lock"], "unlock": ["unlock"]},
    }
    log: Any = Log(link or [0] * len(pcs))
    return Machine(listing, log, Run(numbers(pcs), Data.of(len(pcs), {}), []), services)


JUMP = {"jumps": True, "event": "branch untaken"}
ALWAYS = {"jumps": True, "always": True, "event": "branch taken"}


@pytest.mark.parametrize(
    ("line", "after", "follows"),
    [
        (Line(0, 2, b"", "adds", "r0, #1"), 2, True),
        (Line(0, 4, b"", "isb", "sy", event="barrier"), 4, False),
        (Line(0, 2, b"", "beq", "8 <f+0x8>", **JUMP), 2, True),  # type: ignore[arg-type]
        (Line(0, 2, b"", "beq", "8 <f+0x8>", **JUMP), 8, False),  # type: ignore[arg-type]
        # To the very next instruction: a jump, and of a conditional one nobody can tell.
        (Line(0, 2, b"", "beq", "2 <f+0x2>", **JUMP), 2, False),  # type: ignore[arg-type]
        (Line(0, 2, b"", "cbz", "r0, 2 <f+0x2>", **JUMP), 2, False),  # type: ignore[arg-type]
        (Line(0, 2, b"", "b", "2 <f+0x2>", **ALWAYS), 2, False),  # type: ignore[arg-type]
        (Line(0, 2, b"", "bx", "r3", **ALWAYS), 2, False),  # type: ignore[arg-type]
        # In an IT block it may have had no effect.
        (Line(0, 2, b"", "bx", "lr", "ne", **ALWAYS), 2, True),  # type: ignore[arg-type]
        (Line(0, 2, b"", "bx", "lr", "ne", **ALWAYS), 6, False),  # type: ignore[arg-type]
    ],
)
def test_what_follows(line: Line, after: int, follows: bool) -> None:
    other = Line(0x40, 2, b"", "nop", "")
    assert machine([line, other], [0, 0x40])._follows(0, after) is follows


def test_control_that_goes_where_no_instruction_sends_it() -> None:
    line = Line(0, 2, b"", "adds", "r0, #1")
    with pytest.raises(AssertionError, match="followed by"):
        machine([line], [0])._follows(0, 4)


@pytest.mark.parametrize(
    ("event", "operands", "target"),
    [
        ("call", "1f0 <f>", 0x1F0),
        ("branch untaken", "r0, 1f0 <f+0x10>", 0x1F0),
        ("branch untaken", "x1,x2,800001f0", 0x800001F0),
        ("branch taken", "r3", None),
        ("branch taken", "lr", None),
        ("branch taken", "x0,0(x5)", None),
        ("call indirect", "r3", None),
    ],
)
def test_where_a_jump_leads(event: str, operands: str, target: int | None) -> None:
    assert target_of(Line(0, 2, b"", "b", operands, event=event)) == target


def test_locks_inside_a_lock() -> None:
    """lock, lock, unlock, unlock, each a function of two instructions, called from 0 on."""
    lines = [Line(at, 2, b"", "nop", "") for at in (*range(0, 0x10, 2), 0x10, 0x12, 0x20, 0x22)]
    pcs = [0, 0x10, 0x12, 2, 0x10, 0x12, 4, 0x20, 0x22, 6, 0x20, 0x22, 8]
    link = [0, 2, 2, 0, 4, 4, 0, 6, 6, 0, 8, 8, 0]
    found = machine(lines, pcs, link)
    assert found.deepest == 2
    # From the first instruction of the outer lock to the last of the outer unlock.
    assert np.flatnonzero(found.preemption).tolist() == list(range(1, 12))


def test_more_unlocks_than_locks() -> None:
    lines = [Line(at, 2, b"", "nop", "") for at in (0, 2, 0x20, 0x22)]
    with pytest.raises(AssertionError, match="more often"):
        machine(lines, [0, 0x20, 0x22, 2], [0, 2, 2, 0])


def test_a_table_is_read_at_its_points() -> None:
    row = {"counts": [{"section": "a", "event": "alu", "count": 3}]}
    published = Published.of({"points": [{"values": [1], "rows": [row]}]})
    assert published.at({"N": 1}) == {((None, False), ("a", "alu")): 3}
    with pytest.raises(KeyError):
        published.at({"N": 2})
