"""Whole RISC-V images: architecture strings, code ranges, what is not supported."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.isa import INSTRUCTION_SETS, decode_image, find
from wcetchar.isa.riscv_architecture import Refused, extensions_of
from wcetchar.model.image import CodeRange, Image, Section
from wcetchar.model.instruction import ARM_REGISTERS, RISCV_REGISTERS

BASE = 0x8000_0000
GCC = "rv32i2p1_m2p0_a2p1_c2p0_zicsr2p0_zifencei2p0"


def image(code: str, ranges: tuple[CodeRange, ...] | None = None, architecture: str = GCC) -> Image:
    data = bytes.fromhex(code)
    section = Section(".text", BASE, len(data), False, True, data)
    return Image(
        path="firmware.elf",
        machine="riscv",
        architecture=architecture,
        bits=32,
        entry=BASE,
        sections=(section,),
        symbols=(),
        code=ranges or (CodeRange(BASE, BASE + len(data), "riscv"),),
        lines=(),
        sha256="0" * 64,
    )


def test_riscv_every_instruction_in_order() -> None:
    # c.addi sp, -32; c.swsp ra, 28(sp); jal ra, +0; c.jr ra; literal
    table = decode_image(
        image("0111 06ce ef000000 8280 deadbeef", (CodeRange(BASE, BASE + 10, "riscv"),))
    )
    assert [i.address - BASE for i in table.instructions] == [0, 2, 4, 8]
    assert table.undecodable == ()
    assert (table.fetch_bytes, table.granule) == (4, 2)
    assert table.registers is RISCV_REGISTERS
    call = table.at(BASE + 4)
    assert call is not None
    assert call.target == BASE + 4
    assert table.at(BASE + 6) is None


def test_riscv_undecodable_bytes_are_kept_and_do_not_end_the_range() -> None:
    # flw fa0, 0(a0); c.li a0, 1; a 48-bit encoding; c.li a0, 2; a cut-off one
    table = decode_image(image("07250500 0545 1f0001000100 0945 1305"))
    assert [(u.address - BASE, len(u.code)) for u in table.undecodable] == [(0, 4), (6, 6), (14, 2)]
    assert "floating-point" in table.undecodable[0].reason
    assert "ends inside" in table.undecodable[2].reason
    assert [i.address - BASE for i in table.instructions] == [4, 12]


def test_riscv_without_compressed_instructions() -> None:
    """Jumps reach multiples of 4 only, so code moves by whole words."""
    table = decode_image(image("13000000 0100 0100", architecture="rv32i2p1_m2p0"))
    assert table.granule == 4
    assert len(table) == 1
    assert [u.address - BASE for u in table.undecodable] == [4, 6]
    assert "C or Zca" in table.undecodable[0].reason


def test_riscv_ranges_out_of_order_and_empty_ones() -> None:
    ranges = (
        CodeRange(BASE + 4, BASE + 6, "riscv"),
        CodeRange(BASE, BASE + 2, "riscv"),
        CodeRange(BASE + 2, BASE + 2, "riscv"),
    )
    table = decode_image(image("0100 0100 0100", ranges))
    assert [i.address - BASE for i in table.instructions] == [0, 4]


@pytest.mark.parametrize(
    ("ranges", "architecture", "words"),
    [
        ((CodeRange(BASE, BASE + 4, "thumb"),), GCC, "'thumb' state"),
        ((CodeRange(BASE + 1, BASE + 3, "riscv"),), GCC, "no multiple of 2"),
        ((CodeRange(BASE + 2, BASE + 4, "riscv"),), "rv32i", "no multiple of 4"),
        (
            (CodeRange(BASE, BASE + 4, "riscv"), CodeRange(BASE + 2, BASE + 4, "riscv")),
            GCC,
            "overlaps",
        ),
        ((CodeRange(BASE, BASE + 40, "riscv"),), GCC, "no stored contents"),
    ],
)
def test_riscv_code_ranges_that_cannot_be_decoded(
    ranges: tuple[CodeRange, ...], architecture: str, words: str
) -> None:
    with pytest.raises(InputError, match=words) as caught:
        decode_image(image("0100 0100", ranges, architecture))
    assert caught.value.where is not None
    assert caught.value.expected


BASIC, MULTIPLY, ATOMIC = {"i", "zicsr"}, {"m", "zmmul"}, {"zaamo", "zalrsc"}
COMPRESSED, FENCE_I = {"zca"}, {"zifencei"}


@pytest.mark.parametrize(
    ("architecture", "extensions"),
    [
        (GCC, BASIC | MULTIPLY | ATOMIC | COMPRESSED | FENCE_I),
        ("rv32i2p1_m2p0_c2p0_zicsr2p0_zmmul1p0", BASIC | MULTIPLY | COMPRESSED),
        (
            "rv32i2p1_m2p0_a2p1_c2p0_zicsr2p0_zaamo1p0_zalrsc1p0_zca1p0",
            BASIC | MULTIPLY | ATOMIC | COMPRESSED,
        ),
        ("rv32i2p0_m2p0_a2p0_c2p0", BASIC | MULTIPLY | ATOMIC | COMPRESSED | FENCE_I),
        ("RV32I2p1_Zicntr2p0_Zihpm2p0", BASIC),
        ("rv32i2p1m2p0c2p0", BASIC | MULTIPLY | COMPRESSED),
        ("rv32i2", BASIC | FENCE_I),
        ("rv32imac", BASIC | MULTIPLY | ATOMIC | COMPRESSED),
        ("rv32i", BASIC),
    ],
)
def test_riscv_architecture_strings(architecture: str, extensions: set[str]) -> None:
    assert extensions_of(architecture) == extensions
    assert find(image("0100", architecture=architecture)).name == "RISC-V RV32IMAC"


@pytest.mark.parametrize(
    ("architecture", "words"),
    [
        ("rv64i2p1_m2p0", "64-bit registers"),
        ("rv128i", "128-bit registers"),
        ("rv32e1p9_m2p0", "16 registers"),
        ("rv32i2p1_m2p0_f2p2_zicsr2p0", "floating-point extension F"),
        ("rv32i2p1_d2p2", "floating-point extension D"),
        ("rv32gc", "floating-point extensions F and D"),
        ("rv32i2p1_v1p0_zve32f1p0", "vector extension V"),
        ("rv32i2p1_zve32x1p0", "extension Zve32x"),
        ("rv32imac_zba1p0", "extension Zba"),
        ("rv32imac_zcmp1p0", "extension Zcmp"),
        ("rv32i2p1_xtheadba1p0", "extension Xtheadba"),
        ("rv32imac_smclic", "extension Smclic"),
        ("rv32", "no base"),
        ("rv32m", "no base"),
        ("rv32im!", "not understood"),
        ("riscv", "no architecture string"),
    ],
)
def test_riscv_architectures_that_are_refused(architecture: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        extensions_of(architecture)
    with pytest.raises(InputError, match=words) as caught:
        decode_image(image("0100", architecture=architecture))
    error = caught.value
    assert error.where is not None
    assert error.where.file == "firmware.elf"
    assert "riscv with" in (error.expected or "")
    assert "-march=rv32imac" in (error.hint or "")


def test_riscv_without_an_architecture() -> None:
    with pytest.raises(InputError, match="no architecture stated") as caught:
        decode_image(image("0100", architecture=""))
    assert ".riscv.attributes" in (caught.value.hint or "")


@given(st.text("rv3264imacefdgzsx_0123456789p!", max_size=24))
def test_riscv_any_architecture_string(text: str) -> None:
    """Either it is understood, as one of RV32, or it is refused; nothing else is raised."""
    for architecture in (text, "rv32i" + text):
        with suppress(Refused):
            assert "i" in extensions_of(architecture)
            assert architecture.startswith("rv32")


def test_riscv_is_one_of_the_registry() -> None:
    entries = [entry for entry in INSTRUCTION_SETS if entry.machine == "riscv"]
    assert len(entries) == 1
    assert entries[0].refusal("rv32imc") is None
    assert entries[0].refusal("armv7-m")
    assert ARM_REGISTERS.stack_pointer == 13
