"""Whole runs, over all threads and handlers, against the longest that is published.

``masked_walk`` finds every stretch of the raw trace during which interrupts are held off, whoever
executes it: the tail of a call, the switch that it asks for, and the head of what that goes on with
are one. None may be longer than what ``wcetchar characterize`` publishes as the longest. What no
service characterizes is told apart: the start of the firmware, and interrupts of the application,
whose handler calls the kernel from code of its own.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from chain_made import BOARDS, EVERY_TIME, LARGE, Firmware, Made, Shared
from masked_walk import walk_of

from wcetchar import store
from wcetchar.formula import evaluate
from wcetchar.model.characterization import Characterization, StretchKind
from wcetchar.report.longest import longest_stretches

pytest_plugins = ("chain_fixtures",)
pytestmark = pytest.mark.firmware

APPLICATION = "driver_interrupt"
"""The function of the firmware's driver that its interrupts run."""
CHAINS = {"virt", "versatilepb", "versatilepb-thumb"}
"""Where handlers run masked, and a thread can call the supervisor with interrupts masked."""


def switches(characterization: Characterization) -> tuple[int, int]:
    """Instructions of the shortest and the longest switch. On Armv4T it passes over the priorities
    without a ready task one by one; in a run the tail that is longest goes on in a switch to the
    most urgent task of all."""
    (switch,) = (s for s in characterization.services if s.name == "context_switch")
    ranges = [range(p.minimum, p.maximum + 1) for p in switch.parameters]
    names = [p.name for p in switch.parameters]
    lengths = [
        sum(
            evaluate(row.repetition, dict(zip(names, values, strict=True)))
            * row.vector.instructions
            for row in switch.counts.rows
        )
        for values in product(*ranges)
    ]
    return int(min(lengths)), int(max(lengths))


def check(board: str, elf: Path, trace: Path, published: Path) -> None:
    walk = walk_of(board, elf, trace)
    characterization = store.load_characterization(str(published))
    (longest,) = longest_stretches(characterization, StretchKind.INTERRUPTS, shown=1)
    assert longest.not_bounded == ()
    own = [run for run in walk.runs if run.after(walk.startup)]
    long = [run for run in own if run.instructions * 2 > longest.whole]
    kernel = [run for run in long if APPLICATION not in walk.functions(run)]
    longer = [
        (run.instructions, run.first, walk.functions(run))
        for run in kernel
        if run.instructions > longest.whole
    ]
    assert longer == []
    # Nor is what is published far off, but that any tail may meet the longest switch.
    shortest, dearest = switches(characterization)
    longest_run = max(run.instructions for run in kernel)
    assert longest.whole <= 1.05 * longest_run + dearest - shortest
    assert (len(kernel) < len(long)) == (board in CHAINS)
    if board in CHAINS:
        assert longest.whole > longest.instructions


def test_masked_runs_of_cortex_m(
    firmware: Path, capture: Path, published: object, shared: Shared
) -> None:
    check("mps2-an385", firmware, capture, shared.folder / "freertos.json")


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(
            one,
            id=one.name,
            marks=[pytest.mark.xdist_group(one.name)]
            + ([pytest.mark.long] if one not in EVERY_TIME else []),
        )
        for one in (
            *(Firmware(board) for board in BOARDS if board in CHAINS),
            *LARGE,
            *(Firmware(board, "tickless") for board in BOARDS if board.startswith("mps2")),
        )
    ],
    indirect=True,
)
def test_masked_runs(made: Made, request: pytest.FixtureRequest) -> None:
    one = request.node.callspec.params["made"]
    check(one.board, one.elf, made.trace, made.characterization)
