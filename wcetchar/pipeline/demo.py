"""The published CreateThread characterization on its three platforms, beside the measured times.

Renaux, Góes and Linhares, "Performance Characterization of Real-Time Operating Systems for
Systems-on-Silicon", 12th Brazilian Workshop on Real-Time and Embedded Systems, 2010, section 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar import store
from wcetchar.model.estimate import Estimate
from wcetchar.pipeline import estimate as estimating

PUBLISHED: Final = "renaux2010"


@dataclass(frozen=True)
class Platform:
    """An estimate beside what was measured on the real hardware."""

    name: str
    estimate: Estimate
    measured_ns: Fraction

    @property
    def overestimation_percent(self) -> Fraction:
        """By how much the estimate exceeds the measurement; negative would mean unsafe."""
        return (self.estimate.total.high - self.measured_ns) * 100 / self.measured_ns


@dataclass(frozen=True)
class Demo:
    source: str
    platforms: tuple[Platform, ...]


def run() -> Demo:
    """Estimate every measured platform, through the code of every other estimate."""
    measurements = store.load_measurements(PUBLISHED)
    platforms = []
    for measured in measurements.platforms:
        (found,) = estimating.run(
            estimating.Request(
                characterization=measurements.characterization,
                profiles=(measured.profile,),
                maps=(measured.map,),
                services=(measured.service,),
                values=measured.parameters,
            )
        )
        platforms.append(Platform(measured.name, found, measured.measured_ns))
    return Demo(measurements.source, tuple(platforms))
