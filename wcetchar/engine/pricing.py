"""The price vector: everything that services touch, priced by a hardware profile and a section map
(``pricer``), and what was assumed for it. All problems of the three files come at once."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from wcetchar.engine.data_lines import data_line_prices
from wcetchar.engine.errors import PricingError
from wcetchar.engine.lines import Caches, LinePrices
from wcetchar.engine.places import misplaced
from wcetchar.engine.pricer import Pricer, listed
from wcetchar.engine.prices import Price, PriceVector
from wcetchar.engine.refills import refill_prices
from wcetchar.errors import few, several
from wcetchar.model.access import (
    STALLS,
    UNKNOWN_SECTION,
    AccessClass,
    CoreEvent,
    EventKind,
    Key,
    Pattern,
)
from wcetchar.model.chain import FOLLOWED
from wcetchar.model.characterization import (
    STALL_EDITION,
    BlockingStretch,
    Characterization,
    Counts,
    Joint,
    ServiceCharacterization,
)
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.section_map import Assumption, SectionMap

TIME_ASLEEP = (
    "the time asleep in an instruction that waits is no execution time: it is in no figure"
)


def price_vector(
    characterization: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    services: Iterable[str] | None = None,
) -> PriceVector:
    """Price everything that ``services`` (all, if ``None``) touch, and what may go on with what
    they block. All problems come at once.

    Raises:
        InputError: the map or its default names a region that the profile does not have; a section
            that is used has no region; an operation is not possible in the region of its section;
            the profile has no time for a core event that is counted.
    """
    return priced(characterization, profile, section_map, needs_of(characterization, services))


@dataclass(frozen=True)
class Needs:
    """What services need priced, whatever the profile.

    Attributes:
        users: each class, with the names of services that count it.
        services: those whose lines are priced: they themselves, and what may go on with them.
    """

    users: Mapping[Key, list[str]]
    services: tuple[ServiceCharacterization, ...]


def needs_of(characterization: Characterization, services: Iterable[str] | None = None) -> Needs:
    """Of ``services``, all for ``None``, and what may go on with what they block."""
    wanted = None if services is None else set(services)
    chosen = [s for s in characterization.services if wanted is None or s.name in wanted]
    followers: list[ServiceCharacterization] = []
    users: dict[Key, list[str]] = {}
    for service in chosen:
        for key in keys_of(service):
            users.setdefault(key, []).append(service.name)
    if any(leads_on(stretch) for service in chosen for stretch in service.stretches):
        for service in characterization.services:
            if any(can_follow(stretch) for stretch in service.stretches):
                followers.append(service)
            for key in _following_keys(service):
                users.setdefault(key, []).append(service.name)
    needed = {service.name: service for service in (*chosen, *followers)}.values()
    return Needs(users, tuple(needed))


def priced(
    characterization: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    needs: Needs,
) -> PriceVector:
    """Prices of all that is needed. Raises as :func:`price_vector`."""

    def lines(pricer: Pricer) -> list[LinePrices | None]:
        waits = pricer.waits_of_refills()
        return [
            refill_prices(characterization, profile, section_map, needs.services, waits),
            data_line_prices(
                pricer.data_cache,
                characterization,
                pricer.placement,
                section_map,
                pricer.passed(needs.users),
            ),
        ]

    return vector_of(characterization, profile, section_map, needs.users, lines)


def vector_of(
    characterization: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    users: Mapping[Key, list[str]],
    lines_of: Callable[[Pricer], list[LinePrices | None]],
) -> PriceVector:
    """Prices of keys, each with the names of services that count it; ``lines_of``: of caches.

    Raises:
        InputError: all problems at once.
    """
    pricer = Pricer(profile, section_map, characterization, users)
    problems: list[PricingError] = pricer.unknown_regions()
    problems.extend(_uncounted_stalls(characterization, profile))
    problems.extend(_uncounted_writes(characterization, profile))
    prices: dict[Key, Price] = {}
    failed: dict[str, tuple[PricingError, dict[str, None]]] = {}
    for key, names in users.items():
        try:
            prices[key] = pricer.price(key)
        except PricingError as error:
            _, needed_by = failed.setdefault(error.message, (error, {}))
            needed_by.update(dict.fromkeys(names))
    for problem, needed_by in failed.values():
        problem.message += f" (needed by {few(list(needed_by))})"
        problems.append(problem)
    if pricer.unmapped:
        problems.append(pricer.unmapped_error())
    problems.extend(_misspelt(characterization, section_map))
    problems.extend(_placed_joint(characterization, section_map))
    problems.extend(misplaced(characterization, profile, section_map))
    lines: list[LinePrices | None] = []
    try:
        lines = lines_of(pricer)
    except PricingError as error:
        problems.append(error)
    caches = Caches(tuple(one for one in lines if one is not None))
    if problems:
        raise several(problems)
    notes = _notes(characterization, section_map, users)
    rate = pricer.rate
    prices = {key: Price(p.region, rate.applied(key, p.time)) for key, p in prices.items()}
    blocked = {
        key: Price(price.region, rate.applied(key, price.time))
        for key in prices
        if (price := pricer.in_stretch(key)) is not None
    }
    notes = (*notes, *pricer.notes(), *caches.notes)
    return PriceVector(profile, section_map, prices, notes, caches, rate, blocked)


def keys_of(service: ServiceCharacterization) -> tuple[Key, ...]:
    """Every class that the rows, the table and the stretches of a service count, each once."""
    seen: dict[Key, None] = {}
    for counts in (service.counts, *(stretch.counts for stretch in service.stretches)):
        seen.update(dict.fromkeys(_keys(counts)))
    return tuple(seen)


def _keys(counts: Counts) -> Iterator[Key]:
    for row in (*counts.rows, *(row for point in counts.points for row in point.rows)):
        yield from row.vector


def leads_on(stretch: BlockingStretch) -> bool:
    """Another activity goes on with it, or runs inside of it."""
    joints = stretch.goes_on_in or frozenset()
    calls = any(key.kind is EventKind.SUPERVISOR_CALL for key in _events(stretch.counts))
    return bool(joints & FOLLOWED) or calls


def _events(counts: Counts) -> Iterator[CoreEvent]:
    return (key for key in _keys(counts) if isinstance(key, CoreEvent))


def _following_keys(service: ServiceCharacterization) -> Iterator[Key]:
    """What the stretches count that can follow others, and handlers as a whole."""
    for stretch in filter(can_follow, service.stretches):
        yield from _keys(stretch.counts)
        if Joint.HANDLER in (stretch.goes_on_from or ()):
            yield from _keys(service.counts)


def can_follow(stretch: BlockingStretch) -> bool:
    """The stretch of another activity may lead to it."""
    return bool((stretch.goes_on_from or frozenset()) & FOLLOWED)


def _notes(
    characterization: Characterization, section_map: SectionMap, users: Mapping[Key, list[str]]
) -> tuple[str, ...]:
    notes = [f"assumed: {assumption}" for assumption in characterization.assumptions]
    unknown = [k for k in users if k.section == UNKNOWN_SECTION and isinstance(k, AccessClass)]
    if unknown:
        notes.append(
            "accesses to unknown addresses are priced at the dearest region that permits them"
        )
    if any(isinstance(k, AccessClass) and k.width == 0 for k in users):
        notes.append("accesses of unknown width are priced at the dearest width")
    if any(_realigned(k) for k in users):
        if Assumption.CODE_ALIGNMENT in section_map.assumptions:
            notes.append(f"assumed, as the section map promises: {Assumption.CODE_ALIGNMENT.value}")
        else:
            notes.append("code may be linked at any address: fetches that this can add are counted")
    if any(isinstance(k, CoreEvent) and k.kind is EventKind.WAIT for k in users):
        notes.append(TIME_ASLEEP)
    known = {section.name for section in characterization.sections} | {k.section for k in users}
    named = dict.fromkeys([*section_map.sections, *section_map.addresses])
    strangers = [name for name in named if name not in known]
    if strangers:
        notes.append(
            f"section map {section_map.name} places {listed(strangers)}, which this "
            "characterization does not have"
        )
    return tuple(notes)


def _realigned(key: Key) -> bool:
    if isinstance(key, CoreEvent):
        return key.kind.is_realigned
    return isinstance(key, AccessClass) and key.pattern is Pattern.REALIGNED


def priced_stalls(profile: HardwareProfile) -> list[str]:
    """Stalls that take time of their own."""
    core = profile.core
    priced = {k for k in STALLS & core.events.keys() if core.events[k].high}
    return sorted(k.value for k in priced | {k for k in STALLS if core.discarded_fetches.get(k)})


def _uncounted_stalls(
    characterization: Characterization, profile: HardwareProfile
) -> Iterator[PricingError]:
    """A price of something that is not counted would be lost without a word."""
    if characterization.stalls >= STALL_EDITION:
        return
    priced = priced_stalls(profile)
    if priced:
        how = "by definitions that left some out" if characterization.stalls else "not at all"
        yield PricingError(
            f"the characterization of {characterization.kernel.name} counts stalls {how}, which "
            f"profile {profile.name} prices ({few(priced)})",
            expected=f"a characterization that counts them (stalls: {STALL_EDITION}), or "
            "instructions whose times hold them",
            hint="characterize the kernel anew; or leave out stalls, and raise `load` and others",
            file="profile",
            keys=("core", "events"),
        )


def _uncounted_writes(
    characterization: Characterization, profile: HardwareProfile
) -> Iterator[PricingError]:
    """What is under way when a service begins would be in no figure."""
    if profile.core.write_buffer and not characterization.successions:
        yield PricingError(
            f"the characterization of {characterization.kernel.name} does not count successions, "
            f"which the write buffer of profile {profile.name} needs",
            expected="a characterization made with --successions, or no write buffer",
            hint="without `write buffer`, the core is taken to wait for each write itself; add "
            "what is left of a caller's write",
            file="profile",
            keys=("core", "write_buffer"),
        )


def _misspelt(
    characterization: Characterization, section_map: SectionMap
) -> Iterator[PricingError]:
    """Sections of the map that are none here, but nearly one that the map does not place. Its
    default region, or that of the profile, would stand in for it without a word."""
    known = [s.name for s in characterization.sections if not s.either_of]
    free = [name for name in known if name not in section_map.sections]
    for name in section_map.sections:
        there_is_one = name in known or name in characterization.joint
        close = [] if there_is_one else difflib.get_close_matches(name, free, 1, cutoff=0.8)
        if close:
            yield PricingError(
                f"the characterization of {characterization.kernel.name} has no section {name}",
                expected=f"one of {listed(sorted(known))}",
                hint=f"did you mean `{close[0]}`?",
                file="map",
                keys=("sections", name),
            )


def _placed_joint(
    characterization: Characterization, section_map: SectionMap
) -> Iterator[PricingError]:
    """It would be thought to lie there."""
    for name, parts in characterization.joint.items():
        if name in section_map.sections:
            yield PricingError(
                f"section {name} is not placed itself: an access to it goes to one of "
                f"{listed(parts)}",
                expected=f"places for {listed(parts)} alone",
                hint=f"leave {name} out of the section map {section_map.name}",
                file="map",
                keys=("sections", name),
            )
