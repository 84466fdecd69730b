"""What readings come to, held against other ways to say the same."""

from __future__ import annotations

import math
import statistics
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from wcetchar.model.characterization import Word
from wcetchar.model.interval import Interval
from wcetchar.model.measuring import (
    UNUSABLE,
    Accuracy,
    Case,
    Evaluation,
    Expected,
    Reading,
    Series,
    Uncertain,
    Verdict,
    root_up,
)
from wcetchar.validation.measuring import evaluate as evaluate_with
from wcetchar.validation.measuring import outliers_of, repetitions_needed, standard_errors, steps
from wcetchar.validation.verdict import judge

TEN_PERCENT = Accuracy(share=Fraction(1, 10))

ticks = st.integers(0, 1000)
fractions = st.fractions(min_value=0, max_value=10**6, max_denominator=1000)
readings = st.builds(
    lambda start, a, inner, b: Reading(start, start + a, start + a + inner, start + a + inner + b),
    st.integers(0, 10**12),
    ticks,
    st.integers(0, 10**6),
    ticks,
)
many = st.lists(readings, min_size=1, max_size=30).map(tuple)


def series(given_readings: tuple[Reading, ...], calls: int = 1) -> Series:
    return Series("x", None, calls, given_readings, 1)


def evaluate(
    one: Series, accuracy: Accuracy, tick: Fraction = Fraction(1), **more: Fraction
) -> Evaluation:
    """With the steps of the clock that these readings alone show."""
    return evaluate_with(one, accuracy, steps(one.readings), tick, **more)


def of(*inner: int, gap: int = 1, calls: int = 1) -> Series:
    """Readings whose inner differences are these and whose gaps are all the same."""
    return series(
        tuple(Reading(0, gap, gap + one, 2 * gap + one) for one in inner),
        calls,
    )


# --- errors -----------------------------------------------------------------------------------


def test_mullers_example() -> None:
    """Modeling and Analysis: Measuring, figure 3.17: 10 +- 2 us and 14 +- 2 us."""
    start = Uncertain(Fraction(10), systematic=Fraction(2))
    end = Uncertain(Fraction(14), systematic=Fraction(2))
    duration = end - start
    assert (duration.value, duration.error) == (4, 4)
    noisy = Uncertain(Fraction(14), variance=Fraction(4)) - Uncertain(
        Fraction(10), variance=Fraction(4)
    )
    assert noisy.value == 4
    assert float(noisy.error) == pytest.approx(math.sqrt(8), abs=2e-6)


@given(*[fractions] * 6)
def test_errors_of_sums_and_differences_are_the_same_and_add(
    a: Fraction, b: Fraction, s: Fraction, t: Fraction, v: Fraction, w: Fraction
) -> None:
    one, other = Uncertain(a, s, v), Uncertain(b, t, w)
    assert (one - other).error == (one + other).error
    assert (one + other).systematic == s + t
    assert (one + other).stochastic <= one.stochastic + other.stochastic + Fraction(1, 10**6)
    assert (one + other).stochastic >= max(root_up(v), root_up(w)) - Fraction(1, 10**6)
    assert one.scaled(Fraction(-3)).systematic == 3 * s


@given(fractions)
def test_a_root_is_rounded_up_and_close(value: Fraction) -> None:
    found = root_up(value)
    assert found**2 >= value
    assert found == 0 or (found - Fraction(1, 10**6)) ** 2 < value


# --- evaluation --------------------------------------------------------------------------------


@given(many, st.integers(1, 1000))
def test_nothing_is_negative_and_the_maximum_keeps_outliers(
    given_readings: tuple[Reading, ...], calls: int
) -> None:
    found = evaluate(series(given_readings, calls), TEN_PERCENT)
    runs, usual = found.all_runs, found.usual
    assert 0 <= found.overhead[0] <= found.overhead[1] <= found.overhead[2]
    assert all(
        one.overhead == one.end_outer - one.start_outer - (one.end_inner - one.start_inner) >= 0
        for one in given_readings
    )
    assert 0 <= runs.minimum <= runs.median <= runs.maximum
    assert runs.minimum <= usual.minimum <= usual.mean <= usual.maximum <= runs.maximum
    left_out = 0 if found.two_kinds else len(found.outliers)
    assert runs.count == len(given_readings) == usual.count + left_out
    assert all(o.time == runs.maximum for o in found.outliers if o.time > usual.maximum) or any(
        o.time == runs.maximum for o in found.outliers
    )
    assert found.result.error >= 0


@given(many, st.integers(0, 10**15), st.integers(1, 50))
def test_when_it_was_measured_changes_nothing(
    given_readings: tuple[Reading, ...], later: int, calls: int
) -> None:
    moved = tuple(
        Reading(*(getattr(one, name) + later for name in one.__dataclass_fields__))
        for one in given_readings
    )
    assert evaluate(series(given_readings, calls), TEN_PERCENT) == evaluate(
        series(moved, calls), TEN_PERCENT
    )


@given(many, st.integers(2, 1000))
def test_another_unit_is_another_scale(given_readings: tuple[Reading, ...], tick: int) -> None:
    one = evaluate(series(given_readings), TEN_PERCENT)
    other = evaluate(series(given_readings), TEN_PERCENT, Fraction(tick))
    assert other.all_runs.mean == tick * one.all_runs.mean
    assert other.result.systematic == tick * one.result.systematic
    assert other.subtracted == tick * one.subtracted
    assert [o.number for o in one.outliers] == [o.number for o in other.outliers]


@given(st.lists(st.integers(0, 10**6), min_size=2, max_size=30))
def test_the_spread_is_that_of_the_statistics_module(inner: list[int]) -> None:
    found = evaluate(of(*inner, gap=0), TEN_PERCENT)
    assert found.all_runs.mean == Fraction(statistics.mean(map(Fraction, inner)))
    assert found.all_runs.median == Fraction(statistics.median(map(Fraction, inner)))
    assert float(found.all_runs.deviation) == pytest.approx(statistics.stdev(inner), abs=1e-5)


@given(many)
def test_the_least_gap_is_subtracted(given_readings: tuple[Reading, ...]) -> None:
    found = evaluate(series(given_readings), TEN_PERCENT)
    assert found.subtracted == min(gap for one in given_readings for gap in one.gaps)
    longest = max(one.inner for one in given_readings)
    assert found.all_runs.maximum == max(0, longest - found.subtracted)


def test_calls_divide_times_and_steps() -> None:
    one, ten = (
        evaluate(of(1001, 1001, 1001), TEN_PERCENT),
        evaluate(of(1001, 1001, 1001, calls=10), TEN_PERCENT),
    )
    assert (one.result.value, ten.result.value) == (1000, 100)
    assert ten.result.systematic == one.result.systematic / 10


def test_a_clocks_tolerance_is_an_error_of_its_own() -> None:
    found = evaluate(of(1001, 1001), TEN_PERCENT, clock_tolerance=Fraction(2, 100))
    assert found.result.systematic == 2 + 20
    wide = evaluate(of(1001, 1001), TEN_PERCENT, clock_tolerance=Fraction(2, 10))
    assert wide.repetitions_needed is None
    assert wide.calls_needed is None


# --- resolution --------------------------------------------------------------------------------


@given(st.integers(1, 1000), st.lists(st.integers(1, 1000), min_size=1, max_size=20))
def test_a_step_divides_every_difference(step: int, counts: list[int]) -> None:
    """Of a clock that moves from each reading to the next by some steps."""
    found = steps(of(*(count * step for count in counts), gap=step).readings)
    assert found == step


@given(many)
def test_a_step_is_no_more_than_any_difference_that_a_still_clock_shows(
    given_readings: tuple[Reading, ...],
) -> None:
    found = steps(given_readings)
    differences = [d for one in given_readings for d in (*one.gaps, one.inner) if d]
    if not differences:
        assert found is None
        return
    assert found is not None
    assert found > 0
    if any(0 in one.gaps for one in given_readings):
        assert found == min(differences)
    else:
        assert found % math.gcd(*differences) == 0


def test_a_clock_of_ten_nanoseconds_that_is_off_by_one_now_and_then() -> None:
    gaps = [20, 30, 20, 30, 20, 30, 20, 30, 20, 31]
    found = steps(
        tuple(Reading(0, gap, gap + 997 + n, 2 * gap + 997 + n) for n, gap in enumerate(gaps))
    )
    assert found == 10


@pytest.mark.parametrize("megahertz", ["24", "19.2", "32", "13", "3.579545", "0.032768", "62.5"])
@pytest.mark.parametrize("reading", [2.3, 3.1, 5.6])
def test_steps_of_a_clock_that_is_converted_to_nanoseconds(megahertz: str, reading: float) -> None:
    """Reading it takes so many of its periods; each time is a whole number of them, cut to 1 ns."""
    period = 1000 / Fraction(megahertz)

    def shown(time: Fraction) -> int:
        return math.floor(math.floor(time / period) * period)

    found = []
    for n in range(60):
        start = n * Fraction(9973, 7) * period / 100
        behind = [shown(start + k * Fraction(reading) * period) for k in range(2)]
        later = start + 40 * period
        after = [shown(later + k * Fraction(reading) * period) for k in range(2)]
        found.append(Reading(*behind, *after))
    step = steps(found)
    assert step is not None
    assert math.floor(period) <= step <= math.ceil(period) + 1


@given(st.integers(5, 40), st.permutations([0, 1, 2, 3, 5, 8, 8, 9, 13, 2, 2, 0]))
def test_a_fine_clock_with_noise_is_not_taken_for_a_coarse_one(least: int, more: list[int]) -> None:
    noisy = steps(tuple(Reading(0, least + n, 500 + n, 500 + least + 2 * n) for n in more))
    assert noisy == 1


def test_two_gaps_of_a_fine_counter_are_no_steps() -> None:
    """A miss now and then doubles what reading takes, nearly."""
    found = steps(tuple(Reading(0, gap, 1000 + gap, 1000 + 2 * gap) for gap in [20, 43] * 9))
    assert found == 1


def test_what_is_known_of_the_clock_counts_where_it_is_coarser() -> None:
    assert evaluate(of(1001), TEN_PERCENT, coarser=Fraction(42)).resolution == 42
    assert evaluate(of(1000, gap=50), TEN_PERCENT, coarser=Fraction(42)).resolution == 50


# --- outliers and repetitions --------------------------------------------------------------------


@given(st.lists(fractions, min_size=1, max_size=40), fractions, fractions)
def test_outliers_are_by_the_rule(
    times: list[Fraction], apart: Fraction, matters: Fraction
) -> None:
    middle = statistics.median(times)
    mad = statistics.median(abs(time - middle) for time in times)
    limit = max(Fraction(35, 10) * max(mad / Fraction(6745, 10000), apart), matters)
    expected = [n for n, time in enumerate(times, start=1) if abs(time - middle) > limit]
    assert [one.number for one in outliers_of(times, apart, matters)] == expected
    assert 2 * len(expected) <= len(times)


def test_one_far_run_is_an_outlier_and_stays_the_maximum() -> None:
    found = evaluate(of(*[1001, 1003, 999, 1002, 1000] * 4, 90_001), TEN_PERCENT)
    assert [(one.number, one.time) for one in found.outliers] == [(21, 90_000)]
    assert found.all_runs.maximum == 90_000
    assert found.usual.maximum == 1002
    assert found.result.value == 1000


def test_more_than_one_in_ten_are_two_kinds_and_stay_in_the_mean() -> None:
    """12 of 1000 and 8 of 5000: the mean is 2600, and neither kind's with an error of nothing."""
    found = evaluate(of(*[1001] * 12, *[5001] * 8), TEN_PERCENT)
    assert found.two_kinds
    assert len(found.outliers) == 8
    assert found.result.value == found.all_runs.mean == 2600
    assert found.result.stochastic > 900
    # Two of twenty are outliers, and a single run is no kind.
    two = evaluate(of(*[1001] * 18, *[5001] * 2), TEN_PERCENT)
    assert (two.two_kinds, two.result.value) == (False, 1000)
    one = evaluate(of(*[1001] * 4, 5001), TEN_PERCENT)
    assert (one.two_kinds, one.result.value) == (False, 1000)


def test_what_the_question_does_not_tell_apart_is_no_outlier() -> None:
    """A core that takes 1000 cycles, or 1010 where a line was missed: to 10 % the same."""
    runs = [1001] * 18 + [1011] * 2
    assert evaluate(of(*runs), TEN_PERCENT).outliers == ()
    assert evaluate(of(*runs), TEN_PERCENT).result.value == 1001
    assert len(evaluate(of(*runs), Accuracy(time=Fraction(5))).outliers) == 2


@pytest.mark.parametrize("count", [*range(2, 33), 41, 42, 61, 62, 500])
def test_standard_errors_hold_95_of_100_means(count: int) -> None:
    """By the integral of Student's density, in small steps."""
    freedom, steps_ = count - 1, 20_000
    scale = math.exp(math.lgamma((freedom + 1) / 2) - math.lgamma(freedom / 2)) / math.sqrt(
        freedom * math.pi
    )
    far = float(standard_errors(count))
    width = far / steps_
    held = 2 * sum(
        scale * (1 + ((n + 0.5) * width) ** 2 / freedom) ** (-(freedom + 1) / 2) * width
        for n in range(steps_)
    )
    assert 0.95 <= held < 0.9555


@given(fractions, fractions, fractions)
def test_more_accuracy_needs_more_repetitions(s: Fraction, a: Fraction, b: Fraction) -> None:
    less, more = sorted((a, b))
    assume(less > 0)
    few, lots = repetitions_needed(s, more), repetitions_needed(s, less)
    assert few is not None
    assert lots is not None
    assert few <= lots
    # So many are enough, and one less is not.
    assert (standard_errors(lots) * s) ** 2 / lots <= less**2
    assert lots == 5 or (standard_errors(lots - 1) * s) ** 2 / (lots - 1) > less**2
    assert repetitions_needed(s, Fraction(0)) is None


@given(st.lists(st.integers(100, 10**5), min_size=5, max_size=30))
def test_calls_that_are_needed_are_enough(inner: list[int]) -> None:
    accuracy = Accuracy(time=Fraction(3, 2))
    found = evaluate(of(*inner, gap=1), accuracy)
    if found.result.systematic < found.needed:
        assert found.calls_needed is None
        return
    assert found.calls_needed is not None
    again = evaluate(of(*inner, gap=1, calls=found.calls_needed), accuracy)
    assert again.result.systematic <= again.needed / 2


def test_runs_that_change_while_they_are_read() -> None:
    grows = evaluate(of(*range(1001, 1401, 10)), TEN_PERCENT)
    assert grows.halves == (1095, 1295)
    assert Verdict.DRIFTS in verdicts(grows, 1000, 1400)
    assert Verdict.DRIFTS in verdicts(evaluate(of(*range(1401, 1001, -10)), TEN_PERCENT), 900, 1400)
    # The same runs in another order, less than the accuracy, or too few to say.
    mixed = [1001 + 10 * (n * 17 % 40) for n in range(40)]
    assert sorted(mixed) == list(range(1001, 1401, 10))
    assert evaluate(of(*mixed), TEN_PERCENT).halves is None
    assert evaluate(of(*range(1001, 1081, 2)), TEN_PERCENT).halves is None
    assert evaluate(of(*range(1001, 1451, 50)), TEN_PERCENT).halves is None


# --- verdicts ------------------------------------------------------------------------------------


def verdicts(
    found: Evaluation, low: int | None = None, high: int = 0, word: Word | None = None
) -> tuple[Verdict, ...]:
    expected = None if low is None else expectation(low, high, word)
    return judge(Case("x", None, TEN_PERCENT, 1, 1, expected), expected, found).verdicts


def expectation(low: int, high: int, word: Word | None = None) -> Expected:
    ends = Fraction(low), Fraction(high)
    return Expected(Interval(ends[0], sum(ends) / 2, ends[1]), word=word)


STEADY = evaluate(of(*[1001] * 10), TEN_PERCENT)  # 1000 +- 2, needed +- 100


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (900, 1100, Verdict.AGREES),
        (1000, 1000, Verdict.AGREES),
        (0, 910, Verdict.AGREES),
        (0, 909, Verdict.SLOWER),
        (0, 101, Verdict.SLOWER),
        (0, 100, Verdict.FAR_SLOWER),
        (0, 0, Verdict.FAR_SLOWER),
        (1100, 2000, Verdict.AGREES),
        (1101, 2000, Verdict.FASTER),
        (9999, 10_000, Verdict.FASTER),
        (10_000, 10_000, Verdict.FAR_FASTER),
        (None, 0, Verdict.NOT_EXPECTED),
    ],
)
def test_against_the_expectation(low: int | None, high: int, verdict: Verdict) -> None:
    assert verdicts(STEADY, low, high) == (verdict,)


@given(st.integers(1, 10**6), st.integers(0, 10**6))
def test_the_factor_is_one_within_and_grows_outside(low: int, more: int) -> None:
    expected = expectation(low, low + more)
    one = judge(Case("x", None, TEN_PERCENT, 1, 1, expected), expected, STEADY)
    assert one.factor is not None
    assert one.factor >= 1
    assert (one.factor == 1) == (low <= 1000 <= low + more)
    assert one.usable == (not UNUSABLE.intersection(one.verdicts))


def test_an_estimate_of_the_worst_case_is_never_too_slow_for_a_run() -> None:
    assert verdicts(STEADY, 10**6, 10**6, Word.BOUND) == (Verdict.AGREES,)
    assert verdicts(STEADY, 0, 1000, Word.BOUND) == (Verdict.AGREES,)
    one = evaluate(of(*[1001] * 99, 9001), TEN_PERCENT)
    assert verdicts(one, 0, 1000, Word.ESTIMATE) == (
        Verdict.ABOVE_ESTIMATE,
        Verdict.AGREES,
        Verdict.OUTLIERS,
    )


def longest(
    inner: int, low: int = 900, high: int = 1100, interruption: int = 0, calls: int = 1
) -> tuple[tuple[Verdict, ...], bool]:
    """Of runs of 1000 and one of ``inner``, which is the sixth."""
    found = evaluate(
        of(*[1000 * calls + 1] * 5, inner * calls + 1, *[1000 * calls + 1] * 9, calls=calls),
        TEN_PERCENT,
    )
    expected = expectation(low, high)
    case = Case("x", None, TEN_PERCENT, 1, 1, expected, interruption=Fraction(interruption))
    one = judge(case, expected, found)
    assert found.longest_run == (6 if inner > 1000 else 1)
    assert one.longest_factor == (max(Fraction(1), Fraction(inner, high)))
    return one.verdicts, one.usable


def test_a_run_far_above_the_expectation_is_said_beside_a_mean_that_agrees() -> None:
    """1100 and a tenth of it are allowed; ten times as much is another order of magnitude."""
    slower, far = Verdict.LONGEST_SLOWER, Verdict.LONGEST_FAR_SLOWER
    agrees, outliers = Verdict.AGREES, Verdict.OUTLIERS
    assert longest(21_000) == ((far, agrees, outliers), False)
    assert longest(11_000) == ((far, agrees, outliers), False)
    assert longest(10_999) == ((slower, agrees, outliers), True)
    assert longest(1211) == ((slower, agrees, outliers), True)
    assert longest(1210) == ((agrees, outliers), True)
    # Of a result that is off itself only what is worse.
    assert longest(6000, 400, 500)[0] == (far, Verdict.SLOWER, outliers)
    assert longest(4000, 400, 500)[0] == (Verdict.SLOWER, outliers)
    assert longest(9000, 50, 60)[0] == (Verdict.FAR_SLOWER, outliers)
    assert longest(9000, 2000, 3000)[0] == (slower, Verdict.FASTER, outliers)
    assert longest(90_000, 20_000, 30_000)[0] == (Verdict.FAR_FASTER, slower, outliers)


def test_an_interruption_of_the_plan_explains_a_run_and_no_more_than_that() -> None:
    agrees, interrupted, outliers = Verdict.AGREES, Verdict.INTERRUPTED, Verdict.OUTLIERS
    assert longest(21_000, interruption=20_000) == ((agrees, interrupted, outliers), True)
    assert longest(60_000, interruption=20_000)[0][0] is Verdict.LONGEST_SLOWER
    assert longest(211_000, interruption=20_000)[0][0] is Verdict.LONGEST_FAR_SLOWER
    # Of a reading, not of each call in it.
    assert longest(21_000, interruption=200_000, calls=10)[0][1] is interrupted
    assert longest(21_000, interruption=20_000, calls=10)[0][0] is Verdict.LONGEST_SLOWER
    assert longest(1000, interruption=20_000)[0] == (agrees,)


def test_a_share_of_the_accuracy_never_excuses_any_factor() -> None:
    """All of what was measured, as accuracy, would be more than any difference to less."""
    for share in (1, 2, 50):
        accuracy = Accuracy(share=Fraction(share))
        found = evaluate(of(*[10**6 + 1] * 10), accuracy)
        expected = expectation(100, 100)
        (first, *_) = judge(Case("x", None, accuracy, 1, 1, expected), expected, found).verdicts
        assert first is Verdict.FAR_SLOWER


def test_of_the_measurement_itself() -> None:
    still = evaluate(of(0, 0, gap=0), TEN_PERCENT)
    assert verdicts(still, 1, 2) == (Verdict.STANDS_STILL,)
    assert verdicts(evaluate(of(*[1001] * 4), TEN_PERCENT), 1000, 1000)[0] is Verdict.TOO_FEW
    nothing = evaluate(of(*[50] * 9, gap=50), TEN_PERCENT)
    assert verdicts(nothing, 1, 2)[0] is Verdict.NOTHING_LEFT
    assert Verdict.AGREES not in verdicts(nothing, 0, 0)
    coarse = evaluate(of(*[300] * 9, gap=20), TEN_PERCENT)  # 280 +- 40, needed +- 28
    assert verdicts(coarse, 280, 280)[0] is Verdict.TOO_COARSE
    wide = evaluate(of(*(500 + 100 * (n * 3 % 10) for n in range(10))), TEN_PERCENT)
    assert verdicts(wide, 1000, 1400) == (Verdict.TOO_WIDE, Verdict.AGREES)
    assert wide.repetitions_needed is not None
    assert wide.repetitions_needed > 10
    dear = evaluate(of(*[1700] * 9, gap=1000, calls=1), replace(TEN_PERCENT, share=Fraction(4)))
    assert Verdict.OVERHEAD in verdicts(dear, 700, 700)
    two = evaluate(of(*[1001, 1003, 999] * 10, *[5001] * 5), TEN_PERCENT)
    assert Verdict.TWO_KINDS in verdicts(two, 1000, 1000)
    averaged = evaluate(of(*[1001] * 10, calls=10), TEN_PERCENT)
    assert Verdict.AVERAGED in verdicts(averaged, 0, 1000, Word.BOUND)
    assert Verdict.AVERAGED not in verdicts(averaged, 0, 1000)
