"""Measured beside expected: terminal, Markdown, CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, Final

from rich.console import RenderableType
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.model.interval import Interval
from wcetchar.model.measuring import Case, Expected, Judged, JudgedReport, Plan, Verdict
from wcetchar.report.csv import spreadsheet_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.measuring import (
    View,
    accuracy_text,
    interval_text,
    name_of,
    parameter_text,
    predicted_text,
    time_text,
)
from wcetchar.report.measuring_words import IN_TABLE, in_words, report_in_words, short, short_report
from wcetchar.report.numbers import for_json, low_for_json
from wcetchar.report.terminal import table_of, text_of

SCHEMA: Final = "wcetchar/measuring/1"
FIELDS: Final = (
    "operation",
    "parameter",
    "word",
    "hardware_low_ns",
    "hardware_high_ns",
    "software_low_ns",
    "software_high_ns",
    "predicted_low_ns",
    "predicted_high_ns",
    "average_ns",
    "deviation_ns",
    "minimum_ns",
    "median_ns",
    "maximum_ns",
    "result_ns",
    "error_ns",
    "systematic_ns",
    "stochastic_ns",
    "needed_ns",
    "overhead_least_ns",
    "overhead_median_ns",
    "overhead_most_ns",
    "subtracted_ns",
    "resolution_ns",
    "calls",
    "repetitions",
    "repetitions_needed",
    "calls_needed",
    "outliers",
    "factor",
    "longest_factor",
    "interruption_ns",
    "verdict",
    "usable",
)
"""Of CSV, and of the rows of JSON, which have `verdicts` and `in_words` beside."""

_EXPECTED: Final = (("operation", False), ("at", True), ("hardware", True), ("software", True))
_BESIDE: Final = (
    *_EXPECTED,
    ("predicted", True),
    ("result", True),
    ("longest", True),
    ("verdict", False),
)
"""Between what was predicted and the verdict stand the figures that are judged, and no other."""
_HOW_WELL: Final = (
    ("operation", False),
    ("average", True),
    ("deviation", True),
    ("minimum", True),
    ("median", True),
    ("+-", True),
    ("needed", True),
    ("overhead", True),
    ("step", True),
    ("outliers", True),
    ("runs needed", True),
)
_PLANNED: Final = (
    *_EXPECTED,
    ("predicted", True),
    ("accuracy", True),
    ("repetitions", True),
    ("calls in each", True),
)
_LISTED: Final = 3
"""Of what the table shows as well, so many are named."""
_REPORTED: Final = (
    ("operation", False),
    ("predicted", True),
    ("reported", True),
    ("deviation", True),
    ("repetitions", True),
    ("+-", True),
    ("verdict", False),
)
Expectations = Sequence[tuple[Case, Expected | None]]
Reports = Mapping[tuple[str, int | None], JudgedReport]


def terminal(view: View, width: int, color: bool) -> str:
    parts: list[RenderableType] = [Text(line) for line in _head(view.plan)]
    parts += [Text(f"measured: {one_line(view.source)}"), ""]
    parts += [table_of(_BESIDE, _beside(view)), ""]
    parts += [table_of(_HOW_WELL, _how_well(view)), ""]
    parts += [Text(line) for line in (*_words(view), *_notes(view))]
    return text_of(parts, width, color)


def markdown(view: View) -> str:
    lines = [f"* {escaped(line)}" for line in _head(view.plan)]
    lines += [f"* {escaped(f'measured: {one_line(view.source)}')}", ""]
    lines += [*table_lines(_BESIDE, _beside(view)), "", *table_lines(_HOW_WELL, _how_well(view))]
    lines += ["", *(f"* {escaped(line)}" for line in (*_words(view), *_notes(view)))]
    return "\n".join(lines).rstrip() + "\n"


def as_csv(view: View) -> str:
    return _csv(FIELDS, (_row(one) for one in view.judged))


def as_json(view: View) -> str:
    """One document, with stable keys. Times are in ns and rounded up; lower ends down."""
    rows = [
        {
            **_row(one),
            "verdicts": [verdict.value for verdict in one.verdicts],
            "in_words": [f"{said.fact}; {said.advice}" for said in in_words(one)],
            "outlier_runs": [
                {"repetition": outlier.number, "ns": for_json(outlier.time)}
                for outlier in one.evaluation.outliers
            ],
        }
        for one in view.judged
    ]
    return _document(
        {**_plan(view.plan), "measured": view.source, "rows": rows, "notes": list(view.notes)}
    )


def expected_terminal(
    plan: Plan, cases: Expectations, reports: Reports, width: int, color: bool
) -> str:
    parts: list[RenderableType] = [Text(line) for line in _head(plan)]
    parts += ["", table_of(_PLANNED, _planned(cases)), ""]
    if reports:
        parts += [table_of(_REPORTED, _reported(cases, reports)), ""]
    parts += [Text(line) for line in (*_reasons(cases), *_of_reports(cases, reports))]
    return text_of(parts, width, color)


def expected_markdown(plan: Plan, cases: Expectations, reports: Reports) -> str:
    lines = [*(f"* {escaped(line)}" for line in _head(plan)), ""]
    lines += [*table_lines(_PLANNED, _planned(cases)), ""]
    if reports:
        lines += [*table_lines(_REPORTED, _reported(cases, reports)), ""]
    words = (*_reasons(cases), *_of_reports(cases, reports))
    return "\n".join([*lines, *(f"* {escaped(line)}" for line in words)]).rstrip() + "\n"


def expected_csv(cases: Expectations, reports: Reports) -> str:
    first = next(iter(_planned_rows(cases, reports)))
    return _csv(tuple(first), _planned_rows(cases, reports))


def expected_json(plan: Plan, cases: Expectations, reports: Reports) -> str:
    return _document({**_plan(plan), "rows": list(_planned_rows(cases, reports))})


def _document(content: dict[str, Any]) -> str:
    return json.dumps({"schema": SCHEMA, **content}, indent=1, ensure_ascii=False) + "\n"


def _csv(fields: Sequence[str], rows: Iterator[dict[str, Any]]) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, fields, lineterminator="\n")
    writer.writeheader()
    for row in rows:
        writer.writerow({key: _cell(row[key]) for key in fields})
    return stream.getvalue()


def _cell(value: Any) -> Any:
    if isinstance(value, bool):
        return "true" if value else "false"
    return spreadsheet_text(one_line(value)) if isinstance(value, str) else value


def _plan(plan: Plan) -> dict[str, Any]:
    return {"question": plan.question, "circumstances": plan.circumstances}


def _head(plan: Plan) -> Iterator[str]:
    yield f"question: {one_line(plan.question)}"
    yield f"circumstances: {one_line(plan.circumstances)}"


def _start(case: Case, expected: Expected | None) -> list[str]:
    parts = (None, None) if expected is None else (expected.hardware, expected.software)
    return [one_line(case.operation), parameter_text(case), *map(interval_text, parts)]


def _planned(cases: Expectations) -> list[list[str]]:
    return [
        [
            *_start(case, expected),
            predicted_text(expected),
            accuracy_text(case.accuracy),
            f"{case.repetitions:,}",
            f"{case.calls:,}",
        ]
        for case, expected in cases
    ]


def _reported(cases: Expectations, reports: Reports) -> list[list[str]]:
    rows = []
    for case, expected in cases:
        found = reports.get((case.operation, case.parameter))
        if found is None:
            continue
        one = found.reported
        rows.append(
            [
                one_line(name_of(case)),
                predicted_text(expected),
                time_text(one.average),
                "" if one.deviation is None else time_text(one.deviation),
                "" if one.repetitions is None else f"{one.repetitions:,}",
                "not known" if found.error is None else time_text(found.error),
                short_report(found),
            ]
        )
    return rows


def _of_reports(cases: Expectations, reports: Reports) -> Iterator[str]:
    for case, _ in cases:
        found = reports.get((case.operation, case.parameter))
        if found is not None:
            for sentence in report_in_words(found):
                yield f"{one_line(name_of(case))}, as reported: {one_line(sentence)}"


def _planned_rows(cases: Expectations, reports: Reports) -> Iterator[dict[str, Any]]:
    for case, expected in cases:
        found = reports.get((case.operation, case.parameter))
        one = None if found is None else found.reported
        yield {
            **_expected(case, expected),
            "accuracy": accuracy_text(case.accuracy),
            "repetitions": case.repetitions,
            "calls": case.calls,
            "interruption_ns": for_json(case.interruption),
            "why": "" if expected is None else expected.why,
            "reported_ns": None if one is None else for_json(one.average),
            "reported_deviation_ns": (
                None if one is None or one.deviation is None else for_json(one.deviation)
            ),
            "reported_repetitions": None if one is None else one.repetitions,
            "reported_repetitions_at_least": None if one is None else one.repetitions_at_least,
            "reported_error_ns": (
                None if found is None or found.error is None else for_json(found.error)
            ),
            "reported_verdict": None if found is None else found.verdicts[0].value,
            "reported_factor": (
                None if found is None or found.factor is None else for_json(found.factor)
            ),
            "reported_why": "" if one is None else one.why,
        }


def _reasons(cases: Expectations) -> Iterator[str]:
    """Why, once for each operation; and what may interrupt."""
    seen = set()
    for case, expected in cases:
        why = "nothing is expected yet" if expected is None else expected.why
        if why and (case.operation, why) not in seen:
            seen.add((case.operation, why))
            yield f"{one_line(case.operation)}: {one_line(why)}"
    allowed: dict[Fraction, dict[str, None]] = {}
    for case, _ in cases:
        if case.interruption:
            allowed.setdefault(case.interruption, {})[one_line(case.operation)] = None
    for time, names in allowed.items():
        yield f"an interruption may take {time_text(time)} of a reading: {', '.join(names)}"


def _beside(view: View) -> list[list[str]]:
    return [
        [
            *_start(one.case, one.expected),
            predicted_text(one.expected),
            time_text(one.evaluation.result.value),
            time_text(one.evaluation.longest.value),
            short(one),
        ]
        for one in view.judged
    ]


def _how_well(view: View) -> list[list[str]]:
    rows = []
    for one in view.judged:
        found = one.evaluation
        runs = found.all_runs
        needed = "" if found.repetitions_needed is None else f"{found.repetitions_needed:,}"
        times = (runs.mean, runs.deviation, runs.minimum, runs.median, found.result.error)
        rows.append(
            [
                one_line(name_of(one.case)),
                *map(time_text, times),
                time_text(found.needed),
                time_text(found.overhead[1]),
                "" if found.resolution is None else time_text(found.resolution),
                f"{len(found.outliers):,} of {runs.count:,}",
                needed,
            ]
        )
    return rows


def _words(view: View) -> Iterator[str]:
    """What there is to say beside that results agree, and once for all what to do next."""
    first = [one.verdicts[0] for one in view.judged]
    but = sum(
        1 for one in view.judged if one.verdicts[:2] == (Verdict.LONGEST_SLOWER, Verdict.AGREES)
    )
    yield (
        f"{first.count(Verdict.AGREES)} of {len(first)} agree with what was expected"
        + (f", {but} more but for the longest run" if but else "")
    )
    said: dict[Verdict, list[str]] = {}
    advice: dict[Verdict, str] = {}
    for one in view.judged:
        for sentence in in_words(one):
            said.setdefault(sentence.verdict, []).append(
                f"{one_line(name_of(one.case))}: {one_line(sentence.fact)}"
            )
            advice[sentence.verdict] = sentence.advice
    for verdict in (verdict for verdict in Verdict if verdict in said):
        if verdict not in IN_TABLE:
            yield from said[verdict]
        elif len(said[verdict]) > _LISTED:
            yield f"{verdict.value}: of {len(said[verdict])} results, in the table"
        else:
            yield from said[verdict]
        yield f"  {verdict.value}: {advice[verdict]}"


def _notes(view: View) -> Iterator[str]:
    yield (
        "note: result and longest are held against predicted. The average and the deviation are of "
        "all runs, the result is the average without outliers; the longest is the largest that was "
        "seen (high-water mark), no bound"
    )
    if any(one.evaluation.calls > 1 for one in view.judged):
        yield (
            "note: where a reading holds several calls, minimum and longest are of their average, "
            "and a single call may have taken longer"
        )
    yield from (f"note: {one_line(note)}" for note in view.notes)


def _ends(name: str, times: Interval | None) -> dict[str, Any]:
    return {
        f"{name}_low_ns": None if times is None else low_for_json(times.low),
        f"{name}_high_ns": None if times is None else for_json(times.high),
    }


def _expected(case: Case, expected: Expected | None) -> dict[str, Any]:
    of = expected
    return {
        "operation": case.operation,
        "parameter": case.parameter,
        "word": None if of is None or of.word is None else of.word.value,
        **_ends("hardware", None if of is None else of.hardware),
        **_ends("software", None if of is None else of.software),
        **_ends("predicted", None if of is None else of.total),
    }


def _row(one: Judged) -> dict[str, Any]:
    found = one.evaluation
    runs, result = found.all_runs, found.result

    def number(value: Fraction | None) -> int | float | None:
        return None if value is None else for_json(value)

    return {
        **_expected(one.case, one.expected),
        "average_ns": number(runs.mean),
        "deviation_ns": number(runs.deviation),
        "minimum_ns": number(runs.minimum),
        "median_ns": number(runs.median),
        "maximum_ns": number(runs.maximum),
        "result_ns": number(result.value),
        "error_ns": number(result.error),
        "systematic_ns": number(result.systematic),
        "stochastic_ns": number(result.stochastic),
        "needed_ns": number(found.needed),
        "overhead_least_ns": number(found.overhead[0]),
        "overhead_median_ns": number(found.overhead[1]),
        "overhead_most_ns": number(found.overhead[2]),
        "subtracted_ns": number(found.subtracted),
        "resolution_ns": number(found.resolution),
        "calls": found.calls,
        "repetitions": runs.count,
        "repetitions_needed": found.repetitions_needed,
        "calls_needed": found.calls_needed,
        "outliers": len(found.outliers),
        "factor": number(one.factor),
        "longest_factor": number(one.longest_factor),
        "interruption_ns": number(one.case.interruption),
        "verdict": one.verdicts[0].value,
        "usable": one.usable,
    }
