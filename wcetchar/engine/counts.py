"""Counts at given parameter values: trace sections with whole-number repetitions.

Counts are either exact formulas, evaluated, or a table of observed points. At an observed point
the table's own rows hold. Anywhere else a safe monotone envelope is taken: with

    D = the smallest observed points that are >= the wanted values in every parameter,

the elementwise maximum over every observed point that is <= some point of D, for each blocking
form separately. On a full grid D is one point, the next larger one. The caveat: this is safe for
counts that do not fall between two observed points, so such a value is called an estimate.

A count that comes out negative is an error: it would silently lower the sum.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from wcetchar import formula
from wcetchar.engine.errors import PricingError
from wcetchar.errors import InputError, did_you_mean, several
from wcetchar.model.access import AccessVector, Key
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Counts,
    Joint,
    ServiceCharacterization,
    TablePoint,
    TraceSection,
)
from wcetchar.model.expression import ONE
from wcetchar.model.service import Parameter, ParameterKind

LARGEST_GRID: Final = 10_000
"""Points of a range that are tried; some seconds of work."""


@dataclass(frozen=True)
class CountedRow:
    """A trace section at given parameter values; ``vector`` is for one repetition."""

    repetition: str
    repetitions: int
    blocking: Blocking
    vector: AccessVector


@dataclass(frozen=True)
class Counted:
    """``exact``: from a formula or an observed point, not from the envelope between points."""

    rows: tuple[CountedRow, ...]
    exact: bool


def used_parameters(counts: Counts, names: tuple[str, ...]) -> frozenset[str]:
    """Those of ``names`` that the counts depend on: all, where there is a table."""
    if not counts.is_formula:
        return frozenset(names)
    return frozenset().union(*(formula.names(row.repetition) for row in counts.rows))


def counts_something(counted: Counted) -> bool:
    """It is not empty: at these values it happens."""
    return any(row.repetitions and row.vector for row in counted.rows)


def supervisor_calls(counted: Counted) -> int:
    """How often a handler is called by what was counted."""
    return sum(row.repetitions * row.vector.supervisor_calls for row in counted.rows)


def last_call(stretch: BlockingStretch) -> int:
    """Supervisor calls of a stretch whose handlers follow it: 1 if it ends with one."""
    return int(Joint.HANDLER in (stretch.goes_on_in or ()))


def calls_inside(stretch: BlockingStretch) -> bool:
    """Some supervisor call of the stretch comes back to it. What was characterized before joints
    were published leaves that open."""
    if stretch.goes_on_in is None:
        return False
    counts, last = stretch.counts, last_call(stretch)
    if counts.is_formula:
        calls = [(row.repetition, row.vector.supervisor_calls) for row in counts.rows]
        found = [(repetition, number) for repetition, number in calls if number]
        return found != ([(ONE, 1)] if last else [])
    return any(
        sum(row.vector.supervisor_calls for row in point.rows) > last for point in counts.points
    )


def values_of(service: ServiceCharacterization, parameters: Mapping[str, int]) -> tuple[int, ...]:
    """The values in the order of the service's parameters.

    Raises:
        InputError: a value is missing, out of range, or of a parameter that the service has not;
            all of these at once.
    """
    problems: list[InputError] = []
    names = {parameter.name for parameter in service.parameters}
    for name in parameters:
        if name not in names:
            problems.append(
                PricingError(
                    f"{service.name} has no parameter {name}",
                    expected=f"one of {', '.join(sorted(names))}" if names else "no parameters",
                    hint=did_you_mean(name, names),
                    file="parameters",
                    keys=(name,),
                )
            )
    values = []
    for parameter in service.parameters:
        if parameter.name not in parameters:
            problems.append(
                PricingError(
                    f"{service.name} needs a value for {parameter.name} ({parameter.meaning})",
                    expected=_range(parameter),
                    hint=f"--set {parameter.name}=VALUE, parameters in the section map, "
                    "or --maximum for the largest total",
                    file="nothing",
                    keys=(parameter.name,),
                )
            )
            continue
        value = parameters[parameter.name]
        if not parameter.minimum <= value <= parameter.maximum:
            problems.append(
                PricingError(
                    f"{parameter.name} of {service.name} ({parameter.meaning}) is out of range: "
                    f"{value}",
                    expected=_range(parameter),
                    hint="outside of this range the service was not characterized",
                    file="parameters",
                    keys=(parameter.name,),
                )
            )
        values.append(value)
    if problems:
        raise several(problems)
    return tuple(values)


def check_values(service: ServiceCharacterization, parameters: Mapping[str, int]) -> None:
    """Refuses what :func:`values_of` refuses, but for cases that have no value: of these the
    dearest is taken."""
    cases = {p.name: p.minimum for p in service.parameters if p.kind is ParameterKind.CASE}
    values_of(service, {**cases, **parameters})


def count(counts: Counts, names: tuple[str, ...], values: tuple[int, ...], what: str) -> Counted:
    """Evaluate ``counts`` at ``values`` of the parameters ``names``; ``what`` names them in errors.

    Raises:
        InputError: a count or repetition is negative, a formula fails, or the table ends before
            these values.
    """
    if counts.is_formula:
        return Counted(_rows(counts.rows, names, values, what), exact=True)
    for point in counts.points:
        if point.values == values:
            return Counted(_rows(point.rows, names, values, what), exact=True)
    return Counted(_envelope(counts.points, names, values, what), exact=False)


def looked_up(counts: Counts, values: tuple[int, ...]) -> tuple[bool, tuple[int, ...]]:
    """Where a table answers for ``values``: (is it an observed point, the values to look up).

    Between points each value rises to the next observed one of its parameter, for no observed
    point lies between the two; so equal results mean equal counts.

    Raises:
        InputError: the table ends before these values.
    """
    if any(point.values == values for point in counts.points):
        return True, values
    above = [
        min((p.values[i] for p in counts.points if p.values[i] >= value), default=None)
        for i, value in enumerate(values)
    ]
    return False, tuple(v if u is None else u for u, v in zip(above, values, strict=True))


def _envelope(
    points: tuple[TablePoint, ...], names: tuple[str, ...], values: tuple[int, ...], what: str
) -> tuple[CountedRow, ...]:
    above = [p.values for p in points if _covers(p.values, values)]
    if not above:
        last = tuple(max(column) for column in zip(*(p.values for p in points), strict=True))
        raise InputError(
            f"{what}: {_at(names, values)} lies beyond the observed values",
            expected=f"an observed point at or above it; the largest values observed: "
            f"{_at(names, last)}",
            hint="smaller values, or a characterization that was swept further",
        )
    smallest = [v for v in above if not any(o != v and _covers(v, o) for o in above)]
    largest: dict[Blocking, dict[Key, int]] = {}
    for point in points:
        if not any(_covers(bound, point.values) for bound in smallest):
            continue
        sums: dict[Blocking, AccessVector] = {}
        for row in _rows(point.rows, names, point.values, what):
            vector = row.vector.scaled(row.repetitions)
            sums[row.blocking] = sums.get(row.blocking, AccessVector()) + vector
        for blocking, vector in sums.items():
            best = largest.setdefault(blocking, {})
            for key, number in vector.items():
                best[key] = max(best.get(key, 0), number)
    return tuple(
        CountedRow("1", 1, blocking, AccessVector(best)) for blocking, best in largest.items()
    )


def _rows(
    sections: tuple[TraceSection, ...],
    names: tuple[str, ...],
    values: tuple[int, ...],
    what: str,
) -> tuple[CountedRow, ...]:
    at = dict(zip(names, values, strict=True))
    rows = []
    for number, section in enumerate(sections, start=1):
        text = formula.to_text(section.repetition)
        repetitions = formula.evaluate(section.repetition, at)
        if repetitions < 0:
            raise InputError(
                f"{what}: the repetition {text} of trace section {number} is {repetitions} at "
                f"{_at(names, values)}",
                expected="a count of zero or more",
                hint="the characterization does not hold at these values; report it to its vendor",
            )
        for key, counted in section.vector.items():
            if counted < 0:
                raise InputError(
                    f"{what}: trace section {number} counts {counted} × {key}",
                    expected="a count of zero or more",
                )
        rows.append(CountedRow(text, repetitions, section.blocking, section.vector))
    return tuple(rows)


def _covers(larger: tuple[int, ...], smaller: tuple[int, ...]) -> bool:
    return all(a >= b for a, b in zip(larger, smaller, strict=True))


def _at(names: tuple[str, ...], values: tuple[int, ...]) -> str:
    return ", ".join(f"{n}={v}" for n, v in zip(names, values, strict=True)) or "no parameters"


def _range(parameter: Parameter) -> str:
    return f"{parameter.name} from {parameter.minimum} to {parameter.maximum}: {parameter.meaning}"
