"""Estimates as Markdown tables (the GitHub dialect), for documents and reviews."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from wcetchar.model.uncertainty import Uncertainties
from wcetchar.report import uncertainty
from wcetchar.report.numbers import grouped
from wcetchar.report.view import EstimateView, column_cells


def render(views: Iterable[EstimateView]) -> str:
    """One section for each estimate."""
    return "\n".join("\n".join(_estimate(view)) + "\n" for view in views)


def _estimate(view: EstimateView) -> Iterator[str]:
    at = f" at {escaped(view.at)}" if view.at else ""
    yield f"## {escaped(view.service)} on {escaped(view.profile)}{at}"
    yield ""
    yield (
        f"**{grouped(view.total.high)} ns** ({view.word.value}), "
        f"{grouped(view.total_cycles)} core cycles, section map {escaped(view.section_map)}"
    )
    yield ""
    yield from _table(
        ["section", "repetition", "repetitions", "blocking"],
        [" ".join(group.heading) for group in view.groups] + ["ns"],
        [
            [row.section, row.repetition, str(row.repetitions), row.blocking]
            + [grouped(count) for count in row.groups]
            + [grouped(row.ns)]
            for row in view.sections
        ]
        + [
            ["all", "", "", ""]
            + [grouped(group.count) for group in view.groups]
            + [grouped(view.total.high)],
            ["ns", "", "", ""] + [grouped(group.ns) for group in view.groups] + [""],
        ],
    )
    yield ""
    yield from _table(
        ["class", "region"],
        ["count", "ns each", "ns", "share"],
        column_cells(view),
    )
    yield ""
    if view.uncertainty is not None:
        yield from _uncertainty(view.uncertainty)
    if view.paths is not None:
        yield f"* over all paths {escaped(view.paths.text)}"
    for part in view.blocking:
        if not part.links:
            where = f": {escaped(part.where)}" if part.where else ""
            yield f"* {part.kind} blocked for {grouped(part.ns)} ns ({part.word.value}){where}"
            continue
        at_least = "at least " if part.gaps else ""
        yield (
            f"* {part.kind} blocked for {at_least}{grouped(part.ns)} ns ({part.word.value}), with "
            "what goes on after it:"
        )
        for link in part.links:
            at = f" at {link.at}" if link.at else ""
            yield f"  * {grouped(link.ns)} ns {escaped(link.service + at)}: {escaped(link.where)}"
        for gap in part.gaps:
            yield f"  * not bounded: {escaped(gap)}"
        yield f"  * its own longest stretch: {grouped(part.own_ns)} ns: {escaped(part.own_where)}"
    for note in view.notes:
        yield f"* {escaped(note)}"


def _uncertainty(found: Uncertainties) -> Iterator[str]:
    before, rows, behind = uncertainty.markdown(found)
    yield from (f"* {escaped(line.strip())}" for line in before)
    yield ""
    if rows:
        yield from table_lines(uncertainty.COLUMNS, rows)
        yield ""
    yield from (f"* {escaped(line)}" for line in behind)
    yield from (f"* {escaped('; '.join(each))}" for each in uncertainty.others(found))


def _table(
    left: Sequence[str], right: Sequence[str], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    yield from table_lines([*((h, False) for h in left), *((h, True) for h in right)], rows)


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(escaped(cell) for cell in cells) + " |"


def table_lines(
    columns: Sequence[tuple[str, bool]], rows: Sequence[Sequence[str]]
) -> Iterator[str]:
    """A table; ``columns`` are (heading, whether it holds numbers)."""
    yield _line([heading for heading, _ in columns])
    yield "|" + "".join(" ---: |" if number else " --- |" for _, number in columns)
    for row in rows:
        yield _line(row)


def escaped(text: str) -> str:
    """Names are text, never markup."""
    return re.sub(r"([\\`*_\[\]<>|#])", r"\\\1", text)
