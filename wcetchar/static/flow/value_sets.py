"""Sets of 32-bit numbers that a register may hold: arithmetic progressions, or few numbers listed.

``None`` stands for any number. All operations give supersets of what is possible.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import gcd
from typing import Final

from wcetchar.static.flow.steps import WORD

FEW: Final = 4096
"""So many numbers are listed; jump tables are smaller."""

_LISTED: Final = 64
"""So many numbers that are no progression are listed where ways meet."""

Numbers = range | frozenset[int]


def one(number: int) -> Numbers:
    return range(number, number + 1)


def moved(numbers: Numbers, by: int) -> Numbers | None:
    """Each number plus ``by``, modulo 2**32."""
    by &= WORD
    if not by:
        return numbers
    if isinstance(numbers, range):
        low, high = numbers[0] + by, numbers[-1] + by
        if high <= WORD:
            return range(low, high + 1, numbers.step)
        if low > WORD:
            return range(low & WORD, (high & WORD) + 1, numbers.step)
        if len(numbers) > FEW:
            return None
    return frozenset(number + by & WORD for number in numbers)


def scaled(numbers: Numbers, shift: int) -> Numbers | None:
    """Each number shifted left, modulo 2**32."""
    if not shift:
        return numbers
    if isinstance(numbers, range):
        if numbers[-1] << shift <= WORD:
            return range(numbers[0] << shift, (numbers[-1] << shift) + 1, numbers.step << shift)
        if len(numbers) > FEW:
            return None
    return frozenset(number << shift & WORD for number in numbers)


def shifted_right(numbers: Numbers, by: int) -> Numbers:
    """Each number shifted right."""
    if isinstance(numbers, range):
        return range(numbers[0] >> by, (numbers[-1] >> by) + 1)
    return frozenset(number >> by for number in numbers)


def added(first: Numbers, second: Numbers) -> Numbers | None:
    """Sums of one of each."""
    if len(second) == 1:
        return moved(first, next(iter(second)))
    if len(first) == 1:
        return moved(second, next(iter(first)))
    if len(first) * len(second) > FEW:
        return None
    return frozenset(a + b & WORD for a in first for b in second)


def joined(first: Numbers | None, second: Numbers | None) -> Numbers | None:
    """What is in one of them, and perhaps more."""
    if first is None or second is None:
        return None
    if first == second:
        return first
    if isinstance(first, range) and isinstance(second, range):
        step = gcd(
            first.step if len(first) > 1 else 0,
            second.step if len(second) > 1 else 0,
            abs(first[0] - second[0]),
        )
        hull = range(min(first[0], second[0]), max(first[-1], second[-1]) + 1, step or 1)
        count = len(first) + len(second)
        # A choice between few numbers, such as addresses, is no progression between them.
        return hull if len(hull) <= count or count > _LISTED else frozenset((*first, *second))
    if len(first) + len(second) > FEW:
        return None
    return frozenset(first) | frozenset(second)


def limited(numbers: Numbers | None, low: int, high: int) -> Numbers | None:
    """Those from ``low`` to ``high``; ``None``: there are none."""
    if low > high:
        return None
    if numbers is None:
        return range(low, high + 1)
    if isinstance(numbers, range):
        first, last, step = numbers[0], numbers[-1], numbers.step
        if low > first:
            first += -(-(low - first) // step) * step
        found: Numbers = range(first, min(last, high) + 1, step)
    else:
        found = frozenset(number for number in numbers if low <= number <= high)
    return found or None


def lowest(numbers: Numbers) -> int:
    return numbers[0] if isinstance(numbers, range) else min(numbers)


def highest(numbers: Numbers) -> int:
    return numbers[-1] if isinstance(numbers, range) else max(numbers)


def few(numbers: Numbers | None) -> Iterable[int] | None:
    """The numbers, in order; ``None`` where they are too many."""
    return None if numbers is None or len(numbers) > FEW else sorted(numbers)
