"""System file: YAML -> tasks, interrupts and what they call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from wcetchar.errors import InputError, did_you_mean
from wcetchar.model.hardware import Unit
from wcetchar.model.switching import WorkingSet
from wcetchar.model.workload import (
    Activity,
    Call,
    Code,
    GivesWay,
    HeldOff,
    Kernel,
    Use,
    Work,
    Workload,
)
from wcetchar.store.checking import (
    Boolean,
    Integer,
    NamedText,
    Text,
    YamlModel,
    in_place,
    list_at,
    mapping_at,
    one_of,
    validate,
)
from wcetchar.store.document import SYSTEM, read_document
from wcetchar.store.names import beside
from wcetchar.store.partitions import Time
from wcetchar.store.quantity import Dimension, parse_quantity, parse_time
from wcetchar.store.section_map import Value
from wcetchar.store.shapes import factor_schema, quantity_schema, quantity_text
from wcetchar.store.source import Source, Steps, shown
from wcetchar.store.working_sets import working_set_at

SWITCH: Final = "context_switch"
"""The activity of a kernel's characterization that switches, where nothing else is said."""
_SECOND: Final = Fraction(10**9)


def _shortest(value: Any) -> Fraction:
    """Of a time with a tolerance the lower end: what comes again may come as early as that."""
    parse_time(value)
    low = parse_quantity(value, Dimension.TIME).low
    if low <= 0:
        raise InputError(f"{shown(value)} can be no time at all", expected="a time above zero")
    return low


def _shortest_of_rate(value: Any) -> Fraction:
    found = parse_quantity(value, Dimension.FREQUENCY)
    assert found.unit is Unit.HERTZ
    return _SECOND / found.high


def _slice(value: Any) -> Fraction | None:
    if value == "none":
        return None
    return _shortest(value)


def _factor(value: Any) -> Fraction:
    text = value if isinstance(value, str) else str(value) if isinstance(value, int) else ""
    if not re.fullmatch(r"[1-9][0-9]{0,5}(\.[0-9]{1,9})?", text):
        raise InputError(f"{shown(value)} is no slowdown", expected="a factor from 1 on, as 1.22")
    return Fraction(text)


def _switch(value: Any) -> Fraction | str:
    if not isinstance(value, str):
        raise InputError(
            f"{shown(value)} is no context switch", expected="a time, or the name of a service"
        )
    return parse_time(value) if value[:1].isdigit() else value


Shortest = Annotated[
    Fraction,
    PlainValidator(in_place(_shortest)),
    quantity_schema(Dimension.TIME, "10 ms", clock=False),
]
Rate = Annotated[
    Fraction,
    PlainValidator(in_place(_shortest_of_rate)),
    quantity_schema(Dimension.FREQUENCY, "2 kHz"),
]
Slice = Annotated[
    Fraction | None,
    PlainValidator(in_place(_slice)),
    WithJsonSchema(
        {"anyOf": [{"const": "none"}, quantity_text(Dimension.TIME, "1 ms", clock=False)]}
    ),
]
Factor = Annotated[Fraction, PlainValidator(in_place(_factor)), factor_schema(1.22)]
Switch = Annotated[
    Fraction | str,
    PlainValidator(in_place(_switch)),
    WithJsonSchema({"type": "string", "examples": ["3 us", SWITCH]}),
]
Times = Annotated[Integer, Field(ge=1, le=10_000)]
Priority = Annotated[Integer, Field(ge=0, le=1_000_000)]


class CallDoc(YamlModel):
    """A call of a service of the kernel."""

    service: Text = Field(description="its name; of one in two parts both count")
    set: dict[Text, Value] = Field({}, description="values of its parameters")
    times: Times = Field(1, description="in a job")
    gives_way: GivesWay | None = Field(
        None,
        description="of a service in two parts: for its next release, a wait of its own, a lock "
        "of the section that it stands in, or a more urgent task that it makes ready",
    )


class CodeDoc(YamlModel):
    """Code of another characterization."""

    characterization: Text = Field(description="name, or path from this file's folder")
    service: Text = Field(description="which of its services a job is")
    set: dict[Text, Value] = Field({}, description="values of its parameters")


class UseDoc(YamlModel):
    """A critical section: what a job does while it holds a resource."""

    resource: NamedText = Field(description="what is held: a mutex, a semaphore, any name")
    wcet: Time = Field(Fraction(0), description="part of the task's own code")
    calls: list[CallDoc] = Field([], description="of services, to lock and unlock as well")
    times: Times = Field(1, description="in a job")
    within: NamedText | None = Field(None, description="resource that is held already")


class HoldsOffDoc(YamlModel):
    """Longest stretches of the task's own code; those of services are known."""

    preemption: Time = Field(Fraction(0), description="no other task may run")
    interrupts: Time = Field(Fraction(0), description="the kernel's interrupts are masked")
    all_interrupts: Time = Field(Fraction(0), description="all interrupts are masked")


class SuspendedDoc(YamlModel):
    """Waits of a job beside locks and its release."""

    time: Time = Field(description="of all of them together, at most")
    times: Times = Field(1, description="how many")


class _ActivityDoc(YamlModel):
    priority: Priority = Field(description="a larger number is more urgent")
    period: Shortest | None = Field(None, description="shortest time from one to the next")
    rate: Rate | None = Field(None, description="in the place of a period: how often, as `2 kHz`")
    deadline: Shortest | None = Field(None, description="from the release; the period if not said")
    offset: Time = Field(Fraction(0), description="of the first one; of simulations alone")
    jitter: Time = Field(Fraction(0), description="how late a release may be")
    wcet: Time = Field(Fraction(0), description="of code of its own, a job")
    code: CodeDoc | None = Field(None, description="characterized code of its own, beside")
    calls: list[CallDoc] = Field([], description="of the kernel's services, a job")
    slowdown: Factor = Field(Fraction(1), description="of its own code by other bus masters, F_sd")
    working_set: Text | None = Field(
        None,
        description="`FILE:NAME`, what has to come back into caches each time that it gets the "
        "processor, of a shipped file of working sets or a path from this file's folder",
    )


class TaskDoc(_ActivityDoc):
    """A task. Without period and rate it runs in the background."""

    released_by: NamedText | None = Field(None, description="the interrupt that releases it")
    uses: list[UseDoc] = Field([], description="critical sections of a job")
    holds_off: HoldsOffDoc | None = Field(
        None, description="how long its own code keeps others from running"
    )
    suspended: SuspendedDoc | None = Field(
        None, description="waits of a job beside locks and its release"
    )


class InterruptDoc(_ActivityDoc):
    """An interrupt and its handler."""

    above_kernel: Boolean = Field(False, description="the kernel never masks it")


class KernelDoc(YamlModel):
    """What the kernel's services take, and what it does by itself."""

    characterization: Text | None = Field(None, description="name, or path from this file's folder")
    profile: Text | None = Field(None, description="hardware: name, or path from there")
    map: Text | None = Field(None, description="section map: name, or path from there")
    set: dict[Text, Value] = Field({}, description="values of parameters of all services")
    context_switch: Switch | None = Field(
        None, description="a time, or a service; `context_switch` of the characterization"
    )
    slowdown: Factor = Field(
        Fraction(1), description="of services, handlers' too, and the switch, by other bus masters"
    )
    deferred: list[CallDoc] = Field(
        [],
        description="what a call that holds preemption off does at the end of that for each "
        "interrupt that called the kernel meanwhile",
    )
    tick: Literal["none"] | None = Field(
        None,
        description="`none`: nothing of the kernel comes by itself; else an interrupt calls it",
    )
    nested_interrupts: Boolean = Field(
        False, description="handlers are interrupted by more urgent interrupts"
    )
    inheritance: Literal["direct", "transitive"] = Field(
        "direct", description="whether a holder that waits itself passes on what it inherits"
    )
    time_slice: Slice = Field(
        None, description="tasks of the same priority take turns behind it; or `none`"
    )


class SystemDoc(YamlModel):
    """Tasks and interrupts on one processor."""

    schema_: Literal["wcetchar/system/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    name: Text = Field(description="name of the system")
    kernel: KernelDoc | None = Field(
        None, description="what the kernel's services take; without it, times are the file's own"
    )
    tasks: dict[NamedText, TaskDoc] = Field(description="by name")
    interrupts: dict[NamedText, InterruptDoc] = Field({}, description="by name")


_NO_KERNEL: Final = KernelDoc.model_validate({})


def load_system(path: str) -> Workload:
    """Read a system file.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    return workload_of(read_document(path, SYSTEM))


def workload_of(source: Source) -> Workload:
    """What a system file says.

    Raises:
        InputError: mistakes in it; all of them at once as ``InputErrors``.
    """
    path = source.path
    document = validate(SystemDoc, source, (_check_any, _check_periods, _check_releases))
    if document is not None:
        _check_alike(source, document)
        _check_sections(source, document)
    source.fail_on_mistakes()
    assert document is not None
    folder = Path(path).parent
    kernel = document.kernel or _NO_KERNEL
    switch = kernel.context_switch
    if switch is None and kernel.characterization is not None:
        switch = SWITCH
    found = Workload(
        path,
        document.name,
        Kernel(
            beside(folder, kernel.characterization),
            beside(folder, kernel.profile),
            beside(folder, kernel.map),
            dict(kernel.set),
            switch,
            kernel.nested_interrupts,
            kernel.inheritance == "transitive",
            kernel.time_slice,
            source.where(("kernel", "context switch")),
            kernel.slowdown,
            kernel.tick != "none",
            _calls(source, ("kernel",), kernel.deferred, "deferred"),
        ),
        tuple(_task(source, folder, name, one) for name, one in document.tasks.items()),
        tuple(_interrupt(source, folder, name, one) for name, one in document.interrupts.items()),
    )
    source.fail_on_mistakes()
    return found


def _calls(
    source: Source, steps: Steps, calls: Sequence[CallDoc], key: str = "calls"
) -> tuple[Call, ...]:
    return tuple(
        Call(
            one.service,
            dict(one.set),
            one.times,
            source.where((*steps, key, number)),
            one.gives_way,
        )
        for number, one in enumerate(calls)
    )


def _work(source: Source, folder: Path, steps: Steps, one: _ActivityDoc) -> Work:
    code = None
    if one.code is not None:
        file = beside(folder, one.code.characterization)
        assert file is not None
        place = source.where((*steps, "code"))
        code = Code(file, Call(one.code.service, dict(one.code.set), 1, place))
    return Work(one.wcet, code, _calls(source, steps, one.calls))


def _task(source: Source, folder: Path, name: str, one: TaskDoc) -> Activity:
    steps: Steps = ("tasks", name)
    period = one.period or one.rate
    wait = one.suspended
    held = one.holds_off
    held_off = HeldOff()
    if held is not None:
        held_off = HeldOff(held.preemption, held.interrupts, held.all_interrupts)
    return Activity(
        name,
        one.priority,
        period,
        one.deadline or period or Fraction(0),
        one.offset,
        one.jitter,
        _work(source, folder, steps, one),
        source.where(steps, key=True),
        one.slowdown,
        one.released_by or "",
        tuple(
            Use(
                use.resource,
                use.wcet,
                _calls(source, (*steps, "uses", number), use.calls),
                use.times,
                use.within or "",
            )
            for number, use in enumerate(one.uses)
        ),
        held_off,
        Fraction(0) if wait is None else wait.time,
        0 if wait is None else wait.times,
        working_set=_working_set(source, steps, one),
    )


def _interrupt(source: Source, folder: Path, name: str, one: InterruptDoc) -> Activity:
    steps: Steps = ("interrupts", name)
    period = one.period or one.rate
    assert period is not None
    return Activity(
        name,
        one.priority,
        period,
        one.deadline or period,
        one.offset,
        one.jitter,
        _work(source, folder, steps, one),
        source.where(steps, key=True),
        one.slowdown,
        above_kernel=one.above_kernel,
        working_set=_working_set(source, steps, one),
    )


def _working_set(source: Source, steps: Steps, one: _ActivityDoc) -> WorkingSet | None:
    return working_set_at(source, (*steps, "working set"), one.working_set)


# ---- what no single node shows --------------------------------------------------------------


def _activities(source: Source) -> Iterator[tuple[Steps, Mapping[str, Any]]]:
    for kind in ("tasks", "interrupts"):
        for name, one in mapping_at(source.data, kind).items():
            if isinstance(one, dict):
                yield (kind, name), one


def _check_any(source: Source) -> None:
    data = mapping_at(source.data)
    activities = [one for _, one in _activities(source)]
    if activities and not any("period" in one or "rate" in one for one in activities):
        source.report(
            ("tasks",),
            "no task has a period, so none has a response time",
            expected="`period:`, or `rate:`, of one at least",
        )
    if data.get("tasks") == {}:
        source.report(("tasks",), "there is no task", expected="at least one")
    for name in mapping_at(data, "tasks"):
        if name in mapping_at(data, "interrupts"):
            source.report(
                ("interrupts", name),
                f"a task and an interrupt have the name {shown(name)}",
                expected="a name of its own for each",
                key=True,
            )
    kernel = mapping_at(data, "kernel")
    switch = kernel.get("context switch")
    if isinstance(switch, str) and not switch[:1].isdigit() and "characterization" not in kernel:
        source.report(
            ("kernel", "context switch"),
            f"{shown(switch)} is no time, and there is no characterization with such a service",
            expected="a time such as `3 us`, or `characterization:`",
        )
    works = [work for _, one in _activities(source) for work in (one, *list_at(one, "uses"))]
    calls = any(list_at(work, "calls") for work in works) or bool(list_at(kernel, "deferred"))
    priced = "characterization" in kernel
    if calls and not priced:
        source.report(
            ("kernel",),
            "services are called, and nothing says what they take",
            expected="`kernel: {characterization: ..., profile: ..., map: ...}`",
        )
    if (calls or priced or any(one.get("code") for one in activities)) and (
        "profile" not in kernel
    ):
        source.report(
            ("kernel",),
            "a characterization is priced, and there is no hardware profile",
            expected="`profile:`, and `map:` where the profile has no map of its own",
        )


def _check_periods(source: Source) -> None:
    for steps, one in _activities(source):
        if "period" in one and "rate" in one:
            source.report(
                (*steps, "rate"),
                "a period and a rate say the same",
                expected="one of them",
                key=True,
            )
        if "period" in one or "rate" in one:
            continue
        if steps[0] == "interrupts":
            source.report(
                steps,
                f"nothing says how often {shown(steps[1])} comes",
                expected="`period:`, the shortest time from one to the next, or `rate:`",
                key=True,
            )
        for key in ("deadline", "jitter", "offset", "released by"):
            if key in one:
                source.report(
                    (*steps, key),
                    f"{shown(steps[1])} has a {key} without a period",
                    expected="`period:`, or `rate:`",
                    hint="a task in the background has neither",
                    key=True,
                )


def _check_releases(source: Source) -> None:
    interrupts = mapping_at(source.data, "interrupts")
    for name, one in mapping_at(source.data, "tasks").items():
        by = one.get("released by") if isinstance(one, dict) else None
        if isinstance(by, str) and by not in interrupts:
            source.report(
                ("tasks", name, "released by"),
                f"{shown(by)} is no interrupt of this system",
                expected=one_of(map(str, interrupts)),
                hint=did_you_mean(by, interrupts),
            )


def _check_alike(source: Source, document: SystemDoc) -> None:
    kernel = mapping_at(source.data, "kernel")
    first: dict[int, str] = {}
    for name, one in document.tasks.items():
        if one.period or one.rate:
            other = first.setdefault(one.priority, name)
            if other != name and "time slice" not in kernel:
                source.report(
                    ("tasks", name, "priority"),
                    f"{shown(name)} is as urgent as {shown(other)}, and nothing says whether they "
                    "take turns",
                    expected="`kernel: {time slice: TIME}`, or `time slice: none`",
                )
        by = document.interrupts.get(one.released_by or "")
        if by is not None and by.above_kernel:
            source.report(
                ("tasks", name, "released by"),
                f"{shown(one.released_by)} is above the kernel, so it makes no task ready",
                expected="an interrupt that the kernel masks",
            )
        if by is not None and not _is_multiple(one, by):
            source.report(
                ("tasks", name, "period"),
                f"the period and offset of {shown(name)} are no multiple of those of "
                f"{shown(one.released_by)}, which releases it",
                expected="a whole number of its periods",
            )
        if one.period is None and one.rate is None:
            urgent = [
                other.priority for other in document.tasks.values() if other.period or other.rate
            ]
            if urgent and one.priority >= min(urgent):
                source.report(
                    ("tasks", name, "priority"),
                    f"{shown(name)} runs in the background and is as urgent as another task",
                    expected=f"less than {min(urgent)}",
                    hint="or give it a period",
                )
    masked = [one.priority for one in document.interrupts.values() if not one.above_kernel]
    for name, interrupt in document.interrupts.items():
        if interrupt.above_kernel and masked and interrupt.priority <= max(masked):
            source.report(
                ("interrupts", name, "priority"),
                f"the kernel does not mask {shown(name)}, which is not more urgent than those that "
                "it masks",
                expected=f"more than {max(masked)}",
            )
        if interrupt.above_kernel and interrupt.calls:
            source.report(
                ("interrupts", name, "calls"),
                f"the kernel does not mask {shown(name)}, which calls it",
                expected="no call of the kernel above it",
            )
        if not (interrupt.wcet or interrupt.calls or interrupt.code):
            source.report(
                ("interrupts", name), f"the handler of {shown(name)} takes no time", key=True
            )
    for name, one in document.tasks.items():
        if not (one.wcet or one.calls or one.code or any(use.calls for use in one.uses)):
            source.report(("tasks", name), f"a job of {shown(name)} takes no time", key=True)


def _is_multiple(task: TaskDoc, by: InterruptDoc) -> bool:
    period, other = task.period or task.rate, by.period or by.rate
    if period is None or other is None:
        return True
    return (period / other).denominator == 1 and (
        (task.offset - by.offset) / other
    ).denominator == 1


def _check_sections(source: Source, document: SystemDoc) -> None:
    direct = (document.kernel or _NO_KERNEL).inheritance == "direct"
    for name, one in document.tasks.items():
        held = {use.resource for use in one.uses}
        inside = sum(
            (use.wcet * use.times for use in one.uses if not use.within), start=Fraction(0)
        )
        if one.code is None and inside > one.wcet:
            source.report(
                ("tasks", name, "uses"),
                f"critical sections of {shown(name)} take longer than its own code",
                expected="sections that are part of the `wcet`",
            )
        for number, use in enumerate(one.uses):
            steps: Steps = ("tasks", name, "uses", number)
            if use.within and direct:
                source.report(
                    (*steps, "within"),
                    "a resource is locked within another one, and a holder that waits passes on no "
                    "inherited priority: how long others wait has no bound here",
                    expected="`inheritance: transitive`, of a kernel that passes it on",
                    hint="lock one resource at a time, or all that belong together by one",
                )
            inner = sum(
                (other.wcet * other.times for other in one.uses if other.within == use.resource),
                start=Fraction(0),
            )
            if inner > use.wcet:
                source.report(
                    (*steps, "wcet"),
                    f"sections within that of {shown(use.resource)} take longer than itself",
                    expected="a `wcet` that has those of the sections within it",
                )
            if use.within and (use.within not in held or use.within == use.resource):
                source.report(
                    (*steps, "within"),
                    f"{shown(name)} does not hold {shown(use.within)}",
                    expected=one_of(sorted(held - {use.resource})),
                )
