"""RISC-V traps and returns: against QEMU's own logs of another run, and by hand."""

from __future__ import annotations

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from qemu_history import check_nesting, exceptions_of, history, logged

from wcetchar.capture import CaptureFilter, CaptureRequest, find_machine, run
from wcetchar.errors import InputError
from wcetchar.model.service import AddressRange
from wcetchar.model.trace import Event

INTERRUPT = 1 << 31
SOFTWARE, TIMER, ECALL = INTERRUPT | 3, INTERRUPT | 7, 11
BREAKPOINT, ILLEGAL, LOAD_FAULT, FETCH_FAULT, STORE_FAULT = 3, 2, 5, 1, 7
LOAD_MISALIGNED, STORE_MISALIGNED = 4, 6

PREPARE = """
 .macro prepare handler
 la t0, \\handler
 csrw mtvec, t0
 lui sp, 0x80200
 lui s0, 0x80100
 li s10, 0x02000000          # msip
 li s11, 0x02004000          # mtimecmp, which is 0 at first
 li t1, -1
 sw t1, 4(s11)
 .endm
 .macro next_timer ticks      # clobbers t0 to t2
 li t1, 0x0200bff8
 lw t2, 0(t1)
 li t0, \\ticks
 add t2, t2, t0
 li t1, -1                   # neither write may make it smaller than it was or will be
 sw t1, 4(s11)
 sw t2, 0(s11)
 sw x0, 4(s11)
 .endm
 .macro no_timer
 li t1, -1
 sw t1, 4(s11)
 .endm
"""

# ecall and the two interrupts; the timer's handler makes the software interrupt pending, so its
# return is followed by another entry at once; ecall's handler admits interrupts.
NESTED = (
    PREPARE
    + """
 function reset
 prepare trap
 li t0, 0x88
 csrw mie, t0
 next_timer 37
 li s1, 300
 csrsi mstatus, 8
main_loop:
 ecall
 lw t0, 0(s0)
 addi t0, t0, 1
 sw t0, 0(s0)
 csrci mstatus, 8
 lw t0, 4(s0)
 addi t0, t0, 1
 sw t0, 4(s0)
 csrsi mstatus, 8
 jal leaf
 addi s1, s1, -1
 bnez s1, main_loop
 csrci mstatus, 8
 j finish
 function leaf
 addi a0, a0, 1
 ret
 function trap
 addi sp, sp, -32
 sw t0, 0(sp)
 sw t1, 4(sp)
 sw t2, 8(sp)
 csrr t0, mepc
 sw t0, 12(sp)
 csrr t0, mstatus
 sw t0, 16(sp)
 csrr t0, mcause
 bgez t0, is_call
 andi t0, t0, 4
 bnez t0, is_timer
 sw x0, 0(s10)
 j trap_end
is_timer:
 next_timer 37
 li t0, 1
 sw t0, 0(s10)
 j trap_end
is_call:
 lw t0, 12(sp)
 addi t0, t0, 4
 sw t0, 12(sp)
 csrsi mstatus, 8
 li t0, 20
call_loop:
 addi t0, t0, -1
 bnez t0, call_loop
 csrci mstatus, 8
trap_end:
 lw t0, 16(sp)
 csrw mstatus, t0
 lw t0, 12(sp)
 csrw mepc, t0
 lw t0, 0(sp)
 lw t1, 4(sp)
 lw t2, 8(sp)
 addi sp, sp, 32
trap_return: mret
"""
)


BOARD = ("-M", "virt", "-cpu", "rv32,s=off,h=off", "-bios", "none", "-seed", "0")
TRAP = re.compile(r"riscv_cpu_do_interrupt: hart:0, async:([01]), cause:(\w{8}), epc:0x(\w+),")


def taken(match: re.Match[str], block: list[int]) -> tuple[int | None, int | None]:
    cause = int(match[1]) << 31 | int(match[2], 16)
    epc = int(match[3], 16) & 0xFFFFFFFF  # QEMU 11.1 extends its sign
    return epc + 1 if epc in block else None, cause


def log_of_everything(qemu: str, firmware, folder: Path) -> list[tuple[str, int]]:
    path = folder / "qemu.log"
    return history(logged(qemu, BOARD, firmware.path, path, "in_asm,exec,nochain,int"), TRAP, taken)


def test_each_instruction_and_trap_in_the_order_of_qemus_log(
    riscv_capture, riscv_assemble, riscv_qemu, tmp_path
):
    firmware, trace = riscv_assemble(NESTED), riscv_capture(NESTED)
    expected = log_of_everything(riscv_qemu, firmware, tmp_path)
    events = trace.events
    seen = [(kind.name, a) for kind, a, _ in events if kind in (Event.INSTRUCTION, Event.EXCEPTION)]
    assert len(seen) > 20_000
    assert seen == expected
    entries = [number for name, number in expected if name == "EXCEPTION"]
    assert set(entries) == {ECALL, TIMER, SOFTWARE}
    assert entries.count(ECALL) == 300
    assert trace.result.exceptions == len(entries)


def test_nesting_and_entries_right_after_a_return(riscv_capture, riscv_assemble):
    firmware, trace = riscv_assemble(NESTED), riscv_capture(NESTED)
    check_nesting(trace)
    found = exceptions_of(trace)
    pairs = list(pairwise(found))
    assert (("EXCEPTION", ECALL), ("EXCEPTION", TIMER)) in pairs
    assert (("EXCEPTION_EXIT", TIMER), ("EXCEPTION", SOFTWARE)) in pairs
    kinds = [kind for kind, _, _ in trace.events]
    assert (Event.EXCEPTION_EXIT, Event.EXCEPTION) in pairwise(kinds)
    # An exit stands right behind its mret, and behind nothing else.
    before = [
        address
        for (kind, address, _), (after, _, _) in pairwise(trace.events)
        if after is Event.EXCEPTION_EXIT and kind is Event.INSTRUCTION
    ]
    assert set(before) == {firmware["trap_return"]}
    assert len(before) == kinds.count(Event.EXCEPTION_EXIT)
    # A handler's first instruction behind each entry.
    after_entry = [b[1] for a, b in pairwise(trace.events) if a[0] is Event.EXCEPTION]
    assert set(after_entry) == {firmware["trap"]}
    for label in ("main_loop", "leaf"):
        assert trace.pcs().count(firmware[label]) == 300


def test_filters_leave_traps_alone(riscv_capture, riscv_assemble):
    firmware, full = riscv_assemble(NESTED), riscv_capture(NESTED)
    for low, high in (("trap", None), ("trap_return", 4), ("main_loop", 4)):
        end = firmware[low] + (high or 0x200)
        part = riscv_capture(NESTED, CaptureFilter(exclude=(AddressRange(firmware[low], end),)))
        assert exceptions_of(part) == exceptions_of(full)
        assert part.result.filtered > 0
        assert part.result.instructions + part.result.filtered == full.result.instructions
        assert part.result.accesses + part.result.filtered_accesses == full.result.accesses
        kept = [e for e in part.events if e[0] is not Event.GAP]
        wanted, inside = [], False
        for event in full.events:
            if event[0] is Event.INSTRUCTION:
                inside = firmware[low] <= event[1] < end
            if not (inside and event[0] in (Event.INSTRUCTION, Event.READ, Event.WRITE)):
                wanted.append(event)
        assert kept == wanted


MARKED = (
    PREPARE
    + """
 function reset
 prepare trap
 li s1, 5
again:
 ecall
begin: sw s1, 0x100(s0)
l_sc: lr.w a0, (s0)
 sc.w a1, s1, (s0)
 ecall
end: amoadd.w a0, s1, (s2)
after: ecall
 addi s1, s1, -1
 bnez s1, again
 j finish
 function trap
 csrr t0, mepc
 addi t0, t0, 4
 csrw mepc, t0
 mret
"""
)


def test_between_marks(riscv_capture, riscv_assemble):
    source = MARKED.replace("li s1, 5", "li s1, 5\n lui s2, 0x80102")
    firmware, full = riscv_assemble(source), riscv_capture(source)
    marks = CaptureFilter(
        start=(AddressRange(0x80100100, 0x80100104),), stop=(AddressRange(0x80102000, 0x80102001),)
    )
    part = riscv_capture(source, marks)
    assert exceptions_of(part) == exceptions_of(full)
    assert part.result.instructions == 5 * (5 + 4)
    assert part.result.accesses == 5 * (1 + 2 + 2)
    assert part.result.instructions + part.result.filtered == full.result.instructions
    assert part.result.accesses + part.result.filtered_accesses == full.result.accesses
    assert part.pcs()[0] == firmware["begin"]
    assert firmware["after"] not in part.pcs()


FAULTS = (
    PREPARE
    + """
 function reset
 prepare trap
 li s1, 0
 lui s2, 0x90000             # nothing is there
 addi s3, s0, 2
 .option push
 .option norvc
bad_load: lw a0, 0(s2)
bad_store: sw a0, 0(s2)
bad_amo: amoadd.w a0, a1, (s3)
bad_code: .4byte 0xfffff00b   # custom-0; of all ones QEMU's in_asm log never ends
bad_csr: csrw mhartid, x0
stop: ebreak
 .option pop
 .option arch, +c
bad_short: .2byte 0
stop_short: c.ebreak
 li s1, 1
 la ra, back
bad_jump: jr s2
back:
 j finish
 function trap
 bnez s1, from_nowhere
 csrr t0, mepc
 lhu t1, 0(t0)
 andi t1, t1, 3
 addi t1, t1, -3
 seqz t1, t1
 slli t1, t1, 1
 addi t0, t0, 2
 add t0, t0, t1
 csrw mepc, t0
 mret
from_nowhere:
 csrw mepc, ra
 mret
"""
)


def test_faults_are_traps_of_the_instruction_that_made_them(
    riscv_capture, riscv_assemble, riscv_qemu, tmp_path
):
    firmware, trace = riscv_assemble(FAULTS), riscv_capture(FAULTS)
    expected = {
        "bad_load": LOAD_FAULT,
        "bad_store": STORE_FAULT,
        "bad_amo": LOAD_MISALIGNED,
        "bad_code": ILLEGAL,
        "bad_csr": ILLEGAL,
        "stop": BREAKPOINT,
        "bad_short": ILLEGAL,
        "stop_short": BREAKPOINT,
        "bad_jump": FETCH_FAULT,
    }
    check_nesting(trace)
    if ("EXCEPTION", STORE_MISALIGNED) in exceptions_of(trace):
        # As the Privileged ISA has it (3.1.15); QEMU 7.2 says that a load was misaligned.
        expected["bad_amo"] = STORE_MISALIGNED
    assert exceptions_of(trace)[::2] == [("EXCEPTION", n) for n in expected.values()]
    # Each is listed once, before its trap, with no access.
    before = {
        number: trace.events[i - 1][:2]
        for i, (kind, number, _) in enumerate(trace.events)
        if kind is Event.EXCEPTION
    }
    for label, number in expected.items():
        assert trace.accesses_of(firmware[label]) == [[]], label
        if list(expected.values()).count(number) == 1:
            assert before[number] == (Event.INSTRUCTION, firmware[label])
    log = log_of_everything(riscv_qemu, firmware, tmp_path)
    wanted = (Event.INSTRUCTION, Event.EXCEPTION)
    assert [(k.name, a) for k, a, _ in trace.events if k in wanted] == log


SLEEP = (
    PREPARE
    + """
 function reset
 prepare trap
 li t0, 0x80
 csrw mie, t0
 next_timer 20000
 csrsi mstatus, 8
 li s1, 50
again: wfi
 addi s1, s1, -1
 bnez s1, again
 j finish
 function trap
 next_timer 20000
 mret
"""
)


def test_sleep_takes_no_instructions(riscv_capture, riscv_assemble):
    firmware, trace = riscv_assemble(SLEEP), riscv_capture(SLEEP)
    assert exceptions_of(trace) == [("EXCEPTION", TIMER), ("EXCEPTION_EXIT", TIMER)] * 50
    pcs = trace.pcs()
    assert pcs.count(firmware["again"]) == 50
    assert pcs.index(firmware["trap"]) == pcs.index(firmware["again"]) + 1


# Two threads, as a kernel switches them: ecall yields, each thread has its own stack and frame,
# and mret goes to the other one. The first one is started by an mret that leaves no trap.
SWITCH = (
    PREPARE
    + """
 function reset
 prepare trap
 lui s2, 0x80110             # frame of the running thread: mepc, counter
 lui s3, 0x80120             # of the other one
 la t0, second
 sw t0, 0(s3)
 la t0, first
 csrw mepc, t0
 li t0, 0x1880
 csrw mstatus, t0
start: mret
first:
 li s4, 40
first_loop:
 ecall
 addi s4, s4, -1
 bnez s4, first_loop
 j finish
second:
 ecall
 j second
 function trap
 csrr t0, mepc
 addi t0, t0, 4
 sw t0, 0(s2)
 mv t1, s2
 mv s2, s3
 mv s3, t1
 lw t0, 0(s2)
 csrw mepc, t0
 mret
"""
)


def test_a_return_to_another_thread_and_one_that_leaves_no_trap(riscv_capture, riscv_assemble):
    firmware, trace = riscv_assemble(SWITCH), riscv_capture(SWITCH)
    assert exceptions_of(trace) == [("EXCEPTION", ECALL), ("EXCEPTION_EXIT", ECALL)] * 80
    after_start = trace.events[[e[1] for e in trace.events].index(firmware["start"]) + 1]
    assert after_start[:2] == (Event.INSTRUCTION, firmware["first"])
    assert trace.pcs().count(firmware["second"]) == 40


VECTORED = (
    PREPARE
    + """
 function reset
 prepare direct_trap
 ecall
 la t0, table
 addi t0, t0, 1
 csrw mtvec, t0
 li t0, 0x88
 csrw mie, t0
 csrsi mstatus, 8
 li t0, 1
 sw t0, 0(s10)
 ecall
 next_timer 100
 wfi
 ecall
 j finish
 function direct_trap
 csrr t0, mepc
 addi t0, t0, 4
 csrw mepc, t0
 mret
 .balign 64
 .option push
 .option norvc
table:
 j direct_trap
 j fault
 j fault
from_software: j software
 j fault
 j fault
 j fault
from_timer: j timer
 .option pop
software:
 sw x0, 0(s10)
 mret
timer:
 no_timer
 mret
"""
)


def test_vectored_handlers_and_handlers_that_move(riscv_capture, riscv_assemble):
    firmware, trace = riscv_assemble(VECTORED), riscv_capture(VECTORED)
    check_nesting(trace)
    begun = [(a[1], b[1]) for a, b in pairwise(trace.events) if a[0] is Event.EXCEPTION]
    assert begun == [
        (ECALL, firmware["direct_trap"]),
        (SOFTWARE, firmware["from_software"]),
        (ECALL, firmware["table"]),
        (TIMER, firmware["from_timer"]),
        (ECALL, firmware["table"]),
    ]


USER = (
    PREPARE
    + """
 function reset
 prepare trap
 li t0, -1
 csrw pmpaddr0, t0
 li t0, 0x1f
 csrw pmpcfg0, t0
 la t0, user
 csrw mepc, t0
 csrw mstatus, x0
to_user: mret
user:
 ecall
refused: mret
 ebreak
 function trap
 csrr t0, mcause
 addi t0, t0, -3
 beqz t0, finish
 csrr t0, mepc
 addi t0, t0, 4
 csrw mepc, t0
 mret
"""
)


def test_an_mret_that_traps_is_no_return(riscv_capture, riscv_assemble):
    firmware, trace = riscv_assemble(USER), riscv_capture(USER)
    assert exceptions_of(trace) == [
        *(("EXCEPTION", 8), ("EXCEPTION_EXIT", 8)),
        *(("EXCEPTION", ILLEGAL), ("EXCEPTION_EXIT", ILLEGAL)),
        ("EXCEPTION", BREAKPOINT),
    ]
    place = [e[1] for e in trace.events].index(firmware["refused"])
    assert trace.events[place + 1][:2] == (Event.EXCEPTION, ILLEGAL)


# --- refusals --------------------------------------------------------------------------------


@pytest.fixture
def refused(riscv_qemu, riscv_assemble, tmp_path):
    """Runs a firmware that cannot be captured exactly; returns the message."""

    def go(source: str, wrapper: str = 'exec "$QEMU" "$@"', **settings: object) -> str:
        program = tmp_path / "qemu-wrapper"
        program.write_text(f"#!/bin/bash\nQEMU={riscv_qemu}\n{wrapper}\n")
        program.chmod(0o755)
        request = CaptureRequest(
            riscv_assemble(source).path,
            "00",
            tmp_path / "run.wct",
            machine="virt",
            qemu=str(program),
            **settings,  # type: ignore[arg-type]
        )
        with pytest.raises(InputError) as caught:
            run(request)
        assert not request.output.exists()
        assert caught.value.exit_code == 3
        return str(caught.value)

    return go


# The supervisor's handler is elsewhere; the machine that is captured has no such mode.
DELEGATED = (
    PREPARE
    + """
 function reset
 prepare trap
 la t0, elsewhere
 csrw stvec, t0
 csrw medeleg, x0
 li t0, -1
 csrw pmpaddr0, t0
 li t0, 0x1f
 csrw pmpcfg0, t0
 la t0, user
 csrw mepc, t0
 csrw mstatus, x0
 mret
user:
 ecall
 nop
 ecall
 function elsewhere
 j finish
 function trap
 li t0, 0x100
 csrw medeleg, t0
 csrr t0, mepc
 addi t0, t0, 4
 csrw mepc, t0
 mret
"""
)


def test_a_handler_in_another_place_is_refused(refused):
    supervisor = 'exec "$QEMU" "${@/rv32,s=off,h=off/rv32}"'
    assert "neither the base of mtvec" in refused(DELEGATED, supervisor)


TRIGGER = (
    PREPARE
    + """
 function reset
 prepare trap
 csrw tselect, x0
 li t0, 0x20000044           # execute, machine mode
 csrw tdata1, t0
 la t0, watched
 csrw tdata2, t0
 nop
 j watched
 .balign 4096
watched:
 nop
 j finish
 function trap
 csrw tdata1, x0
 mret
"""
)


def crashes(qemu: str, firmware: Path) -> bool:
    machine = find_machine("virt")
    command = [
        *(qemu, "-M", machine.name, "-cpu", machine.cpu, *machine.options),
        *("-nodefaults", "-display", "none", "-semihosting-config", "enable=on,target=native"),
        *("-icount", "shift=5,sleep=off", "-device", f"loader,cpu-num=0,file={firmware}"),
    ]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return process.wait(10) < 0
    except subprocess.TimeoutExpired:
        return False
    finally:
        process.kill()
        process.wait()


def test_a_trap_before_the_instruction_is_refused(refused, riscv_qemu, riscv_assemble):
    said = refused(TRIGGER)
    if "QEMU was ended by signal" in said:
        assert crashes(riscv_qemu, riscv_assemble(TRIGGER).path)
        pytest.skip("this QEMU crashes at a debug trigger, also without a plugin (11.1.3 does)")
    assert "not by the newest instruction" in said


def test_more_in_the_log_is_refused(refused):
    said = refused(NESTED, 'exec "$QEMU" "${@/#int/int,cpu}"')
    assert "not understood in the interrupt log" in said


def test_another_start_is_refused(refused):
    """As with -kernel, which begins in QEMU's own ROM."""
    said = refused(NESTED, 'exec "$QEMU" "${@/cpu-num=0,/}"')
    assert re.search("execution begins at 0x1000, not at the entry 0x8", said)


NO_HANDLER = """
 function reset
 csrw mtvec, x0
 lw a0, 0(x0)
"""


def test_traps_without_end_are_noticed(refused):
    assert "traps again and again" in refused(NO_HANDLER, timeout=60)


POWER_OFF = """
 function reset
 lui a0, 0x100
 li a1, 0x5555
 sw a1, 0(a0)
 j .
"""


def test_power_off_is_no_end(refused):
    assert "reset or shut down" in refused(POWER_OFF)


STATUS = (
    PREPARE
    + """
 function reset
 li a0, 0x20
 la a1, block
 semihost
 .balign 4
block: .word 0x20026, 7
"""
)


def test_a_firmware_that_fails(refused):
    assert "ended with status 7" in refused(STATUS)
    assert "ended with status 1" in refused(" function reset\n j fault\n")


CALLS = """
 function reset
again:
 li a0, 4
 la a1, text
 semihost
 j again
text: .asciz ""
"""


def test_a_stop_from_outside_within_a_call_is_no_end(refused):
    """Then the newest instruction is the call's, as it is at the firmware's own exit."""
    wrapper = 'if [ "$1" = --version ]; then exec "$QEMU" "$@"; fi\n' + (
        'exec timeout --preserve-status -s TERM 0.7 "$QEMU" "$@"'
    )
    assert "reset or shut down" in refused(CALLS, wrapper)


def test_an_image_of_another_core_is_refused(refused, riscv_assemble, tmp_path):
    elf = riscv_assemble(NO_HANDLER).path
    with pytest.raises(InputError, match="for another core"):
        run(CaptureRequest(elf, "00", tmp_path / "o", machine="mps2-an385"))
