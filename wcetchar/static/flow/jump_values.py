"""Which values registers hold in a function, so that jumps through registers can be followed.

A forward analysis over the blocks found so far: constants, copies, sums with constants, words that
were pushed and popped, unsigned ranges that comparisons leave, and loads from memory that nothing
writes. A table jump is thereby resolved only if its index is bounded on *every* path that reaches
it, whatever compared it.

What is taken for granted of calls and stores, ``interpret`` says.

Source of the method: P. Cousot and R. Cousot, "Abstract interpretation", POPL 1977.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import networkx as nx

from wcetchar.model.flow import EdgeKind
from wcetchar.model.instruction import Flow
from wcetchar.static.flow.blocks import Block
from wcetchar.static.flow.interpret import Interpreter
from wcetchar.static.flow.junctions import merge
from wcetchar.static.flow.state import Slot, State, Token

_INDIRECT_JUMPS: Final = (Flow.JUMP_INDIRECT, Flow.JUMP_TABLE)
_VISITS: Final = 60
"""So often on average a block is looked at before the function is given up."""


class Values:
    """States at the beginning of each block of a function, once nothing changes any more.

    Attributes:
        before: by block; ``None`` where it is not reached, or the function was given up.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        blocks: Sequence[Block],
        edges: Sequence[tuple[int, int, EdgeKind]],
        entries: Iterable[int],
    ) -> None:
        self._interpreter = interpreter
        self._blocks = blocks
        self.before: list[State | None] = [None] * len(blocks)
        self._leaving: dict[int, list[tuple[int, EdgeKind]]] = {}
        self._arriving: dict[int, list[tuple[int, EdgeKind]]] = {}
        for source, target, kind in edges:
            self._leaving.setdefault(source, []).append((target, kind))
            self._arriving.setdefault(target, []).append((source, kind))
        self._entries = frozenset(entries)
        graph = nx.DiGraph((source, target) for source, target, _ in edges)
        self._repeated = {
            number
            for part in nx.strongly_connected_components(graph)
            for number in part
            if len(part) > 1 or graph.has_edge(number, number)
        }
        self._kept: list[frozenset[Slot]] | None = None
        self._lost = False
        self.given_up = not self._solve()
        if self._lost and not self.given_up and self._has_jumps():
            self._solve_anew()
        if self.given_up:
            self.before = [None] * len(blocks)

    def _has_jumps(self) -> bool:
        rows = self._interpreter.code.rows
        return any(rows[block.last].flow in _INDIRECT_JUMPS for block in self._blocks)

    def _solve_anew(self) -> None:
        """Once more, without the stack slots that turned out not to be known. Registers that were
        loaded from these had other tokens before, and a register that ever differed where ways meet
        has a token of its own there: what an index is calculated from would stay forgotten.

        Sound: the same iteration, which knows less of slots.
        """
        first = self.before
        self._kept = [
            frozenset() if state is None else frozenset(state.slots) for state in self.before
        ]
        self.before = [None] * len(self._blocks)
        if not self._solve():
            self.before = first

    def _order(self) -> Mapping[int, int]:
        """Numbers in reverse postorder, so that most predecessors come first."""
        seen, post = set[int](), list[int]()
        for entry in sorted(self._entries):
            stack: list[tuple[int, int]] = [(entry, 0)]
            if entry in seen:
                continue
            seen.add(entry)
            while stack:
                block, at = stack.pop()
                leaving = self._leaving.get(block, [])
                if at < len(leaving):
                    stack.append((block, at + 1))
                    target = leaving[at][0]
                    if target not in seen:
                        seen.add(target)
                        stack.append((target, 0))
                else:
                    post.append(block)
        return {block: number for number, block in enumerate(reversed(post))}

    def _solve(self) -> bool:
        order = self._order()
        outs: dict[int, State] = {}
        sticky: dict[int, set[object]] = {}
        grown: dict[int, dict[Token, int]] = {}
        heap = [(order[entry], entry) for entry in self._entries]
        heapq.heapify(heap)
        waiting = set(self._entries)
        left = _VISITS * len(self._blocks) + 1000
        while heap:
            left -= 1
            if left < 0:
                return False
            _, number = heapq.heappop(heap)
            waiting.discard(number)
            block = self._blocks[number]
            states = [self._interpreter.initial()] if number in self._entries else []
            for source, kind in self._arriving.get(number, []):
                if source in outs:
                    there = self._interpreter.along(outs[source], self._blocks[source], kind)
                    if not there.impossible:
                        states.append(there)
            if not states:
                continue
            counts = grown.setdefault(number, {})
            place: Token = ("at", block.first, number)
            if len(states) == 1 and len(self._arriving.get(number, ())) <= 1:
                state = states[0]
            else:
                state = merge(states, place, sticky.setdefault(number, set()), counts)
            if self._kept is not None and not state.slots.keys() <= self._kept[number]:
                state = state.copy()
                state.slots = {s: v for s, v in state.slots.items() if s in self._kept[number]}
            before = self.before[number]
            if before is not None:
                if before.same(state):
                    continue
                self._lost |= not before.slots.keys() <= state.slots.keys()
                for token, numbers in before.numbers.items():
                    if state.numbers.get(token) != numbers:
                        name = token if token[:-1] == place else (*place, token)
                        counts[name] = counts.get(name, 0) + 1
            self.before[number] = state
            out = self._interpreter.block(state, block, again=number in self._repeated)
            if out.impossible:
                continue
            outs[number] = out
            for target, _ in self._leaving.get(number, []):
                if target not in waiting:
                    waiting.add(target)
                    heapq.heappush(heap, (order[target], target))
        return True

    def before_last(self, number: int) -> State | None:
        """What holds before the last instruction of a block, given that it is executed."""
        state, block = self.before[number], self._blocks[number]
        if state is None:
            return None
        state = self._interpreter.block(state, block, end=block.last)
        if block.last in block.executed:
            state.assume(self._interpreter.code.rows[block.last].condition)
        return None if state.impossible else state
