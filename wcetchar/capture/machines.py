"""The machines that can be captured, each with what QEMU says of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wcetchar.errors import UsageError


@dataclass(frozen=True)
class RamBlock:
    """Memory as QEMU keeps it (monitor: ``info ramblock``, ``info mtree -f``).

    Attributes:
        start, end: addresses start <= a < end that reach it first.
        offset: of the block in QEMU's RAM space. The ``execlog`` plugin of QEMU 7.2 adds it to
            the address of every access; for an access through an alias it shows the address in
            ``start``..``end``, offset added.
        aliases: (start, end) of further addresses that reach the same memory.
    """

    name: str
    start: int
    end: int
    offset: int
    aliases: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Machine:
    """An emulated board with one core.

    Attributes:
        name: of QEMU's ``-M``.
        qemu: the emulator's program.
        package: Debian package that has it.
        ram: the same in QEMU 7.2 and 10.0.
        image_machine: of the images it executes, as ``Image.machine`` names it.
        options: QEMU's, beside those that every machine gets.
        starts_at_entry: the core begins at the ELF file's entry; else where its reset vector says.
    """

    name: str
    qemu: str
    package: str
    cpu: str
    ram: tuple[RamBlock, ...]
    image_machine: str = "arm"
    options: tuple[str, ...] = ()
    starts_at_entry: bool = False


MACHINES: Final[tuple[Machine, ...]] = (
    Machine(
        name="mps2-an385",
        qemu="qemu-system-arm",
        package="qemu-system-arm",
        cpu="cortex-m3",
        ram=(
            RamBlock("mps.ssram1", 0x0, 0x400000, 0x1010000, ((0x400000, 0x800000),)),
            RamBlock(
                "mps.blockram",
                0x1000000,
                0x1004000,
                0x1000000,
                ((0x1004000, 0x1008000), (0x1008000, 0x100C000), (0x100C000, 0x1010000)),
            ),
            RamBlock("mps.ssram23", 0x20000000, 0x20400000, 0x1410000, ((0x20400000, 0x20800000),)),
            RamBlock("mps.ram", 0x21000000, 0x22000000, 0x0),
        ),
    ),
    Machine(
        name="virt",
        qemu="qemu-system-riscv32",
        package="qemu-system-misc",
        # Machine mode and user mode only, as microcontrollers are: so every trap is taken in
        # machine mode, and every return from one is an mret.
        cpu="rv32,s=off,h=off",
        ram=(RamBlock("riscv_virt_board.ram", 0x80000000, 0x88000000, 0x0),),
        image_machine="riscv",
        options=(
            *("-m", "128M", "-bios", "none"),
            # The device tree that QEMU puts into RAM has a random number, and the real-time clock
            # is the host's: both made the same for every run.
            *("-seed", "0", "-rtc", "base=2000-01-01T00:00:00,clock=vm"),
        ),
        starts_at_entry=True,
    ),
)


def find_machine(name: str) -> Machine:
    """The machine of that name.

    Raises:
        UsageError: there is none.
    """
    for machine in MACHINES:
        if machine.name == name:
            return machine
    raise UsageError(
        f"there is no machine {name!r}",
        expected="one of " + ", ".join(machine.name for machine in MACHINES),
    )
