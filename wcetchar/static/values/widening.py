"""Widening: what grows at a loop's header moves on to the next constant, and then to everything.

After ``PLAIN_ROUNDS`` rounds a set is widened to the next of the constants that the function has,
or one beside it, after ``CONSTANT_ROUNDS`` more to all numbers of its residue. So every set changes
finitely often. Source: P. Cousot and R. Cousot, POPL 1977; constants as thresholds: B. Blanchet and
others, "A static analyzer for large safety-critical software", PLDI 2003.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from wcetchar.model.flow import FunctionGraph
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.term import Constant, Operation, Term
from wcetchar.static.values import interval as sets
from wcetchar.static.values.form import Range, Tag, Value
from wcetchar.static.values.interval import Interval
from wcetchar.static.values.state import State

PLAIN_ROUNDS: Final = 2
"""How often a set at a loop may grow by itself before it is widened to the next constant."""
CONSTANT_ROUNDS: Final = 32
"""And to a constant before it is widened to everything."""

_USUAL: Final = (0, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, sets.SIGN - 1)


class Widening:
    """Of one function, for an iteration over its graph."""

    def __init__(self, graph: FunctionGraph, table: InstructionTable) -> None:
        self._constants = _constants(graph, table)
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

    def widened(self, old: State, new: State, block: int) -> State:
        """``new``, what the header ``block`` is entered with, with ranges moved outwards that grow
        with every round of the loop; ``old``: the same of the round before."""
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
            former = old.value_at(place)
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
