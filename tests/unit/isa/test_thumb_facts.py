"""What single instructions do, by hand from the manual (DDI 0403E, A7.7 and B5.2)."""

from __future__ import annotations

import pytest

from wcetchar.isa import decode_thumb
from wcetchar.isa.thumb_effects import SPECIAL_REGISTERS
from wcetchar.model.access import EventKind as K
from wcetchar.model.instruction import (
    Copy,
    Flow,
    Instruction,
    MaskRegister,
    MaskWrite,
    Transfer,
    Undecodable,
)

AT = 0x0800_1000


def decode(code: str, it_state: int = 0, architecture: str = "armv7-m") -> Instruction:
    found = decode_thumb(bytes.fromhex(code), AT, it_state, architecture=architecture)
    assert isinstance(found, Instruction), found
    return found


def refused(code: str, it_state: int = 0, architecture: str = "armv7-m") -> Undecodable:
    found = decode_thumb(bytes.fromhex(code), AT, it_state, architecture=architecture)
    assert isinstance(found, Undecodable), found
    assert found.reason
    return found


def mask(*registers: int) -> int:
    return sum(1 << register for register in registers)


# code in memory order, text, issue, flow, defs, uses
LISTING = [
    ("0120", "movs r0, #1", K.ALU, Flow.NEXT, [0], []),
    ("08 18", "adds r0, r1, r0", K.ALU, Flow.NEXT, [0], [0, 1]),
    ("4f f4 80 50", "mov.w r0, #0x1000", K.ALU, Flow.NEXT, [0], []),
    ("8b b0", "sub sp, #0x2c", K.ALU, Flow.NEXT, [13], [13]),
    ("c2 f2 00 00", "movt r0, #0x2000", K.ALU, Flow.NEXT, [0], [0]),
    ("01 fb 02 f0", "mul r0, r1, r2", K.MULTIPLY, Flow.NEXT, [0], [1, 2]),
    ("01 fb 02 30", "mla r0, r1, r2, r3", K.MULTIPLY_ACCUMULATE, Flow.NEXT, [0], [1, 2, 3]),
    ("a2 fb 03 01", "umull r0, r1, r2, r3", K.MULTIPLY_LONG, Flow.NEXT, [0, 1], [2, 3]),
    ("e2 fb 03 01", "umlal r0, r1, r2, r3", K.MULTIPLY_LONG, Flow.NEXT, [0, 1], [0, 1, 2, 3]),
    ("b1 fb f2 f0", "udiv r0, r1, r2", K.DIVIDE, Flow.NEXT, [0], [1, 2]),
    ("61 f3 0f 20", "bfi r0, r1, #8, #8", K.ALU, Flow.NEXT, [0], [0, 1]),
    ("01 48", "ldr r0, [pc, #4]", K.LOAD, Flow.NEXT, [0], []),
    ("d1 e9 00 23", "ldrd r2, r3, [r1]", K.LOAD_MULTIPLE, Flow.NEXT, [2, 3], [1]),
    (
        "2d e9 f0 41",
        "push.w {r4, r5, r6, r7, r8, lr}",
        K.STORE_MULTIPLE,
        Flow.NEXT,
        [13],
        [4, 5, 6, 7, 8, 13, 14],
    ),
    ("70 bd", "pop {r4, r5, r6, pc}", K.LOAD_MULTIPLE, Flow.RETURN, [4, 5, 6, 13], [13]),
    ("5d f8 04 fb", "ldr pc, [sp], #4", K.LOAD, Flow.RETURN, [13], [13]),
    ("dd f8 04 f0", "ldr.w pc, [sp, #4]", K.LOAD, Flow.JUMP_INDIRECT, [], [13]),
    ("df f8 00 f0", "ldr.w pc, [pc, #0]", K.LOAD, Flow.JUMP_INDIRECT, [], []),
    ("b0 e8 00 83", "ldm.w r0!, {r8, sb, pc}", K.LOAD_MULTIPLE, Flow.RETURN, [0, 8, 9], [0]),
    ("70 47", "bx lr", K.RETURN, Flow.RETURN, [], [14]),
    ("f7 46", "mov pc, lr", K.RETURN, Flow.RETURN, [], [14]),
    ("18 47", "bx r3", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT, [], [3]),
    ("87 46", "mov pc, r0", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT, [], [0]),
    ("87 44", "add pc, r0", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT, [], [0]),
    ("98 47", "blx r3", K.CALL_INDIRECT, Flow.CALL_INDIRECT, [14], [3]),
    ("df e8 00 f0", "tbb [pc, r0]", K.BRANCH_TABLE, Flow.JUMP_TABLE, [], [0]),
    ("51 e8 01 0f", "ldrex r0, [r1, #4]", K.LOAD_EXCLUSIVE, Flow.NEXT, [0], [1]),
    ("41 e8 01 20", "strex r0, r2, [r1, #4]", K.STORE_EXCLUSIVE, Flow.NEXT, [0], [1, 2]),
    ("bf f3 2f 8f", "clrex", K.HINT, Flow.NEXT, [], []),
    ("03 df", "svc #3", K.SUPERVISOR_CALL, Flow.SUPERVISOR_CALL, [], []),
    ("ab be", "bkpt #0xab", K.BREAKPOINT, Flow.STOP, [], []),
    ("fe de", "udf #0xfe", K.BREAKPOINT, Flow.STOP, [], []),
    ("f9 de", "udf #0xf9", K.BREAKPOINT, Flow.STOP, [], []),
    ("f0 f7 00 a0", "udf.w #0", K.BREAKPOINT, Flow.STOP, [], []),
    ("bf f3 4f 8f", "dsb sy", K.BARRIER, Flow.NEXT, [], []),
    ("bf f3 6f 8f", "isb sy", K.BARRIER, Flow.NEXT, [], []),
    ("00 bf", "nop", K.HINT, Flow.NEXT, [], []),
    ("18 bf", "it ne", K.HINT, Flow.NEXT, [], []),
    ("30 bf", "wfi", K.WAIT, Flow.NEXT, [], []),
    ("91 f8 00 f0", "pld [r1]", K.HINT, Flow.NEXT, [], [1]),
    ("ef f3 09 80", "mrs r0, psp", K.SYSTEM_REGISTER, Flow.NEXT, [0], [13]),
    ("80 f3 09 88", "msr psp, r0", K.SYSTEM_REGISTER, Flow.NEXT, [13], [0, 13]),
    ("80 f3 14 88", "msr control, r0", K.SYSTEM_REGISTER, Flow.NEXT, [13], [0, 13]),
]


@pytest.mark.parametrize(("code", "text", "issue", "flow", "defs", "uses"), LISTING)
def test_listing_by_hand(
    code: str, text: str, issue: K, flow: Flow, defs: list[int], uses: list[int]
) -> None:
    found = decode(code)
    assert found.code == bytes.fromhex(code)
    assert found.length == len(bytes.fromhex(code))
    assert found.text == text
    assert found.issue is issue
    assert found.flow is flow
    assert found.defs == mask(*defs)
    assert found.uses == mask(*uses)
    assert not found.conditional


# code, width, reads, writes, burst, registers by ascending address, base
MEMORY = [
    ("01 48", 32, 1, 0, False, [0], 15),
    ("08 88", 16, 1, 0, False, [0], 1),
    ("08 70", 8, 0, 1, False, [0], 1),
    ("91 f9 00 00", 8, 1, 0, False, [0], 1),
    ("21 f8 02 0b", 16, 0, 1, False, [0], 1),
    ("21 f8 02 0e", 16, 0, 1, False, [0], 1),  # strht
    ("f0 b5", 32, 0, 5, True, [4, 5, 6, 7, 14], 13),
    ("01 b4", 32, 0, 1, True, [0], 13),
    ("70 bd", 32, 4, 0, True, [4, 5, 6, 15], 13),
    ("0c c1", 32, 0, 2, True, [2, 3], 1),
    ("0c c9", 32, 2, 0, True, [2, 3], 1),
    ("21 e9 0c 00", 32, 0, 2, True, [2, 3], 1),  # stmdb
    ("31 e9 0c 00", 32, 2, 0, True, [2, 3], 1),  # ldmdb
    ("c1 e9 00 32", 32, 0, 2, True, [3, 2], 1),  # strd r3, r2
    ("df e9 01 01", 32, 2, 0, True, [0, 1], 15),  # ldrd from the literal pool
    ("df e8 10 f0", 16, 1, 0, False, [None], 15),  # tbh
    ("d1 e8 03 f0", 8, 1, 0, False, [None], 1),  # tbb
    ("41 e8 01 20", 32, 0, 1, False, [2], 1),
    ("c1 e8 42 3f", 8, 0, 1, False, [3], 1),
]


@pytest.mark.parametrize(("code", "width", "reads", "writes", "burst", "registers", "base"), MEMORY)
def test_memory_by_hand(
    code: str,
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
    assert memory.burst == burst
    assert memory.transfers == tuple(Transfer(register) for register in registers)
    assert memory.base == base


@pytest.mark.parametrize(
    ("code", "defs", "uses"),
    [
        ("51 f8 04 0b", [0, 1], [1]),  # ldr r0, [r1], #4
        ("51 f8 04 0d", [0, 1], [1]),  # ldr r0, [r1, #-4]!
        ("51 f8 04 0c", [0], [1]),  # ldr r0, [r1, #-4]
        ("51 f8 22 00", [0], [1, 2]),  # ldr.w r0, [r1, r2, lsl #2]
        ("41 f8 04 0b", [1], [0, 1]),  # str r0, [r1], #4
        ("0c c1", [1], [1, 2, 3]),  # stm r1!, {r2, r3}
        ("0c c9", [1, 2, 3], [1]),  # ldm r1!, {r2, r3}
        ("0e c9", [1, 2, 3], [1]),  # ldm r1, {r1, r2, r3}: the base is loaded
        ("91 e8 0c 00", [2, 3], [1]),  # ldm.w r1, {r2, r3}
        ("f2 e8 02 01", [0, 1, 2], [2]),  # ldrd r0, r1, [r2], #8
    ],
)
def test_base_registers(code: str, defs: list[int], uses: list[int]) -> None:
    found = decode(code)
    assert found.defs == mask(*defs)
    assert found.uses == mask(*uses)


@pytest.mark.parametrize(
    ("code", "target", "issue", "conditional"),
    [
        ("fe e7", AT, K.BRANCH_TAKEN, False),
        ("ff f7 fe bf", AT, K.BRANCH_TAKEN, False),
        ("01 d0", AT + 6, K.BRANCH_UNTAKEN, True),
        ("3f f4 fe af", AT, K.BRANCH_UNTAKEN, True),
        ("08 b1", AT + 6, K.BRANCH_UNTAKEN, True),
        ("08 b9", AT + 6, K.BRANCH_UNTAKEN, True),
        ("00 f0 02 f8", AT + 8, K.CALL, False),
    ],
)
def test_direct_branches(code: str, target: int, issue: K, conditional: bool) -> None:
    found = decode(code)
    assert found.target == target
    assert found.issue is issue
    assert found.conditional == conditional
    assert found.flow is (Flow.CALL if issue is K.CALL else Flow.JUMP)
    assert f"{target:#x}" in found.text


def test_a_branch_across_the_end_of_memory() -> None:
    found = decode_thumb(bytes.fromhex("fce7"), 0)  # 4 bytes back
    assert isinstance(found, Instruction)
    assert found.target == 0xFFFF_FFFC


PRIMASK, FAULTMASK, BASEPRI = MaskRegister.PRIMASK, MaskRegister.FAULTMASK, MaskRegister.BASEPRI


@pytest.mark.parametrize(
    ("code", "masks", "issue"),
    [
        ("72 b6", [MaskWrite(PRIMASK, constant=1)], K.INTERRUPT_MASK),
        ("62 b6", [MaskWrite(PRIMASK, constant=0)], K.INTERRUPT_MASK),
        ("71 b6", [MaskWrite(FAULTMASK, constant=1)], K.INTERRUPT_MASK),
        (
            "73 b6",
            [MaskWrite(PRIMASK, constant=1), MaskWrite(FAULTMASK, constant=1)],
            K.INTERRUPT_MASK,
        ),
        ("83 f3 11 88", [MaskWrite(BASEPRI, source=3)], K.SYSTEM_REGISTER),
        ("83 f3 12 88", [MaskWrite(MaskRegister.BASEPRI_MAX, source=3)], K.SYSTEM_REGISTER),
        ("83 f3 10 88", [MaskWrite(PRIMASK, source=3)], K.SYSTEM_REGISTER),
        ("83 f3 13 88", [MaskWrite(FAULTMASK, source=3)], K.SYSTEM_REGISTER),
        ("83 f3 00 88", [], K.SYSTEM_REGISTER),  # the flags
        ("83 f3 08 88", [], K.SYSTEM_REGISTER),  # msp
    ],
)
def test_mask_writes(code: str, masks: list[MaskWrite], issue: K) -> None:
    found = decode(code)
    assert found.masks == tuple(masks)
    assert found.issue is issue


@pytest.mark.parametrize(
    ("code", "copy"),
    [
        ("2a 20", Copy(0, constant=42)),
        ("4f f0 50 03", Copy(3, constant=0x50)),
        ("4f f0 ff 33", Copy(3, constant=0xFFFF_FFFF)),
        ("6f f0 00 03", Copy(3, constant=0xFFFF_FFFF)),  # mvn r3, #0
        ("41 f2 34 23", Copy(3, constant=0x1234)),
        ("0b 46", Copy(3, source=1)),
        ("0b 00", Copy(3, source=1)),  # movs r3, r1
        ("4f ea 01 03", Copy(3, source=1)),
        ("85 46", Copy(13, source=0)),
        ("ef f3 11 83", Copy(3, mask_register=BASEPRI)),
        ("ef f3 12 83", Copy(3, mask_register=BASEPRI)),  # basepri_max
        ("ef f3 10 83", Copy(3, mask_register=PRIMASK)),
        ("ef f3 13 83", Copy(3, mask_register=FAULTMASK)),
        ("ef f3 05 83", None),  # ipsr
        ("c2 f2 00 03", None),  # movt
        ("7b 46", None),  # mov r3, pc
        ("cb 43", None),  # mvns r3, r1
        ("4b 00", None),  # lsls r3, r1, #1
    ],
)
def test_copies(code: str, copy: Copy | None) -> None:
    found = decode(code)
    assert found.copy == copy
    assert found.defs & ~mask(3, 0, 13) == 0


EQ_LAST, EQ_FIRST_OF_TWO = 0x08, 0x04


def test_predicated_instructions() -> None:
    found = decode("01 20", EQ_LAST)
    assert found.text == "moveq r0, #1"
    assert found.conditional
    assert found.copy is None
    assert found.defs == found.uses == mask(0)
    assert decode("51 f8 04 0b", EQ_LAST).uses == mask(0, 1)
    assert decode("18 43", EQ_LAST).text == "orreq r0, r3"
    assert decode("50 f0 01 00", EQ_LAST).text == "orrseq r0, r0, #1"
    msr = decode("83 f3 11 88", EQ_LAST)
    assert msr.conditional
    assert msr.masks == (MaskWrite(BASEPRI, source=3),)
    # bkpt executes whatever the condition.
    assert not decode("00 be", EQ_LAST).conditional


@pytest.mark.parametrize(
    ("code", "flow"),
    [
        ("b0 e8 f0 81", Flow.RETURN),  # ldm.w r0!, {r4-r8, pc}
        ("10 bd", Flow.RETURN),
        ("70 47", Flow.RETURN),
        ("f7 46", Flow.RETURN),
        ("00 f0 02 f8", Flow.CALL),
        ("98 47", Flow.CALL_INDIRECT),
        ("df e8 00 f0", Flow.JUMP_TABLE),
        ("fe e7", Flow.JUMP),
        ("dd f8 04 f0", Flow.JUMP_INDIRECT),
    ],
)
def test_branches_stand_last_in_an_it_block(code: str, flow: Flow) -> None:
    found = decode(code, EQ_LAST)
    assert found.flow is flow
    assert found.conditional
    assert "IT block" in refused(code, EQ_FIRST_OF_TWO).reason


@pytest.mark.parametrize("code", ["01 d0", "08 b1", "72 b6", "18 bf"])
def test_never_in_an_it_block(code: str) -> None:
    assert "IT block" in refused(code, EQ_LAST).reason


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("11 ee 10 0f", "coprocessor"),  # mrc
        ("30 ee 20 0a", "floating-point"),  # vadd.f32 s0, s0, s1
        ("2d ed 02 8b", "floating-point"),  # vpush {d8}
        ("81 fa 12 f0", "DSP"),  # qadd16-like: qadd8 and its family
        ("11 fb 02 f0", "DSP"),  # smulbb
        ("8c e8 ff ff", "not an Armv7-M"),
        ("04 47", "bxns"),
        ("01 47", "UNPREDICTABLE"),
        ("d1 e8 7f 23", "not an Armv7-M"),  # ldrexd
    ],
)
def test_reasons_for_what_is_not_decoded(code: str, word: str) -> None:
    found = refused(code)
    assert word in found.reason
    assert found.code == bytes.fromhex(code)


@pytest.mark.parametrize("code", ["", "00", "00 f0", "00 f0 00"])
def test_a_range_that_ends_inside_an_instruction(code: str) -> None:
    assert "ends inside" in refused(code).reason


@pytest.mark.parametrize(
    "code",
    [
        "18 bf",  # it
        "08 b1",  # cbz
        "71 b6",  # cpsid f
        "4f f0 50 03",  # mov.w
        "b1 fb f2 f0",  # udiv
        "83 f3 11 88",  # msr basepri
        "ef f3 12 83",  # mrs basepri_max
        "00 f0 00 80",  # b<c>.w
        "ff f7 fe bf",  # b.w
        "51 e8 01 0f",  # ldrex
    ],
)
def test_not_in_armv6m(code: str) -> None:
    assert refused(code, architecture="armv6-m").reason == "not an Armv6-M instruction"
    decode(code)


@pytest.mark.parametrize(
    "code",
    [
        "00 f0 02 f8",  # bl
        "bf f3 4f 8f",
        "bf f3 5f 8f",
        "bf f3 6f 8f",
        "83 f3 10 88",
        "ef f3 09 80",
        "f0 f7 00 a0",  # udf.w
        "72 b6",
        "f0 b5",
        "30 bf",
        "40 bf",
        "48 43",
    ],
)
def test_in_armv6m(code: str) -> None:
    decode(code, architecture="armv6-m")


@pytest.mark.parametrize(("name", "number"), SPECIAL_REGISTERS.items())
def test_special_registers_by_their_encoding(name: str, number: int) -> None:
    assert decode(f"ef f3 {number:02x} 82").text == f"mrs r2, {name}"
    flags = "_nzcvq" if number < 4 else ""
    assert decode(f"82 f3 {number:02x} 88").text == f"msr {name}{flags}, r2"


@pytest.mark.parametrize("number", [4, 10, 15, 21, 0x90, 0x94])
def test_special_registers_of_other_architectures(number: int) -> None:
    refused(f"ef f3 {number:02x} 82")
    refused(f"82 f3 {number:02x} 88")
