"""Instructions of wcetchar's tables as those of ``stall_count``."""

from __future__ import annotations

from stall_count import One

from wcetchar.model.instruction import Flow, Instruction, InstructionTable

LEADS = {
    Flow.JUMP_INDIRECT: "jump",
    Flow.JUMP_TABLE: "jump",
    Flow.CALL_INDIRECT: "call",
    Flow.RETURN: "return",
}


def as_one(instruction: Instruction, table: InstructionTable) -> One:
    unit, memory, uses = instruction.fetch, instruction.memory, instruction.uses
    return One(
        address=instruction.address,
        length=instruction.length,
        event=instruction.issue.value,
        defs=frozenset(n for n in range(32) if instruction.defs >> n & 1),
        uses=frozenset(n for n in range(32) if instruction.uses >> n & 1),
        loaded=frozenset(
            t.register for t in memory.transfers[: memory.reads] if t.register is not None
        )
        if memory
        else frozenset(),
        place=frozenset(n for n in (memory.base, memory.index) if n is not None and uses >> n & 1)
        if memory
        else frozenset(),
        access=memory is not None,
        shift=instruction.shift,
        jumps=instruction.flow in (Flow.JUMP, Flow.CALL, *LEADS),
        target=instruction.target,
        leads=LEADS.get(instruction.flow, ""),
        conditional=instruction.conditional,
        unit=unit.bytes if unit else table.fetch_bytes,
        granule=unit.granule if unit else table.granule,
    )
