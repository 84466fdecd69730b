"""Bounds of loops as constraints, held against paths that are counted by label."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from flow_programs import Program as Assembled
from flow_programs import analysed_in, built

from wcetchar import formula
from wcetchar.model.expression import Number
from wcetchar.model.path_model import OUTSIDE, FlowConstraint, Origin
from wcetchar.static.expand import Cuts, Expanded, expand
from wcetchar.static.loop_constraints import (
    Bound,
    constraints,
    functions_begun,
    turned_within,
    turns,
)
from wcetchar.static.split import split

NESTED = """
.global main
.type main, %function
main:   push {r4, lr}
        bl f
        bl f
        pop {r4, pc}
.global f
.type f, %function
f:      push {r4, lr}
outer:  movs r1, #3
inner:  subs r1, r1, #1
        cmp r1, r2
        bne inner
        bl g
        subs r0, r0, #1
        bne outer
        pop {r4, pc}
.global g
.type g, %function
g:      nop
middle: nop
        bx lr
"""


def expanded(made: Assembled, cut: str | None = None, depth: int | None = None) -> Expanded:
    """All paths of ``main``, or of the part that begins at a label."""
    rows = made.table.instructions
    index = {row.address: number for number, row in enumerate(rows)}
    at = frozenset[int]() if cut is None else frozenset({index[made.at(cut)]})
    program = analysed_in(made, split(made.graph("main"), {n - 1 for n in at}))
    cuts = None if cut is None else Cuts(begins=at)
    return expand(program, made.at("main"), cuts, depth=depth)


def paths(found: Expanded, longest: int) -> Iterator[tuple[list[int], list[int]]]:
    """Every path of at most so many links: its links, and the blocks' first instructions."""
    behind: dict[int, list[int]] = {}
    for number, one in enumerate(found.links):
        behind.setdefault(one.source, []).append(number)
    left: list[tuple[int, list[int]]] = [(OUTSIDE, [])]
    while left:
        step, trail = left.pop()
        if trail and step == OUTSIDE:
            yield trail, [first_of(found, found.links[link].target) for link in trail[:-1]]
        elif len(trail) < longest:
            left += [(found.links[link].target, [*trail, link]) for link in behind.get(step, ())]


def first_of(found: Expanded, step: int) -> int:
    one = found.steps[step]
    row = found.function_of(one.context).blocks[one.block].first
    return found.program.table.instructions[row].address


def keeps(trail: list[int], constraint: FlowConstraint) -> bool:
    weights = {link: formula.evaluate(k, {}) for link, k in constraint.coefficients.items()}
    total = sum(weights.get(link, 0) for link in trail)
    return total <= formula.evaluate(constraint.limit, {})


def loops_of(found: Expanded, made: Assembled) -> tuple[int, int]:
    """Numbers of the outer and of the inner loop of `f`."""
    loops = found.program.graph.functions[made.at("f")].loops
    by_size = sorted(range(len(loops)), key=lambda n: -len(loops[n].members))
    assert len(by_size) == 2
    return by_size[0], by_size[1]


@pytest.mark.parametrize("limit", [0, 1, 2, 3])
def test_rounds_each_time_that_a_loop_around_is_entered(tmp_path: Path, limit: int) -> None:
    made = built(tmp_path, "v7m", NESTED)
    found = expanded(made)
    outer, inner = loops_of(found, made)
    bound = Bound(Number(limit), Origin.AUTOMATIC, within=outer)
    known = {(made.at("f"), inner): [bound], (made.at("f"), outer): []}
    made_of = [one for one in constraints(found, known, str, {}) if isinstance(one, FlowConstraint)]
    assert len(made_of) == 2, "one for each context of f"
    turned = turns(found)
    contexts = [n for n in range(len(found.contexts)) if found.function_of(n).name == "f"]
    seen: set[bool] = set()
    most = 0
    for trail, blocks in paths(found, 26):
        counts = backs(made, blocks)
        assert len(counts) == 2
        fits = all(count <= limit for count in counts)
        assert all(keeps(trail, one) for one in made_of) == fits
        assert counts == [turned_within(trail, turned, inner, (one, outer)) for one in contexts]
        seen.add(fits)
        most = max(most, *counts)
    assert seen == {True, False}
    assert most > limit


def backs(made: Assembled, blocks: list[int]) -> list[int]:
    """Each time that `f` is entered, how often its inner loop goes back, by the blocks passed."""
    result: list[int] = []
    before = 0
    for one in blocks:
        if one == made.at("f"):
            result.append(0)
        elif one == made.at("inner") and before == made.at("inner"):
            result[-1] += 1
        before = one
    return result


def test_what_a_part_begins_in_was_called_before(tmp_path: Path) -> None:
    made = built(tmp_path, "v7m", NESTED)
    at = {name: made.at(name) for name in ("main", "f", "g")}
    assert functions_begun(expanded(made)) == {at["main"]}
    assert functions_begun(expanded(made, "middle")) == set(at.values())
    assert functions_begun(expanded(made, "outer")) == {at["main"], at["f"]}
    assert functions_begun(expanded(made, "middle", depth=0)) == set(at.values())
