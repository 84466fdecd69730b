"""Arm state: the decoder against GNU objdump, and what it refuses against the manual's rules.

Each accepted encoding must have objdump's mnemonic, registers and constants. Each refused one must
be undefined or UNPREDICTABLE for objdump, belong to a later version of the architecture, or break a
rule of the manual that ``forbidden`` transcribes by bits (DDI 0100I; objdump knows but a few).
"""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path

import pytest
from arm_objdump import MISSING, Line, objdump_all
from arm_shapes import draw

from wcetchar.isa import decode_arm
from wcetchar.isa.arm_effects import ROWS
from wcetchar.model.instruction import Instruction

pytestmark = pytest.mark.skipif(bool(MISSING), reason=f"not installed: {', '.join(MISSING)}")

# --- what the manual forbids ----------------------------------------------------------------------


def bits(code: int, high: int, low: int) -> int:
    return code >> low & (1 << high - low + 1) - 1


def forbidden(code: int) -> bool:
    """UNPREDICTABLE or without meaning in version 4, of the shapes above."""
    n, d, s, m = (bits(code, low + 3, low) for low in (16, 12, 8, 0))
    pre, byte, write, load = (bits(code, bit, bit) for bit in (24, 22, 21, 20))
    if code >> 28 == 15:
        return True
    top = bits(code, 27, 25)
    low = bits(code, 7, 4)
    if code & 0x0FF000F0 == 0x07F000F0:  # undefined, and meant to be
        return code >> 28 != 14
    if top == 0 and low == 9:
        if not pre:  # n is the destination here, d the addend or the low half
            if bits(code, 23, 23):
                return 15 in (n, d, s, m) or len({n, d, m}) < 3
            if byte:
                return True  # mls and umaal of later versions
            return 15 in (n, s, m) or n == m or (d == 15 if write else d != 0)
        swap = not (bits(code, 23, 23) or write or load or s)
        return not swap or 15 in (n, d, m) or n in (d, m)
    if top == 0 and low & 9 == 9:
        if not load and low != 0xB:
            return True  # ldrd, strd of version 5
        if not byte and (m == 15 or s):
            return True
        index = None if byte else m
        return d == 15 or (not pre and bool(write)) or back(n, d, index, pre, write)
    if top in (2, 3):
        index = m if top == 3 else None
        unprivileged = not pre and write
        return (
            (d == 15 and bool(byte or unprivileged)) or index == 15 or back(n, d, index, pre, write)
        )
    if top == 4:
        listed = bits(code, 15, 0)
        if n == 15 or not listed:
            return True
        first = listed & -listed
        if write and listed >> n & 1 and (load or 1 << n != first):
            return True
        return bool(byte and write and not (load and listed >> 15))
    if code & 0x0FB0FFF0 == 0x0120F000 or code & 0x0FB0F000 == 0x0320F000:
        return bits(code, 19, 16) == 0 or (top == 0 and m == 15)
    if code & 0x0FBF0FFF == 0x010F0000:
        return d == 15
    if code & 0x0FFFFFF0 == 0x012FFF10 or top in (5, 7):
        return False
    return data_forbidden(code, n, d, s, m)


def back(n: int, d: int, index: int | None, pre: int, write: int) -> bool:
    """The base is written back, and is pc or is used otherwise."""
    return bool(write or not pre) and (n == 15 or n in (d, index))


def data_forbidden(code: int, n: int, d: int, s: int, m: int) -> bool:
    opcode, flags = bits(code, 24, 21), bits(code, 20, 20)
    if 8 <= opcode <= 11 and (not flags or d != 0):
        return True
    if opcode in (13, 15) and n != 0:
        return True
    by_register = bits(code, 27, 25) == 0 and bits(code, 4, 4)
    return bool(by_register) and 15 in (n, d, s, m)


# --- texts ----------------------------------------------------------------------------------------

CONDITIONS = {"hs": "cs", "lo": "cc"}
REGISTER = re.compile(r"\b(r\d+|sp|lr|pc)\b")


def split(name: str) -> tuple[str, str]:
    """Mnemonic and condition; ``bls`` and the like are branches, ``strhs`` is a store of a word."""
    for row in sorted({row.mnemonic for row in ROWS}, key=len, reverse=True):
        suffix = "s?"
        if row.startswith(("ld", "st", "b", "sw", "m", "t", "c", "u")):
            suffix = {"ldm": "db|da|ib|ia|", "stm": "db|da|ib|ia|"}.get(
                row, "t?" if row[:3] in ("ldr", "str") else ""
            )
        if row in ("bic", "mov", "mvn", "mul", "mla", "umull", "umlal"):
            suffix = "s?"
        found = re.fullmatch(
            f"{row}({suffix})(eq|ne|[ch]s|cc|lo|mi|pl|v[sc]|hi|ls|ge|lt|gt|le)?", name
        )
        if found:
            mode = "" if found[1] == "ia" else found[1]
            return row + mode, CONDITIONS.get(found[2] or "", found[2] or "")
    raise AssertionError(name)


def theirs(line: Line, ours: str) -> tuple[str, str, str]:
    """Mnemonic, condition and operands of objdump in our spelling."""
    text, _, comment = line.text.partition(" @ ")
    inner = re.search(r"\((.*)\)", comment)
    if inner:  # push {lr} and nop are other names of what stands in the comment
        text = inner[1]
    name, _, operands = text.partition(" ")
    if name.startswith(("push", "pop")):
        return name[: 4 if name[1] == "u" else 3], name[4 if name[1] == "u" else 3 :], operands
    if name.startswith("svc"):
        name = "swi" + name[3:]
    shift = re.match(r"(lsl|lsr|asr|ror|rrx)(s?)(\w*)$", name)
    if shift:
        parts = operands.split(", ")
        amount = f", {shift[1]} {parts[2]}" if len(parts) > 2 else f", {shift[1]}"
        return "mov" + shift[2], shift[3], f"{parts[0]}, {parts[1]}{amount}"
    found = split(name)
    return (*found, operands)


def constants(operands: str) -> set[int]:
    """Every number, modulo 2**32; rotated ones by their value."""
    rotated = re.search(r"#(\d+), (\d+)$", operands)
    if rotated:
        value, by = int(rotated[1]), int(rotated[2])
        return {(value >> by | value << 32 - by) & 0xFFFFFFFF} - {0}
    found = {int(n, 0) & 0xFFFFFFFF for n in re.findall(r"#(-?(?:0x[0-9a-f]+|\d+))", operands)}
    return found - {0}


def compare(found: Instruction, line: Line) -> None:
    name, _, operands = found.text.partition(" ")
    if name.startswith(("push", "pop")):
        cut = 4 if name.startswith("push") else 3
        mine = (name[:cut], CONDITIONS.get(name[cut:], name[cut:]))
    else:
        mine = split(name)
    other_name, other_condition, other = theirs(line, found.text)
    assert mine == (other_name, other_condition), (found.text, line.text)
    assert REGISTER.findall(operands) == REGISTER.findall(other), (found.text, line.text)
    assert ("!" in operands, "^" in operands) == ("!" in other, "^" in other), line.text
    assert re.findall(r"lsl|lsr|asr|ror|rrx", operands) == re.findall(
        r"lsl|lsr|asr|ror|rrx", other
    ), (found.text, line.text)
    assert re.findall(r"[cs]psr_?[fsxc]*", operands) == re.findall(
        r"[cs]psr_?[fsxc]*", other.lower()
    ), (found.text, line.text)
    if found.target is not None and name[0] == "b" and "x" not in name:
        shown = re.match(r"([0-9a-f]+) <", other)
        assert shown, (found.text, line.text)
        assert int(shown[1], 16) == found.target, (found.text, line.text)
    elif other_name not in ("swi", "udf"):
        assert constants(operands) == constants(other), (found.text, line.text)


def test_arm_encodings_against_objdump(tmp_path: Path) -> None:
    rng = random.Random(40)
    codes = [draw(rng) for _ in range(40_000)]
    accepted: Counter[str] = Counter()
    for code, line in zip(codes, objdump_all(codes, tmp_path), strict=True):
        found = decode_arm(code.to_bytes(4, "little"), line.address)
        assert len(found.code) == 4
        if not isinstance(found, Instruction):
            assert found.reason
            assert line.undefined or line.unpredictable or forbidden(code), (hex(code), line.text)
            continue
        assert not forbidden(code), (hex(code), found.text)
        assert not line.undefined, (hex(code), found.text, line.text)
        compare(found, line)
        accepted[found.text.split()[0]] += 1
    assert sum(accepted.values()) > 15_000
    missing = {row.mnemonic for row in ROWS} - {split_or_list(name) for name in accepted}
    assert missing == set()


def split_or_list(name: str) -> str:
    if name.startswith(("push", "pop")):
        return "stm" if name.startswith("push") else "ldm"
    found = split(name)[0]
    rows = {row.mnemonic for row in ROWS}
    return (
        found
        if found in rows
        else next(r for r in sorted(rows, key=len)[::-1] if found.startswith(r))
    )


def test_arm_words_at_random(tmp_path: Path) -> None:
    """All of the encoding space, most of it not of version 4: what is accepted is understood."""
    rng = random.Random(41)
    codes = [rng.getrandbits(32) for _ in range(20_000)]
    accepted = 0
    for code, line in zip(codes, objdump_all(codes, tmp_path), strict=True):
        found = decode_arm(code.to_bytes(4, "little"), line.address)
        if isinstance(found, Instruction):
            accepted += 1
            assert not line.undefined, (hex(code), found.text, line.text)
            compare(found, line)
    assert accepted > 8_000
