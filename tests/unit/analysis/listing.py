"""A tiny kernel with one service, and traces of it that are written out by hand.

The listing below is counted by hand in the tests: nothing here runs the code under test.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np

from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import (
    AddressRange,
    Kernel,
    LogicalSection,
    Marks,
    Parameter,
    ParameterKind,
    SchedulerLock,
    SectionKind,
    Service,
    ServiceKind,
    ServicesFile,
)
from wcetchar.model.trace import CodeBytes, Event, EventBatch, Loss, TraceInfo, TraceTotals

SCRIPT = """
SECTIONS {
  .vectors 0x0 : { *(.vectors) }
  .text 0x100 : { *(.text*) }
  .data 0x20000000 : { *(.data) }
  .marks 0x20010000 (NOLOAD) : { *(.marks) }
  .stack 0x20020000 (NOLOAD) : { *(.stack) }
}
"""


def sections(stack: int = 4096, data: int = 64) -> str:
    """Assembler of what every tiny kernel has: the marks, and room for stacks and data."""
    return f"""
.section .marks,"aw",%nobits
.global wcet_mark
.type wcet_mark,%object
.size wcet_mark, 1024
wcet_mark: .space 1024
.section .stack,"aw",%nobits
  .space {stack}
.section .data,"aw"
  .space {data}
.text
"""


FUNCTION = """
.macro function name
  .p2align 2
  .global \\name
  .type \\name,%function
  \\name:
.endm
"""

# Addresses and sizes stand in the comments; every count in the tests is read off here.
SOURCE = """
.section .vectors,"a"
  .word 0x20021000, driver+1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, switch+1, tick+1
.section .marks,"aw",%nobits
.global wcet_mark
.type wcet_mark,%object
.size wcet_mark, 1024
wcet_mark: .space 1024
.section .stack,"aw",%nobits
  .space 4096
.section .data,"aw"
.global table
.type table,%object
.size table, 64
table: .space 64
.text
.global driver, service, lock, unlock, tick, switch
.type driver,%function
driver:            @ 0x100
start:
  strb r0, [r4]    @ 0x100  parameter
  strb r0, [r5]    @ 0x102  begin
  bl service       @ 0x104
  strb r0, [r6]    @ 0x108  end
  b.n start        @ 0x10a
.size driver, .-driver
.type service,%function
service:           @ 0x10c
  push {r4, lr}    @ 0x10c
  cpsid i          @ 0x10e
  ldr r2, [r1]     @ 0x110
again:
  str r2, [r1, #4] @ 0x112
  subs r0, #1      @ 0x114
  bne again        @ 0x116
  cpsie i          @ 0x118
  bl lock          @ 0x11a
  nop              @ 0x11e
  bl unlock        @ 0x120
  pop {r4, pc}     @ 0x124
.size service, .-service
  nop              @ 0x126
.type lock,%function
lock:              @ 0x128
  ldrb r3, [r1, #1]@ 0x128
  bx lr            @ 0x12a
.size lock, .-lock
.type unlock,%function
unlock:            @ 0x12c
  strb.w r3, [r1, #1] @ 0x12c (4 bytes)
  bx lr            @ 0x130
.size unlock, .-unlock
  nop              @ 0x132
.type tick,%function
tick:              @ 0x134
  movs r0, #0x20   @ 0x134
  msr basepri, r0  @ 0x136
  movs r0, #0      @ 0x13a
  msr basepri, r0  @ 0x13c
  bx lr            @ 0x140
.size tick, .-tick
  nop              @ 0x142
.type switch,%function
switch:            @ 0x144
  stmdb r0!, {r4, r5} @ 0x144
  ldmia.w r1!, {r4, r5} @ 0x148
  bx lr            @ 0x14c
.size switch, .-switch
"""

MARK = 0x20010000
TABLE = 0x20000000
STACK = 0x20020800

PARAMETER, BEGIN, END = 2, 0, 1  # mark channels of 256 values

SERVICES = ServicesFile(
    path="services.yaml",
    kernel=Kernel("tiny", "1"),
    marks=Marks("wcet_mark", 256),
    sections=(
        LogicalSection(".text", SectionKind.CODE, linker_sections=(".text",)),
        LogicalSection(".vectors", SectionKind.DATA, linker_sections=(".vectors",)),
        LogicalSection("data", SectionKind.DATA, linker_sections=(".data",)),
        LogicalSection("stack", SectionKind.STACK, linker_sections=(".stack",)),
        LogicalSection(
            "scs", SectionKind.PERIPHERAL, ranges=(AddressRange(1 << 31, (1 << 31) + 64),)
        ),
    ),
    services=(
        Service(
            "service",
            7,
            ServiceKind.CALL,
            ("service",),
            (Parameter("N", ParameterKind.ARGUMENT, 1, 16, "loops"),),
        ),
        Service("tick", 8, ServiceKind.HANDLER, ("tick",)),
    ),
    scheduler_lock=SchedulerLock(("lock",), ("unlock",)),
    vector_section=".vectors",
    main_stack="stack",
    task_stack="stack",
)

Row = tuple[Event, int, int]


def i(address: int) -> Row:
    return (Event.INSTRUCTION, address, 0)


def r(address: int, size: int = 4) -> Row:
    return (Event.READ, address, size)


def w(address: int, size: int = 4) -> Row:
    return (Event.WRITE, address, size)


def mark(channel: int, value: int) -> Row:
    return w(MARK + channel * 256 + value, 1)


def body(loops: int, interrupt: tuple[int, list[Row]] | None = None) -> list[Row]:
    """The service from 0x10c to its return; ``interrupt`` (k, rows) goes before its k-th row."""
    rows = [i(0x10C), w(STACK - 8), w(STACK - 4), i(0x10E), i(0x110), r(TABLE)]
    for _ in range(loops):
        rows += [i(0x112), w(TABLE + 4), i(0x114), i(0x116)]
    rows += [i(0x118), i(0x11A), i(0x128), r(TABLE + 1, 1), i(0x12A), i(0x11E), i(0x120)]
    rows += [i(0x12C), w(TABLE + 1, 1), i(0x130), i(0x124), r(STACK - 8), r(STACK - 4)]
    if interrupt is not None:
        at, inserted = interrupt
        rows[at:at] = inserted
    return rows


TICK: list[Row] = [
    (Event.EXCEPTION, 15, 0),
    i(0x134),
    i(0x136),
    i(0x13A),
    i(0x13C),
    i(0x140),
    (Event.EXCEPTION_EXIT, 15, 0),
]


def call(loops: int, rows: list[Row] | None = None) -> list[Row]:
    """One marked call by the driver."""
    return [
        i(0x100),
        mark(PARAMETER, loops),
        i(0x102),
        mark(BEGIN, 7),
        i(0x104),
        *(body(loops) if rows is None else rows),
        i(0x108),
        mark(END, 7),
        i(0x10A),
    ]


def batches(rows: Iterable[Row], size: int) -> Iterator[EventBatch]:
    """Rows as event batches of at most ``size`` events."""
    listed = list(rows)
    for at in range(0, len(listed), size):
        part = listed[at : at + size]
        yield EventBatch(
            np.array([k for k, _, _ in part], dtype=np.uint8),
            np.array([a for _, a, _ in part], dtype=np.uint64),
            np.array([s for _, _, s in part], dtype=np.uint8),
        )


class HandTrace:
    """A trace of rows written by hand."""

    def __init__(self, rows: list[Row], size: int = 64, losses: tuple[Loss, ...] = ()) -> None:
        self.rows, self.size = rows, size
        self.info = TraceInfo("hand", "hand", losses)
        kinds = [kind for kind, _, _ in rows]
        self.totals = TraceTotals(
            instructions=kinds.count(Event.INSTRUCTION),
            accesses=sum(Event.READ <= kind <= Event.ACCESS for kind in kinds),
            exceptions=kinds.count(Event.EXCEPTION),
            filtered=sum(count for kind, count, _ in rows if kind == Event.GAP),
            undecoded=kinds.count(Event.UNDECODED),
            complete=True,
        )
        self.code: tuple[CodeBytes, ...] = ()

    def batches(self) -> Iterator[EventBatch]:
        return batches(self.rows, self.size)


def load(elf: Path) -> tuple[Image, InstructionTable]:
    image = load_image(str(elf))
    return image, decode_image(image)
