"""Names of core registers as emulators print them, and the order of their events."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from wcetchar.model.instruction import ARM_REGISTERS, RISCV_REGISTERS
from wcetchar.model.trace import Event, EventBatch, Knowledge, Loss
from wcetchar.readers.encoding import CodeMap, InstructionSet

COUNTED: Final = "register values"
"""Their name in ``totals.unread`` where they are not asked for."""

_ARM: Final = {
    **{name: number for number, name in enumerate(ARM_REGISTERS.names)},
    **{f"r{number}": number for number in range(16)},
}
_RISCV: Final = {
    **{name: number for number, name in enumerate(RISCV_REGISTERS.names)},
    **{f"x{number}": number for number in range(32)},
    "fp": 8,
}

NO_REGISTERS: Final = Loss(
    Knowledge.REGISTERS, "arguments of calls cannot be read; their values have to be given"
)


def register_numbers(code: CodeMap) -> Mapping[str, int] | None:
    """Lower-case name -> number, as :class:`RegisterRoles` counts; ``None``: the instruction set
    is not known."""
    if not code.known:
        return None
    return _RISCV if InstructionSet.RISCV in code.sets else _ARM


def register_number(numbers: Mapping[str, int], printed: str) -> int | None:
    """Number of a register as Renode prints it, with all its names (``SP / R13``)."""
    for name in printed.lower().split("/"):
        if name.strip() in numbers:
            return numbers[name.strip()]
    return None


def before_instructions(batch: EventBatch) -> EventBatch:
    """REGISTER events that stand behind their instruction -> in front of it.

    A batch has to begin with an instruction and to hold all that belongs to its last one.
    """
    if not (batch.kind == Event.REGISTER).any():
        return batch
    starts = (batch.kind == Event.INSTRUCTION) | (batch.kind == Event.UNDECODED)
    order = np.argsort(2 * np.cumsum(starts) + (batch.kind != Event.REGISTER), kind="stable")
    return EventBatch(batch.kind[order], batch.address[order], batch.size[order])


def split_at_last_instruction(batch: EventBatch) -> tuple[EventBatch, EventBatch]:
    """A batch in two: up to its last instruction, and from there."""
    found = np.flatnonzero((batch.kind == Event.INSTRUCTION) | (batch.kind == Event.UNDECODED))
    at = int(found[-1]) if len(found) else 0
    return _part(batch, slice(0, at)), _part(batch, slice(at, None))


def joined(one: EventBatch, two: EventBatch) -> EventBatch:
    """Two batches as one."""
    return EventBatch(
        np.concatenate((one.kind, two.kind)),
        np.concatenate((one.address, two.address)),
        np.concatenate((one.size, two.size)),
    )


def _part(batch: EventBatch, rows: slice) -> EventBatch:
    return EventBatch(batch.kind[rows], batch.address[rows], batch.size[rows])
