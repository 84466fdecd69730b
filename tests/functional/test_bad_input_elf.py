"""Firmware files that cannot be used: of other machines, not linked, damaged, without symbols."""

from __future__ import annotations

import struct
import subprocess
from pathlib import Path

import pytest
from bad_input import (
    SERVICES,
    SOURCE,
    captured,
    files,
    linked,
    need,
    own_cache,
    refused,
    run,
    write,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar import isa
from wcetchar.errors import InputError
from wcetchar.image import load_image
from wcetchar.image.lines import MAXIMUM_DEBUG

ARM_STATE = """
 .arm
 .global reset
 .type reset, %function
reset: mov r0, #0
 b reset
 .size reset, .-reset
"""


ENDLESS = """
 .syntax unified
 .thumb
 .text
 .thumb_func
 .global reset
reset: b reset
"""


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_cache(monkeypatch)
    monkeypatch.chdir(tmp_path)
    write("s.yaml", SERVICES)
    write("run", b"")


def of_machine(number: int) -> bytes:
    """The tiny firmware, said to be for another machine (ELF header, e_machine)."""
    data = bytearray(linked().read_bytes())
    struct.pack_into("<H", data, 18, number)
    return bytes(data)


def both_verbs(firmware: str | Path, *said: str) -> None:
    """Neither takes it, and nothing is written."""
    before = files(Path())
    refused(run("capture", firmware, "--machine", "mps2-an385", "-o", "out"), 3, *said)
    refused(run("characterize", firmware, "run", "--services", "s.yaml", "-o", "out"), 3, *said)
    assert files(Path()) == before


@pytest.mark.parametrize(
    ("number", "said"),
    [(62, "EM_X86_64"), (183, "EM_AARCH64"), (8, "EM_MIPS"), (0xFEED, "machine 65261")],
)
def test_another_machine(number: int, said: str) -> None:
    write("other.elf", of_machine(number))
    both_verbs("other.elf", "other.elf: the file is for machine", said, "cross compiler")


def test_a_program_of_this_machine() -> None:
    need("cc")
    write("m.c", "int main(void) { return 0; }\n")
    subprocess.run(["cc", "m.c", "-o", "m.elf"], check=True)
    both_verbs("m.elf", "m.elf: the file is ")


def test_big_endian() -> None:
    both_verbs(linked(SOURCE, "-mbig-endian"), "the file is big-endian")


def test_arm_state() -> None:
    firmware = linked(ARM_STATE.replace(".arm", ".cpu cortex-a8\n .arm"), "-mcpu=cortex-a8")
    both_verbs(firmware, "the image is for arm (armv7-a)", "-mcpu=cortex-m3")


def test_arm_state_in_an_image_for_a_core_without_it() -> None:
    elf = bytearray(linked().read_bytes())
    elf[elf.index(b"\0$t\0") + 2] = ord("a")  # the mapping symbols say Arm
    write("arm.elf", elf)
    result = run("characterize", "arm.elf", "run", "--services", "s.yaml", "-o", "out")
    refused(result, 3, "arm.elf: ", "'arm' state", "-mthumb")


def test_arm_firmware_on_the_other_kind_of_core() -> None:
    """Both are Arm; QEMU would run either into a fault."""
    older = linked(ARM_STATE.replace(".arm", ".cpu arm7tdmi\n .arm"), "-mcpu=arm7tdmi")
    for firmware, machine, said in (
        (older, "mps2-an385", "the image is for armv4t, but mps2-an385 has an Arm Cortex-M core"),
        (linked(), "versatilepb", "the image is for arm, but versatilepb has an Armv4T core"),
    ):
        before = files(Path())
        refused(run("capture", firmware, "--machine", machine, "-o", "out"), 3, said)
        assert files(Path()) == before


def test_riscv_firmware_for_a_thumb_trace() -> None:
    write("riscv.elf", of_machine(243))
    both_verbs("riscv.elf", "riscv.elf: the image is for riscv")
    trace = captured(linked())
    result = run("characterize", "riscv.elf", trace, "--services", "s.yaml", "-o", "out")
    refused(result, 3, "riscv.elf: ")


def test_no_architecture_stated() -> None:
    need("arm-none-eabi-objcopy")
    elf = linked()
    subprocess.run(["arm-none-eabi-objcopy", "-R", ".ARM.attributes", elf, "bare.elf"], check=True)
    both_verbs("bare.elf", "no architecture stated", ".ARM.attributes")


def test_an_object_file() -> None:
    need("arm-none-eabi-gcc")
    write("a.s", SOURCE)
    subprocess.run(
        ["arm-none-eabi-gcc", "-c", "-mcpu=cortex-m3", "-mthumb", "a.s"],
        check=True,
        capture_output=True,
    )
    both_verbs("a.o", "a.o: the file is of type ET_REL", "a linked executable", "link the objects")


def test_no_elf() -> None:
    write("text", "hello\n")
    write("empty", b"")
    write("magic", b"\x7fELF")
    both_verbs("text", "text: this is no ELF file", "linker's output")
    both_verbs("empty", "empty: this is no ELF file")
    both_verbs("magic", "magic: the ELF file is damaged")
    Path("folder").mkdir()
    both_verbs("folder", "folder: this is no file")
    both_verbs("missing", "missing: cannot be read: No such file")
    both_verbs("/dev/zero", "/dev/zero: this is no file")


def test_truncated() -> None:
    whole = linked(SOURCE, "-g").read_bytes()
    for size in (16, 51, 52, 80, 4096, len(whole) // 2, len(whole) - 400, len(whole) - 1):
        write("cut.elf", whole[:size])
        both_verbs("cut.elf", "cut.elf: ")


def test_stripped() -> None:
    need("arm-none-eabi-strip")
    trace = captured(linked())
    subprocess.run(["arm-none-eabi-strip", linked(), "-o", "bare.elf"], check=True)
    result = run("characterize", "bare.elf", trace, "--services", "s.yaml", "-o", "out")
    refused(result, 3, "bare.elf: ", "the image has no symbols", "do not strip")
    result = run(
        "capture", "bare.elf", "--machine", "mps2-an385", "--marked", "s.yaml", "-o", "out"
    )
    refused(result, 3, "the image has no symbols")
    assert not Path("out").exists()


def test_an_executable_range_of_odd_length_ends() -> None:
    """Thumb code has even lengths; a damaged header can say otherwise."""
    elf = bytearray(linked(ENDLESS).read_bytes())
    shoff, shentsize, shnum = (
        struct.unpack_from("<I", elf, 32)[0],
        *struct.unpack_from("<HH", elf, 46),
    )
    for number in range(shnum):
        at = shoff + number * shentsize
        flags, _, _, size = struct.unpack_from("<IIII", elf, at + 8)
        if flags == 6:  # SHF_ALLOC | SHF_EXECINSTR
            struct.pack_into("<I", elf, at + 20, size - 1)
    write("odd.elf", elf)
    table = isa.decode_image(load_image("odd.elf"))
    assert "ends inside" in table.undecodable[-1].reason


def test_relocations_that_the_linker_kept_are_not_applied_again() -> None:
    plain = load_image(str(linked(SOURCE, "-g")))
    kept = load_image(str(linked(SOURCE, "-g", "-Wl,--emit-relocs")))
    assert plain.lines
    assert kept.lines == plain.lines


def test_debug_information_that_unpacks_without_end() -> None:
    need("arm-none-eabi-objcopy")
    elf = linked(SOURCE, "-g")
    subprocess.run(
        ["arm-none-eabi-objcopy", "--compress-debug-sections=zlib", elf, "z.elf"], check=True
    )
    assert load_image("z.elf").lines == load_image(str(elf)).lines
    data = bytearray(Path("z.elf").read_bytes())
    (shoff,), (shentsize, shnum) = (
        struct.unpack_from("<I", data, 32),
        struct.unpack_from("<HH", data, 46),
    )
    for number in range(shnum):
        flags, _, offset = struct.unpack_from("<III", data, shoff + number * shentsize + 8)
        if flags & 0x800:  # SHF_COMPRESSED: the section begins with an Elf32_Chdr
            struct.pack_into("<I", data, offset + 4, MAXIMUM_DEBUG + 1)
    write("bomb.elf", data)
    both_verbs("bomb.elf", "bomb.elf: the debug information takes", "at most")
    subprocess.run(
        ["arm-none-eabi-objcopy", "--compress-debug-sections=zlib-gnu", elf, "old.elf"], check=True
    )
    both_verbs("old.elf", "old GNU format", "--decompress-debug-sections")


def only_input_errors(path: Path) -> None:
    found: InputError | None = None
    try:
        isa.decode_image(load_image(str(path)))
    except InputError as error:
        found = error
    if found is not None:
        assert found.where is not None
        assert found.where.file == str(path)


def _places() -> st.SearchStrategy[tuple[int, int]]:
    """(where in the file as a part of 2^16, new byte); headers more often than contents."""
    return st.tuples(
        st.one_of(st.integers(0, 700), st.integers(0, 0xFFFF), st.integers(0xC000, 0xFFFF)),
        st.one_of(st.sampled_from([0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF]), st.integers(0, 255)),
    )


@settings(max_examples=250, deadline=None)
@given(st.lists(_places(), min_size=1, max_size=6), st.integers(0, 0xFFFF))
def test_flipped_bytes_give_an_image_or_an_input_error(
    changes: list[tuple[int, int]], kept: int
) -> None:
    elf = linked(SOURCE, "-g")
    data = bytearray(elf.read_bytes())
    for place, value in changes:
        data[place * len(data) >> 16] = value
    if kept < 0x4000:
        del data[len(data) * kept >> 14 :]
    path = elf.with_name("flipped.elf")
    path.write_bytes(data)
    only_input_errors(path)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=600))
def test_arbitrary_bytes_behind_a_good_header(tail: bytes) -> None:
    elf = linked(SOURCE, "-g")
    path = elf.with_name("tail.elf")
    path.write_bytes(elf.read_bytes()[:52] + tail)
    only_input_errors(path)
