"""Steps and accesses of Arm state (DDI 0100I, A3 and A5)."""

from __future__ import annotations

from wcetchar.model.instruction import Instruction
from wcetchar.static.flow.steps import PC, WORD, Access, Kind, Step

_LSL, _LSR = 0, 1


def step(row: Instruction) -> Step | None:
    """How a register follows from others; ``None``: not known."""
    code = int.from_bytes(row.code, "little")
    operation, n, d = code >> 21 & 15, code >> 16 & 15, code >> 12 & 15
    compares = operation in (8, 9, 10, 11)
    if compares and not code >> 20 & 1:
        return None  # mrs, msr, bx
    if code >> 25 & 7 == 1:
        rotation = code >> 7 & 30
        number = code & 0xFF
        number = (number >> rotation | number << 32 - rotation) & WORD
        return _with_constant(operation, n, d, number, row.address)
    if code >> 25 & 7 != 0 or code & 0x90 == 0x90:
        return None  # multiplications, swp, halfwords
    m, amount, shift = code & 15, code >> 7 & 31, code >> 5 & 3
    if code & 0x10:
        by = code >> 8 & 15
        return Step(Kind.RIGHT_BY, d, m, by) if (operation, shift) == (13, _LSR) else None
    plain = shift == _LSL and amount == 0
    match operation:
        case 0 if plain:
            return Step(Kind.AND, d, n, m)
        case 14 if plain:
            return Step(Kind.CLEAR, d, n, m)
        case 13 if shift == _LSL:
            return Step(Kind.SHIFT_LEFT, d, m, c=amount)
        case 13 if shift == _LSR and amount == 0:  # stands for 32
            return Step(Kind.CONSTANT, d)
        case 13 if shift == _LSR:
            return Step(Kind.SHIFT_RIGHT, d, m, c=amount)
        case 4 if shift == _LSL:
            return Step(Kind.SUM, d, n, m, amount)
        case 10 if shift == _LSL and amount == 0:
            return Step(Kind.COMPARE, a=n, b=m)
    return None


def _with_constant(operation: int, n: int, d: int, number: int, address: int) -> Step | None:
    match operation:
        case 13:
            return Step(Kind.CONSTANT, d, c=number)
        case 15:
            return Step(Kind.CONSTANT, d, c=~number & WORD)
        case 4 if n == PC:
            return Step(Kind.CONSTANT, d, c=address + 8 + number)
        case 2 if n == PC:
            return Step(Kind.CONSTANT, d, c=address + 8 - number)
        case 4:
            return Step(Kind.ADD, d, n, c=number)
        case 2:
            return Step(Kind.ADD, d, n, c=-number)
        case 0:
            return Step(Kind.BOUND, d, n, c=number)
        case 14:
            return Step(Kind.BOUND, d, n, c=~number & WORD)
        case 10:
            return Step(Kind.COMPARE_CONSTANT, a=n, c=number)
    return None


def access(row: Instruction) -> Access | None:
    """Where a load or store goes; ``None``: not known."""
    code = int.from_bytes(row.code, "little")
    n, pre, up = code >> 16 & 15, bool(code >> 24 & 1), bool(code >> 23 & 1)
    back = bool(code >> 21 & 1)
    sign = 1 if up else -1
    kind = code >> 25 & 7
    if kind in (2, 3):
        if kind == 3:
            m, amount, shift = code & 15, code >> 7 & 31, code >> 5 & 3
            if not up or not pre or back or shift != _LSL:
                return None
            if n == PC:
                return Access(-1, row.address + 8, m, amount)
            return Access(n, 0, m, amount)
        offset = sign * (code & 0xFFF)
        if n == PC:
            return Access(-1, row.address + 8 + offset) if pre else None
        return Access(n, offset if pre else 0, moves=offset if back or not pre else 0)
    if kind == 0 and code & 0x90 == 0x90 and code & 0x60:
        if not code >> 22 & 1:
            if not up or not pre or back:
                return None
            return Access(n, 0, code & 15, signed=bool(code & 0x40))
        offset = sign * (code >> 4 & 0xF0 | code & 15)
        extends = bool(code & 0x40)
        if n == PC:
            return Access(-1, row.address + 8 + offset, signed=extends) if pre else None
        moves = offset if back or not pre else 0
        return Access(n, offset if pre else 0, signed=extends, moves=moves)
    if kind == 4:
        count = bin(code & 0xFFFF).count("1")
        lowest = (4 if pre else 0) if up else (-4 * count if pre else 4 - 4 * count)
        return Access(n, lowest, moves=sign * 4 * count if back else 0)
    return None


def branch_register(row: Instruction) -> int | None:
    """Of bx (A4.1.10): the register that it branches to."""
    code = int.from_bytes(row.code, "little")
    return code & 15 if code & 0x0FFFFFF0 == 0x012FFF10 else None
