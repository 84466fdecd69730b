"""What instructions and calls move where, and what follows of registers and slots of the own frame:
from which registers at the entry they are calculated, and which of them hold what one held there.

Both are found by the iteration of :mod:`~wcetchar.static.values.summary`. Where ways come together,
the first is what holds on one of them, the second what holds on all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Instruction
from wcetchar.model.term import Constant, Operation, Operator, RegisterValue, Term
from wcetchar.static.values import interval as sets
from wcetchar.static.values.effects import Summary
from wcetchar.static.values.form import Place, Range

REACH: Final = 1 << 22
"""Bytes beyond an address on the stack that a store through it may go to, where nothing is known of
what is added to it. What is so long in ``Summary.writes`` begins at the stack pointer at the entry
and ends so far behind the highest address of an argument that got to somebody."""
Key = TypeVar("Key")
Own = tuple[int, int]
"""What a register held at the entry, and a constant that is added to it."""


@dataclass
class Fact:
    """Of one instruction: what it moves where.

    Attributes:
        moves: register -> bit mask of registers that its new value is calculated from.
        weak: it may as well not be executed.
        loads: registers, and where they are loaded from; ``None``: not the core's register.
        stores: registers whose value is stored on the own stack, and where.
        address: bit mask of registers that loads' addresses are calculated from.
        leaked: of registers whose value goes elsewhere.
        stored_through: of registers that addresses are calculated from where nothing is known.
        stored_far: the same of addresses on the stack, of which nothing more is known.
        call: what a call does, and the bit mask of registers that hold addresses of the own frame.
        reaches: what is called may write to what lies above the own frame.
        at_end: the function ends with the call.
        instruction: what is executed; ``None``: another function.
        accesses: its data accesses.
        hits: parts of the stack (first byte, size) that it or what is called is known to write to.
        above, inside: bit masks of registers that hold an address on the stack behind it: one that
            may lie above the own frame, or one that does not.
        known: registers whose value behind it is that of one at the entry, and a constant.
    """

    moves: dict[int, int] = field(default_factory=dict)
    weak: bool = False
    loads: list[tuple[int | None, Range, int]] = field(default_factory=list)
    stores: list[tuple[int, Range, int]] = field(default_factory=list)
    address: int = 0
    leaked: int = 0
    stored_through: int = 0
    stored_far: int = 0
    call: tuple[Summary, int] | None = None
    reaches: bool = False
    at_end: bool = False
    instruction: Instruction | None = None
    accesses: list[Access] = field(default_factory=list)
    hits: list[tuple[Range, int]] = field(default_factory=list)
    above: int = 0
    inside: int = 0
    known: dict[int, Own] = field(default_factory=dict)


@dataclass(frozen=True)
class Access:
    """``register``: of the core, which is loaded or stored; ``away``: bytes from the first one."""

    is_read: bool
    register: int | None
    where: Range
    away: int
    size: int


@dataclass
class Masks:
    """What registers and slots (offset, size) are calculated from, where that is anything; ``own``:
    what those hold that hold what a register held at the entry."""

    registers: dict[int, int]
    slots: dict[tuple[int, int], int]
    blurred: int = 0
    """Of values that are anywhere on the own stack."""
    own: dict[Place, Own] = field(default_factory=dict)

    def copy(self) -> Masks:
        return Masks(dict(self.registers), dict(self.slots), self.blurred, dict(self.own))

    def add(self, other: Masks) -> bool:
        """True: something is new."""
        changed = bool(other.blurred & ~self.blurred)
        self.blurred |= other.blurred
        changed |= _add(self.registers, other.registers)
        changed |= _add(self.slots, other.slots)
        differing = [place for place, held in self.own.items() if other.own.get(place) != held]
        for place in differing:
            del self.own[place]
        return changed or bool(differing)

    def of(self, registers: int) -> int:
        found = 0
        for number, mask in self.registers.items():
            if registers >> number & 1:
                found |= mask
        return found

    @property
    def stored(self) -> int:
        found = self.blurred
        for mask in self.slots.values():
            found |= mask
        return found

    def load(self, where: Range, size: int) -> int:
        if not where.stack:
            return 0
        found = self.blurred
        for (offset, width), mask in self.slots.items():
            if overlap(where, size, offset, width):
                found |= mask
        return found

    def store(self, where: Range, size: int, mask: int) -> None:
        if not where.interval.single:
            self.blurred |= mask
            return
        first = sets.signed_of(where.interval.start)
        for offset, width in list(self.slots):
            if first <= offset and offset + width <= first + size:
                del self.slots[offset, width]
        if mask:
            self.slots[first, size] = mask

    # --- what is as it was at the entry ---

    def follow(self, fact: Fact, pointer: int, preserved: int) -> None:
        """``pointer``: the stack pointer; ``preserved``: registers that functions preserve, with
        it."""
        new: dict[int, Own | None] = {}
        if fact.instruction is not None:
            new = self._executed(fact, fact.instruction, pointer)
        elif fact.call is not None:
            summary = fact.call[0]
            changed = ~(summary.kept | preserved)
            new = dict.fromkeys(
                place[1]
                for place in self.own
                if place[0] == "r" and (changed >> place[1] & 1 or place[1] in summary.results)
            )
            for where, size in fact.hits:
                self._hit(where, size)
        new |= fact.known
        if fact.at_end and fact.call is not None:
            # What nothing is said of is loaded from where it was saved: see ``unsaid``.
            left = unsaid(fact.call[0], preserved)
            new |= {n: (n, 0) for n in range(left.bit_length()) if left >> n & 1}
        for number, held in new.items():
            self._put(("r", number), held)
        base = self.own.get(("r", pointer))
        if base is not None and base[0] == pointer:
            # What lies below the stack pointer may be overwritten at any time.
            low = sets.signed_of(base[1])
            for place in [place for place in self.own if place[0] == "s" and place[1] < low]:
                del self.own[place]

    def _executed(
        self, fact: Fact, instruction: Instruction, pointer: int
    ) -> dict[int, Own | None]:
        """What registers hold behind it; ``None``: something else."""
        new: dict[int, Own | None] = {
            one.register: self._calculated(one.value) for one in instruction.assignments
        }
        memory = instruction.memory
        first = None if memory is None or memory.address is None else memory.address
        base = None if first is None else self._calculated(first)
        stored: list[tuple[Range, int, Own | None]] = []
        perhaps = instruction.issue is EventKind.STORE_EXCLUSIVE
        for access in fact.accesses:
            where = access.where
            if base is not None and base[0] == pointer:
                where = Range(sets.number(base[1] + access.away), stack=True)
            slot = where.stack and where.interval.single and access.size == 4
            place = ("s", sets.signed_of(where.interval.start))
            if not access.is_read:
                source = None
                if access.register is not None and slot and not perhaps:
                    source = self.own.get(("r", access.register))
                stored.append((where, access.size, source))
            elif access.register is not None:
                new[access.register] = self.own.get(place) if slot else None
        for where, size, source in stored:
            self._hit(where, size)
            if source is not None:
                self._put(("s", sets.signed_of(where.interval.start)), source)
        # Another mode of the processor has registers of its own: it returns in that of the call.
        banked = bool(instruction.masks) and bool(instruction.defs >> pointer & 1)
        for number in range(instruction.defs.bit_length()):
            if instruction.defs >> number & 1 and number not in new and not banked:
                new[number] = None
        if instruction.conditional and memory is None:
            new = {n: held for n, held in new.items() if held != self.own.get(("r", n))}
            return dict.fromkeys(new)
        return new

    def _calculated(self, term: Term) -> Own | None:
        match term:
            case RegisterValue(number):
                return self.own.get(("r", number))
            case Operation(Operator.ADD | Operator.SUBTRACT as operator, left, Constant(value)):
                found = self._calculated(left)
                if found is not None:
                    away = value if operator is Operator.ADD else -value
                    return found[0], (found[1] + away) % sets.MODULUS
        return None

    def _put(self, place: Place, held: Own | None) -> None:
        if held is None:
            self.own.pop(place, None)
        else:
            self.own[place] = held

    def _hit(self, where: Range, size: int) -> None:
        """A store to where is known; any other is taken to leave alone what was saved."""
        if where.stack and where.interval.length < REACH:
            for place in [place for place in self.own if place[0] == "s"]:
                if overlap(where, size, place[1], 4):
                    del self.own[place]


def _add(masks: dict[Key, int], others: Mapping[Key, int]) -> bool:
    """True: something is new."""
    changed = False
    for key, mask in others.items():
        old = masks.get(key, 0)
        if mask & ~old:
            masks[key] = old | mask
            changed = True
    return changed


def unsaid(summary: Summary, registers: int) -> int:
    """Those of the registers of which a summary says nothing: a routine of the compiler loads them,
    from where another one saved them for the function that goes to it at its end. A call leaves
    them to the calling convention."""
    given = sum(1 << number for number in summary.results)
    return registers & ~(summary.kept | given)


def is_far(where: Range) -> bool:
    """On the stack, and anywhere there."""
    return where.stack and where.interval.length >= REACH


def overlap(where: Range, size: int, offset: int, width: int) -> bool:
    around = sets.between(offset - size + 1, offset + width - 1)
    return sets.meet(where.interval, around) is not None
