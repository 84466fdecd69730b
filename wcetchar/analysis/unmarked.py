"""Services that the firmware does not mark: each call of an entry is a window.

A window of a call opens where an entry is reached from another function while no window is open in
the same thread or handler, and ends where control is back at the return address. A window of a
handler is one activation whose first instruction is an entry. Calls of other services inside a
window are part of it: they are counted (``inside``), for each instruction is in one window.

A `final call` is whole where its thread never goes on; a `blocking call` is cut at each switch. A
service of kind `call` may share their entries: it takes the calls that return after all, and those
that no other thread interrupts.

Parameter values are those of the run (:class:`RunValues`), or are read from argument registers at
the entry. A value that is not known is an error. What cannot be a window is counted with the reason
(``given_up``): calls that never returned, entries without a call that the
trace shows, calls by and around handlers in a trace without exceptions.
"""

from __future__ import annotations

from wcetchar.analysis.contexts import Armed, Context, Edge, OpenWindow
from wcetchar.analysis.switching import Switching
from wcetchar.model.characterization import Joint
from wcetchar.model.service import Parameter, Part, Service, ServiceKind

_NOT_AWAY = "the trace ended before its thread was switched away"
NEVER = "it never returned: the trace ended first, or its thread was deleted"
_NO_REST = "only its part until it was switched away, for " + NEVER
_NO_CALL = "it was entered, but the trace does not show the call"
_CALLED = "it was called as a function, and `kind: handler` is for what the hardware calls"
_BY_HANDLER = "an exception handler called it, and the trace does not show exceptions"
_SHARE = "(another service, of kind `call`, may share its entries)"
_RETURNED = f"it returned, and a `final call` never does {_SHARE}"
_NOT_CUT = f"no other thread ran in between, and in a `blocking call` one does {_SHARE}"


class Unmarked(Switching):
    """The search's knowledge of services without marks."""

    def _open_unmarked(self, context: Context, index: int, at: int) -> None:
        """An entry was reached; ``at``: position of its instruction in the batch."""
        services = self._unmarked[index]
        if not services:
            return
        by_hardware = context.exception is not None and context.last < 0
        handlers = [s for s in services if s.kind is ServiceKind.HANDLER]
        serving = [s for s in handlers if not s.exceptions or context.exception in s.exceptions]
        calls = [s for s in services if s.kind is not ServiceKind.HANDLER]
        outer = context.armed or context.window
        if by_hardware and serving:
            self._begin_unmarked(context, serving, at, depth=0, exception=context.exception)
        elif by_hardware and handlers:
            return  # an exception of the same entry that no service is asked for
        elif by_hardware:
            raise self._error(
                f"{calls[0].name} handles exception {context.exception}",
                expected="`kind: handler` for a function that the hardware calls",
                hint="the hardware's own work on entry and exit is counted for handlers only",
            )
        elif not calls:
            self.given_up[handlers[0].name, _CALLED] += 1
        elif outer is not None:
            for service in calls:
                if outer.service not in calls:
                    self.inside[outer.service.name, service.name] += 1
        elif context.handlers:
            for service in calls:
                self.given_up[service.name, _BY_HANDLER] += 1
                self.missed.add(service.name)
        elif context.stack or context.exception is not None:
            # Without a caller of its own, it is the handler's tail, and returns together with it.
            self._begin_unmarked(context, calls, at, depth=len(context.stack), exception=None)
        else:
            for service in calls:
                self.given_up[service.name, _NO_CALL] += 1

    def _begin_unmarked(
        self,
        context: Context,
        services: list[Service],
        at: int,
        depth: int,
        exception: int | None,
    ) -> None:
        """Of a call that may end on another thread and one that does not, the end tells."""
        services = sorted(services, key=lambda s: s.kind is ServiceKind.CALL)
        first, *others = (
            Armed(s, tuple(self._parameter_value(s, p, at) for p in s.parameters)) for s in services
        )
        window = self._begin(context, first, depth, exception)
        window.marked = False
        window.otherwise = others[0] if others else None
        self._open_calls[id(window)] = window

    def _close(self, context: Context, end: Edge | None = None) -> None:
        window = context.window
        if window is None or window.marked:
            super()._close(context, end)
            return
        self._flush()
        context.window = None
        del self._open_calls[id(window)]
        if window.given_up:
            return
        final = window.service.kind is ServiceKind.FINAL_CALL
        if final or (window.service.kind is ServiceKind.BLOCKING_CALL and not window.cut):
            other = window.otherwise
            if other is None:
                self._give_up(window, _RETURNED if final else _NOT_CUT)
                return
            self._take_from(window)
            window.service, window.values = other.service, other.values
            self.attributed[window.service.name] += window.instructions
        part = Part.UNTIL_RETURN if window.cut else Part.WHOLE
        self._emit(window, part, end or Edge(Joint.CALLER, self._form()))

    def _cut(self, context: Context) -> None:
        window = context.window
        if window is None or window.marked:
            super()._cut(context)
        elif window.service.kind is ServiceKind.BLOCKING_CALL and not window.given_up:
            self._switched_away(context, window)
        else:
            # Whether a final call was only interrupted shows when its thread goes on.
            window.switched = True
            window.left_at = len(window.pieces)
            window.left = context.left

    def _end_part(self, window: OpenWindow, calls: tuple[int, ...]) -> None:
        super()._end_part(window, calls)
        if not window.marked:
            window.instructions = 0

    def _finish_unmarked(self) -> None:
        """The trace ends: which calls were whole without a return."""
        for window in list(self._open_calls.values()):
            if window.ending:
                self._end_part(window, ())
            final = window.service.kind is ServiceKind.FINAL_CALL and not window.given_up
            if final and window.left_at == len(window.pieces):
                window.switched = False
                self._emit(window, Part.UNTIL_SWITCH, window.left)
            elif window.cut and not window.pieces:
                self.given_up[window.service.name, _NO_REST] += 1
            elif window.service.kind is ServiceKind.ACTIVATION:
                self._give_up(window, _NOT_AWAY)
            else:
                self._give_up(window, _NO_REST if window.cut else NEVER)

    def _parameter_value(self, service: Service, parameter: Parameter, at: int) -> int:
        name = parameter.name
        if parameter.argument is None:
            value = self._values.values.get(service.name, {}).get(name)
            if value is None:
                raise self._error(
                    f"{service.name} is called, but its parameter {name} has no value in this run",
                    expected="a value for every parameter of a service without a mark",
                    hint=f"say it with --set {self._path}:{service.name}.{name}=VALUE or in a runs "
                    "file; a runs file also says which services a run shows",
                )
            place = "is given as"
        else:
            roles = self._table.registers
            register = roles.arguments[parameter.argument]
            value = self._registers.value(register, at)
            if value is None:
                raise self._error(
                    f"{service.name} is called, but the value of {roles.names[register]}, its "
                    f"parameter {name}, is not known there",
                    expected="a trace that shows the argument registers at every entry",
                    hint="log all registers from the start of the run",
                )
            bits = self._resolved.image.bits
            if parameter.minimum < 0 and value >> (bits - 1):
                value -= 1 << bits
            place = f"in {roles.names[register]} is"
        if not parameter.minimum <= value <= parameter.maximum:
            raise self._error(
                f"{service.name} is called, and its parameter {name} {place} {value}",
                expected=f"a value in {parameter.minimum}..{parameter.maximum}",
                hint="correct the range in the services file, or the value",
            )
        return value
