"""Where in a run an interrupt waits longest: stretches with interrupts masked, and the cycles right
before each.

A run says which instructions retired, not whether interrupts were masked. Instructions that clear
and set mstatus.MIE are told by their text, and a trap masks until ``mret``, unless what that goes
back to lets interrupts in before it masks them: then it had them masked. So a stretch found here
may be shorter than the true one, where a thread goes on masked; that only chooses where to look.

An interrupt that rises as early as it can without being taken before a stretch waits for all of it.
How early that is depends on what the pipeline holds, so each cycle of a while is tried.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from masked import BEHIND_LET_IN, RESTORED, State, change
from windows import Codes, Program, Run

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Stretch:
    """Instructions of a run by their place in it: what masks interrupts, of a trap the handler's
    first, and what lets them in."""

    first: int
    last: int


@dataclass(frozen=True)
class Changes:
    """Places in a run, ascending: what masks interrupts, lets them in, enters the trap handler and
    leaves it."""

    masks: Codes
    lets_in: Codes
    traps: Codes
    leaves: Codes


def changes(program: Program, run: Run) -> Changes:
    made = {a: change(program.at(a).text) for a in np.unique(run.address).tolist()}

    def having(what: State | str) -> Codes:
        return np.flatnonzero(np.isin(run.address, [a for a, one in made.items() if one is what]))

    traps = np.flatnonzero(run.address == program.trap_handler)
    return Changes(having(State.MASKED), having(State.LET_IN), traps, having(RESTORED))


def stretches(of: Changes) -> Iterator[Stretch]:
    """In order; those that are too close to one another as one. What is masked when the run begins,
    or when it ends, is none."""
    events = sorted(
        [(int(i), "masks") for i in (*of.masks, *of.traps)]
        + [(int(i), "lets in") for i in of.lets_in]
        + [(int(i), "leaves") for i in of.leaves]
    )
    since: int | None = None
    for (i, what), (next_, then) in zip(events, [*events[1:], (0, "")], strict=True):
        if what == "masks":
            since = i if since is None else since
            continue
        stays = what == "leaves" and then == "lets in"
        close = what == "lets in" and then == "masks" and next_ - i <= BEHIND_LET_IN
        if since is not None and not stays and not close:
            yield Stretch(since, i)
            since = None


def through(run: Run, found: Iterable[Stretch], address: int) -> list[Stretch]:
    """Those in which an instruction is executed."""
    places = np.flatnonzero(run.address == address)
    return [
        one
        for one in found
        if np.searchsorted(places, one.first) < np.searchsorted(places, one.last)
    ]


def waits_for(run: Run, handlers: Iterable[Stretch], rose: Codes, entered: Codes) -> Flags:
    """Of each interrupt: one of these handlers was under way when its line rose, or came first."""
    behind = np.zeros(len(rose), dtype=np.bool_)
    for one in handlers:
        behind |= (rose <= run.cycle[one.last]) & (entered > run.cycle[one.first])
    return behind


def too_close(run: Run, of: Changes) -> Counter[tuple[int, int]]:
    """Addresses of what lets interrupts in and of what masks them again before this core can take
    one, with how often that was so. Stretches on both sides are one to an interrupt."""
    found: Counter[tuple[int, int]] = Counter()
    if not len(of.masks):
        return found
    behind = np.searchsorted(of.masks, of.lets_in)
    for let_in, at in zip(of.lets_in.tolist(), behind.tolist(), strict=True):
        if at < len(of.masks) and of.masks[at] - let_in <= BEHIND_LET_IN:
            found[int(run.address[let_in]), int(run.address[of.masks[at]])] += 1
    return found


def neighbours(run: Run, of: Changes) -> set[int]:
    """Addresses of the instructions right before interrupts are masked, and of those right behind
    where they are let in, that were executed there."""
    before = np.concatenate([of.masks, of.traps]) - 1
    behind = [of.lets_in + n for n in range(1, BEHIND_LET_IN + 1)]
    places = np.unique(np.concatenate([before, *behind]))
    places = places[(places >= 0) & (places < len(run.address))]
    return set(run.address[places].tolist())


def longest_of_each_kind(run: Run, found: Iterable[Stretch], each: int) -> list[Stretch]:
    """So many of each kind, the longest: a kind has the same instruction before it, the same first,
    and the same last one."""
    kinds: defaultdict[tuple[int, ...], list[Stretch]] = defaultdict(list)
    for one in found:
        if one.first:
            places = (one.first - 1, one.first, one.last)
            kinds[tuple(int(run.address[i]) for i in places)].append(one)

    def length(one: Stretch) -> int:
        return int(run.cycle[one.first] - run.cycle[one.last])

    return [one for same in kinds.values() for one in sorted(same, key=length)[:each]]


def before(run: Run, one: Stretch, cycles: Iterable[int]) -> list[int]:
    """Cycles of the run, so many before the first instruction retires that is masked."""
    return [int(run.cycle[one.first]) - n for n in cycles if n <= run.cycle[one.first]]
