"""Operand text of one Thumb instruction -> operands.

The text of capstone 5 is parsed rather than its operand details: the details have known mistakes
(access types, registers of strht, the stack pointer of some forms) and cost far more time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

REGISTERS: Final = {f"r{n}": n for n in range(13)} | {
    "sb": 9,
    "sl": 10,
    "fp": 11,
    "ip": 12,
    "sp": 13,
    "lr": 14,
    "pc": 15,
}

_TOKEN = re.compile(r"\[[^\]]*\]!?|\{[^}]*\}|[^,\s\[{][^,]*")
_IMMEDIATE = re.compile(r"#(-?)(0x[0-9a-f]+|[0-9]+)")
_FLOAT = re.compile(r"([sd])(\d+)(?:\[([01])\])?")
_FLOAT_IMMEDIATE = re.compile(r"#-?\d+\.\d+e[+-]\d+")
_SHIFT = re.compile(r"(lsl|lsr|asr|ror) #(0x[0-9a-f]+|[0-9]+)|rrx")


@dataclass(frozen=True, slots=True)
class Register:
    """A register, perhaps shifted by a constant; ``writeback`` is the ``!`` of ldm and stm."""

    number: int
    shift: str = ""
    amount: int = 0
    writeback: bool = False


@dataclass(frozen=True, slots=True)
class Immediate:
    value: int


@dataclass(frozen=True, slots=True)
class Address:
    """``[base, index or constant]``; ``writeback`` for pre-indexed and post-indexed forms.

    ``offset``: the constant; ``post``: it is added behind the access alone. ``shift``: bits that
    the index is shifted to the left.
    """

    base: int
    index: int | None = None
    writeback: bool = False
    offset: int = 0
    post: bool = False
    shift: int = 0


@dataclass(frozen=True, slots=True)
class RegisterList:
    """In ascending order, which is the order of the encoding and of the addresses."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Word:
    """A name: special register, barrier option, condition, interrupt bits."""

    text: str


@dataclass(frozen=True, slots=True)
class Float:
    """``s3``; ``double``: ``d3``; ``half``: one word of it, as in ``d3[1]``."""

    number: int
    double: bool = False
    half: int | None = None

    @property
    def words(self) -> int:
        return 2 if self.double and self.half is None else 1


@dataclass(frozen=True, slots=True)
class FloatList:
    """Consecutive floating-point registers of one size."""

    first: int
    count: int
    double: bool

    @property
    def words(self) -> int:
        return 2 * self.count if self.double else self.count


@dataclass(frozen=True, slots=True)
class FloatImmediate:
    """A floating-point constant, which is not kept."""


Operand = Register | Immediate | Address | RegisterList | Word | Float | FloatList | FloatImmediate


def parse(text: str) -> tuple[Operand, ...]:
    """The operands of ``r0, [r1, #4]!`` and the like.

    Raises:
        ValueError: the text is none that this parser knows.
    """
    operands: list[Operand] = []
    for token in _TOKEN.findall(text):
        operand = _one(token.strip(), operands[-1] if operands else None)
        if isinstance(operand, tuple):
            operands[-1] = operand[0]
        else:
            operands.append(operand)
    return tuple(operands)


def _one(token: str, before: Operand | None) -> Operand | tuple[Operand]:
    """An operand, or in a tuple of one the operand before, completed."""
    if token in REGISTERS:
        return Register(REGISTERS[token])
    if token.endswith("!") and token[:-1] in REGISTERS:
        return Register(REGISTERS[token[:-1]], writeback=True)
    float_ = _FLOAT.fullmatch(token)
    if float_:
        return _float(float_)
    if _FLOAT_IMMEDIATE.fullmatch(token):
        return FloatImmediate()
    if token.startswith("#"):
        value = _immediate(token)
        # "[rn], #4": the base is changed by a constant after the access.
        if isinstance(before, Address) and not before.writeback and before.index is None:
            return (Address(before.base, writeback=True, offset=value, post=True),)
        return Immediate(value)
    if token.startswith("["):
        return _address(token)
    if token.startswith("{"):
        floats = [_FLOAT.fullmatch(name.strip()) for name in token[1:-1].split(",")]
        if any(floats):
            return _float_list(token, floats)
        numbers = tuple(REGISTERS.get(name.strip(), -1) for name in token[1:-1].split(","))
        if sorted(set(numbers)) != list(numbers) or numbers[0] < 0:
            raise ValueError(token)
        return RegisterList(numbers)
    shift = _SHIFT.fullmatch(token)
    if shift and isinstance(before, Register):
        if before.shift:
            raise ValueError(token)
        amount = int(shift[2], 0) if shift[2] else 1
        return (Register(before.number, shift[1] or "rrx", amount),)
    if re.fullmatch(r"[a-z_]+", token):
        return Word(token)
    raise ValueError(token)


def _float(match: re.Match[str]) -> Float:
    return Float(int(match[2]), match[1] == "d", None if match[3] is None else int(match[3]))


def _float_list(token: str, found: list[re.Match[str] | None]) -> FloatList:
    registers = [_float(match) for match in found if match is not None]
    first = registers[0]
    expected = [Float(first.number + i, first.double) for i in range(len(found))]
    if registers != expected:
        raise ValueError(token)
    return FloatList(first.number, len(registers), first.double)


def _immediate(token: str) -> int:
    match = _IMMEDIATE.fullmatch(token)
    if not match:
        raise ValueError(token)
    value = int(match[2], 0)
    return -value if match[1] else value


def _address(token: str) -> Address:
    writeback = token.endswith("!")
    parts = [part.strip() for part in token.rstrip("!")[1:-1].split(",")]
    base = REGISTERS.get(parts[0])
    if base is None or len(parts) > 3:
        raise ValueError(token)
    if len(parts) == 1:
        return Address(base, writeback=writeback)
    if parts[1].startswith("#"):
        offset = _immediate(parts[1])
        if len(parts) > 2:
            raise ValueError(token)
        return Address(base, writeback=writeback, offset=offset)
    index = REGISTERS.get(parts[1])
    shift = _SHIFT.fullmatch(parts[2]) if len(parts) == 3 else None
    if index is None or writeback or (len(parts) == 3 and shift is None):
        raise ValueError(token)
    if shift is not None and shift[1] != "lsl":
        raise ValueError(token)  # there is no other in Thumb
    return Address(base, index, shift=0 if shift is None else int(shift[2], 0))
