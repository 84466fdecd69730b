"""Runs single Thumb instructions on unicorn's Cortex-M3 or M4 and records what they did."""

from __future__ import annotations

from dataclasses import dataclass, field

import unicorn as u
from unicorn import arm_const as a
from unicorn_machine import Access, Memory, Outcome

REGISTERS = [getattr(a, f"UC_ARM_REG_R{n}") for n in range(13)] + [
    a.UC_ARM_REG_SP,
    a.UC_ARM_REG_LR,
]
FLOATS = [getattr(a, f"UC_ARM_REG_S{n}") for n in range(32)]
MASKS = {
    "primask": a.UC_ARM_REG_PRIMASK,
    "basepri": a.UC_ARM_REG_BASEPRI,
    "faultmask": a.UC_ARM_REG_FAULTMASK,
}
CODE_SIZE = 0x80_0000
NOP = b"\x00\xbf"


@dataclass
class State:
    """Registers 0..14, flags as bits NZCV, mask registers by name, ITSTATE; on a Cortex-M4 also
    s0..s31."""

    registers: list[int]
    flags: int = 0
    masks: dict[str, int] = field(default_factory=dict)
    it: int = 0
    floats: list[int] = field(default_factory=list)


class Machine:
    def __init__(self, seed: int, *, m4: bool = False) -> None:
        self.floats = FLOATS if m4 else []
        self.uc = u.Uc(u.UC_ARCH_ARM, u.UC_MODE_THUMB | u.UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(a.UC_CPU_ARM_CORTEX_M4 if m4 else a.UC_CPU_ARM_CORTEX_M3)
        # Odd bytes: every loaded branch target has its Thumb bit set.
        self.memory = Memory(self.uc, seed, size=CODE_SIZE, nop=NOP, fill=lambda byte: byte | 1)
        self.place = self.memory.place
        self.accesses: list[Access] = []
        self.interrupt: int | None = None
        self.uc.hook_add(u.UC_HOOK_MEM_READ | u.UC_HOOK_MEM_WRITE, self._access)
        self.uc.hook_add(u.UC_HOOK_INTR, self._interrupted)
        self.uc.hook_add(u.UC_HOOK_CODE, self._instruction)

    def _access(self, uc, access, address, size, value, _):  # type: ignore[no-untyped-def]
        write = access == u.UC_MEM_WRITE
        mask = (1 << 8 * size) - 1
        self.accesses.append(Access(write, address & 0xFFFFFFFF, size, value & mask))

    def _interrupted(self, uc, number, _):  # type: ignore[no-untyped-def]
        self.interrupt = number
        uc.emu_stop()

    def _instruction(self, uc, address, size, _):  # type: ignore[no-untyped-def]
        if self.left == 0 or not self.begin <= address < self.end:
            # unicorn may run on to the end of its block: only the first stop counts, and all
            # around the code are nops.
            if self.stopped_at is None:
                self.stopped_at = address
            uc.emu_stop()
        self.left -= 1

    def run(self, address: int, size: int, state: State, instructions: int = 1) -> Outcome[State]:
        """Executes at most so many instructions from ``address`` on, as long as they lie in these
        ``size`` bytes; memory that they wrote is restored.

        unicorn's own count is of no use here: it leaves out the skipped instructions of an IT
        block, and sometimes the branches in one.
        """
        uc = self.uc
        self.accesses = []
        self.interrupt = None
        self.begin, self.end, self.left = address, address + size, instructions
        self.stopped_at: int | None = None
        # Privileged, main stack: what msr may have changed.
        uc.reg_write(a.UC_ARM_REG_CONTROL, 0)
        for name, register in MASKS.items():
            uc.reg_write(register, state.masks.get(name, 0))
        for register, value in zip(REGISTERS, state.registers, strict=True):
            uc.reg_write(register, value)
        for register, value in zip(self.floats, state.floats, strict=True):
            uc.reg_write(register, value)
        it = (state.it & 3) << 25 | state.it >> 2 << 10
        uc.reg_write(a.UC_ARM_REG_XPSR, state.flags << 28 | it | 1 << 24)
        error = None
        try:
            uc.emu_start(address | 1, 0)
        except u.UcError as failure:
            error = str(failure)
        if self.interrupt is not None:
            error = f"exception {self.interrupt}"
        outcome = Outcome(
            State(
                [uc.reg_read(register) for register in REGISTERS],
                uc.reg_read(a.UC_ARM_REG_XPSR) >> 28,
                {name: uc.reg_read(register) for name, register in MASKS.items()},
                floats=[uc.reg_read(register) for register in self.floats],
            ),
            uc.reg_read(a.UC_ARM_REG_PC) & ~1 if self.stopped_at is None else self.stopped_at,
            [
                access
                if access.write
                else Access(
                    False,
                    access.address,
                    access.size,
                    self.memory.before(access.address, access.size),
                )
                for access in self.accesses
            ],
            error,
        )
        self.memory.restore(outcome.accesses)
        return outcome
