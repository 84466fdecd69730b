"""Cuts a trace into windows: one window per invocation of a service.

Inputs: event batches of one trace, a :class:`Resolved`. Output: :class:`Window` objects in the
order in which they end, and the tallies for conservation.

A CALL window opens when, after the begin mark of its service, an entry symbol is reached by a call
(or by a jump from a wrapper) in the same thread or handler; it holds the instructions from there to
the one that returns to the caller, both included. The call instruction itself belongs to the
caller. A HANDLER window holds an exception handler from its first instruction to its exception
return. Interrupts and other threads that run in between are not part of a window: they are
activities of their own.

Threads are told apart by the addresses that context switch code saves registers to and restores
them from. What a window's instructions do one after another is checked later against the
instruction table (``accesses``), so a wrong guess here would end as an error, never as a count.

Caveats: what a capture filter leaves out between windows must not write interrupt masks nor enter
scheduler lock functions (``characterize`` checks that the filter kept those). In a trace without
exceptions an interrupt inside a window is known by the entry of a function of the vector table, and
refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.contexts import (
    HISTORY_EVENTS,
    Armed,
    Context,
    OpenWindow,
    Piece,
    Window,
)
from wcetchar.analysis.history import Timeline, steps
from wcetchar.analysis.masks import SEARCH_LIMIT, MaskState, apply
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.stops import Stop, stops_of
from wcetchar.analysis.threads import Threads
from wcetchar.errors import InputError, Location
from wcetchar.model.characterization import Blocking
from wcetchar.model.instruction import Flow, Instruction, InstructionTable, MaskRegister
from wcetchar.model.service import Service, ServiceKind
from wcetchar.model.trace import Event, EventBatch

_MAXIMUM_CALL_DEPTH = 4096
_NOWHERE = -1
"""Return address of a call that cannot return."""
_NON_MASKABLE = 2
"""Exception number of NMI (Armv7-M ARM, B1.5.2)."""
_INSTRUCTION = int(Event.INSTRUCTION)


class WindowFinder:
    """Consumes a trace batch by batch; see :func:`find_windows`.

    Attributes:
        attributed: instructions in windows, by service.
        unattributed: instructions outside every window, by bucket.
        filtered: instructions that the capture left out.
        undecoded: executed instructions that the table does not know, all outside windows.
    """

    def __init__(self, resolved: Resolved, path: str, *, has_exceptions: bool = True) -> None:
        self.attributed: Counter[str] = Counter()
        self.unattributed: Counter[str] = Counter()
        self.filtered = 0
        self.undecoded = 0
        self.traced = 0
        self._resolved = resolved
        self._table: InstructionTable = resolved.table
        self._path = path
        self._has_exceptions = has_exceptions
        self._stops = stops_of(resolved)
        self._flags: list[int] = self._stops.tolist()
        self._masks = MaskState()
        self._lock = 0
        self._context = Context("thread 0")
        self._nested: list[Context] = []
        self._suspended = Threads()
        self._timeline = Timeline()
        self._armed_handlers: dict[str, Armed] = {}
        self._done: list[Window] = []
        self._blocking_cache: dict[tuple[MaskState, bool], Blocking] = {}
        # the current batch and the run of it that is not yet given to the current context
        self._batch: EventBatch | None = None
        self._index: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._counted: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._run = (0, 0)
        self._blocking = Blocking()

    # --- the stream -------------------------------------------------------------------------

    def feed(self, batch: EventBatch) -> list[Window]:
        """Takes a batch; returns the windows that ended in it."""
        kind = batch.kind
        is_instruction = kind == Event.INSTRUCTION
        index = np.full(len(batch), -1, dtype=np.int32)
        found = self._table.index_of(batch.address[is_instruction])
        index[is_instruction] = np.where(found < 0, -2, found)
        self.traced += int(is_instruction.sum())
        start, end = self._resolved.mark_start, self._resolved.mark_end
        special = kind >= Event.EXCEPTION
        special |= (
            ((kind == Event.WRITE) | (kind == Event.ACCESS))
            & (batch.address >= start)
            & (batch.address < end)
        )
        special |= index == -2
        known = index >= 0
        special[known] |= self._stops[index[known]] != 0
        self._batch, self._index = batch, index
        self._suspended.begin(batch)
        self._counted = np.concatenate(([0], np.cumsum(is_instruction)))
        self._run = (0, 0)
        position = 0
        stops = np.flatnonzero(special)
        for stop, what, where, instruction in zip(
            stops.tolist(),
            kind[stops].tolist(),
            batch.address[stops].tolist(),
            index[stops].tolist(),
            strict=True,
        ):
            if stop > position:
                self._pass(position, stop)
            self._stop(stop, what, where, instruction)
            position = stop + 1
        if position < len(batch):
            self._pass(position, len(batch))
        self._flush()
        done, self._done = self._done, []
        return done

    def finish(self) -> None:
        """To be called at the end of the trace.

        Raises:
            InputError: a window is still open, or a begin mark has no end mark.
        """
        for context in (self._context, *self._nested, *self._suspended.contexts):
            service = context.inside
            if service is not None:
                raise self._error(
                    f"the trace ends inside {service.name}",
                    expected="an end mark for every begin mark",
                    hint="capture the whole run; the firmware must end by itself",
                )
        for name in self._armed_handlers:
            raise self._error(
                f"the trace ends before the end mark of {name}",
                expected="an end mark for every begin mark",
            )

    # --- between stops ----------------------------------------------------------------------

    def _pass(self, low: int, high: int) -> None:
        """Events low..high hold nothing special, except perhaps what a stop waits for."""
        context = self._context
        if context.frame is not None or context.returning or context.resumed:
            assert self._batch is not None
            for i in range(low, high):
                at = int(self._index[i])
                if at >= 0:
                    self._extend(low, i)
                    low = i
                    context = self._arrived(int(self._batch.address[i]))
                    break
                if context.frame is not None:
                    context.note_frame(int(self._batch.address[i]))
        self._extend(low, high)
        for i in range(high - 1, low - 1, -1):
            if self._index[i] >= 0:
                context.last = int(self._index[i])
                break

    def _extend(self, low: int, high: int) -> None:
        if low == high:
            return
        start, end = self._run
        if end == low and start != end:
            self._run = (start, high)
        else:
            self._flush()
            self._run = (low, high)

    def _flush(self) -> None:
        """Gives the pending run of events to the current context."""
        low, high = self._run
        if low == high or self._batch is None:
            return
        self._run = (high, high)
        context = self._context
        instructions = int(self._counted[high]) - int(self._counted[low])
        context.instructions += instructions
        window = context.window
        if window is None:
            self.unattributed[context.name] += instructions
            if high - low > HISTORY_EVENTS:
                # What came before would no longer join on.
                context.forget()
                low = high - HISTORY_EVENTS
        piece = Piece(
            self._batch.kind[low:high],
            self._batch.address[low:high],
            self._batch.size[low:high],
            self._index[low:high],
            self._blocking,
        )
        context.remember(piece)
        self._timeline.add(context, piece)
        if window is not None:
            self.attributed[window.service.name] += instructions
            window.pieces.append(piece)

    def _changed(self) -> None:
        """The masks, the lock or the context changed: what follows has another blocking form."""
        self._flush()
        locked = self._lock > 0 or self._context.exception is not None
        key = (self._masks, locked)
        blocking = self._blocking_cache.get(key)
        if blocking is None:
            blocking = self._blocking_cache[key] = self._masks.blocking(locked)
        self._blocking = blocking

    # --- stops ------------------------------------------------------------------------------

    def _stop(self, at: int, kind: int, address: int, index: int) -> None:
        if kind == _INSTRUCTION:
            self._instruction(at, address, index)
        elif kind == Event.EXCEPTION:
            self._exception(address)
        elif kind == Event.EXCEPTION_EXIT:
            self._exception_exit(at, address)
        elif kind in (Event.WRITE, Event.ACCESS):
            self._extend(at, at + 1)
            self._mark(address)
        elif kind == Event.GAP:
            self._gap(address)
        else:
            self._undecoded(address)
            # The emulator may have lost more than this one, calls and returns among it.
            self._lost()

    def _instruction(self, at: int, address: int, index: int) -> None:
        context = self._arrived(address)
        if index < 0:
            self._undecoded(address)
            self._extend(at, at + 1)
            return
        stop = self._flags[index]
        instruction = self._table.instructions[index]
        if stop & Stop.HANDLER and not self._has_exceptions:
            self._unseen_exception(context, instruction)
        if stop & Stop.FUNCTION and self._entered(context, index):
            if stop & Stop.ENTRY:
                self._open(context, index)
            if stop & Stop.LOCK:
                self._lock += 1
                self._changed()
            if stop & Stop.UNLOCK:
                context.unlocking.append(len(context.stack))
                if self._lock < self._unlocking():
                    # It was locked where the trace does not show it, and is until this returns.
                    self._lock = self._unlocking()
                    self._changed()
        self._extend(at, at + 1)
        context.last = index
        if stop & Stop.MASK_READ:
            self._read_mask(context, instruction)
        if stop & Stop.MASK:
            self._write_mask(context, instruction)
        if stop & Stop.CALL:
            context.stack.append(_NOWHERE if stop & Stop.NO_RETURN else instruction.end)
            if len(context.stack) > _MAXIMUM_CALL_DEPTH and context.window is None:
                half = _MAXIMUM_CALL_DEPTH // 2
                del context.stack[:half]
                context.unlocking = [max(0, depth - half) for depth in context.unlocking]
            context.returning = instruction.conditional
        elif stop & Stop.RETURN:
            context.returning = True
        if stop & Stop.SAVE:
            context.frame = "saved"
        elif stop & Stop.RESTORE:
            context.frame = "restored"

    def _entered(self, context: Context, index: int) -> bool:
        """The function was entered, rather than its first instruction reached by its own loop."""
        if context.last < 0:
            return True
        before = self._table.instructions[context.last]
        if before.flow in (Flow.CALL, Flow.CALL_INDIRECT):
            return True
        function = self._resolved.image.function_at(self._table.instructions[index].address)
        return function is None or before.address not in function

    def _arrived(self, address: int) -> Context:
        """The next own instruction of the current context is at ``address``: what it shows of the
        one before. Returns the current context, which is another one where a thread turns out not
        to be the one that it was taken for."""
        context = self._context
        context.frame = None
        if context.resumed:
            context.resumed = False
            if not self._follows(context, address):
                self._gone(context)
                context = self._context = Context("thread")
        if context.returning:
            self._resolve_return(context, address)
        return context

    def _follows(self, context: Context, address: int) -> bool:
        """Control can be at ``address`` after the last instruction of a context."""
        if context.last < 0:
            return True
        last = self._table.instructions[context.last]
        if last.flow in (Flow.NEXT, Flow.SUPERVISOR_CALL, Flow.STOP):
            return address == last.end
        if last.flow in (Flow.JUMP, Flow.CALL):
            return address == last.target or (last.conditional and address == last.end)
        return True

    def _resolve_return(self, context: Context, address: int) -> None:
        """The next own instruction after a possible return, or after a call that may have been
        skipped, is at ``address``."""
        context.returning = False
        stack = context.stack
        last = self._table.instructions[context.last]
        skipped = last.conditional and address == last.end
        if last.flow in (Flow.CALL, Flow.CALL_INDIRECT):
            if skipped and stack:
                stack.pop()
            return
        if skipped:
            return
        if context.handlers and len(stack) <= context.handlers[-1]:
            function = self._resolved.image.function_at(address)
            if last.flow is Flow.RETURN or function is None or function.address != address:
                context.handlers.pop()
        for depth in range(len(stack) - 1, -1, -1):
            if stack[depth] == address:
                break
        else:
            return
        self._flush()
        del stack[depth:]
        unlocked = False
        while context.unlocking and len(stack) < context.unlocking[-1]:
            context.unlocking.pop()
            self._lock = max(0, self._lock - 1)
            unlocked = True
        window = context.window
        if window is not None and window.exception is None and len(stack) < window.depth:
            self._close(context)
        if unlocked:
            self._changed()

    def _unlocking(self) -> int:
        """Unlock functions that are being executed."""
        return sum(len(c.unlocking) for c in (self._context, *self._nested))

    # --- windows ----------------------------------------------------------------------------

    def _open(self, context: Context, index: int) -> None:
        if context.window is not None:
            return
        services = self._resolved.entries[index]
        if context.exception is not None and context.last < 0:
            for service in services:
                armed = self._armed_handlers.get(service.name)
                if armed is not None:
                    self._begin(context, armed, depth=0, exception=context.exception)
                    return
        armed = context.armed
        if armed is None or armed.service not in services:
            return
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

    def _begin(self, context: Context, armed: Armed, depth: int, exception: int | None) -> None:
        self._flush()
        armed.windows += 1
        context.window = OpenWindow(
            armed.service,
            armed.values,
            depth,
            exception=exception,
            from_handler=bool(self._nested and self._nested[-1].exception is not None),
        )

    def _close(self, context: Context) -> None:
        self._flush()
        window = context.window
        assert window is not None
        context.window = None
        self._done.append(
            Window(
                window.service,
                window.values,
                tuple(window.pieces),
                window.exception,
                window.from_handler,
                window.switched,
            )
        )

    # --- marks ------------------------------------------------------------------------------

    def _mark(self, address: int) -> None:
        marks = self._resolved.services.marks
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
        if context.armed is not None:
            raise self._error(
                f"begin mark of {service.name} inside {context.armed.service.name}",
                expected="an end mark before the next begin mark of the same thread",
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
        armed = Armed(service, tuple(values))
        if service.kind is ServiceKind.HANDLER:
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
        if service.kind is ServiceKind.HANDLER:
            armed = self._armed_handlers.pop(service.name, None)
        else:
            armed, context.armed = context.armed, None
        if armed is None or armed.service is not service:
            raise self._error(
                f"end mark of {service.name} without its begin mark",
                expected="marks in pairs, in the same thread",
            )
        if context.window is not None and context.window.service is service:
            raise self._error(
                f"end mark of {service.name} before it returned",
                expected="the end mark after the call",
                hint="the call must return to its caller; was the thread told apart wrongly?",
            )
        if armed.windows == 0:
            raise self._error(
                f"{service.name} was never entered between its marks",
                expected="a call of " + " or ".join(service.entries),
                hint="the compiler may have inlined it, or it is reached by another symbol",
            )
        context.parameters.clear()

    # --- exceptions and threads ---------------------------------------------------------------

    def _exception(self, number: int) -> None:
        self._flush()
        self._nested.append(self._context)
        self._context = Context(f"exception {number}", exception=number)
        self._changed()

    def _exception_exit(self, at: int, number: int) -> None:
        self._flush()
        handler = self._context
        inside = handler.armed or (handler.window if handler.exception is None else None)
        if inside is not None:
            raise self._error(
                f"the handler returned inside {inside.service.name}",
                expected="the end mark in the same handler",
            )
        if handler.exception is not None and number not in (0, handler.exception):
            raise self._error(
                f"exception {number} returns, but exception {handler.exception} was being handled",
                expected="exceptions that nest",
                hint="the trace is damaged, or its reader lost an exception",
            )
        if handler.window is not None:
            self._close(handler)
        if (number or handler.exception) not in (None, _NON_MASKABLE):
            # Armv7-M ARM, B1.5.8: a return from any exception but NMI clears FAULTMASK.
            self._masks = self._masks.written(MaskRegister.FAULTMASK, 0)
        if handler.exception is None:
            # The trace began inside a handler: what was interrupted is not known.
            self._context = Context("thread")
        else:
            self._context = self._nested.pop()
            if self._context.exception is None and handler.gapped:
                self._lose_thread()
            elif self._context.exception is None and handler.restored is not None:
                self._switch(handler, at)
        self._changed()

    def _switch(self, handler: Context, at: int) -> None:
        """The handler restored a thread's registers: the thread that saved them there goes on."""
        before = self._context
        assert handler.restored is not None
        if handler.saved is not None:
            displaced = self._suspended.suspend(before, *handler.saved, at)
            if displaced is not None:
                self._gone(displaced)
        frame = self._suspended.resume(handler.restored[0], at)
        if frame is not None and frame.lost:
            self._gone(frame.context)
            frame = None
        after = Context("thread") if frame is None else frame.context
        if after is not before:
            self._lock = 0
            before.unlocking.clear()
            if before.window is not None:
                before.window.switched = True
            after.resumed = frame is not None
        self._context = after

    def _gone(self, thread: Context) -> None:
        """The thread can never go on: its saved registers are lost."""
        if thread.inside is not None:
            raise self._error(
                f"the thread that was switched away inside {thread.inside.name} does not go on",
                expected="every marked call to return",
                hint="a thread that is deleted must not be between marks",
            )

    def _lose_thread(self) -> None:
        """A filter left out code of the handler, which may have switched threads there."""
        inside = self._context.inside
        if inside is not None:
            raise self._error(
                f"the capture left out part of a handler that interrupted {inside.name}",
                expected="handlers that are traced whole between marks",
                hint="filter nothing that an interrupt may execute",
            )
        self._context = Context("thread")

    # --- the rest -----------------------------------------------------------------------------

    def _gap(self, count: int) -> None:
        self._flush()
        self.filtered += count
        context = self._context
        if context.window is not None:
            raise self._error(
                f"the capture left out {count} instructions inside {context.window.service.name}",
                expected="windows that are traced whole",
                hint="filter nothing that a service may execute",
            )
        context.gapped = True
        self._lost()

    def _lost(self) -> None:
        """Instructions ran that the trace does not show, calls and returns perhaps among them."""
        context = self._context
        self._timeline.cut()
        context.forget()
        context.stack.clear()
        context.handlers.clear()
        # An unlock function of which the rest was left out has returned before the next window:
        # no mark stands inside of one.
        if context.unlocking:
            self._lock = max(0, self._lock - len(context.unlocking))
            context.unlocking = []
            self._changed()
        context.returning = context.resumed = False
        context.last = -1

    def _unseen_exception(self, context: Context, instruction: Instruction) -> None:
        """In a trace without exceptions: a function of the vector table begins. Unless it is
        called, it handles an exception."""
        if context.last < 0:
            return  # out of reset, or after a gap
        if self._table.instructions[context.last].flow in (Flow.CALL, Flow.CALL_INDIRECT):
            return
        if context.window is not None:
            raise self._error(
                f"an exception handler, {self._resolved.place(instruction.address)}, runs inside "
                f"{context.window.service.name}",
                expected="a trace that shows exceptions, or windows without interrupts",
                hint="capture with `wcetchar capture`, or keep interrupts away from the calls",
            )
        context.handlers.append(len(context.stack))

    def _undecoded(self, address: int) -> None:
        context = self._context
        self.undecoded += 1
        if context.window is None:
            context.last = -1
            return
        reason = next(
            (u for u in self._table.undecodable if u.address == address),
            None,
        )
        text = f" ({reason.text}: {reason.reason})" if reason else ""
        raise self._error(
            f"unknown instruction at {self._resolved.place(address)}, "
            f"0x{address:08x}{text}, inside {context.window.service.name}",
            expected="an instruction of the image that the instruction set's table knows",
            hint="check that the trace belongs to this image and its instruction set",
        )

    def _read_mask(self, context: Context, instruction: Instruction) -> None:
        assert instruction.copy is not None
        assert instruction.copy.mask_register is not None
        self._flush()
        context.mask_reads[context.instructions - 1] = self._masks.value(
            instruction.copy.mask_register
        )
        if len(context.mask_reads) > SEARCH_LIMIT:
            oldest = next(iter(context.mask_reads))
            del context.mask_reads[oldest]

    def _write_mask(self, context: Context, instruction: Instruction) -> None:
        self._flush()
        for write in instruction.masks:
            if instruction.conditional:
                # Whether it took effect is not in the trace.
                self._masks = self._masks.written(write.register, None)
                continue
            # The newest step is the write itself; the others are made only as far as needed.
            history = islice(steps(context, self._table), 1, None)
            self._masks = apply(
                self._masks,
                write,
                history,
                instruction.address,
                partial(self._timeline.undisturbed, context),
            )
        self._changed()

    def _error(
        self, message: str, *, expected: str | None = None, hint: str | None = None
    ) -> InputError:
        return InputError(
            f"{message} (after {self.traced} instructions at most)",
            where=Location(self._path),
            expected=expected,
            hint=hint,
        )


def find_windows(batches: Iterable[EventBatch], finder: WindowFinder) -> Iterator[Window]:
    """Windows of a whole trace, in the order in which they end.

    Raises:
        InputError: marks that do not pair up, a service that is not entered or does not return,
            an unknown instruction or a gap inside a window.
    """
    for batch in batches:
        yield from finder.feed(batch)
    finder.finish()
