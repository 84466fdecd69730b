"""The surface of a service, put together from what is priced at a time.

A part is all points at one combination of profile numbers, and at one value of each parameter that
what goes on with the service depends on.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wcetchar.engine.sweep import AtAll, Grid
from wcetchar.engine.totals import Times
from wcetchar.model.characterization import ServiceCharacterization
from wcetchar.model.service import ParameterKind
from wcetchar.model.sweep import Figures, Surface
from wcetchar.model.uncertainty import UncertainCount
from wcetchar.pipeline.sweep_axes import AskedAxis


class SurfaceParts:
    """The surface of a service, part by part."""

    def __init__(
        self, service: ServiceCharacterization, followed: frozenset[str], axes: Sequence[AskedAxis]
    ) -> None:
        self.service = service
        self.followed = followed
        self._axes = axes
        own = {p.name for p in service.parameters}
        self._swept = [a for a in axes if a.steps is None and a.axis.name in own - followed]
        self._anew = [a for a in axes if a.steps is None and a.axis.name in followed]
        self.has = tuple(a.steps is not None or a.axis.name in own | followed for a in axes)
        shape = [len(a.axis.numbers) if has else 1 for a, has in zip(axes, self.has, strict=True)]
        self.points = math.prod(shape)
        self._shape = tuple(shape)
        swept = {a.axis.name for a in self._swept}
        self._coarse = tuple(
            1 if a.axis.name in swept else n for a, n in zip(axes, shape, strict=True)
        )
        self._figures: list[tuple[NDArray[Any], NDArray[Any]]] = []
        self._words: NDArray[np.uint8] | None = None

    def grids(
        self,
        place: Mapping[str, int],
        given: Mapping[str, int],
        uncertain: Mapping[str, UncertainCount],
    ) -> Iterator[tuple[dict[str, int], Grid]]:
        """With the values of what is followed anew. Of ``uncertain`` parameters the dearest of all
        values that each can have is taken, as of cases."""
        swept = {a.axis.name: [int(x) for x in a.axis.numbers] for a in self._swept}
        own = {p.name for p in self.service.parameters}
        for values in itertools.product(*(a.axis.numbers for a in self._anew)):
            at = {a.axis.name: int(x) for a, x in zip(self._anew, values, strict=True)}
            fixed = {**given, **{name: value for name, value in at.items() if name in own}}
            fixed = {name: value for name, value in fixed.items() if name not in swept}
            cases = {
                p.name: range(p.minimum, p.maximum + 1)
                for p in self.service.parameters
                if p.kind is ParameterKind.CASE and p.name not in fixed and p.name not in swept
            }
            cases |= {
                name: range(count.low, count.high + 1)
                for name, count in uncertain.items()
                if name in own and name not in fixed and name not in swept
            }
            yield at, Grid(self.service, fixed, swept, cases)

    def take(self, place: Mapping[str, int], at: Mapping[str, int], found: AtAll) -> None:
        if self._words is None:
            self._words = np.zeros(self._shape, dtype=np.uint8)
            self._figures = [
                (np.zeros(self._shape, dtype=np.int64), np.ones(self._coarse, dtype=np.int64))
                for _ in range(3)
            ]
        where, coarse = self._index(place, at)
        self._words[where] = found.words
        times: tuple[Times, ...] = (found.total, found.interrupts, found.preemption)
        for number, one in enumerate(times):
            ticks, per_ns = self._figures[number]
            if one.ticks.dtype == object and ticks.dtype != object:
                ticks = ticks.astype(object)
            if one.per_ns > np.iinfo(np.int64).max and per_ns.dtype != object:
                per_ns = per_ns.astype(object)
            ticks[where], per_ns[coarse] = one.ticks, one.per_ns
            self._figures[number] = ticks, per_ns

    def _index(
        self, place: Mapping[str, int], at: Mapping[str, int]
    ) -> tuple[tuple[int | slice, ...], tuple[int, ...]]:
        """Of this part among all points, and among the denominators."""
        where: list[int | slice] = []
        coarse: list[int] = []
        for asked, has in zip(self._axes, self.has, strict=True):
            name = asked.axis.name
            if name in place:
                step = place[name]
            elif name in at:
                step = asked.axis.numbers.index(Fraction(at[name]))
            else:
                step = 0
            free = has and name not in place and name not in at
            where.append(slice(None) if free else step)
            coarse.append(0 if free else step)
        return tuple(where), tuple(coarse)

    def surface(self) -> Surface:
        assert self._words is not None
        total, interrupts, preemption = (Figures(*one) for one in self._figures)
        return Surface(self.service.name, self.has, total, interrupts, preemption, self._words)
