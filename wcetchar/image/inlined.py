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

_LINKS: Final = ("DW_AT_abstract_origin", "DW_AT_specification")
_FORMS: Final = frozenset(f"DW_FORM_ref{size}" for size in ("1", "2", "4", "8", "_udata", "_addr"))
"""References within the file; others lead to files beside it, which are not read."""
_MOST_STEPS: Final = 4
"""An instance, its abstract entry and a declaration are three; a file could claim a cycle."""


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
            callee = _function_name(die)
            for start, end in _ranges(dwarf, unit, die, base):
                if start < end:
                    yield InlinedCall(start, end, depth, name, number, callee)
        if die.has_children:
            inner = [(child, depth) for child in die.iter_children() if child.tag in _HOLDERS]
            open_.extend(reversed(inner))


def _function_name(die: Any) -> str:
    """What the source calls an inlined function: its name stands in the entry that this one is an
    instance of, or in the declaration that that one completes (2.13.2, 3.3.8.2)."""
    for _ in range(_MOST_STEPS):
        name = die.attributes.get("DW_AT_name")
        if name is not None:
            value = name.value
            return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
        link = next((key for key in _LINKS if key in die.attributes), None)
        if link is None or die.attributes[link].form not in _FORMS:
            return ""
        die = die.get_DIE_from_attribute(link)
    return ""


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
