"""Lines over a common axis as a picture: what a result does as one thing grows.

One SVG document. Several charts under each other share the horizontal axis, each with a vertical
one of its own, so that what shrinks and what grows with the same thing stand in one picture.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal
from xml.etree import ElementTree

from wcetchar.report import picture
from wcetchar.report.picture import HEIGHT, LEFT, RIGHT, WIDTH

_COLORS: Final = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf")
_DASHES: Final = ("", "7 3", "2 3", "9 3 2 3")
"""Lines can be told apart without their colours as well."""
_STYLE: Final = (
    "polyline { fill: none; stroke-width: 2 }\n.level { stroke: #b8860b; stroke-dasharray: 5 4 }\n"
    ".at { stroke: #b8860b; stroke-dasharray: 5 4 }\n"
)
_DOTS: Final = 60
"""Points of a line that are drawn as dots with titles; of a longer line there would be too many."""
_GAP: Final = 44
_SLOT: Final = 190
"""Pixels of the legend for each line's name, and how much of a name is shown in it."""


@dataclass(frozen=True)
class Line:
    """``points``: (x, y), in the order of x. ``kind``: joined, or dots alone (measured)."""

    name: str
    points: Sequence[tuple[float, float]]
    kind: Literal["line", "dots"] = "line"


@dataclass(frozen=True)
class Panel:
    """One vertical axis. ``level``: a value that a line across marks, and what it is."""

    title: str
    lines: Sequence[Line]
    text: Callable[[float], str]
    logarithmic: bool = False
    level: tuple[float, str] | None = None


@dataclass(frozen=True)
class Chart:
    """``at``: values on the horizontal axis that a line marks, and what they are. ``base``: of a
    logarithmic horizontal axis, whose lines are at its powers; ``None``: it is linear."""

    title: str
    axis: str
    text: Callable[[float], str]
    panels: Sequence[Panel]
    base: int | None = 10
    at: Sequence[tuple[float, str]] = field(default=())


def svg(chart: Chart) -> str:
    """The picture.

    Raises:
        ValueError: no panel has a point, or one has no place on a logarithmic axis.
    """
    root = picture.document(_STYLE)
    picture.text(root, LEFT, 26, chart.title, "title")
    names = list(dict.fromkeys(one.name for panel in chart.panels for one in panel.lines))
    looks = {name: _look(number) for number, name in enumerate(names)}
    rows = _legend(root, looks)
    values = [x for panel in chart.panels for one in panel.lines for x, _ in one.points]
    if not values:
        raise ValueError("a chart without a point")
    ends = LEFT, WIDTH - RIGHT
    x = picture.linear(values, *ends)
    if chart.base is not None:
        x = picture.logarithmic(values, *ends, chart.base)
    top = 44 + 18 * rows
    height = (HEIGHT - 60 - top - _GAP * (len(chart.panels) - 1)) / len(chart.panels)
    for number, panel in enumerate(chart.panels):
        start = top + number * (height + _GAP)
        _panel(root, chart, panel, x, (start + 18, start + height), looks)
    middle = (LEFT + WIDTH - RIGHT) / 2
    picture.text(root, middle, HEIGHT - 16, chart.axis, anchor="middle")
    return picture.finished(root)


def _panel(
    root: ElementTree.Element,
    chart: Chart,
    panel: Panel,
    x: picture.Scale,
    ends: tuple[float, float],
    looks: dict[str, dict[str, str]],
) -> None:
    heights = [value for one in panel.lines for _, value in one.points]
    heights += [] if panel.level is None else [panel.level[0]]
    make = picture.logarithmic if panel.logarithmic else picture.linear
    y = make(heights, ends[1], ends[0])
    picture.grid(root, x, y, chart.text, panel.text)
    picture.text(root, LEFT, ends[0] - 8, panel.title)
    if panel.level is not None:
        place = y(panel.level[0])
        picture.line(root, x.first, place, x.last, place, "level")
        picture.text(root, x.last, place - 5, panel.level[1], anchor="end")
    for value, name in chart.at:
        if x.low <= value <= x.high:
            picture.line(root, x(value), y.first, x(value), y.last, "at")
            picture.text(root, x(value) + 4, y.last + 12, name)
    for one in panel.lines:
        _draw(root, chart, panel, one, x, y, looks[one.name])


def _draw(
    root: ElementTree.Element,
    chart: Chart,
    panel: Panel,
    one: Line,
    x: picture.Scale,
    y: picture.Scale,
    look: dict[str, str],
) -> None:
    group = ElementTree.SubElement(root, "g", {"stroke": look["stroke"], "fill": look["stroke"]})
    if one.kind == "line":
        places = " ".join(f"{x(at):.2f},{y(value):.2f}" for at, value in one.points)
        drawn = ElementTree.SubElement(group, "polyline", look | {"points": places})
        ElementTree.SubElement(drawn, "title").text = one.name
    if one.kind == "dots" or len(one.points) <= _DOTS:
        for at, value in one.points:
            title = f"{one.name}: {panel.text(value)} at {chart.text(at)}"
            picture.dot(group, x(at), y(value), "point", title)


def _look(number: int) -> dict[str, str]:
    dash = _DASHES[number // len(_COLORS) % len(_DASHES)]
    look = {"stroke": _COLORS[number % len(_COLORS)]}
    return look | ({"stroke-dasharray": dash} if dash else {})


def _legend(root: ElementTree.Element, looks: dict[str, dict[str, str]]) -> int:
    """The names of all lines; how many rows they take."""
    across = (WIDTH - LEFT - RIGHT) // _SLOT
    for number, (name, look) in enumerate(looks.items()):
        left, top = LEFT + number % across * _SLOT, 46 + number // across * 18
        ElementTree.SubElement(
            root,
            "line",
            {"x1": f"{left}", "x2": f"{left + 22}", "y1": f"{top - 4}", "y2": f"{top - 4}"}
            | {"stroke-width": "2"}
            | look,
        )
        shown = name if len(name) <= 22 else name[:21] + "…"
        picture.text(root, left + 28, top, shown)
    return -(-len(looks) // across)
