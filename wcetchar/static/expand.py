"""Every path of a service as a graph: blocks in call contexts, each with what was executed before.

A *step* is one passage of a block: in which context, how it is left, and what was executed before
it as far as that matters (``history``). Steps are the nodes of a path model, and a *link* leads
from a step to each that can follow. So all paths of the service are paths of this graph, and each
step of a path counts what it does there, whatever came long before.

A part of a service that another thread cuts begins or ends inside (:class:`Cuts`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Final

from wcetchar.errors import NoSoundBound
from wcetchar.model.flow import Edge, EdgeKind, FunctionGraph, TransferKind
from wcetchar.model.instruction import Flow
from wcetchar.model.path_model import OUTSIDE
from wcetchar.static.contexts import ROOT, Contexts, Site
from wcetchar.static.history import Histories, History
from wcetchar.static.masking.follow import Masking
from wcetchar.static.program import Program

MOST_STEPS: Final = 400_000
MOST_HOLDS: Final = 64
"""Of one block in one context. What is masked beyond is not known."""


class Leave(Enum):
    """How a block is left, where that is by no edge and to no other function."""

    RETURN = "return"
    CUT = "cut"
    """Another thread runs behind its last instruction, and the part of the service ends."""


Out = Edge | int | Leave
"""How a block is left: by an edge of its function, to the function of this address, or out."""


@dataclass(frozen=True)
class Step:
    """A block passed once. ``taken``: its last instruction sends control elsewhere."""

    context: int
    block: int
    out: Out
    taken: bool
    history: History
    hold: int = 0


@dataclass(frozen=True)
class Link:
    """From step ``source`` to step ``target``, numbers of steps or ``OUTSIDE``.

    Attributes:
        context: of the function that it leads into, or out of the service from.
        along: the edge of that function that it goes along, RETURNED from a call; ``None``: it
            enters the function, or the service begins or ends with it.
        site: the call that it makes.
    """

    source: int
    target: int
    context: int
    along: Edge | None = None
    site: Site | None = None


@dataclass(frozen=True)
class Cuts:
    """Where another thread cuts a service, as table indices. Blocks must begin and end there
    (``split``).

    Attributes:
        begins: instructions that the part begins with; empty: with the service.
        ends: instructions that the part ends with; empty: with the service's return.
        asked: only where a switch was asked for (``Masking.switched``), and not behind every
            passage of these instructions.
        starts: or with the service.
    """

    begins: frozenset[int] = frozenset()
    ends: frozenset[int] = frozenset()
    asked: bool = False
    starts: bool = False


@dataclass
class Expanded:
    """The graph.

    Attributes:
        missing: addresses of functions that are called and have no graph.
        reached: addresses of functions, and numbers of their blocks, that the service may execute,
            those that lead to no end among them.
        masking: what the numbers ``hold`` of steps stand for; ``None``: they stand for nothing.
        by_masks: where control goes is known somewhere from what a mask register had.
    """

    program: Program
    contexts: Contexts
    steps: list[Step] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    missing: set[int] = field(default_factory=set)
    reached: set[tuple[int, int]] = field(default_factory=set)
    masking: Masking | None = None
    by_masks: bool = False

    @property
    def functions(self) -> list[FunctionGraph]:
        """That the service may execute, by address."""
        return [self.program.graph.functions[at] for at in sorted({f for f, _ in self.reached})]

    def function_of(self, context: int) -> FunctionGraph:
        """That a context is one of."""
        return self.program.graph.functions[self.contexts[context].function]


State = tuple[int, int, History, int]
Start = tuple[int, int, int]
"""Context, block, and number of what is known of masks."""
Excluded = Callable[[Contexts, int, int], bool]


class _Explorer:
    """Finds all steps from some states on."""

    def __init__(
        self,
        program: Program,
        contexts: Contexts,
        histories: Histories,
        excluded: Excluded | None,
        ends: frozenset[int] | None,
        masking: Masking | None,
        asked: bool = False,
    ) -> None:
        """``ends``, ``asked``: as of :class:`Cuts`; ``None``: it ends with the service's return."""
        self.found = Expanded(program, contexts, masking=masking)
        self._masking = masking
        self._asked = asked
        self.behind: dict[Start, None] = {}
        """Where a thread may go on that was switched away where a switch was asked for."""
        self._left_behind: set[tuple[int, int]] = set()
        """Contexts that it may do so behind, each with what is known there."""
        self._program, self._contexts, self._histories = program, contexts, histories
        self._excluded, self._ends = excluded, ends
        self._states: dict[State, tuple[int, ...]] = {}
        self._left: list[int] = []
        self._linked: set[tuple[int, int, Edge | None]] = set()
        self._returning: dict[int, list[int]] = defaultdict(list)
        self._outs: dict[tuple[int, int], tuple[tuple[Out, bool], ...]] = {}
        self._holds: dict[tuple[int, int], set[int]] = defaultdict(set)

    def explore(self, starts: list[Start]) -> None:
        """What was executed before the starts is not known, but where one is behind a load that
        switches threads."""
        graph, switches = self._program.graph, self._program.switches
        for context, block, hold in starts:
            first = graph.functions[self._contexts[context].function].blocks[block].first
            begin = self._histories.begin(first, switches)
            for target in self._at((context, block, begin, hold)):
                self._link(Link(OUTSIDE, target, context))
        while self._left:
            self._follow(self._left.pop())

    def _at(self, state: State) -> tuple[int, ...]:
        """Numbers of the steps of a state, one for each way to leave it."""
        known = self._states.get(state)
        if known is not None:
            return known
        context, block, history, hold = state
        holds = self._holds[context, block]
        if self._masking is not None and hold not in holds:
            if len(holds) >= MOST_HOLDS:
                forgotten = self._masking.forgotten(hold)
                if forgotten != hold:
                    numbers = self._states[state] = self._at((context, block, history, forgotten))
                    return numbers
            holds.add(hold)
        if self._excluded is not None and self._excluded(self._contexts, context, block):
            self._states[state] = ()
            return ()
        self.found.reached.add((self._contexts[context].function, block))
        steps = self.found.steps
        first = len(steps)
        for out, taken in self._ways(context, block):
            steps.append(Step(context, block, out, taken, history, hold))
        if len(steps) > MOST_STEPS:
            raise NoSoundBound(
                f"there are more than {MOST_STEPS} blocks in their contexts",
                expected="a service that calls functions in fewer ways",
                hint="give a depth of call strings, or leave calls out by `never`",
            )
        numbers = self._states[state] = tuple(range(first, len(steps)))
        self._left += numbers
        return numbers

    def _ways(self, context: int, block: int) -> tuple[tuple[Out, bool], ...]:
        function = self._contexts[context].function
        known = self._outs.get((function, block))
        if known is None:
            known = self._outs[function, block] = tuple(self._ways_of(function, block))
        return known

    def _ways_of(self, function: int, block: int) -> Iterator[tuple[Out, bool]]:
        graph = self._program.graph.functions[function]
        edges = graph.successors[block]
        row = self._program.table.instructions[graph.blocks[block].last]
        # A branch to the very next instruction counts as taken, as in traces.
        taken = row.conditional and row.flow is Flow.JUMP and row.target == row.end
        taken = taken and any(edge.kind is EdgeKind.TAKEN for edge in edges)
        for edge in edges:
            if edge.kind is EdgeKind.NEXT and taken:
                continue
            if edge.kind is not EdgeKind.RETURNED:
                yield edge, edge.kind is EdgeKind.TAKEN
        transfer = graph.transfer_of.get(block)
        if transfer is not None:
            for target in transfer.targets:
                # Code that goes on in the next function sends control nowhere.
                falls = target == row.end and row.target != target
                yield target, not (falls and transfer.kind is TransferKind.TAIL_CALL)
        if block in graph.returns:
            yield Leave.RETURN, True
        last = graph.blocks[block].last
        if self._ends is not None and last in self._ends:
            yield Leave.CUT, bool(self._program.columns.transfers_control[last])

    def _link(self, link: Link) -> None:
        self.found.links.append(link)

    def _follow(self, number: int) -> None:
        """Links of a step to all that can follow."""
        step = self.found.steps[number]
        graph = self.found.function_of(step.context)
        block = graph.blocks[step.block]
        switches = not self._asked
        if self._asked and self._masking is not None:
            through = self._masking.through(graph, step.block, step.hold)
            switches = through is not None and through.switches
        if step.out is Leave.CUT:
            if switches:
                self._link(Link(number, OUTSIDE, step.context))
            return
        hold = self._hold_behind(step)
        if hold is None:
            return
        history = self._histories.behind(step.history, block, step.taken)
        if isinstance(step.out, Edge):
            for target in self._at((step.context, step.out.target, history, hold)):
                self._link(Link(number, target, step.context, step.out))
        elif step.out is Leave.RETURN:
            self._returning[step.context].append(number)
            self._return(number, step, history, hold)
        else:
            assert isinstance(step.out, int)
            tail = graph.transfer_of[step.block].kind is TransferKind.TAIL_CALL
            self._call(number, step, step.out, tail, history, hold)
        if self._asked and switches and self._masking is not None:
            active = self._contexts[step.context].active
            self._begin_behind(step, graph, self._masking.resumed(hold, active), self._masking)

    def _begin_behind(self, step: Step, graph: FunctionGraph, hold: int, masking: Masking) -> None:
        """A part of the service may begin with what follows a step."""
        if isinstance(step.out, Edge):
            self.behind[step.context, step.out.target, hold] = None
        elif isinstance(step.out, int):
            tail = graph.transfer_of[step.block].kind is TransferKind.TAIL_CALL
            target = self._program.graph.functions.get(step.out)
            called = self._contexts.called((step.context, step.block), step.out, tail)
            if target is None or called is None:
                return  # as in :meth:`_call`
            last = graph.blocks[step.block].last
            hold = masking.called(hold, step.out, tail=tail, caller=graph.address, index=last)
            for entry in target.entries:
                self.behind[called[0], entry, hold] = None
        else:
            self._left_behind.add((step.context, masking.returned(hold)))

    def begins(self) -> list[Start]:
        """Where parts of the service may begin, once all is explored."""
        for context, hold in sorted(self._left_behind):
            for site in self._contexts.returns_to(context):
                if site is not None:
                    caller, block = site
                    for edge in self.found.function_of(caller).successors[block]:
                        if edge.kind is EdgeKind.RETURNED:
                            self.behind[caller, edge.target, hold] = None
        return [*self.behind]

    def _hold_behind(self, step: Step) -> int | None:
        """What is known of masks behind a step; ``None``: it is not left so."""
        if self._masking is None:
            return step.hold
        graph = self.found.function_of(step.context)
        self.found.by_masks |= self._masking.decides_by_masks(graph, step.block, step.hold)
        behind = self._masking.through(graph, step.block, step.hold)
        if behind is None or (behind.taken is not None and behind.taken != step.taken):
            return None
        return behind.hold

    def _return(self, number: int, step: Step, history: History, hold: int) -> None:
        if self._masking is not None:
            hold = self._masking.returned(hold)
        for site in self._contexts.returns_to(step.context):
            if site is None:
                if self._ends is None and (number, OUTSIDE, None) not in self._linked:
                    self._linked.add((number, OUTSIDE, None))
                    self._link(Link(number, OUTSIDE, step.context))
                continue
            caller, block = site
            for edge in self.found.function_of(caller).successors[block]:
                if edge.kind is EdgeKind.RETURNED:
                    for target in self._at((caller, edge.target, history, hold)):
                        if (number, target, edge) not in self._linked:
                            self._linked.add((number, target, edge))
                            self._link(Link(number, target, caller, edge))

    def _is_called(self, context: int, function: int) -> bool:
        """What a context ends with a jump to is what its caller is said to call through it."""
        string = self._contexts[context].string
        if not string or not self._program.called:
            return True
        caller, block = string[-1]
        call = self._program.graph.functions[caller].blocks[block].last
        said = self._program.called.get(call)
        return said is None or function in said

    def _call(
        self, number: int, step: Step, function: int, tail: bool, history: History, hold: int
    ) -> None:
        graph = self._program.graph.functions.get(function)
        if graph is None:
            self.found.missing.add(function)
            return
        if tail and not self._is_called(step.context, function):
            return
        site = (step.context, step.block)
        called = self._contexts.called(site, function, tail)
        if called is None:
            return
        context, new = called
        if self._masking is not None:
            caller = self.found.function_of(step.context)
            last = caller.blocks[step.block].last
            hold = self._masking.called(
                hold, function, tail=tail, caller=caller.address, index=last
            )
        for entry in graph.entries:
            for target in self._at((context, entry, history, hold)):
                self._link(Link(number, target, context, None, None if tail else site))
        if new:
            for one in self._contexts.returning_for(context):
                for returning in self._returning.get(one, ()):
                    again = self.found.steps[returning]
                    ended = self.found.function_of(one).blocks[again.block]
                    behind = self._histories.behind(again.history, ended, again.taken)
                    held = self._hold_behind(again)
                    if held is not None:
                        self._return(returning, again, behind, held)


def expand(
    program: Program,
    entry: int,
    cuts: Cuts | None = None,
    *,
    limits: Mapping[int, int] | None = None,
    depth: int | None = None,
    excluded: Excluded | None = None,
    excluded_before: Excluded | None = None,
    histories: Histories | None = None,
    masking: Masking | None = None,
    holds: Sequence[int] = (0,),
) -> Expanded:
    """The graph of a service, or of a part of one; steps that lead to no end are left out.

    Args:
        entry: address of the service's function.
        cuts: of the part; ``None``: it is whole.
        limits: how many calls of each recursive function are active at once, at most.
        depth: calls that tell contexts apart; ``None``: all.
        excluded: whether a block is not executed, by a fact.
        excluded_before: the same of what comes before the part.
        histories: shared by the services of one program.
        masking: follows masks, shared like these; ``None``: they are not followed.
        holds: numbers of what it knows where the service begins.

    Raises:
        NoSoundBound: the graph grows too large.
    """
    histories = histories or Histories(program.columns)
    contexts = Contexts(entry, limits, depth)
    first = [
        (ROOT, block, hold) for block in program.graph.functions[entry].entries for hold in holds
    ]
    ends = cuts.ends if cuts is not None and cuts.ends else None
    if cuts is None or not cuts.begins:
        asked = cuts is not None and cuts.asked
        explorer = _Explorer(program, contexts, histories, excluded, ends, masking, asked)
        explorer.explore(first)
        return _pruned(explorer.found)
    # All that comes before first: it shows in which contexts the part can begin.
    before = _Explorer(program, contexts, histories, excluded_before, None, masking, cuts.asked)
    before.explore(first)
    starts = dict.fromkeys([*first, *before.begins()] if cuts.starts else before.begins())
    for step in () if cuts.asked else before.found.steps:
        block = before.found.function_of(step.context).blocks[step.block]
        if block.first in cuts.begins:
            hold = step.hold
            # A function that switches keeps the thread's lock of the scheduler, as in traces.
            if masking is not None and block.first - 1 not in program.switches:
                hold = masking.resumed(hold, contexts[step.context].active)
            starts[step.context, step.block, hold] = None
    explorer = _Explorer(program, contexts, histories, excluded, ends, masking, cuts.asked)
    explorer.explore([*starts])
    explorer.found.missing |= before.found.missing
    explorer.found.by_masks |= before.found.by_masks
    explorer.found.reached |= before.found.reached
    return _pruned(explorer.found)


def _pruned(found: Expanded) -> Expanded:
    """Without steps that lead to no end: no window shows these."""
    behind: dict[int, list[int]] = defaultdict(list)
    for link in found.links:
        behind[link.target].append(link.source)
    kept: set[int] = set()
    left = [OUTSIDE]
    while left:
        for source in behind[left.pop()]:
            if source != OUTSIDE and source not in kept:
                kept.add(source)
                left.append(source)
    renamed = {old: new for new, old in enumerate(sorted(kept))}
    renamed[OUTSIDE] = OUTSIDE
    links = [
        Link(renamed[x.source], renamed[x.target], x.context, x.along, x.site)
        for x in found.links
        if x.source in renamed and x.target in renamed
    ]
    steps = [found.steps[old] for old in sorted(kept)]
    return replace(found, steps=steps, links=links)
