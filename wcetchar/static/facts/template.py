"""The facts that are missing, as a file to fill in.

Prose begins with ``##``, a fact that could be stated with ``#``: taking the ``#`` off states it,
and nothing is stated that nobody has decided. Where traces showed something, it stands above the
fact, and the fact is marked ``observed``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from wcetchar import formula
from wcetchar.errors import Location, one_line
from wcetchar.model.expression import Expression, Name, Number
from wcetchar.model.flow_fact import (
    Accesses,
    CodePlace,
    Fact,
    LoopBound,
    PlaceKind,
    Recursion,
    Targets,
)
from wcetchar.static.facts.printer import fact_text, to_text
from wcetchar.static.facts.proposals import Observed, proposal

FILL_IN: Final = "FILL_IN"
"""Stands where a value has to be written; no parameter, function or section has this name."""
_MOST_SHOWN: Final = 4
_NOWHERE: Final = CodePlace(PlaceKind.ADDRESS)


@dataclass(frozen=True)
class Missing:
    """What all of them have.

    Attributes:
        services: whose flow needs the fact.
        function: that it concerns.
        source: the source line, for people; empty: not known.
    """

    services: tuple[str, ...]
    function: str
    source: str = ""


@dataclass(frozen=True)
class MissingLoop(Missing):
    """``observed``: how often the back edges were taken at most after one entry."""

    place: CodePlace = _NOWHERE
    observed: tuple[Observed, ...] = ()


@dataclass(frozen=True)
class MissingRecursion(Missing):
    """``observed``: how many calls of ``function`` were active at once, at most."""

    observed: tuple[Observed, ...] = ()


@dataclass(frozen=True)
class MissingTargets(Missing):
    """``seen``: where the indirect call, or jump, went to."""

    place: CodePlace = _NOWHERE
    seen: tuple[CodePlace, ...] = ()


@dataclass(frozen=True)
class MissingAccess(Missing):
    """``seen``: logical sections of what was accessed there."""

    place: CodePlace = _NOWHERE
    seen: tuple[str, ...] = ()


def template(missing: Sequence[Missing]) -> str:
    """The text of a file of flow facts that states nothing yet. In order of services, functions
    and facts."""
    ordered = sorted(missing, key=lambda one: (one.services, one.function, _text(one)))
    lines = [
        f"## Facts that are missing: {len(ordered)}. Take the # off in front of those that you",
        f'## state, write what {FILL_IN} stands for, and add why it holds: because "...".',
        "## What is marked 'observed' is what traces showed. If you know why it holds, take that",
        "## word off.",
    ]
    for services, of_services in groupby(ordered, key=lambda one: one.services):
        margin = "    " if services else ""
        lines.append("")
        if services:
            lines.append(to_text([_scope(services)]).splitlines()[0])
        for function, of_function in groupby(of_services, key=lambda one: one.function):
            lines.append(f"{margin}## {one_line(function)}")
            for one in of_function:
                lines += [f"{margin}{line}" for line in _entry(one)]
        if services:
            lines.append("}")
    return "".join(f"{line}\n" for line in lines)


def _scope(services: tuple[str, ...]) -> Fact:
    return Recursion(Location(""), services, function="f", limit=Number(1))


def _text(one: Missing) -> str:
    return fact_text(_fact(one, Name(FILL_IN)))


def _entry(one: Missing) -> list[str]:
    lines = [f"##   {one_line(one.source)}"] if one.source else []
    seen, proposed = _seen(one)
    lines += [f"##   {line}" for line in seen]
    if proposed is not None:
        lines.append(f"# observed {fact_text(_fact(one, proposed))}")
    elif isinstance(one, MissingTargets | MissingAccess) and one.seen:
        lines.append(f"# observed {_text(one)}")
    else:
        lines.append(f"# {_text(one)}")
    return lines


def _fact(one: Missing, limit: Expression) -> Fact:
    nowhere = Location("")
    match one:
        case MissingLoop():
            return LoopBound(nowhere, place=one.place, limit=limit)
        case MissingRecursion():
            return Recursion(nowhere, function=one.function, limit=limit)
        case MissingTargets():
            unknown = CodePlace(PlaceKind.FUNCTION, name=FILL_IN)
            return Targets(nowhere, place=one.place, targets=one.seen or (unknown,))
        case MissingAccess():
            return Accesses(nowhere, place=one.place, sections=one.seen or (FILL_IN,))
        case _:
            raise TypeError(type(one).__name__)


def _seen(one: Missing) -> tuple[list[str], Expression | None]:
    """What traces showed, for people, and a bound that meets it."""
    match one:
        case MissingLoop(observed=observed) | MissingRecursion(observed=observed):
            if not observed:
                return ["observed: never"], None
            found = proposal(observed)
            return _shown(observed, found), found
        case MissingTargets(seen=seen) | MissingAccess(seen=seen):
            return ([] if seen else ["observed: never"]), None
    return [], None


def _shown(observed: Sequence[Observed], found: Expression | None) -> list[str]:
    """The greatest count first, and where it was least."""
    by_count = sorted(observed, key=lambda one: (-one.count, sorted(one.values.items())))
    shown = by_count
    if len(by_count) > _MOST_SHOWN:
        shown = [*by_count[: _MOST_SHOWN - 1], by_count[-1]]
    parts = [_at(one) for one in shown]
    text = f"observed: at most {parts[0]}" + "".join(f", {part}" for part in parts[1:])
    if len(shown) < len(by_count):
        text += f", of {len(by_count)} combinations of values"
    if found is None:
        return [text, "no simple formula of one parameter fits"]
    return [text, f"{formula.to_text(found)} fits every value that was observed"]


def _at(one: Observed) -> str:
    values = ", ".join(f"{name} = {value}" for name, value in sorted(one.values.items()))
    return f"{one.count} ({values})" if values else str(one.count)
