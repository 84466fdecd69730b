"""Failures of budgets as SARIF 2.1.0, for code scanning: each at the source line of its service.

Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0", with Errata 01.
A result is at the source of the service, or, where the characterization does not say where that is,
at its budget; the other one is a related location, and so is where a stretch begins.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any, Final
from urllib.parse import quote

from wcetchar import __version__
from wcetchar.errors import Location, one_line
from wcetchar.model.budget import Checked, Failure, Held
from wcetchar.model.characterization import Place
from wcetchar.report.budget_words import at, reasons, title
from wcetchar.report.numbers import for_json

SCHEMA: Final = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
RULES: Final = {
    Failure.OVER: ("over-budget", "A service is over its budget."),
    Failure.GREW: ("grown", "A service grew by more than it may since the baseline."),
    Failure.NO_FIGURE: ("no-figure", "A service with a budget has no figure, or no bound."),
    Failure.WEAKER_WORD: ("weaker-word", "A figure is not as certain as its budget asks for."),
    Failure.NOT_COMPARED: ("not-compared", "A figure cannot be compared with the baseline."),
}
_ROOT: Final = "%SRCROOT%"


def document(checked: Checked) -> str:
    """The log, the same bytes for the same failures."""
    run = {
        "tool": {
            "driver": {
                "name": "wcetchar",
                "version": __version__,
                "rules": [
                    {
                        "id": name,
                        "shortDescription": {"text": text},
                        "defaultConfiguration": {"level": "error"},
                    }
                    for name, text in RULES.values()
                ],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": list(_results(checked)),
    }
    log = {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=1, ensure_ascii=False) + "\n"


def _results(checked: Checked) -> Iterator[dict[str, Any]]:
    order = list(RULES)
    for one in checked.failed:
        for failure, said in reasons(one):
            place, *others = _locations(one, failure, checked)
            yield {
                "ruleId": RULES[failure][0],
                "ruleIndex": order.index(failure),
                "level": "error",
                "message": {"text": message(f"{title(one)}: {said}")},
                "locations": [place],
                **({"relatedLocations": others} if others else {}),
                "partialFingerprints": {"wcetcharBudget/v1": _fingerprint(one, failure)},
                "properties": _properties(one),
            }


def message(text: str) -> str:
    """Plain text in which nothing is a placeholder (3.11.5) or an embedded link (3.11.6)."""
    plain = one_line(text).replace("{", "{{").replace("}", "}}")
    return plain.replace("](", "] (")


def uri(path: str) -> str:
    """Of a file: relative to the root of the sources, or of an absolute path.

    Names come from files of strangers; in a URI nothing of them has a meaning but slashes.
    """
    parts = PurePath(path.replace("\\", "/")).as_posix()
    quoted = quote(parts.lstrip("/"), safe="/", errors="replace")
    return f"file:///{quoted}" if parts.startswith("/") else quoted


def _locations(one: Held, failure: Failure, checked: Checked) -> list[dict[str, Any]]:
    """The result's own first. The budget file's own line stands in where no source is known."""
    found = []
    if one.place is not None:
        found.append(_of_place(one.place, f"{one_line(one.service)}"))
    key = "may grow" if failure is Failure.GREW else one.figure.value
    budget = one.budget.place(key, "may grow", one.figure.value)
    if budget is None:
        budget = Location(checked.budgets or checked.characterization, 1)
    found.append(_location(budget.file, budget.line or 1, budget.column, "the budget"))
    if one.stretch is not None and one.stretch != one.place:
        found.append(_of_place(one.stretch, "what is held off begins here"))
    for number, location in enumerate(found[1:], start=1):
        location["id"] = number
    return found


def _of_place(place: Place, text: str) -> dict[str, Any]:
    found = _location(place.file, place.line, None, text)
    if place.function:
        name = {"name": one_line(place.function), "kind": "function"}
        found["logicalLocations"] = [name]
    return found


def _location(file: str, line: int, column: int | None, text: str) -> dict[str, Any]:
    artifact = {"uri": uri(file)}
    if not artifact["uri"].startswith("file:"):
        artifact["uriBaseId"] = _ROOT
    region = {"startLine": line} | ({} if column is None else {"startColumn": column})
    return {
        "physicalLocation": {"artifactLocation": artifact, "region": region},
        "message": {"text": message(text)},
    }


def _fingerprint(one: Held, failure: Failure) -> str:
    """The same while the same figure fails in the same way, whatever its time."""
    parts = (failure.value, one.service, one.figure.value, at(one), one.budget.service)
    return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


def _properties(one: Held) -> dict[str, Any]:
    base = one.baseline
    figures = {
        "ns": one.time,
        "budget_ns": one.limit,
        "baseline_ns": None if base is None else base.time,
        "change_percent": None if base is None or base.change is None else 100 * base.change,
    }
    found: dict[str, Any] = {"figure": one.figure.value}
    found |= {name: for_json(value) for name, value in figures.items() if value is not None}
    return found | ({} if one.word is None else {"word": one.word.value})
