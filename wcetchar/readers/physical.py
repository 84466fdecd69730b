"""RAM addresses as execlog prints them, back to where the memory is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np
import numpy.typing as npt

from wcetchar.errors import InputError
from wcetchar.model.image import Image
from wcetchar.model.machine import Machine, RamBlock

Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


class Verdict(Enum):
    OFFSET = "RAM addresses carry the RAM block's offset (QEMU before 8.2)"
    PLAIN = "RAM addresses are plain (QEMU 8.2 and later)"
    UNDECIDED = "RAM addresses fit both"
    NEITHER = "a RAM address fits neither"


def _inside(addresses: Words, ranges: list[tuple[int, int]]) -> Mask:
    found = np.zeros(len(addresses), dtype=np.bool_)
    for start, end in ranges:
        found |= (addresses >= np.uint64(start)) & (addresses < np.uint64(end))
    return found


def real_ranges(machine: Machine) -> list[tuple[int, int]]:
    return [span for block in machine.blocks for span in block.ranges]


def in_ram(addresses: Words, machine: Machine) -> Mask:
    """Whether each address lies in the machine's RAM or ROM."""
    return _inside(addresses, real_ranges(machine))


def judge(addresses: Words, machine: Machine) -> Verdict:
    """Which of the two spellings these printed RAM addresses can only be.

    An address that is RAM under one reading alone decides for it.
    """
    shown = _inside(addresses, [(b.shown, b.shown + b.size) for b in machine.blocks])
    plain = in_ram(addresses, machine)
    if (~shown & ~plain).any() or ((shown & ~plain).any() and (plain & ~shown).any()):
        return Verdict.NEITHER
    if (shown & ~plain).any():
        return Verdict.OFFSET
    if (plain & ~shown).any():
        return Verdict.PLAIN
    return Verdict.UNDECIDED


@dataclass(frozen=True)
class Overlap:
    """Printed addresses start..end-1 that two or more blocks share, and the one they are taken
    for (``None``: cannot be told)."""

    start: int
    end: int
    names: tuple[str, ...]
    taken: str | None


def _stack_top(image: Image) -> int | None:
    """Initial stack pointer of an M-profile image: the vector table's first word. The table lies
    at 0, or at the image's lowest address where that is mirrored to 0; it is one if its second
    word is the address of Thumb code in the image."""
    lowest = min((s.address for s in image.sections if s.size), default=0)
    for table in (0, lowest):
        try:
            words = image.read(table, 8)
        except InputError:
            continue
        top = int.from_bytes(words[:4], "little")
        reset = int.from_bytes(words[4:], "little")
        if reset & 1 and any(c.start <= reset - 1 < c.end for c in image.code):
            return top
    return None


class OffsetUndone:
    """Printed address -> address, for QEMU before 8.2.

    Two blocks can share printed addresses: on mps2-an385 those of the SRAM lie inside those of the
    16 MiB RAM. Such an address belongs to the one block of them that the image uses, by its
    sections and by the stack pointer in its vector table; without an image, or where it uses both,
    it cannot be told.
    """

    def __init__(self, machine: Machine, image: Image | None) -> None:
        self.machine = machine
        self.overlaps: list[Overlap] = []
        blocks = machine.blocks
        edges = sorted({e for b in blocks for e in (b.shown, b.shown + b.size)})
        shift: list[int] = [0]
        known: list[bool] = [False]
        shared: list[bool] = [False]
        for start, end in zip(edges, [*edges[1:], edges[-1]], strict=True):
            holders = [b for b in blocks if b.shown <= start < b.shown + b.size]
            taken = self._choose(holders, image)
            if len(holders) > 1:
                names = tuple(b.name for b in holders)
                self.overlaps.append(Overlap(start, end, names, taken.name if taken else None))
            shift.append(taken.offset if taken else 0)
            known.append(taken is not None)
            shared.append(len(holders) > 1)
        self._edges = np.array(edges, dtype=np.uint64)
        self._shift = np.array(shift, dtype=np.uint64)
        self._known = np.array(known)
        self._shared = np.array(shared)

    @staticmethod
    def _choose(holders: list[RamBlock], image: Image | None) -> RamBlock | None:
        if len(holders) <= 1 or image is None:
            return holders[0] if len(holders) == 1 else None
        spans = [(s.address, s.end) for s in image.sections if s.size]
        if (top := _stack_top(image)) is not None:
            spans.append((top - 4, top))
        used = [
            block
            for block in holders
            if any(a < end and b > start for a, b in spans for start, end in block.ranges)
        ]
        return used[0] if len(used) == 1 else None

    def __call__(self, printed: Words) -> tuple[Words, Mask, Mask]:
        """(addresses, whether known, whether several blocks share the printed address)."""
        slot = np.searchsorted(self._edges, printed, side="right")
        return printed - self._shift[slot], self._known[slot], self._shared[slot]
