"""An estimate: a service priced for one hardware profile, one map and one set of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from wcetchar.model.access import AccessVector, Key
from wcetchar.model.characterization import Word
from wcetchar.model.interval import Interval
from wcetchar.model.uncertainty import Uncertainties


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
class Link:
    """One stretch of a chain: of which service, at which values of its parameters."""

    service: str
    where: str
    parameters: Mapping[str, int]
    time: Interval


@dataclass(frozen=True)
class Chain:
    """How long something is held off from a service's own stretch on, through what goes on with it.

    Attributes:
        time: of all links.
        word: the weakest of theirs.
        links: the service's own stretch first.
        gaps: why it may be longer; empty: it is not.
    """

    time: Interval
    word: Word
    links: tuple[Link, ...]
    gaps: tuple[str, ...] = ()


@dataclass(frozen=True)
class OverAllPaths:
    """What the dearest path of a service takes, by its path model.

    ``time`` in nanoseconds; ``None``: it has no bound, and ``why`` says why. So are ``interrupts``
    and ``preemption``, how long each is held off at most; ``None``: its model does not say.
    ``at``: values of parameters at which the time is so long; ``None``: no single point is known.
    """

    time: Fraction | None
    word: Word
    why: str = ""
    interrupts: Fraction | None = None
    preemption: Fraction | None = None
    at: Mapping[str, int] | None = None


@dataclass(frozen=True)
class Estimate:
    """``blocking_interrupts`` and ``blocking_preemption``: the longest stretch of each kind of the
    service's own; ``interrupts_stretch`` and ``preemption_stretch`` say where it begins and ends,
    for people. ``interrupts_chain`` and ``preemption_chain``: where something else goes on with a
    stretch, and this takes longer. ``interrupts_at`` and ``preemption_at``: values at which each is
    the longest; ``None``: ``parameters``. ``over_all_paths``: ``None``: there is no path model.
    ``uncertainty``: of upper ends, where it is asked for."""

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
    interrupts_chain: Chain | None = None
    preemption_chain: Chain | None = None
    over_all_paths: OverAllPaths | None = None
    uncertainty: Uncertainties | None = None
    interrupts_at: Mapping[str, int] | None = None
    preemption_at: Mapping[str, int] | None = None

    @property
    def safe_time(self) -> Fraction:
        """Over all paths where that is known, and never below the published rows, in nanoseconds:
        what to count with wherever the service is a part of something."""
        over = self.over_all_paths
        if over is None or over.time is None:
            return self.total.high
        return max(over.time, self.total.high)

    @property
    def safe_word(self) -> Word:
        """Of ``safe_time``: what is not below a bound is one."""
        over = self.over_all_paths
        return self.word if over is None or over.time is None else over.word

    @property
    def safe_interrupts(self) -> Fraction:
        """How long interrupts are held off at most, as of ``safe_time``."""
        over = None if self.over_all_paths is None else self.over_all_paths.interrupts
        held = self.interrupts_held_off.high
        return held if over is None else max(over, held)

    @property
    def safe_preemption(self) -> Fraction:
        over = None if self.over_all_paths is None else self.over_all_paths.preemption
        held = self.preemption_held_off.high
        return held if over is None else max(over, held)

    @property
    def safe_interrupts_word(self) -> Word:
        """Of ``safe_interrupts``; what goes on with a stretch is only as good as what was seen."""
        over = None if self.over_all_paths is None else self.over_all_paths.interrupts
        return self._word_of_blocking(over, self.interrupts_chain)

    @property
    def safe_preemption_word(self) -> Word:
        over = None if self.over_all_paths is None else self.over_all_paths.preemption
        return self._word_of_blocking(over, self.preemption_chain)

    def _word_of_blocking(self, over: Fraction | None, chain: Chain | None) -> Word:
        own = self.word if over is None else self.safe_word
        return own if chain is None else own.weakest(chain.word)

    @property
    def interrupts_held_off(self) -> Interval:
        """How long interrupts are held off once they are, in whatever activities."""
        chain = self.interrupts_chain
        return self.blocking_interrupts if chain is None else chain.time

    @property
    def preemption_held_off(self) -> Interval:
        chain = self.preemption_chain
        return self.blocking_preemption if chain is None else chain.time

    @property
    def total_cycles(self) -> Fraction:
        """Core cycles of the safe end, at the slowest clock that the profile allows."""
        return self.total.high * self.core_clock_hz / 1_000_000_000
