"""Which data access of a window follows which, and what the core does in between.

How long an access waits for the bus depends on the one before: a write may still be under way, and
a bus with a divided clock begins at its edges only. Both follow from what lies between the two, so
that is counted, as a :class:`Succession`: the core events of the instructions strictly between (the
first ``REACH`` of them; ``more`` says that there are others), the stalls of the second one that
come before its access and, where a handler ends, that it does. Stalls that the first one causes
behind its access are not among them, so ``more`` is set there too. Where a write follows a write,
and no more lies between, it is told as well what the core does ``then``, up to the access behind
the two: in that time a queue with room for both may make up for what the second one would wait.
Where a load follows a write, or is the first access, it is told what the core does ``then`` up to
the first access that is no load, for if all of these hit in a cache, only that one can wait; the
loads among that are events of the sections that they load from. Either ends at a barrier, and
windows in which the hardware stores or restores registers have none; of loads it is told where line
loads are counted.

Inputs: the data accesses of a window in their order, its core events, and which of its instructions
transfer control late. Output: one succession for each access, with the access before it; of the
first the one before is not known (but that a call came before the window, where one did:
``called``), and of the last one none follows. Where another activity ran in
between (a cut) the same holds: what it did to the bus is its own. But where a handler ran there
that read last, which every thread that it switches in to comes behind, that is known (``settled``),
and how many of its last instructions read.
What led to a beginning may have transferred control late.

Soundness: the events between are counted in the same window, so a price that takes their time off a
wait takes off what the window is charged for anyway. That holds for a stretch only with the
successions of its own instructions; so these are made anew (:meth:`Gaps.within`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.counting.columns import (
    CODE_BITS,
    KIND,
    KINDS,
    NO_SECTION,
    SECTION_SHIFT,
    SUCCESSION,
    Codes,
    event_code,
    key_of,
)
from wcetchar.model.access import AccessClass, CoreEvent, EventKind, Succession

REACH: Final = 16
"""Instructions between two accesses that are told apart."""

_BESIDE: Final = tuple(kind for kind in KINDS if not (kind.is_issue or kind.is_of_cache))
_BIT: Final = {KIND[kind]: 1 << number for number, kind in enumerate(_BESIDE)}
_BEHIND: Final = frozenset(
    {
        EventKind.PIPELINE_REFILL,
        EventKind.FORWARD_BRANCH_TAKEN,
        EventKind.BACKWARD_BRANCH_UNTAKEN,
        EventKind.INDIRECT_JUMP,
        EventKind.FETCH_HELD_EARLY,
        EventKind.FETCH_HELD_EARLY_REALIGNED,
        EventKind.FETCH_HELD_LATE,
        EventKind.FETCH_HELD_LATE_REALIGNED,
        EventKind.EXCEPTION_EXIT,
    }
)
"""Of a transfer of control: what comes behind an access that it makes."""
_AFTER: Final = sum(_BIT[KIND[kind]] for kind in _BEHIND)
_STALLS: Final = sum(_BIT[KIND[kind]] for kind in _BESIDE if kind.is_stall and kind not in _BEHIND)
_EXIT: Final = _BIT[KIND[EventKind.EXCEPTION_EXIT]]
_HELD: Final = _BIT[KIND[EventKind.FETCH_HELD_LATE]]
_ISSUE_SHIFT: Final = 36
_SECTION_SHIFT: Final = 44
_NOTHING: Final = -1
_CALLED: Final = -2
_SETTLED: Final = -3
"""Less one for each instruction that read but the first."""
_OF_ROW: Final = 5
_OF_GAP: Final = 2 + REACH
_NO_LOADS: Final = (_NOTHING,) * REACH
_NO_GAP: Final = (0, 0, *_NO_LOADS)

assert len(_BESIDE) <= _ISSUE_SHIFT


Makers = tuple[int | None, int | None]
"""Table indices of what makes the first and the second access, where their sections hang on it."""


class Successions:
    """Numbers of the successions of one characterization, as they appear."""

    def __init__(self, section_names: tuple[str, ...]) -> None:
        self.keys: list[Succession] = []
        self._makers: list[Makers] = []
        self._names = section_names
        self._numbers: dict[tuple[Succession, Makers], int] = {}
        self._known: dict[bytes, int] = {}
        self._posted: dict[int, bool] = {}
        self._single_reads: dict[int, bool] = {}

    def code(self, key: Succession, makers: Makers = (None, None)) -> int:
        """Its packed class."""
        number = self._numbers.get((key, makers))
        if number is None:
            number = self._numbers[key, makers] = len(self.keys)
            self.keys.append(key)
            self._makers.append(makers)
        return SUCCESSION | number

    def makers(self, code: int) -> Makers:
        """Of a packed class."""
        return self._makers[code & ~SUCCESSION]

    def dearest(self, code: int) -> int:
        """Packed class of what is never cheaper than this one."""
        return self.code(self.keys[code & ~SUCCESSION].dearest)

    def code_of(self, row: Codes) -> int:
        """Of a row of :meth:`Gaps.within`."""
        name = row.tobytes()
        code = self._known.get(name)
        if code is None:
            code = self._known[name] = self.code(*self._key(row.tolist()))
        return code

    def may_be_posted(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """Of access classes, as :class:`Gaps` has them; not of ``_NOTHING``."""
        return self._each(codes, self._posted, lambda access: access.may_be_posted)

    def are_single_reads(self, codes: Codes) -> npt.NDArray[np.bool_]:
        """The same."""
        return self._each(codes, self._single_reads, lambda access: access.is_single_read)

    def _each(
        self, codes: Codes, known: dict[int, bool], asked: Callable[[AccessClass], bool]
    ) -> npt.NDArray[np.bool_]:
        found = []
        for code in codes.tolist():
            if code not in known:
                access = self._access(code)
                known[code] = access is not None and asked(access)
            found.append(known[code])
        return np.array(found, dtype=bool)

    def _key(self, row: Sequence[int]) -> tuple[Succession, Makers]:
        (before, access, late, more, late_then), gaps = row[:_OF_ROW], row[_OF_ROW:]
        between = self._events(gaps[:_OF_GAP])
        then = self._events(_up_to_barrier(gaps[_OF_GAP : 2 * _OF_GAP]), gaps[2 * _OF_GAP :])
        key = Succession(
            self._access(before),
            between,
            late,
            bool(more),
            self._access(access),
            then,
            _SETTLED - before + 1 if before <= _SETTLED else 0,
            before == _CALLED,
            late_then,
        )
        return key, (_maker(before), _maker(access))

    def _events(
        self, gap: Sequence[int], loaded: Sequence[int] = ()
    ) -> tuple[tuple[CoreEvent, int], ...]:
        """Of a gap: stalls of what ends it, their section, and what lies between. ``loaded``: from
        which section each of that loads."""
        stalls, section, *between = gap
        counts: dict[CoreEvent, int] = {}
        for number, one in enumerate(between):
            if one == _NOTHING:
                continue
            issue = KINDS[one >> _ISSUE_SHIFT & 0xFF]
            where = one >> _SECTION_SHIFT
            of_data = loaded[number] if loaded else _NOTHING
            events = [self._event(where if of_data == _NOTHING else of_data, issue)]
            events += [self._event(where, kind) for kind in _kinds(one)]
            for event in events:
                counts[event] = counts.get(event, 0) + 1
        for kind in _kinds(stalls):
            event = self._event(section, kind)
            counts[event] = counts.get(event, 0) + 1
        order = sorted(counts.items(), key=lambda item: (item[0].section, item[0].kind.value))
        return tuple(order)

    def _event(self, section: int, kind: EventKind) -> CoreEvent:
        found = key_of(int(event_code(np.int64(section), KIND[kind])), self._names)  # type: ignore[arg-type]
        assert isinstance(found, CoreEvent)
        return found

    def _access(self, code: int) -> AccessClass | None:
        if code < 0:
            return None
        found = key_of(code & (1 << CODE_BITS) - 1, self._names)
        assert isinstance(found, AccessClass)
        return found


def _up_to_barrier(gap: Sequence[int]) -> Sequence[int]:
    """Of a gap. A barrier waits for writes."""
    for number, one in enumerate(gap[2:]):
        if one != _NOTHING and KINDS[one >> _ISSUE_SHIFT & 0xFF] is EventKind.BARRIER:
            return (0, 0, *gap[2 : 2 + number])
    return gap


def _maker(code: int) -> int | None:
    return None if code < 0 or not code >> CODE_BITS else (code >> CODE_BITS) - 1


def _kinds(mask: int) -> list[EventKind]:
    return [kind for number, kind in enumerate(_BESIDE) if mask >> number & 1]


@dataclass(frozen=True)
class Gaps:
    """The data accesses of a window, and what each of its instructions does beside.

    Attributes:
        code, position: of each data access, in order: its class, above it one more than the table
            index where that is to be known (``Makers``), and the instruction that makes it.
        events: of each instruction: section, issue event, and the others as bits.
        late: of each instruction: it transfers control late, and the fetch unit is not held.
        cuts: instructions that begin behind another activity.
        settled: those of them, and of the first one, behind one that read last, and by how many
            instructions.
        called: the first one is behind a call.
        hardware: it has accesses of its own among these, which are no successions.
        loads: what the core does behind loads is told.
    """

    numbers: Successions
    code: Codes
    position: Codes
    events: Codes
    late: Codes
    cuts: tuple[int, ...]
    settled: Mapping[int, int] = field(default_factory=dict)
    called: bool = False
    hardware: bool = False
    loads: bool = False

    def within(self, first: int, last: int) -> tuple[Codes, Codes]:
        """Packed classes of the successions of the instructions first..last, and the instruction
        that each is counted for."""
        inner = [cut for cut in self.cuts if first < cut <= last]
        codes: list[int] = []
        positions: list[int] = []
        for begin, end in zip((first, *inner), (*inner, last + 1), strict=True):
            self._run(begin, end - 1, codes, positions)
        return np.array(codes, dtype=np.int64), np.array(positions, dtype=np.int64)

    def _run(self, first: int, last: int, codes: list[int], positions: list[int]) -> None:
        low, high = np.searchsorted(self.position, (first, last + 1))
        position, code = self.position[low:high], self.code[low:high]
        start = np.concatenate(([first - 1], position))  # what lies before each gap
        stop = np.concatenate((position, [last + 1]))  # and behind it
        reads = self.settled.get(first, 0)
        begins = _SETTLED - reads + 1 if reads else _NOTHING
        if not first and self.called:
            begins = _CALLED
        before = np.concatenate(([begins], code))
        access = np.concatenate((code, [_NOTHING]))
        steps = start[:, None] + 1 + np.arange(REACH)[None, :]
        inside = steps < stop[:, None]
        events = np.where(inside, self.events[np.minimum(steps, len(self.events) - 1)], _NOTHING)
        late = np.where(inside, self.late[np.minimum(steps, len(self.late) - 1)], 0).sum(axis=1)
        # One instruction makes both accesses: nothing lies between.
        same = start == stop
        owner = np.minimum(stop, last)
        stalls = np.where(same | (stop > last), 0, self.events[owner] & _STALLS)
        held = np.maximum(start, first)
        causes = (start >= first) & ~same
        behind = causes & (self.events[held] & _AFTER != 0)
        late += np.where(causes, self.late[held], 0)
        late[0] += 1  # what led here may have been one
        more = (stop - start - 1 > REACH) | behind
        if stop[-1] - start[-1] - 1 > REACH:
            stalls[-1] = self.events[last] & _EXIT  # that a handler ends is told, however far off
        section = np.where(stalls != 0, self.events[owner] >> _SECTION_SHIFT, 0)
        gap = np.column_stack((stalls, section, events))
        posted = self.numbers.may_be_posted(code)
        then = np.tile(np.array((*_NO_GAP, *_NO_LOADS)), (len(gap), 1))
        late_then = np.zeros(len(gap), dtype=np.int64)
        # Of each write right behind a write, the gap behind it.
        behind_write = np.flatnonzero(posted[1:] & posted[:-1] & ~more[1:-1]) + 1
        if not self.hardware:
            then[behind_write, :_OF_GAP] = gap[behind_write + 1]
            if self.loads and len(code):
                after = np.flatnonzero(~more[:-1] & np.concatenate(([True], posted[:-1])))
                self._behind_loads(code, position, last, after, then, late_then)
        table = np.column_stack((before, access, late, more, late_then, gap, then))
        codes += [self.numbers.code_of(row) for row in table.astype(np.int64)]
        positions += owner.tolist()

    def _behind_loads(
        self, code: Codes, position: Codes, last: int, after: Codes, then: Codes, late: Codes
    ) -> None:
        """Of those of the accesses ``after`` something that are loads: the instructions up to the
        next access that is none, as a gap, which sections these load from, and how many transfer
        control late."""
        issue = self.events[position] >> _ISSUE_SHIFT & 0xFF
        alone = position[1:] != position[:-1]
        loads = self.numbers.are_single_reads(code) & (issue == KIND[EventKind.LOAD])
        loads &= np.concatenate(([True], alone)) & np.concatenate((alone, [True]))
        ends = np.concatenate((np.flatnonzero(~loads), [len(code)]))
        after = after[loads[after]]
        start = position[after]
        stop = np.concatenate((position, [last + 1]))[ends[np.searchsorted(ends, after, "right")]]
        steps = start[:, None] + 1 + np.arange(REACH)[None, :]
        events = self.events[np.minimum(steps, len(self.events) - 1)]
        inside = steps < stop[:, None]
        events = np.where(inside, events, _NOTHING)
        late[after] = np.where(inside, self.late[np.minimum(steps, len(self.late) - 1)], 0).sum(1)
        told = (stop <= last) & (stop - start - 1 <= REACH)
        own = self.events[np.minimum(stop, last)]
        stalls = np.where(told, own & _STALLS, 0)
        section = np.where(stalls != 0, own >> _SECTION_SHIFT, 0)
        made = np.minimum(np.searchsorted(position, steps), len(position) - 1)
        loaded = np.where(
            (position[made] == steps) & (events != _NOTHING),
            (code[made] & (1 << CODE_BITS) - 1) >> SECTION_SHIFT,
            _NOTHING,
        )
        then[after] = np.column_stack((stalls, section, events, loaded))


def gaps(
    numbers: Successions,
    accesses: tuple[Codes, Codes],
    events: tuple[Codes, Codes],
    section: Codes,
    late: npt.NDArray[np.bool_],
    cuts: tuple[int, ...],
    settled: Mapping[int, int] | None = None,
    called: bool = False,
    hardware: bool = False,
    loads: bool = False,
) -> Gaps:
    """Of a window.

    Args:
        accesses: class and instruction of each data access; those of an instruction in order.
        events: kind (a number of ``columns.KIND``) and instruction of each core event.
        section: of each instruction.
        late: it transfers control late.
        cuts: instructions that begin behind another activity.
        settled: those of them, and of the first one, behind one that read last, and by how many
            instructions.
        called: the first one is behind a call.
        hardware: it has accesses of its own in the window, which are not among these.
        loads: what the core does behind loads is told.
    """
    order = np.argsort(accesses[1], kind="stable")
    kind, at = events
    bits = np.array([_BIT.get(number, 0) for number in range(len(KINDS))], dtype=np.int64)
    issue = np.array([one.is_issue for one in KINDS])
    own = np.where(section < 0, NO_SECTION, section) << _SECTION_SHIFT
    np.bitwise_or.at(own, at, np.where(issue[kind], kind << _ISSUE_SHIFT, bits[kind]))
    unheld = late & (own & _HELD == 0)
    return Gaps(
        numbers,
        accesses[0][order],
        accesses[1][order],
        own,
        unheld.astype(np.int64),
        cuts,
        settled or {},
        called,
        hardware,
        loads,
    )
