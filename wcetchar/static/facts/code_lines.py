"""Which instructions come from which source line: of line tables and inlined calls (DWARF 5, 6.2
and 3.3.8.2), both ways."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise

from wcetchar.model.image import Image
from wcetchar.model.instruction import InstructionTable
from wcetchar.static.facts.files import SourceFiles

Line = tuple[str, int]
"""A file, as the image names it, and the number of a line."""
Calls = tuple[Line, ...]


class CodeLines:
    """Of one program; instructions are table indices."""

    def __init__(self, image: Image, table: InstructionTable) -> None:
        self.image = image
        self.table = table

    def line_of(self, index: int) -> Line | None:
        """What the line table says of an instruction."""
        line = self.image.line_at(self.table.instructions[index].address)
        return None if line is None else (line.file, line.line)

    def explicit(self, index: int) -> bool:
        """Whether the line table has an entry for this very instruction."""
        address = self.table.instructions[index].address
        line = self.image.line_at(address)
        return line is not None and line.address == address

    @cached_property
    def calls(self) -> list[tuple[int, Calls]]:
        """Of each instruction: address of its function, and the calls that it was inlined by."""
        found = []
        for instruction in self.table.instructions:
            symbol = self.image.function_at(instruction.address)
            calls = self.image.inlined_at(instruction.address)
            stack = tuple((call.file, call.line) for call in calls)
            found.append((-1 if symbol is None else symbol.address, stack))
        return found

    @cached_property
    def at_line(self) -> dict[Line, list[int]]:
        """Instructions that the line table gives a line."""
        found: dict[Line, list[int]] = {}
        for index in range(len(self.table)):
            line = self.line_of(index)
            if line is not None:
                found.setdefault(line, []).append(index)
        return found

    @cached_property
    def by_call(self) -> dict[Line, list[int]]:
        """Instructions that were inlined by a call in a line."""
        found: dict[Line, list[int]] = {}
        for index, (_, calls) in enumerate(self.calls):
            for line in dict.fromkeys(calls):
                found.setdefault(line, []).append(index)
        return found

    @cached_property
    def files(self) -> SourceFiles:
        return SourceFiles(file for file, _ in (*self.at_line, *self.by_call) if file)

    def files_of(self, indices: Iterable[int]) -> frozenset[str]:
        """Files that instructions come from, by the line table or by calls."""
        found: set[str] = set()
        for index in indices:
            line = self.line_of(index)
            found.update(file for file, _ in self.calls[index][1])
            if line is not None:
                found.add(line[0])
        return frozenset(found)

    def starts(self, indices: Sequence[int], line: Line) -> Iterable[int]:
        """The first of each run of instructions of a line."""
        if indices:
            yield indices[0]
        for before, index in pairwise(indices):
            apart = index != before + 1 or self._around(before, line) != self._around(index, line)
            if apart or self._end(before) != self.table.instructions[index].address:
                yield index

    def _end(self, index: int) -> int:
        return self.table.instructions[index].end

    def _around(self, index: int, line: Line) -> tuple[int, Calls]:
        """The function and the calls that the line was inlined by, where it has the instruction."""
        function, calls = self.calls[index]
        if self.line_of(index) == line:
            return function, calls
        return function, calls[calls.index(line) + 1 :]
