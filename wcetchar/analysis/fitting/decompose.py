"""A count formula as the rows of the published table: multiplicity times repetition.

The founding paper's table (Renaux, de Goes, Linhares 2010, section 5) has one row for each way of
repeating: ``1``, ``N``, ``N - 1``, ``ceil(size/4)``. A count 3*N + 5 is 3 in the row ``N`` and 5
in the row ``1``; 2*N - 2 is 2 in the row ``N - 1``. Every row must stand on its own: a repetition
is never negative, and neither is a multiplicity.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, permutations
from math import gcd

from wcetchar.analysis.fitting.bounds import Range, never_negative
from wcetchar.analysis.fitting.terms import combine, difference, remainder, times
from wcetchar.formula import evaluate, names
from wcetchar.model.expression import (
    ONE,
    Binary,
    BinaryOperator,
    Call,
    Compare,
    Comparison,
    Expression,
    Function,
    Negate,
    Number,
)

_OPPOSITE = {
    Comparison.LESS: Comparison.GREATER_EQUAL,
    Comparison.LESS_EQUAL: Comparison.GREATER,
    Comparison.EQUAL: Comparison.NOT_EQUAL,
    Comparison.NOT_EQUAL: Comparison.EQUAL,
    Comparison.GREATER_EQUAL: Comparison.LESS,
    Comparison.GREATER: Comparison.LESS_EQUAL,
}

_Terms = dict[Expression, int]
"""Coefficient of each term; the constant belongs to :data:`ONE`."""


def decompose(
    expression: Expression,
    parameters: Sequence[str] = (),
    ranges: Sequence[tuple[int, int]] = (),
) -> tuple[tuple[int, Expression], ...]:
    """(multiplicity, repetition) pairs whose products add up to the expression, for all values.

    What is taken away is folded into the repetition it is taken from: 2*N - 2 gives (2, N - 1),
    3*N - 2 gives (1, 3*N - 2). A negative comparison is turned round: 5 - 2*(N > 3) gives
    (2, N <= 3), (3, 1).

    Args:
        expression: a count, never negative over the ranges.
        parameters, ranges: the declared least and greatest value of each parameter. Of a parameter
            that is not among them it is assumed that it is never negative. With ranges more rows
            can be told apart: 2*N + 3*M - 2 gives (2, N - 1), (3, M) only where N is known to be 1
            at least.

    Returns:
        Multiplicities > 0 with repetitions that are >= 0 over the ranges, the constant row last;
        nothing for a count that is 0.

    Raises:
        ValueError: the expression is negative everywhere.
        InputError: the expression is no formula.
    """
    known: dict[str, Range] = dict.fromkeys(names(expression), (0, None))
    known.update((name, limits) for name, limits in zip(parameters, ranges, strict=True))
    terms = _linear(expression)
    _turn_comparisons(terms)
    _find_remainders(terms)
    rows: dict[Expression, int] = {}
    for multiplicity, repetition in _fold(terms, known):
        rows[repetition] = rows.get(repetition, 0) + multiplicity
    last = rows.pop(ONE, 0)
    if last:
        rows[ONE] = last
    return tuple((multiplicity, repetition) for repetition, multiplicity in rows.items())


def _linear(expression: Expression) -> _Terms:
    """The expression as a linear combination, in the order of its text."""
    terms: _Terms = {}
    _collect(expression, 1, terms)
    return {term: coefficient for term, coefficient in terms.items() if coefficient}


def _collect(expression: Expression, factor: int, terms: _Terms) -> None:
    match expression:
        case Negate(operand):
            _collect(operand, -factor, terms)
            return
        case Binary(BinaryOperator.ADD, left, right):
            _collect(left, factor, terms)
            _collect(right, factor, terms)
            return
        case Binary(BinaryOperator.SUBTRACT, left, right):
            _collect(left, factor, terms)
            _collect(right, -factor, terms)
            return
    coefficient, rest = _split(expression)
    if coefficient != 1:
        _collect(rest, factor * coefficient, terms)
    else:
        terms[rest] = terms.get(rest, 0) + factor


def _split(expression: Expression) -> tuple[int, Expression]:
    """(constant factor, rest)."""
    if not names(expression):
        return evaluate(expression, {}), ONE
    match expression:
        case Negate(operand):
            coefficient, rest = _split(operand)
            return -coefficient, rest
        case Binary(BinaryOperator.MULTIPLY, left, right):
            one, left = _split(left)
            other, right = _split(right)
            if left == ONE or right == ONE:
                return one * other, right if left == ONE else left
            return one * other, Binary(BinaryOperator.MULTIPLY, left, right)
    return 1, expression


def _turn_comparisons(terms: _Terms) -> None:
    """-c*(a > b) is c*(a <= b) - c, where the constant can spare c."""
    for term, coefficient in list(terms.items()):
        if isinstance(term, Compare) and coefficient < 0 <= coefficient + terms.get(ONE, 0):
            del terms[term]
            opposite = Compare(_OPPOSITE[term.operator], term.left, term.right)
            _add(terms, opposite, -coefficient)
            _add(terms, ONE, coefficient)


def _find_remainders(terms: _Terms) -> None:
    """x - m*floor(x/m) and m*ceil(x/m) - x: these differences are never negative, whatever x is.

    Only where nothing is left to take away: 3*x - 11*floor(x/4) is 3*(x - 4*floor(x/4)) and
    floor(x/4), while 2*x - 11*floor(x/4) stays as it is.
    """
    for whole, plain in permutations(list(terms), 2):
        for function, sign in ((Function.FLOOR, -1), (Function.CEIL, 1)):
            modulus = _modulus(function, whole, plain)
            taken, given = sign * terms.get(whole, 0), -sign * terms.get(plain, 0)
            if modulus is None or taken <= 0 or given <= 0:
                continue
            if function is Function.FLOOR:
                found, count = remainder(plain, modulus), -(-taken // modulus)
                enough = count <= given
            else:
                found, count = difference(times(modulus, whole), plain), given
                enough = count * modulus <= taken
            if enough:
                _add(terms, found, count)
                _add(terms, plain, sign * count)
                _add(terms, whole, -sign * count * modulus)


def _modulus(function: Function, term: Expression, plain: Expression) -> int | None:
    """m, if ``term`` is ``function(plain/m)`` with m > 1."""
    match term:
        case Call(rounding, (Binary(BinaryOperator.DIVIDE, inner, Number(divisor)),)):
            if rounding is function and inner == plain and divisor > 1:
                return divisor
    return None


def _add(terms: _Terms, term: Expression, coefficient: int) -> None:
    total = terms.get(term, 0) + coefficient
    if total:
        terms[term] = total
    else:
        terms.pop(term, None)


def _fold(terms: _Terms, ranges: Mapping[str, Range]) -> list[tuple[int, Expression]]:
    """Rows: what is added stands alone, what is taken away is folded into what carries it."""
    safe = {
        term: coefficient
        for term, coefficient in terms.items()
        if coefficient > 0 and never_negative(term, ranges)
    }
    doubtful = {term: coefficient for term, coefficient in terms.items() if term not in safe}
    rows = {term: (coefficient, term) for term, coefficient in safe.items()}
    if doubtful:
        carriers = _carriers(safe, doubtful, ranges)
        group = {term: c for term, c in terms.items() if term in doubtful or term in carriers}
        if not any(coefficient > 0 for coefficient in group.values()):
            raise ValueError("a count that is negative has no repetition")
        folded = _divided(group)
        for term in carriers[1:]:
            del rows[term]
        if carriers:
            rows[carriers[0]] = folded
        else:
            rows[folded[1]] = folded
    return list(rows.values())


def _carriers(
    safe: _Terms, doubtful: _Terms, ranges: Mapping[str, Range]
) -> tuple[Expression, ...]:
    """The fewest terms that, together with the doubtful ones, are never negative.

    All of them always are, as the whole expression is.
    """
    for count in range(min(len(safe), 3)):
        for chosen in combinations(safe, count):
            group = doubtful | {term: safe[term] for term in chosen}
            if never_negative(_divided(group)[1], ranges):
                return chosen
    return tuple(safe)


def _divided(group: _Terms) -> tuple[int, Expression]:
    """(greatest common divisor, the sum divided by it)."""
    divisor = gcd(*group.values())
    listed = [(c // divisor, term) for term, c in group.items() if term != ONE]
    return divisor, combine(listed, group.get(ONE, 0) // divisor)
