"""How far an estimate can be off through each number that it was made from.

Everything here is about the *safe figure*: the upper end of an estimate's time, of which another
one comes out where a price or a count is another one. All times are nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class UncertainCount:
    """A whole number that may be off: ``systematic`` either way, always the same, and
    ``stochastic`` either way, each time the service runs anew. Both are limits."""

    nominal: int
    systematic: int = 0
    stochastic: int = 0

    @property
    def is_exact(self) -> bool:
        return not self.systematic and not self.stochastic

    @property
    def low(self) -> int:
        return self.nominal - self.systematic - self.stochastic

    @property
    def high(self) -> int:
        return self.nominal + self.systematic + self.stochastic


@dataclass(frozen=True)
class Contribution:
    """What one number contributes, with all others at their nominal values.

    Attributes:
        name: of the number, in the words of its file: ``flash read first``, ``N``.
        low, nominal, high, unit: what it can be.
        lowers, raises: the safe figure, from where this number is nominal too.
        systematic: the part of ``raises`` that a systematic error has.
        stochastic: what its stochastic errors come to over the whole service, never more than all
            of them together; the root is rounded up.
    """

    name: str
    low: Fraction
    nominal: Fraction
    high: Fraction
    unit: str
    lowers: Fraction
    raises: Fraction
    systematic: Fraction
    stochastic: Fraction


@dataclass(frozen=True)
class Uncertainty:
    """The safe figure over everything that the numbers behind it can be.

    Attributes:
        lowest: where each number is at the end that makes it less.
        nominal: where each number is nominal.
        systematic_low, systematic_high: where systematic errors are as large as they can be, and
            there are no stochastic ones.
        stochastic: the root of the sum of the squares of stochastic contributions, rounded up.
        safe: the safe figure itself, where everything is at its worst at once.
        contributions: of numbers that matter, what raises most first.
        idle: how many numbers have an error that does not matter here.
    """

    lowest: Fraction
    nominal: Fraction
    systematic_low: Fraction
    systematic_high: Fraction
    stochastic: Fraction
    safe: Fraction
    contributions: tuple[Contribution, ...]
    idle: int = 0

    @property
    def expected_low(self) -> Fraction:
        """Least that is to be expected: all systematic errors, and stochastic ones as a root."""
        return max(self.lowest, self.systematic_low - self.stochastic)

    @property
    def expected_high(self) -> Fraction:
        """Most that is to be expected; ``safe`` is what holds."""
        return min(self.safe, self.systematic_high + self.stochastic)

    @property
    def together(self) -> Fraction:
        """What numbers raise the safe figure by together, beyond what each does alone: more where
        they are multiplied, such as cycles by a clock's period, less where one hides another."""
        alone = sum((one.raises for one in self.contributions), start=Fraction(0))
        return self.safe - self.nominal - alone


@dataclass(frozen=True)
class NoRange:
    """A figure whose range is not told; ``why``: behind "no range: "."""

    why: str


@dataclass(frozen=True)
class Uncertainties:
    """Of the figures of an estimate.

    Attributes:
        total: of the service.
        interrupts, preemption: how long each is held off, with what goes on with that.
        paths: of the bound of all paths; ``None``: there is none.
    """

    total: Uncertainty
    interrupts: Uncertainty | NoRange
    preemption: Uncertainty | NoRange
    paths: Uncertainty | NoRange | None = None
