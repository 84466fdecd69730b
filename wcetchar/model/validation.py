"""Estimates beside measurements: rows, what they come to, and what explains the worst one."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from wcetchar.model.access import Key
from wcetchar.model.estimate import Estimate
from wcetchar.model.versus import Metric


@dataclass(frozen=True)
class Compared:
    """One service at one set of parameter values.

    Attributes:
        label: of the measurements that were put together; those of different labels are not.
        count: how many measurements there are.
        least, most: measured times without the overhead, in nanoseconds.
        line: of the largest measurement in its file.
        metric: what was measured.
    """

    estimate: Estimate
    label: str
    count: int
    least: Fraction
    most: Fraction
    line: int
    metric: Metric = Metric.TOTAL

    @property
    def estimated(self) -> Fraction:
        """Of blocking with what may go on with it in other activities."""
        one = self.estimate
        if self.metric is Metric.TOTAL:
            return one.total.high
        interrupts = self.metric is Metric.INTERRUPTS
        own = one.blocking_interrupts if interrupts else one.blocking_preemption
        chain = one.interrupts_chain if interrupts else one.preemption_chain
        return max(own.high, chain.time.high) if chain else own.high

    @property
    def excess(self) -> Fraction:
        """Estimate less measurement, in nanoseconds; below zero: the estimate is unsafe."""
        return self.estimated - self.most

    @property
    def unsafe(self) -> bool:
        return self.excess < 0

    @property
    def overestimation(self) -> Fraction | None:
        """Excess by measured time; ``None`` where nothing is left of the measured time."""
        return self.excess / self.most if self.most else None


@dataclass(frozen=True)
class Spread:
    """Of the overestimation: fractions, 0.02 is two percent."""

    minimum: Fraction
    median: Fraction
    maximum: Fraction


@dataclass(frozen=True)
class Comparison:
    """All rows, and what they come to.

    Attributes:
        measurements: how many there were, without those of the overhead.
        spread: over all rows whose overestimation is known; ``None`` without any.
        worst: the row that is furthest below its measurement, else the one furthest above it.
    """

    rows: tuple[Compared, ...]
    measurements: int
    unsafe: tuple[Compared, ...]
    spread: Spread | None
    worst: Compared


@dataclass(frozen=True)
class Explanation:
    """Times in nanoseconds.

    Attributes:
        key: class whose price or count is off.
        count, price: of it in the row; upper end of the price.
        would_be: the price at which the row would be right, if its count is.
        count_would_be: the count at which it would be right, if its price is.
        before, after: sum of the distances of all rows from their measurements, at today's price
            and at ``would_be``.
        unsafe_after: rows that would be unsafe at ``would_be``.
    """

    key: Key
    region: str
    count: int
    price: Fraction
    would_be: Fraction
    count_would_be: Fraction | None
    before: Fraction
    after: Fraction
    unsafe_after: int


@dataclass(frozen=True)
class Overhead:
    """In nanoseconds. ``least`` and ``most``: what the measurements of nothing took; ``function``:
    how much of that is the empty function's own; ``time``: what is subtracted."""

    service: str
    count: int
    least: Fraction
    most: Fraction
    function: Fraction
    time: Fraction
