"""Value analysis of one function: what registers, stack slots and addresses can be.

Abstract interpretation (P. Cousot and R. Cousot, POPL 1977) over the function's graph: the states
of :mod:`~wcetchar.static.values.state`, joined where control comes together, widened at the targets
of back edges towards the constants that the function compares with, and then narrowed by further
rounds from the fixed point down. Of what is called, a summary is taken where there is one.

Soundness. Every number that a register can have at a place in some execution that enters the
function at its entry, and that keeps to the assumptions in ``Values.assumptions``, is in the
register's set. Where the iteration does not settle, nothing is known of anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from wcetchar.model.flow import BasicBlock, Edge, EdgeKind, FunctionGraph, OpenKind
from wcetchar.model.instruction import Flow, InstructionTable
from wcetchar.model.term import Constant, Operation, Operator, Relation, Term
from wcetchar.static.values import interval as sets
from wcetchar.static.values.effects import Summary
from wcetchar.static.values.form import Form, Place, Range, Tag, Value
from wcetchar.static.values.interval import Interval
from wcetchar.static.values.memory import Read
from wcetchar.static.values.state import (
    ANYTHING,
    Held,
    State,
    covers,
    joined,
    joined_ranges,
)
from wcetchar.static.values.transfer import Transfer

PLAIN_ROUNDS: Final = 2
"""How often a set at a loop may grow by itself before it is widened to the next constant."""
CONSTANT_ROUNDS: Final = 32
"""And to a constant before it is widened to everything."""
NARROWING_ROUNDS: Final = 3
MOST_GUESSES: Final = 12
FREE_ROUNDS: Final = 80
"""Of one block, after which what varies there, or is different, stays so."""
MOST_ROUNDS: Final = 400
"""Of one block. An iteration that goes on longer is given up."""

_USUAL: Final = (0, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, sets.SIGN - 1)


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
    outcomes: Mapping[Edge, tuple[Value, Relation, Value]]
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
            found = _through(self.transfer, self.table, block, state, index)
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
    return _Iteration(graph, table, transfer, entry).run()


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


def _through(
    transfer: Transfer,
    table: InstructionTable,
    block: BasicBlock,
    before: State,
    until: int | None = None,
) -> State | None:
    """The state behind a block, or before one of its instructions."""
    state: State | None = before.copy()
    for index in range(block.first, block.last + 1):
        if state is None or index == until:
            return state
        state = transfer.step(
            state, index, table.instructions[index], skipped=index in block.skipped
        )
    return state


class _Unsettled(Exception):
    pass


class _Iteration:
    def __init__(
        self, graph: FunctionGraph, table: InstructionTable, transfer: Transfer, entry: State
    ) -> None:
        self._graph, self._table, self._transfer = graph, table, transfer
        self._entry = entry
        self._before: list[State | None] = [None] * len(graph.blocks)
        self._after: dict[Edge, State | None] = dict.fromkeys(graph.edges)
        self._outcomes: dict[Edge, tuple[Value, Relation, Value]] = {}
        self._order = _reverse_postorder(graph)
        rank = {block: place for place, block in enumerate(self._order)}
        self._heads = {
            edge.target
            for edge in graph.edges
            if edge.source in rank and rank[edge.source] >= rank[edge.target]
        }
        self._constants = _constants(graph, table)
        self._rank = rank
        self._restored: dict[tuple[int, Place], int] = {}
        self._rounds: dict[tuple[int, Tag], int] = {}
        self._inside: dict[int, tuple[set[int], set[int]]] = {}
        for loop in graph.loops:
            if loop.others:
                continue
            blocks, indices = self._inside.setdefault(loop.header, (set(), set()))
            blocks |= loop.members
            for member in loop.members:
                block = graph.blocks[member]
                indices |= {*range(block.first, block.last + 1)}

    def run(self) -> Values:
        # Control that goes to where is not known can come back anywhere.
        settled = all(end.kind is OpenKind.CALL for end in self._graph.open)
        try:
            if settled:
                self._ascend()
                self._verify()
                for _ in range(NARROWING_ROUNDS):
                    self._descend()
        except _Unsettled:
            settled = False
        return Values(
            self._graph,
            self._table,
            self._transfer,
            self._entry,
            tuple(self._before),
            self._after,
            self._outcomes,
            settled,
        )

    def _incoming(self, block: int) -> list[State]:
        found = [self._entry] if block in self._graph.entries else []
        states = (self._after[edge] for edge in self._graph.predecessors[block])
        return found + [state for state in states if state is not None]

    def _restored_at(self, block: int, incoming: list[State]) -> list[State]:
        """States that a block is entered with, where places that a loop leaves alone get what they
        are entered with now: an outer loop was not done when it was looked at before, or is done
        with another result.

        That is a guess, a few times for each place, and the iteration that goes on finds out
        whether it holds: behind it, the back edges must bring the same.
        """
        old = self._before[block]
        if old is None or block not in self._heads:
            return incoming
        inner = {
            id(self._after[edge])
            for edge in self._graph.predecessors[block]
            if self._rank.get(edge.source, -1) >= self._rank[block]
        }
        back = [state.copy() for state in incoming if id(state) in inner]
        entries = [state for state in incoming if id(state) not in inner]
        for place, value in list(old.places()) if back and entries else ():
            first = _lookup(entries[0], place)
            if first is None or first.form == value.form or _met(first, block):
                continue
            if self._restored.get((block, place), 0) >= MOST_GUESSES:
                continue
            if not all(_same(_lookup(state, place), first) for state in entries):
                continue
            if not all(_same(_lookup(state, place), value) for state in back):
                continue
            self._restored[block, place] = self._restored.get((block, place), 0) + 1
            for state in back:
                state.put(place, first)
                for tag in first.form.names():
                    state.ranges[tag] = joined_ranges(
                        [one.ranges.get(tag, ANYTHING) for one in entries]
                    )
        return entries + back

    def _ascend(self) -> None:
        rounds = [0] * len(self._graph.blocks)
        work = dict.fromkeys(self._order)
        place = 0
        while work:
            # Round after round, so that every way round a loop is up to date at its header.
            ranks = [self._rank[number] for number in work]
            place = min((rank for rank in ranks if rank >= place), default=min(ranks))
            block = self._order[place]
            del work[block]
            place += 1
            incoming = self._incoming(block)
            if not incoming:
                continue
            old = self._before[block]
            stuck = old if rounds[block] > FREE_ROUNDS else None
            new = joined(self._restored_at(block, incoming), block, previous=stuck)
            if old is not None and block in self._heads:
                new = self._widened(old, new, block)
            if old == new:
                continue
            rounds[block] += 1
            if rounds[block] > MOST_ROUNDS:
                raise _Unsettled
            self._before[block] = new
            for edge in self._leave(block, new):
                work[edge.target] = None

    def _verify(self) -> None:
        """However the states came about: one more round from all of them must give nothing that
        they do not have, which makes them hold for every execution.

        Raises:
            _Unsettled: it does.
        """
        for block in self._order:
            incoming, old = self._incoming(block), self._before[block]
            if incoming and (old is None or not covers(old, joined(incoming, block), block)):
                raise _Unsettled

    def _descend(self) -> None:
        for block in self._order:
            incoming = self._incoming(block)
            new = joined(incoming, block) if incoming else None
            self._before[block] = new
            if new is None:
                for edge in self._graph.successors[block]:
                    self._after[edge] = None
                    self._outcomes.pop(edge, None)
            else:
                self._leave(block, new)

    def _leave(self, block: int, before: State) -> list[Edge]:
        """Sets the states behind the edges of a block; gives those that changed."""
        content = self._graph.blocks[block]
        last = self._table.instructions[content.last]
        behind = _through(self._transfer, self._table, content, before)
        if behind is not None:
            behind.sweep()
        branches = last.flow is Flow.JUMP and last.conditional
        changed = []
        for edge in self._graph.successors[block]:
            after = None if behind is None else behind.copy()
            self._outcomes.pop(edge, None)
            if after is not None and (branches or content.last in content.skipped):
                # What is skipped does not send control elsewhere.
                taken = edge.kind is EdgeKind.TAKEN and branches
                outcome = self._transfer.outcome(after, last, taken=taken)
                if outcome is not None and not after.assume(*outcome):
                    after = None
                elif outcome is not None:
                    left, relation, right = outcome
                    simplified = after.simplify()
                    self._outcomes[edge] = simplified(left), relation, simplified(right)
            if self._after[edge] != after:
                self._after[edge] = after
                changed.append(edge)
        return changed

    # --- widening ---

    def _widened(self, old: State, new: State, block: int) -> State:
        """``new`` with ranges moved outwards that grow with every round of the loop."""
        for tag, found in new.ranges.items():
            before = old.ranges.get(tag)
            if before is None or before.stack != found.stack or before == found:
                continue
            if not self._grows(tag, block):
                continue
            together = sets.join(before.interval, found.interval)
            if together == before.interval:
                new.ranges[tag] = before
                continue
            new.ranges[tag] = Range(
                self._wider((block, tag), before.interval, together), found.stack
            )
        for place, value in list(new.places()):
            former = _lookup(old, place)
            if former is None or former.form != value.form or former.own == value.own:
                continue
            if value.own is None or not any(self._grows(tag, block) for tag in value.form.names()):
                continue
            new.put(place, Value(value.form, new.range_of_form(value.form)))
        return new

    def _grows(self, tag: Tag, block: int) -> bool:
        """It can get another value inside the loop of a header; that of others is widened there."""
        inside = self._inside.get(block)
        if inside is None:
            return True
        blocks, indices = inside
        return any(
            part.site in (blocks if part.kind == "met" else indices) and part.kind != "entry"
            for part in tag.basic()
        )

    def _wider(self, what: tuple[int, Tag], old: Interval, new: Interval) -> Interval:
        """Of what has grown from ``old`` to ``new``."""
        rounds = self._rounds[what] = self._rounds.get(what, 0) + 1
        if rounds <= PLAIN_ROUNDS:
            return new
        if rounds <= PLAIN_ROUNDS + CONSTANT_ROUNDS:
            return self._to_constants(old, new)
        common = new.step & -new.step
        return sets.make(new.start, sets.MODULUS - common, common)

    def _to_constants(self, old: Interval, new: Interval) -> Interval:
        start, end = new.start, new.start + new.length
        if start != old.start:
            start = _below(self._constants, start)
            end = end if end >= start else end + sets.MODULUS
        if end % sets.MODULUS != old.last:
            end = _above(self._constants, end)
        length = end - start
        step = new.step or 1
        away = (new.start - start) % sets.MODULUS
        first = new.start - away // step * step
        length = (end - first) // step * step
        if length >= sets.MODULUS:
            common = step & -step
            return sets.make(first, sets.MODULUS - common, common)
        return sets.make(first, length, step)


def _met(value: Value, block: int) -> bool:
    """It depends on what a place held when this block was entered last."""
    return any(
        part.kind == "met" and part.site == block
        for tag in value.form.names()
        for part in tag.basic()
    )


def _same(one: Value | None, other: Value) -> bool:
    return one is not None and one.form == other.form


def _lookup(state: State, place: tuple[str, int]) -> Value | None:
    if place[0] == "r":
        return state.registers.get(place[1])
    held = state.memory.get(place)
    return None if held is None else held.value


def _below(constants: list[int], number: int) -> int:
    """The next constant on the circle, downwards; it may be less than 0."""
    found = [constant for constant in constants if constant <= number % sets.MODULUS]
    away = number % sets.MODULUS - (found[-1] if found else constants[-1] - sets.MODULUS)
    return number - away


def _above(constants: list[int], number: int) -> int:
    at = number % sets.MODULUS
    found = next((constant for constant in constants if constant >= at), None)
    return number + ((constants[0] + sets.MODULUS if found is None else found) - at)


def _constants(graph: FunctionGraph, table: InstructionTable) -> list[int]:
    """Where sets are likely to end: next to the constants that the function has."""
    found = set(_USUAL)
    for block in graph.blocks:
        for index in range(block.first, block.last + 1):
            instruction = table.instructions[index]
            terms = [assignment.value for assignment in instruction.assignments]
            if instruction.comparison is not None:
                terms += [instruction.comparison.left, instruction.comparison.right]
            for term in terms:
                for number in _numbers(term):
                    found |= {number, -number}
    return sorted({(number + away) % sets.MODULUS for number in found for away in (-1, 0, 1)})


def _numbers(term: Term) -> Iterable[int]:
    match term:
        case Constant(value):
            yield value
        case Operation(_, left, right):
            yield from _numbers(left)
            yield from _numbers(right)


def _reverse_postorder(graph: FunctionGraph) -> list[int]:
    """Blocks that the entries reach."""
    seen: set[int] = set()
    order: list[int] = []
    for entry in graph.entries:
        if entry in seen:
            continue
        seen.add(entry)
        stack = [(entry, iter(graph.successors[entry]))]
        while stack:
            block, edges = stack[-1]
            edge = next((edge for edge in edges if edge.target not in seen), None)
            if edge is None:
                order.append(block)
                stack.pop()
            else:
                seen.add(edge.target)
                stack.append((edge.target, iter(graph.successors[edge.target])))
    return order[::-1]
