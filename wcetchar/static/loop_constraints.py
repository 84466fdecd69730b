"""Loop bounds as constraints on the flow: each loop, in each context of its function.

For a loop that is entered e times and whose back edges are taken b times together,

    sum of b  -  limit * sum of e  <=  0

where a part that begins inside of the loop has entered it (Y.-T. S. Li and S. Malik, DAC 1995). A
limit for each entry of a loop around it takes the entries of that one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from wcetchar.model.expression import ONE, Call, Expression, Function, Name, Negate, Number
from wcetchar.model.flow import Edge, Loop
from wcetchar.model.path_model import OUTSIDE, FlowConstraint, Gap, Origin
from wcetchar.static.contexts import has_stack
from wcetchar.static.expand import Expanded

ZERO = Number(0)

LoopKey = tuple[int, int]
"""Address of a function, and the number of a loop of it."""


@dataclass(frozen=True)
class Bound:
    """How often the back edges of a loop are taken, at most.

    Attributes:
        limit: each time that it is entered; of all times together, where ``total``.
        called: addresses of functions that must be on the call stack, in this order.
        within: number of a loop around it in the same function: the limit is for all times
            together, each time that that one is entered.
    """

    limit: Expression
    origin: Origin
    because: str = ""
    place: str = ""
    total: bool = False
    called: tuple[int, ...] = ()
    within: int | None = None

    def holds(self, stack: Sequence[int]) -> bool:
        """Of a loop in a function with this call stack."""
        return has_stack(stack, self.called)


@dataclass
class Turns:
    """Numbers of links: those along a loop's back edges, and those that enter it."""

    back: list[int]
    entries: list[int]


def turns(found: Expanded) -> dict[tuple[int, int], Turns]:
    """By number of a context, and of a loop of its function; loops that are never entered are left
    out."""
    loops = [found.function_of(context).loops for context in range(len(found.contexts))]
    along: list[dict[Edge, list[tuple[int, bool]]]] = [_edges(one) for one in loops]
    result: dict[tuple[int, int], Turns] = defaultdict(lambda: Turns([], []))
    for number, link in enumerate(found.links):
        if link.target == OUTSIDE:
            continue
        context = link.context
        if link.along is not None:
            for loop, is_back in along[context].get(link.along, ()):
                one = result[context, loop]
                (one.back if is_back else one.entries).append(number)
            continue
        block = found.steps[link.target].block
        if link.source != OUTSIDE:
            for loop, known in enumerate(loops[context]):
                if block in known.headers:
                    result[context, loop].entries.append(number)
            continue
        for inside, at in _around(found, context, block):
            for loop, known in enumerate(loops[inside]):
                if at in known.members:
                    result[inside, loop].entries.append(number)
    return dict(result)


@dataclass(frozen=True)
class Turned:
    """How often a loop was gone round on one path: each time that it was entered, at most, and all
    together."""

    each: int
    total: int


Passes = Mapping[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]]
"""By link: loops that it enters, and that it goes round."""


def passes(loops: Mapping[tuple[int, int], Turns]) -> Passes:
    """What each link does to loops; ``loops`` as of :func:`turns`."""
    found: dict[int, tuple[list[tuple[int, int]], list[tuple[int, int]]]]
    found = defaultdict(lambda: ([], []))
    for key, one in loops.items():
        for link in one.entries:
            found[link][0].append(key)
        for link in one.back:
            found[link][1].append(key)
    return dict(found)


def turned_on(trail: Sequence[int], passed: Passes) -> dict[tuple[int, int], Turned]:
    """Of each loop (context and number) that a path enters; ``trail``: numbers of its links, in
    order."""
    now: dict[tuple[int, int], int] = {}
    most: dict[tuple[int, int], int] = {}
    total: dict[tuple[int, int], int] = defaultdict(int)
    for link in trail:
        if link not in passed:
            continue
        entered, rounds = passed[link]
        for key in entered:
            now[key] = 0
            most.setdefault(key, 0)
        for key in rounds:
            now[key] = now.get(key, 0) + 1
            total[key] += 1
            most[key] = max(most.get(key, 0), now[key])
    return {key: Turned(each, total[key]) for key, each in most.items()}


def turned_within(
    trail: Sequence[int], loops: Mapping[tuple[int, int], Turns], inner: int, outer: tuple[int, int]
) -> int:
    """How often a loop (number) was gone round at most, each time that one around it (context and
    number) was entered; ``trail`` as of :func:`turned_on`, ``loops`` of :func:`turns`."""
    back, entries = {*loops[outer[0], inner].back}, {*loops[outer].entries}
    now = most = 0
    for link in trail:
        if link in entries:
            now = 0
        if link in back:
            now += 1
            most = max(most, now)
    return most


def constraints(
    found: Expanded,
    bounds: Mapping[LoopKey, Sequence[Bound]],
    name_of: Callable[[LoopKey], str],
    seen: Mapping[LoopKey, Mapping[tuple[tuple[str, int], ...], int]],
) -> Iterator[FlowConstraint | Gap]:
    """One for each bound of each loop that is turned; a gap where there is none.

    ``name_of``: a loop as a place in a flow fact; ``seen``: how often traces went round it.
    """
    open_loops: dict[LoopKey, None] = {}
    by_loop, recursive = turns(found), found.program.graph.recursive
    for (context, loop), turned in sorted(by_loop.items()):
        if not turned.back:
            continue
        one = found.contexts[context]
        key = (one.function, loop)
        holding = [b for b in bounds.get(key, ()) if b.holds(one.stack)]
        if not holding:
            open_loops[key] = None
        # Of activations that share a context, one may begin between the rounds of another one.
        nested = found.contexts.depth is not None and one.function in recursive
        for bound in holding:
            coefficients: dict[int, Expression] = dict.fromkeys(turned.back, ONE)
            if not bound.total:
                around = loop if bound.within is None else bound.within
                for link in by_loop[context, around].entries:
                    coefficients[link] = Negate(_at_least_none(bound.limit))
            yield FlowConstraint(
                f"loop at {name_of(key)}",
                coefficients,
                _at_least_none(bound.limit) if bound.total else ZERO,
                bound.origin,
                bound.because,
                bound.place,
                each=not bound.total and not nested,
            )
    for key in open_loops:
        name = name_of(key)
        function = found.program.graph.functions[key[0]]
        block = function.blocks[function.loops[key[1]].header]
        place = found.program.place_of(found.program.table.instructions[block.first].address)
        observed = tuple(sorted(seen.get(key, {}).items()))
        yield Gap("loop without a bound", name, place, f"loop at {name}", observed)


def _at_least_none(limit: Expression) -> Expression:
    """No loop is gone round less than never: a formula may say so where it does not matter."""
    if isinstance(limit, Name) or (isinstance(limit, Number) and limit.value >= 0):
        return limit
    return Call(Function.MAX, (ZERO, limit))


def call_constraints(found: Expanded) -> Iterator[FlowConstraint]:
    """Where a context has several callers: control returns behind a call as often as it is made.

    A part may end or begin inside of a call, once.
    """
    shared = [len(found.contexts.callers[n]) > 1 for n in range(len(found.contexts))]
    if not any(shared):
        return
    calls: dict[tuple[int, int], list[int]] = defaultdict(list)
    returns: dict[tuple[int, int], list[int]] = defaultdict(list)
    for number, link in enumerate(found.links):
        if link.site is not None:
            calls[link.site].append(number)
        elif link.along is not None and link.along.kind.value == "returned":
            returns[link.context, link.along.source].append(number)
    begun = any(
        link.source == OUTSIDE and found.steps[link.target].context != 0 for link in found.links
    )
    if begun and found.program.graph.recursive:
        return  # a part may begin several calls deep in the same function
    for site, numbers in sorted(returns.items()):
        coefficients: dict[int, Expression] = dict.fromkeys(numbers, ONE)
        coefficients.update(dict.fromkeys(calls.get(site, ()), Number(-1)))
        yield FlowConstraint(
            "control returns as often behind a call as it was made",
            coefficients,
            ONE if begun else ZERO,
            Origin.AUTOMATIC,
        )


def _edges(loops: Sequence[Loop]) -> dict[Edge, list[tuple[int, bool]]]:
    """Edge -> numbers of the loops that it goes round (true) or enters (false)."""
    found: dict[Edge, list[tuple[int, bool]]] = defaultdict(list)
    for number, loop in enumerate(loops):
        for edge in loop.back:
            found[edge].append((number, True))
        for edge in loop.entries:
            found[edge].append((number, False))
    return found


def functions_begun(found: Expanded) -> set[int]:
    """Addresses of functions that are being executed where the paths begin: what a part begins in
    was called before."""
    return {
        found.contexts[inside].function
        for link in found.links
        if link.source == OUTSIDE and link.target != OUTSIDE
        for inside, _ in _around(found, found.steps[link.target].context, 0)
    }


def _around(found: Expanded, context: int, block: int) -> Iterator[tuple[int, int]]:
    """Contexts and blocks that are being executed while a block is: its own, and its callers'."""
    seen: set[tuple[int, int]] = set()
    left = [(context, block)]
    while left:
        one = left.pop()
        if one in seen:
            continue
        seen.add(one)
        yield one
        left += found.contexts.callers[one[0]]
