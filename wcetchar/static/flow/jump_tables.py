"""Where jumps, calls and returns through registers and memory go, by what is known of registers.

A table jump is resolved if what is known of its index (``values``) bounds it: then every entry that
it can read is read from the image. Whatever is not followed to addresses or to the function's own
return is open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from wcetchar.model.instruction import Flow, Instruction
from wcetchar.static.flow import steps_arm, steps_riscv, steps_thumb
from wcetchar.static.flow.code import Code
from wcetchar.static.flow.interpret import Interpreter
from wcetchar.static.flow.state import ENTRY, State, Token, Value, plus
from wcetchar.static.flow.steps import PC, WORD, Kind, signed
from wcetchar.static.flow.value_sets import Numbers, few, highest, lowest

_EXCEPTION_RETURN: Final = 0xF0000000
"""From here on a value in pc returns from an exception (DDI 0403E, B1.5.8)."""

CALCULATED: Final = "the return address was changed by a calculation"


@dataclass(frozen=True)
class Resolved:
    """Where an instruction goes.

    Attributes:
        targets: addresses, sorted.
        link: register whose value on entry it returns to; -1: it does not return so.
        why: why the targets are not all; empty: they are.
        reached: control gets there at all.
    """

    targets: tuple[int, ...] = ()
    link: int = -1
    why: str = ""
    reached: bool = True


NOT_REACHED: Final = Resolved(reached=False)
"""Comparisons before it contradict one another, on every way."""


class Resolver:
    """Resolves instructions, given the state before them."""

    def __init__(self, code: Code, interpreter: Interpreter) -> None:
        self._code = code
        self._interpreter = interpreter

    def resolve(self, number: int, state: State | None) -> Resolved:
        """Where a jump, call or return goes that is executed in a state; ``None``: not known."""
        row = self._code.rows[number]
        if state is None:
            return Resolved(why="what registers hold there was not found out")
        if row.flow is Flow.JUMP_TABLE:
            return self._table(number, row, state)
        value, numbers = self._target(number, row, state)
        token = value.token
        if token is not None and token[0] == ENTRY and token[1] in self._code.links:
            return self._returned(value, row)
        addresses = few(numbers)
        # Code is not called at regular distances: that is what is left of too many numbers.
        rough = row.flow is Flow.CALL_INDIRECT and isinstance(numbers, range) and len(numbers) > 1
        if addresses is None or rough:
            return Resolved(why=self._unknown(value, numbers, row))
        return self._addresses(number, row, list(addresses))

    def case_table(self, number: int, state: State | None, size: int, extends: bool) -> Resolved:
        """Targets of a call of one of libgcc's helpers for switches (``functions.CASES``)."""
        row = self._code.rows[number]
        numbers = None if state is None else state.of(state.registers[0])
        index = few(numbers)
        if index is None:
            return Resolved(why="no comparison on every way bounds the index in r0")
        start = row.end + 3 & ~3 if size == 4 else row.end
        targets = set[int]()
        for place in index:
            if extends and place >> 31:
                place -= 1 << 32
            entry = self._interpreter.memory.read(start + place * size & WORD, size, literal=True)
            if entry is None:
                return Resolved(why=f"the table at {start:#x} has no entry {place}")
            if extends:
                entry = signed(entry, 8 * size)
            targets.add(start + entry * (1 if size == 4 else 2) & WORD & ~1)
        return Resolved(tuple(sorted(targets)))

    def _target(self, number: int, row: Instruction, state: State) -> tuple[Value, Numbers | None]:
        """What pc gets, and which numbers that can be."""
        code = self._code
        if code.riscv:
            base, offset = steps_riscv.jump(row)
            value = plus(state.registers[base], offset)
            return value, state.of(value)
        read = steps_arm.branch_register if code.is_arm(number) else steps_thumb.branch_register
        register = read(row)
        if register is not None:
            value = self._interpreter.read(state, register, number)
            return value, state.of(value)
        after = state.copy()
        after.registers[PC] = Value(("not written",), 0)
        self._interpreter.execute(after, number, after.tokens())
        value = after.registers[PC]
        return value, after.of(value)

    def _table(self, number: int, row: Instruction, state: State) -> Resolved:
        """tbb and tbh (DDI 0403E, A7.7.185): twice the entry is added to pc."""
        base_register, index_register, halfwords = steps_thumb.table_index(row)
        base = self._interpreter.read(state, base_register, number)
        size = 2 if halfwords else 1
        index = few(state.of(state.registers[index_register]))
        if base.token is not None:
            return Resolved(why="the table's address is not known")
        if index is None:
            return Resolved(why=self._unbounded(index_register))
        targets = set[int]()
        for place in index:
            entry = self._interpreter.memory.read(
                base.number + place * size & WORD, size, literal=base_register == PC
            )
            if entry is None:
                return Resolved(why=f"the table at {base.number:#x} has no entry {place}")
            targets.add(row.address + 4 + 2 * entry & WORD)
        return Resolved(tuple(sorted(targets)))

    def _unbounded(self, register: int) -> str:
        name = self._code.table.registers.names[register]
        return f"no comparison on every way bounds the index in {name}"

    def _returned(self, value: Value, row: Instruction) -> Resolved:
        assert value.token is not None
        link = value.token[1]
        assert isinstance(link, int)
        if value.number & ~1 and not row.masks:
            offset = signed(value.number, 32)
            return Resolved(why=f"it returns to its caller's return address {offset:+d}")
        return Resolved(link=link)

    def _addresses(self, number: int, row: Instruction, addresses: list[int]) -> Resolved:
        """Addresses without the bit that tells the state."""
        code = self._code
        if code.riscv:
            return Resolved(tuple(sorted({address & ~1 for address in addresses})))
        if not code.interworks and all(address >= _EXCEPTION_RETURN for address in addresses):
            return Resolved(link=code.links[0])
        arm = code.is_arm(number)
        exchanges = not code.interworks or self._exchanges(number, row)
        found = set[int]()
        for address in addresses:
            to_arm = arm if not exchanges else not address & 1
            if not code.interworks:
                # Moves to pc leave bit 0 out of account (DDI 0403E, A2.3.1, BranchWritePC).
                to_arm = not address & 1 and self._loads_or_exchanges(number, row)
            target = address & (~3 if to_arm else ~1)
            at = code.at.get(target)
            if at is not None and code.is_arm(at) != to_arm:
                return Resolved(why=f"it enters {target:#x} in the wrong state")
            found.add(target)
        return Resolved(tuple(sorted(found)))

    def _exchanges(self, number: int, row: Instruction) -> bool:
        """In Armv4T only bx changes the state, no load and no move (DDI 0100I, A2.4.3)."""
        read = (
            steps_arm.branch_register if self._code.is_arm(number) else steps_thumb.branch_register
        )
        return read(row) is not None

    def _loads_or_exchanges(self, number: int, row: Instruction) -> bool:
        return row.memory is not None or steps_thumb.branch_register(row) is not None

    def _unknown(self, value: Value, numbers: Numbers | None, row: Instruction) -> str:
        if numbers is not None:
            low, high = lowest(numbers), highest(numbers)
            return f"it may go to any of {len(numbers)} addresses from {low:#x} to {high:#x}"
        token = value.token
        if token is not None and self._calculated(token):
            return CALCULATED
        if row.memory is not None and row.memory.index is not None:
            return self._unbounded(row.memory.index)
        return "its target is loaded from memory that may change, or is an argument"

    def _calculated(self, token: Token) -> bool:
        """A value that an addition made of the return address."""
        if token[0] != "by":
            return False
        number = token[1]
        assert isinstance(number, int)
        step = self._interpreter.step(number)
        links = self._code.links
        return (
            step is not None
            and step.kind in (Kind.ADD, Kind.SUM)
            and (step.a in links or step.b in links)
        )
