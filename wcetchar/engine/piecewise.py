"""A bound as an explicit function of the parameters that its path model uses.

The integer program is solved, with its proof, at *every* value of the parameters' ranges; so a
function that meets all of these is the bound over the whole range, whatever it looks like, and
nothing is induced. Where the ranges hold too many values there is no function, and the bound is
solved value by value.

Along one parameter a bound is affine between breakpoints: multipliers that prove it prove it as
long as the same constraints bind (P. Feautrier, "Parametric integer programming", RAIRO Recherche
opérationnelle 22(3), 1988). :func:`affine_pieces` finds the breakpoints among what was solved.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Final

from wcetchar import formula
from wcetchar.engine.paths import bound_of
from wcetchar.engine.prices import PriceVector
from wcetchar.errors import NoSoundBound
from wcetchar.model.characterization import Word
from wcetchar.model.path_model import PathModel

MOST_POINTS: Final = 4096


@dataclass(frozen=True)
class Solved:
    """A bound at every value of ranges.

    Attributes:
        ranges: least and greatest value of each parameter that the model uses, by name.
        times: by values of these, in their order, in nanoseconds.
        word: the weakest of all.
    """

    ranges: Mapping[str, tuple[int, int]]
    times: Mapping[tuple[int, ...], Fraction]
    word: Word


@dataclass(frozen=True)
class Affine:
    """``constant + slope * p`` for low <= p <= high."""

    low: int
    high: int
    constant: Fraction
    slope: Fraction


def used_parameters(model: PathModel) -> frozenset[str]:
    """Names that a model's constraints depend on."""
    return frozenset(
        name
        for constraint in model.constraints
        for expression in (constraint.limit, *constraint.coefficients.values())
        for name in formula.names(expression)
    )


def solve_everywhere(
    model: PathModel, prices: PriceVector, ranges: Mapping[str, tuple[int, int]]
) -> Solved:
    """
    Args:
        ranges: of the parameters, those that the model does not use as well; both ends included.

    Raises:
        NoSoundBound: the model has gaps, a constraint nothing fulfils at some value, or the ranges
            hold more than ``MOST_POINTS`` values of what it uses.
        InputError: a parameter that it uses has no range.
    """
    used = used_parameters(model)
    own = {name: one for name, one in ranges.items() if name in used}
    size = math.prod(high - low + 1 for low, high in own.values())
    if size > MOST_POINTS:
        raise NoSoundBound(
            f"{model.service}: the ranges of {', '.join(own)} hold {size} values",
            expected=f"at most {MOST_POINTS}, each of which is solved",
            hint="say narrower ranges, or solve the bound at single values",
        )
    axes = [range(low, high + 1) for low, high in own.values()]
    times = {}
    words = []
    for point in product(*axes):
        found = bound_of(model, prices, dict(zip(own, point, strict=True)))
        times[point] = found.time
        words.append(found.word)
    return Solved(own, times, words[0].weakest(*words[1:]))


def affine_pieces(times: Sequence[tuple[int, Fraction]]) -> list[Affine]:
    """The fewest pieces, each as long as it can be, that meet every one of the values; of integers
    that follow one another, in order."""
    pieces: list[Affine] = []
    start = 0
    while start < len(times):
        low, first = times[start]
        slope = times[start + 1][1] - first if start + 1 < len(times) else Fraction(0)
        end = start
        while end + 1 < len(times) and times[end + 1][1] - times[end][1] == slope:
            end += 1
        pieces.append(Affine(low, times[end][0], first - slope * low, slope))
        start = end + 1
    return pieces
