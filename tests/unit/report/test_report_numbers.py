"""Printed times are never below the exact ones."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.report.numbers import (
    for_json,
    grouped,
    low_for_json,
    nearest_tenth,
    percent,
    plain,
)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (Fraction(56_728), "56,728"),
        (Fraction(0), "0"),
        (Fraction(1, 3), "0.334"),
        (Fraction(1, 2), "0.5"),
        (Fraction(2_000_001, 1_000), "2,000.001"),
        (Fraction(20_000_001, 10_000), "2,000.001"),
        (Fraction(9_999_999, 10_000), "1,000"),
        (Fraction(-1, 3), "-0.333"),
        (Fraction(10**18), "1,000,000,000,000,000,000"),
    ],
)
def test_text(value: Fraction, text: str) -> None:
    assert grouped(value) == text
    assert plain(value) == text.replace(",", "")


@given(st.fractions(min_value=-(10**9), max_value=10**12))
def test_rounding_goes_up_by_less_than_a_thousandth(value: Fraction) -> None:
    printed = Fraction(Decimal(plain(value)))
    assert value <= printed < value + Fraction(1, 1000)


@given(st.fractions(min_value=0, max_value=10**12))
def test_json_numbers_enclose_the_value(value: Fraction) -> None:
    # The shortest decimal of the float is what stands in the document.
    low, high = (Fraction(Decimal(repr(f(value)))) for f in (low_for_json, for_json))
    assert value - Fraction(1, 1000) < low <= value <= high < value + Fraction(1, 1000)


def test_whole_numbers_are_integers_in_json() -> None:
    assert isinstance(for_json(Fraction(56_728)), int)
    assert for_json(Fraction(10**30)) == 10**30
    assert for_json(Fraction(1, 3)) == 0.334
    assert low_for_json(Fraction(1, 3)) == 0.333


def test_percentages_are_to_the_nearest_tenth() -> None:
    assert percent(21_000, 56_728) == "37.0 %"
    assert percent(1, 3) == "33.3 %"
    assert percent(2, 3) == "66.7 %"
    assert percent(0, 0) == "0.0 %"
    assert nearest_tenth(Fraction(5, 100)) == Fraction(1, 10)
    assert nearest_tenth(Fraction(31_8, 1000)) == Fraction(3, 10)
