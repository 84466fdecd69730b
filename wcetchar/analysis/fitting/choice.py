"""One set of observed points, and the choice of a formula for each vector of counts at them.

The rules are those that :mod:`wcetchar.analysis.fitting.fit` states; this module applies them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import lcm, prod

import numpy as np
from numpy.typing import NDArray

from wcetchar.analysis.fitting.bounds import never_negative, probes
from wcetchar.analysis.fitting.features import THRESHOLD, Feature, features
from wcetchar.analysis.fitting.search import Screen
from wcetchar.analysis.fitting.support import (
    basis_rows,
    inverse,
    survives_loss_of_two,
    untested_interactions,
)
from wcetchar.analysis.fitting.terms import combine
from wcetchar.formula import evaluate_many, to_text
from wcetchar.model.expression import Expression, Name, Number

_MOST_TERMS = 3
_MOST_CANDIDATES = 2_000
"""Candidates with the same number of terms that are looked at; with more there is no formula."""

_CHECKS = 2
"""Points beyond those that determine a formula."""

Column = NDArray[np.int64]


@dataclass(frozen=True)
class _Candidate:
    """A combination of features that meets every observed count.

    Attributes:
        chosen: indices of the features.
        constant, coefficients: ``None`` and empty where they are not all integers.
        determined: the points that are not held out determine the coefficients.
    """

    chosen: tuple[int, ...]
    constant: int | None
    coefficients: tuple[int, ...]
    determined: bool


def _quantities(features: Iterable[Feature]) -> int:
    """How many quantities are fitted: the constant, a coefficient each, and their shapes."""
    listed = list(features)
    return 1 + len(listed) + len(frozenset().union(*(feature.shape for feature in listed)))


def _pieces(parameter: int, features: Iterable[Feature], observed: Column) -> bool:
    """Whether the thresholds leave enough values in every piece.

    A threshold before and one behind a single wrong count would explain it away. A piece with three
    values leaves no room for that: pieces differ by a line, which two values determine.
    """
    thresholds = {
        value
        for feature in features
        for kind, of, value in feature.shape
        if kind == THRESHOLD and of == parameter
    }
    ends = np.searchsorted(observed, sorted(thresholds), side="right")
    return not thresholds or bool((np.diff([0, *ends, len(observed)]) >= 1 + _CHECKS).all())


class Fitter:
    """The points with everything about them that does not depend on the counts.

    Args:
        points: sorted, without repetition.
        held: those of them that only check.
        ranges: least and greatest declared value of each parameter.
    """

    def __init__(
        self,
        parameters: tuple[str, ...],
        points: tuple[tuple[int, ...], ...],
        held: frozenset[tuple[int, ...]],
        ranges: tuple[tuple[int, int], ...],
    ) -> None:
        self._parameters = parameters
        self._ranges = ranges
        self._points = np.array(points, dtype=np.int64).reshape(len(points), len(parameters))
        self._solving = np.flatnonzero([point not in held for point in points])
        self._known: dict[tuple[int, ...], Expression | None] = {}

    def fit(self, counts: tuple[int, ...]) -> Expression | None:
        """The formula for counts at the points, in their order; ``None``: there is none."""
        if counts not in self._known:
            self._known[counts] = self._search(counts)
        return self._known[counts]

    @cached_property
    def _distinct(self) -> list[int]:
        """How many values of each parameter were observed."""
        return [len(np.unique(column)) for column in self._points.T]

    @cached_property
    def _complete(self) -> list[bool]:
        """Whether every declared value of the parameter was observed."""
        return [
            high - low + 1 == distinct
            for (low, high), distinct in zip(self._ranges, self._distinct, strict=True)
        ]

    @cached_property
    def _all_observed(self) -> bool:
        """Whether every declared combination of values was observed."""
        return len(self._points) == prod(high - low + 1 for low, high in self._ranges)

    @cached_property
    def _covers(self) -> bool:
        """Every parameter was varied, and every two of them together."""
        varied = all(
            distinct > 1 or complete
            for distinct, complete in zip(self._distinct, self._complete, strict=True)
        )
        return varied and next(untested_interactions(self._points), None) is None

    @cached_property
    def _domain(self) -> Column:
        """Points of the declared ranges on which formulas are compared."""
        return probes(self._points, self._ranges)

    @cached_property
    def _table(self) -> tuple[list[Feature], Column]:
        return features(self._parameters, self._points, self._domain, self._ranges)

    @cached_property
    def _screen(self) -> Screen:
        return Screen(self._table[1])

    def _search(self, counts: tuple[int, ...]) -> Expression | None:
        if len(set(counts)) == 1 and self._all_observed:
            return Number(counts[0])
        if len(counts) < 1 + _CHECKS or not self._covers:
            return None
        if len(set(counts)) == 1:
            return Number(counts[0])
        y = np.array(counts, dtype=np.int64)
        for terms in range(1, _MOST_TERMS + 1):
            if len(counts) < terms + 1 + _CHECKS:
                return None
            exact = self._exact(y, terms)
            if exact is None:
                return None
            if exact:
                # What cannot be accepted with these terms could be checked even less with more, but
                # for a hinge next to the first value: that is p with the first value a case of its
                # own, which takes one term more.
                found = self._simplest(exact, y)
                if found is not None or not any(map(self._is_beyond_first, exact)):
                    return found
        return self._simplest(self._linear_and_one(y), y)

    def _linear_and_one(self, y: Column) -> list[_Candidate]:
        """Exact candidates of a term for each of several parameters, and one more: more terms than
        are searched for otherwise, but few of them."""
        count = len(self._parameters)
        if count < _MOST_TERMS or len(y) < count + 2 + _CHECKS:
            return []
        places = {feature.expression: i for i, feature in enumerate(self._table[0])}
        plain = [places.get(Name(name)) for name in self._parameters]
        linear = tuple(i for i in plain if i is not None)
        if len(linear) < count:
            return []
        others = (i for i in range(len(self._table[0])) if i not in linear)
        found = (self._solve((*linear, other), y) for other in others)
        return [candidate for candidate in found if candidate is not None]

    def _exact(self, y: Column, terms: int) -> list[_Candidate] | None:
        """Every exact candidate with that many terms; ``None``: too many to look at."""
        found = []
        looked_at = 0
        for groups in self._screen.combinations(y, terms):
            for chosen in product(*(self._screen.members[group] for group in groups)):
                looked_at += 1
                if looked_at > _MOST_CANDIDATES:
                    return None
                candidate = self._solve(chosen, y)
                if candidate is not None:
                    found.append(candidate)
        return found

    def _rows(self, chosen: Sequence[int], points: Sequence[int] | slice = slice(None)) -> Column:
        """(1, f1, .. ft) at the points, one point a row."""
        columns = self._table[1][list(chosen)][:, points]
        return np.concatenate([np.ones((1, columns.shape[1]), dtype=np.int64), columns]).T

    def _solve(self, chosen: tuple[int, ...], y: Column) -> _Candidate | None:
        """Solved with the points that are not held out, checked on all."""
        rows = self._rows(chosen)
        at = self._solving
        basis = basis_rows(rows[at])
        determined = basis is not None
        if basis is None:
            # Exact maybe, but nothing is left to check it: looked at only to be refused.
            at = np.arange(len(rows))
            basis = basis_rows(rows)
            if basis is None:
                return None
        solving = at[basis]
        values = y[solving].tolist()
        solved = [
            sum(a * b for a, b in zip(row, values, strict=True))
            for row in inverse(rows[solving].tolist())
        ]
        if not all(solved[1:]):
            return None  # fewer terms would do
        common = lcm(*(value.denominator for value in solved))
        scaled = np.array([int(value * common) for value in solved], dtype=object)
        if (rows.astype(object) @ scaled != y.astype(object) * common).any():
            return None
        if common != 1:
            return _Candidate(chosen, None, (), determined)
        constant, *coefficients = (int(value) for value in solved)
        return _Candidate(chosen, constant, tuple(coefficients), determined)

    def _is_beyond_first(self, candidate: _Candidate) -> bool:
        return any(self._table[0][i].beyond_first for i in candidate.chosen)

    def _simplest(self, exact: Sequence[_Candidate], y: Column) -> Expression | None:
        acceptable: list[tuple[tuple[object, ...], Expression]] = []
        domain = {name: self._domain[:, i] for i, name in enumerate(self._parameters)}
        agreed: Column | None = None
        for candidate in exact:
            if candidate.constant is None or not candidate.determined:
                continue
            if not self._supported(candidate.chosen):
                continue
            expression, key = self._expression(candidate)
            if not never_negative(
                expression, dict(zip(self._parameters, self._ranges, strict=True))
            ):
                continue
            values = evaluate_many(expression, domain)
            if agreed is None:
                agreed = values
            elif (values != agreed).any():
                return None
            acceptable.append((key, expression))
        if not acceptable:
            return None
        _, best = min(acceptable, key=lambda item: item[0])
        points = {name: self._points[:, i] for i, name in enumerate(self._parameters)}
        if (evaluate_many(best, points) != y).any():
            raise AssertionError(f"{to_text(best)} does not meet the counts it was solved from")
        return best

    def _expression(self, candidate: _Candidate) -> tuple[Expression, tuple[object, ...]]:
        """The formula, and what it is sorted by among those of as many terms."""
        assert candidate.constant is not None
        constant = candidate.constant
        terms: list[tuple[int, Expression]] = []
        used = sorted(
            zip((self._table[0][i] for i in candidate.chosen), candidate.coefficients, strict=True),
            key=lambda item: (item[0].rank, min(item[0].parameters), to_text(item[0].expression)),
        )
        for feature, coefficient in used:
            if feature.complement is not None and coefficient < 0 <= constant + coefficient:
                # What is skipped from a threshold on is better said as what is done below it.
                terms.append((-coefficient, feature.complement))
                constant += coefficient
            else:
                terms.append((coefficient, feature.expression))
        expression = combine(terms, constant)
        numbers = [constant, *(coefficient for coefficient, _ in terms)]
        key = (
            _quantities(feature for feature, _ in used),
            sum(number < 0 for number in numbers),
            [feature.rank for feature, _ in used],
            sum(abs(number) for number in numbers),
            to_text(expression),
        )
        return expression, key

    def _supported(self, chosen: tuple[int, ...]) -> bool:
        """Whether the points check every quantity of the formula."""
        used = [self._table[0][i] for i in chosen]
        parameters = sorted(frozenset().union(*(feature.parameters for feature in used)))
        first = [i for i in chosen if self._table[0][i].first_value]
        if len(parameters) == 1 and first:
            # The first value is a case of its own: the rest must do without it.
            (parameter,) = parameters
            rest = np.flatnonzero(self._points[:, parameter] > self._ranges[parameter][0])
            chosen = tuple(i for i in chosen if i not in first)
        else:
            rest = np.arange(len(self._points))
        return self._checked(chosen, parameters, rest)

    def _checked(self, chosen: tuple[int, ...], parameters: list[int], at: Column) -> bool:
        used = [self._table[0][i] for i in chosen]
        points = self._points[at]
        alone = all(
            distinct == 1 for i, distinct in enumerate(self._distinct) if i not in parameters
        )
        for parameter in parameters:
            if self._complete[parameter] and not (alone and len(parameters) == 1):
                continue  # every value was seen, and each of them several times
            here = [feature for feature in used if parameter in feature.parameters]
            observed = np.unique(points[:, parameter])
            if len(observed) < _quantities(here) + _CHECKS or not _pieces(
                parameter, here, observed
            ):
                return False
        if not all(self._complete[parameter] for parameter in parameters):
            # The same values again, at other values of a parameter that the formula does not
            # use, say nothing about the values in between.
            kept = np.unique(points[:, parameters], axis=0, return_index=True)[1]
            at = at[kept]
        if len(at) < _quantities(used) + _CHECKS:
            return False
        return survives_loss_of_two(self._rows(chosen, at.tolist()))
