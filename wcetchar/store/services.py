"""Services file: YAML -> :class:`wcetchar.model.service.ServicesFile`."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final, Literal, TypeGuard

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema

from wcetchar.errors import InputError, Location, did_you_mean
from wcetchar.model.service import (
    PART_SEPARATOR,
    AddressRange,
    FloatContext,
    Kernel,
    LeftOut,
    LogicalSection,
    Marks,
    Parameter,
    ParameterKind,
    SchedulerLock,
    SectionKind,
    SectionRules,
    Service,
    ServiceKind,
    ServicesFile,
)
from wcetchar.store.checking import (
    Integer,
    Text,
    YamlModel,
    in_place,
    list_at,
    mapping_at,
    one_of,
    validate,
)
from wcetchar.store.document import SERVICES
from wcetchar.store.names import services_path
from wcetchar.store.parameter_names import parameter_name_mistake
from wcetchar.store.parts import OF_A_PART, read_parts
from wcetchar.store.profile import Address, Size
from wcetchar.store.shapes import MESSAGE
from wcetchar.store.source import Source, Steps, places_of, shown

NO_MARK: Final = "none"
_RANGE = re.compile(r"\s*(-?(?:0|[1-9][0-9]{0,17}))\s*\.\.\s*(-?(?:0|[1-9][0-9]{0,17}))\s*")


def read_range(value: Any) -> tuple[int, int]:
    """Both ends of ``LOW..HIGH``."""
    match = _RANGE.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise InputError(
            f"{shown(value)} is not a range", expected="a range of whole numbers such as `1..16`"
        )
    minimum, maximum = int(match[1]), int(match[2])
    if minimum > maximum:
        raise InputError(
            f"the lower end of {shown(value)} is above its upper end",
            expected="the smaller number first",
        )
    return minimum, maximum


MOST_CASES: Final = 64
"""Values of a parameter of kind ``case``; each is looked at on its own."""

Range = Annotated[
    tuple[int, int],
    PlainValidator(in_place(read_range)),
    WithJsonSchema(
        {
            "type": "string",
            "pattern": f"^{_RANGE.pattern}$",
            MESSAGE: "a range such as `1..16`",
            "examples": ["1..16"],
        }
    ),
]
Count = Annotated[Integer, Field(ge=1, le=1 << 20)]
Channel = Annotated[Integer, Field(ge=0, le=1 << 20)]
ExceptionNumber = Annotated[Address, Field(lt=1 << 32)]
Mark = Annotated[
    Channel | None,
    BeforeValidator(lambda value: None if value == NO_MARK else value),
    WithJsonSchema({"oneOf": [{"const": "none"}, {"type": "integer", "minimum": 0}]}),
]
Symbols = Annotated[list[Text], Field(min_length=1)]


class KernelDoc(YamlModel):
    """Which kernel it is, with which settings."""

    name: Text = Field(description="name of the kernel")
    version: Text = Field(description="its version")
    configuration: dict[Text, Text] = Field(
        default_factory=dict, description="the settings that the figures hold for"
    )


class ChannelsDoc(YamlModel):
    """Which channel of the array of marks says what."""

    begin: Channel = Field(default=0, description="of marks where a service begins")
    end: Channel = Field(default=1, description="of marks where a service ends")
    first_parameter: Channel = Field(
        default=2,
        description="of the first parameter of a service; the next one has the next channel",
    )


class MarksDoc(YamlModel):
    """The array that the firmware stores its marks to."""

    symbol: Text = Field(description="the byte array that marks are stored to")
    values: Count = Field(description="elements per channel")
    channels: ChannelsDoc = Field(
        default_factory=ChannelsDoc, description="which channel says what"
    )

    def to_model(self) -> Marks:
        channels = self.channels
        return Marks(
            symbol=self.symbol,
            values=self.values,
            begin=channels.begin,
            end=channels.end,
            first_parameter=channels.first_parameter,
        )


class AddressesDoc(YamlModel):
    """A range of addresses."""

    base: Address = Field(description="first address")
    size: Size = Field(description="size, such as `4 KiB`")


class SectionDoc(YamlModel):
    """A logical section: what of the image, or of memory, is counted together."""

    kind: SectionKind = Field(description="code, data, stack or peripheral")
    linker_sections: list[Text] = Field(
        default_factory=list, description="sections of the image that belong to it"
    )
    optional_linker_sections: list[Text] = Field(
        default_factory=list, description="linker sections that an image need not have"
    )
    symbols: list[Text] = Field(
        default_factory=list, description="functions or objects that belong to it"
    )
    address_ranges: list[AddressesDoc] = Field(
        default_factory=list, description="addresses that belong to it: peripherals, stacks"
    )
    either_of: list[Text] = Field(
        default_factory=list,
        description="in place of rules: sections of data; what an instruction accesses that was "
        "seen to access several of them counts for this one",
    )
    meaning: Text = Field("", description="what lies there, in words; published")

    def to_model(self, name: str) -> LogicalSection:
        return LogicalSection(
            name=name,
            kind=self.kind,
            linker_sections=tuple(self.linker_sections),
            symbols=tuple(self.symbols),
            ranges=tuple(AddressRange(r.base, r.base + r.size) for r in self.address_ranges),
            meaning=self.meaning,
            optional=tuple(self.optional_linker_sections),
            either_of=tuple(self.either_of),
        )


class HardwareDoc(YamlModel):
    """What the hardware accesses by itself around exceptions."""

    vector_section: Text | None = Field(
        default=None, description="logical section of the vector table"
    )
    main_stack: Text | None = Field(
        default=None, description="logical section that handlers stack to"
    )
    task_stack: Text | None = Field(
        default=None, description="logical section that threads stack to"
    )
    floating_point_context: FloatContext | None = Field(
        default=None,
        description="when the floating-point part of an exception frame is written",
    )


class LockDoc(YamlModel):
    """How the kernel locks its scheduler."""

    lock: Symbols = Field(description="functions that lock the scheduler")
    unlock: Symbols = Field(description="functions that unlock it")


class ParameterDoc(YamlModel):
    """A call argument, or a number of the kernel's state, that the counts depend on."""

    kind: ParameterKind = Field(description="argument, state or case")
    range: Range = Field(description="values inclusive, such as `1..16`")
    meaning: Text = Field(description="what the parameter counts")
    argument: Annotated[Integer, Field(ge=0, le=63)] | None = Field(
        None, description="argument register at the entry that holds the value, from 0"
    )


class ServiceDoc(YamlModel):
    """A service: a call, a handler or an activity, and where it begins."""

    mark: Mark = Field(
        None, description="value stored to the begin and end channels; none: every call counts"
    )
    kind: ServiceKind = Field(
        description="call, blocking call, final call (both end on another thread), handler or "
        "activation (of a thread)"
    )
    entries: Symbols = Field(description="symbols of the function, handler or thread's function")
    description: Text = Field("", description="what it does, in words; published")
    worst_state: Text = Field(
        "", description="the state that is driven for it, and why no other is worse; published"
    )
    parameters: dict[Text, ParameterDoc] = Field(
        default_factory=dict, description="what its counts depend on, by the name in formulas"
    )
    exceptions: list[ExceptionNumber] = Field(
        default_factory=list, description="numbers of the exceptions that this handler serves"
    )

    def to_model(self, name: str) -> Service:
        return Service(
            name=name,
            mark=self.mark,
            kind=self.kind,
            entries=tuple(self.entries),
            parameters=tuple(
                Parameter(key, p.kind, *p.range, p.meaning, p.argument)
                for key, p in self.parameters.items()
            ),
            description=self.description,
            worst_state=self.worst_state,
            exceptions=tuple(self.exceptions),
        )


class LeftOutDoc(YamlModel):
    """Calls of the kernel that are no services, for one reason."""

    because: Text = Field(description="why they are not characterized")
    calls: list[Text] | dict[Text, Text] = Field(
        min_length=1, description="their names, alone or each with what there is to say of it"
    )

    def to_model(self) -> LeftOut:
        return LeftOut(self.because, tuple(self.calls))


class ServicesDoc(YamlModel):
    """What to characterize, and how addresses and marks are to be read."""

    schema_: Literal["wcetchar/services/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    kernel: KernelDoc = Field(description="name and version of the kernel")
    marks: MarksDoc | None = Field(None, description="the array of marks")
    sections: dict[Text, SectionDoc] = Field(description="logical sections by name")
    hardware: HardwareDoc = Field(
        default_factory=HardwareDoc, description="sections that the hardware itself touches"
    )
    scheduler_lock: LockDoc | None = Field(
        None, description="functions that hold preemption off, and those that end it"
    )
    assumptions: list[Text] = Field(
        default_factory=list, description="what the figures hold under; published with them"
    )
    left_out: list[LeftOutDoc] = Field(
        default_factory=list,
        description="calls of the kernel that are not characterized, and why; published as such",
    )
    services: dict[Text, ServiceDoc] = Field(description="services by name")

    def to_model(self, path: str, places: Mapping[Steps, Location]) -> ServicesFile:
        lock = self.scheduler_lock
        return ServicesFile(
            path=path,
            kernel=Kernel(self.kernel.name, self.kernel.version, dict(self.kernel.configuration)),
            marks=self.marks.to_model() if self.marks else None,
            sections=tuple(s.to_model(name) for name, s in self.sections.items()),
            services=tuple(service.to_model(name) for name, service in self.services.items()),
            scheduler_lock=SchedulerLock(tuple(lock.lock), tuple(lock.unlock)) if lock else None,
            vector_section=self.hardware.vector_section,
            main_stack=self.hardware.main_stack,
            task_stack=self.hardware.task_stack,
            float_context=self.hardware.floating_point_context,
            assumptions=tuple(self.assumptions),
            left_out=tuple(group.to_model() for group in self.left_out),
            places=places,
        )


class SectionRulesDoc(YamlModel):
    """Of a services file, what its logical sections are."""

    schema_: Literal["wcetchar/services/1"] = Field(alias="schema")
    sections: dict[Text, SectionDoc] = Field(description="logical sections by name")


CONTINUED: Final[tuple[Steps, ...]] = (("services",), ("sections",), ("kernel", "configuration"))
"""Mappings that may have entries in several files."""
GROWING: Final = ("assumptions", "left out")
"""Lists that may have items in several files."""


def load_services(*paths: str) -> ServicesFile:
    """Read a services file, or several that make one together. Each is a path, or the name of one
    of the shipped ``section_rule_names``.

    Each key stands in one of the files; only the mappings of ``CONTINUED`` and the lists of
    ``GROWING`` may go on in another, keys of a service and settings may be given ``instead`` of
    those in another, and one file may say which services are read.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    files = [services_path(path) for path in paths]
    source = read_parts(files, SERVICES, CONTINUED, "services", GROWING)
    document = validate(ServicesDoc, source, _CHECKS)
    source.fail_on_mistakes()
    assert document is not None
    return document.to_model(files[0], places_of(source))


def load_section_rules(*paths: str) -> SectionRules:
    """Read the sections alone of services files, as :func:`load_services` reads them; the rest may
    be missing, or is not looked at.

    Raises:
        InputError: no such file, or mistakes in its sections; all of them at once as
            ``InputErrors``.
    """
    files = [services_path(path) for path in paths]
    whole = read_parts(files, SERVICES, CONTINUED, "services", GROWING)
    not_read = {field.alias for field in ServicesDoc.model_fields.values()} | set(OF_A_PART)
    not_read -= {field.alias for field in SectionRulesDoc.model_fields.values()}
    data = {key: value for key, value in mapping_at(whole.data).items() if key not in not_read}
    source = Source(whole.path, data, whole.place, whole.mistakes, whole.unreadable)
    document = validate(SectionRulesDoc, source, (_check_sections, _check_joint))
    source.fail_on_mistakes()
    assert document is not None
    sections = tuple(section.to_model(name) for name, section in document.sections.items())
    return SectionRules(files[0], sections, places_of(source))


def _values(source: Source) -> int | None:
    """Elements per channel, where they can be read."""
    values = mapping_at(source.data, "marks").get("values")
    return values if _number(values) and values >= 1 else None


def _marked(service: object) -> bool:
    return isinstance(service, dict) and service.get("mark") not in (None, NO_MARK)


def _check_marks(source: Source) -> None:
    values = _values(source)
    seen: dict[int, Steps] = {}
    there_are_marks = mapping_at(source.data).get("marks") is not None
    for name, service in mapping_at(source.data, "services").items():
        mark = service.get("mark") if isinstance(service, dict) else None
        steps: Steps = ("services", name, "mark")
        if mark is None and there_are_marks and isinstance(service, dict):
            source.report(
                ("services", name),
                "the key `mark` is missing",
                expected="the value that the firmware stores around its calls",
                hint=f"add `mark:`, or `mark: {NO_MARK}` if the firmware does not mark it",
            )
        if not _number(mark):
            continue
        if not there_are_marks:
            source.report(
                steps,
                f"{shown(name)} has a mark, but the file does not say where marks are stored",
                expected="`marks:` with the array of marks",
                hint="leave the mark out if the firmware has none: then every call counts",
            )
        if mark in seen:
            source.report(
                steps,
                f"the mark {mark} of {shown(name)} is taken; it first stands at "
                f"{source.where(seen[mark])}",
                expected="a mark of its own for each service",
            )
        seen.setdefault(mark, steps)
        if values is not None and mark >= values:
            source.report(
                steps,
                f"the mark {mark} does not fit a channel of {values} values",
                expected=f"0..{values - 1}",
                hint="raise `values` under `marks` and in the firmware",
            )


def _check_channels(source: Source) -> None:
    given = mapping_at(source.data, "marks", "channels")
    channels = {"begin": 0, "end": 1, "first parameter": 2, **given}
    services = mapping_at(source.data, "services")
    marked = [name for name in services if _marked(services[name])]
    count = max((len(mapping_at(services, n, "parameters")) for n in marked), default=0)
    begin, end, first = (channels[key] for key in ("begin", "end", "first parameter"))
    if not (_number(begin) and _number(end) and _number(first)):
        return
    at: Steps = ("marks", "channels")
    if begin == end:
        source.report((*at, "end"), f"begin and end share channel {end}", expected="two channels")
    for key, channel in (("begin", begin), ("end", end)):
        if first <= channel < first + max(count, 1):
            source.report(
                (*at, key),
                f"the channel {channel} of {key} is also one of the parameters' "
                f"({first}..{first + max(count, 1) - 1})",
                expected="a channel of its own",
            )


def _check_parameters(source: Source) -> None:
    values = _values(source)
    services = mapping_at(source.data, "services")
    for service in services:
        marked = _marked(services[service])
        for name, parameter in mapping_at(services, service, "parameters").items():
            steps: Steps = ("services", service, "parameters", name)
            mistake = parameter_name_mistake(name)
            if mistake:
                source.report(
                    steps, mistake, expected="letters, digits and _, not a function", key=True
                )
            if isinstance(parameter, dict) and parameter.get("argument") is not None:
                _check_argument(source, steps, services[service], parameter)
            text = parameter.get("range") if isinstance(parameter, dict) else None
            try:
                minimum, maximum = read_range(text)
            except InputError:
                continue
            if parameter.get("kind") == ParameterKind.CASE and maximum - minimum >= MOST_CASES:
                source.report(
                    (*steps, "range"),
                    f"the range {shown(text)} has {maximum - minimum + 1} cases",
                    expected=f"at most {MOST_CASES}",
                    hint="counts that follow a formula are of an argument or a state",
                )
            if not marked:
                continue
            if values is not None and (minimum < 0 or maximum >= values):
                source.report(
                    (*steps, "range"),
                    f"the range {shown(text)} does not fit a channel of {values} values",
                    expected=f"a part of 0..{values - 1}",
                    hint="raise `values` under `marks` and in the firmware",
                )


def _check_argument(source: Source, steps: Steps, service: Any, parameter: Any) -> None:
    at: Steps = (*steps, "argument")
    if _marked(service):
        source.report(
            at,
            "the values of a service with a mark are marked too",
            expected="`argument` in a service without `mark` only",
            hint="leave one of the two out",
        )
    elif service.get("kind") in (ServiceKind.HANDLER, ServiceKind.ACTIVATION):
        source.report(
            at,
            f"{'a handler' if service['kind'] == ServiceKind.HANDLER else 'an activation'} has no "
            "arguments",
            expected="`argument` in a service of kind `call`",
            hint="leave it out, and give the value for each run",
        )
    elif parameter.get("kind") == ParameterKind.STATE:
        source.report(
            at,
            "a parameter of kind `state` cannot be read from an argument register",
            expected="`kind: argument` or `kind: case`",
        )


def _check_hardware(source: Source) -> None:
    sections = list(mapping_at(source.data, "sections"))
    stated = mapping_at(source.data, "hardware")
    for key, section in stated.items():
        if key == "floating point context":
            continue
        if isinstance(section, str) and section not in sections:
            source.report(
                ("hardware", key),
                f"there is no logical section {shown(section)}",
                expected=one_of(sections),
                hint=did_you_mean(section, sections),
            )


def _check_sections(source: Source) -> None:
    """Nothing belongs to two logical sections; a section without a rule has nothing in it."""
    sections = mapping_at(source.data, "sections")
    if "sections" in mapping_at(source.data) and sections == {}:
        source.report(("sections",), "there is no logical section", expected="at least one")
    for keys, what in (
        (("linker sections", "optional linker sections"), "linker section"),
        (("symbols",), "symbol"),
    ):
        seen: dict[str, Steps] = {}
        for name, key in ((name, key) for name in sections for key in keys):
            for index, item in enumerate(list_at(sections, name, key)):
                steps: Steps = ("sections", name, key, index)
                if not isinstance(item, str):
                    continue
                if item in seen:
                    source.report(
                        steps,
                        f"the {what} {shown(item)} is listed twice; it first stands at "
                        f"{source.where(seen[item])}",
                        expected=f"each {what} in one logical section",
                    )
                seen.setdefault(item, steps)
    for name, section in sections.items():
        if isinstance(section, dict) and not any(section.get(rule) for rule in (*_RULES, _JOINT)):
            source.report(
                ("sections", name),
                f"nothing belongs to the logical section {shown(name)}",
                expected="linker sections, symbols or address ranges",
            )


_RULES: Final = ("linker sections", "optional linker sections", "symbols", "address ranges")
_JOINT: Final = "either of"


def _check_joint(source: Source) -> None:
    """Sections that others are either of: two at least, of data, each of one joint section."""
    sections = mapping_at(source.data, "sections")
    by_name = {str(name): section for name, section in sections.items()}
    hardware = mapping_at(source.data, "hardware")
    touched = [str(hardware.get(key)) for key in ("vector section", "main stack", "task stack")]
    seen: dict[str, Steps] = {}
    for name, section in sections.items():
        parts = list_at(sections, name, _JOINT)
        if not parts:
            continue
        steps: Steps = ("sections", name, _JOINT)
        if len(parts) < 2:
            source.report(steps, "there is one alone", expected="two sections or more", key=True)
        for rule in _RULES:
            if section.get(rule):
                source.report(
                    ("sections", name, rule),
                    f"the logical section {shown(name)} is either of others",
                    expected=f"no rule of its own beside `{_JOINT}`",
                    key=True,
                )
        if section.get("kind") != SectionKind.DATA.value:
            source.report(
                ("sections", name, "kind"),
                f"the logical section {shown(name)} is either of others",
                expected="`kind: data`",
            )
        if str(name) in touched:
            source.report(
                ("sections", name),
                f"the hardware itself touches the logical section {shown(name)}",
                expected="one with rules of its own under `hardware`",
            )
        for index, raw in enumerate(parts):
            part = str(raw)
            of = mapping_at(by_name, part)
            if of.get("kind") != SectionKind.DATA.value or of.get(_JOINT):
                source.report(
                    (*steps, index),
                    f"{shown(part)} is no section of data with rules of its own",
                    expected="one under `sections`",
                )
            elif part in seen:
                source.report(
                    (*steps, index),
                    f"{shown(part)} is listed twice; it first stands at {source.where(seen[part])}",
                    expected="each section in one other",
                )
            else:
                seen[part] = (*steps, index)


def _check_services(source: Source) -> None:
    if mapping_at(source.data).get("services") == {}:
        source.report(("services",), "there is no service", expected="at least one")
    for service in mapping_at(source.data, "services"):
        _unique(source, ("services", service, "entries"))
        if isinstance(service, str) and PART_SEPARATOR in service:
            source.report(
                ("services", service),
                f"the name {shown(service)} has a {PART_SEPARATOR!r}",
                expected="a name without it: it separates a service from its parts",
                key=True,
            )
        _check_exceptions(source, service)
    for side in ("lock", "unlock"):
        _unique(source, ("scheduler lock", side))
    both = set(_texts(list_at(source.data, "scheduler lock", "lock")))
    for index, symbol in enumerate(list_at(source.data, "scheduler lock", "unlock")):
        if isinstance(symbol, str) and symbol in both:
            source.report(
                ("scheduler lock", "unlock", index),
                f"{shown(symbol)} both locks and unlocks the scheduler",
                expected="a function in one of the two lists",
            )


def _check_left_out(source: Source) -> None:
    """No call twice, and none that is a service."""
    services, seen = mapping_at(source.data, "services"), set[str]()
    for number, group in enumerate(list_at(source.data, "left out")):
        names: list[tuple[str | int, Any]] = [*enumerate(list_at(group, "calls"))]
        names += [(name, name) for name in mapping_at(group, "calls")]
        for place, name in names:
            if isinstance(name, str) and (name in services or name in seen):
                source.report(
                    ("left out", number, "calls", place),
                    f"{shown(name)} is {'a service' if name in services else 'left out twice'}",
                    expected="each call of the kernel once: as a service, or left out",
                    key=place == name,
                )
            if isinstance(name, str):
                seen.add(name)


def _check_exceptions(source: Source, service: str) -> None:
    """Numbers that are told apart, of a handler."""
    steps: Steps = ("services", service, "exceptions")
    body = mapping_at(source.data, "services", service)
    kind = body.get("kind")
    if "exceptions" in body and kind in set(ServiceKind) - {ServiceKind.HANDLER}:
        source.report(
            steps,
            f"{'a thread' if kind == ServiceKind.ACTIVATION else 'a call'} serves no exceptions",
            expected="`kind: handler`, or no `exceptions`",
        )


def _unique(source: Source, steps: tuple[str, ...]) -> None:
    seen: set[str] = set()
    for index, item in enumerate(list_at(source.data, *steps)):
        if isinstance(item, str):
            if item in seen:
                source.report(
                    (*steps, index), f"{shown(item)} is listed twice", expected="each once"
                )
            seen.add(item)


def _texts(items: Iterable[Any]) -> Iterable[str]:
    return (item for item in items if isinstance(item, str))


def _number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


_CHECKS: Final[tuple[Callable[[Source], None], ...]] = (
    _check_marks,
    _check_channels,
    _check_parameters,
    _check_hardware,
    _check_sections,
    _check_joint,
    _check_services,
    _check_left_out,
)
