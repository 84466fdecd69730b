"""SVG pictures with axes: the document, its text and lines, and scales with a grid.

Pictures have nothing from outside, and one size; what a dot or a line is stands in its title, which
viewers show where it is pointed at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

WIDTH: Final = 900
HEIGHT: Final = 520
LEFT, RIGHT, TOP, BOTTOM = 80, 24, 70, 60
STYLE: Final = """
text { font: 13px system-ui, sans-serif; fill: #333 }
.title { font-size: 16px; font-weight: 600 }
.grid { stroke: #e3e3e3 }
.zero { stroke: #333 }
"""
_PREFIXES: Final = {-4: "p", -3: "n", -2: "u", -1: "m", 0: "", 1: "k", 2: "M", 3: "G", 4: "T"}
"""Of units, by powers of a thousand."""


@dataclass(frozen=True)
class Scale:
    """From values to places of a picture.

    Attributes:
        low, high: the values at both ends.
        first, last: the places there.
        ticks: values that have a line of the grid.
        logarithmic: values are above 0, and equal ratios are equally far apart.
    """

    low: float
    high: float
    first: float
    last: float
    ticks: tuple[float, ...]
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        if self.logarithmic:
            share = math.log(value / self.low) / math.log(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)


def linear(values: Sequence[float], first: float, last: float) -> Scale:
    """Over all values and zero, with about eight lines at multiples of 1, 2 or 5 times a power of
    ten."""
    least, most = min(*values, 0.0), max(*values, 0.0)
    step = _step(most - least)
    low = math.floor(least / step) * step
    high = max(math.ceil(most / step) * step, low + step)
    ticks = [low + n * step for n in range(round((high - low) / step) + 1)]
    exact = tuple(0.0 if abs(tick) < step / 2 else tick for tick in ticks)
    return Scale(low, high, first, last, exact)


def logarithmic(values: Sequence[float], first: float, last: float, base: int = 10) -> Scale:
    """Over all values, from a power of ``base`` to another, with a line at each.

    Raises:
        ValueError: a value is not above 0.
    """
    if min(values) <= 0:
        raise ValueError(f"{min(values)} has no place on a logarithmic scale")
    low, high = math.floor(_log(min(values), base)), math.ceil(_log(max(values), base))
    high = max(high, low + 1)
    ticks = tuple(float(base) ** power for power in range(low, high + 1))
    return Scale(ticks[0], ticks[-1], first, last, ticks, True)


def document(style: str = "", height: int = HEIGHT) -> ElementTree.Element:
    root = ElementTree.Element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 0 {WIDTH} {height}",
            "width": str(WIDTH),
            "height": str(height),
            "role": "img",
        },
    )
    ElementTree.SubElement(root, "style").text = STYLE + style
    return root


def grid(
    root: ElementTree.Element,
    x: Scale,
    y: Scale,
    x_text: Callable[[float], str],
    y_text: Callable[[float], str],
) -> None:
    """The lines at the ticks of both scales, with what they are."""
    for tick in x.ticks:
        line(root, x(tick), y.first, x(tick), y.last, "grid")
        text(root, x(tick), y.first + 20, x_text(tick), anchor="middle")
    for tick in y.ticks:
        line(root, x.first, y(tick), x.last, y(tick), "grid" if tick else "zero")
        text(root, x.first - 8, y(tick) + 4, y_text(tick), anchor="end")


def finished(root: ElementTree.Element) -> str:
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def text(
    root: ElementTree.Element, x: float, y: float, text: str, kind: str = "", anchor: str = "start"
) -> None:
    place = {"x": f"{x:.2f}", "y": f"{y:.2f}", "text-anchor": anchor}
    ElementTree.SubElement(root, "text", place | ({"class": kind} if kind else {})).text = text


def line(root: ElementTree.Element, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
    place = {"x1": x1, "y1": y1, "x2": x2, "y2": y2}
    ElementTree.SubElement(
        root, "line", {"class": kind} | {k: f"{v:.2f}" for k, v in place.items()}
    )


def dot(root: ElementTree.Element, x: float, y: float, kind: str, title: str) -> None:
    place = {"class": kind, "cx": f"{x:.2f}", "cy": f"{y:.2f}", "r": "3.5"}
    ElementTree.SubElement(ElementTree.SubElement(root, "circle", place), "title").text = title


def with_prefix(value: float, unit: str) -> str:
    """``2.5 kB``: the value with the prefix that leaves one to three digits before the point."""
    if value == 0:
        return f"0 {unit}".rstrip()
    power = min(max(math.floor(math.log10(abs(value)) / 3 + 1e-9), -4), 4)
    return f"{value / 1000.0**power:g} {_PREFIXES[power]}{unit}".rstrip()


def nanoseconds(value: float) -> str:
    """``20 us``."""
    return with_prefix(value / 1e9, "s")


def _step(span: float) -> float:
    """Distance of the lines of the grid: 1, 2 or 5 times a power of ten, about eight of them."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / 8))
    return next(m * power for m in (1, 2, 5, 10) if m * power >= span / 8)


def _log(value: float, base: int) -> float:
    """Whole at powers of the base, where ``math.log`` is a little off."""
    found = math.log(value, base)
    return round(found) if math.isclose(found, round(found), abs_tol=1e-9) else found
