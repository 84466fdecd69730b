"""The largest value of an objective, with a proof that no other is larger.

A solver's answer is a feasible point: of a maximum that is a *lower* bound. That nothing is larger
takes a proof, and it is linear: with any multipliers y of the rows a_i x,

    c x  =  sum of y_i * (a_i x)  +  sum of d_j * x_j,         d = c - y A
        <=  sum of y_i * (upper_i if y_i > 0 else lower_i)  +  sum of d_j * (high_j or low_j)

(weak duality). The right side is computed in exact numbers, so it holds whatever y is; HiGHS only
proposes the basis that y is solved for exactly. ``Proved.multipliers`` is the certificate, and
``bound_by`` evaluates it: who does not trust this module needs nothing else of it.

Where floating point chose a basis that is not quite optimal, some d_j is slightly above 0, and x_j
may have no upper bound. Then y is repaired: with multipliers z that prove sum of x_j <= U over all
such j, so that (z A)_j >= 1 there, y + t * z with t = max d_j has no d_j above 0, and costs t * U.

Of whole variables with whole costs the value is whole, so bounds are rounded down to multiples of
the greatest common divisor of the costs. Where the relaxation's optimum is not whole, branch and
bound goes on (A. H. Land and A. G. Doig, 1960): each leaf has a certificate of its own, a leaf
without points is given up only for multipliers that prove c x < c x of nothing at all (Farkas), and
what is left open counts with its bound. So ``bound`` is at least the true maximum in any case.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.solver.exact import Exact, whole
from wcetchar.solver.program import Constraint, LinearProgram
from wcetchar.solver.relaxation import Bounds, Relaxation, Relaxed
from wcetchar.solver.solve import Unsolvable

MAX_LEAVES: Final = 200
"""Programs that branch and bound solves; some seconds of work."""


class Contradiction(Unsolvable):
    """No values fulfil the constraints; ``rows``: numbers of some that contradict each other."""

    def __init__(self, rows: tuple[int, ...], message: str) -> None:
        self.rows = rows
        super().__init__(message, expected="constraints that can all hold")


class Unbounded(Unsolvable):
    """The objective grows without end; ``variables``: names of those that grow."""

    def __init__(self, variables: tuple[str, ...]) -> None:
        self.variables = variables
        super().__init__(
            f"nothing bounds {', '.join(variables)}",
            expected="constraints that bound the objective",
        )


@dataclass(frozen=True)
class Proved:
    """A maximum.

    Attributes:
        values: of a point that fulfils everything exactly; ``None``: none was found.
        objective: there.
        bound: no point has more.
        multipliers: number of a constraint -> y; the certificate of ``bound`` where the program
            was not branched (``leaves`` is 1), else of the relaxation. Zeros are left out.
        used: numbers of constraints that the proof of ``bound`` needs.
        leaves: relaxations that were solved.
    """

    values: Mapping[str, Fraction] | None
    objective: Fraction | None
    bound: Fraction
    multipliers: Mapping[int, Fraction]
    used: frozenset[int]
    leaves: int

    @property
    def gap(self) -> Fraction | None:
        """By how much the bound may be too high."""
        return None if self.objective is None else self.bound - self.objective


def maximum(program: LinearProgram, *, leaves: int = MAX_LEAVES) -> Proved:
    """The largest value of the program's objective.

    Raises:
        Contradiction: no point fulfils the constraints.
        Unbounded: the objective has no largest value.
        Unsolvable: the solver gave up, and nothing is proved.
    """
    return _Search(program).run(leaves)


def bound_by(program: LinearProgram, multipliers: Mapping[int, Exact]) -> Fraction | None:
    """What multipliers prove of the objective's maximum; ``None``: nothing."""
    rest: dict[str, Exact] = {name: whole(cost) for name, cost in program.objective.items()}
    total: Exact = 0
    for number, y in multipliers.items():
        if not y:
            continue
        row = program.constraints[number]
        side = row.upper if y > 0 else row.lower
        if side is None:
            return None
        total += y * whole(side)
        for name, coefficient in row.coefficients.items():
            rest[name] = rest.get(name, 0) - y * whole(coefficient)
    for variable in program.variables:
        reduced = rest.get(variable.name, 0)
        if reduced > 0:
            if variable.upper is None:
                return None
            total += reduced * whole(variable.upper)
        elif reduced < 0:
            total += reduced * whole(variable.lower)
    return Fraction(total)


class _Search:
    def __init__(self, program: LinearProgram) -> None:
        self.program = program
        self.relaxation = Relaxation(program)
        self.whole = {v.name for v in program.variables if v.integer}
        self.step = self._step()
        self.best: Mapping[str, Fraction] | None = None
        self.objective: Fraction | None = None

    def _step(self) -> Fraction | None:
        """Every value of the objective is a multiple of it; ``None``: of nothing."""
        costs = [cost for name, cost in self.program.objective.items() if cost]
        if any(name not in self.whole for name, cost in self.program.objective.items() if cost):
            return None
        if not costs:
            return None
        scale = math.lcm(*(Fraction(cost).denominator for cost in costs))
        return Fraction(math.gcd(*(int(cost * scale) for cost in costs)), scale)

    def _down(self, bound: Fraction) -> Fraction:
        return bound if self.step is None else bound // self.step * self.step

    def run(self, leaves: int) -> Proved:
        root = self.relaxation.solved({})
        if root is None:
            rows = self.relaxation.conflict()
            named = "; ".join(self.program.constraints[n].label for n in rows) or "all of them"
            raise Contradiction(rows, f"the constraints contradict each other: {named}")
        if root.bound is None:
            growing = self.relaxation.growing()
            if growing:
                raise Unbounded(growing)
            raise Unsolvable(
                "the solver proved no upper bound", expected="a program that it can solve"
            )
        self._offer(root.values)
        bound: Fraction | None = self._down(root.bound)
        used, solved = set(root.used), 1
        if self._open(self._down(root.bound)) and self.whole:
            if self.best is None:
                self._offer(self.relaxation.whole_values())
            bound, more, solved = self._branched(root, leaves)
            used |= more
        multipliers = {n: Fraction(y) for n, y in root.multipliers.items() if y}
        if self.best is None and bound is None:
            raise Contradiction((), "no whole numbers fulfil the constraints")
        assert bound is not None
        return Proved(self.best, self.objective, bound, multipliers, frozenset(used), solved)

    def _open(self, bound: Fraction) -> bool:
        """A point may be there that is better than the best."""
        return self.objective is None or bound > self.objective

    def _offer(self, values: Mapping[str, Fraction] | None) -> None:
        """A point, if it fulfils everything and is better."""
        if values is None or any(values[name].denominator != 1 for name in self.whole):
            return
        if not fulfils(self.program, values):
            return
        reached = value_of(self.program, values)
        if self.objective is None or reached > self.objective:
            self.best, self.objective = values, reached

    def _branched(self, root: Relaxed, leaves: int) -> tuple[Fraction | None, set[int], int]:
        """The largest bound of all leaves; ``None``: there is no point."""
        assert root.bound is not None
        waiting: list[tuple[Fraction, int, Bounds, Relaxed]] = [(-root.bound, 0, {}, root)]
        closed: list[Fraction] = []
        used: set[int] = set()
        solved = 1
        while waiting and self._open(self._down(-waiting[0][0])):
            name = self._fraction(waiting[0][3])
            if solved + 2 > leaves or name is None:
                break
            negative, _, bounds, relaxed = heapq.heappop(waiting)
            assert relaxed.values is not None
            below = relaxed.values[name] // 1
            for low, high in ((None, below), (below + 1, None)):
                solved += 1
                inner = self._narrowed(bounds, name, low, high)
                try:
                    found = self.relaxation.solved(inner)
                except Unsolvable:
                    closed.append(-negative)
                    continue
                if found is None:
                    empty = self.relaxation.proved_empty(inner)
                    if empty is None:
                        closed.append(-negative)  # the solver says so, and it is not proved
                    else:
                        used |= empty
                    continue
                used |= found.used
                self._offer(found.values)
                bound = -negative if found.bound is None else min(found.bound, -negative)
                if not self._open(self._down(bound)):
                    closed.append(bound)
                else:
                    heapq.heappush(waiting, (-bound, solved, inner, found))
        bounds_left = [self._down(one) for one in (*closed, *(-w[0] for w in waiting))]
        if self.objective is not None:
            bounds_left.append(self.objective)
        return max(bounds_left, default=None), used, solved

    def _fraction(self, relaxed: Relaxed) -> str | None:
        """A variable that should be whole and is not."""
        if relaxed.values is None:
            return None
        parts = {
            v.name: abs(relaxed.values[v.name] % 1 - Fraction(1, 2))
            for v in self.program.variables
            if v.integer and relaxed.values[v.name].denominator != 1
        }
        return min(parts, key=lambda name: parts[name], default=None)

    def _narrowed(self, bounds: Bounds, name: str, low: Exact | None, high: Exact | None) -> Bounds:
        before = bounds.get(name, self.relaxation.own_bounds(name))
        return {
            **bounds,
            name: (
                before[0] if low is None else max(before[0], Fraction(low)),
                before[1] if high is None else Fraction(high),
            ),
        }


def fulfils(program: LinearProgram, values: Mapping[str, Fraction]) -> bool:
    """Every constraint and every bound holds, exactly."""
    return all(
        v.lower <= values[v.name] and (v.upper is None or values[v.name] <= v.upper)
        for v in program.variables
    ) and all(_holds(row, values) for row in program.constraints)


def value_of(program: LinearProgram, values: Mapping[str, Fraction]) -> Fraction:
    return sum((c * values[n] for n, c in program.objective.items()), start=Fraction(0))


def _holds(row: Constraint, values: Mapping[str, Fraction]) -> bool:
    total: Exact = 0
    for name, coefficient in row.coefficients.items():
        value = values[name]
        if value:
            total += whole(coefficient) * whole(value)
    return (row.lower is None or row.lower <= total) and (row.upper is None or total <= row.upper)
