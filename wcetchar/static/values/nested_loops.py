"""Loops whose bounds depend on the counter of the loop around them.

The outer loop's body is executed at most m times for each entry of it, in iterations k = 0, 1, ...
m - 1, and each enters the inner loop once at most. A counter of the outer loop is x_0 + k * s in
iteration k. So the inner loop's distance is d(k) = a + b * k, and its test goes on

    c(k) = max(0, ceil((a + b * k + more) / step))  times,

in one iteration at most the larger one of c(0) and c(m - 1), and in all of them together

    sum of c(k), k = 0 ... m - 1   <=   floor((m * a' + b * m * (m - 1) / 2 + e) / step)

with a' = a + more + step - 1, which is to be at least 0 where b > 0, and e what the terms of the
sum that are negative add up to, by amount. Source: C. Healy, M. Sjodin, V. Rustagi, D. Whalley and
R. van Engelen, "Supporting timing analysis by automatic bounding of loop iterations", Real-Time
Systems 18, 2000, section 6 (non-rectangular loop nests).

Soundness. d is known modulo 2^32 only, as the form of two values' difference. With d(k) >= 0 for
all k, the 32 bits say no more than d(k). With d(k) >= -t, where the numbers that are compared are
never as far apart as 2^32 - t, d(k) itself is their difference.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from wcetchar.model.expression import Binary, BinaryOperator, Call, Expression, Function, Number
from wcetchar.model.flow import Edge, FunctionGraph
from wcetchar.static.values import interval as sets
from wcetchar.static.values.count import Count, expression_of, sum_of
from wcetchar.static.values.counted import Counted, Distance
from wcetchar.static.values.form import Form
from wcetchar.static.values.induction import form_at
from wcetchar.static.values.loop_counts import LoopCounts

MOST_ADDED: Final = 1 << 16
"""Iterations whose counts are added up one by one."""


@dataclass(frozen=True)
class Nested:
    """
    Attributes:
        count: times that the inner loop's test goes on, for one entry of the loop.
        most: the same as a number, however large.
        total: for one entry of the outer loop.
        edges: along which the test goes on.
    """

    count: Count
    most: Count
    total: Expression
    why: str
    edges: Sequence[Edge] = ()


@dataclass(frozen=True)
class _Line:
    """``low`` to ``high`` + terms + slope * k, in iteration k."""

    low: int
    high: int
    terms: tuple[tuple[str, int], ...]
    slope: int


def nested_counts(
    graph: FunctionGraph,
    inner: LoopCounts,
    found: Sequence[Counted],
    outer: LoopCounts,
    around: Sequence[Counted],
) -> Iterator[Nested]:
    """``found``, ``around``: what the tests of the inner and the outer loop say."""
    if len(inner.induction.entries) != 1 or len(outer.induction.entries) != 1:
        return
    if any(one.others and one.members & outer.induction.loop.members for one in graph.loops):
        return
    for one in found:
        if one.distance is None:
            continue
        for other in around:
            if other.counts:
                nested = _Nest(graph, inner, outer, other, one.distance).solved()
                if nested is not None:
                    yield replace(nested, most=one.numeric[0], edges=one.edges)


class _Nest:
    def __init__(
        self,
        graph: FunctionGraph,
        inner: LoopCounts,
        outer: LoopCounts,
        around: Counted,
        distance: Distance,
    ) -> None:
        self._graph, self._inner, self._outer = graph, inner.induction, outer.induction
        self._parameters = outer.parameters
        self._distance = distance
        self._state = self._inner.entries[0]
        more = 0 if self._is_behind(around) else 1
        number = around.numeric[0].number
        assert number is not None
        self._most = number + more
        """Iterations of the outer loop that enter the inner one, at most."""
        count = around.counts[0]
        self._known = not (more and count.terms and count.clipped)
        self._times = replace(count, constant=count.constant + more * count.divisor)
        """The same as a number or a formula."""
        if self._times.number is not None:
            self._most = min(self._most, self._times.number)

    def _is_behind(self, around: Counted) -> bool:
        """The inner loop is entered behind the outer one's test in each iteration."""
        cut, members = {*around.edges}, self._outer.loop.members
        goal = self._inner.loop.header
        seen, work = {self._outer.loop.header}, [self._outer.loop.header]
        while work:
            block = work.pop()
            for edge in self._graph.successors[block]:
                to = edge.target
                if edge in cut or to not in members or to == self._outer.loop.header:
                    continue
                if to == goal:
                    return False
                if to not in seen:
                    seen.add(to)
                    work.append(to)
        return True

    def solved(self) -> Nested | None:
        line = self._line(self._distance.form)
        if line is None or line.slope == 0 or self._most == 0 or not self._known:
            return None
        least = self._least(line)
        if least is None:
            return None
        if least < 0:
            most = self._distance.most
            if most is None or most >= sets.MODULUS + least:
                return None
        first = Count(
            line.high + self._distance.more, line.terms, self._distance.step, clipped=True
        )
        limit = first
        if line.slope > 0:
            last = self._last(line)
            if last is None:
                return None
            constant, terms = last
            limit = replace(first, constant=constant + self._distance.more, terms=terms)
        total = self._total(line)
        if total is None:
            return None
        sign = "more" if line.slope > 0 else "less"
        why = f"has {abs(line.slope)} {sign} to go with each iteration of the loop around it"
        return Nested(limit, limit, total, why)

    # --- the line ---

    def _line(self, form: Form) -> _Line | None:
        low = high = sets.signed_of(form.constant)
        slope = 0
        terms: Counter[str] = Counter()
        for tag, coefficient in form.tags:
            factor = sets.signed_of(coefficient)
            known = self._state.range_of_form(Form(0, ((tag, 1),)))
            if known.stack:
                return None
            start: Form | None = None
            if tag.kind == "met" and tag.site == self._outer.loop.header:
                steps = self._outer.steps(tag)
                start = form_at(self._outer.entries[0], tag)
                if steps is None or len(steps) != 1 or start is None:
                    return None
                slope += factor * next(iter(steps))
            elif self._parameters.name(tag) is not None:
                start = Form(0, ((tag, 1),))
            if start is None:
                ends = [factor * end for end in known.interval.natural]
                low, high = low + min(ends), high + max(ends)
                continue
            low, high = (end + factor * sets.signed_of(start.constant) for end in (low, high))
            for part, times in start.tags:
                name = self._parameters.name(part)
                if name is not None:
                    terms[name] += factor * sets.signed_of(times)
                    continue
                value = self._outer.entries[0].range_of_form(Form(0, ((part, 1),)))
                if value.stack:
                    return None
                ends = [factor * sets.signed_of(times) * end for end in value.interval.natural]
                low, high = low + min(ends), high + max(ends)
        named = tuple(sorted((name, factor) for name, factor in terms.items() if factor))
        return _Line(low, high, named, slope)

    def _least(self, line: _Line) -> int | None:
        """The distance is at least that in every iteration; ``None``: that is not known."""
        found = []
        low = self._lowest(line.low, line.terms)
        if low is not None:
            found.append(low + min(0, line.slope * (self._most - 1)))
        if line.slope < 0 and self._times.divisor == 1:
            constant, terms = _plus(
                (line.low - line.slope, line.terms),
                (self._times.constant, self._times.terms),
                line.slope,
            )
            low = self._lowest(constant, terms)
            if low is not None:
                found.append(low)
        return max(found, default=None)

    def _lowest(self, constant: int, terms: Sequence[tuple[str, int]]) -> int | None:
        """Parameters are natural numbers."""
        return constant if all(factor > 0 for _, factor in terms) else None

    def _last(self, line: _Line) -> tuple[int, tuple[tuple[str, int], ...]] | None:
        """In the last iteration."""
        if not self._times.terms:
            return line.high + line.slope * (self._most - 1), line.terms
        if self._times.divisor != 1:
            return None
        return _plus(
            (line.high - line.slope, line.terms),
            (self._times.constant, self._times.terms),
            line.slope,
        )

    # --- sums ---

    def _total(self, line: _Line) -> Expression | None:
        more, step, slope = self._distance.more, self._distance.step, line.slope
        if not self._times.terms and not line.terms:
            if self._most > MOST_ADDED:
                return None
            counts = (max(0, -(-(line.high + more + slope * k) // step)) for k in range(self._most))
            return Number(sum(counts))
        first = (line.high + more + step - 1, line.terms)
        rest = skipped = 0
        if slope > 0:
            if not first[1] and first[0] < 0:
                # The first iterations have nothing to go.
                skipped = -(first[0] // slope)
                first = (first[0] + skipped * slope, ())
            low = self._lowest(*first)
            start: Expression = sum_of(*first)
            if low is None or low < 0:
                start = Call(Function.MAX, (Number(0), start))
        else:
            if self._times.divisor != 1 and self._times.terms:
                return None
            last = _plus(
                (first[0] - slope, first[1]), (self._times.constant, self._times.terms), slope
            )
            low = self._lowest(*last)
            if low is None:
                return None
            while low < 0:
                rest, low = rest - low, low - slope
            start = sum_of(*first)
        constant = self._times.constant - skipped * self._times.divisor
        times = expression_of(replace(self._times, constant=constant, clipped=True))
        return _half_sum(times, start, slope, rest, step)


def _plus(
    one: tuple[int, tuple[tuple[str, int], ...]],
    other: tuple[int, tuple[tuple[str, int], ...]],
    factor: int,
) -> tuple[int, tuple[tuple[str, int], ...]]:
    """``one`` + factor * ``other``."""
    terms = Counter(dict(one[1]))
    for name, times in other[1]:
        terms[name] += times * factor
    constant = one[0] + other[0] * factor
    return constant, tuple(sorted((name, times) for name, times in terms.items() if times))


def _half_sum(times: Expression, start: Expression, slope: int, rest: int, step: int) -> Expression:
    """floor((2 * m * a' + b * m * (m - 1) + 2 * e) / (2 * step))."""
    multiply, subtract = BinaryOperator.MULTIPLY, BinaryOperator.SUBTRACT
    squared = Binary(multiply, times, Binary(subtract, times, Number(1)))
    if abs(slope) != 1:
        squared = Binary(multiply, Number(abs(slope)), squared)
    parts: Expression = squared
    if start != Number(0):
        double = Binary(multiply, Number(2), times)
        if start != Number(1):
            double = Binary(multiply, double, start)
        sign = BinaryOperator.ADD if slope > 0 else subtract
        parts = Binary(sign, double, squared)
    elif slope < 0:
        parts = Binary(subtract, Number(0), squared)
    if rest:
        parts = Binary(BinaryOperator.ADD, parts, Number(2 * rest))
    return Call(Function.FLOOR, (Binary(BinaryOperator.DIVIDE, parts, Number(2 * step)),))
