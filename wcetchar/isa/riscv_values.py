"""What a RISC-V instruction computes: values, addresses and comparisons, as terms.

Inputs: a row of the effect table and the operands of one instruction. Source: Unprivileged
Architecture (20191213), 2.4 to 2.6 and chapter 7. What stands in no case here is not expressed:
high halves of products, atomic operations, return addresses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wcetchar.isa.riscv_effects import Effect
from wcetchar.isa.riscv_encoding import Operands
from wcetchar.model.term import (
    ZERO,
    Assignment,
    Comparison,
    Operator,
    RegisterValue,
    Relation,
    Term,
    constant,
    operation,
    plus,
)

_BINARY: Final = {
    "add": Operator.ADD,
    "sub": Operator.SUBTRACT,
    "and": Operator.AND,
    "or": Operator.OR,
    "xor": Operator.XOR,
    "slt": Operator.LESS_SIGNED,
    "sltu": Operator.LESS,
    "mul": Operator.MULTIPLY,
    "div": Operator.DIVIDE_SIGNED,
    "divu": Operator.DIVIDE,
    "rem": Operator.REMAINDER_SIGNED,
    "remu": Operator.REMAINDER,
}
_SHIFTS: Final = {
    "sll": Operator.SHIFT_LEFT,
    "srl": Operator.SHIFT_RIGHT,
    "sra": Operator.SHIFT_RIGHT_SIGNED,
}
_BRANCHES: Final = {
    "beq": Relation.EQUAL,
    "bne": Relation.NOT_EQUAL,
    "blt": Relation.LESS_SIGNED,
    "bge": Relation.GREATER_EQUAL_SIGNED,
    "bltu": Relation.LESS,
    "bgeu": Relation.GREATER_EQUAL,
}


@dataclass(frozen=True, slots=True)
class Values:
    """``value`` of rd; ``relative``: the instruction's address is to be added to it."""

    value: Term | None = None
    relative: bool = False
    comparison: Comparison | None = None
    address: Term | None = None

    def assignments(self, register: int | None, address: int) -> tuple[Assignment, ...]:
        if self.value is None or not register:
            return ()
        return (Assignment(register, plus(self.value, address) if self.relative else self.value),)


def values(row: Effect, operands: Operands) -> Values:
    name = row.mnemonic
    if row.memory is not None:
        return Values(address=plus(_register(operands, "rs1"), operands.get("imm", 0)))
    if name in _BRANCHES:
        left, right = _register(operands, "rs1"), _register(operands, "rs2")
        return Values(comparison=Comparison(left, right, _BRANCHES[name]))
    if name in ("lui", "auipc"):
        return Values(constant(operands["imm"]), relative=name == "auipc")
    if "rs1" not in operands or "csr" in operands:
        return Values()
    first = _register(operands, "rs1")
    second = _register(operands, "rs2") if "rs2" in operands else constant(operands.get("imm", 0))
    if name == "sltiu":
        return Values(operation(Operator.LESS, first, second))
    name = name if "rs2" in operands else name.removesuffix("i")
    if name in _SHIFTS:
        amount = operation(Operator.AND, second, 31) if "rs2" in operands else second
        return Values(operation(_SHIFTS[name], first, amount))
    if name == "add":
        if first == ZERO:
            return Values(second)
        return Values(plus(first, second))
    if name in _BINARY:
        return Values(operation(_BINARY[name], first, second))
    return Values()


def _register(operands: Operands, name: str) -> Term:
    """x0 is the constant zero."""
    return RegisterValue(operands[name]) if operands[name] else ZERO
