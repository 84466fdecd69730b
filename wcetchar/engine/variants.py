"""A hardware profile with other numbers, priced: by what else it is asked for, and only then."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from wcetchar.engine.chains import Following
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.pricing import price_vector
from wcetchar.engine.profile_inputs import ProfileInput, with_inputs
from wcetchar.model.characterization import Characterization
from wcetchar.model.hardware import HardwareProfile, Quantity
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
    """The profile with some numbers."""

    def __init__(self, of: Priced, change: Change) -> None:
        self._of = of
        self._change = change
        self._following: dict[tuple[tuple[str, int], ...], Following] = {}

    @cached_property
    def profile(self) -> HardwareProfile:
        return with_inputs(self._of.profile, self._change)

    @cached_property
    def prices(self) -> PriceVector:
        return self._of_services()

    @cached_property
    def path_prices(self) -> PriceVector:
        """Of the path models of the services.

        Raises:
            NoSoundBound: the profile prices what they do not count.
        """
        return self._of_paths()

    def following(self, values: Iterable[tuple[str, int]]) -> Following:
        """What may follow stretches, at these values of parameters that may be off."""
        key = tuple(values)
        if key not in self._following:
            known = {**self._of.values, **dict(key)}
            self._following[key] = Following(self._of.characterization, self.prices, known)
        return self._following[key]

    def _of_services(self) -> PriceVector:
        of = self._of
        return price_vector(of.characterization, self.profile, of.section_map, of.services)

    def _of_paths(self) -> PriceVector:
        # Only here, so that a table is priced where no solver is installed.
        from wcetchar.engine.path_prices import path_prices

        of = self._of
        models = [model for model in of.characterization.paths if model.service in of.services]
        return path_prices(of.characterization, self.profile, of.section_map, models)
