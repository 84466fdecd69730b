"""Exact formulas for observed counts.

Given the counts n(p) that were observed at parameter values p, find the simplest

    n(p) = c0 + c1*f1(p) + .. + ct*ft(p),    t <= 3,    all ci integers

(of three parameters or more also a term for each of them and one more) with f from the families of
:mod:`wcetchar.analysis.fitting.features`, such that it meets *every* observed count.
The coefficients are solved for with the points that are not held out, exactly, in rationals; the
formula is checked on all others. No floating point takes part.

A formula is refused, and the answer is ``None``, unless

* it is checked: the points exceed its fitted quantities (coefficients, moduli, thresholds) by two
  at least, whichever two points are left out, the rest still determine it, and thresholds leave
  three values at least before, between and after them. A single exception: the first value of a
  declared range may be a case of its own (size 0, an empty list), since that value is itself
  observed. Where every declared combination of values was observed, equal counts are the constant,
  however few; else that takes three counts, two of which check it;
* each parameter it uses took enough values by the same measure, or every value of its range; every
  parameter with more than one value was varied; and no two parameters were varied only one at a
  time (their interaction would be a guess);
* it is never negative over the declared ranges;
* every other formula of as few terms that passes the same tests is the same function over the
  declared ranges. A sweep in steps of four cannot tell 4*ceil(p/4) from p: no formula then, since
  one of the two would be too low.

Of formulas that are the same function, the one with the fewest terms is given; then with the fewest
fitted quantities; then with the fewest negative coefficients; then by the order of the families;
then with the smallest coefficients.

Inputs: integer counts at integer points. Output: a syntax tree. Soundness: exact at the observed
points; between and beyond them a formula is an induction, as good as the sweep. Whoever calls its
value a bound has to declare ranges that the sweep covers.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache

from wcetchar.analysis.fitting.choice import Fitter
from wcetchar.analysis.fitting.decompose import decompose
from wcetchar.model.expression import Expression

__all__ = ["decompose", "fit", "hold_out_points"]

Point = tuple[int, ...]

_LARGEST_COUNT = 2**62


def fit(
    parameters: Sequence[str],
    points: Sequence[Point],
    counts: Sequence[int],
    *,
    hold_out: Collection[Point] | None = None,
    ranges: Sequence[tuple[int, int]] | None = None,
) -> Expression | None:
    """The simplest exact formula for ``counts``, or ``None`` where there is none to be had.

    Args:
        parameters: names, one for each coordinate of the points.
        points: observed parameter values; a point may occur again (with the same count).
        counts: what was counted at each point, >= 0.
        hold_out: the points that only check; by default those of :func:`hold_out_points`.
        ranges: least and greatest declared value of each parameter; by default those observed.

    Raises:
        ValueError: lengths that do not match, no points, a negative count, a point outside its
            range, or ``hold_out`` with a point that was not observed.
    """
    seen: dict[Point, int] = {}
    contradiction = False
    for point, count in zip(points, counts, strict=True):
        if not 0 <= count < _LARGEST_COUNT:
            raise ValueError(f"count {count} at {point}")
        contradiction |= seen.setdefault(tuple(point), count) != count
    ordered = tuple(sorted(seen))
    if not ordered or any(len(point) != len(parameters) for point in ordered):
        raise ValueError(f"points {ordered[:3]}... for parameters {tuple(parameters)}")
    if ranges is None:
        ranges = [(min(axis), max(axis)) for axis in zip(*ordered, strict=True)]
    if len(ranges) != len(parameters) or not all(
        low <= value <= high
        for point in ordered
        for value, (low, high) in zip(point, ranges, strict=True)
    ):
        raise ValueError(f"points outside the ranges {tuple(ranges)}")
    held = set(hold_out_points(ordered)[1] if hold_out is None else map(tuple, hold_out))
    if not held <= seen.keys():
        raise ValueError(f"held-out points that were not observed: {sorted(held - seen.keys())}")
    if contradiction:
        return None
    declared = tuple((low, high) for low, high in ranges)
    fitter = _fitter(tuple(parameters), ordered, frozenset(held), declared)
    return fitter.fit(tuple(seen[point] for point in ordered))


def hold_out_points(points: Sequence[Point]) -> tuple[tuple[Point, ...], tuple[Point, ...]]:
    """(points to fit with, points that only check), both sorted.

    About every third point is held out, never a corner (all coordinates least or greatest), in
    gaps of 2, 4 and 3, so that the choice has no period in common with the moduli of the families.
    Of four points or more at least two are held out; of fewer none, as no formula but a constant
    could be had from them.
    """
    ordered = sorted(set(map(tuple, points)))
    if len(ordered) < 4:
        return tuple(ordered), ()
    ends = [(min(axis), max(axis)) for axis in zip(*ordered, strict=True)]
    inner = [
        point
        for point in ordered
        if any(value not in end for value, end in zip(point, ends, strict=True))
    ]
    if len(inner) < 2:
        inner = ordered[1:-1]
    if len(inner) < 4:
        chosen = {inner[0], inner[-1]}
    else:
        chosen = {inner[i] for i in range(len(inner)) if i % 9 in (1, 3, 7)}
    return tuple(p for p in ordered if p not in chosen), tuple(sorted(chosen))


@lru_cache(maxsize=32)
def _fitter(
    parameters: tuple[str, ...],
    points: tuple[Point, ...],
    held: frozenset[Point],
    ranges: tuple[tuple[int, int], ...],
) -> Fitter:
    return Fitter(parameters, points, held, ranges)
