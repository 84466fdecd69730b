"""Worst paths as one JSON document with stable keys, as of ``jsondoc``.

Times are in ns, rounded up to at most three decimals. ``worst_path_ns`` is what ``word`` says, and
``bound_ns`` is there only where that is a bound. ``share`` is of ``worst_path_ns``, to the nearest
millionth. Nodes of edges are numbers of ``blocks``; ``null`` is outside.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from wcetchar.model.characterization import Word
from wcetchar.model.path_model import OUTSIDE
from wcetchar.report.jsondoc import text_of
from wcetchar.report.numbers import for_json
from wcetchar.report.paths_view import Line, PathRows


def document(all_rows: Iterable[PathRows]) -> str:
    """The document of ``--json``."""
    return text_of({"kind": "wcetchar paths", "services": [_service(rows) for rows in all_rows]})


def _service(rows: PathRows) -> dict[str, object]:
    return {
        "service": rows.service,
        "profile": rows.profile,
        "map": rows.section_map,
        "parameters": dict(rows.parameters),
        "word": rows.word.value,
        "high_water_mark_ns": _ns(rows.high_water_mark_ns),
        "traced_path_ns": _ns(rows.traced_path_ns),
        "worst_path_ns": _ns(rows.bound_ns),
        "bound_ns": _ns(rows.bound_ns) if rows.word is Word.BOUND else None,
        "worst_path_over_high_water_mark": _ns(rows.ratio),
        "below_high_water_mark": rows.below,
        "beside_blocks_ns": for_json(rows.beside_ns) if rows.has_flow else None,
        "formula": None
        if rows.formula is None
        else {
            "unit_ns": {
                "numerator": rows.formula.unit_ns.numerator,
                "denominator": rows.formula.unit_ns.denominator,
            },
            "word": rows.formula.word,
            "solved_at": rows.formula.points,
            "pieces": [
                {
                    "ranges": {name: [low, high] for name, low, high in piece.ranges},
                    "formula": piece.text,
                }
                for piece in rows.formula.pieces
            ],
        },
        "longest_stretches": [
            {
                "kind": row.kind,
                "word": row.word.value,
                "traced_ns": _ns(row.traced_ns),
                "ns": for_json(row.bound_ns),
                "begin": row.begin or None,
                "end": row.end or None,
                "notes": list(row.notes),
            }
            for row in rows.stretches
        ],
        "coverage": None
        if rows.coverage is None
        else {
            "blocks": rows.coverage.blocks,
            "blocks_seen": rows.coverage.blocks_seen,
            "edges": rows.coverage.edges,
            "edges_seen": rows.coverage.edges_seen,
        },
        "blocks": [
            {
                "function": row.function,
                "activation": row.activation,
                "lines": [_line(line) for line in row.lines],
                "blocking": row.blocking,
                "seen": row.seen,
                "count": row.count,
                "each_ns": for_json(row.each_ns),
                "ns": _ns(row.total_ns),
                "share": None if row.share is None else round(float(row.share), 6),
            }
            for row in rows.blocks
        ],
        "edges": [
            {
                "source": None if row.source == OUTSIDE else row.source,
                "target": None if row.target == OUTSIDE else row.target,
                "count": row.count,
                "seen": row.seen,
            }
            for row in rows.edges
        ],
        "activations": [
            {
                "calls": list(row.calls),
                "parent": row.parent,
                "entered": row.entered,
                "own_ns": _ns(row.own_ns),
                "ns": _ns(row.total_ns),
            }
            for row in rows.activations
        ],
        "differs": [
            {
                "edge": row.edge,
                "function": row.function or None,
                "from": _line(row.begin),
                "to_function": row.to_function or None,
                "to": _line(row.end),
                "count": row.count,
                "traces_come_here": row.first,
            }
            for row in rows.differs
        ],
        "constraints": {origin.value: number for origin, number in rows.facts.items()},
        "binding": [
            {
                "label": row.label,
                "origin": row.origin or None,
                "because": row.because,
                "place": row.place,
            }
            for row in rows.binding
        ],
        "gaps": [{"what": g.what, "where": g.where, "fact": g.fact} for g in rows.gaps],
        "notes": list(rows.notes),
    }


def _line(line: Line) -> dict[str, object]:
    return {"place": line.place, "line": line.number or None, "text": line.text}


def _ns(value: Fraction | None) -> int | float | None:
    return None if value is None else for_json(value)
