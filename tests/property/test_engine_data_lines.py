"""Loads that miss by the lines that are used, against caches that are followed access by access."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from wcetchar.analysis.used_lines import DataUse, Touched, published_use
from wcetchar.engine.data_lines import DataLinePrices
from wcetchar.model.access import LINE_LOADS
from wcetchar.model.cache import APART, CacheGeometry
from wcetchar.model.characterization import Counts, DataFootprint, ServiceCharacterization, Word
from wcetchar.model.interval import Interval
from wcetchar.model.section_map import CacheState
from wcetchar.model.service import ServiceKind

LINE = 16
SECTIONS = ("a", "b", "c")
BYTES = 6 * LINE


@dataclass(frozen=True)
class Access:
    section: int
    offset: int
    size: int
    store: bool


@dataclass(frozen=True)
class Layout:
    """``begins``: where each section was characterized; ``moved``: by how many lines it lies
    elsewhere now; ``said``: whether the map says so."""

    begins: tuple[int, ...]
    moved: tuple[int, ...]
    said: tuple[bool, ...]

    def now(self, section: int) -> int:
        return self.begins[section] + self.moved[section] * LINE


def _accesses(least: int, lines: int) -> st.SearchStrategy[list[Access]]:
    one = st.builds(
        Access,
        st.integers(0, 2),
        st.integers(0, lines * LINE - 4),
        st.sampled_from([1, 2, 4]),
        st.sampled_from([False, False, True]),
    )
    return st.lists(one, min_size=least, max_size=2 * least)


accesses = st.builds(
    _accesses, st.sampled_from([1, 3, 5, 8, 30]), st.sampled_from([1, 2, 6])
).flatmap(lambda strategy: strategy)
words = st.lists(st.integers(0, 60), max_size=2)
"""Lines that hardware reads before the first instruction."""
said = st.tuples(*[st.booleans()] * 3)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Sections one behind the other, or so far apart that they may share sets; moved as one, or
    each by itself, and none over another."""
    begins, moved = [], []
    together, far = draw(st.booleans()), draw(st.booleans())
    at, shift = draw(st.integers(0, LINE)), draw(st.integers(0, 40))
    for number in range(3):
        begins.append(at)
        moved.append(shift if together else shift + 100 * number + draw(st.integers(0, 7)))
        at += APART + draw(st.sampled_from([-LINE, 0, LINE])) if far else BYTES
        at += draw(st.integers(0, LINE))
        if not together:  # else the next one would share a line
            at = -(-at // LINE) * LINE + draw(st.integers(0, LINE))
    return Layout(tuple(begins), tuple(moved), draw(said))


def misses_of(
    geometry: CacheGeometry,
    found: list[Access],
    layout: Layout,
    cuts: set[int],
    before: list[int],
    first_read: list[int],
    *,
    stores_use: bool,
) -> int:
    """Followed through the cache; ``before``: lines that it holds, the oldest first;
    ``first_read``: by hardware. What runs at ``cuts`` takes all away."""
    sets: dict[int, list[int]] = {}

    def use(line: int, *, load: bool) -> bool:
        held = sets.setdefault(geometry.set_of(line), [])
        hit = line in held
        if hit and (load or stores_use):
            held.remove(line)
            held.append(line)
        if load and not hit:
            if len(held) == geometry.ways:
                del held[0]
            held.append(line)
        return hit

    for line in before:
        use(line, load=True)
    missed = sum(not use(line, load=True) for line in first_read)
    for number, one in enumerate(found):
        if number in cuts:
            sets.clear()
        first = layout.now(one.section) + one.offset
        for line in range(first // LINE, (first + one.size - 1) // LINE + 1):
            if not use(line, load=not one.store) and not one.store:
                missed += 1
    return missed


def priced(
    geometry: CacheGeometry,
    found: list[Access],
    layout: Layout,
    cuts: set[int],
    state: CacheState,
    first_read: int = 0,
) -> int:
    """By the lines that are used, each miss for one nanosecond."""

    def ints(values: list[int]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        return np.array(values, dtype=np.int64)

    begins = [layout.begins[one.section] + one.offset for one in found]
    touched = Touched(
        ints([*range(len(found))]),
        ints(begins),
        ints([b + one.size - 1 for b, one in zip(begins, found, strict=True)]),
        np.array([one.store for one in found], dtype=bool),
        ints([one.section for one in found]),
    )
    read = [(0, first_read, 0)]
    used = DataUse([LINE], touched, cuts, read).used(0, max(0, len(found) - 1))
    names = dict(zip(SECTIONS, layout.begins, strict=True))
    published = published_use(used, SECTIONS, names)
    service = ServiceCharacterization(
        "s",
        ServiceKind.CALL,
        Word.HIGH_WATER_MARK,
        (),
        Counts(()),
        data=(DataFootprint(((),), published),),
    )
    one_ns = Interval().up_to(1)
    prices = DataLinePrices(
        geometry,
        state,
        dict.fromkeys(SECTIONS, ("ram", one_ns)),
        {name: begin // LINE for name, begin in names.items()},
        {
            name: layout.now(number) // LINE
            for number, name in enumerate(SECTIONS)
            if layout.said[number]
        },
        (),
        {},
        LINE_LOADS[LINE, 1],
    )
    total = prices._time(prices._by_lines(published, state)).high
    assert prices.of(service, ()).total.high == 0  # the counts here are none, and never exceeded
    return int(total)


geometries = st.builds(
    CacheGeometry,
    st.just(LINE),
    st.sampled_from([1, 2, 4, 8, 32]),
    st.sampled_from([1, 1, 2, 3, 4, 8]),
)


@settings(max_examples=600)
@given(
    geometries,
    accesses,
    layouts(),
    st.sets(st.integers(1, 39), max_size=2),
    words,
    st.lists(st.integers(0, 60), max_size=12),
    st.booleans(),
)
def test_no_cache_misses_more_often_when_it_is_cold(
    geometry: CacheGeometry,
    found: list[Access],
    layout: Layout,
    cuts: set[int],
    read: list[int],
    before: list[int],
    stores_use: bool,
) -> None:
    cuts = {cut for cut in cuts if cut < len(found)}
    missed = misses_of(geometry, found, layout, cuts, before, read, stores_use=stores_use)
    assert missed <= priced(geometry, found, layout, cuts, CacheState.COLD, len(read))


@settings(max_examples=600)
@given(
    geometries,
    accesses,
    layouts(),
    st.sets(st.integers(1, 39), max_size=2),
    words,
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_nor_when_what_is_loaded_was_loaded_right_before(
    geometry: CacheGeometry,
    found: list[Access],
    layout: Layout,
    cuts: set[int],
    read: list[int],
    stores_use: bool,
    order: object,
) -> None:
    cuts = {cut for cut in cuts if cut < len(found)}
    before = []
    for one in found:
        first = layout.now(one.section) + one.offset
        if not one.store:
            before += [*range(first // LINE, (first + one.size - 1) // LINE + 1)]
    order.shuffle(before)  # type: ignore[attr-defined]
    missed = misses_of(geometry, found, layout, cuts, before, read, stores_use=stores_use)
    assert missed <= priced(geometry, found, layout, cuts, CacheState.WARM, len(read))


@given(accesses, layouts())
def test_where_all_lines_have_room_each_is_loaded_once(found: list[Access], layout: Layout) -> None:
    geometry = CacheGeometry(LINE, 1 << 10, 1)
    said = replace(layout, said=(True,) * 3)
    missed = misses_of(geometry, found, layout, set(), [], [], stores_use=False)
    assert missed == priced(geometry, found, said, set(), CacheState.COLD)
    assert priced(geometry, found, said, set(), CacheState.WARM) == 0


FAR = Layout((0, APART, 2 * APART), (3,) * 3, (True,) * 3)
"""Sections whose first lines share a set, and so on."""


@settings(max_examples=300)
@given(
    st.sampled_from([1, 1, 2]),
    st.lists(
        st.builds(
            Access,
            st.integers(0, 2),
            st.sampled_from([0, 0, LINE, LINE - 2]),
            st.just(4),
            st.sampled_from([False, False, False, True]),
        ),
        min_size=1,
        max_size=20,
    ),
    st.sets(st.integers(1, 19), max_size=1),
    st.sets(st.integers(0, 2), min_size=1),
    st.booleans(),
)
def test_lines_that_share_a_set_miss_as_often_as_they_take_turns(
    ways: int, found: list[Access], cuts: set[int], sections: set[int], stores_use: bool
) -> None:
    """Never more often than priced; and just so often where a set holds one line and two share
    it."""
    found = [one for one in found if one.section in sections]
    cuts = {cut for cut in cuts if cut < len(found)}
    geometry = CacheGeometry(LINE, 8, ways)
    missed = misses_of(geometry, found, FAR, cuts, [], [], stores_use=stores_use)
    figure = priced(geometry, found, FAR, cuts, CacheState.COLD)
    assert missed <= figure
    assert missed == figure or ways > 1 or len(sections) > 2
