"""The dearest flow of one unit through a network, under linear constraints.

    maximise    sum over arcs a of  cost_a * x_a
    subject to  what flows into a node flows out of it; one unit comes from OUTSIDE, and goes there
                sum over a of  column_a,c * x_a <= limit_c        for each constraint c

Source: Y.-T. S. Li and S. Malik, "Performance Analysis of Embedded Software Using Implicit Path
Enumeration", DAC 1995.

Before it is solved (``solver.maximum``) the network is made smaller, without loss:

* arcs that no path from ``OUTSIDE`` back to it takes are left out;
* a node with one arc in and one out joins these, for both carry the same: costs and columns add up;
* of arcs side by side with the same column only the dearest is kept: what a flow sends through
  another one can go through that, and no constraint tells the difference.

So code without loops and facts shrinks to one arc. Counts are mapped back exactly.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from wcetchar.model.path_model import OUTSIDE
from wcetchar.solver import Constraint, Contradiction, LinearProgram, Unbounded, Variable, maximum

Column = tuple[tuple[int, int], ...]
"""Numbers of constraints and coefficients other than 0, in order."""
Members = Any
"""Of a joined arc: the number of an arc, or a pair of such; each arc is in one of them at most."""


@dataclass(frozen=True)
class Arc:
    """From a node to a node; ``column``: number of a constraint -> coefficient."""

    source: int
    target: int
    cost: int
    column: Mapping[int, int]


@dataclass(frozen=True)
class Limit:
    """Of a constraint; ``label`` says for people what it is."""

    label: str
    limit: int


@dataclass(frozen=True)
class DearestFlow:
    """``counts``: number of an arc -> how often; zeros are left out; ``None``: no flow was found.
    ``cost``: of these. ``bound``: no flow costs more. ``needed``: constraints that its proof rests
    on."""

    counts: Mapping[int, int] | None
    cost: int
    bound: int
    needed: frozenset[int]


class Endless(Exception):
    """Nothing bounds the flow. ``arcs``: numbers of those that it takes without end."""

    def __init__(self, arcs: tuple[int, ...]) -> None:
        self.arcs = arcs
        super().__init__(str(arcs))


class Contradictory(Exception):
    """No flow fulfils all constraints. ``limits``: numbers of some that exclude each other."""

    def __init__(self, limits: tuple[int, ...]) -> None:
        self.limits = limits
        super().__init__(str(limits))


def dearest_flow(arcs: Sequence[Arc], limits: Sequence[Limit]) -> DearestFlow:
    """The dearest flow, and a bound that is proved.

    Raises:
        Endless: arcs have no bound.
        Contradictory: there is no flow.
        Unsolvable: the solver gave up.
    """
    small = _Small(arcs)
    program, first = _program(small.alive, limits)
    try:
        found = maximum(program)
    except Unbounded as error:
        names = {int(name) for name in error.variables}
        raise Endless(tuple(sorted(small.expanded(dict.fromkeys(names, 1))))) from error
    except Contradiction as error:
        raise Contradictory(tuple(n - first for n in error.rows if n >= first)) from error
    needed = frozenset(n - first for n in found.used if n >= first)
    bound = found.bound.numerator // found.bound.denominator  # costs are whole
    if found.values is None or found.objective is None:
        return DearestFlow(None, 0, bound, needed)
    counts = small.expanded({int(name): int(value) for name, value in found.values.items()})
    return DearestFlow(counts, int(found.objective), bound, needed)


def _program(alive: Mapping[int, _Joined], limits: Sequence[Limit]) -> tuple[LinearProgram, int]:
    """The program, and the number of its first row that is a constraint of the network."""
    nodes: dict[int, dict[str, Fraction]] = {}
    rows: list[dict[str, Fraction]] = [{} for _ in limits]
    entries: dict[str, Fraction] = {}
    for number, arc in alive.items():
        name = str(number)
        if arc.source == OUTSIDE:
            entries[name] = Fraction(1)
        if arc.source != arc.target:
            for node, sign in ((arc.target, 1), (arc.source, -1)):
                if node != OUTSIDE:
                    nodes.setdefault(node, {})[name] = Fraction(sign)
        for limit, coefficient in arc.column:
            rows[limit][name] = Fraction(coefficient)
    zero, one = Fraction(0), Fraction(1)
    constraints = [Constraint("one path", entries, one, one)]
    constraints += (Constraint(f"node {n}", row, zero, zero) for n, row in sorted(nodes.items()))
    first = len(constraints)
    constraints += (
        Constraint(limit.label, row, upper=Fraction(limit.limit))
        for limit, row in zip(limits, rows, strict=True)
    )
    variables = tuple(Variable(str(number), integer=True) for number in alive)
    costs = {str(number): Fraction(arc.cost) for number, arc in alive.items() if arc.cost}
    return LinearProgram(variables, tuple(constraints), costs), first


@dataclass(frozen=True)
class _Joined:
    source: int
    target: int
    cost: int
    column: Column
    members: Members


class _Small:
    """The network that is left: ``alive`` arcs by number."""

    def __init__(self, arcs: Sequence[Arc]) -> None:
        self.alive: dict[int, _Joined] = {}
        self._next = 0
        self._beside: dict[tuple[int, int, Column], int] = {}
        self._in: dict[int, dict[int, None]] = {}
        self._out: dict[int, dict[int, None]] = {}
        self._changed: dict[int, None] = {}
        kept = _on_paths(arcs)
        for number in kept:
            arc = arcs[number]
            column = tuple(sorted((n, c) for n, c in arc.column.items() if c))
            self._add(_Joined(arc.source, arc.target, arc.cost, column, number))
        while self._changed:
            node = next(iter(self._changed))
            del self._changed[node]
            self._join(node)

    def _add(self, arc: _Joined) -> None:
        beside = self._beside.get((arc.source, arc.target, arc.column))
        if beside is not None:
            if self.alive[beside].cost >= arc.cost:
                self._note(arc)
                return
            self._remove(beside)
        number, self._next = self._next, self._next + 1
        self.alive[number] = arc
        self._beside[arc.source, arc.target, arc.column] = number
        self._out.setdefault(arc.source, {})[number] = None
        self._in.setdefault(arc.target, {})[number] = None
        self._note(arc)

    def _note(self, arc: _Joined) -> None:
        self._changed.update((n, None) for n in (arc.source, arc.target) if n != OUTSIDE)

    def _remove(self, number: int) -> _Joined:
        arc = self.alive.pop(number)
        del self._beside[arc.source, arc.target, arc.column]
        del self._out[arc.source][number]
        del self._in[arc.target][number]
        return arc

    def _join(self, node: int) -> None:
        into, out = self._in.get(node, {}), self._out.get(node, {})
        if len(into) != 1 or len(out) != 1:
            return
        one, other = next(iter(into)), next(iter(out))
        if one == other:
            return
        before, behind = self._remove(one), self._remove(other)
        column = dict(before.column)
        for limit, coefficient in behind.column:
            column[limit] = column.get(limit, 0) + coefficient
        self._add(
            _Joined(
                before.source,
                behind.target,
                before.cost + behind.cost,
                tuple(sorted((n, c) for n, c in column.items() if c)),
                (before.members, behind.members),
            )
        )

    def expanded(self, counts: Mapping[int, int]) -> dict[int, int]:
        """What each arc of the whole network carries."""
        found: dict[int, int] = {}
        for number, count in counts.items():
            waiting: list[Members] = [self.alive[number].members] if count else []
            while waiting:
                members = waiting.pop()
                if isinstance(members, int):
                    found[members] = found.get(members, 0) + count
                else:
                    waiting.extend(members)
        return dict(sorted(found.items()))


def _on_paths(arcs: Sequence[Arc]) -> list[int]:
    """Numbers of arcs that some path from outside to outside takes."""
    out: dict[int, list[int]] = {}
    into: dict[int, list[int]] = {}
    for arc in arcs:
        out.setdefault(arc.source, []).append(arc.target)
        into.setdefault(arc.target, []).append(arc.source)
    behind = reached(out, out.get(OUTSIDE, ()))
    before = reached(into, into.get(OUTSIDE, ()))
    return [
        number
        for number, arc in enumerate(arcs)
        if (arc.source == OUTSIDE or arc.source in behind)
        and (arc.target == OUTSIDE or arc.target in before)
    ]


def reached(neighbours: Mapping[int, Iterable[int]], start: Iterable[int]) -> set[int]:
    """Nodes that are reached from ``start``, these among them, without passing ``OUTSIDE``."""
    found: set[int] = set()
    waiting = [node for node in start if node != OUTSIDE]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting.extend(n for n in neighbours.get(node, ()) if n != OUTSIDE)
    return found
