"""What one instruction set offers to the rest of the toolchain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable


@dataclass(frozen=True)
class InstructionSet:
    """An entry of the registry.

    Attributes:
        name: for people.
        machine: the images that it decodes, as ``Image`` names them.
        architectures: those as well; or a description of them, where ``refuses`` is given.
        decode: all instructions of an image; raises InputError where a code range is in a state
            that the instruction set does not have.
        refuses: why an architecture is not decoded, ``None`` where it is; for instruction sets that
            are made up of extensions, so that no list of names is complete.
    """

    name: str
    machine: str
    architectures: tuple[str, ...]
    decode: Callable[[Image], InstructionTable]
    refuses: Callable[[str], str | None] | None = None

    def refusal(self, architecture: str) -> str | None:
        """Why an architecture is not decoded, ``""`` where it is just not listed; ``None``: it
        is."""
        if self.refuses is not None:
            return self.refuses(architecture)
        return None if architecture in self.architectures else ""
