"""The integrator's section map: where logical sections lie, and the values of parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from wcetchar.model.uncertainty import UncertainCount


class Assumption(StrEnum):
    """What an integrator may promise to get a tighter figure. Not promised: the dearer case."""

    CODE_ALIGNMENT = "code keeps its address modulo the fetch width"
    DATA_ALIGNMENT = "data lie in lines of the data cache as where they were characterized"


class CacheState(StrEnum):
    """What an integrator says of a cache when a service begins."""

    ALWAYS_MISS = "always miss"
    COLD = "cold"
    WARM = "warm"


@dataclass(frozen=True)
class SectionMap:
    """``sections``: logical section -> region name of the profile. ``addresses``: where logical
    sections begin, of as many as the integrator says. ``uncertain``: parameters whose values may be
    off; they are not among ``parameters``."""

    name: str
    sections: Mapping[str, str]
    parameters: Mapping[str, int] = field(default_factory=dict)
    assumptions: frozenset[Assumption] = frozenset()
    addresses: Mapping[str, int] = field(default_factory=dict)
    instruction_cache: CacheState = CacheState.ALWAYS_MISS
    data_cache: CacheState = CacheState.ALWAYS_MISS
    uncertain: Mapping[str, UncertainCount] = field(default_factory=dict)
