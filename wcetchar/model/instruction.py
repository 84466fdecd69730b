"""What an instruction does, as plain data: the table that ``isa/`` fills and analysis works on."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wcetchar.model.access import EventKind


class Flow(StrEnum):
    """Where control can go after an instruction. A predicated or conditional transfer has
    ``Instruction.conditional`` set as well and may also fall through."""

    NEXT = "next"
    JUMP = "jump"  # direct branch
    JUMP_INDIRECT = "indirect jump"  # bx/mov pc/ldr pc with a register that is not lr
    JUMP_TABLE = "table jump"  # tbb, tbh
    CALL = "call"  # bl
    CALL_INDIRECT = "indirect call"  # blx reg
    RETURN = "return"  # bx lr, pop {.., pc}, ldm with pc: function or exception return
    SUPERVISOR_CALL = "supervisor call"
    STOP = "stop"  # udf, bkpt: no successor


class MaskRegister(StrEnum):
    """Registers that mask interrupts. M-profile: PRIMASK, FAULTMASK, BASEPRI."""

    PRIMASK = "primask"
    FAULTMASK = "faultmask"
    BASEPRI = "basepri"
    BASEPRI_MAX = "basepri_max"  # a write that can only raise


@dataclass(frozen=True)
class MaskWrite:
    """The instruction writes a mask register: a constant (cps) or a register's value (msr)."""

    register: MaskRegister
    constant: int | None = None
    source: int | None = None


@dataclass(frozen=True)
class Transfer:
    """One memory element of an instruction and the core register that it fills or empties."""

    register: int | None
    """Register number 0..15; ``None`` when the element is no core register (tbb's table entry)."""


@dataclass(frozen=True)
class MemoryEffect:
    """The data accesses of one execution, in the order in which they are made.

    Attributes:
        width: bits of each element.
        reads, writes: how many elements. Only ``swp``-like instructions have both.
        burst: a multi-register transfer (first, next, next ...) rather than single accesses.
        transfers: one per element, in the order of ascending addresses.
        base: register that the address is formed from (15: the literal pool; 13: the stack).
    """

    width: int
    reads: int = 0
    writes: int = 0
    burst: bool = False
    transfers: tuple[Transfer, ...] = ()
    base: int | None = None


@dataclass(frozen=True)
class Copy:
    """What a register gets, where that is easy to follow: a constant, another register's value,
    or a mask register's. Anything else has no ``Copy`` and just stands in ``defs``."""

    destination: int
    constant: int | None = None
    source: int | None = None
    mask_register: MaskRegister | None = None


@dataclass(frozen=True)
class Test:
    """Whether a register equals a constant, as a branch or the Z flag tells.

    Attributes:
        equal_when_taken: of a branch that tests by itself (cbz: True, cbnz: False); ``None`` for
            an instruction that sets the Z flag, whose value a later branch shows.
    """

    register: int
    constant: int
    equal_when_taken: bool | None = None


@dataclass(frozen=True)
class Instruction:
    """Static facts of one instruction at one address.

    Attributes:
        issue: its timing class when executed; a conditional branch has BRANCH_UNTAKEN here, and
            analysis counts BRANCH_TAKEN when control did not fall through.
        conditional: predicated (IT block) or a conditional branch: may have no effect.
        target: of a direct branch or call.
        mask: the first mask register that it writes; ``masks`` gives all of them.
        further_masks: those beside ``mask`` (``cpsid if`` writes PRIMASK and FAULTMASK).
        test: what a compare-and-branch tests, or what the Z flag says after this instruction.
        sets_flags: it may change the Z flag.
        condition: of a conditional branch or predicated instruction: ``eq``, ``ne`` ...
        defs, uses: bit masks over registers 0..15 that it writes and reads (pc excluded).
    """

    address: int
    length: int
    code: bytes
    text: str
    issue: EventKind
    flow: Flow = Flow.NEXT
    conditional: bool = False
    target: int | None = None
    memory: MemoryEffect | None = None
    mask: MaskWrite | None = None
    copy: Copy | None = None
    defs: int = 0
    uses: int = 0
    further_masks: tuple[MaskWrite, ...] = ()
    test: Test | None = None
    sets_flags: bool = False
    condition: str = ""

    @property
    def end(self) -> int:
        return self.address + self.length

    @property
    def masks(self) -> tuple[MaskWrite, ...]:
        """Every mask register that it writes."""
        return () if self.mask is None else (self.mask, *self.further_masks)


@dataclass(frozen=True)
class Undecodable:
    """Bytes inside a code range that no table entry explains. An error only if executed."""

    address: int
    code: bytes
    text: str
    reason: str


@dataclass(frozen=True)
class InstructionTable:
    """All instructions of an image, sorted by address, with columns for vectorised analysis.

    Attributes:
        fetch_bytes: width of one instruction fetch of this core family in bytes.
        granule: instruction alignment in bytes (Thumb 2).
    """

    instructions: tuple[Instruction, ...]
    undecodable: tuple[Undecodable, ...] = ()
    fetch_bytes: int = 4
    granule: int = 2

    def __len__(self) -> int:
        return len(self.instructions)

    @cached_property
    def address(self) -> npt.NDArray[np.uint64]:
        return np.array([i.address for i in self.instructions], dtype=np.uint64)

    @cached_property
    def length(self) -> npt.NDArray[np.uint8]:
        return np.array([i.length for i in self.instructions], dtype=np.uint8)

    def index_of(self, addresses: npt.NDArray[np.uint64]) -> npt.NDArray[np.int64]:
        """Index of each address in the table, -1 where no instruction starts there."""
        table = self.address
        if not len(table):
            return np.full(len(addresses), -1, dtype=np.int64)
        found = np.searchsorted(table, addresses)
        found = np.minimum(found, len(table) - 1)
        return np.where(table[found] == addresses, found, -1).astype(np.int64)

    def at(self, address: int) -> Instruction | None:
        index = int(self.index_of(np.array([address], dtype=np.uint64))[0])
        return self.instructions[index] if index >= 0 else None
