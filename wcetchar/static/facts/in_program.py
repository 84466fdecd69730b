"""Flow facts with their places looked up in a program, whatever the service is.

Inputs: facts, and the places of an image. Outputs: table indices of instructions, and addresses. A
fact whose place the program has not is an error, ``Absent`` where the image lacks what it names.

**Predicated instructions.** A place is passed where its instruction is executed, and one that is
predicated is where it has an effect. Of those that access memory, write a mask or send control
elsewhere, blocks tell that (``static/flow/blocks.py``); of others nobody knows. An ``it`` is
executed whatever the condition is, while the line that begins with it may be what the condition
decides. So a place has two readings: instructions that are executed no more often than it is
passed, for what makes bounds smaller by being counted, and ones that control gets to no less often.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from wcetchar.errors import InputError
from wcetchar.model.access import Operation
from wcetchar.model.expression import Negate
from wcetchar.model.flow import FunctionGraph
from wcetchar.model.flow_fact import (
    Accesses,
    CodePlace,
    EntryValue,
    Fact,
    LoopBound,
    Never,
    NoReturn,
    PlaceKind,
    Recursion,
    Relation,
    SwitchedAway,
    Targets,
)
from wcetchar.model.instruction import Flow, Instruction
from wcetchar.static.facts.files import Absent, parts_of
from wcetchar.static.facts.places import Places, source_name
from wcetchar.static.facts.printer import place_text
from wcetchar.static.facts.scopes import places_of
from wcetchar.static.flow.code import Code


@dataclass(frozen=True)
class At:
    """A place in a program: instructions, where these functions are on the call stack.

    Attributes:
        indices: the place is passed at least as often as these are executed.
        called: addresses of the functions, the outermost first.
        perhaps: the place is passed at most as often as control gets to these, less those that
            have no effect for certain.
        undecided: those of ``perhaps`` that ``indices`` has nothing for.
        runs: of lines that a relation names: the first and the last instruction of each run, which
            control may come to elsewhere than at its beginning.
    """

    indices: frozenset[int]
    called: tuple[int, ...]
    perhaps: frozenset[int] = frozenset()
    undecided: frozenset[int] = frozenset()
    runs: tuple[tuple[int, int], ...] = ()


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
    _asked: dict[int, frozenset[int]] = field(default_factory=dict)

    def at(
        self, place: CodePlace, fact: Fact, *, fewest: bool = True, all_of_it: bool = False
    ) -> At:
        """Where a place of a fact is.

        ``fewest``: what is executed no more often than the place is passed is asked for.
        ``all_of_it``: it is counted where a passage that is missed makes a bound too low.

        Raises:
            InputError: nothing is there, or there is no such reading of it.
        """
        known = self._at(place, fact)
        # Which loops a fact is about is looked up otherwise, by :meth:`loops`.
        if fewest and known.undecided and not isinstance(fact, LoopBound):
            rows = self.places.table.instructions
            raise Absent(
                f"{place_text(place)} is predicated, and whether it has an effect is not told "
                "apart",
                where=fact.where,
                details=tuple(
                    f"0x{rows[i].address:08x}: {rows[i].text}" for i in sorted(known.undecided)
                ),
                expected="an instruction that is executed, accesses memory or sends control "
                "elsewhere",
                hint="name the branch or the access that it belongs to",
            )
        if all_of_it:
            self._check_instances(place, fact)
        return known

    def _at(self, place: CodePlace, fact: Fact) -> At:
        key = (id(fact), id(place))
        known = self._known.get(key)
        if known is None:
            called = tuple(self.address_of(name, fact) for name in place.called)
            switch = isinstance(fact, Never) and fact.switch
            found = self._requests(place, fact) if switch else self.places.indices(place)
            decided = {i: self._decided(i, place, fact) for i in found}
            known = self._known[key] = At(
                frozenset().union(*decided.values()),
                called,
                found,
                frozenset(i for i, one in decided.items() if not one),
                tuple(self._runs(place, found)) if isinstance(fact, Relation) else (),
            )
        return known

    @cached_property
    def code(self) -> Code:
        """The program's instructions, with which of them are predicated."""
        return Code(self.places.image, self.places.table)

    def _decided(self, begin: int, place: CodePlace, fact: Fact) -> frozenset[int]:
        """What is executed only where the beginning of a run is passed: itself, or else of the
        predicated instructions right behind it that come from the same line the first one of which
        blocks tell it; of a fact by which nothing of the run is executed, all of them. Empty: there
        is none."""
        rows, code = self.places.table.instructions, self.code
        is_it = _is_it(rows[begin])
        # What is never executed is left out with its block, which a branch leaves in two ways.
        branch = isinstance(fact, Never) and self.is_skipped_untaken(begin)
        if not is_it and not branch and not _is_undecided(rows[begin]):
            return frozenset({begin})
        found: list[int] = []
        number = begin
        while place.kind in (PlaceKind.LINE, PlaceKind.TEXT):
            # Behind a change of the flags the same condition is another one.
            if not is_it and code.changes_flags(number):
                break
            number = code.after[number]
            if number not in code.predicated or not self._same_line(begin, number):
                break
            same = is_it or rows[number].condition == rows[begin].condition
            if same and not _is_undecided(rows[number]) and rows[number].flow is not Flow.JUMP:
                found.append(number)
        return frozenset(found if isinstance(fact, Never) else found[:1])

    def is_skipped_untaken(self, index: int) -> bool:
        """It is a branch that is predicated: what is done where a condition holds, and not the test
        of it. In Arm state all branches with a condition look alike; but one that is predicated
        follows other instructions that are."""
        row, code = self.places.table.instructions[index], self.code
        if row.flow is not Flow.JUMP or not row.conditional:
            return False
        before = index - 1
        return index in code.in_it or (
            code.is_arm(index) and before in code.predicated and code.after[before] == index
        )

    def _runs(self, place: CodePlace, begins: frozenset[int]) -> Iterator[tuple[int, int]]:
        """Of what a line, or one with a text, begins with in these places."""
        if place.kind not in (PlaceKind.LINE, PlaceKind.TEXT):
            return
        lines, code = self.places.lines, self.code
        wanted = parts_of(place.file)
        found = {line for i in begins for line in (lines.line_of(i), *lines.calls[i][1]) if line}
        held = {
            index
            for line in found
            if parts_of(line[0])[-len(wanted) :] == wanted
            and (
                line[1] == place.line
                if place.kind is PlaceKind.LINE
                else place.text.strip() in self.places.text_of(line)
            )
            for by in (lines.at_line, lines.by_call)
            for index in by.get(line, ())
        }
        for begin in sorted(begins):
            last = begin
            while (after := code.after[last]) in held and after not in begins:
                last = after
            yield begin, last

    def _same_line(self, one: int, other: int) -> bool:
        lines = self.places.lines
        return lines.line_of(one) == lines.line_of(other) and lines.calls[one] == lines.calls[other]

    def _check_instances(self, place: CodePlace, fact: Fact) -> None:
        """A function that a place names is passed nowhere but in its own code.

        Raises:
            InputError: it was inlined, or the compiler made variants of it: these are not passed
                where it is.
        """
        image = self.places.image
        counted = [place.name] if self.places.is_whole(place) else []
        for name in (*counted, *place.called):
            bare = name.partition("@0x")[0]
            # What is cold is a rest that the function itself jumps to.
            others = {
                symbol.name
                for symbol in image.symbols
                if symbol.kind == "function"
                and symbol.name != bare
                and ".cold" not in symbol.name
                and source_name(symbol.name) == bare
            }
            details = [f"{one} was made of it" for one in sorted(others)]
            if bare in self._inlined:
                details.insert(0, "it was inlined where it is called")
            if details:
                raise InputError(
                    f"not every execution of {name} in the source is one of this function",
                    where=fact.where,
                    details=tuple(details),
                    expected="a place that all of them pass, where its count bounds another one",
                    hint=f"count a line of it, which lies in what was made of it as well: "
                    f"count(FILE:LINE in {bare})"
                    if name in counted
                    else "count the place whoever has called",
                )

    @cached_property
    def _inlined(self) -> frozenset[str]:
        return frozenset(call.name for call in self.places.image.inlined)

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
        """As of :meth:`_asking`, looked up once."""
        if id(fact) not in self._asked:
            self._asked[id(fact)] = self._asking(fact)
        return self._asked[id(fact)]

    def _asking(self, fact: SwitchedAway) -> frozenset[int]:
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
                case Relation(terms=terms):
                    for term in terms:
                        for place in filter(None, (term.place, term.edge)):
                            self.at(place, fact, fewest=not isinstance(term.factor, Negate))
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


def _is_it(row: Instruction) -> bool:
    """It begins an IT block."""
    return row.text.startswith("it")


def _is_undecided(row: Instruction) -> bool:
    """It is predicated, and blocks do not tell its outcomes apart."""
    return row.conditional and row.flow is Flow.NEXT and row.memory is None and not row.masks
