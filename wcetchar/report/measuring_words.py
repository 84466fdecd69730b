"""What there is to say of a result, in words, with what to do next."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

from wcetchar.model.measuring import FEWEST, Judged, JudgedReport, Verdict
from wcetchar.report.measuring import predicted_text, time_text
from wcetchar.report.numbers import grouped

IN_TABLE: Final = frozenset(
    {Verdict.LONGEST_SLOWER, Verdict.INTERRUPTED, Verdict.OUTLIERS, Verdict.TWO_KINDS}
)
"""What a table of results shows as well."""
_FACTORS: Final = frozenset(
    {Verdict.SLOWER, Verdict.FASTER, Verdict.FAR_SLOWER, Verdict.FAR_FASTER}
)
_LONG: Final = frozenset({Verdict.LONGEST_FAR_SLOWER, Verdict.LONGEST_SLOWER, Verdict.INTERRUPTED})
_DAY: Final = 86_400 * 10**9
"""In nanoseconds; who measures for longer knows it."""

_ADVICE: Final = {
    Verdict.IMPOSSIBLE: "is the deviation in the same unit as the average?",
    Verdict.STANDS_STILL: "is the counter switched on, and is it read at all?",
    Verdict.TOO_NARROW: "what takes a round more reads the same: a wider counter, a slower one, or "
    "fewer calls in one reading",
    Verdict.TOO_FEW: f"take {FEWEST} or more",
    Verdict.NOTHING_LEFT: "is the operation carried out at all, or was it optimized away? If it is "
    "that short, more calls in one reading",
    Verdict.TOO_COARSE: "no repetition helps; more calls in one reading do, or a finer clock",
    Verdict.TOO_WIDE: "or find what differs from run to run, and keep that the same",
    Verdict.ABOVE_ESTIMATE: "either the estimate is wrong for this hardware, or the measurement "
    "holds more than the operation, such as interrupts",
    Verdict.LONGEST_FAR_SLOWER: "an interrupt, a cold cache or a step of the clock: measure that "
    "apart, or explain it; what may interrupt a reading stands in the plan as `interruption`",
    Verdict.LONGEST_SLOWER: "usable if that run can be explained: an interrupt, a cold cache or a "
    "step of the clock. Measure that apart; what may interrupt a reading stands in the plan as "
    "`interruption`",
    Verdict.FAR_SLOWER: "another order of magnitude: is it the operation that was expected, in the "
    "right unit, with caches and clock switched on, and does nothing else run?",
    Verdict.FAR_FASTER: "another order of magnitude: is the operation carried out each time, or "
    "was a part of it optimized away, or refused at once?",
    Verdict.SLOWER: "usable if that can be explained. What expectations leave out: misses of "
    "caches and of address translation, calls and bookkeeping of layers, a slower clock, "
    "other programs",
    Verdict.FASTER: "usable if that can be explained. What makes runs fast: caches that are warm "
    "because nothing else runs, work that is done once and not again, a faster clock",
    Verdict.NOT_EXPECTED: "write down what it should take, from a model, and measure again",
    Verdict.INTERRUPTED: "no more than the plan's `interruption` allows; what the operation itself "
    "takes at worst is not known from such a run",
    Verdict.OVERHEAD: "it was subtracted; more calls in one reading would hide it",
    Verdict.DRIFTS: "a mean of runs that change depends on how long one measures: does a list "
    "grow, does the clock of the processor rise or fall, or does something begin to run beside?",
    Verdict.AVERAGED: "one of them may have taken longer than their average: one call in each "
    "reading is what an estimate of the worst case can be held against",
    Verdict.OUTLIERS: "left out of the error, not of the maximum: the worst case is no outlier",
    Verdict.TWO_KINDS: "these are two kinds of runs, not outliers, and nothing was left out: find "
    "what tells them apart, and measure each",
}


@dataclass(frozen=True)
class Said:
    """One verdict: what is so, and what to do next."""

    verdict: Verdict
    fact: str
    advice: str


def short(one: Judged) -> str:
    """The gravest verdict, for a table."""
    first = one.verdicts[0]
    if first in _FACTORS and one.factor is not None:
        return f"{first.value}, x {_factor(one.factor)}"
    if Verdict.AGREES in one.verdicts and _LONG.intersection(one.verdicts):
        but = "" if first is Verdict.AGREES else " but"
        if first in _LONG or first is Verdict.AGREES:
            return f"agrees,{but} longest{_times(one.longest_factor)}"
    return first.value


def short_report(one: JudgedReport) -> str:
    first = one.verdicts[0]
    if first in _FACTORS and one.factor is not None:
        return f"{first.value}, x {_factor(one.factor)}"
    return first.value


def report_in_words(one: JudgedReport) -> list[str]:
    """What follows from what others reported, and what of it cannot be told."""
    said, found = one.reported, []
    least = one.reported.repetitions_at_least
    if said.why:
        found.append(said.why)
    if said.deviation is not None and least is not None and least > (said.repetitions or FEWEST):
        found.append(
            f"a deviation of {time_text(said.deviation)} with an average of "
            f"{time_text(said.average)} takes {least:,} repetitions or more, of "
            f"{time_text(least * said.average)} together, as no time is below nothing"
        )
    if said.repetitions is not None and said.repetitions * said.average > _DAY:
        found.append(
            f"{said.repetitions:,} repetitions of {time_text(said.average)} take "
            f"{time_text(said.repetitions * said.average)} together, more than a day: is it what "
            f"all of them took, {time_text(said.average / said.repetitions)} each?"
        )
    if Verdict.IMPOSSIBLE in one.verdicts:
        found.append(_ADVICE[Verdict.IMPOSSIBLE])
    return found


def in_words(one: Judged) -> list[Said]:
    """Every verdict but that it agrees."""
    return [Said(v, _fact(v, one), _ADVICE[v]) for v in one.verdicts if v is not Verdict.AGREES]


def _times(factor: Fraction | None) -> str:
    return "" if factor is None else f" x {_factor(factor)}"


def _longest(one: Judged) -> str:
    """That a run is far from what was expected, and which."""
    found, factor = one.evaluation, one.longest_factor
    agrees = "agrees, but " if Verdict.AGREES in one.verdicts else ""
    times = "more than" if factor is None else f"{_factor(factor)} times"
    return (
        f"{agrees}the longest run is {times} the expectation ({time_text(found.longest.value)} in "
        f"repetition {found.longest_run}, expected {predicted_text(one.expected)})"
    )


def _factor(value: Fraction) -> str:
    """To a tenth, up; whole from 100 on."""
    return grouped(
        Fraction(math.ceil(value)) if value >= 100 else Fraction(math.ceil(value * 10), 10)
    )


def _fact(verdict: Verdict, one: Judged) -> str:
    found, expected = one.evaluation, one.expected
    result = f"{time_text(found.result.value)} +- {time_text(found.result.error)}"
    needed = f"needed +- {time_text(found.needed)}"
    by = "" if one.factor is None else f" by a factor of {_factor(one.factor)}"
    against = "" if expected is None else f", expected {predicted_text(expected)}"
    many = f"{len(found.outliers)} of {found.all_runs.count} runs"
    match verdict:
        case Verdict.STANDS_STILL:
            return "no two readings of the clock differ"
        case Verdict.TOO_NARROW:
            return (
                f"the counter begins anew after {time_text(found.counter_round or Fraction(0))}; a "
                f"reading took {time_text(found.longest_reading)}{_planned(one)}"
            )
        case Verdict.TOO_FEW:
            return f"{found.all_runs.count} repetitions are too few to know anything of noise"
        case Verdict.NOTHING_LEFT:
            return f"nothing is left of what was measured ({result})"
        case Verdict.TOO_COARSE:
            steps = time_text(found.result.systematic)
            return (
                f"the clock is too coarse: {result}, of which {steps} are its steps and what "
                f"reading it takes; {needed}: {_calls(found.calls_needed)}"
            )
        case Verdict.TOO_WIDE:
            return (
                f"the spread is too large: {result}, {needed}: repeat "
                f"{_count(found.repetitions_needed)} times"
            )
        case Verdict.ABOVE_ESTIMATE:
            word = "" if expected is None or expected.word is None else f" ({expected.word.value})"
            return f"a run took {time_text(found.all_runs.maximum)}{against} at worst{word}"
        case Verdict.LONGEST_FAR_SLOWER | Verdict.LONGEST_SLOWER | Verdict.INTERRUPTED:
            return _longest(one)
        case Verdict.FAR_SLOWER | Verdict.SLOWER:
            return f"slower than expected{by} ({result}{against})"
        case Verdict.FAR_FASTER | Verdict.FASTER:
            return f"faster than expected{by} ({result}{against})"
        case Verdict.NOT_EXPECTED:
            return f"{result}, and nothing was expected"
        case Verdict.OVERHEAD:
            calls = "one call" if found.calls == 1 else f"{found.calls:,} calls"
            return (
                f"measuring takes {time_text(found.subtracted)}, longer than the {calls} that one "
                "reading measures"
            )
        case Verdict.DRIFTS:
            first, second = map(time_text, found.halves or (Fraction(0), Fraction(0)))
            return f"the first half of the runs takes {first}, the second {second}"
        case Verdict.AVERAGED:
            return f"a reading holds {found.calls:,} calls"
        case Verdict.OUTLIERS:
            longest = max(found.outliers, key=lambda one: one.time)
            return (
                f"{many} are outliers, the longest {time_text(longest.time)} in repetition "
                f"{longest.number}; with them the average is {time_text(found.all_runs.mean)}"
            )
        case Verdict.TWO_KINDS:
            return f"{many} are far from the others"
    return verdict.value


def _planned(one: Judged) -> str:
    if one.expected is None:
        return ""
    by_plan = one.case.may_take(one.expected, one.evaluation.calls)
    return f", and may take {time_text(by_plan)} by the plan"


def _count(value: int | None) -> str:
    return "any number of" if value is None else f"{value:,}"


def _calls(value: int | None) -> str:
    if value is None:
        return "the clock's own frequency has to be known better"
    return f"carry it out {value:,} times in each reading, or read a finer clock"
