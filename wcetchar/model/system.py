"""A system of tasks and interrupts on one processor, priced: what schedulability is decided from.

All times in nanoseconds, upper ends. A task is a job that is released again and again; priorities
are fixed, a larger number is more urgent, and any interrupt is more urgent than any task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction


@dataclass(frozen=True)
class CriticalSection:
    """What a job does while it holds a resource.

    Attributes:
        time: of the section, what is ``within`` it and the kernel's services included.
        times: how often a job enters it; of one within another, how often that one does.
        within: resource that the job holds already; "": none.
    """

    resource: str
    time: Fraction
    times: int = 1
    within: str = ""


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        priority: a larger number is more urgent.
        period: shortest time from one release to the next; ``None``: it runs in the background,
            below all others, and counts for what it holds off and locks alone.
        deadline: from the release; longer than the period: jobs may queue up.
        wcet: of the task's own code, a job.
        services: of the kernel's services that a job calls.
        offset: of the first release; the analysis takes the worst case.
        jitter: how late a release may be.
        released_by: the interrupt that releases it, whose response is jitter as well; "": none.
        held_off: longest stretch of its execution in which no other task may run.
        masked: longest in which the kernel's interrupts are masked; ``masked_all``: all of them.
        sections: critical sections of a job.
        suspended: how long a job waits at most beside locks and its release, in ``suspensions``
            waits.
        reload: what it loses each time that it gets the processor, until its working set is back in
            the caches.
    """

    name: str
    priority: int
    period: Fraction | None
    deadline: Fraction
    wcet: Fraction
    services: Fraction = Fraction(0)
    offset: Fraction = Fraction(0)
    jitter: Fraction = Fraction(0)
    released_by: str = ""
    held_off: Fraction = Fraction(0)
    masked: Fraction = Fraction(0)
    masked_all: Fraction = Fraction(0)
    sections: tuple[CriticalSection, ...] = ()
    suspended: Fraction = Fraction(0)
    suspensions: int = 0
    reload: Fraction = Fraction(0)


@dataclass(frozen=True)
class Interrupt:
    """An interrupt and its handler.

    Attributes:
        priority: among interrupts; a larger number is more urgent.
        period: shortest time from one to the next.
        wcet: of the handler from its entry to its exit; ``services``: those of the kernel in it.
        masked: longest stretch of the handler in which the kernel's interrupts are masked.
        above_kernel: the kernel never masks it, so it calls nothing of the kernel.
        reload: as of ``Task``.
        deferred: what a task does later, as it ends what holds preemption off, where this came in
            between; ``deferred_masked``: longest stretch of it with interrupts masked.
    """

    name: str
    priority: int
    period: Fraction
    deadline: Fraction
    wcet: Fraction
    services: Fraction = Fraction(0)
    offset: Fraction = Fraction(0)
    jitter: Fraction = Fraction(0)
    masked: Fraction = Fraction(0)
    above_kernel: bool = False
    reload: Fraction = Fraction(0)
    deferred: Fraction = Fraction(0)
    deferred_masked: Fraction = Fraction(0)

    @property
    def time(self) -> Fraction:
        """With all that it uses in the caches."""
        return self.wcet + self.services


@dataclass(frozen=True)
class System:
    """``switch``: what a context switch takes; ``switch_masked``: longest stretch of it with the
    kernel's interrupts masked. ``slice``: after which tasks of the same priority take turns;
    ``None``: they do not. ``nested``: a handler is interrupted by more urgent interrupts."""

    name: str
    tasks: tuple[Task, ...]
    interrupts: tuple[Interrupt, ...] = ()
    switch: Fraction = Fraction(0)
    switch_masked: Fraction = Fraction(0)
    slice: Fraction | None = None
    nested: bool = False

    @property
    def periodic(self) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if task.period is not None)


class Cause(StrEnum):
    """Of what a response time is made."""

    OWN = "own code"
    SERVICES = "kernel services"
    SWITCHES = "context switches"
    RELOADED = "working sets that come back"
    SUSPENDED = "waits of its own"
    JITTER = "release jitter"
    EARLIER = "earlier jobs of its own"
    HELD_OFF = "held off by"
    LOCKED = "locked out by"
    TASK = "preempted by"
    INTERRUPT = "interrupted by"
    SLICES = "switches at the ends of slices"


@dataclass(frozen=True)
class Part:
    """``who``: whose it is; "": the task's own or the kernel's."""

    cause: Cause
    who: str
    time: Fraction

    def __str__(self) -> str:
        return f"{self.cause.value} {self.who}".rstrip()


@dataclass(frozen=True)
class Response:
    """The response time of a task or an interrupt.

    Attributes:
        time: from the release to the end of the job, at most; ``None``: the analysis finds no end,
            because what is as urgent takes all of the processor.
        deadline: of it.
        parts: what ``time`` is made of; they add up to it and ``waited``, the periods that passed
            since the busy period began.
        blocking: by what is less urgent, of the parts.
        load: share of the processor's time that it takes itself, with its switches.
    """

    name: str
    deadline: Fraction
    time: Fraction | None
    parts: tuple[Part, ...] = ()
    waited: Fraction = Fraction(0)
    load: Fraction = Fraction(0)

    @property
    def met(self) -> bool:
        return self.time is not None and self.time <= self.deadline

    @property
    def slack(self) -> Fraction | None:
        """What is left to the deadline; negative: it is missed by that."""
        return None if self.time is None else self.deadline - self.time

    @property
    def blocking(self) -> Fraction:
        blocked = (Cause.HELD_OFF, Cause.LOCKED)
        return sum((p.time for p in self.parts if p.cause in blocked), start=Fraction(0))

    @property
    def dominant(self) -> Part | None:
        """The largest part."""
        return max(self.parts, key=lambda part: part.time, default=None)


@dataclass(frozen=True)
class Analysis:
    """``load``: share of the processor's time that all take."""

    tasks: tuple[Response, ...]
    interrupts: tuple[Response, ...]
    load: Fraction

    @property
    def met(self) -> bool:
        return all(one.met for one in (*self.tasks, *self.interrupts))


@dataclass(frozen=True)
class Span:
    """From ``begin`` to ``end`` the processor did this for ``who``: ``run``, ``switch`` or
    ``handler``; ``holding``: resources that it held."""

    who: str
    what: str
    begin: Fraction
    end: Fraction
    holding: tuple[str, ...] = ()


@dataclass(frozen=True)
class Job:
    """``end``: ``None``: the simulation ended before it did."""

    who: str
    release: Fraction
    deadline: Fraction
    end: Fraction | None


@dataclass(frozen=True)
class Timeline:
    """One simulated run from 0 to ``end``; ``longest``: response by name; ``whole``: it covers a
    hyperperiod at least."""

    end: Fraction
    spans: tuple[Span, ...]
    jobs: tuple[Job, ...]
    longest: Mapping[str, Fraction] = field(default_factory=dict)
    whole: bool = True
