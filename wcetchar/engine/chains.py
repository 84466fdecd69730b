"""What goes on with a stretch of a service, priced: the dearest that may follow it.

See ``model/chain`` for the equation. The length of a stretch that may follow is its largest time
over the values that its parameters may have: those that the integrator gives, and the whole range
of the others. A chain is as good as the weakest of its stretches; one that was not observed at the
values where it is longest is an *estimate*. Lines that an instruction cache loads are in it; what
another activity did with the cache before is not known, so it is never warm.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from wcetchar.engine.counts import (
    LARGEST_GRID,
    calls_inside,
    count,
    counts_something,
    last_call,
    supervisor_calls,
    used_parameters,
)
from wcetchar.engine.prices import PriceVector
from wcetchar.engine.pricing import can_follow
from wcetchar.engine.refills import Loaded
from wcetchar.engine.totals import Totals
from wcetchar.errors import InputError
from wcetchar.model.chain import FOLLOWED, Candidate, Chains, Gap
from wcetchar.model.characterization import (
    BlockingStretch,
    Characterization,
    Counts,
    Joint,
    ServiceCharacterization,
    StretchKind,
    Word,
)
from wcetchar.model.estimate import Link
from wcetchar.model.interval import NO_TIME, Interval


@dataclass(frozen=True)
class Follower:
    """A stretch where it takes longest."""

    link: Link
    word: Word
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Continuation:
    """What follows a stretch at most, or is called inside of it."""

    time: Interval = Interval()  # noqa: RUF009  (frozen)
    links: tuple[Link, ...] = ()
    words: tuple[Word, ...] = ()
    gaps: tuple[str, ...] = ()


NOTHING = Continuation()
UNKNOWN = Continuation(gaps=(Gap.UNKNOWN.value,))


class Following:
    """What may follow stretches of a characterization, on one hardware."""

    def __init__(
        self,
        characterization: Characterization,
        prices: PriceVector,
        values: Mapping[str, int | range] | None = None,
    ) -> None:
        """``values``: of parameters, by name, or where they are; those of others go over their
        range. ``prices`` are of services one of which at least goes on in another activity, if any
        does."""
        self.characterization = characterization
        self.prices = prices.in_stretches
        self.values: Mapping[str, int | range] = values or {}
        self._caches = prices.caches.of_followers
        self._chains: dict[StretchKind, tuple[Chains[Follower], tuple[str, ...]]] = {}
        self._known: dict[tuple[StretchKind, frozenset[Joint]], Continuation] = {}
        self._called: dict[StretchKind, Continuation] = {}

    def after(self, kind: StretchKind, goes_on_in: frozenset[Joint]) -> Continuation:
        """What follows a stretch that goes on in these at most."""
        key = kind, goes_on_in & FOLLOWED
        if key not in self._known:
            self._known[key] = self._after(*key)
        return self._known[key]

    def called(self, kind: StretchKind) -> Continuation:
        """The dearest handler of a supervisor call that goes back to what called it."""
        if kind not in self._called:
            self._called[kind] = self._dearest_handler(kind)
        return self._called[kind]

    def _dearest_handler(self, kind: StretchKind) -> Continuation:
        found = []
        for service in self.characterization.services:
            if any(
                of_kind(s, kind) and Joint.HANDLER in (s.goes_on_from or ())
                for s in service.stretches
            ):
                loaded = self._loaded(service, None)
                where = "its handler, inside"
                found.append(self._longest(service, service.counts, where, loaded))
        if not found:
            return Continuation(gaps=(Gap.NO_HANDLER.value,))
        dearest = max(found, key=lambda f: f.link.time.high)
        problems = dict.fromkeys(p for f in found for p in f.problems)
        return Continuation(dearest.link.time, (dearest.link,), (dearest.word,), (*problems,))

    def _after(self, kind: StretchKind, joints: frozenset[Joint]) -> Continuation:
        if not joints:
            return NOTHING
        if kind not in self._chains:
            self._chains[kind] = self._make_chains(kind)
        chains, problems = self._chains[kind]
        rest = chains.after(joints)
        return Continuation(
            sum((f.link.time for f in rest.items), start=Interval()),
            tuple(f.link for f in rest.items),
            tuple(f.word for f in rest.items),
            (*(gap.value for gap in Gap if gap in rest.gaps), *problems),
        )

    def _make_chains(self, kind: StretchKind) -> tuple[Chains[Follower], tuple[str, ...]]:
        candidates = []
        problems: dict[str, None] = {}
        for service in self.characterization.services:
            for stretch in service.stretches:
                if not can_follow(stretch) or not of_kind(stretch, kind):
                    continue
                where = f"{stretch.begin} to {stretch.end}"
                inside = NOTHING
                if calls_inside(stretch):
                    if Joint.HANDLER in (stretch.goes_on_from or ()):
                        problems[Gap.ENDLESS.value] = None
                    inside = self.called(kind)
                    problems.update(dict.fromkeys(inside.gaps))
                loaded = self._loaded(service, stretch)
                last = last_call(stretch)
                found = self._longest(service, stretch.counts, where, loaded, inside, last)
                problems.update(dict.fromkeys(found.problems))
                candidates.append(
                    Candidate(
                        found,
                        found.link.time.high,
                        stretch.goes_on_from or frozenset(),
                        stretch.goes_on_in or frozenset(),
                    )
                )
        return Chains(candidates), tuple(problems)

    def _loaded(
        self, service: ServiceCharacterization, stretch: BlockingStretch | None
    ) -> Loaded | None:
        return self._caches.of_follower(service, stretch) if self._caches else None

    def _longest(
        self,
        service: ServiceCharacterization,
        counts: Counts,
        where: str,
        loaded: Loaded | None = None,
        inside: Continuation = NOTHING,
        last: int = 0,
    ) -> Follower:
        """``inside``: what each supervisor call adds, but for the ``last`` one."""
        names = tuple(parameter.name for parameter in service.parameters)
        what = f"{service.name}, blocking from {where}"
        per_call = inside.time.high
        total = Totals(
            counts,
            names,
            self.prices,
            what,
            per_call=per_call,
            last=last,
            lines=None if loaded is None else lambda values: loaded.at(values).high,
        )
        used = used_parameters(counts, names)
        if loaded is not None:
            used |= loaded.used
        problems = []
        ranges = []
        for parameter in service.parameters:
            given = self.values.get(parameter.name)
            whole = range(parameter.minimum, parameter.maximum + 1)
            if parameter.name not in used or given is None:
                ranges.append(whole if parameter.name in used else whole[:1])
                continue
            within = range(given, given + 1) if isinstance(given, int) else given
            if within[0] in whole and within[-1] in whole:
                ranges.append(within)
            else:
                ranges.append(whole)
                shown = f"{within[0]}..{within[-1]}" if len(within) > 1 else f"{within[0]}"
                problems.append(
                    f"{service.name}, which can follow, is not characterized for "
                    f"{parameter.name}={shown}"
                )
        points: Iterable[tuple[int, ...]] = itertools.product(*ranges)
        if math.prod(len(r) for r in ranges) > LARGEST_GRID:
            points = itertools.product(*(sorted({r[0], r[-1]}) for r in ranges))
            problems.append(
                f"{service.name}, which can follow, has too many combinations of "
                f"{', '.join(sorted(used))} to try"
            )
        found = []
        for values in points:
            try:
                found.append((total(values), values))
            except InputError as error:
                problems.append(error.message)
        if not found:
            return Follower(Link(service.name, where, {}, Interval()), service.word, (*problems,))
        observed = _observed(service, used, names)
        # Of points that are equally long, one that was observed.
        _, values = max(found, key=lambda f: (f[0], _project(f[1], used, names) in observed))
        counted = count(counts, names, values, what)
        lines = NO_TIME
        if loaded is not None and counts_something(counted):
            lines = loaded.at(values)
        time = self.prices.time_of_window(counted.rows, lines)
        calls = supervisor_calls(counted) - last
        word = service.word
        if inside.links and calls > 0:
            time += inside.time.scaled(calls)
            word = word.weakest(*inside.words)
            where += f", with {inside.links[0].service} inside"
        seen = service.word is not Word.HIGH_WATER_MARK or _project(values, used, names) in observed
        if not counted.exact or not seen:
            word = Word.ESTIMATE
        at = {name: value for name, value in zip(names, values, strict=True) if name in used}
        return Follower(Link(service.name, where, at, time), word, tuple(dict.fromkeys(problems)))


def of_kind(stretch: BlockingStretch, kind: StretchKind) -> bool:
    """It holds off what the kind is about: masked interrupts hold off preemption as well."""
    return kind is StretchKind.PREEMPTION or stretch.kind is kind


def continuation(
    following: Following | None, kind: StretchKind, stretch: BlockingStretch
) -> Continuation:
    """What follows a stretch; without ``following`` it is not known."""
    joints = stretch.goes_on_in or frozenset()
    if following is not None:
        return following.after(kind, joints)
    return UNKNOWN if joints & FOLLOWED else NOTHING


def _project(
    values: tuple[int, ...], used: frozenset[str], names: tuple[str, ...]
) -> tuple[int, ...]:
    return tuple(value for name, value in zip(names, values, strict=True) if name in used)


def _observed(
    service: ServiceCharacterization, used: frozenset[str], names: tuple[str, ...]
) -> set[tuple[int, ...]]:
    """Values of the parameters that count which some window showed."""
    evidence = service.evidence
    points = [*evidence.fitted, *evidence.held_out, *(p.values for p in service.counts.points)]
    return {_project(values, used, names) for values in points} | (set() if used else {()})
