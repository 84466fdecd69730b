"""What a runs file and ``--set`` say about each trace, joined and checked."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass

from wcetchar.errors import InputError, Location, UsageError, did_you_mean
from wcetchar.model.run import RunValues
from wcetchar.model.service import Service, ServicesFile
from wcetchar.pipeline.assignments import whole_number
from wcetchar.store.runs import RunsFile

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
FORM = "[RUN:][SERVICE.]NAME=VALUE"


@dataclass(frozen=True)
class _Assignment:
    """``run`` and ``service``: ``None`` for all."""

    run: str | None
    service: str | None
    name: str
    value: int
    text: str


def run_values(
    traces: Sequence[str],
    services: ServicesFile,
    assignments: Sequence[str] = (),
    runs: RunsFile | None = None,
) -> list[RunValues]:
    """What is said about each trace. An assignment goes before the runs file, one for a run or a
    service before a general one (a run before a service).

    Raises:
        UsageError: an assignment that is not of its form, contradicts another one, or sets nothing.
        InputError: a runs file that does not fit the traces or the services.
    """
    of_file = [_of_file(trace, services, runs) for trace in traces]
    parsed = [_parsed(text, traces, services) for text in assignments]
    _check_twice(parsed)
    found = []
    used: set[_Assignment] = set()
    for trace, before in zip(traces, of_file, strict=True):
        values = {name: dict(given) for name, given in before.values.items()}
        ordered = sorted(parsed, key=lambda a: (a.run is not None, a.service is not None))
        for assignment in ordered:
            if assignment.run not in (None, trace):
                continue
            for service in services.services:
                if assignment.service in (None, service.name) and _given(service, assignment.name):
                    _check_range(service, assignment.name, assignment.value, assignment.text)
                    values.setdefault(service.name, {})[assignment.name] = assignment.value
                    used.add(assignment)
        found.append(RunValues(before.shows, values))
    for assignment in parsed:
        if assignment not in used:
            raise _sets_nothing(assignment, services)
    return found


@dataclass(frozen=True)
class Chosen:
    """Which invocations assignments choose: those with these values. ``service``: ``None``: of each
    service that has such a parameter."""

    service: str | None
    name: str
    value: int

    def chooses(self, service: Service, values: Sequence[int]) -> bool:
        """It says nothing against an invocation with these values of the service's parameters."""
        if self.service not in (None, service.name):
            return True
        known = {p.name: value for p, value in zip(service.parameters, values, strict=True)}
        return known.get(self.name, self.value) == self.value


def divided(
    assignments: Sequence[str], traces: Sequence[str], services: ServicesFile
) -> tuple[tuple[str, ...], tuple[Chosen, ...]]:
    """Assignments that say something about traces, for :func:`run_values`, and what those without a
    run choose. Where a value has to be given, one may do both.

    Raises:
        UsageError: as there; no service has such a parameter.
    """
    parsed = [_parsed(text, traces, services) for text in assignments]
    _check_twice(parsed)
    given, chosen = [], []
    for one in parsed:
        matching = [s for s in services.services if one.service in (None, s.name)]
        of = [s for s in matching if any(p.name == one.name for p in s.parameters)]
        if not of:
            known = sorted({p.name for s in matching for p in s.parameters})
            raise UsageError(
                f"--set {one.text}: no service has a parameter {one.name}",
                expected=f"one of {', '.join(known) or 'none: they have no parameters'}",
                hint=did_you_mean(one.name, known),
            )
        if one.run is not None or any(_given(s, one.name) for s in of):
            given.append(one.text)
        if one.run is None:
            chosen.append(Chosen(one.service, one.name, one.value))
    return tuple(given), tuple(chosen)


def _given(service: Service, name: str) -> bool:
    """The service has a parameter whose value has to be given."""
    return service.mark is None and any(
        p.name == name and p.argument is None for p in service.parameters
    )


def _parsed(text: str, traces: Sequence[str], services: ServicesFile) -> _Assignment:
    left, _, digits = text.rpartition("=")
    value = whole_number(digits)
    left = left.strip()
    run = max((t for t in traces if left.startswith(t + ":")), key=len, default=None)
    rest = left if run is None else left[len(run) + 1 :]
    names = (s.name for s in services.services)
    service = max((n for n in names if rest.startswith(n + ".")), key=len, default=None)
    name = rest if service is None else rest[len(service) + 1 :]
    named, colon, behind = name.rpartition(":")
    if value is not None and colon and _NAME.fullmatch(behind.rpartition(".")[2]):
        raise UsageError(
            f"--set {text}: no trace is given as {named}",
            expected="one of " + ", ".join(traces),
            hint="name it with its folder, as it stands on the command line",
        )
    if value is None or not _NAME.fullmatch(name):
        raise UsageError(
            f"--set {text}: this is not {FORM}",
            expected="a trace as it is given (optional), a service (optional), the name of a "
            "parameter and a whole number",
            hint="such as N=13, xTaskCreate.N=13 or run1.trace:N=13",
        )
    return _Assignment(run, service, name, value, text)


def _check_twice(parsed: Sequence[_Assignment]) -> None:
    seen: dict[tuple[str | None, str | None, str], _Assignment] = {}
    for assignment in parsed:
        key = (assignment.run, assignment.service, assignment.name)
        first = seen.setdefault(key, assignment)
        if first.value != assignment.value:
            raise UsageError(
                f"--set {first.text} and --set {assignment.text} contradict each other",
                expected="one value",
            )


def _check_range(service: Service, name: str, value: int, text: str) -> None:
    parameter = next(p for p in service.parameters if p.name == name)
    if not parameter.minimum <= value <= parameter.maximum:
        raise UsageError(
            f"--set {text}: {name} of {service.name} cannot be {value}",
            expected=f"a value in {parameter.minimum}..{parameter.maximum}",
            hint="correct the range in the services file, or the value",
        )


def _sets_nothing(assignment: _Assignment, services: ServicesFile) -> UsageError:
    known = [
        f"{s.name}.{p.name}" for s in services.services for p in s.parameters if _given(s, p.name)
    ]
    return UsageError(
        f"--set {assignment.text} sets no parameter",
        expected="a parameter of a service without a mark, one that is not read from an argument: "
        + (", ".join(known) or "there is none"),
        hint="the values of marked services come from the firmware's marks",
    )


def _of_file(trace: str, services: ServicesFile, runs: RunsFile | None) -> RunValues:
    if runs is None:
        return RunValues()
    path = next((p for p in runs.runs if _same(p, trace)), None)
    if path is None:
        raise InputError(
            f"the runs file {runs.path} does not name this trace",
            where=Location(trace),
            expected="every trace that is given to stand in the runs file",
            hint="paths in a runs file start from its own folder",
        )
    for name, values in runs.runs[path].items():
        service = next((s for s in services.services if s.name == name), None)
        if service is None or service.mark is not None:
            raise _wrong(
                runs,
                (path, name),
                f"there is no service {name!r}"
                if service is None
                else f"{name!r} has a mark: its windows and values come from the firmware's marks",
                "a service of the services file that has no mark",
            )
        for key, value in values.items():
            parameter = next((p for p in service.parameters if p.name == key), None)
            if parameter is None or parameter.argument is not None:
                raise _wrong(
                    runs,
                    (path, name, key),
                    f"{name} has no parameter {key!r}"
                    if parameter is None
                    else f"{key} of {name} is read from an argument register",
                    "a parameter of the service that is not read from an argument",
                )
            if not parameter.minimum <= value <= parameter.maximum:
                raise _wrong(
                    runs,
                    (path, name, key),
                    f"{key} of {name} cannot be {value}",
                    f"a value in {parameter.minimum}..{parameter.maximum}",
                )
    return RunValues(frozenset(runs.runs[path]), runs.runs[path])


def _same(one: str, two: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(two)


def _wrong(runs: RunsFile, keys: tuple[str, ...], message: str, expected: str) -> InputError:
    return InputError(message, where=runs.places.get(keys, Location(runs.path)), expected=expected)
