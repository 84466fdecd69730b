"""How often a loop goes on that shifts a value to the right each time, or divides it.

The value gets small: its greatest number is followed until the test must fail.
"""

from __future__ import annotations

from wcetchar.model.term import Operator, Relation
from wcetchar.static.values.count import Count
from wcetchar.static.values.counted import Counted, Test
from wcetchar.static.values.induction import Induction, form_at


def counted_by_shrinking(loop: Induction, test: Test) -> Counted | None:
    """Until the value is less than a constant; ``None``: it does not shrink, or that is not
    known."""
    left, relation, right = test.left, test.relation, test.right
    if not right.tags:
        least = {
            Relation.NOT_EQUAL: 1 if right.constant == 0 else None,
            Relation.GREATER: right.constant + 1,
            Relation.GREATER_EQUAL: right.constant,
        }.get(relation)
    else:
        return None
    tag, header = left.tag, loop.header
    if tag is None or left.constant or not least or header is None:
        return None
    shrunk = loop.values.shrunk
    behind = tag in shrunk and tag.site in loop.indices
    if behind and (tag in header.ranges or shrunk[tag][0].constant):
        return None
    head = shrunk[tag][0].tag if behind else tag
    if head is None or not loop.is_of_header(head):
        return None
    by: tuple[Operator, int] | None = None
    for state in loop.back:
        form = form_at(state, head)
        now = None if form is None else form.tag
        if form is None or now is None or form.constant or now not in shrunk:
            return None
        given, operator, amount = shrunk[now]
        # Set in this iteration, of what the header has.
        if given.tag != head or given.constant or now in header.ranges:
            return None
        if now.site not in loop.indices or by not in (None, (operator, amount)):
            return None
        by = (operator, amount)
    if by is None or by[1] < (1 if by[0] is Operator.SHIFT_RIGHT else 2):
        return None
    if behind and (shrunk[tag][1], shrunk[tag][2]) != by:
        return None
    counts = []
    for state in loop.entries:
        before = form_at(state, head)
        if before is None:
            return None
        found = state.range_of_form(before)
        if found.stack:
            return None
        number, times = found.interval.natural[1], 0
        if behind:
            number = _smaller(number, by)
        while number >= least:
            number, times = _smaller(number, by), times + 1
        counts.append(Count(times))
    return Counted(counts, counts, f"gets smaller by {by[0]} {by[1]} until it is less than {least}")


def _smaller(number: int, by: tuple[Operator, int]) -> int:
    return number >> by[1] if by[0] is Operator.SHIFT_RIGHT else number // by[1]
