"""Runs functions of an image in unicorn and records every instruction, its registers before it and
the accesses that it makes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import unicorn as u
from elftools.elf.elffile import ELFFile
from unicorn import arm_const as a
from unicorn import riscv_const as r

STACK, STACK_SIZE = 0x3000_0000, 0x1_0000
END = 0x0F00_0000
"""Where a function returns to."""


@dataclass
class Step:
    address: int
    registers: tuple[int, ...]
    accesses: list[tuple[bool, int, int]] = field(default_factory=list)
    """Whether it writes, where, and how many bytes."""


class Machine:
    def __init__(self, elf: Path, target: str) -> None:
        riscv = target.startswith("rv")
        thumb = target.startswith("cortex")
        if riscv:
            self.uc = u.Uc(u.UC_ARCH_RISCV, u.UC_MODE_RISCV32)
            self.registers = [getattr(r, f"UC_RISCV_REG_X{n}") for n in range(32)]
            self.arguments, self.sp, self.link = (10, 11, 12), 2, 1
        else:
            mode = u.UC_MODE_THUMB | u.UC_MODE_MCLASS if thumb else u.UC_MODE_ARM
            self.uc = u.Uc(u.UC_ARCH_ARM, mode)
            models = {
                "cortex-m3": a.UC_CPU_ARM_CORTEX_M3,
                "cortex-m0": a.UC_CPU_ARM_CORTEX_M3,  # it has more
                "arm7tdmi": a.UC_CPU_ARM_TI925T,
            }
            self.uc.ctl_set_cpu_model(models[target])
            self.registers = [getattr(a, f"UC_ARM_REG_R{n}") for n in range(13)]
            self.registers += [a.UC_ARM_REG_SP, a.UC_ARM_REG_LR]
            self.arguments, self.sp, self.link = (0, 1, 2), 13, 14
        self.odd = int(thumb)
        self.uc.mem_map(STACK, STACK_SIZE)
        self.uc.mem_map(END, 0x1000)
        # A jump to itself: unicorn may go on for a while.
        self.uc.mem_write(
            END, bytes.fromhex("6f000000" if riscv else "fee7" if thumb else "feffffea")
        )
        self.uc.mem_map(0x10000, 0x40000)
        self.uc.mem_map(0x2000_0000, 0x10000)
        with elf.open("rb") as stream:
            for segment in ELFFile(stream).iter_segments():
                if segment["p_type"] == "PT_LOAD" and segment["p_filesz"]:
                    self.uc.mem_write(segment["p_vaddr"], segment.data())
        self.steps: list[Step] = []
        self.stores: list[tuple[int, int, int, int]] = []
        """Number of the step, address, bytes, value."""
        self.uc.hook_add(u.UC_HOOK_CODE, self._instruction)
        self.uc.hook_add(u.UC_HOOK_MEM_READ | u.UC_HOOK_MEM_WRITE, self._access)

    def _instruction(self, uc: Any, address: int, size: int, _: Any) -> None:
        if address == END or self.stopped or len(self.steps) >= self.most:
            self.ended |= address == END and not self.stopped
            self.stopped = True
            uc.emu_stop()
            return
        self.steps.append(
            Step(address, tuple(uc.reg_read_batch(self.registers)) if self.watched(address) else ())
        )

    def _access(self, uc: Any, access: int, address: int, size: int, value: int, _: Any) -> None:
        if not self.stopped:
            where = address & 0xFFFFFFFF
            self.steps[-1].accesses.append((access == u.UC_MEM_WRITE, where, size))
            if access == u.UC_MEM_WRITE:
                self.stores.append((len(self.steps) - 1, where, size, value & 0xFFFFFFFF))

    def run(
        self,
        entry: int,
        arguments: tuple[int, ...],
        coin: tuple[int, int],
        most: int,
        watched: Callable[[int], bool],
    ) -> bool:
        """Runs one function; ``steps`` are then what it did. True: it has returned.

        Args:
            coin: address and value of a variable.
            most: instructions after which it is given up.
            watched: whether the registers before an instruction are recorded.
        """
        self.steps, self.most, self.watched = [], most, watched
        self.stores = []
        self.ended = self.stopped = False
        for number, register in enumerate(self.registers):
            if number or self.sp == 13:
                self.uc.reg_write(register, 0xA5A50000 | number * 0x1111 & 0xFFFF)
        for number, value in zip(self.arguments, arguments, strict=True):
            self.uc.reg_write(self.registers[number], value)
        self.uc.reg_write(self.registers[self.sp], STACK + STACK_SIZE - 0x1000)
        self.uc.reg_write(self.registers[self.link], END | self.odd)
        self.uc.mem_write(coin[0], coin[1].to_bytes(4, "little"))
        self.uc.emu_start(entry | self.odd, 0xFFFF_FFFE)
        return self.ended
