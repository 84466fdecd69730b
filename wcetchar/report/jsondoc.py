"""Estimates as one JSON document with stable keys.

Times are in nanoseconds, the safe (upper) ends, rounded up to at most three decimals; where a
number is whole it is a JSON integer. Rounded parts may therefore add up to a little more than the
rounded total. ``rows[].counts`` are for one repetition, ``rows[].ns`` for all ``repetitions`` of
them. ``total_cycles`` counts cycles of the core's clock at its slowest. ``range_ns.low`` is rounded
down.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Final

from wcetchar.report.numbers import for_json, low_for_json
from wcetchar.report.uncertainty import as_json
from wcetchar.report.view import EstimateView

SCHEMA_VERSION: Final = 1


def render(views: Iterable[EstimateView]) -> str:
    """The document of ``--json``, with a newline at its end."""
    return text_of({"estimates": [estimate_document(view) for view in views]})


def text_of(document: Mapping[str, object]) -> str:
    """Any result as a document: the schema version first, two spaces of indent."""
    whole = {"schema_version": SCHEMA_VERSION, **document}
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def estimate_document(view: EstimateView) -> dict[str, object]:
    """Of one estimate."""
    return {
        "service": view.service,
        "profile": view.profile,
        "map": view.section_map,
        "parameters": dict(view.parameters),
        "word": view.word.value,
        "total_ns": for_json(view.total.high),
        "total_cycles": for_json(view.total_cycles),
        "core_clock_hz": for_json(view.core_clock_hz),
        "range_ns": {
            "low": low_for_json(view.total.low),
            "nominal": for_json(view.total.nominal),
            "high": for_json(view.total.high),
        },
        "over_all_paths": None
        if view.paths is None
        else {
            "bound_ns": None if view.paths.ns is None else for_json(view.paths.ns),
            "word": view.paths.word.value,
            "why": view.paths.why,
            "blocking_ns": {
                kind: None if ns is None else for_json(ns)
                for kind, ns in (
                    ("interrupts", view.paths.interrupts_ns),
                    ("preemption", view.paths.preemption_ns),
                )
            },
        },
        "blocking_ns": {part.kind: for_json(part.ns) for part in view.blocking},
        "blocking_where": {part.kind: part.where for part in view.blocking},
        "blocking_chains": {
            part.kind: {
                "word": part.word.value,
                "own_ns": for_json(part.own_ns),
                "own_where": part.own_where,
                "links": [
                    {
                        "service": link.service,
                        "parameters": dict(link.parameters),
                        "where": link.where,
                        "ns": for_json(link.ns),
                    }
                    for link in part.links
                ],
                "not_bounded": list(part.gaps),
            }
            for part in view.blocking
            if part.links
        },
        "rows": [
            {
                "section": row.section,
                "repetition": row.repetition,
                "repetitions": row.repetitions,
                "blocking": row.blocking,
                "counts": dict(row.counts),
                "ns": for_json(row.ns),
            }
            for row in view.sections
        ],
        "columns": {
            column.name: {
                "count": column.count,
                "ns": for_json(column.ns),
                "price_ns": for_json(column.price_ns),
                "region": column.region,
            }
            for column in view.columns
        },
        "notes": list(view.notes),
        **({} if view.uncertainty is None else {"uncertainty": as_json(view.uncertainty)}),
    }
