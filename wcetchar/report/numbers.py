"""Exact numbers as text. Times round up, so a printed figure is never below the exact one."""

from __future__ import annotations

import math
from fractions import Fraction

DIGITS = 3
"""Decimals that are printed at most."""


def rounded_up(value: Fraction | int) -> Fraction:
    """The smallest multiple of 10**-DIGITS that is not below ``value``."""
    return Fraction(math.ceil(value * 10**DIGITS), 10**DIGITS)


def rounded_down(value: Fraction | int) -> Fraction:
    """The largest multiple of 10**-DIGITS that is not above ``value``: for lower ends."""
    return Fraction(math.floor(value * 10**DIGITS), 10**DIGITS)


def plain(value: Fraction | int) -> str:
    """Rounded up: an integer as an integer, anything else with as few decimals as it takes."""
    return _decimal(rounded_up(value), "")


def grouped(value: Fraction | int) -> str:
    """As :func:`plain`, with commas between thousands, for people."""
    return _decimal(rounded_up(value), ",")


def for_json(value: Fraction | int) -> int | float:
    """Rounded up: an integer where it is one, else the decimal with at most three places."""
    return _number(rounded_up(value))


def low_for_json(value: Fraction | int) -> int | float:
    """A lower end: rounded down."""
    return _number(rounded_down(value))


def percent(part: Fraction | int, whole: Fraction | int) -> str:
    """``part`` of ``whole`` to the nearest tenth of a percent; no time, so it need not go up."""
    return f"{float(nearest_tenth(Fraction(100) * part / whole)) if whole else 0.0:.1f} %"


def nearest_tenth(value: Fraction) -> Fraction:
    """To the nearest tenth, halves up."""
    return Fraction(math.floor(value * 10 + Fraction(1, 2)), 10)


def _number(value: Fraction) -> int | float:
    return value.numerator if value.denominator == 1 else float(value)


def plain_parts(parts: int) -> str:
    """As :func:`plain`, of so many times 10**-DIGITS."""
    return _of_parts(parts, "")


def _decimal(value: Fraction, separator: str) -> str:
    """Of a multiple of 10**-DIGITS."""
    return _of_parts(value.numerator * 10**DIGITS // value.denominator, separator)


def _of_parts(parts: int, separator: str) -> str:
    sign = "-" if parts < 0 else ""
    whole, rest = divmod(abs(parts), 10**DIGITS)
    decimals = f"{rest:0{DIGITS}d}".rstrip("0")
    digits = f"{whole:,}".replace(",", separator)
    return f"{sign}{digits}.{decimals}" if decimals else f"{sign}{digits}"
