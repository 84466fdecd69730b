"""The services file made concrete for one image: addresses of marks, entries and sections.

Inputs: a :class:`ServicesFile`, an :class:`Image` and its :class:`InstructionTable`.
Output: :class:`Resolved`, lookups by address and by instruction index.
Soundness: an address that two rules of the same rank claim, a symbol that is missing or ambiguous
and a linker section that the image lacks are errors; an address that no rule claims stays -1 and
becomes an error as soon as a window touches it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wcetchar.analysis.claims import Claim, Claims, flatten
from wcetchar.counting.columns import NO_SECTION
from wcetchar.errors import InputError, InputErrors
from wcetchar.model.characterization import Place
from wcetchar.model.image import Image, Symbol
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.run import RunValues
from wcetchar.model.service import Service, ServicesFile


@dataclass(frozen=True)
class Resolved:
    """Lookups for one (services file, image).

    Attributes:
        section_names: index -> logical section name.
        mark_start, mark_end: addresses of the mark array; the same where there is none.
        entries: instruction index -> services whose entry it is.
        lock, unlock: instruction indices of scheduler lock and unlock functions.
    """

    services: ServicesFile
    image: Image
    table: InstructionTable
    section_names: tuple[str, ...]
    starts: npt.NDArray[np.uint64]
    ends: npt.NDArray[np.uint64]
    owners: npt.NDArray[np.int32]
    mark_start: int
    mark_end: int
    entries: dict[int, tuple[Service, ...]]
    lock: frozenset[int]
    unlock: frozenset[int]

    def sections_of(self, addresses: npt.NDArray[np.uint64]) -> npt.NDArray[np.int32]:
        """Logical section index of each address, -1 where none claims it."""
        if not len(self.starts):
            return np.full(len(addresses), -1, dtype=np.int32)
        found = np.searchsorted(self.starts, addresses, side="right") - 1
        clipped = np.maximum(found, 0)
        inside = (found >= 0) & (addresses < self.ends[clipped])
        return np.where(inside, self.owners[clipped], -1).astype(np.int32)

    def unmarked(self, index: int, run: RunValues) -> list[Service]:
        """Services without a mark that a run shows, among those with this entry."""
        return [s for s in self.entries[index] if s.mark is None and run.showing(s.name)]

    @cached_property
    def has_unmarked(self) -> bool:
        return any(service.mark is None for service in self.services.services)

    @cached_property
    def code_section(self) -> npt.NDArray[np.int32]:
        """Logical section index of each instruction of the table, -1: unclaimed."""
        return self.sections_of(self.table.address)

    @cached_property
    def target_section(self) -> npt.NDArray[np.int64]:
        """Logical section index of the target of each direct branch of the table, of other
        instructions their own; ``NO_SECTION``: unclaimed."""
        targets = np.array(
            [-1 if i.target is None else i.target for i in self.table.instructions], dtype=np.int64
        )
        found = self.sections_of(np.where(targets >= 0, targets, 0).astype(np.uint64))
        sections = np.where(targets >= 0, found, self.code_section)
        return np.where(sections < 0, NO_SECTION, sections).astype(np.int64)

    def place(self, address: int) -> str:
        """``function+offset (file:line)`` for people; behind a call that was inlined there
        ``, inlined file:line``."""
        place = self.place_of(address)
        name = f"0x{address:08x}"
        if place.function:
            name = place.function + (f"+{place.offset}" if place.offset else "")
        if not place.line:
            return name
        inlined = f", inlined {place.inlined_file}:{place.inlined_line}"
        return f"{name} ({place.file}:{place.line}{inlined if place.inlined_line else ''})"

    def place_of(self, address: int) -> Place:
        """The same for programs."""
        function = self.image.label_at(address)
        line = self.image.line_at(address)
        known = [call for call in self.image.inlined_at(address) if call.line]
        at = (known[-1].file, known[-1].line) if known else ("", 0)
        here = (line.file, line.line) if line is not None else ("", 0)
        inside = here if known and here != at else ("", 0)
        return Place(
            function=function.name if function is not None else "",
            offset=address - function.address if function is not None else 0,
            file=at[0] if known else here[0],
            line=at[1] if known else here[1],
            inlined_file=inside[0],
            inlined_line=inside[1],
        )

    def place_of_service(self, service: Service) -> Place | None:
        """Of its function, of the first of several; ``None``: the source is not known."""
        entry = next(index for index, found in self.entries.items() if service in found)
        place = self.place_of(self.table.instructions[entry].address)
        return place if place.file else None


def resolve(services: ServicesFile, image: Image, table: InstructionTable) -> Resolved:
    """Looks every name of a services file up in an image.

    Raises:
        InputError: a symbol or linker section that is not there, an ambiguous symbol, two
            logical sections that claim the same address, a mark array of the wrong size; where
            there are several mistakes, all of them as ``InputErrors``.
    """
    if not image.symbols:
        # One message instead of one for each name.
        image.symbol(services.marks.symbol if services.marks else services.services[0].entries[0])
    names = _Names(services, image, table)
    claims = names.claims()
    mark = names.mark_array()
    entries: dict[int, list[Service]] = {}
    for service in services.services:
        for index in names.functions(service.entries, "services", service.name, "entries"):
            entries.setdefault(index, []).append(service)
    lock = services.scheduler_lock
    locks = names.functions(lock.lock if lock else (), "scheduler lock", "lock")
    unlocks = names.functions(lock.unlock if lock else (), "scheduler lock", "unlock")
    names.check_hardware(claims)
    names.check_overlaps(claims)
    names.check_arguments()
    names.fail_on_mistakes()
    owned = flatten(claims)
    return Resolved(
        services=services,
        image=image,
        table=table,
        section_names=tuple(section.name for section in services.sections),
        starts=np.array([start for start, _, _ in owned], dtype=np.uint64),
        ends=np.array([end for _, end, _ in owned], dtype=np.uint64),
        owners=np.array([claim.section for _, _, claim in owned], dtype=np.int32),
        mark_start=mark.address if mark else 0,
        mark_end=mark.address + mark.size if mark else 0,
        entries={index: tuple(found) for index, found in entries.items()},
        lock=frozenset(locks),
        unlock=frozenset(unlocks),
    )


class _Names:
    """Looks the names of a services file up; every one that is not right is noted."""

    def __init__(self, services: ServicesFile, image: Image, table: InstructionTable) -> None:
        self._services = services
        self._image = image
        self._table = table
        self._mistakes: list[InputError] = []
        self._rules = Claims(image, services.where, self._mistakes)

    def fail_on_mistakes(self) -> None:
        if len(self._mistakes) == 1:
            raise self._mistakes[0]
        if self._mistakes:
            raise InputErrors(self._mistakes)

    def mark_array(self) -> Symbol | None:
        marks = self._services.marks
        if marks is None:
            return None
        mark = self._rules.symbol(
            marks.symbol, "mark array", self._services.where("marks", "symbol")
        )
        if mark is not None and (mark.size == 0 or mark.size % marks.values):
            self._rules.note(
                self._services.where("marks", "values"),
                f"the mark array {mark.name} has {mark.size} bytes",
                f"a whole number of channels of {marks.values} values, a byte each",
                "`marks: values:` must be the second dimension of the array in the firmware",
            )
        elif mark is not None:
            marked = [s for s in self._services.services if s.mark is not None]
            most = max((len(s.parameters) for s in marked), default=0)
            wanted = max(marks.begin, marks.end, marks.first_parameter + most - 1) + 1
            if mark.size // marks.values < wanted:
                self._rules.note(
                    self._services.where("marks", "channels"),
                    f"the mark array {mark.name} has {mark.size // marks.values} channels",
                    f"{wanted} channels at least: begin, end and {most} parameters",
                    "a store behind the array would be no mark; enlarge it in the firmware",
                )
        return mark

    def functions(self, names: tuple[str, ...], *keys: str) -> list[int]:
        """Table indices of the first instructions of functions that stand in a list."""
        found = []
        for number, name in enumerate(names):
            where = self._services.where(*keys, number)
            symbol = self._rules.symbol(name, "entry symbol", where)
            if symbol is None:
                continue
            index = int(self._table.index_of(np.array([symbol.address], dtype=np.uint64))[0])
            if index < 0:
                self._rules.note(
                    where,
                    f"{name} at 0x{symbol.address:08x} is no decodable instruction",
                    "an entry symbol of a function",
                    "name a function; data and code for another core cannot be entered",
                )
            else:
                found.append(index)
        return found

    def claims(self) -> list[Claim]:
        """Of all logical sections."""
        sections = self._services.sections
        return [c for number, s in enumerate(sections) for c in self._rules.of(s, number)]

    def check_overlaps(self, claims: list[Claim]) -> None:
        """No address is claimed by two rules of the same rank."""
        self._rules.check_overlaps(self._services.sections, claims)

    def check_hardware(self, claims: list[Claim]) -> None:
        """What the hardware touches by itself is named, and somewhere in the image."""
        services, model = self._services, self._table.exceptions
        claimed = {services.sections[c.section].name for c in claims if c.start < c.end}
        for key, name, needed in (
            ("vector section", services.vector_section, model.vector_reads),
            ("main stack", services.main_stack, model.frame_words),
            ("task stack", services.task_stack, model.frame_words),
        ):
            if needed and name is None:
                self._rules.note(
                    services.where("hardware"),
                    f"`hardware: {key}` is missing",
                    "the logical section that the core touches by itself at exceptions",
                    None,
                )
            section = next((s for s in services.sections if s.name == name), None)
            if name not in claimed and section is not None and section.optional:
                self._rules.note(
                    services.where("hardware", key),
                    f"the image {self._image.path} has nothing of the logical section {name!r}",
                    "one of its optional linker sections in the image",
                    "objdump -h lists the sections of an image",
                )

    def check_arguments(self) -> None:
        """Arguments that are read are passed in registers."""
        registers = self._table.registers
        count = len(registers.arguments)
        for service in self._services.services:
            for parameter in service.parameters:
                if parameter.argument is not None and parameter.argument >= count:
                    self._rules.note(
                        self._services.where(
                            "services", service.name, "parameters", parameter.name, "argument"
                        ),
                        f"argument {parameter.argument} of {service.name} is not in a register",
                        f"0..{count - 1} ({registers.names[registers.arguments[0]]}.."
                        f"{registers.names[registers.arguments[-1]]})"
                        if count
                        else "an instruction set whose argument registers are known",
                        "give the value for each run, with --set or a runs file",
                    )
