"""What stalls cost: the profile's time, or nothing where the times of instructions hold them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from test_pricing import FETCH, at, cycles, exactly, kernel, ns, profile, region

from wcetchar.engine import PricingError, price_vector
from wcetchar.errors import InputErrors
from wcetchar.model.access import (
    FIRST_STALLS,
    NO_MORE_THAN,
    PRICED_LIKE,
    SECOND_STALLS,
    STALLS,
    CoreEvent,
    EventKind,
    Key,
)
from wcetchar.model.characterization import STALL_EDITION
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import Assumption, SectionMap

REALIGNED = [kind for kind in EventKind if kind.is_realigned and kind.is_stall]
COUNTED = [kind for kind in EventKind if kind.is_stall]
FLASH = region("flash", {FETCH: at(ns(70), ns(20))}, 32)


def price(
    kind: EventKind,
    events: Mapping[EventKind, int],
    *assumptions: Assumption,
    discarded: Mapping[EventKind, int] | None = None,
    counted: int = STALL_EDITION,
) -> Interval:
    """At 100 MHz: 10 ns a cycle."""
    key: Key = CoreEvent(".text", kind)
    board = profile(
        FLASH, events={k: cycles(n) for k, n in events.items()}, discarded=discarded or {}
    )
    placed = SectionMap("map", {".text": "flash"}, assumptions=frozenset(assumptions))
    return price_vector(replace(kernel(key), stalls=counted), board, placed)[key].time


def test_what_stalls_are() -> None:
    assert set(COUNTED) == STALLS
    assert not any(kind.is_issue or kind.is_float for kind in STALLS)
    assert len(REALIGNED) == 5
    for kind in STALLS:
        suffix = " realigned" if kind in REALIGNED else ""
        assert kind.priced_as.value + suffix == kind.value
        assert kind.priced_as in STALLS
        assert not kind.priced_as.is_realigned


@pytest.mark.parametrize("kind", COUNTED)
def test_a_stall_costs_what_the_profile_says_or_nothing(kind: EventKind) -> None:
    first = {SECOND_STALLS[kind]: 3} if kind in SECOND_STALLS else {}
    assert price(kind, {**first, kind.priced_as: 3}) == exactly(30)
    others = {
        other: 3
        for other in STALLS
        if other is not kind.priced_as and (other not in SECOND_STALLS or kind not in FIRST_STALLS)
    }
    of_another = kind.priced_as in {*NO_MORE_THAN, *PRICED_LIKE}
    assert price(kind, others) == exactly(30 if of_another else 0)
    assert price(kind, {}) == exactly(0)


def test_a_stall_in_the_place_of_others_costs_as_much_as_the_dearest_of_these() -> None:
    """Of a profile that says what a load makes others wait, and not which."""
    load, second = EventKind.LOAD_USE_STALL, EventKind.SECOND_LOAD_USE_STALL
    multiply = EventKind.SECOND_MULTIPLY_USE_STALL
    first = {load: 3, EventKind.MULTIPLY_USE_STALL: 3}
    for kind in (EventKind.ACCESS_LOAD_USE_STALL, EventKind.SYSTEM_LOAD_USE_STALL):
        assert price(kind, {load: 3}) == exactly(30)
        assert price(kind, {load: 3, kind: 0}) == exactly(0)
    assert price(EventKind.SECOND_LOAD_USE_STALL_ACCESS, {**first, second: 2}) == exactly(20)
    across = EventKind.SECOND_USE_STALL_TRANSFER
    assert price(across, {**first, second: 1, multiply: 2}) == exactly(20)
    assert price(across, {**first, second: 2, multiply: 1}) == exactly(20)
    assert price(across, {**first, multiply: 1}) == exactly(10)
    assert price(across, {**first, second: 2, across: 0}) == exactly(0)
    assert price(across, first) == exactly(0)  # `profile check` asks about that


@pytest.mark.parametrize("second", SECOND_STALLS)
@pytest.mark.parametrize("first", FIRST_STALLS)
def test_no_second_stall_is_longer_than_a_first(second: EventKind, first: EventKind) -> None:
    """Where an instruction has both, the first alone is counted."""
    events = {**dict.fromkeys(FIRST_STALLS, 2), second: 2}
    assert price(second, events) == exactly(20)
    with pytest.raises((PricingError, InputErrors)) as caught:
        price(second, {**events, first: 1})
    assert f"{second.value} takes longer than {first.value}" in str(caught.value)


def test_a_case_of_another_stall_costs_what_that_one_does_unless_it_has_a_price() -> None:
    wait, behind, across = (
        EventKind.SYSTEM_WAIT,
        EventKind.SYSTEM_WAIT_TRANSFER,
        EventKind.SYSTEM_WAIT_CROSSING,
    )
    moved = EventKind.SYSTEM_WAIT_TRANSFER_REALIGNED
    for kind in (wait, behind, across, moved):
        assert price(kind, {wait: 3}) == exactly(30)
    assert price(across, {wait: 3, behind: 2}) == exactly(20)
    assert price(across, {wait: 3, behind: 2, across: 0}) == exactly(0)
    assert price(moved, {wait: 3, behind: 2, across: 0}) == exactly(20)
    # Where alignment is promised, what is across words here stays so.
    assert price(across, {wait: 3}, Assumption.CODE_ALIGNMENT) == exactly(30)
    assert price(moved, {wait: 3}, Assumption.CODE_ALIGNMENT) == exactly(0)


@pytest.mark.parametrize("kind", REALIGNED)
def test_realigned_stalls_are_free_where_alignment_is_promised(kind: EventKind) -> None:
    events = {kind.priced_as: 3}
    assert price(kind, events, Assumption.CODE_ALIGNMENT) == exactly(0)
    assert price(kind.priced_as, events, Assumption.CODE_ALIGNMENT) == exactly(30)


def test_a_stall_may_discard_fetches() -> None:
    crossing, moved = EventKind.CROSSING_TARGET, EventKind.CROSSING_TARGET_REALIGNED
    for kind in (crossing, moved):
        assert price(kind, {crossing: 1}, discarded={crossing: 2}) == exactly(10 + 2 * 70)
        assert price(kind, {}, discarded={crossing: 2}) == exactly(2 * 70)
    assert price(moved, {}, Assumption.CODE_ALIGNMENT, discarded={crossing: 2}) == exactly(0)


def test_other_events_still_need_a_time() -> None:
    with pytest.raises(PricingError, match="no time for core event"):
        price(EventKind.ALU, {EventKind.LOAD_USE_STALL: 1})


@pytest.mark.parametrize("discarded", [False, True])
@pytest.mark.parametrize(
    ("edition", "how"), [(0, "not at all"), (1, "by definitions that left some out")]
)
def test_stalls_that_are_priced_and_not_counted(discarded: bool, edition: int, how: str) -> None:
    """They would be lost without a word. What costs nothing may be left uncounted."""
    stall = EventKind.LOAD_USE_STALL
    events = {EventKind.ALU: 1, stall: 0 if discarded else 1}
    fetches = {stall: 1} if discarded else {}
    with pytest.raises(PricingError) as caught:
        price(EventKind.ALU, events, discarded=fetches, counted=edition)
    error = caught.value
    assert f"counts stalls {how}" in str(error)
    assert "stalls: 2" in str(error.expected)
    assert "load-use stall" in str(error)
    assert (error.file, error.keys) == ("profile", ("core", "events"))
    assert "characterize the kernel anew" in (error.hint or "")
    events = {EventKind.ALU: 1, stall: 0}
    assert price(EventKind.ALU, events, counted=edition) == exactly(10)
