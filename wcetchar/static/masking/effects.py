"""What single instructions do to what is known of masks: which registers they set, to what; which
words they store; what they compare.

Addresses and constants come from the value analysis of the function that an instruction is in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from wcetchar.model.access import EventKind
from wcetchar.model.bits import NOTHING, WORD, Bits, calculated
from wcetchar.model.instruction import (
    Calculation,
    Flow,
    Instruction,
    InstructionTable,
    MaskRegister,
)
from wcetchar.model.term import (
    Comparison,
    Constant,
    Operation,
    Operator,
    Relation,
    Term,
)
from wcetchar.static.masking.held import Place
from wcetchar.static.values.analysis import Values
from wcetchar.static.values.interval import signed_of

_BOUNDED = 1 << 24
"""An address among so many bytes is taken to be one of something in particular."""
_CALCULATIONS = {
    Operator.ADD: Calculation.ADD,
    Operator.AND: Calculation.AND,
    Operator.OR: Calculation.OR,
    Operator.SHIFT_LEFT: Calculation.SHIFT_LEFT,
}


@dataclass(frozen=True, slots=True)
class Loaded:
    """A word of memory: a stack slot, ``("s", bytes from sp at entry)``, or ``("m", address)``."""

    place: Place


@dataclass(frozen=True, slots=True)
class Store:
    """``size`` bytes at ``place``; ``None``: it is not known where. ``register``: whose value it
    is, where that is a whole word. ``among``: first address that it may go to, and how many bytes
    from there on, where it is one of these; ``None``: nothing is known. ``on_stack``: they are
    bytes from the stack pointer at the function's entry."""

    place: Place | None
    size: int
    register: int | None = None
    among: tuple[int, int] | None = None
    on_stack: bool = False


Source = Term | Loaded | MaskRegister


@dataclass(frozen=True, slots=True)
class Effect:
    """``sets``: registers and what they get; ``forgets``: the others that it writes."""

    sets: tuple[tuple[int, Source], ...]
    forgets: tuple[int, ...]
    stores: tuple[Store, ...]


class Effects:
    """Of the instructions of a program, each in its function."""

    def __init__(self, table: InstructionTable, values: Mapping[int, Values]) -> None:
        self._table, self._values = table, values
        self._known: dict[tuple[int, int], Effect] = {}
        self._constants: dict[tuple[int, int, int], Bits] = {}
        self._escaped: dict[tuple[int, int], bool] = {}

    def of(self, function: int, index: int) -> Effect:
        """Of an instruction that is executed."""
        key = function, index
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._effect(
                function, self._table.instructions[index], index
            )
        return known

    def constant(self, function: int, index: int, register: int) -> Bits:
        """What a register holds before an instruction, where the value analysis has one number."""
        if register == self._table.registers.zero:
            return Bits(0)
        key = function, index, register
        known = self._constants.get(key)
        if known is None:
            values = self._values.get(function)
            found = None if values is None else values.value_before(index, register)
            single = found is not None and found.interval.single and not found.stack
            known = Bits(found.interval.start) if found is not None and single else NOTHING
            self._constants[key] = known
        return known

    def resumes(self, function: int, index: int) -> bool:
        """A supervisor call behind which the thread goes on with the registers that it had."""
        values = self._values.get(function)
        summary = None if values is None else values.calls.get(index)
        everything = (1 << len(self._table.registers.names)) - 1
        return summary is not None and summary.kept == everything

    def escaped(self, function: int, index: int) -> bool:
        """Before an instruction, the address of the function's frame may be known elsewhere; or it
        is handed to what the instruction calls."""
        key = function, index
        if key not in self._escaped:
            values = self._values.get(function)
            self._escaped[key] = (
                values is None
                or values.has_escaped(index)
                or any(
                    (held := values.value_before(index, register)) is not None and held.stack
                    for register in self._table.registers.handed_over
                )
                or self._hands_over_a_slot(values, index)
            )
        return self._escaped[key]

    def _hands_over_a_slot(self, values: Values, index: int) -> bool:
        """What an instruction calls may find the address of the frame on the stack."""
        if self._table.instructions[index].flow not in (Flow.CALL, Flow.CALL_INDIRECT):
            return False
        summary = values.calls.get(index)
        reads = summary is None or summary.reads_stack
        return reads and values.keeps_frame_address(index)

    def _effect(self, function: int, row: Instruction, index: int) -> Effect:
        sets: dict[int, Source] = {one.register: one.value for one in row.assignments}
        if row.copy is not None and row.copy.mask_register is not None:
            sets[row.copy.destination] = row.copy.mask_register
        stores: list[Store] = []
        memory = row.memory
        if memory is not None:
            first, among, on_stack = self._place(function, index)
            size = memory.width // 8
            weak = row.issue is EventKind.STORE_EXCLUSIVE
            for number, transfer in enumerate(memory.transfers):
                is_read = number < memory.reads
                before = 0 if is_read or not memory.reads else memory.reads
                away = size * (number - before)
                place = None if first is None else (first[0], first[1] + away)
                register = transfer.register
                if not is_read:
                    stores.append(Store(place, size, None if weak else register, among, on_stack))
                elif register is not None:
                    sets.pop(register, None)
                    if place is not None and size == 4:
                        sets[register] = Loaded(place)
            if memory.writes and not memory.transfers:
                stores.append(Store(None, size, None, among, on_stack))
        forgets = tuple(
            n for n in range(row.defs.bit_length()) if row.defs >> n & 1 and n not in sets
        )
        return Effect(tuple(sets.items()), forgets, tuple(stores))

    def _place(
        self, function: int, index: int
    ) -> tuple[Place | None, tuple[int, int] | None, bool]:
        """Of the first element; among which addresses all of them are; whether on the stack."""
        values = self._values.get(function)
        where = None if values is None else values.address_of(index)
        if where is None:
            return None, None, False
        start, length = where.interval.start, where.interval.length
        among = (start, length + where.size) if length < _BOUNDED else None
        if where.stack:
            return ("s", signed_of(start)) if where.interval.single else None, among, True
        if where.interval.single:
            return ("m", start), (start, where.size), False
        return None, among, False


def outcome(left: int, right: int, difference: bool, condition: str) -> bool | None:
    """Whether an Arm condition holds where these two were compared; ``None``: not known."""
    compared = Comparison(Constant(left), Constant(right), difference=difference)
    found = compared.holds(condition)
    if found is None:
        return None
    one, relation, other = found
    a, b = number_of(one), number_of(other)
    return None if a is None or b is None else holds(a, relation, b)


def number_of(term: Term) -> int | None:
    match term:
        case Constant(value):
            return value
        case Operation(Operator.SUBTRACT, left, right):
            one, two = number_of(left), number_of(right)
            return None if one is None or two is None else one - two & WORD
    return None


def holds(a: int, relation: Relation, b: int) -> bool:
    """Between two numbers of 32 bits."""
    if relation.value.endswith("s"):
        a, b = a ^ 1 << 31, b ^ 1 << 31
    match relation:
        case Relation.EQUAL:
            return a == b
        case Relation.NOT_EQUAL:
            return a != b
        case Relation.LESS | Relation.LESS_SIGNED:
            return a < b
        case Relation.LESS_EQUAL | Relation.LESS_EQUAL_SIGNED:
            return a <= b
        case Relation.GREATER | Relation.GREATER_SIGNED:
            return a > b
    return a >= b


def combined(operator: Operator, one: Bits, two: Bits) -> Bits:
    """What is known of the result of an operation."""
    a, b = one.whole, two.whole
    if operator is Operator.SUBTRACT and b is not None:
        return calculated(Calculation.ADD, one, Bits(-b & WORD))
    calculation = _CALCULATIONS.get(operator)
    if calculation is not None:
        return calculated(calculation, one, two)
    if a is None or b is None:
        return NOTHING
    match operator:
        case Operator.XOR:
            return Bits(a ^ b)
        case Operator.SHIFT_RIGHT:
            return Bits(a >> b if b < 32 else 0)
    return NOTHING


def is_branch(row: Instruction) -> bool:
    return row.flow is Flow.JUMP and row.conditional
