"""The sanity check: does what was measured make sense beside what was expected?

The result r has the error e, the accuracy that is needed is a, and what was expected is the
interval [l, h]. In this order, the gravest first:

====================  ==========================================================================
clock stands still    no two readings differ
too few repetitions   fewer than 5: nothing is known of noise
nothing is left       r <= e: what is measured cannot be told from nothing, nor be held against
                      anything
too coarse            the systematic part of e alone is more than a, so repeating does not help
too wide              e is more than a
above the estimate    [l, h] is an estimate of the worst case, and a run took longer than h by more
                      than the systematic part of e
far slower, slower    r is above h by more than e and a: by a factor of 10 or more; by less
far faster, faster    r is below l by more than e and a: by a factor of 10 or more; by less.
                      Below an estimate of the worst case every usual run is
agrees                none of these
nothing was expected  there is no [l, h]
overhead              beside one of these: measuring takes longer than what is measured
outliers              beside: some runs are far from all others
two kinds of runs     in its place: more than one in ten are
====================  ==========================================================================

A factor of ten is the order of magnitude: an expectation from scratch often is off by a factor of a
few, and the result is usable if that can be explained; of another order of magnitude, either the
operation or the measurement is not what it is taken for (G. Muller, Modeling and Analysis:
Measuring, 3.2.9 and 3.2.10).

The factor is r / h or l / r, 1 where r is between them; ``None`` where one of these is 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.model.measuring import FEWEST, Case, Evaluation, Expected, Judged, Verdict

MAGNITUDE: Final = 10
_MANY: Final = Fraction(1, 10)


def judge(case: Case, expected: Expected | None, evaluation: Evaluation) -> Judged:
    """All that there is to say of one case."""
    factor = None if expected is None else _factor(evaluation.result.value, expected)
    grave = tuple(_of_measurement(evaluation))
    told = not {Verdict.STANDS_STILL, Verdict.NOTHING_LEFT}.intersection(grave)
    against = tuple(_of_expectation(evaluation, expected, factor)) if told else ()
    return Judged(case, expected, evaluation, (*grave, *against, *_beside(evaluation)), factor)


def _of_measurement(found: Evaluation) -> Iterator[Verdict]:
    if found.resolution is None:
        yield Verdict.STANDS_STILL
        return
    if found.all_runs.count < FEWEST:
        yield Verdict.TOO_FEW
    if found.result.value <= found.result.error:
        yield Verdict.NOTHING_LEFT
    elif found.result.systematic > found.needed:
        yield Verdict.TOO_COARSE
    elif found.result.error > found.needed:
        yield Verdict.TOO_WIDE


def _of_expectation(
    found: Evaluation, expected: Expected | None, factor: Fraction | None
) -> Iterator[Verdict]:
    if expected is None:
        yield Verdict.NOT_EXPECTED
        return
    total, result = expected.total, found.result.value
    allowed = max(found.result.error, found.needed)
    longest = found.all_runs.maximum - found.result.systematic
    if expected.word is not None and longest > total.high:
        yield Verdict.ABOVE_ESTIMATE
    if result - allowed > total.high:
        far = factor is None or factor >= MAGNITUDE
        yield Verdict.FAR_SLOWER if far else Verdict.SLOWER
    elif result + allowed < total.low and expected.word is None:
        far = factor is None or factor >= MAGNITUDE
        yield Verdict.FAR_FASTER if far else Verdict.FASTER
    else:
        yield Verdict.AGREES


def _beside(found: Evaluation) -> Iterator[Verdict]:
    if found.resolution is not None and found.subtracted > found.result.value * found.calls:
        yield Verdict.OVERHEAD
    if found.outliers:
        many = len(found.outliers) > _MANY * found.all_runs.count
        yield Verdict.TWO_KINDS if many else Verdict.OUTLIERS


def _factor(result: Fraction, expected: Expected) -> Fraction | None:
    low, high = expected.total.low, expected.total.high
    if result > high:
        return result / high if high else None
    if result < low:
        return low / result if result else None
    return Fraction(1)
