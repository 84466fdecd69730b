"""Layers of a drawing and the order in each of them; ``layered`` says how."""

from __future__ import annotations

import heapq
from bisect import bisect_right, insort
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from wcetchar.report.layered import Box, Link

SWEEPS: Final = 12
BELOW: Final = 32
"""Weight with which what stands behind a loop stands below it."""
WORK: Final = 60_000
"""Items times sweeps are kept below this, so that a large drawing takes seconds."""

_Pair = tuple[int, int]
_Boxes = frozenset[int]
_Asides = Sequence[Sequence[tuple[int, _Boxes, bool]]]
"""For each layer: an item, the items that it stands beside, and whether right of them."""


@dataclass
class Grid:
    """Items in layers. Items 0..n-1 are the boxes; the others are places that edges pass.

    Attributes:
        layers: items from left to right.
        layer: of each item.
        chains: (target, layer) -> item that forward edges to ``target`` pass.
        lanes: the same of back edges.
        back: numbers of the links that are back edges, self-loops among them.
        behind: (last box of a loop, box that the loop is left to) -> boxes of the loop that lead
            there; the second stands below the first.
        pairs: for each gap below a layer, (upper item, lower item, weight).
    """

    boxes: int
    layers: list[list[int]]
    layer: list[int]
    chains: dict[tuple[int, int], int] = field(default_factory=dict)
    lanes: dict[tuple[int, int], int] = field(default_factory=dict)
    back: frozenset[int] = frozenset()
    behind: dict[_Pair, _Boxes] = field(default_factory=dict)
    pairs: list[list[tuple[int, int, int]]] = field(default_factory=list)


def grid_of(
    boxes: Sequence[Box], links: Sequence[Link], first: int | None, last: int | None
) -> Grid:
    back, order = _back_edges(len(boxes), links, first)
    behind = _behind(links, back, order)
    order = _topological(order, links, back, behind)
    layer = _layers(len(boxes), links, back, order, behind, first, last)
    grid = Grid(len(boxes), [[] for _ in range(max(layer, default=-1) + 1)], layer, back=back)
    grid.behind = behind
    _add_places(grid, links)
    _arrange(grid, links, order)
    return grid


def _back_edges(
    count: int, links: Sequence[Link], first: int | None
) -> tuple[frozenset[int], list[int]]:
    """Links that close a cycle, and the boxes in an order in which all others lead forward."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    entered = [False] * count
    for number, link in enumerate(links):
        leaving[link.source].append(number)
        entered[link.target] = entered[link.target] or link.source != link.target
    for numbers in leaving:
        numbers.sort(key=lambda n: -links[n].weight)
    back: set[int] = set()
    state = [0] * count  # 1: on the way, 2: done
    order: list[int] = []
    heads = [] if first is None else [first]
    heads += [n for n in range(count) if not entered[n]]
    for root in [*heads, *range(count)]:
        if state[root]:
            continue
        state[root] = 1
        stack = [(root, iter(leaving[root]))]
        while stack:
            node, rest = stack[-1]
            for number in rest:
                target = links[number].target
                if state[target] == 1:
                    back.add(number)
                elif state[target] == 0:
                    state[target] = 1
                    stack.append((target, iter(leaving[target])))
                    break
            else:
                state[node] = 2
                order.append(node)
                stack.pop()
    order.reverse()
    return frozenset(back), order


def _behind(
    links: Sequence[Link], back: frozenset[int], order: Sequence[int]
) -> dict[_Pair, _Boxes]:
    """What stands behind loops: so the path that goes on after a loop is led past its body and
    back, and a service with many loops does not become wide."""
    place = {node: n for n, node in enumerate(order)}
    entering: dict[int, list[int]] = {}
    leaving: dict[int, list[int]] = {}
    for number, link in enumerate(links):
        entering.setdefault(link.target, []).append(link.source)
        if number not in back:
            leaving.setdefault(link.source, []).append(link.target)
    ends: dict[int, list[int]] = {}
    for number in sorted(back):
        ends.setdefault(links[number].target, []).append(links[number].source)
    found: dict[tuple[int, int], set[int]] = {}
    for header, sources in ends.items():
        body, stack = {header}, list(sources)
        while stack:
            node = stack.pop()
            # What stands before the header is of a cycle with several entries, and not led round.
            if node not in body and place[node] > place[header]:
                body.add(node)
                stack += entering.get(node, [])
        last = [node for node in sorted(body) if not body.intersection(leaving.get(node, ()))]
        for node in sorted(body):
            for after in leaving.get(node, []):
                for end in last if after not in body else ():
                    if end != node:
                        found.setdefault((end, after), set()).add(node)
    return {pair: frozenset(nodes) for pair, nodes in found.items()}


def _layers(
    count: int,
    links: Sequence[Link],
    back: frozenset[int],
    order: Sequence[int],
    behind: Iterable[_Pair],
    first: int | None,
    last: int | None,
) -> list[int]:
    entering: list[list[int]] = [[] for _ in range(count)]
    leaving: list[list[int]] = [[] for _ in range(count)]
    for number, link in enumerate(links):
        if number not in back:
            entering[link.target].append(link.source)
            leaving[link.source].append(link.target)
    for end, after in behind:
        entering[after].append(end)
        leaving[end].append(after)
    layer = [0] * count
    least = 0 if first is None else 1
    for node in order:
        layer[node] = max([0 if node == first else least, *(layer[n] + 1 for n in entering[node])])
    if last is not None:
        layer[last] = max((layer[n] for n in range(count) if n != last), default=-1) + 1
    for node in reversed(order):  # what only leads somewhere stands close above it
        if node != first and leaving[node] and len(leaving[node]) > len(entering[node]):
            layer[node] = min(layer[n] for n in leaving[node]) - 1
    return layer


def _topological(
    order: Sequence[int], links: Sequence[Link], back: frozenset[int], behind: dict[_Pair, _Boxes]
) -> list[int]:
    """``order`` as far as what stands behind loops allows. Where that goes round in a circle, as
    with cycles of several entries, something of it is given up, and removed from ``behind``."""
    place = {node: n for n, node in enumerate(order)}
    after: dict[int, list[int]] = {}
    wanted: dict[int, set[int]] = {}
    missing = [0] * len(order)
    for number, link in enumerate(links):
        if number not in back:
            after.setdefault(link.source, []).append(link.target)
            missing[link.target] += 1
    led: dict[int, list[int]] = {}
    for end, node in behind:
        led.setdefault(end, []).append(node)
        wanted.setdefault(node, set()).add(end)
    ready = [place[node] for node in order if not missing[node] and not wanted.get(node)]
    waiting = {node for node in order if not missing[node] and wanted.get(node)}
    heapq.heapify(ready)
    found = []
    while ready or waiting:
        if not ready:
            node = min(waiting, key=place.__getitem__)
            waiting.remove(node)
            for end in sorted(wanted.pop(node)):
                del behind[end, node]
            heapq.heappush(ready, place[node])
        node = order[heapq.heappop(ready)]
        found.append(node)
        for other in after.get(node, ()):
            missing[other] -= 1
            if not missing[other]:
                if wanted.get(other):
                    waiting.add(other)
                else:
                    heapq.heappush(ready, place[other])
        for other in led.get(node, ()):
            if (node, other) in behind:
                wanted[other].remove(node)
                if not wanted[other] and other in waiting:
                    waiting.remove(other)
                    heapq.heappush(ready, place[other])
    return found


def _add_places(grid: Grid, links: Sequence[Link]) -> None:
    pairs: list[dict[tuple[int, int], int]] = [{} for _ in grid.layers]

    def place(kind: dict[tuple[int, int], int], target: int, layer: int) -> int:
        if (target, layer) not in kind:
            kind[target, layer] = len(grid.layer)
            grid.layer.append(layer)
        return kind[target, layer]

    def pair(upper: int, lower: int, weight: int) -> None:
        found = pairs[grid.layer[upper]]
        found[upper, lower] = max(found.get((upper, lower), 0), weight)

    past: set[_Pair] = set()
    for (end, after), nodes in grid.behind.items():
        if grid.layer[after] == grid.layer[end] + 1:
            pair(end, after, BELOW)
            past.update((node, after) for node in nodes)
    for number, link in enumerate(links):
        top, bottom = grid.layer[link.source], grid.layer[link.target]
        if number in grid.back:
            lane = [place(grid.lanes, link.target, n) for n in range(bottom, top + 1)]
            for upper, lower in pairwise(lane):
                pair(upper, lower, 4)
            continue
        way = [place(grid.chains, link.target, n) for n in range(top + 1, bottom)]
        way = [link.source, *way, link.target]
        for upper, lower in pairwise(way):
            places = (upper >= grid.boxes) + (lower >= grid.boxes)
            light = places == 1 and (link.source, link.target) in past
            pair(upper, lower, 1 if light else link.weight * (4 if places == 2 else 1))
    grid.pairs = [[(a, b, w) for (a, b), w in found.items()] for found in pairs]


def _arrange(grid: Grid, links: Sequence[Link], order: Sequence[int]) -> None:
    count = len(grid.layer)
    above: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    below: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    for found in grid.pairs:
        for upper, lower, weight in found:
            below[upper].append((lower, weight))
            above[lower].append((upper, weight))
    layers = _first_order(grid, below, order)
    asides = _asides(grid, links)
    layers = _put_aside(layers, asides)
    best, fewest = layers, _crossings(grid, layers)
    for sweep in range(max(2, min(SWEEPS, WORK // (count + 1)))):
        if not fewest:
            break
        down = sweep % 2 == 0
        layers = _swept(layers, above if down else below, down)
        layers = _put_aside(layers, asides)
        crossings = _crossings(grid, layers)
        if crossings < fewest:
            best, fewest = layers, crossings
    grid.layers = best


def _first_order(
    grid: Grid, below: Sequence[Sequence[tuple[int, int]]], order: Sequence[int]
) -> list[list[int]]:
    """As a walk from the top meets them, heavy edges first."""
    layers: list[list[int]] = [[] for _ in grid.layers]
    met = [False] * len(grid.layer)
    for root in [*order, *range(len(grid.layer))]:
        stack = [root]
        while stack:
            item = stack.pop()
            if met[item]:
                continue
            met[item] = True
            layers[grid.layer[item]].append(item)
            stack += [n for n, _ in sorted(below[item], key=lambda pair: pair[1])]
    return layers


def _swept(
    layers: Sequence[list[int]], beside: Sequence[Sequence[tuple[int, int]]], down: bool
) -> list[list[int]]:
    """Each layer in the order of the weighted mean of where its neighbours stand."""
    swept = list(layers)
    place: dict[int, float] = {}
    numbers = range(len(layers)) if down else range(len(layers) - 1, -1, -1)
    for number in numbers:
        wish: dict[int, float] = {}
        for at, item in enumerate(swept[number]):
            near = [(place[n], w) for n, w in beside[item] if n in place]
            weight = sum(w for _, w in near)
            # What has no neighbours there stays beside what it stood beside.
            own = at / max(1, len(swept[number]) - 1)
            wish[item] = sum(p * w for p, w in near) / weight if weight else own
        swept[number] = sorted(swept[number], key=wish.__getitem__)
        many = max(1, len(swept[number]) - 1)
        place.update({item: at / many for at, item in enumerate(swept[number])})
    return swept


def _asides(grid: Grid, links: Sequence[Link]) -> _Asides:
    """What stands beside loops, inner ones first: right of them their back edges' lane, left of
    them the lines that are led past."""
    entering: dict[int, list[int]] = {}
    ends: dict[int, list[int]] = {}
    for number, link in enumerate(links):
        entering.setdefault(link.target, []).append(link.source)
        if number in grid.back:
            ends.setdefault(link.target, []).append(link.source)
    lanes = _by_target(grid.lanes)
    chains = _by_target(grid.chains)
    bodies: list[tuple[int, set[int]]] = []
    for header, sources in ends.items():
        body = {header}
        stack = list(sources)
        while stack:
            node = stack.pop()
            if node not in body and grid.layer[node] >= grid.layer[header]:
                body.add(node)
                stack += entering.get(node, [])
        bodies.append((header, body))
    bodies.sort(key=lambda one: len(one[1]))
    past: dict[int, set[int]] = {}
    for (_, after), nodes in grid.behind.items():
        for node in nodes:
            past.setdefault(node, set()).add(after)
    found: list[list[tuple[int, _Boxes, bool]]] = [[] for _ in grid.layers]
    for header, body in bodies:
        members = set(body)
        for node in body:
            members.update(item for _, item in chains.get(node, ()))
            if node != header:
                members.update(item for _, item in lanes.get(node, ()))
        whole = frozenset(members)
        for layer, item in lanes[header]:
            found[layer].append((item, whole, True))
        bottom = max(grid.layer[node] for node in body)
        for after in sorted({a for node in body for a in past.get(node, ())} - body):
            for layer, item in chains.get(after, ()):
                if grid.layer[header] < layer <= bottom:
                    found[layer].append((item, whole, False))
    return found


def _by_target(places: Mapping[tuple[int, int], int]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for (target, layer), item in sorted(places.items()):
        found.setdefault(target, []).append((layer, item))
    return found


def _put_aside(layers: Sequence[Sequence[int]], asides: _Asides) -> list[list[int]]:
    found = []
    for items, beside in zip(layers, asides, strict=True):
        layer = list(items)
        for item, members, right in beside:
            layer.remove(item)
            places = [n for n, other in enumerate(layer) if other in members]
            if right:
                layer.insert(places[-1] + 1 if places else len(layer), item)
            else:
                layer.insert(places[0] if places else 0, item)
        found.append(layer)
    return found


def _crossings(grid: Grid, layers: Sequence[Sequence[int]]) -> int:
    """How often two edges between neighbouring layers cross."""
    place = [0] * len(grid.layer)
    for layer in layers:
        for at, item in enumerate(layer):
            place[item] = at
    total = 0
    for found in grid.pairs:
        seen: list[int] = []
        for _, lower in sorted((place[a], place[b]) for a, b, _ in found):
            total += len(seen) - bisect_right(seen, lower)
            insort(seen, lower)
    return total
