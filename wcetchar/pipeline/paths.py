"""Path models of services: an image, what traces showed and flow facts in, path models out."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from wcetchar import formula
from wcetchar.analysis.resolve import Resolved
from wcetchar.errors import CheckFailed, InputError
from wcetchar.model.access import UNKNOWN_SECTION, CoreEvent, EventKind
from wcetchar.model.characterization import Characterization
from wcetchar.model.flow import FunctionGraph
from wcetchar.model.flow_fact import (
    Exclusive,
    Fact,
    LoopBound,
    Never,
    NoReturn,
    Relation,
    Targets,
)
from wcetchar.model.observed import Observed, ObservedPath
from wcetchar.model.path_model import FlowConstraint, Gap, Origin, PathModel
from wcetchar.model.service import (
    PARTS,
    FloatContext,
    Part,
    Service,
    ServiceKind,
    parts_before,
)
from wcetchar.pipeline.flow_facts import (
    PathsRequest,
    check_names,
    raise_all,
    read_facts,
    source_lines,
)
from wcetchar.static.apply_facts import ServiceFacts
from wcetchar.static.build import Frames, Trail, frames, path_model
from wcetchar.static.expand import Cuts, Expanded, expand
from wcetchar.static.facts import Absent, Places, ReadSource, fact_text, place_text
from wcetchar.static.facts.in_program import FactsInProgram
from wcetchar.static.flow.graph import program_graph
from wcetchar.static.given_targets import Given, is_said_by_calls
from wcetchar.static.history import Histories
from wcetchar.static.loop_constraints import ZERO, Bound, LoopKey, functions_begun
from wcetchar.static.masking.follow import ASSUMED as ASSUMED_OF_MASKS
from wcetchar.static.masking.follow import Masking
from wcetchar.static.program import Program
from wcetchar.static.proofs import (
    analysed,
    arguments_by_callers,
    bounds_by_arguments,
    bounds_by_callers,
    proved_bounds,
    proved_sections,
    values_by_callers,
    wanted_arguments,
)
from wcetchar.static.sections import STACK, DataSections, data_sections
from wcetchar.static.split import split
from wcetchar.static.traced import (
    Trails,
    by_loop,
    check_bounds,
    check_constraints,
    check_counts,
    check_targets,
    observed_bounds,
    replayed,
    turned_in,
)
from wcetchar.static.values.analysis import Values
from wcetchar.static.vectors import Vectors

_OF_FLOAT_FRAMES = (EventKind.FLOAT_CONTEXT_SAVE, EventKind.FLOAT_CONTEXT_RESTORE)


@dataclass(frozen=True)
class Request:
    """
    Attributes:
        facts: of all files, in order.
        source: lines of a source file.
        depth: calls that tell contexts apart, ``None``: all.
        observed: where nothing is known of a loop, it has the bound that traces showed.
    """

    facts: tuple[Fact, ...] = ()
    source: ReadSource = lambda _: None
    depth: int | None = None
    observed: bool = False


def read(request: PathsRequest) -> Request:
    """Reads the files of a request.

    Raises:
        InputError: as of :func:`read_facts`.
    """
    facts = read_facts(request.facts)
    return Request(facts, source_lines(request.sources), request.depth, request.observed)


@dataclass(frozen=True)
class Built:
    """The path model of a service, or a part of one, and what it was made of."""

    model: PathModel
    found: Expanded
    trails: Trails
    bounds: Mapping[LoopKey, Sequence[Bound]]
    sections: DataSections


class PathModels:
    """Makes the path models of one program's services."""

    def __init__(self, resolved: Resolved, observed: Observed, request: Request) -> None:
        """
        Raises:
            InputError: facts name what the program has not.
        """
        self._resolved, self._observed = resolved, observed
        table, image = resolved.table, resolved.image
        self._paths: dict[str, list[ObservedPath]] = defaultdict(list)
        for path in observed.paths:
            self._paths[path.service].append(path)
        self.places = Places(image, table, request.source)
        check_names(request.facts, resolved.services, resolved.section_names)
        self._facts = FactsInProgram(request.facts, self.places, self._address_of)
        there = tuple(f for f in request.facts if not f.where_present or self._facts.has(f))
        self._request = request = replace(request, facts=there)
        self._facts = replace(self._facts, facts=there)
        entries = [table.instructions[index].address for index in resolved.entries]
        no_return = [
            self._address_of(fact.function, fact)
            for fact in request.facts
            if isinstance(fact, NoReturn)
        ]
        given = Given(table, self.places.register_calls, self._targets(), observed.targets)
        while True:
            self._whole = program_graph(
                image, table, entries, targets=given.targets, no_return=no_return
            )
            if not given.more(self._whole):
                break
        self._only_seen = given.only_seen
        """Addresses of indirect calls and jumps whose targets traces alone say."""
        self._returns = frozenset(
            one.blocks[number].last
            for one in self._whole.functions.values()
            for number in one.returns
        )
        self._check_calls()
        self._values = analysed(self._whole, image, table, self._facts.switches(everywhere=True))
        self._proved_bounds = proved_bounds(self._values)
        self._masks = frozenset(n for n, row in enumerate(table.instructions) if row.masks)
        self.program = Program(
            table,
            split(
                self._whole,
                # So that the same is held off in all of a block.
                _cuts(observed.paths) | self._facts.switches() | self._masks,
            ),
            resolved.section_names,
            resolved.code_section.astype(np.int64),
            resolved.target_section,
            resolved.place_of,
            observed.misaligned,
            given.called,
        )
        self._proved_sections = proved_sections(self._values, table, self._sections_of)
        others: dict[int, set[str]] = defaultdict(set)
        for own in observed.sections.values():
            for index, sections in own.items():
                others[index] |= sections
        self._others = {index: frozenset(one) for index, one in others.items()}
        self._vectors = Vectors(self.program)
        self._histories = Histories(self.program.columns)
        self._maskings: dict[frozenset[int], Masking] = {}
        self._names: dict[LoopKey, str] = {}
        self._by_callers: dict[tuple[int, tuple[int, ...]], Values | None] = {}
        self._wanted: dict[int, int] = {}

    def name_of(self, key: LoopKey) -> str:
        """A loop as a place in a flow fact."""
        if key not in self._names:
            function = self._whole.functions[key[0]]
            self._names[key] = place_text(self.places.name_loop(function, key[1]))
        return self._names[key]

    def all(self) -> Iterator[Built]:
        """Of each service and part that traces show, by the addresses of their functions.

        Raises:
            CheckFailed: a traced path is none of the model's, or counts something else there.
            InputError: facts about what no service reaches.
        """
        used: set[int] = set()
        asked: dict[int, Fact] = {}
        for entry, services in sorted(self._resolved.entries.items()):
            address = self._resolved.table.instructions[entry].address
            for service in services:
                for part in PARTS[service.kind]:
                    name = part.of(service.name)
                    if name in self._paths and self._is_entered_at(service, entry):
                        facts = ServiceFacts.of(self._facts, name, parts_before(service, part))
                        yield self._model(service, part, address, facts)
                        used |= facts.used
                        asked.update((id(fact), fact) for fact in facts.facts)
        functions = self.program.graph.functions.values()
        unused = [fact for number, fact in asked.items() if number not in used]
        raise_all(
            [
                self.places.no_loop(fact.place, functions)
                if isinstance(fact, LoopBound)
                else _unreached(fact)
                for fact in unused
                if isinstance(fact, LoopBound | Never | Relation | Exclusive)
                and not fact.where_present
            ]
        )

    def _is_entered_at(self, service: Service, entry: int) -> bool:
        """Of several functions that a service may begin with, it is the one that traces entered."""
        first = PARTS[service.kind][0].of(service.name)
        seen = {int(path.index[0]) for path in self._paths[first]}
        return len(service.entries) == 1 or not seen or entry in seen

    def _model(self, service: Service, part: Part, address: int, facts: ServiceFacts) -> Built:
        name, resolved = part.of(service.name), self._resolved
        paths = self._paths[name]
        names = [p.name for p in service.parameters]
        limits = facts.limits(_corners(service), formula.evaluate)
        unlimited = self.program.graph.recursive - set(limits)
        requests = facts.switches()
        masking = self._masking(requests)
        cuts = _cuts_of(service, part, paths, requests, self._masks)
        found = expand(
            self.program,
            address,
            cuts.cuts,
            limits={**dict.fromkeys(unlimited, 1), **limits},
            depth=self._request.depth,
            excluded=facts.excluded(self.program.graph),
            excluded_before=facts.excluded_before(self.program.graph),
            histories=self._histories,
            masking=masking,
            holds=self._begins(masking, service, address, facts),
        )
        gaps = [*self._open_ends(found), *self._recursions(found, unlimited)]
        floats = self._float_frames(service, found, paths)
        gaps += floats
        said = [(fact, at - self._returns, to) for fact, at, to in facts.targets()]
        check_targets(paths, said, resolved.place, self.program.table)
        trails = replayed(found, paths, resolved.place) if not floats else []
        bounds: dict[LoopKey, list[Bound]] = defaultdict(list)
        by_callers = self._values_by_callers(found, address)
        for source in (
            self._proved_bounds,
            self._bounds_by_arguments(service, address),
            self._bounds_by_callers(by_callers),
            facts.bounds(self._functions(found)),
        ):
            for key, more in source.items():
                bounds[key] += more
        turned = turned_in(found, trails, names)
        if self._request.observed:
            for key, more in observed_bounds(found, turned, bounds).items():
                bounds[key] += more
        check_bounds(found, trails, names, bounds, self.name_of)
        constraints = tuple(facts.constraints(found))
        check_constraints(trails, names, constraints)
        own = self._observed.sections.get(name, {})
        joint = {s.name: s.either_of for s in resolved.services.sections if s.either_of}
        proved = self._with_callers(found, by_callers)
        if self._sets_stack_pointer(found):
            # Which stack it is on then is not known beforehand: traces say it, or facts.
            proved = {index: one for index, one in proved.items() if STACK not in one}
        sections = data_sections(facts.sections(), proved, own, self._others, joint)
        self._check_sections(name, facts, own, sections)
        model = path_model(
            name,
            found,
            self._vectors,
            sections,
            bounds,
            self.name_of,
            facts=[*constraints, *self._seen_targets(found), *cuts.seen],
            gaps=gaps,
            trails=[Trail(path.values, links, path.vector) for path, links in trails],
            turned=by_loop(found, turned),
            frames=self._frames(service),
            exceptions=resolved.table.exceptions,
            assumptions=[
                ASSUMED_OF_MASKS,
                *self._assumed(found),
                *_assumed_of(service),
                *([f"it runs on {sections.stack}"] if sections.stack else []),
            ],
        )
        check_counts(model, trails, joint, self._observed.misaligned)
        return Built(model, found, trails, bounds, sections)

    def _masking(self, requests: frozenset[int]) -> Masking:
        """Shared by the services in which these instructions ask for a switch."""
        if requests not in self._maskings:
            lock, unlock = self._resolved.lock, self._resolved.unlock
            self._maskings[requests] = Masking(self.program, self._values, lock, unlock, requests)
        return self._maskings[requests]

    def _begins(
        self, masking: Masking, service: Service, address: int, facts: ServiceFacts
    ) -> list[int]:
        """What may be known of masks where a service begins: what traces showed, with what facts
        say of variables."""
        words = facts.entry_values()
        seen = {
            (path.masks, path.lock, path.in_handler)
            for part in PARTS[service.kind]
            for path in self._paths.get(part.of(service.name), ())
        }
        begins = {masking.begin(address, *one, words): None for one in seen}
        return sorted(begins)

    def _sets_stack_pointer(self, found: Expanded) -> bool:
        """Otherwise than by what it held before."""
        rows, bit = self.program.table.instructions, self.program.table.registers.stack_pointer
        blocks = (self.program.graph.functions[at].blocks[n] for at, n in found.reached)
        return any(
            rows[index].defs >> bit & 1 and not rows[index].uses >> bit & 1
            for block in blocks
            for index in range(block.first, block.last + 1)
        )

    def _bounds_by_arguments(
        self, service: Service, address: int
    ) -> Mapping[LoopKey, Sequence[Bound]]:
        """Of loops of the service's function that count to a parameter that is an argument."""
        resolved = self._resolved
        registers = resolved.table.registers.arguments
        arguments = {
            registers[p.argument]: p
            for p in service.parameters
            if p.argument is not None and p.minimum >= 0
        }
        if not arguments or address in self.program.graph.recursive:
            return {}
        function = self._whole.functions[address]
        calls = self._values[address].calls
        return bounds_by_arguments(function, resolved.image, resolved.table, arguments, calls)

    def _values_by_callers(self, found: Expanded, entry: int) -> dict[int, Values]:
        """Of functions that only others of the service call, where what these hand over may bound a
        loop, or say where an access goes."""
        sites: dict[int, list[tuple[Values, int]]] = defaultdict(list)
        for address, number in sorted(found.reached):
            function = self.program.graph.functions[address]
            transfer = function.transfer_of.get(number)
            if transfer is not None:
                for target in transfer.targets:
                    sites[target].append((self._values[address], function.blocks[number].last))
        values: dict[int, Values] = {}
        image, table = self._resolved.image, self._resolved.table
        begun = {entry, *functions_begun(found)}
        for target, calls in sites.items():
            if target in begun:
                continue
            key = (target, tuple(index for _, index in calls))
            if key not in self._by_callers:
                self._by_callers[key] = None
                function, base = self._whole.functions[target], self._values[target]
                given = arguments_by_callers(table, calls)
                wanted = self._wanted.get(target)
                if wanted is None:
                    wanted = wanted_arguments(base, self._proved_sections.keys())
                    self._wanted[target] = wanted
                loops = range(len(function.loops))
                open_loops = any((target, n) not in self._proved_bounds for n in loops)
                if given and (open_loops or any(wanted >> register & 1 for register in given)):
                    self._by_callers[key] = values_by_callers(
                        function, image, table, given, base.calls
                    )
            one = self._by_callers[key]
            if one is not None:
                values[target] = one
        return values

    def _bounds_by_callers(self, values: Mapping[int, Values]) -> dict[LoopKey, Sequence[Bound]]:
        found: dict[LoopKey, Sequence[Bound]] = {}
        for one in values.values():
            found.update(bounds_by_callers(one))
        return found

    def _with_callers(
        self, found: Expanded, values: Mapping[int, Values]
    ) -> Mapping[int, frozenset[str]]:
        """Sections of accesses, of the service's functions by what their callers hand over; code
        that several of them share is left out."""
        if not values:
            return self._proved_sections
        owners: dict[int, set[int]] = defaultdict(set)
        for address, number in found.reached:
            block = self.program.graph.functions[address].blocks[number]
            for index in range(block.first, block.last + 1):
                owners[index].add(address)
        more = proved_sections(values, self._resolved.table, self._sections_of)
        own = {index: one for index, one in more.items() if len(owners[index]) == 1}
        return {**own, **self._proved_sections}

    def _functions(self, found: Expanded) -> list[FunctionGraph]:
        """That a service reaches."""
        return [self.program.graph.functions[at] for at in sorted({f for f, _ in found.reached})]

    def _open_ends(self, found: Expanded) -> Iterator[Gap]:
        """What the control flow of the service's functions leaves open."""
        rows, resolved = self.program.table.instructions, self._resolved
        for function in self._functions(found):
            held: dict[int, set[int]] = defaultdict(set)
            for number, block in enumerate(function.blocks):
                for index in range(block.first, block.last + 1):
                    held[rows[index].address].add(number)
            for end in function.open:
                having = held.get(end.address)
                if having is None or any((function.address, n) in found.reached for n in having):
                    where = f"{resolved.place(end.address)}: {end.why}"
                    yield Gap(end.kind.value, where, resolved.place_of(end.address))
        for address in sorted(found.missing):
            yield Gap("call of unknown code", resolved.place(address), resolved.place_of(address))

    def _recursions(self, found: Expanded, unlimited: frozenset[int]) -> Iterator[Gap]:
        for function in self._functions(found):
            if function.address in unlimited:
                yield Gap(
                    "recursion without a bound",
                    function.name,
                    self._resolved.place_of(function.address),
                    f"recursion of {function.name}",
                )

    def _float_frames(
        self, service: Service, found: Expanded, paths: Sequence[ObservedPath]
    ) -> list[Gap]:
        """Frames of floating-point registers are moved when a handler first uses these; models do
        not say where that is."""
        table = self._resolved.table
        if not table.exceptions.float_words:
            return []
        seen = any(
            isinstance(key, CoreEvent) and key.kind in _OF_FLOAT_FRAMES
            for path in paths
            for key in path.vector
        )
        at_entry = self._resolved.services.float_context is not FloatContext.LAZY
        if service.kind is ServiceKind.HANDLER and at_entry:
            return [Gap("floating-point frames, which entry may move", service.name)]
        if service.kind is ServiceKind.HANDLER and not seen:
            blocks = (self.program.graph.functions[at].blocks[n] for at, n in found.reached)
            seen = any(
                table.instructions[index].issue.is_float
                for block in blocks
                for index in range(block.first, block.last + 1)
            )
        return [Gap("floating-point frames", service.name)] if seen else []

    def _seen_targets(self, found: Expanded) -> Iterator[FlowConstraint]:
        """Indirect calls and jumps that go where traces showed, as far as is known."""
        rows = self.program.table.instructions
        for address, number in sorted(found.reached):
            at = rows[self.program.graph.functions[address].blocks[number].last].address
            if at in self._only_seen and not is_said_by_calls(found, address):
                label = f"{self._resolved.place(at)} goes where traces showed"
                yield FlowConstraint(label, {}, ZERO, Origin.OBSERVED)

    def _assumed(self, found: Expanded) -> list[str]:
        used = {at for at, _ in found.reached} & set(self._values)
        return sorted({one for at in used for one in self._values[at].assumptions})

    def _check_sections(
        self,
        name: str,
        facts: ServiceFacts,
        own: Mapping[int, frozenset[str]],
        told: DataSections,
    ) -> None:
        """Traced accesses went where facts say, as far as these are what is taken."""
        joint = {s.name: {*s.either_of} for s in self._resolved.services.sections}
        for index, fact in facts.section_facts().items():
            allowed = {*fact.sections}.union(*(joint.get(one, set()) for one in fact.sections))
            strange = own.get(index, frozenset()) - allowed
            if strange and told.origins.get(index) is Origin.WRITTEN:
                at = self._resolved.place(self._resolved.table.instructions[index].address)
                raise CheckFailed(
                    f"{name}: a trace accesses {', '.join(sorted(strange))} at {at}",
                    expected=f"{', '.join(fact.sections)}, by {fact.where}",
                    hint="the flow fact is wrong, or says it of too much",
                )

    def _sections_of(self, low: int, high: int) -> frozenset[str] | None:
        resolved = self._resolved
        found = np.unique(resolved.sections_of(np.arange(low, high + 1, dtype=np.uint64))).tolist()
        return None if -1 in found else frozenset(resolved.section_names[n] for n in found)

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

    def _targets(self) -> dict[int, frozenset[int]]:
        """By table index of an indirect call or jump: where facts say that it goes, in any
        service."""
        rows = self._resolved.table.instructions
        found: dict[int, set[int]] = defaultdict(set)
        for fact in self._request.facts:
            if isinstance(fact, Targets):
                sources, to = self._facts.targets(fact)
                for index in sources:
                    found[index] |= {rows[i].address for i in to}
        return {index: frozenset(to) for index, to in found.items()}

    def _check_calls(self) -> None:
        """Facts about targets are about more than returns."""
        for fact in self._request.facts:
            if isinstance(fact, Targets) and self._facts.targets(fact)[0] <= self._returns:
                raise InputError(
                    f"there is no indirect call or jump at {place_text(fact.place)}, but a return",
                    where=fact.where,
                    expected="an instruction that goes where a register or a table says",
                    hint="where control returns to follows from the calls: take the fact out",
                )

    def _frames(self, service: Service) -> Frames | None:
        if service.kind is not ServiceKind.HANDLER:
            return None
        services = self._resolved.services
        return frames(
            self._resolved.table.exceptions,
            services.task_stack or UNKNOWN_SECTION,
            services.vector_section or UNKNOWN_SECTION,
        )


def _unreached(fact: Fact) -> InputError:
    """For a fact whose place no service reaches that it holds in."""
    return InputError(
        f"no service that the fact holds in reaches its place: {fact_text(fact)}",
        where=fact.where,
        expected="a place on a path of one of the services that traces show"
        if not isinstance(fact, Relation)
        else "places on paths of one of the services that traces show; of parts of services only "
        "what is at most so often",
        hint="take it out; `where present` before it says that some programs have no use for it",
    )


def _corners(service: Service) -> list[dict[str, int]]:
    """The ends of the ranges of the parameters, each with each."""
    names = [p.name for p in service.parameters]
    ends = [sorted({p.minimum, p.maximum}) for p in service.parameters]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*ends)]


def _cuts(paths: Sequence[ObservedPath]) -> set[int]:
    """Table indices of instructions behind which blocks have to end, so that parts can begin and
    end there."""
    ends = {int(path.index[-1]) for path in paths}
    return ends | {int(path.index[0]) - 1 for path in paths}


@dataclass(frozen=True)
class _Cut:
    """``seen``: says that only traces say where another thread runs."""

    cuts: Cuts | None
    seen: tuple[FlowConstraint, ...] = ()


def _cuts_of(
    service: Service,
    part: Part,
    paths: Sequence[ObservedPath],
    requests: frozenset[int],
    masks: frozenset[int],
) -> _Cut:
    """Where a part begins and ends; ``requests``: instructions that ask for a switch, as flow facts
    say; ``masks``: that write masks, behind which it happens that was masked."""
    begins = frozenset(int(path.index[0]) for path in paths)
    ends = frozenset(int(path.index[-1]) for path in paths)
    both = service.kind is ServiceKind.ACTIVATION or part is Part.BETWEEN_SWITCHES
    begun, ended = both or part is Part.UNTIL_RETURN, both or part is Part.UNTIL_SWITCH
    if not begun and not ended:
        return _Cut(None)
    if requests and service.kind is not ServiceKind.ACTIVATION:
        where = requests | masks
        behind = frozenset(index + 1 for index in where)
        none = frozenset[int]()
        return _Cut(Cuts(behind if begun else none, where if ended else none, asked=True))
    cuts = Cuts(begins if begun else frozenset(), ends if ended else frozenset())
    label = "another thread runs where traces showed it to, and nowhere else"
    return _Cut(cuts, (FlowConstraint(label, {}, ZERO, Origin.OBSERVED),))


def _assumed_of(service: Service) -> Iterator[str]:
    if service.kind is ServiceKind.HANDLER:
        yield "the exception interrupts a thread, on whose stack its frame is"


def with_paths(characterization: Characterization, built: Sequence[Built]) -> Characterization:
    """The characterization with the path models of its services, in its order."""
    models = {one.model.service: one.model for one in built}
    return replace(
        characterization,
        paths=tuple(models[s.name] for s in characterization.services if s.name in models),
    )
