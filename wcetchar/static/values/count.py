"""Numbers of times: numbers, or formulas of parameters, and their expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Expression,
    Function,
    Name,
    Number,
)


@dataclass(frozen=True)
class Count:
    """At most so many: a number, or ``terms`` (name, factor) plus ``constant``, divided by
    ``divisor`` and rounded up, and at least 0."""

    constant: int
    terms: tuple[tuple[str, int], ...] = ()
    divisor: int = 1
    clipped: bool = False

    @property
    def number(self) -> int | None:
        if self.terms:
            return None
        return max(0, -(-self.constant // self.divisor))


def less(one: Count, two: Count) -> Count:
    first, second = one.number, two.number
    assert first is not None
    assert second is not None
    return one if first <= second else two


def maximum(entries: Sequence[Count]) -> Expression:
    """Over the ways in which the loop is entered."""
    found = list(dict.fromkeys(expression_of(count) for count in entries))
    return found[0] if len(found) == 1 else Call(Function.MAX, tuple(found))


def expression_of(count: Count) -> Expression:
    number = count.number
    if number is not None:
        return Number(number)
    divisor, constant, terms = count.divisor, count.constant, count.terms
    if all(value % divisor == 0 for value in (constant, *(factor for _, factor in terms))):
        constant //= divisor
        terms = tuple((name, factor // divisor) for name, factor in terms)
        divisor = 1
    total = sum_of(constant, terms)
    if divisor > 1:
        quotient = Binary(BinaryOperator.DIVIDE, total, Number(divisor))
        total = Call(Function.CEIL, (quotient,))
    # Parameters are natural numbers.
    clipped = count.clipped and (constant < 0 or any(factor < 0 for _, factor in terms))
    return Call(Function.MAX, (Number(0), total)) if clipped else total


def sum_of(constant: int, terms: Sequence[tuple[str, int]]) -> Expression:
    total: Expression | None = None
    for name, factor in sorted(terms, key=lambda term: (term[1] < 0, term[0])):
        size = abs(factor)
        part: Expression = Name(name)
        if size != 1:
            part = Binary(BinaryOperator.MULTIPLY, Number(size), part)
        if total is None:
            total = part if factor > 0 else Binary(BinaryOperator.SUBTRACT, Number(0), part)
        else:
            sign = BinaryOperator.ADD if factor > 0 else BinaryOperator.SUBTRACT
            total = Binary(sign, total, part)
    if total is None:
        return Number(constant)
    if constant > 0:
        return Binary(BinaryOperator.ADD, total, Number(constant))
    if constant < 0:
        return Binary(BinaryOperator.SUBTRACT, total, Number(-constant))
    return total
