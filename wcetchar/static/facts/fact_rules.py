"""Rules of the grammar for facts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from lark import Token, v_args

from wcetchar import formula
from wcetchar.errors import Location
from wcetchar.model.access import Operation
from wcetchar.model.expression import Comparison, Expression
from wcetchar.model.flow_fact import (
    Accesses,
    CodePlace,
    EntryValue,
    Exclusive,
    Fact,
    FactOrigin,
    LoopBound,
    Never,
    NoReturn,
    Recursion,
    Relation,
    SwitchedAway,
    Targets,
)
from wcetchar.static.facts.relations import Side, sides_of, terms_of
from wcetchar.static.facts.source import Span, position_of
from wcetchar.static.facts.sum_rules import SumRules


@dataclass
class Stated:
    """What one fact of the file says (an ``==`` is two facts), and where it stands.

    Attributes:
        in_block, service_block: a block ``in``, or one of services, is around it.
    """

    position: int
    facts: tuple[Fact, ...]
    in_block: bool = False
    service_block: bool = False


@dataclass(frozen=True)
class _Because:
    text: str


@v_args(inline=True)
class FactRules(SumRules):
    """Each fact of a file becomes one that is ``Stated``."""

    def fact(self, *parts: Any) -> Stated:
        words = [part for part in parts if isinstance(part, Token)]
        stated: Stated = parts[len(words)]
        last = parts[-1]
        because = last.text if isinstance(last, _Because) else ""
        if words:
            stated.position = position_of(words[0])
        kinds = {word.type for word in words}
        stated.facts = tuple(
            replace(
                fact,
                where=self.source.location(stated.position),
                because=because,
                origin=FactOrigin.OBSERVED if "OBSERVED" in kinds else FactOrigin.WRITTEN,
            )
            for fact in stated.facts
        )
        if "WHERE_PRESENT" in kinds:
            self.where_present(stated)
        return stated

    def where_present(self, stated: Stated) -> None:
        """Says it of the facts, which may be left out then."""
        if any(isinstance(fact, SwitchedAway) for fact in stated.facts):
            self.error(
                stated.position,
                "what asks for a switch cannot be left out",
                expected="`switch at` without `where present`",
                hint="without a request parts would be missing that begin behind it; put it into a "
                "file of the programs that have it",
            )
            stated.facts = ()
        stated.facts = tuple(replace(fact, where_present=True) for fact in stated.facts)

    def because(self, *strings: Token) -> _Because:
        text = " ".join(map(self._unquoted, strings))
        if not text.strip():
            self.error(position_of(strings[0]), "an empty reason", hint="say why the fact holds")
        return _Because(text)

    def _stated(self, word: Token, *facts: Fact) -> Stated:
        return Stated(position_of(word), facts)

    def _where(self, word: Token) -> Location:
        return self.source.location(position_of(word))

    def loop(self, word: Token, place: CodePlace, limit: Span, total: Token | None) -> Stated:
        bound = self._limit(limit, 0)
        fact = LoopBound(self._where(word), place=place, limit=bound, total=total is not None)
        return self._stated(word, fact)

    def never(self, word: Token, switch: Token | None, place: CodePlace) -> Stated:
        return self._stated(word, Never(self._where(word), place=place, switch=switch is not None))

    def targets(self, word: Token, place: CodePlace, *targets: CodePlace) -> Stated:
        for target in targets:
            if target.called:
                self.error(
                    position_of(word),
                    "a target with 'called from'",
                    hint="write it behind the place of the call",
                )
        self._each_once(word, "target", targets)
        return self._stated(word, Targets(self._where(word), place=place, targets=targets))

    def recursion(self, word: Token, function: Token, limit: Span) -> Stated:
        bound = self._limit(limit, 1)
        return self._stated(word, Recursion(self._where(word), function=str(function), limit=bound))

    def exclusive(self, word: Token, *places: CodePlace) -> Stated:
        if len(places) < 2:
            self.error(position_of(word), "a single place that excludes nothing", expected="','")
        self._each_once(word, "place", places)
        return self._stated(word, Exclusive(self._where(word), places=places))

    def no_return(self, word: Token, function: Token) -> Stated:
        return self._stated(word, NoReturn(self._where(word), function=str(function)))

    def access(self, word: Token, place: CodePlace, *sections: str) -> Stated:
        self._each_once(word, "section", sections)
        operation = None if word == "access" else Operation(str(word))
        fact = Accesses(self._where(word), place=place, sections=sections, operation=operation)
        return self._stated(word, fact)

    def switch(self, word: Token, place: CodePlace) -> Stated:
        return self._stated(word, SwitchedAway(self._where(word), place=place))

    def _each_once(self, word: Token, what: str, named: tuple[Any, ...]) -> None:
        if len(set(named)) < len(named):
            self.error(position_of(word), f"a {what} is named twice", expected="each once")

    def _limit(self, span: Span, least: int) -> Expression:
        expression = self._formula(span)
        if not formula.names(expression) and formula.evaluate(expression, {}) < least:
            self.error(
                span.start,
                f"at most {formula.to_text(expression)}",
                expected=f"a number from {least} on, or a formula of parameters",
            )
        return expression

    # Relations.

    def relation(self, left: tuple[int, Side], sign: Token, right: tuple[int, Side]) -> Stated:
        position, one = left
        other = right[1]
        where = self.source.location(position)
        if not one.counts and not other.counts:
            self.error(
                position,
                "a relation without a count",
                expected="count(PLACE), or count(PLACE -> PLACE)",
            )
        if sum(term.each for term in (*one.counts, *other.counts)) > 1:
            self.error(position, "a relation with `each` twice", expected="one count with `each`")
        if str(sign) in ("<=", "=="):
            terms = terms_of(one, other)
        elif str(sign) == ">=":
            terms = terms_of(other, one)
        else:
            self.error(position_of(sign), f"counts compared by {sign}", expected="<=, == or >=")
            return Stated(position, ())
        if str(sign) != "==":
            return Stated(position, (Relation(where, terms=terms),))
        smaller, larger = sides_of(terms)
        if not smaller.counts:
            smaller, larger = larger, smaller
        both = (terms_of(smaller, larger), terms_of(larger, smaller))
        return Stated(position, tuple(Relation(where, terms=terms) for terms in both))

    # Values at entry.

    def entry(self, word: Token, fact: EntryValue, sign: Token, value: int) -> Stated:
        if Comparison(str(sign)) is not Comparison.EQUAL:
            self.error(
                position_of(sign),
                f"a value with {sign}",
                expected="==",
                hint="say by `never` or a relation of counts which paths a range leaves out",
            )
        if not -(1 << 31) <= value < 1 << 32:
            self.error(position_of(word), f"{value} does not fit the variable's 4 bytes")
        at_start = word.type == "AT_START"
        said = replace(fact, where=self._where(word), value=value, at_start=at_start)
        return self._stated(word, said)

    def variable(self, name: Token, plus: Token | None, offset: Token | None) -> EntryValue:
        del plus
        behind = 0 if offset is None else self._integer(offset)
        return EntryValue(Location(self.source.path), name=str(name), offset=behind)

    def integer(self, *tokens: Token) -> int:
        value = self._integer(tokens[-1])
        return -value if len(tokens) > 1 else value
