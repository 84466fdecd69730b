"""RISC-V decoding against GNU objdump and a transcription of the manual's encodings.

objdump is a decoder of its own; it prints every operand, and the whole text is compared. Where it
differs, the class of the difference stands below with its reason; any other difference fails.
"""

from __future__ import annotations

import random
import struct
from collections import Counter
from pathlib import Path

import pytest
from riscv_objdump import MISSING, REASON, Line, normal, objdump_all
from riscv_patterns import KNOWN_CSRS, PATTERNS, manual

from wcetchar.isa import decode_riscv
from wcetchar.isa.riscv_compressed import COMPRESSED
from wcetchar.isa.riscv_csr import CSRS
from wcetchar.isa.riscv_effects import EFFECTS
from wcetchar.isa.riscv_encoding import encoding
from wcetchar.model.instruction import Instruction

needs_objdump = pytest.mark.skipif(bool(MISSING), reason=REASON)

NARROW = [struct.pack("<H", halfword) for halfword in range(0x10000) if halfword & 3 != 3]


def same_text(found: Instruction, line: Line) -> bool:
    ours, theirs = normal(found.text), normal(line.text)
    if ours == ["c.nop"]:
        # HINTs with an immediate among them (16.7); objdump prints all as additions to x0.
        return theirs[:2] == ["c.addi", "zero"]
    if theirs[0] in ("c.slli64", "c.srli64", "c.srai64"):
        # Shifts by 0 have a name of their own in RV128; elsewhere they are HINTs.
        return ours == [str(theirs[0]).removesuffix("64"), theirs[1], ",", 0]
    if ours[0] == "fence":
        # An empty set has no letters.
        return ours == [0 if part == "unknown" else part for part in theirs]
    return ours == theirs


def defined(line: Line) -> bool:
    return not line.undefined or line.name == "fence"


# Refused 16-bit encodings, by name as objdump has them (None: it has none either), counted by hand.
NARROW_REFUSED = {
    # Quadrant 0: addi4spn of 0 (without the halfword of zeros), funct3 100.
    # Quadrant 1: lui of 0 (but not of sp), funct3 100 with the bits of RV64's subw and addw.
    # Quadrant 2: lwsp into x0, jr x0. Floating-point loads and stores of quadrants 0 and 2.
    None: 7 + 2048 + 31 + 4 * 64 + 32 * 2 + 1 + 8 * 2048,
    # Shifts by 32 and more: those of RV64, for custom use in RV32 (16.5).
    "c.slli": 32 * 32,
    "c.srli": 8 * 32,
    "c.srai": 8 * 32,
    # Of 0: reserved.
    "c.addi16sp": 1,
}


@needs_objdump
def test_riscv_all_16_bit_encodings(tmp_path: Path) -> None:
    assert len(NARROW) == 49_152
    refused: Counter[str | None] = Counter()
    names = set()
    for code, line in zip(NARROW, objdump_all(NARROW, tmp_path), strict=True):
        found = decode_riscv(code, line.address)
        assert line.length == len(found.code) == 2
        if isinstance(found, Instruction):
            assert found.length == 2
            assert same_text(found, line), (code.hex(), found.text, line.text)
            check_target(found, line)
            names.add(found.text.split()[0])
        else:
            assert found.reason
            refused[line.name if defined(line) else None] += 1
    assert refused == NARROW_REFUSED
    assert names == set(COMPRESSED)


def check_target(found: Instruction, line: Line) -> None:
    direct = found.text.split()[0].removeprefix("c.") in (
        "j", "jal", "beqz", "bnez", "beq", "bne", "blt", "bge", "bltu", "bgeu",
    )  # fmt: skip
    assert (found.target is not None) == direct
    if direct:
        # Addresses wrap around; objdump prints them with 32 bits here.
        assert normal(line.text)[-1] == found.target, (found, line)


def test_riscv_each_16_bit_encoding_has_one_row() -> None:
    rows = {name: encoding(row.encoding, 16) for name, row in COMPRESSED.items()}
    for halfword in range(0x10000):
        fitting = [name for name, row in rows.items() if row.operands(halfword) is not None]
        assert len(fitting) <= 1, (hex(halfword), fitting)


# Refused 32-bit encodings that objdump has names for, with the reason.
WIDE_REFUSED = {
    **dict.fromkeys(("csrrw", "csrrs", "csrrc", "csrrwi", "csrrsi", "csrrci"), "CSR or read-only"),
    **dict.fromkeys(("slli", "srli", "srai"), "shifts by 32 and more, of RV64"),
    **dict.fromkeys(
        ("sret", "uret", "dret", "hret", "sfence.vma", "sfence.vm"), "no part of machine mode"
    ),
    "fence": "reserved fields that are not zero",
    "fence.i": "reserved fields that are not zero",
}


def check_wide(codes: list[int], folder: Path) -> Counter[str]:
    """What the decoder accepts, by name; all of them are compared."""
    accepted: Counter[str] = Counter()
    packed = [struct.pack("<I", code) for code in codes]
    for code, line in zip(codes, objdump_all(packed, folder), strict=True):
        found = decode_riscv(struct.pack("<I", code), line.address)
        expected = manual(code)
        assert len(found.code) == line.length == 4
        if expected is None:
            assert not isinstance(found, Instruction), (f"{code:08x}", found, line.text)
            assert found.reason
            assert not defined(line) or line.name in WIDE_REFUSED, (f"{code:08x}", line.text)
            continue
        assert isinstance(found, Instruction), (f"{code:08x}", expected, found, line.text)
        assert defined(line), (f"{code:08x}", found.text, line.text)
        name = found.text.split()[0]
        for ordering in (".aqrl", ".aq", ".rl"):
            name = name.removesuffix(ordering)
        assert name == expected, (f"{code:08x}", found.text, line.text)
        assert same_text(found, line), (f"{code:08x}", found.text, line.text)
        check_target(found, line)
        accepted[name] += 1
    return accepted


@needs_objdump
def test_riscv_32_bit_encodings_of_the_manual(tmp_path: Path) -> None:
    """Every pattern, its fields drawn at random: among them unknown CSRs and writes of read-only
    ones."""
    rng = random.Random(40)
    codes = [p.fill(rng) for p in PATTERNS for _ in range(min(250, 2**p.free))]
    accepted = check_wide(codes, tmp_path)
    assert set(accepted) == {p.name for p in PATTERNS} == set(EFFECTS)
    assert accepted.total() > 12_000


@needs_objdump
def test_riscv_32_bit_encodings_with_single_bits_changed(tmp_path: Path) -> None:
    """The neighbours of what is defined: fixed bits that are wrong."""
    rng = random.Random(41)
    codes = []
    for pattern in PATTERNS:
        for bit in range(2, 32):
            if pattern.mask >> bit & 1:
                codes += [pattern.fill(rng) ^ 1 << bit for _ in range(3)]
    # Those with more than 32 bits are no neighbours that objdump would cut the same way.
    codes = [code for code in codes if code & 0b11100 != 0b11100]
    assert len(codes) > 2_500
    check_wide(codes, tmp_path)


@needs_objdump
def test_riscv_32_bit_encodings_at_random(tmp_path: Path) -> None:
    rng = random.Random(42)
    codes = [rng.getrandbits(32) | 3 for _ in range(10_000)]
    # Half of them with an opcode that has rows.
    opcodes = sorted({p.value & 0x7F for p in PATTERNS})
    codes += [code & ~0x7F | rng.choice(opcodes) for code in codes]
    codes = [code for code in codes if code & 0b11100 != 0b11100]
    assert check_wide(codes, tmp_path).total() > 5_000


@needs_objdump
def test_riscv_control_and_status_registers(tmp_path: Path) -> None:
    """Every number: the names of those that are known, and what objdump calls the others."""
    codes = [struct.pack("<I", number << 20 | 0x2573) for number in range(0x1000)]  # csrrs a0
    left_out = set()
    for number, line in enumerate(objdump_all(codes, tmp_path)):
        found = decode_riscv(codes[number], line.address)
        theirs = normal(line.text)[3]
        assert isinstance(found, Instruction) == (number in CSRS) == (number in KNOWN_CSRS)
        if isinstance(found, Instruction):
            assert normal(found.text) == ["csrrs", "a0", ",", theirs, ",", "zero"]
        else:
            assert "CSR" in found.reason
            if isinstance(theirs, str):
                left_out.add((theirs, found.reason.partition(" ")[2].partition(" ")[2]))
    reasons = dict(left_out)
    assert "supervisor" in reasons["sstatus"]
    assert "supervisor" in reasons["mideleg"]
    assert "floating-point" in reasons["fcsr"]
    assert "mask interrupts" in reasons["mireg"]
    machine = {name for name in reasons if name.startswith("m")}
    # Supervisor mode, the hypervisor, state enable, advanced interrupts, overflow of counters.
    expected = {"medeleg", "mideleg", "midelegh", "mtinst", "mtval2", "mcontext", "mscontext"}
    expected |= {f"mstateen{n}{h}" for n in range(4) for h in ("", "h")}
    expected |= {"mvien", "mvip", "mieh", "mvienh", "mviph", "miselect", "mireg", "miph", "mtopei"}
    expected |= {"mtopi"} | {f"mhpmevent{n}h" for n in range(3, 32)}
    assert machine == expected


def test_riscv_longer_encodings_are_refused_whole() -> None:
    """1.5, "Expanded Instruction-Length Encoding"."""
    for low, length in ((0x1F, 6), (0x3F, 8), (0x7F, 2), (0x5F, 6), (0xBF, 8)):
        found = decode_riscv(bytes([low, *range(1, 16)]), 0)
        assert not isinstance(found, Instruction)
        assert len(found.code) == length
        assert "more than 32 bits" in found.reason
    for code in (b"", b"\x01", b"\x13", b"\x13\x05", b"\x13\x05\x10", bytes([0x1F, 0, 0, 0, 0])):
        found = decode_riscv(code, 0)
        assert not isinstance(found, Instruction)
        assert (found.code, found.reason) == (code, "the code range ends inside an instruction")
