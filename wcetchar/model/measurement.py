"""What was measured: the execution time of one call, on a board or in RTL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

from wcetchar.model.hardware import Unit


@dataclass(frozen=True)
class Measurement:
    """One measured execution of a service.

    Attributes:
        service: as the characterization names it.
        parameters: the values that its file gives; those of other services are absent.
        time: as measured, with whatever the measuring itself takes, in ``unit``.
        unit: cycles of the core, or nanoseconds.
        line: of the file, from 1.
        columns: by parameter, where its line has that value, or nothing in its place; from 1.
        service_column: of the service's name, from 1; ``None``: not of a file.
        label: whatever the file calls it (a board, a state of the caches); may be empty.
    """

    service: str
    parameters: Mapping[str, int]
    time: Fraction
    unit: Unit
    line: int
    label: str = ""
    columns: Mapping[str, int] = field(default_factory=dict)
    service_column: int | None = None


@dataclass(frozen=True)
class MeasurementTable:
    """All lines of one file. ``columns``: parameter -> column of its heading, from 1."""

    path: str
    unit: Unit
    columns: Mapping[str, int]
    measurements: tuple[Measurement, ...]
