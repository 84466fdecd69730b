"""What ran before: the steps of one thread or handler backwards, and who wrote in between.

The registers of a thread depend on its own steps alone, but memory is shared: between a store and
a load of the same word, a handler or another thread may have written there. :class:`Timeline`
remembers the pieces of all of them in the order in which they ran, so that a value is followed
through memory to whoever was the last to write it, and not at all where that cannot be told. Of
pieces that ran long ago it remembers which words they wrote (``last_writes``): so a thread finds
what it stored before it was switched away, however long that was, and so does a handler that
restores it, where the thread has not done too much since to remember it itself.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.contexts import HISTORY_EVENTS, Context, Piece
from wcetchar.analysis.last_writes import LastWrites
from wcetchar.analysis.masks import Access, Step
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.trace import Event

_REMEMBERED = 4 * HISTORY_EVENTS
"""Events of the latest pieces, at least; twice as many at most, but for one piece."""
_AT_ONCE = 64
"""Events of a piece that are made steps at once."""
# Looking at the members of an enumeration takes long.
_INSTRUCTION, _WRITE = int(Event.INSTRUCTION), int(Event.WRITE)
_DATA = (int(Event.READ), _WRITE, int(Event.ACCESS))


class Timeline:
    """The latest pieces of all threads and handlers, and what older ones wrote to."""

    def __init__(self) -> None:
        self._pieces: deque[tuple[Context, Piece]] = deque()
        self._events = 0
        self._next = 0
        self._complete_from = 0
        self._long_ago = LastWrites()
        self._owners: WeakValueDictionary[int, Context] = WeakValueDictionary()
        """By their numbers, those of pieces long ago."""

    def add(self, context: Context, piece: Piece) -> None:
        """A piece that ran after all others."""
        piece.serial = self._next
        self._next += 1
        self._pieces.append((context, piece))
        self._events += len(piece.kind)
        if self._events <= 2 * _REMEMBERED:
            return
        oldest = []
        owners: dict[int, Context] = {}
        while self._events > _REMEMBERED and len(self._pieces) > 1:
            owner, old = self._pieces.popleft()
            self._events -= len(old.kind)
            oldest.append((owner.number, old))
            owners[owner.number] = owner
        self._owners.update(owners)
        self._long_ago.add(oldest)

    @property
    def next_serial(self) -> int:
        """Serial number of the next piece."""
        return self._next

    def cut(self) -> None:
        """Something ran that the trace does not show."""
        self._complete_from = self._next

    def last_write(self, word: int, place: int, position: int) -> tuple[Context, int, int] | None:
        """Who was the last to write to a word, however briefly or partly.

        Args:
            word: address of four bytes.
            place, position: serial number of a piece and position in it, before which to look.

        Returns: the thread or handler, the serial number of the piece with the write, and the
        write's position in it; ``None`` where pieces since then are missing, or it is too long ago
        and who wrote no longer remembers.
        """
        if place < self._complete_from:
            return None
        first, last = word >> 2, word + 3 >> 2
        for owner, piece in reversed(self._pieces):
            if piece.serial > place:
                continue
            if piece.serial < self._complete_from:
                break
            if first not in piece.written and last not in piece.written:
                continue
            end = position if piece.serial == place else len(piece.kind)
            at = np.flatnonzero(_writes_to(piece, word)[:end])
            if len(at):
                return owner, piece.serial, int(at[-1])
        return self._last_write_long_ago(word, place)

    def _last_write_long_ago(self, word: int, place: int) -> tuple[Context, int, int] | None:
        """The same among pieces that are kept no longer, as long as who wrote has its own."""
        number, serial = self._long_ago.last(word)
        # Only the very last one is known: it has to be before the place.
        if not self._complete_from <= serial < place:
            return None
        owner = self._owners.get(number)
        for piece in () if owner is None else owner.recent:
            if piece.serial == serial:
                at = np.flatnonzero(_writes_to(piece, word))
                return (owner, serial, int(at[-1])) if owner is not None and len(at) else None
        return None

    def undisturbed(self, context: Context, word: int, older: int, newer: int) -> bool:
        """No other thread or handler wrote to the word between two pieces of a context.

        Args:
            word: address of four bytes.
            older, newer: serial numbers of the pieces.
        """
        if older < self._complete_from:
            return False
        first, last = word >> 2, word + 3 >> 2
        for owner, piece in reversed(self._pieces):
            if piece.serial <= older:
                return True
            if owner is context or piece.serial >= newer:
                continue
            if first not in piece.written and last not in piece.written:
                continue
            if _writes_to(piece, word).any():
                return False
        # Of those long ago only the last write is known: it may be newer than `newer`, too.
        return self._long_ago.by_others(context.number, word) <= older


def _writes_to(piece: Piece, word: int) -> npt.NDArray[np.bool_]:
    """Which events of a piece may have written to four bytes from ``word`` on."""
    address = piece.address.astype(np.int64)
    size = np.where(piece.size == 0, 8, piece.size).astype(np.int64)
    writes = (piece.kind == Event.WRITE) | (piece.kind == Event.ACCESS)
    found: npt.NDArray[np.bool_] = writes & (address < word + 4) & (address + size > word)
    return found


def steps_before(
    timeline: Timeline, table: InstructionTable, word: int, step: Step
) -> Iterator[Step]:
    """Steps of whoever was the last to write to a word before the given step, newest first, from
    the write on; none where that is not known."""
    found = timeline.last_write(word, step.place, step.position)
    return iter(()) if found is None else steps(found[0], table, found[1:])


def steps(
    context: Context, table: InstructionTable, start: tuple[int, int] | None = None
) -> Iterator[Step]:
    """Own steps of a context, newest first, up to the first instruction that is not known.

    ``start``: serial number of a piece and position of an access in it, of whose instruction to
    begin; without it, of the newest. Nothing where the context no longer remembers that piece.
    """
    number = context.instructions
    accesses: list[Access] = []
    newer: list[Piece] = []
    for piece in reversed(context.recent):
        if start is not None and piece.serial > start[0]:
            number -= int(np.count_nonzero(piece.kind == _INSTRUCTION))
            newer.append(piece)
            continue
        end = len(piece.kind)
        if start is not None:
            if piece.serial < start[0]:
                return
            end = start[1] + 1
            while end < len(piece.kind) and piece.kind[end] in _DATA:
                end += 1
            if end == len(piece.kind):
                accesses = _accesses_first(reversed(newer))
            number -= int(np.count_nonzero(piece.kind[end:] == _INSTRUCTION))
            start = None
        # Few steps are asked for in most cases, of pieces that may be long.
        for low in range((end - 1) // _AT_ONCE * _AT_ONCE, -1, -_AT_ONCE):
            part = slice(low, min(low + _AT_ONCE, end))
            kinds, addresses = piece.kind[part].tolist(), piece.address[part].tolist()
            sizes, indices = piece.size[part].tolist(), piece.index[part].tolist()
            for i in range(len(kinds) - 1, -1, -1):
                if indices[i] >= 0:
                    number -= 1
                    accesses.reverse()
                    yield Step(
                        table.instructions[indices[i]],
                        accesses,
                        context.mask_reads.get(number),
                        piece.serial,
                        low + i,
                    )
                    accesses = []
                elif indices[i] == -2:
                    return
                elif kinds[i] in _DATA:
                    accesses.append((addresses[i], sizes[i], kinds[i] == _WRITE))


def _accesses_first(pieces: Iterable[Piece]) -> list[Access]:
    """Accesses that pieces begin with, newest first: those of the last instruction before them,
    where a batch of events ended in between."""
    found: list[Access] = []
    for piece in pieces:
        for kind, address, size in zip(
            piece.kind.tolist(), piece.address.tolist(), piece.size.tolist(), strict=True
        ):
            if kind not in _DATA:
                return found[::-1]
            found.append((address, size, kind == _WRITE))
    return found[::-1]
