"""Estimates held against what was measured."""

from wcetchar.validation.comparison import compare
from wcetchar.validation.explanation import explain
from wcetchar.validation.overhead import overhead_of

__all__ = ["compare", "explain", "overhead_of"]
