"""Figures held against budgets: a table for people, all of it for machines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from wcetchar.model.budget import Checked, Held
from wcetchar.report.budget_words import PASSED, US, at, measure, reasons, title, verdict
from wcetchar.report.numbers import for_json
from wcetchar.report.sheet import Column, Sheet, Value, as_csv, as_json, terminal, text_column

SCHEMA: Final = "wcetchar/budget-check/1"


def render(checked: Checked, form: str, width: int, color: bool) -> str:
    """``form``: table, csv or json."""
    if form == "json":
        return as_json(_for_machines(checked))
    if form == "csv":
        return as_csv(_for_machines(checked))
    return terminal([_for_people(checked)], width, color)


def headline(checked: Checked) -> str:
    """How many figures fail, of how many."""
    every, failed = len(checked.held), len(checked.failed)
    one = "1 figure" if every == 1 else f"{every} figures"
    if failed:
        return f"{failed} of {one} {'fails' if failed == 1 else 'fail'}"
    return f"{one} {'passes' if every == 1 else 'pass'}"


def in_order(held: Sequence[Held]) -> list[Held]:
    """Failures first, else as they are."""
    return sorted(held, key=lambda one: not one.failures)


def is_shown(one: Held) -> bool:
    """Not what has no budget and is as it was before."""
    if one.limit is not None or one.failures:
        return True
    return bool(one.time and _change(one))


def unchanged_text(checked: Checked) -> str:
    """Of what is not shown; "" where all is."""
    hidden = sum(not is_shown(one) for one in checked.held)
    if not hidden:
        return ""
    return f"{hidden} without a budget, as in the baseline: not shown"


def notes_of(checked: Checked) -> list[str]:
    """What else is to be known: of single figures, of services that are gone, of all."""
    lines = [f"{title(one)}: {note}" for one in checked.held for note in one.notes]
    if checked.gone:
        lines.append(f"in the baseline alone, and in no figure: {', '.join(checked.gone)}")
    return [*dict.fromkeys(lines), *checked.notes]


def _change(one: Held) -> Value:
    """In percent, or what else is to be said."""
    base = one.baseline
    if base is None or (base.problem and base.change is None):
        return None
    if base.is_new:
        return "new"
    if base.change is None:
        return "from 0" if base.compared else None
    return 100 * base.change


def _for_people(checked: Checked) -> Sheet:
    against = bool(checked.baseline)
    columns = (
        text_column("result", ""),
        text_column("service", ""),
        text_column("at", ""),
        text_column("figure", ""),
        Column("us", "", US),
        text_column("word", ""),
        Column("budget us", "", US, down=True),
        Column("before us" if against else "", "", US),
        Column("change %" if against else "", ""),
        Column("may grow %" if against else "", "", down=True),
    )
    rows: list[tuple[Value, ...]] = []
    for one in in_order([one for one in checked.held if is_shown(one)]):
        rows.append(
            (
                "FAILED" if one.failures else PASSED,
                one.service,
                at(one),
                one.figure.value,
                "none" if one.time is None else one.time,
                None if one.word is None else one.word.value,
                one.limit,
                None if one.baseline is None else one.baseline.time,
                _change(one),
                None if one.may_grow is None else 100 * one.may_grow,
            )
        )
    return Sheet(SCHEMA, columns, tuple(rows), tuple(_lines(checked)), title=_heading(checked))


def _heading(checked: Checked) -> str:
    text = f"{checked.kernel} on {checked.profile} (map {checked.section_map})"
    return text + (f", against {checked.baseline}" if checked.baseline else "")


def _lines(checked: Checked) -> list[str]:
    lines = [""]
    for one in checked.failed:
        lines += [f"FAILED: {title(one)} {said}" for _, said in reasons(one)]
    if unchanged := unchanged_text(checked):
        lines.append(unchanged)
    lines.append(headline(checked))
    return lines + [f"note: {note}" for note in notes_of(checked)]


def _for_machines(checked: Checked) -> Sheet:
    columns = (
        text_column("", "verdict"),
        text_column("", "service"),
        text_column("", "figure"),
        text_column("", "parameters"),
        Column("", "ns"),
        text_column("", "word"),
        Column("", "budget_ns", down=True),
        Column("", "baseline_ns"),
        Column("", "compared_ns"),
        Column("", "change_percent"),
        Column("", "may_grow_percent", down=True),
        Column("", "is_new"),
        Column("", "is_bounded"),
        text_column("", "said"),
        text_column("", "budget_of"),
        text_column("", "file"),
        Column("", "line"),
        Column("", "budget_line"),
    )
    rows: list[tuple[Value, ...]] = []
    for one in checked.held:
        base, where = one.baseline, one.budget.place(one.figure.value, "may grow")
        rows.append(
            (
                verdict(one),
                one.service,
                one.figure.value,
                at(one),
                one.time,
                None if one.word is None else one.word.value,
                one.limit,
                None if base is None else base.time,
                None if base is None else base.compared,
                None if base is None or base.change is None else 100 * base.change,
                None if one.may_grow is None else 100 * one.may_grow,
                None if base is None else base.is_new,
                one.time is not None and not one.problem,
                "; ".join(said for _, said in reasons(one)) or measure(one),
                one.budget.service,
                None if one.place is None else one.place.file,
                None if one.place is None else one.place.line,
                None if where is None else where.line,
            )
        )
    return Sheet(SCHEMA, columns, tuple(rows), document=_document(checked))


def _document(checked: Checked) -> dict[str, object]:
    return {
        "passed": not checked.failed,
        "figures": for_json(len(checked.held)),
        "failed": for_json(len(checked.failed)),
        "kernel": checked.kernel,
        "profile": checked.profile,
        "map": checked.section_map,
        "characterization": checked.characterization,
        "baseline": checked.baseline or None,
        "budgets": checked.budgets or None,
        "gone": list(checked.gone),
        "notes": notes_of(checked),
    }
