"""Measured times that were published beside a characterization."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class MeasuredPlatform:
    """One measurement; ``profile`` and ``map`` are shipped names."""

    name: str
    profile: str
    map: str
    service: str
    parameters: Mapping[str, int]
    measured_ns: Fraction


@dataclass(frozen=True)
class Measurements:
    """Measurements of services of one characterization, a shipped name."""

    characterization: str
    source: str
    platforms: tuple[MeasuredPlatform, ...]


def load_measurements(name_or_path: str) -> Measurements:
    """Read measurements by shipped name (``renaux2010``) or by path."""
    raise NotImplementedError
