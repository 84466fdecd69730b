"""DSP and floating-point instructions by hand from the manual (DDI 0403E, A6.4-A6.7, A7.7)."""

from __future__ import annotations

import pytest

from wcetchar.isa import decode_image, decode_thumb
from wcetchar.model.access import EventKind as K
from wcetchar.model.image import CodeRange, Image, Section
from wcetchar.model.instruction import Flow, Instruction, Transfer, Undecodable

AT = 0x0800_1000


def decode(code: str, it_state: int = 0, architecture: str = "armv7e-m+fp") -> Instruction:
    found = decode_thumb(bytes.fromhex(code), AT, it_state, architecture=architecture)
    assert isinstance(found, Instruction), found
    return found


def refused(code: str, architecture: str = "armv7e-m+fp") -> Undecodable:
    found = decode_thumb(bytes.fromhex(code), AT, 0, architecture=architecture)
    assert isinstance(found, Undecodable), found
    return found


def mask(*registers: int) -> int:
    return sum(1 << register for register in registers)


# code in memory order, text, issue, defs, uses, (base, reads, writes, burst) or None
LISTING = [
    ("71 ee 21 0a", "vadd.f32 s1, s2, s3", K.FLOAT, [], [], None),
    ("e1 ee 21 0a", "vfma.f32 s1, s2, s3", K.FLOAT_MULTIPLY_ACCUMULATE, [], [], None),
    ("c1 ee 21 0a", "vdiv.f32 s1, s2, s3", K.FLOAT_DIVIDE, [], [], None),
    ("f1 ee c1 0a", "vsqrt.f32 s1, s2", K.FLOAT_SQUARE_ROOT, [], [], None),
    ("f5 ee 40 0a", "vcmp.f32 s1, #0", K.FLOAT, [], [], None),
    ("fd ee c1 0a", "vcvt.s32.f32 s1, s2", K.FLOAT, [], [], None),
    ("00 ee 90 2a", "vmov s1, r2", K.FLOAT_TRANSFER, [], [2], None),
    ("10 ee 90 2a", "vmov r2, s1", K.FLOAT_TRANSFER, [2], [], None),
    ("44 ec 11 3b", "vmov d1, r3, r4", K.FLOAT_TRANSFER_PAIR, [], [3, 4], None),
    ("54 ec 30 3a", "vmov r3, r4, s1, s2", K.FLOAT_TRANSFER_PAIR, [3, 4], [], None),
    ("f1 ee 10 3a", "vmrs r3, fpscr", K.FLOAT_TRANSFER, [3], [], None),
    ("d2 ed 01 0a", "vldr s1, [r2, #4]", K.FLOAT_LOAD, [], [2], (2, 1, 0, False)),
    ("92 ed 01 1b", "vldr d1, [r2, #4]", K.FLOAT_LOAD, [], [2], (2, 2, 0, True)),
    ("5f ed 01 0a", "vldr s1, [pc, #-4]", K.FLOAT_LOAD, [], [], (15, 1, 0, False)),
    ("02 ed 02 1b", "vstr d1, [r2, #-8]", K.FLOAT_STORE, [], [2], (2, 0, 2, True)),
    ("f2 ec 03 0a", "vldmia r2!, {s1, s2, s3}", K.FLOAT_LOAD_MULTIPLE, [2], [2], (2, 3, 0, True)),
    ("2d ed 04 8b", "vpush {d8, d9}", K.FLOAT_STORE_MULTIPLE, [13], [13], (13, 0, 4, True)),
    ("bd ec 02 8b", "vpop {d8}", K.FLOAT_LOAD_MULTIPLE, [13], [13], (13, 2, 0, True)),
    ("82 fa 83 f1", "qadd r1, r3, r2", K.ALU, [1], [2, 3], None),
    ("12 fb 03 41", "smlabb r1, r2, r3, r4", K.MULTIPLY_ACCUMULATE, [1], [2, 3, 4], None),
    ("c3 fb 84 12", "smlalbb r1, r2, r3, r4", K.MULTIPLY_LONG, [1, 2], [1, 2, 3, 4], None),
]


@pytest.mark.parametrize(("code", "text", "issue", "defs", "uses", "memory"), LISTING)
def test_listing(
    code: str,
    text: str,
    issue: K,
    defs: list[int],
    uses: list[int],
    memory: tuple[int, int, int, bool] | None,
) -> None:
    found = decode(code)
    assert (found.text, found.issue, found.flow) == (text, issue, Flow.NEXT)
    assert (found.defs, found.uses) == (mask(*defs), mask(*uses))
    if memory is None:
        assert found.memory is None
    else:
        effect = found.memory
        assert effect is not None
        assert (effect.base, effect.reads, effect.writes, effect.burst) == memory
        assert effect.width == 32
        # No core register gets or gives what is transferred.
        assert effect.transfers == (Transfer(None),) * (effect.reads + effect.writes)


def test_the_registers_that_a_switch_saves() -> None:
    found = decode("20 ed 10 8a", 0x08)  # vstmdbeq r0!, {s16-s31}, in an IT block
    assert found.text.startswith("vstmdbeq r0!, {s16, s17")
    assert found.conditional
    assert found.memory is not None
    assert found.memory.writes == 16
    assert found.issue is K.FLOAT_STORE_MULTIPLE


def test_flags_come_from_fpscr_only_by_name() -> None:
    to_flags = decode("f1 ee 10 fa")  # vmrs apsr_nzcv, fpscr
    assert to_flags.sets_flags
    assert to_flags.test is None
    assert not decode("f1 ee 10 3a").sets_flags
    assert not decode("f4 ee 41 0a").sets_flags  # vcmp.f32: FPSCR's own flags


def test_msr_of_the_greater_or_equal_flags_needs_the_dsp_extension() -> None:
    assert decode("83 f3 00 84").text == "msr apsr_g, r3"
    assert "UNPREDICTABLE" in refused("83 f3 00 84", "armv7-m").reason
    assert "UNPREDICTABLE" in refused("83 f3 10 84").reason  # of PRIMASK


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("71 ee 22 0b", "FPv4-SP-D16"),  # vadd.f64
        ("41 fe 21 0a", "FPv4-SP-D16"),  # vsel, of FPv5
        ("b2 ec 05 1b", "FPv4-SP-D16"),  # fldmiax
        ("d2 ec 24 1a", "list ends"),  # 36 registers from s3 on
        ("92 ec 00 0a", "list ends"),  # none
        ("92 ec 22 0b", "list ends"),  # 17 doublewords
        ("cf ed 01 0a", "pc as base"),  # vstr to pc
        ("11 ee 10 0f", "coprocessor"),  # mrc
    ],
)
def test_what_the_core_has_not(code: str, word: str) -> None:
    assert word in refused(code).reason


@pytest.mark.parametrize(
    ("architecture", "decoded"),
    [("armv7-m", 0), ("armv7e-m", 1), ("armv7e-m+fp", 2), ("armv7e-m+fp.dp", 2)],
)
def test_an_image_is_decoded_for_its_own_architecture(architecture: str, decoded: int) -> None:
    data = bytes.fromhex("82fa83f1 71ee210a")  # qadd, vadd.f32
    image = Image(
        path="firmware.elf",
        machine="arm",
        architecture=architecture,
        bits=32,
        entry=0x1000,
        sections=(Section(".text", 0x1000, 8, False, True, data),),
        symbols=(),
        code=(CodeRange(0x1000, 0x1008, "thumb"),),
        lines=(),
        sha256="0" * 64,
    )
    table = decode_image(image)
    assert len(table) == decoded
    assert len(table.undecodable) == 2 - decoded
