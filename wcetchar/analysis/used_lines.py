"""Which lines of a data cache a window uses, and how often each may have to be loaded.

Inputs: the data accesses of a window in their order, the logical section of each address (that in
which it lies, also where an instruction accesses one of several), and the places behind which
another thread or a handler ran. Nothing here depends on a cache but the size of its lines.

For each line:

* *loads*: line loads of a set that holds one line (``line_loads``). A line that any cache holds
  is loaded no more often, for in between nothing else was loaded.
* *fresh*: those of them that come first, in the window or behind such a place. Where all lines
  that the window uses have room in the cache, it loads no other.

Lines that are stored to alone have neither; they are told because a store may count as a use of
what a set holds. A line in which two sections meet, or rather what is used of it, is one of each.
Of what hardware reads by itself (exception frames, vectors) no address is known: counted are its
words, each of which may be a line of its own.

Two windows together: of each line, the most of both.

Soundness: as that of ``line_loads``; and lines that several windows use at the same values of
parameters need not be used by one of them, so that what is told may be more than any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.cases import Point
from wcetchar.analysis.columns import Codes
from wcetchar.model.characterization import DataFootprint, UsedLine, UsedLines

Words = tuple[int, int, int]
"""Section, how many, and the position at which hardware reads them."""
_Line = tuple[int, int, int]
"""Size, section, number."""


@dataclass(frozen=True)
class Touched:
    """Data accesses in their order: ``owner``, the instruction that made it; ``first`` and ``last``
    byte; whether it ``stores`` (an access of unknown direction may load, and does not count as
    one that does); the ``section`` that it lies in."""

    owner: Codes
    first: Codes
    last: Codes
    stores: npt.NDArray[np.bool_]
    section: Codes


@dataclass
class Used:
    """What was used. ``lines``: loads and fresh ones of each; ``words``: that hardware read by
    itself, by section; ``apart``: places behind which something else ran."""

    lines: dict[_Line, tuple[int, int]] = field(default_factory=dict)
    words: Counter[int] = field(default_factory=Counter)
    apart: int = 0

    def include(self, other: Used) -> None:
        """The most of both, line by line."""
        for line, (loads, fresh) in other.lines.items():
            mine = self.lines.get(line, (0, 0))
            self.lines[line] = max(mine[0], loads), max(mine[1], fresh)
        self.words |= other.words
        self.apart = max(self.apart, other.apart)


class DataUse:
    """The data accesses of one window, to be asked for what all of it or a part of it uses."""

    def __init__(
        self,
        sizes: Sequence[int],
        touched: Touched,
        apart: Collection[int],
        words: Iterable[Words],
    ) -> None:
        """
        Args:
            sizes: bytes of a line, of as many as are wanted.
            apart: positions before which another thread or a handler ran.
            words: that hardware reads by itself.
        """
        self._sizes = tuple(sorted(set(sizes)))
        self.touched = touched
        self.apart = sorted(apart)
        self.words = tuple(words)

    def used(self, first: int, last: int) -> Used:
        """What the instructions first..last use, as if the first of them began with nothing."""
        touched = self.touched
        inside = slice(*np.searchsorted(touched.owner, [first, last + 1]).tolist())
        cuts = [cut for cut in self.apart if first < cut <= last]
        found = Used(apart=len(cuts))
        for section, number, position in self.words:
            if number and first <= position <= last:
                found.words[section] += number
        piece = np.searchsorted(cuts, touched.owner[inside], side="right").tolist()
        stores, sections = touched.stores[inside].tolist(), touched.section[inside].tolist()
        for size in self._sizes:
            begins, ends = (touched.first[inside] // size), (touched.last[inside] // size)
            each = zip(begins.tolist(), ends.tolist(), sections, stores, piece, strict=True)
            found.lines.update(_followed(size, each))
        return found


def _followed(
    size: int, accesses: Iterable[tuple[int, int, int, bool, int]]
) -> dict[_Line, tuple[int, int]]:
    loads, fresh = Counter[int](), Counter[int]()
    sections: dict[int, set[int]] = {}
    latest: tuple[int, int] | None = None
    seen: set[tuple[int, int]] = set()
    for first, last, section, stores, piece in accesses:
        for line in range(first, last + 1):
            sections.setdefault(line, set()).add(section)
            if stores:
                continue
            here = piece, line
            if here != latest:
                loads[line] += 1
            if here not in seen:
                fresh[line] += 1
                seen.add(here)
            latest = here
    return {
        (size, section, line): (loads[line], fresh[line])
        for line, found in sections.items()
        for section in found
    }


def published_use(used: Used, names: Sequence[str], begins: Mapping[str, int]) -> UsedLines:
    """``begins``: section -> the address that its lines are counted from."""
    lines = sorted(
        UsedLine(size, names[section], line - begins[names[section]] // size, loads, fresh)
        for (size, section, line), (loads, fresh) in used.lines.items()
    )
    words = sorted((names[section], number) for section, number in used.words.items())
    return UsedLines(tuple(lines), tuple(words), used.apart)


def published_footprints(
    observed: Mapping[Point, Used], names: Sequence[str], begins: Mapping[str, int]
) -> tuple[DataFootprint, ...]:
    """What was used at each point of a service's parameters; points with the same, together."""
    together: dict[UsedLines, list[Point]] = {}
    for point, used in sorted(observed.items()):
        together.setdefault(published_use(used, names, begins), []).append(point)
    return tuple(DataFootprint(tuple(points), used) for used, points in together.items())
