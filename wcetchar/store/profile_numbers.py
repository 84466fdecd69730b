"""Numbers of a hardware profile by their way in the YAML, and the profile with others instead.

``fetch: 14 ns`` is short for ``first`` and ``next``, which have ways of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.model.access import Operation
from wcetchar.model.hardware import HardwareProfile
from wcetchar.store.based_on import with_base
from wcetchar.store.dearer import Dearer, of_profile
from wcetchar.store.document import PROFILE, read_document
from wcetchar.store.document_numbers import DocumentNumbers, numbers_of
from wcetchar.store.names import profile_path
from wcetchar.store.profile import profile_of
from wcetchar.store.source import Steps

_TEXTS: Final = frozenset(("schema", "name", "description", "note", "default map", "base"))
"""Keys of what is no number that makes anything faster or slower."""
_OPERATIONS: Final = frozenset(operation.value for operation in Operation)


class ProfileNumbers(DocumentNumbers[HardwareProfile]):
    """Of one profile."""

    def __init__(self, name_or_path: str) -> None:
        """Raises:
        InputError: as of ``load_profile``.
        """
        source = with_base(read_document(profile_path(name_or_path), PROFILE))
        super().__init__(source, _numbers(source.data), "profile", profile_of)

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


def _is_time(steps: Steps) -> bool:
    return len(steps) == 3 and steps[0] == "regions" and steps[2] in _OPERATIONS
