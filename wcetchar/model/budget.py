"""Budgets of services, and figures that are held against them.

Times in nanoseconds. A figure holds its budget where it is not above it, and has not grown by more
than a share s where

    time <= (1 + s) * time in the baseline

Both are exact. What has no figure holds nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from wcetchar.errors import Location
from wcetchar.model.characterization import Place, Word


class Figure(StrEnum):
    """What of a service is held against a budget: its time, and how long it holds off what."""

    TOTAL = "total"
    INTERRUPTS = "interrupts"
    PREEMPTION = "preemption"


class Failure(StrEnum):
    """Why a figure does not pass."""

    OVER = "over budget"
    GREW = "grew"
    NO_FIGURE = "no figure"
    WEAKER_WORD = "weaker word"
    NOT_COMPARED = "not compared"


@dataclass(frozen=True)
class Budget:
    """What services may take.

    Attributes:
        service: a name, of a call in parts that of all of them; or a pattern of names, in which
            ``*`` stands for any characters and ``?`` for one.
        at_most: of each figure that has a budget.
        values: of parameters.
        maximum: parameters that have no value are searched for the largest figure.
        may_grow: share of the baseline's figure; ``None``: it does not say.
        word: the weakest that passes, of figures with a budget.
        but: names that the pattern does not mean.
        places: where the file says what, by key; ``""``: the budget itself.
    """

    service: str
    at_most: Mapping[Figure, Fraction] = field(default_factory=dict)
    values: Mapping[str, int] = field(default_factory=dict)
    maximum: bool = False
    may_grow: Fraction | None = None
    word: Word = Word.ESTIMATE
    but: tuple[str, ...] = ()
    places: Mapping[str, Location] = field(default_factory=dict, compare=False)

    @property
    def is_pattern(self) -> bool:
        return "*" in self.service or "?" in self.service

    def place(self, *keys: str) -> Location | None:
        """Of the first of these keys that the file has, else of the budget."""
        for key in (*keys, ""):
            if key in self.places:
                return self.places[key]
        return None


@dataclass(frozen=True)
class Budgets:
    """A budget file.

    Attributes:
        path: "" where there is no file.
        profile, section_map: hardware, by name or path; ``None``: not said, the profile's own.
        baseline: an earlier characterization, by name or path.
        values: of parameters, of services that have them; before those of the map.
        may_grow: where no budget of a service says it; ``None``: as it likes.
        places: where the file says what, by key.
    """

    path: str
    budgets: tuple[Budget, ...]
    profile: str | None = None
    section_map: str | None = None
    baseline: str | None = None
    values: Mapping[str, int] = field(default_factory=dict)
    may_grow: Fraction | None = None
    places: Mapping[str, Location] = field(default_factory=dict, compare=False)


@dataclass(frozen=True)
class Baseline:
    """The same figure in an earlier characterization.

    Attributes:
        time: there; ``None``: it has no such figure, and ``problem`` says why.
        compared: the figure that ``time`` is compared with: the safe one, or that of the published
            rows where only one side has a bound over all paths, and the two are no equals.
        problem: why they cannot be compared; empty with no ``time``: there is no such service.
    """

    time: Fraction | None = None
    compared: Fraction | None = None
    problem: str = ""

    @property
    def is_new(self) -> bool:
        """The baseline does not have the service."""
        return self.time is None and not self.problem

    @property
    def change(self) -> Fraction | None:
        """By how much it grew, as a share; ``None``: from nothing, or nothing is known."""
        if self.time is None or self.compared is None:
            return None
        if not self.time:
            return None if self.compared else Fraction(0)
        return self.compared / self.time - 1

    def grew_by_more(self, share: Fraction) -> bool:
        """There are two figures, and the new one is above what the share permits."""
        if self.time is None or self.compared is None:
            return False
        return self.compared > (1 + share) * self.time


@dataclass(frozen=True)
class Held:
    """A figure of a service, held against a budget.

    Attributes:
        time: at least that, where ``problem`` says why it may be longer; ``None``: there is none,
            and ``problem`` says why.
        word: of ``time``.
        parameters: values for which it holds.
        baseline: ``None``: there is none.
        may_grow: share of the baseline's figure; ``None``: as it likes, or there is no baseline.
        place: of the service in its source; ``stretch``: where what is held off begins.
        notes: what else is to be known of this figure.
    """

    service: str
    figure: Figure
    budget: Budget
    time: Fraction | None
    word: Word | None = None
    parameters: Mapping[str, int] = field(default_factory=dict)
    baseline: Baseline | None = None
    may_grow: Fraction | None = None
    problem: str = ""
    place: Place | None = None
    stretch: Place | None = None
    notes: tuple[str, ...] = ()

    @property
    def limit(self) -> Fraction | None:
        """Its budget; ``None``: only its growth is looked at."""
        return self.budget.at_most.get(self.figure)

    @property
    def of_budget(self) -> tuple[Failure, ...]:
        """Why it does not hold its budget."""
        if self.limit is None:
            return ()
        if self.time is None:
            return (Failure.NO_FIGURE,)
        found = []
        if self.time > self.limit:
            found.append(Failure.OVER)
        elif self.problem:
            found.append(Failure.NO_FIGURE)
        if self.word is None or self.word.weakest(self.budget.word) is not self.budget.word:
            found.append(Failure.WEAKER_WORD)
        return tuple(found)

    @property
    def of_growth(self) -> tuple[Failure, ...]:
        """Why it has not grown as little as it may, or is not known to."""
        if self.baseline is None or self.may_grow is None or self.baseline.is_new:
            return ()
        if self.time is None:
            return (Failure.NO_FIGURE,)
        if self.baseline.problem:
            return (Failure.NOT_COMPARED,)
        return (Failure.GREW,) if self.baseline.grew_by_more(self.may_grow) else ()

    @property
    def failures(self) -> tuple[Failure, ...]:
        """Each once; empty: it passes."""
        return tuple(dict.fromkeys((*self.of_budget, *self.of_growth)))


@dataclass(frozen=True)
class Checked:
    """What was held against what.

    Attributes:
        kernel: name and version.
        profile, section_map: names of the hardware.
        characterization, baseline, budgets: files; "" where there is none.
        held: budget by budget, service by service.
        gone: services of the baseline that budgets mean, and that are there no more.
        notes: what the figures hold for.
    """

    kernel: str
    profile: str
    section_map: str
    characterization: str
    baseline: str
    budgets: str
    held: tuple[Held, ...]
    gone: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def failed(self) -> tuple[Held, ...]:
        return tuple(one for one in self.held if one.failures)
