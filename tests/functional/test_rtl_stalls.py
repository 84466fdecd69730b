"""The core in RTL, instruction by instruction, against stalls and the profile that prices them.

With ideal caches and memories without wait states, the time between two instructions that retire
is that of the pipeline alone. For each of them, in a run of the whole FreeRTOS firmware, what the
profile says may not be less than what the core took, and for nearly all of them it is just that.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from wcetchar import isa, store
from wcetchar.analysis.columns import FLOW, KIND, KINDS, Columns
from wcetchar.analysis.stalls import Stalls
from wcetchar.image import load_image
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Flow, InstructionTable

ROOT = Path(__file__).resolve().parents[2]
BENCH = Path(os.environ.get("WCETCHAR_RTL", ROOT / "build" / "rtl")) / "bench-imc"
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
TRAP_HANDLER = 0x80000100


def cycles(firmware: Path, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Addresses of the instructions that retired, and when."""
    if not BENCH.exists() or not firmware.exists():
        pytest.skip(f"the board in RTL or {firmware} is not built")
    board = ROOT / "rtl_boards" / "boards" / "a.yaml"
    run = ["--retired", folder / "r", "--caches", "ideal"]
    done = subprocess.run(
        [BENCH, board, firmware, "-o", folder / "m.csv", *run], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    both = np.fromfile(folder / "r", dtype="<u4").reshape(-1, 2).astype(np.int64)
    return both[:, 0], both[:, 1]


@pytest.mark.parametrize(
    "folder", ["freertos-virt", pytest.param("freertos-virt-full", marks=pytest.mark.long)]
)
def test_no_instruction_takes_longer_than_its_price(folder: str, tmp_path: Path) -> None:
    firmware = ROOT / "build" / "firmware" / folder / "freertos.elf"
    address, cycle = cycles(firmware, tmp_path)
    took = np.diff(cycle, prepend=cycle[0])
    table = isa.decode_image(load_image(str(firmware)))
    index = table.index_of(address.astype(np.uint64))
    columns = Columns(table)
    assert (index >= 0).all()
    behind = address + columns.length[index]
    transfers = columns.transfers_control[index]
    fell = np.append(address[1:] == behind[:-1], False)
    taken = transfers & ~(columns.conditional[index] & fell)
    prices = store.load_profile("vexriscv/imc-zero-wait").core.events

    def price(kind: EventKind) -> int:
        return int(prices[kind].high) if kind in prices else 0

    allowed = np.ones(len(address) + 1, dtype=np.int64)
    issue = np.array([price(kind) for kind in KINDS])[columns.issue[index]]
    leaves = np.isin(columns.flow[index], [FLOW[Flow.RETURN], FLOW[Flow.CALL_INDIRECT]])
    allowed[:-1] += np.where(leaves, 0, issue - 1)
    allowed[1:] += np.where(leaves, issue - 1, 0) + taken * price(EventKind.PIPELINE_REFILL)
    mret = np.array([i.text == "mret" for i in table.instructions])[index]
    allowed[1:] += mret * price(EventKind.EXCEPTION_EXIT)
    for kind, where in Stalls(columns).of(index, address, behind, taken):
        if not kind.is_realigned:
            np.add.at(allowed, where + (kind in OF_THE_NEXT), price(kind))
    over = allowed[:-1] - took
    # A trap: an ecall does not retire, so its cycle is the handler's.
    trapped = address == TRAP_HANDLER
    over[trapped] += price(EventKind.EXCEPTION_ENTRY) + price(EventKind.SUPERVISOR_CALL)
    breakpoints = columns.issue[index] == KIND[EventKind.BREAKPOINT]  # the bench's own
    counted = ~breakpoints
    short = np.flatnonzero(counted & (over < 0))
    assert not len(short), _place(table, index, took, allowed, int(short[0]))
    assert counted.sum() > 1_300_000
    inside = counted & ~trapped
    exact = (over[inside] == 0).mean()
    print(f"{inside.sum():,} instructions, {exact:.2%} exact, {over[inside].sum():,} cycles over")
    assert exact > 0.99
    assert over[inside].sum() < 0.005 * took[inside].sum()


def _place(
    table: InstructionTable, index: np.ndarray, took: np.ndarray, allowed: np.ndarray, at: int
) -> str:
    lines = [
        f"{table.instructions[int(index[i])].text}: took {took[i]}, allowed {allowed[i]}"
        for i in range(max(0, at - 4), at + 1)
    ]
    return "\n".join(lines)
