"""Relations and exclusions that flow facts state, as constraints over links of a service's graph.

With f_l how often link l is taken, a count of a place is the sum of f_l over the links that lead to
its blocks, each as often as instructions of the place are in the block. A relation is

    sum of coefficient_l * f_l  <=  limit

with coefficients and limit over the service's parameters; an exclusion is one with the limit 1,
whose places are outside of loops.

**At least and at most.** How often a place is passed is not always told: contexts that several
strings of calls share do not say who has called, and not of every predicated instruction blocks say
whether it has an effect. So there are two counts of each place, one that is no larger than the true
one and one that is no smaller. What is on the smaller side of ``<=`` is counted by the first, what
is on the larger side by the second; so the constraint follows from the relation, and allows every
path that the relation does. Where a factor may be negative or not, depending on parameters,

    factor * count  >=  max(0, factor) * least + min(0, factor) * most.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import pairwise

from wcetchar.errors import InputError
from wcetchar.model.expression import (
    ONE,
    Binary,
    BinaryOperator,
    Call,
    Compare,
    Expression,
    Function,
    Negate,
    Number,
)
from wcetchar.model.flow import BasicBlock, EdgeKind
from wcetchar.model.flow_fact import CodePlace, Exclusive, Fact, FactOrigin, Relation, Term
from wcetchar.model.instruction import Flow
from wcetchar.model.path_model import OUTSIDE, FlowConstraint, Origin
from wcetchar.model.service import PART_SEPARATOR
from wcetchar.static.contexts import ROOT
from wcetchar.static.expand import Expanded, Link
from wcetchar.static.facts import fact_text
from wcetchar.static.facts.in_program import At, FactsInProgram
from wcetchar.static.facts.relations import negated
from wcetchar.static.loop_constraints import ZERO


def origin_of(fact: Fact) -> Origin:
    """Written, or observed."""
    return Origin.OBSERVED if fact.origin is FactOrigin.OBSERVED else Origin.WRITTEN


def constraint_of(
    fact: Fact, coefficients: Mapping[int, Expression], limit: Expression
) -> FlowConstraint:
    """What a fact says of links, with where it stands and why it holds."""
    return FlowConstraint(
        fact_text(fact), coefficients, limit, origin_of(fact), fact.because, str(fact.where)
    )


def holds_in_parts(fact: Relation) -> bool:
    """It says something of parts of a service that another thread cuts, too."""
    return _names_part(fact) or is_upper_bound(fact)


def names_services(fact: Relation) -> bool:
    """It says which services it holds in, and not only in which it does not."""
    return any(not name.startswith("!") for name in fact.services)


def _names_part(fact: Relation) -> bool:
    """And no whole service beside it, of whose other parts it would say nothing."""
    names = [name for name in fact.services if not name.startswith("!")]
    return bool(names) and all(PART_SEPARATOR in name for name in names)


def is_upper_bound(fact: Relation) -> bool:
    """Of a part it holds, too: there is nothing that a part passes more often than the whole."""
    return all(_is_never_negative(term.factor) for term in fact.terms if term.place is not None)


class FactConstraints:
    """Over the links of one service's graph."""

    def __init__(self, program: FactsInProgram, found: Expanded) -> None:
        self._program, self._passed = program, _Passed(found, program)

    def of_relation(self, fact: Relation) -> Iterator[FlowConstraint]:
        """None where the service does not reach its places.

        Raises:
            InputError: control does not go from the one place of a count right to the other; or
                what a place is passed is not told in the way that its side asks for.
        """
        each = next((term for term in fact.terms if term.each), None)
        if each is None:
            yield from self._related(fact)
            return
        assert each.place is not None
        if not _is_never_negative(each.factor):
            raise InputError(
                "`each` where a count is larger, or has a factor that may be negative: "
                f"{fact_text(fact)}",
                where=fact.where,
                expected="count(each PLACE) on the smaller side: a piece of a line is passed at "
                "most as often as the line, and perhaps not always then",
                hint="count all pieces together, without `each`",
            )
        at = self._program.at(each.place, fact)
        for index in sorted(at.indices):
            one = At(frozenset({index}), at.called, frozenset({index}))
            if self._passed.into(one, surely=True):
                yield from self._related(fact, one)

    def _related(self, fact: Relation, each: At | None = None) -> Iterator[FlowConstraint]:
        """``each``: for the place that the relation holds for each of the instructions of."""
        coefficients: dict[int, Expression] = {}
        limit: Expression = ZERO
        for term in fact.terms:
            if term.place is None:
                limit = Binary(BinaryOperator.SUBTRACT, limit, term.factor)
                continue
            for link, factor in _at_least(term.factor, *self._counted(term, fact, each)):
                known = coefficients.get(link)
                coefficients[link] = (
                    factor if known is None else Binary(BinaryOperator.ADD, known, factor)
                )
        if coefficients:
            yield constraint_of(fact, coefficients, limit)

    def _counted(
        self, term: Term, fact: Fact, each: At | None
    ) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """How often the place of a term is passed with each link, at least and at most: not with
        each link by itself, but on every path as a whole."""
        assert term.place is not None
        # What is written on the larger side may be counted too often there.
        fewest = not isinstance(term.factor, Negate)
        most = not _is_never_negative(term.factor)

        def at(place: CodePlace) -> At:
            return self._program.at(place, fact, fewest=fewest, all_of_it=most)

        passed = self._passed
        source = each if each and term.each else at(term.place)
        if term.edge is None:
            return passed.into(source, surely=True), passed.into(source, surely=False)
        target = at(term.edge)
        least = passed.right_to(source, target, surely=True)
        if (
            not least
            and not passed.right_to(source, target, surely=False)
            and passed.into(source, surely=False)
            and passed.into(target, surely=False)
        ):
            raise InputError(
                f"control does not go from the one place right to the other: {fact_text(fact)}",
                where=fact.where,
                expected="the last block before a branch, and the first behind it",
                hint="count one of the two places",
            )
        return least, passed.behind(source, target)

    def of_exclusion(self, fact: Exclusive) -> Iterator[FlowConstraint]:
        """None where the service does not reach its places.

        Raises:
            InputError: it reaches one of them in a loop, or nothing tells whether one is passed.
        """
        links: Counter[int] = Counter()
        for place in fact.places:
            into = self._passed.into(self._program.at(place, fact), surely=True)
            if self._passed.repeats(into):
                raise InputError(
                    f"what is passed more than once cannot be exclusive: {fact_text(fact)}",
                    where=fact.where,
                    expected="places outside of loops",
                    hint="say it by `never` in services apart, or relate counts",
                )
            links.update(dict.fromkeys(into, 1))  # several of them may be in one block
        if links:
            coefficients = {link: Number(times) for link, times in links.items()}
            yield constraint_of(fact, coefficients, ONE)


def _at_least(
    factor: Expression, least: Mapping[int, int], most: Mapping[int, int]
) -> Iterator[tuple[int, Expression]]:
    """Links with what a term counts with each, so that it is no more than it is in truth."""
    if least == most or _is_never_negative(factor):
        counted = [(factor, least)]
    elif _is_never_negative(negated(factor)):
        counted = [(factor, most)]
    else:
        counted = [
            (Call(Function.MAX, (ZERO, factor)), least),
            (Call(Function.MIN, (ZERO, factor)), most),
        ]
    for one, links in counted:
        for link, times in links.items():
            yield link, Binary(BinaryOperator.MULTIPLY, Number(times), one) if times > 1 else one


def _is_never_negative(formula: Expression) -> bool:
    """Whatever the parameters are: these may be negative."""
    match formula:
        case Number():
            return formula.value >= 0
        case Compare() | Call(function=Function.LOG2):
            return True
        case Binary(operator=BinaryOperator.ADD | BinaryOperator.MULTIPLY):
            return _is_never_negative(formula.left) and _is_never_negative(formula.right)
        case Binary(operator=BinaryOperator.DIVIDE):
            return _is_never_negative(formula.left)
        case Call(function=Function.MAX):
            return any(map(_is_never_negative, formula.arguments))
        case Call():
            return all(map(_is_never_negative, formula.arguments))
        case _:
            return False


class _Passed:
    """Links of a service's graph by the instructions that they lead to.

    ``surely``: no more often than a place is passed; else no less often.
    """

    def __init__(self, found: Expanded, program: FactsInProgram) -> None:
        self._found, self._program = found, program
        self._steps: dict[tuple[At, bool], dict[int, list[int]]] = {}
        self._called: dict[tuple[int, ...], dict[int, set[int]]] = {}

    def into(self, at: At, *, surely: bool) -> dict[int, int]:
        """Links to blocks that have instructions of a place, and how many."""
        steps = self._passing(at, surely)
        found: dict[int, int] = {}
        for number, link in enumerate(self._found.links):
            times = len(steps.get(link.target, ())) + (not surely and self._enters(link, at))
            if times:
                found[number] = times
        return found

    def _enters(self, link: Link, at: At) -> bool:
        """It leads into the middle of a run of a line, and not on or forward in it: there a line is
        passed of which another part was moved away, or decided before."""
        if not at.runs or link.target == OUTSIDE:
            return False
        step = self._found.steps[link.target]
        if not self._is_called(step.context, at.called, surely=False):
            return False
        first = self._block(step.context, step.block).first
        begin = next((begin for begin, last in at.runs if begin < first <= last), None)
        if begin is None:
            return False
        if link.along is not None and link.along.kind is EdgeKind.RETURNED:
            before = self._block(link.context, link.along.source).last
        elif link.source != OUTSIDE:
            source = self._found.steps[link.source]
            before = self._block(source.context, source.block).last
        else:
            return True
        return not begin <= before < first

    def _block(self, context: int, block: int) -> BasicBlock:
        return self._found.function_of(context).blocks[block]

    def right_to(self, source: At, target: At, *, surely: bool) -> dict[int, int]:
        """Links with which control goes from the one place right to the other, and how often: from
        a block to the next one, or within the one that the link leads to. No instruction of either
        place lies between, and within a block ``surely`` none but those of the first one's line."""
        sources, targets = self._passing(source, surely), self._passing(target, surely)

        def follows(one: int, other: int) -> bool:
            last = next((last for first, last in source.runs if first <= one <= last), one)
            return not surely or other == last + 1

        found: dict[int, int] = {}
        for number, link in enumerate(self._found.links):
            if link.target not in targets:
                continue
            goal, here = targets[link.target], sources.get(link.target, [])
            both = sorted({*goal, *here})
            times = sum(
                one in here and other in goal and follows(one, other)
                for one, other in pairwise(both)
            )
            before = sources.get(link.source, [])
            last = max((*before, *targets.get(link.source, ())), default=-1)
            times += last in before and both[0] in goal
            if times:
                found[number] = times
        return found

    def behind(self, source: At, target: At) -> dict[int, int]:
        """Links to blocks that have instructions of ``target``, and how many of these may be passed
        once ``source`` was: whatever ``right to`` means where calls or other blocks lie between,
        control goes there from ``source`` no more often."""
        goals = self._passing(target, False)
        # A run may be entered in the middle.
        sources = self._passing(
            At(
                frozenset(),
                source.called,
                source.perhaps.union(*(range(first, last + 1) for first, last in source.runs)),
            ),
            False,
        )
        after = self._after(sources)
        found: dict[int, int] = {}
        for number, link in enumerate(self._found.links):
            if link.target in after:
                times = len(goals.get(link.target, ())) + self._enters(link, target)
            else:
                here = sources.get(link.target)
                times = sum(index > here[0] for index in goals.get(link.target, ())) if here else 0
            if times:
                found[number] = times
        return found

    def _after(self, steps: Collection[int]) -> set[int]:
        """Steps that a path can come to behind one of these."""
        behind: dict[int, list[int]] = defaultdict(list)
        for link in self._found.links:
            behind[link.source].append(link.target)
        found: set[int] = set()
        left = [*steps]
        while left:
            for target in behind[left.pop()]:
                if target != OUTSIDE and target not in found:
                    found.add(target)
                    left.append(target)
        return found

    def _passing(self, at: At, surely: bool) -> dict[int, list[int]]:
        """Steps that pass instructions of a place, with these in order."""
        known = self._steps.get((at, surely))
        if known is None:
            known = self._steps[at, surely] = self._steps_of(at, surely)
        return known

    def _steps_of(self, at: At, surely: bool) -> dict[int, list[int]]:
        found = self._found
        indices = sorted(at.indices if surely else at.perhaps)
        by_block: dict[tuple[int, int], list[int]] = {}
        result: dict[int, list[int]] = {}
        for number, step in enumerate(found.steps):
            function = found.function_of(step.context)
            block = function.blocks[step.block]
            key = function.address, step.block
            if key not in by_block:
                by_block[key] = [i for i in indices if block.first <= i <= block.last]
            if by_block[key] and self._is_called(step.context, at.called, surely):
                passed = [i for i in by_block[key] if self._has_effect(i, number, surely)]
                if passed:
                    result[number] = passed
        return result

    def _has_effect(self, index: int, number: int, surely: bool) -> bool:
        """An instruction of a step's block is executed."""
        step = self._found.steps[number]
        block = self._found.function_of(step.context).blocks[step.block]
        row = self._found.program.table.instructions[index]
        if row.flow is Flow.JUMP and row.conditional:
            # It is executed whether it is taken or not, unless it is predicated. Where it leaves
            # the function, it may be what is done where a condition holds.
            if not surely:
                return True
            if self._program.is_skipped_untaken(index):
                return step.taken and index == block.last
        return index not in block.skipped

    def _is_called(self, context: int, called: tuple[int, ...], surely: bool) -> bool:
        """These functions are on the call stack, with all strings of calls that lead to a context,
        or with one of them."""
        if not called:
            return True
        known = self._called.get(called)
        if known is None:
            known = self._called[called] = self._matched(called)
        matched = known.get(context, {0, len(called)})
        return matched == {len(called)} if surely else len(called) in matched

    def _matched(self, called: tuple[int, ...]) -> dict[int, set[int]]:
        """By context: how many of the functions are on the call stack, the outermost first, with
        each string of calls that leads there. A context whose own string is cut has several."""
        contexts = self._found.contexts
        callees: dict[int, set[int]] = defaultdict(set)
        for callee, sites in contexts.callers.items():
            for caller, _ in sites:
                callees[caller].add(callee)

        def entered(context: int, before: int) -> tuple[int, int]:
            of = contexts[context].function
            return context, before + (before < len(called) and called[before] == of)

        found: dict[int, set[int]] = defaultdict(set)
        left = [entered(ROOT, 0)]
        while left:
            context, matched = left.pop()
            if matched not in found[context]:
                found[context].add(matched)
                left += [entered(callee, matched) for callee in callees[context]]
        return dict(found)

    def repeats(self, links: Collection[int]) -> bool:
        """A path can take two of these links."""
        behind: dict[int, list[int]] = defaultdict(list)
        for link in self._found.links:
            behind[link.source].append(link.target)
        starts = {self._found.links[number].target for number in links} - {OUTSIDE}
        taken = {(self._found.links[n].source, self._found.links[n].target) for n in links}
        seen: set[int] = set()
        left = list(starts)
        while left:
            one = left.pop()
            for target in behind[one]:
                if (one, target) in taken:
                    return True
                if target != OUTSIDE and target not in seen:
                    seen.add(target)
                    left.append(target)
        return False
