"""What a Thumb instruction computes: values, addresses and comparisons, as terms.

Inputs: a row of the effect table and the operands of one instruction. Source: Armv7-M Architecture
Reference Manual (DDI 0403E), A7.7, the pseudocode of each instruction. What stands in no case here
is not expressed: saturation, reversal, carries, halves of products, shifts by a register that
rotate, the DSP and floating-point extensions.

pc reads as the instruction's address + 4, and as that rounded down to a multiple of 4 where it is
a base (A5.1.3). Both stand in terms as registers of their own until the address is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wcetchar.isa.thumb_effects import SP, Effect
from wcetchar.isa.thumb_operands import Address, Immediate, Operand, Register, RegisterList
from wcetchar.model.instruction import Flow, MemoryEffect
from wcetchar.model.term import (
    WORD,
    ZERO,
    Assignment,
    Comparison,
    Constant,
    Operation,
    Operator,
    RegisterValue,
    Relation,
    Term,
    constant,
    minus,
    operation,
    plus,
    registers_of,
    replaced,
    rotated,
    sign_extended,
)

PC: Final = 15
BASE_PC: Final = 16
"""Stands for pc, rounded down to a multiple of 4."""

SHIFTS: Final = {
    "lsl": Operator.SHIFT_LEFT,
    "lsr": Operator.SHIFT_RIGHT,
    "asr": Operator.SHIFT_RIGHT_SIGNED,
}
_BINARY: Final = {
    "add": Operator.ADD,
    "addw": Operator.ADD,
    "sub": Operator.SUBTRACT,
    "subw": Operator.SUBTRACT,
    "and": Operator.AND,
    "orr": Operator.OR,
    "eor": Operator.XOR,
    "mul": Operator.MULTIPLY,
    "udiv": Operator.DIVIDE,
    "sdiv": Operator.DIVIDE_SIGNED,
}


@dataclass(frozen=True, slots=True)
class Values:
    """``address``: of the first element that is accessed."""

    assignments: tuple[Assignment, ...] = ()
    comparison: Comparison | None = None
    address: Term | None = None

    @property
    def relative(self) -> bool:
        """pc stands in it."""
        return any(number >= PC for term in self._terms() for number in registers_of(term))

    def _terms(self) -> list[Term]:
        found = [assignment.value for assignment in self.assignments]
        if self.comparison is not None:
            found += [self.comparison.left, self.comparison.right]
        return found if self.address is None else [*found, self.address]

    def at(self, pc: int) -> Values:
        """With the value of pc in its place."""
        if not self.relative:
            return self
        known: dict[int, Term] = {PC: constant(pc), BASE_PC: constant(pc & ~3)}
        compared = self.comparison
        if compared is not None:
            compared = Comparison(
                replaced(compared.left, known),
                replaced(compared.right, known),
                compared.taken,
                compared.difference,
            )
        return Values(
            tuple(Assignment(a.register, replaced(a.value, known)) for a in self.assignments),
            compared,
            None if self.address is None else replaced(self.address, known),
        )


NOTHING: Final = Values()


def values(
    row: Effect,
    name: str,
    operands: tuple[Operand, ...],
    memory: MemoryEffect | None,
    *,
    aligns_stack: bool,
) -> Values:
    """Of one instruction.

    Args:
        name: its mnemonic, of a branch with the condition.
        aligns_stack: the low two bits of sp are always zero (M-profile, B1.4.1).
    """
    assignments: list[Assignment] = []
    address = None
    if memory is not None:
        address, written_back = _memory(row, operands, memory)
        if written_back is not None:
            assignments.append(written_back)
    value = None
    first = operands[0] if operands else None
    if isinstance(first, Register) and memory is None:
        value = _value(row, operands)
        if value is not None and first.number < PC:
            kept = value
            if first.number == SP and aligns_stack and not _keeps_alignment(value):
                kept = operation(Operator.AND, value, ~3)
            assignments.append(Assignment(first.number, kept))
    return Values(tuple(assignments), _comparison(row, name, operands, value), address)


def _keeps_alignment(value: Term) -> bool:
    """sp plus or minus a multiple of 4."""
    match value:
        case RegisterValue(number):
            return number == SP
        case Operation(Operator.ADD | Operator.SUBTRACT, RegisterValue(number), Constant(amount)):
            return number == SP and amount % 4 == 0
    return False


def _operand(operand: Operand) -> Term | None:
    """A register, perhaps shifted, or a constant."""
    match operand:
        case Immediate(value):
            return constant(value)
        case Register(number, "", _):
            return RegisterValue(number)
        case Register(number, "ror", amount) if 0 < amount < 32:
            return rotated(RegisterValue(number), amount)
        case Register(number, shift, amount) if shift in SHIFTS:
            return operation(SHIFTS[shift], RegisterValue(number), amount)
    return None


def _value(row: Effect, operands: tuple[Operand, ...]) -> Term | None:
    """What the first operand gets, or would get of a comparison."""
    name = row.mnemonic
    if name not in ("addw", "subw") and row.sets_flags:
        name = name[:-1]
    terms = [_operand(operand) for operand in operands]
    if any(term is None for term in terms):
        return None
    found = [term for term in terms if term is not None]
    if (
        name in ("addw", "subw", "add", "sub")
        and len(found) == 3
        and found[1:2] == [RegisterValue(PC)]
    ):
        found[1] = RegisterValue(BASE_PC)
    return _of(name, found)


def _of(name: str, terms: list[Term]) -> Term | None:
    last = terms[-1]
    before = terms[-2] if len(terms) > 1 else last
    if name in _BINARY:
        return operation(_BINARY[name], before, last)
    match name, terms:
        case ("rsb", _):
            return minus(last, before)
        case ("bic", _):
            return operation(Operator.AND, before, _inverted(last))
        case ("orn", _):
            return operation(Operator.OR, before, _inverted(last))
        case ("adr", _):
            return plus(RegisterValue(BASE_PC), last)
        case (("mov" | "movw"), (_, value)):
            return value
        case ("mvn", (_, value)):
            return _inverted(value)
        case ("movt", (old, value)):
            high = constant(getattr(value, "value", 0) << 16)
            return operation(Operator.OR, operation(Operator.AND, old, 0xFFFF), high)
        case (("lsl" | "lsr" | "asr"), _):
            if isinstance(last, RegisterValue):
                last = operation(Operator.AND, last, 0xFF)
            return operation(SHIFTS[name], before, last)
        case ("uxtb", (_, value)):
            return operation(Operator.AND, value, 0xFF)
        case ("uxth", (_, value)):
            return operation(Operator.AND, value, 0xFFFF)
        case ("sxtb", (_, value)):
            return sign_extended(value, 8)
        case ("sxth", (_, value)):
            return sign_extended(value, 16)
        case ("mla", (_, one, two, summand)):
            return plus(operation(Operator.MULTIPLY, one, two), summand)
        case ("mls", (_, one, two, minuend)):
            return minus(minuend, operation(Operator.MULTIPLY, one, two))
    return _field(name, terms)


def _field(name: str, terms: list[Term]) -> Term | None:
    """Bit fields: the constants are the lowest bit and the width."""
    numbers = [getattr(term, "value", 0) for term in terms[-2:]]
    low, width = numbers if len(numbers) == 2 else (0, 0)
    ones = (1 << width) - 1
    match name, terms:
        case ("ubfx", (_, value, _, _)):
            moved = operation(Operator.SHIFT_RIGHT, value, low) if low else value
            return operation(Operator.AND, moved, ones)
        case ("sbfx", (_, value, _, _)):
            moved = operation(Operator.SHIFT_LEFT, value, 32 - low - width)
            return operation(Operator.SHIFT_RIGHT_SIGNED, moved, 32 - width)
        case ("bfc", (old, _, _)):
            return operation(Operator.AND, old, ~(ones << low))
        case ("bfi", (old, value, _, _)):
            part = operation(Operator.AND, value, ones)
            moved = operation(Operator.SHIFT_LEFT, part, low) if low else part
            return operation(Operator.OR, operation(Operator.AND, old, ~(ones << low)), moved)
    return None


def _inverted(term: Term) -> Term:
    if isinstance(term, Constant):
        return constant(~term.value)
    return operation(Operator.XOR, term, WORD)


def _comparison(
    row: Effect, name: str, operands: tuple[Operand, ...], value: Term | None
) -> Comparison | None:
    if name in ("cbz", "cbnz"):
        register = _operand(operands[0])
        assert register is not None
        relation = Relation.EQUAL if name == "cbz" else Relation.NOT_EQUAL
        return Comparison(register, ZERO, relation)
    if name in ("cmp", "cmn", "tst", "teq"):
        left, right = (_operand(operand) for operand in operands)
        if left is None or right is None:
            return None
        match name:
            case "cmp":
                return Comparison(left, right)
            case "cmn":
                return compared_sum(left, right)
            case "tst":
                return of_result(operation(Operator.AND, left, right))
        return of_result(operation(Operator.XOR, left, right))
    if not row.sets_flags or value is None:
        return None
    terms = [_operand(operand) for operand in operands[-2:]]
    if len(terms) == 2 and terms[0] is not None and terms[1] is not None:
        if row.mnemonic == "subs":
            return Comparison(terms[0], terms[1])
        if row.mnemonic == "rsbs":
            return Comparison(terms[1], terms[0])
        if row.mnemonic == "adds":
            return compared_sum(terms[0], terms[1])
    return of_result(value)


def of_result(value: Term) -> Comparison:
    """Flags N and Z of a result."""
    return Comparison(value, ZERO, difference=False)


def compared_sum(left: Term, right: Term) -> Comparison:
    """Flags of an addition. Those of adding a constant are those of subtracting its opposite,
    unless it is 0 or -2^31, which have none (A2.2.1, AddWithCarry)."""
    number = getattr(right, "value", 0)
    if number in (0, 1 << 31):
        return of_result(operation(Operator.ADD, left, right))
    return Comparison(left, constant(-number))


# --- memory ---------------------------------------------------------------------------------------


def _memory(
    row: Effect, operands: tuple[Operand, ...], memory: MemoryEffect
) -> tuple[Term | None, Assignment | None]:
    """Address of the first element, and what the base gets where it is written back."""
    given = next((operand for operand in operands if isinstance(operand, Address)), None)
    if given is not None:
        return _address(row, given)
    size = memory.width // 8 * (memory.reads + memory.writes)
    base = next((operand for operand in operands if isinstance(operand, Register)), None)
    number = SP if row.implied is not None or base is None else base.number
    start: Term = RegisterValue(number)
    down = row.mnemonic in ("push", "vpush") or row.mnemonic.endswith("db")
    if down:
        start = minus(start, size)
    if row.implied is None and (base is None or not base.writeback):
        return start, None
    if number in _listed(operands) and memory.reads:
        return start, None
    return start, Assignment(number, start if down else plus(start, size))


def _listed(operands: tuple[Operand, ...]) -> tuple[int, ...]:
    return next((o.numbers for o in operands if isinstance(o, RegisterList)), ())


def _address(row: Effect, given: Address) -> tuple[Term | None, Assignment | None]:
    number = given.base
    if number == PC and row.flow is not Flow.JUMP_TABLE:
        number = BASE_PC
    base = RegisterValue(number)
    if given.index is not None:
        index: Term = RegisterValue(given.index)
        if given.shift:
            index = operation(Operator.SHIFT_LEFT, index, given.shift)
        return plus(base, index), None
    moved = plus(base, given.offset)
    written_back = Assignment(number, moved) if given.writeback else None
    return base if given.post else moved, written_back
