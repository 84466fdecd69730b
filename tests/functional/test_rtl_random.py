"""Random programs on the core in RTL: no instruction takes longer than its stalls say.

What a kernel's code never does, other code may: these programs put everything behind everything.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from random_rv32 import SCRIPT, program
from rtl_bench import BOARDS, Pipeline, bench_run

from wcetchar import isa
from wcetchar.image import load_image
from wcetchar.model.access import EventKind

AT_ONCE, LATER = range(1, 5), range(5, 40)


@pytest.mark.parametrize(
    "seed", [*AT_ONCE, *(pytest.param(seed, marks=pytest.mark.long) for seed in LATER)]
)
def test_no_instruction_takes_longer_than_its_price(
    seed: int, assemble_riscv: Callable[[str, str], Path], tmp_path: Path
) -> None:
    found = check(assemble_riscv(program(seed), SCRIPT), tmp_path)
    assert len(found.over) > 3000
    assert (found.over == 0).mean() > 0.97


@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.long) for seed in range(2, 20))]
)
def test_accesses_of_system_registers_wait_just_so_long(
    seed: int, assemble_riscv: Callable[[str, str], Path], tmp_path: Path
) -> None:
    """A third of all instructions are such. Behind a transfer that took effect early the core has
    had a cycle without an instruction already, and one more where it lies across two words."""
    found = check(assemble_riscv(program(seed, system=40), SCRIPT), tmp_path)
    for kind, least, exact in (
        (EventKind.SYSTEM_WAIT, 500, 0.9),
        (EventKind.SYSTEM_WAIT_TRANSFER, 20, 0.6),
        (EventKind.SYSTEM_WAIT_CROSSING, 20, 0.7),
    ):
        of_kind = np.concatenate([where for one, where in found.pipeline.events if one is kind])
        own = found.over[of_kind[(of_kind > 0) & (of_kind <= len(found.over))] - 1]
        print(f"{kind.value}: {len(own):,}, {(own == 0).mean():.2%} exact")
        assert len(own) >= least
        assert (own == 0).mean() > exact


@dataclass(frozen=True)
class Found:
    """``over``: cycles by which each instruction takes less than its price, but for the first and
    the last."""

    pipeline: Pipeline
    over: npt.NDArray[np.int64]


def check(elf: Path, folder: Path) -> Found:
    run = bench_run(BOARDS / "a.yaml", elf, folder)
    table = isa.decode_image(load_image(str(elf)))
    pipeline = Pipeline(table, run.address, "vexriscv/imc-zero-wait")
    # The first is reached from reset, and the last is the one before the bench's own.
    over = (pipeline.allowed[:-1] - run.took)[1:-1]
    at = int(over.argmin()) + 1
    told = [table.instructions[int(i)].text for i in pipeline.index[max(0, at - 4) : at + 1]]
    assert over.min() >= 0, (told, int(over.min()), int((over < 0).sum()))
    print(f"{len(over):,} instructions, {(over == 0).mean():.2%} exact, {over.sum():,} over")
    return Found(pipeline, over)
