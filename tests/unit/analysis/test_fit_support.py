"""The parts of the search, each against brute force over fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from wcetchar.analysis.fitting.bounds import ends, never_negative, probes
from wcetchar.analysis.fitting.features import features
from wcetchar.analysis.fitting.search import Screen
from wcetchar.analysis.fitting.support import (
    basis_rows,
    inverse,
    survives_loss_of_two,
    untested_interactions,
)
from wcetchar.formula import evaluate, evaluate_many, parse, to_text

untimed = settings(deadline=None)


def _rank(rows: list[list[int]]) -> int:
    work = [[Fraction(value) for value in row] for row in rows]
    rank = 0
    for column in range(len(work[0]) if work else 0):
        pivot = next((r for r in range(rank, len(work)) if work[r][column]), None)
        if pivot is None:
            continue
        work[rank], work[pivot] = work[pivot], work[rank]
        for r in range(rank + 1, len(work)):
            factor = work[r][column] / work[rank][column]
            work[r] = [a - factor * b for a, b in zip(work[r], work[rank], strict=True)]
        rank += 1
    return rank


@st.composite
def _tables(draw: st.DrawFn, most_rows: int = 9) -> list[list[int]]:
    width = draw(st.integers(1, 4))
    small = st.integers(-2, 3)
    rows = draw(st.lists(st.lists(small, min_size=width, max_size=width), max_size=most_rows))
    return [[1, *row[1:]] for row in rows]


@untimed
@given(_tables())
def test_loss_of_any_two_rows(rows: list[list[int]]) -> None:
    assume(rows)
    width = len(rows[0])
    left = [
        [row for i, row in enumerate(rows) if i not in lost]
        for lost in combinations(range(len(rows)), min(2, len(rows)))
    ]
    expected = len(rows) >= 2 and all(_rank(rest) == width for rest in left)
    assert survives_loss_of_two(np.array(rows, dtype=np.int64)) == expected


@untimed
@given(_tables())
def test_basis_rows_and_inverse(rows: list[list[int]]) -> None:
    assume(rows)
    width = len(rows[0])
    basis = basis_rows(np.array(rows, dtype=np.int64))
    assert (basis is not None) == (_rank(rows) == width)
    if basis is not None:
        square = [rows[i] for i in basis]
        inverted = inverse(square)
        for i, row in enumerate(square):
            for j in range(width):
                assert sum(row[k] * inverted[k][j] for k in range(width)) == (i == j)


@untimed
@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1))
def test_interactions(pairs: set[tuple[int, int]]) -> None:
    points = sorted(pairs)
    varied = all(len(set(axis)) > 1 for axis in zip(*points, strict=True))
    # Additive functions f(p) + g(q) reach every vector of counts: then nothing was tested.
    incidence = [
        [int(p == v) for v in range(5)] + [int(q == v) for v in range(5)] for p, q in points
    ]
    untested = varied and _rank(incidence) == len(points)
    assert list(untested_interactions(np.array(points))) == ([(0, 1)] if untested else [])


@st.composite
def _systems(draw: st.DrawFn) -> tuple[list[list[int]], list[int], int]:
    """Features, and counts that are a combination of a few of them (or nearly so)."""
    width = draw(st.integers(5, 9))
    column = st.lists(st.integers(-3, 4), min_size=width, max_size=width)
    columns = [c for c in draw(st.lists(column, min_size=3, max_size=8)) if len(set(c)) > 1]
    assume(len(columns) >= 3)
    terms = draw(st.integers(1, 3))
    chosen = draw(st.permutations(range(len(columns))))[:terms]
    factors = draw(st.lists(st.integers(-4, 4), min_size=terms, max_size=terms))
    counts = [
        7 + sum(f * columns[c][i] for f, c in zip(factors, chosen, strict=True))
        for i in range(width)
    ]
    counts[draw(st.integers(0, width - 1))] += draw(st.sampled_from([0, 0, 1]))
    return columns, counts, terms


@untimed
@given(_systems())
def test_screen_loses_no_combination(system: tuple[list[list[int]], list[int], int]) -> None:
    columns, counts, terms = system
    assume(len(set(counts)) > 1)
    screen = Screen(np.array(columns, dtype=np.int64))
    found = {
        frozenset(screen.members[group][0] for group in groups)
        for groups in screen.combinations(np.array(counts, dtype=np.int64), terms)
    }
    first = [members[0] for members in screen.members]
    ones = [1] * len(counts)
    for chosen in combinations(first, terms):
        free = [ones, *(columns[c] for c in chosen)]
        fewer = any(
            _rank([ones, *(columns[c] for c in part), counts])
            == _rank([ones, *(columns[c] for c in part)])
            for size in range(terms)
            for part in combinations(chosen, size)
        )
        if _rank(free) == terms + 1 and _rank([*free, counts]) == terms + 1 and not fewer:
            assert frozenset(chosen) in found
    for one, other in combinations(range(len(columns)), 2):
        together = any(one in members and other in members for members in screen.members)
        assert together == (_rank([ones, columns[one], columns[other]]) == 2)


@pytest.mark.parametrize(
    ("points", "ranges"),
    [
        ([(n,) for n in range(1, 17)], [(1, 16)]),
        ([(n,) for n in (0, 1, 2, 5, 9, 64, 300)], [(0, 400)]),
        ([(n,) for n in range(-20, 21)], [(-20, 20)]),
        ([(n, q) for n in range(1, 6) for q in range(13)], [(1, 6), (0, 12)]),
        ([(n, q) for n in (-3, -1, 0, 2) for q in (-7, 0, 1, 9)], [(-4, 4), (-9, 9)]),
    ],
)
def test_features_are_what_their_expressions_say(
    points: list[tuple[int, ...]], ranges: list[tuple[int, int]]
) -> None:
    names = ("N", "q")[: len(ranges)]
    table = np.array(points)
    found, columns = features(names, table, probes(table, ranges), ranges)
    assert len(found) > 20
    for feature, column in zip(found, columns, strict=True):
        text = to_text(feature.expression)
        assert parse(text) == feature.expression
        values = [
            evaluate(feature.expression, dict(zip(names, point, strict=True))) for point in points
        ]
        assert values == column.tolist(), text
        if feature.complement is not None and not feature.first_value:
            for point, value in zip(points, values, strict=True):
                assert (
                    evaluate(feature.complement, dict(zip(names, point, strict=True))) == 1 - value
                )


_SHAPES = [
    "N - 4*floor(N/4)",
    "4*ceil(N/4) - N",
    "N*N - q",
    "N*(N - 1)",
    "N*(N + 1) - 2",
    "floor(q*(q - 1)/2)",
    "N*q",
    "q*(N > 2) - N",
    "min(N, 3)*max(q, -1)",
    "max(0, N - q)",
    "-N + 3*floor(q/2)",
    "ceil(N/3)*floor(log2(q))",
    "ceil((N - 7)/4 + q/3)",
    "7 - 2*N",
    "(N - 2)*(q + 3)",
    "2*floor(N/4) - q",
]


@untimed
@given(
    st.sampled_from(_SHAPES),
    st.tuples(st.integers(-6, 6), st.integers(0, 8)),
    st.tuples(st.integers(-6, 6), st.integers(0, 8)),
)
def test_intervals_hold_every_value(
    text: str, first: tuple[int, int], second: tuple[int, int]
) -> None:
    tree = parse(text)
    ranges = {"N": (first[0], sum(first)), "q": (second[0], sum(second))}
    points = probes(np.array([[first[0], second[0]]]), list(ranges.values()))
    values = evaluate_many(tree, {"N": points[:, 0], "q": points[:, 1]})
    assert len(points) == (first[1] + 1) * (second[1] + 1)
    low, high = ends(tree, ranges)
    assert low is None or low <= values.min()
    assert high is None or values.max() <= high
    assert never_negative(tree, ranges) == (values.min() >= 0)
    low, high = ends(tree, {name: (least, None) for name, (least, _) in ranges.items()})
    assert low is None or low <= values.min()
    assert high is None or values.max() <= high


def test_wide_ranges_need_a_proof() -> None:
    wide = {"N": (1, 2**40), "q": (0, None)}
    for text in ("N - 1", "3*N - 3", "N + q - 1", "N - 4*floor(N/4)", "N*(N - 1)", "q*(N - 1)"):
        assert never_negative(parse(text), wide), text
    for text in ("N - 2", "N - q", "5 - floor(N/2)", "2*N - 8*floor(N/4)"):
        assert not never_negative(parse(text), wide), text


def test_probes_hold_the_ends_and_the_neighbours_of_points() -> None:
    points = np.array([[3, 10], [70, 20], [100_000, 30]])
    drawn = probes(points, [(0, 2**31), (0, 99)])
    assert len(drawn) <= 8192
    for axis, wanted in ((0, {0, 2, 3, 4, 69, 70, 71, 99_999, 2**31}), (1, {0, 9, 10, 11, 99})):
        assert wanted <= set(drawn[:, axis].tolist())
