"""Graphs of compiled programs: every switch that the compiler made a table of is resolved."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from flow_programs import OPTIONS, built

from wcetchar.model.flow import EdgeKind
from wcetchar.model.instruction import Flow

CASES = 14


TABLE_JUMP = {
    "v7m": r"\n\ttb[bh]\t|\n\tldr\tpc, \[r\d+, r\d+, lsl #2\]",
    "v7em": r"\n\ttb[bh]\t|\n\tldr\tpc, \[r\d+, r\d+, lsl #2\]",
    "v6m": r"\n\tbl\t__gnu_thumb1_case_|\n\tmov\tpc, r\d",
    "thumb": r"\n\tbl\t__gnu_thumb1_case_|\n\tmov\tpc, r\d",
    "arm": r"\n\tldrls\tpc, \[pc",
    "riscv": r"\n\tjr\t(?!ra|t1)",
}
"""How the compiler's text jumps through tables."""


def switches(seed: int) -> str:
    """C functions with dense switches of random ranges, in loops and behind other conditions."""
    draw = random.Random(seed)
    parts = ["extern int sink(int);", "int sink(int x) { return x * 3; }"]
    for number in range(CASES):
        low = draw.choice([0, 0, 1, 7, -4, 100])
        count = draw.randint(5, 24)
        kind = draw.choice(["unsigned", "int"])
        element = draw.choice(["unsigned", "int", "unsigned char", "short"])
        holes = set(draw.sample(range(count), draw.randint(0, count // 4)))
        lines = [
            f"  case {low + k}: y = sink(y + {draw.randint(1, 999)}); "
            + draw.choice(["break;", "break;", "/* falls */", "return y;"])
            for k in range(count)
            if k not in holes
        ]
        loop = draw.choice(["", "for (int i = 0; i < n; i++) "])
        guard = draw.choice(["", "if (n > 3) "])
        subject = draw.choice(["x", "p[n]", "(x & 127)", "sink(x)", "(unsigned)x >> 3"])
        parts.append(
            f"int f{number}({kind} x, int n, const {element} *p) {{ int y = n;\n"
            f" {loop}{guard}switch ({subject}) {{\n" + "\n".join(lines) + "\n  default: y ^= 5; }\n"
            " return sink(y); }"
        )
    return "\n".join(parts)


@pytest.mark.parametrize("optimization", ["-O0", "-O1", "-O2", "-Os"])
@pytest.mark.parametrize("target", sorted(OPTIONS))
@pytest.mark.parametrize("seed", [1, 2])
def test_switches(target: str, optimization: str, seed: int, tmp_path: Path) -> None:
    program = built(
        tmp_path,
        target,
        switches(seed),
        c=True,
        more=[optimization, "-fno-inline"],
    )
    names = [f"f{number}" for number in range(CASES)]
    graph = program.graph(*names)
    ends = [(n, end) for n in names for end in program.function(graph, n).open]
    assert not ends
    # Each table that the compiler made is a jump with several targets.
    text = subprocess.run(
        [*OPTIONS[target], optimization, "-fno-inline", "-S", "-o", "-", "program.c"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    tables = len(re.findall(TABLE_JUMP[target], text))
    wide = sum(
        len({e.target for e in edges if e.kind is not EdgeKind.NEXT}) > 2
        for n in names
        for edges in program.function(graph, n).successors.values()
    )
    # One that comparisons before it contradict is not reached (an unsigned value below 0).
    rows = program.table.instructions
    dead = sum(
        rows[function.blocks[number].last].flow in (Flow.JUMP_INDIRECT, Flow.JUMP_TABLE)
        for function in (program.function(graph, name) for name in names)
        for number in function.stops
    )
    assert tables >= CASES // 2
    assert wide + dead == tables
    assert dead <= 1
