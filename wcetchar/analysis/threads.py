"""Threads that are switched away, by the addresses that their registers were saved to.

A context switch saves the registers of one thread and restores those of another. The address that
registers are restored from names the thread that was saved there before. It does not where that
thread is gone and its memory was given to another one. Two things show this: something was
written over the saved registers, or the thread goes on elsewhere than it left off
(``windows`` looks at that).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.contexts import Context
from wcetchar.model.trace import Event, EventBatch


@dataclass
class Frame:
    """Saved registers of a thread at start <= address < end.

    ``since``: position in the current batch behind which a write is one over them.
    """

    context: Context
    start: int
    end: int
    since: int
    lost: bool = False


class Threads:
    """The threads that do not run."""

    def __init__(self) -> None:
        self._frames: dict[int, Frame] = {}
        self._batch: EventBatch | None = None
        self._writes: npt.NDArray[np.int64] | None = None

    @property
    def contexts(self) -> list[Context]:
        """All of them, those whose registers were written over included."""
        return [frame.context for frame in self._frames.values()]

    def begin(self, batch: EventBatch) -> None:
        """A new batch of events."""
        if self._batch is not None:
            for frame in self._frames.values():
                self._look(frame, len(self._batch))
                frame.since = 0
        self._batch, self._writes = batch, None

    def suspend(self, context: Context, start: int, end: int, position: int) -> Context | None:
        """Registers of a thread were saved, all before ``position`` of the batch.

        Returns: the thread whose saved registers lay at the same place, which can never go on.
        """
        before = self._frames.get(start)
        self._frames[start] = Frame(context, start, end, position)
        return None if before is None or before.context is context else before.context

    def resume(self, start: int, position: int) -> Frame | None:
        """The thread whose registers are restored from ``start``, if it is one that is known."""
        frame = self._frames.pop(start, None)
        if frame is not None:
            self._look(frame, position)
        return frame

    def _look(self, frame: Frame, position: int) -> None:
        """Writes of the batch before ``position`` over a frame."""
        batch = self._batch
        if frame.lost or batch is None or frame.since >= position:
            return
        if self._writes is None:
            kind = batch.kind
            self._writes = np.flatnonzero((kind == Event.WRITE) | (kind == Event.ACCESS))
        low, high = np.searchsorted(self._writes, (frame.since, position))
        at = self._writes[low:high]
        address = batch.address[at].astype(np.int64)
        inside = address < frame.end
        if inside.any():
            size = np.maximum(batch.size[at], 1).astype(np.int64)
            frame.lost = bool((inside & (address + size > frame.start)).any())
