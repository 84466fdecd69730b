"""A campaign: which firmware, in which configurations, on which machines, is characterized.

The *axes* span a matrix; each of its *cells* builds, captures and characterizes one firmware. A
value of an axis may define variables. Texts of the file hold placeholders: ``{name}`` stands for
the value of an axis or of a variable in the cell, ``{{`` and ``}}`` for braces.

A *sweep* runs the firmware of each cell several times, with another input each time; all runs of a
cell are characterized together.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from wcetchar.errors import Location

RESERVED: Final = {
    "cell": "name of the cell",
    "output": "folder of the cell",
    "jobs": "number of processor cores for its build",
}
"""Placeholders that every cell has, and what they stand for."""

SEPARATOR: Final = "+"
"""Between the values in a cell's name; no value may hold it."""

MAX_CELLS: Final = 1000
MAX_RUNS: Final = 1000  # of the firmware of one cell

_TOKEN = re.compile(r"\{\{|\}\}|\{[^{}]*\}|[{}]")


def placeholders(text: str) -> Iterator[str]:
    """Names between braces in a text, and every brace that is not paired, as itself."""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token not in ("{{", "}}"):
            yield token[1:-1] if len(token) > 1 else token


def expand(text: str, variables: Mapping[str, str]) -> str:
    """``text`` with its placeholders replaced.

    Raises:
        KeyError: a placeholder has no value; whoever read the file has checked that.
    """

    def value(match: re.Match[str]) -> str:
        token = match[0]
        return token[0] if token in ("{{", "}}") else variables[token[1:-1]]

    return _TOKEN.sub(value, text)


@dataclass(frozen=True)
class Axis:
    """``values``: name of each value -> variables that it defines."""

    name: str
    values: Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Selection:
    """Cells whose value is among the named ones on every named axis."""

    values: Mapping[str, frozenset[str]]

    def holds(self, cell: Cell) -> bool:
        return all(cell.values[axis] in wanted for axis, wanted in self.values.items())


@dataclass(frozen=True)
class Cell:
    """One combination. ``values``: axis -> value; ``variables`` has these as well."""

    name: str
    values: Mapping[str, str]
    variables: Mapping[str, str]


@dataclass(frozen=True)
class Build:
    """What makes the firmware. All texts with placeholders; ``timeout`` in seconds. ``needs``:
    environment variables that the user has to set, with what for, without placeholders."""

    command: tuple[str, ...]
    directory: str = "."
    environment: Mapping[str, str] = field(default_factory=dict)
    timeout: int = 3600
    needs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Further:
    """Services files that only some cells have."""

    files: tuple[str, ...]
    cells: Selection


@dataclass(frozen=True)
class Campaign:
    """A campaign file. ``firmware``, ``services``, ``further``, ``machine``, ``leave_out``,
    ``until``, ``values`` and the build's texts have placeholders; paths are relative to the file's
    folder.

    Attributes:
        variables: defaults, for cells of whose values none defines them.
        include: only cells that one of these holds for, if there are any; ``exclude``: not those.
        leave_out: functions and address ranges that the capture leaves out.
        until: where each run ends, as ``capture --until`` has it.
        marked: record only what lies between marks.
        values: of parameters of services without marks, as ``characterize --set`` has them.
        sweep: name -> the values that it takes, one in each run of a cell's firmware; every
            combination is a run. Placeholders of ``initial`` and ``values``.
        initial: what variables of the firmware hold when it starts.
        partial: services that the firmware does not call are listed, not refused.
        timeout: of a capture, in seconds.
        places: of every key and list element, by the keys that lead to it.
    """

    path: str
    name: str
    axes: tuple[Axis, ...]
    firmware: str
    services: tuple[str, ...]
    machine: str
    description: str = ""
    further: tuple[Further, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    include: tuple[Selection, ...] = ()
    exclude: tuple[Selection, ...] = ()
    build: Build | None = None
    leave_out: tuple[str, ...] = ()
    until: str | None = None
    marked: bool = False
    values: Mapping[str, str] = field(default_factory=dict)
    sweep: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    initial: Mapping[str, str] = field(default_factory=dict)
    partial: bool = False
    timeout: int = 600
    places: Mapping[tuple[str | int, ...], Location] = field(
        default_factory=dict, repr=False, compare=False
    )

    def where(self, *keys: str | int) -> Location:
        """Place of what stands under ``keys``, or of its nearest ancestor."""
        for length in range(len(keys), -1, -1):
            if keys[:length] in self.places:
                return self.places[keys[:length]]
        return Location(self.path)

    def services_of(self, cell: Cell) -> tuple[str, ...]:
        """Services files of a cell, with placeholders."""
        further = (file for f in self.further if f.cells.holds(cell) for file in f.files)
        return (*self.services, *further)

    def cells(self) -> tuple[Cell, ...]:
        """Every cell, in the order of the file: the last axis changes fastest."""
        return tuple(
            cell
            for cell in combinations(self.axes, self.variables)
            if (not self.include or any(s.holds(cell) for s in self.include))
            and not any(s.holds(cell) for s in self.exclude)
        )

    def points(self) -> tuple[Mapping[str, str], ...]:
        """The runs of a cell's firmware, by the values of the sweep; the last name changes
        fastest. One, without values, where nothing is swept."""
        return tuple(
            {name: str(value) for name, value in zip(self.sweep, values, strict=True)}
            for values in itertools.product(*self.sweep.values())
        )


def combinations(axes: tuple[Axis, ...], variables: Mapping[str, str]) -> Iterator[Cell]:
    """The whole matrix."""
    for chosen in itertools.product(*(axis.values.items() for axis in axes)):
        values = {axis.name: name for axis, (name, _) in zip(axes, chosen, strict=True)}
        defined = {name: text for _, found in chosen for name, text in found.items()}
        yield Cell(SEPARATOR.join(values.values()), values, {**variables, **defined, **values})
