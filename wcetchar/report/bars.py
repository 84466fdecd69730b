"""Bars beside each other's names, the longest first: what hangs most on what.

One SVG document, as tall as there are bars.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

from wcetchar.report import picture
from wcetchar.report.picture import RIGHT, WIDTH

MOST: Final = 60
"""Bars of a picture; how many more there are stands below them."""
_STYLE: Final = ".bar { fill: #1f77b4 }\n.less { fill: #2ca02c }\n"
_NAMES: Final = 330
"""Pixels for names, and how many characters of one they hold."""
_CHARACTERS: Final = 44
_TOP: Final = 50
_STEP: Final = 20
_BELOW: Final = 60


@dataclass(frozen=True)
class Bar:
    """``title``: what viewers show where it is pointed at."""

    name: str
    length: float
    title: str


def bars(title: str, axis: str, every: Sequence[Bar]) -> str:
    """The picture; ``every``: in the order from above. A bar of what gets less has another colour,
    and goes to the left.

    Raises:
        ValueError: there is no bar.
    """
    drawn = every[:MOST]
    if not drawn:
        raise ValueError("no number changes anything")
    end = _TOP + _STEP * len(drawn)
    root = picture.document(_STYLE, end + _BELOW)
    picture.text(root, 16, 26, title, "title")
    x = picture.linear([one.length for one in drawn], _NAMES, WIDTH - RIGHT - 20)
    for tick in x.ticks:
        picture.line(root, x(tick), _TOP, x(tick), end, "grid" if tick else "zero")
        picture.text(root, x(tick), end + 18, f"{tick:g}", anchor="middle")
    for place, one in enumerate(drawn):
        top = _TOP + _STEP * place
        short = one.name if len(one.name) <= _CHARACTERS else one.name[: _CHARACTERS - 1] + "…"
        picture.text(root, _NAMES - 8, top + 14, short, anchor="end")
        ends = sorted((x(0.0), x(one.length)))
        place_of = {"x": ends[0], "y": top + 4.0, "width": ends[1] - ends[0], "height": _STEP - 8.0}
        bar = ElementTree.SubElement(
            root,
            "rect",
            {"class": "bar" if one.length >= 0 else "less"}
            | {key: f"{value:.2f}" for key, value in place_of.items()},
        )
        ElementTree.SubElement(bar, "title").text = f"{one.name}: {one.title}"
    more = len(every) - len(drawn)
    below = axis + (f"; {more} shorter bars are not drawn" if more else "")
    picture.text(root, (_NAMES + WIDTH - RIGHT) / 2, end + 42, below, anchor="middle")
    return picture.finished(root)
