"""How long interrupts are masked: of runs that are written by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from rtl_by_hand import (
    ADDS,
    BEFORE_ECALL,
    CALL,
    CLEARS,
    ENTRY,
    MRET,
    OTHER,
    RESUMED,
    RET,
    RETURNED,
    SETS,
    THREAD,
    TRAP,
    WRITES,
    WRITES_ADDED,
    WRITES_MIE,
    module,
    program,
    run,
)

BEGINS, ENDS = "begins with interrupts masked", "ends with interrupts masked"
UNSEEN, NONE = "takes what masks interrupts from a register", "masks no interrupts"


@pytest.fixture
def masked(monkeypatch: pytest.MonkeyPatch) -> Any:
    return module(monkeypatch, "masked")


def longest(masked: Any, before: list[int], inside: list[int]) -> int | str:
    """Of a window; the instruction at place n of the run retires in cycle n * n."""
    import windows

    addresses = [*before, *inside, RETURNED]
    made = run(windows, addresses, [n * n for n in range(len(addresses))])
    window = windows.Window(1, "s", {}, len(before), len(before) + len(inside) - 1)
    code = program(windows)
    found: int | str = masked.longest(code, made, window, masked.history(code, made))
    return found


BEFORE = [SETS, CALL]
"""The window begins at place 2."""


@pytest.mark.parametrize(
    ("inside", "cycles"),
    [
        ([ENTRY, CLEARS, OTHER, SETS, RET], 25 - 9),
        ([CLEARS, SETS], 9 - 4),  # from the first instruction to the last
        # Nested: until it is let in again; and what masks what is masked.
        ([CLEARS, ENTRY, CLEARS, ENTRY, SETS, RET], 36 - 4),
        # Several: the longest, first, in the middle and last.
        ([CLEARS, OTHER, OTHER, SETS, ENTRY, OTHER, CLEARS, SETS], 25 - 4),
        ([CLEARS, SETS, OTHER, OTHER, CLEARS, OTHER, SETS, OTHER, OTHER, CLEARS, SETS], 64 - 36),
        ([CLEARS, SETS, ENTRY, OTHER, CLEARS, ENTRY, SETS], 64 - 36),
        # Fewer than two instructions between: one to an interrupt.
        ([CLEARS, ENTRY, OTHER, OTHER, OTHER, SETS, CLEARS, SETS], 81 - 4),
        ([CLEARS, SETS, CLEARS, ENTRY, OTHER, SETS, CLEARS, SETS], 81 - 4),
        ([CLEARS, SETS, ENTRY, CLEARS, ENTRY, SETS], 49 - 4),
        # Let in what is let in.
        ([SETS, CLEARS, OTHER, SETS, SETS, ENTRY, RET], 25 - 9),
        ([ENTRY, OTHER, RET], NONE),
        ([ENTRY, SETS, RET], NONE),
        ([ENTRY, CLEARS, OTHER, RET], ENDS),
        # A whole stretch before it does not tell how long that one is.
        ([CLEARS, OTHER, SETS, CLEARS], ENDS),
        ([CLEARS, WRITES, SETS], UNSEEN),
        ([CLEARS, SETS, ENTRY, WRITES_MIE], UNSEEN),
    ],
)
def test_the_longest_stretch(masked: Any, inside: list[int], cycles: int | str) -> None:
    assert longest(masked, BEFORE, inside) == cycles


WHOLE, LATER = [CLEARS, OTHER, SETS], [OTHER, SETS]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ([SETS, CALL], None),
        ([CALL], BEGINS),  # nothing since reset
        ([SETS, CLEARS, CALL], BEGINS),  # though the window masks them again
        ([CLEARS, SETS, CALL], None),
        # What a register holds.
        ([SETS, WRITES, CALL], UNSEEN),
        ([SETS, WRITES_MIE, CALL], UNSEEN),
        ([WRITES, SETS, CALL], None),
        ([WRITES, CLEARS, CALL], BEGINS),
        # The bit is added to it right before; or to another one, or to something else since.
        ([ADDS, WRITES_ADDED, CALL], None),
        ([ADDS, WRITES, CALL], UNSEEN),
        ([ADDS, OTHER, WRITES_ADDED, CALL], UNSEEN),
        # A trap masks; behind it goes on what an interrupt found, or a thread begins.
        ([SETS, OTHER, TRAP, CALL], BEGINS),
        ([SETS, OTHER, TRAP, SETS, WRITES, MRET], None),
        ([OTHER, TRAP, MRET], None),
    ],
)
def test_how_a_window_begins(masked: Any, before: list[int], expected: str | None) -> None:
    n = len(before)
    found = longest(masked, before, WHOLE)
    assert found == ((n + 2) ** 2 - n**2 if expected is None else expected)
    assert longest(masked, before, LATER) == (expected or NONE)


ECALLS = [BEFORE_ECALL, TRAP, MRET]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        # What waits behind an ecall goes on as it was.
        ([SETS, *ECALLS, RESUMED], None),
        ([SETS, CLEARS, *ECALLS, RESUMED], BEGINS),
        # Whatever another thread does meanwhile.
        ([SETS, BEFORE_ECALL, TRAP, MRET, OTHER, CLEARS, THREAD, TRAP, MRET, RESUMED], None),
        (
            [SETS, CLEARS, BEFORE_ECALL, TRAP, MRET, OTHER, SETS, THREAD, TRAP, MRET, RESUMED],
            BEGINS,
        ),
        ([SETS, CLEARS, BEFORE_ECALL, TRAP, MRET, OTHER, SETS, THREAD, TRAP, MRET, OTHER], None),
        # Two threads have waited there, with interrupts masked, and without.
        ([SETS, *ECALLS, OTHER, CLEARS, *ECALLS, RESUMED], UNSEEN),
    ],
)
def test_behind_a_switch(masked: Any, before: list[int], expected: str | None) -> None:
    """The window begins with the last one of ``before``."""
    n = len(before)
    found = longest(masked, before[:-1], [before[-1], *WHOLE])
    assert found == ((n + 2) ** 2 - n**2 if expected is None else expected)


@pytest.mark.parametrize(
    ("text", "change"),
    [
        ("csrrci zero, mstatus, 8", "MASKED"),
        ("csrrsi zero, mstatus, 8", "LET_IN"),
        # With what is read, with other bits beside, and with others alone.
        ("csrrci a0, mstatus, 8", "MASKED"),
        ("csrrsi a0, mstatus, 0x1f", "LET_IN"),
        ("csrrci zero, mstatus, 0xa", "MASKED"),
        ("csrrci zero, mstatus, 0x10", None),
        ("csrrsi zero, mstatus, 1", None),
        ("csrrwi zero, mstatus, 8", "LET_IN"),
        ("csrrwi zero, mstatus, 0", "MASKED"),
        ("csrrw zero, mstatus, zero", "MASKED"),
        ("csrrw zero, mstatus, t0", "UNKNOWN"),
        ("csrrs zero, mstatus, t0", "UNKNOWN"),
        ("csrrc a0, mstatus, t0", "UNKNOWN"),
        ("csrrs t0, mstatus, zero", None),
        ("csrrc t0, mstatus, zero", None),
        ("csrrs zero, mie, a5", "UNKNOWN"),
        ("csrrsi zero, mie, 8", "UNKNOWN"),
        ("csrrs a5, mie, zero", None),
        ("csrrw zero, mepc, t0", None),
        ("csrrci zero, mip, 8", None),
        ("addi a0, a0, 8", None),
        ("nop", None),
    ],
)
def test_what_an_instruction_does(masked: Any, text: str, change: str | None) -> None:
    """RISC-V privileged architecture, 3.1.6.1: MIE is bit 3; unprivileged, Zicsr: which writes."""
    assert masked.change(text) is (None if change is None else masked.State[change])


@pytest.mark.parametrize(
    ("text", "write", "adds"),
    [
        ("c.addi t0, 8", "csrrw zero, mstatus, t0", True),
        ("addi t0, t0, 8", "csrrw zero, mstatus, t0", True),
        ("ori t0, t0, 8", "csrrw zero, mstatus, t0", True),
        ("c.addi t1, 8", "csrrw zero, mstatus, t0", False),
        ("c.addi t0, 4", "csrrw zero, mstatus, t0", False),
        ("addi t0, t1, 8", "csrrw zero, mstatus, t0", False),
        ("ori t0, t0, 8", "csrrc zero, mstatus, t0", False),
        ("addi zero, zero, 8", "csrrw zero, mstatus, zero", False),
        ("ori t0, t0, 8", "csrrw zero, mie, t0", False),
        ("ori t0, t0, 8", "mret", False),
    ],
)
def test_the_bit_is_added_right_before(masked: Any, text: str, write: str, adds: bool) -> None:
    assert masked.adds_the_bit(text, write) is adds


def test_every_window_is_measured_or_counted(masked: Any) -> None:
    import windows

    addresses = [SETS, CALL, CLEARS, SETS, RETURNED, CALL, RET, OTHER, TRAP, MRET, OTHER]
    made = run(windows, addresses, range(0, 110, 10))
    found = [
        windows.Window(n, name, {"N": n}, first, last)
        for n, (name, first, last) in enumerate(
            [("a", 2, 3), ("b", 6, 6), ("b", 6, 6), ("c", 8, 9)]
        )
    ]
    left_out: Counter[tuple[str, str]] = Counter()
    rows = [*masked.masked(program(windows), made, found, left_out)]
    assert rows == [("a", {"N": 0}, 10)]
    assert left_out == {
        ("b", NONE): 2,
        ("c", "is a handler, masked as a whole"): 1,
    }
