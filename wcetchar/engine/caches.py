"""Caches of instructions: which fetches miss.

*Replay* (:func:`replay`) follows a sequence of lines through a cache exactly; it is for comparison
with hardware, since an integrator has no trace.
"""

from __future__ import annotations

from collections.abc import Collection

import numpy as np
import numpy.typing as npt

from wcetchar.model.cache import CacheGeometry

Lines = npt.NDArray[np.int64]


def replay(
    geometry: CacheGeometry, lines: Lines, emptied: Collection[int] = ()
) -> npt.NDArray[np.bool_]:
    """Which of a sequence of line numbers miss, one flag for each.

    The cache is empty before the first, and before those at the positions ``emptied``. A line that
    misses is loaded, into the place of the one of its set that was used longest ago.
    """
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
