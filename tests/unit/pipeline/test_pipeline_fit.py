"""What a fit says of events that are a case of another one, and that no row pays."""

from __future__ import annotations

from fractions import Fraction

from wcetchar.model.access import EventKind
from wcetchar.model.fitting import Fit, FittedTime, Place
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.pipeline.fit import times_found

GIVEN = Quantity(Fraction(0), Fraction(0), Fraction(40), Unit.CYCLES)


def place(kind: EventKind) -> Place:
    return ("core", "events", kind.value)


def time(where: Place, value: int, counted: int) -> FittedTime:
    paid = Fraction(counted)
    return FittedTime(where, GIVEN, Fraction(value), Unit.CYCLES, None, None, paid)


def found(*times: FittedTime) -> dict[Place, tuple[Fraction, Unit]]:
    return times_found(Fit(times, Fraction(0), 1, (), ()))


WAIT = place(EventKind.SYSTEM_WAIT)
BEHIND = place(EventKind.SYSTEM_WAIT_TRANSFER)
ACROSS = place(EventKind.SYSTEM_WAIT_CROSSING)


def cycles(value: int) -> tuple[Fraction, Unit]:
    return Fraction(value), Unit.CYCLES


def test_a_case_that_no_row_pays_has_the_time_of_the_other() -> None:
    """Across words is a case of behind a transfer, and that one of any."""
    unseen = time(BEHIND, 40, 0), time(ACROSS, 40, 0)
    assert found(time(WAIT, 2, 9), *unseen) == {
        WAIT: cycles(2),
        BEHIND: cycles(2),
        ACROSS: cycles(2),
    }
    assert found(time(WAIT, 2, 9), time(BEHIND, 1, 3), time(ACROSS, 40, 0)) == {
        WAIT: cycles(2),
        BEHIND: cycles(1),
        ACROSS: cycles(1),
    }
    assert found(time(ACROSS, 0, 1), time(WAIT, 2, 9))[ACROSS] == cycles(0)


def test_what_no_row_says_anything_of_stays_as_it_is() -> None:
    assert found(time(WAIT, 40, 0), time(BEHIND, 40, 0)) == {}
    assert found(time(BEHIND, 1, 1), time(WAIT, 40, 0)) == {BEHIND: cycles(1)}
    # No event, but called as one.
    data = ("regions", "data", EventKind.SYSTEM_WAIT_CROSSING.value)
    assert found(time(WAIT, 2, 9), time(data, 40, 0)) == {WAIT: cycles(2)}
