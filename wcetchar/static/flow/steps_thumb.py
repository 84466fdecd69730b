"""Steps and accesses of Thumb code (DDI 0403E, A5.2 and A5.3)."""

from __future__ import annotations

from wcetchar.model.instruction import Instruction
from wcetchar.static.flow.steps import PC, WORD, Access, Kind, Step


def step(row: Instruction) -> Step | None:
    """How a register follows from others; ``None``: not known."""
    if row.length == 2:
        return _narrow_step(int.from_bytes(row.code, "little"), row.address)
    first, second = _halves(row)
    return _wide_step(first, second, row.address)


def access(row: Instruction) -> Access | None:
    """Where a load or store goes; ``None``: not known."""
    count = 0 if row.memory is None else len(row.memory.transfers)
    if row.length == 2:
        return _narrow_access(int.from_bytes(row.code, "little"), row.address, count)
    first, second = _halves(row)
    return _wide_access(first, second, row.address, count)


def table_index(row: Instruction) -> tuple[int, int, bool]:
    """Of tbb and tbh (A7.7.185): base and index register, and whether entries are halfwords."""
    first, second = _halves(row)
    return first & 15, second & 15, bool(second & 0x10)


def branch_register(row: Instruction) -> int | None:
    """Of bx and blx (A7.7.20, A7.7.19): the register that they branch to."""
    if row.length == 2:
        code = int.from_bytes(row.code, "little")
        if code >> 8 == 0x47:
            return code >> 3 & 15
    return None


def _halves(row: Instruction) -> tuple[int, int]:
    return int.from_bytes(row.code[:2], "little"), int.from_bytes(row.code[2:], "little")


def _narrow_step(code: int, address: int) -> Step | None:
    low, middle, high = code & 7, code >> 3 & 7, code >> 8 & 7
    byte = code & 0xFF
    top = code >> 11
    if top == 0:
        return Step(Kind.SHIFT_LEFT, low, middle, c=code >> 6 & 31)
    if top == 1:
        return _right(low, middle, code >> 6 & 31)
    if top == 3:
        third = code >> 6 & 7
        if code & 0x400:
            return Step(Kind.ADD, low, middle, c=-third if code & 0x200 else third)
        return None if code & 0x200 else Step(Kind.SUM, low, middle, third)
    match top:
        case 4:
            return Step(Kind.CONSTANT, high, c=byte)
        case 5:
            return Step(Kind.COMPARE_CONSTANT, a=high, c=byte)
        case 6:
            return Step(Kind.ADD, high, high, c=byte)
        case 7:
            return Step(Kind.ADD, high, high, c=-byte)
        case 0b10100:
            return Step(Kind.CONSTANT, high, c=(address + 4 & ~3) + 4 * byte)
        case 0b10101:
            return Step(Kind.ADD, high, 13, c=4 * byte)
    match code >> 6:
        case 0b0100000000:
            return Step(Kind.AND, low, low, middle)
        case 0b0100000011:
            return Step(Kind.RIGHT_BY, low, low, middle)
        case 0b0100001010:
            return Step(Kind.COMPARE, a=low, b=middle)
        case 0b0100001110:
            return Step(Kind.CLEAR, low, low, middle)
    to, source = code & 7 | code >> 4 & 8, code >> 3 & 15
    match code >> 8:
        case 0x44:
            return Step(Kind.SUM, to, to, source)
        case 0x45:
            return Step(Kind.COMPARE, a=to, b=source)
        case 0x46:
            return Step(Kind.ADD, to, source)
        case 0xB0:
            return Step(Kind.ADD, 13, 13, c=(-1 if code & 0x80 else 1) * 4 * (code & 0x7F))
        case 0xB2 if code & 0x80:
            return Step(Kind.BOUND, low, middle, c=0xFF if code & 0x40 else 0xFFFF)
    return None


def _right(to: int, source: int, amount: int) -> Step:
    """A shift right by a constant, of which 0 stands for 32 (A7.4.2)."""
    if amount == 0:
        return Step(Kind.CONSTANT, to)
    return Step(Kind.SHIFT_RIGHT, to, source, c=amount)


def _narrow_access(code: int, address: int, count: int) -> Access | None:
    low, middle, high = code >> 3 & 7, code >> 6 & 7, code >> 8 & 7
    if code >> 11 == 0b01001:
        return Access(-1, (address + 4 & ~3) + 4 * (code & 0xFF))
    if code >> 12 == 5:
        return Access(low, 0, middle, signed=code >> 9 & 7 in (3, 7))
    if code >> 13 == 3:
        return Access(low, (code >> 6 & 31) * (1 if code & 0x1000 else 4))
    if code >> 12 == 8:
        return Access(low, (code >> 6 & 31) * 2)
    if code >> 12 == 9:
        return Access(13, 4 * (code & 0xFF))
    if code >> 9 == 0b1011010:
        return Access(13, -4 * count, moves=-4 * count)
    if code >> 9 == 0b1011110:
        return Access(13, 0, moves=4 * count)
    if code >> 12 == 12:
        loads_base = code >> 11 & 1 and code >> high & 1
        return Access(high, 0, moves=0 if loads_base else 4 * count)
    return None


def _expanded(first: int, second: int) -> int:
    """ThumbExpandImm (A5.3.2)."""
    number = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
    byte = number & 0xFF
    if number >> 10 == 0:
        match number >> 8:
            case 0:
                return byte
            case 1:
                return byte << 16 | byte
            case 2:
                return byte << 24 | byte << 8
            case _:
                return byte * 0x01010101
    value, rotation = 0x80 | number & 0x7F, number >> 7
    return (value >> rotation | value << 32 - rotation) & WORD


def _wide_step(first: int, second: int, address: int) -> Step | None:
    n, d, m = first & 15, second >> 8 & 15, second & 15
    if first & 0xFA00 == 0xF000 and not second >> 15:
        return _modified(first >> 5 & 15, bool(first & 16), n, d, _expanded(first, second))
    if first & 0xFA00 == 0xF200 and not second >> 15:
        number = (first >> 10 & 1) << 11 | (second >> 12 & 7) << 8 | second & 0xFF
        match first >> 4 & 31:
            case 0 if n == PC:
                return Step(Kind.CONSTANT, d, c=(address + 4 & ~3) + number)
            case 10 if n == PC:
                return Step(Kind.CONSTANT, d, c=(address + 4 & ~3) - number)
            case 0:
                return Step(Kind.ADD, d, n, c=number)
            case 10:
                return Step(Kind.ADD, d, n, c=-number)
            case 4:
                return Step(Kind.CONSTANT, d, c=n << 12 | number)
            case 12:
                return Step(Kind.UPPER, d, d, c=n << 12 | number)
            case 28:
                return Step(Kind.BOUND, d, c=(2 << (second & 31)) - 1)
        return None
    if first & 0xFE00 == 0xEA00:
        amount, shift = (second >> 12 & 7) << 2 | second >> 6 & 3, second >> 4 & 3
        plain = shift == 0 and amount == 0 and d != PC
        match first >> 5 & 15:
            case 0 if plain:
                return Step(Kind.AND, d, n, m)
            case 1 if plain:
                return Step(Kind.CLEAR, d, n, m)
            case 2 if n == PC and shift == 0:
                return Step(Kind.SHIFT_LEFT, d, m, c=amount)
            case 2 if n == PC and shift == 1:
                return _right(d, m, amount)
            case 8 if shift == 0 and d != PC:
                return Step(Kind.SUM, d, n, m, amount)
            case 13 if d == PC and shift == 0 and amount == 0:
                return Step(Kind.COMPARE, a=n, b=m)
        return None
    if second & 0xF0F0 == 0xF000 and first & 0xFFE0 == 0xFA20:
        return Step(Kind.RIGHT_BY, d, n, m)
    if second & 0xF0F0 == 0xF080 and first in (0xFA1F, 0xFA5F):
        return Step(Kind.BOUND, d, m, c=0xFFFF if first == 0xFA1F else 0xFF)
    return None


def _modified(operation: int, flags: bool, n: int, d: int, number: int) -> Step | None:
    """Data processing with a modified immediate (A5.3.1)."""
    match operation:
        case 0 if d != PC:
            return Step(Kind.BOUND, d, n, c=number)
        case 1 if d != PC:
            return Step(Kind.BOUND, d, n, c=~number & WORD)
        case 2 if n == PC:
            return Step(Kind.CONSTANT, d, c=number)
        case 3 if n == PC:
            return Step(Kind.CONSTANT, d, c=~number & WORD)
        case 8 if d != PC:
            return Step(Kind.ADD, d, n, c=number)
        case 13 if d != PC:
            return Step(Kind.ADD, d, n, c=-number)
        case 13 if flags:
            return Step(Kind.COMPARE_CONSTANT, a=n, c=number)
    return None


def _wide_access(first: int, second: int, address: int, count: int) -> Access | None:
    n = first & 15
    up, pre, back = bool(first & 0x80), bool(first & 0x100), bool(first & 0x20)
    sign = 1 if up else -1
    literal = address + 4 & ~3
    if first & 0xFE40 == 0xE800 and up != pre:
        moves = sign * 4 * count if back else 0
        return Access(n, 0 if up else -4 * count, moves=moves)
    floating = first >> 9 == 0b1110110 and second >> 8 & 14 == 10
    if floating and pre and not back:
        offset = sign * 4 * (second & 0xFF)
        return Access(-1, literal + offset) if n == PC else Access(n, offset)
    if floating and (up or pre):
        words = second & 0xFF
        return Access(n, 0 if up else -4 * words, moves=sign * 4 * words if back else 0)
    if first & 0xFE40 == 0xE840 and (pre or back):
        offset = sign * 4 * (second & 0xFF)
        if n == PC:
            return Access(-1, literal + offset)
        return Access(n, offset if pre else 0, moves=offset if back else 0)
    if first & 0xFE00 == 0xF800:
        extends = bool(first & 0x100)
        if n == PC:
            return Access(-1, literal + sign * (second & 0xFFF), signed=extends)
        if up:
            return Access(n, second & 0xFFF, signed=extends)
        if second & 0xFC0 == 0:
            return Access(n, 0, second & 15, second >> 4 & 3, extends)
        if second & 0x800:
            offset = (1 if second & 0x200 else -1) * (second & 0xFF)
            pre, back = bool(second & 0x400), bool(second & 0x100)
            return Access(n, offset if pre else 0, signed=extends, moves=offset if back else 0)
    return None
