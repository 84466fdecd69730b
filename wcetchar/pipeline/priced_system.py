"""A system file's tasks and interrupts with what their code and calls take on one hardware."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Final

from wcetchar import store
from wcetchar.engine import locks
from wcetchar.engine.slowdown import scaled
from wcetchar.engine.switching import lost
from wcetchar.errors import InputError, few, several
from wcetchar.model.characterization import Word
from wcetchar.model.estimate import Estimate
from wcetchar.model.switching import LossModel
from wcetchar.model.system import CriticalSection, Interrupt, System, Task
from wcetchar.model.workload import Activity, Call, Workload, calls_of
from wcetchar.pipeline.checked_calls import CheckedCalls
from wcetchar.pipeline.priced_calls import CallPrices, Hardware
from wcetchar.pipeline.service_notes import owners, told

NONE: Final = Fraction(0)


def hardware_of(
    workload: Workload, profile: str | None, section_map: str | None
) -> Hardware | None:
    """What prices the file's characterizations; ``profile``, ``section_map``: in the place of the
    file's own. ``None``: nothing says a profile."""
    kernel = workload.kernel
    if profile is None:
        if kernel.profile is None:
            return None
        return Hardware(kernel.profile, section_map or kernel.section_map, kernel.values)
    return Hardware(profile, section_map, kernel.values)


def refuse_circle(workload: Workload) -> None:
    """Refuses locks that tasks can wait for for ever.

    Raises:
        InputError: there are such.
    """
    tasks = [
        Task(
            one.name,
            one.priority,
            one.period,
            one.deadline,
            NONE,
            sections=tuple(CriticalSection(u.resource, NONE, within=u.within) for u in one.uses),
        )
        for one in workload.tasks
    ]
    circle = locks.circle(tasks)
    if circle:
        raise InputError(
            f"resources are locked within each other in a circle, {' in '.join(circle)}: tasks can "
            "wait for each other for ever",
            where=store.locate(workload.path, "tasks"),
            expected="one order in which all tasks lock",
        )


class PricedSystem:
    """What the calls of a workload take, and the system that they make."""

    def __init__(self, workload: Workload, prices: CallPrices | None) -> None:
        """``prices``: on the hardware; ``None``: nothing is to be priced.

        Raises:
            InputError: as of ``CallPrices.of``.
        """
        self._workload = workload
        self._kernel = workload.kernel
        self._found: dict[int, tuple[Estimate, ...]] = {}
        by_file: dict[str, list[Call]] = {}
        kernel = self._kernel.characterization
        self._switch: Call | None = None
        if isinstance(self._kernel.switch, str) and kernel is not None:
            self._switch = Call(self._kernel.switch, {}, 1, self._kernel.place)
            by_file.setdefault(kernel, []).append(self._switch)
        for call in self._kernel.deferred:
            assert kernel is not None
            by_file.setdefault(kernel, []).append(call)
        for one in (*workload.tasks, *workload.interrupts):
            if one.work.code is not None:
                by_file.setdefault(one.work.code.characterization, []).append(one.work.code.call)
            for call in calls_of(one):
                assert kernel is not None
                by_file.setdefault(kernel, []).append(call)
        mistakes: list[InputError] = []
        for file, calls in by_file.items():
            assert prices is not None
            try:
                for call, found in zip(calls, prices.of(file, calls), strict=True):
                    self._found[id(call)] = found
            except InputError as error:
                mistakes.extend(error.each)
        self._calls = None if prices is None else CheckedCalls(workload, prices)
        if self._calls is not None and not mistakes:
            mistakes = self._calls.mistakes()
        self._loses_lines = prices is not None and prices.caches
        if mistakes:
            raise several(mistakes)

    def _of(self, calls: Iterable[Call]) -> list[Estimate]:
        return [one for call in calls for one in self._found[id(call)]]

    def _time(self, calls: Iterable[Call]) -> Fraction:
        return sum(
            (call.times * one.safe_time for call in calls for one in self._found[id(call)]),
            start=NONE,
        )

    def _slowed(self, time: Fraction) -> Fraction:
        """What the kernel does."""
        return scaled(time, self._kernel.slowdown)

    def word(self) -> Word | None:
        words = [_word(one) for found in self._found.values() for one in found]
        if words and self._loses_lines and self._keep_lines():
            words.append(Word.ESTIMATE)
        return words[0].weakest(*words) if words else None

    def _keep_lines(self) -> list[str]:
        """Tasks that are taken to lose nothing in caches."""
        return [one.name for one in self._workload.tasks if one.working_set is None]

    def notes(self) -> tuple[str, ...]:
        estimates = [one for found in self._found.values() for one in found]
        every = len({one.service for one in estimates})
        found = [told(note, of, every) for note, of in owners(estimates).items()]
        found.insert(0, _ALONE)
        if any(one.suspensions for one in self._workload.tasks):
            found.append(
                "assumed: a job that waits holds no lock, holds nothing off, masks nothing"
            )
        for task in self._workload.tasks:
            held = task.held_off
            if task.uses and (held.preemption or held.interrupts or held.all_interrupts):
                found.append(
                    f"assumed: what {task.name} holds off by its own code lies within a critical "
                    "section of it, or outside of all"
                )
        keep = self._keep_lines()
        if keep:
            found.append(
                f"assumed: being interrupted costs {few(keep)} nothing in caches (no `working set`)"
            )
        slowed = (*self._workload.tasks, *self._workload.interrupts)
        if any(one.slowdown > 1 for one in slowed) and self._kernel.slowdown == 1:
            found.append(
                "assumed: other bus masters slow down own code alone, and no service or switch "
                "(`kernel: {slowdown: ...}`)"
            )
        if self._calls is not None:
            found += self._calls.notes()
        if self._kernel.switch is None:
            found.append("nothing says what a context switch takes: it counts as nothing")
        return tuple(found)

    def system(self) -> System:
        switch, masked = NONE, NONE
        if isinstance(self._kernel.switch, Fraction):
            switch = masked = self._slowed(self._kernel.switch)  # nothing says that it masks less
        elif self._switch is not None:
            switch = self._slowed(self._time([self._switch]))
            masked = self._slowed(_masked(self._of([self._switch])))
        mistakes: list[InputError] = []
        tasks = []
        for one in self._workload.tasks:
            try:
                tasks.append(self._task(one))
            except InputError as error:
                mistakes.append(error)
        if mistakes:
            raise several(mistakes)
        return System(
            self._workload.name,
            tuple(tasks),
            tuple(self._interrupt(one) for one in self._workload.interrupts),
            switch,
            masked,
            self._kernel.slice,
            self._kernel.nested,
        )

    def _own(self, one: Activity) -> Fraction:
        code = one.work.code
        characterized = NONE if code is None else self._time([code.call])
        return scaled(one.work.wcet + characterized, one.slowdown)

    def _task(self, one: Activity) -> Task:
        calls = calls_of(one)
        estimates = self._of(calls)
        code = [] if one.work.code is None else self._of([one.work.code.call])
        sections = tuple(
            CriticalSection(
                use.resource,
                scaled(use.wcet, one.slowdown)
                + self._slowed(self._time(use.calls) + self._inside(one, use.resource)),
                use.times,
                use.within,
            )
            for use in one.uses
        )
        held = one.held_off
        services = self._slowed(self._time(one.work.calls) + self._inside(one, ""))
        held_off = self._slowed(_held(estimates)), self._slowed(_masked(estimates))
        return Task(
            one.name,
            one.priority,
            one.period,
            one.deadline,
            self._own(one),
            services,
            one.offset,
            one.jitter,
            one.released_by,
            max(scaled(max(held.preemption, _held(code)), one.slowdown), held_off[0]),
            max(scaled(max(held.interrupts, _masked(code)), one.slowdown), held_off[1]),
            scaled(held.all_interrupts, one.slowdown),
            sections,
            one.suspended,
            one.suspensions,
            _reload(one),
        )

    def _inside(self, one: Activity, resource: str) -> Fraction:
        """Calls of sections within those of a resource, or of all; their own code is part of its
        own."""
        found = NONE
        for use in one.uses:
            if use.within == resource:
                found += use.times * (self._time(use.calls) + self._inside(one, use.resource))
        return found

    def _interrupt(self, one: Activity) -> Interrupt:
        assert one.period is not None
        code = [] if one.work.code is None else self._of([one.work.code.call])
        own, services = self._own(one), self._slowed(self._time(one.work.calls))
        masked = max(
            scaled(_masked(code), one.slowdown),
            self._slowed(_masked(self._of(one.work.calls))),
        )
        if self._calls is not None and self._calls.leaves_masked(one):
            masked = own + services  # from wherever in it to its end
        defers = self._kernel.deferred if one.work.calls else ()
        return Interrupt(
            one.name,
            one.priority,
            one.period,
            one.deadline,
            own,
            services,
            one.offset,
            one.jitter,
            masked,
            one.above_kernel,
            _reload(one),
            self._slowed(self._time(defers)),
            # One critical section may do all of it.
            self._slowed(
                sum((call.times * _masked(self._of([call])) for call in defers), start=NONE)
            ),
        )


def _reload(one: Activity) -> Fraction:
    """``flood``: never less."""
    if one.working_set is None:
        return NONE
    return lost(one.working_set, LossModel.FLOOD, one.working_set.settles)


_ALONE: Final = (
    "assumed: no further task or interrupt runs, and an idle task holds nothing off and locks "
    "nothing (one that does stands among the tasks, without a period)"
)


def _word(one: Estimate) -> Word:
    chains = (one.interrupts_chain, one.preemption_chain)
    return one.safe_word.weakest(*(chain.word for chain in chains if chain is not None))


def _masked(estimates: Sequence[Estimate]) -> Fraction:
    return max((one.safe_interrupts for one in estimates), default=NONE)


def _held(estimates: Sequence[Estimate]) -> Fraction:
    return max((one.safe_preemption for one in estimates), default=NONE)
