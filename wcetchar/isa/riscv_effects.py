"""What each RV32IMA instruction does, with Zicsr and Zifencei: one row for each mnemonic.

Source: The RISC-V Instruction Set Manual, Volume I: Unprivileged Architecture (20191213), chapters
2 (RV32I), 3 (Zifencei), 7 (M), 8 (A), 9 (Zicsr), and the listings of chapter 24; Volume II:
Privileged Architecture (20211203), 3.3 (ecall, ebreak, mret, wfi). The compressed instructions
stand in ``riscv_compressed``.

A row gives the encoding as the manual prints it (``riscv_encoding`` reads it) and the operands as
an assembler writes them. In operands, ``imm`` is printed in decimal, ``shamt`` in hexadecimal,
``upper`` is the immediate's bits 31 to 12, ``target`` the address that it leads to.

What is written and read follows from the fields: ``rd`` is written, ``rs1`` and ``rs2`` are read.
Writing x0 does nothing, which makes the HINTs of the manual (2.9) the harmless instructions that
they are; their issue class is that of the instruction whose encoding they use.

Reserved bits must be as printed: a fence with registers or with a reserved mode has no row,
although the manual has cores ignore them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Final

from wcetchar.model.access import EventKind as K
from wcetchar.model.instruction import Flow


class Moves(Enum):
    """How the destination follows from the sources, where that is worth following."""

    # The one operand where the other is zero.
    ADD = "the sum"
    OR = "the bits of both"
    XOR = "the bits of either"
    SHIFT_LEFT = "bits of a register, moved up"
    UPPER = "the immediate"
    UPPER_PC = "the immediate, added to the address"
    AND = "bits that two have in common"
    CSR = "a control and status register"


@dataclass(frozen=True, slots=True)
class Memory:
    """One data access, or an atomic read and write of one place."""

    width: int
    reads: bool = False
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Effect:
    """One row. ``extension``: the smallest one that has the instruction."""

    mnemonic: str
    issue: K
    encoding: str
    operands: str = ""
    extension: str = "i"
    memory: Memory | None = None
    flow: Flow = Flow.NEXT
    moves: Moves | None = None

    @property
    def conditional(self) -> bool:
        """A branch that may fall through."""
        return self.issue is K.BRANCH_UNTAKEN


R8, R16, R32 = (Memory(width, reads=True) for width in (8, 16, 32))
W8, W16, W32 = (Memory(width, writes=True) for width in (8, 16, 32))
RW32 = Memory(32, reads=True, writes=True)


def _register(mnemonic: str, funct: str, moves: Moves | None = None) -> Effect:
    high, low = funct.split()
    return Effect(mnemonic, K.ALU, f"{high} rs2 rs1 {low} rd 0110011", "rd, rs1, rs2", moves=moves)


def _immediate(mnemonic: str, funct: str, moves: Moves | None = None) -> Effect:
    return Effect(mnemonic, K.ALU, f"imm[11:0] rs1 {funct} rd 0010011", "rd, rs1, imm", moves=moves)


def _shift(mnemonic: str, funct: str, moves: Moves | None = None) -> Effect:
    high, low = funct.split()
    bits = f"{high} shamt rs1 {low} rd 0010011"
    return Effect(mnemonic, K.ALU, bits, "rd, rs1, shamt", moves=moves)


def _branch(mnemonic: str, funct: str) -> Effect:
    return Effect(
        mnemonic,
        K.BRANCH_UNTAKEN,
        f"imm[12|10:5] rs2 rs1 {funct} imm[4:1|11] 1100011",
        "rs1, rs2, target",
        flow=Flow.JUMP,
    )


def _load(mnemonic: str, funct: str, memory: Memory) -> Effect:
    bits = f"imm[11:0] rs1 {funct} rd 0000011"
    return Effect(mnemonic, K.LOAD, bits, "rd, imm(rs1)", memory=memory)


def _store(mnemonic: str, funct: str, memory: Memory) -> Effect:
    bits = f"imm[11:5] rs2 rs1 {funct} imm[4:0] 0100011"
    return Effect(mnemonic, K.STORE, bits, "rs2, imm(rs1)", memory=memory)


def _multiply(mnemonic: str, funct: str, issue: K, extension: str) -> Effect:
    bits = f"0000001 rs2 rs1 {funct} rd 0110011"
    return Effect(mnemonic, issue, bits, "rd, rs1, rs2", extension)


def _atomic(mnemonic: str, funct: str) -> Effect:
    # There is no issue class of their own: a profile prices lr.w and these together, at the dearer.
    bits = f"{funct} aq rl rs2 rs1 010 rd 0101111"
    return Effect(mnemonic, K.LOAD_EXCLUSIVE, bits, "rd, rs2, (rs1)", "zaamo", RW32)


def _csr(mnemonic: str, funct: str, operand: str) -> Effect:
    field = "zimm" if operand == "imm" else operand
    bits = f"csr {field} {funct} rd 1110011"
    return Effect(
        mnemonic, K.SYSTEM_REGISTER, bits, f"rd, csr, {operand}", "zicsr", moves=Moves.CSR
    )


def _system(mnemonic: str, issue: K, funct: str, flow: Flow = Flow.NEXT) -> Effect:
    return Effect(mnemonic, issue, f"{funct} 00000 000 00000 1110011", flow=flow)


_ROWS: Final = (
    Effect("lui", K.ALU, "imm[31:12] rd 0110111", "rd, upper", moves=Moves.UPPER),
    Effect("auipc", K.ALU, "imm[31:12] rd 0010111", "rd, upper", moves=Moves.UPPER_PC),
    # Jumps. Which of them call and return depends on the link register: ``riscv_apply``.
    Effect("jal", K.BRANCH_TAKEN, "imm[20|10:1|11|19:12] rd 1101111", "rd, target", flow=Flow.JUMP),
    Effect(
        "jalr",
        K.BRANCH_TAKEN,
        "imm[11:0] rs1 000 rd 1100111",
        "rd, imm(rs1)",
        flow=Flow.JUMP_INDIRECT,
    ),
    _branch("beq", "000"),
    _branch("bne", "001"),
    _branch("blt", "100"),
    _branch("bge", "101"),
    _branch("bltu", "110"),
    _branch("bgeu", "111"),
    _load("lb", "000", R8),
    _load("lh", "001", R16),
    _load("lw", "010", R32),
    _load("lbu", "100", R8),
    _load("lhu", "101", R16),
    _store("sb", "000", W8),
    _store("sh", "001", W16),
    _store("sw", "010", W32),
    _immediate("addi", "000", Moves.ADD),
    _immediate("slti", "010"),
    _immediate("sltiu", "011"),
    _immediate("xori", "100", Moves.XOR),
    _immediate("ori", "110", Moves.OR),
    _immediate("andi", "111", Moves.AND),
    _shift("slli", "0000000 001", Moves.SHIFT_LEFT),
    _shift("srli", "0000000 101"),
    _shift("srai", "0100000 101"),
    _register("add", "0000000 000", Moves.ADD),
    _register("sub", "0100000 000"),
    _register("sll", "0000000 001", Moves.SHIFT_LEFT),
    _register("slt", "0000000 010"),
    _register("sltu", "0000000 011"),
    _register("xor", "0000000 100", Moves.XOR),
    _register("srl", "0000000 101"),
    _register("sra", "0100000 101"),
    _register("or", "0000000 110", Moves.OR),
    _register("and", "0000000 111", Moves.AND),
    Effect("fence", K.BARRIER, "0000 pred succ 00000 000 00000 0001111", "pred, succ"),
    Effect("fence.tso", K.BARRIER, "1000 0011 0011 00000 000 00000 0001111"),
    Effect("fence.i", K.BARRIER, "000000000000 00000 001 00000 0001111", extension="zifencei"),
    # Environment. ebreak stops: what a debugger or a semihosting host does there, and how long
    # that takes, is no part of the program.
    _system("ecall", K.SUPERVISOR_CALL, "000000000000", Flow.SUPERVISOR_CALL),
    _system("ebreak", K.BREAKPOINT, "000000000001", Flow.STOP),
    _system("mret", K.RETURN, "001100000010", Flow.RETURN),
    _system("wfi", K.WAIT, "000100000101"),
    # What assemblers write for "unimp": a write to a read-only register, which always traps.
    Effect("unimp", K.BREAKPOINT, "110000000000 00000 001 00000 1110011", flow=Flow.STOP),
    _csr("csrrw", "001", "rs1"),
    _csr("csrrs", "010", "rs1"),
    _csr("csrrc", "011", "rs1"),
    _csr("csrrwi", "101", "imm"),
    _csr("csrrsi", "110", "imm"),
    _csr("csrrci", "111", "imm"),
    # M. Zmmul is M without the divisions.
    _multiply("mul", "000", K.MULTIPLY, "zmmul"),
    _multiply("mulh", "001", K.MULTIPLY_LONG, "zmmul"),
    _multiply("mulhsu", "010", K.MULTIPLY_LONG, "zmmul"),
    _multiply("mulhu", "011", K.MULTIPLY_LONG, "zmmul"),
    _multiply("div", "100", K.DIVIDE, "m"),
    _multiply("divu", "101", K.DIVIDE, "m"),
    _multiply("rem", "110", K.DIVIDE, "m"),
    _multiply("remu", "111", K.DIVIDE, "m"),
    # A. A store-conditional that fails makes no access; one is counted.
    Effect(
        "lr.w",
        K.LOAD_EXCLUSIVE,
        "00010 aq rl 00000 rs1 010 rd 0101111",
        "rd, (rs1)",
        "zalrsc",
        R32,
    ),
    Effect(
        "sc.w",
        K.STORE_EXCLUSIVE,
        "00011 aq rl rs2 rs1 010 rd 0101111",
        "rd, rs2, (rs1)",
        "zalrsc",
        W32,
    ),
    _atomic("amoswap.w", "00001"),
    _atomic("amoadd.w", "00000"),
    _atomic("amoxor.w", "00100"),
    _atomic("amoand.w", "01100"),
    _atomic("amoor.w", "01000"),
    _atomic("amomin.w", "10000"),
    _atomic("amomax.w", "10100"),
    _atomic("amominu.w", "11000"),
    _atomic("amomaxu.w", "11100"),
)

EFFECTS: Final = {row.mnemonic: row for row in _ROWS}
