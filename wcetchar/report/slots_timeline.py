"""Who has a bus when, as a picture: a line for the bus, and one for each device below it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final
from xml.etree import ElementTree

from wcetchar.report import picture
from wcetchar.report.picture import HEIGHT, LEFT, RIGHT, WIDTH

MOST: Final = 24
"""Devices that are drawn."""
_COLORS: Final = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#8c564b", "#e377c2", "#17becf")
_FREE: Final = "#d9d9d9"
_STYLE: Final = "rect { stroke: #fff; stroke-width: 0.5 }\n"
_TOP: Final = 78
_SLOT: Final = 200
"""Pixels of the legend for the name of a phase."""


@dataclass(frozen=True)
class Bar:
    """A phase of a device's request, in nanoseconds; ``held``: it has the bus."""

    device: str
    request: int
    phase: str
    held: bool
    begins: Fraction
    ends: Fraction


def svg(title: str, bars: Sequence[Bar]) -> str:
    """The picture. Of more devices than can be drawn, the first ones; the bus has all of them.

    Raises:
        ValueError: there is nothing to draw.
    """
    shown = [one for one in bars if one.ends > one.begins]
    if not shown:
        raise ValueError("a timeline without time")
    root = picture.document(_STYLE)
    devices = list(dict.fromkeys(one.device for one in shown))
    left_out = len(devices) - MOST
    more = f", the first {MOST} of {len(devices)} devices" if left_out > 0 else ""
    picture.text(root, LEFT, 26, title + more, "title")
    phases = list(dict.fromkeys(one.phase for one in shown if one.held))
    colors = {name: _COLORS[number % len(_COLORS)] for number, name in enumerate(phases)}
    _legend(root, colors)
    rows = ["bus", *devices[:MOST]]
    height = (HEIGHT - 60 - _TOP) / len(rows)
    x = picture.linear([float(one.ends) for one in shown], LEFT, WIDTH - RIGHT)
    for tick in x.ticks:
        picture.line(root, x(tick), _TOP, x(tick), HEIGHT - 60, "grid")
        label = picture.nanoseconds(tick)
        picture.text(root, x(tick), HEIGHT - 40, label, anchor="middle")
    for number, name in enumerate(rows):
        label = name if len(name) <= 9 else name[:8] + "…"
        picture.text(root, LEFT - 8, _TOP + (number + 0.7) * height, label, anchor="end")
    for one in shown:
        places = [0] if one.held else []
        if one.device in rows[1:]:
            places.append(1 + devices.index(one.device))
        for row in places:
            _bar(root, one, x, _TOP + row * height, height, colors)
    picture.text(root, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, "time", anchor="middle")
    return picture.finished(root)


def _bar(
    root: ElementTree.Element,
    one: Bar,
    x: picture.Scale,
    top: float,
    height: float,
    colors: dict[str, str],
) -> None:
    begin, end = x(float(one.begins)), x(float(one.ends))
    # What leaves the bus to others is thin, so that it is told from the rest without colours.
    thick = height * (0.8 if one.held else 0.25)
    place = {
        "x": f"{begin:.2f}",
        "y": f"{top + (height - thick) / 2:.2f}",
        "width": f"{max(end - begin, 0.5):.2f}",
        "height": f"{thick:.2f}",
        "fill": colors.get(one.phase, _FREE) if one.held else _FREE,
    }
    drawn = ElementTree.SubElement(root, "rect", place)
    times = " to ".join(picture.nanoseconds(float(time)) for time in (one.begins, one.ends))
    ElementTree.SubElement(
        drawn, "title"
    ).text = f"{one.device}, request {one.request + 1}, {one.phase}: {times}"


def _legend(root: ElementTree.Element, colors: dict[str, str]) -> None:
    names = {**colors, "without the bus": _FREE}
    for number, (name, color) in enumerate(list(names.items())[:4]):
        left = LEFT + number * _SLOT
        place = {"x": f"{left}", "y": "44", "width": "14", "height": "12", "fill": color}
        ElementTree.SubElement(root, "rect", place)
        shown = name if len(name) <= 24 else name[:23] + "…"
        picture.text(root, left + 20, 55, shown)
