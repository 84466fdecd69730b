"""What each step of a path counts.

Inputs: steps (:class:`~wcetchar.static.expand.Step`), each a block with what was executed before.
Output: one :class:`AccessVector` each. Counted is what ``analysis`` counts of a trace, by the same
code (``counting``): of all instructions of a block, behind those that its history names. Fetches of
a run that began in an earlier block count its share; what the run can need more at another address
is counted where it ends, and hangs on where it began alone (``History.phase``).

Data accesses are those that the instruction table promises; the section of each is what is said of
it, else unknown. An access that may be misaligned counts as the
aligned one, and beside it as all parts that any misaligned one has: never less than either.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from wcetchar.counting.columns import KIND, Codes, event_code, key_of
from wcetchar.counting.fetches import fetch_codes, fetches_of
from wcetchar.counting.issue import is_barrier, issue_events
from wcetchar.model.access import (
    UNKNOWN_SECTION,
    AccessClass,
    AccessVector,
    CoreEvent,
    EventKind,
    Key,
    Operation,
    Pattern,
)
from wcetchar.model.flow import BasicBlock
from wcetchar.static.expand import Expanded, Leave, Out, Step
from wcetchar.static.history import NO_RUN, History
from wcetchar.static.lines import Lines
from wcetchar.static.program import Program

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class _Sequence:
    """What decides what a step counts: equal ones count the same. ``ends``: the window does."""

    block: BasicBlock
    taken: bool
    history: History
    ends: bool


class Vectors:
    """Vectors of a program's steps, each distinct sequence counted once."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._lines = Lines(program)
        self._known: dict[_Sequence, AccessVector] = {}
        self._data: dict[tuple[int, str], tuple[tuple[Key, int], ...]] = {}

    def of(self, found: Expanded, sections: Mapping[int, str]) -> list[AccessVector]:
        """Of each step; ``sections``: by table index, the one that a data access goes to."""
        graphs = [found.function_of(context) for context in range(len(found.contexts))]
        wanted = [_sequence(graphs[s.context].blocks[s.block], s) for s in found.steps]
        new = [one for one in dict.fromkeys(wanted) if one not in self._known]
        begins = [one for one in new if not one.history.before]
        self._count([one for one in new if one.history.before])
        for one in begins:
            self._count([one])
        known: dict[_Sequence, AccessVector] = {}
        for one in wanted:
            if one not in known:
                known[one] = self._known[one] + AccessVector(self._accesses(one.block, sections))
        return [known[one] for one in wanted]

    def _count(self, sequences: Sequence[_Sequence]) -> None:
        """Counts sequences one behind the other; all of them have a history, or there is one."""
        if not sequences:
            return
        index: list[int] = []
        taken: list[bool] = []
        skipped: list[bool] = []
        apart: list[bool] = []  # what stands behind it here is not executed behind it
        owner: list[int] = []  # number of the sequence; -1: of a history
        for number, one in enumerate(sequences):
            before, block = one.history.before, one.block
            index += before
            taken += [False] * len(before)
            if before:
                taken[-1] = one.history.taken
                # Where the window begins, so does what it fetches.
                apart += [True] * (len(before) - 1) + [one.history.begins]
            skipped += [False] * len(before)
            owner += [-1] * len(before)
            own = range(block.first, block.last + 1)
            index += own
            taken += [False] * (len(own) - 1) + [one.taken]
            skipped += [i in block.skipped for i in own]
            apart += [False] * (len(own) - 1) + [True]
            owner += [number] * len(own)
        rows = _Rows(
            self._program,
            np.array(index),
            np.array(taken),
            ~np.array(skipped),
            np.array(apart),
            np.array(owner),
        )
        counts: list[dict[Key, int]] = [{} for _ in sequences]
        names = self._program.section_names
        key = cache(lambda code: key_of(code, names))
        for code, position in rows.events():
            for one, at in zip(code.tolist(), rows.owner[position].tolist(), strict=True):
                if at >= 0:
                    counts[at][key(one)] = counts[at].get(key(one), 0) + 1
        for number, one in enumerate(sequences):
            total = counts[number]
            for name, more in self._realigned(one):
                total[name] = total.get(name, 0) + more
            for name, more in self._lines.of(one.block, one.taken, one.history):
                total[name] = total.get(name, 0) + more
            self._known[one] = AccessVector(total)

    def _accesses(
        self, block: BasicBlock, sections: Mapping[int, str]
    ) -> Iterator[tuple[Key, int]]:
        for index in range(block.first, block.last + 1):
            if index not in block.skipped:
                yield from self._accesses_of(index, sections.get(index, UNKNOWN_SECTION))

    def _accesses_of(self, index: int, section: str) -> tuple[tuple[Key, int], ...]:
        program = self._program
        known = self._data.get((index, section))
        if known is None:
            effect = program.table.instructions[index].memory
            known = ()
            if effect is not None:
                known = tuple(
                    _accesses(section, effect.width, effect.reads, effect.writes, effect.burst)
                )
                if index in program.misaligned:
                    known += tuple(self._in_parts(index, section))
            self._data[index, section] = known
        return known

    def _in_parts(self, index: int, section: str) -> Iterator[tuple[Key, int]]:
        """The aligned parts of misaligned accesses, at any address: of four bytes one and two and
        one, or two and two; of two bytes one and one."""
        program = self._program
        effect = program.table.instructions[index].memory
        assert effect is not None
        names = program.section_names
        where = int(program.code_section[index])
        for operation, number in (
            (Operation.READ, effect.reads),
            (Operation.WRITE, effect.writes),
        ):
            if not number:
                continue
            yield AccessClass(section, operation, 8, Pattern.SINGLE), 2 * number
            if effect.width > 32:
                yield AccessClass(section, operation, 32, Pattern.SINGLE), 2 * number
            if effect.width > 16:
                yield AccessClass(section, operation, 16, Pattern.SINGLE), 2 * number
            yield CoreEvent(names[where], EventKind.UNALIGNED_ACCESS), number

    @property
    def lines(self) -> tuple[int, ...]:
        """Bytes of the lines whose entries are counted."""
        return self._lines.sizes

    def loaded(self, index: int) -> Iterator[tuple[Key, int]]:
        """Lines that a stretch loads which begins with an instruction, beside what is counted."""
        return self._lines.first(index)

    def across(self, index: int, *, ends: bool) -> Iterator[tuple[Key, int]]:
        """Words that a stretch can fetch more, at some address, which begins or ``ends`` with an
        instruction within a run of sequential ones.

        Of s bytes of a run, at most ceil((s + w - g) / w) words of w bytes are fetched, g what
        addresses are multiples of. Where it ends early, at least s / w of these are counted in it:
        one more. Where it begins late, the word may not be that the part before has fetched, and of
        which up to w - g bytes are the stretch's: up to ceil(2 (w - g) / w) more.
        """
        program = self._program
        width, granule = (
            int(one[index]) for one in (program.columns.fetch_bytes, program.columns.granule)
        )
        beyond = (width - granule) * (1 if ends else 2)
        more = (beyond + width - 1) // width
        if more:
            section = np.array([program.code_section[index]], dtype=np.int64)
            code = fetch_codes(section, np.array([width]), Pattern.REALIGNED)
            yield key_of(int(code[0]), program.section_names), more

    def _realigned(self, sequence: _Sequence) -> Iterator[tuple[Key, int]]:
        """What runs that end here can fetch more at another address."""
        program, block = self._program, sequence.block
        columns, rows = program.columns, program.table.instructions
        barriers = is_barrier(columns, np.arange(block.first, block.last + 1))
        ends = [block.first + int(n) for n in np.flatnonzero(barriers)]
        if (sequence.taken or sequence.ends) and block.last not in ends:
            ends.append(block.last)
        begin = block.first
        for last in ends:
            width, granule = int(columns.fetch_bytes[last]), int(columns.granule[last])
            start = rows[begin].address % width
            if begin == block.first and sequence.history.phase != NO_RUN:
                start = sequence.history.phase
            if width != granule:
                end = rows[last].end % width
                size = (end - start) % width  # whole words beside make no difference
                words = (start + size + width - 1) // width
                more = (size + width - granule + width - 1) // width - words
                if more:
                    section = np.array([program.code_section[last]], dtype=np.int64)
                    code = fetch_codes(section, np.array([width]), Pattern.REALIGNED)
                    yield key_of(int(code[0]), program.section_names), more
            begin = last + 1


@dataclass(frozen=True)
class _Rows:
    """Instructions of several sequences, and what they count beside data accesses."""

    program: Program
    index: Codes
    taken: Flags
    effective: Flags
    apart: Flags
    owner: Codes

    def events(self) -> Iterator[tuple[Codes, Codes]]:
        """Packed classes, each with the position that it is counted for."""
        program, index, taken = self.program, self.index, self.taken
        columns = program.columns
        start = columns.table.address.astype(np.int64)[index]
        end = start + columns.length[index]
        section = program.code_section[index].astype(np.int64)
        targets = program.target_section
        yield from issue_events(columns, index, taken, self.effective, section, targets)
        for kind, where in program.stalls.of(index, start, end, taken):
            yield event_code(section[where], KIND[kind]), where
        broken = taken | is_barrier(columns, index) | self.apart
        yield from fetches_of(columns, index, start, end, section, broken).events(section)


def _sequence(block: BasicBlock, step: Step) -> _Sequence:
    return _Sequence(block, step.taken, step.history, _ends(step.out))


def _ends(out: Out) -> bool:
    """What is executed next is not the service's."""
    return out is Leave.CUT


def _accesses(
    section: str, width: int, reads: int, writes: int, burst: bool
) -> Iterator[tuple[Key, int]]:
    for operation, number in ((Operation.READ, reads), (Operation.WRITE, writes)):
        if not number:
            continue
        if burst and reads + writes > 1:
            yield AccessClass(section, operation, width, Pattern.FIRST), 1
            if number > 1:
                yield AccessClass(section, operation, width, Pattern.NEXT), number - 1
        else:
            yield AccessClass(section, operation, width, Pattern.SINGLE), number
