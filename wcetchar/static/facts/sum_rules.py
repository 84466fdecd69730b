"""Rules of the grammar for formulas, and for the sums of counts that a relation compares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lark import Token, v_args

from wcetchar import formula
from wcetchar.errors import InputError
from wcetchar.model.expression import ONE, Expression, product_of
from wcetchar.model.flow_fact import CodePlace
from wcetchar.static.facts.place_rules import PlaceRules
from wcetchar.static.facts.relations import Side, Signed, side_of
from wcetchar.static.facts.source import Span, end_of, hull, position_of


@dataclass(frozen=True)
class _Counted:
    """A count in a term, perhaps with a sign before it."""

    span: Span
    place: CodePlace
    edge: CodePlace | None
    each: bool
    negative: bool = False


@v_args(inline=True)
class SumRules(PlaceRules):
    """Formulas are read by the parser of ``formula``, from where the grammar delimits them."""

    def formula(self, *parts: Token | Span) -> Span:
        return hull(parts)

    def _formula(self, span: Span) -> Expression:
        """By the parser of formulas, whose mistakes are then placed in the file."""
        start = self.source.location(span.start)
        # On one line, a column says where in the text the mistake is.
        text = self.source.plain[span.start : span.end].replace("\n", " ")
        try:
            return formula.parse(text, where=replace(start, column=1))
        except InputError as error:
            column = 1 if error.where is None else error.where.column or 1
            error.where = self.source.location(span.start + column - 1)
            self.errors.append(error)
            return ONE

    def count(
        self,
        word: Token,
        left: Token,
        each: Token | None,
        place: CodePlace,
        edge: CodePlace | None,
        right: Token,
    ) -> _Counted:
        del left
        if each is not None and edge is not None:
            self.error(
                position_of(each),
                "each of several ways from one place to another",
                expected="count(each PLACE)",
            )
        whole = Span(position_of(word), end_of(right))
        return _Counted(whole, place, edge, each is not None)

    def factor(self, *parts: Any) -> Any:
        counted = parts[-1]
        if isinstance(counted, _Counted):
            if len(parts) == 1:
                return counted
            span = Span(position_of(parts[0]), counted.span.end)  # a sign before a count
            return replace(counted, span=span, negative=not counted.negative)
        return hull(parts)

    def term(self, *parts: Any) -> tuple[int, Signed]:
        counts = [part for part in parts if isinstance(part, _Counted)]
        whole = hull([part.span if isinstance(part, _Counted) else part for part in parts])
        if not counts:
            return whole.start, Signed(False, self._formula(whole))
        one = counts[0]
        if len(counts) > 1:
            self.error(
                whole.start, "a product of counts", expected="a count times a formula of parameters"
            )
        if any(isinstance(part, Token) and part.type == "OVER" for part in parts):
            self.error(
                whole.start,
                "a quotient of counts",
                expected="a count times a formula of parameters",
                hint="multiply the other side",
            )
            return whole.start, Signed(False, ONE, one.place, one.edge, one.each)
        factors = [self._formula(part) for part in parts if isinstance(part, Span)]
        factor = product_of(factors)
        try:
            formula.names(factor)
        except InputError as error:
            error.where = self.source.location(whole.start)
            self.errors.append(error)
            factor = ONE
        return whole.start, Signed(one.negative, factor, one.place, one.edge, one.each)

    def side(self, *parts: Any) -> tuple[int, Side]:
        signed: list[Signed] = []
        negative = False
        for part in parts:
            if isinstance(part, Token):
                negative = part.type == "MINUS"
                continue
            _, one = part
            signed.append(replace(one, negative=negative != one.negative))
            negative = False
        side = side_of(signed)
        position: int = parts[0][0]
        if side.constant is not None:
            try:
                formula.names(side.constant)
            except InputError as error:
                error.where = self.source.location(position)
                self.errors.append(error)
                side = replace(side, constant=None)
        return position, side
