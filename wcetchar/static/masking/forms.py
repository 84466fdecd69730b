"""What each step of a graph holds off, as a core sees it that takes nothing right behind where it
is let in.

As for traces (``analysis.blocking``): where interrupts are let in and masked again with no more
than ``unnoticed`` + 1 instructions between (the one that masks among them), a core may take none.
So steps that lie between two that mask, with so few instructions from the one to the other on some
path, count as masked; and so do those between one that masks and a supervisor call that enters a
masked handler, the call included. The same of a lock of the scheduler and a switch that waits.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from wcetchar.model.characterization import Blocking, StretchKind
from wcetchar.model.instruction import ExceptionModel, Flow
from wcetchar.model.path_model import OUTSIDE
from wcetchar.static.expand import Expanded

_HOLDS: Mapping[StretchKind, Callable[[Blocking], bool]] = {
    StretchKind.INTERRUPTS: lambda blocking: blocking.masks,
    StretchKind.PREEMPTION: lambda blocking: blocking.holds_preemption,
}


def forms(found: Expanded, exceptions: ExceptionModel) -> list[Blocking]:
    """Of each step; nothing where masks were not followed."""
    masking = found.masking
    if masking is None:
        return [Blocking()] * len(found.steps)
    own = [masking.blocking(step.hold) for step in found.steps]
    gaps = _Gaps(found, exceptions)
    masked = gaps.joined(own, StretchKind.INTERRUPTS)
    locked = gaps.joined(own, StretchKind.PREEMPTION)
    result = list(own)
    for step in locked:
        if step not in masked:  # what masks holds preemption off as well
            result[step] = replace(result[step], preemption=True)
    for step, form in masked.items():
        result[step] = replace(form, preemption=own[step].preemption)
    return result


class _Gaps:
    def __init__(self, found: Expanded, exceptions: ExceptionModel) -> None:
        self._most = exceptions.unnoticed + 1
        self._before: dict[int, list[int]] = defaultdict(list)
        self._behind: dict[int, list[int]] = defaultdict(list)
        for link in found.links:
            if OUTSIDE not in (link.source, link.target):
                self._before[link.target].append(link.source)
                self._behind[link.source].append(link.target)
        rows = found.program.table.instructions
        blocks = [found.function_of(step.context).blocks[step.block] for step in found.steps]
        self._length = [block.last - block.first + 1 for block in blocks]
        self._trapped = [
            bool(exceptions.entry_masks)
            and rows[block.last].flow is Flow.SUPERVISOR_CALL
            and block.last not in block.skipped
            for block in blocks
        ]

    def joined(self, own: Sequence[Blocking], kind: StretchKind) -> dict[int, Blocking]:
        """Steps that hold nothing off by themselves and count as if they did, each with the form
        of one that came before."""
        held = [_HOLDS[kind](form) for form in own]
        trapped = self._trapped if kind is StretchKind.INTERRUPTS else [False] * len(own)
        after = {n: 0 for n, here in enumerate(trapped) if here}
        back, source = self._distances(held, self._behind, {})
        front, _ = self._distances(held, self._before, after)
        return {
            n: own[source[n]]
            for n, before in back.items()
            if n in front and before + self._length[n] + front[n] <= self._most
        }

    def _distances(
        self, held: Sequence[bool], onwards: Mapping[int, list[int]], first: Mapping[int, int]
    ) -> tuple[dict[int, int], dict[int, int]]:
        """Of steps that are not held: fewest instructions from one that is, those of the step
        itself left out; and that one. ``first``: beside these, where it is known."""
        found = dict(first)
        source: dict[int, int] = {}
        queue = [(0, n, n) for n in range(len(held)) if held[n]]
        queue += [(away + self._length[n], n, n) for n, away in first.items()]
        heapq.heapify(queue)
        while queue:
            away, step, origin = heapq.heappop(queue)
            for following in onwards.get(step, ()):
                if held[following] or away > self._most:
                    continue
                if away < found.get(following, self._most + 1):
                    found[following] = away
                    source[following] = origin
                    item = (away + self._length[following], following, origin)
                    heapq.heappush(queue, item)
        return found, source
