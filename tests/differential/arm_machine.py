"""Runs single A32 instructions on unicorn's TI925T, a core of Armv4T, and records what they did."""

from __future__ import annotations

from dataclasses import dataclass, field

import unicorn as u
from unicorn import arm_const as a
from unicorn_machine import Access, Memory, Outcome

REGISTERS = [getattr(a, f"UC_ARM_REG_R{n}") for n in range(13)] + [
    a.UC_ARM_REG_SP,
    a.UC_ARM_REG_LR,
]
CODE_SIZE = 0x80_0000
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


@dataclass
class _Run:
    begin: int = 0
    end: int = 0
    left: int = 0
    stopped_at: int | None = None
    interrupt: int | None = None
    accesses: list[Access] = field(default_factory=list)


class Machine:
    def __init__(self, seed: int) -> None:
        self.uc = u.Uc(u.UC_ARCH_ARM, u.UC_MODE_ARM)
        self.uc.ctl_set_cpu_model(a.UC_CPU_ARM_TI925T)
        # What is loaded can be an address: multiples of 4.
        self.memory = Memory(self.uc, seed, size=CODE_SIZE, nop=NOP, fill=lambda byte: byte & 0x3C)
        self.memory.code_at += 0x2000  # literals reach 4 KiB back
        self.place = self.memory.place
        self.now = _Run()
        self.uc.hook_add(u.UC_HOOK_MEM_READ | u.UC_HOOK_MEM_WRITE, self._access)
        self.uc.hook_add(u.UC_HOOK_INTR, self._interrupted)
        self.uc.hook_add(u.UC_HOOK_CODE, self._instruction)

    def _access(self, uc, access, address, size, value, _):  # type: ignore[no-untyped-def]
        write = access == u.UC_MEM_WRITE
        mask = (1 << 8 * size) - 1
        address &= 0xFFFFFFFF
        value = value & mask if write else self.memory.before(address, size)
        self.now.accesses.append(Access(write, address, size, value))

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

    def run(self, address: int, size: int, state: State, instructions: int = 1) -> Outcome[State]:
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
        self.memory.restore(outcome.accesses)
        return outcome
