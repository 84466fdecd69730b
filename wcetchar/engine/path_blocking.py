"""The longest stretch of all paths in which interrupts, or preemption, are held off.

A stretch is a part of a path that stays in nodes that hold something off: it begins with an edge
into them from outside (or an entry) and ends with one out of them (or an exit). A path with one
stretch in it that is looked at is a path through three layers::

    layer 0   all nodes: before the stretch; costs nothing
    layer 1   nodes that hold it off: the stretch; costs what its nodes take
    layer 2   all nodes: behind the stretch; costs nothing

with edges from 0 to 1 where a stretch can begin, and from 1 to 2 where it can end. Each edge in
each layer has the column that it has in the model, so the constraints bind the path as a whole: a
loop that was entered before the stretch began may run in it, and is bounded by how often the whole
path enters it. So every stretch of every path that fulfils the constraints is a flow through the
layers, and the dearest flow (``network``) is at least as long as the longest. A path without a
stretch stays in layer 0.

Where a stretch begins or ends within a run of sequential instructions, it may fetch a word more
than its nodes say: the word lies across its edge, at some address of the code. So the arcs that it
begins and ends with cost what their nodes say for that (``PathNode.run_in``, ``run_out``).

That alone lets a stretch use up all passes of a loop that a path may enter several times. Where a
constraint also holds each time (``FlowConstraint.each``: behind each passing of an edge of
coefficient -n, up to the next such passing, the positive ones add up to n at most, before the first
to 0), the same is said of the stretch alone::

    sum over edges of the stretch of  coefficient_e * y_e  <=  n_max * y(starts inside),

with n_max the largest n, and as starts inside all edges of positive or no coefficient that a
stretch begins with, and from which an edge of positive coefficient is reached without passing one
of negative coefficient. Proof: cut the stretch at its passings of negative edges. Each piece begins
with such a passing, and its positive ones add up to its n at most, but for the first piece. What
that one takes belongs to a passing before the stretch, so it is n_max at most; and it is 0 where
the stretch begins with a negative edge, or where none of positive coefficient is reached before the
first negative one, which is what "inside" says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from wcetchar.engine.network import Arc, Limit, reached
from wcetchar.engine.paths import At, at_values, passes, solved, word_of
from wcetchar.engine.prices import PriceVector
from wcetchar.errors import NoSoundBound
from wcetchar.model.access import CoreEvent, EventKind
from wcetchar.model.characterization import Blocking, StretchKind
from wcetchar.model.path_bound import PathStretch
from wcetchar.model.path_model import OUTSIDE, Flow, PathModel

_HOLDS: Mapping[StretchKind, Callable[[Blocking], bool]] = {
    StretchKind.INTERRUPTS: lambda blocking: blocking.masks,
    StretchKind.PREEMPTION: lambda blocking: blocking.holds_preemption,
}


def longest_blocking(
    model: PathModel, prices: PriceVector, values: Mapping[str, int], kind: StretchKind
) -> PathStretch:
    """The longest stretch of a kind; ``prices`` and ``values`` as of
    :func:`wcetchar.engine.paths.bound_of`.

    Raises:
        InputError, NoSoundBound: as there.
    """
    if not model.follows_masks:
        raise NoSoundBound(
            f"the path model of {model.service} does not say what is held off",
            expected="a model made with masks followed along all paths",
            hint="characterize the service again",
        )
    at = at_values(model, prices.in_stretches, values)
    holds = {
        n for n, node in enumerate(model.nodes) if _HOLDS[kind](model.blockings[node.blocking])
    }
    stretch = _Layers(at, holds)
    found = solved(at, stretch.arcs, stretch.edges, stretch.limits)
    assert found.counts is not None
    own = {n: count for n, count in found.counts.items() if n in stretch.inside}
    counts: dict[int, int] = {}
    for number, count in own.items():
        edge = stretch.edges[number]
        counts[edge] = counts.get(edge, 0) + count
    passed = passes(model, {stretch.edges[n]: c for n, c in own.items() if n not in stretch.ends})
    needed = tuple(sorted({stretch.of_limit(n) for n in found.needed}))
    word, notes = word_of(model, needed)
    begin = next((stretch.edges[n] for n in own if n in stretch.starts), None)
    end = next((stretch.edges[n] for n in own if n in stretch.ends), None)
    if begin is not None and model.edges[begin].source == OUTSIDE:
        notes = (*notes, f"{kind.value} can be blocked already when it is called")
    vector = at.vector(passed)
    calls = sum(
        count
        for key, count in vector.items()
        if isinstance(key, CoreEvent) and key.kind is EventKind.SUPERVISOR_CALL
    )
    if calls:
        notes = (*notes, f"the handlers of {calls} supervisor calls in it come on top")
    if end is not None and model.edges[end].target == OUTSIDE:
        notes = (*notes, f"{kind.value} can still be blocked when it returns")
    return PathStretch(
        kind=kind,
        word=word,
        time=at.time(found.bound) if found.bound or own else Fraction(0),
        reached=at.time(found.cost) if own else Fraction(0),
        begin=begin,
        end=end,
        flow=Flow(dict(values), dict(sorted(counts.items()))),
        passed=passed,
        vector=prices.priced(vector),
        needed=needed,
        notes=notes,
    )


class _Layers:
    """Arcs of all layers, each with the number of its edge (``edges``); ``inside``, ``starts``,
    ``ends``: numbers of arcs of the stretch, of those that it begins and ends with, which are
    ``inside`` as well. ``limits``: of the stretch alone, behind those of the model."""

    def __init__(self, at: At, holds: set[int]) -> None:
        self.at = at
        self.holds = holds
        self.arcs: list[Arc] = []
        self.edges: list[int] = []
        self.inside: set[int] = set()
        self.starts: set[int] = set()
        self.ends: set[int] = set()
        self.limits: list[Limit] = []
        self._of: list[int] = []
        for number in range(len(at.model.edges)):
            self._add(number)
        for number in self._each():
            self._hold_each(number)

    def of_limit(self, number: int) -> int:
        """The constraint of the model that a limit comes from."""
        first = len(self.at.limits)
        return number if number < first else self._of[number - first]

    def _add(self, number: int) -> None:
        edge = self.at.model.edges[number]
        source_in, target_in = edge.source in self.holds, edge.target in self.holds
        for layer in (0, 2):
            if layer == 2 and edge.source == OUTSIDE:
                continue
            self._arc(number, self._node(edge.source, layer), self._node(edge.target, layer), 0)
        cost = self.at.cost(edge.target)
        inner, outer = self._node(edge.source, 1), self._node(edge.target, 1)
        if source_in and target_in:
            self.inside.add(self._arc(number, inner, outer, cost))
        elif target_in:
            cost += self.at.begin_cost(edge.target)
            start = self._arc(number, self._node(edge.source, 0), outer, cost)
            self.inside.add(start)
            self.starts.add(start)
        elif source_in:
            cost = self.at.end_cost(edge.source)
            end = self._arc(number, inner, self._node(edge.target, 2), cost)
            self.inside.add(end)
            self.ends.add(end)

    def _node(self, node: int, layer: int) -> int:
        return OUTSIDE if node == OUTSIDE else node * 3 + layer

    def _arc(self, number: int, source: int, target: int, cost: int) -> int:
        self.arcs.append(Arc(source, target, cost, self.at.columns[number]))
        self.edges.append(number)
        return len(self.arcs) - 1

    def _each(self) -> Iterator[int]:
        """Constraints of the model that hold each time."""
        for number, constraint in enumerate(self.at.model.constraints):
            if constraint.each and self.at.limits[number].limit == 0:
                yield number

    def _hold_each(self, number: int) -> None:
        coefficients = [column.get(number, 0) for column in self.at.columns]
        most = max((-c for c in coefficients), default=0)
        if most < 0:
            return
        inside = self._before_positive(coefficients)
        row = len(self.at.limits) + len(self.limits)
        for arc in self.inside:
            edge = self.edges[arc]
            coefficient = coefficients[edge]
            into = self.at.model.edges[edge].target
            if arc in self.starts and (coefficient > 0 or (coefficient == 0 and into in inside)):
                coefficient -= most
            if coefficient:
                column = {**self.arcs[arc].column, row: coefficient}
                self.arcs[arc] = replace(self.arcs[arc], column=column)
        self.limits.append(Limit(f"{self.at.limits[number].label}, in the stretch", 0))
        self._of.append(number)

    def _before_positive(self, coefficients: list[int]) -> set[int]:
        """Nodes from which an edge of positive coefficient is reached without a negative one."""
        into: dict[int, list[int]] = {}
        first = []
        for edge, coefficient in zip(self.at.model.edges, coefficients, strict=True):
            if coefficient > 0:
                first.append(edge.source)
            elif coefficient == 0:
                into.setdefault(edge.target, []).append(edge.source)
        return reached(into, first)
