"""Paths that traces showed, for the static half to be held against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wcetchar.model.access import AccessVector
from wcetchar.model.characterization import Blocking
from wcetchar.model.masks import MaskState


def _nothing() -> npt.NDArray[np.int64]:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True)
class ObservedPath:
    """One way through a service, or a part of one, at values of its parameters.

    Attributes:
        service: the published name.
        values: of the parameters, in their order.
        index: table index of each instruction, in the order of execution.
        taken: of each: it sent control elsewhere than to the next one.
        accessed: of each: it made a data access.
        vector: what the window counted, without successions and what data caches are counted by.
        windows: how often it was seen.
        exception: it is a handler's.
        masks, lock: mask registers, and how often the scheduler was locked, when the invocation
            began.
        in_handler: a handler executes it: it is one, or called by one.
        blocking: of each instruction, what was held off when it began: number of one of ``forms``.
    """

    service: str
    values: tuple[int, ...]
    index: npt.NDArray[np.int64] = field(repr=False)
    taken: npt.NDArray[np.bool_] = field(repr=False)
    accessed: npt.NDArray[np.bool_] = field(repr=False)
    vector: AccessVector = field(repr=False)
    windows: int = 1
    exception: bool = False
    masks: MaskState = field(default_factory=MaskState)
    lock: int = 0
    in_handler: bool = False
    blocking: npt.NDArray[np.int64] = field(default_factory=_nothing, repr=False)
    forms: tuple[Blocking, ...] = (Blocking(),)


@dataclass(frozen=True)
class Observed:
    """
    Attributes:
        paths: each once.
        sections: published name -> table index of an instruction -> logical sections that its data
            accesses went to there.
        misaligned: table indices of instructions that made a misaligned access.
        targets: address of an indirect call or jump -> addresses that it went to.
    """

    paths: tuple[ObservedPath, ...]
    sections: Mapping[str, Mapping[int, frozenset[str]]]
    misaligned: frozenset[int]
    targets: Mapping[int, tuple[int, ...]]
