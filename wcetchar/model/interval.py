"""Exact intervals of time in nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.model.symbolic import Symbolic, in_order, least, most


@dataclass(frozen=True)
class Interval:
    """low <= nominal <= high in nanoseconds. The safe figure is ``high``."""

    low: Fraction = Fraction(0)
    nominal: Fraction = Fraction(0)
    high: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if not (in_order(self.low, self.nominal) and in_order(self.nominal, self.high)):
            raise ValueError(f"not an interval: {self.low} <= {self.nominal} <= {self.high}")

    def __add__(self, other: Interval) -> Interval:
        return Interval(self.low + other.low, self.nominal + other.nominal, self.high + other.high)

    def larger(self, other: Interval) -> Interval:
        """Of two times the larger, end by end."""
        return Interval(
            most(self.low, other.low),
            most(self.nominal, other.nominal),
            most(self.high, other.high),
        )

    def shorter(self, other: Interval) -> Interval:
        """Of two times that hold, the one with the lower upper end. Of recorded ones end by end:
        of these, lower ends are not asked for."""
        if isinstance(self.high, Symbolic) or isinstance(other.high, Symbolic):
            return Interval(
                least(self.low, other.low),
                least(self.nominal, other.nominal),
                least(self.high, other.high),
            )
        return self if self.high <= other.high else other

    def up_to(self, high: Fraction) -> Interval:
        """The same with another upper end, which the nominal value does not exceed.

        Raises:
            ValueError: that is below the lower end.
        """
        return Interval(self.low, least(self.nominal, high), high)

    def scaled(self, factor: int) -> Interval:
        """Times a count.

        Raises:
            ValueError: the count is negative (the interval would turn over).
        """
        if factor < 0:
            raise ValueError(f"a count cannot be negative: {factor}")
        return Interval(self.low * factor, self.nominal * factor, self.high * factor)


NO_TIME: Final = Interval()
