"""A fetch unit that delivers one word a cycle: which transfers of control find it held.

By instruction of the table, static: what lies behind a transfer in memory is before the decoder
when it takes effect (``stalls`` has the definitions). Where something may wait, or what lies there
is not code, the unit counts as held.

An instruction is *full* if it does not end with a fetch word and the one behind it lies in that
word, too, or is not known; also if it is itself not known. *Predicted* are direct jumps and calls,
and branches backwards. *Serial* is what may wait until those before it have ended: accesses of
system registers, barriers, waits, supervisor calls, breakpoints. *Late* results are those of loads,
multiplications, divisions, shifts and accesses of system registers.

Held early, of a transfer t: what is behind it in memory is full.

Held late, of a transfer t that was not predicted, with f and s the first and second behind it:

* f is serial or not known;
* f is predicted: f's target does not cross fetch words, and is full; or it is not known;
* else s is not known, or uses a late result of f, or the third is full;
* f, neither serial nor unknown, uses what a load or multiply next before t wrote: s is full.

Held late, of a branch backwards t that fell through, with its target g, held if that is not known:

* g crosses fetch words: g is full;
* else what is behind g is full, or, if what is behind t is full, g is.

What stands before the decoder for longer, whatever for (an operand, the bus, a division), has what
is behind it fetched meanwhile; so where a fetch that is held already would make it less, only what
holds without is said. What a window was entered from is a transfer, and nothing waits behind that.

Checked cycle by cycle against VexRiscv's RTL (tests/functional/test_rtl_stalls.py).
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Flow, Instruction, InstructionTable

MULTIPLIES: Final = frozenset(
    {
        EventKind.MULTIPLY,
        EventKind.MULTIPLY_ACCUMULATE,
        EventKind.MULTIPLY_LONG,
        EventKind.MULTIPLY_ACCUMULATE_LONG,
    }
)
LOADS: Final = frozenset(
    {
        EventKind.LOAD,
        EventKind.LOAD_MULTIPLE,
        EventKind.LOAD_EXCLUSIVE,
        EventKind.STORE_EXCLUSIVE,  # whether it stored comes from memory, too
        EventKind.SWAP,
        EventKind.FLOAT_LOAD,
        EventKind.FLOAT_LOAD_MULTIPLE,
    }
)
SYSTEM: Final = frozenset({EventKind.SYSTEM_REGISTER, EventKind.INTERRUPT_MASK})
_SERIAL: Final = SYSTEM | {
    EventKind.BARRIER,
    EventKind.WAIT,
    EventKind.SUPERVISOR_CALL,
    EventKind.BREAKPOINT,
}
"""Instructions that may wait until those before them have ended."""


def is_late(instruction: Instruction) -> bool:
    """The next instruction may have to wait for its result."""
    slow = LOADS | MULTIPLIES | SYSTEM | {EventKind.DIVIDE}
    return instruction.issue in slow or instruction.shift


def is_predicted(instruction: Instruction) -> bool:
    """A decoder that predicts branches backwards as taken sends control to its target at once."""
    if instruction.target is None or instruction.flow not in (Flow.JUMP, Flow.CALL):
        return False
    return not instruction.conditional or instruction.target <= instruction.address


class FrontEnd:
    """By table index, False for instructions that do not transfer control.

    Attributes:
        early: held, where the transfer takes effect when it is decoded.
        late: held, where it takes effect two cycles later.
        late_behind_load: held as well, where the first instruction behind it uses ``uses_behind``
            of a load or multiply right before the transfer.
        uses_behind: bit mask of registers that the first instruction behind it uses.
    """

    def __init__(self, table: InstructionTable, moved: int) -> None:
        """``moved``: bytes by which the code lies elsewhere, modulo the width of a fetch."""
        self._at = {i.address: i for i in table.instructions}
        self._unit = table.fetch_bytes
        self._moved = moved
        count = len(table)
        flags = np.zeros((3, count), dtype=bool)
        self.uses_behind = np.zeros(count, dtype=np.int64)
        still = (Flow.NEXT, Flow.SUPERVISOR_CALL, Flow.STOP)
        for number, instruction in enumerate(table.instructions):
            if instruction.flow in still:
                continue
            behind = self._at.get(instruction.end)
            if behind is not None and not is_predicted(instruction):
                self.uses_behind[number] = behind.uses
            flags[0, number] = self._holds(instruction.end)
            flags[1, number] = self._late(instruction)
            flags[2, number] = behind is None or behind.issue in _SERIAL or self._holds(behind.end)
        self.early: npt.NDArray[np.bool_] = flags[0]
        self.late: npt.NDArray[np.bool_] = flags[1]
        self.late_behind_load: npt.NDArray[np.bool_] = flags[2]

    def _holds(self, address: int) -> bool:
        """Behind the instruction at ``address`` another one lies complete in the same word."""
        instruction = self._at.get(address)
        if instruction is None:
            return True
        unit = self._unit_of(instruction)
        used = (instruction.end + self._moved_by(instruction)) % unit
        following = self._at.get(instruction.end)
        return used != 0 and (following is None or following.length <= unit - used)

    def _crosses(self, instruction: Instruction) -> bool:
        unit = self._unit_of(instruction)
        return (
            instruction.address + self._moved_by(instruction)
        ) % unit + instruction.length > unit

    def _unit_of(self, instruction: Instruction) -> int:
        return instruction.fetch.bytes if instruction.fetch else self._unit

    def _moved_by(self, instruction: Instruction) -> int:
        """What lies at multiples of more than others do is not moved by less."""
        granule = instruction.fetch.granule if instruction.fetch else 1
        return self._moved // granule * granule

    def _late(self, transfer: Instruction) -> bool:
        if is_predicted(transfer):
            return self._late_behind(transfer)
        first = self._at.get(transfer.end)
        if first is None or first.issue in _SERIAL:
            return True
        if is_predicted(first):  # goes on at its target by itself
            target = self._target(first)
            if target is None:
                return True
            return not self._crosses(target) and self._holds(target.address)
        second = self._at.get(first.end)
        if second is None:
            return True
        if is_late(first) and first.defs & second.uses:
            return True
        return self._holds(second.end)

    def _late_behind(self, branch: Instruction) -> bool:
        """The same for a branch that was taken for taken."""
        target = self._target(branch)
        if target is None:
            return True
        if self._crosses(target):
            return self._holds(target.address)
        return self._holds(target.end) or (self._holds(branch.end) and self._holds(target.address))

    def _target(self, transfer: Instruction) -> Instruction | None:
        return None if transfer.target is None else self._at.get(transfer.target)
