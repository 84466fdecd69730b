"""The published characterization, evaluated without wcetchar: JSON and Python's own parser."""

from __future__ import annotations

import ast
import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from chain_oracle import Blocking, Counts, Key

_BINARY: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: lambda a, b: Fraction(a) / b,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.GtE: operator.ge,
    ast.Gt: operator.gt,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "ceil": math.ceil,
    "floor": math.floor,
}


def evaluate(formula: str, values: Mapping[str, int]) -> int:
    found = _value(ast.parse(formula, mode="eval").body, values)
    assert found == int(found), formula
    return int(found)


def _value(node: ast.expr, values: Mapping[str, int]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, ast.Name):
        return values[node.id]
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)](_value(node.left, values), _value(node.right, values))
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, values)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        right = _value(node.comparators[0], values)
        return int(_BINARY[type(node.ops[0])](_value(node.left, values), right))
    assert isinstance(node, ast.Call), ast.dump(node)
    assert isinstance(node.func, ast.Name)
    return _FUNCTIONS[node.func.id](*(_value(argument, values) for argument in node.args))


def counts_at(counts: Mapping[str, Any], values: Mapping[str, int]) -> Counts:
    """All rows of a ``counts`` object at one point of the parameters, by blocking form."""
    if "points" in counts:
        rows = next(
            point["rows"] for point in counts["points"] if point["values"] == list(values.values())
        )
    else:
        rows = counts["rows"]
    found: Counts = Counter()
    for row in rows:
        times = evaluate(row.get("repetition", "1"), values)
        assert times >= 0, row
        for entry in row["counts"]:
            found[_blocking(row.get("blocking", {})), _key(entry)] += times * entry["count"]
    return +found


ALL_INTERRUPTS = -1
"""In the place of a priority."""


def _blocking(form: Mapping[str, Any]) -> Blocking:
    assert set(form) <= {"priority", "preemption", "interrupts"}, form
    masked = ALL_INTERRUPTS if form.get("interrupts") else form.get("priority")
    return (masked, form.get("preemption", False))


def _key(entry: Mapping[str, Any]) -> Key:
    if "event" in entry:
        return (entry["section"], entry["event"])
    return (entry["section"], entry["operation"], str(entry["width"]), entry["pattern"])


def by_key(counts: Counts) -> Counter[Key]:
    """Summed over all blocking forms."""
    found: Counter[Key] = Counter()
    for (_, key), count in counts.items():
        found[key] += count
    return found
