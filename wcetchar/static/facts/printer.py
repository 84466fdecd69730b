"""Flow facts to canonical text.

Facts that follow one another and hold in the same services stand in one block; each place has its
own ``in`` and ``called from``. Relations are written with ``<=``, or with ``>=`` where only the
larger side has a count, and two that are each other's reverse with ``==``. What was parsed is read
back as the same facts.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from wcetchar import formula
from wcetchar.errors import InputError
from wcetchar.model.expression import (
    ONE,
    Binary,
    BinaryOperator,
    Call,
    Compare,
    Expression,
    Name,
    Negate,
    Number,
)
from wcetchar.model.flow_fact import (
    Accesses,
    CodePlace,
    EntryValue,
    Exclusive,
    Fact,
    FactOrigin,
    FactsFile,
    LoopBound,
    Never,
    NoReturn,
    PlaceKind,
    Recursion,
    Relation,
    SwitchedAway,
    Targets,
    Term,
)
from wcetchar.static.facts.relations import Side, sides_of, terms_of

WIDTH: Final = 100
_INDENT: Final = "    "
_SYMBOL: Final = re.compile(r"[A-Za-z_.$][A-Za-z0-9_.$]*(?:@0x[0-9A-Fa-f]+)?")
_FILE: Final = re.compile(r"[A-Za-z0-9_./+~@%=-]+")
_SECTION: Final = re.compile(r"[A-Za-z0-9_.$/-]+")
_SERVICE: Final = re.compile(r"[A-Za-z0-9_.*?/-]+")
_WORDS: Final = frozenset(
    {
        *(
            "service",
            "in",
            "called",
            "where",
            "observed",
            "loop",
            "never",
            "call",
            "jump",
            "recursion",
        ),
        *("exclusive", "no", "access", "read", "write", "switch", "at", "count"),
    }
)
"""A relation cannot begin with one of these as a parameter's name."""


def to_text(facts: FactsFile | Sequence[Fact]) -> str:
    """The canonical text; ``parse_facts`` gives the facts back, with their new places.

    Raises:
        InputError: a fact that cannot be written, such as one with a name that is none.
    """
    listed = facts.facts if isinstance(facts, FactsFile) else facts
    lines: list[str] = []
    for services, group in groupby(listed, key=lambda fact: fact.services):
        margin = _INDENT if services else ""
        if services:
            names = ", ".join(_word(name, _SERVICE) for name in services)
            lines.append(f"service {names} {{")
        for fact in _joined(list(group)):
            lines += [f"{margin}{line}" for line in _lines(*fact, WIDTH - len(margin))]
        if services:
            lines.append("}")
    return "".join(f"{line}\n" for line in lines)


def fact_text(fact: Fact) -> str:
    """One fact on one line, without its reason and its services."""
    return _body(fact, "")


def place_text(place: CodePlace) -> str:
    """As it stands in a file."""
    match place.kind:
        case PlaceKind.FUNCTION:
            text = _symbol(place.name) + (f"+0x{place.offset:x}" if place.offset else "")
            if place.inside and not place.offset:
                raise InputError(f"function {place.name} inside of {place.inside} as a place")
        case PlaceKind.LINE:
            text = f"{_word(place.file, _FILE)}:{place.line}"
        case PlaceKind.TEXT:
            text = f"{_word(place.file, _FILE)}:{_quoted(place.text)}"
        case PlaceKind.ADDRESS:
            text = f"0x{place.address:08x}"
    if place.inside:
        text += f" in {_symbol(place.inside)}"
    if place.called:
        text += " called from " + " through ".join(map(_symbol, place.called))
    return text


def _joined(facts: list[Fact]) -> list[tuple[Fact, str]]:
    """Each fact with the comparison that it is written with, if it is a relation."""
    found: list[tuple[Fact, str]] = []
    for fact in facts:
        if isinstance(fact, Relation) and found:
            before, sign = found[-1]
            if sign == "<=" and isinstance(before, Relation) and _reverse(before, fact):
                found[-1] = (before, "==")
                continue
        found.append((fact, "<="))
    return found


def _reverse(one: Relation, other: Relation) -> bool:
    left, right = sides_of(one.terms)
    same = replace(one, terms=(), where=other.where) == replace(other, terms=())
    return same and bool(left.counts) and other.terms == terms_of(right, left)


def _lines(fact: Fact, sign: str, width: int) -> list[str]:
    body = _body(fact, sign)
    if fact.origin is FactOrigin.OBSERVED:
        body = f"observed {body}"
    if fact.where_present:
        body = f"where present {body}"
    if not fact.because:
        return [body]
    reason = f"because {_quoted(fact.because)}"
    if len(body) + 1 + len(reason) <= width:
        return [f"{body} {reason}"]
    return [body, *(_INDENT + line for line in _wrapped(fact.because, width - 2 * len(_INDENT)))]


def _wrapped(reason: str, width: int) -> list[str]:
    """A reason as strings on lines of their own, which are read with a blank between them."""
    parts = textwrap.wrap(reason, width - 8, break_long_words=False, break_on_hyphens=False)
    if " ".join(parts) != reason:  # blanks at its ends, or several in a row
        parts = [reason]
    first, *others = (_quoted(part) for part in parts)
    return [f"because {first}", *(f"        {other}" for other in others)]


def _body(fact: Fact, sign: str) -> str:
    match fact:
        case LoopBound():
            total = " in total" if fact.total else ""
            return f"loop at {place_text(fact.place)}: at most {_limit(fact.limit)}{total}"
        case Never():
            return f"never {'switch at ' if fact.switch else ''}{place_text(fact.place)}"
        case Targets():
            called = all(t.kind is PlaceKind.FUNCTION and not t.offset for t in fact.targets)
            targets = ", ".join(map(place_text, fact.targets))
            return f"{'call' if called else 'jump'} at {place_text(fact.place)}: {targets}"
        case Recursion():
            return f"recursion of {_symbol(fact.function)}: at most {_limit(fact.limit)}"
        case Relation():
            return _relation(fact, sign or "<=")
        case Exclusive():
            return "exclusive " + ", ".join(map(place_text, fact.places))
        case NoReturn():
            return f"no return from {_symbol(fact.function)}"
        case Accesses():
            sections = ", ".join(_word(name, _SECTION) for name in fact.sections)
            word = "access" if fact.operation is None else fact.operation.value
            return f"{word} at {place_text(fact.place)}: {sections}"
        case SwitchedAway():
            return f"switch at {place_text(fact.place)}"
        case EntryValue():
            return _entry(fact)
        case _:
            raise InputError(f"{type(fact).__name__} is no flow fact that can be written")


def _limit(limit: Expression | None) -> str:
    if limit is None:
        raise InputError("a bound without a limit")
    return formula.to_text(limit)


def _entry(fact: EntryValue) -> str:
    variable = _symbol(fact.name) + (f"+0x{fact.offset:x}" if fact.offset else "")
    return f"at {'thread start' if fact.at_start else 'entry'} {variable} == {fact.value}"


# Relations.


def _relation(fact: Relation, sign: str) -> str:
    left, right = sides_of(fact.terms)
    if not left.counts and not right.counts:
        raise InputError("a relation without a count")
    if not left.counts:
        left, right, sign = right, left, ">="
    return f"{_side(left)} {sign} {_side(right)}"


def _side(side: Side) -> str:
    text = " + ".join(map(_count, side.counts))
    if side.constant is None:
        return text or "0"
    added = formula.to_text(side.constant)
    if isinstance(side.constant, Compare):
        added = f"({added})"
    if not text:
        return added
    first = side.constant
    while isinstance(first, Binary) and first.operator in _SUMS:
        first = first.left
    # "- a*b" is the difference of a product, "+ -a*b" the sum of one whose factor has a sign.
    return f"{text} - {added[1:]}" if isinstance(first, Negate) else f"{text} + {added}"


_SUMS: Final = (BinaryOperator.ADD, BinaryOperator.SUBTRACT)


def _count(term: Term) -> str:
    assert term.place is not None
    edge = "" if term.edge is None else f" -> {place_text(term.edge)}"
    each = "each " if term.each else ""
    count = f"count({each}{place_text(term.place)}{edge})"
    return count if term.factor == ONE else f"{_factor(term.factor)}*{count}"


def _factor(factor: Expression) -> str:
    text = formula.to_text(factor)
    first, plain = factor, True
    while isinstance(first, Binary) and first.operator is BinaryOperator.MULTIPLY:
        plain = plain and isinstance(first.right, Number | Name | Call)
        first = first.left
    plain = plain and isinstance(first, Number | Name | Call)
    if isinstance(first, Name) and first.name in _WORDS:
        plain = False
    return text if plain else f"({text})"


# Words.


def _symbol(name: str) -> str:
    if not _SYMBOL.fullmatch(name):
        raise InputError(f"{name!r} is no symbol's name that flow facts can have")
    return name


def _word(text: str, pattern: re.Pattern[str]) -> str:
    return text if pattern.fullmatch(text) else _quoted(text)


def _quoted(text: str) -> str:
    if "\n" in text:
        raise InputError(f"a line break in {text!r}", expected="a text of one line")
    return '"' + re.sub(r'(["\\])', r"\\\1", text) + '"'
