"""Blocks cut in two behind given instructions, so that parts of services begin and end there."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from wcetchar.model.flow import BasicBlock, Edge, EdgeKind, FunctionGraph, Loop, ProgramGraph


def split(program: ProgramGraph, behind: Collection[int]) -> ProgramGraph:
    """``behind``: table indices of instructions; each of them ends a block in the result.

    Where the instruction is in no block, nothing is cut.
    """
    return replace(
        program,
        functions={at: _split(one, frozenset(behind)) for at, one in program.functions.items()},
    )


def _split(function: FunctionGraph, behind: frozenset[int]) -> FunctionGraph:
    blocks: list[BasicBlock] = []
    head: list[int] = []  # number of the first and the last piece of each block
    tail: list[int] = []
    inner: list[Edge] = []
    for block in function.blocks:
        head.append(len(blocks))
        begin = block.first
        for last in range(block.first, block.last + 1):
            if last == block.last or last in behind:
                skipped = frozenset(i for i in block.skipped if begin <= i <= last)
                if begin != block.first:
                    inner.append(Edge(len(blocks) - 1, len(blocks), EdgeKind.NEXT))
                blocks.append(BasicBlock(begin, last, skipped))
                begin = last + 1
        tail.append(len(blocks) - 1)
    if len(blocks) == len(function.blocks):
        return function

    def moved(edge: Edge) -> Edge:
        return Edge(tail[edge.source], head[edge.target], edge.kind)

    def pieces(numbers: frozenset[int]) -> frozenset[int]:
        return frozenset(n for one in numbers for n in range(head[one], tail[one] + 1))

    return replace(
        function,
        blocks=tuple(blocks),
        edges=tuple(sorted([*map(moved, function.edges), *inner])),
        entries=tuple(head[n] for n in function.entries),
        transfers=tuple(replace(t, block=tail[t.block]) for t in function.transfers),
        returns=tuple(tail[n] for n in function.returns),
        stops=tuple(tail[n] for n in function.stops),
        loops=tuple(
            Loop(
                head[loop.header],
                tuple(map(moved, loop.back)),
                tuple(map(moved, loop.entries)),
                pieces(loop.members),
                loop.parent,
                frozenset(head[n] for n in loop.others),
            )
            for loop in function.loops
        ),
    )
