"""Relations and exclusions that flow facts state, as constraints over links of a service's graph.

With f_l how often link l is taken, a count of a place is the sum of f_l over the links that lead to
its blocks, each as often as instructions of the place are in the block. A relation is

    sum of coefficient_l * f_l  <=  limit

with coefficients and limit over the service's parameters; an exclusion is one with the limit 1,
whose places are outside of loops.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping

from wcetchar.errors import InputError
from wcetchar.model.expression import ONE, Binary, BinaryOperator, Expression, Name, Number
from wcetchar.model.flow_fact import Exclusive, Fact, FactOrigin, Relation, Term
from wcetchar.model.path_model import OUTSIDE, FlowConstraint, Origin
from wcetchar.model.service import PART_SEPARATOR
from wcetchar.static.contexts import has_stack
from wcetchar.static.expand import Expanded
from wcetchar.static.facts import fact_text
from wcetchar.static.facts.in_program import At, FactsInProgram
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
    return _names_part(fact) or _is_upper_bound(fact)


def _names_part(fact: Relation) -> bool:
    return any(PART_SEPARATOR in name for name in fact.services if not name.startswith("!"))


def _is_upper_bound(fact: Relation) -> bool:
    """Of a part it holds, too: there is nothing that a part passes more often than the whole."""
    return all(
        isinstance(term.factor, Number | Name)
        and not (isinstance(term.factor, Number) and term.factor.value < 0)
        for term in fact.terms
        if term.place is not None
    )


class FactConstraints:
    """Over the links of one service's graph."""

    def __init__(self, program: FactsInProgram, found: Expanded) -> None:
        self._program, self._passed = program, _Passed(found)

    def of_relation(self, fact: Relation) -> Iterator[FlowConstraint]:
        """None where the service does not reach its places.

        Raises:
            InputError: control does not go from the one place of a count right to the other.
        """
        each = next((term.place for term in fact.terms if term.each and term.place), None)
        if each is None:
            yield from self._related(fact)
            return
        at = self._program.at(each, fact)
        for index in sorted(at.indices):
            one = At(frozenset({index}), at.called)
            if self._passed.into(one):
                yield from self._related(fact, one)

    def _related(self, fact: Relation, each: At | None = None) -> Iterator[FlowConstraint]:
        """``each``: for the place that the relation holds for each of the instructions of."""
        coefficients: dict[int, Expression] = {}
        limit: Expression = ZERO
        for term in fact.terms:
            if term.place is None:
                limit = Binary(BinaryOperator.SUBTRACT, limit, term.factor)
                continue
            for link, times in self._links(term, fact, each).items():
                factor = term.factor
                if times > 1:
                    factor = Binary(BinaryOperator.MULTIPLY, Number(times), factor)
                known = coefficients.get(link)
                coefficients[link] = (
                    factor if known is None else Binary(BinaryOperator.ADD, known, factor)
                )
        if coefficients:
            yield constraint_of(fact, coefficients, limit)

    def _links(self, term: Term, fact: Fact, each: At | None) -> Mapping[int, int]:
        assert term.place is not None
        source = each if each and term.each else self._program.at(term.place, fact)
        if term.edge is None:
            return self._passed.into(source)
        target = self._program.at(term.edge, fact)
        between = self._passed.between(source, target)
        if not between and self._passed.into(source) and self._passed.into(target):
            raise InputError(
                f"control does not go from the one place right to the other: {fact_text(fact)}",
                where=fact.where,
                expected="the last block before a branch, and the first behind it",
                hint="count one of the two places",
            )
        return dict.fromkeys(between, 1)

    def of_exclusion(self, fact: Exclusive) -> Iterator[FlowConstraint]:
        """None where the service does not reach its places.

        Raises:
            InputError: it reaches one of them in a loop.
        """
        links: Counter[int] = Counter()
        for place in fact.places:
            into = self._passed.into(self._program.at(place, fact))
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


class _Passed:
    """Links of a service's graph by the instructions that they lead to."""

    def __init__(self, found: Expanded) -> None:
        self._found = found

    def _times(self, step: int, at: At) -> int:
        """Instructions of a place that a step passes."""
        found = self._found
        one = found.steps[step]
        if not has_stack(found.contexts[one.context].stack, at.called):
            return 0
        block = found.function_of(one.context).blocks[one.block]
        return sum(
            block.first <= index <= block.last and index not in block.skipped
            for index in at.indices
        )

    def into(self, at: At) -> dict[int, int]:
        """Links to blocks that have instructions of a place, and how many."""
        steps = {n: t for n in range(len(self._found.steps)) if (t := self._times(n, at))}
        return {
            n: steps[link.target]
            for n, link in enumerate(self._found.links)
            if link.target in steps
        }

    def between(self, source: At, target: At) -> list[int]:
        """Links from the one place right to the other."""
        return [
            number
            for number, link in enumerate(self._found.links)
            if OUTSIDE not in (link.source, link.target)
            and self._times(link.source, source)
            and self._times(link.target, target)
        ]

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
