"""From the rules of the grammar to flow facts.

It goes through the parser's tree without recursion, so nothing is nested too deeply for it. What
the grammar says badly is checked here; mistakes are collected, so that a user sees all of them.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass, replace
from typing import Any, Final

from lark import Token, v_args
from lark.visitors import Transformer_NonRecursive

from wcetchar import formula
from wcetchar.errors import InputError, Location
from wcetchar.model.access import Operation
from wcetchar.model.expression import ONE, Comparison, Expression, product_of
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
    PlaceKind,
    Recursion,
    Relation,
    SwitchedAway,
    Targets,
)
from wcetchar.static.facts.relations import Side, Signed, side_of, sides_of, terms_of
from wcetchar.static.facts.scopes import Change, called_from, inside, with_places

MAX_CHAIN: Final = 64
"""Most functions of a chain of calls."""
MAX_LINE: Final = 10_000_000
NO_FUNCTION: Final = "."


@dataclass(frozen=True)
class _Span:
    """From one character of the text to behind another."""

    start: int
    end: int


@dataclass
class Stated:
    """What one fact of the file says (an ``==`` is two facts), and where it stands."""

    position: int
    facts: tuple[Fact, ...]
    in_block: bool = False
    service_block: bool = False


@dataclass(frozen=True)
class _Scope:
    position: int
    services: tuple[str, ...] = ()
    function: str = ""
    chains: tuple[tuple[str, ...], ...] = ()
    present: bool = False


@dataclass(frozen=True)
class _Because:
    text: str


@dataclass(frozen=True)
class _Counted:
    """A count in a term, perhaps with a sign before it."""

    span: _Span
    place: CodePlace
    edge: CodePlace | None
    each: bool
    negative: bool = False


class Source:
    """The text of a file, as it was written and as it is laid out."""

    def __init__(self, path: str, text: str, plain: str) -> None:
        self.path = path
        self.plain = plain
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def location(self, position: int) -> Location:
        line = bisect_right(self._starts, position)
        return Location(self.path, line, position - self._starts[line - 1] + 1)


def position_of(token: Token) -> int:
    return token.start_pos or 0


def _end(token: Token) -> int:
    return token.end_pos or 0


@v_args(inline=True)
class Builder(Transformer_NonRecursive[Token, Any]):
    """``transform`` gives what is stated in the file; ``errors`` is what is wrong with it."""

    def __init__(self, source: Source, recovered: bool = False) -> None:
        """``recovered``: blocks in ``NO_FUNCTION`` stand for ones whose beginning is wrong."""
        super().__init__()
        self.source = source
        self.recovered = recovered
        self.errors: list[InputError] = []

    def error(self, position: int, message: str, **more: str | None) -> None:
        self.errors.append(InputError(message, where=self.source.location(position), **more))  # type: ignore[arg-type]

    # Files and blocks.

    def start(self, *items: Any) -> tuple[Stated, ...]:
        return self._flat(items)

    def _flat(self, items: tuple[Any, ...]) -> tuple[Stated, ...]:
        found: list[Stated] = []
        for item in items:
            found += item if isinstance(item, tuple) else (item,)
        return tuple(found)

    def block(self, scope: _Scope, *items: Any) -> tuple[Stated, ...]:
        stated = tuple(one for one in self._flat(items) if one.facts)  # others have had a mistake
        for one in stated:
            if scope.services:
                self._limit_to_services(one, scope)
            elif scope.function:
                self._limit_to_function(one, scope)
            elif scope.chains:
                self._limit_to_calls(one, scope)
            elif scope.present:
                one.facts = tuple(replace(fact, where_present=True) for fact in one.facts)
        return stated

    def _limit_to_services(self, stated: Stated, scope: _Scope) -> None:
        if stated.service_block:
            self.error(
                scope.position,
                "a block of a service around another one",
                expected="facts, or blocks 'in' and 'called from'",
                hint="close the first one before the second",
            )
            return
        stated.service_block = True
        stated.facts = tuple(replace(fact, services=scope.services) for fact in stated.facts)

    def _limit_to_function(self, stated: Stated, scope: _Scope) -> None:
        if self.recovered and scope.function == NO_FUNCTION:
            return
        if stated.in_block:
            self.error(
                scope.position,
                "a block 'in' around another one",
                expected="one function that what is named by lines lies in",
                hint="name the innermost function, also where it is inlined",
            )
            return
        if self._narrowed(stated, inside(scope.function)):
            stated.in_block = True
        else:
            self.error(
                stated.position,
                f"the block 'in {scope.function}' says nothing of this fact",
                expected="a fact with a place that is a line, or a text, without an 'in'",
                hint="move it out of the block",
            )

    def _limit_to_calls(self, stated: Stated, scope: _Scope) -> None:
        changes = [called_from(chain) for chain in scope.chains]
        if not self._narrowed(stated, *changes):
            self.error(
                stated.position,
                "the block 'called from' says nothing of this fact",
                expected="a fact about a place",
                hint="move it out of the block: it holds wherever its function is called from",
            )

    def _narrowed(self, stated: Stated, *changes: Change) -> bool:
        """The facts with each of the changes, one behind the other."""
        facts = tuple(with_places(fact, change) for change in changes for fact in stated.facts)
        changed = facts != stated.facts * len(changes)
        stated.facts = facts
        long = False

        def look(place: CodePlace) -> CodePlace:
            nonlocal long
            long = long or len(place.called) > MAX_CHAIN
            return place

        for fact in facts:
            with_places(fact, look)
        if long:
            self.error(
                stated.position,
                "too long a chain of calls",
                expected=f"at most {MAX_CHAIN} functions",
            )
            stated.facts = ()
        return changed

    def in_services(self, word: Token, *services: str) -> _Scope:
        return _Scope(position_of(word), services=services)

    def in_function(self, word: Token, function: Token) -> _Scope:
        return _Scope(position_of(word), function=str(function))

    def in_calls(self, word: Token, *chain: Token) -> _Scope:
        return _Scope(position_of(word), chains=(tuple(map(str, chain)),))

    def in_either(self, word: Token, *functions: Token) -> _Scope:
        return _Scope(position_of(word), chains=tuple((str(one),) for one in functions))

    def in_present(self, word: Token) -> _Scope:
        return _Scope(position_of(word), present=True)

    def service(self, token: Token) -> str:
        return self._unquoted(token)

    # Facts.

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
                where_present="WHERE_PRESENT" in kinds,
            )
            for fact in stated.facts
        )
        return stated

    def because(self, *strings: Token) -> _Because:
        text = " ".join(map(self._unquoted, strings))
        if not text.strip():
            self.error(position_of(strings[0]), "an empty reason", hint="say why the fact holds")
        return _Because(text)

    def _stated(self, word: Token, *facts: Fact) -> Stated:
        return Stated(position_of(word), facts)

    def _where(self, word: Token) -> Location:
        return self.source.location(position_of(word))

    def loop(self, word: Token, place: CodePlace, limit: _Span, total: Token | None) -> Stated:
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

    def recursion(self, word: Token, function: Token, limit: _Span) -> Stated:
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

    def _limit(self, span: _Span, least: int) -> Expression:
        expression = self._formula(span)
        if not formula.names(expression) and formula.evaluate(expression, {}) < least:
            self.error(
                span.start,
                f"at most {formula.to_text(expression)}",
                expected=f"a number from {least} on, or a formula of parameters",
            )
        return expression

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
        return self._stated(word, replace(fact, where=self._where(word), value=value))

    def variable(self, name: Token, plus: Token | None, offset: Token | None) -> EntryValue:
        del plus
        behind = 0 if offset is None else self._integer(offset)
        return EntryValue(Location(self.source.path), name=str(name), offset=behind)

    def integer(self, *tokens: Token) -> int:
        value = self._integer(tokens[-1])
        return -value if len(tokens) > 1 else value

    def _integer(self, token: Token) -> int:
        text = str(token)
        if len(text) > 20:
            self.error(position_of(token), "number too large", expected="one of 64 bits")
            return 0
        if len(text) > 1 and text[0] == "0" and text[1] not in "xX":
            # Elsewhere 010 means 8; nobody should have to know what it means here.
            self.error(
                position_of(token),
                f"number {text} starts with 0",
                expected="a decimal number, or one that starts with 0x",
            )
            return 0
        value = int(text, 0)
        if value >= 1 << 64:
            self.error(position_of(token), "number too large", expected="one of 64 bits")
            return 0
        return value

    # Places.

    def place(
        self, found: tuple[int, CodePlace], function: Token | None, *chain: Token | None
    ) -> CodePlace:
        position, place = found
        called = tuple(str(name) for name in chain if name is not None)
        if len(called) > MAX_CHAIN:
            self.error(
                position, "too long a chain of calls", expected=f"at most {MAX_CHAIN} functions"
            )
            called = ()
        if function is not None and place.kind is PlaceKind.FUNCTION and not place.offset:
            self.error(
                position_of(function),
                f"{place.name} does not lie in {function}",
                expected="a line, a text, a function with an offset, or an address before 'in'",
                hint=f"for where {function} calls it name the line of the call",
            )
        return replace(
            place,
            inside="" if function is None else str(function),
            called=called,
            where=self.source.location(position),
        )

    def at_symbol(
        self, name: Token, plus: Token | None, offset: Token | None
    ) -> tuple[int, CodePlace]:
        del plus
        value = 0 if offset is None else self._integer(offset)
        return position_of(name), CodePlace(PlaceKind.FUNCTION, name=str(name), offset=value)

    def at_line(self, file: tuple[int, str], line: Token) -> tuple[int, CodePlace]:
        number = int(line) if len(line) <= 8 else MAX_LINE + 1
        if number > MAX_LINE:
            self.error(position_of(line), "no file has so many lines", expected="a line's number")
            number = 1
        return file[0], CodePlace(PlaceKind.LINE, file=file[1], line=number)

    def at_text(self, file: tuple[int, str], text: Token) -> tuple[int, CodePlace]:
        wanted = self._unquoted(text)
        if not wanted.strip():
            self.error(position_of(text), "an empty text", expected="what stands in the line")
        return file[0], CodePlace(PlaceKind.TEXT, file=file[1], text=wanted)

    def at_address(self, token: Token) -> tuple[int, CodePlace]:
        return position_of(token), CodePlace(PlaceKind.ADDRESS, address=self._integer(token))

    def function(self, token: Token) -> Token:
        return token

    def file(self, token: Token) -> tuple[int, str]:
        name = self._unquoted(token)
        if not name.strip():
            self.error(position_of(token), "an empty name of a file")
        return position_of(token), name

    def section(self, token: Token) -> str:
        return self._unquoted(token)

    def _unquoted(self, token: Token) -> str:
        text = str(token)
        if not text.startswith('"'):
            return text
        return re.sub(r"\\(.)", r"\1", text[1:-1])

    # Formulas and relations.

    def formula(self, *parts: Token | _Span) -> _Span:
        return _hull(parts)

    def _formula(self, span: _Span) -> Expression:
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
        whole = _Span(position_of(word), _end(right))
        return _Counted(whole, place, edge, each is not None)

    def factor(self, *parts: Any) -> Any:
        counted = parts[-1]
        if isinstance(counted, _Counted):
            if len(parts) == 1:
                return counted
            span = _Span(position_of(parts[0]), counted.span.end)  # a sign before a count
            return replace(counted, span=span, negative=not counted.negative)
        return _hull(parts)

    def term(self, *parts: Any) -> tuple[int, Signed]:
        counts = [part for part in parts if isinstance(part, _Counted)]
        whole = _hull([part.span if isinstance(part, _Counted) else part for part in parts])
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
        factors = [self._formula(part) for part in parts if isinstance(part, _Span)]
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


def _hull(parts: Any) -> _Span:
    first, last = parts[0], parts[-1]
    return _Span(
        first.start if isinstance(first, _Span) else position_of(first),
        last.end if isinstance(last, _Span) else _end(last),
    )
