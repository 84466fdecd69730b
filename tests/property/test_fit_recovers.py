"""Random formulas of the families, sampled and found again; random counts, and no formula.

The formulas are Python functions here, written apart from the families of ``analysis``.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise, product

from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from wcetchar.analysis.fitting.fit import decompose, fit
from wcetchar.formula import evaluate, parse, to_text

Term = Callable[[int], int]
Part = tuple[int | None, Term]

LOW, HIGH = 1, 36
SWEEP = [(n,) for n in range(LOW, HIGH + 1)]

untimed = settings(deadline=None)

inner = st.integers(LOW + 4, HIGH - 4)  # thresholds well inside the sweep
line: Term = lambda n: n  # noqa: E731


def _smooth(moduli: st.SearchStrategy[int]) -> st.SearchStrategy[Term]:
    return st.one_of(
        st.just(line),
        moduli.map(lambda m: lambda n: -(-n // m)),
        moduli.map(lambda m: lambda n: n // m),
        st.tuples(moduli, st.integers(0, 11)).map(lambda mk: lambda n: -(-(n + mk[1]) // mk[0])),
        st.just(lambda n: n.bit_length() - 1),
        st.just(lambda n: (n - 1).bit_length()),
        st.just(lambda n: (n + 1).bit_length() - 1),
        st.just(lambda n: n * n),
        st.just(lambda n: n * (n - 1) // 2),
        moduli.map(lambda m: lambda n: n % m),
    )


broken = st.one_of(  # (threshold, term)
    inner.map(lambda k: (k, lambda n: max(0, n - k))),
    inner.map(lambda k: (k, lambda n: min(n, k))),
    inner.map(lambda k: (k, lambda n: int(n > k))),
    inner.map(lambda k: (k, lambda n: int(n <= k))),
    st.just((LOW, lambda n: int(n > LOW))),
)
single = _smooth(st.sampled_from([2, 3, 4, 5, 8, 12])).map(lambda term: (None, term)) | broken
factors = st.integers(1, 20)


@untimed
@given(single, factors, st.integers(0, 100))
def test_one_term(part: Part, factor: int, constant: int) -> None:
    _, term = part
    counts = [factor * term(n) + constant for (n,) in SWEEP]
    found = fit(("N",), SWEEP, counts)
    assert found is not None
    assert [evaluate(found, {"N": n}) for (n,) in SWEEP] == counts


@untimed
@given(single, single, factors, factors, st.integers(0, 100))
def test_two_terms(first: Part, second: Part, a: int, b: int, constant: int) -> None:
    (k, one), (other_k, other) = first, second
    counts = [a * one(n) + b * other(n) + constant for (n,) in SWEEP]
    found = fit(("N",), SWEEP, counts)
    if k is not None and other_k is not None and 0 < abs(k - other_k) < 3:
        return  # too few values between them
    assert found is not None
    assert [evaluate(found, {"N": n}) for (n,) in SWEEP] == counts


@untimed
@given(
    _smooth(st.sampled_from([2, 3, 4, 5])), factors, st.integers(0, 100), inner, st.integers(1, 9)
)
def test_one_wrong_count(term: Term, factor: int, constant: int, at: int, error: int) -> None:
    """Not for terms with few kinks or steps: a wrong count beside one may well move it."""
    counts = [factor * term(n) + constant + error * (n == at) for (n,) in SWEEP]
    assert fit(("N",), SWEEP, counts) is None


@untimed
@given(st.lists(st.integers(0, 10_000), min_size=16, max_size=16))
def test_random_counts_have_no_formula(counts: list[int]) -> None:
    assume(len(set(counts)) > 12)
    assume(len({b - a for a, b in pairwise(counts)}) > 10)
    assert fit(("N",), SWEEP[:16], counts) is None


sparse = st.dictionaries(st.integers(0, 40), st.integers(0, 30), min_size=1, max_size=14)


@untimed
@given(sparse, st.integers(0, 10), st.integers(0, 30))
@example({n: 2 * n + 1 for n in (0, 1, 2, 3, 5, 8, 13)}, 0, 30)
@example({n: n // 4 for n in range(0, 40, 3)}, 0, 20)
@example({n: 30 - n for n in range(4, 14)}, 3, 16)
@example({n: n - 4 for n in range(4, 14)}, 1, 16)
def test_what_is_found_meets_every_count(counts: dict[int, int], below: int, above: int) -> None:
    points = [(n,) for n in counts]
    low, high = max(0, min(counts) - below), max(counts) + above
    found = fit(("N",), points, list(counts.values()), ranges=[(low, high)])
    if found is not None:
        assert all(evaluate(found, {"N": n}) == count for n, count in counts.items())
        assert all(evaluate(found, {"N": n}) >= 0 for n in range(low, high + 1))
        assert parse(to_text(found), names=["N"]) == found
        _check_rows(found, [("N", low, high)])


two = st.one_of(
    st.just(lambda n, q: n),
    st.just(lambda n, q: q),
    st.just(lambda n, q: n * q),
    st.just(lambda n, q: -(-q // 4)),
    st.just(lambda n, q: n * -(-q // 4)),
    st.just(lambda n, q: n * (q > 5)),
    st.just(lambda n, q: int(q > 6)),
    st.just(lambda n, q: min(n, q)),
    st.just(lambda n, q: int(n > q)),
    st.just(lambda n, q: q % 4),
)


@settings(deadline=None, max_examples=40)
@given(two, two, factors, factors, st.integers(0, 30))
def test_two_parameters(
    one: Callable[[int, int], int],
    other: Callable[[int, int], int],
    a: int,
    b: int,
    constant: int,
) -> None:
    points = list(product(range(1, 9), range(14)))
    counts = [a * one(*p) + b * other(*p) + constant for p in points]
    found = fit(("N", "q"), points, counts)
    assert found is not None
    assert [evaluate(found, {"N": n, "q": q}) for n, q in points] == counts
    _check_rows(found, [("N", 1, 8), ("q", 0, 13)])


def _check_rows(tree: object, ranges: list[tuple[str, int, int]]) -> None:
    names = [name for name, _, _ in ranges]
    limits = [(low, high) for _, low, high in ranges]
    rows = decompose(tree, names, limits)  # type: ignore[arg-type]
    assert all(multiplicity > 0 for multiplicity, _ in rows)
    assert len({to_text(repetition) for _, repetition in rows}) == len(rows)
    for point in product(*(range(low, high + 1) for low, high in limits)):
        bound = dict(zip(names, point, strict=True))
        values = [(m, evaluate(repetition, bound)) for m, repetition in rows]
        assert all(value >= 0 for _, value in values)
        assert sum(m * value for m, value in values) == evaluate(tree, bound)  # type: ignore[arg-type]


atoms = st.sampled_from(
    [
        "N",
        "q",
        "N*q",
        "ceil(N/4)",
        "floor(N/4)",
        "floor((N + 2)/4)",
        "ceil(q/3)",
        "(N > 2)",
        "(q == 0)",
        "max(0, N - 3)",
        "min(q, 4)",
        "floor(log2(N))",
        "floor(N*(N - 1)/2)",
        "(N - 4*floor(N/4))",
        "(q - 1)",
    ]
)
terms = st.lists(st.tuples(st.integers(-8, 8), atoms), min_size=1, max_size=4)


@untimed
@given(terms, st.integers(-5, 60), st.booleans())
@example([(3, "N"), (-12, "floor(N/4)")], 0, False)
@example([(3, "N"), (-11, "floor(N/4)")], 2, False)
@example([(9, "ceil(N/4)"), (-2, "N")], 0, True)
@example([(2, "N"), (3, "q")], -2, True)
@example([(-3, "(N > 2)"), (-2, "(q == 0)")], 5, False)
def test_rows_add_up(parts: list[tuple[int, str]], constant: int, declared: bool) -> None:
    text = " + ".join(f"{factor}*{atom}" for factor, atom in parts) + f" + {constant}"
    tree = parse(text.replace("+ -", "- "))
    limits = [("N", 1, 9), ("q", 0, 6)]
    values = [evaluate(tree, {"N": n, "q": q}) for n, q in product(range(1, 10), range(7))]
    assume(min(values) >= 0)
    if declared:
        _check_rows(tree, limits)
        return
    # Without ranges: parameters from 0 on, so the count must be one there too.
    assume(all(evaluate(tree, {"N": n, "q": q}) >= 0 for n, q in product(range(30), range(30))))
    rows = decompose(tree)
    for n, q in product(range(30), range(30)):
        row_values = [(m, evaluate(repetition, {"N": n, "q": q})) for m, repetition in rows]
        assert all(m > 0 and value >= 0 for m, value in row_values)
        assert sum(m * value for m, value in row_values) == evaluate(tree, {"N": n, "q": q})
