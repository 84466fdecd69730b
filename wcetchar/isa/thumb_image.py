"""All Thumb instructions of an image."""

from __future__ import annotations

from dataclasses import replace

from wcetchar.isa.code_ranges import check_range
from wcetchar.isa.thumb import ARMV6M, ARMV7EM, ARMV7EM_FP, ARMV7M, decoder, it_state_after
from wcetchar.model.fetch_buffer import M_PROFILE_BUFFER
from wcetchar.model.image import CodeRange, Image
from wcetchar.model.instruction import (
    M_PROFILE_FLOAT_EXCEPTIONS,
    Instruction,
    InstructionTable,
    Undecodable,
)

ARMV6M_NAMES = ("armv6-m", "armv6s-m")
ARMV7M_NAMES = ("armv7-m",)
ARMV7EM_NAMES = ("armv7e-m",)
"""Armv7-M with the DSP extension."""
ARMV7EM_FP_NAMES = ("armv7e-m+fp", "armv7e-m+fpv5", "armv7e-m+fp.dp")
"""With floating point as well. What FPv4-SP-D16 does not have of it (double precision, FPv5) is
undecodable, which is an error where it is executed."""

FETCH_BYTES = 4
"""Cortex-M0, M3 and M4 fetch words (Cortex-M3 TRM 100165, "Instruction fetch"; the same in the
Cortex-M4's, 100166)."""


def decode_armv6m(image: Image) -> InstructionTable:
    """Every Thumb code range of an Armv6-M image; see :func:`_decode`."""
    return _decode(image, ARMV6M)


def decode_armv7m(image: Image) -> InstructionTable:
    """Every Thumb code range of an Armv7-M image; see :func:`_decode`."""
    return _decode(image, ARMV7M)


def decode_armv7em(image: Image) -> InstructionTable:
    """Every Thumb code range of an Armv7E-M image; see :func:`_decode`."""
    return _decode(image, ARMV7EM)


def decode_armv7em_fp(image: Image) -> InstructionTable:
    """Every Thumb code range of an Armv7E-M image with floating point; see :func:`_decode`."""
    return replace(_decode(image, ARMV7EM_FP), exceptions=M_PROFILE_FLOAT_EXCEPTIONS)


def _decode(image: Image, architecture: str) -> InstructionTable:
    """Decodes each code range from its start to its end.

    Bytes that no table entry explains go to ``InstructionTable.undecodable``.

    Raises:
        InputError: a code range is not in Thumb state, has an odd address, overlaps another, or
            has no stored contents.
    """
    shared = decoder(architecture)
    instructions: list[Instruction] = []
    undecodable: list[Undecodable] = []
    before: CodeRange | None = None
    for code_range in sorted(image.code, key=lambda r: (r.start, r.end)):
        if code_range.start >= code_range.end:
            continue
        check_range(
            image,
            code_range,
            before,
            {"thumb": 2},
            states="Thumb code only: Armv6-M and Armv7-M have no other state",
            hint="compile every object with -mthumb for the same Cortex-M core",
        )
        before = code_range
        data = image.read(code_range.start, code_range.end - code_range.start)
        offset, it_state = 0, 0
        while offset < len(data):
            found = shared.decode(data[offset : offset + 4], code_range.start + offset, it_state)
            if isinstance(found, Instruction):
                instructions.append(found)
            else:
                undecodable.append(found)
            it_state = it_state_after(found, it_state)
            offset += len(found.code)
    return InstructionTable(
        tuple(instructions),
        tuple(undecodable),
        fetch_bytes=FETCH_BYTES,
        granule=2,
        buffer=M_PROFILE_BUFFER,
    )
