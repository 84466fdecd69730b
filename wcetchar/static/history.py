"""What an instruction's cost depends on, of what was executed before it.

Stalls depend on the last instructions before, and where a run of sequential instructions began
decides what it can fetch more at another address (``counting``). A block that is reached with
another history is another node of a path model, so that each path counts exactly what a trace of
it would. What cannot matter is left out of a history, so that there are few.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.counting.columns import KIND, Columns
from wcetchar.counting.front_end import LOADS, MULTIPLIES
from wcetchar.counting.issue import is_barrier
from wcetchar.counting.stalls import following_up_to
from wcetchar.model.access import EventKind
from wcetchar.model.flow import BasicBlock

NO_RUN: Final = -1


@dataclass(frozen=True)
class History:
    """What was executed last.

    Attributes:
        before: table indices, the last one last: two, or three where hints are among them; empty:
            that is not known.
        taken: the last one sent control elsewhere.
        phase: where the run of sequential instructions began that goes on, modulo the width of a
            fetch; ``NO_RUN``: the next instruction begins one.
        begins: the window does here: none of these is its own.
    """

    before: tuple[int, ...] = ()
    taken: bool = True
    phase: int = NO_RUN
    begins: bool = False


BEGIN: Final = History(begins=True)


class Histories:
    """Goes on with histories, block by block."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        everyone = np.arange(len(columns.table))
        self._barrier = is_barrier(columns, everyone)
        self._hint = columns.issue == KIND[EventKind.HINT]
        self._slow = np.isin(columns.issue, [KIND[kind] for kind in LOADS | MULTIPLIES])

    @cached_property
    def neutral(self) -> int:
        """Table index of what nothing waits for two instructions later."""
        plain = np.flatnonzero(~self._slow & ~self._hint)
        return int(plain[0]) if len(plain) else 0

    def begin(self, first: int, switches: Collection[int]) -> History:
        """Of a window that begins with an instruction. Where the one before it in memory is a load
        that switches threads (``switches``), it goes on behind that.

        Both are told by table index."""
        if first - 1 not in switches:
            return BEGIN
        before = following_up_to(self._columns.table, first - 1)
        return History(self._needed(before), taken=False, begins=True)

    def barriers(self, block: BasicBlock) -> npt.NDArray[np.int64]:
        """Positions in the block of those behind which code is fetched anew."""
        return np.flatnonzero(self._barrier[block.first : block.last + 1])

    def behind(self, history: History, block: BasicBlock, taken: bool) -> History:
        """Behind a block; ``taken``: its last instruction sends control elsewhere."""
        first, last = block.first, block.last
        before = [*history.before, *range(max(first, last - 2), last + 1)]
        if last - first >= 3 and self._hint[last - 1 : last + 1].all():
            before = [*history.before, *range(first, last + 1)]
        phase = NO_RUN
        if not taken and not self._barrier[last]:
            barriers = self.barriers(block)
            if len(barriers):
                phase = self._phase(first + int(barriers[-1]) + 1)
            else:
                phase = self._phase(first) if history.phase == NO_RUN else history.phase
        return History(self._needed(before), taken, phase)

    def _phase(self, index: int) -> int:
        columns = self._columns
        address = columns.table.instructions[index].address
        width, granule = int(columns.fetch_bytes[index]), int(columns.granule[index])
        return 0 if width == granule else address % width

    def _needed(self, executed: list[int]) -> tuple[int, ...]:
        """The end of a sequence as far as it matters."""
        if len(executed) == 1:
            return (self.neutral, executed[0])
        *_, second, last = executed
        if not self._hint[last]:
            return (second if self._slow[second] else self.neutral, last)
        if not self._hint[second]:
            return (second, last)
        real = next((i for i in reversed(executed) if not self._hint[i]), None)
        return (second, last) if real is None else (real, second, last)
