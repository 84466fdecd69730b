"""Renode's traces: PC or opcode, translated addresses, what is lost, and damage."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from canonical_run import RUN
from trace_writers import image_of, renode_binary, renode_text

from wcetchar.errors import InputError
from wcetchar.model.trace import Event, Knowledge, Trace
from wcetchar.readers import open_trace


def opened(data: str | bytes, tmp_path: Path, **more: object) -> Trace:
    path = tmp_path / "trace"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    return open_trace(str(path), **more)  # type: ignore[arg-type]


def read(trace: Trace) -> list[tuple[str, int, int]]:
    return [
        (Event(kind).name, int(address), int(size))
        for batch in trace.batches()
        for kind, address, size in zip(batch.kind, batch.address, batch.size, strict=True)
    ]


def unless_refused(data: bytes, tmp_path: Path) -> list[tuple[str, int, int]] | None:
    """Events, or ``None`` where the file is refused as empty, foreign or cut short."""
    try:
        return read(opened(data, tmp_path))
    except InputError as error:
        if not any(word in str(error) for word in ("cut short", "no trace format", "empty")):
            raise
        return None


# Text.


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("0x40\n0x42\n", "pc"),
        ("0x8000\n0x8002\n0x10000\n", "pc"),
        ("0x8000\n0x8001\n", "opcode"),
        ("0x8000\n0x0840\n", "opcode"),
        ("0xE321F0D3\n0xE3A00000\n", "opcode"),
    ],
)
def test_pc_and_opcode_are_told_apart_by_what_cannot_be(
    text: str, form: str, tmp_path: Path
) -> None:
    trace = opened(text, tmp_path)
    assert trace.info.knows(Knowledge.PROGRAM_COUNTERS) is (form == "pc")
    assert trace.info.knows(Knowledge.OPCODES) is False
    assert trace.totals.instructions == 0
    assert len(read(trace)) == text.count("\n")


@pytest.mark.parametrize("text", ["0x2008\n0x200A\n", "0x20000100\n0x20000102\n"])
def test_what_can_be_both_is_refused_until_named(text: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="can be both") as error:
        opened(text, tmp_path)
    assert "renode-pc" in str(error.value)
    pc = opened(text, tmp_path, format="renode-pc")
    first = int(text.split()[0], 16)
    assert read(pc)[0] == ("INSTRUCTION", first, 0)
    opcode = opened(text, tmp_path, format="renode-opcode")
    assert read(opcode)[0] == ("INSTRUCTION", 0, (len(text.split()[0]) - 2) // 2)


def test_what_can_be_neither_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="are neither"):
        opened("0x41\n0x42\n", tmp_path)


@pytest.mark.parametrize(("form", "loss"), [("PC", "OPCODES"), ("Opcode", "PROGRAM_COUNTERS")])
def test_the_image_tells_pc_from_opcode(form: str, loss: str, tmp_path: Path) -> None:
    trace = opened(renode_text(form)(RUN), tmp_path, image=image_of(RUN))
    assert {k.name for k in Knowledge if not trace.info.knows(k)} >= {loss}
    with pytest.raises(InputError, match="neither"):
        opened("0x5000\n", tmp_path, image=image_of(RUN))


def test_the_designs_examples(tmp_path: Path) -> None:
    assert read(opened("0x2: 0xF3808811\n", tmp_path)) == [("INSTRUCTION", 2, 4)]
    text = (
        "0x00010000:   e1a00000       mov r0, r0\nMemoryWrite with address 0xE000, value 0x30000\n"
    )
    assert read(opened(text, tmp_path)) == [("INSTRUCTION", 0x10000, 4), ("WRITE", 0xE000, 0)]
    image = image_of(RUN)
    trace = opened("0x44: 0xF3808811\n", tmp_path, image=image)
    read(trace)
    assert trace.code[0].code == bytes.fromhex("80f31188")


def test_items_that_are_no_accesses_are_counted(tmp_path: Path) -> None:
    text = """0x40: 0x6001
 Pre: R0: 0x0 | R1: 0x5
MemoryWrite with address 0xC0000010 => 0x20000010, value 0x5
Post: R0: 0x0 | R1: 0x5
0x42: 0x6001
MemoryIORead with address 0x40000000, value 0xFFFFFFFFFFFFFFFF
InsnFetch with address 0x40, value 0x6001
Vector configured to VL: 0x10, VTYPE: 0xD0
AMO operands before - RD: 0x0, RS1: 0x80 (memory value: 0x1), RS2: 0x2
Couldn't disassemble opcode at PC 0x44
"""
    trace = opened(text, tmp_path)
    assert read(trace) == [
        ("INSTRUCTION", 0x40, 2),
        ("WRITE", 0x20000010, 0),
        ("INSTRUCTION", 0x42, 2),
        ("READ", 0x40000000, 0),
        ("UNDECODED", 0x44, 0),
    ]
    assert trace.totals.undecoded == 1
    assert dict(trace.totals.unread) == {
        "register values": 2,
        "instruction fetches": 1,
        "vector configurations": 1,
        "operands of atomics": 1,
    }


@pytest.mark.parametrize("write", [renode_text("PCAndOpcode"), renode_binary(5)])
def test_untracked_accesses_are_a_stated_loss(
    write: Callable[[object], bytes], tmp_path: Path
) -> None:
    trace = opened(write(RUN[10:15]), tmp_path)
    assert not trace.info.knows(Knowledge.ADDRESSES)
    assert not trace.info.knows(Knowledge.DIRECTIONS)


@pytest.mark.parametrize(
    "line",
    [
        "0x42",
        "0x42: 6001",
        "0x42: 0x600",
        "0x42:  0x6001",
        "0x: 0x6001",
        "x42: 0x6001",
        "0x42: 0x6001 ",
        "MemoryWrit with address 0x40, value 0x5",
        "MemoryWrite with address 0x, value 0x5",
        "MemoryWrite with address 0x40, value 0x",
        "MemoryWrite with address 0x40, value 0x5 ",
        "MemoryWrite with address 0x40, volue 0x5",
        "MemoryWrite with address 0x40",
        "",
        "Couldn't disassemble",
    ],
)
def test_a_damaged_line_is_an_error_with_its_place(line: str, tmp_path: Path) -> None:
    good = "0x40: 0x6001\nMemoryWrite with address 0x20000000, value 0x5\n"
    # Behind the first 64 KiB, which decide whose file it is.
    trace = opened(good * 2000 + line + "\n" + good, tmp_path)
    with pytest.raises(InputError) as error:
        read(trace)
    assert error.value.where is not None
    assert error.value.where.line == 4001
    assert "0xPC: 0xOPCODE" in f"{error.value.expected}"


def test_a_cut_off_last_line_is_refused(tmp_path: Path) -> None:
    trace = opened("0x40: 0x6001\n0x42: 0x60", tmp_path)
    with pytest.raises(InputError, match="cut off"):
        read(trace)


# Binary.


def test_the_designs_record(tmp_path: Path) -> None:
    """A whole version-5 record, pc 0x2008, a store, as the design gives it."""
    record = "08200000 04 2320b500 01 03 00e0000000000000 0000030000000000 00e0000000000000 00"
    header = b"ReTrace\x05\x04\x01\x01\x0briscv32 imc"
    trace = opened(header + bytes.fromhex(record), tmp_path)
    assert read(trace) == [("INSTRUCTION", 0x2008, 4), ("WRITE", 0xE000, 0)]
    assert trace.code[0].code == bytes.fromhex("2320b500")
    assert trace.info.arguments == ("riscv32 imc",)


@pytest.mark.parametrize("multi", [False, True])
@pytest.mark.parametrize("extras", [False, True])
@pytest.mark.parametrize("version", [4, 5])
def test_a_trace_cut_anywhere_is_refused_or_loses_whole_records(
    version: int, extras: bool, multi: bool, tmp_path: Path
) -> None:
    run = RUN[:7]
    data = renode_binary(version, multi=multi, extras=extras)(run)
    whole = read(opened(data, tmp_path))
    kept = []
    for cut in range(len(data)):
        found = unless_refused(data[:cut], tmp_path)
        if found is None:
            continue
        assert found == whole[: len(found)]
        kept.append(sum(kind == "INSTRUCTION" for kind, _, _ in found))
    # Only between records can a cut go unnoticed, and a multi-ISA block says how many it has.
    assert kept == ([0] if multi else list(range(len(run))))


def test_a_cut_gzip_stream_is_refused(tmp_path: Path) -> None:
    data = gzip.compress(renode_binary(5)(RUN * 50), mtime=0)
    for cut in range(len(data) // 2, len(data), 7):
        with pytest.raises(InputError, match=r"byte \d+"):
            read(opened(data[:cut], tmp_path))


HEADER = b"ReTrace\x05\x04\x01\x01\x01a"
RECORD = b"\x40\0\0\0\x02\x01\x60\0"


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"ReTrace\x03\x04\x00", "version 3"),
        (b"ReTrace\x06\x04\x00", "version 6"),
        (b"ReTrace\x05\x09\x00", "9 bytes"),
        (b"ReTrace\x05\x04\x02", "opcode flag 2"),
        (b"ReTrace\x05\x00\x00", "0 bytes"),
        (b"ReTrace\x04\x04\x01\x02", "multi-ISA flag 2"),
        (b"ReTrace\x05\x04\x01\x01\x05ab", "cut short"),
        (b"ReTrace\x05", "cut short"),
        (HEADER + RECORD + b"\x42\0\0\0\x02\x01\x60\x05", "item of type 5, at byte 28"),
        (HEADER + RECORD + b"\x42\0\0\0\x00", "opcode of 0 bytes, at byte 25"),
        (HEADER + RECORD + b"\x42\0\0\0\x11", "opcode of 17 bytes, at byte 25"),
        (HEADER + RECORD[:-1] + b"\x01\x05" + bytes(24), "memory operation 5, at byte 21"),
        (HEADER + RECORD[:-1] + b"\x03\0\x04\0" + bytes(99), "atomic of width 4, at byte 22"),
        (b"ReTrace\x05\x04\x01\x02\x01a\x01b\x02" + bytes(8), "instruction set 2"),
    ],
)
def test_damage_is_an_error_with_its_byte(data: bytes, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as error:
        read(opened(data, tmp_path))
    assert said in str(error.value)
    assert error.value.expected


def test_the_lost_rest_of_a_block_shows_in_a_multi_isa_trace(tmp_path: Path) -> None:
    block = b"\x00" + struct.pack("<Q", 3)
    records = RECORD + b"\x42\0\0\0\x02\x01\x60\0"
    after = b"\x01" + struct.pack("<Q", 1) + b"\x80\0\0\0\x02\x01\x60\0"
    header = b"ReTrace\x05\x04\x01\x02\x01a\x01b"
    trace = opened(header + block + records + after, tmp_path)
    assert read(trace) == [
        ("INSTRUCTION", 0x40, 2),
        ("INSTRUCTION", 0x42, 2),
        ("UNDECODED", 0x44, 0),
        ("INSTRUCTION", 0x80, 2),
    ]
    assert trace.totals.undecoded == 1


def test_fetches_are_no_data_accesses(tmp_path: Path) -> None:
    item = b"\x01\x04" + struct.pack("<QQQ", 0x40, 0, 0x40)
    trace = opened(HEADER + RECORD[:-1] + item + b"\0", tmp_path)
    assert read(trace) == [("INSTRUCTION", 0x40, 2)]
    assert dict(trace.totals.unread) == {"instruction fetches": 1}


def test_an_opcode_longer_than_a_word(tmp_path: Path) -> None:
    trace = opened(HEADER + b"\x40\0\0\0\x0f" + bytes(range(15)) + b"\0", tmp_path)
    assert read(trace) == [("INSTRUCTION", 0x40, 15)]
    assert trace.code[0].code == bytes(range(15))
