"""What blocks say of the facts in them: which services they hold in, and where."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from wcetchar.model.flow_fact import (
    Accesses,
    CodePlace,
    Exclusive,
    Fact,
    LoopBound,
    Never,
    PlaceKind,
    Relation,
    SwitchedAway,
    Targets,
)
from wcetchar.model.service import whole_of

IN_SOURCE: Final = (PlaceKind.LINE, PlaceKind.TEXT)
"""Places that may lie in several functions; the others name one by themselves."""

Change = Callable[[CodePlace], CodePlace]


def with_places(fact: Fact, change: Change) -> Fact:
    """The fact with each place that it is about changed; not with what control goes to from it."""
    match fact:
        case LoopBound() | Never() | Targets() | Accesses() | SwitchedAway():
            return replace(fact, place=change(fact.place))
        case Exclusive():
            return replace(fact, places=tuple(map(change, fact.places)))
        case Relation():
            terms = (
                replace(
                    term,
                    place=None if term.place is None else change(term.place),
                    edge=None if term.edge is None else change(term.edge),
                )
                for term in fact.terms
            )
            return replace(fact, terms=tuple(terms))
        case _:
            return fact


def places_of(fact: Fact) -> list[CodePlace]:
    """What ``with_places`` changes."""
    found: list[CodePlace] = []

    def look(place: CodePlace) -> CodePlace:
        found.append(place)
        return place

    with_places(fact, look)
    return found


def inside(function: str) -> Change:
    """Of a block ``in function``."""

    def change(place: CodePlace) -> CodePlace:
        if place.inside or place.kind not in IN_SOURCE:
            return place
        return replace(place, inside=function)

    return change


def called_from(chain: tuple[str, ...]) -> Change:
    """Of a block ``called from``."""
    return lambda place: replace(place, called=chain + place.called)


def holds_in(fact: Fact, service: str) -> bool:
    """``service``: a published name. A fact names it, or the service that it is a part of, or
    either by a pattern; behind ``!`` what it does not hold in."""
    return not fact.services or _names(fact.services, service)


@functools.lru_cache(maxsize=1 << 16)
def _names(services: tuple[str, ...], service: str) -> bool:
    names = (service, whole_of(service))

    def named(patterns: Iterable[str]) -> bool:
        return any(fnmatch.fnmatchcase(name, one) for name in names for one in patterns)

    out = [one.removeprefix("!") for one in services if one.startswith("!")]
    within = [one for one in services if not one.startswith("!")]
    return (not within or named(within)) and not named(out)
