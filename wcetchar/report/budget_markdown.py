"""Figures held against budgets, as a comment of a pull request: failures first, then changes.

Names come from files of strangers and stand in code spans, in which nothing is markup and nobody is
mentioned.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

from wcetchar.errors import one_line
from wcetchar.model.budget import Checked, Held
from wcetchar.report.budget import headline, notes_of, unchanged_text
from wcetchar.report.budget_words import US, at, reasons
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import grouped, rounded_down

_MOST: Final = 50
"""Lines of a kind: a comment has a largest size."""


def markdown(checked: Checked) -> str:
    lines = [f"## Execution times: {headline(checked)}", "", *_about(checked)]
    for part in (_failed(checked), _changes(checked), _budgets(checked), _notes(checked)):
        lines += ["", *part] if part else []
    return "\n".join(lines) + "\n"


def code(text: str) -> str:
    """``text`` as a code span, also in a table; empty: nothing."""
    shown = one_line(text)
    if not shown.strip():
        return ""
    longest = max((len(run) for run in re.findall(r"`+", shown)), default=0)
    fence = "`" * (longest + 1)
    space = " " if longest else ""
    # A table is taken apart before code spans are: there, and only there, a bar is escaped.
    return f"{fence}{space}{shown}{space}{fence}"


def _cell(text: str) -> str:
    return code(text).replace("|", "\\|")


def _about(checked: Checked) -> list[str]:
    text = f"{code(checked.kernel)} on {code(checked.profile)} (map {code(checked.section_map)})"
    return [text + (f", against {code(checked.baseline)}" if checked.baseline else "") + "."]


def _named(one: Held) -> str:
    values = at(one)
    return f"{code(one.service)}, {one.figure.value}" + (f" at {code(values)}" if values else "")


def _failed(checked: Checked) -> list[str]:
    lines = [
        f"* **{failure.value}**: {_named(one)} {_text(said)}"
        for one in checked.failed
        for failure, said in reasons(one)
    ]
    return ["### Failed", "", *_first(lines)] if lines else []


def _changes(checked: Checked) -> list[str]:
    if not checked.baseline:
        return []
    changed = [one for one in checked.held if _changed(one)]
    changed.sort(key=lambda one: (one.baseline is not None and one.baseline.is_new, -_size(one)))
    if not changed:
        return ["### Changes", "", "None: every figure is as in the baseline."]
    columns = [(name, name not in ("service", "at", "figure")) for name in _CHANGES]
    rows = [[cell for _, cell in zip(_CHANGES, _cells(one), strict=True)] for one in changed]
    lines = ["### Changes", "", *_table(columns, rows[:_MOST])]
    if len(rows) > _MOST:
        lines += ["", f"And {len(rows) - _MOST} more."]
    if unchanged := unchanged_text(checked):
        lines += ["", f"{unchanged[0].upper()}{unchanged[1:]}."]
    return lines


_CHANGES: Final = ("service", "at", "figure", "before us", "us", "change %", "may grow %")


def _changed(one: Held) -> bool:
    base = one.baseline
    return base is not None and (base.is_new or base.time != base.compared)


def _size(one: Held) -> Fraction:
    """By how much it grew; from nothing is most."""
    base = one.baseline
    if base is None or base.is_new or base.time is None or base.compared is None:
        return Fraction(0)
    return Fraction(10**12) + base.compared if base.change is None else base.change


def _cells(one: Held) -> Iterator[str]:
    base = one.baseline
    assert base is not None
    yield from (_cell(one.service), _cell(at(one)), one.figure.value)
    yield "" if base.time is None else grouped(base.time * US)
    now = one.time if base.compared is None else base.compared
    yield "none" if now is None else grouped(now * US)
    change = "from 0" if base.change is None and base.compared else ""
    if base.change is not None:
        change = ("+" if base.change > 0 else "") + grouped(100 * base.change)
    change = f"**{change}**" if one.of_growth and change else change
    yield "new" if base.is_new else change
    yield "" if one.may_grow is None else grouped(rounded_down(100 * one.may_grow))


def _budgets(checked: Checked) -> list[str]:
    held = [one for one in checked.held if one.limit is not None]
    if not held:
        return []
    columns = [("", False), ("service", False), ("at", False), ("figure", False)]
    columns += [("us", True), ("word", False), ("budget us", True)]
    rows = [
        [
            "**failed**" if one.of_budget else "ok",
            _cell(one.service),
            _cell(at(one)),
            one.figure.value,
            "none" if one.time is None else grouped(one.time * US),
            "" if one.word is None else one.word.value,
            "" if one.limit is None else grouped(rounded_down(one.limit * US)),
        ]
        for one in held
    ]
    return _folded(f"Budgets: {len(held)}", [*_table(columns, rows[:_MOST]), *_more(rows)])


def _notes(checked: Checked) -> list[str]:
    notes = [f"* {_text(one_line(note))}" for note in notes_of(checked)]
    return _folded(f"Notes: {len(notes)}", _first(notes)) if notes else []


def _table(columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Cells are markup already."""
    yield from table_lines(columns, [])
    yield from ("| " + " | ".join(row) + " |" for row in rows)


def _folded(summary: str, lines: Sequence[str]) -> list[str]:
    return [f"<details><summary>{summary}</summary>", "", *lines, "", "</details>"]


def _first(lines: Sequence[str]) -> list[str]:
    return [*lines[:_MOST], *_more(lines, "* ")]


def _more(lines: Sequence[object], before: str = "\n") -> list[str]:
    return [f"{before}and {len(lines) - _MOST} more"] if len(lines) > _MOST else []


def _text(text: str) -> str:
    """Text that is no markup, an entity or a mention."""
    plain = escaped(text).replace("&", "&amp;").replace("~", "\\~")
    # An entity would be a character again where mentions are looked for; a comment parts the text.
    return plain.replace("@", "@<!-- -->")
