"""Values with errors: Muller's figures, sums by hand, and every combination of errors tried."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.engine.uncertainty import PLACES, Uncertain, root_above, sum_of, uncertain

F = Fraction
errors = st.fractions(min_value=0, max_value=20, max_denominator=8)
numbers = st.fractions(min_value=-50, max_value=50, max_denominator=8)
names = st.sampled_from(("a", "b", "c"))
inputs = st.builds(uncertain, names, numbers, errors, errors)


def test_a_difference_of_readings_adds_their_errors() -> None:
    """Muller, Measuring, figure 3.17: 10 +- 2 us and 14 +- 2 us; the difference is 4 +- 4 us."""
    start, end = uncertain("start", 10, 2), uncertain("end", 14, 2)
    duration = end - start
    assert (duration.nominal, duration.systematic_error) == (4, 4)
    assert duration.expected == duration.limits == (0, 8)
    noisy = uncertain("end", 14, 0, 2) - uncertain("start", 10, 0, 2)
    assert noisy.nominal == 4
    assert F(2828427, 10**6) < noisy.stochastic_error <= F(2828428, 10**6)  # the root of 8
    assert noisy.limits == (0, 8)


def test_one_number_many_times_is_not_many_numbers() -> None:
    price = uncertain("price", 190, 10, 10)
    once_read, each_anew = price.scaled(100), price.repeated(100)
    assert once_read.nominal == each_anew.nominal == 19_000
    assert once_read.systematic_error == each_anew.systematic_error == 1000
    assert once_read.stochastic_error == 1000
    assert each_anew.stochastic_error == 100  # the root of 100 times 10
    assert once_read.limits == each_anew.limits == (17_000, 21_000)


def test_accesses_are_counted_back_from_measured_times() -> None:
    """Muller's three measurements are given in whole microseconds: what they differ by is how often
    the memory is asked for, and their errors add."""
    warm, flushed, disabled = (
        uncertain(name, us * 1000, 500)
        for name, us in (("warm", 2), ("flushed", 10), ("disabled", 50))
    )
    cycles = warm.scaled(F(1, 5))
    lines = (flushed - warm).scaled(F(1, 190))
    words = (disabled - warm).scaled(F(1, 115))  # 24 cycles each in the place of one
    assert (cycles.nominal, cycles.systematic_error) == (400, 100)
    assert (round(lines.nominal, 1), round(lines.systematic_error, 1)) == (F("42.1"), F("5.3"))
    assert (round(words.nominal), round(words.systematic_error, 1)) == (417, F("8.7"))


def test_shares_add_up_and_name_what_to_measure_better() -> None:
    total = sum_of([uncertain("a", 1, 2, 3), uncertain("b", 2, 7), uncertain("a", 3, 1)])
    assert list(total.shares()) == [("b", 7), ("a", 6)]
    assert total.limits == (6 - 13, 6 + 13)
    assert total.expected == (6 - 13, 6 + 13)  # a single stochastic error is no less for being one


@pytest.mark.parametrize(
    ("square", "root"),
    [(F(0), F(0)), (F(9), F(3)), (F(9, 4), F(3, 2)), (F(2), F(1414214, 10**6))],
)
def test_roots(square: F, root: F) -> None:
    assert root_above(square) == root


@given(st.fractions(min_value=0, max_value=10**9))
def test_a_root_is_never_below_and_hardly_above(square: F) -> None:
    root = root_above(square)
    assert root**2 >= square
    less = root - F(1, 10**PLACES)
    assert root**2 == square or less < 0 or less**2 < square


def test_what_is_no_error() -> None:
    for wrong in (
        lambda: uncertain("a", 1, -1),
        lambda: uncertain("a", 1, 0, -1),
        lambda: Uncertain(F(1), {"a": F(-1)}),
        lambda: uncertain("a", 1).repeated(-1),
        lambda: root_above(F(-1)),
    ):
        with pytest.raises(ValueError, match=r"negative|no square root"):
            wrong()


@given(st.lists(st.tuples(inputs, st.sampled_from((1, -1)), st.integers(0, 4)), max_size=3))
def test_every_combination_of_errors_is_within_the_limits(
    terms: list[tuple[Uncertain, int, int]],
) -> None:
    """Each input at each of its corners, by plain sums; the safe end is the dearest of all."""
    total = Uncertain(F(0))
    for value, sign, count in terms:
        part = value.repeated(count)
        total = total + part if sign > 0 else total - part
    corners = []
    for signs in itertools.product((-1, 0, 1), repeat=2 * len(terms)):
        exact = F(0)
        for n, (value, sign, count) in enumerate(terms):
            error = signs[2 * n] * value.systematic_error
            error += signs[2 * n + 1] * value.linear_error
            exact += sign * count * (value.nominal + error)
        corners.append(exact)
    assert total.limits == (min(corners), max(corners))
    low, high = total.expected
    assert total.limits[0] <= low <= total.nominal <= high <= total.limits[1]
    assert sum(share for _, share in total.shares()) == total.limits[1] - total.nominal


@given(inputs, inputs, st.integers(0, 50))
def test_stochastic_errors_never_exceed_linear_ones(a: Uncertain, b: Uncertain, count: int) -> None:
    total = a.repeated(count) + b
    assert max(a.stochastic_error if count else 0, b.stochastic_error) <= total.stochastic_error
    assert total.stochastic_error <= total.linear_error
    assert a.repeated(count).stochastic_error <= a.scaled(count).stochastic_error


@given(st.lists(inputs, min_size=1, max_size=5), inputs)
def test_more_error_is_never_less(values: list[Uncertain], more: Uncertain) -> None:
    before, after = sum_of(values), sum_of([*values, more])
    assert after.systematic_error >= before.systematic_error
    assert after.stochastic_error >= before.stochastic_error
    assert after.linear_error >= before.linear_error
