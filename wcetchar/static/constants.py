"""Contents of a program's memory that never change, for the value analysis.

They are those of sections without the flag for writing, but for two things:

* a named object among code, which may be a variable all the same: a section of code has no flag
  that says whether it is in RAM (:mod:`~wcetchar.static.flow.interpret` has the same rule);
* what a store of known address goes to, whatever the section says. Stores are known by the values,
  which are calculated from these contents: so both again, until no store is new.

Soundness. Take the first store of an execution that changes what is taken for constant. Before it,
all values are right, so its address is in the set that is known of it, and it was left out; or
nothing is known of its address. That no store is of the second kind is assumed: ``READ_ONLY``.
What an instruction reads relative to itself is part of the code, which does not change either way.
"""

from __future__ import annotations

import weakref
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from typing import Final

from wcetchar.model.image import Image
from wcetchar.static.values import interval as sets
from wcetchar.static.values.analysis import Values
from wcetchar.static.values.form import Range
from wcetchar.static.values.interval import Interval
from wcetchar.static.values.memory import Read

READ_ONLY: Final = (
    "nothing is stored in sections without the flag for writing through pointers of which nothing "
    "is known"
)

_BOUNDED: Final = 1 << 24
"""Addresses within so many bytes are taken to be those of something in particular."""
_STORED: Final[dict[int, set[tuple[Interval, int]]]] = {}


def constants(image: Image) -> Read:
    """Contents at an address, of so many bytes; ``None``: they may change, or are not known."""
    stored = _stored_in(image)
    starts, ends = _objects_among_code(image)

    def read(address: int, size: int) -> int | None:
        section = image.section_at(address)
        if section is None or section.writable:
            return None
        if section.executable:
            before = bisect_right(starts, address + size - 1)
            if before and ends[before - 1] > address:
                return None
        if any(_hits(where, length, address, address + size) for where, length in stored):
            return None
        offset = address - section.address
        data = section.data[offset : offset + size]
        return int.from_bytes(data, "little") if len(data) == size else None

    return read


def _objects_among_code(image: Image) -> tuple[list[int], list[int]]:
    """Where they begin, in order, and where each of them, or one before it, ends."""
    found = sorted(
        (symbol.address, symbol.address + max(symbol.size, 1))
        for symbol in image.symbols
        if symbol.kind == "object"
        and (section := image.section_at(symbol.address)) is not None
        and section.executable
    )
    ends: list[int] = []
    for _, end in found:
        ends.append(max(end, ends[-1]) if ends else end)
    return [start for start, _ in found], ends


def _stored_in(image: Image) -> set[tuple[Interval, int]]:
    """First bytes and sizes of stores to sections without the flag for writing, of all functions of
    the image that have been analysed: it holds wherever one of them is looked at again."""
    key = id(image)
    if key not in _STORED:
        _STORED[key] = set()
        weakref.finalize(image, _STORED.pop, key, None)
    return _STORED[key]


def note_stores(found: Iterable[Values], image: Image, *, whole: bool = False) -> bool:
    """Leaves out what functions store to; true: some of that is new, and values may not hold that
    were calculated before. ``whole``: all of a section is taken to be stored to."""
    fixed = [one for one in image.sections if one.size and not one.writable]
    stored = _stored_in(image)
    before = len(stored)
    for values in found:
        for where, size in _stores(values):
            if where.stack or where.interval.length >= _BOUNDED:
                continue
            for section in fixed:
                if _hits(where.interval, size, section.address, section.end):
                    every = sets.between(section.address, section.end - 1)
                    stored.add((every, 1) if whole else (where.interval, size))
    return len(stored) > before


def _stores(values: Values) -> Iterator[tuple[Range, int]]:
    """First bytes, and sizes, of what a function stores, and of what functions that it calls store
    through what it hands over."""
    rows, pointer = values.table.instructions, values.table.registers.stack_pointer
    for index in _indices(values):
        memory = rows[index].memory
        where = values.address_of(index) if memory is not None and memory.writes else None
        if where is not None:
            yield Range(where.interval, where.stack), where.size
    for index, summary in values.calls.items():
        for written in summary.writes:
            base = written.base
            # Where control falls through into a function, this instruction may set the register.
            if base is None or base == pointer or rows[index].defs >> base & 1:
                continue
            held = values.value_before(index, base)
            if held is not None:
                yield Range(sets.add(held.interval, written.interval), held.stack), written.size


def reads_constants(values: Values, read: Read) -> bool:
    """A function loads something, not relative to itself, that is taken to be constant."""
    counter = values.table.registers.program_counter
    for index in _indices(values):
        memory = values.table.instructions[index].memory
        if memory is None or not memory.reads or (counter is not None and memory.base == counter):
            continue
        where = values.address_of(index)
        if where is None or where.stack or where.interval.length >= _BOUNDED:
            continue
        if read(where.interval.start, memory.width // 8) is not None:
            return True
    return False


def _indices(values: Values) -> Iterator[int]:
    """Table indices of a function's instructions, each once."""
    blocks = values.graph.blocks
    return iter({n for block in blocks for n in range(block.first, block.last + 1)})


def _hits(where: Interval, size: int, start: int, end: int) -> bool:
    """An access of ``size`` bytes may touch addresses from ``start`` up to ``end``."""
    return sets.meet(where, sets.between(start - size + 1, end - 1)) is not None
