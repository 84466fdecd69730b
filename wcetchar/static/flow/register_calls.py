"""Calls through a register in Thumb code of Armv4T, which has no ``blx``.

GCC calls a routine of libgcc there, ``_call_via_rN``, that is a single ``bx rN``
(config/arm/lib1funcs.S). All calls through the same register share it, so where it goes is said of
the call and not of the ``bx``.
"""

from __future__ import annotations

from collections.abc import Mapping

from wcetchar.model.flow import ProgramGraph, TransferKind
from wcetchar.model.instruction import Flow, Instruction, InstructionTable
from wcetchar.static.flow import steps_thumb

_LINK = 14


def register_calls(table: InstructionTable) -> Mapping[int, int]:
    """Table indices: of a direct call of such a routine -> of its ``bx``."""
    jumps = {row.address: index for index, row in enumerate(table.instructions) if goes_on(row)}
    return {
        index: jumps[row.target]
        for index, row in enumerate(table.instructions)
        if row.flow is Flow.CALL and row.target in jumps
    }


def goes_on(row: Instruction) -> bool:
    """It is such a ``bx``."""
    if row.flow is not Flow.JUMP_INDIRECT or row.conditional or row.length != 2:
        return False
    register = steps_thumb.branch_register(row)
    return register is not None and register < _LINK


def callers(graph: ProgramGraph, table: InstructionTable, jump: int) -> frozenset[int] | None:
    """Table indices of the calls after which a ``bx`` is executed; ``None``: it may be executed
    after something else."""
    address = table.instructions[jump].address
    found: set[int] = set()
    for function in graph.functions.values():
        for number, block in enumerate(function.blocks):
            if block.first <= jump <= block.last:
                alone = function.address == address and not function.predecessors[number]
                if not alone or block.first != block.last:
                    return None
        for transfer in function.transfers:
            if address in transfer.targets:
                if transfer.kind is not TransferKind.CALL or transfer.targets != (address,):
                    return None
                found.add(function.blocks[transfer.block].last)
    return frozenset(found)
