"""Figures of worst paths: every block and edge is drawn, nothing over anything else."""

from __future__ import annotations

import itertools
from collections import Counter

import path_samples as samples
import pytest

from wcetchar.report.paths_boxes import content_of, groups_of, letters, shortened
from wcetchar.report.paths_graph import BOXES, Figure, figures_of
from wcetchar.report.paths_view import PathRows, rows_of


def check(rows: PathRows, figures: tuple[Figure, ...]) -> None:
    drawn = Counter(n for figure in figures for box in figure.boxes for n in box.blocks)
    assert drawn == dict.fromkeys(range(len(rows.blocks)), 1), "each block in one box"
    _, inner = groups_of(rows)
    edges = {n for figure in figures for edge in figure.edges for n in edge.edges}
    assert edges | inner == set(range(len(rows.edges))), "each edge is drawn"
    called = [box.activation for f in figures for box in f.boxes if box.kind == "call"]
    assert sorted(called) == sorted(f.shows.number for f in figures[1:] if f.shows is not None)
    for figure in figures:
        boxes = [(b.x, b.y, b.x + b.width, b.y + b.height) for b in figure.boxes]
        frames = [(c.x, c.y, c.x + c.width, c.y + c.height) for c in figure.clusters]
        for x1, y1, x2, y2 in [*boxes, *frames]:
            assert 0 <= x1 < x2 <= figure.width
            assert 0 <= y1 < y2 <= figure.height
        for a, b in itertools.combinations(boxes, 2):
            assert apart(a, b)
        for a, b in itertools.combinations(frames, 2):
            assert apart(a, b) or within(a, b) or within(b, a)
        for a, b in itertools.product(boxes, frames):
            assert apart(a, b) or within(a, b)


Rectangle = tuple[int, int, int, int]


def apart(a: Rectangle, b: Rectangle) -> bool:
    return a[2] < b[0] or b[2] < a[0] or a[3] < b[1] or b[3] < a[1]


def within(a: Rectangle, b: Rectangle) -> bool:
    return b[0] <= a[0] and b[1] <= a[1] and a[2] <= b[2] and a[3] <= b[3]


@pytest.mark.parametrize("flow", [True, False])
@pytest.mark.parametrize("nodes", [1, 5, 20, 60, 150])
def test_random_services(nodes: int, flow: bool) -> None:
    for seed in range(3):
        rows = rows_of(samples.grown(seed, nodes).view(flow=flow))
        check(rows, figures_of(rows))
        check(rows, figures_of(rows, most=6))


def test_two_thousand_blocks_in_one_function() -> None:
    b = samples.grown(3, 2000, flat=True)
    rows = rows_of(b.view())
    assert len(rows.activations) == 1
    figures = figures_of(rows)
    check(rows, figures)
    assert len(figures) > 1, "blocks beside the worst path are folded"
    for figure in figures[1:]:
        assert not any(box.content.on_path for box in figure.boxes)


def test_small_services_are_one_figure() -> None:
    for built in (samples.small(), samples.malloc()):
        rows = rows_of(built.view())
        (figure,) = figures_of(rows)
        check(rows, (figure,))
        assert figure.whole
        assert len(figure.boxes) <= BOXES


def test_pieces_of_an_edge_meet_at_the_border() -> None:
    rows = rows_of(samples.malloc().view())
    (figure,) = figures_of(rows)
    call = next(n for n, e in enumerate(rows.edges) if e.source == 0)  # of vTaskSuspendAll
    outer, inner = (e for e in figure.edges if call in e.edges)
    if outer.start[1] > inner.start[1]:
        outer, inner = inner, outer
    cluster = next(c for c in figure.clusters if c.heading.startswith("vTaskSuspendAll"))
    assert outer.commands[-1][1][-1] == cluster.y
    assert outer.commands[-1][1][-2] == inner.start[0]
    assert cluster.y < inner.start[1] < cluster.y + cluster.height


def test_chains_share_a_box_unless_traces_differ() -> None:
    b = samples.Builder()
    nodes = [b.node("f", n + 1, offset=n, seen=n < 2) for n in range(4)]
    b.edge(-1, nodes[0], 1)
    b.edge(nodes[0], nodes[1], 1)
    b.edge(nodes[1], nodes[2], 1, seen=False)
    b.edge(nodes[2], nodes[3], 1, seen=False)
    b.edge(nodes[3], -1, 1, seen=False)
    rows = rows_of(b.view())
    groups, inner = groups_of(rows)
    assert [group.blocks for group in groups] == [(0, 1), (2, 3)]
    assert inner == {1, 3}
    content = content_of(rows, groups[0])
    assert content.heading == "a.c:1–2"
    assert content.figures == "×1  20 ns  50.0 %"


def test_long_texts() -> None:
    assert shortened("abcdef", 6) == "abcdef"
    assert shortened("abcdefg", 6) == "abcde…"
    assert letters("変数") == 4
    assert letters(shortened("変" * 50, 11)) <= 11
