"""Where indirect calls and jumps go that the analysis does not follow by itself: what facts and
traces give it.

They are given only where it finds nothing: those of a return, as if it were a jump, would hide from
the analysis that it is one. Of a routine that calls through a register (``flow.register_calls``)
facts can speak at its calls; they hold of the routine if all its calls have some.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping

from wcetchar.model.flow import ProgramGraph
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.path_model import FlowConstraint, Origin
from wcetchar.static.expand import Expanded
from wcetchar.static.flow.register_calls import callers
from wcetchar.static.loop_constraints import ZERO


class Given:
    """Targets, which grow with the graph.

    Args:
        calls: as of ``register_calls``.
        said: by table index: what facts say.
        seen: by address: what traces showed.

    Attributes:
        targets: by address: where the indirect call or jump goes.
        called: as of ``Program``.
    """

    def __init__(
        self,
        table: InstructionTable,
        calls: Mapping[int, int],
        said: Mapping[int, frozenset[int]],
        seen: Mapping[int, Collection[int]],
    ) -> None:
        rows = table.instructions
        self._table, self._seen = table, seen
        self.called = {index: to for index, to in said.items() if index in calls}
        self._said = {rows[i].address: to for i, to in said.items() if i not in calls}
        self._jumps = {rows[jump].address: jump for jump in calls.values()}
        self._calls = calls
        self._by_calls: set[int] = set()
        self._refused: set[int] = set()
        self.targets: dict[int, tuple[int, ...]] = {}

    def more(self, graph: ProgramGraph) -> bool:
        """There are more targets, or others, than ``graph`` was made with."""
        changed = False
        for at in sorted(self._by_calls):
            if not self._by_facts_of_calls(graph, at):
                # A call without a fact has come in sight.
                self._by_calls.remove(at)
                self._refused.add(at)
                del self.targets[at]
                changed = True
        ends = {end.address for one in graph.functions.values() for end in one.open}
        for at in sorted(ends | set(self.targets)):
            known = self.targets.get(at, ())
            found = tuple(sorted({*known, *self._of(graph, at)}))
            if found != known:
                self.targets[at] = found
                changed = True
        return changed

    @property
    def only_seen(self) -> frozenset[int]:
        """Addresses of those whose targets traces alone say."""
        return frozenset(self.targets) - set(self._said) - self._by_calls

    def _of(self, graph: ProgramGraph, at: int) -> Collection[int]:
        if at in self._said:
            return self._said[at]
        if at in self._jumps and at not in self._refused:
            found = self._by_facts_of_calls(graph, at)
            if found:
                self._by_calls.add(at)
                return found
        seen = self._seen.get(at, ())
        if not seen or at not in self._jumps:
            return seen
        jump = self._jumps[at]
        through: Collection[int] | None = callers(graph, self._table, jump)
        if through is None:
            # Something else than calls leads there, too: what is said of each call still holds.
            through = [call for call, to in self._calls.items() if to == jump]
        return {*seen}.union(*(self.called[call] for call in through if call in self.called))

    def _by_facts_of_calls(self, graph: ProgramGraph, at: int) -> frozenset[int]:
        """Where a routine goes if every call of it has a fact; else nothing."""
        through = callers(graph, self._table, self._jumps[at])
        if not through or any(call not in self.called for call in through):
            return frozenset()
        return frozenset().union(*(self.called[call] for call in through))


def seen_targets(
    found: Expanded,
    only_seen: frozenset[int],
    elsewhere: Collection[int],
    place: Callable[[int], str],
) -> Iterator[FlowConstraint]:
    """Of indirect calls and jumps of a service that go where traces showed, or where it is said of
    other services, as far as is known.

    Args:
        only_seen: as of :class:`Given`.
        elsewhere: table indices of those of which facts speak, but none that holds in the service.
        place: an address for people.
    """
    rows, functions = found.program.table.instructions, found.program.graph.functions
    for address, number in sorted(found.reached):
        index = functions[address].blocks[number].last
        at = rows[index].address
        if index in elsewhere:
            label = f"{place(at)} goes where facts of other services say"
            yield FlowConstraint(label, {}, ZERO, Origin.OBSERVED)
        if at in only_seen and not is_said_by_calls(found, address):
            yield FlowConstraint(f"{place(at)} goes where traces showed", {}, ZERO, Origin.OBSERVED)


def is_said_by_calls(found: Expanded, function: int) -> bool:
    """Wherever a service calls a routine, it is said what is called through it, and the routine
    goes to all of that."""
    calls, called = calls_of(found, function), found.program.called
    transfers = found.program.graph.functions[function].transfers
    goes = {target for transfer in transfers for target in transfer.targets}
    return bool(calls) and all(call in called and called[call] <= goes for call in calls)


def calls_of(found: Expanded, function: int) -> frozenset[int]:
    """Table indices of a service's calls of a function; nothing where it is not always called."""
    functions = found.program.graph.functions
    strings = [one.string for one in found.contexts.all if one.function == function]
    if not all(strings):
        return frozenset()
    return frozenset(functions[caller].blocks[block].last for *_, (caller, block) in strings)
