"""Which instructions of an image the window search has to look at, and why.

Inputs: a :class:`Resolved`. Output: one number of flags per instruction of the table. Everything
without a flag is passed over by whole slices of a batch.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.resolve import Resolved
from wcetchar.analysis.switching_code import moves_the_stack_pointer, switching_loads
from wcetchar.model.instruction import Flow, Instruction, RegisterRoles, ThreadKey
from wcetchar.model.service import ServiceKind

_STRAIGHT: Final = 32
"""Instructions before a store among which a read of a mask register is looked for."""


class Stop:
    """Why the search has to look at an instruction. Plain integers: an IntFlag's ``&`` costs more
    than everything else that is done at a stop."""

    ENTRY: Final = 1
    LOCK: Final = 2
    UNLOCK: Final = 4
    CALL: Final = 8
    RETURN: Final = 16
    MASK: Final = 32
    MASK_READ: Final = 64
    SAVE: Final = 128
    RESTORE: Final = 256
    HANDLER: Final = 512
    """First instruction of a function that the vector table names."""
    NO_RETURN: Final = 1024
    """A call behind which another function begins: nothing can return there."""
    MASK_SAVE: Final = 2048
    """A store of what was read from a mask register."""
    STACK_SAVE: Final = 4096
    """A store of the stack pointer."""
    SWITCH: Final = 8192
    """A load of the stack pointer by a function that may then return: to another thread."""
    LEAVES: Final = 16384
    """A return from an exception that the trace may not show as one."""
    FUNCTION: Final = ENTRY | LOCK | UNLOCK
    TRANSFER: Final = SAVE | RESTORE | MASK_SAVE | STACK_SAVE | SWITCH


def stops_of(resolved: Resolved) -> npt.NDArray[np.uint16]:
    """Flags of each instruction of the table."""
    table, image = resolved.table, resolved.image
    flags = np.zeros(len(table), dtype=np.uint16)
    vectors = vector_targets(resolved)
    handlers = vectors | {
        table.instructions[index].address
        for index, services in resolved.entries.items()
        if any(s.kind is ServiceKind.HANDLER for s in services)
    }
    functions = {symbol.address for symbol in image.symbols if symbol.kind == "function"}
    by_stack_pointer = table.exceptions.thread_key is ThreadKey.STACK_POINTER
    switches = switching_loads(resolved)
    for i, instruction in enumerate(table.instructions):
        stop = 0
        if instruction.flow in (Flow.CALL, Flow.CALL_INDIRECT):
            stop |= Stop.CALL
            if instruction.end in functions:
                stop |= Stop.NO_RETURN
        elif may_return(instruction, table.registers):
            stop |= Stop.RETURN
        if instruction.masks:
            stop |= Stop.MASK
        if instruction.copy is not None and instruction.copy.mask_register is not None:
            stop |= Stop.MASK_READ
        if by_stack_pointer:
            stop |= _transfers_the_stack_pointer(instruction, table.registers)
        elif _transfers_a_frame(instruction, table.registers):
            function = image.function_at(instruction.address)
            if function is not None and function.address in handlers:
                effect = instruction.memory
                stop |= Stop.SAVE if effect is not None and effect.writes else Stop.RESTORE
        if i in switches:
            stop = stop & ~Stop.RESTORE | Stop.SWITCH
        elif switches and moves_the_stack_pointer(instruction, table.registers, writes=True):
            stop |= Stop.STACK_SAVE
        if by_stack_pointer and _leaves_a_handler(instruction) and not instruction.conditional:
            stop |= Stop.LEAVES
        if table.exceptions.entry_masks and _stores_a_mask(table.instructions, i):
            stop |= Stop.MASK_SAVE
        if instruction.address in vectors:
            stop |= Stop.HANDLER
        flags[i] = stop
    for indices, flag in (
        (resolved.entries, Stop.ENTRY),
        (resolved.lock, Stop.LOCK),
        (resolved.unlock, Stop.UNLOCK),
    ):
        for index in indices:
            flags[index] |= flag
    return flags


def may_return(instruction: Instruction, registers: RegisterRoles) -> bool:
    """The instruction can be a return from a function.

    Of the indirect jumps these are ``bx`` of another register than lr and loads from the stack; a
    switch by a table of addresses, or by arithmetic on pc, goes to a label of its own function,
    which in a recursive one may well be a return address too.
    """
    if instruction.flow is Flow.RETURN:
        return True
    if instruction.flow is not Flow.JUMP_INDIRECT:
        return False
    if instruction.memory is not None:
        return instruction.memory.base == registers.stack_pointer
    return instruction.text.startswith("bx")


def _leaves_a_handler(instruction: Instruction) -> bool:
    """A return that restores interrupt masks."""
    return instruction.flow is Flow.RETURN and bool(instruction.masks)


def _transfers_a_frame(instruction: Instruction, registers: RegisterRoles) -> bool:
    """A multiple transfer of registers that a switch has to save, not through the stack pointer.

    Every switch of threads saves and restores the registers that functions preserve, which the
    hardware of M-profile does not stack; their first one tells. Copies of structures use multiple
    transfers too, but of the registers from r0 on.
    """
    effect = instruction.memory
    first = (registers.saved_by_callee & -registers.saved_by_callee).bit_length() - 1
    return (
        effect is not None
        and effect.burst
        and effect.base not in (registers.stack_pointer, registers.program_counter)
        and any(transfer.register == first for transfer in effect.transfers)
    )


def _transfers_the_stack_pointer(instruction: Instruction, registers: RegisterRoles) -> int:
    """A store or a load of the stack pointer itself."""
    effect = instruction.memory
    if effect is None or all(t.register != registers.stack_pointer for t in effect.transfers):
        return 0
    return Stop.SAVE if effect.writes else Stop.RESTORE


def _stores_a_mask(instructions: tuple[Instruction, ...], at: int) -> bool:
    """A word is stored that a read of a mask register has a part in, on the straight way before.

    That is how handlers save the masks of the thread that they interrupted, and how a new thread
    gets its own. Others are not found; what they store is then not known where it is restored.
    """
    effect = instructions[at].memory
    if effect is None or effect.width != 32 or not effect.writes or effect.reads:
        return False
    wanted = {transfer.register for transfer in effect.transfers}
    for i in range(at - 1, max(at - _STRAIGHT, -1), -1):
        before = instructions[i]
        if before.end != instructions[i + 1].address or before.flow is not Flow.NEXT:
            return False
        written = {r for r in wanted if r is not None and before.defs >> r & 1}
        if not written:
            continue
        wanted -= written
        if before.copy is not None:
            if before.copy.mask_register is not None:
                return True
            wanted.add(before.copy.source)
        elif before.arithmetic is not None:
            wanted |= {before.arithmetic.source, before.arithmetic.other}
    return False


def vector_targets(resolved: Resolved) -> set[int]:
    """Addresses of code that the vector section points at (Thumb bit removed); where the hardware
    reads no vectors, functions that return from exceptions."""
    image, services = resolved.image, resolved.services
    if not resolved.table.exceptions.vector_reads:
        returns = [i for i in resolved.table.instructions if _leaves_a_handler(i)]
        found = [image.function_at(i.address) for i in returns]
        return {function.address for function in found if function is not None}
    section = next(s for s in services.sections if s.name == services.vector_section)
    tables = [s.data for s in image.sections if s.name in section.all_linker_sections]
    wanted = [(r.start, r.end) for r in section.ranges]
    for name in section.symbols:
        symbol = image.symbol(name)
        wanted.append((symbol.address, symbol.address + symbol.size))
    for start, end in wanted:
        holder = image.section_at(start)
        if holder is not None:
            tables.append(holder.data[start - holder.address : end - holder.address])
    targets = set()
    for data in tables:
        words = np.frombuffer(data[: len(data) & ~3], dtype="<u4")
        targets |= {int(word) & ~1 for word in words if word & 1}
    return targets
