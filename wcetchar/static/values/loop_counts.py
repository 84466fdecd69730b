"""How often the tests of a loop go on, by the value analysis.

A loop's back edges are taken at most as often as one of its exit tests says "go on". With x_j what
is compared in iteration j = 0, 1, ... and b what it is compared with, which the loop leaves alone,

    x_j = x_0 + j * step  (mod 2^32)        go on while  x_j R b

and the number of j in a row for which that holds is

    R is <, <=:   max(0, ceil((b' - x_0) / step)), b' = b or b + 1, where no sum wraps around
    R is >, >=:   the same downwards
    R is !=:      ((b - x_0) mod 2^32) / step, where the step divides it

Where what is compared is narrower, so that two numbers are the same if their low w bits are, all of
it is modulo 2^w: with step = 2^k * odd, the test fails for the first time at

    j = ((b - x_0) / 2^k) * odd^-1  (mod 2^(w - k)),   where 2^k divides b - x_0

and at the latest at j = 2^(w - k) - 1, since an odd number has an inverse there.

A value that is shifted or divided by a constant each time gets small: its greatest number is
followed until the test must fail. Source: M. N. Wegman and F. K. Zadeck (value numbering) for what
stays the same; C. Healy, M. Sjodin, V. Rustagi, D. Whalley and R. van Engelen, "Supporting timing
analysis by automatic bounding of loop iterations", Real-Time Systems 18, 2000.

A limit that varies, but stays within known numbers, is taken for the furthest one of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from wcetchar.model.flow import Edge, Loop
from wcetchar.model.term import Operator, Relation
from wcetchar.static.values import interval as sets
from wcetchar.static.values.analysis import Values
from wcetchar.static.values.count import Count, less
from wcetchar.static.values.form import Form, Range, Tag, combined, congruent
from wcetchar.static.values.state import State, joined_ranges

MODULUS: Final = sets.MODULUS
_USELESS: Final = 1 << 20
"""A bound that is not less says nothing: what is longer is no window (``analysis/contexts.py``)."""
_MOST_STEPS: Final = 16
_LARGE: Final = 1 << 16
"""A number that is not less is left out where there is a formula."""
_NARROW: Final = 127
"""The same where the width of what counts is all that bounds it."""


@dataclass(frozen=True)
class Test:
    """Go on while ``left relation right``; forms of the values at a test in the loop."""

    left: Form
    relation: Relation
    right: Form


@dataclass(frozen=True)
class Counted:
    """What one test says: behind each entry, it goes on at most ``counts`` times; empty: nothing
    that is of use.

    Attributes:
        edges: that go on; every way round the loop takes one of them.
        numeric: bounds that are numbers, however large.
        why: for people.
        distance: of a loop that is entered in one way only, how far it has to go.
    """

    counts: Sequence[Count]
    numeric: Sequence[Count]
    why: str
    edges: Sequence[Edge] = ()
    distance: Distance | None = None


@dataclass(frozen=True)
class Distance:
    """The test goes on ceil((d + more) / step) times, if that is more than 0, where ``form`` is d
    modulo 2^32. ``most``: d is not more; ``None``: d is what the 32 bits of ``form`` say."""

    form: Form
    more: int
    step: int
    most: int | None


class LoopCounts:
    """Of one loop.

    Attributes:
        entries: states along the edges that enter it, and at the function's entry if that does.
        back: states along its back edges.
    """

    def __init__(self, values: Values, loop: Loop, names: Mapping[int, str]) -> None:
        self._values, self.loop, self._names = values, loop, names
        graph = values.graph
        self._indices = {
            index
            for member in loop.members
            for index in range(graph.blocks[member].first, graph.blocks[member].last + 1)
        }
        after = values.after
        self.back = [state for edge in loop.back if (state := after.get(edge)) is not None]
        self.entries = [state for edge in loop.entries if (state := after.get(edge)) is not None]
        if loop.header in graph.entries:
            self.entries.append(values.entry)

    @property
    def turns(self) -> bool:
        """It is entered, and gone round."""
        return bool(self.entries and self.back)

    def counted(self) -> list[Counted]:
        found: list[Counted] = []
        for test, edges in self._tests().items():
            if self._cut(edges):
                behind = [state for e in edges if (state := self._values.after[e]) is not None]
                found += [replace(one, edges=edges) for one in self._counted(test, behind)]
        return found

    # --- tests ---

    def _tests(self) -> Mapping[Test, list[Edge]]:
        """Edges that go on inside, by what is true where they do."""
        found: dict[Test, list[Edge]] = {}
        for member in sorted(self.loop.members):
            for edge in self._values.graph.successors[member]:
                outcome = self._values.outcomes.get(edge)
                if edge.target in self.loop.members and outcome is not None:
                    left, relation, right = outcome
                    test = Test(left.form, relation, right.form)
                    found.setdefault(test, []).append(edge)
        return found

    def _cut(self, tests: Iterable[Edge]) -> bool:
        """Every way from the header round to the header takes one of these edges."""
        cut = set(tests)
        graph, members = self._values.graph, self.loop.members
        seen, work = {self.loop.header}, [self.loop.header]
        while work:
            block = work.pop()
            for edge in graph.successors[block]:
                if edge in cut or edge.target not in members:
                    continue
                if self._values.after.get(edge) is None:
                    continue  # never taken
                if edge.target == self.loop.header:
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
            return tag.site not in self.loop.members
        return tag.site not in self._indices

    def steps(self, tag: Tag, width: int = 32) -> frozenset[int] | None:
        """What is added to a value each time round, modulo 2^width; ``None``: that is not known."""
        if self._invariant(tag):
            return frozenset({0})
        if tag.kind != "met" or tag.site != self.loop.header:
            return None
        total: frozenset[int] = frozenset()
        for state in self.back:
            found = self._away(tag, form_at(state, tag), frozenset(), width)
            if found is None:
                return None
            total |= found
        return total if len(total) <= _MOST_STEPS else None

    def _away(
        self, head: Tag, form: Form | None, passed: frozenset[int], width: int
    ) -> frozenset[int] | None:
        """By how much a form is more than a tag of the header in the same iteration; where ways
        came together in between, by each of them."""
        form = _modulo(form, width)
        tag = None if form is None else form.tag
        if form is None or tag is None:
            return None
        if tag == head:
            return frozenset({signed_of(form.constant)})
        values, header = self._values, self._values.before[self.loop.header]
        block = tag.site
        if tag.kind != "met" or block not in self.loop.members or block in passed:
            return None
        if header is None or tag in header.ranges:
            return None  # it may be of an iteration before
        total: frozenset[int] = frozenset()
        for edge in values.graph.predecessors[block]:
            state = values.after[edge]
            if state is None:
                continue
            found = self._away(head, form_at(state, tag), passed | {block}, width)
            if found is None:
                return None
            total |= {signed_of(step + form.constant) for step in found}
        return total

    def _steps_of(self, form: Form, width: int = 32) -> frozenset[int] | None:
        """The same of a form; one value that varies, or several by one step each."""
        total = frozenset({0})
        for tag, factor in form.tags:
            steps = self.steps(tag, width)
            if steps is None or (len(steps) > 1 and len(total) > 1):
                return None
            # Two that vary by choice may choose together.
            varying = [step for step in (steps, total) if step != frozenset({0})]
            if len(varying) > 1 and any(len(step) > 1 for step in varying):
                return None
            total = frozenset(
                signed_of((one + two * factor) % MODULUS) for one in total for two in steps
            )
        return total

    def _at_entry(self, form: Form, state: State) -> Form | None:
        """The form in the first iteration, in terms of what was known before the loop."""
        parts = []
        for tag, factor in form.tags:
            if tag.kind == "met" and tag.site == self.loop.header:
                before = form_at(state, tag)
                if before is None:
                    return None
                parts.append((before, factor))
            else:
                parts.append((Form(0, ((tag, 1),)), factor))
        return combined([(Form(form.constant), 1), *parts])

    # --- counting ---

    def _counted(self, test: Test, behind: Sequence[State]) -> list[Counted]:
        """``behind``: states behind the test where it goes on."""
        found = (
            self._by_steps(test, behind),
            self._by_distance(test),
            *(self._by_residue(test, behind, width) for width in (8, 16, 32)),
            self._by_shrinking(test),
        )
        return [counted for counted in found if counted is not None]

    def _by_steps(self, test: Test, behind: Sequence[State]) -> Counted | None:
        """Comparisons of order: one side goes towards the other."""
        left, relation, right = test.left, test.relation, test.right
        if relation in (Relation.EQUAL, Relation.NOT_EQUAL):
            return None
        if self._steps_of(left) in (None, frozenset({0})):
            left, relation, right = right, relation.mirrored, left
        steps = self._steps_of(left)
        if steps is None:
            return None
        # A limit that varies is no further than the furthest that it goes on with.
        fixed = self._steps_of(right) == frozenset({0})
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
        for state in self.entries:
            first = self._at_entry(left, state)
            limit = self._at_entry(right, state) if fixed else None
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
            symbolic.append(self._symbolic(state, far, near - more, distance, more, min(steps)))
        why = f"goes {'up' if upwards else 'down'} by {_text(steps)} to a limit"
        return self._with_distance(self._chosen(numeric, symbolic, why), way)

    def _with_distance(self, found: Counted, way: Distance | None) -> Counted:
        return found if len(self.entries) != 1 else replace(found, distance=way)

    def _symbolic(
        self,
        state: State,
        far: Form,
        near: int,
        distance: Form | None,
        more: int,
        step: int,
    ) -> Count | None:
        """``far - near``, or ``distance + more``, by the step."""
        exact = self._named(state, far)
        if exact is not None and exact[2] >= 0:
            return Count(exact[0] - near, exact[1], step, clipped=exact[2] < near)
        exact = None if distance is None else self._named(state, distance)
        if exact is None or exact[2] < 0:
            return None
        return Count(exact[0] + more, exact[1], step)

    def _by_distance(self, test: Test) -> Counted | None:
        """Until two are equal."""
        if test.relation is Relation.EQUAL:
            steps = self._difference_steps(test)
            if steps is not None and 0 not in steps:
                once = [Count(1)] * len(self.entries)
                return Counted(once, once, "goes on while two are equal, one varies")
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
        numeric: list[Count] = []
        symbolic: list[Count | None] = []
        way: Distance | None = None
        for state in self.entries:
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
            way = Distance(first, 0, abs(step), None)
            numeric.append(Count(most // abs(step)))
            exact = self._named(state, first)
            symbolic.append(
                None if exact is None or exact[2] < 0 else Count(exact[0], exact[1], abs(step))
            )
        found_ones = self._chosen(numeric, symbolic, f"goes on by {abs(step)} until it is equal")
        return self._with_distance(found_ones, way)

    def _by_residue(self, test: Test, behind: Sequence[State], width: int) -> Counted | None:
        """Until two are equal that differ in their low bits where they differ."""
        if test.relation is not Relation.NOT_EQUAL:
            return None
        sides = [
            [state.range_of_form(form) for state in behind] for form in (test.left, test.right)
        ]
        if not _narrow([one for side in sides for one in side], width):
            return None
        difference = _modulo(combined(((test.left, 1), (test.right, -1))), width)
        steps = None if difference is None else self._steps_of(difference, width)
        if difference is None or steps is None or len(steps) != 1:
            return None
        modulus = 1 << width
        step = -next(iter(steps)) % modulus  # of right - left
        if step == 0:
            return None
        unit = step & -step
        inverse = pow(step // unit, -1, modulus // unit)
        counts: list[Count] = []
        symbolic: list[Count | None] = []
        for state in self.entries:
            first = self._at_entry(difference, state)
            first = _modulo(first, width)
            if first is None:
                return None
            found = state.range_of_form(first)
            if found.stack or not _divides(unit, first, found.interval):
                return None
            mask = sets.number(modulus - 1)
            away = sets.calculate(Operator.AND, found.interval, mask)
            one = step // unit
            if away.single:
                counts.append(Count(away.start // unit * inverse % (modulus // unit)))
            elif one == 1 and width < 32:
                counts.append(Count(away.natural[1] // unit))
            elif one == modulus // unit - 1 and width < 32:
                back = sets.calculate(Operator.AND, sets.negative(found.interval), mask)
                counts.append(Count(back.natural[1] // unit))
            else:
                counts.append(Count(modulus // unit - 1))
            exact = None
            if one in (1, modulus // unit - 1) and width < 32:
                exact = self._named(state, first if one == 1 else _negative(first))
            symbolic.append(
                None if exact is None or exact[2] < 0 else Count(exact[0], exact[1], unit)
            )
        why = f"goes on by {unit * one} until the low {width} bits are equal"
        return self._chosen(counts, symbolic, why, large=_NARROW)

    def _difference_steps(self, test: Test) -> frozenset[int] | None:
        """Steps of left - right."""
        difference = combined(((test.left, 1), (test.right, -1)))
        return None if difference is None else self._steps_of(difference)

    def _by_shrinking(self, test: Test) -> Counted | None:
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
        tag, header = left.tag, self._values.before[self.loop.header]
        if tag is None or left.constant or not least or header is None:
            return None
        shrunk = self._values.shrunk
        behind = tag in shrunk and tag.site in self._indices
        if behind and (tag in header.ranges or shrunk[tag][0].constant):
            return None
        head = shrunk[tag][0].tag if behind else tag
        if head is None or head.kind != "met" or head.site != self.loop.header:
            return None
        by: tuple[Operator, int] | None = None
        for state in self.back:
            form = form_at(state, head)
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
        for state in self.entries:
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
        return Counted(
            counts, counts, f"gets smaller by {by[0]} {by[1]} until it is less than {least}"
        )

    # --- formulas ---

    def _named(
        self, state: State, form: Form
    ) -> tuple[int, tuple[tuple[str, int], ...], int] | None:
        """A sum of parameters that is at least what a form is: constant, terms, and the least value
        of the form's own sum; ``None``: it has others. Where that is not negative, the sum is at
        least what the form's 32 bits say, however they are read."""
        terms: list[tuple[str, int]] = []
        constant = signed_of(form.constant)
        least = constant
        for tag, factor in form.tags:
            factor = signed_of(factor)
            low, high = _natural(state, tag)
            name = self.name(tag if factor < 0 else _not_less(tag, high))
            if name is None:
                return None
            least += factor * (low if factor > 0 else high)
            terms.append((name, factor))
        return constant, tuple(terms), least

    def name(self, tag: Tag) -> str | None:
        if tag.kind != "entry" or tag.place[0] != "r":
            return None
        return self._names.get(tag.place[1])

    def _chosen(
        self,
        numeric: Sequence[Count],
        symbolic: Sequence[Count | None],
        why: str,
        large: int = _LARGE,
    ) -> Counted:
        """Numbers where they say something, formulas where those do not."""
        chosen: list[Count] = []
        for number, formula in zip(numeric, symbolic, strict=True):
            count = number.number
            if formula is not None and formula.terms and (count is None or count >= large):
                chosen.append(formula)
            elif count is not None and count < _USELESS:
                chosen.append(Count(count))
            elif formula is not None:
                chosen.append(formula)
            else:
                return Counted((), numeric, why)
        return Counted(chosen, numeric, why)


def _modulo(form: Form | None, width: int) -> Form | None:
    """A form with the same low bits."""
    if form is None or width == 32:
        return form
    return congruent(form, width) or form


def _negative(form: Form) -> Form:
    found = combined(((form, -1),))
    assert found is not None
    return found


def _narrow(found: Sequence[Range], width: int) -> bool:
    """All of them are numbers of so many bits, read in one way."""
    if any(one.stack for one in found):
        return False
    if width == 32:
        return True
    natural = all(one.interval.natural[1] < 1 << width for one in found)
    half = 1 << width - 1
    signed = [one.interval.signed for one in found]
    return natural or all(-half <= low and high < half for low, high in signed)


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


def form_at(state: State, tag: Tag) -> Form | None:
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


def signed_of(number: int) -> int:
    number %= MODULUS
    return number - MODULUS if number >= sets.SIGN else number


def _text(steps: Iterable[int]) -> str:
    return " or ".join(str(step) for step in sorted(steps))
