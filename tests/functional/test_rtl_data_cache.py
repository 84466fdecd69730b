"""A core with a data cache in RTL: what its accesses take, and which lines it loads.

What is written down here is what the profiles ``vexriscv/imac-board-d*`` have to hold
(docs/explanation/rtl.md, "A core with a data cache"), instruction by instruction; that instructions
are there when they are asked for is the bench's doing (ideal caches).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from random_rv32 import SCRIPT, program
from rtl_bench import BOARDS, BenchRun, Flags, Numbers, Pipeline, bench_run, firmware

from wcetchar import isa
from wcetchar.image import load_image
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Instruction, InstructionTable

CORE = "imac-cached"
LINE, SETS, WORDS = 32, 128, 8
"""DataCache of vexriscv_imac+dcache.v: one way, written through; only loads allocate."""
CACHED_FROM = 0x80000000
SEMIHOSTING = (0x100, 0x104)
LATE = 4
"""Cycles between the end of a line and the load that waited for it."""
COLLISION = 6
"""A load is fetched again; of these the last if the fetch unit is held."""
OTHER = {EventKind.CONSECUTIVE_ACCESS: 0, EventKind.SECOND_LOAD_USE_STALL_ACCESS: 1}
"""Unlike a core without: an access does not wait for a turn of the bus where it hits."""
NEVER = -(10**9)
FIRST_NEXT = {"a": {"code": (1, 1), "data": (1, 1)}, "d": {"code": (5, 2), "data": (3, 1)}}
"""Of the boards: cycles to the first beat of a memory, and to each further one."""


@dataclass(frozen=True)
class Made:
    """Data accesses of a run, by instruction: ``address`` (-1: none) and ``bytes``."""

    address: Numbers
    bytes: Numbers
    writes: Flags

    @property
    def cached(self) -> Flags:
        return self.address >= CACHED_FROM

    def lanes(self) -> Numbers:
        return ((1 << self.bytes) - 1) << np.where(self.address >= 0, self.address & 3, 0)


def accesses(folder: Path, run: BenchRun) -> Made:
    """What the bench saw retire."""
    address, cycle, what = np.fromfile(folder / "d", dtype="<u4").reshape(-1, 3).astype(np.int64).T
    real = ~np.isin(address, SEMIHOSTING)
    address, cycle, what = address[real], cycle[real], what[real]
    at = np.searchsorted(run.cycle, cycle)
    assert (run.cycle[at] == cycle).all()
    count = len(run.cycle)
    made = Made(np.full(count, -1), np.zeros(count, dtype=np.int64), np.zeros(count, dtype=bool))
    made.address[at], made.bytes[at], made.writes[at] = address, what & 15, what >> 4 == 1
    return made


def hits(made: Made) -> Flags:
    """The loads that retire, followed through the cache; stores allocate nothing."""
    held, found = [-1] * SETS, np.zeros(len(made.address), dtype=bool)
    for at in np.flatnonzero(made.cached).tolist():
        line = int(made.address[at]) // LINE
        found[at] = held[line % SETS] == line
        if not made.writes[at]:
            held[line % SETS] = line
    return found


def collisions(made: Made, hit: Flags, taken: Flags) -> Flags:
    """Loads that hit, next or second behind a store that hits the same bytes; the one between did
    not transfer control."""
    lanes, word = made.lanes(), made.address >> 2
    found = np.zeros(len(hit), dtype=bool)
    loads = np.flatnonzero(hit & ~made.writes)
    for distance in (1, 2):
        one = loads[loads >= distance]
        store = one - distance
        same = made.writes[store] & hit[store] & (word[store] == word[one])
        same &= lanes[store] & lanes[one] != 0
        if distance == 2:
            same &= ~taken[one - 1]
        found[one[same]] = True
    return found


def crosses(table: InstructionTable) -> Flags:
    def one(instruction: Instruction) -> bool:
        return instruction.address % 4 + instruction.length > 4

    return np.array([one(instruction) for instruction in table.instructions])


def allowed(
    folder: Path, board: str, run: BenchRun, pipeline: Pipeline, made: Made, miss: Flags
) -> Numbers:
    """Cycles of each instruction, behind what really was on the bus before."""
    records = np.fromfile(folder / "a", dtype="<u4").reshape(-1, 3).astype(np.int64)
    over = records[(records[:, 2] >> 5 == 0) | (records[:, 2] >> 5 == 7)]
    ended, of_bench = over[:, 1].tolist(), np.isin(over[:, 0], SEMIHOSTING).tolist()
    hit = made.cached & ~miss
    collided = collisions(made, hit, pipeline.taken)
    again = COLLISION + crosses(pipeline.table)[pipeline.index]
    found = pipeline.allowed[:-1].copy()
    last = second_last = NEVER
    done = 0
    cycle = run.cycle.tolist()
    found[collided] += again[collided]
    for at in np.flatnonzero((made.address >= 0) & (made.writes | miss | ~made.cached)).tolist():
        while of_bench[done]:
            second_last, last, done = last, ended[done], done + 1
        address = int(made.address[at])
        first, following = (1, 1)
        if address >= CACHED_FROM:
            first, following = FIRST_NEXT[board]["code" if address < 0x80400000 else "data"]
        ready = (cycle[at - 1] if at else 0) + int(found[at])
        accepted = max(ready, second_last + 1)
        begun = max(accepted + 1, last + 1)
        if made.writes[at]:
            retires = accepted
        elif miss[at]:
            retires = begun + first + (WORDS - 1) * following - 1 + LATE
        else:
            retires = begun + first
        found[at] += retires - ready
        second_last, last, done = last, ended[done], done + 1
    return found


def check(board: str, elf: Path, folder: Path) -> tuple[float, float, int]:
    """None takes longer. Returns the shares of instructions that are exact and of cycles that are
    over, and how many lines were loaded."""
    options = ("--data", str(folder / "d"))
    run = bench_run(BOARDS / f"{board}.yaml", elf, folder, *options, core=CORE)
    table = isa.decode_image(load_image(str(elf)))
    pipeline = Pipeline(table, run.address, "vexriscv/imc-zero-wait", OTHER)
    made = accesses(folder, run)
    miss = made.cached & ~made.writes & ~hits(made)
    lines = run.word[run.burst != 0][::WORDS] // LINE
    assert (made.address[miss] // LINE).tolist() == lines.tolist()  # all, in their order
    over = allowed(folder, board, run, pipeline, made, miss) - run.took
    inside = ~pipeline.breakpoints & ~pipeline.trapped
    inside[1:] &= ~pipeline.breakpoints[:-1]
    inside[0] = inside[-1] = False
    short = np.flatnonzero(inside & (over < 0)).tolist()
    assert not short, _place(pipeline, run, over, short[0])
    exact, more = (over[inside] == 0).mean(), over[inside].sum() / run.took[inside].sum()
    print(
        f"{inside.sum():,} instructions, {exact:.2%} exact, {more:.2%} over; {len(lines):,} lines"
    )
    return float(exact), float(more), len(lines)


def _place(pipeline: Pipeline, run: BenchRun, over: Numbers, at: int) -> str:
    return "\n".join(
        f"{pipeline.table.instructions[int(pipeline.index[i])].text}: took {run.took[i]}, "
        f"allowed {run.took[i] + over[i]}"
        for i in range(max(0, at - 6), at + 1)
    )


@pytest.mark.long
@pytest.mark.parametrize("board", FIRST_NEXT)
def test_a_kernel(board: str, tmp_path: Path) -> None:
    exact, over, lines = check(board, firmware(), tmp_path)
    assert exact > 0.99
    assert over < 0.006
    assert lines > 50_000


@pytest.mark.long
@pytest.mark.parametrize("board", FIRST_NEXT)
@pytest.mark.parametrize("seed", range(1, 13))
def test_random_programs(
    board: str, seed: int, assemble_riscv: Callable[[str, str], Path], tmp_path: Path
) -> None:
    exact, over, _ = check(board, assemble_riscv(program(seed), SCRIPT), tmp_path)
    assert exact > 0.96
    assert over < 0.02
