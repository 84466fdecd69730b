"""QEMU's own log: blocks that ran in part or not at all, and real logs."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from needs import need

from wcetchar.errors import InputError
from wcetchar.image import load_image
from wcetchar.model.trace import Event, Knowledge, Trace
from wcetchar.readers import open_trace

TRACES = Path(__file__).resolve().parents[2] / "traces"

LISTING = """----------------
IN: f
0x00000040:  2001       movs     r0, #1
0x00000042:  6008       str      r0, [r1]
0x00000044:  e9c0 0102  strd     r0, r1, [r0, #8]
0x00000048:  e7fe       b        #0x48

"""
BLOCK = "Trace 0: 0x7f0000000100 [00800400/00000040/00000110/ff000200] f\n"
REST = """----------------
IN: f
0x00000042:  6008       str      r0, [r1]

Trace 0: 0x7f0000000200 [00800400/00000042/00000110/ff038201] f
"""


def opened(text: str | bytes, tmp_path: Path, **more: object) -> Trace:
    path = tmp_path / "qemu.log"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_trace(str(path), **more)  # type: ignore[arg-type]


def read(trace: Trace) -> list[tuple[str, int, int]]:
    return [
        (Event(kind).name, int(address), int(size))
        for batch in trace.batches()
        for kind, address, size in zip(batch.kind, batch.address, batch.size, strict=True)
    ]


def pcs(trace: Trace) -> list[int]:
    return [address for kind, address, _ in read(trace) if kind == "INSTRUCTION"]


def test_a_whole_block_runs_to_its_end(tmp_path: Path) -> None:
    assert pcs(opened(LISTING + BLOCK + BLOCK, tmp_path)) == [0x40, 0x42, 0x44, 0x48] * 2


def test_a_block_taken_back_ran_up_to_the_access(tmp_path: Path) -> None:
    text = LISTING + BLOCK + "cpu_io_recompile: rewound execution of TB to 00000042\n" + REST
    trace = opened(text, tmp_path)
    assert pcs(trace) == [0x40, 0x42]
    assert dict(trace.totals.unread)["blocks broken off for a device access"] == 1


def test_a_block_taken_back_at_its_first_instruction_ran_not_at_all(tmp_path: Path) -> None:
    text = LISTING + BLOCK + "cpu_io_recompile: rewound execution of TB to 0000000000000040\n"
    assert pcs(opened(text + BLOCK, tmp_path)) == [0x40, 0x42, 0x44, 0x48]


@pytest.mark.parametrize("again", [1, 3])
def test_a_block_taken_back_goes_on_where_the_next_one_begins(again: int, tmp_path: Path) -> None:
    """QEMU 7.2 on RISC-V prints where the block begins, whatever was executed of it."""
    back = "cpu_io_recompile: rewound execution of TB to 00000040\n"
    entered = REST[REST.index("Trace") :]
    text = LISTING + BLOCK + back + REST + (BLOCK + back + entered) * (again - 1)
    assert pcs(opened(text, tmp_path)) == [0x40, 0x42] * again


def test_a_block_taken_back_without_what_follows_is_refused(tmp_path: Path) -> None:
    back = "cpu_io_recompile: rewound execution of TB to 000000%s\n"
    exception = "Taking exception 2 [X] on CPU 0\n...taking pending secure exception 11\n"
    for behind in ("", exception):
        with pytest.raises(InputError, match="how far the block at 0x00000040 was executed"):
            read(opened(LISTING + BLOCK + back % "40" + behind, tmp_path))
        assert pcs(opened(LISTING + BLOCK + back % "44" + behind, tmp_path)) == [0x40, 0x42]
    elsewhere = REST.replace("42:", "50:").replace("/00000042/", "/00000050/")
    with pytest.raises(InputError, match="taken back to 0x00000050, which is not in"):
        read(opened(LISTING + BLOCK + back % "42" + elsewhere, tmp_path))


def test_a_stopped_block_did_not_run(tmp_path: Path) -> None:
    stop = "Stopped execution of TB chain before 0x7f0000000100 [00000040] f\n"
    trace = opened(LISTING + BLOCK + stop + BLOCK + stop, tmp_path)
    assert pcs(trace) == []
    assert dict(trace.totals.unread)["blocks entered and not executed"] == 2


def test_a_fault_at_an_unknown_place_counts_the_whole_block_and_says_so(tmp_path: Path) -> None:
    text = LISTING + BLOCK + "Taking exception 4 [Data Abort] on CPU 0\n"
    text += "...taking pending nonsecure exception 3\n"
    trace = opened(text, tmp_path)
    assert [kind for kind, _, _ in read(trace)] == ["INSTRUCTION"] * 4 + ["EXCEPTION"]
    unread = dict(trace.totals.unread)
    assert unread["instructions of blocks that a fault cut short, counted whole"] == 4


def test_an_interrupt_or_call_leaves_nothing_unknown(tmp_path: Path) -> None:
    for number in (2, 5):
        text = LISTING + BLOCK + f"Taking exception {number} [X] on CPU 0\n"
        trace = opened(text + "...taking pending secure exception 11\n", tmp_path)
        assert read(trace)[-1] == ("EXCEPTION", 11, 0)
        assert not any("cut short" in name for name, _ in trace.totals.unread)


def test_tail_chained_exceptions_leave_and_enter(tmp_path: Path) -> None:
    text = LISTING + BLOCK + "Taking exception 8 [QEMU v7M exception exit] on CPU 0\n"
    text += "Exception return: magic PC fffffff9 previous exception 15\n"
    text += "...tailchaining to pending exception\n...taking pending nonsecure exception 14\n"
    assert read(opened(text + BLOCK, tmp_path))[4:6] == [
        ("EXCEPTION_EXIT", 15, 0),
        ("EXCEPTION", 14, 0),
    ]


RISCV = """----------------
IN: main
Priv: 3; Virt: 0
0x80000000:  00000297          auipc           t0,0                    # 0x80000000
0x80000004:  4501              mv              a0,zero
0x80000006:  00052583          lw              a1,0(a0)
0x8000000a:  9002              ebreak

Trace 0: 0x7f0000000100 [00000000/80000000/00000000/ff000000] main
riscv_cpu_do_interrupt: hart:0, async:%d, cause:%08x, epc:0x%08x, tval:0x0, desc=x
"""


@pytest.mark.parametrize(
    ("asynchronous", "cause", "epc", "instructions"),
    [
        (0, 5, 0x80000006, 3),  # the load faults: it was the last to be tried
        (0, 5, 0xFFFFFFFF80000006, 3),  # as QEMU 11.1 prints it
        (0, 11, 0x8000000A, 4),
        (0, 1, 0x90000000, 4),  # the fetch behind the block faults
        (1, 7, 0x80000000, 4),  # interrupts strike between blocks only
    ],
)
def test_riscv_says_where_a_block_was_left(
    asynchronous: int, cause: int, epc: int, instructions: int, tmp_path: Path
) -> None:
    trace = opened(RISCV % (asynchronous, cause, epc), tmp_path)
    found = read(trace)
    assert [size for kind, _, size in found if kind == "INSTRUCTION"] == [4, 2, 4, 2][:instructions]
    assert found[-1] == ("EXCEPTION", cause + (0x80000000 if asynchronous else 0), 0)
    assert not trace.info.knows(Knowledge.EXCEPTIONS)  # no exits
    assert trace.code[2].code == bytes.fromhex("83250500")


def test_a_new_translation_replaces_the_old_one(tmp_path: Path) -> None:
    shorter = LISTING.replace("0x00000048:  e7fe       b        #0x48\n", "")
    assert pcs(opened(LISTING + BLOCK + shorter + BLOCK, tmp_path)) == [
        *(0x40, 0x42, 0x44, 0x48),
        *(0x40, 0x42, 0x44),
    ]


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        (LISTING + BLOCK + "Trace 0: 0x7f00 [00800400/00000090/00000110/ff000200] g\n", 9, "IN:"),
        (LISTING + "Trace 0: nonsense\n", 8, "-d in_asm"),
        (LISTING + BLOCK.replace("Trace 0", "Trace 1"), 8, "one processor"),
        (
            LISTING + BLOCK + "Linking TBs 0x7f00 [00000040] index 0 -> 0x7f01 [00000048]\n",
            9,
            "nochain",
        ),
        (LISTING + BLOCK + "hello from the firmware\n", 9, "-d in_asm"),
        (LISTING + "cpu_io_recompile: rewound execution of TB to 00000042\n", 8, "Trace line"),
        (
            LISTING + BLOCK + "cpu_io_recompile: rewound execution of TB to 00000041\n",
            9,
            "Trace line",
        ),
        (LISTING + "Stopped execution of TB chain before 0x7f [00000042] f\n", 8, "Trace line"),
        ("IN: f\n0x00000040:  2001   movs\n0x00000044:  2001   movs\n", 3, "0x00000042"),
        ("IN: f\n0x00000040:  OBJD-T: 0120\n", 2, "listing"),
        ("IN: f\n0x00000040:  2001   movs\n\n0x00000042:  2001   movs\n", 4, "IN:"),
        (LISTING + BLOCK + "Trace 0: 0x7f0000000100 [0080", 9, "-d in_asm"),
        (LISTING + BLOCK + "Taking exception 5 [IRQ] on CPU 1\n", 9, "CPU 0"),
    ],
)
def test_what_does_not_fit_is_an_error_with_its_place(
    text: str, line: int, said: str, tmp_path: Path
) -> None:
    trace = opened(text, tmp_path)
    with pytest.raises(InputError) as error:
        read(trace)
    assert error.value.where is not None
    assert error.value.where.line == line
    assert said in f"{error.value.expected}"


def test_without_int_exceptions_are_a_stated_loss(tmp_path: Path) -> None:
    assert not opened(LISTING + BLOCK, tmp_path).info.knows(Knowledge.EXCEPTIONS)
    reset = "Loaded reset SP 0x20001000 PC 0x41 from vector table\n"
    assert opened(reset + LISTING + BLOCK, tmp_path).info.knows(Knowledge.EXCEPTIONS)


@pytest.mark.parametrize("version", ["7.2", "10.0"])
def test_the_recorded_log_is_the_run_that_a_plugin_saw(version: str) -> None:
    """Two independent records of one run by each QEMU: its log, and what its plugin interface
    reported (562 lines, one for each instruction)."""
    log = open_trace(str(TRACES / f"small.qemu-{version}.log"))
    rows = (TRACES / f"small.execlog-{version}.log").read_text().splitlines()
    assert pcs(log) == [int(row.split(", ")[1], 16) for row in rows]
    assert log.totals.instructions == len(rows) == 562
    found = [(kind, address) for kind, address, _ in read(log) if kind.startswith("EXC")]
    assert found == [
        (kind, number) for number in (11, 14, 15, 15) for kind in ("EXCEPTION", "EXCEPTION_EXIT")
    ]
    unread = dict(log.totals.unread)
    assert unread["blocks broken off for a device access"] == 6


DUMPS = {
    "arm": """R00=00000000 R01=00000000 R02=00000000 R03=00000000
R04=00000000 R05=00000000 R06=00000000 R07=00000000
R08=00000000 R09=00000000 R10=00000000 R11=00000000
R12=00000000 R13=20001000 R14=ffffffff R15=00000040
XPSR=41000000 -Z-- T priv-thread
""",
    "armv4t": """R12=00000000 R13=00000000 R14=00000000 R15=00000400
PSR=600001d3 -ZC- A svc32
""",
    "riscv": """ V      =   0
 pc       80000000
 mhartid  00000000
 priv          M
 x0/zero  00000000 x1/ra    00000000 x2/sp    00000000 x3/gp    00000000
 x28/t3   00000000 x29/t4   00000000 x30/t5   00000000 x31/t6   00000000
""",
}


@pytest.mark.parametrize("name", DUMPS)
def test_register_dumps_are_counted(name: str, tmp_path: Path) -> None:
    trace = opened(LISTING + BLOCK + DUMPS[name] + BLOCK + DUMPS[name], tmp_path)
    assert pcs(trace) == [0x40, 0x42, 0x44, 0x48] * 2
    assert dict(trace.totals.unread) == {"lines of register dumps": 2 * DUMPS[name].count("\n")}


def test_what_only_looks_like_a_register_dump_is_refused(tmp_path: Path) -> None:
    for line in ("R00=0000", "R0=00000000", "PSR", " ", " 12", "XPSR=41000000", "R00=00000000 x"):
        with pytest.raises(InputError, match="does not fit"):
            read(opened(LISTING + BLOCK + line + "\n", tmp_path))


def test_the_recorded_log_without_listings_needs_and_uses_the_image(
    assemble: Callable[..., Path], tmp_path: Path
) -> None:
    script = "SECTIONS { .v 0 : { *(.vectors) } .text 0x40 : { *(.text) } }"
    elf = assemble((TRACES / "small.s").read_text(), script)
    recorded = (TRACES / "small.qemu-7.2.log").read_text()
    rows = [
        row
        for row in recorded.splitlines(keepends=True)
        if not row.startswith(("0x", "IN:", "---", "\n"))
    ]
    trace = opened("".join(rows), tmp_path, image=load_image(str(elf)))
    whole = open_trace(str(TRACES / "small.qemu-7.2.log"))
    assert read(trace) == read(whole)
    assert trace.code == whole.code
    with pytest.raises(InputError, match="translated before logging"):
        read(opened("".join(rows), tmp_path))


@pytest.mark.parametrize("options", [[], ["-icount", "shift=4"]])
def test_a_log_recorded_now(
    options: list[str], assemble: Callable[..., Path], tmp_path: Path
) -> None:
    need("qemu-system-arm", "qemu-system-arm")
    script = "SECTIONS { .v 0 : { *(.vectors) } .text 0x40 : { *(.text) } }"
    elf = assemble((TRACES / "small.s").read_text(), script)
    log = tmp_path / "new.log"
    command = ["qemu-system-arm", "-M", "mps2-an385", "-display", "none", "-serial", "null"]
    command += ["-monitor", "none", "-semihosting", "-kernel", str(elf), *options]
    command += ["-d", "in_asm,exec,nochain,int", "-D", str(log)]
    subprocess.run(command, check=True, timeout=60)
    trace = open_trace(str(log))
    rows = (TRACES / "small.execlog-7.2.log").read_text().splitlines()
    seen = [int(row.split(", ")[1], 16) for row in rows]
    # When handlers run, and how long the wait loop is, depends on host time without -icount.
    floating = {0x90, 0x92, 0xA8, 0xAA, 0xAC}
    found = pcs(trace)
    assert [pc for pc in found if pc not in floating] == [pc for pc in seen if pc not in floating]
    assert found.count(0xA8) == 1
    assert found.count(0xAA) == found.count(0xAC) >= 2
    if options:
        assert found == seen
