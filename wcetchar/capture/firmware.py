"""What the emulator has to be told of a firmware: its instruction set fits, and where it starts."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Final

from wcetchar.errors import InputError, Location

# ELF32 header (System V ABI, chapter 4): identification, type, machine, version, entry.
_HEADER: Final = struct.Struct("<16sHHII")
_LITTLE_ENDIAN_32: Final = b"\x7fELF\x01\x01\x01"
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


def _unfit(path: Path, what: str, machine: str) -> InputError:
    return InputError(
        what,
        where=Location(str(path)),
        expected=f"an ELF file, 32 bits, little-endian, for {machine}",
        hint="name the linked firmware, and a machine with its core",
    )
