"""Verdicts on figures: just below, at and just above a budget or a permitted growth, exactly."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from wcetchar import store
from wcetchar.model.budget import Baseline, Budget, Budgets, Failure, Figure, Held
from wcetchar.model.characterization import Characterization, Word
from wcetchar.pipeline.budget import check, means

TIME = st.fractions(0, 10**6, max_denominator=10**4)
SHARE = st.fractions(0, 3, max_denominator=10**4)
LEAST = Fraction(1, 10**40)
WORDS = (Word.BOUND, Word.HIGH_WATER_MARK, Word.ESTIMATE)  # the best first


def held(time: Fraction, limit: Fraction | None = None, **more: object) -> Held:
    at_most = {} if limit is None else {Figure.TOTAL: limit}
    one = Held("s", Figure.TOTAL, Budget("s", at_most), time, Word.BOUND)
    return replace(one, **more)


@given(TIME, st.sampled_from((-1, 0, 1)))
def test_a_budget(time: Fraction, above: int) -> None:
    found = held(time + above * LEAST, time)
    assert found.failures == ((Failure.OVER,) if above > 0 else ())


@given(TIME, SHARE, st.sampled_from((-1, 0, 1)))
def test_growth(base: Fraction, share: Fraction, above: int) -> None:
    now = base + base * share + above * LEAST
    found = held(now, baseline=Baseline(base, now), may_grow=share)
    assert found.failures == ((Failure.GREW,) if above > 0 else ())


@given(TIME, TIME, SHARE)
def test_growth_by_whole_numbers(base: Fraction, now: Fraction, share: Fraction) -> None:
    """The same inequality, multiplied out."""
    found = held(now, baseline=Baseline(base, now), may_grow=share)
    left = now.numerator * base.denominator * share.denominator
    right = base.numerator * now.denominator * (share.numerator + share.denominator)
    assert found.of_growth == ((Failure.GREW,) if left > right else ())
    change = found.baseline.change if found.baseline is not None else None
    if change is not None:
        assert (change > share) == (left > right)
    else:
        assert base == 0 < now


@given(st.sampled_from(WORDS), st.sampled_from(WORDS), TIME)
def test_words(word: Word, asked: Word, time: Fraction) -> None:
    budget = Budget("s", {Figure.TOTAL: time}, word=asked)
    found = held(time, budget=budget, word=word)
    weaker = WORDS.index(word) > WORDS.index(asked)
    assert found.failures == ((Failure.WEAKER_WORD,) if weaker else ())


@given(TIME, TIME, st.booleans(), st.booleans())
def test_what_has_no_figure_or_no_bound_never_passes(
    limit: Fraction, time: Fraction, known: bool, grows: bool
) -> None:
    baseline = Baseline(time, time) if grows else None
    found = held(time, limit, problem="why", baseline=baseline, may_grow=limit)
    if not known:
        found = replace(found, time=None)
    assert found.of_budget
    if not known:
        assert found.of_budget == (Failure.NO_FIGURE,)
        assert found.of_growth == ((Failure.NO_FIGURE,) if grows else ())


@cache
def published() -> Characterization:
    return store.load_characterization("renaux2010")


def exact(values: int) -> Fraction:
    """Of the paper's service on its first platform, by `estimate`."""
    from wcetchar.pipeline import estimate

    request = estimate.Request.on_one(
        "renaux2010", "renaux2010/platform1", "renaux2010/map1", (), {"N": values}
    )
    (found,) = estimate.run(request)
    return found.total.high


@given(st.integers(0, 65535), st.sampled_from((-1, 0, 1)))
def test_from_the_file_to_the_verdict(values: int, above: int) -> None:
    limit = exact(values) - above * LEAST
    budget = Budget("CreateThread", {Figure.TOTAL: limit}, {"N": values})
    budgets = Budgets("", (budget,), "renaux2010/platform1", "renaux2010/map1")
    (found,) = check("renaux2010", budgets, load=lambda name: published()).held
    assert bool(found.failures) == (above > 0)


NAME = st.text("ab*?[]/", max_size=6)


@given(NAME, NAME)
def test_patterns(pattern: str, name: str) -> None:
    """``*`` and ``?`` alone have a meaning, of the name and of the call that it is a part of."""

    def like(pattern: str, name: str) -> bool:
        if not pattern:
            return not name
        if pattern[0] == "*":
            return like(pattern[1:], name) or (bool(name) and like(pattern, name[1:]))
        return bool(name) and pattern[0] in ("?", name[0]) and like(pattern[1:], name[1:])

    whole = name.partition("/")[0]
    wanted = like(pattern, name) or like(pattern, whole)
    assert means(Budget(pattern), name) == (wanted or pattern in (name, whole))


def test_a_pattern_with_many_stars_takes_no_time() -> None:
    assert not means(Budget("*a" * 40 + "c"), "a" * 5000)


@pytest.mark.parametrize("but", ["walk", "walk/call"])
def test_names_that_are_left_out(but: str) -> None:
    budget = Budget("*", but=(but,))
    assert not means(budget, "walk/call")
    assert means(budget, "copy")
    assert means(budget, "walk/resume") == (but != "walk")
