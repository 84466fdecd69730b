"""What is lost behind a switch, over the time since: a sheet and a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import groupby
from typing import Final

from wcetchar.model.switching import Loss, LossModel
from wcetchar.report import picture
from wcetchar.report.chart import Chart, Line, Panel, svg
from wcetchar.report.sheet import Column, Sheet, text_column

SCHEMA: Final = "wcetchar/loss/1"
_US: Final = Fraction(1, 1000)
_WORDS: Final = {
    LossModel.FLOOD: "flood: never less than what is lost, if least progress and the time until it "
    "is sustained are",
    LossModel.EXPONENTIAL: "exponential: an average, for soft real time",
}


def sheet(losses: Sequence[Loss]) -> Sheet:
    """A row for each working set, model and time."""
    columns = (
        text_column("working set", "working_set"),
        text_column("model", "model"),
        Column("behind us", "time_ns", _US),
        Column("progress %", "progress_percent", down=True),
        Column("lost us", "lost_ns", _US),
        Column("lost %", "lost_percent"),
    )
    rows = tuple(
        (
            one.working_set.name,
            one.model.value,
            one.time,
            100 * one.progress,
            one.lost,
            100 * one.relative,
        )
        for one in losses
    )
    sets = dict.fromkeys(one.working_set for one in losses)
    lines = [f"{one.name}: {one.machine}, caches {one.before} before" for one in sets]
    return Sheet(SCHEMA, columns, rows, (*lines, *_WORDS.values()))


def chart(losses: Sequence[Loss]) -> str:
    """Progress, what is lost, and of which share of the time that is, over the time."""
    lines = [(name, list(each)) for name, each in groupby(losses, _name(losses))]
    panels = [
        Panel(
            "progress, of the sustained one: f",
            [Line(name, list(_progress(each))) for name, each in lines],
            _percent,
        ),
        Panel(
            "lost, as time: W",
            [Line(name, [(float(x.time), float(x.lost)) for x in each]) for name, each in lines],
            picture.nanoseconds,
        ),
        Panel(
            "lost, of the time since the switch: O",
            [
                Line(name, [(float(x.time), 100 * float(x.relative)) for x in each])
                for name, each in lines
            ],
            _percent,
        ),
    ]
    title = "Behind a switch, while a working set comes back"
    return svg(Chart(title, "time since the switch", picture.nanoseconds, panels))


def _name(losses: Sequence[Loss]) -> Callable[[Loss], str]:
    alone = len({one.working_set for one in losses}) == 1
    return lambda one: one.model.value if alone else f"{one.working_set.name}, {one.model.value}"


def _progress(losses: Sequence[Loss]) -> Iterator[tuple[float, float]]:
    """In percent; where progress is sustained all at once, straight up."""
    settles = losses[0].working_set.settles
    low = losses[0].progress
    for one in losses:
        if one.model is LossModel.FLOOD and low < one.progress and one.time >= settles:
            yield float(settles), 100 * float(low)
            yield float(settles), 100 * float(one.progress)
            low = one.progress
        yield float(one.time), 100 * float(one.progress)


def _percent(value: float) -> str:
    return f"{value:g} %"
