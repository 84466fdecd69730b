"""A hardware profile: what each access and each core event costs, with tolerances.

Times stay exact: a :class:`Quantity` is an interval of fractions with its unit, and cycles are
turned into time only by the clock that they belong to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

from wcetchar.model.access import NO_MORE_THAN, PRICED_LIKE, EventKind, Operation
from wcetchar.model.cache import CacheGeometry
from wcetchar.model.fetch_buffer import FetchBuffer
from wcetchar.model.symbolic import in_order


class Unit(StrEnum):
    NANOSECONDS = "ns"
    CYCLES = "cycles"
    HERTZ = "Hz"


@dataclass(frozen=True)
class Quantity:
    """low <= nominal <= high, all in ``unit``. The ends are hard: no value is beyond them.

    ``stochastic``: how much of both ends is error that each access or event has anew, by itself;
    what is left is systematic, the same each time. Safe figures count with the ends alone.
    """

    low: Fraction
    nominal: Fraction
    high: Fraction
    unit: Unit
    stochastic: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        low, high = self.low + self.stochastic, self.high - self.stochastic
        in_its_order = in_order(low, self.nominal) and in_order(self.nominal, high)
        if self.stochastic < 0 or not in_its_order:
            raise ValueError(
                f"not an interval: {self.low} <= {self.nominal} <= {self.high}"
                + (f", {self.stochastic} of it stochastic" if self.stochastic else "")
            )

    @property
    def is_exact(self) -> bool:
        return self.low == self.high

    @property
    def systematic(self) -> Quantity:
        """The same without its stochastic error."""
        low, high = self.low + self.stochastic, self.high - self.stochastic
        return Quantity(low, self.nominal, high, self.unit)

    @classmethod
    def exactly(cls, value: Fraction | int, unit: Unit) -> Quantity:
        return cls(Fraction(value), Fraction(value), Fraction(value), unit)


@dataclass(frozen=True)
class AccessTime:
    """Full time of one access of the bus's width: the first, and each further one of a burst."""

    first: Quantity
    next: Quantity


class RegionKind(StrEnum):
    """What lies in a region."""

    MEMORY = "memory"
    PERIPHERAL = "peripheral"


@dataclass(frozen=True)
class Interference:
    """Time in which a memory serves somebody else and an access of the core has to wait.

    Attributes:
        takes: how long at most, each time.
        every: time from the beginning of one to that of the next, at least; ``None``: not known,
            then each access waits once.
    """

    takes: Quantity
    every: Quantity | None = None


@dataclass(frozen=True)
class Region:
    """A memory or peripheral as its bus sees it.

    Attributes:
        bus_width: bits moved by one access; a wider access takes several (first, next ...).
        clock: of its bus in Hz; cycles in ``times`` are cycles of this clock. ``None``: the core's.
        times: per operation. An operation that is absent is not possible there. ``ACCESS``, where
            present, prices accesses of unknown direction; otherwise the dearer of read and write.
        clock_divider: cycles of the core's clock in one of the region's. Cycles in ``times`` and in
            interferences are then those of the region, and an access begins with one of them.
        refresh, arbitration: what accesses may have to wait for; the memory's own, and another
            master.
        base, size: addresses in bytes, where the profile states them.
        line_refill: what a line takes that is loaded from here into the core's instruction cache,
            beside the fetch that misses. ``None``: that does not hold what lies here.
        load_miss_penalty: what a load takes more that misses in the core's data cache. ``None``:
            that does not hold what lies here.
    """

    name: str
    kind: RegionKind
    bus_width: int
    times: Mapping[Operation, AccessTime]
    clock: Quantity | None = None
    base: int | None = None
    size: int | None = None
    note: str = ""
    line_refill: Quantity | None = None
    load_miss_penalty: Quantity | None = None
    clock_divider: int = 1
    refresh: Interference | None = None
    arbitration: Interference | None = None

    @property
    def interferences(self) -> tuple[Interference, ...]:
        return tuple(i for i in (self.refresh, self.arbitration) if i is not None)


@dataclass(frozen=True)
class DataCache:
    """A cache that loads fill and stores go through.

    Attributes:
        load_behind_store: what a load takes more that hits and has to be carried out again, because
            a store to the same bytes goes right before it; ``None``: none has.
    """

    geometry: CacheGeometry
    load_behind_store: Quantity | None = None


@dataclass(frozen=True)
class Core:
    """Timing of the core itself.

    Attributes:
        clock: in Hz.
        events: time of each event, *beside* the accesses that it makes.
        overlap: per operation, how much of each access is hidden behind the event that makes it
            (a pipelined core's ``alu`` of one cycle contains one cycle of fetching). The price of
            an access is its full time less this, never below zero.
        discarded_fetches: per event, how many fetches may have been started and thrown away; each
            costs a full first access to the region of the event's section.
        least_width: per operation, how many bits the core moves at least: a byte is read as a word
            where it is 32.
        data_width: how many bits one access of the core moves at most, its caller's too.
        write_buffer: writes that may be under way while the core goes on; its next access, or the
            next but so many, waits for their end.
        accesses_in_vain: an access that was fetched in vain, behind a transfer of control, may wait
            for a write, and hold the fetch unit.
        instruction_cache: ``None``: it has none.
        refills_hide_stalls: while a line is loaded, what its first instruction and the one before
            it wait for beside fetches arrives.
        refills_hide_accesses: of so many instructions before the one that a line is loaded for, the
            data accesses come when the line has been asked for, if nothing between holds them
            (docs/explanation/model.md); 0: of none.
        in_vain_saves: what a line that is loaded in vain costs less than another one, beside the
            time that it began before control was transferred; ``None``: it costs as much.
        fetches_ahead: how far a prefetch buffer fetches; ``None``: it is a pipeline that predicts
            branches in its decoder, or nothing is said.
        data_cache: ``None``: it has none.
    """

    name: str
    clock: Quantity
    events: Mapping[EventKind, Quantity]
    overlap: Mapping[Operation, Quantity] = field(default_factory=dict)
    discarded_fetches: Mapping[EventKind, int] = field(default_factory=dict)
    least_width: Mapping[Operation, int] = field(default_factory=dict)
    write_buffer: int = 0
    data_width: int = 64
    instruction_cache: CacheGeometry | None = None
    refills_hide_stalls: bool = False
    refills_hide_accesses: int = 0
    in_vain_saves: Quantity | None = None
    fetches_ahead: FetchBuffer | None = None
    data_cache: DataCache | None = None
    accesses_in_vain: bool = True

    def prices(self, kind: EventKind) -> bool:
        """It costs something, or is said to cost nothing: as what it is priced as."""
        return self._names(self.priced_as(kind))

    def _names(self, kind: EventKind) -> bool:
        return kind in self.events or kind in self.discarded_fetches

    def priced_as(self, kind: EventKind) -> EventKind:
        """The kind whose price an event has: one that takes less than another, or is counted in its
        place, has that of the other where it has none of its own."""
        kind = kind.priced_as
        while kind in NO_MORE_THAN and not self._names(kind):
            kind = NO_MORE_THAN[kind]
        named = [one for one in PRICED_LIKE.get(kind, ()) if self._names(one)]
        if not named or self._names(kind):
            return kind
        dearest = named[0]
        for other in named[1:]:
            if not in_order(self.cycles(other), self.cycles(dearest)):
                dearest = other
        return dearest

    def cycles(self, kind: EventKind) -> Fraction:
        """What an event takes at most by the price of its own, in cycles; 0 where it has none."""
        time = self.events.get(kind)
        if time is None or time.unit is Unit.CYCLES:
            return Fraction(0) if time is None else time.high
        return time.high * self.clock.high / 10**9

    def moves_at_least(self, operation: Operation) -> int:
        """Bits of an access; one of unknown direction, that is not named, may be either."""
        if operation is Operation.ACCESS and operation not in self.least_width:
            return max(map(self.moves_at_least, (Operation.READ, Operation.WRITE)))
        return self.least_width.get(operation, 0)

    def caches(self, region: Region, operation: Operation) -> bool:
        """What is in the region may be in a cache. The region's time of this operation is that of a
        hit then, in cycles of the core, and asks no bus."""
        if operation is Operation.FETCH:
            return self.instruction_cache is not None and region.line_refill is not None
        return (
            operation is Operation.READ
            and self.data_cache is not None
            and region.load_miss_penalty is not None
        )


@dataclass(frozen=True)
class HardwareProfile:
    name: str
    description: str
    core: Core
    regions: Mapping[str, Region]
    default_map: Mapping[str, str] = field(default_factory=dict)
    """Logical section -> region, a suggestion that a section map overrides."""


def busy(region: Region, interference: Interference, clock: Quantity) -> Fraction:
    """The part of its time that a memory is taken, at most; 0 where there is no period, since each
    access waits once then. Times are ns or cycles, and a period is above zero.

    Args:
        interference: one of the region's.
        clock: of the core.
    """
    takes, every = interference.takes, interference.every
    if every is None:
        return Fraction(0)
    share = takes.high / every.low
    if takes.unit is every.unit:
        return share
    of_bus = region.clock or clock
    cycle = Fraction(10**9 * region.clock_divider)
    if takes.unit is Unit.CYCLES:
        return share * cycle / of_bus.low
    return share * of_bus.high / cycle
