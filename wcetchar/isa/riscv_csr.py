"""Control and status registers: which are known, and which of them mask interrupts.

Source: The RISC-V Instruction Set Manual, Volume II: Privileged Architecture (20211203), tables 2.2
and 2.5 (numbers), 2.1 (the two top bits say read-only), 3.1.6.1 (``mstatus``), 3.1.9 (``mie``).

Listed are the registers of a hart that runs in machine mode, and the user counters. An access to
any other is not decoded: a register of an extension, of the vendor or of supervisor mode may mask
interrupts as well (``mintthresh`` of the CLIC does, ``mideleg`` does), and none is guessed at.
"""

from __future__ import annotations

from typing import Final

from wcetchar.model.instruction import MaskRegister

MSTATUS: Final = 0x300
MIE: Final = 0x304

CSRS: Final = {
    # Counters for all modes.
    0xC00: "cycle", 0xC01: "time", 0xC02: "instret",
    0xC80: "cycleh", 0xC81: "timeh", 0xC82: "instreth",
    **{0xC00 + n: f"hpmcounter{n}" for n in range(3, 32)},
    **{0xC80 + n: f"hpmcounter{n}h" for n in range(3, 32)},
    # Machine information.
    0xF11: "mvendorid", 0xF12: "marchid", 0xF13: "mimpid", 0xF14: "mhartid", 0xF15: "mconfigptr",
    # Machine trap setup and handling.
    MSTATUS: "mstatus", 0x301: "misa", MIE: "mie", 0x305: "mtvec", 0x306: "mcounteren",
    0x310: "mstatush",
    0x340: "mscratch", 0x341: "mepc", 0x342: "mcause", 0x343: "mtval", 0x344: "mip",
    # Configuration and memory protection.
    0x30A: "menvcfg", 0x31A: "menvcfgh", 0x747: "mseccfg", 0x757: "mseccfgh",
    **{0x3A0 + n: f"pmpcfg{n}" for n in range(16)},
    **{0x3B0 + n: f"pmpaddr{n}" for n in range(64)},
    # Machine counters.
    0xB00: "mcycle", 0xB02: "minstret", 0xB80: "mcycleh", 0xB82: "minstreth",
    0x320: "mcountinhibit",
    **{0xB00 + n: f"mhpmcounter{n}" for n in range(3, 32)},
    **{0xB80 + n: f"mhpmcounter{n}h" for n in range(3, 32)},
    **{0x320 + n: f"mhpmevent{n}" for n in range(3, 32)},
    # Triggers.
    0x7A0: "tselect", 0x7A1: "tdata1", 0x7A2: "tdata2", 0x7A3: "tdata3",
}  # fmt: skip
"""Names by number."""

MASKS: Final = {
    MSTATUS: (MaskRegister.MSTATUS_MIE, MaskRegister.MSTATUS_MPIE),
    MIE: (MaskRegister.MIE,),
}
"""The mask registers that stand in each; the first one names it where it is read."""


def read_only(number: int) -> bool:
    """A write to it raises an illegal-instruction exception."""
    return number >> 10 == 0b11


def refusal(number: int) -> str | None:
    """Why accesses to a register are not decoded; ``None``: they are."""
    if number in CSRS:
        return None
    if number in (1, 2, 3):
        return f"CSR {number:#05x} belongs to the floating-point extension, which is not supported"
    if number >> 8 & 3 == 1 or number in (0x302, 0x303, 0x312, 0x313):
        return f"CSR {number:#05x} belongs to supervisor mode, which is not supported"
    return f"CSR {number:#05x} is not a known one of machine mode; it may mask interrupts"
