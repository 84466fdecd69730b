"""Results over axes: what services take where parameters and numbers of a profile have each of many
values, as arrays with a dimension for each axis.

    figure(i, j, ...) = ticks[i, j, ...] / per_ns[i, j, ...]      in nanoseconds, exact
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wcetchar.model.characterization import Word

WORDS: Final = (Word.BOUND, Word.HIGH_WATER_MARK, Word.ESTIMATE)
"""By the numbers of ``Surface.words``."""
_INT64: Final = 2**63 - 1


@dataclass(frozen=True)
class Axis:
    """``name``: of a parameter, or the way to a number of the profile, ``core.clock``. ``numbers``:
    in ``unit``, rising; "" is of plain numbers."""

    name: str
    unit: str
    numbers: tuple[Fraction, ...]
    of_profile: bool

    @property
    def heading(self) -> str:
        return f"{self.name} {self.unit}".rstrip()

    @property
    def key(self) -> str:
        """For machines."""
        return f"{self.name}_{self.unit}" if self.unit else self.name


@dataclass(frozen=True)
class Figures:
    """``ticks``: int64, or Python integers where these may not suffice. ``per_ns``: of as many
    dimensions, of length 1 along each axis that it does not depend on."""

    ticks: NDArray[Any]
    per_ns: NDArray[Any]

    def at(self, place: tuple[int, ...]) -> Fraction:
        per_ns = np.broadcast_to(self.per_ns, self.ticks.shape)
        return Fraction(int(self.ticks[place]), int(per_ns[place]))

    def rounded_up(self, parts: int) -> NDArray[Any]:
        """In whole parts of a nanosecond, each the smallest that is not below."""
        ticks = self.ticks
        most = int(np.abs(ticks).max()) if ticks.size else 0
        if max(most, 1) * parts > _INT64:
            ticks = ticks.astype(object)
        rounded: NDArray[Any] = -((-ticks * parts) // self.per_ns)
        return rounded


@dataclass(frozen=True)
class Surface:
    """A service over all axes; along one that it does not depend on its arrays have length 1.

    Attributes:
        has: by axis, whether it depends on it.
        total: upper ends.
        interrupts, preemption: how long they are held off, with what goes on with the service.
        words: of the totals, by place in ``WORDS``.
    """

    service: str
    has: tuple[bool, ...]
    total: Figures
    interrupts: Figures
    preemption: Figures
    words: NDArray[np.uint8]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.total.ticks.shape


@dataclass(frozen=True)
class Change:
    """By how much a total changes where the number of an axis rises by one unit: between
    neighbours, wherever the others are, ``least`` and ``most``; in nanoseconds, exact."""

    service: str
    axis: Axis
    least: Fraction
    most: Fraction
