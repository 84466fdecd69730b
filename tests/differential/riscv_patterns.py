"""The 32-bit encodings of RV32IMA, Zicsr, Zifencei and machine mode, transcribed bit by bit.

Source: The RISC-V Instruction Set Manual, Volume I (20191213), chapter 24; Volume II (20211203),
3.3. Independent of the decoder's own tables: one string of 32 places for each instruction, most
significant bit first, with one-letter fields.

Fields: d rd, s rs1, t rs2, i immediate, h shift amount, c CSR, z immediate of a CSR access,
p and q the sets of a fence, a aq, l rl.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

Fields = dict[str, int]


@dataclass(frozen=True)
class Pattern:
    name: str
    bits: str
    allowed: Callable[[Fields], bool]

    @cached_property
    def mask(self) -> int:
        return int("".join("1" if letter in "01" else "0" for letter in self.bits), 2)

    @cached_property
    def value(self) -> int:
        return int("".join("1" if letter == "1" else "0" for letter in self.bits), 2)

    @cached_property
    def free(self) -> int:
        return sum(letter not in "01" for letter in self.bits)

    def fields_of(self, code: int) -> Fields | None:
        """The fields of an encoding; ``None`` where its constant bits differ."""
        if code & self.mask != self.value:
            return None
        fields: Fields = {}
        for position, letter in enumerate(self.bits):
            if letter not in "01":
                fields[letter] = fields.get(letter, 0) << 1 | code >> 31 - position & 1
        return fields

    def fill(self, rng: random.Random) -> int:
        """A random encoding; registers are often those that mean something."""
        fields: Fields = {}
        for letter in dict.fromkeys(self.bits):
            if letter in "01":
                continue
            fields[letter] = rng.getrandbits(self.bits.count(letter))
            if letter in "dst" and rng.random() < 0.4:
                fields[letter] = rng.choice((0, 0, 1, 2, 5))
            if letter == "c" and rng.random() < 0.7:
                fields[letter] = rng.choice(KNOWN_CSRS)
            if letter == "c" and rng.random() < 0.3:
                fields[letter] = rng.choice((0x300, 0x304))
            if letter == "i" and rng.random() < 0.2:
                fields[letter] = 0
        left = {letter: self.bits.count(letter) for letter in fields}
        code = 0
        for letter in self.bits:
            if letter in "01":
                code = code << 1 | int(letter)
            else:
                left[letter] -= 1
                code = code << 1 | fields[letter] >> left[letter] & 1
        return code


# Machine-mode registers and user counters (Volume II, tables 2.2, 2.5 and 2.6).
KNOWN_CSRS = (
    *range(0xC00, 0xC20), *range(0xC80, 0xCA0), *range(0xF11, 0xF16),
    0x300, 0x301, 0x304, 0x305, 0x306, 0x30A, 0x310, 0x31A, 0x747, 0x757,
    *range(0x340, 0x345), *range(0x3A0, 0x3F0),
    0xB00, *range(0xB02, 0xB20), 0xB80, *range(0xB82, 0xBA0),
    0x320, *range(0x323, 0x340), *range(0x7A0, 0x7A4),
)  # fmt: skip

PATTERNS: list[Pattern] = []


def _add(name: str, bits: str, allowed: Callable[[Fields], bool] = lambda f: True) -> None:
    bits = bits.replace(" ", "")
    assert len(bits) == 32, (name, bits, len(bits))
    PATTERNS.append(Pattern(name, bits, allowed))


# RV32I, in the order of the listing.
_add("lui", "iiii iiii iiii iiii iiii  ddddd 0110111")
_add("auipc", "iiii iiii iiii iiii iiii  ddddd 0010111")
_add("jal", "iiii iiii iiii iiii iiii  ddddd 1101111")
_add("jalr", "iiiiiiiiiiii sssss 000 ddddd 1100111")
_add("beq", "iiiiiii ttttt sssss 000 iiiii 1100011")
_add("bne", "iiiiiii ttttt sssss 001 iiiii 1100011")
_add("blt", "iiiiiii ttttt sssss 100 iiiii 1100011")
_add("bge", "iiiiiii ttttt sssss 101 iiiii 1100011")
_add("bltu", "iiiiiii ttttt sssss 110 iiiii 1100011")
_add("bgeu", "iiiiiii ttttt sssss 111 iiiii 1100011")
_add("lb", "iiiiiiiiiiii sssss 000 ddddd 0000011")
_add("lh", "iiiiiiiiiiii sssss 001 ddddd 0000011")
_add("lw", "iiiiiiiiiiii sssss 010 ddddd 0000011")
_add("lbu", "iiiiiiiiiiii sssss 100 ddddd 0000011")
_add("lhu", "iiiiiiiiiiii sssss 101 ddddd 0000011")
_add("sb", "iiiiiii ttttt sssss 000 iiiii 0100011")
_add("sh", "iiiiiii ttttt sssss 001 iiiii 0100011")
_add("sw", "iiiiiii ttttt sssss 010 iiiii 0100011")
_add("addi", "iiiiiiiiiiii sssss 000 ddddd 0010011")
_add("slti", "iiiiiiiiiiii sssss 010 ddddd 0010011")
_add("sltiu", "iiiiiiiiiiii sssss 011 ddddd 0010011")
_add("xori", "iiiiiiiiiiii sssss 100 ddddd 0010011")
_add("ori", "iiiiiiiiiiii sssss 110 ddddd 0010011")
_add("andi", "iiiiiiiiiiii sssss 111 ddddd 0010011")
_add("slli", "0000000 hhhhh sssss 001 ddddd 0010011")
_add("srli", "0000000 hhhhh sssss 101 ddddd 0010011")
_add("srai", "0100000 hhhhh sssss 101 ddddd 0010011")
_add("add", "0000000 ttttt sssss 000 ddddd 0110011")
_add("sub", "0100000 ttttt sssss 000 ddddd 0110011")
_add("sll", "0000000 ttttt sssss 001 ddddd 0110011")
_add("slt", "0000000 ttttt sssss 010 ddddd 0110011")
_add("sltu", "0000000 ttttt sssss 011 ddddd 0110011")
_add("xor", "0000000 ttttt sssss 100 ddddd 0110011")
_add("srl", "0000000 ttttt sssss 101 ddddd 0110011")
_add("sra", "0100000 ttttt sssss 101 ddddd 0110011")
_add("or", "0000000 ttttt sssss 110 ddddd 0110011")
_add("and", "0000000 ttttt sssss 111 ddddd 0110011")
_add("fence", "0000 pppp qqqq 00000 000 00000 0001111")
_add("fence.tso", "1000 0011 0011 00000 000 00000 0001111")
_add("ecall", "0000 0000 0000 00000 000 00000 1110011")
_add("ebreak", "0000 0000 0001 00000 000 00000 1110011")
# Zifencei.
_add("fence.i", "0000 0000 0000 00000 001 00000 0001111")
# Machine mode.
_add("mret", "0011000 00010 00000 000 00000 1110011")
_add("wfi", "0001000 00101 00000 000 00000 1110011")
# Zicsr. Registers with both top bits set are read-only; csrrs and csrrc of x0 or of 0 only read.


def _csr(name: str, low: str, source: str, always_writes: bool) -> None:
    def allowed(f: Fields) -> bool:
        writes = always_writes or f[source] != 0
        return f["c"] in KNOWN_CSRS and not (writes and f["c"] >= 0xC00)

    _add(name, f"cccccccccccc {source * 5} {low} ddddd 1110011", allowed)


_csr("csrrw", "001", "s", True)
_csr("csrrs", "010", "s", False)
_csr("csrrc", "011", "s", False)
_csr("csrrwi", "101", "z", True)
_csr("csrrsi", "110", "z", False)
_csr("csrrci", "111", "z", False)
# An assembler's "unimp": csrrw x0, cycle, x0.
_add("unimp", "1100 0000 0000 00000 001 00000 1110011")
# M.
_add("mul", "0000001 ttttt sssss 000 ddddd 0110011")
_add("mulh", "0000001 ttttt sssss 001 ddddd 0110011")
_add("mulhsu", "0000001 ttttt sssss 010 ddddd 0110011")
_add("mulhu", "0000001 ttttt sssss 011 ddddd 0110011")
_add("div", "0000001 ttttt sssss 100 ddddd 0110011")
_add("divu", "0000001 ttttt sssss 101 ddddd 0110011")
_add("rem", "0000001 ttttt sssss 110 ddddd 0110011")
_add("remu", "0000001 ttttt sssss 111 ddddd 0110011")
# A.
_add("lr.w", "00010 a l 00000 sssss 010 ddddd 0101111")
_add("sc.w", "00011 a l ttttt sssss 010 ddddd 0101111")
_add("amoswap.w", "00001 a l ttttt sssss 010 ddddd 0101111")
_add("amoadd.w", "00000 a l ttttt sssss 010 ddddd 0101111")
_add("amoxor.w", "00100 a l ttttt sssss 010 ddddd 0101111")
_add("amoand.w", "01100 a l ttttt sssss 010 ddddd 0101111")
_add("amoor.w", "01000 a l ttttt sssss 010 ddddd 0101111")
_add("amomin.w", "10000 a l ttttt sssss 010 ddddd 0101111")
_add("amomax.w", "10100 a l ttttt sssss 010 ddddd 0101111")
_add("amominu.w", "11000 a l ttttt sssss 010 ddddd 0101111")
_add("amomaxu.w", "11100 a l ttttt sssss 010 ddddd 0101111")


def manual(code: int) -> str | None:
    """The instruction by this transcription; ``None``: not one that is supported."""
    for pattern in _BY_OPCODE.get(code & 0x7F, ()):
        fields = pattern.fields_of(code)
        if fields is not None and pattern.allowed(fields):
            return pattern.name
    return None


_BY_OPCODE: dict[int, list[Pattern]] = {}
for _pattern in PATTERNS:
    _BY_OPCODE.setdefault(_pattern.value & 0x7F, []).append(_pattern)
