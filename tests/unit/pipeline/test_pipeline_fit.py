"""What a fit says of events that are a case of another one."""

from __future__ import annotations

from fractions import Fraction

from wcetchar.model.access import EventKind
from wcetchar.model.fitting import Fit, FittedTime, Place
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.pipeline.fit import times_found

WAIT = EventKind.SYSTEM_WAIT
BEHIND = EventKind.SYSTEM_WAIT_TRANSFER
ACROSS = EventKind.SYSTEM_WAIT_CROSSING
USE = EventKind.SYSTEM_USE_STALL


def place(kind: EventKind) -> Place:
    return ("core", "events", kind.value)


def given(low: int = 0, high: int = 40) -> Quantity:
    return Quantity(Fraction(low), Fraction(low), Fraction(high), Unit.CYCLES)


EVENTS = {kind: given() for kind in (WAIT, BEHIND, ACROSS, USE)}


def time(kind: EventKind, value: int, counted: int = 1) -> FittedTime:
    paid = Fraction(counted)
    return FittedTime(place(kind), given(), Fraction(value), Unit.CYCLES, None, None, paid)


def found(
    *times: FittedTime,
    events: dict[EventKind, Quantity] | None = None,
    together: tuple[tuple[Place, ...], ...] = (),
) -> tuple[dict[str, int], dict[str, str]]:
    fit = Fit(times, Fraction(0), 1, (), together)
    values, copied = times_found(fit, EVENTS if events is None else events)
    assert all(unit is Unit.CYCLES for _, unit in values.values())
    return (
        {where[-1]: int(value) for where, (value, _) in values.items()},
        {where[-1]: other[-1] for where, other in copied.items()},
    )


def test_a_case_that_no_row_pays_has_the_time_of_the_other() -> None:
    """Across words is a case of behind a transfer, and that one of any; whether or not some row
    has it no times."""
    copied = {BEHIND.value: WAIT.value, ACROSS.value: BEHIND.value}
    all_as_wait = {WAIT.value: 2, BEHIND.value: 2, ACROSS.value: 2}
    assert found(time(WAIT, 2), time(BEHIND, 40, 0), time(ACROSS, 40, 0)) == (all_as_wait, copied)
    assert found(time(WAIT, 2)) == (all_as_wait, copied)
    assert found(time(WAIT, 2), time(BEHIND, 1)) == (
        {WAIT.value: 2, BEHIND.value: 1, ACROSS.value: 1},
        {ACROSS.value: BEHIND.value},
    )


def test_the_other_may_have_been_known_before_and_so_may_the_case() -> None:
    events = {WAIT: given(3, 3), BEHIND: given(), ACROSS: given(1, 1)}
    assert found(events=events) == ({BEHIND.value: 3}, {BEHIND.value: WAIT.value})
    assert found(time(WAIT, 2), events={WAIT: given()}) == ({WAIT.value: 2}, {})


def test_what_is_not_told_by_itself_is_not_copied() -> None:
    """Rows tell what a wait and a use take together, and the wait came out as nothing."""
    sums = ((place(WAIT), place(USE)),)
    assert found(time(WAIT, 0), time(USE, 3), together=sums) == (
        {WAIT.value: 0, USE.value: 3},
        {},
    )
    assert found(time(USE, 3), time(WAIT, 40, 0), time(BEHIND, 40, 0)) == ({USE.value: 3}, {})


def test_no_case_takes_longer_than_the_other() -> None:
    sums = ((place(WAIT), place(USE)),)
    times = time(WAIT, 0), time(USE, 3), time(BEHIND, 2), time(ACROSS, 5)
    expected = {WAIT.value: 5, USE.value: 3, BEHIND.value: 5, ACROSS.value: 5}
    assert found(*times, together=sums) == (expected, {})


def test_what_is_given_of_a_case_at_least_it_takes() -> None:
    events = EVENTS | {BEHIND: given(3, 20)}
    values, _ = found(time(WAIT, 2), events=events)
    assert values == {WAIT.value: 3, BEHIND.value: 3, ACROSS.value: 3}
