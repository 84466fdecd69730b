"""Loops and irreducible cycles of random graphs, against their definitions by brute force."""

from __future__ import annotations

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

    loops, irreducible = find_loops(count, edges, entries)
    back = {(a, b) for a, b in pairs if a in everything and dominates(b, a)}
    assert {(e.source, e.target) for loop in loops for e in loop.back} == back
    assert len({loop.header for loop in loops}) == len(loops)
    for number, loop in enumerate(loops):
        header = loop.header
        assert all(edge.target == header for edge in loop.back)
        sources = {a for a, b in back if b == header}
        # What reaches a back edge's source without passing the header.
        inside = {header} | {
            b for b in everything - {header} if reach([b], pairs, {header}) & sources
        }
        assert loop.members == inside
        assert {(e.source, e.target) for e in loop.entries} == {
            (a, b) for a, b in pairs if b == header and a not in inside
        }
        around = [other for other in loops if header in other.members and other is not loop]
        assert all(loop.members < other.members for other in around)
        smallest = min(around, key=lambda other: len(other.members), default=None)
        assert (None if loop.parent is None else loops[loop.parent]) == smallest
        assert loop.parent is None or loop.parent < number
    # Without back edges, what is left of cycles is irreducible, and nothing else is.
    rest = pairs - back
    cyclic = {b for b in everything if b in reach([t for a, t in rest if a == b], rest, set())}
    assert cyclic == set().union(*irreducible) if irreducible else not cyclic
    for part in irreducible:
        for a in part:
            assert part <= reach([a], rest, set())
