"""Shape of the characterization file: pydantic documents and their way to and from the model.

Everything that does not hold its default is written; an access class or core event takes one line
of its own::

    {"section": ".text", "operation": "fetch", "width": 32, "pattern": "single", "count": 13}
    {"section": ".text", "event": "branch taken", "count": 4}
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field

from wcetchar import formula
from wcetchar.model.access import (
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.characterization import (
    SCHEMA_VERSION,
    STALL_EDITION,
    BlockingStretch,
    Characterization,
    Conservation,
    Contents,
    Counts,
    Evidence,
    FetchedLines,
    Joint,
    NotCharacterized,
    Provenance,
    SectionInfo,
    ServiceCharacterization,
    StretchKind,
    TablePoint,
    TraceProvenance,
    TraceSection,
    Word,
)
from wcetchar.model.fetch_buffer import FetchBuffer
from wcetchar.model.service import (
    AddressRange,
    Kernel,
    LeftOut,
    Parameter,
    ParameterKind,
    Part,
    SectionKind,
    ServiceKind,
)
from wcetchar.store.access_doc import (
    BlockingDoc,
    Boolean,
    Count,
    PlaceDoc,
    SuccessionDoc,
    Value,
    Width,
    no_boolean,
    plain_access,
    plain_blocking,
    plain_place,
    plain_succession,
    sparse,
)
from wcetchar.store.checking import JsonModel
from wcetchar.store.fetched_lines import (
    FootprintDoc,
    StretchCodeDoc,
    plain_code,
    plain_footprints,
)
from wcetchar.store.path_models import PathsDoc, plain_paths
from wcetchar.store.used_lines import (
    DataFootprintDoc,
    UsedLinesDoc,
    plain_data,
    plain_used,
)

KIND: Final = "wcetchar characterization"
Number = Annotated[str, Field(pattern="^(0|[1-9][0-9]{0,8})$")]
"""Of a succession, as the key of a JSON object."""
Numbers = dict[Succession, int]
Successions = Sequence[Succession]

FetchWidth = Annotated[Literal[8, 16, 32, 64], BeforeValidator(no_boolean)]

Hash = Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class CountDoc(JsonModel):
    """Either an access class (operation, width, pattern) or a core event, and how often."""

    section: str = Field(description="logical section")
    operation: Operation | None = Field(None, description="of an access")
    width: Width | None = Field(None, description="in bits; 0: unknown")
    pattern: Pattern | None = Field(None, description="of an access")
    event: EventKind | None = Field(None, description="core event")
    count: Count = Field(description="how often")

    def key(self) -> Key | None:
        """The key, or ``None`` where the entry is neither an access nor an event."""
        access = (self.operation, self.width, self.pattern)
        if self.event is not None:
            return CoreEvent(self.section, self.event) if access == (None, None, None) else None
        if self.operation is None or self.width is None or self.pattern is None:
            return None
        return AccessClass(self.section, self.operation, self.width, self.pattern)


class RowDoc(JsonModel):
    """One trace section."""

    repetition: str = Field(description="formula over the service's parameters")
    blocking: BlockingDoc = Field(description="what is held off")
    counts: list[CountDoc] = Field(description="for one repetition")
    successions: dict[Number, Count] = Field(
        default_factory=dict, description="for one repetition: number in the file's list, how often"
    )

    def to_model(self, successions: Successions) -> TraceSection:
        keys: list[tuple[Key | None, int]] = [(entry.key(), entry.count) for entry in self.counts]
        keys += [(successions[int(number)], count) for number, count in self.successions.items()]
        return TraceSection(
            blocking=self.blocking.to_model(),
            vector=AccessVector([(key, count) for key, count in keys if key is not None]),
            repetition=formula.parse(self.repetition),
        )


class PointDoc(JsonModel):
    """Counts observed at one set of parameter values, in the order of the parameters."""

    values: list[Value] = Field(description="one value for each parameter")
    rows: list[RowDoc] = Field(description="the table at these values; repetitions are 1")


class CountsDoc(JsonModel):
    """``rows`` with formulas, or ``points`` where no exact formula was found."""

    rows: list[RowDoc] | None = Field(None, description="trace sections, with formulas")
    points: list[PointDoc] | None = Field(
        None, description="tables as observed, where no exact formula was found"
    )

    def to_model(self, successions: Successions) -> Counts:
        return Counts(
            rows=tuple(row.to_model(successions) for row in self.rows or ()),
            points=tuple(
                TablePoint(
                    tuple(point.values), tuple(row.to_model(successions) for row in point.rows)
                )
                for point in self.points or ()
            ),
        )


class StretchDoc(JsonModel):
    """One uninterrupted stretch with interrupts masked, or with preemption held off."""

    kind: StretchKind = Field(description="interrupts or preemption")
    begin: str = Field(description="where it begins, for people")
    end: str = Field(description="where it ends, for people")
    begin_place: PlaceDoc | None = Field(None, description="its first instruction")
    end_place: PlaceDoc | None = Field(None, description="its last instruction")
    goes_on_from: list[Joint] | None = Field(
        None, description="what may block right before it; absent: not known"
    )
    goes_on_in: list[Joint] | None = Field(
        None, description="what may block right after it; absent: not known"
    )
    counts: CountsDoc = Field(description="what is done in it")
    code: StretchCodeDoc | None = Field(
        None, description="what is fetched meanwhile; absent: not known"
    )
    data: UsedLinesDoc | None = Field(
        None, description="data that are used meanwhile; absent: not known"
    )

    def to_model(self, successions: Successions) -> BlockingStretch:
        return BlockingStretch(
            self.kind,
            self.begin,
            self.end,
            self.counts.to_model(successions),
            self.begin_place.to_model() if self.begin_place else None,
            self.end_place.to_model() if self.end_place else None,
            None if self.goes_on_from is None else frozenset(self.goes_on_from),
            None if self.goes_on_in is None else frozenset(self.goes_on_in),
            self.code.to_model(successions) if self.code else None,
            None if self.data is None else self.data.to_model(),
        )


class LinesDoc(JsonModel):
    """What caches of instructions are priced by."""

    entries: CountsDoc = Field(description="fetches from another line than the one before")
    footprints: list[FootprintDoc] = Field(description="code that is fetched, point by point")

    def to_model(self, successions: Successions) -> FetchedLines:
        footprints = tuple(footprint.to_model(successions) for footprint in self.footprints)
        return FetchedLines(self.entries.to_model(successions), footprints)


class ParameterDoc(JsonModel):
    """A call argument or a number of the kernel's state."""

    name: str = Field(description="name in formulas")
    kind: ParameterKind = Field(description="argument, state or case")
    minimum: Value = Field(description="smallest value")
    maximum: Value = Field(description="largest value")
    meaning: str = Field(description="what the parameter counts")


class EvidenceDoc(JsonModel):
    """What the counts rest on."""

    windows: Count = Field(default=0, description="invocations observed")
    fitted: list[list[Value]] = Field(
        default_factory=list, description="parameter values used to fit"
    )
    held_out: list[list[Value]] = Field(
        default_factory=list, description="parameter values used only to check the fit"
    )


class ServiceDoc(JsonModel):
    """A service, or an activity of the kernel: its table and what it holds off."""

    name: str = Field(description="name of the service")
    kind: ServiceKind = Field(description="kind of call, or handler")
    part: Part = Field(
        default=Part.WHOLE, description="what of an invocation, where another thread cuts it"
    )
    word: Word = Field(description="bound, high-water mark or estimate")
    description: str = Field("", description="what it does")
    worst_state: str = Field("", description="the state that was driven for it")
    parameters: list[ParameterDoc] = Field(
        default_factory=list, description="what its counts depend on"
    )
    counts: CountsDoc = Field(description="the table")
    stretches_known: Boolean = Field(True, description="false: only the table was published")
    stretches: list[StretchDoc] = Field(
        default_factory=list, description="what may hold off interrupts or preemption"
    )
    evidence: EvidenceDoc = Field(
        default_factory=EvidenceDoc, description="what the counts rest on"
    )
    notes: list[str] = Field(default_factory=list, description="what else there is to say")
    lines: LinesDoc | None = Field(
        None, description="what caches of instructions are priced by; absent: not known"
    )
    data: list[DataFootprintDoc] | None = Field(
        None, description="data that are used, point by point; absent: not known"
    )
    place: PlaceDoc | None = Field(None, description="the first instruction of its function")

    def to_model(self, successions: Successions) -> ServiceCharacterization:
        return ServiceCharacterization(
            name=self.name,
            kind=self.kind,
            part=self.part,
            word=self.word,
            parameters=tuple(
                Parameter(p.name, p.kind, p.minimum, p.maximum, p.meaning) for p in self.parameters
            ),
            counts=self.counts.to_model(successions),
            stretches=tuple(stretch.to_model(successions) for stretch in self.stretches),
            description=self.description,
            worst_state=self.worst_state,
            evidence=Evidence(
                self.evidence.windows,
                tuple(tuple(values) for values in self.evidence.fitted),
                tuple(tuple(values) for values in self.evidence.held_out),
            ),
            notes=tuple(self.notes),
            stretches_known=self.stretches_known,
            lines=self.lines.to_model(successions) if self.lines else None,
            data=None if self.data is None else tuple(one.to_footprint() for one in self.data),
            place=self.place.to_model() if self.place else None,
        )


class KernelDoc(JsonModel):
    """Which kernel it is, with which settings."""

    name: str = Field(description="name of the kernel")
    version: str = Field(description="its version")
    configuration: dict[str, str] = Field(
        default_factory=dict, description="the settings that the figures hold for"
    )


class LeftOutDoc(JsonModel):
    """Calls of the kernel that are no services."""

    because: str = Field(description="why")
    calls: list[str] = Field(description="their names")


class NotCharacterizedDoc(JsonModel):
    """A service of the vendor's list that has no counts."""

    name: str = Field(description="name of the service")
    reason: str = Field(description="why")


class AddressesDoc(JsonModel):
    """Addresses of the image that was characterized, one behind the other."""

    start: Count = Field(description="first address")
    size: Count = Field(description="in bytes", ge=1)


class ContentsDoc(JsonModel):
    """What belonged to a section in the image that was characterized."""

    linker_sections: list[str] = Field(default_factory=list, description="that its rules name")
    address_ranges: list[AddressesDoc] = Field(default_factory=list, description="its own")
    symbols: list[str] = Field(default_factory=list, description="functions and objects in it")

    def to_model(self) -> Contents:
        return Contents(
            tuple(self.linker_sections),
            tuple(AddressRange(r.start, r.start + r.size) for r in self.address_ranges),
            tuple(self.symbols),
        )


class SectionDoc(JsonModel):
    """A logical section, to be placed by a section map."""

    name: str = Field(description="logical section")
    kind: SectionKind = Field(description="code, data, stack or peripheral")
    meaning: str = Field("", description="what lies there")
    address: Count | None = Field(
        None,
        description="where the section began when it was characterized; of data, where "
        "lines of data are told",
    )
    either_of: list[str] = Field(
        default_factory=list,
        description="it is not placed itself: an access to it goes to one of these sections",
    )
    contents: ContentsDoc | None = Field(None, description="absent: they were not published")

    def to_model(self) -> SectionInfo:
        contents = None if self.contents is None else self.contents.to_model()
        either_of = tuple(self.either_of)
        return SectionInfo(self.name, self.kind, self.meaning, self.address, either_of, contents)


class InstructionsDoc(JsonModel):
    """A number of traced instructions."""

    name: str = Field(description="a window, an activity or a reason")
    instructions: Count = Field(description="how many")


class ConservationDoc(JsonModel):
    """Every traced instruction, once."""

    traced: Count = Field(0, description="instructions of the trace")
    filtered: Count = Field(0, description="instructions that were not recorded")
    undecoded: Count = Field(0, description="instructions of the trace that could not be decoded")
    attributed: list[InstructionsDoc] = Field(
        default_factory=list, description="instructions in windows, by what they belong to"
    )
    unattributed: list[InstructionsDoc] = Field(
        default_factory=list, description="instructions in no window, by the reason"
    )

    def to_model(self) -> Conservation:
        return Conservation(
            traced=self.traced,
            filtered=self.filtered,
            undecoded=self.undecoded,
            attributed=tuple((part.name, part.instructions) for part in self.attributed),
            unattributed=tuple((part.name, part.instructions) for part in self.unattributed),
        )


class TraceDoc(JsonModel):
    """A trace that counts come from."""

    format: str = Field(description="format of the trace")
    emulator: str | None = Field(None, description="what ran the firmware")
    machine: str | None = Field(None, description="emulated board")
    arguments: list[str] = Field(default_factory=list, description="of the emulator")
    losses: list[str] = Field(
        default_factory=list, description="what the format of the trace cannot know"
    )


class ProvenanceDoc(JsonModel):
    """Where the figures come from."""

    tool: str = Field(description="what wrote the characterization")
    image_sha256: Hash | None = Field(
        None, description="hash of the loadable contents of the firmware"
    )
    build_id: str | None = Field(None, description="that the linker wrote into the firmware")
    source: str | None = Field(None, description="where the figures were published")
    traces: list[TraceDoc] = Field(default_factory=list, description="traces that were counted")

    def to_model(self) -> Provenance:
        return Provenance(
            tool=self.tool,
            image_sha256=self.image_sha256,
            build_id=self.build_id,
            source=self.source,
            traces=tuple(
                TraceProvenance(
                    t.format, t.emulator, t.machine, tuple(t.arguments), tuple(t.losses)
                )
                for t in self.traces
            ),
        )


class FetchBufferDoc(JsonModel):
    """How far the core is taken to fetch ahead, in bytes."""

    behind: Count = Field(description="behind the instruction that executes")
    speculative: Count = Field(
        description="at the target of a direct branch that need not be taken"
    )


class CharacterizationDoc(JsonModel):
    """What each kernel service does to memory, under which blocking: counts, not times."""

    kind: Literal["wcetchar characterization"] = Field(description="what the file is")
    schema_version: Literal[1] = Field(description="version of this format")
    kernel: KernelDoc = Field(description="the kernel and its configuration")
    architecture: str = Field(description="instruction set")
    fetch_width: FetchWidth = Field(description="in bits; the unit of fetch counts")
    stalls: Annotated[int, Field(ge=1, le=STALL_EDITION)] | bool = Field(
        False,
        description="edition of the definitions by which stalls are counted as events of "
        "their own; true: 1; absent: they are not",
    )
    successions: list[SuccessionDoc] | None = Field(
        None, description="all that are counted; absent: which access follows which is not counted"
    )
    data_lines: list[Literal[16, 32, 64, 128]] = Field(
        default_factory=list,
        description="bytes of a data cache's line, for each of which line loads are counted and "
        "lines that are used are told; absent: they are not",
    )
    fetch_buffer: FetchBufferDoc | None = Field(
        None,
        description="what lines are entered in vain by; absent: a pipeline that predicts branches "
        "in its decoder",
    )
    sections: list[SectionDoc] = Field(description="logical sections to be placed")
    services: list[ServiceDoc] = Field(description="services and internal activities")
    not_characterized: list[NotCharacterizedDoc] = Field(
        default_factory=list, description="services of the vendor's list that have no counts"
    )
    left_out: list[LeftOutDoc] = Field(
        default_factory=list, description="calls of the kernel that are no services, and why"
    )
    assumptions: list[str] = Field(default_factory=list, description="what every count rests on")
    paths: PathsDoc | None = Field(
        None, description="all paths that services can take; absent: not published"
    )
    conservation: ConservationDoc | None = Field(
        None, description="where every traced instruction went"
    )
    provenance: ProvenanceDoc = Field(description="where the figures come from")

    def to_model(self) -> Characterization:
        successions = [one.to_model() for one in self.successions or ()]
        return Characterization(
            kernel=Kernel(self.kernel.name, self.kernel.version, dict(self.kernel.configuration)),
            architecture=self.architecture,
            fetch_width=self.fetch_width,
            stalls=int(self.stalls),
            successions=self.successions is not None,
            data_lines=tuple(self.data_lines),
            fetch_buffer=None
            if self.fetch_buffer is None
            else FetchBuffer(self.fetch_buffer.behind, self.fetch_buffer.speculative),
            sections=tuple(section.to_model() for section in self.sections),
            services=tuple(service.to_model(successions) for service in self.services),
            provenance=self.provenance.to_model(),
            conservation=self.conservation.to_model() if self.conservation else None,
            assumptions=tuple(self.assumptions),
            not_characterized=tuple(
                NotCharacterized(missing.name, missing.reason) for missing in self.not_characterized
            ),
            left_out=tuple(LeftOut(one.because, tuple(one.calls)) for one in self.left_out),
            paths=() if self.paths is None else self.paths.to_models(),
        )


def plain(c: Characterization) -> dict[str, Any]:
    """The file's content as plain data, in the order of the file."""
    numbers = Numbers()
    services = [_service(service, numbers) for service in c.services]
    return sparse(
        {
            "kind": KIND,
            "schema_version": SCHEMA_VERSION,
            "kernel": sparse(
                {
                    "name": c.kernel.name,
                    "version": c.kernel.version,
                    "configuration": dict(sorted(c.kernel.configuration.items())),
                },
                "configuration",
            ),
            "architecture": c.architecture,
            "fetch_width": c.fetch_width,
            "stalls": c.stalls,
            "data_lines": list(c.data_lines),
            "fetch_buffer": None if c.fetch_buffer is None else asdict(c.fetch_buffer),
            "sections": [_section(s) for s in c.sections],
            "services": services,
            "successions": [plain_succession(key) for key in numbers] if c.successions else None,
            "not_characterized": [
                {"name": missing.name, "reason": missing.reason} for missing in c.not_characterized
            ],
            "left_out": [{"because": o.because, "calls": list(o.calls)} for o in c.left_out],
            "assumptions": list(c.assumptions),
            "paths": plain_paths(c.paths),
            "conservation": _conservation(c.conservation) if c.conservation else None,
            "provenance": _provenance(c.provenance),
        },
        "stalls",
        "data_lines",
        "fetch_buffer",
        *(() if c.successions else ("successions",)),
        "not_characterized",
        "left_out",
        "assumptions",
        "paths",
        "conservation",
    )


def _section(s: SectionInfo) -> dict[str, Any]:
    data: dict[str, Any] = {"name": s.name, "kind": s.kind.value, "meaning": s.meaning}
    data = sparse({**data, "either_of": list(s.either_of)}, "meaning", "either_of")
    if s.address is not None:
        data["address"] = s.address
    if s.contents is not None:
        data["contents"] = sparse(
            {
                "linker_sections": list(s.contents.linker_sections),
                "address_ranges": [
                    {"start": r.start, "size": r.end - r.start} for r in s.contents.ranges
                ],
                "symbols": list(s.contents.symbols),
            },
            "linker_sections",
            "address_ranges",
            "symbols",
        )
    return data


def _service(s: ServiceCharacterization, numbers: Numbers) -> dict[str, Any]:
    def number(key: Succession) -> int:
        return numbers.setdefault(key, len(numbers))

    data = {
        "name": s.name,
        "kind": s.kind.value,
        "part": None if s.part is Part.WHOLE else s.part.value,
        "word": s.word.value,
        "place": plain_place(s.place),
        "description": s.description,
        "worst_state": s.worst_state,
        "parameters": [
            {
                "name": p.name,
                "kind": p.kind.value,
                "minimum": p.minimum,
                "maximum": p.maximum,
                "meaning": p.meaning,
            }
            for p in s.parameters
        ],
        "counts": _counts(s.counts, numbers),
        "stretches_known": s.stretches_known,
        "stretches": [
            sparse(
                {
                    "kind": t.kind.value,
                    "begin": t.begin,
                    "end": t.end,
                    "begin_place": plain_place(t.begin_place),
                    "end_place": plain_place(t.end_place),
                    "goes_on_from": _joints(t.goes_on_from),
                    "goes_on_in": _joints(t.goes_on_in),
                    "counts": _counts(t.counts, numbers),
                    "code": plain_code(t.code, number) if t.code else None,
                    "data": plain_used(t.data) if t.data else None,
                },
                "code",
                *(() if t.data else ("data",)),
                *(() if t.begin_place else ("begin_place",)),
                *(() if t.end_place else ("end_place",)),
                *(() if t.goes_on_from is not None else ("goes_on_from",)),
                *(() if t.goes_on_in is not None else ("goes_on_in",)),
            )
            for t in s.stretches
        ],
        "evidence": sparse(
            {
                "windows": s.evidence.windows,
                "fitted": [list(values) for values in s.evidence.fitted],
                "held_out": [list(values) for values in s.evidence.held_out],
            },
            "windows",
            "fitted",
            "held_out",
        ),
        "notes": list(s.notes),
        "lines": {
            "entries": _counts(s.lines.entries, numbers),
            "footprints": plain_footprints(s.lines, number),
        }
        if s.lines
        else None,
        "data": plain_data(s.data or ()),
    }
    return sparse(
        data,
        *(() if s.data is not None else ("data",)),
        "part",
        "place",
        "description",
        "worst_state",
        "parameters",
        "stretches",
        "evidence",
        "notes",
        "lines",
    )


def _joints(joints: frozenset[Joint] | None) -> list[str] | None:
    return None if joints is None else [joint.value for joint in Joint if joint in joints]


def _counts(counts: Counts, numbers: Numbers) -> dict[str, Any]:
    if counts.is_formula:
        return {"rows": [_row(row, numbers) for row in counts.rows]}
    return {
        "points": [
            {"values": list(point.values), "rows": [_row(row, numbers) for row in point.rows]}
            for point in counts.points
        ]
    }


def _row(row: TraceSection, numbers: Numbers) -> dict[str, Any]:
    items = row.vector.items()
    data = {
        "repetition": formula.to_text(row.repetition),
        "blocking": plain_blocking(row.blocking),
        "counts": [_count(k, count) for k, count in items if not isinstance(k, Succession)],
        "successions": {
            str(numbers.setdefault(key, len(numbers))): count
            for key, count in items
            if isinstance(key, Succession)
        },
    }
    return sparse(data, "successions")


def _count(key: AccessClass | CoreEvent, count: int) -> dict[str, Any]:
    if isinstance(key, CoreEvent):
        return {"section": key.section, "event": key.kind.value, "count": count}
    return {**plain_access(key), "count": count}


def _conservation(c: Conservation) -> dict[str, Any]:
    return {
        "traced": c.traced,
        "filtered": c.filtered,
        "undecoded": c.undecoded,
        "attributed": [{"name": n, "instructions": i} for n, i in c.attributed],
        "unattributed": [{"name": n, "instructions": i} for n, i in c.unattributed],
    }


def _provenance(p: Provenance) -> dict[str, Any]:
    data = {
        "tool": p.tool,
        "image_sha256": p.image_sha256,
        "build_id": p.build_id,
        "source": p.source,
        "traces": [
            {
                "format": t.format,
                "emulator": t.emulator,
                "machine": t.machine,
                "arguments": list(t.arguments),
                "losses": list(t.losses),
            }
            for t in p.traces
        ],
    }
    # An empty text is not an absence: only ``None`` is left out.
    return {key: value for key, value in data.items() if value is not None and value != []}
