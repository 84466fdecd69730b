"""Bounds of counted loops, proved by the value analysis.

A loop's back edges are taken at most as often as one of its exit tests says "go on". With x_j what
is compared in iteration j = 0, 1, ... and b what it is compared with, which the loop leaves alone,

    x_j = x_0 + j * step  (mod 2^32)        go on while  x_j R b

and the number of j in a row for which that holds is

    R is <, <=:   max(0, ceil((b' - x_0) / step)), b' = b or b + 1, where no sum wraps around
    R is >, >=:   the same downwards
    R is !=:      ((b - x_0) mod 2^32) / step, where the step divides it

A value that is shifted or divided by a constant each time gets small: its greatest number is
followed until the test must fail. Source: M. N. Wegman and F. K. Zadeck (value numbering) for what
stays the same; C. Healy, M. Sjodin, V. Rustagi, D. Whalley and R. van Engelen, "Supporting timing
analysis by automatic bounding of loop iterations", Real-Time Systems 18, 2000.

Inputs: a graph and its :class:`~wcetchar.static.values.Values`. Outputs: for each loop, by number,
a bound as a formula of arguments, or none.

Soundness. A test counts where every way round the loop passes it, or others that test the same. The
formula holds where a parameter is what its register holds at entry, read as a natural number; of a
signed number that is not negative that is the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wcetchar.model.expression import (
    Binary,
    BinaryOperator,
    Call,
    Expression,
    Function,
    Name,
    Number,
)
from wcetchar.model.flow import Edge, Loop
from wcetchar.model.term import Operator, Relation
from wcetchar.static.values import interval as sets
from wcetchar.static.values.analysis import Values
from wcetchar.static.values.form import Form, Range, Tag, combined
from wcetchar.static.values.state import State, joined_ranges

MODULUS: Final = sets.MODULUS
_USELESS: Final = 1 << 20
"""A bound that is not less says nothing: what is longer is no window (``analysis/contexts.py``)."""
_MOST_STEPS: Final = 16
_LARGE: Final = 1 << 16
"""A number that is not less is left out where there is a formula."""


@dataclass(frozen=True)
class DerivedBound:
    """Each time that the loop is entered, its back edges are taken at most ``limit`` times
    together. ``why`` says for people how that comes about."""

    limit: Expression
    why: str


@dataclass(frozen=True)
class _Count:
    """At most so many: a number, or ``terms`` (name, factor) plus ``constant``, divided by
    ``divisor`` and rounded up, and at least 0."""

    constant: int
    terms: tuple[tuple[str, int], ...] = ()
    divisor: int = 1
    clipped: bool = False

    @property
    def number(self) -> int | None:
        if self.terms:
            return None
        return max(0, -(-self.constant // self.divisor))


def derive_bounds(
    values: Values, names: Mapping[int, str] | None = None
) -> Mapping[int, DerivedBound]:
    """Bounds by number of the loop, of those that have one.

    Args:
        names: of the parameters that registers hold at the function's entry.
    """
    if not values.settled:
        return {}
    found = {}
    for number, loop in enumerate(values.graph.loops):
        if loop.others:
            continue  # what is counted from one header to the next is not followed
        bound = _Loop(values, loop, names or {}).bound()
        if bound is not None:
            found[number] = bound
    return found


@dataclass(frozen=True)
class _Test:
    """Go on while ``left relation right``; forms of the values at a test in the loop."""

    left: Form
    relation: Relation
    right: Form


class _Loop:
    def __init__(self, values: Values, loop: Loop, names: Mapping[int, str]) -> None:
        self._values, self._loop, self._names = values, loop, names
        graph = values.graph
        self._indices = {
            index
            for member in loop.members
            for index in range(graph.blocks[member].first, graph.blocks[member].last + 1)
        }
        after = values.after
        self._back = [state for edge in loop.back if (state := after.get(edge)) is not None]
        self._entries = [state for edge in loop.entries if (state := after.get(edge)) is not None]
        if loop.header in graph.entries:
            self._entries.append(values.entry)

    def bound(self) -> DerivedBound | None:
        if not self._entries or not self._back:
            # Never entered, or never round again.
            return DerivedBound(Number(0), "it is never gone round again")
        counts: list[tuple[Sequence[_Count], str]] = []
        for test, edges in self._tests().items():
            if self._cut(edges):
                behind = [state for e in edges if (state := self._values.after[e]) is not None]
                counts += self._counted(test, behind)
        return _smallest(counts)

    # --- tests ---

    def _tests(self) -> Mapping[_Test, list[Edge]]:
        """Edges that go on inside, by what is true where they do."""
        found: dict[_Test, list[Edge]] = {}
        for member in sorted(self._loop.members):
            for edge in self._values.graph.successors[member]:
                outcome = self._values.outcomes.get(edge)
                if edge.target in self._loop.members and outcome is not None:
                    left, relation, right = outcome
                    test = _Test(left.form, relation, right.form)
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

    # --- what varies ---

    def _invariant(self, tag: Tag) -> bool:
        form = tag.made_of
        if form is not None:
            return all(self._invariant(part) for part in form.names())
        if tag.kind == "entry":
            return True
        if tag.kind == "met":
            return tag.site not in self._loop.members
        return tag.site not in self._indices

    def _steps(self, tag: Tag) -> frozenset[int] | None:
        """What is added to a value each time round; ``None``: that is not known."""
        if self._invariant(tag):
            return frozenset({0})
        if tag.kind != "met" or tag.site != self._loop.header:
            return None
        total: frozenset[int] = frozenset()
        for state in self._back:
            found = self._away(tag, _form_at(state, tag), frozenset())
            if found is None:
                return None
            total |= found
        return total if len(total) <= _MOST_STEPS else None

    def _away(self, head: Tag, form: Form | None, passed: frozenset[int]) -> frozenset[int] | None:
        """By how much a form is more than a tag of the header in the same iteration; where ways
        came together in between, by each of them."""
        tag = None if form is None else form.tag
        if form is None or tag is None:
            return None
        if tag == head:
            return frozenset({_signed(form.constant)})
        values, header = self._values, self._values.before[self._loop.header]
        block = tag.site
        if tag.kind != "met" or block not in self._loop.members or block in passed:
            return None
        if header is None or tag in header.ranges:
            return None  # it may be of an iteration before
        total: frozenset[int] = frozenset()
        for edge in values.graph.predecessors[block]:
            state = values.after[edge]
            if state is None:
                continue
            found = self._away(head, _form_at(state, tag), passed | {block})
            if found is None:
                return None
            total |= {_signed(step + form.constant) for step in found}
        return total

    def _steps_of(self, form: Form) -> frozenset[int] | None:
        """The same of a form; one value that varies, or several by one step each."""
        total = frozenset({0})
        for tag, factor in form.tags:
            steps = self._steps(tag)
            if steps is None or (len(steps) > 1 and len(total) > 1):
                return None
            # Two that vary by choice may choose together.
            varying = [step for step in (steps, total) if step != frozenset({0})]
            if len(varying) > 1 and any(len(step) > 1 for step in varying):
                return None
            total = frozenset(
                _signed((one + two * factor) % MODULUS) for one in total for two in steps
            )
        return total

    def _at_entry(self, form: Form, state: State) -> Form | None:
        """The form in the first iteration, in terms of what was known before the loop."""
        parts = []
        for tag, factor in form.tags:
            if tag.kind == "met" and tag.site == self._loop.header:
                before = _form_at(state, tag)
                if before is None:
                    return None
                parts.append((before, factor))
            else:
                parts.append((Form(0, ((tag, 1),)), factor))
        return combined([(Form(form.constant), 1), *parts])

    # --- counting ---

    def _counted(self, test: _Test, behind: Sequence[State]) -> list[tuple[Sequence[_Count], str]]:
        """``behind``: states behind the test where it goes on."""
        found = (self._by_steps(test, behind), self._by_distance(test), self._by_shrinking(test))
        return [counted for counted in found if counted is not None]

    def _by_steps(
        self, test: _Test, behind: Sequence[State]
    ) -> tuple[Sequence[_Count], str] | None:
        """Comparisons of order: one side goes towards the other."""
        left, relation, right = test.left, test.relation, test.right
        if relation in (Relation.EQUAL, Relation.NOT_EQUAL):
            return None
        if self._steps_of(left) == frozenset({0}):
            left, relation, right = right, relation.mirrored, left
        steps = self._steps_of(left)
        if steps is None or self._steps_of(right) != frozenset({0}):
            return None
        signed = relation.value.endswith("s")
        low, high = (-sets.SIGN, sets.SIGN - 1) if signed else (0, sets.WORD)
        upwards = relation.value.startswith("<")
        if not upwards:
            steps = frozenset(-step for step in steps)
        if min(steps) <= 0:
            return None
        included = "=" in relation.value
        going = joined_ranges([state.range_of_form(left) for state in behind])
        if going.stack:
            return None
        numeric: list[_Count] = []
        symbolic: list[_Count | None] = []
        for state in self._entries:
            first, limit = self._at_entry(left, state), self._at_entry(right, state)
            if first is None or limit is None:
                return None
            begin, end = state.range_of_form(first), state.range_of_form(limit)
            if begin.stack or end.stack:
                return None
            # It does not go on at all with a first value that it never goes on with.
            first_ones = sets.meet(begin.interval, going.interval)
            if first_ones is None:
                numeric.append(_Count(0))
                symbolic.append(None)
                continue
            begin = Range(first_ones)
            starts = begin.interval.signed if signed else begin.interval.natural
            ends = end.interval.signed if signed else end.interval.natural
            # The last value that goes on, and a step more, must not wrap around.
            if upwards and ends[1] - (not included) + max(steps) > high:
                return None
            if not upwards and ends[0] + (not included) - max(steps) < low:
                return None
            more = int(included)
            away = ends[1] - starts[0] if upwards else starts[1] - ends[0]
            distance = combined(((limit, 1), (first, -1)) if upwards else ((first, 1), (limit, -1)))
            numeric.append(_Count(max(0, away + more), divisor=min(steps)))
            if distance is not None:
                # Where it goes on at all, the distance is what the difference of 32 bits says.
                most = state.range_of_form(distance)
                if not most.stack:
                    numeric[-1] = _less(
                        numeric[-1],
                        _Count(most.interval.natural[1] + more, divisor=min(steps)),
                    )
            far, near = (limit, starts[0]) if upwards else (first, ends[0])
            symbolic.append(self._symbolic(state, far, near - more, distance, more, min(steps)))
        why = f"goes {'up' if upwards else 'down'} by {_text(steps)} to a limit"
        return self._chosen(numeric, symbolic, why)

    def _symbolic(
        self,
        state: State,
        far: Form,
        near: int,
        distance: Form | None,
        more: int,
        step: int,
    ) -> _Count | None:
        """``far - near``, or ``distance + more``, by the step."""
        exact = self._named(state, far)
        if exact is not None and exact[2] >= 0:
            return _Count(exact[0] - near, exact[1], step, clipped=exact[2] < near)
        exact = None if distance is None else self._named(state, distance)
        if exact is None or exact[2] < 0:
            return None
        return _Count(exact[0] + more, exact[1], step)

    def _by_distance(self, test: _Test) -> tuple[Sequence[_Count], str] | None:
        """Until two are equal."""
        if test.relation is Relation.EQUAL:
            steps = self._difference_steps(test)
            if steps is not None and 0 not in steps:
                return [_Count(1)] * len(self._entries), "goes on while two are equal, one varies"
            return None
        if test.relation is not Relation.NOT_EQUAL:
            return None
        steps = self._difference_steps(test)
        difference = combined(((test.right, 1), (test.left, -1)))
        if steps is None or len(steps) != 1 or difference is None:
            return None
        step = -next(iter(steps))  # of right - left, which is to become 0
        if step == 0:
            return None
        numeric: list[_Count] = []
        symbolic: list[_Count | None] = []
        for state in self._entries:
            first = self._at_entry(difference, state)
            if first is None:
                return None
            if step > 0:
                first = combined(((first, -1),))
                assert first is not None
            found = state.range_of_form(first)
            if found.stack or not _divides(abs(step), first, found.interval):
                return None
            most = found.interval.natural[1]
            numeric.append(_Count(most // abs(step)))
            exact = self._named(state, first)
            symbolic.append(
                None if exact is None or exact[2] < 0 else _Count(exact[0], exact[1], abs(step))
            )
        return self._chosen(numeric, symbolic, f"goes on by {abs(step)} until it is equal")

    def _difference_steps(self, test: _Test) -> frozenset[int] | None:
        """Steps of left - right."""
        difference = combined(((test.left, 1), (test.right, -1)))
        return None if difference is None else self._steps_of(difference)

    def _by_shrinking(self, test: _Test) -> tuple[Sequence[_Count], str] | None:
        """A value that is shifted to the right or divided by a constant each time."""
        left, relation, right = test.left, test.relation, test.right
        if not right.tags:
            least = {
                Relation.NOT_EQUAL: 1 if right.constant == 0 else None,
                Relation.GREATER: right.constant + 1,
                Relation.GREATER_EQUAL: right.constant,
            }.get(relation)
        else:
            return None
        tag, header = left.tag, self._values.before[self._loop.header]
        if tag is None or left.constant or not least or header is None:
            return None
        shrunk = self._values.shrunk
        behind = tag in shrunk and tag.site in self._indices
        if behind and (tag in header.ranges or shrunk[tag][0].constant):
            return None
        head = shrunk[tag][0].tag if behind else tag
        if head is None or head.kind != "met" or head.site != self._loop.header:
            return None
        by: tuple[Operator, int] | None = None
        for state in self._back:
            form = _form_at(state, head)
            now = None if form is None else form.tag
            if form is None or now is None or form.constant or now not in shrunk:
                return None
            given, operator, amount = shrunk[now]
            # Set in this iteration, of what the header has.
            if given.tag != head or given.constant or now in header.ranges:
                return None
            if now.site not in self._indices or by not in (None, (operator, amount)):
                return None
            by = (operator, amount)
        if by is None or by[1] < (1 if by[0] is Operator.SHIFT_RIGHT else 2):
            return None
        if behind and (shrunk[tag][1], shrunk[tag][2]) != by:
            return None
        counts = []
        for state in self._entries:
            before = _form_at(state, head)
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
            counts.append(_Count(times))
        return counts, f"gets smaller by {by[0]} {by[1]} until it is less than {least}"

    # --- formulas ---

    def _named(
        self, state: State, form: Form
    ) -> tuple[int, tuple[tuple[str, int], ...], int] | None:
        """A sum of parameters that is at least what a form is: constant, terms, and the least value
        of the form's own sum; ``None``: it has others. Where that is not negative, the sum is at
        least what the form's 32 bits say, however they are read."""
        terms: list[tuple[str, int]] = []
        constant = _signed(form.constant)
        least = constant
        for tag, factor in form.tags:
            factor = _signed(factor)
            low, high = _natural(state, tag)
            name = self._name(tag if factor < 0 else _not_less(tag, high))
            if name is None:
                return None
            least += factor * (low if factor > 0 else high)
            terms.append((name, factor))
        return constant, tuple(terms), least

    def _name(self, tag: Tag) -> str | None:
        if tag.kind != "entry" or tag.place[0] != "r":
            return None
        return self._names.get(tag.place[1])

    def _chosen(
        self, numeric: Sequence[_Count], symbolic: Sequence[_Count | None], why: str
    ) -> tuple[Sequence[_Count], str] | None:
        """Numbers where they say something, formulas where those do not."""
        chosen = []
        for number, formula in zip(numeric, symbolic, strict=True):
            count = number.number
            if formula is not None and formula.terms and (count is None or count >= _LARGE):
                chosen.append(formula)
            elif count is not None and count < _USELESS:
                chosen.append(_Count(count))
            elif formula is not None:
                chosen.append(formula)
            else:
                return None
        return chosen, why


def _less(one: _Count, two: _Count) -> _Count:
    first, second = one.number, two.number
    assert first is not None
    assert second is not None
    return one if first <= second else two


def _smaller(number: int, by: tuple[Operator, int]) -> int:
    return number >> by[1] if by[0] is Operator.SHIFT_RIGHT else number // by[1]


def _divides(step: int, form: Form, found: sets.Interval) -> bool:
    """The natural number that the form stands for is a multiple of the step."""
    if step == 1:
        return True
    power = step & step - 1 == 0
    if power and all(
        number % step == 0 for number in (form.constant, *(factor for _, factor in form.tags))
    ):
        return True
    plain = found.start + found.length < MODULUS
    return (plain or power) and found.start % step == 0 and found.step % step == 0


def _form_at(state: State, tag: Tag) -> Form | None:
    """What a place holds that a tag of a header names."""
    if tag.place[0] == "r":
        value = state.registers.get(tag.place[1])
        return None if value is None else value.form
    held = state.memory.get(tag.place)
    return None if held is None else held.value.form


def _natural(state: State, tag: Tag) -> tuple[int, int]:
    found = state.ranges.get(tag)
    return (0, sets.WORD) if found is None or found.stack else found.interval.natural


def _not_less(tag: Tag, high: int) -> Tag:
    """A tag that is not less, read as natural numbers: of low bits, what they are part of."""
    form = tag.made_of
    if form is None or form.tag is None or form.constant:
        return tag
    if tag.kind == "ext" and high >= 1 << tag.site - 1:
        return tag
    return _not_less(form.tag, sets.WORD)


def _signed(number: int) -> int:
    number %= MODULUS
    return number - MODULUS if number >= sets.SIGN else number


def _text(steps: Iterable[int]) -> str:
    return " or ".join(str(step) for step in sorted(steps))


def _smallest(counts: Sequence[tuple[Sequence[_Count], str]]) -> DerivedBound | None:
    """The least number, or the first formula; of both, the smaller one each time."""
    numbers, formulas = [], []
    for entries, why in counts:
        found = [count.number for count in entries]
        if all(number is not None for number in found):
            numbers.append((max(number for number in found if number is not None), why))
        else:
            formulas.append((_maximum(entries), why))
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


def _maximum(entries: Sequence[_Count]) -> Expression:
    """Over the ways in which the loop is entered."""
    found = list(dict.fromkeys(_expression(count) for count in entries))
    return found[0] if len(found) == 1 else Call(Function.MAX, tuple(found))


def _expression(count: _Count) -> Expression:
    number = count.number
    if number is not None:
        return Number(number)
    divisor, constant, terms = count.divisor, count.constant, count.terms
    if all(value % divisor == 0 for value in (constant, *(factor for _, factor in terms))):
        constant //= divisor
        terms = tuple((name, factor // divisor) for name, factor in terms)
        divisor = 1
    total = _sum(constant, terms)
    if divisor > 1:
        quotient = Binary(BinaryOperator.DIVIDE, total, Number(divisor))
        total = Call(Function.CEIL, (quotient,))
    return Call(Function.MAX, (Number(0), total)) if count.clipped else total


def _sum(constant: int, terms: Sequence[tuple[str, int]]) -> Expression:
    total: Expression | None = None
    for name, factor in sorted(terms, key=lambda term: (term[1] < 0, term[0])):
        size = abs(factor)
        part: Expression = Name(name)
        if size != 1:
            part = Binary(BinaryOperator.MULTIPLY, Number(size), part)
        if total is None:
            total = part if factor > 0 else Binary(BinaryOperator.SUBTRACT, Number(0), part)
        else:
            sign = BinaryOperator.ADD if factor > 0 else BinaryOperator.SUBTRACT
            total = Binary(sign, total, part)
    if total is None:
        return Number(constant)
    if constant > 0:
        return Binary(BinaryOperator.ADD, total, Number(constant))
    if constant < 0:
        return Binary(BinaryOperator.SUBTRACT, total, Number(-constant))
    return total
