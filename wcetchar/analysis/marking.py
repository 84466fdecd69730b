"""The firmware's marks: which services are armed, with which parameter values.

A begin mark arms a service of its thread (a handler: of any); the next entry of it opens a window.
"""

from __future__ import annotations

from wcetchar.analysis.contexts import Armed, Context
from wcetchar.analysis.unmarked import Unmarked
from wcetchar.model.service import Service, ServiceKind


class Marking(Unmarked):
    """The search's knowledge of marks."""

    def _mark(self, address: int) -> None:
        marks = self._resolved.services.marks
        assert marks is not None
        channel, value = divmod(address - self._resolved.mark_start, marks.values)
        if channel == marks.begin:
            self._arm(self._service(value))
        elif channel == marks.end:
            self._disarm(self._service(value))
        elif channel >= marks.first_parameter:
            self._context.parameters[channel - marks.first_parameter] = value
        else:
            raise self._error(
                f"a mark in channel {channel}, which has no meaning",
                expected=f"channel {marks.begin}, {marks.end}, or {marks.first_parameter} and on",
                hint="`marks: channels:` of the services file must be those of the firmware",
            )

    def _service(self, mark: int) -> Service:
        service = self._resolved.services.service_by_mark(mark)
        if service is None:
            raise self._error(
                f"the firmware marks service number {mark}, which no service has",
                expected="a service with this `mark` in the services file",
            )
        return service

    def _arm(self, service: Service) -> None:
        context = self._context
        outer = context.window
        apart = service.kind in (ServiceKind.HANDLER, ServiceKind.ACTIVATION)
        if outer is not None and not outer.marked and not apart:
            raise self._error(
                f"begin mark of {service.name} inside a call of {outer.service.name}",
                expected="marks outside of services that have none",
                hint="leave the outer function out of the services file, or mark it",
            )
        if context.armed is not None:
            raise self._error(
                f"begin mark of {service.name} inside {context.armed.service.name}",
                expected="an end mark before the next begin mark of the same thread",
            )
        for number in sorted(context.parameters):
            if number >= len(service.parameters):
                raise self._error(
                    f"{service.name} begins with a parameter {number + 1}, of value "
                    f"{context.parameters[number]}",
                    expected=f"the {len(service.parameters)} that the services file gives it",
                    hint="add it to `parameters`, in the order of its channels, or do not mark it",
                )
        values = []
        for number, parameter in enumerate(service.parameters):
            value = context.parameters.get(number)
            if value is None:
                raise self._error(
                    f"{service.name} begins, but parameter {parameter.name} was not marked",
                    expected="a store of its value before the begin mark",
                )
            if not parameter.minimum <= value <= parameter.maximum:
                raise self._error(
                    f"{service.name} begins with {parameter.name} = {value}",
                    expected=f"a value in {parameter.minimum}..{parameter.maximum}",
                    hint="correct the range in the services file, or the firmware",
                )
            values.append(value)
        # Not only at the end mark: another thread may leave that one.
        context.parameters.clear()
        if service.name in self._ended:
            raise self._error(
                f"a second begin mark of {service.name}",
                expected="an end mark in between, by the thread that ran next",
            )
        armed = Armed(service, tuple(values))
        if apart:
            if service.name in self._armed_handlers:
                raise self._error(
                    f"a second begin mark of {service.name}",
                    expected="an end mark in between",
                )
            self._armed_handlers[service.name] = armed
        else:
            context.armed = armed

    def _disarm(self, service: Service) -> None:
        context = self._context
        if service.kind in (ServiceKind.HANDLER, ServiceKind.ACTIVATION):
            armed = self._armed_handlers.pop(service.name, None)
        elif service.kind is ServiceKind.FINAL_CALL:
            armed = self._ended.pop(service.name, None)
        else:
            armed, context.armed = context.armed, None
        if armed is None or armed.service is not service:
            raise self._error(
                f"end mark of {service.name} without its begin mark",
                expected="marks in pairs, in the same thread; of a final call, the end mark in "
                "another one after the switch",
            )
        if context.window is not None and context.window.service is service:
            raise self._error(
                f"end mark of {service.name} before it returned",
                expected="the end mark after the call",
                hint="the call must return to its caller; was the thread told apart wrongly?",
            )
        self._check_disarmed(armed)
        if armed.windows == 0:
            raise self._error(
                f"{service.name} was never entered between its marks",
                expected="a call of " + " or ".join(service.entries),
                hint="the compiler may have inlined it, or it is reached by another symbol",
            )
        context.parameters.clear()

    def _check_disarmed(self, armed: Armed) -> None:
        """An end mark was left."""

    def _open(self, context: Context, index: int, at: int) -> None:
        """An entry was reached; ``at``: position of its instruction in the batch."""
        if not self._open_marked(context, index):
            self._open_unmarked(context, index, at)

    def _open_marked(self, context: Context, index: int) -> bool:
        """Whether a marked service was meant."""
        if context.window is not None:
            return context.window.marked and context.window.service in self._resolved.entries[index]
        services = self._resolved.entries[index]
        if context.exception is not None and context.last < 0:
            for service in services:
                if service.kind is not ServiceKind.HANDLER:
                    continue
                armed = self._armed_handlers.get(service.name)
                among = service.exceptions
                if armed is not None and (not among or context.exception in among):
                    self._begin(context, armed, depth=0, exception=context.exception)
                    return True
        armed = context.armed
        if armed is None or armed.service not in services:
            return False
        if context.handlers:
            raise self._error(
                f"{armed.service.name} is called by an exception handler",
                expected="a trace that shows exceptions",
                hint="capture with `wcetchar capture`: what blocks preemption is not known here",
            )
        if not context.stack:
            raise self._error(
                f"{armed.service.name} was entered, but no call of it was seen",
                expected="a call between the begin mark and the entry",
                hint="the capture filter must not leave out the caller",
            )
        self._begin(context, armed, depth=len(context.stack), exception=None)
        return True
