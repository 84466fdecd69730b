"""The parameter values with the largest total, by trying every one.

A formula may rise and fall with its parameters, and which way depends on the prices, so no corner
of the range can be trusted to be the worst. The whole grid is tried where it is small; elsewhere
the integrator has to say which values can occur.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Final

from wcetchar.engine.counts import values_of
from wcetchar.engine.pricing import PriceVector
from wcetchar.engine.totals import Totals
from wcetchar.errors import InputError
from wcetchar.model.characterization import ServiceCharacterization

LARGEST_GRID: Final = 10_000
"""Points that are tried; some seconds of work."""


def worst_parameters(
    service: ServiceCharacterization, prices: PriceVector, fixed: Mapping[str, int]
) -> dict[str, int]:
    """Values of all parameters with the largest total, those in ``fixed`` kept as they are.

    Of several with the same total the smallest, parameter by parameter.

    Raises:
        InputError: more than ``LARGEST_GRID`` points, a fixed value out of range, or counts that
            do not hold somewhere in the range.
    """
    names = tuple(parameter.name for parameter in service.parameters)
    ranges = [
        range(fixed[p.name], fixed[p.name] + 1)
        if p.name in fixed
        else range(p.minimum, p.maximum + 1)
        for p in service.parameters
    ]
    # Refuses what is fixed out of range or unknown before the search starts.
    values_of(service, {**{n: r[0] for n, r in zip(names, ranges, strict=True)}, **fixed})
    size = math.prod(len(values) for values in ranges)
    if size > LARGEST_GRID:
        free = [name for name in names if name not in fixed]
        raise InputError(
            f"{service.name}: {size} combinations of {', '.join(free)} are too many to try",
            expected=f"at most {LARGEST_GRID} combinations for --maximum",
            hint=f"--set some of them: {' '.join(f'--set {name}=VALUE' for name in free)}",
        )
    total = Totals(service.counts, names, prices, service.name)
    worst = max(itertools.product(*ranges), key=total)  # max() keeps the first of equals
    return dict(zip(names, worst, strict=True))
