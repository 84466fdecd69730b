"""Cuts a trace into windows: one window per invocation of a service.

Inputs: event batches of one trace, a :class:`Resolved`. Output: :class:`Window` objects in the
order in which they end, and the tallies for conservation.

A CALL window opens when, after the begin mark of its service, an entry symbol is reached by a call
(or by a jump from a wrapper) in the same thread or handler (services without marks: ``unmarked``);
it holds the instructions from there to
the one that returns to the caller, both included. The call instruction itself belongs to the
caller. A HANDLER window holds an exception handler from its first instruction to its exception
return. Interrupts and other threads that run in between are not part of a window: they are
activities of their own. A BLOCKING_CALL is cut where another thread runs: one window holds its own
instructions up to the switch, which an exception or a function makes, one those from its first
instruction afterwards until it returns or is switched away again. A FINAL_CALL has only the first
of these. For ACTIVATION see ``activations``.

Threads are told apart by the addresses that context switch code saves registers to, or the stack
pointer, and restores them from. What a window's instructions do one after another is checked later
against the instruction table (``accesses``), so a wrong guess here would end as an error, never as
a count.

Caveats: what a capture filter leaves out between windows must not write interrupt masks nor enter
scheduler lock functions (``characterize`` checks that the filter kept those). In a trace without
exceptions an interrupt inside a window is known by the entry of a function of the vector table, and
refused.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

import numpy as np

from wcetchar.analysis.activations import Activations
from wcetchar.analysis.contexts import Context, Window
from wcetchar.analysis.history import steps, steps_before
from wcetchar.analysis.masks import SEARCH_LIMIT, Follower
from wcetchar.analysis.stops import Stop
from wcetchar.model.bits import Bits
from wcetchar.model.instruction import Flow, Instruction, ThreadKey
from wcetchar.model.trace import Event, EventBatch

_MAXIMUM_CALL_DEPTH = 4096
_NOWHERE = -1
"""Return address of a call that cannot return."""
_INSTRUCTION = int(Event.INSTRUCTION)


class WindowFinder(Activations):
    """Consumes a trace batch by batch; see :func:`find_windows`. Its layers, the lowest first:
    ``recorder``, ``activities``, ``switching``, ``unmarked``, ``marking``, ``activations``, and
    this one."""

    # --- the stream -------------------------------------------------------------------------

    def feed(self, batch: EventBatch) -> list[Window]:
        """Takes a batch; returns the windows that ended in it."""
        batch = self._registers.begin(batch)
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
        self._kept.begin(batch)
        if self._floats is not None:
            self._floats.begin(batch)
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

    def finish(self) -> list[Window]:
        """To be called at the end of the trace; returns the windows that end with it.

        Raises:
            InputError: a marked window is still open, or a begin mark has no end mark.
        """
        self._finish_unmarked()
        for context in (self._context, *self._nested, *self._suspended.contexts):
            service = context.inside
            if service is not None:
                raise self._error(
                    f"the trace ends inside {service.name}",
                    expected="an end mark for every begin mark",
                    hint="capture the whole run; the firmware must end by itself",
                )
        for name in (*self._armed_handlers, *self._ended):
            raise self._error(
                f"the trace ends before the end mark of {name}",
                expected="an end mark for every begin mark",
            )
        done, self._done = self._done, []
        return done

    # --- between stops ----------------------------------------------------------------------

    def _pass(self, low: int, high: int) -> None:
        """Events low..high hold nothing special, except perhaps what a stop waits for."""
        if self._leaving:
            self._left_silently(low)
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
                if context.frame == "switch":
                    self._extend(low, i + 1)
                    low, context.frame = i + 1, None
                    self._stack_pointer_loaded(int(self._batch.address[i]), low)
                    context = self._context
                elif context.frame is not None:
                    self._note(context, int(self._batch.address[i]), i)
        self._extend(low, high)
        for i in range(high - 1, low - 1, -1):
            if self._index[i] >= 0:
                context.last = int(self._index[i])
                break

    # --- stops ------------------------------------------------------------------------------

    def _stop(self, at: int, kind: int, address: int, index: int) -> None:
        if self._leaving:
            if kind == Event.EXCEPTION_EXIT:
                self._leaving = False
            else:
                self._left_silently(at)
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
                if context.last < 0 and context.entry is None:
                    context.entry = index
                self._open(context, index, at)
            if stop & Stop.LOCK:
                context.locking.append(len(context.stack))
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
            self._write_mask(at, context, instruction)
        if stop & Stop.CALL:
            context.stack.append(_NOWHERE if stop & Stop.NO_RETURN else instruction.end)
            if len(context.stack) > _MAXIMUM_CALL_DEPTH and context.window is None:
                half = _MAXIMUM_CALL_DEPTH // 2
                del context.stack[:half]
                context.unlocking = [max(0, depth - half) for depth in context.unlocking]
                context.locking = [max(0, depth - half) for depth in context.locking]
            context.returning = instruction.conditional
        elif stop & Stop.RETURN:
            context.returning = True
        if stop & Stop.TRANSFER:
            self._transfers(at, context, stop, instruction)
        elif self._may_leave(stop):
            self._leaving = True

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
                self._gone(*self._nested, context)
                self._nested = []
                context = self._context = self._new_thread()
        if context.returning:
            self._resolve_return(context, address)
            window = context.window
            if window is not None and window.ending:
                self._end_part(window, tuple(context.stack[window.depth :]))
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
        del stack[depth:]
        unlocked = False
        while context.locking and len(stack) < context.locking[-1]:
            context.locking.pop()
        while context.unlocking and len(stack) < context.unlocking[-1]:
            context.unlocking.pop()
            self._lock = max(0, self._lock - 1)
            unlocked = True
        if context.runs and len(stack) < context.runs_from:
            self._left(context)
        window = context.window
        if window is not None and window.exception is None and len(stack) < window.depth:
            self._close(context)
        if unlocked:
            self._changed()

    # --- interrupt masks ---------------------------------------------------------------------

    def _read_mask(self, context: Context, instruction: Instruction) -> None:
        assert instruction.copy is not None
        assert instruction.copy.mask_register is not None
        number = context.instructions + self._pending() - 1
        context.mask_reads[number] = self._masks.read(instruction.copy.mask_register)
        if len(context.mask_reads) > SEARCH_LIMIT:
            oldest = next(iter(context.mask_reads))
            del context.mask_reads[oldest]

    def _write_mask(self, at: int, context: Context, instruction: Instruction) -> None:
        self._flush()
        followed: dict[int, Bits] = {}
        for write in instruction.masks:
            if instruction.conditional or (write.mask_register and not self._has_exceptions):
                # Whether it took effect is not in the trace, or what entry did to the other one.
                self._masks = self._masks.written(write.register, None)
            elif write.source is None:
                self._write_masks(write)
            else:
                if write.source not in followed:
                    followed[write.source] = self._value(at, context, instruction, write.source)
                self._write_masks(write, followed[write.source])
        banked = self._table.exceptions.banked
        if any(w.register not in banked and not w.mask_register for w in instruction.masks):
            self._forget_banked()
        self._changed()

    def _value(self, at: int, context: Context, instruction: Instruction, register: int) -> Bits:
        """What is known of a register that the newest instruction uses."""
        # The newest step is that instruction; the others are made only as far as needed.
        return Follower(
            islice(steps(context, self._table), 1, None),
            instruction.address,
            partial(self._timeline.undisturbed, context),
            partial(steps_before, self._timeline, self._table),
            partial(self._kept.recall, position=at),
            self._table.registers.zero,
        ).register(register)

    def _transfers(self, at: int, context: Context, stop: int, instruction: Instruction) -> None:
        """The accesses that come next save or restore a thread, or put masks away."""
        if stop & Stop.MASK_SAVE:
            assert instruction.memory is not None
            self._flush()
            context.frame = "masks"
            register = instruction.memory.transfers[0].register
            assert register is not None
            context.storing = self._value(at, context, instruction, register)
            return
        context.stacks = bool(stop & Stop.STACK_SAVE)
        if stop & Stop.SWITCH:
            context.frame = "switch"
            return
        if not stop & (Stop.SAVE | Stop.RESTORE):
            context.frame = "stacked"
            return
        context.frame = "saved" if stop & Stop.SAVE else "restored"
        if self._table.exceptions.thread_key is ThreadKey.STACK_POINTER:
            # The last one counts, not all of them together.
            if stop & Stop.SAVE:
                context.saved = None
            else:
                context.restored = None

    def _note(self, context: Context, address: int, at: int) -> None:
        """An access of an instruction that ``_transfers`` was told of."""
        if context.frame == "masks":
            self._kept.keep(address, context.storing, self._timeline.next_serial, at + 1)
            return
        context.note_frame(address)
        if context.stacks:
            self._stack_pointer_stored(context, address, at + 1)


def find_windows(batches: Iterable[EventBatch], finder: WindowFinder) -> Iterator[Window]:
    """Windows of a whole trace, in the order in which they end.

    Raises:
        InputError: marks that do not pair up, a service that is not entered or does not return,
            an unknown instruction or a gap inside a window.
    """
    for batch in batches:
        yield from finder.feed(batch)
    yield from finder.finish()
