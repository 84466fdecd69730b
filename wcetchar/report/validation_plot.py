"""A validation as a picture: overestimation over measured time, one dot for each row.

One SVG document without anything from outside. Each dot says what it is when it is pointed at.
"""

from __future__ import annotations

from typing import Final
from xml.etree import ElementTree

from wcetchar.report import picture
from wcetchar.report.numbers import grouped
from wcetchar.report.picture import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH
from wcetchar.report.validation import RowView, ValidationView, percent_text, spread_text

_STYLE: Final = """
.median { stroke: #b8860b; stroke-dasharray: 5 4 }
.safe { fill: #1f77b4; fill-opacity: 0.55 }
.unsafe { fill: #d62728 }
"""


def svg(view: ValidationView) -> str:
    """The picture. Rows of which nothing is left after the overhead are not shown, and counted."""
    rows = [row for row in view.rows if row.percent is not None and row.measured_ns > 0]
    root = picture.document(_STYLE)
    safe = "none unsafe" if not view.unsafe else f"{view.unsafe} unsafe"
    title = f"{view.profile}: {grouped(len(view.rows))} rows, {safe}"
    picture.text(root, LEFT, 26, title, "title")
    if view.spread is not None:
        picture.text(root, LEFT, 48, spread_text(*view.spread))
    if rows:
        _plot(root, rows, view)
    return picture.finished(root)


def _plot(root: ElementTree.Element, rows: list[RowView], view: ValidationView) -> None:
    times = [float(row.measured_ns) for row in rows]
    overs = [float(row.percent or 0) for row in rows]
    x = picture.logarithmic(times, LEFT, WIDTH - RIGHT)
    y = picture.linear(overs, HEIGHT - BOTTOM, TOP)
    picture.grid(root, x, y, picture.nanoseconds, lambda over: f"{over:g} %")
    if view.spread is not None:
        at = y(float(view.spread[1]))
        picture.line(root, LEFT, at, WIDTH - RIGHT, at, "median")
    picture.text(root, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, "measured time", anchor="middle")
    for row, time, over in zip(rows, times, overs, strict=True):
        at_values = f" at {row.at}" if row.at else ""
        label = f" ({row.label})" if row.label else ""
        picture.dot(
            root,
            x(time),
            y(over),
            "unsafe" if row.unsafe else "safe",
            f"{row.service}{at_values}{label}: measured {grouped(row.measured_ns)} ns, "
            f"estimated {grouped(row.estimated_ns)} ns, {percent_text(row.percent)} over",
        )
