"""Prices as linear functions of a profile's times, and what a fit of these times comes to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.model.access import Key
from wcetchar.model.hardware import Quantity, Unit

Place = tuple[str, ...]
"""A time of a profile by the keys that lead to it: ``("core", "events", "load")``,
``("regions", "flash", "fetch", "first")``."""


@dataclass(frozen=True)
class LinearPrice:
    """``constant`` nanoseconds and, for each time that is to be found, nanoseconds for one of its
    units."""

    constant: Fraction
    coefficients: Mapping[Place, Fraction]

    def at(self, times: Mapping[Place, Fraction]) -> Fraction:
        """Nanoseconds, with these values of its times."""
        return self.constant + sum(
            (c * times[place] for place, c in self.coefficients.items()), start=Fraction(0)
        )


@dataclass(frozen=True)
class Recurring:
    """An interference that comes at least ``every`` nanoseconds after the last time, and makes the
    core wait for ``takes`` each time (``engine.interference``)."""

    takes: LinearPrice
    every: Fraction


@dataclass(frozen=True)
class LinearPrices:
    """Prices of keys, and the times that are to be found.

    Attributes:
        free: place -> range that the profile allows, low < high.
        at_least: label -> a linear price that must not fall below zero: of an access, its time less
            the overlap. Where it could, the price would not be linear.
        simplified: keys of which one of several possible regions, widths or directions was taken.
        recurring: what comes by the time that a row takes, and not by its counts.
    """

    prices: Mapping[Key, LinearPrice]
    free: Mapping[Place, Quantity]
    at_least: Mapping[str, LinearPrice]
    simplified: frozenset[Key]
    recurring: tuple[Recurring, ...] = ()


@dataclass(frozen=True)
class FittedTime:
    """One time that was found.

    Attributes:
        given: the range that the profile allowed.
        value: what was found, rounded up, in ``unit``.
        least, most: how far the time can be moved without making the total worse, other times being
            adjusted; ``None`` where that was not looked for.
        counted: how often the measured rows pay it, all together. 0: nothing says anything about
            it, and it stays at the upper end of its range.
    """

    place: Place
    given: Quantity
    value: Fraction
    unit: Unit
    least: Fraction | None
    most: Fraction | None
    counted: Fraction


@dataclass(frozen=True)
class Fit:
    """What a fit comes to.

    Attributes:
        excess: over all rows that were fitted, estimates less measurements, in nanoseconds.
        tight: rows that are within a thousandth of their measurement, and so hold the times up.
        together: times of which the rows tell sums alone, in groups.
        judged: prices are no sums of times; the pricer said what rows cost, and that no others are
            less in total is not proven.
    """

    times: tuple[FittedTime, ...]
    excess: Fraction
    rows: int
    tight: tuple[str, ...]
    together: tuple[tuple[Place, ...], ...] = ()
    judged: bool = False
