"""Whether the tasks of a system meet their deadlines: prices, analysis, and a simulated run."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from wcetchar import store
from wcetchar.engine.response_time import analyse, load
from wcetchar.engine.simulation import MOST_JOBS, hyperperiod, simulate
from wcetchar.errors import InputError
from wcetchar.model.characterization import Word
from wcetchar.model.system import Analysis, System, Timeline
from wcetchar.pipeline.priced_calls import CallPrices, Characterizations
from wcetchar.pipeline.priced_system import PricedSystem, hardware_of, refuse_circle

NONE: Final = Fraction(0)


@dataclass(frozen=True)
class Request:
    """``profile``, ``section_map``: in the place of those of the file. ``until``: nanoseconds of
    the run that are kept to be drawn; ``None``: the longest period behind the last offset."""

    file: str
    profile: str | None = None
    section_map: str | None = None
    until: Fraction | None = None


@dataclass(frozen=True)
class Result:
    """``drawn``: nanoseconds of the run that are kept. ``word``: the weakest of all figures that
    were priced; ``None``: none was. ``notes``: what the figures hold for."""

    system: System
    analysis: Analysis
    timeline: Timeline
    drawn: Fraction
    word: Word | None
    notes: tuple[str, ...]


def run(request: Request) -> Result:
    """Analysed and simulated.

    Raises:
        InputError: the file or one that it names cannot be used, with its place; the tasks need
            more than all of the processor's time.
    """
    workload = store.load_system(request.file)
    refuse_circle(workload)
    hardware = hardware_of(workload, request.profile, request.section_map)
    prices = None if hardware is None else CallPrices(hardware, Characterizations())
    priced = PricedSystem(workload, prices)
    system = priced.system()
    _refuse_overload(request, system)
    analysis = analyse(system)
    timeline, drawn = _simulated(system, request.until)
    _refuse_above(analysis, timeline)
    return Result(system, analysis, timeline, drawn, priced.word(), priced.notes())


def _refuse_above(analysis: Analysis, timeline: Timeline) -> None:
    """The run is a check: what it shows is never above the analysis, or one of them is wrong."""
    for one in (*analysis.tasks, *analysis.interrupts):
        seen = timeline.longest.get(one.name)
        if one.time is not None and seen is not None and seen > one.time:
            raise AssertionError(f"{one.name} took {seen} ns in a run, and {one.time} ns at most")


def _simulated(system: System, until: Fraction | None) -> tuple[Timeline, Fraction]:
    """Over a hyperperiod behind the last offset, and what is unfinished then, or longer where that
    is to be drawn; not as far where there would be too many jobs. And what is kept of it."""
    periods = [task.period for task in system.periodic if task.period is not None]
    rates = [1 / period for period in (*periods, *(one.period for one in system.interrupts))]
    offsets = [task.offset for task in system.periodic]
    first = max((*offsets, *(one.offset for one in system.interrupts)), default=NONE)
    end = first + hyperperiod(system) + max((t.deadline for t in system.periodic), default=NONE)
    most = MOST_JOBS / sum(rates, start=NONE)
    longest = max((*periods, *(one.period for one in system.interrupts)))
    keep = min(first + longest if until is None else until, most)
    if end > most:
        return replace(simulate(system, most, keep=keep), whole=False), keep
    return simulate(system, max(end, keep), keep=keep), keep


def _refuse_overload(request: Request, system: System) -> None:
    total = load(system)
    if total <= 1:
        return
    shares = {one.name: one.time / one.period for one in system.interrupts}
    for task in system.periodic:
        alone = System("", (task,), switch=system.switch)
        shares[task.name] = load(alone)
    largest = sorted(shares, key=lambda name: -shares[name])[:3]
    named = ", ".join(f"{name} {float(100 * shares[name]):.1f} %" for name in largest)
    raise InputError(
        f"tasks and interrupts need {float(100 * total):.1f} % of the processor's time: nothing "
        "can meet all deadlines",
        where=store.locate(request.file, "tasks"),
        expected=f"100 % at most; the largest: {named}",
        hint="longer periods, less work, or faster hardware",
    )
