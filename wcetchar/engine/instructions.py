"""What each executed instruction adds to the estimate of one invocation.

    total = sum over instructions of sum over what it counts of its price
          + what caches take to load lines

Prices are the upper ends of the estimate, interference included, so the sum is the estimate's total
exactly (conservation); that is checked. Lines that caches load are priced for an invocation as a
whole (``refills``, ``data_lines``), and are no single instruction's; loads of data that are priced
one by one are.

Times become whole picoseconds, rounded up where they add up::

    t(i) = ceil(1000 * sum of the first i instructions) - ceil(1000 * sum of the first i - 1)

so that the whole is the exact total, rounded up once.

Inputs: an :class:`Invocation`, and the estimate of its counts alone (``estimate_at``).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from typing import Final

import numpy as np

from wcetchar.errors import CheckFailed, InputError
from wcetchar.model.access import CoreEvent
from wcetchar.model.estimate import Estimate, EstimateColumn
from wcetchar.model.invocation import Invocation, Numbers, PricedInvocation

PICOSECONDS: Final = 1000
"""In a nanosecond."""
_FREE: Final = ""
"""Of what the profile does not price."""


def priced_invocation(traced: Invocation, estimate: Estimate) -> PricedInvocation:
    """Prices each instruction.

    Raises:
        CheckFailed: the sum is not the estimate's total, which is a defect.
        InputError: it takes longer than 64 bits can tell.
    """
    price = {one.key: (one.region or _FREE, one.price.high) for one in estimate.columns}
    each = [price.get(key, (_FREE, Fraction(0))) for key in traced.keys]
    numbers = np.bincount(traced.key, minlength=len(each)).tolist()
    counted = dict(zip(traced.keys, numbers, strict=True))
    loaded = [one for one in estimate.columns if _is_of_lines(one, counted.get(one.key, 0))]
    of_lines = {one.key for one in loaded}
    each = [
        (_FREE, Fraction(0)) if key in of_lines else one
        for key, one in zip(traced.keys, each, strict=True)
    ]
    places = {place for place, time in each if time} | {
        one.region for one in loaded if one.time.high
    }
    columns = tuple(sorted(places))
    behind = {
        place: sum((one.time.high for one in loaded if one.region == place), start=Fraction(0))
        for place in columns
    }
    denominator = math.lcm(
        1,
        *(time.denominator for _, time in each),
        *(time.denominator for time in behind.values()),
    )
    own = sum((time * n for (_, time), n in zip(each, numbers, strict=True)), start=Fraction(0))
    if own + sum(behind.values()) != estimate.total.high:
        raise CheckFailed(
            f"{traced.service}: its instructions take {float(own + sum(behind.values()))} ns "
            f"together, and the estimate is {float(estimate.total.high)} ns",
            expected="the same",
            hint="this is a defect of wcetchar",
        )
    largest = estimate.total.high * PICOSECONDS
    if largest >= 1 << 62:
        raise InputError(
            f"{traced.service} takes {float(estimate.total.high)} ns",
            expected="a time that 64 bits hold in picoseconds",
            hint="a price of the profile is too large",
        )
    # Sums of whole numbers over one denominator; of more than 64 bits only where that is needed.
    small = max(largest, *(time for _, time in each)) * denominator < 1 << 62
    column_ps = []
    every = np.zeros(len(traced) + 1, dtype=np.int64 if small else object)
    for place in columns:
        over = [
            time.numerator * (denominator // time.denominator) if where == place else 0
            for where, time in each
        ]
        times = np.zeros(len(traced) + 1, dtype=every.dtype)
        np.add.at(times, traced.position, np.array(over, dtype=every.dtype)[traced.key])
        times[-1] = int(behind[place] * denominator)
        column_ps.append(_rounded(times, denominator))
        every += times
    return PricedInvocation(
        traced,
        estimate.total.high,
        estimate.word,
        columns,
        _rounded(every, denominator),
        tuple(column_ps),
    )


def _is_of_lines(column: EstimateColumn, counted: int) -> bool:
    """It is no single instruction's: what all lines take that a cache loads."""
    of_cache = isinstance(column.key, CoreEvent) and column.key.kind.is_of_cache
    whole = column.price.high * counted
    return not counted or (of_cache and whole != column.time.high)


def dearest(priced: Iterable[PricedInvocation]) -> tuple[PricedInvocation, ...]:
    """Of each service the one that takes longest, the first of several, in the order in which
    services come first."""
    found: dict[str, PricedInvocation] = {}
    for one in priced:
        known = found.setdefault(one.traced.service, one)
        if one.total > known.total:
            found[one.traced.service] = one
    return tuple(found.values())


def _rounded(times: np.ndarray, denominator: int) -> Numbers:
    """Picoseconds of nanoseconds over a denominator, rounded up where they add up."""
    until = -(-np.cumsum(times) * PICOSECONDS // denominator)
    return np.diff(until, prepend=0).astype(np.int64)
