"""The counting rules once more, one event at a time and by brute force over alignments.

Shares nothing with ``wcetchar.analysis``: plain Python over the instruction table, the sections of
a services file and the events of one window. Where the rules speak of "the worst address", every
address is tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from stall_count import StallCount
from stall_table import as_one

from wcetchar.model.image import Image
from wcetchar.model.instruction import Instruction, InstructionTable
from wcetchar.model.service import ServicesFile
from wcetchar.model.trace import Event

Key = tuple[str, ...]
"""(section, operation, width, pattern) or (section, event)."""
Counts = Counter[tuple[object, Key]]
"""Counts by (blocking form, key)."""

GOES_ELSEWHERE = {"jump", "indirect jump", "table jump", "call", "indirect call", "return"}


@dataclass
class Done:
    """One executed instruction of a window with its accesses (kind, address, size)."""

    instruction: Instruction
    blocking: object
    accesses: list[tuple[int, int, int]]
    jumped: bool = False


class Oracle:
    def __init__(self, image: Image, table: InstructionTable, services: ServicesFile) -> None:
        self.image, self.table, self.services = image, table, services
        self.instructions = {i.address: i for i in table.instructions}
        self._sections: dict[int, str] = {}
        self.stalls = StallCount({i.address: as_one(i, table) for i in table.instructions})

    def section(self, address: int) -> str:
        """The most specific rule that claims an address: symbols, ranges, linker sections."""
        if address not in self._sections:
            self._sections[address] = self._section(address)
        return self._sections[address]

    def _section(self, address: int) -> str:
        by_rank: list[set[str]] = [set(), set(), set()]
        for section in self.services.sections:
            for name in section.symbols:
                symbol = self.image.symbol(name)
                if symbol.address <= address < symbol.address + symbol.size:
                    by_rank[0].add(section.name)
            for span in section.ranges:
                if span.start <= address < span.end:
                    by_rank[1].add(section.name)
            for linker in self.image.sections:
                if linker.name in section.linker_sections and address in linker:
                    by_rank[2].add(section.name)
        names = next(found for found in by_rank if found)
        assert len(names) == 1, hex(address)
        return names.pop()

    def executed(self, events: Sequence[tuple[int, int, int, object]]) -> list[Done]:
        """Instructions with their accesses, and whether control went elsewhere after each."""
        done: list[Done] = []
        for kind, address, size, blocking in events:
            if kind == Event.INSTRUCTION:
                done.append(Done(self.instructions[address], blocking, []))
            else:
                done[-1].accesses.append((kind, address, size))
        for k, one in enumerate(done):
            instruction = one.instruction
            if instruction.flow.value not in GOES_ELSEWHERE:
                continue
            if k + 1 == len(done) or not instruction.conditional:
                one.jumped = True
            else:
                following = done[k + 1].instruction.address
                one.jumped = following != instruction.end or instruction.target == following
        return done

    def runs(self, done: Sequence[Done]) -> list[list[int]]:
        """Straight runs: positions of instructions that are fetched one behind the other."""
        runs: list[list[int]] = [[]]
        for k, one in enumerate(done):
            runs[-1].append(k)
            if one.jumped or one.instruction.issue.value == "barrier":
                runs.append([])
        return [run for run in runs if run]

    def fetched(self, done: Sequence[Done], shift: int) -> list[int]:
        """New words that each instruction fetches when all code lies ``shift`` bytes further."""
        width = self.table.fetch_bytes
        new = [0] * len(done)
        for run in self.runs(done):
            seen: set[int] = set()
            for k in run:
                instruction = done[k].instruction
                for byte in range(instruction.address, instruction.end):
                    word = (byte + shift) // width
                    if word not in seen:
                        seen.add(word)
                        new[k] += 1
        return new

    def shifts(self) -> range:
        return range(0, self.table.fetch_bytes, self.table.granule)

    def count(
        self, done: Sequence[Done], frame: str | None = None, within: range | None = None
    ) -> Counts:
        """Everything but the realigned fetches. ``frame``: the stack of a handler's frame;
        ``within``: positions that alone count."""
        found: Counts = Counter()
        fetched = self.fetched(done, 0)
        width = str(8 * self.table.fetch_bytes)
        firsts = {run[0] for run in self.runs(done)}
        span = range(len(done)) if within is None else within
        for k, kind in self.stalls_of(done):
            if k in span:
                where = self.section(done[k].instruction.address)
                found[done[k].blocking, (where, kind)] += 1
        for k in span:
            one = done[k]
            instruction, form = one.instruction, one.blocking
            where = self.section(instruction.address)
            found[form, (where, self.event(one))] += 1
            if one.jumped or instruction.issue.value == "barrier":
                found[form, (where, "pipeline refill")] += 1
            for number in range(fetched[k]):
                pattern = "first" if k in firsts and number == 0 else "next"
                found[form, (where, "fetch", width, pattern)] += 1
            for key in self.accesses(one):
                found[form, key] += 1
        if frame is not None:
            vectors = self.services.vector_section
            for one, event, operation in (
                (done[0], "exception entry", "write"),
                (done[-1], "exception exit", "read"),
            ):
                where = self.section(one.instruction.address)
                # What entry discards was fetched for what it interrupts, wherever that lies.
                found[one.blocking, ("?" if event == "exception entry" else where, event)] += 1
                found[one.blocking, (frame, operation, "32", "first")] += 1
                found[one.blocking, (frame, operation, "32", "next")] += 7
            found[done[0].blocking, (vectors, "read", "32", "single")] += 1
        return found

    def stalls_of(self, done: Sequence[Done]) -> Iterator[tuple[int, str]]:
        """(position, kind)."""
        anew = [one.jumped or one.instruction.issue.value == "barrier" for one in done]
        ones = [as_one(step.instruction, self.table) for step in done]
        return self.stalls.of(list(zip(ones, anew, strict=True)))

    def event(self, one: Done) -> str:
        instruction = one.instruction
        direct = instruction.flow.value == "jump"
        if direct and instruction.conditional:
            return "branch taken" if one.jumped else "branch untaken"
        effect = instruction.memory
        if instruction.conditional:
            if effect is not None and not one.accesses:
                return "skipped"
            if instruction.flow.value in GOES_ELSEWHERE and not one.jumped:
                return "skipped"
        return instruction.issue.value

    def accesses(self, one: Done) -> list[Key]:
        effect = one.instruction.memory
        if not one.accesses:
            return []
        assert effect is not None
        size = effect.width // 8
        elements: list[tuple[str, int]] = []
        for kind, address, length in one.accesses:
            operation = {Event.READ: "read", Event.WRITE: "write"}[Event(kind)]
            assert length in (0, size) or length % size == 0
            for part in range(max(1, length // size)):
                elements.append((operation, address + part * size))
        keys: list[Key] = []
        misaligned = 0
        for number, (operation, address) in enumerate(elements):
            where = self.section(address)
            if address % size:
                misaligned += 1
                keys += [(where, operation, str(8 * p), "single") for p in pieces(address, size)]
                continue
            pattern = "single"
            if effect.burst and len(elements) > 1:
                pattern = "next" if number else "first"
            keys.append((where, operation, str(8 * size), pattern))
        code = self.section(one.instruction.address)
        return keys + [(code, "unaligned access")] * misaligned

    def realigned(
        self, done: Sequence[Done], needed: Sequence[Sequence[int]], first: int, last: int
    ) -> int:
        """Fetches that instructions first..last can need more at another address, run by run.

        ``needed``: what :meth:`fetched` gives for each of :meth:`shifts`.
        """
        extra = 0
        for run in self.runs(done[: last + 1]):
            part = [k for k in run if k >= first]
            sums = [sum(one[k] for k in part) for one in needed]
            extra += max(sums) - sums[0]
        return extra

    def stretches(self, done: Sequence[Done], holds: Sequence[bool]) -> list[tuple[int, int]]:
        """Positions (first, last) of the longest parts where ``holds``, unbroken but for one or two
        instructions: the one that masks again, and one between."""
        found: list[tuple[int, int]] = []
        for k, held in enumerate(holds):
            if not held:
                continue
            if found and found[-1][1] >= k - 3:
                found[-1] = (found[-1][0], k)
            else:
                found.append((k, k))
        return found


def pieces(address: int, size: int) -> list[int]:
    """Sizes of the fewest naturally aligned accesses of 1, 2 or 4 bytes that cover these bytes."""
    best: list[int] | None = None
    if size == 0:
        return []
    for piece in (4, 2, 1):
        if piece <= size and address % piece == 0:
            rest = [piece, *pieces(address + piece, size - piece)]
            if best is None or len(rest) < len(best):
                best = rest
    assert best is not None
    return best
