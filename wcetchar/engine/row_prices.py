"""What measured rows cost with other times in a profile, by the pricer itself.

A fit of times that are no sums (a write buffer, a divided clock, what refills hide) has no prices
that it could solve for. It tries times, and what they come to is found here as an estimate finds
it: the same price vector, the same lines, the same sum::

    total of a row = sum over k of c_k * p_k(t)  +  lines that it loads, at t

with c_k its counts, which do not hang on times and are summed once. Exact; upper ends alone.

Inputs: a characterization, the profile and map of each situation, the rows. Of a service with cases
that were not given each row has the case that was the dearest when it was counted; another one may
be dearer at other times, so the estimate is not below what is found here.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.engine.counts import count
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.pricing import needs_of, priced
from wcetchar.engine.profile_inputs import ProfileInput, inputs_of, with_inputs
from wcetchar.engine.recorded_prices import place_of
from wcetchar.engine.sloped import Sloped, slopes_of
from wcetchar.model.access import Key
from wcetchar.model.characterization import Characterization, ServiceCharacterization
from wcetchar.model.fitting import Place
from wcetchar.model.hardware import HardwareProfile, Quantity
from wcetchar.model.section_map import SectionMap


@dataclass(frozen=True)
class CountedOnce:
    """A row: a service at values of its parameters, in one of the situations."""

    service: ServiceCharacterization
    values: tuple[int, ...]
    situation: int


def with_times(
    profile: HardwareProfile, times: Mapping[Place, Fraction], same: Mapping[Place, Place]
) -> HardwareProfile:
    """The profile with these values in the place of ranges; others stay as they are.

    Args:
        times: place -> value, in the unit that the profile has there.
        same: places that are another one's time.
    """

    def at(number: ProfileInput) -> Quantity:
        place = place_of(number)
        value = times.get(same.get(place, place))
        if value is None:
            return number.quantity
        # Not a plain fraction made of it: it may know its slopes.
        return Quantity(value, value, value, number.quantity.unit)

    return with_inputs(profile, at)


def ranges_of(profile: HardwareProfile) -> dict[Place, Quantity]:
    """Times that a fit could look for: all ranges but those that make others shorter."""
    return {
        place_of(number): number.quantity
        for number in inputs_of(profile)
        if not number.quantity.is_exact and not number.saves
    }


class RowPrices:
    """Totals of rows at times that are looked for."""

    def __init__(
        self,
        characterization: Characterization,
        services: Iterable[str],
        situations: Sequence[tuple[HardwareProfile, SectionMap]],
        rows: Sequence[CountedOnce],
        same: Mapping[Place, Place],
    ) -> None:
        """``services``: those that are priced together, which the rows are of; ``same``: places
        that are another one's time."""
        self._characterization = characterization
        self._situations, self._same = situations, same
        self._needs = needs_of(characterization, services)
        self._rows = rows
        self._vectors = [_vector(row) for row in rows]
        self._without_lines: set[int] = set()

    def at(
        self, times: Mapping[Place, Fraction], chosen: Sequence[int] | None = None
    ) -> list[Fraction]:
        """In nanoseconds, of all rows in their order, or of those of these numbers."""
        found = []
        prices: dict[int, PriceVector] = {}
        ticks: dict[int, tuple[int, Mapping[Key, int]]] = {}
        for n in range(len(self._rows)) if chosen is None else chosen:
            situation = self._rows[n].situation
            if situation not in prices:
                prices[situation] = self._priced(situation, times)
                ticks[situation] = _ticks(prices[situation])
            per_ns, each = ticks[situation]
            own = sum(each[key] * number for key, number in self._vectors[n].items())
            found.append(self._whole(n, Fraction(own, per_ns), prices[situation]))
        return found

    def sloped(
        self, times: Mapping[Place, Fraction]
    ) -> tuple[list[Fraction], list[Mapping[Place, Fraction]]]:
        """The same of all rows, and what each of the times adds to it: nanoseconds for one of its
        units, on the piece that the times lie on."""
        known: dict[Place, Fraction] = {
            place: Sloped(value, {place: Fraction(1)}) for place, value in times.items()
        }
        prices = [self._priced(n, known) for n in range(len(self._situations))]
        ticks = [_ticks(one) for one in prices]
        slopes = [_slopes(one) for one in prices]
        totals = []
        for n, row in enumerate(self._rows):
            per_ns, each = ticks[row.situation]
            grain, along = slopes[row.situation]
            own = 0
            found: dict[Place, int] = {}
            for key, number in self._vectors[n].items():
                own += each[key] * number
                for place, slope in along.get(key, ()):
                    found[place] = found.get(place, 0) + slope * number
            sloped = {place: Fraction(slope, grain) for place, slope in found.items() if slope}
            whole = Sloped(Fraction(own, per_ns), sloped)
            totals.append(self._whole(n, whole, prices[row.situation]))
        return [Fraction(total) for total in totals], [slopes_of(total) for total in totals]

    def _priced(self, situation: int, times: Mapping[Place, Fraction]) -> PriceVector:
        profile, section_map = self._situations[situation]
        changed = with_times(profile, times, self._same)
        return priced(self._characterization, changed, section_map, self._needs)

    def _whole(self, number: int, own: Fraction, prices: PriceVector) -> Fraction:
        """A row, with the lines that it loads."""
        row = self._rows[number]
        if prices.caches and number not in self._without_lines:
            loaded = prices.caches.of(row.service, row.values)
            own = own + loaded.total.high * prices.rate.factor
            if prices.caches.of_instructions_alone and not any(loaded.of[0].misses.values()):
                self._without_lines.add(number)  # at any times
        return prices.rate.settled(own)


def _ticks(prices: PriceVector) -> tuple[int, Mapping[Key, int]]:
    """One denominator of all prices, and their numerators over it."""
    each = {key: price.time.high for key, price in prices.items()}
    per_ns = math.lcm(1, *(price.denominator for price in each.values()))
    return per_ns, {k: p.numerator * (per_ns // p.denominator) for k, p in each.items()}


def _vector(row: CountedOnce) -> dict[Key, int]:
    """All that a row counts, its repetitions included."""
    names = tuple(parameter.name for parameter in row.service.parameters)
    found: dict[Key, int] = {}
    for one in count(row.service.counts, names, row.values, row.service.name).rows:
        for key, number in one.vector.items():
            if number * one.repetitions:
                found[key] = found.get(key, 0) + number * one.repetitions
    return found


def _slopes(prices: PriceVector) -> tuple[int, Mapping[Key, list[tuple[Place, int]]]]:
    """The same of the slopes of prices that have some."""
    each = {key: slopes_of(price.time.high) for key, price in prices.items()}
    grain = math.lcm(1, *(s.denominator for slopes in each.values() for s in slopes.values()))
    return grain, {
        key: [(place, s.numerator * (grain // s.denominator)) for place, s in slopes.items()]
        for key, slopes in each.items()
        if slopes
    }
