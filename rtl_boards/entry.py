"""What an interrupt waits for beside the time that interrupts are masked::

    latency <= max(blocking + beside(near), beside(any))
    beside(x) = 3 * x + refill + entry + lines + 8, and what others take of the memories meanwhile

in cycles, from the rise of the line until the first instruction of the trap handler retires.

blocking
    The longest time that interrupts are masked.
3 * near
    An instruction that is in the stage `memory` when the line rises ends before the one behind it
    masks interrupts; two behind the one that lets them in have left the decoder when the core stops
    there. `near`: the longest of such instructions, of the kinds that the run has there.
3 * any
    Where nothing is masked, not more instructions than that are under way (`execute`, `memory`);
    `any`: the longest of the run.
refill
    Where lines of instructions come from a memory that holds data: one that is being loaded when
    the line rises, for which an access waits. (Those behind are in `entry`.)
entry
    The price of `exception entry`: what is under way ends, and the handler is fetched.
lines
    Where the cache loads lines, those of the handler's first instruction, each behind the writes
    that may be under way.
8
    The line is a register (RTL: CsrPlugin_mip_MSIP) before it is another one
    (CsrPlugin_interrupt_valid): 2. The instruction that masks passes `execute`, `memory` and
    `writeBack`: 3. Until the core has seen that interrupts are masked it holds the decoder, for the
    one that waits, so that what is masked begins later: 2. The handler's first instruction: 1.

Refresh and other masters take what ``engine.interference`` says of a window. That of an interrupt
is a stretch with what is beside it, and the one's figure holds its share already: so the rest is a
window of its own, which is never less.

An instruction that has not left the decoder does not count: there the core stops for the interrupt.
So stalls that hold the decoder are in none of these, nor is what a load takes that is fetched
again (`load behind store`), but for the time until that is begun.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from rises import Changes, neighbours
from windows import LINE_BYTES, Program, Run

from wcetchar.engine.interference import NO_INTERFERENCE, Rate, rate_of
from wcetchar.engine.regions import region_span
from wcetchar.engine.time import in_nanoseconds, periods
from wcetchar.model.access import EventKind, Operation
from wcetchar.model.hardware import HardwareProfile, Quantity, Region, Unit

LATCHED, STAGES, HELD, FIRST = 2, 3, 2, 1
WORD = 32
ACCESSES = (EventKind.LOAD, EventKind.STORE)
BRANCHES = (EventKind.BRANCH_TAKEN, EventKind.BRANCH_UNTAKEN)
LATE = (
    EventKind.FORWARD_BRANCH_TAKEN,
    EventKind.BACKWARD_BRANCH_UNTAKEN,
    EventKind.INDIRECT_JUMP,
)
"""What such a one takes more that goes elsewhere than was predicted."""
SYSTEM = (EventKind.SYSTEM_REGISTER, EventKind.INTERRUPT_MASK)


@dataclass(frozen=True)
class Entry:
    """In cycles; as above. ``others``: what they take of the memories, with times in cycles."""

    entry: int
    lines: int
    near: int
    any: int
    refill: int = 0
    others: Rate = NO_INTERFERENCE

    @property
    def beside(self) -> int:
        """Beside a stretch with interrupts masked, at most."""
        return self._behind(self.near)

    def figure(self, blocking: int) -> int:
        """The latency at most, ``blocking``: the longest stretch."""
        return max(blocking + self.beside, self._behind(self.any))

    def _behind(self, longest: int) -> int:
        own = 3 * longest + self.refill + self.entry + self.lines + LATCHED + STAGES + HELD + FIRST
        once = own + self.others.once
        return math.ceil(self.others.settled(once * self.others.factor))


def cycles(quantity: Quantity, divider: int = 1) -> int:
    """Of the core, of a time in cycles of a clock that is so much slower."""
    if quantity.unit is not Unit.CYCLES:
        sys.exit(f"a latency is told in cycles of the core, and the profile has {quantity.unit}")
    return math.ceil(quantity.high * divider)


@dataclass(frozen=True)
class Memories:
    """What accesses take at most; ``each``: by region, what each waits for others."""

    profile: HardwareProfile
    each: dict[str, int]
    others: Rate

    @classmethod
    def of(cls, profile: HardwareProfile) -> Memories:
        clock = profile.core.clock
        rate, each = rate_of(profile, True, lambda r, q: region_span(profile, r, q, "waits"))
        period = periods(clock).high
        recurring = tuple((takes / period, every / period) for takes, every in rate.recurring)
        waits = {
            name: math.ceil(in_nanoseconds(span, clock).high / period)
            for name, span in each.items()
        }
        return cls(profile, waits, Rate(recurring))

    def _asked(self, region: Region) -> int:
        """Cycles until a region begins with what it is asked for, were it idle."""
        return region.clock_divider - 1 + self.each[region.name]

    def access(self, region: Region, operation: Operation) -> int:
        """Cycles of a word's access, with the wait for the edge of the memory's clock; of a load
        that may miss in a cache, one that does."""
        time, divider = region.times[operation], region.clock_divider
        beats = -(-WORD // region.bus_width)
        own = cycles(time.first, divider) + (beats - 1) * cycles(time.next, divider)
        if operation is Operation.READ and region.load_miss_penalty is not None:
            own += cycles(region.load_miss_penalty, divider)
        return own + self._asked(region)

    def longest_access(self) -> int:
        """Behind as many writes as may be under way."""
        reads, writes = (
            [self.access(r, one) for r in self.profile.regions.values() if one in r.times]
            for one in (Operation.READ, Operation.WRITE)
        )
        return max(*reads, *writes) + self.profile.core.write_buffer * max(writes)

    def refill(self, region: Region) -> int:
        """Cycles of a line, behind the writes to this region that may be under way."""
        if region.line_refill is None:
            return 0
        own = cycles(region.line_refill, region.clock_divider) + self._asked(region)
        if Operation.WRITE not in region.times:
            return own
        return own + self.profile.core.write_buffer * self.access(region, Operation.WRITE)

    @property
    def longest_refill(self) -> int:
        return max(map(self.refill, self.profile.regions.values()))

    @property
    def shared_refill(self) -> int:
        """The longest from a memory that holds data."""
        data = (Operation.READ, Operation.WRITE)
        regions = [r for r in self.profile.regions.values() if any(one in r.times for one in data)]
        return max(map(self.refill, regions))


def instruction(memories: Memories, kind: EventKind) -> int:
    """Cycles of an instruction of a timing class at most, from `execute` on: whatever its
    neighbours are, and wherever its data lie."""

    profile = memories.profile

    def of(*kinds: EventKind) -> int:
        missing = [one.value for one in kinds if one not in profile.core.events]
        if missing:
            sys.exit(f"{profile.name} has no price of {', '.join(missing)}")
        return max(cycles(profile.core.events[one]) for one in kinds)

    time = of(kind)
    if kind in ACCESSES:
        time += memories.longest_access() + of(EventKind.CONSECUTIVE_ACCESS)
    again = profile.core.data_cache.load_behind_store if profile.core.data_cache else None
    if kind is EventKind.LOAD and again is not None:
        time += cycles(again)
    if kind in BRANCHES:
        time += of(*LATE)
    if kind in SYSTEM:
        time += of(EventKind.SYSTEM_WAIT)
    return time


def entry_of(profile: HardwareProfile, program: Program, run: Run, of: Changes) -> Entry:
    memories = Memories.of(profile)

    def longest(addresses: set[int]) -> int:
        kinds = {program.at(address).issue for address in addresses} - {EventKind.BREAKPOINT}
        return max(instruction(memories, kind) for kind in kinds)

    first = program.at(program.trap_handler)
    spans = (first.end - 1) // LINE_BYTES - first.address // LINE_BYTES + 1
    return Entry(
        entry=cycles(profile.core.events[EventKind.EXCEPTION_ENTRY]),
        lines=spans * memories.longest_refill,
        near=longest(neighbours(run, of)),
        any=longest(set(np.unique(run.address).tolist())),
        refill=memories.shared_refill,
        others=memories.others,
    )
