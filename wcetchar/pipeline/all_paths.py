"""What holds over all paths beside an estimate: path models at prices, and at values that may be
several."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from wcetchar.engine import PriceVector
from wcetchar.errors import NoSoundBound
from wcetchar.model.characterization import (
    Characterization,
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.estimate import Estimate, OverAllPaths
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.path_model import PathModel
from wcetchar.model.section_map import SectionMap
from wcetchar.model.service import ParameterKind
from wcetchar.model.uncertainty import UncertainCount

Box = Mapping[str, range]
"""Values that parameters may have."""
PathPrices = PriceVector | NoSoundBound | None
"""Of path models; why they cannot be priced; ``None``: there are none."""


def path_prices_of(
    characterization: Characterization,
    services: Sequence[ServiceCharacterization],
    profile: HardwareProfile,
    section_map: SectionMap,
) -> PathPrices:
    """Of the path models of these services.

    Raises:
        InputError: as of ``path_prices``.
    """
    names = {service.name for service in services}
    models = [model for model in characterization.paths if model.service in names]
    if not models:
        return None
    # Only here, so that a table is priced where no solver is installed.
    from wcetchar.engine.path_prices import path_prices

    try:
        return path_prices(characterization, profile, section_map, models)
    except NoSoundBound as error:
        return error


def box_of(
    service: ServiceCharacterization,
    values: Mapping[str, int],
    given: Mapping[str, int],
    uncertain: Mapping[str, UncertainCount],
) -> Box:
    """Values at which the service may be called: those of ``values``, but for cases that are not
    ``given``, of which any can be, and for what may be off."""
    free = {
        p.name: range(p.minimum, p.maximum + 1)
        for p in service.parameters
        if p.kind is ParameterKind.CASE and p.name not in given
    }
    off = {n: range(c.low, c.high + 1) for n, c in uncertain.items() if n not in given}
    return {name: off.get(name, free.get(name, range(v, v + 1))) for name, v in values.items()}


def over_all_paths(
    model: PathModel | None,
    prices: PathPrices,
    box: Box,
    dearest: Mapping[str, int] | None = None,
    searched: bool = False,
    stretches: bool = True,
) -> OverAllPaths | None:
    """Nothing takes longer at any values of ``box``. ``dearest``: those of the largest total, at
    which it is an estimate where there are too many to look at each. ``searched``: values beyond
    the box are possible, so it is an estimate. ``stretches``: with how long each kind is held off.
    ``None``: there is no model.

    Raises:
        InputError: a value is missing, or a formula fails.
    """
    if model is None or prices is None:
        return None
    from wcetchar.engine.path_blocking import longest_blocking
    from wcetchar.engine.path_order import undominated
    from wcetchar.engine.paths import bound_of

    if isinstance(prices, NoSoundBound):
        return OverAllPaths(None, Word.ESTIMATE, prices.message)
    try:
        every = _points(model, box)
        if every is None:
            searched = True
            every = _only(dearest, model, box)
        points = undominated(model, prices, every)
        bounds = [bound_of(model, prices, point) for point in points]
        held: list[Fraction | None] = [None, None]
        if stretches and model.follows_masks:
            points = undominated(model, prices.in_stretches, every)
            held = [
                max(longest_blocking(model, prices, point, kind).time for point in points)
                for kind in (StretchKind.INTERRUPTS, StretchKind.PREEMPTION)
            ]
    except NoSoundBound as error:
        return OverAllPaths(None, Word.ESTIMATE, error.message)
    word = bounds[0].word.weakest(*(bound.word for bound in bounds[1:]))
    time = max(bound.time for bound in bounds)
    return OverAllPaths(time, Word.ESTIMATE if searched else word, "", *held)


def safe_notes(one: Estimate) -> Iterator[str]:
    """What ``Estimate.safe_time`` is, where there is a path model."""
    over = one.over_all_paths
    if over is None:
        return
    if over.time is None:
        yield f"{one.service}: no bound over all paths, so the published rows count: {over.why}"
    elif over.time > one.total.high:
        yield f"{one.service}: the bound over all paths counts, which the published rows are below"


def _points(model: PathModel, box: Box) -> list[dict[str, int]] | None:
    """All values of what the model depends on, any of the rest; ``None``: there are too many."""
    from wcetchar.engine.path_order import MOST_POINTS
    from wcetchar.engine.piecewise import used_parameters

    used = used_parameters(model)
    axes = [values if name in used else values[:1] for name, values in box.items()]
    if math.prod(map(len, axes)) > MOST_POINTS:
        return None
    return [dict(zip(box, point, strict=True)) for point in itertools.product(*axes)]


def _only(dearest: Mapping[str, int] | None, model: PathModel, box: Box) -> list[dict[str, int]]:
    if dearest is not None:
        return [dict(dearest)]
    names = ", ".join(name for name, values in box.items() if len(values) > 1)
    raise NoSoundBound(
        f"{model.service}: combinations of {names} are too many to look for the dearest path in",
        expected="fewer values",
        hint="--set some of them",
    )
