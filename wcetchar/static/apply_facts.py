"""Flow facts of one service as what the other modules understand.

Inputs: facts, the places that they name in a program, the graph of a service. Output: which blocks
are left out, bounds of loops, constraints over links, sections of accesses. A fact whose place no
service reaches in which it holds is an error, told by :attr:`ServiceFacts.used`.
"""

from __future__ import annotations

import fnmatch
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from wcetchar.errors import InputError
from wcetchar.model.access import Operation
from wcetchar.model.expression import ONE, Binary, BinaryOperator, Expression, Name, Number
from wcetchar.model.flow import FunctionGraph, ProgramGraph
from wcetchar.model.flow_fact import (
    Accesses,
    CodePlace,
    EntryValue,
    Exclusive,
    Fact,
    FactOrigin,
    LoopBound,
    Never,
    NoReturn,
    Recursion,
    Relation,
    SwitchedAway,
    Targets,
    Term,
)
from wcetchar.model.instruction import Flow, Instruction
from wcetchar.model.path_model import OUTSIDE, FlowConstraint, Origin
from wcetchar.model.service import PART_SEPARATOR, whole_of
from wcetchar.static.contexts import Contexts, has_stack
from wcetchar.static.expand import Expanded
from wcetchar.static.facts import Absent, fact_text, place_text
from wcetchar.static.facts.places import Places
from wcetchar.static.facts.scopes import places_of
from wcetchar.static.loop_constraints import ZERO, Bound, LoopKey


def origin_of(fact: Fact) -> Origin:
    """Written, or observed."""
    return Origin.OBSERVED if fact.origin is FactOrigin.OBSERVED else Origin.WRITTEN


def holds_in(fact: Fact, service: str) -> bool:
    """``service``: a published name. A fact names it, or the service that it is a part of, or
    either by a pattern; behind ``!`` what it does not hold in."""
    names = (service, whole_of(service))

    def named(patterns: Iterable[str]) -> bool:
        return any(fnmatch.fnmatchcase(name, one) for name in names for one in patterns)

    out = [one.removeprefix("!") for one in fact.services if one.startswith("!")]
    within = [one for one in fact.services if not one.startswith("!")]
    return (not within or named(within)) and not named(out)


def _is_undecided(row: Instruction) -> bool:
    """It is predicated, and blocks do not tell its outcomes apart."""
    return row.conditional and row.flow is Flow.NEXT and row.memory is None


@dataclass(frozen=True)
class At:
    """A place in a program: instructions, where these functions are on the call stack."""

    indices: frozenset[int]
    called: tuple[int, ...]


@dataclass
class FactsInProgram:
    """All facts, with their places looked up once."""

    facts: Sequence[Fact]
    places: Places
    address_of: Callable[[str, Fact], int]
    """Address of a function, for a fact that names it."""
    _known: dict[tuple[int, int], At] = field(default_factory=dict)
    _accesses: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)

    def at(self, place: CodePlace, fact: Fact) -> At:
        """Raises InputError: nothing is there."""
        key = (id(fact), id(place))
        known = self._known.get(key)
        if known is None:
            called = tuple(self.address_of(name, fact) for name in place.called)
            rows = self.places.table.instructions
            switch = isinstance(fact, Never) and fact.switch
            found = self.places.asking(place) if switch else self.places.indices(place)
            # Of an IT block the first instruction is executed whatever the condition is.
            found = frozenset(i for i in found if not rows[i].text.startswith("it"))
            decided = frozenset(i for i in found if not _is_undecided(rows[i]))
            if not decided:
                raise InputError(
                    f"{place_text(place)} is predicated, and whether it has an effect is not told "
                    "apart",
                    where=fact.where,
                    expected="an instruction that is executed, accesses memory or sends control "
                    "elsewhere",
                    hint="name the branch or the access that it belongs to",
                )
            known = self._known[key] = At(decided, called)
        return known

    def accesses(self, fact: Accesses) -> tuple[tuple[int, int], ...]:
        """Table indices of what the fact is about, and of each how narrow its place is there: the
        less, the narrower.

        Raises:
            InputError: nothing is there, or the fact would hold in some contexts only.
        """
        known = self._accesses.get(id(fact))
        if known is None:
            known = self._accesses[id(fact)] = tuple(self._accesses_of(fact))
        return known

    def _accesses_of(self, fact: Accesses) -> Iterator[tuple[int, int]]:
        place = fact.place
        if place.called:
            raise InputError(
                "the section of an access cannot depend on who has called",
                where=fact.where,
                expected="a place without `called from`",
                hint="name all sections that it can be, or one that is either of them",
            )
        whole = self.places.is_whole(place)
        for index in sorted(self.places.accessing(place)):
            memory = self.places.table.instructions[index].memory
            assert memory is not None
            if fact.operation is not None:
                other = memory.writes if fact.operation is Operation.READ else memory.reads
                if other:
                    continue
            rank = 1 + self.places.rank(place.name, index) if whole else 0
            yield index, 2 * rank + (fact.operation is None)

    def targets(self, fact: Targets) -> tuple[frozenset[int], frozenset[int]]:
        """Table indices of indirect calls and jumps, and of where they go.

        Raises:
            InputError: there are none, or the fact would hold in some contexts only.
        """
        if fact.place.called:
            raise InputError(
                "where a call goes cannot depend on who has called",
                where=fact.where,
                expected="a place without `called from`",
                hint="name all targets, and say by `never` which are not called from there",
            )
        to = frozenset(i for one in fact.targets for i in self.places.indices(one))
        return self.places.transferring(fact.place), to

    def variable(self, fact: EntryValue) -> int:
        """The address of what a fact about a value is about.

        Raises:
            InputError: the image has no such variable.
        """
        symbols = self.places.image.find(fact.name)
        addresses = {symbol.address for symbol in symbols if symbol.kind == "object"}
        if len(addresses) != 1:
            error = InputError if addresses else Absent
            raise error(
                f"{'several variables are' if addresses else 'no variable is'} called {fact.name}",
                where=fact.where,
                expected="the name of one variable of the image",
            )
        return addresses.pop() + fact.offset

    def asking(self, fact: SwitchedAway) -> frozenset[int]:
        """Table indices of what asks for a switch at a place: the supervisor calls that it has, or
        else its stores.

        Raises:
            InputError: there are none, or the fact would hold in some contexts only.
        """
        if fact.place.called:
            raise InputError(
                "a switch that is asked for cannot depend on who has called",
                where=fact.where,
                expected="a place without `called from`",
            )
        return self.places.asking(fact.place)

    def has(self, fact: Fact) -> bool:
        """Whether the program has what the fact is about.

        Raises:
            InputError: its place is wrong otherwise.
        """
        try:
            match fact:
                case Accesses():
                    self.accesses(fact)
                case Targets():
                    self.targets(fact)
                case SwitchedAway():
                    self.asking(fact)
                case EntryValue():
                    self.variable(fact)
                case Recursion(function=name) | NoReturn(function=name):
                    self.address_of(name, fact)
                case _:
                    for place in places_of(fact):
                        self.at(place, fact)
        except Absent:
            return False
        return True

    def switches(self, *, everywhere: bool = False) -> frozenset[int]:
        """Instructions that ask for a switch, in any service; ``everywhere``: in all of them."""
        facts = [fact for fact in self.facts if not (everywhere and fact.services)]
        return ServiceFacts(self, facts).switches()

    def of(self, service: str, before: Sequence[str] = ()) -> ServiceFacts:
        """Those that hold in a service, or a part of one. ``before``: parts of it that may have
        been executed then."""
        holding = [fact for fact in self.facts if holds_in(fact, service)]
        earlier = [fact for fact in self.facts if all(holds_in(fact, one) for one in before)]
        return ServiceFacts(self, holding, PART_SEPARATOR in service, earlier if before else None)


@dataclass
class ServiceFacts:
    """Facts of one service.

    Attributes:
        is_part: of a part of a service that another thread cuts.
        earlier: those that hold before it; ``None``: the same.
        used: numbers (``id``) of facts whose place the service reaches, as far as it was asked.
    """

    program: FactsInProgram
    facts: list[Fact]
    is_part: bool = False
    earlier: list[Fact] | None = None
    used: set[int] = field(default_factory=set)

    @cached_property
    def _never(self) -> list[tuple[Fact, At]]:
        return [
            (fact, self.program.at(fact.place, fact))
            for fact in self.facts
            if isinstance(fact, Never)
        ]

    @cached_property
    def _never_at(self) -> dict[int, list[tuple[Fact, At]]]:
        found: dict[int, list[tuple[Fact, At]]] = defaultdict(list)
        for fact, at in self._never:
            for index in at.indices:
                found[index].append((fact, at))
        return found

    def excluded(self, graph: ProgramGraph) -> Callable[[Contexts, int, int], bool] | None:
        """For ``expand``: whether a block is not executed."""
        if not self._never_at:
            return None
        in_blocks: dict[tuple[int, int], list[tuple[Fact, At]]] = {}
        for address, function in graph.functions.items():
            for number, block in enumerate(function.blocks):
                here = [
                    one
                    for index in range(block.first, block.last + 1)
                    if index not in block.skipped
                    for one in self._never_at.get(index, ())
                ]
                if here:
                    in_blocks[address, number] = here

        def excluded(contexts: Contexts, context: int, block: int) -> bool:
            one = contexts[context]
            out = False
            for fact, at in in_blocks.get((one.function, block), ()):
                if has_stack(one.stack, at.called):
                    self.used.add(id(fact))
                    out = True
            return out

        return excluded

    def excluded_before(self, graph: ProgramGraph) -> Callable[[Contexts, int, int], bool] | None:
        """The same of what comes before the part."""
        if self.earlier is None:
            return self.excluded(graph)
        return ServiceFacts(self.program, self.earlier, used=self.used).excluded(graph)

    def switches(self) -> frozenset[int]:
        """Instructions that ask for a switch of threads."""
        return frozenset(
            index
            for fact in self.facts
            if isinstance(fact, SwitchedAway)
            for index in self.program.asking(fact)
        )

    def limits(self, points: Sequence[Mapping[str, int]], evaluate: Evaluate) -> dict[int, int]:
        """Of recursive functions, the largest at any of ``points``: values of the parameters."""
        found: dict[int, int] = {}
        for fact in self.facts:
            if isinstance(fact, Recursion) and fact.limit is not None:
                address = self.program.address_of(fact.function, fact)
                limit = max(1, *(evaluate(fact.limit, point) for point in points))
                found[address] = min(found.get(address, limit), limit)
        return found

    def entry_values(self) -> dict[int, int]:
        """By address of a variable of 32 bits: what it holds when the service begins.

        Raises:
            InputError: the image has no such variable.
        """
        found: dict[int, int] = {}
        for fact in self.facts:
            if isinstance(fact, EntryValue):
                self.used.add(id(fact))
                found[self.program.variable(fact)] = fact.value & 0xFFFFFFFF
        return found

    def targets(self) -> list[tuple[Targets, frozenset[int], frozenset[int]]]:
        """Of indirect calls and jumps, by table indices: where they go."""
        return [
            (fact, *self.program.targets(fact)) for fact in self.facts if isinstance(fact, Targets)
        ]

    def sections(self) -> dict[int, tuple[str, ...]]:
        """By table index: the logical sections that an access goes to."""
        return {index: fact.sections for index, fact in self.section_facts().items()}

    def section_facts(self) -> dict[int, Accesses]:
        """By table index; of several facts the one of the narrower place, else the last. A line
        is narrower than a function, one that was inlined than the one around it, and what is said
        of reads or writes than what is said of both."""
        found: dict[int, tuple[int, Accesses]] = {}
        for fact in self.facts:
            if isinstance(fact, Accesses):
                for index, width in self.program.accesses(fact):
                    known = found.get(index)
                    if known is None or width <= known[0]:
                        found[index] = width, fact
        return {index: fact for index, (_, fact) in found.items()}

    def bounds(self, functions: Iterable[FunctionGraph]) -> dict[LoopKey, list[Bound]]:
        """Of loops of the functions."""
        facts = [fact for fact in self.facts if isinstance(fact, LoopBound)]
        found: dict[LoopKey, list[Bound]] = defaultdict(list)
        for function in functions:
            for fact in facts:
                if fact.limit is None:
                    continue
                for loop in self.program.places.loops(fact.place, function):
                    self.used.add(id(fact))
                    found[function.address, loop].append(
                        Bound(
                            fact.limit,
                            origin_of(fact),
                            fact.because,
                            str(fact.where),
                            fact.total,
                            self.program.at(fact.place, fact).called,
                        )
                    )
        return found

    def constraints(self, found: Expanded) -> Iterator[FlowConstraint]:
        """Relations and exclusions as constraints over links.

        Raises:
            InputError: places that exclude each other in a loop.
        """
        passed = _Passed(found)
        for fact in self.facts:
            if isinstance(fact, Relation):
                if not self.is_part or _names_part(fact) or _is_upper_bound(fact):
                    yield from self._relation(fact, passed)
            elif isinstance(fact, Exclusive):
                yield from self._exclusive(fact, passed)
        for fact, _ in self._never:
            if id(fact) in self.used:
                yield self._constraint(fact, {}, ZERO)
        for fact in self.facts:
            stated = isinstance(fact, Targets | Recursion | NoReturn | Accesses | SwitchedAway)
            if stated and origin_of(fact) is Origin.OBSERVED:
                yield self._constraint(fact, {}, ZERO)

    def _relation(self, fact: Relation, passed: _Passed) -> Iterator[FlowConstraint]:
        each = next((term.place for term in fact.terms if term.each and term.place), None)
        if each is None:
            yield from self._related(fact, passed)
            return
        at = self.program.at(each, fact)
        for index in sorted(at.indices):
            one = At(frozenset({index}), at.called)
            if passed.into(one):
                yield from self._related(fact, passed, one)

    def _related(
        self, fact: Relation, passed: _Passed, each: At | None = None
    ) -> Iterator[FlowConstraint]:
        """``each``: for the place that the relation holds for each of the instructions of."""
        coefficients: dict[int, Expression] = {}
        limit: Expression = ZERO
        for term in fact.terms:
            if term.place is None:
                limit = Binary(BinaryOperator.SUBTRACT, limit, term.factor)
                continue
            for link, times in self._links(term, fact, passed, each).items():
                factor = term.factor
                if times > 1:
                    factor = Binary(BinaryOperator.MULTIPLY, Number(times), factor)
                known = coefficients.get(link)
                coefficients[link] = (
                    factor if known is None else Binary(BinaryOperator.ADD, known, factor)
                )
        if coefficients:
            self.used.add(id(fact))
            yield self._constraint(fact, coefficients, limit)

    def _links(self, term: Term, fact: Fact, passed: _Passed, each: At | None) -> Mapping[int, int]:
        assert term.place is not None
        source = each if each and term.each else self.program.at(term.place, fact)
        if term.edge is None:
            return passed.into(source)
        target = self.program.at(term.edge, fact)
        between = passed.between(source, target)
        if not between and passed.into(source) and passed.into(target):
            raise InputError(
                f"control does not go from the one place right to the other: {fact_text(fact)}",
                where=fact.where,
                expected="the last block before a branch, and the first behind it",
                hint="count one of the two places",
            )
        return dict.fromkeys(between, 1)

    def _exclusive(self, fact: Exclusive, passed: _Passed) -> Iterator[FlowConstraint]:
        links: Counter[int] = Counter()
        for place in fact.places:
            into = passed.into(self.program.at(place, fact))
            if passed.repeats(into):
                raise InputError(
                    f"what is passed more than once cannot be exclusive: {fact_text(fact)}",
                    where=fact.where,
                    expected="places outside of loops",
                    hint="say it by `never` in services apart, or relate counts",
                )
            links.update(dict.fromkeys(into, 1))  # several of them may be in one block
        if links:
            self.used.add(id(fact))
            coefficients = {link: Number(times) for link, times in links.items()}
            yield self._constraint(fact, coefficients, ONE)

    def _constraint(
        self, fact: Fact, coefficients: Mapping[int, Expression], limit: Expression
    ) -> FlowConstraint:
        return FlowConstraint(
            fact_text(fact), coefficients, limit, origin_of(fact), fact.because, str(fact.where)
        )


def _names_part(fact: Relation) -> bool:
    return any(PART_SEPARATOR in name for name in fact.services)


def _is_upper_bound(fact: Relation) -> bool:
    """Of a part it holds, too: there is nothing that a part passes more often than the whole."""
    return all(
        isinstance(term.factor, Number | Name)
        and not (isinstance(term.factor, Number) and term.factor.value < 0)
        for term in fact.terms
        if term.place is not None
    )


Evaluate = Callable[[Expression, Mapping[str, int]], int]


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
