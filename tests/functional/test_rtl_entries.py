"""What the entry of a supervisor call takes in RTL, whatever stands around the call.

An `ecall` at each place of a line, behind and before instructions of every kind, with an empty
cache: what it waits for until it would have retired is not its entry's (rtl_boards/windows.py).
Whatever is left until the handler's first instruction retires is that instruction, the handler's
line, and the price of `supervisor call entry`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from random_rv32 import ENDS, SCRIPT
from rtl_bench import BOARDS, bench
from rtl_by_hand import module

from wcetchar import isa, store
from wcetchar.image import load_image
from wcetchar.model.access import EventKind
from wcetchar.model.hardware import HardwareProfile

LINE = 32
BEFORE = {
    "nothing": "nop",
    "in 16 bits": "c.nop",
    "a load": "lw a0, 0(s0)",
    "two loads": "lw a0, 0(s0); lw a0, 4(s0)",
    "a load of another line": "addi s1, s1, 32; lw a0, 0(s1)",
    "a constant": "lw a0, 0(s4)",
    "a constant of another line": "addi s4, s4, 32; lw a0, 0(s4)",
    "a constant further back": "addi s4, s4, 32; lw a0, 0(s4); nop",
    "a store": "sw a0, 0(s0)",
    "three stores": "sw a0, 0(s0); sw a0, 4(s0); sw a0, 8(s0)",
    "a store further back": "sw a0, 0(s0); nop",
    "stores further back": "sw a0, 0(s0); sw a0, 4(s0); nop; nop",
    "a division": "li a2, -1; divu a1, a2, a2",
    "a system register": "csrw mscratch, a0",
    "a branch": "bnez s0, 1f; nop; 1:",
    "a branch to another line": "bnez s0, 1f; .skip 64; 1:",
    "a branch that was thought to be taken": "beqz s0, elsewhere",
}
BEHIND = {
    "nothing": ".rept 16; nop; .endr",
    "in 16 bits": ".rept 20; c.nop; .endr",
    "a jump": "c.j 2f; .skip 96; 2:",
    "a branch": "beqz zero, 2f; .skip 96; 2:",
    "a constant": ".rept 4; addi s4, s4, 32; lw a0, 0(s4); .endr",
    "stores": ".rept 4; sw a0, 0(s0); sw a0, 4(s0); .endr",
}
_BEGIN = """
.option norelax
.globl _start
_start:
  li s0, 0x80400000
  li s1, 0x80404000
  li s4, 0x80010000
  la t0, handler
  csrw mtvec, t0
  j begin
.balign 64
handler:
  .option push
  .option norvc
  csrr t1, mepc
  addi t1, t1, 4
  csrw mepc, t1
  .option pop
  mret
.balign 32
elsewhere:
  nop
begin:
"""


def source(cases: list[tuple[int, str, str]]) -> str:
    """Each call stands in lines of its own, ``offset`` bytes behind the begin of one."""

    def pieces() -> Iterator[str]:
        for number, (offset, before, behind) in enumerate(cases):
            yield f"""
              j case{number}
              .balign 32
              .skip ({offset} + 96 - (call{number} - case{number})) & 31
            case{number}:
              {BEFORE[before]}
            call{number}:
              .option push
              .option norvc
              ecall
              .option pop
              {BEHIND[behind]}
            """

    return "\n".join([_BEGIN, *pieces(), ENDS])


@dataclass(frozen=True)
class On:
    """``slack``: cycles by which the price may be over the worst of all cases."""

    core: str
    board: str
    profile: str
    options: tuple[str, ...] = ()
    caches: str = "cold"
    slack: int = 0


SHARED = ("--jitter", "--second-master", "--busiest", "any")
CELLS = {
    "A": On("imc", "a", "imc-zero-wait", caches="ideal"),
    "A, cold": On("imc", "a", "imc-cached"),
    "B, ideal": On("imc", "b", "imc-board-b", caches="ideal"),
    "B": On("imc", "b", "imc-board-b-cached"),
    "B, jitter": On("imc", "b", "imc-board-b-cached-shared", ("--jitter",), slack=2),
    "B, shared": On("imc", "b", "imc-board-b-cached-shared", SHARED),
    # The write before a line has one more cycle under way than any that was met.
    "C": On("imc", "c", "imc-board-c-cached", slack=2),
    "C, jitter": On("imc", "c", "imc-board-c-cached-jitter", ("--jitter",), slack=2),
    "D, uncached": On("imac", "d", "imac-board-d-instruction-cached"),
    "D, uncached, shared": On("imac", "d", "imac-board-d-instruction-cached-shared", SHARED),
    "D": On("imac-cached", "d", "imac-board-d-cached"),
    "D, shared": On("imac-cached", "d", "imac-board-d-cached-shared", SHARED),
    "cynthion": On("cynthion", "d", "cynthion-board-d"),
}
IN_TEST = {"A", "A, cold", "B", "D"}


@pytest.mark.parametrize(
    "name",
    [n if n in IN_TEST else pytest.param(n, marks=pytest.mark.long) for n in CELLS],
)
def test_the_entry_of_a_supervisor_call(
    name: str,
    assemble_riscv: Callable[[str, str], Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    on = CELLS[name]
    windows = module(monkeypatch, "windows")
    cases = list(product(range(0, LINE, 2), BEFORE, BEHIND))
    program = assemble_riscv(source(cases), SCRIPT)
    ran = run(windows, program, on, tmp_path)
    reference = run(windows, program, On("imc", "a", "", caches="ideal"), tmp_path)
    code = object.__new__(windows.Program)
    image = load_image(program)
    code._at = {i.address: i for i in isa.decode_image(image).instructions}
    handler = {s.name: s.address for s in image.symbols}["handler"]
    traps, same = (np.flatnonzero(r.address == handler).tolist() for r in (ran, reference))
    assert len(traps) == len(same) == len(cases)
    shortest = min(map(reference.took, same))
    found = [
        ran.took(trap)
        - windows._until_supervisor_call(code, ran, trap, reference.took(there) - shortest)
        for trap, there in zip(traps, same, strict=True)
    ]

    profile = store.load_profile(f"vexriscv/{on.profile}")
    price = profile.core.events[EventKind.SUPERVISOR_CALL_ENTRY]
    handled = 1 + line(profile)
    worst = max(zip(found, cases, strict=True))
    print(f"\n{name}: {len(cases):,} calls, {min(found)} to {worst[0]} cycles, {worst[1]}")
    assert min(found) >= price.low + 1
    assert 0 <= price.high + handled - worst[0] <= on.slack
    # Nothing else that enters a handler takes less.
    assert profile.core.events[EventKind.EXCEPTION_ENTRY].high >= price.high


def line(profile: HardwareProfile) -> int:
    """Cycles of a line of code."""
    if profile.core.instruction_cache is None:
        return 0
    (first, *_) = (r for r in profile.regions.values() if r.line_refill is not None)
    assert first.line_refill is not None
    return int(first.line_refill.high * first.clock_divider)


def run(windows: Any, program: Path, on: On, folder: Path) -> Any:
    at = folder / f"{on.core}-{on.board}-{on.caches}"
    at.mkdir(exist_ok=True)
    words = ["-o", at / "marks.csv", "--retired", at / "retired", "--refills", at / "refills"]
    words += ["--limit", "40000000", "--caches", on.caches, *on.options]
    done = bench(BOARDS / f"{on.board}.yaml", program, *words, core=on.core)
    assert done.returncode == 0, done.stderr
    return windows.load(at)
