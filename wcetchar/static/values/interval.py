"""Sets of 32-bit numbers as strided intervals on the circle of residues modulo 2^32.

    (start, length, step)  stands for  { (start + i * step) mod 2^32 : 0 <= i * step <= length }

so that addition and subtraction need not know whether a number is signed, and one that wraps around
is no special case. Source: G. Balakrishnan and T. Reps, "WYSINWYX: What You See Is Not What You
eXecute", TOPLAS 32(6), 2010 (strided intervals); J. A. Gange, J. A. Navas, P. Schachte, H.
Sondergaard and P. J. Stuckey, "Interval Analysis and Machine Arithmetic: Why Signedness Ignorance
Is Bliss", TOPLAS 37(1), 2014 (wrapped intervals).

Every operation gives a set that holds at least every result; the smallest one need not be an
interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Final

from wcetchar.model.term import Operator, Relation

MODULUS: Final = 1 << 32
WORD: Final = MODULUS - 1
SIGN: Final = 1 << 31


@dataclass(frozen=True, slots=True)
class Interval:
    """``length`` is a multiple of ``step`` and less than 2^32; one number has step 0."""

    start: int
    length: int
    step: int

    @property
    def last(self) -> int:
        return (self.start + self.length) % MODULUS

    @property
    def single(self) -> bool:
        return self.length == 0

    @property
    def full(self) -> bool:
        return self.step > 0 and self.length + self.step == MODULUS

    def __contains__(self, number: int) -> bool:
        away = (number - self.start) % MODULUS
        return away <= self.length and (away == 0 or away % self.step == 0)

    @property
    def natural(self) -> tuple[int, int]:
        """Least and greatest, read as natural numbers."""
        if self.start + self.length < MODULUS:
            return self.start, self.start + self.length
        if self.full:
            return self.start, self.start + self.length
        return 0, WORD

    @property
    def signed(self) -> tuple[int, int]:
        """Least and greatest, read as signed numbers."""
        turned = make(self.start + SIGN, self.length, self.step)
        low, high = turned.natural
        return low - SIGN, high - SIGN


def make(start: int, length: int, step: int) -> Interval:
    """Of any integers; a set that goes round the circle becomes all numbers that leave the same
    remainder by what its step has in common with the circle."""
    if length == 0 or step == 0:
        return Interval(start % MODULUS, 0, 0)
    if length + step >= MODULUS:
        common = gcd(step, MODULUS)
        if length + step == MODULUS and common == step:
            return Interval(start % step, length, step)
        if length >= MODULUS or common == step:
            return Interval(start % common, MODULUS - common, common)
    return Interval(start % MODULUS, length, step)


def number(value: int) -> Interval:
    return Interval(value % MODULUS, 0, 0)


def between(low: int, high: int, step: int = 1) -> Interval:
    """Every number from ``low`` to ``high``, both included; ``high`` at least ``low``."""
    return make(low, (high - low) // step * step, step)


ANY: Final = Interval(0, WORD, 1)


def add(a: Interval, b: Interval) -> Interval:
    return make(a.start + b.start, a.length + b.length, gcd(a.step, b.step))


def negative(a: Interval) -> Interval:
    return make(-(a.start + a.length), a.length, a.step)


def scaled(a: Interval, factor: int) -> Interval:
    """Times a constant."""
    factor %= MODULUS
    if factor == 0:
        return number(0)
    if factor > SIGN:
        return negative(scaled(a, MODULUS - factor))
    return make(a.start * factor, a.length * factor, a.step * factor)


def join(a: Interval, b: Interval) -> Interval:
    """The shorter one of the two arcs that hold both."""
    return min((_from(a, b), _from(b, a)), key=lambda arc: (arc.length, arc.start))


def _from(a: Interval, b: Interval) -> Interval:
    """The arc that begins where ``a`` does and goes on until it has all of ``b``."""
    away = (b.start - a.start) % MODULUS
    return make(a.start, max(a.length, away + b.length), gcd(gcd(a.step, b.step), away))


def within(a: Interval, b: Interval) -> bool:
    """Every number of ``a`` is one of ``b``."""
    if b.full:
        return (a.start - b.start) % b.step == 0 and a.step % b.step == 0
    away = (a.start - b.start) % MODULUS
    if away + a.length > b.length:
        return False
    return b.single or (away % b.step == 0 and a.step % b.step == 0)


def meet(a: Interval, b: Interval) -> Interval | None:
    """At least what they have in common; ``None``: nothing."""
    away = (b.start - a.start) % MODULUS
    pieces = []
    if away <= a.length:
        pieces.append((away, min(a.length, away + b.length), away))
    if away + b.length >= MODULUS:
        pieces.append((0, min(a.length, away + b.length - MODULUS), away - MODULUS))
    found = [
        piece
        for low, high, b_start in pieces
        if (piece := _stepped(a, b, low, high, b_start)) is not None
    ]
    if not found:
        return None
    if len(found) == 1:
        return found[0]
    return a if a.length <= b.length else b


def _stepped(a: Interval, b: Interval, low: int, high: int, b_start: int) -> Interval | None:
    """Numbers from ``low`` to ``high``, counted from ``a.start``, that both steps reach."""
    one, two = a.step or MODULUS, b.step or MODULUS
    common = gcd(one, two)
    if b_start % common:
        return None
    step = one // common * two
    # x = 0 (mod one), x = b_start (mod two)
    turns = b_start // common * pow(one // common, -1, two // common) % (two // common)
    first = one * turns
    first += (
        -((first - low) // step) * step if first >= low else (low - first + step - 1) // step * step
    )
    if first > high:
        return None
    return make(a.start + first, (high - first) // step * step, step)


# --- operators ------------------------------------------------------------------------------------


def calculate(operator: Operator, a: Interval, b: Interval) -> Interval:
    match operator:
        case Operator.ADD:
            return add(a, b)
        case Operator.SUBTRACT:
            return add(a, negative(b))
        case Operator.MULTIPLY:
            return _product(a, b)
        case Operator.AND:
            return _and(a, b)
        case Operator.OR:
            return _or(a, b)
        case Operator.XOR:
            return _xor(a, b)
        case Operator.SHIFT_LEFT:
            if b.single:
                return scaled(a, 1 << b.start if b.start < 32 else 0)
            return ANY
        case Operator.SHIFT_RIGHT:
            return _shifted_right(a, b)
        case Operator.SHIFT_RIGHT_SIGNED:
            return _shifted_right_signed(a, b)
        case Operator.LESS:
            return _truth(a.natural, b.natural)
        case Operator.LESS_SIGNED:
            return _truth(a.signed, b.signed)
    return _division(operator, a, b)


def _truth(a: tuple[int, int], b: tuple[int, int]) -> Interval:
    if a[1] < b[0]:
        return number(1)
    if a[0] >= b[1]:
        return number(0)
    return between(0, 1)


def _product(a: Interval, b: Interval) -> Interval:
    if a.single:
        return scaled(b, a.start)
    if b.single:
        return scaled(a, b.start)
    (low, high), (other_low, other_high) = a.natural, b.natural
    if high * other_high < MODULUS:
        return between(low * other_low, high * other_high)
    return ANY


def _mask_width(mask: int) -> int | None:
    """How many bits a mask of low bits has; ``None``: it is none."""
    return mask.bit_length() if mask & mask + 1 == 0 else None


def _and(a: Interval, b: Interval) -> Interval:
    if a.single:
        a, b = b, a
    if a.single and b.single:
        return number(a.start & b.start)
    if not b.single:
        return between(0, min(a.natural[1], b.natural[1]))
    mask = b.start
    width = _mask_width(mask)
    if width is not None:
        return _remainder(a, 1 << width)
    width = _mask_width(mask ^ WORD)
    if width is not None:
        unit = 1 << width
        if a.start % unit == 0 and a.step % unit == 0:
            return a
        low = a.start // unit * unit
        return make(low, (a.start + a.length) // unit * unit - low, unit)
    low_bit = mask & -mask
    return make(0, min(a.natural[1], mask) // low_bit * low_bit, low_bit)


def _remainder(a: Interval, modulus: int) -> Interval:
    """By a natural number; of a power of two, whatever the numbers wrap around."""
    low, high = a.natural
    if high < modulus:
        return a
    if low // modulus == high // modulus and a.start + a.length < MODULUS:
        return make(a.start % modulus, a.length, a.step)
    common = gcd(a.step, modulus) if a.start + a.length < MODULUS or _power(modulus) else 1
    if not _power(modulus) and a.start + a.length >= MODULUS:
        common = 1
    return make(a.start % common, modulus - common, common)


def _power(value: int) -> bool:
    return value & value - 1 == 0


def _or(a: Interval, b: Interval) -> Interval:
    if a.single and b.single:
        return number(a.start | b.start)
    for one, two in ((a, b), (b, a)):
        # No bit in common: it is a sum.
        unit = gcd(one.start, one.step) if not one.single else one.start & -one.start
        unit &= -unit
        if unit and two.natural[1] < unit:
            return add(one, two)
    (low, high), (other_low, other_high) = a.natural, b.natural
    return between(max(low, other_low), (1 << max(high, other_high).bit_length()) - 1)


def _xor(a: Interval, b: Interval) -> Interval:
    if a.single and b.single:
        return number(a.start ^ b.start)
    for one, two in ((a, b), (b, a)):
        if one.single and one.start == WORD:
            return add(number(WORD), negative(two))
        if one.single and one.start == SIGN:
            return add(two, one)
    return between(0, (1 << max(a.natural[1], b.natural[1]).bit_length()) - 1)


def _shifted_right(a: Interval, b: Interval) -> Interval:
    (low, high), (least, most) = a.natural, b.natural
    if not b.single:
        return between(low >> min(most, 32), high >> min(least, 32))
    amount = b.start
    if amount >= 32:
        return number(0)
    if a.start + a.length < MODULUS and a.step % (1 << amount) == 0:
        return make(a.start >> amount, a.length >> amount, a.step >> amount)
    return between(low >> amount, high >> amount)


def _shifted_right_signed(a: Interval, b: Interval) -> Interval:
    low, high = a.signed
    least, most = (min(n, 31) for n in b.natural)
    found = [value >> amount for value in (low, high) for amount in (least, most)]
    if b.single and low == high:
        return number(found[0])
    unbroken = (a.start ^ SIGN) + a.length < MODULUS
    if b.single and unbroken and a.step % (1 << least) == 0:
        return make(low >> least, a.length >> least, a.step >> least)
    return between(min(found), max(found))


def _division(operator: Operator, a: Interval, b: Interval) -> Interval:
    """Where the divisor may be 0, nothing is known; the signed ones only of positive divisors."""
    divisor_low, divisor_high = b.natural
    if divisor_low == 0:
        return ANY
    signed = operator in (Operator.DIVIDE_SIGNED, Operator.REMAINDER_SIGNED)
    low, high = a.natural
    if signed:
        if b.signed[0] <= 0:
            return ANY
        low, high = a.signed
    if operator in (Operator.DIVIDE, Operator.DIVIDE_SIGNED):
        found = [
            abs(n) // d * (1 if n >= 0 else -1)
            for n in (low, high)
            for d in (divisor_low, divisor_high)
        ]
        return between(min(found), max(found))
    if low >= 0:
        if b.single and operator is Operator.REMAINDER:
            return _remainder(a, b.start)
        return between(0, min(high, divisor_high - 1))
    return between(-(divisor_high - 1), divisor_high - 1)


# --- relations ------------------------------------------------------------------------------------


def narrowed(a: Interval, relation: Relation, b: Interval) -> Interval | None:
    """Numbers of ``a`` that can stand in this relation to one of ``b``; ``None``: there is none."""
    match relation:
        case Relation.EQUAL:
            return meet(a, b)
        case Relation.NOT_EQUAL:
            return _without(a, b.start) if b.single else a
    signed = relation.value.endswith("s")
    low, high = b.signed if signed else b.natural
    least, most = (-SIGN, SIGN - 1) if signed else (0, WORD)
    match relation:
        case Relation.LESS | Relation.LESS_SIGNED:
            most = high - 1
        case Relation.LESS_EQUAL | Relation.LESS_EQUAL_SIGNED:
            most = high
        case Relation.GREATER | Relation.GREATER_SIGNED:
            least = low + 1
        case Relation.GREATER_EQUAL | Relation.GREATER_EQUAL_SIGNED:
            least = low
    return None if least > most else meet(a, between(least, most))


def _without(a: Interval, value: int) -> Interval | None:
    """The number is left out where it is the first or the last one."""
    if a.single:
        return None if a.start == value else a
    if a.full and value in a:
        return make(value + a.step, a.length - a.step, a.step)
    if a.start == value:
        return make(a.start + a.step, a.length - a.step, a.step)
    if a.last == value:
        return make(a.start, a.length - a.step, a.step)
    return a


def signed_of(number: int) -> int:
    """A residue modulo 2^32 as the number from -2^31 to 2^31 - 1 that it is of."""
    number %= MODULUS
    return number - MODULUS if number >= SIGN else number
