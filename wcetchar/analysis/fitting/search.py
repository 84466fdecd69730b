"""Which few features could make up a vector of counts: a screen in modular arithmetic.

Counts y and features f at the observed points are centred (the constant drops out) and projected
on a few random directions modulo a prime P. If y is a rational combination of f1 .. ft, then y and
f1 .. ft are dependent modulo P too, in every projection; so the screen loses nothing, apart from
features whose projection vanishes by accident (about one in 10**12). What it lets through is
checked exactly by the caller.

After y has been eliminated from every feature, y depends on f and g exactly if the two rests are
parallel: equal ratios, found by sorting. For three features one of them is eliminated as well.
That takes F log F steps for pairs and F**2 log F for triples of F features, in place of F**2 and
F**3 systems of equations.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from random import Random

import numpy as np
from numpy.typing import NDArray

_P = 1_048_573  # the largest prime below 2**20: products of two residues, summed, fit int64
_WIDTH = 6

Column = NDArray[np.int64]


@cache
def _inverses() -> Column:
    """inverse[x] * x = 1 modulo P; inverse[0] = 0."""
    powers = np.ones(1, dtype=np.int64)
    step = 2  # a generator of the multiplicative group
    while len(powers) < _P - 1:
        powers = np.concatenate([powers, powers * step % _P])
        step = step * step % _P
    powers = powers[: _P - 1]
    table = np.zeros(_P, dtype=np.int64)
    # 2**k times 2**(P-1-k) is 1.
    table[powers[1:]] = powers[:0:-1]
    table[1] = 1
    return table


@cache
def _directions(count: int) -> Column:
    random = Random(20)  # fixed: the same input gives the same output
    drawn = [[random.randrange(1, _P) for _ in range(_WIDTH)] for _ in range(count)]
    return np.array(drawn, dtype=np.int64).reshape(count, _WIDTH)


def centred(columns: Column) -> Column:
    """Each row minus its first element, which is dropped."""
    return columns[:, 1:] - columns[:, :1]


def _project(rows: Column) -> Column:
    projected: Column = rows % _P @ _directions(rows.shape[1]) % _P
    return projected


class Screen:
    """Combinations of the rows of ``columns`` (features by points) that could give a vector."""

    def __init__(self, columns: Column) -> None:
        rows = centred(columns)
        self.members = _parallel(rows)
        """Features that are parallel at the points; combinations name the first of each."""
        self._first = np.array([group[0] for group in self.members], dtype=np.int64)
        self._rows = _project(rows[self._first])

    def combinations(self, counts: Column, terms: int) -> Iterator[tuple[int, ...]]:
        """Groups (indices into ``members``) that could give ``counts`` with ``terms`` features.

        Combinations that need fewer features may be among them.
        """
        y = _project(centred(counts.reshape(1, -1)))[0]
        nonzero = np.flatnonzero(y)
        if not len(self._rows) or not len(nonzero):
            return iter(())
        pivot = int(nonzero[0])
        others = [c for c in range(_WIDTH) if c != pivot]
        rests = (self._rows[:, others] * y[pivot] - self._rows[:, [pivot]] * y[others]) % _P
        if terms == 1:
            return ((int(i),) for i in np.flatnonzero(~rests.any(axis=1)))
        if terms == 2:
            return _pairs(rests)
        return self._triples(rests)

    def _triples(self, rests: Column) -> Iterator[tuple[int, int, int]]:
        count = len(rests)
        kept = rests[:, :3]
        # Eliminate feature i: its own first nonzero coordinate is the pivot.
        pivots = np.argmax(kept != 0, axis=1)
        order = np.stack([pivots, (pivots + 1) % 3, (pivots + 2) % 3], axis=1)
        own = np.take_along_axis(kept, order, axis=1)
        at = [kept.T[order[:, c]] for c in range(3)]  # at[c][i, j]: coordinate of j in i's order
        first = (at[1] * own[:, [0]] - at[0] * own[:, [1]]) % _P
        second = (at[2] * own[:, [0]] - at[0] * own[:, [2]]) % _P
        ratio = _ratio(first, second)
        # Each triple once: j beyond i only, the rest made unequal to everything.
        ratio = np.where(np.tri(count, dtype=bool), -1 - np.arange(count), ratio)
        ratio[~kept.any(axis=1)] = -1 - np.arange(count)
        order = np.argsort(ratio, axis=1, kind="stable")
        ordered = np.take_along_axis(ratio, order, axis=1)
        row, position = np.nonzero((ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0))
        near, far = order[row, position], order[row, position + 1]
        free = self._independent(row, near, far)
        reported: set[tuple[int, int]] = set()
        for i, value in zip(row[free], ordered[row[free], position[free]], strict=True):
            if (int(i), int(value)) in reported:
                continue
            reported.add((int(i), int(value)))
            group = np.flatnonzero(ratio[i] == value)
            for j, k in combinations(group.tolist(), 2):
                if (
                    _volume(rests, (int(i), j, k)) == 0
                    and self._independent(np.array([i]), np.array([j]), np.array([k])).any()
                ):
                    yield int(i), j, k

    def _independent(self, one: Column, two: Column, three: Column) -> NDArray[np.bool_]:
        """Whether the features themselves, without the counts, are independent."""
        free = np.zeros(len(one), dtype=bool)
        for at in (0, 3):
            a, b, c = (self._rows[index, at : at + 3] for index in (one, two, three))
            cross = np.stack(
                [
                    (b[:, (d + 1) % 3] * c[:, (d + 2) % 3] - b[:, (d + 2) % 3] * c[:, (d + 1) % 3])
                    % _P
                    for d in range(3)
                ],
                axis=1,
            )
            free |= (a * cross).sum(axis=1) % _P != 0
        return free


def _ratio(first: Column, second: Column) -> Column:
    """first/second modulo P; P for a zero denominator; negative, each its own, for 0/0."""
    ratio = first * _inverses()[second] % _P
    ratio = np.where(second == 0, _P, ratio)
    alone = -1 - np.arange(first.shape[-1])
    return np.where((first == 0) & (second == 0), alone, ratio)


def _pairs(rests: Column) -> Iterator[tuple[int, int]]:
    ratio = _ratio(rests[:, 0], rests[:, 1])
    order = np.argsort(ratio, kind="stable")
    ordered = ratio[order]
    edges = np.flatnonzero(np.diff(ordered)) + 1
    for group in np.split(order, edges):
        if len(group) > 1:
            for i, j in combinations(sorted(group.tolist()), 2):
                # A second look, at other directions than those of the ratio.
                if (int(rests[i, 2]) * int(rests[j, 3]) - int(rests[i, 3]) * int(rests[j, 2])) % _P:
                    continue
                yield i, j


def _volume(rests: Column, rows: tuple[int, int, int]) -> int:
    """0 if the rests of three features are dependent in other directions than those sorted by."""
    (a, b, c), (d, e, f), (g, h, i) = rests[list(rows), 2:].tolist()
    volume: int = a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)
    return volume % _P


def _parallel(rows: Column) -> list[list[int]]:
    """Indices of rows that are multiples of each other, in the order of their first member."""
    groups: dict[bytes, list[int]] = {}
    for index, row in enumerate(rows):
        divisor = int(np.gcd.reduce(row)) or 1
        nonzero = np.flatnonzero(row)
        if len(nonzero) and row[nonzero[0]] < 0:
            divisor = -divisor
        groups.setdefault((row // divisor).tobytes(), []).append(index)
    return list(groups.values())
