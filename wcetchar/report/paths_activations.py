"""Which activation of a function each node of a path model belongs to.

A path model has nodes in contexts, but does not name the contexts; for people they are found again.
A walk from the entries keeps the activations that are open: an edge within a function stays in its
activation; one to the first instruction of a function is a call and opens one; any other one
returns to the innermost open activation of the function that it leads to. Only what is drawn
together depends on it, no figure does.
"""

from __future__ import annotations

from dataclasses import dataclass

from wcetchar.model.path_model import OUTSIDE, PathModel


@dataclass(frozen=True)
class Activation:
    """``parent``: number of the activation that it was entered from, a smaller one."""

    function: str
    parent: int | None


def activations_of(model: PathModel) -> tuple[tuple[Activation, ...], tuple[int, ...]]:
    """All of them, parents first, and the number of each node's."""
    walk = _Walk(model)
    starts = [model.edges[n].target for n in model.entries]
    for start in [*starts, *range(len(model.nodes))]:  # what no entry reaches comes last
        walk.run(start)
    return walk.numbered()


class _Walk:
    def __init__(self, model: PathModel) -> None:
        self._functions = [node.place.function for node in model.nodes]
        self._begins = [node.place.offset == 0 for node in model.nodes]
        self._following: list[list[int]] = [[] for _ in model.nodes]
        for edge in model.edges:
            if OUTSIDE not in (edge.source, edge.target):
                self._following[edge.source].append(edge.target)
        self._of: list[int | None] = [None] * len(model.nodes)
        self._found: list[Activation] = []
        self._same: list[int] = []  # smaller number that an activation turned out to be
        self._opened: dict[tuple[int | None, str, int], int] = {}

    def run(self, start: int) -> None:
        if start == OUTSIDE or self._of[start] is not None:
            return
        stack = [(start, self._open(None, start))]
        while stack:
            node, activation = stack.pop()
            known = self._of[node]
            if known is not None:
                self._join(known, activation)
                continue
            self._of[node] = activation
            for target in reversed(self._following[node]):
                if self._of[target] is None or self._functions[target] == self._functions[node]:
                    stack.append((target, self._after(node, activation, target)))

    def numbered(self) -> tuple[tuple[Activation, ...], tuple[int, ...]]:
        """Without those that turned out to be another."""
        kept = [n for n in range(len(self._found)) if self._root(n) == n]
        number = {old: new for new, old in enumerate(kept)}
        activations = tuple(
            Activation(one.function, None if one.parent is None else number[self._root(one.parent)])
            for one in (self._found[n] for n in kept)
        )
        return activations, tuple(number[self._root(n)] for n in self._of if n is not None)

    def _after(self, node: int, activation: int, target: int) -> int:
        function = self._functions[target]
        if function == self._functions[node]:
            return activation
        if not self._begins[target]:
            outer: int | None = activation
            while outer is not None:
                if self._found[outer].function == function:
                    return outer
                outer = self._found[outer].parent
            return self._open(None, target)
        return self._open(activation, target)

    def _open(self, parent: int | None, node: int) -> int:
        parent = None if parent is None else self._root(parent)
        key = (parent, self._functions[node], node)
        if key not in self._opened:
            self._opened[key] = len(self._found)
            self._found.append(Activation(self._functions[node], parent))
            self._same.append(len(self._same))
        return self._opened[key]

    def _join(self, one: int, other: int) -> None:
        """An edge within a function leads from one to the other. Those entered from different
        activations stay apart: the node is one that calls of both share."""
        one, other = self._root(one), self._root(other)
        if one == other or self._found[one].function != self._found[other].function:
            return
        if self._found[one].parent == self._found[other].parent:
            self._same[max(one, other)] = min(one, other)

    def _root(self, number: int) -> int:
        while self._same[number] != number:
            number = self._same[number]
        return number
