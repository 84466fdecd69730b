"""A kernel for QEMU's virt that switches threads in a function, called by threads and by handlers.

Two threads: A calls the service and is interrupted, B gives the processor back, by a call or by an
interrupt of its own. So threads and handlers go on with each other in turns. What is executed is
straight code and two loops of N rounds, so that every count is read off the listing.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from wcetchar.cli import main

pytestmark = pytest.mark.firmware

SCRIPT = """
ENTRY(reset)
SECTIONS {
  .text 0x80000000 : { *(.text) }
  .data 0x80100000 : { *(.data) }
  .marks 0x80200000 (NOLOAD) : { *(.marks) }
  .stack 0x80300000 (NOLOAD) : { *(.stack) }
}
"""

SOURCE = """
.section .marks,"aw",%nobits
.global wcet_mark
.type wcet_mark,%object
.size wcet_mark, 1024
wcet_mark: .space 1024
.section .stack,"aw",%nobits
  .space 0x1000
stack_a: .space 0x1000
stack_b:
.section .data
current: .space 4
other: .space 4
block_a: .space 16
block_b: .space 16
.text
.option norvc
.option norelax
.macro function name
  .p2align 2
  .global \\name
  .type \\name,%function
  \\name:
.endm
.macro exchange          # 6 instructions; a1: who runs, a0: the other one
  la t0, current
  lw a1, 0(t0)
  lw a0, 4(t0)
  sw a0, 0(t0)
  sw a1, 4(t0)
.endm
function switch          # 5 until the other's stack is there, 4 after it
  sw ra, 0(a1)
  sw s0, 4(a1)
  sw s1, 8(a1)
  sw sp, 12(a1)
  lw sp, 12(a0)
  lw s1, 8(a0)
  lw s0, 4(a0)
  lw ra, 0(a0)
  ret
.size switch, .-switch
function wait            # 5 + 2*N + 1 with interrupts let in, 7 without, and those of switch
  addi sp, sp, -16
  sw ra, 12(sp)
  sw s0, 8(sp)
  sw s1, 4(sp)
  mv s1, a0
1: addi a0, a0, -1
  bnez a0, 1b
  csrrci s0, mstatus, 8
  exchange
  jal switch
  andi s0, s0, 8         # 2 without, 2*N + 5 with
  csrs mstatus, s0
2: addi s1, s1, -1
  bnez s1, 2b
  lw s1, 4(sp)
  lw s0, 8(sp)
  lw ra, 12(sp)
  addi sp, sp, 16
  ret
.size wait, .-wait
function trap            # 18, those of switch, 10
  addi sp, sp, -32
  sw ra, 28(sp)
  sw t0, 24(sp)
  sw a0, 20(sp)
  sw a1, 16(sp)
  csrr t0, mepc
  sw t0, 12(sp)
  csrr t0, mstatus
  sw t0, 8(sp)
  lui t0, 0x2000
  sw zero, 0(t0)
  exchange
  jal switch
  lw t0, 12(sp)
  csrw mepc, t0
  lw t0, 8(sp)
  csrw mstatus, t0
  lw a1, 16(sp)
  lw a0, 20(sp)
  lw t0, 24(sp)
  lw ra, 28(sp)
  addi sp, sp, 32
  mret
.size trap, .-trap
function start_b         # as a new thread begins: through an mret without a trap
  la t0, b
  csrw mepc, t0
  li t0, 0x1880
  csrw mstatus, t0
  mret
.size start_b, .-start_b
.macro give_back
  csrci mstatus, 8
  exchange
  jal switch
  csrsi mstatus, 8
.endm
function b               # its own interrupt comes while A is in wait
  lui t0, 0x2000
  li t1, 1
  sw t1, 0(t0)
3: lw t1, 0(t0)
  bnez t1, 3b
  give_back
  give_back
  give_back
  j b
.size b, .-b
function lock
  ret
.size lock, .-lock
function reset
  la sp, stack_a
  la t0, trap
  csrw mtvec, t0
  la t0, current
  la t1, block_a
  sw t1, 0(t0)
  la t1, block_b
  sw t1, 4(t0)
  la t0, start_b
  sw t0, 0(t1)
  la t0, stack_b
  sw t0, 12(t1)
  csrsi mie, 8
  csrsi mstatus, 8
  li s2, 1
again:
  la s3, wcet_mark
  add t0, s3, s2
  sb zero, 512(t0)       # N
  sb zero, 1(s3)         # begin of wait
  mv a0, s2
  jal wait
  sb zero, 257(s3)
  sb zero, 2(s3)         # begin of interrupt
  lui t0, 0x2000
  li t1, 1
  sw t1, 0(t0)
4: lw t1, 0(t0)
  bnez t1, 4b
  sb zero, 258(s3)
  addi s2, s2, 1
  li t0, 8
  ble s2, t0, again
  li a0, 0x18
  li a1, 0x20026
  .balign 16
  slli x0, x0, 0x1f
  ebreak
  srai x0, x0, 7
.size reset, .-reset
"""

SERVICES = """
schema: wcetchar/services/1
kernel: {name: two threads, version: "1"}
marks:
  symbol: wcet_mark
  values: 256
  channels: {begin: 0, end: 1, first parameter: 2}
sections:
  text: {kind: code, linker sections: [.text]}
  data: {kind: data, linker sections: [.data]}
  stack: {kind: stack, linker sections: [.stack]}
  clint: {kind: peripheral, address ranges: [{base: 0x2000000, size: 64 KiB}]}
services:
  wait:
    mark: 1
    kind: blocking call
    entries: [wait]
    parameters:
      N: {kind: argument, range: 1..8, meaning: rounds before and after}
  interrupt:
    mark: 2
    kind: handler
    entries: [trap]
    exceptions: [0x80000003]
"""


FACTS = """
service wait/call { loop at wait+0x14: at most N - 1 because "it counts down from N" }
service wait/resume { loop at wait+0x44: at most N - 1 because "it counts down from N" }
"""
MAP = """schema: wcetchar/section-map/1
name: m
sections: {text: code sram, data: data sram, stack: data sram, clint: clint}
"""


def characterized(folder: Path, services: str) -> dict[str, Any]:
    """What `wcetchar characterize --json` says of the run."""
    compiler = shutil.which("riscv64-unknown-elf-gcc")
    if compiler is None:
        pytest.skip("riscv64-unknown-elf-gcc is not installed (gcc-riscv64-unknown-elf)")
    if shutil.which("qemu-system-riscv32") is None:
        pytest.skip("qemu-system-riscv32 is not installed (qemu-system-misc)")
    files = {"s.s": SOURCE, "s.ld": SCRIPT, "services.yaml": services, "k.ff": FACTS, "m.yaml": MAP}
    for name, text in files.items():
        (folder / name).write_text(text)
    options = ["-march=rv32imac_zicsr", "-mabi=ilp32", "-nostdlib", "-static", "-T", "s.ld"]
    subprocess.run([compiler, *options, "s.s", "-o", "s.elf"], check=True, cwd=folder)
    elf, trace, out = (str(folder / name) for name in ("s.elf", "s.trace", "s.json"))
    told = ["--services", str(folder / "services.yaml"), "--facts", str(folder / "k.ff")]
    for arguments in (
        ["capture", elf, "--machine", "virt", "-o", trace],
        ["characterize", elf, trace, *told, "-o", out, "--json"],
    ):
        done = CliRunner().invoke(main, arguments)
        assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    found["published"] = json.loads(Path(out).read_text())
    found["file"], found["map"] = out, str(folder / "m.yaml")
    return found


@pytest.fixture(scope="module")
def summary(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return characterized(tmp_path_factory.mktemp("switch"), SERVICES)


def instructions(summary: dict[str, Any], name: str, rounds: int) -> Counter[str]:
    """By what is held off."""
    (service,) = [s for s in summary["services"] if s["service"] == name]
    found: Counter[str] = Counter()
    for repetition, blocking, count in service["sections"]:
        found[blocking] += {"1": 1, "N": rounds, "N - 1": rounds - 1}[repetition] * count
    return found


@pytest.mark.parametrize("n", range(1, 9))
def test_every_part_is_counted_as_the_listing_says(summary: dict[str, Any], n: int) -> None:
    masked = "all interrupts"
    assert instructions(summary, "wait/call", n) == {"none": 5 + 2 * n + 1, masked: 7 + 5}
    assert instructions(summary, "wait/resume", n) == {masked: 4 + 2, "none": 2 * n + 5}
    assert instructions(summary, "interrupt", n) == {f"{masked} + preemption": 18 + 5 + 4 + 10}
    assert {s["windows"] for s in summary["services"]} == {8}


def test_what_is_held_off_across_the_switch_is_said(summary: dict[str, Any]) -> None:
    notes = {s["name"]: s["notes"] for s in summary["published"]["services"]}
    assert any("function switches threads with all" in note for note in notes["wait/call"])
    assert any("goes on with all interrupts held" in note for note in notes["wait/resume"])
    assert any("function switches threads with all" in note for note in notes["interrupt"])


def test_every_instruction_of_the_run_is_somewhere(summary: dict[str, Any]) -> None:
    """The instructions of the windows, summed over N = 1..8 by hand."""
    attributed = {
        part["name"]: part["instructions"]
        for part in summary["published"]["conservation"]["attributed"]
    }
    assert attributed["wait"] == sum(18 + 2 * n + 11 + 2 * n for n in range(1, 9))
    assert attributed["interrupt"] == 8 * 37


def test_what_goes_on_waits_for_the_load_that_switched(summary: dict[str, Any]) -> None:
    """Three loads behind that one, the last of which `ret` waits for; then three behind a branch,
    the last of which `ret` uses behind another instruction."""
    (resume,) = [s for s in summary["published"]["services"] if s["name"] == "wait/resume"]
    found: Counter[tuple[bool, str]] = Counter()
    for row in resume["counts"]["rows"]:
        for one in row["counts"]:
            kind = one.get("event", "")
            if "stall" in kind or kind == "consecutive access":
                found[bool(row["blocking"]), kind] += one["count"]
    assert found == {
        (True, "consecutive access"): 3,
        (True, "load-use stall"): 1,
        (False, "consecutive access"): 2,
        (False, "second load-use stall"): 1,
    }


@pytest.mark.parametrize("n", [1, 3, 8])
def test_all_paths_begin_behind_that_load_too(summary: dict[str, Any], n: int) -> None:
    """There is one path for each N, which a trace took: each part counts what was counted of it."""
    arguments = ["--profile", "rv32/two-stage", "--map", summary["map"], "--set", f"N={n}"]
    done = CliRunner().invoke(main, ["paths", summary["file"], *arguments, "--json"])
    assert done.exit_code == 0, done.output
    paths = {s["service"]: s for s in json.loads(done.stdout)["services"]}
    assert set(paths) == {"wait/call", "wait/resume", "interrupt"}
    for name, path in paths.items():
        assert path["worst_path_ns"] == path["traced_path_ns"] == path["high_water_mark_ns"], name


def test_what_a_switch_brings_back_is_an_assumption(summary: dict[str, Any]) -> None:
    models = summary["published"]["paths"]["models"]
    (wait,) = [model for model in models if model["service"] == "wait/resume"]
    assert any(text.startswith("switch switches threads") for text in wait["assumptions"])


def test_a_lock_lasts_across_a_function_that_switches(tmp_path: Path) -> None:
    """Where the function that unlocks the scheduler is switched away inside, the thread goes on in
    it locked, until it returns: in traces, and on all paths, which are held against them."""
    lock = "scheduler lock:\n  lock: [lock]\n  unlock: [wait]\nservices:"
    found = characterized(tmp_path, SERVICES.replace("services:", lock))
    masked = "all interrupts + preemption"
    assert instructions(found, "wait/call", 3) == {"preemption": 5 + 2 * 3 + 1, masked: 7 + 5}
    assert instructions(found, "wait/resume", 3) == {masked: 4 + 2, "preemption": 2 * 3 + 5}
    models = {model["service"]: model for model in found["published"]["paths"]["models"]}
    assert set(models) == {"wait/call", "wait/resume", "interrupt"}
