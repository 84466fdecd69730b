"""Exact replay beside the models of caches, as terminal tables, Markdown, CSV and JSON.

Percentages as in ``validation``: rounded to the nearest tenth where a model is safe, and down where
it is not.
"""

from __future__ import annotations

import csv
import io
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from rich.console import RenderableType
from rich.text import Text

from wcetchar.errors import one_line
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.replayed import CacheKind, Loads, Replay, Replayed, ReplayedRow
from wcetchar.model.section_map import CacheState
from wcetchar.report.csv import spreadsheet_text
from wcetchar.report.jsondoc import text_of as json_text
from wcetchar.report.markdown import escaped, table_lines
from wcetchar.report.numbers import for_json, grouped, plain
from wcetchar.report.terminal import notes_part, table_of, text_of
from wcetchar.report.validation import percent_number, percent_text

SHOWN: Final = 40
"""Rows of a cache of which a terminal shows each; of more it shows unsafe ones and the services."""

_REPLAYS: Final = ("replay_empty", "replay_empty_in_vain", "replay_warm", "replay_warm_in_vain")
_MODELS: Final = {state: state.value.replace(" ", "_") for state in CacheState}
FIELDS: Final = (
    "cache",
    "service",
    "parameters",
    "windows",
    *(f"{name}_lines" for name in (*_REPLAYS, *_MODELS.values())),
    *(f"{name}_ns" for name in (*_REPLAYS, *_MODELS.values())),
    *(f"{name}_over_percent" for name in _MODELS.values()),
    "unsafe",
)
_ROW: Final = (
    ("service", False),
    ("at", False),
    ("empty", True),
    ("+vain", True),
    ("warm", True),
    ("+vain", True),
    ("always miss", True),
    ("cold", True),
    ("warm", True),
    ("empty ns", True),
    ("cold ns", True),
    ("cold over", True),
)
_GROUP: Final = (
    ("service", False),
    ("values", True),
    ("windows", True),
    ("unsafe", True),
    ("most loaded", True),
    ("cold then", True),
    ("least over", True),
    ("median", True),
    ("most", True),
)
_OVER: Final = (
    ("cache", False),
    ("model", False),
    ("replay of", False),
    ("rows", True),
    ("least", True),
    ("median", True),
    ("most", True),
)
_HOW: Final = (
    "lines that are loaded: by replay from an empty cache and from a warm one (+vain: with what is "
    "fetched in vain); what the models say; and the time of the lines"
)
_Block = tuple[str, tuple[tuple[str, bool], ...], list[list[str]]]


@dataclass(frozen=True)
class ReplayView:
    """``rows``: unsafe ones first, then those that a cold model is furthest above; by cache."""

    profile: str
    section_map: str
    caches: tuple[tuple[CacheKind, str], ...]
    rows: tuple[ReplayedRow, ...]
    unsafe: tuple[ReplayedRow, ...]
    notes: tuple[str, ...]


def view_of(found: Replayed) -> ReplayView:
    rows = tuple(sorted(found.rows, key=_order))
    return ReplayView(
        profile=one_line(found.profile),
        section_map=one_line(found.section_map),
        caches=tuple((kind, _geometry(one)) for kind, one in found.caches.items()),
        rows=rows,
        unsafe=tuple(row for row in rows if row.unsafe),
        notes=tuple(one_line(note) for note in found.notes),
    )


def _geometry(one: CacheGeometry) -> str:
    ways = f"{one.ways} {'way' if one.ways == 1 else 'ways'}"
    return f"{one.size} bytes, {ways}, lines of {one.line} bytes"


def unsafe_text(row: ReplayedRow) -> str:
    """What is wrong with a row, in one line."""
    wrong = [
        f"{state.value} says {row.models[state].lines}, replay {_worst(row, state).lines}"
        for state in row.unsafe
    ]
    at = _at(row)
    return f"{row.service}{f' at {at}' if at else ''}, {row.cache.value}: {'; '.join(wrong)}"


def terminal(view: ReplayView, width: int = 120, color: bool = False) -> str:
    parts: list[RenderableType] = [Text(_headline(view), style="bold")]
    parts += [Text(line) for line in _caches(view)]
    for title, columns, rows in _blocks(view, SHOWN):
        parts += ["", Text(title, style="bold"), table_of(columns, rows)]
    parts += ["", Text(_HOW)]
    parts.extend(notes_part(view.notes))
    return text_of(parts, width, color)


def markdown(view: ReplayView) -> str:
    lines = [f"## {escaped(_headline(view))}", "", *(f"* {line}" for line in _caches(view)), ""]
    for title, columns, rows in _blocks(view, None):
        lines += [f"### {escaped(title)}", "", *table_lines(columns, rows), ""]
    lines += [f"* {escaped(line)}" for line in (_HOW, *view.notes)]
    return "\n".join(lines) + "\n"


def csv_text(view: ReplayView) -> str:
    """Every row. Times are rounded up; what is not known is empty."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(FIELDS)
    for row in view.rows:
        loads = [*_replays(row), *(row.models.get(state) for state in CacheState)]
        over = (row.over(state) for state in CacheState)
        writer.writerow(
            [
                row.cache.value,
                spreadsheet_text(one_line(row.service)),
                spreadsheet_text(_at(row)),
                row.windows,
                *("" if one is None else one.lines for one in loads),
                *("" if one is None else plain(one.time) for one in loads),
                *("" if o is None else percent_text(o * 100).removesuffix(" %") for o in over),
                "; ".join(state.value for state in row.unsafe),
            ]
        )
    return stream.getvalue()


def document(view: ReplayView) -> str:
    """The JSON document of ``--json``."""
    return json_text(
        {
            "kind": "wcetchar cache replay",
            "profile": view.profile,
            "map": view.section_map,
            "unsafe": len(view.unsafe),
            "caches": [
                {
                    "cache": kind.value,
                    "geometry": geometry,
                    "over_percent": {
                        _MODELS[state]: None
                        if (spread := _spread(_of(view, kind), state)) is None
                        else dict(
                            zip(
                                ("minimum", "median", "maximum"),
                                map(percent_number, spread),
                                strict=True,
                            )
                        )
                        for state in CacheState
                    },
                }
                for kind, geometry in view.caches
            ],
            "rows": [_row_document(row) for row in view.rows],
            "notes": list(view.notes),
        }
    )


def _row_document(row: ReplayedRow) -> dict[str, object]:
    return {
        "cache": row.cache.value,
        "service": one_line(row.service),
        "parameters": {one_line(name): value for name, value in row.parameters.items()},
        "windows": row.windows,
        "replay": {
            "executed": _replay_document(row.executed),
            "with_in_vain": _replay_document(row.in_vain),
        },
        "models": {name: _loads_document(row.models.get(s)) for s, name in _MODELS.items()},
        "over_percent": {
            name: None if (over := row.over(state)) is None else percent_number(over * 100)
            for state, name in _MODELS.items()
        },
        "unsafe": [_MODELS[state] for state in row.unsafe],
    }


def _replay_document(replay: Replay | None) -> object:
    if replay is None:
        return None
    return {"empty": _loads_document(replay.empty), "warm": _loads_document(replay.warm)}


def _loads_document(loads: Loads | None) -> object:
    return None if loads is None else {"lines": loads.lines, "ns": for_json(loads.time)}


def _replays(row: ReplayedRow) -> tuple[Loads | None, ...]:
    """In the order of ``_REPLAYS``."""
    vain = row.in_vain
    return (
        row.executed.empty,
        vain.empty if vain else None,
        row.executed.warm,
        vain.warm if vain else None,
    )


def _worst(row: ReplayedRow, state: CacheState) -> Loads:
    replays = [one.of(state) for one in (row.executed, row.in_vain) if one is not None]
    return max(replays, key=lambda loads: (loads.lines, loads.time))


def _at(row: ReplayedRow) -> str:
    return ", ".join(f"{one_line(name)}={value}" for name, value in row.parameters.items())


def _order(row: ReplayedRow) -> tuple[bool, bool, Fraction, str, tuple[int, ...]]:
    values = tuple(row.parameters.values())
    return (row.cache is CacheKind.DATA, not row.unsafe, -_over_cold(row), row.service, values)


def _of(view: ReplayView, kind: CacheKind) -> list[ReplayedRow]:
    return [row for row in view.rows if row.cache is kind]


def _spread(
    rows: Iterable[ReplayedRow], state: CacheState, in_vain: bool = False
) -> tuple[Fraction, Fraction, Fraction] | None:
    """Least, median and most of what a model is over, in percent."""
    known = sorted(o * 100 for row in rows if (o := row.over(state, in_vain)) is not None)
    return (known[0], statistics.median(known), known[-1]) if known else None


def _headline(view: ReplayView) -> str:
    safe = "none unsafe" if not view.unsafe else f"{len(view.unsafe)} UNSAFE"
    return (
        f"{safe} of {grouped(len(view.rows))} rows replayed on {view.profile} "
        f"(map {view.section_map})"
    )


def _caches(view: ReplayView) -> Iterator[str]:
    for kind, geometry in view.caches:
        yield f"{kind.value}: {geometry}"


def _summary(view: ReplayView) -> Iterator[list[str]]:
    """Of rows in which replay loads anything at all."""
    for kind, _ in view.caches:
        rows = _of(view, kind)
        for state in CacheState:
            for in_vain in (False, True):
                known = [row for row in rows if row.over(state, in_vain) is not None]
                spread = _spread(known, state, in_vain)
                if spread is not None:
                    what = "with what is fetched in vain" if in_vain else "what is executed"
                    if kind is CacheKind.DATA:
                        what = "loads and stores"
                    shown = map(percent_text, spread)
                    yield [kind.value, state.value, what, grouped(len(known)), *shown]


def _blocks(view: ReplayView, shown: int | None) -> Iterator[_Block]:
    """``shown``: rows of a cache of which each is shown, at most; ``None``: all."""
    yield "by how much models are over replay", _OVER, [*_summary(view)]
    for kind, _ in view.caches:
        rows = _of(view, kind)
        each = [row for row in rows if row.unsafe]
        if each:
            yield f"{kind.value}: UNSAFE, a replay loads more", _ROW, [*map(_row, each[:shown])]
        if shown is None or len(rows) <= shown:
            yield f"{kind.value}: services", _ROW, [*map(_row, rows)]
            continue
        yield f"{kind.value}: services", _GROUP, [*_groups(rows)]
        yield f"{kind.value}: furthest over", _ROW, [_row(max(rows, key=_over_cold))]


def _over_cold(row: ReplayedRow) -> Fraction:
    return row.over(CacheState.COLD) or Fraction(0)


def _row(row: ReplayedRow) -> list[str]:
    replays = [_lines(one) for one in _replays(row)]
    models = [row.models.get(state) for state in CacheState]
    cold = row.models.get(CacheState.COLD)
    over = row.over(CacheState.COLD)
    return [
        one_line(row.service),
        _at(row),
        *replays,
        *map(_lines, models),
        grouped(row.executed.empty.time),
        "-" if cold is None else grouped(cold.time),
        percent_text(None if over is None else over * 100),
    ]


def _lines(loads: Loads | None) -> str:
    return "-" if loads is None else grouped(loads.lines)


def _groups(rows: Sequence[ReplayedRow]) -> Iterator[list[str]]:
    found: dict[str, list[ReplayedRow]] = {}
    for row in rows:
        found.setdefault(row.service, []).append(row)
    for service, own in found.items():
        most = max(own, key=lambda row: row.executed.empty.lines)
        spread = _spread(own, CacheState.COLD)
        yield [
            one_line(service),
            grouped(len(own)),
            grouped(sum(row.windows for row in own)),
            str(sum(bool(row.unsafe) for row in own)),
            _lines(most.executed.empty),
            _lines(most.models.get(CacheState.COLD)),
            *(map(percent_text, spread) if spread else ("-", "-", "-")),
        ]
