"""Formulas that meet what was observed, to be proposed to somebody who decides.

Of one parameter p, and of the greatest count at each of its values over all values of the others:

    c,    p + k,    a*p + b,    ceil(p/m),    max(0, a*p + b)

in this order, where k, a and b are integers and m is a power of 2. A formula is proposed only if it
meets the greatest count at *every* value exactly, and a formula of p only if p had four values or
more: of a line three or more could be a coincidence (``docs/reference/formulas.md``). That it holds
between and beyond them nobody has shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar import formula
from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Expression,
    Function,
    Name,
    Number,
)

MOST_PARAMETERS: Final = 16
FEWEST_VALUES: Final = 4
_DIVISORS: Final = (2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Observed:
    """The greatest count that traces showed at values of the parameters."""

    values: Mapping[str, int]
    count: int


def proposal(observed: Sequence[Observed]) -> Expression | None:
    """A formula that meets what was observed; ``None``: there is none of those above."""
    if not observed:
        return None
    counts = {one.count for one in observed}
    if len(counts) == 1:
        return Number(counts.pop())
    names = sorted(set.intersection(*(set(one.values) for one in observed)))
    for name in names[:MOST_PARAMETERS]:
        greatest: dict[int, int] = {}
        for one in observed:
            value = one.values[name]
            greatest[value] = max(one.count, greatest.get(value, 0))
        if len(greatest) < FEWEST_VALUES or len(set(greatest.values())) == 1:
            continue
        for candidate in _candidates(name, greatest):
            if all(formula.evaluate(candidate, {name: v}) == n for v, n in greatest.items()):
                return candidate
    return None


def _candidates(name: str, greatest: Mapping[int, int]) -> Iterator[Expression]:
    parameter = Name(name)
    points = sorted(greatest.items())
    yield from _lines(parameter, points)
    for divisor in _DIVISORS:
        quotient = Binary(BinaryOperator.DIVIDE, parameter, Number(divisor))
        yield Call(Function.CEIL, (quotient,))
    above = [point for point in points if point[1] > 0]
    for line in _lines(parameter, above):
        yield Call(Function.MAX, (Number(0), line))


def _lines(parameter: Name, points: Sequence[tuple[int, int]]) -> Iterator[Expression]:
    """The line through the last two points."""
    if len(points) < 2:
        return
    (left, low), (right, high) = points[-2:]
    slope = Fraction(high - low, right - left)
    if slope.denominator != 1 or slope <= 0:
        return
    a, b = int(slope), high - int(slope) * right
    line: Expression = parameter
    if a != 1:
        line = Binary(BinaryOperator.MULTIPLY, Number(a), parameter)
    if b > 0:
        line = Binary(BinaryOperator.ADD, line, Number(b))
    elif b < 0:
        line = Binary(BinaryOperator.SUBTRACT, line, Number(-b))
    yield line
