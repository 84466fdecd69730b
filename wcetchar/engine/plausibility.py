"""Looks for numbers of a profile that can be meant but seldom are.

Nothing here is an error: a profile that can be read can be priced. What is looked for are slips
that make estimates too low (a unit, a zero that was forgotten, cycles of the wrong clock), and
those that make them needlessly dear. Each rule says which it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from wcetchar.engine import plausible_caches, plausible_waits
from wcetchar.engine.plausible_regions import clock_of, of_default_map, of_region
from wcetchar.engine.plausible_times import (
    ALWAYS_THERE,
    is_a_table,
    nanoseconds,
    pays_fetches,
    wide,
)
from wcetchar.engine.time import periods
from wcetchar.model.access import NO_MORE_THAN, EventKind, Operation
from wcetchar.model.hardware import HardwareProfile, Region
from wcetchar.model.plausibility import Finding, Severity

_NOT_LESS: Final = (
    (EventKind.MULTIPLY, EventKind.ALU),
    (EventKind.MULTIPLY_LONG, EventKind.MULTIPLY),
    (EventKind.DIVIDE, EventKind.MULTIPLY),
    (EventKind.BRANCH_TAKEN, EventKind.BRANCH_UNTAKEN),
    (EventKind.CALL_INDIRECT, EventKind.CALL),
    (EventKind.LOAD_MULTIPLE, EventKind.LOAD),
    (EventKind.STORE_MULTIPLE, EventKind.STORE),
    (EventKind.FLOAT_DIVIDE, EventKind.FLOAT),
    *((other, case) for case, other in NO_MORE_THAN.items()),
)
"""(kind, kind that it hardly takes less than). Where a handler serves supervisor calls and others,
each of its entries is any exception's."""

_DEPENDS: Final = frozenset(
    {
        EventKind.DIVIDE,
        EventKind.FLOAT_DIVIDE,
        EventKind.FLOAT_SQUARE_ROOT,
        EventKind.MULTIPLY_LONG,
        EventKind.EXCEPTION_ENTRY,
        EventKind.SUPERVISOR_CALL_ENTRY,
    }
)
"""Kinds with wide ranges: time depends on operands, which no trace shows; and the entry of an
exception waits for the end of what ran before, at worst for memory, at best for nothing."""

_SAYS_WHAT_WAITS: Final = {
    Operation.READ: (EventKind.CONSECUTIVE_ACCESS, EventKind.LOAD_USE_STALL),
    Operation.WRITE: (EventKind.CONSECUTIVE_ACCESS,),
}
"""Stalls whose prices say what a hidden part of an access makes others wait."""


def implausible(profile: HardwareProfile) -> tuple[Finding, ...]:
    """Everything that looks like a slip, in the order of the file."""
    return (
        *clock_of(profile.core.clock, ("core", "clock")),
        *_events(profile),
        *_overlaps(profile),
        *plausible_waits.of_core(profile),
        *plausible_caches.of_core(profile),
        *(finding for region in profile.regions.values() for finding in _region(profile, region)),
        *plausible_waits.together(profile),
        *of_default_map(profile),
    )


def _region(profile: HardwareProfile, region: Region) -> Iterator[Finding]:
    yield from of_region(profile, region)
    yield from plausible_caches.of_region(profile, region)
    yield from plausible_waits.of_region(profile, region)


def _events(profile: HardwareProfile) -> Iterator[Finding]:
    events = profile.core.events
    missing = [kind.value for kind in ALWAYS_THERE if kind not in events]
    if missing and not is_a_table(profile):
        yield Finding(
            ("core", "events"),
            Severity.DEAR,
            f"no time for {', '.join(missing)}, which every kernel has",
            "services with them cannot be priced; a deliberate zero is written `0 cycles`",
        )
    for kind, quantity in events.items():
        place = ("core", "events", kind.value)
        if kind not in _DEPENDS:
            yield from wide(quantity, place)
        if kind.is_issue and not quantity.high and not profile.core.discarded_fetches.get(kind):
            if pays_fetches(profile):
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


def _overlaps(profile: HardwareProfile) -> Iterator[Finding]:
    period = periods(profile.core.clock).nominal
    issue = [q for kind, q in profile.core.events.items() if kind.is_issue and q.high]
    least = min((nanoseconds(q.high, q.unit, period) for q in issue), default=None)
    for operation, quantity in profile.core.overlap.items():
        hidden = nanoseconds(quantity.high, quantity.unit, period)
        if least is not None and hidden > least:
            yield Finding(
                ("core", "overlap", operation.value),
                Severity.TOO_LOW,
                f"hides {float(hidden):g} ns of each {operation.value}, more than the shortest "
                f"instruction takes ({float(least):g} ns)",
                "an access is hidden behind the instruction that executes meanwhile, "
                "so no longer than that takes",
            )
        silent = [k for k in _SAYS_WHAT_WAITS.get(operation, ()) if k not in profile.core.events]
        if operation is Operation.ACCESS or silent:
            yield Finding(
                ("core", "overlap", operation.value),
                Severity.TOO_LOW,
                f"hides a part of each {operation.value}",
                "right for a write buffer or a pipelined load only if nothing waits for it; "
                "several in a row do: price `consecutive access`, and `load-use stall` for loads",
            )
