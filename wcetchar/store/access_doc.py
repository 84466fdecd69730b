"""What a characterization is made of in its file: accesses, successions, blocking forms, places."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, Strict
from pydantic_core import PydanticCustomError

from wcetchar.model.access import (
    AccessClass,
    CoreEvent,
    EventKind,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.characterization import Blocking, Place
from wcetchar.store.checking import Integer, JsonModel

MAX_COUNT: Final = (1 << 63) - 1

Boolean = Annotated[bool, Strict()]
Count = Annotated[Integer, Field(ge=0, le=MAX_COUNT)]
Value = Annotated[Integer, Field(ge=-MAX_COUNT, le=MAX_COUNT)]


def no_boolean(value: object) -> object:
    # To Python, and so to a literal, false is 0.
    if isinstance(value, bool):
        raise PydanticCustomError("int_type", "a whole number")
    return value


Width = Annotated[Literal[0, 8, 16, 32, 64], BeforeValidator(no_boolean)]


class AccessDoc(JsonModel):
    """An access class."""

    section: str = Field(description="logical section")
    operation: Operation = Field(
        description="fetch, read, write, or an access of unknown direction"
    )
    width: Width = Field(description="in bits; 0: unknown")
    pattern: Pattern = Field(description="single, or a place in a burst")

    def to_model(self) -> AccessClass:
        return AccessClass(self.section, self.operation, self.width, self.pattern)


class EventCountDoc(JsonModel):
    """A core event, and how often."""

    section: str = Field(description="logical section")
    event: EventKind = Field(description="core event")
    count: Annotated[Integer, Field(ge=1, le=1000)] = Field(description="how often")

    def to_model(self) -> tuple[CoreEvent, int]:
        return CoreEvent(self.section, self.event), self.count


class SuccessionDoc(JsonModel):
    """Two data accesses, one behind the other."""

    before: AccessDoc | None = Field(None, description="absent: not known, the window begins")
    between: list[EventCountDoc] = Field(
        default_factory=list,
        description="core events of the instructions between the two, and stalls of the second",
    )
    late: Annotated[Integer, Field(ge=0, le=1000)] = Field(
        0, description="instructions between them that transfer control late"
    )
    more: Boolean = Field(
        False, description="further instructions lie between; `between` has the first ones"
    )
    access: AccessDoc | None = Field(None, description="absent: the window ends")
    settled: Boolean = Field(
        False,
        description="without `before`: a handler that switched or was called ran, and read last",
    )
    reads: Annotated[Integer, Field(ge=1, le=1000)] = Field(
        1, description="of `settled`: instructions that read behind its last write, at least"
    )
    called: Boolean = Field(
        False, description="without `before`: the window begins right behind a call"
    )
    then: list[EventCountDoc] = Field(
        default_factory=list,
        description="where a write follows a write: what lies between the second and what follows; "
        "where a load follows one, or is the first access: up to what is no load, and loads on "
        "the way are events of the section that they load from",
    )
    late_then: Annotated[Integer, Field(ge=0, le=1000)] = Field(
        0, description="as `late`, of what `then` holds of a load"
    )

    def to_model(self) -> Succession:
        return Succession(
            self.before.to_model() if self.before else None,
            tuple(e.to_model() for e in self.between),
            self.late,
            self.more,
            self.access.to_model() if self.access else None,
            tuple(e.to_model() for e in self.then),
            self.reads if self.settled else 0,
            self.called,
            self.late_then,
        )


class BlockingDoc(JsonModel):
    """What is held off; an empty object: nothing."""

    interrupts: Boolean = Field(False, description="all interrupts")
    priority: Annotated[Integer, Field(ge=0, le=255)] | None = Field(
        None, description="interrupts up to this priority"
    )
    preemption: Boolean = Field(False, description="other tasks: the scheduler is locked")
    unknown: Boolean = Field(False, description="it is not known what; it counts as blocking")

    def to_model(self) -> Blocking:
        return Blocking(self.interrupts, self.priority, self.preemption, self.unknown)


class PlaceDoc(JsonModel):
    """Where an instruction lies. What is not known is left out."""

    function: str = Field("", description="its name")
    offset: Count = Field(0, description="bytes behind the start of the function")
    file: str = Field("", description="source file")
    line: Count = Field(0, description="source line")
    inlined_file: str = Field("", description="of the code that was inlined at that line")
    inlined_line: Count = Field(0, description="of the code that was inlined at that line")

    def to_model(self) -> Place:
        return Place(
            self.function, self.offset, self.file, self.line, self.inlined_file, self.inlined_line
        )


def sparse(data: Mapping[str, Any], *optional: str) -> dict[str, Any]:
    """``data`` without those ``optional`` entries that are empty, false, zero or ``None``."""
    return {key: value for key, value in data.items() if key not in optional or value}


def plain_place(place: Place | None) -> dict[str, Any]:
    if place is None:
        return {}
    data = {
        "function": place.function,
        "offset": place.offset,
        "file": place.file,
        "line": place.line,
        "inlined_file": place.inlined_file,
        "inlined_line": place.inlined_line,
    }
    return sparse(data, *data)


def plain_succession(key: Succession) -> dict[str, Any]:
    data = {
        "before": None if key.before is None else plain_access(key.before),
        "between": _plain_events(key.between),
        "late": key.late,
        "more": key.more,
        "access": None if key.access is None else plain_access(key.access),
        "settled": key.settled > 0,
        "reads": key.settled if key.settled > 1 else 0,
        "called": key.called,
        "then": _plain_events(key.then),
        "late_then": key.late_then,
    }
    return sparse(data, *data)


def _plain_events(events: Iterable[tuple[CoreEvent, int]]) -> list[dict[str, Any]]:
    return [
        {"section": event.section, "event": event.kind.value, "count": count}
        for event, count in events
    ]


def plain_access(key: AccessClass) -> dict[str, Any]:
    return {
        "section": key.section,
        "operation": key.operation.value,
        "width": key.width,
        "pattern": key.pattern.value,
    }


def plain_blocking(b: Blocking) -> dict[str, Any]:
    """What is held off, as plain data."""
    blocking: dict[str, Any] = {}
    if b.interrupts:
        blocking["interrupts"] = True
    if b.priority is not None:  # priority 0 is a value, not an absence
        blocking["priority"] = b.priority
    if b.preemption:
        blocking["preemption"] = True
    if b.unknown:
        blocking["unknown"] = True
    return blocking
