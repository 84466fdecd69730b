"""Numbers of events, and of what hides behind them, that can be meant but seldom are.

Ranges: an instruction takes 1 to 72 cycles beside its accesses (72: MULH of a PicoRV32; its README,
"Cycles per Instruction Performance"), a stall or a refill fewer than 20. Twice that and more is let
pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from wcetchar.engine.plausible_cores import of_known_core
from wcetchar.engine.plausible_times import (
    ALWAYS_THERE,
    is_a_mean,
    is_a_table,
    nanoseconds,
    pays_fetches,
    slowest,
    spelled,
    wide,
)
from wcetchar.engine.time import periods
from wcetchar.model.access import NO_MORE_THAN, EventKind, Operation
from wcetchar.model.hardware import HardwareProfile, Quantity, Unit
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
    # It transfers control as well, and no instruction has prepared that.
    (EventKind.EXCEPTION_ENTRY, EventKind.PIPELINE_REFILL),
    *((other, case) for case, other in NO_MORE_THAN.items()),
)
"""(kind, kind that it hardly takes less than). Where a handler serves supervisor calls and others,
each of its entries is any exception's."""

_MOST_CYCLES: Final = 200
_MOST_OF_SOFTWARE: Final = 800
"""Of an unaligned access that a core leaves to software: some hundred instructions."""
_MOST_OUTSIDE: Final = 1_000_000
"""Nanoseconds until a core that sleeps or was halted goes on: oscillators take ten or some hundred
us until they are steady."""
_MOST_ACCESSES: Final = 16
"""Accesses or lines that what went before may still wait for: those of 16 registers."""
_MOST_DISCARDED: Final = 16
"""Fetches: a fetch unit asks for a few words ahead (three: Cortex-M3 TRM, DDI 0337, 1.1)."""

_WAITS_FOR_MEMORY: Final = frozenset(
    {
        EventKind.EXCEPTION_ENTRY,
        EventKind.SUPERVISOR_CALL_ENTRY,
        EventKind.EXCEPTION_EXIT,
        EventKind.BARRIER,
    }
)
"""Kinds whose price holds waits for accesses of what went before: a profile has no other place."""

_OUTSIDE: Final = frozenset({EventKind.WAIT, EventKind.BREAKPOINT})
"""Kinds that something outside of the core ends."""

_TRANSFERS: Final = (EventKind.BRANCH_TAKEN, EventKind.CALL, EventKind.RETURN)

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


_AGAIN: Final = {
    EventKind.LOAD_USE_STALL: EventKind.SECOND_LOAD_USE_STALL,
    EventKind.ACCESS_LOAD_USE_STALL: EventKind.SECOND_LOAD_USE_STALL,
    EventKind.MULTIPLY_USE_STALL: EventKind.SECOND_MULTIPLY_USE_STALL,
}
"""Stalls of the next instruction, and the same of the second."""

_LAST: Final = {
    EventKind.SECOND_LOAD_USE_STALL: EventKind.LOAD,
    EventKind.SECOND_LOAD_USE_STALL_ACCESS: EventKind.LOAD,
    EventKind.SECOND_USE_STALL_TRANSFER: EventKind.LOAD,
    EventKind.SECOND_MULTIPLY_USE_STALL: EventKind.MULTIPLY,
    EventKind.DIVIDE_USE_STALL: EventKind.DIVIDE,
    EventKind.SHIFT_USE_STALL: EventKind.SHIFT_BY_REGISTER,
    EventKind.SYSTEM_USE_STALL: EventKind.SYSTEM_REGISTER,
    EventKind.ADDRESS_USE_STALL: EventKind.ALU,
}
"""Stalls behind which none is counted that is further from the same instruction, and whose time can
hold what that waits."""


def of_core(profile: HardwareProfile) -> Iterator[Finding]:
    """Events, what is thrown away with them, and what hides behind them."""
    known = tuple(of_known_core(profile.core))
    yield from known
    places = {one.place for one in known}
    # What a manual says of this very core need not be said again.
    general = (*_events(profile), *_refill(profile), *_far_stalls(profile))
    yield from (one for one in general if one.place not in places)
    yield from _discarded(profile)
    yield from _overlaps(profile)


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
        ranges = () if kind in _DEPENDS else tuple(wide(quantity, place))
        yield from ranges or _size(profile, kind, quantity)
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


def _size(profile: HardwareProfile, kind: EventKind, quantity: Quantity) -> Iterator[Finding]:
    """Its order of magnitude."""
    cycle = periods(profile.core.clock).nominal
    taken = nanoseconds(quantity.high, quantity.unit, cycle)
    most = _most(profile, kind, cycle)
    place = ("core", "events", kind.value)
    if taken > most:
        yield Finding(
            place,
            Severity.DEAR,
            f"{spelled(taken)} beside its accesses, {round(taken / cycle):,} cycles of the core",
            f"more than {spelled(most)} are not known of any core: is the unit right?",
        )
    elif quantity.unit is Unit.NANOSECONDS and 0 < taken < cycle / 2:
        yield Finding(
            place,
            Severity.TOO_LOW,
            f"{spelled(taken)} are less than half a cycle of the core ({spelled(cycle)})",
            "what happens in a core takes cycles: is the unit right?",
        )


def _most(profile: HardwareProfile, kind: EventKind, cycle: Fraction) -> Fraction:
    """Nanoseconds that an event of this kind takes at most."""
    if kind is EventKind.UNALIGNED_ACCESS:
        return cycle * _MOST_OF_SOFTWARE
    most = cycle * _MOST_CYCLES
    if kind in _OUTSIDE:
        return max(most, Fraction(_MOST_OUTSIDE))
    return most + _MOST_ACCESSES * slowest(profile) if kind in _WAITS_FOR_MEMORY else most


def _refill(profile: HardwareProfile) -> Iterator[Finding]:
    """With ``overlap`` a part of each fetch costs nothing, since an instruction executes meanwhile.
    None does while the target of a transfer of control is fetched: what was hidden of that fetch
    has to be in a price of the transfer, or in a fetch that is thrown away with it."""
    core = profile.core
    refill, hidden = core.events.get(EventKind.PIPELINE_REFILL), core.overlap.get(Operation.FETCH)
    if refill is None or hidden is None or is_a_mean(profile):
        return
    cycle = periods(core.clock).nominal
    transfers = [core.events[kind] for kind in _TRANSFERS if kind in core.events]
    least = _least(profile, cycle)
    if not transfers or least is None or core.discarded_fetches.get(EventKind.PIPELINE_REFILL):
        return
    behind = nanoseconds(hidden.high, hidden.unit, cycle)
    taken = nanoseconds(refill.high, refill.unit, cycle)
    if taken + min(nanoseconds(q.high, q.unit, cycle) for q in transfers) < least + behind:
        yield Finding(
            ("core", "events", EventKind.PIPELINE_REFILL.value),
            Severity.TOO_LOW,
            f"{spelled(taken)} are less than what is hidden of each fetch ({spelled(behind)})",
            "no instruction executes while the target of a transfer of control is fetched, so that "
            "nothing of that fetch is hidden: it costs a cycle at least",
        )


def _far_stalls(profile: HardwareProfile) -> Iterator[Finding]:
    """What an instruction waits for its operand, the one behind it waits a cycle less, if it needs
    the same."""
    core = profile.core
    cycle = periods(core.clock).nominal
    for kind, quantity in core.events.items():
        if nanoseconds(quantity.low, quantity.unit, cycle) <= cycle:
            continue
        again, whole = _AGAIN.get(kind), _LAST.get(kind)
        if again is not None and not core.prices(again):
            says = f"price `{again.value}`, as 0 cycles if that waits for nothing"
        elif whole is not None:
            says = f"leave one cycle here, and put the others into the time of `{whole.value}`"
        else:
            continue
        yield Finding(
            ("core", "events", kind.value),
            Severity.TOO_LOW,
            f"{kind.value} takes longer than a cycle, and nothing says what an instruction "
            "further behind waits",
            f"what needs the same a cycle later waits a cycle less: {says}",
        )


def _discarded(profile: HardwareProfile) -> Iterator[Finding]:
    for kind, count in profile.core.discarded_fetches.items():
        if count > _MOST_DISCARDED:
            yield Finding(
                ("core", "discarded fetches", kind.value),
                Severity.DEAR,
                f"{count} fetches are thrown away, and each is paid in full",
                "a core asks for a few ahead: is it a number of bytes, or of cycles?",
            )


def _least(profile: HardwareProfile, cycle: Fraction) -> Fraction | None:
    """Nanoseconds of the shortest instruction that takes any."""
    issue = [q for kind, q in profile.core.events.items() if kind.is_issue and q.high]
    return min((nanoseconds(q.high, q.unit, cycle) for q in issue), default=None)


def _overlaps(profile: HardwareProfile) -> Iterator[Finding]:
    period = periods(profile.core.clock).nominal
    least = _least(profile, period)
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
        if quantity.unit is Unit.NANOSECONDS and 0 < hidden < period / 2:
            yield Finding(
                ("core", "overlap", operation.value),
                Severity.DEAR,
                f"hides {spelled(hidden)} of each {operation.value}, less than half a cycle of the "
                f"core ({spelled(period)})",
                "what executes meanwhile takes cycles: is the unit right?",
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
