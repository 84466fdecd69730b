"""The blocking stretches of a service as they are published.

Of the stretches that were observed, one that another one exceeds in every class at all declared
values of the parameters (:mod:`wcetchar.analysis.dominance`), that fetches nothing and uses no data
which that one does not, at any point, and hides no less, and that goes on from and in no more than
it, is left out: its price is never higher. What handlers go on with, and what
the traces show outside of all services, is only known when all traces were read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import cache

from wcetchar.analysis.accesses import Labeller
from wcetchar.analysis.blocking import held_off
from wcetchar.analysis.collector import Code, Collector, StretchKey
from wcetchar.analysis.dominance import cover, observed_as_much, published_as_much
from wcetchar.analysis.published_lines import Places, published_footprints, succession_of
from wcetchar.analysis.repetition import publish
from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.used_lines import published_use
from wcetchar.model.characterization import (
    BlockingStretch,
    Counts,
    Joint,
    StretchCode,
    holds,
)
from wcetchar.model.service import Service


def published_stretches(
    name: str, service: Service, collector: Collector, labeller: Labeller, resolved: Resolved
) -> tuple[BlockingStretch, ...]:
    """Stretches of ``name``, which is ``service`` or one of its parts, as counts over the points at
    which it was observed; where a stretch did not occur, its counts are zero."""
    places = Places(resolved)
    points = sorted(collector.services[name].points)
    found, reached = collector.stretches[name], collector.reached[name]
    everywhere = {
        key: {point: observed.points.get(point, {}) for point in points}
        for key, observed in found.items()
    }
    goes_on = {key: _joints(name, service, key, collector, resolved) for key in found}

    code = collector.code[name]
    codes = {key: _code(code[key], labeller, places) for key in found}
    fetched = {
        key: {point: one.ranges for one in codes[key].footprints for point in one.points}
        for key in found
    }
    used = {
        key: published_use(one, resolved.section_names, places.begins)
        for key, one in collector.used_blocked[name].items()
    }

    def loads_as_much(one: StretchKey, two: StretchKey) -> bool:
        """At each observed point, or where ``one`` was not observed, by all that it ever loads."""
        mine, its = fetched[one], fetched[two]
        return all(
            point not in mine
            or (code[one].entered[point].loads_as_much(entered) and holds(mine[point], its[point]))
            for point, entered in code[two].entered.items()
        )

    def joined(one: StretchKey, two: StretchKey) -> bool:
        """Whatever precedes or follows ``two`` can precede or follow ``one``, and whatever ``two``
        fetches and uses ``one`` does."""
        return (
            goes_on[one][0] >= goes_on[two][0]
            and goes_on[one][1] >= goes_on[two][1]
            and codes[one].holds(codes[two])
            and loads_as_much(one, two)
            and (not used or used[one].holds(used[two]))
        )

    all_seen = cover(points, service.parameters)

    @cache
    def counts(key: StretchKey) -> Counts:
        return publish(
            everywhere[key],
            service.parameters,
            labeller.blockings,
            resolved.section_names,
            labeller.successions,
        )

    def exceeds(one: StretchKey, two: StretchKey) -> bool:
        return (
            one[0] == two[0]
            and joined(one, two)
            and observed_as_much(everywhere[one], everywhere[two])
            and (all_seen or published_as_much(counts(one), counts(two), service.parameters))
        )

    # One at a time, and only if another one that still stands exceeds it: of equals, the first
    # stays.
    kept = sorted(everywhere)
    for key in reversed(tuple(kept)):
        if any(exceeds(other, key) for other in kept if other != key):
            kept.remove(key)
    return tuple(
        BlockingStretch(
            kind=kind,
            begin=_place(resolved, begin, entered, reached[key][0]),
            end=_place(resolved, end, left, reached[key][1]),
            begin_place=resolved.place_of(resolved.table.instructions[begin].address),
            end_place=resolved.place_of(resolved.table.instructions[end].address),
            counts=counts(key),
            goes_on_from=goes_on[key][0],
            goes_on_in=goes_on[key][1],
            code=codes[key],
            data=used.get(key),
        )
        for key in kept
        for kind, begin, end, entered, left in (key,)
    )


def longer_outside(collector: Collector) -> Iterator[str]:
    """What the trace shows to be longer than the links of chains that services are for."""
    for joint, what in (
        (Joint.HANDLER, "no handler of a supervisor call"),
        (Joint.THREAD, "no thread that is switched to"),
    ):
        outside, longest = collector.outside[joint], collector.longest[joint]
        if outside > longest and collector.leads_on:
            of_services = f"{longest:,} at most in services" if longest else "no service shows one"
            yield (
                f"where interrupts stay masked through a switch, {what} keeps them so for longer "
                f"than services show; the trace has {outside:,} instructions of such a one outside "
                f"of all services ({of_services})"
            )


def _joints(
    name: str, service: Service, key: StretchKey, collector: Collector, resolved: Resolved
) -> tuple[frozenset[Joint], frozenset[Joint]]:
    """What a stretch goes on from, and in. A handler that switches threads need not be seen to do
    so in a window: it may go on with whatever thread some handler goes on with."""
    goes_on_from, goes_on_in = (frozenset(joints) for joints in collector.goes_on[name][key])
    switches = any(
        service in resolved.entries[entry]
        and (not service.exceptions or exception in service.exceptions)
        for entry, exception in collector.switching
    )
    if (
        switches
        and (name, key) in collector.at_exit
        and any(held_off(blocking, key[0]) for blocking in collector.resumed)
    ):
        goes_on_in |= {Joint.THREAD}
    return goes_on_from, goes_on_in


def _code(code: Code, labeller: Labeller, places: Places) -> StretchCode:
    ranges = places.ranges(labeller.lines.ranges(code.pairs))
    masked_by, *others = code.masked_by
    masks = None if others or masked_by is None else places.byte_at(masked_by)
    key = succession_of(labeller.joint, labeller.successions)
    footprints = published_footprints(code.entered, places, key)
    return StretchCode(ranges, code.wild, masks, footprints)


def _place(resolved: Resolved, index: int, call: int, reached: Collection[int]) -> str:
    """Where an instruction is, and who called its function, where that is known: the call before it
    led there, maybe through a pointer or a linker's veneer."""
    table = resolved.table.instructions
    place = resolved.place(table[index].address)
    function = resolved.image.function_at(table[index].address)
    if function is None or all(table[one].address != function.address for one in reached):
        return place
    return f"{place}, called at {resolved.place(table[call].address)}"
