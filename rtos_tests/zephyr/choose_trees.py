"""Which red/black trees the driver builds: writes src/tree_shapes.h.

    python rtos_tests/zephyr/choose_trees.py > rtos_tests/zephyr/src/tree_shapes.h

For each kind of crowd (src/crowd.h), *every* red/black tree with at most so many nodes, every place
in it and both extremes of the priorities are tried on the model of `red_black.py`. Few of them are
kept, such that each event, and each sum of events that a compiler can make one piece of code of,
occurs as often with one of them as with any. `wcetchar characterize` publishes the greatest count
of *each instruction* among the invocations with the same parameters. So no tree costs more than
what is published, whatever an instruction costs.

Where a call works on the wait queue and on the run queue (CROWD_WAIT), the same holds for pairs of
trees.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from red_black import Event, Events, Tree, size, sums, trees

KINDS = {
    "CROWD_JOIN": (3, 8, 11),
    "CROWD_LEAD": (3, 8, 11),
    "CROWD_LEAVE": (3, 8, 11),
    "CROWD_WAIT": (3, 8, 11),
    "CROWD_TAKE": (3, 8, 11),
    "CROWD_MOVE": (3, 8, 11),
    "CROWD_YIELD": (3, 8, 11),
    "CROWD_BACK": (4, 8, 11),
    "CROWD_DROP": (3, 8, 11),
    "CROWD_LOWER": (4, 8, 11),
    "CROWD_PASS": (3, 8, 11),
    "CROWD_BEST": (3, 8, 11),
    "waiting": (3, 8, 11),
    "removing": (3, 8, 11),
}
"""What a service does with the tree (src/crowd.h), and the numbers of nodes up to which it is
tried. At least three values of a parameter lie in each piece, so that the steps are a formula."""

QUEUE_MOST = 8
"""Threads that wait already, at most, where the caller goes to a queue (CROWD_WAIT)."""

ONE_MORE = (
    "CROWD_LEAVE",
    "CROWD_WAIT",
    "CROWD_TAKE",
    "CROWD_MOVE",
    "CROWD_BACK",
    "CROWD_LOWER",
    "CROWD_BEST",
)
"""Another thread than the caller is ready in any case."""


@dataclass(frozen=True)
class Case:
    """A tree and what is done with it, as struct shape of src/tree_shapes.h."""

    tree: str
    place: int = 0
    to: int = 0
    apart: bool = False


def cases(kind: str, nodes: int) -> Iterator[Case]:
    """All with so many nodes."""
    both = (False, True)
    if nodes < 2 and kind in ONE_MORE:
        return
    for tree in trees(nodes):
        if kind in ("CROWD_JOIN", "CROWD_PASS", "waiting"):
            first = 0 if kind == "waiting" else 1
            yield from (Case(tree, at, 0, a) for at in range(first, nodes + 1) for a in both)
        elif kind in ("CROWD_LEAVE", "CROWD_WAIT"):
            yield from (Case(tree, apart=a) for a in both)
        elif kind in ("CROWD_TAKE", "removing"):
            first = 1 if kind == "CROWD_TAKE" else 0
            yield from (Case(tree, at, 0, a) for at in range(first, nodes) for a in both)
        elif kind == "CROWD_MOVE":
            rest = range(1, nodes)
            yield from (Case(tree, at, to, a) for at in rest for to in rest for a in both)
        elif kind == "CROWD_BACK":
            yield from (Case(tree, 0, to) for to in range(1, nodes))
        elif kind in ("CROWD_DROP", "CROWD_LOWER"):
            first = 1 if kind == "CROWD_LOWER" else 0
            yield from (Case(tree, 0, to, a) for to in range(first, nodes) for a in both)
        else:
            yield Case(tree)


def done(kind: str, case: Case, model: type[Tree] = Tree) -> Tree:
    """The tree after what a service does, with the events."""
    tree, place, to, apart = model(case.tree), case.place, case.to, case.apart
    if kind in ("CROWD_JOIN", "waiting"):
        tree.insert(place, lambda i: i < place and not apart)
    elif kind == "CROWD_LEAD":
        tree.insert(0, lambda i: False)
    elif kind in ("CROWD_LEAVE", "CROWD_WAIT", "CROWD_TAKE", "removing"):
        tree.remove(place, lambda i: not apart)
    elif kind == "CROWD_MOVE":
        # Among the rest, those before `to` and those behind it have two priorities.
        before = to if to >= place else size(case.tree)
        least = 0 if to >= place else to + 1
        tree.remove(place, lambda i: not apart and least <= i <= before)
        tree.insert(to, lambda i: i < to and not apart)
    elif kind == "CROWD_YIELD":
        tree.remove(0, lambda i: False)
        tree.insert(0, lambda i: False)
    elif kind == "CROWD_BACK":
        tree.remove(0, lambda i: i <= to)
        tree.insert(to, lambda i: i < to)
    elif kind in ("CROWD_DROP", "CROWD_LOWER"):
        tree.remove(0, lambda i: False)
        tree.insert(to, lambda i: i < to and not apart)
        if kind == "CROWD_DROP":
            tree.best()
            tree.insert(0, lambda i: False)
    elif kind == "CROWD_PASS":
        tree.insert(place, lambda i: i < place and not apart)
        tree.best()
        tree.remove(0, lambda i: i <= place and not apart)
    if kind not in ("waiting", "removing"):
        tree.best()
    return tree


def counted(kind: str, case: Case) -> Events:
    return sums(done(kind, case).events)


def greatest(counts: Iterable[Events]) -> Events:
    found = Events()
    for one in counts:
        found |= one
    return found


Pool = dict[Case, Events]


def pool(kind: str, most: int) -> Pool:
    """All cases with at most so many nodes; of several with the same events, the first."""
    found: dict[frozenset[tuple[Event, int]], tuple[Case, Events]] = {}
    for nodes in range(1, most + 1):
        for case in cases(kind, nodes):
            events = done(kind, case).events
            key = frozenset(events.items())
            if key not in found:
                found[key] = case, sums(events)
    return dict(found.values())


def choose(of: Pool) -> list[Case]:
    """Few cases that reach the greatest count of each sum of events."""
    needed = greatest(of.values())
    reaches = {
        case: frozenset(k for k, n in events.items() if n == needed[k])
        for case, events in of.items()
    }
    chosen: list[Case] = []
    missing = set(needed)
    while missing:
        best = max(reaches, key=lambda case: (len(reaches[case] & missing), case.tree, case.place))
        chosen.append(best)
        missing -= reaches[best]
    for case in list(chosen):
        others = frozenset().union(*(reaches[c] for c in chosen if c != case))
        if others >= set(needed):
            chosen.remove(case)
    return chosen


# ---- src/tree_shapes.h ---------------------------------------------------------------------------

HEADER = Path(__file__).parent / "src" / "tree_shapes.h"

TOP = f"""\
/* Made by choose_trees.py, which says what they are: for each kind of crowd (crowd.h), trees with
 * at most so many nodes, such that nothing that the kernel does with a tree occurs more often with
 * any other. A shape is written in preorder: B or R and both subtrees, a point for none. */
#ifndef TREE_SHAPES_H
#define TREE_SHAPES_H

#define SHAPES_NODES_MAX 11
#define SHAPES_QUEUE_MAX {QUEUE_MOST} /* of those of queue_shapes */

struct shape {{
    uint8_t place; /* node at which the other thread comes or is taken out */
    uint8_t to;    /* where it, or the caller, goes among the rest */
    bool apart;    /* threads have other priorities than the one that is looked for */
    const char *tree;
}};

struct shapes {{
    uint8_t most; /* nodes at most */
    uint8_t count;
    const struct shape *shapes;
}};

"""

ALONE = {
    "queue": "The caller goes to `place` among those that wait; one with each shape of CROWD_WAIT.",
    "waiting": "A thread that waits goes to `place` among those that wait already.",
    "removing": "The thread at `place` is taken out.",
}


def choose_pairs(waiting: Pool, leaving: Pool) -> list[tuple[Case, Case]]:
    """Few pairs that reach the greatest count of each sum of events in both trees together."""
    keys = {key: 1 << at for at, key in enumerate(greatest([*waiting.values(), *leaving.values()]))}

    def reached(of: Pool) -> dict[int, Case]:
        needed = greatest(of.values())
        found: dict[int, Case] = {}
        for case, events in of.items():
            bits = sum(bit for key, bit in keys.items() if events[key] == needed[key])
            found.setdefault(bits, case)
        # One that reaches no more than another is not needed.
        return {
            bits: case
            for bits, case in found.items()
            if not any(bits | other == other != bits for other in found)
        }

    one, two = reached(waiting), reached(leaving)
    pairs = {(a, b): one[a].tree + two[b].tree for a in one for b in two}
    chosen: list[tuple[int, int]] = []
    missing = (1 << len(keys)) - 1
    while missing:
        best = max(pairs, key=lambda p: ((p[0] & p[1] & missing).bit_count(), pairs[p]))
        chosen.append(best)
        missing &= ~(best[0] & best[1])
    return [(one[a], two[b]) for a, b in chosen]


def rows(chosen: list[Case]) -> str:
    return "".join(
        f'        {{{case.place}, {case.to}, {str(case.apart).lower()}, "{case.tree}"}},\n'
        for case in chosen
    )


def group(most: int, chosen: list[Case]) -> str:
    return f"    {{{most}, {len(chosen)}, (const struct shape[]){{\n{rows(chosen)}    }}}},\n"


def chosen_cases() -> dict[str, dict[int, list[Case]]]:
    """By kind and greatest number of nodes; of the kind "queue" by that of the run queue."""
    waiting = pool("waiting", QUEUE_MOST)
    found: dict[str, dict[int, list[Case]]] = {kind: {} for kind in (*KINDS, "queue")}
    for kind, tops in KINDS.items():
        for most in tops:
            if kind == "CROWD_WAIT":
                pairs = choose_pairs(waiting, pool(kind, most))
                found["queue"][most] = [one for one, _ in pairs]
                found[kind][most] = [other for _, other in pairs]
            else:
                found[kind][most] = choose(pool(kind, most))
    return found


def header() -> str:
    text = TOP + "static const struct shapes shapes[CROWD_KINDS][3] = {\n"
    found = chosen_cases()
    for kind, by_most in found.items():
        if kind not in ALONE:
            groups = "".join(group(most, chosen) for most, chosen in by_most.items())
            text += f"    [{kind}] = {{\n{groups}    }},\n"
    text += "};\n\n"
    for kind, what in ALONE.items():
        groups = "".join(group(most, chosen) for most, chosen in found[kind].items())
        text += f"/* {what} */\nstatic const struct shapes {kind}_shapes[3] = {{\n{groups}}};\n\n"
    return text + "#endif\n"


def read_shapes(text: str | None = None) -> dict[str, dict[int, list[Case]]]:
    """The trees of src/tree_shapes.h by kind and greatest number of nodes."""
    found: dict[str, dict[int, list[Case]]] = {}
    row = re.compile(
        r"\[(CROWD_\w+)\] = \{|struct shapes (\w+)_shapes\[3\]"
        r"|\{(\d+), (\d+), \(const|\{(\d+), (\d+), (true|false), \"([BR.]+)\"\}"
    )
    kind, most, promised = "", 0, 0
    for crowd, other, top, count, place, to, apart, tree in row.findall(
        text or HEADER.read_text(encoding="utf-8")
    ):
        if crowd or other:
            kind = crowd or other
            found[kind] = {}
        elif top:
            assert promised == 0, (kind, most)
            most, promised = int(top), int(count)
            found[kind][most] = []
        else:
            found[kind][most].append(Case(tree, int(place), int(to), apart == "true"))
            promised -= 1
    return found


if __name__ == "__main__":
    sys.stdout.write(header())
