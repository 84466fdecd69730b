"""Exact replay against a second cache, which knows of each line only when it was used last."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.engine.caches import fitting, replay, replay_loads
from wcetchar.model.cache import CacheGeometry

geometries = st.builds(CacheGeometry, st.just(16), st.sampled_from([1, 2, 4, 8]), st.integers(1, 4))
lines = st.lists(st.integers(0, 23), max_size=80)


class Stamped:
    """A dictionary of all lines that are held, with the time of their last use; of a full set the
    smallest time goes."""

    def __init__(self, geometry: CacheGeometry, stores_use: bool) -> None:
        self._geometry, self._stores_use = geometry, stores_use
        self._used: dict[int, int] = {}
        self._now = 0

    def access(self, line: int, store: bool) -> bool:
        """It is a load that misses."""
        self._now += 1
        if line in self._used:
            if not store or self._stores_use:
                self._used[line] = self._now
            return False
        if store:
            return False
        same = [x for x in self._used if (x - line) % self._geometry.sets == 0]
        if len(same) >= self._geometry.ways:
            del self._used[min(same, key=self._used.__getitem__)]
        self._used[line] = self._now
        return True

    def empty(self) -> None:
        self._used.clear()


@given(
    geometries,
    lines,
    st.lists(st.booleans(), max_size=80),
    st.booleans(),
    st.sets(st.integers(0, 80)),
)
def test_loads_and_stores(
    geometry: CacheGeometry,
    used: list[int],
    stored: list[bool],
    stores_use: bool,
    emptied: set[int],
) -> None:
    stores = (stored + [False] * len(used))[: len(used)]
    cache, missed = Stamped(geometry, stores_use), []
    for position, (line, store) in enumerate(zip(used, stores, strict=True)):
        if position in emptied:
            cache.empty()
        missed.append(cache.access(line, store))
    found = replay_loads(
        geometry,
        np.array(used, dtype=np.int64),
        np.array(stores, dtype=bool),
        emptied,
        stores_use=stores_use,
    )
    assert found.tolist() == missed


@given(geometries, lines, st.sets(st.integers(0, 80)))
def test_fetches(geometry: CacheGeometry, used: list[int], emptied: set[int]) -> None:
    cache, missed = Stamped(geometry, stores_use=True), []
    for position, line in enumerate(used):
        if position in emptied:
            cache.empty()
        missed.append(cache.access(line, store=False))
    assert replay(geometry, np.array(used, dtype=np.int64), emptied).tolist() == missed


@given(geometries, lines)
def test_what_fits_is_there_the_second_time(geometry: CacheGeometry, used: list[int]) -> None:
    """From a cache with what fits, no line of it misses; the others miss as often as from an empty
    one, and no less often than when the window is replayed twice."""
    held = fitting(geometry, used)
    sequence = np.array([*held, *used], dtype=np.int64)
    warm = replay(geometry, sequence)[len(held) :]
    cold = replay(geometry, np.array(used, dtype=np.int64))
    twice = replay(geometry, np.array([*used, *used], dtype=np.int64))[len(used) :]
    for line, from_warm, from_cold in zip(used, warm.tolist(), cold.tolist(), strict=True):
        assert from_warm == (from_cold and line not in held)
    assert twice.sum() <= warm.sum() <= cold.sum()
