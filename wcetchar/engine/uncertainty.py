"""Values with errors: how far sums and differences of uncertain numbers can be off.

An error is *systematic*, the same each time (an offset, a constant that nobody knows better), or
*stochastic*, each time another one and independent of all others (noise). Systematic errors add
linearly, stochastic ones as the root of the sum of squares (Muller, Modeling and Analysis:
Measuring, 3.2.8)::

    e(a + b) = e(a) + e(b)              systematic
    e(a + b) = sqrt(e(a)^2 + e(b)^2)    stochastic
    e(a - b) = e(a + b)                 both: a difference of readings adds its errors

What happens n times has one of two meanings, and they must not be mixed up::

    n * a       ``scaled``: one number, n times the same. Both errors are n times as large
    a + ... + a ``repeated``: n numbers, each with an error of its own.
                systematic n * e, stochastic sqrt(n) * e

So the error of a price that is constant, but was read once from an instrument, is systematic,
however random the reading was; stochastic is only what differs from access to access.

Each error is kept with the input that it comes from, so that its share in the whole can be told.
Squares are exact; a root is taken last, and rounded up.

Inputs and outputs: exact numbers of any unit, the same for all. Soundness: errors are limits, so
``nominal + systematic + linear`` is never exceeded. ``nominal + systematic + stochastic`` is: the
root of squares covers of the sum what the single errors cover of each number where they are so
many standard deviations, and of independent errors that are limits, evenly spread about zero, the
sum exceeds k roots with a probability of 2 * exp(-k^2 / 2) at most (Hoeffding 1963). It is no
bound, and takes no part in a safe figure.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

PLACES: Final = 6
"""Decimals of a root that is not rational."""


@dataclass(frozen=True)
class Uncertain:
    """A number with its errors by the input that each comes from.

    Attributes:
        systematic: input -> error, either way.
        squares: input -> square of the stochastic error.
        linear: input -> the stochastic errors of all draws, were they all as large as they can be.
    """

    nominal: Fraction
    systematic: Mapping[str, Fraction] = field(default_factory=dict)
    squares: Mapping[str, Fraction] = field(default_factory=dict)
    linear: Mapping[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for errors in (self.systematic, self.squares, self.linear):
            for name, error in errors.items():
                if error < 0:
                    raise ValueError(f"an error cannot be negative: {name}: {error}")

    def __add__(self, other: Uncertain) -> Uncertain:
        return self._with(self.nominal + other.nominal, other)

    def __sub__(self, other: Uncertain) -> Uncertain:
        return self._with(self.nominal - other.nominal, other)

    def _with(self, nominal: Fraction, other: Uncertain) -> Uncertain:
        return Uncertain(
            nominal,
            _added(self.systematic, other.systematic),
            _added(self.squares, other.squares),
            _added(self.linear, other.linear),
        )

    def scaled(self, factor: Fraction | int) -> Uncertain:
        """One number times ``factor``, which may be negative."""
        size = abs(Fraction(factor))
        return Uncertain(
            self.nominal * factor,
            {name: error * size for name, error in self.systematic.items()},
            {name: square * size**2 for name, square in self.squares.items()},
            {name: error * size for name, error in self.linear.items()},
        )

    def repeated(self, count: int) -> Uncertain:
        """The sum of ``count`` such numbers, each drawn anew.

        Raises:
            ValueError: the count is negative.
        """
        if count < 0:
            raise ValueError(f"a count cannot be negative: {count}")
        return Uncertain(
            self.nominal * count,
            {name: error * count for name, error in self.systematic.items()},
            {name: square * count for name, square in self.squares.items()},
            {name: error * count for name, error in self.linear.items()},
        )

    @property
    def systematic_error(self) -> Fraction:
        return sum(self.systematic.values(), start=Fraction(0))

    @property
    def stochastic_error(self) -> Fraction:
        """The root of the sum of squares, never below it, and never above the linear sum."""
        root = root_above(sum(self.squares.values(), start=Fraction(0)))
        return min(root, self.linear_error)

    @property
    def linear_error(self) -> Fraction:
        """Stochastic errors, all as large as they can be and in the same direction."""
        return sum(self.linear.values(), start=Fraction(0))

    @property
    def expected(self) -> tuple[Fraction, Fraction]:
        """Where the number is to be expected; no bound."""
        error = self.systematic_error + self.stochastic_error
        return self.nominal - error, self.nominal + error

    @property
    def limits(self) -> tuple[Fraction, Fraction]:
        """Where it is, whatever the errors are: hard ends."""
        error = self.systematic_error + self.linear_error
        return self.nominal - error, self.nominal + error

    def shares(self) -> Iterator[tuple[str, Fraction]]:
        """Each input with its part of the error from ``nominal`` to the hard end, which they add up
        to: the largest first, those of the same size by name."""
        errors = _added(self.systematic, self.linear)
        yield from sorted(errors.items(), key=lambda one: (-one[1], one[0]))


def uncertain(
    name: str,
    nominal: Fraction | int,
    systematic: Fraction | int = 0,
    stochastic: Fraction | int = 0,
) -> Uncertain:
    """An input of that name, with its errors either way.

    Raises:
        ValueError: an error is negative.
    """
    if systematic < 0 or stochastic < 0:
        raise ValueError(f"an error cannot be negative: {name}: {systematic}, {stochastic}")
    error = Fraction(stochastic)
    return Uncertain(
        Fraction(nominal),
        {name: Fraction(systematic)} if systematic else {},
        {name: error**2} if error else {},
        {name: error} if error else {},
    )


def sum_of(values: Iterable[Uncertain]) -> Uncertain:
    return sum(values, start=Uncertain(Fraction(0)))


def root_above(square: Fraction) -> Fraction:
    """The square root where it is rational; else the smallest multiple of 10**-PLACES that is not
    below it.

    Raises:
        ValueError: the number is negative.
    """
    if square < 0:
        raise ValueError(f"{square} has no square root")
    over, under = math.isqrt(square.numerator), math.isqrt(square.denominator)
    exact = Fraction(over, under)
    if exact**2 == square:
        return exact
    scale = 10**PLACES
    scaled = math.ceil(square * scale**2)
    root = math.isqrt(scaled)
    return Fraction(root if root**2 == scaled else root + 1, scale)


def _added(one: Mapping[str, Fraction], other: Mapping[str, Fraction]) -> dict[str, Fraction]:
    found = dict(one)
    for name, error in other.items():
        found[name] = found.get(name, Fraction(0)) + error
    return found
