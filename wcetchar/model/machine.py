"""Emulated boards: where QEMU has their memory, and how a run on one is captured.

Two rooms need it: ``capture`` starts the emulator; ``readers`` bring the addresses of QEMU's own
logs back to where the memory is.

``qemu_plugin_hwaddr_phys_addr`` of QEMU before 8.2 adds the RAM block's place in the flat space of
all blocks (``info ramblock``) to its true address (``info mtree``), whichever mirror the access
went through. For a device region that is split into several sections it counts the section's
offset into the region twice: with pages of 1 KiB on M-profile this shifts the system control
space from 0xE000E400 on by 0x400. Both figures can be asked of QEMU's monitor; a test does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class RamBlock:
    """A block of RAM or ROM at ``base``, with QEMU 7.2's offset of its block.

    ``aliases`` are further addresses of the same memory (mirrors): (start, size). QEMU 8.2 and
    later print the address that was accessed, 7.2 the one under ``base``.
    """

    name: str
    base: int
    size: int
    offset: int
    aliases: tuple[tuple[int, int], ...] = ()

    @property
    def shown(self) -> int:
        """Address that QEMU 7.2 prints for the block's first byte."""
        return self.base + self.offset

    @property
    def ranges(self) -> tuple[tuple[int, int], ...]:
        """(start, end) of every place where the block can be accessed."""
        own = (self.base, self.base + self.size)
        return (own, *((start, start + size) for start, size in self.aliases))


@dataclass(frozen=True)
class ShiftedDevice:
    """A device region that QEMU 7.2 prints at ``start + shift`` instead of ``start``."""

    name: str
    start: int
    end: int
    shift: int


@dataclass(frozen=True)
class Machine:
    """An emulated board with one core, by the name of QEMU's ``-M``.

    Attributes:
        state: of its code where no image says otherwise, as ``CodeRange`` names it.
        blocks: all of its RAM and ROM, with the default size of memory; the same in QEMU 7.2 and
            10.0.
    """

    name: str
    state: str
    blocks: tuple[RamBlock, ...]
    devices: tuple[ShiftedDevice, ...] = ()

    @property
    def image_machine(self) -> str:
        """Of the images that it executes, as ``Image.machine`` names it."""
        return "riscv" if self.state == "riscv" else "arm"


@dataclass(frozen=True, kw_only=True)
class CapturedMachine(Machine):
    """A machine that runs can be captured on.

    Attributes:
        qemu: the emulator's program.
        package: Debian package that has it.
        cpu: of QEMU's ``-cpu``.
        options: QEMU's, beside those that every machine gets.
        starts_at_entry: the core begins at the ELF file's entry; else where its reset vector says.
        core: which of the emulator's kinds of core it is, as the plugin names it: ``armv4t``;
            ``""`` for the usual one.
    """

    qemu: str
    package: str
    cpu: str
    options: tuple[str, ...] = ()
    starts_at_entry: bool = False
    core: str = ""


_SYSTEM_CONTROL_SPACE: Final = (ShiftedDevice("nvic_sysregs", 0xE000E400, 0xE000F000, 0x400),)


def _m_profile(name: str, *blocks: RamBlock) -> Machine:
    return Machine(name, "thumb", blocks, _SYSTEM_CONTROL_SPACE)


def _mps2(name: str, cpu: str) -> CapturedMachine:
    return CapturedMachine(
        name,
        "thumb",
        _MPS2,
        _SYSTEM_CONTROL_SPACE,
        qemu="qemu-system-arm",
        package="qemu-system-arm",
        cpu=cpu,
    )


_MPS2: Final = (
    RamBlock("mps.ram", 0x21000000, 0x1000000, 0x0),
    RamBlock(
        "mps.blockram",
        0x01000000,
        0x4000,
        0x1000000,
        ((0x01004000, 0x4000), (0x01008000, 0x4000), (0x0100C000, 0x4000)),
    ),
    RamBlock("mps.ssram1", 0x00000000, 0x400000, 0x1010000, ((0x00400000, 0x400000),)),
    RamBlock("mps.ssram23", 0x20000000, 0x400000, 0x1410000, ((0x20400000, 0x400000),)),
)

MACHINES: Final[tuple[Machine, ...]] = (
    _mps2("mps2-an385", "cortex-m3"),
    _mps2("mps2-an386", "cortex-m4"),
    _m_profile(
        "mps2-an500",
        RamBlock("mps.ram", 0x60000000, 0x1000000, 0x0),
        RamBlock("mps.ssram1", 0x00000000, 0x400000, 0x1000000, ((0x00400000, 0x400000),)),
        RamBlock("mps.ssram23", 0x20000000, 0x400000, 0x1400000, ((0x20400000, 0x400000),)),
    ),
    _m_profile(
        "mps2-an511",
        RamBlock("mps.ram", 0x21000000, 0x1000000, 0x0),
        RamBlock("mps.blockram", 0x00000000, 0x40000, 0x1000000),
        RamBlock("mps.ssram1", 0x00400000, 0x800000, 0x1040000),
        RamBlock("mps.sram", 0x20000000, 0x20000, 0x1840000),
        RamBlock("mps.ssram23", 0x20400000, 0x400000, 0x1860000),
    ),
    CapturedMachine(
        "lm3s6965evb",
        "thumb",
        (
            RamBlock("stellaris.flash", 0x00000000, 0x40000, 0x0),
            RamBlock("stellaris.sram", 0x20000000, 0x10000, 0x40000),
        ),
        _SYSTEM_CONTROL_SPACE,
        qemu="qemu-system-arm",
        package="qemu-system-arm",
        cpu="cortex-m3",
    ),
    _m_profile(
        "lm3s811evb",
        RamBlock("stellaris.flash", 0x00000000, 0x10000, 0x0),
        RamBlock("stellaris.sram", 0x20000000, 0x2000, 0x10000),
    ),
    _m_profile(
        "netduino2",
        RamBlock("STM32F205.flash", 0x08000000, 0x100000, 0x0, ((0x0, 0x100000),)),
        RamBlock("STM32F205.sram", 0x20000000, 0x20000, 0x100000),
    ),
    _m_profile(
        "stm32vldiscovery",
        RamBlock("STM32F100.flash", 0x08000000, 0x20000, 0x0, ((0x0, 0x20000),)),
        RamBlock("STM32F100.sram", 0x20000000, 0x2000, 0x20000),
    ),
    _m_profile(
        "microbit",
        RamBlock("nrf51.sram", 0x20000000, 0x4000, 0x0),
        RamBlock("nrf51_soc.flash", 0x00000000, 0x40000, 0x10000),
    ),
    CapturedMachine(
        "virt",
        "riscv",
        (
            RamBlock("riscv_virt_board.ram", 0x80000000, 0x8000000, 0x0),
            RamBlock("riscv_virt_board.mrom", 0x1000, 0xF000, 0x8000000),
            RamBlock("virt.flash0", 0x20000000, 0x2000000, 0x8040000),
            RamBlock("virt.flash1", 0x22000000, 0x2000000, 0xA040000),
        ),
        qemu="qemu-system-riscv32",
        package="qemu-system-misc",
        # Machine mode and user mode only, as microcontrollers are: so every trap is taken in
        # machine mode, and every return from one is an mret.
        cpu="rv32,s=off,h=off",
        options=(
            *("-m", "128M", "-bios", "none"),
            # The device tree that QEMU puts into RAM has a random number, and the real-time clock
            # is the host's: both made the same for every run.
            *("-seed", "0", "-rtc", "base=2000-01-01T00:00:00,clock=vm"),
        ),
        starts_at_entry=True,
    ),
    CapturedMachine(
        "versatilepb",
        "arm",
        (
            RamBlock("versatile.ram", 0x0, 0x8000000, 0x0),
            RamBlock("versatile.flash", 0x34000000, 0x4000000, 0x8000000),
        ),
        qemu="qemu-system-arm",
        package="qemu-system-arm",
        # A core of Armv4T, as the ARM7TDMI is: what came later is undefined on it.
        cpu="ti925t",
        options=(
            *("-m", "128M", "-rtc", "base=2000-01-01T00:00:00,clock=vm"),
            # QEMU from 8.2 on wants to be told what its sound goes to.
            *("-audiodev", "none,id=none", "-global", "pl041.audiodev=none"),
        ),
        starts_at_entry=True,
        core="armv4t",
    ),
)
"""Machines whose memory map is known."""


def machine_named(name: str | None) -> Machine | None:
    """The machine of that name, ``None`` where there is none."""
    return next((machine for machine in MACHINES if machine.name == name), None)


def machine_names() -> str:
    """All of them, for messages."""
    return ", ".join(machine.name for machine in MACHINES)
