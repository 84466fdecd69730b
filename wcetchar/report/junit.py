"""Figures held against budgets as JUnit XML, for the pages of test results that CI servers have.

One ``testsuite`` of budgets, and one of growth against a baseline, each with a ``testcase`` for
each figure: ``classname`` is the service, ``name`` what is held. Elements and attributes are those
that servers agree on (Jenkins' ``junit-10.xsd``). Nothing was run, so all times are 0. What is not
printable is written as an escape, so that XML can hold every name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final
from xml.etree import ElementTree

from wcetchar.errors import one_line
from wcetchar.model.budget import Checked, Failure, Held
from wcetchar.report.budget_words import measure, reasons, title, what

_TIME: Final = "0"


def document(checked: Checked) -> str:
    """The document, the same bytes for the same figures."""
    budgets = [(one, one.of_budget) for one in checked.held if one.limit is not None]
    grown = [(one, one.of_growth) for one in checked.held if one.may_grow is not None]
    suites = [("budgets", budgets), ("growth", grown)]
    root = ElementTree.Element("testsuites")
    for name, cases in suites:
        if cases:
            _suite(root, name, cases, checked)
    _count(root, [case for _, cases in suites for case in cases])
    root.set("name", "wcetchar check")
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


_Case = tuple[Held, tuple[Failure, ...]]


def _suite(root: ElementTree.Element, name: str, cases: Sequence[_Case], checked: Checked) -> None:
    where = f"{checked.kernel} on {checked.profile}"
    suite = ElementTree.SubElement(root, "testsuite", {"name": one_line(f"{name} of {where}")})
    _count(suite, cases)
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in (
        ("profile", checked.profile),
        ("map", checked.section_map),
        ("characterization", checked.characterization),
        ("baseline", checked.baseline),
        ("budgets", checked.budgets),
    ):
        if value:
            ElementTree.SubElement(properties, "property", {"name": key, "value": one_line(value)})
    taken: dict[tuple[str, str], int] = {}
    for one, failures in cases:
        _case(suite, one, failures, name == "growth", taken)


def _count(element: ElementTree.Element, cases: Sequence[_Case]) -> None:
    failed = sum(bool(failures) for _, failures in cases)
    for key, value in (("tests", len(cases)), ("failures", failed), ("errors", 0)):
        element.set(key, str(value))
    element.set("time", _TIME)


def _case(
    suite: ElementTree.Element,
    one: Held,
    failures: tuple[Failure, ...],
    of_growth: bool,
    taken: dict[tuple[str, str], int],
) -> None:
    name = f"growth of {what(one)}" if of_growth else what(one)
    if one.budget.service != one.service:
        name += f" (budget of {one.budget.service})"
    # Several budgets may be of one figure; servers take two cases of one name for one.
    number = taken[one.service, name] = taken.get((one.service, name), 0) + 1
    name += f" #{number}" if number > 1 else ""
    attributes = {"classname": one_line(one.service), "name": one_line(name), "time": _TIME}
    case = ElementTree.SubElement(suite, "testcase", attributes)
    said = [text for failure, text in reasons(one) if failure in failures]
    if said:
        kind = ", ".join(failure.value for failure in failures)
        found = ElementTree.SubElement(case, "failure", {"type": kind, "message": "; ".join(said)})
        found.text = "\n".join([f"{title(one)}:", *said, *_where(one)])
        return
    ElementTree.SubElement(case, "system-out").text = measure(one)


def _where(one: Held) -> list[str]:
    lines = []
    if one.place is not None:
        lines.append(one_line(f"source: {one.place.file}:{one.place.line}"))
    budget = one.budget.place(one.figure.value, "may grow")
    if budget is not None:
        lines.append(one_line(f"budget: {budget}"))
    return lines
