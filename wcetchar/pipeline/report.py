"""Datasheets: a kernel's services on hardware, in rows that every form of it is made from."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from wcetchar import store
from wcetchar.engine import PriceVector
from wcetchar.errors import InputError, Location, NoSoundBound, UsageError, one_line
from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import Characterization, ServiceCharacterization
from wcetchar.model.service import is_of
from wcetchar.pipeline import estimate as estimating
from wcetchar.pipeline import evaluator, worst_paths
from wcetchar.pipeline.compare import labels_of
from wcetchar.pipeline.estimate import Platform, Prepared
from wcetchar.report.datasheet import (
    Datasheet,
    Hardware,
    Priced,
    Side,
    hardware_of,
    priced_of,
    service_of,
    side_of,
)
from wcetchar.report.paths_view import PathRows, rows_of

Advance = Callable[[int, int], None]


@dataclass(frozen=True)
class Request:
    """What to show. Files are given by path or by the name of a shipped one.

    Attributes:
        profiles, maps: as of an estimate; none: nothing is priced.
        against: another characterization; ``None``: none.
        services: by name; empty means all.
        values: of parameters, before those of the maps. What neither gives has the values with the
            largest total.
        graphs: flow graphs, where there are path models.
        evaluators: what a page works out other figures with.
    """

    characterization: str
    profiles: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    against: str | None = None
    services: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)
    graphs: bool = True
    evaluators: bool = True


@dataclass(frozen=True)
class Result:
    """``evaluators``: documents, by characterization and hardware ("0-1")."""

    sheet: Datasheet
    evaluators: Mapping[str, Mapping[str, Any]]


def run(request: Request, progress: Advance | None = None) -> Result:
    """The rows of a datasheet.

    Args:
        progress: called with how many services are done, and of how many.

    Raises:
        UsageError: profiles and maps do not pair, or there are maps without profiles.
        InputError: a file, a name or a value that cannot be used, with its place.
    """
    if request.maps and not request.profiles:
        raise UsageError("a section map without a profile", hint="--profile NAME or FILE")
    files = [request.characterization, *([] if request.against is None else [request.against])]
    found = [store.load_characterization(file) for file in files]
    labels = labels_of(files) if len(files) > 1 else tuple(files)
    asked = [_asked(request, file, one, found) for file, one in zip(files, found, strict=True)]
    opened = [_Sheet(one, c) for one, c in zip(asked, found, strict=True)]
    sides = []
    for one, label, graphs in zip(opened, labels, (request.graphs, False), strict=False):
        sides.append(one.side(label, graphs, progress))
    sheet = Datasheet(sides[0], opened[0].hardware(), *sides[1:])
    live = request.evaluators and bool(request.profiles)
    return Result(sheet, dict(_evaluators(asked, found)) if live else {})


def _evaluators(
    asked: Sequence[estimating.Request], found: Sequence[Characterization]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """By characterization and hardware ("0-1").

    Raises:
        UsageError, InputError: as of :func:`run`.
    """
    for side, (of_side, characterization) in enumerate(zip(asked, found, strict=True)):
        chosen = estimating.chosen_services(of_side, characterization)
        names = tuple(service.name for service in chosen)
        for number, pair in enumerate(estimating.pairs_of(of_side)):
            one = evaluator.Request(of_side.characterization, *pair, names)
            yield f"{side}-{number}", evaluator.document_of(one, characterization)


def _asked(
    request: Request, file: str, mine: Characterization, found: Sequence[Characterization]
) -> estimating.Request:
    """Of one characterization of all: what it has of the services and parameters that are asked
    for.

    Raises:
        InputError: none has one of them.
    """
    services, values = request.services, request.values
    if len(found) > 1:
        services = tuple(name for name in services if _has_service(mine, name))
        values = {name: value for name, value in values.items() if _has_parameter(mine, name)}
        for name in request.services:
            if not any(_has_service(one, name) for one in found):
                raise InputError(
                    f"no characterization has a service {one_line(name)}",
                    where=Location("--service"),
                    expected="a service of one of them",
                )
        for name in request.values:
            if not any(_has_parameter(one, name) for one in found):
                raise InputError(
                    f"no service has a parameter {one_line(name)}",
                    where=Location("--set"),
                    expected="a parameter of one of the characterizations",
                )
    return estimating.Request(file, request.profiles, request.maps, services, values, maximum=True)


def _has_service(characterization: Characterization, name: str) -> bool:
    return any(is_of(service.name, name) for service in characterization.services)


def _has_parameter(characterization: Characterization, name: str) -> bool:
    return any(p.name == name for s in characterization.services for p in s.parameters)


class _Sheet:
    """A characterization on all hardware that is asked for."""

    def __init__(self, asked: estimating.Request, characterization: Characterization) -> None:
        self._asked, self._characterization = asked, characterization
        self._prepared: Prepared | None = None
        if asked.profiles:
            self._prepared = estimating.prepare(asked, characterization)
            self._services = list(dict.fromkeys(s.name for s, _, _ in self._prepared.chosen))
        else:
            chosen = estimating.chosen_services(asked, characterization)
            estimating.refuse_strangers(asked, chosen, characterization)
            self._services = [service.name for service in chosen]

    def hardware(self) -> tuple[Hardware, ...]:
        platforms = self._platforms()
        labels = _labels(platforms)
        return tuple(
            hardware_of(label, platform.prices.profile, platform.section_map)
            for label, platform in zip(labels, platforms, strict=True)
        )

    def side(self, label: str, graphs: bool, progress: Advance | None) -> Side:
        """
        Raises:
            InputError: a figure cannot be had.
        """
        characterization = self._characterization
        named = {service.name: service for service in characterization.services}
        priced = self._priced(named)
        drawn = self._graphs(progress) if graphs else []
        rows = []
        for name in self._services:
            found = [each.get(name) for each, _ in drawn]
            reasons = [
                "" if name in each else why or "no path model is published" for each, why in drawn
            ]
            rows.append(service_of(named[name], priced.get(name, ()), found, reasons))
        return side_of(label, characterization, rows)

    def _platforms(self) -> list[Platform]:
        chosen = [] if self._prepared is None else self._prepared.chosen
        return list({id(platform): platform for _, _, platform in chosen}.values())

    def _priced(self, named: Mapping[str, ServiceCharacterization]) -> dict[str, list[Priced]]:
        if self._prepared is None:
            return {}
        found: dict[str, list[Priced]] = {}
        estimates = estimating.estimates_of(self._asked, self._prepared)
        for (service, _, platform), estimate in zip(self._prepared.chosen, estimates, strict=True):
            given = {**platform.section_map.parameters, **self._asked.values}
            searched = [p.name for p in service.parameters if p.name not in given]
            asked = self._values_for(service)
            command = self._command(service, platform, asked, searched)
            price = _price(platform.prices)
            found.setdefault(service.name, []).append(
                priced_of(named[service.name], estimate, price, command, searched, asked)
            )
        return found

    def _values_for(self, service: ServiceCharacterization) -> dict[str, int]:
        """Those that were asked for, as far as they count for the service."""
        found = estimating.parameters_that_count([service], self._characterization)
        return {name: value for name, value in self._asked.values.items() if name in found}

    def _command(
        self,
        service: ServiceCharacterization,
        platform: Platform,
        values: Mapping[str, int],
        searched: Sequence[str],
    ) -> str:
        """That prints the same figures."""
        words = ["wcetchar", "estimate", self._asked.characterization]
        words += ["--profile", platform.profile_file]
        words += [] if platform.map_file is None else ["--map", platform.map_file]
        words += ["--service", service.name]
        for name, value in values.items():
            words += ["--set", f"{name}={value}"]
        words += ["--maximum"] * bool(searched)
        return one_line(shlex.join(words))

    def _graphs(self, progress: Advance | None) -> list[tuple[dict[str, PathRows], str]]:
        """Of each hardware, flow graphs by service, and why there are none."""
        models = {model.service for model in self._characterization.paths}
        wanted = tuple(name for name in self._services if name in models)
        platforms = self._platforms()
        if not wanted or not platforms:
            return [({}, "no hardware profile is given" if wanted else "")]
        total = len(wanted) * len(platforms)
        found = []
        for number, platform in enumerate(platforms):
            request = worst_paths.Request(
                self._asked.characterization,
                platform.profile_file,
                platform.map_file,
                wanted,
                self._asked.values,
                maximum=True,
            )
            each: dict[str, PathRows] = {}
            why = ""
            try:
                for done, view in enumerate(worst_paths.run(request), start=1):
                    each[view.service] = rows_of(view)
                    if progress is not None:
                        progress(number * len(wanted) + done, total)
            except (InputError, NoSoundBound) as error:
                each, why = {}, one_line(error.message)
            found.append((each, why))
        return found


def _price(prices: PriceVector) -> Callable[[AccessVector], Fraction] | None:
    """Of a vector; ``None``: it depends on what else is executed."""
    if prices.caches or prices.rate.recurring:
        return None
    return lambda vector: prices.time_of(prices.priced(vector)).high


def _labels(platforms: Sequence[Platform]) -> list[str]:
    """The profiles' names; with the map, where one profile is priced with several."""
    names = [platform.prices.profile.name for platform in platforms]
    if len(set(names)) == len(names):
        return names
    both = [f"{p.prices.profile.name}, map {p.section_map.name}" for p in platforms]
    if len(set(both)) == len(both):
        return both
    return [f"{number}: {name}" for number, name in enumerate(both, start=1)]
