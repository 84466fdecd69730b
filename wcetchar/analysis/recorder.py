"""What executes now, and under which blocking form: the state that the window search runs on.

Inputs: runs of events of the current batch. Output: :class:`Piece` objects, each given to the
thread or handler that executed it and to the window that is open there, and the tallies for
conservation. The layers above decide when the context, the masks or the lock change: ``activities``
(exceptions and threads), ``marking`` (marks), ``windows`` (calls, returns, the stream itself).
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.contexts import (
    HISTORY_EVENTS,
    LONGEST_WINDOW,
    RESUMED,
    Armed,
    Context,
    Cut,
    Edge,
    OpenWindow,
    Piece,
    Window,
)
from wcetchar.analysis.floating_point import FloatContexts, uses_floating_point
from wcetchar.analysis.history import Timeline
from wcetchar.analysis.memory import KeptMasks
from wcetchar.analysis.registers import Registers
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.stops import stops_of
from wcetchar.analysis.threads import Threads
from wcetchar.errors import InputError, Location
from wcetchar.model.bits import NOTHING, Bits
from wcetchar.model.characterization import Blocking, Joint
from wcetchar.model.instruction import Flow, InstructionTable, MaskWrite
from wcetchar.model.masks import MaskState
from wcetchar.model.run import RunValues
from wcetchar.model.service import Part, Service, ServiceKind
from wcetchar.model.trace import EventBatch

_CALLS: Final = frozenset({Flow.CALL, Flow.CALL_INDIRECT, Flow.JUMP, Flow.JUMP_INDIRECT})
"""How a service is called; by a jump from a function that ends with the call."""


class Recorder:
    """The state of the search.

    Attributes:
        attributed: instructions in windows, by service.
        unattributed: instructions outside every window, by bucket.
        filtered: instructions that the capture left out.
        undecoded: executed instructions that the table does not know, all outside windows.
        inside: (outer, inner) -> calls of a service without marks inside another one's window, or
            between its marks; they are counted there.
        given_up: (service, reason) -> calls of a service without marks that gave no window.
        missed: services of which whole invocations may be among these, so that the largest window
            need not be the largest invocation of the trace.
        switching: (table index of the entry, exception) of handlers that can go on with another
            thread than they interrupted, or were entered by a supervisor call.
        resumed: forms under which threads went on after these.
        outside: where no service's window is open, how many instructions at most a handler or a
            thread went on with masked interrupts, by what it went on from.
    """

    def __init__(
        self,
        resolved: Resolved,
        path: str,
        *,
        has_exceptions: bool = True,
        has_addresses: bool = True,
        run: RunValues | None = None,
        registers_persist: bool = False,
    ) -> None:
        self.attributed: Counter[str] = Counter()
        self.unattributed: Counter[str] = Counter()
        self.switching: set[tuple[int, int]] = set()
        self.resumed: set[Blocking] = set()
        self.outside: dict[Joint, int] = {}
        self._going_on: tuple[Context, Joint] | None = None
        self._gone_on = 0
        self.filtered = 0
        self.undecoded = 0
        self.traced = 0
        self.inside: Counter[tuple[str, str]] = Counter()
        self.given_up: Counter[tuple[str, str]] = Counter()
        self.missed: set[str] = set()
        self._values = run or RunValues()
        unmarked = {i: resolved.unmarked(i, self._values) for i in resolved.entries}
        self._unmarked = {
            i: [s for s in found if s.kind is not ServiceKind.ACTIVATION]
            for i, found in unmarked.items()
        }
        self._unmarked_threads = {
            s.name for found in unmarked.values() for s in found if s.kind is ServiceKind.ACTIVATION
        }
        self._registers = Registers(persist=registers_persist)
        self._open_calls: dict[int, OpenWindow] = {}
        """Windows without marks that are open, by identity: a thread can vanish with its window."""
        self._resolved = resolved
        self._table: InstructionTable = resolved.table
        self._path = path
        self._has_exceptions = has_exceptions
        self._stops = stops_of(resolved)
        self._flags: list[int] = self._stops.tolist()
        self._masks = MaskState.at_reset(resolved.table.exceptions)
        self._lock = 0
        self._context = Context("thread 0")
        self._nested: list[Context] = []
        self._handlers_switch = False
        """A function has switched threads for a handler: which exception a return is from is then
        no matter of nesting."""
        self._leaving = False
        """The last instruction returned from an exception, and no event of the trace says so."""
        self._suspended = Threads()
        self._kept = KeptMasks()
        self._timeline = Timeline()
        self._armed_handlers: dict[str, Armed] = {}
        """By the service's name, also of activations: what runs is another context than marks."""
        self._ended: dict[str, Armed] = {}
        """Final calls whose thread is gone; another one leaves the end mark."""
        self._done: list[Window] = []
        self._mask_states: dict[MaskState, MaskState] = {}
        """Each once: the same masks come back time and again."""
        self._after_writes: dict[tuple[MaskState, int, int, int], MaskState] = {}
        """By the state before, a write of the table (its id), and what is known of its value."""
        self._floats: FloatContexts | None = None
        if uses_floating_point(resolved.table):
            self._floats = FloatContexts(
                resolved.table,
                resolved.image.entry,
                resolved.services.float_context,
                has_addresses=has_addresses,
            )
        # the current batch and the run of it that is not yet given to the current context
        self._batch: EventBatch | None = None
        self._index: npt.NDArray[np.int32] = np.empty(0, dtype=np.int32)
        self._counted: npt.NDArray[np.int64] = np.zeros(1, dtype=np.int64)
        self._run = (0, 0)
        self._blocking = self._masks.blocking(False)

    def _extend(self, low: int, high: int) -> None:
        if low == high:
            return
        start, end = self._run
        if end == low and start != end:
            self._run = (start, high)
        else:
            self._flush()
            self._run = (low, high)

    def _pending(self) -> int:
        """Instructions of the run that is not yet given to the current context."""
        low, high = self._run
        return int(self._counted[high]) - int(self._counted[low])

    def _flush(self) -> None:
        """Gives the pending run of events to the current context."""
        low, high = self._run
        if low == high or self._batch is None:
            return
        self._run = (high, high)
        context = self._context
        instructions = int(self._counted[high]) - int(self._counted[low])
        context.instructions += instructions
        if self._floats is not None:
            self._floats.executed(
                context,
                self._batch.kind[low:high],
                self._batch.address[low:high],
                self._index[low:high],
            )
        window = context.window
        if self._going_on is not None and instructions:
            if context is self._going_on[0] and self._blocking.masks:
                self._gone_on += instructions
            else:
                self._settle()
        if window is None:
            self.unattributed[context.name] += instructions
            if high - low > HISTORY_EVENTS:
                # What came before would no longer join on. It may have written to memory, though.
                context.forget()
                self._timeline.add(context, self._piece(low, high - HISTORY_EVENTS))
                low = high - HISTORY_EVENTS
        piece = self._piece(low, high)
        piece.behind_reads, context.behind_reads = context.behind_reads, 0
        piece.behind, context.behind = context.behind, -1
        context.remember(piece)
        self._timeline.add(context, piece)
        if window is None:
            return
        if window.given_up:
            self.unattributed[bucket_of(window)] += instructions
            return
        self.attributed[window.service.name] += instructions
        window.pieces.append(piece)
        window.instructions += instructions
        if window.instructions > LONGEST_WINDOW:
            if window.marked:
                raise self._error(
                    f"a window of {window.service.name} has more than {LONGEST_WINDOW:,} "
                    "instructions",
                    expected="a call or handler that ends before",
                    hint="characterize the functions that it calls, and let its parameters be "
                    "smaller",
                )
            self._give_up(window, f"it has more than {LONGEST_WINDOW:,} instructions", missed=True)

    def _piece(self, low: int, high: int) -> Piece:
        assert self._batch is not None
        return Piece(
            self._batch.kind[low:high],
            self._batch.address[low:high],
            self._batch.size[low:high],
            self._index[low:high],
            self._blocking,
        )

    def _changed(self) -> None:
        """The masks, the lock or the context changed: what follows has another blocking form."""
        self._flush()
        self._blocking = self._form()

    def _write_masks(self, write: MaskWrite, held: Bits = NOTHING) -> None:
        """An instruction, or the hardware, does this to a mask register; as of
        ``MaskState.after``."""
        key = (self._masks, id(write), held.value, held.known)
        found = self._after_writes.get(key)
        if found is None:
            found = self._masks.after(write, held)
            found = self._mask_states.setdefault(found, found)
            self._after_writes[key] = found
        self._masks = found

    def _masked(self) -> bool:
        """Interrupts are, for all that is known."""
        return self._blocking.interrupts or self._blocking.priority is not None

    def _goes_on(self, joint: Joint) -> None:
        """The current context goes on with what the one before it held off."""
        self._settle()
        window = self._context.window
        if self._masked() and (window is None or window.given_up):
            self._going_on, self._gone_on = (self._context, joint), 0

    def _settle(self) -> None:
        if self._going_on is not None:
            joint = self._going_on[1]
            self.outside[joint] = max(self.outside.get(joint, 0), self._gone_on)
            self._going_on = None

    def _form(self) -> Blocking:
        """The blocking form that the masks, the lock and the context make now."""
        locked = self._lock > 0 or self._context.exception is not None
        return self._masks.blocking(locked)

    def _unlocking(self) -> int:
        """Unlock functions that are being executed."""
        return sum(len(c.unlocking) for c in (self._context, *self._nested))

    def _begin(
        self,
        context: Context,
        armed: Armed,
        depth: int,
        exception: int | None,
    ) -> OpenWindow:
        self._flush()
        self._settle()
        armed.windows += 1
        window = context.window = OpenWindow(
            armed.service,
            armed.values,
            depth,
            exception=exception,
            from_handler=bool(self._nested and self._nested[-1].exception is not None),
            masks=self._masks,
            lock=self._lock,
            in_handler=context.exception is not None,
            called=self._is_called(armed.service, context),
            context=context.number,
        )
        if exception is None:
            window.begin = Edge(Joint.CALLER, self._blocking)
        elif context.by_call:
            window.begin = Edge(Joint.HANDLER, self._blocking)
        if self._floats is not None and exception is not None and self._nested:
            self._floats.opened(window, context, self._nested[-1])
        return window

    def _is_called(self, service: Service, context: Context) -> bool:
        """What the context executed last called the service, and accessed nothing."""
        if context.last < 0 or service.kind in (ServiceKind.HANDLER, ServiceKind.ACTIVATION):
            return False
        last = self._table.instructions[context.last]
        return last.flow in _CALLS and not last.conditional and last.memory is None

    def _new_thread(self, *, begins: bool = False) -> Context:
        """A thread of which nothing is known, or that ``begins``."""
        thread = Context("thread")
        if self._floats is not None and (not begins or self.filtered or self.undecoded):
            thread.used_float = True
        return thread

    def _give_up(self, window: OpenWindow, reason: str, *, missed: bool = False) -> None:
        """A window without marks that cannot be counted: its instructions go to a bucket.
        ``missed``: it may be a whole invocation all the same."""
        self._flush()
        if missed:
            self.missed.add(window.service.name)
        if window.given_up:
            return
        window.given_up = True
        self._take_from(window)
        self.unattributed[bucket_of(window)] += window.instructions
        self.given_up[window.service.name, reason] += 1
        window.pieces.clear()

    def _take_from(self, window: OpenWindow) -> None:
        """Takes what a window holds from its service."""
        name = window.service.name
        self.attributed[name] -= window.instructions
        if not self.attributed[name]:
            del self.attributed[name]

    def _close(self, context: Context, end: Edge | None = None) -> None:
        """The context's window ends: by a return to its caller, if nothing else is said."""
        self._flush()
        window = context.window
        assert window is not None
        context.window = None
        kind = window.service.kind
        if kind is ServiceKind.FINAL_CALL:
            raise self._error(
                f"{window.service.name} returned",
                expected="a final call: another thread runs, and the caller never does again",
                hint="its kind is `call`, or `blocking call` if another thread ran in between",
            )
        if kind is ServiceKind.BLOCKING_CALL and not window.cut:
            raise self._error(
                f"{window.service.name} returned, and no other thread ran in between",
                expected="a blocking call to be switched away every time",
                hint="mark calls that do not block as another service, of kind `call`",
            )
        part = Part.UNTIL_RETURN if window.cut else Part.WHOLE
        self._emit(window, part, end or Edge(Joint.CALLER, self._form()))

    def _note_cut(self, context: Context, *, switched: bool) -> None:
        """Something else goes on with what the context held off when it was left."""
        window = context.window
        if window is None:
            return
        cut = Cut(len(window.pieces), context.left, switched)
        if window.cuts and window.cuts[-1].pieces == cut.pieces:
            # Left again before its next instruction, by an interrupt: what its last one led to, a
            # supervisor call's handler that came back at once, say, is what the first was left for.
            first = window.cuts.pop()
            cut = replace(first, switched=first.switched or switched)
        window.cuts.append(cut)

    def _cut(self, context: Context) -> None:
        """The context's thread is switched away."""
        window = context.window
        if window is None:
            return
        kind = window.service.kind
        if kind not in (ServiceKind.BLOCKING_CALL, ServiceKind.FINAL_CALL):
            window.switched = True
            return
        if kind is ServiceKind.BLOCKING_CALL:
            self._switched_away(context, window)
            return
        window.left = context.left
        self._end_part(window, ())
        assert context.armed is not None
        self._ended[window.service.name] = context.armed
        context.window = context.armed = None

    def _switched_away(self, context: Context, window: OpenWindow) -> None:
        """A switch ends a part of the context's window, unless it has returned just before, which
        the thread's next instruction tells."""
        if window.ending:
            return  # for the second time since then
        window.left = context.left
        if context.returning:
            window.ending = True
        else:
            self._end_part(window, tuple(context.stack[window.depth :]))

    def _end_part(self, window: OpenWindow, calls: tuple[int, ...]) -> None:
        """The next part is empty so far, and begins inside ``calls``."""
        window.ending = False
        # Switched away again before its next instruction: nothing was executed in between.
        if window.pieces:
            part = Part.BETWEEN_SWITCHES if window.cut else Part.UNTIL_SWITCH
            self._emit(window, part, window.left)
        window.cut = True
        window.calls = calls
        window.begin = RESUMED
        window.called = False
        window.cuts = []
        window.pieces = []
        window.float_frames = []
        window.held = []

    def _emit(self, window: OpenWindow, part: Part, end: Edge) -> None:
        self._done.append(
            Window(
                window.service,
                window.values,
                tuple(window.pieces),
                window.exception,
                window.from_handler,
                window.switched,
                part,
                window.calls,
                window.yields,
                tuple(window.float_frames),
                window.exact,
                tuple(window.held),
                window.begin,
                end,
                tuple(window.cuts),
                window.masks,
                window.lock,
                window.in_handler,
                window.called,
                window.context,
            )
        )

    def _error(
        self, message: str, *, expected: str | None = None, hint: str | None = None
    ) -> InputError:
        return InputError(
            f"{message} (after {self.traced} instructions at most)",
            where=Location(self._path),
            expected=expected,
            hint=hint,
        )


def bucket_of(window: OpenWindow) -> str:
    """Where the instructions of a window go that was given up."""
    return f"{window.service.name}, no whole call"
