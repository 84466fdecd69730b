"""What a call makes of what is known, by a summary of what it goes to, or else by convention.

Assumption that is taken for granted, where the result depends on it:

* ``CONVENTION``: functions that are called preserve the registers that the procedure call standard
  says, and the stack pointer; they do not change the caller's frame where they do not know its
  address, and what they leave in other registers is not read. What their summaries prove
  (:mod:`~wcetchar.static.values.summary`) is not assumed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from wcetchar.model.instruction import RegisterRoles
from wcetchar.static.values import interval as sets
from wcetchar.static.values.effects import Given, Summary, Written
from wcetchar.static.values.form import Form, Range, Tag, Value, combined
from wcetchar.static.values.memory import MemoryTransfer
from wcetchar.static.values.state import ANYTHING, State

CONVENTION: Final = "functions that are called keep to the procedure call standard"


@dataclass(frozen=True)
class CallTransfer:
    """
    Attributes:
        summaries: by table index of a call whose targets are known, what they do; of several,
            together.
        assumed: gets names of the assumptions that were made.
    """

    registers: RegisterRoles
    memory: MemoryTransfer
    summaries: Mapping[int, Summary]
    assumed: set[str]

    def call(self, state: State, index: int) -> None:
        """Control has come back from what the instruction calls."""
        self.memory.drop_below_stack(state)
        summary = self.summaries.get(index)
        if summary is not None:
            self._summed_up(state, index, summary)
            return
        roles = self.registers
        self.assumed.add(CONVENTION)
        if any(
            state.range(state.registers[number]).stack
            for number in roles.handed_over
            if number in state.registers
        ) or bool(state.addresses()):
            state.escaped = True
        self.memory.store_anywhere(state)
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
        self.assumed.update(summary.assumptions)
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
            self.memory.keep(state, lambda place: False)
        if summary.anywhere:
            self.memory.store_anywhere(state)
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
            self.memory.drop_below_stack(state)

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
        self.memory.store(state, where, 8 * written.size, None, certain=False)


def _mask(numbers: Iterable[int]) -> int:
    return sum(1 << number for number in numbers)
