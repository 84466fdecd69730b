"""Files of flow facts, read and held against the services that they name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from wcetchar import formula, store
from wcetchar.errors import InputError, InputErrors, did_you_mean
from wcetchar.model.flow_fact import (
    Accesses,
    EntryValue,
    Fact,
    LoopBound,
    NoReturn,
    Recursion,
    Relation,
)
from wcetchar.model.service import PARTS, Service, ServiceKind, ServicesFile
from wcetchar.static.facts import MAX_CHARACTERS, ReadSource, parse_facts
from wcetchar.static.facts.scopes import holds_in

_MOST_BYTES: Final = 4 * MAX_CHARACTERS


@dataclass(frozen=True)
class PathsRequest:
    """What path models are made with.

    Attributes:
        facts: files of flow facts.
        sources: folders that the image's source files are looked for in.
        depth: calls that tell contexts apart, ``None``: all.
        observed: where nothing is known of a loop, it has the bound that traces showed.
    """

    facts: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    depth: int | None = None
    observed: bool = False


def read_facts(paths: Sequence[str]) -> tuple[Fact, ...]:
    """The facts of all files, in order.

    Raises:
        InputError: a file cannot be read, or has mistakes; where there are several, all of them.
    """
    facts: list[Fact] = []
    errors: list[InputError] = []
    for path in paths:
        try:
            facts += parse_facts(store.read_text(path, _MOST_BYTES), path).facts
        except InputErrors as several:
            errors += several.errors
        except InputError as error:
            errors.append(error)
    raise_all(errors)
    return tuple(facts)


def source_lines(folders: Sequence[str]) -> ReadSource:
    """Lines of source files, which are looked for in these folders and in the present one."""
    known: dict[str, list[str] | None] = {}

    def lines(name: str) -> list[str] | None:
        if name not in known:
            known[name] = None
            for folder in (*folders, "."):
                path = Path(folder) / name
                if path.is_file():
                    with contextlib.suppress(InputError):
                        known[name] = store.read_text(path, _MOST_BYTES).splitlines()
                        break
        return known[name]

    return lines


def raise_all(errors: Sequence[InputError]) -> None:
    """Raises the errors, if there are any."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise InputErrors(list(errors))


def check_names(
    facts: Sequence[Fact], services: ServicesFile, section_names: Sequence[str]
) -> None:
    """
    Raises:
        InputError: a service, parameter or section that a fact names is not there; where there are
            several, all of them.
    """
    raise_all([error for fact in facts for error in _strangers(fact, services, section_names)])


def _strangers(
    fact: Fact, services: ServicesFile, section_names: Sequence[str]
) -> Iterator[InputError]:
    holding = [s for s in services.services if _holds(fact, s)]
    if not holding and not fact.where_present:
        names = [s.name for s in services.services]
        yield InputError(
            f"no service is called {', '.join(fact.services)}",
            where=fact.where,
            expected="a service of the services files, or a pattern for some",
            hint=did_you_mean(fact.services[0], names),
        )
    if isinstance(fact, NoReturn) and fact.services:
        yield InputError(
            "a function returns in all services, or in none",
            where=fact.where,
            expected="a fact outside of a block `service`",
        )
    starts = isinstance(fact, EntryValue) and fact.at_start and bool(fact.services)
    if starts and holding and all(s.kind is not ServiceKind.ACTIVATION for s in holding):
        yield InputError(
            f"{holding[0].name} is no activation of a thread",
            where=fact.where,
            expected="a block `service` of activations for what holds where their thread starts",
            hint="say `at entry` of what holds when a service is called",
        )
    for used in sorted(_parameters_of(fact)):
        for service in holding:
            known = [p.name for p in service.parameters]
            if used not in known:
                yield InputError(
                    f"{service.name} has no parameter {used}",
                    where=fact.where,
                    expected="one of " + ", ".join(known) if known else "a number",
                    hint="facts of some services alone stand in a block `service`",
                )
                break
    if isinstance(fact, Accesses):
        for section in fact.sections:
            if section not in section_names:
                yield InputError(
                    f"there is no logical section {section}",
                    where=fact.where,
                    expected="one of " + ", ".join(section_names),
                    hint=did_you_mean(section, section_names),
                )


def _holds(fact: Fact, service: Service) -> bool:
    return any(holds_in(fact, part.of(service.name)) for part in PARTS[service.kind])


def _parameters_of(fact: Fact) -> frozenset[str]:
    match fact:
        case LoopBound(limit=limit) | Recursion(limit=limit) if limit is not None:
            return formula.names(limit)
        case Relation(terms=terms):
            return frozenset[str]().union(*(formula.names(term.factor) for term in terms))
        case _:
            return frozenset()
