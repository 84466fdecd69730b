"""Response times of a system over axes, and the cheapest number with which all deadlines are met.

Times in nanoseconds, upper ends, exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from wcetchar.model.characterization import Word
from wcetchar.model.sweep import Axis
from wcetchar.model.system import Part


@dataclass(frozen=True)
class SweptResponse:
    """Of a task or an interrupt; as of ``Response``. ``largest``: part of the response."""

    name: str
    deadline: Fraction
    time: Fraction | None
    largest: Part | None

    @property
    def slack(self) -> Fraction | None:
        """What is left to the deadline; negative: it is missed by that; ``None``: no bound."""
        return None if self.time is None else self.deadline - self.time

    @property
    def met(self) -> bool:
        return self.time is not None and self.time <= self.deadline


@dataclass(frozen=True)
class SweptPoint:
    """``numbers``: of all axes. ``load``: share of the processor's time. ``responses``: of all with
    a period, in an order that is the same at each point. ``word``: the weakest of all that was
    priced; ``None``: nothing was."""

    numbers: tuple[Fraction, ...]
    load: Fraction
    responses: tuple[SweptResponse, ...]
    word: Word | None

    @property
    def met(self) -> bool:
        return all(one.met for one in self.responses)

    @property
    def tightest(self) -> SweptResponse:
        """Without a bound, or with the least slack."""
        return min(
            self.responses,
            key=lambda one: (one.slack is not None, one.slack or Fraction(0)),
        )


@dataclass(frozen=True)
class SlackChange:
    """By how much a slack changes where the number of an axis rises by one unit: between
    neighbours, wherever the others are, ``least`` and ``most``, of all where both have a bound."""

    name: str
    axis: Axis
    least: Fraction
    most: Fraction


@dataclass(frozen=True)
class SystemSweep:
    """``profile``, ``section_map``: names; "": nothing is priced. ``points``: the last axis turns
    fastest. ``notes``: what the figures rest on."""

    name: str
    profile: str
    section_map: str
    axes: tuple[Axis, ...]
    points: tuple[SweptPoint, ...]
    changes: tuple[SlackChange, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SolvedSystem:
    """At one combination of the other axes.

    Attributes:
        numbers: of the other axes.
        number, point: the cheapest value with which all deadlines are met; ``None``: there is none.
        beyond, point_beyond: the next cheaper value, with which one is missed; ``None``: there is
            none.
        failing: dearer values with which one is missed, where all were evaluated.
    """

    numbers: tuple[Fraction, ...]
    number: Fraction | None
    point: SweptPoint | None
    beyond: Fraction | None
    point_beyond: SweptPoint | None
    failing: tuple[Fraction, ...] = ()


@dataclass(frozen=True)
class SystemSolution:
    """``axis``: that is solved, ``smallest``: the smallest value is looked for; ``halved``: by
    halving. ``step``: between values that were tried; ``None``: those that were given."""

    name: str
    profile: str
    section_map: str
    axis: Axis
    axes: tuple[Axis, ...]
    smallest: bool
    halved: bool
    step: Fraction | None
    tried: int
    solved: tuple[SolvedSystem, ...]
    notes: tuple[str, ...]
