"""A validation as a picture: overestimation over measured time, one dot for each row.

One SVG document without anything from outside. Each dot says what it is when it is pointed at.
"""

from __future__ import annotations

import math
from typing import Final
from xml.etree import ElementTree

from wcetchar.report.numbers import grouped
from wcetchar.report.validation import RowView, ValidationView, percent_text, spread_text

_WIDTH: Final = 900
_HEIGHT: Final = 520
_LEFT, _RIGHT, _TOP, _BOTTOM = 80, 24, 70, 60
_STYLE: Final = """
text { font: 13px system-ui, sans-serif; fill: #333 }
.title { font-size: 16px; font-weight: 600 }
.grid { stroke: #e3e3e3 }
.zero { stroke: #333 }
.median { stroke: #b8860b; stroke-dasharray: 5 4 }
.safe { fill: #1f77b4; fill-opacity: 0.55 }
.unsafe { fill: #d62728 }
"""


def svg(view: ValidationView) -> str:
    """The picture. Rows of which nothing is left after the overhead are not shown, and counted."""
    rows = [row for row in view.rows if row.percent is not None and row.measured_ns > 0]
    root = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {_WIDTH} {_HEIGHT}",
            "width": str(_WIDTH),
            "height": str(_HEIGHT),
            "role": "img",
        },
    )
    ElementTree.SubElement(root, "style").text = _STYLE
    safe = "none unsafe" if not view.unsafe else f"{view.unsafe} unsafe"
    _text(root, _LEFT, 26, f"{view.profile}: {grouped(len(view.rows))} rows, {safe}", "title")
    if view.spread is not None:
        _text(root, _LEFT, 48, spread_text(*view.spread))
    if rows:
        _plot(root, rows, view)
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _plot(root: ElementTree.Element, rows: list[RowView], view: ValidationView) -> None:
    times = [float(row.measured_ns) for row in rows]
    overs = [float(row.percent or 0) for row in rows]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))
    high = max(high, low + 1)
    step = _step(max(*overs, 0.0) - min(*overs, 0.0))
    bottom = math.floor(min(*overs, 0.0) / step) * step
    top = max(math.ceil(max(*overs, 0.0) / step) * step, bottom + step)

    def x(time: float) -> float:
        span = _WIDTH - _LEFT - _RIGHT
        return _LEFT + (math.log10(time) - low) / (high - low) * span

    def y(over: float) -> float:
        return _HEIGHT - _BOTTOM - (over - bottom) / (top - bottom) * (_HEIGHT - _TOP - _BOTTOM)

    for power in range(low, high + 1):
        at = x(10.0**power)
        _line(root, at, _TOP, at, _HEIGHT - _BOTTOM, "grid")
        _text(root, at, _HEIGHT - _BOTTOM + 20, _time(power), anchor="middle")
    for n in range(round((top - bottom) / step) + 1):
        value = bottom + n * step
        zero = abs(value) < step / 2
        _line(root, _LEFT, y(value), _WIDTH - _RIGHT, y(value), "zero" if zero else "grid")
        _text(root, _LEFT - 8, y(value) + 4, f"{0 if zero else value:g} %", anchor="end")
    if view.spread is not None:
        at = y(float(view.spread[1]))
        _line(root, _LEFT, at, _WIDTH - _RIGHT, at, "median")
    _text(root, (_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 16, "measured time", anchor="middle")
    for row, time, over in zip(rows, times, overs, strict=True):
        dot = ElementTree.SubElement(
            root,
            "circle",
            {
                "class": "unsafe" if row.unsafe else "safe",
                "cx": f"{x(time):.2f}",
                "cy": f"{y(over):.2f}",
                "r": "3.5",
            },
        )
        at_values = f" at {row.at}" if row.at else ""
        label = f" ({row.label})" if row.label else ""
        ElementTree.SubElement(dot, "title").text = (
            f"{row.service}{at_values}{label}: measured {grouped(row.measured_ns)} ns, "
            f"estimated {grouped(row.estimated_ns)} ns, {percent_text(row.percent)} over"
        )


def _step(span: float) -> float:
    """Distance of the lines of the grid: 1, 2 or 5 times a power of ten, about eight of them."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / 8))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= span / 8)


def _time(power: int) -> str:
    if power < 3:
        return f"{10.0**power:g} ns"
    if power < 6:
        return f"{10 ** (power - 3)} us"
    return f"{10 ** (power - 6):,} ms" if power < 9 else f"{10 ** (power - 9):,} s"


def _text(
    root: ElementTree.Element, x: float, y: float, text: str, kind: str = "", anchor: str = "start"
) -> None:
    place = {"x": f"{x:.2f}", "y": f"{y:.2f}", "text-anchor": anchor}
    ElementTree.SubElement(root, "text", place | ({"class": kind} if kind else {})).text = text


def _line(root: ElementTree.Element, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
    place = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    ElementTree.SubElement(
        root, "line", {"class": kind} | {k: f"{v:.2f}" for k, v in place.items()}
    )
