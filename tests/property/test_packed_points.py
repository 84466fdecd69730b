"""Counts by point, kept as arrays, against a dictionary of dictionaries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from wcetchar.analysis.repetition import Observations, PackedPoints

POINTS = st.tuples(st.integers(0, 4), st.integers(0, 4))
COUNTS = st.dictionaries(st.integers(0, 2**62), st.integers(1, 2**40), max_size=6)
STEPS = st.lists(st.tuples(POINTS, COUNTS), max_size=20)


@given(STEPS)
def test_what_is_kept_is_what_is_read(steps: list[tuple[tuple[int, int], dict[int, int]]]) -> None:
    kept, plain = PackedPoints(), {}
    for point, counts in steps:
        kept[point] = counts
        plain[point] = counts
    assert dict(kept) == plain
    assert len(kept) == len(plain)
    for point in list(plain):
        del kept[point]
        assert point not in kept


@given(STEPS)
def test_the_largest_of_windows_at_one_point(
    steps: list[tuple[tuple[int, int], dict[int, int]]],
) -> None:
    observed = Observations()
    for point, counts in steps:
        observed.add(point, counts)
    assert observed.windows == len(steps)
    for point, found in observed.points.items():
        own = [counts for at, counts in steps if at == point]
        codes = {code for counts in own for code in counts}
        assert found == {code: max(c.get(code, 0) for c in own) for code in codes}
        assert (point in observed.differing) == any(counts != own[0] for counts in own)
