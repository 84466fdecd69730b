"""Text to flow facts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection
from functools import cache
from typing import Final

from lark import Lark, UnexpectedCharacters, UnexpectedInput
from lark.exceptions import UnexpectedToken

from wcetchar.errors import InputError, Location, several
from wcetchar.model.flow_fact import FactsFile
from wcetchar.static.facts.builder import NO_FUNCTION, Builder
from wcetchar.static.facts.fact_rules import Stated
from wcetchar.static.facts.layout import laid_out, open_block, statement_at
from wcetchar.static.facts.source import Source

MAX_CHARACTERS: Final = 100_000
"""Longest file."""
MAX_LINE: Final = 10_000
"""Longest line, with those that a fact goes on in; blanks around it are not counted."""
MOST_MISTAKES: Final = 10
"""Mistakes of grammar that are reported at once; each of them has the file read once more."""

_WORDS: Final = {
    "SERVICE": "'service'",
    "IN": "'in'",
    "CALLED": "'called from'",
    "WHERE_PRESENT": "'where present'",
    "OBSERVED": "'observed'",
    "LOOP": "'loop at'",
    "NEVER": "'never'",
    "CALL": "'call at'",
    "JUMP": "'jump at'",
    "RECURSION": "'recursion of'",
    "COUNT": "'count(PLACE)'",
    "EXCLUSIVE": "'exclusive'",
    "NO": "'no return from'",
    "ACCESS": "'access at', 'read at', 'write at'",
    "SWITCH": "'switch at'",
    "SWITCH_AT": "'switch at'",
    "AT_ENTRY": "'at entry', 'at thread start'",
    "AT_START": "'at thread start'",
    "SYMBOL": "a function's or variable's name",
    "FILE": 'a place in a file (FILE:12 or FILE:"text")',
    "ADDRESS": "an address (0x...)",
    "SECTION": "a section's name",
    "PATTERN": "a service's name",
    "STRING": "a text in quotes",
    "LINE": "a line's number",
    "OFFSET": "a number",
    "NUMBER": "a number",
    "NAME": "a parameter's name",
    "FUNCTION": "a function (min, max, ceil, floor, log2)",
    "_AT": "'at'",
    "_MOST": "'most'",
    "_OF": "'of'",
    "_FROM": "'from'",
    "_RETURN": "'return'",
    "_INSIDE": "'in'",
    "_CALLED_FROM": "'called from'",
    "_THROUGH": "'through'",
    "_TOTAL": "'total'",
    "_BECAUSE": "'because'",
    "COLON": "':'",
    "COMMA": "','",
    "LPAR": "'('",
    "RPAR": "')'",
    "_ARROW": "'->'",
    "COMPARE": "a comparison",
    "PLUS": "'+'",
    "MINUS": "'-'",
    "TIMES": "'*'",
    "OVER": "'/'",
    "EACH": "'each'",
    "LBRACE": "'{'",
    "RBRACE": "'}'",
    "_NL": "the end of the line",
    "$END": "the end of the file",
}
_ANY_BLOCK: Final = f"in {NO_FUNCTION}"
"""Stands for the beginning of a block that is wrong, while other mistakes are looked for."""
_BEGIN: Final = {
    "service": "SERVICE",
    "in": "IN",
    "called": "CALLED",
    "where": "WHERE_PRESENT",
    "observed": "OBSERVED",
    "loop": "LOOP",
    "never": "NEVER",
    "call": "CALL",
    "jump": "JUMP",
    "recursion": "RECURSION",
    "count": "COUNT",
    "exclusive": "EXCLUSIVE",
    "no": "NO",
    "access": "ACCESS",
    "read": "ACCESS",
    "write": "ACCESS",
    "switch": "SWITCH",
    "at": "AT_ENTRY",
}
"""First words of facts and blocks."""


def parse_facts(text: str, path: str) -> FactsFile:
    """The facts of a file, in its order.

    Args:
        path: of the file, for places in it.

    Raises:
        InputError: one mistake, or :class:`~wcetchar.errors.InputErrors` with all that were found.
    """
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"{len(text)} characters of flow facts",
            where=Location(path),
            expected=f"at most {MAX_CHARACTERS}",
        )
    plain = laid_out(text)
    errors: list[InputError] = []
    start = 0
    for line in plain.split("\n"):
        if len(line.strip()) > MAX_LINE:
            where = Source(path, text, plain).location(start + len(line) - len(line.lstrip()))
            raise InputError(
                "a fact is too long", where=where, expected=f"at most {MAX_LINE} characters"
            )
        start += len(line) + 1
    tree = None
    while tree is None and len(errors) < MOST_MISTAKES:
        try:
            tree = _lark().parse(plain)
        except UnexpectedInput as error:
            mistake, rest = _recovered(error, Source(path, text, plain))
            errors.append(mistake)
            if rest is None:
                break
            plain = rest
    stated: tuple[Stated, ...] = ()
    if tree is not None:
        builder = Builder(Source(path, text, plain), recovered=bool(errors))
        stated = builder.transform(tree)
        errors += builder.errors
    if errors:
        raise several(errors)
    return FactsFile(path, tuple(fact for one in stated for fact in one.facts))


@cache
def _lark() -> Lark:
    return Lark.open_from_package(
        __package__, "flow_facts.lark", parser="lalr", maybe_placeholders=True
    )


def _recovered(error: UnexpectedInput, source: Source) -> tuple[InputError, str | None]:
    """What is wrong, and the text without the fact that it is wrong in; ``None``: the mistake
    concerns blocks, and what follows would be taken for something else than it is."""
    plain = source.plain
    position = _position(error, plain)
    start, end = statement_at(plain, position)
    statement = plain[start:end]
    token = error if isinstance(error, UnexpectedToken) else None
    if token and token.token.type == "$END" and "RBRACE" in token.accepts:
        opened = source.location(open_block(plain)).line
        mistake = InputError(
            "a block that is not closed",
            where=source.location(position),
            expected="'}'",
            hint=f"close the block that is opened in line {opened}",
        )
        return mistake, None
    mistake = _unknown_fact(source, start, statement) or _mistake(error, source, position)
    if not statement.strip():
        return mistake, None
    blanked = " " * len(statement)
    if plain[end : end + 1] == "{":
        # The block's facts are looked at all the same; which scope they have is of no matter.
        if len(statement) < len(_ANY_BLOCK) or statement.startswith(_ANY_BLOCK):
            return mistake, None
        blanked = _ANY_BLOCK.ljust(len(statement))
    return mistake, plain[:start] + blanked + plain[end:]


def _position(error: UnexpectedInput, plain: str) -> int:
    position = error.pos_in_stream
    at_end = isinstance(error, UnexpectedToken) and error.token.type == "$END"
    if at_end or position is None:
        position = len(plain)
    # Where a line ends too early, something is missing behind its last word.
    return position if plain[position : position + 1].strip() else len(plain[:position].rstrip())


def _unknown_fact(source: Source, start: int, statement: str) -> InputError | None:
    first = re.match(r"\s*(?:where\s+present\s+)?(?:observed\s+)?([A-Za-z_]+)", statement)
    if first is None or first[1] in _BEGIN or "count" in statement:
        return None
    near = difflib.get_close_matches(first[1].lower(), _BEGIN, 1)
    return InputError(
        f"unknown fact {shown(first[1])}",
        where=source.location(start + first.start(1)),
        expected=", ".join(_WORDS[word] for word in dict.fromkeys(_BEGIN.values())),
        hint=f"did you mean {_WORDS[_BEGIN[near[0]]]}?" if near else None,
    )


def _mistake(error: UnexpectedInput, source: Source, position: int) -> InputError:
    allowed: Collection[str] = ()
    if isinstance(error, UnexpectedToken):
        # "accepts" leaves out what the table's merged states would refuse a step later.
        allowed = error.accepts or error.expected
    elif isinstance(error, UnexpectedCharacters):
        allowed = error.allowed or ()
    words = [_WORDS[word] for word in _WORDS if word in allowed]
    rest = source.plain[position:]
    piece = re.match(r'[A-Za-z0-9_.$]+|"(?:[^"\\\n]|\\["\\])*"|->|[<>=!]=|\S', rest)
    hint = None
    if piece is None:
        what = "a line that ends too early" if rest.strip() else "a file that ends too early"
    elif piece[0] == '"':
        what = 'a text without its closing quote, or with a \\ before something else than " and \\'
    else:
        what = f"unexpected {shown(piece[0])}"
        near = difflib.get_close_matches(piece[0], [word.strip("'") for word in words], 1)
        if near:
            hint = f"did you mean '{near[0]}'?"
        elif piece[0] == "}":
            hint = "there is no block to close" if "RBRACE" not in allowed else None
        elif rest[:1] == '"' and "STRING" not in allowed and "_NL" in allowed:
            hint = "a reason stands behind 'because'"
    return InputError(
        what, where=source.location(position), expected=", ".join(dict.fromkeys(words)), hint=hint
    )


def shown(text: str) -> str:
    """Quoted, without control characters, and never long."""
    return ascii(text if len(text) <= 40 else text[:37] + "...")
