"""A trace as every reader yields it: columnar event batches, what the format knows, totals."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

from wcetchar.model.service import AddressRange


class Event(IntEnum):
    """Kinds of event, the values of ``EventBatch.kind``.

    ============== ======================================= ============================
    kind           address                                 size
    ============== ======================================= ============================
    INSTRUCTION    program counter, 0 where the format     length in bytes, 0 = unknown
                   has none (Knowledge.PROGRAM_COUNTERS)
    READ, WRITE    data address                            width in bytes, 0 = unknown
    ACCESS         data address, direction unknown         width in bytes, 0 = unknown
    EXCEPTION      exception number (M-profile: IPSR;      0
                   RISC-V: mcause of 32 bits, so bit 31 is
                   set for interrupts)
    EXCEPTION_EXIT number of the exception that is left,   0
                   0 = unknown
    GAP            number of instructions left out here    0
                   by a capture filter
    UNDECODED      program counter where the emulator      0
                   could not decode, 0 = unknown
    REGISTER       value of a core register                its number
    ============== ======================================= ============================

    Accesses follow the instruction that made them, in the order in which they were made. An
    EXCEPTION stands before the first instruction of its handler; an EXCEPTION_EXIT stands after
    the instruction that returned. A REGISTER stands before the instruction at whose beginning the
    register holds the value; it is yielded on request only, and numbered as in
    :class:`wcetchar.model.instruction.RegisterRoles`.
    """

    INSTRUCTION = 0
    READ = 1
    WRITE = 2
    ACCESS = 3
    EXCEPTION = 4
    EXCEPTION_EXIT = 5
    GAP = 6
    UNDECODED = 7
    REGISTER = 8


@dataclass(frozen=True)
class EventBatch:
    """Up to some ten thousand events as three parallel columns of equal length."""

    kind: npt.NDArray[np.uint8]
    address: npt.NDArray[np.uint64]
    size: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.kind)

    def __post_init__(self) -> None:
        if not len(self.kind) == len(self.address) == len(self.size):
            raise ValueError("the columns of an event batch differ in length")


class Knowledge(StrEnum):
    """What a trace format can tell. What is missing here is a stated loss."""

    ADDRESSES = "data addresses"
    WIDTHS = "access widths"
    DIRECTIONS = "access directions"
    EXCEPTIONS = "exception entry and exit"
    OPCODES = "instruction bytes"
    PROGRAM_COUNTERS = "program counters"
    END = "end of the trace"
    REGISTERS = "register values"


@dataclass(frozen=True)
class Loss:
    """One thing that a format does not record, and what follows from that."""

    lacks: Knowledge
    consequence: str


@dataclass(frozen=True)
class TraceFilter:
    """What a capture left out: instructions in ``excluded``, and, with ``between_marks``, all
    outside of marks; but nothing in ``kept``."""

    excluded: tuple[AddressRange, ...] = ()
    kept: tuple[AddressRange, ...] = ()
    between_marks: bool = False

    def shows(self, address: int) -> bool:
        """Every execution of the instruction at ``address`` is in the trace."""
        if any(r.start <= address < r.end for r in self.kept):
            return True
        return not self.between_marks and not any(r.start <= address < r.end for r in self.excluded)


@dataclass(frozen=True)
class TraceInfo:
    """What a trace says of itself before its first event.

    ``registers_persist``: a register keeps the value of its last REGISTER event until the next
    one; otherwise an event holds for the very next instruction alone.
    """

    path: str
    format: str
    losses: tuple[Loss, ...] = ()
    image_sha256: str | None = None
    machine: str | None = None
    emulator: str | None = None
    arguments: tuple[str, ...] = ()
    filter: TraceFilter = TraceFilter()
    registers_persist: bool = False

    def knows(self, knowledge: Knowledge) -> bool:
        return all(loss.lacks is not knowledge for loss in self.losses)


@dataclass(frozen=True)
class CodeBytes:
    """An instruction as the trace shows it, for the check against the image."""

    address: int
    code: bytes
    """Bytes in memory order."""


@dataclass(frozen=True)
class TraceTotals:
    """Totals of a trace; valid once its batches are exhausted.

    Attributes:
        instructions: INSTRUCTION events yielded.
        accesses: READ, WRITE and ACCESS events yielded.
        exceptions: EXCEPTION events yielded.
        filtered: instructions that a capture filter left out (sum over GAP events).
        undecoded: UNDECODED events yielded.
        complete: True when an end record was seen; ``None`` where the format has none.
        unread: lines or records that were understood not to be events, by name.
    """

    instructions: int = 0
    accesses: int = 0
    exceptions: int = 0
    filtered: int = 0
    undecoded: int = 0
    complete: bool | None = None
    unread: tuple[tuple[str, int], ...] = field(default=())


class Trace(Protocol):
    """An opened trace. ``batches()`` may be called more than once and starts anew each time;
    ``totals`` and ``code`` describe the last run through it that was exhausted. With ``registers``
    it also yields REGISTER events, where the format has them."""

    @property
    def info(self) -> TraceInfo: ...

    @property
    def totals(self) -> TraceTotals: ...

    @property
    def code(self) -> tuple[CodeBytes, ...]:
        """Distinct instructions with their bytes, where the format records them."""
        ...

    def batches(self, *, registers: bool = False) -> Iterator[EventBatch]: ...
