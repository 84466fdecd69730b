"""Quantities: a decimal number with a unit and, where wanted, a tolerance.

==================  =====================================================================
``14 ns``           exactly 14 ns
``14 ns +- 1 ns``   13..15 ns, nominally 14 (``±`` may be written for ``+-``)
``14 ns +- 5 %``    13.3..14.7 ns, nominally 14
``1..3 cycles``     1 to 3 cycles; nominal is the middle, 2; the safe end is 3
==================  =====================================================================

A tolerance and an interval are systematic: the value is somewhere in it, and always the same. A
time may have a stochastic error instead, or beside, which each access has anew. Both are limits,
and the ends of the interval are those of both together:

==========================================================  =============================
``14 ns +- 1 ns systematic``                                the same as without the word
``14 ns +- 2 ns stochastic``                                12..16 ns, each time another
``14 ns +- 1 ns systematic +- 2 ns stochastic``             11..17 ns, in either order
``1..3 cycles +- 0.5 cycles stochastic``                    0.5..3.5 cycles
==========================================================  =============================

A *count* is a whole number that may have errors in the same way: ``13 +- 2``,
``13 +- 2 systematic +- 1 stochastic``.

Decimal text becomes a fraction without passing through a float, so ``0.1 us`` is exactly 100 ns.
Times are kept in nanoseconds or cycles, frequencies in hertz.
"""

from __future__ import annotations

import difflib
import re
from enum import Enum
from fractions import Fraction
from typing import Final

from wcetchar.errors import InputError
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.model.uncertainty import UncertainCount
from wcetchar.store.source import PlainInt, shown


class Dimension(Enum):
    """What a quantity may be a quantity of: unit names with their factors."""

    TIME = "time"
    FREQUENCY = "frequency"
    SIZE = "size"
    BANDWIDTH = "bandwidth"


_UNITS: Final[dict[Dimension, dict[str, tuple[Unit | None, Fraction]]]] = {
    Dimension.TIME: {
        "ps": (Unit.NANOSECONDS, Fraction(1, 1000)),
        "ns": (Unit.NANOSECONDS, Fraction(1)),
        "us": (Unit.NANOSECONDS, Fraction(1000)),
        "µs": (Unit.NANOSECONDS, Fraction(1000)),  # micro sign
        "μs": (Unit.NANOSECONDS, Fraction(1000)),  # Greek mu
        "ms": (Unit.NANOSECONDS, Fraction(1_000_000)),
        "s": (Unit.NANOSECONDS, Fraction(1_000_000_000)),
        "cycle": (Unit.CYCLES, Fraction(1)),
        "cycles": (Unit.CYCLES, Fraction(1)),
    },
    Dimension.FREQUENCY: {
        "Hz": (Unit.HERTZ, Fraction(1)),
        "kHz": (Unit.HERTZ, Fraction(1000)),
        "MHz": (Unit.HERTZ, Fraction(1_000_000)),
        "GHz": (Unit.HERTZ, Fraction(1_000_000_000)),
    },
    Dimension.SIZE: {
        "B": (None, Fraction(1)),
        "KiB": (None, Fraction(1 << 10)),
        "MiB": (None, Fraction(1 << 20)),
        "GiB": (None, Fraction(1 << 30)),
    },
    Dimension.BANDWIDTH: {
        "B/s": (None, Fraction(1)),
        "kB/s": (None, Fraction(10**3)),
        "MB/s": (None, Fraction(10**6)),
        "GB/s": (None, Fraction(10**9)),
        "KiB/s": (None, Fraction(1 << 10)),
        "MiB/s": (None, Fraction(1 << 20)),
        "GiB/s": (None, Fraction(1 << 30)),
    },
}
_EXAMPLE: Final = {
    Dimension.TIME: "a time such as `14 ns`, `2 cycles`, `1..3 cycles` or `14 ns +- 5 %`",
    Dimension.FREQUENCY: "a frequency such as `72 MHz` or `8 MHz +- 1 %`",
    Dimension.SIZE: "a size such as `256 KiB`",
    Dimension.BANDWIDTH: "a bandwidth such as `36 MB/s` (10^6 bytes in a second) or `1.5 MiB/s`",
}
_MAX_LENGTH: Final = 100

NUMBER = r"(?:0|[1-9][0-9]{0,29})(?:\.[0-9]{1,30})?"
_UNIT = r"[^\W\d_]+(?:/s)?|%"
SIGN = r"(?:\+-|\+/-|±)"
_SYSTEMATIC: Final = "systematic"
_STOCHASTIC: Final = "stochastic"
KIND = rf"{_SYSTEMATIC}|{_STOCHASTIC}"
ERRORS: Final = 2
"""One of each kind, at most."""


def _error_shape(number: int) -> str:
    return (
        rf"(?:\s*{SIGN}\s*(?P<by{number}>{NUMBER})"
        rf"(?:\s*(?P<unit{number}>(?!(?:{KIND})\b)(?:{_UNIT})))?"
        rf"(?:\s+(?P<kind{number}>{KIND}))?)?"
    )


_SHAPE = re.compile(
    rf"(?P<sign>-\s*)?(?P<first>{NUMBER})"
    rf"(?:\s*\.\.\s*(?P<to_sign>-\s*)?(?P<to>{NUMBER}))?"
    rf"\s*(?P<unit>{_UNIT})?" + "".join(map(_error_shape, range(ERRORS)))
)
_COUNT = r"(?:0|[1-9][0-9]{0,18})"
_COUNT_SHAPE = re.compile(
    rf"(?P<first>-?{_COUNT})"
    + "".join(
        rf"(?:\s*{SIGN}\s*(?P<by{number}>{_COUNT})(?:\s+(?P<kind{number}>{KIND}))?)?"
        for number in range(ERRORS)
    )
)

COUNT_SHAPE: Final = rf"-?{_COUNT}(?:\s*{SIGN}\s*{_COUNT}(?:\s+(?:{KIND}))?){{0,{ERRORS}}}"
"""Of a count that may have errors, for the JSON Schemas."""


def parse_quantity(value: object, dimension: Dimension) -> Quantity:
    """Text of a quantity of ``dimension`` (time or frequency) -> the exact interval.

    Raises:
        InputError: without a place, which the caller knows.
    """
    low, nominal, high, unit, stochastic = _interval(value, dimension)
    if unit is None:
        raise ValueError(f"a {dimension.value} has a reader of its own")
    if dimension is Dimension.FREQUENCY and stochastic:
        raise InputError(
            f"the clock {shown(value)} has a stochastic error",
            expected="the same clock for each access: all of its error is systematic",
            hint="leave out `stochastic`, for the largest error that there is",
        )
    if dimension is Dimension.FREQUENCY and low <= 0:
        raise InputError(
            f"the clock {shown(value)} can be zero" if low == 0 else _negative(value),
            expected="a frequency above zero",
        )
    return Quantity(low, nominal, high, unit, stochastic)


def parse_count(value: object) -> UncertainCount:
    """A whole number that may have errors. Raises :class:`InputError` without a place."""
    expected = "a whole number such as `13`, `13 +- 2` or `13 +- 2 stochastic`"
    text = value.text if isinstance(value, PlainInt) else value
    if isinstance(value, PlainInt):
        return UncertainCount(int(value))
    if not isinstance(text, str):
        raise InputError(f"{shown(value)} is not a whole number", expected=expected)
    match = _COUNT_SHAPE.fullmatch(text.strip()) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise InputError(
            f"{shown(text)} is not a whole number",
            expected=expected,
            hint="numbers and errors are whole, without separators or units",
        )
    errors = {_SYSTEMATIC: 0, _STOCHASTIC: 0} | {
        kind: int(match[f"by{number}"]) for number, kind in _kinds(match, text)
    }
    return UncertainCount(int(match["first"]), errors[_SYSTEMATIC], errors[_STOCHASTIC])


def _kinds(match: re.Match[str], text: str) -> list[tuple[int, str]]:
    """Number and kind of each error that is given.

    Raises:
        InputError: two of a kind.
    """
    found = [
        (number, match[f"kind{number}"] or _SYSTEMATIC)
        for number in range(ERRORS)
        if match[f"by{number}"] is not None
    ]
    if len({kind for _, kind in found}) < len(found):
        raise InputError(
            f"{shown(text)} has two {found[0][1]} errors",
            expected=f"one error, or one `{_SYSTEMATIC}` and one `{_STOCHASTIC}`",
        )
    return found


def parse_size(value: object) -> int:
    """Text of a size -> bytes. Raises :class:`InputError` without a place."""
    low, _, high, _, _ = _interval(value, Dimension.SIZE)
    if low != high or low.denominator != 1 or low <= 0:
        raise InputError(
            f"{shown(value)} is not a whole number of bytes above zero",
            expected=_EXAMPLE[Dimension.SIZE],
        )
    return int(low)


def parse_bandwidth(value: object) -> Fraction:
    """Text of a bandwidth -> bytes in a second. Raises :class:`InputError` without a place."""
    low, _, high, _, _ = _interval(value, Dimension.BANDWIDTH)
    if low != high or low <= 0:
        raise InputError(
            f"{shown(value)} is not one bandwidth above zero",
            expected=_EXAMPLE[Dimension.BANDWIDTH],
        )
    return low


def parse_time(value: object) -> Fraction:
    """Text of a time that needs no clock -> nanoseconds at most. Raises :class:`InputError` without
    a place."""
    time = parse_quantity(value, Dimension.TIME)
    if time.unit is not Unit.NANOSECONDS:
        raise InputError(
            f"{shown(value)} is in cycles, and there is no clock",
            expected="a time such as `10 us` or `85 us +- 5 %`",
        )
    return time.high


def parse_clock(value: object) -> Quantity:
    """Text of a frequency. Raises :class:`InputError` without a place."""
    return parse_quantity(value, Dimension.FREQUENCY)


def parse_percent(value: object) -> Fraction:
    """Text of a percentage, ``9 %`` -> 9/100. Raises :class:`InputError` without a place."""
    text = value if isinstance(value, str) and len(value) <= _MAX_LENGTH else ""
    match = re.fullmatch(rf"({NUMBER})\s*%", text.strip())
    if match is None:
        raise InputError(
            f"{shown(value)} is not a percentage", expected="a percentage such as `9 %` or `2.5 %`"
        )
    return Fraction(match[1]) / 100


def unit_named(name: str) -> tuple[Dimension, Unit | None, Fraction]:
    """What a unit is of, in which unit of a quantity it is counted, and how many of those it is.

    Raises:
        InputError: there is no such unit; without a place.
    """
    for dimension, units in _UNITS.items():
        if name in units:
            return dimension, *units[name]
    known = [unit for units in _UNITS.values() for unit in units if unit != "μs"]
    by_case = [unit for unit in known if unit.lower() == name.lower()]
    close = by_case or difflib.get_close_matches(name, known, 1)
    raise InputError(
        f"{shown(name)} is not a unit",
        expected="one of " + ", ".join(known),
        hint=f"did you mean `{close[0]}`?" if close else None,
    )


def units_of(dimension: Dimension) -> tuple[str, ...]:
    """Names of units, with other spellings."""
    return tuple(_UNITS[dimension])


def looks_like_quantity(value: object) -> bool:
    """A number, or text that has the shape of a quantity, whatever its unit."""
    if isinstance(value, str):
        return len(value) <= _MAX_LENGTH and _SHAPE.fullmatch(value.strip()) is not None
    return isinstance(value, int) and not isinstance(value, bool)


def quantity_text(quantity: Quantity) -> str:
    """Text that :func:`parse_quantity` reads back as the same quantity.

    Raises:
        ValueError: a bound has no finite decimal form, or the nominal value is not the middle.
    """
    if quantity.nominal * 2 != quantity.low + quantity.high:
        raise ValueError("only intervals whose nominal value is the middle have a text")
    inner = quantity.systematic
    low, high = decimal_text(inner.low), decimal_text(inner.high)
    text = f"{low} {quantity.unit}" if low == high else f"{low}..{high} {quantity.unit}"
    if not quantity.stochastic:
        return text
    return f"{text} +- {decimal_text(quantity.stochastic)} {quantity.unit} {_STOCHASTIC}"


def scaled_text(text: str, factor: Fraction) -> str:
    """Text of a quantity, or of a number without a unit, ``factor`` times as large, ends and errors
    as well; an error in % stays, since it is one of the larger number.

    Raises:
        ValueError: the text has not the shape of a quantity, or a number no finite decimal form.
    """
    match = _SHAPE.fullmatch(text.strip()) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise ValueError(f"{text} is no quantity")
    names = ["first", "to"]
    names += [f"by{number}" for number in range(ERRORS) if match[f"unit{number}"] != "%"]
    found, end = [], 0
    for name in sorted(names, key=match.start):
        if match[name] is not None:
            found += [match.string[end : match.start(name)]]
            found += [decimal_text(Fraction(match[name]) * factor)]
            end = match.end(name)
    return "".join([*found, match.string[end:]])


def decimal_text(value: Fraction) -> str:
    """Exact decimal text of a fraction. Raises ``ValueError`` where there is no finite one."""
    denominator = value.denominator
    for prime in (2, 5):
        while denominator % prime == 0:
            denominator //= prime
    if denominator != 1:
        raise ValueError(f"{value} has no finite decimal form")
    places = 0
    while (value * 10**places).denominator != 1:
        places += 1
    digits = str(abs(int(value * 10**places))).rjust(places + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def _interval(
    value: object, dimension: Dimension
) -> tuple[Fraction, Fraction, Fraction, Unit | None, Fraction]:
    """Low, nominal and high, all errors in them, and which part of that is stochastic."""
    expected = _EXAMPLE[dimension]
    text = value.text if isinstance(value, PlainInt) else value
    if not isinstance(text, str):
        raise InputError(f"{shown(value)} is not a {dimension.value}", expected=expected)
    match = _SHAPE.fullmatch(text.strip()) if len(text) <= _MAX_LENGTH else None
    if match is None:
        raise InputError(
            f"{shown(text)} is not a {dimension.value}",
            expected=expected,
            hint="plain decimal numbers, without exponent, leading zeros or separators",
        )
    if match["sign"] or match["to_sign"]:
        raise InputError(_negative(text), expected=expected)
    unit, factor = _unit(match["unit"], text, dimension)
    first = last = Fraction(match["first"]) * factor
    if match["to"] is not None:
        last = Fraction(match["to"]) * factor
        if last < first:
            raise InputError(
                f"the lower end of {shown(text)} is above its upper end",
                expected="the smaller number first",
            )
    nominal = (first + last) / 2
    errors = {_SYSTEMATIC: (last - first) / 2, _STOCHASTIC: Fraction(0)}
    for number, kind in _kinds(match, text):
        if kind == _SYSTEMATIC and match["to"] is not None:
            raise InputError(
                f"{shown(text)} has an interval and a tolerance",
                expected="one of the two, or a `stochastic` error beside the interval",
            )
        errors[kind] = _error(match, number, nominal, unit, text, dimension)
    by = sum(errors.values())
    if nominal - by < 0:
        raise InputError(
            f"the lower end of {shown(text)} is negative", expected="a tolerance below the value"
        )
    return nominal - by, nominal, nominal + by, unit, errors[_STOCHASTIC]


def _error(
    match: re.Match[str],
    number: int,
    nominal: Fraction,
    unit: Unit | None,
    text: str,
    dimension: Dimension,
) -> Fraction:
    """One error, in the unit of the value."""
    by = Fraction(match[f"by{number}"])
    if match[f"unit{number}"] == "%":
        return nominal * by / 100
    by_unit, factor = _unit(match[f"unit{number}"], text, dimension)
    if by_unit is not unit:
        raise InputError(
            f"{shown(text)} mixes two units that no clock relates here",
            expected="the tolerance in the unit of the value, or in %",
        )
    return by * factor


def _negative(value: object) -> str:
    return f"{shown(value)} is negative"


def _unit(name: str | None, text: str, dimension: Dimension) -> tuple[Unit | None, Fraction]:
    units = _UNITS[dimension]
    if name is None:
        raise InputError(
            f"{shown(text)} has no unit", expected=_EXAMPLE[dimension], hint="write the unit"
        )
    if name in units:
        return units[name]
    by_case = [unit for unit in units if unit.lower() == name.lower()]
    close = by_case or difflib.get_close_matches(name, units, 1)
    raise InputError(
        f"{shown(name)} is not a unit of {dimension.value}",
        expected="one of " + ", ".join(unit for unit in units if unit != "μs"),
        hint=f"did you mean `{close[0]}`?" if close else None,
    )
