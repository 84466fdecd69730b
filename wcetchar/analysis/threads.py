"""Threads that are switched away, by the addresses that their registers were saved to.

A context switch saves the registers of one thread and restores those of another. The address that
registers are restored from names the thread that was saved there before. It does not where that
thread is gone and its memory was given to another one. Two things show this: something was
written over the saved registers, or the thread goes on elsewhere than it left off
(``windows`` looks at that).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from wcetchar.analysis.contexts import Context
from wcetchar.analysis.memory import Overwriting, Place
from wcetchar.model.trace import EventBatch


@dataclass
class Frame(Place):
    """Where the registers of a thread were saved, or its stack pointer."""

    context: Context = field(kw_only=True)


class Threads:
    """The threads that do not run."""

    def __init__(self) -> None:
        self._frames: dict[int, Frame] = {}
        self._overwriting = Overwriting()

    @property
    def contexts(self) -> list[Context]:
        """All of them, those whose registers were written over included."""
        return [frame.context for frame in self._frames.values()]

    def begin(self, batch: EventBatch) -> None:
        """A new batch of events."""
        self._overwriting.begin(batch, list(self._frames.values()))

    def suspend(self, context: Context, start: int, end: int, position: int) -> Context | None:
        """Registers of a thread were saved, all before ``position`` of the batch.

        Returns: the thread whose saved registers lay at the same place, which can never go on.
        """
        before = self._frames.get(start)
        self._frames[start] = Frame(start, end, position, context=context)
        return None if before is None or before.context is context else before.context

    def resume(self, start: int, position: int) -> Frame | None:
        """The thread whose registers are restored from ``start``, if it is one that is known."""
        frame = self._frames.pop(start, None)
        if frame is not None:
            self._overwriting.look(frame, position)
        return frame
