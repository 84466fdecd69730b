from __future__ import annotations

import pytest

from wcetchar.analysis.fitting.fit import decompose
from wcetchar.formula import parse, to_text


def _rows(text: str, **ranges: tuple[int, int]) -> list[tuple[int, str]]:
    pairs = decompose(parse(text), list(ranges), list(ranges.values()))
    return [(multiplicity, to_text(repetition)) for multiplicity, repetition in pairs]


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("0", []),
        ("N - N", []),
        ("5", [(5, "1")]),
        ("N", [(1, "N")]),
        ("3*N + 5", [(3, "N"), (5, "1")]),
        ("5 + N*3", [(3, "N"), (5, "1")]),
        ("2*(3*N + 1) + N", [(7, "N"), (2, "1")]),
        ("2*N - 2", [(2, "N - 1")]),
        ("3*N - 2", [(1, "3*N - 2")]),
        ("4*N - 6", [(2, "2*N - 3")]),
        ("40 - 2*N", [(2, "20 - N")]),
        ("2*ceil(size/4) + 3*(N > 1) + 7", [(2, "ceil(size/4)"), (3, "N > 1"), (7, "1")]),
        ("9 - 3*(N > 5)", [(3, "N <= 5"), (6, "1")]),
        ("3*(N > 5) - 3*(N > 9)", [(3, "(N > 5) - (N > 9)")]),
        ("N - 4*floor(N/4)", [(1, "N - 4*floor(N/4)")]),
        ("3*(N - 4*floor(N/4)) + 2*N + 1", [(2, "N"), (3, "N - 4*floor(N/4)"), (1, "1")]),
        ("8*ceil(N/4) - 2*N + 5", [(2, "4*ceil(N/4) - N"), (5, "1")]),
        ("2*N*M*3", [(6, "N*M")]),
        ("(N + 1)*(M + 2)", [(1, "(N + 1)*(M + 2)")]),
        ("-(2 - N*4)", [(2, "2*N - 1")]),
        ("floor(N*(N - 1)/2)*4", [(4, "floor(N*(N - 1)/2)")]),
        ("ceil(7/2)*N", [(4, "N")]),
    ],
)
def test_rows(text: str, rows: list[tuple[int, str]]) -> None:
    assert _rows(text) == rows


def test_ranges_tell_rows_apart() -> None:
    text = "2*N + 3*M - 2"
    assert _rows(text) == [(1, "2*N + 3*M - 2")]
    assert _rows(text, N=(1, 16), M=(0, 4)) == [(2, "N - 1"), (3, "M")]
    assert _rows(text, N=(0, 16), M=(1, 4)) == [(2, "N"), (1, "3*M - 2")]
    assert _rows("N + 7", N=(-5, 5)) == [(1, "N + 7")]
    assert _rows("5*floor((N + 2)/4) - 5*floor(N/4) + N", N=(0, 64)) == [
        (5, "floor((N + 2)/4) - floor(N/4)"),
        (1, "N"),
    ]


def test_negative_counts_are_no_counts() -> None:
    for text in ("-3", "-N", "-2*N - 1"):
        with pytest.raises(ValueError, match="negative"):
            _rows(text)
