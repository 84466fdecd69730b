"""Threads that are switched by a function, which a thread or a handler calls.

Such a function stores the stack pointer of whoever calls it, loads another one's, and returns to
where that one called it (``switching_code`` finds the loads). At the load the whole state of who
executes changes: the thread with the handlers that it is in the middle of, their shadow stacks and
windows, and how often the scheduler is locked. The interrupt masks are the core's and stay.

What is switched away is known by the address that its stack pointer was stored to last. A load from
there brings it back. A load from a word that holds nobody's stored stack pointer begins a new
thread, and one of a stack pointer that the same thread or handler stored is no switch.

The load is the last instruction of the one and what follows it the first of the other, so a service
that is cut there has its parts cut at the same place on every core. What follows may wait for the
load, whoever executed that, and is counted so (``Window.behind``).

Soundness: what cannot be told apart is an error, or loses the thread, whose marks then do not pair
up. A load that is taken for a switch by mistake ends in an instruction that control cannot have
come to (``succession``).
"""

from __future__ import annotations

from wcetchar.analysis.activities import Activities
from wcetchar.analysis.contexts import Context, Edge
from wcetchar.analysis.stops import Stop
from wcetchar.model.characterization import Joint


class Switching(Activities):
    """The search's knowledge of functions that switch threads."""

    def _stack_pointer_stored(self, context: Context, address: int, at: int) -> None:
        """A context's own stack pointer was stored, right before ``at``."""
        context.stacked = address
        self._suspended.stack(context, address, at)

    def _stack_pointer_loaded(self, address: int, at: int) -> None:
        """The current context loaded the stack pointer, right before ``at``, with a load that may
        switch threads."""
        before, suspended = self._context, self._suspended
        if before.exception is not None and self._table.exceptions.frame_words:
            return  # such a handler returns to another thread through the hardware's frame
        owner = suspended.stacked(address, at)
        if owner is before:
            return  # its own stack: longjmp
        frame = suspended.resume(address, at)
        if frame is None and before.stacked is None:
            return  # nothing was put away: the first thread goes on with a stack of its own
        if frame is None and owner is not None:
            raise self._error(
                "a stack pointer is loaded that another thread or handler stored, which was not "
                "switched away there",
                expected="a thread to go on with the stack pointer that it was switched away with",
                hint="this switch of threads is not understood; please report it with the trace",
            )
        self._flush()
        lost = frame if frame is not None and frame.lost else None
        if lost is not None:
            self._gone(*lost.contexts)
            frame = None
        self._put_away(at)
        self._handlers_switch |= before.exception is not None
        if frame is None:
            self._context, self._nested, self._lock = self._new_thread(begins=lost is None), [], 0
        else:
            self._context, self._nested, self._lock = frame.context, [*frame.below], frame.lock
            self._context.resumed = True
            self._context.behind = before.last
            self._handlers_switch |= self._context.exception is not None
        if self._floats is not None:
            # Which part of the registers is in use is the core's, as the masks are.
            self._context.used_float |= before.used_float
        if self._handlers_switch:
            self._forget_banked()
        self._changed()
        self._goes_on(Joint.THREAD)
        self._switched_in(self._nested[0] if self._nested else self._context)

    def _put_away(self, at: int) -> None:
        """The current thread, and what it is in the middle of, is switched away."""
        context, place = self._context, self._context.stacked
        contexts = (*self._nested, context)
        for each in self._nested:
            if each.window is not None:
                each.window.exact = False  # a handler interrupted it
        context.left = Edge(Joint.THREAD, self._blocking).switched()
        if context.window is not None and context.left.blocking.holds_preemption:
            context.window.held.append(context.left.blocking)
        for each in contexts:
            self._note_cut(each, switched=True)
            self._cut(each)
        kept = place is not None and self._suspended.stacked(place, at) is context
        context.stacked = context.saved = None
        if place is None or not kept:
            self._gone(*contexts)
            return
        displaced = self._suspended.suspend(
            context, place, place + 4, at, tuple(self._nested), self._lock
        )
        if displaced is not None:
            self._gone(*displaced.contexts)

    def _left_silently(self, at: int) -> None:
        """An exception was left, which the trace does not say."""
        self._leaving = False
        if self._context.exception is not None:
            self._exception_exit(at, 0)

    def _may_leave(self, stop: int) -> bool:
        """After an instruction with these flags, an exception may have been left silently: whoever
        recorded the trace took exceptions to nest, which they do not across switches."""
        return bool(stop & Stop.LEAVES) and self._handlers_switch and self._has_exceptions
