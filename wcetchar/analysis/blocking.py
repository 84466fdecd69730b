"""Stretches of a window during which interrupts are masked, or no task switch can happen.

For each window, the maximal runs of its own instructions under a blocking form that masks some
interrupt (kind ``interrupts``), and those under one that holds off preemption (kind ``preemption``:
scheduler locked, a handler running, or interrupts masked, which holds off the switch as well).

Fetches of a stretch are those of its instructions where the image lies, and ``realigned`` those
that the same instructions can need more at another address modulo the fetch width. That is not a
part of the window's own realigned fetches: a word that lies across the edge of the stretch is
fetched inside or outside of it, depending on the address.

A stretch is known by its first and last instruction and by the call that each was reached through:
kernels mask interrupts in a function, and two critical sections that start and end in it are not
one. A stretch that occurs several times in one window (in a loop, say) is published once, with the
elementwise maximum of its occurrences; its price is then at least that of each. Caveat: time that
interrupts or other threads take inside a stretch is not in it; an interrupt that is itself let in
is accounted as its own activity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.accesses import Labelled
from wcetchar.analysis.columns import Codes
from wcetchar.model.characterization import Blocking, StretchKind


@dataclass(frozen=True)
class Stretch:
    """Instructions first..last (inclusive, of the window) under one kind of blocking.

    ``begin`` and ``end`` are table indices of the first and the last instruction; ``entered`` and
    ``left`` those of the window's last call before either, -1 where there was none.
    """

    kind: StretchKind
    first: int
    last: int
    begin: int
    end: int
    entered: int = -1
    left: int = -1


def stretches(
    labelled: Labelled, blockings: list[Blocking], is_call: npt.NDArray[np.bool_]
) -> Iterator[Stretch]:
    """All stretches of a window, by kind and in order.

    Args:
        is_call: by table index, whether an instruction calls.
    """
    calls = np.where(is_call[labelled.index], np.arange(len(labelled.index)), -1)
    latest = np.concatenate(([-1], np.maximum.accumulate(calls)))[:-1]

    def call_before(position: int) -> int:
        at = int(latest[position])
        return -1 if at < 0 else int(labelled.index[at])

    for kind in StretchKind:
        holds = np.array(
            [b.masks if kind is StretchKind.INTERRUPTS else b.holds_preemption for b in blockings],
            dtype=bool,
        )
        inside = np.concatenate(([False], holds[labelled.blocking], [False])).astype(np.int8)
        edges = np.diff(inside)
        firsts, lasts = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            yield Stretch(
                kind,
                first,
                last,
                begin=int(labelled.index[first]),
                end=int(labelled.index[last]),
                entered=call_before(first),
                left=call_before(last),
            )


def rows_of(labelled: Labelled, stretch: Stretch) -> Codes:
    """Everything that a stretch counts, packed."""
    inside = (labelled.position >= stretch.first) & (labelled.position <= stretch.last)
    return np.concatenate(
        (
            labelled.packed[inside & ~labelled.is_realigned],
            labelled.realigned(stretch.first, stretch.last),
        )
    )
