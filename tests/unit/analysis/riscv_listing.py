"""A tiny RISC-V kernel, and traces of it that are written out by hand.

Its switch works as ports of real kernels do: registers and ``mstatus`` go to the thread's stack,
the stack pointer to the thread's control block, the handler runs on a stack of its own, and what it
goes on with comes from another control block. Labels give the addresses; nothing here runs the code
under test.
"""

from __future__ import annotations

from listing import FUNCTION, MARK, PARAMETER, Row, i, mark, r, sections, w

from wcetchar.model.service import (
    Kernel,
    LogicalSection,
    Marks,
    Parameter,
    ParameterKind,
    SectionKind,
    Service,
    ServiceKind,
    ServicesFile,
)
from wcetchar.model.trace import Event

SCRIPT = """
SECTIONS {
  .text 0x80000000 : { *(.text*) }
  .data 0x80400000 : { *(.data) }
  .marks 0x20010000 (NOLOAD) : { *(.marks) }
  .stack 0x80500000 (NOLOAD) : { *(.stack) }
}
"""

# Every label of an instruction stands for the address in the traces.
SOURCE = (
    sections(0x10000, 0x1000)
    + FUNCTION
    + """
function boot
  csrsi mstatus, 8
function driver
  sb x0, 0(s0)
driver_2: sb x0, 0(s1)
driver_call: jal service
driver_4: sb x0, 0(s2)
driver_5: j driver
.size driver, .-driver
function service
  sw ra, 12(sp)
service_2: csrci mstatus, 8
service_3: ecall
service_4: csrsi mstatus, 8
service_5: lw ra, 12(sp)
service_6: ret
.size service, .-service
function calm
  sw ra, 12(sp)
calm_2: nop
calm_3: lw ra, 12(sp)
calm_4: ret
.size calm, .-calm
function other
  csrsi mstatus, 8
other_2: ecall
other_3: nop
.size other, .-other
function trap
  sw t0, 4(sp)
trap_2: csrr t0, mstatus
trap_3: sw t0, 8(sp)
trap_4: sw sp, 0(t1)
trap_5: lw sp, 0(t2)
trap_6: lw t3, 0(t4)
trap_7: lw sp, 0(t3)
trap_8: lw t0, 8(sp)
trap_9: csrw mstatus, t0
trap_10: lw t0, 4(sp)
trap_11: mret
.size trap, .-trap
function first_task
  li t0, 0x80
first_2: csrs mstatus, t0
first_3: mret
.size first_task, .-first_task
function borrow
  mv t0, sp
borrow_2: sw t0, 0(t1)
borrow_3: lw sp, 0(t1)
borrow_4: mret
.size borrow, .-borrow
function spill
  mv t0, sp
spill_2: sw t0, 0(t1)
spill_3: sw sp, 0(t2)
spill_4: addi sp, sp, -64
spill_5: lw sp, 0(t2)
spill_6: lw sp, 0(t1)
spill_7: mret
.size spill, .-spill
"""
)

DATA = 0x80400000
A, B, NEW = DATA, DATA + 64, DATA + 128
"""Control blocks of threads; the stack pointer is their first word."""
ISR = DATA + 256
STACK_A, STACK_B = 0x80500400, 0x80500800
CURRENT = DATA + 512
TIMER = 0x80000007
CALL = 11

SERVICES = ServicesFile(
    path="services.yaml",
    kernel=Kernel("tiny", "1"),
    marks=Marks("wcet_mark", 256),
    sections=(
        LogicalSection(".text", SectionKind.CODE, linker_sections=(".text",)),
        LogicalSection("data", SectionKind.DATA, linker_sections=(".data",)),
        LogicalSection("stack", SectionKind.STACK, linker_sections=(".stack",)),
    ),
    services=(
        Service(
            "service",
            7,
            ServiceKind.CALL,
            ("service", "calm"),
            (Parameter("N", ParameterKind.ARGUMENT, 1, 16, "nothing"),),
        ),
        Service("tick", 8, ServiceKind.HANDLER, ("trap",), exceptions=(TIMER,)),
        Service("switch", 9, ServiceKind.HANDLER, ("trap",), exceptions=(CALL,)),
        Service("borrow", 10, ServiceKind.HANDLER, ("borrow",)),
    ),
    scheduler_lock=None,
)

Labels = dict[str, int]


def run(at: Labels, *names: str) -> list[Row]:
    """Instructions without accesses."""
    return [i(at[name]) for name in names]


def begin(at: Labels, entry: str = "service") -> list[Row]:
    """The driver up to the call's first instructions."""
    return [
        i(at["driver"]), mark(PARAMETER, 5), i(at["driver_2"]), mark(0, 7), i(at["driver_call"]),
        i(at[entry]), w(STACK_A + 12),
    ]  # fmt: skip


def end(at: Labels) -> list[Row]:
    return [i(at["driver_4"]), mark(1, 7), i(at["driver_5"])]


def trap(
    at: Labels, number: int, saved: tuple[int, int], restored: tuple[int, int], *meanwhile: Row
) -> list[Row]:
    """A whole trap: (control block, stack pointer) of what it saves and of what it goes on with."""
    block, stack = saved
    after, its_stack = restored
    return [
        (Event.EXCEPTION, number, 0),
        i(at["trap"]), w(stack + 4), i(at["trap_2"]), i(at["trap_3"]), w(stack + 8),
        i(at["trap_4"]), w(block), i(at["trap_5"]), r(ISR), *meanwhile,
        i(at["trap_6"]), r(CURRENT), i(at["trap_7"]), r(after),
        i(at["trap_8"]), r(its_stack + 8), i(at["trap_9"]), i(at["trap_10"]), r(its_stack + 4),
        i(at["trap_11"]),
        (Event.EXCEPTION_EXIT, number, 0),
    ]  # fmt: skip


__all__ = ["MARK"]
