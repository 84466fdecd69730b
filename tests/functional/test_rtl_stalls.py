"""The core in RTL, instruction by instruction, against stalls and the profile that prices them.

With ideal caches and memories without wait states, the time between two instructions that retire
is that of the pipeline alone. For each of them, in a run of the whole FreeRTOS firmware, what the
profile says may not be less than what the core took, and for nearly all of them it is just that.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from rtl_bench import BOARDS, Numbers, Pipeline, bench_run, firmware

from wcetchar import isa
from wcetchar.image import load_image


@pytest.mark.parametrize(
    "folder", ["freertos-virt", pytest.param("freertos-virt-full", marks=pytest.mark.long)]
)
def test_no_instruction_takes_longer_than_its_price(folder: str, tmp_path: Path) -> None:
    elf = firmware(folder)
    run = bench_run(BOARDS / "a.yaml", elf, tmp_path)
    table = isa.decode_image(load_image(str(elf)))
    pipeline = Pipeline(table, run.address, "vexriscv/imc-zero-wait")
    took, allowed = run.took, pipeline.allowed
    over = allowed[:-1] - took
    counted = ~pipeline.breakpoints
    short = np.flatnonzero(counted & (over < 0))
    assert not len(short), _place(pipeline, took, int(short[0]))
    assert counted.sum() > 1_300_000
    inside = counted & ~pipeline.trapped
    exact = (over[inside] == 0).mean()
    print(f"{inside.sum():,} instructions, {exact:.2%} exact, {over[inside].sum():,} cycles over")
    assert exact > 0.99
    assert over[inside].sum() < 0.005 * took[inside].sum()


def _place(pipeline: Pipeline, took: Numbers, at: int) -> str:
    lines = [
        f"{pipeline.table.instructions[int(pipeline.index[i])].text}: took {took[i]}, "
        f"allowed {pipeline.allowed[i]}"
        for i in range(max(0, at - 4), at + 1)
    ]
    return "\n".join(lines)
