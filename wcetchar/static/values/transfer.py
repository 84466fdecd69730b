"""What an instruction makes of what is known, and what the outcome of a branch tells.

Assumptions that are taken for granted, by name, where the result depends on them:

* ``CONVENTION``: functions that are called preserve the registers that the procedure call standard
  says, and the stack pointer; they do not change the caller's frame where they do not know its
  address, and what they leave in other registers is not read. What their summaries prove
  (:mod:`~wcetchar.static.values.summary`) is not assumed.
* ``PRIVATE``: an access through a pointer of which nothing is known does not hit the own frame,
  whose address no instruction has given away.
* ``STATIC``: a store through an address that is put together from constants does not hit the own
  frame.
* ``UNSHARED``: a frame whose address got out is written to by what the function calls and by its
  own stores, and not by an interrupt or another thread at any moment.
* ``ALIGNED`` (:mod:`~wcetchar.static.values.evaluate`).

A frame has *escaped* once its address may be anywhere but in registers and in slots of the frame
that are followed: it was stored elsewhere, calculated with, or handed to a function that may keep
it. Stores through unknown pointers then change every slot.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Flow, Instruction, MemoryEffect, RegisterRoles
from wcetchar.model.term import (
    ZERO,
    Comparison,
    Operation,
    Operator,
    RegisterValue,
    Relation,
    Term,
)
from wcetchar.static.values import interval as sets
from wcetchar.static.values.effects import Given, Summary, Written
from wcetchar.static.values.evaluate import Evaluation, Result, loaded, stored, unknown_of
from wcetchar.static.values.form import Form, Place, Range, Tag, Value, combined
from wcetchar.static.values.state import ANYTHING, Flags, Held, State, constant, joined

CONVENTION: Final = "functions that are called keep to the procedure call standard"
PRIVATE: Final = "accesses through unknown pointers leave a frame alone whose address is not taken"
STATIC: Final = "addresses put together from constants do not lie in the frame of a function"
UNSHARED: Final = (
    "interrupts and other threads do not write to the frame of a function that is being executed, "
    "where its address got out"
)

_CALLS: Final = frozenset({Flow.CALL, Flow.CALL_INDIRECT, Flow.SUPERVISOR_CALL})
_BOUNDED: Final = 1 << 24
"""Addresses within so many bytes are taken to be those of something in particular."""
_MOST_ENTRIES: Final = 256
"""Of a table whose entries are looked at one by one."""

Read = Callable[[int, int], int | None]
"""Constant contents at an address, of so many bytes; ``None``: it can change, or is not known."""


@dataclass
class Transfer:
    """Attributes:
    read: contents that never change.
    assumed: names of the assumptions that were made.
    shrunk: of tags that an instruction set: a form, and by how much it was shifted to the right
        or divided.
    calls: by table index of a call whose targets are known, what they do; of several, together.
    """

    registers: RegisterRoles
    read: Read
    assumed: set[str] = field(default_factory=set)
    shrunk: dict[Tag, tuple[Form, Operator, int]] = field(default_factory=dict)
    calls: Mapping[int, Summary] = field(default_factory=dict)

    def evaluation(self, state: State) -> Evaluation:
        return Evaluation(state, self.assumed)

    # --- one instruction ---

    def step(
        self, state: State, index: int, instruction: Instruction, skipped: bool
    ) -> State | None:
        """The state behind it, of which ``state`` is no more to be used; ``None``: control does not
        come here."""
        branch = instruction.flow is Flow.JUMP and instruction.conditional
        if not instruction.conditional or branch:
            return self._execute(state, index, instruction)
        if skipped:
            return state if self._predicate(state, instruction, holds=False) else None
        if instruction.memory is not None or instruction.flow is not Flow.NEXT:
            # A block in which it is skipped stands beside this one.
            if not self._predicate(state, instruction, holds=True):
                return None
            return self._execute(state, index, instruction)
        other = state.copy()
        outcomes = []
        if self._predicate(state, instruction, holds=True):
            outcomes.append(self._execute(state, index, instruction))
        if self._predicate(other, instruction, holds=False):
            if instruction.sets_flags:
                other.flags = None
            outcomes.append(other)
        return joined(outcomes, index, "either") if outcomes else None

    def _predicate(self, state: State, instruction: Instruction, *, holds: bool) -> bool:
        found = flags_say(state.flags, instruction.condition)
        if found is None:
            return True
        left, relation, right = found
        return state.assume(left, relation if holds else relation.opposite, right)

    def _execute(self, state: State, index: int, instruction: Instruction) -> State:
        state.forget(
            lambda tag: tag.site == index and tag.kind in ("set", "old", "either"), index, "old"
        )
        evaluation = self.evaluation(state)
        new: dict[int, Value] = {}
        made: dict[Term, Value] = {}
        for assignment in instruction.assignments:
            value = self._value(
                state, index, ("r", assignment.register), evaluation.of(assignment.value)
            )
            self._define(state, index, value, assignment.value)
            new[assignment.register] = made[assignment.value] = value
        flags = state.flags
        if instruction.sets_flags:
            flags = self._flags(state, index, instruction.comparison, evaluation, made)
        state.escaped |= evaluation.leaks
        if instruction.memory is not None:
            self._memory(state, index, instruction, instruction.memory, new)
        unsaid = [number for number in _bits(instruction.defs) if number not in new]
        if self._forgets(instruction, bool(unsaid)):
            state.escaped |= any(
                state.range(state.registers[number]).stack
                for number in _bits(instruction.uses)
                if number in state.registers
            )
        for number in unsaid:
            new[number] = state.named(Tag("set", index, ("r", number)), ANYTHING)
        state.registers.update(new)
        state.flags = flags
        if self.registers.stack_pointer in new:
            self._popped(state)
        if instruction.flow in _CALLS:
            self.call(state, index)
        return state

    def _forgets(self, instruction: Instruction, unsaid: bool) -> bool:
        """What it reads goes to a register of which nothing is said, or to one that is none of
        the core's."""
        if instruction.memory is not None or instruction.flow is not Flow.NEXT:
            return False
        return unsaid or not (instruction.defs or instruction.sets_flags)

    def _value(self, state: State, index: int, place: Place, result: Result) -> Value:
        form = result.form
        if form is None:
            return state.named(Tag("set", index, place), result.range)
        plain = not form.tags or form.tag is not None
        return Value(form, None if plain else result.range)

    def _define(self, state: State, index: int, value: Value, term: Term) -> None:
        """Remembers how a value that gets smaller each time comes about."""
        tag = value.form.tag
        if tag is None or tag.kind != "set" or tag.site != index or value.form.constant:
            return
        match term:
            case Operation(
                Operator.SHIFT_RIGHT | Operator.DIVIDE as operator, RegisterValue(number), right
            ):
                by = self.evaluation(state).of(right).range
                if by.interval.single and not by.stack:
                    form = state.registers[number].form
                    self.shrunk[tag] = (form, operator, by.interval.start)
                    return
        self.shrunk.pop(tag, None)

    def _flags(
        self,
        state: State,
        index: int,
        comparison: Comparison | None,
        evaluation: Evaluation,
        made: Mapping[Term, Value],
    ) -> Flags | None:
        if comparison is None:
            return None
        values = [
            made[term]
            if term in made
            else self._value(state, index, ("f", side), evaluation.of(term))
            for side, term in enumerate((comparison.left, comparison.right))
        ]
        return Flags(values[0], values[1], comparison.difference)

    # --- memory ---

    def address(self, state: State, memory: MemoryEffect) -> Range:
        """Of the first element."""
        if memory.address is None:
            return ANYTHING
        return self.address_form(state, memory)[1]

    def address_form(self, state: State, memory: MemoryEffect) -> tuple[Form | None, Range]:
        """The same with its sum; ``None``: it is not known as one."""
        if memory.address is None:
            return None, ANYTHING
        found = self.evaluation(state).of(memory.address)
        return found.form, found.range

    def _memory(
        self,
        state: State,
        index: int,
        instruction: Instruction,
        memory: MemoryEffect,
        new: dict[int, Value],
    ) -> None:
        first = self.address(state, memory)
        size = memory.width // 8
        stores: list[tuple[Range, Value | None]] = []
        for number, transfer in enumerate(memory.transfers):
            reads = number < memory.reads
            place = number if reads or not memory.reads else number - memory.reads
            away = sets.number(size * place)
            where = Range(sets.add(first.interval, away), first.stack)
            register = transfer.register
            if not reads:
                stores.append((where, self._stored(state, register)))
            elif register in state.registers and register is not None:
                new[register] = self._loaded(state, index, register, where, memory)
        weak = instruction.issue is EventKind.STORE_EXCLUSIVE
        for where, value in stores:
            followed = where.stack and where.interval.single and memory.width == 32 and not weak
            if value is not None and state.range(value).stack and not followed:
                state.escaped = True
            if value is not None and memory.width < 32:
                evaluation = self.evaluation(state)
                slot = ("s", _offset(where.interval.start))
                value = self._value(
                    state, index, slot, stored(evaluation, value, state, memory.width)
                )
            self._store(state, where, memory.width, value, certain=not weak)

    def _stored(self, state: State, register: int | None) -> Value | None:
        if register is not None and register == self.registers.zero:
            return constant(0)
        return None if register is None else state.registers.get(register)

    def _loaded(
        self, state: State, index: int, register: int, where: Range, memory: MemoryEffect
    ) -> Value:
        held = self._held(state, where, memory.width)
        tag = Tag("set", index, ("r", register))
        if held is None:
            self._may_load_address(state, where, memory.width // 8)
            known = self._constant(where, memory)
            if known is not None and known.interval.single:
                return constant(known.interval.start)
            return state.named(tag, known or unknown_of(memory.width, memory.signed))
        evaluation = self.evaluation(state)
        result = loaded(evaluation, held, state, memory.width, memory.signed)
        state.escaped |= evaluation.leaks
        return self._value(state, index, ("r", register), result)

    def _held(self, state: State, where: Range, width: int) -> Value | None:
        if not where.interval.single:
            return None
        held = state.memory.get(_place(where))
        # A narrower element of little-endian memory is the low part of it.
        if held is None or held.width < width:
            return None
        if where.stack and state.escaped:
            self.assumed.add(UNSHARED)
        return held.value

    def _may_load_address(self, state: State, where: Range, size: int) -> None:
        """What is loaded and not followed may be the frame's address, which a slot holds."""
        slots = [*state.addresses()]
        if where.stack:
            state.escaped |= any(_hit(*slot, where.interval, size) for slot in slots)
        elif slots and not state.escaped:
            self.assumed.add(STATIC if where.interval.length < _BOUNDED else PRIVATE)

    def _constant(self, where: Range, memory: MemoryEffect) -> Range | None:
        """Of an element, or of every one of a table's, that never changes."""
        found = where.interval
        size = memory.width // 8
        entries = 1 if found.single else found.length // found.step + 1
        if where.stack or entries > _MOST_ENTRIES:
            return None
        total: sets.Interval | None = None
        for number in range(entries):
            value = self.read((found.start + number * found.step) % sets.MODULUS, size)
            if value is None:
                return None
            if memory.signed and value >> memory.width - 1:
                value -= 1 << memory.width
            one = sets.number(value)
            total = one if total is None else sets.join(total, one)
        return None if total is None else Range(total)

    def _store(
        self, state: State, where: Range, width: int, value: Value | None, *, certain: bool
    ) -> None:
        """``certain``: it is made, and not only perhaps."""
        size = width // 8
        if where.stack:
            self._overwrite(state, "s", where.interval, size, certain=certain)
        elif where.interval.length < _BOUNDED:
            self.assumed.add(STATIC)
            self._overwrite(state, "m", where.interval, size, certain=certain)
            return
        else:
            self._unknown_store(state)
            return
        if where.interval.single and value is not None and certain:
            state.memory[_place(where)] = Held(width, value)

    def _overwrite(
        self, state: State, space: str, where: sets.Interval, size: int, *, certain: bool
    ) -> None:
        for place, held in list(state.memory.items()):
            if place[0] == space and _hit(place[1], held.width // 8, where, size):
                self._lose(state, place)
        if space == "s" and where.single and certain:
            first = _offset(where.start)
            state.hidden = frozenset(
                (offset, length)
                for offset, length in state.hidden
                if not (first <= offset and offset + length <= first + size)
            )

    def _lose(self, state: State, place: Place) -> None:
        """A slot is no more followed, and may go on to hold the frame's address."""
        held = state.memory[place]
        if place[0] == "s" and state.range(held.value).stack:
            state.hidden |= {(place[1], held.width // 8)}
        del state.memory[place]

    def _keep(self, state: State, kept: Callable[[Place], bool]) -> None:
        """Of what is known of memory, only these places."""
        for place in [place for place in state.memory if not kept(place)]:
            self._lose(state, place)

    def _unknown_store(self, state: State) -> None:
        if not state.escaped:
            self.assumed.add(PRIVATE)
            self._keep(state, lambda place: place[0] == "s" and place[1] < 0)
        else:
            state.memory.clear()

    def _popped(self, state: State) -> None:
        """What lies below the stack pointer may be overwritten at any time."""
        found = state.range(state.registers[self.registers.stack_pointer])
        low = _offset(found.interval.start) if found.stack and found.interval.single else None
        self._keep(state, lambda place: place[0] != "s" or (low is not None and place[1] >= low))

    # --- calls ---

    def call(self, state: State, index: int) -> None:
        """Control has come back from what the instruction calls."""
        self._popped(state)
        summary = self.calls.get(index)
        if summary is not None:
            self._summed_up(state, index, summary)
            return
        roles = self.registers
        self.assumed.add(CONVENTION)
        if any(
            state.range(state.registers[number]).stack
            for number in roles.arguments
            if number in state.registers
        ) or bool(state.addresses()):
            state.escaped = True
        self._unknown_store(state)
        self._clobbered(state, index, roles.saved_by_callee | 1 << roles.stack_pointer)

    def _clobbered(self, state: State, index: int, kept: int) -> None:
        for number in state.registers:
            if not kept >> number & 1:
                tag = Tag("set", index, ("r", number))
                state.registers[number] = state.named(tag, ANYTHING)
        state.flags = None

    def _summed_up(self, state: State, index: int, summary: Summary) -> None:
        """A call of functions of which a summary is known."""
        roles = self.registers
        self.assumed |= summary.assumptions
        before = dict(state.registers)
        addresses = _mask(
            number
            for number, value in before.items()
            if number != roles.stack_pointer and state.range(value).stack
        )
        slots = bool(state.addresses())
        if summary.leaks & addresses or (
            slots and (summary.reads_stack or summary.reads & addresses)
        ):
            state.escaped = True
        for written in summary.writes:
            self._written(state, written)
        if summary.through & addresses:
            self._keep(state, lambda place: False)
        if summary.anywhere:
            self._unknown_store(state)
        convention = roles.saved_by_callee | 1 << roles.stack_pointer
        if convention & ~summary.kept:
            self.assumed.add(CONVENTION)
        given = {
            number: self._given(state, result, before) for number, result in summary.results.items()
        }
        self._clobbered(state, index, summary.kept | convention)
        for number, (form, found) in given.items():
            if form is None:
                tag = Tag("set", index, ("r", number))
                state.registers[number] = state.named(tag, found)
            else:
                plain = not form.tags or form.tag is not None
                state.registers[number] = Value(form, None if plain else found)
            if form is None and summary.results[number].made_of & addresses:
                state.escaped = True
        if roles.stack_pointer in given:
            self._popped(state)

    def _given(
        self, state: State, result: Given, before: Mapping[int, Value]
    ) -> tuple[Form | None, Range]:
        """What a call leaves in a register, by what the caller's registers held before it."""
        if result.form is not None:
            parts = [(Form(result.form.constant), 1)]
            parts += [(before[tag.place[1]].form, factor) for tag, factor in result.form.tags]
            form = combined(parts)
            if form is not None:
                return form, state.range_of_form(form)
        return None, Range(result.interval)

    def _written(self, state: State, written: Written) -> None:
        where = Range(written.interval)
        if written.base is not None:
            base = state.range(state.registers[written.base])
            where = Range(sets.add(base.interval, written.interval), base.stack)
        self._store(state, where, 8 * written.size, None, certain=False)

    # --- branches ---

    def outcome(
        self, state: State, instruction: Instruction, *, taken: bool
    ) -> tuple[Value, Relation, Value] | None:
        """What is true where the conditional branch at the end of a block goes there; of the state
        before it."""
        comparison = instruction.comparison
        if comparison is not None and comparison.taken is not None:
            evaluation = self.evaluation(state)
            sides = [evaluation.of(term) for term in (comparison.left, comparison.right)]
            forms = [side.form for side in sides]
            if forms[0] is None or forms[1] is None:
                return None
            relation = comparison.taken
            found: tuple[Value, Relation, Value] | None = (
                Value(forms[0], sides[0].range),
                relation,
                Value(forms[1], sides[1].range),
            )
        else:
            found = flags_say(state.flags, instruction.condition)
        if found is None or taken:
            return found
        return found[0], found[1].opposite, found[2]


def flags_say(flags: Flags | None, condition: str) -> tuple[Value, Relation, Value] | None:
    """What is true where an Arm condition holds."""
    if flags is None or not condition:
        return None
    given = _SIDES if flags.difference else _RESULT
    found = given.holds(condition)
    if found is None:
        return None
    left, relation, right = found
    if left == _SIDES.left:
        return flags.left, relation, flags.right if right == _SIDES.right else constant(0)
    # The sign of a difference.
    form = _difference(flags.left.form, flags.right.form)
    return None if form is None else (Value(form), relation, constant(0))


def _difference(left: Form, right: Form) -> Form | None:
    return combined(((left, 1), (right, -1)))


def _sides(difference: bool) -> Comparison:
    return Comparison(
        RegisterValue(0), RegisterValue(1) if difference else ZERO, difference=difference
    )


_SIDES: Final = _sides(True)
_RESULT: Final = _sides(False)


def _place(where: Range) -> Place:
    if where.stack:
        return ("s", _offset(where.interval.start))
    return ("m", where.interval.start)


def _offset(number: int) -> int:
    return number - sets.MODULUS if number >= sets.SIGN else number


def _mask(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)


def _hit(first: int, length: int, where: sets.Interval, size: int) -> bool:
    """An access of ``size`` bytes may touch ``length`` bytes."""
    # Any byte of a slot of w bytes at p is hit where p - size < address < p + w.
    around = sets.between(first - size + 1, first + length - 1)
    return sets.meet(where, around) is not None


def _bits(mask: int) -> Iterator[int]:
    number = 0
    while mask:
        if mask & 1:
            yield number
        mask >>= 1
        number += 1
