"""RISC-V: masks through traps and switches, threads by their stack pointers, handlers by number."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import listing
import pytest
from listing import Row, batches, i, load, mark, r, w
from riscv_listing import (
    CALL,
    DATA,
    NEW,
    SCRIPT,
    SERVICES,
    SOURCE,
    STACK_A,
    STACK_B,
    TIMER,
    A,
    B,
    Labels,
    begin,
    end,
    run,
    trap,
)

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.counting.columns import key_of, unpack
from wcetchar.errors import InputError
from wcetchar.model.service import ServiceKind
from wcetchar.model.trace import Event

ON_A, ON_B = (A, STACK_A), (B, STACK_B)
TO_NEW = (NEW, STACK_B + 0x100)
UNKNOWN, MASKED, OPEN = "unknown", "masked", "open"


@pytest.fixture
def resolved(assemble_riscv: Callable[[str, str], Path]) -> Resolved:
    image, table = load(assemble_riscv(SOURCE, SCRIPT))
    return resolve(SERVICES, image, table)


@pytest.fixture
def at(resolved: Resolved) -> Labels:
    return {s.name: s.address for s in resolved.image.symbols}


def find(
    resolved: Resolved, rows: list[Row], size: int = 64, *, has_exceptions: bool = True
) -> list[Window]:
    finder = WindowFinder(resolved, "hand", has_exceptions=has_exceptions)
    found = list(find_windows(batches(rows, size), finder))
    assert finder.unattributed.total() + finder.attributed.total() == finder.traced
    return found


def shown(window: Window, at: Labels) -> list[tuple[str, str]]:
    """(label, interrupts) of each instruction."""
    names = {address: name for name, address in reversed(at.items())}
    return [
        (
            names[address],
            MASKED if p.blocking.interrupts else UNKNOWN if p.blocking.unknown else OPEN,
        )
        for p in window.pieces
        for kind, address in zip(p.kind.tolist(), p.address.tolist(), strict=True)
        if kind == Event.INSTRUCTION
    ]


AFTER_THE_CALL = [
    ("service_4", MASKED), ("service_5", OPEN), ("service_6", OPEN),
]  # fmt: skip
WHOLE = [("service", OPEN), ("service_2", OPEN), ("service_3", MASKED), *AFTER_THE_CALL]


def rest(at: Labels) -> list[Row]:
    return [
        i(at["service_4"]), i(at["service_5"]), (Event.READ, STACK_A + 12, 4), i(at["service_6"]),
        *end(at),
    ]  # fmt: skip


def service(at: Labels, *called: Row) -> list[Row]:
    return [*begin(at), *run(at, "service_2", "service_3"), *called, *rest(at)]


@pytest.mark.parametrize("size", [1, 3, 64])
def test_a_call_that_comes_back_to_its_thread(resolved: Resolved, at: Labels, size: int) -> None:
    """MIE: clear at reset, set by boot, cleared by the service; the trap keeps it in MPIE, and mret
    takes it from there."""
    rows = [i(at["boot"]), *service(at, *trap(at, CALL, ON_A, ON_A))]
    (window,) = find(resolved, rows, size)
    assert shown(window, at) == WHOLE
    assert not window.switched
    assert window.yields == 0


@pytest.mark.parametrize("size", [1, 7, 64])
def test_a_call_that_switches_threads(resolved: Resolved, at: Labels, size: int) -> None:
    """B is new: what it begins with is not known, which nobody counts. What A goes on with is
    known, from where A's own trap put it away."""
    switched = [
        *trap(at, CALL, ON_A, ON_B), *run(at, "other", "other_2"), *trap(at, CALL, ON_B, ON_A),
    ]  # fmt: skip
    rows = [i(at["boot"]), *service(at, *switched)]
    (window,) = find(resolved, rows, size)
    assert shown(window, at) == WHOLE
    assert window.switched
    assert window.yields == 1


def test_a_thread_that_nobody_saved_is_another_one(resolved: Resolved, at: Labels) -> None:
    lost = service(at, *trap(at, CALL, ON_A, TO_NEW))
    with pytest.raises(InputError, match="end mark of service without its begin mark"):
        find(resolved, lost)


@pytest.mark.parametrize("written", [A, A + 2, A - 2])
def test_a_control_block_that_was_written_over(
    resolved: Resolved, at: Labels, written: int
) -> None:
    """Its thread is gone, whoever goes on from there."""
    reused = [
        *trap(at, CALL, ON_A, ON_B), i(at["other"]), i(at["trap_3"]), w(written),
        i(at["other_2"]), *trap(at, CALL, ON_B, ON_A),
    ]  # fmt: skip
    with pytest.raises(InputError, match="inside service does not go on"):
        find(resolved, service(at, *reused))


@pytest.mark.parametrize(
    ("written", "known"), [(STACK_A + 8, False), (STACK_A + 6, False), (STACK_A + 12, True)]
)
def test_a_saved_mask_that_was_written_over(
    resolved: Resolved, at: Labels, written: int, known: bool
) -> None:
    """By another thread, in the frame of A: what mret restores is then not known, and counts as
    masked until the service sets MIE itself."""
    switched = [
        *trap(at, CALL, ON_A, ON_B), i(at["other"]), i(at["trap_3"]), w(written),
        i(at["other_2"]), *trap(at, CALL, ON_B, ON_A),
    ]  # fmt: skip
    (window,) = find(resolved, [i(at["boot"]), *service(at, *switched)])
    expected = list(WHOLE)
    expected[3] = ("service_4", MASKED if known else UNKNOWN)
    assert shown(window, at) == expected


def test_an_interrupt_shows_that_they_were_let_in(resolved: Resolved, at: Labels) -> None:
    """B began with an unknown mask. Its first trap by the timer tells; one by a call does not."""
    for number, after in ((TIMER, OPEN), (CALL, UNKNOWN)):
        first = [*trap(at, CALL, ON_A, ON_B), *run(at, "other_3")]
        second = trap(at, number, ON_B, ON_B)
        calm = [
            *begin(at, "calm"), i(at["calm_2"]), i(at["calm_3"]), (Event.READ, STACK_A + 12, 4),
            i(at["calm_4"]), *end(at),
        ]  # fmt: skip
        (window,) = find(resolved, [i(at["boot"]), i(at["service_3"]), *first, *second, *calm])
        assert {state for _, state in shown(window, at)} == {after}


def test_masked_from_reset_until_somebody_lets_them_in(resolved: Resolved, at: Labels) -> None:
    (window,) = find(resolved, service(at, *trap(at, CALL, ON_A, ON_A)))
    assert [state for _, state in shown(window, at)] == [MASKED] * 4 + [OPEN] * 2


def test_the_first_task_is_started_by_mret_without_a_trap(resolved: Resolved, at: Labels) -> None:
    """mret takes MIE from MPIE, which was set by hand."""
    start = run(at, "first_task", "first_2", "first_3")
    (window,) = find(resolved, [*start, *service(at, *trap(at, CALL, ON_A, ON_A))])
    assert shown(window, at) == WHOLE


def test_a_handler_window_is_masked_from_entry_to_mret(resolved: Resolved, at: Labels) -> None:
    """The same entry serves both; the number tells. What the marks do not name is left out."""
    rows = [
        i(at["boot"]), i(at["driver"]), mark(0, 8), i(at["driver_2"]), *trap(at, TIMER, ON_A, ON_A),
        i(at["service_3"]), *trap(at, CALL, ON_A, ON_A), i(at["driver_4"]), mark(1, 8),
        i(at["driver"]), mark(0, 9), i(at["service_3"]), *trap(at, CALL, ON_A, ON_A),
        i(at["driver_4"]), mark(1, 9),
    ]  # fmt: skip
    tick, switch = find(resolved, rows)
    assert (tick.service.name, tick.exception) == ("tick", TIMER)
    assert (switch.service.name, switch.exception) == ("switch", CALL)
    expected = [("trap", MASKED), *((f"trap_{n}", MASKED) for n in range(2, 12))]
    assert shown(tick, at) == shown(switch, at) == expected
    assert all(piece.blocking.preemption for piece in tick.pieces)


def test_the_hardware_touches_no_memory(resolved: Resolved, at: Labels) -> None:
    """Counted by hand: trap, trap_3 and trap_4 store; trap_5 to trap_8 and trap_10 load."""
    rows = [
        i(at["boot"]), i(at["driver"]), mark(0, 8), i(at["driver_2"]), *trap(at, TIMER, ON_A, ON_A),
        i(at["driver_4"]), mark(1, 8),
    ]  # fmt: skip
    (tick,) = find(resolved, rows)
    labeller = Labeller(resolved, "hand")
    counts: dict[str, int] = {}
    for packed in labeller.label(tick).packed.tolist():
        key = str(key_of(unpack(packed)[1], resolved.section_names))
        counts[key] = counts.get(key, 0) + 1
    data = {key: n for key, n in counts.items() if "read" in key or "write" in key}
    assert data == {
        "stack write 32 single": 2,  # t0, mstatus
        "data write 32 single": 1,  # sp
        "data read 32 single": 3,  # the handler's stack, the current block, its sp
        "stack read 32 single": 2,
    }
    assert counts["? exception entry"] == counts[".text exception exit"] == 1


@pytest.mark.parametrize(
    ("exceptions", "event"),
    [((), "exception"), ((CALL,), "supervisor call"), ((CALL, TIMER), "exception")],
)
def test_how_a_handler_is_entered(
    exceptions: tuple[int, ...], event: str, resolved: Resolved, at: Labels
) -> None:
    """By a supervisor call alone, or otherwise as well."""
    services = tuple(
        replace(one, exceptions=exceptions) if one.kind is ServiceKind.HANDLER else one
        for one in resolved.services.services
    )
    told = replace(resolved.services, services=services)
    again = resolve(told, resolved.image, resolved.table)
    rows = [
        i(at["boot"]), i(at["driver"]), mark(0, 8), i(at["driver_2"]), *trap(at, CALL, ON_A, ON_A),
        i(at["driver_4"]), mark(1, 8),
    ]  # fmt: skip
    (switch,) = find(again, rows)
    keys = [
        str(key_of(unpack(packed)[1], again.section_names))
        for packed in Labeller(again, "hand").label(switch).packed.tolist()
    ]
    assert [key for key in keys if key.endswith(" entry")] == [f"? {event} entry"]


def test_what_a_call_begins_behind(resolved: Resolved, at: Labels) -> None:
    """The call; not so what goes on behind a switch, nor a handler, nor what is fallen into."""
    rows = [i(at["boot"]), *service(at)]
    (called,) = find(resolved, rows)
    assert called.is_called
    fallen = rows.index(i(at["driver_call"]))
    (reached,) = find(resolved, [*rows[: fallen + 1], i(at["other_3"]), *rows[fallen + 1 :]])
    assert not reached.is_called


def test_a_stack_pointer_that_the_handler_itself_put_away(resolved: Resolved, at: Labels) -> None:
    """On a stack of the handler's own, as a copy: that is no switch."""
    borrow: list[Row] = [
        (Event.EXCEPTION, TIMER, 0), i(at["borrow"]), i(at["borrow_2"]), w(DATA + 0x300),
        i(at["borrow_3"]), (Event.READ, DATA + 0x300, 4), i(at["borrow_4"]),
        (Event.EXCEPTION_EXIT, TIMER, 0),
    ]  # fmt: skip
    rows = [i(at["boot"]), *begin(at), *borrow, *run(at, "service_2", "service_3")]
    (window,) = find(resolved, [*rows, *trap(at, CALL, ON_A, ON_A), *rest(at)])
    assert shown(window, at) == WHOLE
    assert not window.switched


def test_a_stack_pointer_that_a_function_puts_away_meanwhile(
    resolved: Resolved, at: Labels
) -> None:
    """A handler calls a function with an array of variable length, which puts the stack pointer
    away and takes it back. That is no thread's: neither is a thread found there that was
    interrupted earlier, nor does it displace one."""
    own, array = DATA + 0x300, DATA + 0x340
    spill: list[Row] = [
        (Event.EXCEPTION, TIMER, 0), i(at["spill"]), i(at["spill_2"]), w(own),
        i(at["spill_3"]), w(array), i(at["spill_4"]), i(at["spill_5"]), r(array),
        i(at["spill_6"]), r(own), i(at["spill_7"]), (Event.EXCEPTION_EXIT, TIMER, 0),
    ]  # fmt: skip
    switched = [
        *spill, *trap(at, CALL, ON_A, ON_B), i(at["other"]), *spill, i(at["other_2"]), *spill,
        *trap(at, CALL, ON_B, ON_A), *spill,
    ]  # fmt: skip
    rows = [i(at["boot"]), *service(at, *switched)]
    for size in (1, 3, 64):
        (window,) = find(resolved, rows, size)
        assert shown(window, at) == WHOLE
        assert window.yields == 1


def test_without_exceptions_nothing_is_known_behind_mret(resolved: Resolved, at: Labels) -> None:
    """The entry, which changed both fields, was not seen."""
    unseen = [row for row in trap(at, CALL, ON_A, ON_A) if row[0] < Event.EXCEPTION]
    calm = [
        *begin(at, "calm"), i(at["calm_2"]), i(at["calm_3"]), (Event.READ, STACK_A + 12, 4),
        i(at["calm_4"]), *end(at),
    ]  # fmt: skip
    rows = [i(at["boot"]), i(at["service_3"]), *unseen, *calm]
    (window,) = find(resolved, rows, has_exceptions=False)
    assert {state for _, state in shown(window, at)} == {UNKNOWN}
    inside = [*begin(at, "calm"), *unseen, i(at["calm_2"])]
    with pytest.raises(InputError, match="an exception handler, trap"):
        find(resolved, [i(at["boot"]), *inside], has_exceptions=False)


def test_a_gap_forgets_what_was_put_away(resolved: Resolved, at: Labels) -> None:
    gap: Row = (Event.GAP, 10, 0)
    switched = [*trap(at, CALL, ON_A, ON_B), *run(at, "other"), gap, i(at["other_2"])]
    back = trap(at, CALL, ON_B, ON_A)
    (window,) = find(resolved, [i(at["boot"]), *service(at, *switched, *back)])
    assert dict(shown(window, at))["service_4"] == UNKNOWN


def test_the_hardware_sections_are_only_needed_where_it_touches_them(
    assemble: Callable[..., Path],
) -> None:
    image, table = load(assemble(listing.SOURCE, listing.SCRIPT))
    with pytest.raises(InputError, match="`hardware: task stack` is missing"):
        resolve(replace(listing.SERVICES, task_stack=None), image, table)
