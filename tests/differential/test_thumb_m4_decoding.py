"""Decoding of what Armv7E-M has beside Armv7-M, against GNU objdump and the manual's bits."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from test_thumb_decoding import BY_TOP, as_bytes, mnemonic, needs_objdump, same_operands
from thumb_m4_patterns import DSP, FP
from thumb_objdump import objdump_all
from thumb_patterns import Pattern

from wcetchar.isa import decode_thumb
from wcetchar.isa.thumb import ARMV6M, ARMV7EM, ARMV7EM_FP, ARMV7M
from wcetchar.isa.thumb_dsp import DSP_EFFECTS
from wcetchar.isa.thumb_fp import FP_EFFECTS
from wcetchar.model.instruction import Instruction

CPU = "cortex-m4\n.fpu fpv4-sp-d16"


def named(patterns: Iterable[Pattern], code: int) -> str | None:
    for pattern in patterns:
        fields = pattern.fields_of(code)
        if fields is not None and pattern.allowed(fields):
            return pattern.name_of(fields)
    return None


def manual(code: int) -> str | None:
    """The instruction by the transcription of the manual; ``None``: not one of the Cortex-M4."""
    return named(FP, code) or named(DSP, code) or named(BY_TOP[code >> 27], code)


def neighbours(patterns: list[Pattern], seed: int) -> list[int]:
    """Encodings with fields at random, and with single fixed or reserved bits changed."""
    rng = random.Random(seed)
    codes = []
    for pattern in patterns:
        free = sum(letter not in "01" for letter in pattern.bits)
        codes += [pattern.fill(rng)[0] for _ in range(min(150, 2**free))]
        for bit in range(32):
            changed = pattern.fill(rng)[0] ^ 1 << bit
            if changed >> 27 in BY_TOP and pattern.mask >> bit & 1:
                codes.append(changed)
    return codes


FLOAT = re.compile(r"\b(?:([sd])(\d+)-[sd](\d+)|[sd]\d+(?:\[[01]\])?|r\d+|sb|sl|fp|ip|sp|lr|pc)\b")
CORE = {"sb": "r9", "sl": "r10", "fp": "r11", "ip": "r12"}


def operands(text: str) -> list[str]:
    """Registers of both kinds in order, lists written out, and writeback."""
    text = text.partition(" ")[2].partition("@")[0].lower()
    found = []
    for match in FLOAT.finditer(text):
        if match[1]:
            found += [f"{match[1]}{n}" for n in range(int(match[2]), int(match[3]) + 1)]
        else:
            found.append(CORE.get(match[0], match[0]))
    fraction = re.search(r"#(0x[0-9a-f]+|\d+)$", text.strip())
    return [*found, "!" if "!" in text else "", str(int(fraction[1], 0)) if fraction else ""]


def check(codes: list[int], folder: Path) -> set[str]:
    """Names of what the decoder accepts; all of the encodings are compared."""
    accepted = set()
    lines = objdump_all([as_bytes(c) for c in codes], folder, CPU)
    for code, line in zip(codes, lines, strict=True):
        found = decode_thumb(as_bytes(code), line.address, architecture=ARMV7EM_FP)
        expected = manual(code)
        if expected is None:
            assert not isinstance(found, Instruction), (f"{code:08x}", found, line.text)
            assert found.reason
            continue
        assert isinstance(found, Instruction), (f"{code:08x}", expected, found, line.text)
        assert not line.undefined, (f"{code:08x}", found.text, line.text)
        if named(FP, code):
            theirs = line.text.partition(" ")[0]
            assert found.text.partition(" ")[0] == theirs == expected, (found.text, line.text)
            assert found.issue.is_float
            ours, shown = operands(found.text), operands(line.text)
            if "e+" in found.text or "e-" in found.text or "#0" in line.text:  # constants
                ours, shown = ours[:-1], shown[:-1]
            assert ours == shown, (f"{code:08x}", found.text, line.text)
            accepted.add(theirs)
        elif named(DSP, code):
            theirs = line.text.partition(" ")[0]
            assert mnemonic(found) == theirs == expected, (f"{code:08x}", found.text, line.text)
            assert same_operands(found.text, line.text), (f"{code:08x}", found.text, line.text)
            assert not found.issue.is_float
            accepted.add(theirs)
    return accepted


@needs_objdump
def test_dsp_encodings(tmp_path: Path) -> None:
    assert check(neighbours(DSP, 40), tmp_path) - {"msr"} == set(DSP_EFFECTS)


@needs_objdump
def test_fp_encodings(tmp_path: Path) -> None:
    assert check(neighbours(FP, 41), tmp_path) == set(FP_EFFECTS)


@needs_objdump
def test_m4_encodings_at_random(tmp_path: Path) -> None:
    rng = random.Random(42)
    tops = (0xEC00_0A00, 0xED00_0A00, 0xEE00_0A00, 0xEC00_0B00, 0xED00_0B00, 0xEE00_0B00)
    codes = [rng.choice(tops) | rng.getrandbits(32) & 0x00FF_F0FF for _ in range(6_000)]
    codes += [rng.randrange(0xFA00_0000, 0xFC00_0000) for _ in range(6_000)]
    codes += [rng.randrange(0xE800_0000, 0x1_0000_0000) for _ in range(6_000)]
    assert len(check(codes, tmp_path)) > 80


@pytest.mark.parametrize("architecture", [ARMV6M, ARMV7M, ARMV7EM])
def test_extensions_belong_to_cores_that_have_them(architecture: str) -> None:
    rng = random.Random(43)
    for pattern in [*FP, *(DSP if architecture != ARMV7EM else [])]:
        for _ in range(8):
            code, fields = pattern.fill(rng)
            if pattern.allowed(fields):
                found = decode_thumb(as_bytes(code), 0, architecture=architecture)
                assert not isinstance(found, Instruction), (f"{code:08x}", found)


def test_the_dsp_extension_needs_no_floating_point() -> None:
    rng = random.Random(44)
    for pattern in DSP:
        code, fields = pattern.fill(rng)
        while not pattern.allowed(fields):
            code, fields = pattern.fill(rng)
        plain = decode_thumb(as_bytes(code), 0, architecture=ARMV7EM)
        assert plain == decode_thumb(as_bytes(code), 0, architecture=ARMV7EM_FP)
        assert isinstance(plain, Instruction)
