"""Which number an estimate hangs on: the safe figure, priced again with other numbers.

The safe figure T of a service is the upper end of its estimate, a function of every number x_i that
the profile says and of every parameter that may be off. Prices are not linear in these: an access
begins with an edge of its bus, the dearest of several regions counts, a write is waited for as far
as nothing hides it. So nothing is derived; T is found anew by the pricer itself (``pricing``)::

    nominal        T at x_j nominal, all j
    raises(i)      T at x_i in [low_i, high_i], all others nominal, less nominal
    lowers(i)      nominal, less the least of T at x_i = low_i and x_i = high_i
    safe           T at all x_j in [low_j, high_j]: the WCET, as estimates always have it
    lowest         T at the end of each x_j that lowers it

Where T is a sum of counts times prices, raises(i) add up to safe - nominal; else the rest is what
numbers do together (``Uncertainty.together``).

*Systematic* errors are the same at each access: T at all x_j without their stochastic errors is
exact over them (``systematic_high``), no sum of single ones.

*Stochastic* errors are drawn by each access and each event anew. With n_k counts of class
k, and d_k what the full error of x_i makes one of them dearer, where systematic errors are at their
worst::

    D = raises(i) there      Q = sum over k of n_k * d_k
    stochastic(i) = min(D, sqrt(sum over k of n_k * d_k^2) + |D - Q|)
    stochastic    = sqrt(sum over i of stochastic(i)^2)

What beats an access has draw one error together, which is never less; and what D has beyond Q
(lines that caches load and what waits for them, whole interferences) counts linearly, so that the
root covers it however it hangs together. A parameter is drawn once, when the service begins.

Inputs: a characterization, profile, map, and the estimate. Outputs in nanoseconds; exact, but for
roots, which are rounded up. Soundness: ``safe`` is the estimate's own, and nothing here changes it.
T rises or falls with each price; where it should do both, ``raises`` and ``safe`` still hold, for
they price the interval as a whole, and ``lowers`` is what the two ends show.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.engine.estimate import estimate_at
from wcetchar.engine.parameter_box import ParameterBox, systematic_range
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.pricing import price_vector
from wcetchar.engine.profile_inputs import ProfileInput, inputs_of, with_inputs
from wcetchar.engine.totals import Totals, total_of
from wcetchar.engine.uncertainty import root_above
from wcetchar.model.characterization import Characterization, ServiceCharacterization
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import HardwareProfile, Quantity
from wcetchar.model.section_map import SectionMap
from wcetchar.model.uncertainty import Contribution, UncertainCount, Uncertainty

_Change = Callable[[ProfileInput], Quantity]


@dataclass(frozen=True)
class _Ends:
    """A number of the profile, and prices that it makes.

    Attributes:
        prices, systematic, at: where all others are nominal: with all its errors, without its
            stochastic one, and at either end.
        noisy: with all its errors, where all others have systematic ones. Both ``None``: it has no
            stochastic error.
    """

    number: ProfileInput
    prices: PriceVector
    at: tuple[PriceVector, PriceVector]
    systematic: PriceVector | None = None
    noisy: PriceVector | None = None


class Sensitivity:
    """Of services on one profile and map; each variant of the profile is priced once."""

    def __init__(
        self,
        characterization: Characterization,
        services: Iterable[str],
        profile: HardwareProfile,
        section_map: SectionMap,
    ) -> None:
        self._characterization = characterization
        self._services = tuple(services)
        self._profile = profile
        self._map = section_map
        self._nominal = self._priced(_nominal)
        self._systematic = self._priced(lambda one: one.quantity.systematic)
        self._ends = tuple(
            self._alone(one) for one in inputs_of(profile) if not one.quantity.is_exact
        )
        self._corners: dict[tuple[bool, tuple[bool, ...]], PriceVector] = {}

    def of(
        self,
        service: ServiceCharacterization,
        estimate: Estimate,
        uncertain: Mapping[str, UncertainCount],
    ) -> Uncertainty:
        """How far the safe figure of ``estimate`` hangs on each number.

        Args:
            service: that the estimate is of, with the ranges of its characterization.
            uncertain: its parameters that may be off, of those that it has.

        Raises:
            InputError: too many combinations of these, or counts that do not hold at some.
        """
        names = [p.name for p in service.parameters]
        mine = {n: uncertain[n] for n in names if n in uncertain and not uncertain[n].is_exact}
        box = ParameterBox(service.name, estimate.parameters, mine)
        safe = estimate.total.high

        def total(prices: PriceVector) -> Totals:
            return total_of(service, prices, prices.caches.at(service))

        nominal = total(self._nominal)(box.nominal)
        ends = [
            (one, [total(prices)(box.nominal) for prices in (one.prices, *one.at)])
            for one in self._ends
        ]
        cheap_high = tuple(high < low for _, (_, low, high) in ends)
        contributions = [
            *self._of_prices(service, box, total, nominal, ends),
            *self._of_counts(box, total, nominal),
        ]
        noise = [one.stochastic for one in contributions]
        lowest = min(nominal, min(box.all_of(total(self._corner(False, cheap_high)), box.full)))
        inner = min(box.all_of(total(self._corner(True, cheap_high)), box.systematic))
        outer = max(box.all_of(total(self._systematic), box.systematic))
        matter = [one for one in contributions if one.raises or one.lowers]
        return Uncertainty(
            lowest=lowest,
            nominal=nominal,
            systematic_low=max(lowest, min(nominal, inner)),
            systematic_high=max(nominal, min(safe, outer)),
            stochastic=min(sum(noise, start=Fraction(0)), root_above(_squares(noise))),
            safe=safe,
            contributions=tuple(sorted(matter, key=lambda c: (-c.raises, -c.lowers, c.name))),
            idle=len(contributions) - len(matter),
        )

    def _of_prices(
        self,
        service: ServiceCharacterization,
        box: ParameterBox,
        total: Callable[[PriceVector], Totals],
        nominal: Fraction,
        ends: list[tuple[_Ends, list[Fraction]]],
    ) -> Iterator[Contribution]:
        for one, (whole, low, high) in ends:
            quantity = one.number.quantity
            inner = whole if one.systematic is None else total(one.systematic)(box.nominal)
            yield Contribution(
                one.number.name,
                quantity.low,
                quantity.nominal,
                quantity.high,
                quantity.unit.value,
                lowers=max(Fraction(0), nominal - min(low, high)),
                raises=max(Fraction(0), whole - nominal),
                systematic=max(Fraction(0), inner - nominal),
                stochastic=self._noise(service, box.worst, one.noisy),
            )

    def _of_counts(
        self, box: ParameterBox, total: Callable[[PriceVector], Totals], nominal: Fraction
    ) -> Iterator[Contribution]:
        for name, count in box.uncertain.items():
            alone = box.all_of(total(self._nominal), {name: range(count.low, count.high + 1)})
            inner = {name: systematic_range(count)}
            systematic = max(box.all_of(total(self._nominal), inner)) - nominal
            noise = Fraction(0)
            if count.stochastic:
                noisy = total(self._systematic)
                whole = max(box.all_of(noisy, box.systematic | {name: box.full[name]}))
                noise = whole - max(box.all_of(noisy, box.systematic))
            yield Contribution(
                name,
                Fraction(count.low),
                Fraction(count.nominal),
                Fraction(count.high),
                "",
                lowers=max(Fraction(0), nominal - min(alone)),
                raises=max(Fraction(0), max(alone) - nominal),
                systematic=max(Fraction(0), systematic),
                stochastic=noise,
            )

    def _noise(
        self, service: ServiceCharacterization, values: tuple[int, ...], noisy: PriceVector | None
    ) -> Fraction:
        """What stochastic errors of a number come to over a service."""
        if noisy is None:
            return Fraction(0)
        before = estimate_at(service, self._systematic, values)
        after = estimate_at(service, noisy, values)
        prices = {column.key: column.price.high for column in before.columns}
        squares = linear = Fraction(0)
        for column in after.columns:
            dearer = column.price.high - prices.get(column.key, Fraction(0))
            squares += column.count * dearer**2
            linear += column.count * dearer
        whole = max(Fraction(0), after.total.high - before.total.high)
        return min(whole, root_above(squares) + abs(whole - linear))

    def _alone(self, number: ProfileInput) -> _Ends:
        def but(quantity: Quantity) -> PriceVector:
            return self._priced(
                lambda one: quantity if one.steps == number.steps else _nominal(one)
            )

        quantity = number.quantity
        at = but(_at(quantity, quantity.low)), but(_at(quantity, quantity.high))
        if not quantity.stochastic:
            return _Ends(number, but(quantity), at)
        noisy = self._priced(
            lambda one: quantity if one.steps == number.steps else one.quantity.systematic
        )
        return _Ends(number, but(quantity), at, but(quantity.systematic), noisy)

    def _corner(self, systematic: bool, high: tuple[bool, ...]) -> PriceVector:
        """All numbers at the end that lowers the safe figure; ``high``: whether that is the upper
        one, of those that are not exact."""
        key = systematic, high
        if key not in self._corners:
            upper = {one.number.steps for one, above in zip(self._ends, high, strict=True) if above}

            def end(one: ProfileInput) -> Quantity:
                quantity = one.quantity.systematic if systematic else one.quantity
                return _at(quantity, quantity.high if one.steps in upper else quantity.low)

            self._corners[key] = self._priced(end)
        return self._corners[key]

    def _priced(self, change: _Change) -> PriceVector:
        profile = with_inputs(self._profile, change)
        return price_vector(self._characterization, profile, self._map, self._services)


def _nominal(one: ProfileInput) -> Quantity:
    return _at(one.quantity, one.quantity.nominal)


def _at(quantity: Quantity, value: Fraction) -> Quantity:
    return Quantity.exactly(value, quantity.unit)


def _squares(errors: Iterable[Fraction]) -> Fraction:
    return sum((error**2 for error in errors), start=Fraction(0))
