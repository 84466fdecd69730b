"""Measure file: YAML -> what is to be measured, how well, and what is expected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wcetchar.model.hardware import Quantity, Unit
from wcetchar.model.interval import NO_TIME, Interval
from wcetchar.model.measuring import Case, Estimated, Expected, Plan, Reported
from wcetchar.store.checking import list_at, mapping_at, validate
from wcetchar.store.document import MEASURE, read_document
from wcetchar.store.measure_doc import FORMS, ExpectedDoc, MeasureDoc, OperationDoc, ReportedDoc
from wcetchar.store.names import measure_path
from wcetchar.store.source import Source, Steps

_SECOND = 10**9


def load_measure_plan(name_or_path: str, clock: Quantity | None = None) -> Plan:
    """Read a plan by shipped name (``linux-host``) or by path.

    Args:
        clock: of the cycles in expectations, in the place of what the file says.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    path = measure_path(name_or_path)
    source = read_document(path, MEASURE)
    document = validate(MeasureDoc, source, (_check_forms, _check_parameters))
    cases: tuple[Case, ...] = ()
    if document is not None:
        clock = clock or document.clock
        cases = tuple(_cases(document, source, clock))
    source.fail_on_mistakes()
    assert document is not None
    return Plan(
        path,
        document.question.strip(),
        document.circumstances.strip(),
        cases,
        document.resolution,
        None if clock is None else (clock.low, clock.nominal, clock.high),
    )


def _cases(document: MeasureDoc, source: Source, clock: Quantity | None) -> Iterator[Case]:
    for name, one in document.operations.items():
        values = one.sizes or one.parameters or (None,)
        for number, parameter in enumerate(values):
            if parameter in values[:number]:
                key = "sizes" if one.sizes else "parameters"
                source.report(("operations", name, key, number), "is there twice")
            yield Case(
                operation=name,
                parameter=parameter,
                accuracy=one.accuracy or document.accuracy,
                repetitions=one.repetitions or document.repetitions,
                calls=one.calls,
                expected=_expected(one, parameter, _Times(source, clock, ("operations", name))),
                size=one.sizes is not None,
                interruption=(
                    document.interruption if one.interruption is None else one.interruption
                ),
                reported=None if one.reported is None else _reported(one.reported),
                keys=("operations", name),
            )


def _reported(one: ReportedDoc) -> Reported:
    return Reported(one.average, one.deviation, one.repetitions, one.why.strip())


class _Times:
    """Quantities of one operation -> nanoseconds; what has no clock is noted."""

    def __init__(self, source: Source, clock: Quantity | None, keys: Steps) -> None:
        self._source, self._clock, self._keys = source, clock, (*keys, "expected")

    def __call__(self, quantity: Quantity | None, *keys: str | int) -> Interval:
        if quantity is None:
            return NO_TIME
        low, nominal, high = quantity.low, quantity.nominal, quantity.high
        if quantity.unit is not Unit.CYCLES:
            return Interval(low, nominal, high)
        if self._clock is None:
            self.report("cycles of no clock", "`clock` of the plan, or --clock", *keys)
            return NO_TIME
        slow, usual, fast = self._clock.low, self._clock.nominal, self._clock.high
        return Interval(low * _SECOND / fast, nominal * _SECOND / usual, high * _SECOND / slow)

    def report(self, message: str, expected: str, *keys: str | int) -> None:
        self._source.report((*self._keys, *keys), message, expected=expected)


def _expected(
    operation: OperationDoc, parameter: int | None, times: _Times
) -> Expected | Estimated | None:
    doc = operation.expected
    if doc is None:
        return None
    margin = times(doc.margin, "margin")
    if doc.estimate is not None:
        one = doc.estimate
        return Estimated(
            one.characterization,
            one.service,
            one.profile,
            one.map,
            dict(one.parameters),
            one.parameter,
        )
    parts = _parts(doc, parameter, times)
    if parts is None:
        return None
    hardware, software = parts
    return Expected(hardware + software + margin, hardware, software, why=doc.why.strip())


def _parts(
    doc: ExpectedDoc, parameter: int | None, times: _Times
) -> tuple[Interval, Interval] | None:
    """Of hardware and of software."""
    if doc.steps is not None:
        for number, step in enumerate(doc.steps):
            if step.up_to is None or (parameter is not None and parameter <= step.up_to):
                hardware = times(step.hardware, "steps", number, "hardware")
                return hardware, times(step.software, "steps", number, "software")
        what = "an operation without parameter" if parameter is None else str(parameter)
        times.report(
            f"no step is for {what}",
            "a last step without `up to`",
            "steps",
        )
        return None
    if doc.activities is not None:
        parts = doc.activities.values()
        software = times(doc.instruction, "instruction").scaled(sum(p.instructions for p in parts))
        accesses = sum(part.memory_accesses for part in parts)
        return times(doc.memory_access, "memory access").scaled(accesses), software
    each = times(doc.each, "each").scaled(parameter or 0)
    return times(doc.hardware, "hardware"), times(doc.software, "software") + each


def _check_forms(source: Source) -> None:
    """An expectation has one form, and all of it."""
    for name, operation in mapping_at(source.data, "operations").items():
        expected = mapping_at(operation, "expected")
        place = ("operations", name, "expected")
        if not isinstance(operation, dict) or not isinstance(operation.get("expected"), dict):
            continue
        forms = {form: key for key, form in reversed(FORMS.items()) if key in expected}
        if len(forms) != 1:
            source.report(
                place,
                "says nothing of what is expected"
                if not forms
                else f"is said in two ways: by `{'` and by `'.join(sorted(forms.values()))}`",
                expected="one of: hardware, software and each; steps; instruction, memory access "
                "and activities; estimate",
            )
        elif "activities" in forms:
            for key in ("instruction", "activities"):
                if key not in expected:
                    source.report(place, f"the key `{key}` is missing", hint=f"add `{key}:`")
            if "memory access" not in expected and _has_accesses(expected):
                source.report(
                    place, "the key `memory access` is missing", hint="say what one takes"
                )
        elif "estimate" in forms and "margin" in expected:
            source.report((*place, "margin"), "an estimate has no margin", key=True)
        elif "each" in expected and not _has_parameter(operation):
            source.report((*place, "each"), "the operation has no parameter", key=True)


def _has_accesses(expected: Any) -> bool:
    return any(
        isinstance(part, dict) and part.get("memory accesses")
        for part in mapping_at(expected, "activities").values()
    )


def _has_parameter(operation: Any) -> bool:
    return any(key in operation for key in ("parameters", "sizes"))


def _check_parameters(source: Source) -> None:
    """One list of values, and steps in order."""
    for name, operation in mapping_at(source.data, "operations").items():
        place = ("operations", name)
        if not isinstance(operation, dict):
            continue
        if "reported" in operation and _has_parameter(operation):
            source.report(
                (*place, "reported"),
                "the operation has parameters",
                key=True,
                hint="an operation of its own for each value that others report",
            )
        if "parameters" in operation and "sizes" in operation:
            source.report((*place, "sizes"), "there are parameters as well", key=True)
        steps = list_at(operation, "expected", "steps")
        for number, step in enumerate(steps[:-1]):
            if isinstance(step, dict) and "up to" not in step:
                source.report(
                    (*place, "expected", "steps", number),
                    "leaves nothing to the steps behind it",
                    expected="`up to`, or the last place",
                )
