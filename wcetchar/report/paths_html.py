"""A worst path as one HTML page: nothing from outside, complete without its script."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from markupsafe import Markup

from wcetchar.model.characterization import Word
from wcetchar.report.numbers import grouped, percent
from wcetchar.report.pages import environment, part, policy
from wcetchar.report.paths_boxes import short_ns
from wcetchar.report.paths_graph import Figure, figures_of
from wcetchar.report.paths_svg import markers, svg
from wcetchar.report.paths_view import PathRows

DEAREST: Final = 20
"""Rows of the table that are shown at once."""
OPEN: Final = Fraction(1, 20)
"""Share of the whole from which on a function's figure is open."""


@dataclass(frozen=True)
class _Bar:
    name: str
    about: str
    ns: str
    width: int
    kind: str


@dataclass(frozen=True)
class Picture:
    """A flow graph; ``open``: it is worth a look at once."""

    anchor: str
    heading: str
    figures: str
    open: bool
    on_path: bool
    svg: Markup


def render(rows: PathRows) -> str:
    """The page."""
    figures = figures_of(rows)
    place = {n: b.blocks[0] for f in figures for b in f.boxes for n in b.blocks}
    dearest = rows.dearest
    rest = [row for row in rows.blocks if not row.on_path]
    style, script = part("paths.css", "flow.css"), part("paths.js")
    page = environment().get_template("paths.html")
    return page.render(
        rows=rows,
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
        markers=Markup(markers()),
        bars=_bars(rows),
        verdict=_verdict(rows),
        pictures=pictures_of(rows, figures),
        shown=dearest[:DEAREST],
        others=[*dearest[DEAREST:], *rest],
        place=place,
        word_bound=rows.word is Word.BOUND,
    )


def _bars(rows: PathRows) -> list[_Bar]:
    values = (
        ("high-water mark", "largest that was observed", rows.high_water_mark_ns, "seen"),
        ("traced path", "price of the dearest path that traces took", rows.traced_path_ns, "seen"),
        (
            rows.title,
            "holds for every path, under the assumptions below"
            if rows.word is Word.BOUND
            else "not a bound: see " + ("what is missing" if rows.gaps else "the notes"),
            rows.bound_ns,
            "bound",
        ),
    )
    most = max((v for _, _, v, _ in values if v is not None), default=Fraction(0))
    return [
        _Bar(
            name,
            about if value is not None else "not known",
            "–" if value is None else f"{grouped(value)} ns",
            math.ceil(200 * value / most) if value and most else 0,
            kind,
        )
        for name, about, value, kind in values
    ]


def _verdict(rows: PathRows) -> str:
    if rows.below:
        return "The high-water mark is ABOVE this figure: it is wrong, or the mark is."
    if rows.ratio is None:
        return ""
    ratio = Fraction(math.ceil(rows.ratio * 100), 100)
    return f"{grouped(ratio)} × the high-water mark"


def pictures_of(rows: PathRows, figures: Iterable[Figure]) -> list[Picture]:
    """Of a service, the whole of it first."""
    return [_picture(rows, figure) for figure in figures]


def _picture(rows: PathRows, figure: Figure) -> Picture:
    row = figure.shows
    if row is None or figure.whole:
        return Picture(
            "graph", "", "", True, True, Markup(svg(figure, "flow graph", rows.has_flow))
        )
    total = short_ns(row.total_ns or Fraction(0))
    return Picture(
        anchor=f"f{row.number}",
        heading=" › ".join(row.calls),
        figures=f"×{grouped(row.entered)}, {total} ns, {percent(row.share or 0, 1)}"
        if row.entered
        else "not on the worst path"
        if rows.has_flow
        else "",
        open=bool(row.entered) and (row.share or 0) >= OPEN,
        on_path=bool(row.entered),
        svg=Markup(svg(figure, f"flow graph of {row.function}", rows.has_flow)),
    )
