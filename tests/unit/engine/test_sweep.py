"""A service over a grid, against the estimate at each of its points."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
import test_cases
import test_refills
from hypothesis import given
from hypothesis import strategies as st
from test_cases import Counted, counted
from test_chains import following, kernels
from test_interference import SERVICE
from test_pricing import cycles
from test_pricing import kernel as plain
from test_wait_prices import ALU, PLACED, board, ram

from wcetchar.engine import Following, PriceVector, estimate_given, price_vector
from wcetchar.engine import sweep as engine
from wcetchar.engine.slopes import changes
from wcetchar.engine.sweep import Grid, followed_by, sweep
from wcetchar.errors import InputError
from wcetchar.formula import parse
from wcetchar.model.characterization import (
    STALL_EDITION,
    Characterization,
    Counts,
    FetchedLines,
    ServiceCharacterization,
    TablePoint,
)
from wcetchar.model.hardware import Interference
from wcetchar.model.service import ParameterKind
from wcetchar.model.sweep import WORDS, Axis, Figures, Surface


def agree(
    characterization: Characterization,
    prices: PriceVector,
    swept: Mapping[str, Sequence[int]],
    fixed: Mapping[str, int] | None = None,
) -> None:
    """All figures and words of the first service are those of the estimates."""
    (service, *_) = characterization.services
    cases = {
        p.name: range(p.minimum, p.maximum + 1)
        for p in service.parameters
        if p.kind is ParameterKind.CASE and p.name not in swept and p.name not in (fixed or {})
    }
    known = Following(characterization, prices, fixed)
    found = sweep(Grid(service, fixed or {}, swept, cases), prices, known)
    for place in np.ndindex(*(len(values) for values in swept.values())):
        at = {name: values[k] for (name, values), k in zip(swept.items(), place, strict=True)}
        one = estimate_given(service, prices, {**(fixed or {}), **at}, known)
        for times, exact in (
            (found.total, one.total),
            (found.interrupts, one.interrupts_held_off),
            (found.preemption, one.preemption_held_off),
        ):
            assert Fraction(int(times.ticks[place]), times.per_ns) == exact.high
        assert WORDS[found.words[place]] is one.word


prices = st.integers(1, 9)


@given(counted, counted, prices, prices, st.booleans())
def test_cases_that_have_no_value(
    total: Counted, masked: Counted, near: int, far: int, given_one: bool
) -> None:
    kernel = test_cases.kernel(test_cases.service(total, masked))
    vector = price_vector(kernel, *test_cases.hardware(near, far))
    agree(kernel, vector, {"N": [0, 2, 3]}, {"case": 1} if given_one else None)
    agree(kernel, vector, {"N": range(4), "case": range(3)})
    agree(kernel, vector, {"case": [2, 0]}, {"N": 2})


@given(counted, counted, prices, prices)
def test_words_of_what_was_observed(total: Counted, masked: Counted, near: int, far: int) -> None:
    service = test_cases.service(total, masked)
    seen = replace(service.evidence, fitted=((0, 1), (2, 3)), held_out=((1, 1),))
    kernel = test_cases.kernel(replace(service, evidence=seen))
    vector = price_vector(kernel, *test_cases.hardware(near, far))
    agree(kernel, vector, {"N": range(4)})
    agree(kernel, vector, {"case": range(3), "N": [3, 1]})


@given(kernels)
def test_what_goes_on_with_it(kernel: Characterization) -> None:
    known = following(kernel)
    for number, service in enumerate(kernel.services):
        first = replace(kernel, services=(service, *kernel.services))
        if "N" not in followed_by(kernel, service, cached=False):
            agree(replace(first, services=(service, *_but(kernel, number))), known.prices, _ALL)
        for n in range(4):
            agree(
                replace(first, services=(service, *_but(kernel, number))),
                known.prices,
                {},
                {"N": n},
            )


_ALL = {"N": range(4)}


def _but(kernel: Characterization, number: int) -> tuple[ServiceCharacterization, ...]:
    return (*kernel.services[:number], *kernel.services[number + 1 :])


def table() -> Characterization:
    points = tuple(TablePoint((n,), test_refills.formula(9 * n, 0).rows) for n in (1, 2, 4))
    prints = (
        replace(test_refills.footprint(0), points=((1,), (2,))),
        replace(test_refills.footprint(0, 1, 2), points=((4,),)),
    )
    return test_refills.swept(FetchedLines(Counts(points=points), prints))


def test_lines_of_a_cache() -> None:
    kernel, placed = table(), test_refills.where_it_was()
    for on in (test_refills.board(), test_refills.board(sets=2)):
        agree(kernel, price_vector(kernel, on, placed), {"N": [1, 2, 3, 4]})


def test_interference_that_comes_whole_times() -> None:
    on = board(ram(4, refresh=Interference(cycles(6), cycles(60))), buffer=0)
    kernel = replace(plain(ALU), services=(SERVICE,), stalls=STALL_EDITION, successions=True)
    agree(kernel, price_vector(kernel, on, PLACED), {"N": range(61)})


def test_tables() -> None:
    service = test_cases.service(dict.fromkeys(range(3), (5, 4, 3)), {0: (2, 0, 1)})
    points = tuple(
        TablePoint((case, n), test_cases.rows({0: (n + case, 1, 0)}).rows[:1])
        for case, n in itertools.product((0, 2), (0, 3))
    )
    once = tuple(
        TablePoint(p.values, tuple(replace(row, repetition=_ONE) for row in p.rows)) for p in points
    )
    kernel = test_cases.kernel(replace(service, counts=Counts(points=once)))
    vector = price_vector(kernel, *test_cases.hardware(3, 7))
    agree(kernel, vector, {"N": range(4), "case": range(3)})
    agree(kernel, vector, {"N": range(4)})


_ONE = parse("1")


def test_too_many_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "MOST_ONE_BY_ONE", 3)
    kernel, placed = table(), test_refills.where_it_was()
    vector = price_vector(kernel, test_refills.board(), placed)
    with pytest.raises(InputError, match="4 points on one hardware"):
        agree(kernel, vector, {"N": [1, 2, 3, 4]})


numbers = st.lists(st.fractions(0, 50, max_denominator=8), min_size=1, max_size=4, unique=True)


@given(numbers, numbers, st.data())
def test_changes_against_every_pair_of_neighbours(
    first: list[Fraction], second: list[Fraction], data: st.DataObject
) -> None:
    axes = [
        Axis("a", "ns", tuple(sorted(first)), True),
        Axis("b", "", tuple(sorted(second)), False),
    ]
    shape = tuple(len(axis.numbers) for axis in axes)
    size = shape[0] * shape[1]
    large = data.draw(st.sampled_from([100, 2**62, 2**70]))
    ticks = data.draw(st.lists(st.integers(0, large), min_size=size, max_size=size))
    per_ns = data.draw(st.lists(st.integers(1, 1000), min_size=shape[0], max_size=shape[0]))
    kind = object if large > 2**63 else np.int64
    total = Figures(
        np.array(ticks, dtype=kind).reshape(shape), np.array(per_ns).reshape(shape[0], 1)
    )
    words = np.zeros(shape, dtype=np.uint8)
    surface = Surface("s", (True, True), total, total, total, words)
    found = {c.axis.name: c for c in changes(surface, axes)}
    for number, axis in enumerate(axes):
        slopes = []
        for place in np.ndindex(*shape):
            if place[number] + 1 < shape[number]:
                after = tuple(k + (n == number) for n, k in enumerate(place))
                step = axis.numbers[place[number] + 1] - axis.numbers[place[number]]
                slopes.append((total.at(after) - total.at(place)) / step)
        if slopes:
            assert (found[axis.name].least, found[axis.name].most) == (min(slopes), max(slopes))
        else:
            assert axis.name not in found


@given(st.lists(st.integers(-5, 2**64), min_size=1), st.integers(1, 999))
def test_figures_round_up(ticks: list[int], per_ns: int) -> None:
    array = np.array(ticks, dtype=object if max(ticks) >= 2**63 else np.int64)
    parts = Figures(array, np.array([per_ns])).rounded_up(1000)
    assert parts.tolist() == [-(-1000 * one // per_ns) for one in ticks]
