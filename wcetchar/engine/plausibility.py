"""Looks for numbers of a profile that can be meant but seldom are.

Nothing here is an error: a profile that can be read can be priced. What is looked for are slips
that make estimates too low (a unit, a zero that was forgotten, cycles of the wrong clock), and
those that make them needlessly dear. Each rule says which it is."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.engine.time import periods
from wcetchar.model.access import EventKind, Operation
from wcetchar.model.hardware import (
    AccessTime,
    HardwareProfile,
    Quantity,
    Region,
    RegionKind,
    Unit,
)
from wcetchar.model.plausibility import Finding, Severity

_SLOWEST: Final = 10_000
_FASTEST: Final = 5_000_000_000
_WIDE: Final = 10
"""A range whose upper end is more than so many times its lower one says little."""

_NOT_LESS: Final = (
    (EventKind.MULTIPLY, EventKind.ALU),
    (EventKind.MULTIPLY_LONG, EventKind.MULTIPLY),
    (EventKind.DIVIDE, EventKind.MULTIPLY),
    (EventKind.BRANCH_TAKEN, EventKind.BRANCH_UNTAKEN),
    (EventKind.CALL_INDIRECT, EventKind.CALL),
    (EventKind.LOAD_MULTIPLE, EventKind.LOAD),
    (EventKind.STORE_MULTIPLE, EventKind.STORE),
    (EventKind.FLOAT_DIVIDE, EventKind.FLOAT),
)
"""(kind, kind that it hardly takes less than)."""

_BY_OPERANDS: Final = frozenset(
    {EventKind.DIVIDE, EventKind.FLOAT_DIVIDE, EventKind.FLOAT_SQUARE_ROOT, EventKind.MULTIPLY_LONG}
)
"""Kinds whose time depends on operands, which no trace shows: their ranges are wide."""

_ALWAYS_THERE: Final = (
    EventKind.ALU,
    EventKind.LOAD,
    EventKind.STORE,
    EventKind.BRANCH_TAKEN,
    EventKind.BRANCH_UNTAKEN,
    EventKind.CALL,
    EventKind.RETURN,
    EventKind.PIPELINE_REFILL,
)
"""Kinds that every kernel on every core shows."""


def implausible(profile: HardwareProfile) -> tuple[Finding, ...]:
    """Everything that looks like a slip, in the order of the file."""
    return (
        *_clock(profile.core.clock, ("core", "clock")),
        *_events(profile),
        *_overlaps(profile),
        *(finding for region in profile.regions.values() for finding in _region(profile, region)),
        *_default_map(profile),
    )


def _clock(clock: Quantity, place: tuple[str, ...]) -> Iterator[Finding]:
    if clock.high < _SLOWEST or clock.low > _FASTEST:
        yield Finding(
            place,
            Severity.TOO_LOW if clock.low > _FASTEST else Severity.DEAR,
            f"a clock of {float(clock.nominal) / 1e6:g} MHz",
            "is the unit right?",
        )


def _events(profile: HardwareProfile) -> Iterator[Finding]:
    events = profile.core.events
    missing = [kind.value for kind in _ALWAYS_THERE if kind not in events]
    if missing:
        yield Finding(
            ("core", "events"),
            Severity.DEAR,
            f"no time for {', '.join(missing)}, which every kernel has",
            "services with them cannot be priced; a deliberate zero is written `0 cycles`",
        )
    for kind, quantity in events.items():
        place = ("core", "events", kind.value)
        if kind not in _BY_OPERANDS:
            yield from _wide(quantity, place)
        if kind.is_issue and not quantity.high and not profile.core.discarded_fetches.get(kind):
            if _pays_fetches(profile):
                continue
            yield Finding(
                place,
                Severity.TOO_LOW,
                "the instruction takes no time, and its fetch may be hidden as well",
                "an instruction takes at least one cycle, here or as the fetch that is not hidden",
            )
    for kind, other in _NOT_LESS:
        if kind in events and other in events:
            one, two = events[kind], events[other]
            if one.unit is two.unit and one.high < two.high:
                yield Finding(
                    ("core", "events", kind.value),
                    Severity.TOO_LOW,
                    f"{kind.value} takes less than {other.value}",
                    "is one of the two the other's number?",
                )


def _pays_fetches(profile: HardwareProfile) -> bool:
    """Nothing of a fetch is hidden, so that the time of an instruction may be that of its fetch."""
    overlap = profile.core.overlap.get(Operation.FETCH)
    return overlap is None or not overlap.high


def _overlaps(profile: HardwareProfile) -> Iterator[Finding]:
    period = periods(profile.core.clock).nominal
    issue = [q for kind, q in profile.core.events.items() if kind.is_issue and q.high]
    least = min((_nanoseconds(q.high, q.unit, period) for q in issue), default=None)
    for operation, quantity in profile.core.overlap.items():
        hidden = _nanoseconds(quantity.high, quantity.unit, period)
        if least is not None and hidden > least:
            yield Finding(
                ("core", "overlap", operation.value),
                Severity.TOO_LOW,
                f"hides {float(hidden):g} ns of each {operation.value}, more than the shortest "
                f"instruction takes ({float(least):g} ns)",
                "an access is hidden behind the instruction that executes meanwhile, "
                "so no longer than that takes",
            )
        if operation is not Operation.FETCH:
            yield Finding(
                ("core", "overlap", operation.value),
                Severity.TOO_LOW,
                f"hides a part of each {operation.value}",
                "right for a write buffer or a pipelined load only if nothing waits for it; "
                "several in a row do",
            )


def _region(profile: HardwareProfile, region: Region) -> Iterator[Finding]:
    where = ("regions", region.name)
    clock = region.clock or profile.core.clock
    if region.clock is not None:
        yield from _clock(region.clock, (*where, "clock"))
        if region.clock.low > profile.core.clock.high:
            yield Finding(
                (*where, "clock"),
                Severity.TOO_LOW,
                "the bus is faster than the core",
                "cycles of this region are cycles of its own clock: are they the core's?",
            )
    of_bus = periods(clock).nominal * region.clock_divider
    for operation, time in region.times.items():
        hits = profile.core.caches(region, operation)
        period = periods(profile.core.clock).nominal if hits else of_bus
        yield from _access(time, (*where, operation.value), period)
    if region.kind is RegionKind.PERIPHERAL and Operation.FETCH in region.times:
        yield Finding(
            (*where, Operation.FETCH.value),
            Severity.DEAR,
            "code can be fetched from a peripheral",
            "it then counts where the origin of a fetch is not known; leave `fetch` out",
        )
    if region.kind is RegionKind.MEMORY and not {Operation.READ, Operation.ACCESS} & set(
        region.times
    ):
        yield Finding(
            where,
            Severity.DEAR,
            "a memory that cannot be read",
            "constants and literal pools lie beside code: give it `read`",
        )


def _access(time: AccessTime, place: tuple[str, ...], period: Fraction) -> Iterator[Finding]:
    for quantity, which in ((time.first, "first"), (time.next, "next")):
        if which == "next" and quantity == time.first:
            return  # said of the first already; in the file it may be one value for both
        yield from _wide(quantity, (*place, which))
        if not quantity.high:
            yield Finding(
                (*place, which),
                Severity.TOO_LOW,
                "an access takes no time",
                "what is hidden behind the instruction is said under `overlap`",
            )
        elif quantity.unit is Unit.NANOSECONDS and quantity.high * 2 < period:
            yield Finding(
                (*place, which),
                Severity.TOO_LOW,
                f"{float(quantity.high):g} ns is less than half a cycle ({float(period):g} ns)",
                "an access takes at least a cycle of its bus: is the unit right?",
            )
    if time.next.unit is time.first.unit and time.next.high > time.first.high:
        yield Finding(
            (*place, "next"),
            Severity.DEAR,
            "a further access of a burst takes longer than the first",
            "are the two exchanged?",
        )


def _wide(quantity: Quantity, place: tuple[str, ...]) -> Iterator[Finding]:
    if quantity.low and quantity.high > quantity.low * _WIDE:
        yield Finding(
            place,
            Severity.DEAR,
            f"a range from {float(quantity.low):g} to {float(quantity.high):g}",
            "the upper end is what is priced; measure it, or find it with `wcetchar profile fit`",
        )


def _default_map(profile: HardwareProfile) -> Iterator[Finding]:
    for section, name in profile.default_map.items():
        region = profile.regions.get(name)
        if region is not None and "text" in section and Operation.FETCH not in region.times:
            yield Finding(
                ("default map", section),
                Severity.DEAR,
                f"{section} lies in {name}, from which nothing can be fetched",
                "give the region `fetch`, or place the section elsewhere",
            )


def _nanoseconds(value: Fraction, unit: Unit, period: Fraction) -> Fraction:
    return value * period if unit is Unit.CYCLES else value
