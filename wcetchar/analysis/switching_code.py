"""Functions that switch threads: which loads of an image may go on with another thread's stack.

A kernel may switch threads in a function that is called like any other, in a thread or in a
handler: it stores the stack pointer of the thread that calls it, loads another one's, and returns
to where that one called it. Looked for are loads of the stack pointer alone, through another
register, behind which the same function can come to a plain return with the stack pointer that was
loaded. What restores interrupt masks (``mret``) is no plain return: a handler that ends with it
shows its switch there (``activities``).

Input: a :class:`Resolved`. Output: table indices. Which of these loads did switch threads, and to
which one, is only known when they are executed (``switching``). Caveat: a switch that brings the
stack pointer in from another register, or together with others, is not found; what follows it is
then refused inside windows (``succession``).
"""

from __future__ import annotations

from collections.abc import Iterable

from wcetchar.analysis.resolve import Resolved
from wcetchar.model.instruction import Flow, Instruction, RegisterRoles

_ENDS = (Flow.STOP, Flow.JUMP_INDIRECT, Flow.JUMP_TABLE)


def moves_the_stack_pointer(
    instruction: Instruction, registers: RegisterRoles, *, writes: bool
) -> bool:
    """A store (``writes``) or a load of the stack pointer and nothing else, as one word."""
    effect = instruction.memory
    return (
        effect is not None
        and effect.width == 32
        and (effect.writes, effect.reads) == ((1, 0) if writes else (0, 1))
        and effect.transfers[0].register == registers.stack_pointer
    )


def switching_loads(resolved: Resolved) -> frozenset[int]:
    """Table indices of the loads that may switch threads."""
    table, stack_pointer = resolved.table, resolved.table.registers.stack_pointer
    loads = [
        i
        for i, instruction in enumerate(table.instructions)
        if moves_the_stack_pointer(instruction, table.registers, writes=False)
        and not instruction.conditional
        and instruction.memory is not None
        and instruction.memory.base != stack_pointer
    ]
    index = {instruction.address: i for i, instruction in enumerate(table.instructions)}
    return frozenset(i for i in loads if _can_return(resolved, i, index))


def put_away_before(resolved: Resolved, loads: Iterable[int]) -> frozenset[int]:
    """Of such loads, those whose function stores the stack pointer as well, as it does of the
    thread that calls it; ``longjmp`` does not."""
    table, function_at = resolved.table, resolved.image.function_at
    storing = {
        function.address
        for row in table.instructions
        if moves_the_stack_pointer(row, table.registers, writes=True)
        and (function := function_at(row.address)) is not None
    }
    return frozenset(
        load
        for load in loads
        if (function := function_at(table.instructions[load].address)) is not None
        and function.address in storing
    )


def _can_return(resolved: Resolved, load: int, index: dict[int, int]) -> bool:
    """The function of a load can return with the stack pointer that it loaded, or one on the same
    stack."""
    instructions, registers = resolved.table.instructions, resolved.table.registers
    function_at = resolved.image.function_at
    function = function_at(instructions[load].address)
    seen, left = {load}, [instructions[load].end]
    while left:
        address = left.pop()
        at = index.get(address)
        if at is None or at in seen or function_at(address) is not function:
            continue
        seen.add(at)
        instruction = instructions[at]
        if instruction.flow is Flow.RETURN and not instruction.masks:
            return True
        if instruction.defs >> registers.stack_pointer & 1 and not _adjusts(instruction, registers):
            continue
        if instruction.flow is Flow.JUMP and instruction.target is not None:
            left.append(instruction.target)
        if instruction.flow in _ENDS or (
            instruction.flow in (Flow.JUMP, Flow.RETURN) and not instruction.conditional
        ):
            continue
        left.append(instruction.end)
    return False


def _adjusts(instruction: Instruction, registers: RegisterRoles) -> bool:
    """What the stack pointer gets is worked out from what it was: it stays on the same stack."""
    transfers = () if instruction.memory is None else instruction.memory.transfers
    return bool(instruction.uses >> registers.stack_pointer & 1) and all(
        transfer.register != registers.stack_pointer for transfer in transfers
    )
