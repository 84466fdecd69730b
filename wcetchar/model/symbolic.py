"""Numbers that stand for all values that they can have: what prices ask of them beyond arithmetic.

Prices are plain fractions. Where they are recorded as functions of a profile's numbers
(``engine/recorded``), a :class:`Symbolic` number takes the place of each, and does what a fraction
does. Python's own ``max`` and ``min`` would only ask it which is larger; these here let it remember
that the larger one is meant, whichever it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction


class Symbolic(Fraction):
    """A fraction that knows how it came about. ``Fraction`` alone is one of a single value."""

    def most_of(self, values: Sequence[Fraction]) -> Fraction:
        """The largest of these, one of which this is."""
        raise NotImplementedError

    def longest_of(self, values: Mapping[Fraction, int], count: int) -> Fraction:
        """As :func:`longest`, of values one of which this is."""
        raise NotImplementedError

    def is_whole(self) -> bool:
        raise NotImplementedError

    def in_order(self, smaller: Fraction, larger: Fraction) -> bool:
        """Of numbers that are never the other way round: nothing is decided by it."""
        raise NotImplementedError


def most(*values: Fraction) -> Fraction:
    """The largest, of one at least."""
    for value in values:
        if isinstance(value, Symbolic):
            return value.most_of(values)
    return max(values)


def least(*values: Fraction) -> Fraction:
    """The smallest, of one at least."""
    for value in values:
        if isinstance(value, Symbolic):
            return -value.most_of([-one for one in values])
    return min(values)


def longest(values: Mapping[Fraction, int], count: int) -> Fraction:
    """The sum of the ``count`` largest of these values, each of which is there so many times; of
    all, where there are fewer."""
    for value in values:
        if isinstance(value, Symbolic):
            return value.longest_of(values, count)
    total = Fraction(0)
    for value, number in sorted(values.items(), reverse=True):
        total += value * min(number, count)
        count -= min(number, count)
    return total


def is_nothing(value: Fraction) -> bool:
    """It is zero, whatever a profile says; of a recorded number that is not asked."""
    return not isinstance(value, Symbolic) and not value


def is_whole(value: Fraction) -> bool:
    return value.is_whole() if isinstance(value, Symbolic) else value.denominator == 1


def in_order(smaller: Fraction, larger: Fraction) -> bool:
    """``smaller <= larger``, where anything else is a mistake."""
    for value in (smaller, larger):
        if isinstance(value, Symbolic):
            return value.in_order(smaller, larger)
    return smaller <= larger
