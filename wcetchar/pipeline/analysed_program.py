"""One program analysed: its control flow, the values in its functions, and what facts say of it.

Inputs: the services of an image, what traces showed of them, and flow facts. Output: what the path
models of all of them are made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.switching_code import put_away_before, switching_loads
from wcetchar.errors import InputError
from wcetchar.model.flow_fact import Fact, NoReturn
from wcetchar.model.observed import Observed
from wcetchar.model.service import SectionKind
from wcetchar.pipeline.flow_facts import check_names
from wcetchar.static.callers import Callers
from wcetchar.static.cuts import cut_behind
from wcetchar.static.expand import Expanded
from wcetchar.static.facts import Absent, Places, ReadSource, place_text
from wcetchar.static.facts.in_program import FactsInProgram
from wcetchar.static.flow.graph import program_graph
from wcetchar.static.given_targets import Given
from wcetchar.static.loop_constraints import LoopKey
from wcetchar.static.masking.follow import Masking
from wcetchar.static.program import Program
from wcetchar.static.proofs import analysed, proved_bounds, proved_sections
from wcetchar.static.split import split
from wcetchar.static.unproved import fact_of_targets


class AnalysedProgram:
    """
    Attributes:
        places: that facts name, looked up in it.
        facts: those of which the program has what they are about, where they ask for that.
        whole: functions that the services reach.
        only_seen: addresses of indirect calls and jumps whose targets traces alone say.
        said: table indices of those of which facts say it, in any service.
        returns: table indices of what returns from a function.
        values: in each function, by its address, whoever calls it.
        bounds: of loops, that these prove.
        masks: table indices of what writes masks.
        program: that paths go through: the same functions, with blocks cut where another thread may
            run, or what is held off changes.
        callers: what functions know by what callers hand over.
    """

    def __init__(
        self, resolved: Resolved, observed: Observed, facts: Sequence[Fact], source: ReadSource
    ) -> None:
        """``source``: lines of a source file.

        Raises:
            InputError: facts name what the program has not.
        """
        self._resolved = resolved
        table, image = resolved.table, resolved.image
        self.places = Places(image, table, source)
        check_names(facts, resolved.services, resolved.section_names)
        every = FactsInProgram(facts, self.places, self._address_of)
        there = tuple(f for f in facts if not f.where_present or every.has(f))
        self.facts = replace(every, facts=there)
        entries = [table.instructions[index].address for index in resolved.entries]
        no_return = [
            self._address_of(fact.function, fact) for fact in there if isinstance(fact, NoReturn)
        ]
        said = self.facts.all_targets()
        given = Given(table, self.places.register_calls, said, observed.targets)
        self.said = frozenset(said)
        switches = switching_loads(resolved)
        self._returning = put_away_before(resolved, switches)
        at_switches = [table.instructions[index].address for index in self._returning]
        while True:
            self.whole = program_graph(
                image,
                table,
                entries,
                targets=given.targets,
                no_return=no_return,
                switches=at_switches,
            )
            if not given.more(self.whole):
                break
        self.only_seen = given.only_seen
        self.returns = self.whole.returns
        self.facts.check_sources(self.returns)
        self.values = analysed(self.whole, image, table, self.facts.switches(everywhere=True))
        self.facts = replace(self.facts, is_request=self._is_request, _known={})
        self.bounds = proved_bounds(self.values)
        self.masks = frozenset(n for n, row in enumerate(table.instructions) if row.masks)
        self.program = Program(
            table,
            split(
                self.whole,
                # So that the same is held off in all of a block.
                cut_behind(observed.paths) | self.facts.switches() | self.masks,
            ),
            resolved.section_names,
            resolved.code_section.astype(np.int64),
            resolved.target_section,
            resolved.place_of,
            observed.misaligned,
            given.called,
            switches,
        )
        self.callers = Callers(
            self.program,
            image,
            self.values,
            self.bounds,
            proved_sections(self.values, table, self._sections_of),
            self._sections_of,
        )
        self._maskings: dict[frozenset[int], Masking] = {}
        self._names: dict[LoopKey, str] = {}

    def name_of(self, key: LoopKey) -> str:
        """A loop as a place in a flow fact."""
        if key not in self._names:
            function = self.whole.functions[key[0]]
            self._names[key] = place_text(self.places.name_loop(function, key[1]))
        return self._names[key]

    def spell(self, address: int) -> str:
        """An instruction as a place in a flow fact."""
        return place_text(self.places.name_instruction(address))

    def fact_of_targets(self, address: int) -> str:
        """The fact, without its targets, that would say where control goes from there; empty: there
        is none."""
        place = self.places.name_instruction(address)
        try:
            (index, *_) = self.places.transferring(place)
        except Absent:
            return ""
        if index in self.returns:
            return ""
        return fact_of_targets(self._resolved.table.instructions[index].flow, place_text(place))

    def masking(self, requests: frozenset[int]) -> Masking:
        """Shared by the services in which the instructions of these table indices ask for a
        switch."""
        if requests not in self._maskings:
            lock, unlock = self._resolved.lock, self._resolved.unlock
            self._maskings[requests] = Masking(self.program, self.values, lock, unlock, requests)
        return self._maskings[requests]

    def assumptions(self, found: Expanded) -> list[str]:
        """What values in the functions of a service rest on, and what these do, for people."""
        used = {at for at, _ in found.reached} & set(self.values)
        passing = self.program.graph.passing
        switching = {at for load in self._returning for at, _ in passing.get(load, ())}
        return [
            *sorted({one for at in used for one in self.values[at].assumptions}),
            *(
                f"{name} switches threads, and returns to where its thread called it, once that "
                "goes on"
                for name in sorted(f.name for f in found.functions if f.address in switching)
            ),
        ]

    def _sections_of(self, low: int, high: int) -> frozenset[str] | None:
        resolved = self._resolved
        found = np.unique(resolved.sections_of(np.arange(low, high + 1, dtype=np.uint64))).tolist()
        return None if -1 in found else frozenset(resolved.section_names[n] for n in found)

    def _is_request(self, index: int) -> bool:
        """A store goes to one address, in whatever function, which is a peripheral's or none of a
        section's."""
        sections = self._resolved.services.sections
        memory = {s.name for s in sections if s.kind is not SectionKind.PERIPHERAL}
        found = [
            where
            for one in self.values.values()
            if any(block.first <= index <= block.last for block in one.graph.blocks)
            and (where := one.address_of(index)) is not None
        ]
        for where in found:
            if where.stack or not where.interval.single:
                return False
            first = where.interval.start
            if (self._sections_of(first, first + where.size - 1) or frozenset()) & memory:
                return False
        return bool(found)

    def _address_of(self, function: str, fact: Fact) -> int:
        found = [s for s in self._resolved.image.find(function) if s.kind == "function"]
        if len({s.address for s in found}) != 1:
            error = InputError if found else Absent
            raise error(
                f"{'several functions are' if found else 'no function is'} called {function}",
                where=fact.where,
                expected="the name of one function of the image",
            )
        return found[0].address
