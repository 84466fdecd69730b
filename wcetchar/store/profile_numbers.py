"""Numbers of a hardware profile by their way in the YAML, and the profile with others instead.

A way has the keys of the file with dots between them: ``core.clock``,
``regions.external sram.fetch.first``, ``core.instruction cache.size``. For a space an underscore or
a hyphen may stand. ``fetch: 14 ns`` is short for ``first`` and ``next``, which have ways of their
own. A profile with other numbers is read as a file that says them, so it is checked as one.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from typing import Any, Final

from wcetchar.errors import InputError, Location
from wcetchar.model.access import Operation
from wcetchar.model.hardware import HardwareProfile
from wcetchar.store.based_on import with_base
from wcetchar.store.document import PROFILE, read_document
from wcetchar.store.names import profile_path
from wcetchar.store.profile import profile_of
from wcetchar.store.quantity import looks_like_quantity
from wcetchar.store.source import PlainInt, Source, Steps, shown

_OPERATIONS: Final = frozenset(operation.value for operation in Operation)
_TEXTS: Final = ("schema", "name", "description", "note", "default map", "base")
"""Keys of what is no number that makes anything faster or slower."""
_NEAR: Final = 3


class ProfileNumbers:
    """One profile, read once."""

    def __init__(self, name_or_path: str) -> None:
        """Raises:
        InputError: as of ``load_profile``.
        """
        self._source = with_base(read_document(profile_path(name_or_path), PROFILE))
        profile_of(self._again(self._source.data))
        self._ways = {_spelled(way_of(steps)): steps for steps in _numbers(self._source.data, ())}

    def named(self, way: str) -> Steps:
        """The keys of a number.

        Raises:
            InputError: the profile has no such number; without a place.
        """
        found = self._ways.get(_spelled(way))
        if found is not None:
            return found
        known = [way_of(steps) for steps in self._ways.values()]
        close = difflib.get_close_matches(way, known, _NEAR, cutoff=0.4)
        close += [one for one in known if one.endswith(f".{way.rpartition('.')[2]}")][:_NEAR]
        raise InputError(
            f"{shown(self._source.path)} has no number {shown(way)}",
            expected="the way to a number in the profile, such as "
            + ", ".join(f"`{one}`" for one in (list(dict.fromkeys(close)) or known)[:_NEAR]),
            hint="a number that a profile leaves out is written into it first",
        )

    def with_values(self, values: Mapping[Steps, str]) -> HardwareProfile:
        """The profile with other numbers, as text.

        Raises:
            InputError: it has mistakes with them, those of these numbers without a place.
        """
        data: Any = _copied(self._source.data)
        for steps, text in values.items():
            inner = data
            for step in steps[:-1]:
                if not isinstance(inner[step], dict):  # short for both
                    inner[step] = {"first": inner[step], "next": inner[step]}
                inner = inner[step]
            plain = text.removeprefix("-").isdecimal()
            inner[steps[-1]] = PlainInt(int(text), text) if plain else text
        source = self._again(data)
        places = {self._source.where(steps) for steps in values}
        try:
            return profile_of(source)
        except InputError as error:
            for one in error.each:
                if one.where in places:
                    one.where = None
            raise

    def _again(self, data: object) -> Source:
        def place(steps: Steps, key: bool) -> Location | None:
            return self._source.place(steps, key)

        mistakes = list(self._source.mistakes)
        return Source(self._source.path, data, place, mistakes, set(self._source.unreadable))


def _copied(value: object) -> object:
    """With mappings of its own."""
    return {k: _copied(v) for k, v in value.items()} if isinstance(value, dict) else value


def way_of(steps: Steps) -> str:
    return ".".join(map(str, steps))


def _numbers(value: object, steps: Steps) -> Iterator[Steps]:
    """Ways to all that has the shape of a number."""
    if isinstance(value, dict):
        if _is_time(steps) and "first" in value:
            yield steps
        for key, inner in value.items():
            if key not in _TEXTS:
                yield from _numbers(inner, (*steps, key))
    elif looks_like_quantity(value):
        yield steps
        if _is_time(steps):
            yield from ((*steps, "first"), (*steps, "next"))


def _is_time(steps: Steps) -> bool:
    """Of an access: one for both, or the first and the next."""
    return len(steps) == 3 and steps[0] == "regions" and steps[2] in _OPERATIONS


def _spelled(way: str) -> str:
    return way.strip().replace("_", " ").replace("-", " ").lower()
