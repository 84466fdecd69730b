"""Comments and line breaks of a file of flow facts: what the grammar does not have to know of.

A fact ends with its line. It goes on in the next one

* behind a comma, a colon, an operator, a comparison or an opening parenthesis,
* and before ``because``, a string, ``{`` and what a fact cannot begin with: one of these signs or a
  closing parenthesis.
"""

from __future__ import annotations

import re
from typing import Final

_PIECE: Final = re.compile(r'"(?:[^"\\\n]|\\.)*"|#[^\n]*')
_BEHIND: Final = frozenset(",:+-*/<>=!(")
_BEFORE: Final = re.compile(r'because(?![A-Za-z0-9_.$@])|[{",:+\-*/<>=!)]')
_RUN: Final = re.compile(r"[^ \t\r\n]+|\n")


def laid_out(text: str) -> str:
    """``text`` with blanks for comments and for line breaks that end nothing. Every character that
    is left stands where it stood."""
    plain = _PIECE.sub(lambda m: m[0] if m[0][0] == '"' else " " * len(m[0]), text)
    left = list(plain)
    breaks: list[int] = []
    last = ""
    for run in _RUN.finditer(plain):
        if run[0] == "\n":
            breaks.append(run.start())
            continue
        if breaks and (last in _BEHIND or _BEFORE.match(plain, run.start())):
            for position in breaks:
                left[position] = " "
        breaks.clear()
        last = run[0][-1]
    return "".join(left)


def statement_at(text: str, position: int) -> tuple[int, int]:
    """Where the fact or the scope around a position of a text that is laid out begins and ends;
    braces and line breaks are in none. Strings do not hold line breaks, and one that holds a brace
    is passed over."""
    start = 0
    for piece in re.finditer(r'"(?:[^"\\\n]|\\.)*"|[{}\n]', text):
        if piece[0][0] == '"':
            continue
        if piece.start() >= position:
            return start, piece.start()
        start = piece.end()
    return start, len(text)


def open_block(text: str) -> int:
    """Where the innermost block begins that is not closed; 0: all are."""
    opened: list[int] = []
    for piece in re.finditer(r'"(?:[^"\\\n]|\\.)*"|[{}]', text):
        if piece[0] == "{":
            opened.append(piece.start())
        elif piece[0] == "}" and opened:
            opened.pop()
    return opened[-1] if opened else 0
