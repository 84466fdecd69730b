"""The independent count of ``chain_oracle`` for RISC-V: other masks, other traps, no frame.

Stack pointers, link registers and masks are those of ``riscv_run``, which carried the run out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import stall_text
from chain_listing import Listing
from chain_oracle import TrapMachine
from chain_stream import Run
from riscv_run import Interpreter


class Registers:
    """What ``chain_oracle`` asks QEMU's log for, by the numbers of Arm."""

    def __init__(self, interpreter: Interpreter) -> None:
        self._of = {13: interpreter.stack, 14: interpreter.link}

    def starts_block(self, step: int) -> bool:
        return True

    def register(self, step: int, number: int) -> int:
        return self._of[number][step]


class RiscvMachine(TrapMachine):
    """No frame; interrupts masked by mstatus."""

    supervisor_calls = frozenset({8, 9, 11})  # `ecall` from U, S and M mode

    def __init__(
        self, listing: Listing, interpreter: Interpreter, run: Run, services: dict[str, Any]
    ) -> None:
        self._open, self._stack_pointers = interpreter.open, interpreter.stack
        log: Any = Registers(interpreter)
        super().__init__(listing, log, run, services)

    def _program(self) -> stall_text.Program:
        return stall_text.riscv(self.listing.lines)

    def _masked(self) -> npt.NDArray[np.bool_]:
        return np.frombuffer(self._open, dtype=np.uint8) == 0

    def _first_threads(self) -> list[int]:
        """A plain return starts the first one: where the stack pointer comes to its stack."""
        pointers = np.frombuffer(self._stack_pointers, dtype=np.uint32)
        inside = np.zeros(len(pointers), dtype=bool)
        for _, start, size in self.stacks:
            inside |= (pointers > start) & (pointers <= start + size)
        return [int(np.argmax(inside))]
