"""Estimates as comma-separated values: one table, one fact a line.

========== ==========================================================================
line       what ``ns`` is
========== ==========================================================================
total      the whole service
blocking   the longest stretch of the kind named under ``blocking``
section    one trace section, all repetitions
count      empty; ``count`` is one trace section's count of ``class``, one repetition
class      one class over the whole service, ``count`` times ``price_ns``
========== ==========================================================================
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator

from wcetchar.report.numbers import plain
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
        head = {
            "service": _text(view.service),
            "profile": _text(view.profile),
            "map": _text(view.section_map),
            "parameters": _text(view.at),
            "word": view.word.value,
        }
        for line in _lines(view):
            writer.writerow(head | line)
    return stream.getvalue()


def _lines(view: EstimateView) -> Iterator[dict[str, str | int]]:
    yield {"line": "total", "ns": plain(view.total.high)}
    for part in view.blocking:
        yield {"line": "blocking", "blocking": part.kind, "ns": plain(part.ns)}
    for row in view.sections:
        yield {
            "line": "section",
            "section": _text(row.section),
            "repetition": _text(row.repetition),
            "repetitions": row.repetitions,
            "blocking": _text(row.blocking),
            "ns": plain(row.ns),
        }
        for name, count in row.counts:
            yield {
                "line": "count",
                "section": _text(row.section),
                "class": _text(name),
                "count": count,
            }
    for column in view.columns:
        yield {
            "line": "class",
            "class": _text(column.name),
            "region": _text(column.region),
            "count": column.count,
            "price_ns": plain(column.price_ns),
            "ns": plain(column.ns),
        }


def _text(text: str) -> str:
    """A name that a spreadsheet would take for a formula gets an apostrophe before it."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
