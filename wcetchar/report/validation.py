"""A validation as plain rows; ``validation_text`` and ``validation_plot`` only lay them out.

Percentages are rounded to the nearest tenth where an estimate is safe, and down where it is not, so
that an unsafe row never reads as zero.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.errors import one_line
from wcetchar.model.validation import Compared, Comparison, Explanation, Overhead
from wcetchar.model.versus import Metric
from wcetchar.report.numbers import grouped, nearest_tenth
from wcetchar.report.view import class_name


@dataclass(frozen=True)
class RowView:
    """One service at one set of values. Times in ns; ``percent`` is exact, ``None`` where nothing
    is left of the measured time."""

    service: str
    parameters: tuple[tuple[str, int], ...]
    label: str
    count: int
    least_ns: Fraction
    measured_ns: Fraction
    estimated_ns: Fraction
    percent: Fraction | None
    unsafe: bool
    word: str
    line: int

    @property
    def at(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in self.parameters)


@dataclass(frozen=True)
class GroupView:
    """All rows of one service (and label): exact percentages."""

    service: str
    label: str
    rows: int
    measurements: int
    unsafe: int
    minimum: Fraction | None
    median: Fraction | None
    maximum: Fraction | None


@dataclass(frozen=True)
class ValidationView:
    """``rows``: unsafe ones first, the furthest below first, then the furthest above first.
    ``spread``: minimum, median and maximum overestimation in percent, exact."""

    profile: str
    section_map: str
    measurements: int
    rows: tuple[RowView, ...]
    unsafe: int
    spread: tuple[Fraction, Fraction, Fraction] | None
    groups: tuple[GroupView, ...]
    worst: RowView
    contributors: tuple[tuple[str, str, int, Fraction, Fraction], ...]
    explanation: tuple[str, ...]
    overheads: tuple[str, ...]
    notes: tuple[str, ...]


def view_of(
    comparison: Comparison,
    explanation: Explanation | None,
    overheads: Mapping[str, Overhead],
    profile: str,
    section_map: str,
    notes: Iterable[str],
) -> ValidationView:
    rows = sorted((_row(row) for row in comparison.rows), key=_order)
    spread = comparison.spread
    return ValidationView(
        profile=one_line(profile),
        section_map=one_line(section_map),
        measurements=comparison.measurements,
        rows=tuple(rows),
        unsafe=len(comparison.unsafe),
        spread=(
            None
            if spread is None
            else (spread.minimum * 100, spread.median * 100, spread.maximum * 100)
        ),
        groups=_groups(rows),
        worst=_row(comparison.worst),
        contributors=_contributors(comparison.worst),
        explanation=_explained(comparison.worst, explanation),
        overheads=tuple(_overhead(label, one) for label, one in overheads.items()),
        notes=tuple(one_line(note) for note in notes),
    )


def percent_text(value: Fraction | None) -> str:
    """``3.1 %``; ``-0.1 %`` for anything below zero that is not even a tenth."""
    if value is None:
        return "-"
    shown = nearest_tenth(value) if value >= 0 else Fraction(math.floor(value * 10), 10)
    return f"{float(shown):.1f} %"


def percent_number(value: Fraction) -> float:
    """As :func:`percent_text`, for documents."""
    return float(percent_text(value).removesuffix(" %"))


def spread_text(least: Fraction, median: Fraction, most: Fraction) -> str:
    """Of overestimations in percent."""
    shown = (percent_text(value) for value in (least, median, most))
    return "overestimation: least {}, median {}, most {}".format(*shown)


def _row(row: Compared) -> RowView:
    over = row.overestimation
    return RowView(
        service=one_line(row.estimate.service),
        parameters=tuple((one_line(n), v) for n, v in row.estimate.parameters.items()),
        label=one_line(row.label),
        count=row.count,
        least_ns=row.least,
        measured_ns=row.most,
        estimated_ns=row.estimated,
        percent=None if over is None else over * 100,
        unsafe=row.unsafe,
        word=row.estimate.word.value,
        line=row.line,
    )


def _order(row: RowView) -> tuple[bool, Fraction, str, str]:
    percent = row.percent if row.percent is not None else Fraction(0)
    return (not row.unsafe, percent if row.unsafe else -percent, row.service, row.at)


def _groups(rows: Sequence[RowView]) -> tuple[GroupView, ...]:
    found: dict[tuple[str, str], list[RowView]] = {}
    for row in rows:
        found.setdefault((row.service, row.label), []).append(row)
    groups = []
    for (service, label), own in found.items():
        known = sorted(row.percent for row in own if row.percent is not None)
        groups.append(
            GroupView(
                service=service,
                label=label,
                rows=len(own),
                measurements=sum(row.count for row in own),
                unsafe=sum(row.unsafe for row in own),
                minimum=known[0] if known else None,
                median=statistics.median(known) if known else None,
                maximum=known[-1] if known else None,
            )
        )
    return tuple(groups)


def _contributors(row: Compared) -> tuple[tuple[str, str, int, Fraction, Fraction], ...]:
    """(class, region, count, ns each, ns) of what costs most in the row; of a stretch that is not
    known by itself."""
    if row.metric is not Metric.TOTAL:
        return ()
    columns = sorted(row.estimate.columns, key=lambda c: -c.time.high)[:5]
    return tuple(
        (class_name(c.key), one_line(c.region), c.count, c.price.high, c.time.high)
        for c in columns
        if c.time.high
    )


def _explained(row: Compared, found: Explanation | None) -> tuple[str, ...]:
    """What would make the worst row right, in words."""
    if row.metric is not Metric.TOTAL:
        interrupts = row.metric is Metric.INTERRUPTS
        one = row.estimate
        where = one.interrupts_stretch if interrupts else one.preemption_stretch
        return (f"its longest stretch is published as {one_line(where)}",) if where else ()
    if not row.excess:
        return ()
    if found is None:
        return ("no single price explains this row: several would have to change",)
    name = class_name(found.key)
    lines = [
        f"{name} ({one_line(found.region)}) explains it best: counted {grouped(found.count)} "
        f"times at {grouped(found.price)} ns; the row would be exact at "
        f"{grouped(found.would_be)} ns"
        + (
            ""
            if found.count_would_be is None or found.count_would_be < 0
            else f", or at a count of {grouped(found.count_would_be)}"
        ),
        f"at that price all rows together would be {grouped(found.after)} ns from their "
        f"measurements instead of {grouped(found.before)} ns, and {found.unsafe_after} of them "
        "unsafe",
    ]
    return tuple(lines)


def _overhead(label: str, one: Overhead) -> str:
    of = f" ({one_line(label)})" if label else ""
    own = f", of which {grouped(one.function)} ns are its own" if one.function else ""
    return (
        f"overhead{of}: {grouped(one.time)} ns, from {one.count} measurements of "
        f"{one_line(one.service)} ({grouped(one.least)} to {grouped(one.most)} ns{own})"
    )
