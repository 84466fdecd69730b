"""Bounds as formulas, against closed forms by hand and every value by itself."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise, product

import pytest
from hypothesis import given
from hypothesis import strategies as st
from path_models import OUT, constraint, model_of, prices_of

from wcetchar import formula
from wcetchar.engine import piecewise
from wcetchar.engine.piecewise import affine_pieces, solve_everywhere
from wcetchar.errors import InputError, NoSoundBound
from wcetchar.model.expression import Binary, BinaryOperator, Expression, Name, Negate, Number
from wcetchar.model.path_model import PathModel
from wcetchar.model.service import Parameter, ParameterKind
from wcetchar.pipeline.path_formulas import formula_of


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=9), st.integers(-5, 5))
def test_pieces_meet_every_value_and_are_as_few_as_can_be(steps: list[int], low: int) -> None:
    times, value = [], 0
    for number, step in enumerate(steps):
        value += step
        times.append((low + number, Fraction(value)))
    pieces = affine_pieces(times)
    assert [v for piece in pieces for v in range(piece.low, piece.high + 1)] == [
        v for v, _ in times
    ]
    for piece in pieces:
        for v, time in times[piece.low - low : piece.high - low + 1]:
            assert piece.constant + piece.slope * v == time
    # By dynamic programming over where the last piece begins.
    fewest = [0]
    for end in range(1, len(times) + 1):
        fewest.append(
            min(fewest[begin] + 1 for begin in range(end) if _is_affine(times[begin:end]))
        )
    assert len(pieces) == fewest[-1]


def _is_affine(times: list[tuple[int, Fraction]]) -> bool:
    values = [time for _, time in times]
    return len({b - a for a, b in pairwise(values)}) <= 1


def loop_or(costs: tuple[int, int, int], passes: Expression) -> PathModel:
    """Node 0 leads to node 1, a loop that goes round ``passes`` times, or to node 2, and these out:
    max(c0 + c1 * (passes + 1), c0 + c2)."""
    edges = [(OUT, 0), (0, 1), (1, 1), (1, OUT), (0, 2), (2, OUT)]
    facts = [constraint("loop", {2: 1, 1: Negate(passes)}, each=True)]
    return model_of([*costs], edges, facts)


def numeric(name: str, low: int, high: int) -> Parameter:
    return Parameter(name, ParameterKind.STATE, low, high, name)


@given(st.tuples(*[st.integers(0, 30)] * 3), st.integers(0, 3), st.integers(1, 24))
def test_the_dearer_of_two_branches(costs: tuple[int, int, int], low: int, more: int) -> None:
    model = loop_or(costs, Name("N"))
    found = formula_of(model, (numeric("N", low, low + more),), prices_of(model))
    for n in range(low, low + more + 1):
        expected = costs[0] + max(costs[1] * (n + 1), costs[2])
        assert found.at({"N": n}, formula.evaluate) == expected
    assert found.points == more + 1
    for outside in (low - 1, low + more + 1):
        with pytest.raises(InputError, match="has no formula at N="):
            found.at({"N": outside}, formula.evaluate)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(2, 6), st.integers(2, 6))
def test_two_parameters(one: int, other: int, most: int, highest: int) -> None:
    """c * (N * M + 1): a product is exact, too."""
    passes = Binary(BinaryOperator.MULTIPLY, Name("N"), Name("M"))
    model = loop_or((one, other, 0), passes)
    parameters = (numeric("N", 1, most), numeric("M", 1, highest))
    found = formula_of(model, parameters, prices_of(model))
    for n, m in product(range(1, most + 1), range(1, highest + 1)):
        assert found.at({"N": n, "M": m}, formula.evaluate) == one + other * (n * m + 1)


def test_cases_are_by_themselves_and_equal_ones_together() -> None:
    """The loop goes round 7 times in case 2, and once in the others; M is not used."""
    passes = Binary(
        BinaryOperator.ADD,
        Number(1),
        Binary(
            BinaryOperator.MULTIPLY,
            Number(6),
            formula.parse("max(0, min(1, case - 1)) - max(0, min(1, case - 2))"),
        ),
    )
    model = loop_or((1, 10, 0), passes)
    parameters = (Parameter("case", ParameterKind.CASE, 0, 3, "case"), numeric("M", 0, 5))
    found = formula_of(model, parameters, prices_of(model))
    assert [(dict(p.ranges), formula.to_text(p.expression)) for p in found.pieces] == [
        ({"case": (0, 1)}, "21"),
        ({"case": (2, 2)}, "81"),
        ({"case": (3, 3)}, "21"),
    ]


def test_too_many_values_are_not_solved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(piecewise, "MOST_POINTS", 10)
    model = loop_or((1, 1, 1), Name("N"))
    with pytest.raises(NoSoundBound, match="hold 11 values"):
        solve_everywhere(model, prices_of(model), {"N": (0, 10)})
    assert len(solve_everywhere(model, prices_of(model), {"N": (1, 10), "M": (0, 99)}).times) == 10
