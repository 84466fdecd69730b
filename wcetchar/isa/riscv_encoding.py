"""Encodings in the notation of the RISC-V manual: fields of a code word, and their values.

The unprivileged specification lists each encoding as a row of fields, most significant first
("RV32/64G Instruction Set Listings" and "RVC Instruction Set Listings"); the tables of effects
carry those rows as text, and this module reads them:

====================  ===========================================================================
``0110011``           constant bits
``rd rs1 rs2``        a register number, 5 bits
``rd' rs1' rs2'``     3 bits, x8 to x15
``imm[12|10:5]``      bits 12 and 10 to 5 of a signed immediate; it may continue in another field
``uimm[7:6]``         the same of an unsigned one
``nzimm``, ``nzuimm`` the same, zero being another instruction or reserved
``shamt``, ``zimm``   an unsigned immediate of 5 bits
``csr``               a control and status register, 12 bits
``pred succ``         the sets of a fence, 4 bits
``aq rl``             the ordering bits of an atomic operation
``rd!=0,2``           a field that has none of these values
====================  ===========================================================================

Whatever it is called, an immediate is the operand ``imm``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final

Operands = Mapping[str, int]
"""Values of ``rd rs1 rs2 imm csr pred succ aq rl``, as far as an encoding has them. Immediates are
signed where the manual says so."""

_WIDTHS: Final = {
    "rd": 5, "rs1": 5, "rs2": 5, "rd'": 3, "rs1'": 3, "rs2'": 3, "shamt": 5, "zimm": 5,
    "csr": 12, "pred": 4, "succ": 4, "aq": 1, "rl": 1,
}  # fmt: skip
_SIGNED: Final = frozenset({"imm", "nzimm"})
_NOT_ZERO: Final = frozenset({"nzimm", "nzuimm"})
_IMMEDIATES: Final = frozenset({"imm", "uimm", "nzimm", "nzuimm", "shamt", "zimm"})
_FIELD: Final = re.compile(r"([a-z]+[0-9]?'?)(?:\[([0-9:|]+)\])?(?:!=([0-9,]+))?")


@dataclass(frozen=True, slots=True)
class _Piece:
    """``width`` bits from ``shift`` of the code go to ``place`` of the operand."""

    shift: int
    width: int
    place: int


@dataclass(frozen=True, slots=True)
class _Operand:
    name: str
    pieces: tuple[_Piece, ...]
    sign: int | None
    offset: int
    forbidden: frozenset[int]

    def value(self, code: int) -> int:
        number = 0
        for piece in self.pieces:
            number |= (code >> piece.shift & (1 << piece.width) - 1) << piece.place
        if self.sign is not None and number >> self.sign & 1:
            number -= 2 << self.sign
        return number + self.offset


@dataclass(frozen=True, slots=True)
class Encoding:
    """One row: a code belongs to it when ``code & mask == value`` and ``operands`` gives some."""

    mask: int
    value: int
    _operands: tuple[_Operand, ...]

    def operands(self, code: int) -> dict[str, int] | None:
        """Operands of a code; ``None`` where it is not one of this row."""
        if code & self.mask != self.value:
            return None
        found = {}
        for operand in self._operands:
            number = operand.value(code)
            if number in operand.forbidden:
                return None
            found[operand.name] = number
        return found


@cache
def encoding(notation: str, width: int) -> Encoding:
    """Reads a row of ``width`` bits.

    Raises:
        ValueError: the row is not of that width, or a field is not known.
    """
    mask = value = 0
    position = width
    pieces: dict[str, list[_Piece]] = {}
    forbidden: dict[str, set[int]] = {}
    for token in notation.split():
        if set(token) <= {"0", "1"}:
            position -= len(token)
            mask |= (1 << len(token)) - 1 << max(position, 0)
            value |= int(token, 2) << max(position, 0)
            continue
        match = _FIELD.fullmatch(token)
        if match is None or (match[1] not in _WIDTHS and not match[2]):
            raise ValueError(f"{token!r} in {notation!r}")
        name = match[1]
        if match[3]:
            forbidden.setdefault(name, set()).update(map(int, match[3].split(",")))
        for high, low in _bits(match[2]) if match[2] else [(_WIDTHS[name] - 1, 0)]:
            position -= high - low + 1
            pieces.setdefault(name, []).append(_Piece(position, high - low + 1, low))
    if position != 0:
        raise ValueError(f"{notation!r} has not {width} bits")
    return Encoding(
        mask,
        value,
        tuple(_operand(name, found, forbidden.get(name, set())) for name, found in pieces.items()),
    )


def _bits(text: str) -> list[tuple[int, int]]:
    """``12|10:5`` -> (12, 12), (10, 5)."""
    ranges = [[int(number) for number in part.split(":")] for part in text.split("|")]
    return [(numbers[0], numbers[-1]) for numbers in ranges]


def _operand(name: str, pieces: list[_Piece], forbidden: set[int]) -> _Operand:
    if name in _NOT_ZERO:
        forbidden = forbidden | {0}
    return _Operand(
        name="imm" if name in _IMMEDIATES else name.rstrip("'"),
        pieces=tuple(pieces),
        sign=max(p.place + p.width - 1 for p in pieces) if name in _SIGNED else None,
        offset=8 if name.endswith("'") else 0,
        forbidden=frozenset(forbidden),
    )
