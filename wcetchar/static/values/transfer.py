"""What an instruction makes of what is known, and what the outcome of a branch tells.

What is taken for granted has names, in :mod:`~wcetchar.static.values.memory`,
:mod:`~wcetchar.static.values.calls` and :mod:`~wcetchar.static.values.evaluate`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from wcetchar.model.flow import BasicBlock
from wcetchar.model.instruction import Flow, Instruction, InstructionTable, RegisterRoles
from wcetchar.model.term import Comparison, Operation, Operator, RegisterValue, Term
from wcetchar.static.values.branches import Outcome, flags_say, outcome
from wcetchar.static.values.calls import CallTransfer
from wcetchar.static.values.effects import Summary
from wcetchar.static.values.evaluate import Evaluation, value_of
from wcetchar.static.values.form import Form, Tag, Value
from wcetchar.static.values.memory import MemoryTransfer, Read
from wcetchar.static.values.state import ANYTHING, Flags, State, joined

_CALLS: Final = frozenset({Flow.CALL, Flow.CALL_INDIRECT, Flow.SUPERVISOR_CALL})


@dataclass
class Transfer:
    """
    Attributes:
        read: contents that never change.
        assumed: names of the assumptions that were made.
        shrunk: of tags that an instruction set: a form, and by how much it was shifted to the right
            or divided.
        calls: by table index of a call whose targets are known, what they do; of several, together.
        memory: what loads and stores do.
    """

    registers: RegisterRoles
    read: Read
    assumed: set[str] = field(default_factory=set)
    shrunk: dict[Tag, tuple[Form, Operator, int]] = field(default_factory=dict)
    calls: Mapping[int, Summary] = field(default_factory=dict)
    memory: MemoryTransfer = field(init=False)

    def __post_init__(self) -> None:
        self.memory = MemoryTransfer(self.registers, self.read, self.assumed)
        self._calling = CallTransfer(self.registers, self.memory, self.calls, self.assumed)

    def evaluation(self, state: State) -> Evaluation:
        return Evaluation(state, self.assumed)

    def through(
        self, table: InstructionTable, block: BasicBlock, before: State, until: int | None = None
    ) -> State | None:
        """The state behind a block, or before one of its instructions; ``None``: control does not
        come there."""
        state: State | None = before.copy()
        for index in range(block.first, block.last + 1):
            if state is None or index == until:
                return state
            state = self.step(
                state, index, table.instructions[index], skipped=index in block.skipped
            )
        return state

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
        state.forget(("set", "old", "either"), index, "old")
        evaluation = self.evaluation(state)
        new: dict[int, Value] = {}
        made: dict[Term, Value] = {}
        for assignment in instruction.assignments:
            value = value_of(
                evaluation.of(assignment.value), state, index, ("r", assignment.register)
            )
            self._define(state, index, value, assignment.value)
            new[assignment.register] = made[assignment.value] = value
        flags = state.flags
        if instruction.sets_flags:
            flags = self._flags(state, index, instruction.comparison, evaluation, made)
        state.escaped |= evaluation.leaks
        if instruction.memory is not None:
            self.memory.access(state, index, instruction, new)
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
            self.memory.drop_below_stack(state)
        if instruction.flow in _CALLS:
            self.call(state, index)
        return state

    def _forgets(self, instruction: Instruction, unsaid: bool) -> bool:
        """What it reads goes to a register of which nothing is said, or to one that is none of
        the core's."""
        if instruction.memory is not None or instruction.flow is not Flow.NEXT:
            return False
        return unsaid or not (instruction.defs or instruction.sets_flags)

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
            made[term] if term in made else value_of(evaluation.of(term), state, index, ("f", side))
            for side, term in enumerate((comparison.left, comparison.right))
        ]
        return Flags(values[0], values[1], comparison.difference)

    def call(self, state: State, index: int) -> None:
        """Control has come back from what the instruction calls."""
        self._calling.call(state, index)

    def outcome(self, state: State, instruction: Instruction, *, taken: bool) -> Outcome | None:
        """What is true where the conditional branch at the end of a block goes there; of the state
        before it."""
        return outcome(self.evaluation(state), state.flags, instruction, taken=taken)


def _bits(mask: int) -> Iterator[int]:
    number = 0
    while mask:
        if mask & 1:
            yield number
        mask >>= 1
        number += 1
