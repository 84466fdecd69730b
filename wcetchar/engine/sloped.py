"""Numbers that know how they change: exact values with slopes along the times of a profile.

Forward-mode differentiation (R. E. Wengert, "A simple automatic derivative evaluation program",
Communications of the ACM 7(8), 1964): put in the place of the times of a profile, they go through
the pricer as any fraction does, and what comes out has the slopes of the piece that was taken. Of
two that are the same, ``max`` and ``min`` take one; so slopes are looked for at points where few
are.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from wcetchar.model.fitting import Place

_NONE: Mapping[Place, Fraction] = {}


class Sloped(Fraction):
    """A fraction and, for each time that it hangs on, what one unit more of that adds to it."""

    __slots__ = ("slopes",)
    slopes: Mapping[Place, Fraction]

    def __new__(cls, value: Fraction, slopes: Mapping[Place, Fraction]) -> Sloped:
        self = super().__new__(cls, value)
        self.slopes = slopes
        return self

    def __add__(self, other: Any) -> Any:
        return _sloped(super().__add__(other), self.slopes, 1, slopes_of(other), 1)

    __radd__ = __add__

    def __hash__(self) -> int:  # type: ignore[override]
        """Of its slopes as well: counted by their values, two that are the same by chance stay two
        (``model.symbolic.longest``)."""
        return hash((Fraction(self), *sorted(self.slopes.items())))

    def __sub__(self, other: Any) -> Any:
        return _sloped(super().__sub__(other), self.slopes, 1, slopes_of(other), -1)

    def __rsub__(self, other: Any) -> Any:
        return _sloped(super().__rsub__(other), self.slopes, -1, _NONE, 1)

    def __mul__(self, other: Any) -> Any:
        return _sloped(super().__mul__(other), self.slopes, other, slopes_of(other), self)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Any:
        if slopes_of(other):
            raise TypeError("times are not divided by what hangs on others")
        return _sloped(super().__truediv__(other), self.slopes, Fraction(1) / other, _NONE, 1)

    def __rtruediv__(self, other: Any) -> Any:
        raise TypeError("times are not divided by what hangs on others")

    def __neg__(self) -> Any:
        return _sloped(super().__neg__(), self.slopes, -1, _NONE, 1)


def slopes_of(value: object) -> Mapping[Place, Fraction]:
    """None, of a plain number."""
    return value.slopes if isinstance(value, Sloped) else _NONE


def _sloped(
    value: Any,
    one: Mapping[Place, Fraction],
    times: Any,
    other: Mapping[Place, Fraction],
    other_times: Any,
) -> Any:
    if value is NotImplemented:
        return value
    # Factors are what they are here, whatever they hang on.
    factor, more = Fraction(times), Fraction(other_times)
    found = {place: slope * factor for place, slope in one.items()} if factor != 1 else dict(one)
    for place, slope in other.items():
        found[place] = found.get(place, Fraction(0)) + slope * more
    return Sloped(value, {place: slope for place, slope in found.items() if slope})
