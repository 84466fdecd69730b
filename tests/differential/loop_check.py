"""Holds the value analysis and its bounds against what functions did: every register that it says
something of, every address, every loop."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from loop_programs import Function, build
from loop_runs import STACK, STACK_SIZE, Machine, Step

from wcetchar.formula import evaluate, to_text
from wcetchar.image import load_image
from wcetchar.isa import decode_image
from wcetchar.model.flow import FunctionGraph
from wcetchar.model.image import Image
from wcetchar.static.proofs import analysed
from wcetchar.static.values import Values
from wcetchar.static.values.access_sections import AccessSections
from wcetchar.static.values.loop_bounds import DerivedBound, derive_bounds

WIDTHS = {"u8": 8, "s8": 8, "u16": 16, "s16": 16, "u32": 32, "s32": 32}
WORD = 0xFFFFFFFF
NAMES = ("a", "b", "c")


def argument(rng: random.Random, kind: str, small: bool = False) -> int:
    """A value as a caller passes it: extended to 32 bits. ``small``: one of the first few."""
    if small:
        return rng.randrange(9)
    width = WIDTHS[kind]
    value = rng.choice(
        (
            rng.randrange(12),
            rng.randrange(12),
            rng.randrange(40),
            rng.getrandbits(width),
            (1 << width) - 1,
            1 << width - 1,
        )
    ) & ((1 << width) - 1)
    if kind.startswith("s") and value >> width - 1:
        value -= 1 << width
    return value & WORD


class Checked:
    """One image, and what was found out about it."""

    def __init__(self, folder: Path, target: str, level: str, given: list[Function]) -> None:
        from wcetchar.static.flow.graph import program_graph

        self.given = given
        self.elf = build(folder, target, level, given)
        self.image: Image = load_image(self.elf)
        self.table = decode_image(self.image)
        self.machine = Machine(self.elf, target)
        addresses = [self.image.symbol(function.name).address for function in given]
        self.program = program_graph(self.image, self.table, addresses)
        self.values = analysed(self.program, self.image, self.table)
        self.coin = self.image.symbol("coin").address
        self.index = {int(address): n for n, address in enumerate(self.table.address)}
        self.seen: Counter[str] = Counter()
        self.missed: list[str] = []

    def sections_of(self, low: int, high: int) -> frozenset[str] | None:
        first, last = self.image.section_at(low), self.image.section_at(high)
        if first is None or last is None:
            return None
        return frozenset(s.name for s in self.image.sections if s.address <= high and s.end > low)

    def check(
        self, rng: random.Random, runs: int, most: int, watched: int, *, small: bool = False
    ) -> None:
        for function in self.given:
            graph = self.program.functions[self.image.symbol(function.name).address]
            values = self.values[graph.address]
            assert values.settled, function.source
            names = dict(zip(self.table.registers.arguments, NAMES, strict=False))
            bounds = derive_bounds(values, names)
            exact = dict.fromkeys(bounds, True)
            entered: set[int] = set()
            for _ in range(runs):
                given = tuple(argument(rng, kind, small) for kind in function.types)
                coin = rng.choice((0, 1, 2, 3, rng.getrandbits(32)))
                ended = self.machine.run(
                    graph.address, given, (self.coin, coin), most, self._inside(graph)
                )
                try:
                    steps = self.machine.steps
                    self._values(values, steps, watched)
                    self._loops(graph, bounds, steps, given, ended, exact, entered)
                except AssertionError as failure:
                    where = f"{self.elf} {function.name}{given} coin {coin}"
                    raise AssertionError(f"{where}\n{function.source}\n{failure}") from failure
            self._tally(function, graph, bounds, exact, entered)

    def _inside(self, graph: FunctionGraph):  # type: ignore[no-untyped-def]
        addresses = {
            self.table.instructions[index].address
            for block in graph.blocks
            for index in range(block.first, block.last + 1)
        }
        return addresses.__contains__

    # --- values ---

    def _values(self, values: Values, steps: list[Step], watched: int) -> None:
        top = STACK + STACK_SIZE - 0x1000
        sections = AccessSections(values, frozenset({"stack"}), self.sections_of)
        for step in [*steps[:watched], *steps[watched::17]]:
            if not step.registers:
                continue
            index = self.index[step.address]
            instruction = self.table.instructions[index]
            for number, value in enumerate(step.registers):
                found = values.value_before(index, number)
                assert found is not None, f"{instruction.address:#x} is executed"
                seen = value - top if found.stack else value
                assert seen & WORD in found.interval, (
                    f"{instruction.address:#x} {instruction.text}: register {number} is"
                    f" {value:#x}, not in {found}"
                )
                self.seen["values"] += 1
                self.seen["known values"] += found.interval.length < 1 << 16
            if step.accesses:
                self._accesses(values, sections, index, step, top)

    def _accesses(
        self, values: Values, sections: AccessSections, index: int, step: Step, top: int
    ) -> None:
        instruction = self.table.instructions[index]
        where = values.address_of(index)
        assert where is not None, instruction
        first = min(address for _, address, _ in step.accesses)
        seen = first - top if where.stack else first
        assert seen & WORD in where.interval, (instruction, hex(first), where)
        found = sections.sections_at(index)
        self.seen["accesses"] += 1
        self.seen["classified accesses"] += found is not None
        if found is None:
            return
        for _, address, size in step.accesses:
            for byte in (address, address + size - 1):
                if STACK <= byte < STACK + STACK_SIZE:
                    name = "stack"
                else:
                    section = self.image.section_at(byte)
                    assert section is not None
                    name = section.name
                assert name in found, (instruction, hex(byte), found)

    # --- loops ---

    def _loops(
        self,
        graph: FunctionGraph,
        bounds: Mapping[int, DerivedBound],
        steps: list[Step],
        given: tuple[int, ...],
        ended: bool,
        exact: dict[int, bool],
        entered: set[int],
    ) -> None:
        inside = self._inside(graph)
        order = [step.address for step in steps if inside(step.address)]
        self._totals(graph, bounds, order, given, ended)
        for number in range(len(graph.loops)):
            members = self._members(graph, number)
            headers = self._headers(graph, number)
            counts: list[int] = []
            before = None
            for address in order:
                if address in headers:
                    if before in members:
                        counts[-1] += 1
                    else:
                        counts.append(0)
                before = address
            if not counts:
                continue
            self.seen["entries"] += len(counts)
            bound = bounds.get(number)
            if bound is None:
                continue
            limit = max(0, evaluate(bound.limit, dict(zip(NAMES, given, strict=True))))
            assert max(counts) <= limit, (
                f"loop at {min(headers):#x} goes round {max(counts)} times, bound"
                f" {to_text(bound.limit)} = {limit} ({bound.why})"
            )
            if ended:
                entered.add(number)
                exact[number] &= max(counts) == limit

    def _headers(self, graph: FunctionGraph, number: int) -> set[int]:
        """What it is entered at, and goes back to."""
        blocks = (graph.blocks[one] for one in graph.loops[number].headers)
        return {self.table.instructions[block.first].address for block in blocks}

    def _members(self, graph: FunctionGraph, number: int) -> set[int]:
        return {
            self.table.instructions[index].address
            for member in graph.loops[number].members
            for index in range(graph.blocks[member].first, graph.blocks[member].last + 1)
        }

    def _totals(
        self,
        graph: FunctionGraph,
        bounds: Mapping[int, DerivedBound],
        order: list[int],
        given: tuple[int, ...],
        ended: bool,
    ) -> None:
        """Of loops that have a bound for each entry of a loop around them."""
        for number, bound in bounds.items():
            if bound.total is None:
                continue
            outer, most = bound.total
            members, around = self._members(graph, number), self._members(graph, outer)
            inner_headers = self._headers(graph, number)
            outer_headers = self._headers(graph, outer)
            counts: list[int] = []
            before = None
            for address in order:
                if address in outer_headers and before not in around:
                    counts.append(0)
                if address in inner_headers and before in members:
                    counts[-1] += 1
                before = address
            limit = max(0, evaluate(most, dict(zip(NAMES, given, strict=True))))
            for count in counts:
                assert count <= limit, (
                    f"loop at {min(inner_headers):#x} goes round {count} times for one entry of"
                    f" that at {min(outer_headers):#x}, bound {to_text(most)} = {limit}"
                )
            self.seen["totals"] += len(counts)
            self.seen["exact totals"] += ended and limit > 0 and limit in counts

    def _tally(
        self,
        function: Function,
        graph: FunctionGraph,
        bounds: Mapping[int, DerivedBound],
        exact: Mapping[int, bool],
        entered: set[int],
    ) -> None:
        for number in range(len(graph.loops)):
            self.seen["loops"] += 1
            self.seen["bounded"] += number in bounds
            self.seen["bounded by a formula"] += (
                number in bounds and not to_text(bounds[number].limit).isdigit()
            )
            self.seen["compared"] += number in entered
            self.seen["exact"] += number in entered and exact[number]
            if number not in bounds:
                header = self.table.instructions[graph.blocks[graph.loops[number].header].first]
                self.missed.append(f"{self.elf} {function.name} {header.address:#x}")
