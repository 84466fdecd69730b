"""How often the tests of a loop go on, by the value analysis.

A loop's back edges are taken at most as often as one of its exit tests says "go on". How often that
is depends on what the test compares: :mod:`~wcetchar.static.values.order_tests`,
:mod:`~wcetchar.static.values.equality_tests` and :mod:`~wcetchar.static.values.shrinking` have the
equations, over what :mod:`~wcetchar.static.values.induction` says of the values. Source: C. Healy,
M. Sjodin, V. Rustagi, D. Whalley and R. van Engelen, "Supporting timing analysis by automatic
bounding of loop iterations", Real-Time Systems 18, 2000.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from wcetchar.model.flow import Edge, Loop
from wcetchar.static.values.analysis import Values
from wcetchar.static.values.counted import Counted, Parameters, Test
from wcetchar.static.values.equality_tests import counted_by_distance, counted_by_residue
from wcetchar.static.values.induction import Induction
from wcetchar.static.values.order_tests import counted_by_order
from wcetchar.static.values.shrinking import counted_by_shrinking
from wcetchar.static.values.state import State


class LoopCounts:
    """Of one loop.

    Attributes:
        induction: what varies in it.
        parameters: that formulas are over.
    """

    def __init__(self, values: Values, loop: Loop, names: Mapping[int, str]) -> None:
        """``names``: of the parameters that registers hold at the function's entry."""
        self._values, self._loop = values, loop
        self.induction = Induction(values, loop)
        self.parameters = Parameters(names)

    def counted(self) -> list[Counted]:
        """What the tests say of which every way round the loop passes one."""
        found: list[Counted] = []
        for test, edges in self._tests().items():
            if self._cut(edges):
                behind = [state for e in edges if (state := self._values.after[e]) is not None]
                found += [replace(one, edges=edges) for one in self._counted(test, behind)]
        return found

    def _tests(self) -> Mapping[Test, list[Edge]]:
        """Edges that go on inside, by what is true where they do."""
        found: dict[Test, list[Edge]] = {}
        for member in sorted(self._loop.members):
            for edge in self._values.graph.successors[member]:
                outcome = self._values.outcomes.get(edge)
                if edge.target in self._loop.members and outcome is not None:
                    left, relation, right = outcome
                    test = Test(left.form, relation, right.form)
                    found.setdefault(test, []).append(edge)
        return found

    def _cut(self, tests: Iterable[Edge]) -> bool:
        """Every way from the header round to the header takes one of these edges."""
        cut = set(tests)
        graph, members = self._values.graph, self._loop.members
        seen, work = {self._loop.header}, [self._loop.header]
        while work:
            block = work.pop()
            for edge in graph.successors[block]:
                if edge in cut or edge.target not in members:
                    continue
                if self._values.after.get(edge) is None:
                    continue  # never taken
                if edge.target == self._loop.header:
                    return False
                if edge.target not in seen:
                    seen.add(edge.target)
                    work.append(edge.target)
        return True

    def _counted(self, test: Test, behind: Sequence[State]) -> list[Counted]:
        """``behind``: states behind the test where it goes on."""
        loop, parameters = self.induction, self.parameters
        found = (
            counted_by_order(loop, parameters, test, behind),
            counted_by_distance(loop, parameters, test),
            *(counted_by_residue(loop, parameters, test, behind, width) for width in (8, 16, 32)),
            counted_by_shrinking(loop, test),
        )
        return [counted for counted in found if counted is not None]
