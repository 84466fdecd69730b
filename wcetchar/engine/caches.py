"""Caches: which fetches and loads miss.

*Replay* (:func:`replay`, :func:`replay_loads`) follows a sequence of lines through a cache exactly;
it is for comparison, since an integrator has no trace.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Final

from wcetchar.model.cache import CacheGeometry

if TYPE_CHECKING:  # of replays alone; prices need none
    import numpy as np
    import numpy.typing as npt

    Lines = npt.NDArray[np.int64]

_UNTOLD: Final[Mapping[tuple[int, int], int]] = {}


def replay(
    geometry: CacheGeometry, lines: Lines, emptied: Collection[int] = ()
) -> npt.NDArray[np.bool_]:
    """Which of a sequence of line numbers miss, one flag for each.

    The cache is empty before the first, and before those at the positions ``emptied``. A line that
    misses is loaded, into the place of the one of its set that was used longest ago.
    """
    import numpy as np

    sets: list[list[int]] = [[] for _ in range(geometry.sets)]
    missed = np.zeros(len(lines), dtype=bool)
    at = frozenset(emptied)
    ways = geometry.ways
    for position, line in enumerate(lines.tolist()):
        if position in at:
            sets = [[] for _ in range(geometry.sets)]
        held = sets[line % geometry.sets]
        if held and held[-1] == line:
            continue
        if line in held:
            held.remove(line)
        else:
            missed[position] = True
            if len(held) == ways:
                del held[0]
        held.append(line)
    return missed


def replay_loads(
    geometry: CacheGeometry,
    lines: Lines,
    stores: npt.NDArray[np.bool_],
    emptied: Collection[int] = (),
    *,
    stores_use: bool = True,
) -> npt.NDArray[np.bool_]:
    """Which of a sequence of loads and stores are loads that miss, one flag for each.

    As :func:`replay`, of a cache that loads fill and stores go through: a store brings no line in.
    ``stores_use``: one to a line that is there counts as a use of it.
    """
    import numpy as np

    sets: list[list[int]] = [[] for _ in range(geometry.sets)]
    missed = np.zeros(len(lines), dtype=bool)
    at = frozenset(emptied)
    ways = geometry.ways
    for position, (line, stored) in enumerate(zip(lines.tolist(), stores.tolist(), strict=True)):
        if position in at:
            sets = [[] for _ in range(geometry.sets)]
        held = sets[line % geometry.sets]
        if line in held:
            if stores_use or not stored:
                held.remove(line)
                held.append(line)
        elif not stored:
            missed[position] = True
            if len(held) == ways:
                del held[0]
            held.append(line)
    return missed


def fitting(geometry: CacheGeometry, lines: Iterable[int]) -> list[int]:
    """Of these lines, those of sets that have room for all of them, in order."""
    sets = _by_set(geometry, sorted(set(lines)))
    return sorted(n for found in sets.values() if len(found) <= geometry.ways for n in found)


def cold_misses(
    geometry: CacheGeometry,
    entries: Mapping[int, int],
    replaced: int = 0,
    behind: Mapping[tuple[int, int], int] = _UNTOLD,
) -> dict[int, int]:
    """How often each line misses at most, whatever the cache holds before.

    ``entries``: line number -> how often it is entered. A line of a set that all its lines fit
    into misses once. Else as many other lines of its set as that has ways were entered since::

        misses(a) <= min(entries(a), 1 + sum of behind(a, b) / ways), rounded down
                     b: the other lines of its set

    ``behind``: of two lines, how many entries of the first have the second between them and the one
    before. There is an entry of b between for each, so never more than entries(b), nor that often
    if it is not told. ``replaced``: how often something else replaces lines meanwhile; so often
    more it misses.
    """
    sets = _by_set(geometry, entries)
    found = {}
    for lines in sets.values():
        fits = len(lines) <= geometry.ways
        for line in lines:
            others = 0
            if not fits:
                often = ((other, entries[other]) for other in lines if other != line)
                others = sum(min(behind.get((line, b), times), times) for b, times in often)
            found[line] = min(entries[line], 1 + others // geometry.ways + replaced)
    return found


def warm_misses(
    geometry: CacheGeometry,
    entries: Mapping[int, int],
    replaced: int = 0,
    behind: Mapping[tuple[int, int], int] = _UNTOLD,
) -> dict[int, int]:
    """The same where all lines were used before, and nothing else was since then: what fits is
    there until it is replaced; lines of a set that is too small for them miss as in a cold one."""
    sets = _by_set(geometry, entries)
    cold = cold_misses(geometry, entries, replaced, behind)
    return {
        line: min(entries[line], replaced) if len(lines) <= geometry.ways else cold[line]
        for lines in sets.values()
        for line in lines
    }


def fits(geometry: CacheGeometry, lines: Iterable[int], beside: int = 0) -> bool:
    """No set gets more of these lines than it has ways, with ``beside`` others in any one set."""
    fullest = max((len(found) for found in _by_set(geometry, lines).values()), default=0)
    return fullest + beside <= geometry.ways


def _by_set(geometry: CacheGeometry, lines: Iterable[int]) -> dict[int, list[int]]:
    sets: dict[int, list[int]] = defaultdict(list)
    for line in lines:
        sets[geometry.set_of(line)].append(line)
    return sets
