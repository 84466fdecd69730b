"""Activations of threads: what a thread executes between being switched in and switched away.

A thread belongs to a service of kind ACTIVATION from the moment it enters one of the service's
functions, as the first thing that it does or by a call, until that function returns. A window holds
the thread's own instructions from the first one after it was switched in to the last one before
another thread is switched in. Handlers that run in between are activities of their own, and so is
the switch.

A window is cut at every switch. Whether the thread gave the processor up there or another one took
it is not in a trace of every instruction set. So between marks the thread is switched in once; and
where a service's windows do not all begin and end at one place (``cut_at_one_place``), some may be
a part of an activation only, and what is published is an estimate.

Refused are: a trace without exceptions; a thread whose start the trace does not show, for it may be
any; a thread that is inside another service's window when it is switched in.
"""

from __future__ import annotations

from collections.abc import Iterable

from wcetchar.analysis.contexts import RESUMED, Armed, Context
from wcetchar.analysis.marking import Marking
from wcetchar.model.instruction import Flow, Instruction
from wcetchar.model.service import Part, Service, ServiceKind

_NO_EXCEPTIONS = "the trace does not show exceptions, so not when a thread is switched in"
_RETURNED = "the thread's function returned inside it"


class Activations(Marking):
    """The search's knowledge of what threads are there for."""

    def _arm(self, service: Service) -> None:
        outer = self._context.window
        if service.kind is ServiceKind.ACTIVATION:
            if not self._has_exceptions:
                raise self._error(
                    f"begin mark of {service.name}, an activation, but {_NO_EXCEPTIONS}",
                    expected="a trace that shows exceptions",
                    hint="capture with `wcetchar capture`",
                )
            if any(service in context.runs for context in (self._context, *self._nested)):
                raise self._error(
                    f"the thread of {service.name} leaves its begin mark itself, or a handler that "
                    "interrupted it does",
                    expected="the begin mark in another thread, before the switch",
                )
        elif outer is not None and outer.service.kind is ServiceKind.ACTIVATION:
            raise self._error(
                f"begin mark of {service.name} inside an activation of {outer.service.name}",
                expected="marks outside of activations",
                hint="what a thread calls is part of its activation: leave one of the two out",
            )
        super()._arm(service)

    def _check_disarmed(self, armed: Armed) -> None:
        service = armed.service
        if service.kind is not ServiceKind.ACTIVATION:
            return
        if any(c.window is not None and c.window.service is service for c in self._nested):
            raise self._error(
                f"end mark of {service.name} before its thread was switched away",
                expected="the end mark in another thread, after the switch",
            )
        if armed.windows == 0:
            raise self._error(
                f"no thread of {service.name} was switched in between its marks",
                expected="a thread that has entered " + " or ".join(service.entries),
                hint="the trace must show that thread from its start on",
            )

    def _open(self, context: Context, index: int, at: int) -> None:
        if context.exception is None and not context.runs:
            found = self._resolved.entries[index]
            threads = tuple(s for s in found if s.kind is ServiceKind.ACTIVATION)
            if threads and self._has_exceptions:
                context.runs, context.runs_from = threads, len(context.stack)
                if context.instructions == 0 and context.last < 0 and not context.stack:
                    self._switched_in(context)  # its very first instruction
            elif threads:
                for service in threads:
                    self.given_up[service.name, _NO_EXCEPTIONS] += 1
        super()._open(context, index, at)

    def _switched_in(self, context: Context) -> None:
        for service in context.runs:
            armed = self._armed_handlers.get(service.name)
            if armed is not None:
                self._activate(context, armed)
        for service in context.runs:
            if service.name not in self._unmarked_threads:
                continue
            outer = context.window.service if context.window is not None else context.inside
            if outer is not None:
                self.inside[outer.name, service.name] += 1
                continue
            self._begin_unmarked(context, [service], at=0, depth=0, exception=None)
            assert context.window is not None
            context.window.calls = tuple(context.stack)
            context.window.begin = RESUMED

    def _activate(self, context: Context, armed: Armed) -> None:
        service = armed.service
        if context.inside is not None or context.window is not None:
            inside = context.inside or (context.window and context.window.service)
            assert inside
            raise self._error(
                f"the thread of {service.name} is switched in inside {inside.name}",
                expected="no other service's marks around what the thread does",
            )
        if armed.windows:
            raise self._error(
                f"the thread of {service.name} is switched in a second time between its marks",
                expected="one activation between marks",
                hint="let no more urgent thread run in between, and leave the end mark before the "
                "thread runs again",
            )
        window = self._begin(context, armed, depth=0, exception=None)
        window.calls = tuple(context.stack)
        window.begin = RESUMED

    def _cut(self, context: Context) -> None:
        window = context.window
        if window is None or window.service.kind is not ServiceKind.ACTIVATION:
            super()._cut(context)
            return
        context.window = None
        if not window.marked:
            del self._open_calls[id(window)]
        if window.given_up:
            return
        if window.pieces:
            self._emit(window, Part.WHOLE, context.left)
        elif window.marked:
            # Switched away again before its first instruction.
            self._armed_handlers[window.service.name].windows -= 1

    def _left(self, context: Context) -> None:
        """The function that names the thread has returned."""
        context.runs = ()
        window = context.window
        if window is None or window.service.kind is not ServiceKind.ACTIVATION:
            return
        if window.marked:
            raise self._error(
                f"the function of the thread of {window.service.name} returned",
                expected="a thread that is switched away before",
            )
        self._give_up(window, _RETURNED)


def cut_at_one_place(
    begins: Iterable[Instruction], ends: Iterable[Instruction], entries: Iterable[int]
) -> bool:
    """All activations go on where the others were switched away, or at the thread's start.

    Args:
        begins, ends: first and last instructions of windows.
        entries: addresses of the functions that the thread may start with.
    """
    last = list({i.address: i for i in ends}.values())
    first = {i.address for i in begins} - set(entries)
    if len(last) != 1 or last[0].flow not in (Flow.NEXT, Flow.SUPERVISOR_CALL):
        return False
    return first <= {last[0].end}
