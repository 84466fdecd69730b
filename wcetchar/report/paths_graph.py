"""A worst path as flow graphs: boxes, clusters and edges with their places on a page.

A figure shows one activation. What it calls is drawn inside it, as a cluster with a layout of its
own, as long as the figure stays readable, the dearest first; any other call is one box, and its
activation is a figure of its own. So are blocks beside the worst path of a large function. An edge
that crosses borders of clusters is drawn in pieces, one for each level, which meet at the borders.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from wcetchar.model.path_model import OUTSIDE
from wcetchar.report.layered import Box, Command, Link, Point
from wcetchar.report.layered_place import layout_of
from wcetchar.report.numbers import grouped, percent
from wcetchar.report.paths_boxes import (
    CHARACTER,
    PAD,
    TEXT,
    Content,
    call_content,
    content_of,
    groups_of,
    heat_of,
    letters,
    short_ns,
    shortened,
)
from wcetchar.report.paths_tree import tree_of
from wcetchar.report.paths_view import ActivationRow, EdgeRow, PathRows

BOXES: Final = 48
"""Boxes of a figure, as long as that only means to draw calls by themselves."""
DEPTH: Final = 4
"""Clusters within each other."""
HOT: Final = 32
WARM: Final = 12
"""Weights in a layout of edges of the worst path: of the one that most of it goes along, and of
others; of edges that it does not take: 1."""
HEADING: Final = 26
"""Height of a cluster's heading."""
_MARGIN: Final = 14

_Item = tuple[str, int]
_IN: Final[_Item] = ("in", 0)
_OUT: Final[_Item] = ("out", 0)


@dataclass(frozen=True)
class DrawnBox:
    """``kind``: ``blocks`` with numbers of blocks, ``call`` of an activation, or ``end``: where the
    figure is entered and left."""

    kind: str
    x: int
    y: int
    width: int
    height: int
    content: Content
    blocks: tuple[int, ...] = ()
    activation: int = 0


@dataclass(frozen=True)
class DrawnCluster:
    activation: int
    x: int
    y: int
    width: int
    height: int
    heading: str
    title: str
    heat: int
    on_path: bool


@dataclass(frozen=True)
class DrawnEdge:
    """Piece of edges.

    Attributes:
        edges: numbers of the edges that it stands for.
        count: how often they are taken together; ``None`` without a flow.
        seen: traces took one of them.
        label: a count is written at its beginning.
        arrow: it ends here.
    """

    edges: tuple[int, ...]
    start: Point
    commands: tuple[Command, ...]
    count: int | None
    seen: bool
    back: bool
    heat: int
    label: bool
    arrow: bool
    title: str

    @property
    def on_path(self) -> bool:
        return bool(self.count)


@dataclass(frozen=True)
class Figure:
    """``shows``: an activation, or blocks beside the worst path of one; ``None``: all that nothing
    calls. ``whole``: it is the service."""

    shows: ActivationRow | None
    whole: bool
    width: int
    height: int
    boxes: tuple[DrawnBox, ...]
    clusters: tuple[DrawnCluster, ...]
    edges: tuple[DrawnEdge, ...]


def figures_of(rows: PathRows, most: int = BOXES) -> tuple[Figure, ...]:
    """The whole service first, callers before what they call."""
    return tuple(_Figures(rows, most).all())


class _Figures:
    """What all figures share: the tree of activations, with folds of blocks among them."""

    def __init__(self, rows: PathRows, most: int) -> None:
        self.rows = rows
        self._most = most
        self.groups, inner = groups_of(rows)
        self.group_of = {n: g for g, group in enumerate(self.groups) for n in group.blocks}
        self.contents = [content_of(rows, group) for group in self.groups]
        self.edges = [edge for edge in rows.edges if edge.number not in inner]
        found = tree_of(rows, self.groups, self.edges, most)
        self.activations, self.home, self.blocks_in = found.activations, found.home, found.blocks
        self.own: dict[int | None, list[int]] = {}
        for number, group in enumerate(self.groups):
            self.own.setdefault(self.home[group.blocks[0]], []).append(number)
        self.children: dict[int | None, list[int]] = {}
        for activation in self.activations:
            self.children.setdefault(activation.parent, []).append(activation.number)
        self.touching: dict[int, list[EdgeRow]] = {}
        for edge in self.edges:
            for number in {self.home[n] for n in (edge.source, edge.target) if n != OUTSIDE}:
                self.touching.setdefault(number, []).append(edge)

    def all(self) -> list[Figure]:
        tops = self.children.get(None, [])
        waiting: list[int | None] = [tops[0] if len(tops) == 1 else None]
        found = []
        while waiting:
            root = waiting.pop()
            shown, alone = self._chosen(root)
            found.append(_Level(self, root, shown).figure())
            waiting += reversed(alone)
        return found

    def _chosen(self, root: int | None) -> tuple[frozenset[int], list[int]]:
        """Activations that are drawn inside a figure, and those that are one box of it."""
        shown: set[int] = set()
        depth = {root: 0}
        count = len(self.own.get(root, [])) + len(self.children.get(root, []))
        alone: list[int] = []
        heap = [self._rank(child) for child in self.children.get(root, [])]
        heapq.heapify(heap)
        while heap:
            _, number = heapq.heappop(heap)
            row = self.activations[number]
            depth[number] = depth[row.parent] + 1
            more = len(self.own.get(number, [])) + len(self.children.get(number, [])) - 1
            unused = self.rows.has_flow and not row.entered and more > 1
            fold = number >= len(self.rows.activations)
            if fold or unused or count + more > self._most or depth[number] > DEPTH:
                alone.append(number)
                continue
            count += more
            shown.add(number)
            for child in self.children.get(number, []):
                heapq.heappush(heap, self._rank(child))
        return frozenset(shown), sorted(alone)

    def _rank(self, number: int) -> tuple[Fraction, int]:
        return -(self.activations[number].total_ns or Fraction(0)), number


@dataclass
class _Piece:
    edges: list[EdgeRow]

    @property
    def count(self) -> int | None:
        counts = [edge.count for edge in self.edges if edge.count is not None]
        return sum(counts) if counts else None


@dataclass(frozen=True)
class _Drawn:
    """Of one level, from its own corner; where edges from outside meet its borders."""

    width: int
    height: int
    boxes: tuple[DrawnBox, ...]
    clusters: tuple[DrawnCluster, ...]
    edges: tuple[DrawnEdge, ...]
    enter: int = 0
    leave: int = 0
    returns: bool = False


class _Level:
    """Draws one figure, level by level."""

    def __init__(self, of: _Figures, root: int | None, shown: frozenset[int]) -> None:
        self._of, self._root, self._shown = of, root, shown
        self._whole = root is None or of.activations[root].parent is None
        self._pieces: dict[int | None, dict[tuple[_Item, _Item], _Piece]] = {}
        self._ways: dict[int, list[_Item] | None] = {OUTSIDE: None}
        edges: dict[int, EdgeRow] = {}
        for number in self._below(root):
            edges.update({edge.number: edge for edge in of.touching.get(number, [])})
        for number in sorted(edges):
            self._cut(edges[number])

    def figure(self) -> Figure:
        drawn = self._drawn(self._root)
        drawn = _moved(drawn, _MARGIN, _MARGIN)
        return Figure(
            None if self._root is None else self._of.activations[self._root],
            self._whole,
            drawn.width + 2 * _MARGIN,
            drawn.height + 2 * _MARGIN,
            drawn.boxes,
            drawn.clusters,
            drawn.edges,
        )

    def _below(self, root: int | None) -> list[int]:
        found = [] if root is None else [root]
        waiting = list(self._of.children.get(root, []))
        while waiting:
            number = waiting.pop()
            found.append(number)
            waiting += self._of.children.get(number, [])
        return found

    def _way(self, node: int) -> list[_Item] | None:
        """Items that a node is in, from the outermost on; ``None``: it is not in the figure."""
        if node not in self._ways:
            way: list[_Item] = [("blocks", self._of.group_of[node])]
            at: int | None = self._of.home[node]
            while at != self._root and at is not None:
                if at not in self._shown:
                    way.clear()
                way.insert(0, ("call", at))
                at = self._of.activations[at].parent
            self._ways[node] = way if at == self._root else None
        return self._ways[node]

    def _cut(self, edge: EdgeRow) -> None:
        source, target = self._way(edge.source), self._way(edge.target)
        if source is None and target is None:
            return
        source = [_IN] if source is None else source
        target = [_OUT] if target is None else target
        shared = 0
        while source[shared] == target[shared]:
            if shared + 1 in (len(source), len(target)):
                if source[shared][0] == "call":
                    return  # within what is drawn by itself
                break
            shared += 1
        self._add(source, shared, source[shared], target[shared], edge)
        for n in range(shared + 1, len(source)):
            self._add(source, n, source[n], _OUT, edge)
        for n in range(shared + 1, len(target)):
            self._add(target, n, _IN, target[n], edge)

    def _add(
        self, way: Sequence[_Item], depth: int, source: _Item, target: _Item, edge: EdgeRow
    ) -> None:
        level = self._root if depth == 0 else way[depth - 1][1]
        pieces = self._pieces.setdefault(level, {})
        pieces.setdefault((source, target), _Piece([])).edges.append(edge)

    def _drawn(self, level: int | None) -> _Drawn:
        root = level == self._root
        pieces = self._pieces.get(level, {})
        items: list[_Item] = [("blocks", n) for n in self._of.own.get(level, [])]
        items += [("call", n) for n in self._of.children.get(level, [])]
        ends = {item for pair in pieces for item in pair}
        items = [i for i in (_IN,) if i in ends] + items + [i for i in (_OUT,) if i in ends]
        number = {item: n for n, item in enumerate(items)}
        inner = {
            item: self._framed(item[1], self._drawn(item[1]))
            for item in items
            if item[0] == "call" and item[1] in self._shown
        }
        contents = {item: self._content(item, root) for item in items if item not in inner}
        order = list(pieces)
        most: dict[_Item, int] = {}
        for (source, _), piece in pieces.items():
            most[source] = max(most.get(source, 0), piece.count or 0)
        leaving: dict[_Item, list[_Piece]] = {}
        for (source, _), piece in pieces.items():
            leaving.setdefault(source, []).append(piece)
        boxes = [self._box(item, root, inner, contents, leaving.get(item, [])) for item in items]
        layout = layout_of(
            boxes,
            [
                Link(number[a], number[b], _weight(pieces[a, b].count or 0, most[a]))
                for a, b in order
            ],
            number.get(_IN),
            number.get(_OUT),
        )
        drawn_boxes: list[DrawnBox] = []
        clusters: list[DrawnCluster] = []
        below: list[DrawnEdge] = []
        for item, (x, y), box in zip(items, layout.corners, boxes, strict=True):
            if item in inner:
                moved = _moved(inner[item], x, y)
                drawn_boxes += moved.boxes
                clusters += moved.clusters
                below += moved.edges
            elif root or item not in (_IN, _OUT):
                drawn_boxes.append(self._drawn_box(item, x, y, box, contents[item]))
        edges = []
        for pair, route in zip(order, layout.routes, strict=True):
            edges.append(self._edge(pair, pieces[pair], route.start, route.commands, route.back))
        for n, (source, target) in enumerate(order):
            edges[n] = replace(
                edges[n],
                label=source not in inner and (root or source != _IN),
                arrow=root or target != _OUT,
            )
        enter = layout.corners[number[_IN]][0] if _IN in number else layout.width // 2
        leave = layout.corners[number[_OUT]][0] if _OUT in number else layout.width // 2
        return _Drawn(
            layout.width,
            layout.height,
            tuple(drawn_boxes),
            tuple(clusters),
            (*edges, *below),
            enter,
            leave,
            _OUT in number,
        )

    def _content(self, item: _Item, root: bool) -> Content:
        kind, number = item
        if kind == "blocks":
            return self._of.contents[number]
        if kind == "call":
            below = self._of.activations[number]
            blocks, seen = self._of.blocks_in[number]
            return call_content(self._of.rows, below, blocks, seen)
        names = ("entry", "exit") if self._whole else ("in", "out")
        return Content(names[item == _OUT], "", (), "", "", 0, False, True)

    def _box(
        self,
        item: _Item,
        root: bool,
        inner: Mapping[_Item, _Drawn],
        contents: Mapping[_Item, Content],
        leaving: Sequence[_Piece],
    ) -> Box:
        if item in inner:
            framed = inner[item]
            return Box(framed.width, framed.height, framed.enter, framed.leave)
        if item in (_IN, _OUT):
            if not root:
                return Box(0, 0, 0, 0)
            width = math.ceil(letters(contents[item].heading) * CHARACTER) + 2 * PAD + 8
            return Box(_even(width), 24)
        labels = [letters(f"×{grouped(piece.count or 0)}") for piece in leaving]
        pitch = math.ceil(max(labels, default=0) * CHARACTER) + 22
        width = max(contents[item].width, 90, 2 * pitch * min(len(leaving) - 1, 3) + 30)
        return Box(_even(width), contents[item].height, pitch=pitch)

    def _framed(self, activation: int, drawn: _Drawn) -> _Drawn:
        """A level in the frame of its cluster: edges enter the bar with its heading and go on below
        it, and leave at the lower border."""
        row = self._of.activations[activation]
        heading = _cluster_heading(row)
        wide = math.ceil(letters(heading) * CHARACTER) + 2 * PAD
        width = _even(max(drawn.width + 2 * _MARGIN, wide))
        aside = (width - drawn.width) // 2
        height = drawn.height + HEADING + (0 if drawn.returns else _MARGIN)
        cluster = DrawnCluster(
            activation,
            0,
            0,
            width,
            height,
            heading,
            " > ".join(row.calls),
            heat_of(row.share),
            bool(row.entered),
        )
        moved = _moved(drawn, aside, HEADING)
        return _Drawn(
            width,
            height,
            moved.boxes,
            (cluster, *moved.clusters),
            moved.edges,
            drawn.enter + aside,
            drawn.leave + aside,
        )

    def _drawn_box(self, item: _Item, x: int, y: int, box: Box, content: Content) -> DrawnBox:
        kind, number = item
        blocks = self._of.groups[number].blocks if kind == "blocks" else ()
        shown = kind if kind in ("blocks", "call") else "end"
        activation = number if kind == "call" else 0
        return DrawnBox(shown, x, y, box.width, box.height, content, blocks, activation)

    def _edge(
        self,
        pair: tuple[_Item, _Item],
        piece: _Piece,
        start: Point,
        commands: tuple[Command, ...],
        back: bool,
    ) -> DrawnEdge:
        rows = self._of.rows
        heat = min(self._heat(item) for item in pair) if piece.count else 0
        never = sum(not edge.seen for edge in piece.edges)
        title = "\n".join(_edge_title(rows, edge) for edge in piece.edges[:20])
        if never and never < len(piece.edges):
            title += f"\n{never} of {len(piece.edges)} never taken by traces"
        return DrawnEdge(
            edges=tuple(edge.number for edge in piece.edges),
            start=start,
            commands=commands,
            count=piece.count,
            seen=never < len(piece.edges),
            back=back,
            heat=heat,
            label=True,
            arrow=True,
            title=title,
        )

    def _heat(self, item: _Item) -> int:
        kind, number = item
        if kind == "blocks":
            return self._of.contents[number].heat
        if kind == "call":
            return heat_of(self._of.activations[number].share)
        return 5


def _even(width: int) -> int:
    """So that the middle of a box is a whole number."""
    return width + width % 2


def _weight(count: int, most: int) -> int:
    if not count:
        return 1
    return HOT if count == most else WARM


def _cluster_heading(row: ActivationRow) -> str:
    heading = shortened(row.function, TEXT)
    if row.entered:
        total = short_ns(row.total_ns or Fraction(0))
        heading += f"  ×{grouped(row.entered)}  {total} ns  {percent(row.share or 0, 1)}"
    return heading


def _edge_title(rows: PathRows, edge: EdgeRow) -> str:
    begin = "entry" if edge.source == OUTSIDE else rows.blocks[edge.source].lines[-1].place
    end = "exit" if edge.target == OUTSIDE else rows.blocks[edge.target].lines[0].place
    text = f"{begin} → {end}"
    text += f": {grouped(edge.count)} times" if edge.count is not None else ""
    return text + ("" if edge.seen else ", never taken by traces")


def _moved(drawn: _Drawn, x: int, y: int) -> _Drawn:
    def shifted(command: Command) -> Command:
        letter, values = command
        return letter, tuple(v + (y if n % 2 else x) for n, v in enumerate(values))

    return replace(
        drawn,
        boxes=tuple(replace(b, x=b.x + x, y=b.y + y) for b in drawn.boxes),
        clusters=tuple(replace(c, x=c.x + x, y=c.y + y) for c in drawn.clusters),
        edges=tuple(
            replace(
                e,
                start=(e.start[0] + x, e.start[1] + y),
                commands=tuple(map(shifted, e.commands)),
            )
            for e in drawn.edges
        ),
    )
