"""Where a formula can never be negative, and on which points formulas are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from wcetchar.analysis.fitting.terms import quotient, times
from wcetchar.formula import evaluate_many, names
from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Compare,
    Expression,
    Function,
    Name,
    Negate,
    Number,
)

_WHOLE = 1 << 18
"""Up to this many combinations of parameter values, every one of them is looked at."""

_SAMPLE = 8192

Range = tuple[int, int | None]
"""Least and greatest value; ``None``: no upper limit."""

Ends = tuple[Fraction | None, Fraction | None]
"""Least and greatest value; ``None``: unbounded, or not known."""

_ZERO = Fraction(0)


def never_negative(expression: Expression, ranges: Mapping[str, Range]) -> bool:
    """Whether the formula is >= 0 for every combination of the parameters' values.

    Reasons with intervals first; where that does not prove it, looks at every combination if there
    are few enough. ``False`` means "not proven".
    """
    low, _ = ends(expression, ranges)
    if low is not None and low >= 0:
        return True
    used = sorted(names(expression))
    spans = [(least, most) for least, most in (ranges[name] for name in used) if most is not None]
    if len(spans) < len(used) or prod(most - least + 1 for least, most in spans) > _WHOLE:
        return False
    return _whole_range_not_negative(expression, used, spans)


def _whole_range_not_negative(
    expression: Expression, used: list[str], spans: list[tuple[int, int]]
) -> bool:
    if not used:
        return bool(evaluate_many(expression, {}) >= 0)
    points = grid([np.arange(low, high + 1, dtype=np.int64) for low, high in spans])
    columns = {name: points[:, i] for i, name in enumerate(used)}
    return bool((evaluate_many(expression, columns) >= 0).all())


def grid(axes: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """Every combination of the axes' values, one a row."""
    meshes = np.meshgrid(*axes, indexing="ij")
    return np.stack([mesh.ravel() for mesh in meshes], axis=1)


def probes(points: NDArray[np.int64], ranges: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """Points of the declared ranges on which to compare formulas: all of them where they are few,
    else the ends, the neighbours of observed values, and others evenly spread."""
    most = int(_SAMPLE ** (1 / len(ranges)) + 1e-9)
    if prod(high - low + 1 for low, high in ranges) <= _SAMPLE:
        most = _SAMPLE
    axes = []
    for i, (low, high) in enumerate(ranges):
        if high - low < most:
            axes.append(np.arange(low, high + 1, dtype=np.int64))
            continue
        observed = sorted(set(points[:, i].tolist()))
        near = [v + step for step in (-1, 1) for v in observed if low <= v + step <= high]
        spread = [low + (high - low) * k // (most - 1) for k in range(most)]
        wanted = list(dict.fromkeys([low, high, *observed, *near, *spread]))[:most]
        axes.append(np.array(sorted(wanted), dtype=np.int64))
    return grid(axes)


def ends(expression: Expression, ranges: Mapping[str, Range]) -> Ends:
    """An interval that holds every value of the formula (interval arithmetic, so often too wide).

    A few shapes that plain interval arithmetic is blind to are known: remainders, padding, squares
    and products of neighbours.
    """
    match expression:
        case Number(value):
            return Fraction(value), Fraction(value)
        case Name(name):
            low, high = ranges[name]
            return Fraction(low), None if high is None else Fraction(high)
        case Negate(operand):
            return _negated(ends(operand, ranges))
        case Compare():
            return _ZERO, Fraction(1)
        case Binary(operator, left, right):
            return _binary(operator, left, right, ranges)
        case Call(function, arguments):
            return _call(function, arguments, ranges)


def _negated(interval: Ends) -> Ends:
    low, high = interval
    return None if high is None else -high, None if low is None else -low


def _sum(one: Ends, other: Ends) -> Ends:
    low = None if one[0] is None or other[0] is None else one[0] + other[0]
    high = None if one[1] is None or other[1] is None else one[1] + other[1]
    return low, high


def _binary(
    operator: BinaryOperator, left: Expression, right: Expression, ranges: Mapping[str, Range]
) -> Ends:
    one, other = ends(left, ranges), ends(right, ranges)
    match operator:
        case BinaryOperator.ADD:
            return _sum(one, other)
        case BinaryOperator.SUBTRACT:
            if _remainder_or_padding(left, right):
                return _ZERO, None
            return _sum(one, _negated(other))
        case BinaryOperator.MULTIPLY:
            return _product(left, right, one, other)
        case BinaryOperator.DIVIDE:
            assert isinstance(right, Number)
            low, high = one
            return (
                None if low is None else low / right.value,
                None if high is None else high / right.value,
            )


def _remainder_or_padding(left: Expression, right: Expression) -> bool:
    """Whether left - right is x - m*floor(x/m) or m*ceil(x/m) - x."""
    return right == _multiple(Function.FLOOR, left, right) or left == _multiple(
        Function.CEIL, right, left
    )


def _multiple(function: Function, of: Expression, like: Expression) -> Expression | None:
    """``m*function(of/m)`` with the m that ``like`` starts with."""
    match like:
        case Binary(BinaryOperator.MULTIPLY, Number(m), _) if m > 1:
            return times(m, quotient(function, of, m))
    return None


def _product(left: Expression, right: Expression, one: Ends, other: Ends) -> Ends:
    if left == right or _neighbours(left, right):
        return _ZERO, None  # x*x, and x*(x + 1) or x*(x - 1) over the integers
    if one[0] is not None and other[0] is not None and one[0] >= 0 and other[0] >= 0:
        high = None if one[1] is None or other[1] is None else one[1] * other[1]
        return one[0] * other[0], high
    corners = [None if a is None or b is None else a * b for a in one for b in other]
    known = [corner for corner in corners if corner is not None]
    return (min(known), max(known)) if len(known) == 4 else (None, None)


def _neighbours(left: Expression, right: Expression) -> bool:
    match right:
        case Binary(BinaryOperator.ADD | BinaryOperator.SUBTRACT, Name() as name, Number(1)) if (
            name == left
        ):
            return True
    return False


def _call(
    function: Function, arguments: tuple[Expression, ...], ranges: Mapping[str, Range]
) -> Ends:
    inner = arguments[0]
    if isinstance(inner, Call) and inner.function is Function.LOG2:
        return _ZERO, None
    inside = [ends(argument, ranges) for argument in arguments]
    lows = [low for low, _ in inside if low is not None]
    highs = [high for _, high in inside if high is not None]
    match function:
        case Function.MIN:
            low = min(lows) if len(lows) == len(inside) else None
            return low, min(highs, default=None)
        case Function.MAX:
            high = max(highs) if len(highs) == len(inside) else None
            return max(lows, default=None), high
        case Function.CEIL:
            low, high = inside[0]
            return (
                None if low is None else Fraction(-(-low // 1)),
                None if high is None else Fraction(-(-high // 1)),
            )
        case Function.FLOOR:
            low, high = inside[0]
            return (
                None if low is None else Fraction(low // 1),
                None if high is None else Fraction(high // 1),
            )
        case Function.LOG2:
            return None, None
