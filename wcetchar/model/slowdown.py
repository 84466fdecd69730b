"""How much longer something takes while other masters use a bus that it needs
(``engine/slowdown.py`` has the equations)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction


@dataclass(frozen=True)
class Slowdown:
    """``alone`` and ``loaded`` in nanoseconds: 0 <= alone <= loaded, and 0 alone means 0 loaded."""

    alone: Fraction
    loaded: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.alone <= self.loaded or (not self.alone and self.loaded):
            raise ValueError(f"{self.alone} ns alone, {self.loaded} ns loaded")

    @property
    def factor(self) -> Fraction:
        """F_sd, 1 or more."""
        return self.loaded / self.alone if self.alone else Fraction(1)


@dataclass(frozen=True)
class BusLoad:
    """What other masters take of a bus.

    Attributes:
        load: bytes in a second, 0 or more.
        capacity: bytes in a second that they would get if nobody else used the bus; above ``load``.
        burst: nanoseconds of the bus that they take at once at most, beyond their share of time;
            ``None``: nothing is promised.
    """

    load: Fraction
    capacity: Fraction
    burst: Fraction | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.load < self.capacity or (self.burst is not None and self.burst < 0):
            raise ValueError(f"{self.load} of {self.capacity} B/s, bursts of {self.burst} ns")

    @property
    def taken(self) -> Fraction:
        """u, the share of the bus's time that is gone: 0 or more, below 1."""
        return self.load / self.capacity


@dataclass(frozen=True)
class Application:
    """What was measured of one application.

    Attributes:
        factor: F_sd, 1 or more.
        alone, loaded: the times in nanoseconds it was made of; ``None``: the factor was given.
        also: other factors that the same source gives for it.
        only_bus_time: all of its time is bus time, so it shows what others take of the bus.
    """

    name: str
    factor: Fraction
    alone: Fraction | None = None
    loaded: Fraction | None = None
    also: tuple[Fraction, ...] = ()
    only_bus_time: bool = False
    about: str = ""


@dataclass(frozen=True)
class MeasuredSlowdowns:
    """Of one machine under one load.

    Attributes:
        load: bytes in a second that other masters took; ``None``: not said.
        bandwidths: bytes in a second that the bus gave to one user alone, by what that did.
    """

    source: str
    applications: tuple[Application, ...]
    load: Fraction | None = None
    bandwidths: Mapping[str, Fraction] = field(default_factory=dict)
