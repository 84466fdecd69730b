"""Lines of an instruction cache that a window enters, and the code that it touches.

Inputs: the executed instructions of a window in their own order, :class:`Columns`, what is fetched
in vain (:class:`FetchAhead`). Nothing here depends on a cache but the size of its lines, L bytes.

A *line entry* is a fetch from another line than the fetch before it: at the first instruction of
the window; where an instruction begins or ends in another line than what was fetched last; for each
line that a transfer of control fetches from in vain; behind a supervisor call. A cache that keeps
nothing but the line it last fetched from misses once at each, and no cache of such lines misses
more often, as long as nothing else uses it meanwhile. What is fetched in vain and is no known code
may send the fetch unit anywhere: two more, one for where that is, one for what it may replace.

*Elsewhere*: what more there can be where the code is linked at another address. A *run* of b bytes
is what is fetched in sequence, in vain or not; each run covers at most

    ceil((b + L - granule) / L)

lines, whatever its address. Summed over all runs, less what was entered here.

The *footprint* is every byte that was fetched, in vain or not.

Output of counts: packed codes as ``columns.event_code``, by section of the instruction.

Soundness: as that of ``fetch_ahead``, for cores that fetch ahead no further. Runs of b bytes take
the worst each by itself, which no single address need give: safe, and dear.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.columns import KIND, Codes, Columns, event_code
from wcetchar.analysis.fetch_ahead import FetchAhead, InVain
from wcetchar.model.access import LINE_ENTRIES
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.instruction import Flow, Instruction

Range = tuple[int, int]
"""Addresses start..end - 1."""
NO_LINE: Final = -1


@dataclass(frozen=True)
class Vain:
    """What one instruction fetches in vain, counted.

    Attributes:
        fetched: anything at all.
        entries: line entries, by size of lines.
        lines: those entered, by size of lines.
        last: line that was fetched from last; ``NO_LINE``: not known.
        tail: bytes that follow the instruction without a gap.
        groups: bytes of each other group without a gap.
    """

    fetched: bool
    entries: tuple[int, ...]
    lines: tuple[tuple[int, ...], ...]
    last: tuple[int, ...]
    tail: int
    groups: tuple[int, ...]
    wild: bool


@dataclass
class Entered:
    """What a window enters.

    Attributes:
        codes: entries, here and elsewhere, by packed event.
        ranges: the footprint, in ranges that may overlap.
        lines: size of a line -> number of the line -> entries.
        wild: transfers that may fetch from anywhere.
    """

    codes: Counter[int]
    ranges: set[Range]
    lines: dict[int, Counter[int]]
    wild: int

    def include(self, other: Entered) -> None:
        """The largest of both, one by one."""
        self.codes |= other.codes
        self.ranges |= other.ranges
        for size, lines in other.lines.items():
            self.lines[size] |= lines
        self.wild = max(self.wild, other.wild)


class LineEntries:
    """Counts line entries and touched code of windows of one image."""

    def __init__(self, columns: Columns, section_of: Codes) -> None:
        """``section_of``: by table index, the number of the instruction's logical section."""
        self._columns = columns
        self._section_of = section_of
        self._ahead = FetchAhead(columns.table)
        self._known: dict[tuple[int, bool], Vain] = {}

    def count(
        self, index: Codes, address: Codes, end: Codes, taken: npt.NDArray[np.bool_]
    ) -> Entered:
        """What a window enters.

        Args:
            index: table index of each instruction, in the order of execution.
            address, end: where it begins and ends.
            taken: it sent control elsewhere than to the next one; of the last one, too.
        """
        pairs, where, often = np.unique(2 * index + taken, return_inverse=True, return_counts=True)
        vains = [self._vain(pair >> 1, bool(pair & 1)) for pair in pairs.tolist()]
        granules = self._columns.granule[pairs >> 1].tolist()
        fetched = np.array([v.fetched for v in vains])[where]
        tail = np.array([v.tail for v in vains])[where]
        opens = np.ones(len(index), dtype=bool)
        opens[1:] = fetched[:-1] | taken[:-1]
        firsts = np.flatnonzero(opens)
        lasts = np.append(firsts[1:], len(index)) - 1
        granule = self._columns.granule[index]
        section = self._section_of[index]
        run_bytes = end[lasts] - address[firsts] + tail[lasts]
        entered = Entered(Counter(), set(), {}, 0)
        instructions = self._columns.table.instructions
        for pair in pairs.tolist():
            one = instructions[pair >> 1]
            entered.ranges.add((one.address, one.end))
            touches = self._ahead.of(pair >> 1, bool(pair & 1)).touches
            entered.ranges.update((t.start, t.end) for t in touches)
        entered.wild = sum(n for v, n in zip(vains, often.tolist(), strict=True) if v.wild)
        for number, line in enumerate(LINE_BYTES):
            in_vain = np.array([v.entries[number] for v in vains])[where]
            left_at = np.array([v.last[number] for v in vains])[where]
            before = np.full(len(index), NO_LINE)
            before[1:] = np.where(fetched, left_at, (end - 1) // line)[:-1]
            begins, crosses = address // line != before, (end - 1) // line != address // line
            here = begins.astype(np.int64) + crosses + in_vain
            each = Counter((address[begins] // line).tolist())
            each.update(((end - 1)[crosses] // line).tolist())
            for vain, times in zip(vains, often.tolist(), strict=True):
                for one_line in vain.lines[number]:
                    each[one_line] += times
            entered.lines[line] = each
            apart = np.array([_apart(v, line, g) for v, g in zip(vains, granules, strict=True)])
            covered = -(-(run_bytes + line - granule[firsts]) // line) + apart[where][lasts]
            more = covered - np.add.reduceat(here, firsts)
            kind, elsewhere = LINE_ENTRIES[line]
            _tally(entered.codes, event_code(section, KIND[kind]), here)
            _tally(entered.codes, event_code(section[firsts], KIND[elsewhere]), more)
        return entered

    def _vain(self, index: int, taken: bool) -> Vain:
        known = self._known.get((index, taken))
        if known is None:
            instruction = self._columns.table.instructions[index]
            found = self._ahead.of(index, taken)
            known = self._known[index, taken] = _counted(instruction, found)
        return known


def _counted(instruction: Instruction, found: InVain) -> Vain:
    groups: list[list[int]] = [[instruction.end, instruction.end]]
    for touch in found.touches:
        if touch.start == groups[-1][1]:
            groups[-1][1] = touch.end
        else:
            groups.append([touch.start, touch.end])
    lines, last = [], []
    for line in LINE_BYTES:
        at = (instruction.end - 1) // line
        entered = []
        for touch in found.touches:
            for one in range(touch.start // line, (touch.end - 1) // line + 1):
                if one != at:
                    entered.append(one)
                at = one
        lost = found.wild or instruction.flow is Flow.SUPERVISOR_CALL
        lines.append(tuple(entered))
        last.append(NO_LINE if lost else at)
    return Vain(
        bool(found.touches),
        tuple(len(one) + 2 * found.wild for one in lines),
        tuple(lines),
        tuple(last),
        groups[0][1] - groups[0][0],
        tuple(end - start for start, end in groups[1:]),
        found.wild,
    )


def _apart(vain: Vain, line: int, granule: int) -> int:
    """Lines that what is fetched in vain away from the run can lie in."""
    return sum(-(-(size + line - granule) // line) for size in vain.groups) + 2 * vain.wild


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
