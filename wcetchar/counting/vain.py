"""What one instruction fetches in vain, counted in lines of an instruction cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wcetchar.counting.fetch_ahead import FetchAhead, InVain
from wcetchar.counting.fetch_buffer import Buffered, FetchesAhead
from wcetchar.counting.front_end import is_predicted
from wcetchar.model.cache import LINE_BYTES
from wcetchar.model.fetch_buffer import FetchBuffer
from wcetchar.model.instruction import Flow, Instruction, InstructionTable

Range = tuple[int, int]
"""Addresses start..end - 1."""
NO_LINE: Final = -1


@dataclass(frozen=True)
class Vain:
    """What one instruction fetches in vain.

    Attributes:
        ranges: all of it.
        lines: those that are entered, by size of lines; one of several that it is, with each.
        entries: how many entries that is together, those of ``wild`` among them.
        before: with each of the lines, how many cycles before control is transferred elsewhere.
        behind: by size of lines, the one that is asked for when the transfer is decoded, or sooner,
            for the instruction behind it in memory; ``NO_LINE``: none, or that is not known.
        last: line that was fetched from last; ``NO_LINE``: not known.
        tail: bytes that follow the instruction without a gap.
        groups: bytes of each other group without a gap.
        again: beside, so many lines are entered once more, at any address.
        wild: it may be more, anywhere.
    """

    ranges: tuple[Range, ...]
    lines: tuple[tuple[int, ...], ...]
    entries: tuple[int, ...]
    before: tuple[tuple[int, ...], ...]
    behind: tuple[int, ...]
    last: tuple[int, ...]
    tail: int
    groups: tuple[int, ...]
    again: int
    wild: bool

    def apart(self, line: int, granule: int) -> int:
        """Entries of what is fetched in vain away from the run, at any address."""
        return sum(-(-(size + line - granule) // line) for size in self.groups) + self.again


class FetchedInVain:
    """What instructions of a table fetch in vain, by the front end that the table has."""

    def __init__(self, table: InstructionTable) -> None:
        self._table, self._buffer = table, table.buffer
        self._pipeline = FetchAhead(table)
        self._buffered = None if table.buffer is None else FetchesAhead(table, table.buffer)

    def of(self, index: int, taken: bool) -> Vain:
        """``index``: of the table; ``taken``: it sent control elsewhere."""
        instruction = self._table.instructions[index]
        if self._buffer is None or self._buffered is None:
            return of_pipeline(instruction, self._pipeline.of(index, taken))
        return of_buffer(instruction, self._buffered.of(index, taken), self._buffer)


def wild_lines(buffer: FetchBuffer | None) -> int:
    """Lines that a wild fetch loads at most, of any size."""
    if buffer is None:
        return 1
    return -(-(buffer.speculative + LINE_BYTES[0] - 1) // LINE_BYTES[0])


def of_pipeline(instruction: Instruction, found: InVain) -> Vain:
    """Of a core as ``fetch_ahead`` has it."""
    groups: list[list[int]] = [[instruction.end, instruction.end]]
    for touch in found.touches:
        if touch.start == groups[-1][1]:
            groups[-1][1] = touch.end
        else:
            groups.append([touch.start, touch.end])
    lines, before, behind, last = [], [], [], []
    traps = instruction.flow is Flow.SUPERVISOR_CALL
    returns = instruction.flow is Flow.RETURN and bool(instruction.masks)
    # Of what was predicted, behind a trap and a handler's return, how long that takes is not known.
    known_sooner = not (is_predicted(instruction) or traps or returns)
    for line in LINE_BYTES:
        at = (instruction.end - 1) // line
        entered, sooner, first = [], [], NO_LINE
        for number, touch in enumerate(found.touches):
            for one in _lines(touch.start, touch.end, line):
                if one != at:
                    entered.append(one)
                    sooner.append(touch.before if known_sooner else 0)
                    if number == 0 and not (traps or returns):
                        first = one
                at = one
        lost = found.wild or traps
        lines.append(tuple(entered))
        before.append(tuple(sooner))
        behind.append(first)
        last.append(NO_LINE if lost else at)
    again = 2 * found.wild  # one for where that is, one for what it may replace
    return Vain(
        tuple((touch.start, touch.end) for touch in found.touches),
        tuple(lines),
        tuple(len(one) + again for one in lines),
        tuple(before),
        tuple(behind),
        tuple(last),
        groups[0][1] - groups[0][0],
        tuple(end - start for start, end in groups[1:]),
        again,
        found.wild,
    )


def of_buffer(instruction: Instruction, found: Buffered, buffer: FetchBuffer) -> Vain:
    """Of a core as ``fetch_buffer`` has it. Behind what interrupts the sequence, some line of it is
    entered once more; where control goes on in it, its next instruction is that."""
    wild = wild_lines(buffer) if found.wild else 0
    interruptions = len(found.targets) + found.wild
    lines, entries = [], []
    for line in LINE_BYTES:
        behind = _lines(*found.behind, line)
        once = [n for n in behind if found.in_vain and n != (instruction.end - 1) // line]
        aside = [n for target in found.targets for n in _lines(*target, line)]
        lines.append((*once, *aside, *(interruptions * [*behind])))
        entries.append(len(once) + len(aside) + wild + interruptions * found.in_vain)
    ranges = (*((found.behind,) if found.in_vain else ()), *found.targets)
    return Vain(
        ranges,
        tuple(lines),
        tuple(entries),
        tuple((0,) * len(one) for one in lines),
        (NO_LINE,) * len(LINE_BYTES),
        (NO_LINE,) * len(LINE_BYTES),
        found.behind[1] - found.behind[0] if found.in_vain else 0,
        tuple(end - start for start, end in found.targets),
        wild + interruptions,
        found.wild,
    )


def _lines(start: int, end: int, line: int) -> range:
    return range(start // line, (end - 1) // line + 1)
