"""What instructions do to registers, as far as jump targets depend on it.

A :class:`Step` says how one register follows from others, an :class:`Access` where a load or store
goes. Both are read from the encoding, which the instruction table keeps: its ``copy`` and
``arithmetic`` leave out what is predicated, and offsets.

Sources of the encodings: Armv7-M Architecture Reference Manual (DDI 0403E), A5 and A7.7; Arm
Architecture Reference Manual (DDI 0100I), A3 and A5; The RISC-V Instruction Set Manual, Volume I
(20191213), chapters 16 and 24. ``static/steps_thumb``, ``steps_arm`` and ``steps_riscv`` read them.
What they do not know is left out, and whoever follows registers then knows nothing of the result.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

WORD = 0xFFFFFFFF
PC = 15


class Kind(Enum):
    """With d, a, b registers and c a constant."""

    CONSTANT = "d = c"
    ADD = "d = a + c"
    SUM = "d = a + (b << c)"
    SHIFT_LEFT = "d = a << c"
    SHIFT_RIGHT = "d = a >> c, c < 32"
    BOUND = "0 <= d <= c"
    """Of an ``and`` with c, an extension, a bit field; where c is 2**n - 1 and a is given, d is the
    lowest bits of a."""
    AND = "d = a & b"
    CLEAR = "d = a & ~b"
    RIGHT_BY = "d = a >> b, by whatever bits of b the instruction set takes"
    UPPER = "d = c << 16 | a & 0xffff"
    COMPARE = "flags of a - b"
    COMPARE_CONSTANT = "flags of a - c"


class Step(NamedTuple):
    kind: Kind
    d: int = -1
    a: int = -1
    b: int = -1
    c: int = 0


class Access(NamedTuple):
    """The first element of a memory access is at ``base + offset``, or ``base + (by << shift)``.

    Attributes:
        base: register; -1: ``offset`` is an address.
        by: register, -1: none.
        signed: a narrow load extends the sign.
        moves: what is added to the base register afterwards.
    """

    base: int
    offset: int
    by: int = -1
    shift: int = 0
    signed: bool = False
    moves: int = 0


def signed(value: int, bits: int) -> int:
    """The number that the lowest ``bits`` of ``value`` are in two's complement."""
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> bits - 1 else value
