"""What the observed points can and cannot say about a formula.

A formula that is linear in its features is *determined* by points whose rows (1, f1, .. ft) have
full rank. Being determined is not enough: it has to be checked. The measure used here is how many
points may be left out, whichever they are, so that the rest still determine it. A formula that
survives the loss of any two has every coefficient checked by two points beyond those that it takes
to find it; a kink or a threshold at the edge of the sweep has not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

_P = 2**31 - 1

Column = NDArray[np.int64]


def basis_rows(rows: Column) -> list[int] | None:
    """Indices of as many independent rows as there are columns, or ``None`` without full rank.

    Computed modulo a prime: rows found independent are so over the rationals.
    """
    work = rows % _P
    chosen: list[int] = []
    for column in range(rows.shape[1]):
        candidates = np.flatnonzero(work[:, column])
        if not len(candidates):
            return None
        pivot = int(candidates[0])
        chosen.append(pivot)
        inverse = pow(int(work[pivot, column]), -1, _P)
        scaled = work[pivot] * inverse % _P
        work = (work - work[:, [column]] * scaled % _P) % _P
    return chosen


def inverse(matrix: Sequence[Sequence[int]]) -> list[list[Fraction]]:
    """Of an invertible square matrix, exact."""
    size = len(matrix)
    work = [
        [Fraction(value) for value in row] + [Fraction(int(i == j)) for j in range(size)]
        for i, row in enumerate(matrix)
    ]
    for column in range(size):
        pivot = next(r for r in range(column, size) if work[r][column])
        work[column], work[pivot] = work[pivot], work[column]
        lead = work[column][column]
        work[column] = [value / lead for value in work[column]]
        for r in range(size):
            factor = work[r][column]
            if r != column and factor:
                work[r] = [a - factor * b for a, b in zip(work[r], work[column], strict=True)]
    return [row[size:] for row in work]


def survives_loss_of_two(rows: Column) -> bool:
    """Whether any two of the rows can be left out and the rest still has full rank.

    With B some independent rows and X the others, the matrix (X B**-1 | -1) vanishes on exactly
    the vectors of values that the features can produce. One of them is nonzero at two rows or fewer
    exactly if that matrix has a zero column or two parallel columns.
    """
    basis = basis_rows(rows)
    if basis is None or len(rows) < rows.shape[1] + 2:
        return False
    inverted = inverse([[int(value) for value in rows[b]] for b in basis])
    scale = 1
    for row in inverted:
        for value in row:
            scale = scale * value.denominator // np.gcd.reduce([scale, value.denominator])
    integral = np.array([[int(value * scale) for value in row] for row in inverted], dtype=object)
    rest = np.delete(rows, basis, axis=0).astype(object)
    product = rest @ integral
    if (np.count_nonzero(product, axis=0) < 2).any():
        return False
    for one, other in combinations(range(product.shape[1]), 2):
        lead = int(np.flatnonzero(product[:, one])[0])
        minors = product[:, other] * product[lead, one] - product[:, one] * product[lead, other]
        if not minors.any():
            return False
    return True


def untested_interactions(points: Column) -> Iterator[tuple[int, int]]:
    """Pairs of parameters that both vary but never so that their interaction would show.

    As a graph (values of one, values of the other, an edge for each combination observed): without
    a cycle every vector of counts is a sum of a function of the one and a function of the other.
    """
    for one, other in combinations(range(points.shape[1]), 2):
        edges = np.unique(points[:, [one, other]], axis=0)
        left = np.unique(edges[:, 0], return_inverse=True)[1].ravel()
        right = np.unique(edges[:, 1], return_inverse=True)[1].ravel()
        if left.max() and right.max() and not _has_cycle(left, right + left.max() + 1):
            yield one, other


def _has_cycle(left: Column, right: Column) -> bool:
    parent = list(range(int(right.max()) + 1))

    def root(node: int) -> int:
        while parent[node] != node:
            node = parent[node]
        return node

    for one, other in zip(left.tolist(), right.tolist(), strict=True):
        a, b = root(one), root(other)
        if a == b:
            return True
        parent[a] = b
    return False
