"""Stretches of a window during which interrupts are masked, or no task switch can happen.

For each window, the maximal runs of its own instructions under a blocking form that masks some
interrupt (kind ``interrupts``), and those under one that holds off preemption (kind ``preemption``:
scheduler locked, a handler running, or interrupts masked, which holds off the switch as well).
Where a thread is switched away, its lock of the scheduler is over, whatever unlocks it: the switch
that it held off happens. Masks are the core's and last.

Fetches of a stretch are those of its instructions where the image lies, and ``realigned`` those
that the same instructions can need more at another address modulo the fetch width. That is not a
part of the window's own realigned fetches: a word that lies across the edge of the stretch is
fetched inside or outside of it, depending on the address.

A stretch is known by its first and last instruction and by the call that each was reached through:
kernels mask interrupts in a function, and two critical sections that start and end in it are not
one. A stretch that occurs several times in one window (in a loop, say) is published once, with the
elementwise maximum of its occurrences; its price is then at least that of each.

Where interrupts are let in and masked again at once, a core may take none: it executes the next
instructions before it looks. A window's stretches with so few instructions between (``unnoticed``
of the instruction set's exceptions) are one, with these instructions; and one that a supervisor
call follows as soon, which enters a masked handler, reaches to the call. So it is with a switch of
tasks that waits, and a lock. Caveats: a core that needs more than that is not covered; a return
from a handler refills the pipeline, and interrupts are taken as it ends; between two calls of
services lie a return and a call at least.

What is held off can stay so when another activity takes over: a supervisor call is made with
interrupts masked, or a thread is switched away and goes on with them masked. There a stretch ends,
and each side says how it is joined to the other (:class:`Joint`). A supervisor call whose handler
comes back at once is inside a stretch; for such a handler might switch, what was executed up to the
call is a stretch as well. So is what is executed from there on, which another thread may be
switched in to, until interrupts are let in: a lock of the scheduler would be over. Caveat: time
that an interrupt takes which is let in inside a stretch is not in it; that is an activity of its
own. Neither is the time of handlers that are called inside: the count of supervisor calls says how
many these are.

The code of a stretch is what its instructions are fetched from, and fetch in vain, with that of the
few behind it: an access of the stretch may wait while the line of an instruction behind it is
loaded (``FETCHED_BEHIND``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.contexts import Window
from wcetchar.analysis.labelled import Labelled
from wcetchar.counting.columns import Codes, is_succession, pack
from wcetchar.model.characterization import Blocking, Joint, StretchKind
from wcetchar.model.fetch_buffer import FETCHED_BEHIND
from wcetchar.model.instruction import ExceptionModel

BUFFERED: Final = 12
"""The same of a core with a prefetch buffer (``fetch_buffer``): more than it holds. What as many
before a stretch have sent the fetch unit to may be under way when that begins."""

VENEER: Final = 4
"""So many instructions behind a call at most, the called function has been reached: a linker's
veneer between the two takes up to three."""


@dataclass(frozen=True)
class Stretch:
    """Instructions first..last (inclusive, of the window) under one kind of blocking.

    ``begin`` and ``end`` are table indices of the first and the last instruction; ``entered`` and
    ``left`` those of the window's last call before either, -1 where there was none, and ``reached``
    of the few that were executed behind each of these two.
    ``goes_on_from`` and ``goes_on_in``: what blocks right before and right after it.
    """

    kind: StretchKind
    first: int
    last: int
    begin: int
    end: int
    entered: int = -1
    left: int = -1
    reached: tuple[tuple[int, ...], tuple[int, ...]] = ((), ())
    goes_on_from: Joint | None = None
    goes_on_in: Joint | None = None


def stretches(
    window: Window,
    labelled: Labelled,
    blockings: list[Blocking],
    is_call: npt.NDArray[np.bool_],
    exceptions: ExceptionModel,
) -> Iterator[Stretch]:
    """All stretches of a window, by kind and in order.

    Args:
        is_call: by table index, whether an instruction calls.
        exceptions: of the instruction table.
    """
    count = len(labelled.index)
    before = window.begins.tolist()
    ends = {before[cut.pieces]: cut.edge for cut in window.cuts} | {count: window.end}
    cuts = {before[cut.pieces] for cut in window.cuts if cut.switched}
    calls = {before[cut.pieces] for cut in window.cuts if not cut.switched}
    # Handlers that the hardware enters with interrupts masked.
    masked = {at for at, edge in ends.items() if edge.joint is Joint.HANDLER}
    masked = masked if exceptions.entry_masks else set()
    called = np.where(is_call[labelled.index], np.arange(len(labelled.index)), -1)
    latest = np.concatenate(([-1], np.maximum.accumulate(called)))[:-1]

    def call_before(position: int) -> tuple[int, tuple[int, ...]]:
        at = int(latest[position])
        if at < 0:
            return -1, ()
        call, *behind = labelled.index[at : at + 1 + VENEER].tolist()
        return call, tuple(behind)

    def holds(kind: StretchKind) -> npt.NDArray[np.bool_]:
        return np.array([held_off(b, kind) for b in blockings], dtype=bool)[labelled.blocking]

    under_mask = noticed(holds(StretchKind.INTERRUPTS), masked, exceptions.unnoticed)
    let_in = np.append(np.flatnonzero(~under_mask), count)
    for kind in StretchKind:
        held = holds(kind)
        of_masks = kind is StretchKind.INTERRUPTS
        inside = under_mask if of_masks else noticed(held, (), exceptions.unnoticed)
        edges = np.diff(np.concatenate(([False], inside, [False])).astype(np.int8))
        firsts, lasts = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1) - 1
        for start, stop in zip(firsts.tolist(), lasts.tolist(), strict=True):
            inner = sorted(cut for cut in cuts if start < cut <= stop)
            pieces = [*pairwise((start, *inner, stop + 1))]
            parts = (part for piece in pieces for part in _parts(*piece, calls, let_in))
            for first, after in parts:
                goes_on_from = goes_on_in = None
                entered, in_front = call_before(first)
                left, in_last = call_before(after - 1)
                if first in cuts or first in calls:
                    goes_on_from = Joint.THREAD
                elif first == 0 and held_off(window.begin.blocking, kind):
                    goes_on_from = window.begin.joint
                if after in ends and (held_off(ends[after].blocking, kind) or not held[after - 1]):
                    goes_on_in = ends[after].joint
                yield Stretch(
                    kind,
                    first,
                    after - 1,
                    begin=int(labelled.index[first]),
                    end=int(labelled.index[after - 1]),
                    entered=entered,
                    left=left,
                    reached=(in_front, in_last),
                    goes_on_from=goes_on_from,
                    goes_on_in=goes_on_in,
                )


def _parts(
    start: int, stop: int, calls: Collection[int], let_in: npt.NDArray[np.intp]
) -> Iterator[tuple[int, int]]:
    """Of start..stop-1: all of it and, where handlers of supervisor calls inside came back at once,
    what is a stretch if they switch: what was executed up to each call, and what is from there on
    until interrupts are let in (the first of ``let_in``), also up to the others. What such a part
    has from a later call on is shorter, and goes on as that does."""
    yield start, stop
    inside = sorted(call for call in calls if start < call < stop)
    yield from ((start, call) for call in inside)
    known = start
    for call in inside:
        until = min(stop, int(let_in[np.searchsorted(let_in, call)]))
        if max(known, call) < until:
            yield call, until
            yield from ((call, other) for other in inside if call < other < until)
            known = until


def noticed(
    held: npt.NDArray[np.bool_], trapped: Collection[int], unnoticed: int
) -> npt.NDArray[np.bool_]:
    """Of each instruction, whether it is held off as a core sees it that takes nothing right behind
    where it is let in.

    Args:
        held: of each instruction of a window, what the masks say when it begins.
        trapped: positions right behind supervisor calls that enter a masked handler.
        unnoticed: see :class:`ExceptionModel`. The instruction that masks again is let in itself.
    """
    found = held.copy()
    firsts = np.flatnonzero(held[1:] & ~held[:-1]) + 1
    for after in sorted({*firsts.tolist(), *trapped}):
        first = max(0, after - unnoticed - 2)
        before = np.flatnonzero(held[first:after])
        if len(before):
            found[first + before[-1] : after] = True
    return found


def held_off(blocking: Blocking, kind: StretchKind) -> bool:
    """What the kind is about is held off."""
    return blocking.masks if kind is StretchKind.INTERRUPTS else blocking.holds_preemption


def rows_of(
    labelled: Labelled, stretch: Stretch, successions: tuple[Codes, Codes] | None = None
) -> Codes:
    """Everything that a stretch counts, packed; ``successions``: its own, if they were asked for
    already."""
    if successions is None:
        successions = labelled.successions(stretch.first, stretch.last)
    code, where = successions
    inside = (labelled.position >= stretch.first) & (labelled.position <= stretch.last)
    return np.concatenate(
        (
            labelled.packed[inside & ~labelled.is_realigned & ~is_succession(labelled.packed)],
            labelled.realigned(stretch.first, stretch.last),
            pack(labelled.blocking[where], code, labelled.index[where]),
        )
    )


def fetching(labelled: Labelled, stretch: Stretch, buffered: bool) -> dict[int, int]:
    """How often a stretch fetches for what: 2 * table index of an instruction + whether it sent
    control elsewhere. ``buffered``: the core has a prefetch buffer."""
    first, behind = stretch.first, FETCHED_BEHIND
    if buffered:
        first, behind = max(0, first - BUFFERED), BUFFERED
    inside = slice(first, stretch.last + 1 + behind)
    pairs, often = np.unique(
        2 * labelled.index[inside] + labelled.taken[inside], return_counts=True
    )
    return dict(zip(pairs.tolist(), often.tolist(), strict=True))
