"""Estimate services: three parties' files in, priced services out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from wcetchar import store
from wcetchar.engine import (
    PriceVector,
    PricingError,
    estimate_at,
    price_vector,
    service_named,
    worst_parameters,
)
from wcetchar.engine.counts import values_of
from wcetchar.errors import InputError, InputErrors, Location, UsageError
from wcetchar.model.characterization import Characterization, ServiceCharacterization
from wcetchar.model.estimate import Estimate
from wcetchar.model.section_map import SectionMap


@dataclass(frozen=True)
class Request:
    """What to estimate. Files are given by path or by the name of a shipped one.

    Attributes:
        maps: none (each profile's own default map), one for all profiles, or one for each.
        services: by name; empty means all.
        values: parameter values, before those of the map.
        maximum: search the range of parameters that neither gives for the largest total.
    """

    characterization: str
    profiles: tuple[str, ...]
    maps: tuple[str, ...] = ()
    services: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)
    maximum: bool = False


@dataclass(frozen=True)
class _Platform:
    """A profile with its map; ``map_file`` is ``None`` for the profile's default map."""

    profile_file: str
    map_file: str | None
    section_map: SectionMap
    prices: PriceVector


def run(request: Request) -> tuple[Estimate, ...]:
    """Every service on every profile: service by service, profiles in the order given.

    Raises:
        UsageError: profiles and maps do not pair.
        InputError: a file, a name or a value that cannot be used, with its place.
    """
    pairs = _pairs(request)
    characterization = store.load_characterization(request.characterization)
    names = request.services or tuple(s.name for s in characterization.services)
    services = [service_named(characterization, name) for name in dict.fromkeys(names)]
    _refuse_strangers(request, services)
    platforms = [_platform(request, characterization, services, *pair) for pair in pairs]
    return tuple(
        _estimate(request, service, platform) for service in services for platform in platforms
    )


def _pairs(request: Request) -> list[tuple[str, str | None]]:
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


def _refuse_strangers(request: Request, services: list[ServiceCharacterization]) -> None:
    known = {parameter.name for service in services for parameter in service.parameters}
    for name in request.values:
        if name not in known:
            raise InputError(
                f"no selected service has a parameter {name}",
                expected=f"one of {', '.join(sorted(known))}" if known else "no --set at all",
                where=Location("--set"),
            )


def _platform(
    request: Request,
    characterization: Characterization,
    services: list[ServiceCharacterization],
    profile_file: str,
    map_file: str | None,
) -> _Platform:
    profile = store.load_profile(profile_file)
    if map_file is not None:
        section_map = store.load_map(map_file)
    elif profile.default_map:
        section_map = SectionMap(f"default of {profile.name}", {})
    else:
        raise UsageError(
            f"profile {profile.name} has no default map", hint="--map FILE says what lies where"
        )
    try:
        prices = price_vector(
            characterization, profile, section_map, [service.name for service in services]
        )
    except InputError as error:
        raise _located(error, profile_file, map_file, request) from None
    return _Platform(profile_file, map_file, section_map, prices)


def _estimate(request: Request, service: ServiceCharacterization, platform: _Platform) -> Estimate:
    names = [parameter.name for parameter in service.parameters]
    given = {**platform.section_map.parameters, **request.values}
    values = {name: given[name] for name in names if name in given}
    searched = [name for name in names if name not in given] if request.maximum else []
    try:
        if searched:
            values = worst_parameters(service, platform.prices, values)
        estimate = estimate_at(service, platform.prices, values_of(service, values))
    except InputError as error:
        raise _located(error, platform.profile_file, platform.map_file, request) from None
    if not searched:
        return estimate
    note = f"largest total over the whole range of {', '.join(searched)}"
    return replace(estimate, notes=(*estimate.notes, note))


def _located(
    error: InputError,
    profile_file: str,
    map_file: str | None,
    request: Request,
) -> InputError:
    """The same error with the place in the file whose value it is about."""
    for one in error.errors if isinstance(error, InputErrors) else (error,):
        if not isinstance(one, PricingError) or one.where is not None:
            continue
        if one.file == "parameters" and one.keys[0] in request.values:
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
            one.where = store.locate(request.characterization, "services")
    if isinstance(error, InputErrors):
        return InputErrors(list(error.errors))  # in the order of the file, now that it is known
    return error
