"""How far results hang on each number of a hardware profile, or of a system: every one by itself is
made dearer, all else the same, and the results are found again.

    change of a result = result with the number dearer - result as the files say it

Times in nanoseconds, upper ends, exact. A change is that of one number; changes of several together
need not add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.model.characterization import Word
from wcetchar.model.system_sweep import SweptPoint


@dataclass(frozen=True)
class Changed:
    """``name``: the way to the number; ``before``, ``after``: as files say it; ``change``: such as
    ``+10 %``."""

    name: str
    before: str
    after: str
    change: str


@dataclass(frozen=True)
class NotPriced:
    """A number without a result. ``after``: ``None``: it was left out; else the value was refused,
    by the rules of the file or as results were found, of ``of`` alone where that is not "".
    """

    name: str
    before: str
    after: str | None
    change: str
    why: str
    of: str = ""


@dataclass(frozen=True)
class ServiceTimes:
    """``interrupts``, ``preemption``: how long each is held off, with what goes on with it. All are
    over all paths where that is known, and never below the published rows. ``word``: of the total.
    """

    service: str
    total: Fraction
    interrupts: Fraction
    preemption: Fraction
    word: Word


@dataclass(frozen=True)
class ServiceEffect:
    """Of one number on one service."""

    number: Changed
    before: ServiceTimes
    after: ServiceTimes

    @property
    def total(self) -> Fraction:
        return self.after.total - self.before.total

    @property
    def interrupts(self) -> Fraction:
        return self.after.interrupts - self.before.interrupts

    @property
    def preemption(self) -> Fraction:
        return self.after.preemption - self.before.preemption

    @property
    def percent(self) -> Fraction | None:
        """Of the total; ``None``: that is nothing."""
        return 100 * self.total / self.before.total if self.before.total else None

    @property
    def any(self) -> bool:
        return bool(self.total or self.interrupts or self.preemption)


@dataclass(frozen=True)
class ServicesEach:
    """``share``: by which numbers are dearer. ``before``: as the files say it. ``effects``: service
    by service, the largest first. ``notes``: what the figures rest on."""

    profile: str
    section_map: str
    share: Fraction
    before: tuple[ServiceTimes, ...]
    effects: tuple[ServiceEffect, ...]
    not_priced: tuple[NotPriced, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SystemEffect:
    """Of one number on a system; ``point``: all responses with it."""

    number: Changed
    point: SweptPoint


@dataclass(frozen=True)
class SystemEach:
    """``profile``, ``section_map``: names; "": nothing is priced. ``effects``: by what is tightest
    with them, the least slack first. Else as of ``ServicesEach``."""

    name: str
    profile: str
    section_map: str
    share: Fraction
    before: SweptPoint
    effects: tuple[SystemEffect, ...]
    not_priced: tuple[NotPriced, ...]
    notes: tuple[str, ...]


def largest_first(effects: Sequence[ServiceEffect]) -> list[ServiceEffect]:
    """By the change of the total, either way; of equal ones by that of what is held off."""
    return sorted(
        effects,
        key=lambda one: (
            -abs(one.total),
            -abs(one.interrupts),
            -abs(one.preemption),
            one.number.name,
        ),
    )
