"""Runs single RISC-V instructions on unicorn's RV32 machine and records what they did."""

from __future__ import annotations

from dataclasses import dataclass, field

import unicorn as u
from unicorn import riscv_const as r
from unicorn_machine import Access, Memory, Outcome

REGISTERS = [getattr(r, f"UC_RISCV_REG_X{n}") for n in range(32)]
CSRS = {
    "mstatus": r.UC_RISCV_REG_MSTATUS,
    "mie": r.UC_RISCV_REG_MIE,
    "mepc": r.UC_RISCV_REG_MEPC,
    "mscratch": r.UC_RISCV_REG_MSCRATCH,
}
MACHINE_MODE = 3 << 11
"""mstatus.MPP: mret stays in machine mode."""
CODE_SIZE = 0x10_0000
NOP = b"\x01\x00"


@dataclass
class State:
    registers: list[int]
    csrs: dict[str, int] = field(default_factory=dict)


class Machine:
    def __init__(self, seed: int) -> None:
        self.uc = u.Uc(u.UC_ARCH_RISCV, u.UC_MODE_RISCV32)
        self.memory = Memory(self.uc, seed, size=CODE_SIZE, nop=NOP, fill=lambda byte: byte)
        self.place = self.memory.place
        self.accesses: list[Access] = []
        self.uc.hook_add(u.UC_HOOK_MEM_READ | u.UC_HOOK_MEM_WRITE, self._access)
        self.uc.hook_add(u.UC_HOOK_CODE, self._instruction)

    def _access(self, uc, access, address, size, value, _):  # type: ignore[no-untyped-def]
        write = access == u.UC_MEM_WRITE
        address &= 0xFFFFFFFF
        if not write:
            value = int.from_bytes(uc.mem_read(address, size), "little")
        self.accesses.append(Access(write, address, size, value & (1 << 8 * size) - 1))

    def _instruction(self, uc, address, size, _):  # type: ignore[no-untyped-def]
        if self.left == 0:
            self.stopped_at = address
            uc.emu_stop()
        self.left -= 1

    def run(self, address: int, state: State, instructions: int = 1) -> Outcome[State]:
        """Executes so many instructions from ``address`` on; memory that they wrote is restored."""
        uc = self.uc
        self.left, self.stopped_at = instructions, None
        for name, register in CSRS.items():
            uc.reg_write(register, state.csrs.get(name, 0))
        for register, value in zip(REGISTERS[1:], state.registers[1:], strict=True):
            uc.reg_write(register, value)
        self.accesses = []
        error = None
        try:
            uc.emu_start(address, 0xFFFF_FFFF)
        except u.UcError as failure:
            # A jump to where no code is: it got there all the same.
            if failure.errno != u.UC_ERR_FETCH_UNMAPPED:
                error = str(failure)
        pc = uc.reg_read(r.UC_RISCV_REG_PC) if self.stopped_at is None else self.stopped_at
        outcome = Outcome(
            State(
                [uc.reg_read(register) for register in REGISTERS],
                {name: uc.reg_read(register) for name, register in CSRS.items()},
            ),
            pc,
            self.accesses,
            error,
        )
        self.memory.restore(outcome.accesses)
        return outcome
