"""How long a data access waits because of the one before it: posted writes, edges of a clock.

With writes under way behind the core (``write buffer: N``) a write costs its core nothing, and the
next access waits for its end. With N > 1 that is more than a core waits: the next write is taken
before the end of the last, and a queue with more places lets nothing go on later. A write that
follows a write puts off what it does not wait for, and ``then`` is what the core does behind the
two: where that takes longer than the second write, so much is made up for (``room``). Of an access
behind another one, in time::

    posted = max(0, full(before) + turnaround - overlap(write) - between)   before: a write
           = max(0, turnaround - between)                     before: what the core waited for
    held   = min(late * fetch held late, full(before) - overlap(write))     before: a write
             with N > 1 up to N * (the longest full + turnaround + edge) - overlap(write)
    room   = max(0, then + overlap(write) - full(access) - turnaround)  N > 1, both write
    edge   = what is left of the bus's cycle when the request comes         divider > 1
    price  = max(posted - room, held) + edge

Of a load that a data cache may hold the line of, and that is told apart where it misses (``hits``;
``then`` is what the core does behind it until something else accesses)::

    posted = max(posted - load - then, held + min(late then * fetch held late, posted))

for one that hits waits for nobody, and what waits next waits less by what the core does until then.
Transfers of control on the way may find the fetch unit held, as above. Loads there have to be such
as well. Where one of them misses, it waits all the same: what was taken off (``passed``) is charged
beside the miss (``data_lines``).

``between`` is the price of what the core does between the two, stalls included; ``turnaround`` that
of a consecutive access. Each is charged by itself, so the sum is what the slower of the two takes,
core or bus, even where an event that may happen does not. ``held``: a transfer of control that
takes effect late can find the fetch unit held because an access that was fetched in vain waits for
the write; that shows only where the write hides nothing else, and not on a core that makes no
access before it is known to be needed (``accesses in vain``).

The edge is known where the one before is in the same region: it ends with a cycle of that
bus, and ``between`` later, or a turnaround later if the write is what is waited for, the next is
asked for. That takes fetches that never wait, exact prices in cycles and N <= 1; else the longest
wait is taken, divider - 1 cycles. A core that reaches an edge later than priced cannot be: prices
are upper ends, and one that is earlier finds the same edge or an earlier one.

Where the one before is not known, N writes to the slowest region were begun right before; where
each access waits for others (``interference``), what they wait for is added by the pricer. Behind a
call (``called``) they were begun before that::

    posted = max(posted - least time of calls - least of a refill,
                 turnaround - least of a refill)

the latter where the call itself reads, so that nothing is under way but a turnaround may be left.

Where a handler that switched read last before it (``settled``) none was, for a read waits for all
of them; but a turnaround may be left, less the refill behind the handler's return. With a data
cache these reads may hit, and wait for nobody: then they were begun before n of these::

    posted = max(posted + sooner - n * least time of a load, turnaround) - least of a refill

These times are charged to whoever calls or returns, and may be shorter than that, so they count at
their least. Interference that comes again and again may have come before the window, and held up
the writes then. Behind a call it counts from when that began (``interference``). Behind reads that
hit, that is as long before as writes are under way at most (``longest_under_way``); what can come
then is charged where such a window begins (``sooner``), for a service may have several beginnings.
Where a handler ends, the longest wait for what it leaves behind is charged to it, and so is an
edge. What a call leaves behind is its caller's to wait for.

Source: the equations are those of a queue with one place (max-plus), and what several put off as
docs/explanation/model.md derives it ("Several writes under way"); checked by brute force in
``tests/property``, with one place cycle by cycle on a core as well (docs/explanation/rtl.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Final

from wcetchar.engine.interference import Rate
from wcetchar.engine.regions import edge_wait
from wcetchar.engine.time import ZERO_SPAN, Span, in_nanoseconds, less, plus, times
from wcetchar.model.access import (
    AccessClass,
    CoreEvent,
    EventKind,
    Operation,
    Pattern,
    Succession,
)
from wcetchar.model.hardware import Quantity, Region
from wcetchar.model.interval import Interval
from wcetchar.model.symbolic import is_whole, least, most

_OPPOSITE: Final = {"low": "high", "nominal": "nominal", "high": "low"}
ISSUES: Final = {
    EventKind.LOAD: Operation.READ,
    EventKind.LOAD_EXCLUSIVE: Operation.READ,
    EventKind.FLOAT_LOAD: Operation.READ,
    EventKind.STORE: Operation.WRITE,
    EventKind.STORE_EXCLUSIVE: Operation.WRITE,
    EventKind.FLOAT_STORE: Operation.WRITE,
    EventKind.SWAP: Operation.WRITE,
}
"""Instructions with a single access, and what hides it."""
CALLS: Final = frozenset(
    {
        EventKind.CALL,
        EventKind.CALL_INDIRECT,
        EventKind.BRANCH_TAKEN,  # by a function that ends with the call, as all below
        EventKind.BRANCH_TABLE,
        EventKind.RETURN,
        EventKind.LOAD,
    }
)
"""What a service may be called by."""
READS: Final = frozenset(
    {
        EventKind.LOAD,
        EventKind.LOAD_MULTIPLE,
        EventKind.LOAD_EXCLUSIVE,
        EventKind.FLOAT_LOAD,
        EventKind.FLOAT_LOAD_MULTIPLE,
        EventKind.BRANCH_TABLE,
        EventKind.RETURN,
    }
)
"""Instructions that may read, and do not write."""


@dataclass(frozen=True)
class Bus:
    """What the waits are made of.

    Attributes:
        clock: of the core.
        posted: so many writes go on behind the core.
        apart: no instructions are fetched from where a write may go.
        edges_known: fetches never wait and no cache loads lines, instructions with an access take
            what it hides, and no more than one write goes on.
        widest: bits of a write at most.
        overlap: of a write.
        overlaps: of accesses to data.
        turnaround: what an access right behind another one costs beside.
        held: what a late transfer costs where the fetch unit is held.
        event: the time of an event beside what it fetches in vain, as it is charged.
        called, refilled, read: at least so many nanoseconds go by with a call, with the refill
            behind it or behind the return of a handler, and with an instruction that reads.
        before: no less than the first two of these together, at any numbers.
        reached: regions that an access may reach.
        writable: regions that a write may have been made to.
        cached: a cache holds what is there, so the operation asks no bus.
        hits: of what a read of a section may reach all is so, and what misses is charged by itself.
        some_hit: a cache may hold what somebody else reads.
        others: what writes that are under way when a window begins wait for others at most.
        sooner: what interference that comes again and again takes at most, from when writes were
            begun that are still under way behind reads that hit.
        full: the full time of an access of a width to a region, for each width that it may have;
            without the wait for an edge.
    """

    clock: Quantity
    posted: int
    apart: bool
    edges_known: bool
    widest: int
    overlap: Span
    overlaps: tuple[Span, ...]
    turnaround: Span
    held: Span
    event: Callable[[CoreEvent], Span]
    called: Fraction
    refilled: Fraction
    read: Fraction
    before: Fraction
    reached: Callable[[AccessClass], list[Region]]
    writable: Callable[[], list[Region]]
    cached: Callable[[Region, Operation], bool]
    hits: Callable[[str], bool]
    some_hit: bool
    others: Fraction
    sooner: Fraction
    full: Callable[[Region, Operation, int], Iterable[Span]]


def wait_of(succession: Succession, bus: Bus) -> Interval:
    """What an access waits in nanoseconds because of the one before it. The upper end is charged
    beside that of what lies between; the lower end is the least at any numbers, edges aside."""
    between = _between(succession, bus)
    ends = []
    for end in ("nominal", "high"):
        at = _end(between, end)
        ends.append(_pending(succession, bus, at, end) + _edge(succession, bus, at, end))
    nominal, high = ends
    # A wait is least where most is done in between, so it can be longer at nominal numbers.
    low = _pending(succession, bus, _end(between, "high"), "low")
    return Interval(low, least(nominal, high), high)


def passed(succession: Succession, bus: Bus) -> Interval:
    """What is taken off the wait of a load because it may hit, in nanoseconds; the lower end is
    zero."""
    if not _may_pass(succession, bus):
        return Interval()
    here, held = wait_of(succession, bus), wait_of(succession, replace(bus, hits=lambda _: False))
    nominal, high = held.nominal - here.nominal, held.high - here.high
    return Interval(Fraction(0), most(Fraction(0), nominal), most(Fraction(0), nominal, high))


def longest_wait_of_refill(bus: Bus, region: Region) -> Fraction:
    """What a line of instructions that is loaded from a region waits for accesses at most, in
    nanoseconds; whatever they are."""
    if not bus.posted or Operation.WRITE not in region.times:
        return _tail(bus, region)
    return most(_tail(bus, region), _begun(bus, region, bus.widest) * bus.posted)


def longest_under_way(bus: Bus, rate: Rate) -> Fraction:
    """How long writes that are begun together are under way at most, in nanoseconds; with what
    interference takes meanwhile."""
    turnaround = in_nanoseconds(bus.turnaround, bus.clock).high
    each = [turnaround + _begun(bus, region, bus.widest) for region in bus.writable()]
    return rate.linear(most(Fraction(0), *each) * bus.posted + bus.others)


def wait_of_refill(succession: Succession, bus: Bus, region: Region) -> Fraction:
    """What a line of instructions that is loaded from a region, and is asked for before the second
    access, waits for the first at most, beyond what the second is charged: in nanoseconds.

    One of the lines that are asked for in between waits, those behind it no more; and then the
    second access need not wait::

        full(before) + edge - wait of the succession           before: a write that goes on
        max(0, overlap(before) - longest edge)                 before: what the core waited for

    The core goes on so much sooner than the memory is free, and the line's edge is charged anyway.
    """
    before = succession.before
    if before is None:
        longest = longest_wait_of_refill(bus, region)
        if not succession.settled:
            return longest
        under_way = longest + bus.others + bus.sooner - bus.read * succession.settled
        return most(_tail(bus, region), under_way if bus.some_hit else Fraction(0))
    reached = bus.reached(before)
    if reached and all(one.name != region.name for one in reached):
        return Fraction(0)
    if bus.cached(region, before.operation):
        return Fraction(0)  # one that misses has the memory as long as its core waits
    if not (bus.posted and before.may_be_posted):
        return _tail(bus, region)
    if Operation.WRITE not in region.times:
        return Fraction(0)
    begun = _begun(bus, region, before.width)
    between = _end(_between(succession, bus), "high")
    return most(Fraction(0), begun - _pending(succession, bus, between, "high"))


def _between(succession: Succession, bus: Bus) -> Span:
    """What the core does between the two accesses."""
    return _sum(succession.between, bus)


def _sum(events: Iterable[tuple[CoreEvent, int]], bus: Bus) -> Span:
    """But for the end of a handler: where the hardware restores registers there, it reads first."""
    spans = (
        times(bus.event(event), count)
        for event, count in events
        if event.kind is not EventKind.EXCEPTION_EXIT
    )
    return reduce(plus, spans, ZERO_SPAN)


def _tail(bus: Bus, region: Region) -> Fraction:
    """How much longer the memory has an access than the core waits for it."""
    asked = any(o is not Operation.FETCH and not bus.cached(region, o) for o in region.times)
    if not asked:
        return Fraction(0)
    hidden = [in_nanoseconds(one, bus.clock).high for one in bus.overlaps]
    edge = in_nanoseconds(_cycles(edge_wait(region)), bus.clock).low
    return most(Fraction(0), *(one - edge for one in hidden))


def _begun(bus: Bus, region: Region, width: int) -> Fraction:
    """Of a write to a region that was begun right now, until it is over."""
    edge = _cycles(edge_wait(region))
    full = bus.full(region, Operation.WRITE, width)
    return most(*(in_nanoseconds(plus(one, edge), bus.clock).high for one in full))


def _pending(succession: Succession, bus: Bus, between: Span, end: str) -> Fraction:
    """For the access before."""
    before = succession.before
    if before is None and end == "low":
        return Fraction(0)
    if before is None and not bus.posted:
        turnaround = bus.turnaround if succession.is_dearest else ZERO_SPAN
        return _value(less(_end(turnaround, end), ZERO_SPAN, bus.clock), end)
    if succession.settled and not (bus.posted and bus.some_hit and end != "low"):
        return most(Fraction(0), _turned(bus, between, end) - bus.refilled)
    if before is not None and not (bus.posted and before.may_be_posted):
        if succession.access is None or succession.access.pattern is Pattern.NEXT:
            return Fraction(0)
        return _turned(bus, between, end)
    room = _room(succession, bus, end)
    late = _end(times(bus.held, succession.late), end)
    # More that is hidden makes a shorter wait, and nothing else that is charged holds it.
    overlap = _end(bus.overlap, _OPPOSITE[end])
    ends_here = succession.access is None and not leaves(succession)
    busy = [_busy(bus, end)] if bus.posted > 1 and end != "low" else []
    passes = _may_pass(succession, bus)
    found = [Fraction(0)]
    for region in bus.writable() if before is None else bus.reached(before):
        width = bus.widest if before is None else before.width
        for full in bus.full(region, Operation.WRITE, width):
            whole = _end(full, end)
            if before is None:
                whole = plus(whole, _cycles(edge_wait(region)))
            under_way = bus.posted if before is None else 1
            rest = _value(less(times(whole, bus.posted), overlap, bus.clock), end)
            rest = most(rest, *busy)
            if succession.settled:
                under = bus.others + bus.sooner - bus.read * succession.settled
                rest = most(Fraction(0), rest + under)
            held = least(_value(less(late, ZERO_SPAN, bus.clock), end), rest)
            waits = times(plus(whole, _end(bus.turnaround, end)), under_way)
            if succession.settled:
                waits = plus(waits, _nanoseconds(bus.sooner))
            posted = _value(less(waits, plus(overlap, between), bus.clock), end)
            if room is not None:
                posted = most(Fraction(0), posted - room)
            if before is None and succession.called:
                # Or the call reads, and has waited for all writes.
                left = most(posted - bus.called, _turned(bus, between, end))
                posted = most(Fraction(0), left - bus.refilled)
            if succession.settled:
                left = posted + bus.others - bus.read * succession.settled
                posted = most(left, _turned(bus, between, end)) - bus.refilled
                posted = most(Fraction(0), posted)
            waited = held if ends_here else most(posted, held)
            if passes:
                later = _end(times(bus.held, succession.late_then), end)
                later_held = least(_value(less(later, ZERO_SPAN, bus.clock), end), posted)
                passing = posted - _behind_load(succession, bus, end)
                waited = least(waited, most(passing, held + later_held))
            found.append(waited)
    return most(*found)


def _turned(bus: Bus, between: Span, end: str) -> Fraction:
    """What is left of a turnaround behind an access that the core waited for."""
    return _value(less(_end(bus.turnaround, end), between, bus.clock), end)


def _busy(bus: Bus, end: str) -> Fraction:
    """How long as many writes as may be under way keep the bus at most, beyond what is hidden."""
    overlap = _end(bus.overlap, _OPPOSITE[end])
    found = []
    for region in bus.writable():
        edge = plus(_end(bus.turnaround, end), _cycles(edge_wait(region)))
        for full in bus.full(region, Operation.WRITE, bus.widest):
            each = plus(_end(full, end), edge)
            found.append(_value(less(times(each, bus.posted), overlap, bus.clock), end))
    return most(Fraction(0), *found)


def _room(succession: Succession, bus: Bus, end: str) -> Fraction | None:
    """Of a write behind a write, in nanoseconds: how much longer than the second takes the core
    goes on behind it before it has another access, at least. ``None``: that makes up for
    nothing."""
    access = succession.access
    if access is None or not succession.then or bus.posted < 2 or not bus.apart:
        return None
    if not access.may_be_posted:
        return None
    opposite = _OPPOSITE[end]
    then = _end(_sum(succession.then, bus), "nominal" if end == "nominal" else "high")
    goes_on = plus(then, _end(bus.overlap, opposite))
    found = [
        _value(less(goes_on, plus(_end(full, end), _end(bus.turnaround, end)), bus.clock), opposite)
        for region in bus.reached(access)
        for full in bus.full(region, Operation.WRITE, access.width)
    ]
    return least(*found) if found else None


def _may_pass(succession: Succession, bus: Bus) -> bool:
    """A load that need not wait for what is under way: no line of instructions does, either."""
    access = succession.access
    return (
        access is not None
        and access.is_single_read
        and bool(succession.then)
        and bus.apart
        and bus.hits(access.section)
        and all(bus.hits(one.section) for one, _ in succession.then if one.kind is EventKind.LOAD)
    )


def _behind_load(succession: Succession, bus: Bus, end: str) -> Fraction:
    """What a load, and the core behind it, takes until something waits, in nanoseconds; as it is
    charged, or for the lower end at most."""
    load = CoreEvent(succession.section, EventKind.LOAD)
    time = _sum(((load, 1), *succession.then), bus)
    end = "nominal" if end == "nominal" else "high"
    found: Fraction = getattr(in_nanoseconds(time, bus.clock), end)
    return found


def _edge(succession: Succession, bus: Bus, between: Span, end: str) -> Fraction:
    """For the edge of the bus's clock."""
    access = succession.access
    if access is None:
        regions = bus.writable() if leaves(succession) else []
    elif access.pattern is not Pattern.SINGLE:
        regions = []  # its own price holds it
    else:
        regions = bus.reached(access)
    found = [Fraction(0)]
    for region in regions:
        if region.clock_divider == 1:
            continue
        if access is not None and bus.cached(region, access.operation):
            continue  # one that misses has it in its penalty
        offset = _offset(succession, bus, region, between)
        left = edge_wait(region) if offset is None else -offset % region.clock_divider
        found.append(_value(less(_cycles(left), ZERO_SPAN, bus.clock), end))
    return most(*found)


def _offset(succession: Succession, bus: Bus, region: Region, between: Span) -> Fraction | None:
    """Cycles of the core from an edge of the bus's clock to the request; ``None``: not known."""
    before = succession.before
    if before is None or before.pattern is not Pattern.SINGLE or succession.access is None:
        return None
    if not bus.edges_known or succession.more or not succession.between:
        return None
    regions = bus.reached(before)
    if any(one.name != region.name for one in regions):
        return None  # of two buses it is not said that their edges come together
    if before.operation is Operation.ACCESS and bus.posted:
        return None
    waits = _whole(bus.turnaround)
    own, hidden = _whole(between), _whole(_end(bus.overlap, "high"))
    if waits is None or own is None or hidden is None:
        return None
    if not (bus.posted and before.may_be_posted):
        return most(own, waits)
    if succession.late:
        return None
    for one in regions:
        for full in bus.full(one, Operation.WRITE, before.width):
            least = _whole(_end(full, "low"))
            if least is None or own + hidden > least + waits:
                return None  # the bus may have been idle, it is not known how long
    return waits


def leaves(succession: Succession) -> bool:
    """What was interrupted goes on, and finds the bus as a handler has left it."""
    return succession.is_dearest or any(
        event.kind is EventKind.EXCEPTION_EXIT for event, _ in succession.between
    )


def _end(span: Span, end: str) -> Span:
    """One end of a span, as a span."""
    cycles, nanoseconds = getattr(span.cycles, end), getattr(span.nanoseconds, end)
    return Span(Interval(cycles, cycles, cycles), Interval(nanoseconds, nanoseconds, nanoseconds))


def _value(time: Interval, end: str) -> Fraction:
    found: Fraction = getattr(time, end)
    return found


def _cycles(count: Fraction) -> Span:
    return Span(Interval(count, count, count), Interval())


def _nanoseconds(time: Fraction) -> Span:
    return Span(Interval(), Interval(time, time, time))


def _whole(span: Span) -> Fraction | None:
    """The span in cycles, where it is a whole number of them and nothing else."""
    if span.nanoseconds != Interval() or span.cycles.low != span.cycles.high:
        return None
    return span.cycles.high if is_whole(span.cycles.high) else None
