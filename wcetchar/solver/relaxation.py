"""The linear relaxation of a program to be maximised: HiGHS finds a basis, and what it means is
solved exactly (``exact``). ``proved`` says what is done with it.

Source of the idea: D. L. Applegate, W. Cook, S. Dash and D. G. Espinoza, "Exact solutions to linear
programming problems", Operations Research Letters 35 (2007).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Final

import highspy
import numpy as np

from wcetchar.solver.exact import Exact, Row, solve_rows, whole
from wcetchar.solver.program import Constraint, LinearProgram, Variable
from wcetchar.solver.solve import Unsolvable, highs_model, quiet_solver

Bounds = Mapping[str, tuple[Fraction, Fraction | None]]
"""Of variables that have others than their own."""
_LARGEST_COST: Final = 1 << 16
"""Of the costs that HiGHS sees: its tolerances are absolute."""
_TOLERANCE: Final = 1e-7
_TOLERANCES: Final = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")
_MIP_NODES: Final = 2000
_STATUS: Final = highspy.HighsModelStatus
_ATTEMPTS: Final[tuple[dict[str, str | float], ...]] = (
    {},
    {"presolve": "off"},
    {"presolve": "off", "simplex_strategy": 4},  # the primal method
    {"solver": "ipm"},
    dict.fromkeys(_TOLERANCES, 1e-5),
)
_CLEAR: Final = (_STATUS.kOptimal, _STATUS.kInfeasible, _STATUS.kUnbounded)


@dataclass(frozen=True)
class Relaxed:
    """An optimum of the relaxation.

    Attributes:
        values: of the basis, exactly; ``None``: not found.
        bound: what ``multipliers`` prove; ``None``: nothing.
        used: numbers of the constraints that have a multiplier.
    """

    values: Mapping[str, Fraction] | None
    bound: Fraction | None
    multipliers: Mapping[int, Exact]

    @property
    def used(self) -> frozenset[int]:
        return frozenset(n for n, y in self.multipliers.items() if y)


_NOTHING: Final = Relaxed(None, None, {})
_EMPTY: Final = Relaxed({}, Fraction(0), {})


class Relaxation:
    """Of one program, to be solved with other bounds of its variables."""

    def __init__(self, program: LinearProgram) -> None:
        self.program = program
        self.names = [variable.name for variable in program.variables]
        self.column = {name: n for n, name in enumerate(self.names)}
        self.costs: list[Exact] = [whole(program.objective.get(name, 0)) for name in self.names]
        self.rows: list[dict[int, Exact]] = [
            {self.column[name]: whole(c) for name, c in row.coefficients.items() if c}
            for row in program.constraints
        ]
        self.columns: list[dict[int, Exact]] = [{} for _ in self.names]
        for number, row in enumerate(self.rows):
            for column, coefficient in row.items():
                self.columns[column][number] = coefficient

    def own_bounds(self, name: str) -> tuple[Fraction, Fraction | None]:
        variable = self.program.variables[self.column[name]]
        return variable.lower, variable.upper

    def solved(self, bounds: Bounds) -> Relaxed | None:
        """The optimum; ``None``: there is no point, as the solver says, which proves nothing.

        Raises:
            Unsolvable: the solver gave up.
        """
        limits = [bounds.get(name, self.own_bounds(name)) for name in self.names]
        if any(high is not None and high < low for low, high in limits):
            return None
        if not self.names:
            sides = ((row.lower or 0, row.upper or 0) for row in self.program.constraints)
            return None if any(low > 0 or high < 0 for low, high in sides) else _EMPTY
        solver, status = self._run(limits)
        if status == _STATUS.kInfeasible:
            return None
        if status == _STATUS.kUnbounded:
            return _NOTHING
        if status != _STATUS.kOptimal:
            raise Unsolvable(
                f"the solver gave up: {solver.modelStatusToString(status)}",
                expected="a program that it can solve",
            )
        basis = _Basis(solver)
        return self._proved(self._multipliers(basis, solver), limits, self._values(basis, limits))

    def _run(
        self, limits: Sequence[tuple[Fraction, Fraction | None]]
    ) -> tuple[highspy.Highs, highspy.HighsModelStatus]:
        """Solved as far as it goes; presolve may not tell why there is no optimum, and very small
        tolerances may not be met."""
        for options in _ATTEMPTS:
            solver = self._solver(limits, relaxed=True)
            for option, value in options.items():
                solver.setOptionValue(option, value)
            solver.run()
            status = solver.getModelStatus()
            if status in _CLEAR:
                break
        return solver, status

    def _solver(
        self, limits: Sequence[tuple[Fraction, Fraction | None]], *, relaxed: bool
    ) -> highspy.Highs:
        model = highs_model(self.program)
        if relaxed:
            model.integrality_ = []
        factor = self._scale
        model.col_cost_ = np.array([float(-cost * factor) for cost in self.costs], dtype=np.double)
        model.col_lower_ = np.array([float(low) for low, _ in limits], dtype=np.double)
        model.col_upper_ = np.array(
            [math.inf if high is None else float(high) for _, high in limits], dtype=np.double
        )
        solver = quiet_solver()
        for option in _TOLERANCES:
            solver.setOptionValue(option, _TOLERANCE)
        solver.passModel(model)
        return solver

    def _multipliers(self, basis: _Basis, solver: highspy.Highs) -> Mapping[int, Exact]:
        """y with y a_j = c_j for each basic column j, and 0 for each basic row."""
        equations: list[Row] = [
            (
                {n: c for n, c in self.columns[j].items() if not basis.row_is_basic(n)},
                self.costs[j],
            )
            for j in range(len(self.names))
            if basis.column_is_basic(j)
        ]
        found = solve_rows(equations)
        if found is not None:
            return found
        duals = solver.getSolution().row_dual
        return {n: whole(-Fraction(float(dual)) / self._scale) for n, dual in enumerate(duals)}

    @cached_property
    def _scale(self) -> Fraction:
        """What costs are multiplied by for HiGHS."""
        largest = max((abs(Fraction(cost)) for cost in self.costs), default=Fraction(0))
        return _LARGEST_COST / largest if largest else Fraction(1)

    def _values(
        self, basis: _Basis, limits: Sequence[tuple[Fraction, Fraction | None]]
    ) -> Mapping[str, Fraction] | None:
        """x with a_i x at its side for each row i that is not basic."""
        fixed: dict[int, Exact] = {}
        for j, (low, high) in enumerate(limits):
            if not basis.column_is_basic(j):
                upper = basis.column_is_at_upper(j) and high is not None
                fixed[j] = whole(high if upper and high is not None else low)
        equations: list[Row] = []
        for number, row in enumerate(self.rows):
            if basis.row_is_basic(number):
                continue
            constraint = self.program.constraints[number]
            side = constraint.upper if basis.row_is_at_upper(number) else constraint.lower
            if side is None:
                side = constraint.lower if side is constraint.upper else constraint.upper
            if side is None:
                return None
            rest: Exact = whole(side)
            for j, coefficient in row.items():
                if fixed.get(j):
                    rest -= coefficient * fixed[j]
            equations.append(({j: c for j, c in row.items() if j not in fixed}, rest))
        found = solve_rows(equations)
        if found is None:
            return None
        return {
            name: Fraction(fixed[j] if j in fixed else found.get(j, 0))
            for j, name in enumerate(self.names)
        }

    def _proved(
        self,
        multipliers: Mapping[int, Exact],
        limits: Sequence[tuple[Fraction, Fraction | None]],
        values: Mapping[str, Fraction] | None,
    ) -> Relaxed:
        y = {n: one for n, one in multipliers.items() if one and self._side(n, one) is not None}
        bound, excess = self._weak(y, limits)
        if excess:
            if self._sum_of_endless is None:
                return Relaxed(values, None, y)
            y = dict(y)
            for number, z in self._sum_of_endless.items():
                y[number] = whole(y.get(number, 0) + excess * z)
            y = {n: one for n, one in y.items() if one and self._side(n, one) is not None}
            bound, excess = self._weak(y, limits)
        return Relaxed(values, None if excess else Fraction(bound), y)

    def _side(self, number: int, y: Exact) -> Fraction | None:
        row = self.program.constraints[number]
        return row.upper if y > 0 else row.lower

    def _weak(
        self, y: Mapping[int, Exact], limits: Sequence[tuple[Fraction, Fraction | None]]
    ) -> tuple[Exact, Exact]:
        """The bound without variables that have no upper bound, and the largest d of these."""
        rest = list(self.costs)
        total: Exact = 0
        for number, one in y.items():
            side = self._side(number, one)
            assert side is not None
            total += one * whole(side)
            for j, coefficient in self.rows[number].items():
                rest[j] -= one * coefficient
        excess: Exact = 0
        for reduced, (low, high) in zip(rest, limits, strict=True):
            if reduced > 0:
                if high is None:
                    excess = max(excess, reduced)
                else:
                    total += reduced * whole(high)
            elif reduced < 0 and low:
                total += reduced * whole(low)
        return whole(total), whole(excess)

    @cached_property
    def _sum_of_endless(self) -> Mapping[int, Exact] | None:
        """z of rows with (z A)_j >= 1 for each variable without an upper bound; ``None``: none
        found."""
        if self._of_endless:
            return None
        ones = {v.name: Fraction(1) for v in self.program.variables if v.upper is None}
        inner = Relaxation(replace(self.program, objective=ones))
        inner.__dict__["_of_endless"] = True
        found = inner.solved({})
        return None if found is None or found.bound is None else found.multipliers

    @cached_property
    def _of_endless(self) -> bool:
        return False

    def whole_values(self) -> Mapping[str, Fraction] | None:
        """A good point of whole variables, rounded and not checked; ``None``: none found."""
        limits = [self.own_bounds(name) for name in self.names]
        solver = self._solver(limits, relaxed=False)
        for option in ("mip_rel_gap", "mip_abs_gap"):
            solver.setOptionValue(option, 0.0)
        solver.setOptionValue("mip_max_nodes", _MIP_NODES)
        solver.run()
        if not math.isfinite(solver.getInfo().objective_function_value):
            return None
        found = solver.getSolution().col_value
        return {
            v.name: Fraction(round(value)) if v.integer else Fraction(float(value))
            for v, value in zip(self.program.variables, found, strict=True)
        }

    def proved_empty(self, bounds: Bounds) -> frozenset[int] | None:
        """Numbers of constraints that no point within the bounds fulfils together, which is proved;
        ``None``: it is not.

        Each row may be missed at a price of 1. If even then the price is above 0, it is not empty.
        """
        limits = [bounds.get(name, self.own_bounds(name)) for name in self.names]
        if any(high is not None and high < low for low, high in limits):
            return frozenset()
        found = Relaxation(self._elastic(limits)).solved({})
        if found is None or found.bound is None or found.bound >= 0:
            return None
        return found.used

    def _elastic(self, limits: Sequence[tuple[Fraction, Fraction | None]]) -> LinearProgram:
        variables = [
            Variable(name, low, high) for name, (low, high) in zip(self.names, limits, strict=True)
        ]
        rows: list[Constraint] = []
        costs: dict[str, Fraction] = {}
        for number, row in enumerate(self.program.constraints):
            coefficients = dict(row.coefficients)
            for sign, side in ((1, row.lower), (-1, row.upper)):
                if side is not None:
                    missed = f"\0{number} {sign}"
                    variables.append(Variable(missed))
                    coefficients[missed] = Fraction(sign)
                    costs[missed] = Fraction(-1)
            rows.append(replace(row, coefficients=coefficients))
        return LinearProgram(tuple(variables), tuple(rows), costs)

    def conflict(self) -> tuple[int, ...]:
        """Numbers of constraints that no point fulfils together; empty where none is found."""
        solver = self._solver([self.own_bounds(name) for name in self.names], relaxed=True)
        solver.setOptionValue("iis_strategy", 2)
        _, found = solver.getIis()
        if found.valid_ and len(found.row_index_):
            return tuple(sorted(int(n) for n in found.row_index_))
        return tuple(sorted(self.proved_empty({}) or ()))

    def growing(self) -> tuple[str, ...]:
        """Variables along which the objective grows without end; empty where none is found."""
        variables = tuple(
            Variable(v.name, Fraction(0), Fraction(1 if v.upper is None else 0))
            for v in self.program.variables
        )
        rows = tuple(
            replace(
                row,
                lower=None if row.lower is None else Fraction(0),
                upper=None if row.upper is None else Fraction(0),
            )
            for row in self.program.constraints
        )
        ray = LinearProgram(variables, rows, self.program.objective)
        found = Relaxation(ray).solved({})
        if found is None or found.values is None:
            return ()
        growing = tuple(name for name in self.names if found.values[name] > 0)
        grows = sum(found.values[n] * c for n, c in self.program.objective.items())
        return growing if grows > 0 else ()


class _Basis:
    """Which columns and rows of an optimum are at one of their bounds."""

    def __init__(self, solver: highspy.Highs) -> None:
        basis = solver.getBasis()
        self._columns, self._rows = list(basis.col_status), list(basis.row_status)

    def column_is_basic(self, number: int) -> bool:
        return bool(self._columns[number] == highspy.HighsBasisStatus.kBasic)

    def column_is_at_upper(self, number: int) -> bool:
        return bool(self._columns[number] == highspy.HighsBasisStatus.kUpper)

    def row_is_basic(self, number: int) -> bool:
        return bool(self._rows[number] == highspy.HighsBasisStatus.kBasic)

    def row_is_at_upper(self, number: int) -> bool:
        return bool(self._rows[number] == highspy.HighsBasisStatus.kUpper)
