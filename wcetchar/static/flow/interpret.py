"""What single instructions and blocks do to a state (``state``), and what calls leave of it.

Taken for granted: a called function preserves the stack pointer and the registers that the
procedure call standard says it does, and neither it nor a store through a pointer writes where a
function has saved registers of its caller. Every other word in memory is forgotten at calls and at
stores whose place is not known, arguments among them: they may be variables whose address somebody
has. An exception return goes to what was interrupted, or to another thread.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from wcetchar.errors import InputError
from wcetchar.model.flow import EdgeKind
from wcetchar.model.image import Image, Symbol
from wcetchar.model.instruction import Flow, Instruction
from wcetchar.static.flow import steps_arm, steps_riscv, steps_thumb
from wcetchar.static.flow.blocks import Block
from wcetchar.static.flow.code import CONDITIONS, NUMBER_OF, Code
from wcetchar.static.flow.junctions import merge
from wcetchar.static.flow.state import (
    ENTRY,
    UNKNOWN,
    ZERO,
    Slot,
    State,
    Token,
    Value,
    at_entry,
    chain,
    low_bits,
    plus,
    shifted,
    shifted_right,
)
from wcetchar.static.flow.steps import PC, WORD, Access, Kind, Step, signed
from wcetchar.static.flow.value_sets import (
    Numbers,
    added,
    few,
    highest,
)

_IP: Final = 12
"""The register of Arm that code between a call and what it calls may change (AAPCS, 6.1.1)."""


class Memory:
    """Contents of an image that do not change while it runs.

    A named object among code may be a variable all the same: a section of code has no flag that
    says whether it is in RAM. (Vectors that are rewritten, for instance.)
    """

    def __init__(self, code: Code) -> None:
        self._image = code.image
        self._objects = {
            place
            for symbol in code.image.symbols
            if symbol.kind == "object" and _in_code(code.image, symbol)
            for place in range(symbol.address, symbol.address + max(symbol.size, 1))
        }

    def read(self, address: int, size: int, *, literal: bool = False) -> int | None:
        """A number at an address; ``None``: it may change, or nothing is stored there. What an
        instruction reads relative to itself is constant even in a section that is writable."""
        section = self._image.section_at(address)
        if section is None or (section.writable and not (literal and section.executable)):
            return None
        if section.executable and any(a in self._objects for a in range(address, address + size)):
            return None
        try:
            return int.from_bytes(self._image.read(address, size), "little")
        except InputError:
            return None


def _in_code(image: Image, symbol: Symbol) -> bool:
    section = image.section_at(symbol.address)
    return section is not None and section.executable


class Interpreter:
    """Executes single instructions on states. ``helpers``: addresses of those of
    ``functions.CASES``."""

    def __init__(self, code: Code, helpers: Collection[int]) -> None:
        self.code = code
        self._helpers = frozenset(helpers)
        self.memory = Memory(code)
        self._steps: dict[int, Step | None] = {}
        self._accesses: dict[int, Access | None] = {}
        self._saved = code.table.registers.saved_by_callee | 1 << code.stack_pointer
        self._kept_for_caller = {
            register
            for register in range(len(code.table.registers.names))
            if code.table.registers.saved_by_callee >> register & 1
            and register != code.stack_pointer
        } | set(code.links)
        self._arguments = code.table.registers.arguments[:2]
        self._count = 32 if code.riscv else 16

    def step(self, number: int) -> Step | None:
        if number not in self._steps:
            row = self.code.rows[number]
            if self.code.riscv:
                found = steps_riscv.step(row)
            elif self.code.is_arm(number):
                found = steps_arm.step(row)
            else:
                found = steps_thumb.step(row)
            self._steps[number] = found
        return self._steps[number]

    def access(self, number: int) -> Access | None:
        if number not in self._accesses:
            row = self.code.rows[number]
            if self.code.riscv:
                found = steps_riscv.access(row)
            elif self.code.is_arm(number):
                found = steps_arm.access(row)
            else:
                found = steps_thumb.access(row)
            self._accesses[number] = found
        return self._accesses[number]

    def initial(self) -> State:
        registers = [at_entry(number) for number in range(self._count)]
        if self.code.riscv:
            registers[0] = ZERO
        return State(registers, {}, {}, None)

    def read(self, state: State, register: int, number: int) -> Value:
        """What an instruction reads in a register; pc is ahead of it (DDI 0100I, A2.4.3)."""
        if register == PC and not self.code.riscv:
            ahead = 8 if self.code.is_arm(number) else 4
            return Value(None, self.code.rows[number].address + ahead)
        return state.registers[register]

    def block(
        self, state: State, block: Block, *, end: int | None = None, again: bool = True
    ) -> State:
        """A block's instructions, up to ``end``, exclusive, where it is given. ``again``: it may
        have been executed before, so that tokens of its instructions may be held."""
        state = state.copy()
        used = state.tokens() if again else set()
        last = block.last if end is None else end - 1
        for number in range(block.first, last + 1):
            if number in self.code.predicated:
                state = self._predicated(state, block, number, used)
            else:
                self.execute(state, number, used)
        if state.numbers:
            held = state.tokens()
            state.numbers = {t: n for t, n in state.numbers.items() if t in held}
        return state

    def _predicated(self, state: State, block: Block, number: int, used: set[Token]) -> State:
        condition = self.code.rows[number].condition
        inverse = CONDITIONS[NUMBER_OF[condition] ^ 1]
        if number in block.skipped:
            state.assume(inverse)
            return state
        if number in block.executed:
            state.assume(condition)
            self.execute(state, number, used)
            return state
        if self.code.rows[number].flow is Flow.JUMP:
            return state  # the edges say what holds
        without = state.copy()
        without.assume(inverse)
        state.assume(condition)
        if state.impossible:
            return without
        self.execute(state, number, used)
        if without.impossible:
            return state
        merged = merge([without, state], ("if", number), set(), {})
        used.update(merged.tokens())
        return merged

    def execute(self, state: State, number: int, used: set[Token]) -> None:
        """One instruction, executed whatever its condition."""
        row = self.code.rows[number]
        if row.memory is not None:
            self._transfer(state, number, row, used)
            return
        step = self.step(number)
        if self.code.changes_flags(number):
            state.compared = None
        if step is not None and step.kind in (Kind.COMPARE, Kind.COMPARE_CONSTANT):
            second = (
                self.read(state, step.b, number)
                if step.kind is Kind.COMPARE
                else Value(None, step.c & WORD)
            )
            state.compared = (self.read(state, step.a, number), second)
            return
        result: tuple[Value | None, Numbers | None] = (None, None)
        if step is not None:
            result = self._result(state, step, number)
        to = -1 if step is None else step.d
        defs = row.defs & ~(1 << to) if to >= 0 else row.defs
        self._forget(state, number, defs, used)
        if to >= 0:
            self._set(state, to, number, *result, used)
        elif row.flow is Flow.CALL:
            thumb = int(not self.code.riscv and not self.code.is_arm(number))
            state.registers[self.code.link_of(number)] = Value(None, row.end | thumb)

    def _result(self, state: State, step: Step, number: int) -> tuple[Value | None, Numbers | None]:
        """A value, or else what the numbers are."""
        match step.kind:
            case Kind.CONSTANT:
                return Value(None, step.c & WORD), None
            case Kind.BOUND:
                source = self.read(state, step.a, number) if step.a >= 0 else UNKNOWN
                return self._masked(state, source, step.c)
            case Kind.SHIFT_RIGHT:
                value = shifted_right(self.read(state, step.a, number), step.c)
                return value, None if value is not None else range((WORD >> step.c) + 1)
            case Kind.UPPER:
                source = state.registers[step.a]
                if source.token is None:
                    return Value(None, source.number & 0xFFFF | step.c << 16), None
                return None, None
        first = self.read(state, step.a, number)
        match step.kind:
            case Kind.AND | Kind.CLEAR | Kind.RIGHT_BY:
                return self._narrowed(state, step.kind, first, self.read(state, step.b, number))
            case Kind.ADD:
                return plus(first, step.c), None
            case Kind.SHIFT_LEFT:
                return shifted(first, step.c), None
            case Kind.SUM:
                second = shifted(self.read(state, step.b, number), step.c)
                return self._sum(state, first, second)
        return None, None

    def _masked(
        self, state: State, source: Value, mask: int
    ) -> tuple[Value | None, Numbers | None]:
        """``source`` and a constant."""
        if source.token is None:
            return Value(None, source.number & mask), None
        numbers = state.of(source)
        most = mask if numbers is None else min(mask, highest(numbers))
        if not mask & mask + 1:
            if numbers is not None and highest(numbers) <= mask:
                return source, None
            value = low_bits(source, mask.bit_length())
            if value is not None:
                return value, None
        least = mask & -mask or 1  # lower bits are not in the mask
        return None, range(0, most + 1, least) if most < WORD else None

    def _narrowed(
        self, state: State, kind: Kind, first: Value, second: Value
    ) -> tuple[Value | None, Numbers | None]:
        """Some of the bits of ``first``, or all of them further down: no more than it is."""
        if kind is Kind.AND and first.token is None:
            first, second = second, first
        if second.token is None and kind is not Kind.RIGHT_BY:
            mask = second.number if kind is Kind.AND else ~second.number & WORD
            return self._masked(state, first, mask)
        sets = [state.of(first), state.of(second) if kind is Kind.AND else None]
        most = min((highest(numbers) for numbers in sets if numbers is not None), default=WORD)
        return None, range(most + 1) if most < WORD else None

    def _sum(
        self, state: State, first: Value, second: Value
    ) -> tuple[Value | None, Numbers | None]:
        """The sum of two values: a value, or else what it can be."""
        if second.token is None:
            return plus(first, second.number), None
        if first.token is None:
            return plus(second, first.number), None
        ones, others = state.of(first), state.of(second)
        if ones is None or others is None:
            return None, None
        return None, added(ones, others)

    def _set(
        self,
        state: State,
        register: int,
        number: int,
        value: Value | None,
        numbers: Numbers | None,
        used: set[Token],
    ) -> None:
        if register == 0 and self.code.riscv:
            return
        if value is None and numbers is not None and len(numbers) == 1:
            value = Value(None, next(iter(numbers)))
        if value is None:
            token: Token = ("by", number, register)
            state.renew(token, used)
            used.add(token)
            if numbers is not None:
                state.numbers[token] = numbers
            else:
                state.numbers.pop(token, None)
            value = Value(token, 0)
        state.registers[register] = value

    def _forget(self, state: State, number: int, mask: int, used: set[Token]) -> None:
        """Registers get what is not known."""
        register = 0
        while mask:
            if mask & 1:
                self._set(state, register, number, None, None, used)
            mask >>= 1
            register += 1

    # --- memory -----------------------------------------------------------------------------------

    def _transfer(self, state: State, number: int, row: Instruction, used: set[Token]) -> None:
        memory = row.memory
        assert memory is not None
        access = self.access(number)
        both = bool(memory.reads and memory.writes)
        size = memory.width // 8
        if access is None or both:
            if memory.writes:
                self._store_anywhere(state, everything=memory.base == self.code.stack_pointer)
            self._forget(state, number, row.defs, used)
            if not self.code.riscv:
                state.registers[PC] = UNKNOWN
            return
        start, starts = self.address(state, access, number)
        loaded: list[tuple[int, Value | None, Numbers | None]] = []
        unknown: list[tuple[int, Slot]] = []
        for place, transfer in enumerate(memory.transfers):
            where = None if start is None else plus(start, place * size)
            if memory.writes:
                stored = ZERO if transfer.register == 0 and self.code.riscv else UNKNOWN
                if transfer.register is not None and stored is UNKNOWN:
                    stored = self.read(state, transfer.register, number)
                self._store(state, where, size, stored)
            elif transfer.register is not None:
                moves = starts if place == 0 else None
                found = self._load(state, where, moves, size, access)
                loaded.append((transfer.register, *found))
                slot = self._slot(state, where)
                if found == (None, None) and size == 4 and slot is not None:
                    unknown.append((transfer.register, slot))
        mask = row.defs
        for register, _, _ in loaded:
            mask &= ~(1 << register)
        if access.moves and access.base >= 0:
            base = plus(state.registers[access.base], access.moves)
            state.registers[access.base] = base
            mask &= ~(1 << access.base)
        self._forget(state, number, mask, used)
        for register, value, numbers in loaded:
            self._set(state, register, number, value, numbers, used)
        for register, slot in unknown:
            # Whatever it is, the next load finds the same.
            held = state.registers[register]
            if held.token is not None and slot[0] not in chain(held.token):
                state.slots[slot] = held

    def _slot(self, state: State, where: Value | None) -> Slot | None:
        """The place on the stack that an address is, as slots are counted."""
        if where is None or where.token is None or where.shift:
            return None
        on_stack = state.registers[self.code.stack_pointer].token
        known = where.token in (on_stack, (ENTRY, self.code.stack_pointer))
        return (where.token, where.number) if known and where.token != UNKNOWN.token else None

    def address(
        self, state: State, access: Access, number: int
    ) -> tuple[Value | None, Numbers | None]:
        """The place of an access as a value, or else all that it can be."""
        base = (
            Value(None, access.offset & WORD)
            if access.base < 0
            else plus(self.read(state, access.base, number), access.offset)
        )
        if access.base == PC and not self.code.riscv:
            base = Value(None, base.number & ~3)
        if access.by < 0:
            return base, None
        index = shifted(self.read(state, access.by, number), access.shift)
        return self._sum(state, base, index)

    def _load(
        self,
        state: State,
        where: Value | None,
        starts: Numbers | None,
        size: int,
        access: Access,
    ) -> tuple[Value | None, Numbers | None]:
        narrow = None if size == 4 or access.signed else range(1 << 8 * size)
        if where is not None:
            if where.token is not None and size == 4 and not where.shift:
                known = state.slots.get((where.token, where.number))
                if known is not None:
                    return known, None
            starts = state.of(where)
        addresses = few(starts)
        if addresses is None:
            return None, narrow
        found = set()
        for address in addresses:
            number = self.memory.read(address, size, literal=access.base < 0)
            if number is None:
                return None, narrow
            found.add(signed(number, 8 * size) & WORD if access.signed else number)
        if len(found) == 1:
            return Value(None, found.pop()), None
        return None, frozenset(found)

    def _store(self, state: State, where: Value | None, size: int, value: Value) -> None:
        if where is not None and where.token is None:
            return
        place = self._slot(state, where)
        if place is None:
            self._store_anywhere(state)
            return
        token, start = place
        # The same place of the stack may be counted from the stack pointer at the entry, and from
        # what it was made to be since (aligned, say).
        slots = state.slots = {
            slot: known
            for slot, known in state.slots.items()
            if slot[0] == token or self._is_saved(known)
        }
        for near in range(start - 3, start + size):
            slots.pop((token, near & WORD), None)
        if size == 4 and value.token != UNKNOWN.token:
            slots[token, start] = value

    def _store_anywhere(self, state: State, *, everything: bool = False) -> None:
        """A store through a pointer: what is kept are registers that were saved for the caller. An
        argument in memory is a variable, and may have its address taken."""
        if everything:
            state.slots = {}
        elif state.slots:
            state.slots = {
                slot: value for slot, value in state.slots.items() if self._is_saved(value)
            }

    def _is_saved(self, value: Value) -> bool:
        """What the caller's register held that a called function gives back, or the return
        address."""
        token = value.token
        if token is None or token[0] != ENTRY or value.number or value.shift:
            return False
        return token[1] in self._kept_for_caller

    # --- behind what ends a block -----------------------------------------------------------------

    def called(self, state: State, number: int) -> State:
        """Behind a call that has returned."""
        state = state.copy()
        usual = self.code.link_of(number) == self.code.links[0]
        used = state.tokens()
        keep = self._saved if usual else 0
        if self.code.rows[number].target in self._helpers:
            # It saves what it uses (GCC, config/arm/lib1funcs.S), but for ip, where a veneer lies
            # between.
            keep = (1 << self._count) - 1 & ~(1 << self.code.link_of(number) | 1 << _IP)
        self._store_anywhere(state, everything=not usual)
        self._clobber(state, keep, number, used)
        return state

    def supervised(self, state: State, number: int) -> State:
        """Behind a supervisor call, whose handler may leave results in registers."""
        state = state.copy()
        used = state.tokens()
        keep = self._saved
        for link in self.code.links:
            keep |= 1 << link
        self._store_anywhere(state)
        self._clobber(state, keep, number, used)
        return state

    def _clobber(self, state: State, keep: int, number: int, used: set[Token]) -> None:
        state.compared = None
        for register in range(self._count):
            if keep >> register & 1 or (register == 0 and self.code.riscv):
                continue
            if register in self._arguments or not keep:
                self._set(state, register, number, None, None, used)
            else:
                state.registers[register] = UNKNOWN

    def along(self, state: State, block: Block, kind: EdgeKind) -> State:
        """What holds where an edge of a block arrives."""
        number = block.last
        row = self.code.rows[number]
        match row.flow:
            case Flow.CALL | Flow.CALL_INDIRECT if kind is EdgeKind.RETURNED:
                return self.called(state, number)
            case Flow.SUPERVISOR_CALL if number not in block.skipped:
                return self.supervised(state, number)
            case Flow.JUMP if row.conditional and number not in block.skipped | block.executed:
                return self._branched(state, row, taken=kind is EdgeKind.TAKEN)
        return state

    def _branched(self, state: State, row: Instruction, *, taken: bool) -> State:
        if row.target == row.end:
            return state
        state = state.copy()
        if self.code.riscv:
            found = steps_riscv.comparison(row)
            if found is not None:
                condition, first, second = found
                if not taken:
                    condition = CONDITIONS[NUMBER_OF[condition] ^ 1]
                state.assume_of(condition, state.registers[first], state.registers[second])
        elif row.condition in NUMBER_OF:
            state.assume(CONDITIONS[NUMBER_OF[row.condition] ^ (0 if taken else 1)])
        return state
