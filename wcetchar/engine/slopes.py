"""How a swept total changes for each unit of a swept number.

With x_k the numbers of an axis, in its unit, and T the total in nanoseconds, all else the same::

    change = (T(x_k+1) - T(x_k)) / (x_k+1 - x_k)        for each two neighbours x_k < x_k+1

of which the least and the most over all other axes are told. Exact; between two neighbours nothing
is said. The errors that a profile gives its numbers are another question (``sensitivity``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wcetchar.model.sweep import Axis, Change, Surface


def changes(surface: Surface, axes: Sequence[Axis]) -> Iterator[Change]:
    """Along each axis that the service depends on and that has two numbers at least."""
    for place, axis in enumerate(axes):
        if not surface.has[place] or len(axis.numbers) < 2:
            continue
        ticks = np.moveaxis(surface.total.ticks, place, 0)
        per_ns = np.moveaxis(surface.total.per_ns, place, 0)
        found: list[Fraction] = []
        for k, (x, following) in enumerate(pairwise(axis.numbers)):
            before, after = (per_ns[min(i, len(per_ns) - 1)] for i in (k, k + 1))
            for least, most in _between(ticks[k], before, ticks[k + 1], after):
                found += (least / (following - x), most / (following - x))
        yield Change(surface.service, axis, min(found), max(found))


def _between(
    ticks: NDArray[Any], per_ns: NDArray[Any], later: NDArray[Any], per_later: NDArray[Any]
) -> Iterator[tuple[Fraction, Fraction]]:
    """Least and most of the differences, for each pair of denominators. On Python integers: their
    products may need more than 64 bits."""
    for place in np.ndindex(*per_ns.shape):
        chosen = tuple(
            slice(None) if length == 1 else index
            for index, length in zip(place, per_ns.shape, strict=True)
        )
        one, other = int(per_ns[place]), int(per_later[place])
        first, second = np.asarray(ticks[chosen]), np.asarray(later[chosen])
        if one == other and first.dtype == second.dtype == np.int64:
            more = second - first  # times are not negative: their difference cannot wrap
            yield Fraction(int(more.min()), one), Fraction(int(more.max()), one)
            continue
        wide = second.astype(object) * one - first.astype(object) * other
        yield (
            Fraction(int(np.min(wide)), one * other),
            Fraction(int(np.max(wide)), one * other),
        )
