"""Lines that caches load: what exact replay of traced addresses says beside what models say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from wcetchar.model.cache import CacheGeometry
from wcetchar.model.section_map import CacheState


class CacheKind(StrEnum):
    INSTRUCTIONS = "instruction cache"
    DATA = "data cache"


@dataclass(frozen=True)
class Loads:
    """Lines that are loaded, and what they take in nanoseconds, each at the full price of its
    region."""

    lines: int = 0
    time: Fraction = Fraction(0)

    def most(self, other: Loads) -> Loads:
        """Of both, number and time each by itself."""
        return Loads(max(self.lines, other.lines), max(self.time, other.time))

    def exceeds(self, other: Loads) -> bool:
        return self.lines > other.lines or self.time > other.time


@dataclass(frozen=True)
class Replay:
    """The most that any window of a service loads, by exact replay.

    Attributes:
        empty: from an empty cache.
        warm: from one that holds the window's own lines, where they fit.
    """

    empty: Loads = Loads()
    warm: Loads = Loads()

    def most(self, other: Replay) -> Replay:
        return Replay(self.empty.most(other.empty), self.warm.most(other.warm))

    def of(self, state: CacheState) -> Loads:
        """What a model of this state has to reach."""
        return self.warm if state is CacheState.WARM else self.empty


@dataclass(frozen=True)
class ReplayedRow:
    """One cache, one service, one set of parameter values.

    Attributes:
        windows: how many were replayed.
        executed: replay of the addresses that the trace has.
        in_vain: the same with what is fetched in vain, at its places; ``None``: of data.
        models: what the models say; a state that cannot be priced is not there.
    """

    cache: CacheKind
    service: str
    parameters: Mapping[str, int]
    windows: int
    executed: Replay
    in_vain: Replay | None
    models: Mapping[CacheState, Loads]

    @property
    def unsafe(self) -> tuple[CacheState, ...]:
        """Models that a replay is above."""
        replays = [self.executed, *([self.in_vain] if self.in_vain else [])]
        return tuple(
            state
            for state, said in self.models.items()
            if any(replay.of(state).exceeds(said) for replay in replays)
        )

    def over(self, state: CacheState, in_vain: bool = False) -> Fraction | None:
        """By how much the model's time is above that of the replay: 0.02 is two percent. ``None``:
        one of them is not known, or the replay loads nothing."""
        replay = self.in_vain if in_vain else self.executed
        said = self.models.get(state)
        if replay is None or said is None or not replay.of(state).time:
            return None
        return said.time / replay.of(state).time - 1


@dataclass(frozen=True)
class Replayed:
    """All rows.

    Attributes:
        caches: their geometry.
        left_out: windows of services that were not asked for, or are not characterized.
        notes: what the comparison rests on, and which states could not be priced.
    """

    profile: str
    section_map: str
    rows: tuple[ReplayedRow, ...]
    caches: Mapping[CacheKind, CacheGeometry]
    left_out: int
    notes: tuple[str, ...]

    @property
    def unsafe(self) -> tuple[ReplayedRow, ...]:
        return tuple(row for row in self.rows if row.unsafe)
