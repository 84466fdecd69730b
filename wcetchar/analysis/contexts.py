"""Threads and handlers: who executes, on which shadow call stack, and what it has recorded.

A trace has no registers, so the stack pointer is not known. What is known: calls push a return
address, and control that comes back to one of them has returned; hardware exceptions nest; and a
context switch saves registers to an address and later restores them from the same address, which
names the thread.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import count

import numpy as np
import numpy.typing as npt

from wcetchar.model.bits import NOTHING, Bits
from wcetchar.model.characterization import Blocking, Joint
from wcetchar.model.masks import MaskState
from wcetchar.model.service import Part, Service
from wcetchar.model.trace import Event

LONGEST_WINDOW = 1 << 20
"""Instructions. A window is kept whole until it is counted, at some 300 bytes an instruction."""
HISTORY_EVENTS = 32768
"""Events that a context remembers for following mask values backwards."""
MOST_READS = 16
"""Instructions that read behind a last write, of which more are told as so many."""


@dataclass
class Piece:
    """Consecutive own events of a context under one blocking form; views of a batch's columns,
    which stays in memory as long as one of its pieces does that was not detached."""

    kind: npt.NDArray[np.uint8]
    address: npt.NDArray[np.uint64]
    size: npt.NDArray[np.uint8]
    index: npt.NDArray[np.int32]
    """Index into the instruction table for INSTRUCTION events, -1 otherwise."""
    blocking: Blocking
    serial: int = 0
    """Place in the order in which the pieces of all contexts ran."""
    behind_reads: int = 0
    """What it goes on behind is a handler that read last (``Context.behind_reads``)."""
    behind: int = -1
    """Table index of another thread's instruction that was executed right before it, the load that
    switched threads; -1: it goes on behind its own, or behind what the hardware did."""

    @cached_property
    def written(self) -> frozenset[int]:
        """Aligned words that it may have written to, by a fourth of their addresses. An access of
        unknown direction counts as a write, one of unknown size as eight bytes long."""
        at = np.flatnonzero((self.kind == Event.WRITE) | (self.kind == Event.ACCESS))
        places = zip(self.address[at].tolist(), self.size[at].tolist(), strict=True)
        return frozenset(
            word
            for address, size in places
            for word in range(address >> 2, (address + (size or 8) - 1 >> 2) + 1)
        )

    @property
    def is_detached(self) -> bool:
        """It keeps no batch in memory."""
        return self.kind.base is None

    def detach(self) -> None:
        """Views become copies."""
        self.kind, self.address = self.kind.copy(), self.address.copy()
        self.size, self.index = self.size.copy(), self.index.copy()


@dataclass(frozen=True)
class FloatFrame:
    """The hardware transfers the floating-point part of an exception frame.

    Attributes:
        position: which instruction of the window (0..n-1) it happens at.
        write: it is written, else read.
        on_main_stack: it is a handler that was interrupted.
    """

    position: int
    write: bool
    on_main_stack: bool


@dataclass(frozen=True)
class Edge:
    """Where a window, or a part of it, touches another activity.

    Attributes:
        joint: what runs on the other side.
        blocking: what is held off across the edge; nothing where the activity on the other side is
            one of its own, such as an interrupt that was let in.
    """

    joint: Joint = Joint.CALLER
    blocking: Blocking = Blocking()  # noqa: RUF009  (frozen)

    def switched(self) -> Edge:
        """The same where another thread goes on: that preemption was locked is over, for here it
        happens. The masks are the core's and stay."""
        return replace(self, blocking=replace(self.blocking, preemption=False))


RESUMED = Edge(Joint.THREAD, Blocking(interrupts=True))
"""Of a thread that is switched in: held across the switch is whatever its next instruction is held
under."""


@dataclass(frozen=True)
class Cut:
    """Where something else ran inside of a window that goes on with what is blocked there.

    Attributes:
        pieces: number of those before it.
        edge: what the last of them touches: the handler of a supervisor call, or another thread.
        switched: another thread ran; otherwise the handler came back at once.
    """

    pieces: int
    edge: Edge
    switched: bool = False


@dataclass(frozen=True)
class Window:
    """One invocation of a service: its own events, interrupts and other threads left out.

    Attributes:
        values: parameter values, in the order of the service's parameters.
        pieces: own events in order; a new piece starts wherever the blocking form changes.
        exception: number of the exception whose handler this is, ``None`` for a call.
        from_handler: the exception interrupted another handler (its frame is on the main stack).
        switched: the thread was switched away inside the window, which was not cut there.
        part: what of the invocation this is.
        calls: where the calls return to that an earlier part of the invocation has left open.
        yields: supervisor calls of it that switched the thread away.
        float_frames: what the hardware transfers of floating-point registers.
        exact: no exception cut it, so that it is the same on every core.
        held: what blocked where a function called by it switched threads away.
        begin, end: what was executed right before and right after.
        cuts: where other activities ran in between that go on with what is blocked here.
        masks, lock: mask registers, and how often the scheduler was locked, where the invocation
            began.
        in_handler: a handler executes it: it is one, or called by one.
        is_called: it begins right behind an instruction that transferred control, and accessed
            nothing.
        context: number of the thread, or of the handler's activation, that executed it.
    """

    service: Service
    values: tuple[int, ...]
    pieces: tuple[Piece, ...]
    exception: int | None = None
    from_handler: bool = False
    switched: bool = False
    part: Part = Part.WHOLE
    calls: tuple[int, ...] = ()
    yields: int = 0
    float_frames: tuple[FloatFrame, ...] = ()
    exact: bool = True
    held: tuple[Blocking, ...] = ()
    begin: Edge = Edge()
    end: Edge = Edge()
    cuts: tuple[Cut, ...] = ()
    masks: MaskState = MaskState()  # noqa: RUF009  (frozen)
    lock: int = 0
    in_handler: bool = False
    is_called: bool = False
    context: int = field(default=0, compare=False)

    @property
    def name(self) -> str:
        """The name that it is published under."""
        return self.part.of(self.service.name)

    @property
    def behind_reads(self) -> Mapping[int, int]:
        """Instructions of it that go on behind a handler that read last, and by how many of its
        instructions."""
        goes_on = [cut.pieces for cut in self.cuts if cut.pieces < len(self.pieces)]
        if self.part in (Part.BETWEEN_SWITCHES, Part.UNTIL_RETURN):
            goes_on.append(0)
        begins = self.begins.tolist()
        reads = {begins[n]: self.pieces[n].behind_reads for n in goes_on}
        return {first: number for first, number in reads.items() if number}

    @property
    def behind(self) -> int:
        """As of its first piece."""
        return self.pieces[0].behind

    @cached_property
    def begins(self) -> npt.NDArray[np.int64]:
        """At which of its instructions each piece begins, and how many there are."""
        executed = [(piece.index >= 0).sum() for piece in self.pieces]
        return np.concatenate(([0], np.cumsum(executed))).astype(np.int64)


@dataclass
class OpenWindow:
    service: Service
    values: tuple[int, ...]
    depth: int
    """Length of the shadow stack at entry; the window ends when it becomes shorter."""
    pieces: list[Piece] = field(default_factory=list)
    instructions: int = 0
    exception: int | None = None
    from_handler: bool = False
    switched: bool = False
    cut: bool = False
    """A part of it ended with a switch; ``pieces`` are those since."""
    ending: bool = False
    """The thread was switched away right behind a return: perhaps that of the call."""
    calls: tuple[int, ...] = ()
    """Return addresses of the calls that were open there."""
    yields: int = 0
    exact: bool = True
    """No exception has cut it so far."""
    held: list[Blocking] = field(default_factory=list)
    """What blocked at switches by a function that it called."""
    float_frames: list[FloatFrame] = field(default_factory=list)
    begin: Edge = field(default_factory=Edge)
    cuts: list[Cut] = field(default_factory=list)
    left: Edge = field(default_factory=Edge)
    """How its thread was last switched away."""
    marked: bool = True
    """The firmware marks it: what goes wrong is an error. Otherwise the window is given up."""
    given_up: bool = False
    """What is executed up to its end belongs to no window."""
    masks: MaskState = field(default_factory=MaskState)
    lock: int = 0
    in_handler: bool = False
    called: bool = False
    """What was executed right before this part transferred control, and accessed nothing."""
    context: int = 0
    otherwise: Armed | None = None
    """What it is if it returns although its service's kind says that it does not, or is not
    switched away although that says that it is."""
    left_at: int | None = None
    """Of a final call without marks: pieces that there were when it was last switched away."""


@dataclass
class Armed:
    """A begin mark was seen; the next entry of the service opens a window."""

    service: Service
    values: tuple[int, ...]
    windows: int = 0


@dataclass(eq=False)
class ExtendedFrame:
    """Room for floating-point registers in the frame of an interrupted context.

    Attributes:
        written: the registers were saved there.
        counted_for: the handler whose entry has been taken to save them.
    """

    on_main_stack: bool
    written: bool = False
    counted_for: Context | None = None


_numbers = count()


@dataclass
class Context:
    """A thread, or one activation of an exception handler (``exception`` is then its number)."""

    name: str
    exception: int | None = None
    stack: list[int] = field(default_factory=list)
    armed: Armed | None = None
    window: OpenWindow | None = None
    parameters: dict[int, int] = field(default_factory=dict)
    """Parameter values marked since the last end mark."""
    last: int = -1
    """Table index of the last own instruction, -1 where it is not known."""
    returning: bool = False
    """The last own instruction may have returned, or may be a call that was skipped: the next one
    tells."""
    resumed: bool = False
    """A switch just went on with this thread: the next instruction has to follow its last one."""
    unlocking: list[int] = field(default_factory=list)
    """Depths of the shadow stack at which an unlock function was entered."""
    locking: list[int] = field(default_factory=list)
    """The same of lock functions. A thread that is switched away inside one has not locked the
    scheduler yet, and has when it goes on."""
    handlers: list[int] = field(default_factory=list)
    """In a trace without exceptions: depths of the shadow stack at which handlers began."""
    recent: deque[Piece] = field(default_factory=deque)
    recent_events: int = 0
    instructions: int = 0
    mask_reads: dict[int, Bits] = field(default_factory=dict)
    """Own instruction number -> what is known of it, for reads of a mask register."""
    saved: tuple[int, int] | None = None
    restored: tuple[int, int] | None = None
    """Addresses (first, end) that a handler's own code saved registers to and restored them
    from."""
    frame: str | None = None
    """What the next accesses belong to: ``saved``, ``restored``, ``masks``, ``stacked``, ``switch``
    or nothing."""
    stacks: bool = False
    """The next access stores the stack pointer."""
    stacked: int | None = None
    """Address that its own code has stored the stack pointer to since it last went on."""
    storing: Bits = NOTHING
    """What is known of the word that the next access stores, where that is of ``masks``."""
    called: bool = False
    """A handler that a supervisor call entered."""
    by_call: bool = False
    """The same, also where such a handler cannot switch threads."""
    left: Edge = field(default_factory=Edge)
    """What something else took over from its last own instruction."""
    behind_reads: int = 0
    """What it goes on behind is a handler that read last, by so many instructions."""
    behind: int = -1
    """Table index of the load that it goes on behind, where another thread switched to it by one.
    Also if it is interrupted first: windows are counted as they are without interrupts."""
    entry: int | None = None
    """Of a handler that a service names: table index of its first instruction."""

    gapped: bool = False
    """A capture filter left out some of its instructions."""

    runs: tuple[Service, ...] = ()
    """Activations that are this thread's: it has entered one of their functions."""
    runs_from: int = 0
    """Length of the shadow stack when it did; shorter, and the function has returned."""

    number: int = field(default_factory=lambda: next(_numbers))
    """Of no other context, gone ones included."""

    used_float: bool = False
    """It has executed a floating-point instruction, or may have."""
    unsure_float: int | None = None
    """The last own event was a predicated floating-point instruction at this position of the
    window: whether an access follows tells whether it was executed."""
    extended: ExtendedFrame | None = None
    """Its floating-point registers, while it is interrupted."""

    @property
    def inside(self) -> Service | None:
        """The marked service whose window is open here, or whose begin mark was seen."""
        if self.window is not None and self.window.marked:
            return self.window.service
        return None if self.armed is None else self.armed.service

    def remember(self, piece: Piece) -> None:
        """Keeps a piece for following values backwards, and drops the oldest ones."""
        self.recent.append(piece)
        self.recent_events += len(piece.kind)
        while self.recent_events - len(self.recent[0].kind) > HISTORY_EVENTS:
            self.recent_events -= len(self.recent.popleft().kind)

    @property
    def reads_last(self) -> int:
        """How many instructions read behind the last access that it remembers and that is no read;
        at most as many as tell anything."""
        found = 0
        goes_on = False  # what the piece behind begins with was made by the last instruction
        for piece in reversed(self.recent):
            begins = np.flatnonzero(piece.index >= 0)
            data = np.flatnonzero((piece.kind >= Event.READ) & (piece.kind <= Event.ACCESS))
            others = data[piece.kind[data] != Event.READ]
            reads = data[data > others[-1]] if len(others) else data
            made_by = set(np.searchsorted(begins, reads).tolist())
            if goes_on:
                made_by.add(len(begins))
            if len(others):
                made_by.discard(int(np.searchsorted(begins, others[-1])))
            goes_on = 0 in made_by
            found += len(made_by - {0})
            if len(others) or found >= MOST_READS:
                break
        return min(found, MOST_READS)

    def detach(self) -> None:
        """A thread that does not run keeps no batches in memory, but what it remembers of them."""
        for piece in reversed(self.recent):
            if piece.is_detached:
                break  # and so are those before, since it was switched away the last time
            piece.detach()

    def forget(self) -> None:
        """What was executed before is no longer known without a gap. (Reads of mask registers are
        told by the numbers of their instructions, which do not come again.)"""
        self.recent.clear()
        self.recent_events = 0

    def note_frame(self, address: int) -> None:
        """Takes an access of a register save or restore."""
        if self.frame == "saved":
            self.saved = _widened(self.saved, address)
        elif self.frame == "restored":
            self.restored = _widened(self.restored, address)


def _widened(span: tuple[int, int] | None, address: int) -> tuple[int, int]:
    """The span with one more word."""
    if span is None:
        return address, address + 4
    return min(span[0], address), max(span[1], address + 4)
