"""A row of the effect table applied to operands: what one instruction does, wherever it stands.

Inputs: an :class:`~wcetchar.isa.riscv_effects.Effect` and the operands of one instruction.
Output: a :class:`Facts`, which holds for every address; ``riscv`` adds the address.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wcetchar.isa.riscv_csr import CSRS, MASKS, read_only, refusal
from wcetchar.isa.riscv_effects import Effect, Moves
from wcetchar.isa.riscv_encoding import Operands
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import (
    RISCV_REGISTERS,
    Arithmetic,
    Calculation,
    Copy,
    Flow,
    MaskOperation,
    MaskRegister,
    MaskWrite,
    MemoryEffect,
    Test,
    Transfer,
)

LINKS: Final = RISCV_REGISTERS.links
_WORD: Final = 0xFFFFFFFF

_CALCULATIONS: Final[dict[Moves | None, Calculation]] = {
    Moves.ADD: Calculation.ADD,
    Moves.AND: Calculation.AND,
    Moves.OR: Calculation.OR,
    Moves.SHIFT_LEFT: Calculation.SHIFT_LEFT,
}
_OPERATIONS: Final = {
    "csrrw": MaskOperation.WRITE,
    "csrrs": MaskOperation.SET,
    "csrrc": MaskOperation.CLEAR,
}


class Unexplained(Exception):
    """No row of the table explains an instruction; the text says why."""


@dataclass(slots=True)
class Facts:
    """What an instruction does apart from where it stands.

    ``target`` and the constant of ``pc_relative`` (register, constant) are relative to its address.
    """

    issue: EventKind
    flow: Flow
    conditional: bool = False
    target: int | None = None
    memory: MemoryEffect | None = None
    masks: tuple[MaskWrite, ...] = ()
    copy: Copy | None = None
    pc_relative: tuple[int, int] | None = None
    arithmetic: Arithmetic | None = None
    test: Test | None = None
    defs: int = 0
    uses: int = 0


def apply(row: Effect, operands: Operands) -> Facts:
    """Facts of one instruction.

    Raises:
        Unexplained: it accesses a control and status register that is not known, or writes one
            that is read-only.
    """
    facts = Facts(row.issue, row.flow, row.conditional)
    if operands.get("rd"):
        facts.defs = 1 << operands["rd"]
    for name in ("rs1", "rs2"):
        if operands.get(name):
            facts.uses |= 1 << operands[name]
    if row.memory is not None:
        facts.memory = _memory(row, operands)
    if row.flow is Flow.JUMP:
        facts.target = operands["imm"]
    if row.flow in (Flow.JUMP, Flow.JUMP_INDIRECT) and not row.conditional:
        _link(operands, facts)
    if row.conditional:
        facts.test = _test(row, operands)
    if row.moves is Moves.CSR:
        _csr(row, operands, facts)
    elif row.moves is not None and operands["rd"]:
        _move(row, operands, facts)
    if row.mnemonic == "mret":
        # Privileged architecture, 3.1.6.1: MIE is set to MPIE, and MPIE to 1.
        mie, mpie = MaskRegister.MSTATUS_MIE, MaskRegister.MSTATUS_MPIE
        facts.masks = (MaskWrite(mie, mask_register=mpie), MaskWrite(mpie, constant=mpie.bits))
    return facts


def _memory(row: Effect, operands: Operands) -> MemoryEffect:
    spec = row.memory
    assert spec is not None
    transfers = []
    if spec.reads:
        transfers.append(Transfer(operands["rd"] or None))
    if spec.writes:
        computed = spec.reads and row.mnemonic != "amoswap.w"
        transfers.append(Transfer(None if computed else operands["rs2"]))
    return MemoryEffect(
        width=spec.width,
        reads=int(spec.reads),
        writes=int(spec.writes),
        transfers=tuple(transfers),
        base=operands["rs1"],
    )


def _link(operands: Operands, facts: Facts) -> None:
    """Calls and returns by the link registers, as return-address stacks predict them (unprivileged
    architecture, 2.5, table 2.1).

    ``jalr`` that links to one of them and jumps through the other is a return and a call at once
    (of a coroutine); it counts as the call.
    """
    if operands["rd"] in LINKS:
        direct = facts.flow is Flow.JUMP
        facts.flow = Flow.CALL if direct else Flow.CALL_INDIRECT
        facts.issue = EventKind.CALL if direct else EventKind.CALL_INDIRECT
    elif operands.get("rs1") in LINKS:
        facts.flow, facts.issue = Flow.RETURN, EventKind.RETURN


def _test(row: Effect, operands: Operands) -> Test | None:
    first, second = operands["rs1"], operands["rs2"]
    if row.mnemonic not in ("beq", "bne") or (first == 0) == (second == 0):
        return None
    return Test(first or second, 0, equal_when_taken=row.mnemonic == "beq")


def _move(row: Effect, operands: Operands, facts: Facts) -> None:
    """What the destination gets. Additions, ``or`` and ``xor`` leave one operand as it is where the
    other is zero: x0, or an immediate of 0."""
    to, value = operands["rd"], operands.get("imm", 0)
    registers = [operands[name] for name in ("rs1", "rs2") if operands.get(name)]
    two = "rs2" in operands
    match row.moves:
        case Moves.UPPER:
            facts.copy = Copy(to, constant=value & _WORD)
        case Moves.UPPER_PC:
            facts.pc_relative = (to, value)
        case Moves.SHIFT_LEFT if not operands["rs1"]:
            facts.copy = Copy(to, constant=0)
        case Moves.SHIFT_LEFT if two and not operands["rs2"]:
            facts.copy = Copy(to, source=operands["rs1"])
        case Moves.AND if len(registers) <= two:
            facts.copy = Copy(to, constant=0)
        case Moves.ADD | Moves.OR | Moves.XOR if not registers:
            facts.copy = Copy(to, constant=value & _WORD)
        case Moves.ADD | Moves.OR | Moves.XOR if len(registers) == 1 and not value:
            facts.copy = Copy(to, source=registers[0])
        case moves if moves in _CALCULATIONS:
            constant, other = (None, registers[1]) if two else (value & _WORD, None)
            facts.arithmetic = Arithmetic(to, _CALCULATIONS[moves], registers[0], constant, other)


def _csr(row: Effect, operands: Operands, facts: Facts) -> None:
    """Zicsr, table 9.1: csrrs and csrrc write unless their source is x0 or the constant 0."""
    number = operands["csr"]
    reason = refusal(number)
    if reason is not None:
        raise Unexplained(reason)
    operation = _OPERATIONS[row.mnemonic.removesuffix("i")]
    constant = operands.get("imm")
    source = operands.get("rs1")
    if constant is None and source == 0:
        constant, source = 0, None
    writes = operation is MaskOperation.WRITE or constant != 0
    if writes and read_only(number):
        raise Unexplained(f"{row.mnemonic!r} writes {CSRS[number]}, which is read-only")
    masks = MASKS.get(number, ())
    facts.masks = tuple(
        MaskWrite(register, constant, source, operation)
        for register in masks
        if constant is None or operation is MaskOperation.WRITE or constant & register.bits
    )
    if masks and operands["rd"]:
        facts.copy = Copy(operands["rd"], mask_register=masks[0])
