"""Places boxes in layers and leads edges between them, so that flow runs from top to bottom.

The method of K. Sugiyama, S. Tagawa and M. Toda, "Methods for Visual Understanding of Hierarchical
System Structures", IEEE Trans. SMC 11 (1981), in the steps of E. R. Gansner et al., "A Technique
for Drawing Directed Graphs", IEEE TSE 19 (1993): edges that close a cycle (back edges of a
depth-first search) are set aside, boxes get the layer of their longest path, edges that pass
layers get a place in each, layers are ordered by barycenters, and positions are the weighted least
squares of straight edges under the order (pool adjacent violators). Unlike there, edges that lead
to the same box share their places (early returns join one line), and back edges go up in lanes
right of the loop that they close. The same input gives the same drawing.

Here are the parts of a drawing; ``layered_order`` finds layers and orders, and
``layered_place.layout_of`` makes the drawing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

Point = tuple[int, int]
Command = tuple[str, tuple[int, ...]]
"""Of an SVG path, absolute: ``L`` x y, ``Q`` x1 y1 x y, ``C`` x1 y1 x2 y2 x y."""


@dataclass(frozen=True)
class Box:
    """Size of what is placed. ``enter`` and ``leave``: distance from its left border of the one
    point where edges end and begin; ``None``: they spread along the border, ``pitch`` apart."""

    width: int
    height: int
    enter: int | None = None
    leave: int | None = None
    pitch: int = 24


@dataclass(frozen=True)
class Link:
    """An edge between boxes; a heavier one is kept straighter, and comes first."""

    source: int
    target: int
    weight: int = 1


@dataclass(frozen=True)
class Route:
    """From the bottom border of the source to the top border of the target.

    ``back``: it goes up, beside what lies between.
    """

    start: Point
    commands: tuple[Command, ...]
    back: bool = False

    @property
    def end(self) -> Point:
        last = self.commands[-1][1]
        return last[-2], last[-1]


@dataclass(frozen=True)
class Layout:
    """``corners``: left upper ones of the boxes; ``layers``: numbers of the boxes' layers;
    ``routes``: of the links, in their order."""

    width: int
    height: int
    corners: tuple[Point, ...]
    layers: tuple[int, ...]
    routes: tuple[Route, ...]


@dataclass(frozen=True)
class Spacing:
    """Distances in pixels."""

    beside: int = 26
    line: int = 16
    gap: int = 38
    turn: int = 20
    """How far below (above) a layer the first back edge turns, and each further one more."""


SPACING: Final = Spacing()
