"""Holds the figures of a service in several characterizations against each other.

    verdict over the range R:  compare time_k(q) with time_0(q) for every q in R

R is the product of the parameters' ranges, each cut down to what every side is characterized for;
a parameter that only some sides have goes over its range all the same. Where R is small every point
is tried. Where it is not, the formulas may decide: with time(q) = sum of r(q) * p_r over
repetitions r, which are never negative, p_r <= p'_r for every r makes one side never slower than
the other, anywhere. (A blocking time is the largest over its stretches: it is enough that each
stretch of one side lies below some stretch of the other.) Else, and where lines are loaded into
caches, which no formula tells, only the corners and the observed points are tried, and the verdict
says so.

Soundness caveat: the verdict is about figures. High-water marks and estimates can be too low, on
either side.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Final

from wcetchar.engine.blocking import blocking_totals
from wcetchar.engine.chains import Following
from wcetchar.engine.counts import LARGEST_GRID
from wcetchar.engine.estimate import estimate_at
from wcetchar.engine.lines import LinesAt
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.totals import Totals, total_of
from wcetchar.errors import InputError
from wcetchar.model.characterization import (
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.expression import Expression
from wcetchar.model.service import ParameterKind
from wcetchar.model.versus import Against, Basis, Metric, MetricVersus, Range, Times, Verdict

MOST_CORNERS: Final = 64

Point = tuple[int, ...]

_NOTHING: Final = Fraction(0)


@dataclass(frozen=True)
class Side:
    """A service of one characterization, prices that hold for it, and what may follow it there."""

    service: ServiceCharacterization
    prices: PriceVector
    following: Following | None = None

    @cached_property
    def lines(self) -> LinesAt | None:
        """What the service loads into caches."""
        return self.prices.caches.at(self.service)


def common_ranges(
    services: Sequence[ServiceCharacterization], fixed: Mapping[str, int]
) -> tuple[Range, ...]:
    """What can be compared; parameters in ``fixed`` have one value. Of cases that are not fixed
    each side takes its dearest.

    Raises:
        InputError: a parameter's ranges have no value in common, or not the fixed one.
    """
    found: dict[str, Range] = {}
    for service in services:
        for p in service.parameters:
            if p.kind is ParameterKind.CASE and p.name not in fixed:
                continue
            known = found.get(p.name, Range(p.name, p.minimum, p.maximum))
            found[p.name] = Range(
                p.name, max(known.minimum, p.minimum), min(known.maximum, p.maximum)
            )
    ranges = []
    for range_ in found.values():
        if range_.minimum > range_.maximum:
            raise InputError(f"the ranges of {range_.name} have no value in common")
        if range_.name in fixed:
            value = fixed[range_.name]
            if not range_.minimum <= value <= range_.maximum:
                raise InputError(
                    f"{range_.name}={value} is not in {range_.minimum}..{range_.maximum}, which "
                    "all are characterized for"
                )
            range_ = Range(range_.name, value, value)
        ranges.append(range_)
    return tuple(ranges)


def versus(sides: Sequence[Side], ranges: Sequence[Range], hardware: int) -> list[MetricVersus]:
    """Every metric on one hardware; ``ranges`` are those of :func:`common_ranges`."""
    names = tuple(r.name for r in ranges)
    size = math.prod(r.maximum - r.minimum + 1 for r in ranges)
    corners = _corners(ranges)
    points = (
        list(itertools.product(*(range(r.minimum, r.maximum + 1) for r in ranges)))
        if size <= LARGEST_GRID
        else _sample(sides, ranges, names, corners)
    )
    seen: Seen = {}
    return [
        _metric(metric, hardware, sides, names, points, corners, size, seen) for metric in Metric
    ]


def _corners(ranges: Sequence[Range]) -> list[Point]:
    """Corners of the range, in order; where there are too many, the lowest and the highest."""
    ends = [sorted({r.minimum, r.maximum}) for r in ranges]
    if math.prod(len(e) for e in ends) <= MOST_CORNERS:
        return list(itertools.product(*ends))
    return [tuple(e[0] for e in ends), tuple(e[-1] for e in ends)]


def _sample(
    sides: Sequence[Side], ranges: Sequence[Range], names: tuple[str, ...], corners: list[Point]
) -> list[Point]:
    """The corners, and every point that a side with all parameters observed. Of too many the
    corners stay, and of the others as many as there is room for, evenly spread."""
    found = set(corners)
    for side in sides:
        own = tuple(p.name for p in side.service.parameters)
        if not set(own) >= set(names):
            continue
        order = [own.index(name) for name in names]
        evidence = side.service.evidence
        table = [point.values for point in side.service.counts.points]
        for values in (*evidence.fitted, *evidence.held_out, *table):
            point = tuple(values[i] for i in order)
            if all(r.minimum <= v <= r.maximum for r, v in zip(ranges, point, strict=True)):
                found.add(point)
    if len(found) <= LARGEST_GRID:
        return sorted(found)
    others, room = sorted(found.difference(corners)), LARGEST_GRID - len(set(corners))
    return sorted({*corners, *(others[i * len(others) // room] for i in range(room))})


class _Curve:
    """One metric of one side, at points of all parameters ``names``."""

    def __init__(self, side: Side, metric: Metric, names: tuple[str, ...]) -> None:
        service = side.service
        own = tuple(parameter.name for parameter in service.parameters)
        self._order = [names.index(name) if name in names else None for name in own]
        self._cases = list(
            itertools.product(
                *(
                    range(p.minimum, p.maximum + 1)
                    for p in service.parameters
                    if p.name not in names
                )
            )
        )
        self.parts = _parts(side, metric)
        used = {self._order[i] for part in self.parts for i in part.used}
        self._used = sorted(i for i in used if i is not None)
        self._known: dict[Point, tuple[Fraction, Point] | None] = {}

    def own(self, point: Point) -> Point:
        """Values of the service's parameters there, in its dearest case."""
        found = self._dearest(point)
        return self._in(point, found[1] if found else self._cases[0])

    def at(self, point: Point) -> Fraction | None:
        """``None``: the counts do not hold there."""
        found = self._dearest(point)
        return found[0] if found else None

    def _in(self, point: Point, case: Point) -> Point:
        if not case:
            return tuple([point[i] for i in self._order if i is not None])
        open_cases = iter(case)
        return tuple([next(open_cases) if i is None else point[i] for i in self._order])

    def _dearest(self, point: Point) -> tuple[Fraction, Point] | None:
        """The time and the case, the same wherever the parameters that count are."""
        key = tuple([point[i] for i in self._used])
        if key in self._known:
            return self._known[key]
        found = None
        try:
            for case in self._cases:
                values = self._in(point, case)
                time = max([part(values) for part in self.parts], default=_NOTHING)
                if found is None or time > found[0]:
                    found = time, case
        except InputError:
            found = None
        self._known[key] = found
        return found

    @property
    def coefficients(self) -> list[Mapping[Expression, Fraction]] | None:
        """Prices of each part's repetitions; ``None`` where a part is no sum of such."""
        found = []
        if len(self._cases) > 1:
            return None  # the largest of several sums is none itself
        for part in self.parts:
            line = part.line
            if line is None:
                return None
            found.append(line)
        return found


def _parts(side: Side, metric: Metric) -> list[Totals]:
    """What a metric is the largest of; as :func:`estimate_at` has it."""
    service, lines = side.service, side.lines
    if metric is Metric.TOTAL:
        return [total_of(service, side.prices, lines)]
    kind = StretchKind.INTERRUPTS if metric is Metric.INTERRUPTS else StretchKind.PREEMPTION
    return blocking_totals(service, kind, side.prices, side.following, lines)


def _metric(
    metric: Metric,
    hardware: int,
    sides: Sequence[Side],
    names: tuple[str, ...],
    points: Sequence[Point],
    corners: Sequence[Point],
    size: int,
    seen: Seen,
) -> MetricVersus:
    curves = [_Curve(side, metric, names) for side in sides]
    rows = _rows(curves, points)
    against = []
    for number in range(1, len(sides)):
        found = _against(metric, number, sides, curves, rows, size, seen)
        if found is not None:
            against.append(found)
    best = [0] * len(sides)
    complete = 0
    for row, alike in rows:
        times = [time for time in row.times if time is not None]
        if len(times) == len(sides):
            complete += alike
            least = min(times)
            for number, time in enumerate(times):
                best[number] += alike if time == least else 0
    return MetricVersus(
        metric=metric,
        hardware=hardware,
        size=size,
        against=tuple(against),
        best=tuple(best),
        complete=complete,
        corners=tuple(Times(c, tuple(curve.at(c) for curve in curves)) for c in corners),
    )


Rows = Sequence[tuple[Times, int]]
"""Times at a point, and at how many points they are these; of those it is the first."""


def _rows(curves: Sequence[_Curve], points: Sequence[Point]) -> Rows:
    """Where a formula does not depend on a parameter, many points share one time, the very same
    object: one of them stands for all, which need not be compared again."""
    first: dict[tuple[int, ...], Times] = {}
    alike: Counter[tuple[int, ...]] = Counter()
    for point in points:
        times = tuple([curve.at(point) for curve in curves])
        # The curves keep every time that they gave, so no two have one identity.
        key = tuple([id(time) for time in times])
        if key not in first:
            first[key] = Times(point, times)
        alike[key] += 1
    return [(times, alike[key]) for key, times in first.items()]


def _against(
    metric: Metric,
    number: int,
    sides: Sequence[Side],
    curves: Sequence[_Curve],
    rows: Rows,
    size: int,
    seen: Seen,
) -> Against | None:
    """``None``: there is no point at which both have a figure."""
    checked = slower = faster = 0
    worst: tuple[tuple[bool, Fraction, Fraction], Times] | None = None
    for row, alike in rows:
        base, other = row.times[0], row.times[number]
        if base is None or other is None:
            continue
        checked += alike
        slower += alike if other > base else 0
        faster += alike if other < base else 0
        # Something where there was nothing is the largest change there is.
        change = (other - base) / base if base else Fraction(0)
        rank = (not base and other > 0, change, other)
        if worst is None or rank > worst[0]:
            worst = (rank, row)
    if worst is None:
        return None
    verdict, basis = _verdict(slower, faster), Basis.EVERY_POINT
    if checked < size:
        by_formulas = _by_formulas(curves[0], curves[number])
        verdict = by_formulas or verdict
        basis = Basis.FORMULAS if by_formulas else Basis.SOME_POINTS
    at = worst[1]
    (first, here), (second, there) = (
        _seen(sides, n, curves[n].own(at.values), metric, seen) for n in (0, number)
    )
    return Against(
        number, verdict, basis, checked, slower, faster, at, (first, second), (here, there)
    )


Seen = dict[tuple[int, Point], Estimate | None]
"""Estimates by the number of a side and its values; several metrics may ask for one."""


def _seen(
    sides: Sequence[Side], number: int, values: Point, metric: Metric, seen: Seen
) -> tuple[Word, str]:
    """What a figure is, and where the longest stretch begins and ends."""
    if (number, values) not in seen:
        side = sides[number]
        try:
            made = estimate_at(side.service, side.prices, values, side.following)
        except InputError:  # another kind of time than the compared one has no figure there
            made = None
        seen[number, values] = made
    found = seen[number, values]
    if found is None:
        return Word.ESTIMATE, ""
    if metric is Metric.TOTAL:
        return found.word, ""
    interrupts = metric is Metric.INTERRUPTS
    chain = found.interrupts_chain if interrupts else found.preemption_chain
    if chain is None:
        return found.word, found.interrupts_stretch if interrupts else found.preemption_stretch
    own, *rest = chain.links
    return chain.word, ", then ".join((own.where, *(f"{x.service}: {x.where}" for x in rest)))


def _verdict(slower: int, faster: int) -> Verdict:
    if slower and faster:
        return Verdict.DEPENDS
    if slower:
        return Verdict.NEVER_FASTER
    return Verdict.NEVER_SLOWER if faster else Verdict.EQUAL


def _by_formulas(base: _Curve, other: _Curve) -> Verdict | None:
    """What the prices of equal repetitions decide; see the module."""
    one, two = base.coefficients, other.coefficients
    if one is None or two is None:
        return None
    never_slower, never_faster = _below(two, one), _below(one, two)
    if never_slower and never_faster:
        return Verdict.EQUAL
    if never_slower:
        return Verdict.NEVER_SLOWER
    return Verdict.NEVER_FASTER if never_faster else None


def _below(
    low: list[Mapping[Expression, Fraction]], high: list[Mapping[Expression, Fraction]]
) -> bool:
    """Each part of ``low`` lies below some part of ``high``, whatever the parameters."""
    zero = Fraction(0)
    above = high or [{}]
    return all(
        any(all(price <= h.get(key, zero) for key, price in part.items()) for h in above)
        for part in low
    )
