"""What a switch to another task or partition costs beside the switch itself: a working set that has
to come back into the caches (``engine/switching.py`` has the equations)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Final

SECOND: Final = Fraction(10**9)
"""In nanoseconds."""


class LossModel(StrEnum):
    """How the progress of what was switched to comes back."""

    FLOOD = "flood"
    EXPONENTIAL = "exponential"


@dataclass(frozen=True)
class WorkingSet:
    """One working set on one machine, as measured behind a switch.

    Attributes:
        size: in bytes; 0: not said.
        before: what the caches held when it was switched to.
        least: progress right behind the switch, of the sustained one; above 0, at most 1.
        settles: nanoseconds until progress is sustained again, as ``flood`` has it.
        constant: of ``exponential``, 1 / k in nanoseconds; ``None``: ``settles``, with which both
            models lose the same in the end.
    """

    name: str
    machine: str
    size: int
    before: str
    least: Fraction
    settles: Fraction
    constant: Fraction | None = None


@dataclass(frozen=True)
class Loss:
    """Behind a switch to a working set.

    Attributes:
        time: nanoseconds from the switch on.
        progress: f, of the sustained one.
        lost: W, nanoseconds of sustained progress.
        relative: O, of the time since the switch.
    """

    working_set: WorkingSet
    model: LossModel
    time: Fraction
    progress: Fraction
    lost: Fraction
    relative: Fraction


@dataclass(frozen=True)
class Partition:
    """What shares the processor in virtual-time round-robin.

    Attributes:
        share: its weight among all shares, 1 or more.
        working_set: ``None``: it loses nothing but the switch.
        model: which of its progress.
    """

    name: str
    share: int
    working_set: WorkingSet | None = None
    model: LossModel = LossModel.FLOOD


@dataclass(frozen=True)
class Shared:
    """Of one partition over a cycle, in nanoseconds.

    Attributes:
        time: that its slices take.
        loss: of it, what the scheduler takes and is lost behind switches.
        delay: bound of how long it is without the processor at once.
    """

    partition: Partition
    time: Fraction
    loss: Fraction
    delay: Fraction

    @property
    def share(self) -> Fraction:
        """Of its own time, that is lost."""
        return self.loss / self.time


@dataclass(frozen=True)
class Cycle:
    """A cycle of virtual-time round-robin; ``order``: who runs in each slice, by their places."""

    slice: Fraction
    order: tuple[int, ...]
    shared: tuple[Shared, ...]

    @property
    def loss(self) -> Fraction:
        """Share of the processor's time."""
        time = sum((one.time for one in self.shared), start=Fraction(0))
        return sum((one.loss for one in self.shared), start=Fraction(0)) / time

    @property
    def largest(self) -> Fraction:
        """Share of its own time that a partition loses at most."""
        return max(one.share for one in self.shared)

    @property
    def delay(self) -> Fraction:
        """The longest of all."""
        return max(one.delay for one in self.shared)


@dataclass(frozen=True)
class Load:
    """Of so many switches in a second, each of ``switch`` nanoseconds.

    Attributes:
        switching: nanoseconds of each second in which switches run.
        loss: nanoseconds of each second that are lost behind them.
    """

    rate: Fraction
    switch: Fraction
    switching: Fraction
    loss: Fraction

    @property
    def lost(self) -> Fraction:
        """Nanoseconds of each second."""
        return self.switching + self.loss

    @property
    def share(self) -> Fraction:
        """Of the processor's time; 1 or more: nothing is left."""
        return self.lost / SECOND
