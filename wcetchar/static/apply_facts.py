"""Flow facts of one service as what the other modules understand.

Inputs: facts, the places that they name in a program, the graph of a service. Output: which blocks
are left out, bounds of loops, constraints over links, sections of accesses. A fact whose place no
service reaches in which it holds is an error, told by :attr:`ServiceFacts.used`.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from wcetchar import formula
from wcetchar.errors import InputError
from wcetchar.model.expression import Expression
from wcetchar.model.flow import FunctionGraph, ProgramGraph
from wcetchar.model.flow_fact import (
    Accesses,
    EntryValue,
    Exclusive,
    Fact,
    LoopBound,
    Never,
    NoReturn,
    Recursion,
    Relation,
    SwitchedAway,
    Targets,
)
from wcetchar.model.path_model import FlowConstraint, Origin
from wcetchar.model.service import PART_SEPARATOR
from wcetchar.static.contexts import Contexts, has_stack
from wcetchar.static.expand import Expanded
from wcetchar.static.fact_constraints import (
    FactConstraints,
    constraint_of,
    holds_in_parts,
    is_upper_bound,
    names_services,
    origin_of,
)
from wcetchar.static.facts import fact_text
from wcetchar.static.facts.in_program import At, FactsInProgram
from wcetchar.static.facts.scopes import holds_in
from wcetchar.static.loop_constraints import ZERO, Bound, LoopKey

_MOST_VALUES: Final = 100_000


@dataclass
class ServiceFacts:
    """Facts of one service.

    Attributes:
        is_part: of a part of a service that another thread cuts.
        is_activation: of an activation of a thread.
        earlier: those that hold before it; ``None``: the same.
        asking: of what asks for a switch, in it or in a part before it.
        used: numbers (``id``) of facts whose place the service reaches, as far as it was asked.
    """

    program: FactsInProgram
    facts: list[Fact]
    is_part: bool = False
    is_activation: bool = False
    earlier: list[Fact] | None = None
    asking: Sequence[SwitchedAway] = ()
    used: set[int] = field(default_factory=set)

    @classmethod
    def of(
        cls,
        program: FactsInProgram,
        service: str,
        before: Sequence[str] = (),
        *,
        activation: bool = False,
    ) -> ServiceFacts:
        """Those that hold in a service, or a part of one.

        Args:
            before: parts of it that may have been executed then.
            activation: it is one of a thread, before which may have been any other, so that
                nothing holds there but what holds in every service.
        """
        facts = [
            fact
            for fact in program.facts
            if not isinstance(fact, EntryValue) or fact.at_start == activation
        ]
        holding = [fact for fact in facts if holds_in(fact, service)]
        earlier = [fact for fact in facts if all(holds_in(fact, one) for one in before)]
        if activation:
            earlier = [fact for fact in facts if not fact.services]
        asking = [
            fact
            for fact in program.facts
            if isinstance(fact, SwitchedAway)
            # Of a thread also what asks for a switch in its other activations.
            and (activation or any(holds_in(fact, one) for one in (service, *before)))
        ]
        is_part = PART_SEPARATOR in service
        any_before = bool(before) or activation
        return cls(program, holding, is_part, activation, earlier if any_before else None, asking)

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
        in_blocks: dict[tuple[int, int], list[tuple[Fact, At]]] = defaultdict(list)
        for index, facts in self._never_at.items():
            for passing in graph.passing.get(index, ()):
                in_blocks[passing] += facts

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
        """Table indices of the instructions that ask for a switch of threads, in the part or in one
        before it, behind which it may begin."""
        return frozenset(index for fact in self.asking for index in self.program.asking(fact))

    def limits(self, ranges: Mapping[str, tuple[int, int]]) -> dict[int, int]:
        """Of recursive functions, by address, the largest limit at any values of the parameters
        that are between ``ranges``; of a part, in it and before it.

        Raises:
            InputError: there are too many values to try them all.
        """
        found = self._limits(self.facts, ranges)
        if self.earlier is not None:
            before = self._limits(self.earlier, ranges)
            found = {at: max(found[at], before[at]) for at in found.keys() & before.keys()}
        return found

    def _limits(
        self, facts: Iterable[Fact], ranges: Mapping[str, tuple[int, int]]
    ) -> dict[int, int]:
        found: dict[int, int] = {}
        for fact in facts:
            if isinstance(fact, Recursion) and fact.limit is not None:
                address = self.program.address_of(fact.function, fact)
                limit = max(1, _largest(fact, fact.limit, ranges))
                found[address] = min(found.get(address, limit), limit)
        return found

    def entry_values(self) -> dict[int, int]:
        """By address of a variable of 32 bits: what it holds when the service begins; of a part,
        the whole service; of an activation, where the thread starts, with which what is followed
        begins.

        Raises:
            InputError: the image has no such variable, or two facts say otherwise of one.
        """
        found: dict[int, int] = {}
        # What holds where a thread starts holds of it whichever of its activations is asked for.
        earlier = None if self.is_activation else self.earlier
        for fact in self.facts if earlier is None else earlier:
            if isinstance(fact, EntryValue):
                self.used.add(id(fact))
                address, value = self.program.variable(fact), fact.value & 0xFFFFFFFF
                if found.setdefault(address, value) != value:
                    raise InputError(
                        f"another fact says {found[address]} of {fact.name}: {fact_text(fact)}",
                        where=fact.where,
                        expected="one value of a variable in each service",
                        hint="limit one of the two to other services",
                    )
        return found

    def told_before(self) -> frozenset[int]:
        """Table indices of the indirect calls and jumps of which facts say where they go, in the
        service and before it."""
        held = self.facts if self.earlier is None else self.earlier
        own = {index for _, sources, _ in self.targets() for index in sources}
        before = (self.program.targets(fact)[0] for fact in held if isinstance(fact, Targets))
        return frozenset(own).intersection(index for sources in before for index in sources)

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
                for loop in self.program.loops(fact, function):
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

    def _is_of_all_of_it(self, fact: Relation) -> bool:
        """It says something of what is executed of a part, or an activation, alone. Of activations,
        facts that name them do; others are of services that a thread calls."""
        if self.is_activation:
            return names_services(fact) or is_upper_bound(fact)
        return not self.is_part or holds_in_parts(fact)

    def constraints(self, found: Expanded) -> Iterator[FlowConstraint]:
        """Relations and exclusions as constraints over links.

        Raises:
            InputError: places that exclude each other in a loop, or a count between places where
                control does not go from the one right to the other.
        """
        made = FactConstraints(self.program, found)
        for fact in self.facts:
            relating: Iterable[FlowConstraint] = ()
            if isinstance(fact, Relation):
                if self._is_of_all_of_it(fact):
                    relating = made.of_relation(fact)
            elif isinstance(fact, Exclusive):
                relating = made.of_exclusion(fact)
            for constraint in relating:
                self.used.add(id(fact))
                yield constraint
        for fact in self._deciding():
            if isinstance(fact, Never):
                if id(fact) in self.used:
                    yield constraint_of(fact, {}, ZERO)
            elif origin_of(fact) is Origin.OBSERVED:
                yield constraint_of(fact, {}, ZERO)

    def _deciding(self) -> Iterable[Fact]:
        """Facts that decide what the graph of the part is, and no constraint else tells of."""
        kinds = Never | Targets | Recursion | NoReturn | Accesses | SwitchedAway | EntryValue
        before = Never | Recursion | EntryValue
        found = [fact for fact in self.facts if isinstance(fact, kinds)]
        found += [fact for fact in self.earlier or () if isinstance(fact, before)]
        return {id(fact): fact for fact in [*found, *self.asking]}.values()


def _largest(fact: Recursion, limit: Expression, ranges: Mapping[str, tuple[int, int]]) -> int:
    names = sorted(formula.names(limit))
    if math.prod(ranges[name][1] - ranges[name][0] + 1 for name in names) > _MOST_VALUES:
        raise InputError(
            f"there are more than {_MOST_VALUES:,} values of {', '.join(names)}: {fact_text(fact)}",
            where=fact.where,
            expected="a limit whose values can all be tried",
            hint="say the largest one as a number",
        )
    values = (range(ranges[name][0], ranges[name][1] + 1) for name in names)
    return max(
        formula.evaluate(limit, dict(zip(names, point, strict=True)))
        for point in itertools.product(*values)
    )
