"""Exception entries and returns: against QEMU's own log, the vector table and the control flow."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

from wcetchar.model.trace import Event

HANDLERS = {3: "hard", 11: "svc", 14: "pendsv", 15: "systick", 16: "irq0"}

# SysTick preempts SVC, which preempts PendSV; the interrupt preempts all. Main and SysTick pend
# PendSV; main also calls the PendSV handler like a function.
NESTED = """
 function reset
 ldr r0, =0xE000ED1C
 ldr r1, =0x80000000
 str r1, [r0]                @ SVC: 0x80
 ldr r1, =0x40E00000
 str r1, [r0, #4]            @ SysTick 0x40, PendSV 0xE0
 ldr r0, =0xE000E100
 movs r1, #1
 str r1, [r0]                @ interrupt 0 on
 ldr r0, =0xE000E010
 movs r1, #136
 str r1, [r0, #4]
 movs r1, #7
 str r1, [r0]
 ldr r7, =400
 ldr r4, =0x20000000
main_loop:
 svc 1
 bl pendsv
 ldr r0, =0xE000ED04
 ldr r1, =0x10000000
main_pend: str r1, [r0]
 ldr r2, [r4]
 adds r2, #1
 str r2, [r4]
 tst r2, #3
 it eq
 addeq r3, #1
 tst r2, #15
 bne no_irq
 ldr r0, =0xE000E200
 movs r1, #1
 str r1, [r0]                @ pend interrupt 0
no_irq:
 cpsid i
 ldr r2, [r4, #4]
 adds r2, #1
 str r2, [r4, #4]
 cpsie i
 subs r7, #1
 bne main_loop
 ldr r0, =0xE000E010
 movs r1, #0
 str r1, [r0]
 b finish
 function svc
 push {r4, lr}
 movs r0, #30
svc_loop:
 subs r0, #1
 bne svc_loop
 pop {r4, pc}
 function pendsv
 movs r0, #20
pendsv_loop:
 subs r0, #1
 bne pendsv_loop
 bx lr
 function systick
 ldr r0, =0xE000ED04
 ldr r1, =0x10000000
 str r1, [r0]
 bx lr
 function irq0
 movs r0, #9
irq_loop:
 subs r0, #1
 bne irq_loop
 bx lr
"""


def logged(qemu: str, elf: str, log: str) -> list[tuple[str, int]]:
    """Entries and exits as QEMU itself tells them, in a run without the plugin."""
    subprocess.run(
        [
            *(qemu, "-M", "mps2-an385", "-nodefaults", "-nic", "none", "-display", "none"),
            *("-icount", "shift=5,sleep=off", "-semihosting-config", "enable=on,arg=f"),
            *("-d", "int", "-D", log, "-kernel", elf),
        ],
        check=True,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
    )
    found = []
    for line in Path(log).read_text().splitlines():
        if match := re.match(r"\.\.\.taking pending nonsecure exception (\d+)$", line):
            found.append(("EXCEPTION", int(match[1])))
        elif match := re.match(r"Exception return: .* previous exception (\d+)$", line):
            found.append(("EXCEPTION_EXIT", int(match[1])))
    return found


def check_flow(trace, firmware) -> None:
    """Every handler starts at its vector, and every return resumes where it was interrupted."""
    follows: dict[int, set[int]] = {}
    events = [e for e in trace.events if e[0] not in (Event.READ, Event.WRITE)]
    for (kind, address, size), after in pairwise(events):
        if kind is Event.INSTRUCTION:
            successors = follows.setdefault(address, {address + size})
            if after[0] is Event.INSTRUCTION:
                successors.add(after[1])
    # Where execution may go on: of the newest instruction, and of each that was interrupted.
    allowed: set[int] = {firmware["reset"]}
    interrupted: list[set[int]] = []
    for kind, address, _ in events:
        if kind is Event.EXCEPTION:
            # Right after a return (tail-chaining) or after another entry, before its handler has
            # executed anything, `allowed` still says where that one goes on.
            interrupted.append(allowed)
            allowed = {firmware[HANDLERS[address]]}
        elif kind is Event.EXCEPTION_EXIT:
            allowed = interrupted.pop()
        else:
            assert address in allowed, hex(address)
            allowed = follows.get(address, set())  # nothing follows the last one
    assert not interrupted


def exceptions_of(trace) -> list[tuple[str, int]]:
    wanted = (Event.EXCEPTION, Event.EXCEPTION_EXIT)
    return [(kind.name, number) for kind, number, _ in trace.events if kind in wanted]


def test_same_exceptions_in_the_same_order_as_qemu_logs(capture, assemble, qemu, tmp_path):
    firmware, trace = assemble(NESTED), capture(NESTED)
    expected = logged(qemu, str(firmware.path), str(tmp_path / "int.log"))
    assert exceptions_of(trace) == expected
    assert {number for _, number in expected} == {11, 14, 15, 16}
    entries = sum(kind == "EXCEPTION" for kind, _ in expected)
    assert trace.result.exceptions == entries == len(expected) / 2


def test_nesting_tail_chaining_and_direct_calls(capture, assemble):
    firmware, trace = assemble(NESTED), capture(NESTED)
    check_flow(trace, firmware)
    found = exceptions_of(trace)
    pairs = list(pairwise(found))
    assert (("EXCEPTION", 14), ("EXCEPTION", 15)) in pairs  # nested
    kinds = [k for k, _, _ in trace.events]
    chained = [
        i
        for i in range(len(kinds) - 1)
        if kinds[i] is Event.EXCEPTION_EXIT and kinds[i + 1] is Event.EXCEPTION
    ]
    assert chained
    # A handler that is called like a function is no exception: 400 calls from the main loop.
    begun = sum(pc == firmware["pendsv"] for pc in trace.pcs())
    assert begun - 400 == found.count(("EXCEPTION", 14))
    assert found.count(("EXCEPTION", 11)) == 400
    assert found.count(("EXCEPTION", 16)) == 400 // 16
    # Instructions of the main loop, by hand: each exactly as often as the loop counts.
    for label in ("main_loop", "main_pend", "no_irq"):
        assert sum(pc == firmware[label] for pc in trace.pcs()) == 400


FAULT = """
 function reset
 ldr r4, =0xA0000000
bad_load: ldr r0, [r4]
 ldr r5, =0x20000000
bad_code: udf #7
back:
 b finish
 function hard
 ldr r0, [sp, #24]
 adds r0, #2
 str r0, [sp, #24]
 bx lr
"""


def test_faults_are_exceptions_of_the_instruction_that_made_them(capture, assemble):
    firmware, trace = assemble(FAULT), capture(FAULT)
    assert exceptions_of(trace) == [("EXCEPTION", 3), ("EXCEPTION_EXIT", 3)] * 2
    hard = [firmware["hard"] + offset for offset in (0, 2, 4, 6)]
    reset = firmware["reset"]
    assert trace.pcs()[:14] == [
        *(reset, firmware["bad_load"], *hard),
        *(firmware["bad_load"] + 2, firmware["bad_code"], *hard),
        *(firmware["back"], firmware["finish"]),
    ]
    assert trace.accesses_of(firmware["bad_load"]) == [[]]  # it had no effect


SLEEP = """
 function reset
 ldr r0, =0xE000E010
 ldr r1, =99999
 str r1, [r0, #4]
 movs r1, #7
 str r1, [r0]
 movs r7, #50
again: wfi
 subs r7, #1
 bne again
 movs r1, #0
 str r1, [r0]
 b finish
 function systick
 bx lr
"""


def test_sleep_takes_no_instructions(capture, assemble):
    firmware, trace = assemble(SLEEP), capture(SLEEP)
    assert trace.result.exceptions == 50
    assert sum(pc == firmware["again"] for pc in trace.pcs()) == 50
    assert trace.result.instructions == 6 + 3 * 50 + 50 + 3 + 3
