"""execlog of QEMU 10.0 with registers, as it was recorded: against the firmware's own sources."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from needs import need

from wcetchar.image import load_image
from wcetchar.model.image import Image
from wcetchar.model.trace import Event, Knowledge, Trace
from wcetchar.readers import open_trace

TRACES = Path(__file__).resolve().parents[2] / "traces"
SMALL = TRACES / "small.execlog-10.0.log"
RISCV = TRACES / "riscv.execlog-10.0.log"

State = dict[int, int]


@pytest.fixture
def small(assemble: Callable[..., Path]) -> Image:
    script = "SECTIONS { .v 0 : { *(.vectors) } .text 0x40 : { *(.text) } }"
    return load_image(str(assemble((TRACES / "small.s").read_text(), script)))


@pytest.fixture
def riscv(tmp_path: Path) -> Image:
    need("riscv64-unknown-elf-gcc", "gcc-riscv64-unknown-elf")
    elf = tmp_path / "riscv.elf"
    command = ["riscv64-unknown-elf-gcc", "-march=rv32imac", "-mabi=ilp32", "-nostdlib"]
    command += ["-Wl,-e,reset", "-Wl,-Ttext=0x80000000", "-Wl,-Tdata=0x80100000"]
    subprocess.run([*command, "-o", str(elf), str(TRACES / "riscv.s")], check=True)
    return load_image(str(elf))


def states(trace: Trace) -> list[tuple[int, State]]:
    """Each instruction with the registers that are known when it begins."""
    held: State = {}
    found = []
    for batch in trace.batches(registers=True):
        for kind, address, size in zip(
            batch.kind.tolist(), batch.address.tolist(), batch.size.tolist(), strict=True
        ):
            if kind == Event.REGISTER:
                held[size] = address
            elif kind == Event.INSTRUCTION:
                found.append((address, dict(held)))
    return found


def accesses(path: str, image: Image, machine: str) -> list[tuple[int, int, int]]:
    trace = open_trace(path, image=image, machine=machine)
    return [
        (kind, address, size)
        for batch in trace.batches()
        for kind, address, size in zip(
            batch.kind.tolist(), batch.address.tolist(), batch.size.tolist(), strict=True
        )
    ]


def test_the_version_is_told_by_its_plain_addresses(small: Image) -> None:
    trace = open_trace(str(SMALL), image=small, machine="mps2-an385")
    assert trace.info.format == "execlog-8.2"
    assert trace.info.knows(Knowledge.REGISTERS)


def test_the_same_events_as_from_qemu_7_2(small: Image) -> None:
    """Two emulators and two programs that wrote the lines: offsets, the doubleword transfers that
    one of them joins, the 16-bit opcodes with and without chance in them."""
    old = accesses(str(TRACES / "small.execlog-7.2.log"), small, "mps2-an385")
    assert accesses(str(SMALL), small, "mps2-an385") == old
    assert sum(kind != Event.INSTRUCTION for kind, _, _ in old) == 40  # by the source


def test_registers_as_the_source_has_them(small: Image) -> None:
    seen = states(open_trace(str(SMALL), image=small, machine="mps2-an385"))
    r0, r1, r2, r3, r4, r6, sp, lr, pc = 0, 1, 2, 3, 4, 6, 13, 14, 15
    assert seen[0] == (0x40, {})
    assert seen[1][1][r0] == 0x20000100
    assert all(pc not in state for _, state in seen)  # QEMU's is out of date
    at = dict(reversed(seen))  # the first time
    assert at[0x50].items() >= {r1: 5, r2: 0x20000100, r3: 5}.items()  # stored and loaded back
    assert at[0x52][sp] == 0x20000FF0
    assert at[0x66][r6] == 0x40004000
    # The loop stores two words and counts r1 down from 5.
    turns = [state for address, state in seen if address == 0x70]
    assert [(s[r0], s[r1]) for s in turns] == [(0x20000100 + 8 * n, 5 - n) for n in range(5)]
    # The supervisor call's frame, and what exceptions leave in lr; r0 comes back from the frame.
    assert at[0x9C].items() >= {r0: 0x20000128, r1: 0, sp: 0x20000FE0, lr: 0xFFFFFFF9}.items()
    assert at[0xA4].items() >= {sp: 0x20000FD8, lr: 0xA3}.items()
    assert at[0xA2][r0] == 1
    assert at[0x78].items() >= {r0: 0x20000128, sp: 0x20001000, lr: 0xFFFFFFFF}.items()
    assert [state[r4] for address, state in seen if address == 0xAA] == [0, 1]  # SysTick counts


def test_arguments_of_calls_on_riscv(riscv: Image) -> None:
    trace = open_trace(str(RISCV), image=riscv, machine="virt")
    seen = states(trace)
    assert len(seen) == len(RISCV.read_text().splitlines()) == 113
    a0, a1, sp, s0 = 10, 11, 2, 8
    entry = next(s.address for s in riscv.symbols if s.name == "sum")
    calls = [state for address, state in seen if address == entry]
    assert [state[a0] for state in calls] == [1, 2, 3, 4]
    assert {state[a1] for state in calls} == {0x80100000}
    assert {state[sp] for state in calls} == {0x80200000}
    assert [state[s0] for state in calls] == [1, 2, 3, 4]  # printed as fp
    behind = next(n for n, (address, _) in enumerate(seen) if address == entry) + 1
    assert seen[behind][1][sp] == 0x801FFFF0


SERVICES = """
schema: wcetchar/services/1
kernel: {name: recorded, version: "1"}
sections:
  .text: {kind: code, linker sections: [.text]}
  words: {kind: data, linker sections: [.data]}
  stack: {kind: stack, address ranges: [{base: 0x801FF000, size: 4 KiB}]}
hardware: {vector section: .text, main stack: stack, task stack: stack}
services:
  sum:
    kind: call
    entries: [sum]
    parameters:
      N: {kind: argument, argument: 0, range: 1..4, meaning: words}
"""


def test_a_formula_from_recorded_arguments(riscv: Image, tmp_path: Path) -> None:
    """Seven instructions of sum stand outside of its loop, five in it."""
    from click.testing import CliRunner

    from wcetchar.cli import main

    services = tmp_path / "services.yaml"
    services.write_text(SERVICES)
    arguments = [str(tmp_path / "riscv.elf"), str(RISCV), "--machine", "virt"]
    arguments += ["--services", str(services), "-o", str(tmp_path / "out.json")]
    done = CliRunner().invoke(main, ["characterize", *arguments])
    assert done.exit_code == 0, done.output
    assert "services: 1, 1 by exact formula" in done.output
    body = re.search(r"^sum +(\d+)$", done.output, re.MULTILINE)
    assert body is not None
    assert int(body[1]) == sum(7 + 5 * n for n in range(1, 5))
    [service] = json.loads((tmp_path / "out.json").read_text())["services"]
    found = {
        row["repetition"]: sum(
            entry["count"] for entry in row["counts"] if entry["section"] == "words"
        )
        for row in service["counts"]["rows"]
    }
    assert found == {"1": 0, "N": 1, "N - 1": 0}  # one word in each turn
