"""What an interrupt waits for beside the time that interrupts are masked::

    latency <= max(blocking + 3 * near, 3 * any) + entry + lines + 8

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
entry
    The price of `exception entry`: what is under way ends, and the handler is fetched.
lines
    Where the cache loads lines, those of the handler's first instruction.
8
    The line is a register (RTL: CsrPlugin_mip_MSIP) before it is another one
    (CsrPlugin_interrupt_valid): 2. The instruction that masks passes `execute`, `memory` and
    `writeBack`: 3. Until the core has seen that interrupts are masked it holds the decoder, for the
    one that waits, so that what is masked begins later: 2. The handler's first instruction: 1.

An instruction that has not left the decoder does not count: there the core stops for the interrupt.
So stalls that hold the decoder are in none of these.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

import numpy as np
from rises import Changes, neighbours
from windows import LINE_BYTES, Program, Run

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
    """In cycles; as above."""

    entry: int
    lines: int
    near: int
    any: int

    @property
    def beside(self) -> int:
        """Beside a stretch with interrupts masked, at most."""
        own = LATCHED + STAGES + HELD + FIRST
        return 3 * self.near + self.entry + self.lines + own

    def figure(self, blocking: int) -> int:
        """The latency at most, ``blocking``: the longest stretch."""
        return self.beside + max(blocking, 3 * (self.any - self.near))


def cycles(quantity: Quantity) -> int:
    if quantity.unit is not Unit.CYCLES:
        sys.exit(f"a latency is told in cycles of the core, and the profile has {quantity.unit}")
    return math.ceil(quantity.high)


def access(profile: HardwareProfile, region: Region, operation: Operation) -> int:
    """Cycles of a word's access, with the wait for the edge of the memory's clock."""
    time = region.times[operation]
    beats = -(-WORD // region.bus_width)
    own = cycles(time.first) + (beats - 1) * cycles(time.next)
    return own * region.clock_divider + region.clock_divider - 1


def longest_access(profile: HardwareProfile) -> int:
    """Behind as many writes as may be under way."""
    if any(region.interferences for region in profile.regions.values()):
        sys.exit(
            f"{profile.name}: what refresh and other masters add to a latency is not told here"
        )
    one = max(
        access(profile, region, operation)
        for region in profile.regions.values()
        for operation in region.times
        if operation is not Operation.FETCH
    )
    return (1 + profile.core.write_buffer) * one


def instruction(profile: HardwareProfile, kind: EventKind) -> int:
    """Cycles of an instruction of a timing class at most, from `execute` on: whatever its
    neighbours are, and wherever its data lie."""

    def of(*kinds: EventKind) -> int:
        missing = [one.value for one in kinds if one not in profile.core.events]
        if missing:
            sys.exit(f"{profile.name} has no price of {', '.join(missing)}")
        return max(cycles(profile.core.events[one]) for one in kinds)

    time = of(kind)
    if kind in ACCESSES:
        time += longest_access(profile) + of(EventKind.CONSECUTIVE_ACCESS)
    if kind in BRANCHES:
        time += of(*LATE)
    if kind in SYSTEM:
        time += of(EventKind.SYSTEM_WAIT)
    return time


def entry_of(profile: HardwareProfile, program: Program, run: Run, of: Changes) -> Entry:
    def longest(addresses: set[int]) -> int:
        kinds = {program.at(address).issue for address in addresses} - {EventKind.BREAKPOINT}
        return max(instruction(profile, kind) for kind in kinds)

    refills = [r.line_refill for r in profile.regions.values() if r.line_refill is not None]
    first = program.at(program.trap_handler)
    spans = (first.end - 1) // LINE_BYTES - first.address // LINE_BYTES + 1
    return Entry(
        entry=cycles(profile.core.events[EventKind.EXCEPTION_ENTRY]),
        lines=spans * max((cycles(refill) for refill in refills), default=0),
        near=longest(neighbours(run, of)),
        any=longest(set(np.unique(run.address).tolist())),
    )
