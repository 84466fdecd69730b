"""What callers hand over, of one service and then of another."""

from __future__ import annotations

from pathlib import Path

import pytest
from flow_programs import analysed_in, built

from wcetchar.model.expression import Number
from wcetchar.static.callers import Callers
from wcetchar.static.expand import expand
from wcetchar.static.proofs import analysed, proved_bounds

SHARED = """
.syntax unified
.thumb
.global g
.type g, %function
g: push {lr}
   movs r0, #1
   b shared
.global k
.type k, %function
k: push {lr}
   movs r0, #100
shared: bl h
   pop {pc}
.global h
.type h, %function
h: subs r0, #1
   bne h
   bx lr
"""


@pytest.mark.parametrize("order", ["gk", "kg"])
def test_functions_that_share_a_call_hand_over_what_each_has(order: str, tmp_path: Path) -> None:
    """The loop in ``h`` goes back 0 times from ``g``, and 99 from ``k``, whichever is asked for
    first."""
    made = built(tmp_path, "v7m", SHARED)
    graph = made.graph("g", "k")
    values = analysed(graph, made.image, made.table)
    program = analysed_in(made, graph)
    callers = Callers(program, made.image, values, proved_bounds(values), {}, lambda *_: None)
    limits = {}
    for name in order:
        found = expand(program, made.at(name))
        (bounds,) = callers.bounds(callers.values(found, made.at(name))).values()
        limits[name] = [bound.limit for bound in bounds]
    assert limits == {"g": [Number(0)], "k": [Number(99)]}
