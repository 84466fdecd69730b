"""Exact formulas for observed counts, and their decomposition into repetitions."""

from wcetchar.analysis.fitting.decompose import decompose
from wcetchar.analysis.fitting.fit import fit, hold_out_points

__all__ = ["decompose", "fit", "hold_out_points"]
