"""What a function does to its caller's registers and memory, as plain data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from wcetchar.static.values.form import Form
from wcetchar.static.values.interval import ANY, Interval, join


@dataclass(frozen=True)
class Written:
    """``size`` bytes from each address in ``interval`` on may be written.

    ``base``: a register whose value at the entry is added to it; the stack pointer's is that of
    arguments on the stack; ``None``: addresses are as they are.
    """

    base: int | None
    interval: Interval
    size: int


@dataclass(frozen=True)
class Given:
    """What a register holds where the function has returned.

    Attributes:
        form: over the registers at its entry; ``None``: it is no such sum.
        interval: where there is no form.
        made_of: bit mask of the registers at the entry that it may be calculated from.
    """

    form: Form | None = None
    interval: Interval = ANY
    made_of: int = 0


@dataclass(frozen=True)
class Summary:
    """What a call of the function does, whatever it is called with; masks are over registers as
    they are at its entry. What it does to its own frame is left out.

    Attributes:
        writes: memory that it may write.
        through: it may also write to addresses that are calculated from these, in ways that are not
            followed.
        anywhere: it may also write through pointers of which nothing is known.
        reads: it may read from addresses that are calculated from these.
        reads_stack: it may read arguments on the stack.
        leaks: what is calculated from these may be kept somewhere.
        kept: these hold behind the call what they did before it.
        results: what registers for results, and others that it changes, hold behind it.
        assumptions: what that rests on.
    """

    writes: frozenset[Written] = frozenset()
    through: int = 0
    anywhere: bool = False
    reads: int = 0
    reads_stack: bool = False
    leaks: int = 0
    kept: int = 0
    results: Mapping[int, Given] = field(default_factory=dict)
    assumptions: frozenset[str] = frozenset()


def either(summaries: Sequence[Summary]) -> Summary:
    """Of a call that goes to one of several functions."""
    first = summaries[0]
    for other in summaries[1:]:
        kept = first.kept & other.kept
        results = {
            number: _either(first, other, number)
            for number in {*first.results, *other.results}
            if not kept >> number & 1
        }
        first = Summary(
            first.writes | other.writes,
            first.through | other.through,
            first.anywhere or other.anywhere,
            first.reads | other.reads,
            first.reads_stack or other.reads_stack,
            first.leaks | other.leaks,
            kept,
            results,
            first.assumptions | other.assumptions,
        )
    return first


def _either(one: Summary, other: Summary, number: int) -> Given:
    found = [given_of(one, number), given_of(other, number)]
    made_of = found[0].made_of | found[1].made_of
    if found[0].form == found[1].form and found[0].form is not None:
        return Given(found[0].form, ANY, made_of)
    intervals = [ANY if given.form is not None else given.interval for given in found]
    return Given(None, join(intervals[0], intervals[1]), made_of)


def given_of(summary: Summary, number: int) -> Given:
    """Of any register."""
    if summary.kept >> number & 1:
        return Given(None, ANY, 1 << number)
    return summary.results.get(number, Given(made_of=0))
