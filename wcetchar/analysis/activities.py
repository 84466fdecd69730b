"""Exceptions, threads, and what a trace does not show of them.

Exceptions nest. A handler that restores another thread's registers than it saved switches threads
(``threads`` tells which). What a filter left out, or the emulator could not decode, may hold calls,
returns and switches: what rested on them is forgotten, and inside a window it is an error.
"""

from __future__ import annotations

from wcetchar.analysis.contexts import Context, Edge
from wcetchar.analysis.recorder import Recorder
from wcetchar.model.characterization import Blocking, Joint
from wcetchar.model.instruction import Flow, Instruction, MaskWrite, ThreadKey
from wcetchar.model.trace import Event

LOST = (
    "it and those after it: the trace does not show whether the thread is still the same (it is "
    "not if it was deleted)"
)


class Activities(Recorder):
    """The search's knowledge of who executes."""

    def _exception(self, number: int) -> None:
        self._flush()
        before, model = self._context, self._table.exceptions
        self._nested.append(before)
        self._context = Context(f"exception {number}", exception=number)
        if self._floats is not None:
            self._floats.entered(before, self._context)
        shown = dict(model.interrupts).get(number)
        if number & model.interrupt_bit:
            self._masks = self._masks.interrupted()
        elif shown is not None:
            if not self._masks[shown.register].known:
                self._apply_masks((shown,))
        elif (model.interrupt_bit or model.interrupts) and before.last >= 0:
            last = self._table.instructions[before.last]
            self._context.called = last.flow is Flow.SUPERVISOR_CALL
        self._context.by_call = self._context.called or number in model.supervisor_calls
        # What an interrupt takes that is let in is its own; only a switch goes on with the rest.
        joint = Joint.HANDLER if self._context.by_call else Joint.THREAD
        before.left = Edge(joint, self._blocking)
        if self._context.by_call:
            self._note_cut(before, switched=False)
        self._apply_masks(model.entry_masks)
        self._changed()
        if self._context.by_call:
            self._goes_on(Joint.HANDLER)

    def _exception_exit(self, at: int, number: int) -> None:
        self._flush()
        handler = self._context
        inside = handler.armed or (handler.window if handler.exception is None else None)
        if inside is not None and (inside is handler.armed or handler.inside is not None):
            raise self._error(
                f"the handler returned inside {inside.service.name}",
                expected="the end mark in the same handler",
            )
        if (
            handler.exception is not None
            and number not in (0, handler.exception)
            and not self._handlers_switch
        ):
            raise self._error(
                f"exception {number} returns, but exception {handler.exception} was being handled",
                expected="exceptions that nest",
                hint="the trace is damaged, or its reader lost an exception",
            )
        model, left = self._table.exceptions, number or handler.exception
        if left is not None and left not in model.keeps_masks:
            self._apply_masks(model.exit_masks)
        interrupted = self._nested[-1] if self._nested else None
        if handler.exception is None:
            # The trace began inside a handler: what was interrupted is not known.
            self._context = self._new_thread()
        else:
            self._context = self._nested.pop()
            if self._context.exception is not None:
                self._forget_banked()
            if self._context.exception is None and handler.gapped:
                self._lose_thread()
            elif self._context.exception is None and handler.restored is not None:
                self._switch(handler, at)
        # An interrupt that goes back to what it interrupted is an activity of its own.
        goes_on = handler.by_call or self._context is not interrupted
        handler.left = Edge(Joint.THREAD, self._form() if goes_on else Blocking())
        if goes_on and handler.exception is not None:
            self.resumed.add(handler.left.blocking)
            if handler.entry is not None:
                self.switching.add((handler.entry, handler.exception))
        # What it reads last waits for what it has written; the hardware's accesses are not traced.
        if goes_on and not model.frame_words:
            self._context.behind_reads = handler.reads_last
        window = handler.window
        if self._floats is not None:
            whole = window is not None and window.exception is not None
            self._floats.left(window if whole else None, self._context)
        if window is not None:
            if handler.exception is None or window.depth > 0:
                # Only a tail call of the handler itself returns together with it.
                self._give_up(window, "the exception handler returned inside it")
            self._close(handler, handler.left)
        self._changed()
        if goes_on:
            self._goes_on(Joint.THREAD)

    def _apply_masks(self, writes: tuple[MaskWrite, ...]) -> None:
        """What the hardware itself writes to the mask registers."""
        for write in writes:
            self._write_masks(write)

    def _forget_banked(self) -> None:
        """The processor mode may be another one."""
        for register in self._table.exceptions.banked:
            self._masks = self._masks.written(register, None)

    def _switch(self, handler: Context, at: int) -> None:
        """The handler restored a thread's registers: the thread that saved them there goes on."""
        before = self._context
        assert handler.restored is not None
        place, saved = handler.restored[0], handler.saved
        frame = self._suspended.resume(place, at)
        if saved is not None and saved[0] == place:
            if frame is not None and frame.context is not before:
                self._gone(*frame.contexts)
            return  # from where they were saved just now: the thread goes on
        used_float = False
        if frame is not None and frame.lost:
            self._gone(*frame.contexts)
            used_float = frame.context.used_float
            frame = None
        if frame is not None and frame.below:
            raise self._error(
                "a handler returned to a thread that was switched away in another one",
                expected="such a thread to go on in the handler that it was switched away in",
                hint="this switch of threads is not understood; please report it with the trace",
            )
        if frame is None and self._wrote(handler, place):
            # What the handler itself had put away: the thread goes on. The stack pointer that was
            # stored elsewhere is no thread's, but a function's that has arrays of variable length.
            return
        if saved is not None:
            lock = len(before.locking)
            displaced = self._suspended.suspend(before, *saved, at, lock=lock)
            if displaced is not None:
                self._gone(*displaced.contexts)
        after = self._new_thread(begins=not used_float) if frame is None else frame.context
        if after is not before:
            self._lock = 0 if frame is None else frame.lock
            before.unlocking.clear()
            before.left = before.left.switched()
            if before.window is not None:
                before.window.yields += handler.called
                before.window.exact = False
                self._note_cut(before, switched=True)
            self._cut(before)
            after.resumed = frame is not None
        self._context = after
        if after is not before:
            self._switched_in(after)

    def _switched_in(self, context: Context) -> None:
        """A thread goes on; its next instruction comes first."""

    def _wrote(self, handler: Context, address: int) -> bool:
        """The handler's own code stored the word that it restored the stack pointer from."""
        if self._table.exceptions.thread_key is not ThreadKey.STACK_POINTER:
            return False
        for piece in handler.recent:
            writes = (piece.kind == Event.WRITE) | (piece.kind == Event.ACCESS)
            if (writes & (piece.address == address)).any():
                return True
        return False

    def _gone(self, *contexts: Context) -> None:
        """The thread can never go on: its saved registers are lost."""
        for context in contexts:
            self._forget_runs(context)
            if context.inside is not None:
                raise self._error(
                    f"the thread that was switched away inside {context.inside.name} does not go "
                    "on",
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
        self._context = self._new_thread()

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
        if context.unlocking and self._resolved.has_unmarked:
            raise self._error(
                f"the capture left out {count} instructions of a function that unlocks the "
                "scheduler, and services without marks may be called in it",
                expected="functions that unlock the scheduler to be traced whole",
                hint="filter nothing that they execute",
            )
        context.gapped = True
        self._lost()

    def _forget_runs(self, thread: Context) -> None:
        """Whether the thread goes on with what it was there for is not known any more."""
        for service in thread.runs:
            if service.name in self._unmarked_threads:
                self.given_up[service.name, LOST] += 1
        thread.runs = ()

    def _lost(self) -> None:
        """Instructions ran that the trace does not show, calls and returns perhaps among them."""
        # What ran before belongs to before: it is forgotten.
        self._flush()
        context = self._context
        self._timeline.cut()
        self._kept.forget()
        if self._floats is not None:
            self._floats.lost(context)
        context.forget()
        context.stack.clear()
        context.handlers.clear()
        self._forget_runs(context)
        # An unlock function of which the rest was left out has returned before the next window:
        # no mark stands inside of one.
        if context.unlocking:
            self._lock = max(0, self._lock - len(context.unlocking))
            context.unlocking = []
            self._changed()
        context.locking = []
        context.returning = context.resumed = False
        context.last = -1

    def _unseen_exception(self, context: Context, instruction: Instruction) -> None:
        """In a trace without exceptions: a function of the vector table begins. Unless it is
        called, it handles an exception."""
        if context.last < 0:
            return  # out of reset, or after a gap
        if self._table.instructions[context.last].flow in (Flow.CALL, Flow.CALL_INDIRECT):
            return
        if context.window is not None and context.window.marked:
            raise self._error(
                f"an exception handler, {self._resolved.place(instruction.address)}, runs inside "
                f"{context.window.service.name}",
                expected="a trace that shows exceptions, or windows without interrupts",
                hint="capture with `wcetchar capture`, or keep interrupts away from the calls",
            )
        if context.window is not None:
            self._give_up(
                context.window,
                "an exception handler ran inside it, and the trace does not show exceptions",
                missed=True,
            )
        context.handlers.append(len(context.stack))

    def _undecoded(self, address: int) -> None:
        context = self._context
        self.undecoded += 1
        if self._floats is not None:
            self._floats.lost(context)
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
