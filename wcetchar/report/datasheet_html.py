"""A datasheet as one HTML page: nothing from outside, and all figures are in it without its script.

With the script a reader searches, sorts, and sees services on two hardware profiles, or of two
characterizations, side by side. Tables are the blocks that text and Markdown have, too.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from markupsafe import Markup

from wcetchar.report.datasheet import Datasheet, Priced, ServiceRows
from wcetchar.report.datasheet_blocks import (
    Block,
    Heading,
    Line,
    at_least,
    hardware_blocks,
    longest_table,
    priced_blocks,
    service_blocks,
    side_blocks,
)
from wcetchar.report.evaluator import FILES as EVALUATOR
from wcetchar.report.numbers import for_json, grouped
from wcetchar.report.pages import data, environment, part, policy
from wcetchar.report.paths_graph import figures_of
from wcetchar.report.paths_html import pictures_of
from wcetchar.report.paths_svg import markers
from wcetchar.report.paths_view import PathRows
from wcetchar.report.view import BlockingView, EstimateView

_SCRIPTS = (
    *EVALUATOR,
    "datasheet.js",
    "datasheet_live.js",
    "datasheet_plots.js",
    "datasheet_start.js",
)
_FIGURES = (
    ("service", "service", False),
    ("total", "total", True),
    ("interrupts", "blocks interrupts", True),
    ("preemption", "blocks preemption", True),
)
_COUNTS = (("service", "service", False), ("kind", "what", False), ("counts", "counts", False))
_FOLDED = ("published", "stretches")
"""Blocks of a service that are the same on all hardware, and long."""
_FOLDED_AWAY = ("classes", "notes")
"""Blocks of a service's figures that are long."""


@dataclass(frozen=True)
class _Folded:
    title: str
    blocks: list[Block]


@dataclass(frozen=True)
class _Graph:
    """Of a service on one hardware; ``why``: there is none."""

    number: int
    label: str
    note: str
    why: str


@dataclass(frozen=True)
class _Row:
    """A service of either characterization. ``panels``: side, hardware, figures."""

    name: str
    at: str
    cells: list[tuple[str, bool, str]]
    blocks: list[Block]
    panels: list[tuple[int, int, Priced]]
    folded: list[tuple[str, list[Block]]]
    graphs: list[_Graph]
    figures: dict[str, dict[str, object]]
    text: str


def render(
    sheet: Datasheet,
    evaluators: Mapping[str, Mapping[str, object]],
) -> str:
    """The page.

    Args:
        evaluators: what its script works out other figures with: documents of the evaluator, by
            characterization and hardware, such as "0-1"; empty: it shows these figures alone.
    """
    rows = list(_rows(sheet))
    style, script = part("datasheet.css", "flow.css"), part(*_SCRIPTS)
    scenarios = list(_scenarios(sheet))
    return (
        environment()
        .get_template("datasheet.html")
        .render(
            sheet=sheet,
            style=Markup(style),
            script=Markup(script),
            policy=policy(style, script),
            markers=Markup(markers()),
            longest=longest_table(sheet),
            sides=[_folded(side_blocks(side, _of(sheet, n))) for n, side in enumerate(sheet.sides)],
            hardware=[_folded(hardware_blocks(one)) for one in sheet.hardware],
            scenarios=scenarios,
            list_columns=_FIGURES if sheet.hardware else _COUNTS,
            list_rows=rows,
            priced_blocks=priced_blocks,
            folded_away=_FOLDED_AWAY,
            evaluators=[(scenario, data(one)) for scenario, one in evaluators.items()],
            graphs=list(_drawn(sheet, rows)),
            data=data(
                {
                    "hardware": [one.label for one in sheet.hardware],
                    "sides": [side.label for side in sheet.sides],
                    "scenarios": [value for value, _ in scenarios],
                    "columns": _FIGURES if sheet.hardware else _COUNTS,
                    "rows": [
                        {"name": row.name, "text": row.text, "figures": row.figures} for row in rows
                    ],
                }
            ),
        )
    )


def _of(sheet: Datasheet, side: int) -> str:
    return "" if sheet.against is None else f" of {sheet.sides[side].label}"


def _folded(blocks: Iterator[Block]) -> _Folded:
    """What stands behind its heading."""
    heading = next(blocks)
    assert isinstance(heading, Heading)
    return _Folded(heading.text, list(blocks))


def _scenarios(sheet: Datasheet) -> Iterator[tuple[str, str]]:
    """What a reader can look at: a characterization on hardware."""
    for side, one in enumerate(sheet.sides):
        for number, hardware in enumerate(sheet.hardware):
            of = f"{one.label} on " if sheet.against is not None else ""
            yield f"{side}-{number}", f"{of}{hardware.label}"


def _rows(sheet: Datasheet) -> Iterator[_Row]:
    named = [{service.name: service for service in side.services} for side in sheet.sides]
    for name in dict.fromkeys(name for services in named for name in services):
        owners = [(n, services[name]) for n, services in enumerate(named) if name in services]
        side, service = owners[0]
        blocks = list(service_blocks(service))
        if len(owners) < len(named):
            blocks.insert(0, Line("only", "only in", sheet.sides[side].label))
        panels = [(n, k, priced) for n, one in owners for k, priced in enumerate(one.priced)]
        figures = {f"{n}-{k}": _figures(priced) for n, k, priced in panels}
        yield _Row(
            name=name,
            at=service.priced[0].view.at if service.priced else "",
            cells=_cells(service),
            blocks=[block for block in blocks if getattr(block, "key", "") not in _FOLDED],
            panels=panels,
            folded=list(_published(sheet, owners)),
            graphs=_graphs(sheet, service) if side == 0 else [],
            figures=figures,
            text=" ".join((name, service.kind, service.part, service.description)).lower(),
        )


def _published(
    sheet: Datasheet, owners: list[tuple[int, ServiceRows]]
) -> Iterator[tuple[str, list[Block]]]:
    """What is long and the same on all hardware."""
    for side, service in owners:
        of = f" of {sheet.sides[side].label}" if sheet.against is not None else ""
        blocks = [b for b in service_blocks(service) if getattr(b, "key", "") in _FOLDED]
        if blocks:
            yield f"what was characterized{of}", blocks


def _cells(service: ServiceRows) -> list[tuple[str, bool, str]]:
    """On the first hardware: text, whether it is a number, and what is said below it."""
    if not service.priced:
        return [(service.kind, False, ""), (service.counts, False, "")]
    view = service.priced[0].view
    return [
        (grouped(view.total.high), True, view.word.value),
        *(
            (f"{at_least(part)}{grouped(part.ns)}", True, _below(view, part))
            for part in view.blocking
        ),
    ]


def _below(view: EstimateView, part: BlockingView) -> str:
    """What is not as of the total."""
    word = "" if part.word is view.word else part.word.value
    return ", ".join(filter(None, (word, f"at {part.at}" if part.at else "")))


def _figures(priced: Priced) -> dict[str, object]:
    """Of the list: for sorting, as text, the word, and at which values."""
    view = priced.view
    return {
        "total": [for_json(view.total.high), grouped(view.total.high), view.word.value, view.at],
        "word": view.word.value,
        "at": view.at,
        "values": dict(view.parameters),
        "given": dict(priced.given),
        "formula": bool(priced.terms),
        **{
            part.kind: [
                for_json(part.ns),
                f"{at_least(part)}{grouped(part.ns)}",
                part.word.value,
                part.at or view.at,
            ]
            for part in view.blocking
        },
    }


def _graphs(sheet: Datasheet, service: ServiceRows) -> list[_Graph]:
    """On each hardware; once for all, where there is none for the same reason."""
    if not any(service.graphs) and len({*service.no_graph}) == 1:
        return [_Graph(-1, "", "", service.no_graph[0])]
    return [
        _Graph(number, sheet.hardware[number].label, _graph_note(rows), why)
        for number, (rows, why) in enumerate(zip(service.graphs, service.no_graph, strict=True))
    ]


def _graph_note(rows: PathRows | None) -> str:
    if rows is None:
        return ""
    at = f", at {rows.at}" if rows.at else ""
    if rows.bound_ns is None:
        return f"No bound: the graph shows every path{at}."
    return f"The dearest path takes {grouped(rows.bound_ns)} ns ({rows.word.value}){at}."


def _drawn(sheet: Datasheet, rows: list[_Row]) -> Iterator[tuple[str, Markup]]:
    """Of the first characterization, by row and hardware ("3-0")."""
    named = {service.name: service for service in sheet.base.services}
    for place, row in enumerate(rows):
        service = named.get(row.name)
        for number, graph in enumerate(service.graphs if service else ()):
            if graph is not None:
                yield f"{place}-{number}", data(_pictures(graph))


def _pictures(rows: PathRows) -> list[dict[str, object]]:
    return [
        {
            "anchor": picture.anchor,
            "heading": picture.heading,
            "figures": picture.figures,
            "open": picture.open,
            "svg": str(picture.svg),
        }
        for picture in pictures_of(rows, figures_of(rows))
    ]
