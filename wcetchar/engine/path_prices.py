"""Prices of what path models count, each key by itself: whatever comes before it on a path.

The price of a path is a sum over its nodes, so a price may depend on nothing that a node does not
say. ``pricing`` has most of these; here it is asked with what depends on a whole run left out:

* Where vectors do not count successions, each access is priced as if the dearest had gone before
  it, edges and interference included, and what a turnaround takes beyond a cycle; right behind
  another one it is charged as a whole besides (``consecutive access``). A write buffer is left out:
  the core waits for each write itself, which is never less than what later accesses wait for it.
  Writes of before a path, or before what is held off in it, wait for nobody there: as many as the
  buffer takes are under way when it begins, to the slowest region, and it waits for all of them.
  Without one, an edge of a bus's clock may be left for what goes on behind a handler; it is charged
  once for each path.
* Stalls that a profile prices must be counted; else it is refused.
* An instruction cache is ``always miss``, whatever the map says: each line entry takes a refill and
  the longest that it may wait for accesses. Vectors must count entries of lines of this size. Where
  accesses go to memories that lines are loaded from, the last of what is held off may each wait for
  a line that is fetched for what comes behind it (``FETCHED_BEHIND`` instructions).
* A data cache is ``always miss``: each read of what it may hold takes a miss, or is carried out
  again because of a store before it, whichever is dearer. Where loads that are carried out again
  fetch lines again, it is refused: which do is not counted.

``always miss`` is never too low whatever a cache holds, as for services (``refills``,
``data_cache``).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TypeGuard

from wcetchar.engine.errors import PricingError
from wcetchar.engine.lines import LinePrices
from wcetchar.engine.pricer import CORE, Pricer
from wcetchar.engine.prices import OfPaths, Price, PriceVector
from wcetchar.engine.pricing import priced_stalls, vector_of
from wcetchar.engine.refills import RefillPrices, refill_prices
from wcetchar.errors import InputErrors, NoSoundBound
from wcetchar.model.access import (
    LINE_ENTRIES,
    UNKNOWN_SECTION,
    AccessClass,
    CoreEvent,
    Key,
    Operation,
    Succession,
)
from wcetchar.model.characterization import STALL_EDITION, Characterization
from wcetchar.model.fetch_buffer import FETCHED_BEHIND
from wcetchar.model.hardware import HardwareProfile
from wcetchar.model.interval import Interval
from wcetchar.model.path_model import PathModel
from wcetchar.model.section_map import CacheState, SectionMap
from wcetchar.model.service import SectionKind
from wcetchar.model.symbolic import most

_WRITES = (
    "paths: the core is taken to wait for each write itself, as without a write buffer, and for "
    "those that are under way when a path, or what is held off, begins"
)
_LINES = "paths: each line of instructions that is entered counts as a miss, whatever the map says"


def path_prices(
    characterization: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    models: Iterable[PathModel],
    cheapest: bool = True,
) -> PriceVector:
    """Price everything that ``models`` count. It holds for other models, too, if they count nothing
    else, and what they count as these do. ``cheapest``: with what would be the cheapest region of
    what lies in an unknown section; no bound needs it.

    Raises:
        InputError: as of :func:`wcetchar.engine.pricing.price_vector`.
        NoSoundBound: the profile prices what the models do not count.
    """
    chosen = list(models)
    seen = replace(
        characterization,
        stalls=min((model.stalls for model in chosen), default=0),
        successions=bool(chosen) and all(model.successions for model in chosen),
        data_lines=(),
    )
    section_map = replace(
        section_map, instruction_cache=CacheState.ALWAYS_MISS, data_cache=CacheState.ALWAYS_MISS
    )
    alone = Pricer(profile, section_map, seen, ())
    profile, buffered = _without_buffer(seen, profile)
    _check_counted(seen, profile, chosen)
    users: dict[Key, list[str]] = {}
    for model in chosen:
        for key in dict.fromkeys(key for vector in model.vectors for key in vector):
            users.setdefault(key, []).append(model.service)
    entries = [k for k in users if isinstance(k, CoreEvent) and k.kind.is_line_entry]
    found: list[RefillPrices] = []

    def lines(pricer: Pricer) -> list[LinePrices | None]:
        waits = pricer.waits_of_refills()
        refills = refill_prices(seen, profile, section_map, (), waits)
        if refills is not None:
            found.append(refills)
        return []

    others = {key: names for key, names in users.items() if key not in set(entries)}
    vector = vector_of(seen, profile, section_map, others, lines)
    refills = found[0] if found else None
    if refills is not None:
        _check_lines(seen, profile, chosen, entries, refills)
    prices = dict(vector.prices)
    for key in entries:
        prices[key] = Price(CORE, Interval())
        if refills is not None:
            price = _entry(key, refills)
            prices[key] = Price(price.region, vector.rate.applied(key, price.time))
    of_paths = OfPaths(
        successions=seen.successions,
        stalls=seen.stalls,
        line=None if refills is None else refills.geometry.line,
        under_way=Fraction(0) if seen.successions else alone.longest_under_way(),
        fetched_behind=Fraction(0) if refills is None else _fetched_behind(refills, users, alone),
        cheapest=_cheapest(seen, profile, section_map, prices) if cheapest else {},
    )
    notes = (*vector.notes, *buffered, *(() if refills is None else (_LINES,)))
    return replace(vector, prices=prices, notes=notes, of_paths=of_paths)


def _without_buffer(
    seen: Characterization, profile: HardwareProfile
) -> tuple[HardwareProfile, tuple[str, ...]]:
    """Where successions are not counted; and what to say of it."""
    if not profile.core.write_buffer or seen.successions:
        return profile, ()
    return replace(profile, core=replace(profile.core, write_buffer=0)), (_WRITES,)


def _is_access(key: Key) -> TypeGuard[AccessClass]:
    return isinstance(key, AccessClass) and key.operation is not Operation.FETCH


def _fetched_behind(refills: RefillPrices, keys: Iterable[Key], pricer: Pricer) -> Fraction:
    """What a stretch waits for lines of what comes behind it, in nanoseconds. Its own instructions
    have been fetched by then, so nothing but its accesses do, each of the last for one line."""
    asked = {
        region.name
        for key in filter(_is_access, keys)
        for region in pricer.placement.reached(key.section, key.operation)
    }
    lines = [
        _line(refills, section).high
        for section, region in refills.region.items()
        if region.name in asked
    ]
    return FETCHED_BEHIND * most(Fraction(0), *lines)


def _check_counted(
    seen: Characterization, profile: HardwareProfile, models: Sequence[PathModel]
) -> None:
    core = profile.core
    for model in models:
        stalls = priced_stalls(profile)
        if stalls and model.stalls < STALL_EDITION:
            raise NoSoundBound(
                f"the path model of {model.service} does not count stalls, which profile "
                f"{profile.name} prices ({', '.join(stalls[:3])})",
                expected=f"path models that count them (stalls: {STALL_EDITION}), or a profile "
                "whose times of instructions hold them",
                hint="characterize again with this wcetchar",
            )
        if seen.successions:
            _check_successions(model)
    again = core.data_cache is not None and core.data_cache.load_behind_store is not None
    if models and again and core.instruction_cache is not None:
        raise NoSoundBound(
            f"the path model of {models[0].service} does not count loads behind stores, which "
            f"profile {profile.name} carries out again and fetches lines again for",
            expected="a profile without `load behind store`, or without an instruction cache",
        )


def _check_successions(model: PathModel) -> None:
    """Each data access of a vector has one: without it, it would wait for nothing."""
    for number, vector in enumerate(model.vectors):
        counted: dict[AccessClass, int] = {}
        for key, count in vector.items():
            if isinstance(key, Succession) and key.access is not None:
                counted[key.access] = counted.get(key.access, 0) + count
        for key, count in vector.items():
            if _is_access(key) and counted.get(key, 0) < count:
                raise NoSoundBound(
                    f"the path model of {model.service} says that it counts successions, but "
                    f"vector {number} counts {count} × {key} and {counted.get(key, 0)} that "
                    "lead to it",
                    expected="a succession for each access",
                    hint="characterize again with this wcetchar",
                )


def _check_lines(
    seen: Characterization,
    profile: HardwareProfile,
    models: Sequence[PathModel],
    entries: Iterable[CoreEvent],
    refills: RefillPrices,
) -> None:
    line = refills.geometry.line
    for model in models:
        if line not in model.lines:
            raise NoSoundBound(
                f"the path model of {model.service} does not count entries of lines of {line} "
                f"bytes, which the instruction cache of profile {profile.name} is priced by",
                expected="path models that count them, or a profile that prices each fetch as one "
                "that misses",
                hint="characterize again with this wcetchar",
            )
    begins = {s.name for s in seen.sections if s.kind is SectionKind.CODE and s.address is not None}
    for key in entries:
        if key.kind in LINE_ENTRIES[line] and key.section not in begins:
            raise NoSoundBound(
                f"lines are entered in {key.section}, and where it began when it was "
                "characterized is not said",
                expected="the address of each section of code that lines are entered in",
                hint="characterize again with this wcetchar",
            )


def _entry(event: CoreEvent, refills: RefillPrices) -> Price:
    """Of an entry of a line, as a miss."""
    here, elsewhere = LINE_ENTRIES[refills.geometry.line]
    moved = event.kind is elsewhere and not refills.in_place(event.section)
    if event.section not in refills.price or not (event.kind is here or moved):
        return Price(CORE, Interval())
    region, _ = refills.price[event.section]
    return Price(region, _line(refills, event.section))


def _line(refills: RefillPrices, section: str) -> Interval:
    """Of a line of a section, and what it may wait for."""
    _, time = refills.price[section]
    return time.up_to(time.high + refills.waits.longest(refills.region[section]))


def _cheapest(
    seen: Characterization,
    profile: HardwareProfile,
    section_map: SectionMap,
    prices: Mapping[Key, Price],
) -> dict[Key, Fraction]:
    """The price of each key of unknown section if that lay in the cheapest region: it is asked for
    as if a section of its own were placed in each region."""
    found: dict[Key, Fraction] = {}
    for region in profile.regions:
        probe = f"\0{region}"
        placed = replace(section_map, sections={**section_map.sections, probe: region})
        pricer = Pricer(profile, placed, seen, prices)
        for key in prices:
            if isinstance(key, Succession) or key.section != UNKNOWN_SECTION:
                continue
            try:
                price = pricer.price(replace(key, section=probe))
            except (PricingError, InputErrors):
                continue  # it cannot lie there
            high = pricer.rate.applied(key, price.time).high
            found[key] = min(found.get(key, high), high)
    return found
