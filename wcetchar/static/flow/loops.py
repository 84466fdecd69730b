"""Natural loops by dominators, and cycles that are none.

Block d dominates block b if every way from the function's entry to b passes d. A *back edge* goes
to a block that dominates its source; its natural loop is that block, the header, and whatever
reaches the source without passing the header. Loops of the same header are one. A cycle without
back edge has several entries: it is irreducible. Source: A. Aho, M. Lam, R. Sethi and J. Ullman,
"Compilers: Principles, Techniques, and Tools", 2nd edition, 9.6.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import networkx as nx

from wcetchar.model.flow import Edge, Loop

_ROOT = -1
"""Before all entries."""


def find_loops(
    count: int, edges: Iterable[Edge], entries: Iterable[int]
) -> tuple[tuple[Loop, ...], tuple[frozenset[int], ...]]:
    """Loops, outer ones before inner ones, and the blocks of each irreducible cycle."""
    edges = tuple(edges)
    if not _cyclic(count, edges):
        return (), ()
    graph = nx.DiGraph()
    graph.add_node(_ROOT)
    graph.add_edges_from((_ROOT, entry) for entry in entries)
    graph.add_edges_from((edge.source, edge.target) for edge in edges)
    dominator: dict[int, int] = nx.immediate_dominators(graph, _ROOT)
    depth = _depths(dominator)
    back: dict[int, list[Edge]] = {}
    forward = nx.DiGraph()
    forward.add_nodes_from(range(count))
    for edge in edges:
        if edge.source not in dominator:
            continue
        if _dominates(edge.target, edge.source, dominator, depth):
            back.setdefault(edge.target, []).append(edge)
        else:
            forward.add_edge(edge.source, edge.target)
    irreducible = tuple(
        sorted(
            (
                frozenset(part)
                for part in nx.strongly_connected_components(forward)
                if len(part) > 1
            ),
            key=min,
        )
    )
    before: dict[int, list[int]] = {}
    for edge in edges:
        before.setdefault(edge.target, []).append(edge.source)
    members = {
        header: _members(header, (edge.source for edge in found), before)
        for header, found in back.items()
    }
    headers = sorted(members, key=lambda header: (-len(members[header]), header))
    loops = []
    for number, header in enumerate(headers):
        inside = members[header]
        around = [n for n in range(number) if header in members[headers[n]]]
        loops.append(
            Loop(
                header=header,
                back=tuple(sorted(back[header])),
                entries=tuple(
                    sorted(e for e in edges if e.target == header and e.source not in inside)
                ),
                members=inside,
                parent=around[-1] if around else None,
            )
        )
    return tuple(loops), irreducible


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


def _depths(dominator: Mapping[int, int]) -> dict[int, int]:
    """Depth of each block in the tree of dominators."""
    depth = {_ROOT: 0}
    for block in dominator:
        way = []
        while block not in depth:
            way.append(block)
            block = dominator[block]
        for number, step in enumerate(reversed(way), start=depth[block] + 1):
            depth[step] = number
    return depth


def _dominates(
    first: int, second: int, dominator: Mapping[int, int], depth: Mapping[int, int]
) -> bool:
    while depth[second] > depth[first]:
        second = dominator[second]
    return first == second


def _members(
    header: int, sources: Iterable[int], before: Mapping[int, list[int]]
) -> frozenset[int]:
    found = {header}
    stack = list(sources)
    while stack:
        block = stack.pop()
        if block not in found:
            found.add(block)
            stack.extend(before.get(block, ()))
    return frozenset(found)
