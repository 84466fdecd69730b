"""Response times of a system: a sheet of all tasks and interrupts, and of what each is made."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.model.system import Analysis, Interrupt, Response, System, Task, Timeline
from wcetchar.report.numbers import for_json, grouped
from wcetchar.report.sheet import Column, Sheet, Value, text_column

SCHEMA: Final = "wcetchar/system-check/1"
_US: Final = Fraction(1, 1000)


@dataclass(frozen=True)
class View:
    """``timeline``: of the simulated run. ``word``: "" where nothing was priced."""

    system: System
    analysis: Analysis
    timeline: Timeline
    word: str
    notes: Sequence[str]

    @property
    def all(self) -> list[tuple[Task | Interrupt, Response]]:
        """Interrupts first, each the most urgent first."""
        handlers: list[tuple[Task | Interrupt, Response]] = list(
            zip(self.system.interrupts, self.analysis.interrupts, strict=True)
        )
        tasks: list[tuple[Task | Interrupt, Response]] = list(
            zip(self.system.periodic, self.analysis.tasks, strict=True)
        )
        handlers.sort(key=lambda pair: -pair[0].priority)
        tasks.sort(key=lambda pair: -pair[0].priority)
        return handlers + tasks


def sheets(view: View, parts: bool) -> list[Sheet]:
    """The responses; with ``parts``, for people also what each is made of."""
    found = [_responses(view)]
    if parts:
        found.append(_parts(view))
    return found


def _responses(view: View) -> Sheet:
    columns = (
        text_column("", "kind"),
        text_column("name", "name"),
        Column("priority", "priority"),
        Column("every us", "period_ns", _US, down=True),
        Column("load %", "load_percent"),
        Column("blocked us", "blocking_ns", _US),
        Column("response us", "response_ns", _US),
        Column("deadline us", "deadline_ns", _US, down=True),
        Column("slack us", "slack_ns", _US, down=True),
        Column("simulated us", "simulated_ns", _US),
        Column("", "met"),
        text_column("largest part", "largest_part"),
    )
    rows: list[tuple[Value, ...]] = []
    for one, response in view.all:
        dominant = response.dominant
        slack = response.slack
        rows.append(
            (
                "interrupt" if isinstance(one, Interrupt) else "task",
                one.name,
                one.priority,
                one.period,
                100 * response.load,
                response.blocking,
                "none" if response.time is None else response.time,
                response.deadline,
                "missed" if slack is None or slack < 0 else slack,
                view.timeline.longest.get(one.name),
                response.met,
                None if dominant is None else str(dominant),
            )
        )
    return Sheet(SCHEMA, columns, tuple(rows), tuple(_lines(view)), _document(view))


def _parts(view: View) -> Sheet:
    columns = (
        text_column("name", "name"),
        text_column("made of", "part"),
        Column("us", "ns", _US),
        Column("% of the response", ""),
    )
    rows: list[tuple[Value, ...]] = []
    for one, response in view.all:
        whole = response.time or Fraction(1)
        for part in sorted(response.parts, key=lambda part: -part.time):
            rows.append((one.name, str(part), part.time, 100 * part.time / whole))
        if response.waited:
            share = -100 * response.waited / whole
            rows.append((one.name, "less the periods since then", -response.waited, share))
    return Sheet(SCHEMA, columns, tuple(rows), title="What responses are made of")


def _lines(view: View) -> list[str]:
    lines = [f"load {grouped(100 * view.analysis.load)} %, context switches included"]
    missed = [response for _, response in view.all if not response.met]
    for response in missed:
        if response.time is None:
            lines.append(
                f"{response.name}: no bound: what is as urgent takes all of the time, waits of its "
                "own counted as if it ran, or comes in more jobs than are followed"
            )
        else:
            late = grouped((response.time - response.deadline) * _US)
            lines.append(f"{response.name}: the deadline is missed by {late} us at worst")
    if not missed:
        lines.append("all deadlines are met")
    far = grouped(view.timeline.end * _US)
    lines.append(
        f"simulated up to {far} us, "
        + (
            "a hyperperiod and more"
            if view.timeline.whole
            else "which is no hyperperiod: that has too many jobs"
        )
    )
    if any(task.period is None for task in view.system.tasks):
        lines.append("the simulated run has no tasks of the background")
    if view.word:
        lines.append(f"weakest word of all figures that were priced: {view.word}")
    return lines + [f"note: {note}" for note in view.notes]


def _document(view: View) -> dict[str, object]:
    return {
        "name": view.system.name,
        "load_percent": for_json(100 * view.analysis.load),
        "met": view.analysis.met,
        "word": view.word or None,
        "switch_ns": for_json(view.system.switch),
        "simulated_ns": for_json(view.timeline.end),
        "simulated_hyperperiod": view.timeline.whole,
        "parts": {
            one.name: [
                {"part": part.cause.value, "who": part.who, "ns": for_json(part.time)}
                for part in response.parts
            ]
            for one, response in view.all
        },
        "notes": list(view.notes),
    }
