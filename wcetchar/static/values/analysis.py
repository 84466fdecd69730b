"""Value analysis of one function: what registers, stack slots and addresses can be.

Abstract interpretation (P. Cousot and R. Cousot, POPL 1977) over the function's graph: the states
of :mod:`~wcetchar.static.values.state`, which an instruction changes as
:mod:`~wcetchar.static.values.transfer` says, at the fixed point that
:mod:`~wcetchar.static.values.fixed_point` finds. Of what is called, a summary is taken where there
is one.

Soundness. Every number that a register can have at a place in some execution that enters the
function at its entry, and that keeps to the assumptions in ``Values.assumptions``, is in the
register's set. Where the iteration does not settle, nothing is known of anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from wcetchar.model.flow import Edge, FunctionGraph
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.term import Operator
from wcetchar.static.values import interval as sets
from wcetchar.static.values.branches import Outcome
from wcetchar.static.values.effects import Summary
from wcetchar.static.values.fixed_point import FixedPoint
from wcetchar.static.values.form import Form, Range, Tag
from wcetchar.static.values.interval import Interval
from wcetchar.static.values.memory import Read
from wcetchar.static.values.state import ANYTHING, Held, State, joined_ranges
from wcetchar.static.values.transfer import Transfer


@dataclass(frozen=True)
class AbstractAddress:
    """Where an instruction's first element can be.

    Attributes:
        stack: ``interval`` is what is added to the stack pointer at entry.
        size: bytes from there to the end of its last element.
    """

    stack: bool
    interval: Interval
    size: int


@dataclass(frozen=True)
class Values:
    """What is known of one function.

    Attributes:
        before: of each block, the state that it is entered with; ``None``: never entered.
        after: of each edge, the state behind it.
        outcomes: of each edge that a conditional branch goes, what is true where it does.
        entry: the state at the function's entry.
        assumptions: what was taken for granted.
        settled: false: nothing is known.
    """

    graph: FunctionGraph
    table: InstructionTable
    transfer: Transfer
    entry: State
    before: tuple[State | None, ...]
    after: Mapping[Edge, State | None]
    outcomes: Mapping[Edge, Outcome]
    settled: bool

    @property
    def calls(self) -> Mapping[int, Summary]:
        """By table index of an instruction that calls: what its targets do, where that is known."""
        return self.transfer.calls

    @property
    def assumptions(self) -> frozenset[str]:
        return frozenset(self.transfer.assumed)

    @cached_property
    def shrunk(self) -> Mapping[Tag, tuple[Form, Operator, int]]:
        """Of tags that an instruction set, which stands in one block alone: what was shifted to
        the right or divided, and by how much."""
        return {
            tag: found
            for tag, found in self.transfer.shrunk.items()
            if len(self._blocks.get(tag.site, ())) == 1
        }

    @cached_property
    def _blocks(self) -> Mapping[int, list[int]]:
        """Numbers of the blocks that have an instruction."""
        found: dict[int, list[int]] = {}
        for number, block in enumerate(self.graph.blocks):
            for index in range(block.first, block.last + 1):
                found.setdefault(index, []).append(number)
        return found

    def _states(self, index: int) -> list[tuple[State, bool]]:
        """Before an instruction, in each block that has it, and whether it is skipped there."""
        found = self._known.get(index)
        if found is None:
            found = self._known[index] = list(self._found(index))
        return found

    @cached_property
    def _known(self) -> dict[int, list[tuple[State, bool]]]:
        return {}

    def _found(self, index: int) -> Iterable[tuple[State, bool]]:
        for number in self._blocks.get(index, ()):
            block, state = self.graph.blocks[number], self.before[number]
            if state is None:
                continue
            found = self.transfer.through(self.table, block, state, index)
            if found is not None:
                yield found, index in block.skipped

    def value_before(self, index: int, register: int) -> Range | None:
        """What a register can hold when control gets to an instruction, whether it is skipped there
        or not; ``None``: it never does."""
        if not self.settled:
            return ANYTHING
        if register == self.table.registers.zero:
            return Range(sets.number(0))
        found = [
            state.range(state.registers[register]) if register in state.registers else ANYTHING
            for state, _ in self._states(index)
        ]
        return joined_ranges(found) if found else None

    def has_escaped(self, index: int) -> bool:
        """Before an instruction, the address of the frame may be known elsewhere."""
        return not self.settled or any(state.escaped for state, _ in self._states(index))

    def keeps_frame_address(self, index: int) -> bool:
        """Before an instruction, a slot of the frame may hold its address."""
        return not self.settled or any(state.addresses() for state, _ in self._states(index))

    def address_forms(self, index: int) -> list[Form]:
        """Sums that are addresses of an instruction's data accesses, as far as they are known."""
        memory = self.table.instructions[index].memory
        if memory is None or not self.settled:
            return []
        found = [
            self.transfer.memory.address_form(state, memory)[0]
            for state, skipped in self._states(index)
            if not skipped
        ]
        return [form for form in found if form is not None]

    def address_of(self, index: int) -> AbstractAddress | None:
        """Where an instruction's data accesses can be; ``None``: it makes none, or is never
        executed."""
        memory = self.table.instructions[index].memory
        if memory is None:
            return None
        together = memory.reads > 0 and memory.writes > 0
        size = memory.width // 8 * (memory.reads if together else memory.reads + memory.writes)
        if not self.settled:
            return AbstractAddress(False, sets.ANY, size)
        found = [
            self.transfer.memory.address(state, memory)
            for state, skipped in self._states(index)
            if not skipped
        ]
        if not found:
            return None
        first = joined_ranges(found)
        return AbstractAddress(first.stack, first.interval, size)


def analyse(
    graph: FunctionGraph,
    table: InstructionTable,
    *,
    read: Read = lambda address, size: None,
    arguments: Mapping[int, tuple[int, int] | Range] | None = None,
    variables: Mapping[int, tuple[int, int, int]] | None = None,
    calls: Mapping[int, Summary] | None = None,
) -> Values:
    """Value analysis of one function.

    Args:
        read: contents of memory that never change (literal pools, read-only sections), by address
            and number of bytes; ``None`` for other memory.
        arguments: least and greatest natural number that a register holds at entry, or what else
            is known of it, relative to the stack pointer there.
        variables: by address, the size in bytes of a variable and its least and greatest value at
            entry, read as natural numbers.
        calls: by table index of an instruction that calls, what the functions do that it goes to.
    """
    transfer = Transfer(table.registers, read, calls=calls or {})
    entry = _entry(table, arguments or {}, variables or {})
    found = FixedPoint(graph, table, transfer, entry)
    found.run()
    return Values(
        graph,
        table,
        transfer,
        entry,
        tuple(found.before),
        found.after,
        found.outcomes,
        found.settled,
    )


def _entry(
    table: InstructionTable,
    arguments: Mapping[int, tuple[int, int] | Range],
    variables: Mapping[int, tuple[int, int, int]],
) -> State:
    roles = table.registers
    state = State({}, {}, {})
    for number in range(len(roles.names)):
        if number in (roles.program_counter, roles.zero):
            continue
        tag = Tag("entry", 0, ("r", number))
        found = ANYTHING
        if number in arguments:
            given = arguments[number]
            found = given if isinstance(given, Range) else Range(sets.between(*given))
        if number == roles.stack_pointer:
            found = Range(sets.number(0), stack=True)
        state.registers[number] = state.named(tag, found)
    for address, (size, low, high) in variables.items():
        tag = Tag("entry", 0, ("m", address))
        state.memory["m", address] = Held(
            8 * size, state.named(tag, Range(sets.between(low, high)))
        )
    return state
