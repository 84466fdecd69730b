"""Lines that take turns: by hand, by definition, and caches that no run may miss more often in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.analysis.line_turns import Turns, turns
from wcetchar.engine.caches import cold_misses, replay, warm_misses
from wcetchar.model.cache import APART, CacheGeometry

SIZE = 64
FAR = APART // SIZE
Entry = tuple[int, bool]
"""A line, and whether what it is entered for is executed."""
ENTRIES = st.lists(
    st.tuples(
        st.sampled_from([one + FAR * way for one in (0, 1) for way in range(4)]), st.booleans()
    ),
    min_size=1,
    max_size=40,
)


def found(entries: Sequence[Entry]) -> Turns:
    line, certain = (np.array(column) for column in zip(*entries, strict=True))
    return turns(line, certain, SIZE)


def sure(*lines: int) -> list[Entry]:
    return [(line, True) for line in lines]


def test_by_hand() -> None:
    assert found(sure(0, FAR, 0, 0, FAR, FAR)) == {(0, FAR): 1, (FAR, 0): 1}
    # A loop in the one, and then one in the other.
    assert found(sure(0, 1, 0, 1, 0, FAR, 1, FAR, 1, FAR)) == {}
    assert found(sure(0, FAR, 2 * FAR, 0)) == {(0, FAR): 1, (0, 2 * FAR): 1}


def test_what_is_fetched_in_vain_may_not_have_been() -> None:
    assert found([(0, True), (FAR, True), (0, False), (0, True)]) == {(0, FAR): 2}
    assert found([(0, True), (FAR, False), (0, True)]) == {(0, FAR): 1}
    # The first entry is one in any case, be it this one or the next.
    assert found([(FAR, True), (0, False), (0, True)]) == {}
    assert found([(0, False), (FAR, True), (0, True)]) == {(0, FAR): 1}


def test_lines_that_share_no_set_take_no_turns() -> None:
    assert found(sure(0, 1, 0, 1, FAR + 1, 0)) == {}
    assert turns(np.array([], dtype=np.int64), np.array([], dtype=bool), SIZE) == {}


@given(ENTRIES)
def test_by_definition(entries: list[Entry]) -> None:
    expected: Counter[tuple[int, int]] = Counter()
    for now, (line, _) in enumerate(entries):
        mine = [at for at in range(now) if entries[at][0] == line]
        certain = [at for at in mine if entries[at][1]]
        if not mine:
            continue
        begin = certain[-1] if certain else mine[0]
        for other in {one for one, _ in entries[begin + 1 : now]} - {line}:
            expected[line, other] += (other - line) % FAR == 0
    assert found(entries) == +expected


@given(
    ENTRIES,
    st.lists(st.booleans(), min_size=40, max_size=40),
    st.lists(st.sampled_from(range(4 * FAR)), max_size=10),
    st.sampled_from([1, 2, 4]),
    st.integers(1, 3),
    st.booleans(),
)
def test_no_cache_misses_more_often(
    entries: list[Entry],
    happens: list[bool],
    before: list[int],
    larger: int,
    ways: int,
    warm: bool,
) -> None:
    """Whichever lines are fetched in vain, and whatever the cache holds before."""
    geometry = CacheGeometry(SIZE, FAR * larger, ways)
    often = Counter(line for line, _ in entries)
    run = [one for (one, certain), does in zip(entries, happens, strict=False) if certain or does]
    model = warm_misses if warm else cold_misses
    begin = sorted(often) if warm else before
    missed = replay(geometry, np.array([*begin, *run], dtype=int))[len(begin) :]
    bound = model(geometry, often, behind=found(entries))
    for line in often:
        assert sum(missed[n] for n, one in enumerate(run) if one == line) <= bound[line]
    # Never more than without.
    assert all(bound[line] <= most for line, most in model(geometry, often).items())


@pytest.mark.parametrize(("ways", "misses"), [(1, 5), (2, 3), (3, 1)])
def test_of_several_ways_as_many_lines_have_to_come_in_between(ways: int, misses: int) -> None:
    """Three lines in turn, five times: of each the two others come before each entry."""
    lines = 5 * [0, FAR, 2 * FAR]
    bound = cold_misses(CacheGeometry(SIZE, FAR, ways), Counter(lines), behind=found(sure(*lines)))
    assert bound[0] == (5 if ways < 3 else 1) >= misses
