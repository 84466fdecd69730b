"""The cheapest value of a number at which a budget holds: the slowest memory, the lowest clock.

With T(x) what a service takes where the number is x, all else the same, and x_1 < x_2 < ... from
the dearest value to the cheapest one::

    solved = the largest x_k with T(x_k) <= budget
    T      = total, or the bound over all paths where there is one and it is more

Where T rises with k (``solve_order``) that is found by halving, and whatever was evaluated on the
way has to rise as well; else, or where it does not, all values are tried. What is returned was
evaluated in either case, and so was the next cheaper value, which fails. Where all were tried,
dearer values that fail nevertheless are told.

Where all are tried, totals are evaluated first, and bounds only where these keep the budget, of
which many can be told without an integer program: if no price of a path model is more than r times
what it is at x_j, then bound(x_k) <= r * bound(x_j). If that keeps the budget, x_k does, and if the
bound at x_j is more than r times the budget, with r the other way, x_k does not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wcetchar.engine import PriceVector
from wcetchar.engine.path_ratios import times_as_dear, vector_times
from wcetchar.errors import InputError, Location
from wcetchar.model.characterization import Word
from wcetchar.model.solved import Solution, Solved
from wcetchar.model.sweep import WORDS, Surface
from wcetchar.pipeline.solve_order import (
    EvenValues,
    last_that_holds,
    rises,
    smaller_is_cheaper,
)
from wcetchar.pipeline.sweep import Request, SweptServices
from wcetchar.pipeline.sweep_axes import Advance, AskedAxis

MOST_SOLVED: Final = 1000
"""Combinations of other axes, of all services together, each of which is solved."""


def run(request: Request, solve: str, budget: Fraction, advance: Advance | None = None) -> Solution:
    """Of each service, at each combination of the axes of ``request``.

    Args:
        solve: ``NAME=VALUES``.
        budget: of the total, in nanoseconds.

    Raises:
        UsageError, InputError: as of ``sweep.run``; a service does not depend on the number.
    """
    swept = SweptServices(request)
    axes = [swept.axis("--vary", text) for text in request.vary]
    asked = swept.axis("--solve", solve)
    swept.check([*axes, asked])
    whole, finest = asked.values.whole, asked.values.finest
    solver = _Solver(swept, axes, asked, budget)
    step, found = None, None
    if asked.steps is not None and rises(
        asked.steps, swept.numbers.with_values({}), swept.characterization
    ):
        if whole is not None:
            solver.values, step = EvenValues(*whole, finest), finest
        found = solver.by_halving()
    halved = found is not None
    if found is None:
        solver = _Solver(swept, axes, asked, budget)
        step = None if whole is None else Fraction(1)
        found = solver.by_trying(advance)
    notes = (*solver.notes(), *swept.notes([*axes, asked]))
    return Solution(
        *swept.names,
        asked.axis,
        tuple(one.axis for one in axes),
        budget,
        solver.smallest,
        halved,
        step,
        solver.tried,
        tuple(found),
        tuple(solver.bounded),
        notes,
    )


@dataclass(frozen=True)
class _Taken:
    """At a value; ``bound``: the time is over all paths."""

    time: Fraction
    word: Word
    bound: Fraction | None


_TakenAt = Callable[[int], _Taken]
"""By how much cheaper the value is."""


class _Solver:
    """Values go by their order from the dearest: ``k`` rises with what the machine saves."""

    def __init__(
        self,
        swept: SweptServices,
        axes: Sequence[AskedAxis],
        asked: AskedAxis,
        budget: Fraction,
    ) -> None:
        self.swept, self.axes, self.asked, self.budget = swept, axes, asked, budget
        self.values: Sequence[Fraction] = asked.axis.numbers
        self.smallest = smaller_is_cheaper(asked.steps)
        self._known: dict[int, tuple[Surface, ...]] = {}
        self._vectors: dict[tuple[str, int, tuple[int, ...]], NDArray[np.float64] | None] = {}
        self._whys: dict[str, str] = {}
        self.bounded: dict[str, None] = {}
        self.tried = 0

    def _value(self, k: int) -> Fraction:
        return self.values[len(self.values) - 1 - k if self.smallest else k]

    def _surfaces(self, k: int) -> tuple[Surface, ...]:
        """Of all services over the other axes, at a value."""
        if k not in self._known:
            at = replace(self.asked, axis=replace(self.asked.axis, numbers=(self._value(k),)))
            self._known[k] = self.swept.surfaces([*self.axes, at])
            self.tried += 1
        return self._known[k]

    def notes(self) -> list[str]:
        """Where there is no bound over all paths."""
        return [
            f"{name}: no bound over all paths, so the total alone is held against the budget: {why}"
            for name, why in self._whys.items()
        ]

    def by_halving(self) -> list[Solved] | None:
        """``None``: times do not rise after all."""
        found = []
        for number, surface in enumerate(self._surfaces(0)):
            for place in self._places(surface):
                seen: dict[int, _Taken] = {}

                def taken(
                    k: int,
                    seen: dict[int, _Taken] = seen,
                    number: int = number,
                    place: tuple[int, ...] = place,
                ) -> _Taken:
                    if k not in seen:
                        one = self._surfaces(k)[number]
                        total = one.total.at((*place, 0))
                        seen[k] = self._taken(number, place, k, total, one.words[(*place, 0)])
                    return seen[k]

                def holds(k: int, taken: _TakenAt = taken) -> bool:
                    return taken(k).time <= self.budget

                best = last_that_holds(len(self.values), holds)
                ordered = [seen[k].time for k in sorted(seen)]
                if ordered != sorted(ordered):
                    return None
                found.append(self._solved(surface, place, best, taken))
        return found

    def by_trying(self, advance: Advance | None) -> list[Solved]:
        """All values."""
        surfaces = self.swept.surfaces([*self.axes, self.asked], advance)
        self.tried = len(self.values)
        found = []
        for number, surface in enumerate(surfaces):
            for place in self._places(surface):
                line = surface.total.ticks[place]
                per_ns = np.broadcast_to(surface.total.per_ns, surface.shape)[place]
                words = np.broadcast_to(surface.words, surface.shape)[place]
                times = [Fraction(int(t), int(n)) for t, n in zip(line, per_ns, strict=True)]
                if self.smallest:
                    times, words = times[::-1], words[::-1]
                seen: dict[int, _Taken] = {}

                def taken(
                    k: int,
                    seen: dict[int, _Taken] = seen,
                    number: int = number,
                    place: tuple[int, ...] = place,
                    times: Sequence[Fraction] = times,
                    words: NDArray[np.uint8] = words,
                ) -> _Taken:
                    if k not in seen:
                        seen[k] = self._taken(number, place, k, times[k], words[k])
                    return seen[k]

                within = [k for k, time in enumerate(times) if time <= self.budget]
                holding = self._holding(number, place, within, taken)
                best = holding[-1] if holding else None
                solved = self._solved(surface, place, best, taken)
                fail = set(range(best or 0)) - set(holding)
                failing = tuple(sorted(self._value(k) for k in fail))
                found.append(replace(solved, failing=failing))
        return found

    def _taken(
        self, number: int, place: tuple[int, ...], k: int, total: Fraction, word: int
    ) -> _Taken:
        """Of a service, at a value and the places of the other axes."""
        service = self.swept.services[number]
        over = self.swept.over_all_paths(service, *self._at(place, k))
        if over is not None and over.time is not None:
            self.bounded[service.name] = None
            return _Taken(max(total, over.time), over.word, over.time)
        if over is not None:
            self._whys.setdefault(service.name, over.why)
        return _Taken(total, WORDS[word], None)

    def _at(self, place: tuple[int, ...], k: int) -> tuple[list[AskedAxis], dict[str, int]]:
        """All axes, that which is solved with this value alone, and the places on them."""
        here = replace(self.asked, axis=replace(self.asked.axis, numbers=(self._value(k),)))
        places = {one.axis.name: n for one, n in zip(self.axes, place, strict=True)}
        return [*self.axes, here], {**places, here.axis.name: 0}

    def _holding(
        self, number: int, place: tuple[int, ...], within: list[int], taken: _TakenAt
    ) -> list[int]:
        """Of values whose totals keep the budget those that do over all paths."""
        if not within or self.swept.services[number].name not in self.swept.models:
            return within
        ends = {k: taken(k).time <= self.budget for k in (within[0], within[-1])}
        holding = {k for k, holds in ends.items() if holds}
        parts = [(0, len(within) - 1)]
        while parts:
            first, last = parts.pop()
            if last - first < 2:
                continue
            low, high = within[first], within[last]
            between = within[first + 1 : last]
            like = (low in holding) == (high in holding)
            if like and self._told(number, place, between, (low, high), low in holding, taken):
                holding |= set(between) if low in holding else set()
                continue
            middle = (first + last) // 2
            if taken(within[middle]).time <= self.budget:
                holding.add(within[middle])
            parts += [(first, middle), (middle, last)]
        return sorted(holding)

    def _told(
        self,
        number: int,
        place: tuple[int, ...],
        between: Sequence[int],
        ends: tuple[int, int],
        holds: bool,
        taken: _TakenAt,
    ) -> bool:
        """All between hold, or fail, as both ends do."""

        def told(k: int, end: int) -> bool:
            bound = taken(end).bound
            one, other = (self._vector_times(number, place, n) for n in (k, end))
            if bound is None or one is None or other is None:
                return False
            times = times_as_dear(one, other) if holds else times_as_dear(other, one)
            if times is None:
                return False
            return bound * times <= self.budget if holds else bound > self.budget * times

        return all(any(told(k, end) for end in ends) for k in between)

    def _vector_times(
        self, number: int, place: tuple[int, ...], k: int
    ) -> NDArray[np.float64] | None:
        """``None``: prices at different values are not to be compared."""
        if self.asked.steps is None:
            return None  # at other values of a parameter other paths are possible
        service = self.swept.services[number]
        of_profile = tuple(
            n for one, n in zip(self.axes, place, strict=True) if one.steps is not None
        )
        key = service.name, k, of_profile
        if key not in self._vectors:
            prices = self.swept.path_prices(*self._at(place, k))
            self._vectors[key] = (
                vector_times(self.swept.models[service.name], prices)
                if isinstance(prices, PriceVector)
                else None
            )
        return self._vectors[key]

    def _places(self, surface: Surface) -> Iterator[tuple[int, ...]]:
        if not surface.has[-1]:
            raise InputError(
                f"{surface.service} does not depend on {self.asked.axis.name}",
                where=Location("--solve"),
                expected="a number that all selected services depend on",
                hint="--service says which services",
            )
        shape = surface.shape[:-1]
        if math.prod(shape) * len(self.swept.services) > MOST_SOLVED:
            raise InputError(
                f"{math.prod(shape):,} combinations for each service are too many to solve",
                where=Location("--vary"),
                expected=f"{MOST_SOLVED:,} at most, of all services together",
                hint="fewer values, or --set some of them",
            )
        return np.ndindex(*shape)

    def _solved(
        self, surface: Surface, place: tuple[int, ...], best: int | None, taken: _TakenAt
    ) -> Solved:
        numbers = tuple(
            one.axis.numbers[k] if has else None
            for one, has, k in zip(self.axes, surface.has[:-1], place, strict=True)
        )
        following = 0 if best is None else best + 1
        within = following < len(self.values)
        return Solved(
            surface.service,
            numbers,
            None if best is None else self._value(best),
            None if best is None else taken(best).time,
            self._value(following) if within else None,
            taken(following).time if within else None,
            None if best is None else taken(best).word,
        )
