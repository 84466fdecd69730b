"""Windows of Armv4T code counted by hand: two states in one service, and calls through registers.

In Arm state the core fetches words, in Thumb state halfwords; no run of either can need more
fetches at another address that the linker may choose.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from listing import (
    BEGIN,
    END,
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
    w,
)

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.counting.columns import key_of, unpack
from wcetchar.errors import InputError

SOURCE = """
.section .vectors,"ax"
.arm
  nop
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
.arm
.global driver, service, callee, helper, lock, unlock, tick
.type driver,%function
driver:            @ 0x100
start:
  strb r0, [r4]    @ 0x100  parameter
  strb r0, [r5]    @ 0x104  begin
  mov lr, pc       @ 0x108
  bx r7            @ 0x10c  service
  strb r0, [r6]    @ 0x110  end
  b start          @ 0x114
.size driver, .-driver
.type service,%function
service:           @ 0x118
  stmdb sp!, {r4, lr} @ 0x118
again:
  mov lr, pc       @ 0x11c
  ldr pc, [r1]     @ 0x120  callee, in Arm state
  subs r0, r0, #1  @ 0x124
  bne again        @ 0x128
  ldr r3, [pc, #8] @ 0x12c  0x13c
  mov lr, pc       @ 0x130
  bx r3            @ 0x134  helper, in Thumb state
  ldmia sp!, {r4, pc} @ 0x138
  .word helper+1   @ 0x13c
.size service, .-service
.type callee,%function
callee:            @ 0x140
  movs r2, r2, lsl r3 @ 0x140
  swpne r2, r3, [r1]  @ 0x144
  moveq pc, lr     @ 0x148
  bx lr            @ 0x14c
.size callee, .-callee
.thumb
.type helper,%function
helper:            @ 0x150
  push {lr}        @ 0x150
  bl leaf          @ 0x152
  pop {r3}         @ 0x156
  bx r3            @ 0x158
.size helper, .-helper
.type leaf,%function
leaf:              @ 0x15a
  lsls r0, r1      @ 0x15a
  bx lr            @ 0x15c
.size leaf, .-leaf
.type lock,%function
lock:
  bx lr
.size lock, .-lock
.type unlock,%function
unlock:
  bx lr
.size unlock, .-unlock
.type tick,%function
tick:
  bx lr
.size tick, .-tick
"""


@pytest.fixture
def resolved(assemble: Callable[..., Path]) -> Resolved:
    image, table = load(assemble(SOURCE, SCRIPT, "arm7tdmi"))
    assert [t.address for t in table.instructions][1:4] == [0x100, 0x104, 0x108]
    assert table.at(0x158) is not None
    return resolve(SERVICES, image, table)


def body(loops: int) -> list[Row]:
    """The service; in every pass but the last the swap is carried out."""
    rows = [i(0x118), w(STACK - 8), w(STACK - 4)]
    for left in range(loops, 0, -1):
        rows += [i(0x11C), i(0x120), r(TABLE), i(0x140), i(0x144)]
        if left > 1:
            rows += [r(TABLE), w(TABLE), i(0x148), i(0x14C)]
        else:
            rows += [i(0x148)]
        rows += [i(0x124), i(0x128)]
    rows += [i(0x12C), r(0x13C), i(0x130), i(0x134)]
    rows += [i(0x150), w(STACK - 12), i(0x152), i(0x15A), i(0x15C), i(0x156), r(STACK - 12)]
    return [*rows, i(0x158), i(0x138), r(STACK - 8), r(STACK - 4)]


def call(loops: int) -> list[Row]:
    before = [i(0x100), mark(PARAMETER, loops), i(0x104), mark(BEGIN, 7), i(0x108), i(0x10C)]
    return [*before, *body(loops), i(0x110), mark(END, 7), i(0x114)]


def counted(resolved: Resolved, rows: list[Row]) -> list[dict[str, int]]:
    labeller = Labeller(resolved, "hand")
    found = []
    for window in find_windows(batches(rows, 64), WindowFinder(resolved, "hand")):
        counts: dict[str, int] = {}
        for packed in labeller.label(window).packed.tolist():
            key = str(key_of(unpack(packed)[1], resolved.section_names))
            counts[key] = counts.get(key, 0) + 1
        found.append(counts)
    return found


def expected(n: int) -> dict[str, int]:
    """By hand from the listing."""
    counts = {
        ".text store multiple": 1 + 1,  # stmdb, push
        "stack write 32 first": 1,
        "stack write 32 next": 1,
        "stack write 32 single": 1,  # push of one register
        ".text alu": n * 2 + 1,  # mov lr, pc; subs; and the mov behind the loop
        ".text shift by register": n + 1,  # movs; lsls
        ".text load": n + 1,  # ldr pc; ldr r3
        "data read 32 single": n + (n - 1),  # ldr pc; the swap
        "data write 32 single": n - 1,
        ".text swap": n - 1,
        ".text skipped": 1 + (n - 1),  # swpne of the last pass; moveq of the others
        ".text return": n + 1,  # callee's, as moveq or bx; leaf's
        ".text branch taken": (n - 1) + 1,  # bne; bx r3 of helper
        ".text branch untaken": 1,
        ".text call indirect": 1,
        ".text call": 1,
        ".text read 32 single": 1,  # the literal
        ".text load multiple": 1 + 1,  # pop, ldmia
        "stack read 32 single": 1,
        "stack read 32 first": 1,
        "stack read 32 next": 1,
        # transfers: ldr pc, the return, bne (n - 1); bx r3, bl, bx lr, bx r3, ldmia
        ".text pipeline refill": 2 * n + (n - 1) + 5,
        # Arm state, one word each. Runs begin at 0x118, 0x11c (n - 1), 0x140 and 0x124 (n), 0x138.
        ".text fetch 32 first": 1 + (n - 1) + 2 * n + 1,
        # 0x11c and 0x120 of the first pass; 0x120 of the others; 0x144, 0x148 and, but for the last
        # pass, 0x14c; 0x128; 0x12c, 0x130, 0x134
        ".text fetch 32 next": 2 + (n - 1) + 2 * n + (n - 1) + n + 3,
        # Thumb state, one halfword each. Runs: 0x150 to 0x155 (3), 0x15a (2), 0x156 (2)
        ".text fetch 16 first": 3,
        ".text fetch 16 next": 2 + 1 + 1,
        # stmdb may wait for what the caller has loaded; ldmia, second behind pop, for sp
        ".text second use stall behind a transfer": 1 + 1,
        ".text shift-use stall": n,  # swpne leaves r2 as movs made it, where it has no effect
        ".text backward branch untaken": 1,
        ".text second load-use stall": 1,  # bx r3, which is called: mov lr, pc is between
        ".text load-use stall": 1,  # bx r3 behind pop {r3}
        ".text indirect jump": 1,  # the same bx r3 is no call
        # No fetch has two instructions. Behind bx r3 (0x134) and ldmia (0x138) lies a constant; of
        # what is no instruction it is not known.
        ".text fetch held late": 2,
    }
    return {key: count for key, count in counts.items() if count}


@pytest.mark.parametrize("loops", [1, 2, 7])
def test_armv4t_window_by_hand(resolved: Resolved, loops: int) -> None:
    assert counted(resolved, call(loops)) == [expected(loops)]


def test_armv4t_nothing_is_realigned(resolved: Resolved) -> None:
    (counts,) = counted(resolved, call(3))
    assert not [key for key in counts if "realigned" in key]


def test_armv4t_a_wrong_state_is_an_error(resolved: Resolved) -> None:
    """An instruction of four bytes in Arm state that a trace says has two."""
    rows = call(2)
    at = next(k for k, row in enumerate(rows) if row == i(0x140))
    rows[at] = (rows[at][0], 0x140, 2)
    with pytest.raises(InputError, match="2 bytes in the trace"):
        counted(resolved, rows)


def test_armv4t_return_elsewhere_is_an_error(resolved: Resolved) -> None:
    """``mov lr, pc`` and ``ldr pc`` are a call: its return leads behind them."""
    rows = call(2)
    at = rows.index(i(0x124))
    rows[at] = i(0x12C)
    with pytest.raises(InputError):
        counted(resolved, rows)
