"""Programs whose least value is found by trying every point, and the text for other solvers."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import highspy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.solver import Constraint, LinearProgram, Unsolvable, Variable, lp_text, solve

F = Fraction
COEFFICIENT = st.integers(-4, 4)


def _program(
    rows: list[tuple[list[int], int]], costs: list[int], *, integer: bool = True
) -> LinearProgram:
    names = [f"x {n}" for n in range(len(costs))]
    return LinearProgram(
        tuple(Variable(name, F(0), F(3), integer) for name in names),
        tuple(
            Constraint(f"row {n}", dict(zip(names, map(F, row), strict=True)), lower=F(bound))
            for n, (row, bound) in enumerate(rows)
        ),
        dict(zip(names, map(F, costs), strict=True)),
    )


def _best(rows: list[tuple[list[int], int]], costs: list[int]) -> int | None:
    """Of every whole point within the bounds."""
    values = [
        sum(c * x for c, x in zip(costs, point, strict=True))
        for point in itertools.product(range(4), repeat=len(costs))
        if all(sum(a * x for a, x in zip(row, point, strict=True)) >= b for row, b in rows)
    ]
    return min(values, default=None)


@given(
    st.lists(
        st.tuples(st.lists(COEFFICIENT, min_size=3, max_size=3), st.integers(-6, 6)), max_size=4
    ),
    st.lists(COEFFICIENT, min_size=3, max_size=3),
)
def test_whole_programs_against_every_point(
    rows: list[tuple[list[int], int]], costs: list[int]
) -> None:
    best = _best(rows, costs)
    if best is None:
        with pytest.raises(Unsolvable):
            solve(_program(rows, costs))
        return
    found = solve(_program(rows, costs))
    assert found.objective == best
    assert not found.missed
    point = list(found.values.values())
    assert all(value.denominator == 1 for value in point)
    for row, bound in rows:
        assert sum(a * x for a, x in zip(row, point, strict=True)) >= bound


def test_a_continuous_program_by_hand() -> None:
    """min 2x + 3y with x + y >= 5/2, x - y <= 1/2: at x = 3/2, y = 1 it is 6."""
    program = LinearProgram(
        (Variable("x"), Variable("y")),
        (
            Constraint("both", {"x": F(1), "y": F(1)}, lower=F(5, 2)),
            Constraint("apart", {"x": F(1), "y": F(-1)}, upper=F(1, 2)),
        ),
        {"x": F(2), "y": F(3)},
    )
    found = solve(program)
    assert float(found.objective) == pytest.approx(6)
    assert sum(found.missed.values()) < F(1, 10**6)


def test_what_has_no_answer() -> None:
    x = Variable("x")
    with pytest.raises(Unsolvable, match="no answer"):
        solve(LinearProgram((x,), (Constraint("c", {"x": F(1)}, upper=F(-1)),), {}))
    with pytest.raises(Unsolvable, match="no answer"):
        solve(LinearProgram((x,), (), {"x": F(-1)}))


def test_names_are_checked() -> None:
    x = Variable("x")
    with pytest.raises(ValueError, match="one name"):
        LinearProgram((x, x), ())
    with pytest.raises(ValueError, match="no variable"):
        LinearProgram((x,), (Constraint("c", {"y": F(1)}),))
    with pytest.raises(ValueError, match="no value"):
        LinearProgram((Variable("x", F(2), F(1)),), ())


@given(
    st.lists(
        st.tuples(st.lists(COEFFICIENT, min_size=2, max_size=2), st.integers(-6, 6)),
        min_size=1,
        max_size=3,
    ),
    st.lists(COEFFICIENT, min_size=2, max_size=2),
)
def test_the_text_is_read_by_a_solver_as_the_same_program(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[list[int], int]], costs: list[int]
) -> None:
    """HiGHS's own reader of the format, with fractions in the rows."""
    program = _program(rows, costs)
    program = LinearProgram(
        program.variables,
        tuple(
            Constraint(
                c.label, {k: v / 3 for k, v in c.coefficients.items()}, c.lower and c.lower / 3
            )
            for c in program.constraints
        ),
        program.objective,
    )
    path: Path = tmp_path_factory.mktemp("lp") / "program.lp"
    path.write_text(lp_text(program))
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    assert solver.readModel(str(path)) == highspy.HighsStatus.kOk
    solver.run()
    best = _best(rows, costs)
    if best is None:
        assert solver.getModelStatus() == highspy.HighsModelStatus.kInfeasible
    else:
        assert solver.getInfo().objective_function_value == pytest.approx(best)


def test_by_so_many_nodes_an_answer_holds_and_need_not_be_the_least() -> None:
    """None at all is no answer."""
    names = [f"x{n}" for n in range(20)]
    program = LinearProgram(
        tuple(Variable(name, F(0), F(1), integer=True) for name in names),
        tuple(
            Constraint(
                f"row {k}",
                {
                    name: F((n * n * 37 + k * 53 + n * k * 11) % 90 + 10)
                    for n, name in enumerate(names)
                },
                lower=F(400),
            )
            for k in range(5)
        ),
        {name: F((n * 61 + n * n * 17) % 90 + 10) for n, name in enumerate(names)},
    )
    least = solve(program).objective
    for nodes in (1, 1000):
        found = solve(program, nodes=nodes)
        assert not found.missed
        assert found.objective >= least
    assert found.objective == least
    with pytest.raises(Unsolvable, match="limit reached"):
        solve(program, nodes=0)
