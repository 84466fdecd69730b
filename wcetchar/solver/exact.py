"""Sparse systems of linear equations, solved in exact numbers.

Gaussian elimination. A simplex basis of a flow problem is a spanning tree and a few rows beside,
so nearly every equation has one unknown left when its turn comes, or has an unknown that no other
has: these are put aside with hardly any arithmetic, and only the rest fills up. Pivots are chosen
for few other entries: H. M. Markowitz, "The elimination form of the inverse and its application
to linear programming", Management Science 3 (1957).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

Exact = Fraction | int
"""A whole number takes a tenth of the time of the same as a fraction."""
Row = tuple[Mapping[int, Exact], Exact]
"""Coefficients by number of the unknown, and the right side."""


def solve_rows(rows: Sequence[Row]) -> dict[int, Exact] | None:
    """The values of all unknowns; ``None``: there is not exactly one answer, or as many unknowns
    as equations."""
    return _System(rows).solved()


class _System:
    def __init__(self, rows: Sequence[Row]) -> None:
        self.left = {
            n: {k: whole(v) for k, v in row.items() if v} for n, (row, _) in enumerate(rows)
        }
        self.right = [whole(value) for _, value in rows]
        self.users: dict[int, set[int]] = {}
        for number, row in self.left.items():
            for unknown in row:
                self.users.setdefault(unknown, set()).add(number)
        self.short = [n for n, row in self.left.items() if len(row) <= 1]
        self.lonely = [unknown for unknown, found in self.users.items() if len(found) == 1]

    def solved(self) -> dict[int, Exact] | None:
        if len(self.users) != len(self.left):
            return None
        aside: list[tuple[int, dict[int, Exact], Exact]] = []
        while self.left:
            pivot = self._pivot()
            if pivot is None:
                return None
            number, unknown = pivot
            aside.append((unknown, self._removed(number, unknown), self.right[number]))
        values: dict[int, Exact] = {}
        for unknown, row, rest in reversed(aside):
            for other, coefficient in row.items():
                if other != unknown:
                    rest -= coefficient * values[other]
            values[unknown] = ratio(rest, row[unknown])
        return values

    def _pivot(self) -> tuple[int, int] | None:
        """An equation and an unknown that it is solved for."""
        while self.short:
            number = self.short.pop()
            if number in self.left:
                found = next(iter(self.left[number]), None)
                return None if found is None else (number, found)
        while self.lonely:
            unknown = self.lonely.pop()
            found_in = self.users.get(unknown, set())
            if len(found_in) == 1:
                return next(iter(found_in)), unknown
        number = min(self.left, key=lambda n: (len(self.left[n]), n))
        return number, min(self.left[number], key=lambda u: (len(self.users[u]), u))

    def _removed(self, number: int, unknown: int) -> dict[int, Exact]:
        """Take an equation out, and its unknown out of all others."""
        row = self.left.pop(number)
        for other in row:
            self.users[other].discard(number)
        for target in self.users.pop(unknown):
            mine = self.left[target]
            factor = ratio(mine.pop(unknown), row[unknown])
            self.right[target] = whole(self.right[target] - factor * self.right[number])
            for other, coefficient in row.items():
                if other == unknown:
                    continue
                value = whole(mine.get(other, 0) - factor * coefficient)
                if value:
                    mine[other] = value
                    self.users[other].add(target)
                elif other in mine:
                    del mine[other]
                    self.users[other].discard(target)
            if len(mine) <= 1:
                self.short.append(target)
        self.lonely.extend(u for u in row if u != unknown and len(self.users[u]) == 1)
        return row


def whole(value: Exact) -> Exact:
    """The same number, as an ``int`` where it is one."""
    return value.numerator if value.denominator == 1 else value


def ratio(one: Exact, other: Exact) -> Exact:
    if other in (1, -1):
        return one if other == 1 else -one
    return whole(Fraction(one) / other)
