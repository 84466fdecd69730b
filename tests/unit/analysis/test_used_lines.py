"""Lines of data that are used: by hand, and by another definition of the same counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar.analysis.used_lines import (
    DataUse,
    Touched,
    Used,
    Words,
    published_footprints,
    published_use,
)
from wcetchar.model.cache import APART
from wcetchar.model.characterization import DataFootprint, LineBehind, UsedLine, UsedLines

LINE = 32
A, B = 0, 1
Access = tuple[bool, int, int, int]
"""Does it store, address, bytes, section."""


def ints(values: Iterable[int]) -> npt.NDArray[np.int64]:
    return np.array([*values], dtype=np.int64)


def window(
    accesses: Sequence[Access],
    *,
    sizes: Sequence[int] = (LINE,),
    apart: Iterable[int] = (),
    words: Iterable[Words] = (),
    owners: Sequence[int] | None = None,
) -> DataUse:
    """``owners``: the instruction of each access; if absent, each has one of its own."""
    touched = Touched(
        ints(range(len(accesses)) if owners is None else owners),
        ints(address for _, address, _, _ in accesses),
        ints(address + size - 1 for _, address, size, _ in accesses),
        np.array([stores for stores, _, _, _ in accesses], dtype=bool),
        ints(section for _, _, _, section in accesses),
    )
    return DataUse(sizes, touched, {*apart}, words)


def loads(*lines: int) -> list[Access]:
    return [(False, line * LINE, 4, A) for line in lines]


def stores(*lines: int) -> list[Access]:
    return [(True, line * LINE, 4, A) for line in lines]


def lines_of(used: Used, size: int = LINE, section: int = A) -> dict[int, tuple[int, int]]:
    """Line -> loads, and fresh ones."""
    return {
        number: counted
        for (of_size, of_section, number), counted in used.lines.items()
        if (of_size, of_section) == (size, section)
    }


def lines(accesses: Sequence[Access], *, apart: Iterable[int] = ()) -> dict[int, tuple[int, int]]:
    """The same of all of a window."""
    return lines_of(window(accesses, apart=apart).used(0, len(accesses)))


# ---- what a window uses --------------------------------------------------------------------------


def test_a_window_without_accesses_uses_nothing() -> None:
    assert window([]).used(0, 10) == Used()


def test_a_line_is_loaded_where_another_one_was_before() -> None:
    assert lines(loads(1, 1, 1)) == {1: (1, 1)}
    assert lines(loads(1, 1, 2, 2, 1)) == {1: (2, 1), 2: (1, 1)}
    assert lines(loads(1, 2, 3, 1, 2, 3, 3)) == {1: (2, 1), 2: (2, 1), 3: (2, 1)}


def test_stores_in_between_take_no_line_away() -> None:
    assert lines([*loads(1), *stores(2, 3), *loads(1)]) == {1: (1, 1), 2: (0, 0), 3: (0, 0)}
    assert lines([*loads(1), *stores(2), *loads(2), *stores(1), *loads(2)]) == {
        1: (1, 1),
        2: (1, 1),
    }


def test_a_store_loads_no_line() -> None:
    assert lines(stores(1, 2, 1)) == {1: (0, 0), 2: (0, 0)}
    assert lines([*stores(1), *loads(1)]) == {1: (1, 1)}


def test_an_access_across_two_lines_is_one_of_each() -> None:
    across = (False, LINE - 2, 4, A)
    assert lines([across]) == {0: (1, 1), 1: (1, 1)}
    assert lines([across, across]) == {0: (2, 1), 1: (2, 1)}  # the second line took the first
    assert lines([across, *loads(1)]) == {0: (1, 1), 1: (1, 1)}
    assert lines([*loads(1), (True, LINE - 1, 2, A), *loads(1)]) == {0: (0, 0), 1: (1, 1)}
    assert lines([(False, LINE - 4, 4, A), (False, LINE, 4, A)]) == {0: (1, 1), 1: (1, 1)}


def test_lines_are_fresh_again_behind_what_else_ran() -> None:
    assert lines(loads(1, 1), apart=[1]) == {1: (2, 2)}
    assert lines(loads(1, 2, 1, 1, 2), apart=[3]) == {1: (3, 2), 2: (2, 2)}
    assert lines([*loads(1), *stores(1), *loads(1, 1)], apart=[1]) == {1: (2, 2)}


def test_places_where_something_else_ran_are_counted_whatever_is_loaded_behind() -> None:
    found = window(loads(1, 1), owners=[0, 9], apart=[3, 5, 8]).used(0, 9)
    assert (found.apart, lines_of(found)) == (3, {1: (2, 2)})
    assert window([], apart=[3, 5]).used(0, 9) == Used(apart=2)


def test_what_ran_in_between_lies_between_instructions() -> None:
    """All that the instruction at such a place accesses is behind it."""
    found = window(loads(1, 1, 1, 1), owners=[0, 0, 1, 1], apart=[1]).used(0, 1)
    assert lines_of(found) == {1: (2, 2)}


def test_a_line_in_which_sections_meet_is_told_for_each_with_all_its_loads() -> None:
    half = LINE // 2
    found = window(
        [(False, LINE, 4, A), (False, 2 * LINE, 4, B), (False, LINE + half, 4, B)], apart=[2]
    ).used(0, 2)
    assert lines_of(found, section=A) == {1: (2, 2)}
    assert lines_of(found, section=B) == {1: (2, 2), 2: (1, 1)}
    # Whichever section it is loaded for, and where one of them only stores to it.
    found = window([(False, LINE, 4, A), (True, LINE + half, 4, B)]).used(0, 1)
    assert found.lines == {(LINE, A, 1): (1, 1), (LINE, B, 1): (1, 1)}


def test_lines_of_each_size_are_told() -> None:
    accesses: list[Access] = [(False, 0, 4, A), (False, 16, 4, A), (True, 70, 4, B)]
    found = window(accesses, sizes=[64, 16, 64]).used(0, 2)
    assert found.lines == {
        (16, A, 0): (1, 1),
        (16, A, 1): (1, 1),
        (16, B, 4): (0, 0),
        (64, A, 0): (1, 1),
        (64, B, 1): (0, 0),
    }


def test_a_part_of_a_window_begins_with_nothing() -> None:
    use = window(loads(1, 2, 2, 1, 3))
    assert lines_of(use.used(2, 3)) == {1: (1, 1), 2: (1, 1)}
    assert lines_of(use.used(4, 4)) == {3: (1, 1)}
    assert lines_of(use.used(0, 4)) == {1: (2, 1), 2: (1, 1), 3: (1, 1)}  # nor is it spent


def test_a_part_of_a_window_is_of_whole_instructions() -> None:
    use = window(loads(1, 2, 3, 4, 5), owners=[0, 2, 2, 3, 5])
    assert set(lines_of(use.used(1, 2))) == {2, 3}
    assert set(lines_of(use.used(2, 4))) == {2, 3, 4}
    assert use.used(1, 1) == Used()


def test_what_else_ran_is_counted_inside_a_part_alone() -> None:
    """Right before its first instruction is before it; right before its last is not."""
    use = window(loads(1, 1, 1, 1, 1), apart=[1, 3, 4])
    found = use.used(1, 3)
    assert (found.apart, lines_of(found)) == (1, {1: (2, 2)})
    assert use.used(0, 0).apart == 0
    assert use.used(4, 4).apart == 0


def test_words_that_hardware_reads_are_counted_inside_a_part_alone() -> None:
    use = window([], words=[(A, 2, 0), (B, 8, 3), (A, 1, 3), (B, 5, 4)])
    assert use.used(0, 4).words == {A: 3, B: 13}
    assert use.used(1, 3).words == {A: 1, B: 8}
    assert use.used(0, 0).words == {A: 2}
    assert use.used(1, 2) == Used()


# ---- loads behind those of another line ----------------------------------------------------------

STEP = APART // LINE


def behind_of(use: DataUse, first: int = 0, last: int = 10**6) -> dict[tuple[int, int], int]:
    found = use.used(first, last).behind
    return {(one, other): times for (_, one, other), times in found.items()}


def test_a_load_is_behind_another_line_that_was_loaded_since_its_last() -> None:
    a, b = 1, 1 + STEP
    assert behind_of(window(loads(a, b))) == {}
    assert behind_of(window(loads(a, b, a))) == {(a, b): 1}
    assert behind_of(window(loads(a, b, b, a, a, b))) == {(a, b): 1, (b, a): 1}
    assert behind_of(window(loads(b, a, a, a))) == {}
    c = b + STEP
    assert behind_of(window(loads(a, b, c, a, c, a))) == {(a, b): 1, (a, c): 2, (c, a): 1}


def test_lines_that_are_close_and_stores_are_not_told() -> None:
    a = 1
    assert behind_of(window(loads(a, a + STEP - 1, a, a + STEP + 1, a))) == {}
    assert behind_of(window([*loads(a), *stores(a + STEP), *loads(9, a)])) == {}
    b = a + STEP
    assert behind_of(window([*loads(a, b), *stores(a), *loads(9, a)])) == {(a, b): 1}


def test_what_else_ran_and_the_begin_of_a_part_leave_nothing_to_be_behind() -> None:
    a, b = 1, 1 + STEP
    use = window(loads(a, b, a, b), apart=[2])
    assert behind_of(use) == {}
    assert behind_of(window(loads(a, b, 9, a), apart=[2])) == {}
    assert behind_of(window(loads(a, b, a, b)), 1, 2) == {}
    assert behind_of(window(loads(a, b, a, b)), 1, 3) == {(b, a): 1}


@given(
    st.lists(st.tuples(st.sampled_from([0, 1, STEP, 2 * STEP, STEP + 1]), st.booleans())),
    st.sets(st.integers(0, 20), max_size=2),
)
def test_behind_by_another_definition(found: list[tuple[int, bool]], apart: set[int]) -> None:
    use = window([(stored, line * LINE, 4, A) for line, stored in found], apart=apart)
    expected: Counter[tuple[int, int]] = Counter()
    for now, (line, stored) in enumerate(found):
        since: set[int] = set()
        for earlier in range(now - 1, -1, -1):
            if stored or any(earlier < cut <= now for cut in apart):
                break
            if found[earlier] == (line, False):
                expected.update((line, other) for other in since if (other - line) % STEP == 0)
                break
            if not found[earlier][1]:
                since.add(found[earlier][0])
    assert behind_of(use) == dict(expected)


# ---- several windows -----------------------------------------------------------------------------


def test_of_two_windows_the_most_of_each_line() -> None:
    used = Used({(32, A, 1): (5, 1), (32, A, 2): (0, 0)}, Counter({A: 8, B: 1}), 1)
    other = Used({(32, A, 1): (3, 2), (16, A, 1): (1, 1), (32, B, 1): (0, 0)}, Counter({B: 3}), 2)
    before = Used({**other.lines}, Counter(other.words), other.apart)
    used.include(other)
    assert used == Used(
        {(32, A, 1): (5, 2), (32, A, 2): (0, 0), (16, A, 1): (1, 1), (32, B, 1): (0, 0)},
        Counter({A: 8, B: 3}),
        2,
    )
    assert other == before
    used.include(Used())
    assert used.apart == 2


def test_of_two_windows_the_most_of_each_two_lines() -> None:
    used = Used(behind=Counter({(32, 1, 33): 2, (32, 33, 1): 1}))
    used.include(Used(behind=Counter({(32, 1, 33): 1, (32, 33, 1): 4, (16, 1, 65): 1})))
    assert used == Used(behind=Counter({(32, 1, 33): 2, (32, 33, 1): 4, (16, 1, 65): 1}))


# ---- as it is published --------------------------------------------------------------------------

NAMES = ("z", "a")
BEGINS = {"z": 0x100, "a": 0x150}
"""The one begins with a line of 32 bytes, the other in the middle of one."""


def test_lines_are_numbered_from_the_one_that_their_section_begins_in() -> None:
    used = window(
        [(False, 0x100, 4, A), (True, 0x14C, 4, A), (False, 0x150, 4, B), (False, 0x160, 4, B)],
        sizes=[16, 32],
        words=[(A, 8, 0), (B, 2, 0)],
        apart=[1],
    ).used(0, 3)
    assert published_use(used, NAMES, BEGINS) == UsedLines(
        (
            UsedLine(16, "a", 0, 1, 1),
            UsedLine(16, "a", 1, 1, 1),
            UsedLine(16, "z", 0, 1, 1),
            UsedLine(16, "z", 4, 0, 0),
            UsedLine(32, "a", 0, 1, 1),  # 0x140, where the two meet
            UsedLine(32, "a", 1, 1, 1),
            UsedLine(32, "z", 0, 1, 1),
            UsedLine(32, "z", 2, 1, 1),
        ),
        (("a", 2), ("z", 8)),
        1,
    )


def test_two_lines_are_told_where_that_says_more_than_their_loads() -> None:
    """Line 8 of z, 0x100, and 8 + STEP of a, whose first line is that of 0x140."""
    far = 8 + STEP
    accesses = [*loads(8), (False, far * LINE, 4, B), (False, far * LINE, 4, B), *loads(1, 8, 1, 8)]
    found = published_use(window(accesses).used(0, 9), NAMES, BEGINS).behind
    # Line 8 of z is loaded three times, once behind the other; that one is loaded once.
    assert found == ()
    accesses += [(False, far * LINE, 4, B), *loads(1), (False, far * LINE, 4, B)]
    found = published_use(window(accesses).used(0, 12), NAMES, BEGINS).behind
    line, other = ("z", 0), ("a", far - 10)
    assert found == (
        LineBehind(32, other, line, 1),
        LineBehind(32, line, other, 1),
    )
    # One that is never loaded again, or next to nothing that is, needs no other.
    assert published_use(window(loads(8, far, 9, far)).used(0, 9), NAMES, BEGINS).behind == (
        LineBehind(32, ("z", STEP), ("z", 0), 0),
    )


def test_a_line_in_which_sections_meet_is_told_as_one_of_each() -> None:
    far, half = 10 + STEP, LINE // 2
    accesses = [(False, 0x140, 4, A), (False, 0x140 + half, 4, B), *loads(far, 1, far)]
    found = published_use(window(accesses).used(0, 9), NAMES, BEGINS).behind
    assert found == (
        LineBehind(32, ("z", far - 8), ("a", 0), 0),
        LineBehind(32, ("z", far - 8), ("z", 2), 0),
    )


def test_points_that_use_the_same_are_published_together() -> None:
    """Also where the accesses differ; and nothing that differs is taken for the same."""
    observed = {
        (4,): window(loads(8, 8, 9)).used(0, 2),
        (3,): window(loads(8, 9, 8)).used(0, 2),
        (1,): window(loads(8, 9, 9)).used(0, 2),
        (2,): window(loads(8, 9), words=[(A, 1, 0)]).used(0, 1),
    }
    once, twice = UsedLine(32, "z", 0, 1, 1), UsedLine(32, "z", 0, 2, 1)
    other = UsedLine(32, "z", 1, 1, 1)
    assert published_footprints(observed, NAMES, BEGINS) == (
        DataFootprint(((1,), (4,)), UsedLines((once, other))),
        DataFootprint(((2,),), UsedLines((once, other), (("z", 1),))),
        DataFootprint(((3,),), UsedLines((twice, other))),
    )


def test_nothing_observed_is_published_as_nothing() -> None:
    assert published_footprints({}, NAMES, BEGINS) == ()
    assert published_footprints({(): Used()}, NAMES, BEGINS) == (
        DataFootprint(((),), UsedLines(())),
    )


# ---- what holds another --------------------------------------------------------------------------

SOME = UsedLines(
    (UsedLine(16, "a", 0, 4, 2), UsedLine(32, "a", 0, 4, 2), UsedLine(32, "a", 3, 0, 0)),
    (("a", 2), ("z", 8)),
    1,
)


@pytest.mark.parametrize(
    "less",
    [
        SOME,
        UsedLines(()),
        replace(SOME, lines=SOME.lines[1:]),
        replace(SOME, lines=(UsedLine(32, "a", 0, 3, 2), UsedLine(32, "a", 3, 0, 0))),
        replace(SOME, lines=(UsedLine(32, "a", 0, 4, 1),)),
        replace(SOME, words=(("z", 8),)),
        replace(SOME, words=(("a", 1), ("z", 8))),
        replace(SOME, apart=0),
    ],
)
def test_what_uses_no_more_is_held(less: UsedLines) -> None:
    assert SOME.holds(less)
    assert less.holds(SOME) == (less == SOME)


@pytest.mark.parametrize(
    "other",
    [
        replace(SOME, lines=(UsedLine(32, "a", 0, 5, 2),)),
        replace(SOME, lines=(UsedLine(32, "a", 0, 4, 3),)),
        replace(SOME, lines=(UsedLine(32, "a", 0, 1, 1), UsedLine(32, "a", 3, 1, 1))),
        # A line that is only stored to is used; and neither size nor section nor number is another.
        replace(SOME, lines=(UsedLine(32, "a", 1, 0, 0),)),
        replace(SOME, lines=(UsedLine(32, "z", 0, 1, 1),)),
        replace(SOME, lines=(UsedLine(64, "a", 0, 1, 1),)),
        replace(SOME, words=(("z", 9),)),
        replace(SOME, words=(("b", 1),)),
        replace(SOME, apart=2),
    ],
)
def test_what_uses_anything_more_is_not_held(other: UsedLines) -> None:
    assert not SOME.holds(other)


TWO = UsedLines(
    (UsedLine(32, "a", 0, 4, 1), UsedLine(32, "a", 32, 3, 1)),
    behind=(LineBehind(32, ("a", 0), ("a", 32), 2),),
)


@pytest.mark.parametrize(
    ("other", "held"),
    [
        (TWO, True),
        (replace(TWO, behind=(LineBehind(32, ("a", 0), ("a", 32), 1),)), True),
        (replace(TWO, behind=(LineBehind(32, ("a", 0), ("a", 32), 3),)), False),
        (replace(TWO, behind=()), False),  # three times, for all that is known
        (replace(TWO, lines=(TWO.lines[0], UsedLine(32, "a", 32, 2, 1)), behind=()), True),
        (replace(TWO, lines=TWO.lines[:1], behind=()), True),
        (replace(TWO, lines=(UsedLine(32, "a", 0, 1, 1), TWO.lines[1]), behind=()), True),
        (replace(TWO, behind=(*TWO.behind, LineBehind(32, ("a", 32), ("a", 0), 1))), True),
    ],
)
def test_what_is_loaded_behind_another_line_no_more_often_is_held(
    other: UsedLines, held: bool
) -> None:
    assert TWO.holds(other) == held


# ---- by another definition -----------------------------------------------------------------------

ACCESSES = st.lists(
    st.tuples(
        st.integers(0, 2),  # instructions since the one before
        st.booleans(),
        st.integers(0, 6 * LINE),
        st.sampled_from([1, 2, 4, 8]),
    ),
    max_size=40,
)


@given(
    accesses=ACCESSES,
    border=st.integers(0, 7 * LINE),
    apart=st.sets(st.integers(0, 40), max_size=4),
    part=st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted),
)
def test_loads_and_fresh_ones_by_another_definition(
    accesses: list[tuple[int, bool, int, int]], border: int, apart: set[int], part: list[int]
) -> None:
    """Each line by itself, and each of its loads by looking back from it."""
    owners = np.cumsum([since for since, _, _, _ in accesses], dtype=np.int64).tolist()
    given_accesses = [(store, at, size, int(at >= border)) for _, store, at, size in accesses]
    first, last = part
    used = window(given_accesses, sizes=[16, LINE], apart=apart, owners=owners).used(first, last)

    inside = [
        (owner, *access)
        for owner, access in zip(owners, given_accesses, strict=True)
        if first <= owner <= last
    ]
    told: dict[tuple[int, int, int], tuple[int, int]] = {}
    for size in (16, LINE):
        each = [
            (owner, store, line, section)
            for owner, store, at, width, section in inside
            for line in sorted({byte // size for byte in range(at, at + width)})
        ]
        loaded = [(owner, line) for owner, store, line, _ in each if not store]

        def stays(place: int, loaded: list[tuple[int, int]] = loaded) -> bool:
            """The load before it was of the same line, and nothing else ran since."""
            if place == 0:
                return False
            (before, old), (owner, line) = loaded[place - 1], loaded[place]
            return old == line and not any(before < cut <= owner for cut in apart)

        for line in {line for _, _, line, _ in each}:
            places = [place for place, (_, other) in enumerate(loaded) if other == line]
            counted = sum(not stays(place) for place in places)
            pieces = {sum(cut <= loaded[place][0] for cut in apart) for place in places}
            for section in {its for _, _, number, its in each if number == line}:
                told[size, section, line] = counted, len(pieces)
    assert used.lines == told
    assert used.apart == len(apart & {*range(first + 1, last + 1)})
    assert not used.words
