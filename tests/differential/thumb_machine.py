"""Runs single Thumb instructions on unicorn's Cortex-M3 or M4 and records what they did."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

import unicorn as u
from unicorn import arm_const as a

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
PAGE = 0x1000
CODE = 0x1000_0000
CODE_SIZE = 0x80_0000
SLOT = 64


@dataclass
class State:
    """Registers 0..14, flags as bits NZCV, mask registers by name, ITSTATE; on a Cortex-M4 also
    s0..s31."""

    registers: list[int]
    flags: int = 0
    masks: dict[str, int] = field(default_factory=dict)
    it: int = 0
    floats: list[int] = field(default_factory=list)


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
    """Memory appears where it is touched, filled with odd random bytes, so that every loaded
    branch target has its Thumb bit set. ``code_at`` is where the next instruction is put: each one
    has an address of its own, since unicorn keeps what it translated."""

    def __init__(self, seed: int, *, m4: bool = False) -> None:
        self.seed = seed
        self.floats = FLOATS if m4 else []
        self.uc = u.Uc(u.UC_ARCH_ARM, u.UC_MODE_THUMB | u.UC_MODE_MCLASS)
        self.uc.ctl_set_cpu_model(a.UC_CPU_ARM_CORTEX_M4 if m4 else a.UC_CPU_ARM_CORTEX_M3)
        self.uc.mem_map(CODE, CODE_SIZE)
        self.uc.mem_write(CODE, b"\x00\xbf" * (CODE_SIZE // 2))
        self.code_at = CODE
        self.pages: dict[int, bytes] = {}
        self.accesses: list[Access] = []
        self.interrupt: int | None = None
        self.uc.hook_add(u.UC_HOOK_MEM_READ_UNMAPPED | u.UC_HOOK_MEM_WRITE_UNMAPPED, self._unmapped)
        self.uc.hook_add(u.UC_HOOK_MEM_READ | u.UC_HOOK_MEM_WRITE, self._access)
        self.uc.hook_add(u.UC_HOOK_INTR, self._interrupted)
        self.uc.hook_add(u.UC_HOOK_CODE, self._instruction)

    def _unmapped(self, uc, access, address, size, value, _):  # type: ignore[no-untyped-def]
        for page in {address & -PAGE, (address + size - 1) & 0xFFFFFFFF & -PAGE}:
            if page not in self.pages and not CODE <= page < CODE + CODE_SIZE:
                rng = random.Random(self.seed ^ page)
                self.pages[page] = bytes(b | 1 for b in rng.randbytes(PAGE))
                uc.mem_map(page, PAGE)
                uc.mem_write(page, self.pages[page])
        return True

    def _access(self, uc, access, address, size, value, _):  # type: ignore[no-untyped-def]
        write = access == u.UC_MEM_WRITE
        mask = (1 << 8 * size) - 1
        self.accesses.append(Access(write, address & 0xFFFFFFFF, size, value & mask))

    def _memory(self, address: int, size: int) -> int:
        """Contents before the instruction, or of its code."""
        data = b""
        for byte in range(address, address + size):
            page = self.pages.get(byte & -PAGE)
            data += page[byte % PAGE : byte % PAGE + 1] if page else self.uc.mem_read(byte, 1)
        return int.from_bytes(data, "little")

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

    def place(self, code: bytes) -> int:
        """Puts code at an address of its own and returns it."""
        address = self.code_at
        self.uc.mem_write(address, code + b"\x00\xbf" * 4)
        # Something may have jumped here before, and have had the old bytes translated.
        self.uc.ctl_flush_tb()
        self.code_at += SLOT
        if self.code_at + 64 > CODE + CODE_SIZE:
            raise RuntimeError("the code area is full; make it larger")
        return address

    def run(self, address: int, size: int, state: State, instructions: int = 1) -> Outcome:
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
                    False, access.address, access.size, self._memory(access.address, access.size)
                )
                for access in self.accesses
            ],
            error,
        )
        for access in outcome.accesses:
            if access.write:
                for page in {access.address & -PAGE, (access.address + access.size - 1) & -PAGE}:
                    if page in self.pages:
                        uc.mem_write(page, self.pages[page])
        return outcome
