"""A figure of a flow graph as SVG elements for a page; ``templates/paths.css`` colours them.

Boxes are links to their rows in the page's table, so that a keyboard reaches them, and carry what
they are as their title.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final
from xml.etree import ElementTree

from wcetchar.report.layered import Command, Point
from wcetchar.report.numbers import grouped
from wcetchar.report.paths_boxes import CHARACTER, LINE, PAD
from wcetchar.report.paths_graph import HEADING, DrawnBox, DrawnCluster, DrawnEdge, Figure

ARROW: Final = 8
_BASELINE: Final = 13
"""From the top of a line of text."""


def svg(figure: Figure, label: str, flow: bool = True) -> str:
    """``label`` names the picture for those who do not see it. Without a ``flow`` nothing is beside
    the worst path."""
    root = ElementTree.Element(
        "svg",
        {
            "viewBox": f"0 0 {figure.width} {figure.height}",
            "width": str(figure.width),
            "height": str(figure.height),
            "class": "flow" if flow else "plain",
            "role": "group",
            "aria-label": label,
        },
    )
    for cluster in figure.clusters:
        _cluster(root, cluster)
    for edge in sorted(figure.edges, key=lambda edge: (edge.on_path, edge.heat)):
        _edge(root, edge)
    for box in figure.boxes:
        _box(root, box)
    for edge in figure.edges:
        _label(root, edge)
    return ElementTree.tostring(root, encoding="unicode")


def markers() -> str:
    """Heads of arrows, once for a page."""
    root = ElementTree.Element("svg", {"width": "0", "height": "0", "aria-hidden": "true"})
    definitions = ElementTree.SubElement(root, "defs")
    for name in ("n", *map(str, range(6))):
        marker = ElementTree.SubElement(
            definitions,
            "marker",
            {
                "id": f"arrow-{name}",
                "class": f"arrow h{name}",
                "markerUnits": "userSpaceOnUse",
                "markerWidth": "12",
                "markerHeight": "12",
                "refX": "1",
                "refY": "5",
                "orient": "auto",
            },
        )
        ElementTree.SubElement(marker, "path", {"d": f"M0 0 L{ARROW + 1} 5 L0 10 Z"})
    return ElementTree.tostring(root, encoding="unicode")


def _cluster(root: ElementTree.Element, cluster: DrawnCluster) -> None:
    state = f"h{cluster.heat}" if cluster.on_path else "off"
    group = ElementTree.SubElement(
        root, "g", {"class": f"cluster {state}", "id": f"c{cluster.activation}"}
    )
    ElementTree.SubElement(group, "title").text = cluster.title
    _rect(group, cluster.x, cluster.y, cluster.width, cluster.height, 8, "frame")
    _rect(group, cluster.x, cluster.y, cluster.width, HEADING, 8, "bar")
    _text(group, cluster.x + PAD, cluster.y + 16, cluster.heading, "name")


def _box(root: ElementTree.Element, box: DrawnBox) -> None:
    content = box.content
    if box.kind == "end":
        group = ElementTree.SubElement(root, "g", {"class": "end"})
        _rect(group, box.x, box.y, box.width, box.height, 12, "")
        _text(group, box.x + box.width // 2, box.y + 16, content.heading, "", anchor="middle")
        return
    state = f"on h{content.heat}" if content.on_path else "off"
    state += "" if content.seen else " never"
    call = box.kind == "call"
    link = ElementTree.SubElement(
        root,
        "a",
        {
            "class": f"box {box.kind} {state}",
            "href": f"#f{box.activation}" if call else f"#r{box.blocks[0]}",
        }
        | ({} if call else {"id": f"b{box.blocks[0]}"}),
    )
    ElementTree.SubElement(link, "title").text = content.title
    _rect(link, box.x, box.y, box.width, box.height, 6, "")
    if content.on_path:
        _rect(link, box.x, box.y, 5, box.height, 2, "heat")
    y = box.y + PAD // 2 + _BASELINE
    _text(link, box.x + PAD + 2, y, content.heading, "place")
    if content.figures:
        _text(link, box.x + box.width - PAD, y, content.figures, "figures", anchor="end")
    for number, text in content.lines:
        y += LINE
        gutter = round(content.gutter * CHARACTER)
        if number:
            _text(link, box.x + PAD + gutter - 12, y, number, "number", anchor="end")
        _text(link, box.x + PAD + 2 + gutter, y, text, "source")
    if content.tag:
        _text(link, box.x + PAD + 2, y + LINE, content.tag, "tag")
    if not content.seen:
        _diamond(link, box.x + box.width, box.y)


def _edge(root: ElementTree.Element, edge: DrawnEdge) -> None:
    name = str(edge.heat) if edge.on_path else "n"
    d = path_of(edge.start, _shortened(edge.commands) if edge.arrow else edge.commands)
    if edge.on_path:
        ElementTree.SubElement(root, "path", {"class": "halo", "d": d})
    state = f"on h{edge.heat}" if edge.on_path else "off"
    state += "" if edge.seen else " never"
    path = ElementTree.SubElement(root, "path", {"class": f"edge {state}", "d": d})
    if edge.arrow:
        path.set("marker-end", f"url(#arrow-{name})")
    ElementTree.SubElement(path, "title").text = edge.title


def _label(root: ElementTree.Element, edge: DrawnEdge) -> None:
    if not edge.label:
        return
    x, y = edge.start
    if not edge.seen:
        _diamond(root, x, y + 14)
    if edge.count:
        kind = "count" if edge.seen else "count never"
        _text(root, x + 8, y + 15, f"×{grouped(edge.count)}", kind)


def path_of(start: Point, commands: Iterable[Command]) -> str:
    parts = [f"M{start[0]} {start[1]}"]
    parts += [letter + " ".join(map(str, values)) for letter, values in commands]
    return " ".join(parts)


def _shortened(commands: tuple[Command, ...]) -> tuple[Command, ...]:
    """Room for the arrow; every route ends downwards."""
    letter, values = commands[-1]
    return (*commands[:-1], (letter, (*values[:-1], values[-1] - ARROW)))


def _diamond(root: ElementTree.Element, x: int, y: int) -> None:
    d = f"M{x} {y - 6} L{x + 6} {y} L{x} {y + 6} L{x - 6} {y} Z"
    ElementTree.SubElement(root, "path", {"class": "mark", "d": d})


def _rect(
    root: ElementTree.Element, x: int, y: int, width: int, height: int, radius: int, kind: str
) -> None:
    where = {"x": x, "y": y, "width": width, "height": height, "rx": radius}
    attributes = {name: str(value) for name, value in where.items()}
    ElementTree.SubElement(root, "rect", attributes | ({"class": kind} if kind else {}))


def _text(
    root: ElementTree.Element, x: int, y: int, text: str, kind: str, anchor: str = ""
) -> None:
    attributes = {"x": str(x), "y": str(y)} | ({"class": kind} if kind else {})
    attributes |= {"text-anchor": anchor} if anchor else {}
    ElementTree.SubElement(root, "text", attributes).text = text
