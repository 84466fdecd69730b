"""Services cut out of runs, and their times: of runs that are written by hand."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from rtl_by_hand import (
    BEFORE_ECALL,
    CALL,
    CROSSING,
    ECALL,
    ENTRY,
    INDIRECT,
    INDIRECT_RETURNED,
    JUMPS_TO_ECALL,
    MARK,
    MRET,
    OTHER,
    RESUMED,
    RET,
    RETURNED,
    SECOND,
    SYSTEM,
    THREAD,
    TRAP,
    instruction,
    module,
    program,
    run,
    service,
)

from wcetchar.model.service import Marks, Parameter, ParameterKind, Part, Service, ServiceKind

CALLED = ServiceKind.CALL
HANDLER, FINAL = ServiceKind.HANDLER, ServiceKind.FINAL_CALL
BLOCKING = ServiceKind.BLOCKING_CALL
SWITCHED = [MARK, CALL, ENTRY, BEFORE_ECALL, TRAP, MRET, THREAD, TRAP, MRET]
"""Called, switched away by an ecall, and the other thread's ecall returns to someone."""
CUT = (2, 3, "s/call", Part.UNTIL_SWITCH)


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> Any:
    return module(monkeypatch, "windows")


def cut_of(windows: Any, kind: ServiceKind, addresses: list[int], end: int | None = None) -> Any:
    """Windows as (first, last, name, part), and reasons, between the first instruction and
    ``end``, the last one if not given."""
    found, made = windows.Cut(), run(windows, addresses)
    handlers = np.flatnonzero(made.address == TRAP)
    span = (0, len(addresses) - 1 if end is None else end)
    one = service(kind)
    windows._invocation(found, program(windows, one), made, handlers, one, {"N": 3}, 5, span)
    for window in found.windows:
        assert (window.number, window.values) == (5, {"N": 3})
    return (
        [(w.first, w.last, w.service, w.part) for w in found.windows],
        {reason: count for (_, reason), count in found.left_out.items()},
    )


@pytest.mark.parametrize(
    ("kind", "addresses", "expected"),
    [
        (CALLED, [MARK, CALL, ENTRY, SECOND, RET, RETURNED, MARK], (2, 4)),
        # Through a register, and by a call of two bytes.
        (CALLED, [MARK, INDIRECT, ENTRY, RET, INDIRECT_RETURNED, MARK], (2, 3)),
        # Recursion: the first entry, and the first return to the first call.
        (CALLED, [MARK, CALL, ENTRY, INDIRECT, ENTRY, RET, 0x1012, RET, RETURNED, MARK], (2, 7)),
        # Called again.
        (CALLED, [MARK, CALL, ENTRY, RET, RETURNED, CALL, ENTRY, RET, RETURNED, MARK], (2, 3)),
        # Traps before the call and behind the return.
        (CALLED, [MARK, TRAP, MRET, CALL, ENTRY, RET, RETURNED, TRAP, MRET, MARK], (4, 5)),
        (HANDLER, [MARK, OTHER, TRAP, MRET, OTHER, MARK], (2, 3)),
        # Of two the first, to its own return; it may return behind the mark.
        (HANDLER, [MARK, TRAP, MRET, TRAP, SECOND, MRET, MARK], (1, 2)),
        (HANDLER, [MARK, TRAP, MARK, SECOND, MRET, OTHER], (1, 4)),
    ],
)
def test_whole_invocations(
    windows: Any, kind: ServiceKind, addresses: list[int], expected: tuple[int, int]
) -> None:
    assert cut_of(windows, kind, addresses) == ([(*expected, "s", Part.WHOLE)], {})


@pytest.mark.parametrize(
    ("kind", "addresses", "reason"),
    [
        (CALLED, [MARK, OTHER, MARK], "does not execute its entry between its marks"),
        (CALLED, [MARK, OTHER, ENTRY, RET, RETURNED, MARK], "is not reached by a call"),
        (CALLED, [MARK, CALL, ENTRY, SECOND, OTHER, MARK], "does not return"),
        (CALLED, [MARK, CALL, ENTRY, TRAP, MRET, RET, RETURNED, MARK], "traps inside"),
        # Between the return and where it goes to.
        (CALLED, [MARK, CALL, ENTRY, RET, TRAP, MRET, RETURNED, MARK], "traps inside"),
        (HANDLER, [MARK, OTHER, MARK], "has no trap between its marks"),
        (HANDLER, [MARK, TRAP, SECOND, MARK], "does not return"),
        (HANDLER, [MARK, TRAP, MARK, MRET], "does not return"),  # the run ends with it
        (ServiceKind.ACTIVATION, [MARK, CALL, ENTRY, MARK], "is an activation of a thread"),
        (FINAL, [MARK, CALL, ENTRY, SECOND, MARK], "is not switched away"),
        (BLOCKING, [MARK, CALL, ENTRY, RET, RETURNED, MARK], "is not switched away"),
        # By an interrupt.
        (FINAL, [MARK, CALL, ENTRY, TRAP, MRET, MARK], "is not switched away by ecall"),
        # It was interrupted as soon as it was called.
        (FINAL, [MARK, CALL, TRAP, MRET, ENTRY, RET, MARK], "is not reached by a call"),
    ],
)
def test_invocations_that_are_left_out(
    windows: Any, kind: ServiceKind, addresses: list[int], reason: str
) -> None:
    assert cut_of(windows, kind, addresses) == ([], {reason: 1})


def test_a_trap_or_an_entry_behind_the_end_is_not_its_own(windows: Any) -> None:
    beyond = [MARK, OTHER, MARK, CALL, ENTRY, TRAP, MRET, OTHER]
    assert cut_of(windows, HANDLER, beyond, end=2)[0] == []
    assert cut_of(windows, CALLED, beyond, end=2)[0] == []


@pytest.mark.parametrize(("behind", "found"), [(7, 1), (8, 0)])
def test_a_return_is_looked_for_shortly_behind_the_mark(
    windows: Any, behind: int, found: int
) -> None:
    addresses = [MARK, CALL, ENTRY, MARK, *[OTHER] * (behind - 1), RETURNED]
    assert len(cut_of(windows, CALLED, addresses, end=3)[0]) == found


@pytest.mark.parametrize("before", [BEFORE_ECALL, JUMPS_TO_ECALL])
def test_a_call_that_never_returns_ends_before_its_ecall(windows: Any, before: int) -> None:
    addresses = [MARK, CALL, ENTRY, before, TRAP, MRET, THREAD, MARK]
    assert cut_of(windows, FINAL, addresses) == ([CUT], {})


@pytest.mark.parametrize(
    ("goes_on", "expected"),
    [
        ([RESUMED, RET, RETURNED, MARK], (9, 10)),
        # There somebody waits again, and goes on: the last time is its own.
        ([RESUMED, BEFORE_ECALL, TRAP, MRET, RESUMED, SECOND, RET, RETURNED, MARK], (13, 15)),
    ],
)
def test_a_call_that_is_switched_away(
    windows: Any, goes_on: list[int], expected: tuple[int, int]
) -> None:
    found = cut_of(windows, BLOCKING, SWITCHED + goes_on)
    assert found == ([CUT, (*expected, "s/resume", Part.UNTIL_RETURN)], {})


@pytest.mark.parametrize(
    ("goes_on", "reason"),
    [
        ([RESUMED, RET, OTHER, MARK], "does not return"),
        # Elsewhere than behind its ecall; and there, but by no return from a trap.
        ([SECOND, RET, RETURNED, MARK], "is not seen to go on"),
        ([OTHER, RESUMED, RET, RETURNED, MARK], "is not seen to go on"),
        ([RESUMED, TRAP, MRET, RET, RETURNED, MARK], "is switched away twice"),
        ([RESUMED, RET, TRAP, MRET, RETURNED, MARK], "is switched away twice"),
    ],
)
def test_only_the_first_part_of_a_call(windows: Any, goes_on: list[int], reason: str) -> None:
    assert cut_of(windows, BLOCKING, SWITCHED + goes_on) == ([CUT], {reason: 1})


def test_what_lies_between_marks(windows: Any) -> None:
    marks = Marks("wcet_mark", 100, begin=0, end=1, first_parameter=2)
    stores = [("n", 204), ("m", 303), ("a", 7), ("b", 107), ("n", 205), ("c", 7), ("d", 107)]
    found = [*windows.invocations(marks, stores)]
    assert found == [(7, "a", "b", {0: 4, 1: 3}), (7, "c", "d", {0: 5})]


@pytest.mark.parametrize(
    ("stores", "said"),
    [
        ([("a", 107)], "mark 7 ends at a"),
        ([("a", 7), ("b", 108)], "mark 8 ends at b"),
        ([("a", 7), ("b", 107), ("c", 107)], "mark 7 ends at c"),
    ],
)
def test_an_end_that_never_began(windows: Any, stores: list[tuple[str, int]], said: str) -> None:
    with pytest.raises(ValueError, match=f"{said} and never began"):
        list(windows.invocations(Marks("wcet_mark", 100), stores))


ADDRESSES = [MARK, MARK, CALL, ENTRY, RET, RETURNED, MARK]
REFERENCE = [0, 1, 3, 7, 8, 12, 13]
STORES = ((204, 0), (7, 1), (107, 6))
"""Offset of each mark, and the instruction that stores it: it retires a cycle behind the bus."""


def test_a_run_is_cut_at_the_instructions_that_store_its_marks(windows: Any) -> None:
    """In a slow run a store may be written long after it has retired."""
    one = Service(
        "s", 7, CALLED, ("entry",), (Parameter("N", ParameterKind.ARGUMENT, 0, 99, "how many"),)
    )
    made = program(windows, one)
    marks = [(REFERENCE[at] - 1, offset) for offset, at in STORES]
    reference = run(windows, ADDRESSES, REFERENCE, marks=marks)
    late = run(
        windows,
        [OTHER, *ADDRESSES],  # an instruction later
        [0, 1, 2, 9, 30, 35, 50, 51],
        marks=[(cycle + 40, offset) for cycle, offset in marks],
    )
    assert windows.mark_stores(reference, reference) == [0, 1, 6]
    assert windows.mark_stores(late, reference) == [1, 2, 7]
    for number, (here, first) in enumerate([(reference, 3), (late, 4)]):
        found = windows.cut(made, here, reference)
        assert found.windows == [windows.Window(1, "s", {"N": 4}, first, first + 1)], number
    # A mark of no service here still counts as one.
    made.services = {}
    assert windows.cut(made, late, reference) == windows.Cut([], Counter())


def window(windows: Any, first: int, last: int, part: Part = Part.WHOLE) -> Any:
    return windows.Window(1, part.of("s"), {}, first, last, part)


def time_of(windows: Any, here: Any, there: Any, one: Any) -> int:
    """Of a window that is at the same place in both runs."""
    [(_, cycles)] = windows.times(program(windows), here, [one], there, [one])
    return int(cycles)


def test_the_time_of_a_call(windows: Any) -> None:
    """Where nothing waits: 8 - 3 = 5 from the call to the return; of these the call takes 7 - 3 - 1
    = 3, and the return 12 - 8 - 1 = 3 more. In a slow run: 50 - 30 = 20, with the same 3 and 3."""
    one = window(windows, 3, 4)
    there = run(windows, ADDRESSES, REFERENCE)
    assert time_of(windows, there, there, one) == 5 - 3 + 3
    slow = run(windows, ADDRESSES, [0, 10, 30, 45, 50, 70, 71])
    assert time_of(windows, slow, there, one) == 20 - 3 + 3


def test_the_time_until_a_switch_has_the_ecall_that_does_not_retire(windows: Any) -> None:
    """10 - 4 - 2 + 1; the trap, which takes long, is the handler's."""
    there = run(windows, [MARK, CALL, ENTRY, BEFORE_ECALL, TRAP], [0, 4, 7, 10, 30])
    assert time_of(windows, there, there, window(windows, 2, 3, Part.UNTIL_SWITCH)) == 5


def test_the_time_of_what_goes_on(windows: Any) -> None:
    """Behind mret: 14 - 5 - (9 - 5 - 1) + (20 - 14 - 1)."""
    there = run(windows, [TRAP, MRET, RESUMED, RET, RETURNED], [0, 5, 9, 14, 20])
    assert time_of(windows, there, there, window(windows, 2, 3, Part.UNTIL_RETURN)) == 11


@pytest.mark.parametrize(
    ("before", "takes"),
    [(BEFORE_ECALL, 12 - 1), (JUMPS_TO_ECALL, 12 - 1), (OTHER, 12)],
)
def test_the_time_of_a_handler(windows: Any, before: int, takes: int) -> None:
    """14 - 2, less the cycle of an ecall; and 5 - 1 that its return takes."""
    there = run(windows, [before, TRAP, MRET, OTHER], [2, 9, 14, 19])
    assert time_of(windows, there, there, window(windows, 1, 2)) == takes + 4


def test_a_first_instruction_across_two_words_takes_the_service_a_cycle(windows: Any) -> None:
    """Of the 4 cycles until it retires the call takes 2; of the 6 until what is returned to, 5."""
    there = run(windows, [CALL, CROSSING, RET, RETURNED], [0, 4, 5, 11])
    one = window(windows, 1, 2)
    assert windows._call(program(windows), there, one, {}) == 2
    back = run(windows, [CALL, ENTRY, RET, CROSSING], [0, 4, 5, 11])
    assert windows._return(program(windows), there, one) == 5
    assert windows._return(program(windows), back, one) == 4


def test_the_least_that_a_call_takes(windows: Any) -> None:
    """By the kind of transfer, of ordinary first instructions alone."""
    made = program(windows)
    addresses = [CALL, ENTRY, CALL, SECOND, INDIRECT, ENTRY, CALL, SYSTEM, INDIRECT, SYSTEM]
    cycles = [0, 5, 10, 14, 20, 28, 40, 42, 50, 53]
    there = run(windows, [*addresses, MRET, SYSTEM], [*cycles, 60, 70])
    found = [window(windows, first, first) for first in (1, 3, 5, 7, 9)]
    least = windows._least(made, there, found)
    assert least == {"call": 3, "indirect call": 7}
    assert [windows._call(made, there, one, least) for one in found] == [4, 3, 7, 3, 7]
    with pytest.raises(KeyError):  # none of this kind was seen
        windows._call(made, there, window(windows, 11, 11), least)


@pytest.mark.parametrize(
    ("text", "ordinary"),
    [
        ("addi sp, sp, -16", True),
        ("csrrs a0, mcause, zero", False),
        ("fence iorw, iorw", False),
        ("ecall", False),
        ("c.ebreak", False),
        ("lw a0, 0(a1)", True),
    ],
)
def test_ordinary_instructions(windows: Any, text: str, ordinary: bool) -> None:
    made = program(windows)
    made._at[ENTRY] = instruction(ENTRY, text)
    assert made.is_ordinary(ENTRY) is ordinary


@pytest.mark.parametrize(
    ("refills", "waits"),
    [
        # BEFORE_ECALL retires in cycle 20; the call would in 21, and is fetched at 16. What comes
        # before it in memory transfers nothing: no line but its own is in its way.
        ([], 0),
        ([("vain", 10, 30)], 0),
        ([("vain", 17, 30)], 0),
        ([("behind", 15, 30)], 0),  # asked for while BEFORE_ECALL waits
        ([("own", 18, 40)], 42 - 16),
        ([("own", 30, 50)], 52 - 16),
        ([("own", 90, 95)], 0),  # a later execution's
        ([("own", 18, 40), ("behind", 44, 60), ("trap", 60, 80)], 42 - 16),
        ([("own", 18, 40), ("own", 45, 60), ("behind", 64, 80)], 62 - 16),
    ],
)
def test_what_a_supervisor_call_waits_for_is_not_the_handlers(
    windows: Any, refills: list[tuple[str, int, int]], waits: int
) -> None:
    own = BEFORE_ECALL + 4
    at = {"own": own // 32 * 32, "vain": 0x9000, "behind": own // 32 * 32 + 32, "trap": TRAP}
    addresses = [MARK, CALL, ENTRY, BEFORE_ECALL, TRAP, MRET, OTHER]
    here = run(
        windows,
        addresses,
        [0, 4, 7, 20, 90, 99, 105],
        [(at[name], asked, loaded) for name, asked, loaded in refills],
    )
    there = run(windows, addresses, [0, 4, 7, 10, 18, 22, 26])
    made = program(windows)
    both = [window(windows, 2, 3, Part.UNTIL_SWITCH), window(windows, 4, 5)]
    times = [cycles for _, cycles in windows.times(made, here, both, there, both)]
    # A call of 2 cycles; the handler's return of 3. Both together lose and gain nothing.
    assert times == [20 - 4 - 2 + 1 + waits, 99 - 20 - 1 - waits + 3]


@pytest.mark.parametrize(
    ("refills", "waits"),
    [
        ([(0x9000, 35, 60)], 62 - 40),
        ([(0x9000, 41, 60)], 62 - 40),  # found missing when the call is to be fetched
        ([(0x9000, 42, 60)], 0),  # for what is behind it
        ([(0x9000, 35, 60), (ECALL // 32 * 32, 65, 80)], 82 - 40),
        ([(ECALL // 32 * 32, 44, 60), (0x9000, 64, 80)], 62 - 40),
    ],
)
def test_a_transfer_to_a_supervisor_call_is_the_services(
    windows: Any, refills: list[tuple[int, int, int]], waits: int
) -> None:
    """Of two traps in the reference one comes 4 cycles later: these are the transfer's. A line that
    is loaded in vain for it is in the way of the call's fetch in 40."""
    first = [MARK, CALL, ENTRY, BEFORE_ECALL, TRAP, MRET]
    second = [MARK, CALL, ENTRY, JUMPS_TO_ECALL, TRAP, MRET, OTHER]
    cycles = [0, 4, 7, 10, 18, 22, *(30 + cycle for cycle in [0, 4, 7, 10, 22, 26, 30])]
    there = run(windows, first + second, cycles)
    slow = [*cycles[:10], 90, 99, 105]
    here = run(windows, first + second, slow, refills)
    ends = [window(windows, at, at + 1, Part.UNTIL_SWITCH) for at in (2, 8)]
    times = [cycles for _, cycles in windows.times(program(windows), here, ends, there, ends)]
    assert times == [10 - 4 - 2 + 1, 40 - 34 - 2 + 1 + 4 + waits]


LINE = 0x3000
"""Of another one than what is fetched."""


@pytest.mark.parametrize(
    ("refills", "waits"),
    [
        # Called in cycle 20, a call takes 3: the entry retires at 24 if nothing waits, and is
        # fetched at 19. A line that is loaded at 30 is written at 31, and 32 is the first fetch.
        ([(LINE, 10, 30)], 32 - 19),
        ([(LINE, 10, 18)], 20 - 19),
        ([(LINE, 10, 17)], 0),  # fetched as soon as it can be
        # Asked for at the cycle behind the fetch, still of what was fetched in vain; and later.
        ([(LINE, 20, 30)], 13),
        ([(LINE, 21, 30)], 0),
        # The line of the entry itself, or of its second half.
        ([(ENTRY, 10, 30)], 0),
        ([(ENTRY - 32, 10, 30)], 13),
        ([(ENTRY + 32, 10, 30)], 13),
        # The first that is not over; those before and behind it do not count.
        ([(LINE, 0, 9), (LINE + 32, 10, 25), (ENTRY, 26, 40)], 27 - 19),
        ([(LINE, 10, 17), (LINE + 32, 18, 30)], 13),
        ([(LINE, 0, 9)], 0),
        ([], 0),
    ],
)
def test_a_line_under_way_is_the_callers(
    windows: Any, refills: list[tuple[int, int, int]], waits: int
) -> None:
    made = program(windows)
    here = run(windows, ADDRESSES, [0, 10, 20, 45, 50, 54, 55], refills)
    assert windows._refill_under_way(made, here, 3, 3) == waits
    # As a part of the time: 50 - 20 - 3 - what waits + 3.
    there = run(windows, ADDRESSES, REFERENCE)
    assert time_of(windows, here, there, window(windows, 3, 4)) == 30 - waits


@pytest.mark.parametrize(("line", "waits"), [(0x2020, 0), (0x2040, 13), (0x2000, 13)])
def test_the_second_half_of_an_instruction(windows: Any, line: int, waits: int) -> None:
    made = program(windows)
    here = run(windows, [CALL, CROSSING], [20, 45], [(line, 10, 30)])
    assert windows._refill_under_way(made, here, 1, 3) == waits


@pytest.mark.parametrize(("address", "own"), [(0x205E, {0x2040, 0x2060}), (0x205C, {0x2040})])
def test_both_lines_of_an_instruction_that_lies_across_them(
    windows: Any, address: int, own: set[int]
) -> None:
    made = program(windows)
    made._at[address] = instruction(address)
    for line in (0x2020, 0x2040, 0x2060, 0x2080):
        here = run(windows, [CALL, address], [20, 45], [(line, 10, 30)])
        assert windows._refill_under_way(made, here, 1, 3) == (0 if line in own else 13)


def test_a_line_under_way_where_a_service_returns_is_its_own(windows: Any) -> None:
    """Returned at 50, and 3 more: fetched at 49, and again at 62; all of 30 - 3 + 3, and 13."""
    there = run(windows, ADDRESSES, REFERENCE)
    here = run(windows, ADDRESSES, [0, 10, 20, 45, 50, 70, 71], [(LINE, 45, 60)])
    assert time_of(windows, here, there, window(windows, 3, 4)) == 30 + 13


def test_a_trap_has_lines_in_its_price(windows: Any) -> None:
    here = run(windows, [OTHER, TRAP, MRET], [20, 45, 50], [(LINE, 10, 30)])
    assert windows._refill_under_way(program(windows), here, 1, 3) == 0
