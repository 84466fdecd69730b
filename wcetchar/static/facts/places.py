"""Places of flow facts, looked up in a program.

A function is its first instruction. A line, and each line of a file that has a text, is *every
beginning of a run*: of consecutive instructions that come from the line, because the line table
says so or because they were inlined by a call that stands in it, all within one function and one
such call. So a line that the compiler scattered, or a function that was inlined several times, is
several instructions. What a compiler moved away the line table (DWARF 5, 6.2) still counts for its
line, so some of a line may be executed although its condition is not met: that a place means what
it was meant to is for replayed traces to show.
"""

from __future__ import annotations

import difflib
import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Final

from wcetchar.errors import InputError
from wcetchar.model.flow import FunctionGraph
from wcetchar.model.flow_fact import CodePlace, PlaceKind
from wcetchar.model.image import Image, Symbol
from wcetchar.model.instruction import Flow, InstructionTable
from wcetchar.static.facts.code_lines import CodeLines, Line
from wcetchar.static.facts.files import Absent, parts_of
from wcetchar.static.facts.loops import described, loops_of_instructions, loops_of_line, steering
from wcetchar.static.facts.printer import place_text
from wcetchar.static.flow.register_calls import goes_on, register_calls

ReadSource = Callable[[str], Sequence[str] | None]
"""Lines of a source file, by the name that the image gives it; ``None``: it cannot be read."""

INDIRECT: Final = (Flow.CALL_INDIRECT, Flow.JUMP_INDIRECT, Flow.JUMP_TABLE)
_NEAREST: Final = 3
_LONGEST: Final = 60
"""Characters of a line that a place is named by."""


_STATEMENT: Final = re.compile(r"\b(?:for|while)\b")
_VARIANT: Final = re.compile(r"\.(?:part|constprop|isra|cold|lto_priv|localalias|llvm)\b.*")


def source_name(symbol: str) -> str:
    """What the source calls a function whose symbol may be that of a part or variant: GCC and LLVM
    add ``.part.0``, ``.constprop.0`` and so on."""
    return _VARIANT.sub("", symbol)


class Places:
    """Looks places up in one program."""

    def __init__(self, image: Image, table: InstructionTable, source: ReadSource) -> None:
        self.image = image
        self.table = table
        self.lines = CodeLines(image, table)
        self._source = source

    def indices(self, place: CodePlace) -> frozenset[int]:
        """Table indices of the instructions that the place names, at least one.

        ``place.called`` is of no matter here: it says in which contexts of them a fact holds.

        Raises:
            InputError: it names none, or what it says is ambiguous.
        """
        match place.kind:
            case PlaceKind.FUNCTION:
                found = {self._exact(place, self.function(place).address + place.offset)}
            case PlaceKind.ADDRESS:
                found = {self._exact(place, place.address)}
            case PlaceKind.LINE | PlaceKind.TEXT:
                return self._of_lines(place)
        if place.inside:
            found &= self._inside(place)
        if not found:
            raise Absent(
                f"{place_text(place)} does not lie in {place.inside}",
                where=place.where,
                expected=f"an instruction of {place.inside}",
            )
        return frozenset(found)

    def accessing(self, place: CodePlace) -> frozenset[int]:
        """Table indices of the instructions with data accesses that a fact about accesses is about:
        all that a line has, and of a function all in it, as behind ``in``.

        Raises:
            InputError: there are none, or what the place says is ambiguous.
        """
        if self.is_whole(place):
            found = self._inside(place, place.name)
            if place.inside:
                found &= self._inside(place)
        else:
            found = self._all_of(place)
        kept = frozenset(i for i in found if self.table.instructions[i].memory is not None)
        if not kept:
            raise Absent(
                f"nothing is read or written at {place_text(place)}",
                where=place.where,
                expected="an instruction with a data access",
            )
        return kept

    def asking(self, place: CodePlace) -> frozenset[int]:
        """Table indices of the instructions that ask for a switch of threads: of all that a place
        has, supervisor calls if there are any, else stores.

        Raises:
            InputError: there are none, or what the place says is ambiguous.
        """
        found, rows = self._all_of(place), self.table.instructions
        calls = frozenset(i for i in found if rows[i].flow is Flow.SUPERVISOR_CALL)
        stores = frozenset(
            i for i in found if (memory := rows[i].memory) is not None and memory.writes
        )
        if not calls and not stores:
            raise Absent(
                f"nothing asks for a switch at {place_text(place)}",
                where=place.where,
                expected="a supervisor call, or a store to what requests an interrupt",
            )
        return calls or stores

    def transferring(self, place: CodePlace) -> frozenset[int]:
        """Table indices of the indirect calls and jumps that a fact about their targets is about:
        all that a line has, with calls of what calls through a register. The routine that these
        share has no line of its own: compilers put it behind the last function of a file, where
        line tables count it to the line before, which is not what a fact about that line means.

        Raises:
            InputError: there are none, or what the place says is ambiguous.
        """
        found, rows = self._all_of(place), self.table.instructions
        kept = frozenset(i for i in found if rows[i].flow in INDIRECT or i in self.register_calls)
        if place.kind in (PlaceKind.LINE, PlaceKind.TEXT):
            others = kept.difference(self.register_calls.values())
            if any(not goes_on(rows[index]) for index in others):
                kept = others
        if not kept:
            raise Absent(
                f"there is no indirect call or jump at {place_text(place)}",
                where=place.where,
                expected="an instruction that goes where a register or a table says",
            )
        return kept

    @cached_property
    def register_calls(self) -> Mapping[int, int]:
        """Calls through a register of Thumb code of Armv4T, and the ``bx`` of each."""
        return register_calls(self.table)

    def _all_of(self, place: CodePlace) -> frozenset[int]:
        """The instruction of a place, or all that lines have, not only where runs begin."""
        begin = self.indices(place)
        if place.kind not in (PlaceKind.LINE, PlaceKind.TEXT):
            return begin
        inside = self._inside(place) if place.inside else None
        held = {
            index
            for line in self._lines(place)
            for by in (self.lines.at_line, self.lines.by_call)
            for index in by.get(line, ())
        }
        return frozenset(held if inside is None else held & inside)

    def is_whole(self, place: CodePlace) -> bool:
        """Of facts about accesses: the place stands for all of a function."""
        return place.kind is PlaceKind.FUNCTION and not place.offset

    def rank(self, name: str, index: int) -> int:
        """How many inlined functions are between an instruction and the function of that name that
        it is in: 0 for the innermost one."""
        address = self.table.instructions[index].address
        calls = self.image.inlined_at(address)
        return next((n for n, call in enumerate(calls) if call.name == name), len(calls))

    def function(self, place: CodePlace) -> Symbol:
        """The function that a place of kind FUNCTION begins with.

        Raises:
            InputError: there is none of that name, or several.
        """
        found = self._functions(place.name)
        if len(found) == 1:
            return found[0]
        if found:
            raise InputError(
                f"there are several functions {place.name}",
                where=place.where,
                details=tuple(f"{symbol.name}@0x{symbol.address:x}" for symbol in found),
                expected="one of them",
            )
        raise self._no_function(place.name, place)

    def loops(self, place: CodePlace, graph: FunctionGraph) -> tuple[int, ...]:
        """Numbers of the loops of ``graph`` that the place names, in order; ``()``: none.

        A function, an offset or an address names the innermost loop around its instruction. A line
        names the loops that it *steers* (:func:`~wcetchar.static.facts.loops.loops_of_line`), by
        the line table alone: a call that was inlined does not count, because a loop of the function
        that was inlined would be taken for one of the line. A text names what its lines name. So a
        macro that is used twice in a line, or a function that was inlined twice, is two loops.

        Raises:
            InputError: as for ``indices``; or a line steers a loop and another one inside of it.
        """
        if place.kind not in (PlaceKind.LINE, PlaceKind.TEXT):
            return loops_of_instructions(self.indices(place), graph)
        inside = self._inside(place) if place.inside else None
        found: set[int] = set()
        for line in self._lines(place):
            held = self.lines.at_line.get(line, ())
            members = frozenset(held if inside is None else inside.intersection(held))
            found.update(loops_of_line(members, graph, self.lines, place))
        return tuple(sorted(found))

    def name_loop(self, graph: FunctionGraph, number: int) -> CodePlace:
        """A place that names this loop of the function, and no other: preferably by the text of a
        line, which stays when lines above it come and go."""
        ends = sorted(steering(graph, self.table)[number])
        lines = dict.fromkeys(line for line in map(self.lines.line_of, ends) if line is not None)
        first = graph.blocks[graph.loops[number].header].first
        address = self.table.instructions[first].address
        file = {line: "/".join(parts_of(line[0])[-1:]) for line in lines}
        inside = source_name(graph.name)
        tried = [
            CodePlace(PlaceKind.TEXT, file=file[line], text=text[:_LONGEST], inside=inside)
            for line in sorted(lines, key=lambda line: not _STATEMENT.search(self.text_of(line)))
            if (text := self.text_of(line))
        ]
        tried += [
            CodePlace(PlaceKind.LINE, file=name, line=line[1], inside=inside)
            for line in lines
            for name in (file[line], line[0])
        ]
        tried.append(CodePlace(PlaceKind.FUNCTION, name=graph.name, offset=address - graph.address))
        for place in tried:
            try:
                if self.loops(place, graph) == (number,):
                    return place
            except InputError:
                continue
        return CodePlace(PlaceKind.ADDRESS, address=address)

    def name_instruction(self, address: int) -> CodePlace:
        """A place that names the instruction at an address, and no other."""
        symbol = self.image.function_at(address)
        if symbol is not None:
            same = self._functions(symbol.name)
            name = symbol.name if len(same) == 1 else f"{symbol.name}@0x{symbol.address:x}"
            place = CodePlace(PlaceKind.FUNCTION, name=name, offset=address - symbol.address)
            try:
                place_text(place)
            except InputError:
                pass  # a name that is none of the language's
            else:
                return place
        return CodePlace(PlaceKind.ADDRESS, address=address)

    def no_loop(self, place: CodePlace, graphs: Iterable[FunctionGraph]) -> InputError:
        """For a place that names no loop in any of ``graphs``: says which loops there are."""
        details: list[str] = []
        for graph in graphs:
            if place.inside not in ("", graph.name):
                continue
            details += [described(graph, n, self.lines) for n in range(len(graph.loops))]
        return InputError(
            f"{place_text(place)} names no loop",
            where=place.where,
            details=tuple(details[:20]),
            expected="a line that a loop's condition or its last jump stands in, or an instruction"
            " in the loop",
            hint="name one of those above" if details else "there is no loop: take the fact out",
        )

    def text_of(self, line: Line) -> str:
        """What stands in a line; empty: not known."""
        text = self._source(line[0])
        return text[line[1] - 1].strip() if text and 0 < line[1] <= len(text) else ""

    # Functions.

    def _functions(self, name: str) -> list[Symbol]:
        """Function symbols of a name, or of ``name@0x...``; one for each address."""
        bare, _, address = name.partition("@0x")
        found = {s.address: s for s in self.image.find(name) if s.kind == "function"}
        if not found and address:
            wanted = int(address, 16)
            found = {
                s.address: s
                for s in self.image.find(bare)
                if s.kind == "function" and s.address == wanted
            }
        if not found:
            found = {s.address: s for s in self.image.find(name) if self._is_label(s)}
        return [found[address] for address in sorted(found)]

    def _is_label(self, symbol: Symbol) -> bool:
        """Code in assembler that nothing declares a function."""
        section = self.image.section_at(symbol.address)
        return (
            section is not None
            and section.executable
            and symbol == self.image.label_at(symbol.address)
        )

    def _no_function(self, name: str, place: CodePlace) -> InputError:
        names = {s.name for s in self.image.symbols if s.kind == "function"}
        names |= {call.name for call in self.image.inlined}
        inlined = any(call.name == name for call in self.image.inlined)
        near = difflib.get_close_matches(name, sorted(names), 3)
        hint = f"did you mean {' or '.join(near)}?" if near else None
        if inlined:
            hint = "it was inlined wherever it is called: name a line of it"
        return Absent(
            f"there is no function {name}",
            where=place.where,
            expected="a function of the program",
            hint=hint,
        )

    def _inside(self, place: CodePlace, name: str = "") -> frozenset[int]:
        """Instructions of the function ``place.inside``, or of that name, of parts and variants
        that the compiler made of it, and of what was inlined of it."""
        name = name or place.inside
        found = self._by_function.get(name)
        if found is None:
            addresses = {symbol.address for symbol in self._functions(name)}
            found = frozenset(n for n, (f, _) in enumerate(self.lines.calls) if f in addresses)
        if not found:
            raise self._no_function(name, place)
        return found

    @cached_property
    def _by_function(self) -> dict[str, frozenset[int]]:
        """Instructions by each name that their function has, or that was inlined there."""
        names: dict[int, set[str]] = {}
        for symbol in self.image.symbols:
            if symbol.kind == "function":
                names.setdefault(symbol.address, set()).update(
                    (symbol.name, source_name(symbol.name))
                )
        found: dict[str, set[int]] = {}
        for index, (function, _) in enumerate(self.lines.calls):
            calls = self.image.inlined_at(self.table.instructions[index].address)
            for name in names.get(function, set()).union(call.name for call in calls):
                found.setdefault(name, set()).add(index)
        return {name: frozenset(indices) for name, indices in found.items() if name}

    def _exact(self, place: CodePlace, address: int) -> int:
        addresses = self.table.address
        at = bisect_left(addresses, address)
        if at < len(addresses) and int(addresses[at]) == address:
            if place.kind is PlaceKind.FUNCTION and place.offset:
                named, function = self.function(place), self.image.function_at(address)
                if function != (named if named.kind == "function" else None):
                    raise InputError(
                        f"{place_text(place)} lies outside of {place.name}",
                        where=place.where,
                        expected="an offset within the function",
                    )
            return at
        near = [int(a) for a in addresses[max(at - 1, 0) : at + 1]]
        start = self.function(place).address if place.kind is PlaceKind.FUNCTION else 0
        raise InputError(
            f"no instruction begins at {place_text(place)}",
            where=place.where,
            expected="the address of an instruction",
            hint="the nearest ones are at "
            + " and ".join(
                f"{place.name}+0x{a - start:x}" if start and a >= start else f"0x{a:08x}"
                for a in near
            )
            if near
            else None,
        )

    # Lines.

    def _lines(self, place: CodePlace) -> list[Line]:
        """Lines that the place names, with or without code."""
        among = self.lines.files_of(self._inside(place)) if place.inside else None
        names = self.lines.files.find(place.file, place.where, among)
        if place.kind is PlaceKind.LINE:
            return [(name, place.line) for name in names]
        text = next((t for t in map(self._source, names) if t is not None), None)
        if text is None:
            raise InputError(
                f"{names[0]} cannot be read, so its lines with {place.text!r} are not known",
                where=place.where,
                expected="the source file that the program was built from",
                hint=f"name the line: {place.file}:12",
            )
        numbers = [n for n, line in enumerate(text, 1) if place.text in line]
        if not numbers:
            stripped = {line.strip(): n for n, line in enumerate(text, 1) if line.strip()}
            near = difflib.get_close_matches(place.text.strip(), stripped, 1)
            raise InputError(
                f"no line of {names[0]} has the text {place.text!r}",
                where=place.where,
                expected="what stands in a line, blanks included",
                hint=f"line {stripped[near[0]]} is {near[0]!r}" if near else None,
            )
        return [(name, number) for name in names for number in numbers]

    def _of_lines(self, place: CodePlace) -> frozenset[int]:
        inside = self._inside(place) if place.inside else None
        lines = self._lines(place)
        found: set[int] = set()
        for line in lines:
            held = sorted({*self.lines.at_line.get(line, ()), *self.lines.by_call.get(line, ())})
            kept = [index for index in held if inside is None or index in inside]
            found.update(self.lines.starts(kept, line))
        if not found:
            raise self._no_code(place, lines, inside)
        return frozenset(found)

    def _no_code(
        self, place: CodePlace, lines: Sequence[Line], inside: frozenset[int] | None
    ) -> InputError:
        scope = f" in {place.inside}" if place.inside else ""
        files = {file for file, _ in lines}
        held = sorted(
            number
            for (file, number), indices in self.lines.at_line.items()
            if file in files and (inside is None or not inside.isdisjoint(indices))
        )
        wanted = [number for _, number in lines]
        near = sorted(held, key=lambda n: (min(abs(n - w) for w in wanted), n))[:_NEAREST]
        named = ", ".join(str(number) for number in dict.fromkeys(wanted))
        what = f"line {named}" if len(set(wanted)) == 1 else f"lines {named}"
        hint = f"no code of {lines[0][0]} lies{scope}"
        if near:
            hint = f"lines with code near there{scope}: " + ", ".join(map(str, sorted(near)))
        return Absent(
            f"{place_text(place)}: {what} of {lines[0][0]} has no code{scope}",
            where=place.where,
            expected="a line that the compiler made code of",
            hint=hint,
        )
