"""What readings of a clock around an operation come to.

Of repetition i there are four readings, nested::

    start_outer  start_inner  { the operation, c times }  end_inner  end_outer

    inner_i    = end_inner - start_inner
    gaps_i     = start_inner - start_outer, end_outer - end_inner
    overhead_i = end_outer - start_outer - inner_i                        the sum of both gaps

inner_i holds, beside the operation, as much as lies between two readings with nothing between them:
a gap. Of all gaps the *least* is subtracted, so that a time is never made too short by it::

    x_i = (inner_i - min gap) / c                                         time of one call

Resolution q, from all readings of one clock: where two readings one behind the other are the same,
the clock is coarser than reading it takes, and q is the smallest difference that is not zero. Else
q is the largest number that all differences are multiples of, or that the most common gaps are
multiples of (nine in ten; clocks that are converted to nanoseconds are a nanosecond off now and
then), or that these are within one of (a clock of 24 MHz in nanoseconds: 83, 84, 125), whichever
is larger.

Outliers: Iglewicz and Hoaglin's rule (How to Detect and Handle Outliers, ASQC, 1993)::

    | x_i - median | > max(3.5 * MAD / 0.6745, 3.5 * q / c, a(median))

with MAD the median of all | x_i - median | and a the accuracy that is needed: where most runs are
the same to the cycle, MAD is 0, and what the question does not tell apart is no outlier. They are
left out of the mean and of its error, and of nothing else: the maximum is of all runs, because the
worst case is no outlier. Where they are more than one run and more than one in ten there are two
kinds of runs, and nothing is left out: a mean of one kind, with the small error of one kind, would
be that of a choice which nobody made.

Error of the mean of the other n, with s their standard deviation::

    systematic = (2 q + median gap - min gap) / c  +  tolerance of the clock
    stochastic = t s / sqrt(n)                                            95 of 100, if normal

t is Student's, of n - 1 degrees of freedom (2.78 for 5 runs), and 2 from 62 runs on.

A difference of two readings is off by less than q, and so is the gap that is subtracted.

A mean is one of something only if the runs do not change while they are read. Their first and
second half, without outliers, differ where their means m_1 and m_2 do by more than noise and
accuracy::

    | m_1 - m_2 | > max(a, t_1 s_1 / sqrt(n_1) + t_2 s_2 / sqrt(n_2))

Needed for an accuracy a: the least n with stochastic <= a - systematic, 5 or more; none is enough
where the systematic part alone is more. Then as many calls in each reading as leave half of a to
noise.

Inputs: ticks of the clock and nanoseconds of one; output: nanoseconds, exact but for roots, which
are rounded up. Soundness: the mean is an estimate and the maximum a high-water mark; none is a
bound of anything.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Final

from wcetchar.model.measuring import (
    FEWEST,
    Accuracy,
    Evaluation,
    Outlier,
    Reading,
    Series,
    Spread,
    Uncertain,
    root_up,
)

_FAR: Final = Fraction(35, 10)
_NORMAL: Final = Fraction(6745, 10000)
"""MAD of a normal distribution whose standard deviation is 1."""
_COMMON: Final = Fraction(9, 10)
_SMALL: Final = 4
_MANY: Final = Fraction(1, 10)
"""More than such a share of all runs are no outliers."""
_STUDENT: Final = (
    *(12_707, 4303, 3183, 2777, 2571, 2447, 2365, 2307, 2263, 2229),
    *(2201, 2179, 2161, 2145, 2132, 2120, 2110, 2101, 2094, 2086),
    *(2080, 2074, 2069, 2064, 2060, 2056, 2052, 2049, 2046, 2043),
)
"""Of 1 to 30 degrees of freedom, in thousandths: within so many standard errors are 95 of 100."""
_FURTHER: Final = ((40, 2043), (60, 2022))
"""Up to so many degrees, what holds for the fewest of these; beyond, two."""


def evaluate(
    series: Series,
    accuracy: Accuracy,
    step: int | None,
    tick: Fraction = Fraction(1),
    *,
    clock_tolerance: Fraction = Fraction(0),
    coarser: Fraction = Fraction(0),
    bits: int | None = None,
) -> Evaluation:
    """Of one series, which has at least one reading.

    Args:
        step: smallest step of the clock in ticks (:func:`steps`).
        tick: nanoseconds of one tick, at most.
        clock_tolerance: by which share of itself a time may be too long for that.
        bits: the counter begins anew after so many.
        coarser: nanoseconds; the clock is known to have no finer steps.
    """
    readings, calls = series.readings, series.calls
    resolution = None if step is None else max(step * tick, coarser)
    gaps = sorted(gap for one in readings for gap in one.gaps)
    overheads = sorted(one.overhead for one in readings)
    least, usual_gap = gaps[0] * tick, Fraction(statistics.median(gaps)) * tick
    # No less than nothing, where the operation is gone and a gap happened to be longer.
    times = [max(Fraction(0), one.inner * tick - least) / calls for one in readings]
    apart = Fraction(0) if resolution is None else resolution / calls
    matters = accuracy.of(Fraction(statistics.median(times)))
    outliers = outliers_of(times, apart, matters)
    two_kinds = len(outliers) > max(Fraction(1), _MANY * len(times))
    left_out = set() if two_kinds else {one.number for one in outliers}
    kept = [t for n, t in enumerate(times, start=1) if n not in left_out]
    usual = spread_of(kept)
    of_reading = 2 * (resolution or Fraction(0)) + usual_gap - least
    fixed = usual.mean * clock_tolerance
    longest = max(times)
    result = Uncertain(
        usual.mean,
        of_reading / calls + fixed,
        (standard_errors(usual.count) * usual.deviation) ** 2 / usual.count,
    )
    needed = accuracy.of(usual.mean)
    # Of one run: the clock's tolerance is a share of that run, not of the mean.
    of_longest = Uncertain(longest, of_reading / calls + longest * clock_tolerance)
    return Evaluation(
        calls=calls,
        overhead=(
            overheads[0] * tick,
            Fraction(statistics.median(overheads)) * tick,
            overheads[-1] * tick,
        ),
        subtracted=least,
        resolution=resolution,
        all_runs=spread_of(times),
        usual=usual,
        outliers=outliers,
        two_kinds=two_kinds,
        result=result,
        longest=of_longest,
        longest_run=times.index(longest) + 1,
        needed=needed,
        repetitions_needed=repetitions_needed(usual.deviation, needed - result.systematic),
        calls_needed=(
            None
            if result.systematic < needed or needed <= fixed
            else max(calls, math.ceil(2 * of_reading / (needed - fixed)))
        ),
        halves=halves_of(kept, needed),
        counter_round=None if bits is None else (1 << bits) * tick,
    )


def steps(readings: Sequence[Reading]) -> int | None:
    """Smallest step of the clock in ticks, as all readings of it show; ``None``: it never moved."""
    gaps = [gap for one in readings for gap in one.gaps]
    moved = [d for d in (*gaps, *(one.inner for one in readings)) if d]
    if not moved:
        return None
    if not all(gaps):
        return min(moved)
    found, seen, common = math.gcd(*moved), 0, []
    for gap, count in sorted(Counter(gaps).items(), key=lambda item: (-item[1], item[0])):
        if seen >= _COMMON * len(gaps):
            break
        seen += count
        common.append(gap)
    # Of a gap that is always the same, nothing follows but that it is.
    if len(common) < 2:
        return found
    exact = max(found, math.gcd(*common))
    # Cut times have neighbours; two gaps of a fine counter alone may have any ratio.
    near = {gap + by for gap in common for by in (-1, 1)}
    rounded = 1 if near.isdisjoint(gaps) else _rounded(common)
    # Of cut times some may be multiples of two or three by chance.
    return exact if 2 * exact > rounded else rounded


def _rounded(gaps: Sequence[int]) -> int:
    """A step, rounded up, of whose multiples all gaps are less than one off; 1 if none is seen."""
    distinct = sorted(set(gaps))
    groups = [distinct[0]]
    for before, value in itertools.pairwise(distinct):
        if value - before > 1:
            groups.append(value)
    if len(groups) < 2:
        return 1
    about = min(after - before for before, after in itertools.pairwise(groups))
    low, high = Fraction(about - 2), Fraction(about + 2)
    for gap in distinct:
        times = round(Fraction(gap, about))
        if not times:
            return 1
        low, high = max(low, Fraction(gap - 1, times)), min(high, Fraction(gap + 1, times))
    # A step of two or three is within one of everything.
    return math.ceil(high) if low < high and about > _SMALL else 1


def outliers_of(
    times: Sequence[Fraction], apart: Fraction, matters: Fraction = Fraction(0)
) -> tuple[Outlier, ...]:
    """Those that are too far from the median.

    Args:
        apart: what the clock cannot tell apart.
        matters: what the question does not tell apart.
    """
    middle = statistics.median(times)
    deviation = statistics.median(abs(time - middle) for time in times)
    limit = max(_FAR * deviation / _NORMAL, _FAR * apart, matters)
    return tuple(
        Outlier(number, time)
        for number, time in enumerate(times, start=1)
        if abs(time - middle) > limit
    )


def halves_of(times: Sequence[Fraction], matters: Fraction) -> tuple[Fraction, Fraction] | None:
    """Means of both halves, in order, where they differ by more than noise and ``matters``."""
    middle = len(times) // 2
    if middle < FEWEST:
        return None
    one, other = spread_of(times[:middle]), spread_of(times[middle:])
    # Both squares under one root would be less; a verdict is not to come from noise.
    noise = sum(
        root_up((standard_errors(half.count) * half.deviation) ** 2 / half.count)
        for half in (one, other)
    )
    apart = abs(one.mean - other.mean)
    return (one.mean, other.mean) if apart > max(matters, noise) else None


def spread_of(times: Sequence[Fraction]) -> Spread:
    """Of at least one time."""
    count = len(times)
    mean = sum(times, start=Fraction(0)) / count
    squares = sum(((time - mean) ** 2 for time in times), start=Fraction(0))
    return Spread(
        count,
        min(times),
        Fraction(statistics.median(times)),
        mean,
        max(times),
        root_up(squares / (count - 1)) if count > 1 else Fraction(0),
    )


def repetitions_needed(deviation: Fraction, allowed: Fraction) -> int | None:
    """So that the noise of the mean is no more than ``allowed``; ``None``: no number is enough."""
    if allowed <= 0:
        return None
    count = max(FEWEST, math.ceil((2 * deviation / allowed) ** 2))
    while (standard_errors(count) * deviation) ** 2 > count * allowed**2:
        count += 1
    return count


def standard_errors(count: int) -> Fraction:
    """Within so many of its standard errors the mean of ``count`` runs is, in 95 of 100 cases."""
    freedom = count - 1
    if freedom < 1:
        return Fraction(2)  # of a single run there is no deviation either
    if freedom <= len(_STUDENT):
        return Fraction(_STUDENT[freedom - 1], 1000)
    return next((Fraction(t, 1000) for most, t in _FURTHER if freedom <= most), Fraction(2))
