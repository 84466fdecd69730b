"""A file as plain data with a place for every node, and the mistakes found in it so far."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from wcetchar.errors import InputError, InputErrors, Location

Steps = tuple[str | int, ...]
"""Way from the root of a document to a node: keys of mappings and indexes of lists."""

MAX_MISTAKES: Final = 100
"""Mistakes reported of one file; a foreign file can hold as many as it has nodes."""


class PlainInt(int):
    """An integer as it was written, so that `0x10` can still be read as text where text is due."""

    text: str

    def __new__(cls, value: int, text: str) -> PlainInt:
        number = super().__new__(cls, value)
        number.text = text
        return number


@dataclass
class Source:
    """One document.

    Attributes:
        path: the file's name as messages show it.
        data: mappings, lists, text, integers, booleans and ``None``.
        place: gives line and column of a node (``key`` asks for the place of its key).
        unreadable: nodes that a mistake was already reported for; what else fails there follows
            from that mistake and is not reported again.
        advice: what to do about mistakes that have no hint of their own.
    """

    path: str
    data: object
    place: Callable[[Steps, bool], Location | None]
    mistakes: list[InputError] = field(default_factory=list)
    unreadable: set[Steps] = field(default_factory=set)
    advice: str | None = None
    _reported: set[tuple[Location, str]] = field(default_factory=set)

    def where(self, steps: Steps, *, key: bool = False) -> Location:
        """Place of a node, or of its nearest ancestor that exists."""
        for length in range(len(steps), -1, -1):
            found = self.place(steps[:length], key and length == len(steps))
            if found is not None:
                return found
        return Location(self.path)

    def report(
        self,
        steps: Steps,
        message: str,
        *,
        expected: str | None = None,
        hint: str | None = None,
        key: bool = False,
    ) -> None:
        """Note one mistake at a node, once, unless its node could not be read anyway.

        Beyond ``MAX_MISTAKES`` nothing is noted: places take time, and nobody reads on.
        """
        if len(self.mistakes) > MAX_MISTAKES:
            return
        if any(steps[:length] in self.unreadable for length in range(len(steps) + 1)):
            return
        where = self.where(steps, key=key)
        if (where, message) not in self._reported:
            self._reported.add((where, message))
            mistake = InputError(message, where=where, expected=expected, hint=hint)
            mistake.advice = self.advice
            self.mistakes.append(mistake)

    def fail_on_mistakes(self) -> None:
        """Raise everything noted so far.

        Raises:
            InputError: there is one mistake.
            InputErrors: there are several.
        """
        if not self.mistakes:
            return
        if len(self.mistakes) == 1:
            raise self.mistakes[0]
        kept = self.mistakes[:MAX_MISTAKES]
        if len(self.mistakes) > len(kept):
            last = max((e.where for e in kept if e.where), default=None)
            kept.append(InputError("and further mistakes", where=last, hint="correct these first"))
        raise InputErrors(kept)


def places_of(source: Source) -> dict[Steps, Location]:
    """Of every key and list element: what a name refers to is looked up later, in an image."""
    found: dict[Steps, Location] = {}
    todo: list[tuple[Steps, object]] = [((), source.data)]
    while todo:
        steps, value = todo.pop()
        found[steps] = source.where(steps, key=isinstance(value, dict))
        if isinstance(value, dict):
            todo.extend(((*steps, key), item) for key, item in value.items())
        elif isinstance(value, list):
            todo.extend(((*steps, index), item) for index, item in enumerate(value))
    return found


def refuse_surrogates(source: Source) -> None:
    """Note every text that holds half a character: escapes can write it, no file can hold it."""
    todo: list[tuple[Steps, object]] = [((), source.data)]
    while todo:
        steps, value = todo.pop()
        if isinstance(value, str) and _halved(value):
            source.report(steps, f"{shown(value)} holds half a character", expected="valid text")
        elif isinstance(value, dict):
            todo.extend(((*steps, key), item) for key, item in value.items())
            for key in value:
                if _halved(key):
                    message = f"the key {shown(key)} holds half a character"
                    source.report((*steps, key), message, expected="valid text", key=True)
        elif isinstance(value, list):
            todo.extend(((*steps, index), item) for index, item in enumerate(value))


def _halved(text: str) -> bool:
    return any("\ud800" <= sign <= "\udfff" for sign in text)


def read_text(path: str | os.PathLike[str], limit: int) -> str:
    """The whole of a UTF-8 file of at most ``limit`` bytes, without its byte order mark.

    Raises:
        InputError: the file is missing, unreadable, too large or not UTF-8.
    """
    where = Location(str(path))
    try:
        with Path(path).open("rb") as stream:
            raw = stream.read(limit + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise InputError(
            f"cannot be read: {reason}",
            where=where,
            expected="a readable file",
            hint="check the name and its permissions",
        ) from error
    if len(raw) > limit:
        raise InputError(
            f"is larger than {limit} bytes",
            where=where,
            expected=f"at most {limit} bytes",
            hint="check that it is the right file",
        )
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        raise InputError(
            f"byte {raw[error.start]:#04x} is not UTF-8 text",
            where=Location(str(path), line, column),
            expected="UTF-8 text",
            hint="save the file as UTF-8",
        ) from error


def shown(value: object, limit: int = 60) -> str:
    """A value from a file as a message may show it: short, in backticks, nothing unprintable."""
    if isinstance(value, PlainInt):
        text = value.text
    elif isinstance(value, str):
        text = value
    elif value is None:
        text = "null"
    elif isinstance(value, bool):
        text = "true" if value else "false"
    elif isinstance(value, dict):
        return "a mapping"
    elif isinstance(value, list):
        return "a list"
    elif isinstance(value, int) and value.bit_length() > 256:
        return "a number of many digits"
    else:
        text = str(value)
    if len(text) > limit:
        text = text[: limit - 3] + "..."
    if not text.isprintable():
        text = ascii(text)[1:-1]
    return f"`{text}`"
