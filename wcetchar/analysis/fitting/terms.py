"""Building expressions: sums of multiples, in one canonical shape."""

from __future__ import annotations

from collections.abc import Iterable

from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Expression,
    Function,
    Negate,
    Number,
)


def number(value: int) -> Expression:
    """A literal; negative ones as the parser reads them."""
    return Number(value) if value >= 0 else Negate(Number(-value))


def plus(left: Expression, value: int) -> Expression:
    """``left + value``, written as a subtraction where value is negative."""
    if value == 0:
        return left
    if value < 0:
        return Binary(BinaryOperator.SUBTRACT, left, Number(-value))
    return Binary(BinaryOperator.ADD, left, Number(value))


def times(factor: int, right: Expression) -> Expression:
    """``factor*right`` for a positive factor."""
    return right if factor == 1 else Binary(BinaryOperator.MULTIPLY, Number(factor), right)


def product(left: Expression, right: Expression) -> Expression:
    return Binary(BinaryOperator.MULTIPLY, left, right)


def difference(left: Expression, right: Expression) -> Expression:
    return Binary(BinaryOperator.SUBTRACT, left, right)


def quotient(function: Function, numerator: Expression, divisor: int) -> Expression:
    """``ceil(numerator/divisor)`` or ``floor(numerator/divisor)``."""
    return Call(function, (Binary(BinaryOperator.DIVIDE, numerator, Number(divisor)),))


def remainder(of: Expression, modulus: int) -> Expression:
    """``of - modulus*floor(of/modulus)``."""
    return difference(of, times(modulus, quotient(Function.FLOOR, of, modulus)))


def combine(terms: Iterable[tuple[int, Expression]], constant: int) -> Expression:
    """The sum of coefficient times term, and a constant: what is added first, then what is taken
    away, the constant last (first, where everything else is taken away)."""
    listed = list(terms)
    result: Expression | None = None
    for coefficient, term in listed:
        if coefficient > 0:
            part = times(coefficient, term)
            result = part if result is None else Binary(BinaryOperator.ADD, result, part)
    if result is None:
        result, constant = number(constant), 0
    for coefficient, term in listed:
        if coefficient < 0:
            result = difference(result, times(-coefficient, term))
    return plus(result, constant)
