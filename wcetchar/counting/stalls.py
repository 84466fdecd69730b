"""Stalls: where an instruction may take longer because of its neighbours, as core events.

What a core hides and what it does not differs from core to core; the profile prices it. Here is
counted where it can happen, in terms of the program alone. Inputs: the executed instructions of a
window in their own order (what other contexts do in between does not count), the instruction
table's :class:`Columns`. Output: (event kind, positions) pairs, in units of one.

Of two instructions p and i, i *next* to p or the *second* behind it::

    load-use stall                      i is next to a load and uses what that wrote
    ... of an access                    and i is a data access itself
    ... of a system register            and i reads or writes a system register
    second load-use stall               i is the second behind a load and uses a register that it
                                        wrote; the one between did not use it
    ... behind an access                and the one between made a data access
    second use stall behind a transfer  the same of a load or multiply, in place of the kinds for
                                        these, where the one between transferred control
    multiply-use stall, second ...      the same as of a load, of a multiply
    divide-use stall                    i is next to a division and uses its result
    shift-use stall                     i is next to a shift or rotation and uses its result
    system register-use stall           i is next to an access of a system register, and uses it
    system register wait                i is an access of a system register, and not next to a
                                        transfer of control (below)
    ... behind a transfer               the same next to one that took effect early, or first in a
                                        window; i lies in one fetch word
    ... across words                    and i lies across two
    address-use stall                   i makes a data access whose address is made of a register
                                        that p computed; p is the instruction before i, or before
                                        hints that are before i, which some cores take no time for
    consecutive access                  i and the one before it make data accesses, and i is no
                                        load-use stall of an access

Computed is what does not come from memory: of a load or store, a base that it updates.

What a load wrote are all registers that it writes, an updated base among them; exclusive stores are
loads here, since whether they stored comes from memory. A predicated instruction uses what it
writes, since without effect it leaves the old value. The one between that uses the result as well
has waited for it, so that the second need not; one that is predicated may have done nothing. If the
one between wrote the register anew, i needs nothing of the load, but a core may hold it by the
register's name alone; not where the one between transferred control, nor where it is a load or
multiply itself, which i waits for longer. A predicated access counts as one.

Of transfers of control, for cores that predict a branch backwards as taken, and others as not; a
*branch* is a direct jump or call that is conditional or predicated::

    forward branch taken                a branch to a higher address was taken
    backward branch untaken             a branch to its own address or a lower one was not
    indirect jump                       to where a register or a table says, neither call nor return
    crossing target                     what control was transferred to, or what follows a barrier,
                                        lies across two fetch words
    crossing fall-through               the same of what follows a backward branch that fell through

A fetch unit that delivers one word a cycle has to hold it where two instructions begin in one: it
is *held* in the cycle that decodes an instruction behind which another one lies in the same word.
If control is transferred in that cycle, the first fetch from the target starts one later::

    fetch held early    a jump, call or branch backwards was taken. It takes effect when it is
                        decoded: then the instruction behind it in memory is before the decoder
    fetch held late     of other transfers, and of branches backwards that fell through: they take
                        effect late, two cycles later. Then the third instruction behind it is
                        before the decoder, or the second behind a predicted target

*Late* counts as held wherever what was fetched in vain may have had to wait, and where it is not
known; ``front_end`` has it case by case. ``realigned``: the same, where it would happen only at
another address modulo the fetch width.

The first instruction of a window was reached by a transfer of control, behind an instruction that
may have loaded what it uses. What it is that a window returns to, and what that uses, is no part of
the window: it is the caller's, and behind a handler the price of ``exception exit`` holds it. A
part that goes on behind a load that switched threads has that load before it, whoever executed it,
and before that the one before it in memory: what jumps to such a load loads nothing itself, where
loads are priced that are used by the second instruction behind them.

Source: the dependencies are those of textbooks (Hennessy and Patterson, "Computer Architecture",
appendix C, "The Major Hurdle of Pipelining"); the fetch unit is that of cores with compressed
instructions, such as VexRiscv, on whose RTL all of this was measured (docs/explanation/rtl.md).

Soundness: what is priced by these events holds for cores that issue in order, one instruction a
cycle at most, and forward results; a profile says so by pricing them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wcetchar.counting.columns import FLOW, KIND, Codes, Columns
from wcetchar.counting.front_end import (
    LOADS,
    MULTIPLIES,
    SYSTEM,
    FrontEnd,
    is_predicted,
)
from wcetchar.model.access import EventKind
from wcetchar.model.instruction import Flow, Instruction, InstructionTable

Flags = npt.NDArray[np.bool_]


class Stalls:
    """Counts stalls of windows of one image."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        table = columns.table
        rows = table.instructions
        self._defs = np.array([i.defs for i in rows], dtype=np.int64)
        self._uses = np.array([i.uses for i in rows], dtype=np.int64)
        self._load = np.isin(columns.issue, [KIND[k] for k in LOADS])
        self._multiply = np.isin(columns.issue, [KIND[k] for k in MULTIPLIES])
        self._system = np.isin(columns.issue, [KIND[k] for k in SYSTEM])
        self._divide = columns.issue == KIND[EventKind.DIVIDE]
        self._shift = np.array([i.shift for i in rows], dtype=bool)
        self._access = columns.reads + columns.writes > 0
        self._hint = columns.issue == KIND[EventKind.HINT]
        self._address = np.array([_address_of(i) for i in rows], dtype=np.int64)
        self._computed = np.array([i.defs & ~_loaded(i) for i in rows], dtype=np.int64)
        address = table.address.astype(np.int64)
        direct = np.isin(columns.flow, [FLOW[Flow.JUMP], FLOW[Flow.CALL]])
        self._branch = direct & columns.conditional
        self._predicated = columns.conditional & ~self._branch
        self._barrier = columns.issue == KIND[EventKind.BARRIER]
        self._backward = self._branch & (columns.target >= 0) & (columns.target <= address)
        self._indirect = np.isin(columns.flow, [FLOW[Flow.JUMP_INDIRECT], FLOW[Flow.JUMP_TABLE]])
        self._predicted = np.array([is_predicted(i) for i in rows], dtype=bool)

    @cached_property
    def _here(self) -> FrontEnd:
        return FrontEnd(self._columns.table, 0)

    @cached_property
    def _moved(self) -> tuple[FrontEnd, ...]:
        """The same code at every other address modulo the fetch width."""
        table = self._columns.table
        return tuple(
            FrontEnd(table, moved)
            for moved in range(table.granule, table.fetch_bytes, table.granule)
        )

    def of(
        self, index: Codes, address: Codes, end: Codes, taken: Flags, behind: int = -1
    ) -> Iterator[tuple[EventKind, Codes]]:
        """Stalls of a window.

        Args:
            index: table index of each instruction, in the order of execution.
            address, end: where it begins and ends.
            taken: it sent control elsewhere than to the next one; of the last one, too.
            behind: table index of what was executed right before the window, and is the one
                before it in memory; -1: that is not known.
        """
        if behind < 0:
            yield from self._found(index, address, end, taken)
            return
        table = self._columns.table
        before = np.array(following_up_to(table, behind), dtype=np.int64)
        number = len(before)
        start = table.address.astype(np.int64)[before]
        for kind, where in self._found(
            np.concatenate((before, index)),
            np.concatenate((start, address)),
            np.concatenate((start + self._columns.length[before], end)),
            np.concatenate((np.zeros(number, dtype=bool), taken)),
        ):
            yield kind, where[where >= number] - number

    def _found(
        self, index: Codes, address: Codes, end: Codes, taken: Flags
    ) -> Iterator[tuple[EventKind, Codes]]:
        yield from self._uses_of(index, taken)
        yield from self._transfers(index, address, end, taken)

    def late(self, index: Codes, taken: Flags) -> Flags:
        """Which instructions of a window send control elsewhere late, or back where it was."""
        predicted = self._predicted[index]
        found: Flags = (taken & ~predicted) | (self._backward[index] & ~taken)
        return found

    def _uses_of(self, index: Codes, taken: Flags) -> Iterator[tuple[EventKind, Codes]]:
        uses, defs = self._uses[index], self._defs[index]
        load, access, system = self._load[index], self._access[index], self._system[index]
        multiply = self._multiply[index]
        needs_next = np.zeros(len(index), dtype=np.int64)
        needs_next[1:] = defs[:-1] & uses[1:]
        after = _behind(load) & (needs_next != 0)
        yield _at(EventKind.SYSTEM_LOAD_USE_STALL, after & system)
        yield _at(EventKind.ACCESS_LOAD_USE_STALL, after & access & ~system)
        yield _at(EventKind.LOAD_USE_STALL, after & ~access & ~system)
        yield _at(EventKind.CONSECUTIVE_ACCESS, access & _behind(access) & ~(after & ~system))
        yield _at(EventKind.MULTIPLY_USE_STALL, _behind(multiply) & (needs_next != 0))
        yield _at(EventKind.DIVIDE_USE_STALL, _behind(self._divide[index]) & (needs_next != 0))
        yield _at(EventKind.SHIFT_USE_STALL, _behind(self._shift[index]) & (needs_next != 0))
        yield _at(EventKind.SYSTEM_USE_STALL, _behind(system) & (needs_next != 0))
        yield _at(EventKind.ADDRESS_USE_STALL, self._address_late(index))
        second = np.zeros(len(index), dtype=bool)
        if len(index) > 2:
            # What is predicated may have no effect: it neither waits nor replaces anything then.
            effective = ~self._predicated[index]
            waited, replaced = (np.where(effective, what, 0)[1:-1] for what in (uses, defs))
            needed = defs[:-2] & ~waited & uses[2:]
            longer = (load | multiply)[1:-1] & (defs[1:-1] & uses[2:] != 0)
            by_name = (needed & replaced != 0) & ~taken[1:-1] & ~longer
            second[2:] = (needed & ~replaced != 0) | by_name
        between = _behind(taken)
        from_load = second & _behind(_behind(load))
        from_multiply = second & _behind(_behind(multiply))
        yield _at(EventKind.SECOND_LOAD_USE_STALL_ACCESS, from_load & _behind(access) & ~between)
        yield _at(EventKind.SECOND_LOAD_USE_STALL, from_load & ~_behind(access) & ~between)
        yield _at(EventKind.SECOND_MULTIPLY_USE_STALL, from_multiply & ~between)
        across = (from_load | from_multiply) & between
        across[0] = uses[0] != 0  # what the caller did before it called is not known
        yield _at(EventKind.SECOND_USE_STALL_TRANSFER, across)

    def _address_late(self, index: Codes) -> Flags:
        """The instruction before, hints left out, computed a part of the address."""
        real = np.flatnonzero(~self._hint[index])
        late = np.zeros(len(index), dtype=bool)
        late[real[1:]] = self._computed[index[real[:-1]]] & self._address[index[real[1:]]] != 0
        return late

    def _transfers(
        self, index: Codes, address: Codes, end: Codes, taken: Flags
    ) -> Iterator[tuple[EventKind, Codes]]:
        branch, backward = self._branch[index], self._backward[index]
        yield _at(EventKind.FORWARD_BRANCH_TAKEN, branch & ~backward & taken)
        untaken = backward & ~taken
        yield _at(EventKind.BACKWARD_BRANCH_UNTAKEN, untaken)
        yield _at(EventKind.INDIRECT_JUMP, self._indirect[index] & taken)
        reached = _behind(taken | self._barrier[index])
        reached[0] = True
        crosses, could = self._crossing(index, address, end)
        for kind, other, where in (
            (EventKind.CROSSING_TARGET, EventKind.CROSSING_TARGET_REALIGNED, reached),
            (
                EventKind.CROSSING_FALL_THROUGH,
                EventKind.CROSSING_FALL_THROUGH_REALIGNED,
                _behind(untaken),
            ),
        ):
            yield _at(kind, where & crosses)
            yield _at(other, where & could & ~crosses)
        early, late = taken & self._predicted[index], self.late(index, taken)
        behind_load = self._behind_load(index)
        held_early, held_late = self._held(self._here, index, behind_load)
        # A transfer that took effect late takes longer than these.
        waits, behind = self._system[index] & ~_behind(late), _behind(early)
        behind[0] = True
        yield _at(EventKind.SYSTEM_WAIT, waits & ~behind)
        yield _at(EventKind.SYSTEM_WAIT_TRANSFER, waits & behind & ~crosses)
        yield _at(EventKind.SYSTEM_WAIT_CROSSING, waits & behind & crosses)
        yield _at(EventKind.SYSTEM_WAIT_TRANSFER_REALIGNED, waits & behind & crosses)
        yield _at(EventKind.FETCH_HELD_EARLY, early & held_early)
        yield _at(EventKind.FETCH_HELD_LATE, late & held_late)
        if self._moved:
            moved = [self._held(front, index, behind_load) for front in self._moved]
            could_early = np.any([one for one, _ in moved], axis=0)
            could_late = np.any([one for _, one in moved], axis=0)
            yield _at(EventKind.FETCH_HELD_EARLY_REALIGNED, early & could_early & ~held_early)
            yield _at(EventKind.FETCH_HELD_LATE_REALIGNED, late & could_late & ~held_late)

    def _crossing(self, index: Codes, address: Codes, end: Codes) -> tuple[Flags, Flags]:
        """Which instructions lie across two fetch words, and which could elsewhere."""
        width, granule = self._columns.fetch_bytes[index], self._columns.granule[index]
        crosses = address // width != (end - 1) // width
        return crosses, end - address + width - granule > width

    def _behind_load(self, index: Codes) -> Flags:
        """Per instruction, wherever the code lies: what is behind it uses what a load or multiply
        next before it wrote."""
        found = np.zeros(len(index), dtype=bool)
        slow, needs = (self._load | self._multiply)[index], self._here.uses_behind[index]
        found[1:] = slow[:-1] & (self._defs[index][:-1] & needs[1:] != 0)
        return found

    @staticmethod
    def _held(front: FrontEnd, index: Codes, behind_load: Flags) -> tuple[Flags, Flags]:
        """Per instruction: the fetch unit is held when it transfers control, early and late."""
        return front.early[index], front.late[index] | (behind_load & front.late_behind_load[index])


def following_up_to(table: InstructionTable, last: int) -> list[int]:
    """The instruction before one in memory, if there is one, and that one."""
    rows = table.instructions
    follows = last > 0 and rows[last - 1].end == rows[last].address
    return [last - 1, last] if follows else [last]


def _address_of(instruction: Instruction) -> int:
    """Bit mask of the registers that an address is made of."""
    memory = instruction.memory
    parts = (memory.base, memory.index) if memory else ()
    return sum({1 << part for part in parts if part is not None}) & instruction.uses


def _loaded(instruction: Instruction) -> int:
    """Bit mask of the registers that come from memory."""
    memory = instruction.memory
    if memory is None or not memory.reads:
        return 0
    parts = memory.transfers[: memory.reads]
    return sum({1 << part.register for part in parts if part.register is not None})


def _behind(flags: Flags) -> Flags:
    """Each flag at the following instruction."""
    moved = np.zeros(len(flags), dtype=bool)
    moved[1:] = flags[:-1]
    return moved


def _at(kind: EventKind, flags: Flags) -> tuple[EventKind, Codes]:
    return kind, np.flatnonzero(flags)
