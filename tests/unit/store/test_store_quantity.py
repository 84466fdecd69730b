"""Quantities: worked by hand, and everything that is not one."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest

from wcetchar.errors import InputError
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.store.quantity import (
    Dimension,
    decimal_text,
    parse_count,
    parse_quantity,
    parse_size,
    quantity_text,
)
from wcetchar.store.shapes import COUNT_PATTERN, quantity_schema

F = Fraction
PATTERN = quantity_schema(Dimension.TIME).json_schema["pattern"]


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


@pytest.mark.parametrize(
    ("text", "low", "nominal", "high", "stochastic"),
    [
        ("14 ns +- 1 ns systematic", F(13), F(14), F(15), F(0)),
        ("14 ns +- 2 ns stochastic", F(12), F(14), F(16), F(2)),
        ("14 ns +- 1 ns systematic +- 2 ns stochastic", F(11), F(14), F(17), F(2)),
        ("14 ns +- 2 ns stochastic +- 1 ns systematic", F(11), F(14), F(17), F(2)),
        ("14 ns ± 500 ps ± 5 % stochastic", F(64, 5), F(14), F(76, 5), F(7, 10)),
        ("14 ns+-1ns+-2ns stochastic", F(11), F(14), F(17), F(2)),
        ("1..3 cycles +- 0.5 cycles stochastic", F(1, 2), F(2), F(7, 2), F(1, 2)),
        ("14 ns +- 0 ns stochastic", F(14), F(14), F(14), F(0)),
    ],
)
def test_errors_of_two_kinds(text: str, low: F, nominal: F, high: F, stochastic: F) -> None:
    found = parse_quantity(text, Dimension.TIME)
    assert (found.low, found.nominal, found.high) == (low, nominal, high)
    assert found.stochastic == stochastic
    inner = found.systematic
    assert (inner.low, inner.high, inner.stochastic) == (low + stochastic, high - stochastic, 0)
    assert re.search(PATTERN, text)
    assert parse_quantity(quantity_text(found), Dimension.TIME) == found


@pytest.mark.parametrize(
    ("text", "nominal", "systematic", "stochastic"),
    [
        ("13 +- 2", 13, 2, 0),
        ("13±2", 13, 2, 0),
        ("13 +- 2 stochastic", 13, 0, 2),
        ("13 +/- 2 systematic +- 1 stochastic", 13, 2, 1),
        ("-3 +- 1", -3, 1, 0),
        ("7", 7, 0, 0),
    ],
)
def test_counts_with_errors(text: str, nominal: int, systematic: int, stochastic: int) -> None:
    found = parse_count(text)
    assert (found.nominal, found.systematic, found.stochastic) == (nominal, systematic, stochastic)
    assert (found.low, found.high) == (
        nominal - systematic - stochastic,
        nominal + systematic + stochastic,
    )
    assert re.search(COUNT_PATTERN, text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("13 +- 2 +- 1", "two systematic errors"),
        ("13 +- 2 stochastic +- 1 stochastic", "two stochastic errors"),
        ("13 +- 20 %", "not a whole number"),
        ("13 +- 1.5", "not a whole number"),
        ("13 +- -1", "not a whole number"),
        ("13 +- 2 noisy", "not a whole number"),
        ("013 +- 1", "not a whole number"),
        ("13 +-", "not a whole number"),
        ("9" * 20 + " +- 1", "not a whole number"),
        (1.5, "not a whole number"),
        (True, "not a whole number"),
        (None, "not a whole number"),
    ],
)
def test_what_is_no_count(text: object, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_count(text)
    assert caught.value.expected


def test_a_clock_has_no_stochastic_error() -> None:
    assert parse_quantity("8 MHz +- 1 % systematic", Dimension.FREQUENCY).low == 7_920_000
    with pytest.raises(InputError, match="stochastic error") as caught:
        parse_quantity("8 MHz +- 1 % stochastic", Dimension.FREQUENCY)
    assert caught.value.hint


def test_an_error_is_no_more_than_the_interval() -> None:
    for low, high, stochastic in ((13, 15, 2), (13, 15, -1), (14, 15, 1)):
        with pytest.raises(ValueError, match="not an interval"):
            Quantity(F(low), F(14), F(high), Unit.NANOSECONDS, F(stochastic))


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
        ("14 ns +- 1 ns +- 1 cycle stochastic", "mixes two units"),
        ("14 ns +- 1 systematic", "no unit"),
        ("14 ns +- 1 ns +- 2 ns", "two systematic errors"),
        ("14 ns +- 1 ns stochastic +- 2 ns stochastic", "two stochastic errors"),
        ("1..3 cycles +- 1 cycle systematic", "an interval and a tolerance"),
        ("14 ns +- 8 ns +- 7 ns stochastic", "lower end of .* is negative"),
        ("14 ns +- 1 ns +- 1 ns stochastic +- 1 ns", "not a time"),
        ("14 ns stochastic", "not a time"),
        ("14 ns +- 1 ns noisy", "not a time"),
        ("14 ns +- 1 nsstochastic", "is not a unit of time"),
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
