"""Traces of a firmware -> the published characterization of its kernel.

Inputs: traces, the image they were made with, its instruction table and the services file.
Output: a :class:`Characterization` in the words *high-water mark* (complete traces whose windows
were counted in full) or *estimate* (something is missing, and the notes say what).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.activations import cut_at_one_place
from wcetchar.analysis.cases import Cases, Point
from wcetchar.analysis.collector import Collector
from wcetchar.analysis.cut_trace import CutTrace
from wcetchar.analysis.floating_point import assumption, uses_floating_point
from wcetchar.analysis.joint import JointSections
from wcetchar.analysis.observed_paths import ObservedPaths
from wcetchar.analysis.published_lines import Places, published_lines
from wcetchar.analysis.published_stretches import longer_outside, published_stretches
from wcetchar.analysis.repetition import (
    evidence_points,
    publish,
)
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.runs import run_notes, why_not
from wcetchar.analysis.used_lines import published_footprints
from wcetchar.counting.columns import unpack
from wcetchar.errors import InputError
from wcetchar.model.characterization import (
    STALL_EDITION,
    Characterization,
    Conservation,
    Evidence,
    NotCharacterized,
    Provenance,
    ServiceCharacterization,
    TraceProvenance,
    Word,
)
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.run import RunValues
from wcetchar.model.service import PARTS, Part, Service, ServiceKind, ServicesFile
from wcetchar.model.trace import Knowledge, Trace

ASSUMPTIONS = (
    "the kernel is linked from the same objects, so that its instructions are the same",
    "windows start at a service's first instruction and end with the one that returns; the call "
    "instruction and the passing of arguments are the caller's",
    "interrupts and other threads that run during a service are activities of their own",
)

_CUT_ELSEWHERE = (
    "its thread was not always switched in and away at one place: where another thread interrupted "
    "an activation, its parts count as activations of their own"
)
_MISSED = (
    "among the calls that are not counted may be whole ones that are longer than those that are: "
    "an estimate"
)
NOT_SHOWN = "no trace shows it: the firmware did not call it between its marks"


def characterize(
    traces: Sequence[Trace],
    image: Image,
    table: InstructionTable,
    services: ServicesFile,
    *,
    tool: str,
    runs: Sequence[RunValues] | None = None,
    partial: bool = False,
    successions: bool = False,
    data_lines: Sequence[int] = (),
    progress: Callable[[int], None] | None = None,
    paths: ObservedPaths | None = None,
) -> Characterization:
    """Characterizes every service of the services file.

    Args:
        tool: name and version that the provenance carries.
        runs: of each trace, what is said about services without marks.
        partial: leave out services that no trace shows, instead of refusing.
        successions: count which data access follows which.
        data_lines: bytes of a data cache's line; for each, loads that may miss are counted, and
            the lines that are used are told.
        progress: called with the number of instructions seen so far.
        paths: told of each window.

    Raises:
        InputError: a trace of another image, a damaged trace, a service that no trace shows, and
            everything that :func:`resolve` and the window search refuse.
    """
    resolved = resolve(services, image, table)
    collector, joint = Collector(), JointSections(resolved)
    blocking_labeller: Labeller | None = None
    for trace, run in zip(traces, runs or [RunValues()] * len(traces), strict=True):
        cut = CutTrace(trace, resolved, run)
        labeller = Labeller(
            resolved,
            trace.info.path,
            has_addresses=trace.info.knows(Knowledge.ADDRESSES),
            successions=successions,
            data_lines=data_lines,
            joint=joint,
        )
        if blocking_labeller is not None:
            labeller.adopt(blocking_labeller)
        blocking_labeller = labeller
        collector.begin(trace)
        for window in cut.windows():
            labelled = labeller.label(window)
            collector.add(window, labelled, labeller)
            if paths is not None:
                paths.add(window, labelled, labeller.blockings)
            if progress is not None:
                progress(collector.traced + cut.finder.traced)
            del window, labelled  # may be long, and so may be the next one
        collector.take(cut.finder)
    if blocking_labeller is None:
        raise InputError("there is no trace", expected="at least one trace file")
    collector.settle(blocking_labeller)
    if paths is not None:
        paths.settle(joint, resolved)
    missing = {
        s.name: why for s in services.services if (why := _why_not_shown(s, collector)) is not None
    }
    if missing and not partial:
        told = [f"{name}: {why}" for name, why in missing.items() if why != NOT_SHOWN]
        raise InputError(
            "no trace shows " + ", ".join(missing) + (f" ({'; '.join(told)})" if told else ""),
            where=services.where("services", next(iter(missing))),
            expected="a window for every service of the services file",
            hint="run the firmware that calls them, or ask for a partial characterization "
            "(--partial)",
        )
    if len(missing) == len(services.services):
        raise InputError(
            "no trace shows any service",
            where=services.where("services"),
            expected="at least one window",
            hint="is it a run of this firmware, with its marks?"
            if services.marks is not None
            else "is it a run of this firmware? "
            + "; ".join(f"{name}: {why}" for name, why in missing.items()),
        )
    return replace(
        heading(resolved, tool=tool, successions=successions, data_lines=data_lines),
        services=tuple(
            _service(service, part, collector, blocking_labeller, resolved)
            for service in services.services
            if service.name not in missing
            for part in PARTS[service.kind]
            if part.of(service.name) in collector.services
        ),
        provenance=Provenance(
            tool=tool,
            image_sha256=image.sha256,
            build_id=image.build_id,
            traces=tuple(
                TraceProvenance(
                    trace.info.format,
                    trace.info.emulator,
                    trace.info.machine,
                    trace.info.arguments,
                    tuple(
                        f"{loss.lacks.value}: {loss.consequence}"
                        for loss in trace.info.losses
                        if loss.lacks is not Knowledge.REGISTERS  # else nothing was read from them
                    ),
                )
                for trace in traces
            ),
        ),
        conservation=Conservation(
            traced=collector.traced,
            filtered=collector.filtered,
            undecoded=collector.undecoded,
            attributed=tuple(sorted(collector.attributed.items())),
            unattributed=tuple(sorted(collector.unattributed.items())),
        ),
        assumptions=(
            *ASSUMPTIONS,
            *((assumption(services.float_context),) if uses_floating_point(table) else ()),
            *services.assumptions,
            *longer_outside(collector),
        ),
        not_characterized=tuple(NotCharacterized(name, why) for name, why in missing.items()),
        left_out=services.left_out,
    )


def heading(
    resolved: Resolved, *, tool: str, successions: bool = False, data_lines: Sequence[int] = ()
) -> Characterization:
    """What a characterization says beside its services; arguments as of :func:`characterize`."""
    services = resolved.services
    return Characterization(
        kernel=services.kernel,
        architecture=resolved.image.architecture,
        fetch_width=resolved.table.fetch_bytes * 8,
        stalls=STALL_EDITION,
        successions=successions,
        data_lines=tuple(sorted(set(data_lines))),
        fetch_buffer=resolved.table.buffer,
        sections=tuple(Places(resolved).info(s, bool(data_lines)) for s in services.sections),
        services=(),
        provenance=Provenance(tool=tool, image_sha256=resolved.image.sha256),
    )


def _why_not_shown(service: Service, collector: Collector) -> str | None:
    """``None``: every part that an invocation always has was seen, in every case that there is."""
    parts = [part for part in PARTS[service.kind] if part is not Part.BETWEEN_SWITCHES]
    shown = [collector.services.get(part.of(service.name)) for part in parts]
    if not all(shown):
        if service.mark is not None:
            return NOT_SHOWN
        return why_not(service, collector.inside, collector.given_up)
    points = (point for observations in shown if observations for point in observations.points)
    unseen = Cases(service.parameters).unseen(points)
    return f"no trace shows it with {'; with '.join(unseen)}" if unseen else None


def _service(
    service: Service,
    part: Part,
    collector: Collector,
    labeller: Labeller,
    resolved: Resolved,
) -> ServiceCharacterization:
    name = part.of(service.name)
    observations = collector.services[name]
    fitted, held_out = evidence_points(list(observations.points), service.parameters)
    notes = set(collector.notes[name])
    notes.update(run_notes(service, collector.inside, collector.given_up))
    word = Word.HIGH_WATER_MARK
    if observations.differing:
        notes.add(
            f"windows with the same parameters differed at {len(observations.differing)} of "
            f"{len(observations.points)} points; the elementwise maximum is published"
        )
    if name in collector.incomplete:
        word = Word.ESTIMATE
    if service.name in collector.missed:
        word = Word.ESTIMATE
        notes.add(_MISSED)
    if service.kind is ServiceKind.ACTIVATION and not _whole(service, collector, resolved):
        word = Word.ESTIMATE
        notes.add(_CUT_ELSEWHERE)
    for source in collector.sources_of(name):
        lost = source.losses.get(Knowledge.ADDRESSES)
        if lost is not None:
            word = Word.ESTIMATE
            notes.add(f"the trace has no {Knowledge.ADDRESSES.value}: {lost}")
        if source.undecoded:
            word = Word.ESTIMATE
            notes.add(
                "the trace has instructions outside of this service that were not decoded: what "
                "they did to interrupt masks and threads is not known"
            )
        if source.filtered:
            notes.add(
                "the capture left out instructions outside of this service, but none that masks "
                "interrupts or locks the scheduler"
            )
    packed = {code for counts in observations.points.values() for code in counts}
    if any(labeller.blockings[b].unknown for b in {unpack(code)[0] for code in packed}):
        notes.add("an interrupt mask was written whose value is not known: counted as blocking")
    counts = publish(
        observations.points,
        service.parameters,
        labeller.blockings,
        resolved.section_names,
        labeller.successions,
    )
    notes.update(_unobserved(service, observations.points))
    if not counts.is_formula:
        notes.add("no exact formula was found: the observed values are published")
    places = Places(resolved)
    lines = published_lines(
        collector.entered[name],
        service.parameters,
        places,
        labeller.joint,
        labeller.successions,
    )
    used = collector.used.get(name)
    return ServiceCharacterization(
        name=name,
        kind=service.kind,
        part=part,
        word=word,
        parameters=service.parameters,
        counts=counts,
        stretches=published_stretches(name, service, collector, labeller, resolved),
        description=service.description,
        worst_state=service.worst_state,
        evidence=Evidence(observations.windows, fitted, held_out),
        notes=tuple(sorted(notes)),
        lines=lines,
        data=None
        if used is None
        else published_footprints(used, resolved.section_names, places.begins),
        place=resolved.place_of_service(service),
    )


def _whole(service: Service, collector: Collector, resolved: Resolved) -> bool:
    """The windows of an activation are no parts of one that another thread interrupted."""
    begins, ends = collector.cuts[service.name]
    instructions = resolved.table.instructions
    entries = [i for i, found in resolved.entries.items() if service in found]
    return cut_at_one_place(
        [instructions[i] for i in begins],
        [instructions[i] for i in ends],
        [instructions[i].address for i in entries],
    )


def _unobserved(service: Service, points: Iterable[Point]) -> Iterator[str]:
    """Where the declared range of a parameter is wider than what traces showed."""
    observed = list(points)
    for number, parameter in enumerate(service.parameters):
        seen = [point[number] for point in observed]
        if min(seen) > parameter.minimum or max(seen) < parameter.maximum:
            yield (
                f"{parameter.name} was observed from {min(seen)} to {max(seen)} only, of "
                f"{parameter.minimum}..{parameter.maximum}"
            )
