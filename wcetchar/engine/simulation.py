"""A run of a system, event by event: what happens, beside what may happen at worst.

The processor does one thing at a time: the most urgent handler; else a context switch that has
begun; else the most urgent job. Priorities are inherited through chains of holders; a resource goes
to the most urgent job that waits for it. A job that holds preemption off is not switched away, one
that masks interrupts neither interrupted nor switched away. Who gets the processor behind somebody
else, or behind a wait, loses its ``reload`` first. Nothing runs in the background.

Times are integers inside, in a unit that divides all of the system's, so a run is exact. It knows
nothing of ``response_time``, of which it is a check: what a run shows is never above what that
says.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Final

from wcetchar.model.system import Interrupt, Job, Span, System, Task, Timeline

IDLE: Final = ""
MOST_JOBS: Final = 20_000
"""Of a run that is to cover a hyperperiod: it ends early where there would be more."""


class Do(StrEnum):
    """What a job does."""

    RUN = "run"
    LOCK = "lock"
    UNLOCK = "unlock"
    HOLD_OFF = "hold off"
    MASK = "mask"
    MASK_ALL = "mask all"
    ALLOW = "allow"
    WAIT = "wait"


@dataclass(frozen=True)
class Step:
    """``time`` of RUN and WAIT in nanoseconds, ``resource`` of LOCK and UNLOCK. ALLOW ends what
    HOLD_OFF, MASK or MASK_ALL began."""

    do: Do
    time: Fraction = Fraction(0)
    resource: str = ""


@dataclass(frozen=True)
class Scenario:
    """What differs from run to run. ``body``: steps of a job, by its number; ``late``: of a release
    or an interrupt, at most its jitter; ``handler``: how long a handler takes, at most its time."""

    body: Callable[[Task, int], Sequence[Step]]
    late: Callable[[str, int], Fraction] = lambda name, number: Fraction(0)
    handler: Callable[[Interrupt, int], Fraction] = lambda one, number: one.time


def longest_body(task: Task, number: int = 0) -> tuple[Step, ...]:
    """A job that takes as long as any: first its critical sections one after the other, then what
    it holds off, then the rest; its waits are of the same length, between equal parts of the rest.

    Where sections and stretches lie in a job is not known of a system; this is one way.
    """
    steps: list[Step] = []
    left = task.wcet + task.services

    def run(time: Fraction) -> None:
        nonlocal left
        taken = min(time, left)
        left -= taken
        if taken:
            steps.append(Step(Do.RUN, taken))

    def lock(within: str) -> Fraction:
        taken = Fraction(0)
        for section in (one for one in task.sections if one.within == within):
            for _ in range(section.times):
                steps.append(Step(Do.LOCK, resource=section.resource))
                inner = lock(section.resource)
                run(section.time - inner)
                steps.append(Step(Do.UNLOCK, resource=section.resource))
                taken += section.time
        return taken

    lock("")
    for kind, time in (
        (Do.HOLD_OFF, task.held_off),
        (Do.MASK, task.masked),
        (Do.MASK_ALL, task.masked_all),
    ):
        if time and left:
            steps.append(Step(kind))
            run(time)
            steps.append(Step(Do.ALLOW))
    share = left / (task.suspensions + 1)
    for _ in range(task.suspensions):
        run(share)
        steps.append(Step(Do.WAIT, task.suspended / task.suspensions))
    run(left)
    return tuple(steps)


def hyperperiod(system: System) -> Fraction:
    """The least common multiple of all periods."""
    periods = [task.period for task in system.periodic if task.period is not None]
    periods += [one.period for one in system.interrupts]
    scale = math.lcm(*(period.denominator for period in periods))
    return Fraction(math.lcm(*(int(period * scale) for period in periods)), scale)


def simulate(
    system: System,
    end: Fraction,
    scenario: Scenario | None = None,
    keep: Fraction = Fraction(0),
) -> Timeline:
    """A run from 0 to ``end`` nanoseconds. Releases and interrupts come as often as they may, from
    their offsets on; ``keep``: spans and jobs up to there are kept.

    Raises:
        ValueError: a step or a lateness is longer than may be, or jobs wait for each other.
    """
    return _Run(system, scenario or Scenario(longest_body), end, keep).go()


@dataclass(eq=False)
class _Job:
    task: Task
    number: int
    release: int
    steps: list[tuple[Do, int, str]]
    order: int = 0
    held: list[str] = field(default_factory=list)
    modes: list[Do] = field(default_factory=list)
    waits_for: str = ""
    cold: int = 0


@dataclass(eq=False)
class _Handler:
    of: Interrupt
    number: int
    arrival: int
    left: int
    cold: int = 0


class _Run:
    def __init__(self, system: System, scenario: Scenario, end: Fraction, keep: Fraction) -> None:
        self._system = system
        self._scenario = scenario
        parts = math.lcm(
            *(n for t in system.tasks for n in (t.suspensions or 1, t.suspensions + 1))
        )
        self._unit = parts * math.lcm(end.denominator, *(t.denominator for t in _times(system)))
        self._end = int(end * self._unit)
        self._keep = keep * self._unit
        self._now = 0
        self._sequence = 0
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._queued: dict[str, list[tuple[int, int]]] = {t.name: [] for t in system.periodic}
        self._active: dict[str, _Job] = {}
        self._ready: list[_Job] = []
        self._blocked: list[_Job] = []
        self._owners: dict[str, _Job] = {}
        self._current: _Job | None = None
        self._last = IDLE
        self._cached: _Job | _Handler | None = None
        self._switch_left = 0
        self._switch_mask = 0
        self._pending: list[_Handler] = []
        self._handlers: list[_Handler] = []
        self._released: dict[str, list[tuple[int, Task, int]]] = {}
        self._latest: dict[str, int] = {}
        self._spans: list[Span] = []
        self._jobs: list[Job] = []
        self._longest: dict[str, int] = {}

    # ---- arrivals --------------------------------------------------------------------------

    def _units(self, time: Fraction) -> int:
        found = time * self._unit
        if found.denominator != 1:
            raise ValueError(f"{time} ns is no multiple of the run's unit")
        return int(found)

    def _at(self, time: int, what: Callable[[], None]) -> None:
        self._sequence += 1
        heapq.heappush(self._events, (time, self._sequence, what))

    def _in_order(self, name: str, time: int, what: Callable[[], None]) -> None:
        """However late the one before was: releases do not overtake each other."""
        self._latest[name] = max(time, self._latest.get(name, 0))
        self._at(self._latest[name], what)

    def _arrive(self, one: Interrupt, number: int) -> None:
        arrival = self._units(one.offset + number * one.period)
        if arrival >= self._end:
            return
        late = self._scenario.late(one.name, number)
        if not 0 <= late <= one.jitter:
            raise ValueError(f"{one.name} is late by {late} ns, which is more than it may be")
        taken = self._scenario.handler(one, number)
        if not 0 <= taken <= one.time:
            raise ValueError(f"the handler of {one.name} takes {taken} ns")
        handler = _Handler(one, number, arrival, self._units(taken))
        self._in_order(one.name, arrival + self._units(late), lambda: self._pending.append(handler))
        self._at(arrival, lambda: self._arrive(one, number + 1))

    def _release(self, task: Task, number: int) -> None:
        assert task.period is not None
        nominal = self._units(task.offset + number * task.period)
        if task.released_by:
            (by,) = (one for one in self._system.interrupts if one.name == task.released_by)
            # With the next of the interrupts from then on.
            after = -(-(task.offset + number * task.period - by.offset) // by.period)
            which = max(0, int(after))
            nominal = self._units(by.offset + which * by.period)
            waiting = self._released.setdefault(by.name, [])
            waiting.append((which, task, number))
        if nominal >= self._end:
            return
        if not task.released_by:
            late = self._scenario.late(task.name, number)
            if not 0 <= late <= task.jitter:
                raise ValueError(f"{task.name} is late by {late} ns, which is more than it may be")
            ready = nominal + self._units(late)
            self._in_order(task.name, ready, lambda: self._start(task, number, nominal))
        self._at(nominal, lambda: self._release(task, number + 1))

    def _start(self, task: Task, number: int, release: int) -> None:
        if task.name in self._active:
            self._queued[task.name].append((number, release))
            return
        steps = [
            (step.do, self._units(step.time), step.resource)
            for step in self._scenario.body(task, number)
        ]
        total = sum(time for do, time, _ in steps if do is Do.RUN)
        if total > self._units(task.wcet + task.services):
            raise ValueError(f"a job of {task.name} runs for longer than it may")
        job = _Job(task, number, release, steps)
        self._active[task.name] = job
        self._make_ready(job)

    def _make_ready(self, job: _Job) -> None:
        self._sequence += 1
        job.order = self._sequence
        self._ready.append(job)

    # ---- priorities and locks --------------------------------------------------------------

    def _priority(self, job: _Job) -> int:
        """Its own, or that of the most urgent job that waits for what it holds."""
        found = job.task.priority
        for other in self._blocked:
            if other.waits_for in job.held:
                found = max(found, self._priority(other))
        return found

    def _most_urgent(self) -> _Job | None:
        return min(self._ready, key=lambda job: (-self._priority(job), job.order), default=None)

    def _lock(self, job: _Job, resource: str) -> bool:
        owner = self._owners.get(resource)
        if owner is None:
            self._owners[resource] = job
            job.held.append(resource)
            return True
        job.waits_for = resource
        self._ready.remove(job)
        self._blocked.append(job)
        while owner.waits_for:
            owner = self._owners[owner.waits_for]
            if owner is job:
                raise ValueError(f"{job.task.name} waits for itself: a deadlock")
        return False

    def _unlock(self, job: _Job, resource: str) -> None:
        job.held.remove(resource)
        del self._owners[resource]
        waiting = [one for one in self._blocked if one.waits_for == resource]
        if waiting:
            following = min(waiting, key=lambda one: (-self._priority(one), one.order))
            self._blocked.remove(following)
            following.waits_for = ""
            self._owners[resource] = following
            following.held.append(resource)
            # Its lock step is done now.
            following.steps.pop(0)
            self._make_ready(following)

    # ---- the run ---------------------------------------------------------------------------

    def go(self) -> Timeline:
        for one in self._system.interrupts:
            self._arrive(one, 0)
        for task in self._system.periodic:
            self._release(task, 0)
        if self._system.slice is not None:
            self._slice(self._units(self._system.slice), 1)
        while self._now < self._end:
            while self._events and self._events[0][0] <= self._now:
                heapq.heappop(self._events)[2]()
            self._act()
        unit = self._unit
        open_jobs = [(job.task, job.release) for job in self._active.values()]
        for task in self._system.periodic:
            open_jobs += [(task, release) for _, release in self._queued[task.name]]
        for task, release in open_jobs:
            self._keep_job(task.name, release, task.deadline, None)
        return Timeline(
            Fraction(self._end, unit),
            tuple(self._spans),
            tuple(sorted(self._jobs, key=lambda job: (job.release, job.who))),
            {name: Fraction(time, unit) for name, time in self._longest.items()},
        )

    def _slice(self, length: int, number: int) -> None:
        self._at(number * length, lambda: self._turn(length, number))

    def _turn(self, length: int, number: int) -> None:
        job = self._current
        if job is not None and job in self._ready and not job.modes:
            self._sequence += 1
            job.order = self._sequence
        self._slice(length, number + 1)

    def _act(self) -> None:
        """Do what is most urgent until that changes."""
        handler = self._handler()
        if handler is not None:
            if self._reloads(handler, handler.of.reload):
                self._spend(handler.of.name, "handler", handler.cold, self._handler_reloaded)
                return
            self._spend(handler.of.name, "handler", handler.left, self._handler_ran)
            return
        if not self._switch_left:
            # What became more urgent in a switch comes before the first step behind it; an
            # interrupt that was held off, before another switch.
            if self._dispatch():
                return
            if self._finish_instant_steps() or self._dispatch():
                return
        if self._switch_left:
            who = self._current.task.name if self._current is not None else IDLE
            self._spend(who, "switch", self._switch_left, self._switch_ran)
        elif self._current is not None:
            job = self._current
            if job.steps and job.steps[0][0] is Do.RUN:  # else more that takes no time
                if self._reloads(job, job.task.reload):
                    self._spend(job.task.name, "run", job.cold, self._job_reloaded)
                else:
                    self._spend(job.task.name, "run", job.steps[0][1], self._job_ran)
        else:
            self._spend(IDLE, "", self._end - self._now, lambda _: None)

    def _reloads(self, who: _Job | _Handler, reload: Fraction) -> bool:
        """Whether its working set is not back yet."""
        if self._cached is not who:
            self._cached = who
            who.cold = self._units(reload)
        return bool(who.cold)

    def _handler(self) -> _Handler | None:
        """The handler that runs, begun now if one can."""
        running = self._handlers[-1] if self._handlers else None
        can = [h for h in self._pending if self._taken(h.of, running)]
        if can:
            first = min(can, key=lambda h: (-h.of.priority, h.arrival))
            self._pending.remove(first)
            self._handlers.append(first)
            running = first
        if running is not None and running.left == 0:
            self._end_of(running)
            return self._handler()
        return running

    def _taken(self, one: Interrupt, running: _Handler | None) -> bool:
        if running is not None:
            return self._system.nested and one.priority > running.of.priority
        if self._switch_left:
            return one.above_kernel or not self._switch_mask
        modes = self._current.modes if self._current is not None else []
        return Do.MASK_ALL not in modes and (one.above_kernel or Do.MASK not in modes)

    def _end_of(self, handler: _Handler) -> None:
        self._handlers.remove(handler)
        name = handler.of.name
        self._note(name, handler.arrival, handler.of.deadline)
        self._defer(handler.of)
        still = []
        for which, task, number in self._released.get(name, []):
            if which <= handler.number:
                release = self._units(handler.of.offset + which * handler.of.period)
                self._start(task, number, release)
            else:
                still.append((which, task, number))
        if name in self._released:
            self._released[name] = still

    def _defer(self, one: Interrupt) -> None:
        """To the end of what the job that it came to holds off."""
        job = self._current
        if job is None or not one.deferred or self._switch_left or Do.HOLD_OFF not in job.modes:
            return
        masked = self._units(one.deferred_masked)
        later = [
            (Do.MASK, 0, ""),
            (Do.RUN, masked, ""),
            (Do.ALLOW, 0, ""),
            (Do.RUN, self._units(one.deferred) - masked, ""),
        ]
        end = _end_of_mode(job.steps)
        job.steps[end:end] = later

    def _finish_instant_steps(self) -> bool:
        """Of the job that runs: what takes no time, up to what does; whether something may be let
        in now that was held off."""
        job = self._current
        while job is not None and job in self._ready:
            if not job.steps:
                self._end_of_job(job)
                return False
            do, time, resource = job.steps[0]
            if do is Do.RUN:
                if time:
                    return False
            elif do is Do.LOCK:
                if not self._lock(job, resource):
                    return False
            elif do is Do.UNLOCK:
                job.steps.pop(0)
                self._unlock(job, resource)
                if self._most_urgent() is not job and not job.modes:
                    return False
                continue
            elif do is Do.ALLOW:
                job.modes.pop()
                job.steps.pop(0)
                return True
            elif do is Do.WAIT:
                job.steps.pop(0)
                self._ready.remove(job)
                self._cached = None
                self._at(self._now + time, lambda job=job: self._make_ready(job))  # type: ignore[misc]
                return False
            else:
                job.modes.append(do)
            job.steps.pop(0)
        return False

    def _end_of_job(self, job: _Job) -> None:
        self._ready.remove(job)
        del self._active[job.task.name]
        self._note(job.task.name, job.release, job.task.deadline)
        if self._queued[job.task.name]:
            self._start(job.task, *self._queued[job.task.name].pop(0))

    def _dispatch(self) -> bool:
        """Begin to switch where another job is the most urgent; whether something changed that may
        let a handler in first."""
        job = self._current
        running = job is not None and job in self._ready
        if running and job is not None and job.modes:
            return False
        following = self._most_urgent()
        if following is job and running:
            return bool(self._pending and self._handler_can())
        if following is None and job is None:
            return False
        name = IDLE if following is None else following.task.name
        self._current = following
        if name != self._last:
            self._last = name
            self._switch_left = self._units(self._system.switch)
            self._switch_mask = min(self._units(self._system.switch_masked), self._switch_left)
        return True

    def _handler_can(self) -> bool:
        return any(self._taken(h.of, None) for h in self._pending)

    # ---- time that passes ------------------------------------------------------------------

    def _spend(self, who: str, what: str, time: int, ran: Callable[[int], None]) -> None:
        if what == "switch" and self._switch_mask:
            time = min(time, self._switch_mask)
        until = min(self._now + time, self._end)
        if self._events:
            until = min(until, max(self._events[0][0], self._now))
        if until > self._now and who and self._now < self._keep:
            begin, end = Fraction(self._now, self._unit), Fraction(until, self._unit)
            held = self._current.held if what == "run" and self._current is not None else []
            self._keep_span(Span(who, what, begin, end, tuple(held)))
        passed = until - self._now
        self._now = until
        ran(passed)

    def _keep_span(self, span: Span) -> None:
        last = self._spans[-1] if self._spans else None
        same = last is not None and (last.who, last.what, last.holding, last.end) == (
            span.who,
            span.what,
            span.holding,
            span.begin,
        )
        if same and last is not None:
            self._spans[-1] = Span(span.who, span.what, last.begin, span.end, span.holding)
        else:
            self._spans.append(span)

    def _handler_ran(self, time: int) -> None:
        handler = self._handlers[-1]
        handler.left -= time
        if handler.left == 0:
            self._end_of(handler)

    def _handler_reloaded(self, time: int) -> None:
        self._handlers[-1].cold -= time

    def _job_reloaded(self, time: int) -> None:
        assert self._current is not None
        self._current.cold -= time

    def _switch_ran(self, time: int) -> None:
        self._switch_left -= time
        self._switch_mask -= min(time, self._switch_mask)

    def _job_ran(self, time: int) -> None:
        job = self._current
        assert job is not None
        do, left, resource = job.steps[0]
        job.steps[0] = (do, left - time, resource)
        if left == time:
            job.steps.pop(0)
            if not job.steps:
                self._end_of_job(job)

    def _note(self, name: str, release: int, deadline: Fraction) -> None:
        self._longest[name] = max(self._longest.get(name, 0), self._now - release)
        self._keep_job(name, release, deadline, Fraction(self._now, self._unit))

    def _keep_job(self, name: str, release: int, deadline: Fraction, end: Fraction | None) -> None:
        if release < self._keep:
            begun = Fraction(release, self._unit)
            self._jobs.append(Job(name, begun, begun + deadline, end))


def _end_of_mode(steps: Sequence[tuple[Do, int, str]]) -> int:
    """The place of the step that ends what is held off now: what begins later ends before."""
    inside = 0
    for place, (do, _, _) in enumerate(steps):
        if do in (Do.HOLD_OFF, Do.MASK, Do.MASK_ALL):
            inside += 1
        elif do is Do.ALLOW and not inside:
            return place
        elif do is Do.ALLOW:
            inside -= 1
    raise ValueError("nothing ends what is held off")


def _times(system: System) -> Iterable[Fraction]:
    yield from (system.switch, system.switch_masked, system.slice or Fraction(1))
    for task in system.periodic:
        assert task.period is not None
        yield from (task.period, task.deadline, task.wcet, task.services, task.offset, task.jitter)
        yield from (task.held_off, task.masked, task.masked_all)
        yield from (section.time for section in task.sections)
        yield from (task.suspended, task.reload)
    for one in system.interrupts:
        yield from (one.period, one.deadline, one.wcet, one.services, one.offset, one.jitter)
        yield from (one.reload, one.deferred, one.deferred_masked)
