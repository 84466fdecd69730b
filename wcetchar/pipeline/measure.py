"""Measuring: what a plan expects, what was read here or on a target, and what that says."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from wcetchar import store
from wcetchar.errors import InputError, Location, did_you_mean, several
from wcetchar.model.hardware import Quantity, Unit
from wcetchar.model.measuring import (
    Case,
    Estimated,
    Expected,
    Judged,
    JudgedReport,
    Plan,
    ReadingsFile,
    Series,
)
from wcetchar.pipeline import estimate
from wcetchar.validation.measuring import evaluate, steps
from wcetchar.validation.verdict import judge, judge_reported

_SECOND = 10**9
_MISTAKES = 100
_NAMED = 10


@dataclass(frozen=True)
class Request:
    """Attributes:
    plan: a file, or the name of a shipped one.
    clock: of cycles, as text of a quantity; ``None``: as the files say.
    only: operations; empty: all.
    repetitions: in the place of the plan's.
    """

    plan: str
    clock: str | None = None
    only: tuple[str, ...] = ()
    repetitions: int | None = None


@dataclass(frozen=True)
class Result:
    """``clock``: of measured cycles, lowest, nominal, highest, in Hz; ``None``: the clock that
    measured shows nanoseconds. ``text``: the readings as they came; empty: they are in a file."""

    plan: Plan
    judged: tuple[Judged, ...]
    readings: ReadingsFile
    clock: tuple[Fraction, Fraction, Fraction] | None
    notes: tuple[str, ...]
    text: str = ""


def expectations(request: Request) -> tuple[Plan, tuple[tuple[Case, Expected | None], ...]]:
    """What a plan asks for and expects, case by case.

    Raises:
        InputError: of the plan, or of what it takes an estimate from; ``--only`` names nothing.
    """
    clock = _clock(request)
    plan = store.load_measure_plan(request.plan, clock)
    chosen = tuple(_chosen(plan, request))
    return plan, tuple((case, _expected(plan, case)) for case in chosen)


def reports(
    cases: Iterable[tuple[Case, Expected | None]],
) -> dict[tuple[str, int | None], JudgedReport]:
    """What others reported of the cases, held against what is expected; by operation and value."""
    return {
        (case.operation, case.parameter): judge_reported(case, expected, case.reported)
        for case, expected in cases
        if case.reported is not None
    }


def host(request: Request, *, counter: bool, cpu: int | None, timeout: float) -> Result:
    """Measure this machine.

    Raises:
        InputError: as :func:`expectations`; an operation of the plan is none of a host; as
            ``capture.host_readings``.
    """
    # Here, so that readings of a target are evaluated without an emulator's and a compiler's code.
    from wcetchar.capture import OPERATIONS, HostRequest, host_readings, unfit

    plan, expected = expectations(request)
    for case, _ in expected:
        if case.operation not in OPERATIONS:
            raise InputError(
                f"this machine has no operation {case.operation}",
                where=store.locate(plan.path, *case.keys),
                expected="one of " + ", ".join(OPERATIONS),
                hint=did_you_mean(case.operation, OPERATIONS)
                or "measure a target: wcetchar measure target",
            )
    asked = [
        HostRequest(case.operation, case.parameter, case.calls, case.repetitions)
        for case, _ in expected
    ]
    mistakes = {
        (case.keys, said): InputError(
            said,
            where=store.locate(plan.path, *case.keys),
            hint="what this machine is measured at stands in docs/reference/measure-file.md",
        )
        for one, (case, _) in zip(asked, expected, strict=True)
        if (said := unfit(one)) is not None
    }
    if mistakes:
        raise several(list(mistakes.values())[:_MISTAKES])
    text = host_readings(asked, counter=counter, cpu=cpu, timeout=timeout)
    readings = store.parse_readings(text, "readings of this machine")
    return replace(_judged(plan, expected, readings, readings.clock), text=text)


def target(request: Request, path: str) -> Result:
    """Readings that were kept or that came from a target.

    Raises:
        InputError: as :func:`expectations`; of the readings; they are of something that the plan
            does not ask for, or in cycles of no clock.
    """
    plan, expected = expectations(request)
    readings = store.load_readings(path)
    given = _clock(request)
    clock = (
        (given.low, given.nominal, given.high)
        if given is not None
        else readings.clock or plan.clock
    )
    if readings.unit is Unit.CYCLES and clock is None:
        raise InputError(
            "readings are in cycles, and nothing says how long one is",
            where=Location(path, 1),
            expected="--clock 168MHz, or a line before the heading: # clock: 168 MHz",
        )
    return _judged(plan, expected, readings, clock)


def header() -> str:
    """The C header with which firmware makes readings."""
    from wcetchar.capture import HEADER

    return HEADER.read_text(encoding="utf-8")


def _judged(
    plan: Plan,
    expected: tuple[tuple[Case, Expected | None], ...],
    readings: ReadingsFile,
    clock: tuple[Fraction, Fraction, Fraction] | None,
) -> Result:
    _refuse_strangers(plan, readings)
    if readings.unit is not Unit.CYCLES:
        clock = None
    tick = Fraction(1) if clock is None else _SECOND / clock[0]
    tolerance = Fraction(0) if clock is None else 1 - clock[0] / clock[2]
    series = {(one.operation, one.parameter): one for one in readings.series}
    step = steps([reading for one in readings.series for reading in one.readings])
    found, missing = [], []
    for case, known in expected:
        one = series.get((case.operation, case.parameter))
        if one is None:
            missing.append(case)
            continue
        evaluation = evaluate(
            one,
            case.accuracy,
            step,
            tick,
            clock_tolerance=tolerance,
            coarser=plan.resolution,
            bits=readings.bits,
        )
        found.append(judge(case, known, evaluation))
    if not found:
        raise InputError(
            "has no reading of what was asked for",
            where=Location(readings.path),
            expected=", ".join(dict.fromkeys(case.operation for case, _ in expected)),
        )
    notes = [f"not measured: {_name(case)}" for case in missing]
    fewer: dict[str, tuple[int, int]] = {}
    for measured in found:
        asked, count = measured.case.repetitions, measured.evaluation.all_runs.count
        name = measured.case.operation
        if count < asked:
            fewer[name] = min(fewer.get(name, (count, asked)), (count, asked))
    if fewer:
        named = [f"{name} ({count:,} of {asked:,})" for name, (count, asked) in fewer.items()]
        notes.append("fewer repetitions than the plan asks for: " + ", ".join(named[:_NAMED]))
    left_out = len(readings.series) - len(found)
    if left_out:
        notes.append(f"{left_out} series of other operations were left out")
    return Result(plan, tuple(found), readings, clock, tuple(notes))


def _clock(request: Request) -> Quantity | None:
    if request.clock is None:
        return None
    try:
        return store.parse_clock(request.clock)
    except InputError as error:
        error.where = error.where or Location("--clock")
        raise


def _chosen(plan: Plan, request: Request) -> Iterator[Case]:
    known = list(dict.fromkeys(case.operation for case in plan.cases))
    for name in request.only:
        if name not in known:
            raise InputError(
                f"the plan has no operation {name}",
                where=Location("--only"),
                expected="one of " + ", ".join(known),
                hint=did_you_mean(name, known),
            )
    for case in plan.cases:
        if not request.only or case.operation in request.only:
            yield replace(case, repetitions=request.repetitions or case.repetitions)


def _expected(plan: Plan, case: Case) -> Expected | None:
    """The expectation of a case, priced if it is an estimate."""
    one = case.expected
    if not isinstance(one, Estimated):
        return one
    where = store.locate(plan.path, *case.keys, "expected", "estimate")
    values = dict(one.values)
    if one.parameter is not None and case.parameter is not None:
        values[one.parameter] = case.parameter
    asked = estimate.Request.on_one(
        _beside(plan, one.characterization),
        _beside(plan, one.profile),
        None if one.section_map is None else _beside(plan, one.section_map),
        (one.service,),
        values,
    )
    try:
        found = estimate.run(asked)
    except InputError as error:
        for mistake in error.each:
            mistake.where = mistake.where or where
        raise
    if len(found) != 1:
        raise InputError(
            f"{one.service} is cut into {', '.join(part.service for part in found)}",
            where=where,
            expected="one of these parts",
        )
    (priced,) = found
    return Expected(
        priced.total, word=priced.word, why=f"{priced.service} on {priced.profile}, at most"
    )


def _beside(plan: Plan, name: str) -> str:
    """A path of the plan is from its own folder; what is no file there is a shipped name."""
    near = Path(plan.path).parent / name
    return str(near) if near.is_file() else name


def _refuse_strangers(plan: Plan, readings: ReadingsFile) -> None:
    """Readings of what the plan does not have, all at once."""
    known = {(case.operation, case.parameter) for case in plan.cases}
    names = list(dict.fromkeys(case.operation for case in plan.cases))
    mistakes = [
        _stranger(one, names, readings.path)
        for one in readings.series
        if (one.operation, one.parameter) not in known
    ]
    if mistakes:
        raise several(mistakes[:_MISTAKES])


def _stranger(one: Series, names: list[str], path: str) -> InputError:
    where = Location(path, one.line)
    if one.operation in names:
        return InputError(
            f"the plan does not measure {one.operation} "
            + ("without a parameter" if one.parameter is None else f"at {one.parameter}"),
            where=where,
            expected="a value that stands in the plan",
            hint="add it there, with what is expected",
        )
    return InputError(
        f"the plan has no operation {one.operation}",
        where=where,
        expected="one of " + ", ".join(names[:40]),
        hint=did_you_mean(one.operation, names) or "add it there, with what is expected",
    )


def _name(case: Case) -> str:
    return case.operation if case.parameter is None else f"{case.operation} at {case.parameter}"
