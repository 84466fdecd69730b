"""Positions of a drawing's boxes, and the lines of its edges; ``layered`` says how."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from wcetchar.report.layered import SPACING, Box, Command, Layout, Link, Point, Route, Spacing
from wcetchar.report.layered_order import Grid, grid_of

SWEEPS: Final = 60
WORK: Final = 60_000
_RADIUS: Final = 7
_BEND: Final = 40
"""Smaller bends are removed where there is room."""
_CORNER: Final = 14
"""Ports keep this far from a box's corners."""
_FAR: Final = 10**9
_Room = Callable[[int, int], tuple[int, int]]
_Near = tuple[int, float, int]
"""A neighbour of an item: which, how far right of it the item's middle is for a vertical edge, and
the weight of the edge."""


def layout_of(
    boxes: Sequence[Box],
    links: Sequence[Link],
    first: int | None = None,
    last: int | None = None,
    spacing: Spacing = SPACING,
) -> Layout:
    """``first`` and ``last`` name boxes for a layer of their own on top and at the bottom."""
    grid = grid_of(boxes, links, first, last)
    middle = _Columns(grid, boxes, spacing).middles()
    return _Lines(grid, boxes, links, spacing, middle).layout()


class _Columns:
    """Horizontal positions: of the middle of each item."""

    def __init__(self, grid: Grid, boxes: Sequence[Box], spacing: Spacing) -> None:
        self._grid = grid
        self._spacing = spacing
        self._place = {item: n for layer in grid.layers for n, item in enumerate(layer)}
        self._width = [box.width for box in boxes] + [0] * (len(grid.layer) - len(boxes))
        enter = [_offset(box.enter, box) for box in boxes]
        leave = [_offset(box.leave, box) for box in boxes]
        self._above: list[list[_Near]] = [[] for _ in grid.layer]
        self._below: list[list[_Near]] = [[] for _ in grid.layer]
        for found in grid.pairs:
            for upper, lower, weight in found:
                shift = leave[upper] if upper < len(boxes) else 0.0
                shift -= enter[lower] if lower < len(boxes) else 0.0
                self._above[lower].append((upper, shift, weight))
                self._below[upper].append((lower, -shift, weight))
        # Nothing else holds a lane near its loop.
        self._beside: list[list[_Near]] = [[] for _ in grid.layer]
        for (target, _), lane in grid.lanes.items():
            self._beside[lane].append((target, boxes[target].width / 2 + spacing.line, 1))

    def middles(self) -> list[int]:
        middle = [0.0] * len(self._grid.layer)
        for layer in self._grid.layers:
            at = 0.0
            for n, item in enumerate(layer):
                at += self._apart(layer[n - 1], item) if n else 0.0
                middle[item] = at
            for item in layer:
                middle[item] -= at / 2
        shifts = [self._shifts(layer) for layer in self._grid.layers]
        above, below, both = (
            [[near for part in parts for near in part] for parts in zip(*sides, strict=True)]
            for sides in (
                (self._above, self._beside),
                (self._below, self._beside),
                (self._above, self._below, self._beside),
            )
        )
        many = max(8, min(SWEEPS, WORK // (len(middle) + 1)))
        order = list(range(len(shifts)))
        for sweep in range(many):
            down = sweep % 2 == 0
            # Neighbours of one side alone carry what is far away faster; both settle it.
            near = both if sweep >= many // 2 else above if down else below
            moved = 0.0
            for n in order if down else reversed(order):
                moved = max(moved, _settle(self._grid.layers[n], shifts[n], near, middle))
            if moved < 0.5 and sweep >= many // 2:
                break
        return self._straightened(self._whole(middle))

    def _apart(self, left: int, right: int) -> float:
        """Least distance of the middles of two neighbours."""
        between = self._spacing.line
        if left < self._grid.boxes and right < self._grid.boxes:
            between = self._spacing.beside
        return (self._width[left] + self._width[right]) / 2 + between

    def _shifts(self, layer: Sequence[int]) -> list[float]:
        """Least distance of each item from the first."""
        found, at = [], 0.0
        for n, item in enumerate(layer):
            at += self._apart(layer[n - 1], item) if n else 0.0
            found.append(at)
        return found

    def _whole(self, middle: Sequence[float]) -> list[int]:
        """Whole pixels, distances kept, nothing left of 0."""
        found = [0] * len(middle)
        least = 0
        for layer in self._grid.layers:
            for n, item in enumerate(layer):
                found[item] = round(middle[item])
                if n:
                    apart = self._apart(layer[n - 1], item)
                    found[item] = max(found[item], found[layer[n - 1]] + _up(apart))
                least = min(least, found[item] - _up(self._width[item] / 2))
        return [at - least for at in found]

    def _straightened(self, middle: list[int]) -> list[int]:
        """Neighbours that are almost below each other are exactly so: one bend is easier to follow
        than many small ones. First others make room for lines of boxes, then there is no more room
        than there is."""
        lines = self._main_lines()
        wishes: dict[int, int] = {}
        for line in lines:
            for run in _runs(line, middle, self._grid.boxes):
                at = _median([middle[item] - shift for item, shift in run])
                if any(item < self._grid.boxes for item, _ in run):
                    wishes.update({item: at + shift for item, shift in run})
        moved = [float(at) for at in middle]
        for layer in self._grid.layers:
            shifts = self._shifts(layer)
            wanted = [
                wishes.get(item, middle[item]) - shift
                for item, shift in zip(layer, shifts, strict=True)
            ]
            weights = [1000.0 if item in wishes else 1.0 for item in layer]
            for item, to, shift in zip(layer, _pooled(wanted, weights), shifts, strict=True):
                moved[item] = to + shift
        middle = self._whole(moved)
        for line in lines:
            for run in _runs(line, middle, self._grid.boxes, self._room(middle)):
                rooms = [self._room(middle)(item, shift) for item, shift in run]
                low, high = max(low for low, _ in rooms), min(high for _, high in rooms)
                at = _median([middle[item] - shift for item, shift in run])
                for item, shift in run:
                    middle[item] = min(max(at, low), high) + shift
        return middle

    def _room(self, middle: Sequence[int]) -> _Room:
        """From where to where an item can be moved between its neighbours, less a shift."""

        def room(item: int, shift: int) -> tuple[int, int]:
            layer, n = self._grid.layers[self._grid.layer[item]], self._place[item]
            low, high = _up(self._width[item] / 2), middle[item] + 2 * _BEND
            if n:
                low = middle[layer[n - 1]] + _up(self._apart(layer[n - 1], item))
            if n + 1 < len(layer):
                high = middle[layer[n + 1]] - _up(self._apart(item, layer[n + 1]))
            return low - shift, high - shift

        return room

    def _main_lines(self) -> list[list[tuple[int, int]]]:
        """Items along edges that are the heaviest at both of their ends, each with its distance
        from the first for the edges to be vertical."""
        below = [_heaviest(near) for near in self._below]
        above = [_heaviest(near) for near in self._above]
        found = []
        for layer in self._grid.layers:
            for item in layer:
                upper = above[item]
                if upper is not None and _is(below, upper, item):
                    continue
                line, shift, at = [(item, 0)], 0.0, below[item]
                while at is not None and _is(above, at, line[-1][0]):
                    shift -= at[1]
                    line.append((at[0], round(shift)))
                    at = below[at[0]]
                if len(line) > 1:
                    found.append(line)
        return found


def _heaviest(near: Sequence[_Near]) -> _Near | None:
    """Unless two are."""
    most = max((weight for _, _, weight in near), default=0)
    heaviest = [one for one in near if one[2] == most]
    return heaviest[0] if len(heaviest) == 1 else None


def _is(heaviest: Sequence[_Near | None], near: _Near, item: int) -> bool:
    """The heaviest edge of ``near`` on its other side leads to ``item``."""
    found = heaviest[near[0]]
    return found is not None and found[0] == item


def _runs(
    line: Sequence[tuple[int, int]], middle: Sequence[int], boxes: int, room: _Room | None = None
) -> list[list[tuple[int, int]]]:
    """Parts of a line that can be straight: that bend little, or are lines of places only."""
    found: list[list[tuple[int, int]]] = []
    low, high = 0, 0
    for item, shift in line:
        own = room(item, shift) if room else (-_FAR, _FAR)
        if found:
            begin, by = found[-1][0]
            bend = abs(middle[item] - shift - (middle[begin] - by))
            fits = max(low, own[0]) <= min(high, own[1])
            if fits and (bend <= _BEND or min(item, begin) >= boxes):
                low, high = max(low, own[0]), min(high, own[1])
                found[-1].append((item, shift))
                continue
        low, high = own
        found.append([(item, shift)])
    return [run for run in found if len(run) > 1]


def _median(values: Sequence[int]) -> int:
    return sorted(values)[len(values) // 2]


def _settle(
    layer: Sequence[int],
    shifts: Sequence[float],
    beside: Sequence[Sequence[_Near]],
    middle: list[float],
) -> float:
    """Moves a layer to the least weighted sum of squared distances from what each item's neighbours
    wish, under the order and the least distances; how far an item moved at most."""
    wishes, weights = [], []
    for item, shift in zip(layer, shifts, strict=True):
        mean = weight = 0.0
        for other, by, heavy in beside[item]:
            mean += (middle[other] + by) * heavy
            weight += heavy
        wishes.append((mean / weight if weight else middle[item]) - shift)
        weights.append(weight or 0.05)
    moved = 0.0
    for item, at, shift in zip(layer, _pooled(wishes, weights), shifts, strict=True):
        moved = max(moved, abs(middle[item] - at - shift))
        middle[item] = at + shift
    return moved


def _pooled(wishes: Sequence[float], weights: Sequence[float]) -> list[float]:
    """Numbers that do not fall, with the least weighted sum of squared distances from ``wishes``
    (pool adjacent violators)."""
    pools: list[tuple[float, float, int]] = []  # mean, weight, items
    for mean, weight in zip(wishes, weights, strict=True):
        items = 1
        while pools and pools[-1][0] >= mean:
            at, heavier, more = pools.pop()
            mean = (mean * weight + at * heavier) / (weight + heavier)
            weight, items = weight + heavier, items + more
        pools.append((mean, weight, items))
    return [mean for mean, _, items in pools for _ in range(items)]


class _Lines:
    """Vertical positions, ports and routes."""

    def __init__(
        self,
        grid: Grid,
        boxes: Sequence[Box],
        links: Sequence[Link],
        spacing: Spacing,
        middle: Sequence[int],
    ) -> None:
        self._grid, self._boxes, self._links = grid, boxes, links
        self._spacing, self._middle = spacing, middle
        self._left = [middle[n] - _up(box.width / 2) for n, box in enumerate(boxes)]
        self._ways = [self._way(n, link) for n, link in enumerate(links)]
        self._leave = self._ports(leaving=True)
        self._enter = self._ports(leaving=False)
        self._turns = self._turn_depths()
        self._top, self._bottom, self._height = self._bands()

    def layout(self) -> Layout:
        corners = tuple(
            (self._left[n], self._top[self._grid.layer[n]]) for n in range(len(self._boxes))
        )
        routes = tuple(self._route(n) for n in range(len(self._links)))
        right = [self._left[n] + box.width for n, box in enumerate(self._boxes)]
        right += [at + self._spacing.line for at in self._middle[len(self._boxes) :]]
        return Layout(
            width=max(right, default=0),
            height=self._height,
            corners=corners,
            layers=tuple(self._grid.layer[: len(self._boxes)]),
            routes=routes,
        )

    def _way(self, number: int, link: Link) -> list[int]:
        """Places between its ends, from the source on."""
        top, bottom = self._grid.layer[link.source], self._grid.layer[link.target]
        if number in self._grid.back:
            return [self._grid.lanes[link.target, n] for n in range(top, bottom - 1, -1)]
        return [self._grid.chains[link.target, n] for n in range(top + 1, bottom)]

    def _ports(self, leaving: bool) -> list[int]:
        """Where each link leaves, or enters. Those that share the last place share the port."""
        ends: list[dict[int, list[int]]] = [{} for _ in self._boxes]
        for number, link in enumerate(self._links):
            way = self._ways[number]
            if leaving:  # each has its own
                ends[link.source][-1 - number] = [number]
            else:
                ends[link.target].setdefault(way[-1] if way else link.source, []).append(number)
        found = [0] * len(self._links)
        for n, box in enumerate(self._boxes):
            one = box.leave if leaving else box.enter
            groups = sorted(ends[n].values(), key=lambda group: self._aim(group[0], leaving))
            for group, at in zip(groups, self._spread(groups, box, leaving), strict=True):
                for number in group:
                    found[number] = self._left[n] + (at if one is None else one)
        return found

    def _spread(self, groups: Sequence[Sequence[int]], box: Box, leaving: bool) -> list[int]:
        """From the left border. The heaviest is in the middle, so that it can go straight."""
        weights = [
            max((self._links[n].weight, n not in self._grid.back) for n in group)
            for group in groups
        ]
        pitch = box.pitch if leaving else min(box.pitch, 18)
        room, last = box.width // 2 - _CORNER, len(groups) - 1
        heaviest = max(weights, default=(0, False))
        if weights.count(heaviest) == 1:
            at = weights.index(heaviest)
            left = min(pitch, room // at) if at else 0
            right = min(pitch, room // (last - at)) if last > at else 0
            steps = [(n - at) * (left if n < at else right) for n in range(len(groups))]
            return [box.width // 2 + max(step, -room) for step in steps]
        pitch = min(pitch, 2 * room // last) if last > 0 else 0
        return [box.width // 2 + n * pitch - last * pitch // 2 for n in range(len(groups))]

    def _aim(self, number: int, leaving: bool) -> tuple[int, int]:
        """Where a link comes from or goes to: ports stand in this order."""
        way, link = self._ways[number], self._links[number]
        if number in self._grid.back:
            return self._middle[way[0] if leaving else way[-1]], 1
        if leaving:
            other = way[0] if way else link.target
            return self._middle[other], 0
        return self._middle[way[-1] if way else link.source], 0

    def _turn_depths(self) -> dict[tuple[int, int], int]:
        """(gap, target) -> how far from the layer lines of back edges to the target turn. Gap n is
        above layer n. Narrow ones turn close to their boxes."""
        wide: dict[tuple[int, int], int] = {}
        for number in sorted(self._grid.back):
            link, way = self._links[number], self._ways[number]
            for end, lane, gap in (
                (link.source, way[0], self._grid.layer[link.source] + 1),
                (link.target, way[-1], self._grid.layer[link.target]),
            ):
                span = abs(self._middle[lane] - self._middle[end])
                wide[gap, link.target] = max(wide.get((gap, link.target), 0), span)
        found: dict[tuple[int, int], int] = {}
        used: dict[int, int] = {}
        for gap, target in sorted(wide, key=lambda key: (key[0], wide[key], key[1])):
            found[gap, target] = self._spacing.turn + 6 * used.get(gap, 0)
            used[gap] = used.get(gap, 0) + 1
        return found

    def _bands(self) -> tuple[list[int], list[int], int]:
        """Top and bottom of each layer, and the height of all."""
        layers = self._grid.layers
        gaps = [0] + [self._spacing.gap] * (len(layers) - 1) + [0] if layers else []
        for gap, found in enumerate(self._grid.pairs[:-1], start=1):
            wide = max((abs(self._middle[a] - self._middle[b]) for a, b, _ in found), default=0)
            gaps[gap] = max(gaps[gap], min(110, self._spacing.gap + wide // 12))
        deepest: dict[int, int] = {}
        for (gap, _), depth in self._turns.items():
            deepest[gap] = max(deepest.get(gap, 0), depth)
        for gap, depth in deepest.items():
            gaps[gap] = max(gaps[gap], 2 * depth + self._spacing.turn)
        tops, bottoms, at = [], [], 0
        for n, layer in enumerate(layers):
            at += gaps[n]
            tops.append(at)
            at += max((self._boxes[i].height for i in layer if i < len(self._boxes)), default=0)
            bottoms.append(at)
        return tops, bottoms, at + (gaps[-1] if gaps else 0)

    def _route(self, number: int) -> Route:
        link, way = self._links[number], self._ways[number]
        layer = self._grid.layer[link.source]
        start = (self._leave[number], self._top[layer] + self._boxes[link.source].height)
        pen = _Pen(start)
        end = (self._enter[number], self._top[self._grid.layer[link.target]])
        if number in self._grid.back:
            target = self._grid.layer[link.target]
            low = self._bottom[layer] + self._turns[layer + 1, link.target]
            high = self._top[target] - self._turns[target, link.target]
            lane = self._middle[way[0]]
            pen.corner((start[0], low), (lane, low))
            pen.corner((lane, low), (lane, self._bottom[layer]))
            for item in way:
                at = self._grid.layer[item]
                pen.curve((self._middle[item], self._bottom[at]))
                pen.line((self._middle[item], self._top[at]))
            lane = self._middle[way[-1]]
            pen.corner((lane, high), (end[0], high))
            pen.corner((end[0], high), end)
            pen.line(end)
            return Route(start, pen.commands, back=True)
        pen.line((start[0], self._bottom[layer]))
        for item in way:
            at = self._grid.layer[item]
            pen.curve((self._middle[item], self._top[at]))
            pen.line((self._middle[item], self._bottom[at]))
        pen.curve(end)
        return Route(start, pen.commands)


class _Pen:
    """Draws; a line that goes on straight is one line."""

    def __init__(self, start: Point) -> None:
        self._at = self._before = start
        self._commands: list[Command] = []

    @property
    def commands(self) -> tuple[Command, ...]:
        return tuple(self._commands) or (("L", self._at),)

    def line(self, to: Point) -> None:
        if to == self._at:
            return
        last = self._commands[-1][0] if self._commands else ""
        if last == "L" and self._before[0] == self._at[0] == to[0]:
            self._commands[-1] = ("L", to)
        else:
            self._commands.append(("L", to))
            self._before = self._at
        self._at = to

    def curve(self, to: Point) -> None:
        """Vertical at both ends."""
        if to[0] == self._at[0]:
            self.line(to)
            return
        half = (self._at[1] + to[1]) // 2
        self._commands.append(("C", (self._at[0], half, to[0], half, *to)))
        self._at = to

    def corner(self, at: Point, towards: Point) -> None:
        """A line to ``at`` that turns there, rounded, into the direction of ``towards``."""
        begin, end = _short(at, self._at), _short(at, towards)
        self.line(begin)
        if end != self._at:
            self._commands.append(("Q", (*at, *end)))
            self._at = end


def _short(corner: Point, towards: Point) -> Point:
    """A point a little from the corner, at most half the way."""

    def step(distance: int) -> int:
        length = min(_RADIUS, abs(distance) // 2)
        return length if distance > 0 else -length

    return corner[0] + step(towards[0] - corner[0]), corner[1] + step(towards[1] - corner[1])


def _offset(port: int | None, box: Box) -> float:
    """Of the port from the middle."""
    return 0.0 if port is None else port - box.width / 2


def _up(value: float) -> int:
    return -int(-value // 1)
