"""The vendor's services file: what to characterize, and how addresses and marks are to be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from wcetchar.errors import Location


class ParameterKind(StrEnum):
    """What a parameter is.

    ``CASE``: its values are cases that have nothing in common: counts are formulas of the other
    parameters in each of them. Which case is dearest depends on the hardware, so an estimate takes
    the dearest one, unless it is told which one holds.
    """

    ARGUMENT = "argument"
    STATE = "state"
    CASE = "case"


@dataclass(frozen=True)
class Parameter:
    """A call argument, a piece of kernel state or a number of cases, over the integers
    minimum..maximum inclusive.

    ``argument``: number of the argument, from 0, that its value is read from at the entry of a
    service without a mark; ``None``: its value is marked, or given for each run.
    """

    name: str
    kind: ParameterKind
    minimum: int
    maximum: int
    meaning: str
    argument: int | None = None


class ServiceKind(StrEnum):
    """What an invocation is.

    ``CALL``: from the first instruction of an entry symbol until control is back at its return
    address on the same thread. ``BLOCKING_CALL``: the same, but another thread runs in between; it
    is cut there, and each :class:`Part` is published. ``FINAL_CALL``: another thread runs, and the
    caller never does again. ``HANDLER``: from exception entry until exception return.
    ``ACTIVATION``: what a thread executes from its being switched in until it is switched away.
    """

    CALL = "call"
    BLOCKING_CALL = "blocking call"
    FINAL_CALL = "final call"
    HANDLER = "handler"
    ACTIVATION = "activation"


class Part(StrEnum):
    """A piece of an invocation that another thread cuts. The switches in between are activities of
    their own."""

    WHOLE = "whole"
    UNTIL_SWITCH = "call until switch"
    BETWEEN_SWITCHES = "resume until switch"
    UNTIL_RETURN = "resume until return"

    def of(self, service: str) -> str:
        """The name that the part of a service is published under."""
        return service + _SUFFIX[self]


_SUFFIX = {
    Part.WHOLE: "",
    Part.UNTIL_SWITCH: "/call",
    Part.BETWEEN_SWITCHES: "/between",
    Part.UNTIL_RETURN: "/resume",
}
PART_SEPARATOR = "/"
"""Stands in no name of a services file, so that the names of parts are unique."""


def whole_of(name: str) -> str:
    """The service that a published name is, or that it is a part of."""
    return name.partition(PART_SEPARATOR)[0]


def is_of(published: str, service: str) -> bool:
    """A published name is that of a service, or of a part of it."""
    return service in (published, whole_of(published))


PARTS: dict[ServiceKind, tuple[Part, ...]] = {
    ServiceKind.CALL: (Part.WHOLE,),
    ServiceKind.HANDLER: (Part.WHOLE,),
    ServiceKind.ACTIVATION: (Part.WHOLE,),
    ServiceKind.BLOCKING_CALL: (Part.UNTIL_SWITCH, Part.BETWEEN_SWITCHES, Part.UNTIL_RETURN),
    ServiceKind.FINAL_CALL: (Part.UNTIL_SWITCH,),
}
"""Of these a trace must show all but ``BETWEEN_SWITCHES``, which only some calls have."""


def parts_before(service: Service, part: Part) -> tuple[str, ...]:
    """Names of the parts that may have been executed when a part begins."""
    if part is Part.BETWEEN_SWITCHES:
        return Part.UNTIL_SWITCH.of(service.name), part.of(service.name)
    if part is Part.UNTIL_RETURN:
        return tuple(one.of(service.name) for one in PARTS[service.kind] if one is not part)
    return ()


@dataclass(frozen=True)
class Service:
    """One kernel service or internal activity.

    Attributes:
        mark: value that the firmware stores to the begin and end channels around it; ``None``: the
            firmware does not mark it, and every call of an entry (activation of a handler or of a
            thread) is a window.
        entries: symbols of the function (CALL) or handler (HANDLER), at least one; the first that
            is reached after the begin mark opens the window. Of an ACTIVATION: functions that a
            thread executes from its start; what has entered one of them is such a thread.
        worst_state: the state in which the firmware calls it, and why that is the worst.
        exceptions: numbers of the exceptions that a HANDLER serves, where one entry serves several
            (``Event.EXCEPTION``); empty: all that enter there.
    """

    name: str
    mark: int | None
    kind: ServiceKind
    entries: tuple[str, ...]
    parameters: tuple[Parameter, ...] = ()
    description: str = ""
    worst_state: str = ""
    exceptions: tuple[int, ...] = ()


@dataclass(frozen=True)
class Marks:
    """``wcet_mark[channel][value]`` in the firmware: a store to an element carries its value.

    Attributes:
        symbol: the array; each element is one byte.
        values: elements per channel, so that address = base + channel * values + value.
        begin, end: channels of service begin and end; the value is ``Service.mark``.
        first_parameter: channel of the service's first parameter; further ones follow.
    """

    symbol: str
    values: int
    begin: int = 0
    end: int = 1
    first_parameter: int = 2


class SectionKind(StrEnum):
    """What a logical section holds."""

    CODE = "code"
    DATA = "data"
    STACK = "stack"
    PERIPHERAL = "peripheral"


@dataclass(frozen=True)
class AddressRange:
    """start <= address < end."""

    start: int
    end: int


@dataclass(frozen=True)
class LogicalSection:
    """A logical section: what an integrator places as one. An address belongs to the section
    whose rule is the most specific one: symbols, then address ranges, then linker sections.

    Attributes:
        linker_sections: each of them has to be in the image.
        optional: linker sections that an image need not have, for rules that fit many images.
        either_of: it has no rule of its own; what an instruction accesses that was seen to access
            several of these sections counts for it.
    """

    name: str
    kind: SectionKind
    linker_sections: tuple[str, ...] = ()
    symbols: tuple[str, ...] = ()
    ranges: tuple[AddressRange, ...] = ()
    meaning: str = ""
    optional: tuple[str, ...] = ()
    either_of: tuple[str, ...] = ()

    @property
    def all_linker_sections(self) -> tuple[str, ...]:
        return self.linker_sections + self.optional


@dataclass(frozen=True)
class SchedulerLock:
    """Functions that lock and unlock the scheduler; calls nest. Preemption counts as locked from
    the first instruction of ``lock`` to the return of the ``unlock`` that matches it; where the
    thread is switched away before, to its last instruction: what was held off happens there."""

    lock: tuple[str, ...]
    unlock: tuple[str, ...]


@dataclass(frozen=True)
class Kernel:
    name: str
    version: str
    configuration: Mapping[str, str] = field(default_factory=dict)


class FloatContext(StrEnum):
    """When the hardware writes the floating-point part of an exception frame."""

    LAZY = "lazy"
    """By the first floating-point instruction of a handler (M-profile: FPCCR.LSPEN = 1)."""
    AT_ENTRY = "at entry"


@dataclass(frozen=True)
class LeftOut:
    """Calls of the kernel that are not characterized, and why."""

    because: str
    calls: tuple[str, ...]


@dataclass(frozen=True)
class ServicesFile:
    """Everything in one services file. ``marks``: ``None`` where the firmware has none.
    ``vector_section`` names the logical section that exception
    vectors are fetched from; ``main_stack`` and ``task_stack`` those that the hardware's own
    stacking writes to when it interrupts a handler and a thread; ``None`` where the file has none,
    which suffices for an instruction set whose hardware does neither. ``float_context``: how the
    firmware sets the core up; ``None``: not stated. ``assumptions``: what the vendor's figures hold
    under, beside what the method assumes. ``places`` says where things stand in the file,
    by the keys that lead to them; it is no part of what the file says."""

    path: str
    kernel: Kernel
    marks: Marks | None
    sections: tuple[LogicalSection, ...]
    services: tuple[Service, ...]
    scheduler_lock: SchedulerLock | None
    vector_section: str | None = None
    main_stack: str | None = None
    task_stack: str | None = None
    float_context: FloatContext | None = None
    assumptions: tuple[str, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    places: Mapping[tuple[str | int, ...], Location] = field(
        default_factory=dict, repr=False, compare=False
    )

    def where(self, *keys: str | int) -> Location:
        """Place of what stands under ``keys`` (as the file spells them), or of its nearest ancestor
        whose place is known."""
        return _nearest(self.places, self.path, keys)

    def service_by_mark(self, mark: int) -> Service | None:
        return next((s for s in self.services if s.mark == mark), None)


@dataclass(frozen=True)
class SectionRules:
    """The logical sections of services files, without the rest of these: where contents of each are
    to be looked for in a program."""

    path: str
    sections: tuple[LogicalSection, ...]
    places: Mapping[tuple[str | int, ...], Location] = field(
        default_factory=dict, repr=False, compare=False
    )

    def where(self, *keys: str | int) -> Location:
        """As :meth:`ServicesFile.where`."""
        return _nearest(self.places, self.path, keys)


def _nearest(
    places: Mapping[tuple[str | int, ...], Location], path: str, keys: tuple[str | int, ...]
) -> Location:
    for length in range(len(keys), -1, -1):
        if keys[:length] in places:
            return places[keys[:length]]
    return Location(path)
