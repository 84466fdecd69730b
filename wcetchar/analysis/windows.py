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
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

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
from wcetchar.analysis.masks import SEARCH_LIMIT, MaskState, Step, apply
from wcetchar.analysis.resolve import Resolved
from wcetchar.errors import InputError, Location
from wcetchar.model.characterization import Blocking
from wcetchar.model.instruction import Flow, Instruction, InstructionTable
from wcetchar.model.service import Service, ServiceKind
from wcetchar.model.trace import Event, EventBatch

_MAXIMUM_CALL_DEPTH = 4096
_INSTRUCTION = int(Event.INSTRUCTION)


class _Stop:
    """Why the search has to look at an instruction. Plain integers: an IntFlag's ``&`` costs more
    than everything else that is done at a stop."""

    ENTRY: Final = 1
    LOCK: Final = 2
    UNLOCK: Final = 4
    CALL: Final = 8
    RETURN: Final = 16
    MASK: Final = 32
    MASK_READ: Final = 64
    SAVE: Final = 128
    RESTORE: Final = 256
    FUNCTION: Final = ENTRY | LOCK | UNLOCK


def _stops(resolved: Resolved) -> npt.NDArray[np.uint16]:
    """Flags of each instruction of the table."""
    table = resolved.table
    flags = np.zeros(len(table), dtype=np.uint16)
    handler_code = _handler_code(resolved)
    for i, instruction in enumerate(table.instructions):
        stop = 0
        if instruction.flow in (Flow.CALL, Flow.CALL_INDIRECT):
            stop |= _Stop.CALL
        elif instruction.flow in (Flow.RETURN, Flow.JUMP_INDIRECT):
            stop |= _Stop.RETURN
        if instruction.masks:
            stop |= _Stop.MASK
        if instruction.copy is not None and instruction.copy.mask_register is not None:
            stop |= _Stop.MASK_READ
        effect = instruction.memory
        if (
            effect is not None
            and effect.burst
            and effect.base not in (13, 15)
            and any(start <= instruction.address < end for start, end in handler_code)
        ):
            stop |= _Stop.SAVE if effect.writes else _Stop.RESTORE
        flags[i] = stop
    for index in resolved.entries:
        flags[index] |= _Stop.ENTRY
    for index in resolved.lock:
        flags[index] |= _Stop.LOCK
    for index in resolved.unlock:
        flags[index] |= _Stop.UNLOCK
    return flags


def _handler_code(resolved: Resolved) -> list[tuple[int, int]]:
    """Address ranges of functions that the vector table or a HANDLER service names."""
    image = resolved.image
    addresses = {
        resolved.table.instructions[index].address
        for index, services in resolved.entries.items()
        if any(s.kind is ServiceKind.HANDLER for s in services)
    }
    name = resolved.services.vector_section
    for section in resolved.services.sections:
        if section.name != name:
            continue
        for linker in image.sections:
            if linker.name in section.linker_sections:
                words = np.frombuffer(linker.data[: len(linker.data) & ~3], dtype="<u4")
                addresses |= {int(word) & ~1 for word in words if word & 1}
    ranges = []
    for address in addresses:
        function = image.function_at(address)
        if function is not None:
            ranges.append((function.address, function.address + max(function.size, 2)))
    return ranges


class WindowFinder:
    """Consumes a trace batch by batch; see :func:`find_windows`.

    Attributes:
        attributed: instructions in windows, by service.
        unattributed: instructions outside every window, by bucket.
        filtered: instructions that the capture left out.
        undecoded: executed instructions that the table does not know, all outside windows.
    """

    def __init__(self, resolved: Resolved, path: str) -> None:
        self.attributed: Counter[str] = Counter()
        self.unattributed: Counter[str] = Counter()
        self.filtered = 0
        self.undecoded = 0
        self.traced = 0
        self._resolved = resolved
        self._table: InstructionTable = resolved.table
        self._path = path
        self._stops = _stops(resolved)
        self._flags: list[int] = self._stops.tolist()
        self._masks = MaskState()
        self._lock = 0
        self._context = Context("thread 0")
        self._nested: list[Context] = []
        self._suspended: dict[int, Context] = {}
        self._threads = 1
        self._parameters: dict[int, int] = {}
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
        contexts = [self._context, *self._nested, *self._suspended.values()]
        for context in contexts:
            if context.window is not None or context.armed is not None:
                service = (context.window or context.armed).service  # type: ignore[union-attr]
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
        if context.frame is not None or context.returning:
            assert self._batch is not None
            for i in range(low, high):
                at = int(self._index[i])
                if at >= 0:
                    context.frame = None
                    if context.returning:
                        self._extend(low, i)
                        low = i
                        self._resolve_return(context, int(self._batch.address[i]))
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
            self._exception_exit()
        elif kind in (Event.WRITE, Event.ACCESS):
            self._extend(at, at + 1)
            self._mark(address)
        elif kind == Event.GAP:
            self._gap(address)
        else:
            self._undecoded(address)

    def _instruction(self, at: int, address: int, index: int) -> None:
        context = self._context
        context.frame = None
        if context.returning:
            self._resolve_return(context, address)
        if index < 0:
            self._undecoded(address)
            self._extend(at, at + 1)
            return
        stop = self._flags[index]
        instruction = self._table.instructions[index]
        if stop & _Stop.FUNCTION and self._entered(context, index):
            if stop & _Stop.ENTRY:
                self._open(context, index)
            if stop & _Stop.LOCK:
                self._lock += 1
                self._changed()
            if stop & _Stop.UNLOCK:
                context.unlocking.append(len(context.stack))
        self._extend(at, at + 1)
        context.last = index
        if stop & _Stop.MASK_READ:
            self._read_mask(context, instruction)
        if stop & _Stop.MASK:
            self._write_mask(context, instruction)
        if stop & _Stop.CALL:
            context.stack.append(instruction.end)
            if len(context.stack) > _MAXIMUM_CALL_DEPTH and context.window is None:
                del context.stack[: _MAXIMUM_CALL_DEPTH // 2]
            context.returning = True
        elif stop & _Stop.RETURN:
            context.returning = True
        if stop & _Stop.SAVE:
            context.frame = "saved"
        elif stop & _Stop.RESTORE:
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

    def _resolve_return(self, context: Context, address: int) -> None:
        """The next own instruction after a call or a possible return is at ``address``."""
        context.returning = False
        stack = context.stack
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
            self._parameters[channel - marks.first_parameter] = value

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
            value = self._parameters.get(number)
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
        self._parameters.clear()

    # --- exceptions and threads ---------------------------------------------------------------

    def _exception(self, number: int) -> None:
        self._flush()
        self._nested.append(self._context)
        self._context = Context(f"exception {number}", exception=number)
        self._changed()

    def _exception_exit(self) -> None:
        self._flush()
        handler = self._context
        if handler.window is not None:
            self._close(handler)
        if handler.armed is not None:
            raise self._error(
                f"the handler returned inside {handler.armed.service.name}",
                expected="the end mark in the same handler",
            )
        if handler.exception is None:
            # The trace began inside a handler: what was interrupted is not known.
            self._context = self._new_thread()
        else:
            self._context = self._nested.pop()
            if self._context.exception is None and handler.gapped:
                self._lose_thread()
            elif self._context.exception is None and handler.restored is not None:
                self._switch(handler)
        self._changed()

    def _switch(self, handler: Context) -> None:
        """The handler restored a thread's registers: the thread that saved them there goes on."""
        before = self._context
        assert handler.restored is not None
        if handler.saved is not None:
            self._suspended[handler.saved] = before
        after = self._suspended.pop(handler.restored, None) or self._new_thread()
        if after is not before:
            self._lock = 0
            before.unlocking.clear()
            if before.window is not None:
                before.window.switched = True
        self._context = after

    def _lose_thread(self) -> None:
        """A filter left out code of the handler, which may have switched threads there."""
        before = self._context
        if before.window is not None or before.armed is not None:
            service = (before.window or before.armed).service  # type: ignore[union-attr]
            raise self._error(
                f"the capture left out part of a handler that interrupted {service.name}",
                expected="handlers that are traced whole between marks",
                hint="filter nothing that an interrupt may execute",
            )
        self._context = self._new_thread()

    def _new_thread(self) -> Context:
        self._threads += 1
        return Context("thread")

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
        # Calls and returns may be among what was left out.
        context.gapped = True
        context.forget()
        context.stack.clear()
        context.returning = False
        context.last = -1

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
            history = islice(_steps(context, self._table), 1, None)
            self._masks = apply(self._masks, write, history, instruction.address)
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


def _steps(context: Context, table: InstructionTable) -> Iterator[Step]:
    """Own steps of a context, newest first."""
    number = context.instructions
    accesses: list[tuple[int, bool]] = []
    for piece in reversed(context.recent):
        kinds, addresses, indices = (
            piece.kind.tolist(),
            piece.address.tolist(),
            piece.index.tolist(),
        )
        for i in range(len(kinds) - 1, -1, -1):
            if indices[i] >= 0:
                number -= 1
                accesses.reverse()
                yield Step(table.instructions[indices[i]], accesses, context.mask_reads.get(number))
                accesses = []
            elif indices[i] == -2:
                return
            elif kinds[i] in (Event.READ, Event.WRITE):
                accesses.append((addresses[i], kinds[i] == Event.WRITE))


def find_windows(batches: Iterable[EventBatch], finder: WindowFinder) -> Iterator[Window]:
    """Windows of a whole trace, in the order in which they end.

    Raises:
        InputError: marks that do not pair up, a service that is not entered or does not return,
            an unknown instruction or a gap inside a window.
    """
    for batch in batches:
        yield from finder.feed(batch)
    finder.finish()
