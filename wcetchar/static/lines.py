"""Lines of an instruction cache that steps of a path enter, as ``analysis.line_entries`` counts
them of a window.

Whether an instruction enters a line hangs on the one that was executed before it, which histories
name. So *entries here* are exactly those of a trace. *Elsewhere*, what more there can be where the
code is linked at another address, is counted for each block by itself::

    ceil((b + L - granule) / L)  lines for b bytes that are fetched in sequence, less those entered

which summed over the blocks of a run is never less than for the run as a whole (ceil is
subadditive). Not counted where the core has a prefetch buffer: what is fetched in vain then hangs
on more than histories name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from wcetchar.counting.vain import NO_LINE, FetchedInVain, Vain
from wcetchar.model.access import LINE_ENTRIES, CoreEvent, EventKind, Key
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.flow import BasicBlock
from wcetchar.static.history import History
from wcetchar.static.program import Program


class Lines:
    """Counts entries of lines of one program's steps."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._rows = program.table.instructions
        self._found = FetchedInVain(program.table)
        self._known: dict[tuple[int, bool], Vain] = {}
        self.sizes = LINE_BYTES if program.table.buffer is None else ()
        """Bytes of the lines that are counted."""

    def of(self, block: BasicBlock, taken: bool, history: History) -> Iterator[tuple[Key, int]]:
        """Of a passage of a block; ``taken``: its last instruction sends control elsewhere."""
        for number, size in enumerate(LINE_BYTES) if self.sizes else ():
            here, elsewhere = self._entries(block, taken, history, number, size)
            for kind, counts in zip(LINE_ENTRIES[size], (here, elsewhere), strict=True):
                for section, count in counts.items():
                    if count:
                        yield CoreEvent(self._program.section_names[section], kind), count

    def first(self, index: int) -> Iterator[tuple[Key, int]]:
        """Of a stretch that begins with an instruction: the line that it lies in may have to be
        loaded for it."""
        section = self._program.section_names[int(self._program.code_section[index])]
        for size in self.sizes:
            yield CoreEvent(section, LINE_ENTRIES[size][0]), 1

    def _entries(
        self, block: BasicBlock, taken: bool, history: History, number: int, size: int
    ) -> tuple[Counter[int], Counter[int]]:
        """By number of a section: entries here, and elsewhere."""
        sections = self._program.code_section
        here: Counter[int] = Counter()
        elsewhere: Counter[int] = Counter()
        before, previous, opens = NO_LINE, -1, True
        if not history.begins:
            last = history.before[-1]
            before, opens = self._behind(last, history.taken, number, size)
            previous = int(sections[last])
        first, entered = block.first, 0
        for index in range(block.first, block.last + 1):
            row, section = self._rows[index], int(sections[index])
            goes = taken and index == block.last
            vain = self._vain(index, goes)
            if opens:
                first, entered = index, 0
            begins = row.address // size != before or (previous >= 0 and previous != section)
            crosses = (row.end - 1) // size != row.address // size
            count = begins + crosses + vain.entries[number]
            here[section] += count
            entered += count
            before, opens = self._behind(index, goes, number, size)
            previous = section
            if opens or index == block.last:
                span = row.end - self._rows[first].address + vain.tail
                granule = int(self._program.columns.granule[first])
                covered = -(-(span + size - granule) // size)
                covered += vain.apart(size, int(self._program.columns.granule[index]))
                elsewhere[int(sections[first])] += max(0, covered - entered)
        return here, elsewhere

    def _behind(self, index: int, taken: bool, number: int, size: int) -> tuple[int, bool]:
        """The line that was fetched from last behind an instruction, and whether what comes next is
        not in sequence with it."""
        vain = self._vain(index, taken)
        if vain.ranges:
            return vain.last[number], True
        return (self._rows[index].end - 1) // size, taken

    def _vain(self, index: int, taken: bool) -> Vain:
        key = index, taken
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._found.of(index, taken)
        return known


def is_line_entry(key: Key) -> bool:
    return isinstance(key, CoreEvent) and key.kind.is_line_entry


def is_elsewhere(key: Key) -> bool:
    """An entry that there can be where the code is linked at another address."""
    return isinstance(key, CoreEvent) and key.kind in _ELSEWHERE


_ELSEWHERE: frozenset[EventKind] = frozenset(kinds[1] for kinds in LINE_ENTRIES.values())
