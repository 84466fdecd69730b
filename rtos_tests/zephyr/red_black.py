"""Zephyr's red/black tree as a model that counts what it does.

The facts are those of lib/utils/rb.c and of the comparison in kernel/priority_queues.c of Zephyr
3.7: which node is compared with which, when a node is recoloured, when two change places. The model
says for each of them that it happened, as an *event* with attributes: which way was taken, and from
where. `sums` adds events up in each way in which code can be shared or split: over all values of
any of the attributes. Whether that is fine enough for what one compiler made of it,
`check_trees.py` finds out, by executing it.

Left out is what z_priq_rb_add does every 2**32 insertions, to number the threads anew.

Trees are written in preorder: B or R and both subtrees, a point for none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cache
from itertools import product

Event = tuple[str, ...]
Events = Counter[Event]
Same = Callable[[int], bool]
"""Whether the node with this number from the left has the priority that is looked for."""

LEFT, RIGHT = 0, 1
_SIDES = ("left", "right")


@dataclass(slots=True, eq=False)
class Node:
    black: bool
    number: int
    """From the left; of a node that is inserted, where it goes."""
    below: list[Node | None] = field(default_factory=lambda: [None, None])


# ---- all trees -----------------------------------------------------------------------------------


@cache
def _subtrees(nodes: int, black: int, red: bool) -> tuple[str, ...]:
    """All with so many black nodes on each path; `red`: the root may be red."""
    if nodes == 0:
        return (".",) if black == 0 else ()
    found: list[str] = []
    for left in range(nodes):
        for colour, below, inner in (("B", black - 1, True), ("R", black, False)):
            if below >= 0 and (colour == "B" or red):
                found += [
                    colour + one + other
                    for one in _subtrees(left, below, inner)
                    for other in _subtrees(nodes - 1 - left, below, inner)
                ]
    return tuple(found)


def trees(nodes: int) -> list[str]:
    """Every tree of so many nodes that obeys the rules, whether or not it can come up."""
    return [tree for black in range(nodes + 1) for tree in _subtrees(nodes, black, False)]


def size(tree: str) -> int:
    return len(tree) - tree.count(".")


# ---- what the functions do -----------------------------------------------------------------------


class Tree:
    """A tree, and the events of all that was done with it."""

    def __init__(self, shape: str) -> None:
        letters = iter(shape)
        numbers = iter(range(len(shape)))

        def grow(depth: int) -> Node | None:
            letter = next(letters)
            if letter == ".":
                return None
            self.max_depth = max(self.max_depth, depth)
            left = grow(depth + 1)
            node = Node(letter == "B", next(numbers))
            node.below = [left, grow(depth + 1)]
            return node

        self.max_depth = 0
        """As the kernel keeps it: what the tree's depth was, at most."""
        self.root = grow(1)
        self.events: Events = Counter()

    def _say(self, *event: str) -> None:
        self.events[event] += 1

    def __str__(self) -> str:
        def written(node: Node | None) -> str:
            if node is None:
                return "."
            return "RB"[node.black] + written(node.below[LEFT]) + written(node.below[RIGHT])

        return written(self.root)

    def order(self) -> list[int]:
        def walk(node: Node | None) -> Iterator[int]:
            if node is not None:
                yield from walk(node.below[LEFT])
                yield node.number
                yield from walk(node.below[RIGHT])

        return list(walk(self.root))

    # -- steps that occur in many places; a compiler may keep them as functions of their own

    def _child(self, node: Node, side: int) -> Node | None:
        self._say("child", _SIDES[side])
        return node.below[side]

    def _link(self, node: Node, side: int, child: Node | None) -> None:
        self._say("link", _SIDES[side])
        node.below[side] = child

    def _paint(self, node: Node, black: bool) -> None:
        self._say("paint", "black" if black else "red")
        node.black = black

    def _is_black(self, node: Node) -> bool:
        self._say("look", "black" if node.black else "red")
        return node.black

    def _side(self, parent: Node, child: Node) -> int:
        side = RIGHT if parent.below[RIGHT] is child else LEFT
        self._say("child", _SIDES[RIGHT])
        self._say("side", _SIDES[side])
        return side

    def _goes_left(self, why: str, place: int, at: Node, leads: bool, same: Same) -> bool:
        """Compares with a node; `leads`: at the same number, the left side."""
        left = place < at.number or (leads and place == at.number)
        self._say("compare", why, _SIDES[not left], "same" if same(at.number) else "other")
        return left

    def _find(self, why: str, place: int, node: Node | None, same: Same) -> list[Node]:
        """The way down to a node, or to where it goes."""
        assert self.root is not None
        path = [self.root]
        while path[-1] is not node:
            at = path[-1]
            side = LEFT if self._goes_left(why, place, at, node is None, same) else RIGHT
            below = self._child(at, side)
            self._say("find", why, _SIDES[side], "end" if below is None else "on")
            if below is None:
                return path
            path.append(below)
        self._say("found", why)
        return path

    def _rotate(self, path: list[Node], count: int, why: str) -> None:
        """The last two of `count` nodes of a path change places."""
        parent, child = path[count - 2], path[count - 1]
        side = self._side(parent, child)
        outer, inner = self._child(child, side), self._child(child, 1 - side)
        above = "root"
        if count >= 3:
            at = self._side(path[count - 3], parent)
            above = _SIDES[at]
            self._link(path[count - 3], at, child)
        self._link(child, side, outer)
        self._link(child, 1 - side, parent)
        self._link(parent, side, inner)
        path[count - 2], path[count - 1] = child, parent
        self._say("rotate", why, _SIDES[side], above)

    # -- rb_insert

    def insert(self, place: int, same: Same) -> Node:
        """Inserts a node before that of number `place`."""
        new = Node(False, place)
        self._link(new, LEFT, None)
        self._link(new, RIGHT, None)
        if self.root is None:
            self._say("insert", "first")
            self._paint(new, True)
            self.root, self.max_depth = new, 1
            return new
        path = self._find("insert", place, None, same)
        parent = path[-1]
        side = LEFT if self._goes_left("attach", place, parent, True, same) else RIGHT
        self._link(parent, side, new)
        self._paint(new, False)
        path.append(new)
        self._mend_red(path)
        deeper = len(path) > self.max_depth
        self._say("insert", "deeper" if deeper else "not deeper")
        self.max_depth = max(self.max_depth, len(path))
        self.root = path[0]
        self._renumber()
        return new

    def _mend_red(self, path: list[Node]) -> None:
        count = len(path)
        while count > 1:
            node, parent = path[count - 1], path[count - 2]
            if self._is_black(parent):
                self._say("red", "parent black")
                return
            grand = path[count - 3]
            side = self._side(grand, parent)
            aunt = self._child(grand, 1 - side)
            if aunt is not None and not self._is_black(aunt):
                self._say("red", "recolour", _SIDES[side])
                self._paint(grand, False)
                self._paint(parent, True)
                self._paint(aunt, True)
                count -= 2
                continue
            crooked = self._side(parent, node) != side
            self._say(
                "red",
                "rotate",
                _SIDES[side],
                "crooked" if crooked else "straight",
                "no aunt" if aunt is None else "aunt",
            )
            if crooked:
                self._rotate(path, count, "red inner")
            self._rotate(path, count - 1, "red outer")
            self._paint(path[count - 3], True)
            self._paint(path[count - 2], False)
            return
        self._say("red", "root")
        self._paint(path[0], True)

    # -- rb_remove

    def remove(self, place: int, same: Same) -> None:
        """Takes the node of number `place` out."""
        node = self._nodes()[place]
        path = self._find("remove", place, node, same)
        if self._child(node, LEFT) is not None:
            self._say("remove", "has left")
            if self._child(node, RIGHT) is not None:
                self._swap_down(path, node)
        child = self._child(node, LEFT)
        only = "left"
        if child is None:
            child = self._child(node, RIGHT)
            only = "none" if child is None else "right"
        if len(path) < 2:
            self._say("remove", "root", only)
            self.root = child
            if child is not None:
                self._paint(child, True)
            else:
                self.max_depth = 0
            self._renumber()
            return
        parent = path[-2]
        self._say("remove", "not root", only)
        if child is not None:
            self._link(parent, self._side(parent, node), child)
            # Of a node and its only child one is red: the child.
            assert self._is_black(node)
            assert not self._is_black(child)
            self._paint(child, True)
        elif self._is_black(node):
            self._mend_black(path, node)
        else:
            self._say("remove", "red leaf")
            self._link(parent, self._side(parent, node), None)
        self.root = path[0]
        self._renumber()

    def _swap_down(self, path: list[Node], node: Node) -> None:
        """A node with two children changes places with the one before it."""
        top = len(path)
        low = self._child(node, LEFT)
        assert low is not None
        path.append(low)
        while (below := self._child(low, RIGHT)) is not None:
            self._say("swap", "down")
            low = below
            path.append(low)
        parent = path[-2]
        if top > 1:
            side = self._side(path[top - 2], node)
            self._say("swap", "below", _SIDES[side])
            self._link(path[top - 2], side, low)
        else:
            self._say("swap", "root")
            self.root = low
        if parent is node:
            self._say("swap", "near")
            self._link(node, LEFT, self._child(low, LEFT))
            self._link(low, LEFT, node)
        else:
            self._say("swap", "far")
            self._link(parent, self._side(parent, low), node)
            left = self._child(node, LEFT)
            self._link(node, LEFT, self._child(low, LEFT))
            self._link(low, LEFT, left)
        self._link(low, RIGHT, self._child(node, RIGHT))
        self._link(node, RIGHT, None)
        path[top - 1], path[-1] = path[-1], path[top - 1]
        # The colours change places.
        was_black = self._is_black(node)
        self._paint(node, self._is_black(low))
        self._paint(low, was_black)

    def _mend_black(self, path: list[Node], leaf: Node) -> None:
        """The subtree of the path's last node lacks a black one; `leaf` is to go."""
        count = len(path)
        while count > 1:
            node, parent = path[count - 1], path[count - 2]
            side = self._side(parent, node)
            here = (_SIDES[side], "leaf" if node is leaf else "inner node")
            sibling = self._child(parent, 1 - side)
            assert sibling is not None
            if not self._is_black(sibling):
                self._say("black", "sibling red", *here)
                path[count - 1] = sibling
                self._rotate(path, count, "black sibling")
                self._paint(parent, False)
                self._paint(sibling, True)
                path[count:] = [node]
                count += 1
                sibling = self._child(parent, 1 - side)
                assert sibling is not None
            nephews = [self._child(sibling, LEFT), self._child(sibling, RIGHT)]
            looks = []
            red = False
            for nephew in nephews:
                look = "not looked" if red else "none"
                if not red and nephew is not None:
                    red = not self._is_black(nephew)
                    look = "red" if red else "black"
                looks.append(look)
            if not red:
                up = self._is_black(parent)
                self._say("black", "recolour", *here, *looks, "up" if up else "done")
                if node is leaf:
                    self._link(parent, side, None)
                self._paint(sibling, False)
                if up:
                    count -= 1
                    continue
                self._paint(parent, True)
                return
            outer = self._child(sibling, 1 - side)
            bent = outer is None or self._is_black(outer)
            how = "straight" if not bent else "bent, no outer" if outer is None else "bent"
            self._say("black", "rotate", *here, *looks, how)
            if bent:
                inner = self._child(sibling, side)
                assert inner is not None
                path[count - 1 :] = [sibling, inner]
                self._rotate(path, count + 1, "black inner")
                self._paint(sibling, False)
                self._paint(inner, True)
                sibling = path[count - 1]
                outer = self._child(sibling, 1 - side)
            assert outer is not None
            self._paint(sibling, self._is_black(parent))
            self._paint(parent, True)
            self._paint(outer, True)
            path[count - 1] = sibling
            self._rotate(path, count, "black outer")
            if node is leaf:
                self._link(parent, side, None)
            return
        self._say("black", "root")

    # -- z_rb_get_minmax

    def best(self) -> None:
        """Looks for the first node."""
        if self.root is None:
            self._say("best", "empty")
            return
        node = self.root
        while (below := self._child(node, LEFT)) is not None:
            self._say("best", "down")
            node = below
        self._say("best", "end")

    # -- numbers from the left

    def _nodes(self) -> list[Node]:
        def walk(node: Node | None) -> Iterator[Node]:
            if node is not None:
                yield from walk(node.below[LEFT])
                yield node
                yield from walk(node.below[RIGHT])

        return list(walk(self.root))

    def _renumber(self) -> None:
        for number, node in enumerate(self._nodes()):
            node.number = number


@cache
def _projections(event: Event) -> tuple[Event, ...]:
    head, *rest = event
    return tuple(
        (head, *(value if keep else "*" for value, keep in zip(rest, kept, strict=True)))
        for kept in product((False, True), repeat=len(rest))
    )


def sums(events: Events) -> Events:
    """How often each event occurred, with all, some and none of its attributes looked at."""
    found: Events = Counter()
    for event, count in events.items():
        for projected in _projections(event):
            found[projected] += count
    return found
