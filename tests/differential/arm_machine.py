"""Runs single A32 instructions on unicorn's TI925T, a core of Armv4T, and records what they did."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import unicorn as u
from unicorn import arm_const as a

REGISTERS = [getattr(a, f"UC_ARM_REG_R{n}") for n in range(13)] + [
    a.UC_ARM_REG_SP,
    a.UC_ARM_REG_LR,
]
PAGE = 0x1000
CODE = 0x1000_0000
CODE_SIZE = 0x80_0000
SLOT = 64
NOP = bytes.fromhex("0000a0e1")
SUPERVISOR = 0x13
I_BIT, F_BIT = 1 << 7, 1 << 6


@dataclass
class State:
    """Registers 0..14, flags as bits NZCV, the whole of CPSR's control byte and of SPSR."""

    registers: list[int]
    flags: int = 0
    control: int = SUPERVISOR
    spsr: int = SUPERVISOR


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


@dataclass
class _Run:
    begin: int = 0
    end: int = 0
    left: int = 0
    stopped_at: int | None = None
    interrupt: int | None = None
    accesses: list[Access] = field(default_factory=list)


class Machine:
    """Memory appears where it is touched, filled with random bytes that are multiples of 4, so that
    what is loaded can be an address. Each instruction is put at an address of its own, since
    unicorn keeps what it translated."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.uc = u.Uc(u.UC_ARCH_ARM, u.UC_MODE_ARM)
        self.uc.ctl_set_cpu_model(a.UC_CPU_ARM_TI925T)
        self.uc.mem_map(CODE, CODE_SIZE)
        self.uc.mem_write(CODE, NOP * (CODE_SIZE // 4))
        self.code_at = CODE + 0x2000  # literals reach 4 KiB back
        self.pages: dict[int, bytes] = {}
        self.now = _Run()
        self.uc.hook_add(u.UC_HOOK_MEM_READ_UNMAPPED | u.UC_HOOK_MEM_WRITE_UNMAPPED, self._unmapped)
        self.uc.hook_add(u.UC_HOOK_MEM_READ | u.UC_HOOK_MEM_WRITE, self._access)
        self.uc.hook_add(u.UC_HOOK_INTR, self._interrupted)
        self.uc.hook_add(u.UC_HOOK_CODE, self._instruction)

    def _unmapped(self, uc, access, address, size, value, _):  # type: ignore[no-untyped-def]
        for page in {address & -PAGE, (address + size - 1) & 0xFFFFFFFF & -PAGE}:
            if page not in self.pages and not CODE <= page < CODE + CODE_SIZE:
                rng = random.Random(self.seed ^ page)
                self.pages[page] = bytes(b & 0x3C for b in rng.randbytes(PAGE))
                uc.mem_map(page, PAGE)
                uc.mem_write(page, self.pages[page])
        return True

    def _access(self, uc, access, address, size, value, _):  # type: ignore[no-untyped-def]
        write = access == u.UC_MEM_WRITE
        mask = (1 << 8 * size) - 1
        address &= 0xFFFFFFFF
        value = value & mask if write else self._memory(address, size)
        self.now.accesses.append(Access(write, address, size, value))

    def _memory(self, address: int, size: int) -> int:
        """Contents before the instruction, or of its code."""
        data = b""
        for byte in range(address, address + size):
            page = self.pages.get(byte & -PAGE)
            if page is None and not CODE <= byte < CODE + CODE_SIZE:
                rng = random.Random(self.seed ^ byte & -PAGE)
                page = bytes(b & 0x3C for b in rng.randbytes(PAGE))
            data += page[byte % PAGE : byte % PAGE + 1] if page else self.uc.mem_read(byte, 1)
        return int.from_bytes(data, "little")

    def _interrupted(self, uc, number, _):  # type: ignore[no-untyped-def]
        self.now.interrupt = number
        uc.emu_stop()

    def _instruction(self, uc, address, size, _):  # type: ignore[no-untyped-def]
        now = self.now
        if now.left == 0 or not now.begin <= address < now.end:
            if now.stopped_at is None:
                now.stopped_at = address
            uc.emu_stop()
        now.left -= 1

    def place(self, code: bytes) -> int:
        """Puts code at an address of its own and returns it."""
        address = self.code_at
        self.uc.mem_write(address, code + NOP * 4)
        self.uc.ctl_flush_tb()
        self.code_at += SLOT
        if self.code_at + 64 > CODE + CODE_SIZE:
            raise RuntimeError("the code area is full; make it larger")
        return address

    def run(self, address: int, size: int, state: State, instructions: int = 1) -> Outcome:
        """Executes at most so many instructions from ``address`` on, as long as they lie in these
        ``size`` bytes, in Supervisor mode; memory that they wrote is restored."""
        uc = self.uc
        now = self.now = _Run(address, address + size, instructions)
        uc.reg_write(a.UC_ARM_REG_CPSR, state.flags << 28 | state.control)
        uc.reg_write(a.UC_ARM_REG_SPSR, state.spsr)
        for register, value in zip(REGISTERS, state.registers, strict=True):
            uc.reg_write(register, value)
        error = None
        try:
            uc.emu_start(address, 0)
        except u.UcError as failure:
            error = str(failure)
        if now.interrupt is not None:
            error = f"exception {now.interrupt}"
        cpsr = uc.reg_read(a.UC_ARM_REG_CPSR)
        outcome = Outcome(
            State(
                [uc.reg_read(register) for register in REGISTERS],
                cpsr >> 28,
                cpsr & 0xFF,
                uc.reg_read(a.UC_ARM_REG_SPSR),
            ),
            uc.reg_read(a.UC_ARM_REG_PC) if now.stopped_at is None else now.stopped_at,
            now.accesses,
            error,
        )
        for access in outcome.accesses:
            if access.write:
                for page in {access.address & -PAGE, (access.address + access.size - 1) & -PAGE}:
                    if page in self.pages:
                        uc.mem_write(page, self.pages[page])
        return outcome
