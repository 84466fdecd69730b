"""Pictures of what comes out over an axis: names of lines, how many there can be, and the scale."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from wcetchar.model.sweep import Axis
from wcetchar.report.chart import Chart, Panel, svg
from wcetchar.report.numbers import plain

MOST_LINES: Final = 28
"""Of a picture, each with a look of its own."""
MOST_DRAWN: Final = 10_000
"""Points of a line in a picture."""


def over_axis(title: str, axis: Axis, panels: Sequence[Panel]) -> str:
    """The picture.

    Raises:
        ValueError: as of ``chart.svg``.
    """
    base = base_of(axis.numbers)
    return svg(Chart(title, axis.heading, lambda x: f"{x:g}", panels, base=base))


def line_name(name: str, axes: Sequence[Axis], numbers: Sequence[Fraction | None]) -> str:
    """With the values of the other axes; ``None``: it does not depend on that one."""
    at = [
        f"{axis.name}={plain(number)}{axis.unit and ' '}{axis.unit}"
        for axis, number in zip(axes, numbers, strict=True)
        if number is not None
    ]
    return ", ".join([name, *at])


def refuse_many(lines: int, points: int) -> None:
    """Raises:
    ValueError: there are more than a picture can show.
    """
    if lines > MOST_LINES or points > MOST_DRAWN:
        raise ValueError(
            f"{lines} lines of {points:,} points; a picture shows {MOST_LINES} of {MOST_DRAWN:,}"
        )


def base_of(numbers: Sequence[Fraction]) -> int | None:
    """Of a logarithmic axis, where numbers are apart by factors rather than by steps."""
    first, middle, last = numbers[0], numbers[len(numbers) // 2], numbers[-1]
    if first <= 0 or len(numbers) < 3 or middle * 2 * 10 > (first + last) * 7:
        return None
    return 2 if last < 1000 * first else 10
