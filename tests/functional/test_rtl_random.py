"""Random programs on the core in RTL: no instruction takes longer than its stalls say.

What a kernel's code never does, other code may: these programs put everything behind everything.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from random_rv32 import SCRIPT, program
from rtl_bench import BOARDS, Pipeline, bench_run

from wcetchar import isa
from wcetchar.image import load_image

AT_ONCE, LATER = range(1, 5), range(5, 40)


@pytest.mark.parametrize(
    "seed", [*AT_ONCE, *(pytest.param(seed, marks=pytest.mark.long) for seed in LATER)]
)
def test_no_instruction_takes_longer_than_its_price(
    seed: int, assemble_riscv: Callable[[str, str], Path], tmp_path: Path
) -> None:
    elf = assemble_riscv(program(seed), SCRIPT)
    run = bench_run(BOARDS / "a.yaml", elf, tmp_path)
    table = isa.decode_image(load_image(str(elf)))
    pipeline = Pipeline(table, run.address, "vexriscv/imc-zero-wait")
    # The first is reached from reset, and the last is the one before the bench's own.
    over = (pipeline.allowed[:-1] - run.took)[1:-1]
    at = int(over.argmin()) + 1
    told = [table.instructions[int(i)].text for i in pipeline.index[max(0, at - 4) : at + 1]]
    assert over.min() >= 0, (told, int(over.min()), int((over < 0).sum()))
    print(f"{len(over):,} instructions, {(over == 0).mean():.2%} exact, {over.sum():,} over")
    assert len(over) > 3000
    assert (over == 0).mean() > 0.97
