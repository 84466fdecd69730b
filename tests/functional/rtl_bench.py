"""Runs of the board in RTL, and what the pipeline alone takes for each instruction of one."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from wcetchar import store
from wcetchar.counting.columns import FLOW, KIND, KINDS, Columns
from wcetchar.counting.stalls import Stalls
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Flow, InstructionTable

ROOT = Path(__file__).resolve().parents[2]
BOARDS = ROOT / "rtl_boards" / "boards"
BUILT = Path(os.environ.get("WCETCHAR_RTL", ROOT / "build" / "rtl"))
BENCH = BUILT / "bench-imc"
TRAP_HANDLER = 0x80000100
OF_THE_NEXT = frozenset(
    {
        EventKind.FORWARD_BRANCH_TAKEN,
        EventKind.BACKWARD_BRANCH_UNTAKEN,
        EventKind.INDIRECT_JUMP,
        EventKind.FETCH_HELD_EARLY,
        EventKind.FETCH_HELD_LATE,
    }
)
"""A transfer of control delays what comes behind it."""

Numbers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def bench(*arguments: object, core: str = "imc") -> subprocess.CompletedProcess[str]:
    """Skips the test where the bench is not built."""
    found = BUILT / f"bench-{core}"
    if not found.exists():
        pytest.skip(f"the board is not built: make -C rtl_boards CORE={core} ({found})")
    return subprocess.run([found, *map(str, arguments)], capture_output=True, text=True)


def firmware(name: str = "freertos-virt") -> Path:
    found = ROOT / "build" / "firmware" / name / "freertos.elf"
    if not found.exists():
        pytest.skip(f"{found} is not built")
    return found


@dataclass(frozen=True)
class BenchRun:
    """``address`` and ``cycle`` of each instruction that retired; of each data access ``word``, the
    address on the bus, the cycle in which it was answered, and ``lanes``: 16 for a write, plus its
    bytes; ``burst``: 2 in a burst, 7 the last of one, else 0."""

    address: Numbers
    cycle: Numbers
    word: Numbers
    answered: Numbers
    lanes: Numbers
    burst: Numbers
    said: str

    @property
    def took(self) -> Numbers:
        return np.diff(self.cycle, prepend=self.cycle[0])


def bench_run(board: Path, elf: Path, folder: Path, *options: str, core: str = "imc") -> BenchRun:
    """A run with ideal caches, unless the options say otherwise."""
    files = ["-o", folder / "m.csv", "--retired", folder / "r", "--accesses", folder / "a"]
    caches = () if "--caches" in options else ("--caches", "ideal")
    done = bench(board, elf, *files, *caches, *options, core=core)
    assert done.returncode == 0, done.stderr
    retired = np.fromfile(folder / "r", dtype="<u4").reshape(-1, 2).astype(np.int64)
    accesses = np.fromfile(folder / "a", dtype="<u4").reshape(-1, 3).astype(np.int64)
    # Semihosting is the bench's own.
    accesses = accesses[~np.isin(accesses[:, 0], [0x100, 0x104])]
    word, answered, what = accesses.T
    return BenchRun(*retired.T, word, answered, what & 31, what >> 5, done.stdout)


class Pipeline:
    """What the profile says of each instruction of a run where no access waits.

    Attributes:
        index: of each instruction in the table.
        taken: it sent control elsewhere.
        allowed: cycles from the instruction before it retires until it does; one more behind the
            last one.
        breakpoints: the bench's own.
        trapped: the first one of the trap handler, whose price of entry is in ``allowed``.
        events: kind and instruction of each core event, as the analysis counts them.
    """

    def __init__(
        self,
        table: InstructionTable,
        address: Numbers,
        profile: str,
        other: Mapping[EventKind, int] | None = None,
    ) -> None:
        """``other``: cycles of events that are not those of the profile."""
        self.table = table
        self.columns = columns = Columns(table)
        self.index = index = table.index_of(address.astype(np.uint64)).astype(np.int64)
        assert (index >= 0).all()
        self.end = address + columns.length[index]
        transfers = columns.transfers_control[index]
        fell = np.append(address[1:] == self.end[:-1], False)
        self.taken = taken = transfers & ~(columns.conditional[index] & fell)
        prices = store.load_profile(profile).core.events

        def price(kind: EventKind) -> int:
            if other is not None and kind in other:
                return other[kind]
            return int(prices[kind].high) if kind in prices else 0

        self.allowed = np.ones(len(address) + 1, dtype=np.int64)
        issue = np.array([price(kind) for kind in KINDS])[columns.issue[index]]
        leaves = np.isin(columns.flow[index], [FLOW[Flow.RETURN], FLOW[Flow.CALL_INDIRECT]])
        self.allowed[:-1] += np.where(leaves, 0, issue - 1)
        self.allowed[1:] += np.where(leaves, issue - 1, 0) + taken * price(
            EventKind.PIPELINE_REFILL
        )
        self.mret = np.array([i.text == "mret" for i in table.instructions])[index]
        self.allowed[1:] += self.mret * price(EventKind.EXCEPTION_EXIT)
        self.stalls = Stalls(columns)
        self.events: list[tuple[EventKind, Numbers]] = []
        for kind, where in self.stalls.of(index, address, self.end, taken):
            if not kind.is_realigned:
                np.add.at(self.allowed, where + (kind in OF_THE_NEXT), price(kind))
                self.events.append((kind, where))
        # A trap: an ecall does not retire, so its cycle is the handler's.
        self.trapped: Flags = address == TRAP_HANDLER
        self.allowed[:-1] += self.trapped * (
            price(EventKind.EXCEPTION_ENTRY) + price(EventKind.SUPERVISOR_CALL)
        )
        self.breakpoints: Flags = columns.issue[index] == KIND[EventKind.BREAKPOINT]
