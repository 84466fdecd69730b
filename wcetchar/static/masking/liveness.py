"""Registers whose value may still be read: what is known of others need not tell paths apart.

Backwards over a function's graph until nothing changes (A. V. Aho and others, Compilers, 2nd
edition, 9.2.5). A call may read every argument, and a return what the caller keeps.
"""

from __future__ import annotations

from wcetchar.model.flow import FunctionGraph, TransferKind
from wcetchar.model.instruction import InstructionTable


def live_registers(function: FunctionGraph, table: InstructionTable) -> tuple[frozenset[int], ...]:
    """Of each block, the registers that are live behind it; the flags count as one more, with the
    number behind the last."""
    rows, roles = table.instructions, table.registers
    arguments = sum(1 << n for n in roles.arguments)
    results = sum(1 << n for n in roles.arguments[:2])
    flags = 1 << len(roles.names)
    count = len(function.blocks)
    written, read = [0] * count, [0] * count
    for number, block in enumerate(function.blocks):
        for index in range(block.first, block.last + 1):
            if index in block.skipped:
                continue
            row = rows[index]
            uses = row.uses | (flags if row.condition else 0)
            read[number] |= uses & ~written[number]
            if not row.conditional:
                written[number] |= row.defs | (flags if row.sets_flags else 0)
    out = [0] * count
    for transfer in function.transfers:
        out[transfer.block] |= arguments
        if transfer.kind is TransferKind.TAIL_CALL:
            out[transfer.block] |= roles.saved_by_callee
    for number in function.returns:
        out[number] |= results | roles.saved_by_callee
    for end in function.open:
        for number, block in enumerate(function.blocks):
            if any(rows[i].address == end.address for i in range(block.first, block.last + 1)):
                out[number] = -1
    live = list(out)
    changed = True
    while changed:
        changed = False
        for number in reversed(range(count)):
            behind = live[number]
            for edge in function.successors[number]:
                target = edge.target
                behind |= read[target] | live[target] & ~written[target]
            if behind != live[number]:
                live[number], changed = behind, True
    everything = range(len(roles.names) + 1)
    return tuple(frozenset(n for n in everything if one >> n & 1) for one in live)
