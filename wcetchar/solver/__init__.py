"""Linear and integer programs, solved by HiGHS and checked again in exact numbers."""

from wcetchar.solver.program import Constraint, LinearProgram, Variable, lp_text
from wcetchar.solver.solve import Solution, Unsolvable, solve

__all__ = [
    "Constraint",
    "LinearProgram",
    "Solution",
    "Unsolvable",
    "Variable",
    "lp_text",
    "solve",
]
