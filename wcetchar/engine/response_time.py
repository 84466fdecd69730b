"""Response times of tasks and interrupts under preemptive fixed priorities.

Joseph and Pandya 1986; Audsley, Burns, Richardson, Tindell, Wellings, *Applying new scheduling
theory to static priority pre-emptive scheduling*, 1993; for jitter, and jobs that queue up behind
each other, Tindell, Burns, Wellings, *An extendible approach for analyzing fixed priority hard
real-time tasks*, 1994. Of task i, with hp(i) all others that are as urgent or more and all
interrupts, in a busy period of level i::

    w(q) = (q + 1) E_i - S + B_i + sum over j in hp(i) of ceil((w(q) + J_j) / T_j) E_j
    R_i  = max over q of  J_i + w(q) - q T_i        q = 0, 1, ... while the busy period lasts

* E_j, what a job takes of the processor: own code, kernel services, the switch to it and away from
  it (2 S; Burns, Tindell, Wellings 1995), two more for each wait of its own, and for each time that
  it may find a lock taken. The last switch away, S, is not part of a response.
* B_i: a less urgent task holds off preemption when i is released, or the processor switches to one
  (the longest of these; one of them can have begun before, no other can after), and locks that less
  urgent tasks hold (``locks``).
* Where working sets have to come back into caches, whoever gets the processor loses ``reload``
  first, all of it (``flood``, of ``switching``): at the begin of a job, behind each wait of its own
  and each lock that it finds taken, r_j times in a job, and so does the lock's holder. Whoever is
  preempted loses it as well, and each time that j gets the processor one task at most does, which
  is not more urgent. So where j interferes, E_j + r_j * max over such k of reload_k stands in the
  place of E_j, and of an interrupt its time and reload, and the largest reload of all tasks (and of
  less urgent handlers, where they nest). What a less urgent task has begun, a section or a stretch,
  takes its reload longer. That preemption costs count with the task that preempts is of
  Busquets-Mataix and others, Adding instruction cache effect to schedulability analysis of
  preemptive real-time systems, RTAS 1996; there, they are a number of lines.
* Where a task holds preemption off, what interrupts want of the kernel is ``deferred`` to the end
  of that. So an interrupt counts with what it defers, D_j, and a stretch that takes L by itself
  takes L + sum over j of n_j D_j, with n_j = ceil((W + J_j) / T_j) and W = L + sum over j of
  n_j E_j from its begin to its end; a masked one is longer by as many of their masked stretches.
* A wait of its own (for I/O, for an answer) counts as if the job ran (Chen and others, *Many
  suspensions, many problems*, Real-Time Systems 55, 2019, 4.1). While it waits, less urgent tasks
  can run and begin something again that the end of the wait does not end. So in the analysis of
  task i, B_i counts once for the begin of the busy period, and once more for each wait of each job
  in it, of task i and of those as urgent or more: E_j + waits_j * B_i in the place of E_j.
* Tasks that are as urgent count as more urgent, which covers every order among them; where they
  take turns, each end of a slice is one more switch.
* The response of the interrupt that releases a task is jitter of it.

Of interrupt k, likewise: E is the handler; B_k the longest stretch in which a task, the switch or a
less urgent handler masks it, or where handlers are not interrupted, a whole handler. That one that
is not interrupted cannot be delayed inside is not made use of.

Exact in fractions. There is no bound where the processor's time is used up by what is as urgent,
and none is looked for where a busy period has more than ``MOST_JOBS`` jobs.

Soundness caveats: a job waits while it holds no lock, holds nothing off and masks nothing; what a
task holds off or masks lies within a critical section of it, or outside of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.engine import locks
from wcetchar.model.system import Analysis, Cause, Interrupt, Part, Response, System, Task

NONE: Final = Fraction(0)
MOST_STEPS: Final = 50_000
"""Of a search for a fixed point, of which most take some ten."""
MOST_JOBS: Final = 2_000
"""Jobs of a busy period that are followed."""


@dataclass(frozen=True)
class _Stream:
    """What arrives again and again and takes some time each: a task's jobs, or interrupts."""

    cause: Cause
    who: str
    period: Fraction
    jitter: Fraction
    time: Fraction

    def demand(self, window: Fraction) -> Fraction:
        return -(-(window + self.jitter) // self.period) * self.time


def analyse(system: System) -> Analysis:
    """Response times of all tasks that have a period, and all interrupts.

    Raises:
        ValueError: tasks are released by what is no interrupt, lock resources in a circle, a task
            in the background is as urgent as one with a period, or an interrupt above the kernel
            is not more urgent than those that the kernel masks: it would make masked stretches
            longer for these.
    """
    _check(system)
    try:
        return _analysed(system)
    except _NoEndError:
        tasks = (
            Response(one.name, one.deadline, None, load=share_of(system, one))
            for one in system.periodic
        )
        handlers = (
            Response(one.name, one.deadline, None, load=_taken(system, one) / one.period)
            for one in system.interrupts
        )
        return Analysis(tuple(tasks), tuple(handlers), load(system))


def _analysed(system: System) -> Analysis:
    interrupts = tuple(_interrupt(system, one) for one in system.interrupts)
    late = {one.name: one.time for one in interrupts}
    jitters: dict[str, Fraction] = {}
    for task in system.periodic:
        by = late[task.released_by] if task.released_by else NONE
        jitters[task.name] = task.jitter + (NONE if by is None else by)
    resources = locks.ceilings(system.tasks)
    tasks = tuple(_task(system, task, jitters, resources) for task in system.periodic)
    tasks = tuple(
        Response(one.name, one.deadline, None, load=one.load)
        if task.released_by and late[task.released_by] is None
        else one
        for one, task in zip(tasks, system.periodic, strict=True)
    )
    return Analysis(tasks, interrupts, load(system))


def load(system: System) -> Fraction:
    """Share of the processor's time that all tasks with periods and all interrupts take."""
    found = sum((_taken(system, one) / one.period for one in system.interrupts), start=NONE)
    return found + sum((share_of(system, task) for task in system.periodic), start=NONE)


def share_of(system: System, task: Task) -> Fraction:
    """Of the processor's time, that a task takes, with what others lose by it."""
    assert task.period is not None
    taken = demand_of(system, task) + _displaced_by(system, task) - task.suspended
    return taken / task.period


def demand_of(system: System, task: Task) -> Fraction:
    """E: what a job takes of the processor, waits of its own counted as if it ran."""
    switches = switches_of(system, task) * system.switch
    return task.wcet + task.services + task.suspended + switches + _reloaded(system, task)


def switches_of(system: System, task: Task) -> int:
    """To a job and away from it, at most."""
    return 2 + 2 * task.suspensions + locks.lock_switches(task, system.tasks)


def _reloaded(system: System, task: Task) -> Fraction:
    """Its own working set, and those of holders whom it lets in for their locks."""
    lets_in = _found_taken(system, task)
    holders = locks.largest_reload(system.tasks, task)
    return _times_on(system, task) * task.reload + lets_in * holders


def _times_on(system: System, task: Task) -> int:
    """How often a job gets the processor, but for others that preempt it."""
    return 1 + task.suspensions + _found_taken(system, task)


def _found_taken(system: System, task: Task) -> int:
    return locks.lock_switches(task, system.tasks) // 2


def _displaced_by(system: System, task: Task) -> Fraction:
    """What others lose as a job takes the processor from them."""
    others = (one for one in system.tasks if one.priority <= task.priority)
    return _times_on(system, task) * locks.largest_reload(others, task)


def _taken(system: System, one: Interrupt) -> Fraction:
    """Of the processor, with what others lose by it."""
    reloads = [task.reload for task in system.tasks]
    if system.nested:
        reloads += [other.reload for other in system.interrupts if other.priority < one.priority]
    return one.time + one.reload + max(reloads, default=NONE) + one.deferred


def _check(system: System) -> None:
    names = {one.name for one in system.interrupts}
    for task in system.tasks:
        if task.released_by and task.released_by not in names:
            raise ValueError(
                f"{task.name} is released by {task.released_by}, which is no interrupt"
            )
    masked = [one.priority for one in system.interrupts if not one.above_kernel]
    for one in system.interrupts:
        if one.above_kernel and masked and one.priority <= max(masked):
            raise ValueError(f"{one.name} is above the kernel and not above what the kernel masks")
    found = locks.circle(system.tasks)
    if found:
        raise ValueError(f"resources are locked in a circle: {' in '.join(found)}")
    urgent = min((task.priority for task in system.periodic), default=None)
    for task in system.tasks:
        if task.period is None and urgent is not None and task.priority >= urgent:
            raise ValueError(f"{task.name} runs in the background and is as urgent as another task")


def _interrupts(system: System) -> list[_Stream]:
    return [
        _Stream(Cause.INTERRUPT, one.name, one.period, one.jitter, _taken(system, one))
        for one in system.interrupts
    ]


def _task(
    system: System, task: Task, jitters: dict[str, Fraction], resources: dict[str, int]
) -> Response:
    assert task.period is not None
    own = demand_of(system, task)
    blocked = [
        part for part in (*_held_off(system, task), *_locked(system, task, resources)) if part.time
    ]
    blocking = sum((part.time for part in blocked), start=NONE)
    streams = _interrupts(system)
    urgent = [one for one in system.periodic if one.priority >= task.priority]
    for other in urgent:
        if other is not task:
            assert other.period is not None
            jitter = jitters[other.name]
            demand = demand_of(system, other) + _displaced_by(system, other)
            demand += other.suspensions * blocking
            streams.append(_Stream(Cause.TASK, other.name, other.period, jitter, demand))
    if system.slice is not None and any(_alike(one, urgent) for one in urgent):
        reload = max(one.reload for one in (task, *urgent))
        streams.append(_Stream(Cause.SLICES, "", system.slice, NONE, system.switch + reload))
    itself = [
        Part(Cause.OWN, "", task.wcet),
        Part(Cause.SERVICES, "", task.services),
        Part(Cause.SWITCHES, "", (switches_of(system, task) - 1) * system.switch),
        Part(Cause.RELOADED, "", _reloaded(system, task)),
        Part(Cause.SUSPENDED, "", task.suspended),
        *(Part(part.cause, part.who, task.suspensions * part.time) for part in blocked),
    ]
    time = own + task.suspensions * blocking
    found = _longest(
        _Own(time, system.switch, task.period, jitters[task.name], tuple(itself)), blocked, streams
    )
    return _response(task.name, task.deadline, share_of(system, task), found)


def _locked(system: System, task: Task, resources: dict[str, int]) -> tuple[Part, ...]:
    return locks.blocking(task, system.tasks, resources, system.switch)


def _alike(task: Task, others: Sequence[Task]) -> bool:
    return any(one is not task and one.priority == task.priority for one in others)


def _held_off(system: System, task: Task) -> tuple[Part, ...]:
    """The longest of what less urgent tasks may have begun."""
    found = [
        Part(
            Cause.HELD_OFF,
            other.name,
            _stretch(max(_held(system, other), _masked(system, other), other.masked_all), other),
        )
        for other in system.tasks
        if other.priority < task.priority
    ]
    # A switch to a less urgent task, or to none: it is not left for another one before its end.
    found.append(Part(Cause.HELD_OFF, "a context switch", system.switch))
    return (max(found, key=lambda part: part.time),)


def _interrupt(system: System, one: Interrupt) -> Response:
    streams = [
        stream
        for stream, other in zip(_interrupts(system), system.interrupts, strict=True)
        if other is not one and other.priority >= one.priority
    ]
    maskers = [
        Part(Cause.HELD_OFF, task.name, _stretch(task.masked_all, task)) for task in system.tasks
    ]
    if not one.above_kernel:
        maskers += [
            Part(Cause.HELD_OFF, task.name, _stretch(_masked(system, task), task))
            for task in system.tasks
        ]
        maskers.append(Part(Cause.HELD_OFF, "a context switch", system.switch_masked))
    for other in system.interrupts:
        if other is not one and other.priority < one.priority:
            masked = other.time if not system.nested else NONE
            if not one.above_kernel:
                masked = max(masked, other.masked)
            masked = _stretch(masked, other)
            maskers.append(Part(Cause.HELD_OFF, other.name, masked))
    blocked = [p for p in [max(maskers, key=lambda p: p.time, default=None)] if p and p.time]
    itself = (
        Part(Cause.OWN, "", one.wcet),
        Part(Cause.SERVICES, "", one.services),
        Part(Cause.RELOADED, "", one.reload),
    )
    own = _Own(one.time + one.reload, NONE, one.period, one.jitter, itself)
    found = _longest(own, blocked, streams)
    return _response(one.name, one.deadline, _taken(system, one) / one.period, found)


def _held(system: System, task: Task) -> Fraction:
    """The longest stretch in which it holds preemption off, with what interrupts defer in it."""
    return task.held_off + _deferred(system, task, lambda one: one.deferred)


def _masked(system: System, task: Task) -> Fraction:
    """The longest in which it masks the kernel's interrupts, with what they have deferred."""
    return task.masked + _deferred(system, task, lambda one: one.deferred_masked)


def _deferred(system: System, task: Task, of: Callable[[Interrupt], Fraction]) -> Fraction:
    """Of all interrupts that come while it holds preemption off, from its begin to its end.

    Raises:
        _NoEndError: that has none.
    """
    if not task.held_off or not any(map(of, system.interrupts)):
        return NONE
    every = _interrupts(system)
    if sum((one.time / one.period for one in every), start=NONE) >= 1:
        raise _NoEndError
    base = task.held_off + task.reload
    length = _ends(base, every, base)
    if length is None:
        raise _NoEndError
    come = (-(-(length + one.jitter) // one.period) for one in system.interrupts)
    return sum((n * of(one) for n, one in zip(come, system.interrupts, strict=True)), start=NONE)


class _NoEndError(Exception):
    """What is held off is held off for ever."""


def _stretch(time: Fraction, of: Task | Interrupt) -> Fraction:
    """That may begin, or be gone on with, before the working set is back."""
    return time + of.reload if time else time


@dataclass(frozen=True)
class _Own:
    """``time``: of a job, of which ``last`` is no part of the last job's response; ``parts``: of
    ``time`` without ``last``."""

    time: Fraction
    last: Fraction
    period: Fraction
    jitter: Fraction
    parts: tuple[Part, ...]


_Found = tuple[Fraction, tuple[Part, ...], Fraction]


def _response(name: str, deadline: Fraction, share: Fraction, found: _Found | None) -> Response:
    if found is None:
        return Response(name, deadline, None, load=share)
    return Response(name, deadline, *found, share)


def _longest(own: _Own, blocked: Sequence[Part], streams: Sequence[_Stream]) -> _Found | None:
    """R, its parts and q T at the q where it is longest; ``None``: the busy period has no end, or
    more jobs than are followed. ``blocked``: once in it."""
    once = sum((part.time for part in blocked), start=NONE)
    mine = _Stream(Cause.OWN, "", own.period, own.jitter, own.time)
    every = [mine, *streams]
    share = sum((one.time / one.period for one in every), start=NONE)
    late = sum((one.jitter * one.time for one in every), start=NONE)
    if share > 1 or (share == 1 and once + late > 0):
        return None
    length = _fixed_point(lambda window: once + _demand(every, window), once + own.time)
    if length is None:
        return None
    jobs = int(-(-(length + own.jitter) // own.period))
    if jobs > MOST_JOBS:
        return None
    best: tuple[Fraction, int, Fraction] | None = None
    window = NONE
    for number in range(jobs):
        base = once + (number + 1) * own.time - own.last
        found = _ends(base, streams, max(window, base))
        if found is None:
            return None
        window = found
        response = own.jitter + window - number * own.period
        if best is None or response > best[0]:
            best = response, number, window
    assert best is not None
    response, number, window = best
    parts = [
        *own.parts,
        Part(Cause.EARLIER, "", number * own.time),
        Part(Cause.JITTER, "", own.jitter),
        *blocked,
        *(Part(one.cause, one.who, one.demand(window)) for one in streams),
    ]
    return response, _together(parts), number * own.period


def _together(parts: Sequence[Part]) -> tuple[Part, ...]:
    """One part for each cause and whose it is; those that take no time are left out."""
    sums: dict[tuple[Cause, str], Fraction] = {}
    for part in parts:
        key = part.cause, part.who
        sums[key] = sums.get(key, NONE) + part.time
    return tuple(Part(*key, time) for key, time in sums.items() if time)


def _ends(base: Fraction, streams: Sequence[_Stream], start: Fraction) -> Fraction | None:
    return _fixed_point(lambda window: base + _demand(streams, window), start)


def _demand(streams: Sequence[_Stream], window: Fraction) -> Fraction:
    return sum((one.demand(window) for one in streams), start=NONE)


def _fixed_point(step: Callable[[Fraction], Fraction], start: Fraction) -> Fraction | None:
    """The smallest fixed point from ``start`` on, which is not above it."""
    at = start
    for _ in range(MOST_STEPS):
        following = step(at)
        if following == at:
            return at
        at = following
    return None
