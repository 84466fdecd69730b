"""Rules of the grammar for places, names and numbers.

The transformer of the whole grammar (:class:`~wcetchar.static.facts.builder.Builder`) is put
together from classes that build on each other, a module for each part of the grammar. Each has
``v_args`` of its own: lark does not apply it to what is inherited. Mistakes are collected.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any, Final

from lark import Token, v_args
from lark.visitors import Transformer_NonRecursive

from wcetchar.errors import InputError
from wcetchar.model.flow_fact import CodePlace, PlaceKind
from wcetchar.static.facts.source import Source, position_of

MAX_CHAIN: Final = 64
"""Most functions of a chain of calls."""
MOST_LINES: Final = 10_000_000


@v_args(inline=True)
class PlaceRules(Transformer_NonRecursive[Token, Any]):
    """``errors``: what is wrong with the file."""

    def __init__(self, source: Source) -> None:
        super().__init__()
        self.source = source
        self.errors: list[InputError] = []

    def error(self, position: int, message: str, **more: str | None) -> None:
        self.errors.append(InputError(message, where=self.source.location(position), **more))  # type: ignore[arg-type]

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
        number = int(line) if len(line) <= 8 else MOST_LINES + 1
        if number > MOST_LINES:
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

    # Names and numbers.

    def function(self, token: Token) -> Token:
        return token

    def file(self, token: Token) -> tuple[int, str]:
        name = self._unquoted(token)
        if not name.strip():
            self.error(position_of(token), "an empty name of a file")
        return position_of(token), name

    def section(self, token: Token) -> str:
        return self._unquoted(token)

    def service(self, token: Token) -> str:
        return self._unquoted(token)

    def _unquoted(self, token: Token) -> str:
        text = str(token)
        if not text.startswith('"'):
            return text
        return re.sub(r"\\(.)", r"\1", text[1:-1])

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
