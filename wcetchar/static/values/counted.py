"""What one exit test of a loop says: how often it goes on, as numbers and as formulas.

A formula is taken where the number says little: it bounds nothing, or is large. It is over
parameters, each of which a register holds at the function's entry, read as a natural number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from wcetchar.model.flow import Edge
from wcetchar.model.term import Relation
from wcetchar.static.values import interval as sets
from wcetchar.static.values.count import Count
from wcetchar.static.values.form import Form, Tag
from wcetchar.static.values.state import State

_USELESS: Final = 1 << 20
"""A bound that is not less says nothing: what is longer is no window (``analysis/contexts.py``)."""
LARGE: Final = 1 << 16
"""A number that is not less is left out where there is a formula."""
NARROW: Final = 127
"""The same where the width of what counts is all that bounds it."""


@dataclass(frozen=True)
class Test:
    """Go on while ``left relation right``; forms of the values at a test in the loop."""

    left: Form
    relation: Relation
    right: Form


@dataclass(frozen=True)
class Counted:
    """What one test says: behind each entry, it goes on at most ``counts`` times; empty: nothing
    that is of use.

    Attributes:
        edges: that go on; every way round the loop takes one of them.
        numeric: bounds that are numbers, however large.
        why: for people.
        distance: of a loop that is entered in one way only, how far it has to go.
    """

    counts: Sequence[Count]
    numeric: Sequence[Count]
    why: str
    edges: Sequence[Edge] = ()
    distance: Distance | None = None


@dataclass(frozen=True)
class Distance:
    """The test goes on ceil((d + more) / step) times, if that is more than 0, where ``form`` is d
    modulo 2^32. ``most``: d is not more; ``None``: d is what the 32 bits of ``form`` say."""

    form: Form
    more: int
    step: int
    most: int | None


class Parameters:
    """``names``: of the parameters that registers hold at the function's entry."""

    def __init__(self, names: Mapping[int, str]) -> None:
        self._names = names

    def name(self, tag: Tag) -> str | None:
        """The parameter that a value is; ``None``: it is none."""
        if tag.kind != "entry" or tag.place[0] != "r":
            return None
        return self._names.get(tag.place[1])

    def at_least(
        self, state: State, form: Form
    ) -> tuple[int, tuple[tuple[str, int], ...], int] | None:
        """A sum of parameters that is at least what a form is: constant, terms, and the least value
        of the form's own sum; ``None``: it has others. Where that is not negative, the sum is at
        least what the form's 32 bits say, however they are read."""
        terms: list[tuple[str, int]] = []
        constant = sets.signed_of(form.constant)
        least = constant
        for tag, factor in form.tags:
            factor = sets.signed_of(factor)
            low, high = _natural(state, tag)
            name = self.name(tag if factor < 0 else _not_less(tag, high))
            if name is None:
                return None
            least += factor * (low if factor > 0 else high)
            terms.append((name, factor))
        return constant, tuple(terms), least


def numbers_or_formulas(
    numeric: Sequence[Count],
    symbolic: Sequence[Count | None],
    why: str,
    large: int = LARGE,
) -> Counted:
    """Numbers where they say something, formulas where those do not.

    Args:
        numeric, symbolic: for each way in which the loop is entered; ``None``: there is no formula.
        large: a number that is not less is left out where there is a formula.
    """
    chosen: list[Count] = []
    for number, formula in zip(numeric, symbolic, strict=True):
        count = number.number
        if formula is not None and formula.terms and (count is None or count >= large):
            chosen.append(formula)
        elif count is not None and count < _USELESS:
            chosen.append(Count(count))
        elif formula is not None:
            chosen.append(formula)
        else:
            return Counted((), numeric, why)
    return Counted(chosen, numeric, why)


def _natural(state: State, tag: Tag) -> tuple[int, int]:
    found = state.ranges.get(tag)
    return (0, sets.WORD) if found is None or found.stack else found.interval.natural


def _not_less(tag: Tag, high: int) -> Tag:
    """A tag that is not less, read as natural numbers: of low bits, what they are part of."""
    form = tag.made_of
    if form is None or form.tag is None or form.constant:
        return tag
    if tag.kind == "ext" and high >= 1 << tag.site - 1:
        return tag
    return _not_less(form.tag, sets.WORD)
