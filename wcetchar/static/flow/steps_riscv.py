"""Steps, accesses and comparisons of RISC-V code (20191213, chapters 16 and 24)."""

from __future__ import annotations

from wcetchar.model.instruction import Calculation, Instruction
from wcetchar.static.flow.steps import Access, Kind, Step, signed

_TAKEN = {0: "eq", 1: "ne", 6: "lo", 7: "hs"}


def step(row: Instruction) -> Step | None:
    """How a register follows from others; ``None``: not known. No instruction is predicated, so
    what the table says of copies and calculations is complete."""
    copy, arithmetic = row.copy, row.arithmetic
    if copy is not None:
        if copy.constant is not None:
            return Step(Kind.CONSTANT, copy.destination, c=copy.constant)
        if copy.source is not None:
            return Step(Kind.ADD, copy.destination, copy.source)
        return None
    if arithmetic is not None:
        to, a, b, c = (
            arithmetic.destination,
            arithmetic.source,
            arithmetic.other,
            arithmetic.constant,
        )
        match arithmetic.calculation:
            case Calculation.ADD if b is not None:
                return Step(Kind.SUM, to, a, b)
            case Calculation.ADD if c is not None:
                return Step(Kind.ADD, to, a, c=c)
            case Calculation.SHIFT_LEFT if c is not None:
                return Step(Kind.SHIFT_LEFT, to, a, c=c)
            case Calculation.AND if b is not None:
                return Step(Kind.AND, to, a, b)
            case Calculation.AND if c is not None:
                return Step(Kind.BOUND, to, a, c=c)
    code = int.from_bytes(row.code, "little")
    if row.length == 4 and code & 0xFE00707F == 0x00005013:  # srli
        return Step(Kind.SHIFT_RIGHT, code >> 7 & 31, code >> 15 & 31, c=code >> 20 & 31)
    if row.length == 4 and code & 0xFE00707F == 0x00005033:  # srl
        return Step(Kind.RIGHT_BY, code >> 7 & 31, code >> 15 & 31, code >> 20 & 31)
    if row.length == 2 and code & 0xFC03 == 0x8001:  # c.srli
        register = 8 + (code >> 7 & 7)
        return Step(Kind.SHIFT_RIGHT, register, register, c=code >> 2 & 31)
    return None


def access(row: Instruction) -> Access | None:
    """Where a load or store goes; ``None``: not known."""
    code = int.from_bytes(row.code, "little")
    if row.length == 2:
        word = code >> 4 & 4 | code >> 7 & 0x38 | code << 1 & 0x40
        match code & 3, code >> 13:
            case (0, 2 | 6):
                return Access(8 + (code >> 7 & 7), word)
            case (2, 2):
                return Access(2, code >> 2 & 0x1C | code >> 7 & 0x20 | code << 4 & 0xC0)
            case (2, 6):
                return Access(2, code >> 7 & 0x3C | code >> 1 & 0xC0)
        return None
    base = code >> 15 & 31
    match code & 0x7F:
        case 0x03:
            return Access(base, signed(code >> 20, 12), signed=code >> 12 & 7 in (0, 1))
        case 0x23:
            return Access(base, signed(code >> 25 << 5 | code >> 7 & 31, 12))
        case 0x2F:
            return Access(base, 0)
    return None


def jump(row: Instruction) -> tuple[int, int]:
    """Of jalr: its base register and what is added to it."""
    code = int.from_bytes(row.code, "little")
    if row.length == 2:
        return code >> 7 & 31, 0
    return code >> 15 & 31, signed(code >> 20, 12)


def comparison(row: Instruction) -> tuple[str, int, int] | None:
    """Of a branch: what holds where it is taken, as a condition of Arm, of which two registers."""
    code = int.from_bytes(row.code, "little")
    if row.length == 2:
        if code & 3 == 1 and code >> 13 in (6, 7):
            return _TAKEN[code >> 13 & 1], 8 + (code >> 7 & 7), 0
        return None
    condition = _TAKEN.get(code >> 12 & 7)
    if code & 0x7F != 0x63 or condition is None:
        return None
    return condition, code >> 15 & 31, code >> 20 & 31
