"""The cheapest value of a number at which a budget holds: the slowest memory, the lowest clock.

With T(x) the total of a service where the number is x, all else the same, and x_1 < x_2 < ... from
the dearest value to the cheapest one::

    solved = the largest x_k with T(x_k) <= budget

Where T rises with k (``solve_order``) that is found by halving, and whatever was evaluated on the
way has to rise as well; else, or where it does not, all values are evaluated. What is returned was
evaluated in either case, and so was the next cheaper value, which fails. Where all were evaluated,
dearer values that fail nevertheless are told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Final

import numpy as np

from wcetchar.errors import InputError, Location
from wcetchar.model.solved import Solution, Solved
from wcetchar.model.sweep import Surface
from wcetchar.pipeline.solve_order import (
    EvenValues,
    last_that_holds,
    rises,
    smaller_is_cheaper,
)
from wcetchar.pipeline.sweep import Advance, Request, SweptServices
from wcetchar.pipeline.sweep_axes import AskedAxis

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
        swept.notes([*axes, asked]),
    )


_Total = Callable[[int], Fraction]
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

    def by_halving(self) -> list[Solved] | None:
        """``None``: totals do not rise after all."""
        found = []
        for number, surface in enumerate(self._surfaces(0)):
            for place in self._places(surface):
                seen: dict[int, Fraction] = {}

                def total(
                    k: int,
                    seen: dict[int, Fraction] = seen,
                    number: int = number,
                    place: tuple[int, ...] = place,
                ) -> Fraction:
                    if k not in seen:
                        seen[k] = self._surfaces(k)[number].total.at((*place, 0))
                    return seen[k]

                count = len(self.values)

                def holds(k: int, total: _Total = total) -> bool:
                    return total(k) <= self.budget

                best = last_that_holds(count, holds)
                ordered = [seen[k] for k in sorted(seen)]
                if ordered != sorted(ordered):
                    return None
                found.append(self._solved(surface, place, best, total))
        return found

    def by_trying(self, advance: Advance | None) -> list[Solved]:
        """All values."""
        surfaces = self.swept.surfaces([*self.axes, self.asked], advance)
        self.tried = len(self.values)
        found = []
        for surface in surfaces:
            for place in self._places(surface):
                line = surface.total.ticks[place]
                per_ns = np.broadcast_to(surface.total.per_ns, surface.shape)[place]
                times = [Fraction(int(t), int(n)) for t, n in zip(line, per_ns, strict=True)]
                times = times[::-1] if self.smallest else times
                holding = [k for k, time in enumerate(times) if time <= self.budget]
                best = holding[-1] if holding else None
                solved = self._solved(surface, place, best, times.__getitem__)
                fail = [k for k in range(best or 0) if times[k] > self.budget]
                failing = tuple(sorted(self._value(k) for k in fail))
                found.append(replace(solved, failing=failing))
        return found

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
        self, surface: Surface, place: tuple[int, ...], best: int | None, total: _Total
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
            None if best is None else total(best),
            self._value(following) if within else None,
            total(following) if within else None,
        )
