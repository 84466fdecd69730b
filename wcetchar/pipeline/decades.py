"""Times over several powers of ten, for tables and for lines of pictures."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

LISTED: Final = (Fraction(1), Fraction(2), Fraction(5))
"""Of each power of ten, in a table."""
_IN_A_DECADE: Final = 20
DRAWN: Final = tuple(
    Fraction(10 ** (n / _IN_A_DECADE)).limit_denominator(100) for n in range(_IN_A_DECADE)
)
"""The same, in a picture."""


def between(first: Fraction, last: Fraction, steps: Sequence[Fraction]) -> list[Fraction]:
    """Both ends, and what lies between of ``steps`` times powers of ten, from a thousandth on."""
    power = Fraction(1, 1000)
    found = {first, last}
    while power <= last:
        found |= {power * step for step in steps if first <= power * step <= last}
        power *= 10
    return sorted(found)
