"""Bounds of counted loops, proved by the value analysis.

Inputs: a graph and its :class:`~wcetchar.static.values.Values`. Outputs: for each loop, by number,
a bound as a formula of arguments, or none. How often tests go on is counted in
:mod:`~wcetchar.static.values.loop_counts`, and in :mod:`~wcetchar.static.values.nested_loops` where
that depends on a loop around.

Soundness. A test counts where every way round the loop passes it, or others that test the same. The
formula holds where a parameter is what its register holds at entry, read as a natural number; of a
signed number that is not negative that is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from wcetchar.model.expression import Call, Expression, Function, Number
from wcetchar.static.values.analysis import Values
from wcetchar.static.values.count import maximum
from wcetchar.static.values.counted import Counted
from wcetchar.static.values.loop_counts import LoopCounts
from wcetchar.static.values.nested_loops import Nested, nested_counts


@dataclass(frozen=True)
class DerivedBound:
    """Each time that the loop is entered, its back edges are taken at most ``limit`` times
    together. ``why`` says for people how that comes about.

    ``total``: number of a loop around it, and how often they are taken together, at most, each time
    that that one is entered.
    """

    limit: Expression
    why: str
    total: tuple[int, Expression] | None = None


def derive_bounds(
    values: Values, names: Mapping[int, str] | None = None
) -> Mapping[int, DerivedBound]:
    """Bounds by number of the loop, of those that have one.

    Args:
        names: of the parameters that registers hold at the function's entry.
    """
    if not values.settled:
        return {}
    found: dict[int, DerivedBound] = {}
    counted: dict[int, tuple[LoopCounts, list[Counted]]] = {}
    for number, loop in enumerate(values.graph.loops):
        if loop.others:
            continue  # what is counted from one header to the next is not followed
        counts = LoopCounts(values, loop, names or {})
        if not counts.induction.turns:
            found[number] = DerivedBound(Number(0), "it is never gone round again")
            continue
        tests = counts.counted()
        nested: list[Nested] = []
        if loop.parent in counted:
            nested = [*nested_counts(values.graph, counts, tests, *counted[loop.parent])]
            tests += [Counted([one.count], [one.most], one.why, one.edges) for one in nested]
        counted[number] = counts, tests
        bound = _smallest(tests)
        if bound is not None and loop.parent is not None and nested:
            bound = replace(bound, total=(loop.parent, _least([one.total for one in nested])))
        if bound is not None:
            found[number] = bound
    return found


def _least(given: Sequence[Expression]) -> Expression:
    """The least number; of formulas the smaller one each time."""
    numbers = [one.value for one in given if isinstance(one, Number)]
    found: list[Expression] = list(dict.fromkeys(x for x in given if not isinstance(x, Number)))
    if numbers:
        found.append(Number(min(numbers)))
    return found[0] if len(found) == 1 else Call(Function.MIN, tuple(found))


def _smallest(tests: Sequence[Counted]) -> DerivedBound | None:
    """The least number, or the first formula; of both, the smaller one each time."""
    numbers, formulas = [], []
    for test in tests:
        found = [count.number for count in test.counts]
        if not found:
            continue
        if all(number is not None for number in found):
            numbers.append((max(number for number in found if number is not None), test.why))
        else:
            formulas.append((maximum(test.counts), test.why))
    least = min(numbers, default=None)
    if not formulas:
        return None if least is None else DerivedBound(Number(least[0]), least[1])
    limit, why = formulas[0]
    for other, _ in formulas[1:]:
        if other != limit:
            limit = Call(Function.MIN, (limit, other))
    if least is not None:
        limit = Call(Function.MIN, (limit, Number(least[0])))
    return DerivedBound(limit, why)
