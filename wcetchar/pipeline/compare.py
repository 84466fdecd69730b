"""Characterizations in, verdicts out: versions, configurations or instruction sets side by side."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath

from wcetchar import store
from wcetchar.engine.versus import Side, common_ranges, versus
from wcetchar.errors import InputError, Location, UsageError, did_you_mean
from wcetchar.model.characterization import Characterization, ServiceCharacterization
from wcetchar.model.service import is_of
from wcetchar.model.versus import Hardware, ServiceVersus
from wcetchar.pipeline import estimate as estimating


@dataclass(frozen=True)
class Request:
    """What to compare. Files are given by path or by the name of a shipped one.

    Attributes:
        characterizations: at least two; the first is the base.
        profiles, maps: as of an estimate; each pair is one hardware for all characterizations.
        paired: the pairs are one hardware instead, the n-th for the n-th characterization.
        services: by name, of a whole one that is published in parts too; empty means all.
        values: parameters that have one value; the others go over their range.
    """

    characterizations: tuple[str, ...]
    profiles: tuple[str, ...] = ()
    maps: tuple[str, ...] = ()
    paired: bool = False
    services: tuple[str, ...] = ()
    values: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Result:
    """``labels`` tell the characterizations apart; ``services`` in the order of the first that
    has them."""

    labels: tuple[str, ...]
    characterizations: tuple[Characterization, ...]
    hardware: tuple[Hardware, ...]
    services: tuple[ServiceVersus, ...]


def run(request: Request, progress: Callable[[int, int], None] | None = None) -> Result:
    """Compare.

    Args:
        progress: called with how many services are done, and of how many.

    Raises:
        UsageError: fewer than two characterizations, or profiles and maps that do not pair.
        InputError: a file, a name or a value that cannot be used, with its place.
    """
    if len(request.characterizations) < 2:
        raise UsageError(
            "there is nothing to compare with",
            expected="two characterizations or more; the first is the base",
        )
    pairs = _pairs(request)
    found = [store.load_characterization(path) for path in request.characterizations]
    owners = _owners(request, found)
    _refuse_strangers(request, found)
    platforms = _platforms(request, pairs, found, owners)
    services = []
    for done, (name, sides) in enumerate(owners.items()):
        if progress is not None:
            progress(done, len(owners))
        services.append(_service(name, sides, found, platforms, request.values))
    if progress is not None:
        progress(len(owners), len(owners))
    hardware = []
    for of_each in platforms:
        hardware.append(
            Hardware(
                tuple(p.prices.profile.name if p else "" for p in of_each),
                tuple(p.section_map.name if p else "" for p in of_each),
            )
        )
    return Result(
        labels_of(request.characterizations), tuple(found), tuple(hardware), tuple(services)
    )


def labels_of(paths: Sequence[str]) -> tuple[str, ...]:
    """What tells the paths apart: ``b`` and ``c`` of ``a/b/x.json`` and ``a/c/x.json``."""
    parts = [PurePath(os.path.normpath(path)).with_suffix("").parts for path in paths]
    if len(set(parts)) < len(parts):
        return tuple(f"{number}:{path}" for number, path in enumerate(paths, start=1))
    while len({p[0] for p in parts}) == 1 and min(len(p) for p in parts) > 1:
        parts = [p[1:] for p in parts]
    while len({p[-1] for p in parts}) == 1 and min(len(p) for p in parts) > 1:
        parts = [p[:-1] for p in parts]
    return tuple("/".join(p) for p in parts)


def _pairs(request: Request) -> list[tuple[str, str | None]]:
    if not request.profiles:
        if request.maps:
            raise UsageError("a section map without a profile", hint="--profile NAME or FILE")
        return []
    asked = estimating.Request(request.characterizations[0], request.profiles, request.maps)
    pairs = estimating.pairs_of(asked)
    if request.paired and len(pairs) != len(request.characterizations):
        raise UsageError(
            f"{len(pairs)} profiles for {len(request.characterizations)} characterizations",
            expected="one for each, in the same order (--paired)",
        )
    return pairs


def _owners(request: Request, found: Sequence[Characterization]) -> dict[str, tuple[int, ...]]:
    """Service -> numbers of the characterizations that have it, or say that they have not."""
    owners: dict[str, list[int]] = {}
    for number, characterization in enumerate(found):
        for service in characterization.services:
            owners.setdefault(service.name, []).append(number)
    chosen = {name: [one for one in owners if is_of(one, name)] for name in request.services}
    unknown = [name for name, parts in chosen.items() if not parts]
    if unknown:
        raise InputError(
            f"no characterization has a service {unknown[0]}",
            where=Location("--service"),
            expected="a service of one of them",
            hint=did_you_mean(unknown[0], owners),
        )
    wanted = [one for parts in chosen.values() for one in parts] or owners
    return {name: tuple(owners[name]) for name in wanted}


def _refuse_strangers(request: Request, found: Sequence[Characterization]) -> None:
    known = {p.name for c in found for service in c.services for p in service.parameters}
    for name in request.values:
        if name not in known:
            raise InputError(
                f"no service has a parameter {name}",
                where=Location("--set"),
                expected=f"one of {', '.join(sorted(known))}" if known else "no --set at all",
                hint=did_you_mean(name, known),
            )


def _platforms(
    request: Request,
    pairs: Sequence[tuple[str, str | None]],
    found: Sequence[Characterization],
    owners: Mapping[str, tuple[int, ...]],
) -> list[list[estimating.Platform | None]]:
    """For each hardware, each characterization's compared services on it."""
    shared = {name for name, sides in owners.items() if len(sides) > 1}
    needed = [[s for s in c.services if s.name in shared] for c in found]

    def platform_of(number: int, pair: tuple[str, str | None]) -> estimating.Platform | None:
        if not needed[number]:
            return None
        asked = estimating.Request(
            request.characterizations[number], request.profiles, request.maps
        )
        return estimating.platform_of(
            asked, found[number], needed[number], *pair, values=request.values
        )

    numbers = range(len(found))
    if request.paired:
        return [[platform_of(number, pairs[number]) for number in numbers]]
    return [[platform_of(number, pair) for number in numbers] for pair in pairs]


def _service(
    name: str,
    numbers: tuple[int, ...],
    found: Sequence[Characterization],
    platforms: Sequence[Sequence[estimating.Platform | None]],
    values: Mapping[str, int],
) -> ServiceVersus:
    if len(numbers) < 2:
        return ServiceVersus(name, numbers)
    services = [_named(found[number], name) for number in numbers]
    try:
        ranges = common_ranges(services, values)
    except InputError as error:
        return ServiceVersus(name, numbers, problem=error.message)
    metrics = []
    for number, of_each in enumerate(platforms):
        sides = []
        for service, owner in zip(services, numbers, strict=True):
            priced = of_each[owner]
            assert priced is not None
            sides.append(Side(service, priced.prices, priced.following))
        metrics += versus(sides, ranges, number)
    return ServiceVersus(
        name, numbers, ranges=ranges, metrics=tuple(metrics), notes=_notes(services)
    )


def _named(characterization: Characterization, name: str) -> ServiceCharacterization:
    return next(service for service in characterization.services if service.name == name)


def _notes(services: Sequence[ServiceCharacterization]) -> tuple[str, ...]:
    """Where equal names may not mean the same."""
    notes = []
    meanings: dict[str, dict[str, None]] = {}
    for service in services:
        for p in service.parameters:
            meanings.setdefault(p.name, {})[p.meaning] = None
    for name, found in meanings.items():
        if len(found) > 1:
            notes.append(f"{name} has several meanings: {'; '.join(found)}")
        having = sum(any(p.name == name for p in s.parameters) for s in services)
        if having < len(services):
            notes.append(f"{name} is a parameter of only {having} of {len(services)}")
    states = {s.worst_state for s in services if s.worst_state}
    if len(states) > 1:
        notes.append("the worst states are described differently")
    if len({s.kind for s in services}) > 1:
        notes.append("a call in one is a handler in another")
    return tuple(notes)
