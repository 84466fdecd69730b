"""Numbers of a hardware profile by their way in the YAML, and the profile with others instead.

``fetch: 14 ns`` is short for ``first`` and ``next``, which have ways of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.model.access import EventKind, Operation
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.profile_number import Place, ProfileNumber
from wcetchar.store.based_on import with_base
from wcetchar.store.dearer import Dearer, of_profile
from wcetchar.store.document import PROFILE, read_document
from wcetchar.store.document_numbers import DocumentNumbers, numbers_of, way_of
from wcetchar.store.names import profile_path
from wcetchar.store.profile import profile_of
from wcetchar.store.source import Steps

_TEXTS: Final = frozenset(("schema", "name", "description", "note", "default map", "base"))
"""Keys of what is no number that makes anything faster or slower."""
_OTHER_EVENTS: Final = ("core", "other events")
_OPERATIONS: Final = frozenset(operation.value for operation in Operation)


class ProfileNumbers(DocumentNumbers[HardwareProfile]):
    """Of one profile."""

    def __init__(self, name_or_path: str) -> None:
        """Raises:
        InputError: as of ``load_profile``.
        """
        source = with_base(read_document(profile_path(name_or_path), PROFILE))
        super().__init__(source, _numbers(source.data), "profile", profile_of)

    def held(self) -> tuple[ProfileNumber, ...]:
        """Times and clocks that stand in the file, in its order, and what each of them says: of the
        time of an access the first and the next one by themselves as well."""
        found: list[ProfileNumber] = []
        own = {steps[2] for steps, _ in self.standing() if steps[:2] == ("core", "events")}
        for steps, value in self.standing():
            if not isinstance(value, str) or any(key in _TEXTS for key in steps):
                continue
            if _is_time(steps):
                ends = (*steps, "first"), (*steps, "next")
                found.append(ProfileNumber(way_of(steps), value, tuple(map(_place, ends))))
                found += (ProfileNumber(way_of(end), value, (_place(end),)) for end in ends)
            elif steps == _OTHER_EVENTS:
                others = (kind.value for kind in EventKind if kind.value not in own)
                places = tuple(("core", "events", kind) for kind in others)
                found.append(ProfileNumber(way_of(steps), value, places))
            else:
                found.append(ProfileNumber(way_of(steps), value, (_place(steps),)))
        return tuple(found)

    def dearer(self, share: Fraction) -> list[Dearer]:
        """Each number that stands in the file, dearer by ``share``."""
        return of_profile(self.standing(), share)


def _numbers(data: object) -> Iterator[Steps]:
    """All, and of the time of an access: the one for both, and that of the first and the next."""
    for steps in numbers_of(data, _TEXTS):
        yield steps
        if _is_time(steps):
            yield from ((*steps, "first"), (*steps, "next"))
        elif _is_time(steps[:-1]) and steps[-1] == "first":
            yield steps[:-1]


def _place(steps: Steps) -> Place:
    return tuple(map(str, steps))


def _is_time(steps: Steps) -> bool:
    return len(steps) == 3 and steps[0] == "regions" and steps[2] in _OPERATIONS
