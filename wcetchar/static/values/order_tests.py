"""How often a loop goes on whose test compares the order of two values, one of which steps.

With x_j what is compared in iteration j = 0, 1, ... and b what it is compared with, which the loop
leaves alone, it goes on for so many j in a row:

    x_j < b, x_j <= b:   max(0, ceil((b' - x_0) / step)), b' = b or b + 1, where no sum wraps around
    x_j > b, x_j >= b:   the same downwards

A limit that varies, but stays within known numbers, is taken for the furthest one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from wcetchar.model.term import Relation
from wcetchar.static.values import interval as sets
from wcetchar.static.values.count import Count, less
from wcetchar.static.values.counted import Counted, Distance, Parameters, Test, numbers_or_formulas
from wcetchar.static.values.form import Form, Range, combined
from wcetchar.static.values.induction import UNCHANGED, Induction
from wcetchar.static.values.state import State, joined_ranges


def counted_by_order(
    loop: Induction, parameters: Parameters, test: Test, behind: Sequence[State]
) -> Counted | None:
    """One side goes towards the other; ``behind``: states behind the test where it goes on.
    ``None``: that is not known."""
    left, relation, right = test.left, test.relation, test.right
    if relation in (Relation.EQUAL, Relation.NOT_EQUAL):
        return None
    if loop.steps_of(left) in (None, UNCHANGED):
        left, relation, right = right, relation.mirrored, left
    steps = loop.steps_of(left)
    if steps is None:
        return None
    # A limit that varies is no further than the furthest that it goes on with.
    fixed = loop.steps_of(right) == UNCHANGED
    signed = relation.value.endswith("s")
    low, high = (-sets.SIGN, sets.SIGN - 1) if signed else (0, sets.WORD)
    upwards = relation.value.startswith("<")
    if not upwards:
        steps = frozenset(-step for step in steps)
    if min(steps) <= 0:
        return None
    included = "=" in relation.value
    going = joined_ranges([state.range_of_form(left) for state in behind])
    limits = joined_ranges([state.range_of_form(right) for state in behind])
    if going.stack or limits.stack:
        return None
    numeric: list[Count] = []
    symbolic: list[Count | None] = []
    way: Distance | None = None
    for state in loop.entries:
        first = loop.at_entry(left, state)
        limit = loop.at_entry(right, state) if fixed else None
        if first is None or (fixed and limit is None):
            return None
        begin = state.range_of_form(first)
        end = limits if limit is None else state.range_of_form(limit)
        if begin.stack or end.stack:
            return None
        # It does not go on at all with a first value, or a limit, that it never goes on with.
        first_ones = sets.meet(begin.interval, going.interval)
        last_ones = sets.meet(end.interval, limits.interval)
        if first_ones is None or last_ones is None:
            numeric.append(Count(0))
            symbolic.append(None)
            continue
        begin, end = Range(first_ones), Range(last_ones)
        starts = begin.interval.signed if signed else begin.interval.natural
        ends = end.interval.signed if signed else end.interval.natural
        # The last value that goes on, and a step more, must not wrap around.
        if upwards and ends[1] - (not included) + max(steps) > high:
            return None
        if not upwards and ends[0] + (not included) - max(steps) < low:
            return None
        more = int(included)
        away = ends[1] - starts[0] if upwards else starts[1] - ends[0]
        numeric.append(Count(max(0, away + more), divisor=min(steps)))
        if limit is None:
            symbolic.append(None)
            continue
        distance = combined(((limit, 1), (first, -1)) if upwards else ((first, 1), (limit, -1)))
        if distance is not None:
            way = Distance(distance, more, min(steps), away)
            # Where it goes on at all, the distance is what the difference of 32 bits says.
            most = state.range_of_form(distance)
            if not most.stack:
                numeric[-1] = less(
                    numeric[-1],
                    Count(most.interval.natural[1] + more, divisor=min(steps)),
                )
        far, near = (limit, starts[0]) if upwards else (first, ends[0])
        symbolic.append(_symbolic(parameters, state, far, near - more, distance, more, min(steps)))
    why = f"goes {'up' if upwards else 'down'} by {_text(steps)} to a limit"
    found = numbers_or_formulas(numeric, symbolic, why)
    return found if len(loop.entries) != 1 else replace(found, distance=way)


def _symbolic(
    parameters: Parameters,
    state: State,
    far: Form,
    near: int,
    distance: Form | None,
    more: int,
    step: int,
) -> Count | None:
    """``far - near``, or ``distance + more``, by the step."""
    exact = parameters.at_least(state, far)
    if exact is not None and exact[2] >= 0:
        return Count(exact[0] - near, exact[1], step, clipped=exact[2] < near)
    exact = None if distance is None else parameters.at_least(state, distance)
    if exact is None or exact[2] < 0:
        return None
    return Count(exact[0] + more, exact[1], step)


def _text(steps: Iterable[int]) -> str:
    return " or ".join(str(step) for step in sorted(steps))
