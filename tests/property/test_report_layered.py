"""Layouts of flow graphs: laws that a reader relies on, for any graph."""

from __future__ import annotations

import itertools

import networkx
from hypothesis import example, given
from hypothesis import strategies as st

from wcetchar.report.layered import Box, Layout, Link, Route
from wcetchar.report.layered_place import layout_of

Graph = tuple[list[Box], list[Link]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    sizes = st.tuples(st.integers(20, 300), st.integers(20, 120))
    boxes = []
    for width, height in draw(st.lists(sizes, min_size=1, max_size=18)):
        port = st.none() | st.integers(0, width)
        boxes.append(Box(width, height, draw(port), draw(port)))
    ends = st.integers(0, len(boxes) - 1)
    pairs = draw(st.lists(st.tuples(ends, ends), max_size=36, unique=True))
    return boxes, [Link(a, b, draw(st.sampled_from((1, 12, 32)))) for a, b in pairs]


def points(route: Route) -> list[tuple[float, float]]:
    """Many along the way, curves by their equations."""
    at, found = route.start, [(float(route.start[0]), float(route.start[1]))]
    for _, values in route.commands:
        knots = [at, *zip(values[::2], values[1::2], strict=True)]
        for step in range(1, 21):
            t, now = step / 20, [(float(x), float(y)) for x, y in knots]
            while len(now) > 1:  # de Casteljau
                now = [
                    (a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t)
                    for a, b in itertools.pairwise(now)
                ]
            found.append(now[0])
        at = knots[-1]
    return found


def check(boxes: list[Box], links: list[Link], layout: Layout) -> None:
    placed = [
        (x, y, x + b.width, y + b.height) for (x, y), b in zip(layout.corners, boxes, strict=True)
    ]
    for one, other in itertools.combinations(placed, 2):
        apart = one[2] < other[0] or other[2] < one[0] or one[3] < other[1] or other[3] < one[1]
        assert apart, "two boxes overlap"
    for x1, y1, x2, y2 in placed:
        assert 0 <= x1 <= x2 <= layout.width
        assert 0 <= y1 <= y2 <= layout.height
    forward = networkx.DiGraph()
    for link, route in zip(links, layout.routes, strict=True):
        left, _, right, bottom = placed[link.source]
        assert route.start[1] == bottom
        assert left <= route.start[0] <= right
        left, top, right, _ = placed[link.target]
        assert route.end[1] == top
        assert left <= route.end[0] <= right
        for x, y in points(route):
            assert 0 <= x <= layout.width
            for x1, y1, x2, y2 in placed:
                assert not (x1 < x < x2 and y1 < y < y2), "an edge is hidden by a box"
        if not route.back:
            forward.add_edge(link.source, link.target)
            assert layout.layers[link.source] < layout.layers[link.target]
    assert networkx.is_directed_acyclic_graph(forward)
    for one, other in itertools.combinations(range(len(boxes)), 2):
        if layout.layers[one] < layout.layers[other]:
            assert placed[one][3] < placed[other][1], "layers are in order"


@example(([Box(20, 20)], [Link(0, 0)]))
@example(([Box(40, 20)] * 3, [Link(0, 1), Link(1, 0), Link(1, 2), Link(2, 1), Link(0, 2)]))
@given(graphs())
def test_boxes_apart_and_edges_between_their_borders(graph: Graph) -> None:
    boxes, links = graph
    layout = layout_of(boxes, links)
    check(boxes, links, layout)
    assert layout_of(boxes, links) == layout


@given(graphs())
def test_the_first_box_is_on_top_and_the_last_at_the_bottom(graph: Graph) -> None:
    boxes, links = graph
    boxes = [Box(60, 20), *boxes, Box(60, 20)]
    end = len(boxes) - 1
    links = [Link(a.source + 1, a.target + 1, a.weight) for a in links]
    links = [Link(0, 1), *links, Link(end - 1, end)]
    layout = layout_of(boxes, links, 0, end)
    check(boxes, links, layout)
    assert [n for n, layer in enumerate(layout.layers) if layer == 0] == [0]
    assert [n for n, at in enumerate(layout.layers) if at == max(layout.layers)] == [end]


def test_an_acyclic_graph_has_no_back_edges() -> None:
    links = [Link(a, b) for a, b in itertools.combinations(range(8), 2)]
    assert not any(route.back for route in layout_of([Box(50, 20)] * 8, links).routes)


def test_a_loop_goes_up_on_its_right_and_is_left_below_it() -> None:
    boxes = [Box(100, 20)] * 4  # before, header, body, after
    links = [Link(0, 1, 32), Link(1, 2, 32), Link(2, 1, 32), Link(1, 3, 12)]
    layout = layout_of(boxes, links)
    assert [route.back for route in layout.routes] == [False, False, True, False]
    assert list(layout.layers) == [0, 1, 2, 3]
    right = max(x for x, _ in layout.corners) + 100
    assert max(x for x, _ in points(layout.routes[2])) > right
    assert len({x for x, _ in layout.corners}) == 1  # the four are exactly below each other
