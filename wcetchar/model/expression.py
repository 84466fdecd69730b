"""Syntax trees of formulas over parameters. ``formula/`` parses, evaluates and prints them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class BinaryOperator(StrEnum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"  # by a positive integer literal, inside ceil or floor only


class Comparison(StrEnum):
    """Comparisons yield 0 or 1."""

    LESS = "<"
    LESS_EQUAL = "<="
    EQUAL = "=="
    NOT_EQUAL = "!="
    GREATER_EQUAL = ">="
    GREATER = ">"


class Function(StrEnum):
    MIN = "min"
    MAX = "max"
    CEIL = "ceil"
    FLOOR = "floor"
    LOG2 = "log2"  # inside ceil or floor only; log2 of anything below 1 counts as 0


@dataclass(frozen=True)
class Number:
    value: int


@dataclass(frozen=True)
class Name:
    name: str


@dataclass(frozen=True)
class Binary:
    operator: BinaryOperator
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Negate:
    operand: Expression


@dataclass(frozen=True)
class Compare:
    operator: Comparison
    left: Expression
    right: Expression


@dataclass(frozen=True)
class Call:
    function: Function
    arguments: tuple[Expression, ...]


Expression = Number | Name | Binary | Negate | Compare | Call

ONE = Number(1)


def product_of(factors: Iterable[Expression]) -> Expression:
    """From left to right; 1 where there are none."""
    found: Expression | None = None
    for factor in factors:
        found = factor if found is None else Binary(BinaryOperator.MULTIPLY, found, factor)
    return found or ONE
