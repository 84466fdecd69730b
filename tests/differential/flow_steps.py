"""Which steps from instruction to instruction a graph allows, and which a trace shows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from wcetchar.model.flow import EdgeKind, ProgramGraph, TransferKind
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.trace import Event, EventBatch

Step = tuple[int, int]


def shown(batches: Iterable[EventBatch]) -> set[Step]:
    """Addresses of instructions that follow one another, no exception in between."""
    found: set[Step] = set()
    last = -1
    for batch in batches:
        flow = np.isin(
            batch.kind,
            [Event.INSTRUCTION, Event.EXCEPTION, Event.EXCEPTION_EXIT, Event.GAP, Event.UNDECODED],
        )
        kind, address = batch.kind[flow], batch.address[flow].astype(np.int64)
        address = np.where(kind == Event.INSTRUCTION, address, -1)
        if last >= 0:
            address = np.concatenate([[last], address])
        if not len(address):
            continue
        last = int(address[-1])
        both = (address[:-1] >= 0) & (address[1:] >= 0)
        pairs = np.unique(np.stack([address[:-1][both], address[1:][both]]), axis=1)
        found.update(zip(pairs[0].tolist(), pairs[1].tolist(), strict=True))
    return found


def allowed(graph: ProgramGraph, table: InstructionTable) -> tuple[set[Step], set[int]]:
    """Steps of all functions, and instructions behind which the graph is open."""
    rows = table.instructions
    steps: set[Step] = set()
    tails: dict[int, set[int]] = defaultdict(set)
    returns: dict[int, set[int]] = {}
    entries = {
        address: {rows[f.blocks[entry].first].address for entry in f.entries}
        for address, f in graph.functions.items()
    }
    for address, function in graph.functions.items():
        returns[address] = {rows[function.blocks[n].last].address for n in function.returns}
        for block in function.blocks:
            for number in range(block.first, block.last):
                steps.add((rows[number].address, rows[number + 1].address))
        for edge in function.edges:
            if edge.kind is not EdgeKind.RETURNED:
                source, target = function.blocks[edge.source], function.blocks[edge.target]
                steps.add((rows[source.last].address, rows[target.first].address))
        for transfer in function.transfers:
            last = rows[function.blocks[transfer.block].last].address
            for goal in transfer.targets:
                steps.update((last, entry) for entry in entries[goal])
                if transfer.kind is TransferKind.TAIL_CALL:
                    tails[address].add(goal)
    changed = True
    while changed:
        changed = False
        for address, goals in tails.items():
            more = set().union(*(returns[goal] for goal in goals)) - returns[address]
            if more:
                returns[address] |= more
                changed = True
    for function in graph.functions.values():
        for transfer in function.transfers:
            behind = {
                rows[function.blocks[edge.target].first].address
                for edge in function.successors[transfer.block]
                if edge.kind is EdgeKind.RETURNED
            }
            for goal in transfer.targets:
                steps.update((last, first) for last in returns[goal] for first in behind)
    unknown = {end.address for f in graph.functions.values() for end in f.open}
    return steps, unknown
