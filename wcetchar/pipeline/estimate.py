"""Estimate services: three parties' files in, priced services out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from wcetchar import store
from wcetchar.engine import (
    Following,
    PriceVector,
    PricingError,
    estimate_given,
    price_vector,
    service_named,
)
from wcetchar.engine.counts import check_values
from wcetchar.engine.parameter_box import narrowed
from wcetchar.engine.pricing import can_follow, leads_on
from wcetchar.errors import InputError, InputErrors, Location, UsageError, did_you_mean, few
from wcetchar.model.characterization import (
    Characterization,
    ServiceCharacterization,
    StretchKind,
)
from wcetchar.model.estimate import Estimate
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.path_model import PathModel
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import is_of, whole_of
from wcetchar.model.uncertainty import UncertainCount, Uncertainties
from wcetchar.pipeline.all_paths import PathPrices, box_of, over_all_paths, path_prices_of

if TYPE_CHECKING:
    from wcetchar.engine.sensitivity import Sensitivity


@dataclass(frozen=True)
class Request:
    """What to estimate. Files are given by path or by the name of a shipped one.

    Attributes:
        maps: none (each profile's own default map), one for all profiles, or one for each.
        services: by name; empty means all.
        values: parameter values, before those of the map.
        maximum: search the range of parameters that neither gives for the largest total.
        uncertainty: say how far each figure hangs on each number that may be off; figures are the
            largest of all values that it can have, with or without.
    """

    characterization: str
    profiles: tuple[str, ...]
    maps: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)
    maximum: bool = False
    uncertainty: bool = False

    @classmethod
    def on_one(
        cls,
        characterization: str,
        profile: str,
        section_map: str | None,
        services: tuple[str, ...],
        values: Mapping[str, int],
        maximum: bool = False,
    ) -> Request:
        """On one profile. ``section_map``: ``None``: the profile's own."""
        maps = () if section_map is None else (section_map,)
        return cls(characterization, (profile,), maps, services, values, maximum)


@dataclass(frozen=True)
class Platform:
    """A profile with its map; ``map_file`` is ``None`` for the profile's default map.
    ``uncertain``: parameters that may be off; ``sensitivity``: where it is asked for."""

    profile_file: str
    map_file: str | None
    section_map: SectionMap
    prices: PriceVector
    following: Following | None
    path_prices: PathPrices = None
    uncertain: Mapping[str, UncertainCount] = field(default_factory=dict)
    sensitivity: Sensitivity | None = None


@dataclass(frozen=True)
class Prepared:
    """What is priced: each service with its number in the characterization and where; ``known``:
    the parameters of all services."""

    characterization: Characterization
    chosen: list[tuple[ServiceCharacterization, int, Platform]]
    known: set[str]


def run(
    request: Request, progress: Callable[[int, int], None] | None = None
) -> tuple[Estimate, ...]:
    """Every service on every profile: service by service, profiles in the order given.

    ``progress`` is told how many of how many estimates are done.

    Raises:
        UsageError: profiles and maps do not pair.
        InputError: a file, a name or a value that cannot be used, with its place.
    """
    prepared = prepare(request, store.load_characterization(request.characterization))
    return estimates_of(request, prepared, progress)


def estimates_of(
    request: Request, prepared: Prepared, progress: Callable[[int, int], None] | None = None
) -> tuple[Estimate, ...]:
    """Of what was prepared for the same request, in its order. ``progress``: as of ``run``.

    Raises:
        InputError: as of ``run``.
    """
    models = {model.service: model for model in prepared.characterization.paths}
    found: list[Estimate] = []
    for one in prepared.chosen:
        if progress is not None:
            progress(len(found), len(prepared.chosen))
        found.append(_with_paths(request, *one, prepared.known, models.get(one[0].name)))
    return tuple(found)


def prepare(request: Request, characterization: Characterization) -> Prepared:
    """What is asked for and where, with every value that it needs.

    Raises:
        UsageError, InputError: as of ``run``.
    """
    pairs = pairs_of(request)
    services = chosen_services(request, characterization)
    refuse_strangers(request, services, characterization)
    platforms = [platform_of(request, characterization, services, *pair) for pair in pairs]
    numbers = {service.name: n for n, service in enumerate(characterization.services)}
    chosen = [
        (service, numbers[service.name], platform) for service in services for platform in platforms
    ]
    check_all_values(request, chosen)
    known = {p.name for service in characterization.services for p in service.parameters}
    return Prepared(characterization, chosen, known)


def estimates_on(
    request: Request, prepared: Prepared, change: Callable[[HardwareProfile], HardwareProfile]
) -> tuple[Estimate, ...]:
    """As ``run``, on the same hardware in another situation; what is held off over all paths is not
    told.

    Raises:
        InputError: the profile cannot be used there, with its place.
    """
    services = [service for service, _, _ in prepared.chosen]
    models = {model.service: model for model in prepared.characterization.paths}
    known: dict[int, Platform] = {}
    found: list[Estimate] = []
    for service, number, platform in prepared.chosen:
        if id(platform) not in known:
            profile = change(platform.prices.profile)
            known[id(platform)] = _changed(request, prepared, services, platform, profile)
        there, model = known[id(platform)], models.get(service.name)
        found.append(
            _with_paths(request, service, number, there, prepared.known, model, stretches=False)
        )
    return tuple(found)


def _changed(
    request: Request,
    prepared: Prepared,
    services: list[ServiceCharacterization],
    platform: Platform,
    profile: HardwareProfile,
) -> Platform:
    characterization, section_map = prepared.characterization, platform.section_map
    names = [service.name for service in services]
    try:
        return replace(
            platform,
            prices=price_vector(characterization, profile, section_map, names),
            following=None,
            path_prices=path_prices_of(characterization, services, profile, section_map),
        )
    except InputError as error:
        files = platform.profile_file, platform.map_file
        raise located(error, *files, request, None) from None


class Opened:
    """A characterization on one hardware, whose services are priced at one set of values after the
    other."""

    def __init__(
        self,
        request: Request,
        characterization: Characterization,
        profile: HardwareProfile | None = None,
    ) -> None:
        """``request.values``: where nothing else is said; of parameters that a service may lack.
        ``characterization``: of the request's file; ``profile``: its profile with other numbers.

        Raises:
            InputError: as of :func:`run`, but for values.
        """
        (pair,) = pairs_of(request)
        self._request = request
        self._characterization = characterization
        names = {service.name for service in self._characterization.services}
        wanted = tuple(name for name in request.services if any(is_of(one, name) for one in names))
        services = chosen_services(replace(request, services=wanted), self._characterization)
        self._platform = platform_of(
            request, self._characterization, services, *pair, profile=profile
        )
        self._numbers = {s.name: n for n, s in enumerate(self._characterization.services)}
        self._known = {p.name for s in self._characterization.services for p in s.parameters}
        self._models = {model.service: model for model in self._characterization.paths}

    @property
    def profile(self) -> HardwareProfile:
        return self._platform.prices.profile

    def at(self, service: str, values: Mapping[str, int]) -> tuple[Estimate, ...]:
        """Estimates of a service, or of all parts of it, at these values and the request's.

        Raises:
            InputError: there is no such service or parameter, or a value is missing or out of
                range.
        """
        asked = replace(self._request, services=(service,), values=values)
        parts = chosen_services(asked, self._characterization)
        refuse_strangers(asked, parts, self._characterization)
        having = {parameter.name for part in parts for parameter in part.parameters}
        common = {n: v for n, v in self._request.values.items() if n in having}
        asked = replace(asked, values={**common, **values})
        chosen = [(part, self._numbers[part.name], self._platform) for part in parts]
        check_all_values(asked, chosen)
        return tuple(
            _with_paths(asked, *one, self._known, self._models.get(one[0].name)) for one in chosen
        )


def _with_paths(
    request: Request,
    service: ServiceCharacterization,
    number: int,
    platform: Platform,
    known: set[str],
    model: PathModel | None,
    stretches: bool = True,
) -> Estimate:
    """As ``_estimate``, and over all paths, of whatever case, and with whatever values where they
    are searched for."""
    found = _estimate(request, service, number, platform, known)
    given = {**platform.section_map.parameters, **request.values}
    uncertain = _off(request, platform)
    box = box_of(service, found.parameters, given, uncertain, request.maximum)
    over = over_all_paths(model, platform.path_prices, box, found.parameters, stretches)
    uncertainty, bounded = found.uncertainty, over is not None and over.time is not None
    if uncertainty and platform.sensitivity and model and over and bounded:
        of_paths = platform.sensitivity.of_paths(model, found, uncertain, over)
        uncertainty = replace(uncertainty, paths=of_paths)
    return replace(found, over_all_paths=over, uncertainty=uncertainty)


def chosen_services(
    request: Request, characterization: Characterization
) -> list[ServiceCharacterization]:
    """Those that the request names, all if it names none.

    Raises:
        InputError: one that is not there; a characterization without services.
    """
    if not characterization.services:
        raise InputError(
            "there is no service in this characterization",
            where=store.locate(request.characterization, "services"),
            expected="at least one",
            hint="characterize again, with traces that show services",
        )
    if not request.services:
        return list(characterization.services)
    parts: dict[str, list[str]] = {}
    for service in characterization.services:
        parts.setdefault(whole_of(service.name), []).append(service.name)
    # The name of a call that another thread cuts stands for all of its parts.
    names = [name for asked in request.services for name in parts.get(asked, [asked])]
    try:
        return [service_named(characterization, n) for n in dict.fromkeys(names)]
    except InputError as error:
        error.where = error.where or Location("--service")
        raise


def check_all_values(
    request: Request, chosen: list[tuple[ServiceCharacterization, int, Platform]]
) -> None:
    """Every parameter that has no value, or one out of range, at once."""
    problems: dict[str, InputError] = {}
    missing: dict[str, list[tuple[str, PricingError]]] = {}
    seen: set[tuple[int, str | None]] = set()
    for service, number, platform in chosen:
        values = _given(request, service, platform)
        if request.maximum or (number, platform.map_file) in seen:
            continue  # the search checks those that are given
        seen.add((number, platform.map_file))
        try:
            check_values(service, values)
        except InputError as error:
            _place_in_parameters(error, platform)
            error = located(error, platform.profile_file, platform.map_file, request, number)
            found = error.each
            for one in found:
                if isinstance(one, PricingError) and one.file == "nothing":
                    missing.setdefault(str(one.keys[0]), []).append((service.name, one))
                else:
                    problems[str(one)] = one
    for name, needed in missing.items():
        problems[name] = _missing(name, dict(needed))
    if len(problems) > 1:
        raise InputErrors(list(problems.values()))
    for one in problems.values():
        raise one


def _place_in_parameters(error: InputError, platform: Platform) -> None:
    """A value that a map of some values leaves out is missing there."""
    given = {**platform.section_map.parameters, **platform.section_map.uncertain}
    if platform.map_file is None or not given:
        return
    for one in error.each:
        if isinstance(one, PricingError) and one.file == "nothing":
            one.where = store.locate(platform.map_file, "parameters", *one.keys)


_NAMED = 4
"""Services that an error names at most."""


def _missing(name: str, needed: Mapping[str, InputError]) -> InputError:
    """One error for a parameter that nobody gave a value; ``needed``: service -> its own error."""
    (service, error), *others = needed.items()
    if not others:
        return error
    services = [service, *(other for other, _ in others)]
    ranges = dict.fromkeys(one.expected for one in needed.values())
    return InputError(
        f"{len(services)} services need a value for {name}: {few(services, _NAMED)}",
        where=error.where,
        expected=error.expected if len(ranges) == 1 else "a value in the range of each",
        hint=error.hint,
    )


def _given(
    request: Request, service: ServiceCharacterization, platform: Platform
) -> dict[str, int]:
    """Values that the options and the map give; nominal ones, where they may be off."""
    off = {name: count.nominal for name, count in platform.uncertain.items()}
    given = {**platform.section_map.parameters, **off, **request.values}
    return {p.name: given[p.name] for p in service.parameters if p.name in given}


def pairs_of(request: Request) -> list[tuple[str, str | None]]:
    profiles, maps = request.profiles, request.maps
    if not profiles:
        raise UsageError("no hardware profile", hint="--profile NAME or --profile FILE")
    if len(maps) not in (0, 1, len(profiles)):
        raise UsageError(
            f"{len(maps)} section maps for {len(profiles)} profiles",
            expected="no map, one map for all profiles, or one for each in the same order",
        )
    if not maps:
        return [(profile, None) for profile in profiles]
    paired = maps * len(profiles) if len(maps) == 1 else maps
    return list(zip(profiles, paired, strict=True))


def refuse_strangers(
    request: Request,
    services: list[ServiceCharacterization],
    characterization: Characterization,
) -> None:
    known = parameters_that_count(services, characterization)
    for name in request.values:
        if name not in known:
            raise InputError(
                f"no selected service has a parameter {name}",
                expected=f"one of {', '.join(sorted(known))}" if known else "no --set at all",
                hint=did_you_mean(name, known),
                where=Location("--set"),
            )


def parameters_that_count(
    services: list[ServiceCharacterization], characterization: Characterization
) -> set[str]:
    """Names of parameters that figures of these services hang on."""
    having = list(services)
    if any(leads_on(stretch) for service in services for stretch in service.stretches):
        # Of what goes on with what they block, parameters count as well.
        having += [s for s in characterization.services if any(map(can_follow, s.stretches))]
    return {parameter.name for service in having for parameter in service.parameters}


def map_of(profile: HardwareProfile, profile_file: str, map_file: str | None) -> SectionMap:
    """The map of a profile; ``map_file``: ``None``: its own default map.

    Raises:
        UsageError: it has none.
        InputError: the file cannot be used.
    """
    if map_file is not None:
        return store.load_map(map_file)
    if profile.default_map:
        return SectionMap(f"default of {profile.name}", {})
    shipped = store.maps_of(profile_file)
    raise UsageError(
        f"profile {profile.name} has no default map",
        hint="--map FILE says what lies where"
        + (f"; for the shipped firmware: --map {' or '.join(shipped)}" if shipped else ""),
    )


def platform_of(
    request: Request,
    characterization: Characterization,
    services: list[ServiceCharacterization],
    profile_file: str,
    map_file: str | None,
    values: Mapping[str, int] | None = None,
    profile: HardwareProfile | None = None,
) -> Platform:
    """``values``: those of parameters of what goes on with what the services block; ``None``: as
    for the services themselves. ``profile``: of that file, read already."""
    profile = profile or store.load_profile(profile_file)
    section_map = map_of(profile, profile_file, map_file)
    try:
        prices = price_vector(
            characterization, profile, section_map, [service.name for service in services]
        )
    except InputError as error:
        raise located(error, profile_file, map_file, request, None) from None
    uncertain = {n: c for n, c in section_map.uncertain.items() if n not in request.values}
    sensitivity = None
    if request.uncertainty:
        from wcetchar.engine.sensitivity import Sensitivity

        names = [service.name for service in services]
        at = {**section_map.parameters, **request.values}
        sensitivity = Sensitivity(characterization, names, profile, section_map, at)
    known: Mapping[str, int | range]
    if values is None:
        off = {name: range(count.low, count.high + 1) for name, count in uncertain.items()}
        known = {**section_map.parameters, **off, **request.values}
    else:
        known = values
    return Platform(
        profile_file,
        map_file,
        section_map,
        prices,
        Following(characterization, prices, known),
        path_prices_of(characterization, services, profile, section_map),
        uncertain,
        sensitivity,
    )


def refuse_values_off(request: Request, platform: Platform) -> None:
    """Of what shows single values, and does not look for the dearest of several.

    Raises:
        InputError: the map says of some that they may be off.
    """
    names = sorted(_off(request, platform))
    if names:
        file = platform.map_file
        raise InputError(
            f"section map {platform.section_map.name} says of {', '.join(names)} that they may be "
            "off",
            where=None if file is None else store.locate(file, "parameters"),
            expected="values without errors: one path is shown, at one value of each",
            hint=" ".join(f"--set {name}=VALUE" for name in names),
        )


def _off(request: Request, platform: Platform) -> dict[str, UncertainCount]:
    """What may be off, but for what the request says."""
    return {n: c for n, c in platform.uncertain.items() if n not in request.values}


def _estimate(
    request: Request,
    service: ServiceCharacterization,
    number: int,
    platform: Platform,
    known: set[str],
) -> Estimate:
    """``number``: of the service in the characterization; ``known``: the parameters of all its
    services."""
    values = _given(request, service, platform)
    uncertain = _off(request, platform)
    fixed = {name: value for name, value in values.items() if name not in uncertain}
    searched = request.maximum or len(fixed) < len(values)
    try:
        within = narrowed(service, uncertain)
        estimate = estimate_given(within, platform.prices, fixed, platform.following, searched)
        if platform.sensitivity is not None:
            of_total = platform.sensitivity.of(service, estimate, uncertain)
            of_blocking = [
                platform.sensitivity.of_blocking(service, estimate, uncertain, kind)
                for kind in (StretchKind.INTERRUPTS, StretchKind.PREEMPTION)
            ]
            estimate = replace(estimate, uncertainty=Uncertainties(of_total, *of_blocking))
    except InputError as error:
        raise located(error, platform.profile_file, platform.map_file, request, number) from None
    notes = list(estimate.notes)
    given = [*platform.section_map.parameters, *platform.section_map.uncertain]
    strange = [name for name in given if name not in known]
    if strange:
        notes.append(
            f"section map {platform.section_map.name} gives {', '.join(strange)}, which no service "
            "of this characterization has"
        )
    return replace(estimate, notes=tuple(notes))


def located(
    error: InputError,
    profile_file: str,
    map_file: str | None,
    request: Request,
    number: int | None,
) -> InputError:
    """The same error with the place in the file whose value it is about; ``number`` is that of
    the service in the characterization."""
    for one in error.each:
        if one.where is not None:
            continue
        if not isinstance(one, PricingError):  # The counts themselves do not hold.
            one.where = _place_of(request, number)
        elif one.file == "parameters" and one.keys[0] in request.values:
            one.where = Location("--set")
        elif one.file == "parameters" and map_file is not None:
            one.where = store.locate(map_file, "parameters", *one.keys)
        elif one.file == "map" and map_file is not None:
            one.where = store.locate(map_file, *one.keys)
        elif one.file == "profile":
            one.where = store.locate(profile_file, *one.keys)
        elif one.file == "map":
            one.where = store.locate(profile_file, "default_map")
        else:  # A parameter that nobody gave a value: the characterization asks for it.
            one.where = _place_of(request, number)
    if isinstance(error, InputErrors):
        return InputErrors(list(error.errors))  # in the order of the file, now that it is known
    return error


def _place_of(request: Request, number: int | None) -> Location:
    """Place of a service in the characterization."""
    steps = () if number is None else (number,)
    return store.locate(request.characterization, "services", *steps)
