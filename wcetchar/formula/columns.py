"""The values of a formula at many sets of parameter values at once, exact.

Arithmetic runs on int64 as long as the operands' magnitudes prove that nothing can wrap; from
there on it runs on Python integers. A rational inside ceil or floor is a column of numerators over
one common denominator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wcetchar.errors import InputError
from wcetchar.formula.evaluation import require
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

_LIMIT = 2**63 - 1
_POWERS = np.array([1 << k for k in range(63)], dtype=np.int64)

_COMPARISONS: dict[Comparison, Callable[[Any, Any], Any]] = {
    Comparison.LESS: np.less,
    Comparison.LESS_EQUAL: np.less_equal,
    Comparison.EQUAL: np.equal,
    Comparison.NOT_EQUAL: np.not_equal,
    Comparison.GREATER_EQUAL: np.greater_equal,
    Comparison.GREATER: np.greater,
}


def evaluate_many(
    expression: Expression, columns: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.int64]:
    """The values, one for each element of the columns.

    Args:
        columns: one array of integers for each parameter, all of the same shape. Parameters that
            the formula does not use may be among them; they too give the result its shape.

    Returns:
        An int64 array of the columns' shape (a single element without columns).

    Raises:
        InputError: a name without a column, columns of different shapes or not of integers, a
            value that does not fit 64 bits (nothing ever wraps), or a tree that is no formula.
    """
    require(check(expression), columns)
    shape: tuple[int, ...] = ()
    flat: dict[str, _Column] = {}
    for position, (name, array) in enumerate(columns.items()):
        if not np.issubdtype(array.dtype, np.signedinteger):
            raise InputError(
                f"values of parameter {name} are of type {array.dtype}", expected="int64"
            )
        if position and array.shape != shape:
            raise InputError(
                f"values of parameter {name} have the shape {array.shape}", expected=f"{shape}"
            )
        shape = array.shape
        values = array.astype(np.int64, copy=False).ravel()
        flat[name] = _Column(values, magnitude_of(values))
    count = math.prod(shape)
    result = _fit(_column(expression, flat, count)).values
    if result.dtype == object:
        raise InputError(
            "the formula's value does not fit 64 bits", hint="check the parameters' ranges"
        )
    return np.array(result, dtype=np.int64).reshape(shape)


@dataclass(frozen=True)
class _Column:
    """``values / denominator``, with ``abs(values) <= magnitude``. dtype int64, or object for
    Python integers."""

    values: NDArray[Any]
    magnitude: int
    denominator: int = 1


def magnitude_of(values: NDArray[Any]) -> int:
    """The largest absolute value; of none 0."""
    return max(abs(int(values.max())), abs(int(values.min()))) if values.size else 0


def _fit(column: _Column) -> _Column:
    """As int64, if the actual values allow it."""
    if column.values.dtype != object:
        return column
    magnitude = magnitude_of(column.values)
    lowest, highest = (column.values.min(), column.values.max()) if column.values.size else (0, 0)
    if lowest < -_LIMIT - 1 or highest > _LIMIT:
        return _Column(column.values, magnitude, column.denominator)
    return _Column(column.values.astype(np.int64), magnitude, column.denominator)


def _wide(column: _Column) -> _Column:
    return _Column(column.values.astype(object), column.magnitude, column.denominator)


def _apply(
    operation: Callable[[Any, Any], Any], left: _Column, right: _Column, magnitude: int
) -> _Column:
    """Of columns with the same denominator; ``magnitude`` bounds the result's numerators."""
    if magnitude > _LIMIT or left.values.dtype == object or right.values.dtype == object:
        left, right = _wide(left), _wide(right)
    return _Column(operation(left.values, right.values), magnitude, left.denominator)


def _scaled(column: _Column, factor: int) -> _Column:
    """Numerator and denominator times ``factor``."""
    if factor == 1:
        return column
    magnitude = column.magnitude * factor
    wide = _wide(column) if max(magnitude, factor) > _LIMIT else column
    return _Column(wide.values * factor, magnitude, column.denominator * factor)


def _alike(operands: list[_Column]) -> list[_Column]:
    """Over a common denominator."""
    common = math.lcm(*(operand.denominator for operand in operands))
    return [_scaled(operand, common // operand.denominator) for operand in operands]


def _column(expression: Expression, columns: Mapping[str, _Column], count: int) -> _Column:
    match expression:
        case Number(value):
            return _Column(np.full(count, value, dtype=np.int64), abs(value))
        case Name(name):
            return columns[name]
        case Negate(operand):
            inner = _column(operand, columns, count)
            zero = _Column(np.zeros(count, dtype=np.int64), 0, inner.denominator)
            return _apply(np.subtract, zero, inner, inner.magnitude)
        case Compare(operator, left, right):
            one, other = _alike([_column(left, columns, count), _column(right, columns, count)])
            result = _apply(_COMPARISONS[operator], one, other, 1)
            return _Column(result.values.astype(np.int64), 1)
        case Binary(operator, left, right):
            return _binary(operator, _column(left, columns, count), _column(right, columns, count))
        case Call(function, arguments):
            return _call(function, arguments, columns, count)


def _binary(operator: BinaryOperator, left: _Column, right: _Column) -> _Column:
    match operator:
        case BinaryOperator.DIVIDE:
            # check() saw to it that the divisor is a positive literal, of this magnitude.
            return _Column(left.values, left.magnitude, left.denominator * right.magnitude)
        case BinaryOperator.MULTIPLY:
            product = _apply(np.multiply, left, right, left.magnitude * right.magnitude)
            return _Column(product.values, product.magnitude, left.denominator * right.denominator)
        case BinaryOperator.ADD | BinaryOperator.SUBTRACT:
            one, other = _alike([left, right])
            combine = np.add if operator is BinaryOperator.ADD else np.subtract
            return _apply(combine, one, other, one.magnitude + other.magnitude)


def _call(
    function: Function,
    arguments: tuple[Expression, ...],
    columns: Mapping[str, _Column],
    count: int,
) -> _Column:
    first = arguments[0]
    if isinstance(first, Call) and first.function is Function.LOG2:
        of = _round(function, _column(first.arguments[0], columns, count))
        return _log2(function, of)
    operands = [_column(argument, columns, count) for argument in arguments]
    if function in (Function.CEIL, Function.FLOOR):
        return _round(function, operands[0])
    pick = np.minimum if function is Function.MIN else np.maximum
    alike = _alike(operands)
    largest = max(operand.magnitude for operand in alike)
    return reduce(lambda one, other: _apply(pick, one, other, largest), alike)


def _round(function: Function, column: _Column) -> _Column:
    if column.denominator == 1:
        return column
    divisor = column.denominator
    if divisor > _LIMIT or column.magnitude >= _LIMIT:
        column = _wide(column)
    values = column.values
    rounded = values // divisor if function is Function.FLOOR else -((-values) // divisor)
    return _fit(_Column(rounded, column.magnitude // divisor + 1))


def _log2(function: Function, column: _Column) -> _Column:
    """Of integers, exact; below 1 it is 0."""
    values = column.values
    if values.dtype == object:
        if function is Function.FLOOR:
            logs = [max(int(value), 1).bit_length() - 1 for value in values]
        else:
            logs = [(max(int(value), 1) - 1).bit_length() for value in values]
        return _Column(np.array(logs, dtype=np.int64), max(logs, default=0))
    if function is Function.FLOOR:
        result = np.searchsorted(_POWERS, np.maximum(values, 1), side="right") - 1
    else:
        result = np.searchsorted(_POWERS, values, side="left")
    return _Column(result.astype(np.int64), 63)
