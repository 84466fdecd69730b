"""What single RISC-V instructions do, by hand from the manual (Volume I, chapters 2, 7, 8, 9 and
16; Volume II, 3.1.6.1 and 3.3)."""

from __future__ import annotations

import pytest

from wcetchar.isa import decode_riscv
from wcetchar.isa.riscv_compressed import COMPRESSED
from wcetchar.isa.riscv_effects import EFFECTS
from wcetchar.isa.riscv_encoding import encoding
from wcetchar.model.access import EventKind as K
from wcetchar.model.instruction import (
    RISCV_REGISTERS,
    Arithmetic,
    Calculation,
    Copy,
    Flow,
    Instruction,
    MaskOperation,
    MaskRegister,
    MaskWrite,
    Transfer,
    Undecodable,
)
from wcetchar.model.instruction import Test as Comparison

AT = 0x8000_1000
RA, SP, T0, S0, A0, A1, A2, A5 = 1, 2, 5, 8, 10, 11, 12, 15


def decode(code: str, architecture: str = "rv32imac_zicsr_zifencei") -> Instruction:
    found = decode_riscv(bytes.fromhex(code), AT, architecture=architecture)
    assert isinstance(found, Instruction), found
    return found


def refused(code: str, architecture: str = "rv32imac_zicsr_zifencei") -> Undecodable:
    found = decode_riscv(bytes.fromhex(code), AT, architecture=architecture)
    assert isinstance(found, Undecodable), found
    assert found.reason
    return found


def mask(*registers: int) -> int:
    return sum(1 << register for register in registers)


# code in memory order, text, issue, flow, defs, uses
LISTING = [
    ("1305a002", "addi a0, zero, 42", K.ALU, Flow.NEXT, [A0], []),
    ("0111", "c.addi sp, -32", K.ALU, Flow.NEXT, [SP], [SP]),
    ("2e85", "c.mv a0, a1", K.ALU, Flow.NEXT, [A0], [A1]),
    ("0100", "c.nop", K.ALU, Flow.NEXT, [], []),
    ("13000000", "addi zero, zero, 0", K.ALU, Flow.NEXT, [], []),
    ("7d75", "c.lui a0, 0xfffff", K.ALU, Flow.NEXT, [A0], []),
    ("17150000", "auipc a0, 0x1", K.ALU, Flow.NEXT, [A0], []),
    ("0325c4ff", "lw a0, -4(s0)", K.LOAD, Flow.NEXT, [A0], [S0]),
    ("c841", "c.lw a0, 4(a1)", K.LOAD, Flow.NEXT, [A0], [A1]),
    ("90c3", "c.sw a2, 0(a5)", K.STORE, Flow.NEXT, [], [A2, A5]),
    ("b240", "c.lwsp ra, 12(sp)", K.LOAD, Flow.NEXT, [RA], [SP]),
    ("06c6", "c.swsp ra, 12(sp)", K.STORE, Flow.NEXT, [], [RA, SP]),
    ("03902500", "lh zero, 2(a1)", K.LOAD, Flow.NEXT, [], [A1]),
    ("23a40500", "sw zero, 8(a1)", K.STORE, Flow.NEXT, [], [A1]),
    ("3385c502", "mul a0, a1, a2", K.MULTIPLY, Flow.NEXT, [A0], [A1, A2]),
    ("33b5c502", "mulhu a0, a1, a2", K.MULTIPLY_LONG, Flow.NEXT, [A0], [A1, A2]),
    ("33d5c502", "divu a0, a1, a2", K.DIVIDE, Flow.NEXT, [A0], [A1, A2]),
    ("33e5c502", "rem a0, a1, a2", K.DIVIDE, Flow.NEXT, [A0], [A1, A2]),
    ("2fa50510", "lr.w a0, (a1)", K.LOAD_EXCLUSIVE, Flow.NEXT, [A0], [A1]),
    ("2fa5c518", "sc.w a0, a2, (a1)", K.STORE_EXCLUSIVE, Flow.NEXT, [A0], [A1, A2]),
    ("2fa5c500", "amoadd.w a0, a2, (a1)", K.LOAD_EXCLUSIVE, Flow.NEXT, [A0], [A1, A2]),
    ("2fa0c50c", "amoswap.w.aq zero, a2, (a1)", K.LOAD_EXCLUSIVE, Flow.NEXT, [], [A1, A2]),
    ("2fa00546", "amoor.w.aqrl zero, zero, (a1)", K.LOAD_EXCLUSIVE, Flow.NEXT, [], [A1]),
    ("73000000", "ecall", K.SUPERVISOR_CALL, Flow.SUPERVISOR_CALL, [], []),
    ("73001000", "ebreak", K.BREAKPOINT, Flow.STOP, [], []),
    ("0290", "c.ebreak", K.BREAKPOINT, Flow.STOP, [], []),
    ("0000", "c.unimp", K.BREAKPOINT, Flow.STOP, [], []),
    ("731000c0", "unimp", K.BREAKPOINT, Flow.STOP, [], []),
    ("73002030", "mret", K.RETURN, Flow.RETURN, [], []),
    ("73005010", "wfi", K.WAIT, Flow.NEXT, [], []),
    ("0f00f00f", "fence iorw, iorw", K.BARRIER, Flow.NEXT, [], []),
    ("0f003003", "fence rw, rw", K.BARRIER, Flow.NEXT, [], []),
    ("0f003083", "fence.tso", K.BARRIER, Flow.NEXT, [], []),
    ("0f100000", "fence.i", K.BARRIER, Flow.NEXT, [], []),
    ("73110134", "csrrw sp, mscratch, sp", K.SYSTEM_REGISTER, Flow.NEXT, [SP], [SP]),
    ("732540f1", "csrrs a0, mhartid, zero", K.SYSTEM_REGISTER, Flow.NEXT, [A0], []),
    ("73105530", "csrrw zero, mtvec, a0", K.SYSTEM_REGISTER, Flow.NEXT, [], [A0]),
    ("736000c0", "csrrsi zero, cycle, 0", K.SYSTEM_REGISTER, Flow.NEXT, [], []),
]


@pytest.mark.parametrize(("code", "text", "issue", "flow", "defs", "uses"), LISTING)
def test_riscv_listing_by_hand(
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
    assert not found.sets_flags
    assert found.condition == ""


# Which jumps call and return: table 2.1 of Volume I, by rd and rs1 being x1 or x5.
JUMPS = [
    ("ef000000", K.CALL, Flow.CALL, [RA], []),  # jal ra
    ("0120", K.CALL, Flow.CALL, [RA], []),  # c.jal
    ("ef020000", K.CALL, Flow.CALL, [T0], []),  # jal t0
    ("6f000000", K.BRANCH_TAKEN, Flow.JUMP, [], []),  # jal zero
    ("01a0", K.BRANCH_TAKEN, Flow.JUMP, [], []),  # c.j
    ("6f050000", K.BRANCH_TAKEN, Flow.JUMP, [A0], []),  # jal a0
    ("8280", K.RETURN, Flow.RETURN, [], [RA]),  # c.jr ra
    ("67800000", K.RETURN, Flow.RETURN, [], [RA]),  # jalr zero, 0(ra)
    ("67808000", K.RETURN, Flow.RETURN, [], [RA]),  # jalr zero, 8(ra)
    ("8282", K.RETURN, Flow.RETURN, [], [T0]),  # c.jr t0
    ("67850000", K.RETURN, Flow.RETURN, [A0], [RA]),  # jalr a0, 0(ra)
    ("8287", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT, [], [A5]),  # c.jr a5
    ("67808700", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT, [], [A5]),  # jalr zero, 8(a5)
    ("67850500", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT, [A0], [A1]),  # jalr a0, 0(a1)
    ("67000000", K.BRANCH_TAKEN, Flow.JUMP_INDIRECT, [], []),  # jalr zero, 0(zero)
    ("8297", K.CALL_INDIRECT, Flow.CALL_INDIRECT, [RA], [A5]),  # c.jalr a5
    ("e7820700", K.CALL_INDIRECT, Flow.CALL_INDIRECT, [T0], [A5]),  # jalr t0, 0(a5)
    ("e7800200", K.CALL_INDIRECT, Flow.CALL_INDIRECT, [RA], [T0]),  # jalr ra, 0(t0)
    ("8292", K.CALL_INDIRECT, Flow.CALL_INDIRECT, [RA], [T0]),  # c.jalr t0
    ("e7800000", K.CALL_INDIRECT, Flow.CALL_INDIRECT, [RA], [RA]),  # jalr ra, 0(ra)
]


@pytest.mark.parametrize(("code", "issue", "flow", "defs", "uses"), JUMPS)
def test_riscv_jumps(code: str, issue: K, flow: Flow, defs: list[int], uses: list[int]) -> None:
    found = decode(code)
    assert (found.issue, found.flow) == (issue, flow)
    assert (found.defs, found.uses) == (mask(*defs), mask(*uses))
    assert not found.conditional
    direct = flow in (Flow.JUMP, Flow.CALL)
    assert found.target == (AT if direct else None)


@pytest.mark.parametrize(
    ("code", "target", "uses", "test"),
    [
        ("01c5", AT + 8, [A0], Comparison(A0, 0, equal_when_taken=True)),  # c.beqz
        ("75fd", AT - 4, [A0], Comparison(A0, 0, equal_when_taken=False)),  # c.bnez
        ("63040500", AT + 8, [A0], Comparison(A0, 0, equal_when_taken=True)),  # beq a0, zero
        ("6304a000", AT + 8, [A0], Comparison(A0, 0, equal_when_taken=True)),  # beq zero, a0
        ("e31405fe", AT - 24, [A0], Comparison(A0, 0, equal_when_taken=False)),  # bne a0, zero
        ("6304b500", AT + 8, [A0, A1], None),  # beq a0, a1
        ("63040000", AT + 8, [], None),  # beq zero, zero
        ("63440500", AT + 8, [A0], None),  # blt a0, zero
    ],
)
def test_riscv_branches(code: str, target: int, uses: list[int], test: Comparison | None) -> None:
    found = decode(code)
    assert found.target == target
    assert found.issue is K.BRANCH_UNTAKEN
    assert found.flow is Flow.JUMP
    assert found.conditional
    assert found.condition == ""
    assert (found.defs, found.uses) == (0, mask(*uses))
    assert found.test == test
    assert f"{target:#x}" in found.text


def test_riscv_a_branch_across_the_end_of_memory() -> None:
    found = decode_riscv(bytes.fromhex("75fd"), 2)  # 4 bytes back
    assert isinstance(found, Instruction)
    assert found.target == 0xFFFF_FFFE


# code, width, reads, writes, registers in order, base
MEMORY = [
    ("0325c4ff", 32, 1, 0, [A0], S0),
    ("03c51500", 8, 1, 0, [A0], A1),  # lbu
    ("03851500", 8, 1, 0, [A0], A1),  # lb
    ("03952500", 16, 1, 0, [A0], A1),  # lh
    ("03d52500", 16, 1, 0, [A0], A1),  # lhu
    ("03902500", 16, 1, 0, [None], A1),  # lh zero
    ("a380a500", 8, 0, 1, [A0], A1),  # sb
    ("2391a500", 16, 0, 1, [A0], A1),  # sh
    ("23a40500", 32, 0, 1, [0], A1),  # sw zero: the constant
    ("03254000", 32, 1, 0, [A0], 0),  # lw a0, 4(zero)
    ("c841", 32, 1, 0, [A0], A1),  # c.lw
    ("90c3", 32, 0, 1, [A2], A5),  # c.sw
    ("b240", 32, 1, 0, [RA], SP),  # c.lwsp
    ("06c6", 32, 0, 1, [RA], SP),  # c.swsp
    ("2fa50510", 32, 1, 0, [A0], A1),  # lr.w
    ("2fa5c518", 32, 0, 1, [A2], A1),  # sc.w
    ("2fa5c500", 32, 1, 1, [A0, None], A1),  # amoadd.w
    ("2fa5c508", 32, 1, 1, [A0, A2], A1),  # amoswap.w
    ("2fa0c50c", 32, 1, 1, [None, A2], A1),  # amoswap.w.aq zero
]


@pytest.mark.parametrize(("code", "width", "reads", "writes", "registers", "base"), MEMORY)
def test_riscv_memory_by_hand(
    code: str, width: int, reads: int, writes: int, registers: list[int | None], base: int
) -> None:
    memory = decode(code).memory
    assert memory is not None
    assert (memory.width, memory.reads, memory.writes) == (width, reads, writes)
    assert not memory.burst
    assert memory.transfers == tuple(Transfer(register) for register in registers)
    assert memory.base == base


MIE, MPIE, ENABLES = MaskRegister.MSTATUS_MIE, MaskRegister.MSTATUS_MPIE, MaskRegister.MIE
WRITE, SET, CLEAR = MaskOperation.WRITE, MaskOperation.SET, MaskOperation.CLEAR


@pytest.mark.parametrize(
    ("code", "masks"),
    [
        # csrrci a0, mstatus, 8
        ("73750430", [MaskWrite(MIE, constant=8, operation=CLEAR)]),
        ("73700430", [MaskWrite(MIE, constant=8, operation=CLEAR)]),
        ("73600430", [MaskWrite(MIE, constant=8, operation=SET)]),
        ("73600130", []),  # csrrsi mstatus, 2: another field
        ("73600030", []),  # csrrsi mstatus, 0: a read
        ("73500030", [MaskWrite(MIE, constant=0), MaskWrite(MPIE, constant=0)]),  # csrrwi 0
        ("73500430", [MaskWrite(MIE, constant=8), MaskWrite(MPIE, constant=8)]),  # csrrwi 8
        ("73250030", []),  # csrrs a0, mstatus, zero
        ("73100530", [MaskWrite(MIE, source=A0), MaskWrite(MPIE, source=A0)]),  # csrrw
        ("73200530", [MaskWrite(r, source=A0, operation=SET) for r in (MIE, MPIE)]),  # csrrs
        ("73300530", [MaskWrite(r, source=A0, operation=CLEAR) for r in (MIE, MPIE)]),  # csrrc
        ("f3920230", [MaskWrite(MIE, source=T0), MaskWrite(MPIE, source=T0)]),  # csrrw t0, t0
        ("73100030", [MaskWrite(MIE, constant=0), MaskWrite(MPIE, constant=0)]),  # csrrw zero
        ("73254030", []),  # csrrs a0, mie, zero
        ("73104530", [MaskWrite(ENABLES, source=A0)]),  # csrrw zero, mie, a0
        ("73304530", [MaskWrite(ENABLES, source=A0, operation=CLEAR)]),  # csrrc zero, mie, a0
        ("73604430", [MaskWrite(ENABLES, constant=8, operation=SET)]),  # csrrsi mie, 8
        ("73604030", []),  # csrrsi mie, 0
        # mret: MIE from MPIE, MPIE is set.
        ("73002030", [MaskWrite(MIE, mask_register=MPIE), MaskWrite(MPIE, constant=0x80)]),
        ("73110134", []),  # mscratch
        ("73105530", []),  # mtvec
    ],
)
def test_riscv_mask_writes(code: str, masks: list[MaskWrite]) -> None:
    found = decode(code)
    assert found.masks == tuple(masks)
    assert found.mask == (masks[0] if masks else None)


def test_riscv_bits_of_mask_registers() -> None:
    assert [register.bits for register in (MIE, MPIE, ENABLES)] == [0x8, 0x80, 0xFFFF_FFFF]
    assert all(register.enables for register in (MIE, MPIE, ENABLES))
    assert not MaskRegister.PRIMASK.enables
    assert MaskRegister.BASEPRI.bits == 0xFF
    assert MaskWrite(MPIE, source=A0).bits == 0x80


@pytest.mark.parametrize(
    ("code", "copy"),
    [
        ("1305a002", Copy(A0, constant=42)),
        ("7d55", Copy(A0, constant=0xFFFF_FFFF)),  # c.li a0, -1
        ("37553412", Copy(A0, constant=0x1234_5000)),
        ("7d75", Copy(A0, constant=0xFFFF_F000)),  # c.lui
        ("17150000", Copy(A0, constant=AT + 0x1000)),
        ("17f5ffff", Copy(A0, constant=AT - 0x1000)),
        ("2e85", Copy(A0, source=A1)),
        ("13850500", Copy(A0, source=A1)),  # addi a0, a1, 0
        ("33850500", Copy(A0, source=A1)),  # add a0, a1, zero
        ("3365b000", Copy(A0, source=A1)),  # or a0, zero, a1
        ("33050000", Copy(A0, constant=0)),  # add a0, zero, zero
        ("13655000", Copy(A0, constant=5)),  # ori a0, zero, 5
        ("13c50500", Copy(A0, source=A1)),  # xori a0, a1, 0
        ("13758000", Copy(A0, constant=0)),  # andi a0, zero, 8
        ("33950500", Copy(A0, source=A1)),  # sll a0, a1, zero
        ("3315a000", Copy(A0, constant=0)),  # sll a0, zero, a0
        ("73250030", Copy(A0, mask_register=MIE)),
        ("73750430", Copy(A0, mask_register=MIE)),  # csrrci a0, mstatus, 8
        ("f3920230", Copy(T0, mask_register=MIE)),  # csrrw t0, mstatus, t0
        ("73254030", Copy(A0, mask_register=ENABLES)),
        ("73700430", None),  # into zero
        ("732540f1", None),  # mhartid
        ("13c5f5ff", None),  # xori a0, a1, -1
        ("13851500", None),  # addi a0, a1, 1
        ("33c5c500", None),  # xor a0, a1, a2
        ("33850540", None),  # sub a0, a1, zero
        ("13f58500", None),  # andi a0, a1, 8
        ("0505", None),  # c.addi a0, 1
        ("2e95", None),  # c.add a0, a1
        ("0100", None),
        ("1500", None),  # c.nop 5
    ],
)
def test_riscv_copies(code: str, copy: Copy | None) -> None:
    assert decode(code).copy == copy


AND, ADD = Calculation.AND, Calculation.ADD


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("13f58500", Arithmetic(A0, AND, A1, 8)),
        ("2189", Arithmetic(A0, AND, A0, 8)),  # c.andi
        ("13f575ff", Arithmetic(A0, AND, A1, 0xFFFF_FFF7)),
        ("13758000", None),  # of zero
        ("13708500", None),  # into zero
        ("3375b500", Arithmetic(A0, AND, A0, other=A1)),  # and a0, a0, a1
        ("3375a000", None),  # and a0, zero, a0
        ("13858500", Arithmetic(A0, ADD, A1, 8)),  # addi a0, a1, 8
        ("138505ff", Arithmetic(A0, ADD, A1, 0xFFFF_FFF0)),  # addi a0, a1, -16
        ("2e95", Arithmetic(A0, ADD, A0, other=A1)),  # c.add a0, a1
        ("1205", Arithmetic(A0, Calculation.SHIFT_LEFT, A0, 4)),  # c.slli a0, 4
        ("3315b500", Arithmetic(A0, Calculation.SHIFT_LEFT, A0, other=A1)),  # sll a0, a0, a1
        ("33150500", None),  # sll a0, a0, zero
        ("3315a000", None),  # sll a0, zero, a0
        ("13e58500", Arithmetic(A0, Calculation.OR, A1, 8)),  # ori a0, a1, 8
        ("13c58500", None),  # xori a0, a1, 8
        ("3305b540", None),  # sub a0, a0, a1
    ],
)
def test_riscv_arithmetic(code: str, expected: Arithmetic | None) -> None:
    assert decode(code).arithmetic == expected


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("731045f1", "read-only"),  # csrrw zero, mhartid, a0
        ("73e000c0", "read-only"),  # csrrsi zero, cycle, 1
        ("73250010", "supervisor"),  # csrrs a0, sstatus, zero
        ("73253000", "floating-point"),  # csrrs a0, fcsr, zero
        ("73107534", "mask interrupts"),  # csrrw zero, 0x347, a0 (mintthresh)
        ("7310057c", "mask interrupts"),  # csrrw zero, 0x7c0, a0
        ("73002010", "privileged"),  # sret
        ("73000012", "privileged"),  # sfence.vma
        ("0f008003", "RV32IMAC"),  # fence with a reserved mode would be 4..7, 9..15
        ("07250500", "floating-point"),  # flw fa0, 0(a0)
        ("53755500", "floating-point"),  # fadd.s
        ("1061", "floating-point"),  # c.flw
        ("57700508", "vector"),
        ("3b05b500", "RV64"),  # addw
        ("03350500", "RV32IMAC"),  # ld
        ("0b000000", "custom"),
        ("0184", None),  # c.srli of 0 is a HINT
        ("0194", "reserved"),  # c.srai of 32
    ],
)
def test_riscv_refusals(code: str, words: str | None) -> None:
    if words is None:
        decode(code)
    elif code == "0f008003":
        # The sets are 0011 and 1000: defined. With the mode 0001 it is not.
        decode(code)
        assert words in refused("0f008013").reason
    else:
        assert words in refused(code).reason


@pytest.mark.parametrize(
    ("code", "architecture", "extension"),
    [
        ("3385c502", "rv32iac", "M or Zmmul"),
        ("33d5c502", "rv32iac_zmmul", "M"),
        ("2fa5c500", "rv32imc", "A or Zaamo"),
        ("2fa50510", "rv32imc", "A or Zalrsc"),
        ("0100", "rv32im", "C or Zca"),
        ("0290", "rv32im", "C or Zca"),
        ("0f100000", "rv32imc", "Zifencei"),
    ],
)
def test_riscv_extensions_are_checked(code: str, architecture: str, extension: str) -> None:
    decode(code)
    reason = refused(code, architecture).reason
    assert f"belongs to the extension {extension}, " in reason


def test_riscv_extensions_that_consist_of_others() -> None:
    decode("3385c502", "rv32i_zmmul")
    decode("2fa5c500", "rv32i_zaamo")
    decode("2fa50510", "rv32i_zalrsc")
    decode("0100", "rv32i_zca")
    decode("73700430", "rv32i")  # machine mode has Zicsr
    decode("0f100000", "rv32i2p0")  # the base had it up to 2.0
    refused("0f100000", "rv32i2p1")


def test_riscv_register_roles() -> None:
    names = RISCV_REGISTERS.names
    assert len(names) == len(set(names)) == 32
    assert [names[n] for n in (0, 1, 2, 5, 8, 10, 18, 28, 31)] == [
        "zero", "ra", "sp", "t0", "s0", "a0", "s2", "t3", "t6",
    ]  # fmt: skip
    saved = [name for n, name in enumerate(names) if RISCV_REGISTERS.saved_by_callee >> n & 1]
    assert saved == [f"s{n}" for n in range(12)]


def test_riscv_rows_are_well_formed() -> None:
    assert all(row.issue.is_issue for row in EFFECTS.values())
    assert all(encoding(row.encoding, 32).value & 3 == 3 for row in EFFECTS.values())
    assert all(encoding(row.encoding, 16).value & 3 != 3 for row in COMPRESSED.values())
    for wrong in (
        "0110011",
        "imm[11:0] rs1 000 rd 00100111",
        "who[4:0]x",
        "imm rs1 000 rd 0010011",
    ):
        with pytest.raises(ValueError, match=r"\S"):
            encoding(wrong, 32)
