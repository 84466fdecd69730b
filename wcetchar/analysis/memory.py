"""What later events write over: places in memory whose contents were known once.

A frame of saved registers, or a word that holds an interrupt mask, stays what it was until somebody
writes there, whoever it is. Looking at each write of a trace would be slow, so the writes of a
batch are looked at when a place is asked for, and once more when the next batch comes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wcetchar.model.bits import NOTHING, Bits
from wcetchar.model.trace import Event, EventBatch


@dataclass
class Place:
    """Bytes start <= address < end.

    ``since``: position in the current batch behind which a write is one over them; ``lost``: there
    was one.
    """

    start: int
    end: int
    since: int
    lost: bool = False


@dataclass(frozen=True)
class _Writes:
    """Of a batch: positions of its writes, and the bytes that each is to."""

    at: npt.NDArray[np.int64]
    start: npt.NDArray[np.int64]
    end: npt.NDArray[np.int64]

    @classmethod
    def of(cls, batch: EventBatch) -> _Writes:
        at = np.flatnonzero((batch.kind == Event.WRITE) | (batch.kind == Event.ACCESS))
        start = batch.address[at].astype(np.int64)
        return cls(at, start, start + np.maximum(batch.size[at], 1))


class Overwriting:
    """Tells which places are written over."""

    def __init__(self) -> None:
        self._batch: EventBatch | None = None
        self._writes: _Writes | None = None

    def begin(self, batch: EventBatch, places: list[Place]) -> None:
        """A new batch of events; ``places`` are all that were known before it."""
        if self._batch is not None:
            for place in places:
                self.look(place, len(self._batch))
                place.since = 0
        self._batch, self._writes = batch, None

    def look(self, place: Place, position: int) -> None:
        """Writes of the batch before ``position`` over a place."""
        batch = self._batch
        if place.lost or batch is None or place.since >= position:
            return
        if self._writes is None:
            self._writes = _Writes.of(batch)
        low, high = self._writes.at.searchsorted((place.since, position))
        over = self._writes.start[low:high] < place.end
        over &= self._writes.end[low:high] > place.start
        place.lost = bool(over.any())


@dataclass
class _Word(Place):
    value: Bits = NOTHING
    serial: int = 0


class KeptMasks:
    """Words of memory that a mask register was stored to, by whichever thread or handler.

    A handler that returns to another thread restores that thread's masks from where an earlier
    activation of the handler, or the code that made the thread, had stored them.
    """

    def __init__(self) -> None:
        self._words: dict[int, _Word] = {}
        self._overwriting = Overwriting()

    def begin(self, batch: EventBatch) -> None:
        """A new batch of events."""
        self._overwriting.begin(batch, list(self._words.values()))
        self._words = {start: word for start, word in self._words.items() if not word.lost}

    def keep(self, address: int, value: Bits, serial: int, position: int) -> None:
        """A word was stored, before ``position`` of the batch, and before pieces from ``serial``
        on."""
        self._words[address] = _Word(address, address + 4, position, value=value, serial=serial)

    def recall(self, address: int, serial: int, position: int) -> Bits:
        """What is known of a word that was loaded in the piece ``serial``, before ``position``."""
        word = self._words.get(address)
        if word is None or word.serial > serial:
            return NOTHING
        self._overwriting.look(word, position)
        return NOTHING if word.lost else word.value

    def forget(self) -> None:
        """Something ran that the trace does not show."""
        self._words.clear()
