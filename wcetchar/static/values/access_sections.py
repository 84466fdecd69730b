"""Which logical sections loads and stores can touch, by their addresses in the value analysis.

Inputs: a function's :class:`~wcetchar.static.values.Values`, and what the program's addresses stand
for. Output: for an instruction, the sections of all its data accesses, or that they are not known.

Soundness. Every byte that is accessed lies in one of the sections, under the assumptions of the
values; an address that may be anywhere gives nothing. What is added to the stack pointer must be
bounded, or it may have left the stack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wcetchar.static.values import interval as sets
from wcetchar.static.values.analysis import AbstractAddress, Values

MOST_STACK: Final = 1 << 20
"""Bytes around the stack pointer at entry that are taken to be stack."""

SectionsOf = Callable[[int, int], frozenset[str] | None]
"""Sections that have the addresses from one to another, the last one included; ``None``: some of
them are in none."""


@dataclass(frozen=True)
class AccessSections:
    """Attributes:
    stack: sections that the function's own stack can be in.
    sections_of: of absolute addresses.
    """

    values: Values
    stack: frozenset[str]
    sections_of: SectionsOf

    def sections_at(self, index: int) -> frozenset[str] | None:
        """Of an instruction by its table index; ``None``: not known. Empty: it makes no access, or
        is never executed."""
        where = self.values.address_of(index)
        return frozenset() if where is None else self._of(where)

    def _of(self, where: AbstractAddress) -> frozenset[str] | None:
        found = where.interval
        if where.stack:
            low, high = found.signed
            inside = low >= -MOST_STACK and high + where.size <= MOST_STACK
            return self.stack if inside else None
        if found.start + found.length + where.size > sets.MODULUS:
            return None
        return self.sections_of(found.start, found.start + found.length + where.size - 1)
