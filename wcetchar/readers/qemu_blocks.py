"""Translated blocks of QEMU: which instructions one ``Trace`` line stands for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.model.trace import Event, EventBatch
from wcetchar.readers.encoding import CodeMap, InstructionSet

M_PROFILE_PAGE: Final = 1024
"""QEMU translates M-profile code in pages of this size; a block never runs past one."""

COUNT_MASK: Final = 0x1FF
"""Low bits of a block's cflags: at most that many instructions, 0 for no limit
(QEMU include/exec/translation-block.h, CF_COUNT_MASK)."""


@dataclass(frozen=True)
class Block:
    """Instructions of a translated block, in order."""

    start: int
    addresses: tuple[int, ...]
    codes: tuple[bytes, ...]

    def __len__(self) -> int:
        return len(self.addresses)

    def before(self, pc: int) -> Block | None:
        """The part before ``pc``; ``None`` if no instruction of the block starts there."""
        if pc not in self.addresses:
            return None
        return self.first(self.addresses.index(pc))

    def first(self, count: int) -> Block:
        return Block(self.start, self.addresses[:count], self.codes[:count])


@dataclass
class EventTable:
    """Blocks and single events as rows of flat columns, so that a run becomes a list of numbers
    which is expanded at once."""

    _rows: list[tuple[int, int]] = field(default_factory=list)
    _kind: list[int] = field(default_factory=list)
    _address: list[int] = field(default_factory=list)
    _size: list[int] = field(default_factory=list)
    _known: dict[object, int] = field(default_factory=dict)
    _blocks: dict[int, Block] = field(default_factory=dict)
    _columns: tuple[npt.NDArray[np.int64], EventBatch] | None = None

    def block(self, block: Block) -> int:
        """Number of a block."""
        number = self._known.get(block)
        if number is None:
            sizes = [len(code) for code in block.codes]
            number = self._add(block, [int(Event.INSTRUCTION)] * len(block), block.addresses, sizes)
            self._blocks[number] = block
        return number

    def block_of(self, number: int) -> Block:
        return self._blocks[number]

    def event(self, kind: Event, address: int) -> int:
        """Number of a single event."""
        key = (kind, address)
        number = self._known.get(key)
        return self._add(key, [int(kind)], (address,), [0]) if number is None else number

    def _add(
        self, key: object, kinds: list[int], addresses: tuple[int, ...], sizes: list[int]
    ) -> int:
        number = len(self._rows)
        self._rows.append((len(self._kind), len(kinds)))
        self._kind += kinds
        self._address += addresses
        self._size += sizes
        self._known[key] = number
        self._columns = None
        return number

    def expand(self, numbers: npt.NDArray[np.int64]) -> EventBatch:
        """The events of these rows, one after the other."""
        if self._columns is None:
            rows = np.array(self._rows, dtype=np.int64).reshape(-1, 2)
            columns = EventBatch(
                np.array(self._kind, dtype=np.uint8),
                np.array(self._address, dtype=np.uint64),
                np.array(self._size, dtype=np.uint8),
            )
            self._columns = (rows, columns)
        rows, columns = self._columns
        chosen = rows[numbers]
        length = chosen[:, 1]
        ends = np.cumsum(length)
        index = np.arange(int(ends[-1]) if len(ends) else 0)
        index += np.repeat(chosen[:, 0] - (ends - length), length)
        return EventBatch(columns.kind[index], columns.address[index], columns.size[index])


def ends_block(first: int, second: int) -> bool:
    """Whether QEMU ends a block after this Thumb instruction (target/arm/translate.c): anything
    that can change control flow, and what changes the processor's state so that it has to be
    looked up anew. ``second`` is 0 for a 16-bit instruction. DDI 0403, chapter A5 gives the
    encodings.
    """
    if first < 0xE800:
        return (
            first >> 12 == 0xD  # conditional branch, udf, svc
            or first >> 11 == 0b11100  # b
            or first >> 8 == 0x47  # bx, blx
            or first & 0xFF87 in (0x4487, 0x4687)  # add pc, mov pc
            or first >> 8 in (0xBD, 0xBE)  # pop with pc, bkpt
            or first & 0xF500 == 0xB100  # cbz, cbnz
            or first & 0xFFE8 == 0xB660  # cps
            or first in (0xBF10, 0xBF20, 0xBF30)  # yield, wfe, wfi
        )
    if first >> 11 == 0b11110 and second & 0x8000:
        return (
            second & 0x5000 != 0  # b, bl
            or first & 0x0380 != 0x0380  # conditional branch
            or first & 0xFFE0 == 0xF380  # msr
            or (first == 0xF3AF and second & 0xFF in (1, 2, 3))  # yield, wfe, wfi
            or (first == 0xF3BF and second & 0xF0 == 0x60)  # isb
            or first & 0xFFF0 == 0xF7F0  # udf
        )
    return (
        (first & 0xFFF0 == 0xE8D0 and second & 0xFFE0 == 0xF000)  # tbb, tbh
        or (first & 0xFE50 == 0xE810 and second & 0x8000 != 0)  # ldm with pc
        or (first & 0xFF70 == 0xF850 and second >> 12 == 15)  # ldr pc
        or (first & 0xFFF0 == 0xEEE0 and second & 0x0F10 == 0x0A10)  # vmsr
    )


def block_from_image(pc: int, cflags: int, code: CodeMap) -> Block | None:
    """The block that QEMU translates at ``pc``, read from the image; ``None`` where the image has
    no Thumb code all the way to the block's end."""
    addresses: list[int] = []
    codes: list[bytes] = []
    limit = cflags & COUNT_MASK
    page = pc & ~(M_PROFILE_PAGE - 1)
    at = pc
    while True:
        data = code.code_at(at)
        if not data or code.at(at) is not InstructionSet.THUMB:
            return None
        if addresses and at + len(data) > page + M_PROFILE_PAGE:
            break
        addresses.append(at)
        codes.append(data)
        at += len(data)
        first = int.from_bytes(data[:2], "little")
        if ends_block(first, int.from_bytes(data[2:], "little")):
            break
        if at >= page + M_PROFILE_PAGE or len(addresses) == limit:
            break
    return Block(pc, tuple(addresses), tuple(codes))
