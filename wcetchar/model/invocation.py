"""One invocation of a service as traces showed it, instruction by instruction, and what each costs.

Positions count the executed instructions of the invocation from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wcetchar.model.access import Key
from wcetchar.model.characterization import ServiceCharacterization, StretchKind, Word

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, order=True)
class Function:
    """``file`` and ``line``: where it begins in the source; empty and 0: not known."""

    address: int
    name: str
    file: str = ""
    line: int = 0


@dataclass(frozen=True)
class CallFrame:
    """A function while it runs, from its first instruction to its last, with what it calls.

    Attributes:
        first, last: positions, both included. Frames nest, and an outer one comes before the
            inner.
        caller: number of the frame that called it, or jumped to it at its end; -1: the service's
            caller did.
        site: position of the instruction that did; -1: it is not in this invocation.
    """

    function: Function
    first: int
    last: int
    caller: int = -1
    site: int = -1


@dataclass(frozen=True)
class HeldOff:
    """The instructions first..last hold off interrupts, or preemption."""

    kind: StretchKind
    first: int
    last: int


class Interruption(StrEnum):
    """What ran inside an invocation."""

    INTERRUPT = "interrupt"
    SUPERVISOR_CALL = "handler of a supervisor call"
    THREAD = "another thread"


@dataclass(frozen=True)
class Segment:
    """What ran without anything else in between.

    Attributes:
        first: position of its first instruction.
        serial: of two segments of one run the one with the smaller number ran before the other.
        behind: what ran between the segment before and this one; ``None``: it is the first.
    """

    first: int
    serial: int
    behind: Interruption | None = None


@dataclass(frozen=True)
class Invocation:
    """What one invocation executed and counted.

    Attributes:
        service: name that it is published under.
        values: of the service's parameters, in their order.
        counted: the service with the counts of this invocation alone, under a name of its own.
        address: of each executed instruction.
        keys: what is counted, each once.
        key, position: parallel columns, a row for each time that something is counted: which of
            ``keys``, and at which instruction.
        frames: functions that ran; the first frame is that of the whole invocation.
        run, thread: numbers of the trace, and of the thread or handler in it.
        in_handler: a handler executed it.
    """

    service: str
    values: tuple[int, ...]
    counted: ServiceCharacterization
    address: Numbers
    keys: tuple[Key, ...]
    key: Numbers
    position: Numbers
    frames: tuple[CallFrame, ...]
    held: tuple[HeldOff, ...]
    segments: tuple[Segment, ...]
    run: int = 0
    thread: int = 0
    in_handler: bool = False

    def __len__(self) -> int:
        return len(self.address)

    @property
    def parameters(self) -> Mapping[str, int]:
        names = (parameter.name for parameter in self.counted.parameters)
        return dict(zip(names, self.values, strict=True))


@dataclass(frozen=True)
class PricedInvocation:
    """What each instruction adds to the estimate of one invocation.

    Times are whole picoseconds. They are rounded up where they add up: the first n instructions
    together take what they take exactly, rounded up once. So whatever is summed, the whole is the
    exact total, rounded up, and a sum over m executed instructions is off by less than m.

    Attributes:
        total: the estimate, in nanoseconds, exactly.
        columns: where time is spent: regions, the core, and what depends.
        total_ps: of each instruction; behind them what caches take to load lines, which is no
            single instruction's.
        column_ps: by column, the same. Each column is rounded by itself, so that together they may
            exceed ``total_ps``, by less than the number of columns.
    """

    traced: Invocation
    total: Fraction
    word: Word
    columns: tuple[str, ...]
    total_ps: Numbers
    column_ps: tuple[Numbers, ...]

    @cached_property
    def until(self) -> Numbers:
        """Time in picoseconds from the beginning until each position; behind the last instruction,
        and behind the lines that caches load, as well."""
        return np.concatenate(([0], np.cumsum(self.total_ps)))

    @property
    def loaded_ps(self) -> int:
        """What caches take to load lines."""
        return int(self.total_ps[-1])

    @property
    def name(self) -> str:
        """The service with the values of its parameters, for people."""
        values = ", ".join(f"{name}={value}" for name, value in self.traced.parameters.items())
        return f"{self.traced.service} {values}" if values else self.traced.service


@dataclass(frozen=True)
class Exported:
    """What viewers are shown.

    Attributes:
        object: the firmware's file name.
        lines: file and line of each address that was executed, where they are known.
        notes: what the times rest on.
    """

    object: str
    profile: str
    section_map: str
    invocations: tuple[PricedInvocation, ...]
    lines: Mapping[int, tuple[str, int]]
    notes: tuple[str, ...] = ()
