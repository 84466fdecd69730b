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
        machine, architectures: the images that it decodes, as ``Image`` names them.
        decode: all instructions of an image; raises InputError where a code range is in a state
            that the instruction set does not have.
    """

    name: str
    machine: str
    architectures: tuple[str, ...]
    decode: Callable[[Image], InstructionTable]
