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
    def _shapes(self) -> list[_Shape]:
        """Of each step."""
        rows = self.found.program.table.instructions
        result = []
        for step in self.found.steps:
            block = self.found.function_of(step.context).blocks[step.block]
            predicated = tuple(
                (n, block.first + n in block.skipped)
                for n, row in enumerate(rows[block.first : block.last + 1])
                if row.conditional and row.memory is not None
            )
            result.append(_Shape(block.first, block.last, step.taken, predicated))
        return result

    @cached_property
    def _calling(self) -> list[bool]:
        """Of each link: calls that have not returned may be others behind it, or it may be none of
        the path's for what they are."""
        return [
            link.site is not None
            or (link.along is not None and link.along.kind is EdgeKind.RETURNED)
            or link.target == OUTSIDE
            for link in self.found.links
        ]

    @cached_property
    def _agreed(self) -> dict[tuple[int, Blocking], bool]:
        """What is known of masks, by number, and what a trace holds off: whether these agree."""
        return {}

    def _holding(self, path: ObservedPath) -> Callable[[int, int, int], bool]:
        """Whether a step of this length holds off what the path holds off at a position."""
        masking = self.found.masking
        if masking is None or not len(path.blocking):
            return lambda step, position, length: True
        blocking = path.blocking.tolist()
        steps, agreed, forms = self.found.steps, self._agreed, path.forms

        def holds(step: int, position: int, length: int) -> bool:
            hold = steps[step].hold
            for number in {*blocking[position : position + length]}:
                key = hold, forms[number]
                if key not in agreed:
                    agreed[key] = _agree(masking.holds[hold], key[1])
                if not agreed[key]:
                    return False
            return True

        return holds

    def trail(self, path: ObservedPath) -> list[int] | Astray:
        """Numbers of the links that the path takes, in order."""
        index, taken = path.index.tolist(), path.taken.tolist()
        accessed = path.accessed.tolist()
        holding = self._holding(path)
        shapes, behind, calling, links = (
            self._shapes,
            self._behind,
            self._calling,
            self.found.links,
        )
        end = len(index)
        furthest = 0
        # Where two variants of a block begin alike, the other one is tried when one leads astray.
        left: list[tuple[int, int, int, int, _Calls]] = [
            (0, target, number, 0, None) for number, target in behind.get(OUTSIDE, ())
        ]
        trail: list[int] = []
        while left:
            position, step, link, depth, calls = left.pop()
            del trail[depth:]
            trail.append(link)
            depth += 1
            if calling[link]:
                calls = self._called(calls, links[link])
                if calls is _STRAY:
                    continue
            if step == OUTSIDE:
                if position == end:
                    return trail
                continue
            length = shapes[step].fits(position, index, taken, accessed)
            if not length or not holding(step, position, length):
                continue
            position += length
            furthest = max(furthest, position)
            following = index[position] if position < end else None
            for number, target in behind.get(step, ()):
                if target == OUTSIDE or shapes[target].first == following:
                    left.append((position, target, number, depth, calls))
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


@dataclass(frozen=True, slots=True)
class _Shape:
    """What a path has where it passes a step.

    Attributes:
        first, last: table indices of its instructions.
        taken: the last one sends control elsewhere.
        predicated: positions of predicated instructions with an effect on memory or control, and
            whether they have none here.
    """

    first: int
    last: int
    taken: bool
    predicated: tuple[tuple[int, bool], ...]

    def fits(self, position: int, index: list[int], taken: list[bool], accessed: list[bool]) -> int:
        """Instructions of the step if they are what the path has there, else 0."""
        last = position + self.last - self.first
        if last >= len(index) or index[position] != self.first or index[last] != self.last:
            return 0
        if taken[last] != self.taken:
            return 0
        for at, skipped in self.predicated:
            if accessed[position + at] == skipped:
                return 0
        return last - position + 1


def _agree(hold: Hold, trace: Blocking) -> bool:
    """Both say the same, as far as both know it."""
    model = hold.blocking
    assumed = model.preemption and (model.unknown or not (hold.lock_known or hold.handler))
    if model.preemption != trace.preemption and not assumed:
        return False
    return model.unknown or trace.unknown or replace(model, preemption=trace.preemption) == trace
