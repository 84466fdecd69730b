"""Rows over all cases count in each case what was counted there."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from wcetchar.analysis.cases import Cases, Row
from wcetchar.formula import evaluate, to_text
from wcetchar.model.expression import ONE, Name
from wcetchar.model.service import Parameter, ParameterKind

_SIZES = st.lists(st.integers(1, 3), min_size=1, max_size=3)
_REPETITIONS = (ONE, Name("N"))


def _cases(sizes: list[int]) -> tuple[Cases, list[str]]:
    names = [f"c{i}" for i in range(len(sizes))]
    kinds = [
        Parameter(name, ParameterKind.CASE, 0, size - 1, "")
        for name, size in zip(names, sizes, strict=True)
    ]
    return Cases([Parameter("N", ParameterKind.STATE, 0, 9, ""), *kinds]), names


@given(_SIZES, st.data())
def test_the_sum_of_the_rows_is_what_was_counted(sizes: list[int], data: st.DataObject) -> None:
    cases, names = _cases(sizes)
    counts = {
        (case, packed, repetition): data.draw(st.integers(0, 3))
        for case in cases.all
        for packed, repetition in product(range(2), _REPETITIONS)
    }
    rows: dict[tuple[int, ...], list[Row]] = {case: [] for case in cases.all}
    for (case, packed, repetition), number in counts.items():
        if number:
            rows[case].append((packed, number, repetition))
    together = list(cases.together(rows))
    assert all(number > 0 for _, number, _ in together)
    for case in cases.all:
        values = {"N": 5, **dict(zip(names, case, strict=True))}
        for packed in range(2):
            found = sum(n * evaluate(r, values) for p, n, r in together if p == packed)
            counted = (counts[case, packed, r] * evaluate(r, values) for r in _REPETITIONS)
            assert found == sum(counted)


def test_what_depends_on_one_parameter_alone_is_one_row_for_each_of_its_values() -> None:
    cases, _ = _cases([2, 3])
    rows: dict[tuple[int, ...], list[Row]] = {
        case: [(0, 4 + 2 * case[0] + 3 * (case[1] == 2), ONE)] for case in cases.all
    }
    shown = {(n, to_text(r)) for _, n, r in cases.together(rows)}
    assert shown == {(4, "1"), (2, "c0 == 1"), (3, "c1 == 2")}
