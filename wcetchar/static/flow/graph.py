"""The control flow of a program: every function that some entries reach by calls and tail calls.

Whether control goes on behind a call depends on whether the called function returns. A function
returns if its flow gets to a return or to a tail call of one that returns; nothing does until it is
found to (a least fixed point), so that code behind ``abort()`` is not taken for flow.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType
from typing import Final

import networkx as nx

from wcetchar.errors import InputError, Location
from wcetchar.model.flow import (
    BasicBlock,
    Edge,
    FunctionGraph,
    OpenEnd,
    OpenKind,
    ProgramGraph,
    Transfer,
    TransferKind,
)
from wcetchar.model.image import Image
from wcetchar.model.instruction import Flow, InstructionTable
from wcetchar.static.flow.code import Code
from wcetchar.static.flow.functions import Functions
from wcetchar.static.flow.loops import find_loops
from wcetchar.static.flow.of_function import Explored, Explorer

_NOTHING: Final[Mapping[int, tuple[int, ...]]] = MappingProxyType({})


def program_graph(
    image: Image,
    table: InstructionTable,
    entries: Iterable[int],
    *,
    targets: Mapping[int, tuple[int, ...]] = _NOTHING,
    no_return: Collection[int] = (),
    never: Collection[int] = (),
    switches: Collection[int] = (),
) -> ProgramGraph:
    """Graphs of all functions that ``entries`` reach by calls and tail calls, each once.

    Args:
        entries: addresses of functions, without the bit for Thumb state.
        targets: by address of an indirect call or jump, where it goes; used for those that the
            analysis does not resolve by itself.
        no_return: addresses of functions that do not return.
        never: addresses of instructions that are not executed; flow that gets there is cut. A
            predicated one is passed without effect.
        switches: addresses of loads that switch threads. The function of such a load returns to its
            caller, for what its thread put away is there when that goes on.

    Raises:
        InputError: no instruction begins at an entry.
    """
    return _Program(image, table, targets, no_return, never, switches).graph(sorted(set(entries)))


class _Program:
    def __init__(
        self,
        image: Image,
        table: InstructionTable,
        targets: Mapping[int, tuple[int, ...]],
        no_return: Collection[int],
        never: Collection[int],
        switches: Collection[int],
    ) -> None:
        self._code = Code(image, table)
        self._functions = Functions(self._code)
        self._no_return = frozenset(no_return)
        self._returning = set[int]()
        self._explorer = Explorer(
            self._code,
            self._functions,
            targets,
            never,
            self._returning.__contains__,
            switches,
        )
        self._explored: dict[int, Explored] = {}
        self._waiting: dict[int, set[int]] = {}

    def graph(self, entries: list[int]) -> ProgramGraph:
        for entry in entries:
            if entry not in self._code.at:
                raise InputError(
                    f"a function at {entry:#010x} was to be analysed: {self._code.why_not(entry)}",
                    where=Location(self._code.image.path),
                    expected="the address of a function's first instruction",
                )
        self._explore_all(entries)
        reached = self._reached(entries)
        links = self._links(reached)
        graphs = {
            address: self._function(self._explored[address], links) for address in sorted(reached)
        }
        return ProgramGraph(graphs, self._recursive(reached))

    # --- exploring --------------------------------------------------------------------------------

    def _explore_all(self, entries: list[int]) -> None:
        """Callees before callers where that can be told at a glance, then whatever comes up."""
        todo = self._callees_first(entries)
        queued = set(todo)
        todo.reverse()
        while todo:
            address = todo.pop()
            queued.discard(address)
            found = self._explored[address] = self._explorer.explore(address)
            for callee in found.asked | found.calls:
                self._waiting.setdefault(callee, set()).add(address)
            returns = address not in self._no_return and found.may_return(self._returning)
            if returns and address not in self._returning:
                self._returning.add(address)
                for caller in sorted(self._waiting.get(address, ())):
                    if caller not in queued and self._concerns(caller, address):
                        queued.add(caller)
                        todo.append(caller)
            for callee in sorted(found.calls):
                if callee not in self._explored and callee not in queued:
                    queued.add(callee)
                    todo.append(callee)

    def _concerns(self, caller: int, callee: int) -> bool:
        """That a function returns changes what is known of a caller."""
        found = self._explored[caller]
        if callee in found.asked:
            return True
        return caller not in self._returning and any(
            callee in end.tails for end in found.blocks.exits
        )

    def _callees_first(self, entries: list[int]) -> list[int]:
        """Functions in postorder of direct calls, as far as symbols with sizes show them."""
        order: list[int] = []
        seen = set[int]()
        for entry in entries:
            stack: list[tuple[int, list[int]]] = []
            if entry not in seen:
                seen.add(entry)
                stack.append((entry, self._glance(entry)))
            while stack:
                address, callees = stack[-1]
                while callees:
                    callee = callees.pop()
                    if callee not in seen:
                        seen.add(callee)
                        stack.append((callee, self._glance(callee)))
                        break
                else:
                    order.append(address)
                    stack.pop()
        return order

    def _glance(self, address: int) -> list[int]:
        code = self._code
        inside = self._functions.range_of(address)
        if inside.start != address:
            return []
        found = set[int]()
        number = code.at[address]
        while 0 <= number < len(code.rows) and code.rows[number].address < inside.stop:
            row = code.rows[number]
            if row.flow in (Flow.CALL, Flow.JUMP) and row.target not in inside:
                found.add(row.target or 0)
            elif row.flow in (Flow.CALL_INDIRECT, Flow.JUMP_INDIRECT) and code.riscv:
                found.update(self._explorer.far_target(number))
            number += 1
        return sorted((a for a in found if a in self._functions.boundaries), reverse=True)

    def _reached(self, entries: list[int]) -> set[int]:
        reached = set[int]()
        stack = list(entries)
        while stack:
            address = stack.pop()
            if address not in reached:
                reached.add(address)
                stack.extend(self._explored[address].calls)
        return reached

    def _recursive(self, reached: set[int]) -> frozenset[int]:
        calls = nx.DiGraph()
        calls.add_nodes_from(reached)
        calls.add_edges_from((a, b) for a in reached for b in self._explored[a].calls)
        return frozenset(
            address
            for part in nx.strongly_connected_components(calls)
            for address in part
            if len(part) > 1 or calls.has_edge(address, address)
        )

    def _links(self, reached: set[int]) -> Mapping[int, frozenset[int]]:
        """By function, registers that it returns through, by itself or through tail calls."""
        if not self._code.riscv:
            return {}
        links = {address: set(self._explored[address].links) for address in reached}
        callers: dict[int, set[int]] = {}
        for address in reached:
            for end in self._explored[address].blocks.exits:
                for tail in end.tails:
                    callers.setdefault(tail, set()).add(address)
        stack = sorted(reached)
        while stack:
            address = stack.pop()
            for caller in callers.get(address, ()):
                if not links[address] <= links[caller]:
                    links[caller] |= links[address]
                    stack.append(caller)
        return {address: frozenset(found) for address, found in links.items()}

    # --- what is handed on ------------------------------------------------------------------------

    def _function(self, found: Explored, links: Mapping[int, frozenset[int]]) -> FunctionGraph:
        rows, blocks = self._code.rows, found.blocks
        edges = tuple(sorted(Edge(*edge) for edge in set(blocks.edges)))
        loops = find_loops(len(blocks.blocks), edges, blocks.entries)
        transfers, open_ends = [], set[OpenEnd]()
        exceptional = found.address in self._functions.handlers
        returns, stops = [], []
        for number, (block, end) in enumerate(zip(blocks.blocks, blocks.exits, strict=True)):
            row = rows[block.last]
            ends = list(end.open)
            if end.calls is not None:
                link = self._code.link_of(block.last)
                for callee in end.calls:
                    if not links.get(callee, frozenset()) <= {link}:
                        why = "the function that it calls returns through another register"
                        ends.append(OpenEnd(OpenKind.CALL, row.address, why))
                if not end.stops:
                    complete = not any(e.kind is not OpenKind.FALLS_OUT for e in ends)
                    transfers.append(Transfer(number, TransferKind.CALL, end.calls, complete))
            if end.tails:
                transfers.append(Transfer(number, TransferKind.TAIL_CALL, end.tails, end.complete))
            open_ends.update(ends)
            if end.returns:
                returns.append(number)
                if row.masks or (self._code.riscv and not row.uses):
                    exceptional = True
            if end.stops:
                stops.append(number)
        return FunctionGraph(
            name=self._functions.name(found.address),
            address=found.address,
            blocks=tuple(BasicBlock(b.first, b.last, b.skipped) for b in blocks.blocks),
            edges=edges,
            entries=blocks.entries,
            transfers=tuple(transfers),
            returns=tuple(returns),
            stops=tuple(stops),
            open=tuple(sorted(open_ends, key=lambda e: (e.address, e.kind, e.why))),
            loops=loops,
            exception_return=exceptional,
        )
