"""How much dearer paths can be at other prices, without an integer program.

With t_v what a vector v takes at the prices of a, and u_v at those of b, and x_v >= 0 how often a
path of the model passes it::

    r = max over v of  t_v / u_v
    sum of t_v * x_v  <=  r * sum of u_v * x_v,   so   bound_a <= r * bound_b

with what is under way when a path begins (``path_prices``) as one more v, of the same model at the
same values. Where interference recurs, a path takes more than that sum, and nothing is said. Prices
are compared in floating point, and r is rounded up.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wcetchar.engine.prices import PriceVector
from wcetchar.model.path_model import PathModel

_ABOVE: Final = 1 + Fraction(1, 10**12)
"""More than what floating point is off."""


def vector_times(model: PathModel, prices: PriceVector) -> NDArray[np.float64] | None:
    """What the vectors of ``model`` take, to compare prices by (``times_as_dear``); ``None``: where
    interference recurs, that does not tell what a path takes."""
    if prices.rate.recurring:
        return None
    times = [prices.time_of(vector).high for vector in model.vectors]
    return np.array([float(time) for time in (*times, prices.under_way)])


def times_as_dear(one: NDArray[np.float64], other: NDArray[np.float64]) -> Fraction | None:
    """Of a model at the same values, no path is more than so many times as dear at the prices of
    ``one`` as it is at those of ``other``, for no vector is. ``None``: that has no end."""
    if bool(np.any((other == 0) & (one > 0))):
        return None
    ratios = one[one > 0] / other[one > 0]
    return Fraction(float(ratios.max(initial=0.0))) * _ABOVE
