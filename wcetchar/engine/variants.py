"""A hardware profile with other numbers, priced: by what else it is asked for, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

from wcetchar.engine.chains import Following
from wcetchar.engine.interference import NO_INTERFERENCE
from wcetchar.engine.lines import NO_CACHES
from wcetchar.engine.prices import Price, PriceVector
from wcetchar.engine.pricing import price_vector
from wcetchar.engine.profile_inputs import ProfileInput, with_inputs
from wcetchar.model.access import Key, Succession
from wcetchar.model.characterization import Characterization
from wcetchar.model.hardware import HardwareProfile, Quantity
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import SectionMap

Change = Callable[[ProfileInput], Quantity]


@dataclass(frozen=True)
class Priced:
    """What is priced, and where: all but the numbers of the profile.

    ``values``: of parameters of what goes on with what services block, by name; those that may be
    off are said anew each time.
    """

    characterization: Characterization
    services: tuple[str, ...]
    profile: HardwareProfile
    section_map: SectionMap
    values: Mapping[str, int]


class Variant:
    """The profile with some numbers. ``floor``: no price is less at any of these: the lower ends of
    all, and nothing for waits that another access makes, for lines of caches, for interference."""

    def __init__(self, of: Priced, change: Change, floor: bool = False) -> None:
        self._of = of
        self._change = change
        self._floor = floor
        self._following: dict[tuple[tuple[str, int], ...], Following] = {}

    @cached_property
    def profile(self) -> HardwareProfile:
        return with_inputs(self._of.profile, self._change)

    @cached_property
    def prices(self) -> PriceVector:
        of = self._of
        prices = price_vector(of.characterization, self.profile, of.section_map, of.services)
        return _floor(prices) if self._floor else prices

    @cached_property
    def path_prices(self) -> PriceVector:
        """Of the path models of the services.

        Raises:
            NoSoundBound: the profile prices what they do not count.
        """
        # Only here, so that a table is priced where no solver is installed.
        from wcetchar.engine.path_prices import path_prices

        of = self._of
        models = [model for model in of.characterization.paths if model.service in of.services]
        prices = path_prices(of.characterization, self.profile, of.section_map, models)
        return _floor(prices) if self._floor else prices

    def following(self, values: Iterable[tuple[str, int]]) -> Following:
        """What may follow stretches, at these values of parameters that may be off."""
        key = tuple(values)
        if key not in self._following:
            known = {**self._of.values, **dict(key)}
            self._following[key] = Following(self._of.characterization, self.prices, known)
        return self._following[key]


def _floor(prices: PriceVector) -> PriceVector:
    def low(key: Key, price: Price) -> Price:
        least = Fraction(0)
        if not isinstance(key, Succession):  # whose ends may change places
            least = min(price.time.low, prices.blocked.get(key, price).time.low)
        return Price(price.region, Interval(least, least, least))

    return replace(
        prices,
        prices={key: low(key, price) for key, price in prices.prices.items()},
        caches=NO_CACHES,
        rate=NO_INTERFERENCE,
        blocked={},
    )
