"""What an A32 instruction computes: values, addresses and comparisons, as terms.

Inputs: a row of the table and the fields of one instruction. Source: Arm Architecture Reference
Manual (DDI 0100I), A4.1 and A5. pc reads as the instruction's address + 8 (A2.4.3). What stands in
no case here is not expressed: carries, long products, rotations by a register or through the carry.
"""

from __future__ import annotations

from typing import Final

from wcetchar.isa.arm_effects import SHIFTS, Effect
from wcetchar.isa.thumb_values import PC, Values, compared_sum, of_result
from wcetchar.isa.thumb_values import SHIFTS as OPERATORS
from wcetchar.model.instruction import MemoryEffect
from wcetchar.model.term import (
    WORD,
    Assignment,
    Comparison,
    Constant,
    Operator,
    RegisterValue,
    Term,
    constant,
    minus,
    operation,
    plus,
    rotated,
)

Fields = dict[str, int]

_BINARY: Final = {
    "and": Operator.AND,
    "eor": Operator.XOR,
    "sub": Operator.SUBTRACT,
    "add": Operator.ADD,
    "orr": Operator.OR,
}


def values(
    row: Effect, fields: Fields, constant_operand: int | None, memory: MemoryEffect | None
) -> Values:
    """Of one instruction; ``constant_operand``: the second one of data processing."""
    if row.memory is not None and memory is not None:
        address, written_back = _memory(row, fields, memory)
        return Values(() if written_back is None else (written_back,), None, address)
    name = row.mnemonic
    if name in ("mul", "mla"):
        value = operation(Operator.MULTIPLY, RegisterValue(fields["m"]), RegisterValue(fields["s"]))
        if name == "mla":
            value = plus(value, RegisterValue(fields["n"]))
        return _data(fields, value, None)
    if name in ("mrs", "msr") or not (row.compares or row.writes == "d"):
        return Values()
    second = constant(constant_operand) if constant_operand is not None else _second(fields)
    if second is None:
        return Values()
    first = RegisterValue(fields.get("n", PC))
    match name:
        case "cmp":
            return Values(comparison=Comparison(first, second))
        case "cmn":
            return Values(comparison=compared_sum(first, second))
        case "tst":
            return Values(comparison=of_result(operation(Operator.AND, first, second)))
        case "teq":
            return Values(comparison=of_result(operation(Operator.XOR, first, second)))
        case "mov":
            return _data(fields, second, None)
        case "mvn":
            return _data(fields, _inverted(second), None)
        case "bic":
            return _data(fields, operation(Operator.AND, first, _inverted(second)), None)
        case "rsb":
            return _data(fields, minus(second, first), Comparison(second, first))
    if name not in _BINARY:
        return Values()
    compared = None
    if name == "sub":
        compared = Comparison(first, second)
    elif name == "add":
        compared = compared_sum(first, second)
    return _data(fields, operation(_BINARY[name], first, second), compared)


def _data(fields: Fields, value: Term, compared: Comparison | None) -> Values:
    """``compared``: by the flags, if they are set and are not those of the result."""
    to = fields["d"]
    if to == PC:
        return Values()
    flags = (compared or of_result(value)) if fields.get("S") else None
    return Values((Assignment(to, value),), flags)


def _inverted(term: Term) -> Term:
    if isinstance(term, Constant):
        return constant(~term.value)
    return operation(Operator.XOR, term, WORD)


def _second(fields: Fields) -> Term | None:
    """A register, perhaps shifted (A5.1.4 to A5.1.13)."""
    if "m" not in fields:
        return None
    register = RegisterValue(fields["m"])
    kind = SHIFTS[fields["y"]]
    if "x" not in fields:
        if kind == "ror":
            return None
        amount = operation(Operator.AND, RegisterValue(fields["s"]), 0xFF)
        return operation(OPERATORS[kind], register, amount)
    amount_of = fields["x"]
    if kind == "ror":
        return rotated(register, amount_of) if amount_of else None  # by 0 it is rrx
    if not amount_of:
        if kind == "lsl":
            return register
        amount_of = 32
    return operation(OPERATORS[kind], register, amount_of)


def _memory(
    row: Effect, fields: Fields, memory: MemoryEffect
) -> tuple[Term | None, Assignment | None]:
    """Address of the first element, and what the base gets where it is written back (A5.2 to
    A5.4)."""
    number = fields["n"]
    base = RegisterValue(number)
    if not row.indexed:
        return base, None
    if row.memory is not None and row.memory.count == 0:
        size = 4 * (memory.reads + memory.writes)
        up, before = fields["U"], fields["P"]
        start = plus(base, 4 * before) if up else plus(base, 4 - size - 4 * before)
        if not fields["W"]:
            return start, None
        return start, Assignment(number, plus(base, size if up else -size))
    moved = _moved(base, fields)
    post = not fields["P"]
    written_back = None
    if (post or fields["W"]) and moved is not None:
        written_back = Assignment(number, moved)
    return base if post else moved, written_back


def _moved(base: Term, fields: Fields) -> Term | None:
    if "m" not in fields:
        return plus(base, fields["i"] if fields["U"] else -fields["i"])
    offset = _second(fields) if "y" in fields else RegisterValue(fields["m"])
    if offset is None:
        return None
    return plus(base, offset) if fields["U"] else minus(base, offset)
