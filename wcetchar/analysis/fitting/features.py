"""The families of functions that counts of kernel services are made of.

A feature is one function of the parameters, up to a factor and a constant: both are solved for.
The families, in the order of preference between formulas that are otherwise equally simple (p, q
are parameters, m one of :data:`MODULI`, k an integer):

====  ===========================================================================
rank  features
====  ===========================================================================
0     p
1     ceil(p/m), floor(p/m)
2     floor((p + k)/m), 0 < k < m - 1 (k = m - 1 is ceil(p/m))
3     max(0, p - k)
4     min(p, k)
5     p > k
6     floor(log2(p)), ceil(log2(p)), floor(log2(p + 1))
7     p*p, floor(p*(p - 1)/2), floor(p*(p + 1)/2)
8     p - m*floor(p/m)
9     p*q
10    p*ceil(q/m), p*floor(q/m), p*(q > k)
11    min(p, q), max(0, p - q), max(0, q - p), p > q, q > p
====  ===========================================================================
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np
from numpy.typing import NDArray

from wcetchar.analysis.fitting.terms import difference, number, plus, product, quotient, remainder
from wcetchar.model.expression import (
    Call,
    Compare,
    Comparison,
    Expression,
    Function,
    Name,
    Number,
)

MODULI = (2, 3, 4, 5, 8, 12, 16, 32, 64)
"""Bytes to words and bursts, fields of structures; 3, 5 and 12 for structures of odd sizes."""

_WIDEST_SWEEP = 128
"""Up to this spread every integer is tried as a threshold, beyond it those next to a point."""

_LARGEST_FACTOR = 2**31
"""Products of parameters are left out above this magnitude, so that int64 holds them."""

Column = NDArray[np.int64]

_Fitted = tuple[str, int, int]
"""What it is ("modulus", "offset" or :data:`THRESHOLD`), the parameter's index, the value."""

THRESHOLD = "threshold"

_PLAIN: frozenset[_Fitted] = frozenset()


def _modulus(i: int, m: int, k: int = 0) -> frozenset[_Fitted]:
    return frozenset({("modulus", i, m), ("offset", i, k)} if k else {("modulus", i, m)})


def _threshold(i: int, k: int) -> frozenset[_Fitted]:
    return frozenset({(THRESHOLD, i, k)})


@dataclass(frozen=True)
class Feature:
    """One function of the parameters.

    Attributes:
        shape: what is fitted besides the coefficient: each m and k, with its parameter. Features of
            one formula can share them.
        parameters: indices of the parameters that it uses.
        first_value: the feature is ``p > k`` with k the least value of p's declared range.
        beyond_first: it is max(0, p - k) with k next above that value, so p - k but for the first.
        complement: for comparisons, the opposite one: 1 minus the feature.
    """

    expression: Expression
    rank: int
    shape: frozenset[_Fitted]
    parameters: frozenset[int]
    first_value: bool = False
    complement: Expression | None = None
    beyond_first: bool = False


def features(
    parameters: Sequence[str], points: Column, domain: Column, ranges: Sequence[tuple[int, int]]
) -> tuple[list[Feature], Column]:
    """Every feature that the points can show, and its values at the points.

    Args:
        points: the observed points, one a row.
        domain: further points of the declared ranges, on which features that are the same function
            are recognised; the first of them in the order of preference is kept.

    Returns:
        The features and an array of shape (features, points).
    """
    count = len(points)
    values = np.concatenate([points, domain])
    found: list[Feature] = []
    columns: list[Column] = []
    seen: set[bytes] = set()
    for feature, column in _candidates(parameters, values, points, ranges):
        centred = column - column[0]
        if not centred[:count].any():
            continue
        key = centred.tobytes()
        if key not in seen:
            seen.add(key)
            found.append(feature)
            columns.append(column[:count])
    table = np.array(columns, dtype=np.int64).reshape(len(columns), count)
    return found, table


def _candidates(
    parameters: Sequence[str], values: Column, points: Column, ranges: Sequence[tuple[int, int]]
) -> Iterator[tuple[Feature, Column]]:
    """In the order of preference within each parameter; parameters in their own order."""
    varying = [i for i in range(len(parameters)) if len(np.unique(points[:, i])) > 1]
    single: list[tuple[Feature, Column]] = []
    for i in varying:
        single.extend(
            _of_one(i, Name(parameters[i]), values[:, i], np.unique(points[:, i]), ranges[i])
        )
    double: list[tuple[Feature, Column]] = []
    for i, j in combinations(varying, 2):
        double.extend(_of_two(i, j, parameters, values, points))
    yield from sorted([*single, *double], key=lambda candidate: candidate[0].rank)


def _thresholds(observed: Column) -> list[int]:
    """Every k for which p > k could hold for some of the points and not for others."""
    lowest, highest = int(observed[0]), int(observed[-1])
    if highest - lowest <= _WIDEST_SWEEP:
        return list(range(lowest, highest))
    near = {int(v) + step for v in observed for step in (-1, 0, 1)}
    return sorted(k for k in near if lowest <= k < highest)


def _steps(p: Expression, column: Column, observed: Column) -> Iterator[tuple[int, int, Column]]:
    """(modulus, k, column) of floor((p + k)/m); two steps at least must be among the points."""
    for m in MODULI:
        for k in range(m):
            if len(np.unique((observed + k) // m)) >= 3:
                yield m, k, (column + k) // m


def _of_one(
    i: int, p: Name, column: Column, observed: Column, declared: tuple[int, int]
) -> Iterator[tuple[Feature, Column]]:
    me = frozenset({i})
    yield Feature(p, 0, _PLAIN, me), column
    for m, k, steps in _steps(p, column, observed):
        if k in (0, m - 1):
            function = Function.CEIL if k else Function.FLOOR
            yield Feature(quotient(function, p, m), 1, _modulus(i, m), me), steps
        else:
            yield Feature(quotient(Function.FLOOR, plus(p, k), m), 2, _modulus(i, m, k), me), steps
    thresholds = _thresholds(observed)
    for k in thresholds:
        # A slope has three levels at least; with two it is a threshold, which comes below.
        below, above = int((observed < k).sum()), int((observed > k).sum())
        if above >= 2 and len(observed) - above >= 2:
            hinge = Call(Function.MAX, (Number(0), plus(p, -k)))
            beyond = k == declared[0] + 1
            yield (
                Feature(hinge, 3, _threshold(i, k), me, beyond_first=beyond),
                np.maximum(column - k, 0),
            )
        if above >= 2 and below >= 2:
            yield (
                Feature(Call(Function.MIN, (p, number(k))), 4, _threshold(i, k), me),
                np.minimum(column, k),
            )
    for k in thresholds:
        yield _comparison(i, p, k, declared), (column > k).astype(np.int64)
    for text, argument, log in _logs(p, column):
        feature = Feature(Call(text, (Call(Function.LOG2, (argument,)),)), 6, _PLAIN, me)
        if len(np.unique(log)) >= 3:
            yield feature, log
    if int(np.abs(column).max()) <= _LARGEST_FACTOR:
        yield Feature(product(p, p), 7, _PLAIN, me), column * column
        for step in (-1, 1):
            half = quotient(Function.FLOOR, product(p, plus(p, step)), 2)
            yield Feature(half, 7, _PLAIN, me), column * (column + step) // 2
    for m in MODULI:
        if len(np.unique(observed // m)) >= 3:
            yield Feature(remainder(p, m), 8, _modulus(i, m), me), column - m * (column // m)


def _comparison(i: int, p: Name, k: int, declared: tuple[int, int]) -> Feature:
    first = k == declared[0]
    bound = number(k)
    return Feature(
        Compare(Comparison.GREATER, p, bound),
        5,
        _threshold(i, k),
        frozenset({i}),
        first,
        Compare(Comparison.EQUAL if first else Comparison.LESS_EQUAL, p, bound),
    )


_POWERS = np.array([1 << k for k in range(63)], dtype=np.int64)


def _logs(p: Name, column: Column) -> Iterator[tuple[Function, Expression, Column]]:
    def floor(of: Column) -> Column:
        return np.searchsorted(_POWERS, np.maximum(of, 1), side="right").astype(np.int64) - 1

    yield Function.FLOOR, p, floor(column)
    yield Function.CEIL, p, np.searchsorted(_POWERS, column, side="left").astype(np.int64)
    yield Function.FLOOR, plus(p, 1), floor(column + 1)


def _of_two(
    i: int, j: int, parameters: Sequence[str], values: Column, points: Column
) -> Iterator[tuple[Feature, Column]]:
    both = frozenset({i, j})
    if int(np.abs(values[:, [i, j]]).max()) <= _LARGEST_FACTOR:
        yield (
            Feature(product(Name(parameters[i]), Name(parameters[j])), 9, _PLAIN, both),
            values[:, i] * values[:, j],
        )
        for one, other in permutations((i, j)):
            p, q = Name(parameters[one]), Name(parameters[other])
            column, scale = values[:, other], values[:, one]
            observed = np.unique(points[:, other])
            for m, k, steps in _steps(q, column, observed):
                if k in (0, m - 1):
                    function = Function.CEIL if k else Function.FLOOR
                    feature = Feature(
                        product(p, quotient(function, q, m)), 10, _modulus(other, m), both
                    )
                    yield feature, scale * steps
            for k in _thresholds(observed):
                gate = Compare(Comparison.GREATER, q, number(k))
                yield (
                    Feature(product(p, gate), 10, _threshold(other, k), both),
                    scale * (column > k),
                )
    p, q = Name(parameters[i]), Name(parameters[j])
    one_column, other_column = values[:, i], values[:, j]
    yield (
        Feature(Call(Function.MIN, (p, q)), 11, _PLAIN, both),
        np.minimum(one_column, other_column),
    )
    for left, right, excess in (
        (p, q, one_column - other_column),
        (q, p, other_column - one_column),
    ):
        hinge = Call(Function.MAX, (Number(0), difference(left, right)))
        yield Feature(hinge, 11, _PLAIN, both), np.maximum(excess, 0)
        yield (
            Feature(
                Compare(Comparison.GREATER, left, right),
                11,
                _PLAIN,
                both,
                complement=Compare(Comparison.LESS_EQUAL, left, right),
            ),
            (excess > 0).astype(np.int64),
        )
