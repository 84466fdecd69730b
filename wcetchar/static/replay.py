"""Traced paths held against the graph of all paths: each must be one of them, and hold off there
what the trace shows, as far as both know it.

An observed path that the graph has not, or that a constraint excludes, shows that a fact is wrong,
or the analysis; then nothing that the model says is a bound.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from wcetchar.model.characterization import Blocking
from wcetchar.model.flow import EdgeKind
from wcetchar.model.observed import ObservedPath
from wcetchar.model.path_model import OUTSIDE
from wcetchar.static.contexts import Site
from wcetchar.static.expand import Expanded, Leave, Link
from wcetchar.static.masking.held import Hold

_Calls = tuple[Site, "_Calls"] | None
"""The calls that have not returned, the last one and those before it."""
_STRAY: Final[_Calls] = ((-1, -1), None)
"""Control does not return so."""


@dataclass(frozen=True)
class Astray:
    """A path leaves the graph. ``position``: how many of its instructions could be followed."""

    position: int


@dataclass(frozen=True)
class Replay:
    """Follows paths through one graph.

    Where several calls share a context, control returns behind the one that was made: other ways
    through the graph are none of the program's. A part that begins inside of calls returns from
    these to wherever it does.
    """

    found: Expanded

    @cached_property
    def _behind(self) -> dict[int, list[tuple[int, int]]]:
        """Step -> links that leave it, and where they lead."""
        behind: dict[int, list[tuple[int, int]]] = defaultdict(list)
        for number, link in enumerate(self.found.links):
            behind[link.source].append((number, link.target))
        return behind

    @cached_property
    def _predicated(self) -> list[frozenset[int]]:
        """By step: positions in its block of predicated instructions that have an effect on memory
        or control here, or have none."""
        rows = self.found.program.table.instructions
        result = []
        for step in self.found.steps:
            block = self.found.function_of(step.context).blocks[step.block]
            result.append(
                frozenset(
                    n
                    for n, row in enumerate(rows[block.first : block.last + 1])
                    if row.conditional and row.memory is not None
                )
            )
        return result

    def _holding(self, path: ObservedPath) -> Callable[[int, int], bool]:
        """Whether a step of this length holds off what the path holds off at a position."""
        masking = self.found.masking
        if masking is None or not len(path.blocking):
            return lambda step, position: True
        blocking = path.blocking.tolist()
        agree: dict[tuple[int, int], bool] = {}

        def holds(step: int, position: int) -> bool:
            one = self.found.steps[step]
            block = self.found.function_of(one.context).blocks[one.block]
            for number in blocking[position : position + block.last - block.first + 1]:
                key = one.hold, number
                if key not in agree:
                    hold = masking.holds[one.hold]
                    agree[key] = _agree(hold, path.forms[number])
                if not agree[key]:
                    return False
            return True

        return holds

    def trail(self, path: ObservedPath) -> list[int] | Astray:
        """Numbers of the links that the path takes, in order."""
        index, taken = path.index.tolist(), path.taken.tolist()
        accessed = path.accessed.tolist()
        holding = self._holding(path)
        end = len(index)
        furthest = 0
        # Where two variants of a block begin alike, the other one is tried when one leads astray.
        left: list[tuple[int, int, int, int, _Calls]] = [(0, OUTSIDE, -1, 0, None)]
        trail: list[int] = []
        while left:
            position, step, link, depth, calls = left.pop()
            del trail[depth:]
            if link >= 0:
                trail.append(link)
            if link >= 0:
                known = self._called(calls, self.found.links[link])
                if known is _STRAY:
                    continue
                calls = known
            if step == OUTSIDE and link >= 0:
                if position == end:
                    return trail
                continue
            if step != OUTSIDE:
                length = self._fits(step, position, index, taken, accessed)
                if not length or not holding(step, position):
                    continue
                position += length
                furthest = max(furthest, position)
            for number, target in self._behind[step]:
                left.append((position, target, number, len(trail), calls))
        return Astray(furthest)

    def _called(self, calls: _Calls, link: Link) -> _Calls:
        """The calls that have not returned behind a link."""
        if link.site is not None:
            return link.site, calls
        if link.along is not None and link.along.kind is EdgeKind.RETURNED:
            if calls is None:
                return None
            return calls[1] if calls[0] == (link.context, link.along.source) else _STRAY
        returns = link.source != OUTSIDE and self.found.steps[link.source].out is Leave.RETURN
        return _STRAY if link.target == OUTSIDE and returns and calls is not None else calls

    def _fits(
        self,
        number: int,
        position: int,
        index: list[int],
        taken: list[bool],
        accessed: list[bool],
    ) -> int:
        """Instructions of a step if they are what the path has there, else 0."""
        step = self.found.steps[number]
        block = self.found.function_of(step.context).blocks[step.block]
        length = block.last - block.first + 1
        last = position + length - 1
        if last >= len(index) or index[position] != block.first or index[last] != block.last:
            return 0
        if taken[last] != step.taken:
            return 0
        for at in self._predicated[number]:
            if accessed[position + at] == (block.first + at in block.skipped):
                return 0
        return length


def _agree(hold: Hold, trace: Blocking) -> bool:
    """Both say the same, as far as both know it."""
    model = hold.blocking
    assumed = model.preemption and (model.unknown or not hold.lock_known)
    if model.preemption != trace.preemption and not assumed:
        return False
    return model.unknown or trace.unknown or replace(model, preemption=trace.preemption) == trace
