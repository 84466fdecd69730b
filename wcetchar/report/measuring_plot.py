"""Times over sizes as a picture: the staircase of caches, measured beside predicted."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Final

from wcetchar.errors import one_line
from wcetchar.model.measuring import Judged
from wcetchar.report import chart, picture
from wcetchar.report.measuring import View

_UNITS: Final = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
Points = list[tuple[float, float]]


def has_sizes(view: View) -> bool:
    """Whether an operation was measured at several sizes."""
    return bool(_operations(view))


def svg(view: View) -> str:
    """A panel for each operation whose parameter is a size; there is one."""
    operations = _operations(view)
    panels = [
        chart.Panel(
            f"{one_line(name)}: time of one call",
            lines,
            picture.nanoseconds,
            logarithmic=True,
        )
        for name, rows in operations.items()
        if (lines := _lines(rows))
    ]
    return chart.svg(
        chart.Chart(
            "Time over size: measured and predicted",
            "size in bytes",
            _size,
            panels,
            base=2,
            at=[(float(size), one_line(name)) for name, size in view.caches],
        )
    )


def _operations(view: View) -> dict[str, list[Judged]]:
    """Those with two sizes or more, of which something can be drawn, in order of size."""
    found: dict[str, list[Judged]] = {}
    for one in view.judged:
        if one.case.size and one.case.parameter and one.evaluation.result.value > 0:
            found.setdefault(one.case.operation, []).append(one)
    return {
        name: sorted(rows, key=lambda row: row.case.parameter or 0)
        for name, rows in found.items()
        if len(rows) > 1
    }


def _lines(rows: list[Judged]) -> list[chart.Line]:
    def points(of: Callable[[Judged], Fraction | None]) -> Points:
        values = ((one.case.parameter or 0, of(one)) for one in rows)
        return [
            (float(at), float(value)) for at, value in values if value is not None and value > 0
        ]

    lines = [
        chart.Line("measured", points(lambda one: one.evaluation.result.value)),
        chart.Line("minimum", points(lambda one: one.evaluation.all_runs.minimum), "dots"),
        chart.Line("maximum", points(lambda one: one.evaluation.all_runs.maximum), "dots"),
        chart.Line("predicted, at least", points(_least)),
        chart.Line("predicted, at most", points(_most)),
    ]
    return [line for line in lines if line.points]


def _least(one: Judged) -> Fraction | None:
    return None if one.expected is None or one.expected.word else one.expected.total.low


def _most(one: Judged) -> Fraction | None:
    return None if one.expected is None else one.expected.total.high


def _size(value: float) -> str:
    for factor, unit in _UNITS:
        if value >= factor:
            return f"{value / factor:g} {unit}"
    return f"{value:g} B"
