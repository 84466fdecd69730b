"""What a system's tasks and interrupts are said to do, before it is priced.

Times in nanoseconds. A piece of work is code of a given time, or of a characterization, and calls
of the kernel's services; ``place`` says where the file says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from wcetchar.errors import Location
from wcetchar.model.switching import WorkingSet


class GivesWay(StrEnum):
    """Why the caller of a service loses the processor in it."""

    RELEASE = "release"
    WAIT = "wait"
    LOCK = "lock"
    MORE_URGENT = "more urgent"


@dataclass(frozen=True)
class Call:
    """``times`` of a service at values of its parameters. ``gives_way``: of a service in two
    parts; ``None``: nothing says it."""

    service: str
    values: Mapping[str, int]
    times: int
    place: Location | None = field(compare=False)
    gives_way: GivesWay | None = None


@dataclass(frozen=True)
class Code:
    """A service of another characterization, such as the task's own function."""

    characterization: str
    call: Call


@dataclass(frozen=True)
class Work:
    """``wcet``: of the code that is not characterized."""

    wcet: Fraction = Fraction(0)
    code: Code | None = None
    calls: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Use:
    """A critical section; ``wcet``: part of the task's own code; the calls are no others'."""

    resource: str
    wcet: Fraction
    calls: tuple[Call, ...]
    times: int
    within: str


@dataclass(frozen=True)
class HeldOff:
    """Longest stretches of its own code, each."""

    preemption: Fraction = Fraction(0)
    interrupts: Fraction = Fraction(0)
    all_interrupts: Fraction = Fraction(0)


@dataclass(frozen=True)
class Activity:
    """A task, or an interrupt with its handler; attributes as of ``model/system``."""

    name: str
    priority: int
    period: Fraction | None
    deadline: Fraction
    offset: Fraction
    jitter: Fraction
    work: Work
    place: Location = field(compare=False)
    slowdown: Fraction = Fraction(1)
    released_by: str = ""
    uses: tuple[Use, ...] = ()
    held_off: HeldOff = HeldOff()
    suspended: Fraction = Fraction(0)
    suspensions: int = 0
    above_kernel: bool = False
    working_set: WorkingSet | None = None


@dataclass(frozen=True)
class Kernel:
    """``switch``: a time, or the name of the service that switches; ``None``: nothing says it.
    ``profile`` and ``section_map`` price all characterizations of the system; ``place``: where the
    file says the switch, or the kernel. ``slowdown``: of all that the kernel does; ``ticks``:
    it has a tick, where its characterization has one. ``deferred``: what is done for each interrupt
    that calls the kernel while preemption is held off, as that ends."""

    characterization: str | None = None
    profile: str | None = None
    section_map: str | None = None
    values: Mapping[str, int] = field(default_factory=dict)
    switch: Fraction | str | None = None
    nested: bool = False
    transitive: bool = False
    slice: Fraction | None = None
    place: Location | None = field(default=None, compare=False)
    slowdown: Fraction = Fraction(1)
    ticks: bool = True
    deferred: tuple[Call, ...] = ()


@dataclass(frozen=True)
class Workload:
    """A system file."""

    path: str
    name: str
    kernel: Kernel
    tasks: tuple[Activity, ...]
    interrupts: tuple[Activity, ...]


def calls_of(one: Activity) -> list[Call]:
    """Of its own, and of its critical sections."""
    return [*one.work.calls, *(call for use in one.uses for call in use.calls)]
