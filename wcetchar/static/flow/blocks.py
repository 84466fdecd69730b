"""Basic blocks of one function, found by following control from its entry.

Which instructions are reached depends on where control goes (``exits``, given by the caller). A
block ends where control may go elsewhere, and before whatever control may come to from elsewhere.

**Predicated instructions.** An instruction that may have no effect, and that would access memory,
write an interrupt mask or send control elsewhere, has to be known to do so or not. So the code that
holds it stands there once for each outcome (``variants``): all instructions with the same condition
or its inverse, between which no flag changes, have one outcome. Different conditions count as
independent, which allows more paths than there are, and never fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from itertools import product

from wcetchar.model.flow import EdgeKind, OpenEnd, OpenKind
from wcetchar.model.instruction import Flow
from wcetchar.static.flow.code import NUMBER_OF, Code

_MOST = 3
"""So many conditions at most are decided together; further ones count as independent of them."""


@dataclass(frozen=True)
class Exit:
    """Where control goes behind an instruction, if it has its effect.

    Attributes:
        taken: addresses in the same function.
        behind: also to the next instruction, and by which edge.
        calls: functions that are called; ``None``: it is no call.
        tails: functions that it is a tail call of.
        returns, stops: as of a block.
        complete: there is nowhere else.
        open: what is not known.
        kind: of the edges to ``taken``.
    """

    taken: tuple[int, ...] = ()
    behind: EdgeKind | None = None
    calls: tuple[int, ...] | None = None
    tails: tuple[int, ...] = ()
    returns: bool = False
    stops: bool = False
    complete: bool = True
    open: tuple[OpenEnd, ...] = ()
    kind: EdgeKind = EdgeKind.TAKEN

    @property
    def leaves(self) -> bool:
        """It ends the function's own flow, or interrupts it by a call."""
        return bool(self.calls is not None or self.tails or self.returns or self.stops or self.open)


NEXT = Exit(behind=EdgeKind.NEXT)


@dataclass(frozen=True)
class Block:
    """Numbers of instructions, from ``first`` to ``last``; those predicated ones whose outcome is
    decided are ``skipped`` or ``executed``."""

    first: int
    last: int
    skipped: frozenset[int] = frozenset()
    executed: frozenset[int] = frozenset()


@dataclass
class Blocks:
    """Blocks of a function.

    Attributes:
        blocks: by address, and by outcome.
        edges: each once, in order.
        entries: numbers of those that begin the function.
        exits: of the last instruction of each block; ``NEXT`` where it is skipped.
    """

    blocks: list[Block] = field(default_factory=list)
    edges: list[tuple[int, int, EdgeKind]] = field(default_factory=list)
    entries: tuple[int, ...] = ()
    exits: list[Exit] = field(default_factory=list)


class Finder:
    """Finds the blocks of one function.

    Args:
        exits: of an instruction; what follows it in memory if ``NEXT``.
        through: whether control goes on from an instruction to the next one in memory within the
            function, ``None``, or else the exit that stands for it.
        never: numbers of instructions that are not executed.
    """

    def __init__(
        self,
        code: Code,
        exits: Callable[[int], Exit],
        through: Callable[[int], Exit | None],
        never: Collection[int],
    ) -> None:
        self._code = code
        self._exits = exits
        self._through = through
        self._never = never
        self._known: dict[int, Exit] = {}

    def find(self, entry: int) -> Blocks:
        """All blocks that are reached from an instruction."""
        if self._cut(entry):
            return Blocks()
        reached, leaders = self._reach(entry)
        found = Blocks()
        by_first: dict[int, list[int]] = {}
        for first, last in self._ranges(reached, leaders):
            for block in self._variants(first, last):
                by_first.setdefault(block.first, []).append(len(found.blocks))
                found.blocks.append(block)
                skips = block.last in block.skipped
                found.exits.append(self._skipping(block.last) if skips else self._exit(block.last))
        for number, block in enumerate(found.blocks):
            edges = set[tuple[int, int, EdgeKind]]()
            for target, kind in self._leaving(block, found.exits[number]):
                edges.update((number, goal, kind) for goal in by_first.get(target, ()))
            found.edges.extend(sorted(edges))
        found.entries = tuple(by_first[entry])
        return found

    def _cut(self, number: int) -> bool:
        """Control does not get here. Predicated instructions are reached without being executed."""
        return number in self._never and number not in self._code.predicated

    def _exit(self, number: int) -> Exit:
        """Where control goes from an instruction that is executed."""
        found = self._known.get(number)
        if found is None:
            found = self._exits(number)
            if found.behind is not None:
                instead = self._beyond(number, found)
                found = found if instead is None else instead
            self._known[number] = found
        return found

    def _beyond(self, number: int, found: Exit) -> Exit | None:
        """The exit of an instruction behind which the function does not go on."""
        after = self._code.after[number]
        if after >= 0 and self._cut(after):
            rest = _without(found)
            return rest if rest.leaves or rest.taken else _stopping(rest)
        through = self._through(number)
        if through is None:
            return None
        rest = _without(found)
        row = self._code.rows[number]
        tails, falls = through.tails, through.open
        if tails and (rest.calls is not None or row.flow is Flow.SUPERVISOR_CALL):
            # Two functions one after the other, of which the second returns for this one: a block
            # ends with one of the two.
            why = "a call is its last instruction, and comes back to where another function begins"
            tails, falls = (), (OpenEnd(OpenKind.FALLS_OUT, row.address, why),)
        return Exit(
            taken=rest.taken,
            calls=rest.calls,
            tails=(*rest.tails, *tails),
            returns=rest.returns,
            stops=rest.stops,
            complete=rest.complete and through.complete and not falls,
            open=(*rest.open, *falls),
            kind=rest.kind,
        )

    def _skipping(self, number: int) -> Exit:
        """Where control goes from an instruction that has no effect."""
        instead = self._beyond(number, NEXT)
        return NEXT if instead is None else instead

    def _reach(self, entry: int) -> tuple[set[int], set[int]]:
        code = self._code
        at, rows, after = code.at, code.rows, code.after
        reached, leaders = set[int](), {entry}
        stack = [entry]
        while stack:
            number = stack.pop()
            while number not in reached:
                reached.add(number)
                found = self._exit(number)
                following = after[number]
                taken = [at[a] for a in found.taken if not self._cut(at[a])]
                behind = found.behind is not None
                skips = number in code.predicated and found != NEXT
                if skips and not behind:
                    behind = self._skipping(number).behind is not None
                for target in taken:
                    if target not in leaders:
                        leaders.add(target)
                        stack.append(target)
                if not behind:
                    break
                if rows[number].flow is not Flow.NEXT or taken:
                    leaders.add(following)
                number = following
        return reached, leaders

    def _ranges(self, reached: set[int], leaders: set[int]) -> Iterable[tuple[int, int]]:
        """First and last instruction of each block, before outcomes are told apart."""
        after = self._code.after
        first = -1
        before = -1
        for number in sorted(reached):
            if first < 0 or number in leaders or after[before] != number or self._ends(before):
                if first >= 0:
                    yield first, before
                first = number
            before = number
        if first >= 0:
            yield first, before

    def _ends(self, number: int) -> bool:
        return self._code.rows[number].flow is not Flow.NEXT or self._exit(number) != NEXT

    def _leaving(self, block: Block, found: Exit) -> Iterable[tuple[int, EdgeKind]]:
        """First instructions of the blocks that a block goes to."""
        code, number = self._code, block.last
        row = code.rows[number]
        taken = [code.at[a] for a in found.taken if not self._cut(code.at[a])]
        for target in taken:
            yield target, found.kind
        if found.behind is not None:
            decided = number in block.executed and row.flow is Flow.JUMP
            following = code.after[number]
            if not decided and not (following in taken and row.flow is Flow.JUMP):
                yield following, found.behind

    # --- predicated instructions ------------------------------------------------------------------

    def _variants(self, first: int, last: int) -> Iterable[Block]:
        """The blocks that a run of instructions becomes."""
        groups = self._groups(first, last)
        if not groups:
            yield Block(first, last)
            return
        start = first
        for low, high, together in _pieces(groups):
            if start < low:
                yield Block(start, low - 1)
            yield from self._outcomes(low, high, together)
            start = high + 1
        if start <= last:
            yield Block(start, last)

    def _groups(self, first: int, last: int) -> list[list[int]]:
        """Instructions whose outcome is to be decided, by outcome, in order."""
        code = self._code
        rows, predicated = code.rows, code.predicated
        groups: dict[tuple[int, int], list[int]] = {}
        needed = set[tuple[int, int]]()
        version = 0
        for number in range(first, last + 1):
            row = rows[number]
            if row.conditional:
                condition = NUMBER_OF.get(row.condition)
                # cbz and branches of RISC-V compare by themselves: outcomes of their own.
                key = (-1, number) if condition is None else (version, condition >> 1)
                own = number in predicated
                if own or row.flow is Flow.JUMP:
                    groups.setdefault(key, []).append(number)
                if self._significant(number, own=own):
                    needed.add(key)
            if code.changes_flags(number):
                version += 1
        return sorted(groups[key] for key in needed)

    def _significant(self, number: int, *, own: bool) -> bool:
        row = self._code.rows[number]
        if row.flow is Flow.JUMP:
            return self._exit(number).leaves
        if not own:
            return False
        return (
            row.memory is not None
            or row.flow is not Flow.NEXT
            or bool(row.masks)
            or number in self._never
        )

    def _outcomes(self, low: int, high: int, groups: list[list[int]]) -> Iterable[Block]:
        code = self._code
        for outcome in product((True, False), repeat=len(groups)):
            skipped, executed = set[int](), set[int]()
            for holds, group in zip(outcome, groups, strict=True):
                base = code.rows[group[0]].condition
                for number in group:
                    same = code.rows[number].condition == base
                    (executed if same == holds else skipped).add(number)
            if executed.isdisjoint(self._never):
                yield Block(low, high, frozenset(skipped), frozenset(executed))


def _pieces(groups: list[list[int]]) -> Iterable[tuple[int, int, list[list[int]]]]:
    """Runs of instructions, each with the groups that lie in it. Groups that overlap are decided
    together; where they are too many, one is cut in two, whose outcomes are independent then."""
    waiting = sorted(groups)
    while waiting:
        together = [waiting.pop(0)]
        high = together[0][-1]
        while waiting and waiting[0][0] <= high:
            if len(together) == _MOST:
                break
            together.append(waiting.pop(0))
            high = max(high, together[-1][-1])
        if waiting and waiting[0][0] <= high:
            cut = waiting[0][0]
            high = cut - 1
            for number, group in enumerate(together):
                rest = [member for member in group if member >= cut]
                together[number] = [member for member in group if member < cut]
                if rest:
                    waiting.append(rest)
            waiting.sort()
        yield together[0][0], high, together


def _without(found: Exit) -> Exit:
    """The same exit that does not go on behind the instruction."""
    return Exit(
        found.taken,
        None,
        found.calls,
        found.tails,
        found.returns,
        found.stops,
        found.complete,
        found.open,
        found.kind,
    )


def _stopping(found: Exit) -> Exit:
    return Exit(calls=found.calls, stops=True, complete=found.complete, open=found.open)
