"""Characterizations against each other: which service is better where, on which hardware.

The first of several is the base; each other one is held against it. All times are the safe (upper)
ends, in nanoseconds. *Better* says something about these figures, not about what the hardware does
between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from wcetchar.model.characterization import Word


class Metric(StrEnum):
    TOTAL = "total"
    INTERRUPTS = "interrupts"  # longest stretch with interrupts masked
    PREEMPTION = "preemption"  # longest stretch with preemption held off


class Verdict(StrEnum):
    """Of another characterization against the base, as far as :class:`Basis` says."""

    EQUAL = "equal"
    NEVER_SLOWER = "never slower"  # and faster somewhere
    NEVER_FASTER = "never faster"  # and slower somewhere
    DEPENDS = "depends on the parameters"


class Basis(StrEnum):
    """What a verdict rests on. Only the first two are claims about the whole range."""

    EVERY_POINT = "every point of the range"
    FORMULAS = "the formulas, over the whole range"
    SOME_POINTS = "the points that were checked"


@dataclass(frozen=True)
class Range:
    """A parameter over the values that are compared: those that all sides are characterized for."""

    name: str
    minimum: int
    maximum: int


@dataclass(frozen=True)
class Times:
    """Times of every side at one point, ``None`` where one has no figure."""

    values: tuple[int, ...]
    times: tuple[Fraction | None, ...]


@dataclass(frozen=True)
class Against:
    """Another side against the base.

    Attributes:
        side: its number.
        checked: points at which both have a figure; ``size`` of :class:`MetricVersus` are there.
        slower, faster: of these, points at which it is.
        worst: where it exceeds the base most, relative to the base (or falls below it least).
        words: what the two figures at ``worst`` are.
        where: for blocking, begin and end of the two longest stretches there; else empty.
    """

    side: int
    verdict: Verdict
    basis: Basis
    checked: int
    slower: int
    faster: int
    worst: Times
    words: tuple[Word, Word]
    where: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class MetricVersus:
    """One kind of time of one service on one hardware.

    Attributes:
        hardware: its number.
        size: points of the range.
        against: one for each side but the base; fewer where no point has figures of both.
        best: for each side, the points at which no side is better; of ``complete`` points at which
            all have a figure.
        corners: times at the corners of the range.
    """

    metric: Metric
    hardware: int
    size: int
    against: tuple[Against, ...]
    best: tuple[int, ...]
    complete: int
    corners: tuple[Times, ...]


@dataclass(frozen=True)
class ServiceVersus:
    """One service.

    Attributes:
        sides: numbers of the characterizations that have it; the first is the base.
        ranges: what is compared.
        problem: why it is not compared, or empty.
        notes: what to know of the comparison, such as a parameter with two meanings.
        metrics: numbers of sides in here are positions in ``sides``.
    """

    service: str
    sides: tuple[int, ...]
    ranges: tuple[Range, ...] = ()
    problem: str = ""
    metrics: tuple[MetricVersus, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hardware:
    """Name of each side's profile and section map; mostly the same for all."""

    profiles: tuple[str, ...]
    section_maps: tuple[str, ...]
