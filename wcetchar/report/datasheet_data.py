"""A datasheet as one JSON document with stable keys, and as CSV.

``services[].estimates[]`` of the document are those of ``wcetchar estimate --json``, with
``hardware``, the number of the hardware in the document, ``memories``, ``formula``, ``searched``
(parameters that nothing sets: figures are the largest of all their values) and ``command``, that
prints them. Times are in nanoseconds, rounded up. ``at``: values of parameters at which something
is held off longest, where that is not where the total is largest.

The CSV has the lines of ``wcetchar estimate --format csv`` and before them, of each service,
``published``: a trace section, and ``published count``: what it counts in one repetition. Lines
of another characterization (``--against``) follow; the first column tells the two apart.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator

from wcetchar.report.csv import FIELDS, lines_of, spreadsheet_text
from wcetchar.report.datasheet import Datasheet, Hardware, Priced, ServiceRows, Side
from wcetchar.report.jsondoc import estimate_document, text_of
from wcetchar.report.numbers import for_json


def json_text(sheet: Datasheet) -> str:
    """The document, with a newline at its end."""
    document: dict[str, object] = {
        "kind": "wcetchar datasheet",
        **_side(sheet.base),
        "hardware": [_hardware(one) for one in sheet.hardware],
    }
    if sheet.against is not None:
        document["against"] = _side(sheet.against)
    return text_of(document)


def _side(side: Side) -> dict[str, object]:
    return {
        "label": side.label,
        "kernel": dict(side.facts),
        "configuration": dict(side.configuration),
        "provenance": dict(side.provenance),
        "sections": [
            {"name": name, "kind": kind, "meaning": meaning}
            for name, kind, meaning in side.sections
        ],
        "assumptions": list(side.assumptions),
        "not_characterized": [{"name": name, "reason": why} for name, why in side.missing],
        "left_out": [
            {"because": because, "calls": list(calls)} for because, calls in side.left_out
        ],
        "services": [_service(one) for one in side.services],
    }


def _hardware(hardware: Hardware) -> dict[str, object]:
    return {
        "label": hardware.label,
        "profile": hardware.profile,
        "map": hardware.section_map,
        "description": hardware.description,
        "core": hardware.about.heading,
        "accesses": hardware.about.document["accesses"],
        "places": dict(hardware.places),
    }


def _service(service: ServiceRows) -> dict[str, object]:
    return {
        "service": service.name,
        "kind": service.kind,
        "part": service.part,
        "word": service.word,
        "description": service.description,
        "worst_state": service.worst_state,
        "source": service.place,
        "counts": service.counts,
        "evidence": service.evidence,
        "parameters": [
            {
                "name": p.name,
                "kind": p.kind,
                "minimum": p.minimum,
                "maximum": p.maximum,
                "meaning": p.meaning,
            }
            for p in service.parameters
        ],
        "published": [
            {
                "section": row.section,
                "repetition": row.repetition,
                "blocking": row.blocking,
                "counts": dict(row.counts),
            }
            for row in service.published
        ],
        "stretches": [
            {"kind": s.kind, "begin": s.begin, "end": s.end, "repetition": s.repetitions}
            for s in service.stretches
        ],
        "notes": list(service.notes),
        "estimates": [_estimate(number, priced) for number, priced in enumerate(service.priced)],
    }


def _estimate(number: int, priced: Priced) -> dict[str, object]:
    return {
        "hardware": number,
        **estimate_document(priced.view),
        "at": {
            part.kind: dict(part.values) for part in priced.view.blocking if part.values is not None
        },
        "memories": {row.name: for_json(row.ns) for row in priced.regions},
        "formula": [{"ns": for_json(t.ns), "repetition": t.repetition} for t in priced.terms],
        "searched": list(priced.searched),
        "command": priced.command,
    }


def csv_text(sheet: Datasheet) -> str:
    """The table with its header, lines ended by a newline."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, ("kernel", *FIELDS), restval="", lineterminator="\n")
    writer.writeheader()
    for side in sheet.sides:
        for service in side.services:
            for line in (*_published(service), *_priced(service)):
                writer.writerow({"kernel": spreadsheet_text(side.label), **line})
    return stream.getvalue()


def _published(service: ServiceRows) -> Iterator[dict[str, str | int]]:
    head = {"service": spreadsheet_text(service.name), "word": service.word}
    for row in service.published:
        section = {"section": spreadsheet_text(row.section)}
        yield {
            **head,
            **section,
            "line": "published",
            "repetition": spreadsheet_text(row.repetition),
            "blocking": spreadsheet_text(row.blocking),
        }
        for name, count in row.counts:
            yield {
                **head,
                **section,
                "line": "published count",
                "class": spreadsheet_text(name),
                "count": count,
            }


def _priced(service: ServiceRows) -> Iterator[dict[str, str | int]]:
    for priced in service.priced:
        yield from lines_of(priced.view)
