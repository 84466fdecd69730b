"""Thumb state of Armv4T: which rows of the Thumb table it has, and what is different about them.

Source: Arm Architecture Reference Manual (DDI 0100I), A7.1 "Alphabetical list of Thumb
instructions", those marked "all T variants" or "T variants of version 4 and above"; ARM7TDMI
Technical Reference Manual r4p1 (DDI 0210C), 1.4.3 and chapter 6.

``bl`` is two instructions of 16 bits, of which the first only computes (A7.1.17); they are decoded
as the one of 32 bits that they are together. ``bx pc`` goes on in Arm state at the next word.
"""

from __future__ import annotations

from typing import Final

from wcetchar.model.access import EventKind
from wcetchar.model.instruction import FetchUnit, Flow, Instruction, Undecodable

FETCH: Final = FetchUnit(bytes=2, granule=2)
"""In Thumb state the ARM7TDMI fetches halfwords (TRM r4p1, DDI 0210C, tables 6-1 and 6-2)."""

MNEMONICS: Final = frozenset({
    "adds", "add", "subs", "sub", "adr", "adcs", "sbcs", "rsbs", "ands", "orrs", "eors", "bics",
    "movs", "mov", "mvns", "lsls", "lsrs", "asrs", "rors", "cmp", "cmn", "tst", "muls", "ldr",
    "ldrb", "ldrh", "ldrsb", "ldrsh", "ldm", "pop", "str", "strb", "strh", "stm", "push", "b",
    "b<c>", "bx", "svc", "udf",
})  # fmt: skip
"""Instructions of 16 bits, by their rows in ``thumb_effects``."""

_BX_PC: Final = bytes.fromhex("7847")
_SHIFTS: Final = frozenset({0x102, 0x103, 0x104, 0x107})
"""Bits 15 to 6 of lsl, lsr, asr and ror by a register (A6.4.3)."""


def refusal(mnemonic: str, code: bytes) -> str | None:
    """Why Armv4T does not have an encoding that Armv7-M has, ``None``: it has it."""
    first = int.from_bytes(code[:2], "little")
    if len(code) == 4:
        second = int.from_bytes(code[2:], "little")
        if mnemonic == "bl" and first >> 11 == 0b11110 and second >> 11 == 0b11111:
            return None
        return "not an Armv4T instruction"
    if mnemonic not in MNEMONICS:
        return "not an Armv4T instruction"
    if first & 0xFDC0 == 0x4400:
        return f"{mnemonic!r} of two low registers in the encoding for high ones is UNPREDICTABLE"
    if mnemonic == "muls" and first >> 3 & 7 == first & 7:
        return "'muls' that names one register twice is UNPREDICTABLE"
    return None


def issue(code: bytes, usual: EventKind) -> EventKind:
    """A shift by a register takes a cycle more than other data processing (TRM, 6.5)."""
    by_register = len(code) == 2 and int.from_bytes(code, "little") >> 6 in _SHIFTS
    return EventKind.SHIFT_BY_REGISTER if by_register else usual


def bx_pc(code: bytes, address: int) -> Instruction | Undecodable | None:
    """``bx pc``, which the veneers of linkers use to get into Arm state; ``None``: it is not
    that."""
    if bytes(code[:2]) != _BX_PC:
        return None
    if address % 4:
        return Undecodable(
            address, _BX_PC, "bx pc", "'bx pc' at an address that is no multiple of 4"
        )
    return Instruction(
        address=address,
        length=2,
        code=_BX_PC,
        text="bx pc",
        issue=EventKind.BRANCH_TAKEN,
        flow=Flow.JUMP,
        target=address + 4 & 0xFFFFFFFF,
        fetch=FETCH,
    )
