"""How often lines of an instruction cache take turns in a set.

Inputs: the line entries of a window in their order (``line_entries``), of lines of one size, and of
each whether what it is entered for is executed; what is fetched in vain may not be entered at all.
Output: of two lines l and k that may share a set, how often l is entered where k was since the last
entry of l that is certain. Before the first such, since the first entry of l.

Lines may share a set if they lie some multiple of ``APART`` bytes from each other; caches whose
ways are smaller have more such pairs, of which nothing is told.

Soundness: let an access of l miss that is not its first. Since the access of l before it, other
lines of its set were entered, as many as the cache has ways; this one is at or behind the last
certain entry of l, so each of them is counted at this entry. Holds for a fetch unit that asks for
lines in the order in which instructions execute, with what each fetches in vain right behind it
(``fetch_ahead``); what buffers of Arm cores fetch may come later, so there nothing is counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from wcetchar.counting.columns import Codes
from wcetchar.model.cache import APART

Turns = Counter[tuple[int, int]]
"""By line and other line: entries of the first behind the second."""


def turns(line: Codes, certain: npt.NDArray[np.bool_], size: int) -> Turns:
    """Of the entries of a window, in order.

    Args:
        line: number of the line that is entered, of ``size`` bytes.
        certain: what it is entered for is executed.
    """
    found: Turns = Counter()
    if len(line):
        sets = line % (APART // size)
        for one in _shared(line, sets):
            where = np.flatnonzero(sets == one)
            _follow(found, zip(line[where].tolist(), certain[where].tolist(), strict=True))
    return found


def _shared(line: Codes, sets: Codes) -> list[int]:
    """Sets with several lines, one of which is entered more than once."""
    _, first, often = np.unique(line, return_index=True, return_counts=True)
    of_set: dict[int, list[int]] = defaultdict(list)
    for one, times in zip(sets[first].tolist(), often.tolist(), strict=True):
        of_set[one].append(times)
    return [one for one, times in of_set.items() if len(times) > 1 and max(times) > 1]


def _follow(found: Turns, entries: Iterable[tuple[int, bool]]) -> None:
    """``entries``: of one set."""
    entered: dict[int, int] = {}
    since: dict[int, int] = {}
    for now, (line, certain) in enumerate(entries):
        if line in since:
            for other, at in entered.items():
                if other != line and at > since[line]:
                    found[line, other] += 1
        if certain or line not in since:
            since[line] = now
        entered[line] = now
