"""Quantities: worked by hand, and everything that is not one."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from wcetchar.errors import InputError
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.store.quantity import (
    PATTERN,
    Dimension,
    decimal_text,
    parse_quantity,
    parse_size,
    quantity_text,
)

F = Fraction


@pytest.mark.parametrize(
    ("text", "low", "nominal", "high", "unit"),
    [
        ("14 ns", F(14), F(14), F(14), Unit.NANOSECONDS),
        ("14ns", F(14), F(14), F(14), Unit.NANOSECONDS),
        ("0.1 us", F(100), F(100), F(100), Unit.NANOSECONDS),
        ("0.3 ns", F(3, 10), F(3, 10), F(3, 10), Unit.NANOSECONDS),
        ("250 ps", F(1, 4), F(1, 4), F(1, 4), Unit.NANOSECONDS),
        ("2 ms", F(2_000_000), F(2_000_000), F(2_000_000), Unit.NANOSECONDS),
        ("1 s", F(10**9), F(10**9), F(10**9), Unit.NANOSECONDS),
        ("3 µs", F(3000), F(3000), F(3000), Unit.NANOSECONDS),
        ("14 ns +- 1 ns", F(13), F(14), F(15), Unit.NANOSECONDS),
        ("14 ns ± 1 ns", F(13), F(14), F(15), Unit.NANOSECONDS),
        ("14 ns +/- 500 ps", F(27, 2), F(14), F(29, 2), Unit.NANOSECONDS),
        ("14 ns +- 5 %", F(133, 10), F(14), F(147, 10), Unit.NANOSECONDS),
        ("14 ns +-5%", F(133, 10), F(14), F(147, 10), Unit.NANOSECONDS),
        ("1 cycle", F(1), F(1), F(1), Unit.CYCLES),
        ("0 cycles", F(0), F(0), F(0), Unit.CYCLES),
        ("1..3 cycles", F(1), F(2), F(3), Unit.CYCLES),
        ("1 .. 4 cycles", F(1), F(5, 2), F(4), Unit.CYCLES),
        ("1.5..2.5 cycles", F(3, 2), F(2), F(5, 2), Unit.CYCLES),
    ],
)
def test_times(text: str, low: F, nominal: F, high: F, unit: Unit) -> None:
    assert parse_quantity(text, Dimension.TIME) == Quantity(low, nominal, high, unit)
    assert re.search(PATTERN, text)


def test_frequencies() -> None:
    assert parse_quantity("72 MHz", Dimension.FREQUENCY).low == 72_000_000
    assert parse_quantity("1.25 GHz", Dimension.FREQUENCY).low == 1_250_000_000
    assert parse_quantity("32.768 kHz", Dimension.FREQUENCY).low == 32_768
    assert parse_quantity("8 MHz +- 1 %", Dimension.FREQUENCY).low == 7_920_000


def test_sizes() -> None:
    assert parse_size("256 KiB") == 262_144
    assert parse_size("1.5 KiB") == 1536
    assert parse_size("4 MiB") == 4_194_304
    assert parse_size("3 B") == 3


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("14", "no unit"),
        ("14 +- 1 ns", "no unit"),
        ("-14 ns", "negative"),
        ("- 14 ns", "negative"),
        ("-3..-1 ns", "negative"),
        ("1..-3 ns", "negative"),
        ("5 ns +- 10 ns", "lower end of .* is negative"),
        ("5 ns +- 101 %", "negative"),
        ("3..1 cycles", "above its upper end"),
        ("1..3 cycles +- 1 cycle", "an interval and a tolerance"),
        ("14 ns +- 1 cycle", "mixes two units"),
        ("14 MHz", "`MHz` is not a unit of time"),
        ("14 parsecs", "is not a unit of time"),
        ("14 NS", "is not a unit of time"),
        ("14 %", "is not a unit of time"),
        ("014 ns", "not a time"),
        ("1e3 ns", "not a unit|not a time"),
        ("1_000 ns", "not a time"),
        ("1,5 ns", "not a time"),
        (".5 ns", "not a time"),
        ("5. ns", "not a time"),
        ("inf ns", "not a time"),
        ("nan", "not a time"),
        ("", "not a time"),
        ("ns", "not a time"),
        ("1 ns 2 ns", "not a time"),
        ("9" * 31 + " ns", "not a time"),
        ("1" * 200 + " ns", "not a time"),
        ("١٤ ns", "not a time"),
        (14, "not a time"),
        (None, "not a time"),
        (["14 ns"], "not a time"),
    ],
)
def test_what_is_no_time(text: object, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_quantity(text, Dimension.TIME)
    assert caught.value.expected


def test_a_unit_in_the_wrong_case_is_suggested() -> None:
    with pytest.raises(InputError) as caught:
        parse_quantity("72 mhz", Dimension.FREQUENCY)
    assert caught.value.hint == "did you mean `MHz`?"


@pytest.mark.parametrize("text", ["0 Hz", "0 MHz", "1 MHz +- 100 %", "0..1 MHz"])
def test_a_clock_never_stands_still(text: str) -> None:
    with pytest.raises(InputError, match="can be zero"):
        parse_quantity(text, Dimension.FREQUENCY)


@pytest.mark.parametrize("text", ["0 B", "1.5 B", "1..2 KiB", "1 KB", "4096", "-1 KiB"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(InputError):
        parse_size(text)


def test_decimal_text() -> None:
    assert decimal_text(F(1, 8)) == "0.125"
    assert decimal_text(F(-3, 2)) == "-1.5"
    assert decimal_text(F(1200)) == "1200"
    with pytest.raises(ValueError, match="no finite decimal form"):
        decimal_text(F(1, 3))


def test_text_of_a_quantity() -> None:
    assert quantity_text(Quantity(F(13), F(14), F(15), Unit.NANOSECONDS)) == "13..15 ns"
    assert quantity_text(Quantity.exactly(3, Unit.CYCLES)) == "3 cycles"
    with pytest.raises(ValueError, match="middle"):
        quantity_text(Quantity(F(1), F(1), F(2), Unit.CYCLES))
