"""Time slices, what is lost with them and how long each partition waits: sheets and a picture."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from wcetchar.model.switching import Cycle
from wcetchar.report import picture
from wcetchar.report.chart import Chart, Line, Panel, svg
from wcetchar.report.numbers import for_json, grouped
from wcetchar.report.sheet import Column, Sheet, Value, text_column

SCHEMA: Final = "wcetchar/slices/1"
ALL: Final = "all"
_US, _MS = Fraction(1, 1000), Fraction(1, 1_000_000)


def sheet(
    cycles: Sequence[Cycle],
    scheduler: Fraction,
    limit: Fraction | None,
    least: Cycle | None,
    least_each: Cycle | None,
    most: Fraction,
) -> Sheet:
    """A row for each slice and partition, and one for all of them together."""
    columns = (
        Column("time slice us", "slice_ns", _US),
        text_column("partition", "partition"),
        Column("lost %", "lost_percent"),
        Column("waits at most ms", "delay_ns", _MS),
    )
    rows: list[tuple[Value, ...]] = []
    for cycle in cycles:
        rows.append((cycle.slice, ALL, 100 * cycle.loss, cycle.delay))
        for one in cycle.shared if len(cycle.shared) > 1 else ():
            rows.append((cycle.slice, one.partition.name, 100 * one.share, one.delay))
    lines = [f"of each slice the scheduler takes {grouped(scheduler * _US)} us"]
    if limit is not None:
        lines += (
            f"{_percent(limit)} may be lost {of}: {_shortest(found, most)}"
            for of, found in (
                ("of the time of all together", least),
                ("of each partition's own time", least_each),
            )
        )
    document = {
        "scheduler_ns": for_json(scheduler),
        "limit_percent": None if limit is None else for_json(100 * limit),
        "shortest_slice_ns": None if least is None else for_json(least.slice),
        "shortest_slice_for_each_ns": None if least_each is None else for_json(least_each.slice),
    }
    return Sheet(SCHEMA, columns, tuple(rows), tuple(lines), document)


def chart(
    cycles: Sequence[Cycle],
    limit: Fraction | None,
    least: Cycle | None,
    least_each: Cycle | None,
) -> str:
    """Losses above, waits below, over the time slice."""
    names = [one.partition.name for one in cycles[0].shared]
    losses = [Line(ALL, [(float(c.slice), 100 * float(c.loss)) for c in cycles])]
    waits = [Line(ALL, [(float(c.slice), float(c.delay)) for c in cycles])]
    if len(names) > 1:
        for place, name in enumerate(names):
            shared = [(float(c.slice), c.shared[place]) for c in cycles]
            losses.append(Line(name, [(at, 100 * float(one.share)) for at, one in shared]))
            waits.append(Line(name, [(at, float(one.delay)) for at, one in shared]))
    level = None if limit is None else (100 * float(limit), f"limit {_percent(limit)}")
    panels = [
        Panel("lost share of the time", losses, lambda value: f"{value:g} %", level=level),
        Panel("longest time without the processor", waits, picture.nanoseconds, len(names) > 1),
    ]
    slices = sorted({float(one.slice) for one in (least, least_each) if one is not None})
    at = [(one, picture.nanoseconds(one)) for one in slices]
    title = "Virtual-time round-robin: what is lost, and how long a partition waits"
    return svg(Chart(title, "time slice", picture.nanoseconds, panels, at=at))


def _shortest(least: Cycle | None, most: Fraction) -> str:
    if least is None:
        return f"no time slice up to {grouped(most * _US)} us keeps that"
    return (
        f"time slices from {grouped(least.slice * _US)} us on keep that, "
        f"where a partition waits {grouped(least.delay * _MS)} ms at most"
    )


def _percent(share: Fraction) -> str:
    return f"{grouped(100 * share)} %"
