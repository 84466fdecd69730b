"""Relations between counts: the two sides of a comparison as one sum, and back.

In a relation ``sum of terms <= 0`` the terms of the left side stand before those of the right side,
which have the factor ``Negate(...)``; of each side counts stand before the formula that is added to
them, which is one term. What is subtracted stands on the other side. So what was read and written
is read as the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Expression,
    Negate,
    Number,
)
from wcetchar.model.flow_fact import CodePlace, Term

ZERO = Number(0)


@dataclass(frozen=True)
class Signed:
    """A term of one side as it was written: ``place`` is ``None`` where it has no count."""

    negative: bool
    factor: Expression
    place: CodePlace | None = None
    edge: CodePlace | None = None
    each: bool = False


@dataclass(frozen=True)
class Side:
    """A sum: counts with their factors, and what is added to them."""

    counts: tuple[Term, ...]
    constant: Expression | None = None

    @property
    def empty(self) -> bool:
        return not self.counts and self.constant is None


def side_of(signed: Iterable[Signed]) -> Side:
    """What was written on one side."""
    counts: list[Term] = []
    constant: Expression | None = None
    for term in signed:
        if term.place is not None:
            factor = term.factor
            while isinstance(factor, Negate) and isinstance(factor.operand, Negate):
                factor = factor.operand.operand
            factor = negated(factor) if term.negative else factor
            counts.append(Term(factor, term.place, term.edge, term.each))
        elif constant is None:
            constant = Negate(term.factor) if term.negative else term.factor
        else:
            operator = BinaryOperator.SUBTRACT if term.negative else BinaryOperator.ADD
            constant = Binary(operator, constant, term.factor)
    return Side(tuple(counts), None if constant in (ZERO, Negate(ZERO)) else constant)


def negated(factor: Expression) -> Expression:
    return factor.operand if isinstance(factor, Negate) else Negate(factor)


def terms_of(left: Side, right: Side) -> tuple[Term, ...]:
    """Of ``left <= right``."""
    counts = [*left.counts]
    counts += [replace(t, factor=negated(t.factor)) for t in right.counts]
    plus: list[Term] = []
    minus: list[Term] = []
    for term in counts:
        (minus if isinstance(term.factor, Negate) else plus).append(term)
    added = [] if right.constant is None else [right.constant]
    if isinstance(left.constant, Negate):
        # Left where it is, its sign would be taken for that of the right side.
        added.insert(0, left.constant.operand)
    elif left.constant is not None:
        plus.append(Term(left.constant))
    total = _sum(added)
    if total is not None:
        minus.append(Term(Negate(total)))
    return (*plus, *minus)


def sides_of(terms: Iterable[Term]) -> tuple[Side, Side]:
    """Left and right side of ``<=``."""
    counts: tuple[list[Term], list[Term]] = ([], [])
    constants: tuple[list[Expression], list[Expression]] = ([], [])
    for term in terms:
        right = isinstance(term.factor, Negate)
        factor = term.factor.operand if isinstance(term.factor, Negate) else term.factor
        if term.place is None:
            constants[right].append(factor)
        else:
            counts[right].append(replace(term, factor=factor))
    left, right_side = (
        Side(tuple(found), _sum(added)) for found, added in zip(counts, constants, strict=True)
    )
    return left, right_side


def _sum(parts: list[Expression]) -> Expression | None:
    total: Expression | None = None
    for part in parts:
        total = part if total is None else Binary(BinaryOperator.ADD, total, part)
    return total
