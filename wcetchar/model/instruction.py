"""What an instruction does, as plain data: the table that ``isa/`` fills and analysis works on."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.model.access import EventKind
from wcetchar.model.fetch_buffer import FetchBuffer
from wcetchar.model.term import Assignment, Comparison, Term


class Flow(StrEnum):
    """Where control can go after an instruction. A predicated or conditional transfer has
    ``Instruction.conditional`` set as well and may also fall through."""

    NEXT = "next"
    JUMP = "jump"  # direct branch; RISC-V: jal without a link
    JUMP_INDIRECT = "indirect jump"  # bx/mov pc/ldr pc with a register that is not lr; jalr
    JUMP_TABLE = "table jump"  # tbb, tbh
    CALL = "call"  # bl; jal ra, jal t0
    CALL_INDIRECT = "indirect call"  # blx reg; jalr ra, jalr t0
    # Function or exception return: bx lr, pop {.., pc}, ldm with pc; jalr x0, 0(ra), mret.
    RETURN = "return"
    SUPERVISOR_CALL = "supervisor call"  # svc; ecall
    STOP = "stop"  # udf, bkpt; ebreak, unimp: no successor


class MaskRegister(StrEnum):
    """Registers that mask interrupts, or fields of them.

    M-profile: PRIMASK, FAULTMASK, BASEPRI. RISC-V (privileged architecture, 3.1.6.1 and 3.1.9):
    two fields of ``mstatus``, and ``mie``; there a set bit lets interrupts *in*. Armv4T (Arm
    Architecture Reference Manual DDI 0100, A2.5): bits of CPSR, and of the SPSR of the current
    mode, which an exception return moves to CPSR; those of the SPSR alone mask nothing.
    """

    PRIMASK = "primask"
    FAULTMASK = "faultmask"
    BASEPRI = "basepri"
    BASEPRI_MAX = "basepri_max"  # a write that can only raise
    MSTATUS_MIE = "mstatus.mie"  # clear: no interrupt is taken in machine mode
    # What mret puts into MIE. A trap moves MIE here and clears MIE; this alone masks nothing.
    MSTATUS_MPIE = "mstatus.mpie"
    MIE = "mie"  # one enable bit for each interrupt; not the field of mstatus
    CPSR_I = "cpsr.i"  # set: no IRQ is taken
    CPSR_F = "cpsr.f"  # set: no FIQ is taken
    SPSR_I = "spsr.i"
    SPSR_F = "spsr.f"

    @property
    def bits(self) -> int:
        """Where it stands in the register that instructions read and write."""
        return _MASK_BITS.get(self, 0xFFFFFFFF)

    @property
    def enables(self) -> bool:
        """A set bit lets interrupts in (RISC-V) rather than holding them off (M-profile)."""
        return self in _ENABLES


_MASK_BITS = {
    MaskRegister.PRIMASK: 1,
    MaskRegister.FAULTMASK: 1,
    MaskRegister.BASEPRI: 0xFF,
    MaskRegister.BASEPRI_MAX: 0xFF,
    MaskRegister.MSTATUS_MIE: 1 << 3,
    MaskRegister.MSTATUS_MPIE: 1 << 7,
    MaskRegister.CPSR_I: 1 << 7,
    MaskRegister.CPSR_F: 1 << 6,
    MaskRegister.SPSR_I: 1 << 7,
    MaskRegister.SPSR_F: 1 << 6,
}
_ENABLES = frozenset({MaskRegister.MSTATUS_MIE, MaskRegister.MSTATUS_MPIE, MaskRegister.MIE})


class MaskOperation(StrEnum):
    """What a write does to a mask register, given the written value."""

    WRITE = "write"  # the value's bits become the register's
    SET = "set"  # where the value has ones (csrrs, csrrsi), the register gets ones
    CLEAR = "clear"  # where the value has ones (csrrc, csrrci), the register gets zeros


@dataclass(frozen=True)
class MaskWrite:
    """The instruction writes a mask register: a constant (cps), a register's value (msr), or what
    another mask register holds (mret: MIE from MPIE).

    Exactly one of ``constant``, ``source`` and ``mask_register`` is given. Of a constant or a
    register's value only the bits ``register.bits`` count; ``mask_register`` moves a truth from
    one field to another. An ``operation`` other than WRITE leaves the register's other bits, so
    that an unknown value leaves it unknown as well.
    """

    register: MaskRegister
    constant: int | None = None
    source: int | None = None
    operation: MaskOperation = MaskOperation.WRITE
    mask_register: MaskRegister | None = None

    @property
    def bits(self) -> int:
        """Bits of the written value that concern the register."""
        return self.register.bits


@dataclass(frozen=True)
class Transfer:
    """One memory element of an instruction and the core register that it fills or empties."""

    register: int | None
    """Register number 0..15 (RISC-V: 0..31); ``None`` when the element is no core register: tbb's
    table entry, a load into x0, what an atomic operation other than a swap computes. A store of
    register 0 of RISC-V stores the constant zero."""


@dataclass(frozen=True)
class MemoryEffect:
    """The data accesses of one execution, in the order in which they are made.

    Attributes:
        width: bits of each element.
        reads, writes: how many elements. Only ``swp``-like instructions (RISC-V: amo*) have both,
            the read first.
        burst: a multi-register transfer (first, next, next ...) rather than single accesses.
        transfers: one per element, in the order of ascending addresses.
        base: register that the address is formed from (Arm: 15 is the literal pool, 13 the stack;
            RISC-V: 2 is the stack, 0 stands for the constant zero).
        index: register that is added to it.
        address: of the first element, in terms of the registers before the instruction; ``None``:
            it is not expressed.
        signed: a loaded element is extended by its sign.
    """

    width: int
    reads: int = 0
    writes: int = 0
    burst: bool = False
    transfers: tuple[Transfer, ...] = ()
    base: int | None = None
    index: int | None = None
    address: Term | None = None
    signed: bool = False


@dataclass(frozen=True)
class Copy:
    """What a register gets, where that is easy to follow: a constant, another register's value,
    or a mask register's. Anything else has no ``Copy`` and just stands in ``defs``.

    A read of ``mstatus`` or ``mie`` (RISC-V) gives the whole register as it was before the
    instruction. ``mstatus`` is named MSTATUS_MIE; of its value only the bits of MSTATUS_MIE and
    MSTATUS_MPIE can be known, and all others are unknown.

    In the same way a read of CPSR (Armv4T) is named CPSR_I, and one of SPSR SPSR_I; only the bits
    of I and F can be known.
    """

    destination: int
    constant: int | None = None
    source: int | None = None
    mask_register: MaskRegister | None = None


class Calculation(StrEnum):
    """Calculations on 32 bits that are worth following: how constants are put together, and how
    single fields of a mask register are taken out and set."""

    ADD = "add"
    AND = "and"
    OR = "or"
    SHIFT_LEFT = "shift left"


@dataclass(frozen=True)
class Arithmetic:
    """``destination`` gets ``source`` <calculation> ``constant``, or the register ``other`` in the
    constant's place; exactly one of the two is given. Of a shift, the constant is 0 to 31; what a
    register holds beyond that is not followed, since instruction sets differ there."""

    destination: int
    calculation: Calculation
    source: int
    constant: int | None = None
    other: int | None = None


@dataclass(frozen=True)
class Test:
    """Whether a register equals a constant, as a branch or the Z flag tells.

    Attributes:
        equal_when_taken: of a branch that tests by itself (cbz, beq with x0: True; cbnz, bne with
            x0: False); ``None`` for an instruction that sets the Z flag, whose value a later branch
            shows.
    """

    register: int
    constant: int
    equal_when_taken: bool | None = None


@dataclass(frozen=True)
class FetchUnit:
    """How instructions of one state are fetched.

    Attributes:
        bytes: width of one fetch.
        granule: what addresses of instructions are multiples of.
    """

    bytes: int
    granule: int


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
        condition: of a conditional branch or predicated instruction: ``eq``, ``ne`` ...; ``""``
            on RISC-V, which has no flags that it could name.
        defs, uses: bit masks over registers that it writes and reads. Arm: 0..15, pc excluded;
            RISC-V: 0..31, x0 excluded. ``InstructionTable.registers`` says what they are for.
        arithmetic: what the destination gets, where that is worth following and no ``copy``.
        fetch: how it is fetched, where that is not as the table says for all.
        shift: it is a shift or rotation, whose result some cores have late.
        assignments: what registers get that are not loaded, as far as it is expressed; the base of
            a memory operand that is written back is among them. Of a predicated instruction: where
            its condition holds.
        comparison: what it compares; of a predicated instruction ``None``.
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
    arithmetic: Arithmetic | None = None
    fetch: FetchUnit | None = None
    shift: bool = False
    assignments: tuple[Assignment, ...] = ()
    comparison: Comparison | None = None

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
class RegisterRoles:
    """What the core registers of an instruction set are for, by number.

    Attributes:
        names: by number.
        stack_pointer: the register that addresses the stack.
        links: registers that calls leave the return address in, the usual one first.
        saved_by_callee: bit mask of those that a called function preserves, the stack pointer
            excluded.
        program_counter: number that a memory operand's base has where it is pc; ``None``: never.
        zero: the register that always reads as zero; ``None``: there is none.
        arguments: registers that hold the first arguments of a call, in order.
    """

    names: tuple[str, ...]
    stack_pointer: int
    links: tuple[int, ...]
    saved_by_callee: int
    program_counter: int | None = None
    zero: int | None = None
    arguments: tuple[int, ...] = ()

    @property
    def handed_over(self) -> tuple[int, ...]:
        """Registers that may hold something for a function that is called: all that it need not
        preserve. Beside arguments there are the static chain of a nested function (GCC: ip, t2) and
        what routines of the compiler agree on."""
        others = {self.stack_pointer, self.program_counter, self.zero}
        return tuple(
            number
            for number in range(len(self.names))
            if not self.saved_by_callee >> number & 1 and number not in others
        )


ARM_REGISTERS: Final = RegisterRoles(
    names=(*(f"r{n}" for n in range(13)), "sp", "lr", "pc"),
    stack_pointer=13,
    links=(14,),
    saved_by_callee=0x0FF0,
    program_counter=15,
    arguments=(0, 1, 2, 3),
)
"""Procedure Call Standard for the Arm Architecture (AAPCS32), 6.1.1; r9 as a variable register.
Arguments: 6.5."""

RISCV_REGISTERS: Final = RegisterRoles(
    names=(
        *("zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1"),
        *(f"a{n}" for n in range(8)),
        *(f"s{n}" for n in range(2, 12)),
        *("t3", "t4", "t5", "t6"),
    ),
    stack_pointer=2,
    links=(1, 5),
    saved_by_callee=0x0FFC0300,
    zero=0,
    arguments=tuple(range(10, 18)),
)
"""RISC-V Calling Conventions (psABI), "Integer Register Convention". x5 is the alternate link
register (unprivileged architecture, 2.5)."""


class ThreadKey(StrEnum):
    """By which accesses of a handler (``ExceptionModel.thread_key``) a trace tells threads apart.

    Both name a thread by an address that it was saved to and is restored from.
    """

    # Multiple transfers of registers that functions preserve, not through the stack pointer.
    REGISTERS = "saved registers"
    # Loads and stores of the stack pointer itself: whoever switches stacks has to make them.
    STACK_POINTER = "saved stack pointer"


@dataclass(frozen=True)
class ExceptionModel:
    """What the hardware itself does when a handler is entered and left. No trace shows it.

    Attributes:
        frame_words: words of 32 bits that entry writes and exit reads, as one burst each, on the
            stack of what was interrupted: the task stack, and in handlers the main stack.
        float_words: words of the floating-point part of a frame that are written and read.
        vector_reads: words that entry reads from the vector table.
        reset_masks: what is known of the mask registers after reset; those of M-profile mask
            nothing.
        entry_masks: what entry does to the mask registers, one after another. A handler that masks
            nothing is still one: no thread runs until it returns.
        exit_masks: what a return does beside what the table says of the returning instruction.
        keeps_masks: numbers of exceptions whose return does not do ``exit_masks``.
        interrupt_bit: set in the numbers of exceptions that are taken only where the mask registers
            let interrupts in; 0: the number does not tell.
        interrupts: the same by number, each with what it shows of a mask register; for instruction
            sets whose numbers have no such bit.
        supervisor_calls: numbers of the exceptions that a supervisor call enters.
        banked: mask registers of which each processor mode has its own. What they hold is not known
            once the mode may have changed: in a handler after a handler that interrupted it, and
            after an instruction that writes the others.
        thread_key: how handlers show which thread they save and which they go on with.
        unnoticed: an interrupt that waits is not sure to be taken where so many instructions, or
            fewer, lie between the one that lets it in and one that masks it again; -1: it is.
    """

    frame_words: int = 0
    float_words: int = 0
    vector_reads: int = 0
    reset_masks: tuple[MaskWrite, ...] = ()
    entry_masks: tuple[MaskWrite, ...] = ()
    exit_masks: tuple[MaskWrite, ...] = ()
    keeps_masks: frozenset[int] = frozenset()
    interrupt_bit: int = 0
    interrupts: tuple[tuple[int, MaskWrite], ...] = ()
    supervisor_calls: frozenset[int] = frozenset()
    banked: tuple[MaskRegister, ...] = ()
    thread_key: ThreadKey = ThreadKey.REGISTERS
    unnoticed: int = 1

    def entry(self, exceptions: Iterable[int]) -> EventKind:
        """How a handler is entered that serves these exceptions; none: it serves all.

        What a supervisor call enters is fetched behind that call alone; any other exception may
        come behind any instruction, which a core may have to wait for first.
        """
        served = frozenset(exceptions)
        if served and served <= self.supervisor_calls:
            return EventKind.SUPERVISOR_CALL_ENTRY
        return EventKind.EXCEPTION_ENTRY


M_PROFILE_EXCEPTIONS: Final = ExceptionModel(
    frame_words=8,
    vector_reads=1,
    exit_masks=(MaskWrite(MaskRegister.FAULTMASK, constant=0),),
    keeps_masks=frozenset({2}),
    supervisor_calls=frozenset({11}),
)
"""Armv7-M Architecture Reference Manual (DDI 0403E), B1.5.6 to B1.5.8: the basic frame; a return
from any exception but NMI (B1.5.2: number 2) clears FAULTMASK. Armv6-M has the same frame and no
FAULTMASK. The masks stay on entry; the handler's own priority holds off what is less urgent.
Unnoticed: where an interrupt is enabled that waits, existing Cortex-M cores execute up to two more
instructions before its handler (Application Note 321, Arm DAI 0321A, 4.5), of which the second may
mask it again. A barrier between would have it taken; that is not told apart."""

M_PROFILE_FLOAT_EXCEPTIONS: Final = replace(M_PROFILE_EXCEPTIONS, float_words=17)
"""With the floating-point extension (DDI 0403E, B1.5.6 and B1.5.7): s0 to s15 and FPSCR; one more
word of the extended frame is reserved, and not accessed."""

ARMV4T_EXCEPTIONS: Final = ExceptionModel(
    reset_masks=(
        MaskWrite(MaskRegister.CPSR_I, constant=MaskRegister.CPSR_I.bits),
        MaskWrite(MaskRegister.CPSR_F, constant=MaskRegister.CPSR_F.bits),
    ),
    entry_masks=(
        MaskWrite(MaskRegister.SPSR_I, mask_register=MaskRegister.CPSR_I),
        MaskWrite(MaskRegister.SPSR_F, mask_register=MaskRegister.CPSR_F),
        MaskWrite(MaskRegister.CPSR_I, constant=MaskRegister.CPSR_I.bits),
    ),
    interrupts=(
        (6, MaskWrite(MaskRegister.CPSR_I, constant=0)),
        (7, MaskWrite(MaskRegister.CPSR_F, constant=0)),
    ),
    supervisor_calls=frozenset({2}),
    banked=(MaskRegister.SPSR_I, MaskRegister.SPSR_F),
)
"""Arm Architecture Reference Manual (DDI 0100I), A2.6: every exception moves CPSR to the SPSR of
its mode and sets I; numbers are vector addresses / 4, so that 2 is SWI, 6 IRQ and 7 FIQ. (FIQ sets
F as well; what holds IRQ off counts as holding off all interrupts, so nothing depends on that.) No
memory is touched: vectors are instructions. Unnoticed: the manuals do not say; as of Cortex-M."""

RISCV_MACHINE_EXCEPTIONS: Final = ExceptionModel(
    reset_masks=(MaskWrite(MaskRegister.MSTATUS_MIE, constant=0),),
    entry_masks=(
        MaskWrite(MaskRegister.MSTATUS_MPIE, mask_register=MaskRegister.MSTATUS_MIE),
        MaskWrite(MaskRegister.MSTATUS_MIE, constant=0),
    ),
    interrupt_bit=1 << 31,
    supervisor_calls=frozenset({8, 9, 11}),
    thread_key=ThreadKey.STACK_POINTER,
)
"""RISC-V Privileged Architecture (20211203), 3.1.6.1 (a trap: MPIE <- MIE, MIE <- 0), 3.1.15
(``mcause``: `ecall` from U, S and M mode), 3.4 (reset clears MIE). No memory is touched: the
handler saves what it needs by itself, and vectored traps jump into a table of instructions. What
``mret`` does stands in the table of effects. Unnoticed: by 3.1.9 a write to mstatus has interrupts
evaluated right behind it, but VexRiscv executes two more instructions (docs/explanation/rtl.md,
"Two stretches that are one")."""


@dataclass(frozen=True)
class InstructionTable:
    """All instructions of an image, sorted by address, with columns for vectorised analysis.

    Attributes:
        fetch_bytes: width of one instruction fetch of this core family in bytes; the widest, where
            instructions have a ``fetch`` of their own.
        granule: instruction alignment in bytes (Thumb 2; RISC-V 2, and 4 without the C extension);
            the smallest, where instructions have a ``fetch`` of their own.
        registers: what the registers of ``defs``, ``uses`` and memory operands are for.
        exceptions: what the hardware does around handlers.
        buffer: how far the core fetches ahead; ``None``: as a pipeline that predicts branches in
            its decoder (``counting/fetch_ahead.py``).
    """

    instructions: tuple[Instruction, ...]
    undecodable: tuple[Undecodable, ...] = ()
    fetch_bytes: int = 4
    granule: int = 2
    registers: RegisterRoles = ARM_REGISTERS
    exceptions: ExceptionModel = M_PROFILE_EXCEPTIONS
    buffer: FetchBuffer | None = None

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
