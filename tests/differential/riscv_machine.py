"""Runs single RISC-V instructions on unicorn's RV32 machine and records what they did."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import unicorn as u
from unicorn import riscv_const as r

REGISTERS = [getattr(r, f"UC_RISCV_REG_X{n}") for n in range(32)]
CSRS = {
    "mstatus": r.UC_RISCV_REG_MSTATUS,
    "mie": r.UC_RISCV_REG_MIE,
    "mepc": r.UC_RISCV_REG_MEPC,
    "mscratch": r.UC_RISCV_REG_MSCRATCH,
}
MACHINE_MODE = 3 << 11
"""mstatus.MPP: mret stays in machine mode."""
PAGE = 0x1000
CODE = 0x1000_0000
CODE_SIZE = 0x10_0000
SLOT = 64
NOP = b"\x01\x00"


@dataclass
class State:
    registers: list[int]
    csrs: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Access:
    write: bool
    address: int
    size: int
    value: int


@dataclass
class Outcome:
    state: State
    pc: int
    accesses: list[Access]
    error: str | None


class Machine:
    """Memory appears where it is touched, filled with random bytes. Each placed code has an address
    of its own, since unicorn keeps what it translated."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.uc = u.Uc(u.UC_ARCH_RISCV, u.UC_MODE_RISCV32)
        self.uc.mem_map(CODE, CODE_SIZE)
        self.uc.mem_write(CODE, NOP * (CODE_SIZE // 2))
        self.code_at = CODE
        self.pages: dict[int, bytes] = {}
        self.accesses: list[Access] = []
        self.uc.hook_add(u.UC_HOOK_MEM_READ_UNMAPPED | u.UC_HOOK_MEM_WRITE_UNMAPPED, self._unmapped)
        self.uc.hook_add(u.UC_HOOK_MEM_READ | u.UC_HOOK_MEM_WRITE, self._access)
        self.uc.hook_add(u.UC_HOOK_CODE, self._instruction)

    def _unmapped(self, uc, access, address, size, value, _):  # type: ignore[no-untyped-def]
        address &= 0xFFFFFFFF
        for page in {address & -PAGE, (address + size - 1) & 0xFFFFFFFF & -PAGE}:
            if page not in self.pages and not CODE <= page < CODE + CODE_SIZE:
                self.pages[page] = random.Random(self.seed ^ page).randbytes(PAGE)
                uc.mem_map(page, PAGE)
                uc.mem_write(page, self.pages[page])
        return True

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

    def place(self, code: bytes) -> int:
        """Puts code at an address of its own and returns it."""
        address = self.code_at
        self.uc.mem_write(address, code + NOP * 4)
        self.uc.ctl_flush_tb()
        self.code_at += SLOT
        if self.code_at + 64 > CODE + CODE_SIZE:
            raise RuntimeError("the code area is full; make it larger")
        return address

    def run(self, address: int, state: State, instructions: int = 1) -> Outcome:
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
        for access in outcome.accesses:
            if access.write:
                for page in {access.address & -PAGE, (access.address + access.size - 1) & -PAGE}:
                    if page in self.pages:
                        uc.mem_write(page, self.pages[page])
        return outcome
