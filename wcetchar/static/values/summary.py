"""What functions do to their callers' registers and memory: summaries, by the values in them.

Of a function that is entered with anything in its registers:

* a store goes to its own frame, to addresses that are numbers, to what a register held at the entry
  plus something bounded, or elsewhere; of the last ones is known from which registers at the entry
  their addresses may have been calculated;
* a register that holds at every return what it held at the entry is kept, by the forms of
  :mod:`~wcetchar.static.values.form`; one that the calling convention preserves is also kept,
  under ``CONVENTION``, if it is loaded from the slot of the own frame where it was saved, and
  nothing is known to write there in between but stores and calls of which it is not known where
  they write; of any other it is said what it may hold;
* what is calculated from a register at the entry and is stored outside of the own frame, or handed
  to somebody who keeps it, leaks.

What a value may be calculated from is a bit mask over the registers at the entry, and comes from a
second, small iteration over the same graph: masks of registers and stack slots, joined by "or". It
also has the registers and slots that hold what a register held at the entry, as far as all ways
agree.

The stack pointer's bit stands for addresses of what lies above the own frame, at or above what the
stack pointer held at the entry: arguments on the stack, which are in the caller's frame. Where one
of them gets to somebody who may write through it, or leaks, everything up to ``REACH`` bytes beyond
the highest of them may be written. A caller in whose own frame the highest of them lies loses what
it knows of that frame, and says nothing of it to its own callers: a store through an address in one
frame does not go to another one.

GCC's routines that restore registers for the function that goes to them at its end
(``-msave-restore``) load them from the frame that another routine has made for that one. Of these
registers, and of the stack pointer, nothing is said in their summaries; the function that ends with
such a routine is taken to keep them, under ``CONVENTION``.

Functions are looked at before those that call them; recursive ones, and those of which the analysis
knows nothing, have no summary. Source: P. Cousot and R. Cousot, "Modular Static Program Analysis",
CC 2002, section 5 (summaries of procedures, bottom up over the graph of calls).

Soundness. Where a summary is applied, what it says holds under ``Summary.assumptions``. An address
that was loaded from memory is not taken to be calculated from the one that it was loaded through:
a caller whose frame holds its own address has to see to that. An address of an argument on the
stack that is kept is not used any more when the function that kept it has returned.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from wcetchar.model.flow import OpenKind, TransferKind
from wcetchar.model.instruction import Flow, Instruction
from wcetchar.model.term import Term, registers_of
from wcetchar.static.values import interval as sets
from wcetchar.static.values.analysis import Values
from wcetchar.static.values.calls import CONVENTION
from wcetchar.static.values.effects import Given, Summary, Written
from wcetchar.static.values.form import Form, Range
from wcetchar.static.values.moves import (
    REACH,
    Access,
    Fact,
    Masks,
    is_far,
)
from wcetchar.static.values.state import State

_RESTORE: Final = "__riscv_restore_"
MOST_WRITES: Final = 64
"""Different places; a function that writes to more of them writes anywhere."""
_BOUNDED: Final = 1 << 24


def summary_of(values: Values) -> Summary | None:
    """``None``: nothing is known."""
    graph = values.graph
    if not values.settled or graph.exception_return:
        return None
    if any(end.kind is not OpenKind.CALL for end in graph.open):
        return None
    return _Summing(values).run()


class _Summing:
    def __init__(self, values: Values) -> None:
        self._values, self._graph = values, values.graph
        self._roles = values.table.registers
        self._transfer = values.transfer
        self._writes: set[Written] = set()
        self._anywhere = self._reads_stack = False
        self._through = self._reads = self._leaks = 0
        self._above = 1 << self._roles.stack_pointer
        """Stands for addresses above the own frame."""
        self._highest = 0
        """Such an address, from the stack pointer at the entry."""
        self._writes_above = False
        self._assumed: set[str] = set()
        self._escaped = False
        self._returns: list[tuple[int, State]] = []
        """Blocks behind which the function has returned, and states there."""
        self._facts = [self._block(number) for number in range(len(self._graph.blocks))]

    # --- addresses: by the values ---

    def _block(self, number: int) -> list[Fact]:
        values, block = self._values, self._graph.blocks[number]
        before = values.before[number]
        if before is None:
            return []
        found: list[Fact] = []
        state: State | None = before.copy()
        for index in range(block.first, block.last + 1):
            if state is None:
                return found
            instruction = values.table.instructions[index]
            skipped = index in block.skipped
            fact = None if skipped else self._fact(state, index, instruction)
            state = self._transfer.step(state, index, instruction, skipped)
            if fact is not None:
                found.append(fact)
                if state is not None:
                    self._behind(fact, state)
        if state is None:
            return found
        self._escaped |= state.escaped
        transfer = self._graph.transfer_of.get(number)
        if transfer is not None and transfer.kind is TransferKind.TAIL_CALL:
            fact = self._call(state, block.last)
            self._transfer.call(state, block.last)
            self._behind(fact, state)
            fact.at_end = True
            found.append(fact)
            self._escaped |= state.escaped
            self._returns.append((number, state))
        elif number in self._graph.returns:
            self._returns.append((number, state))
        return found

    def _fact(self, state: State, index: int, instruction: Instruction) -> Fact:
        if instruction.flow in (Flow.CALL, Flow.CALL_INDIRECT, Flow.SUPERVISOR_CALL):
            return self._call(state, index)
        fact = Fact(weak=instruction.conditional, instruction=instruction)
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
                access = Access(is_read, transfer.register, where, size * place, size)
                fact.accesses.append(access)
                if is_read:
                    fact.loads.append((transfer.register, where, size))
                    fact.address |= 0 if where.stack else through
                    self._reads_stack |= where.stack and _reaches_up(where, size)
                    continue
                moved = form.plus(size * place) if form is not None else None
                if not self._stored(state, where, moved, size):
                    fact.stored_through |= through
                elif is_far(where):
                    fact.stored_far |= through
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

    def _behind(self, fact: Fact, state: State) -> None:
        """What is known of registers behind it."""
        defs = -1 if fact.instruction is None else fact.instruction.defs
        for number, value in state.registers.items():
            if not defs >> number & 1:
                continue
            tag = value.form.tag
            if tag is not None and tag.kind == "entry" and tag.place[0] == "r":
                fact.known[number] = (tag.place[1], value.form.constant)
            found = state.range(value)
            if found.stack and not is_far(found):
                high = found.interval.signed[1]
                if high < 0:
                    fact.inside |= 1 << number
                else:
                    fact.above |= 1 << number
                    self._highest = max(self._highest, high)

    def _stored(self, state: State, where: Range, form: Form | None, size: int) -> bool:
        """Notes where a store goes; false: it is not known."""
        if where.stack:
            if is_far(where):
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

    def _call(self, state: State, index: int) -> Fact:
        frame = 0
        for number, value in state.registers.items():
            if state.range(value).stack and number != self._roles.stack_pointer:
                frame |= 1 << number
        fact = Fact()
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
        pointer = self._roles.stack_pointer
        for written in fact.call[0].writes:
            if written.base == pointer and written.interval.length >= REACH:
                self._far_above(state, written, fact)
                continue
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
            base_mask = 0 if written.base is None else 1 << written.base
            if not self._stored(state, where, form, written.size):
                fact.stored_through |= base_mask
                self._anywhere = True
            elif is_far(where):
                fact.stored_far |= base_mask
            elif where.stack:
                fact.hits.append((where, written.size))
        self._assumed |= fact.call[0].assumptions
        return fact

    def _far_above(self, state: State, written: Written, fact: Fact) -> None:
        """What is called may write through addresses of its arguments on the stack."""
        held = state.range(state.registers[self._roles.stack_pointer])
        away = held.interval.signed[1] if held.stack and not is_far(held) else 0
        highest = written.interval.signed[1] - REACH + away
        if highest >= 0:
            fact.reaches = self._writes_above = True
            self._highest = max(self._highest, highest)

    # --- what values are calculated from ---

    def run(self) -> Summary:
        graph = self._graph
        count = len(self._roles.names)
        start = Masks({number: 1 << number for number in range(count)}, {})
        start.registers.pop(self._roles.zero, None)  # type: ignore[arg-type]
        start.own = {("r", number): (number, 0) for number in self._values.entry.registers}
        before: list[Masks | None] = [None] * len(graph.blocks)
        work = []
        for entry in graph.entries:
            before[entry] = start.copy()
            work.append(entry)
        behind: dict[int, Masks] = {}
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

    def _apply(self, fact: Fact, masks: Masks) -> None:
        roles = self._roles
        pointer = roles.stack_pointer
        masks.follow(fact, pointer, roles.saved_by_callee | 1 << pointer)
        new = {number: masks.of(sources) for number, sources in fact.moves.items()}
        self._writes_above |= bool(masks.of(fact.stored_far) & self._above)
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
            self._after_call(fact, *fact.call, masks, new)
        for number, mask in new.items():
            masks.registers[number] = mask | (masks.registers.get(number, 0) if fact.weak else 0)
        for number in masks.registers:
            if fact.above >> number & 1:
                masks.registers[number] |= self._above
            elif fact.inside >> number & 1:
                masks.registers[number] &= ~self._above

    def _after_call(
        self, fact: Fact, summary: Summary, frame: int, masks: Masks, new: dict[int, int]
    ) -> None:
        # Its arguments on the stack are in the own frame, but for those of a call that goes on with
        # the caller's, and for addresses beyond.
        beyond = masks.of(self._above) & self._above or (self._above if fact.reaches else 0)

        def held(mask: int) -> int:
            return masks.of(mask & ~self._above) | (beyond if mask & self._above else 0)

        self._leaks |= held(summary.leaks)
        self._reads |= held(summary.reads)
        self._through |= held(summary.through)
        self._anywhere |= summary.anywhere or bool(summary.through)
        self._reads_stack |= summary.reads_stack and bool(beyond)
        if summary.reads_stack or summary.reads & frame:
            self._leaks |= masks.stored
        convention = self._roles.saved_by_callee | 1 << self._roles.stack_pointer
        for number in masks.registers:
            given = summary.results.get(number)
            if given is not None:
                new[number] = held(given.made_of)
            elif not (summary.kept | convention) >> number & 1:
                new[number] = 0

    # --- together ---

    def _summary(self, behind: Mapping[int, Masks]) -> Summary:
        roles = self._roles
        convention = roles.saved_by_callee | 1 << roles.stack_pointer
        kept, unsaid, results = 0, 0, {}
        ends = [(masks, state) for n, state in self._returns if (masks := behind.get(n))]
        if not ends:
            kept = (1 << len(roles.names)) - 1  # it never returns
        if self._graph.name.startswith(_RESTORE):
            unsaid = convention
        for number in self._values.entry.registers if ends else ():
            own = self._values.entry.registers[number].form
            if unsaid >> number & 1:
                continue
            if all(state.registers[number].form == own for _, state in ends):
                kept |= 1 << number
            elif convention >> number & 1 and all(
                masks.own.get(("r", number)) == (number, 0) for masks, _ in ends
            ):
                kept |= 1 << number
                self._assumed.add(CONVENTION)
            else:
                results[number] = _given(number, ends)
        self._note_above(results)
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
                if together.length >= REACH:
                    together = sets.between(0, 2 * REACH)
                writes = frozenset({Written(pointer, together, max(one.size for one in up))})
        return Summary(
            writes,
            self._through & ~self._above,
            self._anywhere,
            self._reads & ~self._above,
            self._reads_stack,
            self._leaks,
            kept,
            results,
            frozenset(self._assumed | self._transfer.assumed),
        )

    def _note_above(self, results: Mapping[int, Given]) -> None:
        """What becomes of addresses of arguments on the stack."""
        given = [results[n] for n in self._roles.arguments[:2] if n in results]
        back = 0
        for one in given:
            back |= one.made_of if one.form is None else 0
        away = self._through | back | (self._leaks if self._anywhere else 0)
        if (self._leaks | back) & self._above:
            # That nobody uses it when this function has returned.
            self._assumed.add(CONVENTION)
        self._reads_stack |= bool((self._leaks | self._reads) & self._above)
        if self._writes_above or away & self._above:
            # Beyond so much it is no address in a stack any more.
            end = min(self._highest, REACH) + REACH
            self._writes.add(Written(self._roles.stack_pointer, sets.between(0, end), 1))


def _given(number: int, ends: Sequence[tuple[Masks, State]]) -> Given:
    """What a register holds behind a function that returns so."""
    made_of = 0
    for masks, _ in ends:
        made_of |= masks.registers.get(number, 0)
    forms = {state.registers[number].form for _, state in ends}
    form = next(iter(forms)) if len(forms) == 1 else None
    if form is not None and not _of_entry(form):
        form = None
    found = [state.range(state.registers[number]) for _, state in ends]
    total = found[0].interval
    for one in found[1:]:
        total = sets.join(total, one.interval)
    if any(one.stack for one in found):
        total = sets.ANY
    return Given(form, total, made_of)


def _of_entry(form: Form) -> bool:
    return all(tag.kind == "entry" and tag.place[0] == "r" for tag in form.names())


def _reads(term: Term) -> int:
    return sum(1 << number for number in set(registers_of(term)))


def _reaches_up(where: Range, size: int) -> bool:
    """It may touch what lies at or above the stack pointer at the entry."""
    _, high = where.interval.signed
    return high + size > 0
