"""Numbers that remember how they came about: values, functions, and what was decided by them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest

from wcetchar.engine.recorded import End, Recorded, Recording, Relation, terms_of
from wcetchar.engine.recorded_prices import Ends, Evaluated
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.model.symbolic import in_order, is_whole, least, most


@pytest.fixture
def recording() -> Recording:
    return Recording()


def number(recording: Recording, place: int, value: int, **more: Any) -> Fraction:
    return recording.number(place, End.LOW, Fraction(value), **more)


def exact(*values: Fraction | int) -> list[Ends]:
    return [(Fraction(v), Fraction(v), Fraction(v)) for v in values]


def at(recording: Recording, found: Fraction, *values: Fraction | int) -> Fraction:
    return Evaluated(recording, exact(*values)).of(terms_of(found))


def guards(recording: Recording) -> list[Relation]:
    return [guard.relation for guard in recording.guards]


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: a + b - 3,
        lambda a, b: 2 - a * b,
        lambda a, b: Fraction(1, 3) / a + b / 2,
        lambda a, b: a / (a + b),
        lambda a, b: (a + 1) % (b + 2) + a // b,
        lambda a, b: most(Fraction(0), a - b, b - a),
        lambda a, b: least(a, b, Fraction(4)) - most(a, Fraction(2)),
        lambda a, b: most(most(a, b) + 1, least(a, b) * 3),
        lambda a, b: 1 / (most(a, b) + a),
        lambda a, b: -(+a) + math.floor(b / 3),
    ],
)
def test_a_function_holds_at_other_values(
    recording: Recording, function: Callable[[Any, Any], Any]
) -> None:
    found = function(number(recording, 0, 3, positive=True), number(recording, 1, 5, positive=True))
    assert found.value == function(Fraction(3), Fraction(5))
    assert not recording.guards
    for a in (1, 2, 5, Fraction(7, 2)):
        for b in (1, 4, Fraction(1, 3)):
            assert at(recording, found, a, b) == function(Fraction(a), Fraction(b))


def test_what_is_always_the_same_is_a_plain_number(recording: Recording) -> None:
    a = number(recording, 0, 3, positive=True)
    for found in (a - a, a / a, a * 0, (a + 2) - a, most(a, a + 1) - a):
        assert type(found) is Fraction
    assert most(a + 1, a, Fraction(1)) == a + 1
    assert not recording.guards


@pytest.mark.parametrize(
    ("compare", "holds", "relation"),
    [
        (operator.lt, True, Relation.POSITIVE),
        (operator.le, True, Relation.NOT_NEGATIVE),
        (operator.gt, False, Relation.NOT_NEGATIVE),
        (operator.ge, False, Relation.POSITIVE),
        (operator.eq, False, Relation.NOT_ZERO),
        (operator.ne, True, Relation.NOT_ZERO),
    ],
)
def test_a_comparison_leaves_a_guard(
    recording: Recording, compare: Callable[[Any, Any], bool], holds: bool, relation: Relation
) -> None:
    a, b = number(recording, 0, 3), number(recording, 1, 5)
    assert compare(a, b) is holds
    assert guards(recording) == [relation]
    (guard,) = recording.guards
    for left in range(5):
        for right in range(5):
            same = compare(left, right) is holds
            assert Evaluated(recording, exact(left, right)).holds(guard) is same


@pytest.mark.parametrize("compare", [operator.lt, operator.ge, operator.eq])
def test_a_plain_number_on_the_left_leaves_a_guard_as_well(
    recording: Recording, compare: Callable[[Any, Any], bool]
) -> None:
    a = number(recording, 0, 3)
    assert compare(Fraction(2), a) is compare(2, 3)
    assert compare(7, a) is compare(7, 3)
    assert len(recording.guards) == 2


def test_numbers_are_never_negative(recording: Recording) -> None:
    """So these comparisons come out the same way at all values."""
    a, b = number(recording, 0, 3), number(recording, 1, 5, positive=True)
    assert a >= 0
    assert a + b > 0
    assert b
    assert most(a, b) >= a
    assert least(a, b) <= b
    assert not recording.guards
    assert a
    assert guards(recording) == [Relation.NOT_ZERO]


def test_whole_numbers(recording: Recording) -> None:
    a = number(recording, 0, 3)
    assert is_whole(a)
    assert not is_whole(a / 2)
    assert guards(recording) == [Relation.WHOLE, Relation.NOT_WHOLE]
    assert is_whole(Fraction(4))


def test_an_order_that_is_taken_for_granted_leaves_none(recording: Recording) -> None:
    a = number(recording, 0, 3)
    Quantity(a, a + 1, 2 * a + 7, Unit.CYCLES)
    assert in_order(a, Fraction(9))
    assert not recording.guards
    with pytest.raises(TypeError):  # where it would say which values these are
        Quantity(a, a, Fraction(2), Unit.CYCLES)


def test_an_inverse_asks_for_the_sign(recording: Recording) -> None:
    found = 1 / (1 - number(recording, 0, 3) / number(recording, 1, 5, positive=True))
    assert guards(recording) == [Relation.POSITIVE]
    assert isinstance(found, Recorded)
    assert found.value == Fraction(5, 2)
    with pytest.raises(ZeroDivisionError):
        1 / (number(recording, 2, 4) - 4)


@pytest.mark.parametrize(
    "ask",
    [
        int,
        float,
        str,
        round,
        math.ceil,
        math.trunc,
        Fraction,
        lambda a: a.numerator,
        lambda a: a.denominator,
        lambda a: a**2,
        lambda a: f"{a}",
        lambda a: a.limit_denominator(10),
        lambda a: divmod(a, 2),
        lambda a: math.lcm(a.denominator, 2),
    ],
)
def test_what_no_guard_tells_of_fails(recording: Recording, ask: Callable[[Any], Any]) -> None:
    with pytest.raises(TypeError):
        ask(number(recording, 0, 3))
