"""Numbers of a system file by their way in it, and the system with others instead."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Final

from wcetchar.model.workload import Workload
from wcetchar.store.dearer import Dearer, of_system
from wcetchar.store.document import SYSTEM, read_document
from wcetchar.store.document_numbers import DocumentNumbers, numbers_of
from wcetchar.store.source import Steps
from wcetchar.store.system import workload_of

PARTS: Final = ("kernel", "tasks", "interrupts")
"""First keys of all ways."""


class SystemNumbers:
    """One system, read once."""

    def __init__(self, path: str) -> None:
        """Raises:
        InputError: as of ``load_system``.
        """
        source = read_document(path, SYSTEM)
        numbers = (steps for steps in numbers_of(source.data) if steps[0] in PARTS)
        self._document = DocumentNumbers(source, numbers, "system")
        self.with_values({})

    def named(self, way: str) -> Steps:
        """As of ``DocumentNumbers``."""
        return self._document.named(way)

    def dearer(self, share: Fraction) -> list[Dearer]:
        """Each number that stands in the file, asking more of the processor by ``share``."""
        return of_system(self._document.standing(), share)

    def with_values(self, values: Mapping[Steps, str]) -> Workload:
        """The system with other numbers, as text.

        Raises:
            InputError: it has mistakes with them, those of these numbers without a place.
        """
        return self._document.read_with(values, workload_of)
