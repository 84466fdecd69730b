"""The script that works figures out on a page: its files, each of which says on top what it does.

Each makes one constant of what others may use, so the order is the only thing that links them; the
last one's, ``wcetcharEvaluator``, is for the page.
"""

from __future__ import annotations

from typing import Final

from wcetchar.report.pages import part

FILES: Final = (
    "evaluator_numbers.js",
    "evaluator_quantity.js",
    "evaluator_formulas.js",
    "evaluator_prices.js",
    "evaluator_counts.js",
    "evaluator_chains.js",
    "evaluator_blocking.js",
    "evaluator_estimate.js",
    "evaluator_search.js",
    "evaluator_flow.js",
    "evaluator_layers.js",
    "evaluator_paths.js",
    "evaluator.js",
)
"""Of the templates, in order."""


def script() -> str:
    """All of it."""
    return part(*FILES)
