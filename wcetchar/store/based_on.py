"""Hardware profiles that say what differs from another one, under ``based on``.

Mappings are merged key by key, however deep; any other value stands in the place of the other
profile's. ``none`` leaves out what the other one has. ``name`` and ``description`` are each file's
own. A profile that says what an `exception entry` takes, and not what a `supervisor call entry`
does, has none of the latter: it is for another hardware, and the one would stand for both there.
The other profile may itself be based on one. Every node keeps the place that it has in its own
file.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from wcetchar.errors import InputError, Location
from wcetchar.model.access import NO_MORE_THAN, EventKind
from wcetchar.store.document import PROFILE, read_document
from wcetchar.store.names import profile_path
from wcetchar.store.source import Source, Steps, shown

BASED_ON: Final = "based on"
NONE: Final = "none"
"""In the place of a value: the other profile's is left out."""
OWN: Final = ("schema", "name", "description", BASED_ON)
"""Keys that are never taken from the other profile."""


def with_base(source: Source) -> Source:
    """A profile with all that it takes from the one that it is based on; a file that does not say
    ``based on`` as it is.

    Raises:
        InputError: the other profile is missing, cannot be read, is no profile, or leads back here.
    """
    return _with_base(source, (_identity(source.path),))


def _with_base(source: Source, chain: tuple[Path, ...]) -> Source:
    if not isinstance(source.data, dict) or BASED_ON not in source.data:
        return source
    where = source.where((BASED_ON,))
    asked = source.data[BASED_ON]
    if not isinstance(asked, str):
        source.report((BASED_ON,), f"{shown(asked)} is no profile", expected=_EXPECTED)
        return source
    path = _path(source.path, asked, where)
    if _identity(path) in chain:
        raise InputError(
            f"{shown(asked)} is based on this profile",
            where=where,
            expected="a profile that is not based on this one",
            hint=f"leave out `{BASED_ON}` in one of them, and say there what it takes from it",
        )
    base = _with_base(read_document(path, PROFILE), (*chain, _identity(path)))
    return _Merged(source, base).source


def profiles_of(source: Source, name: str) -> Iterator[tuple[str, str]]:
    """(name, path) of a profile and of those that it is based on, itself first; names as they are
    asked for.

    Args:
        source: of ``with_base``, or a file for which that raises nothing.
    """
    path = source.path
    while True:
        yield name, path
        document = read_document(path, PROFILE)
        assert isinstance(document.data, dict)
        asked = document.data.get(BASED_ON)
        if not isinstance(asked, str):
            return
        name, path = asked, _path(path, asked, document.where((BASED_ON,)))


_EXPECTED: Final = "the name of a shipped profile, or the path of one from the folder of this file"


def _path(path: str, asked: str, where: Location) -> str:
    beside = Path(path).parent / asked
    try:
        if beside.is_file():
            return str(beside)
        return profile_path(asked)
    except InputError as error:
        error.where, error.expected = where, _EXPECTED
        raise
    except (OSError, ValueError) as error:  # too long a name, or one with a NUL
        message = f"no such hardware profile: {shown(asked)}"
        raise InputError(message, where=where, expected=_EXPECTED) from error


def _identity(path: str) -> Path:
    return Path(path).resolve()


class _Merged:
    """``own``, with what it does not say from ``base``."""

    def __init__(self, own: Source, base: Source) -> None:
        self.own, self.base = own, base
        self.replaced: set[Steps] = set()
        """Values of the base that others stand in the place of, or nothing."""
        assert isinstance(own.data, dict)
        assert isinstance(base.data, dict)
        taken = {key: value for key, value in base.data.items() if key not in OWN}
        said = {key: value for key, value in own.data.items() if key != BASED_ON}
        self.source = Source(own.path, None, self._place, advice=own.advice)
        self.source.mistakes.extend([*base.mistakes, *own.mistakes])
        self.source.unreadable.update(own.unreadable | base.unreadable)
        self.source.data = self._merge((), taken, said)

    def _merge(
        self, steps: Steps, base: dict[str, object], own: dict[str, object]
    ) -> dict[str, object]:
        found = dict(base)
        if steps == _EVENTS:
            # What takes no more than another kind is not known where that is said anew.
            for case in NO_MORE_THAN:
                if case.value not in own and _others(case) & own.keys():
                    found.pop(case.value, None)
        for key, value in own.items():
            inner = (*steps, key)
            before = base.get(key)
            if value == NONE and inner not in _TEXTS:
                self.replaced.add(inner)
                if key in found:
                    del found[key]
                else:
                    self.source.report(
                        inner,
                        f"{shown(self.base.path)} has no {shown(key)} to leave out",
                        expected="a key of the profile that this one is based on",
                        hint="leave this line out",
                        key=True,
                    )
            elif isinstance(value, dict) and isinstance(before, dict):
                found[key] = self._merge(inner, before, value)
            else:
                self.replaced.add(inner)
                found[key] = value
        return found

    def _place(self, steps: Steps, key: bool) -> Location | None:
        found = self.own.place(steps, key)
        if found is not None or not steps:
            return found
        if any(steps[:length] in self.replaced for length in range(1, len(steps) + 1)):
            return None
        return self.base.place(steps, key)


def _others(case: EventKind) -> set[str]:
    """Kinds that it is a case of."""
    found = set()
    while case in NO_MORE_THAN:
        case = NO_MORE_THAN[case]
        found.add(case.value)
    return found


_EVENTS: Final = ("core", "events")
_TEXTS: Final = {("name",), ("description",)}
"""Where ``none`` is a text like any other."""
