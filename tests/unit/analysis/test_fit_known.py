"""Formulas that are known beforehand: what is found, how it is written, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from wcetchar.analysis.fitting.fit import fit, hold_out_points
from wcetchar.formula import evaluate, parse, to_text

Point = tuple[int, ...]

N = [(n,) for n in range(1, 17)]
SIZE = [(n,) for n in range(65)]
GRID = [(n, q) for n in range(1, 9) for q in range(17)]


def _fit(
    points: list[Point], count: Callable[..., int], ranges: list[tuple[int, int]] | None = None
) -> str | None:
    names = ("N", "q", "f")[: len(points[0])]
    found = fit(names, points, [count(*point) for point in points], ranges=ranges)
    return None if found is None else to_text(found)


def _log2(n: int) -> int:
    return max(n, 1).bit_length() - 1


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (lambda n: 0, "0"),
        (lambda n: 7, "7"),
        (lambda n: n, "N"),
        (lambda n: 3 * n + 5, "3*N + 5"),
        (lambda n: 2 * n - 2, "2*N - 2"),
        (lambda n: 40 - 2 * n, "40 - 2*N"),
        (lambda n: (n + 3) // 4, "ceil(N/4)"),
        (lambda n: 2 * (n // 3) + 1, "2*floor(N/3) + 1"),
        (lambda n: (n + 2) // 5, "floor((N + 2)/5)"),
        (lambda n: 5 * max(0, n - 4) + 1, "5*max(0, N - 4) + 1"),
        (lambda n: 2 * min(n, 6), "2*min(N, 6)"),
        (lambda n: 4 * (n > 9) + 1, "4*(N > 9) + 1"),
        (lambda n: 9 - 3 * (n > 5), "3*(N <= 5) + 6"),
        (lambda n: 3 - 2 * (n > 1), "2*(N == 1) + 1"),
        (lambda n: 3 * _log2(n) + 2, "3*floor(log2(N)) + 2"),
        (lambda n: (n - 1).bit_length(), "ceil(log2(N))"),
        (lambda n: _log2(n + 1), "floor(log2(N + 1))"),
        (lambda n: n * n, "N*N"),
        (lambda n: n * (n - 1) // 2, "floor(N*(N - 1)/2)"),
        (lambda n: 3 * (n * (n + 1) // 2) + 4, "3*floor(N*(N + 1)/2) + 4"),
        (lambda n: n % 4, "N - 4*floor(N/4)"),
        (lambda n: n * n + 2 * n + 1, "2*N + N*N + 1"),
        (lambda n: n // 4 + 3 * (n % 4) + 2, "floor(N/4) + 3*(N - 4*floor(N/4)) + 2"),
        (lambda n: n + (n + 2) // 3 + 3 * (n > 7), "N + ceil(N/3) + 3*(N > 7)"),
        (lambda n: 3 * n + 7 * (n == 1), "3*N + 7*(N == 1)"),
    ],
)
def test_one_parameter(count: Callable[[int], int], text: str) -> None:
    assert _fit(N, count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        # memcpy by words, then bytes, and a size of zero that is a case of its own
        (
            lambda n: 2 * (n // 4) + 3 * (n % 4) + 5 * (n > 0),
            "2*floor(N/4) + 5*(N > 0) + 3*(N - 4*floor(N/4))",
        ),
        # an unrolled loop of 16 with a tail of words
        (lambda n: n % 16 // 4, "floor(N/4) - 4*floor(N/16)"),
        # executed for two of four remainders
        (lambda n: int(n % 8 in (6, 7)), "floor((N + 2)/8) - floor(N/8)"),
        (lambda n: 2 * n + 3 * max(0, n - 30), "2*N + 3*max(0, N - 30)"),
    ],
)
def test_item_sizes(count: Callable[[int], int], text: str) -> None:
    assert _fit(SIZE, count) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (lambda n, q: 3 * n + 5 * q + 2, "3*N + 5*q + 2"),
        (lambda n, q: 2 * n * q, "2*(N*q)"),
        (lambda n, q: n * ((q + 3) // 4) + 1, "N*ceil(q/4) + 1"),
        (lambda n, q: 4 * n * (q > 5), "4*(N*(q > 5))"),
        (lambda n, q: min(n, q), "min(N, q)"),
        (lambda n, q: 3 * (n > q), "3*(N > q)"),
        (lambda n, q: 2 * n + 1, "2*N + 1"),
        (lambda n, q: 2 * n + (q + 3) // 4 + 3 * (q > 0), "2*N + ceil(q/4) + 3*(q > 0)"),
    ],
)
def test_two_parameters(count: Callable[[int, int], int], text: str) -> None:
    assert _fit(GRID, count) == text


def test_three_parameters_one_of_them_a_flag() -> None:
    points = list(product(range(5), range(1, 6), (0, 1)))
    assert _fit(points, lambda n, q, f: 3 * n + 5 * q + 2 * f + 1) == "3*N + 5*q + 2*f + 1"
    assert _fit(points, lambda n, q, f: 5 * f) == "5*f"
    assert _fit(points, lambda n, q, f: n * q + f) == "f + N*q"


def test_what_the_sweep_is_too_short_for() -> None:
    for length in range(1, 8):
        points = N[:length]
        assert _fit(points, lambda n: 4) == "4"
        line = _fit(points, lambda n: 2 * n + 1)
        assert line == ("2*N + 1" if length >= 4 else "3" if length == 1 else None)
        if 2 <= length < 6:
            assert _fit(points, lambda n: n + n // 2) is None


@pytest.mark.parametrize(
    ("points", "ranges", "text"),
    [
        ([(1,), (9,)], [(1, 9)], None),  # nothing checks it
        ([(1,), (5,), (9,)], [(1, 9)], "7"),
        ([(0,), (1,)], [(0, 1)], "7"),  # that is all there is
        ([()], [], "7"),
        ([(3,), (3,)], [(3, 3)], "7"),
        ([(4,)] * 3, [(1, 9)], None),
        # One parameter at a time: what both together do was never seen.
        ([(0, 0), (0, 4), (0, 8), (4, 0), (8, 0)], [(0, 8), (0, 8)], None),
        ([(0, 0), (0, 8), (8, 0), (8, 8)], [(0, 8), (0, 8)], "7"),
        ([(0, 0), (0, 1), (1, 0)], [(0, 1), (0, 1)], None),
        ([(0, 0), (0, 1), (1, 0), (1, 1)], [(0, 1), (0, 1)], "7"),
    ],
)
def test_a_constant_is_checked_or_all_there_is(
    points: list[Point], ranges: list[tuple[int, int]], text: str | None
) -> None:
    names = ("N", "q")[: len(ranges)]
    found = fit(names, points, [7] * len(points), ranges=ranges)
    assert text == (None if found is None else to_text(found))


def test_noise_is_no_formula() -> None:
    line = [3 * n + 5 for (n,) in N]
    for at in range(1, len(N)):
        for change in (-1, 1, 40):
            noisy = [count + change * (i == at) for i, count in enumerate(line)]
            assert fit(("N",), N, noisy) is None
    # The first value of the range may be a case of its own; it is observed, not extrapolated.
    first = fit(("N",), N, [line[0] + 40, *line[1:]])
    assert first is not None
    assert to_text(first) == "3*N + 40*(N == 1) + 5"
    # Not so where the range begins below it: nobody has seen that value.
    assert fit(("N",), N, [line[0] + 40, *line[1:]], ranges=[(0, 16)]) is None
    digits = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]
    assert fit(("N",), N, digits) is None
    assert fit(("N",), SIZE, [d * i % 10 for i, d in enumerate(digits * 4)] + [2]) is None


def test_thresholds_at_the_edge_of_the_sweep_are_not_checked() -> None:
    assert _fit(N, lambda n: int(n > 13)) == "N > 13"
    assert _fit(N, lambda n: int(n > 14)) is None
    assert _fit(N, lambda n: int(n > 15)) is None
    assert _fit(N, lambda n: 2 * n + (n > 14)) is None
    assert _fit(N, lambda n: n + max(0, n - 14)) is None
    assert _fit(N, lambda n: int(n == 7)) is None
    assert _fit(N, lambda n: int(n > 3)) == "N > 3"
    assert _fit(N, lambda n: int(n > 2)) is None
    assert _fit(N, lambda n: int(n > 5) + 2 * (n > 8)) == "(N > 5) + 2*(N > 8)"
    assert _fit(N, lambda n: int(n > 5) + 2 * (n > 7)) is None


@pytest.mark.parametrize("most", [4, 5, 8, 16])
def test_a_loop_that_begins_at_the_second_value(most: int) -> None:
    """max(0, N - 1) from N = 0 on: a line, with the first value a case of its own."""
    points, ranges = [(n,) for n in range(most + 1)], [(0, most)]
    assert _fit(points, lambda n: max(0, n - 1), ranges) == "N - (N > 0)"
    assert _fit(points, lambda n: 3 * max(0, n - 1) + 5, ranges) == "3*N + 3*(N == 0) + 2"
    assert _fit(points[1:], lambda n: max(0, n - 1), ranges) is None
    # One wrong count is no case of its own.
    assert _fit(points, lambda n: max(0, n - 1) + (n == 2), ranges) is None
    assert _fit(points[:4], lambda n: max(0, n - 1), [(0, 3)]) is None


def test_sweeps_that_cannot_tell_two_formulas_apart() -> None:
    words = [(n,) for n in range(0, 65, 4)]
    # n, 4*ceil(n/4), 2*floor(n/2) ... would differ at 5.
    assert _fit(words, lambda n: n, [(0, 64)]) is None
    assert _fit([*words, (5,), (7,)], lambda n: n, [(0, 64)]) == "N"
    gap = [(n,) for n in (1, 2, 3, 4, 8, 9, 10, 11)]
    # n > 4 or n > 7?
    assert _fit(gap, lambda n: int(n > 4), [(1, 11)]) is None
    assert _fit([*gap, (5,)], lambda n: int(n > 4), [(1, 11)]) == "N > 4"
    assert _fit([(1,), (2,), (4,), (8,), (16,)], lambda n: 2 * n + 1, [(1, 16)]) == "2*N + 1"


def test_rational_slopes_are_refused() -> None:
    even = [(n,) for n in range(0, 40, 2)]
    assert _fit(even, lambda n: 3 * n // 2) is None


def test_interactions_have_to_be_seen() -> None:
    star = [(n, 1) for n in range(1, 9)] + [(1, q) for q in range(9)]
    full = [(1, 8), (0, 8)]
    assert _fit(star, lambda n, q: 2 * n + 3 * q, full) is None
    assert _fit(star, lambda n, q: 2 * n, full) is None
    corner = [*star, (8, 8)]
    assert _fit(corner, lambda n, q: 2 * n + 3 * q, full) == "2*N + 3*q"
    # Beside N and q, N*q would rest on one point alone.
    assert _fit(corner, lambda n, q: n + q + n * q, full) is None
    corners = [*corner, (4, 4), (8, 0), (5, 8)]
    assert _fit(corners, lambda n, q: n + q + n * q, full) == "N + q + N*q"
    # A parameter that never varied, though it could.
    assert _fit([(n, 0) for n in range(9)], lambda n, q: n, [(0, 8), (0, 1)]) is None
    assert _fit([(n, 0) for n in range(9)], lambda n, q: n, [(0, 8), (0, 0)]) == "N"


def test_each_parameter_needs_enough_values_of_its_own() -> None:
    grid = [(n, q) for n in (1, 5, 9) for q in range(10)]
    assert _fit(grid, lambda n, q: 2 * n + q, [(1, 9), (0, 9)]) is None
    grid = [(n, q) for n in (1, 4, 6, 9) for q in range(10)]
    assert _fit(grid, lambda n, q: 2 * n + q, [(1, 9), (0, 9)]) == "2*N + q"


def test_never_negative_over_the_declared_range() -> None:
    points = [(n,) for n in range(3, 17)]
    assert _fit(points, lambda n: n - 3) == "N - 3"
    assert _fit(points, lambda n: n - 3, [(3, 1000)]) == "N - 3"
    assert _fit(points, lambda n: n - 3, [(2, 16)]) is None
    assert _fit(points, lambda n: 50 - 3 * n) == "50 - 3*N"
    assert _fit(points, lambda n: 50 - 3 * n, [(3, 17)]) is None
    assert _fit(points, lambda n: 50 - 3 * n, [(3, 2**32)]) is None


def test_held_out_points_take_no_part_in_solving() -> None:
    held = [(3,), (6,), (11,)]
    line = [3 * n + 5 for (n,) in N]
    assert fit(("N",), N, line, hold_out=held) == parse("3*N + 5")
    # N > 13 is seen at 14, 15 and 16; with two of them left out it still is, with all it is not.
    step = [int(n > 13) for (n,) in N]
    assert fit(("N",), N, step, hold_out=[(14,), (15,)]) is not None
    assert fit(("N",), N, step, hold_out=[(14,), (15,), (16,)]) is None


def test_order_of_the_points_does_not_matter() -> None:
    counts = [2 * n + n // 4 for (n,) in SIZE]
    one = fit(("N",), SIZE, counts)
    other = fit(("N",), SIZE[::-1] + SIZE[:3], counts[::-1] + counts[:3])
    assert one is not None
    assert one == other


def test_two_counts_at_one_point_are_no_function() -> None:
    assert fit(("N",), [*N, (4,)], [n for (n,) in N] + [5]) is None


@pytest.mark.parametrize(
    ("points", "counts", "options"),
    [
        ([], [], {}),
        ([(1,), (2,)], [1], {}),
        ([(1,), (2, 3)], [1, 2], {}),
        ([(1,)], [-1], {}),
        ([(1,)], [2**63], {}),
        ([(1,), (5,)], [1, 2], {"ranges": [(1, 4)]}),
        ([(1,), (5,)], [1, 2], {"ranges": [(1, 5), (1, 5)]}),
        ([(1,), (5,)], [1, 2], {"hold_out": [(2,)]}),
    ],
)
def test_calls_that_make_no_sense(
    points: list[Point], counts: list[int], options: dict[str, list[Point]]
) -> None:
    with pytest.raises(ValueError, match=r"."):
        fit(("N",), points, counts, **options)  # type: ignore[arg-type]


def test_hold_out_points() -> None:
    assert hold_out_points([(1,), (2,), (3,)]) == (((1,), (2,), (3,)), ())
    assert hold_out_points([(4,), (1,), (2,), (3,)]) == (((1,), (4,)), ((2,), (3,)))
    assert hold_out_points([(n,) for n in (1, 2, 4, 8, 16)])[1] == ((2,), (8,))
    fitted, held = hold_out_points(N)
    assert held == ((3,), (5,), (9,), (12,), (14,))
    assert sorted(fitted + held) == N
    fitted, held = hold_out_points(list(product((0, 1), (0, 1))))
    assert held == ((0, 1), (1, 0))
    for points in (SIZE, GRID, list(product(range(3), repeat=3)), [(n, n) for n in range(9)]):
        fitted, held = hold_out_points(points)
        assert sorted(fitted + held) == sorted(points)
        assert len(points) // 4 <= len(held) <= len(points) // 2
        corners = set(product(*((min(axis), max(axis)) for axis in zip(*points, strict=True))))
        assert not corners & set(held)


BOX = [(n, q, f) for n in range(1, 7) for q in range(1, 7) for f in range(7)]
HALF = [point for point in BOX if sum(point) <= 8]


@pytest.mark.parametrize("points", [BOX, HALF])
@pytest.mark.parametrize(
    "count",
    [
        lambda n, q, f: 5 * n + 3 * q + 2 * f + 7 * (f > 0) + 1,
        lambda n, q, f: 6 * n + 4 * q + 10 * f + 4 * min(q, f),
        lambda n, q, f: n + q + f + n * f,
    ],
)
def test_a_term_for_each_of_three_parameters_and_one_more(
    points: list[Point], count: Callable[..., int]
) -> None:
    text = _fit(points, count)
    assert text is not None
    formula = parse(text)
    names = ("N", "q", "f")
    for point in BOX:
        values = dict(zip(names, point, strict=True))
        assert evaluate(formula, values) == count(*point)


def test_two_more_terms_are_too_many() -> None:
    assert _fit(HALF, lambda n, q, f: n + q + f + min(n, q) + 3 * max(0, q - f)) is None
