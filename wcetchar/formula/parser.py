"""Text to syntax tree.

The parser is LALR and builds its tree from the leaves up, without recursion: text from strangers
cannot exhaust the stack, however it is nested.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from lark import Lark, Token, Transformer, UnexpectedCharacters, UnexpectedInput, v_args
from lark.exceptions import UnexpectedToken, VisitError

from wcetchar.errors import InputError, Location
from wcetchar.formula.rules import (
    DIVISION_HINT,
    DIVISION_OUTSIDE,
    FUNCTIONS,
    LOG2_HINT,
    LOG2_OUTSIDE,
    MAX_CHARACTERS,
    MAX_DEPTH,
    MAX_NUMBER,
    ROUNDING,
    arity_problem,
)
from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Compare,
    Comparison,
    Expression,
    Function,
    Name,
    Negate,
    Number,
)

_WORDS = {
    "NUMBER": "a number",
    "NAME": "a name",
    "FUNCTION": "a function (" + ", ".join(FUNCTIONS) + ")",
    "LPAR": "'('",
    "RPAR": "')'",
    "COMMA": "','",
    "COMPARE": "a comparison",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "TIMES": "'*'",
    "OVER": "'/'",
    "$END": "the end of the formula",
}
_ORDER = tuple(_WORDS)


def parse(
    text: str, *, where: Location | None = None, names: Collection[str] | None = None
) -> Expression:
    """The syntax tree of ``text``.

    Args:
        where: where the text's first character stands. Errors add their place in the text to it;
            a column that is unknown stays so, and the message names the character in any case.
        names: the names that the formula may use; ``None`` allows any.

    Raises:
        InputError: no formula, or a name that is not in ``names``.
    """
    try:
        parsed = _parse(text)
        _check_names(parsed.names, names)
    except _Mistake as mistake:
        raise _located(mistake, text, where) from None
    return parsed.expression


class _Mistake(Exception):
    """What is wrong at one character of the text (counted from 0)."""

    def __init__(
        self, position: int, message: str, expected: str | None = None, hint: str | None = None
    ) -> None:
        super().__init__(message)
        self.position = position
        self.message = message
        self.expected = expected
        self.hint = hint


@dataclass(frozen=True)
class _Parsed:
    expression: Expression
    names: tuple[tuple[str, int], ...]  # (name, position), in the order of the text


@dataclass(frozen=True)
class _Node:
    """A subtree, with what its surroundings still have to know about it.

    ``division``: position of a division that no ceil or floor encloses yet.
    ``log2``: position, when the subtree is itself a call of log2.
    """

    expression: Expression
    depth: int
    names: tuple[tuple[str, int], ...] = ()
    division: int | None = None
    log2: int | None = None


def _join(expression: Expression, position: int, parts: tuple[_Node, ...]) -> _Node:
    for part in parts:
        if part.log2 is not None:
            raise _Mistake(part.log2, LOG2_OUTSIDE, hint=LOG2_HINT)
    depth = 1 + max(part.depth for part in parts)
    if depth > MAX_DEPTH:
        raise _Mistake(
            position, "formula too deep", expected=f"at most {MAX_DEPTH} levels of operations"
        )
    return _Node(
        expression,
        depth,
        tuple(name for part in parts for name in part.names),
        next((part.division for part in parts if part.division is not None), None),
    )


@v_args(inline=True)
class _Builder(Transformer[Token, _Node]):
    """Called by the parser for each rule as it is reduced."""

    def start(self, node: _Node) -> _Node:
        if node.division is not None:
            raise _Mistake(node.division, DIVISION_OUTSIDE, hint=DIVISION_HINT)
        if node.log2 is not None:
            raise _Mistake(node.log2, LOG2_OUTSIDE, hint=LOG2_HINT)
        return node

    def number(self, token: Token) -> _Node:
        return _Node(Number(_literal(token)), 1)

    def name(self, token: Token) -> _Node:
        return _Node(Name(str(token)), 1, ((str(token), _position(token)),))

    def negate(self, sign: Token, operand: _Node) -> _Node:
        return _join(Negate(operand.expression), _position(sign), (operand,))

    def binary(self, left: _Node, sign: Token, right: _Node) -> _Node:
        operation = Binary(BinaryOperator(str(sign)), left.expression, right.expression)
        return _join(operation, _position(sign), (left, right))

    def divide(self, left: _Node, sign: Token, divisor: Token) -> _Node:
        value = _literal(divisor)
        if value == 0:
            raise _Mistake(_position(divisor), "division by zero", expected="a positive number")
        operation = Binary(BinaryOperator.DIVIDE, left.expression, Number(value))
        node = _join(operation, _position(sign), (left,))
        return node if node.division is not None else replace(node, division=_position(sign))

    def compare(self, left: _Node, sign: Token, right: _Node) -> _Node:
        operation = Compare(Comparison(str(sign)), left.expression, right.expression)
        return _join(operation, _position(sign), (left, right))

    def call(self, word: Token, *arguments: _Node) -> _Node:
        function = Function(str(word))
        position = _position(word)
        problem = arity_problem(function, len(arguments))
        if problem:
            raise _Mistake(position, problem)
        if function in ROUNDING:
            # Rounding is what division and log2 wait for.
            arguments = tuple(replace(node, division=None, log2=None) for node in arguments)
        tree = Call(function, tuple(node.expression for node in arguments))
        node = _join(tree, position, arguments)
        return replace(node, log2=position) if function is Function.LOG2 else node


def _position(token: Token) -> int:
    return token.start_pos or 0


def _literal(token: Token) -> int:
    digits = str(token)
    if len(digits) > 1 and digits[0] == "0":
        # Elsewhere 010 means 8; nobody should have to know what it means here.
        raise _Mistake(
            _position(token), f"number {digits[:20]} starts with 0", expected="a decimal number"
        )
    if len(digits) > len(str(MAX_NUMBER)) or int(digits) > MAX_NUMBER:
        raise _Mistake(
            _position(token), "number too large", expected=f"an integer up to {MAX_NUMBER}"
        )
    return int(digits)


@cache
def _lark() -> Lark:
    return Lark.open_from_package(
        __package__, "formula.lark", parser="lalr", maybe_placeholders=False, transformer=_Builder()
    )


@lru_cache(maxsize=4096)
def _parse(text: str) -> _Parsed:
    if not text.strip(" \t\r\n"):
        raise _Mistake(0, "empty formula", hint="write 1 for something that happens once")
    if len(text) > 4 * MAX_CHARACTERS or len(re.sub(r"[ \t\r\n]+", "", text)) > MAX_CHARACTERS:
        raise _Mistake(0, "formula too long", expected=f"at most {MAX_CHARACTERS} characters")
    try:
        node = _lark().parse(text)
    except UnexpectedInput as error:
        raise _syntax_mistake(error, text) from None
    except VisitError as error:
        if isinstance(error.orig_exc, _Mistake):
            raise error.orig_exc from None
        raise
    assert isinstance(node, _Node)
    return _Parsed(node.expression, node.names)


def _syntax_mistake(error: UnexpectedInput, text: str) -> _Mistake:
    position = error.pos_in_stream
    allowed: Collection[str] = ()
    found = ""
    if isinstance(error, UnexpectedToken):
        # "accepts" leaves out what the table's merged states would refuse a step later.
        allowed = error.accepts or error.expected
        if error.token.type == "$END":
            position = len(text)
        found = str(error.token)
    elif isinstance(error, UnexpectedCharacters):
        allowed = error.allowed or ()
        if "(" not in text:
            allowed = set(allowed) - {"RPAR", "COMMA"}
    if position is None:
        position = len(text)
    found = found or text[position : position + 1]
    expected = ", ".join(_WORDS[word] for word in _ORDER if word in allowed) or None
    if not found:
        return _Mistake(position, "formula ends too early", expected)
    before = re.search(r"([A-Za-z_][A-Za-z0-9_]*)[ \t\r\n]*$", text[:position])
    if found == "(" and before and before[1] not in FUNCTIONS:
        known = ", ".join(FUNCTIONS)
        return _Mistake(before.start(), f"unknown function {_shown(before[1])}", f"one of {known}")
    if before and before[1] in FUNCTIONS:
        return _Mistake(
            before.start(),
            f"{before[1]} without its arguments",
            "'('",
            f"{before[1]} is a function; a parameter needs another name",
        )
    return _Mistake(position, f"unexpected {_shown(found)}", expected)


def _check_names(found: tuple[tuple[str, int], ...], known: Collection[str] | None) -> None:
    if known is None:
        return
    unknown = [(name, position) for name, position in found if name not in known]
    if unknown:
        listed = ", ".join(_shown(name) for name in dict.fromkeys(name for name, _ in unknown))
        raise _Mistake(
            unknown[0][1],
            f"unknown name {listed}",
            "one of " + ", ".join(sorted(known)) if known else "no name: there are no parameters",
        )


def _shown(text: str) -> str:
    """Quoted, without control characters, and never long."""
    return ascii(text if len(text) <= 40 else text[:37] + "...")


def _located(mistake: _Mistake, text: str, where: Location | None) -> InputError:
    lines = text[: mistake.position].split("\n")
    if where is not None:
        if len(lines) == 1:
            if where.column is not None:
                where = replace(where, column=where.column + mistake.position)
        else:
            # After a line break in the text the indentation in the file is unknown.
            line = None if where.line is None else where.line + len(lines) - 1
            where = replace(where, line=line, column=None)
    return InputError(
        f"formula {_shown(text)}, character {mistake.position + 1}: {mistake.message}",
        where=where,
        expected=mistake.expected,
        hint=mistake.hint,
    )
