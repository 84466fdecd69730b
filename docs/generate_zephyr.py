"""Writes the tables of docs/reference/zephyr.md from summaries of `wcetchar characterize --json`.

python docs/generate_zephyr.py DUMB.json MULTIQ.json SCALABLE.json

The summaries are those of rtos_tests/zephyr on mps2-an385 with the three schedulers; whoever has a
Zephyr workspace can make them, see the page.
"""

from __future__ import annotations

import ast
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent / "reference" / "zephyr.md"
BEGIN, END = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"
NAMES = ("dumb", "multiq", "scalable")

Summary = dict[str, Any]


Polynomial = dict[tuple[str, ...], Fraction]
"""Coefficients by monomial: the sorted names of its factors."""


def polynomial(node: ast.expr) -> Polynomial:
    """A repetition multiplied out. `floor` stands only around n*(n + 1)/2, which is whole already;
    what is no polynomial stays as it is, as a factor of its own."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return {(): Fraction(node.value)}
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "floor":
        inner = polynomial(node.args[0])
        if len(inner) == 2 and all(abs(c) == Fraction(1, 2) for c in inner.values()):
            return inner
    if isinstance(node, ast.BinOp):
        left, right = polynomial(node.left), polynomial(node.right)
        if isinstance(node.op, ast.Add | ast.Sub):
            sign = 1 if isinstance(node.op, ast.Add) else -1
            return added(left, {key: sign * c for key, c in right.items()})
        if isinstance(node.op, ast.Mult):
            found: Polynomial = {}
            for one, c in left.items():
                for two, d in right.items():
                    found = added(found, {tuple(sorted((*one, *two))): c * d})
            return found
        if isinstance(node.op, ast.Div) and set(right) == {()}:
            return {key: c / right[()] for key, c in left.items()}
    text = ast.unparse(node)
    return {(text if isinstance(node, ast.Name | ast.Call) else f"({text})",): Fraction(1)}


def added(left: Polynomial, right: Polynomial) -> Polynomial:
    both = {key: left.get(key, Fraction(0)) + right.get(key, Fraction(0)) for key in left | right}
    return {key: c for key, c in both.items() if c}


def instructions(service: dict[str, Any]) -> str:
    """Instructions of all trace sections together."""
    if service["form"] != "formula":
        # Of a table, the summary has the dearest point.
        return f"table, at most {sum(count for _, _, count in service['sections']):,}"
    total: Polynomial = {}
    for repetition, _, count in service["sections"]:
        one = polynomial(ast.parse(repetition, mode="eval").body)
        total = added(total, {key: count * c for key, c in one.items()})
    text = ""
    for key in sorted(total, key=lambda key: (len(key), key)):
        c = total[key]
        factors = [*([] if abs(c) == 1 and key else [str(abs(c))]), *key]
        sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
        text += sign + "*".join(factors)
    return f"`{text or 0}`"


def tables(summaries: list[Summary]) -> str:
    lines = [
        "| scheduler | services and parts | by exact formula | by table | not at all |",
        "|---|",
    ]
    lines[1] += "---|" * 4
    for name, found in zip(NAMES, summaries, strict=False):
        formula, table, missing = (
            found["by_formula"],
            found["by_table"],
            len(found["not_characterized"]),
        )
        lines.append(f"| {name} | {formula + table + missing} | {formula} | {table} | {missing} |")
    lines += ["", "Longest stretches with the scheduler *dumb*, in instructions:", ""]
    for title, key in (
        ("interrupts masked", "longest_interrupts"),
        ("preemption held off", "longest_preemption"),
    ):
        lines += [f"| {title} | service | from | to |", "|---|---|---|---|"]
        for stretch in summaries[0][key]:
            at = ", ".join(f"{k} = {v}" for k, v in stretch["parameters"].items())
            ends = [
                f"`{end['function']}` ({Path(end['file']).name}:{end['line']})"
                for end in (stretch["begin"], stretch["end"])
            ]
            where = f"{stretch['service']}" + (f" at {at}" if at else "")
            length = f"{stretch['whole']:,}"
            if stretch["follows"]:
                parts = [f"{stretch['instructions']:,}"]
                parts += [f"{f['instructions']:,} of {f['service']}" for f in stretch["follows"]]
                length += f" = {' + '.join(parts)}"
            lines.append(f"| {length} | {where} | {ends[0]} | {ends[1]} |")
        lines.append("")
    lines += ["Instructions of each service:", ""]
    names = NAMES[: len(summaries)]
    lines += [f"| service | parameters | {' | '.join(names)} |", "|---|---|" + "---|" * len(names)]
    by_name = [{s["service"]: s for s in found["services"]} for found in summaries]
    for name, service in by_name[0].items():
        columns = [instructions(found[name]) if name in found else "" for found in by_name]
        columns[1:] = ["the same" if other == columns[0] else other for other in columns[1:]]
        parameters = ", ".join(service["parameters"])
        lines.append(f"| {name} | {parameters} | {' | '.join(columns)} |")
    return "\n".join(lines) + "\n"


def main(paths: list[str]) -> None:
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    summaries = [json.loads(Path(path).read_text(encoding="utf-8")) for path in paths]
    PAGE.write_text(before + BEGIN + tables(summaries) + END + after, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
