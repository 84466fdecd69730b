"""Traced paths against path models, and their prices against bounds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from wcetchar import store
from wcetchar.engine import PriceVector
from wcetchar.engine.path_prices import path_prices
from wcetchar.engine.paths import bound_of
from wcetchar.errors import CheckFailed, UsageError
from wcetchar.model.characterization import Characterization, ServiceCharacterization
from wcetchar.model.path_model import PathModel
from wcetchar.model.section_map import SectionMap
from wcetchar.pipeline import characterize
from wcetchar.pipeline.worst_paths import price_of


@dataclass(frozen=True)
class Checked:
    """One service, or a part of one.

    Attributes:
        windows: how many traces showed; each is a path of the model and counts what it says.
        points: values of the parameters at which they were priced; 0: there is no bound.
        closest: the price of a traced path by the bound there, where that is largest.
        at: the values of the parameters there.
        gaps: facts that a bound needs.
    """

    service: str
    windows: int
    points: int
    closest: Fraction | None
    at: Mapping[str, int]
    gaps: int


def run(
    request: characterize.Request,
    profile: str | None,
    section_map: str | None,
    progress: Callable[[int], None] | None = None,
) -> list[Checked]:
    """Makes the path models anew, and prices what traces showed.

    Args:
        profile, section_map: names or files; without a profile nothing is priced.

    Raises:
        CheckFailed: a traced path is none of the model's, counts otherwise, or is dearer than its
            bound.
        InputError, NoSoundBound: as of the estimates.
    """
    if request.paths is None:
        raise ValueError("path models are needed")
    characterization = characterize.run(request, progress)
    if profile is None:
        return [*_unpriced(characterization)]
    hardware = store.load_profile(profile)
    if section_map is not None:
        placed = store.load_map(section_map)
    elif hardware.default_map:
        placed = SectionMap(f"default of {hardware.name}", {})
    else:
        raise UsageError(f"profile {hardware.name} has no default map", hint="--map FILE")
    prices = path_prices(characterization, hardware, placed, characterization.paths)
    services = {service.name: service for service in characterization.services}
    return [_checked(services[model.service], model, prices) for model in characterization.paths]


def _unpriced(characterization: Characterization) -> Iterator[Checked]:
    services = {service.name: service for service in characterization.services}
    for model in characterization.paths:
        windows = services[model.service].evidence.windows
        yield Checked(model.service, windows, 0, None, {}, len(model.gaps))


def _checked(service: ServiceCharacterization, model: PathModel, prices: PriceVector) -> Checked:
    windows = service.evidence.windows
    if model.gaps:
        return Checked(model.service, windows, 0, None, {}, len(model.gaps))
    names = [parameter.name for parameter in service.parameters]
    dearest: dict[tuple[int, ...], Fraction] = {}
    for path in model.traced:
        price = price_of(model.vectors[path.vector], prices)
        dearest[path.values] = max(dearest.get(path.values, Fraction(0)), price)
    closest, at = Fraction(0), dict[str, int]()
    for point, price in dearest.items():
        values = dict(zip(names, point, strict=True))
        bound = bound_of(model, prices, values).time
        if price > bound:
            told = ", ".join(f"{name}={value}" for name, value in values.items())
            raise CheckFailed(
                f"{model.service}: a traced path takes {float(price)} ns"
                + (f" at {told}" if told else ""),
                expected=f"at most its bound, {float(bound)} ns",
                hint="a flow fact is wrong, or this is a defect of wcetchar",
            )
        if bound and price / bound > closest:
            closest, at = price / bound, values
    return Checked(model.service, windows, len(dearest), closest, at, 0)
