"""Priced invocations on a timeline: slices on tracks.

Time goes on only while an invocation that is shown executes, by what its instructions are priced
at. Invocations stand in the order in which traces showed them, so one that interrupts another cuts
it here as well. What runs in between and is not shown takes no time; where an invocation was cut by
something that is not shown, that is told by a slice without length.

Tracks: one for each thread, one for handlers (and one more for each that interrupts another one).
Each has, below it, tracks of its own for what it holds off (interrupts, preemption) and for what
interrupted it. Slices on a track nest: functions lie inside the one that calls them, all inside
the invocation.

A slice's length is what its instructions add to the total, where nothing cuts it. How long
something is held off at most is an estimate's blocking time, which may be longer: it is priced for
the stretch alone.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from wcetchar.model.characterization import StretchKind
from wcetchar.model.invocation import Exported, PricedInvocation
from wcetchar.report.numbers import grouped

MOST_SLICES: Final = 500_000
"""That are shown; a viewer in a browser still opens them."""
DEEPEST: Final = 500
"""How deep they may lie inside of one another: Perfetto leaves out what is deeper than 512."""
LOADED: Final = "lines that caches load"
_HELD: Final = {
    StretchKind.INTERRUPTS: "interrupts held off",
    StretchKind.PREEMPTION: "preemption held off",
}
_INTERRUPTED: Final = "interrupted by"


@dataclass(frozen=True)
class Slice:
    """Times in picoseconds. ``details``: what is told of it, by name."""

    name: str
    begin: int
    end: int
    details: tuple[tuple[str, str], ...] = ()
    inside: tuple[Slice, ...] = ()


@dataclass
class Track:
    """``slices``: in their order, one after the other; ``below``: tracks of its own, by name."""

    name: str
    slices: list[Slice] = field(default_factory=list)
    below: dict[str, Track] = field(default_factory=dict)

    def child(self, name: str) -> Track:
        return self.below.setdefault(name, Track(name))


def check_size(exported: Exported) -> None:
    """Raises:
    ValueError: there are more slices than are shown, or they nest deeper.
    """
    number = sum(
        len(one.traced.frames) + len(one.traced.held) + len(one.traced.segments) + 1
        for one in exported.invocations
    )
    if number > MOST_SLICES:
        raise ValueError(f"{number:,} slices, and {MOST_SLICES:,} can be shown")
    for one in exported.invocations:
        depths: list[int] = []
        for frame in one.traced.frames:
            depths.append(2 if frame.caller < 0 else depths[frame.caller] + 1)
        if max(depths) > DEEPEST:
            raise ValueError(
                f"{one.traced.service} nests {max(depths):,} slices, and {DEEPEST} can be shown"
            )


def timeline(exported: Exported) -> tuple[Track, ...]:
    """Threads in the order in which they come, then handlers.

    Raises:
        ValueError: as of :func:`check_size`.
    """
    check_size(exported)
    shown = exported.invocations
    begins: list[list[int]] = [[] for _ in shown]
    lengths = [_lengths(one) for one in shown]
    order = sorted(
        (one.traced.run, segment.serial, number)
        for number, one in enumerate(shown)
        for segment in one.traced.segments
    )
    threads, handlers = dict[tuple[int, int], Track](), list[Track]()
    busy: list[int] = []
    """Handlers that have begun and not ended, by their track; -1: none."""
    placed: list[Track | None] = [None] * len(shown)
    now = 0
    for _, _, number in order:
        one = shown[number]
        if one.traced.in_handler and not begins[number]:
            lane = busy.index(-1) if -1 in busy else len(busy)
            if lane == len(busy):
                busy.append(-1)
                handlers.append(Track("handlers" if lane == 0 else f"handlers, nested {lane}"))
            busy[lane], placed[number] = number, handlers[lane]
        elif not begins[number]:
            name = f"thread {len(threads) + 1}"
            placed[number] = threads.setdefault((one.traced.run, one.traced.thread), Track(name))
        begins[number].append(now)
        now += lengths[number][len(begins[number]) - 1]
        if number in busy and len(begins[number]) == len(one.traced.segments):
            busy[busy.index(number)] = -1
    first = sorted(range(len(shown)), key=lambda number: begins[number][0])
    for number in first:
        track = placed[number]
        assert track is not None
        _Placed(shown[number], begins[number]).on(track)
    return (*threads.values(), *handlers)


def _lengths(one: PricedInvocation) -> Sequence[int]:
    """Of each segment; lines that caches load are with the last one."""
    until = one.until.tolist()
    edges = [until[segment.first] for segment in one.traced.segments]
    return [b - a for a, b in zip(edges, [*edges[1:], until[-1]], strict=True)]


class _Placed:
    """One invocation whose segments begin at these times."""

    def __init__(self, one: PricedInvocation, begins: Sequence[int]) -> None:
        self._one, self._begins = one, begins
        self._until: list[int] = one.until.tolist()
        self._firsts = [segment.first for segment in one.traced.segments]

    def _segment(self, position: int) -> int:
        return bisect_right(self._firsts, position) - 1

    def _begin(self, position: int) -> int:
        """When an instruction begins."""
        segment = self._segment(position)
        return self._begins[segment] + self._until[position] - self._until[self._firsts[segment]]

    def _end(self, position: int) -> int:
        """When it ends."""
        return self._begin(position) + self._until[position + 1] - self._until[position]

    def on(self, track: Track) -> None:
        one = self._one
        end = self._end(len(one.traced) - 1)
        inside = [self._frames()]
        if one.loaded_ps:
            inside.append(Slice(LOADED, end, end + one.loaded_ps))
        details = (
            ("service", one.traced.service),
            *((name, str(value)) for name, value in one.traced.parameters.items()),
            ("ns", grouped(one.total)),
            ("exactly, ns", str(one.total)),
            ("word", one.word.value),
        )
        track.slices.append(
            Slice(one.name, self._begin(0), end + one.loaded_ps, details, tuple(inside))
        )
        for held in one.traced.held:
            track.child(_HELD[held.kind]).slices.append(
                Slice(_HELD[held.kind], self._begin(held.first), self._end(held.last))
            )
        for segment, begin in zip(one.traced.segments, self._begins, strict=True):
            if segment.behind is not None:
                left = self._end(segment.first - 1)
                shown = begin > left
                name = segment.behind.value + ("" if shown else ", whose time is not shown")
                track.child(_INTERRUPTED).slices.append(Slice(name, left, begin))

    def _frames(self) -> Slice:
        """The functions, as they lie inside of one another."""
        frames = self._one.traced.frames
        inside: list[list[Slice]] = [[] for _ in frames]
        for number in range(len(frames) - 1, -1, -1):
            frame = frames[number]
            where = f"{frame.function.file}:{frame.function.line}" if frame.function.file else ""
            made = Slice(
                frame.function.name,
                self._begin(frame.first),
                self._end(frame.last),
                (("file", where),) if where else (),
                tuple(reversed(inside[number])),
            )
            if frame.caller < 0:
                return made
            inside[frame.caller].append(made)
        raise ValueError("no frame is the whole")
