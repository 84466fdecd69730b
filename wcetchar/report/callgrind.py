"""Priced invocations in the Callgrind format, for KCachegrind and callgrind_annotate.

The format: https://valgrind.org/docs/manual/cl-format.html. Costs stand at addresses and source
lines, by function; a call's inclusive cost at the line of the call. Each invocation is called by an
entry of its own, in square brackets, so that several can be told apart; what it takes to load lines
into caches is no instruction's, and a function of its own.

Costs are whole picoseconds, as :class:`PricedInvocation` says; and instructions, as a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from wcetchar.model.invocation import Exported, Function, Invocation, Numbers, PricedInvocation
from wcetchar.report.names import LONGEST_NOTE, shown
from wcetchar.report.numbers import grouped

_UNKNOWN: Final = "???"
"""Callgrind's own word for a file that is not known."""
_ROOT: Final = "[{}]"
_LOADED: Final = "[lines that caches load]"
_TOTAL, _INSTRUCTIONS = "Total", "Instructions"
_LONGEST_EVENT: Final = 40

Cost = tuple[int, ...]


@dataclass(frozen=True)
class _Of:
    """A function as the format has it."""

    file: str
    name: str


@dataclass(frozen=True, order=True)
class _At:
    """``file``: of the line, where it is known."""

    address: int
    line: int
    file: str


@dataclass
class _Costs:
    """``own``: by place; ``calls``: by place, called function and its place, how often and what it
    took with all that it called."""

    own: dict[_At, Cost] = field(default_factory=dict)
    calls: dict[tuple[_At, _Of, _At], tuple[int, Cost]] = field(default_factory=dict)


def callgrind(exported: Exported, creator: str) -> Iterator[str]:
    """The profile, in parts. ``creator``: the program and its version."""
    columns = sorted({name for one in exported.invocations for name in one.columns})
    costs: dict[_Of, _Costs] = {}
    for one in exported.invocations:
        _Adds(exported, one, columns, costs).add()
    total = _sum((cost for of in costs.values() for cost in of.own.values()), len(columns) + 2)
    events = _events(columns)
    yield "# callgrind format\nversion: 1\n"
    yield f"creator: {shown(creator)}\n"
    yield f"cmd: {shown(exported.object)} on {shown(exported.profile)}, "
    yield f"map {shown(exported.section_map)}\n"
    yield "desc: Unit: picoseconds, rounded up where they add up; Instructions: executed ones\n"
    for one in exported.invocations:
        yield f"desc: Invocation: {shown(one.name)}: {grouped(one.total)} ns ({one.word.value}), "
        yield f"exactly {one.total} ns\n"
    for note in exported.notes:
        yield f"desc: Note: {shown(note, LONGEST_NOTE)}\n"
    yield "positions: instr line\n"
    for event, name in zip(events, columns, strict=False):
        yield f"event: {event} : {shown(name)}\n"
    order = (len(columns), *range(len(columns)), len(columns) + 1)
    yield f"events: {' '.join(events[n] for n in order)}\n"
    yield f"summary: {_text(total, order)}\n"
    yield from _functions(exported, costs, order)
    yield f"\ntotals: {_text(total, order)}\n"


def _functions(exported: Exported, costs: dict[_Of, _Costs], order: Sequence[int]) -> Iterator[str]:
    files, functions = _Numbered(), _Numbered()
    yield f"\nob={shown(exported.object)}\n"

    def of(function: _Of, called: bool) -> str:
        prefix = "c" if called else ""
        file = "cfi" if called else "fl"
        key = f"{function.file}\n{function.name}"
        return (
            f"{file}={files.text(function.file)}\n{prefix}fn={functions.text(function.name, key)}\n"
        )

    for function, found in costs.items():
        yield "\n" + of(function, called=False)
        here = function.file
        calls: dict[_At, list[tuple[_Of, _At, int, Cost]]] = {}
        for (site, callee, there), (often, cost) in found.calls.items():
            calls.setdefault(site, []).append((callee, there, often, cost))
        for at in sorted({*found.own, *calls}):
            if at.file != here:
                here = at.file
                yield f"fi={files.text(here)}\n"
            place = f"0x{at.address:x} {at.line}"
            if at in found.own:
                yield f"{place} {_text(found.own[at], order)}\n"
            for callee, there, often, cost in calls.get(at, ()):
                yield of(callee, called=True)
                yield f"calls={often} 0x{there.address:x} {there.line}\n"
                yield f"{place} {_text(cost, order)}\n"


class _Adds:
    """Adds what one invocation costs."""

    def __init__(
        self,
        exported: Exported,
        one: PricedInvocation,
        columns: Sequence[str],
        costs: dict[_Of, _Costs],
    ) -> None:
        self._lines, self._one, self._costs = exported.lines, one, costs
        nothing = np.zeros(len(one.traced) + 1, dtype=np.int64)
        by_name = dict(zip(one.columns, one.column_ps, strict=True))
        executed = np.ones(len(one.traced) + 1, dtype=np.int64)
        executed[-1] = 0
        each = [by_name.get(name, nothing) for name in columns]
        self._each: Numbers = np.stack([*each, one.total_ps, executed])
        self._until = np.concatenate(
            (np.zeros((len(self._each), 1), dtype=np.int64), np.cumsum(self._each, axis=1)), axis=1
        )

    def add(self) -> None:
        traced = self._one.traced
        of = [_of(frame.function) for frame in traced.frames]
        self._own(traced, of)
        for number, frame in enumerate(traced.frames):
            cost = self._between(frame.first, frame.last + 1)
            there = self._at(int(traced.address[frame.first]), frame.function)
            if frame.caller < 0:
                self._call(self._root(), _NOWHERE, of[number], there, cost)
                continue
            caller = traced.frames[frame.caller].function
            site = caller.address if frame.site < 0 else int(traced.address[frame.site])
            self._call(of[frame.caller], self._at(site, caller), of[number], there, cost)
        if self._one.loaded_ps:
            loaded, cost = _Of(_UNKNOWN, _LOADED), self._between(len(traced), len(traced) + 1)
            self._call(self._root(), _NOWHERE, loaded, _NOWHERE, cost)
            self._take(loaded, _NOWHERE, cost)

    def _own(self, traced: Invocation, of: Sequence[_Of]) -> None:
        owner = owners(traced)
        addresses, place = np.unique(traced.address, return_inverse=True)
        pairs, where = np.unique(owner * len(addresses) + place, return_inverse=True)
        sums = np.zeros((len(self._each), len(pairs)), dtype=np.int64)
        for row, each in zip(sums, self._each, strict=True):
            np.add.at(row, where, each[:-1])
        for pair, cost in zip(pairs.tolist(), sums.T.tolist(), strict=True):
            frame, address = divmod(pair, len(addresses))
            at = self._at(int(addresses[address]), traced.frames[frame].function)
            self._take(of[frame], at, tuple(cost))

    def _root(self) -> _Of:
        return _Of(_UNKNOWN, _ROOT.format(self._one.name))

    def _at(self, address: int, function: Function) -> _At:
        file, line = self._lines.get(address, (function.file, 0))
        return _At(address, line, file or _UNKNOWN)

    def _between(self, first: int, behind: int) -> Cost:
        return tuple((self._until[:, behind] - self._until[:, first]).tolist())

    def _of_function(self, function: _Of) -> _Costs:
        return self._costs.setdefault(function, _Costs())

    def _take(self, function: _Of, at: _At, cost: Cost) -> None:
        own = self._of_function(function).own
        own[at] = _sum((own[at], cost), len(cost)) if at in own else cost

    def _call(self, caller: _Of, site: _At, callee: _Of, there: _At, cost: Cost) -> None:
        calls = self._of_function(caller).calls
        key = (site, callee, there)
        often, known = calls.get(key, (0, (0,) * len(cost)))
        calls[key] = (often + 1, _sum((known, cost), len(cost)))


_NOWHERE: Final = _At(0, 0, _UNKNOWN)


def owners(traced: Invocation) -> Numbers:
    """Of each instruction the number of the frame that it is executed in."""
    found = np.zeros(len(traced), dtype=np.int64)
    opened: list[int] = []
    at = 0

    def up_to(position: int) -> None:
        nonlocal at
        if opened:
            found[at:position] = opened[-1]
        at = max(at, position)

    for number, frame in enumerate(traced.frames):
        while opened and traced.frames[opened[-1]].last < frame.first:
            up_to(traced.frames[opened[-1]].last + 1)
            opened.pop()
        up_to(frame.first)
        opened.append(number)
    while opened:
        up_to(traced.frames[opened[-1]].last + 1)
        opened.pop()
    return found


def _of(function: Function) -> _Of:
    return _Of(function.file or _UNKNOWN, function.name)


def _sum(costs: Sequence[Cost] | Iterator[Cost], length: int) -> Cost:
    total = [0] * length
    for cost in costs:
        for number, one in enumerate(cost):
            total[number] += one
    return tuple(total)


def _text(cost: Cost, order: Sequence[int]) -> str:
    return " ".join(str(cost[n]) for n in order)


def _events(columns: Sequence[str]) -> list[str]:
    """Names of the columns, of the total and of the number, each of one word."""
    taken = {_TOTAL.lower(), _INSTRUCTIONS.lower()}
    found = []
    for column in columns:
        word = re.sub(r"[^A-Za-z0-9]+", "_", column).strip("_")[:_LONGEST_EVENT]
        word = word if word[:1].isalpha() else f"in_{word}".rstrip("_")
        name, number = word, 2
        while name.lower() in taken:
            name, number = f"{word}_{number}", number + 1
        taken.add(name.lower())
        found.append(name)
    return [*found, _TOTAL, _INSTRUCTIONS]


class _Numbered:
    """Names, of which each stands once and is a number from then on."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def text(self, name: str, key: str | None = None) -> str:
        """``key``: what tells it apart, if it is not the name."""
        key = name if key is None else key
        number = self._numbers.get(key)
        if number is not None:
            return f"({number})"
        self._numbers[key] = len(self._numbers) + 1
        return f"({len(self._numbers)}) {shown(name)}"
