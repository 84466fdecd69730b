"""States along the edges of a function's graph, pushed on until nothing new comes up.

Rounds go up from nothing: states are joined where control comes together, and widened at the
targets of back edges (:mod:`~wcetchar.static.values.widening`). Then ``NARROWING_ROUNDS`` go down
from the fixed point. Source: P. Cousot and R. Cousot, POPL 1977.

Soundness. However the states came about, one more round from all of them must find nothing that
they do not hold; where it does, nothing is known.
"""

from __future__ import annotations

from typing import Final

from wcetchar.model.flow import Edge, EdgeKind, FunctionGraph, OpenKind
from wcetchar.model.instruction import Flow, InstructionTable
from wcetchar.static.values.branches import Outcome
from wcetchar.static.values.form import Place, Value
from wcetchar.static.values.state import ANYTHING, State, covers, joined, joined_ranges
from wcetchar.static.values.transfer import Transfer
from wcetchar.static.values.widening import Widening

NARROWING_ROUNDS: Final = 3
MOST_GUESSES: Final = 12
FREE_ROUNDS: Final = 80
"""Of one block, after which what varies there, or is different, stays so."""
MOST_ROUNDS: Final = 400
"""Of one block. An iteration that goes on longer is given up."""


class _Unsettled(Exception):
    pass


class FixedPoint:
    """
    Attributes:
        before: of each block, the state that it is entered with; ``None``: never entered.
        after: of each edge, the state behind it.
        outcomes: of each edge that a conditional branch goes, what is true where it does.
        settled: false: the rounds did not come to an end, or control goes to where is not known;
            nothing holds.
    """

    def __init__(
        self, graph: FunctionGraph, table: InstructionTable, transfer: Transfer, entry: State
    ) -> None:
        self._graph, self._table, self._transfer = graph, table, transfer
        self._entry = entry
        self.before: list[State | None] = [None] * len(graph.blocks)
        self.after: dict[Edge, State | None] = dict.fromkeys(graph.edges)
        self.outcomes: dict[Edge, Outcome] = {}
        self.settled = False
        self._order = _reverse_postorder(graph)
        rank = {block: place for place, block in enumerate(self._order)}
        self._heads = {
            edge.target
            for edge in graph.edges
            if edge.source in rank and rank[edge.source] >= rank[edge.target]
        }
        self._rank = rank
        self._widening = Widening(graph, table)
        self._restored: dict[tuple[int, Place], int] = {}

    def run(self) -> None:
        """Sets the attributes."""
        # Control that goes to where is not known can come back anywhere.
        if not all(end.kind is OpenKind.CALL for end in self._graph.open):
            return
        try:
            self._ascend()
            self._verify()
            for _ in range(NARROWING_ROUNDS):
                self._descend()
        except _Unsettled:
            return
        self.settled = True

    def _incoming(self, block: int) -> list[State]:
        found = [self._entry] if block in self._graph.entries else []
        states = (self.after[edge] for edge in self._graph.predecessors[block])
        return found + [state for state in states if state is not None]

    def _restored_at(self, block: int, incoming: list[State]) -> list[State]:
        """States that a block is entered with, where places that a loop leaves alone get what they
        are entered with now: an outer loop was not done when it was looked at before, or is done
        with another result.

        That is a guess, a few times for each place, and the iteration that goes on finds out
        whether it holds: behind it, the back edges must bring the same.
        """
        old = self.before[block]
        if old is None or block not in self._heads:
            return incoming
        inner = {
            id(self.after[edge])
            for edge in self._graph.predecessors[block]
            if self._rank.get(edge.source, -1) >= self._rank[block]
        }
        back = [state.copy() for state in incoming if id(state) in inner]
        entries = [state for state in incoming if id(state) not in inner]
        for place, value in list(old.places()) if back and entries else ():
            first = entries[0].value_at(place)
            if first is None or first.form == value.form or _met(first, block):
                continue
            if self._restored.get((block, place), 0) >= MOST_GUESSES:
                continue
            if not all(_same(state.value_at(place), first) for state in entries):
                continue
            if not all(_same(state.value_at(place), value) for state in back):
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
            old = self.before[block]
            stuck = old if rounds[block] > FREE_ROUNDS else None
            new = joined(self._restored_at(block, incoming), block, previous=stuck)
            if old is not None and block in self._heads:
                new = self._widening.widened(old, new, block)
            if old == new:
                continue
            rounds[block] += 1
            if rounds[block] > MOST_ROUNDS:
                raise _Unsettled
            self.before[block] = new
            for edge in self._leave(block, new):
                work[edge.target] = None

    def _verify(self) -> None:
        """One more round from all states must give nothing that they do not have, which makes them
        hold for every execution.

        Raises:
            _Unsettled: it does.
        """
        for block in self._order:
            incoming, old = self._incoming(block), self.before[block]
            if incoming and (old is None or not covers(old, joined(incoming, block), block)):
                raise _Unsettled

    def _descend(self) -> None:
        for block in self._order:
            incoming = self._incoming(block)
            new = joined(incoming, block) if incoming else None
            self.before[block] = new
            if new is None:
                for edge in self._graph.successors[block]:
                    self.after[edge] = None
                    self.outcomes.pop(edge, None)
            else:
                self._leave(block, new)

    def _leave(self, block: int, before: State) -> list[Edge]:
        """Sets the states behind the edges of a block; gives those that changed."""
        content = self._graph.blocks[block]
        last = self._table.instructions[content.last]
        behind = self._transfer.through(self._table, content, before)
        if behind is not None:
            behind.sweep()
        # Of a branch to what lies behind it there is one edge, whatever its condition.
        branches = last.flow is Flow.JUMP and last.conditional and last.target != last.end
        changed = []
        for edge in self._graph.successors[block]:
            after = None if behind is None else behind.copy()
            self.outcomes.pop(edge, None)
            if after is not None and (branches or content.last in content.skipped):
                # What is skipped does not send control elsewhere.
                taken = edge.kind is EdgeKind.TAKEN and branches
                outcome = self._transfer.outcome(after, last, taken=taken)
                if outcome is not None and not after.assume(*outcome):
                    after = None
                elif outcome is not None:
                    left, relation, right = outcome
                    simplified = after.simplify()
                    self.outcomes[edge] = simplified(left), relation, simplified(right)
            if self.after[edge] != after:
                self.after[edge] = after
                changed.append(edge)
        return changed


def _met(value: Value, block: int) -> bool:
    """It depends on what a place held when this block was entered last."""
    return any(
        part.kind == "met" and part.site == block
        for tag in value.form.names()
        for part in tag.basic()
    )


def _same(one: Value | None, other: Value) -> bool:
    return one is not None and one.form == other.form


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
