"""Parameters of a service whose values may be off: where they can be.

Which value is the worst depends on prices, and a formula may rise and fall; so all combinations
are tried, as in a search for a maximum (``maximum``), and there are only so many.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import replace

from wcetchar.engine.errors import PricingError
from wcetchar.engine.maximum import LARGEST_SEARCH
from wcetchar.errors import InputError
from wcetchar.model.characterization import ServiceCharacterization
from wcetchar.model.uncertainty import UncertainCount

Box = Mapping[str, range]
"""Values that parameters may have, at least one each."""


def narrowed(
    service: ServiceCharacterization, uncertain: Mapping[str, UncertainCount]
) -> ServiceCharacterization:
    """The service with parameters that are nowhere but where they can be.

    Raises:
        InputError: one can be out of the range that the service was characterized for.
    """
    parameters = []
    for one in service.parameters:
        count = uncertain.get(one.name)
        if count is not None:
            if count.low < one.minimum or count.high > one.maximum:
                raise PricingError(
                    f"{one.name} of {service.name} ({one.meaning}) can be out of range with its "
                    f"errors: {count.low} to {count.high}",
                    expected=f"{one.name} from {one.minimum} to {one.maximum}, errors included",
                    hint="outside of this range the service was not characterized",
                    file="parameters",
                    keys=(one.name,),
                )
            one = replace(one, minimum=count.low, maximum=count.high)
        parameters.append(one)
    return replace(service, parameters=tuple(parameters))


class ParameterBox:
    """Values that the parameters of a figure can have.

    Attributes:
        names: of all parameters, in order.
        nominal, worst: values in order, all nominal, and where the estimate is largest.
        uncertain: those that may be off.
        full, systematic: their ranges, with and without stochastic errors.
    """

    def __init__(
        self, what: str, values: Mapping[str, int], uncertain: Mapping[str, UncertainCount]
    ) -> None:
        self.names = tuple(values)
        self._what = what
        self.uncertain = uncertain
        self.worst = tuple(values.values())
        self.nominal = tuple(
            uncertain[name].nominal if name in uncertain else value
            for name, value in values.items()
        )
        self.full = {name: range(one.low, one.high + 1) for name, one in uncertain.items()}
        self.systematic = {name: systematic_range(one) for name, one in uncertain.items()}

    def points(self, ranges: Mapping[str, range]) -> list[tuple[int, ...]]:
        """All combinations of ``ranges``, all others nominal.

        Raises:
            InputError: there are too many.
        """
        axes = [
            ranges.get(name, range(value, value + 1))
            for name, value in zip(self.names, self.nominal, strict=True)
        ]
        size = math.prod(len(axis) for axis in axes)
        if size > LARGEST_SEARCH:
            raise InputError(
                f"{self._what}: {size} combinations of {', '.join(ranges)} are too many to try",
                expected=f"at most {LARGEST_SEARCH} combinations of values that may be off",
                hint="smaller errors, or fewer parameters with errors",
            )
        return [*itertools.product(*axes)]


def systematic_range(count: UncertainCount) -> range:
    """Without stochastic errors."""
    return range(count.nominal - count.systematic, count.nominal + count.systematic + 1)
