"""The tree of a service's activations for its figures, with folds.

A large function has most of its blocks beside the worst path. There, blocks and calls that it does
not take and that edges connect are folded into one item, which has a figure of its own like an
activation that is called.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from wcetchar.model.path_model import OUTSIDE
from wcetchar.report.paths_boxes import Group
from wcetchar.report.paths_view import ActivationRow, EdgeRow, PathRows


@dataclass(frozen=True)
class Tree:
    """``activations``: those of the rows, with other parents, then the folds; ``home``: of each
    node; ``blocks``: of each activation, with what is in it: how many, and whether one is seen."""

    activations: tuple[ActivationRow, ...]
    home: tuple[int, ...]
    blocks: tuple[tuple[int, bool], ...]


def tree_of(rows: PathRows, groups: Sequence[Group], edges: Sequence[EdgeRow], most: int) -> Tree:
    """``most``: items of an activation from which on it has folds."""
    activations = list(rows.activations)
    home = [block.activation for block in rows.blocks]
    items = [0] * len(activations)
    for group in groups:
        items[group.activation] += 1
    for row in rows.activations:
        if row.parent is not None:
            items[row.parent] += 1
    large = {n for n, count in enumerate(items) if count > most}
    if rows.has_flow and large:
        for part in _parts(rows, groups, edges, large):
            _fold(rows, groups, part, activations, home)
    return Tree(tuple(activations), tuple(home), tuple(_blocks(rows, activations, home)))


_Item = tuple[str, int]


def _parts(
    rows: PathRows, groups: Sequence[Group], edges: Sequence[EdgeRow], large: set[int]
) -> list[list[_Item]]:
    """Groups and activations off the worst path that edges connect, two or more."""
    group_of = {n: number for number, group in enumerate(groups) for n in group.blocks}
    beside: dict[_Item, list[_Item]] = {}
    for number, group in enumerate(groups):
        if group.activation in large and not rows.blocks[group.blocks[0]].on_path:
            beside["group", number] = []
    for row in rows.activations:
        if row.parent in large and not row.entered:
            beside["call", row.number] = []

    def item_of(node: int) -> _Item | None:
        """The item of a large activation that a node is in."""
        if node == OUTSIDE:
            return None
        at, inside = rows.blocks[node].activation, None
        while at not in large:
            inside, parent = at, rows.activations[at].parent
            if parent is None:
                return None
            at = parent
        return ("group", group_of[node]) if inside is None else ("call", inside)

    for edge in edges:
        source, target = item_of(edge.source), item_of(edge.target)
        if source is None or target is None or source == target:
            continue
        if source in beside and target in beside:
            beside[source].append(target)
            beside[target].append(source)
    found, met = [], set()
    for first in beside:
        if first in met:
            continue
        part, stack = [], [first]
        met.add(first)
        while stack:
            item = stack.pop()
            part.append(item)
            for other in beside[item]:
                if other not in met and _parent(rows, groups, other) == _parent(
                    rows, groups, first
                ):
                    met.add(other)
                    stack.append(other)
        if len(part) > 1:
            found.append(sorted(part))
    return found


def _parent(rows: PathRows, groups: Sequence[Group], item: _Item) -> int | None:
    kind, number = item
    return groups[number].activation if kind == "group" else rows.activations[number].parent


def _fold(
    rows: PathRows,
    groups: Sequence[Group],
    part: Sequence[_Item],
    activations: list[ActivationRow],
    home: list[int],
) -> None:
    number, parent = len(activations), _parent(rows, groups, part[0])
    assert parent is not None
    name = "beside the worst path"
    calls = (*activations[parent].calls, name)
    zero = Fraction(0)
    activations.append(ActivationRow(number, parent, name, calls, 0, zero, zero, zero))
    for kind, one in part:
        if kind == "call":
            activations[one] = replace(activations[one], parent=number)
        else:
            for block in groups[one].blocks:
                home[block] = number


def _blocks(
    rows: PathRows, activations: Sequence[ActivationRow], home: Sequence[int]
) -> list[tuple[int, bool]]:
    counts, seen = [0] * len(activations), [False] * len(activations)
    for block in rows.blocks:
        at: int | None = home[block.number]
        while at is not None:
            counts[at] += 1
            seen[at] = seen[at] or block.seen
            at = activations[at].parent
    return list(zip(counts, seen, strict=True))
