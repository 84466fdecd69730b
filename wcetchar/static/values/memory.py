"""What loads, stores and calls make of what is known of memory.

Assumptions that are taken for granted, by name, where the result depends on them:

* ``PRIVATE``: an access through a pointer of which nothing is known does not hit the own frame,
  whose address no instruction has given away.
* ``STATIC``: a store through an address that is put together from constants does not hit the own
  frame.
* ``UNSHARED``: a frame whose address got out is written to by what the function calls and by its
  own stores, and not by an interrupt or another thread at any moment.

A frame has *escaped* once its address may be anywhere but in registers and in slots of the frame
that are followed: it was stored elsewhere, calculated with, or handed to a function that may keep
it. Stores through unknown pointers then change every slot.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Instruction, MemoryEffect, RegisterRoles
from wcetchar.static.values import interval as sets
from wcetchar.static.values.evaluate import Evaluation, loaded, stored, unknown_of, value_of
from wcetchar.static.values.form import Form, Place, Range, Tag, Value
from wcetchar.static.values.state import ANYTHING, Held, State, constant

PRIVATE: Final = "accesses through unknown pointers leave a frame alone whose address is not taken"
STATIC: Final = "addresses put together from constants do not lie in the frame of a function"
UNSHARED: Final = (
    "interrupts and other threads do not write to the frame of a function that is being executed, "
    "where its address got out"
)

_BOUNDED: Final = 1 << 24
"""Addresses within so many bytes are taken to be those of something in particular."""
_MOST_ENTRIES: Final = 256
"""Of a table whose entries are looked at one by one."""

Read = Callable[[int, int], int | None]
"""Constant contents at an address, of so many bytes; ``None``: it can change, or is not known."""


@dataclass(frozen=True)
class MemoryTransfer:
    """
    Attributes:
        read: contents that never change.
        assumed: gets names of the assumptions that were made.
    """

    registers: RegisterRoles
    read: Read
    assumed: set[str]

    # --- addresses ---

    def address(self, state: State, memory: MemoryEffect) -> Range:
        """Of the first element."""
        if memory.address is None:
            return ANYTHING
        return self.address_form(state, memory)[1]

    def address_form(self, state: State, memory: MemoryEffect) -> tuple[Form | None, Range]:
        """The same with its sum; ``None``: it is not known as one."""
        if memory.address is None:
            return None, ANYTHING
        found = Evaluation(state, self.assumed).of(memory.address)
        return found.form, found.range

    # --- accesses ---

    def access(
        self, state: State, index: int, instruction: Instruction, new: dict[int, Value]
    ) -> None:
        """The data accesses of an instruction; ``new`` gets what its loads give registers.
        ``state``: with the registers as they were before it."""
        memory = instruction.memory
        assert memory is not None
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
                evaluation = Evaluation(state, self.assumed)
                slot = ("s", sets.signed_of(where.interval.start))
                value = value_of(stored(evaluation, value, state, memory.width), state, index, slot)
            self.store(state, where, memory.width, value, certain=not weak)

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
        evaluation = Evaluation(state, self.assumed)
        result = loaded(evaluation, held, state, memory.width, memory.signed)
        state.escaped |= evaluation.leaks
        return value_of(result, state, index, ("r", register))

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

    # --- stores ---

    def store(
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
            self.store_anywhere(state)
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
            first = sets.signed_of(where.start)
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

    def keep(self, state: State, kept: Callable[[Place], bool]) -> None:
        """Of what is known of memory, only these places."""
        for place in [place for place in state.memory if not kept(place)]:
            self._lose(state, place)

    def store_anywhere(self, state: State) -> None:
        """Through a pointer of which nothing is known."""
        if not state.escaped:
            self.assumed.add(PRIVATE)
            self.keep(state, lambda place: place[0] == "s" and place[1] < 0)
        else:
            state.memory.clear()

    def drop_below_stack(self, state: State) -> None:
        """What lies below the stack pointer may be overwritten at any time."""
        found = state.range(state.registers[self.registers.stack_pointer])
        low = (
            sets.signed_of(found.interval.start) if found.stack and found.interval.single else None
        )
        self.keep(state, lambda place: place[0] != "s" or (low is not None and place[1] >= low))


def _place(where: Range) -> Place:
    if where.stack:
        return ("s", sets.signed_of(where.interval.start))
    return ("m", where.interval.start)


def _hit(first: int, length: int, where: sets.Interval, size: int) -> bool:
    """An access of ``size`` bytes may touch ``length`` bytes."""
    # Any byte of a slot of w bytes at p is hit where p - size < address < p + w.
    around = sets.between(first - size + 1, first + length - 1)
    return sets.meet(where, around) is not None
