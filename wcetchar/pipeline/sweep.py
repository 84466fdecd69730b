"""Services over parameters and numbers of a profile: every combination, exact.

Each combination of profile numbers is priced once, whatever parameters do; all values of parameters
are evaluated together (``engine.sweep``). Where something goes on with a service that depends on a
swept parameter, it is followed anew for each value of that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from wcetchar import store
from wcetchar.engine import Following, PriceVector, price_vector
from wcetchar.engine.parameter_box import narrowed
from wcetchar.engine.slopes import changes
from wcetchar.engine.sweep import MOST_POINTS, followed_by, sweep
from wcetchar.errors import InputError, Location
from wcetchar.model.characterization import ServiceCharacterization
from wcetchar.model.estimate import OverAllPaths
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.section_map import SectionMap
from wcetchar.model.sweep import Axis, Change, Surface
from wcetchar.model.uncertainty import UncertainCount
from wcetchar.pipeline import estimate
from wcetchar.pipeline.all_paths import PathPrices, box_of, over_all_paths, path_prices_of
from wcetchar.pipeline.sweep_axes import (
    Advance,
    AskedAxis,
    asked_axis,
    refuse_out_of_range,
    refuse_twice,
)
from wcetchar.pipeline.sweep_parts import SurfaceParts
from wcetchar.store.profile_numbers import ProfileNumbers
from wcetchar.store.source import Steps

MOST_COMBINATIONS: Final = 10_000
"""Of profile numbers, times values that are followed anew: some minutes of work."""
_PATHS: Final = (
    "totals are those of the published rows; what holds over all paths beside them, "
    "`wcetchar estimate` says at each point"
)


@dataclass(frozen=True)
class Request:
    """``values``: parameters, before those of the map. ``vary``: ``NAME=VALUES``, the first axis
    first. ``services``: none means all."""

    characterization: str
    profile: str
    section_map: str | None
    vary: tuple[str, ...]
    services: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """``profile``, ``section_map``: their names. ``notes``: what the figures rest on."""

    profile: str
    section_map: str
    axes: tuple[Axis, ...]
    surfaces: tuple[Surface, ...]
    notes: tuple[str, ...]

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        """Of each service, with each axis."""
        return tuple(one for surface in self.surfaces for one in changes(surface, self.axes))


def run(request: Request, advance: Advance | None = None) -> Result:
    """Each selected service at every combination of the axes that it depends on.

    Raises:
        UsageError: an axis is given twice, or its parameter has a value beside.
        InputError: a file, a name or a value cannot be used, with its place; there are too many
            combinations.
    """
    swept = SweptServices(request)
    axes = [swept.axis("--vary", text) for text in request.vary]
    swept.check(axes)
    surfaces = swept.surfaces(axes, advance)
    plain = tuple(asked.axis for asked in axes)
    notes = (*([_PATHS] if swept.models else []), *swept.notes(axes))
    return Result(*swept.names, plain, surfaces, notes)


class SweptServices:
    """Services of a characterization, priced on a profile whose numbers are replaced."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self._asked = estimate.Request.on_one(
            request.characterization,
            request.profile,
            request.section_map,
            request.services,
            request.values,
        )
        whole = store.load_characterization(request.characterization)
        self.services = estimate.chosen_services(self._asked, whole)
        names = {service.name for service in self.services}
        self.models = {model.service: model for model in whole.paths if model.service in names}
        self.characterization = replace(whole, paths=())
        self._with_models = replace(whole, paths=tuple(self.models.values()))
        self.numbers = ProfileNumbers(request.profile)
        self._map: SectionMap | None = None
        self._priced: dict[tuple[tuple[Steps, str], ...], PriceVector] = {}
        self._paths_priced: dict[tuple[tuple[Steps, str], ...], PathPrices] = {}

    @property
    def names(self) -> tuple[str, str]:
        return self.numbers.with_values({}).name, self.map.name

    @property
    def map(self) -> SectionMap:
        if self._map is None:
            profile = self.numbers.with_values({})
            file = self.request.section_map
            self._map = estimate.map_of(profile, self.request.profile, file)
        return self._map

    def axis(self, option: str, text: str) -> AskedAxis:
        known = {p.name for service in self.services for p in service.parameters}
        for service in self.services:
            known |= followed_by(self.characterization, service, cached=True)
        return asked_axis(option, text, known, self.numbers)

    def check(self, axes: Sequence[AskedAxis]) -> None:
        """Everything that can be said before anything is priced, but for the profile's numbers."""
        refuse_twice(axes, self.request.values)
        refuse_out_of_range(axes, self.services)
        first = {a.axis.name: int(a.axis.numbers[0]) for a in axes if a.steps is None}
        asked = replace(self._asked, values={**self.request.values, **first})
        estimate.refuse_strangers(asked, self.services, self.characterization)
        place = dict.fromkeys((a.axis.name for a in axes), 0)
        profile = self._variant(axes, place)
        platform = estimate.platform_of(
            asked,
            self.characterization,
            self.services,
            self.request.profile,
            self.request.section_map,
            profile=profile,
        )
        numbers = {s.name: n for n, s in enumerate(self.characterization.services)}
        swept = {a.axis.name for a in axes}
        off = {name: count for name, count in self._off.items() if name not in swept}
        for service in self.services:
            try:
                narrowed(service, off)
            except InputError as error:
                files = self.request.profile, self.request.section_map
                raise estimate.located(error, *files, asked, numbers[service.name]) from None
        try:
            estimate.check_all_values(
                asked, [(service, numbers[service.name], platform) for service in self.services]
            )
        except InputError as error:
            for one in error.each:
                hint = one.hint or ""
                one.hint = hint.replace("--maximum for the largest total", "--vary it") or None
            raise

    def surfaces(
        self, axes: Sequence[AskedAxis], advance: Advance | None = None
    ) -> tuple[Surface, ...]:
        """Of each service, in columns."""
        made = [
            SurfaceParts(service, self._depends(service, axes), axes) for service in self.services
        ]
        self._refuse_too_many(axes, made)
        of_profile = [a for a in axes if a.steps is not None]
        total = math.prod(len(a.axis.numbers) for a in of_profile)
        places = itertools.product(*(range(len(a.axis.numbers)) for a in of_profile))
        for done, each in enumerate(places):
            place = {a.axis.name: k for a, k in zip(of_profile, each, strict=True)}
            prices = self._prices(axes, place)
            following: dict[tuple[tuple[str, int], ...], Following] = {}
            for one in made:
                for at, grid in one.grids(place, self._given(one.service), self._off):
                    key = tuple((name, value) for name, value in at.items())
                    if key not in following:
                        known = {**self.map.parameters, **self.request.values, **at}
                        following[key] = Following(self.characterization, prices, known)
                    try:
                        found = sweep(grid, prices, following[key])
                    except InputError as error:
                        raise self._located(error, axes, place) from None
                    one.take(place, at, found)
            if advance is not None:
                advance(done + 1, total)
        return tuple(one.surface() for one in made)

    def over_all_paths(
        self, service: ServiceCharacterization, axes: Sequence[AskedAxis], place: Mapping[str, int]
    ) -> OverAllPaths | None:
        """At one point: ``place`` has the number of the value of each axis. ``None``: there is no
        path model.

        Raises:
            InputError: the profile cannot be used with these numbers, or a formula fails.
        """
        model = self.models.get(service.name)
        if model is None:
            return None
        at = {a.axis.name: int(a.axis.numbers[place[a.axis.name]]) for a in axes if not a.steps}
        given = {**self.map.parameters, **self.request.values, **at}
        values = {p.name: given.get(p.name, p.minimum) for p in service.parameters}
        box = box_of(service, values, given, self._off)
        return over_all_paths(model, self.path_prices(axes, place), box, stretches=False)

    def path_prices(self, axes: Sequence[AskedAxis], place: Mapping[str, int]) -> PathPrices:
        """Of all path models, with the numbers of the profile that ``place`` says."""
        key = tuple(_texts(axes, place).items())
        if key not in self._paths_priced:
            profile = self._variant(axes, place)
            asked = self._with_models, self.services, profile, self.map
            try:
                prices = path_prices_of(*asked)
            except InputError as error:
                raise self._located(error, axes, place) from None
            if len(self._paths_priced) >= _KEPT:
                self._paths_priced.pop(next(iter(self._paths_priced)))
            self._paths_priced[key] = prices
        return self._paths_priced[key]

    def notes(self, axes: Sequence[AskedAxis]) -> tuple[str, ...]:
        """Of the services, and of the prices at the first value of each axis."""
        prices = self._prices(axes, {a.axis.name: 0 for a in axes if a.steps is not None})
        own = [f"{s.name}: {note}" for s in self.services for note in s.notes]
        used = {p.name for s in self.services for p in s.parameters}
        used -= {a.axis.name for a in axes}
        own += [
            f"{name} may be off: the dearest of {count.low} to {count.high}"
            for name, count in self._off.items()
            if name in used
        ]
        return tuple(dict.fromkeys((*own, *prices.notes)))

    @property
    def _off(self) -> Mapping[str, UncertainCount]:
        """Values of the map that may be off."""
        given = self.request.values
        return {n: c for n, c in self.map.uncertain.items() if n not in given}

    def _given(self, service: ServiceCharacterization) -> dict[str, int]:
        given = {**self.map.parameters, **self.request.values}
        return {p.name: given[p.name] for p in service.parameters if p.name in given}

    def _depends(
        self, service: ServiceCharacterization, axes: Sequence[AskedAxis]
    ) -> frozenset[str]:
        """Swept parameters that what goes on with the service depends on."""
        swept = {a.axis.name for a in axes if a.steps is None}
        return followed_by(self.characterization, service, cached=True) & swept

    def _refuse_too_many(self, axes: Sequence[AskedAxis], made: Sequence[SurfaceParts]) -> None:
        priced = math.prod(len(a.axis.numbers) for a in axes if a.steps is not None)
        followed = {name for one in made for name in one.followed}
        anew = math.prod(len(a.axis.numbers) for a in axes if a.axis.name in followed)
        if priced * anew > MOST_COMBINATIONS:
            beside = f" and {anew:,} of {', '.join(sorted(followed))}, which others that go on "
            raise InputError(
                f"{priced:,} combinations of numbers of the profile"
                + (f"{beside}with the services depend on," if anew > 1 else "")
                + " are too many to price",
                where=Location("--vary"),
                expected=f"{MOST_COMBINATIONS:,} at most",
                hint="`/COUNT` behind a range takes so many values of it",
            )
        points = sum(one.points for one in made)
        if points > MOST_POINTS:
            raise InputError(
                f"{points:,} points are too many",
                where=Location("--vary"),
                expected=f"{MOST_POINTS:,} at most, of all services together",
                hint="fewer values, or --service for some of the services",
            )

    def _variant(self, axes: Sequence[AskedAxis], place: Mapping[str, int]) -> HardwareProfile:
        try:
            return self.numbers.with_values(_texts(axes, place))
        except InputError as error:
            raise self._located(error, axes, place) from None

    def _prices(self, axes: Sequence[AskedAxis], place: Mapping[str, int]) -> PriceVector:
        key = tuple(_texts(axes, place).items())
        if key not in self._priced:
            profile = self._variant(axes, place)
            names = [service.name for service in self.services]
            try:
                prices = price_vector(self.characterization, profile, self.map, names)
            except InputError as error:
                raise self._located(error, axes, place) from None
            if len(self._priced) >= _KEPT:
                self._priced.pop(next(iter(self._priced)))
            self._priced[key] = prices
        return self._priced[key]

    def _located(
        self, error: InputError, axes: Sequence[AskedAxis], place: Mapping[str, int]
    ) -> InputError:
        """With the numbers that it is about."""
        option = next((a.option for a in axes if a.axis.name in place), "--vary")
        for one in error.each:
            if one.where is None and type(one) is InputError:
                one.where = Location(option)
        error = estimate.located(
            error, self.request.profile, self.request.section_map, self._asked, None
        )
        at = ", ".join(
            f"{a.axis.name} = {a.text(place[a.axis.name])}"
            for a in axes
            if a.steps is not None and a.axis.name in place
        )
        for one in error.each:
            one.message = f"at {at}: {one.message}" if at else one.message
        return error


_KEPT: Final = 64
"""Price vectors that may be asked for again."""


def _texts(axes: Sequence[AskedAxis], place: Mapping[str, int]) -> dict[Steps, str]:
    """Numbers of the profile, as a file says them."""
    return {a.steps: a.text(place[a.axis.name]) for a in axes if a.steps is not None}
