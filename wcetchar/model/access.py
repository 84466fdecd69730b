"""Access classes, core events and the sparse vectors that count them (design, section 2).

An *access class* is (logical section, operation, width, pattern): everything that decides what an
access to memory costs once a section is placed. A *core event* is what happens inside the core,
(kind, logical section that the instruction was fetched from). An :class:`AccessVector` counts
both; instructions, trace sections and whole services all have one, and they add and scale.
"""

from __future__ import annotations

from collections.abc import ItemsView, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from enum import StrEnum
from functools import cached_property
from typing import Final

from wcetchar.errors import InputError
from wcetchar.model.cache import LINE_BYTES

UNKNOWN_SECTION: Final = "?"
"""The section of an access whose address is not known; priced at the dearest reachable region."""


class Operation(StrEnum):
    """What an access does. ``ACCESS`` is a data access whose direction the source does not say;
    it is priced at the dearer of read and write unless the profile gives a price of its own."""

    FETCH = "fetch"
    READ = "read"
    WRITE = "write"
    ACCESS = "access"

    # As text is hashed; that of Enum is Python's own code, and keys of counts are looked up often.
    __hash__ = str.__hash__


class Pattern(StrEnum):
    """Place of an access in a burst.

    ``REALIGNED`` counts fetches that do *not* happen where the characterized image lies, but can
    happen once when the same code is linked at another address modulo the fetch width.
    """

    SINGLE = "single"
    FIRST = "first"
    NEXT = "next"
    REALIGNED = "realigned"

    __hash__ = str.__hash__  # as above


WIDTHS: Final = (0, 8, 16, 32, 64)
"""Widths in bits; 0 means unknown and is priced at the dearest width."""


@dataclass(frozen=True, order=True)
class AccessClass:
    """(logical section, operation, width in bits, pattern)."""

    section: str
    operation: Operation
    width: int
    pattern: Pattern = Pattern.SINGLE

    def __post_init__(self) -> None:
        if self.width not in WIDTHS:
            raise InputError(
                f"an access cannot be {self.width} bits wide", expected=f"one of {WIDTHS}"
            )

    @property
    def may_be_posted(self) -> bool:
        """A write that an instruction ends with. What is not known to be one is waited for."""
        return self.operation is Operation.WRITE and self.pattern is Pattern.SINGLE

    @property
    def is_single_read(self) -> bool:
        """One that is known to be, whole and by itself."""
        return self.operation is Operation.READ and self.pattern is Pattern.SINGLE

    def __str__(self) -> str:
        width = "?" if self.width == 0 else str(self.width)
        return f"{self.section} {self.operation.value} {width} {self.pattern.value}"


class EventKind(StrEnum):
    """Core events. Each executed instruction is exactly one *issue* event (``is_issue``); the
    others are counted beside it. New ones stand at the end."""

    ALU = "alu"
    MULTIPLY = "multiply"
    MULTIPLY_ACCUMULATE = "multiply accumulate"
    MULTIPLY_LONG = "multiply long"
    DIVIDE = "divide"
    LOAD = "load"
    STORE = "store"
    LOAD_MULTIPLE = "load multiple"
    STORE_MULTIPLE = "store multiple"
    LOAD_EXCLUSIVE = "load exclusive"
    STORE_EXCLUSIVE = "store exclusive"
    BRANCH_UNTAKEN = "branch untaken"
    BRANCH_TAKEN = "branch taken"
    BRANCH_TABLE = "branch table"
    CALL = "call"
    CALL_INDIRECT = "call indirect"
    RETURN = "return"
    SKIPPED = "skipped"
    HINT = "hint"
    WAIT = "wait"
    BARRIER = "barrier"
    SYSTEM_REGISTER = "system register"
    INTERRUPT_MASK = "interrupt mask"
    SUPERVISOR_CALL = "supervisor call"
    BREAKPOINT = "breakpoint"
    PIPELINE_REFILL = "pipeline refill"
    LOAD_USE_STALL = "load-use stall"
    UNALIGNED_ACCESS = "unaligned access"
    EXCEPTION_ENTRY = "exception entry"
    EXCEPTION_EXIT = "exception exit"
    # Distinguished by the ARM7TDMI.
    SHIFT_BY_REGISTER = "shift by register"
    MULTIPLY_ACCUMULATE_LONG = "multiply accumulate long"
    SWAP = "swap"
    # Of the floating-point extension of Armv7E-M.
    FLOAT = "float"
    FLOAT_MULTIPLY_ACCUMULATE = "float multiply accumulate"
    FLOAT_DIVIDE = "float divide"
    FLOAT_SQUARE_ROOT = "float square root"
    FLOAT_TRANSFER = "float transfer"  # one word between core and floating-point registers
    FLOAT_TRANSFER_PAIR = "float transfer pair"  # two words
    FLOAT_LOAD = "float load"
    FLOAT_STORE = "float store"
    FLOAT_LOAD_MULTIPLE = "float load multiple"
    FLOAT_STORE_MULTIPLE = "float store multiple"
    # The hardware's, of the floating-point part of an exception frame.
    FLOAT_CONTEXT_SAVE = "float context save"
    FLOAT_CONTEXT_RESTORE = "float context restore"
    # Stalls (counting/stalls.py says when each is counted), beside LOAD_USE_STALL.
    ACCESS_LOAD_USE_STALL = "load-use stall of an access"
    SYSTEM_LOAD_USE_STALL = "load-use stall of a system register"
    SECOND_LOAD_USE_STALL = "second load-use stall"
    SECOND_LOAD_USE_STALL_ACCESS = "second load-use stall behind an access"
    SECOND_USE_STALL_TRANSFER = "second use stall behind a transfer"
    MULTIPLY_USE_STALL = "multiply-use stall"
    SECOND_MULTIPLY_USE_STALL = "second multiply-use stall"
    DIVIDE_USE_STALL = "divide-use stall"
    SHIFT_USE_STALL = "shift-use stall"
    SYSTEM_USE_STALL = "system register-use stall"
    SYSTEM_WAIT = "system register wait"
    CONSECUTIVE_ACCESS = "consecutive access"
    ADDRESS_USE_STALL = "address-use stall"
    FORWARD_BRANCH_TAKEN = "forward branch taken"
    BACKWARD_BRANCH_UNTAKEN = "backward branch untaken"
    INDIRECT_JUMP = "indirect jump"
    CROSSING_TARGET = "crossing target"
    CROSSING_TARGET_REALIGNED = "crossing target realigned"
    CROSSING_FALL_THROUGH = "crossing fall-through"
    CROSSING_FALL_THROUGH_REALIGNED = "crossing fall-through realigned"
    FETCH_HELD_EARLY = "fetch held early"
    FETCH_HELD_EARLY_REALIGNED = "fetch held early realigned"
    FETCH_HELD_LATE = "fetch held late"
    FETCH_HELD_LATE_REALIGNED = "fetch held late realigned"
    # Fetches from another line of a cache (analysis/line_entries.py); realigned: that can be added
    # where the code is linked at another address modulo the size of a line.
    LINE_ENTRY_16 = "line entry 16"
    LINE_ENTRY_16_REALIGNED = "line entry 16 realigned"
    LINE_ENTRY_32 = "line entry 32"
    LINE_ENTRY_32_REALIGNED = "line entry 32 realigned"
    LINE_ENTRY_64 = "line entry 64"
    LINE_ENTRY_64_REALIGNED = "line entry 64 realigned"
    LINE_ENTRY_128 = "line entry 128"
    LINE_ENTRY_128_REALIGNED = "line entry 128 realigned"
    # Loads from a line that a data cache may not hold (analysis/line_loads.py): bytes of a line,
    # and lines of a set; emptied: that it holds, unless it was emptied where what is blocked began.
    LINE_LOAD_16_1 = "line load 16 x1"
    LINE_LOAD_16_1_EMPTIED = "line load 16 x1 emptied"
    LINE_LOAD_16_2 = "line load 16 x2"
    LINE_LOAD_16_2_EMPTIED = "line load 16 x2 emptied"
    LINE_LOAD_16_4 = "line load 16 x4"
    LINE_LOAD_16_4_EMPTIED = "line load 16 x4 emptied"
    LINE_LOAD_32_1 = "line load 32 x1"
    LINE_LOAD_32_1_EMPTIED = "line load 32 x1 emptied"
    LINE_LOAD_32_2 = "line load 32 x2"
    LINE_LOAD_32_2_EMPTIED = "line load 32 x2 emptied"
    LINE_LOAD_32_4 = "line load 32 x4"
    LINE_LOAD_32_4_EMPTIED = "line load 32 x4 emptied"
    LINE_LOAD_64_1 = "line load 64 x1"
    LINE_LOAD_64_1_EMPTIED = "line load 64 x1 emptied"
    LINE_LOAD_64_2 = "line load 64 x2"
    LINE_LOAD_64_2_EMPTIED = "line load 64 x2 emptied"
    LINE_LOAD_64_4 = "line load 64 x4"
    LINE_LOAD_64_4_EMPTIED = "line load 64 x4 emptied"
    LINE_LOAD_128_1 = "line load 128 x1"
    LINE_LOAD_128_1_EMPTIED = "line load 128 x1 emptied"
    LINE_LOAD_128_2 = "line load 128 x2"
    LINE_LOAD_128_2_EMPTIED = "line load 128 x2 emptied"
    LINE_LOAD_128_4 = "line load 128 x4"
    LINE_LOAD_128_4_EMPTIED = "line load 128 x4 emptied"
    # Loads right behind a store to the same bytes, or one instruction further.
    LOAD_BEHIND_STORE = "load behind store"
    SECOND_LOAD_BEHIND_STORE = "second load behind store"
    # The same, where all that is fetched once more lies near: an instruction cache still has it
    # (counting/fetched_again.py).
    LOAD_BEHIND_STORE_NEAR = "load behind store near"
    SECOND_LOAD_BEHIND_STORE_NEAR = "second load behind store near"
    # An entry that only a supervisor call makes (ExceptionModel.entry).
    SUPERVISOR_CALL_ENTRY = "supervisor call entry"
    SYSTEM_WAIT_TRANSFER = "system register wait behind a transfer"
    SYSTEM_WAIT_TRANSFER_REALIGNED = "system register wait behind a transfer realigned"
    SYSTEM_WAIT_CROSSING = "system register wait across words"

    __hash__ = str.__hash__  # as above

    @property
    def is_issue(self) -> bool:
        """True when one instruction stands behind one event of this kind."""
        return self not in _BESIDE

    @property
    def is_stall(self) -> bool:
        """Time that an instruction may take more because of its neighbours. A profile need not
        price these: its times of instructions hold them then."""
        return self in STALLS

    @property
    def is_line_entry(self) -> bool:
        """A fetch from another line of a cache. Only services count these, as totals; what they
        cost is the price of a refill."""
        return self.name.startswith("LINE_ENTRY")

    @property
    def is_of_data_cache(self) -> bool:
        """A load that waits for a data cache; its section is that of the data. What it costs is a
        price of that cache's; without one, nothing."""
        return self in DATA_CACHE_EVENTS

    @property
    def is_of_cache(self) -> bool:
        """What it costs is said where a profile describes its caches, not among its events."""
        return self.is_line_entry or self.is_of_data_cache

    @property
    def is_realigned(self) -> bool:
        """It does not happen where the characterized image lies, but can happen where the same
        code is linked at another address modulo the fetch width (as ``Pattern.REALIGNED``)."""
        return self in _REALIGNED

    @property
    def priced_as(self) -> EventKind:
        """The kind that a profile prices: that of a realigned one is the one that it would be."""
        return EventKind(self.value.removesuffix(" realigned")) if self.is_realigned else self

    @property
    def is_float(self) -> bool:
        """The instruction is of the floating-point extension, so that it makes the state of that
        extension part of its context."""
        return self in _FLOAT


OPERAND_STALLS: Final = frozenset(
    {
        EventKind.LOAD_USE_STALL,
        EventKind.ACCESS_LOAD_USE_STALL,
        EventKind.SYSTEM_LOAD_USE_STALL,
        EventKind.SECOND_LOAD_USE_STALL,
        EventKind.SECOND_LOAD_USE_STALL_ACCESS,
        EventKind.SECOND_USE_STALL_TRANSFER,
        EventKind.MULTIPLY_USE_STALL,
        EventKind.SECOND_MULTIPLY_USE_STALL,
        EventKind.DIVIDE_USE_STALL,
        EventKind.SHIFT_USE_STALL,
        EventKind.SYSTEM_USE_STALL,
        EventKind.SYSTEM_WAIT,
        EventKind.SYSTEM_WAIT_TRANSFER,
        EventKind.SYSTEM_WAIT_TRANSFER_REALIGNED,
        EventKind.SYSTEM_WAIT_CROSSING,
        EventKind.ADDRESS_USE_STALL,
        EventKind.CONSECUTIVE_ACCESS,
    }
)
"""Stalls in which an instruction waits for the ones before it, not for a fetch."""
AHEAD: Final = 6
"""Instructions before the one that enters a line, whose accesses may come when that has been asked
for."""
MOST_MEANWHILE: Final = 3
"""Of these, how many a core may say to access behind the line: in a pipeline of five stages the
third one before it is in that for memory."""
NOT_MEANWHILE: Final = AHEAD + 1
"""In place of how many instructions before: the access may come sooner."""
LAST_BEFORE: Final = AHEAD + 2
"""The same: a write that is the last access before the line; or, of a line before which there are
fewer than ``AHEAD`` instructions, what the window accesses first."""
ALONE: Final = AHEAD + 3
"""The same of the instruction before it if that enters a line itself: its access, without what that
waits for."""
STALLS: Final = OPERAND_STALLS | frozenset(
    {
        EventKind.FORWARD_BRANCH_TAKEN,
        EventKind.BACKWARD_BRANCH_UNTAKEN,
        EventKind.INDIRECT_JUMP,
        EventKind.CROSSING_TARGET,
        EventKind.CROSSING_TARGET_REALIGNED,
        EventKind.CROSSING_FALL_THROUGH,
        EventKind.CROSSING_FALL_THROUGH_REALIGNED,
        EventKind.FETCH_HELD_EARLY,
        EventKind.FETCH_HELD_EARLY_REALIGNED,
        EventKind.FETCH_HELD_LATE,
        EventKind.FETCH_HELD_LATE_REALIGNED,
    }
)
_REALIGNED = frozenset(
    {
        EventKind.CROSSING_TARGET_REALIGNED,
        EventKind.CROSSING_FALL_THROUGH_REALIGNED,
        EventKind.FETCH_HELD_EARLY_REALIGNED,
        EventKind.FETCH_HELD_LATE_REALIGNED,
        EventKind.SYSTEM_WAIT_TRANSFER_REALIGNED,
        EventKind.LINE_ENTRY_16_REALIGNED,
        EventKind.LINE_ENTRY_32_REALIGNED,
        EventKind.LINE_ENTRY_64_REALIGNED,
        EventKind.LINE_ENTRY_128_REALIGNED,
    }
)
NO_MORE_THAN: Final = {
    EventKind.SUPERVISOR_CALL_ENTRY: EventKind.EXCEPTION_ENTRY,
    EventKind.SYSTEM_WAIT_CROSSING: EventKind.SYSTEM_WAIT_TRANSFER,
    EventKind.SYSTEM_WAIT_TRANSFER: EventKind.SYSTEM_WAIT,
}
"""Kinds that are a case of another one: where a profile does not price them, they cost as much."""
PRICED_LIKE: Final = {
    EventKind.ACCESS_LOAD_USE_STALL: (EventKind.LOAD_USE_STALL,),
    EventKind.SYSTEM_LOAD_USE_STALL: (EventKind.LOAD_USE_STALL,),
    EventKind.SECOND_LOAD_USE_STALL_ACCESS: (EventKind.SECOND_LOAD_USE_STALL,),
    EventKind.SECOND_USE_STALL_TRANSFER: (
        EventKind.SECOND_LOAD_USE_STALL,
        EventKind.SECOND_MULTIPLY_USE_STALL,
    ),
}
"""Stalls that are counted in the place of others: where a profile does not price them, they cost as
much as the dearest of these that it does. They may be longer, or shorter."""
SECOND_STALLS: Final = {
    EventKind.SECOND_LOAD_USE_STALL: EventKind.LOAD_USE_STALL,
    EventKind.SECOND_LOAD_USE_STALL_ACCESS: EventKind.LOAD_USE_STALL,
    EventKind.SECOND_MULTIPLY_USE_STALL: EventKind.MULTIPLY_USE_STALL,
}
FIRST_STALLS: Final = (
    EventKind.LOAD_USE_STALL,
    EventKind.ACCESS_LOAD_USE_STALL,
    EventKind.MULTIPLY_USE_STALL,
)
"""None of the second ones may be priced above its own first one, nor above another that is priced:
where an instruction would have both, the first is counted alone (``counting/stalls.py``)."""
LINE_ENTRIES: Final = {
    16: (EventKind.LINE_ENTRY_16, EventKind.LINE_ENTRY_16_REALIGNED),
    32: (EventKind.LINE_ENTRY_32, EventKind.LINE_ENTRY_32_REALIGNED),
    64: (EventKind.LINE_ENTRY_64, EventKind.LINE_ENTRY_64_REALIGNED),
    128: (EventKind.LINE_ENTRY_128, EventKind.LINE_ENTRY_128_REALIGNED),
}
"""Bytes of a line -> entries where the characterized image lies, and those that can be added."""
WAYS_OF_LINE_LOADS: Final = (1, 2, 4)
"""Lines of a set that loads are counted for; a cache of more ways is counted as one of four."""
LINE_LOADS: Final = {
    (line, ways): (
        EventKind(f"line load {line} x{ways}"),
        EventKind(f"line load {line} x{ways} emptied"),
    )
    for line in LINE_BYTES
    for ways in WAYS_OF_LINE_LOADS
}
"""Bytes of a line and lines of a set -> loads that may miss, and those that may miss beside if the
cache was emptied where what is blocked began."""
LOADS_BEHIND_STORES: Final = {
    EventKind.LOAD_BEHIND_STORE: EventKind.LOAD_BEHIND_STORE_NEAR,
    EventKind.SECOND_LOAD_BEHIND_STORE: EventKind.SECOND_LOAD_BEHIND_STORE_NEAR,
}
"""Loads that a core may carry out again, and those of them with which it fetches nothing again that
it may have to load."""
CARRIED_OUT_AGAIN: Final = frozenset({*LOADS_BEHIND_STORES, *LOADS_BEHIND_STORES.values()})
"""All of these."""
DATA_CACHE_EVENTS: Final = CARRIED_OUT_AGAIN | {one for pair in LINE_LOADS.values() for one in pair}
_BESIDE = (
    STALLS
    | DATA_CACHE_EVENTS
    | frozenset(one for pair in LINE_ENTRIES.values() for one in pair)
    | frozenset(
        {
            EventKind.PIPELINE_REFILL,
            EventKind.UNALIGNED_ACCESS,
            EventKind.EXCEPTION_ENTRY,
            EventKind.SUPERVISOR_CALL_ENTRY,
            EventKind.EXCEPTION_EXIT,
            EventKind.FLOAT_CONTEXT_SAVE,
            EventKind.FLOAT_CONTEXT_RESTORE,
        }
    )
)
_FLOAT = frozenset(
    kind for kind in EventKind if kind.name.startswith("FLOAT") and kind not in _BESIDE
)


@dataclass(frozen=True, order=True)
class CoreEvent:
    """(kind, logical section that the instruction lies in). The section decides what a discarded
    prefetch or a refill costs."""

    section: str
    kind: EventKind

    def __str__(self) -> str:
        return f"{self.section} {self.kind.value}"


@dataclass(frozen=True)
class Succession:
    """Two data accesses of a window, one behind the other, and what the core did between them:
    what decides how long the second waits for the first, and for the edge of a bus's clock.

    Attributes:
        before: the access before; ``None``: it is not known, the window begins.
        between: core events of the instructions between the two and stalls of the second's own,
            with their counts, in order; empty where one instruction makes both accesses.
        late: instructions between them that transfer control late, without ``fetch held late``.
        more: further instructions lie between; ``between`` holds the first ones only.
        access: the second one; ``None``: the window ends.
        then: where a write follows a write: what ``between`` is of the second one and the next
            access, or the end of the window. Where a load follows one, or is the first access: the
            same up to the next access that is no load; loads on the way are events of the section
            that they load from.
        settled: ``before`` is not known, but to be a read of the handler that ran right before and
            switched, or was called: one that waited for all writes, so that none is under way,
            unless a cache had what it read. So many instructions of it at least read and did
            nothing else behind its last write; 0: that is not so.
        called: ``before`` is not known, and the window begins right behind a call.
        late_then: as ``late``, of what the core does ``then`` behind a load.
    """

    before: AccessClass | None
    between: tuple[tuple[CoreEvent, int], ...]
    late: int
    more: bool
    access: AccessClass | None
    then: tuple[tuple[CoreEvent, int], ...] = ()
    settled: int = 0
    called: bool = False
    late_then: int = 0

    @cached_property
    def _hash(self) -> int:
        around = self.before, self.access
        return hash((around, self.between, self.late, self.more, self.then, self.settled))

    def __hash__(self) -> int:
        """Kept: counts are looked up by these millions of times."""
        return self._hash

    def __getstate__(self) -> dict[str, object]:
        """Without what is kept, which another process hashes otherwise."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def section(self) -> str:
        """Of the access that waits; where the window ends, of the one before."""
        one = self.access or self.before
        return UNKNOWN_SECTION if one is None else one.section

    @property
    def dearest(self) -> Succession:
        """Never cheaper than this one: nothing is known but the access that waits."""
        return Succession(None, (), 0, True, self.access)

    @property
    def is_dearest(self) -> bool:
        """It stands for all that lead to an access, or to an end."""
        return self == self.dearest

    def __str__(self) -> str:
        return self._text

    @cached_property
    def _text(self) -> str:
        """Kept: counts are put in order by it."""
        parts = [f"{count} {event}" for event, count in self.between]
        if self.late:
            parts.append(f"{self.late} late")
        if self.more:
            parts.append("more")
        between = f" ({', '.join(parts)})" if parts else ""
        behind = [f"{count} {event}" for event, count in self.then]
        if self.late_then:
            behind.append(f"{self.late_then} late")
        then = f", then {', '.join(behind)}" if behind else ""
        unknown = "a switch's read" if self.settled else "a call" if self.called else "any"
        before = self.before or unknown
        return f"{self.access or 'end'} behind {before}{between}{then}"


Key = AccessClass | CoreEvent | Succession


def key_order(key: Key) -> tuple[str, int, str, int, str]:
    """Sort key that puts accesses of a section before its core events, and these before
    successions, in a stable order."""
    if isinstance(key, AccessClass):
        return (key.section, 0, key.operation.value, key.width, key.pattern.value)
    if isinstance(key, CoreEvent):
        return (key.section, 1, key.kind.value, 0, "")
    return (key.section, 2, str(key), 0, "")


class AccessVector(Mapping[Key, int]):
    """Sparse, immutable, exact counts over access classes and core events. Zeros are absent."""

    __slots__ = ("_counts",)

    def __init__(self, counts: Mapping[Key, int] | Iterable[tuple[Key, int]] = ()) -> None:
        summed: dict[Key, int] = {}
        pairs = counts.items() if isinstance(counts, Mapping) else counts
        for key, count in pairs:
            summed[key] = summed.get(key, 0) + count
        self._counts = {key: summed[key] for key in sorted(summed, key=key_order) if summed[key]}

    def __getitem__(self, key: Key) -> int:
        return self._counts[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._counts)

    def __len__(self) -> int:
        return len(self._counts)

    def items(self) -> ItemsView[Key, int]:
        """As of any mapping; that of ``Mapping`` looks each key up again."""
        return self._counts.items()

    def __add__(self, other: AccessVector) -> AccessVector:
        return AccessVector([*self._counts.items(), *other._counts.items()])

    def scaled(self, factor: int) -> AccessVector:
        """Every count times ``factor``."""
        return AccessVector({key: count * factor for key, count in self._counts.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AccessVector) and self._counts == other._counts

    def __hash__(self) -> int:
        return hash(tuple(self._counts.items()))

    def __repr__(self) -> str:
        return "AccessVector({" + ", ".join(f"{k}: {v}" for k, v in self._counts.items()) + "})"

    @property
    def instructions(self) -> int:
        """Number of instructions behind this vector: its issue events."""
        return sum(
            count
            for key, count in self._counts.items()
            if isinstance(key, CoreEvent) and key.kind.is_issue
        )

    @property
    def supervisor_calls(self) -> int:
        """Number of supervisor calls behind this vector."""
        return sum(
            count
            for key, count in self._counts.items()
            if isinstance(key, CoreEvent) and key.kind is EventKind.SUPERVISOR_CALL
        )

    @property
    def sections(self) -> frozenset[str]:
        """Logical sections that this vector touches."""
        return frozenset(key.section for key in self._counts)
