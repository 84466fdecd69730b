"""Loops of random graphs, natural ones and others, against their definitions by brute force."""

from __future__ import annotations

from itertools import islice

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.model.flow import Edge, EdgeKind
from wcetchar.static.flow.loops import find_loops

SIZES = st.integers(min_value=1, max_value=9)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, tuple[Edge, ...], tuple[int, ...]]:
    """Graphs of which every block is reached from block 0, or from a second entry."""
    count = draw(SIZES)
    pairs = draw(
        st.sets(st.tuples(st.integers(0, count - 1), st.integers(0, count - 1)), max_size=3 * count)
    )
    entries = (0,) if draw(st.booleans()) else tuple({0, draw(st.integers(0, count - 1))})
    reached = reach(entries, pairs, set())
    edges = tuple(
        Edge(a, b, EdgeKind.TAKEN) for a, b in sorted(pairs) if a in reached and b in reached
    )
    return count, edges, tuple(sorted(entries))


def reach(starts: object, pairs: set[tuple[int, int]], without: set[int]) -> set[int]:
    found: set[int] = set()
    waiting = [s for s in starts if s not in without]  # type: ignore[attr-defined]
    while waiting:
        block = waiting.pop()
        if block not in found:
            found.add(block)
            waiting += [b for a, b in pairs if a == block and b not in without]
    return found


@given(graphs())
def test_by_definition(graph: tuple[int, tuple[Edge, ...], tuple[int, ...]]) -> None:
    count, edges, entries = graph
    pairs = {(edge.source, edge.target) for edge in edges}
    everything = reach(entries, pairs, set())

    def dominates(d: int, b: int) -> bool:
        """Without d, b is not reached."""
        return d == b or b not in reach(entries, pairs, {d})

    loops = find_loops(count, edges, entries)
    back = {(a, b) for a, b in pairs if a in everything and dominates(b, a)}
    natural = {loop.header: loop for loop in loops if not loop.others}
    assert len(natural) == sum(not loop.others for loop in loops)
    several = set().union(*(loop.headers for loop in loops if loop.others))
    # What a block dominates that leads back to it is its loop, or of the cycle entered there.
    assert {b for _, b in back} - several == set(natural)
    for header, loop in natural.items():
        assert header not in several
        sources = {a for a, b in back if b == header}
        # What reaches a back edge's source without passing the header.
        inside = {header} | {
            b for b in everything - {header} if reach([b], pairs, {header}) & sources
        }
        assert loop.members == inside
        assert of(loop.back) == {(a, b) for a, b in back if b == header}


def of(edges: tuple[Edge, ...]) -> set[tuple[int, int]]:
    return {(edge.source, edge.target) for edge in edges}


@given(graphs())
def test_nested_with_headers_where_they_are_entered(
    graph: tuple[int, tuple[Edge, ...], tuple[int, ...]],
) -> None:
    count, edges, entries = graph
    pairs = {(edge.source, edge.target) for edge in edges}
    loops = find_loops(count, edges, entries)
    for number, loop in enumerate(loops):
        entered = {(a, b) for a, b in pairs if a not in loop.members and b in loop.members}
        assert of(loop.entries) == entered
        assert loop.headers == {b for _, b in entered} | {*entries} & loop.members
        assert loop.header == min(loop.headers)
        assert all(a in loop.members and b in loop.headers for a, b in of(loop.back))
        around = [o for o in loops if loop.members & o.members and o is not loop]
        assert all(loop.members < o.members or loop.members > o.members for o in around)
        outer = [o for o in around if loop.members < o.members]
        assert all(not loop.members & o.headers for o in outer)
        smallest = min(outer, key=lambda other: len(other.members), default=None)
        assert (None if loop.parent is None else loops[loop.parent]) == smallest
        assert loop.parent is None or loop.parent < number


@given(graphs())
def test_each_cycle_takes_a_back_edge_of_its_innermost_loop(
    graph: tuple[int, tuple[Edge, ...], tuple[int, ...]],
) -> None:
    count, edges, entries = graph
    loops = find_loops(count, edges, entries)
    drawn = nx.DiGraph((edge.source, edge.target) for edge in edges)
    for cycle in islice(nx.simple_cycles(drawn), 500):
        around = [loop for loop in loops if {*cycle} <= loop.members]
        innermost = min(around, key=lambda loop: len(loop.members))
        taken = {*zip(cycle, [*cycle[1:], cycle[0]], strict=True)}
        assert taken & of(innermost.back)


def test_a_cycle_with_two_entries() -> None:
    """By hand: 0 goes to 1 or 2, which go to each other; 2 repeats itself by way of 3."""
    edges = [Edge(*e, EdgeKind.TAKEN) for e in ((0, 1), (0, 2), (1, 2), (2, 1), (2, 3), (3, 2))]
    (loop,) = find_loops(5, [*edges, Edge(1, 4, EdgeKind.NEXT)], (0,))
    assert (loop.header, loop.others, loop.members) == (1, {2}, {1, 2, 3})
    assert of(loop.back) == {(1, 2), (2, 1), (3, 2)}
    assert of(loop.entries) == {(0, 1), (0, 2)}


def test_a_loop_inside_of_a_cycle_with_two_entries() -> None:
    """By hand: 3 is in the cycle of 1 and 2, and repeats itself."""
    edges = [Edge(*e, EdgeKind.TAKEN) for e in ((0, 1), (0, 2), (1, 2), (2, 3), (3, 3), (3, 1))]
    outer, inner = find_loops(4, edges, (0,))
    assert (outer.headers, of(outer.back)) == ({1, 2}, {(1, 2), (3, 1)})
    assert (inner.headers, of(inner.back), inner.parent) == ({3}, {(3, 3)}, 0)
    assert of(inner.entries) == {(2, 3)}
