"""Estimates as comma-separated values: one table, one fact a line.

========== ==========================================================================
line       what ``ns`` is
========== ==========================================================================
total      the whole service
paths      the dearest path that there is, by the path model; empty: it has no bound
blocking   the longest time that what ``blocking`` names is held off: a stretch of the service, or
           a chain that begins with one
own        where that is a chain: the longest stretch of the service itself
chain      one stretch of the chain, numbered under ``section``; ``class`` is its service
section    one trace section, all repetitions
count      empty; ``count`` is one trace section's count of ``class``, one repetition
class      one class over the whole service, ``count`` times ``price_ns``
========== ==========================================================================

With uncertainties, these too, of the total; of how long what ``blocking`` names is held off each
has "blocking" before it, of the bound of all paths "paths", and ``blocking no range`` or ``paths no
range`` stands for all of a figure that has none:

================= ===================================================================
line              what ``ns`` is
================= ===================================================================
lowest            where all numbers are at the ends that lower it
nominal           where all are nominal
systematic low    the least that systematic errors alone make of it
systematic high   the most
stochastic        the root of the squares of what stochastic errors add
expected low      the least to be expected
expected high     the most; ``total`` is what holds
together          what numbers raise it by together beyond what each does alone
raises            what the number that ``class`` names raises it by alone; then two parts of it, of
                  its systematic and its stochastic error: ``raises systematic``,
                  ``raises stochastic``
lowers            what it lowers it by
================= ===================================================================
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from wcetchar.report.numbers import plain
from wcetchar.report.uncertainty import csv_lines
from wcetchar.report.view import EstimateView

FIELDS = (
    "service",
    "profile",
    "map",
    "parameters",
    "word",
    "line",
    "section",
    "repetition",
    "repetitions",
    "blocking",
    "class",
    "region",
    "count",
    "price_ns",
    "ns",
)


def render(views: Iterable[EstimateView]) -> str:
    """The table with its header, lines ended by a newline."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, FIELDS, restval="", lineterminator="\n")
    writer.writeheader()
    for view in views:
        writer.writerows(lines_of(view))
    return stream.getvalue()


def lines_of(view: EstimateView) -> Iterator[dict[str, str | int]]:
    """Of one estimate; fields that a line has not are left out."""
    head: dict[str, str | int] = {
        "service": spreadsheet_text(view.service),
        "profile": spreadsheet_text(view.profile),
        "map": spreadsheet_text(view.section_map),
        "parameters": spreadsheet_text(view.at),
        "word": view.word.value,
    }
    for line in _lines(view):
        yield head | line


def _lines(view: EstimateView) -> Iterator[dict[str, str | int]]:
    yield {"line": "total", "ns": plain(view.total.high)}
    if view.paths is not None:
        ns = "" if view.paths.ns is None else plain(view.paths.ns)
        yield {"line": "paths", "word": view.paths.word.value, "ns": ns}
    for part in view.blocking:
        yield {"line": "blocking", "blocking": part.kind, "ns": plain(part.ns)}
        if part.links:
            yield {"line": "own", "blocking": part.kind, "ns": plain(part.own_ns)}
        for number, link in enumerate(part.links, start=1):
            yield {
                "line": "chain",
                "section": str(number),
                "blocking": part.kind,
                "class": spreadsheet_text(link.service),
                "ns": plain(link.ns),
            }
    for row in view.sections:
        yield {
            "line": "section",
            "section": spreadsheet_text(row.section),
            "repetition": spreadsheet_text(row.repetition),
            "repetitions": row.repetitions,
            "blocking": spreadsheet_text(row.blocking),
            "ns": plain(row.ns),
        }
        for name, count in row.counts:
            yield {
                "line": "count",
                "section": spreadsheet_text(row.section),
                "class": spreadsheet_text(name),
                "count": count,
            }
    for column in view.columns:
        yield {
            "line": "class",
            "class": spreadsheet_text(column.name),
            "region": spreadsheet_text(column.region),
            "count": column.count,
            "price_ns": plain(column.price_ns),
            "ns": plain(column.ns),
        }
    if view.uncertainty is not None:
        for cells in csv_lines(view.uncertainty):
            yield {**cells, "class": spreadsheet_text(cells.get("class", ""))}


def spreadsheet_text(text: str) -> str:
    """A name that a spreadsheet would take for a formula gets an apostrophe before it."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
