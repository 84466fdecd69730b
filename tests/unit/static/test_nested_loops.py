"""Bounds of loops that depend on the counter of the loop around, against counting."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from wcetchar.formula import evaluate
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.static.flow.graph import program_graph
from wcetchar.static.proofs import analysed
from wcetchar.static.values.loop_bounds import derive_bounds

Assemble = Callable[..., Path]

NEST = """
.global f
.type f, %function
f: {first}
1: {outer}
   {start}
2: {inner}
   {step}
   b 2b
3: {more}
   b 1b
4: bx lr
.size f, .-f
"""


def triangle(n: int) -> Iterator[int]:
    yield from range(n)


def above(n: int) -> Iterator[int]:
    yield from (n - i - 1 for i in range(n))


def by_three(n: int) -> Iterator[int]:
    yield from (i // 3 for i in range(n))


def behind_one(n: int) -> Iterator[int]:
    yield from (max(0, i - 1) for i in range(n))


def down(n: int) -> Iterator[int]:
    yield from range(n, 0, -1)


UP = {"first": "movs r1, #0", "outer": "cmp r1, r0\nbhs 4f", "more": "adds r1, #1"}


@pytest.mark.parametrize(
    ("counts", "exact", "parts"),
    [
        (
            triangle,
            True,
            UP | {"start": "movs r2, #0", "inner": "cmp r2, r1\nbhs 3f", "step": "adds r2, #1"},
        ),
        (
            above,
            True,
            UP | {"start": "adds r2, r1, #1", "inner": "cmp r2, r0\nbhs 3f", "step": "adds r2, #1"},
        ),
        (
            by_three,
            False,
            UP | {"start": "mov r2, r1", "inner": "cmp r2, #2\nbls 5f", "step": "subs r2, #3"}
            | {"more": "5: adds r1, #1"},
        ),
        (
            behind_one,
            True,
            UP | {"start": "movs r2, #1", "inner": "cmp r2, r1\nbhs 3f", "step": "adds r2, #1"},
        ),
        (
            down,
            True,
            {
                "first": "mov r1, r0",
                "outer": "cbz r1, 4f",
                "more": "subs r1, #1",
                "start": "mov r2, r1",
                "inner": "cbz r2, 3f",
                "step": "subs r2, #1",
            },
        ),
    ],
)  # fmt: skip
def test_each_and_in_all(
    assemble: Assemble,
    counts: Callable[[int], Iterator[int]],
    exact: bool,
    parts: dict[str, str],
) -> None:
    image = load_image(assemble(NEST.format(**parts)))
    table = decode_image(image)
    address = image.symbol("f").address
    graph = program_graph(image, table, [address])
    values = analysed(graph, image, table)[address]
    loops = values.graph.loops
    bounds = derive_bounds(values, {0: "n"})
    outer, inner = sorted(range(2), key=lambda number: len(loops[number].members), reverse=True)
    assert bounds[inner].total is not None
    assert bounds[inner].total[0] == outer
    for n in range(12):
        all_of = [*counts(n)]
        each = max(0, evaluate(bounds[inner].limit, {"n": n}))
        total = max(0, evaluate(bounds[inner].total[1], {"n": n}))
        assert each >= max(all_of, default=0), n
        assert total >= sum(all_of), n
        if exact:
            assert (each, total) == (max(all_of, default=0), sum(all_of)), n
