"""Which code was inlined from where (DWARF 2 to 5, 3.3.8.2: ``DW_TAG_inlined_subroutine``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from elftools.dwarf.descriptions import describe_form_class
from elftools.dwarf.ranges import BaseAddressEntry

from wcetchar.model.image import InlinedCall

_HOLDERS: Final = frozenset(
    {
        "DW_TAG_subprogram",
        "DW_TAG_lexical_block",
        "DW_TAG_inlined_subroutine",
        "DW_TAG_namespace",
        "DW_TAG_module",
        "DW_TAG_try_block",
        "DW_TAG_catch_block",
        "DW_TAG_with_stmt",
    }
)
"""What may hold inlined code. Everything else (types above all) is passed over unread."""


def inlined_calls(dwarf: Any, unit: Any, names: Mapping[int, str]) -> Iterator[InlinedCall]:
    """Inlined calls of a unit, outer ones before those inside of them.

    Args:
        names: source files by their numbers in the unit's line program.
    """
    top = unit.get_top_DIE()
    low = top.attributes.get("DW_AT_low_pc")
    base = int(low.value) if low is not None else 0
    open_ = [(die, 0) for die in top.iter_children() if die.tag in _HOLDERS]
    open_.reverse()
    while open_:
        die, depth = open_.pop()
        if die.tag == "DW_TAG_inlined_subroutine":
            depth += 1
            file, line = (die.attributes.get(f"DW_AT_call_{what}") for what in ("file", "line"))
            name = names.get(int(file.value), "?") if file is not None else "?"
            number = int(line.value) if line is not None else 0
            for start, end in _ranges(dwarf, unit, die, base):
                if start < end:
                    yield InlinedCall(start, end, depth, name, number)
        if die.has_children:
            inner = [(child, depth) for child in die.iter_children() if child.tag in _HOLDERS]
            open_.extend(reversed(inner))


def _ranges(dwarf: Any, unit: Any, die: Any, base: int) -> Iterator[tuple[int, int]]:
    """Addresses of an entry, from each first one to behind the last; none of an abstract one."""
    if "DW_AT_ranges" in die.attributes:
        lists = dwarf.range_lists()
        if lists is None:
            return
        offset = die.attributes["DW_AT_ranges"].value
        for entry in lists.get_range_list_at_offset(offset, unit):
            if isinstance(entry, BaseAddressEntry):
                base = int(entry.base_address)
            else:
                shift = 0 if entry.is_absolute else base
                yield shift + int(entry.begin_offset), shift + int(entry.end_offset)
    elif "DW_AT_low_pc" in die.attributes and "DW_AT_high_pc" in die.attributes:
        low, high = die.attributes["DW_AT_low_pc"], die.attributes["DW_AT_high_pc"]
        absolute = describe_form_class(high.form) == "address"
        yield int(low.value), int(high.value) + (0 if absolute else int(low.value))
