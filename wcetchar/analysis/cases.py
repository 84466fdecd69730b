"""Parameters whose values are cases: what was observed in each of them, and formulas over all.

    count(p, case) = common(p) + sum over cases c of (case == c) * extra_c(p)

with ``common`` the part of each repetition that all cases share; of several such parameters, what
depends on one alone stands by itself. Where a service was never seen in a case, it counts nothing
there: the part that another thread cuts off may exist in one case alone. That a whole service was
seen in all of its cases is checked by who characterizes it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from wcetchar.model.expression import (
    ONE,
    Compare,
    Comparison,
    Expression,
    Name,
    Number,
    product_of,
)
from wcetchar.model.service import Parameter, ParameterKind

Point = tuple[int, ...]
Row = tuple[int, int, Expression]
"""What is counted (packed), how often for one repetition, and the repetition."""

_T = TypeVar("_T")


class Cases:
    """The parameters of a service, told apart: cases, and those that formulas are over."""

    def __init__(self, parameters: Sequence[Parameter]) -> None:
        self._at = [i for i, p in enumerate(parameters) if p.kind is ParameterKind.CASE]
        self._cases = [parameters[i] for i in self._at]
        self.free = [p for p in parameters if p.kind is not ParameterKind.CASE]
        """Parameters that are no cases, in their order."""

    @property
    def all(self) -> list[Point]:
        """Values of the parameters that are cases; one empty point where there are none."""
        return list(itertools.product(*(range(p.minimum, p.maximum + 1) for p in self._cases)))

    def split(self, observed: Mapping[Point, _T]) -> dict[Point, dict[Point, _T]]:
        """For each case that there is, what was observed in it, by the values of ``free``."""
        found: dict[Point, dict[Point, _T]] = {case: {} for case in self.all}
        for point, counts in observed.items():
            case, free = self._parts(point)
            found[case][free] = counts
        return found

    def joined(self, case: Point, free: Point) -> Point:
        """The values of all parameters, in their order."""
        values = list(free)
        for i, value in zip(self._at, case, strict=True):
            values.insert(i, value)
        return tuple(values)

    def unseen(self, points: Iterable[Point]) -> list[str]:
        """Cases that are at none of the points, such as ``case = 2``."""
        seen = {self._parts(point)[0] for point in points}
        return [self._text(case) for case in self.all if case not in seen]

    def together(self, rows: Mapping[Point, Sequence[Row]]) -> Iterator[Row]:
        """Rows over all parameters, from the rows of each case."""
        counts: dict[tuple[int, Expression], dict[Point, int]] = defaultdict(dict)
        for case, listed in rows.items():
            for packed, number, repetition in listed:
                of = counts[packed, repetition]
                of[case] = of.get(case, 0) + number
        for (packed, repetition), of in counts.items():
            rest = {case: of.get(case, 0) for case in rows}
            for number, known in self._common(rest):
                yield packed, number, self._guarded(known, repetition)

    def _common(self, rest: dict[Point, int]) -> Iterator[tuple[int, dict[int, int]]]:
        """``rest``, a number for each case, as a sum of numbers for all cases, for those with one
        value of one parameter, and for single cases, as much as can be to the former. With each,
        the values that it is for, by the parameter's position."""
        among: list[tuple[dict[int, int], list[Point]]] = [({}, list(rest))]
        for at in range(len(self._cases)):
            for value in sorted({case[at] for case in rest}):
                among.append(({at: value}, [case for case in rest if case[at] == value]))
        among += [(dict(enumerate(case)), [case]) for case in sorted(rest)]
        for known, cases in among:
            number = min(rest[case] for case in cases)
            if number:
                yield number, known
                for case in cases:
                    rest[case] -= number

    def _parts(self, point: Point) -> tuple[Point, Point]:
        case = tuple(point[i] for i in self._at)
        return case, tuple(value for i, value in enumerate(point) if i not in self._at)

    def _guarded(self, known: Mapping[int, int], repetition: Expression) -> Expression:
        """``repetition`` where the parameters of cases have these values, else 0."""
        factors: list[Expression] = [
            Compare(Comparison.EQUAL, Name(self._cases[at].name), Number(value))
            for at, value in known.items()
        ]
        if repetition != ONE or not factors:
            factors.append(repetition)
        return product_of(factors)

    def _text(self, case: Point) -> str:
        return ", ".join(f"{p.name} = {v}" for p, v in zip(self._cases, case, strict=True))
