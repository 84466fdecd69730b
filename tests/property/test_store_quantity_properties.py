"""Quantities are exact and go through text unchanged."""

from __future__ import annotations

import contextlib
import re
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wcetchar.errors import InputError
from wcetchar.store.quantity import Dimension, parse_quantity, parse_size, quantity_text
from wcetchar.store.shapes import quantity_schema

NUMBERS = st.from_regex(r"(0|[1-9][0-9]{0,14})(\.[0-9]{1,10})?", fullmatch=True)
PATTERN = {one: quantity_schema(one).json_schema["pattern"] for one in Dimension}
"""What editors take for a quantity."""

TIMES = {"ps": "0.001", "ns": "1", "us": "1000", "ms": "1000000", "s": "1000000000"}


def exact(number: str, factor: str) -> Fraction:
    """The product by decimal arithmetic, which is another way than the one under test."""
    with localcontext() as context:
        context.prec = 100
        return Fraction(Decimal(number) * Decimal(factor))


@given(NUMBERS, st.sampled_from(sorted(TIMES)))
def test_a_decimal_is_exactly_what_it_says(number: str, unit: str) -> None:
    found = parse_quantity(f"{number} {unit}", Dimension.TIME)
    assert found.low == found.nominal == found.high == exact(number, TIMES[unit])


@given(NUMBERS, NUMBERS, st.sampled_from([*sorted(TIMES), "cycles"]))
def test_an_interval_is_exactly_its_ends_and_its_middle(a: str, b: str, unit: str) -> None:
    low, high = sorted((a, b), key=Fraction)
    factor = TIMES.get(unit, "1")
    found = parse_quantity(f"{low}..{high} {unit}", Dimension.TIME)
    assert (found.low, found.high) == (exact(low, factor), exact(high, factor))
    assert found.nominal - found.low == found.high - found.nominal


@given(NUMBERS, NUMBERS, st.sampled_from(["ns", "us", "%"]), st.sampled_from(["+-", "±", "+/-"]))
def test_a_tolerance_is_exact(number: str, by: str, by_unit: str, sign: str) -> None:
    nominal = Fraction(number)
    spread = nominal * Fraction(by) / 100 if by_unit == "%" else exact(by, TIMES[by_unit])
    text = f"{number} ns {sign} {by} {by_unit}"
    if spread > nominal:
        with pytest.raises(InputError, match="negative"):
            parse_quantity(text, Dimension.TIME)
        return
    found = parse_quantity(text, Dimension.TIME)
    assert (found.low, found.nominal, found.high) == (nominal - spread, nominal, nominal + spread)
    assert re.search(PATTERN[Dimension.TIME], text)


@given(st.text(alphabet="0123456789.+-±/% nsucyleMHzKiB", max_size=30))
def test_whatever_is_accepted_goes_through_text_unchanged(text: str) -> None:
    for dimension in (Dimension.TIME, Dimension.FREQUENCY):
        try:
            found = parse_quantity(text, dimension)
        except InputError:
            continue
        assert 0 <= found.low <= found.nominal <= found.high
        assert re.search(PATTERN[dimension], text)
        again = quantity_text(found)
        # Ends may have more digits than a text may have; then it says so, and never rounds.
        with contextlib.suppress(InputError):
            assert parse_quantity(again, dimension) == found


@given(NUMBERS, st.sampled_from(["B", "KiB", "MiB", "GiB"]))
def test_a_size_is_a_whole_number_of_bytes_or_refused(number: str, unit: str) -> None:
    exactly = Fraction(number) * 1024 ** ["B", "KiB", "MiB", "GiB"].index(unit)
    try:
        assert parse_size(f"{number} {unit}") == exactly
    except InputError:
        assert exactly.denominator != 1 or exactly == 0


@given(st.integers() | st.floats() | st.none() | st.booleans() | st.lists(st.text()) | st.text())
def test_nothing_but_an_input_error_escapes(value: object) -> None:
    for dimension in (Dimension.TIME, Dimension.FREQUENCY):
        with contextlib.suppress(InputError):
            assume(parse_quantity(value, dimension) is not None)
    with contextlib.suppress(InputError):
        parse_size(value)
