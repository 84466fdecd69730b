"""Pieces of prices: which numbers can be changed, and where each piece holds."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from test_pricing import kernel
from test_wait_prices import ALU, LOADED, PLACED, behind, board, ram

from wcetchar.engine import price_vector
from wcetchar.engine.profile_inputs import inputs_of, with_inputs
from wcetchar.engine.recorded import terms_of
from wcetchar.engine.recorded_prices import (
    Editable,
    Ends,
    Evaluated,
    RecordedPrices,
    editable,
    place_of,
)
from wcetchar.model.access import Operation
from wcetchar.model.characterization import STALL_EDITION
from wcetchar.model.hardware import HardwareProfile, Quantity
from wcetchar.model.profile_number import ProfileNumber

DIVIDED = board(ram(4, divider=2), buffer=0)
KEYS = (behind(LOADED, LOADED, (ALU, 3)), ALU, LOADED)
KERNEL = replace(kernel(*KEYS), stalls=STALL_EDITION, successions=True)


def numbers(profile: HardwareProfile) -> tuple[Editable, ...]:
    places = map(place_of, inputs_of(profile))
    found, _ = editable(profile, [ProfileNumber(".".join(p), "", (p,)) for p in places])
    return found


@pytest.fixture(scope="module")
def recorded() -> RecordedPrices:
    found = RecordedPrices(KERNEL, DIVIDED, PLACED, numbers(DIVIDED), [KERNEL.services[0].name])
    found.record(lambda prices: None)
    return found


def values_at(recorded: RecordedPrices, way: str, value: Fraction | int) -> list[Ends]:
    exact = Fraction(value)
    return [(exact, exact, exact) if one.way == way else one.ends for one in recorded.numbers]


def changed(recorded: RecordedPrices, values: list[Ends]) -> HardwareProfile:
    known = {s: v for one, v in zip(recorded.numbers, values, strict=True) for s in one.steps}
    return with_inputs(DIVIDED, lambda one: Quantity(*known[one.steps], one.quantity.unit))


@pytest.mark.parametrize("way", ["core.events.alu", "regions.ram.read.first", "core.clock"])
def test_a_piece_is_what_the_pricer_finds_where_it_holds(
    recorded: RecordedPrices, way: str
) -> None:
    """What is left of the bus's cycle is a remainder, at any whole number of cycles."""
    assert recorded.pieces[0].guards
    for value in (1, 2, 5, 8, 9, Fraction(17, 4)):
        values = values_at(recorded, way, value)
        piece = recorded.holding(values)
        assert piece is not None
        plain = price_vector(KERNEL, changed(recorded, values), PLACED)
        evaluated = Evaluated(recorded.recording, values)
        for key in KEYS:
            found = evaluated.of(terms_of(piece.prices[key].time.high))
            assert found == plain[key].time.high, (key, value)


def test_where_an_edge_is_not_known_another_piece_holds(recorded: RecordedPrices) -> None:
    first, *others = recorded.pieces
    whole, part = (
        recorded.holding(values_at(recorded, "core.events.alu", value))
        for value in (2, Fraction(1, 2))
    )
    assert whole is first
    assert part in others


def test_what_no_piece_was_recorded_for_holds_nowhere() -> None:
    """Two numbers at once may go where none of them goes alone."""
    found = RecordedPrices(KERNEL, DIVIDED, PLACED, numbers(DIVIDED), [KERNEL.services[0].name])
    found.pieces.append(found._piece([one.ends for one in found.numbers], lambda prices: None))
    assert found.holding(values_at(found, "core.events.alu", Fraction(1, 2))) is None


def test_a_number_that_says_several_and_those_by_themselves() -> None:
    first, following = (("regions", "ram", "read", end) for end in ("first", "next"))
    both = ProfileNumber("regions.ram.read", "4 cycles", (first, following))
    alone = [ProfileNumber(".".join(p), "4 cycles", (p,)) for p in (first, following)]
    found, aliases = editable(DIVIDED, [both, *alone])
    assert [one.way for one in found] == ["regions.ram.read.first", "regions.ram.read.next"]
    assert aliases == {"regions.ram.read": ("regions.ram.read.first", "regions.ram.read.next")}
    steps = ("regions", "ram", "times", Operation.READ, "first")
    assert found[0].steps == (steps,)


def test_a_number_that_stands_for_several_and_is_no_shorthand() -> None:
    """Events without a time of their own have one number in common."""
    places = tuple(("core", "events", kind) for kind in ("alu", "return", "no such event"))
    (found,), aliases = editable(DIVIDED, [ProfileNumber("core.other events", "1 cycle", places)])
    assert found.way == "core.other events"
    assert len(found.steps) == 2
    assert not aliases
