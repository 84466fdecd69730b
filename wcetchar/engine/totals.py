"""The upper end of a time over parameters: what :func:`estimate_at` finds, for many values at once.

    total(q) = sum over repetitions r of  r(q) * (sum of the vectors of r's rows) . prices

Rows of one repetition are priced together and only once, for the formulas are what takes time where
many values are tried.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction

from wcetchar import formula
from wcetchar.engine.counts import count, looked_up
from wcetchar.engine.pricing import PriceVector
from wcetchar.model.characterization import (
    Blocking,
    Counts,
    ServiceCharacterization,
    StretchKind,
    TablePoint,
)
from wcetchar.model.expression import Expression


class Totals:
    """The safe end of the time of ``counts`` in nanoseconds, at given values of ``names``.

    ``what`` names the counts in errors.
    """

    def __init__(
        self, counts: Counts, names: tuple[str, ...], prices: PriceVector, what: str
    ) -> None:
        self.counts = counts
        self.names = names
        self.prices = prices
        self.what = what
        self.coefficients: Mapping[Expression, Fraction] = _coefficients(counts, prices)
        """Price of all rows of one repetition, for counts that are formulas."""
        self._table: dict[tuple[bool, tuple[int, ...]], Fraction] = {}

    def __call__(self, values: tuple[int, ...]) -> Fraction:
        """The time at ``values``, in the order of ``names``.

        Raises:
            InputError: the counts do not hold there.
        """
        if self.counts.is_formula:
            at = dict(zip(self.names, values, strict=True))
            repeated = [(formula.evaluate(r, at), price) for r, price in self.coefficients.items()]
            if all(repetitions >= 0 for repetitions, _ in repeated):
                return sum((r * price for r, price in repeated), start=Fraction(0))
            return self._counted(values)  # which refuses, and says why
        key = looked_up(self.counts, values)
        if key not in self._table:
            self._table[key] = self._counted(values)
        return self._table[key]

    def _counted(self, values: tuple[int, ...]) -> Fraction:
        counted = count(self.counts, self.names, values, self.what)
        return sum(
            (row.repetitions * self.prices.time_of(row.vector).high for row in counted.rows),
            start=Fraction(0),
        )


def _coefficients(counts: Counts, prices: PriceVector) -> dict[Expression, Fraction]:
    found: dict[Expression, Fraction] = {}
    for row in counts.rows:
        price = prices.time_of(row.vector).high
        found[row.repetition] = found.get(row.repetition, Fraction(0)) + price
    return found


def blocking_counts(service: ServiceCharacterization, kind: StretchKind) -> list[Counts]:
    """What the blocking time of a kind is the largest of, as :func:`estimate_at` has it: the
    stretches, or where these are not known the blocking rows together."""
    if service.stretches_known:
        return [
            stretch.counts
            for stretch in service.stretches
            if kind is StretchKind.PREEMPTION or stretch.kind is StretchKind.INTERRUPTS
        ]
    blocks: Callable[[Blocking], bool] = (
        (lambda b: b.masks) if kind is StretchKind.INTERRUPTS else (lambda b: b.holds_preemption)
    )
    return [
        Counts(
            rows=tuple(row for row in service.counts.rows if blocks(row.blocking)),
            points=tuple(
                TablePoint(point.values, tuple(row for row in point.rows if blocks(row.blocking)))
                for point in service.counts.points
            ),
        )
    ]
