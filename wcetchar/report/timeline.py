"""A simulated run as a picture: one row for each interrupt and task, the most urgent on top.

A bar: it runs, in another colour while it holds a resource; a low grey one: the switch to it. An
arrow up is a release, a mark down its deadline, red where the job ended behind it or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final
from xml.etree import ElementTree

from wcetchar.model.system import Span, System, Timeline
from wcetchar.report import picture
from wcetchar.report.numbers import grouped
from wcetchar.report.picture import LEFT, RIGHT, WIDTH

MOST_SPANS: Final = 4000
"""That are drawn: of more, a picture shows nothing."""
_ROW: Final = 40
_BAR: Final = 16
_STYLE: Final = """
.run { fill: #1f77b4 }
.holding { fill: #9467bd }
.handler { fill: #d62728 }
.switch { fill: #999 }
.release { stroke: #333; stroke-width: 1.5 }
.deadline { stroke: #2ca02c; stroke-width: 1.5 }
.missed { stroke: #d62728; stroke-width: 3 }
"""


def svg(system: System, timeline: Timeline, until: Fraction) -> str:
    """The run up to ``until`` nanoseconds, or until there are too many spans."""
    spans = [span for span in timeline.spans if span.begin < until][:MOST_SPANS]
    if len(spans) == MOST_SPANS:
        until = min(until, spans[-1].end)
    rows = [one.name for one in sorted(system.interrupts, key=lambda one: -one.priority)]
    rows += [one.name for one in sorted(system.periodic, key=lambda one: -one.priority)]
    height = 90 + _ROW * len(rows)
    root = picture.document(_STYLE, height)
    picture.text(root, LEFT, 26, f"{system.name}: a simulated run", "title")
    _legend(root)
    x = picture.linear([float(until)], LEFT + 40, WIDTH - RIGHT)
    bottom = 60 + _ROW * len(rows)
    for tick in x.ticks:
        picture.line(root, x(tick), 56, x(tick), bottom, "grid")
        picture.text(root, x(tick), bottom + 18, picture.nanoseconds(tick), anchor="middle")
    for number, name in enumerate(rows):
        base = 60 + _ROW * (number + 1) - 8
        picture.text(root, LEFT + 32, base - 2, _short(name), anchor="end")
        picture.line(root, x.first, base, x.last, base, "zero")
        for span in spans:
            if span.who == name:
                _bar(root, x, span, until, base)
        _marks(root, x, timeline, name, until, base)
    return picture.finished(root)


def _bar(
    root: ElementTree.Element, x: picture.Scale, span: Span, until: Fraction, base: float
) -> None:
    begin, end = x(float(span.begin)), x(float(min(span.end, until)))
    tall = _BAR if span.what != "switch" else _BAR / 2
    kind = "holding" if span.holding else span.what
    bar = ElementTree.SubElement(
        root,
        "rect",
        {
            "class": kind,
            "x": f"{begin:.2f}",
            "y": f"{base - tall:.2f}",
            "width": f"{max(end - begin, 0.4):.2f}",
            "height": f"{tall:.2f}",
        },
    )
    holding = f", holding {', '.join(span.holding)}" if span.holding else ""
    what = {"run": "runs", "handler": "its handler runs", "switch": "the switch to it"}[span.what]
    ElementTree.SubElement(
        bar, "title"
    ).text = f"{span.who}: {what} from {_us(span.begin)} to {_us(span.end)} us{holding}"


def _marks(
    root: ElementTree.Element,
    x: picture.Scale,
    timeline: Timeline,
    name: str,
    until: Fraction,
    base: float,
) -> None:
    for job in timeline.jobs:
        if job.who != name or job.release > until:
            continue
        at = x(float(job.release))
        _mark(root, at, base, "release", f"{name}: released at {_us(job.release)} us")
        late = job.deadline < timeline.end if job.end is None else job.end > job.deadline
        if job.deadline <= until:
            place = x(float(job.deadline))
            ended = "has not ended" if job.end is None else f"ended at {_us(job.end)} us"
            title = f"{name}: deadline at {_us(job.deadline)} us, {ended}"
            _mark(root, place, base, "missed" if late else "deadline", title)


def _mark(root: ElementTree.Element, at: float, base: float, kind: str, title: str) -> None:
    up = 24 if kind == "release" else -6
    mark = ElementTree.SubElement(root, "g", {"class": kind})
    picture.line(mark, at, base, at, base - up, kind)
    if kind == "release":
        for side in (-3, 3):
            picture.line(mark, at, base - up, at + side, base - up + 4, kind)
    ElementTree.SubElement(mark, "title").text = title


def _legend(root: ElementTree.Element) -> None:
    names: Sequence[tuple[str, str]] = (
        ("run", "runs"),
        ("holding", "holds a resource"),
        ("handler", "handler"),
        ("switch", "context switch"),
    )
    for number, (kind, text) in enumerate(names):
        left = LEFT + 140 * number
        ElementTree.SubElement(
            root,
            "rect",
            {"class": kind, "x": f"{left}", "y": "36", "width": "18", "height": "10"},
        )
        picture.text(root, left + 24, 46, text)


def _short(name: str) -> str:
    return name if len(name) <= 15 else name[:14] + "…"


def _us(time: Fraction) -> str:
    return grouped(time / 1000)
