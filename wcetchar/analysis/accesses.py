"""What a window did to memory and core: each event of it as an access class or core event.

Inputs: a :class:`Window`, a :class:`Resolved`, the instruction table's :class:`Columns`.
Output: :class:`Labelled`, one row per access or core event, in units of one.

Counted are, for the executed instructions i = 1..n of a window in their own order:

* one issue event each; a conditional branch that did not fall through counts as taken, a
  predicated load, store or transfer that had no effect as skipped. An event carries the section
  that it may have fetched from in vain: its own instruction's, and of a branch that fell through
  its target's;
* a pipeline refill after each transfer of control and after each barrier;
* fetches: every maximal run of sequential instructions fetches each aligned word it covers once;
  the first is the first of a burst, the others are next in it. ``realigned`` counts, per run, the
  word that the run would need more at a worse address modulo the fetch width:
  ceil((bytes + width - granule) / width) - words;
* the data accesses, by the section of their address. A multi-register transfer is a burst. A
  misaligned access is split into the aligned ones that a 32-bit bus needs (Armv7-M ARM, A3.2.1
  allows it; Cortex-M3 TRM, "Unaligned access"), beside one unaligned-access event;
* for handlers one exception entry (of unknown section: what it discards was fetched for the code
  that it interrupts) and one exit, and what the hardware does there by itself, which
  no emulator reports: the frame that it writes and reads, the vector (``ExceptionModel``); for any
  window the floating-point part of frames, where ``floating_point`` says that it is moved.

Soundness: what follows an instruction must be one of its successors, and the accesses must be
those that the table promises; anything else is an error, because then the trace, the image or the
table is wrong. Where a format has no data addresses, the accesses are taken from the table and
their section is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.columns import (
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
    is_realigned,
    pack,
)
from wcetchar.analysis.contexts import Window
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.succession import impossible_table_jump, impossible_transfer
from wcetchar.errors import InputError, Location
from wcetchar.model.access import EventKind, Operation, Pattern
from wcetchar.model.characterization import Blocking
from wcetchar.model.instruction import Flow
from wcetchar.model.service import SectionKind
from wcetchar.model.trace import Event

_NOT_ITS_TRACE = (
    "the trace is damaged, was not made with this image, lacks its exceptions, "
    "or two threads were taken for one"
)


@dataclass(frozen=True)
class Fetches:
    """Instruction fetches of a window, one entry for each of its instructions.

    Attributes:
        width, granule: bytes of one fetch in the instruction's state, and what addresses of
            instructions are multiples of in that state.
        start, end: addresses of the instruction.
        opens: it begins a run of sequential instructions.
        words: fetches that it needs and the ones before it in its run did not make.
        code: its realigned fetch as an access class.
    """

    width: Codes
    granule: Codes
    start: Codes
    end: Codes
    opens: npt.NDArray[np.bool_]
    words: Codes
    code: Codes

    def realigned(self, first: int, last: int) -> tuple[Codes, Codes]:
        """How much more the instructions first..last can need at another address.

        Of b bytes at offset o of a fetch, a whole run needs ceil((o + b) / width) fetches, at most
        ceil((b + width - granule) / width). A run that was entered before ``first`` needs those
        that begin within the b bytes, at most ceil(b / width).

        Returns: the last instruction of each run within first..last, and the difference.
        """
        inside = slice(first, last + 1)
        opens = self.opens[inside].copy()
        opens[0] = True
        firsts = np.flatnonzero(opens)
        lasts = np.append(firsts[1:], len(opens)) - 1
        size = self.end[inside][lasts] - self.start[inside][firsts]
        width, granule = self.width[inside][firsts], self.granule[inside][firsts]
        lead = np.where(self.opens[inside][firsts], width - granule, 0)
        worst = -((-(size + lead)) // width)
        words = np.add.reduceat(self.words[inside], firsts)
        return lasts + first, worst - words


@dataclass(frozen=True)
class Labelled:
    """Parallel columns, one row per counted unit.

    Attributes:
        packed: (blocking number, key code, table index), see ``columns.pack``.
        position: which instruction of the window (0..n-1) the row belongs to.
        blocking: per instruction of the window, its blocking number.
        index: per instruction of the window, its table index.
        fetches: what each instruction fetches.
    """

    packed: Codes
    position: Codes
    blocking: Codes
    index: Codes
    fetches: Fetches

    @property
    def is_realigned(self) -> npt.NDArray[np.bool_]:
        """Which rows are realigned fetches."""
        return is_realigned(self.packed)

    def realigned(self, first: int, last: int) -> Codes:
        """Fetches, packed, that the instructions first..last can need more at another address."""
        where, more = self.fetches.realigned(first, last)
        return np.repeat(
            pack(self.blocking[where], self.fetches.code[where], self.index[where]), more
        )


class Labeller:
    """Labels windows of one image; ``blockings`` grows as new blocking forms appear."""

    def __init__(self, resolved: Resolved, path: str, *, has_addresses: bool = True) -> None:
        self.blockings: list[Blocking] = []
        self._numbers: dict[Blocking, int] = {}
        self._resolved = resolved
        self._columns = Columns(resolved.table)
        self._path = path
        self._has_addresses = has_addresses
        self._is_code = np.array([s.kind is SectionKind.CODE for s in resolved.services.sections])
        self._target_section = _target_sections(resolved, self._columns)
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

    @property
    def is_call(self) -> npt.NDArray[np.bool_]:
        """By table index: the instruction calls a function."""
        return np.isin(self._columns.flow, [FLOW[Flow.CALL], FLOW[Flow.CALL_INDIRECT]])

    def adopt(self, other: Labeller) -> None:
        """Goes on with the blocking numbers of another trace's labeller."""
        self.blockings, self._numbers = other.blockings, other._numbers

    def label(self, window: Window) -> Labelled:
        """Labels every event of a window.

        Raises:
            InputError: control went where no instruction sends it, accesses that the table does
                not explain, an address that no logical section claims.
        """
        kind = np.concatenate([p.kind for p in window.pieces])
        address = np.concatenate([p.address for p in window.pieces]).astype(np.int64)
        size = np.concatenate([p.size for p in window.pieces]).astype(np.int64)
        index = np.concatenate([p.index for p in window.pieces]).astype(np.int64)
        form = np.repeat(
            np.array([self.blocking_number(p.blocking) for p in window.pieces], dtype=np.int64),
            [len(p.kind) for p in window.pieces],
        )
        at = np.flatnonzero(index >= 0)
        executed = _Executed(
            window, at, index[at], address[at], size[at], form[at], self._columns, self
        )
        rows = _Rows(executed.blocking, executed.index)
        data = np.flatnonzero((kind >= Event.READ) & (kind <= Event.ACCESS))
        owner = np.searchsorted(at, data) - 1
        accesses = _Accesses(owner, kind[data].astype(np.int64), address[data], size[data])
        seen = self._data(window, executed, accesses, rows)
        taken = executed.taken()
        self._issue(executed, taken, seen, rows)
        fetches = self._fetch(executed, taken, rows)
        if window.exception is not None:
            self._frame(window, rows, len(at))
        self._float_frames(window, rows)
        return rows.finish(fetches)

    def supervisor_calls(self, labelled: Labelled) -> int:
        """How often the window enters a handler by itself, and goes on when that has returned."""
        flow = self._columns.flow[labelled.index]
        return int((flow == FLOW[Flow.SUPERVISOR_CALL]).sum())

    def calls_supervisor_masked(self, labelled: Labelled) -> bool:
        """It enters a handler by itself while interrupts are masked."""
        calls = self._columns.flow[labelled.index] == FLOW[Flow.SUPERVISOR_CALL]
        forms = np.unique(labelled.blocking[calls]).tolist()
        return any(self.blockings[form].masks for form in forms)

    # --- core events ------------------------------------------------------------------------

    def _issue(
        self, executed: _Executed, taken: npt.NDArray[np.bool_], seen: Codes, rows: _Rows
    ) -> None:
        columns, index = self._columns, executed.index
        issue = columns.issue[index].copy()
        conditional = columns.conditional[index]
        jump = columns.flow[index] == FLOW[Flow.JUMP]
        transfers = columns.transfers_control[index]
        issue[jump & conditional & taken] = KIND[EventKind.BRANCH_TAKEN]
        issue[jump & conditional & ~taken] = KIND[EventKind.BRANCH_UNTAKEN]
        promised = columns.reads[index] + columns.writes[index]
        no_effect = conditional & (seen == 0) & (promised > 0) & self._has_addresses
        no_effect |= conditional & transfers & ~jump & ~taken
        issue[no_effect] = KIND[EventKind.SKIPPED]
        section = executed.section
        everyone = np.arange(len(index))
        # A branch that falls through may have had its target fetched.
        fetched = np.where(jump & conditional & ~taken, self._target_section[index], section)
        rows.add(event_code(fetched, issue), everyone)
        refill = np.flatnonzero(taken | executed.barrier)
        rows.add(event_code(section[refill], KIND[EventKind.PIPELINE_REFILL]), refill)

    def _frame(self, window: Window, rows: _Rows, count: int) -> None:
        model = self._resolved.table.exceptions
        stack = self._main_stack if window.from_handler else self._task_stack
        word = np.array([WIDTH_OF_BYTES[4]])
        single, first, after = (
            np.array([PATTERN[p]]) for p in (Pattern.SINGLE, Pattern.FIRST, Pattern.NEXT)
        )
        vector, frame = np.array([self._vector_section]), np.array([stack])
        for position, operation, event in (
            (0, Operation.WRITE, EventKind.EXCEPTION_ENTRY),
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

    def _float_frames(self, window: Window, rows: _Rows) -> None:
        """Floating-point parts of exception frames: a burst of words, and an event."""
        word, first, after = (
            np.array([code])
            for code in (WIDTH_OF_BYTES[4], PATTERN[Pattern.FIRST], PATTERN[Pattern.NEXT])
        )
        further = self._resolved.table.exceptions.float_words - 1
        for frame in window.float_frames:
            where = np.array([frame.position])
            stack = np.array([self._main_stack if frame.on_main_stack else self._task_stack])
            operation, event = (
                (Operation.WRITE, EventKind.FLOAT_CONTEXT_SAVE)
                if frame.write
                else (Operation.READ, EventKind.FLOAT_CONTEXT_RESTORE)
            )
            rows.add(event_code(rows.section_of(where, self._resolved), KIND[event]), where)
            rows.add(access_code(stack, OPERATION[operation], word, first), where)
            next_word = access_code(stack, OPERATION[operation], word, after)
            rows.add(np.repeat(next_word, further), np.repeat(where, further))

    # --- fetches ----------------------------------------------------------------------------

    def _fetch(self, executed: _Executed, taken: npt.NDArray[np.bool_], rows: _Rows) -> Fetches:
        width = self._columns.fetch_bytes[executed.index]
        granule = self._columns.granule[executed.index]
        start, end = executed.address, executed.end
        count = len(start)
        opens = np.ones(count, dtype=bool)
        # A run is of one state: another one is fetched in other units.
        opens[1:] = (taken | executed.barrier)[:-1] | (width[1:] != width[:-1])
        last_word = (end - 1) // width
        before = np.empty(count, dtype=np.int64)
        before[1:] = last_word[:-1]
        before[opens] = (start // width)[opens] - 1
        words = last_word - before

        def codes(pattern: Pattern) -> Codes:
            return access_code(
                executed.section,
                OPERATION[Operation.FETCH],
                WIDTH_OF_BYTES[width],
                np.full(count, PATTERN[pattern]),
            )

        firsts = np.flatnonzero(opens)
        rows.add(codes(Pattern.FIRST)[firsts], firsts)
        further = words.copy()
        further[firsts] -= 1
        nexts = np.repeat(np.arange(count), further)
        rows.add(codes(Pattern.NEXT)[nexts], nexts)
        fetches = Fetches(width, granule, start, end, opens, words, codes(Pattern.REALIGNED))
        lasts, more = fetches.realigned(0, count - 1)
        realigned = np.repeat(lasts, more)
        rows.add(fetches.code[realigned], realigned)
        return fetches

    # --- data -------------------------------------------------------------------------------

    def _data(self, window: Window, executed: _Executed, accesses: _Accesses, rows: _Rows) -> Codes:
        """Adds data accesses; returns how many each instruction made."""
        columns = self._columns
        count = len(executed.index)
        if not self._has_addresses:
            self._promised(executed, rows)
            return np.zeros(count, dtype=np.int64)
        owner_index = executed.index[accesses.owner]
        # QEMU carries out a store-exclusive as compare-and-swap, whose read is no access of the
        # instruction.
        phantom = (columns.issue[owner_index] == KIND[EventKind.STORE_EXCLUSIVE]) & (
            accesses.kind == Event.READ
        )
        accesses = accesses.select(~phantom)
        element = columns.bytes[executed.index[accesses.owner]]
        accesses = self._directed(accesses, executed)
        stray = np.flatnonzero(element == 0)
        if len(stray):
            self._complain(window, executed, int(accesses.owner[stray[0]]), "no access at all")
        # Some emulators report a transfer of two words as one access.
        accesses = accesses.split(element, self._doublewords(accesses, executed))
        element = columns.bytes[executed.index[accesses.owner]]
        wrong = np.flatnonzero((accesses.size != 0) & (accesses.size != element))
        if len(wrong):
            owner = int(accesses.owner[wrong[0]])
            self._complain(window, executed, owner, f"{element[wrong[0]]} bytes")
        self._check_numbers(window, executed, accesses)
        wrong_jump = impossible_table_jump(
            executed.index,
            executed.address,
            accesses.owner,
            accesses.address,
            columns,
            self._resolved,
        )
        if wrong_jump is not None:
            raise executed.goes_wrong(window, wrong_jump, self)
        section = self._resolved.sections_of(accesses.address.astype(np.uint64)).astype(np.int64)
        unclaimed = np.flatnonzero(section < 0)
        if len(unclaimed):
            at = int(accesses.address[unclaimed[0]])
            pc = int(executed.address[accesses.owner[unclaimed[0]]])
            linker = self._resolved.image.section_at(at)
            inside = f" in linker section {linker.name}" if linker else ""
            raise InputError(
                f"{window.service.name}: the access to 0x{at:08x}{inside} at "
                f"{self._resolved.place(pc)} belongs to no logical section",
                where=self._resolved.services.where("sections"),
                expected="a logical section for every address that a service touches",
                hint="add the linker section, symbol or address range to `sections`",
            )
        made = np.bincount(accesses.owner, minlength=count)
        order = _order_within(accesses.owner)
        burst = columns.burst[executed.index[accesses.owner]] & (made[accesses.owner] > 1)
        pattern = np.where(
            burst,
            np.where(order == 0, PATTERN[Pattern.FIRST], PATTERN[Pattern.NEXT]),
            PATTERN[Pattern.SINGLE],
        )
        self._add_aligned(accesses, element, section, pattern, executed, rows)
        return made

    def _doublewords(self, accesses: _Accesses, executed: _Executed) -> npt.NDArray[np.bool_]:
        """Accesses of unknown width that are two words each: a floating-point transfer shows half
        as many as it makes, where an emulator moves doubleword registers at once."""
        columns = self._columns
        made = np.bincount(accesses.owner, minlength=len(executed.index))
        promised = columns.reads[executed.index] + columns.writes[executed.index]
        halved = columns.floats[executed.index] & (2 * made == promised)
        found: npt.NDArray[np.bool_] = halved[accesses.owner] & (accesses.size == 0)
        return found

    def _directed(self, accesses: _Accesses, executed: _Executed) -> _Accesses:
        """Directions that the trace leaves open, from what the instruction can do."""
        index = executed.index[accesses.owner]
        reads, writes = self._columns.reads[index] > 0, self._columns.writes[index] > 0
        open_ = accesses.kind == Event.ACCESS
        kind = np.where(open_ & reads & ~writes, Event.READ, accesses.kind)
        kind = np.where(open_ & writes & ~reads, Event.WRITE, kind)
        return _Accesses(accesses.owner, kind, accesses.address, accesses.size)

    def _add_aligned(
        self,
        accesses: _Accesses,
        element: Codes,
        section: Codes,
        pattern: Codes,
        executed: _Executed,
        rows: _Rows,
    ) -> None:
        """Adds accesses; misaligned ones as the aligned parts that a word-wide bus needs."""
        misaligned = accesses.address % np.maximum(element, 1) != 0
        for event, operation in (
            (Event.READ, Operation.READ),
            (Event.WRITE, Operation.WRITE),
            (Event.ACCESS, Operation.ACCESS),
        ):
            plain = np.flatnonzero((accesses.kind == event) & ~misaligned)
            rows.add(
                access_code(
                    section[plain],
                    OPERATION[operation],
                    WIDTH_OF_BYTES[element[plain]],
                    pattern[plain],
                ),
                accesses.owner[plain],
            )
            for i in np.flatnonzero((accesses.kind == event) & misaligned).tolist():
                parts = np.array(_parts(int(accesses.address[i]), int(element[i])))
                where = np.full(len(parts), accesses.owner[i])
                rows.add(
                    access_code(
                        np.full(len(parts), section[i]),
                        OPERATION[operation],
                        WIDTH_OF_BYTES[parts],
                        np.full(len(parts), PATTERN[Pattern.SINGLE]),
                    ),
                    where,
                )
                rows.add(
                    event_code(executed.section[where[:1]], KIND[EventKind.UNALIGNED_ACCESS]),
                    where[:1],
                )

    def _promised(self, executed: _Executed, rows: _Rows) -> None:
        """Without addresses: what the table says that each instruction accesses at most."""
        columns = self._columns
        for promised, operation in (
            (columns.reads, Operation.READ),
            (columns.writes, Operation.WRITE),
        ):
            where = np.repeat(np.arange(len(executed.index)), promised[executed.index])
            index = executed.index[where]
            order = _order_within(where)
            burst = columns.burst[index] & (promised[index] > 1)
            pattern = np.where(
                burst,
                np.where(order == 0, PATTERN[Pattern.FIRST], PATTERN[Pattern.NEXT]),
                PATTERN[Pattern.SINGLE],
            )
            rows.add(
                access_code(
                    np.full(len(where), NO_SECTION),
                    OPERATION[operation],
                    WIDTH_OF_BYTES[columns.bytes[index]],
                    pattern,
                ),
                where,
            )

    def _check_numbers(self, window: Window, executed: _Executed, accesses: _Accesses) -> None:
        columns, index = self._columns, executed.index
        count = len(index)
        reads = np.bincount(accesses.owner[accesses.kind == Event.READ], minlength=count)
        writes = np.bincount(accesses.owner[accesses.kind == Event.WRITE], minlength=count)
        either = np.bincount(accesses.owner[accesses.kind == Event.ACCESS], minlength=count)
        promised_reads, promised_writes = columns.reads[index], columns.writes[index]
        exact = (reads == promised_reads) & (writes == promised_writes) & (either == 0)
        exact |= (reads + writes == 0) & (either == promised_reads + promised_writes)
        nothing = reads + writes + either == 0
        may_fail = columns.issue[index] == KIND[EventKind.STORE_EXCLUSIVE]
        wrong = np.flatnonzero(~exact & ~(nothing & (columns.conditional[index] | may_fail)))
        if len(wrong):
            i = int(wrong[0])
            promised = f"{promised_reads[i]} reads and {promised_writes[i]} writes"
            self._complain(window, executed, i, promised)

    def _complain(self, window: Window, executed: _Executed, i: int, promised: str) -> None:
        instruction = self._resolved.table.instructions[int(executed.index[i])]
        raise InputError(
            f"{window.service.name}: `{instruction.text}` at "
            f"{self._resolved.place(instruction.address)} has other accesses in the trace than "
            "in the table of effects",
            where=Location(self._path),
            expected=promised,
            hint="the trace is damaged, or it was not made with this image",
        )


class _Executed:
    """The instructions of a window in order, checked to follow one another."""

    def __init__(
        self,
        window: Window,
        at: Codes,
        index: Codes,
        address: Codes,
        size: Codes,
        blocking: Codes,
        columns: Columns,
        owner: Labeller,
    ) -> None:
        self.index, self.address, self.blocking = index, address, blocking
        self.end = address + columns.length[index]
        resolved = owner._resolved
        self.section = resolved.code_section[index].astype(np.int64)
        self._columns = columns
        self.barrier = columns.issue[index] == KIND[EventKind.BARRIER]
        where = Location(owner._path)
        if not len(index):
            raise InputError(f"a window of {window.service.name} has no instruction", where=where)
        unclaimed = np.flatnonzero(self.section < 0)
        if len(unclaimed):
            raise InputError(
                f"{window.service.name} executes "
                f"{resolved.place(int(address[unclaimed[0]]))}, which lies in no logical section",
                where=resolved.services.where("sections"),
                expected="a logical section for all code of a service",
                hint="add its linker section to `sections`",
            )
        no_code = np.flatnonzero(~owner._is_code[self.section])
        if len(no_code):
            section = resolved.services.sections[int(self.section[no_code[0]])]
            raise InputError(
                f"{window.service.name} executes "
                f"{resolved.place(int(address[no_code[0]]))}, which lies in {section.name}, "
                f"of kind {section.kind.value}",
                where=resolved.services.where("sections", section.name, "kind"),
                expected="kind code for what is executed",
                hint="put functions that run from RAM into a logical section of their own",
            )
        longer = np.flatnonzero((size != 0) & (size != columns.length[index]))
        if len(longer):
            i = int(longer[0])
            instruction = resolved.table.instructions[int(index[i])]
            raise InputError(
                f"{window.service.name}: `{instruction.text}` at "
                f"{resolved.place(instruction.address)} has {size[i]} bytes in the trace",
                where=where,
                expected=f"{instruction.length} bytes",
                hint=_NOT_ITS_TRACE,
            )
        following = address[1:]
        sequential = following == self.end[:-1]
        flow, target = columns.flow[index][:-1], columns.target[index][:-1]
        conditional = columns.conditional[index][:-1]
        direct = np.isin(flow, [FLOW[Flow.JUMP], FLOW[Flow.CALL]])
        good = np.where(
            columns.transfers_control[index][:-1],
            ~direct | (following == target) | (conditional & sequential),
            sequential,
        )
        good &= flow != FLOW[Flow.STOP]
        bad = np.flatnonzero(~good)
        wrong = (
            int(bad[0])
            if len(bad)
            else impossible_transfer(index, address, self.taken(), window.calls, columns, resolved)
        )
        if wrong is not None:
            raise self.goes_wrong(window, wrong, owner)

    def goes_wrong(self, window: Window, i: int, owner: Labeller) -> InputError:
        """Control went from instruction i where it cannot have gone."""
        resolved = owner._resolved
        instruction = resolved.table.instructions[int(self.index[i])]
        after = (
            resolved.place(int(self.address[i + 1]))
            if i + 1 < len(self.address)
            else "the end of the window"
        )
        return InputError(
            f"{window.service.name}: `{instruction.text}` at "
            f"{resolved.place(instruction.address)} is followed by {after}",
            where=Location(owner._path),
            expected="one of its successors",
            hint=_NOT_ITS_TRACE,
        )

    def taken(self) -> npt.NDArray[np.bool_]:
        """Per instruction: control went elsewhere. The last one of a window always returned."""
        columns, index = self._columns, self.index
        taken: npt.NDArray[np.bool_] = columns.transfers_control[index].copy()
        conditional = columns.conditional[index][:-1]
        fell = self.address[1:] == self.end[:-1]
        # A conditional branch to the very next instruction cannot be told from one that fell
        # through; it counts as taken, which is the dearer.
        nowhere = columns.target[index][:-1] == self.end[:-1]
        taken[:-1] &= ~(conditional & fell & ~nowhere)
        return taken


@dataclass(frozen=True)
class _Accesses:
    """Data accesses of a window; ``owner`` is the instruction (0..n-1) that made them."""

    owner: Codes
    kind: Codes
    address: Codes
    size: Codes

    def select(self, mask: npt.NDArray[np.bool_]) -> _Accesses:
        return _Accesses(self.owner[mask], self.kind[mask], self.address[mask], self.size[mask])

    def split(self, element: Codes, doubled: npt.NDArray[np.bool_]) -> _Accesses:
        """Accesses wider than one element of their instruction as several; ``doubled``: those of
        unknown width that are two."""
        parts = np.where(
            (self.size > element) & (self.size % element == 0), self.size // element, 1
        )
        parts[doubled] = 2
        if int(parts.max(initial=1)) == 1:
            return self
        again = np.repeat(np.arange(len(parts)), parts)
        return _Accesses(
            self.owner[again],
            self.kind[again],
            self.address[again] + _order_within(again) * element[again],
            np.where(parts[again] > 1, element[again], self.size[again]),
        )


class _Rows:
    """Collects (key code, position) pairs."""

    def __init__(self, blocking: Codes, index: Codes) -> None:
        self._blocking, self._index = blocking, index
        self._codes: list[Codes] = []
        self._positions: list[Codes] = []

    def add(self, codes: Codes, positions: Codes) -> None:
        self._codes.append(np.asarray(codes, dtype=np.int64))
        self._positions.append(np.asarray(positions, dtype=np.int64))

    def section_of(self, positions: Codes, resolved: Resolved) -> Codes:
        return resolved.code_section[self._index[positions]].astype(np.int64)

    def finish(self, fetches: Fetches) -> Labelled:
        codes, positions = np.concatenate(self._codes), np.concatenate(self._positions)
        return Labelled(
            pack(self._blocking[positions], codes, self._index[positions]),
            positions,
            self._blocking,
            self._index,
            fetches,
        )


def _target_sections(resolved: Resolved, columns: Columns) -> Codes:
    """By table index: the section of a direct branch's target, else the instruction's own."""
    direct = columns.target >= 0
    targets = np.where(direct, columns.target, 0).astype(np.uint64)
    sections = np.where(direct, resolved.sections_of(targets), resolved.code_section)
    return np.where(sections < 0, NO_SECTION, sections).astype(np.int64)


def _order_within(owner: Codes) -> Codes:
    """0, 1, 2 ... within each run of equal owners (owners are in order)."""
    if not len(owner):
        return owner
    opens = np.flatnonzero(np.append(True, owner[1:] != owner[:-1]))
    return np.arange(len(owner)) - np.repeat(opens, np.diff(np.append(opens, len(owner))))


def _parts(address: int, size: int) -> list[int]:
    """Sizes in bytes of the aligned accesses that cover a misaligned one."""
    parts = []
    while size:
        part = min(4, size, address & -address)
        while part > size:
            part >>= 1
        part = 1 << (part.bit_length() - 1)
        parts.append(part)
        address += part
        size -= part
    return parts
