"""What a window did to memory and core: each event of it as an access class or core event.

Inputs: a :class:`Window`, a :class:`Resolved`, the instruction table's :class:`Columns`.
Output: :class:`Labelled`, one row per access or core event, in units of one.

Counted are, for the executed instructions i = 1..n of a window in their own order:

* one issue event each; a conditional branch that did not fall through counts as taken, a
  predicated load, store or transfer that had no effect as skipped. An event carries the section
  that it may have fetched from in vain: its own instruction's, and of a branch that fell through
  its target's;
* a pipeline refill after each transfer of control and after each barrier;
* stalls beside instructions, as ``stalls`` has them;
* fetches: every maximal run of sequential instructions fetches each aligned word it covers once;
  the first is the first of a burst, the others are next in it. ``realigned`` counts, per run, the
  word that the run would need more at a worse address modulo the fetch width:
  ceil((bytes + width - granule) / width) - words;
* the data accesses, by the section of their address. A multi-register transfer is a burst. A
  misaligned access is split into the aligned ones that a 32-bit bus needs (Armv7-M ARM, A3.2.1
  allows it; Cortex-M3 TRM, "Unaligned access"), beside one unaligned-access event;
* for handlers one exception entry, or one supervisor call entry where nothing else enters (of
  unknown section: what it discards was fetched for the code that it interrupts), and one exit, and
  what the hardware does there by itself, which no emulator reports: the frame that it writes and
  reads, the vector (``ExceptionModel``); for any window the floating-point part of frames, where
  ``floating_point`` says that it is moved.

Soundness: what follows an instruction must be one of its successors, and the accesses must be
those that the table promises; anything else is an error, because then the trace, the image or the
table is wrong. Where a format has no data addresses, the accesses are taken from the table and
their section is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.data_accesses import Accesses, DataAccesses, Seen
from wcetchar.analysis.executed import Executed, Program
from wcetchar.analysis.joint import JointSections
from wcetchar.analysis.labelled import Labelled, Rows, Waits
from wcetchar.analysis.line_entries import LineEntries
from wcetchar.analysis.line_loads import LineLoads
from wcetchar.analysis.meanwhile import Meanwhile
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.stretch_lines import StretchLines
from wcetchar.analysis.successions import Gaps, Successions, gaps
from wcetchar.analysis.used_lines import DataUse, Touched, Words
from wcetchar.counting.columns import (
    FLOW,
    KIND,
    NO_SECTION,
    OPERATION,
    PATTERN,
    WIDTH_OF_BYTES,
    Codes,
    Columns,
    access_code,
    event_code,
)
from wcetchar.counting.fetched_again import near
from wcetchar.counting.fetches import fetches_of
from wcetchar.counting.issue import issue_events
from wcetchar.counting.stalls import Stalls
from wcetchar.model.access import EventKind, Operation, Pattern
from wcetchar.model.characterization import Blocking
from wcetchar.model.instruction import ExceptionModel, Flow
from wcetchar.model.service import SectionKind
from wcetchar.model.trace import Event


class Labeller:
    """Labels windows of one image; ``blockings`` grows as new blocking forms appear."""

    def __init__(
        self,
        resolved: Resolved,
        path: str,
        *,
        has_addresses: bool = True,
        successions: bool = False,
        data_lines: Sequence[int] = (),
        joint: JointSections | None = None,
    ) -> None:
        """``data_lines``: bytes of a data cache's line, of which line loads are counted.
        ``joint``: by which accesses are told apart, over all traces."""
        self.successions = Successions(resolved.section_names) if successions else None
        self.blockings: list[Blocking] = []
        self._numbers: dict[Blocking, int] = {}
        self._resolved = resolved
        self._columns = Columns(resolved.table)
        is_code = np.array([s.kind is SectionKind.CODE for s in resolved.services.sections])
        self._program = Program(resolved, self._columns, path, has_addresses, is_code)
        self.joint = JointSections(resolved) if joint is None else joint
        self._data = DataAccesses(self._program, self.joint)
        self._loads = LineLoads(data_lines) if data_lines else None
        self._stalls = Stalls(self._columns)
        self.lines = LineEntries(self._columns, resolved.code_section.astype(np.int64))
        self._target_section = resolved.target_section
        names = resolved.section_names
        services = resolved.services
        self._vector_section, self._main_stack, self._task_stack = (
            NO_SECTION if name is None else names.index(name)
            for name in (services.vector_section, services.main_stack, services.task_stack)
        )

    def blocking_number(self, blocking: Blocking) -> int:
        number = self._numbers.get(blocking)
        if number is None:
            number = self._numbers[blocking] = len(self.blockings)
            self.blockings.append(blocking)
        return number

    @cached_property
    def is_call(self) -> npt.NDArray[np.bool_]:
        """By table index: the instruction calls a function."""
        return np.isin(self._columns.flow, [FLOW[Flow.CALL], FLOW[Flow.CALL_INDIRECT]])

    @cached_property
    def _near(self) -> npt.NDArray[np.bool_]:
        """By table index: what is fetched with it once more is still there."""
        return near(self._resolved.table, self._resolved.code_section.astype(np.int64))

    @property
    def exceptions(self) -> ExceptionModel:
        """What the hardware does around handlers."""
        return self._resolved.table.exceptions

    def adopt(self, other: Labeller) -> None:
        """Goes on with the blocking numbers of another trace's labeller."""
        self.blockings, self._numbers = other.blockings, other._numbers
        self.successions = other.successions

    def label(self, window: Window) -> Labelled:
        """Labels every event of a window.

        Raises:
            InputError: control went where no instruction sends it, accesses that the table does
                not explain, an address that no logical section claims.
        """
        executed, accesses = self._events(window)
        rows = Rows(executed.blocking, executed.index)
        seen = self._data.add(window, executed, accesses, rows)
        cuts = _cuts(window)
        made = rows.so_far() if self.successions is not None else None
        taken = executed.taken()
        last = len(executed.index) - 1
        accessed = seen.made > 0 if self._program.has_addresses else np.ones(last + 1, dtype=bool)
        columns, section = self._columns, executed.section
        for event in issue_events(
            columns, executed.index, taken, accessed, section, self._target_section
        ):
            rows.add(*event)
        stalls = tuple(
            self._stalls.of(executed.index, executed.address, executed.end, taken, window.behind)
        )
        for kind_, where in stalls:
            rows.add(event_code(section[where], KIND[kind_]), where)
        # Before anything else is held: this needs the most memory.
        entered = self.lines.count(
            executed.index, executed.address, executed.end, taken, stalls, cuts
        )
        fetches = fetches_of(
            columns,
            executed.index,
            executed.address,
            executed.end,
            section,
            taken | executed.barrier,
        )
        for event in fetches.events(section):
            rows.add(*event)
        lasts, more = fetches.realigned(0, last)
        realigned = np.repeat(lasts, more)
        rows.add(fetches.code[realigned], realigned)
        if window.exception is not None:
            self._frame(window, rows, last + 1)
        self._float_frames(window, rows)
        found = None
        barriers = np.flatnonzero(executed.barrier)
        if made is not None:
            found = self._gaps(window, executed, taken, made, cuts, rows)
            successions = found.within(0, last)
            rows.add(*successions)
            Meanwhile.of(found.numbers, successions, cuts, barriers).add_to(entered)
        entered.asked.clear()
        use = None
        if self._loads is not None:
            use = self._load_lines(self._loads, window, executed, taken, seen, cuts, rows)
        waits = Waits(executed.address, executed.end, stalls, cuts, barriers)
        return rows.finish(taken, fetches, entered, waits, found, use)

    def _events(self, window: Window) -> tuple[Executed, Accesses]:
        """Instructions of a window, and what they accessed."""
        kind = np.concatenate([p.kind for p in window.pieces])
        address = np.concatenate([p.address for p in window.pieces]).astype(np.int64)
        size = np.concatenate([p.size for p in window.pieces]).astype(np.int64)
        index = np.concatenate([p.index for p in window.pieces]).astype(np.int64)
        form = np.repeat(
            np.array([self.blocking_number(p.blocking) for p in window.pieces], dtype=np.int64),
            [len(p.kind) for p in window.pieces],
        )
        at = np.flatnonzero(index >= 0)
        executed = Executed(window, index[at], address[at], size[at], form[at], self._program)
        data = np.flatnonzero((kind >= Event.READ) & (kind <= Event.ACCESS))
        owner = np.searchsorted(at, data) - 1
        return executed, Accesses(owner, kind[data].astype(np.int64), address[data], size[data])

    def _gaps(
        self,
        window: Window,
        executed: Executed,
        taken: npt.NDArray[np.bool_],
        made: tuple[Codes, Codes],
        cuts: Codes,
        rows: Rows,
    ) -> Gaps:
        assert self.successions is not None
        code, where = rows.so_far()
        is_event = code >> 8 & 1 != 0
        data = made[0] >> 8 & 1 == 0
        return gaps(
            self.successions,
            (self.joint.made_by(made[0][data], executed.index[made[1][data]]), made[1][data]),
            (code[is_event] & 0xFF, where[is_event]),
            executed.section,
            self._stalls.late(executed.index, taken),
            tuple(cuts.tolist()),
            window.behind_reads,
            window.is_called,
            bool(window.float_frames)
            or (window.exception is not None and self.exceptions.frame_words > 0),
            self._loads is not None,
        )

    def _load_lines(
        self,
        loads: LineLoads,
        window: Window,
        executed: Executed,
        taken: npt.NDArray[np.bool_],
        seen: Seen,
        cuts: Codes,
        rows: Rows,
    ) -> DataUse:
        holds = np.array([(b.masks, b.holds_preemption) for b in self.blockings], dtype=bool)
        held = holds[executed.blocking]
        begins = np.flatnonzero((held[1:] & ~held[:-1]).any(axis=1)) + 1
        frames = {frame.position for frame in window.float_frames}
        apart = frames | set(cuts.tolist())
        near = self._near[executed.index]
        loads.add(seen.accesses, seen.section, apart, begins.tolist(), taken, near, rows)
        words = [*self._hardware_reads(window, len(executed.index) - 1)]
        for section, number, position in words:
            loads.add_unknown(section, number, position, rows)
        made = seen.accesses
        touched = Touched(
            made.owner,
            made.address,
            made.address + made.size - 1,
            made.kind == Event.WRITE,
            self._resolved.sections_of(made.address.astype(np.uint64)).astype(np.int64),
        )
        return DataUse(loads.sizes, touched, apart, words)

    def _hardware_reads(self, window: Window, last: int) -> Iterator[Words]:
        """Frames and vectors that are read without an instruction."""
        model = self._resolved.table.exceptions
        for frame in window.float_frames:
            if not frame.write:
                yield self._stack(frame.on_main_stack), model.float_words, frame.position
        if window.exception is not None:
            yield self._stack(window.from_handler), model.frame_words, last
            yield self._vector_section, model.vector_reads, 0

    @cached_property
    def stretch_lines(self) -> StretchLines:
        """What goes on while stretches load lines."""
        return StretchLines(self.lines)

    def supervisor_calls(self, labelled: Labelled) -> int:
        """How often the window enters a handler by itself, and goes on when that has returned."""
        flow = self._columns.flow[labelled.index]
        return int((flow == FLOW[Flow.SUPERVISOR_CALL]).sum())

    def calls_supervisor_masked(self, labelled: Labelled) -> bool:
        """It enters a handler by itself while interrupts are masked."""
        calls = self._columns.flow[labelled.index] == FLOW[Flow.SUPERVISOR_CALL]
        forms = np.unique(labelled.blocking[calls]).tolist()
        return any(self.blockings[form].masks for form in forms)

    # --- what the hardware does --------------------------------------------------------------

    def _frame(self, window: Window, rows: Rows, count: int) -> None:
        model = self._resolved.table.exceptions
        stack = self._stack(window.from_handler)
        word = np.array([WIDTH_OF_BYTES[4]])
        single, first, after = (
            np.array([PATTERN[p]]) for p in (Pattern.SINGLE, Pattern.FIRST, Pattern.NEXT)
        )
        vector, frame = np.array([self._vector_section]), np.array([stack])
        for position, operation, event in (
            (0, Operation.WRITE, model.entry(window.service.exceptions)),
            (count - 1, Operation.READ, EventKind.EXCEPTION_EXIT),
        ):
            where = np.array([position])
            # What entry discards was fetched for whatever was interrupted, wherever that lies.
            section = (
                rows.section_of(where, self._resolved)
                if event is EventKind.EXCEPTION_EXIT
                else np.array([NO_SECTION])
            )
            rows.add(event_code(section, KIND[event]), where)
            for pattern, words in (
                (first, min(model.frame_words, 1)),
                (after, model.frame_words - 1),
            ):
                code = access_code(frame, OPERATION[operation], word, pattern)
                rows.add(np.repeat(code, max(words, 0)), np.repeat(where, max(words, 0)))
        read = access_code(vector, OPERATION[Operation.READ], word, single)
        rows.add(np.repeat(read, model.vector_reads), np.repeat(0, model.vector_reads))

    def _float_frames(self, window: Window, rows: Rows) -> None:
        """Floating-point parts of exception frames: a burst of words, and an event."""
        word, first, after = (
            np.array([code])
            for code in (WIDTH_OF_BYTES[4], PATTERN[Pattern.FIRST], PATTERN[Pattern.NEXT])
        )
        further = self._resolved.table.exceptions.float_words - 1
        for frame in window.float_frames:
            where = np.array([frame.position])
            stack = np.array([self._stack(frame.on_main_stack)])
            operation, event = (
                (Operation.WRITE, EventKind.FLOAT_CONTEXT_SAVE)
                if frame.write
                else (Operation.READ, EventKind.FLOAT_CONTEXT_RESTORE)
            )
            rows.add(event_code(rows.section_of(where, self._resolved), KIND[event]), where)
            rows.add(access_code(stack, OPERATION[operation], word, first), where)
            next_word = access_code(stack, OPERATION[operation], word, after)
            rows.add(np.repeat(next_word, further), np.repeat(where, further))

    def _stack(self, main: bool) -> int:
        """The section of the main stack, or of a task's."""
        return self._main_stack if main else self._task_stack


def _cuts(window: Window) -> Codes:
    """Before which of the window's instructions another thread ran, or the handler that it called.

    An interrupt that came back is none: the window is counted as it is without.
    """
    return np.unique(window.begins[[cut.pieces for cut in window.cuts]])
