"""Measuring: what is to be measured how well, what is expected, what was read, and what it says."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from wcetchar.model.characterization import Word
from wcetchar.model.hardware import Unit
from wcetchar.model.interval import Interval

FEWEST = 5
"""Repetitions with which anything can be said of noise."""
PRECISION = 10**6
"""Square roots are rounded up to a multiple of one by this."""


def root_up(value: Fraction) -> Fraction:
    """The square root, not below the exact one and less than 1 / PRECISION above it."""
    scaled = value * PRECISION**2
    found = math.isqrt(math.ceil(scaled))
    return Fraction(found if found * found >= scaled else found + 1, PRECISION)


@dataclass(frozen=True)
class Uncertain:
    """A value with what it may be off by, both ways.

    Contributions that are the same each time (``systematic``: an offset, a clock's step) may all
    have the same direction, so they add. Those that differ each time (noise) add as the root of the
    sum of squares; ``variance`` is that sum. A difference of two values has the errors of both.
    """

    value: Fraction
    systematic: Fraction = Fraction(0)
    variance: Fraction = Fraction(0)

    @property
    def stochastic(self) -> Fraction:
        return root_up(self.variance)

    @property
    def error(self) -> Fraction:
        return self.systematic + self.stochastic

    def __add__(self, other: Uncertain) -> Uncertain:
        return Uncertain(self.value + other.value, *self._with(other))

    def __sub__(self, other: Uncertain) -> Uncertain:
        return Uncertain(self.value - other.value, *self._with(other))

    def scaled(self, factor: Fraction) -> Uncertain:
        return Uncertain(
            self.value * factor, self.systematic * abs(factor), self.variance * factor**2
        )

    def _with(self, other: Uncertain) -> tuple[Fraction, Fraction]:
        return self.systematic + other.systematic, self.variance + other.variance


@dataclass(frozen=True)
class Accuracy:
    """What a result may be off by, at most: nanoseconds, or a share of the result."""

    time: Fraction | None = None
    share: Fraction | None = None

    def of(self, measured: Fraction) -> Fraction:
        return self.time if self.time is not None else (self.share or Fraction(0)) * measured


@dataclass(frozen=True)
class Expected:
    """What one call takes by a model of hardware and software, in nanoseconds.

    Attributes:
        hardware, software: its parts; ``None``: the model does not tell them apart.
        word: of an estimate, which is of the worst case; ``None``: the figure is for any call.
        why: where it comes from, for people.
    """

    total: Interval
    hardware: Interval | None = None
    software: Interval | None = None
    word: Word | None = None
    why: str = ""


@dataclass(frozen=True)
class Estimated:
    """What is expected comes from a characterization, priced. Names as of ``estimate``;
    ``parameter``: of the service, that has the value of the case's own."""

    characterization: str
    service: str
    profile: str
    section_map: str | None = None
    values: Mapping[str, int] = field(default_factory=dict)
    parameter: str | None = None


@dataclass(frozen=True)
class Reported:
    """What others say that they measured, in nanoseconds; ``None``: they do not say it.

    Times are not below nothing, so n of them with the average m have a sample deviation of
    m * sqrt(n) at most (one of n * m, the others nothing).
    """

    average: Fraction
    deviation: Fraction | None = None
    repetitions: int | None = None
    why: str = ""

    @property
    def repetitions_at_least(self) -> int | None:
        """With which there can be such a deviation at all."""
        if self.deviation is None or not self.average:
            return None
        return math.ceil((self.deviation / self.average) ** 2)


@dataclass(frozen=True)
class Case:
    """One operation at one value of its parameter.

    Attributes:
        parameter: ``None``: it has none.
        size: the parameter is a number of bytes.
        repetitions: readings that are to be taken.
        calls: how often the operation is carried out in each of them.
        interruption: nanoseconds that a reading may take beside, because of what interrupts it.
        reported: what others say that it took.
        keys: the way to it in the plan.
    """

    operation: str
    parameter: int | None
    accuracy: Accuracy
    repetitions: int
    calls: int
    expected: Expected | Estimated | None
    size: bool = False
    interruption: Fraction = Fraction(0)
    reported: Reported | None = None
    keys: tuple[str | int, ...] = ()

    def may_take(self, expected: Expected | None, calls: int) -> Fraction:
        """A reading of so many calls, with what interrupts it, in nanoseconds."""
        of_calls = Fraction(0) if expected is None else calls * expected.total.high
        return of_calls + self.interruption


@dataclass(frozen=True)
class Plan:
    """What is to be measured and why.

    Attributes:
        question: what the result is needed for.
        circumstances: what else goes on; in which state caches are.
        resolution: of the clock, in nanoseconds, where it is known to be no finer.
        clock: lowest, nominal and highest, in Hz, of the cycles in expectations.
    """

    path: str
    question: str
    circumstances: str
    cases: tuple[Case, ...]
    resolution: Fraction = Fraction(0)
    clock: tuple[Fraction, Fraction, Fraction] | None = None


@dataclass(frozen=True)
class Reading:
    """One repetition: the clock before and behind an operation, twice, in its own ticks."""

    start_outer: int
    start_inner: int
    end_inner: int
    end_outer: int

    @property
    def inner(self) -> int:
        return self.end_inner - self.start_inner

    @property
    def gaps(self) -> tuple[int, int]:
        """From one reading of the clock to the next, with nothing between."""
        return self.start_inner - self.start_outer, self.end_outer - self.end_inner

    @property
    def overhead(self) -> int:
        """end_outer - start_outer - (end_inner - start_inner)."""
        return sum(self.gaps)


@dataclass(frozen=True)
class Series:
    """All repetitions of one operation at one value of its parameter. ``line``: of the first."""

    operation: str
    parameter: int | None
    calls: int
    readings: tuple[Reading, ...]
    line: int


@dataclass(frozen=True)
class ReadingsFile:
    """Attributes:
    unit: ticks are nanoseconds, or cycles of ``clock``.
    clock: lowest, nominal and highest, in Hz, where the file says it.
    caches: sizes in bytes of what was measured, by name, where the file says it.
    machine: what was measured, for people.
    bits: the counter begins anew after so many; ``None``: it does not.
    """

    path: str
    unit: Unit
    series: tuple[Series, ...]
    clock: tuple[Fraction, Fraction, Fraction] | None = None
    machine: str = ""
    bits: int | None = None
    caches: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True)
class Spread:
    """Of the times of one call, in nanoseconds. ``deviation``: the standard deviation of a sample,
    rounded up; 0 of a single one."""

    count: int
    minimum: Fraction
    median: Fraction
    mean: Fraction
    maximum: Fraction
    deviation: Fraction


@dataclass(frozen=True)
class Outlier:
    """``number``: of the repetition, from 1. ``time``: of one call, in nanoseconds."""

    number: int
    time: Fraction


class Verdict(StrEnum):
    """What there is to say of a result; see ``validation/verdict.py``, which has the conditions."""

    IMPOSSIBLE = "impossible"
    STANDS_STILL = "clock stands still"
    TOO_NARROW = "counter too narrow"
    TOO_FEW = "too few repetitions"
    NOTHING_LEFT = "nothing is left"
    TOO_COARSE = "too coarse"
    TOO_WIDE = "too wide"
    ABOVE_ESTIMATE = "above the estimate"
    LONGEST_FAR_SLOWER = "longest run far slower"
    FAR_SLOWER = "far slower"
    FAR_FASTER = "far faster"
    LONGEST_SLOWER = "longest run slower"
    SLOWER = "slower"
    FASTER = "faster"
    AGREES = "agrees"
    NOT_EXPECTED = "nothing was expected"
    INTERRUPTED = "interrupted"
    OVERHEAD = "overhead"
    DRIFTS = "drifts"
    AVERAGED = "averaged"
    OUTLIERS = "outliers"
    TWO_KINDS = "two kinds of runs"


UNUSABLE = frozenset(
    {
        Verdict.IMPOSSIBLE,
        Verdict.STANDS_STILL,
        Verdict.TOO_NARROW,
        Verdict.TOO_FEW,
        Verdict.NOTHING_LEFT,
        Verdict.TOO_COARSE,
        Verdict.TOO_WIDE,
        Verdict.ABOVE_ESTIMATE,
        Verdict.LONGEST_FAR_SLOWER,
        Verdict.FAR_SLOWER,
        Verdict.FAR_FASTER,
    }
)
"""A result that has one of these is not to be used as it is."""


@dataclass(frozen=True)
class Evaluation:
    """What readings come to. Times in nanoseconds.

    Attributes:
        calls: in each reading.
        overhead: least, median and largest of what measuring takes in one reading.
        subtracted: from each reading.
        resolution: smallest step of the clock, of one reading; ``None``: it stands still.
        all_runs: of one call, with what was subtracted left out.
        usual: the same without outliers; of all, where there are two kinds of runs.
        outliers: runs far from the others, in the order of the file.
        two_kinds: these are too many to be outliers, so none is left out.
        result: mean of ``usual`` with its error.
        longest: the maximum of all runs, with the error that a single reading has.
        longest_run: its number, from 1; the first of several.
        needed: the accuracy, as a time.
        repetitions_needed: ``None``: no number is enough.
        halves: means of the first and of the second half of the runs in ``usual``, where they
            differ by more than noise and the accuracy; else ``None``.
        counter_round: after so long the counter has the same value again; ``None``: it never has.
        calls_needed: in each reading, where steps of the clock are too coarse; else ``None``.
    """

    calls: int
    overhead: tuple[Fraction, Fraction, Fraction]
    subtracted: Fraction
    resolution: Fraction | None
    all_runs: Spread
    usual: Spread
    outliers: tuple[Outlier, ...]
    two_kinds: bool
    result: Uncertain
    longest: Uncertain
    longest_run: int
    needed: Fraction
    repetitions_needed: int | None
    calls_needed: int | None
    counter_round: Fraction | None = None
    halves: tuple[Fraction, Fraction] | None = None

    @property
    def longest_reading(self) -> Fraction:
        """Of all calls in it, and of what was subtracted."""
        return self.longest.value * self.calls + self.subtracted


@dataclass(frozen=True)
class JudgedReport:
    """What others reported of a case, held against what was expected.

    Attributes:
        error: of the average, in nanoseconds; ``None``: they do not say enough to know it.
        verdicts, factor: as of :class:`Judged`.
    """

    reported: Reported
    error: Fraction | None
    verdicts: tuple[Verdict, ...]
    factor: Fraction | None


@dataclass(frozen=True)
class Judged:
    """A case with what was measured.

    Attributes:
        verdicts: what is to be said of it, the gravest first; at least one.
        factor: how far the result is from the nearest end of what was expected, 1 or more;
            ``None``: not known.
        longest_factor: the same of the longest run.
    """

    case: Case
    expected: Expected | None
    evaluation: Evaluation
    verdicts: tuple[Verdict, ...]
    factor: Fraction | None
    longest_factor: Fraction | None

    @property
    def usable(self) -> bool:
        return not UNUSABLE.intersection(self.verdicts)
