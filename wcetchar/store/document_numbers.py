"""Numbers of a YAML document by their way in it, and the document with others instead.

A way has the keys of the file with dots between them, and the places in lists counted from 0:
``core.clock``, ``regions.external sram.fetch.first``, ``tasks.control.calls.0.times``. For a space
an underscore or a hyphen may stand. A document with other numbers is read as a file that says them,
so it is checked as one.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Any, Final, Generic, TypeVar

from wcetchar.errors import InputError, Location
from wcetchar.store.quantity import looks_like_quantity
from wcetchar.store.source import PlainInt, Source, Steps, shown

_NEAR: Final = 3
T = TypeVar("T")


class DocumentNumbers(Generic[T]):
    """One document, read once."""

    def __init__(
        self, source: Source, numbers: Iterable[Steps], kind: str, read: Callable[[Source], T]
    ) -> None:
        """``numbers``: ways to all that can be replaced; ``kind``: what messages call the file;
        ``read``: what is made of it.

        Raises:
            InputError: the document has mistakes as it is.
        """
        self._source = source
        self._read = read
        self.kind = kind
        self._exact: dict[str, list[Steps]] = {}
        self._ways: dict[str, list[Steps]] = {}
        for steps in numbers:
            self._exact.setdefault(way_of(steps), []).append(steps)
            self._ways.setdefault(_spelled(way_of(steps)), []).append(steps)
        self.with_values({})

    def named(self, way: str) -> Steps:
        """The keys of a number.

        Raises:
            InputError: the file has no such number, or several; without a place.
        """
        found = self._exact.get(way) or self._ways.get(_spelled(way), [])
        if len(found) > 1:
            raise InputError(
                f"{shown(way)} is the way to {len(found)} numbers of {shown(self._source.path)}",
                expected="keys of which no two are spelled alike but for spaces and dots",
            )
        if found:
            return found[0]
        known = list(self._exact)
        close = difflib.get_close_matches(way, known, _NEAR, cutoff=0.4)
        close += [one for one in known if one.endswith(f".{way.rpartition('.')[2]}")][:_NEAR]
        raise InputError(
            f"{shown(self._source.path)} has no number {shown(way)}",
            expected=f"the way to a number in the {self.kind}, such as "
            + ", ".join(f"`{one}`" for one in (list(dict.fromkeys(close)) or known)[:_NEAR]),
            hint=f"a number that a {self.kind} leaves out is written into it first",
        )

    def standing(self) -> Iterator[tuple[Steps, object]]:
        """All that stands in the file and has the shape of a number, in the order of the file."""
        for steps in numbers_of(self._source.data):
            inner: Any = self._source.data
            for step in steps:
                inner = inner[step]
            yield steps, inner

    def with_values(self, values: Mapping[Steps, str]) -> T:
        """What is made of the document with other numbers, as text.

        Raises:
            InputError: it has mistakes with them, those of these numbers without a place.
        """
        data: Any = _copied(self._source.data)
        for steps, text in values.items():
            inner = data
            for step in steps[:-1]:
                if not isinstance(inner[step], dict | list):  # short for both
                    inner[step] = {"first": inner[step], "next": inner[step]}
                inner = inner[step]
            plain = text.removeprefix("-").isdecimal()
            inner[steps[-1]] = PlainInt(int(text), text) if plain else text
        places = {self._source.where(steps) for steps in values}
        try:
            return self._read(self._again(data))
        except InputError as error:
            for one in error.each:
                if one.where in places:
                    one.where = None
            raise

    def _again(self, data: object) -> Source:
        def place(steps: Steps, key: bool) -> Location | None:
            return self._source.place(steps, key)

        mistakes = list(self._source.mistakes)
        own = self._source
        unreadable = set(own.unreadable)
        return Source(own.path, data, place, mistakes, unreadable, advice=own.advice)


def numbers_of(value: object, texts: Container[str] = (), steps: Steps = ()) -> Iterator[Steps]:
    """Ways to all that has the shape of a number; ``texts``: keys of what is none whatever it looks
    like."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in texts:
                yield from numbers_of(inner, texts, (*steps, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from numbers_of(inner, texts, (*steps, place))
    elif looks_like_quantity(value):
        yield steps


def way_of(steps: Steps) -> str:
    return ".".join(map(str, steps))


def _copied(value: object) -> object:
    """With mappings and lists of its own."""
    if isinstance(value, dict):
        return {k: _copied(v) for k, v in value.items()}
    return [_copied(v) for v in value] if isinstance(value, list) else value


def _spelled(way: str) -> str:
    return way.strip().replace("_", " ").replace("-", " ").lower()
