"""Text of the values that a number is to have, one after the other: ``1,2,4..8``, ``8..168MHz/16``.

===================  ==========================================================================
``N``                one number, with its unit where it has one; several between commas
``A..B``             every whole one from A to B
``A..B/COUNT``       so many, evenly apart, both ends among them
``A..B*FACTOR``      A, and each FACTOR times the one before it, up to B
===================  ==========================================================================

A number without a unit has that of the next one. Evenly spaced ones are rounded down to a
thousandth of the unit, to whole bytes for sizes and to whole numbers without a unit, so that each
value is one that a file can say.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.errors import InputError
from wcetchar.store.quantity import Dimension, decimal_text, unit_named
from wcetchar.store.source import shown

MOST_VALUES: Final = 1_000_000
"""Of one number."""
PARTS: Final = 1000
"""Of a unit, to which numbers are rounded."""
EXAMPLES: Final = "`1..16`, `1,2,4..8`, `8MHz..168MHz/16` (16 of them) or `1KiB..64KiB*2` (doubled)"
_MAX_LENGTH: Final = 1000
_NUMBER: Final = r"(-?(?:0|[1-9][0-9]{0,17})(?:\.[0-9]{1,9})?)\s*([^\W\d_]+)?"
_ITEM: Final = re.compile(rf"{_NUMBER}(?:\s*\.\.\s*{_NUMBER}\s*(?:([/*])\s*([0-9]{{1,9}}))?)?")


@dataclass(frozen=True)
class SweptValues:
    """``numbers``: in ``unit``, rising, each once; "" of plain numbers. ``finest``: the least step
    between values, in the unit. ``whole``: of a single range, its ends where nothing says how many
    lie between them."""

    unit: str
    numbers: tuple[Fraction, ...]
    finest: Fraction
    whole: tuple[Fraction, Fraction] | None = None

    def text(self, number: Fraction) -> str:
        """As a file says it."""
        return f"{decimal_text(number)} {self.unit}".rstrip()


def parse_swept(text: str) -> SweptValues:
    """Raises :class:`InputError` without a place."""
    if len(text) > _MAX_LENGTH:
        raise InputError("so long a list of values cannot be read", expected=EXAMPLES)
    items = [_item(part) for part in text.split(",")]
    unit, dimension, size = _common_unit(items, text)
    finest = Fraction(1)
    if dimension is Dimension.SIZE:
        finest = 1 / size
    elif dimension is not None:
        finest = Fraction(1, PARTS)
    numbers: set[Fraction] = set()
    for item in items:
        numbers.update(item.values(size, finest))
        _refuse_many(len(numbers))
    for number in numbers:
        if number < 0 and unit:
            raise InputError(f"{decimal_text(number)} {unit} is negative", expected=EXAMPLES)
        if not unit and number.denominator != 1:
            raise InputError(
                f"{decimal_text(number)} has neither a unit nor is it whole", expected=EXAMPLES
            )
    whole = None
    if len(items) == 1 and items[0].last is not None and not items[0].how:
        whole = min(numbers), max(numbers)
    return SweptValues(unit, tuple(sorted(numbers)), finest, whole)


@dataclass(frozen=True)
class _Item:
    """``units``: of both ends; "" where an end has none."""

    text: str
    first: Fraction
    last: Fraction | None
    units: tuple[str, str]
    how: str
    by: int

    def values(self, size: Fraction, finest: Fraction) -> list[Fraction]:
        first = _in_units(self.first, self.units[0], size)
        if self.last is None:
            return [first]
        last = _in_units(self.last, self.units[1], size)
        if last < first:
            raise InputError(
                f"the range {shown(self.text)} is empty", expected="the smaller number first"
            )
        if self.how == "*":
            return self._multiplied(first, last)
        count = self.by if self.how == "/" else math.floor(last - first) + 1
        _refuse_many(count)
        if self.how != "/":
            return [first + k for k in range(count)]
        if count < 2:
            raise InputError(
                f"{shown(self.text)} asks for {count} values", expected="2 at least, both ends"
            )
        steps = (first + (last - first) * k / (count - 1) for k in range(count - 1))
        return [*(max(first, math.floor(x / finest) * finest) for x in steps), last]

    def _multiplied(self, first: Fraction, last: Fraction) -> list[Fraction]:
        if self.by < 2 or first <= 0:
            raise InputError(
                f"{shown(self.text)} never gets to its end",
                expected="a factor of 2 at least, and a first number above 0",
            )
        found = [first]
        while found[-1] * self.by <= last:
            found.append(found[-1] * self.by)
        return found


def _in_units(number: Fraction, unit: str, size: Fraction) -> Fraction:
    return number * unit_named(unit)[2] / size if unit else number


def _item(part: str) -> _Item:
    match = _ITEM.fullmatch(part.strip())
    if match is None:
        raise InputError(
            f"{shown(part.strip())} is no value and no range"
            if part.strip()
            else "there is a value missing",
            expected=EXAMPLES,
            hint="plain decimal numbers, and a unit where the number has one",
        )
    first, unit, last, last_unit, how, by = match.groups()
    units = (unit or last_unit or "", last_unit or "")
    if last is not None and unit and not last_unit:
        raise InputError(
            f"the end of {shown(part.strip())} has no unit", expected=f"an end in {unit}"
        )
    return _Item(
        part.strip(),
        Fraction(first),
        None if last is None else Fraction(last),
        units,
        how or "",
        int(by or 0),
    )


def _common_unit(items: list[_Item], text: str) -> tuple[str, Dimension | None, Fraction]:
    """Name, dimension and size of the unit of all numbers: the last one's. Numbers before it that
    have none are given it."""
    unit = items[-1].units[1] or items[-1].units[0]
    if not unit:
        for item in items:
            if item.units[0]:
                raise InputError(f"some numbers of {shown(text)} have no unit", expected=EXAMPLES)
        return "", None, Fraction(1)
    dimension, kind, size = unit_named(unit)
    following = unit
    for place in range(len(items) - 1, -1, -1):
        item = items[place]
        for one in item.units:
            if one and unit_named(one)[:2] != (dimension, kind):
                raise InputError(f"{shown(text)} mixes {one} and {unit}", expected="one of the two")
        following = item.units[0] or following
        if not item.units[0]:
            units = (following, following if item.last is not None else "")
            items[place] = _Item(item.text, item.first, item.last, units, item.how, item.by)
    return "cycles" if unit == "cycle" else unit, dimension, size


def _refuse_many(count: int) -> None:
    if count > MOST_VALUES:
        raise InputError(
            f"these are {count:,} values and more",
            expected=f"{MOST_VALUES:,} at most",
            hint="`/COUNT` behind a range takes so many of it",
        )
