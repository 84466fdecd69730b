"""Which of two path models at values and prices is dearer, without solving either.

With x >= 0 the counts of edges, ``c_e * x_e`` summed what a constraint limits by L, and t_e times::

    bound_a <= bound_b    if  c_e,a >= c_e,b  and  L_a <= L_b  for each constraint, and t_a <= t_b

for then each flow of a is one of b (its sums are no larger there, and what limits them is), and
takes no longer. The same model is meant, interference that recurs alike, and no more that is under
way when a path begins. Of stretches that hold something off this is true as well where no
coefficient has another sign, and the same limits are 0: what is said of a stretch alone
(``path_blocking``) hangs on these.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from wcetchar.engine.paths import At, at_values
from wcetchar.engine.prices import PriceVector
from wcetchar.model.path_model import PathModel

MOST_POINTS: Final = 256
"""Each of which may have to be solved."""


def no_dearer(one: At, other: At) -> bool:
    """Nothing takes longer in ``one`` than in ``other``; of a model at two points. Where this is
    false, nothing is known."""
    if one.prices.rate != other.prices.rate:
        return False
    if one.prices.under_way > other.prices.under_way:
        return False
    if one.prices.fetched_behind > other.prices.fetched_behind:
        return False
    for dear, cheap in (
        (other.times, one.times),
        (other.run_in, one.run_in),
        (other.run_out, one.run_out),
    ):
        if dear is not cheap and any(a > b for a, b in zip(cheap, dear, strict=True)):
            return False
    for a, b in zip(one.limits, other.limits, strict=True):
        if a.limit > b.limit or (not a.limit) != (not b.limit):
            return False
    return all(map(_within, one.columns, other.columns))


def undominated(
    model: PathModel, prices: PriceVector, points: Sequence[Mapping[str, int]]
) -> list[Mapping[str, int]]:
    """Those of ``points``, values as of :func:`wcetchar.engine.paths.bound_of`, that no other one
    is shown to be as dear as: the dearest of all is among them.

    Raises:
        InputError, NoSoundBound: as there.
    """
    kept: list[tuple[At, Mapping[str, int]]] = []
    for point in points:
        at = at_values(model, prices, point)
        if any(no_dearer(at, other) for other, _ in kept):
            continue
        kept = [(other, of) for other, of in kept if not no_dearer(other, at)]
        kept.append((at, point))
    return [point for _, point in kept]


def _within(one: Mapping[int, int], other: Mapping[int, int]) -> bool:
    for number in one.keys() | other.keys():
        a, b = one.get(number, 0), other.get(number, 0)
        if a < b or (a > 0) != (b > 0) or (a < 0) != (b < 0):
            return False
    return True
