"""What the emulator has to be told of a firmware: its instruction set fits, where it starts, and
what its variables hold then."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from wcetchar.capture.request import InitialValue
from wcetchar.errors import InputError, Location

# ELF32 header (System V ABI, chapter 4): identification, type, machine, version, entry.
_HEADER: Final = struct.Struct("<16sHHII")
_LITTLE_ENDIAN_32: Final = b"\x7fELF\x01\x01\x01"
# The rest of it as far as the program headers: their offset, then two offsets and flags, and after
# the header's size the size and number of them.
_PROGRAM_HEADERS: Final = struct.Struct("<28xI10xHH")
# Program header: type, offset, virtual and physical address, bytes in the file.
_SEGMENT: Final = struct.Struct("<5I")
_PT_LOAD: Final = 1
_MACHINES: Final = {"arm": 40, "riscv": 243}  # e_machine


def entry_of(path: Path, machine: str) -> int:
    """The entry address of an ELF file.

    QEMU is not asked to judge the file: its loader takes what is no ELF file for raw bytes.

    Args:
        machine: instruction set, as :attr:`wcetchar.model.image.Image.machine` names it.

    Raises:
        InputError: the file cannot be read, or is no such ELF file.
    """
    try:
        if not path.is_file():
            raise _unfit(path, "the firmware cannot be read", machine)
        with path.open("rb") as file:
            header = file.read(_HEADER.size)
    except OSError as error:
        raise _unfit(path, f"the firmware cannot be read: {error.strerror}", machine) from error
    if len(header) != _HEADER.size or not header.startswith(_LITTLE_ENDIAN_32):
        raise _unfit(path, "the firmware is no ELF file of 32 bits, little-endian", machine)
    _, _, found, _, entry = _HEADER.unpack(header)
    if found != _MACHINES[machine]:
        raise _unfit(path, f"the firmware is for another core (e_machine {found})", machine)
    return int(entry)


def with_values(path: Path, initial: Sequence[InitialValue]) -> bytes:
    """The file with other values in the bytes that its variables are loaded from. Where start-up
    code copies them to their place, it copies these.

    Raises:
        InputError: the file cannot be read, or holds no bytes for a variable.
    """
    try:
        file = bytearray(path.read_bytes())
    except OSError as error:
        raise InputError(
            f"the firmware cannot be read: {error.strerror}", where=Location(str(path))
        ) from error
    segments = _segments(file)
    for one in initial:
        offsets = [
            offset + one.address - address
            for offset, address, size in segments
            if address <= one.address
            if one.address + len(one.data) <= address + size
        ]
        if len(offsets) != 1:
            raise InputError(
                f"{len(offsets)} segments of the file hold the bytes of {one.name}",
                where=Location(str(path)),
                expected="one segment that is loaded",
                hint="readelf -lW lists them; the variable needs a place with an initial value",
            )
        file[offsets[0] : offsets[0] + len(one.data)] = one.data
    return bytes(file)


def _segments(file: bytes | bytearray) -> list[tuple[int, int, int]]:
    """Offset, address and bytes in the file of each segment that is loaded."""
    try:
        start, size, count = _PROGRAM_HEADERS.unpack_from(file)
        found = [_SEGMENT.unpack_from(file, start + k * size) for k in range(count)]
    except struct.error:
        return []
    return [
        (offset, address, length)
        for kind, offset, address, _, length in found
        if kind == _PT_LOAD and offset + length <= len(file)
    ]


def _unfit(path: Path, what: str, machine: str) -> InputError:
    return InputError(
        what,
        where=Location(str(path)),
        expected=f"an ELF file, 32 bits, little-endian, for {machine}",
        hint="name the linked firmware, and a machine with its core",
    )
