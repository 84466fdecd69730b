"""Terms evaluated on numbers, independently of the analysis that evaluates them on sets."""

from __future__ import annotations

from collections.abc import Sequence

from wcetchar.model.term import (
    Constant,
    Operation,
    Operator,
    RegisterValue,
    Relation,
    Term,
)

MODULUS = 1 << 32


def signed(value: int) -> int:
    return value - MODULUS if value >> 31 else value


class Unsaid(Exception):
    """Of a division by zero nothing is said."""


def evaluate(term: Term, registers: Sequence[int]) -> int:
    match term:
        case Constant(value):
            assert 0 <= value < MODULUS
            return value
        case RegisterValue(number):
            return registers[number]
        case Operation(operator, left, right):
            return _calculate(operator, evaluate(left, registers), evaluate(right, registers))
    raise AssertionError(term)


def _calculate(operator: Operator, a: int, b: int) -> int:
    match operator:
        case Operator.ADD:
            found = a + b
        case Operator.SUBTRACT:
            found = a - b
        case Operator.MULTIPLY:
            found = a * b
        case Operator.AND:
            found = a & b
        case Operator.OR:
            found = a | b
        case Operator.XOR:
            found = a ^ b
        case Operator.SHIFT_LEFT:
            found = a << b if b < 32 else 0
        case Operator.SHIFT_RIGHT:
            found = a >> b
        case Operator.SHIFT_RIGHT_SIGNED:
            found = signed(a) >> min(b, 31)
        case Operator.LESS:
            found = int(a < b)
        case Operator.LESS_SIGNED:
            found = int(signed(a) < signed(b))
        case Operator.DIVIDE | Operator.REMAINDER:
            if b == 0:
                raise Unsaid
            found = a // b if operator is Operator.DIVIDE else a % b
        case Operator.DIVIDE_SIGNED | Operator.REMAINDER_SIGNED:
            if b == 0:
                raise Unsaid
            x, y = signed(a), signed(b)
            quotient = abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)
            found = quotient if operator is Operator.DIVIDE_SIGNED else x - quotient * y
    return found % MODULUS


def related(a: int, relation: Relation, b: int) -> bool:
    if relation.value.endswith("s"):
        a, b = signed(a), signed(b)
    match relation.value.rstrip("s"):
        case "==":
            return a == b
        case "!=":
            return a != b
        case "<":
            return a < b
        case "<=":
            return a <= b
        case ">":
            return a > b
        case ">=":
            return a >= b
    raise AssertionError(relation)
