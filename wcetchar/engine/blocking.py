"""How long a service holds something off: its longest stretch, with what goes on after it.

    own(q)   = max over stretches s of  time of s at q
    whole(q) = max over stretches s of  time of s at q + c(s, q) * h + what may follow s at most

with the lines that caches load in s (``lines``) in its time, h the dearest handler
of a supervisor call, and c(s, q) the supervisor calls inside s, which come back to it. The one that
s ends with is not among them: its handler follows s (``chains``).

Where the stretches are not known, the sum of the blocking rows stands in for them, which is never
less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from wcetchar.engine.chains import (
    NOTHING,
    UNKNOWN,
    Continuation,
    Following,
    continuation,
    of_kind,
)
from wcetchar.engine.counts import (
    Counted,
    calls_inside,
    count,
    counts_something,
    last_call,
    supervisor_calls,
)
from wcetchar.engine.lines import NO_LINES, LinesAt, LoadedLines, StretchTime
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.totals import Totals
from wcetchar.model.characterization import (
    Blocking,
    BlockingStretch,
    Counts,
    Joint,
    ServiceCharacterization,
    StretchKind,
    TablePoint,
    Word,
)
from wcetchar.model.estimate import Chain, Link
from wcetchar.model.interval import NO_TIME, Interval


@dataclass(frozen=True)
class Longest:
    """The longest of a service's own stretches, and the chain that takes longer, if one does.

    ``rest`` are the words of what follows in that chain.
    """

    time: Interval
    where: str
    exact: bool = True
    notes: tuple[str, ...] = ()
    chain: Chain | None = None
    rest: tuple[Word, ...] = ()

    def with_word(self, word: Word) -> Chain | None:
        """The chain, where the service itself is of this word."""
        chain = self.chain
        if chain is None:
            return None
        weakest = word.weakest(*self.rest, *((Word.ESTIMATE,) if chain.gaps else ()))
        return Chain(chain.time, weakest, chain.links, chain.gaps)


def blocking_at(
    service: ServiceCharacterization,
    counted: Counted,
    prices: PriceVector,
    values: tuple[int, ...],
    kind: StretchKind,
    following: Following | None,
    lines: LoadedLines = NO_LINES,
) -> Longest:
    """At parameter values; intervals hold the longest one whatever the prices.

    ``counted`` are the service's counts there, ``lines`` what it loads.
    """
    if not service.stretches_known:
        blocking = [row for row in counted.rows if _blocks(kind)(row.blocking)]
        # What comes once for each window is in the counts of its beginning.
        loaded = lines.unhidden if blocking else NO_TIME
        if any(row.repetitions for row in blocking):
            loaded = loaded.up_to(loaded.high + prices.rate.once)
        return Longest(
            prices.in_stretches.time_of_window(blocking, loaded),
            "all blocking trace sections together" if blocking else "",
            notes=("blocking time is the sum of all blocking trace sections",) if blocking else (),
        )
    names = tuple(parameter.name for parameter in service.parameters)
    own, where, exact = Interval(), "", True
    whole, best = Interval(), None
    gaps: dict[str, None] = {}
    notes: dict[str, None] = {}
    for stretch in service.stretches:
        if not of_kind(stretch, kind):
            continue
        here = f"{stretch.begin} to {stretch.end}"
        part = count(stretch.counts, names, values, f"{service.name}, blocking from {here}")
        loaded = NO_TIME
        if prices.caches and counts_something(part):
            loaded = prices.caches.of_stretch(service, stretch)(values, lines)
        time = prices.in_stretches.time_of_window(part.rows, loaded)
        exact = exact and part.exact
        where = here if time.high > own.high else where
        own = own.larger(time)
        if not counts_something(part):
            continue
        notes.update(dict.fromkeys(notes_of_stretch(stretch)))
        inside = _inside(following, kind, stretch, supervisor_calls(part) - last_call(stretch))
        after = continuation(following, kind, stretch)
        rest = Continuation(
            inside.time + after.time,
            (*inside.links, *after.links),
            (*inside.words, *after.words),
            (*inside.gaps, *after.gaps),
        )
        gaps.update(dict.fromkeys(rest.gaps))
        if best is None or time.high + rest.time.high > whole.high:
            at = dict(zip(names, values, strict=True))
            best = (Link(service.name, here, at, time), rest)
        whole = whole.larger(time + rest.time)
    longest = Longest(own, where, exact, tuple(notes))
    return longest if best is None else _chained(longest, whole, best, tuple(gaps))


def _inside(
    following: Following | None, kind: StretchKind, stretch: BlockingStretch, calls: int
) -> Continuation:
    """The handlers of supervisor calls that come back to the stretch."""
    if calls <= 0 or stretch.goes_on_in is None:
        return NOTHING
    called = UNKNOWN if following is None else following.called(kind)
    links = tuple(
        Link(x.service, f"inside, called {calls} times", x.parameters, x.time.scaled(calls))
        for x in called.links
    )
    return Continuation(called.time.scaled(calls), links, called.words, called.gaps)


def _chained(
    own: Longest, whole: Interval, best: tuple[Link, Continuation], gaps: tuple[str, ...]
) -> Longest:
    link, rest = best
    if not rest.links and not gaps:
        return own
    chain = Chain(whole, Word.ESTIMATE, (link, *rest.links), gaps)
    return Longest(own.time, own.where, own.exact, own.notes, chain, rest.words)


def notes_of_stretch(stretch: BlockingStretch) -> Iterable[str]:
    """What is said of a stretch beside its figure."""
    if stretch.goes_on_in is None or stretch.goes_on_from is None:
        yield (
            "whether another activity goes on with what it blocks is not known: it was "
            "characterized before that was published"
        )
        return
    if stretch.kind is StretchKind.PREEMPTION:
        return  # a handler, or a lock that is a service of its own
    what = stretch.kind.value
    if Joint.CALLER in stretch.goes_on_from:
        yield f"{what} can be blocked already when it is called: its blocking adds to its caller's"
    if Joint.CALLER in stretch.goes_on_in:
        yield f"{what} can still be blocked when it returns: what its caller does then adds to it"
    if Joint.THREAD in stretch.goes_on_from:
        yield (
            f"{what} can be blocked already when it goes on: that time is in the figures of the "
            "calls and handlers that lead there"
        )


def blocking_totals(
    service: ServiceCharacterization,
    kind: StretchKind,
    prices: PriceVector,
    following: Following | None,
    lines: LinesAt | None = None,
) -> list[Totals]:
    """What the blocking time of a kind is the largest of, as :func:`blocking_at` has it;
    ``lines``: of the service, at values of its parameters."""
    names = tuple(parameter.name for parameter in service.parameters)
    if service.stretches_known:
        found = []
        for stretch in service.stretches:
            if not of_kind(stretch, kind):
                continue
            rest, per_call = continuation(following, kind, stretch).time.high, Fraction(0)
            if following is not None and calls_inside(stretch):
                per_call = following.called(kind).time.high
            last = last_call(stretch)
            loaded = None
            if lines is not None:
                loaded = partial(_loaded_at, lines, prices.caches.of_stretch(service, stretch))
            found.append(
                Totals(
                    stretch.counts,
                    names,
                    prices.in_stretches,
                    service.name,
                    rest,
                    per_call,
                    last,
                    loaded,
                )
            )
        return found
    blocks = _blocks(kind)
    rows = Counts(
        rows=tuple(row for row in service.counts.rows if blocks(row.blocking)),
        points=tuple(
            TablePoint(point.values, tuple(row for row in point.rows if blocks(row.blocking)))
            for point in service.counts.points
        ),
    )
    loaded = None
    if lines is not None or prices.rate.once:
        loaded = partial(_beside_rows, lines, prices.rate.once)
    return [Totals(rows, names, prices.in_stretches, service.name, lines=loaded)]


def _beside_rows(lines: LinesAt | None, once: Fraction, values: tuple[int, ...]) -> Fraction:
    """All lines of the service, and what comes once for each window."""
    return once + (lines(values).unhidden.high if lines is not None else 0)


def _loaded_at(lines: LinesAt, own: StretchTime, values: tuple[int, ...]) -> Fraction:
    """What lines take that a stretch loads, of those of its service."""
    return own(values, lines(values)).high


def _blocks(kind: StretchKind) -> Callable[[Blocking], bool]:
    if kind is StretchKind.INTERRUPTS:
        return lambda b: b.masks
    return lambda b: b.holds_preemption
