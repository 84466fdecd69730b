"""The cheapest values of a number with which a budget holds."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from wcetchar.model.characterization import Word
from wcetchar.model.sweep import Axis


@dataclass(frozen=True)
class Solved:
    """One service at one combination of the other axes.

    Attributes:
        numbers: of the other axes; ``None``: the service does not depend on it.
        number, time: the cheapest value within the budget, and what it takes there: the total, or
            over all paths where that is more; ``None``: there is none.
        beyond, time_beyond: the next cheaper value, which fails; ``None``: there is none.
        word: of ``time``; ``None``: there is none.
        failing: dearer values that fail, where all were evaluated.
    """

    service: str
    numbers: tuple[Fraction | None, ...]
    number: Fraction | None
    time: Fraction | None
    beyond: Fraction | None
    time_beyond: Fraction | None
    word: Word | None
    failing: tuple[Fraction, ...] = ()


@dataclass(frozen=True)
class Solution:
    """``axis``: that is solved, ``smallest``: the smallest value is looked for; ``halved``: by
    halving. ``step``: between values that were tried; ``None``: those that were given.
    ``over_all_paths``: services whose path models were held against the budget as well."""

    profile: str
    section_map: str
    axis: Axis
    axes: tuple[Axis, ...]
    budget: Fraction
    smallest: bool
    halved: bool
    step: Fraction | None
    tried: int
    solved: tuple[Solved, ...]
    over_all_paths: tuple[str, ...]
    notes: tuple[str, ...]
