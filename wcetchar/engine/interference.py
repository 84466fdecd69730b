"""What the refresh of memories and other masters add to a time, at most.

Interference i takes t_i, and it begins at least T_i after it began the last time. Whoever has a
memory keeps it until he is done, and then the core has its turn, so each time costs the core t_i at
most. Within a time x that is floor(x / T_i) + 1 times at most, so the time of a window ends at the
first x with::

    x = own + sum of (floor(x / T_i) + 1) * t_i

Without the floor that is linear, and never less::

    x <= (own + sum of t_i) / (1 - sum of t_i / T_i)

so every price is multiplied by ``factor``, ``once`` is added for each window, and of the sum the
first such x is made (``settled``). Where T_i is not known, or there is no telling where a window
begins, or the sum of t_i / T_i is not below 1, each access of the region waits for t_i instead.

The sum leaves c, which is next, out: with it x can be more.

Writes may be under way when a window begins, and interference may have held them up before that.
Where a window is charged for writes that were begun c before it, at most (``before``), behind a
call, all that comes from then on counts, and the time of the window alone is what is left::

    x = own + sum of (floor((x + c) / T_i) + 1) * t_i

for x + c is the time of a window that begins with the writes, and does nothing else for c. Where
they were begun sooner, its accesses wait less by as much, or for none of them; and a longer c never
makes x shorter. Where a window waits for no such writes, c is nothing to it.

Inputs: a profile. All times are upper ends but T_i, which is the lower one. The low end of a price
does without.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from wcetchar.engine.errors import PricingError
from wcetchar.engine.time import ZERO_SPAN, Span, in_nanoseconds, plus
from wcetchar.model.access import Key, Succession
from wcetchar.model.hardware import HardwareProfile, Quantity, Region, busy
from wcetchar.model.interval import Interval


@dataclass(frozen=True)
class Rate:
    """What applies to all prices.

    Attributes:
        recurring: t_i and T_i of each interference, in nanoseconds.
        before: c, in nanoseconds: so long before a window behind a call a write may have been begun
            that its accesses wait for, as far as that is taken off the wait.
    """

    recurring: tuple[tuple[Fraction, Fraction], ...] = ()
    before: Fraction = Fraction(0)

    @cached_property
    def factor(self) -> Fraction:
        return 1 / (1 - sum((takes / every for takes, every in self.recurring), start=Fraction(0)))

    @cached_property
    def once(self) -> Fraction:
        """For each window, in nanoseconds."""
        return sum((takes for takes, _ in self.recurring), start=Fraction(0))

    def applied(self, key: Key, time: Interval) -> Interval:
        """The price of a key with its share."""
        once = self.once if isinstance(key, Succession) and key.before is None else Fraction(0)
        return self.shared(time.up_to(time.high + once))

    def linear(self, own: Fraction) -> Fraction:
        """No less than a window takes whose own time is so long, in nanoseconds."""
        return (own + self.once) * self.factor

    def within(self, time: Fraction) -> Fraction:
        """No less than all that begins within a time, in nanoseconds."""
        return sum((takes * (time // every + 1) for takes, every in self.recurring), Fraction(0))

    def shared(self, time: Interval) -> Interval:
        """A part of a window with its share."""
        return Interval(time.low, time.nominal * self.factor, time.high * self.factor)

    def settled(self, high: Fraction) -> Fraction:
        """A window's time from the sum of its prices: no interference comes in parts. Where that
        is zero nothing is counted."""
        if not self.recurring or not high:
            return high
        begun = high / self.factor
        time = begun
        while True:
            more = (takes * ((time + self.before) // every) for takes, every in self.recurring)
            longer = begun + sum(more, start=Fraction(0))
            if longer == time:
                return time
            time = longer

    def of_path(self, high: Fraction) -> Fraction:
        """The same of the prices of a path, in which what comes once for each window is not."""
        return self.settled(high + self.once * self.factor)

    def of_window(self, time: Interval) -> Interval:
        """The same of an interval, whose low end does without."""
        return time.up_to(self.settled(time.high))


NO_INTERFERENCE = Rate()


def rate_of(
    profile: HardwareProfile, counted: bool, span: Callable[[Region, Quantity], Span]
) -> tuple[Rate, dict[str, Span]]:
    """What applies to all prices, and by region what each of its accesses waits besides.

    Args:
        counted: successions are, so that it is known where windows begin.
        span: a time of a region.

    Raises:
        PricingError: a memory is busy with others all of the time.
    """
    clock = profile.core.clock
    for region in profile.regions.values():
        _check_turn(region, clock)
    recurring = []
    if counted:
        for region in profile.regions.values():
            for one in region.interferences:
                if one.every is None:
                    continue
                takes = in_nanoseconds(span(region, one.takes), clock).high
                recurring.append((takes, in_nanoseconds(span(region, one.every), clock).low))
    share = sum((takes / every for takes, every in recurring), start=Fraction(0))
    recurs = counted and share < 1
    each: dict[str, Span] = {}
    for region in profile.regions.values():
        waits = ZERO_SPAN
        for one in region.interferences:
            if one.every is None or not recurs:
                waits = plus(waits, _from_zero(span(region, one.takes)))
        each[region.name] = waits
    return Rate(tuple(recurring)) if recurs else NO_INTERFERENCE, each


def _check_turn(region: Region, clock: Quantity) -> None:
    shares = {
        name: busy(region, one, clock)
        for name, one in (("refresh", region.refresh), ("arbitration", region.arbitration))
        if one is not None
    }
    if sum(shares.values(), start=Fraction(0)) >= 1:
        raise PricingError(
            f"region {region.name} is busy with {' and '.join(shares)} all of the time",
            expected="`takes` that leave the core time until the next one begins",
            hint="leave `every` out where the core has its turn behind each",
            file="profile",
            keys=("regions", region.name, max(shares, key=lambda name: shares[name]), "every"),
        )


def _from_zero(span: Span) -> Span:
    """It need not happen."""

    def widened(one: Interval) -> Interval:
        return Interval(Fraction(0), Fraction(0), one.high)

    return Span(widened(span.cycles), widened(span.nanoseconds))
