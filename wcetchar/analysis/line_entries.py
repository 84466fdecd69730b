"""Lines of an instruction cache that a window enters, and the code that it touches.

Inputs: the executed instructions of a window in their own order, :class:`Columns`, what is fetched
in vain (:class:`FetchedInVain`). Nothing here depends on a cache but the size of its lines, L
bytes.

A *line entry* is a fetch from another line than the fetch before it: at the first instruction of
the window; where an instruction begins or ends in another line than what was fetched last; for each
line that a transfer of control fetches from in vain; behind a supervisor call. A cache that keeps
nothing but the line it last fetched from misses once at each, and no cache of such lines misses
more often, as long as nothing else uses it meanwhile. What is fetched in vain and is no known code
may send the fetch unit anywhere: those that it finds there, and one for what it may replace.

*Elsewhere*: what more there can be where the code is linked at another address. A *run* of b bytes
is what is fetched in sequence, in vain or not; each run covers at most

    ceil((b + L - granule) / L)

lines, whatever its address. Summed over all runs, less what was entered here.

The *footprint* is every byte that was fetched, in vain or not.

*Hidden*: what goes on while a line is loaded at its first entry. A line that an instruction i
enters first, behind the instruction p before it in memory, is being loaded when p is decoded, or
sooner; so what p and i wait for beside fetches (``OPERAND_STALLS``) arrives meanwhile. If
the line is there already, they wait, and nothing is loaded. p does not transfer control, is no
barrier and no supervisor call. What p waits for is left out if p enters a line first itself: that
has waited already where the line is loaded. With a buffer nothing is hidden.

Where the instruction behind a transfer of control in memory, of the same section, enters a line
first, in vain, that is asked for when the transfer is decoded, or sooner, whatever comes then: the
transfer is p, unless it enters a line first itself (not of a supervisor call, or a handler's
return). Of all else that is fetched in vain it is not known whether it is. Such
a line may be loaded there, or where it is executed later, and nothing counts as hidden.

*Behind*: which lines take turns, see ``line_turns``.

Output of counts: packed codes as ``columns.event_code``, by section of the instruction.

Soundness: as that of ``fetch_ahead`` and ``fetch_buffer``, for cores that fetch ahead no further.
Runs of b bytes take the worst each by itself, which no single address need give: safe, and dear.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.line_turns import Turns, turns
from wcetchar.counting.columns import FLOW, KIND, Codes, Columns, event_code
from wcetchar.counting.front_end import is_predicted
from wcetchar.counting.vain import NO_LINE, FetchedInVain, Range, Vain, wild_lines
from wcetchar.model.access import LINE_ENTRIES, OPERAND_STALLS, EventKind
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.instruction import Flow

Ranges = frozenset[tuple[int, int, int]]
"""Each with the number of the logical section that it stays with wherever that lies
(``NO_SECTION``: that which it lies in), before start and end; they may overlap."""
Flags = npt.NDArray[np.bool_]
NOWHERE: Final[Codes] = np.zeros(0, dtype=np.int64)
NO_SECTION: Final = -1
_NONE: Final[frozenset[int]] = frozenset()
NEAR: Final = 64
"""What is fetched in vain so many bytes behind an instruction at most lies behind its section's
end, even if another one begins there now."""


@dataclass(frozen=True)
class Hidden:
    """What is waited for while a line is loaded at its first entry.

    Attributes:
        stalls: in order.
        accesses: how many instructions before, and the packed class of the succession
            (``meanwhile``).
        in_vain: of a line that is fetched from in vain alone, or loaded in vain and not gone on in
            at once, how many cycles before control is transferred that is.
    """

    stalls: tuple[EventKind, ...] = ()
    accesses: tuple[tuple[int, int], ...] = ()
    in_vain: int | None = None


@dataclass(frozen=True)
class Asked:
    """Which lines are asked for behind what in memory.

    Attributes:
        lines: number of the line -> position of the instruction that enters it, or would if the
            one before it had not transferred control.
        loaded: the same of all lines of which it is known where they are loaded first, however they
            are entered there.
        onwards: by position, the instruction before it is the one before it in memory.
        waiting: positions of what waits for a result.
        entering: positions of what enters a line first.
    """

    lines: dict[int, int]
    loaded: dict[int, int]
    onwards: Flags
    waiting: Collection[int]
    entering: Collection[int]


FirstEntries = dict[int, dict[int, Hidden]]
"""Size of a line -> number of the line -> what its loading hides."""


@dataclass
class Entered:
    """What a window enters.

    Attributes:
        codes: entries, here and elsewhere, by packed event.
        ranges: the footprint.
        lines: size of a line -> number of the line -> entries.
        wild: transfers that may fetch from anywhere.
        first: what its first loading hides.
        behind: size of a line -> how its lines take turns.
        after: of a stretch, size of a line -> lines that are fetched for what comes after it alone.
        asked: size of a line -> which of these hide accesses, until it is told which (of one
            window alone).
    """

    codes: Counter[int]
    ranges: Ranges
    lines: dict[int, Counter[int]]
    wild: int
    first: FirstEntries
    behind: dict[int, Turns] = field(default_factory=lambda: defaultdict(Counter))
    after: dict[int, frozenset[int]] = field(default_factory=dict)
    asked: dict[int, Asked] = field(default_factory=dict)

    def copy(self) -> Entered:
        """Another one, of which everything may be changed."""
        return Entered(
            Counter(self.codes),
            self.ranges,
            {size: Counter(lines) for size, lines in self.lines.items()},
            self.wild,
            {size: dict(lines) for size, lines in self.first.items()},
            defaultdict(Counter, {size: Counter(turn) for size, turn in self.behind.items()}),
            dict(self.after),
        )

    def loads_as_much(self, other: Entered) -> bool:
        """Priced by their lines, this is never less than the other: each line of that is entered
        here as often, takes turns as often, and hides no more. (A line that the other one does not
        enter may hide anything; it takes no less than nothing.)"""
        return self.wild >= other.wild and all(
            lines <= self.lines[size]
            and not (self.after.get(size, _NONE) & lines.keys()) - other.after.get(size, _NONE)
            and other.behind.get(size, Counter()) <= self.behind.get(size, Counter())
            and all(
                hidden == Hidden() or hidden == other.first[size][line]
                for line, hidden in self.first[size].items()
                if line in other.first[size]
            )
            for size, lines in other.lines.items()
        )

    def include(self, other: Entered) -> None:
        """The largest of both, one by one."""
        for size in self.after | other.after:
            both = self.after.get(size, _NONE), other.after.get(size, _NONE)
            needed = (self.lines[size].keys() - both[0]) | (other.lines[size].keys() - both[1])
            self.after[size] = (both[0] | both[1]) - needed
        self.codes |= other.codes
        self.ranges |= other.ranges
        for size, lines in other.lines.items():
            self.lines[size] |= lines
        self.wild = max(self.wild, other.wild)
        for size, turn in other.behind.items():
            self.behind[size] |= turn
        for size, firsts in other.first.items():
            mine = self.first[size]
            for line, hidden in firsts.items():
                mine[line] = _hidden_by_both(mine.get(line, hidden), hidden)


class LineEntries:
    """Counts line entries and touched code of windows of one image."""

    def __init__(self, columns: Columns, section_of: Codes) -> None:
        """``section_of``: by table index, the number of the instruction's logical section."""
        self._columns = columns
        self._section_of = section_of
        self.buffered = columns.table.buffer is not None
        self._found = FetchedInVain(columns.table)
        self.wild_lines = wild_lines(columns.table.buffer)
        """What a wild transfer loads at most, in lines."""
        flow, barrier = columns.flow, columns.issue == KIND[EventKind.BARRIER]
        predicted = np.array([is_predicted(i) for i in columns.table.instructions], dtype=bool)
        transfers = columns.transfers_control & ~columns.conditional
        elsewhere = flow == FLOW[Flow.SUPERVISOR_CALL]
        # By table index: where it does not transfer control, what is behind it was fetched already.
        self._goes_on = ~(predicted | transfers | barrier | elsewhere)
        # By 2 * index + taken, filled in as such are met.
        pairs = 2 * len(columns.table)
        self._known: dict[int, Vain] = {}
        self._ranges_of: dict[int, tuple[tuple[int, int, int], ...]] = {}
        self._ranges_once: dict[Ranges, Ranges] = {}
        self._fetched = np.zeros(pairs, dtype=bool)
        self._tail = np.zeros(pairs, dtype=np.int64)
        self._in_vain, self._left_at, self._apart = (
            np.zeros((len(LINE_BYTES), pairs), dtype=np.int64) for _ in range(3)
        )

    def count(
        self,
        index: Codes,
        address: Codes,
        end: Codes,
        taken: Flags,
        stalls: Iterable[tuple[EventKind, Codes]],
        apart: Codes = NOWHERE,
    ) -> Entered:
        """What a window enters.

        Args:
            index: table index of each instruction, in the order of execution.
            address, end: where it begins and ends.
            taken: it sent control elsewhere than to the next one; of the last one, too.
            stalls: of the window, by position in it (``Stalls.of``).
            apart: positions before which another thread or the window's own handler ran.
        """
        inside = apart[(apart > 0) & (apart < len(index))]
        if self.buffered:  # where it ends or is left for something else, what is behind is in vain
            taken = taken.copy()
            taken[np.append(inside, len(index)) - 1] = True
        fetched = self._fetches(index, address, end, taken)
        waited = self._waited(fetched, stalls, apart)
        tail = self._tail[fetched.pair]
        opens = np.ones(len(index), dtype=bool)
        opens[1:] = fetched.in_vain[:-1] | taken[:-1]
        firsts = np.flatnonzero(opens)
        lasts = np.append(firsts[1:], len(index)) - 1
        granule = self._columns.granule[index]
        section = self._section_of[index]
        run_bytes = end[lasts] - address[firsts] + tail[lasts]
        entered = Entered(Counter(), self.ranges(fetched.pairs), {}, 0, {})
        wild = sum(n for v, n in zip(fetched.vains, fetched.often, strict=True) if v.wild)
        entered.wild = self.wild_lines * wild
        for number, line in enumerate(LINE_BYTES):
            one = self._lines(fetched, number)
            here = one.entries + self._in_vain[number, fetched.pair]
            if number == 0 and self.buffered and len(inside):
                # What ran there may have replaced anything, and need not be a supervisor call: as
                # many lines from anywhere as are entered at all, so that each counts as a miss.
                entered.wild += int(here.sum())
            entered.lines[line] = one.each
            if not self.buffered:
                entered.first[line], entered.asked[line] = _hidden(one, waited)
                executes = [(one.starts, one.begins), (one.ends, one.crosses)]
                vain = [vain.lines[number] for vain in fetched.vains]
                order = _in_order(executes, vain, fetched.which)
                entered.behind[line] = turns(*order, line)
            else:
                every = (*one.executed, *one.in_vain, *one.used)
                entered.first[line] = dict.fromkeys(every, Hidden())
            covered = -(-(run_bytes + line - granule[firsts]) // line)
            covered += self._apart[number, fetched.pair[lasts]]
            more = covered - np.add.reduceat(here, firsts)
            kind, elsewhere = LINE_ENTRIES[line]
            _tally(entered.codes, event_code(section, KIND[kind]), here)
            _tally(entered.codes, event_code(section[firsts], KIND[elsewhere]), more)
        return entered

    def _fetches(self, index: Codes, address: Codes, end: Codes, taken: Flags) -> _Fetched:
        pair = 2 * index + taken
        distinct, first, which, times = np.unique(
            pair, return_index=True, return_inverse=True, return_counts=True
        )
        pairs = distinct.tolist()
        vains = [self._vain(one) for one in pairs]
        return _Fetched(
            index,
            address,
            end,
            taken,
            pair,
            self._fetched[pair],
            pairs,
            vains,
            first.tolist(),
            times.tolist(),
            which,
        )

    def _waited(
        self, fetched: _Fetched, stalls: Iterable[tuple[EventKind, Codes]], apart: Codes
    ) -> _Waited:
        count = len(fetched.index)
        waits = _by_position(stalls)
        waiting = {n for n, kinds in waits.items() if {*kinds} - {EventKind.CONSECUTIVE_ACCESS}}
        onwards = np.zeros(count, dtype=bool)
        onwards[1:] = (self._goes_on[fetched.index] & ~fetched.taken)[:-1]
        onwards[apart[apart < count]] = False
        return _Waited(onwards, waits, waiting, apart)

    def _lines(self, fetched: _Fetched, number: int) -> _Lines:
        """Lines of the size of this number."""
        line = LINE_BYTES[number]
        # Lines of each instruction.
        starts, ends = fetched.address // line, (fetched.end - 1) // line
        section = self._section_of[fetched.index]
        before = np.full(len(starts), NO_LINE)
        left_at = self._left_at[number, fetched.pair]
        before[1:] = np.where(fetched.in_vain, left_at, ends)[:-1]
        begins, crosses = starts != before, ends != starts
        begins[1:] |= section[1:] != section[:-1]  # which may share a line only here
        each = Counter(starts[begins].tolist())
        each.update(ends[crosses].tolist())
        in_vain: dict[int, _InVain] = {}
        for vain, times, at in zip(fetched.vains, fetched.often, fetched.earliest, strict=True):
            for one, sooner in zip(vain.lines[number], vain.before[number], strict=True):
                each[one] += times
                entry = _InVain(at, sooner, sooner if one == vain.behind[number] else None)
                in_vain[one] = entry.or_sooner(in_vain.get(one, entry))
        executed = _first_of(starts, begins)
        for one, at in _first_of(ends, crosses).items():
            executed[one] = min(at, executed.get(one, at))
        used = np.union1d(np.unique(starts), np.unique(ends)).tolist()
        return _Lines(starts, ends, begins, crosses, executed, in_vain, each, used)

    def lines_of(
        self, index: Codes, address: Codes, end: Codes, taken: Flags
    ) -> dict[int, set[int]]:
        """By size, the lines that a window fetches from, but for what its last instruction does in
        vain."""
        pairs = np.unique((2 * index + taken)[:-1]).tolist()
        return {
            size: {
                *(address // size).tolist(),
                *((end - 1) // size).tolist(),
                *(line for pair in pairs for line in self._vain(pair).lines[number]),
            }
            for number, size in enumerate(LINE_BYTES)
        }

    def ranges(self, pairs: Iterable[int]) -> Ranges:
        """What instructions are fetched from, and fetch in vain, as ``Entered.ranges`` has it.

        ``pairs``: of each, 2 * table index + whether it sent control elsewhere.
        """
        found = frozenset(one for pair in pairs for one in self._ranges(pair))
        # Many windows fetch the same.
        return self._ranges_once.setdefault(found, found)

    def _ranges(self, pair: int) -> tuple[tuple[int, int, int], ...]:
        known = self._ranges_of.get(pair)
        if known is None:
            index = pair >> 1
            instruction, own = self._columns.table.instructions[index], int(self._section_of[index])
            known = self._ranges_of[pair] = (
                (own, instruction.address, instruction.end),
                *(
                    (own if 0 <= first - instruction.end < NEAR else NO_SECTION, first, last)
                    for first, last in self._vain(pair).ranges
                ),
            )
        return known

    def _alike(self, index: int, found: Vain) -> Vain:
        """With a line behind the transfer only where known code of its own section follows: another
        section may lie elsewhere, and of what is no code the first half may be enough."""
        end = np.array([self._columns.table.instructions[index].end], dtype=np.uint64)
        (behind,) = self._columns.table.index_of(end).tolist()
        if behind >= 0 and self._section_of[behind] == self._section_of[index]:
            return found
        return replace(found, behind=(NO_LINE,) * len(LINE_BYTES))

    def fetches_in_vain(self, pair: int) -> bool:
        """It fetches what is not executed behind it, or may."""
        vain = self._vain(pair)
        return bool(vain.ranges) or vain.wild

    def is_wild(self, pair: int) -> bool:
        """It may fetch from anywhere."""
        return self._vain(pair).wild

    def _vain(self, pair: int) -> Vain:
        known = self._known.get(pair)
        if known is None:
            index = pair >> 1
            known = self._known[pair] = self._alike(index, self._found.of(index, bool(pair & 1)))
            self._fetched[pair], self._tail[pair] = bool(known.ranges), known.tail
            granule = int(self._columns.granule[index])
            for number, line in enumerate(LINE_BYTES):
                self._in_vain[number, pair] = known.entries[number]
                self._left_at[number, pair] = known.last[number]
                self._apart[number, pair] = known.apart(line, granule)
        return known


@dataclass(frozen=True)
class _InVain:
    """The first entry of a line in vain.

    Attributes:
        at: position of what transfers control.
        sooner: cycles before it does, the least of all entries in vain.
        behind: of this entry, if it is for the instruction behind the transfer in memory.
    """

    at: int
    sooner: int
    behind: int | None

    def or_sooner(self, other: _InVain) -> _InVain:
        """Of two entries; ``other``: the one that is known, and the first at one position."""
        first = self if self.at < other.at else other
        return replace(first, sooner=min(self.sooner, other.sooner))


@dataclass(frozen=True)
class _Fetched:
    """What the instructions of a window fetch.

    Attributes:
        index, address, end, taken: of each, as :meth:`LineEntries.count` takes it.
        pair: of each, 2 * table index + whether it sent control elsewhere.
        in_vain: of each, it fetches something in vain.
        pairs, vains, earliest, often: of each pair that there is, itself, what it fetches in vain,
            where it comes first, and how often it comes.
        which: of each instruction, the number of its pair among these.
    """

    index: Codes
    address: Codes
    end: Codes
    taken: Flags
    pair: Codes
    in_vain: Flags
    pairs: list[int]
    vains: list[Vain]
    earliest: list[int]
    often: list[int]
    which: Codes


@dataclass(frozen=True)
class _Lines:
    """Lines of one size that a window enters.

    Attributes:
        starts, ends: of each instruction, the lines in which it begins and ends.
        begins, crosses: of each, it enters the one, and the other.
        executed: line -> where in the window it is entered by what is executed, first.
        in_vain: and in vain.
        each: how often.
        used: lines that something that is executed lies in.
    """

    starts: Codes
    ends: Codes
    begins: Flags
    crosses: Flags
    executed: dict[int, int]
    in_vain: dict[int, _InVain]
    each: Counter[int]
    used: list[int]

    @property
    def entries(self) -> Codes:
        """Of each instruction, not in vain."""
        return self.begins.astype(np.int64) + self.crosses

    def reaches(self, line: int, position: int) -> bool:
        """The instruction lies in a line, in part at least."""
        here = slice(position, position + 1)
        return any(bool((one[here] == line).any()) for one in (self.starts, self.ends))


@dataclass(frozen=True)
class _Waited:
    """What instructions of a window wait for, by position.

    Attributes:
        onwards: the instruction before it is the one before it in memory.
        stalls: what is waited for beside fetches.
        waiting: positions of what waits for a result.
        apart: positions before which something else ran.
    """

    onwards: Flags
    stalls: Mapping[int, list[EventKind]]
    waiting: Collection[int]
    apart: Collection[int]

    def at(self, position: int) -> list[EventKind]:
        return self.stalls.get(position, [])


def _by_position(stalls: Iterable[tuple[EventKind, Codes]]) -> dict[int, list[EventKind]]:
    """What each instruction of a window waits for beside fetches."""
    found: dict[int, list[EventKind]] = defaultdict(list)
    for kind, where in stalls:
        if kind in OPERAND_STALLS:
            for position in where.tolist():
                found[position].append(kind)
    return found


def _in_order(
    executed: Iterable[tuple[Codes, Flags]], in_vain: Sequence[Sequence[int]], which: Codes
) -> tuple[Codes, Flags]:
    """Lines in the order in which a window enters them, and whether what is executed does.

    Args:
        executed: by position, a line, and whether it is entered there.
        in_vain: lines that each of several instructions fetches from in vain.
        which: of these, the one at each position.
    """
    lines = [np.where(here, line, NO_LINE) for line, here in executed]
    certain = len(lines)
    for number in range(max(map(len, in_vain))):
        column = [one[number] if number < len(one) else NO_LINE for one in in_vain]
        lines.append(np.array(column, dtype=np.int64)[which])
    rows = np.stack(lines, axis=1)
    is_certain = np.broadcast_to(np.arange(len(lines)) < certain, rows.shape)
    entered = rows != NO_LINE
    return rows[entered], is_certain[entered]


def _first_of(lines: Codes, entered: Flags) -> dict[int, int]:
    """Line -> the first position at which it is entered."""
    where = np.flatnonzero(entered)
    found, at = np.unique(lines[where], return_index=True)
    return dict(zip(found.tolist(), where[at].tolist(), strict=True))


def _hidden(lines: _Lines, waited: _Waited) -> tuple[dict[int, Hidden], Asked]:
    """By line what is hidden, and which of these are asked for behind what."""
    executed, in_vain, each = lines.executed, lines.in_vain, lines.each
    found = {line: Hidden(in_vain=one.sooner) for line, one in in_vain.items()}
    found.update((line, Hidden()) for line in lines.used)
    entering = {*executed.values()}
    loaded = {
        line: at for line, at in executed.items() if not (line in in_vain and in_vain[line].at < at)
    }
    loads = {position for position in loaded.values() if waited.onwards[position]}
    counted, asks = set[int](), dict[int, int]()
    for line, position in sorted(executed.items(), key=lambda entry: entry[1]):
        stalls: list[EventKind] = []
        if position in loads and position not in counted:
            counted.add(position)
            before = [] if position - 1 in entering else waited.at(position - 1)
            stalls = sorted((*before, *waited.at(position)))
            asks[line] = position
        found[line] = Hidden(tuple(stalls))
    for line, one in in_vain.items():
        goes_on = one.at + 1
        if line not in loaded and one.behind is not None and goes_on not in waited.apart:
            asked = one.at not in entering
            if asked:
                asks[line] = goes_on
            found[line] = Hidden(
                tuple(sorted(waited.at(one.at))) if asked else (),
                in_vain=None if lines.reaches(line, goes_on) else one.behind,
            )
            loaded[line] = goes_on
        elif each[line] == 1 and found[line].in_vain is not None:
            loaded[line] = goes_on
    return found, Asked(asks, loaded, waited.onwards, waited.waiting, entering)


def _hidden_by_both(one: Hidden, other: Hidden) -> Hidden:
    """What is hidden whichever of two windows it is."""
    if one == other:
        return one
    if one.in_vain is None and other.in_vain is None:
        in_vain = None
    elif one.in_vain is None or other.in_vain is None:
        return Hidden()
    else:
        in_vain = min(one.in_vain, other.in_vain)
    stalls = (Counter(one.stalls) & Counter(other.stalls)).elements()
    accesses = one.accesses if one.accesses == other.accesses else ()
    return Hidden(tuple(sorted(stalls)), accesses, in_vain)


def _tally(found: Counter[int], codes: Codes, counts: Codes) -> None:
    for code in np.unique(codes).tolist():
        total = int(counts[codes == code].sum())
        if total:
            found[code] += total


def merged(ranges: set[Range]) -> list[Range]:
    """Ranges in order that neither overlap nor touch."""
    found: list[list[int]] = []
    for start, end in sorted(ranges):
        if found and start <= found[-1][1]:
            found[-1][1] = max(found[-1][1], end)
        else:
            found.append([start, end])
    return [(start, end) for start, end in found]
