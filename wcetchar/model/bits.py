"""Words of 32 bits of which only some are known.

A read of ``mstatus`` gives a word of which a trace shows two bits at most. Where other bits are
masked away, set, or added to, what is known of the result follows bit by bit.

Equations: with one(x) and zero(x) the bits that are known to be set and clear,

* and: one = one(a) & one(b), zero = zero(a) | zero(b); or: the other way round;
* shift left by n: both move up, the n lowest bits are clear;
* add: the carry into each bit lies between those of the smallest and of the largest sum. A bit of
  the sum is known where both operands and the carry are (H. S. Warren, Hacker's Delight, 2nd
  edition, 4-3, on bounds of sums; exhaustive comparison in the tests).
"""

from __future__ import annotations

from dataclasses import dataclass

from wcetchar.model.instruction import Calculation

WORD = 0xFFFFFFFF


@dataclass(frozen=True)
class Bits:
    """``value``, of which the bits ``known`` are known; the others of ``value`` are 0."""

    value: int
    known: int = WORD

    def __post_init__(self) -> None:
        if self.value & ~self.known or self.known & ~WORD:
            raise ValueError(f"{self.value:#x} has bits that are not known: {self.known:#x}")

    @property
    def clear(self) -> int:
        """Bits that are known to be 0."""
        return self.known & ~self.value

    @property
    def whole(self) -> int | None:
        """The value, where all of it is known."""
        return self.value if self.known == WORD else None

    def only(self, bits: int) -> Bits:
        """What is known of these bits."""
        return Bits(self.value & bits, self.known & bits)


NOTHING = Bits(0, 0)


def calculated(calculation: Calculation, one: Bits, two: Bits) -> Bits:
    """What is known of the result of two operands."""
    match calculation:
        case Calculation.AND:
            value = one.value & two.value
            return Bits(value, value | one.clear | two.clear)
        case Calculation.OR:
            value = one.value | two.value
            return Bits(value, value | (one.clear & two.clear))
        case Calculation.ADD:
            return _sum(one, two)
        case Calculation.SHIFT_LEFT:
            by = two.whole
            if by is None or by > 31:
                return NOTHING
            low = (1 << by) - 1
            return Bits(one.value << by & WORD, (one.known << by | low) & WORD)


def _sum(one: Bits, two: Bits) -> Bits:
    smallest = one.value + two.value
    largest = (one.value | WORD & ~one.known) + (two.value | WORD & ~two.known)
    # The carry into each bit, if all unknown bits are 0, and if all are 1.
    carry_then = smallest ^ one.value ^ two.value
    carry_most = largest ^ (one.value | WORD & ~one.known) ^ (two.value | WORD & ~two.known)
    known = one.known & two.known & ~(carry_then ^ carry_most) & WORD
    return Bits(smallest & known, known)
