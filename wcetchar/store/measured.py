"""Measured times that were published beside a characterization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator

from wcetchar.errors import InputError
from wcetchar.model.hardware import Unit
from wcetchar.store.checking import Text, YamlModel, in_place, validate
from wcetchar.store.document import MEASURED, read_document
from wcetchar.store.names import measurements_path
from wcetchar.store.quantity import Dimension, parse_quantity
from wcetchar.store.section_map import Value
from wcetchar.store.shapes import quantity_schema
from wcetchar.store.source import shown


@dataclass(frozen=True)
class MeasuredPlatform:
    """One measurement; ``profile`` and ``map`` are shipped names or paths."""

    name: str
    profile: str
    map: str
    service: str
    parameters: Mapping[str, int]
    measured_ns: Fraction


@dataclass(frozen=True)
class Measurements:
    """Measurements of services of one characterization, a shipped name or a path."""

    characterization: str
    source: str
    platforms: tuple[MeasuredPlatform, ...]


def _time(value: Any) -> Fraction:
    time = parse_quantity(value, Dimension.TIME)
    if time.unit is not Unit.NANOSECONDS or time.low != time.high:
        raise InputError(
            f"{shown(value)} is not a measured time", expected="a time such as `51111 ns`"
        )
    return time.high


MeasuredTime = Annotated[
    Fraction,
    PlainValidator(in_place(_time)),
    quantity_schema(Dimension.TIME, "51111 ns", clock=False),
]


class PlatformDoc(YamlModel):
    """One measurement of one service."""

    name: Text = Field(description="name of the platform")
    profile: Text = Field(description="hardware profile: a shipped name or a path")
    map: Text = Field(description="section map: a shipped name or a path")
    service: Text = Field(description="the service that was measured")
    parameters: dict[Text, Value] = Field(
        default_factory=dict, description="values of its parameters when it was measured"
    )
    measured: MeasuredTime = Field(description="the measured time")


class MeasuredDoc(YamlModel):
    """Measured times of characterized services."""

    schema_: Literal["wcetchar/measured/1"] = Field(
        alias="schema", description="what the file is, and the version of its form"
    )
    characterization: Text = Field(description="a shipped name or a path")
    source: Text = Field(description="where the measurements were published")
    platforms: list[PlatformDoc] = Field(description="one entry for each measurement")


def load_measurements(name_or_path: str) -> Measurements:
    """Read measurements by shipped name (``renaux2010``) or by path.

    Raises:
        InputError: no such file, or mistakes in it; all of them at once as ``InputErrors``.
    """
    source = read_document(measurements_path(name_or_path), MEASURED)
    document = validate(MeasuredDoc, source)
    source.fail_on_mistakes()
    assert document is not None
    return Measurements(
        characterization=document.characterization,
        source=document.source,
        platforms=tuple(
            MeasuredPlatform(p.name, p.profile, p.map, p.service, dict(p.parameters), p.measured)
            for p in document.platforms
        ),
    )
