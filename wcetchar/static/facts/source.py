"""The text of a file of flow facts, and where in it something stands."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from lark import Token

from wcetchar.errors import Location


@dataclass(frozen=True)
class Span:
    """From one character of the text to behind another."""

    start: int
    end: int


class Source:
    """The text of a file, as it was written and as it is laid out."""

    def __init__(self, path: str, text: str, plain: str) -> None:
        self.path = path
        self.plain = plain
        self._starts = [0, *(m.end() for m in re.finditer("\n", text))]

    def location(self, position: int) -> Location:
        """Of a character, by its number."""
        line = bisect_right(self._starts, position)
        return Location(self.path, line, position - self._starts[line - 1] + 1)


def position_of(token: Token) -> int:
    return token.start_pos or 0


def end_of(token: Token) -> int:
    return token.end_pos or 0


def hull(parts: Sequence[Token | Span]) -> Span:
    """From the first of them to the last."""
    first, last = parts[0], parts[-1]
    return Span(
        first.start if isinstance(first, Span) else position_of(first),
        last.end if isinstance(last, Span) else end_of(last),
    )
