"""The sanity check: does what was measured make sense beside what was expected?

The result r has the error e, the accuracy that is needed is a (of the smaller, where it is a share:
of the larger one, a share of 50 % would let a result of twice h pass, and one of 100 % any), and
what was expected is the interval [l, h] for one call. The longest run x has the error e_x. A plan
may allow an interruption d of a reading, which has c calls. In this order, the gravest first:

====================  ==========================================================================
impossible            of what others report: no times have such an average and deviation
clock stands still    no two readings differ
counter too narrow    of a counter that begins anew, a reading took more than half of a round, or c
                      calls of h, with d, take one. What takes a whole round more reads the same
too few repetitions   fewer than 5: nothing is known of noise
nothing is left       r <= e: what is measured cannot be told from nothing, nor be held against
                      anything
too coarse            the systematic part of e alone is more than a, so repeating does not help
too wide              e is more than a
above the estimate    [l, h] is an estimate of the worst case, and a run took longer than h by more
                      than e_x
longest run far       [l, h] is for any call, and x is above h + d / c by more than e_x and a: by a
slower, slower        factor of 10 or more; by less. Only where that is worse than what is to be
                      said of r
far slower, slower    r is above h by more than e and a: by a factor of 10 or more; by less
far faster, faster    r is below l by more than e and a: by a factor of 10 or more; by less.
                      Below an estimate of the worst case every usual run is
agrees                none of these
nothing was expected  there is no [l, h]
interrupted           beside one of these: x is above h by more than e_x and a, and d explains it
overhead              beside one of these: measuring takes longer than what is measured
drifts                beside: the first half of the runs differs from the second
averaged              beside: [l, h] is an estimate of the worst case, and a reading holds several
                      calls, of which one may have taken longer than their average
outliers              beside: some runs are far from all others
two kinds of runs     in its place: more than one in ten are, and they are not left out of r
====================  ==========================================================================

A factor of ten is the order of magnitude: an expectation from scratch often is off by a factor of a
few, and the result is usable if that can be explained; of another order of magnitude, either the
operation or the measurement is not what it is taken for (G. Muller, Modeling and Analysis:
Measuring, 3.2.9 and 3.2.10).

A mean without outliers can agree while one run takes 21 times as long. If h was meant for any call,
that run contradicts it as a result does, and by the same orders of magnitude: with less than a
factor of 10 the result is usable if the run can be explained, with more it is not to be used before
somebody has. The explanation belongs into the plan (d), so that it is held against the next run.

The factor is r / h or l / r, 1 where r is between them; ``None`` where one of these is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Final

from wcetchar.model.interval import Interval
from wcetchar.model.measuring import (
    FEWEST,
    Accuracy,
    Case,
    Evaluation,
    Expected,
    Judged,
    JudgedReport,
    Reported,
    Uncertain,
    Verdict,
)
from wcetchar.validation.measuring import standard_errors

MAGNITUDE: Final = 10


def judge(case: Case, expected: Expected | None, evaluation: Evaluation) -> Judged:
    """All that there is to say of one case."""
    factor = longest = None
    if expected is not None:
        factor = _factor(evaluation.result.value, expected.total)
        longest = _factor(evaluation.longest.value, expected.total)
    grave = tuple(_of_measurement(case, expected, evaluation))
    told = not {Verdict.STANDS_STILL, Verdict.NOTHING_LEFT}.intersection(grave)
    against = tuple(_of_expectation(case, expected, evaluation)) if told else ()
    beside = tuple(_beside(expected, evaluation))
    return Judged(case, expected, evaluation, (*grave, *against, *beside), factor, longest)


def judge_reported(case: Case, expected: Expected | None, reported: Reported) -> JudgedReport:
    """Of an average that others reported, which has an error where deviation and repetitions are.

    impossible: times that are not below nothing cannot have that deviation with that average.
    """
    average, deviation, count = reported.average, reported.deviation, reported.repetitions
    error, verdicts = None, []
    if deviation is not None and count is not None:
        error = Uncertain(average, variance=(standard_errors(count) * deviation) ** 2 / count)
        if count < (reported.repetitions_at_least or 0):
            verdicts.append(Verdict.IMPOSSIBLE)
        elif error.error > case.accuracy.of(average):
            verdicts.append(Verdict.TOO_WIDE)
    if expected is None:
        verdicts.append(Verdict.NOT_EXPECTED)
    else:
        verdicts.append(against(error or Uncertain(average), case.accuracy, expected))
    return JudgedReport(
        reported,
        None if error is None else error.error,
        tuple(verdicts),
        None if expected is None else _factor(average, expected.total),
    )


def _of_measurement(case: Case, expected: Expected | None, found: Evaluation) -> Iterator[Verdict]:
    if found.resolution is None:
        yield Verdict.STANDS_STILL
        return
    if found.counter_round is not None:
        most = max(2 * found.longest_reading, case.may_take(expected, found.calls))
        if most >= found.counter_round:
            yield Verdict.TOO_NARROW
    if found.all_runs.count < FEWEST:
        yield Verdict.TOO_FEW
    if found.result.value <= found.result.error:
        yield Verdict.NOTHING_LEFT
    elif found.result.systematic > found.needed:
        yield Verdict.TOO_COARSE
    elif found.result.error > found.needed:
        yield Verdict.TOO_WIDE


def _of_expectation(case: Case, expected: Expected | None, found: Evaluation) -> Iterator[Verdict]:
    if expected is None:
        yield Verdict.NOT_EXPECTED
        return
    of_result = against(found.result, case.accuracy, expected)
    if expected.word is not None:
        if found.longest.value - found.longest.systematic > expected.total.high:
            yield Verdict.ABOVE_ESTIMATE
        yield of_result
        return
    interrupted = _raised(expected, case.interruption / found.calls)
    of_longest = against(found.longest, case.accuracy, interrupted)
    if of_longest is Verdict.FAR_SLOWER and of_result is not Verdict.FAR_SLOWER:
        yield Verdict.LONGEST_FAR_SLOWER
    slower = of_result in (Verdict.SLOWER, Verdict.FAR_SLOWER)
    if of_longest is Verdict.SLOWER and not slower:
        # A result that is of no use as it is remains the gravest.
        far = of_result is Verdict.FAR_FASTER
        yield from (
            (of_result, Verdict.LONGEST_SLOWER) if far else (Verdict.LONGEST_SLOWER, of_result)
        )
        return
    yield of_result
    explained = of_longest not in (Verdict.SLOWER, Verdict.FAR_SLOWER)
    if explained and not slower and above(found.longest, case.accuracy, expected.total.high):
        yield Verdict.INTERRUPTED


def against(measured: Uncertain, accuracy: Accuracy, expected: Expected) -> Verdict:
    """Of one figure: whether it agrees, or in which direction and how far it does not."""
    low, high = expected.total.low, expected.total.high
    factor = _factor(measured.value, expected.total)
    far = factor is None or factor >= MAGNITUDE
    if above(measured, accuracy, high):
        return Verdict.FAR_SLOWER if far else Verdict.SLOWER
    allowed = max(measured.error, accuracy.of(measured.value))
    if measured.value + allowed < low and expected.word is None:
        return Verdict.FAR_FASTER if far else Verdict.FASTER
    return Verdict.AGREES


def above(measured: Uncertain, accuracy: Accuracy, high: Fraction) -> bool:
    return measured.value - max(measured.error, accuracy.of(high)) > high


def _raised(expected: Expected, by: Fraction) -> Expected:
    total = expected.total
    return replace(expected, total=Interval(total.low, total.nominal, total.high + by))


def _beside(expected: Expected | None, found: Evaluation) -> Iterator[Verdict]:
    if found.resolution is not None and found.subtracted > found.result.value * found.calls:
        yield Verdict.OVERHEAD
    if found.halves is not None:
        yield Verdict.DRIFTS
    if expected is not None and expected.word is not None and found.calls > 1:
        yield Verdict.AVERAGED
    if found.outliers:
        yield Verdict.TWO_KINDS if found.two_kinds else Verdict.OUTLIERS


def _factor(value: Fraction, total: Interval) -> Fraction | None:
    low, high = total.low, total.high
    if value > high:
        return value / high if high else None
    if value < low:
        return low / value if value else None
    return Fraction(1)
