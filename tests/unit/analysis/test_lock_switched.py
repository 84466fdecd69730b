"""A scheduler lock is over where another thread goes on; by traces written by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from listing import (
    FUNCTION,
    PARAMETER,
    SCRIPT,
    SERVICES,
    STACK,
    HandTrace,
    Row,
    i,
    load,
    mark,
    r,
    sections,
    w,
)
from test_windows_threads import ONE, TWO, Labels, begin, end, exception, find, steps, switched

from wcetchar.analysis.characterize import characterize
from wcetchar.analysis.resolve import resolve
from wcetchar.model.characterization import BlockingStretch, Joint, StretchKind
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import ServiceKind
from wcetchar.report.longest import longest_stretches

Loaded = tuple[Image, InstructionTable]

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
service_2: bl lock
service_3: bl unlock
service_4: pop {r4, pc}
.size service, .-service
function lock
  bx lr
.size lock, .-lock
function unlock
  movs r1, #64
unlock_2: msr basepri, r1
unlock_3: nop
unlock_4: movs r1, #0
unlock_5: msr basepri, r1
unlock_6: bx lr
.size unlock, .-unlock
function tick
  bx lr
.size tick, .-tick
function svc
  bx lr
.size svc, .-svc
function switch
  stmdb r0!, {r4-r11}
switch_2: ldmia.w r1!, {r4-r11}
switch_3: bx lr
.size switch, .-switch
"""
)
"""``unlock`` lets a switch in that was held off with its last ``msr``, as kernels do that unlock
the scheduler in a critical section."""

LOCKED = ("lock", "service_3", "unlock", "unlock_2", "unlock_3", "unlock_4", "unlock_5")
"""Counted by hand: what is executed from the lock on until the switch is taken."""


@pytest.fixture
def loaded(assemble: Callable[..., Path]) -> Loaded:
    return load(assemble(SOURCE, SCRIPT))


@pytest.fixture
def at(loaded: Loaded) -> Labels:
    return {s.name: s.address for s in loaded[0].symbols}


def a_call(at: Labels, *meanwhile: Row) -> list[Row]:
    """The service, with what runs right behind the last ``msr``."""
    return [
        *begin(at), i(at["service"]), w(STACK - 8), w(STACK - 4),
        *(i(at[name]) for name in ("service_2", *LOCKED)), *meanwhile,
        i(at["unlock_6"]), i(at["service_4"]), r(STACK - 8), r(STACK - 4), *end(at),
    ]  # fmt: skip


def of_kind(found: tuple[BlockingStretch, ...], kind: StretchKind) -> list[tuple[int, set[Joint]]]:
    """(instructions, joints that it goes on in) of each stretch."""
    return [
        (sum(row.vector.instructions for row in s.counts.rows), set(s.goes_on_in or ()))
        for s in found
        if s.kind is kind
    ]


def test_the_lock_ends_with_the_switch(loaded: Loaded, at: Labels) -> None:
    """No thread goes on with a lock that let the switch happen: the stretch is whole."""
    service = replace(SERVICES.services[0], kind=ServiceKind.BLOCKING_CALL, parameters=())
    away = [*switched(at, ONE, TWO), i(at["tick"]), *switched(at, TWO, ONE)]
    trace = HandTrace([row for row in a_call(at, *away) if row != mark(PARAMETER, 5)])
    found = characterize([trace], *loaded, replace(SERVICES, services=(service,)), tool="test")
    call, resume = found.services
    assert of_kind(call.stretches, StretchKind.PREEMPTION) == [(len(LOCKED), set())]
    # The one msr raises the mask behind itself, the other one lets in behind itself.
    assert of_kind(call.stretches, StretchKind.INTERRUPTS) == [(3, set())]
    assert resume.stretches == ()
    assert not any("held off" in note for note in call.notes + resume.notes)
    (longest,) = longest_stretches(found, StretchKind.PREEMPTION)
    assert (longest.whole, longest.not_bounded) == (len(LOCKED), ())
    assert (longest.begin.function, longest.end.offset) == ("lock", 10)


def test_the_lock_lasts_over_a_handler_that_comes_back(loaded: Loaded, at: Labels) -> None:
    """A tick, and a switch that goes on with the same thread: locked until ``unlock`` returns."""
    resolved = resolve(SERVICES, *loaded)
    same = [*exception(15, i(at["tick"])), *switched(at, ONE, ONE)]
    (window,), _ = find(resolved, a_call(at, *same))
    held = [address for address, blocking in steps(window) if blocking.holds_preemption]
    assert held == [at[name] for name in (*LOCKED, "unlock_6")]
    assert not window.end.blocking.holds_preemption


@pytest.mark.parametrize("unlocks", [True, False])
def test_whether_a_call_leaves_its_lock_open(assemble: Callable[..., Path], unlocks: bool) -> None:
    """Its last instruction is the return of ``unlock``, with which it ends, or of ``lock``."""
    function = "unlock" if unlocks else "lock"
    tail = f"service_3: pop.w {{r4, lr}}\nservice_4: b.n {function}\n"
    old = SOURCE[SOURCE.index("service_3:") : SOURCE.index(".size service")]
    loaded = load(assemble(SOURCE.replace(old, tail), SCRIPT))
    at = {s.name: s.address for s in loaded[0].symbols}
    last = ["unlock", *(f"unlock_{n}" for n in range(2, 7))] if unlocks else ["lock"]
    rows = [
        *begin(at), i(at["service"]), w(STACK - 8), w(STACK - 4),
        i(at["service_2"]), i(at["lock"]),
        i(at["service_3"]), r(STACK - 8), r(STACK - 4), i(at["service_4"]),
        *(i(at[name]) for name in last), *end(at),
    ]  # fmt: skip
    alone = replace(SERVICES, services=SERVICES.services[:1])
    (one,) = characterize([HandTrace(rows)], *loaded, alone, tool="test").services
    assert any("returns with" in note for note in one.notes) is not unlocks
