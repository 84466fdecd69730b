"""The parameter values with the largest total or the longest blocking, by trying every one.

A formula may rise and fall with its parameters, and which way depends on the prices, so no corner
of the range can be trusted to be the worst. The whole grid is tried where it is small; elsewhere
the integrator has to say which values can occur.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Final

from wcetchar.engine.blocking import blocking_totals
from wcetchar.engine.chains import Following
from wcetchar.engine.counts import values_of
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.totals import Totals, total_of
from wcetchar.errors import InputError
from wcetchar.model.characterization import ServiceCharacterization, StretchKind

LARGEST_SEARCH: Final = 50_000
"""Points that are tried. A rendezvous over delayed, woken and waiting tasks has 24,192."""


@dataclass(frozen=True)
class Worst:
    """Parameter values with the largest total, and those with the longest stretches. Of several
    that are equal the smallest, parameter by parameter; those of the total before all others."""

    total: dict[str, int]
    interrupts: dict[str, int]
    preemption: dict[str, int]


def worst_parameters(
    service: ServiceCharacterization,
    prices: PriceVector,
    fixed: Mapping[str, int],
    following: Following | None = None,
) -> Worst:
    """Values of all parameters that are worst, those in ``fixed`` kept as they are; blocking with
    what may follow it.

    Raises:
        InputError: more than ``LARGEST_SEARCH`` points, a fixed value out of range, or counts that
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
    if size > LARGEST_SEARCH:
        free = [name for name in names if name not in fixed]
        raise InputError(
            f"{service.name}: {size} combinations of {', '.join(free)} are too many to try",
            expected=f"at most {LARGEST_SEARCH} combinations for --maximum",
            hint=f"--set some of them: {' '.join(f'--set {name}=VALUE' for name in free)}",
        )

    import numpy as np

    grid = [*itertools.product(*ranges)]

    def largest(*totals: Totals, first: tuple[tuple[int, ...], ...] = ()) -> tuple[int, ...]:
        points = [*first, *grid]
        found = [total.at_all(points) for total in totals]
        per_ns = math.lcm(*(times.per_ns for times in found))
        longest = reduce(np.maximum, (times.per(per_ns) for times in found))
        return points[int(np.argmax(longest))]  # the first of equals

    lines = prices.caches.at(service)
    total = largest(total_of(service, prices, lines))

    def longest(kind: StretchKind) -> tuple[int, ...]:
        parts = blocking_totals(service, kind, prices, following, lines)
        return largest(*parts, first=(total,)) if parts else total

    found = (total, longest(StretchKind.INTERRUPTS), longest(StretchKind.PREEMPTION))
    return Worst(*(dict(zip(names, values, strict=True)) for values in found))
