"""Calls of a system that the analysis does not cover, and what is taken for granted of others."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from wcetchar.errors import InputError
from wcetchar.model.characterization import Joint, StretchKind
from wcetchar.model.service import ServiceKind, whole_of
from wcetchar.model.workload import Activity, Call, GivesWay, Workload, calls_of
from wcetchar.pipeline.priced_calls import CallPrices

_TICK: Final = "tick"
"""Names of the handlers of a kernel's tick begin so."""
_NO_CALLS: Final = (ServiceKind.HANDLER, ServiceKind.ACTIVATION)


class CheckedCalls:
    """Those of one system."""

    def __init__(self, workload: Workload, prices: CallPrices) -> None:
        self._workload = workload
        self._prices = prices

    def mistakes(self) -> list[InputError]:
        """The first of each task and interrupt, and of the system."""
        checks: list[Callable[[], None]] = [self._check_tick]
        for one in self._workload.tasks:
            checks.append(partial(self._check_task, one))
        for one in self._workload.interrupts:
            checks.append(partial(self._check_interrupt, one))
        found = []
        for check in checks:
            try:
                check()
            except InputError as error:
                found.append(error)
        return found

    def notes(self) -> list[str]:
        """What is taken for granted."""
        found = []
        outside = {
            call.service: one.name for one in self._workload.tasks for call in one.work.calls
        }
        inside = {
            call.service for one in self._workload.tasks for use in one.uses for call in use.calls
        }
        if outside:
            both = [name for name in outside if name in inside]
            named = "".join(f"; {name} is called by {outside[name]} there, too" for name in both)
            found.append(
                "assumed: calls outside of `uses` leave no lock taken that others wait for" + named
            )
        calls = any(one.work.calls for one in self._workload.interrupts)
        if calls and not self._workload.kernel.deferred:
            found.append(
                "assumed: interrupts leave nothing to be done at the end of a call that holds "
                "preemption off (`kernel: {deferred: ...}`)"
            )
        for one in self._workload.tasks:
            waits = any(call.gives_way is GivesWay.RELEASE for call in one.work.calls)
            if waits and not one.released_by:
                found.append(
                    f"assumed: what releases {one.name} takes no time that is not among the tasks "
                    "and interrupts here, and is late by its `jitter` at most (no `released by`)"
                )
        return found

    def leaves_masked(self, one: Activity) -> bool:
        """Whether interrupts can still be masked behind a call, or code, of it."""
        return any(StretchKind.INTERRUPTS in self._leaves(*call) for call in self._called(one))

    def _called(self, one: Activity) -> list[tuple[str, Call]]:
        kernel = self._workload.kernel.characterization
        found = [] if kernel is None else [(kernel, call) for call in calls_of(one)]
        if one.work.code is not None:
            found.append((one.work.code.characterization, one.work.code.call))
        return found

    def _leaves(self, file: str, call: Call) -> set[StretchKind]:
        """What it begins to hold off, and still holds off as it returns."""
        return {
            stretch.kind
            for part in self._prices.parts(file, call.service)
            for stretch in part.stretches
            if Joint.CALLER in (stretch.goes_on_in or ())
            and Joint.CALLER not in (stretch.goes_on_from or ())
        }

    def _in_parts(self, file: str, call: Call) -> bool:
        return any(whole_of(one.name) != one.name for one in self._prices.parts(file, call.service))

    def _check_tick(self) -> None:
        kernel = self._workload.kernel
        file = kernel.characterization
        if file is None or not kernel.ticks or not self._prices.has_handler(file, _TICK):
            return
        called = [c.service for one in self._workload.interrupts for c in one.work.calls]
        if not any(name.startswith(_TICK) for name in called):
            raise InputError(
                "the kernel has a tick, and no interrupt of this system calls it",
                where=kernel.place,
                expected="an interrupt with a handler of the tick among its `calls`",
                hint="`kernel: {tick: none}` where the kernel runs without",
            )

    def _check_task(self, one: Activity) -> None:
        for file, call in self._called(one):
            if any(part.kind in _NO_CALLS for part in self._prices.parts(file, call.service)):
                raise InputError(
                    f"{call.service} is an activity of the kernel's own, and no call of a task",
                    where=call.place,
                    expected="a service that tasks call",
                    hint="handlers are called by interrupts; the switch is `context switch:`",
                )
            held = one.held_off
            masked = held.interrupts or held.all_interrupts
            for kind in sorted(self._leaves(file, call)):
                if not (masked or (kind is StretchKind.PREEMPTION and held.preemption)):
                    raise InputError(
                        f"{kind.value} can still be held off when {call.service} returns, and "
                        "nothing says for how long",
                        where=call.place,
                        expected=f"`holds off: {{{kind.value}: TIME}}` of {one.name}: from there "
                        "to where it ends, with the services in between",
                    )
        self._check_waits(one)

    def _check_interrupt(self, one: Activity) -> None:
        for file, call in self._called(one):
            if call.gives_way is not None or self._in_parts(file, call):
                raise InputError(
                    f"{one.name} is an interrupt, whose handler loses the processor to no task",
                    where=call.place,
                    expected="a service that is called from interrupts, without `gives way`",
                )

    def _check_waits(self, one: Activity) -> None:
        """A job waits once for its release, for locks, and as often as it says. What runs while it
        waits otherwise is not in the analysis."""
        kernel = self._workload.kernel.characterization
        for call in calls_of(one):
            assert kernel is not None
            if call.gives_way is None and self._in_parts(kernel, call):
                raise InputError(
                    f"in {call.service} the caller loses the processor, and nothing says why",
                    where=call.place,
                    expected="`gives way:` " + ", ".join(way.value for way in GivesWay),
                    hint="`more urgent` where it makes a more urgent task ready; a wait is "
                    "`release`, `lock`, or one of those that `suspended:` counts",
                )
        for use in one.uses:
            for call in use.calls:
                if call.gives_way in (GivesWay.RELEASE, GivesWay.WAIT):
                    raise InputError(
                        f"{one.name} waits while it holds {use.resource}, and how long others wait "
                        "for that has no bound here",
                        where=call.place,
                        expected="a wait outside of all `uses`",
                    )
        for way, most, where in (
            (GivesWay.RELEASE, 1, "a job is released once"),
            (GivesWay.WAIT, one.suspensions, "`suspended: {time: ..., times: ...}`"),
            (GivesWay.LOCK, 0, "locks in the `uses` of their resources"),
        ):
            calls = [call for call in one.work.calls if call.gives_way is way]
            times = sum(call.times for call in calls)
            if times > most:
                raise InputError(
                    f"a job of {one.name} has {times} calls that give way for a {way.value}, and "
                    f"{most} are allowed for",
                    where=calls[0].place,
                    expected=where,
                )
