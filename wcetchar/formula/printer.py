"""Syntax tree to canonical text.

One blank on both sides of ``+ -`` and comparisons, none around ``* /``, one after a comma, and
only the parentheses that the tree needs: ``2*ceil((size + 3)/4) + (N > 1)``. Two different trees
never give the same text, except that ``Number(-3)`` prints like ``Negate(Number(3))``, which is
what it is read back as.
"""

from __future__ import annotations

from wcetchar.formula.rules import check
from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Compare,
    Expression,
    Name,
    Negate,
    Number,
)

# How tightly the outermost operation binds.
_COMPARISON, _SUM, _PRODUCT, _FACTOR, _ATOM = range(5)


def to_text(expression: Expression) -> str:
    """The canonical text; ``parse`` gives the tree back.

    Raises:
        InputError: the tree is no formula (so what is written can always be read).
    """
    check(expression)
    return _text(expression, _COMPARISON)


def _text(expression: Expression, least: int) -> str:
    """``least``: how tightly the text must bind at its place to need no parentheses."""
    text, binds = _bare(expression)
    return text if binds >= least else f"({text})"


def _bare(expression: Expression) -> tuple[str, int]:
    match expression:
        case Number(value):
            return str(value), _ATOM if value >= 0 else _FACTOR
        case Name(name):
            return name, _ATOM
        case Call(function, arguments):
            listed = ", ".join(_text(argument, _COMPARISON) for argument in arguments)
            return f"{function}({listed})", _ATOM
        case Negate(operand):
            return f"-{_text(operand, _FACTOR)}", _FACTOR
        case Binary(BinaryOperator.ADD | BinaryOperator.SUBTRACT as operator, left, right):
            return f"{_text(left, _SUM)} {operator} {_text(right, _PRODUCT)}", _SUM
        case Binary(operator, left, right):
            return f"{_text(left, _PRODUCT)}{operator}{_text(right, _FACTOR)}", _PRODUCT
        case Compare(comparison, left, right):
            return f"{_text(left, _SUM)} {comparison} {_text(right, _SUM)}", _COMPARISON
