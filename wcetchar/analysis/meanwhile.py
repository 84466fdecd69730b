"""Data accesses that are waited for while a line of instructions is loaded.

A line is asked for when the instruction before the one that enters it is decoded, or sooner. Let i
enter a line first in a window, behind those before it in memory. What is d instructions before it
accesses its data when the line has been asked for already, if nothing between holds it: with d = 1
and 2 always, with more if none between it and the one before i waits for a result or enters a line
itself. An access of i itself (d = 0) comes when the line is there, so that the writes before it
have gone on meanwhile. How far back a core is like that is for its hardware profile to say.

An access to the memory that the line comes from waits for that, and so does each behind it. Which
ones those are is the map's to say. So all accesses of the ``AHEAD`` instructions before i are told,
the first one first, whether or not they are waited for meanwhile.

Input: what :class:`LineEntries` has found, the window's successions. Output: of each line, pairs of
d and a succession (``Hidden.accesses``).

Soundness: each access belongs to one line at most. What ran before the window, or behind a cut, is
not known: of lines that are entered so early nothing counts. Source: the five stages of an in-order
pipeline; held against VexRiscv instruction by instruction (docs/explanation/rtl.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace

from wcetchar.analysis.line_entries import Asked, Entered, Hidden
from wcetchar.analysis.successions import Successions
from wcetchar.counting.columns import SUCCESSION, Codes
from wcetchar.model.access import AHEAD, NOT_MEANWHILE


@dataclass(frozen=True)
class Meanwhile:
    """What accesses there are in a window.

    Attributes:
        accesses: by position of the instruction, packed classes of its accesses' successions.
        cuts: positions before which something else ran, and the first one.
    """

    accesses: dict[int, list[int]]
    cuts: tuple[int, ...]

    @classmethod
    def of(cls, numbers: Successions, found: tuple[Codes, Codes], cuts: Codes) -> Meanwhile:
        """``found``: packed classes of the successions of a window, and where they are."""
        accesses: dict[int, list[int]] = defaultdict(list)
        for code, position in zip(*(one.tolist() for one in found), strict=True):
            if numbers.keys[code & ~SUCCESSION].access is not None:
                accesses[position].append(code)
        return cls(accesses, (0, *cuts.tolist()))

    def add_to(self, entered: Entered) -> None:
        """Tells the lines of a window what is waited for while they are loaded."""
        for size, asked in entered.asked.items():
            lines = entered.first[size]
            claimed: set[int] = set()
            for line, position in sorted(asked.lines.items(), key=lambda one: one[1]):
                known = lines[line]
                found = tuple(self._of(position, asked, claimed))
                if isinstance(known, Hidden) and any(d != NOT_MEANWHILE for d, _ in found):
                    lines[line] = replace(known, accesses=found)
                    claimed.update(position - d for d, _ in found if d != NOT_MEANWHILE)

    def _of(self, position: int, asked: Asked, claimed: set[int]) -> Iterator[tuple[int, int]]:
        first = position - AHEAD
        if first < 0 or any(first < cut <= position for cut in self.cuts):
            return
        for at in range(first, position + 1):
            comes_behind = at not in claimed and self._comes_behind(at, position, asked)
            for number, code in enumerate(self.accesses.get(at, ())):
                # A second one of i waits for the first, which is made when the line is there.
                meanwhile = comes_behind and (at < position or number == 0)
                yield position - at if meanwhile else NOT_MEANWHILE, code

    @staticmethod
    def _comes_behind(at: int, position: int, asked: Asked) -> bool:
        """An access comes when the line of ``position`` has been asked for."""
        if not asked.onwards[at + 1 : position + 1].all():
            return False
        between = range(at + 1, position - 1)
        return not any(n in asked.waiting or n in asked.entering for n in between)
