"""What functions do to their callers' registers and memory: summaries, by the values in them.

Of a function that is entered with anything in its registers:

* a store goes to its own frame, to addresses that are numbers, to what a register held at the entry
  plus something bounded, or elsewhere; of the last ones is known from which registers at the entry
  their addresses may have been calculated;
* a register that holds at every return what it held at the entry is kept, by the forms of
  :mod:`~wcetchar.static.values.form`;
* what is calculated from a register at the entry and is stored outside of the own frame, or handed
  to somebody who keeps it, leaks.

What a value may be calculated from is a bit mask over the registers at the entry, and comes from a
second, small iteration over the same graph: masks of registers and stack slots, joined by "or".
Functions are looked at before those that call them; recursive ones, and those of which the analysis
knows nothing, have no summary. Source: P. Cousot and R. Cousot, "Modular Static Program Analysis",
CC 2002, section 5 (summaries of procedures, bottom up over the graph of calls).

Soundness. Where a summary is applied, what it says holds under ``Summary.assumptions``. An address
that was loaded from memory is not taken to be calculated from the one that it was loaded through:
a caller whose frame holds its own address has to see to that.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, TypeVar

from wcetchar.model.flow import OpenKind, TransferKind
from wcetchar.model.instruction import Flow, Instruction
from wcetchar.model.term import Term, registers_of
from wcetchar.static.values import interval as sets
from wcetchar.static.values.analysis import Values
from wcetchar.static.values.calls import CONVENTION
from wcetchar.static.values.effects import Given, Summary, Written
from wcetchar.static.values.form import Form, Range
from wcetchar.static.values.state import State

MOST_WRITES: Final = 64
"""Different places; a function that writes to more of them writes anywhere."""
_BOUNDED: Final = 1 << 24
Key = TypeVar("Key")


def summary_of(values: Values) -> Summary | None:
    """``None``: nothing is known."""
    graph = values.graph
    if not values.settled or graph.exception_return:
        return None
    if any(end.kind is not OpenKind.CALL for end in graph.open):
        return None
    return _Summing(values).run()


@dataclass
class _Fact:
    """Of one instruction: what it moves where.

    Attributes:
        moves: register -> bit mask of registers that its new value is calculated from.
        weak: it may as well not be executed.
        loads: registers, and where they are loaded from; ``None``: not the core's register.
        stores: registers whose value is stored on the own stack, and where.
        address: bit mask of registers that loads' addresses are calculated from.
        leaked: of registers whose value goes elsewhere.
        stored_through: of registers that addresses are calculated from where nothing is known.
        call: what a call does, and the bit mask of registers that hold addresses of the own frame.
    """

    moves: dict[int, int] = field(default_factory=dict)
    weak: bool = False
    loads: list[tuple[int | None, Range, int]] = field(default_factory=list)
    stores: list[tuple[int, Range, int]] = field(default_factory=list)
    address: int = 0
    leaked: int = 0
    stored_through: int = 0
    call: tuple[Summary, int] | None = None


@dataclass
class _Masks:
    """What registers and slots (offset, size) are calculated from, where that is anything."""

    registers: dict[int, int]
    slots: dict[tuple[int, int], int]
    blurred: int = 0
    """Of values that are anywhere on the own stack."""

    def copy(self) -> _Masks:
        return _Masks(dict(self.registers), dict(self.slots), self.blurred)

    def add(self, other: _Masks) -> bool:
        """True: something is new."""
        changed = bool(other.blurred & ~self.blurred)
        self.blurred |= other.blurred
        changed |= _add(self.registers, other.registers)
        changed |= _add(self.slots, other.slots)
        return changed

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
            if _overlap(where, size, offset, width):
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


def _add(masks: dict[Key, int], others: Mapping[Key, int]) -> bool:
    """True: something is new."""
    changed = False
    for key, mask in others.items():
        old = masks.get(key, 0)
        if mask & ~old:
            masks[key] = old | mask
            changed = True
    return changed


class _Summing:
    def __init__(self, values: Values) -> None:
        self._values, self._graph = values, values.graph
        self._roles = values.table.registers
        self._transfer = values.transfer
        self._writes: set[Written] = set()
        self._anywhere = self._reads_stack = False
        self._through = self._reads = self._leaks = 0
        self._assumed: set[str] = set()
        self._escaped = False
        self._returns: list[tuple[int, State]] = []
        """Blocks behind which the function has returned, and states there."""
        self._facts = [self._block(number) for number in range(len(self._graph.blocks))]

    # --- addresses: by the values ---

    def _block(self, number: int) -> list[_Fact]:
        values, block = self._values, self._graph.blocks[number]
        before = values.before[number]
        if before is None:
            return []
        found: list[_Fact] = []
        state: State | None = before.copy()
        for index in range(block.first, block.last + 1):
            if state is None:
                return found
            instruction = values.table.instructions[index]
            skipped = index in block.skipped
            if not skipped:
                found.append(self._fact(state, index, instruction))
            state = self._transfer.step(state, index, instruction, skipped)
        if state is None:
            return found
        self._escaped |= state.escaped
        transfer = self._graph.transfer_of.get(number)
        if transfer is not None and transfer.kind is TransferKind.TAIL_CALL:
            found.append(self._call(state, block.last))
            self._transfer.call(state, block.last)
            self._escaped |= state.escaped
            self._returns.append((number, state))
        elif number in self._graph.returns:
            self._returns.append((number, state))
        return found

    def _fact(self, state: State, index: int, instruction: Instruction) -> _Fact:
        if instruction.flow in (Flow.CALL, Flow.CALL_INDIRECT, Flow.SUPERVISOR_CALL):
            return self._call(state, index)
        fact = _Fact(weak=instruction.conditional)
        for assignment in instruction.assignments:
            fact.moves[assignment.register] = _reads(assignment.value)
        memory = instruction.memory
        if memory is not None:
            size = memory.width // 8
            through = instruction.uses if memory.address is None else _reads(memory.address)
            form, first = self._transfer.memory.address_form(state, memory)
            for number, transfer in enumerate(memory.transfers):
                is_read = number < memory.reads
                place = number if is_read or not memory.reads else number - memory.reads
                where = Range(sets.add(first.interval, sets.number(size * place)), first.stack)
                if is_read:
                    fact.loads.append((transfer.register, where, size))
                    fact.address |= 0 if where.stack else through
                    self._reads_stack |= where.stack and _reaches_up(where, size)
                    continue
                moved = form.plus(size * place) if form is not None else None
                if not self._stored(state, where, moved, size):
                    fact.stored_through |= through
                source = transfer.register
                if source is None:
                    # What an atomic operation computes, or a register that is none of the core's.
                    fact.leaked |= instruction.uses & ~through
                elif where.stack:
                    fact.stores.append((source, where, size))
                    fact.leaked |= 1 << source if _reaches_up(where, size) else 0
                else:
                    fact.leaked |= 1 << source
        loaded = {register for register, _, _ in fact.loads}
        for number in range(len(self._roles.names)):
            said = number in fact.moves or number in loaded
            if instruction.defs >> number & 1 and not said:
                fact.moves[number] = instruction.uses
        if memory is None and not instruction.defs and not instruction.sets_flags:
            fact.leaked |= instruction.uses if instruction.flow is Flow.NEXT else 0
        return fact

    def _stored(self, state: State, where: Range, form: Form | None, size: int) -> bool:
        """Notes where a store goes; false: it is not known."""
        if where.stack:
            if where.interval.length >= _BOUNDED:
                self._assumed.add(CONVENTION)
            elif _reaches_up(where, size):
                self._writes.add(Written(self._roles.stack_pointer, where.interval, size))
            return True
        if where.interval.length < _BOUNDED:
            self._writes.add(Written(None, where.interval, size))
            return True
        for tag, factor in form.tags if form is not None else ():
            if tag.kind == "entry" and tag.place[0] == "r" and factor == 1 and form is not None:
                rest = Form(form.constant, tuple(one for one in form.tags if one[0] != tag))
                away = state.range_of_form(rest)
                if not away.stack and away.interval.length < _BOUNDED:
                    self._writes.add(Written(tag.place[1], away.interval, size))
                    return True
        return False

    def _call(self, state: State, index: int) -> _Fact:
        frame = 0
        for number, value in state.registers.items():
            if state.range(value).stack and number != self._roles.stack_pointer:
                frame |= 1 << number
        fact = _Fact()
        summary = self._transfer.calls.get(index)
        if summary is None:
            handed = sum(1 << number for number in self._roles.handed_over)
            results = {number: Given(made_of=handed) for number in self._roles.arguments[:2]}
            fact.call = (
                Summary(
                    anywhere=True,
                    through=handed,
                    reads=handed,
                    reads_stack=True,
                    leaks=handed,
                    results=results,
                    kept=self._roles.saved_by_callee | 1 << self._roles.stack_pointer,
                ),
                frame,
            )
        else:
            fact.call = (summary, frame)
        for written in fact.call[0].writes:
            where, form = Range(written.interval), None
            if written.base is not None:
                base = state.registers[written.base]
                held = state.range(base)
                where = Range(sets.add(held.interval, written.interval), held.stack)
                if written.interval.single:
                    form = base.form.plus(written.interval.start)
                elif base.form.tag is not None and not held.stack:
                    tag = base.form.tag
                    away = sets.add(written.interval, sets.number(base.form.constant))
                    if tag.kind == "entry" and tag.place[0] == "r":
                        self._writes.add(Written(tag.place[1], away, written.size))
                        continue
            if not self._stored(state, where, form, written.size):
                fact.stored_through |= 0 if written.base is None else 1 << written.base
                self._anywhere = True
        self._assumed |= fact.call[0].assumptions
        return fact

    # --- what values are calculated from ---

    def run(self) -> Summary:
        graph = self._graph
        count = len(self._roles.names)
        start = _Masks({number: 1 << number for number in range(count)}, {})
        start.registers.pop(self._roles.zero, None)  # type: ignore[arg-type]
        start.registers[self._roles.stack_pointer] = 0
        before: list[_Masks | None] = [None] * len(graph.blocks)
        work = []
        for entry in graph.entries:
            before[entry] = start.copy()
            work.append(entry)
        behind: dict[int, _Masks] = {}
        while work:
            number = work.pop()
            masks = before[number]
            assert masks is not None
            behind[number] = after = masks.copy()
            for fact in self._facts[number]:
                self._apply(fact, after)
            for edge in graph.successors[number]:
                if self._values.after.get(edge) is None:
                    continue
                known = before[edge.target]
                if known is None:
                    before[edge.target] = after.copy()
                elif not known.add(after):
                    continue
                work.append(edge.target)
        if self._escaped:
            for masks in behind.values():
                self._leaks |= masks.stored
        return self._summary(behind)

    def _apply(self, fact: _Fact, masks: _Masks) -> None:
        new = {number: masks.of(sources) for number, sources in fact.moves.items()}
        self._reads |= masks.of(fact.address)
        self._leaks |= masks.of(fact.leaked)
        if fact.stored_through:
            self._through |= masks.of(fact.stored_through)
            self._anywhere = True
        if self._escaped:
            self._leaks |= masks.stored
        for register, where, size in fact.loads:
            mask = masks.load(where, size)
            if register is None:
                self._leaks |= mask
            else:
                new[register] = mask
        for register, where, size in fact.stores:
            masks.store(where, size, masks.registers.get(register, 0))
        if fact.call is not None:
            self._after_call(*fact.call, masks, new)
        for number, mask in new.items():
            masks.registers[number] = mask | (masks.registers.get(number, 0) if fact.weak else 0)

    def _after_call(self, summary: Summary, frame: int, masks: _Masks, new: dict[int, int]) -> None:
        self._leaks |= masks.of(summary.leaks)
        self._reads |= masks.of(summary.reads)
        self._through |= masks.of(summary.through)
        self._anywhere |= summary.anywhere or bool(summary.through)
        if summary.reads_stack or summary.reads & frame:
            self._leaks |= masks.stored
        convention = self._roles.saved_by_callee | 1 << self._roles.stack_pointer
        for number in masks.registers:
            given = summary.results.get(number)
            if given is not None:
                new[number] = masks.of(given.made_of)
            elif not (summary.kept | convention) >> number & 1:
                new[number] = 0

    # --- together ---

    def _summary(self, behind: Mapping[int, _Masks]) -> Summary:
        roles = self._roles
        convention = roles.saved_by_callee | 1 << roles.stack_pointer
        kept, results = 0, {}
        ends = [(masks, state) for n, state in self._returns if (masks := behind.get(n))]
        for number in self._values.entry.registers if ends else ():
            own = self._values.entry.registers[number].form
            forms = {state.registers[number].form for _, state in ends}
            if forms == {own}:
                kept |= 1 << number
                continue
            made_of = 0
            for masks, _ in ends:
                made_of |= masks.registers.get(number, 0)
            form = next(iter(forms)) if len(forms) == 1 else None
            if form is not None and not _of_entry(form):
                form = None
            if convention >> number & 1 and form is None:
                continue
            found = [state.range(state.registers[number]) for _, state in ends]
            total = found[0].interval
            for one in found[1:]:
                total = sets.join(total, one.interval)
            if any(one.stack for one in found):
                total = sets.ANY
            results[number] = Given(form, total, made_of)
        writes = frozenset(self._writes)
        if len(writes) > MOST_WRITES:
            pointer = roles.stack_pointer
            up = [one for one in writes if one.base == pointer]
            for written in writes - {*up}:
                if written.base is not None:
                    self._through |= 1 << written.base
            writes, self._anywhere = frozenset(), True
            if up:
                together = up[0].interval
                for written in up:
                    together = sets.join(together, written.interval)
                writes = frozenset({Written(pointer, together, max(one.size for one in up))})
        return Summary(
            writes,
            self._through & ~(1 << roles.stack_pointer),
            self._anywhere,
            self._reads,
            self._reads_stack,
            self._leaks,
            kept,
            results,
            frozenset(self._assumed | self._transfer.assumed),
        )


def _of_entry(form: Form) -> bool:
    return all(tag.kind == "entry" and tag.place[0] == "r" for tag in form.names())


def _reads(term: Term) -> int:
    return sum(1 << number for number in set(registers_of(term)))


def _overlap(where: Range, size: int, offset: int, width: int) -> bool:
    around = sets.between(offset - size + 1, offset + width - 1)
    return sets.meet(where.interval, around) is not None


def _reaches_up(where: Range, size: int) -> bool:
    """It may touch what lies at or above the stack pointer at the entry."""
    _, high = where.interval.signed
    return high + size > 0
