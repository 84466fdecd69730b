from __future__ import annotations

import numpy as np
import pytest

from wcetchar.errors import InputError
from wcetchar.formula import evaluate, evaluate_many, parse


@pytest.mark.parametrize(
    ("text", "values", "expected"),
    [
        ("3*N + 5", {"N": 13}, 44),
        ("N - 1", {"N": 0}, -1),
        ("ceil(N/4)", {"N": 0}, 0),
        ("ceil(N/4)", {"N": 1}, 1),
        ("ceil(N/4)", {"N": 4}, 1),
        ("ceil(N/4)", {"N": 5}, 2),
        ("ceil(N/4)", {"N": -5}, -1),
        ("floor(N/4)", {"N": -5}, -2),
        ("floor(N/2 + N/3)", {"N": 5}, 4),  # 25/6
        ("floor(N*2/3*3)", {"N": 2}, 4),
        ("ceil(max(N/2, N/3) - min(N/2, 1))", {"N": 5}, 2),  # 5/2 - 1
        ("floor((N/2 > 2)/2 + 1/2)", {"N": 5}, 1),
        ("N > 3", {"N": 3}, 0),
        ("N >= 3", {"N": 3}, 1),
        ("2*(N == 3) + (N != 3)", {"N": 3}, 2),
        ("min(N, 7) + max(N, 7, 9)", {"N": 8}, 16),
        ("a*a", {"a": 10**30}, 10**60),
    ],
)
def test_value(text: str, values: dict[str, int], expected: int) -> None:
    assert evaluate(parse(text), values) == expected


def test_log2_by_hand() -> None:
    # 1 2 3 4 5 7 8 9: greatest k with 2**k <= n, least k with n <= 2**k; 0 below 1.
    numbers = [-3, 0, 1, 2, 3, 4, 5, 7, 8, 9, 2**62 - 1, 2**62, 2**62 + 1]
    floors = [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 61, 62, 62]
    ceils = [0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 62, 62, 63]
    floor, ceil = parse("floor(log2(N))"), parse("ceil(log2(N))")
    assert [evaluate(floor, {"N": n}) for n in numbers] == floors
    assert [evaluate(ceil, {"N": n}) for n in numbers] == ceils
    column = {"N": np.array(numbers, dtype=np.int64)}
    assert evaluate_many(floor, column).tolist() == floors
    assert evaluate_many(ceil, column).tolist() == ceils


def test_log2_of_a_rational() -> None:
    # 9/2 lies between 4 and 8; 1/2 is below 1.
    for n, floor, ceil in ((9, 2, 3), (8, 2, 2), (1, 0, 0), (2, 0, 0), (3, 0, 1)):
        assert evaluate(parse("floor(log2(N/2))"), {"N": n}) == floor
        assert evaluate(parse("ceil(log2(N/2))"), {"N": n}) == ceil
        column = {"N": np.array([n])}
        assert evaluate_many(parse("floor(log2(N/2))"), column).tolist() == [floor]
        assert evaluate_many(parse("ceil(log2(N/2))"), column).tolist() == [ceil]


def test_missing_values_are_all_named() -> None:
    for use in (
        lambda tree: evaluate(tree, {"N": 1}),
        lambda tree: evaluate_many(tree, {"N": np.array([1])}),
    ):
        with pytest.raises(InputError, match="no value for parameter size, tasks") as caught:
            use(parse("N + tasks*size"))
        assert caught.value.expected == "values for N, size, tasks"


def test_values_that_are_no_integers() -> None:
    with pytest.raises(InputError, match=r"parameter N has the value 1\.5"):
        evaluate(parse("N"), {"N": 1.5})  # type: ignore[dict-item]
    assert evaluate(parse("N"), {"N": np.int64(3)}) == 3  # type: ignore[dict-item]
    assert type(evaluate(parse("N"), {"N": np.int64(3)})) is int  # type: ignore[dict-item]


def test_shapes() -> None:
    table = np.arange(6, dtype=np.int64).reshape(2, 3)
    assert evaluate_many(parse("2*N + 1"), {"N": table}).tolist() == [[1, 3, 5], [7, 9, 11]]
    assert evaluate_many(parse("7"), {"N": table}).tolist() == [[7] * 3] * 2
    assert evaluate_many(parse("7"), {}).shape == ()
    assert evaluate_many(parse("ceil(log2(N/3))*N"), {"N": table[:, :0]}).shape == (2, 0)
    result = evaluate_many(parse("N"), {"N": table})
    result[0, 0] = 99
    assert table[0, 0] == 0  # no view of the caller's column
    with pytest.raises(InputError, match="shape"):
        evaluate_many(parse("a + b"), {"a": np.zeros(3, np.int64), "b": np.zeros(4, np.int64)})
    for dtype in (np.float64, np.uint64, bool, object):
        with pytest.raises(InputError, match="type"):
            evaluate_many(parse("a"), {"a": np.zeros(3, dtype)})


def test_nothing_wraps() -> None:
    top = 2**63 - 1
    ends = {"N": np.array([-top - 1, top], dtype=np.int64)}
    assert evaluate_many(parse("N"), ends).tolist() == [-top - 1, top]
    for text in ("N + 1", "-N", "N*N", "2*N", "N - 1", "max(N, 1) + 1"):
        with pytest.raises(InputError, match="does not fit 64 bits"):
            evaluate_many(parse(text), ends)
    # Too large in between only: still exact. The two products are 2**126 and (2**63 - 1)**2.
    least, most = ({"N": ends["N"][i : i + 1]} for i in (0, 1))
    over = "floor(N*N/9223372036854775807)"
    assert evaluate_many(parse(f"{over} + N"), least).tolist() == [1]
    assert evaluate_many(parse(f"{over} - N"), most).tolist() == [0]
    assert evaluate_many(parse("N*N > N"), ends).tolist() == [1, 1]
    assert evaluate_many(
        parse("ceil(N/9223372036854775807/9223372036854775807)"), ends
    ).tolist() == [
        0,
        1,
    ]
