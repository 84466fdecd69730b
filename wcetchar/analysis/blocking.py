"""Stretches of a window during which interrupts are masked, or no task switch can happen.

For each window, the maximal runs of its own instructions under a blocking form that masks some
interrupt (kind ``interrupts``), and those under one that holds off preemption (kind ``preemption``:
scheduler locked, a handler running, or interrupts masked, which holds off the switch as well).

Fetches of a stretch are those of its instructions where the image lies, and ``realigned`` those
that the same instructions can need more at another address modulo the fetch width. That is not a
part of the window's own realigned fetches: a word that lies across the edge of the stretch is
fetched inside or outside of it, depending on the address.

A stretch that occurs several times in one window (in a loop, say) is published once, with the
elementwise maximum of its occurrences; its price is then at least that of each. Caveat: time that
interrupts or other threads take inside a stretch is not in it; an interrupt that is itself let in
is accounted as its own activity.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from wcetchar.analysis.accesses import Labelled
from wcetchar.analysis.columns import Codes
from wcetchar.model.characterization import Blocking, StretchKind


@dataclass(frozen=True)
class Stretch:
    """Instructions first..last (inclusive, of the window) under one kind of blocking.

    ``begin`` and ``end`` are table indices of the first and the last instruction.
    """

    kind: StretchKind
    first: int
    last: int
    begin: int
    end: int


def stretches(labelled: Labelled, blockings: list[Blocking]) -> Iterator[Stretch]:
    """All stretches of a window, by kind and in order."""
    for kind in StretchKind:
        holds = np.array(
            [b.masks if kind is StretchKind.INTERRUPTS else b.holds_preemption for b in blockings],
            dtype=bool,
        )
        inside = np.concatenate(([False], holds[labelled.blocking], [False])).astype(np.int8)
        edges = np.diff(inside)
        firsts, lasts = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True):
            yield Stretch(kind, first, last, int(labelled.index[first]), int(labelled.index[last]))


def rows_of(labelled: Labelled, stretch: Stretch) -> Codes:
    """Everything that a stretch counts, packed."""
    inside = (labelled.position >= stretch.first) & (labelled.position <= stretch.last)
    return np.concatenate(
        (
            labelled.packed[inside & ~labelled.is_realigned],
            labelled.realigned(stretch.first, stretch.last),
        )
    )
