"""The rows that a window is counted in, and what its instructions fetch.

A row is one access or core event of one instruction, as numbers (``columns.pack``); :class:`Rows`
collects them while a window is labelled, :class:`Labelled` is the whole.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.line_entries import Entered
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.successions import Gaps
from wcetchar.analysis.used_lines import DataUse
from wcetchar.counting.columns import Codes, is_realigned, pack
from wcetchar.counting.fetches import Fetches
from wcetchar.model.access import EventKind


@dataclass(frozen=True)
class Waits:
    """What the instructions of a window wait for beside fetches, and where they lie.

    Attributes:
        address, end: of each, where it begins and ends.
        stalls: kinds of stalls, and positions of the instructions that have them.
        apart: positions before which another thread or the window's own handler ran.
        barriers: positions of instructions that wait for all writes.
    """

    address: Codes
    end: Codes
    stalls: tuple[tuple[EventKind, Codes], ...]
    apart: Codes
    barriers: Codes


@dataclass(frozen=True)
class Labelled:
    """Parallel columns, one row per counted unit.

    Attributes:
        packed: (blocking number, key code, table index), see ``columns.pack``.
        position: which instruction of the window (0..n-1) the row belongs to.
        blocking: per instruction of the window, its blocking number.
        index: per instruction of the window, its table index.
        taken: per instruction of the window, whether it sent control elsewhere.
        fetches: what each instruction fetches.
        waits: what each instruction waits for beside.
        gaps: which access follows which, where that is counted.
        entered: lines of caches, and the code that was fetched.
        data: lines of data caches, where they are told.
    """

    packed: Codes
    position: Codes
    blocking: Codes
    index: Codes
    taken: npt.NDArray[np.bool_]
    fetches: Fetches
    entered: Entered
    waits: Waits
    gaps: Gaps | None = None
    data: DataUse | None = None

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

    def successions(self, first: int, last: int) -> tuple[Codes, Codes]:
        """Classes of the successions of the instructions first..last, and where they are."""
        if self.gaps is None:
            return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
        return self.gaps.within(first, last)


class Rows:
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

    def so_far(self) -> tuple[Codes, Codes]:
        """Key codes and positions that were added."""
        return np.concatenate(self._codes), np.concatenate(self._positions)

    def finish(
        self,
        taken: npt.NDArray[np.bool_],
        fetches: Fetches,
        entered: Entered,
        waits: Waits,
        gaps: Gaps | None = None,
        data: DataUse | None = None,
    ) -> Labelled:
        """The collected rows; nothing may be added any more."""
        positions, self._positions = np.concatenate(self._positions), []
        codes, self._codes = np.concatenate(self._codes), []
        return Labelled(
            pack(self._blocking[positions], codes, self._index[positions]),
            positions,
            self._blocking,
            self._index,
            taken,
            fetches,
            entered,
            waits,
            gaps,
            data,
        )
