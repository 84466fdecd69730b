"""What `wcetchar paths --template` writes of jumps, calls and accesses, and that it is enough.

A dozen instructions, and a trace of them by hand: a call through a register and a load through a
pointer, of which traces alone say where they go, and a call and a jump that they never took.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hand_traces import AT_RESET, BEGIN, SCRIPT, instruction

from wcetchar.cli import main
from wcetchar.image import load_image

SOURCE = (
    BEGIN
    + """
.section .heap,"aw",%nobits
  .space 64
.text
function start
  movs r0, #0
  bl work
  b.n .
.size start, .-start
function work
  push {r4, lr}
  cbz r0, 1f
  blx r2
1: ldr r3, [r1]
  cbz r0, 2f
  bx r2
2: blx r3
  pop {r4, pc}
.size work, .-work
function first
  bx lr
.size first, .-first
function second
  .rept 20
  nop
  .endr
  bx lr
.size second, .-second
"""
)
SERVICES = """schema: wcetchar/services/1
kernel: {name: calls, version: "1"}
sections:
  .text: {kind: code, linker sections: [.text]}
  .vectors: {kind: data, linker sections: [.vectors]}
  stack: {kind: stack, linker sections: [.ram]}
  heap: {kind: data, linker sections: [.heap]}
hardware: {vector section: .vectors, main stack: stack, task stack: stack}
services:
  work: {kind: call, entries: [work]}
"""
PROFILE = "cortex-m3/zero-wait-sram"
CYCLE_NS = 40
RAM = "  .ram 0x20000000 (NOLOAD) : { *(.ram) }\n"
HEAP = "  .heap 0x20002000 (NOLOAD) : { *(.heap) }\n"
MAP = """schema: wcetchar/section-map/1
name: m
sections: {.text: code sram, .vectors: code sram, stack: data sram, heap: data sram}
"""
OPEN = """\
call at work+0x4: first
jump at work+0xa: first
"""


class Program:
    """A folder with the program and its files."""

    def __init__(self, folder: Path, elf: Path) -> None:
        self.folder, self.elf = folder, elf
        self.output = folder / "out.json"

    def write(self, name: str, text: str) -> str:
        (self.folder / name).write_text(text)
        return str(self.folder / name)

    def trace(self) -> str:
        """One call, which goes to ``first`` and loads from the heap, in Renode's text."""
        image = load_image(str(self.elf))
        at = {s.name: s.address for s in image.symbols}
        start, work = at["start"], at["work"]
        steps: list[tuple[int, int, list[str]]] = [
            (start, 2, [AT_RESET.strip()]),
            (start + 2, 4, []),
            (
                work,
                2,
                [
                    "MemoryWrite with address 0x20000FF8, value 0x0",
                    "MemoryWrite with address 0x20000FFC, value 0x0",
                ],
            ),
            (work + 2, 2, []),
            (work + 6, 2, ["MemoryRead with address 0x20002000, value 0x0"]),
            (work + 8, 2, []),
            (work + 12, 2, []),
            (at["first"], 2, []),
            (
                work + 14,
                2,
                [
                    "MemoryRead with address 0x20000FF8, value 0x0",
                    "MemoryRead with address 0x20000FFC, value 0x0",
                ],
            ),
            (start + 6, 2, []),
        ]
        lines = []
        for address, length, accesses in steps:
            lines += [
                instruction(address, image.read(address, length)),
                *(f"{one}\n" for one in accesses),
            ]
        return self.write("run.log", "".join(lines))

    def run(self, *arguments: str) -> Result:
        return CliRunner().invoke(main, list(arguments))

    def characterize(self, facts: str) -> dict[str, Any]:
        """The path model."""
        self.output.unlink(missing_ok=True)
        given = [str(self.elf), self.trace(), "--services", self.write("s.yaml", SERVICES)]
        given += ["--facts", self.write("facts.ff", facts), "--paths", "-o", str(self.output)]
        done = self.run("characterize", *given)
        assert done.exit_code == 0, done.output
        (found,) = json.loads(self.output.read_text())["paths"]["models"]
        return dict(found)

    def template(self) -> list[str]:
        told = self.run("paths", str(self.output), "--template")
        assert told.exit_code == 0, told.output
        return [line.strip() for line in told.stdout.splitlines()]

    @property
    def hardware(self) -> list[str]:
        return ["--profile", PROFILE, "--map", self.write("map.yaml", MAP)]

    def worst(self) -> Result:
        return self.run("paths", str(self.output), *self.hardware, "--json")


@pytest.fixture
def program(tmp_path: Path, assemble: Callable[..., Path]) -> Program:
    return Program(tmp_path, assemble(SOURCE, SCRIPT.replace(RAM, RAM + HEAP)))


def test_open_ends_say_where_and_which_fact_is_missing(program: Program) -> None:
    gaps = program.characterize("")["gaps"]
    assert {(gap["what"], gap.get("fact")) for gap in gaps} == {
        ("indirect call", "call at work+0x4"),
        ("indirect jump", "jump at work+0xa"),
    }
    address = next(s.address for s in load_image(str(program.elf)).symbols if s.name == "work")
    assert all(
        gap["where"].startswith(f"0x{address + offset:08x}, work+{offset}")
        for gap, offset in zip(gaps, (4, 10), strict=True)
    )
    lines = program.template()
    assert "# call at work+0x4: FILL_IN" in lines
    # The language means the same by both words, and writes this one before a function.
    assert "# call at work+0xa: FILL_IN" in lines
    (found,) = json.loads(program.worst().stdout)["services"]
    assert found["bound_ns"] is None
    assert [gap["fact"] for gap in found["gaps"]] == [gap["fact"] for gap in gaps]
    told = program.run("paths", str(program.output), *program.hardware, "--format", "lp")
    assert told.exit_code == 4
    assert "`call at work+0x4`" in told.output


def test_what_only_traces_say_is_in_the_template_and_stated_makes_a_bound(program: Program) -> None:
    model = program.characterize(OPEN)
    assert "gaps" not in model
    assert [(one["fact"], one["seen"]) for one in model["unproved"]] == [
        ("access at work+0x6", ["heap"]),
        ("call at work+0xc", ["first"]),
    ]
    lines = program.template()
    observed = ["access at work+0x6: heap", "call at work+0xc: first"]
    assert [line for line in lines if line.startswith("# ")] == [
        f"# observed {o}" for o in observed
    ]
    (found,) = json.loads(program.worst().stdout)["services"]
    assert found["word"] == "estimate"
    # As it stands it is what was seen, and still an estimate.
    seen = "\n".join(f"observed {one}" for one in observed)
    program.characterize(f"{OPEN}{seen}\n")
    (found,) = json.loads(program.worst().stdout)["services"]
    assert found["word"] == "estimate"
    # Somebody who knows says so.
    stated = "\n".join(observed).replace("first", "first, second")
    model = program.characterize(f"{OPEN}{stated}\n")
    assert "unproved" not in model
    assert not [line for line in program.template() if line.startswith("# ")]
    (found,) = json.loads(program.worst().stdout)["services"]
    assert found["word"] == "bound"
    # second, through the last call, has 20 instructions more than first.
    first = program.characterize(f"{OPEN}{chr(10).join(observed)}\n")
    assert "unproved" not in first
    (other,) = json.loads(program.worst().stdout)["services"]
    assert found["bound_ns"] - other["bound_ns"] == 20 * CYCLE_NS
