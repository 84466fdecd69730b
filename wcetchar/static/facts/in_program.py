"""Flow facts with their places looked up in a program, whatever the service is.

Inputs: facts, and the places of an image. Outputs: table indices of instructions, and addresses. A
fact whose place the program has not is an error, ``Absent`` where the image lacks what it names.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from wcetchar.errors import InputError
from wcetchar.model.access import Operation
from wcetchar.model.flow import FunctionGraph
from wcetchar.model.flow_fact import (
    Accesses,
    CodePlace,
    EntryValue,
    Fact,
    LoopBound,
    Never,
    NoReturn,
    Recursion,
    SwitchedAway,
    Targets,
)
from wcetchar.model.instruction import Flow, Instruction
from wcetchar.static.facts.files import Absent
from wcetchar.static.facts.places import Places
from wcetchar.static.facts.printer import place_text
from wcetchar.static.facts.scopes import places_of


@dataclass(frozen=True)
class At:
    """A place in a program: instructions, where these functions are on the call stack."""

    indices: frozenset[int]
    called: tuple[int, ...]


@dataclass
class FactsInProgram:
    """All facts, with their places looked up once."""

    facts: Sequence[Fact]
    places: Places
    address_of: Callable[[str, Fact], int]
    """Address of a function, for a fact that names it."""
    is_request: Callable[[int], bool] = lambda _: True
    """Of a store, by table index: that it goes to what is no memory, as a request for an interrupt
    does."""
    _known: dict[tuple[int, int], At] = field(default_factory=dict)
    _accesses: dict[int, tuple[tuple[int, int], ...]] = field(default_factory=dict)
    _loops: dict[tuple[int, int], tuple[int, ...]] = field(default_factory=dict)

    def at(self, place: CodePlace, fact: Fact) -> At:
        """Where a place of a fact is.

        Raises:
            InputError: nothing is there, or what is there is predicated and not told apart.
        """
        key = (id(fact), id(place))
        known = self._known.get(key)
        if known is None:
            called = tuple(self.address_of(name, fact) for name in place.called)
            rows = self.places.table.instructions
            switch = isinstance(fact, Never) and fact.switch
            found = self._requests(place, fact) if switch else self.places.indices(place)
            # Of an IT block the first instruction is executed whatever the condition is.
            found = frozenset(i for i in found if not rows[i].text.startswith("it"))
            decided = frozenset(i for i in found if not _is_undecided(rows[i]))
            if not decided:
                raise InputError(
                    f"{place_text(place)} is predicated, and whether it has an effect is not told "
                    "apart",
                    where=fact.where,
                    expected="an instruction that is executed, accesses memory or sends control "
                    "elsewhere",
                    hint="name the branch or the access that it belongs to",
                )
            known = self._known[key] = At(decided, called)
        return known

    def loops(self, fact: LoopBound, function: FunctionGraph) -> tuple[int, ...]:
        """Numbers of the loops of a function that the fact is about.

        Raises:
            InputError: as of :meth:`Places.loops`.
        """
        key = (id(fact), function.address)
        known = self._loops.get(key)
        if known is None:
            known = self._loops[key] = self.places.loops(fact.place, function)
        return known

    def _requests(self, place: CodePlace, fact: Fact) -> frozenset[int]:
        """What asks for a switch, and not what a line stores beside."""
        asking, rows = self.places.asking(place), self.places.table.instructions
        found = frozenset(
            i for i in asking if rows[i].flow is Flow.SUPERVISOR_CALL or self.is_request(i)
        )
        if not found:
            raise InputError(
                f"no store at {place_text(place)} is known to ask for a switch",
                where=fact.where,
                expected="a supervisor call, or a store to one address that is no memory",
                hint="name what is never executed by its address: never 0x...",
            )
        return found

    def accesses(self, fact: Accesses) -> tuple[tuple[int, int], ...]:
        """Table indices of what the fact is about, and of each how narrow its place is there: the
        less, the narrower.

        Raises:
            InputError: nothing is there, or the fact would hold in some contexts only.
        """
        known = self._accesses.get(id(fact))
        if known is None:
            known = self._accesses[id(fact)] = tuple(self._accesses_of(fact))
        return known

    def _accesses_of(self, fact: Accesses) -> Iterator[tuple[int, int]]:
        place = fact.place
        if place.called:
            raise InputError(
                "the section of an access cannot depend on who has called",
                where=fact.where,
                expected="a place without `called from`",
                hint="name all sections that it can be, or one that is either of them",
            )
        whole = self.places.is_whole(place)
        for index in sorted(self.places.accessing(place)):
            memory = self.places.table.instructions[index].memory
            assert memory is not None
            if fact.operation is not None:
                other = memory.writes if fact.operation is Operation.READ else memory.reads
                if other:
                    continue
            rank = 1 + self.places.rank(place.name, index) if whole else 0
            yield index, 2 * rank + (fact.operation is None)

    def targets(self, fact: Targets) -> tuple[frozenset[int], frozenset[int]]:
        """Table indices of indirect calls and jumps, and of where they go.

        Raises:
            InputError: there are none, or the fact would hold in some contexts only.
        """
        if fact.place.called:
            raise InputError(
                "where a call goes cannot depend on who has called",
                where=fact.where,
                expected="a place without `called from`",
                hint="name all targets, and say by `never` which are not called from there",
            )
        to = frozenset(i for one in fact.targets for i in self.places.indices(one))
        return self.places.transferring(fact.place), to

    def all_targets(self) -> dict[int, frozenset[int]]:
        """By table index of an indirect call or jump: addresses that facts say that it goes to, in
        any service.

        Raises:
            InputError: as of :meth:`targets`.
        """
        rows = self.places.table.instructions
        found: dict[int, set[int]] = defaultdict(set)
        for fact in self.facts:
            if isinstance(fact, Targets):
                sources, to = self.targets(fact)
                for index in sources:
                    found[index] |= {rows[i].address for i in to}
        return {index: frozenset(to) for index, to in found.items()}

    def check_sources(self, returns: frozenset[int]) -> None:
        """Facts about targets are about more than returns.

        Args:
            returns: table indices of what returns from a function.

        Raises:
            InputError: one is not.
        """
        for fact in self.facts:
            if isinstance(fact, Targets) and self.targets(fact)[0] <= returns:
                raise InputError(
                    f"there is no indirect call or jump at {place_text(fact.place)}, but a return",
                    where=fact.where,
                    expected="an instruction that goes where a register or a table says",
                    hint="where control returns to follows from the calls: take the fact out",
                )

    def variable(self, fact: EntryValue) -> int:
        """The address of what a fact about a value is about.

        Raises:
            InputError: the image has no such variable.
        """
        symbols = self.places.image.find(fact.name)
        addresses = {symbol.address for symbol in symbols if symbol.kind == "object"}
        if len(addresses) != 1:
            error = InputError if addresses else Absent
            raise error(
                f"{'several variables are' if addresses else 'no variable is'} called {fact.name}",
                where=fact.where,
                expected="the name of one variable of the image",
            )
        return addresses.pop() + fact.offset

    def asking(self, fact: SwitchedAway) -> frozenset[int]:
        """Table indices of what asks for a switch at a place: the supervisor calls that it has, or
        else its stores.

        Raises:
            InputError: there are none, or the fact would hold in some contexts only.
        """
        if fact.place.called:
            raise InputError(
                "a switch that is asked for cannot depend on who has called",
                where=fact.where,
                expected="a place without `called from`",
            )
        return self.places.asking(fact.place)

    def has(self, fact: Fact) -> bool:
        """Whether the program has what the fact is about.

        Raises:
            InputError: its place is wrong otherwise.
        """
        try:
            match fact:
                case Accesses():
                    self.accesses(fact)
                case Targets():
                    self.targets(fact)
                case SwitchedAway():
                    self.asking(fact)
                case EntryValue():
                    self.variable(fact)
                case Recursion(function=name) | NoReturn(function=name):
                    self.address_of(name, fact)
                case _:
                    for place in places_of(fact):
                        self.at(place, fact)
        except Absent:
            return False
        return True

    def switches(self, *, everywhere: bool = False) -> frozenset[int]:
        """Instructions that ask for a switch, in any service; ``everywhere``: in all of them."""
        return frozenset(
            index
            for fact in self.facts
            if isinstance(fact, SwitchedAway) and not (everywhere and fact.services)
            for index in self.asking(fact)
        )


def _is_undecided(row: Instruction) -> bool:
    """It is predicated, and blocks do not tell its outcomes apart."""
    return row.conditional and row.flow is Flow.NEXT and row.memory is None
