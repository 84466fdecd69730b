"""What is fetched in vain around a transfer of control, by instruction of the table, static.

A core fetches ahead of what it executes. Here it is one that decodes one instruction a cycle, while
the word with the end of the next one is before the decoder; that sends control to the target of a
direct jump or call, and of a branch backwards, when it decodes it (*predicted*); and whose other
transfers take effect two cycles later, returns from handlers and traps three.

Of an instruction i, decoded in cycle 0, that takes effect in cycle e, the fetch unit touches in the
cycles c = 0..e the bytes of::

    behind(d(c))                d(0) = i, d(c + 1) = behind(d(c))
    unless d(c) is predicted:   behind(d(c)) in c, target in c + 1, and d(c + 2) = target

With e = 0 for what was predicted and taken, 2 for other transfers and for predicted ones that were
not taken, 3 for returns from handlers; e = 1 for instructions that a trap follows, and supervisor
calls. Whatever waits makes it less: in the cycle that i takes effect, no more than e instructions
behind it can be decoded. Only what lies behind i is touched in any case, in cycle 0 or sooner.

What lies behind may be no known code; then a word there is touched, and if it is decoded, it may
send the fetch unit anywhere: such a transfer is *wild*.

Checked against VexRiscv's RTL, line by line (tests/functional/test_rtl_refills.py): 99.8 % of the
lines that the core loads are those that follow from this, and hardly any others. Sources:
VexRiscv's Verilog, IBusCachedPlugin (predictionJumpInterface, iBusRsp_stages_1),
BranchPlugin_jumpInterface (stage `memory`), CsrPlugin_jumpInterface (stage `writeBack`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

from wcetchar.counting.front_end import is_predicted
from wcetchar.model.instruction import Flow, Instruction, InstructionTable

_STILL: Final = frozenset({Flow.NEXT, Flow.SUPERVISOR_CALL, Flow.STOP})
EARLY: Final = 0
TRAP: Final = 1
LATE: Final = 2
HANDLER_RETURN: Final = 3
"""Cycles between decoding a transfer and its effect."""


@dataclass(frozen=True)
class Touch:
    """Bytes start..end - 1 are fetched in vain, ``before`` cycles before control is transferred."""

    start: int
    end: int
    before: int


@dataclass(frozen=True)
class InVain:
    """All that one transfer fetches in vain, in order. ``wild``: perhaps more, anywhere."""

    touches: tuple[Touch, ...] = ()
    wild: bool = False


NOTHING: Final = InVain()


class FetchAhead:
    """Fetches in vain of the instructions of a table."""

    def __init__(self, table: InstructionTable) -> None:
        self._table = table
        self._at = {i.address: i for i in table.instructions}
        self._of = cache(self._find)

    def of(self, index: int, taken: bool, trapped: bool = False) -> InVain:
        """What the instruction at this index of the table fetches in vain, if it transferred
        control (``taken``) or did not, and if a trap came behind it."""
        return self._of(index, taken, trapped)

    def _find(self, index: int, taken: bool, trapped: bool) -> InVain:
        instruction = self._table.instructions[index]
        if trapped or instruction.flow is Flow.SUPERVISOR_CALL:
            return self._ahead(instruction, TRAP)
        predicted = is_predicted(instruction)
        if taken and instruction.flow is Flow.RETURN and instruction.masks:
            return self._ahead(instruction, HANDLER_RETURN)
        if taken:
            return self._ahead(instruction, EARLY if predicted else LATE)
        if predicted and instruction.flow not in _STILL:
            return self._ahead(instruction, LATE)
        return NOTHING

    def _ahead(self, instruction: Instruction, effect: int) -> InVain:
        touches: list[Touch] = []
        at: Instruction | None = instruction
        cycle = 0
        while cycle <= effect:
            if at is None:  # decoded, and not known
                return InVain(tuple(touches), wild=True)
            behind = self._at.get(at.end)
            touches.append(self._touch(behind, at.end, effect - cycle))
            if is_predicted(at):
                assert at.target is not None
                target = self._at.get(at.target)
                if cycle + 1 <= effect:
                    touches.append(self._touch(target, at.target, effect - cycle - 1))
                at = target
                cycle += 1
            else:
                at = behind
            cycle += 1
        return InVain(tuple(touches))

    def _touch(self, instruction: Instruction | None, address: int, before: int) -> Touch:
        length = self._table.fetch_bytes if instruction is None else instruction.length
        return Touch(address, address + length, before)
