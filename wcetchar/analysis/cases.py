"""Parameters whose values are cases: what was observed in each of them, and formulas over all.

    count(p, case) = common(p) + sum over cases c of (case == c) * extra_c(p)

with ``common`` the part of each repetition that all cases share. Where a service was never seen in
a case, it counts nothing there: the part that another thread cuts off may exist in one case alone.
That a whole service was seen in all of its cases is checked by who characterizes it.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from wcetchar.model.expression import (
    ONE,
    Binary,
    BinaryOperator,
    Compare,
    Comparison,
    Expression,
    Name,
    Number,
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
            common = min(of.get(case, 0) for case in rows)
            if common:
                yield packed, common, repetition
            for case, number in sorted(of.items()):
                if number > common:
                    yield packed, number - common, self._guarded(case, repetition)

    def _parts(self, point: Point) -> tuple[Point, Point]:
        case = tuple(point[i] for i in self._at)
        return case, tuple(value for i, value in enumerate(point) if i not in self._at)

    def _guarded(self, case: Point, repetition: Expression) -> Expression:
        """``repetition`` where the case holds, else 0."""
        factors: list[Expression] = [
            Compare(Comparison.EQUAL, Name(p.name), Number(value))
            for p, value in zip(self._cases, case, strict=True)
        ]
        if repetition != ONE:
            factors.append(repetition)
        product, *others = factors
        for factor in others:
            product = Binary(BinaryOperator.MULTIPLY, product, factor)
        return product

    def _text(self, case: Point) -> str:
        return ", ".join(f"{p.name} = {v}" for p, v in zip(self._cases, case, strict=True))
