"""RV32IMAC with Zicsr and Zifencei: bytes -> :class:`~wcetchar.model.instruction.Instruction`.

The encodings are few and regular, and each row of the tables carries its own, so that they are
decoded here; capstone 5 gives wrong or no operand details for some of the compressed ones. Whatever
no row explains becomes an ``Undecodable`` with a reason.

A 16-bit instruction is decoded as the 32-bit one that it stands for; only its length, its text and
with them the return address of a call are its own.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from wcetchar.isa.riscv_apply import Facts, Unexplained, apply
from wcetchar.isa.riscv_architecture import CONTAINS, extensions_of
from wcetchar.isa.riscv_compressed import COMPRESSED, Compressed
from wcetchar.isa.riscv_csr import CSRS
from wcetchar.isa.riscv_effects import EFFECTS, Effect
from wcetchar.isa.riscv_encoding import Encoding, Operands, encoding
from wcetchar.isa.riscv_values import Values
from wcetchar.isa.riscv_values import values as value_terms
from wcetchar.model.instruction import RISCV_REGISTERS, Copy, Instruction, Undecodable

RV32IMAC: Final = "rv32imac_zicsr_zifencei"

_NAMES: Final = RISCV_REGISTERS.names
_SLOT: Final = re.compile(r"\b(?:rd|rs1|rs2|imm|shamt|upper|target|csr|pred|succ|x\d+)\b")
_SHIFTS: Final = frozenset({"sll", "slli", "srl", "srli", "sra", "srai"})
_ORDERING: Final = {(0, 0): "", (1, 0): ".aq", (0, 1): ".rl", (1, 1): ".aqrl"}


@dataclass(frozen=True, slots=True)
class _Row:
    """A row with its encoding read; ``expands`` gives the operands of a compressed one's 32-bit
    instruction: for each of its operands a name of the encoding's, or a constant."""

    effect: Effect
    encoding: Encoding
    mnemonic: str
    template: str
    expands: tuple[tuple[str, str | int], ...] | None = None

    @property
    def extension(self) -> str:
        return self.effect.extension if self.expands is None else "zca"

    def operands(self, code: int) -> Operands | None:
        found = self.encoding.operands(code)
        if found is None or self.expands is None:
            return found
        return {
            name: found[value] if isinstance(value, str) else value for name, value in self.expands
        }


@dataclass(frozen=True, slots=True)
class _Decoded:
    """One encoding, apart from its address."""

    mnemonic: str
    template: str
    operands: Operands
    facts: Facts
    values: Values

    def text(self, address: int) -> str:
        operands = self.operands

        def shown(match: re.Match[str]) -> str:
            slot = match[0]
            if slot in ("rd", "rs1", "rs2"):
                return _NAMES[operands[slot]]
            if slot.startswith("x"):
                return _NAMES[int(slot[1:])]
            if slot == "csr":
                return CSRS.get(operands["csr"], f"{operands['csr']:#x}")
            if slot in ("pred", "succ"):
                bits = operands[slot]
                return "".join(c for i, c in enumerate("iorw") if bits >> 3 - i & 1) or "0"
            value = operands["imm"]
            if slot == "imm":
                return str(value)
            if slot == "target":
                return f"{(address + value) & 0xFFFFFFFF:#x}"
            return f"{value if slot == 'shamt' else value >> 12 & 0xFFFFF:#x}"

        return f"{self.mnemonic} {_SLOT.sub(shown, self.template)}".rstrip()


@dataclass(frozen=True, slots=True)
class _Refused:
    text: str
    reason: str


class RiscvDecoder:
    """Decodes each distinct encoding once. ``extensions``: as ``extensions_of`` gives them."""

    def __init__(self, extensions: Iterable[str]) -> None:
        self._extensions = frozenset(extensions)
        self._known: dict[bytes, _Decoded | _Refused] = {}

    def decode(self, code: bytes, address: int) -> Instruction | Undecodable:
        """One instruction.

        Args:
            code: at least its own bytes, in memory order; further ones are ignored.
            address: where it stands, even.
        """
        length = instruction_length(code)
        if length == 0 or len(code) < length:
            # Its bytes, all the same: who walks a range goes on behind them.
            return Undecodable(
                address, bytes(code), "", "the code range ends inside an instruction"
            )
        code = bytes(code[:length])
        decoded = self._known.get(code)
        if decoded is None:
            decoded = self._known[code] = self._encoding(code)
        if isinstance(decoded, _Refused):
            return Undecodable(address, code, decoded.text, decoded.reason)
        facts, copy = decoded.facts, decoded.facts.copy
        if facts.pc_relative is not None:
            register, constant = facts.pc_relative
            copy = Copy(register, constant=(address + constant) & 0xFFFFFFFF)
        return Instruction(
            address=address,
            length=length,
            code=code,
            text=decoded.text(address),
            issue=facts.issue,
            flow=facts.flow,
            conditional=facts.conditional,
            target=None if facts.target is None else (address + facts.target) & 0xFFFFFFFF,
            memory=facts.memory,
            mask=facts.masks[0] if facts.masks else None,
            copy=copy,
            defs=facts.defs,
            uses=facts.uses,
            further_masks=facts.masks[1:],
            test=facts.test,
            arithmetic=facts.arithmetic,
            shift=decoded.mnemonic.removeprefix("c.") in _SHIFTS,
            assignments=decoded.values.assignments(decoded.operands.get("rd"), address),
            comparison=decoded.values.comparison,
        )

    def _encoding(self, code: bytes) -> _Decoded | _Refused:
        number = int.from_bytes(code, "little")
        for row in _rows().get(_bucket(number), ()):
            operands = row.operands(number)
            if operands is not None:
                break
        else:
            return _Refused("", _undecoded_reason(number))
        mnemonic = row.mnemonic + _ORDERING[operands.get("aq", 0), operands.get("rl", 0)]
        if row.extension not in self._extensions:
            return _Refused(
                mnemonic,
                f"{mnemonic!r} belongs to the extension {_whole(row.extension)}, "
                "which the architecture of the image does not have",
            )
        try:
            facts = apply(row.effect, operands)
        except Unexplained as refusal:
            return _Refused(mnemonic, str(refusal))
        values = value_terms(row.effect, operands)
        if facts.memory is not None:
            signed = row.effect.mnemonic in ("lb", "lh")
            facts.memory = replace(facts.memory, address=values.address, signed=signed)
        return _Decoded(mnemonic, row.template, operands, facts, values)


@cache
def decoder(extensions: frozenset[str]) -> RiscvDecoder:
    """The shared decoder of an architecture."""
    return RiscvDecoder(extensions)


def decode_riscv(
    code: bytes, address: int, *, architecture: str = RV32IMAC
) -> Instruction | Undecodable:
    """One RISC-V instruction; see :meth:`RiscvDecoder.decode`.

    Raises:
        Refused: the architecture is not supported (``riscv_architecture``).
    """
    return decoder(extensions_of(architecture)).decode(code, address)


def instruction_length(code: bytes) -> int:
    """Length in bytes by the first halfword (unprivileged architecture, 1.5); 0 where there is
    none. Of the lengths above 64 bits, which are not frozen, only the first halfword is taken."""
    if len(code) < 2:
        return 0
    low = code[0]
    if low & 0b11 != 0b11:
        return 2
    if low & 0b11100 != 0b11100:
        return 4
    if low & 0b100000 == 0:
        return 6
    return 8 if low & 0b1000000 == 0 else 2


def _bucket(number: int) -> tuple[int, int]:
    """Rows are looked up by the bits that most of them fix: opcode and funct3."""
    if number & 0b11 != 0b11:
        return number & 0b11, number >> 13
    return number & 0x7F, number >> 12 & 7


@cache
def _rows() -> Mapping[tuple[int, int], list[_Row]]:
    """All rows by bucket, in the order of the tables."""
    buckets: dict[tuple[int, int], list[_Row]] = defaultdict(list)
    for effect in EFFECTS.values():
        read = encoding(effect.encoding, 32)
        row = _Row(effect, read, effect.mnemonic, effect.operands)
        for funct in range(8):
            if (funct << 12 ^ read.value) & read.mask & 0x7000 == 0:
                buckets[read.value & 0x7F, funct].append(row)
    for compressed in COMPRESSED.values():
        row = _expanding(compressed)
        buckets[row.encoding.value & 3, row.encoding.value >> 13].append(row)
    return buckets


def _expanding(compressed: Compressed) -> _Row:
    """The row of a compressed instruction, its operands assigned to those of the 32-bit one."""
    name, _, given = compressed.expansion.partition(" ")
    effect = EFFECTS[name]
    slots = [
        "imm" if slot in ("shamt", "upper", "target") else slot
        for slot in _operand_names(effect.operands)
    ]
    values = [
        int(value.removeprefix("x")) if value.removeprefix("x").isdigit() else value
        for value in _operand_names(given)
    ]
    return _Row(
        effect,
        encoding(compressed.encoding, 16),
        compressed.mnemonic,
        compressed.operands,
        tuple(zip(slots, values, strict=True)),
    )


def _operand_names(text: str) -> list[str]:
    """``rd, imm(rs1)`` -> rd, imm, rs1."""
    return re.findall(r"\w+", text)


def _whole(extension: str) -> str:
    """The extensions that contain one of the smallest ones."""
    names = sorted((name for name, parts in CONTAINS.items() if extension in parts), key=len)
    return " or ".join(name.capitalize() for name in names if len(name) < 2 or name == extension)


_FOREIGN: Final = {
    0b00_001_11: "a floating-point or vector load",
    0b01_001_11: "a floating-point or vector store",
    0b10_000_11: "a floating-point instruction",
    0b10_001_11: "a floating-point instruction",
    0b10_010_11: "a floating-point instruction",
    0b10_011_11: "a floating-point instruction",
    0b10_100_11: "a floating-point instruction",
    0b10_101_11: "a vector instruction",
    0b00_110_11: "an instruction of RV64",
    0b01_110_11: "an instruction of RV64",
    0b00_010_11: "a custom instruction",
    0b01_010_11: "a custom instruction",
    0b10_110_11: "a custom instruction",
    0b11_110_11: "a custom instruction",
}
"""Major opcodes of extensions (unprivileged architecture, table 24.1)."""


def _undecoded_reason(number: int) -> str:
    if number & 0b11 != 0b11:
        quadrant, funct = _bucket(number)
        if quadrant in (0, 2) and funct in (1, 3, 5, 7):
            return "a compressed floating-point load or store; those extensions are not supported"
        return "a reserved or custom 16-bit encoding"
    if number & 0b11100 == 0b11100:
        return "an encoding of more than 32 bits"
    foreign = _FOREIGN.get(number & 0x7F)
    if foreign is not None:
        return f"{foreign}; those extensions are not supported"
    if number & 0x7F == 0b11_100_11 and number >> 12 & 7 in (0, 4):
        return "a privileged instruction that machine mode alone does not need; it has no row"
    return "not an instruction of RV32IMAC"
