"""Writes the tables of docs/reference/zephyr.md from summaries of `wcetchar characterize --json`.

python docs/generate_zephyr.py [PAGE.md] BOARD DUMB.json [MULTIQ.json [SCALABLE.json]]
    [OPTION=SUMMARY.json ...] [[--counted] BOARD ...]

The summaries are those of rtos_tests/zephyr on a board with the three schedulers, and with options
of the kernel; whoever has a Zephyr workspace can make them, see the page. Later boards with the
dumb scheduler alone, and those behind --counted, are only counted. PAGE.md is another page of
docs/reference.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

from counted_calls import BY_ANOTHER, CHARACTERIZED, NOT, Group, calls_table
from ruamel.yaml import YAML

from wcetchar.report.summary import length_text, published, share

SUITE = Path(__file__).resolve().parents[1] / "rtos_tests" / "zephyr"
PAGES = Path(__file__).parent / "reference"
BEGIN, END = "<!-- tables: begin -->\n", "<!-- tables: end -->\n"
NAMES = ("dumb", "multiq", "scalable")

CALLS = """\
*Not at all* are services that a run should show and does not. Functions of
`include/zephyr/kernel.h` that no service calls stand in
[`not-characterized.yaml`](../../rtos_tests/zephyr/not-characterized.yaml), or with the service that
stands for them in [`stands-for.yaml`](../../rtos_tests/zephyr/stands-for.yaml), each with its
reason; all of its functions, counted:
"""

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


def whole(total: Polynomial) -> Polynomial:
    """(p == k) and (p > k) with one coefficient are that coefficient: k is the least value of p."""
    for key, c in list(total.items()):
        if len(key) == 1 and " == " in key[0]:
            other = (key[0].replace(" == ", " > "),)
            if total.get(other) == c:
                rest = {k: v for k, v in total.items() if k not in (key, other)}
                return whole(added(rest, {(): c}))
    return total


def instructions(service: dict[str, Any]) -> str:
    """Instructions of all trace sections together."""
    if service["form"] != "formula":
        # Of a table, the summary has the dearest point.
        return f"table, at most {sum(count for _, _, count in service['sections']):,}"
    total: Polynomial = {}
    for repetition, _, count in service["sections"]:
        one = polynomial(ast.parse(repetition, mode="eval").body)
        total = added(total, {key: count * c for key, c in one.items()})
    total = whole(total)
    text = ""
    for key in sorted(total, key=lambda key: (len(key), key)):
        c = total[key]
        factors = [*([] if abs(c) == 1 and key else [str(abs(c))]), *key]
        sign = (" - " if c < 0 else " + ") if text else ("-" if c < 0 else "")
        text += sign + "*".join(factors)
    return f"`{text or 0}`"


Boards = dict[str, list[Summary]]
Options = dict[str, dict[str, Summary]]
"""Summaries by board and option of the kernel."""


def counted(boards: Boards, options: Options) -> list[str]:
    lines = [
        "| board | scheduler | services and parts | by exact formula | of all | by table "
        "| estimates | not at all |",
        "|---|---|---|---|---|---|---|---|",
    ]
    all_of_them: Counter[str] = Counter()
    for board, summaries in boards.items():
        with_option = {f"dumb, {name}": s for name, s in options.get(board, {}).items()}
        for name, found in {**dict(zip(NAMES, summaries, strict=False)), **with_option}.items():
            forms = Counter(published(s["form"], s["word"]) for s in found["services"])
            forms["missing"] = len(found["not_characterized"])
            lines.append(f"| {board} | {name} | {_row(forms)} |")
            all_of_them += forms
    return [*lines, f"| all | | {_row(all_of_them)} |"]


def _row(forms: Counter[str]) -> str:
    total = forms.total()
    formula, table, estimates = (forms[form] for form in ("formula", "table", "estimate"))
    cells = (total, formula, share(formula, total), table, estimates, forms["missing"])
    return " | ".join(map(str, cells))


def calls() -> str:
    """Functions of the kernel's header by what became of them: those that a service drives, and
    those that are listed. A test in a workspace shows that the header has no other."""
    entries: set[str] = set()
    names: set[str] = set()
    for path in sorted(SUITE.glob("*.yaml")):
        described = YAML(typ="safe", pure=True).load(path).get("services")
        for name, service in (described if isinstance(described, dict) else {}).items():
            names.add(name)
            entries.update(service.get("entries", ()))
    driver = "".join(path.read_text(encoding="utf-8") for path in SUITE.glob("src/*.[ch]"))
    read = YAML(typ="safe", pure=True).load
    listed = [(NOT, group) for group in read(SUITE / "not-characterized.yaml")["left out"]]
    listed += [(BY_ANOTHER, group) for group in read(SUITE / "stands-for.yaml")["stands for"]]
    left_out = {name for _, group in listed for name in group["calls"]}
    driven = {
        call
        for call in re.findall(r"\b(k_[a-z0-9_]+)\(", driver)
        if {call, f"z_impl_{call}"} & entries
        or any(name == call or name.startswith(f"{call}_") for name in names)
    }
    groups = [Group(CHARACTERIZED, "a service calls it", len(driven - left_out))]
    groups += [Group(fate, group["because"], len(group["calls"])) for fate, group in listed]
    return calls_table(groups)


def place(end: dict[str, Any]) -> str:
    text = f"{Path(end['file']).name}:{end['line']}"
    if end.get("inlined_line"):
        text += f", inlined {Path(end['inlined_file']).name}:{end['inlined_line']}"
    return text


def longest(board: str, scheduler: str, summary: Summary) -> list[str]:
    lines = [f"Longest stretches on {board} with the scheduler *{scheduler}*, in instructions:", ""]
    for title, key in (
        ("interrupts masked", "longest_interrupts"),
        ("preemption held off", "longest_preemption"),
    ):
        lines += [f"| {title} | service | from | to |", "|---|---|---|---|"]
        for stretch in summary[key]:
            at = ", ".join(f"{k} = {v}" for k, v in stretch["parameters"].items())
            ends = [
                f"`{end['function']}` ({place(end)})" for end in (stretch["begin"], stretch["end"])
            ]
            where = f"{stretch['service']}" + (f" at {at}" if at else "")
            lines.append(f"| {length_text(stretch)} | {where} | {ends[0]} | {ends[1]} |")
        lines.append("")
    return lines


def services(board: str, summaries: list[Summary]) -> list[str]:
    names = NAMES[: len(summaries)]
    lines = [f"Instructions of each service on {board}:", ""]
    lines += [f"| service | parameters | {' | '.join(names)} |", "|---|---|" + "---|" * len(names)]
    by_name = [{s["service"]: s for s in found["services"]} for found in summaries]
    for name, service in {k: v for found in reversed(by_name) for k, v in found.items()}.items():
        columns = [instructions(found[name]) if name in found else "" for found in by_name]
        columns[1:] = [
            "the same" if other and other == columns[0] else other for other in columns[1:]
        ]
        parameters = ", ".join(service["parameters"])
        lines.append(f"| {name} | {parameters} | {' | '.join(columns)} |")
    return [*lines, ""]


def brought(board: str, options: dict[str, Summary]) -> list[str]:
    """What options of the kernel bring."""
    lines = [f"Instructions of what options of the kernel bring, on {board}:", ""]
    lines += ["| service | option | parameters | dumb |", "|---|---|---|---|"]
    for option, summary in options.items():
        for service in summary["services"]:
            row = (service["service"], option, ", ".join(service["parameters"]))
            lines.append(f"| {' | '.join(row)} | {instructions(service)} |")
    return [*lines, ""] if options else []


def tables(boards: Boards, options: Options, only_counted: set[str]) -> str:
    lines = [*counted(boards, options), "", CALLS, calls()]
    for number, (board, summaries) in enumerate(boards.items()):
        if number == 0 or (len(summaries) > 1 and board not in only_counted):
            for scheduler, summary in zip(NAMES, summaries, strict=False):
                lines += longest(board, scheduler, summary)
            lines += services(board, summaries) + brought(board, options.get(board, {}))
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    page = PAGES / "zephyr.md"
    if not any(argument.endswith(".json") for argument in arguments):
        raise SystemExit(__doc__)
    if arguments[0].endswith(".md"):
        page, arguments = PAGES / arguments[0], arguments[1:]
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    boards: Boards = {}
    options: Options = {}
    board, only_counted = "", set[str]()
    for at, argument in enumerate(arguments):
        if argument == "--counted":
            only_counted |= set(arguments[at + 1 :])
            continue
        option, _, path = argument.rpartition("=")
        if not path.endswith(".json"):
            board = argument
            boards[board] = []
            continue
        summary = json.loads(Path(path).read_text(encoding="utf-8"))
        if option:
            options.setdefault(board, {})[option] = summary
        else:
            boards[board].append(summary)
    page.write_text(
        before + BEGIN + tables(boards, options, only_counted) + END + after, encoding="utf-8"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
