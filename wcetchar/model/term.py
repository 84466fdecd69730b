"""What an instruction computes, as terms over the registers as they were before it.

Everything is of 32 bits and wraps around. ``isa/`` fills the terms in where the result is worth
following; an instruction whose result has no term still says in ``Instruction.defs`` which
registers it writes, and their values are then unknown. ``static/values`` evaluates terms over sets
of values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

WORD: Final = 0xFFFFFFFF


class Operator(StrEnum):
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    """The low 32 bits of the product."""
    AND = "and"
    OR = "or"
    XOR = "xor"
    # Shifts are by any amount: 32 and more leave no bit of the value, or only its sign.
    SHIFT_LEFT = "<<"
    SHIFT_RIGHT = ">>"
    SHIFT_RIGHT_SIGNED = ">>s"
    # Nothing is said of the quotient and the remainder where the divisor is 0: instruction sets
    # differ there. Rounded towards zero.
    DIVIDE = "/"
    DIVIDE_SIGNED = "/s"
    REMAINDER = "%"
    REMAINDER_SIGNED = "%s"
    # 1 or 0.
    LESS = "<"
    LESS_SIGNED = "<s"


@dataclass(frozen=True, slots=True)
class Constant:
    """``value`` is 0 to 2^32 - 1."""

    value: int


@dataclass(frozen=True, slots=True)
class RegisterValue:
    """What the register held before the instruction."""

    number: int


@dataclass(frozen=True, slots=True)
class Operation:
    operator: Operator
    left: Term
    right: Term


Term = Constant | RegisterValue | Operation


@dataclass(frozen=True, slots=True)
class Assignment:
    """``register`` gets ``value``. Several of one instruction happen at once."""

    register: int
    value: Term


class Relation(StrEnum):
    """Between numbers of 32 bits, read as natural numbers or as signed ones."""

    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    LESS_EQUAL = "<="
    GREATER = ">"
    GREATER_EQUAL = ">="
    LESS_SIGNED = "<s"
    LESS_EQUAL_SIGNED = "<=s"
    GREATER_SIGNED = ">s"
    GREATER_EQUAL_SIGNED = ">=s"

    @property
    def opposite(self) -> Relation:
        """What holds where it does not."""
        return _OPPOSITE[self]

    @property
    def mirrored(self) -> Relation:
        """The same of the operands the other way round."""
        return _MIRRORED.get(self, self)


_PAIRS: Final = (
    (Relation.EQUAL, Relation.NOT_EQUAL),
    (Relation.LESS, Relation.GREATER_EQUAL),
    (Relation.LESS_EQUAL, Relation.GREATER),
    (Relation.LESS_SIGNED, Relation.GREATER_EQUAL_SIGNED),
    (Relation.LESS_EQUAL_SIGNED, Relation.GREATER_SIGNED),
)
_OPPOSITE: Final = dict(_PAIRS) | {two: one for one, two in _PAIRS}
_TURNED: Final = (
    (Relation.LESS, Relation.GREATER),
    (Relation.LESS_EQUAL, Relation.GREATER_EQUAL),
    (Relation.LESS_SIGNED, Relation.GREATER_SIGNED),
    (Relation.LESS_EQUAL_SIGNED, Relation.GREATER_EQUAL_SIGNED),
)
_MIRRORED: Final = dict(_TURNED) | {two: one for one, two in _TURNED}


@dataclass(frozen=True, slots=True)
class Comparison:
    """What an instruction compares, of values before it.

    Attributes:
        taken: of a branch that compares by itself: it is taken exactly where this holds between
            ``left`` and ``right``. ``None``: it sets flags, which later conditions ask for.
        difference: the flags are those of ``left - right``, so that every condition tells how they
            compare. Otherwise only N and Z are known, of ``left``, and ``right`` is 0.
    """

    left: Term
    right: Term
    taken: Relation | None = None
    difference: bool = True

    def holds(self, condition: str) -> tuple[Term, Relation, Term] | None:
        """What is true where an Arm condition holds after it (DDI 0403E, A7.3); ``None``: the
        condition asks for more than is known."""
        zero = Constant(0)
        if not self.difference:
            relation = _OF_RESULT.get(condition)
            return None if relation is None else (self.left, relation, zero)
        if condition in ("mi", "pl"):
            result = Operation(Operator.SUBTRACT, self.left, self.right)
            return result, _OF_RESULT[condition], zero
        relation = _OF_DIFFERENCE.get(condition)
        return None if relation is None else (self.left, relation, self.right)


_OF_DIFFERENCE: Final = {
    "eq": Relation.EQUAL,
    "ne": Relation.NOT_EQUAL,
    "hs": Relation.GREATER_EQUAL,
    "lo": Relation.LESS,
    "hi": Relation.GREATER,
    "ls": Relation.LESS_EQUAL,
    "ge": Relation.GREATER_EQUAL_SIGNED,
    "lt": Relation.LESS_SIGNED,
    "gt": Relation.GREATER_SIGNED,
    "le": Relation.LESS_EQUAL_SIGNED,
}
_OF_RESULT: Final = {
    "eq": Relation.EQUAL,
    "ne": Relation.NOT_EQUAL,
    "mi": Relation.LESS_SIGNED,
    "pl": Relation.GREATER_EQUAL_SIGNED,
}


# --- making terms ---------------------------------------------------------------------------------

ZERO: Final = Constant(0)


def constant(value: int) -> Constant:
    """Of any integer, by its low 32 bits."""
    return Constant(value & WORD)


def operation(operator: Operator, left: Term, right: Term | int) -> Term:
    return Operation(operator, left, constant(right) if isinstance(right, int) else right)


def plus(left: Term, right: Term | int) -> Term:
    """A sum; adding the constant 0 is left out."""
    if isinstance(right, int):
        right = constant(right)
    if right == ZERO:
        return left
    if isinstance(left, Constant) and isinstance(right, Constant):
        return constant(left.value + right.value)
    return Operation(Operator.ADD, left, right)


def minus(left: Term, right: Term | int) -> Term:
    return operation(Operator.SUBTRACT, left, right)


def sign_extended(value: Term, bits: int) -> Term:
    """The low ``bits`` of a value, as a signed number."""
    moved = operation(Operator.SHIFT_LEFT, value, 32 - bits)
    return operation(Operator.SHIFT_RIGHT_SIGNED, moved, 32 - bits)


def rotated(value: Term, amount: int) -> Term:
    """To the right, by 1 to 31 bits."""
    low = operation(Operator.SHIFT_RIGHT, value, amount)
    return Operation(Operator.OR, low, operation(Operator.SHIFT_LEFT, value, 32 - amount))


def registers_of(term: Term) -> Iterator[int]:
    """Numbers of the registers that a term reads, each as often as it does."""
    match term:
        case RegisterValue(number):
            yield number
        case Operation(_, left, right):
            yield from registers_of(left)
            yield from registers_of(right)


def replaced(term: Term, values: dict[int, Term]) -> Term:
    """The term with these registers replaced."""
    match term:
        case RegisterValue(number):
            return values.get(number, term)
        case Operation(operator, left, right):
            left, right = replaced(left, values), replaced(right, values)
            if operator is Operator.ADD:
                return plus(left, right)
            return Operation(operator, left, right)
    return term
