"""The instruction cache in RTL: which lines the core loads, and what that costs.

The bench writes down each refill and each instruction that retires. Which lines those instructions
fetch, in vain or not, is followed beside the refills; and with the prices of stalls and of a
refill, what each instruction may take.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pytest
from random_rv32 import SCRIPT, program

from wcetchar import isa, store
from wcetchar.counting.columns import FLOW, KIND, KINDS, Columns
from wcetchar.counting.fetch_ahead import FetchAhead
from wcetchar.counting.front_end import is_predicted
from wcetchar.counting.stalls import Stalls
from wcetchar.image import load_image
from wcetchar.model.access import OPERAND_STALLS, EventKind
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.instruction import Flow

ROOT = Path(__file__).resolve().parents[2]
BENCH = Path(os.environ.get("WCETCHAR_RTL", ROOT / "build" / "rtl"))
LINE = 32


@dataclass(frozen=True)
class Limits:
    """Shares: instructions that take their price, at least; cycles over it; instructions longer
    than their own price, for which neighbours pay, with caches as they are left and cold; the last
    two of random programs, there by refills."""

    exact: float = 0.95
    over: float = 0.015
    left: float = 0.0001
    cold: float = 0.001
    over_of_random: float = 0.03
    of_random: float = 0.05


WAITING = Limits(0.93, 0.03, 0.004, 0.004, 0.05, 0.08)
"""Each data access waits, and of those before a refill some do so meanwhile."""


@dataclass(frozen=True)
class On:
    """A core on a board. ``sets`` of IBusCachedPlugin_cache; ``first``: cycles to the first word of
    the memory of code, ``next`` to each more; ``trap_entry``: from the last fetch of what is
    interrupted to the handler's first instruction, three refills, and what ran before;
    ``pipeline``: the profile that has the prices of stalls; ``hides_accesses``: of so many
    instructions before the one that waits for a line, the accesses are waited for meanwhile;
    ``read``, ``constant``: cycles of one of data, and in the memory of code."""

    core: str
    board: str
    profile: str
    trap_entry: int
    first: int = 5
    next: int = 2
    sets: int = 128
    limits: Limits = Limits()
    pipeline: str = "imc-zero-wait"
    hides_accesses: int = 0
    read: int = 1
    constant: int = 1

    @property
    def cache(self) -> CacheGeometry:
        return CacheGeometry(line=LINE, sets=self.sets)

    @property
    def refill(self) -> int:
        """Eight words; and a cycle until the bus is asked, one until the last word is written, and
        one until the tags are read again."""
        return self.first + 7 * self.next + 3


ON_D: Final[Any] = {
    "limits": WAITING,
    "pipeline": "imac-board-d",
    "hides_accesses": 3,
    "read": 5,
    "constant": 8,
}
ON = {
    "a": On("imc", "a", "imc-cached", 50, first=1, next=1),
    "b": On("imc", "b", "imc-board-b-cached", 100),
    # Data accesses go past the data cache.
    "d": On("imac", "d", "imac-board-d-instruction-cached", 100, **ON_D),
    "cynthion": On("cynthion", "d", "cynthion-board-d", 100, sets=64, **ON_D),
}
WORD = 4
CODE = (0x80000000, 0x80400000)
"""Of the boards: memory of code and constants."""
TRAP_HANDLER = 0x80000100
BEHIND_LOADED = 4
"""Nothing retires for so many cycles that waited for a line, once it is there."""
FETCHED_BEFORE = 24
"""What retires so many cycles after the cache was emptied may have been fetched before."""
FETCHED_AHEAD = 6
"""Instructions before the one that waits for a line which may access behind what asks for it."""
AHEAD = 6
"""Refills that are looked through for one that is due: those before it are of unknown reason."""
CROSSING = frozenset({EventKind.CROSSING_TARGET, EventKind.CROSSING_FALL_THROUGH})
OF_THE_NEXT = frozenset(
    {
        EventKind.FORWARD_BRANCH_TAKEN,
        EventKind.BACKWARD_BRANCH_UNTAKEN,
        EventKind.INDIRECT_JUMP,
        EventKind.FETCH_HELD_EARLY,
        EventKind.FETCH_HELD_LATE,
    }
)
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Ran:
    """``address``, ``cycle``: of instructions that retired; ``refills``: line numbers, in order,
    when each ``began`` and was ``loaded``; ``constants``: when one in the memory of the code was
    read; ``emptied``: when the bench emptied the cache."""

    address: Codes
    cycle: Codes
    refills: Codes
    began: Codes
    loaded: Codes
    constants: Codes
    emptied: Codes


def run(on: On, caches: str, firmware: Path, folder: Path) -> Ran:
    bench = BENCH / f"bench-{on.core}"
    if not bench.exists() or not firmware.exists():
        pytest.skip(f"{bench} or {firmware} is not built")
    path = ROOT / "rtl_boards" / "boards" / f"{on.board}.yaml"
    words = ["--retired", folder / "r", "--refills", folder / "f", "--caches", caches]
    words += ["--accesses", folder / "a", "--emptied", folder / "e"]
    done = subprocess.run(
        [bench, path, firmware, "-o", folder / "m.csv", *words], capture_output=True, text=True
    )
    if "unknown option --refills" in done.stderr:
        pytest.skip(f"{bench} is of before refills were written down: make -C rtl_boards")
    assert done.returncode == 0, done.stderr
    retired = np.fromfile(folder / "r", dtype="<u4").reshape(-1, 2).astype(np.int64)
    refills = np.fromfile(folder / "f", dtype="<u4").reshape(-1, 3).astype(np.int64)
    emptied = np.fromfile(folder / "e", dtype="<u4").astype(np.int64)
    accesses = np.fromfile(folder / "a", dtype="<u4").reshape(-1, 3).astype(np.int64)
    constants = accesses[(CODE[0] <= accesses[:, 0]) & (accesses[:, 0] < CODE[1])]
    address, cycle = retired.T
    number = refills[:, 0] // LINE
    return Ran(address, cycle, number, refills[:, 1], refills[:, 2], constants[:, 1], emptied)


@dataclass(frozen=True)
class Sequence:
    """Lines that are fetched, in order: for which instruction (in vain: for the one before it),
    and how many cycles before control is transferred; -1: not in vain. ``behind``: in vain, for
    what lies behind the transfer in memory."""

    line: Codes
    position: Codes
    before: Codes
    behind: Flags


class Program:
    def __init__(self, firmware: Path) -> None:
        self.table = isa.decode_image(load_image(str(firmware)))
        self.columns = Columns(self.table)
        self.ahead = FetchAhead(self.table)
        self.late = np.array([not is_predicted(i) for i in self.table.instructions])
        self.back = np.array([i.conditional and is_predicted(i) for i in self.table.instructions])

    def taken(self, index: Codes, address: Codes) -> npt.NDArray[np.bool_]:
        columns = self.columns
        fell = np.append(address[1:] == (address + columns.length[index])[:-1], False)
        return columns.transfers_control[index] & ~(columns.conditional[index] & fell)

    def fetched(self, index: Codes, address: Codes) -> Sequence:
        trapped = np.append(address[1:] == TRAP_HANDLER, False)
        taken = self.taken(index, address)
        known: dict[tuple[int, bool, bool, bool], list[tuple[int, int, bool]]] = {}
        rows: list[tuple[int, int, int, bool]] = []
        follows = np.append(False, ~taken[:-1] & ~trapped[:-1] & ~self.back[index[:-1]])
        triples = zip(
            index.tolist(), taken.tolist(), trapped.tolist(), follows.tolist(), strict=True
        )
        for position, key in enumerate(triples):
            if key not in known:
                known[key] = self._lines(*key)
            rows.extend((line, position, before, first) for line, before, first in known[key])
        line, position_of, before, behind = np.array(rows, dtype=np.int64).T
        return Sequence(line, position_of, before, behind.astype(bool))

    def _lines(
        self, index: int, taken: bool, trapped: bool, follows: bool
    ) -> list[tuple[int, int, bool]]:
        instruction = self.table.instructions[index]
        start = instruction.address
        if follows:  # what lies in the word of the one before came with that
            start += -start % WORD
        own = [(start, instruction.end, -1, False)]
        touched = own if start < instruction.end else []
        vain = self.ahead.of(index, taken, trapped)
        if trapped:  # an ecall does not retire
            at = int(self.table.index_of(np.array([instruction.end], dtype=np.uint64))[0])
            following = self.table.instructions[at] if at >= 0 else None
            if following is not None and following.flow is Flow.SUPERVISOR_CALL:
                touched.append((following.address, following.end, -1, False))
                vain = self.ahead.of(at, True)
        known = not trapped and not (instruction.flow is Flow.RETURN and instruction.masks)
        touched += [
            (t.start, t.end, t.before, known and n == 0) for n, t in enumerate(vain.touches)
        ]
        return [
            (line, before, behind)
            for start, end, before, behind in touched
            for line in range(start // LINE, (end - 1) // LINE + 1)
        ]


@dataclass(frozen=True)
class Followed:
    """``loaded``: positions in the sequence of the fetches that loaded a line. ``unknown``: refills
    that no fetch explains. ``absent``: positions of what had to be loaded, and was not; and that
    were fetched in vain behind a transfer in memory."""

    loaded: list[int]
    unknown: list[int]
    absent: list[int]


def follow(cache: CacheGeometry, sequence: Sequence, ran: Ran, emptied: Codes) -> Followed:
    """The sequence of fetches through the cache, beside the refills that the bench saw.

    What is fetched for an instruction that retires is loaded exactly where the cache does not hold
    it, and so is what lies behind a transfer of control in memory. How far other fetches in vain
    reach hangs on how long those before them waited: what is in the sequence is the most, so that
    they may be loaded, and nothing else may. ``emptied``: the cycles at which the bench empties the
    cache; what retires soon after may have been fetched before.
    """
    nothing = [-1] * cache.sets
    held, since = (
        [*nothing],
        [*nothing],
    )  # since: of those, what was loaded after the bench emptied it
    refills, began, loaded = ran.refills.tolist(), ran.began.tolist(), ran.loaded.tolist()
    retires = ran.cycle[sequence.position].tolist()
    next_retires = np.append(ran.cycle, 1 << 62)[sequence.position + 1].tolist()
    pending, empties = -1, [*emptied.tolist(), 1 << 62]
    found = Followed([], [], [])
    j = at = 0
    vain = (sequence.before.tolist(), sequence.behind.tolist())
    fetches = zip(sequence.line.tolist(), *vain, retires, next_retires, strict=True)
    for number, (line, before, behind, cycle, until) in enumerate(fetches):
        while cycle > empties[at]:
            if pending >= 0:
                held = since
            pending, since, at = empties[at], [*nothing], at + 1
        asked = j < len(refills) and refills[j] == line
        asked = asked and (loaded[j] < cycle if before < 0 else began[j] < until)
        if pending >= 0 and (cycle > pending + FETCHED_BEFORE or (asked and began[j] > pending)):
            held, pending = since, -1
        if held[line % cache.sets] == line:
            continue
        if not asked:
            if before >= 0:
                if behind:
                    found.absent.append(number)
                continue
            if line not in refills[j : j + AHEAD]:
                found.absent.append(number)
                held[line % cache.sets] = line
                continue
            while refills[j] != line:
                found.unknown.append(j)
                held[refills[j] % cache.sets] = refills[j]
                j += 1
        held[line % cache.sets] = line
        if loaded[j] > pending:
            since[line % cache.sets] = line
        found.loaded.append(number)
        j += 1
    found.unknown.extend(range(j, len(refills)))
    return found


def pipeline(program: Program, on: On, index: Codes, address: Codes) -> tuple[Codes, Codes, Codes]:
    """What each instruction may take where no line has to be loaded (test_rtl_stalls.py holds
    it against the RTL), and how much of that is waiting for results and the bus, one entry more
    than instructions; and which instructions wait for results, whatever that takes."""
    columns = program.columns
    taken = program.taken(index, address)
    prices = store.load_profile(f"vexriscv/{on.pipeline}").core.events
    entry = store.load_profile(f"vexriscv/{on.profile}").core.events[EventKind.EXCEPTION_ENTRY]

    def price(kind: EventKind) -> int:
        return int(prices[kind].high) if kind in prices else 0

    allowed = np.ones(len(address) + 1, dtype=np.int64)
    issue = np.array([price(kind) for kind in KINDS])[columns.issue[index]]
    leaves = np.isin(columns.flow[index], [FLOW[Flow.RETURN], FLOW[Flow.CALL_INDIRECT]])
    allowed[:-1] += np.where(leaves, 0, issue - 1)
    allowed[1:] += np.where(leaves, issue - 1, 0) + taken * price(EventKind.PIPELINE_REFILL)
    mret = np.array([i.text == "mret" for i in program.table.instructions])[index]
    allowed[1:] += mret * price(EventKind.EXCEPTION_EXIT)
    behind = address + columns.length[index]
    waits, waiting = np.zeros(len(allowed), dtype=np.int64), np.zeros(len(allowed), dtype=bool)
    for kind, where in Stalls(columns).of(index, address, behind, taken):
        if not kind.is_realigned:
            np.add.at(allowed, where + (kind in OF_THE_NEXT), price(kind))
            if kind not in OF_THE_NEXT | CROSSING:
                np.add.at(waits, where, price(kind))
                waiting[where] |= kind in OPERAND_STALLS - {EventKind.CONSECUTIVE_ACCESS}
    trapped = np.flatnonzero(address == TRAP_HANDLER)
    allowed[trapped] += int(entry.high) + price(EventKind.SUPERVISOR_CALL)
    return allowed, waits, waiting


@dataclass(frozen=True)
class Data:
    """Of each instruction: ``waits``, cycles of its data access beside what the pipeline takes, and
    ``behind``, those of them for writes before it; ``constant``: it may read from the memory of
    code; ``waiting``: it waits for a result; ``entering``: for a line."""

    waits: Codes
    behind: Codes
    constant: Flags
    waiting: Flags
    entering: Flags

    def meanwhile(self, on: On, first: Codes, transfers: Flags) -> Codes:
        """What is waited for while the lines of some instructions are loaded, none of them right
        behind another one. A line is asked for when the instruction before is decoded, and those
        before that access behind it, if nothing holds what is between. An access to the memory
        that the line comes from waits for it, and so do those behind. ``transfers``: what is behind
        it is fetched anew."""
        found, left, behind = np.zeros(len(first), dtype=np.int64), self.waits.copy(), self.behind
        for number, one in enumerate(first.tolist()):
            for at in range(max(0, one - FETCHED_AHEAD), one + 1):
                if self.constant[at]:
                    break
                if at < one - on.hides_accesses:
                    continue
                held = [self.waiting[n] or self.entering[n] for n in range(at + 1, one - 1)]
                if any(held) or (held and transfers[at : one - 1].any()):
                    continue
                hidden = left[at] if at < one else min(left[at], behind[at])
                found[number] += hidden
                left[at] -= hidden
        return found


CELLS = [
    pytest.param("a", "left", marks=pytest.mark.long),
    ("a", "cold"),
    pytest.param("b", "left", marks=pytest.mark.long),
    pytest.param("b", "cold", marks=pytest.mark.long),
    pytest.param("d", "left", marks=pytest.mark.long),
    pytest.param("d", "cold", marks=pytest.mark.long),
    pytest.param("cynthion", "left", marks=pytest.mark.long),
    pytest.param("cynthion", "cold", marks=pytest.mark.long),
]
FIRMWARE = ["freertos-virt", pytest.param("freertos-virt-full", marks=pytest.mark.long)]


@pytest.mark.parametrize("folder", FIRMWARE)
@pytest.mark.parametrize(("on", "caches"), CELLS)
def test_lines_and_times(on: str, caches: str, folder: str, tmp_path: Path) -> None:
    firmware = ROOT / "build" / "firmware" / folder / "freertos.elf"
    found = check(ON[on], caches, firmware, tmp_path)
    assert found.unknown <= found.traps
    assert found.absent < 0.005 * found.refills
    limits = ON[on].limits
    assert found.short < (limits.cold if caches == "cold" else limits.left) * found.instructions
    assert found.exact > limits.exact
    assert found.over < limits.over


@pytest.mark.parametrize("on", ["a", "b", pytest.param("d", marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "seed", [1, 6, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(7, 40))]
)
def test_random_programs(
    on: str, seed: int, assemble_riscv: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """Straight on through code of four caches: a line is loaded every ten instructions."""
    found = check(ON[on], "left", assemble_riscv(program(seed), SCRIPT), tmp_path)
    assert (found.unknown, found.absent) == (0, 0)
    limits = ON[on].limits
    assert found.short < limits.of_random * found.refills
    assert found.exact > limits.exact
    assert found.over < limits.over_of_random


@dataclass(frozen=True)
class Found:
    """Counts, and as shares ``exact`` (instructions) and ``over`` (cycles). ``short``: instructions
    that took longer than their own price."""

    refills: int
    unknown: int
    absent: int
    traps: int
    instructions: int
    short: int
    exact: float
    over: float


def check(on: On, caches: str, firmware: Path, tmp_path: Path) -> Found:
    """No instruction takes longer that is not paid for by its neighbours."""
    ran = run(on, caches, firmware, tmp_path)
    program = Program(firmware)
    index = program.table.index_of(ran.address.astype(np.uint64))
    sequence = program.fetched(index, ran.address)
    followed = follow(on.cache, sequence, ran, ran.emptied)
    missed, unknown = np.array(followed.loaded), followed.unknown
    vain = int((sequence.before[missed] >= 0).sum())
    print(
        f"\n{len(ran.refills):,} refills, {len(unknown)} not foretold and "
        f"{len(followed.absent)} too many; {vain:,} in vain"
    )

    # What was on its way when a trap came is fetched and not executed: the entry's price has that.
    traps = ran.cycle[ran.address == TRAP_HANDLER]
    until = np.append(traps, 1 << 62)[np.searchsorted(traps, ran.began[unknown])]
    assert (until - ran.began[unknown] < on.trap_entry).all()

    allowed, waits, waiting = pipeline(program, on, index, ran.address)
    took = np.diff(ran.cycle, prepend=ran.cycle[0])
    if on.board != "a":  # constants lie in slow memory, too: what they take is not of caches
        ideal = run(on, "ideal", firmware, tmp_path)
        same = ideal.address[: len(took)] == ran.address
        assert same.all()
        waited = np.diff(ideal.cycle, prepend=ideal.cycle[0])[: len(took)]
        # An access may have hidden a stall behind it there, which is charged all the same.
        constant = np.zeros(len(took), dtype=bool)
        for retires in (ran.constants, ran.constants + 1):
            constant[np.minimum(np.searchsorted(ran.cycle, retires), len(took) - 1)] = True
        own = np.where(constant, on.constant, on.read) * (program.columns.reads[index] > 0)
        own = np.maximum(own - 1, 0)
        data = np.maximum(waited - allowed[:-1], own)
        allowed[:-1] += data
    before, position = sequence.before[missed], sequence.position[missed]
    needed, refill = position[before < 0], on.refill
    entering = np.zeros(len(took), dtype=bool)
    entering[needed] = True
    np.add.at(allowed, needed, refill)
    # In vain alone: what goes on in that line has to read its tags again.
    goes_on = np.append(ran.address, 0), np.append(ran.address + program.columns.length[index], 1)
    ends = goes_on[0] // LINE, (goes_on[1] - 1) // LINE
    alone = np.all([sequence.line[missed] != end[position + 1] for end in ends], axis=0)
    saved = alone * (1 + before * program.late[index[position]])
    np.add.at(allowed, position[before >= 0] + 1, refill - saved[before >= 0])
    # What follows in memory, and the one before it, have been waited for meanwhile.
    taken = program.taken(index, ran.address)
    onwards = np.unique(needed[needed > 0])
    onwards = onwards[~taken[onwards - 1] & ~program.back[index[onwards - 1]]]
    allowed[onwards] -= waits[onwards]
    first = onwards[~np.isin(onwards - 1, onwards)]
    allowed[first] -= waits[first - 1]
    # So has what transferred control, and those before it, where what lies behind it was loaded.
    transfers = np.unique(position[sequence.behind[missed]])
    transfers = transfers[~entering[transfers]]
    allowed[transfers + 1] -= np.minimum(waits[transfers], refill)
    first = np.union1d(first, transfers[transfers + 1 < len(took)] + 1)
    if on.hides_accesses:
        waited_for = Data(data, np.maximum(data - own, 0), constant, waiting[:-1], entering)
        fetched_anew = taken | program.back[index]
        allowed[first] -= np.minimum(waited_for.meanwhile(on, first, fetched_anew), refill)
    # The memory has one port: a refill that is asked for while a constant is read waits for that,
    # one cycle longer than the instruction that reads.
    answered = np.append(ran.constants, 1 << 62)[np.searchsorted(ran.constants, ran.began)]
    beside = answered < ran.began + on.first
    held = np.searchsorted(ran.cycle, ran.loaded[beside] + BEHIND_LOADED)
    np.add.at(allowed, held, 1)
    counted = program.columns.issue[index] != KIND[EventKind.BREAKPOINT]  # the bench's own
    over = np.where(counted, allowed[:-1] - took, 0)
    short = np.flatnonzero(over < 0)
    # A data access may wait for the refill of a line behind it, which is then no longer waited for;
    # and where the bench emptied the cache is known but for some instructions.
    spare = np.maximum(over, 0)
    unpaid = [n for n in short.tolist() if spare[max(0, n - 6) : n + 6].sum() + over[n] < 0]
    if caches == "cold":
        emptied = np.searchsorted(ran.cycle, ran.emptied)
        near = [n for n in unpaid if ((emptied <= n) & (n < emptied + 24)).any()]
        # There a line that is executed is loaded anew, for which of its instructions is not known.
        assert len(near) < 0.04 * len(ran.emptied)
        unpaid = sorted({*unpaid} - {*near})
    assert not unpaid, _place(program, index, took, allowed, unpaid[0])
    counted &= ran.address != TRAP_HANDLER  # what ran before ends, and that is of many lengths
    exact, too_much = (over[counted] == 0).mean(), over[counted].sum() / took[counted].sum()
    print(f"{len(short)} paid by others, {exact:.2%} exact, all together {too_much:.2%} over")
    counts = (len(one) for one in (ran.refills, unknown, followed.absent, traps, over, short))
    return Found(*counts, float(exact), float(too_much))


def _place(program: Program, index: Codes, took: Codes, allowed: Codes, at: int) -> str:
    lines = [
        f"{program.table.instructions[int(index[i])].text}: took {took[i]}, allowed {allowed[i]}"
        for i in range(max(0, at - 4), at + 5)
    ]
    return "\n".join(lines)
