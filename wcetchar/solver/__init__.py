"""Linear and integer programs, solved by HiGHS and checked again in exact numbers."""

from wcetchar.solver.program import Constraint, LinearProgram, Variable, lp_text
from wcetchar.solver.proved import Contradiction, Proved, Unbounded, bound_by, maximum
from wcetchar.solver.solve import Solution, Unsolvable, solve

__all__ = [
    "Constraint",
    "Contradiction",
    "LinearProgram",
    "Proved",
    "Solution",
    "Unbounded",
    "Unsolvable",
    "Variable",
    "bound_by",
    "lp_text",
    "maximum",
    "solve",
]
