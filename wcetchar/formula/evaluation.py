"""The value of a formula at one set of parameter values, exact."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from operator import eq, ge, gt, index, le, lt, ne
from typing import Final

from wcetchar.errors import InputError
from wcetchar.formula.rules import check
from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Compare,
    Comparison,
    Expression,
    Function,
    Name,
    Negate,
    Number,
)

_COMPARISONS: dict[Comparison, Callable[[Fraction | int, Fraction | int], bool]] = {
    Comparison.LESS: lt,
    Comparison.LESS_EQUAL: le,
    Comparison.EQUAL: eq,
    Comparison.NOT_EQUAL: ne,
    Comparison.GREATER_EQUAL: ge,
    Comparison.GREATER: gt,
}
_MOST_CHECKED: Final = 100_000
_checked: dict[int, tuple[Expression, frozenset[str]]] = {}
"""By ``id``, which stays that of the expression as long as it is here."""


def evaluate(expression: Expression, values: Mapping[str, int]) -> int:
    """The integer value, of any size.

    Raises:
        InputError: a name of the formula has no value (or none that is an integer), or the tree
            is no formula.
    """
    used = _names(expression)
    if not used <= values.keys():
        require(used, values)
    try:
        exact = {name: index(values[name]) for name in used}
    except TypeError:
        name = next(n for n in sorted(used) if not hasattr(values[n], "__index__"))
        raise InputError(
            f"parameter {name} has the value {values[name]!r}", expected="an integer"
        ) from None
    result = _value(expression, exact)
    assert isinstance(result, int)  # check() saw to it: rationals stay inside ceil and floor
    return result


def _names(expression: Expression) -> frozenset[str]:
    """As of :func:`check`, once for each expression: these never change."""
    known = _checked.get(id(expression))
    if known is not None and known[0] is expression:
        return known[1]
    used = check(expression)
    if len(_checked) >= _MOST_CHECKED:
        _checked.clear()
    _checked[id(expression)] = expression, used
    return used


def require(used: frozenset[str], given: Mapping[str, object]) -> None:
    """Raise an InputError that names every parameter without a value."""
    missing = sorted(used - given.keys())
    if missing:
        raise InputError(
            f"no value for parameter {', '.join(missing)}",
            expected="values for " + ", ".join(sorted(used)),
            hint=f"set it, for example {missing[0]}=1",
        )


def _value(expression: Expression, values: Mapping[str, int]) -> Fraction | int:
    match expression:
        case Number(value):
            return value
        case Name(name):
            return values[name]
        case Negate(operand):
            return -_value(operand, values)
        case Compare(operator, left, right):
            return int(_COMPARISONS[operator](_value(left, values), _value(right, values)))
        case Binary(operator, left, right):
            return _binary(operator, _value(left, values), _value(right, values))
        case Call(function, arguments):
            return _call(function, arguments, values)


def _binary(
    operator: BinaryOperator, left: Fraction | int, right: Fraction | int
) -> Fraction | int:
    match operator:
        case BinaryOperator.ADD:
            return left + right
        case BinaryOperator.SUBTRACT:
            return left - right
        case BinaryOperator.MULTIPLY:
            return left * right
        case BinaryOperator.DIVIDE:
            return Fraction(left) / right


def _call(
    function: Function, arguments: tuple[Expression, ...], values: Mapping[str, int]
) -> Fraction | int:
    first = arguments[0]
    if isinstance(first, Call) and first.function is Function.LOG2:
        of = _value(first.arguments[0], values)
        # 2**k <= x is the same as 2**k <= floor(x), and x <= 2**k as ceil(x) <= 2**k.
        if function is Function.FLOOR:
            return max(math.floor(of), 1).bit_length() - 1
        return (max(math.ceil(of), 1) - 1).bit_length()
    operands = [_value(argument, values) for argument in arguments]
    match function:
        case Function.MIN:
            return min(operands)
        case Function.MAX:
            return max(operands)
        case Function.CEIL:
            return math.ceil(operands[0])
        case Function.FLOOR:
            return math.floor(operands[0])
        case Function.LOG2:
            raise AssertionError("check() lets log2 stand only inside ceil or floor")
