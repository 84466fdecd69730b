"""How a swept total changes for each unit of a swept number.

With x_k the numbers of an axis, in its unit, and T the total in nanoseconds, all else the same::

    change = (T(x_k+1) - T(x_k)) / (x_k+1 - x_k)        for each two neighbours x_k < x_k+1

of which the least and the most over all other axes are told. Exact; between two neighbours nothing
is said. The errors that a profile gives its numbers are another question (``sensitivity``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wcetchar.model.sweep import Axis, Change, Figures, Surface


def changes(surface: Surface, axes: Sequence[Axis]) -> Iterator[Change]:
    """Along each axis that the service depends on and that has two numbers at least."""
    for place, axis in enumerate(axes):
        if not surface.has[place] or len(axis.numbers) < 2:
            continue
        found = [
            end
            for step, before, after in _steps(surface.total, place, axis.numbers)
            for end in _ends(step, before, after)
        ]
        yield Change(surface.service, axis, min(found), max(found))


@dataclass(frozen=True)
class _Side:
    ticks: NDArray[Any]
    per_ns: int


def _steps(
    figures: Figures, place: int, numbers: Sequence[Fraction]
) -> Iterator[tuple[Fraction, _Side, _Side]]:
    """Neighbours that are as far apart and have one denominator each, together."""
    ticks = np.moveaxis(figures.ticks, place, 0)
    per_ns = np.moveaxis(figures.per_ns, place, 0)
    apart: dict[Fraction, list[int]] = {}
    for k, (x, following) in enumerate(pairwise(numbers)):
        apart.setdefault(following - x, []).append(k)
    for step, before in apart.items():
        # Along an axis of the profile each number has a denominator of its own.
        groups = [before] if len(per_ns) == 1 else [[k] for k in before]
        for group in groups:
            chosen = np.array(group, dtype=np.intp)
            for where in np.ndindex(*per_ns.shape[1:]):
                rest = tuple(
                    slice(None) if length == 1 else index
                    for index, length in zip(where, per_ns.shape[1:], strict=True)
                )
                sides = []
                for ks in (chosen, chosen + 1):
                    one = int(per_ns[(min(int(ks[0]), len(per_ns) - 1), *where)])
                    sides.append(_Side(ticks[(slice(None), *rest)][ks], one))
                yield step, sides[0], sides[1]


def _ends(step: Fraction, before: _Side, after: _Side) -> tuple[Fraction, Fraction]:
    """Least and most. On Python integers where products may need more than 64 bits."""
    one, other = before.per_ns, after.per_ns
    if one == other:
        more = after.ticks - before.ticks  # times are not negative: this cannot wrap
        return Fraction(int(more.min()), one) / step, Fraction(int(more.max()), one) / step
    wide = after.ticks.astype(object) * one - before.ticks.astype(object) * other
    ends = int(np.min(wide)), int(np.max(wide))
    return Fraction(ends[0], one * other) / step, Fraction(ends[1], one * other) / step
