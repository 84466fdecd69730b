"""A service over a grid of values of its parameters, on one hardware: what :func:`estimate_given`
finds at each point, in columns.

    total(q)    = max over cases c of  total(q, c)
    blocking(q) = max over cases c, stretches s of  time of s at (q, c), with what follows it

where q is a point of the grid, and c goes over the values of parameters that are cases and have no
value. Formulas are evaluated for all points at once (``totals``); tables, cached lines and
recurring interference one point after the other. All of it is exact: the upper end at a point is
that of :func:`estimate_given` there. In nanoseconds.

The word of a total is that of the estimate: a high-water mark is one where its counts were observed
at just these values, at others it is an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wcetchar.engine.blocking import blocking_totals
from wcetchar.engine.chains import Following
from wcetchar.engine.counts import used_parameters
from wcetchar.engine.lines import LinesAt
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.pricing import can_follow, leads_on
from wcetchar.engine.totals import Times, Totals, total_of
from wcetchar.errors import InputError
from wcetchar.model.characterization import (
    Characterization,
    Counts,
    Joint,
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.sweep import WORDS

MOST_POINTS: Final = 20_000_000
"""Of a service, cases that are searched included: some hundred megabytes."""
MOST_ONE_BY_ONE: Final = 100_000
"""Points of a service that are priced one after the other, on one hardware."""


@dataclass(frozen=True)
class Grid:
    """``swept``: values by parameter, in the order of the axes; ``cases``: those that the dearest
    is taken of; ``fixed``: all other parameters."""

    service: ServiceCharacterization
    fixed: Mapping[str, int]
    swept: Mapping[str, Sequence[int]]
    cases: Mapping[str, Sequence[int]]

    @property
    def values(self) -> dict[str, Sequence[int]]:
        """Of every parameter: swept ones first, cases last."""
        fixed = {name: (value,) for name, value in self.fixed.items()}
        return {**self.swept, **fixed, **self.cases}

    @property
    def swept_shape(self) -> tuple[int, ...]:
        return tuple(len(each) for each in self.swept.values())

    @property
    def shape(self) -> tuple[int, ...]:
        """Of :attr:`values`."""
        return tuple(len(each) for each in self.values.values())


@dataclass(frozen=True)
class AtAll:
    """Each of the shape of what is swept; ``words``: places in ``WORDS``."""

    total: Times
    interrupts: Times
    preemption: Times
    words: NDArray[np.uint8]


def sweep(grid: Grid, prices: PriceVector, following: Following) -> AtAll:
    """The upper ends of the estimate at each point of the grid.

    Raises:
        InputError: the counts do not hold at a point, or there are too many.
    """
    service = grid.service
    lines = prices.caches.at(service)
    _refuse_too_many(grid, prices)
    total = total_of(service, prices, lines).over(grid.values)
    every = np.broadcast_to(total.ticks, grid.shape).reshape(*grid.swept_shape, -1)
    worst = every.argmax(axis=-1)  # the first of equals, as the search has it
    words = _words(grid, prices, lines).reshape(every.shape)
    interrupts, preemption = (
        _longest(grid, blocking_totals(service, kind, prices, following, lines))
        for kind in (StretchKind.INTERRUPTS, StretchKind.PREEMPTION)
    )
    return AtAll(
        Times(_chosen(every, worst), total.per_ns), interrupts, preemption, _chosen(words, worst)
    )


def followed_by(
    characterization: Characterization, service: ServiceCharacterization, cached: bool
) -> frozenset[str]:
    """Names of parameters that what goes on with the service may depend on."""
    if not any(leads_on(stretch) for stretch in service.stretches):
        return frozenset()
    found: set[str] = set()
    for other in characterization.services:
        stretches = [stretch for stretch in other.stretches if can_follow(stretch)]
        if not stretches:
            continue
        names = tuple(parameter.name for parameter in other.parameters)
        handlers = any(Joint.HANDLER in (stretch.goes_on_from or ()) for stretch in stretches)
        counts = [stretch.counts for stretch in stretches] + [other.counts] * handlers
        found.update(names if cached else ())
        found.update(*(used_parameters(one, names) for one in counts))
    return frozenset(found)


def _chosen(values: NDArray[Any], worst: NDArray[np.intp]) -> NDArray[Any]:
    return np.take_along_axis(values, worst[..., np.newaxis], axis=-1)[..., 0]


def _longest(grid: Grid, parts: Sequence[Totals]) -> Times:
    """The longest of all at each point, in the dearest case."""
    if not parts:
        return Times(np.zeros(grid.swept_shape, dtype=np.int64), 1)
    times = [part.over(grid.values) for part in parts]
    per_ns = math.lcm(*(one.per_ns for one in times))
    longest = reduce(np.maximum, (one.per(per_ns) for one in times))
    over_cases = tuple(range(longest.ndim - len(grid.cases), longest.ndim))
    longest = longest.max(axis=over_cases) if over_cases else longest
    shape = (*grid.swept_shape, *(1 for _ in grid.fixed))
    return Times(np.broadcast_to(longest, shape).reshape(grid.swept_shape), per_ns)


def _refuse_too_many(grid: Grid, prices: PriceVector) -> None:
    service = grid.service
    one_by_one = bool(prices.caches) or bool(prices.rate.recurring) or not _is_formula(service)
    points = math.prod(grid.shape)
    most = MOST_ONE_BY_ONE if one_by_one else MOST_POINTS
    if points > most:
        with_cases = f", {', '.join(grid.cases)} in each case," if grid.cases else ""
        raise InputError(
            f"{service.name} has {points:,} points{with_cases} on one hardware, which are too many",
            expected=f"{most:,} at most"
            + (", where caches, refresh or tables are priced point by point" * one_by_one),
            hint="fewer values, or --set some of them",
        )


def _is_formula(service: ServiceCharacterization) -> bool:
    return all(counts.is_formula for counts in _all_counts(service))


def _all_counts(service: ServiceCharacterization) -> list[Counts]:
    stretches = service.stretches if service.stretches_known else ()
    return [service.counts, *(stretch.counts for stretch in stretches)]


def _words(grid: Grid, prices: PriceVector, lines: LinesAt | None) -> NDArray[np.uint8]:
    """Of the total at each point, of the shape of ``grid.values``: as ``estimate_at`` has it."""
    service = grid.service
    estimate = WORDS.index(Word.ESTIMATE)
    found = np.full(grid.shape, WORDS.index(service.word), dtype=np.uint8)
    names = [parameter.name for parameter in service.parameters]
    for counts in _all_counts(service):
        if not counts.is_formula:
            seen = _at(grid, names, [point.values for point in counts.points])
            found[~seen] = estimate
    if service.word is Word.HIGH_WATER_MARK and service.parameters:
        evidence = service.evidence
        points = [*evidence.fitted, *evidence.held_out, *(p.values for p in service.counts.points)]
        found[~_at(grid, names, points)] = estimate
    if lines is not None:
        values = grid.values
        order = [list(values).index(name) for name in names]
        each = [list(one) for one in values.values()]
        for place in np.ndindex(*grid.shape):
            if not lines(tuple([each[i][place[i]] for i in order])).exact:
                found[place] = estimate
    return found


def _at(grid: Grid, names: Sequence[str], points: Sequence[tuple[int, ...]]) -> NDArray[np.bool_]:
    """Which points of the grid are among these, whose values are in the order of ``names``."""
    found = np.zeros(grid.shape, dtype=np.bool_)
    places = {
        name: {value: place for place, value in enumerate(each)}
        for name, each in grid.values.items()
    }
    for point in points:
        at = dict(zip(names, point, strict=True))
        chosen = [places[name][at[name]] for name in places if at[name] in places[name]]
        if len(chosen) == len(places):
            found[tuple(chosen)] = True
    return found
