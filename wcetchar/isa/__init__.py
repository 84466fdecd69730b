"""What an instruction does, one file per instruction set: the only user of capstone.

``decode_image`` fills the instruction table that the analysis works on; ``decode_arm``,
``decode_thumb`` and ``decode_riscv`` decode one instruction. ``INSTRUCTION_SETS`` lists what is
supported.
"""

from __future__ import annotations

from typing import Final

from wcetchar.errors import InputError, Location
from wcetchar.isa.arm import decode_arm
from wcetchar.isa.arm_image import ARMV4T_NAMES, decode_armv4t
from wcetchar.isa.instruction_set import InstructionSet
from wcetchar.isa.riscv import decode_riscv
from wcetchar.isa.riscv_architecture import SUPPORTED
from wcetchar.isa.riscv_image import decode_rv32, refusal
from wcetchar.isa.thumb import decode_thumb
from wcetchar.isa.thumb_image import (
    ARMV6M_NAMES,
    ARMV7EM_FP_NAMES,
    ARMV7EM_NAMES,
    ARMV7M_NAMES,
    decode_armv6m,
    decode_armv7em,
    decode_armv7em_fp,
    decode_armv7m,
)
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable

__all__ = [
    "INSTRUCTION_SETS",
    "InstructionSet",
    "decode_arm",
    "decode_image",
    "decode_riscv",
    "decode_thumb",
    "find",
]

INSTRUCTION_SETS: Final = (
    InstructionSet("Armv4T", "arm", ARMV4T_NAMES, decode_armv4t),
    InstructionSet("Armv6-M Thumb", "arm", ARMV6M_NAMES, decode_armv6m),
    InstructionSet("Armv7-M Thumb", "arm", ARMV7M_NAMES, decode_armv7m),
    InstructionSet("Armv7E-M Thumb", "arm", ARMV7EM_NAMES, decode_armv7em),
    InstructionSet("Armv7E-M Thumb, FPv4-SP-D16", "arm", ARMV7EM_FP_NAMES, decode_armv7em_fp),
    InstructionSet("RISC-V RV32IMAC", "riscv", (SUPPORTED,), decode_rv32, refusal),
)


def find(image: Image) -> InstructionSet:
    """The instruction set of an image.

    Raises:
        InputError: no entry of the registry decodes it; the message lists what is supported, and
            says what is in the way where the machine is supported otherwise.
    """
    reasons = []
    for entry in INSTRUCTION_SETS:
        if image.machine == entry.machine:
            reason = entry.refusal(image.architecture)
            if reason is None:
                return entry
            reasons.append(reason)
    stated = image.architecture or "no architecture stated"
    said = next((f": {reason}" for reason in reasons if reason and image.architecture), "")
    attributes, example = _ADVICE.get(image.machine, _ADVICE["arm"])
    raise InputError(
        f"the image is for {image.machine} ({stated}){said}",
        where=Location(image.path),
        expected="an image for " + "; or for ".join(_supported()),
        hint=(
            f"compile for the core, for example {example}"
            if image.architecture
            else f"keep the section {attributes}: link without stripping it"
        ),
    )


_ADVICE: Final = {
    "arm": (".ARM.attributes", "-mcpu=cortex-m3 -mthumb"),
    "riscv": (".riscv.attributes", "-march=rv32imac_zicsr -mabi=ilp32"),
}
"""For each machine, the section that states the architecture, and options of a compiler."""


def _supported() -> list[str]:
    """One entry for each machine: ``arm with one of armv6-m, armv7-m``."""
    names: dict[str, list[str]] = {}
    for entry in INSTRUCTION_SETS:
        names.setdefault(entry.machine, []).extend(entry.architectures)
    return [f"{machine} with one of {', '.join(found)}" for machine, found in names.items()]


def decode_image(image: Image) -> InstructionTable:
    """All instructions of an image, each code range decoded from its start to its end.

    Bytes that no table entry explains go to ``InstructionTable.undecodable``; they are an error
    only if they are executed.

    Raises:
        InputError: the machine or the architecture is not supported, a code range is in a state
            that the architecture does not have, or a code range is damaged.
    """
    return find(image).decode(image)
