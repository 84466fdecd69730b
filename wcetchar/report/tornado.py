"""Which number a figure hangs on, as a picture: a bar for each, what raises it most on top.

One SVG document, a chart for each figure of an estimate that has a range. A bar begins where all
numbers are nominal, the axis says how much more or less the figure is. Framed: what the number
lowers it by alone; filled: what it raises it by; the lowest bar is of all together, with a line
across what is to be expected, and ends at the figure itself.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final
from xml.etree import ElementTree

from wcetchar.model.uncertainty import NoRange, Uncertainty
from wcetchar.report import picture
from wcetchar.report.numbers import grouped, percent
from wcetchar.report.picture import RIGHT, WIDTH
from wcetchar.report.uncertainty import NUMBERS, can_be, down, figures
from wcetchar.report.view import EstimateView

_NAMES: Final = 300
"""Pixels for the name of a number and what it can be."""
_SHARES: Final = 70
_ROW: Final = 24
_BAR: Final = 14
_SHOWN: Final = 38
"""Characters of a name and a range that fit."""
_STYLE: Final = """
.lowers { fill: #fff; stroke: #1f77b4; stroke-width: 1.5 }
.raises { fill: #d62728; stroke: #d62728; stroke-width: 1.5 }
.expected { stroke: #333; stroke-width: 3 }
.safe { stroke: #333; stroke-width: 2; stroke-dasharray: 6 3 }
"""


def svg(view: EstimateView) -> str:
    """The picture.

    Raises:
        ValueError: no figure of the estimate hangs on a number that may be off.
    """
    if view.uncertainty is None:
        raise ValueError("an estimate without uncertainty")
    charts: list[tuple[str, Uncertainty]] = [("total", view.uncertainty.total)]
    for name, one in figures(view.uncertainty):
        if not isinstance(one, NoRange):
            charts.append((name, one))
    charts = [(name, one) for name, one in charts if one.contributions]
    if not charts:
        raise ValueError("no number that this hangs on may be off")
    height = 70 + sum(_height(one) for _, one in charts)
    root = picture.document(_STYLE, height)
    at = f" at {view.at}" if view.at else ""
    picture.text(root, 16, 26, _short(f"{view.service} on {view.profile}{at}", 90), "title")
    _legend(root)
    top = 60.0
    for name, one in charts:
        _chart(root, name, one, top)
        top += _height(one)
    return picture.finished(root)


def _height(found: Uncertainty) -> int:
    more = len(found.contributions) > NUMBERS
    return 84 + _ROW * (min(len(found.contributions), NUMBERS) + 1 + more)


def _chart(root: ElementTree.Element, name: str, found: Uncertainty, top: float) -> None:
    contributions = found.contributions[:NUMBERS]
    ends = found.lowest - found.nominal, found.safe - found.nominal
    values = [*ends, *(one.raises for one in contributions)]
    values += [-one.lowers for one in contributions]
    x = picture.linear([float(v) for v in values], 16 + _NAMES, WIDTH - RIGHT - _SHARES)
    hidden = len(found.contributions) - len(contributions)
    first = top + 40
    bottom = first + _ROW * (len(contributions) + 1 + bool(hidden))
    safe = f"{grouped(found.safe)} ns at most, whatever the errors are"
    heading = f"{name}: nominally {grouped(found.nominal)} ns, {safe}"
    picture.text(root, 16, top + 16, heading)
    for tick in x.ticks:
        picture.line(root, x(tick), first, x(tick), bottom, "grid" if tick else "zero")
        label = f"{'+' if tick > 0 else ''}{picture.nanoseconds(tick)}" if tick else "nominal"
        picture.text(root, x(tick), bottom + 18, label, anchor="middle")
    row = first
    for one in contributions:
        share = percent(one.raises, ends[1])
        title = (
            f"{one.name}, {can_be(one)}: alone it lowers it {grouped(one.lowers)} ns, and raises "
            f"it {grouped(one.raises)} ns, {share}"
        )
        _bars(root, x, row, one.lowers, one.raises, title)
        label = _short(one.name, _SHOWN - len(can_be(one)) - 1)
        _text(root, 8 + _NAMES, row + 16, f"{label} {can_be(one)}", "end", title)
        picture.text(root, WIDTH - RIGHT, row + 16, share, anchor="end")
        row += _ROW
    if hidden:
        picture.text(root, 8 + _NAMES, row + 16, f"and {hidden} that raise it less", anchor="end")
        row += _ROW
    title = f"all together: from {down(found.lowest)} to {grouped(found.safe)} ns"
    _bars(root, x, row, -ends[0], ends[1], title)
    _text(root, 8 + _NAMES, row + 16, "all together", "end", title)
    low, high = (float(end - found.nominal) for end in (found.expected_low, found.expected_high))
    mark = ElementTree.SubElement(root, "g")
    picture.line(mark, x(low), row + _ROW / 2, x(high), row + _ROW / 2, "expected")
    for end in (low, high):
        picture.line(mark, x(end), row + 6, x(end), row + _ROW - 6, "expected")
    expected = f"{down(found.expected_low)} to {grouped(found.expected_high)} ns"
    ElementTree.SubElement(mark, "title").text = f"to be expected: {expected}"
    place = x(float(ends[1]))
    line = ElementTree.SubElement(root, "g")
    picture.line(line, place, first - 6, place, bottom, "safe")
    ElementTree.SubElement(line, "title").text = safe
    picture.text(root, place, first - 10, "safe end", anchor="middle")


def _bars(
    root: ElementTree.Element,
    x: picture.Scale,
    top: float,
    lowers: Fraction,
    raises: Fraction,
    title: str,
) -> None:
    group = ElementTree.SubElement(root, "g")
    for kind, begin, end in (("lowers", -lowers, Fraction(0)), ("raises", Fraction(0), raises)):
        if begin == end:
            continue
        left, right = x(float(begin)), x(float(end))
        _bar(group, kind, left, top + (_ROW - _BAR) / 2, max(right - left, 0.4))
    ElementTree.SubElement(group, "title").text = title


def _bar(
    root: ElementTree.Element, kind: str, left: float, top: float, width: float, tall: int = _BAR
) -> None:
    place = {"x": left, "y": top, "width": width, "height": tall}
    found = {key: f"{value:.2f}" for key, value in place.items()}
    ElementTree.SubElement(root, "rect", {"class": kind} | found)


def _text(
    root: ElementTree.Element, x: float, y: float, text: str, anchor: str, title: str
) -> None:
    group = ElementTree.SubElement(root, "g")
    picture.text(group, x, y, text, anchor=anchor)
    ElementTree.SubElement(group, "title").text = title


def _legend(root: ElementTree.Element) -> None:
    left = 16
    for kind, text in (("lowers", "lowers it alone"), ("raises", "raises it alone")):
        _bar(root, kind, left, 38, 22, 10)
        picture.text(root, left + 30, 47, text)
        left += 160
    picture.line(root, left, 43, left + 22, 43, "expected")
    picture.text(root, left + 30, 47, "to be expected of all together")
    left += 250
    picture.line(root, left, 43, left + 22, 43, "safe")
    picture.text(root, left + 30, 47, "the figure of the estimate")


def _short(name: str, most: int) -> str:
    return name if len(name) <= most else name[: max(most - 1, 0)] + "…"
