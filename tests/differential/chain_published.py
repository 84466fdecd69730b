"""The published characterization, evaluated without wcetchar: JSON and Python's own parser."""

from __future__ import annotations

import ast
import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

from chain_oracle import ALL_INTERRUPTS, Blocking, Counts, Key

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


@cache
def _parsed(formula: str) -> ast.expr:
    return ast.parse(formula, mode="eval").body


def evaluate(formula: str, values: Mapping[str, int]) -> int:
    found = _value(_parsed(formula), values)
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


@dataclass
class Published:
    """A ``counts`` object, taken apart once for all points.

    Attributes:
        rows: repetition and counts of each row; ``points``: the same by values of the parameters,
            where a table is published.
    """

    rows: list[tuple[str, Counts]]
    points: dict[tuple[int, ...], list[tuple[str, Counts]]] | None

    @classmethod
    def of(cls, counts: Mapping[str, Any]) -> Published:
        if "points" not in counts:
            return cls(_rows(counts["rows"]), None)
        tables = {tuple(point["values"]): _rows(point["rows"]) for point in counts["points"]}
        return cls([], tables)

    def at(self, values: Mapping[str, int]) -> Counts:
        """All rows at one point of the parameters, by blocking form."""
        found: Counts = Counter()
        rows = self.rows if self.points is None else self.points[tuple(values.values())]
        for repetition, counts in rows:
            times = evaluate(repetition, values)
            assert times >= 0, repetition
            for key, count in counts.items():
                found[key] += times * count
        return +found


def counts_at(counts: Mapping[str, Any], values: Mapping[str, int]) -> Counts:
    return Published.of(counts).at(values)


def _rows(rows: list[dict[str, Any]]) -> list[tuple[str, Counts]]:
    found = []
    for row in rows:
        counts: Counts = Counter()
        for entry in row["counts"]:
            counts[_blocking(row.get("blocking", {})), _key(entry)] += entry["count"]
        found.append((row.get("repetition", "1"), counts))
    return found


UNKNOWN = -2
"""In the place of a priority: a mask was written whose value wcetchar could not tell."""


def _blocking(form: Mapping[str, Any]) -> Blocking:
    assert set(form) <= {"priority", "preemption", "interrupts", "unknown"}, form
    masked = form.get("priority")
    if form.get("interrupts"):
        assert masked is None, form
        masked = ALL_INTERRUPTS
    return (UNKNOWN if form.get("unknown") else masked, form.get("preemption", False))


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
