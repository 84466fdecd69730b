"""Readings of a clock around operations as comma-separated values (docs/reference/readings.md).

One line for each repetition. The heading says which column is which, and the unit of the clock is
the end of the names of its columns: ``start_outer_ns`` or ``start_outer_cycles``. What holds for
all of them stands in comments before the heading: ``# clock: 168 MHz``, ``# bits: 32``."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from wcetchar.errors import InputError, Location, one_line, several
from wcetchar.model.hardware import Unit
from wcetchar.model.measuring import Reading, ReadingsFile, Series
from wcetchar.store.csv_lines import MAX_BYTES, Cell, columns_of, lines
from wcetchar.store.quantity import Dimension, parse_quantity, parse_size
from wcetchar.store.source import MAX_MISTAKES, read_text, shown

UNITS: Final = {"ns": Unit.NANOSECONDS, "cycles": Unit.CYCLES}
_PLACES: Final = ("start_outer", "start_inner", "end_inner", "end_outer")
_BEHIND: Final = (1, 3)
"""Places of readings that follow another one with nothing between."""
_OTHERS: Final = ("operation", "parameter", "calls")
_WHOLE = re.compile(r"[0-9]{1,20}")
_SAID = re.compile(r"# *(clock|bits|machine|cache) *:(.*)")


@dataclass
class _Said:
    """What comments say of all readings."""

    clock: tuple[Fraction, Fraction, Fraction] | None = None
    bits: int | None = None
    machine: str = ""
    caches: list[tuple[str, int]] = field(default_factory=list)


def load_readings(path: str | os.PathLike[str]) -> ReadingsFile:
    """Read a file of readings.

    Raises:
        InputError, InputErrors: the file cannot be read, has more than 64 MiB, or holds mistakes;
            each with line and column.
    """
    return parse_readings(read_text(path, MAX_BYTES), str(path))


def parse_readings(text: str, path: str) -> ReadingsFile:
    """The same of a text. Raises as :func:`load_readings`."""
    said = _said(text, path)
    mistakes: list[InputError] = []
    heading: dict[str, int] | None = None
    unit = Unit.NANOSECONDS
    found: dict[tuple[str, int | None], tuple[int, int, list[Reading]]] = {}
    for cells in lines(text, path):
        if heading is None:
            heading, unit = _heading(cells)
            continue
        try:
            _add(cells, heading, said.bits, found)
        except InputError as error:
            mistakes.extend(error.each)
        if len(mistakes) > MAX_MISTAKES:
            break
    if mistakes:
        raise several(mistakes[:MAX_MISTAKES])
    if not found:
        raise InputError(
            "is empty" if heading is None else "has a heading and no reading",
            where=Location(path, 1),
            expected="a heading such as operation,parameter,calls,start_outer_cycles,"
            "start_inner_cycles,end_inner_cycles,end_outer_cycles and a line for each repetition",
        )
    series = tuple(
        Series(operation, parameter, calls, tuple(readings), line)
        for (operation, parameter), (calls, line, readings) in found.items()
    )
    return ReadingsFile(path, unit, series, said.clock, said.machine, said.bits, tuple(said.caches))


def _said(text: str, path: str) -> _Said:
    said = _Said()
    once: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        match = _SAID.fullmatch(line)
        if match is None:
            continue
        what, value = match[1], match[2].strip()
        try:
            before, line_before = once.setdefault(what, (value, number))
            if before != value and what in ("clock", "bits"):
                raise InputError(
                    f"{what} {one_line(value)}, where line {line_before} has {one_line(before)}",
                    expected="one for all readings; those of another clock in a file of their own",
                )
            if what == "clock":
                clock = parse_quantity(value, Dimension.FREQUENCY)
                said.clock = clock.low, clock.nominal, clock.high
            elif what == "bits":
                if not _WHOLE.fullmatch(value) or not 8 <= int(value) <= 64:
                    raise InputError(
                        f"{shown(value)} is no width of a counter", expected="8 to 64 bits"
                    )
                said.bits = int(value)
            elif what == "cache":
                name, _, size = value.rpartition(",")
                said.caches.append((name.strip(), parse_size(size)))
            else:
                said.machine = value
        except InputError as error:
            error.where = Location(path, number)
            raise
    return said


def _heading(cells: list[Cell]) -> tuple[dict[str, int], Unit]:
    mistakes: list[InputError] = []
    names = columns_of(cells, mistakes)
    expected = ", ".join((*_OTHERS, *(f"{place}_ns" for place in _PLACES)))
    units = {
        unit
        for unit in UNITS
        if any(name == f"{place}_{unit}" for name in names for place in _PLACES)
    }
    if len(units) != 1:
        mistakes.append(
            InputError(
                "no column has readings" if not units else "columns have readings of two units",
                where=cells[0].where,
                expected=f"{expected}; or _cycles in the place of _ns",
            )
        )
        raise several(mistakes)
    (unit,) = units
    wanted = {**{name: name for name in _OTHERS}, **{f"{p}_{unit}": p for p in _PLACES}}
    for name in wanted:
        if name not in names and name not in ("parameter", "calls"):
            mistakes.append(InputError(f"no column has the heading `{name}`", where=cells[0].where))
    for cell in cells:
        if cell.text and cell.text not in wanted:
            mistakes.append(
                InputError(
                    f"the heading {shown(cell.text)} is not known",
                    where=cell.where,
                    expected=", ".join(wanted),
                )
            )
    if mistakes:
        raise several(mistakes)
    return {wanted[name]: at for at, name in enumerate(names)} | {"": len(cells)}, UNITS[unit]


def _add(
    cells: list[Cell],
    heading: dict[str, int],
    bits: int | None,
    found: dict[tuple[str, int | None], tuple[int, int, list[Reading]]],
) -> None:
    start = cells[0].where
    if len(cells) != heading[""]:
        raise InputError(
            f"has {len(cells)} values",
            where=start,
            expected=f"{heading['']}, as the heading has",
        )
    mistakes: list[InputError] = []
    operation = cells[heading["operation"]]
    if not operation.text:
        mistakes.append(InputError("names no operation", where=operation.where))
    parameter = _whole(cells, heading, "parameter", mistakes)
    calls = _whole(cells, heading, "calls", mistakes)
    if calls == 0:
        mistakes.append(
            InputError("no call in a reading", where=cells[heading["calls"]].where, expected="1")
        )
    reading = _reading(cells, heading, bits, mistakes)
    if mistakes or reading is None:
        raise several(mistakes)
    key = (operation.text, parameter)
    kept = found.setdefault(key, (1 if calls is None else calls, start.line or 1, []))
    if kept[0] != (1 if calls is None else calls):
        raise InputError(
            f"{calls} calls in a reading, where {shown(operation.text)} had {kept[0]} in line "
            f"{kept[1]}",
            where=cells[heading["calls"]].where,
            expected="the same in all readings of one operation and parameter",
        )
    kept[2].append(reading)


def _whole(
    cells: list[Cell], heading: dict[str, int], name: str, mistakes: list[InputError]
) -> int | None:
    """A column that may be absent, or empty."""
    if name not in heading or not cells[heading[name]].text:
        return None
    cell = cells[heading[name]]
    if not _WHOLE.fullmatch(cell.text):
        mistakes.append(
            InputError(
                f"{shown(cell.text)} cannot stand under `{name}`",
                where=cell.where,
                expected="a whole number, or nothing",
            )
        )
        return None
    return int(cell.text)


def _reading(
    cells: list[Cell], heading: dict[str, int], bits: int | None, mistakes: list[InputError]
) -> Reading | None:
    values: list[int] = []
    for place in _PLACES:
        cell = cells[heading[place]]
        known = _WHOLE.fullmatch(cell.text)
        if not known or (bits is not None and int(cell.text) >> bits):
            mistakes.append(
                InputError(
                    f"{shown(cell.text)} is no reading of a clock",
                    where=cell.where,
                    expected="a whole number, zero or more"
                    + ("" if bits is None else f", of {bits} bits"),
                )
            )
            return None
        value = int(cell.text)
        if bits is not None and values:
            value = values[-1] + (value - values[-1]) % (1 << bits)
        if values and value < values[-1]:
            mistakes.append(
                InputError(
                    "the clock went backwards",
                    where=cell.where,
                    expected=f"{values[-1]} or more",
                    hint="of a counter that begins anew after its largest value, say how wide it "
                    "is in a line before the heading: # bits: 32",
                )
            )
            return None
        if bits is not None and len(values) in _BEHIND and 2 * (value - values[-1]) > 1 << bits:
            mistakes.append(
                InputError(
                    f"the counter went on by {value - values[-1]} of {1 << bits} from one reading "
                    "to the next, with nothing between",
                    where=cell.where,
                    expected="a few steps: less than half of a round",
                    hint="does it count down (0u - TIMER->VALUE counts up), or is it narrower than "
                    f"`# bits: {bits}` says?",
                )
            )
            return None
        values.append(value)
    return Reading(*values)
