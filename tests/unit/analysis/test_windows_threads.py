"""Threads, exceptions, locks and returns that a trace shows only indirectly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from listing import (
    BEGIN,
    END,
    FUNCTION,
    MARK,
    PARAMETER,
    SCRIPT,
    SERVICES,
    STACK,
    TABLE,
    Row,
    batches,
    i,
    load,
    mark,
    r,
    sections,
    w,
)

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.errors import InputError
from wcetchar.model.characterization import Blocking
from wcetchar.model.service import SchedulerLock
from wcetchar.model.trace import Event

SOURCE = (
    """
.section .vectors,"a"
  .word 0x20021000, start+1, 0, 0, 0, 0, 0, 0, 0, 0, 0, svc+1, 0, 0, switch+1, tick+1
"""
    + sections()
    + FUNCTION
    + """
function start
  strb r0, [r4]
start_2: strb r0, [r5]
start_call: bl service
start_4: strb r0, [r6]
start_5: b.n start
.size start, .-start
function service
  push {r4, lr}
service_2: blx r3
service_3: nop
service_4: pop {r4, pc}
.size service, .-service
function lock
  bx lr
.size lock, .-lock
function unlock
  nop
unlock_2: bx lr
.size unlock, .-unlock
function tick
  ldm r1, {r0, r2, r3}
tick_2: stm r5!, {r0, r2, r3}
tick_3: bx lr
.size tick, .-tick
function svc
  ldmia.w r0!, {r4-r11}
svc_2: bx lr
.size svc, .-svc
function switch
  stmdb r0!, {r4-r11}
switch_2: ldmia.w r1!, {r4-r11}
switch_3: bx lr
.size switch, .-switch
function copied
  push {r3, lr}
copied_2: str r0, [r2]
copied_3: pop {r3, pc}
.size copied, .-copied
function task
  bl task_ends
.size task, .-task
.global behind
.type behind,%function
behind: bx r2
.size behind, .-behind
function task_ends
  bx r3
.size task_ends, .-task_ends
function again
  push {r4, lr}
again_2: strb r0, [r5]
again_3: ldr.w pc, [r1]
again_4: bl again
again_5: strb r0, [r6]
again_6: pop {r4, pc}
.size again, .-again
"""
)

Labels = dict[str, int]
ONE, TWO = STACK - 64, STACK - 512


@pytest.fixture
def resolved(assemble: Callable[..., Path]) -> Resolved:
    image, table = load(assemble(SOURCE, SCRIPT))
    tick, *_ = [s for s in SERVICES.services if s.name == "tick"]
    service = SERVICES.services[0]
    again = replace(service, name="again", mark=9, entries=("again",), parameters=())
    return resolve(replace(SERVICES, services=(service, tick, again)), image, table)


@pytest.fixture
def at(resolved: Resolved) -> Labels:
    return {s.name: s.address for s in resolved.image.symbols}


def find(
    resolved: Resolved, rows: list[Row], size: int = 64, *, has_exceptions: bool = True
) -> tuple[list[Window], WindowFinder]:
    finder = WindowFinder(resolved, "hand", has_exceptions=has_exceptions)
    return list(find_windows(batches(rows, size), finder)), finder


def steps(window: Window) -> list[tuple[int, Blocking]]:
    return [
        (address, piece.blocking)
        for piece in window.pieces
        for kind, address in zip(piece.kind.tolist(), piece.address.tolist(), strict=True)
        if kind == Event.INSTRUCTION
    ]


def pcs(window: Window) -> list[int]:
    return [address for address, _ in steps(window)]


def begin(at: Labels, value: int = 5) -> list[Row]:
    return [
        i(at["start"]), mark(PARAMETER, value), i(at["start_2"]), mark(BEGIN, 7),
        i(at["start_call"]),
    ]  # fmt: skip


def enter(at: Labels) -> list[Row]:
    return [i(at["service"]), w(STACK - 8), w(STACK - 4), i(at["service_2"])]


def leave(at: Labels) -> list[Row]:
    return [i(at["service_3"]), i(at["service_4"]), r(STACK - 8), r(STACK - 4)]


def end(at: Labels) -> list[Row]:
    return [i(at["start_4"]), mark(END, 7), i(at["start_5"])]


def call(at: Labels, callee: list[Row], value: int = 5) -> list[Row]:
    return begin(at, value) + enter(at) + callee + leave(at) + end(at)


def exception(number: int, *rows: Row) -> list[Row]:
    return [(Event.EXCEPTION, number, 0), *rows, (Event.EXCEPTION_EXIT, number, 0)]


def switched(at: Labels, saved: int, restored: int) -> list[Row]:
    return exception(
        14,
        i(at["switch"]),
        *(w(saved + 4 * k) for k in range(8)),
        i(at["switch_2"]),
        *(r(restored + 4 * k) for k in range(8)),
        i(at["switch_3"]),
    )


def copying_tick(at: Labels) -> list[Row]:
    return exception(
        15,
        i(at["tick"]),
        *(r(TABLE + 4 * k) for k in range(3)),
        i(at["tick_2"]),
        *(w(TABLE + 32 + 4 * k) for k in range(3)),
        i(at["tick_3"]),
    )


@pytest.mark.parametrize("size", [1, 3, 64])
def test_a_structure_copied_in_a_handler_is_no_switch(
    resolved: Resolved, at: Labels, size: int
) -> None:
    locking = [i(at["lock"]), *copying_tick(at)]
    (window,), _ = find(resolved, call(at, locking), size)
    assert not window.switched
    assert pcs(window) == [
        at[x] for x in ("service", "service_2", "lock", "service_3", "service_4")
    ]
    assert [b.preemption for _, b in steps(window)] == [False, False, True, True, True]


def test_a_thread_in_the_memory_of_a_deleted_one(resolved: Resolved, at: Labels) -> None:
    """B was switched away at ``copied`` and is deleted; C gets its stack, and with it a first frame
    at the very same address. What B left behind is no part of C."""
    rows = [
        i(at["start"]), *switched(at, ONE, TWO), i(at["copied"]), w(STACK), w(STACK + 4),
        i(at["copied_2"]), w(TABLE), *switched(at, TWO, ONE), i(at["start"]),
        # B is gone; C begins where tasks begin
        *switched(at, ONE, TWO), *call(at, [i(at["lock"])]),
    ]  # fmt: skip
    (window,), finder = find(resolved, rows)
    assert len(pcs(window)) == 5
    assert finder.unattributed.total() + finder.attributed.total() == finder.traced


@pytest.mark.parametrize("written", [TWO, TWO + 28, TWO - 2, TWO - 4, TWO + 32])
@pytest.mark.parametrize("size", [1, 4, 500])
def test_a_thread_whose_registers_were_written_over_is_gone(
    resolved: Resolved, at: Labels, written: int, size: int
) -> None:
    """Even where a new thread could begin behind the old one's last instruction."""
    rows = [
        *begin(at), *enter(at), *switched(at, TWO, ONE), i(at["copied_2"]), w(written),
        *switched(at, ONE, TWO), i(at["lock"]), *leave(at), *end(at),
    ]  # fmt: skip
    if written + 4 > TWO and written < TWO + 32:
        with pytest.raises(InputError, match="does not go on"):
            find(resolved, rows, size)
    else:
        (window,), _ = find(resolved, rows, size)
        assert window.switched
        assert len(pcs(window)) == 5


def test_a_deleted_thread_must_not_be_in_a_window(resolved: Resolved, at: Labels) -> None:
    rows = [
        *begin(at), *enter(at), i(at["copied"]), w(STACK), w(STACK + 4), i(at["copied_2"]),
        w(TABLE), *switched(at, TWO, ONE), *switched(at, ONE, TWO), i(at["start"]),
    ]  # fmt: skip
    with pytest.raises(InputError, match="inside service does not go on"):
        find(resolved, rows)


def test_parameters_belong_to_a_thread(resolved: Resolved, at: Labels) -> None:
    """A is switched away between its parameter and its begin mark."""
    first, *rest = begin(at, 3)[1:]
    rows = [
        i(at["start"]), first, *switched(at, ONE, TWO), *call(at, [i(at["lock"])], 9),
        *switched(at, TWO, ONE), *rest, *enter(at), i(at["lock"]), *leave(at), *end(at),
    ]  # fmt: skip
    found, _ = find(resolved, rows)
    assert [f.values for f in found] == [(9,), (3,)]


def test_parameters_are_those_of_one_begin_mark(resolved: Resolved, at: Labels) -> None:
    """The thread that is switched to leaves the end mark of the switch; what was marked before it
    is no parameter of what the first thread begins next."""
    service, tick, again = resolved.services.services
    switch = replace(tick, name="switch", mark=11, entries=("switch",), exceptions=())
    switch = replace(switch, parameters=service.parameters)
    services = replace(resolved.services, services=(service, tick, again, switch))
    with_switch = resolve(services, resolved.image, resolved.table)
    rows = [
        i(at["start"]), mark(PARAMETER, 3), i(at["start_2"]), mark(BEGIN, 11),
        *switched(at, ONE, TWO), i(at["start_4"]), mark(END, 11), *switched(at, TWO, ONE),
        i(at["start_2"]),
    ]  # fmt: skip
    (window,), _ = find(with_switch, rows)
    assert (window.service.name, window.values) == ("switch", (3,))
    with pytest.raises(InputError, match="service begins, but parameter N was not marked"):
        find(with_switch, [*rows, mark(BEGIN, 7)])


def test_the_first_thread_is_started_by_a_handler(resolved: Resolved, at: Labels) -> None:
    restore = [i(at["svc"]), *(r(ONE + 4 * k) for k in range(8)), i(at["svc_2"])]
    rows = [i(at["copied_2"]), w(TABLE), *exception(11, *restore), *call(at, [i(at["lock"])])]
    (window,), _ = find(resolved, rows)
    assert len(pcs(window)) == 5


def test_an_exception_comes_before_another_executed_anything(
    resolved: Resolved, at: Labels
) -> None:
    """``tick`` is preempted at once; its own window begins afterwards, and a third exception
    interrupts that."""
    inner = exception(16, i(at["copied"]), w(STACK), w(STACK), i(at["copied_3"]), r(STACK), r(0))
    tick = copying_tick(at)
    rows = [
        i(at["start"]), mark(BEGIN, 8), tick[0], *inner, *tick[1:5], *inner, *tick[5:],
        *tick,  # tail-chained
        i(at["start_2"]), mark(END, 8),
    ]  # fmt: skip
    found, finder = find(resolved, rows)
    assert [pcs(window) for window in found] == [[at["tick"], at["tick_2"], at["tick_3"]]] * 2
    assert finder.unattributed["exception 16"] == 4


def test_exceptions_nest(resolved: Resolved, at: Labels) -> None:
    rows = [
        i(at["start"]),
        (Event.EXCEPTION, 15, 0),
        i(at["tick_3"]),
        (Event.EXCEPTION_EXIT, 14, 0),
    ]
    with pytest.raises(InputError, match="exception 14 returns, but exception 15"):
        find(resolved, rows)


def test_a_handler_that_was_never_entered_cannot_end_a_window(
    resolved: Resolved, at: Labels
) -> None:
    with pytest.raises(InputError, match="returned inside service"):
        find(resolved, [*begin(at), *enter(at), (Event.EXCEPTION_EXIT, 15, 0)])


# ---- locks -------------------------------------------------------------------------------------


def test_an_unlock_whose_lock_was_not_seen(resolved: Resolved, at: Labels) -> None:
    """What it unlocks was locked until it returns."""
    (window,), _ = find(resolved, call(at, [i(at["unlock"]), i(at["unlock_2"])]))
    assert [b.preemption for _, b in steps(window)] == [False, False, True, True, False, False]


def test_a_lock_within_a_lock(resolved: Resolved, at: Labels) -> None:
    lock, unlock = [i(at["lock"])], [i(at["unlock"]), i(at["unlock_2"])]
    rows = [
        i(at["start_call"]), *lock, i(at["start_4"]), *call(at, lock), *call(at, unlock),
        *call(at, unlock), *call(at, [i(at["tick_3"])]),
    ]  # fmt: skip
    found, _ = find(resolved, rows)
    held = [[b.preemption for _, b in steps(window)] for window in found]
    assert held == [[True] * 5, [True] * 6, [True] * 4 + [False] * 2, [False] * 5]


def test_a_thread_that_is_switched_away_when_it_is_about_to_lock(
    resolved: Resolved, at: Labels
) -> None:
    """It has not locked the scheduler for the other one, and has when it goes on."""
    away = [*switched(at, ONE, TWO), *call(at, [i(at["tick_3"])], 6), *switched(at, TWO, ONE)]
    unlock = call(at, [i(at["unlock"]), i(at["unlock_2"])])
    found, _ = find(resolved, [*call(at, [i(at["lock"]), *away]), *unlock])
    held = [[b.preemption for _, b in steps(window)] for window in found]
    assert held == [[False] * 5, [False] * 2 + [True] * 3, [True] * 4 + [False] * 2]


# ---- calls and returns ---------------------------------------------------------------------------


def test_nothing_returns_behind_a_call_that_ends_a_function(resolved: Resolved, at: Labels) -> None:
    """``task`` ends with a call, and ``behind`` follows. A jump to ``behind`` is no return: the
    window of the service that ``task`` called is not over."""
    inside = [i(at["task_ends"]), i(at["service"]), w(STACK - 8), w(STACK - 4), i(at["service_2"])]
    rows = [
        i(at["start"]), mark(PARAMETER, 5), i(at["start_2"]), mark(BEGIN, 7), i(at["task"]),
        *inside, i(at["task_ends"]), i(at["behind"]), *leave(at), i(at["behind"]), mark(END, 7),
    ]  # fmt: skip
    with pytest.raises(InputError, match="before it returned"):
        find(resolved, rows)


def test_a_switch_by_table_is_no_return(resolved: Resolved, at: Labels) -> None:
    """``again`` calls itself; the inner call is marked, and its switch goes to the very address
    that it will return to."""
    inner = [
        i(at["again"]), w(STACK - 16), w(STACK - 12), i(at["again_2"]), w(TABLE), i(at["again_3"]),
        r(TABLE), i(at["again_5"]), w(TABLE), i(at["again_6"]), r(STACK - 16), r(STACK - 12),
    ]  # fmt: skip
    rows = [
        i(at["start_call"]), i(at["again"]), w(STACK - 8), w(STACK - 4), i(at["again_2"]),
        mark(BEGIN, 9), i(at["again_3"]), r(TABLE), i(at["again_4"]), *inner,
        i(at["again_5"]), mark(END, 9), i(at["again_6"]), r(STACK - 8), r(STACK - 4),
        i(at["start_4"]),
    ]  # fmt: skip
    (window,), _ = find(resolved, rows)
    assert pcs(window) == [at[f"again{x}"] for x in ("", "_2", "_3", "_5", "_6")]


# ---- what the trace does not show ----------------------------------------------------------------


@pytest.mark.parametrize("at_row", [5, 8, 10])
def test_an_interrupt_in_a_window_of_a_trace_without_exceptions(
    resolved: Resolved, at: Labels, at_row: int
) -> None:
    """It may come where any successor is possible, behind an indirect jump say."""
    rows = call(at, [i(at["lock"])])
    while rows[at_row][0] != Event.INSTRUCTION:
        at_row += 1
    rows[at_row:at_row] = copying_tick(at)[1:-1]
    if at_row == 5:  # between the call and the service's first instruction
        found, _ = find(resolved, rows, has_exceptions=False)
        assert len(pcs(found[0])) == 5
        return
    with pytest.raises(InputError, match="an exception handler, tick"):
        find(resolved, rows, has_exceptions=False)


def test_a_service_of_a_handler_in_a_trace_without_exceptions(
    resolved: Resolved, at: Labels
) -> None:
    rows = [i(at["copied_2"]), w(TABLE), i(at["tick"]), *call(at, [i(at["lock"])])]
    with pytest.raises(InputError, match="called by an exception handler"):
        find(resolved, rows, has_exceptions=False)


def test_a_block_that_the_emulator_lost_is_a_gap(resolved: Resolved, at: Labels) -> None:
    lost = [i(at["start_call"]), (Event.UNDECODED, 0, 0), i(at["copied_2"]), w(TABLE)]
    found, finder = find(resolved, lost + call(at, [i(at["lock"])]))
    assert len(found) == 1
    assert finder.undecoded == 1
    with pytest.raises(InputError, match="unknown instruction"):
        find(resolved, [*begin(at), *enter(at), (Event.UNDECODED, 0, 0)])


def test_a_channel_without_meaning(resolved: Resolved, at: Labels) -> None:
    changed = replace(resolved.services.marks, first_parameter=3)
    odd = replace(resolved, services=replace(resolved.services, marks=changed))
    with pytest.raises(InputError, match="channel 2, which has no meaning"):
        find(odd, [i(at["start"]), w(MARK + 2 * 256, 1)])


def test_no_scheduler_lock_is_needed(resolved: Resolved, at: Labels) -> None:
    assert isinstance(resolved.services.scheduler_lock, SchedulerLock)
    without = replace(resolved, lock=frozenset(), unlock=frozenset())
    (window,), _ = find(without, call(at, [i(at["lock"])]))
    assert not any(b.preemption for _, b in steps(window))


# ---- what no services file declares --------------------------------------------------------------


def test_a_parameter_that_the_services_file_does_not_have(resolved: Resolved, at: Labels) -> None:
    rows = [i(at["start"]), mark(PARAMETER + 1, 3), *call(at, [i(at["lock"])])]
    with pytest.raises(InputError, match="service begins with a parameter 2, of value 3"):
        find(resolved, rows)


def test_a_window_without_end(
    resolved: Resolved, at: Labels, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is kept whole until it is counted has a limit."""
    monkeypatch.setattr("wcetchar.analysis.recorder.LONGEST_WINDOW", 5)
    assert len(find(resolved, call(at, [i(at["lock"])]))[0]) == 1
    with pytest.raises(InputError, match="a window of service has more than 5 instructions"):
        find(resolved, call(at, [i(at["unlock"]), i(at["unlock_2"])]))
