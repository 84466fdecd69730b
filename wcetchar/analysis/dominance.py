"""Whether one stretch counts at least as much as another, wherever they may be priced.

Between observed points, and beyond them, a formula is what is priced: a stretch that another one
exceeds at every point that was observed may well be the longer one at the end of the declared range
(one of 8 rounds, and one of N rounds that was seen up to N = 8). Tables are priced at observed
points alone, and between them at the largest of those around.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from math import prod

from wcetchar.analysis.cases import Point
from wcetchar.analysis.fitting.bounds import never_negative
from wcetchar.analysis.fitting.terms import combine
from wcetchar.analysis.repetition import Packed
from wcetchar.counting.columns import unpack
from wcetchar.model.access import Key
from wcetchar.model.characterization import Counts
from wcetchar.model.expression import ONE, Expression
from wcetchar.model.service import Parameter


def observed_as_much(one: Mapping[Point, Packed], two: Mapping[Point, Packed]) -> bool:
    """At every observed point ``one`` counts at least as much of every class as ``two``."""
    for point, counts in two.items():
        larger, smaller = _by_class(one[point]), _by_class(counts)
        if any(larger.get(code, 0) < count for code, count in smaller.items()):
            return False
    return True


def cover(points: Sequence[Point], parameters: Sequence[Parameter]) -> bool:
    """The points, without repetition, are all that the declared ranges have."""
    return len(points) == prod(p.maximum - p.minimum + 1 for p in parameters)


def published_as_much(one: Counts, two: Counts, parameters: Sequence[Parameter]) -> bool:
    """Of counts for which :func:`observed_as_much` holds, whether it does at all declared values,
    as they are published. ``False`` means "not proven"."""
    if not one.is_formula and not two.is_formula:
        return True
    if not one.is_formula or not two.is_formula:
        return False
    ranges = {p.name: (p.minimum, p.maximum) for p in parameters}
    more, less = _coefficients(one), _coefficients(two)
    # Most classes differ in the same way: each difference is proven once.
    differences = {
        frozenset(
            (repetition, number)
            for repetition in more[key].keys() | less[key].keys()
            if (number := more[key][repetition] - less[key][repetition])
        )
        for key in less
    }
    return all(
        never_negative(_sum(difference), ranges)
        for difference in differences
        if any(number < 0 for _, number in difference)
    )


def _sum(difference: frozenset[tuple[Expression, int]]) -> Expression:
    terms = [(number, repetition) for repetition, number in difference if repetition != ONE]
    constant = sum(number for repetition, number in difference if repetition == ONE)
    return combine(terms, constant)


def _coefficients(counts: Counts) -> defaultdict[Key, Counter[Expression]]:
    """Of every class, how often it is counted for each repetition."""
    found: defaultdict[Key, Counter[Expression]] = defaultdict(Counter)
    for row in counts.rows:
        for key, number in row.vector.items():
            found[key][row.repetition] += number
    return found


def _by_class(counts: Packed) -> Counter[int]:
    summed: Counter[int] = Counter()
    for packed, count in counts.items():
        summed[unpack(packed)[1]] += count
    return summed
