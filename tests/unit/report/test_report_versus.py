"""Verdicts in words, and formulas side by side."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from wcetchar import formula
from wcetchar.model.access import AccessVector, CoreEvent, EventKind
from wcetchar.model.characterization import Blocking, Counts, TraceSection, Word
from wcetchar.model.versus import Against, Basis, Metric, Times, Verdict
from wcetchar.report.versus import Line, claim, exceeds, instructions_of
from wcetchar.report.versus_text import change_text

AGAINST = Against(
    1,
    Verdict.EQUAL,
    Basis.EVERY_POINT,
    10,
    0,
    0,
    Times((0,), (Fraction(1), Fraction(1))),
    (Word.ESTIMATE, Word.ESTIMATE),
)
LINE = Line(
    "s",
    Metric.TOTAL,
    0,
    "a",
    "b",
    Verdict.NEVER_FASTER,
    Basis.EVERY_POINT,
    "",
    10,
    10,
    1,
    0,
    (),
    Fraction(100),
    Fraction(105),
    Fraction(5, 100),
    "estimate",
    "estimate",
    "",
    "",
)


@pytest.mark.parametrize(
    ("verdict", "basis", "checked", "slower", "faster", "size", "words"),
    [
        (Verdict.EQUAL, Basis.EVERY_POINT, 10, 0, 0, 10, "equal at all 10 points"),
        (Verdict.NEVER_FASTER, Basis.EVERY_POINT, 10, 10, 0, 10, "slower at all 10 points"),
        (
            Verdict.NEVER_FASTER,
            Basis.EVERY_POINT,
            10,
            1,
            0,
            10,
            "never faster, slower at 1 of 10 points",
        ),
        (
            Verdict.NEVER_SLOWER,
            Basis.EVERY_POINT,
            10,
            0,
            9,
            10,
            "never slower, faster at 9 of 10 points",
        ),
        (
            Verdict.DEPENDS,
            Basis.EVERY_POINT,
            10,
            3,
            4,
            10,
            "slower at 3, faster at 4 of 10 points",
        ),
        (Verdict.NEVER_SLOWER, Basis.EVERY_POINT, 1, 0, 1, 1, "faster"),
        (
            Verdict.NEVER_SLOWER,
            Basis.FORMULAS,
            4,
            0,
            4,
            10**6,
            "never slower, by the formulas over the whole range",
        ),
        # Never slower where it was checked is no claim about the range.
        (
            Verdict.NEVER_SLOWER,
            Basis.SOME_POINTS,
            4,
            0,
            4,
            10**6,
            "slower at 0, faster at 4 of 4 points checked, of 1,000,000",
        ),
    ],
)
def test_claims(
    verdict: Verdict, basis: Basis, checked: int, slower: int, faster: int, size: int, words: str
) -> None:
    against = replace(
        AGAINST, verdict=verdict, basis=basis, checked=checked, slower=slower, faster=faster
    )
    assert claim(against, size) == words


def test_instructions_are_one_formula() -> None:
    def row(repetition: str, number: int) -> TraceSection:
        vector = AccessVector({CoreEvent(".text", EventKind.ALU): number})
        return TraceSection(Blocking(), vector, formula.parse(repetition))

    counts = Counts(rows=(row("N", 2), row("1", 5), row("N", 1), row("1", 4), row("N - 1", 1)))
    assert instructions_of(counts) == "9 + 3*N + (N - 1)"
    assert instructions_of(Counts(rows=(row("ceil(N/4)", 7), row("M", 1), row("1", 0)))) == (
        "7*ceil(N/4) + M"
    )
    assert instructions_of(Counts()) == "0"


def test_changes_are_relative_to_the_base() -> None:
    assert change_text(Fraction(1, 3)) == "+33.3 %"
    assert change_text(Fraction(-1, 2)) == "-50.0 %"
    assert change_text(Fraction(0)) == "+0.0 %"
    assert change_text(None) == "new"


@pytest.mark.parametrize(
    ("percent", "change", "failing"),
    [
        (0, Fraction(5, 100), True),
        (5, Fraction(5, 100), False),
        (Fraction(499, 100), Fraction(5, 100), True),
        (0, Fraction(0), False),
        (0, Fraction(-1), False),
        (1000, None, True),
    ],
)
def test_the_gate_is_exact(percent: int | Fraction, change: Fraction | None, failing: bool) -> None:
    assert exceeds(replace(LINE, change=change), Fraction(percent)) is failing


def test_slower_by_the_formulas_fails_where_no_checked_point_shows_it() -> None:
    line = replace(LINE, change=Fraction(0), basis=Basis.FORMULAS)
    assert exceeds(line, Fraction(0))
    assert not exceeds(line, Fraction(1))
