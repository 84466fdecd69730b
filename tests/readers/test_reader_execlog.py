"""execlog: which version it is, the offset of RAM addresses, odd lines and damaged ones."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from canonical_run import RUN
from needs import need
from trace_writers import execlog, image_of, shown_an385

from wcetchar.errors import InputError
from wcetchar.image import load_image
from wcetchar.model.machine import MACHINES, CapturedMachine, Machine
from wcetchar.model.trace import Event, Trace
from wcetchar.readers import open_trace

TRACES = Path(__file__).resolve().parents[2] / "traces"
LINE = '0, 0x46, 0x5fe56808, "ldr r0, [r1]", load, 0x40004004, uart\n'


def opened(text: str | bytes, tmp_path: Path, **more: object) -> Trace:
    path = tmp_path / "execlog"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_trace(str(path), **more)  # type: ignore[arg-type]


def read(trace: Trace) -> list[tuple[str, int, int]]:
    return [
        (Event(kind).name, int(address), int(size))
        for batch in trace.batches()
        for kind, address, size in zip(batch.kind, batch.address, batch.size, strict=True)
    ]


def load(address: int, device: str = "RAM") -> str:
    return f'0, 0x46, 0x6808, "ldr r0, [r1]", load, 0x{address:08x}, {device}\n'


@pytest.mark.parametrize(
    ("address", "version"),
    [
        (0x000000B0, "8.2"),  # no block is printed there by 7.2
        (0x20000100, "8.2"),
        (0x20400000, "8.2"),  # the SRAM's mirror
        (0x010100B0, "7.2"),  # no memory is there
        (0x02000004, "7.2"),
        (0x20000104, "8.2"),
    ],
)
def test_one_decisive_address_tells_the_version(address: int, version: str, tmp_path: Path) -> None:
    # The first access fits both: SRAM as 7.2 prints it, or PSRAM as it is.
    text = load(0x21410100) + load(address)
    assert opened(text, tmp_path, machine="mps2-an385").info.format == f"execlog-{version}"


def test_without_a_decisive_address_the_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="alike") as error:
        opened(load(0x21410100), tmp_path, machine="mps2-an385")
    assert "--trace-format" in str(error.value)


def test_where_both_readings_agree_there_is_nothing_to_decide(tmp_path: Path) -> None:
    # PSRAM outside the range that the SRAM is printed in; and no RAM access at all.
    for text in (load(0x21000010), LINE):
        assert opened(text, tmp_path, machine="mps2-an385").info.format == "execlog-8.2"


def test_addresses_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="printed either way"):
        opened(load(0xB0) + load(0x010100B0), tmp_path, machine="mps2-an385")


@pytest.mark.parametrize("machine", [None, "mps3-unheard-of"])
@pytest.mark.parametrize("format", [None, "execlog-7.2"])
def test_without_a_known_machine_a_log_with_offsets_is_refused(
    machine: str | None, format: str | None, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        opened(load(0x20000000), tmp_path, machine=machine, format=format)
    assert "--machine" in str(error.value)
    assert "mps2-an385" in str(error.value)


def test_an_address_that_two_blocks_share_needs_the_image(tmp_path: Path) -> None:
    log = execlog(RUN, shown_an385)
    bare = opened(log, tmp_path, machine="mps2-an385")
    assert bare.info.format == "execlog-7.2"
    with pytest.raises(InputError, match="two blocks") as error:
        read(bare)
    assert error.value.where is not None
    assert error.value.where.line == 3
    psram = opened(log, tmp_path, machine="mps2-an385", image=image_of(RUN, ram=0x21000000))
    assert ("WRITE", 0x21410100, 0) in read(psram)
    sram = opened(log, tmp_path, machine="mps2-an385", image=image_of(RUN))
    assert ("WRITE", 0x20000100, 0) in read(sram)
    shared = "addresses that two RAM blocks share in print, taken for the one in use"
    assert dict(sram.totals.unread)[shared] == 27


@pytest.mark.parametrize(
    ("format", "address"), [("execlog-7.2", 0x40), ("execlog-8.2", 0x010100B0)]
)
def test_ram_where_the_machine_has_none_is_refused(
    format: str, address: int, tmp_path: Path
) -> None:
    trace = opened(LINE + load(address), tmp_path, machine="mps2-an385", format=format)
    with pytest.raises(InputError, match="has no RAM") as error:
        read(trace)
    assert error.value.where is not None
    assert error.value.where.line == 2


def test_the_designs_example(tmp_path: Path) -> None:
    text = (
        '0, 0x46, 0x102e9c1, "strd r0, r1, [r1, #8]", store, 0x21410108, RAM'
        ", store, 0x2141010c, RAM\n"
        '0, 0x66, 0x5fe56808, "ldr r0, [r1]", load, 0x40004004, uart\n'
    )
    image = image_of(RUN)
    trace = opened(text, tmp_path, machine="mps2-an385", format="execlog-7.2", image=image)
    assert read(trace) == [
        ("INSTRUCTION", 0x46, 4),
        ("WRITE", 0x20000108, 0),
        ("WRITE", 0x2000010C, 0),
        ("INSTRUCTION", 0x66, 2),
        ("READ", 0x40004004, 0),
    ]
    assert [(c.address, c.code.hex()) for c in trace.code] == [(0x46, "c1e90201"), (0x66, "0868")]


def test_only_the_load_of_a_store_exclusive_is_dropped(tmp_path: Path) -> None:
    both = ", load, 0x20000100, RAM, store, 0x20000100, RAM\n"
    text = '0, 0x40, 0x4500e840, "strex r5, r4, [r0]"' + both
    text += '0, 0x44, 0x2f45e8c0, "strexb r5, r2, [r0]"' + both
    text += '0, 0x48, 0x1203e9c0, "strd r1, r2, [r0, #12]"' + both
    text += '0, 0x4c, 0x4500e840, "strex r5, r4, [r0]", store, 0x20000100, RAM\n'
    text += '0, 0x50, 0x4500e840, "strex r5, r4, [r0]", load, 0x20000100, RAM\n'
    text += (
        '0, 0x54, 0x4500e840, "strex r5, r4, [r0]", load, 0x20000104, RAM, store, 0x20000100, RAM\n'
    )
    trace = opened(text, tmp_path, machine="mps2-an385", format="execlog-8.2")
    kinds = "".join(kind[0] for kind, _, _ in read(trace))
    assert kinds == "IW" + "IW" + "IRW" + "IW" + "IR" + "IRW"
    assert dict(trace.totals.unread)["loads logged for a store-exclusive"] == 2


def test_register_values_and_empty_lines_are_counted(tmp_path: Path) -> None:
    text = '0, 0x46, 0x6808, "ldr r0, [r1]", load, 0x20000100, RAM, r0 -> 0x00000005, pc -> 0x48\n'
    text += '0, 0x48, 0x2001, "movs r0, #1", r0 -> 0x00000001\n'
    text += '0, 0x4a, 0x6808, "ldr r0, [r1]", load, 0x50000000, odd device, store, 0x20000000\n\n'
    trace = opened(text, tmp_path, format="execlog-8.2")
    assert read(trace) == [
        ("INSTRUCTION", 0x46, 0),
        ("READ", 0x20000100, 0),
        ("INSTRUCTION", 0x48, 0),
        ("INSTRUCTION", 0x4A, 0),
        ("READ", 0x50000000, 0),
        ("WRITE", 0x20000000, 0),
    ]
    assert dict(trace.totals.unread) == {"register values": 3, "empty lines": 1}


def test_addresses_of_64_bits(tmp_path: Path) -> None:
    text = '0, 0xffffffc008010203, 0xd503201f, "nop", load, 0xffffff8012345678, RAM\n'
    assert [a for _, a, _ in read(opened(text, tmp_path, format="execlog-8.2"))] == [
        0xFFFFFFC008010203,
        0xFFFFFF8012345678,
    ]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ("nonsense", 1),
        ('0, 46, 0x6808, "ldr"', 4),
        ('0, 0x46, 0x6808ffff1, "ldr"', 10),
        ('0, 0x46, 0x6808, "ldr', 18),
        ("0, 0x46, 0x6808, ldr", 18),
        ('0, 0x11112222333344445, 0x6808, "ldr"', 4),
        ('0, 0x46, 0x6808, "ldr", load', 23),
        ('0, 0x46, 0x6808, "ldr", load, 0x', 23),
        ('0, 0x46, 0x6808, "ldr", load, 0x20000100, RAM,', 46),
        ('0, 0x46, 0x6808, "ldr", load, 0x20000100, RAM, lead, 0x20000100, RAM', 46),
        ('0, 0x46, 0x6808, "ldr", load, 0x20000100 RAM', 41),
        ('0, 0x46, 0x6808, "ldr" load, 0x20000100', 23),
        ('0, 0x46, 0x6808, "ldr", load, 0x11112222333344445, RAM', 49),
    ],
)
def test_a_damaged_line_is_an_error_with_line_and_column(
    line: str, column: int, tmp_path: Path
) -> None:
    trace = opened(LINE * 3 + line + "\n" + LINE, tmp_path, format="execlog-8.2")
    with pytest.raises(InputError) as error:
        read(trace)
    assert error.value.where is not None
    assert (error.value.where.line, error.value.where.column) == (4, column)
    assert "0xPC" in f"{error.value.expected}"


def test_no_damage_of_one_character_goes_unnoticed_or_changes_the_line_count(
    tmp_path: Path,
) -> None:
    """Each character of a line replaced by a quote: an error, or it was free text."""
    for at in range(len(LINE) - 1):
        damaged = LINE[:at] + '"' + LINE[at + 1 :]
        trace = opened(LINE + damaged + LINE, tmp_path, format="execlog-8.2")
        free_text = LINE.index("uart") <= at
        if free_text or LINE[at] == '"':
            assert len(read(trace)) == 6
        else:
            with pytest.raises(InputError):
                read(trace)


def test_a_cut_off_last_line_is_refused(tmp_path: Path) -> None:
    for cut in range(1, len(LINE)):
        trace = opened(LINE + LINE[:cut], tmp_path, format="execlog-8.2")
        with pytest.raises(InputError, match="cut off") as error:
            read(trace)
        assert error.value.where is not None
        assert error.value.where.line == 2


def test_a_second_processor_is_refused(tmp_path: Path) -> None:
    trace = opened(LINE + "1" + LINE[1:], tmp_path, format="execlog-8.2")
    with pytest.raises(InputError, match="processor 1"):
        read(trace)
    only = opened(LINE.replace("0,", "12,", 1) * 2, tmp_path, format="execlog-8.2")
    assert len(read(only)) == 4


def test_the_line_of_an_error_far_into_the_file(tmp_path: Path) -> None:
    trace = opened(LINE * 40000 + "x\n" + LINE, tmp_path, format="execlog-8.2")
    with pytest.raises(InputError) as error:
        read(trace)
    assert error.value.where is not None
    assert error.value.where.line == 40001


def test_many_distinct_lines_are_read_as_a_plain_parser_reads_them(tmp_path: Path) -> None:
    """More line heads than are remembered, with accesses, against a regular expression."""
    rows = []
    for i in range(60000):
        row = f'0, 0x{i * 7919 % 1048576 * 2:x}, 0x{i * 31 % 65536:x}, "op r{i % 13}"'
        if i % 3 == 0:
            row += f", {'load' if i % 2 else 'store'}, 0x{0x20000000 + i * 4:08x}, RAM"
        rows.append(row)
    trace = opened("".join(row + "\n" for row in rows), tmp_path, format="execlog-8.2")
    expected = []
    for row in rows:
        expected.append(("INSTRUCTION", int(row.split(", ")[1], 16), 0))
        for what, address in re.findall(r"(load|store), 0x([0-9a-f]+)", row):
            expected.append(("READ" if what == "load" else "WRITE", int(address, 16), 0))
    assert read(trace) == expected


def test_the_recorded_log_is_read_with_its_firmware(assemble: Callable[..., Path]) -> None:
    """The literal pool's and the stack's true addresses are in the firmware itself."""
    script = "SECTIONS { .v 0 : { *(.vectors) } .text 0x40 : { *(.text) } }"
    image = load_image(str(assemble((TRACES / "small.s").read_text(), script)))
    path = str(TRACES / "small.execlog-7.2.log")
    trace = open_trace(path, image=image, machine="mps2-an385")
    found = read(trace)
    assert trace.info.format == "execlog-7.2"
    assert found[:2] == [("INSTRUCTION", 0x40, 2), ("READ", 0xB0, 0)]
    for kind, address, _ in found:
        if kind != "INSTRUCTION":
            assert address < 0xC0 or 0x20000100 <= address < 0x20001000 or address >= 0x40000000
    assert ("WRITE", 0xE000ED04, 0) in found  # printed as 0xe000f104
    for seen in trace.code:
        assert image.read(seen.address, len(seen.code)) == seen.code


@pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: machine.name)
def test_the_table_of_machines_is_what_qemu_says(machine: Machine) -> None:
    qemu, package, options = "qemu-system-arm", "qemu-system-arm", ""
    if isinstance(machine, CapturedMachine):
        qemu, package = machine.qemu, machine.package
        options = " ".join(("-cpu", machine.cpu, *machine.options))
    need(qemu, package)
    said = subprocess.run(
        f"{qemu} -M {machine.name} {options} -S -display none -monitor stdio -serial null".split(),
        input="info ramblock\ninfo mtree -f\nquit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    ).stdout
    offsets = {
        name: (int(offset, 16), int(used, 16))
        for name, offset, used in re.findall(
            r"^\s*(\S+)\s+\S+ \SiB\s+(0x[0-9a-f]+) (0x[0-9a-f]+) 0x[0-9a-f]+", said, re.MULTILINE
        )
        if not name.startswith("/rom@")  # QEMU 10 has files for firmware in blocks that lie nowhere
    }
    assert {b.name: (b.offset, b.size) for b in machine.blocks} == offsets
    places: dict[str, set[tuple[int, int]]] = {}
    for start, end, name in re.findall(
        r"^\s+([0-9a-f]{16})-([0-9a-f]{16}) \(prio \d+, r(?:a|o)md?\): (\S+)", said, re.MULTILINE
    ):
        places.setdefault(name, set()).add((int(start, 16), int(end, 16) + 1))
    for block in machine.blocks:
        assert set(block.ranges) == places[block.name]


def test_two_words_that_are_logged_as_one(tmp_path: Path) -> None:
    """QEMU 10 logs one access for each of the first three; the table branch reads a halfword."""
    one = ", load, 0x20000100, RAM\n"
    text = '0, 0x40, 0x2300e9d0, "ldrd r2, r3, [r0]"' + one
    text += '0, 0x44, 0x2302e9e0, "strd r2, r3, [r0, #8]!", store, 0x20000108, RAM\n'
    text += '0, 0x48, 0x2302e870, "ldrd r2, r3, [r0], #-8", load, 0x20000108, RAM\n'
    text += '0, 0x4c, 0x2302e9d0, "ldrd r2, r3, [r0, #8]"' + one[:-1] + one
    text += '0, 0x50, 0xf011e8df, "tbh [pc, r1, lsl #1]"' + one
    text += '0, 0x54, 0x4f00e850, "ldrex r4, [r0]"' + one
    text += '0, 0x58, 0x4500e840, "strex r5, r4, [r0]", store, 0x20000100, RAM\n'
    text += '0, 0x5c, 0x6808, "ldr r0, [r1]"' + one
    text += '0, 0x5e, 0x2300e9d0, "ldrd r2, r3, [r0]", r2 -> 0x00000007\n'
    trace = opened(text, tmp_path, machine="mps2-an385", format="execlog-8.2")
    found = read(trace)
    assert [row for row in found if row[0] != "INSTRUCTION"] == [
        ("READ", 0x20000100, 0),
        ("READ", 0x20000104, 0),
        ("WRITE", 0x20000108, 0),
        ("WRITE", 0x2000010C, 0),
        ("READ", 0x20000108, 0),
        ("READ", 0x2000010C, 0),
        ("READ", 0x20000100, 0),
        ("READ", 0x20000100, 0),
        ("READ", 0x20000100, 0),
        ("READ", 0x20000100, 0),
        ("WRITE", 0x20000100, 0),
        ("READ", 0x20000100, 0),
    ]
    assert [kind[0] for kind, _, _ in found] == list("IRRIWWIRRIRRIRIRIWIRI")
    assert dict(trace.totals.unread)["second words of two that are logged as one access"] == 3
