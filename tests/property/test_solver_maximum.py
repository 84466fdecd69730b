"""Maxima that are proved, against every point, every vertex and every path."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.solver import (
    Constraint,
    Contradiction,
    LinearProgram,
    Unbounded,
    Variable,
    bound_by,
    maximum,
)
from wcetchar.solver.exact import solve_rows

F = Fraction
COEFFICIENT = st.integers(-4, 4)
COST = (
    st.integers(-4, 4) | st.fractions(-10, 10, max_denominator=9) | st.integers(-(10**17), 10**17)
)
ROW = st.tuples(st.lists(COEFFICIENT, min_size=3, max_size=3), st.integers(-6, 6))


def program_of(
    rows: list[tuple[list[int], int]],
    costs: list[Fraction | int],
    *,
    integer: bool,
    top: int | None,
) -> LinearProgram:
    names = [f"x{n}" for n in range(len(costs))]
    upper = None if top is None else F(top)
    return LinearProgram(
        tuple(Variable(name, F(0), upper, integer) for name in names),
        tuple(
            Constraint(f"row {n}", dict(zip(names, map(F, row), strict=True)), upper=F(bound))
            for n, (row, bound) in enumerate(rows)
        ),
        dict(zip(names, map(F, costs), strict=True)),
    )


@given(st.lists(ROW, max_size=4), st.lists(COST, min_size=3, max_size=3))
def test_whole_programs_against_every_point(
    rows: list[tuple[list[int], int]], costs: list[Fraction | int]
) -> None:
    values = [
        sum((F(c) * x for c, x in zip(costs, point, strict=True)), start=F(0))
        for point in itertools.product(range(4), repeat=3)
        if all(sum(a * x for a, x in zip(row, point, strict=True)) <= b for row, b in rows)
    ]
    program = program_of(rows, costs, integer=True, top=3)
    if not values:
        with pytest.raises(Contradiction):
            maximum(program)
        return
    found = maximum(program)
    assert found.values is not None
    assert found.objective is not None
    assert found.objective <= max(values) <= found.bound
    largest = max(abs(F(c)) for c in costs)
    if largest < 100:
        assert found.objective == found.bound
    # Costs that floating point does not tell from 0 beside the largest may be left undone.
    assert found.bound - found.objective <= 9 * largest / 10**10
    assert all(value.denominator == 1 for value in found.values.values())


def vertices(rows: list[tuple[list[int], int]], top: int) -> list[tuple[Fraction, ...]]:
    """Where three of all planes meet, of those that fulfil everything: Cramer's rule."""
    planes = [*rows]
    for n in range(3):
        unit = [int(n == m) for m in range(3)]
        planes += [(unit, top), ([-c for c in unit], 0)]
    found = []
    for three in itertools.combinations(planes, 3):
        matrix = [row for row, _ in three]
        whole = determinant(matrix)
        if not whole:
            continue
        point = tuple(
            F(
                determinant([[b if m == n else row[m] for m in range(3)] for row, b in three]),
                whole,
            )
            for n in range(3)
        )
        if all(sum(a * x for a, x in zip(row, point, strict=True)) <= b for row, b in planes):
            found.append(point)
    return found


def determinant(m: list[list[int]]) -> int:
    return (
        m[0][0] * (m[1][1] * m[2][2] - m[1][2] * m[2][1])
        - m[0][1] * (m[1][0] * m[2][2] - m[1][2] * m[2][0])
        + m[0][2] * (m[1][0] * m[2][1] - m[1][1] * m[2][0])
    )


@given(st.lists(ROW, max_size=4), st.lists(COST, min_size=3, max_size=3))
def test_continuous_programs_against_every_vertex(
    rows: list[tuple[list[int], int]], costs: list[Fraction | int]
) -> None:
    """A polytope's maximum is at a vertex; nothing is rounded, so it is met exactly."""
    corners = vertices(rows, 3)
    program = program_of(rows, costs, integer=False, top=3)
    if not corners:
        with pytest.raises(Contradiction):
            maximum(program)
        return
    best = max(sum((F(c) * x for c, x in zip(costs, p, strict=True)), start=F(0)) for p in corners)
    found = maximum(program)
    assert found.bound >= best
    assert found.objective is not None
    assert found.objective <= best
    assert bound_by(program, found.multipliers) == found.bound
    if max(abs(F(c)) for c in costs) < 100:
        assert found.bound == found.objective == best


@given(
    st.lists(ROW, min_size=1, max_size=4),
    st.lists(st.integers(0, 10**6), min_size=3, max_size=3),
)
def test_without_upper_bounds(rows: list[tuple[list[int], int]], costs: list[int]) -> None:
    """What a far wall does not stop from growing grows without end."""
    open_program = program_of(rows, costs, integer=False, top=None)
    try:
        near = maximum(program_of(rows, costs, integer=False, top=10**4))
        far = maximum(program_of(rows, costs, integer=False, top=10**5))
    except Contradiction:
        with pytest.raises(Contradiction):
            maximum(open_program)
        return
    if near.bound == far.bound:
        found = maximum(open_program)
        assert found.bound == found.objective == near.bound
    else:
        with pytest.raises(Unbounded) as caught:
            maximum(open_program)
        assert caught.value.variables


@st.composite
def graphs(draw: st.DrawFn) -> tuple[int, list[tuple[int, int, int]], list[int]]:
    """Nodes, edges with most passes, and costs of nodes; node 0 is where paths begin."""
    nodes = draw(st.integers(1, 5))
    node = st.integers(0, nodes - 1)
    edges = draw(st.lists(st.tuples(node, node, st.integers(0, 2)), max_size=8))
    return nodes, edges, draw(st.lists(st.integers(0, 10**10), min_size=nodes, max_size=nodes))


@given(graphs(), st.data())
def test_flows_against_every_path(
    graph: tuple[int, list[tuple[int, int, int]], list[int]], data: st.DataObject
) -> None:
    """A flow is a path and circles beside; so the bound is never below the dearest path, and
    where the dearest flow is in one piece it is that path."""
    nodes, edges, costs = graph
    last = data.draw(st.integers(0, nodes - 1))
    names = [f"e{n}" for n in range(len(edges))]
    rows = []
    for node in range(nodes):
        row: dict[str, Fraction] = {}
        for name, (source, target, _) in zip(names, edges, strict=True):
            row[name] = F((target == node) - (source == node))
        side = F((node == last) - (node == 0))
        rows.append(Constraint(f"node {node}", {n: c for n, c in row.items() if c}, side, side))
    program = LinearProgram(
        tuple(
            Variable(name, F(0), F(most), True)
            for name, (_, _, most) in zip(names, edges, strict=True)
        ),
        tuple(rows),
        {name: F(costs[target]) for name, (_, target, _) in zip(names, edges, strict=True)},
    )
    best = dearest(0, last, edges, costs, [most for _, _, most in edges])
    if best is None:
        with pytest.raises(Contradiction):
            maximum(program)
        return
    found = maximum(program)
    assert found.bound >= best
    assert found.bound == found.objective
    assert bound_by(program, found.multipliers) is not None


def dearest(
    at: int, last: int, edges: list[tuple[int, int, int]], costs: list[int], left: list[int]
) -> int | None:
    best = 0 if at == last else None
    for number, (source, target, _) in enumerate(edges):
        if source == at and left[number]:
            left[number] -= 1
            rest = dearest(target, last, edges, costs, left)
            left[number] += 1
            if rest is not None and (best is None or rest + costs[target] > best):
                best = rest + costs[target]
    return best


@given(
    st.integers(1, 5).flatmap(
        lambda n: st.tuples(
            st.lists(st.lists(COEFFICIENT, min_size=n, max_size=n), min_size=n, max_size=n),
            st.lists(st.fractions(-5, 5, max_denominator=7), min_size=n, max_size=n),
        )
    )
)
def test_equations(system: tuple[list[list[int]], list[Fraction]]) -> None:
    """Right sides made of known values: those come back, or several values would do."""
    matrix, values = system
    right = [sum((a * x for a, x in zip(row, values, strict=True)), start=F(0)) for row in matrix]
    found = solve_rows([(dict(enumerate(row)), b) for row, b in zip(matrix, right, strict=True)])
    if found is not None:
        assert [found[n] for n in range(len(values))] == values
    elif len(matrix) == 3:
        assert determinant(matrix) == 0


def test_what_contradicts_and_what_grows_are_named() -> None:
    x, y = Variable("x"), Variable("y")
    rows = (
        Constraint("at least two", {"x": F(1)}, lower=F(2)),
        Constraint("at most one", {"x": F(1)}, upper=F(1)),
        Constraint("beside", {"y": F(1)}, upper=F(7)),
    )
    with pytest.raises(Contradiction, match="at least two; at most one") as caught:
        maximum(LinearProgram((x, y), rows, {"y": F(1)}))
    assert caught.value.rows == (0, 1)
    with pytest.raises(Unbounded, match=r"nothing bounds y\n"):
        maximum(LinearProgram((x, y), rows[1:2], {"x": F(1), "y": F(1)}))


def test_nothing_whole_between() -> None:
    """2x = 3 has an answer, but no whole one."""
    row = Constraint("twice", {"x": F(2)}, F(3), F(3))
    with pytest.raises(Contradiction, match="whole"):
        maximum(LinearProgram((Variable("x", integer=True),), (row,), {"x": F(1)}))


def test_a_search_that_is_cut_short_is_not_too_low() -> None:
    """max x + y + z with 2x + 2y + 2z <= 5 is 2 in whole numbers, 5/2 else."""
    names = ("x", "y", "z")
    row = Constraint("sum", dict.fromkeys(names, F(2)), upper=F(5))
    costs = {"x": F(7, 3), "y": F(9, 4), "z": F(1)}
    program = LinearProgram(tuple(Variable(n, integer=True) for n in names), (row,), costs)
    cut = maximum(program, leaves=1)
    assert cut.objective == F(14, 3)
    assert F(14, 3) < cut.bound <= F(35, 6)
    assert maximum(program).bound == F(14, 3)
