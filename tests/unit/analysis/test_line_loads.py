"""Line loads by hand, and against caches that are followed access by access."""

from __future__ import annotations

import random
from collections import Counter

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.analysis.data_accesses import Accesses
from wcetchar.analysis.labelled import Rows
from wcetchar.analysis.line_loads import LineLoads
from wcetchar.counting.columns import key_of
from wcetchar.model.access import LINE_LOADS, WAYS_OF_LINE_LOADS, CoreEvent
from wcetchar.model.trace import Event

READ, WRITE = int(Event.READ), int(Event.WRITE)
LINE = 32
Access = tuple[int, int, int]
"""Kind, address, bytes. Each is made by an instruction of its own."""


def ints(values: list[int]) -> npt.NDArray[np.int64]:
    return np.array(values, dtype=np.int64)


def counted(
    accesses: list[Access],
    *,
    apart: list[int] | None = None,
    blocked: list[int] | None = None,
    owners: list[int] | None = None,
    transfers: set[int] | None = None,
    near: bool = False,
) -> dict[str, int]:
    owner = owners or list(range(len(accesses)))
    count = max(owner, default=-1) + 1
    rows = Rows(np.zeros(count, dtype=np.int64), np.arange(count))
    kinds, addresses, sizes = (ints([a[n] for a in accesses]) for n in range(3))
    LineLoads([LINE]).add(
        Accesses(ints(owner), kinds, addresses, sizes),
        np.zeros(len(accesses), dtype=np.int64),
        apart or [],
        blocked or [],
        np.array([n in (transfers or set()) for n in range(count)], dtype=bool),
        np.full(count, near),
        rows,
    )
    found: Counter[str] = Counter()
    for code in rows.so_far()[0].tolist():
        key = key_of(code, ("data",))
        assert isinstance(key, CoreEvent)
        assert key.section == "data"
        found[key.kind.value] += 1
    return dict(found)


def loads(*lines: int) -> list[Access]:
    return [(READ, line * LINE, 4) for line in lines]


def test_a_line_is_loaded_once_while_nothing_else_is() -> None:
    found = counted([*loads(1, 1), (READ, LINE + 28, 4), (READ, LINE + 31, 1)])
    assert found == {"line load 32 x1": 1, "line load 32 x2": 1, "line load 32 x4": 1}


def test_two_lines_by_turns_miss_where_a_set_holds_one() -> None:
    found = counted(loads(1, 2, 1, 2, 1))
    assert found == {"line load 32 x1": 5, "line load 32 x2": 2, "line load 32 x4": 2}


def test_of_four_lines_in_a_round_a_set_of_four_keeps_all() -> None:
    found = counted(loads(1, 2, 3, 4, 1, 2, 3, 4))
    assert found == {"line load 32 x1": 8, "line load 32 x2": 8, "line load 32 x4": 4}
    found = counted(loads(1, 2, 3, 4, 5, 1))
    assert found == {"line load 32 x1": 6, "line load 32 x2": 6, "line load 32 x4": 6}


def test_a_store_loads_nothing_but_may_use_what_is_there() -> None:
    stores = [(WRITE, line * LINE, 4) for line in (2, 3, 4)]
    found = counted([*loads(1), *stores, *loads(1)])
    assert found == {"line load 32 x1": 1, "line load 32 x2": 1, "line load 32 x4": 1}
    # 2 is younger than 1 when 5 comes, if the store used it.
    found = counted([*loads(2, 1), (WRITE, 2 * LINE, 4), *loads(5, 1)])
    assert found == {"line load 32 x1": 4, "line load 32 x2": 4, "line load 32 x4": 3}


def test_an_access_across_two_lines_is_one_of_each() -> None:
    assert counted([(READ, LINE - 2, 4)])["line load 32 x1"] == 2


def test_what_another_thread_may_have_replaced_is_loaded_again() -> None:
    assert counted(loads(1, 1, 1), apart=[2])["line load 32 x1"] == 2


def test_what_is_blocked_begins_with_nothing() -> None:
    found = counted(loads(1, 1, 1), blocked=[1])
    assert found["line load 32 x1"] == 1
    assert found["line load 32 x1 emptied"] == 1
    found = counted(loads(1, 2, 1, 1), blocked=[2])
    assert found == {
        "line load 32 x1": 3,
        "line load 32 x2": 2,
        "line load 32 x2 emptied": 1,
        "line load 32 x4": 2,
        "line load 32 x4 emptied": 1,
    }


@pytest.mark.parametrize(
    ("between", "transfers", "expected"),
    [
        (0, set(), {"load behind store": 1}),
        (1, set(), {"second load behind store": 1}),
        (1, {1}, {}),
        (2, set(), {}),
    ],
)
def test_a_load_behind_a_store_to_the_same_bytes(
    between: int, transfers: set[int], expected: dict[str, int]
) -> None:
    found = counted([(WRITE, 8, 4), (READ, 10, 2)], owners=[0, between + 1], transfers=transfers)
    assert {k: v for k, v in found.items() if "behind" in k} == expected
    found = counted(
        [(WRITE, 8, 4), (READ, 10, 2)], owners=[0, between + 1], transfers=transfers, near=True
    )
    both = {f"{kind} near": times for kind, times in expected.items()}
    assert {k: v for k, v in found.items() if "behind" in k} == both
    other = counted([(WRITE, 8, 2), (READ, 10, 2)], owners=[0, between + 1])
    assert not any("behind" in kind for kind in other)


# ---- caches, followed ----------------------------------------------------------------------------


class Cache:
    """Read-allocate; ``used``: a store that finds its line counts as a use."""

    def __init__(self, sets: int, ways: int, policy: str, used: bool, seed: int) -> None:
        self.sets, self.ways, self.policy, self.used = sets, ways, policy, used
        self.random = random.Random(seed)
        self.held: list[list[int]] = []
        self.scramble()

    def scramble(self) -> None:
        """Anything, as somebody else left it; at worst nothing that is of use."""
        self.held = [[] for _ in range(self.sets)]
        for number in range(self.sets):
            lines = self.random.sample(range(40), self.random.randrange(self.ways + 1))
            self.held[number] = [line * self.sets + number for line in lines]

    def access(self, kind: int, line: int) -> bool:
        """Did a load miss?"""
        lines = self.held[line % self.sets]
        if line in lines:
            if self.policy == "lru" and (kind == READ or self.used):
                lines.remove(line)
                lines.append(line)
            return False
        if kind == WRITE:
            return False
        if len(lines) >= self.ways:
            lines.pop(self.random.randrange(len(lines)) if self.policy == "random" else 0)
        lines.append(line)
        return True


ACCESSES = st.lists(
    st.tuples(
        st.sampled_from([READ, READ, WRITE]), st.integers(0, 7 * LINE), st.sampled_from([1, 2, 4])
    ),
    max_size=60,
)
PLACES = st.lists(st.integers(0, 59), max_size=4)


@given(
    accesses=ACCESSES,
    moved=st.integers(0, 12),
    sets=st.sampled_from([1, 2, 4, 8]),
    ways=st.sampled_from([1, 2, 3, 4, 6]),
    policy=st.sampled_from(["lru", "fifo", "random"]),
    used=st.booleans(),
    apart=PLACES,
    blocked=PLACES,
    seed=st.integers(0, 1000),
)
def test_no_cache_misses_more_often(
    accesses: list[Access],
    moved: int,
    sets: int,
    ways: int,
    policy: str,
    used: bool,
    apart: list[int],
    blocked: list[int],
    seed: int,
) -> None:
    """Whatever it held before, and wherever each line lies. Only with LRU more ways help."""
    found = counted(accesses, apart=apart, blocked=blocked)
    known = max(w for w in WAYS_OF_LINE_LOADS if w <= ways) if policy == "lru" else 1
    loaded, more = (found.get(kind.value, 0) for kind in LINE_LOADS[LINE, known])
    where = random.Random(seed).sample(range(100), 9)  # lines keep apart, but nothing else
    for emptied, most in ((False, loaded), (True, loaded + more)):
        cache = Cache(sets, ways, policy, used, seed + moved)
        misses = 0
        for position, (kind, address, size) in enumerate(accesses):
            if position in apart or (emptied and position in blocked):
                cache.scramble()
            for line in range(address // LINE, (address + size - 1) // LINE + 1):
                misses += cache.access(kind, where[line])
        assert misses <= most


@given(accesses=ACCESSES)
def test_a_cache_of_one_set_misses_just_as_often(accesses: list[Access]) -> None:
    """So the counts are no larger than they have to be: with lines that all fall into one set, and
    uses by stores."""
    found = counted(accesses)
    for ways in WAYS_OF_LINE_LOADS:
        cache = Cache(1, ways, "lru", True, 0)
        cache.held = [[]]
        lines = [
            (kind, line)
            for kind, address, size in accesses
            for line in range(address // LINE, (address + size - 1) // LINE + 1)
        ]
        misses = sum(cache.access(kind, line) for kind, line in lines)
        assert misses <= found.get(LINE_LOADS[LINE, ways][0].value, 0)
        if all(kind == READ for kind, _ in lines):
            assert misses == found.get(LINE_LOADS[LINE, ways][0].value, 0)
