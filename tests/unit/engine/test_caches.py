"""Replay of lines through caches, against a cache that only knows when each line was used last."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.engine.caches import (
    cold_misses,
    fits,
    fitting,
    replay,
    replay_loads,
    warm_misses,
)
from wcetchar.model.cache import CacheGeometry


def test_direct_mapped_lines_of_one_set_replace_each_other() -> None:
    lines = np.array([0, 1, 1, 4, 0, 1, 5, 5])
    missed = replay(CacheGeometry(line=32, sets=4), lines)
    assert missed.tolist() == [True, True, False, True, True, False, True, False]


def test_of_two_ways_the_one_used_longest_ago_goes() -> None:
    lines = np.array([0, 4, 0, 8, 0, 4])
    missed = replay(CacheGeometry(line=32, sets=4, ways=2), lines)
    assert missed.tolist() == [True, True, False, True, False, True]


def test_an_emptied_cache_misses_again() -> None:
    missed = replay(CacheGeometry(line=16, sets=2), np.array([0, 1, 0, 1]), emptied=[2])
    assert missed.tolist() == [True, True, True, True]


def test_a_store_brings_no_line_in() -> None:
    stores = np.array([True, False, True, False, False])
    missed = replay_loads(CacheGeometry(line=32, sets=4), np.array([0, 0, 4, 0, 4]), stores)
    assert missed.tolist() == [False, True, False, False, True]


@pytest.mark.parametrize(("stores_use", "last"), [(True, False), (False, True)])
def test_a_store_may_count_as_a_use_of_a_line_that_is_there(stores_use: bool, last: bool) -> None:
    lines, stores = np.array([0, 4, 0, 8, 0]), np.array([False, False, True, False, False])
    geometry = CacheGeometry(line=32, sets=4, ways=2)
    missed = replay_loads(geometry, lines, stores, stores_use=stores_use)
    assert missed.tolist() == [True, True, False, True, last]


def test_what_fits_are_lines_of_sets_that_have_room_for_all() -> None:
    geometry = CacheGeometry(line=32, sets=4, ways=2)
    assert fitting(geometry, [5, 0, 4, 8, 1, 5, 1, 2]) == [1, 2, 5]
    assert fitting(geometry, []) == []


@given(
    st.lists(st.integers(0, 23), max_size=60),
    st.sampled_from([1, 2, 4]),
    st.integers(1, 3),
    st.sets(st.integers(0, 59)),
)
def test_a_line_is_there_if_few_others_of_its_set_came_since(
    lines: list[int], sets: int, ways: int, emptied: set[int]
) -> None:
    """Of LRU: a line hits if fewer than `ways` other lines of its set were used since it was."""
    missed = replay(
        CacheGeometry(line=16, sets=sets, ways=ways), np.array(lines, dtype=int), emptied
    )
    for at, line in enumerate(lines):
        begin = max([0, *(one for one in emptied if one <= at)])
        before = [i for i in range(begin, at) if lines[i] == line]
        others = (
            {x for x in lines[before[-1] + 1 : at] if x % sets == line % sets} if before else ()
        )
        assert missed[at] == (not before or len(others) >= ways)


@pytest.mark.parametrize(("line", "sets", "ways"), [(24, 4, 1), (32, 3, 1), (32, 4, 0), (0, 1, 1)])
def test_no_such_cache(line: int, sets: int, ways: int) -> None:
    with pytest.raises(ValueError, match=r"power of two|one way"):
        CacheGeometry(line, sets, ways)


@given(
    st.lists(st.integers(0, 23), min_size=1, max_size=60),
    st.lists(st.integers(0, 23), max_size=30),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 3),
)
def test_a_cold_cache_misses_no_more_than_that(
    lines: list[int], before: list[int], sets: int, ways: int
) -> None:
    """Whatever it holds before: the bound of each line against replay."""
    geometry = CacheGeometry(line=16, sets=sets, ways=ways)
    missed = replay(geometry, np.array([*before, *lines], dtype=int))[len(before) :]
    entries = Counter(line for line, last in zip(lines, [-1, *lines], strict=False) if line != last)
    bound = cold_misses(geometry, entries)
    for line in set(lines):
        assert sum(missed[n] for n, one in enumerate(lines) if one == line) <= bound[line]


@given(
    st.lists(st.integers(0, 23), min_size=1, max_size=60),
    st.randoms(use_true_random=False),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 3),
)
def test_a_warm_cache_misses_no_more_than_that(
    lines: list[int], order: random.Random, sets: int, ways: int
) -> None:
    """After the same lines in any order."""
    geometry = CacheGeometry(line=16, sets=sets, ways=ways)
    before = order.sample(sorted(set(lines)), len(set(lines)))
    missed = replay(geometry, np.array([*before, *lines], dtype=int))[len(before) :]
    entries = Counter(line for line, last in zip(lines, [-1, *lines], strict=False) if line != last)
    bound = warm_misses(geometry, entries)
    for line in set(lines):
        assert sum(missed[n] for n, one in enumerate(lines) if one == line) <= bound[line]


@given(
    st.lists(
        st.tuples(
            st.lists(st.integers(0, 15), min_size=1, max_size=20),
            st.lists(st.integers(0, 15), max_size=20),
        ),
        min_size=1,
        max_size=4,
    ),
    st.booleans(),
    st.sampled_from([1, 2, 4, 8]),
    st.integers(1, 3),
)
def test_what_handlers_replace_is_loaded_again(
    pieces: list[tuple[list[int], list[int]]], warm: bool, sets: int, ways: int
) -> None:
    """Each piece of own lines is followed by those of a handler."""
    geometry = CacheGeometry(line=16, sets=sets, ways=ways)
    own = [line for lines, _ in pieces for line in lines]
    sequence, mine = sorted(set(own)) if warm else [], []
    entries: Counter[int] = Counter()
    for lines, handler in pieces:
        mine += range(len(sequence), len(sequence) + len(lines))
        sequence += [*lines, *handler]
        entries.update(x for x, last in zip(lines, [-1, *lines], strict=False) if x != last)
    missed = replay(geometry, np.array(sequence, dtype=int))
    bound = (warm_misses if warm else cold_misses)(geometry, entries, len(pieces) - 1)
    for line in set(own):
        assert sum(missed[n] for n in mine if sequence[n] == line) <= bound[line]


def test_lines_that_share_a_set() -> None:
    geometry = CacheGeometry(line=32, sets=4)
    entries = {0: 5, 4: 2, 1: 7}
    assert cold_misses(geometry, entries) == {0: 3, 4: 2, 1: 1}
    assert warm_misses(geometry, entries) == {0: 3, 4: 2, 1: 0}
    assert not fits(geometry, entries)
    assert fits(CacheGeometry(line=32, sets=4, ways=2), entries)
