"""Traces of a firmware -> the published characterization of its kernel.

Inputs: traces, the image they were made with, its instruction table and the services file.
Output: a :class:`Characterization` in the words *high-water mark* (complete traces whose windows
were counted in full) or *estimate* (something is missing, and the notes say what).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.activations import cut_at_one_place
from wcetchar.analysis.blocking import held_off, rows_of, stretches
from wcetchar.analysis.columns import unpack
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.floating_point import assumption, uses_floating_point
from wcetchar.analysis.labelled import Labelled
from wcetchar.analysis.repetition import (
    Observations,
    Packed,
    Point,
    evidence_points,
    packed_counts,
    publish,
)
from wcetchar.analysis.resolve import Resolved, resolve
from wcetchar.analysis.runs import Calls, check_run, run_notes, why_not
from wcetchar.analysis.windows import WindowFinder, find_windows
from wcetchar.errors import InputError, Location
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Characterization,
    Conservation,
    Evidence,
    Joint,
    NotCharacterized,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    StretchKind,
    TraceProvenance,
    Word,
)
from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.run import RunValues
from wcetchar.model.service import PARTS, Part, Service, ServiceKind, ServicesFile
from wcetchar.model.trace import Knowledge, Trace

StretchKey = tuple[StretchKind, int, int, int, int]
"""Kind, first and last instruction, and the calls that each was reached through."""

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


@dataclass
class _Source:
    """What the windows of one trace rest on."""

    losses: dict[Knowledge, str]
    filtered: int = 0
    undecoded: int = 0


class _Collector:
    """Everything observed so far, over all traces."""

    def __init__(self) -> None:
        self.sources: list[_Source] = []
        self.shown_by: dict[str, set[int]] = defaultdict(set)
        """Service -> numbers of the traces that its windows are from."""
        self.incomplete: set[str] = set()
        """Services that do part of their work outside of their windows."""
        self.services: dict[str, Observations] = defaultdict(Observations)
        self.stretches: dict[str, dict[StretchKey, Observations]] = defaultdict(
            lambda: defaultdict(Observations)
        )
        self.goes_on: dict[str, dict[StretchKey, tuple[set[Joint], set[Joint]]]] = defaultdict(
            lambda: defaultdict(lambda: (set(), set()))
        )
        """Of each stretch, all that it was seen to go on from, and to go on in."""
        self.at_exit: set[tuple[str, StretchKey]] = set()
        """Stretches that end with a handler's return."""
        self.switching: set[tuple[int, int]] = set()
        self.resumed: set[Blocking] = set()
        self.longest: Counter[Joint] = Counter()
        self.outside: Counter[Joint] = Counter()
        """Instructions with interrupts masked at most, by what they went on from: in services, and
        outside of all."""
        self.leads_on = False
        """Some service's stretch with interrupts masked goes on in a handler or a thread."""
        self.notes: dict[str, set[str]] = defaultdict(set)
        self.cuts: dict[str, tuple[set[int], set[int]]] = defaultdict(lambda: (set(), set()))
        """Of activations: table indices of first and of last instructions."""
        self.attributed: Counter[str] = Counter()
        self.unattributed: Counter[str] = Counter()
        self.inside: Calls = Counter()
        self.given_up: Calls = Counter()
        self.missed: set[str] = set()
        self.traced = self.filtered = self.undecoded = 0

    def sources_of(self, name: str) -> list[_Source]:
        return [self.sources[number] for number in sorted(self.shown_by[name])]

    def begin(self, trace: Trace) -> None:
        """What follows is from this trace."""
        self.sources.append(_Source({x.lacks: x.consequence for x in trace.info.losses}))

    def add(self, window: Window, labelled: Labelled, labeller: Labeller) -> None:
        """Counts a window of the current trace."""
        name = window.name
        self.shown_by[name].add(len(self.sources) - 1)
        self.services[name].add(window.values, packed_counts(labelled.packed))
        _add_stretches(self, window, labelled, labeller)
        if window.switched:
            self.notes[name].add(
                "another thread ran in between; only the calling thread's part is counted, as one "
                "(a `blocking call` is cut there)"
            )
        if labeller.supervisor_calls(labelled) > window.yields:
            self.incomplete.add(name)
            self.notes[name].add(
                "it makes a supervisor call, whose handler is an activity of its own and is not "
                "counted here"
            )
        if labeller.calls_supervisor_masked(labelled):
            self.notes[name].add(
                "it makes a supervisor call with interrupts masked; they stay masked in the call's "
                "handler and in what that goes on with"
            )
        is_activation = window.service.kind is ServiceKind.ACTIVATION
        if is_activation:
            begins, ends = self.cuts[name]
            begins.add(int(labelled.index[0]))
            ends.add(int(labelled.index[-1]))
        if is_activation and not window.exact:
            self.notes[name].add(
                "it begins and ends where the emulator took the exceptions that switched; a core "
                "may take them some instructions earlier or later, which are then part of the "
                "activation before or after"
            )
        first, last = (labeller.blockings[int(labelled.blocking[i])] for i in (0, -1))
        if (
            window.exception is None
            and last.holds_preemption
            and not first.holds_preemption
            and not window.held
        ):
            switch = is_activation or window.part in (Part.UNTIL_SWITCH, Part.BETWEEN_SWITCHES)
            self.notes[name].add(
                f"it leaves the processor with {last} held off; the switch adds to that stretch"
                if switch
                else f"it returns with {last} held off; what follows in the caller adds to that "
                "stretch"
            )
        for held in window.held:
            self.notes[name].add(
                f"a function switches threads with {held} held off; what the other thread does "
                "until it lets them in adds to that stretch"
            )
        if (
            window.exact
            and window.part in (Part.BETWEEN_SWITCHES, Part.UNTIL_RETURN)
            and first.holds_preemption
        ):
            self.notes[name].add(
                f"it goes on with {first} held off; what the other thread did since then adds to "
                "that stretch"
            )
        if window.part is not Part.WHOLE and not window.exact:
            self.notes[name].add(
                "the cut lies where the emulator took the exception that switched; a core may take "
                "it some instructions earlier or later, and the parts' sum stays the same"
            )

    def take(self, finder: WindowFinder) -> None:
        """What the whole of the current trace showed."""
        self.switching |= finder.switching
        self.resumed |= finder.resumed
        self.outside |= Counter(finder.outside)
        self.sources[-1].filtered = finder.filtered
        self.sources[-1].undecoded = finder.undecoded
        self.attributed.update(finder.attributed)
        self.unattributed.update(finder.unattributed)
        self.inside.update(finder.inside)
        self.given_up.update(finder.given_up)
        self.missed |= finder.missed
        self.traced += finder.traced
        self.filtered += finder.filtered
        self.undecoded += finder.undecoded


def characterize(
    traces: Sequence[Trace],
    image: Image,
    table: InstructionTable,
    services: ServicesFile,
    *,
    tool: str,
    runs: Sequence[RunValues] | None = None,
    partial: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Characterization:
    """Characterizes every service of the services file.

    Args:
        tool: name and version that the provenance carries.
        runs: of each trace, what is said about services without marks.
        partial: leave out services that no trace shows, instead of refusing.
        progress: called with the number of instructions seen so far.

    Raises:
        InputError: a trace of another image, a damaged trace, a service that no trace shows, and
            everything that :func:`resolve` and the window search refuse.
    """
    resolved = resolve(services, image, table)
    collector = _Collector()
    blocking_labeller: Labeller | None = None
    for trace, run in zip(traces, runs or [RunValues()] * len(traces), strict=True):
        _check_origin(trace, image)
        _check_filter(trace, resolved)
        knows = trace.info.knows
        labeller = Labeller(resolved, trace.info.path, has_addresses=knows(Knowledge.ADDRESSES))
        if blocking_labeller is not None:
            labeller.adopt(blocking_labeller)
        blocking_labeller = labeller
        finder = WindowFinder(
            resolved,
            trace.info.path,
            has_exceptions=knows(Knowledge.EXCEPTIONS),
            has_addresses=knows(Knowledge.ADDRESSES),
            run=run,
            registers_persist=trace.info.registers_persist,
        )
        registers = check_run(trace, resolved, run)
        collector.begin(trace)
        batches = trace.batches(registers=True) if registers else trace.batches()
        for window in find_windows(batches, finder):
            collector.add(window, labeller.label(window), labeller)
            if progress is not None:
                progress(collector.traced + finder.traced)
        _check_code(trace, image)
        _check_totals(trace, finder)
        collector.take(finder)
    if blocking_labeller is None:
        raise InputError("there is no trace", expected="at least one trace file")
    missing = {
        s.name: NOT_SHOWN
        if s.mark is not None
        else why_not(s, collector.inside, collector.given_up)
        for s in services.services
        if not _is_shown(s, collector)
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
    return Characterization(
        kernel=services.kernel,
        architecture=image.architecture,
        fetch_width=table.fetch_bytes * 8,
        sections=tuple(SectionInfo(s.name, s.kind, s.meaning) for s in services.sections),
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
            *_outside(collector),
        ),
        not_characterized=tuple(NotCharacterized(name, why) for name, why in missing.items()),
    )


def _check_origin(trace: Trace, image: Image) -> None:
    """The trace is of this image, as far as it says, and can show where its services run."""
    if not trace.info.knows(Knowledge.PROGRAM_COUNTERS):
        raise InputError(
            "the trace has no program counters, so no service can be found in it",
            where=Location(trace.info.path),
            expected="a trace that says where each instruction lies",
            hint="record it in another format of the same emulator",
        )
    if not trace.info.knows(Knowledge.ADDRESSES):
        raise InputError(
            "the trace has no data addresses, so neither the firmware's marks nor switches of "
            "threads can be seen in it",
            where=Location(trace.info.path),
            expected="a trace of a format that records the addresses of stores",
            hint="capture with wcetchar, or record execlog or a memory-access log",
        )
    if trace.info.image_sha256 not in (None, image.sha256):
        raise InputError(
            f"the trace was made with image {trace.info.image_sha256}, "
            f"but {image.path} is {image.sha256}",
            where=Location(trace.info.path),
            expected="a trace of this image",
            hint="capture again with this executable, or give the one that was traced",
        )


def _check_filter(trace: Trace, resolved: Resolved) -> None:
    """A capture may leave out what it likes outside of services, except what lasts: writes of
    interrupt masks, and the entries of functions that lock the scheduler."""
    table = resolved.table.instructions
    lasting = [i.address for i in table if i.masks]
    lasting += [table[index].address for index in resolved.lock | resolved.unlock]
    hidden = [address for address in sorted(lasting) if not trace.info.filter.shows(address)]
    if hidden:
        raise InputError(
            f"the capture's filter may have left out {resolved.place(hidden[0])} and "
            f"{len(hidden) - 1} more instructions that mask interrupts or lock the scheduler, so "
            "what is blocked at the entry of a service is not known",
            where=Location(trace.info.path),
            expected="a trace that holds every one of them",
            hint="capture again with --marked and the services file, which keeps them",
        )


def _check_code(trace: Trace, image: Image) -> None:
    """What the trace executed must be what the image holds at that address."""
    for code in trace.code:
        section = image.section_at(code.address)
        if section is None or not section.data:
            continue
        held = image.read(code.address, len(code.code))
        if held != code.code:
            raise InputError(
                f"at 0x{code.address:08x} the trace executed {code.code.hex()}, "
                f"but the image holds {held.hex()}",
                where=Location(trace.info.path),
                expected=f"a trace of {image.path}",
                hint="the code was changed at run time, or the trace is of another image",
            )


def _check_totals(trace: Trace, finder: WindowFinder) -> None:
    """Conservation: every instruction that the reader yielded is in a window or in a bucket."""
    totals = trace.totals
    if totals.complete is False:
        raise InputError(
            "the trace is truncated: its end record is missing",
            where=Location(trace.info.path),
            expected="a trace of the whole run",
            hint="capture it again",
        )
    tallied = sum(finder.attributed.values()) + sum(finder.unattributed.values())
    for what, mine, theirs in (
        ("instructions", finder.traced, totals.instructions),
        ("instructions in windows and outside of them", tallied, totals.instructions),
        ("instructions left out by a filter", finder.filtered, totals.filtered),
    ):
        if mine != theirs:
            raise InputError(
                f"{mine} {what} were counted, but the trace's reader counted {theirs}",
                where=Location(trace.info.path),
                expected="equal totals",
                hint="this is a mistake of wcetchar; please report it with the trace",
            )


def _add_stretches(
    collector: _Collector, window: Window, labelled: Labelled, labeller: Labeller
) -> None:
    """Counts each stretch of a window; equal ones within it by their elementwise maximum."""
    found: dict[StretchKey, Packed] = {}
    for stretch in stretches(window, labelled, labeller.blockings, labeller.is_call):
        counts = packed_counts(rows_of(labelled, stretch))
        key = (stretch.kind, stretch.begin, stretch.end, stretch.entered, stretch.left)
        if stretch.kind is StretchKind.INTERRUPTS:
            collector.leads_on |= stretch.goes_on_in in (Joint.HANDLER, Joint.THREAD)
        if stretch.goes_on_from is not None and stretch.kind is StretchKind.INTERRUPTS:
            length = Counter({stretch.goes_on_from: stretch.last - stretch.first + 1})
            collector.longest |= length
        goes_on = collector.goes_on[window.name][key]
        for joints, joint in zip(goes_on, (stretch.goes_on_from, stretch.goes_on_in), strict=True):
            if joint is not None:
                joints.add(joint)
        if window.exception is not None and stretch.last == len(labelled.index) - 1:
            collector.at_exit.add((window.name, key))
        known = found.get(key)
        if known is not None:
            counts = {c: max(known.get(c, 0), counts.get(c, 0)) for c in known | counts}
        found[key] = counts
    for key, counts in found.items():
        collector.stretches[window.name][key].add(window.values, counts)


def _is_shown(service: Service, collector: _Collector) -> bool:
    """Every part that an invocation always has was seen."""
    parts = [part for part in PARTS[service.kind] if part is not Part.BETWEEN_SWITCHES]
    return all(part.of(service.name) in collector.services for part in parts)


def _service(
    service: Service,
    part: Part,
    collector: _Collector,
    labeller: Labeller,
    resolved: Resolved,
) -> ServiceCharacterization:
    name = part.of(service.name)
    observations = collector.services[name]
    fitted, held_out = evidence_points(list(observations.points))
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
    packed = (code for counts in observations.points.values() for code in counts)
    if any(labeller.blockings[b].unknown for b in {unpack(code)[0] for code in packed}):
        notes.add("an interrupt mask was written whose value is not known: counted as blocking")
    counts = publish(
        observations.points, service.parameters, labeller.blockings, resolved.section_names
    )
    notes.update(_unobserved(service, observations.points))
    if not counts.is_formula:
        notes.add("no exact formula was found: the observed values are published")
    return ServiceCharacterization(
        name=name,
        kind=service.kind,
        part=part,
        word=word,
        parameters=service.parameters,
        counts=counts,
        stretches=_published_stretches(name, service, collector, labeller, resolved),
        description=service.description,
        worst_state=service.worst_state,
        evidence=Evidence(observations.windows, fitted, held_out),
        notes=tuple(sorted(notes)),
    )


def _whole(service: Service, collector: _Collector, resolved: Resolved) -> bool:
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


def _published_stretches(
    name: str, service: Service, collector: _Collector, labeller: Labeller, resolved: Resolved
) -> tuple[BlockingStretch, ...]:
    points = sorted(collector.services[name].points)
    found = collector.stretches[name]
    everywhere = {
        key: {point: observed.points.get(point, {}) for point in points}
        for key, observed in found.items()
    }
    goes_on = {key: _joints(name, service, key, collector, resolved) for key in found}

    def joined(one: StretchKey, two: StretchKey) -> bool:
        """Whatever precedes or follows ``two`` can precede or follow ``one``."""
        return goes_on[one][0] >= goes_on[two][0] and goes_on[one][1] >= goes_on[two][1]

    def before(one: StretchKey, two: StretchKey) -> bool:
        """Of two that are equal in everything else, ``one`` stays."""
        return one < two or not joined(two, one)

    kept: list[StretchKey] = []
    for key in sorted(everywhere):
        others = [k for k in everywhere if k != key and k[0] == key[0] and joined(k, key)]
        if not any(_dominates(everywhere[o], everywhere[key], before(o, key)) for o in others):
            kept.append(key)
    return tuple(
        BlockingStretch(
            kind=kind,
            begin=_place(resolved, begin, entered),
            end=_place(resolved, end, left),
            begin_place=resolved.place_of(resolved.table.instructions[begin].address),
            end_place=resolved.place_of(resolved.table.instructions[end].address),
            counts=publish(
                everywhere[(kind, begin, end, entered, left)],
                service.parameters,
                labeller.blockings,
                resolved.section_names,
            ),
            goes_on_from=goes_on[(kind, begin, end, entered, left)][0],
            goes_on_in=goes_on[(kind, begin, end, entered, left)][1],
        )
        for kind, begin, end, entered, left in kept
    )


def _outside(collector: _Collector) -> Iterator[str]:
    """What the trace shows to be longer than the links of chains that services are for."""
    for joint, what in (
        (Joint.HANDLER, "no handler of a supervisor call"),
        (Joint.THREAD, "no thread that is switched to"),
    ):
        outside, longest = collector.outside[joint], collector.longest[joint]
        if outside > longest and collector.leads_on:
            of_services = f"{longest:,} at most in services" if longest else "no service shows one"
            yield (
                f"where interrupts stay masked through a switch, {what} keeps them so for longer "
                f"than services show; the trace has {outside:,} instructions of such a one outside "
                f"of all services ({of_services})"
            )


def _joints(
    name: str, service: Service, key: StretchKey, collector: _Collector, resolved: Resolved
) -> tuple[frozenset[Joint], frozenset[Joint]]:
    """What a stretch goes on from, and in. A handler that switches threads need not be seen to do
    so in a window: it may go on with whatever thread some handler goes on with."""
    goes_on_from, goes_on_in = (frozenset(joints) for joints in collector.goes_on[name][key])
    switches = any(
        service in resolved.entries[entry]
        and (not service.exceptions or exception in service.exceptions)
        for entry, exception in collector.switching
    )
    if (
        switches
        and (name, key) in collector.at_exit
        and any(held_off(blocking, key[0]) for blocking in collector.resumed)
    ):
        goes_on_in |= {Joint.THREAD}
    return goes_on_from, goes_on_in


def _place(resolved: Resolved, index: int, call: int) -> str:
    """Where an instruction is, and who called its function, where that is known."""
    table = resolved.table.instructions
    place = resolved.place(table[index].address)
    target = table[call].target if call >= 0 else None
    function = resolved.image.function_at(table[index].address)
    if target is None or function is None or function.address != target:
        return place
    return f"{place}, called at {resolved.place(table[call].address)}"


def _dominates(one: dict[Point, Packed], two: dict[Point, Packed], stays: bool) -> bool:
    """At every point ``one`` counts at least as much of every class as ``two``. Of equals, ``one``
    does only if it ``stays``."""
    equal = True
    for point, counts in two.items():
        larger, smaller = _by_class(one[point]), _by_class(counts)
        if any(larger.get(code, 0) < count for code, count in smaller.items()):
            return False
        equal = equal and larger == smaller
    return not equal or stays


def _by_class(counts: Packed) -> Counter[int]:
    summed: Counter[int] = Counter()
    for packed, count in counts.items():
        summed[unpack(packed)[1]] += count
    return summed
