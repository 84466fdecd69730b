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

What lies behind a transfer of control in memory is asked for when that is decoded; so of a line
that it enters first, in vain, the transfer is the one before, and i what would come next. Where the
one before i enters a line itself, its access comes while the line of i is loaded, and what that
waits for was over before (``ALONE``).

However a line is entered, the access behind it need not wait for the writes before it, as far as
these are over when the line is there; nor need the last write before it, where a queue takes it at
once. Both are told (``LAST_BEFORE``, 0). Behind a barrier, which may wait for writes itself, what
waits for those before it is not.

Input: what :class:`LineEntries` has found, the window's successions. Output: of each line, pairs of
d and a succession (``Hidden.accesses``).

Soundness: each access belongs to one line at most. What ran before the window has read what it
read, but may have written: of lines that are entered so early, the window's first access is told
before all others. Where something else ran in between nothing counts. Source: the five stages of an
in-order pipeline; held against VexRiscv instruction by instruction (docs/explanation/rtl.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from wcetchar.analysis.line_entries import Asked, Entered
from wcetchar.analysis.successions import Successions
from wcetchar.counting.columns import SUCCESSION, Codes
from wcetchar.model.access import (
    AHEAD,
    ALONE,
    LAST_BEFORE,
    MOST_MEANWHILE,
    NOT_MEANWHILE,
    Succession,
)

_AROUND: Final = 8
"""Instructions between the last write before a line and the line, and between that and the first
access behind it, at most: for as long as that takes, few memories make anything wait."""


@dataclass(frozen=True)
class Meanwhile:
    """What accesses there are in a window.

    Attributes:
        accesses: by position of the instruction, packed classes of its accesses' successions.
        cuts: the first position, and those before which something else ran.
        barriers: positions of instructions that wait for all writes.
        keys: the successions, by their numbers.
    """

    accesses: dict[int, list[int]]
    cuts: tuple[int, ...]
    barriers: tuple[int, ...]
    keys: Sequence[Succession]

    @classmethod
    def of(
        cls, numbers: Successions, found: tuple[Codes, Codes], cuts: Codes, barriers: Codes
    ) -> Meanwhile:
        """``found``: packed classes of the successions of a window, and where they are."""
        accesses: dict[int, list[int]] = defaultdict(list)
        for code, position in zip(*(one.tolist() for one in found), strict=True):
            if numbers.keys[code & ~SUCCESSION].access is not None:
                accesses[position].append(code)
        drained = tuple(barriers.tolist())
        return cls(accesses, (0, *cuts.tolist()), drained, numbers.keys)

    def add_to(self, entered: Entered) -> None:
        """Tells the lines of a window what is waited for while they are loaded."""
        for size, asked in entered.asked.items():
            lines = entered.first[size]
            claimed: set[int] = set()
            for line, position in sorted(asked.lines.items(), key=lambda one: one[1]):
                found = tuple(self._of(position, asked, claimed))
                if any(d not in (NOT_MEANWHILE, LAST_BEFORE) for d, _ in found):
                    lines[line] = replace(lines[line], accesses=found)
                    claimed.update(position - d for d, _ in found if d <= MOST_MEANWHILE)
            for line, position in sorted(asked.loaded.items(), key=lambda one: one[1]):
                if position in self.cuts[1:]:
                    continue
                around = tuple(self._around(position, claimed))
                if around:
                    before = lines[line].accesses or tuple(self._before(position))
                    lines[line] = replace(lines[line], accesses=(*before, *around))

    def _of(self, position: int, asked: Asked, claimed: set[int]) -> Iterator[tuple[int, int]]:
        first = position - AHEAD
        if any(first < cut <= position for cut in self.cuts[1:]):
            return
        yield from self._caller(position)
        alone = position - 1 in asked.entering
        for at in range(max(0, first), position + 1):
            comes_behind = (
                at not in claimed
                and self._comes_behind(at, position, asked)
                and not self._drained(at, at)
                and not (alone and at < position)
            )
            for number, code in enumerate(self.accesses.get(at, ())):
                # A second one of i waits for the first, which is made when the line is there.
                if comes_behind and (at < position or number == 0):
                    yield position - at, code
                else:
                    yield ALONE if alone and at == position - 1 else NOT_MEANWHILE, code

    def _caller(self, position: int) -> Iterator[tuple[int, int]]:
        """Of a line that may be asked for before the caller has written."""
        if position < AHEAD and self.accesses:
            yield LAST_BEFORE, self.accesses[min(self.accesses)][0]

    def _before(self, position: int) -> Iterator[tuple[int, int]]:
        """All accesses that a line may be asked for before, as if none were."""
        yield from self._caller(position)
        for at in range(max(0, position - AHEAD), position):
            for code in self.accesses.get(at, ()):
                yield NOT_MEANWHILE, code

    def _around(self, position: int, claimed: set[int]) -> Iterator[tuple[int, int]]:
        """The last write before a line, if no other access is between, and the first access from
        there on; where nothing else ran in between."""
        for at in range(position - 1, max(-1, position - 1 - _AROUND), -1):
            codes = self.accesses.get(at)
            if codes and at not in claimed and self._is_posted(codes[-1]):
                if self._drained(at, position):
                    break
                claimed.add(at)
                yield LAST_BEFORE, codes[-1]
            if codes or at in self.cuts:
                break
        for at in range(position, position + 1 + _AROUND):
            if at > position and at in self.cuts:
                break
            codes = self.accesses.get(at)
            if codes:
                if at not in claimed and not self._drained(at, at):
                    claimed.add(at)
                    yield 0, codes[0]
                break

    def _drained(self, at: int, until: int) -> bool:
        """A barrier has waited for the writes, between the access before the one at a position and
        another position: what is charged for these may have been waited for then."""
        if not self.barriers:
            return False
        before = max((one for one in self.accesses if one < at), default=-1)
        return any(before < barrier <= until for barrier in self.barriers)

    def _is_posted(self, code: int) -> bool:
        access = self.keys[code & ~SUCCESSION].access
        return access is not None and access.may_be_posted

    @staticmethod
    def _comes_behind(at: int, position: int, asked: Asked) -> bool:
        """An access comes when the line of ``position`` has been asked for, behind the instruction
        before that."""
        if not asked.onwards[at + 1 : position].all():
            return False
        between = range(at + 1, position - 1)
        return not any(n in asked.waiting or n in asked.entering for n in between)
