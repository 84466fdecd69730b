"""A fit as terminal tables, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.model.fitting import Fit, FittedTime, Place
from wcetchar.model.validation import Comparison
from wcetchar.report.jsondoc import text_of as json_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import for_json, grouped, rounded_down
from wcetchar.report.terminal import table_of, text_of
from wcetchar.report.validation import percent_number, spread_text

_TIGHT: Final = 8

_COLUMNS: Final = (
    ("time", False),
    ("range given", True),
    ("found", True),
    ("could be", True),
    ("paid", True),
)


@dataclass(frozen=True)
class FitView:
    """``spreads``: what -> (rows, unsafe, least, median, most) in text."""

    heading: str
    times: tuple[tuple[str, str, str, str, str], ...]
    spreads: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    document: Mapping[str, object]


def view_of(
    profile: str,
    section_map: str,
    fit: Fit,
    before: Comparison,
    after: Comparison,
    check: Comparison | None,
    simplified: bool,
    dearer: int,
    copied: Mapping[Place, Place],
) -> FitView:
    times = tuple(sorted(fit.times, key=lambda time: (not time.counted, time.place)))
    spreads = [("ranges' upper ends", before), ("fitted", after)]
    if check is not None:
        spreads.append(("rows left out of a first fit", check))
    notes = tuple(_notes(fit, check, simplified, dearer, copied))
    return FitView(
        heading=(
            f"{one_line(profile)} (map {one_line(section_map)}) fitted to {grouped(fit.rows)} "
            f"rows, {grouped(after.measurements)} measurements"
        ),
        times=tuple(_time(time) for time in times),
        spreads=tuple((name, _spread(one)) for name, one in spreads),
        notes=notes,
        document={
            "kind": "wcetchar fit",
            "profile": one_line(profile),
            "map": one_line(section_map),
            "rows": fit.rows,
            "measurements": after.measurements,
            "times": [_document(time) for time in times],
            "before": _spread_document(before),
            "after": _spread_document(after),
            "check": None if check is None else _spread_document(check),
            "tight": [one_line(label) for label in fit.tight],
            "together": [[list(place) for place in group] for group in fit.together],
            "priced_above_the_sums": dearer,
            "notes": list(notes),
        },
    )


def terminal(view: FitView, width: int = 120, color: bool = False) -> str:
    table = table_of(_COLUMNS, view.times)
    parts: list[RenderableType] = [Text(view.heading, style="bold"), table, ""]
    parts += [Text(f"{name}: {text}") for name, text in view.spreads]
    parts += [Text(f"note: {note}") for note in view.notes]
    return text_of(parts, width, color)


def markdown(view: FitView) -> str:
    lines = [f"## {escaped(view.heading)}", "", *table_lines(_COLUMNS, view.times), ""]
    lines += [f"* {escaped(name)}: {escaped(text)}" for name, text in view.spreads]
    lines += [f"* {escaped(note)}" for note in view.notes]
    return "\n".join(lines) + "\n"


def document(view: FitView) -> str:
    """The JSON document of ``--json``."""
    return json_text(view.document)


def _time(time: FittedTime) -> tuple[str, str, str, str, str]:
    return (
        one_line(": ".join(time.place)),
        f"{grouped(time.given.low)}..{grouped(time.given.high)} {time.unit.value}",
        f"{grouped(time.value)} {time.unit.value}" if time.counted else "not paid by any row",
        (
            ""
            if time.least is None or time.most is None
            else f"{grouped(rounded_down(time.least))}..{grouped(time.most)}"
        ),
        grouped(time.counted),
    )


def _spread(one: Comparison) -> str:
    unsafe = f"{len(one.unsafe)} of {grouped(len(one.rows))} rows unsafe"
    if one.spread is None:
        return unsafe
    percent = (v * 100 for v in (one.spread.minimum, one.spread.median, one.spread.maximum))
    return f"{unsafe}; {spread_text(*percent)}"


def _spread_document(one: Comparison) -> dict[str, object]:
    spread = one.spread
    return {
        "rows": len(one.rows),
        "unsafe": len(one.unsafe),
        "overestimation_percent": None
        if spread is None
        else {
            name: percent_number(value * 100)
            for name, value in (
                ("minimum", spread.minimum),
                ("median", spread.median),
                ("maximum", spread.maximum),
            )
        },
    }


def _document(time: FittedTime) -> dict[str, object]:
    def end(value: Fraction | None) -> int | float | None:
        return None if value is None else for_json(value)

    return {
        "place": list(time.place),
        "unit": time.unit.value,
        "given": [for_json(time.given.low), for_json(time.given.high)],
        "found": for_json(time.value) if time.counted else None,
        "could_be": [end(time.least), end(time.most)],
        "paid": for_json(time.counted),
    }


def _notes(
    fit: Fit,
    check: Comparison | None,
    simplified: bool,
    dearer: int,
    copied: Mapping[Place, Place],
) -> Iterator[str]:
    unpaid = [
        ": ".join(time.place) for time in fit.times if not time.counted and time.place not in copied
    ]
    if unpaid:
        yield (
            f"no measured row pays {', '.join(map(one_line, unpaid))}: left as the profile has it"
        )
    for place, other in sorted(copied.items()):
        yield (
            f"no measured row pays {one_line(': '.join(place))}: as "
            f"{one_line(': '.join(other))}, of which it is a case"
        )
    loose = [
        time
        for time in fit.times
        if time.least is not None
        and time.most is not None
        and time.most - time.least > (time.given.high - time.given.low) / 20
    ]
    if loose:
        yield (
            "these measurements do not tell "
            + ", ".join(one_line(": ".join(time.place)) for time in loose)
            + " from other times: measure something that has one without the other"
        )
    for group in fit.together:
        yield f"only sums are told of {', '.join(one_line(': '.join(place)) for place in group)}"
    if fit.tight:
        shown = ", ".join(one_line(label) for label in fit.tight[:_TIGHT])
        more = f" and {len(fit.tight) - _TIGHT} more" if len(fit.tight) > _TIGHT else ""
        yield f"these rows hold the times up: {shown}{more}"
    if check is not None and check.unsafe:
        yield (
            f"of the rows that were left out {len(check.unsafe)} came out too low: what was fitted "
            "holds for what was measured, and not for everything else"
        )
    if check is None:
        yield "no row was left out of a first fit: nothing checks these times on other rows"
    if fit.judged:
        yield (
            "what is paid here is no sum of times: each row was priced as estimates are and is not "
            "below its measurement; that no other times are less in total is not proven, and how "
            "far one could be moved is not looked for"
        )
    if simplified:
        yield "of prices that are the dearest of several one was taken: the true ones are not lower"
    if dearer:
        yield (
            f"{grouped(dearer)} of {grouped(fit.rows)} rows are priced above the sums that were "
            "fitted: prices that are the dearest of several, and waits for accesses before"
        )
