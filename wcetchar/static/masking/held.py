"""What is known at one point of a path, as far as it decides what is held off."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

from wcetchar.model.bits import Bits
from wcetchar.model.characterization import Blocking
from wcetchar.model.masks import MaskState

Place = tuple[str, int]
"""``("r", number of a register)``, ``("s", bytes from the stack pointer at the function's entry)``,
``("f", 0)`` and ``("f", 1)``: what was compared last, ``("f", 2)``: the flags are those of the
difference."""

HELD_OFF: Final = -1
MOST_LOCKS: Final = 15
"""Locks inside of one another that are counted. Beyond, it is locked for good."""


@dataclass(frozen=True)
class Frame:
    """Of a function that is being executed.

    Attributes:
        known: words that follow from a mask register, or from a variable that is followed; nothing
            is known of others. In order.
        unlocks: locks that are over when it returns.
        from_masks: of the known places, those whose value a mask register had.
    """

    known: tuple[tuple[Place, Bits], ...] = ()
    unlocks: int = 0
    from_masks: frozenset[Place] = frozenset()


@dataclass(frozen=True)
class Hold:
    """
    Attributes:
        masks: mask registers.
        lock: how often the scheduler is locked.
        handler: an exception is handled, so that no thread goes on.
        pending: a switch was asked for: ``HELD_OFF`` while it is masked, else how many more
            instructions a core may execute before it happens; 0: none was.
        words: variables that are followed, by address, in order; what is not known of one is not
            known.
        frames: functions that are being executed, as far as the path has entered them and they
            are not forgotten; at least one.
    """

    masks: MaskState = MaskState()  # noqa: RUF009  (frozen)
    lock: int = 0
    handler: bool = False
    words: tuple[tuple[int, Bits], ...] = ()
    frames: tuple[Frame, ...] = (Frame(),)
    pending: int = 0

    @property
    def blocking(self) -> Blocking:
        return self.masks.blocking(self.lock > 0 or self.handler)

    @property
    def lock_known(self) -> bool:
        """How often the scheduler is locked is counted, and not only taken to be."""
        return self.lock < MOST_LOCKS


def frame_of(
    known: Mapping[Place, Bits], unlocks: int = 0, from_masks: Collection[Place] = ()
) -> Frame:
    """With what is known put in order; ``from_masks``: and perhaps places that are not known."""
    read = frozenset(place for place in from_masks if place in known)
    return Frame(tuple(sorted(known.items(), key=lambda pair: pair[0])), unlocks, read)
