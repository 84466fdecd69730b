"""Thumb decoding against GNU objdump and a transcription of the manual's encodings.

The decoder takes names and operands from capstone. Here objdump (a decoder of its own) and
``thumb_patterns`` (bits, from the manual) say what it should have been. Where objdump differs, the
class of the difference stands below with its reason; any other difference fails.
"""

from __future__ import annotations

import random
import re
import struct
from collections import Counter
from pathlib import Path

import pytest
from thumb_objdump import MISSING, Line, objdump_all
from thumb_patterns import PATTERNS, Pattern

from wcetchar.isa import decode_thumb
from wcetchar.isa.thumb_effects import EFFECTS
from wcetchar.model.instruction import Instruction

needs_objdump = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

# objdump's name -> ours: two spellings of one instruction.
SPELLINGS = {
    "ldmia": "ldm",
    "stmia": "stm",
    "negs": "rsbs",
    "ssbb": "dsb",
    "pssbb": "dsb",
    "dfb": "dsb",
}
SHIFTS = re.compile(r"^movs? .*, (lsl|lsr|asr|ror|rrx)\b")


def objdump_name(line: Line, ours: str) -> str:
    """objdump's mnemonic in our spelling; differences of meaning stay."""
    name, _, operands = line.text.partition(" ")
    name = name.removesuffix(".w").removesuffix(".n")
    name = name.replace("<und>", "")
    if name.startswith(("bcs", "bcc")):
        return {"bcs": "bhs", "bcc": "blo"}[name]
    shift = SHIFTS.match(f"{name} {operands}")
    if shift:
        # "mov rd, rm, lsl #n" is printed by us as the manual prefers it: "lsl rd, rm, #n".
        return shift[1] + ("s" if name == "movs" else "")
    if name == "ldmia" and operands.startswith("sp!"):
        return "pop"
    if name == "stmdb" and operands.startswith("sp!"):
        return "push"
    if "[pc" in operands and name in ("ldrt", "ldrbt", "ldrht", "ldrsbt", "ldrsht"):
        # objdump takes literal loads whose offset bits look like an unprivileged load for one;
        # A7.7 says of those "if Rn == '1111' then SEE LDR (literal)".
        return name.removesuffix("t")
    if ours == "adr" and name == "add" and operands.split(", ")[1] == "pc":
        return "adr"
    if ours == "mov" and "mov r8, r8" in line.text:
        return "mov"
    if ours in ("hint", "esb", "csdb"):
        # Hints without a meaning in Armv7-M have names in later versions of the architecture.
        return ours
    # Behind an encoding that looks like IT, objdump adds a condition even to a hint.
    for hint in ("yield", "wfe", "wfi", "sev"):
        if ours == hint and name.startswith(hint):
            return hint
    return SPELLINGS.get(name, name)


REGISTER = re.compile(r"\b(r\d+|sb|sl|fp|ip|sp|lr|pc)\b")
NUMBERS = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12"}


def registers(text: str) -> list[str]:
    """The registers that a text names, in order, and whether it writes a base back."""
    operands = text.partition(" ")[2].partition("@")[0].partition("<")[0].lower()
    found = [NUMBERS.get(name, name) for name in REGISTER.findall(operands)]
    return [*found, "!" if "!" in operands or re.search(r"\], #", operands) else ""]


def same_operands(ours: str, theirs: str) -> bool:
    a, b = registers(ours), registers(theirs)
    name = ours.partition(" ")[0].partition(".")[0]
    if name in ("push", "pop"):
        # stmdb sp!, {...}
        b = [r for r in b if r != "!"]
        a = [r for r in a if r != "!"]
        return a == b or ["sp", *a] == b or ["sp", *a[:-1]] == b
    if name == "adr":
        return a[0] == b[0]
    if name == "muls":
        return a[:2] == b[:2] and a[0] == a[2]
    if name == "add" and len(a) == 4 and len(b) == 3:
        return a[:2] == b[:2] and a[2] == a[0]
    if name in ("mrs", "msr", "hint", "mov"):
        return [r for r in a if r in b] == a or "mov r8, r8" in theirs
    return a == b


def mnemonic(instruction: Instruction) -> str:
    return instruction.text.partition(" ")[0].partition(".")[0]


def as_bytes(code: int) -> bytes:
    return struct.pack("<HH", code >> 16, code & 0xFFFF)


# Refused 16-bit encodings, by name as objdump has them (None: it has none either), with the reason.
NARROW_REFUSED = {
    None: "not allocated",
    "hlt": "Armv8",
    "setend": "A and R profiles",
    "setpan": "Armv8.1-A",
    "bx": "reserved bits set, or to pc, which leaves Thumb state",
    "bxns": "Armv8-M",
    "blx": "of pc",
    "blxns": "Armv8-M",
    "cmp": "of pc, or the high-register encoding with two low registers",
    "cpsid": "without PRIMASK and FAULTMASK, or with a reserved bit",
    "cpsie": "without PRIMASK and FAULTMASK, or with a reserved bit",
    "ldm": "of no register",
    "stm": "of no register",
    "push": "of no register",
    "pop": "of no register",
    "it": "condition 15, or al with an else",
}


@needs_objdump
def test_thumb_all_16_bit_encodings(tmp_path: Path) -> None:
    codes = [struct.pack("<H", halfword) for halfword in range(0xE800)]
    refused: Counter[str | None] = Counter()
    for code, line in zip(codes, objdump_all(codes, tmp_path), strict=True):
        found = decode_thumb(code, line.address)
        assert line.length == 2
        if isinstance(found, Instruction):
            assert found.length == 2
            assert not line.undefined, (code.hex(), found.text)
            assert mnemonic(found) == objdump_name(line, mnemonic(found)), (found.text, line.text)
            assert same_operands(found.text, line.text), (found.text, line.text)
            check_target(found, line)
        else:
            name = None if line.undefined else objdump_name(line, "")
            if name is not None and name.startswith("it"):
                name = "it"
            assert name in NARROW_REFUSED, (code.hex(), found, line.text)
            refused[name] += 1
    # Counted from the manual's encoding tables, so that no more is refused than named above.
    assert refused["cmp"] == 64 + 31
    assert refused["bx"] == 8 * 16 - 15 - 16
    assert refused["bxns"] == refused["blxns"] == 16
    assert refused["cpsid"] == refused["cpsie"] == 5
    assert refused["ldm"] == refused["stm"] == 8
    assert refused["push"] == refused["pop"] == refused["blx"] == 1
    assert refused["it"] == 15 + 11


def check_target(found: Instruction, line: Line) -> None:
    if found.target is not None:
        shown = re.search(r"\b([0-9a-f]+) <", line.text)
        assert shown, line.text
        assert found.target == int(shown[1], 16), (found, line.text)


def manual(code: int) -> str | None:
    """The instruction by the transcription of the manual; ``None``: not one of Armv7-M."""
    for pattern, fields in matches(code):
        if pattern.allowed(fields):
            return pattern.name_of(fields)
    return None


def matches(code: int) -> list[tuple[Pattern, dict[str, int]]]:
    found = []
    for pattern in BY_TOP[code >> 27]:
        fields = pattern.fields_of(code)
        if fields is not None:
            found.append((pattern, fields))
    return found


BY_TOP = {
    top: [p for p in PATTERNS if p.mask >> 27 & top == p.value >> 27]
    for top in (0b11101, 0b11110, 0b11111)
}


def check_wide(codes: list[int], folder: Path) -> int:
    """How many of these encodings the decoder accepts; all of them are compared."""
    accepted = 0
    for code, line in zip(codes, objdump_all([as_bytes(c) for c in codes], folder), strict=True):
        found = decode_thumb(as_bytes(code), line.address)
        expected = manual(code)
        assert len(found.code) == line.length == 4
        if expected is None:
            assert not isinstance(found, Instruction), (f"{code:08x}", found, line.text)
            assert found.reason
            continue
        assert isinstance(found, Instruction), (f"{code:08x}", expected, found, line.text)
        accepted += 1
        assert mnemonic(found) == expected, (f"{code:08x}", found.text, line.text)
        assert not line.undefined, (f"{code:08x}", found.text, line.text)
        name = objdump_name(line, mnemonic(found))
        assert name == expected, (f"{code:08x}", found.text, line.text)
        assert same_operands(found.text, line.text), (f"{code:08x}", found.text, line.text)
        check_target(found, line)
    return accepted


@needs_objdump
def test_thumb_32_bit_encodings_of_the_manual(tmp_path: Path) -> None:
    """Every encoding of the table, its fields drawn at random: among them what is UNPREDICTABLE."""
    rng = random.Random(30)
    codes = []
    for pattern in PATTERNS:
        free = sum(letter not in "01" for letter in pattern.bits)
        codes += [pattern.fill(rng)[0] for _ in range(min(120, 2**free))]
    assert check_wide(codes, tmp_path) > 7_000


@needs_objdump
def test_thumb_32_bit_encodings_with_single_bits_changed(tmp_path: Path) -> None:
    """The neighbours of what is defined: fixed and reserved bits that are wrong."""
    rng = random.Random(31)
    codes = []
    for pattern in PATTERNS:
        for bit in range(32):
            if pattern.mask >> bit & 1:
                changed = pattern.fill(rng)[0] ^ 1 << bit
                if changed >> 27 in BY_TOP:
                    codes.append(changed)
    # The hints without a meaning are two hundred of a kind.
    check_wide(rng.sample(codes, 6_000), tmp_path)


@needs_objdump
@pytest.mark.parametrize("count", [10_000, pytest.param(40_000, marks=pytest.mark.long)])
def test_thumb_32_bit_encodings_at_random(count: int, tmp_path: Path) -> None:
    rng = random.Random(32)
    codes = [rng.randrange(0xE800_0000, 0x1_0000_0000) for _ in range(count)]
    assert check_wide(codes, tmp_path) > 0.15 * count


def test_thumb_every_row_has_an_encoding_of_the_manual() -> None:
    rng = random.Random(33)
    names = {p.name_of(p.fill(rng)[1]) for p in PATTERNS for _ in range(60)}
    wide = {row.mnemonic for row in EFFECTS.values() if row.wide}
    assert wide - names == {"b<c>"}
