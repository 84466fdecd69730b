"""Numbers that know their slopes, where the pricer does more with them than arithmetic."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest

from wcetchar.engine.sloped import Sloped, slopes_of
from wcetchar.model.symbolic import longest, most

F = Fraction
ALU, WRITE = ("core", "events", "alu"), ("regions", "ram", "write")


def test_waits_that_are_the_same_by_chance_stay_two() -> None:
    """Counted by their values they were one, with the slopes of whichever came first."""
    waits: Counter[Fraction] = Counter()
    waits[Sloped(F(5), {ALU: F(1)})] += 2
    waits[Sloped(F(5), {WRITE: F(3)})] += 1
    waits[Sloped(F(5), {ALU: F(1)})] += 1
    total = longest(waits, 4)
    assert total == 20
    assert slopes_of(total) == {ALU: F(3), WRITE: F(3)}


def test_the_larger_one_has_its_slopes() -> None:
    found = most(F(0), Sloped(F(5), {ALU: F(1)}) - Sloped(F(3), {WRITE: F(2)}))
    assert found == 2
    assert slopes_of(found) == {ALU: F(1), WRITE: F(-2)}
    assert slopes_of(most(F(9), found)) == {}


def test_what_a_time_is_divided_by_has_no_slopes() -> None:
    assert slopes_of(Sloped(F(5), {ALU: F(1)}) / 2) == {ALU: F(1, 2)}
    with pytest.raises(TypeError, match="not divided"):
        F(1) / Sloped(F(5), {ALU: F(1)})
