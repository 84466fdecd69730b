"""Exact arithmetic on times that are partly cycles of the core's clock, partly nanoseconds.

A clock with a tolerance has a period anywhere in [1/high, 1/low], but it is *one* period: what is
subtracted in core cycles from something in core cycles must be subtracted before it becomes time,
or the tolerance would be paid twice. Everything else is plain interval arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from wcetchar.errors import InputError
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.model.interval import Interval
from wcetchar.model.symbolic import least, most

_NANOSECONDS_PER_SECOND = 1_000_000_000


@dataclass(frozen=True)
class Span:
    """``cycles`` of the core's clock plus ``nanoseconds``; both are intervals from zero up."""

    cycles: Interval
    nanoseconds: Interval


ZERO_SPAN = Span(Interval(), Interval())


def span_of(quantity: Quantity, clock: Quantity | None, wrong: InputError) -> Span:
    """A quantity of a profile; its cycles are those of ``clock``, or of the core for ``None``.

    Raises:
        InputError: ``wrong``, if the quantity is negative or no time, or the clock is no clock.
    """
    if quantity.low < 0:
        raise wrong
    value = Interval(quantity.low, quantity.nominal, quantity.high)
    if quantity.unit is Unit.NANOSECONDS:
        return Span(Interval(), value)
    if quantity.unit is not Unit.CYCLES:
        raise wrong
    if clock is None:
        return Span(value, Interval())
    if clock.unit is not Unit.HERTZ or clock.low <= 0:
        raise wrong
    period = periods(clock)
    return Span(
        Interval(),
        Interval(value.low * period.low, value.nominal * period.nominal, value.high * period.high),
    )


def periods(clock: Quantity) -> Interval:
    """The period of a clock in nanoseconds: longest where the clock is slowest."""
    return Interval(
        _NANOSECONDS_PER_SECOND / clock.high,
        _NANOSECONDS_PER_SECOND / clock.nominal,
        _NANOSECONDS_PER_SECOND / clock.low,
    )


def plus(one: Span, other: Span) -> Span:
    return Span(one.cycles + other.cycles, one.nanoseconds + other.nanoseconds)


def times(span: Span, count: int) -> Span:
    return Span(span.cycles.scaled(count), span.nanoseconds.scaled(count))


def in_nanoseconds(span: Span, core_clock: Quantity) -> Interval:
    """The span as time."""
    return less(span, ZERO_SPAN, core_clock)


def less(full: Span, hidden: Span, core_clock: Quantity) -> Interval:
    """``max(0, full - hidden)`` as time, over every value that the two and the clock can take.

    The difference in cycles can be negative while that in nanoseconds is positive; then the
    shortest period gives the largest result.
    """
    period = periods(core_clock)
    high = full.cycles.high - hidden.cycles.low
    nominal = full.cycles.nominal - hidden.cycles.nominal
    low = full.cycles.low - hidden.cycles.high
    return Interval(
        most(
            Fraction(0),
            least(low * period.low, low * period.high)
            + full.nanoseconds.low
            - hidden.nanoseconds.high,
        ),
        most(
            Fraction(0),
            nominal * period.nominal + full.nanoseconds.nominal - hidden.nanoseconds.nominal,
        ),
        most(
            Fraction(0),
            most(high * period.high, high * period.low)
            + full.nanoseconds.high
            - hidden.nanoseconds.low,
        ),
    )
