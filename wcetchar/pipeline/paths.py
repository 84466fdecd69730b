"""Path models of services: an image, what traces showed and flow facts in, path models out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from wcetchar.analysis.resolve import Resolved
from wcetchar.errors import InputError
from wcetchar.model.access import UNKNOWN_SECTION
from wcetchar.model.characterization import Characterization
from wcetchar.model.flow_fact import Exclusive, Fact, LoopBound, Never, Relation
from wcetchar.model.observed import Observed, ObservedPath
from wcetchar.model.path_model import PathModel
from wcetchar.model.service import PARTS, Part, Service, ServiceKind, parts_before
from wcetchar.pipeline.analysed_program import AnalysedProgram
from wcetchar.pipeline.flow_facts import PathsRequest, raise_all, read_facts, source_lines
from wcetchar.static.apply_facts import ServiceFacts
from wcetchar.static.begins import assumed, begins, only_seen, states
from wcetchar.static.build import Frames, Trail, frames, path_model
from wcetchar.static.cuts import cuts_of
from wcetchar.static.expand import Cuts, Expanded, expand
from wcetchar.static.facts import ReadSource, fact_text
from wcetchar.static.gaps import float_frames, open_ends, recursions
from wcetchar.static.given_targets import seen_targets
from wcetchar.static.history import Histories
from wcetchar.static.loop_constraints import Bound, LoopKey
from wcetchar.static.masking.follow import ASSUMED as ASSUMED_OF_MASKS
from wcetchar.static.proofs import bounds_by_arguments
from wcetchar.static.sections import STACK, DataSections, data_sections, sets_stack_pointer
from wcetchar.static.traced import (
    Trails,
    by_loop,
    check_bounds,
    check_constraints,
    check_counts,
    check_sections,
    check_targets,
    observed_bounds,
    replayed,
    turned_in,
)
from wcetchar.static.unproved import unproved_accesses, unproved_targets
from wcetchar.static.vectors import Vectors


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
        self._resolved, self._observed, self._request = resolved, observed, request
        self._analysed = AnalysedProgram(resolved, observed, request.facts, request.source)
        self._program = self._analysed.program
        self._paths: dict[str, list[ObservedPath]] = defaultdict(list)
        for path in observed.paths:
            self._paths[path.service].append(path)
        others: dict[int, set[str]] = defaultdict(set)
        for own in observed.sections.values():
            for index, sections in own.items():
                others[index] |= sections
        self._others = {index: frozenset(one) for index, one in others.items()}
        self._vectors = Vectors(self._program)
        self._histories = Histories(self._program.columns)

    def all(self) -> Iterator[Built]:
        """Of each service and part that traces show, by the addresses of their functions.

        Raises:
            CheckFailed: a traced path is none of the model's, or counts something else there.
            InputError: facts about what no service reaches.
        """
        used: set[int] = set()
        asked: dict[int, Fact] = {}
        for entry, services in sorted(self._resolved.entries.items()):
            for service in services:
                for part in PARTS[service.kind]:
                    name = part.of(service.name)
                    if name in self._paths and self._is_entered_at(service, entry):
                        facts = ServiceFacts.of(
                            self._analysed.facts,
                            name,
                            parts_before(service, part),
                            activation=service.kind is ServiceKind.ACTIVATION,
                        )
                        yield self._model(service, part, entry, facts)
                        used |= facts.used
                        asked.update((id(fact), fact) for fact in facts.facts)
        functions = self._program.graph.functions.values()
        unused = [fact for number, fact in asked.items() if number not in used]
        raise_all(
            [
                self._analysed.places.no_loop(fact.place, functions)
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

    def _model(self, service: Service, part: Part, entry: int, facts: ServiceFacts) -> Built:
        """``entry``: table index of the service's first instruction."""
        name, resolved, analysed = part.of(service.name), self._resolved, self._analysed
        address = resolved.table.instructions[entry].address
        paths, whole = self._paths[name], self._paths_of(service)
        names = [p.name for p in service.parameters]
        limits = facts.limits({p.name: (p.minimum, p.maximum) for p in service.parameters})
        unlimited = self._program.graph.recursive - set(limits)
        requests = facts.switches()
        masking = analysed.masking(requests)
        cuts = cuts_of(service, part, paths, requests, analysed.masks, entry)
        started = states(whole, thread=entry if service.kind is ServiceKind.ACTIVATION else None)
        found = expand(
            self._program,
            address,
            cuts.cuts,
            limits={**dict.fromkeys(unlimited, 1), **limits},
            depth=self._request.depth,
            excluded=facts.excluded(self._program.graph),
            excluded_before=facts.excluded_before(self._program.graph),
            histories=self._histories,
            masking=masking,
            holds=begins(masking, address, started, facts.entry_values()),
        )
        gaps = [
            *open_ends(found, resolved.place, analysed.fact_of_targets),
            *recursions(found, unlimited),
        ]
        floats = float_frames(service, found, paths, resolved.services.float_context)
        gaps += floats
        said = [(fact, at - analysed.returns, to) for fact, at, to in facts.targets()]
        through = analysed.places.register_calls
        check_targets(paths, said, resolved.place, self._program.table, through)
        elsewhere = analysed.said - facts.told_before()
        trails = replayed(found, paths, resolved.place) if not floats else []
        bounds: dict[LoopKey, list[Bound]] = defaultdict(list)
        by_callers = analysed.callers.values(found, address)
        for source in (
            analysed.bounds,
            self._bounds_by_arguments(service, address),
            analysed.callers.bounds(by_callers),
            facts.bounds(found.functions),
        ):
            for key, more in source.items():
                bounds[key] += more
        turned = turned_in(found, trails, names)
        if self._request.observed:
            for key, more in observed_bounds(found, turned, bounds).items():
                bounds[key] += more
        check_bounds(found, trails, names, bounds, analysed.name_of)
        constraints = tuple(facts.constraints(found))
        check_constraints(trails, names, constraints)
        own = self._observed.sections.get(name, {})
        joint = {s.name: s.either_of for s in resolved.services.sections if s.either_of}
        proved = analysed.callers.sections(by_callers)
        if sets_stack_pointer(found):
            # Which stack it is on then is not known beforehand: traces say it, or facts.
            proved = {index: one for index, one in proved.items() if STACK not in one}
        sections = data_sections(facts.sections(), proved, own, self._others, joint)
        said_of_sections = facts.section_facts()
        check_sections(name, said_of_sections, own, sections, joint, resolved.place, resolved.table)
        model = path_model(
            name,
            found,
            self._vectors,
            sections,
            bounds,
            analysed.name_of,
            facts=[
                *constraints,
                *seen_targets(found, analysed.only_seen, elsewhere, resolved.place),
                *cuts.seen,
                *only_seen(found, self._other_entries(service, address)),
            ],
            gaps=gaps,
            unproved=[
                *unproved_accesses(found, sections, own, self._others, analysed.spell),
                *unproved_targets(
                    found,
                    analysed.only_seen,
                    elsewhere,
                    self._observed.targets,
                    through,
                    analysed.spell,
                ),
            ],
            trails=[Trail(path.values, links, path.vector) for path, links in trails],
            turned=by_loop(found, turned),
            frames=self._frames(service),
            exceptions=resolved.table.exceptions,
            assumptions=[
                ASSUMED_OF_MASKS,
                assumed(started),
                *analysed.assumptions(found),
                *_assumed_of(service, cuts.cuts),
                *([f"it runs on {sections.stack}"] if sections.stack else []),
            ],
        )
        check_counts(model, trails, joint, self._observed.misaligned)
        return Built(model, found, trails, bounds, sections)

    def _paths_of(self, service: Service) -> list[ObservedPath]:
        """Of all its parts."""
        names = [part.of(service.name) for part in PARTS[service.kind]]
        return [path for name in names for path in self._paths.get(name, ())]

    def _other_entries(self, service: Service, address: int) -> list[str]:
        """Names of functions that a service may begin with, beside the one at ``address``."""
        rows = self._resolved.table.instructions
        found = [
            rows[entry].address
            for entry, services in self._resolved.entries.items()
            if any(one.name == service.name for one in services)
        ]
        return [self._resolved.place(at) for at in sorted(found) if at != address]

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
        if not arguments or address in self._program.graph.recursive:
            return {}
        values = self._analysed.values[address]
        return bounds_by_arguments(
            values.graph, resolved.image, resolved.table, arguments, values.calls
        )

    def _frames(self, service: Service) -> Frames | None:
        if service.kind is not ServiceKind.HANDLER:
            return None
        services = self._resolved.services
        return frames(
            self._resolved.table.exceptions,
            service.exceptions,
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


def _assumed_of(service: Service, cuts: Cuts | None) -> Iterator[str]:
    if service.kind is ServiceKind.HANDLER:
        yield "the exception interrupts a thread, on whose stack its frame is"
    if service.kind is ServiceKind.ACTIVATION and cuts is not None and not cuts.starts:
        yield "the thread has been switched away before: its start is no such activation"


def with_paths(characterization: Characterization, built: Sequence[Built]) -> Characterization:
    """The characterization with the path models of its services, in its order."""
    models = {one.model.service: one.model for one in built}
    return replace(
        characterization,
        paths=tuple(models[s.name] for s in characterization.services if s.name in models),
    )
