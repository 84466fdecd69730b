"""Writes the tables of docs/reference/zephyr.md and zephyr-riscv.md.

wcetchar campaign rtos_tests/zephyr/campaign.yaml -o zephyr-cells
python docs/generate_zephyr.py zephyr-cells

The campaign needs a Zephyr workspace, see the page. Where its cells went to several folders, name
all of them. A page is written if every cell of it is there; else it stays as it is, and what is
missing is named. Without a folder, only the tables of the kernel's public calls are written, which
no workspace is needed for.
"""

from __future__ import annotations

import ast
import json
import re
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from counted_calls import BY_ANOTHER, CHARACTERIZED, NOT, Group, calls_table
from ruamel.yaml import YAML

from wcetchar.model.campaign import Cell
from wcetchar.report.summary import length_text, published, share
from wcetchar.store import load_campaign

SUITE = Path(__file__).resolve().parents[1] / "rtos_tests" / "zephyr"
PAGES = Path(__file__).parent / "reference"
MARKS = "<!-- {}: begin -->\n", "<!-- {}: end -->\n"
NAMES = ("dumb", "multiq", "scalable")
OF_PAGES: Final[Mapping[str, tuple[str, ...]]] = {
    "zephyr.md": ("mps2-an385", "qemu_cortex_m3"),
    "zephyr-riscv.md": ("qemu_riscv32",),
}
"""Boards of each page, as the campaign names them. The first one's services are listed, the others'
only counted."""
WHOLE = "services"
"""The suite that is not an option's own."""

CALLS = """\
*Not at all* are services that a run should show and does not. Functions and macros of
`include/zephyr/kernel.h` that no service calls stand in
[`not-characterized.yaml`](../../rtos_tests/zephyr/not-characterized.yaml), or with the service that
stands for them in [`stands-for.yaml`](../../rtos_tests/zephyr/stands-for.yaml), each with its
reason ([by name](zephyr-services.md#calls-that-another-service-stands-for)); all of them, counted:
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


def call_groups() -> list[tuple[str, str, set[str]]]:
    """Functions and macros of the kernel's header by what became of them, and why: those that a
    service drives, and those that are listed. A test in a workspace shows that these are all."""
    entries: set[str] = set()
    names: set[str] = set()
    read = YAML(typ="safe", pure=True).load
    for path in sorted(SUITE.glob("*.yaml")):
        described = read(path).get("services")
        for name, service in (described if isinstance(described, dict) else {}).items():
            names.add(name)
            entries.update(service.get("entries", ()))
    driver = "".join(path.read_text(encoding="utf-8") for path in SUITE.glob("src/*.[ch]"))
    listed = [(NOT, group) for group in read(SUITE / "not-characterized.yaml")["left out"]]
    listed += [(BY_ANOTHER, group) for group in read(SUITE / "stands-for.yaml")["stands for"]]
    groups = [(fate, group["because"], set(group["calls"])) for fate, group in listed]
    driven = {
        call
        for call in re.findall(r"\b(k_[a-z0-9_]+)\(", driver)
        if {call, f"z_impl_{call}"} & entries
        or any(name == call or name.startswith(f"{call}_") for name in names)
    }
    for _, _, others in groups:
        driven -= others
    return [(CHARACTERIZED, "a service calls it", driven), *groups]


def calls() -> str:
    groups = [Group(fate, why, len(names)) for fate, why, names in call_groups()]
    return f"{CALLS}\n{calls_table(groups)}"


def place(end: dict[str, Any]) -> str:
    """In files by their path below the kernel's folder, or below the workspace."""
    text = f"{end['file'].removeprefix('zephyr/')}:{end['line']}"
    if end.get("inlined_line"):
        text += f", inlined {end['inlined_file'].removeprefix('zephyr/')}:{end['inlined_line']}"
    return text


def longest(board: str, scheduler: str, summary: Summary) -> list[str]:
    scheduler = scheduler.replace(", ", "* and *")
    lines = [f"Longest stretches on {board} with *{scheduler}*, in instructions:", ""]
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


def differing(board: str, summaries: list[Summary], base: str, usual: list[Summary]) -> list[str]:
    """Services of a board that count other instructions there than on the first one."""
    with_each = zip(NAMES, summaries, usual, strict=True)
    by_name: dict[str, dict[str, str]] = {}
    parameters = {}
    for scheduler, found, there in with_each:
        known = {service["service"]: instructions(service) for service in there["services"]}
        for service in found["services"]:
            name, here = service["service"], instructions(service)
            parameters[name] = ", ".join(service["parameters"])
            if here != known.get(name):
                by_name.setdefault(name, {})[scheduler] = here
    lines = [f"Instructions on {board}, where they are others than on {base}:", ""]
    lines += [f"| service | parameters | {' | '.join(NAMES)} |", "|---|---|" + "---|" * len(NAMES)]
    for name, found in by_name.items():
        cells = " | ".join(found.get(scheduler, "") for scheduler in NAMES)
        lines.append(f"| {name} | {parameters[name]} | {cells} |")
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


def tables(boards: Boards, options: Options) -> str:
    begin, end = (mark.format("calls") for mark in MARKS)
    lines = [*counted(boards, options), "", f"{begin}{calls()}{end}"]
    for board, summaries in boards.items():
        for scheduler, summary in zip(NAMES, summaries, strict=True):
            lines += longest(board, scheduler, summary)
    for board, own in options.items():
        for option, summary in own.items():
            lines += longest(board, f"dumb, {option}", summary)
    (base, usual), *others = boards.items()
    lines += services(base, usual) + brought(base, options.get(base, {}))
    for board, summaries in others:
        lines += differing(board, summaries, base, usual)
    return "\n".join(lines)


def finished(folders: Iterable[Path]) -> dict[str, Summary]:
    """Summaries of all cells that are there, by name; of two with one name, the first."""
    found: dict[str, Summary] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*/cell.json"))):
        record = json.loads(path.read_text(encoding="utf-8"))
        summary = (record.get("characterization") or {}).get("summary")
        if summary is not None:
            found.setdefault(path.parent.name, summary)
    return found


def cells_of(page: str) -> list[Cell]:
    """In the order of the schedulers."""
    cells = load_campaign(str(SUITE / "campaign.yaml")).cells()
    return [cell for cell in cells if cell.values["board"] in OF_PAGES[page]]


def tables_of(page: str, summaries: Mapping[str, Summary]) -> str:
    """Of a page all of whose cells are there."""
    boards: Boards = {}
    options: Options = {}
    for cell in cells_of(page):
        board, suite = cell.variables["zephyr_board"], cell.values["suite"]
        if suite == WHOLE:
            boards.setdefault(board, []).append(summaries[cell.name])
        else:
            options.setdefault(board, {})[suite] = summaries[cell.name]
    return tables(boards, options)


def replaced(text: str, what: str, by: str) -> str:
    """``text`` with ``by`` between the marks that say ``what``."""
    begin, end = (mark.format(what) for mark in MARKS)
    before, rest = text.split(begin)
    _, after = rest.split(end)
    return before + begin + by + end + after


def main(folders: list[str]) -> int:
    summaries = finished(map(Path, folders))
    stay = 0
    for name in OF_PAGES:
        page = PAGES / name
        text = page.read_text(encoding="utf-8")
        missing = [cell.name for cell in cells_of(name) if cell.name not in summaries]
        if not folders:
            text = replaced(text, "calls", calls())
        elif missing:
            stay += 1
            print(f"{name} stays as it is; not there: {', '.join(missing)}", file=sys.stderr)
            continue
        else:
            text = replaced(text, "tables", tables_of(name, summaries))
        page.write_text(text, encoding="utf-8")
    return 1 if stay else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
