"""Armv4T exceptions, returns, states and accesses: against QEMU's own log, and by hand."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from qemu_history import check_nesting, exceptions_of, history, logged

from wcetchar.capture import CaptureFilter
from wcetchar.errors import InputError
from wcetchar.model.service import AddressRange
from wcetchar.model.trace import Event

UNDEFINED, SOFTWARE, PREFETCH, DATA, INTERRUPT, FAST = 1, 2, 3, 4, 6, 7
"""Exceptions by vector (DDI 0100I, A2.6)."""
BUF = 0x100000

PREPARE = """
 .equ TIMER, 0x101e2000
 .equ VIC, 0x10140000
 .macro stack mode, at
 msr cpsr_c, #\\mode | 0xc0
 ldr sp, =\\at
 .endm
 .macro prepare
 stack 0x11, 0x11d000
 stack 0x12, 0x11e000
 stack 0x17, 0x11f000
 stack 0x1b, 0x11f800
 stack 0x13, 0x120000
 ldr r4, =0x100000
 .endm
"""

# Software interrupts and the timer's; its handler makes another interrupt pending, so that its
# return is followed by another entry at once. The handler of swi admits interrupts. The caller
# is in Thumb state by turns, and its calls lie over the ends of QEMU's pages.
NESTED = (
    PREPARE
    + """
 function reset
 prepare
 ldr r1, =VIC
 mov r0, #0x12
 str r0, [r1, #0x10]
 ldr r1, =TIMER
 mov r0, #1
 str r0, [r1]
 mov r0, #0xe2
 str r0, [r1, #8]
 ldr r5, =300
 msr cpsr_c, #0x13
main_loop:
 swi 1
 ldr r0, [r4]
 add r0, r0, #1
 str r0, [r4]
 ldr r0, =in_thumb + 1
 mov lr, pc
 bx r0
 subs r5, r5, #1
 bne main_loop
 b finish
 .pool
 function software
 stmdb sp!, {r0, r1, lr}
 mrs r0, spsr
 tst r5, #1
 ldmiane sp!, {r0, r1, pc}^
 stmdb sp!, {r0}
 msr cpsr_c, #0x13
 mov r0, #20
call_loop:
 subs r0, r0, #1
 bne call_loop
 msr cpsr_c, #0x93
 ldmia sp!, {r0}
 msr spsr_cxsf, r0
 ldmia sp!, {r0, r1, pc}^
 function interrupt
 sub lr, lr, #4
 stmdb sp!, {r0, r1, r2, lr}
 ldr r0, =VIC
 ldr r1, [r0]
 tst r1, #2
 bne was_soft
 mov r2, #2
 str r2, [r0, #0x18]
 ldr r0, =TIMER
 str r1, [r0, #0xc]
 ldmia sp!, {r0, r1, r2, pc}^
was_soft:
 mov r2, #2
 str r2, [r0, #0x1c]
 ldmia sp!, {r0, r1, r2, lr}
interrupt_return: movs pc, lr
 .pool
 .org 0x3f8
 .thumb
 .thumb_func
 function in_thumb
 push {r1, lr}
 movs r1, #3
thumb_loop: nop
at_page_end: bl leaf            @ 0x7fe: its halves lie on two pages
behind: subs r1, #1
 bne thumb_loop
 svc 2
 pop {r1}
 pop {r3}
 bx r3
 .thumb_func
 function leaf
 adds r0, r0, r1
 bl leaf_of_leaf
 mov pc, r2
 .thumb_func
 function leaf_of_leaf
 ldr r2, =behind
 bx lr
 .pool
 .arm
"""
)


BOARD = (
    *("-M", "versatilepb", "-cpu", "ti925t"),
    *("-audiodev", "none,id=none", "-global", "pl041.audiodev=none"),
)
TAKEN = re.compile(r"Taking exception (\d+) \[")
VECTORS = {1: UNDEFINED, 2: SOFTWARE, 3: PREFETCH, 4: DATA, 5: INTERRUPT, 6: FAST}


def taken(match: re.Match[str], block: list[int]) -> tuple[int | None, int | None]:
    return None, VECTORS.get(int(match[1]))


def test_armv4t_instructions_and_exceptions_in_the_order_of_qemus_log(
    armv4t_capture, armv4t_assemble, qemu, tmp_path
):
    firmware, trace = armv4t_assemble(NESTED), armv4t_capture(NESTED)
    log = logged(qemu, BOARD, firmware.path, tmp_path / "qemu.log", "in_asm,exec,nochain,int")
    expected = history(log, TAKEN, taken)
    seen = [
        (kind.name, a)
        for kind, a, _ in trace.events
        if kind in (Event.INSTRUCTION, Event.EXCEPTION)
    ]
    # QEMU executes a call over the end of a page as two instructions, and interrupts come between.
    # Here it is one, told where its second half executes.
    first = firmware["at_page_end"]
    assert first % 1024 == 1022
    halves = [pc for name, pc in expected if name == "INSTRUCTION" and pc in (first, first + 2)]
    assert halves == [first, first + 2] * 900
    assert [(b[0], b[1]) for a, b in pairwise(expected) if a == ("INSTRUCTION", first)] != [
        ("INSTRUCTION", first + 2)
    ] * 900
    joined = [
        ("INSTRUCTION", first) if event == ("INSTRUCTION", first + 2) else event
        for event in expected
        if event != ("INSTRUCTION", first)
    ]
    assert len(seen) > 20_000
    assert seen == joined
    entries = [number for name, number in expected if name == "EXCEPTION"]
    assert set(entries) == {SOFTWARE, INTERRUPT}
    assert entries.count(SOFTWARE) == 600
    assert trace.result.exceptions == len(entries)


def test_armv4t_nesting_and_entries_right_after_a_return(armv4t_capture, armv4t_assemble):
    firmware, trace = armv4t_assemble(NESTED), armv4t_capture(NESTED)
    check_nesting(trace)
    pairs = set(pairwise(exceptions_of(trace)))
    assert (("EXCEPTION", SOFTWARE), ("EXCEPTION", INTERRUPT)) in pairs
    assert (("EXCEPTION_EXIT", INTERRUPT), ("EXCEPTION", INTERRUPT)) in pairs
    kinds = [kind for kind, _, _ in trace.events]
    assert (Event.EXCEPTION_EXIT, Event.EXCEPTION) in pairwise(kinds)
    after_entry = {b[:2] for a, b in pairwise(trace.events) if a[0] is Event.EXCEPTION}
    assert after_entry == {(Event.INSTRUCTION, 4 * SOFTWARE), (Event.INSTRUCTION, 4 * INTERRUPT)}
    sizes = {address: size for kind, address, size in trace.events if kind is Event.INSTRUCTION}
    assert sizes[firmware["at_page_end"]] == 4
    assert sizes[firmware["thumb_loop"]] == sizes[firmware["behind"]] == 2
    assert sizes[firmware["main_loop"]] == 4
    calls = trace.pcs().count(firmware["at_page_end"])
    assert calls == trace.pcs().count(firmware["leaf"]) == 900


def test_armv4t_conditional_returns(armv4t_capture, armv4t_assemble):
    """The conditional one returns in every second pass; else the handler goes on behind it."""
    firmware, trace = armv4t_assemble(NESTED), armv4t_capture(NESTED)
    first = firmware["call_loop"] - 4 * 4
    code = [address for address in trace.pcs() if address == first]
    assert len(code) == 600
    following = [
        [event[:2] for event in trace.events[at + 1 : at + 5]]
        for at, event in enumerate(trace.events)
        if event[:2] == (Event.INSTRUCTION, first)
    ]
    left = sum((Event.EXCEPTION_EXIT, SOFTWARE) in events for events in following)
    went_on = sum(events[0] == (Event.INSTRUCTION, first + 4) for events in following)
    assert (left, went_on) == (300, 300)


def test_armv4t_filters_leave_exceptions_alone(armv4t_capture, armv4t_assemble):
    firmware, full = armv4t_assemble(NESTED), armv4t_capture(NESTED)
    places = [(firmware["software"], 0x100), (firmware["interrupt_return"], 4)]
    for low, size in (*places, (firmware["at_page_end"], 4), (firmware["at_page_end"], 2)):
        end = low + size
        part = armv4t_capture(NESTED, CaptureFilter(exclude=(AddressRange(low, end),)))
        assert exceptions_of(part) == exceptions_of(full)
        assert part.result.filtered > 0
        assert part.result.instructions + part.result.filtered == full.result.instructions
        assert part.result.accesses + part.result.filtered_accesses == full.result.accesses
        kept = [e for e in part.events if e[0] is not Event.GAP]
        wanted, inside = [], False
        for event in full.events:
            if event[0] is Event.INSTRUCTION:
                inside = low <= event[1] < end
            if not (inside and event[0] in (Event.INSTRUCTION, Event.READ, Event.WRITE)):
                wanted.append(event)
        assert kept == wanted


FAULTS = (
    PREPARE
    + """
 function reset
 prepare
 .macro mode_of number        @ no exception: a return is none
 msr spsr_cxsf, #\\number
 adr lr, 1f
 movs pc, lr
1:
 .endm
 mode_of 0xd3
l_undefined: .inst 0xe7f000f0
l_clz: .inst 0xe16f0f11
l_thumb: ldr r0, =thumb + 1
 bx r0
back: ldr r0, =0x2f000000
 ldr r1, =0x101f3800
l_swi: swi 3
 movs r2, #0
l_conditional: movsne pc, lr
 b finish
 .pool
 .thumb
 .thumb_func
thumb:
l_short: udf #0
 ldr r0, =back
 bx r0
 .pool
 .arm
 function software
 movs pc, lr
 function undefined
 stmdb sp!, {r0}
 ldmia sp!, {r0}
 movs pc, lr
 function data
 subs pc, lr, #4
 function prefetch
 subs pc, lr, #4
"""
)


def test_armv4t_faults_by_hand(armv4t_capture, armv4t_assemble):
    firmware, trace = armv4t_assemble(FAULTS), armv4t_capture(FAULTS)
    check_nesting(trace)
    entered = [
        (before[1], event[1])
        for before, event in pairwise(trace.events)
        if event[0] is Event.EXCEPTION
    ]
    assert entered == [
        (firmware["l_undefined"], UNDEFINED),
        (firmware["l_clz"], UNDEFINED),
        (firmware["l_short"], UNDEFINED),
        (firmware["l_swi"], SOFTWARE),
    ]
    pcs = trace.pcs()
    assert pcs[pcs.index(firmware["l_conditional"]) + 1] == firmware["l_conditional"] + 4


ACCESSES = (
    PREPARE
    + """
 function reset
 prepare
 mov r1, r4
 add r2, r4, #0x40
 ldr r3, =0x12345678
l_str: str r3, [r1, #4]
l_strb: strb r3, [r1, #5]
l_strh: strh r3, [r1, #6]
l_ldr: ldr r0, [r1, #4]
l_ldrb: ldrb r0, [r1], #4
l_ldrh: ldrh r0, [r4, #2]
l_ldrsb: ldrsb r0, [r4, #3]
l_ldrsh: ldrsh r0, [r4, #2]
l_literal: ldr r0, =0x87654321
l_swp: swp r0, r3, [r2]
l_swpb: swpb r0, r3, [r2]
l_stmia: stmia r2!, {r0, r3, r5}
l_stmdb: stmdb r2, {r0, r3}
l_stmib: stmib r2, {r0, r3}
l_stmda: stmda r2, {r0, r3}
l_ldmdb: ldmdb r2!, {r0, r3, r6}
l_user: stmia r2, {r0-lr}^
l_skipped: strne r0, [r4]
 mov r0, r0
 adds r0, r3, #0
l_taken: strne r0, [r4, #8]
l_mul: mul r0, r3, r1
l_mrs: mrs r0, cpsr
 ldr r0, =thumb + 1
 bx r0
 .pool
 .thumb
 .thumb_func
thumb:
t_push: push {r0, r3, lr}
t_str: str r3, [r4, #4]
t_ldmia: ldmia r1!, {r0, r3}
t_literal: ldr r0, =arm
t_bx: bx r0
 .pool
 .arm
arm: b finish
 .pool
"""
)


def test_armv4t_accesses_by_hand(armv4t_capture, armv4t_assemble):
    # The flags are clear at l_skipped because prepare sets none: make them Z.
    source = ACCESSES.replace("l_skipped:", " movs r7, #0\nl_skipped:")
    firmware, trace = armv4t_assemble(source), armv4t_capture(source)

    def of(name):
        (found,) = trace.accesses_of(firmware[name])
        return found

    def words(operation, *offsets):
        return [(operation, BUF + offset, 4) for offset in offsets]

    assert of("l_str") == words("WRITE", 4)
    assert of("l_strb") == [("WRITE", BUF + 5, 1)]
    assert of("l_strh") == [("WRITE", BUF + 6, 2)]
    assert of("l_ldr") == words("READ", 4)
    assert of("l_ldrb") == [("READ", BUF, 1)]
    assert of("l_ldrh") == of("l_ldrsh") == [("READ", BUF + 2, 2)]
    assert of("l_ldrsb") == [("READ", BUF + 3, 1)]
    (literal,) = of("l_literal")
    assert literal[0] == "READ"
    assert literal[2] == 4
    assert of("l_swp") == [("READ", BUF + 0x40, 4), ("WRITE", BUF + 0x40, 4)]
    assert of("l_swpb") == [("READ", BUF + 0x40, 1), ("WRITE", BUF + 0x40, 1)]
    assert of("l_stmia") == words("WRITE", 0x40, 0x44, 0x48)
    assert of("l_stmdb") == words("WRITE", 0x44, 0x48)
    assert of("l_stmib") == words("WRITE", 0x50, 0x54)
    assert of("l_stmda") == words("WRITE", 0x48, 0x4C)
    assert of("l_ldmdb") == words("READ", 0x40, 0x44, 0x48)
    assert of("l_user") == words("WRITE", *range(0x40, 0x40 + 15 * 4, 4))
    assert of("l_skipped") == []
    assert of("l_taken") == words("WRITE", 8)
    assert of("l_mul") == of("l_mrs") == []
    assert of("t_push") == [("WRITE", 0x120000 - 12 + 4 * n, 4) for n in range(3)]
    assert of("t_str") == words("WRITE", 4)
    assert of("t_ldmia") == words("READ", 4, 8)
    sizes = {address: size for kind, address, size in trace.events if kind is Event.INSTRUCTION}
    assert {sizes[a] for name, a in firmware.symbols.items() if name.startswith("l_")} == {4}
    assert {sizes[a] for name, a in firmware.symbols.items() if name.startswith("t_")} == {2}


def test_armv4t_a_return_that_qemu_does_not_carry_out(armv4t_capture):
    source = (
        PREPARE + " function reset\n prepare\n adr lr, 1f\n orrs pc, lr, #0\n1: b finish\n .pool\n"
    )
    with pytest.raises(InputError, match="does not carry out"):
        armv4t_capture(source)


def test_armv4t_must_start_at_its_entry(armv4t_capture, armv4t_assemble):
    trace = armv4t_capture(NESTED)
    assert trace.pcs()[0] == 0
    assert trace.pcs()[1] == armv4t_assemble(NESTED)["reset"]


def test_armv4t_the_same_every_time(armv4t_capture, armv4t_assemble, tmp_path):
    first = armv4t_capture(NESTED).result.output.read_bytes()
    assert armv4t_capture(NESTED).result.output.read_bytes() == first


def test_armv4t_fault_of_the_firmware(armv4t_capture):
    with pytest.raises(InputError, match="status 1"):
        armv4t_capture(PREPARE + " function reset\n b fault\n")
