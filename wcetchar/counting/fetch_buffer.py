"""What a core with a prefetch buffer fetches in vain, by instruction of the table, static.

It fetches words in sequence as long as its buffer has room, executes one instruction, and has
decoded at most one behind that. Of an instruction i that executes::

    behind        bytes end(i) .. end(i) + buffer.behind - 1, each once, in order
    speculative   buffer.speculative bytes at the target of a direct branch d that is decoded and
                  need not be what is executed next, in between; d = i, or what lies behind i

* i transfers control: ``behind``, and d is what lies behind i; a conditional i is one d more.
* i is a conditional direct branch and falls through: d = i. The buffer is kept, so that what lies
  behind is fetched on.
* i is a barrier, a wait or a supervisor call: as a transfer, for what was fetched is fetched again.

What lies behind may be no known code (a pool of literals, a table): then it may be any branch, and
its target is anywhere (*wild*). Behind it nothing is decoded.

Each d interrupts the sequence once, wherever it likes: so beside the lines of its target, one line
of those behind i is entered once more. Which one is not known, and what was fetched last neither.

Source: ``M_PROFILE_BUFFER`` and ``ARMV4T_BUFFER`` (``model/instruction.py``).

Soundness: for cores that fetch no further than the table says; that a word is fetched again which
the buffer held is taken for impossible, but where the buffer is flushed. No other core than those
of the manuals was looked into, and none in RTL.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from wcetchar.model.access import EventKind
from wcetchar.model.fetch_buffer import FetchBuffer
from wcetchar.model.instruction import Flow, Instruction, InstructionTable

_FLUSHES = frozenset({EventKind.BARRIER, EventKind.WAIT})


@dataclass(frozen=True)
class Buffered:
    """All that one instruction fetches in vain.

    Attributes:
        behind: first and last + 1 of the bytes behind it that may be fetched.
        in_vain: they are fetched in vain; else they may be executed.
        targets: the same of speculative targets.
        wild: there is one more, anywhere.
    """

    behind: tuple[int, int]
    in_vain: bool = False
    targets: tuple[tuple[int, int], ...] = ()
    wild: bool = False

    @property
    def fetches(self) -> bool:
        """There is something that what goes on in sequence does not fetch once."""
        return self.in_vain or bool(self.targets)


class FetchesAhead:
    """Fetches in vain of the instructions of a table."""

    def __init__(self, table: InstructionTable, buffer: FetchBuffer) -> None:
        self._table = table
        self._buffer = buffer
        self._at = {i.address: i for i in table.instructions}
        self.of = cache(self._find)

    def _find(self, index: int, taken: bool) -> Buffered:
        """What the instruction at this index of the table fetches in vain, if it transferred
        control (``taken``) or did not."""
        i = self._table.instructions[index]
        behind = (i.end, i.end + self._buffer.behind)
        own = self._target(i) if i.conditional else ()
        if not (taken or i.flow is Flow.SUPERVISOR_CALL or i.issue in _FLUSHES):
            return Buffered(behind, targets=own)
        decoded = self._at.get(i.end)
        if decoded is not None:
            return Buffered(behind, True, (*own, *self._target(decoded)))
        return Buffered(behind, True, own, wild=self._buffer.speculative > 0)

    def _target(self, branch: Instruction) -> tuple[tuple[int, int], ...]:
        if branch.target is None or not self._buffer.speculative:
            return ()
        return ((branch.target, branch.target + self._buffer.speculative),)
