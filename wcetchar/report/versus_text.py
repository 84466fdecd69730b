"""A comparison of characterizations as terminal tables, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from wcetchar.model.versus import Metric, Verdict
from wcetchar.report.csv import spreadsheet_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import for_json, grouped, nearest_tenth, plain
from wcetchar.report.terminal import table_of, text_of
from wcetchar.report.versus import METRIC_TITLES, Line, MetricRows, ServiceRows, View

SCHEMA_VERSION: Final = 1
KIND: Final = "wcetchar comparison"

CSV_FIELDS: Final = (
    "service",
    "metric",
    "hardware",
    "base",
    "other",
    "verdict",
    "basis",
    "points",
    "checked",
    "slower",
    "faster",
    "at",
    "base_ns",
    "ns",
    "change_percent",
)

WORDS: Final = (
    "safe ends: of high-water marks where parameter values were observed, of estimates elsewhere; "
    "--json has the word of each"
)

_Rows = list[list[str]]


def terminal(view: View, width: int = 120, color: bool = False) -> str:
    parts: list[RenderableType] = []
    for block in _blocks(view):
        parts.append(Text(block[0], style="bold"))
        if block[1]:
            parts.append(table_of(block[1], block[2]))
        else:
            parts += [Text("  " + row[0]) for row in block[2]]
        parts.append("")
    return text_of(parts[:-1], width, color)


def markdown(view: View) -> str:
    lines: list[str] = []
    for title, columns, rows in _blocks(view):
        lines += [f"## {escaped(title)}", ""]
        if columns:
            lines += table_lines(columns, rows)
        else:
            lines += [f"* {escaped(row[0])}" for row in rows]
        lines.append("")
    return "\n".join(lines[:-1]) + "\n"


_Columns = list[tuple[str, bool]]


def _blocks(view: View) -> Iterator[tuple[str, _Columns, _Rows]]:
    """(title, columns as (heading, is a number), rows); without columns a list of lines."""
    yield (
        "Compared, the base first",
        [("characterization", False), ("kernel", False), ("architecture", False)],
        [[s.label, s.kernel, s.architecture] for s in view.subjects],
    )
    labels = [subject.label for subject in view.subjects]
    if view.differing_settings:
        yield (
            "Settings that differ",
            [("setting", False), *((label, False) for label in labels)],
            [[key, *values] for key, values in view.differing_settings],
        )
    for number in range(len(view.hardware)):
        for metric in Metric:
            rows = _verdicts(view, number, metric)
            if rows:
                yield (
                    f"{METRIC_TITLES[metric]} on {view.hardware_name(number)}",
                    [
                        *(("service", False), ("against", False), ("at", False)),
                        *(("base", True), ("other", True), ("change", True)),
                        ("over the range", False),
                    ],
                    rows,
                )
    if len(view.subjects) > 2:
        for number, metric in product(range(len(view.hardware)), Metric):
            rows = _choices(view, number, metric)
            if rows:
                yield (
                    f"Best, {METRIC_TITLES[metric]} on {view.hardware_name(number)}",
                    [("service", False), ("best", False)],
                    rows,
                )
    longer = _longer(view)
    if longer:
        yield ("Where something blocks longer than in the base", [], longer)
    shared = [s for s in view.shown if s.labels]
    if shared:
        yield (
            "Instructions",
            [("service", False), *((label, False) for label in labels)],
            [[s.service, *(form.instructions for form in s.forms)] for s in shared],
        )
    lacking = [s for s in view.shown if len(s.labels) < len(labels)]
    if lacking:
        yield (
            "Not in all of them",
            [("service", False), ("only in", False)],
            [[s.service, ", ".join(s.labels)] for s in lacking],
        )
    problems = [[f"{s.service}: {s.problem}"] for s in view.shown if s.problem]
    problems += [
        [f"{s.service}: no figures of {line} meet those of {s.labels[0]}"]
        for s in view.shown
        for line in _unmet(s)
    ]
    if problems:
        yield ("Not comparable", [], problems)
    notes = [[f"{s.service}: {note}"] for s in view.shown for note in s.notes]
    if notes:
        yield ("To be kept in mind", [], notes)
    hidden = len(view.services) - len(view.shown)
    if view.hardware:
        yield (
            "Services by verdict"
            + (f" ({hidden} that are equal not shown above)" if hidden else ""),
            [
                *(("hardware", False), ("", False), ("against", False)),
                *((verdict.value.split(" on ")[0], True) for verdict in Verdict),
            ],
            _sums(view),
        )
    if len(view.subjects) > 2 and view.hardware:
        yield (
            "Services for which nothing is better at any point that was checked",
            [("hardware", False), ("", False), *((label, True) for label in labels)],
            _bests(view),
        )
    yield ("What the figures are", [], [[WORDS]])


def _unmet(service: ServiceRows) -> list[str]:
    found: dict[str, None] = {}
    for metric in service.metrics:
        met = {line.label for line in metric.lines}
        found.update(dict.fromkeys(label for label in service.labels[1:] if label not in met))
    return list(found)


def _verdicts(view: View, hardware: int, metric: Metric) -> _Rows:
    lines = [
        line
        for service in view.shown
        for rows in service.metrics
        if rows.hardware == hardware and rows.metric is metric
        for line in rows.lines
        if metric is Metric.TOTAL or line.base_ns or line.ns
    ]
    return [
        [
            line.service,
            line.label,
            line.at,
            grouped(line.base_ns),
            grouped(line.ns),
            change_text(line.change),
            line.claim,
        ]
        for line in lines
    ]


def _longer(view: View) -> _Rows:
    """Each place once, with the services in which it is the longest stretch."""
    found: dict[tuple[str, str, str], dict[str, None]] = {}
    for line in _lines(view):
        if line.metric is not Metric.TOTAL and line.verdict in (
            Verdict.NEVER_FASTER,
            Verdict.DEPENDS,
        ):
            key = (line.label, line.metric.value, line.where)
            found.setdefault(key, {})[line.service] = None
    return [
        [f"{label}, {kind}: {', '.join(services)}: from {where}"]
        for (label, kind, where), services in found.items()
    ]


def change_text(change: Fraction | None) -> str:
    """To the nearest tenth of a percent; ``new``: the base is 0."""
    return "new" if change is None else f"{float(nearest_tenth(change * 100)):+.1f} %"


def _measured(view: View) -> Iterator[tuple[int, Metric, list[MetricRows]]]:
    for number in range(len(view.hardware)):
        for metric in Metric:
            yield (
                number,
                metric,
                [
                    rows
                    for service in view.services
                    for rows in service.metrics
                    if rows.hardware == number and rows.metric is metric
                ],
            )


def _sums(view: View) -> _Rows:
    """Verdicts, counted over all services."""
    found = []
    for number, metric, measured in _measured(view):
        counted: dict[str, Counter[Verdict]] = {}
        for rows in measured:
            for line in rows.lines:
                counted.setdefault(line.label, Counter())[line.verdict] += 1
        for label, verdicts in counted.items():
            head = [view.hardware_short(number), METRIC_TITLES[metric], label]
            found.append([*head, *(str(verdicts[verdict]) for verdict in Verdict)])
    return found


def _choices(view: View, hardware: int, metric: Metric) -> _Rows:
    """Of each service that is not equal in all, what nothing is better than: everywhere, or at how
    many of the points that all have figures for."""
    found = []
    for service, rows in ((s.service, rows) for s in view.shown for rows in s.metrics):
        if rows.hardware != hardware or rows.metric is not metric:
            continue
        everywhere = [label for label, points in rows.best if points == rows.complete]
        if not rows.complete or len(everywhere) == len(rows.best):
            continue
        somewhere = [f"{label} at {n:,}" for label, n in rows.best if n]
        text = ", ".join(everywhere)
        if not everywhere:
            text = f"depends on the parameters: {', '.join(somewhere)} of {rows.complete:,} points"
        found.append([service, text])
    return found


def _bests(view: View) -> _Rows:
    found = []
    for number, metric, measured in _measured(view):
        best: Counter[str] = Counter()
        for rows in measured:
            for label, points in rows.best:
                best[label] += bool(rows.complete) and points == rows.complete
        counts = [str(best[subject.label]) for subject in view.subjects]
        found.append([view.hardware_short(number), METRIC_TITLES[metric], *counts])
    return found


def csv_text(view: View) -> str:
    """One line for each verdict."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV_FIELDS)
    for line in _lines(view):
        cells = [
            line.service,
            line.metric.value,
            view.hardware_name(line.hardware),
            line.base,
            line.label,
            line.verdict.value,
            line.basis.value,
            line.size,
            line.checked,
            line.slower,
            line.faster,
            line.at,
            plain(line.base_ns),
            plain(line.ns),
            "" if line.change is None else float(nearest_tenth(line.change * 100)),
        ]
        writer.writerow(spreadsheet_text(cell) if isinstance(cell, str) else cell for cell in cells)
    return stream.getvalue()


def _lines(view: View) -> Iterator[Line]:
    for service in view.shown:
        for rows in service.metrics:
            yield from rows.lines


def document(view: View) -> str:
    """The document of ``--json``. Times in ns, safe ends, rounded up to three decimals."""
    content: dict[str, Any] = {
        "kind": KIND,
        "schema_version": SCHEMA_VERSION,
        "characterizations": [
            {
                "label": s.label,
                "kernel": s.kernel,
                "architecture": s.architecture,
                "settings": dict(s.settings),
            }
            for s in view.subjects
        ],
        "hardware": [
            [{"label": label, "profile": p, "map": m} for label, p, m in of_each]
            for of_each in view.hardware
        ],
        "services": [_service(service) for service in view.shown],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def _service(service: ServiceRows) -> dict[str, Any]:
    return {
        "service": service.service,
        "in": list(service.labels),
        "ranges": {name: [low, high] for name, low, high in service.ranges},
        "problem": service.problem or None,
        "notes": list(service.notes),
        "forms": {
            form.label: {
                "form": form.form,
                "instructions": form.instructions,
                "rows": [
                    {"repetition": r, "blocking": b, "instructions": n} for r, b, n in form.rows
                ],
            }
            for form in service.forms
        },
        "metrics": [_metric(rows) for rows in service.metrics],
    }


def _metric(rows: MetricRows) -> dict[str, Any]:
    return {
        "metric": rows.metric.value,
        "hardware": rows.hardware,
        "points": rows.size,
        "complete": rows.complete,
        "best": dict(rows.best),
        "against": [
            {
                "base": line.base,
                "other": line.label,
                "verdict": line.verdict.value,
                "basis": line.basis.value,
                "claim": line.claim,
                "checked": line.checked,
                "slower": line.slower,
                "faster": line.faster,
                "worst": {
                    "parameters": dict(line.parameters),
                    "base_ns": for_json(line.base_ns),
                    "ns": for_json(line.ns),
                    "change_percent": None
                    if line.change is None
                    else float(nearest_tenth(line.change * 100)),
                    "base_word": line.base_word,
                    "word": line.word,
                    "base_where": line.base_where or None,
                    "where": line.where or None,
                },
            }
            for line in rows.lines
        ],
        "corners": [
            {
                "parameters": dict(corner.parameters),
                "ns": {
                    label: None if time is None else for_json(time) for label, time in corner.times
                },
            }
            for corner in rows.corners
        ],
    }
