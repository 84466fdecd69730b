"""Solving a program with HiGHS, the only user of highspy.

A solver computes in floating point and calls an answer feasible that misses a constraint by a
tolerance. Nothing leaves here unchecked: values of whole variables are rounded to whole numbers,
all others are taken as the fractions that the floating-point numbers are, and every constraint is
evaluated again exactly.

* Of a program of whole variables the answer is exact: it holds or there is none. * Of a program
with continuous variables the answer says by how much each constraint is missed (at most a tiny
  amount). Whoever asked repairs it in the direction that is safe for him; ``Solution.missed``
  tells.

HiGHS: Q. Huangfu and J. A. J. Hall, "Parallelizing the dual revised simplex method", 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import highspy
import numpy as np

from wcetchar.errors import NoSoundBound
from wcetchar.solver.program import Constraint, LinearProgram

_WHOLE: Final = Fraction(1, 1000)
"""How far a whole variable may lie beside a whole number before the answer is not believed."""


class Unsolvable(NoSoundBound):
    """No values fulfil the constraints, the objective has no least value, or the solver gave up."""


@dataclass(frozen=True)
class Solution:
    """``objective`` is that of ``values``, exactly. ``missed``: label -> by how much that
    constraint is missed; those that hold are left out."""

    values: Mapping[str, Fraction]
    objective: Fraction
    missed: Mapping[str, Fraction]


def solve(
    program: LinearProgram, *, seconds: float | None = None, nodes: int | None = None
) -> Solution:
    """The least value of the objective.

    Args:
        nodes: of a program of whole variables, the answer is the best one that was found by so
            many.

    Raises:
        Unsolvable: see there; also where the exact check of a whole program fails.
    """
    solver = quiet_solver()
    if seconds is not None:
        solver.setOptionValue("time_limit", seconds)
    if nodes is not None:
        solver.setOptionValue("mip_max_nodes", nodes)
    solver.passModel(highs_model(program))
    solver.run()
    status = solver.getModelStatus()
    if status != highspy.HighsModelStatus.kOptimal and not _stopped(solver, status):
        raise Unsolvable(
            f"the program has no answer: {solver.modelStatusToString(status)}",
            expected="constraints that can all hold, and an objective with a least value",
        )
    found = list(solver.getSolution().col_value)
    values: dict[str, Fraction] = {}
    for variable, value in zip(program.variables, found, strict=True):
        exact = Fraction(value)
        if variable.integer:
            near = Fraction(round(exact))
            if abs(near - exact) > _WHOLE:
                raise Unsolvable(
                    f"the solver's answer for {variable.name} is {value}",
                    expected="a whole number",
                )
            exact = near
        exact = max(exact, variable.lower)
        if variable.upper is not None:
            exact = min(exact, variable.upper)
        values[variable.name] = exact
    missed = {
        constraint.label: by
        for constraint in program.constraints
        if (by := _missed(constraint, values)) > 0
    }
    if missed and all(variable.integer for variable in program.variables):
        label, by = next(iter(missed.items()))
        raise Unsolvable(
            f"the solver's answer misses the constraint {label} by {by}",
            expected="an answer that holds exactly",
        )
    objective = sum((c * values[n] for n, c in program.objective.items()), start=Fraction(0))
    return Solution(values, objective, missed)


def _stopped(solver: highspy.Highs, status: highspy.HighsModelStatus) -> bool:
    """By the number of nodes, with an answer."""
    feasible = highspy.SolutionStatus.kSolutionStatusFeasible
    limit = status == highspy.HighsModelStatus.kSolutionLimit
    return limit and solver.getInfo().primal_solution_status == int(feasible)


def _missed(constraint: Constraint, values: Mapping[str, Fraction]) -> Fraction:
    total = sum((c * values[n] for n, c in constraint.coefficients.items()), start=Fraction(0))
    below = Fraction(0) if constraint.lower is None else constraint.lower - total
    above = Fraction(0) if constraint.upper is None else total - constraint.upper
    return max(below, above, Fraction(0))


def quiet_solver() -> highspy.Highs:
    """HiGHS that prints nothing and gives the same answer on every machine."""
    solver = highspy.Highs()  # type: ignore[no-untyped-call]
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("threads", 1)
    solver.setOptionValue("random_seed", 0)
    return solver


def highs_model(program: LinearProgram) -> highspy.HighsLp:
    """The program in floating point, in the order of its variables and constraints."""
    column = {variable.name: n for n, variable in enumerate(program.variables)}
    infinite = highspy.kHighsInf
    model = highspy.HighsLp()
    model.num_col_ = len(program.variables)
    model.num_row_ = len(program.constraints)
    model.col_cost_ = np.array(
        [float(program.objective.get(v.name, 0)) for v in program.variables], dtype=np.double
    )
    model.col_lower_ = np.array([float(v.lower) for v in program.variables], dtype=np.double)
    model.col_upper_ = np.array(
        [infinite if v.upper is None else float(v.upper) for v in program.variables],
        dtype=np.double,
    )
    model.row_lower_ = np.array(
        [-infinite if c.lower is None else float(c.lower) for c in program.constraints],
        dtype=np.double,
    )
    model.row_upper_ = np.array(
        [infinite if c.upper is None else float(c.upper) for c in program.constraints],
        dtype=np.double,
    )
    starts, indices, values = [0], [], []
    for constraint in program.constraints:
        for name, value in constraint.coefficients.items():
            if value:
                indices.append(column[name])
                values.append(float(value))
        starts.append(len(indices))
    model.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    model.a_matrix_.start_ = np.array(starts, dtype=np.int32)
    model.a_matrix_.index_ = np.array(indices, dtype=np.int32)
    model.a_matrix_.value_ = np.array(values, dtype=np.double)
    if any(variable.integer for variable in program.variables):
        model.integrality_ = [
            highspy.HighsVarType.kInteger if v.integer else highspy.HighsVarType.kContinuous
            for v in program.variables
        ]
    return model
