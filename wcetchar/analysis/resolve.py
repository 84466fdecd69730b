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
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from wcetchar.errors import InputError, Location
from wcetchar.model.image import Image, Symbol
from wcetchar.model.instruction import InstructionTable
from wcetchar.model.service import LogicalSection, Service, ServicesFile


@dataclass(frozen=True)
class Claim:
    """A logical section claims start <= address < end by a rule of some rank (lower wins)."""

    start: int
    end: int
    rank: int
    section: int
    rule: str


_SYMBOL, _RANGE, _LINKER = 0, 1, 2


@dataclass(frozen=True)
class Resolved:
    """Lookups for one (services file, image).

    Attributes:
        section_names: index -> logical section name.
        mark_start, mark_end: addresses of the mark array.
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

    @cached_property
    def code_section(self) -> npt.NDArray[np.int32]:
        """Logical section index of each instruction of the table, -1: unclaimed."""
        return self.sections_of(self.table.address)

    def place(self, address: int) -> str:
        """``function+offset (file:line)`` for people."""
        function = self.image.function_at(address)
        line = self.image.line_at(address)
        name = f"0x{address:08x}"
        if function is not None:
            offset = address - function.address
            name = function.name + (f"+{offset}" if offset else "")
        return f"{name} ({line.file}:{line.line})" if line else name


def resolve(services: ServicesFile, image: Image, table: InstructionTable) -> Resolved:
    """Looks every name of a services file up in an image.

    Raises:
        InputError: a symbol or linker section that is not there, an ambiguous symbol, two
            logical sections that claim the same address, a mark array of the wrong size.
    """
    claims = [
        claim
        for number, section in enumerate(services.sections)
        for claim in _claims(section, number, image, services.path)
    ]
    starts, ends, owners = _flatten(claims, services)
    mark = image.symbol(services.marks.symbol)
    if mark.size == 0 or mark.size % services.marks.values:
        raise InputError(
            f"the mark array {mark.name} has {mark.size} bytes",
            where=Location(services.path),
            expected=f"a whole number of channels of {services.marks.values} values, a byte each",
            hint="`marks: values:` must be the second dimension of the array in the firmware",
        )
    entries: dict[int, list[Service]] = {}
    for service in services.services:
        for name in service.entries:
            entries.setdefault(_entry(image, table, name, services.path), []).append(service)
    lock = services.scheduler_lock
    return Resolved(
        services=services,
        image=image,
        table=table,
        section_names=tuple(section.name for section in services.sections),
        starts=starts,
        ends=ends,
        owners=owners,
        mark_start=mark.address,
        mark_end=mark.address + mark.size,
        entries={index: tuple(found) for index, found in entries.items()},
        lock=frozenset(_entry(image, table, n, services.path) for n in (lock.lock if lock else ())),
        unlock=frozenset(
            _entry(image, table, n, services.path) for n in (lock.unlock if lock else ())
        ),
    )


def _entry(image: Image, table: InstructionTable, name: str, path: str) -> int:
    symbol = _function(image, name, path)
    index = int(table.index_of(np.array([symbol.address], dtype=np.uint64))[0])
    if index < 0:
        raise InputError(
            f"{name} at 0x{symbol.address:08x} is no decodable instruction",
            where=Location(path),
            expected="an entry symbol of a function",
        )
    return index


def _function(image: Image, name: str, path: str) -> Symbol:
    try:
        return image.symbol(name)
    except InputError as error:
        raise InputError(
            f"entry symbol: {error.message}",
            where=error.where,
            expected=error.expected,
            hint=f"{error.hint}; it is named in {path}",
        ) from error


def _claims(section: LogicalSection, number: int, image: Image, path: str) -> list[Claim]:
    found = []
    for name in section.symbols:
        symbol = image.symbol(name)
        if symbol.size == 0:
            raise InputError(
                f"symbol {name!r} of section {section.name!r} has no size",
                where=Location(path),
                expected="an object with a size",
                hint="give an address range, or .size in the assembler source",
            )
        found.append(
            Claim(symbol.address, symbol.address + symbol.size, _SYMBOL, number, f"symbol {name}")
        )
    for span in section.ranges:
        found.append(Claim(span.start, span.end, _RANGE, number, f"range 0x{span.start:08x}"))
    for name in section.linker_sections:
        present = [s for s in image.sections if s.name == name]
        if not present:
            raise InputError(
                f"logical section {section.name!r} names linker section {name!r}, "
                "which the image does not have",
                where=Location(path),
                expected="one of " + ", ".join(s.name for s in image.sections),
            )
        for s in present:
            found.append(Claim(s.address, s.end, _LINKER, number, f"linker section {name}"))
    return found


def _flatten(
    claims: list[Claim], services: ServicesFile
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64], npt.NDArray[np.int32]]:
    """Cuts overlapping claims of different rank into disjoint intervals."""
    for rank in (_SYMBOL, _RANGE, _LINKER):
        ordered = sorted((c for c in claims if c.rank == rank), key=lambda c: (c.start, c.end))
        for one, two in pairwise(ordered):
            if two.start < one.end:
                names = [services.sections[c.section].name for c in (one, two)]
                raise InputError(
                    f"logical sections {names[0]!r} ({one.rule}) and {names[1]!r} ({two.rule}) "
                    f"both claim 0x{two.start:08x}",
                    where=Location(services.path),
                    expected="rules that do not overlap",
                )
    points = sorted({c.start for c in claims} | {c.end for c in claims})
    starts: list[int] = []
    ends: list[int] = []
    owners: list[int] = []
    for low, high in pairwise(points):
        covering = [c for c in claims if c.start <= low and high <= c.end]
        if not covering:
            continue
        best = min(covering, key=lambda c: c.rank)
        if starts and owners[-1] == best.section and ends[-1] == low:
            ends[-1] = high
        else:
            starts.append(low)
            ends.append(high)
            owners.append(best.section)
    return (
        np.array(starts, dtype=np.uint64),
        np.array(ends, dtype=np.uint64),
        np.array(owners, dtype=np.int32),
    )
