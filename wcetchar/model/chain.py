"""The longest chain of stretches: what one holds off may stay so in another activity.

    rest(J)  = max over joints j in J and stretches s that go on from j of  length(s) + rest(in(s))
    whole(s) = length(s) + rest(in(s))

in(s) are the joints that s goes on in. A supervisor call can be followed by any handler that such
a call enters, and what goes on with a thread by any stretch that a thread was seen to go on with:
which of them it is depends on the kernel's state, so the longest counts. A joint that a chain
passes for the second time, or at which no stretch begins, has no longest: the length then is that
of what is known, and :class:`Gap` says what is missing.

Length is in whatever unit the caller has (ns, instructions). Soundness caveat: code that no service
characterizes can go on from a joint as well, and is in no chain.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import Generic, TypeVar

from wcetchar.model.characterization import Joint

Item = TypeVar("Item")

FOLLOWED = frozenset({Joint.HANDLER, Joint.THREAD})
"""Joints that the kernel's own figures tell of. What a caller goes on with, nobody here knows."""


class Gap(StrEnum):
    """Why a chain can be longer than all that is known of it."""

    NO_HANDLER = "no handler of a supervisor call is characterized"
    NO_THREAD = "no service is characterized in which a thread goes on like that"
    CALLER = "it goes on in the code that called such a service"
    ENDLESS = "supervisor calls and threads can follow each other in a circle"
    UNKNOWN = "what goes on with it is not known"


@dataclass(frozen=True)
class Candidate(Generic[Item]):
    """A stretch that others may lead to; ``item`` is what it is to the caller."""

    item: Item
    length: Fraction
    goes_on_from: frozenset[Joint]
    goes_on_in: frozenset[Joint]


@dataclass(frozen=True)
class Rest(Generic[Item]):
    """What follows a stretch at most: the candidates of the longest chain, in order."""

    length: Fraction = Fraction(0)
    items: tuple[Item, ...] = ()
    gaps: frozenset[Gap] = frozenset()


class Chains(Generic[Item]):
    """Rests after stretches, over the same candidates."""

    def __init__(self, candidates: Iterable[Candidate[Item]]) -> None:
        self._candidates = tuple(candidates)
        self._known: dict[tuple[frozenset[Joint], frozenset[Joint]], Rest[Item]] = {}

    def after(self, goes_on_in: Iterable[Joint]) -> Rest[Item]:
        """The longest that can follow a stretch that goes on in these."""
        return self._after(frozenset(goes_on_in) & FOLLOWED, frozenset())

    def _after(self, joints: frozenset[Joint], passed: frozenset[Joint]) -> Rest[Item]:
        key = joints, passed
        if key not in self._known:
            self._known[key] = self._longest(joints, passed)
        return self._known[key]

    def _longest(self, joints: frozenset[Joint], passed: frozenset[Joint]) -> Rest[Item]:
        best: Rest[Item] = Rest()
        gaps: set[Gap] = set()
        for joint in (j for j in Joint if j in joints):
            if joint in passed:
                gaps.add(Gap.ENDLESS)
                continue
            following = [c for c in self._candidates if joint in c.goes_on_from]
            if not following:
                gaps.add(Gap.NO_HANDLER if joint is Joint.HANDLER else Gap.NO_THREAD)
                if joint is Joint.HANDLER and any(
                    Joint.THREAD in c.goes_on_from for c in self._candidates
                ):
                    # Whatever the handler does, some thread goes on afterwards.
                    rest = self._after(frozenset({Joint.THREAD}), passed | {joint})
                    gaps |= rest.gaps
                    best = max(best, rest, key=lambda r: r.length)
            for candidate in following:
                rest = self._after(candidate.goes_on_in & FOLLOWED, passed | {joint})
                gaps |= rest.gaps
                if Joint.CALLER in candidate.goes_on_in:
                    gaps.add(Gap.CALLER)
                length = candidate.length + rest.length
                if length > best.length:
                    best = Rest(length, (candidate.item, *rest.items))
        return Rest(best.length, best.items, frozenset(gaps))
