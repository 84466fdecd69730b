"""Numbers of a system file by their way in it, and the system with others instead."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from wcetchar.model.workload import Workload
from wcetchar.store.dearer import Dearer, of_system
from wcetchar.store.document import SYSTEM, read_document
from wcetchar.store.document_numbers import DocumentNumbers, numbers_of
from wcetchar.store.system import workload_of

PARTS: Final = ("kernel", "tasks", "interrupts")
"""First keys of all ways."""


class SystemNumbers(DocumentNumbers[Workload]):
    """Of one system."""

    def __init__(self, path: str) -> None:
        """Raises:
        InputError: as of ``load_system``.
        """
        source = read_document(path, SYSTEM)
        numbers = (steps for steps in numbers_of(source.data) if steps[0] in PARTS)
        super().__init__(source, numbers, "system", workload_of)

    def dearer(self, share: Fraction) -> list[Dearer]:
        """Each number that stands in the file, asking more of the processor by ``share``."""
        return of_system(self.standing(), share)
