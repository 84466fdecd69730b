"""Which lines of a data cache a window uses, and how often each may have to be loaded.

Inputs: the data accesses of a window in their order, the logical section of each address (that in
which it lies, also where an instruction accesses one of several), and the places behind which
another thread or a handler ran. Nothing here depends on a cache but the size of its lines.

For each line:

* *loads*: line loads of a set that holds one line (``line_loads``). A line that any cache holds
  is loaded no more often, for in between nothing else was loaded.
* *fresh*: those of them that come first, in the window or behind such a place. Where all lines
  that the window uses have room in the cache, it loads no other.

And of two lines whose distance is a multiple of ``APART`` bytes, so that they may well share a set:

* *behind*: how often the one is loaded where the other one was loaded since its last load, without
  such a place in between. If all that a set holds is told so, a line of it misses no more often
  than its fresh loads and the sum of these over the others: who is loaded again and is not there
  was taken away by another load, of its set, since. That holds for any number of ways, and wherever
  the lines lie.

Lines that are stored to alone have neither; they are told because a store may count as a use of
what a set holds. A line in which two sections meet, or rather what is used of it, is one of each.
Of what hardware reads by itself (exception frames, vectors) no address is known: counted are its
words, each of which may be a line of its own.

Two windows together: of each line, and of each two, the most of both.

Soundness: as that of ``line_loads``; and lines that several windows use at the same values of
parameters need not be used by one of them, so that what is told may be more than any.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.cases import Point
from wcetchar.counting.columns import Codes
from wcetchar.model.cache import APART
from wcetchar.model.characterization import DataFootprint, LineBehind, UsedLine, UsedLines

Words = tuple[int, int, int]
"""Section, how many, and the position at which hardware reads them."""
_Line = tuple[int, int, int]
"""Size, section, number."""
_Pair = tuple[int, int, int]
"""Size, the number of a line that is loaded, and that of one that was loaded since."""


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
    """What was used. ``lines``: loads and fresh ones of each; ``behind``: of two that may share a
    set; ``words``: that hardware read by itself, by section; ``apart``: places behind which
    something else ran."""

    lines: dict[_Line, tuple[int, int]] = field(default_factory=dict)
    words: Counter[int] = field(default_factory=Counter)
    apart: int = 0
    behind: Counter[_Pair] = field(default_factory=Counter)

    def include(self, other: Used) -> None:
        """The most of both, line by line."""
        for line, (loads, fresh) in other.lines.items():
            mine = self.lines.get(line, (0, 0))
            self.lines[line] = max(mine[0], loads), max(mine[1], fresh)
        self.words |= other.words
        self.behind |= other.behind
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
            _follow(size, each, found)
        return found


def _follow(size: int, accesses: Iterable[tuple[int, int, int, bool, int]], found: Used) -> None:
    """Adds what these use, in lines of ``size`` bytes."""
    loads, fresh = Counter[int](), Counter[int]()
    sections: dict[int, set[int]] = {}
    latest: tuple[int, int] | None = None
    last: dict[int, dict[int, int]] = {}
    """Of lines that may share a set: when each was loaded last, behind what else ran."""
    now, step = 0, _step(size)
    for first, end, section, stores, piece in accesses:
        for line in range(first, end + 1):
            sections.setdefault(line, set()).add(section)
            here = piece, line
            if stores or here == latest:
                continue
            if latest is not None and latest[0] != piece:
                last.clear()
            loads[line] += 1
            latest, now = here, now + 1
            together = last.setdefault(line % step, {})
            before = together.get(line)
            if before is None:
                fresh[line] += 1
            else:
                found.behind.update(
                    (size, line, other) for other, when in together.items() if when > before
                )
            together[line] = now
    for line, names in sections.items():
        for section in names:
            found.lines[size, section, line] = loads[line], fresh[line]


def _step(size: int) -> int:
    """Lines that are so many apart may share a set."""
    return APART // size


def published_use(used: Used, names: Sequence[str], begins: Mapping[str, int]) -> UsedLines:
    """``begins``: section -> the address that its lines are counted from."""

    def number(section: int, line: int, size: int) -> int:
        return line - begins[names[section]] // size

    lines = sorted(
        UsedLine(size, names[section], number(section, line, size), loads, fresh)
        for (size, section, line), (loads, fresh) in used.lines.items()
    )
    words = sorted((names[section], many) for section, many in used.words.items())
    behind = sorted(
        LineBehind(
            size,
            (names[section], number(section, line, size)),
            (names[of_other], number(of_other, other, size)),
            times,
        )
        for size, (section, line), (of_other, other), times in _pairs(used)
    )
    return UsedLines(tuple(lines), tuple(words), used.apart, tuple(behind))


def _pairs(used: Used) -> Iterator[tuple[int, tuple[int, int], tuple[int, int], int]]:
    """Of lines that may share a set, size, section and number of each two, where the one is not
    loaded again behind each load of the other. One of several sections is told as one of each."""
    together: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    for (size, section, line), (loads, fresh) in used.lines.items():
        if loads:
            group = together.setdefault((size, line % _step(size)), [])
            group.append((section, line, loads, fresh))
    for (size, _), group in together.items():
        for section, line, loads, fresh in group:
            for of_other, other, its_loads, _ in group:
                times = used.behind[size, line, other]
                if other != line and loads > fresh and times < its_loads:
                    yield size, (section, line), (of_other, other), times


def published_footprints(
    observed: Mapping[Point, Used], names: Sequence[str], begins: Mapping[str, int]
) -> tuple[DataFootprint, ...]:
    """What was used at each point of a service's parameters; points with the same, together."""
    together: dict[UsedLines, list[Point]] = {}
    for point, used in sorted(observed.items()):
        together.setdefault(published_use(used, names, begins), []).append(point)
    return tuple(DataFootprint(tuple(points), used) for used, points in together.items())
