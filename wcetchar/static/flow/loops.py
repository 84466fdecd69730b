"""Loops: natural ones, and cycles with several entries.

Blocks that all reach each other are a strongly connected component. Where it is entered at one
block, the *header*, it is a natural loop: the header dominates its blocks, and its *back edges* are
those from inside to the header (A. Aho, M. Lam, R. Sethi and J. Ullman, "Compilers: Principles,
Techniques, and Tools", 2nd edition, 9.6). Where it is entered at several blocks, it is irreducible;
then each of these is a header, and edges from inside to any of them are back edges. The components
that are left without the back edges are the loops inside of it. Source: B. Steensgaard,
"Sequentializing Program Dependence Graphs for Irreducible Programs", MSR-TR-93-14, 1993; compared
with others by G. Ramalingam, "On Loops, Dominators, and Dominance Frontiers", TOPLAS 24(5), 2002.

So every cycle has a back edge of the innermost loop that has all its blocks: if each loop's back
edges are taken so many times for each time that it is entered, a path has an end. No header of a
loop is in a loop inside of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import networkx as nx

from wcetchar.model.flow import Edge, Loop


def find_loops(count: int, edges: Iterable[Edge], entries: Iterable[int]) -> tuple[Loop, ...]:
    """Loops, outer ones before inner ones. ``entries``: blocks that the function begins with, of
    which all others are reached."""
    edges = tuple(edges)
    if not _cyclic(count, edges):
        return ()
    begins = frozenset(entries)
    arriving: dict[int, list[Edge]] = {}
    for edge in edges:
        arriving.setdefault(edge.target, []).append(edge)
    found: list[Loop] = []
    left: list[tuple[Sequence[Edge], int | None]] = [(edges, None)]
    while left:
        among, parent = left.pop()
        for members in _components(among):
            entering = [e for b in members for e in arriving[b] if e.source not in members]
            headers = {e.target for e in entering} | begins & members
            inside = [e for e in among if e.source in members and e.target in members]
            left.append(([e for e in inside if e.target not in headers], len(found)))
            header = min(headers)
            found.append(
                Loop(
                    header=header,
                    back=tuple(sorted(e for e in inside if e.target in headers)),
                    entries=tuple(sorted(entering)),
                    members=members,
                    parent=parent,
                    others=frozenset(headers - {header}),
                )
            )
    return _ordered(found)


def _components(edges: Sequence[Edge]) -> list[frozenset[int]]:
    """Sets of blocks that reach each other, and themselves."""
    if not edges:
        return []
    graph = nx.DiGraph((edge.source, edge.target) for edge in edges)
    return [
        frozenset(part)
        for part in nx.strongly_connected_components(graph)
        if len(part) > 1 or any(graph.has_edge(block, block) for block in part)
    ]


def _ordered(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """Larger ones first; parents, which are numbers in ``loops``, renumbered."""
    order = sorted(range(len(loops)), key=lambda n: (-len(loops[n].members), loops[n].header))
    place = {old: new for new, old in enumerate(order)}
    return tuple(
        replace(loop, parent=None if loop.parent is None else place[loop.parent])
        for loop in (loops[old] for old in order)
    )


def _cyclic(count: int, edges: Iterable[Edge]) -> bool:
    """There is a cycle: not all blocks can be put in order (Kahn 1962)."""
    after: dict[int, list[int]] = {}
    arriving = [0] * count
    for edge in edges:
        after.setdefault(edge.source, []).append(edge.target)
        arriving[edge.target] += 1
    ready = [number for number in range(count) if not arriving[number]]
    left = count
    while ready:
        left -= 1
        for target in after.get(ready.pop(), ()):
            arriving[target] -= 1
            if not arriving[target]:
                ready.append(target)
    return left > 0
