"""Fetches: every maximal run of sequential instructions fetches each aligned word it covers once.

The first is the first of a burst, the others are next in it. ``realigned`` counts, per run, the
word that the run would need more at a worse address modulo the fetch width:
ceil((bytes + width - granule) / width) - words.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wcetchar.counting.columns import (
    OPERATION,
    PATTERN,
    WIDTH_OF_BYTES,
    Codes,
    Columns,
    access_code,
)
from wcetchar.model.access import Operation, Pattern

Flags = npt.NDArray[np.bool_]


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
    opens: Flags
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

    def events(self, section: Codes) -> Iterator[tuple[Codes, Codes]]:
        """Packed classes, each with the instruction that it is counted for, realigned ones left
        out."""
        count = len(self.start)
        firsts = np.flatnonzero(self.opens)
        yield self._codes(section, Pattern.FIRST)[firsts], firsts
        further = self.words.copy()
        further[firsts] -= 1
        nexts = np.repeat(np.arange(count), further)
        yield self._codes(section, Pattern.NEXT)[nexts], nexts

    def _codes(self, section: Codes, pattern: Pattern) -> Codes:
        return fetch_codes(section, self.width, pattern)


def fetches_of(
    columns: Columns, index: Codes, start: Codes, end: Codes, section: Codes, broken: Flags
) -> Fetches:
    """Of instructions in the order of execution.

    Args:
        index: table index of each; ``start`` and ``end``: where it begins and ends.
        section: that it lies in.
        broken: what follows it is fetched anew: it sent control elsewhere, or is a barrier.
    """
    width, granule = columns.fetch_bytes[index], columns.granule[index]
    opens = np.ones(len(start), dtype=bool)
    # A run is of one state: another one is fetched in other units.
    opens[1:] = broken[:-1] | (width[1:] != width[:-1])
    last_word = (end - 1) // width
    before = np.empty(len(start), dtype=np.int64)
    before[1:] = last_word[:-1]
    before[opens] = (start // width)[opens] - 1
    words = last_word - before
    code = fetch_codes(section, width, Pattern.REALIGNED)
    return Fetches(width, granule, start, end, opens, words, code)


def fetch_codes(section: Codes, width: Codes, pattern: Pattern) -> Codes:
    """Packed classes of fetches of ``width`` bytes."""
    pattern_code = np.full(len(section), PATTERN[pattern])
    return access_code(section, OPERATION[Operation.FETCH], WIDTH_OF_BYTES[width], pattern_code)
