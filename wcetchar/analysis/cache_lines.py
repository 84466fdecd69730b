"""Lines of caches that a window uses, in their order: what an exact replay follows.

Inputs: a labelled window, the size of a line, by how many bytes each logical section has moved
since, and which sections are cached. Outputs: :class:`LineSequence`, line numbers with the section
that each use belongs to. What is used of sections that are not cached is left out.

Code: the lines of each executed instruction; with ``in_vain`` also of what is fetched in vain
(``vain``) behind it. A core may or may not load the latter, so the lines of executed
instructions alone are the floor. What is no known code may send the fetch unit anywhere; that is in
neither.

Data: the lines of each access, told apart by whether it stores; of unknown direction it counts as
a load. What hardware reads by itself (exception frames, vectors) has no address in a trace, and is
in no sequence.

What else ran inside a window is an activity of its own, and is not followed. Where the models count
with it, for it may have taken all lines away, the cache is taken to be empty: of code behind a
supervisor call, of data behind a place at which another thread or a handler ran.

Caveat: an interrupt, or another thread that was switched in without a supervisor call, leaves the
lines of code where they are here, as the models say.

A line that is used again right away is there, so it is told once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.labelled import Labelled
from wcetchar.analysis.line_entries import NEAR
from wcetchar.analysis.published_lines import Places
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.used_lines import DataUse
from wcetchar.counting.columns import FLOW, Codes, Columns
from wcetchar.counting.vain import FetchedInVain
from wcetchar.model.instruction import Flow

_NONE: Final = -1
Flags = npt.NDArray[np.bool_]
_Line = tuple[int, int]
"""Number and section."""


@dataclass(frozen=True)
class LineSequence:
    """Parallel columns. ``line``: numbers, where the sections lie now; ``section``: number of the
    logical section; ``stores``; ``emptied``: positions before which the cache is taken to be
    empty."""

    line: Codes
    section: Codes
    stores: Flags
    emptied: tuple[int, ...]


class CodeLines:
    """Of windows of one image, what is fetched."""

    def __init__(
        self, resolved: Resolved, size: int, moved: Mapping[str, int], cached: Collection[str]
    ) -> None:
        """``size``: bytes of a line; ``moved``: section -> bytes, of those that have."""
        self._size = size
        self._columns = Columns(resolved.table)
        self._vain = FetchedInVain(resolved.table)
        self._section_of = resolved.code_section.astype(np.int64)
        self._moved, self._cached = _by_section(resolved, moved, cached)
        self._numbers = {name: number for number, name in enumerate(resolved.section_names)}
        self._places = Places(resolved)
        self._known: dict[int, list[_Line]] = {}
        """By 2 * table index + taken: what is fetched in vain."""

    def of(self, labelled: Labelled, *, in_vain: bool) -> LineSequence:
        """What a window fetches, with what it fetches ``in_vain`` or without."""
        index, fetches = labelled.index, labelled.fetches
        section = self._section_of[index]
        start, end = (one + self._moved[section] for one in (fetches.start, fetches.end))
        first, last = start // self._size, (end - 1) // self._size
        cached = self._cached[section]
        lines = [np.where(cached, first, _NONE)]
        lines += [np.where(cached & (last != first), last, _NONE)]
        sections = [section, section]
        if in_vain:
            pairs, inverse = np.unique(2 * index + labelled.taken, return_inverse=True)
            each = [self._in_vain(pair) for pair in pairs.tolist()]
            for number in range(max(map(len, each))):
                column = [
                    found[number] if number < len(found) else (_NONE, _NONE) for found in each
                ]
                line, of = np.array(column, dtype=np.int64).T
                lines.append(line[inverse])
                sections.append(of[inverse])
        calls = self._columns.flow[index] == FLOW[Flow.SUPERVISOR_CALL]
        return _sequence(
            np.stack(lines, axis=1),
            np.stack(sections, axis=1),
            np.zeros(len(index), dtype=bool),
            np.flatnonzero(calls) + 1,
        )

    def _in_vain(self, pair: int) -> list[_Line]:
        if pair not in self._known:
            self._known[pair] = self._found(pair >> 1, bool(pair & 1))
        return self._known[pair]

    def _found(self, index: int, taken: bool) -> list[_Line]:
        behind = self._columns.table.instructions[index].end
        found: list[_Line] = []
        for start, end in self._vain.of(index, taken).ranges:
            # What follows an instruction stays with it, as in what is published.
            section = int(self._section_of[index])
            if not 0 <= start - behind < NEAR:
                section = self._numbers[self._places.section_at(start)]
            if not self._cached[section]:
                continue
            moved = int(self._moved[section])
            first, last = start + moved, end - 1 + moved
            lines = range(first // self._size, last // self._size + 1)
            found.extend((line, section) for line in lines)
        return found


class DataLines:
    """Of windows of one image, what is loaded and stored."""

    def __init__(
        self, resolved: Resolved, size: int, moved: Mapping[str, int], cached: Collection[str]
    ) -> None:
        """As :class:`CodeLines`."""
        self._size = size
        self._moved, self._cached = _by_section(resolved, moved, cached)

    def of(self, use: DataUse) -> LineSequence:
        """What a window uses."""
        touched, section = use.touched, use.touched.section
        first, last = (
            (one + self._moved[section]) // self._size for one in (touched.first, touched.last)
        )
        cached = self._cached[section]
        lines = [np.where(cached, first, _NONE), np.where(cached & (last != first), last, _NONE)]
        apart = np.array([cut for cut in use.apart if cut > 0], dtype=np.int64)
        cuts = np.searchsorted(touched.owner, apart)
        return _sequence(
            np.stack(lines, axis=1),
            np.stack([section, section], axis=1),
            np.asarray(touched.stores),
            cuts,
        )


def _by_section(
    resolved: Resolved, moved: Mapping[str, int], cached: Collection[str]
) -> tuple[Codes, Flags]:
    names = resolved.section_names
    return (
        np.array([moved.get(name, 0) for name in names], dtype=np.int64),
        np.array([name in cached for name in names], dtype=bool),
    )


def _sequence(lines: Codes, sections: Codes, stores: Flags, emptied: Codes) -> LineSequence:
    """Row by row, without what is nothing or the line before it once more. ``emptied``: rows."""
    used = lines != _NONE
    line, section = lines[used], sections[used]
    stored = np.broadcast_to(stores[:, None], lines.shape)[used]
    begins = np.append(0, np.cumsum(used.sum(axis=1)))
    cuts = np.unique(begins[emptied])
    cuts = cuts[cuts < len(line)]
    kept = np.ones(len(line), dtype=bool)
    # A store brings nothing in: the line may not be there for the load behind it.
    kept[1:] = (line[1:] != line[:-1]) | (stored[:-1] & ~stored[1:])
    kept[cuts] = True
    before = np.append(0, np.cumsum(kept))
    return LineSequence(line[kept], section[kept], stored[kept], tuple(before[cuts].tolist()))
