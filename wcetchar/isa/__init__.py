"""What an instruction does, one file per instruction set: the only user of capstone.

``decode_image`` fills the instruction table that the analysis works on; ``decode_thumb`` decodes
one instruction. ``INSTRUCTION_SETS`` lists what is supported.
"""

from __future__ import annotations

from typing import Final

from wcetchar.errors import InputError, Location
from wcetchar.isa.instruction_set import InstructionSet
from wcetchar.isa.thumb import decode_thumb
from wcetchar.isa.thumb_image import ARMV6M_NAMES, ARMV7M_NAMES, decode_armv6m, decode_armv7m
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable

__all__ = ["INSTRUCTION_SETS", "InstructionSet", "decode_image", "decode_thumb", "find"]

INSTRUCTION_SETS: Final = (
    InstructionSet("Armv6-M Thumb", "arm", ARMV6M_NAMES, decode_armv6m),
    InstructionSet("Armv7-M Thumb", "arm", ARMV7M_NAMES, decode_armv7m),
)


def find(image: Image) -> InstructionSet:
    """The instruction set of an image.

    Raises:
        InputError: no entry of the registry decodes it; the message lists what is supported.
    """
    for entry in INSTRUCTION_SETS:
        if image.machine == entry.machine and image.architecture in entry.architectures:
            return entry
    stated = image.architecture or "no architecture stated"
    supported = ", ".join(name for entry in INSTRUCTION_SETS for name in entry.architectures)
    raise InputError(
        f"the image is for {image.machine} ({stated})",
        where=Location(image.path),
        expected=f"an image for arm with one of {supported}",
        hint=(
            "compile for the core, for example -mcpu=cortex-m3 -mthumb"
            if image.architecture
            else "keep the section .ARM.attributes: link without stripping it"
        ),
    )


def decode_image(image: Image) -> InstructionTable:
    """All instructions of an image, each code range decoded from its start to its end.

    Bytes that no table entry explains go to ``InstructionTable.undecodable``; they are an error
    only if they are executed.

    Raises:
        InputError: the machine or the architecture is not supported, a code range is in a state
            that the architecture does not have, or a code range is damaged.
    """
    return find(image).decode(image)
