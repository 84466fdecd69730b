"""Formulas over parameters: parse, evaluate, print.

Formulas are small, integer-exact and total: ``+ - *``, ``min max ceil floor log2`` and
comparisons. ``formula.lark`` is the grammar, :mod:`wcetchar.model.expression` the syntax tree,
``docs/reference/formulas.md`` the description for people.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from wcetchar.formula.evaluation import evaluate
from wcetchar.formula.parser import parse
from wcetchar.formula.printer import to_text
from wcetchar.formula.rules import MAX_CHARACTERS, MAX_DEPTH, MAX_NUMBER, check
from wcetchar.model.expression import Expression

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


def evaluate_many(
    expression: Expression, columns: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.int64]:
    """Values for whole columns: see :func:`wcetchar.formula.columns.evaluate_many`.

    Raises:
        InputError: as there.
    """
    # Only here: of one set of values nobody needs columns, nor the library that holds them.
    from wcetchar.formula import columns as of_columns

    return of_columns.evaluate_many(expression, columns)
