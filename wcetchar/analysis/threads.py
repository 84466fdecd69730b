"""Threads that are switched away, by the addresses that their registers were saved to.

A context switch saves the registers of one thread and restores those of another. The address that
registers are restored from names the thread that was saved there before: with all that it was in
the middle of, where a function switches threads that a handler has called. It does not where that
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
    """Where the registers of a thread were saved, or its stack pointer.

    Attributes:
        context: what executed for it, a handler perhaps.
        below: what that had interrupted, the thread itself first.
        lock: how often it had locked the scheduler.
    """

    context: Context = field(kw_only=True)
    below: tuple[Context, ...] = ()
    lock: int = 0

    @property
    def contexts(self) -> tuple[Context, ...]:
        """The thread itself and its handlers."""
        return (*self.below, self.context)


class Threads:
    """The threads that do not run."""

    def __init__(self) -> None:
        self._frames: dict[int, Frame] = {}
        self._stacked: dict[int, Frame] = {}
        self._overwriting = Overwriting()

    @property
    def contexts(self) -> list[Context]:
        """All of them, those whose registers were written over included."""
        return [context for frame in self._frames.values() for context in frame.contexts]

    def begin(self, batch: EventBatch) -> None:
        """A new batch of events."""
        self._overwriting.begin(batch, [*self._frames.values(), *self._stacked.values()])
        self._stacked = {start: place for start, place in self._stacked.items() if not place.lost}

    def suspend(
        self,
        context: Context,
        start: int,
        end: int,
        position: int,
        below: tuple[Context, ...] = (),
        lock: int = 0,
    ) -> Frame | None:
        """Registers of a thread were saved, all before ``position`` of the batch.

        Returns: the thread whose saved registers lay at the same place, which can never go on.
        """
        before = self._frames.get(start)
        frame = Frame(start, end, position, context=context, below=below, lock=lock)
        self._frames[start] = frame
        for one in frame.contexts:
            one.detach()
        return None if before is None or before.context is context else before

    def resume(self, start: int, position: int) -> Frame | None:
        """The thread whose registers are restored from ``start``, if it is one that is known."""
        frame = self._frames.pop(start, None)
        if frame is not None:
            self._overwriting.look(frame, position)
        return frame

    def stack(self, context: Context, start: int, position: int) -> None:
        """A context stored its stack pointer to ``start``, right before ``position``."""
        self._stacked[start] = Frame(start, start + 4, position, context=context)

    def stacked(self, start: int, position: int) -> Context | None:
        """Whose stack pointer the word at ``start`` still is, as far as is known."""
        place = self._stacked.get(start)
        if place is None:
            return None
        self._overwriting.look(place, position)
        return None if place.lost else place.context
