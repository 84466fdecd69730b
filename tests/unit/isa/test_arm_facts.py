"""What single instructions of Armv4T do, by hand from the manual (DDI 0100I, A4.1 and A7.1)."""

from __future__ import annotations

import pytest

from wcetchar.isa import decode_arm, decode_thumb
from wcetchar.model import instruction as facts
from wcetchar.model.access import EventKind as K
from wcetchar.model.instruction import (
    Arithmetic,
    Calculation,
    Copy,
    Flow,
    Instruction,
    MaskRegister,
    MaskWrite,
    Transfer,
    Undecodable,
)

AT = 0x8000


def decode(code: int, address: int = AT) -> Instruction:
    found = decode_arm(code.to_bytes(4, "little"), address)
    assert isinstance(found, Instruction), found
    return found


def thumb(code: str, address: int = AT) -> Instruction:
    found = decode_thumb(bytes.fromhex(code), address, architecture="armv4t")
    assert isinstance(found, Instruction), found
    return found


def mask(*registers: int) -> int:
    return sum(1 << register for register in registers)


BANKED = list(range(8, 15))

# code, text, issue, flow, defs, uses
LISTING = [
    (0xE3A00001, "mov r0, #0x1", K.ALU, Flow.NEXT, [0], []),
    (0xE0810182, "add r0, r1, r2, lsl #3", K.ALU, Flow.NEXT, [0], [1, 2]),
    (0xE1A00312, "mov r0, r2, lsl r3", K.SHIFT_BY_REGISTER, Flow.NEXT, [0], [2, 3]),
    (0xE0D01372, "sbcs r1, r0, r2, ror r3", K.SHIFT_BY_REGISTER, Flow.NEXT, [1], [0, 2, 3]),
    (0xE28F0008, "add r0, pc, #0x8", K.ALU, Flow.NEXT, [0], []),
    (0xE3520004, "cmp r2, #0x4", K.ALU, Flow.NEXT, [], [2]),
    (0xE0000291, "mul r0, r1, r2", K.MULTIPLY, Flow.NEXT, [0], [1, 2]),
    (0xE0203291, "mla r0, r1, r2, r3", K.MULTIPLY_ACCUMULATE, Flow.NEXT, [0], [1, 2, 3]),
    (0xE0810392, "umull r0, r1, r2, r3", K.MULTIPLY_LONG, Flow.NEXT, [0, 1], [2, 3]),
    (
        *(0xE0E10392, "smlal r0, r1, r2, r3", K.MULTIPLY_ACCUMULATE_LONG),
        *(Flow.NEXT, [0, 1], [0, 1, 2, 3]),
    ),
    (0xE1020091, "swp r0, r1, [r2]", K.SWAP, Flow.NEXT, [0], [1, 2]),
    (0xE59F0010, "ldr r0, [pc, #0x10]", K.LOAD, Flow.NEXT, [0], []),
    (0xE7910102, "ldr r0, [r1, r2, lsl #2]", K.LOAD, Flow.NEXT, [0], [1, 2]),
    (0xE52DE004, "str lr, [sp, #-0x4]!", K.STORE, Flow.NEXT, [13], [13, 14]),
    (0xE0D100B2, "ldrh r0, [r1], #0x2", K.LOAD, Flow.NEXT, [0, 1], [1]),
    (0xE92D4010, "push {r4, lr}", K.STORE_MULTIPLE, Flow.NEXT, [13], [4, 13, 14]),
    (0xE8BD8010, "pop {r4, pc}", K.LOAD_MULTIPLE, Flow.RETURN, [4, 13], [13]),
    (0xE89DA800, "ldm sp, {r11, sp, pc}", K.LOAD_MULTIPLE, Flow.RETURN, [11, 13], [13]),
    (0xE49DF004, "ldr pc, [sp], #0x4", K.LOAD, Flow.RETURN, [13], [13]),
    (0xE59FF018, "ldr pc, [pc, #0x18]", K.LOAD, Flow.JUMP_INDIRECT, [], []),
    (0x979FF103, "ldrls pc, [pc, r3, lsl #2]", K.LOAD, Flow.JUMP_INDIRECT, [], [3]),
    (0x908FF102, "addls pc, pc, r2, lsl #2", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT, [], [2]),
    (0xE1A0F00E, "mov pc, lr", K.RETURN, Flow.RETURN, [], [14]),
    (0xE1A0F003, "mov pc, r3", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT, [], [3]),
    (0xE12FFF1E, "bx lr", K.RETURN, Flow.RETURN, [], [14]),
    (0xE12FFF13, "bx r3", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT, [], [3]),
    (0xE1B0F00E, "movs pc, lr", K.RETURN, Flow.RETURN, BANKED, BANKED),
    (0xE25EF004, "subs pc, lr, #0x4", K.RETURN, Flow.RETURN, BANKED, BANKED),
    (0xE8FD8001, "ldm sp!, {r0, pc}^", K.LOAD_MULTIPLE, Flow.RETURN, [0, *BANKED], BANKED),
    (0xEBFFFFFE, "bl #0x8000", K.CALL, Flow.CALL, [14], []),
    (0xEAFFFFFE, "b #0x8000", K.BRANCH_TAKEN, Flow.JUMP, [], []),
    (0x0A000000, "beq #0x8008", K.BRANCH_UNTAKEN, Flow.JUMP, [], []),
    (0xEF123456, "swi #0x123456", K.SUPERVISOR_CALL, Flow.SUPERVISOR_CALL, [], []),
    (0xE10F0000, "mrs r0, cpsr", K.SYSTEM_REGISTER, Flow.NEXT, [0], []),
    (0xE128F000, "msr cpsr_f, r0", K.SYSTEM_REGISTER, Flow.NEXT, [], [0]),
    (0xE121F000, "msr cpsr_c, r0", K.SYSTEM_REGISTER, Flow.NEXT, BANKED, [0, *BANKED]),
    (0xE161F000, "msr spsr_c, r0", K.SYSTEM_REGISTER, Flow.NEXT, [], [0]),
    (0xE7F000F0, "udf #0x0", K.BREAKPOINT, Flow.STOP, [], []),
]


@pytest.mark.parametrize(("code", "text", "issue", "flow", "defs", "uses"), LISTING)
def test_arm_listing_by_hand(
    code: int, text: str, issue: K, flow: Flow, defs: list[int], uses: list[int]
) -> None:
    found = decode(code)
    assert found.code == code.to_bytes(4, "little")
    assert found.length == 4
    assert found.text == text
    assert found.issue is issue
    assert found.flow is flow
    assert found.defs == mask(*defs)
    assert found.uses == mask(*uses)
    assert found.conditional == (code >> 28 != 14)
    assert found.fetch is not None
    assert (found.fetch.bytes, found.fetch.granule) == (4, 4)


# code, width, reads, writes, burst, registers by ascending address, base
MEMORY = [
    (0xE59F0010, 32, 1, 0, False, [0], 15),
    (0xE5C10000, 8, 0, 1, False, [0], 1),
    (0xE1D100B0, 16, 1, 0, False, [0], 1),
    (0xE1D100F0, 16, 1, 0, False, [0], 1),
    (0xE1D100D0, 8, 1, 0, False, [0], 1),
    (0xE92D4010, 32, 0, 2, True, [4, 14], 13),
    (0xE8BD8010, 32, 2, 0, True, [4, 15], 13),
    (0xE90D2000, 32, 0, 1, True, [13], 13),
    (0xE1020091, 32, 1, 1, False, [0, 1], 2),
    (0xE1420091, 8, 1, 1, False, [0, 1], 2),
    # User mode's registers: from r8 on they may be others than those of the current mode.
    (0xE94E7FFF, 32, 0, 15, True, [*range(8), *[None] * 7], 14),
    (0xE8DE7FFF, 32, 15, 0, True, [*range(8), *[None] * 7], 14),
    (0xE8FD8300, 32, 3, 0, True, [8, 9, 15], 13),  # an exception return: those of this mode
]


@pytest.mark.parametrize(("code", "width", "reads", "writes", "burst", "registers", "base"), MEMORY)
def test_arm_memory_by_hand(
    code: int,
    width: int,
    reads: int,
    writes: int,
    burst: bool,
    registers: list[int | None],
    base: int,
) -> None:
    memory = decode(code).memory
    assert memory is not None
    assert (memory.width, memory.reads, memory.writes) == (width, reads, writes)
    assert memory.burst is burst
    assert memory.transfers == tuple(Transfer(number) for number in registers)
    assert memory.base == base


I, F = MaskRegister.CPSR_I, MaskRegister.CPSR_F  # noqa: E741
SAVED_I, SAVED_F = MaskRegister.SPSR_I, MaskRegister.SPSR_F


@pytest.mark.parametrize(
    ("code", "writes"),
    [
        (0xE321F0D3, (MaskWrite(I, constant=0xD3), MaskWrite(F, constant=0xD3))),
        (0xE129F003, (MaskWrite(I, source=3), MaskWrite(F, source=3))),
        (0xE16FF000, (MaskWrite(SAVED_I, source=0), MaskWrite(SAVED_F, source=0))),
        (0xE25EF004, (MaskWrite(I, mask_register=SAVED_I), MaskWrite(F, mask_register=SAVED_F))),
        (0xE8FD8000, (MaskWrite(I, mask_register=SAVED_I), MaskWrite(F, mask_register=SAVED_F))),
        (0xE128F000, ()),
        (0xE8FD4000 & ~0x00200000, ()),
        (0xE1A0F00E, ()),
    ],
)
def test_arm_mask_writes(code: int, writes: tuple[MaskWrite, ...]) -> None:
    assert decode(code).masks == writes
    assert I.bits == SAVED_I.bits == 0x80
    assert F.bits == SAVED_F.bits == 0x40
    assert not I.enables


def test_arm_values_that_can_be_followed() -> None:
    assert decode(0xE10F1000).copy == Copy(1, mask_register=I)
    assert decode(0xE14F1000).copy == Copy(1, mask_register=SAVED_I)
    assert decode(0xE3E01000).copy == Copy(1, constant=0xFFFFFFFF)
    assert decode(0xE3A014FF).copy == Copy(1, constant=0xFF000000)
    assert decode(0xE1A01002).copy == Copy(1, source=2)
    assert decode(0xE1A01082).copy is None
    assert decode(0x01A01002).copy is None
    add, both, either = Calculation.ADD, Calculation.AND, Calculation.OR
    assert decode(0xE38100C0).arithmetic == Arithmetic(0, either, 1, 0xC0)
    assert decode(0xE3C100C0).arithmetic == Arithmetic(0, both, 1, 0xFFFFFF3F)
    assert decode(0xE20100C0).arithmetic == Arithmetic(0, both, 1, 0xC0)
    assert decode(0xE2410001).arithmetic == Arithmetic(0, add, 1, 0xFFFFFFFF)
    assert decode(0xE0810002).arithmetic == Arithmetic(0, add, 1, other=2)
    assert decode(0xE0810082).arithmetic is None
    assert decode(0xE1A00381).arithmetic == Arithmetic(0, Calculation.SHIFT_LEFT, 1, 7)
    assert decode(0xE1A003A1).arithmetic is None
    assert decode(0x138100C0).arithmetic is None
    assert decode(0xE28F0008).arithmetic is None
    assert decode(0xE3520004).test == facts.Test(2, 4)
    assert decode(0xE2522001).test == facts.Test(2, 0)
    assert decode(0xE2422001).test is None


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        (0xF57FF04F, "condition 15"),
        (0xEE070F90, "coprocessor"),
        (0xE16F0F11, "later versions"),  # clz
        (0xE12FFF33, "later versions"),  # blx
        (0xE1200070, "later versions"),  # bkpt
        (0xE0000190, "twice"),  # mul r0, r0, r1
        (0xE8B10006, "transfers it"),  # ldm r1!, {r1, r2}
        (0xE8AD6000 | 1 << 22, "User mode"),
        (0xE5DF1000 | 0xF000, "pc"),  # ldrb pc
        (0xE1A0F213, "pc"),  # mov pc, r3, lsl r2
        (0xE320F000, "no field"),  # nop of version 6
        (0xE13DF000, "not an Armv4T"),  # teqp
    ],
)
def test_arm_refused(code: int, reason: str) -> None:
    found = decode_arm(code.to_bytes(4, "little"), AT)
    assert isinstance(found, Undecodable)
    assert reason in found.reason


def test_arm_cut_off() -> None:
    found = decode_arm(b"\x01\x00", AT)
    assert isinstance(found, Undecodable)
    assert found.code == b"\x01\x00"


# --- Thumb state ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "text", "issue", "flow"),
    [
        ("8840", "lsls r0, r1", K.SHIFT_BY_REGISTER, Flow.NEXT),
        ("c841", "rors r0, r1", K.SHIFT_BY_REGISTER, Flow.NEXT),
        ("4841", "adcs r0, r1", K.ALU, Flow.NEXT),
        ("8800", "lsls r0, r1, #2", K.ALU, Flow.NEXT),
        ("4843", "muls r0, r1, r0", K.MULTIPLY, Flow.NEXT),
        ("00f000f8", "bl #0x8004", K.CALL, Flow.CALL),
        ("7047", "bx lr", K.RETURN, Flow.RETURN),
        ("1847", "bx r3", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT),
        ("00df", "svc #0", K.SUPERVISOR_CALL, Flow.SUPERVISOR_CALL),
        ("c046", "mov r8, r8", K.ALU, Flow.NEXT),
    ],
)
def test_armv4t_thumb_by_hand(code: str, text: str, issue: K, flow: Flow) -> None:
    found = thumb(code)
    assert found.text == text
    assert found.issue is issue
    assert found.flow is flow
    assert found.fetch is not None
    assert (found.fetch.bytes, found.fetch.granule) == (2, 2)


def test_armv4t_veneer_into_arm_state() -> None:
    found = thumb("7847", 0x8004)
    assert (found.flow, found.target, found.text) == (Flow.JUMP, 0x8008, "bx pc")
    assert isinstance(decode_thumb(b"\x78\x47", 0x8002, architecture="armv4t"), Undecodable)
    assert isinstance(decode_thumb(b"\x78\x47", 0x8004), Undecodable)


def formats(code: int) -> bool:
    """The formats of the Thumb instruction set (ARM7TDMI TRM r4p1, figure 1-6), by bits."""
    top, low = code >> 8, code & 0xFF
    d, m = code & 7, code >> 3 & 7
    if code >> 13 in (0b000, 0b001, 0b011):
        return True  # shifts, add and subtract, immediates; words and bytes
    if code >> 10 == 0b010000:  # register operations; mul must name two registers
        return not (code >> 6 & 15 == 13 and d == m)
    if code >> 10 == 0b010001:
        to, source = d | code >> 4 & 8, code >> 3 & 15
        if top & 3 == 3:
            return low & 0x87 == 0 and source != 15  # bx; of pc it depends on the address
        if to < 8 and source < 8:
            return False
        return top & 3 != 1 or 15 not in (to, source)
    if code >> 11 == 0b01001 or code >> 12 in (0b0101, 0b1000, 0b1001, 0b1010):
        return True
    if top == 0b10110000:
        return True  # add to sp
    if code >> 12 == 0b1011 and code >> 9 & 3 == 0b10:
        return bool(code & 0x1FF)  # push and pop
    if code >> 12 == 0b1100:
        return bool(low)
    # Branches, what is meant to be undefined, swi.
    return code >> 12 == 0b1101 or code >> 11 == 0b11100


def test_armv4t_thumb_subset_is_that_of_the_formats() -> None:
    for code in range(0xE800):
        found = decode_thumb(code.to_bytes(2, "little"), AT + 2, architecture="armv4t")
        assert isinstance(found, Instruction) == formats(code), (hex(code), found)


@pytest.mark.parametrize("code", ["00f0 00e8", "00f0 00d8", "00f0 0098", "4ff0 0200", "bff34f8f"])
def test_armv4t_has_no_other_32_bit_encodings(code: str) -> None:
    found = decode_thumb(bytes.fromhex(code), AT, architecture="armv4t")
    assert isinstance(found, Undecodable)
