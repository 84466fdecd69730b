"""Safe figures of a service: its total, how long it holds something off, the bound of all paths.

A figure T is a function of the numbers of a profile and of parameters that may be off. It is the
largest of *parts*, each of them priced by what prices it elsewhere::

    total     one part: counts times prices                                          (``totals``)
    blocking  a part for each stretch, with what goes on after it                    (``blocking``)
    paths     one part: the dearest flow, solved anew at the prices                  (``paths``)

so whichever stretch or path is the longest at some numbers, it counts there. What follows a stretch
has the values of parameters that may be off as the service itself, at each point.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from functools import reduce

import numpy as np

from wcetchar.engine.blocking import blocking_totals
from wcetchar.engine.counts import count
from wcetchar.engine.estimate import estimate_at
from wcetchar.engine.parameter_box import ParameterBox
from wcetchar.engine.totals import Times, Totals, exact_times, total_of
from wcetchar.engine.variants import Variant
from wcetchar.model.access import Key
from wcetchar.model.characterization import ServiceCharacterization, StretchKind
from wcetchar.model.path_model import PathModel

Points = Sequence[tuple[int, ...]]
"""Values of the parameters of a box, in its order."""
Columns = Mapping[Key, tuple[int, Fraction]]
"""How often each class is counted, and its price in nanoseconds."""


class Figure(ABC):
    """``safe``: the figure as an estimate has it, of everything at its worst; ``box``: its
    parameters. ``adds_up``: each part is a sum of counts times prices, whatever the prices, and
    perhaps something besides."""

    adds_up = True

    def __init__(self, safe: Fraction, box: ParameterBox) -> None:
        self.safe = safe
        self.box = box

    @abstractmethod
    def parts(self, on: Variant, points: Points) -> list[Times]:
        """The time of each part at these points, on a variant of the profile.

        Raises:
            InputError, NoSoundBound: as of what prices it.
        """

    def least(self, on: Variant, points: Points) -> list[Times]:
        """Times that the parts are not below where all prices are these or more."""
        return self.parts(on, points)

    def columns(self, on: Variant, values: tuple[int, ...]) -> list[Columns]:
        """What each part counts, as far as it does; of a class that is left out nothing is."""
        return [{} for _ in self.parts(on, [values])]


class TotalFigure(Figure):
    def __init__(self, safe: Fraction, box: ParameterBox, service: ServiceCharacterization) -> None:
        super().__init__(safe, box)
        self._service = service

    def parts(self, on: Variant, points: Points) -> list[Times]:
        lines = on.prices.caches.at(self._service)
        return [total_of(self._service, on.prices, lines).at_all(points)]

    def columns(self, on: Variant, values: tuple[int, ...]) -> list[Columns]:
        found = estimate_at(self._service, on.prices, values)
        return [{one.key: (one.count, one.price.high) for one in found.columns}]


class BlockingFigure(Figure):
    """``followed``: places in the box of parameters that may be off and that what follows may
    depend on."""

    def __init__(
        self,
        safe: Fraction,
        box: ParameterBox,
        service: ServiceCharacterization,
        kind: StretchKind,
        followed: frozenset[str],
    ) -> None:
        super().__init__(safe, box)
        self._service = service
        self._kind = kind
        self._own = len(service.parameters)
        self._followed = [(place, name) for place, name in enumerate(box.names) if name in followed]
        self._totals: dict[tuple[int, tuple[int, ...]], list[Totals]] = {}
        self._kept: list[Variant] = []

    def parts(self, on: Variant, points: Points) -> list[Times]:
        groups: dict[tuple[int, ...], list[int]] = {}
        for number, values in enumerate(points):
            groups.setdefault(self._key(values), []).append(number)
        found: list[list[Fraction]] = []
        if len(groups) == 1:
            return [
                total.at_all([values[: self._own] for values in points])
                for total in self._at(on, next(iter(groups)))
            ]
        for key, numbers in groups.items():
            totals = self._at(on, key)
            found = found or [[Fraction(0)] * len(points) for _ in totals]
            for times, total in zip(found, totals, strict=True):
                for number in numbers:
                    times[number] = total(points[number][: self._own])
        return [exact_times(times) for times in found]

    def columns(self, on: Variant, values: tuple[int, ...]) -> list[Columns]:
        own = values[: self._own]
        return [self._counted(total, own) for total in self._at(on, self._key(values))]

    def _counted(self, total: Totals, own: tuple[int, ...]) -> Columns:
        counts: dict[Key, int] = {}
        for row in count(total.counts, total.names, own, total.what).rows:
            for key, number in row.vector.items():
                counts[key] = counts.get(key, 0) + number * row.repetitions
        return {key: (n, total.prices[key].time.high) for key, n in counts.items() if n}

    def _key(self, values: tuple[int, ...]) -> tuple[int, ...]:
        return tuple([values[place] for place, _ in self._followed])

    def _at(self, on: Variant, key: tuple[int, ...]) -> list[Totals]:
        known = self._totals.get((id(on), key))
        if known is None:
            names = [name for _, name in self._followed]
            following = on.following(zip(names, key, strict=True))
            lines = on.prices.caches.at(self._service)
            known = blocking_totals(self._service, self._kind, on.prices, following, lines)
            self._totals[id(on), key] = known
            self._kept.append(on)  # or another one might have its id
        return known


class PathFigure(Figure):
    adds_up = False

    def __init__(self, safe: Fraction, box: ParameterBox, model: PathModel) -> None:
        super().__init__(safe, box)
        self._model = model
        self._known: dict[object, tuple[Fraction, Fraction]] = {}

    def parts(self, on: Variant, points: Points) -> list[Times]:
        return [exact_times([self._solved(on, values)[0] for values in points])]

    def least(self, on: Variant, points: Points) -> list[Times]:
        """Of a flow: where the solver proved no more, its bound may be above another one at dearer
        prices."""
        return [exact_times([self._solved(on, values)[1] for values in points])]

    def _solved(self, on: Variant, values: tuple[int, ...]) -> tuple[Fraction, Fraction]:
        """The bound, and what the flow takes that was found."""
        from wcetchar.engine.paths import bound_of  # as in ``variants``

        prices = on.path_prices
        # Most numbers do not matter to a model: then it costs the same, and is not solved again.
        costs = tuple(prices.time_of(vector).high for vector in self._model.vectors)
        key = costs, prices.rate, prices.under_way, values
        if key not in self._known:
            at = dict(zip(self.box.names, values, strict=True))
            found = bound_of(self._model, prices, at)
            self._known[key] = found.time, found.reached
        return self._known[key]


def largest(parts: Sequence[Times]) -> tuple[Fraction, Fraction]:
    """Of the largest part at each point: the least over all points, and the most; no part: 0."""
    if not parts:
        return Fraction(0), Fraction(0)
    per_ns = math.lcm(*(one.per_ns for one in parts))
    longest = reduce(np.maximum, (one.per(per_ns) for one in parts))
    return Fraction(int(longest.min()), per_ns), Fraction(int(longest.max()), per_ns)
