"""Loads that may miss in a data cache, whatever else is known of it.

Inputs: the data accesses of a window in their order, each with its address, size and the
instruction that made it. Nothing here depends on a cache but the size of its lines, L bytes, and
the lines W that a set holds.

The caches that are meant are read-allocate: a load loads its line if it is not there; a store
changes no line but its own, and updates that if it is there; nothing else takes lines away. Of a
set the line goes that was used longest ago (LRU); whether a store counts as a use is open. Let d(x)
be the number of distinct other lines that were loaded or stored to since line x was last loaded in
the window. While d(x) < W, x cannot have been replaced, for at most d(x) lines of its set were used
since: whichever set that is, wherever other lines lie, a load of x hits. Nor can it while nothing
else was loaded; that holds for W = 1, and for any policy of replacement. Every other load is
counted as a *line load*: at the first load of a line in the window; behind a place at which another
thread or a handler ran. A cache of more ways replaces no line sooner, so counts of fewer ways are
safe for it.

*Emptied*: loads that hit by the above because of what was loaded before interrupts were masked, or
preemption held off. An interrupt may have run just before, so for how long something is
blocked these count as line loads too. (One that runs inside, where preemption alone is held off, is
in no count.)

An access across two lines is one of each. Of what hardware reads by itself (exception frames,
vectors) no address is known: each such word counts as a line load, and what it writes may have used
any line.

A load *behind a store* to the same bytes may have to be carried out again by a core that reads its
cache before the store is over: counted are those of the next instruction, and those of the next but
one where the one between does not transfer control; and apart those with which it fetches no
instructions again that it may have to load again (``counting.fetched_again``).

Soundness: that data lie in lines as in the trace. Lines may be anywhere, but what shares one there
has to share one elsewhere, and what does not, not: a promise (``data alignment``), without which
each load has to be taken to miss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.data_accesses import Accesses
from wcetchar.analysis.labelled import Rows
from wcetchar.counting.columns import KIND, Codes, event_code
from wcetchar.model.access import (
    LINE_LOADS,
    LOADS_BEHIND_STORES,
    WAYS_OF_LINE_LOADS,
    EventKind,
)
from wcetchar.model.trace import Event

_MOST_WAYS: Final = max(WAYS_OF_LINE_LOADS)


class _Recent:
    """What was used since each line was last loaded, as far as it matters."""

    def __init__(self) -> None:
        self._last: int | None = None
        self._since: dict[int, set[int]] = {}

    def forget(self) -> None:
        self._last = None
        self._since.clear()

    def load(self, line: int) -> int:
        """Loads it. Returns the fewest ways, of those that are counted, with which a set holds it;
        one more than the most if none does."""
        since = self._since.get(line)
        if line == self._last:
            held = 1
        elif since is None:
            held = _MOST_WAYS + 1
        else:
            held = max(2, len(since) + 1)
        self._last = line
        self.use(line)
        self._since[line] = set()
        return held

    def use(self, line: int) -> None:
        """Stores to it, perhaps."""
        for other, since in [*self._since.items()]:
            if other != line:
                since.add(line)
                if len(since) >= _MOST_WAYS:
                    del self._since[other]


class LineLoads:
    """Counts line loads of windows; ``sizes``: bytes of a line, of as many as are wanted."""

    def __init__(self, sizes: Sequence[int]) -> None:
        self.sizes = tuple(sorted(set(sizes)))

    def add(
        self,
        accesses: Accesses,
        section: Codes,
        apart: Iterable[int],
        blocked: Iterable[int],
        transfers: npt.NDArray[np.bool_],
        near: npt.NDArray[np.bool_],
        rows: Rows,
    ) -> None:
        """Adds what a window loads.

        Args:
            accesses: in their order, each of a known size; of unknown direction counts as a load
                that may store.
            section: of each access's address.
            apart: positions before which another thread or a handler ran.
            blocked: positions at which interrupts are masked, or preemption held off, that were
                not at the one before.
            transfers: by position, whether the instruction transferred control.
            near: by position, as in ``counting.fetched_again``.
        """
        lists = (
            accesses.owner.tolist(),
            accesses.kind.tolist(),
            accesses.address.tolist(),
            accesses.size.tolist(),
            section.tolist(),
        )
        all_accesses = list(zip(*lists, strict=True))
        cuts = sorted(apart)
        emptied = sorted({*cuts, *blocked})
        for size in self.sizes:
            _add(_line_loads(size, all_accesses, cuts, emptied), rows)
        _add(_behind_stores(all_accesses, transfers, near), rows)

    def add_unknown(self, section: int, words: int, position: int, rows: Rows) -> None:
        """Adds words that the hardware reads by itself."""
        loads = [
            (section, LINE_LOADS[size, ways][0], position)
            for size in self.sizes
            for ways in WAYS_OF_LINE_LOADS
        ]
        _add(loads * words, rows)


_Access = tuple[int, int, int, int, int]
"""Owner, kind, address, size, section."""
_Counted = tuple[int, EventKind, int]
"""Section, kind, position."""


def _add(found: Iterable[_Counted], rows: Rows) -> None:
    numbers = [(section, KIND[kind], position) for section, kind, position in found]
    sections, kinds, positions = np.array(numbers, dtype=np.int64).reshape(-1, 3).T
    rows.add(event_code(sections, kinds), positions)


def _line_loads(
    size: int, accesses: Iterable[_Access], apart: list[int], emptied: list[int]
) -> Iterator[_Counted]:
    in_window, in_stretch = _Recent(), _Recent()
    cut = empty = 0
    for owner, kind, address, width, section in accesses:
        while cut < len(apart) and apart[cut] <= owner:
            cut += 1
            in_window.forget()
        while empty < len(emptied) and emptied[empty] <= owner:
            empty += 1
            in_stretch.forget()
        for line in range(address // size, (address + width - 1) // size + 1):
            if kind == Event.WRITE:
                in_window.use(line)
                in_stretch.use(line)
                continue
            here, inside = in_window.load(line), in_stretch.load(line)
            for ways in WAYS_OF_LINE_LOADS:
                if inside > ways:
                    loaded, more = LINE_LOADS[size, ways]
                    yield section, loaded if here > ways else more, owner


def _behind_stores(
    accesses: Sequence[_Access],
    transfers: npt.NDArray[np.bool_],
    near: npt.NDArray[np.bool_],
) -> Iterator[_Counted]:
    stores: list[tuple[int, int, int]] = []
    for owner, kind, address, size, section in accesses:
        end = address + size
        if kind != Event.WRITE:
            behind = {
                owner - by
                for by, first, last in stores
                if owner - by in (1, 2) and first < end and address < last
            }
            found = None
            if 1 in behind:
                found = EventKind.LOAD_BEHIND_STORE
            elif 2 in behind and not transfers[owner - 1]:
                found = EventKind.SECOND_LOAD_BEHIND_STORE
            if found is not None:
                yield section, LOADS_BEHIND_STORES[found] if near[owner] else found, owner
        if kind != Event.READ:
            stores = [s for s in stores if s[0] >= owner - 2]
            stores.append((owner, address, end))
