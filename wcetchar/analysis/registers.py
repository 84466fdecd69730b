"""Register values at an instruction, from a trace whose format carries some of them.

Inputs: event batches with REGISTER events. Output: the same batches without them, and the value of
a register at the beginning of an instruction. Soundness: a value is either the register's, or it is
not known. Where instructions are missing from a trace (GAP, UNDECODED), what came before says
nothing any more; and in a format that does not print every change, a value holds for the
instruction behind it alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wcetchar.model.trace import Event, EventBatch

_NOTHING = np.zeros(0, dtype=np.int64)


class Registers:
    """What is known of registers, batch by batch.

    ``persist``: a register keeps its last value (``TraceInfo.registers_persist``).
    """

    def __init__(self, *, persist: bool) -> None:
        self._persist = persist
        self._before: dict[int, int] = {}
        """What still holds at the beginning of the batch."""
        self._at: npt.NDArray[np.int64] = _NOTHING
        """Position, in the batch without REGISTER events, that each event of it stands before."""
        self._number: npt.NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._value: npt.NDArray[np.uint64] = np.zeros(0, dtype=np.uint64)
        self._breaks: npt.NDArray[np.int64] = _NOTHING
        self._length = 0

    def begin(self, batch: EventBatch) -> EventBatch:
        """Takes the next batch; returns it without its REGISTER events."""
        self._before = self._carried()
        is_register = batch.kind == Event.REGISTER
        kept = ~is_register
        if is_register.any():
            places = np.cumsum(kept)[is_register].astype(np.int64)
            self._at, self._number = places, batch.size[is_register]
            self._value = batch.address[is_register]
            batch = EventBatch(batch.kind[kept], batch.address[kept], batch.size[kept])
        else:
            self._at, self._number = _NOTHING, self._number[:0]
            self._value = self._value[:0]
        self._breaks = np.flatnonzero(
            (batch.kind == Event.GAP) | (batch.kind == Event.UNDECODED)
        ).astype(np.int64)
        self._length = len(batch)
        return batch

    def value(self, number: int, position: int) -> int | None:
        """Value of a register at the beginning of the instruction at ``position`` of the batch
        without REGISTER events; ``None``: not known."""
        upto = int(np.searchsorted(self._at, position, side="right"))
        found = np.flatnonzero(self._number[:upto] == number)
        broken = int(np.searchsorted(self._breaks, position))
        since = int(self._breaks[broken - 1]) + 1 if broken else 0
        if len(found):
            at = int(self._at[found[-1]])
            holds = at >= since if self._persist else at == position
            return int(self._value[found[-1]]) if holds else None
        if broken or (position and not self._persist):
            return None
        return self._before.get(number)

    def _carried(self) -> dict[int, int]:
        """What holds behind the last event of the batch."""
        end = self._length
        numbers = {*self._before, *self._number.tolist()}
        return {n: v for n in numbers if (v := self.value(n, end)) is not None}
