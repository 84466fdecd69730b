"""All RISC-V instructions of an image."""

from __future__ import annotations

from wcetchar.errors import InputError, Location
from wcetchar.isa.code_ranges import check_range
from wcetchar.isa.riscv import decoder
from wcetchar.isa.riscv_architecture import SUPPORTED, Refused, extensions_of
from wcetchar.model.image import CodeRange, Image
from wcetchar.model.instruction import (
    RISCV_MACHINE_EXCEPTIONS,
    RISCV_REGISTERS,
    Instruction,
    InstructionTable,
    Undecodable,
)

FETCH_BYTES = 4
"""Small cores fetch aligned words whatever the length of their instructions (Ibex Reference Guide,
"Instruction Fetch": 32 bits wide, word aligned)."""


def refusal(architecture: str) -> str | None:
    """Why an architecture string is not supported; ``None``: it is."""
    try:
        extensions_of(architecture)
    except Refused as reason:
        return str(reason)
    return None


def decode_rv32(image: Image) -> InstructionTable:
    """Decodes each code range from its start to its end.

    Bytes that no table entry explains go to ``InstructionTable.undecodable``.

    Raises:
        InputError: the architecture is not supported; a code range holds no RISC-V code, is not
            aligned, overlaps another, or has no stored contents.
    """
    try:
        extensions = extensions_of(image.architecture)
    except Refused as reason:
        raise InputError(
            f"the image cannot be decoded: {reason}",
            where=Location(image.path),
            expected=SUPPORTED,
            hint="compile for the core, for example -march=rv32imac_zicsr -mabi=ilp32",
        ) from reason
    shared = decoder(extensions)
    granule = 2 if "zca" in extensions else 4
    instructions: list[Instruction] = []
    undecodable: list[Undecodable] = []
    before: CodeRange | None = None
    for code_range in sorted(image.code, key=lambda r: (r.start, r.end)):
        if code_range.start >= code_range.end:
            continue
        check_range(image, code_range, before, {"riscv": granule}, states="RISC-V code only")
        before = code_range
        data = image.read(code_range.start, code_range.end - code_range.start)
        offset = 0
        while offset < len(data):
            found = shared.decode(data[offset : offset + 8], code_range.start + offset)
            if isinstance(found, Instruction):
                instructions.append(found)
            else:
                undecodable.append(found)
            offset += len(found.code)
    return InstructionTable(
        tuple(instructions),
        tuple(undecodable),
        fetch_bytes=FETCH_BYTES,
        granule=granule,
        registers=RISCV_REGISTERS,
        exceptions=RISCV_MACHINE_EXCEPTIONS,
    )
