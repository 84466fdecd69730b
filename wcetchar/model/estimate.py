"""An estimate: a service priced for one hardware profile, one map and one set of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.model.access import AccessVector, Key
from wcetchar.model.characterization import Word
from wcetchar.model.interval import Interval


@dataclass(frozen=True)
class EstimateRow:
    """One trace section, priced. ``vector`` is for one repetition, ``time`` for all of them."""

    section: str
    repetition: str
    repetitions: int
    blocking: str
    vector: AccessVector
    time: Interval


@dataclass(frozen=True)
class EstimateColumn:
    """One access class or core event over the whole service."""

    key: Key
    region: str
    count: int
    price: Interval
    time: Interval


@dataclass(frozen=True)
class Estimate:
    """``blocking_interrupts`` and ``blocking_preemption``: the longest stretch of each kind;
    ``interrupts_stretch`` and ``preemption_stretch`` say where it begins and ends, for people."""

    service: str
    profile: str
    parameters: Mapping[str, int]
    word: Word
    total: Interval
    core_clock_hz: Fraction
    rows: tuple[EstimateRow, ...]
    columns: tuple[EstimateColumn, ...]
    blocking_interrupts: Interval
    blocking_preemption: Interval
    notes: tuple[str, ...] = ()
    section_map: str = ""
    interrupts_stretch: str = ""
    preemption_stretch: str = ""

    @property
    def total_cycles(self) -> Fraction:
        """Core cycles of the safe end, at the slowest clock that the profile allows."""
        return self.total.high * self.core_clock_hz / 1_000_000_000
