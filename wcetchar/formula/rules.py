"""What makes a syntax tree a formula, beyond what the grammar says.

The same rules hold for trees that were parsed and for trees that were built by analysis, so that
nothing can be written to a file that could not be read back.
"""

from __future__ import annotations

import re

from wcetchar.errors import InputError
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

MAX_CHARACTERS = 4_000
"""Longest formula, blanks not counted (printing adds blanks, and must not make it too long)."""

MAX_DEPTH = 64
"""Deepest syntax tree; a leaf has depth 1, and a sum of n terms has depth n at least."""

MAX_NUMBER = 2**63 - 1
"""Largest literal."""

FUNCTIONS = tuple(function.value for function in Function)
"""Reserved: no parameter can have one of these names."""

ROUNDING = (Function.CEIL, Function.FLOOR)

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

DIVISION_OUTSIDE = "division outside ceil or floor"
DIVISION_HINT = "say how to round: ceil(a/4) or floor(a/4)"
LOG2_OUTSIDE = "log2 that is not directly inside ceil or floor"
LOG2_HINT = "say how to round: ceil(log2(a)) or floor(log2(a))"


def arity_problem(function: Function, count: int) -> str | None:
    """Why ``function`` cannot have ``count`` arguments, or ``None``."""
    if function in (Function.MIN, Function.MAX):
        return None if count >= 2 else f"{function} takes two or more arguments, here {count}"
    return None if count == 1 else f"{function} takes one argument, here {count}"


def children(expression: Expression) -> tuple[Expression, ...]:
    """The direct operands."""
    match expression:
        case Number() | Name():
            return ()
        case Binary(_, left, right) | Compare(_, left, right):
            return (left, right)
        case Negate(operand):
            return (operand,)
        case Call(_, arguments):
            return arguments


def check(expression: Expression) -> frozenset[str]:
    """The names in a well-formed tree.

    Raises:
        InputError: the tree is no formula: too deep, a division or log2 in the wrong place, a
            divisor that is no positive literal, a wrong number of arguments, a name that is
            reserved or malformed, or something that is no expression at all.
    """
    found: set[str] = set()
    _check(expression, 1, False, found)
    return frozenset(found)


def _check(expression: Expression, depth: int, rounded: bool, found: set[str]) -> None:
    """``rounded``: somewhere inside ceil or floor, where values may be rational."""
    if depth > MAX_DEPTH:
        raise InputError("formula too deep", expected=f"at most {MAX_DEPTH} levels of operations")
    match expression:
        case Number(value):
            if not isinstance(value, int) or isinstance(value, bool) or abs(value) > MAX_NUMBER:
                raise InputError(
                    f"number {value!r} in a formula", expected=f"an integer up to {MAX_NUMBER}"
                )
            return
        case Name(name):
            if not _NAME.fullmatch(name) or name in FUNCTIONS:
                raise InputError(
                    f"name {name!r} in a formula",
                    expected="letters, digits and _, not starting with a digit, no function's name",
                )
            found.add(name)
            return
        case Binary(BinaryOperator.DIVIDE, left, right):
            if not rounded:
                raise InputError(DIVISION_OUTSIDE, hint=DIVISION_HINT)
            if not isinstance(right, Number) or right.value <= 0:
                raise InputError("division by something else than a positive number")
            _check(right, depth + 1, True, found)
            _check(left, depth + 1, True, found)
            return
        case Call(function, arguments):
            problem = arity_problem(function, len(arguments))
            if problem:
                raise InputError(problem)
            if function is Function.LOG2:
                # Reached only when the parent is not ceil or floor: see below.
                raise InputError(LOG2_OUTSIDE, hint=LOG2_HINT)
            if function in ROUNDING:
                rounded = True
                inner = arguments[0]
                if isinstance(inner, Call) and inner.function is Function.LOG2:
                    problem = arity_problem(Function.LOG2, len(inner.arguments))
                    if problem:
                        raise InputError(problem)
                    _check(inner.arguments[0], depth + 2, True, found)
                    return
        case Binary() | Compare() | Negate():
            pass
        case _:
            raise InputError(f"{type(expression).__name__} in a formula")
    for child in children(expression):
        _check(child, depth + 1, rounded, found)
