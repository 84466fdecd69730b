"""Two ways to find times: as a linear program, or from piece to piece where prices are
no sums of times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

from wcetchar.engine.linear import is_linear, unit_of
from wcetchar.engine.row_prices import CountedOnce, RowPrices, ranges_of
from wcetchar.model.fitting import Fit, LinearPrices, Place
from wcetchar.model.hardware import Quantity
from wcetchar.pipeline.validate import MeasuredRows
from wcetchar.validation.fitting import Row, fit, fit_in_turn, price_of
from wcetchar.validation.piecewise import fit_by


@dataclass(frozen=True)
class Asked:
    """``step``, ``relative``: see :class:`wcetchar.pipeline.fit.Request`. ``waits``: what refresh
    or other masters take is to be found. ``quiet``: of each row, whether neither was there."""

    step: Fraction
    relative: bool
    waits: bool
    quiet: Sequence[bool]


class Fitter(Protocol):
    """Finds times from rows by their numbers, and says what rows cost then."""

    def fit(self, chosen: Sequence[int], ranges: bool) -> Fit: ...

    def costs(self, chosen: Sequence[int], found: Fit) -> Sequence[Fraction]: ...


def fitter_of(
    measured: MeasuredRows,
    rows: Sequence[Row],
    prices: LinearPrices,
    same: Mapping[Place, Place],
    asked: Asked,
) -> Fitter:
    """``same``: places of the model that are one time of the file."""
    if all(is_linear(platform.prices.profile) for platform in measured.platforms):
        return _Summed(rows, prices, asked)
    return _Judged(measured, rows, prices, same, asked)


class _Summed:
    """Prices are sums of times."""

    def __init__(self, rows: Sequence[Row], prices: LinearPrices, asked: Asked) -> None:
        self._rows, self._prices, self._asked = rows, prices, asked

    def fit(self, chosen: Sequence[int], ranges: bool) -> Fit:
        asked = self._asked
        some, undisturbed = [self._rows[n] for n in chosen], [asked.quiet[n] for n in chosen]
        if asked.waits and any(undisturbed) and not all(undisturbed):
            return fit_in_turn(
                some,
                undisturbed,
                self._prices,
                step=asked.step,
                relative=asked.relative,
                ranges=ranges,
            )
        return fit(some, self._prices, step=asked.step, relative=asked.relative, ranges=ranges)

    def costs(self, chosen: Sequence[int], found: Fit) -> Sequence[Fraction]:
        return [price_of(self._rows[n], self._prices, found) for n in chosen]


class _Judged:
    """Prices are no sums of times: the pricer says what rows cost."""

    def __init__(
        self,
        measured: MeasuredRows,
        rows: Sequence[Row],
        prices: LinearPrices,
        same: Mapping[Place, Place],
        asked: Asked,
    ) -> None:
        self._measured, self._rows, self._same, self._asked = measured, rows, same, asked
        self._every = self._judge(range(len(rows)))
        free = {**prices.free, **self._paid_beside(prices)}
        self._prices = replace(prices, free=free)
        profile = measured.platform.prices.profile
        self._units = {place: unit_of(profile, place, q) for place, q in free.items()}

    def _judge(self, chosen: Sequence[int]) -> RowPrices:
        measured = self._measured
        platforms = {id(one): one for one in measured.platforms}
        numbers = {one: n for n, one in enumerate(platforms)}
        return RowPrices(
            measured.characterization,
            measured.used,
            [(one.prices.profile, one.section_map) for one in platforms.values()],
            [
                CountedOnce(
                    measured.services[measured.rows[n].estimate.service],
                    tuple(measured.rows[n].estimate.parameters.values()),
                    numbers[id(measured.platforms[n])],
                )
                for n in chosen
            ],
            self._same,
        )

    def _paid_beside(self, prices: LinearPrices) -> Mapping[Place, Quantity]:
        """Ranges that rows pay through waits alone, such as a write of which the caller left one
        under way: what changes with them where all are dearest, and where all are cheap."""
        others = {
            self._same.get(place, place): quantity
            for platform in self._measured.platforms
            for place, quantity in ranges_of(platform.prices.profile).items()
        }
        others = {place: q for place, q in others.items() if place not in prices.free}
        known = {**prices.free, **others}
        found: dict[Place, Quantity] = {}
        for share in (Fraction(1), Fraction(1, 16)):
            times = {place: q.low + (q.high - q.low) * share for place, q in known.items()}
            _, slopes = self._every.sloped(times)
            paid = {place for one in slopes for place in one}
            found |= {place: q for place, q in others.items() if place in paid}
        return found

    def fit(self, chosen: Sequence[int], ranges: bool) -> Fit:
        rows = [self._rows[n] for n in chosen]
        asked = self._asked
        return fit_by(
            self._judge(chosen),
            rows,
            self._prices,
            self._units,
            step=asked.step,
            relative=asked.relative,
        )

    def costs(self, chosen: Sequence[int], found: Fit) -> Sequence[Fraction]:
        return self._every.at({time.place: time.value for time in found.times}, chosen)
