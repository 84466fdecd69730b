"""What holds over all paths beside an estimate: path models at prices, and at values that may be
several."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from wcetchar.engine import PriceVector
from wcetchar.engine.parameter_box import Box
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
    searched: bool = False,
) -> Box:
    """Values at which the service may be called: those of ``values``, but for cases that are not
    ``given``, of which any can be, and for what may be off. ``searched``: any that was declared can
    be, of all that are not given."""
    free = {
        p.name: range(p.minimum, p.maximum + 1)
        for p in service.parameters
        if (searched or p.kind is ParameterKind.CASE) and p.name not in given
    }
    off = {n: range(c.low, c.high + 1) for n, c in uncertain.items() if n not in given}
    return {name: off.get(name, free.get(name, range(v, v + 1))) for name, v in values.items()}


def over_all_paths(
    model: PathModel | None,
    prices: PathPrices,
    box: Box,
    dearest: Mapping[str, int] | None = None,
    stretches: bool = True,
) -> OverAllPaths | None:
    """Nothing takes longer at any values of ``box``. ``dearest``: those of the largest total, at
    which it is an estimate where there are too many to look at all. ``stretches``: with how long
    each kind is held off. ``None``: there is no model.

    Raises:
        InputError: a value is missing, or a formula fails.
    """
    if model is None or prices is None:
        return None
    from wcetchar.engine.path_blocking import longest_blocking
    from wcetchar.engine.paths import bound_of

    if isinstance(prices, NoSoundBound):
        return OverAllPaths(None, Word.ESTIMATE, prices.message)
    try:
        values = _Values(model, box, dearest)
        bounds = [bound_of(*one) for one in values.dearest(prices)]
        held: dict[StretchKind, Fraction] = {}
        if stretches and model.follows_masks:
            asked = values.dearest(prices, in_stretches=True)
            held = {
                kind: max(longest_blocking(*one, kind).time for one in asked)
                for kind in StretchKind
            }
    except NoSoundBound as error:
        return OverAllPaths(None, Word.ESTIMATE, error.message)
    word = Word.ESTIMATE if values.tried_one else bounds[0].word.weakest(*(b.word for b in bounds))
    most = max(bounds, key=lambda bound: bound.time)
    interrupts, preemption = map(held.get, (StretchKind.INTERRUPTS, StretchKind.PREEMPTION))
    at = values.point(most.flow.parameters)
    return OverAllPaths(most.time, word, "", interrupts, preemption, at)


class _Values:
    """Where in a box a model is the dearest. ``tried_one``: there were too many values, so it is
    dearer elsewhere perhaps."""

    def __init__(self, model: PathModel, box: Box, dearest: Mapping[str, int] | None) -> None:
        from wcetchar.engine.path_envelope import envelope
        from wcetchar.engine.piecewise import used_parameters

        used = used_parameters(model)
        self._box = {name: one if name in used else one[:1] for name, one in box.items()}
        self._model, self._dearest = model, dearest
        self._envelope = envelope(model, self._box)
        self.tried_one = False

    def dearest(
        self, prices: PriceVector, in_stretches: bool = False
    ) -> list[tuple[PathModel, PriceVector, Mapping[str, int]]]:
        """Models, and values of their parameters: the dearest anywhere is one of them.

        Raises:
            InputError, NoSoundBound: as of ``over_all_paths``.
        """
        from wcetchar.engine.path_order import MOST_POINTS, undominated

        envelope = self._envelope
        if in_stretches and envelope is not None and not envelope.alike:
            envelope = None
        if envelope is not None and envelope.at is not None:
            return [(self._model, prices, envelope.at)]
        if math.prod(map(len, self._box.values())) <= MOST_POINTS:
            every = [
                dict(zip(self._box, point, strict=True))
                for point in itertools.product(*self._box.values())
            ]
            compared = prices.in_stretches if in_stretches else prices
            found = undominated(self._model, compared, every)
            return [(self._model, prices, point) for point in found]
        if envelope is not None:
            return [(envelope.model, prices, {})]
        if self._dearest is not None:
            self.tried_one = True
            return [(self._model, prices, dict(self._dearest))]
        names = ", ".join(name for name, values in self._box.items() if len(values) > 1)
        raise NoSoundBound(
            f"{self._model.service}: combinations of {names} are too many to look for the dearest "
            "path in",
            expected="fewer values",
            hint="--set some of them",
        )

    def point(self, values: Mapping[str, int]) -> Mapping[str, int] | None:
        """``None``: these are of no point."""
        return values if values.keys() == self._box.keys() else None


def safe_notes(one: Estimate) -> Iterator[str]:
    """What ``Estimate.safe_time`` is, where there is a path model."""
    over = one.over_all_paths
    if over is None:
        return
    if over.time is None:
        yield f"{one.service}: no bound over all paths, so the published rows count: {over.why}"
    elif over.time > one.total.high:
        yield f"{one.service}: the bound over all paths counts, which the published rows are below"
