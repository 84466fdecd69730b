"""Measured times as comma-separated values (docs/reference/measurements.md).

One line for each measured call: the service, its parameters, one time. The heading says which
column is which; the name of the time's column is its unit."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.errors import InputError, Location, several
from wcetchar.model.hardware import Unit
from wcetchar.model.measurement import Measurement, MeasurementTable
from wcetchar.store.csv_lines import MAX_BYTES, Cell, columns_of, lines
from wcetchar.store.source import MAX_MISTAKES, read_text, shown

TIMES: Final = {
    "cycles": (Unit.CYCLES, Fraction(1)),
    "ns": (Unit.NANOSECONDS, Fraction(1)),
    "us": (Unit.NANOSECONDS, Fraction(10**3)),
    "ms": (Unit.NANOSECONDS, Fraction(10**6)),
    "s": (Unit.NANOSECONDS, Fraction(10**9)),
}
_SERVICE: Final = "service"
_LABEL: Final = "label"
_NUMBER = re.compile(r"[0-9]{1,30}(\.[0-9]{1,30})?")
_WHOLE = re.compile(r"[0-9]{1,10}")


@dataclass(frozen=True)
class _Heading:
    service: int
    time: int
    label: int | None
    parameters: tuple[tuple[str, int], ...]
    width: int
    unit: Unit
    factor: Fraction
    places: tuple[Location, ...]


def load_measurement_table(path: str | os.PathLike[str]) -> MeasurementTable:
    """Read a file of measured times. Empty lines, and lines that begin with ``#``, are left out.

    Raises:
        InputError, InputErrors: the file cannot be read, has more than 64 MiB, or holds mistakes;
            each with line and column.
    """
    text = read_text(path, MAX_BYTES)
    mistakes: list[InputError] = []
    heading: _Heading | None = None
    found: list[Measurement] = []
    for cells in lines(text, str(path)):
        if heading is None:
            heading = _heading(cells)
            continue
        try:
            found.append(_measurement(cells, heading))
        except InputError as error:
            mistakes.extend(error.each)
        if len(mistakes) > MAX_MISTAKES:
            break
    if heading is None:
        raise InputError(
            "is empty", where=Location(str(path), 1), expected="a heading such as service,N,cycles"
        )
    if mistakes:
        raise several(mistakes[:MAX_MISTAKES])
    if not found:
        raise InputError(
            "has a heading and no measurement",
            where=Location(str(path), 1),
            expected="a line for each measured call",
        )
    columns = {name: heading.places[at].column or 1 for name, at in heading.parameters}
    return MeasurementTable(str(path), heading.unit, columns, tuple(found))


def _heading(cells: list[Cell]) -> _Heading:
    mistakes: list[InputError] = []
    names = columns_of(cells, mistakes)
    times = [name for name in dict.fromkeys(names) if name in TIMES]
    start = cells[0].where
    if _SERVICE not in names:
        mistakes.append(
            InputError(
                "no column has the heading `service`",
                where=start,
                expected="service, parameters, and one of " + ", ".join(TIMES),
            )
        )
    if len(times) != 1:
        what = "no column has a time" if not times else "several columns have times"
        mistakes.append(
            InputError(
                what, where=start, expected="exactly one of the headings " + ", ".join(TIMES)
            )
        )
    if mistakes:
        raise several(mistakes)
    unit, factor = TIMES[times[0]]
    special = {_SERVICE, _LABEL, times[0]}
    return _Heading(
        service=names.index(_SERVICE),
        time=names.index(times[0]),
        label=names.index(_LABEL) if _LABEL in names else None,
        parameters=tuple((n, at) for at, n in enumerate(names) if n not in special),
        width=len(cells),
        unit=unit,
        factor=factor,
        places=tuple(cell.where for cell in cells),
    )


def _measurement(cells: list[Cell], heading: _Heading) -> Measurement:
    start = cells[0].where
    if len(cells) != heading.width:
        raise InputError(
            f"has {len(cells)} values", where=start, expected=f"{heading.width}, as the heading has"
        )
    mistakes: list[InputError] = []
    service, time = cells[heading.service], cells[heading.time]
    if not service.text:
        mistakes.append(InputError("names no service", where=service.where))
    if not _NUMBER.fullmatch(time.text):
        mistakes.append(
            InputError(
                f"{shown(time.text)} is not a measured time",
                where=time.where,
                expected="a plain decimal, zero or more, such as 4711 or 65.25",
            )
        )
    parameters: dict[str, int] = {}
    for name, at in heading.parameters:
        cell = cells[at]
        if not cell.text:
            continue
        if not _WHOLE.fullmatch(cell.text):
            mistakes.append(
                InputError(
                    f"{shown(cell.text)} is not a value of {shown(name)}",
                    where=cell.where,
                    expected="a whole number, or nothing where the service has no such parameter",
                )
            )
            continue
        parameters[name] = int(cell.text)
    if mistakes:
        raise several(mistakes)
    return Measurement(
        service=service.text,
        parameters=parameters,
        time=Fraction(time.text) * heading.factor,
        unit=heading.unit,
        line=start.line or 1,
        label="" if heading.label is None else cells[heading.label].text,
        columns={name: cells[at].where.column or 1 for name, at in heading.parameters},
        service_column=service.where.column,
    )
