"""The compressed instructions of RV32C: one row for each mnemonic, and what it stands for.

Source: The RISC-V Instruction Set Manual, Volume I (20191213), chapter 16: every compressed
instruction expands into one 32-bit instruction; 16.8 lists their encodings. What an instruction
does is therefore said once, in ``riscv_effects``.

Codes that the manual keeps as HINTs (a destination x0, a shift by 0, an addition of 0) do nothing
and are decoded as what they look like. Reserved codes, those of RV64 and those for custom use have
no row: addi4spn, addi16sp and lui of 0, lwsp into x0, jr x0, shifts by 32 and more. The loads and
stores of floating-point registers belong to C only together with F or D.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Compressed:
    """One row. ``encoding`` and ``operands`` as in ``riscv_effects``; ``expansion`` is the 32-bit
    instruction with the fields of the encoding, fixed registers and constants as operands."""

    mnemonic: str
    encoding: str
    operands: str
    expansion: str


_ROWS: Final = (
    # Quadrant 0 (table 16.5).
    Compressed("c.unimp", "000 00000000 000 00", "", "unimp"),
    Compressed("c.addi4spn", "000 nzuimm[5:4|9:6|2|3] rd' 00", "rd, x2, imm", "addi rd, x2, imm"),
    Compressed("c.lw", "010 uimm[5:3] rs1' uimm[2|6] rd' 00", "rd, imm(rs1)", "lw rd, imm(rs1)"),
    Compressed("c.sw", "110 uimm[5:3] rs1' uimm[2|6] rs2' 00", "rs2, imm(rs1)", "sw rs2, imm(rs1)"),
    # Quadrant 1 (table 16.6).
    Compressed("c.nop", "000 imm[5] 00000 imm[4:0] 01", "", "addi x0, x0, imm"),
    Compressed("c.addi", "000 imm[5] rd!=0 imm[4:0] 01", "rd, imm", "addi rd, rd, imm"),
    Compressed("c.jal", "001 imm[11|4|9:8|10|6|7|3:1|5] 01", "target", "jal x1, imm"),
    Compressed("c.li", "010 imm[5] rd imm[4:0] 01", "rd, imm", "addi rd, x0, imm"),
    Compressed(
        "c.addi16sp", "011 nzimm[9] 00010 nzimm[4|6|8:7|5] 01", "x2, imm", "addi x2, x2, imm"
    ),
    Compressed("c.lui", "011 nzimm[17] rd!=2 nzimm[16:12] 01", "rd, upper", "lui rd, imm"),
    Compressed("c.srli", "100 0 00 rd' shamt 01", "rd, shamt", "srli rd, rd, imm"),
    Compressed("c.srai", "100 0 01 rd' shamt 01", "rd, shamt", "srai rd, rd, imm"),
    Compressed("c.andi", "100 imm[5] 10 rd' imm[4:0] 01", "rd, imm", "andi rd, rd, imm"),
    Compressed("c.sub", "100 0 11 rd' 00 rs2' 01", "rd, rs2", "sub rd, rd, rs2"),
    Compressed("c.xor", "100 0 11 rd' 01 rs2' 01", "rd, rs2", "xor rd, rd, rs2"),
    Compressed("c.or", "100 0 11 rd' 10 rs2' 01", "rd, rs2", "or rd, rd, rs2"),
    Compressed("c.and", "100 0 11 rd' 11 rs2' 01", "rd, rs2", "and rd, rd, rs2"),
    Compressed("c.j", "101 imm[11|4|9:8|10|6|7|3:1|5] 01", "target", "jal x0, imm"),
    Compressed(
        "c.beqz", "110 imm[8|4:3] rs1' imm[7:6|2:1|5] 01", "rs1, target", "beq rs1, x0, imm"
    ),
    Compressed(
        "c.bnez", "111 imm[8|4:3] rs1' imm[7:6|2:1|5] 01", "rs1, target", "bne rs1, x0, imm"
    ),
    # Quadrant 2 (table 16.7).
    Compressed("c.slli", "000 0 rd shamt 10", "rd, shamt", "slli rd, rd, imm"),
    Compressed("c.lwsp", "010 uimm[5] rd!=0 uimm[4:2|7:6] 10", "rd, imm(x2)", "lw rd, imm(x2)"),
    Compressed("c.jr", "100 0 rs1!=0 00000 10", "rs1", "jalr x0, 0(rs1)"),
    Compressed("c.mv", "100 0 rd rs2!=0 10", "rd, rs2", "add rd, x0, rs2"),
    Compressed("c.ebreak", "100 1 00000 00000 10", "", "ebreak"),
    Compressed("c.jalr", "100 1 rs1!=0 00000 10", "rs1", "jalr x1, 0(rs1)"),
    Compressed("c.add", "100 1 rd rs2!=0 10", "rd, rs2", "add rd, rd, rs2"),
    Compressed("c.swsp", "110 uimm[5:2|7:6] rs2 10", "rs2, imm(x2)", "sw rs2, imm(x2)"),
)

COMPRESSED: Final = {row.mnemonic: row for row in _ROWS}
