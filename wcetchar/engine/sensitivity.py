"""Which number an estimate hangs on: a safe figure, priced again with other numbers.

A safe figure T of a service (``figures``: its total, a blocking time, the bound of all paths) is
the upper end of an estimate, a function of every number x_i that the profile says and of every
parameter that may be off. Prices are not linear in these: an access begins with an edge of its bus,
the dearest of several regions counts, a write is waited for as far as nothing hides it, another
stretch or path is the longest. So nothing is derived; T is found anew by the pricer itself::

    nominal        T at x_j nominal, all j
    raises(i)      T at x_i in [low_i, high_i], all others nominal, less nominal
    lowers(i)      nominal, less the least of T at x_i = low_i and x_i = high_i
    safe           T at all x_j in [low_j, high_j]: the figure as estimates always have it
    lowest         T at the end of each x_j that lowers it, or less

Where T is a sum of counts times prices, raises(i) add up to safe - nominal; else the rest is what
numbers do together (``Uncertainty.together``).

*Systematic* errors are the same at each access: T at all x_j without their stochastic errors is
exact over them (``systematic_high``), no sum of single ones.

*Stochastic* errors are drawn by each access and each event anew. Of a part of T, such as a stretch,
with n_k counts of class k, and d_k what the full error of x_i makes one of them dearer, where
systematic errors are at their worst::

    D = what the whole error raises the part by there      Q = sum over k of n_k * d_k
    stochastic(i) = min(D, sqrt(sum over k of n_k * d_k^2) + |D - Q|)
    stochastic    = sqrt(sum over i of stochastic(i)^2)

What beats an access has draw one error together, which is never less; and what D has beyond Q
(lines that caches load and what waits for them, whole interferences, what goes on with a stretch)
counts linearly, so that the root covers it however it hangs together. A parameter is drawn once,
when the service begins. Of several parts the largest counts, of all that can be the longest at any
numbers: T is below the sum for each of them. The dearest of all paths is no list of parts. Which
path it is may hang on what is drawn, and no root covers the most of so many; so all errors of both
kinds count linearly there, and what is to be expected is what the limits are.

Inputs: a characterization, profile, map, and the figure. Outputs in nanoseconds; exact, but for
roots, which are rounded up. Soundness: ``safe`` is the estimate's own, and nothing here changes it.
T is below ``lowest`` nowhere (``least_prices``): it is exact where T rises, or falls, with each
number throughout, and too low where accesses wait for one another or a clock may be off. ``safe``
is above the time at any numbers; T can be above it at some that are no whole cycles, where less is
known of when a bus is asked.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.engine.figures import (
    BlockingFigure,
    Figure,
    PathFigure,
    TotalFigure,
    largest,
)
from wcetchar.engine.least_prices import LeastPrices
from wcetchar.engine.parameter_box import ParameterBox
from wcetchar.engine.profile_inputs import ProfileInput, inputs_of
from wcetchar.engine.sweep import followed_by
from wcetchar.engine.uncertainty import root_above
from wcetchar.engine.variants import Change, Priced, Variant
from wcetchar.errors import NoSoundBound
from wcetchar.model.characterization import (
    Characterization,
    ServiceCharacterization,
    StretchKind,
)
from wcetchar.model.estimate import Estimate, OverAllPaths
from wcetchar.model.hardware import HardwareProfile, Quantity
from wcetchar.model.path_model import PathModel
from wcetchar.model.section_map import SectionMap
from wcetchar.model.uncertainty import Contribution, NoRange, UncertainCount, Uncertainty

MOST_FOLLOWED: Final = 256
"""Combinations of parameters that may be off, at each of which is found what goes on."""
MOST_SOLVED: Final = 64
"""Combinations of parameters that may be off, at each of which an integer program is solved, and
anew for each number of the profile."""
_NONE: Final = Fraction(0)


@dataclass(frozen=True)
class _Ends:
    """A number of the profile, and what it makes of the profile.

    Attributes:
        whole, systematic, low, high: where all others are nominal: with all its errors, without its
            stochastic one, and at either end.
        noisy: with all its errors, where all others have systematic ones; ``None``: it has no
            stochastic error.
    """

    number: ProfileInput
    whole: Variant
    systematic: Variant
    low: Variant
    high: Variant
    noisy: Variant | None = None


@dataclass(frozen=True)
class _Tried:
    """A figure on variants of ``ends``, where parameters are nominal."""

    ends: _Ends
    whole: Fraction
    low: Fraction
    high: Fraction


class Sensitivity:
    """Of services on one profile and map; each variant of the profile is priced once."""

    def __init__(
        self,
        characterization: Characterization,
        services: Iterable[str],
        profile: HardwareProfile,
        section_map: SectionMap,
        values: Mapping[str, int] | None = None,
    ) -> None:
        """``values``: of parameters of what goes on with what the services block, by name, but for
        those that may be off."""
        self._priced = Priced(characterization, tuple(services), profile, section_map, values or {})
        self._nominal = self._variant(_nominal)
        self._systematic = self._variant(lambda one: one.quantity.systematic)
        self._whole = self._variant(lambda one: one.quantity)
        self._least = LeastPrices(self._priced, self._whole)
        self._least_systematic = LeastPrices(self._priced, self._systematic)
        self._ends = tuple(
            self._alone(one) for one in inputs_of(profile) if not one.quantity.is_exact
        )

    def of(
        self,
        service: ServiceCharacterization,
        estimate: Estimate,
        uncertain: Mapping[str, UncertainCount],
    ) -> Uncertainty:
        """How far the total of ``estimate`` hangs on each number.

        Args:
            service: that the estimate is of, with the ranges of its characterization.
            uncertain: parameters that may be off, of those that it has.

        Raises:
            InputError: too many combinations of these, or counts that do not hold at some.
        """
        mine = _of_service(service, uncertain)
        box = ParameterBox(service.name, estimate.parameters, mine)
        return self._of(TotalFigure(estimate.total.high, box, service))

    def of_blocking(
        self,
        service: ServiceCharacterization,
        estimate: Estimate,
        uncertain: Mapping[str, UncertainCount],
        kind: StretchKind,
    ) -> Uncertainty | NoRange:
        """The same of how long it holds something off, with what goes on with that.

        Args:
            uncertain: those of what goes on with it as well.

        Raises:
            InputError: as of :meth:`of`.
        """
        interrupts = kind is StretchKind.INTERRUPTS
        chain = estimate.interrupts_chain if interrupts else estimate.preemption_chain
        if chain is not None and chain.gaps:
            return NoRange(f"it is not bounded: {chain.gaps[0]}")
        held = estimate.interrupts_held_off if interrupts else estimate.preemption_held_off
        values = estimate.interrupts_at if interrupts else estimate.preemption_at
        following = self._followed(service)
        mine = _of_service(service, uncertain)
        beside = {
            name: one
            for name, one in uncertain.items()
            if name in following and name not in mine and not one.is_exact
        }
        followed = following & {*mine, *beside}
        sizes = (uncertain[name].high - uncertain[name].low + 1 for name in followed)
        if (size := math.prod(sizes)) > MOST_FOLLOWED:
            return NoRange(
                f"what goes on with it has {size} combinations of {', '.join(sorted(followed))}, "
                f"and at most {MOST_FOLLOWED} are tried"
            )
        at = {**(values or estimate.parameters), **{n: one.high for n, one in beside.items()}}
        box = ParameterBox(service.name, at, {**mine, **beside})
        return self._of(BlockingFigure(held.high, box, service, kind, followed))

    def of_paths(
        self,
        model: PathModel,
        estimate: Estimate,
        uncertain: Mapping[str, UncertainCount],
        over: OverAllPaths,
    ) -> Uncertainty | NoRange:
        """The same of the bound of all paths, which ``over`` has, at the values of the estimate;
        of values that are not given, at those where the bound is the largest."""
        from wcetchar.engine.piecewise import used_parameters  # as in ``variants``

        if over.time is None:
            return NoRange(over.why)
        used = used_parameters(model)
        off = {
            name: one
            for name, one in uncertain.items()
            if name in used and name in estimate.parameters and not one.is_exact
        }
        size = math.prod(one.high - one.low + 1 for one in off.values())
        if size > MOST_SOLVED:
            return NoRange(
                f"{', '.join(sorted(off))} may have {size} combinations of values, and a range of "
                f"all paths is solved at {MOST_SOLVED} at most"
            )
        if over.at is None:
            return NoRange("it is of more values at once than are solved one by one")
        box = ParameterBox(model.service, {**estimate.parameters, **over.at}, off)
        try:
            return self._of(PathFigure(over.time, box, model))
        except NoSoundBound as error:
            return NoRange(error.message)

    def _of(self, figure: Figure) -> Uncertainty:
        box, safe = figure.box, figure.safe
        nominal = min(safe, self._most(figure, self._nominal))
        ends = [
            _Tried(one, *(self._most(figure, at) for at in (one.whole, one.low, one.high)))
            for one in self._ends
        ]
        lowest = min(nominal, _lowest(figure, self._least, box.full))
        inner = _lowest(figure, self._least_systematic, box.systematic)
        outer = self._most(figure, self._systematic, box.systematic)
        low, high = max(lowest, min(nominal, inner)), max(nominal, min(safe, outer))
        able = self._able(figure, lowest)
        found = [*self._of_prices(figure, nominal, ends, able), *self._of_counts(figure, able)]
        together = [_root_sum(parts) for parts in zip(*(noise for _, noise in found), strict=True)]
        stochastic = max(together, default=_NONE)
        if not figure.adds_up and stochastic:
            stochastic = max(safe - high, low - lowest)
        matter = [one for one, _ in found if one.raises or one.lowers or one.stochastic]
        return Uncertainty(
            lowest=lowest,
            nominal=nominal,
            systematic_low=low,
            systematic_high=high,
            stochastic=stochastic,
            safe=safe,
            contributions=tuple(sorted(matter, key=lambda c: (-c.raises, -c.lowers, c.name))),
            idle=len(found) - len(matter),
        )

    def _of_prices(
        self,
        figure: Figure,
        nominal: Fraction,
        ends: list[_Tried],
        able: list[int],
    ) -> Iterator[tuple[Contribution, list[Fraction]]]:
        """Each with its stochastic errors part by part."""
        for tried in ends:
            one, whole = tried.ends, tried.whole
            quantity = one.number.quantity
            inner = whole if one.noisy is None else self._most(figure, one.systematic)
            noise = [_NONE] * len(able)
            if one.noisy is not None and able:
                every = self._noise(figure, one.noisy)
                noise = [every[part] for part in able]
            yield (
                Contribution(
                    one.number.name,
                    quantity.low,
                    quantity.nominal,
                    quantity.high,
                    quantity.unit.value,
                    lowers=max(_NONE, nominal - min(tried.low, tried.high)),
                    raises=min(figure.safe - nominal, max(_NONE, whole - nominal)),
                    systematic=min(figure.safe - nominal, max(_NONE, inner - nominal)),
                    stochastic=max(noise, default=_NONE),
                ),
                noise,
            )

    def _of_counts(
        self, figure: Figure, able: list[int]
    ) -> Iterator[tuple[Contribution, list[Fraction]]]:
        box = figure.box
        nominal = min(figure.safe, self._most(figure, self._nominal))
        for name, count in box.uncertain.items():
            alone = largest(figure.parts(self._nominal, box.points({name: box.full[name]})))
            inner = self._most(figure, self._nominal, {name: box.systematic[name]})
            noise = [_NONE] * len(able)
            if count.stochastic and able:
                every = figure.parts(
                    self._systematic, box.points(box.systematic | {name: box.full[name]})
                )
                before = figure.parts(self._systematic, box.points(box.systematic))
                noise = [largest([every[p]])[1] - largest([before[p]])[1] for p in able]
            yield (
                Contribution(
                    name,
                    Fraction(count.low),
                    Fraction(count.nominal),
                    Fraction(count.high),
                    "",
                    lowers=max(_NONE, nominal - alone[0]),
                    raises=min(figure.safe, alone[1]) - nominal,
                    systematic=min(figure.safe, inner) - nominal,
                    stochastic=max(noise, default=_NONE),
                ),
                noise,
            )

    def _most(
        self, figure: Figure, on: Variant, ranges: Mapping[str, range] | None = None
    ) -> Fraction:
        """The most over ranges of parameters, all others nominal."""
        return largest(figure.parts(on, figure.box.points(ranges or {})))[1]

    def _able(self, figure: Figure, lowest: Fraction) -> list[int]:
        """Numbers of the parts that can be the longest."""
        parts = figure.parts(self._whole, figure.box.points(figure.box.full))
        return [number for number, times in enumerate(parts) if largest([times])[1] > lowest]

    def _noise(self, figure: Figure, noisy: Variant) -> list[Fraction]:
        """What stochastic errors of a number come to over each part."""
        worst = figure.box.worst
        before = [largest([times])[1] for times in figure.parts(self._systematic, [worst])]
        after = [largest([times])[1] for times in figure.parts(noisy, [worst])]
        found = []
        for low, high, cheap, dear in zip(
            before,
            after,
            figure.columns(self._systematic, worst),
            figure.columns(noisy, worst),
            strict=True,
        ):
            squares = linear = _NONE
            for key, (count, price) in dear.items():
                dearer = price - (cheap[key][1] if key in cheap else _NONE)
                squares += count * dearer**2
                linear += count * dearer
            whole = max(_NONE, high - low)
            found.append(min(whole, root_above(squares) + abs(whole - linear)))
        return found

    def _followed(self, service: ServiceCharacterization) -> frozenset[str]:
        """Parameters that what goes on with the service may depend on."""
        cached = bool(self._nominal.prices.caches)
        return followed_by(self._priced.characterization, service, cached)

    def _alone(self, number: ProfileInput) -> _Ends:
        def but(quantity: Quantity) -> Variant:
            return self._variant(
                lambda one: quantity if one.steps == number.steps else _nominal(one)
            )

        quantity = number.quantity
        low, high = but(_at(quantity, quantity.low)), but(_at(quantity, quantity.high))
        if not quantity.stochastic:
            whole = but(quantity)
            return _Ends(number, whole, whole, low, high)
        noisy = self._variant(
            lambda one: quantity if one.steps == number.steps else one.quantity.systematic
        )
        return _Ends(number, but(quantity), but(quantity.systematic), low, high, noisy)

    def _variant(self, change: Change) -> Variant:
        return Variant(self._priced, change)


def _lowest(figure: Figure, on: Variant, ranges: Mapping[str, range]) -> Fraction:
    """The least over ranges of parameters, all others nominal."""
    return largest(figure.least(on, figure.box.points(ranges)))[0]


def _of_service(
    service: ServiceCharacterization, uncertain: Mapping[str, UncertainCount]
) -> dict[str, UncertainCount]:
    """Those of its parameters that may be off."""
    names = [parameter.name for parameter in service.parameters]
    return {n: uncertain[n] for n in names if n in uncertain and not uncertain[n].is_exact}


def _nominal(one: ProfileInput) -> Quantity:
    return _at(one.quantity, one.quantity.nominal)


def _at(quantity: Quantity, value: Fraction) -> Quantity:
    return Quantity.exactly(value, quantity.unit)


def _root_sum(errors: Iterable[Fraction]) -> Fraction:
    """The root of the sum of squares, which is not above the sum."""
    each = tuple(errors)
    squares = sum((error**2 for error in each), start=_NONE)
    return min(sum(each, start=_NONE), root_above(squares))
