"""Lengths and byte order of instructions: as much decoding as a trace format itself needs."""

from __future__ import annotations

from bisect import bisect_right
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from wcetchar.errors import InputError
from wcetchar.model.image import Image

Words = npt.NDArray[np.uint64]


class InstructionSet(StrEnum):
    THUMB = "thumb"
    A32 = "arm"
    RISCV = "riscv"


def lengths(first_halfword: Words, instruction_set: InstructionSet) -> npt.NDArray[np.uint8]:
    """Length in bytes of instructions that begin with these halfwords.

    Thumb: 32 bits if the top five bits are 0b11101, 0b11110 or 0b11111 (Armv7-M Architecture
    Reference Manual, DDI 0403, A5.1). RISC-V: 32 bits if the low two bits are both set
    (Unprivileged ISA, 1.5); encodings of 48 bits and more are not in use and give 0.
    """
    half = first_halfword & np.uint64(0xFFFF)
    if instruction_set is InstructionSet.THUMB:
        return np.where(half >= np.uint64(0xE800), 4, 2).astype(np.uint8)
    if instruction_set is InstructionSet.A32:
        return np.full(len(half), 4, dtype=np.uint8)
    wide = (half & np.uint64(3)) == np.uint64(3)
    longer = (half & np.uint64(0x1F)) == np.uint64(0x1F)
    return np.where(longer, 0, np.where(wide, 4, 2)).astype(np.uint8)


def length(first_halfword: int, instruction_set: InstructionSet) -> int:
    """Length in bytes of one instruction; 0 where it is not known."""
    return int(lengths(np.array([first_halfword], dtype=np.uint64), instruction_set)[0])


def little_endian(
    printed: Words, size: npt.NDArray[np.uint8], instruction_set: InstructionSet
) -> Words:
    """Instructions as a disassembler prints them -> their bytes in memory as little-endian
    numbers. A 32-bit Thumb instruction is printed with its first halfword on top, any other as
    its little-endian number."""
    if instruction_set is not InstructionSet.THUMB:
        return printed
    swapped = (printed >> np.uint64(16)) | ((printed & np.uint64(0xFFFF)) << np.uint64(16))
    return np.where(size == 4, swapped, printed)


class CodeMap:
    """Which instruction set stands at an address, and which bytes: from the image, where given.

    Without an image every address is of ``fallback`` (``None``: not known).
    """

    def __init__(self, image: Image | None, fallback: InstructionSet | None = None) -> None:
        self.image = image
        self._starts = [code.start for code in image.code] if image else []
        self._sets: set[InstructionSet] = set()
        if image is not None:
            self._sets = {InstructionSet(code.state) for code in image.code}
            if image.machine == "riscv":
                self._sets = {InstructionSet.RISCV}
        elif fallback is not None:
            self._sets = {fallback}

    @property
    def only(self) -> InstructionSet | None:
        """The one instruction set, if there is just one."""
        return next(iter(self._sets)) if len(self._sets) == 1 else None

    @property
    def known(self) -> bool:
        return bool(self._sets)

    @property
    def sets(self) -> frozenset[InstructionSet]:
        return frozenset(self._sets)

    def is_set(self, addresses: Words, chosen: InstructionSet) -> npt.NDArray[np.bool_]:
        """Which addresses hold code of one instruction set."""
        unique, back = np.unique(addresses, return_inverse=True)
        found = np.array([self.at(int(a)) is chosen for a in unique], dtype=np.bool_)
        return found[back]

    def at(self, address: int) -> InstructionSet | None:
        """Instruction set at an address; ``None`` where the image has no code."""
        if len(self._sets) <= 1:
            return self.only
        assert self.image is not None
        index = bisect_right(self._starts, address) - 1
        if index < 0 or address >= self.image.code[index].end:
            return None
        return InstructionSet(self.image.code[index].state)

    def code_at(self, address: int) -> bytes:
        """The instruction at an address by the image; ``b""`` where that is not known."""
        instruction_set = self.at(address)
        if self.image is None or instruction_set is None:
            return b""
        try:
            first = self.image.read(address, 2)
            size = length(int.from_bytes(first, "little"), instruction_set)
            return first if size == 2 else self.image.read(address, size) if size else b""
        except InputError:
            return b""


def store_exclusive(code: Words, instruction_set: InstructionSet | None) -> npt.NDArray[np.bool_]:
    """Which instructions (bytes in memory as one little-endian number) are store-exclusives.

    Thumb STREX, STREXB and STREXH (DDI 0403, A7.7.167 to 169); RISC-V SC.W and SC.D
    (Unprivileged ISA, 8.2).
    """
    found = np.zeros(len(code), dtype=np.bool_)
    if instruction_set is InstructionSet.THUMB:
        # Second halfword of STREXB and STREXH: Rt, 1111, 0100 or 0101, Rd.
        kind = (code >> np.uint64(20)) & np.uint64(0xFF)
        found |= (code & np.uint64(0xFFF0)) == np.uint64(0xE840)
        found |= ((code & np.uint64(0xFFF0)) == np.uint64(0xE8C0)) & (
            (kind == np.uint64(0xF4)) | (kind == np.uint64(0xF5))
        )
    if instruction_set is InstructionSet.RISCV:
        found |= (code & np.uint64(0xF800007F)) == np.uint64(0x1800002F)
    return found


def two_words(code: Words, instruction_set: InstructionSet | None) -> npt.NDArray[np.bool_]:
    """Which instructions (as above) transfer two words: Thumb LDRD and STRD (DDI 0403, A7.7.50,
    A7.7.51, A7.7.166), which have P or W set where exclusives and table branches have neither."""
    if instruction_set is not InstructionSet.THUMB:
        return np.zeros(len(code), dtype=np.bool_)
    found: npt.NDArray[np.bool_] = (code & np.uint64(0xFE40)) == np.uint64(0xE840)
    found &= (code & np.uint64(0x0120)) != np.uint64(0)
    return found


class SizeAt:
    """Instruction lengths by address, from the image; 0 where it has no code or is not given."""

    SLOTS = 1 << 16

    def __init__(self, code: CodeMap) -> None:
        self._map = code
        self._address = np.full(self.SLOTS, np.uint64(0xFFFFFFFFFFFFFFFF), dtype=np.uint64)
        self._size = np.zeros(self.SLOTS, dtype=np.uint8)

    def __call__(self, addresses: Words) -> npt.NDArray[np.uint8]:
        if self._map.image is None:
            return np.zeros(len(addresses), dtype=np.uint8)
        slot = ((addresses >> np.uint64(1)) & np.uint64(self.SLOTS - 1)).astype(np.int64)
        size = self._size[slot]
        new = np.flatnonzero(self._address[slot] != addresses)
        if len(new):
            unique, back = np.unique(addresses[new], return_inverse=True)
            known = np.array([len(self._map.code_at(int(a))) for a in unique], dtype=np.uint8)
            size[new] = known[back]
            self._address[slot[new]] = addresses[new]
            self._size[slot[new]] = size[new]
        return size
