"""Paths followed through graphs of hand-written programs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from flow_programs import analysed_in, built

from wcetchar.model.access import AccessVector
from wcetchar.model.flow import EdgeKind
from wcetchar.model.observed import ObservedPath
from wcetchar.static.expand import expand
from wcetchar.static.replay import Astray, Replay

SOURCE = """
.global f
.type f, @function
f:      beqz a0, 1f
        addi sp, sp, -16
        sw ra, 12(sp)
        jal a
f3:     lw ra, 12(sp)
        addi sp, sp, 16
1:      j a
.global a
.type a, @function
a:      mv t1, ra
        jal g
a2:     mv ra, t1
        j h
.global g
.type g, @function
g:      ret
.global h
.type h, @function
h:      ret
"""


def test_control_returns_behind_the_call_that_was_made(tmp_path: Path) -> None:
    """``a`` is called and jumped to, and what it calls is in one context (of one call): in the
    graph a way leads from the one ``a`` into ``g`` and back into the other."""
    made = built(tmp_path, "riscv", SOURCE)
    rows = made.table.instructions
    found = expand(analysed_in(made, made.graph("f")), made.at("f"), depth=1)
    index = {row.address: number for number, row in enumerate(rows)}
    f, a = index[made.at("f")], index[made.at("a")]
    jumped = [f, f + 6, *range(a, a + 2), index[made.at("g")], a + 2, a + 3, index[made.at("h")]]
    taken = [True, True, False, True, True, False, True, True]
    trail = Replay(found).trail(_path(jumped, taken))
    assert not isinstance(trail, Astray)
    calls = []
    for number in trail:
        link = found.links[number]
        if link.site is not None:
            calls.append(link.site)
        elif link.along is not None and link.along.kind is EdgeKind.RETURNED:
            assert calls.pop() == (link.context, link.along.source)
    assert not calls
    assert isinstance(Replay(found).trail(_path(jumped[:-1], taken[:-1])), Astray)


def _path(index: list[int], taken: list[bool]) -> ObservedPath:
    none = np.zeros(len(index), dtype=bool)
    return ObservedPath("f", (), np.array(index), np.array(taken), none, AccessVector())
