"""Words of which some bits are known, against all words that they can be."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from wcetchar.model.bits import WORD, Bits, calculated
from wcetchar.model.instruction import Calculation

WIDTH = 4
LOW = (1 << WIDTH) - 1
OPERATIONS = {
    Calculation.ADD: lambda a, b: a + b & WORD,
    Calculation.AND: lambda a, b: a & b,
    Calculation.OR: lambda a, b: a | b,
}


def partly_known(above: int) -> Iterator[tuple[Bits, list[int]]]:
    """Every word of four bits that are 0, 1 or unknown, and the values that it can have; the bits
    above are known to be ``above``."""
    for digits in product("01?", repeat=WIDTH):
        known = sum(1 << i for i, digit in enumerate(digits) if digit != "?") | WORD & ~LOW
        value = sum(1 << i for i, digit in enumerate(digits) if digit == "1") | above
        free = [1 << i for i, digit in enumerate(digits) if digit == "?"]
        values = [value]
        for bit in free:
            values += [v | bit for v in values]
        yield Bits(value, known), values


@pytest.mark.parametrize("calculation", list(OPERATIONS))
@pytest.mark.parametrize("above", [0, WORD & ~LOW])
def test_known_is_what_all_possible_results_share(calculation: Calculation, above: int) -> None:
    operation = OPERATIONS[calculation]
    for (one, ones), (two, twos) in product(partly_known(above), partly_known(0)):
        results = {operation(a, b) for a in ones for b in twos}
        set_in_all = WORD
        set_in_some = 0
        for result in results:
            set_in_all &= result
            set_in_some |= result
        found = calculated(calculation, one, two)
        assert found.value == set_in_all, (one, two)
        assert found.known == set_in_all | WORD & ~set_in_some, (one, two)


def test_shifts_move_what_is_known() -> None:
    shift = Calculation.SHIFT_LEFT
    assert calculated(shift, Bits(0x188), Bits(4)) == Bits(0x1880)
    assert calculated(shift, Bits(0x88, 0x88), Bits(4)) == Bits(0x880, 0x88F)
    assert calculated(shift, Bits(1 << 31), Bits(1)) == Bits(0)
    assert calculated(shift, Bits(1), Bits(0)) == Bits(1)
    assert calculated(shift, Bits(1), Bits(0, 1)).known == 0
    assert calculated(shift, Bits(1), Bits(32)).known == 0


def test_a_value_has_no_unknown_bits() -> None:
    with pytest.raises(ValueError, match="not known"):
        Bits(3, 1)
    assert Bits(3).whole == 3
    assert Bits(2, 3).whole is None
    assert Bits(2, 3).clear == 1
