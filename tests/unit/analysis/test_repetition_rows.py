"""Published rows add up to what was observed, at every observed point, class by class."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from wcetchar import formula
from wcetchar.analysis.cases import Point
from wcetchar.analysis.repetition import Observations, Packed, evidence_points, publish
from wcetchar.analysis.successions import Successions
from wcetchar.counting.columns import event_code, key_of, pack, unpack
from wcetchar.model.access import AccessClass, CoreEvent, EventKind, Operation, Succession
from wcetchar.model.characterization import Blocking, Counts
from wcetchar.model.service import Parameter, ParameterKind

NAMES = ("code", "fast")
FORMS = [
    Blocking(),
    Blocking(interrupts=True),
    Blocking(preemption=True),
    Blocking(unknown=True),
    Blocking(priority=0x20),
    Blocking(priority=0x20, unknown=True),
]
SHAPES: list[Callable[[int, int], int]] = [
    lambda n, m: 0,
    lambda n, m: 1,
    lambda n, m: 7,
    lambda n, m: n,
    lambda n, m: n - 1,
    lambda n, m: 3 * n + 5,
    lambda n, m: 2 * n - 2,
    lambda n, m: -(-n // 4),
    lambda n, m: n // 4,
    lambda n, m: n % 2,
    lambda n, m: (n + 1) % 2,
    lambda n, m: int(n > 3),
    lambda n, m: int(n == 1),
    lambda n, m: m,
    lambda n, m: n * m,
    lambda n, m: 2 * m + n,
    lambda n, m: (7 * n * n + 3) % 11,  # no formula
    lambda n, m: 11 - (7 * n * n + 3) % 11,  # but its sum with the one before has one
]


def code(form: int, section: int, event: int, instruction: int) -> int:
    return int(pack(form, event_code(section, event), instruction))  # type: ignore[arg-type]


def parameters(counts: int) -> tuple[Parameter, ...]:
    ranges = [(1, 12), (1, 6)][:counts]
    return tuple(
        Parameter("NM"[k], ParameterKind.STATE, low, high, "")
        for k, (low, high) in enumerate(ranges)
    )


Choice = tuple[int, int, int, int, int]

choices = st.lists(
    st.tuples(
        st.integers(0, len(FORMS) - 1),
        st.integers(0, 1),
        st.integers(0, 3),
        st.integers(0, 5),
        st.integers(0, len(SHAPES) - 1),
    ),
    min_size=1,
    max_size=8,
)


def observed(rows: list[Choice], count: int) -> dict[Point, Packed]:
    ranges = [range(p.minimum, p.maximum + 1) for p in parameters(count)]
    found: dict[Point, Packed] = {}
    for point in itertools.product(*ranges):
        n, m = (*point, 1, 1)[:2]
        counts: Counter[int] = Counter()
        for form, section, event, instruction, shape in rows:
            counts[code(form, section, event, instruction)] += SHAPES[shape](n, m)
        found[point] = dict(+counts)
    return found


def totals(packed: Packed) -> Counter[object]:
    found: Counter[object] = Counter()
    for entry, count in packed.items():
        form, key, _ = unpack(entry)
        found[FORMS[form], key_of(key, NAMES)] += count
    return found


def published(counts: Counts, point: Point, names: tuple[str, ...]) -> Counter[object]:
    found: Counter[object] = Counter()
    if counts.is_formula:
        rows = counts.rows
    else:
        (rows,) = [p.rows for p in counts.points if p.values == point]
    for row in rows:
        times = formula.evaluate(row.repetition, dict(zip(names, point, strict=True)))
        assert times >= 0
        for key, count in row.vector.items():
            assert count > 0
            found[row.blocking, key] += times * count
    return +found


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(choices, st.integers(0, 2))
def test_rows_add_up(rows: list[Choice], count: int) -> None:
    observations = observed(rows, count)
    names = tuple(p.name for p in parameters(count))
    counts = publish(observations, parameters(count), FORMS, NAMES)
    for point, packed in observations.items():
        assert published(counts, point, names) == totals(packed)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(choices, st.randoms(use_true_random=False))
def test_neither_order_nor_numbering_of_blocking_forms_matters(
    rows: list[Choice], rng: random.Random
) -> None:
    observations = observed(rows, 1)
    first = publish(observations, parameters(1), FORMS, NAMES)
    order = list(range(len(FORMS)))
    rng.shuffle(order)
    forms = [FORMS[old] for old in order]
    renumbered: dict[Point, Packed] = {}
    points = list(observations)
    rng.shuffle(points)
    for point in points:
        entries = list(observations[point].items())
        rng.shuffle(entries)
        renumbered[point] = {
            int(pack(order.index(unpack(e)[0]), *unpack(e)[1:])): n  # type: ignore[arg-type]
            for e, n in entries
        }
    assert publish(renumbered, parameters(1), forms, NAMES) == first


def test_a_sum_has_a_formula_where_its_parts_have_none() -> None:
    rows = [(0, 0, 0, 1, len(SHAPES) - 2), (0, 0, 0, 2, len(SHAPES) - 1), (1, 0, 0, 1, 3)]
    counts = publish(observed(rows, 1), parameters(1), FORMS, NAMES)
    assert counts.is_formula
    assert published(counts, (5,), ("N",)) == totals(observed(rows, 1)[5,])
    alone = publish(observed(rows[:1], 1), parameters(1), FORMS, NAMES)
    assert not alone.is_formula
    assert len(alone.points) == 12


def test_points_without_any_count() -> None:
    rows = [(0, 0, 0, 1, len(SHAPES) - 2)]
    observations = observed(rows, 1)
    observations[3,] = {}
    counts = publish(observations, parameters(1), FORMS, NAMES)
    assert published(counts, (3,), ("N",)) == Counter()


@pytest.mark.parametrize("seed", range(20))
def test_several_windows_at_one_point(seed: int) -> None:
    """The elementwise maximum, whatever the order; at least each of them, class by class."""
    rng = random.Random(seed)
    windows = [
        {code(rng.randrange(2), 0, rng.randrange(3), k): rng.randint(1, 5) for k in range(4)}
        for _ in range(4)
    ]
    seen = []
    for _ in range(3):
        rng.shuffle(windows)
        observations = Observations()
        for window in windows:
            observations.add((1,), dict(window))
        seen.append((observations.points, observations.differing, observations.windows))
        for window in windows:
            most = totals(observations.points[1,])
            assert all(most[key] >= count for key, count in totals(window).items())
    assert seen[0] == seen[1] == seen[2]


CASES = (
    Parameter("case", ParameterKind.CASE, 0, 2, "of no order"),
    *parameters(1),
    Parameter("way", ParameterKind.CASE, 3, 4, "nor these"),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(choices, min_size=6, max_size=6), st.sets(st.integers(0, 5), max_size=5))
def test_each_case_has_formulas_of_its_own(rows: list[list[Choice]], unseen: set[int]) -> None:
    """Whatever the cases count, the rows over all add up in each; a case that was not seen counts
    nothing, and formulas of one case take nothing from another."""
    observations: dict[Point, Packed] = {}
    numbered = [(case, way) for case in range(3) for way in (3, 4)]
    for number, (case, way) in enumerate(numbered):
        if number not in unseen:
            for (n,), counts in observed(rows[number], 1).items():
                observations[case, n, way] = counts
    counts = publish(observations, CASES, FORMS, NAMES)
    names = tuple(p.name for p in CASES)
    for point, packed in observations.items():
        assert published(counts, point, names) == totals(packed)
    alone = [
        publish(observed(rows[k], 1), parameters(1), FORMS, NAMES).is_formula
        for k in range(6)
        if k not in unseen
    ]
    assert counts.is_formula == all(alone)
    if counts.is_formula:
        for number, (case, way) in enumerate(numbered):
            if number in unseen:
                assert published(counts, (case, 5, way), names) == Counter()
    fitted, held = evidence_points(list(observations), CASES)
    assert sorted((*fitted, *held)) == sorted(observations)
    for case, way in {(case, way) for case, _, way in observations}:
        held_here = [point for point in held if point[::2] == (case, way)]
        assert len(held_here) == len(
            evidence_points([(n,) for n in range(1, 13)], parameters(1))[1]
        )


def test_what_cases_share_is_said_once() -> None:
    case = Parameter("case", ParameterKind.CASE, 0, 1, "")
    counts = publish(
        {(n, c): {code(0, 0, 0, 1): 3 * n + 5 + 2 * c} for n in range(1, 9) for c in (0, 1)},
        (*parameters(1)[:1], case),
        FORMS,
        NAMES,
    )
    said = {formula.to_text(r.repetition): sum(n for _, n in r.vector.items()) for r in counts.rows}
    assert said == {"1": 5, "N": 3, "case == 1": 2}


@pytest.mark.parametrize("whole", [True, False])
def test_successions_without_a_formula_are_the_dearest_together(whole: bool) -> None:
    """What lies between depends on the parameter, and how many there are does not (or does so in a
    way that has no formula: then there is a table)."""
    numbers = Successions(NAMES)
    access = AccessClass("fast", Operation.READ, 32)
    keys = [
        Succession(access, ((CoreEvent("code", EventKind.ALU), n),), 0, False, access)
        for n in (1, 2)
    ]
    steady = Succession(None, (), 1, False, access)
    observations: dict[Point, Packed] = {}
    for n in range(1, 13):
        odd = (7 * n * n + 3) % 11
        other = 11 - odd if whole else odd % 3
        counts = {keys[0]: odd, keys[1]: other, steady: n}
        observations[(n,)] = {
            int(pack(0, numbers.code(key), 5)): count  # type: ignore[arg-type]
            for key, count in counts.items()
            if count
        }
    counts = publish(observations, parameters(1), FORMS, NAMES, numbers)
    assert counts.is_formula == whole
    if whole:
        found = {
            (formula.to_text(row.repetition), key): count
            for row in counts.rows
            for key, count in row.vector.items()
        }
        assert found == {("1", keys[0].dearest): 11, ("N", steady): 1}
