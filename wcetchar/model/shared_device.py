"""Devices on a bus that is given to them in slots of time (``engine/time_driven.py`` has the
equations)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

SECOND: Final = 10**9
"""In nanoseconds."""


@dataclass(frozen=True)
class Phase:
    """A part of one request.

    Attributes:
        held: the bus is, so nobody else has it.
        takes: nanoseconds; 0 where it moves something.
        moves: bytes, beside the data of the request.
        data: it moves the data of the request, a cluster.
        rate: bytes in a second at which it moves.
        for_each: of so many bytes of the cluster there is one, and one of what is left; ``None``:
            there is one of the request.
    """

    name: str
    held: bool
    takes: Fraction = Fraction(0)
    moves: int = 0
    data: bool = False
    rate: Fraction = Fraction(0)
    for_each: int | None = None

    def time(self, cluster: int) -> Fraction:
        """In nanoseconds, of a request for ``cluster`` bytes."""
        moved = cluster if self.data else self.moves
        once = self.takes + (SECOND * moved / self.rate if moved else 0)
        return once * (1 if self.for_each is None else -(-cluster // self.for_each))


@dataclass(frozen=True)
class Figure:
    """What is said of a device elsewhere, with requests for ``cluster`` bytes; one of the others is
    not ``None``.

    Attributes:
        guaranteed: bytes in a second.
        utilisation: share of time in which data are moved.
        devices: how many saturate the bus.
    """

    cluster: int
    guaranteed: Fraction | None = None
    utilisation: Fraction | None = None
    devices: int | None = None
    note: str = ""


@dataclass(frozen=True)
class SharedDevice:
    """One kind of device on one bus.

    Attributes:
        bandwidth: of the bus, bytes in a second.
        clusters: bytes of data of one request.
        phases: of one request, in order. One of them moves the data, and the bus is free in none of
            them, or in some that follow each other, the first one following the last.
        devices: name -> nanoseconds of its phases in which the bus is free, by name; phases that it
            does not name take what they take. Empty: devices are all alike.
    """

    source: str
    bandwidth: Fraction
    clusters: tuple[int, ...]
    phases: tuple[Phase, ...]
    devices: Mapping[str, Mapping[str, Fraction]] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
