"""What ran before: the steps of one thread or handler backwards, and who wrote in between.

The registers of a thread depend on its own steps alone, but memory is shared: between a store and
a load of the same word, a handler or another thread may have written there. :class:`Timeline`
remembers the pieces of all of them in the order in which they ran, so that a value is followed
through memory only where nothing else can have changed it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import numpy as np

from wcetchar.analysis.contexts import HISTORY_EVENTS, Context, Piece
from wcetchar.analysis.masks import Access, Step
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.trace import Event

_REMEMBERED = 4 * HISTORY_EVENTS
_DATA = (int(Event.READ), int(Event.WRITE), int(Event.ACCESS))


class Timeline:
    """The latest pieces of all threads and handlers."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[Context, Piece]] = deque()
        self._events = 0
        self._next = 0
        self._complete_from = 0

    def add(self, context: Context, piece: Piece) -> None:
        """A piece that ran after all others."""
        piece.serial = self._next
        self._next += 1
        self._pieces.append((context, piece))
        self._events += len(piece.kind)
        while self._events > _REMEMBERED and len(self._pieces) > 1:
            _, oldest = self._pieces.popleft()
            self._events -= len(oldest.kind)
            self._complete_from = oldest.serial

    def cut(self) -> None:
        """Something ran that the trace does not show."""
        self._complete_from = self._next

    def undisturbed(self, context: Context, word: int, older: int, newer: int) -> bool:
        """No other thread or handler wrote to the word between two pieces of a context.

        Args:
            word: address of four bytes.
            older, newer: serial numbers of the pieces.
        """
        if older < self._complete_from:
            return False
        for owner, piece in reversed(self._pieces):
            if piece.serial <= older:
                break
            if owner is context or piece.serial >= newer:
                continue
            address = piece.address.astype(np.int64)
            size = np.where(piece.size == 0, 8, piece.size).astype(np.int64)
            writes = (piece.kind == Event.WRITE) | (piece.kind == Event.ACCESS)
            if (writes & (address < word + 4) & (address + size > word)).any():
                return False
        return True


def steps(context: Context, table: InstructionTable) -> Iterator[Step]:
    """Own steps of a context, newest first, up to the first instruction that is not known."""
    number = context.instructions
    accesses: list[Access] = []
    for piece in reversed(context.recent):
        kinds, addresses = piece.kind.tolist(), piece.address.tolist()
        sizes, indices = piece.size.tolist(), piece.index.tolist()
        for i in range(len(kinds) - 1, -1, -1):
            if indices[i] >= 0:
                number -= 1
                accesses.reverse()
                yield Step(
                    table.instructions[indices[i]],
                    accesses,
                    context.mask_reads.get(number),
                    piece.serial,
                )
                accesses = []
            elif indices[i] == -2:
                return
            elif kinds[i] in _DATA:
                accesses.append((addresses[i], sizes[i], kinds[i] == Event.WRITE))
