"""The trees that the Zephyr driver builds (rtos_tests/zephyr/src/tree_shapes.h) are the dearest
ones, on the model of the kernel's red/black tree; the rules that the model keeps are checked here
by themselves."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from zephyr_workspace import Build

pytest_plugins = ("zephyr_workspace",)

SOURCE = Path(__file__).resolve().parents[2] / "rtos_tests" / "zephyr"
sys.path.insert(0, str(SOURCE))

import choose_trees as choice  # noqa: E402
import red_black as model  # noqa: E402

# ---- the rules ------------------------------------------------------------------------------


def red_black(text: str) -> tuple[int, int, str]:
    """(length of the text, black nodes on each path, colour of the root); asserts the rules."""
    if text[0] == ".":
        return 1, 0, "B"
    one = red_black(text[1:])
    other = red_black(text[1 + one[0] :])
    assert one[1] == other[1], "paths with different numbers of black nodes"
    assert text[0] == "B" or one[2] == other[2] == "B", "a red node below a red one"
    return 1 + one[0] + other[0], one[1] + (text[0] == "B"), text[0]


def obeys(text: str) -> bool:
    try:
        return red_black(text) == (len(text), red_black(text)[1], "B")
    except AssertionError:
        return False


def any_trees(nodes: int) -> Iterator[str]:
    """All binary trees with all colours."""
    if nodes == 0:
        yield "."
        return
    for left in range(nodes):
        for one, other in product(any_trees(left), any_trees(nodes - 1 - left)):
            yield "B" + one + other
            yield "R" + one + other


def test_all_trees_are_those_that_obey_the_rules() -> None:
    for nodes in range(1, 7):
        found = model.trees(nodes)
        assert len(set(found)) == len(found)
        assert set(found) == {tree for tree in any_trees(nodes) if obeys(tree)}
    assert all(obeys(tree) for tree in model.trees(11))


def test_the_model_keeps_rules_and_order() -> None:
    for nodes in range(1, 9):
        for tree in model.trees(nodes):
            for place in range(nodes + 1):
                grown = model.Tree(tree)
                grown.insert(place, lambda i: False)
                assert obeys(str(grown))
                assert grown.order() == list(range(nodes + 1))
                assert grown.max_depth >= depth(str(grown))
            for place in range(nodes):
                shrunk = model.Tree(tree)
                shrunk.remove(place, lambda i: True)
                assert str(shrunk) == "." if nodes == 1 else obeys(str(shrunk))
                assert shrunk.order() == list(range(nodes - 1))


def depth(text: str) -> int:
    def below(at: int) -> tuple[int, int]:
        if text[at] == ".":
            return at + 1, 0
        middle, left = below(at + 1)
        end, right = below(middle)
        return end, 1 + max(left, right)

    return below(0)[1]


def test_a_removed_node_is_the_one_at_the_place() -> None:
    """Priorities rise by one; the node taken out is missing afterwards."""
    tree = model.Tree("BB..RBR...B..")
    nodes = tree._nodes()
    tree.remove(3, lambda i: False)
    assert tree._nodes() == [*nodes[:3], *nodes[4:]]


def test_counts_by_hand() -> None:
    """A third node behind a black root with a red one to its right: two comparisons on the way and
    one for the side, no red aunt, so the lower two nodes turn about the root."""
    tree = model.Tree("B.R..")
    tree.insert(2, lambda i: i == 1)
    assert str(tree) == "BR..R.."
    counts = model.sums(tree.events)
    assert counts["compare", "*", "*", "*"] == 3
    assert counts["compare", "insert", "right", "other"] == 1
    assert counts["compare", "*", "right", "same"] == 2
    assert counts["rotate", "*", "*", "*"] == counts["rotate", "red outer", "right", "root"] == 1
    assert counts["insert", "deeper"] == 1
    tree = model.Tree("BR..R..")
    tree.remove(1, lambda i: False)
    assert str(tree) == "B.R.."
    assert tree.events["swap", "root"] == tree.events["swap", "near"] == 1
    assert tree.events["remove", "red leaf"] == 1


# ---- the choice -----------------------------------------------------------------------------


@cache
def needed_by(kind: str, most: int) -> model.Events:
    """The greatest counts in all trees."""
    return choice.greatest(choice.pool(kind, most).values())


def lacking(needed: model.Events, driven: list[model.Events]) -> set[model.Event]:
    """What occurs more often in some tree than in those that are driven."""
    reached = choice.greatest(driven)
    return {event for event, n in needed.items() if n > reached[event]}


def driven(kind: str, most: int) -> list[model.Events]:
    return [choice.counted(kind, case) for case in choice.read_shapes()[kind][most]]


EVERY = [(kind, most) for kind, tops in choice.KINDS.items() for most in tops]
EASY = [
    (kind, most)
    for kind, most in EVERY
    if kind != "CROWD_WAIT" and most < (8 if kind == "CROWD_MOVE" else 11)
]
LONG = [(kind, most) for kind, most in EVERY if kind != "CROWD_WAIT" and (kind, most) not in EASY]


@pytest.mark.parametrize(("kind", "most"), EASY)
def test_no_tree_is_dearer_and_each_is_needed(kind: str, most: int) -> None:
    needed, found = needed_by(kind, most), driven(kind, most)
    assert not lacking(needed, found)
    for at in range(len(found)):
        assert lacking(needed, found[:at] + found[at + 1 :]), at


class OnceDeeper(model.Tree):
    """The kernel never takes back what it knows of a tree's depth, until it is empty."""

    def __init__(self, shape: str) -> None:
        super().__init__(shape)
        self.max_depth = 20


@pytest.mark.parametrize(
    "kind",
    [
        "CROWD_JOIN",
        "CROWD_LEAD",
        "CROWD_BACK",
        "CROWD_DROP",
        "CROWD_LOWER",
        "CROWD_PASS",
        "waiting",
    ],
)
def test_no_tree_that_was_deeper_is_dearer(kind: str) -> None:
    most = choice.KINDS[kind][0]
    cases = (case for nodes in range(1, most + 1) for case in choice.cases(kind, nodes))
    events = (model.sums(choice.done(kind, case, OnceDeeper).events) for case in cases)
    assert not lacking(choice.greatest(events), driven(kind, most))


@pytest.mark.long
@pytest.mark.parametrize(("kind", "most"), LONG)
def test_no_tree_is_dearer(kind: str, most: int) -> None:
    assert not lacking(needed_by(kind, most), driven(kind, most))


@pytest.mark.parametrize("most", choice.KINDS["CROWD_WAIT"])
def test_no_pair_of_trees_is_dearer(most: int) -> None:
    shapes = choice.read_shapes()
    pairs = list(zip(shapes["queue"][most], shapes["CROWD_WAIT"][most], strict=True))
    waiting = needed_by("waiting", choice.QUEUE_MOST)
    leaving = needed_by("CROWD_WAIT", most)
    reached = choice.greatest(
        choice.counted("waiting", one) + choice.counted("CROWD_WAIT", other) for one, other in pairs
    )
    assert reached == waiting + leaving
    assert all(model.size(one.tree) <= choice.QUEUE_MOST for one, _ in pairs)


def test_shapes_are_red_black_trees_that_can_be_built() -> None:
    kinds = re.findall(r"^    (CROWD_\w+), ", (SOURCE / "src" / "crowd.h").read_text(), re.M)
    shapes = choice.read_shapes()
    assert set(shapes) == {*kinds, "queue", "waiting", "removing"}
    for kind, by_most in shapes.items():
        assert list(by_most) == list(choice.KINDS.get(kind, choice.KINDS["CROWD_WAIT"]))
        for most, listed in by_most.items():
            assert listed
            limit = choice.QUEUE_MOST if kind == "queue" else most
            for case in listed:
                nodes = model.size(case.tree)
                assert obeys(case.tree)
                assert 1 <= nodes <= limit
                assert case.place <= nodes
                assert case.to < nodes


@pytest.mark.long
def test_the_header_is_made_by_the_generator() -> None:
    assert choice.HEADER.read_text(encoding="utf-8") == choice.header()


# ---- in a workspace -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dearer(request: pytest.FixtureRequest) -> Callable[[str], list[str]]:
    """Of the application with that scheduler: what occurs more often with another tree of at most
    8 threads. WCETCHAR_ZEPHYR_SCALABLE names its ELF file; else it is built for mps2/an385."""
    import check_trees as check

    given = os.environ.get("WCETCHAR_ZEPHYR_SCALABLE")
    if given is None:
        build: Build = request.getfixturevalue("build")
        given = str(build("mps2/an385", "overlay-sched-scalable.conf"))
    counted = check.Counted(check.Machine(Path(given)))
    shapes = choice.read_shapes()
    return lambda kind: check.dearer(counted, kind, 8, shapes)


@pytest.mark.firmware
@pytest.mark.xdist_group("zephyr trees")
@pytest.mark.parametrize("kind", sorted(choice.KINDS))
def test_no_tree_is_dearer_for_an_image(dearer: Callable[[str], list[str]], kind: str) -> None:
    assert dearer(kind) == []
