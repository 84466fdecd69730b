"""Formulas over parameters: parse, evaluate, print.

Formulas are small, integer-exact and total: ``+ - *``, ``min max ceil floor log2`` and
comparisons. ``formula.lark`` is the grammar, :mod:`wcetchar.model.expression` the syntax tree,
``docs/reference/formulas.md`` the description for people.
"""

from __future__ import annotations

from wcetchar.formula.columns import evaluate_many
from wcetchar.formula.evaluation import evaluate
from wcetchar.formula.parser import parse
from wcetchar.formula.printer import to_text
from wcetchar.formula.rules import MAX_CHARACTERS, MAX_DEPTH, MAX_NUMBER, check
from wcetchar.model.expression import Expression

__all__ = [
    "MAX_CHARACTERS",
    "MAX_DEPTH",
    "MAX_NUMBER",
    "evaluate",
    "evaluate_many",
    "names",
    "parse",
    "to_text",
]


def names(expression: Expression) -> frozenset[str]:
    """The parameters that the formula uses.

    Raises:
        InputError: the tree is no formula.
    """
    return check(expression)
